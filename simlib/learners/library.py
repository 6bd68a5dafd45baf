"""The library of learners, each made by a factory.

Rewards are 0 or 1. Where an algorithm is published for losses, the loss is one minus the reward.
Where it is published with the round number, the number of the learner's own decisions is meant.

The functions below are compiled when a factory first needs them and are then kept on disk.
"""

import inspect
import math
from collections.abc import Callable
from functools import cache
from types import MappingProxyType
from typing import Any

import numpy as np
from numba import njit

from simlib import arguments, tuning
from simlib.learners.interface import Learner, compile_learner
from simlib.streams import beta, integer_below, random

__all__ = [
    "BUILT_IN",
    "by_name",
    "epsilon_greedy",
    "exp3",
    "exp3_anytime",
    "exp3_ix",
    "greedy",
    "guarded_uniform",
    "memoryless",
    "normalized_odds_router",
    "proportional_router",
    "round_robin",
    "thompson",
    "tsallis_inf",
    "ucb1",
    "uniform_router",
]

_LARGE = 1e100
_SMALL = 1e-100
# Weights never fall below this share of the largest scale, so none can get stuck at zero.
_FLOOR = 1e-300
_TIE = 1e-12


@cache
def _compiled(cls: type) -> Learner:
    return compile_learner(
        cls,
        rows=cls.rows,
        strategy_row=getattr(cls, "strategy_row", None),
        name=cls.name,
        built_in=True,
    )


@njit(cache=True, error_model="numpy", _nrt=False)
def _sample(state, row, rng):
    """Draw an arm from the distribution in a row of the state, with one uniform."""
    u = random(rng)
    arms = state.shape[1]
    for j in range(arms):
        u -= state[row, j]
        if u < 0.0:
            return j
    # Rounding left a crumb of mass beyond the last arm: the last arm that has any takes it.
    last = arms - 1
    while last > 0 and state[row, last] <= 0.0:
        last -= 1
    return last


class _Exp3:
    """Rows: 0 weights, 1 mixed strategy, 2 learning rate (the same for every arm)."""

    name, rows, strategy_row = "EXP3", 3, 1

    @staticmethod
    def init(state, params):
        arms = state.shape[1]
        exploration = params[0]
        for j in range(arms):
            state[2, j] = params[1] if params[1] > 0.0 else exploration / arms
            if params.shape[0] > 2:
                state[1, j] = params[2 + j]
                state[0, j] = (arms * params[2 + j] - exploration) / (1.0 - exploration)
            else:
                state[1, j] = 1.0 / arms
                state[0, j] = 1.0

    @staticmethod
    def act(state, params, t, rng):
        return _sample(state, 1, rng)

    @staticmethod
    def update(state, params, t, arm, reward):
        # A failure changes no weight, hence no probability.
        if reward > 0.0:
            arms = state.shape[1]
            state[0, arm] *= math.exp(state[2, arm] * reward / state[1, arm])
            total = 0.0
            for j in range(arms):
                total += state[0, j]
            if total > _LARGE:
                scale = 1.0 / total
                total = 0.0
                for j in range(arms):
                    state[0, j] = max(state[0, j] * scale, _FLOOR)
                    total += state[0, j]
            exploration = params[0]
            factor = (1.0 - exploration) / total
            floor = exploration / arms
            for j in range(arms):
                state[1, j] = factor * state[0, j] + floor


def exp3(
    horizon: int | None = None,
    *,
    exploration: float | None = None,
    learning_rate: float | None = None,
    initial: Any = None,
) -> Learner:
    """EXP3 with constant exploration and learning rate.

    An arm is drawn from ``(1 - exploration) * weights / sum(weights) + exploration / arms``; the
    weight of the arm pulled is multiplied by ``exp(learning_rate * reward / probability)``.

    Parameters
    ----------
    horizon : int, optional
        Number of steps T, at least 2; sets ``exploration`` to ``T**-0.5`` unless that is given.
    exploration : float, optional
        In (0, 1).
    learning_rate : float, optional
        Above 0; by default ``exploration / arms``, which keeps every exponent at most 1.
    initial : array_like, shape (arms,), optional
        Mixed strategy of the first draw, each entry above ``exploration / arms``; by default
        uniform.

    Returns
    -------
    Learner
        Cost per decision: one uniform, O(arms) additions, one exponential on a success.

    Raises
    ------
    ValueError
        If neither ``horizon`` nor ``exploration`` is given, or one is out of range.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed bandit
    problem", SIAM Journal on Computing 32(1), 2002. Parameters as in Section 5 of "Learning in
    Strategic Queuing with Geometric Recharge".
    """
    if exploration is None:
        if horizon is None:
            raise ValueError("exp3 needs horizon=... or exploration=...")
        exploration = _horizon(horizon) ** -0.5
    exploration = arguments.probability_open("exploration", exploration)
    rate = 0.0 if learning_rate is None else arguments.positive_real("learning_rate", learning_rate)
    if initial is None:
        return _compiled(_Exp3).with_params([exploration, rate])
    start = arguments.distribution("initial", initial)
    if start.min() <= exploration / start.size:
        raise ValueError(
            f"initial has the entry {start.min()}; permitted: above exploration / arms = "
            f"{exploration / start.size}"
        )
    return _compiled(_Exp3).with_params([exploration, rate, *start], arms=start.size)


class _Exp3Anytime:
    """Rows: 0 estimated losses, 1 mixed strategy, 2 number of decisions (in column 0)."""

    name, rows, strategy_row = "EXP3 anytime", 3, 1

    @staticmethod
    def init(state, params):
        for j in range(state.shape[1]):
            state[1, j] = 1.0 / state.shape[1]

    @staticmethod
    def act(state, params, t, rng):
        return _sample(state, 1, rng)

    @staticmethod
    def update(state, params, t, arm, reward):
        arms = state.shape[1]
        state[2, 0] += 1.0
        state[0, arm] += (1.0 - reward) / state[1, arm]
        rate = math.sqrt(math.log(arms) / (arms * (state[2, 0] + 1.0)))
        least = state[0, 0]
        for j in range(1, arms):
            least = min(least, state[0, j])
        total = 0.0
        for j in range(arms):
            state[1, j] = math.exp(rate * (least - state[0, j]))
            total += state[1, j]
        for j in range(arms):
            state[1, j] /= total


def exp3_anytime() -> Learner:
    """EXP3 with the learning rate ``sqrt(ln(arms) / (arms * t))``, which needs no horizon.

    The strategy is proportional to ``exp(-rate * estimated loss)``; there is no other exploration.

    Returns
    -------
    Learner
        Cost per decision: one uniform and ``arms`` exponentials.

    References
    ----------
    S. Bubeck, N. Cesa-Bianchi, "Regret analysis of stochastic and nonstochastic multi-armed bandit
    problems", Foundations and Trends in Machine Learning 5(1), 2012, Section 3.1.
    """
    return _compiled(_Exp3Anytime)


class _Exp3Ix:
    """Rows: 0 weights, 1 mixed strategy, 2 learning rate (the same for every arm)."""

    name, rows, strategy_row = "EXP3-IX", 3, 1

    @staticmethod
    def init(state, params):
        arms = state.shape[1]
        for j in range(arms):
            state[0, j] = 1.0
            state[1, j] = 1.0 / arms
            state[2, j] = (
                params[1]
                if params[1] > 0.0
                else math.sqrt(2.0 * math.log(arms) / (arms * params[0]))
            )

    @staticmethod
    def act(state, params, t, rng):
        return _sample(state, 1, rng)

    @staticmethod
    def update(state, params, t, arm, reward):
        _exp3_ix_step(state, arm, reward)


@njit(cache=True, error_model="numpy", _nrt=False)
def _exp3_ix_step(state, arm, reward):
    """Update weights (row 0) and mixed strategy (row 1) with the learning rate of row 2."""
    # A success is a loss of 0 and changes nothing.
    if reward < 1.0:
        arms = state.shape[1]
        rate = state[2, arm]
        estimate = (1.0 - reward) / (state[1, arm] + 0.5 * rate)
        state[0, arm] = max(state[0, arm] * math.exp(-rate * estimate), _FLOOR)
        total = 0.0
        for j in range(arms):
            total += state[0, j]
        if total < _SMALL:
            for j in range(arms):
                state[0, j] /= total
            total = 1.0
        for j in range(arms):
            state[1, j] = state[0, j] / total


def exp3_ix(horizon: int | None = None, *, learning_rate: float | None = None) -> Learner:
    """EXP3 with implicit exploration, whose regret is small with high probability.

    The loss of the arm pulled is divided by ``probability + learning_rate / 2``.

    Parameters
    ----------
    horizon : int, optional
        Number of decisions, at least 2; sets ``learning_rate`` to ``sqrt(2 * ln(arms) / (arms *
        horizon))`` unless that is given.
    learning_rate : float, optional
        Above 0.

    Returns
    -------
    Learner
        Cost per decision: one uniform, O(arms) additions, one exponential on a failure.

    Raises
    ------
    ValueError
        If neither ``horizon`` nor ``learning_rate`` is given, or one is out of range.

    References
    ----------
    G. Neu, "Explore no more: improved high-probability regret bounds for non-stochastic bandits",
    NIPS 2015.
    """
    if learning_rate is not None:
        rate = arguments.positive_real("learning_rate", learning_rate)
        return _compiled(_Exp3Ix).with_params([0.0 if horizon is None else _horizon(horizon), rate])
    if horizon is None:
        raise ValueError("exp3_ix needs horizon=... or learning_rate=...")
    return _compiled(_Exp3Ix).with_params([_horizon(horizon), 0.0])


class _GuardedUniform:
    """Rows: 0 weights, 1 mixed strategy, 2 learning rate, 3 estimated rewards of each arm, and in
    column 0: 4 rewards, 5 the largest estimate, 6 one after the alarm.
    """

    name, rows, strategy_row = "guarded uniform", 7, 1

    @staticmethod
    def init(state, params):
        arms = state.shape[1]
        for j in range(arms):
            state[0, j] = 1.0
            state[1, j] = 1.0 / arms
            state[2, j] = params[1]

    @staticmethod
    def act(state, params, t, rng):
        if state[6, 0] == 0.0:
            return integer_below(rng, state.shape[1])
        return _sample(state, 1, rng)

    @staticmethod
    def update(state, params, t, arm, reward):
        if state[6, 0] != 0.0:
            _exp3_ix_step(state, arm, reward)
        elif reward > 0.0:
            state[3, arm] += state.shape[1] * reward
            state[4, 0] += reward
            state[5, 0] = max(state[5, 0], state[3, arm])
            if state[5, 0] - state[4, 0] > params[0]:
                state[6, 0] = 1.0


def guarded_uniform(
    period: int, arms: int, confidence: float, total_service_rate: float
) -> Learner:
    """Uniform routing with an alarm, after which EXP3-IX takes over until the period ends.

    While every arm is drawn with the same probability, ``arms * reward`` is an unbiased estimate of
    what the arm just pulled pays. The alarm rings when the sum of these estimates exceeds, for some
    arm, the rewards by more than `simlib.tuning.guard_threshold`. A period ends when the simulator
    restarts the learner (``restart_every=period``).

    Parameters
    ----------
    period : int
        Steps of a period, at least 2.
    arms : int
        Number of servers, at least 1.
    confidence : float
        Probability of error in (0, 1), called eta in the theorem.
    total_service_rate : float
        Sum of the service rates for which the threshold is made, above 0.

    Returns
    -------
    Learner
        Cost per decision: one uniform, whatever the number of arms; after the alarm that of
        `exp3_ix`.

    Raises
    ------
    ValueError
        If an argument is out of its range.

    References
    ----------
    Ours (claim ``strategic.guarded_uniform``).
    """
    period = _horizon(period, "period")
    arms = arguments.positive_integer("arms", arms)
    confidence = arguments.probability_open("confidence", confidence)
    threshold = tuning.guard_threshold(period, arms, confidence, total_service_rate)
    rate = tuning.exp3_ix_learning_rate(period, arms, confidence)
    return _compiled(_GuardedUniform).with_params([threshold, rate], arms=arms)


class _TsallisInf:
    """Rows: 0 estimated losses, 1 mixed strategy, 2 number of decisions (in column 0)."""

    name, rows, strategy_row = "Tsallis-INF", 3, 1

    @staticmethod
    def init(state, params):
        for j in range(state.shape[1]):
            state[1, j] = 1.0 / state.shape[1]

    @staticmethod
    def act(state, params, t, rng):
        return _sample(state, 1, rng)

    @staticmethod
    def update(state, params, t, arm, reward):
        arms = state.shape[1]
        state[2, 0] += 1.0
        state[0, arm] += (1.0 - reward) / state[1, arm]
        rate = 2.0 / math.sqrt(state[2, 0] + 1.0)
        least = state[0, 0]
        for j in range(1, arms):
            least = min(least, state[0, j])
        # Solve sum of 4 / (rate * (loss - x))**2 = 1 for x < least. At the start the arm with the
        # least loss alone has mass 1; the sum is convex and increasing in x, so Newton's steps
        # descend to the root without crossing it.
        x = least - 2.0 / rate
        total = 0.0
        for _ in range(100):
            total = 0.0
            slope = 0.0
            for j in range(arms):
                root = 2.0 / (rate * (state[0, j] - x))
                state[1, j] = root * root
                total += root * root
                slope += root * root * root
            if total - 1.0 <= 1e-12:
                break
            x -= (total - 1.0) / (rate * slope)
        for j in range(arms):
            state[1, j] /= total


def tsallis_inf() -> Learner:
    """Tsallis-INF with exponent 1/2, importance-weighted losses and the rate ``2 / sqrt(t)``.

    The normalisation is found with Newton's method, to 1e-12.

    Returns
    -------
    Learner
        Cost per decision: one uniform and about ``5 * arms`` divisions.

    References
    ----------
    J. Zimmert, Y. Seldin, "Tsallis-INF: an optimal algorithm for stochastic and adversarial
    bandits", Journal of Machine Learning Research 22, 2021.
    """
    return _compiled(_TsallisInf)


class _Thompson:
    """Rows: 0 successes, 1 failures."""

    name, rows = "Thompson sampling", 2

    @staticmethod
    def act(state, params, t, rng):
        best = 0
        highest = -1.0
        for j in range(state.shape[1]):
            draw = beta(rng, 1.0 + state[0, j], 1.0 + state[1, j])
            if draw > highest:
                highest = draw
                best = j
        return best

    @staticmethod
    def update(state, params, t, arm, reward):
        state[0, arm] += reward
        state[1, arm] += 1.0 - reward


def thompson() -> Learner:
    """Thompson sampling for Bernoulli rewards with a uniform (beta(1, 1)) prior.

    Returns
    -------
    Learner
        Cost per decision: one beta variate an arm.

    References
    ----------
    W. R. Thompson, "On the likelihood that one unknown probability exceeds another in view of the
    evidence of two samples", Biometrika 25, 1933.
    """
    return _compiled(_Thompson)


class _Ucb1:
    """Rows: 0 number of pulls, 1 sum of rewards, 2 number of decisions (in column 0)."""

    name, rows = "UCB1", 3

    @staticmethod
    def act(state, params, t, rng):
        best = 0
        highest = -1.0
        width = params[0] * math.log(state[2, 0] + 1.0)
        for j in range(state.shape[1]):
            if state[0, j] == 0.0:
                return j
            index = state[1, j] / state[0, j] + math.sqrt(width / state[0, j])
            if index > highest:
                highest = index
                best = j
        return best

    @staticmethod
    def update(state, params, t, arm, reward):
        state[0, arm] += 1.0
        state[1, arm] += reward
        state[2, 0] += 1.0


def ucb1(alpha: float = 2.0) -> Learner:
    """UCB1: pull the arm with the largest ``mean + sqrt(alpha * ln(t) / pulls)``.

    Arms never pulled come first; ties go to the lowest number.

    Parameters
    ----------
    alpha : float
        Above 0; the published value is 2.

    Returns
    -------
    Learner
        Cost per decision: one logarithm and one square root an arm.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time analysis of the multiarmed bandit problem",
    Machine Learning 47, 2002.
    """
    return _compiled(_Ucb1).with_params([arguments.positive_real("alpha", alpha)])


class _EpsilonGreedy:
    """Rows: 0 number of pulls, 1 sum of rewards, 2 number of decisions (in column 0)."""

    name, rows = "epsilon-greedy", 3

    @staticmethod
    def act(state, params, t, rng):
        arms = state.shape[1]
        if random(rng) < (state[2, 0] + 1.0) ** (-1.0 / 3.0):
            return integer_below(rng, arms)
        best = 0
        highest = -1.0
        for j in range(arms):
            mean = state[1, j] / state[0, j] if state[0, j] > 0.0 else 1.0
            if mean > highest:
                highest = mean
                best = j
        return best

    @staticmethod
    def update(state, params, t, arm, reward):
        state[0, arm] += 1.0
        state[1, arm] += reward
        state[2, 0] += 1.0


def epsilon_greedy() -> Learner:
    """Pull a uniformly random arm with probability ``t**(-1/3)``, else the best mean so far.

    An arm never pulled counts as having the mean 1; ties go to the lowest number.

    Returns
    -------
    Learner
        Cost per decision: one or two uniforms, one division an arm.

    References
    ----------
    P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time analysis of the multiarmed bandit problem",
    Machine Learning 47, 2002; the exponent as in A. Slivkins, "Introduction to multi-armed
    bandits", Foundations and Trends in Machine Learning 12, 2019, Section 1.2.
    """
    return _compiled(_EpsilonGreedy)


class _Memoryless:
    """Row: 0 mixed strategy, constant."""

    name, rows, strategy_row = "memoryless router", 1, 0

    @staticmethod
    def init(state, params):
        for j in range(state.shape[1]):
            state[0, j] = params[j]

    @staticmethod
    def act(state, params, t, rng):
        return _sample(state, 0, rng)

    @staticmethod
    def update(state, params, t, arm, reward):
        pass


def memoryless(probabilities: Any, name: str = "memoryless router") -> Learner:
    """Draw every arm independently from one fixed distribution.

    Parameters
    ----------
    probabilities : array_like, shape (arms,)
        Non-negative, sum 1.
    name : str
        Name in tables and plots.

    Returns
    -------
    Learner
        Cost per decision: one uniform.

    Raises
    ------
    ValueError
        If ``probabilities`` is no distribution.
    """
    p = arguments.distribution("probabilities", probabilities)
    return _compiled(_Memoryless).with_params(p, name=name, arms=p.size)


def normalized_odds_router(rates: Any) -> Learner:
    """Draw arms in proportion to the odds ``rate / (1 - rate)``.

    Parameters
    ----------
    rates : array_like, shape (arms,)
        Service rates in (0, 1).

    Returns
    -------
    Learner
        See `memoryless`.

    References
    ----------
    "Learning in Strategic Queuing with Geometric Recharge", Theorem 3.3.
    """
    mu = arguments.rates("rates", rates)
    odds = mu / (1.0 - mu)
    return memoryless(odds / odds.sum(), name="normalized odds")


class _Uniform:
    """Row: 0 mixed strategy, constant."""

    name, rows, strategy_row = "uniform router", 1, 0

    @staticmethod
    def init(state, params):
        for j in range(state.shape[1]):
            state[0, j] = 1.0 / state.shape[1]

    @staticmethod
    def act(state, params, t, rng):
        return integer_below(rng, state.shape[1])

    @staticmethod
    def update(state, params, t, arm, reward):
        pass


def uniform_router(arms: int) -> Learner:
    """Draw each of ``arms`` arms with the same probability, in constant time.

    Parameters
    ----------
    arms : int
        Number of arms, at least 1.

    Returns
    -------
    Learner
        Cost per decision: one uniform.
    """
    arms = arguments.positive_integer("arms", arms)
    return _compiled(_Uniform).with_params([], arms=arms)


def proportional_router(rates: Any) -> Learner:
    """Draw arms in proportion to the service rates, numbers in (0, 1); see `memoryless`."""
    mu = arguments.rates("rates", rates)
    return memoryless(mu / mu.sum(), name="proportional router")


class _Greedy:
    """Rows: 0 step of the last pull (0: never), 1 minus the logarithm of 1 - rate."""

    name, rows = "greedy", 2

    @staticmethod
    def init(state, params):
        for j in range(state.shape[1]):
            state[1, j] = -math.log1p(-params[j])

    @staticmethod
    def act(state, params, t, rng):
        best = 0
        highest = 0.0
        for j in range(state.shape[1]):
            if state[0, j] == 0.0:
                return j
            # 1 - q**age is compared through -age * ln(q), which does not saturate at 1; values
            # that differ by rounding alone are ties, as they are in exact arithmetic.
            index = (t - state[0, j]) * state[1, j]
            if index > highest * (1.0 + _TIE):
                highest = index
                best = j
        return best

    @staticmethod
    def update(state, params, t, arm, reward):
        state[0, arm] = t


def greedy(rates: Any) -> Learner:
    """Pull the arm that is available with the largest probability, given the service rates.

    Arms never pulled come first; ties (within a relative 1e-12 of the exponent) go to the lowest
    number.

    Parameters
    ----------
    rates : array_like, shape (arms,)
        Service rates in (0, 1), known to this baseline.

    Returns
    -------
    Learner
        Cost per decision: one multiplication an arm.

    References
    ----------
    "Learning in Strategic Queuing with Geometric Recharge", Section 3.
    """
    mu = arguments.rates("rates", rates)
    return _compiled(_Greedy).with_params(mu, arms=mu.size)


class _RoundRobin:
    """Row: 0 the next arm (in column 0)."""

    name, rows = "round robin", 1

    @staticmethod
    def act(state, params, t, rng):
        return int(state[0, 0])

    @staticmethod
    def update(state, params, t, arm, reward):
        state[0, 0] = (arm + 1) % state.shape[1]


def round_robin() -> Learner:
    """Pull the arms 0, 1, ..., arms - 1 in turn, whatever happens; constant cost per decision."""
    return _compiled(_RoundRobin)


def _horizon(value: Any, name: str = "horizon") -> int:
    horizon = arguments.positive_integer(name, value)
    if horizon < 2:
        raise ValueError(f"{name} = {value!r} is too small; permitted: integers 2, 3, ...")
    return horizon


#: Name on the command line -> factory.
BUILT_IN: MappingProxyType[str, Callable[..., Learner]] = MappingProxyType(
    {
        "epsilon-greedy": epsilon_greedy,
        "exp3": exp3,
        "exp3-anytime": exp3_anytime,
        "exp3-ix": exp3_ix,
        "greedy": greedy,
        "normalized-odds": normalized_odds_router,
        "proportional": proportional_router,
        "round-robin": round_robin,
        "thompson": thompson,
        "tsallis-inf": tsallis_inf,
        "ucb1": ucb1,
        "uniform": uniform_router,
    }
)


def by_name(name: str, *, horizon: int | None = None, rates: Any = None) -> Learner:
    """Return a learner of the library by its name in `BUILT_IN`.

    Parameters
    ----------
    name : str
        For example ``"exp3"``; underscores and capitals are accepted too.
    horizon : int, optional
        Number of steps, for learners tuned to it.
    rates : array_like, shape (arms,), optional
        Service rates, for baselines that know them.

    Returns
    -------
    Learner

    Raises
    ------
    ValueError
        If the name is unknown (the message lists all) or the learner needs an argument that was
        not given.
    """
    key = name.lower().replace("_", "-") if isinstance(name, str) else name
    factory = BUILT_IN[arguments.choice("learner", key, BUILT_IN)]
    given = {"horizon": horizon, "rates": rates, "arms": None if rates is None else np.size(rates)}
    wanted = {}
    for parameter in inspect.signature(factory).parameters.keys() & given.keys():
        if given[parameter] is None:
            source = "rates" if parameter == "arms" else parameter
            raise ValueError(f"learner {key} needs {source}=...")
        wanted[parameter] = given[parameter]
    return factory(**wanted)
