"""Closed forms of contextual queueing bandits: widths, lengths of exploration, and regret bounds.

The horizon T enters the bounds as ``log10_horizon``, since some of them say something only beyond
10**60 rounds. "Source" is "Queue Length Regret Bounds for Contextual Queueing Bandits"; its displays
lost their roots and constants in the text that we have, so that what is called its form is
reconstructed. "Ours" has constants derived anew; see the claims of this topic.

Everything here is a float and needs nothing but NumPy.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from simlib.arguments import (
    choice,
    non_negative_integer,
    positive_integer,
    positive_real,
    probability_open,
    real,
)

__all__ = [
    "FRIENDLY",
    "MATRIX_CHERNOFF",
    "SOURCE_SETTING",
    "Bound",
    "Setting",
    "bad_rounds_bound",
    "confidence_width",
    "cqb_eta2_bound",
    "crossing",
    "decay",
    "experiment_exploration_rounds",
    "exploration_length",
    "exploration_samples",
    "kappa_of_radius",
    "l1_bound",
    "lower_bound",
    "radius_of_kappa",
    "ramp",
    "ramp_constant",
    "ramp_sum",
    "tail_constant",
    "theorem_5_5_bound",
    "theorem_6_3_bound",
    "threshold_rounds",
]

#: Exponent of the matrix Chernoff bound: ``P(lambda_min < n s / 2) <= d exp(-MATRIX_CHERNOFF n s)``
#: for n unit vectors whose second moment has smallest eigenvalue s (Tropp 2012).
MATRIX_CHERNOFF = (1 - math.log(2)) / 2

_FORMS = ("ours", "source")
_MOST = 300.0  # of log10_horizon: beyond, T is no longer a float


def kappa_of_radius(radius: float) -> float:
    """Smallest kappa of Assumption 3.2 for the logistic function on ``|z| <= radius``.

    Parameters
    ----------
    radius : float
        S, at least 0: norm of the servers' parameters, with contexts of norm at most 1.

    Returns
    -------
    float
        ``1 / mu'(S) = 2 + 2 cosh(S)``, at least 4.
    """
    radius = real("radius", radius)
    if radius < 0:
        raise ValueError(f"radius = {radius!r}; permitted: finite numbers from 0")
    return 2 + 2 * math.cosh(radius)


def radius_of_kappa(kappa: float) -> float:
    """Largest radius S for which Assumption 3.2 holds with this kappa; inverse of `kappa_of_radius`.

    Parameters
    ----------
    kappa : float
        At least 4.

    Returns
    -------
    float
        ``arccosh(kappa / 2 - 1)``; 2.06343706889556 for kappa = 10.
    """
    kappa = real("kappa", kappa)
    if kappa < 4:
        raise ValueError(f"kappa = {kappa!r}; permitted: finite numbers from 4")
    return math.acosh(kappa / 2 - 1)


@dataclass(frozen=True)
class Setting:
    """The numbers on which the bounds depend, besides the horizon.

    Attributes
    ----------
    arrival_rate : float
        lambda, in (0, 1).
    slack : float
        Traffic slack of Assumption 3.4, above 0; ``arrival_rate + slack`` is at most 1.
    servers, dimension : int
        K and d.
    second_moment : float
        Smallest eigenvalue sigma_0^2 of the contexts' second moment, in (0, 1/d].
    radius : float
        S of Assumption 3.1, above 0, such that rates reach ``arrival_rate + slack``.
    kappa : float
        Of Assumption 3.2, at least `kappa_of_radius` of the radius.
    regularisation : float
        lambda_0, above 0.
    """

    arrival_rate: float
    slack: float
    servers: int
    dimension: int
    second_moment: float
    radius: float
    kappa: float
    regularisation: float = 1.0

    def __post_init__(self):
        probability_open("arrival_rate", self.arrival_rate)
        positive_real("slack", self.slack)
        if self.arrival_rate + self.slack > 1:
            raise ValueError(
                f"slack = {self.slack!r} with arrival_rate = {self.arrival_rate!r}; permitted: "
                f"arrival_rate + slack at most 1"
            )
        positive_integer("servers", self.servers)
        d = positive_integer("dimension", self.dimension)
        positive_real("second_moment", self.second_moment)
        if self.second_moment * d > 1 + 1e-12:
            raise ValueError(
                f"second_moment = {self.second_moment!r}; permitted: at most 1/d = {1 / d:.6g}, since "
                f"contexts have norm at most 1"
            )
        radius = min(positive_real("radius", self.radius), 700.0)  # beyond, slopes are 0 in floats
        best = 1 / (1 + math.exp(-radius))
        if self.arrival_rate + self.slack > best + 1e-12:
            raise ValueError(
                f"radius = {self.radius!r}: no rate is above {best:.6g}, below arrival_rate + slack = "
                f"{self.arrival_rate + self.slack:.6g}; no context satisfies Assumption 3.4"
            )
        least = kappa_of_radius(radius)
        if real("kappa", self.kappa) < least * (1 - 1e-12):
            raise ValueError(
                f"kappa = {self.kappa!r} with radius = {self.radius!r}; permitted: from {least:.6g}, "
                f"the inverse of the least slope of the logistic function (Assumption 3.2)"
            )
        positive_real("regularisation", self.regularisation)


#: The source's experiments, with the smallest eigenvalue that our instances have there (about 0.1).
SOURCE_SETTING = Setting(0.7, 0.1, 5, 5, 0.1, radius_of_kappa(10), 10.0)

#: A setting as kind to the bounds as we could make it: a short queue, contexts 1 or -1, and the smallest
#: radius with a server of rate 0.9.
FRIENDLY = Setting(0.3, 0.6, 2, 1, 1.0, math.log(9), kappa_of_radius(math.log(9)))


# Estimation ------------------------------------------------------------------------------------------


def confidence_width(
    samples,
    dimension: int,
    servers: int,
    log_failure: float,
    *,
    kappa: float,
    radius: float,
    regularisation: float = 1.0,
    form: str = "source",
):
    """Factor beta of the confidence interval ``beta |x|_{V^-1}`` after some samples of a server.

    Parameters
    ----------
    samples : int or float or array_like
        Attempts of the server so far, from 0.
    dimension, servers : int
        d and K.
    log_failure : float
        ``log(1 / delta)``, above 0.
    kappa, radius, regularisation : float
        As in `Setting`.
    form : {"source", "ours"}
        "source": ``(kappa/2) sqrt(2 d L + l) + kappa S sqrt(lambda_0) / 2``;
        "ours": ``(kappa/4) sqrt(d L + 2 l) + S sqrt(kappa lambda_0) / 2``, smaller and proved;
        ``L = log(1 + n / (kappa lambda_0 d))``, ``l = log(K / delta)``.

    Returns
    -------
    float or ndarray
        In the shape of ``samples``.

    References
    ----------
    Lemma 5.1 (roots reconstructed); claim ``contextual.confidence_width``.
    """
    d, k = positive_integer("dimension", dimension), positive_integer("servers", servers)
    log_failure = positive_real("log_failure", log_failure)
    kappa, radius = positive_real("kappa", kappa), positive_real("radius", radius)
    regularisation = positive_real("regularisation", regularisation)
    choice("form", form, _FORMS)
    n = np.asarray(samples, dtype=float)
    if not (np.isfinite(n).all() and (n >= 0).all()):
        raise ValueError(f"samples = {samples!r}; permitted: finite numbers from 0")
    growth = d * np.log1p(n / (kappa * regularisation * d))
    errors = math.log(k) + log_failure
    if form == "source":
        width = kappa / 2 * np.sqrt(2 * growth + errors)
        width = width + kappa * radius * math.sqrt(regularisation) / 2
    else:
        width = kappa / 4 * np.sqrt(growth + 2 * errors)
        width = width + radius * math.sqrt(kappa * regularisation) / 2
    return width if np.ndim(width) else float(width)


def _width(horizon, setting, log_failure, form):
    return confidence_width(
        horizon,
        setting.dimension,
        setting.servers,
        log_failure,
        kappa=setting.kappa,
        radius=setting.radius,
        regularisation=setting.regularisation,
        form=form,
    )


def experiment_exploration_rounds(
    horizon: int,
    dimension: int,
    servers: int,
    arrival_rate: float,
    slack: float,
    *,
    exploration: float | None = None,
    constant: float = 3e-4,
) -> int:
    """Rounds of pure exploration in the source's experiments, rounded down.

    Parameters
    ----------
    horizon, dimension, servers : int
        T, d, K.
    arrival_rate, slack : float
    exploration : float, optional
        Exploration rate, below half the slack; by default ``T**-0.5``.
    constant : float
        C, above 0.

    Returns
    -------
    int
        ``C d^3 log(T) K / lambda (slack - 2 exploration)^-2``: 443 for the experiments' own numbers.
        Nothing keeps it below T.

    Raises
    ------
    ValueError
        If an argument is out of range, or the exploration rate uses up the slack.

    References
    ----------
    Section 7. It is not the tau of Lemma 5.2, `exploration_length`.
    """
    horizon = positive_integer("horizon", horizon)
    d, k = positive_integer("dimension", dimension), positive_integer("servers", servers)
    rate, slack = probability_open("arrival_rate", arrival_rate), positive_real("slack", slack)
    if exploration is None:
        exploration = horizon**-0.5
    _refuse_slack(slack, exploration)
    scale = positive_real("constant", constant) * d**3 * math.log(horizon) * k / rate
    return math.floor(scale / (slack - 2 * exploration) ** 2)


def _refuse_slack(slack, exploration):
    if not 0 <= exploration < slack / 2:
        raise ValueError(
            f"exploration = {exploration:.6g}; permitted: from 0 to below slack / 2 = {slack / 2:.6g}"
        )


def exploration_samples(setting: Setting, width: float, log_failure: float, exploration: float):
    """Fresh samples N that each server needs so that every later round is a good one.

    Parameters
    ----------
    setting : Setting
    width : float
        beta_T, above 0.
    log_failure : float
        ``log(1 / delta)``.
    exploration : float
        Exploration rate afterwards, below half the slack.

    Returns
    -------
    float
        ``max(log(d K / delta) / (MATRIX_CHERNOFF s), 32 beta^2 / (s (slack - 2 exploration)^2))`` with
        s the second moment.

    References
    ----------
    Lemma 5.2 with matrix Chernoff in place of its unspecified constants; claim
    ``contextual.exploration_length``.
    """
    _refuse_slack(setting.slack, exploration)
    s = setting.second_moment
    concentrate = math.log(setting.dimension * setting.servers) + log_failure
    gap = setting.slack - 2 * exploration
    return max(concentrate / (MATRIX_CHERNOFF * s), 32 * width**2 / (s * gap**2))


def exploration_length(setting: Setting, samples: float, log_failure: float) -> float:
    """Rounds tau of pure exploration in which K N jobs arrive with probability ``1 - delta``.

    Returns
    -------
    float
        ``2 K N / lambda + log(1/delta) / (2 lambda^2)``.

    References
    ----------
    Section 5 (display of tau).
    """
    rate = setting.arrival_rate
    return 2 * setting.servers * samples / rate + log_failure / (2 * rate**2)


def bad_rounds_bound(log10_horizon: float, setting: Setting, width: float) -> float:
    """Bound on the number of bad rounds: ``32 beta^2 K d log(1 + T/(d K kappa lambda_0)) / slack^2``.

    References
    ----------
    Proposition 6.1.
    """
    kd = setting.servers * setting.dimension
    ratio = _horizon(log10_horizon) / (kd * setting.kappa * setting.regularisation)
    return 32 * width**2 * kd * math.log1p(ratio) / setting.slack**2


# Drift and tail --------------------------------------------------------------------------------------


def decay(slack: float) -> float:
    """Factor rho = ``exp(-slack^2 / 8)`` by which the exponential potential shrinks (Appendix C)."""
    return math.exp(-(positive_real("slack", slack) ** 2) / 8)


def tail_constant(slack: float, arrival_rate: float, *, form: str = "ours") -> float:
    """Constant C of the tail ``P(Q(t) >= a B + b) <= C exp(-slack b / 2)``.

    Parameters
    ----------
    slack, arrival_rate : float
    form : {"ours", "source"}
        "source": ``1 + 16 / slack^2``; "ours": ``1 + lambda (e^(slack/2) - 1)/(1 - rho)``.

    References
    ----------
    Appendix C; claim ``contextual.queue_potential``, which also has the simpler and somewhat larger ``1
    + 416/75 lambda / slack``.
    """
    choice("form", form, _FORMS)
    slack, rate = positive_real("slack", slack), probability_open("arrival_rate", arrival_rate)
    if form == "source":
        return 1 + 16 / slack**2
    return 1 + rate * math.expm1(slack / 2) / -math.expm1(-(slack**2) / 8)


def ramp_constant(slack: float, arrival_rate: float, *, form: str = "ours") -> float:
    """Factor G of the ramp: ``2 C`` in the source, ``1 + 8/7 C`` ours (see `tail_constant`)."""
    constant = tail_constant(slack, arrival_rate, form=form)
    return 2 * constant if form == "source" else 1 + 8 / 7 * constant


def threshold_rounds(bad_rounds: float, slack: float, *, form: str = "ours") -> float:
    """Rounds omega before the horizon in which the ramp counts as 1: ``4 b / slack``, ours 2."""
    choice("form", form, _FORMS)
    return (4.0 if form == "source" else 2.0) * bad_rounds / slack


def ramp(remaining, threshold: float, slack: float, arrival_rate: float, *, form: str = "ours"):
    """Bound on the mean of psi tilde (t, T) with ``n = T - t - 1`` rounds remaining.

    Parameters
    ----------
    remaining : float or array_like
        n, from 0.
    threshold : float
        omega, see `threshold_rounds`.
    slack, arrival_rate : float
    form : {"ours", "source"}

    Returns
    -------
    float or ndarray
        ``min(1, G exp(-c slack^2 (n - omega)))``, and 1 for ``n < omega``; c = 1/32 in the source's
        proof, 1/4 ours.

    References
    ----------
    Lemmas 5.4 and 6.2; claim ``contextual.ramp_clean``.
    """
    constant = ramp_constant(slack, arrival_rate, form=form)
    rate = slack**2 / (32 if form == "source" else 4)
    beyond = np.maximum(np.asarray(remaining, dtype=float) - threshold, 0.0)
    value = np.minimum(1.0, constant * np.exp(-rate * beyond))
    return value if np.ndim(value) else float(value)


def ramp_sum(threshold: float, slack: float, arrival_rate: float, *, form: str = "ours") -> float:
    """Bound on the sum of the ramp over all rounds.

    Returns
    -------
    float
        Ours: ``omega + 1 + 4 / slack^2 (1 + log G)``. Source, Theorem 6.3:
        ``omega + 1 + 2 C / (1 - exp(-slack^2 / 32))``, which its proof bounds by ``128 C / slack^2``.
    """
    constant = ramp_constant(slack, arrival_rate, form=form)
    if form == "source":
        return threshold + 1 + constant / -math.expm1(-(slack**2) / 32)
    return threshold + 1 + 4 / slack**2 * (1 + math.log(constant))


# Regret bounds ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bound:
    """A regret bound at one horizon, with what it is made of.

    Attributes
    ----------
    log10_value : float
        Of the bound, in jobs; infinite where a condition of the theorem fails.
    width : float
        beta_T.
    exploration : float
        Rounds tau of pure exploration, or the bound on the bad rounds.
    threshold : float
        omega.
    """

    log10_value: float
    width: float
    exploration: float
    threshold: float


def _horizon(log10_horizon):
    log10_horizon = real("log10_horizon", log10_horizon)
    if not 0 < log10_horizon <= _MOST:
        raise ValueError(
            f"log10_horizon = {log10_horizon!r}; permitted: above 0, at most {_MOST:.0f}"
        )
    return 10.0**log10_horizon


def _pure_exploration(setting, width, log_failure, exploration):
    """Rounds tau of pure exploration, with samples and rounds rounded up."""
    samples = math.ceil(exploration_samples(setting, width, log_failure, exploration))
    return math.ceil(exploration_length(setting, samples, log_failure))


def _exploration_start(setting, log_failure, exploration, extra=0.0):
    """Rounds s_0 after which exploration at a rate has given each server its share of samples."""
    k, d = setting.servers, setting.dimension
    counts = 8 * (math.log(k) + log_failure + extra)
    spread = 2 * (math.log(d * k) + log_failure + extra)
    spread /= MATRIX_CHERNOFF * setting.second_moment
    return k / (setting.arrival_rate * exploration) * max(counts, spread)


def _log10(value):
    return math.log10(value) if value > 0 else -math.inf


def theorem_5_5_bound(
    log10_horizon: float, setting: Setting, *, form: str = "source", width: str = "source"
) -> Bound:
    """Explicit regret bound of CQB-epsilon with exploration rate ``T^-1/2`` and ``delta = T^-2``.

    Parameters
    ----------
    log10_horizon : float
        In (0, 300].
    setting : Setting
    form : {"source", "ours"}
        "source": Chebyshev's sum inequality, ``(sum M)(sum Delta) / (T - 1)``; "ours": `l1_bound`
        with power 1/2.
    width : {"source", "ours"}
        Form of `confidence_width`.

    Returns
    -------
    Bound
        Infinite for ``T <= 4 / slack^2``, where the exploration rate uses up the slack.

    References
    ----------
    Theorem 5.5, with explicit constants of ours; claim ``contextual.theorem_5_5``.
    """
    choice("form", form, _FORMS)
    if form == "ours":
        return l1_bound(log10_horizon, setting, power=0.5, width=width)
    horizon, log_failure = _horizon(log10_horizon), 2 * math.log(10) * log10_horizon
    beta = _width(horizon, setting, log_failure, width)
    exploration = horizon**-0.5
    rate, slack = setting.arrival_rate, setting.slack
    if 2 * exploration >= slack:
        return Bound(math.inf, beta, math.inf, math.inf)
    tau = _pure_exploration(setting, beta, log_failure, exploration)
    omega = threshold_rounds(tau, slack, form="source")
    failures = math.sqrt(3)  # T sqrt(3 delta)
    start = _exploration_start(setting, log_failure, exploration, log_failure / 2)
    gaps = tau + start + failures + horizon * math.sqrt(rate * exploration)
    spread = math.sqrt(setting.servers / (rate * setting.second_moment))
    gaps += 8 * beta * spread * horizon**0.75
    constant = ramp_constant(slack, rate, form="source")
    ramps = omega + 32 / slack**2 * math.log(constant) + 64 / slack**2 + 1 + failures
    value = _log10(gaps) + _log10(ramps) - _log10(horizon - 1)
    return Bound(value, beta, tau, omega)


def theorem_6_3_bound(
    log10_horizon: float, setting: Setting, *, form: str = "source", width: str = "source"
) -> Bound:
    """Explicit regret bound of CQB-Opt against an oblivious adversary, with ``delta = 1/T``.

    Parameters
    ----------
    log10_horizon, setting, width
        As in `theorem_5_5_bound`; ``second_moment`` is not used.
    form : {"source", "ours"}
        Form of the ramp (`ramp_sum`, `threshold_rounds`).

    Returns
    -------
    Bound
        ``sqrt(1 + 8 beta^2 K d log(1 + T/(d K kappa lambda_0))) sqrt(1 + ramp sum)``.

    References
    ----------
    Theorem 6.3, with explicit constants of ours; claim ``contextual.theorem_6_3``.
    """
    choice("form", form, _FORMS)
    horizon, log_failure = _horizon(log10_horizon), math.log(10) * log10_horizon
    beta = _width(horizon, setting, log_failure, width)
    bad = bad_rounds_bound(log10_horizon, setting, beta)
    omega = threshold_rounds(bad, setting.slack, form=form)
    gaps = 1 + bad * setting.slack**2 / 4
    ramps = 1 + ramp_sum(omega, setting.slack, setting.arrival_rate, form=form)
    return Bound((_log10(gaps) + _log10(ramps)) / 2, beta, bad, omega)


def l1_bound(
    log10_horizon: float, setting: Setting, *, power: float = 1 / 3, width: str = "source"
) -> Bound:
    """Regret bound of CQB-epsilon with exploration rate ``T^-power``, without Cauchy and Schwarz.

    Parameters
    ----------
    log10_horizon, setting, width
        As in `theorem_5_5_bound`.
    power : float
        In (0, 1): 1/3 gives the rate ``T^-1/3``, 1/2 the source's ``T^-1/4``.

    Returns
    -------
    Bound
        ``4/T + (T/2 + 1) G exp(-c (T/2 - 2 - omega)) + (e + 2 beta sqrt(4 K / (lambda e s (T/2 -
        tau)))) (omega + 1 + (1 + log G)/c)`` with e the exploration rate, s the second moment, G
        `ramp_constant`, ``c = slack^2 / 4``, ``omega = 2 tau / slack``; infinite where a condition
        fails (e below half the slack, ``T/2 - tau >= s_0``, ``T/2 - 2 >= max(omega, 1)``).

    References
    ----------
    Claim ``contextual.l1_one_third`` (ours).
    """
    power = probability_open("power", power)
    horizon, log_failure = _horizon(log10_horizon), 2 * math.log(10) * log10_horizon
    beta = _width(horizon, setting, log_failure, width)
    exploration = horizon**-power
    rate, slack = setting.arrival_rate, setting.slack
    if 2 * exploration >= slack:
        return Bound(math.inf, beta, math.inf, math.inf)
    tau = _pure_exploration(setting, beta, log_failure, exploration)
    omega = threshold_rounds(tau, slack)
    start = _exploration_start(setting, log_failure, exploration)
    explored, drained = horizon / 2 - tau, horizon / 2 - 2
    if explored < start or drained < max(omega, 1):
        return Bound(math.inf, beta, tau, omega)
    constant = ramp_constant(slack, rate)
    early = (horizon / 2 + 1) * constant * math.exp(-(slack**2) * (drained - omega) / 4)
    eigenvalue = rate * exploration * setting.second_moment * explored / (4 * setting.servers)
    gap = exploration + 2 * beta / math.sqrt(eigenvalue)
    value = 4 / horizon + early + gap * ramp_sum(omega, slack, rate)
    return Bound(_log10(value), beta, tau, omega)


def cqb_eta2_bound(
    log10_horizon: float, setting: Setting, *, form: str = "ours", width: str = "source"
) -> Bound:
    """Regret bound of CQB-eta-2: exploration at the rate ``slack / 4`` until a cutoff, then none.

    Parameters
    ----------
    log10_horizon, setting, width
        As in `theorem_5_5_bound`.
    form : {"ours", "source"}
        Constants of the ramp: ours (those of the claim), or those of the source's lemmas.

    Returns
    -------
    Bound
        Ours: ``T^-1/2 + 3/T + cut 2 beta sqrt(4 K / (lambda e s (T - cut - 1 - tau)))`` with ``e =
        slack/4``, ``cut = 1 + omega + log(8/7 G sqrt(T) / c) / c`` and G, c, omega as in `l1_bound`.
        Infinite where too few rounds lie between pure exploration and the cutoff.

    References
    ----------
    Claim ``contextual.cqb_eta2`` (ours, along the abstract of arXiv 2606.09668).
    """
    choice("form", form, _FORMS)
    horizon, log_failure = _horizon(log10_horizon), 2 * math.log(10) * log10_horizon
    beta = _width(horizon, setting, log_failure, width)
    rate, slack, k = setting.arrival_rate, setting.slack, setting.servers
    exploration = slack / 4
    tau = _pure_exploration(setting, beta, log_failure, exploration)
    omega = threshold_rounds(tau, slack, form=form)
    constant = ramp_constant(slack, rate, form=form)
    enough = _exploration_start(setting, log_failure, exploration)
    if form == "source":
        inner, exponent = constant * (64 / slack**2 + 1), slack**2 / 32
        failures, rounded = 6 / horizon, 0
        enough = max(enough, horizon / 2)
    else:
        exponent = slack**2 / 4
        inner = 8 / 7 * constant / exponent
        failures, rounded = 3 / horizon, 1  # the cutoff is a whole round
    cut = 1 + omega + (math.log(inner) + math.log(horizon) / 2) / exponent
    between = horizon - cut - rounded - tau
    if between < enough:
        return Bound(math.inf, beta, tau, omega)
    eigenvalue = rate * exploration * setting.second_moment * between / (4 * k)
    value = horizon**-0.5 + failures + cut * 2 * beta / math.sqrt(eigenvalue)
    return Bound(_log10(value), beta, tau, omega)


def crossing(
    bound: Callable[[float], Bound], target: float, *, arrival_rate: float | None = None
) -> float:
    """Smallest ``log10 T`` from which on a bound stays below a target.

    Parameters
    ----------
    bound : callable
        From ``log10_horizon`` to `Bound`.
    target : float
        Number of jobs; with ``arrival_rate`` it multiplies the trivial bound ``lambda T``.
    arrival_rate : float, optional

    Returns
    -------
    float
        To within 1e-9; infinite if the bound is not below the target at 10**140.

    Notes
    -----
    About 1400 evaluations on a grid of 0.1, then bisection; a bound that dips below the target
    between two points of the grid is not seen.
    """
    target = positive_real("target", target)
    trivial = arrival_rate is not None

    def excess(log10_horizon):
        goal = math.log10(target)
        if trivial:
            goal += math.log10(arrival_rate) + log10_horizon
        return min(bound(log10_horizon).log10_value - goal, 1e3)

    last = 140.0
    if excess(last) >= 0:
        return math.inf
    while last > 0.1 and excess(last - 0.1) < 0:
        last -= 0.1
    if last <= 0.1:
        return last
    first = last - 0.1
    while last - first > 1e-9:
        middle = (first + last) / 2
        if excess(middle) < 0:
            last = middle
        else:
            first = middle
    return last


def lower_bound(horizon: int, arrival_rate: float, base_rate: float, gap: float | None = None):
    """Lower bound on the larger regret of two instances with rates ``p + D`` and ``p - D`` (ours).

    Parameters
    ----------
    horizon : int
        T, at least 3.
    arrival_rate : float
    base_rate : float
        p, in (0, 1).
    gap : float, optional
        D, below p and 1 - p; by default ``sqrt(p (1 - p) / T) / 2``.

    Returns
    -------
    float
        ``lambda D / 2 sum_{m=0}^{T-3} (1 - p - D)^m exp(-(T - 3 - m) kl)`` with kl the larger of the
        two divergences.

    References
    ----------
    Claim ``contextual.lower_bound``.
    """
    horizon = non_negative_integer("horizon", horizon)
    if horizon < 3:
        raise ValueError(f"horizon = {horizon}; permitted: integers from 3")
    rate, p = (
        probability_open("arrival_rate", arrival_rate),
        probability_open("base_rate", base_rate),
    )
    if gap is None:
        gap = math.sqrt(p * (1 - p) / horizon) / 2
    if not 0 < gap < min(p, 1 - p):
        raise ValueError(
            f"gap = {gap!r}; permitted: above 0, below {min(p, 1 - p):.6g} (rates stay in (0, 1))"
        )
    high, low = p + gap, p - gap

    def divergence(a, b):
        return a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))

    kl = max(divergence(high, low), divergence(low, high))
    m = np.arange(min(horizon - 2, 10_000))  # later terms are below any float
    terms = np.exp(m * math.log1p(-high) - (horizon - 3 - m) * kl)
    return float(rate * gap / 2 * terms.sum())
