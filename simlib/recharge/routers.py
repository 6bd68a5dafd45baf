"""Routers that follow a schedule made in advance, or an even sequence of given frequencies.

Both know the service rates: they are what a learner that accounts for recharge tries to become.
`simlib.learners.greedy` is a third one.
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Any

from numba import njit

from simlib import arguments
from simlib.learners.interface import Learner, compile_learner
from simlib.recharge.exact import as_actions

__all__ = ["next_by_deadline", "periodic_router", "schedule_router"]


@njit(cache=True, error_model="numpy", _nrt=False)
def next_by_deadline(state, weights, counts):
    """Return the next arm of the even sequence with given frequencies.

    Parameters
    ----------
    state : ndarray, shape (rows, arms)
    weights, counts : int
        Row of the weights (positive; frequencies times a constant) and row of the pulls so far.

    Returns
    -------
    int
        Of the arms that have had less than their share of the pulls up to and including this one, that
        whose share next grows by a whole pull.

    References
    ----------
    R. Tijdeman, "The chairman assignment problem", Discrete Mathematics 32, 1980.
    """
    arms = state.shape[1]
    total = 0.0
    pulls = 1.0
    for j in range(arms):
        total += state[weights, j]
        pulls += state[counts, j]
    best = 0
    earliest = math.inf
    for j in range(arms):
        deadline = (state[counts, j] + 1.0) / state[weights, j]
        if state[counts, j] * total < state[weights, j] * pulls and deadline < earliest:
            earliest = deadline
            best = j
    return best


class _ScheduleRouter:
    """Row: 0 position in the schedule (in column 0)."""

    name, rows = "schedule", 1

    @staticmethod
    def act(state, params, t, rng):
        return int(params[int(state[0, 0])])

    @staticmethod
    def update(state, params, t, arm, reward):
        state[0, 0] = (state[0, 0] + 1.0) % params.shape[0]


class _PeriodicRouter:
    """Rows: 0 minus the logarithm of 1 - rate, 1 pulls."""

    name, rows = "periodic router", 2

    @staticmethod
    def init(state, params):
        for j in range(state.shape[1]):
            state[0, j] = -math.log1p(-params[j])

    @staticmethod
    def act(state, params, t, rng):
        return next_by_deadline(state, 0, 1)

    @staticmethod
    def update(state, params, t, arm, reward):
        state[1, arm] += 1.0


@cache
def _compiled(cls: type) -> Learner:
    return compile_learner(cls, rows=cls.rows, name=cls.name, built_in=True)


def schedule_router(cycle: Sequence[int], arms: int, name: str = "schedule") -> Learner:
    """Repeat a schedule for ever, one entry a decision, whatever happens.

    Parameters
    ----------
    cycle : sequence of int, nonempty
        Arms from 0.
    arms : int
        Number of arms, at least 1.
    name : str
        Name in tables and plots.

    Returns
    -------
    Learner
        Cost per decision: constant.

    Raises
    ------
    ValueError
        If an entry is no arm.
    """
    arms = arguments.positive_integer("arms", arms)
    return _compiled(_ScheduleRouter).with_params(as_actions(cycle, arms, "cycle"), name, arms)


def periodic_router(rates: Any) -> Learner:
    """Pull the arms evenly, with frequencies proportional to ``-ln q_j``, given the service rates.

    Parameters
    ----------
    rates : array_like, shape (arms,)
        Service rates in (0, 1), known to this baseline.

    Returns
    -------
    Learner
        Cost per decision: one division an arm. See `next_by_deadline`.

    References
    ----------
    Frequencies: "Learning in Strategic Queuing with Geometric Recharge", Lemma 3.6.
    """
    mu = arguments.rates("rates", rates)
    return _compiled(_PeriodicRouter).with_params(mu, arms=mu.size)
