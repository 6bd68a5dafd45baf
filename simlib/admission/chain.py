"""The whole network as a Markov chain on the jobs at each station.

Nothing here uses the product form: laws come from linear solves of the balance equations, so that
the product form and Norton's theorem can be checked against them.

A *policy* is either a sequence ``alpha(0), ..., alpha(S-1)`` (a sum-policy: it sees the number of
jobs), or a function from the state (a tuple of N integers) to the probability of admitting an
arrival that finds this state. At S jobs every arrival is rejected.

Sources: Anselmi, Gaujal and Rebuffi, arXiv 2308.02391, Section 2; theory document, entries
``norton_sum_policy``, ``total_not_markov``, ``sum_policy_gap``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from simlib.admission.network import (
    Network,
    as_acceptance,
    as_cost,
    as_sequence,
    as_uniformization,
)
from simlib.admission.product_form import compositions, product_law
from simlib.arguments import non_negative_integer, positive_integer
from simlib.arithmetic import as_number, as_positive

__all__ = [
    "ExitRates",
    "InformedOptimum",
    "acceptance_given_total",
    "exit_rates",
    "hysteresis",
    "hysteresis_totals",
    "law_of_total",
    "optimal_informed",
    "states",
    "stationary_exact",
    "stationary_float",
    "total_variation",
    "transition_matrix",
]

# Beyond these sizes a dense rational or a sparse float solve would take minutes or the memory.
_LARGEST_EXACT = 1_500
_LARGEST_FLOAT = 300_000


def states(stations: int, limit: int) -> list:
    """All states with at most ``limit`` jobs, by number of jobs and then lexicographic.

    Parameters
    ----------
    stations, limit : int
        Numbers N and S, at least 1.

    Returns
    -------
    list of tuple of int, length binomial(S + N, N)
    """
    stations, limit = positive_integer("stations", stations), positive_integer("limit", limit)
    return [state for total in range(limit + 1) for state in compositions(stations, total)]


def _require_size(stations, limit, largest, factor=1):
    size = factor * math.comb(stations + limit, stations)
    if size > largest:
        raise ValueError(
            f"limit = {limit} with {stations} stations gives {size} states; permitted: up to {largest}"
        )


def _require_exact(network):
    if not network.exact:
        raise ValueError(
            "network has float rates; permitted: exact numbers, Fractions or strings such as '3/10'"
        )


def _rule(acceptance, limit):
    """A policy as a function of the state that returns a checked probability."""
    if not callable(acceptance):
        by_total = (*as_acceptance(acceptance, limit), 0)
        return lambda state: by_total[sum(state)]

    def rule(state):
        if sum(state) >= limit:
            return 0
        value = as_number(f"acceptance({state})", acceptance(state))
        if not 0 <= value <= 1:
            raise ValueError(f"acceptance({state}) = {value}; permitted: probabilities in [0, 1]")
        return value

    return rule


def _moved(state, source, target):
    """The state after a job moved from one station to another; None stands for the outside."""
    jobs = list(state)
    if source is not None:
        jobs[source] -= 1
    if target is not None:
        jobs[target] += 1
    return tuple(jobs)


def _arrivals(network, state):
    """Yield (next state, rate) of the arrivals at a state if all are admitted."""
    for station, share in enumerate(network.external):
        if share:
            yield _moved(state, None, station), network.arrival_rate * share


def _services(network, state):
    """Yield (next state, rate) of the completions of service at a state."""
    for source, jobs in enumerate(state):
        if not jobs:
            continue
        rate = network.station_rate(source, jobs)
        for target, probability in enumerate(network.routing[source]):
            if probability and target != source:
                yield _moved(state, source, target), rate * probability
        if network.exit[source]:
            yield _moved(state, source, None), rate * network.exit[source]


def _transitions(network, limit, acceptance):
    """Yield (state, next state, rate) of all changes of state under a policy."""
    rule = _rule(acceptance, limit)
    for state in states(network.stations, limit):
        probability = rule(state)
        if probability:
            for following, rate in _arrivals(network, state):
                yield state, following, rate * probability
        for following, rate in _services(network, state):
            yield state, following, rate


def _solve_exact(rows, right):
    """Solve a rational system given as rows of {column: Fraction}; tuple of Fractions."""
    n = len(rows)
    left = flint.fmpq_mat(n, n)
    for i, row in enumerate(rows):
        for j, value in row.items():
            left[i, j] = flint.fmpq(value.numerator, value.denominator)
    column = flint.fmpq_mat(n, 1, [flint.fmpq(b.numerator, b.denominator) for b in right])
    return tuple(Fraction(int(x.p), int(x.q)) for x in left.solve(column).entries())


def _law_exact(points, transitions):
    """Stationary law of a chain with one recurrent class from its rational transition rates."""
    index = {point: i for i, point in enumerate(points)}
    rows = [{} for _ in points]
    for origin, target, rate in transitions:
        i, j = index[origin], index[target]
        rows[j][i] = rows[j].get(i, 0) + rate
        rows[i][i] = rows[i].get(i, 0) - rate
    # The first balance equation follows from the others; normalization takes its place.
    rows[0] = {i: Fraction(1) for i in range(len(points))}
    solution = _solve_exact(rows, [Fraction(int(i == 0)) for i in range(len(points))])
    return dict(zip(points, solution, strict=True))


def stationary_exact(network: Network, limit: int, acceptance) -> dict:
    """Stationary law of the whole network under a policy, by a rational linear solve.

    Parameters
    ----------
    network : Network
        With exact numbers.
    limit : int
        S, at least 1.
    acceptance : sequence of S numbers, or callable from states to numbers
        The policy, with exact probabilities.

    Returns
    -------
    dict of tuple of int to Fraction
        Probability of every state with at most S jobs, in the order of `states`.

    Raises
    ------
    ValueError
        If the network or the policy is not exact, or there are more than 1500 states.

    Notes
    -----
    Every policy leaves one recurrent class: all states lead to the empty one. Cost: a dense rational
    solve; 126 states take some tenths of a second.
    """
    limit = positive_integer("limit", limit)
    _require_exact(network)
    _require_size(network.stations, limit, _LARGEST_EXACT)
    moves = list(_transitions(network, limit, acceptance))
    for state, _, rate in moves:
        if not isinstance(rate, Fraction):
            raise ValueError(
                f"acceptance at {state} is a float; permitted: exact probabilities such as '1/2'"
            )
    return _law_exact(states(network.stations, limit), moves)


def stationary_float(network: Network, limit: int, acceptance) -> dict:
    """Stationary law of the whole network under a policy, by a sparse solve in floats.

    Parameters and keys as `stationary_exact`; values are floats and up to 300 000 states are solved.
    """
    limit = positive_integer("limit", limit)
    points, matrix = transition_matrix(network, limit, acceptance)
    n = len(points)
    balance = (matrix.T - sparse.identity(n)).tolil()
    balance[0, :] = 1.0
    right = np.zeros(n)
    right[0] = 1.0
    law = sparse_linalg.spsolve(balance.tocsc(), right)
    return dict(zip(points, law.tolist(), strict=True))


def transition_matrix(
    network: Network, limit: int, acceptance, uniformization=None, *, exact=False
):
    """Transition matrix of one uniformized step of the whole network under a policy.

    Parameters
    ----------
    network : Network
    limit : int
        S, at least 1.
    acceptance : sequence of S numbers, or callable from states to numbers
    uniformization : number, optional
        U, at least ``network.rate_bound(limit)``, which is the default; a step lasts 1/U.
    exact : bool
        Whether to return a matrix of Fractions.

    Returns
    -------
    states : list of tuple of int, length n
        In the order of `states`.
    matrix : scipy.sparse.csr_array of float, or ndarray of Fraction, shape (n, n)
        Rows sum to 1 (exactly if exact).

    Raises
    ------
    ValueError
        If U is too small, ``exact`` is asked of float numbers, or there are too many states.
    """
    limit = positive_integer("limit", limit)
    uniformization = as_uniformization(uniformization, network.rate_bound(limit))
    if exact:
        _require_exact(network)
        if not isinstance(uniformization, Fraction):
            raise ValueError(f"uniformization = {uniformization}; permitted: exact numbers")
    _require_size(network.stations, limit, _LARGEST_EXACT if exact else _LARGEST_FLOAT)
    if not exact:
        network = network.as_floats()
    points = states(network.stations, limit)
    index = {point: i for i, point in enumerate(points)}
    stay = [Fraction(1) if exact else 1.0] * len(points)
    entries = []
    for origin, target, rate in _transitions(network, limit, acceptance):
        probability = rate / uniformization
        if exact and not isinstance(probability, Fraction):
            raise ValueError(
                f"acceptance at {origin} is a float; permitted: exact probabilities such as '1/2'"
            )
        i = index[origin]
        entries.append((i, index[target], probability))
        stay[i] -= probability
    # Floats can leave a negative rest of the size of their rounding.
    entries += [(i, i, max(probability, probability * 0)) for i, probability in enumerate(stay)]
    if exact:
        matrix = np.full((len(points), len(points)), Fraction(0), dtype=object)
        for i, j, probability in entries:
            matrix[i, j] += probability
        return points, matrix
    rows, columns, values = zip(*entries, strict=True)
    shape = (len(points), len(points))
    values = np.array([float(value) for value in values])
    return points, sparse.coo_array((values, (rows, columns)), shape=shape).tocsr()


# What the number of jobs shows ----------------------------------------------------------------------


def law_of_total(law: dict) -> list:
    """Law of the number of jobs, from a law on states (tuples of jobs).

    Parameters
    ----------
    law : dict of tuple of int to number

    Returns
    -------
    list, length S + 1
        S is the largest number of jobs of a key.
    """
    sums = {}
    for state, probability in law.items():
        total = sum(state)
        sums[total] = sums.get(total, 0) + probability
    return [sums.get(total, 0) for total in range(max(sums) + 1)]


def acceptance_given_total(law: dict, acceptance) -> list:
    """Probability of admission given the number of jobs, under a policy that sees the state.

    Parameters
    ----------
    law : dict of tuple of int to number
        Stationary law under the policy.
    acceptance : callable from states to numbers in [0, 1]

    Returns
    -------
    list, length S
        ``P(admit | s)`` for s = 0, ..., S - 1; 0 where s has probability 0.
    """
    limit = max(map(sum, law))
    rule = _rule(acceptance, limit)
    admitted, totals = [0] * limit, law_of_total(law)
    for state, probability in law.items():
        if sum(state) < limit:
            admitted[sum(state)] += probability * rule(state)
    return [part / whole if whole else 0 for part, whole in zip(admitted, totals[:-1], strict=True)]


def total_variation(first, second):
    """Total variation distance of two laws, given as sequences or as dicts on the same keys.

    Raises
    ------
    ValueError
        If one is a dict and the other is not, or lengths or keys differ.
    """
    if isinstance(first, dict) != isinstance(second, dict):
        raise ValueError(
            f"second is a {type(second).__name__}, first a {type(first).__name__}; permitted: two "
            "sequences or two dicts"
        )
    if isinstance(first, dict):
        if first.keys() != second.keys():
            raise ValueError("second has other keys than first; permitted: laws on the same points")
        first, second = first.values(), [second[key] for key in first]
    first, second = as_sequence("first", first), as_sequence("second", second)
    if len(first) != len(second):
        raise ValueError(
            f"second has {len(second)} entries; permitted: as many as first, {len(first)}"
        )
    return sum(abs(p - q) for p, q in zip(first, second, strict=True)) / 2


@dataclass(frozen=True)
class ExitRates:
    """Mean rate of leaving the network at a number of jobs; see `exit_rates`.

    Attributes
    ----------
    given_total : tuple, length S
        Given s jobs, s = 1, ..., S, in stationarity.
    after_departure : tuple, length S - 1
        Just after a departure that leaves s jobs, s = 1, ..., S - 1.
    after_arrival : tuple, length S
        Just after an admitted arrival that makes s jobs, s = 1, ..., S.
    """

    given_total: tuple
    after_departure: tuple
    after_arrival: tuple


def exit_rates(network: Network, acceptance) -> ExitRates:
    """Mean exit rates at each number of jobs under a stationary sum-policy.

    By summation over the states of `product_law`; no flow-equivalent rate is used.

    Parameters
    ----------
    network : Network
    acceptance : sequence of S numbers in (0, 1]

    Returns
    -------
    ExitRates
        In the network's arithmetic.

    Raises
    ------
    ValueError
        If an acceptance probability is 0: larger numbers of jobs would not occur.
    """
    acceptance = as_acceptance(acceptance)
    if 0 in acceptance:
        raise ValueError(
            f"acceptance[{acceptance.index(0)}] = 0; permitted: probabilities above 0, or numbers of "
            "jobs above would not occur"
        )
    limit = len(acceptance)
    law = product_law(network, acceptance)

    def leaving(state):
        return sum(
            network.station_rate(i, jobs) * out
            for i, (jobs, out) in enumerate(zip(state, network.exit, strict=True))
        )

    weights = {kind: [0] * (limit + 1) for kind in ("given", "down", "up")}
    means = {kind: [0] * (limit + 1) for kind in weights}

    def count(kind, state, weight):
        weights[kind][sum(state)] += weight
        means[kind][sum(state)] += weight * leaving(state)

    for state, probability in law.items():
        total = sum(state)
        count("given", state, probability)
        if total < limit:
            for following, rate in _arrivals(network, state):
                count("up", following, probability * rate * acceptance[total])
        for i, jobs in enumerate(state):
            if jobs and network.exit[i]:
                following = _moved(state, i, None)
                count(
                    "down", following, probability * network.station_rate(i, jobs) * network.exit[i]
                )

    def ratios(kind, last):
        return tuple(means[kind][s] / weights[kind][s] for s in range(1, last + 1))

    return ExitRates(ratios("given", limit), ratios("down", limit - 1), ratios("up", limit))


# Policies with memory -------------------------------------------------------------------------------


def _thresholds(stop, resume):
    stop, resume = positive_integer("stop", stop), non_negative_integer("resume", resume)
    if resume >= stop:
        raise ValueError(f"resume = {resume}; permitted: below stop = {stop}")
    return stop, resume


def hysteresis(network: Network, stop: int, resume: int) -> dict:
    """Stationary law under a policy with memory: stop admitting at a level, resume at a lower one.

    Parameters
    ----------
    network : Network
        With exact numbers.
    stop : int
        Admission stops when the number of jobs reaches this, at least 1.
    resume : int
        Admission resumes when the number falls to this, from 0 to ``stop - 1``.

    Returns
    -------
    dict of (tuple of int, bool) to Fraction
        Probability of each state and mode (True: admitting) that can occur.

    Raises
    ------
    ValueError
        If the levels are out of order, the network is not exact, or there are too many states.
    """
    stop, resume = _thresholds(stop, resume)
    _require_exact(network)
    _require_size(network.stations, stop, _LARGEST_EXACT, factor=2)

    def moves():
        for state, open_ in points:
            if open_:
                for following, rate in _arrivals(network, state):
                    yield (state, True), (following, sum(following) < stop), rate
            for following, rate in _services(network, state):
                yield (state, open_), (following, open_ or sum(following) <= resume), rate

    points = [
        (state, open_)
        for state in states(network.stations, stop)
        for open_ in (True, False)
        if (sum(state) < stop if open_ else sum(state) > resume)
    ]
    return _law_exact(points, moves())


def hysteresis_totals(arrival_rate, rates, stop: int, resume: int) -> dict:
    """Law of (number of jobs, mode) if the number of jobs were a birth-death process.

    Parameters
    ----------
    arrival_rate : exact number above 0
    rates : sequence of at least ``stop`` exact numbers above 0
        Death rates mu(1), mu(2), ....
    stop, resume : int
        As in `hysteresis`.

    Returns
    -------
    dict of (int, bool) to Fraction

    Raises
    ------
    ValueError
        If the levels are out of order, there are too few rates, or a number is a float.
    """
    stop, resume = _thresholds(stop, resume)
    arrival_rate = as_positive("arrival_rate", arrival_rate)
    rates = [as_positive(f"rates[{s}]", r) for s, r in enumerate(as_sequence("rates", rates))]
    if len(rates) < stop:
        raise ValueError(f"rates has {len(rates)} entries; permitted: at least stop = {stop}")
    if not all(isinstance(number, Fraction) for number in (arrival_rate, *rates)):
        raise ValueError(
            "arrival_rate or rates has floats; permitted: exact numbers such as '3/10'"
        )
    points = [(s, True) for s in range(stop)] + [(s, False) for s in range(resume + 1, stop + 1)]

    def moves():
        for total, open_ in points:
            if open_:
                yield (total, True), (total + 1, total + 1 < stop), arrival_rate
            if total:
                yield (total, open_), (total - 1, open_ or total - 1 <= resume), rates[total - 1]

    return _law_exact(points, moves())


# The best policy that sees the state ----------------------------------------------------------------


@dataclass(frozen=True)
class InformedOptimum:
    """A best policy of one who sees the whole state; see `optimal_informed`.

    Attributes
    ----------
    cost : Fraction
        Least mean cost per unit time.
    policy : dict of tuple of int to bool
        Whether to admit, for every state with fewer than S jobs.
    bias : dict of tuple of int to Fraction
        Relative cost of starting in each state, 0 at the empty one.
    ties : tuple of tuple of int
        States in which both decisions are optimal.
    """

    cost: Fraction
    policy: dict
    bias: dict
    ties: tuple


def optimal_informed(
    network: Network, limit: int, *, rejection_cost, holding_cost
) -> InformedOptimum:
    """Least mean cost over all policies that see the jobs at each station, by exact policy iteration.

    Parameters
    ----------
    network : Network
        With exact numbers.
    limit : int
        S, at least 1.
    rejection_cost, holding_cost : exact numbers from 0
        Cost of a rejected job, and of a job in the network for a unit of time.

    Returns
    -------
    InformedOptimum
        The policy and its bias solve the optimality equation exactly, which proves that no policy
        (randomised or with memory) costs less.

    Raises
    ------
    ValueError
        If a number is out of range or a float, or there are too many states.

    Notes
    -----
    Policy iteration in floats finds a candidate; rational iterations start from it and end when no
    decision can be improved, usually after one. Cost: a rational solve of all states, 0.1 s for 84.
    """
    limit = positive_integer("limit", limit)
    _require_exact(network)
    _require_size(network.stations, limit, _LARGEST_EXACT)
    rejection_cost = as_cost("rejection_cost", rejection_cost)
    holding_cost = as_cost("holding_cost", holding_cost)
    for name, value in (("rejection_cost", rejection_cost), ("holding_cost", holding_cost)):
        if not isinstance(value, Fraction):
            raise ValueError(f"{name} = {value}; permitted: exact numbers such as '5/2'")
    points = states(network.stations, limit)
    index = {point: i for i, point in enumerate(points)}
    arrivals = [
        [(index[to], rate) for to, rate in _arrivals(network, x)] if sum(x) < limit else []
        for x in points
    ]
    services = [[(index[to], rate) for to, rate in _services(network, x)] for x in points]

    def equations(policy):
        # Unknowns: the mean cost (in place of the bias of the empty state, which is 0), the biases.
        rows, right = [], []
        for i, x in enumerate(points):
            row = {0: Fraction(1)}
            for j, rate in (arrivals[i] if policy[i] else []) + services[i]:
                for column, sign in ((i, 1), (j, -1)):
                    if column:
                        row[column] = row.get(column, 0) + sign * rate
            rows.append(row)
            rejected = 0 if policy[i] else network.arrival_rate * rejection_cost
            right.append(holding_cost * sum(x) + rejected)
        return rows, right

    def gains(bias):
        # What admitting saves against rejecting, as a rate; None at the limit.
        return [
            sum(rate * (rejection_cost - bias[j] + bias[i]) for j, rate in moves) if moves else None
            for i, moves in enumerate(arrivals)
        ]

    def improved(policy, bias, slack):
        return [
            gain is not None and (admits if abs(gain) <= slack else gain > 0)
            for admits, gain in zip(policy, gains(bias), strict=True)
        ]

    policy = [bool(moves) for moves in arrivals]
    for slack, solve in ((1e-9, _solve_float), (0, _solve_exact)):
        seen = set()
        # Exact iterations never return to a policy; floats may, by rounding, and then stop.
        while tuple(policy) not in seen:
            seen.add(tuple(policy))
            solution = solve(*equations(policy))
            bias = (solution[0] * 0, *solution[1:])
            better = improved(policy, bias, slack)
            if better == policy:
                break
            policy = better
    return InformedOptimum(
        solution[0],
        {x: admits for x, admits in zip(points, policy, strict=True) if sum(x) < limit},
        dict(zip(points, bias, strict=True)),
        tuple(x for x, gain in zip(points, gains(bias), strict=True) if gain == 0),
    )


def _solve_float(rows, right):
    n = len(rows)
    matrix = np.zeros((n, n))
    for i, row in enumerate(rows):
        for j, value in row.items():
            matrix[i, j] = float(value)
    return tuple(np.linalg.solve(matrix, np.array([float(b) for b in right])).tolist())
