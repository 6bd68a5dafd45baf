"""The source of the topic, as its key in the bibliography, and the networks that its claims name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simlib.admission.network import Network

SOURCE = "queueing_admission"


@dataclass(frozen=True)
class Named:
    """A network with a limit on the number of jobs.

    Attributes
    ----------
    name : str
    network : Network
        With rational numbers.
    limit : int
        Largest number of jobs, S.
    """

    name: str
    network: Network
    limit: int


@cache
def three_tiers(arrival_rate: Fraction = Fraction(1)) -> Network:
    """The source's three tiers with one queue each, rates 1, 3/2, 2; half of the jobs go on."""
    from simlib.admission.network import three_tier

    return three_tier(1, arrival_rate=arrival_rate, rates=(1, Fraction(3, 2), 2))


@cache
def named_networks() -> tuple[Named, ...]:
    """Five networks: in series, three tiers, four stations with loops, several servers, five stations.

    The four stations feed each other, two of them also themselves; the stations with several servers
    have 1, 2 and 3; the five stations are a cycle with branches. 84 or 126 states each.
    """
    from simlib.admission.network import Network, tandem

    f = Fraction
    loops = (
        (f(1, 5), f(2, 5), f(1, 5), 0),
        (0, f(1, 4), f(1, 2), f(1, 4)),
        (f(1, 3), 0, 0, f(1, 3)),
        (0, f(1, 6), f(1, 2), f(1, 6)),
    )
    servers = ((0, f(1, 2), f(1, 4)), (0, 0, f(2, 3)), (f(1, 5), 0, 0))
    branches = (
        (0, f(1, 2), f(1, 2), 0, 0),
        (0, 0, 0, 1, 0),
        (0, 0, 0, f(1, 3), f(2, 3)),
        (0, 0, 0, 0, f(4, 5)),
        (f(1, 4), 0, 0, 0, 0),
    )
    return (
        Named("tandem", tandem(1, (2, 3, f(5, 2))), 6),
        Named("three tiers", three_tiers(), 6),
        Named(
            "four stations",
            Network(1, loops, (3, 2, f(5, 2), 4), None, (f(1, 2), 0, 0, f(1, 2))),
            5,
        ),
        Named(
            "several servers",
            Network(2, servers, (2, 1, f(3, 4)), (1, 2, 3), (f(2, 3), f(1, 3), 0)),
            6,
        ),
        Named("five stations", Network(1, branches, (2, f(3, 2), 2, 3, f(5, 2))), 4),
    )


def six_policies(limit: int) -> dict[str, tuple]:
    """Acceptance probabilities alpha(0), ..., alpha(S-1) of six policies that see the number of jobs."""
    numbers = range(limit)
    return {
        "accept all": tuple(Fraction(1) for _ in numbers),
        "below 3": tuple(Fraction(int(s < 3)) for s in numbers),
        "all but at 2": tuple(Fraction(int(s != 2)) for s in numbers),
        "all but at 0": tuple(Fraction(int(s != 0)) for s in numbers),
        "randomised": tuple(Fraction(s + 1, s + 2) for s in numbers),
        "randomised, not at 3": tuple(Fraction(int(s != 3), s + 2) for s in numbers),
    }


def first_station_empty(state: tuple[int, ...]) -> int:
    """A policy that looks at the state: admit when the first station is empty."""
    return int(state[0] == 0)


@cache
def solved(name: str, policy: str) -> dict[tuple[int, ...], Fraction]:
    """Stationary law of a named network, from the balance equations of all its states.

    Parameters
    ----------
    name : str
        One of `named_networks`.
    policy : str
        One of `six_policies`, or "first station empty".

    Raises
    ------
    ValueError
        If there is no such network or policy.
    """
    from simlib.admission.chain import stationary_exact

    found = {named.name: named for named in named_networks()}
    if name not in found:
        raise ValueError(f"name = {name!r}: must be one of {', '.join(found)}")
    named = found[name]
    rules: dict[str, tuple | Callable] = {
        **six_policies(named.limit),
        "first station empty": first_station_empty,
    }
    if policy not in rules:
        raise ValueError(f"policy = {policy!r}: must be one of {', '.join(rules)}")
    return stationary_exact(named.network, named.limit, rules[policy])
