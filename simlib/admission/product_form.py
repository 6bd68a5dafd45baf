"""Flow-equivalent rates and stationary laws of product-form networks under sum-policies.

Everything is generic: Fractions in, Fractions out; floats in, floats out.

Sources: Buzen's convolution and exact mean value analysis are classical; the law under an arbitrary
sum-policy is Section 2.1 of Anselmi, Gaujal and Rebuffi (arXiv 2308.02391), with the proof of the
theory document (``admission.norton_sum_policy``).
"""

import math

import numpy as np

from simlib.admission.network import Network, as_acceptance, as_sequence
from simlib.arguments import non_negative_integer, positive_integer
from simlib.arithmetic import as_positive

__all__ = [
    "compositions",
    "flow_equivalent_rates",
    "mean_value_analysis",
    "normalizing_constants",
    "product_law",
    "total_law",
]


def compositions(stations: int, total: int):
    """All tuples of ``stations`` integers from 0 with a given sum, in lexicographic order.

    Parameters
    ----------
    stations : int
        N, at least 1.
    total : int
        The sum, from 0.

    Returns
    -------
    iterator of tuple of int

    Raises
    ------
    ValueError
        If an argument is out of range, at the call.
    """
    return _compositions(
        positive_integer("stations", stations), non_negative_integer("total", total)
    )


def _compositions(stations, total):
    if stations == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(stations - 1, total - first):
            yield (first, *rest)


def _station_weights(network: Network, station: int, limit: int, scale=1) -> list:
    """Weights prod_{k<=x} scale v_i/mu_i(k) of x = 0, ..., limit jobs at one station."""
    visits = network.visits[station] * scale
    weights = [visits * 0 + 1]
    for jobs in range(1, limit + 1):
        weights.append(weights[-1] * visits / network.station_rate(station, jobs))
    return weights


def _convolution(network: Network, limit: int, scale=1) -> list:
    constants = [scale * network.arrival_rate * 0 + 1] + [network.arrival_rate * 0] * limit
    for station in range(network.stations):
        if network.servers[station] == 1:
            demand = scale * network.visits[station] / network.rates[station]
            for total in range(1, limit + 1):
                constants[total] += demand * constants[total - 1]
            continue
        weights = _station_weights(network, station, limit, scale)
        constants = [
            sum(weights[jobs] * constants[total - jobs] for jobs in range(total + 1))
            for total in range(limit + 1)
        ]
    return constants


def _log_convolution(network: Network, limit: int, scale: float) -> np.ndarray:
    """Logarithms of the constants of `_convolution`, in floats."""
    constants = np.full(limit + 1, -math.inf)
    constants[0] = 0.0
    jobs = np.arange(1, limit + 1)
    for visits, rate, servers in zip(network.visits, network.rates, network.servers, strict=True):
        if visits == 0:
            continue
        steps = math.log(scale * visits / rate) - np.log(np.minimum(jobs, servers))
        weights = np.concatenate([[0.0], np.cumsum(steps)])
        constants = np.array(
            [np.logaddexp.reduce(weights[: s + 1] + constants[s::-1]) for s in range(limit + 1)]
        )
    return constants


def normalizing_constants(network: Network, limit: int) -> list:
    """Constants G(0), ..., G(S) of the closed network, by Buzen's convolution.

    ``G(s)`` is the sum over all states with s jobs of ``prod_i prod_{k<=x_i} v_i / mu_i(k)``.

    Parameters
    ----------
    network : Network
    limit : int
        S, at least 1.

    Returns
    -------
    list of Fraction or float, length S + 1

    Notes
    -----
    Cost: N S additions and multiplications for single servers, N S^2 / 2 for others. Float constants
    can over- or underflow for hundreds of jobs; `flow_equivalent_rates` is scaled and does not.
    """
    return _convolution(network, positive_integer("limit", limit))


def flow_equivalent_rates(network: Network, limit: int) -> list:
    """Rates mu(1), ..., mu(S) at which jobs leave a network that holds s jobs: ``G(s-1) / G(s)``.

    Parameters
    ----------
    network : Network
    limit : int
        S, at least 1.

    Returns
    -------
    list of Fraction or float, length S
        Entry s - 1 is mu(s). By Norton's theorem also the rate of the short-circuited network.

    Notes
    -----
    Float constants are scaled. Where they are too large even so, which takes some 700 servers at one
    station, their logarithms are convolved, and the rates are right to about 1e-12. Cost: see
    `normalizing_constants`.
    """
    limit = positive_integer("limit", limit)
    scale = 1
    if not network.exact:
        # Demands divided by the largest keep the constants of any number of jobs in range.
        scale = 1 / max(
            visits / (rate * min(servers, limit))
            for visits, rate, servers in zip(
                network.visits, network.rates, network.servers, strict=True
            )
        )
    constants = _convolution(network, limit, scale)
    if not network.exact and not all(map(math.isfinite, constants)):
        logs = _log_convolution(network, limit, scale)
        return (scale * np.exp(logs[:-1] - logs[1:])).tolist()
    return [scale * constants[s - 1] / constants[s] for s in range(1, limit + 1)]


def mean_value_analysis(network: Network, limit: int) -> list:
    """Throughputs X(1), ..., X(S) of the closed network by exact mean value analysis.

    Parameters
    ----------
    network : Network
        With single servers only.
    limit : int
        S, at least 1.

    Returns
    -------
    list of Fraction or float, length S
        Equal to `flow_equivalent_rates`, by a recursion that never forms the constants.

    Raises
    ------
    ValueError
        If a station has more than one server.
    """
    limit = positive_integer("limit", limit)
    for i, servers in enumerate(network.servers):
        if servers != 1:
            raise ValueError(f"servers[{i}] = {servers}; permitted: single servers only")
    demands = [v / rate for v, rate in zip(network.visits, network.rates, strict=True)]
    lengths = [demand * 0 for demand in demands]
    throughputs = []
    for jobs in range(1, limit + 1):
        # Arrival theorem: a job that arrives sees the network as it is with one job less.
        residence = [demand * (1 + length) for demand, length in zip(demands, lengths, strict=True)]
        throughput = jobs / sum(residence)
        lengths = [throughput * time for time in residence]
        throughputs.append(throughput)
    return throughputs


def product_law(network: Network, acceptance) -> dict:
    """Stationary law of the network under a sum-policy, in product form.

    Parameters
    ----------
    network : Network
    acceptance : sequence of S numbers in [0, 1]
        Probability of admitting an arrival that finds s jobs, s = 0, ..., S - 1.

    Returns
    -------
    dict of tuple of int to Fraction or float
        Probability of every state with at most S jobs, by number of jobs and then lexicographic.

    Notes
    -----
    ``nu(x) = prod_{k<|x|} lambda alpha(k) prod_i prod_{k<=x_i} v_i/mu_i(k) / Z``. Cost: one product of
    N factors a state.
    """
    acceptance = as_acceptance(acceptance)
    limit = len(acceptance)
    weights = [_station_weights(network, i, limit) for i in range(network.stations)]
    law, inflow = {}, network.arrival_rate * 0 + 1
    for total in range(limit + 1):
        for state in compositions(network.stations, total):
            weight = inflow
            for station, jobs in enumerate(state):
                weight *= weights[station][jobs]
            law[state] = weight
        if total < limit:
            inflow *= network.arrival_rate * acceptance[total]
    norm = sum(law.values())
    return {state: weight / norm for state, weight in law.items()}


def total_law(arrival_rate, rates, acceptance) -> list:
    """Stationary law of the birth-death chain of the number of jobs.

    Parameters
    ----------
    arrival_rate : number above 0
    rates : sequence of S numbers above 0
        Death rates mu(1), ..., mu(S), for instance `flow_equivalent_rates`.
    acceptance : sequence of S numbers in [0, 1]
        Probability of admitting an arrival that finds s jobs, s = 0, ..., S - 1.

    Returns
    -------
    list of Fraction or float, length S + 1
        ``nu(s)`` proportional to ``prod_{k<=s} lambda alpha(k-1)/mu(k)``.

    Raises
    ------
    ValueError
        If a rate is not positive, an acceptance is no probability, or lengths differ.
    """
    arrival_rate = as_positive("arrival_rate", arrival_rate)
    rates = [as_positive(f"rates[{s}]", r) for s, r in enumerate(as_sequence("rates", rates))]
    if not rates:
        raise ValueError("rates is empty; permitted: at least one rate")
    acceptance = as_acceptance(acceptance, len(rates))
    weights = [arrival_rate * 0 + 1]
    for rate, probability in zip(rates, acceptance, strict=True):
        weights.append(weights[-1] * arrival_rate * probability / rate)
        if isinstance(weights[-1], float) and weights[-1] > 1e200:
            weights = [weight * 1e-200 for weight in weights]
    norm = sum(weights)
    return [weight / norm for weight in weights]
