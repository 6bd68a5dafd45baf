"""Extended value iteration: the best policy for the best model of a confidence region.

A sweep replaces the values u by

    u'(s) = max over a of { r(s, a) + max { q . u : q a law, |q - p(s, a)|_1 <= radius(s, a) } },

and the iteration stops once ``u' - u`` has a span below the precision. The largest gain over the region
then lies between the least and the largest entry of ``u' - u`` (Jaksch, Ortner and Auer 2010, Section
3.1; here something can happen in no step, so that every model of interest is aperiodic).

**The inner maximum** has a closed form (Jaksch et al., Figure 2): ``min(1 - p_b, radius / 2)`` of
probability moves to the best state b, taken from the worst states first. The model is a birth-death
chain and the learner knows it, so q lives on {s-1, s, s+1}, and a sweep costs O(S). The source says
O(S^3) an iteration (Section 4); its Appendix 10 is lost.

Three loops: `extended_value_iteration` with ``support="neighbours"`` (above), with ``support="all"``
(q may put mass on any state, as in UCRL2; still O(S), because p has at most three atoms), and
`generic_extended_value_iteration`, which knows nothing of the structure: O(S^2) a sweep.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from simlib import arguments

__all__ = [
    "MOST_SWEEPS",
    "ExtendedValues",
    "extended_value_iteration",
    "generic_extended_value_iteration",
    "iterate",
    "optimistic_row",
]

#: Sweeps after which the iteration gives up, unless told otherwise.
MOST_SWEEPS = 20_000

_SUPPORTS = ("neighbours", "all")


@dataclass(frozen=True)
class ExtendedValues:
    """What extended value iteration found.

    Attributes
    ----------
    values : ndarray, shape (S + 1,)
        u, with ``u(0) = 0``.
    policy : ndarray of int64, shape (S + 1,)
        Action that attains the maximum in the last sweep (0 rejects, 1 admits; the smaller on ties).
    low, high : float
        Least and largest entry of the last ``u' - u``: the optimistic gain lies between them.
    sweeps : int
        Sweeps made.
    capped : bool
        Whether the iteration gave up before the precision was reached.
    """

    values: NDArray[np.float64]
    policy: NDArray[np.int64]
    low: float
    high: float
    sweeps: int
    capped: bool


def optimistic_row(values: Any, phat: Any, radius: Any) -> tuple[list, Any]:
    """Law q with ``|q - phat|_1 <= radius`` and the largest ``q . values``, in closed form.

    Parameters
    ----------
    values : sequence, shape (n,)
        u at the states that q may charge.
    phat : sequence, shape (n,)
        A law on these states.
    radius : number
        At least 0.

    Returns
    -------
    q : list, length n
    value : number
        ``q . values``.

    Raises
    ------
    ValueError
        If the lengths differ, a value is not finite, ``phat`` is no law (within 1e-9 for floats), or the
        radius is not a number from 0.

    Notes
    -----
    Exact on integers and Fractions. Cost: O(n log n).

    References
    ----------
    Jaksch, Ortner and Auer 2010, Figure 2.
    """
    values, q = list(values), list(phat)
    if not q or len(values) != len(q):
        raise ValueError(
            f"phat has {len(q)} entries for {len(values)} values; permitted: as many, at least one"
        )
    for k, value in enumerate(values):
        if not -math.inf < value < math.inf:
            raise ValueError(f"values[{k}] = {value!r}; permitted: finite numbers")
    if not (all(weight >= 0 for weight in q) and abs(sum(q) - 1) <= 1e-9):
        raise ValueError(f"phat = {phat!r}; permitted: numbers from 0 that sum to 1")
    if not radius >= 0:
        raise ValueError(f"radius = {radius!r}; permitted: numbers from 0")
    order = sorted(range(len(q)), key=lambda k: values[k])
    best = order[-1]
    moved = min(1 - q[best], radius / 2)
    q[best] += moved
    for k in order[:-1]:
        taken = min(moved, q[k])
        q[k] -= taken
        moved -= taken
    return q, sum(weight * value for weight, value in zip(q, values, strict=True))


@njit(cache=True, error_model="numpy", _nrt=False)
def _best_of_three(down, up, below, here, above, half):
    """Largest mean of the values ``below``, ``here``, ``above`` within ``2 half`` of (down, ., up)."""
    stay = 1.0 - down - up
    mean = down * below + stay * here + up * above
    if below >= here and below >= above:
        best, own = below, down
        first, first_mass, second = here, stay, above
        if above < here:
            first, first_mass, second = above, up, here
    elif above >= here:
        best, own = above, up
        first, first_mass, second = here, stay, below
        if below < here:
            first, first_mass, second = below, down, here
    else:
        best, own = here, stay
        first, first_mass, second = above, up, below
        if below < above:
            first, first_mass, second = below, down, above
    moved = min(1.0 - own, half)
    from_first = min(moved, first_mass)
    return mean + from_first * (best - first) + (moved - from_first) * (best - second)


@njit(cache=True, error_model="numpy", _nrt=False)
def _best_of_all(down, up, below, here, above, half, best, at):
    """As `_best_of_three`, where mass may also move to the ``best`` value of all states.

    ``at`` is the place of that state minus s; mass on it stays where it is.
    """
    stay = 1.0 - down - up
    mean = down * below + stay * here + up * above
    own = 0.0
    if at == -1:
        own = down
    elif at == 0:
        own = stay
    elif at == 1:
        own = up
    # The three in ascending order, by exchanges of neighbours.
    v0, m0, v1, m1, v2, m2 = below, down, here, stay, above, up
    if v1 < v0:
        v0, m0, v1, m1 = v1, m1, v0, m0
    if v2 < v1:
        v1, m1, v2, m2 = v2, m2, v1, m1
    if v1 < v0:
        v0, m0, v1, m1 = v1, m1, v0, m0
    left = min(1.0 - own, half)
    taken = min(left, m0)
    mean += taken * (best - v0)
    left -= taken
    taken = min(left, m1)
    mean += taken * (best - v1)
    left -= taken
    return mean + min(left, m2) * (best - v2)


@njit(cache=True, error_model="numpy", _nrt=False)
def iterate(u, work, rewards, up, down, half, everywhere, precision, most_sweeps, policy, gains):
    """Sweep until the span of a change is below the precision; for compiled callers.

    Parameters
    ----------
    u : ndarray, shape (S + 1,)
        Start, changed in place; on return ``u(0) = 0``.
    work : ndarray, shape (S + 1,)
        Scratch.
    rewards, up, down, half : ndarray, shape (S + 1, 2)
        Optimistic rewards, estimated probabilities of one job more and one less, half the radius; by
        total and action. Admission at S is not an action.
    everywhere : bool
        Whether mass may move to any state.
    precision : float
    most_sweeps : int
    policy : ndarray of int64, shape (S + 1,)
        Out.
    gains : ndarray, shape (2,) or longer
        Out: least and largest entry of the last change.

    Returns
    -------
    int
        Sweeps made, negative if the precision was not reached.
    """
    top = u.shape[0] - 1
    low, high = 0.0, 0.0
    for sweep in range(1, most_sweeps + 1):
        target = 0
        if everywhere:
            for s in range(1, top + 1):
                if u[s] > u[target]:
                    target = s
        low, high = math.inf, -math.inf
        for s in range(top + 1):
            here = u[s]
            # Where there is no neighbour its probability is 0, and the state itself stands in.
            below = u[s - 1] if s > 0 else here
            above = u[s + 1] if s < top else here
            best = -math.inf
            chosen = 0
            for a in range(2 if s < top else 1):
                reach = above if a == 1 else here
                if everywhere:
                    value = _best_of_all(
                        down[s, a], up[s, a], below, here, reach, half[s, a], u[target], target - s
                    )
                else:
                    value = _best_of_three(down[s, a], up[s, a], below, here, reach, half[s, a])
                value += rewards[s, a]
                if value > best:
                    best = value
                    chosen = a
            policy[s] = chosen
            work[s] = best
            low = min(low, best - here)
            high = max(high, best - here)
        base = work[0]
        for s in range(top + 1):
            u[s] = work[s] - base
        if high - low < precision:
            gains[0], gains[1] = low, high
            return sweep
    gains[0], gains[1] = low, high
    return -most_sweeps


def extended_value_iteration(
    rewards: Any,
    up: Any,
    down: Any,
    radius: Any,
    *,
    precision: float,
    start: Any = None,
    support: str = "neighbours",
    most_sweeps: int = MOST_SWEEPS,
) -> ExtendedValues:
    """Extended value iteration on a birth-death chain with two actions.

    Parameters
    ----------
    rewards : array_like, shape (S + 1, 2)
        Optimistic rewards (estimate plus radius, not above the largest reward).
    up, down : array_like, shape (S + 1, 2)
        Estimated probabilities that the total grows and falls, for actions 0 (reject) and 1 (admit).
        ``up[:, 0]``, ``up[S]`` and ``down[0]`` must be 0. Action 1 does not exist at S.
    radius : array_like, shape (S + 1, 2)
        Radius of the confidence region in the 1-norm, at least 0.
    precision : float
        Span below which a change ends the iteration.
    start : array_like, shape (S + 1,), optional
        First values; by default 0.
    support : {"neighbours", "all"}
        States that an optimistic law may charge.
    most_sweeps : int
        Sweeps after which the iteration gives up.

    Returns
    -------
    ExtendedValues

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Cost: O(S) a sweep, about 5 ns a state and action.
    """
    rewards = _table("rewards", rewards)
    shape = rewards.shape
    up, down, radius = (
        _table(name, value, shape)
        for name, value in (("up", up), ("down", down), ("radius", radius))
    )
    if (up < 0).any() or (down < 0).any() or (up + down > 1 + 1e-9).any():
        raise ValueError("up and down; permitted: probabilities that sum to at most 1")
    if up[:, 0].any() or up[-1].any() or down[0].any():
        raise ValueError("up[:, 0], up[S] and down[0]; permitted: 0")
    if (radius < 0).any():
        raise ValueError("radius has a negative entry; permitted: numbers from 0")
    support = arguments.choice("support", support, _SUPPORTS)
    precision = arguments.positive_real("precision", precision)
    most_sweeps = arguments.positive_integer("most_sweeps", most_sweeps)
    values = _start(start, shape[0])
    policy, gains = np.zeros(shape[0], dtype=np.int64), np.zeros(2)
    sweeps = iterate(
        *(values, np.empty(shape[0]), rewards, up, down, radius / 2, support == "all"),
        *(precision, most_sweeps, policy, gains),
    )
    return ExtendedValues(values, policy, float(gains[0]), float(gains[1]), abs(sweeps), sweeps < 0)


def _table(name, value, shape=None):
    table = np.array(value, dtype=np.float64, order="C")
    if table.ndim != 2 or table.shape[1] != 2 or table.shape[0] < 2:
        raise ValueError(f"{name} has shape {table.shape}; permitted: (S + 1, 2) with S from 1")
    if shape is not None and table.shape != shape:
        raise ValueError(f"{name} has shape {table.shape}; permitted: that of rewards, {shape}")
    if not np.isfinite(table).all():
        raise ValueError(f"{name} is not finite; permitted: finite numbers")
    return table


def _start(start, states):
    if start is None:
        return np.zeros(states)
    values = arguments.real_vector("start", start)
    if values.size != states:
        raise ValueError(f"start has {values.size} entries; permitted: {states}")
    return values


@njit(cache=True, error_model="numpy")
def _iterate_generic(u, rewards, transitions, half, precision, most_sweeps, policy, gains):
    """As `iterate` for any laws and any number of actions (reward -inf: there is no such action)."""
    states, actions = rewards.shape
    work = np.empty(states)
    low, high = 0.0, 0.0
    for sweep in range(1, most_sweeps + 1):
        order = np.argsort(u)
        best = order[states - 1]
        low, high = math.inf, -math.inf
        for s in range(states):
            work[s] = -math.inf
            for a in range(actions):
                if rewards[s, a] == -math.inf:
                    continue
                moved = min(1.0 - transitions[s, a, best], half[s, a])
                value = rewards[s, a] + (transitions[s, a, best] + moved) * u[best]
                for k in range(states - 1):
                    j = order[k]
                    taken = min(moved, transitions[s, a, j])
                    moved -= taken
                    value += (transitions[s, a, j] - taken) * u[j]
                if value > work[s]:
                    work[s] = value
                    policy[s] = a
            low, high = min(low, work[s] - u[s]), max(high, work[s] - u[s])
        for s in range(states):
            u[s] = work[s] - work[0]
        if high - low < precision:
            gains[0], gains[1] = low, high
            return sweep
    gains[0], gains[1] = low, high
    return -most_sweeps


def generic_extended_value_iteration(
    rewards: Any,
    transitions: Any,
    radius: Any,
    *,
    precision: float,
    start: Any = None,
    most_sweeps: int = MOST_SWEEPS,
) -> ExtendedValues:
    """Extended value iteration over the full 1-norm ball of any finite model: the baseline.

    Parameters
    ----------
    rewards : array_like, shape (states, actions)
        Optimistic rewards; -inf where there is no such action.
    transitions : array_like, shape (states, actions, states)
        Estimated laws.
    radius : array_like, shape (states, actions)
        At least 0.
    precision, start, most_sweeps
        As in `extended_value_iteration`.

    Returns
    -------
    ExtendedValues

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Cost: O(states^2 actions) a sweep.
    """
    rewards = np.array(rewards, dtype=np.float64, order="C")
    transitions = np.array(transitions, dtype=np.float64, order="C")
    radius = np.array(radius, dtype=np.float64, order="C")
    if rewards.ndim != 2 or transitions.shape != (*rewards.shape, rewards.shape[0]):
        raise ValueError(
            f"transitions has shape {transitions.shape}; permitted: (states, actions, states), with "
            f"rewards of shape {rewards.shape}"
        )
    if radius.shape != rewards.shape or not (radius >= 0).all():
        raise ValueError(
            f"radius has shape {radius.shape}; permitted: numbers from 0, shape {rewards.shape}"
        )
    sums = transitions.sum(axis=2)
    if not ((transitions >= 0).all() and (abs(sums - 1) <= 1e-9).all()):
        raise ValueError("transitions; permitted: laws, numbers from 0 that sum to 1")
    if not np.isfinite(rewards.max(axis=1)).all():
        raise ValueError("rewards; permitted: a finite one in each state, -inf for no action")
    precision = arguments.positive_real("precision", precision)
    most_sweeps = arguments.positive_integer("most_sweeps", most_sweeps)
    values = _start(start, rewards.shape[0])
    policy, gains = np.zeros(rewards.shape[0], dtype=np.int64), np.zeros(2)
    sweeps = _iterate_generic(
        values, rewards, transitions, radius / 2, precision, most_sweeps, policy, gains
    )
    return ExtendedValues(values, policy, float(gains[0]), float(gains[1]), abs(sweeps), sweeps < 0)
