"""Learners that know that arms recharge, and therefore earn more than the Hamacher sum.

A learner that compares average rewards cannot: on recharging arms the average of an arm says how
often it was pulled. The learners here estimate the service rates instead, from the fact that a pull
``d`` steps after the last one succeeds with probability ``1 - q**d``, ``q`` being one minus the
service rate; then they plan a schedule for the rates that they found.

Three learners, by when they look:

`explore_then_commit`
    pulls every arm many times in a row, and follows one plan from then on;
`learn_while_exploiting`
    makes a plan at the end of each epoch, and epochs double; whatever it pulls teaches it;
`restarting`
    explores and commits anew in every period: the version for queues that has a proof.

Three planners turn estimates into a schedule:

``"greedy"``
    pulls the arm that is available with the largest probability;
``"periodic"``
    pulls arm j with frequency proportional to ``-ln q_j``, as evenly as a sequence can;
``"optimal"``
    follows the best schedule of the capped ages, found by value iteration (few arms).

Ages are counted in steps of the system, so that the learners can be used in front of a queue too,
where they are called only in steps with a packet to send.
"""

import dataclasses
import math
from functools import cache
from types import MappingProxyType
from typing import Any

from numba import njit

from simlib import arguments
from simlib.learners.interface import Learner, compile_learner
from simlib.recharge.routers import next_by_deadline

__all__ = ["PLANNERS", "explore_then_commit", "learn_while_exploiting", "restarting"]

#: Planners by name, with the number that stands for each among a learner's parameters.
PLANNERS = MappingProxyType({"greedy": 0, "periodic": 1, "optimal": 2})
_GREEDY, _PERIODIC, _OPTIMAL = range(3)

# Gaps above this are not counted: they are rare, and nearly sure to pay anyway.
_GAPS = 128
# Estimates of q stay this far from 0 and 1, where no schedule could be planned.
_LEAST = 1e-6
_TIE = 1e-12

# Rows of the state: step of the last pull (0: never); minus the logarithm of the estimated q;
# rewards counted; pulls under the plan; and in column 0 the decisions so far, those at which the
# next plan is due, whether there is a plan, the period; then the pulls by gap 1, 2, ...
_LAST, _EXPONENT, _PAID, _PLANNED = 0, 1, 2, 3
_DECISIONS, _DUE, _HAS_PLAN, _PERIOD = 4, 5, 6, 7
_BY_GAP = 8
_ROWS = _BY_GAP + _GAPS
# Further rows for the optimal planner: an age vector, availability by age 1, 2, ..., and from there on
# in columns 0 and 1 the values of all age vectors, old and new.
_AGES = _ROWS
_PAYS = _AGES + 1

# Parameters: two of the learner's own, the planner, and the caps of the optimal one.
_PLANNER, _CAPS = 2, 3

_SWEEPS = 5_000
_SETTLED = 1e-7
_MOST_STATES = 4_096


@njit(cache=True, error_model="numpy", _nrt=False)
def _record(state, t, arm, reward):
    """Count a pull by its gap; the first pull of an arm says nothing and is left out."""
    gap = int(t - state[_LAST, arm])
    if state[_LAST, arm] > 0.0 and gap <= _GAPS:
        state[_BY_GAP + gap - 1, arm] += 1.0
        state[_PAID, arm] += reward
    state[_LAST, arm] = t
    state[_DECISIONS, 0] += 1.0


@njit(cache=True, error_model="numpy", _nrt=False)
def _estimate(state, arm):
    """Set the exponent of an arm from the root q of ``sum of (1 - q**gap) = rewards``."""
    low = _LEAST
    high = 1.0 - _LEAST
    # The left side decreases in q, so bisection finds the root, or the end nearest to it.
    for _ in range(50):
        q = 0.5 * (low + high)
        power = 1.0
        expected = 0.0
        for gap in range(_GAPS):
            power *= q
            expected += state[_BY_GAP + gap, arm] * (1.0 - power)
        if expected > state[_PAID, arm]:
            low = q
        else:
            high = q
    state[_EXPONENT, arm] = -math.log(0.5 * (low + high))


@njit(cache=True, error_model="numpy", _nrt=False)
def _iterate_values(state, params):
    """Value iteration on the capped age vectors for the estimated rates.

    Half of each new value is the old one, so that values settle although schedules are periodic.
    An age at its cap pays what it would if it were just that old, so the plan's value is attained.
    """
    arms = state.shape[1]
    states = 1
    for j in range(arms):
        cap = int(params[_CAPS + j])
        states *= cap
        for age in range(1, cap + 1):
            state[_PAYS + age - 1, j] = -math.expm1(-state[_EXPONENT, j] * age)
    values = _first_value(params, arms)
    for _ in range(_SWEEPS):
        least = math.inf
        most = -math.inf
        for j in range(arms):
            state[_AGES, j] = 1.0
        for index in range(states):
            # The number of an age vector is the sum of stride times (age - 1).
            older = index
            stride = 1
            for j in range(arms):
                if state[_AGES, j] < params[_CAPS + j]:
                    older += stride
                stride *= int(params[_CAPS + j])
            best = -math.inf
            stride = 1
            for j in range(arms):
                age = int(state[_AGES, j])
                cap = int(params[_CAPS + j])
                after = older - stride * min(age, cap - 1)
                best = max(best, state[_PAYS + age - 1, j] + state[values + after, 0])
                stride *= cap
            change = 0.5 * (best - state[values + index, 0])
            least = min(least, change)
            most = max(most, change)
            state[values + index, 1] = state[values + index, 0] + change
            for j in range(arms):
                if state[_AGES, j] < params[_CAPS + j]:
                    state[_AGES, j] += 1.0
                    break
                state[_AGES, j] = 1.0
        for index in range(states):
            # Only differences count: keep the numbers small.
            state[values + index, 0] = state[values + index, 1] - least
        if most - least < _SETTLED:
            break


@njit(cache=True, error_model="numpy", _nrt=False)
def _first_value(params, arms):
    """Row of the value of the first age vector."""
    most = 0
    for j in range(arms):
        most = max(most, int(params[_CAPS + j]))
    return _PAYS + most


@njit(cache=True, error_model="numpy", _nrt=False)
def _make_plan(state, params):
    """Estimate every rate and start the plan for the estimates."""
    for j in range(state.shape[1]):
        _estimate(state, j)
        state[_PLANNED, j] = 0.0
    state[_HAS_PLAN, 0] = 1.0
    if params[_PLANNER] == _OPTIMAL:
        _iterate_values(state, params)


@njit(cache=True, error_model="numpy", _nrt=False)
def _follow_plan(state, params, t):
    """Return the arm that the plan pulls at step ``t``."""
    arms = state.shape[1]
    if params[_PLANNER] == _PERIODIC:
        return next_by_deadline(state, _EXPONENT, _PLANNED)
    best = 0
    highest = -math.inf
    if params[_PLANNER] == _GREEDY:
        for j in range(arms):
            index = (t - state[_LAST, j]) * state[_EXPONENT, j]
            if index > highest * (1.0 + _TIE) or highest < 0.0:
                highest = index
                best = j
        return best
    values = _first_value(params, arms)
    older = 0
    stride = 1
    for j in range(arms):
        cap = int(params[_CAPS + j])
        older += stride * int(min(t - state[_LAST, j], cap - 1.0))
        stride *= cap
    stride = 1
    for j in range(arms):
        cap = int(params[_CAPS + j])
        age = int(min(t - state[_LAST, j], float(cap)))
        after = older - stride * min(age, cap - 1)
        value = state[_PAYS + age - 1, j] + state[values + after, 0]
        if value > highest + _TIE:
            highest = value
            best = j
        stride *= cap
    return best


@njit(cache=True, error_model="numpy", _nrt=False)
def _clear(state):
    for i in range(state.shape[0]):
        for j in range(state.shape[1]):
            state[i, j] = 0.0


class _ExploreThenCommit:
    """Parameters: rewards an arm to look at, steps of a period (0: never restarted)."""

    name, rows = "explore, then commit", _ROWS

    @staticmethod
    def act(state, params, t, rng):
        period = params[1]
        if period > 0.0 and state[_PERIOD, 0] != (t - 1) // period:
            _clear(state)
            state[_PERIOD, 0] = (t - 1) // period
        if state[_HAS_PLAN, 0] == 0.0:
            return int(state[_DECISIONS, 0] // (params[0] + 1.0))
        return _follow_plan(state, params, t)

    @staticmethod
    def update(state, params, t, arm, reward):
        arms = state.shape[1]
        if state[_HAS_PLAN, 0] == 1.0:
            state[_LAST, arm] = t
            state[_PLANNED, arm] += 1.0
        else:
            _record(state, t, arm, reward)
            if state[_DECISIONS, 0] == arms * (params[0] + 1.0):
                _make_plan(state, params)


class _LearnWhileExploiting:
    """Parameters: decisions of the first epoch, pulls in a row in it."""

    name, rows = "learn while exploiting", _ROWS

    @staticmethod
    def init(state, params):
        state[_DUE, 0] = params[0]

    @staticmethod
    def act(state, params, t, rng):
        if state[_HAS_PLAN, 0] == 0.0:
            return int(state[_DECISIONS, 0] // params[1]) % state.shape[1]
        return _follow_plan(state, params, t)

    @staticmethod
    def update(state, params, t, arm, reward):
        _record(state, t, arm, reward)
        state[_PLANNED, arm] += 1.0
        if state[_DECISIONS, 0] == state[_DUE, 0]:
            _make_plan(state, params)
            # Epochs double: the k-th ends after first * (2**k - 1) decisions.
            state[_DUE, 0] = 2.0 * state[_DUE, 0] + params[0]


@cache
def _compiled(cls: type) -> Learner:
    return compile_learner(cls, rows=cls.rows, name=cls.name, built_in=True)


def _with_planner(
    cls: type, own: tuple[float, float], planner: str, caps: Any, note: str = ""
) -> Learner:
    """The compiled learner with its two own parameters and a planner."""
    code = PLANNERS[arguments.choice("planner", planner, PLANNERS)]
    compiled = _compiled(cls)
    params, rows, arms = [*own, code], compiled.rows, None
    if code == _OPTIMAL:
        if caps is None:
            raise ValueError("planner = 'optimal' needs caps=...: one largest age for each arm")
        caps = [arguments.positive_integer(f"caps[{j}]", cap) for j, cap in enumerate(caps)]
        states, arms = math.prod(caps), len(caps)
        if arms < 2 or min(caps) < 2 or states > _MOST_STATES:
            raise ValueError(
                f"caps = {caps}; permitted: two or more integers from 2 on whose product, {states}, is "
                f"at most {_MOST_STATES}"
            )
        params += caps
        rows += 1 + max(caps) + states
    elif caps is not None:
        raise ValueError(f"caps = {caps!r} without planner='optimal'; permitted: None")
    made = dataclasses.replace(compiled, rows=rows)
    return made.with_params(params, name=f"{cls.name}{note} ({planner})", arms=arms)


def explore_then_commit(
    horizon: int | None = None,
    *,
    exploration: int | None = None,
    planner: str = "greedy",
    caps: Any = None,
) -> Learner:
    """Pull every arm ``exploration + 1`` times in a row, then follow one plan for ever.

    The first pull of each arm is thrown away; after it an arm pulled in a row pays independently with
    its service rate.

    Parameters
    ----------
    horizon : int, optional
        Number of steps T, at least 2; sets ``exploration`` to ``ceil(T**(2/3))`` unless that is given.
    exploration : int, optional
        Rewards looked at for each arm, at least 1.
    planner : {"greedy", "periodic", "optimal"}
        See the module's description.
    caps : sequence of int, optional
        With ``"optimal"``: for each arm the age, at least 2, above which it is not told apart; their
        product is at most 4096. A cap should exceed every gap of a good schedule.

    Returns
    -------
    Learner
        Cost per decision: a few operations an arm; the optimal planner adds up to some ten
        milliseconds once.

    Raises
    ------
    ValueError
        If neither ``horizon`` nor ``exploration`` is given, or an argument is out of range.

    References
    ----------
    Ours (claim ``recharge.etc_regret``).
    """
    if exploration is None:
        if horizon is None:
            raise ValueError("explore_then_commit needs horizon=... or exploration=...")
        exploration = math.ceil(_at_least_two("horizon", horizon) ** (2 / 3))
    exploration = arguments.positive_integer("exploration", exploration)
    return _with_planner(_ExploreThenCommit, (exploration, 0), planner, caps)


def learn_while_exploiting(
    *, first_epoch: int = 1_000, block: int = 4, planner: str = "greedy", caps: Any = None
) -> Learner:
    """Follow a plan in each epoch, and plan anew at its end from all pulls so far; epochs double.

    In the first epoch the arms take turns, each with ``block`` pulls in a row.

    Parameters
    ----------
    first_epoch : int
        Decisions in the first epoch, at least 1.
    block : int
        Pulls in a row in it, at least 1.
    planner, caps
        As in `explore_then_commit`.

    Returns
    -------
    Learner
        Cost per decision: a few operations an arm; per epoch some ten microseconds an arm, and up to
        some ten milliseconds for the optimal planner.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    An arm's q is the root of ``sum of (1 - q**gap) = sum of rewards`` over its pulls at gaps up to
    128. The theorem uses the pulls of the last epoch alone.

    References
    ----------
    Ours (claim ``recharge.learn_while_exploiting``).
    """
    own = tuple(
        arguments.positive_integer(name, value)
        for name, value in (("first_epoch", first_epoch), ("block", block))
    )
    return _with_planner(_LearnWhileExploiting, own, planner, caps)


def restarting(
    period: int, *, exploration: int | None = None, planner: str = "greedy", caps: Any = None
) -> Learner:
    """`explore_then_commit`, started anew every ``period`` steps of the system.

    Parameters
    ----------
    period : int
        Steps of a period W, at least 2.
    exploration : int, optional
        Rewards looked at for each arm in a period, at least 1; by default ``ceil(W**(2/3))``.
    planner, caps
        As in `explore_then_commit`.

    Returns
    -------
    Learner
        Cost per decision as `explore_then_commit`, once for each period.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Ours (claim ``recharge.beyond_h_in_queues``).
    """
    period = _at_least_two("period", period)
    if exploration is None:
        exploration = math.ceil(period ** (2 / 3))
    exploration = arguments.positive_integer("exploration", exploration)
    return _with_planner(_ExploreThenCommit, (exploration, period), planner, caps, ", restarted")


def _at_least_two(name: str, value: Any) -> int:
    number = arguments.positive_integer(name, value)
    if number < 2:
        raise ValueError(f"{name} = {value!r} is too small; permitted: integers 2, 3, ...")
    return number
