"""How far the estimate of a server's parameter strays, and how small a least eigenvalue can be.

All runs of an experiment go through the same rounds side by side; run i has its own seed, so the arrays
do not depend on how many runs there are. An axis of runs comes first.
"""

from checks.evidence import evidence

#: Radius S of the parameters, so that the slope of the logistic function is at least 1/10 (kappa = 10).
RADIUS = 2.0634370688955608
CURVATURE = 10.0
RIDGE = 0.25
SERVERS, DIMENSION = 2, 2
CANDIDATES = 3  # contexts that wait in a round

_STEP = 1e-9  # a Newton step that is shorter ends the search
_ITERATIONS = 100
_ANGLES, _SECTIONS = 16, 30  # of the search on the circle: to 5e-7


def _logistic(z):
    import numpy as np

    return 1 / (1 + np.exp(-z))


def gradient_map(contexts, used, theta):
    """g(theta) = sum mu(x^T theta) x + lambda_0 theta.

    Parameters
    ----------
    contexts : ndarray, shape (runs, n, 2)
    used : ndarray of bool, shape (runs, n)
        Which of them are samples.
    theta : ndarray, shape (runs, 2)

    Returns
    -------
    ndarray, shape (runs, 2)
    """
    return _weighted_sum(_logistic(_products(contexts, theta)) * used, contexts) + RIDGE * theta


def _products(contexts, theta):
    """x^T theta of each context, shape (runs, n)."""
    return contexts[..., 0] * theta[:, :1] + contexts[..., 1] * theta[:, 1:]


def _weighted_sum(weights, contexts):
    """Sums of weight times context, shape (runs, 2)."""
    import numpy as np

    return np.stack([(weights * contexts[..., i]).sum(axis=1) for i in range(DIMENSION)], axis=1)


def _slope(contexts, used, theta):
    """Derivative of g, shape (runs, 2, 2)."""
    import numpy as np

    mean = _logistic(_products(contexts, theta)) * used
    weights = mean * (1 - mean)
    first, second = contexts[..., 0], contexts[..., 1]
    mixed = (weights * first * second).sum(axis=1)
    rows = [(weights * first**2).sum(axis=1), mixed, mixed, (weights * second**2).sum(axis=1)]
    return np.stack(rows, axis=1).reshape(-1, 2, 2) + RIDGE * np.eye(2)


def _solve(matrix, vector):
    """Solutions of 2 x 2 systems, shapes (runs, 2, 2) and (runs, 2)."""
    import numpy as np

    (a, b), (c, d) = matrix[:, 0].T, matrix[:, 1].T
    u, v = vector.T
    return np.stack([d * u - b * v, a * v - c * u], axis=1) / (a * d - b * c)[:, None]


def regularised_estimate(contexts, used, answers, start):
    """Maximise log-likelihood minus lambda_0/2 |theta|^2 by Newton's method, in each run.

    Parameters
    ----------
    contexts, used : ndarray
        As in `gradient_map`.
    answers : ndarray, shape (runs, n)
        Bits.
    start : ndarray, shape (runs, 2)

    Returns
    -------
    ndarray, shape (runs, 2)

    Raises
    ------
    ArithmeticError
        If the steps do not become short.
    """
    import numpy as np

    theta = start.copy()
    target = _weighted_sum(answers * used, contexts)
    for _ in range(_ITERATIONS):
        residual = target - gradient_map(contexts, used, theta)
        step = _solve(_slope(contexts, used, theta), residual)
        length = np.hypot(*step.T)
        if length.max() < _STEP:
            return theta + step
        theta += step * np.minimum(1, 1 / np.maximum(length, 1e-300))[:, None]  # at most 1 long
    raise ArithmeticError("Newton's method did not settle")


def projected(contexts, used, theta, design):
    """Where theta is outside the ball of radius S: the point of it with the nearest g, in V^-1.

    The derivative of g is invertible, so the nearest point is on the circle: the best of equally spaced
    angles, refined by golden sections.

    Parameters
    ----------
    contexts, used, theta : ndarray
        As in `gradient_map`.
    design : ndarray, shape (runs, 2, 2)
        V.

    Returns
    -------
    ndarray, shape (runs, 2)
    """
    import numpy as np

    outside = np.flatnonzero(np.hypot(*theta.T) > RADIUS)
    if not outside.size:
        return theta
    contexts, used, design = contexts[outside], used[outside], design[outside]
    target = gradient_map(contexts, used, theta[outside])

    def point(angle):
        return RADIUS * np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def distance(angle):
        apart = gradient_map(contexts, used, point(angle)) - target
        return np.einsum("rd,rd->r", apart, _solve(design, apart))

    spacing = 2 * np.pi / _ANGLES
    straight = np.arctan2(theta[outside, 1], theta[outside, 0])
    around = np.stack([distance(straight + k * spacing) for k in range(_ANGLES)])
    low = straight + (around.argmin(axis=0) - 1) * spacing
    high = low + 2 * spacing
    golden = (np.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = distance(left), distance(right)
    for _ in range(_SECTIONS):
        lower = at_left < at_right
        low, high = np.where(lower, low, left), np.where(lower, right, high)
        kept, at_kept = np.where(lower, left, right), np.where(lower, at_left, at_right)
        new = np.where(lower, high - golden * (high - low), low + golden * (high - low))
        at_new = distance(new)
        left, right = np.where(lower, new, kept), np.where(lower, kept, new)
        at_left, at_right = np.where(lower, at_new, at_kept), np.where(lower, at_kept, at_new)
    result = theta.copy()
    result[outside] = point((low + high) / 2)
    return result


@evidence(
    "contextual.estimation_error",
    quick={"rounds": 120, "runs": 200, "bonus": 0.5},
    full={"rounds": 600, "runs": 300, "bonus": 0.5},
)
def estimation_error(seed, jobs, *, rounds, runs, bonus):
    """Two servers, two dimensions; of three contexts that wait in a round, the best pair is tried.

    Contexts are uniform on the circle of radius 1; the true parameters have a uniform direction and a
    length uniform in [S/2, S]. The best pair has the largest estimated rate plus ``bonus`` times
    |x|_(V^-1). Estimate and projection of the used server are renewed after each round.

    Arrays: ``error`` (runs, rounds + 1), at n the larger of both servers' |estimate - truth|_V/4 after n
    samples of the server (0 where none has so many). That is the supremum, over all contexts of norm at
    most 1, of the error of the estimated rate divided by |x|_(V^-1), approached by short contexts.
    """
    import numpy as np

    from simlib.streams import replication_seeds

    draws = np.stack(
        [
            np.random.default_rng(one).random((rounds + 1, CANDIDATES + 1))
            for one in replication_seeds(seed, "contextual.estimation_error", runs)
        ]
    )
    angles = 2 * np.pi * draws[..., :CANDIDATES]
    waiting = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    # round 0 of the draws gives the truth: directions, and the lengths from what is left of them
    truth = waiting[:, 0, :SERVERS] * RADIUS * (0.5 + 0.5 * draws[:, 0, -SERVERS:, None])
    every = np.arange(runs)
    contexts = np.zeros((runs, SERVERS, rounds, DIMENSION))
    answers = np.zeros((runs, SERVERS, rounds))
    count = np.zeros((runs, SERVERS), dtype=int)
    design = np.broadcast_to(CURVATURE * RIDGE * np.eye(2), (runs, SERVERS, 2, 2)).copy()
    inverse = np.linalg.inv(design)
    free = np.zeros((runs, SERVERS, DIMENSION))  # before the projection
    guess = free.copy()
    error = np.zeros((runs, rounds + 1))
    error[:, 0] = np.sqrt(CURVATURE * RIDGE) * np.linalg.norm(truth, axis=2).max(axis=1) / 4
    for t in range(1, rounds + 1):
        x = waiting[:, t]
        width = np.sqrt(np.einsum("rcd,rkde,rce->rck", x, inverse, x))
        score = _logistic(np.einsum("rcd,rkd->rck", x, guess)) + bonus * width
        job, server = np.unravel_index(score.reshape(runs, -1).argmax(axis=1), score.shape[1:])
        tried = x[every, job]
        rate = _logistic(np.einsum("rd,rd->r", tried, truth[every, server]))
        number = count[every, server]
        contexts[every, server, number] = tried
        answers[every, server, number] = draws[:, t, -1] < rate
        count[every, server] += 1
        design[every, server] += tried[:, :, None] * tried[:, None, :]
        longest = number.max() + 1
        samples, bits = contexts[every, server, :longest], answers[every, server, :longest]
        used, v = np.arange(longest) <= number[:, None], design[every, server]
        theta = regularised_estimate(samples, used, bits, free[every, server])
        free[every, server] = theta
        theta = projected(samples, used, theta, v)
        guess[every, server] = theta
        inverse[every, server] = np.linalg.inv(v)
        apart = theta - truth[every, server]
        size = np.sqrt(np.einsum("rd,rde,re->r", apart, v, apart)) / 4
        error[every, number + 1] = np.maximum(error[every, number + 1], size)
    return {"error": error}


@evidence(
    "contextual.least_eigenvalues",
    quick={"samples": 12, "runs": 2_000},
    full={"samples": 12, "runs": 100_000},
)
def least_eigenvalues(seed, jobs, *, samples, runs):
    """Sums of x x^T over independent contexts, uniform on the circle of radius 1 (sigma_0^2 = 1/2).

    Arrays: ``samples``; ``least`` (runs,), least eigenvalues: (n - |sum e^(2 i angle)|)/2.
    """
    import numpy as np

    from simlib.streams import replication_seeds

    (root,) = replication_seeds(seed, "contextual.least_eigenvalues", 1)
    angles = 2 * np.pi * np.random.default_rng(root).random((runs, samples))
    return {
        "samples": samples,
        "least": (samples - np.abs(np.exp(2j * angles).sum(axis=1))) / 2,
    }
