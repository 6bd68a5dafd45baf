"""Exact laws of one queue that is served well in good rounds and not at all in bad ones.

All jobs have the same best rate, the arrival rate plus the slack. In a good round the learner serves
with the arrival rate plus half of the slack, the least that the analysis allows; in a bad round with
rate 0. Laws are counted in whole numbers over a power of one denominator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import lcm
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flint import arb

#: Whether round t is bad, from t, the length Q(t) and the number B(t-1) of bad rounds before it.
BAD_ROUNDS: dict[str, Callable[[int, int, int], bool]] = {
    "none": lambda t, length, before: False,
    "the first 20": lambda t, length, before: t <= 20,
    "every third": lambda t, length, before: t % 3 == 0,
    "6 while short": lambda t, length, before: length <= 1 and before < 6,
    "6 while long": lambda t, length, before: length >= 2 and before < 6,
}

Law = dict[tuple[int, int], int]


@dataclass(frozen=True)
class Queue:
    """A queue with its bad rounds.

    Attributes
    ----------
    arrival_rate, slack : Fraction
        Positive, with a sum of at most 1.
    bad : str
        Which rounds are bad, a key of ``BAD_ROUNDS``.
    """

    arrival_rate: Fraction
    slack: Fraction
    bad: str = "none"

    def __post_init__(self) -> None:
        for name, value in (("arrival_rate", self.arrival_rate), ("slack", self.slack)):
            if not (isinstance(value, Fraction) and value > 0):
                raise ValueError(f"{name} = {value!r}: must be a positive Fraction")
        if self.arrival_rate + self.slack > 1:
            raise ValueError(f"slack = {self.slack}: must be at most 1 - {self.arrival_rate}")
        if self.bad not in BAD_ROUNDS:
            raise ValueError(f"bad = {self.bad!r}: must be one of {tuple(BAD_ROUNDS)}")

    @property
    def denominator(self) -> int:
        """Of all probabilities of a round."""
        return lcm(self.arrival_rate.denominator, (self.slack / 2).denominator) ** 2

    def moves(self, served: Fraction) -> tuple[tuple[int, int], ...]:
        """Pairs of a change of length and its weight, for a nonempty queue served with that rate."""
        rate, whole = self.arrival_rate, self.denominator
        up, down = int(rate * (1 - served) * whole), int(served * (1 - rate) * whole)
        return (1, up), (0, whole - up - down), (-1, down)


@cache
def laws(queue: Queue, rounds: int) -> tuple[Law, ...]:
    """Law of (Q(t), B(t-1)) at the beginning of rounds 1, 2, ..., from an empty queue.

    Returns
    -------
    tuple of dict, length rounds + 1
        Entry t - 1 has the weights over ``queue.denominator`` to the power t - 1.

    Notes
    -----
    Cost: states times rounds; 5 ms for 60 rounds in which the number of bad rounds is not random.
    """
    is_bad, rate = BAD_ROUNDS[queue.bad], queue.arrival_rate
    good = queue.moves(rate + queue.slack / 2)
    idle = queue.moves(Fraction(0))
    found: list[Law] = [{(0, 0): 1}]
    for t in range(1, rounds + 1):
        after: Law = {}
        for (length, before), weight in found[-1].items():
            bad = is_bad(t, length, before)
            for change, chance in idle if bad or not length else good:
                if chance:
                    state = length + change, before + bad
                    after[state] = after.get(state, 0) + weight * chance
        found.append(after)
    return tuple(found)


def weighted_mean(queue: Queue, t: int, slope: Fraction, tilt: Fraction = Fraction(1, 2)) -> arb:
    """E exp(eta (Q(t) - a B(t-1))), eta = tilt slack and a = arrival rate + slope slack, as a ball."""
    from checks.methods.certified import ball

    eta = ball(tilt * queue.slack)
    up = eta.exp()
    down = (-eta * ball(queue.arrival_rate + slope * queue.slack)).exp()
    law = laws(queue, t - 1)[t - 1]
    total = sum(up**length * down**before * weight for (length, before), weight in law.items())
    return total / ball(queue.denominator ** (t - 1))


def tail(queue: Queue, t: int, slope: Fraction, beyond: int, *, arrival: bool) -> Fraction:
    """Pr(Q(t) >= a B(t-1) + beyond), or the same of Q(t) + A(t); a as in `weighted_mean`."""
    a, rate = queue.arrival_rate + slope * queue.slack, queue.arrival_rate
    total = Fraction(0)
    for (length, before), weight in laws(queue, t - 1)[t - 1].items():
        above = length - a * before - beyond
        if above >= 0:
            total += weight
        elif arrival and above >= -1:
            total += weight * rate
    return total / queue.denominator ** (t - 1)


@cache
def unmerged(
    arrival_rate: Fraction, rate: Fraction, rounds: int, longest: int
) -> tuple[tuple[Fraction, ...], ...]:
    """Chances that Q+, which has one job more than Q-, still has it after some rounds.

    All jobs leave with the same rate. The queues become equal when Q- is empty and Q+ loses its job.

    Returns
    -------
    tuple of tuple, shape (rounds + 1, longest + 1)
        By rounds, then by the length of Q+ at first; 0 for length 0.
    """
    whole = lcm(arrival_rate.denominator, rate.denominator) ** 2
    up, down = int(arrival_rate * (1 - rate) * whole), int(rate * (1 - arrival_rate) * whole)
    merges = int(rate * arrival_rate * whole)  # a lone job leaves, another arrives at both queues
    stay = whole - up - down
    rows = [[0] + [1] * (longest + rounds)]
    for _ in range(rounds):
        last = rows[-1]
        rows.append(
            [0, up * last[2] + (stay - merges) * last[1]]
            + [
                up * more + stay * same + down * less
                for less, same, more in zip(last[1:], last[2:], last[3:], strict=False)
            ]
        )
    return tuple(
        tuple(Fraction(x, whole**n) for x in row[: longest + 1]) for n, row in enumerate(rows)
    )


def unmerged_fair(rate: Fraction, rounds: int, terms: int) -> arb:
    """A lower bound on the same chance from one job, for the arrival rate 1 - rate, as a ball.

    Service and arrival of a round are then two steps of one walk, down with probability ``rate``; twice
    the length starts at 2 and must not reach 1. The reflection principle counts the paths; the ``terms``
    most likely numbers of steps up are added.
    """
    from flint import arb, fmpz

    from checks.methods.certified import ball

    total, ups, down = arb(0), ball(1 - rate), ball(rate)
    steps = 2 * rounds
    for k in range(rounds, min(rounds + terms, steps + 1)):
        paths = fmpz.bin_uiui(steps, k) - fmpz.bin_uiui(steps, k + 1)
        total += arb(paths) * ups**k * down ** (steps - k)
    return total


def pair_unmerged(
    rates: tuple[Fraction, Fraction],
    arrivals: tuple[Fraction, Fraction],
    minus: tuple[int, int],
    private: int,
    rounds: int,
) -> Fraction:
    """The same chance where there are two types of jobs and both queues serve the better type first.

    Q+ holds the jobs of Q- and one more; both see the same uniform. If the private job is the best of
    Q+ and both queues lose a job, the job that Q- loses becomes the private one.

    Parameters
    ----------
    rates : tuple of Fraction
        Of both types, the better one first.
    arrivals : tuple of Fraction
        Probabilities that a job of each type arrives.
    minus : tuple of int
        Jobs of both types in Q-.
    private : {0, 1}
        Type of the further job in Q+.
    rounds : int
    """
    if rounds == 0:
        return Fraction(1)
    top_minus = next((kind for kind in (0, 1) if minus[kind]), None)
    if top_minus is not None and top_minus <= private:  # the same job is the best of both queues
        served = [(rates[top_minus], _one_less(minus, top_minus), private)]
    elif top_minus is None:
        served = []  # if Q+ loses its job the queues are equal
    else:
        served = [(rates[top_minus], _one_less(minus, top_minus), top_minus)]
    top = top_minus if served and top_minus <= private else private
    outcomes = [*served, (1 - rates[top], minus, private)]
    comes = (*((chance, kind) for kind, chance in enumerate(arrivals)), (1 - sum(arrivals), None))
    return sum(
        p * q * _pair_cached(rates, arrivals, _one_more(left, kind), other, rounds - 1)
        for p, left, other in outcomes
        for q, kind in comes
        if p and q
    )


_pair_cached = cache(pair_unmerged)


def _one_less(jobs: tuple[int, int], kind: int) -> tuple[int, int]:
    return (jobs[0] - 1, jobs[1]) if kind == 0 else (jobs[0], jobs[1] - 1)


def _one_more(jobs: tuple[int, int], kind: int | None) -> tuple[int, int]:
    if kind is None:
        return jobs
    return (jobs[0] + 1, jobs[1]) if kind == 0 else (jobs[0], jobs[1] + 1)
