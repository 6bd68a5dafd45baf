"""Closed forms of learning admission control: radii, numbers of episodes, and regret bounds.

"Source" is Anselmi, Gaujal and Rebuffi, arXiv 2308.02391; its displays (12)-(18) and Theorem 5.1 are
lost in the text that we have, so that what is called its form is *reconstructed*. "Ours" is the theorem
on UCRL-MT with its lemmas and corollaries.

Units: a cost rate is per unit of time, a reward per step of 1/U; ``r_max U = g_h S + lambda R`` is the
largest cost rate, and increments of a bias are costs. Everything here is a float and needs nothing but
NumPy.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simlib import arguments
from simlib.admission.model import AdmissionModel, c1_c2, delta_bound, law, threshold

__all__ = [
    "RegretBound",
    "UcrlBound",
    "arrival_rate_term",
    "best_weight",
    "confidence_level",
    "crossing",
    "enough_modules",
    "first_order_constants",
    "jaksch_radii",
    "kl_divergence",
    "kl_lower_limit",
    "kl_upper_limit",
    "kl_width",
    "largest_increments",
    "modular_radii",
    "most_threshold_episodes",
    "most_ucrl_episodes",
    "published_episodes",
    "published_modules",
    "regret_bound",
    "stable_constant",
    "ucrl_bound",
]

#: Number of actions: reject and admit.
ACTIONS = 2
_ROOT2 = math.sqrt(2.0)
_MOST_POLICIES = 16


def _horizon(value: Any) -> float:
    horizon = arguments.real("horizon", value)
    if not horizon > 1:
        raise ValueError(f"horizon = {value!r}; permitted: finite numbers above 1")
    return horizon


def _from(name: str, value: Any, least: float) -> float:
    number = arguments.real(name, value)
    if number < least:
        raise ValueError(f"{name} = {value!r}; permitted: finite numbers from {least:g}")
    return number


def _probability(name: str, value: Any) -> float:
    number = arguments.real(name, value)
    if not 0 <= number <= 1:
        raise ValueError(f"{name} = {value!r}; permitted: numbers from 0 to 1")
    return number


def _visits(visits: Any) -> NDArray[Any]:
    visits = np.asarray(visits)
    if visits.dtype.kind not in "iuf" or not ((visits >= 0) & (visits < math.inf)).all():
        raise ValueError(f"visits = {visits.tolist()!r}; permitted: finite numbers from 0")
    return visits


# Modules and episodes -------------------------------------------------------------------------------


def published_modules(horizon: float, rho: float) -> float:
    """``tau_mix = 5 log(T) / log(1/rho)``, the number of modules of UCRL-M.

    Parameters
    ----------
    horizon : float
        T, above 1.
    rho : float
        In (0, 1), from ``TV(P^t(x, .), nu) <= C rho^t``.

    References
    ----------
    Source, Section 4.
    """
    horizon = _horizon(horizon)
    return 5 * math.log(horizon) / -math.log(arguments.probability_open("rho", rho))


def enough_modules(horizon: float, constant: float, rho: float) -> int:
    """Smallest tau that ``C rho^(tau-1) <= T^-2`` allows: ``1 + ceil((2 log T + log C)/log(1/rho))``.

    Parameters
    ----------
    horizon : float
        T, above 1.
    constant : float
        C, above 0.
    rho : float
        In (0, 1).

    References
    ----------
    Ours: condition (M). The source's exponent 5 is not needed.
    """
    horizon = _horizon(horizon)
    constant = arguments.positive_real("constant", constant)
    rho = arguments.probability_open("rho", rho)
    return 1 + max(0, math.ceil((2 * math.log(horizon) + math.log(constant)) / -math.log(rho)))


def published_episodes(horizon: float, modules: float, limit: int) -> float:
    """``tau S' A log2(8 T / (tau S' A))`` with S' = S + 1: bound on the episodes of UCRL-M.

    Parameters
    ----------
    horizon : float
        T, at least ``tau S' A``.
    modules : float
        tau, at least 1.
    limit : int
        S, at least 1.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Reconstructed, after Jaksch, Ortner and Auer 2010, Proposition 18.
    """
    limit = arguments.positive_integer("limit", limit)
    cells = _from("modules", modules, 1) * (limit + 1) * ACTIONS
    horizon = arguments.real("horizon", horizon)
    if horizon < cells:
        raise ValueError(f"horizon = {horizon:g}; permitted: at least tau S' A = {cells:g}")
    return cells * math.log2(8 * horizon / cells)


def most_ucrl_episodes(horizon: int, modules: int, limit: int, *, ramp: bool = True) -> int:
    """Number of episodes that UCRL-M or UCRL2 cannot exceed in T steps.

    Parameters
    ----------
    horizon, modules, limit : int
        T, tau, S, at least 1.
    ramp : bool
        Whether each episode begins with tau discarded steps.

    Returns
    -------
    int
        The j-th end of an episode by one module, total and action needs ``2^(j-1)`` visits before and
        in it, so that n of these cells allow ``n (1 + log2(T/n))`` ends (increasing in n as long as
        T is at least 1.36 n); one more episode may be cut off. Also, no more than steps over the length
        of the shortest episode.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    horizon = arguments.positive_integer("horizon", horizon)
    modules = arguments.positive_integer("modules", modules)
    limit = arguments.positive_integer("limit", limit)
    cells = modules * ((limit + 1) * ACTIONS - 1)
    shortest = modules + 1 if ramp else 1
    most = horizon // shortest + 1
    if horizon >= 1.36 * cells:
        most = min(most, int(cells * (1 + math.log2(horizon / cells))) + 1)
    return most


def most_threshold_episodes(horizon: float, modules: float, limit: int) -> int:
    """Episodes of UCRL-MT, at most: ``(S + 1)(1 + log2(max(1, T / ((S + 1) tau)))) + 1``.

    Parameters
    ----------
    horizon, modules : float
        T and tau, at least 1.
    limit : int
        S, at least 1.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Ours: regret theorem, step (1).
    """
    horizon, modules = _from("horizon", horizon, 1), _from("modules", modules, 1)
    limit = arguments.positive_integer("limit", limit)
    return int(_threshold_episodes(horizon, modules, limit))


def _threshold_episodes(horizon: float, modules: float, limit: int) -> float:
    states = limit + 1
    return states * (1 + math.log2(max(1.0, horizon / (states * modules)))) + 1


# Radii ----------------------------------------------------------------------------------------------


def modular_radii(step: float, visits: Any, max_reward: float) -> tuple[Any, Any]:
    """Radii of UCRL-M at the start of an episode, from the visits n of the most visited module.

    Parameters
    ----------
    step : float
        t_k, at least 1.
    visits : array_like of int
        n, from 0.
    max_reward : float
        r_max, from 0.

    Returns
    -------
    rewards, laws : ndarray
        ``r_max sqrt(2 log(2 A t_k) / max(1, n))`` and ``sqrt(8 log(2 A t_k) / max(1, n))``, the latter
        in the 1-norm, with A = 2.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Source, (16) and (17), reconstructed.
    """
    size, max_reward = np.maximum(1, _visits(visits)), _from("max_reward", max_reward, 0)
    log = math.log(2 * ACTIONS * _from("step", step, 1))
    return max_reward * np.sqrt(2 * log / size), np.sqrt(8 * log / size)


def jaksch_radii(step: float, visits: Any, max_reward: float, limit: int) -> tuple[Any, Any]:
    """Radii of UCRL2 with ``delta = 1/t``: over laws on all S' = S + 1 states.

    Parameters
    ----------
    step, visits, max_reward
        As in `modular_radii`.
    limit : int
        S, at least 1.

    Returns
    -------
    rewards, laws : ndarray
        ``r_max sqrt(7 log(2 S' A t^2) / (2 max(1, n)))`` and ``sqrt(14 S' log(2 A t^2) / max(1, n))``.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Jaksch, Ortner and Auer 2010, (3) and (4).
    """
    size, max_reward = np.maximum(1, _visits(visits)), _from("max_reward", max_reward, 0)
    states = arguments.positive_integer("limit", limit) + 1
    square = _from("step", step, 1) ** 2
    rewards = 3.5 * math.log(2 * states * ACTIONS * square)
    laws = 14 * states * math.log(2 * ACTIONS * square)
    return max_reward * np.sqrt(rewards / size), np.sqrt(laws / size)


def kl_divergence(p: float, q: float) -> float:
    """Bernoulli divergence ``kl(p, q)`` for p and q in [0, 1]; may be infinite.

    Raises
    ------
    ValueError
        If p or q is outside [0, 1].
    """
    return unchecked_divergence(_probability("p", p), _probability("q", q))


def unchecked_divergence(p: float, q: float) -> float:
    """`kl_divergence` for kernels, which compile this function: p and q must be in [0, 1]."""
    value = 0.0
    if p > 0.0:
        if q <= 0.0:
            return math.inf
        value += p * math.log(p / q)
    if p < 1.0:
        if q >= 1.0:
            return math.inf
        value += (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return max(value, 0.0)


def kl_upper_limit(p: float, budget: float) -> float:
    """Largest q in [p, 1] with ``kl(p, q) <= budget``, to the last digits, from above.

    Parameters
    ----------
    p : float
        In [0, 1].
    budget : float
        At least 0.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    A bisection of at most 60 divergences.

    References
    ----------
    Ours: Lemma 7.
    """
    return unchecked_upper_limit(_probability("p", p), _from("budget", budget, 0))


def unchecked_upper_limit(p: float, budget: float) -> float:
    """`kl_upper_limit` for kernels, which compile this function: arguments must be in range."""
    low, high = p, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        value = 0.0
        if p > 0.0:
            value = p * math.log(p / middle)
        if p < 1.0:
            value += (1.0 - p) * math.log((1.0 - p) / (1.0 - middle))
        if value <= budget:
            low = middle
        else:
            high = middle
    return high


def kl_lower_limit(p: float, budget: float) -> float:
    """Smallest q in [0, p] with ``kl(p, q) <= budget``, to 2e-16, from below.

    Parameters
    ----------
    p : float
        In [0, 1].
    budget : float
        At least 0.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Ours: Corollary 4.
    """
    p, budget = _probability("p", p), _from("budget", budget, 0)
    return max(0.0, 1.0 - unchecked_upper_limit(1.0 - p, budget)) if p > 0.0 else 0.0


def kl_width(p: float, budget: float) -> float:
    """Bound on ``u - p`` for the upper limit u of a kl interval that holds p.

    Parameters
    ----------
    p : float
        The true probability, in [0, 1].
    budget : float
        eta = tau L / N, at least 0.

    Returns
    -------
    float
        ``min(sqrt(8 p eta) + 8/3 eta, sqrt(2 eta))``: the second is Pinsker's.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Ours: Lemma 7(i), step (8).
    """
    p, budget = _probability("p", p), _from("budget", budget, 0)
    first = math.sqrt(8 * p * budget) + 8 / 3 * budget
    return min(first, math.sqrt(2 * budget))


def confidence_level(horizon: float, limit: int, *, arrival_rate_known: bool = True) -> float:
    """``L = log(9 (S + 1) T^2)``, or ``log(13 (S + 1) T^2)`` where lambda is unknown.

    Parameters
    ----------
    horizon : float
        T, at least 1.
    limit : int
        S, at least 1.
    arrival_rate_known : bool

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Ours: UCRL-MT; Corollary 4.
    """
    horizon, limit = _from("horizon", horizon, 1), arguments.positive_integer("limit", limit)
    return math.log((9 if arrival_rate_known else 13) * (limit + 1)) + 2 * math.log(horizon)


# Bound of UCRL-MT (ours) ----------------------------------------------------------------------------


@dataclass(frozen=True)
class RegretBound:
    """The bound on the regret of UCRL-MT after T steps, in units of reward.

    Attributes
    ----------
    horizon, modules, level : float
        T, tau, L.
    episodes : float
        Bound on K.
    ramps : float
        ``r_max (2 + (K + S + 1) tau)``.
    first, second, third : float
        A_1, A_2, A_3.
    first_leading, second_leading, third_leading : float
        Their parts that grow like ``sqrt(T)``, logarithms aside.
    arrival_rate : float
        The term of Corollary 4; 0 where lambda is known.
    trivial : float
        ``r_max T``.
    """

    horizon: float
    modules: float
    level: float
    episodes: float
    ramps: float
    first: float
    second: float
    third: float
    first_leading: float
    second_leading: float
    third_leading: float
    arrival_rate: float
    trivial: float

    @property
    def total(self) -> float:
        """``ramps + min(A_1, A_2, A_3) + arrival_rate``."""
        return self.ramps + min(self.first, self.second, self.third) + self.arrival_rate


def _laws(model: AdmissionModel) -> NDArray[np.float64]:
    """Laws of all thresholds, shape (S + 1, S + 1)."""
    limit = model.limit
    return np.array([law(model, threshold(theta, limit)) for theta in range(limit + 1)])


def best_weight(coefficients: Any, rounds: int = 400) -> NDArray[np.float64]:
    """Weights f that nearly minimise ``(sum_s 1/f(s)) max_theta sum_s c(theta, s) f(s)``.

    Parameters
    ----------
    coefficients : array_like, shape (thetas, S)
        c, from 0, with a positive entry in each column.
    rounds : int
        Rounds of multiplicative weights on the thetas, at least 1; the best f met is returned.

    Returns
    -------
    ndarray, shape (S,)
        f > 0. Every f gives a valid bound, so that nothing hinges on the search.

    Raises
    ------
    ValueError
        If the coefficients are no such matrix, or there is no round.

    Notes
    -----
    For one theta the best f is ``c^(-1/2)``; the minimum over f is the maximum over mixtures of thetas
    of ``(sum_s c^(1/2))^2``, which is concave in the mixture.
    """
    c = np.asarray(coefficients, dtype=np.float64)
    if c.ndim != 2 or 0 in c.shape:
        raise ValueError(f"coefficients has shape {c.shape}; permitted: (thetas, S), not empty")
    bad = np.argwhere(~((c >= 0) & (c < math.inf)))
    if bad.size:
        k, s = bad[0].tolist()
        raise ValueError(f"coefficients[{k}, {s}] = {c[k, s]}; permitted: finite numbers from 0")
    if not c.any(axis=0).all():
        column = int(np.flatnonzero(~c.any(axis=0))[0])
        raise ValueError(
            f"coefficients has only zeros in column {column}; permitted: a positive entry in each"
        )
    rounds = arguments.positive_integer("rounds", rounds)
    log_mix = np.zeros(c.shape[0])
    best, found = math.inf, np.ones(c.shape[1])
    for k in range(1, rounds + 1):
        mix = np.exp(log_mix - log_mix.max())
        f = 1.0 / np.sqrt(mix / mix.sum() @ c)
        values = c @ f
        product = (1.0 / f).sum() * values.max()
        if product < best:
            best, found = product, f
        log_mix += 2.0 / math.sqrt(k) * values / values.max()
    return found


def first_order_constants(model: AdmissionModel, weight: Any = None) -> tuple[float, float]:
    """``sqrt(F V_f)`` and ``sqrt(F H_f)``: what multiplies ``sqrt(tau L T)`` in A_1 and A_2.

    Parameters
    ----------
    model : AdmissionModel
        With nondecreasing rates.
    weight : array_like, shape (S,), optional
        f for s = 1..S; by default nearly the best for each of the two (`best_weight`).

    Returns
    -------
    tuple of float
        With ``F = sum 1/f``, ``V_f = max_theta E[f Delta^2 p; X >= 1]``, and H_f the same without p.

    Raises
    ------
    ValueError
        If the weight has another length or an entry that is not positive, or the rates decrease.

    References
    ----------
    Ours: regret theorem.
    """
    model = model.as_floats()
    laws, delta = _laws(model), np.array(delta_bound(model))
    if weight is not None:
        weight = arguments.real_vector("weight", weight)
        if weight.size != model.limit or not (weight > 0).all():
            raise ValueError(
                f"weight has {weight.size} entries, the least {weight.min(initial=math.inf)}; "
                f"permitted: {model.limit} numbers above 0, for s = 1..S"
            )
    found = []
    for factor in (np.array(model.death_probabilities), np.ones(model.limit)):
        coefficients = laws[1:, 1:] * delta**2 * factor  # threshold 0 never leaves 0
        f = best_weight(coefficients) if weight is None else weight
        found.append(math.sqrt((1 / f).sum() * (coefficients @ f).max()))
    return found[0], found[1]


def regret_bound(
    model: AdmissionModel,
    horizon: float,
    modules: float,
    *,
    weight: Any = None,
    arrival_rate_known: bool = True,
    single_station: bool = False,
    constants: tuple[float, float] | None = None,
) -> RegretBound:
    """The complete bound on the regret of UCRL-MT.

    Parameters
    ----------
    model : AdmissionModel
        With nondecreasing rates.
    horizon : float
        T, at least ``max(4, U / min(mu(1), lambda))``.
    modules : float
        tau of condition (M), from 1 to T.
    weight : array_like, optional
        As in `first_order_constants`.
    arrival_rate_known : bool
        If not, with the level and the term of Corollary 4.
    single_station : bool
        With the radius ``L / N`` of Corollary 3.
    constants : tuple of float, optional
        What `first_order_constants` returned, where many horizons are wanted; from 0.

    Returns
    -------
    RegretBound

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Ours: regret theorem; Corollaries 3 and 4.
    """
    model = model.as_floats()
    horizon = _horizon(horizon)
    least = max(4.0, model.uniformization / min(model.rates[0], model.arrival_rate))
    if horizon < least:
        raise ValueError(f"horizon = {horizon:g}; permitted: at least {least:g}, max(4, 1/p_0)")
    tau = arguments.positive_real("modules", modules)
    if not 1 <= tau <= horizon:
        raise ValueError(f"modules = {modules!r}; permitted: from 1 to the horizon {horizon:g}")
    states, reward = model.limit + 1, model.max_reward
    level = confidence_level(horizon, model.limit, arrival_rate_known=arrival_rate_known)
    if constants is None:
        constants = first_order_constants(model, weight)
    else:
        constants = arguments.real_vector("constants", constants)
        if constants.size != 2 or (constants < 0).any():
            raise ValueError(
                f"constants = {constants.tolist()!r}; permitted: two finite numbers from 0"
            )
        constants = constants.tolist()
    delta_sum = sum(delta_bound(model))
    episodes = _threshold_episodes(horizon, tau, model.limit)
    kl_modules = 1.0 if single_station else tau
    root = math.sqrt(kl_modules * level * horizon)
    first = 4 * (1 + _ROOT2) * constants[0] * root
    second = 2 * (1 + _ROOT2) * constants[1] * root
    third = (2 + _ROOT2) * reward * math.sqrt(states * tau * level * horizon)
    small = 16 * tau * level * delta_sum
    doublings = math.log2(max(1.0, horizon / (8 * tau * level)))
    logarithmic = 16 / 3 * kl_modules * level * doublings * delta_sum
    extra = 0.0 if arrival_rate_known else arrival_rate_term(model, horizon, level)
    return RegretBound(
        horizon=horizon,
        modules=tau,
        level=level,
        episodes=episodes,
        ramps=reward * (2 + (episodes + states) * tau),
        first=first + small + logarithmic,
        second=second + small,
        third=third + 2 * reward / horizon,
        first_leading=first,
        second_leading=second,
        third_leading=third,
        arrival_rate=extra,
        trivial=reward * horizon,
    )


def arrival_rate_term(model: AdmissionModel, horizon: float, level: float) -> float:
    """The price of an unknown arrival rate.

    Parameters
    ----------
    model : AdmissionModel
        With nondecreasing rates.
    horizon : float
        T, above 1.
    level : float
        L, from 0.

    Returns
    -------
    float
        ``2 sqrt(2) (1 + sqrt(2)) D sqrt(lambda L T / U)`` with D the largest over thresholds of
        ``E[1{X < theta} Delta(X + 1) + 1{X = theta} R]``.

    Raises
    ------
    ValueError
        If an argument is out of range, or the rates decrease.

    References
    ----------
    Ours: Corollary 4.
    """
    model, horizon = model.as_floats(), _horizon(horizon)
    level = _from("level", level, 0)
    delta = np.array(delta_bound(model))
    price = max(
        float(nu[:theta] @ delta[:theta]) + nu[theta] * model.rejection_cost
        for theta, nu in enumerate(_laws(model))
    )
    share = model.arrival_rate / model.uniformization
    return price * 2 * _ROOT2 * (1 + _ROOT2) * math.sqrt(share * level * horizon)


def stable_constant(model: AdmissionModel) -> float:
    """Bound on ``sqrt(F V_f)`` for f(s) = s^2 that does not depend on S.

    Parameters
    ----------
    model : AdmissionModel
        With ``mu(i_0) > lambda`` for some i_0, and nondecreasing rates.

    Returns
    -------
    float
        ``C_2 sqrt(mu(1)/U) sqrt(pi^2/6 C_1 sum_{s>=1} q^s s^2 (s + q/(1-q))^2)``.

    Raises
    ------
    ValueError
        If there is no such i_0.

    References
    ----------
    Ours: Corollary 1.
    """
    model = model.as_floats()
    _, q, first, second = c1_c2(model)
    # Power sums of q^s s^k, closed forms for k = 2, 3, 4.
    squares = q * (1 + q) / (1 - q) ** 3
    cubes = q * (1 + 4 * q + q**2) / (1 - q) ** 4
    fourths = q * (1 + 11 * q + 11 * q**2 + q**3) / (1 - q) ** 5
    shift = q / (1 - q)
    series = fourths + 2 * shift * cubes + shift**2 * squares
    share = model.rates[0] / model.uniformization
    return second * math.sqrt(share) * math.sqrt(math.pi**2 / 6 * first * series)


# Bound of UCRL-M (reconstructed, incomplete) --------------------------------------------------------


@dataclass(frozen=True)
class UcrlBound:
    """Parts of a bound on the regret of UCRL-M: reconstructed and *incomplete*, in units of reward.

    The second-order term ``(P~ - P)(h~ - h)`` and the correction for a total that is not Markov are
    missing.

    Attributes
    ----------
    main : float
        ``(4 + 2 sqrt(2)) sqrt(2) sqrt(tau L) sqrt(F E[f B^2] T)``.
    ramps, episodes, outside, iteration : float
        ``K tau r_max``; ``K D r_max``; ``r_max S' pi^2 / 96``; ``2 r_max sqrt(T)`` for a precision of
        ``r_max / sqrt(t_k)`` of extended value iteration. The third presumes that an episode which
        starts at step t has at most t steps; those of UCRL-M can exceed t by about ``tau (2 S' + 1)``,
        the discarded steps and the first visits.
    by_diameter : float
        The main part with ``B(s) = 2 D r_max`` and f = 1, as in Jaksch et al.
    remembered : float
        ``97 r_max D^2 S' A max(Q, T^(1/4)) log(2 A T)^2`` with ``Q = (10 D / nu(S))^2 log((10 D /
        nu(S))^4)``: a second-order term *from memory* of a related paper (arXiv 2302.10667).
    """

    main: float
    ramps: float
    episodes: float
    outside: float
    iteration: float
    by_diameter: float
    remembered: float

    @property
    def lower_order(self) -> float:
        """Ramps, episodes, outside and iteration."""
        return self.ramps + self.episodes + self.outside + self.iteration

    @property
    def total(self) -> float:
        """The main part and `lower_order`."""
        return self.main + self.lower_order


def largest_increments(model: AdmissionModel) -> NDArray[np.float64]:
    """Largest ``|h(s) - h(s-1)|`` over all deterministic policies, made nondecreasing; s = 1..S.

    Parameters
    ----------
    model : AdmissionModel
        With S at most 16.

    Returns
    -------
    ndarray, shape (S,)

    Raises
    ------
    ValueError
        If S is above 16: there are 2^S policies.

    Notes
    -----
    The recursion of `simlib.admission.model.increments`, for all policies at once, in floats. Cost:
    O(2^S S).
    """
    limit = model.limit
    if limit > _MOST_POLICIES:
        raise ValueError(
            f"model.limit = {limit}; permitted: at most {_MOST_POLICIES}, since all 2^S policies are "
            f"tried"
        )
    model = model.as_floats()
    rate, rejected = model.arrival_rate, model.arrival_rate * model.rejection_cost
    policies = np.array(
        [(*actions, 0.0) for actions in itertools.product((0.0, 1.0), repeat=limit)]
    )
    weights = np.ones_like(policies)
    weights[:, 1:] = np.cumprod(rate * policies[:, :-1] / np.array(model.rates), axis=1)
    costs = model.holding_cost * np.arange(limit + 1.0) + rejected * (1 - policies)
    mean = (weights * costs).sum(axis=1) / weights.sum(axis=1)
    found = np.zeros(limit)
    d = np.zeros(len(policies))
    for s in range(limit, 0, -1):
        d = (costs[:, s] - mean + rate * policies[:, s] * d) / model.rates[s - 1]
        found[s - 1] = np.abs(d).max()
    return np.maximum.accumulate(found)


def ucrl_bound(
    model: AdmissionModel,
    horizon: float,
    modules: float,
    diameter: float,
    *,
    increments: Any = None,
    weight: Any = None,
) -> UcrlBound:
    """Parts of a bound on the regret of UCRL-M: reconstructed and incomplete, see `UcrlBound`.

    Parameters
    ----------
    model : AdmissionModel
    horizon, modules : float
        T, at least ``tau S' A``, and tau, at least 1.
    diameter : float
        D in steps, at least 1, see `simlib.admission.model.diameter`.
    increments : array_like, shape (S,), optional
        Delta(s) for s = 1..S, from 0 and nondecreasing; by default `largest_increments`.
    weight : array_like, shape (S + 1,), optional
        f for s = 0..S, at least 1 and nondecreasing (needed to replace every law by that of accept-all);
        by default all ones.

    Returns
    -------
    UcrlBound

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    model, horizon = model.as_floats(), _horizon(horizon)
    states, reward = model.limit + 1, model.max_reward
    tau, diameter = _from("modules", modules, 1), _from("diameter", diameter, 1)
    episodes = published_episodes(horizon, tau, model.limit)
    if increments is None:
        delta = largest_increments(model)
    else:
        delta = arguments.real_vector("increments", increments)
        if delta.size != model.limit or delta[0] < 0 or (np.diff(delta) < 0).any():
            raise ValueError(
                f"increments = {delta.tolist()!r}; permitted: {model.limit} nondecreasing numbers "
                f"from 0, for s = 1..S"
            )
    around = np.concatenate([[0.0], delta, [0.0]])  # nothing lies below 0 or above S
    nu = np.array(law(model, threshold(model.limit, model.limit)))
    far = 10 * diameter / float(nu[-1])
    sizes = around[:-1] + around[1:] + reward
    f = np.ones(states) if weight is None else arguments.real_vector("weight", weight)
    if f.size != states or (f < 1).any() or (np.diff(f) < 0).any():
        raise ValueError(
            f"weight = {weight!r}; permitted: {states} nondecreasing numbers from 1, for s = 0..S"
        )
    log = math.log(2 * ACTIONS * horizon)
    factor = (4 + 2 * _ROOT2) * _ROOT2 * math.sqrt(tau * log * horizon)
    return UcrlBound(
        main=factor * math.sqrt((1 / f).sum() * float(nu @ (f * sizes**2))),
        ramps=episodes * tau * reward,
        episodes=episodes * diameter * reward,
        outside=reward * states * math.pi**2 / 96,
        iteration=2 * reward * math.sqrt(horizon),
        by_diameter=factor * 2 * diameter * reward * math.sqrt(states),
        remembered=97
        * reward
        * diameter**2
        * states
        * ACTIONS
        * log**2
        * max(far**2 * 4 * math.log(far), horizon**0.25),
    )


def crossing(ratio: Callable[[float], float], low: float = 1.0, high: float = 60.0) -> float:
    """log10 of the horizon at which a bound falls below the trivial one, by bisection.

    Parameters
    ----------
    ratio : callable
        Bound over ``r_max T`` as a function of T; below 1 at ``10**high``.
    low, high : float
        log10 of horizons between which the crossing lies.

    Returns
    -------
    float
        The upper end of the last bracket, 1e-6 wide: there the ratio is below 1. It is the smallest such
        horizon if the ratio decreases.

    Raises
    ------
    ValueError
        If ``low`` is not below ``high``, or the ratio is not below 1 at the upper end.
    """
    low, high = arguments.real("low", low), arguments.real("high", high)
    if not low < high:
        raise ValueError(f"low = {low:g}; permitted: numbers below high = {high:g}")
    if not ratio(10.0**high) < 1:
        raise ValueError(f"ratio is not below 1 at 10**{high:g}; permitted: a larger high")
    while high - low > 1e-6:
        middle = (low + high) / 2
        if ratio(10.0**middle) < 1:
            high = middle
        else:
            low = middle
    return high
