"""Schedules for known service rates: periodic ones of the right frequencies, and the best of many.

A schedule is a list of arms, repeated for ever. The relaxation behind Lemma 3.6 says how often each
arm should be pulled, in proportion to ``-ln q_j`` with ``q_j`` one minus the service rate; spreading
these pulls as evenly as one sequence can gives a schedule whose exact value is a lower bound on the
optimum that anybody can check. `simlib.recharge.optimum.find_certificate` finds the optimum itself
for a few arms.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlib import arguments
from simlib.arithmetic import as_rates
from simlib.recharge.formulas import relaxed_pull_frequencies
from simlib.recharge.optimum import cycle_value

__all__ = ["Schedule", "best_periodic_schedule", "periodic_schedule"]

_LONGEST = 10_000


def periodic_schedule(rates: Sequence, length: int) -> tuple[int, ...]:
    """Schedule of a given length with frequencies near ``ln q_j / sum of ln q_k``, evenly spread.

    The numbers of pulls are the frequencies times the length, rounded so that they add up to it
    (largest remainders, ties to the lowest arm). In what order they come is the same rule as in
    `simlib.recharge.routers.next_by_deadline`, in integers.

    Parameters
    ----------
    rates : sequence of length m
        Service rates in (0, 1).
    length : int
        Steps of the schedule, from 1 to 10000. An arm whose share rounds to 0 is left out.

    Returns
    -------
    tuple of int
        Arms from 0.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Cost: length times m.
    """
    shares = relaxed_pull_frequencies(rates)
    length = _length("length", length)
    # Equal rates must get equal remainders, or rounding errors would decide between them.
    parts = np.round(shares * length, 9)
    counts = np.floor(parts).astype(int)
    order = np.argsort(counts - parts, kind="stable")
    counts[order[: length - counts.sum()]] += 1
    return _even_sequence(counts.tolist())


def _even_sequence(counts: list[int]) -> tuple[int, ...]:
    """Each arm as often as it counts, spread evenly."""
    length, done, schedule = sum(counts), [0] * len(counts), []
    for step in range(1, length + 1):
        behind = [j for j, count in enumerate(counts) if done[j] * length < count * step]
        # equal fractions of integers are equal floats: ties go to the lowest arm
        arm = min(behind, key=lambda j: (done[j] + 1) / counts[j])
        done[arm] += 1
        schedule.append(arm)
    return tuple(schedule)


@dataclass(frozen=True)
class Schedule:
    """A schedule and what it earns; see `best_periodic_schedule`.

    Attributes
    ----------
    cycle : tuple of int
        Arms from 0, to be repeated for ever.
    value : Fraction or float
        Mean reward, packets per step: exact if the rates are.
    """

    cycle: tuple[int, ...]
    value: Any


def best_periodic_schedule(rates: Sequence, longest: int = 64) -> Schedule:
    """The best schedule of two families, of every length up to ``longest``.

    One is `periodic_schedule`; the other repeats the last steps of a run of the greedy planner over
    ``4 * longest`` steps. The value is a lower bound on the optimum of blind schedules: whoever
    distrusts the search can evaluate the one schedule that it returns.

    Parameters
    ----------
    rates : sequence of length m
        Service rates in (0, 1).
    longest : int
        From 1 to 10000.

    Returns
    -------
    Schedule
        The shortest of the best.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Ours. Lengths are compared in floating point, to 1e-12; the value of the winner is computed in
    rationals if the rates are exact. Cost: ``longest**2`` times m; with 64 steps some 20 milliseconds
    for m = 7.

    Examples
    --------
    >>> from simlib.recharge.planners import best_periodic_schedule
    >>> best_periodic_schedule(["1/2", "1/4"]).cycle
    (0, 1, 0)
    """
    rates = as_rates(rates)
    longest = _length("longest", longest)
    floats = np.array([float(rate) for rate in rates])
    run = _greedy_run(floats, 4 * longest)
    best, most = (), -1.0
    for length in range(1, longest + 1):
        for schedule in (periodic_schedule(floats, length), run[-length:]):
            earned = _mean_reward(floats, schedule)
            if earned > most + 1e-12:
                best, most = schedule, earned
    exact = isinstance(rates, tuple)
    return Schedule(best, cycle_value(rates, best) if exact else most)


def _greedy_run(rates: np.ndarray, steps: int) -> tuple[int, ...]:
    """Arms that `simlib.learners.greedy` pulls."""
    exponents = -np.log1p(-rates)
    ages, schedule = np.full(len(rates), np.inf), []
    for _ in range(steps):
        index = ages * exponents
        # Differences by rounding alone are ties, which go to the lowest number.
        arm = int(np.flatnonzero(index >= index.max() * (1.0 - 1e-12))[0])
        schedule.append(arm)
        ages += 1.0
        ages[arm] = 1.0
    return tuple(schedule)


def _mean_reward(rates: np.ndarray, schedule: tuple[int, ...]) -> float:
    """`cycle_value` in floating point."""
    length, total, arms = len(schedule), 0.0, np.array(schedule)
    for arm in set(schedule):
        at = np.flatnonzero(arms == arm)
        gaps = np.diff(at, append=at[0] + length)
        total += -np.expm1(gaps * np.log1p(-rates[arm])).sum()
    return total / length


def _length(name: str, value: Any) -> int:
    length = arguments.positive_integer(name, value)
    if length > _LONGEST:
        raise ValueError(f"{name} = {value!r} is too large; permitted: integers 1, ..., {_LONGEST}")
    return length
