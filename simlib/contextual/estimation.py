"""Regularised logistic regression for each server, kept up to date one sample at a time.

Server k has attempts ``(x_i, y_i)``, y = 1 for a departure. With ``b = sum_i y_i x_i`` and
``g(theta) = sum_i mu(x_i . theta) x_i + lambda_0 theta``:

* the *maximum likelihood estimate* solves ``g(theta) = b``; it minimises a strictly convex function;
* the *design* is ``V = kappa lambda_0 I + sum_i x_i x_i^T``;
* the *estimate* is the maximum likelihood estimate if its norm is at most S, and otherwise its
  projection: a minimiser of ``|g(theta) - b|_{V^-1}`` over the ball of radius S. (The source's display
  has ``g(theta) - g(mle)``, without the ridge term in the text that we have; ``g(mle) = b``.)

**The maximum likelihood estimate is exact.** Newton's method starts from the last estimate. Its first
step needs no pass over the data: before the new sample the gradient was zero, so it is that of the
sample alone, and the Hessian is that of the last pass and one term. Further steps are full passes,
until a step is shorter than 1e-7. As ``|mu''| <= mu'`` and ``|x| <= 1``, a full step of length s
leaves a gradient that is at most about s/2 times the one before (in the norm of the inverse Hessian),
so that what remains is below 1e-13. Steps longer than 0.1 are shortened to ``log(1 + s)``, which is
known to converge from every start (Sun and Tran-Dinh 2019).

**What is approximate in the projection.** The objective need not be convex. We find a stationary
point by Newton steps restricted to the ball, from the last projection (or the rescaled estimate), to
1e-7; the second-order term of the objective uses the residual of the step before. That it is the
smallest of possibly several minima is not certified.

``V^-1`` is updated by the formula of Sherman and Morrison, and computed anew from V after 1000
updates.

Samples are stored in blocks of 64 with one row a coordinate: a pass reads them in order. The functions
are compiled without allocation; a workspace is made by `workspace`.
"""

import math

import numpy as np
from numba import njit, types

__all__ = [
    "BLOCK",
    "add_sample",
    "fit",
    "score",
    "workspace",
]

#: Samples of a block.
BLOCK = 64
_TOLERANCE = 1e-7
_MOST_PASSES = 100
_REFACTOR_EVERY = 1000

# Rows of `vectors[k]`: maximum likelihood estimate, estimate, b, and at the projection g - b and V^-1
# times it. The shared rows of `scratch` come after.
MLE, ESTIMATE, SUM, RESIDUAL, DUAL = range(5)
# Rows of `matrices[k]`: V, its inverse, Hessian at the estimate without projection; at the projection
# the Jacobian of g and the second-order term.
DESIGN, INVERSE, HESSIAN, JACOBIAN, CURVATURE = range(5)
# Rows of `counts[:, k]`: attempts, attempts at the last fit, updates of the inverse since it was
# computed anew, whether the last estimate was a projection.
ATTEMPTS, FITTED, UPDATES, PROJECTED = range(4)
# Entries of `totals`: blocks in use, fits, passes, samples passed over, projections, fits that did not
# converge.
BLOCKS, FITS, PASSES, PASSED, PROJECTIONS, UNFINISHED = range(6)

_options = {"cache": True, "error_model": "numpy", "_nrt": False}
_F1 = types.Array(types.float64, 1, "C")
_F2 = types.Array(types.float64, 2, "C")
_F3 = types.Array(types.float64, 3, "C")
_F4 = types.Array(types.float64, 4, "C")
_I1 = types.Array(types.int64, 1, "C")
_I2 = types.Array(types.int64, 2, "C")
_NUMBERS = types.Array(types.int32, 1, "C")
_TABLE = types.Array(types.int32, 2, "C")
_WORK = (_F3, _F4, _I2, _I1, _F1, _F3, _TABLE, _F2, _F2, _F3)
_FIT = types.void(types.int64, _F1, types.float64, types.float64, types.float64, *_WORK)

#: Numba types of the workspace, and under which a kernel receives `fit`: as a function whose code is
#: not compiled into the kernel again.
WORK = types.Tuple(_WORK)
FIT = types.FunctionType(_FIT)


def workspace(servers: int, dimension: int, horizon: int, kappa: float, regularisation: float):
    """Return the arrays that the functions of this module change in place.

    Parameters
    ----------
    servers, dimension, horizon : int
        K, d, and the largest number of samples.
    kappa, regularisation : float

    Returns
    -------
    tuple of ndarray
        ``(vectors, matrices, counts, totals, multipliers, blocks, table, buffers, scratch, squares)``.

    Notes
    -----
    Memory: O(T d + T K / 64), and less as long as samples are few.
    """
    vectors = np.zeros((servers, 5, dimension))
    matrices = np.zeros((servers, 5, dimension, dimension))
    eye = np.eye(dimension)
    matrices[:, DESIGN] = kappa * regularisation * eye
    matrices[:, INVERSE] = eye / (kappa * regularisation)
    counts = np.zeros((4, servers), dtype=np.int64)
    totals = np.zeros(6, dtype=np.int64)
    blocks = np.zeros((horizon // BLOCK + servers + 1, dimension, BLOCK))
    table = np.zeros((servers, horizon // BLOCK + 1), dtype=np.int32)
    buffers = np.zeros((5, BLOCK))
    return (
        *(vectors, matrices, counts, totals, np.zeros(servers), blocks, table, buffers),
        *(np.zeros((8, dimension)), np.zeros((3, dimension, dimension))),
    )


# The one place where the compiler may add in an order of its own: it makes a pass several times as
# fast. The last bits of a sum then depend on the processor, as those of the exponential do anyway.
@njit(fastmath={"reassoc"}, **_options)
def _dot(a, b, n):
    """Sum of products over n entries."""
    s = 0.0
    for i in range(n):
        s += a[i] * b[i]
    return s


@njit(**_options)
def _combine(block, weights, n, out):
    """Fill ``out[i]`` with the inner product of sample i of a block and ``weights``."""
    for i in range(n):
        out[i] = 0.0
    for a in range(weights.shape[0]):
        weight = weights[a]
        row = block[a]
        for i in range(n):
            out[i] += weight * row[i]


@njit(**_options)
def _add_outer(block, weights, n, product, out):
    """Add ``sum_i weights[i] x_i x_i^T`` over the samples of a block to the lower triangle."""
    for a in range(out.shape[0]):
        row = block[a]
        for i in range(n):
            product[i] = weights[i] * row[i]
        for b in range(a + 1):
            out[a, b] += _dot(product, block[b], n)


@njit(
    types.void(
        *(_F3, _NUMBERS, types.int64, _F1, _F1, types.boolean, types.float64),
        *(_F1, _F2, _F2, _F2),
    ),
    **_options,
)
def _sweep(blocks, chain, n, theta, dual, curved, ridge, total, hessian, curvature, buffers):
    """One pass: g into ``total``, its Jacobian into ``hessian``; with ``curved`` the second-order term.

    The latter is ``sum_i mu''(x_i . theta) (x_i . dual) x_i x_i^T``.
    """
    d = theta.shape[0]
    z, mean, slope, product, bend = buffers[0], buffers[1], buffers[2], buffers[3], buffers[4]
    for a in range(d):
        total[a] = ridge * theta[a]
        for b in range(a + 1):
            hessian[a, b] = ridge if a == b else 0.0
            curvature[a, b] = 0.0
    for c in range((n + BLOCK - 1) // BLOCK):
        block = blocks[chain[c]]
        # Beyond the last sample a block holds zeros, which add nothing.
        m = min(BLOCK, (n - c * BLOCK + 7) // 8 * 8)
        _combine(block, theta, m, z)
        for i in range(m):
            mean[i] = math.exp(-z[i])
        for i in range(m):
            mu = 1.0 / (1.0 + mean[i])
            mean[i] = mu
            slope[i] = mu * (1.0 - mu)
        for a in range(d):
            total[a] += _dot(mean, block[a], m)
        _add_outer(block, slope, m, product, hessian)
        if curved:
            _combine(block, dual, m, bend)
            for i in range(m):
                bend[i] *= slope[i] * (1.0 - 2.0 * mean[i])
            _add_outer(block, bend, m, product, curvature)
    for a in range(d):
        for b in range(a):
            hessian[b, a] = hessian[a, b]
            curvature[b, a] = curvature[a, b]


@njit(**_options)
def _cholesky(matrix, shift, lower):
    """Factor ``matrix + shift I`` into ``lower``; return whether it is positive definite."""
    d = matrix.shape[0]
    for a in range(d):
        for b in range(a + 1):
            s = matrix[a, b]
            if a == b:
                s += shift
            for c in range(b):
                s -= lower[a, c] * lower[b, c]
            if a == b:
                if not s > 0.0:
                    return False
                lower[a, a] = math.sqrt(s)
            else:
                lower[a, b] = s / lower[b, b]
    return True


@njit(**_options)
def _forward(lower, x):
    """Replace x by ``L^-1 x``."""
    for a in range(x.shape[0]):
        s = x[a]
        for b in range(a):
            s -= lower[a, b] * x[b]
        x[a] = s / lower[a, a]


@njit(**_options)
def _backward(lower, x):
    """Replace x by ``L^-T x``."""
    d = x.shape[0]
    for a in range(d - 1, -1, -1):
        s = x[a]
        for b in range(a + 1, d):
            s -= lower[b, a] * x[b]
        x[a] = s / lower[a, a]


@njit(**_options)
def _apply(matrix, x, out):
    for a in range(x.shape[0]):
        s = 0.0
        for b in range(x.shape[0]):
            s += matrix[a, b] * x[b]
        out[a] = s


@njit(**_options)
def _inner(x, y):
    s = 0.0
    for a in range(x.shape[0]):
        s += x[a] * y[a]
    return s


@njit(**_options)
def add_sample(k, x, departed, work):
    """Add one attempt of server k: the sums, the design and its inverse, and the block of samples."""
    vectors, matrices, counts, totals, _, blocks, table, _, scratch, squares = work
    d = x.shape[0]
    n = counts[ATTEMPTS, k]
    if n % BLOCK == 0:
        table[k, n // BLOCK] = totals[BLOCKS]
        totals[BLOCKS] += 1
    block = blocks[table[k, n // BLOCK]]
    for a in range(d):
        block[a, n % BLOCK] = x[a]
        vectors[k, SUM, a] += departed * x[a]
    counts[ATTEMPTS, k] = n + 1
    design, inverse, image = matrices[k, DESIGN], matrices[k, INVERSE], scratch[0]
    for a in range(d):
        for b in range(d):
            design[a, b] += x[a] * x[b]
    counts[UPDATES, k] += 1
    if counts[UPDATES, k] < _REFACTOR_EVERY:
        _apply(inverse, x, image)
        scale = 1.0 / (1.0 + _inner(x, image))
        for a in range(d):
            for b in range(d):
                inverse[a, b] -= scale * (image[a] * image[b])
        return
    counts[UPDATES, k] = 0
    lower = squares[0]
    _cholesky(design, 0.0, lower)
    for b in range(d):
        for a in range(d):
            image[a] = 1.0 if a == b else 0.0
        _forward(lower, image)
        _backward(lower, image)
        for a in range(d):
            inverse[a, b] = image[a]


@njit(**_options)
def _newton_step(theta, gradient, hessian, lower):
    """Move ``theta`` by a Newton step, shortened if it is long; return its full length."""
    _cholesky(hessian, 0.0, lower)
    _forward(lower, gradient)
    _backward(lower, gradient)
    length = math.sqrt(_inner(gradient, gradient))
    scale = math.log1p(length) / length if length > 0.1 else 1.0
    for a in range(theta.shape[0]):
        theta[a] -= scale * gradient[a]
    return length


@njit(**_options)
def _step_in_ball(estimate, residual_image, quadratic, radius, multiplier, scratch, lower):
    """Minimise the quadratic model around ``estimate`` over the ball; into ``scratch[1]``.

    The model has gradient ``residual_image`` and Hessian ``quadratic`` at ``estimate``. Returns the
    multiplier of the constraint, or -1 if the Hessian plus the multiplier is not positive definite.
    """
    right, found, image = scratch[0], scratch[1], scratch[2]
    d = estimate.shape[0]
    _apply(quadratic, estimate, right)
    for a in range(d):
        right[a] -= residual_image[a]
    for _ in range(60):
        if not _cholesky(quadratic, multiplier, lower):
            return -1.0
        for a in range(d):
            found[a] = right[a]
        _forward(lower, found)
        _backward(lower, found)
        size = math.sqrt(_inner(found, found))
        if size <= radius and multiplier == 0.0:
            return 0.0
        if abs(size - radius) <= 1e-13 * radius:
            break
        for a in range(d):
            image[a] = found[a]
        _forward(lower, image)
        # Newton for 1 / |u| - 1 / S as a function of the multiplier, where it is nearly linear.
        change = (size * size / _inner(image, image)) * ((size - radius) / radius)
        multiplier = max(0.0, multiplier + change)
    if size > radius:
        for a in range(d):
            found[a] *= radius / size
    return multiplier


# Inlined before compilation: as a function of its own its code would be compiled twice.
@njit(inline="always", **_options)
def _project(k, x, departed, radius, ridge, one_new, work):
    """Move the estimate of server k to a minimiser of ``|g - b|_{V^-1}`` over the ball."""
    vectors, matrices, counts, totals, multipliers, blocks, table, buffers, scratch, squares = work
    d = x.shape[0]
    n = counts[ATTEMPTS, k]
    estimate, target = vectors[k, ESTIMATE], vectors[k, SUM]
    residual, dual = vectors[k, RESIDUAL], vectors[k, DUAL]
    inverse, jacobian, curvature = (
        matrices[k, INVERSE],
        matrices[k, JACOBIAN],
        matrices[k, CURVATURE],
    )
    lower, quadratic, product = squares[0], squares[1], squares[2]
    found, image, last = scratch[1], scratch[3], scratch[4]
    curved = True
    value = math.inf
    for number in range(_MOST_PASSES):
        if number == 0 and one_new:
            # As after a pass: the sums of the last one and the new sample.
            mu = 1.0 / (1.0 + math.exp(-_inner(x, estimate)))
            slope = mu * (1.0 - mu)
            bend = slope * (1.0 - 2.0 * mu) * _inner(x, dual)
            for a in range(d):
                residual[a] += (mu - departed) * x[a]
                for b in range(d):
                    jacobian[a, b] += slope * (x[a] * x[b])
                    curvature[a, b] += bend * (x[a] * x[b])
        else:
            totals[PASSES] += 1
            totals[PASSED] += n
            _sweep(
                *(blocks, table[k], n, estimate, dual, True, ridge),
                *(residual, jacobian, curvature, buffers),
            )
            for a in range(d):
                residual[a] -= target[a]
        _apply(inverse, residual, dual)
        new_value = _inner(residual, dual)
        if new_value > value * (1.0 + 1e-9):
            if curved:
                # The second-order term has misled us: back, and without it.
                curved = False
                for a in range(d):
                    estimate[a] = last[a]
                value = math.inf
            else:
                for a in range(d):
                    estimate[a] = 0.5 * (estimate[a] + last[a])
            continue
        value = new_value
        for a in range(d):
            last[a] = estimate[a]
        _apply(jacobian, dual, image)
        for attempt in range(2):
            for a in range(d):
                for b in range(d):
                    s = 0.0
                    for c in range(d):
                        s += inverse[a, c] * jacobian[c, b]
                    product[a, b] = s
            for a in range(d):
                for b in range(a + 1):
                    s = curvature[a, b] if curved and attempt == 0 else 0.0
                    for c in range(d):
                        s += jacobian[a, c] * product[c, b]
                    quadratic[a, b] = s
                    quadratic[b, a] = s
            multiplier = _step_in_ball(
                estimate, image, quadratic, radius, multipliers[k], scratch, lower
            )
            if multiplier >= 0.0:
                break
        multipliers[k] = max(0.0, multiplier)
        square = 0.0
        for a in range(d):
            square += (found[a] - estimate[a]) ** 2
        for a in range(d):
            # From here on the change of the estimate.
            found[a] -= estimate[a]
            estimate[a] += found[a]
        if (number > 0 or not one_new) and square <= _TOLERANCE * _TOLERANCE:
            _apply(jacobian, found, image)
            for a in range(d):
                residual[a] += image[a]
            _apply(inverse, residual, dual)
            return True
    return False


@njit(_FIT, **_options)
def fit(
    k,
    x,
    departed,
    radius,
    ridge,
    vectors,
    matrices,
    counts,
    totals,
    multipliers,
    blocks,
    table,
    buffers,
    scratch,
    squares,
):
    """Compute the estimate of server k from all its samples.

    ``x`` and ``departed`` are its last sample. If it is the only one since the last fit, the first step
    needs no pass over the data. Cost: O(n d^2) a pass.
    """
    work = (
        *(vectors, matrices, counts, totals, multipliers),
        *(blocks, table, buffers, scratch, squares),
    )
    d = x.shape[0]
    n = counts[ATTEMPTS, k]
    theta, estimate, target = vectors[k, MLE], vectors[k, ESTIMATE], vectors[k, SUM]
    hessian, lower, unused = matrices[k, HESSIAN], squares[0], squares[1]
    gradient = scratch[0]
    one_new = counts[FITTED, k] > 0 and n == counts[FITTED, k] + 1
    if one_new:
        mu = 1.0 / (1.0 + math.exp(-_inner(x, theta)))
        for a in range(d):
            gradient[a] = (mu - departed) * x[a]
            for b in range(d):
                hessian[a, b] += mu * (1.0 - mu) * (x[a] * x[b])
        _newton_step(theta, gradient, hessian, lower)
    totals[FITS] += 1
    converged = False
    for _ in range(_MOST_PASSES):
        totals[PASSES] += 1
        totals[PASSED] += n
        _sweep(blocks, table[k], n, theta, theta, False, ridge, gradient, hessian, unused, buffers)
        for a in range(d):
            gradient[a] -= target[a]
        if _newton_step(theta, gradient, hessian, lower) <= _TOLERANCE:
            converged = True
            break
    size = math.sqrt(_inner(theta, theta))
    if size <= radius:
        for a in range(d):
            estimate[a] = theta[a]
        counts[PROJECTED, k] = 0
        multipliers[k] = 0.0
    else:
        totals[PROJECTIONS] += 1
        if counts[PROJECTED, k] == 0:
            one_new = False
            for a in range(d):
                estimate[a] = theta[a] * (radius / size)
                vectors[k, DUAL, a] = 0.0
        converged = _project(k, x, departed, radius, ridge, one_new, work) and converged
        counts[PROJECTED, k] = 1
    if not converged:
        totals[UNFINISHED] += 1
    counts[FITTED, k] = n


@njit(**_options)
def score(k, x, work):
    """Return ``mu(x . estimate)`` and ``|x|_{V^-1}`` of a context at server k."""
    vectors, matrices = work[0], work[1]
    estimate, inverse = vectors[k, ESTIMATE], matrices[k, INVERSE]
    d = x.shape[0]
    z = 0.0
    square = 0.0
    for a in range(d):
        z += x[a] * estimate[a]
        s = 0.0
        for b in range(d):
            s += inverse[a, b] * x[b]
        square += x[a] * s
    return 1.0 / (1.0 + math.exp(-z)), math.sqrt(square)


# c
