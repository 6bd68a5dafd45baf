"""Closed forms for many queues: how much service is enough, and how little is not.

n queues with arrival rates ``lambda_i`` send to m servers with service rates ``mu_j``; ``lambda`` and
``mu`` are their sums, ``lambda_max`` is the largest arrival rate. Functions without roots or logarithms
compute in the arithmetic of their input (see :mod:`simlib.arithmetic`): rates given as
`fractions.Fraction`, ``int`` or strings such as ``"3/10"`` give exact rationals. The others return
floats.

Source of the model and of the numbered statements: "Learning in Strategic Queuing with Geometric
Recharge"; "ours" marks what goes beyond it.
"""

import math
from dataclasses import dataclass

from simlib.arguments import positive_integer, positive_real, probability_open, real
from simlib.arithmetic import as_open_unit, as_positive, as_rates, plain
from simlib.tuning import exp3_ix_learning_rate, guard_threshold

__all__ = [
    "ProofConstants",
    "capacity_margin",
    "end_to_end_bound",
    "exp3_ix_constant",
    "exp3_ix_expected_regret",
    "exp3_ix_learning_rate",
    "exp3_ix_regret",
    "fluid_clearing_rate",
    "guard_threshold",
    "guarded_uniform_regret",
    "identical_servers_needed",
    "largest_clearing_rate",
    "longest_queue_growth",
    "negative_drift_bound",
    "overprovisioning_factor",
    "proof_constants",
    "required_scale",
    "restarted_learning_rate",
    "saturated_floor",
    "servers_for_longest_growth",
    "servers_for_total_growth",
    "submartingale_rate",
    "submartingale_weight",
    "sufficient_period",
    "total_growth",
    "uniform_expected_regret",
    "uniform_regret",
]


def _arrivals(arrival_rates):
    """Return the number of queues, the sum of the rates and the largest rate."""
    rates = as_rates(arrival_rates, "arrival_rates")
    return len(rates), plain(sum(rates)), plain(max(rates))


def _identical(servers, total_service_rate):
    """Return the number of servers, their total rate and the rate of one, below 1."""
    servers = positive_integer("servers", servers)
    total = as_positive("total_service_rate", total_service_rate)
    if total >= servers:
        raise ValueError(
            f"total_service_rate = {total_service_rate!r} for servers = {servers}; permitted: below "
            f"the number of servers, so that each rate is below 1"
        )
    return servers, total, total / servers


def _smallest_above(bound):
    """The smallest integer above a number."""
    return math.floor(bound) + 1


# How much is enough --------------------------------------------------------------------------------


def overprovisioning_factor(largest_arrival_rate):
    """Service over arrivals that makes every no-regret learning stable: ``1 / (1 - lambda_max)``.

    Parameters
    ----------
    largest_arrival_rate : number in (0, 1)

    Returns
    -------
    Fraction or float

    References
    ----------
    Theorem 4.1.
    """
    return 1 / (1 - as_open_unit("largest_arrival_rate", largest_arrival_rate))


def capacity_margin(arrival_rates, total_service_rate):
    """Margin ``Delta = mu (1 - lambda_max) - lambda``; Theorem 4.1 promises stability if positive.

    Parameters
    ----------
    arrival_rates : sequence of length n
        Numbers in (0, 1).
    total_service_rate : number
        Sum of the service rates, above 0.

    Returns
    -------
    Fraction or float
        Packets a step.
    """
    _, total, largest = _arrivals(arrival_rates)
    return as_positive("total_service_rate", total_service_rate) * (1 - largest) - total


def required_scale(arrival_rates, total_service_rate):
    """Factor on all service rates from which on Theorem 4.1 applies: ``lambda / (mu (1 - lambda_max))``.

    Parameters
    ----------
    arrival_rates, total_service_rate
        As in `capacity_margin`.

    Returns
    -------
    Fraction or float
        Below 1: there is room; above 1: so much more service is needed.
    """
    _, total, largest = _arrivals(arrival_rates)
    return total / (as_positive("total_service_rate", total_service_rate) * (1 - largest))


def saturated_floor(queues, total_service_rate):
    """Least total clearing rate of n backlogged queues without regret: ``n mu / (n + mu)``.

    Parameters
    ----------
    queues : int
        Number of queues n, at least 1.
    total_service_rate : number
        Sum of the service rates, above 0.

    Returns
    -------
    Fraction or float
        Packets a step, for all queues together.

    References
    ----------
    Ours (claim ``strategic.saturated_throughput``).
    """
    queues = positive_integer("queues", queues)
    total = as_positive("total_service_rate", total_service_rate)
    return queues * total / (queues + total)


# How little is not: one queue ----------------------------------------------------------------------


def identical_servers_needed(arrival_rate, shortfall):
    """Servers that make the smallest example in which less than the factor is not enough.

    One queue with the uniform router and m identical servers of total rate ``mu = (1 - shortfall)
    lambda / (1 - lambda)`` grows linearly if and only if ``m > mu / shortfall``. With ``m = mu /
    shortfall`` it is null recurrent: it has no drift, nor is it stable.

    Parameters
    ----------
    arrival_rate : number in (0, 1)
    shortfall : number in (0, 1)
        By how much the total rate misses the factor, relatively.

    Returns
    -------
    int
        The smallest such m.

    References
    ----------
    Necessity theorem at the end of Section 4; the number of servers is ours (claim
    ``strategic.tightness``).
    """
    arrival_rate = as_open_unit("arrival_rate", arrival_rate)
    shortfall = as_open_unit("shortfall", shortfall)
    total = (1 - shortfall) * arrival_rate / (1 - arrival_rate)
    return _smallest_above(total / shortfall)


# How little is not: every arrival vector -----------------------------------------------------------


def submartingale_weight(servers, total_service_rate):
    """Weight ``c = (1 - nu) / mu`` of all packets in the linear submartingale.

    It is ``N_1 + c (N + b) + b / m``, with b the number of full buffers at the end of a step and
    ``nu = mu / m`` the rate of one of the identical servers.

    Parameters
    ----------
    servers : int
        Number of identical servers m.
    total_service_rate : number
        Sum of their rates, above 0 and below m.

    Returns
    -------
    Fraction or float

    References
    ----------
    Ours (claim ``strategic.linear_submartingale``).
    """
    _, total, rate = _identical(servers, total_service_rate)
    return (1 - rate) / total


def submartingale_rate(arrival_rates, servers, total_service_rate):
    """Least drift ``gamma = lambda_max - 1 + (1 - nu) lambda / mu`` of the linear submartingale.

    Parameters
    ----------
    arrival_rates : sequence of length n
        Numbers in (0, 1); the queue with the largest rate picks servers uniformly.
    servers, total_service_rate
        As in `submartingale_weight`.

    Returns
    -------
    Fraction or float
        A step; equal to ``-Delta / mu - lambda / m``.
    """
    _, arrivals, largest = _arrivals(arrival_rates)
    return largest - 1 + submartingale_weight(servers, total_service_rate) * arrivals


def total_growth(arrival_rates, servers, total_service_rate):
    """Growth ``gamma / (1 + c)`` of all packets, a step, that the linear submartingale forces.

    Only the queue with the largest rate need be uniform. A value that is not positive says nothing.

    Parameters
    ----------
    arrival_rates, servers, total_service_rate
        As in `submartingale_rate`.

    Returns
    -------
    Fraction or float

    References
    ----------
    Ours (claim ``strategic.tight_for_every_arrival_vector``, part i).
    """
    rate = submartingale_rate(arrival_rates, servers, total_service_rate)
    return rate / (1 + submartingale_weight(servers, total_service_rate))


def longest_queue_growth(arrival_rates, servers, total_service_rate):
    """Growth of the queue with the largest rate, a step, when all queues are uniform.

    Almost surely its length over the time is in the limit at least ``(gamma - c (n - 1)^2 lambda_max
    / m) / (1 + c n)``. A value that is not positive says nothing.

    Parameters
    ----------
    arrival_rates, servers, total_service_rate
        As in `submartingale_rate`.

    Returns
    -------
    Fraction or float

    References
    ----------
    Ours (claim ``strategic.tight_for_every_arrival_vector``, part ii).
    """
    queues, _, largest = _arrivals(arrival_rates)
    rate = submartingale_rate(arrival_rates, servers, total_service_rate)
    weight = submartingale_weight(servers, total_service_rate)
    return (rate - weight * (queues - 1) ** 2 * largest / servers) / (1 + weight * queues)


def _shortage(arrival_rates, total_service_rate):
    margin = capacity_margin(arrival_rates, total_service_rate)
    if margin >= 0:
        raise ValueError(
            f"total_service_rate = {total_service_rate!r}; permitted: below lambda / (1 - lambda_max) "
            f"= {_critical_rate(arrival_rates)}"
        )
    return -margin


def _critical_rate(arrival_rates):
    _, total, largest = _arrivals(arrival_rates)
    return total / (1 - largest)


def servers_for_total_growth(arrival_rates, total_service_rate):
    """Smallest m with ``m > lambda mu / |Delta|``: all packets together grow without bound.

    Parameters
    ----------
    arrival_rates : sequence of length n
        Numbers in (0, 1).
    total_service_rate : number
        Sum of the rates of identical servers, with ``Delta < 0``.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If ``Delta`` is not negative.

    References
    ----------
    Ours (claim ``strategic.tight_for_every_arrival_vector``, part i).
    """
    _, arrivals, _ = _arrivals(arrival_rates)
    total = as_positive("total_service_rate", total_service_rate)
    return _smallest_above(arrivals * total / _shortage(arrival_rates, total))


def servers_for_longest_growth(arrival_rates, total_service_rate):
    """Smallest m with ``m > (lambda mu + (n - 1)^2 lambda_max) / |Delta|``: the first queue grows.

    Parameters
    ----------
    arrival_rates, total_service_rate
        As in `servers_for_total_growth`; all queues are uniform.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If ``Delta`` is not negative.

    References
    ----------
    Ours (claim ``strategic.tight_for_every_arrival_vector``, part ii).
    """
    queues, arrivals, largest = _arrivals(arrival_rates)
    total = as_positive("total_service_rate", total_service_rate)
    collisions = (queues - 1) ** 2 * largest
    return _smallest_above((arrivals * total + collisions) / _shortage(arrival_rates, total))


def largest_clearing_rate(arrival_rates, servers, total_service_rate):
    """Largest clearing rate of the queue with the largest rate when the others are stable.

    With all queues uniform and m identical servers it is ``(mu - (1 - nu)(lambda - lambda_max)) / (mu
    + 1 - nu)``: the free fraction of the servers that clears it and what the others bring.

    Parameters
    ----------
    arrival_rates, servers, total_service_rate
        As in `submartingale_rate`.

    Returns
    -------
    Fraction or float
        Packets a step.
    """
    _, arrivals, largest = _arrivals(arrival_rates)
    _, total, rate = _identical(servers, total_service_rate)
    return (total - (1 - rate) * (arrivals - largest)) / (total + 1 - rate)


def fluid_clearing_rate(arrival_rates, total_service_rate):
    """Limit ``(mu - (lambda - lambda_max)) / (1 + mu)`` of `largest_clearing_rate` for many servers."""
    _, arrivals, largest = _arrivals(arrival_rates)
    total = as_positive("total_service_rate", total_service_rate)
    return (total - (arrivals - largest)) / (1 + total)


# Regret bounds -------------------------------------------------------------------------------------


def uniform_expected_regret(servers, total_service_rate):
    """Bound ``v = (m - 1) / (1 + mu - nu)`` on the expected regret of uniform routers, ``nu = mu / m``.

    It holds against each of m identical servers, in absolute value, for every window, every history
    before it and every acceptance rule that is the same at all servers; for one queue that never empties
    it is attained in the limit of long windows.

    Parameters
    ----------
    servers, total_service_rate
        As in `submartingale_weight`.

    Returns
    -------
    Fraction or float

    References
    ----------
    Ours (claim ``strategic.uniform_is_windowed_no_regret``).
    """
    servers, total, rate = _identical(servers, total_service_rate)
    return (servers - 1) / (1 + total - rate)


def uniform_regret(window, servers, total_service_rate, error):
    """Bound on the regret of uniform routers that holds with probability ``1 - error``.

    It is ``v + (1 + 2 v) sqrt(2 W ln(m / error))`` with v that of `uniform_expected_regret`, in the
    systems described there.

    Parameters
    ----------
    window : int
        Steps W.
    servers, total_service_rate
        As in `submartingale_weight`.
    error : float in (0, 1)

    Returns
    -------
    float

    References
    ----------
    Ours (claim ``strategic.uniform_is_windowed_no_regret``).
    """
    window = positive_integer("window", window)
    bias = float(uniform_expected_regret(servers, total_service_rate))
    log = math.log(servers / probability_open("error", error))
    return bias + (1 + 2 * bias) * math.sqrt(2 * window * log)


def guarded_uniform_regret(period, servers, total_service_rate, error):
    """Bound on the regret of the guarded uniform router in any environment.

    With probability ``1 - 2 error`` the regret of a period of W steps is at most ``threshold + (m - 1) +
    m sqrt(W ln(m / error) / 2) + 2 sqrt(m W (2 ln m + ln(2 / error))) + ln(2 / error)``, the threshold
    being `guard_threshold`.

    Parameters
    ----------
    period : int
        Steps W.
    servers : int
        Number of servers m.
    total_service_rate : number
        For which the threshold is made, above 0.
    error : float in (0, 1)

    Returns
    -------
    float

    References
    ----------
    Ours (claim ``strategic.guarded_uniform``).
    """
    total = as_positive("total_service_rate", total_service_rate)
    period, servers = positive_integer("period", period), positive_integer("servers", servers)
    threshold = guard_threshold(period, servers, error, float(total))
    estimates = servers * math.sqrt(period * math.log(servers / error) / 2)
    return threshold + (servers - 1) + estimates + exp3_ix_regret(period, servers, error)


def exp3_ix_regret(period, servers, error):
    """Bound on the regret of EXP3-IX that holds with probability ``1 - error``.

    It is ``2 sqrt(m W (2 ln m + ln(2 / error))) + ln(2 / error)`` with `exp3_ix_learning_rate`.

    Parameters
    ----------
    period : int
        Steps W.
    servers : int
        Number of servers m.
    error : float in (0, 1)

    Returns
    -------
    float

    References
    ----------
    Ours (claim ``strategic.exp3ix_restarted``).
    """
    period, servers = positive_integer("period", period), positive_integer("servers", servers)
    tail = math.log(2 / probability_open("error", error))
    return 2 * math.sqrt(servers * period * (2 * math.log(servers) + tail)) + tail


def exp3_ix_constant(queues, servers):
    """``K = 2 ln m + ln 2n + 1``, on which the expected regret of restarted EXP3-IX depends.

    Parameters
    ----------
    queues, servers : int
        Numbers n and m.

    Returns
    -------
    float

    References
    ----------
    Ours (claim ``strategic.exp3ix_restarted``).
    """
    queues, servers = positive_integer("queues", queues), positive_integer("servers", servers)
    return 2 * math.log(servers) + math.log(2 * queues) + 1


def restarted_learning_rate(period, queues, servers):
    """Learning rate ``sqrt(K / (m W))`` of EXP3-IX restarted every W steps.

    Parameters
    ----------
    period : int
        Steps W.
    queues, servers : int
        Numbers n and m.

    Returns
    -------
    float
    """
    period = positive_integer("period", period)
    return math.sqrt(exp3_ix_constant(queues, servers) / (servers * period))


def exp3_ix_expected_regret(period, queues, servers):
    """Bound ``r(W) = 2 sqrt(m W K) + 1 + ln 2n`` on the expected largest positive regret of n queues.

    Parameters
    ----------
    period, queues, servers
        As in `restarted_learning_rate`, with that learning rate.

    Returns
    -------
    float

    References
    ----------
    Ours (claim ``strategic.exp3ix_restarted``).
    """
    period = positive_integer("period", period)
    k = exp3_ix_constant(queues, servers)
    return 2 * math.sqrt(servers * period * k) + 1 + math.log(2 * queues)


# Drift ---------------------------------------------------------------------------------------------


def negative_drift_bound(beta, step, alpha):
    """Bound on the mean of a process with bounded steps and negative drift above a threshold.

    A process that starts at or below ``beta + c``, moves by at most c, and has a drift of at most
    ``-alpha`` wherever it is above beta, has at all times a mean of at most ``beta + c + (c^2 / alpha)
    ln(1 / (1 - theta))``, ``theta = exp(-alpha^2 / (2 c^2))``.

    Parameters
    ----------
    beta : float
        The threshold.
    step : float
        c, above 0.
    alpha : float
        At most c, and at least ``1e-150 c``: the square of a smaller ratio is 0 in floats.

    Returns
    -------
    float

    References
    ----------
    Ours (claim ``strategic.negative_drift_bound``), in place of Theorem 4.2.
    """
    beta, step = real("beta", beta), positive_real("step", step)
    alpha = positive_real("alpha", alpha)
    if not 1e-150 * step <= alpha <= step:
        raise ValueError(
            f"alpha = {alpha}; permitted: at most step = {step}, the largest move of the process, and "
            f"at least 1e-150 of it"
        )
    ratio = alpha / step
    # 1 - theta is tiny where the drift is: it must not be computed by subtraction.
    return beta + step - step / ratio * math.log(-math.expm1(-ratio * ratio / 2))


@dataclass(frozen=True)
class ProofConstants:
    """What the proof of Theorem 4.1 makes of one system; see `proof_constants`.

    Attributes
    ----------
    margin : float
        ``Delta``.
    delta, eta : float
        Slack of arrivals and regret in a period, a step; probability that a queue exceeds it.
    period : int
        The smallest W that the proof can use.
    threshold : float
        Potential from which on it drifts down.
    drift : float
        Least drift down of the potential in a period, above the threshold.
    bound : float
        Bound on the mean number of packets in the system, at all times, from an empty start.
    """

    margin: float
    delta: float
    eta: float
    period: int
    threshold: float
    drift: float
    bound: float


def proof_constants(arrival_rates, servers, total_service_rate, regret_constant=5.15):
    """The constants of the proof of Theorem 4.1 for learners with an EXP3.P-type guarantee.

    The regret of a period of W steps is taken to be at most ``regret_constant sqrt(m W ln(m / eta))``
    with probability ``1 - eta``. With ``delta = Delta / (8 mu)`` and ``eta = Delta / (8 n mu)`` the
    terms of the drift that they cause are half of ``Delta W``; W must be so large that regret and
    excess arrivals stay below ``delta W`` and that ``W > 2 m / Delta``.

    Parameters
    ----------
    arrival_rates : sequence of length n
        Numbers in (0, 1).
    servers : int
        Number of servers m.
    total_service_rate : number
        Sum of the service rates, with ``Delta > 0``.
    regret_constant : float
        Above 0.

    Returns
    -------
    ProofConstants

    Raises
    ------
    ValueError
        If ``Delta`` is not positive, or a parameter is out of range.

    References
    ----------
    Lemmas 4.4 to 4.8 with the constants of claim ``strategic.sufficiency``: above the threshold
    ``C = (n + mu) W`` the potential drifts down, `negative_drift_bound` bounds its mean at the starts
    of periods, and within one it grows by at most C while the buffers hold at most m. A statement of
    existence, never to be used as advice on capacity.
    """
    queues, _, _ = _arrivals(arrival_rates)
    servers = positive_integer("servers", servers)
    regret_constant = positive_real("regret_constant", regret_constant)
    margin = _positive_margin(arrival_rates, total_service_rate)
    total = float(as_positive("total_service_rate", total_service_rate))
    delta, eta = margin / (8 * total), margin / (8 * queues * total)
    regret = regret_constant**2 * servers * math.log(servers / eta) / delta**2
    arrivals = math.log(1 / eta) / (2 * delta**2)
    period = max(math.ceil(regret), math.ceil(arrivals), _smallest_above(2 * servers / margin))
    step = (queues + total) * period
    drift = margin * period / 2 - servers
    return ProofConstants(
        margin=margin,
        delta=delta,
        eta=eta,
        period=period,
        threshold=step,
        drift=drift,
        bound=negative_drift_bound(step, step, drift) + step + servers,
    )


def _positive_margin(arrival_rates, total_service_rate):
    margin = capacity_margin(arrival_rates, total_service_rate)
    if margin <= 0:
        raise ValueError(
            f"total_service_rate = {total_service_rate!r}; permitted: above lambda / (1 - lambda_max) "
            f"= {_critical_rate(arrival_rates)}"
        )
    return float(margin)


def sufficient_period(arrival_rates, servers, total_service_rate):
    """Smallest period W with which restarted EXP3-IX is proved stable.

    It is the smallest W with ``mu (2 sqrt(m W K) + 1 + ln 2n + sqrt(W ln(n) / 2)) + m <= Delta W / 2``;
    every longer period satisfies it too.

    Parameters
    ----------
    arrival_rates : sequence of length n
        Numbers in (0, 1).
    servers : int
        Number of servers m.
    total_service_rate : number
        Sum of the service rates, with ``Delta > 0``.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If ``Delta`` is not positive.

    References
    ----------
    Ours (claim ``strategic.sufficiency_end_to_end``).
    """
    queues, _, _ = _arrivals(arrival_rates)
    servers = positive_integer("servers", servers)
    margin = _positive_margin(arrival_rates, total_service_rate)
    total = float(as_positive("total_service_rate", total_service_rate))
    k = exp3_ix_constant(queues, servers)
    slope = total * (2 * math.sqrt(servers * k) + math.sqrt(math.log(queues) / 2))
    constant = total * (1 + math.log(2 * queues)) + servers
    # slope * x + constant <= margin * x**2 / 2 with x = sqrt(W), from the larger root on.
    root = (slope + math.sqrt(slope**2 + 2 * margin * constant)) / margin
    period = max(1, math.floor(root**2) - 2)
    while slope * math.sqrt(period) + constant > margin * period / 2:
        period += 1
    return period


def end_to_end_bound(arrival_rates, servers, total_service_rate, period=None):
    """Bound on the mean potential of restarted EXP3-IX at the starts of periods.

    It is `negative_drift_bound` with threshold and step ``C = (n + mu) W`` and drift ``Delta W / 2``.
    Within a period the potential ``N + mu M`` grows by at most another C.

    Parameters
    ----------
    arrival_rates, servers, total_service_rate
        As in `sufficient_period`.
    period : int, optional
        W, at least `sufficient_period`, which is the default.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If ``period`` is too short, or ``Delta`` is not positive.

    References
    ----------
    Ours (claim ``strategic.sufficiency_end_to_end``).
    """
    least = sufficient_period(arrival_rates, servers, total_service_rate)
    period = least if period is None else positive_integer("period", period)
    if period < least:
        raise ValueError(f"period = {period}; permitted: integers from {least}")
    queues, _, _ = _arrivals(arrival_rates)
    step = (queues + float(as_positive("total_service_rate", total_service_rate))) * period
    margin = float(capacity_margin(arrival_rates, total_service_rate))
    return negative_drift_bound(step, step, margin * period / 2)
