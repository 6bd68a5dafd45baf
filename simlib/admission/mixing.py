"""How fast the network forgets its state: total variation, second eigenvalues, lengths of modules.

`module_length` and `certified_distances` are proofs: Arb balls enclose the powers of the rational
transition matrices, and bounds are taken from the ends of the balls. Everything else here computes in
the arithmetic of its matrix, and what computes in floats says so.

Sources: Anselmi, Gaujal and Rebuffi, arXiv 2308.02391, (21) and Section 6 (W, rho, C); condition (M)
of the theory document's addendum, which replaces (21) there.
"""

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from simlib.admission.chain import transition_matrix
from simlib.admission.model import threshold
from simlib.admission.network import Network
from simlib.admission.product_form import product_law
from simlib.arguments import non_negative_integer, positive_integer
from simlib.arithmetic import as_number, as_positive

__all__ = [
    "DistanceBounds",
    "ModuleLength",
    "certified_distances",
    "expected_total_variation",
    "mixing_scale",
    "mixing_time",
    "module_length",
    "module_length_float",
    "second_eigenvalue",
    "single_queue_modulus",
    "total_variation_profile",
]

# Beyond 2**40 steps rounding, not mixing, decides.
_LARGEST_EXPONENT = 40
# A certified lower bound below 2**-10000 is given as 0, so that no exponent is written out.
_SMALLEST_EXPONENT = 10_000
# Nonsymmetric eigenvalues of a dense matrix take a second at this size; above, Arnoldi iterations.
_LARGEST_DENSE = 1_000


# One chain ------------------------------------------------------------------------------------------


def _chain(matrix, law):
    """The matrix as an ndarray or csr array, its law in the order of the rows as an array."""
    if isinstance(law, dict):
        law = list(law.values())
    if not sparse.issparse(matrix):
        matrix = np.asarray(matrix)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(law) != matrix.shape[0]:
        raise ValueError(
            f"matrix has shape {matrix.shape}, law {len(law)} entries; permitted: a square matrix "
            "and a probability for each row"
        )
    law = np.array(law, dtype=object if matrix.dtype == object else float)
    return matrix, law


def _profile(matrix, law, steps, summary):
    matrix, law = _chain(matrix, law)
    power = np.eye(len(law), dtype=int) + law * 0
    found = []
    for _ in range(non_negative_integer("steps", steps) + 1):
        found.append(summary(abs(power - law).sum(axis=1) / 2, law))
        power = matrix @ power
    return found


def total_variation_profile(matrix, law, steps: int) -> list:
    """Distances d(0), ..., d(steps) from stationarity, from the worst start.

    Parameters
    ----------
    matrix : ndarray of Fraction or float, or csr_array of float, shape (n, n)
        Transition matrix, as `transition_matrix` returns it.
    law : dict or sequence, n probabilities in the order of the rows
        Stationary law.
    steps : int
        From 0.

    Returns
    -------
    list of Fraction or float, length steps + 1
        ``d(t) = max_x TV(P^t(x, .), law)``.

    Raises
    ------
    ValueError
        If shapes differ or ``steps`` is out of range.

    Notes
    -----
    Cost: one product of the matrix with a dense one a step.
    """
    return _profile(matrix, law, steps, lambda distances, _: max(distances.tolist()))


def expected_total_variation(matrix, law, steps: int) -> list:
    """Distances from stationarity averaged over a stationary start, for 0, ..., steps.

    Entry t is ``sum_x law(x) TV(P^t(x, .), law)``, the total variation distance of the pair (X_0,
    X_t) of a stationary chain from an independent pair. Parameters as `total_variation_profile`.
    """
    return _profile(matrix, law, steps, lambda distances, law: (distances * law).sum())


def mixing_time(matrix, law, level=Fraction(1, 4)) -> int:
    """Smallest t with ``d(t) <= level``.

    Parameters
    ----------
    matrix, law
        As `total_variation_profile`. A matrix of Fractions is iterated exactly step by step, a float
        one is squared.
    level : number in (0, 1)

    Raises
    ------
    ValueError
        If the level or a shape is wrong, or the chain is not mixed after 2**40 steps (floats).
    """
    level = as_number("level", level)
    if not 0 < level < 1:
        raise ValueError(f"level = {level}; permitted: numbers strictly between 0 and 1")
    matrix, law = _chain(matrix, law)
    if matrix.dtype != object:
        return _first_below(matrix, law, float(level))
    steps, power = 0, np.eye(len(law), dtype=int) + law * 0
    while (abs(power - law).sum(axis=1) / 2).max() > level:
        steps, power = steps + 1, matrix @ power
    return steps


def _deviation(matrix, law):
    """P - 1 law in floats. Its powers are P^t - 1 law: no digits are lost as they become small."""
    return (matrix.toarray() if sparse.issparse(matrix) else matrix) - law


def _distance(deviation):
    return float(np.abs(deviation).sum(axis=1).max() / 2)


def _first_below(matrix, law, level):
    """Smallest t >= 0 with d(t) <= level, in floats: square past it, then descend."""
    if 1 - law.min() <= level:
        return 0
    squares = [_deviation(matrix, law)]
    while _distance(squares[-1]) > level:
        if len(squares) > _LARGEST_EXPONENT:
            raise ValueError(
                f"level = {level} is not reached within 2**{_LARGEST_EXPONENT} steps; permitted: "
                "chains that mix"
            )
        squares.append(squares[-1] @ squares[-1])
    # d is nonincreasing; steps is always the largest number known to be above the level.
    steps, current = 0, None
    for exponent in reversed(range(len(squares) - 1)):
        trial = squares[exponent] if current is None else current @ squares[exponent]
        if _distance(trial) > level:
            steps, current = steps + 2**exponent, trial
    return steps + 1


def second_eigenvalue(matrix) -> float:
    """Second largest modulus of the eigenvalues of a transition matrix, in floats (no proof).

    Parameters
    ----------
    matrix : array_like or csr_array, shape (n, n), n >= 2
        With one recurrent class, aperiodic.

    Returns
    -------
    float
        rho, in [0, 1).

    Raises
    ------
    ValueError
        If the matrix is not square, has fewer than two rows, or has entries that are no numbers.

    Notes
    -----
    Cost: all eigenvalues up to 1000 states (about a second); Arnoldi iterations above.
    """
    try:
        kind = sparse.csr_array if sparse.issparse(matrix) else np.array
        matrix = kind(matrix, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"matrix = {matrix!r}; permitted: a square matrix of numbers, with at least 2 rows"
        ) from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] < 2:
        raise ValueError(
            f"matrix has shape {matrix.shape}; permitted: a square matrix, with at least 2 rows"
        )
    if not np.isfinite(matrix.data if sparse.issparse(matrix) else matrix).all():
        raise ValueError("matrix has entries that are not finite; permitted: finite numbers")
    if matrix.shape[0] > _LARGEST_DENSE:
        values = sparse_linalg.eigs(
            sparse.csr_array(matrix), k=6, ncv=80, return_eigenvectors=False
        )
    else:
        values = np.linalg.eigvals(matrix.toarray() if sparse.issparse(matrix) else matrix)
    return float(np.sort(np.abs(values))[-2])


def single_queue_modulus(arrival_rate, rate, limit: int, uniformization) -> float:
    """Second largest eigenvalue of the M/M/1/S queue that admits all it can.

    Parameters
    ----------
    arrival_rate, rate : numbers above 0
        lambda and mu.
    limit : int
        S, at least 1.
    uniformization : number
        U, at least ``lambda + mu``.

    Returns
    -------
    float
        ``1 - (lambda + mu)/U + (2 sqrt(lambda mu)/U) cos(pi/(S+1))``. This is the second largest
        modulus too: the eigenvalues below 1 lie symmetrically about ``1 - (lambda + mu)/U``, which is
        not negative.

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    Source: theory document, ``rho_vs_S``; the spectrum of this matrix is classical.
    """
    arrival_rate = float(as_positive("arrival_rate", arrival_rate))
    rate = float(as_positive("rate", rate))
    limit = positive_integer("limit", limit)
    uniformization = float(as_positive("uniformization", uniformization))
    if uniformization < (arrival_rate + rate) * (1 - 1e-12):
        raise ValueError(
            f"uniformization = {uniformization}; permitted: at least {arrival_rate + rate}"
        )
    swing = 2 * math.sqrt(arrival_rate * rate) * math.cos(math.pi / (limit + 1))
    return 1 - (arrival_rate + rate - swing) / uniformization


def mixing_scale(modulus: float) -> float:
    """The source's W, ``log(1/rho)^(-1/2)``.

    The source uses W without a surviving definition; this is the only reading that fits.
    """
    modulus = float(as_number("modulus", modulus))
    if not 0 < modulus < 1:
        raise ValueError(f"modulus = {modulus}; permitted: numbers strictly between 0 and 1")
    return (-math.log(modulus)) ** -0.5


# All thresholds of a network ------------------------------------------------------------------------


@dataclass(frozen=True)
class DistanceBounds:
    """Certified enclosure of one threshold's distance from stationarity.

    Attributes
    ----------
    theta : int
        The threshold.
    lower, upper : Fraction
        Bounds of ``max_x TV(P_theta^t(x, .), nu_theta)``.
    """

    theta: int
    lower: Fraction
    upper: Fraction


@dataclass(frozen=True)
class ModuleLength:
    """A module length for which condition (M) is proved; see `module_length`.

    Attributes
    ----------
    tau : int
        Length of a module, in steps.
    tolerance : Fraction
        ``T^-2``.
    distances : tuple of DistanceBounds, length S + 1
        For the thresholds 0, ..., S after ``tau - 1`` steps; every upper bound is at most the
        tolerance, which is (M).
    one_less : DistanceBounds or None
        For the slowest threshold after ``tau - 2`` steps; None if ``tau`` is 1.
    """

    tau: int
    tolerance: Fraction
    distances: tuple
    one_less: DistanceBounds | None

    @property
    def smallest(self) -> bool:
        """Whether it is proved that no smaller module length satisfies (M)."""
        return self.one_less is None or self.one_less.lower > self.tolerance


def _ends(distance):
    """Rational bounds in [0, 1] of half a non-negative ball, also of one that is hopelessly wide."""

    def exact(ball):
        mantissa, exponent = ball.man_exp()
        return Fraction(int(mantissa)) * Fraction(2) ** int(exponent) / 2

    lower, upper = distance.lower(), distance.upper()
    return (
        exact(lower) if lower > flint.arb(2) ** -_SMALLEST_EXPONENT else Fraction(0),
        exact(upper) if upper <= 2 else Fraction(1),
    )


def _enclosure(network, limit, theta, steps, uniformization, bits):
    """Bounds of the worst total variation distance after some steps under a threshold."""
    policy = threshold(theta, limit)
    points, matrix = transition_matrix(network, limit, policy, uniformization, exact=True)
    law = product_law(network, policy)
    n, nonzero = len(points), np.argwhere(matrix != 0).tolist()
    stationary = list(law.values())
    flow = [Fraction(0)] * n
    for i, j in nonzero:
        flow[j] += stationary[i] * matrix[i, j]
    if flow != stationary:
        raise ArithmeticError("the product form does not balance; its law is not stationary")

    def ball(value):
        return flint.arb(flint.fmpq(value.numerator, value.denominator))

    with flint.ctx.workprec(bits):
        square = flint.arb_mat(n, n)
        for i, j in nonzero:
            square[i, j] = ball(matrix[i, j])
        stationary = [ball(probability) for probability in stationary]
        power, rest = flint.arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)]), steps
        while rest:
            if rest & 1:
                power = power * square
            rest >>= 1
            if rest:
                square = square * square
        entries = power.entries()
        lower = upper = Fraction(0)
        for row in range(n):
            distance = sum(
                (
                    abs(p - q)
                    for p, q in zip(entries[row * n : row * n + n], stationary, strict=True)
                ),
                start=flint.arb(0),
            )
            lowest, highest = _ends(distance)
            lower, upper = max(lower, lowest), max(upper, highest)
    return DistanceBounds(theta, lower, upper)


def certified_distances(
    network: Network, limit: int, steps: int, uniformization=None, *, thetas=None, bits: int = 128
) -> tuple:
    """Certified distances from stationarity under thresholds, from the worst of all states.

    Parameters
    ----------
    network : Network
        With exact numbers.
    limit : int
        S, at least 1; starts are all states with at most S jobs, also under smaller thresholds.
    steps : int
        t, from 0.
    uniformization : exact number, optional
        U, at least ``network.rate_bound(limit)``, which is the default.
    thetas : sequence of int, optional
        Thresholds; all of 0, ..., S by default.
    bits : int
        Precision of the ball arithmetic. More bits make the enclosures narrower, never wrong.

    Returns
    -------
    tuple of DistanceBounds

    Raises
    ------
    ValueError
        If a parameter is out of range, the network is not exact or has more than 1500 states.

    Notes
    -----
    The transition matrix and the law enter as rationals, and that the law is stationary (`product_law`)
    is checked exactly. Cost: up to ``2 log2(t)`` products of Arb matrices a threshold; with t about
    1000, 56 states take 0.03 s and 286 states 2 s.
    """
    limit, steps = positive_integer("limit", limit), non_negative_integer("steps", steps)
    bits = positive_integer("bits", bits)
    thetas = range(limit + 1) if thetas is None else thetas
    return tuple(_enclosure(network, limit, theta, steps, uniformization, bits) for theta in thetas)


def _slowest(network, limit, level, uniformization):
    """(t, theta) in floats: the first t with all distances <= level, and a threshold that needs it."""
    times = {}
    for theta in range(limit + 1):
        policy = threshold(theta, limit)
        _, matrix = transition_matrix(network, limit, policy, uniformization)
        law = np.array([float(p) for p in product_law(network, policy).values()])
        times[theta] = _first_below(matrix, law, level)
    theta = max(times, key=times.get)
    return times[theta], theta


def _tolerance(horizon):
    return Fraction(1, positive_integer("horizon", horizon) ** 2)


def _refuse(horizon, tau):
    if tau > horizon:
        raise ValueError(
            f"horizon = {horizon}, and condition (M) needs modules of {tau} steps; permitted: "
            "horizons of at least one module"
        )


def module_length_float(network: Network, limit: int, horizon: int, uniformization=None) -> int:
    """Smallest module length that satisfies condition (M), computed in floats: no proof.

    Parameters and errors as `module_length`; the network may have floats.
    """
    limit, tolerance = positive_integer("limit", limit), float(_tolerance(horizon))
    tau = 1 + _slowest(network, limit, tolerance, uniformization)[0]
    _refuse(horizon, tau)
    return tau


def module_length(
    network: Network, limit: int, horizon: int, uniformization=None, *, bits: int = 128
) -> ModuleLength:
    """Smallest module length tau for which condition (M) holds, with its proof.

    Condition (M): after ``tau - 1`` steps, from every state with at most S jobs and under every
    threshold, the network is within total variation ``T^-2`` of its stationary law.

    Parameters
    ----------
    network : Network
        With exact numbers.
    limit : int
        S, at least 1.
    horizon : int
        T, at least 1.
    uniformization : exact number, optional
        U, at least ``network.rate_bound(limit)``, which is the default.
    bits : int
        Precision of the ball arithmetic.

    Returns
    -------
    ModuleLength

    Raises
    ------
    ValueError
        If a parameter is out of range, the network is not exact or has more than 1500 states, or the
        horizon is shorter than the module.

    Notes
    -----
    Floats only propose a length. `certified_distances` then decides it, and a length that cannot be
    certified is made longer. Cost: see there; the thresholds of 56 states take 0.2 s together, of 286
    states 20 s. Results are kept for the life of the process.
    """
    limit = positive_integer("limit", limit)
    horizon = positive_integer("horizon", horizon)
    uniformization = network.rate_bound(limit) if uniformization is None else uniformization
    return _module_length(
        network, limit, horizon, as_number("uniformization", uniformization), bits
    )


@functools.lru_cache(maxsize=64)
def _module_length(network, limit, horizon, uniformization, bits):
    tolerance = _tolerance(horizon)
    steps, theta = _slowest(network, limit, float(tolerance), uniformization)
    _refuse(horizon, steps + 1)
    while True:
        distances = certified_distances(network, limit, steps, uniformization, bits=bits)
        if all(bounds.upper <= tolerance for bounds in distances):
            break
        if all(bounds.lower <= tolerance for bounds in distances):
            bits *= 2  # the enclosures are too wide to tell
        else:
            steps += 1
            _refuse(horizon, steps + 1)
    one_less = None
    if steps:
        (one_less,) = certified_distances(
            network, limit, steps - 1, uniformization, thetas=[theta], bits=bits
        )
    return ModuleLength(steps + 1, tolerance, distances, one_less)
