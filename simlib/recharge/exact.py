"""Exact evaluation of schedules and of memoryless routers, in rationals.

Everything is computed step by step from the model (arrive, send, accept, serve), never from the
closed forms it is meant to check.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from simlib.arguments import positive_integer
from simlib.arithmetic import as_distribution, as_exact_rates, as_number, as_rates
from simlib.chains import stationary_law

__all__ = [
    "HistoryCell",
    "LumpedChain",
    "SaturatedChain",
    "ScheduleValue",
    "acceptance_given_history",
    "evaluate_schedule",
    "lumped_chain",
    "router_matrices",
    "saturated_chain",
    "service_matrix",
    "stationary_law",
]


def as_actions(actions, arms, name="actions"):
    """A finite, nonempty sequence of arms as a tuple of int.

    Raises
    ------
    ValueError
        If it is empty or an entry is no integer from 0 to ``arms - 1``.
    """
    sequence = tuple(actions)
    if not sequence:
        raise ValueError(f"{name} is empty; permitted: at least one arm")
    for t, arm in enumerate(sequence):
        if isinstance(arm, bool) or not isinstance(arm, (int, np.integer)) or not 0 <= arm < arms:
            raise ValueError(
                f"{name}[{t}] = {arm!r}; permitted: arms, integers from 0 to {arms - 1}"
            )
    return tuple(int(arm) for arm in sequence)


@dataclass(frozen=True)
class ScheduleValue:
    """Exact value of a finite schedule; see `evaluate_schedule`.

    Attributes
    ----------
    steps : int
        Length T of the schedule.
    utility : Fraction
        Expected number of acceptances, U_T.
    utility_by_arm : tuple of Fraction, length m
        The part of it collected from each arm.
    hindsight : tuple of Fraction, length m
        For each arm the sum over all steps of what pulling it there would have paid.
    tails : tuple of (int or None), length m
        Steps after the last pull of each arm, None if it was never pulled.
    """

    steps: int
    utility: Fraction
    utility_by_arm: tuple
    hindsight: tuple
    tails: tuple

    @property
    def regrets(self):
        """Hindsight value less utility for each arm, a tuple of Fraction."""
        return tuple(value - self.utility for value in self.hindsight)

    @property
    def regret(self):
        """Largest of `regrets`: the regret R_T."""
        return max(self.regrets)


@lru_cache(maxsize=64)
def _scaled_availability(rate, horizon):
    """Integers ``scale * (1 - (1 - rate)**d)`` for d = 0..horizon, and the scale."""
    fails, whole = (1 - rate).numerator, rate.denominator
    scale = whole**horizon
    table, miss = [0], scale
    for _ in range(horizon):
        miss = miss // whole * fails
        table.append(scale - miss)
    return tuple(table), scale


def evaluate_schedule(rates, actions):
    """Exact utility, hindsight values and tails of a finite schedule.

    Parameters
    ----------
    rates : sequence of length m
        Exact service rates in (0, 1): Fractions or strings such as ``"3/10"``.
    actions : sequence of int, length T
        The arm pulled at each step, from 0.

    Returns
    -------
    ScheduleValue

    Raises
    ------
    ValueError
        If a rate is inexact or out of range, or an action is no arm.

    Notes
    -----
    An arm never pulled before is free with certainty ("the first pull pays 1"); otherwise it is
    free with probability ``1 - (1 - mu)**d``, d the steps since its last pull. The hindsight value
    is the literal sum over steps. Cost: T m additions of integers of about T digits.
    """
    rates = as_exact_rates(rates)
    actions = as_actions(actions, len(rates))
    horizon = len(actions)
    collected, hindsight, tails = [], [], []
    for arm, rate in enumerate(rates):
        table, scale = _scaled_availability(rate, horizon)
        last, earned, total = None, 0, 0
        for t, action in enumerate(actions):
            free = scale if last is None else table[t - last]
            total += free
            if action == arm:
                earned += free
                last = t
        collected.append(Fraction(earned, scale))
        hindsight.append(Fraction(total, scale))
        tails.append(None if last is None else horizon - 1 - last)
    return ScheduleValue(
        steps=horizon,
        utility=sum(collected),
        utility_by_arm=tuple(collected),
        hindsight=tuple(hindsight),
        tails=tuple(tails),
    )


def _matrix(rates, shape):
    """Matrix of zeros in the arithmetic of the rates."""
    if isinstance(rates, tuple):
        matrix = np.empty(shape, dtype=object)
        matrix[...] = Fraction(0)
        return matrix
    return np.zeros(shape)


def service_matrix(rates):
    """Transition matrix of the busy bits in the serve step.

    Parameters
    ----------
    rates : sequence of length m

    Returns
    -------
    ndarray, shape (2**m, 2**m)
        Row: busy pattern before serve, column: after. Bit j of the index is server j. Entries are
        Fractions if the rates are exact, floats otherwise.
    """
    rates = as_rates(rates)
    product = _matrix(rates, (1, 1)) + 1
    for rate in rates:
        one = _matrix(rates, (2, 2))
        one[0, 0], one[1, 0], one[1, 1] = 1, rate, 1 - rate
        product = np.kron(one, product)  # server 0 is the lowest bit, so it is the last factor
    return product


def router_matrices(rates, p):
    """One step of a backlogged i.i.d. router, split by the arm and by its answer.

    Parameters
    ----------
    rates, p : sequences of length m
        Service rates in (0, 1), routing probabilities.

    Returns
    -------
    accepted, rejected : ndarray, shape (m, 2**m, 2**m)
        ``accepted[j, b, c]`` is the probability to send to j, be accepted and move from busy
        pattern b (before accept) to c (after serve); Fractions if rates and p are exact, floats
        otherwise.
    """
    rates = as_rates(rates)
    p = as_distribution(p, len(rates))
    if isinstance(rates, tuple) != isinstance(p, tuple):
        rates, p = np.array(rates, dtype=float), np.array(p, dtype=float)
    serve = service_matrix(rates)
    patterns = np.arange(2 ** len(rates))
    shape = (len(rates), *serve.shape)
    accepted, rejected = _matrix(rates, shape), _matrix(rates, shape)
    for arm, probability in enumerate(p):
        after = serve[patterns | 1 << arm] * probability
        busy = (patterns >> arm & 1).astype(bool)
        accepted[arm, ~busy] = after[~busy]
        rejected[arm, busy] = after[busy]
    return accepted, rejected


@dataclass(frozen=True)
class SaturatedChain:
    """Stationary behaviour of a backlogged i.i.d. router; see `saturated_chain`.

    Attributes
    ----------
    stationary : tuple of Fraction, length 2**m
        Law of the busy pattern before accept; bit j of the index is server j.
    accept_rate : Fraction
        Probability that the packet sent is accepted.
    availability : tuple of Fraction, length m
        Probability that each server is free before accept.
    """

    stationary: tuple
    accept_rate: Fraction
    availability: tuple


def saturated_chain(rates, p):
    """Exact stationary law of the busy pattern under a backlogged i.i.d. router.

    Parameters
    ----------
    rates, p : sequences of length m
        Exact service rates in (0, 1) and exact routing probabilities; p may contain zeros.

    Returns
    -------
    SaturatedChain

    Raises
    ------
    ValueError
        If an input is inexact or out of range.

    Notes
    -----
    Solves the chain on all 2**m patterns rather than using that the marginal of each server is a
    chain of its own. Cost: an exact linear solve of size 2**m; m = 3 a millisecond, m = 7 under a
    second.
    """
    rates = as_exact_rates(rates)
    p = as_distribution(p, len(rates))
    if not isinstance(p, tuple):
        raise ValueError(f"p = {p!r}; permitted: Fractions or strings such as '3/10'")
    accepted, rejected = router_matrices(rates, p)
    transition = (accepted + rejected).sum(axis=0)
    law = stationary_law(transition)
    patterns = np.arange(len(law))
    return SaturatedChain(
        stationary=tuple(law),
        accept_rate=law @ accepted.sum(axis=(0, 2)),
        availability=tuple(law[patterns >> arm & 1 == 0].sum() for arm in range(len(rates))),
    )


@dataclass(frozen=True)
class LumpedChain:
    """Stationary behaviour of the uniform router on identical servers; see `lumped_chain`.

    Attributes
    ----------
    stationary : tuple of Fraction, length m + 1
        Law of the number of busy servers before accept.
    accept_rate : Fraction
        Probability that the packet sent is accepted.
    """

    stationary: tuple
    accept_rate: Fraction


def lumped_chain(arms, rate=None, *, total_service_rate=None):
    """Exact acceptance of the uniform router on identical servers, by the number of busy ones.

    Parameters
    ----------
    arms : int
        Number of servers m, at least 1.
    rate : exact number in (0, 1), optional
        Service rate of each server.
    total_service_rate : exact number, optional
        Sum of the service rates, in (0, m); give either this or ``rate``.

    Returns
    -------
    LumpedChain

    Raises
    ------
    ValueError
        If a parameter is out of range or inexact, or not exactly one rate is given.

    Notes
    -----
    Busy before accept: k. The packet is rejected with probability k/m, else k grows by one; then
    each busy server empties with probability ``rate``. Cost: an exact solve of size m + 1.
    """
    arms = positive_integer("arms", arms)
    if (rate is None) == (total_service_rate is None):
        raise ValueError(
            f"rate = {rate!r}, total_service_rate = {total_service_rate!r}; permitted: exactly one"
        )
    if rate is None:
        total = as_number("total_service_rate", total_service_rate)
        (share,) = as_exact_rates([total / arms], "total_service_rate / arms")
    else:
        (share,) = as_exact_rates([rate], "rate")
    keep = 1 - share
    survive = [
        [math.comb(n, k) * keep**k * share ** (n - k) for k in range(n + 1)]
        for n in range(arms + 1)
    ]
    transition = np.empty((arms + 1, arms + 1), dtype=object)
    transition[...] = Fraction(0)
    for busy in range(arms + 1):
        rejected = Fraction(busy, arms)
        for after, probability in ((busy, rejected), (busy + 1, 1 - rejected)):
            if probability:
                for left, chance in enumerate(survive[after]):
                    transition[busy, left] += probability * chance
    law = stationary_law(transition)
    accept_rate = sum(x * Fraction(arms - busy, arms) for busy, x in enumerate(law))
    return LumpedChain(stationary=tuple(law), accept_rate=accept_rate)


@dataclass(frozen=True)
class HistoryCell:
    """Acceptance at one step after one history of answers; see `acceptance_given_history`.

    Attributes
    ----------
    history : tuple of int
        Answers 0 or 1 at the earlier steps.
    arm : int
        Arm pulled at this step.
    age : int or None
        Steps since the buffer of that arm was last known to be full before serve; None if never.
    acceptance : Fraction
        Probability of acceptance given the history.
    """

    history: tuple
    arm: int
    age: int | None
    acceptance: Fraction


def acceptance_given_history(rates, actions, initial_age=1):
    """Acceptance probability after every history of answers, by enumeration with explicit buffers.

    Parameters
    ----------
    rates : sequence of length m
        Exact service rates in (0, 1).
    actions : sequence of int, length T
        The arm pulled at each step.
    initial_age : int or None
        The buffers were full before serve that many steps before the first step (so that histories
        starting with a rejection are possible); None for empty buffers.

    Returns
    -------
    tuple of HistoryCell
        One for each step and each history of positive probability: ``2**T - 1`` with full buffers.

    Raises
    ------
    ValueError
        If a parameter is out of range or inexact.

    Notes
    -----
    Section 2.2: each cell should equal ``1 - (1 - mu)**age``. The buffers' joint law given the
    history is filtered by Bayes' rule; ages are only reported. Cost: ``2**(T + m)`` rational
    operations.
    """
    rates = as_exact_rates(rates)
    arms = len(rates)
    actions = as_actions(actions, arms)
    patterns = tuple(itertools.product((0, 1), repeat=arms))
    if initial_age is None:
        busy, ages = [Fraction(0)] * arms, [None] * arms
    else:
        initial_age = positive_integer("initial_age", initial_age)
        busy, ages = [(1 - rate) ** initial_age for rate in rates], [initial_age] * arms
    belief = {
        pattern: math.prod(x if bit else 1 - x for x, bit in zip(busy, pattern, strict=True))
        for pattern in patterns
    }
    beliefs, cells = {(): belief}, []
    for action in actions:
        following = {}
        for history, belief in beliefs.items():
            total = sum(belief.values())
            free = sum(x for pattern, x in belief.items() if not pattern[action])
            cells.append(HistoryCell(history, action, ages[action], free / total))
            for answer in (0, 1):
                after = _serve(belief, rates, action, answer)
                if any(after.values()):
                    following[(*history, answer)] = after
        beliefs = following
        ages = [1 if arm == action else age and age + 1 for arm, age in enumerate(ages)]
    return tuple(cells)


def _serve(belief, rates, action, answer):
    """Unnormalized law of the buffers after one step in which the answer was as given."""
    after = dict.fromkeys(belief, Fraction(0))
    for pattern, weight in belief.items():
        if not weight or pattern[action] == answer:  # a full buffer rejects, an empty one accepts
            continue
        full = [bit or arm == action for arm, bit in enumerate(pattern)]
        for left in itertools.product(*((0, 1) if bit else (0,) for bit in full)):
            chance = math.prod(
                (1 - rate) if stays else rate
                for rate, stays, bit in zip(rates, left, full, strict=True)
                if bit
            )
            after[left] += weight * chance
    return after
