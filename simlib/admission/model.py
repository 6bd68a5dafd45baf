"""The admission problem of the number of jobs alone: a birth-death Markov decision process.

Everything is generic: Fractions in, Fractions out; floats in, floats out. Costs are per unit time;
one uniformized step lasts ``1/U`` of it, and rewards are per step.

Conventions. At the limit S every arrival is rejected and pays. With ``c(s) = g_h s + lambda R
(1 - alpha(s))`` and its stationary mean ``cbar``, the gain is ``r_max - cbar / U`` where ``r_max =
(lambda R + g_h S) / U``. Increments d(s) belong to the *cost* bias, ``d(s) = h(s) - h(s-1)``.

Sources: Anselmi, Gaujal and Rebuffi, arXiv 2308.02391, Sections 2 and 5 (rewards, C1, C2); the
increments, the threshold costs and Lemma 4 are the theory document's (``threshold_gain``,
``diameter``, ``bias_increment``, ``increment_bounds``, ``threshold_concave``).
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import flint

from simlib.admission.network import Network, as_acceptance, as_cost, as_uniformization
from simlib.admission.product_form import flow_equivalent_rates, total_law
from simlib.arguments import non_negative_integer, positive_integer
from simlib.arithmetic import as_positive

__all__ = [
    "AdmissionModel",
    "BellmanSolution",
    "Diameter",
    "DominantConstants",
    "bellman",
    "c1_c2",
    "delta_bound",
    "diameter",
    "diameter_brute",
    "gain",
    "increments",
    "law",
    "mean_cost",
    "model_of",
    "optimal_threshold",
    "phi",
    "policies",
    "scan_threshold",
    "threshold",
    "threshold_costs",
]

_LARGEST_BRUTE = 12


@dataclass(frozen=True)
class AdmissionModel:
    """Birth-death admission problem with limit S = ``len(rates)``.

    Parameters
    ----------
    arrival_rate : number above 0
        lambda.
    rates : sequence of S >= 1 numbers above 0
        Death rates mu(1), ..., mu(S).
    rejection_cost : number from 0
        R, the cost of each rejected job.
    holding_cost : number from 0
        g_h, the cost of one job in the system for a unit of time.
    uniformization : number, optional
        U, at least ``lambda + max mu``, which is the default.

    Attributes
    ----------
    arrival_rate, rates, rejection_cost, holding_cost, uniformization
        As given; all Fractions if every number is exact, all floats otherwise.

    Raises
    ------
    ValueError
        If there is no rate, a number is out of range or not finite, or U is too small.
    """

    arrival_rate: Fraction | float
    rates: tuple
    rejection_cost: Fraction | float
    holding_cost: Fraction | float
    uniformization: Fraction | float | None = None

    def __post_init__(self):
        if isinstance(self.rates, str | bytes) or not hasattr(self.rates, "__iter__"):
            raise ValueError(f"rates = {self.rates!r}; permitted: a sequence of numbers above 0")
        rates = [as_positive(f"rates[{s}]", rate) for s, rate in enumerate(self.rates)]
        if not rates:
            raise ValueError("rates is empty, the limit S is 0; permitted: S from 1")
        arrival_rate = as_positive("arrival_rate", self.arrival_rate)
        costs = {
            name: as_cost(name, getattr(self, name)) for name in ("rejection_cost", "holding_cost")
        }
        uniformization = as_uniformization(self.uniformization, arrival_rate + max(rates))
        numbers = [arrival_rate, *rates, *costs.values(), uniformization]
        kind = Fraction if all(isinstance(number, Fraction) for number in numbers) else float
        object.__setattr__(self, "arrival_rate", kind(arrival_rate))
        object.__setattr__(self, "rates", tuple(map(kind, rates)))
        object.__setattr__(self, "uniformization", kind(uniformization))
        for name, cost in costs.items():
            object.__setattr__(self, name, kind(cost))

    @property
    def limit(self) -> int:
        """Largest number of jobs S."""
        return len(self.rates)

    @property
    def exact(self) -> bool:
        """Whether the numbers are Fractions."""
        return isinstance(self.arrival_rate, Fraction)

    @property
    def max_reward(self):
        """Largest reward of a step, ``(lambda R + g_h S) / U``."""
        worst = self.arrival_rate * self.rejection_cost + self.holding_cost * self.limit
        return worst / self.uniformization

    @property
    def death_probabilities(self) -> tuple:
        """Probabilities p(s) = mu(s)/U of a departure in one step, s = 1, ..., S."""
        return tuple(rate / self.uniformization for rate in self.rates)

    @property
    def concave(self) -> bool:
        """Whether 0, mu(1), ..., mu(S) is nondecreasing and concave."""
        steps = [b - a for a, b in itertools.pairwise((0, *self.rates))]
        return steps[-1] >= 0 and all(a >= b for a, b in itertools.pairwise(steps))

    def costs(self, acceptance) -> tuple:
        """Cost per unit time ``g_h s + lambda R (1 - alpha(s))`` at s = 0, ..., S under a policy."""
        alphas = (*as_acceptance(acceptance, self.limit), 0)
        return tuple(
            self.holding_cost * s + self.arrival_rate * self.rejection_cost * (1 - alpha)
            for s, alpha in enumerate(alphas)
        )

    def as_floats(self) -> "AdmissionModel":
        """The same model with all numbers as floats."""
        return AdmissionModel(
            float(self.arrival_rate),
            tuple(map(float, self.rates)),
            float(self.rejection_cost),
            float(self.holding_cost),
            float(self.uniformization),
        )


def model_of(
    network: Network, limit: int, *, rejection_cost, holding_cost, uniformization=None
) -> AdmissionModel:
    """The admission problem of a network's number of jobs, with its flow-equivalent rates.

    Parameters
    ----------
    network : Network
    limit : int
        S, at least 1.
    rejection_cost, holding_cost : numbers from 0
    uniformization : number, optional
        U, at least ``network.rate_bound(limit)``, which is the default: the constant of the whole
        network, so that a step means the same in both.

    Raises
    ------
    ValueError
        If a number is out of range.
    """
    limit = positive_integer("limit", limit)
    uniformization = as_uniformization(uniformization, network.rate_bound(limit))
    rates = flow_equivalent_rates(network, limit)
    return AdmissionModel(network.arrival_rate, rates, rejection_cost, holding_cost, uniformization)


def threshold(theta: int, limit: int) -> tuple:
    """The policy that admits if and only if there are fewer than ``theta`` jobs.

    Parameters
    ----------
    theta : int
        From 0 (reject always) to ``limit`` (admit whenever possible).
    limit : int
        S, at least 1.

    Returns
    -------
    tuple of int, length S
        1 where it admits.
    """
    limit, theta = positive_integer("limit", limit), non_negative_integer("theta", theta)
    if theta > limit:
        raise ValueError(f"theta = {theta}; permitted: integers from 0 to {limit}")
    return (1,) * theta + (0,) * (limit - theta)


def policies(limit: int):
    """Iterate over all ``2^S`` deterministic policies, as tuples of 0 and 1 of length S."""
    return itertools.product((0, 1), repeat=positive_integer("limit", limit))


# One policy -----------------------------------------------------------------------------------------


def law(model: AdmissionModel, acceptance) -> list:
    """Stationary law of the number of jobs under a policy, length S + 1; see `total_law`."""
    return total_law(model.arrival_rate, model.rates, acceptance)


def mean_cost(model: AdmissionModel, acceptance):
    """Stationary mean cost per unit time of a policy.

    Parameters
    ----------
    model : AdmissionModel
    acceptance : sequence of S numbers in [0, 1]
    """
    costs = model.costs(acceptance)
    return sum(p * c for p, c in zip(law(model, acceptance), costs, strict=True))


def gain(model: AdmissionModel, acceptance):
    """Mean reward per step of a policy, ``r_max - mean_cost / U``."""
    return model.max_reward - mean_cost(model, acceptance) / model.uniformization


def increments(model: AdmissionModel, acceptance) -> tuple:
    """Increments d(1), ..., d(S) of the cost bias of a policy, in units of cost.

    Parameters
    ----------
    model : AdmissionModel
    acceptance : sequence of S numbers in [0, 1]

    Returns
    -------
    tuple of Fraction or float, length S

    Notes
    -----
    ``d(s) = (c(s) - cbar + lambda alpha(s) d(s+1)) / mu(s)``, from the top. The Poisson equation at
    0, ``c(0) + lambda alpha(0) d(1) = cbar``, is not used and so checks the result. In floats the
    recursion loses digits where the products of ``lambda/mu`` are large.
    """
    alphas = (*as_acceptance(acceptance, model.limit), 0)
    costs, mean = model.costs(acceptance), mean_cost(model, acceptance)
    above, found = mean * 0, []
    for s in range(model.limit, 0, -1):
        above = (costs[s] - mean + model.arrival_rate * alphas[s] * above) / model.rates[s - 1]
        found.append(above)
    return tuple(reversed(found))


# All thresholds -------------------------------------------------------------------------------------


def phi(model: AdmissionModel) -> tuple:
    """The function ``phi(s) = g_h s + (lambda - mu(s)) R``, s = 0, ..., S, with mu(0) = 0.

    The mean cost of every threshold is the stationary mean of this one function.
    """
    return tuple(
        model.holding_cost * s + (model.arrival_rate - rate) * model.rejection_cost
        for s, rate in enumerate((model.arrival_rate * 0, *model.rates))
    )


def threshold_costs(model: AdmissionModel) -> tuple:
    """Mean costs per unit time of the thresholds 0, ..., S.

    Returns
    -------
    tuple of Fraction or float, length S + 1

    Notes
    -----
    The mean cost of ``theta`` is the mean of `phi` with weights ``prod lambda/mu`` up to ``theta``,
    so each follows from the one before: ``cbar(theta) = cbar(theta-1) + b (phi(theta) -
    cbar(theta-1))``, where the blocking probabilities b obey Erlang's recursion. Cost: O(S), without
    overflow in floats.
    """
    values = phi(model)
    blocked, costs = model.arrival_rate * 0 + 1, [values[0]]
    for rate, value in zip(model.rates, values[1:], strict=True):
        offered = model.arrival_rate * blocked
        blocked = offered / (rate + offered)
        costs.append(costs[-1] + blocked * (value - costs[-1]))
    return tuple(costs)


def optimal_threshold(model: AdmissionModel) -> int:
    """Smallest threshold of least mean cost; a best policy of all (``threshold_gain``)."""
    costs = threshold_costs(model)
    return costs.index(min(costs))


def scan_threshold(model: AdmissionModel) -> int:
    """First threshold with ``phi(theta + 1) >= cbar(theta)``, S if there is none.

    Equal to `optimal_threshold` if the rates are concave (``threshold_concave``); otherwise it may
    stop too early.
    """
    values, costs = phi(model), threshold_costs(model)
    for theta in range(model.limit):
        if values[theta + 1] >= costs[theta]:
            return theta
    return model.limit


# The optimality equation ----------------------------------------------------------------------------


@dataclass(frozen=True)
class BellmanSolution:
    """Solution of the average-cost optimality equation; see `bellman`.

    Attributes
    ----------
    cost : Fraction or float
        Least mean cost per unit time.
    increments : tuple, length S
        d(1), ..., d(S) of the optimal cost bias.
    policy : tuple of int, length S
        A policy that is optimal in every state: 1 where it admits.
    ties : tuple of int
        States where ``d(s+1) = R``, so that both decisions are optimal.
    """

    cost: Fraction | float
    increments: tuple
    policy: tuple
    ties: tuple

    @property
    def is_threshold(self) -> bool:
        """Whether the decisions outside ties never go from reject to admit as s grows."""
        sharp = [a for s, a in enumerate(self.policy) if s not in self.ties]
        return all(a >= b for a, b in itertools.pairwise(sharp))


def bellman(model: AdmissionModel) -> BellmanSolution:
    """Solve the average-cost optimality equation by policy iteration.

    Parameters
    ----------
    model : AdmissionModel

    Returns
    -------
    BellmanSolution
        Exact for an exact model. Admitting at s is optimal if and only if ``d(s+1) <= R``.

    Raises
    ------
    ArithmeticError
        If policy iteration in floats cycles (two policies equal up to rounding).

    Notes
    -----
    Starts from the best threshold. Its mean cost is already least; the iterations settle the
    decisions in states it never reaches. Cost: O(S) an iteration, few iterations.
    """
    policy, seen = threshold(optimal_threshold(model), model.limit), set()
    while policy not in seen:
        seen.add(policy)
        d = increments(model, policy)
        better = tuple(
            admits if step == model.rejection_cost else int(step < model.rejection_cost)
            for admits, step in zip(policy, d, strict=True)
        )
        if better == policy:
            ties = tuple(s for s, step in enumerate(d) if step == model.rejection_cost)
            return BellmanSolution(mean_cost(model, policy), d, policy, ties)
        policy = better
    raise ArithmeticError("policy iteration cycles in floats; pass exact numbers")


# Distances between states ---------------------------------------------------------------------------


class Diameter(NamedTuple):
    """Longest shortest mean passage times, in steps: to the top, to the bottom.

    Attributes
    ----------
    up, down : Fraction or float
        From 0 to S when everything is admitted, from S to 0 when everything is rejected.
    """

    up: Fraction | float
    down: Fraction | float

    @property
    def longest(self):
        """The diameter itself, the larger of the two."""
        return max(self)


def diameter(model: AdmissionModel) -> Diameter:
    """Diameter of the admission problem, in steps of 1/U, by its closed form.

    Notes
    -----
    Up: ``sum_{s<S} (U/lambda) sum_{j<=s} prod_{i=j+1}^{s} mu(i)/lambda``; down: ``sum_s U/mu(s)``.
    The display is lost in the source; reconstructed (``admission.diameter``). Cost: O(S).
    """
    step = model.uniformization / model.arrival_rate
    passage = up = step
    for rate in model.rates[:-1]:
        passage = step + rate / model.arrival_rate * passage
        up += passage
    return Diameter(up, sum(model.uniformization / rate for rate in model.rates))


def diameter_brute(model: AdmissionModel) -> Fraction:
    """Diameter by trying every policy, start and target, with a rational solve for each.

    Parameters
    ----------
    model : AdmissionModel
        Exact, with a limit of at most 12.

    Returns
    -------
    Fraction
        ``max over s, s' of min over policies of E[steps from s to s']``.

    Raises
    ------
    ValueError
        If the model has floats or the limit is too large.
    """
    if not model.exact:
        raise ValueError("model has float numbers; permitted: exact numbers")
    if model.limit > _LARGEST_BRUTE:
        raise ValueError(
            f"limit = {model.limit} gives 2**{model.limit} policies; permitted: up to {_LARGEST_BRUTE}"
        )
    best = {}
    for policy in policies(model.limit):
        for target in range(model.limit + 1):
            # The number of jobs changes by one, so starts below and above the target do not mix.
            for block in (range(target), range(target + 1, model.limit + 1)):
                for start, time in _passage_times(model, policy, block).items():
                    pair = start, target
                    best[pair] = min(time, best.get(pair, time))
    return max(best.values())


def _passage_times(model, policy, block):
    """Mean steps to leave a block of states under a policy; nothing if they may be infinite."""
    points = list(block)
    if not points:
        return {}
    n, alphas = len(points), (*policy, 0)
    matrix = flint.fmpq_mat(n, n)
    for row, s in enumerate(points):
        up = model.arrival_rate * alphas[s] / model.uniformization
        down = model.rates[s - 1] / model.uniformization if s else Fraction(0)
        for target, probability in ((s + 1, up), (s - 1, down)):
            if probability:
                matrix[row, row] += flint.fmpq(probability.numerator, probability.denominator)
                if target in block:
                    column = target - points[0]
                    matrix[row, column] -= flint.fmpq(
                        probability.numerator, probability.denominator
                    )
    if matrix.det() == 0:
        return {}
    times = matrix.solve(flint.fmpq_mat(n, 1, [1] * n)).entries()
    return {s: Fraction(int(t.p), int(t.q)) for s, t in zip(points, times, strict=True)}


# Bounds on the increments ---------------------------------------------------------------------------


class DominantConstants(NamedTuple):
    """Constants of the source's Section 5; see `c1_c2`.

    Attributes
    ----------
    i0 : int
        A number of jobs at which service outpaces arrivals.
    q : Fraction or float
        ``lambda / mu(i0)``.
    C1 : Fraction or float
        ``prod_{i < i0} mu(i0) / mu(i)``.
    C2 : Fraction or float
        ``(lambda R + g_h) C1 / (mu(1) (1 - q))``, in units of cost.
    """

    i0: int
    q: Fraction | float
    C1: Fraction | float
    C2: Fraction | float


def c1_c2(model: AdmissionModel, i0: int | None = None) -> DominantConstants:
    """Constants C1, C2 that dominate the increments of a stable model with nondecreasing rates.

    Parameters
    ----------
    model : AdmissionModel
    i0 : int, optional
        Number of jobs with ``mu(i0) > lambda``; the smallest by default.

    Raises
    ------
    ValueError
        If ``mu(i0) <= lambda``, or no number of jobs up to S has ``mu > lambda``.
    """
    if i0 is None:
        above = (s for s, rate in enumerate(model.rates, start=1) if rate > model.arrival_rate)
        i0 = next(above, None)
        if i0 is None:
            raise ValueError(
                f"arrival_rate = {model.arrival_rate} is at least all rates, the largest is "
                f"{max(model.rates)}, so C1 and C2 are undefined; permitted: arrival rates below it"
            )
    i0 = positive_integer("i0", i0)
    if i0 > model.limit or model.rates[i0 - 1] <= model.arrival_rate:
        raise ValueError(
            f"i0 = {i0}; permitted: integers from 1 to {model.limit} with a rate above the arrival "
            f"rate {model.arrival_rate}"
        )
    rate = model.rates[i0 - 1]
    q = model.arrival_rate / rate
    c1 = math.prod((rate / below for below in model.rates[: i0 - 1]), start=q * 0 + 1)
    worst = model.arrival_rate * model.rejection_cost + model.holding_cost
    return DominantConstants(i0, q, c1, worst * c1 / (model.rates[0] * (1 - q)))


def delta_bound(model: AdmissionModel) -> tuple:
    """Bounds Delta(1), ..., Delta(S) of Lemma 4 on the increments of optimistic models.

    For nondecreasing rates, the increments of every threshold in every model with rates at least as
    large (nondecreasing too) and an arrival rate at most as large lie in ``[0, Delta(s)]``.

    Returns
    -------
    tuple of Fraction or float, length S, in units of cost

    Raises
    ------
    ValueError
        If the rates decrease somewhere: the lemma needs them nondecreasing.

    Notes
    -----
    ``Delta(s)`` is the largest over thresholds ``theta >= s`` of the smaller of ``(1/mu(s))
    sum_{j=s}^{theta} prod_{i=s+1}^{j} (lambda/mu(i)) c_theta(j)`` and ``min(s, theta-s+1) (g_h theta
    + lambda R) / mu(s)``: a stationary law ``nu`` with nondecreasing rates is log-concave, so ``nu(j)
    nu(k) <= nu(s) nu(j+k-s)``. Cost: O(S^2).
    """
    for s, (rate, following) in enumerate(itertools.pairwise(model.rates)):
        if following < rate and following < rate * (1 - Fraction(1, 10**12)):
            raise ValueError(
                f"rates[{s + 1}] = {following} is below rates[{s}] = {rate}; permitted: nondecreasing"
            )
    rejected = model.arrival_rate * model.rejection_cost
    bounds = []
    for s in range(1, model.limit + 1):
        product, held, bound = rejected * 0 + 1, rejected * 0, rejected * 0
        for theta in range(s, model.limit + 1):
            if theta > s:
                product *= model.arrival_rate / model.rates[theta - 1]
            held += product * model.holding_cost * theta
            oscillation = model.holding_cost * theta + rejected
            bound = max(bound, min(held + product * rejected, min(s, theta - s + 1) * oscillation))
        bounds.append(bound / model.rates[s - 1])
    return tuple(bounds)
