"""Closed forms of the recharging bandit and of its queue.

A server with service rate ``mu`` that was last tried ``d`` steps ago is free with probability ``1 -
(1 - mu)**d``. Everything here follows from that line. The functions compute in the arithmetic of
their input: rates given as `fractions.Fraction`, ``int`` or strings such as ``"3/10"`` give exact
rationals, rates given as floats give floats.

Source of the model and of the numbered statements: "Learning in Strategic Queuing with Geometric
Recharge"; "ours" marks what goes beyond it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from simlib.arguments import choice, positive_integer
from simlib.arithmetic import (
    as_distribution,
    as_open_unit,
    as_positive,
    as_rates,
    plain,
)

__all__ = [
    "INSTANCES",
    "Capacity",
    "as_rates",
    "availability",
    "bufferless_mean_queue",
    "capacity",
    "competitive_ratio",
    "competitive_ratio_arms",
    "effective_margin",
    "gap_hindsight",
    "hamacher_sum",
    "heavy_traffic_constant",
    "identical",
    "largest_learning_rate",
    "least_competitive_ratio",
    "memoryless_availability",
    "memoryless_utility",
    "missing_odds",
    "normalized_odds",
    "odds",
    "optimum_upper_bound",
    "optimum_upper_bound_exponential",
    "price_of_learning",
    "relaxation_time",
    "relaxed_pull_frequencies",
    "round_robin_utility",
    "servers_needed",
    "stationary_utility_loss",
    "total_odds",
]


def _like(rates, values):
    """Return values as a tuple beside exact rates, as an array beside float ones."""
    values = list(values)
    return tuple(values) if isinstance(rates, tuple) else np.array(values, dtype=float)


def odds(rates):
    """Odds ``mu / (1 - mu)`` of each service rate.

    Parameters
    ----------
    rates : sequence of length m
        Service rates, see `as_rates`.

    Returns
    -------
    tuple of Fraction, or ndarray, length m
    """
    rates = as_rates(rates)
    return _like(rates, (rate / (1 - rate) for rate in rates))


def total_odds(rates):
    """Sum of the odds of all service rates, the number rho on which every guarantee depends."""
    return plain(sum(odds(rates)))


def hamacher_sum(rates):
    """Hamacher sum ``h = rho / (1 + rho)`` of the service rates.

    It is the utility that every no-regret learner reaches (Theorem 3.1), the utility of the
    normalized odds (Theorem 3.3), and the largest arrival rate that learning guarantees to be
    stable (Remark 3.4).

    Returns
    -------
    Fraction or float, between max(rates) and ``optimum_upper_bound(rates)``
    """
    rho = total_odds(rates)
    return rho / (1 + rho)


def normalized_odds(rates):
    """Routing probabilities ``pi_j = rho_j / rho`` (Theorem 3.3).

    The best router that draws servers independently with fixed probabilities (ours), and the one on
    which no-regret learners with slowly moving probabilities settle.

    Returns
    -------
    tuple of Fraction, or ndarray, length m
    """
    shares = odds(rates)
    total = sum(shares)
    return _like(shares, (share / total for share in shares))


def availability(rate, age):
    """Probability that a server tried ``age`` steps ago is free: ``1 - (1 - rate)**age`` (2.2).

    Parameters
    ----------
    rate : number
        Service rate, in (0, 1).
    age : int or math.inf
        Steps since the last attempt, at least 1; infinite for a server never tried.

    Returns
    -------
    Fraction or float
        Exact if ``rate`` is; exactly 1 at infinite age.

    Raises
    ------
    ValueError
        If ``rate`` or ``age`` is out of range.
    """
    rate = as_open_unit("rate", rate)
    if age == math.inf:
        return rate / rate
    return 1 - (1 - rate) ** positive_integer("age", age)


def gap_hindsight(rate, gap):
    """Pay of pulling an arm at each step of a gap: ``gap - availability / odds``.

    Closed form of ``sum(1 - (1 - rate)**s for s in 1..gap)`` (proof of Theorem 3.1, reconstructed).
    """
    return gap - availability(rate, gap) / total_odds([rate])


def memoryless_availability(rates, p):
    """Probability ``rho_j / (rho_j + p_j)`` that server j is free under the i.i.d. router p.

    Parameters
    ----------
    rates, p : sequences of length m
        Service rates in (0, 1); routing probabilities, nonnegative with sum 1.

    Returns
    -------
    tuple of Fraction, or ndarray, length m

    Notes
    -----
    Proof of Theorem 3.3 (reconstructed): the age of a server drawn with probability p is geometric.
    """
    shares = odds(rates)
    p = as_distribution(p, len(shares))
    exact = isinstance(shares, tuple) and isinstance(p, tuple)
    free = (share / (share + x) for share, x in zip(shares, p, strict=True))
    return tuple(free) if exact else np.array(list(free), dtype=float)


def memoryless_utility(rates, p):
    """Long-run utility ``sum p_j rho_j / (rho_j + p_j)`` of the i.i.d. router p (Theorem 3.3)."""
    free = memoryless_availability(rates, p)
    return plain(sum(x * y for x, y in zip(as_distribution(p, len(free)), free, strict=True)))


def optimum_upper_bound(rates):
    """Upper bound ``1 - prod(1 - mu_j)`` on the utility of every schedule (Lemma 3.6)."""
    return plain(1 - math.prod(1 - rate for rate in as_rates(rates)))


def optimum_upper_bound_exponential(rates):
    """Weaker upper bound ``1 - exp(-rho)`` on the utility of a schedule (Lemma 3.6); a float."""
    return -math.expm1(-float(total_odds(rates)))


def price_of_learning(rates):
    """Upper bound ``(1 - prod(1 - mu_j)) / h`` on the optimum over what learning guarantees.

    At most 1.29842560752..., the supremum over all numbers of arms (Theorem 3.8, corrected).
    """
    return optimum_upper_bound(rates) / hamacher_sum(rates)


def relaxed_pull_frequencies(rates):
    """Frequencies ``ln(1 - mu_j) / sum ln(1 - mu_k)`` that attain the bound of Lemma 3.6.

    They would be optimal if every server could be tried at equal distances; often it cannot.

    Returns
    -------
    ndarray of float64, length m
    """
    decay = np.log1p(-np.array([float(rate) for rate in as_rates(rates)]))
    return decay / decay.sum()


def round_robin_utility(rates):
    """Utility of trying the servers in turn: the mean of ``1 - (1 - mu_j)**m``.

    Optimal for identical servers (section 3.2); can fall below the Hamacher sum otherwise (ours).
    """
    rates = as_rates(rates)
    arms = len(rates)
    return plain(sum(1 - (1 - rate) ** arms for rate in rates) / arms)


def competitive_ratio(total_odds):
    """Guaranteed over optimal utility in the worst case at given total odds (Theorem 3.8).

    ``r / ((1 + r)(1 - exp(-r)))`` at ``r = total_odds > 0``; a float.
    """
    r = float(as_positive("total_odds", total_odds))
    return r / ((1 + r) * -math.expm1(-r))


def competitive_ratio_arms(total_odds, arms):
    """Guaranteed over optimal utility of ``arms`` identical servers with given total odds (ours).

    ``(r / (1 + r)) / (1 - (1 + r / m)**-m)``, exact for exact input; no instance with m servers and
    the same total odds does worse.
    """
    r = as_positive("total_odds", total_odds)
    arms = positive_integer("arms", arms)
    if isinstance(r, Fraction):
        return r / (1 + r) / (1 - (1 + r / arms) ** -arms)
    return r / (1 + r) / -math.expm1(-arms * math.log1p(r / arms))


def least_competitive_ratio(arms=None):
    """Worst case over the total odds of the competitive ratio, and where it is taken.

    Parameters
    ----------
    arms : int, optional
        Number of servers, at least 2; None for the infimum over all numbers.

    Returns
    -------
    ratio, total_odds : float
        0.7701634920..., 1.7932821329... for ``arms=None`` (Theorem 3.8); 8/9, 2 for two servers
        (ours).

    Raises
    ------
    ValueError
        If ``arms`` is below 2: a single server has ratio 1 at every total odds.
    """
    if arms is None:
        # The derivative of the logarithm vanishes where exp(r) = 1 + r + r**2.
        root = brentq(lambda r: math.expm1(r) - r - r * r, 1.0, 3.0, xtol=1e-15)
        return competitive_ratio(root), root
    arms = positive_integer("arms", arms)
    if arms < 2:
        raise ValueError(f"arms = {arms}; permitted: integers 2, 3, ...")
    found = minimize_scalar(
        lambda r: competitive_ratio_arms(float(r), arms),
        bounds=(0.5, 4.0),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(found.fun), float(found.x)


def relaxation_time(rates, learning_rate):
    """Steps ``1 / (eta h (1 - h))`` in which EXP3 forgets a deviation (ours).

    Parameters
    ----------
    rates : sequence of length m
    learning_rate : float
        EXP3's eta, positive: weights are multiplied by ``exp(eta * reward / probability)``.
    """
    h = hamacher_sum(rates)
    return 1 / (as_positive("learning_rate", learning_rate) * h * (1 - h))


def stationary_utility_loss(rates, learning_rate):
    """Utility ``(eta / 2)(m - 1) h**2`` that EXP3's fluctuations cost in the long run (ours).

    First order in eta: what is lost beside the Hamacher sum once the probabilities have settled.
    """
    h = hamacher_sum(rates)
    return as_positive("learning_rate", learning_rate) * (len(as_rates(rates)) - 1) * h * h / 2


def missing_odds(arrival_rate, rates):
    """Odds ``lambda / (1 - lambda) - rho`` still missing for the guarantee (from Remark 3.4).

    Odds add up over servers: an extra server of rate mu supplies ``mu / (1 - mu)``. The system is
    stable for every windowed no-regret learner if and only if the result is negative.

    Returns
    -------
    Fraction or float; negative if there is room to spare
    """
    arrival_rate = as_open_unit("arrival_rate", arrival_rate)
    return arrival_rate / (1 - arrival_rate) - total_odds(rates)


def servers_needed(arrival_rate, server_rate, rates=()):
    """Smallest number of extra servers of one rate that gives the guarantee (from Remark 3.4).

    Parameters
    ----------
    arrival_rate, server_rate : number in (0, 1)
        Give them exactly where the boundary matters: at exactly zero missing odds the queue is not
        stable, and rounding decides on which side a float falls.
    rates : sequence
        Rates of the servers that are there already; may be empty.

    Returns
    -------
    int
    """
    arrival_rate = as_open_unit("arrival_rate", arrival_rate)
    present = total_odds(rates) if len(rates) else 0
    missing = arrival_rate / (1 - arrival_rate) - present
    if missing < 0:
        return 0
    return math.floor(missing / total_odds([server_rate])) + 1


def effective_margin(arrival_rate, rates, learning_rate):
    """Margin ``h - lambda`` less the loss to EXP3's fluctuations (ours, first order in eta)."""
    margin = hamacher_sum(rates) - as_open_unit("arrival_rate", arrival_rate)
    return margin - stationary_utility_loss(rates, learning_rate)


def largest_learning_rate(arrival_rate, rates):
    """Learning rate at which fluctuations use up the margin: ``2 (h - l) / ((m - 1) h**2)`` (ours).

    Returns
    -------
    Fraction or float
        Infinite for a single server; at most 0 if there is no margin.
    """
    rates = as_rates(rates)
    h = hamacher_sum(rates)
    margin = h - as_open_unit("arrival_rate", arrival_rate)
    if len(rates) == 1:
        return math.inf if margin > 0 else margin
    return 2 * margin / ((len(rates) - 1) * h * h)


def heavy_traffic_constant(rates):
    """Limit kappa of ``(h - arrival_rate) * E[Q]`` under normalized odds, as the rate nears h (ours).

    ``h (1-h) - h**2 / 2 * sum_{i != j} pi_i pi_j P_ij``, with ``P_ij`` the probability that the buffers
    of i and j are both full when the router is backlogged.

    Parameters
    ----------
    rates : sequence of length m

    Returns
    -------
    Fraction or float

    Notes
    -----
    Derived in the chapter "A queue in front". Cost: m**2 terms, where the chain of all patterns of
    full buffers has 2**m states.
    """
    rates = as_rates(rates)
    h, share = hamacher_sum(rates), normalized_odds(rates)
    together = 0
    for i in range(len(rates)):
        for j in range(i):
            chosen = share[i] + share[j]
            both_stay = (1 - rates[i]) * (1 - rates[j])
            both_full = both_stay * chosen * (1 - h) / (1 - both_stay * (1 - chosen))
            together += share[i] * share[j] * both_full
    return h * (1 - h) - h**2 * together


def bufferless_mean_queue(arrival_rate, service_rate, epoch="end"):
    """Mean queue at a single server that needs no buffer (section 5.3 and its correction).

    Parameters
    ----------
    arrival_rate, service_rate : number in (0, 1)
    epoch : {"end", "arrival"}
        "end": at the end of a step (arrive, send, accept, serve), ``l(1 - mu)/(mu - l)``;
        "arrival": just after the arrival, ``l(1 - l)/(mu - l)``. They differ by exactly l.

    Raises
    ------
    ValueError
        If ``arrival_rate >= service_rate`` or ``epoch`` is unknown.
    """
    arrival_rate = as_open_unit("arrival_rate", arrival_rate)
    service_rate = as_open_unit("service_rate", service_rate)
    if arrival_rate >= service_rate:
        raise ValueError(
            f"arrival_rate = {arrival_rate}; permitted: below service_rate = {service_rate}"
        )
    choice("epoch", epoch, ("end", "arrival"))
    stays = 1 - (service_rate if epoch == "end" else arrival_rate)
    return arrival_rate * stays / (service_rate - arrival_rate)


@dataclass(frozen=True)
class Capacity:
    """What the single-queue theorems say about one system; see `capacity`.

    Attributes
    ----------
    arrival_rate : number
    service_rates, odds : tuple or ndarray, length m
    guaranteed_rate : number
        Hamacher sum: every smaller arrival rate is stable for every windowed no-regret learner.
    ceiling : number
        ``1 - prod(1 - mu_j)``: no router that cannot see the buffers accepts more (Lemma 3.6).
    bufferless_rate : number
        ``max(mu_j)``: what a single server does, and all that UCB1 can be relied on to reach.
    verdict : str
        "stable if regret is small on every window", "not guaranteed" or "above the ceiling".
    margin : number
        ``guaranteed_rate - arrival_rate``.
    missing_odds : number
        See `missing_odds`.
    servers_needed : int or None
        Extra servers of rate ``new_server_rate`` for the guarantee.
    kappa : number
        Heavy-traffic constant: ``margin * E[Q]`` tends to it for the settled router.
    expected_queue : float or None
        Exact E[Q] at the end of a step for the normalized odds; None if there is no margin or there
        are too many servers to solve the chain.
    largest_learning_rate : number
        See `largest_learning_rate`.
    effective_margin : number or None
        See `effective_margin`; None without a learning rate.
    learning_expected_queue : float or None
        E[Q] with the effective margin in place of the margin; None without a learning rate or if
        the effective margin is not positive.
    relaxation_time : number or None
        Steps in which EXP3 settles; None without a learning rate.
    """

    arrival_rate: Fraction | float
    service_rates: Sequence
    odds: Sequence
    guaranteed_rate: Fraction | float
    ceiling: Fraction | float
    bufferless_rate: Fraction | float
    verdict: str
    margin: Fraction | float
    missing_odds: Fraction | float
    servers_needed: int | None
    kappa: Fraction | float
    expected_queue: float | None
    largest_learning_rate: Fraction | float
    effective_margin: Fraction | float | None
    learning_expected_queue: float | None
    relaxation_time: Fraction | float | None


# A chain on 2**8 busy patterns is solved in well under a second; each further server doubles it.
_MOST_SERVERS_SOLVED = 8


def capacity(arrival_rate, service_rates, learning_rate=None, new_server_rate=None):
    """Capacity calculator for one queue and m servers.

    Parameters
    ----------
    arrival_rate : number in (0, 1)
        Packets per step.
    service_rates : sequence of length m
        Service probabilities per step, in (0, 1).
    learning_rate : float, optional
        EXP3's eta; adds what its fluctuations cost.
    new_server_rate : number in (0, 1), optional
        Rate of the servers that could be added.

    Returns
    -------
    Capacity

    Raises
    ------
    ValueError
        If a rate is out of range.

    Notes
    -----
    Theorem 3.1, Remark 3.4, Lemma 3.6; queue lengths and learning corrections are ours. Cost: the
    stationary law on 2**m busy patterns, up to 8 servers (a second); beyond that it is left out.
    """
    from simlib.recharge import stationary  # which needs the closed forms above

    arrival_rate = as_open_unit("arrival_rate", arrival_rate)
    service_rates = as_rates(service_rates, "service_rates")
    h, ceiling = hamacher_sum(service_rates), optimum_upper_bound(service_rates)
    margin = h - arrival_rate
    if margin > 0:
        verdict = "stable if regret is small on every window"
    else:
        verdict = "above the ceiling" if arrival_rate > ceiling else "not guaranteed"
    solvable = len(service_rates) <= _MOST_SERVERS_SOLVED

    def mean_queue(gap):
        if gap is None or gap <= 0 or not solvable:
            return None
        return stationary.stationary_queue(float(h - gap), service_rates).mean

    effective = relaxation = None
    if learning_rate is not None:
        effective = effective_margin(arrival_rate, service_rates, learning_rate)
        relaxation = relaxation_time(service_rates, learning_rate)
    return Capacity(
        arrival_rate=arrival_rate,
        service_rates=service_rates,
        odds=odds(service_rates),
        guaranteed_rate=h,
        ceiling=ceiling,
        bufferless_rate=plain(max(service_rates)),
        verdict=verdict,
        margin=margin,
        missing_odds=missing_odds(arrival_rate, service_rates),
        servers_needed=None
        if new_server_rate is None
        else servers_needed(arrival_rate, new_server_rate, service_rates),
        kappa=heavy_traffic_constant(service_rates),
        expected_queue=mean_queue(margin),
        largest_learning_rate=largest_learning_rate(arrival_rate, service_rates),
        effective_margin=effective,
        learning_expected_queue=mean_queue(effective),
        relaxation_time=relaxation,
    )


def identical(arms, total_odds):
    """Rates of ``arms`` identical servers with given total odds: ``rho / (m + rho)`` each.

    Returns
    -------
    tuple of Fraction, or ndarray, length ``arms``
    """
    arms = positive_integer("arms", arms)
    rho = as_positive("total_odds", total_odds)
    return as_rates([rho / (arms + rho)] * arms)


#: Named instances as exact rates. I3 and I7 are those of the source's section 5; with I7 left out
#: these are the eleven whose optimum is certified in `simlib.recharge.optimum`.
INSTANCES = {
    name: as_rates(rates.split())
    for name, rates in {
        "I3": "1/2 1/10 3/10",
        "I7": "1/2 33/100 33/100 33/100 1/4 1/4 1/10",
        "half, quarter": "1/2 1/4",
        "half, tenth": "1/2 1/10",
        "fast, slow": "9/10 1/20",
        "half, third, quarter": "1/2 1/3 1/4",
        "fifth, tenth, twentieth": "1/5 1/10 1/20",
        "fast, half, tenth": "9/10 1/2 1/10",
        "four arms": "2/5 3/10 1/5 1/10",
        "three of 3/10": "3/10 3/10 3/10",
        "three of 1/2": "1/2 1/2 1/2",
        "two of 1/2": "1/2 1/2",
    }.items()
}
