"""Enclosures of the mean queue under normalized odds, for the claims about the queue in front."""

from fractions import Fraction
from functools import lru_cache


def fractions(rates) -> tuple[Fraction, ...]:
    """Rates given as text, as exact rationals."""
    return tuple(Fraction(rate) for rate in rates)


@lru_cache(maxsize=8)
def _router(rates: tuple[str, ...]):
    """One step of the normalized odds router in rationals: accepted, rejected, service alone."""
    from simlib.recharge.exact import router_matrices, service_matrix
    from simlib.recharge.formulas import normalized_odds

    mu = fractions(rates)
    accepted, rejected = router_matrices(mu, normalized_odds(mu))
    return accepted.sum(axis=0), rejected.sum(axis=0), service_matrix(mu)


@lru_cache(maxsize=8)
def _saturated(rates: tuple[str, ...]):
    """The same matrices as floats and as Arb balls."""
    from flint import arb_mat, fmpq

    def as_arb(matrix):
        entries = [fmpq(x.numerator, x.denominator) for x in map(Fraction, matrix.ravel())]
        return arb_mat(*matrix.shape, entries)

    return [(matrix.astype(float), as_arb(matrix)) for matrix in _router(rates)]


@lru_cache(maxsize=64)
def mean_queue(rates: tuple[str, ...], margin: str) -> tuple[Fraction, Fraction]:
    """Certified interval for the stationary mean queue of normalized odds, at the end of a step.

    Parameters
    ----------
    rates : tuple of str
        Exact service rates.
    margin : str
        h - lambda, positive.

    Returns
    -------
    low, high : Fraction

    Notes
    -----
    Any V that grows at most quadratically and satisfies (P V - V)(k, b) = c - k + r(k, b) in every
    state gives |E[Q] - c| <= max |r|. V = Psi^2/(2 eps) + beta Psi + y(b) + w(k, b) with
    w(k) = G^k w(0) is found in floating point (G: first passage one level down); r is then
    evaluated in Arb: at level 0, at levels 1..K where w is stored, and once for all levels above,
    where w is constant and the dependence on k cancels exactly (Psi drifts by -eps).
    """
    import numpy as np
    from flint import arb, arb_mat

    from checks.methods.certified import ball, ends, precision
    from simlib.recharge.formulas import hamacher_sum

    (accept, accept_arb), (reject, reject_arb), (serve, serve_arb) = _saturated(rates)
    exact_rates = fractions(rates)
    odds = [rate / (1 - rate) for rate in exact_rates]
    shares = [x / sum(odds) for x in odds]
    weights = [p / (r + (1 - r) * p) for p, r in zip(shares, exact_rates, strict=True)]
    gap = Fraction(margin)
    rate = hamacher_sum(exact_rates) - gap
    patterns = range(len(accept))
    buffered = [sum(w for j, w in enumerate(weights) if b >> j & 1) for b in patterns]
    levels = 64

    lam, eps, psi = float(rate), float(gap), np.array([float(x) for x in buffered])
    down, stay, up = (1 - lam) * accept, lam * accept + (1 - lam) * reject, lam * reject
    stay_empty = lam * accept + (1 - lam) * serve
    passage = _first_passage(down, stay, up)

    def polynomial(level, slope):
        return (level + psi) ** 2 / (2 * eps) + slope * (level + psi)

    def image(level, f):
        """P f at a level of at least 1, f a function of the level."""
        return down @ f(level - 1) + stay @ f(level) + up @ f(level + 1)

    phases, ones = accept + reject, np.ones(len(accept))
    excess = image(1, lambda k: polynomial(k, 0.0)) - polynomial(1, 0.0) + 1
    # Least squares: the balance matrix has the constants as its kernel.
    law = np.linalg.lstsq(
        np.vstack([(phases - np.eye(len(ones))).T, ones]), np.append(0 * ones, 1), rcond=None
    )[0]
    level_constant = law @ excess
    y = np.linalg.lstsq(phases - np.eye(len(ones)), level_constant - excess, rcond=None)[0]
    # Level 0 fixes w(0) up to a constant and the mean c; slope = (level_constant - c)/eps.
    base = stay_empty @ (polynomial(0, 0.0) + y) + up @ (polynomial(1, 0.0) + y)
    base -= polynomial(0, 0.0) + y
    with_slope = (stay_empty @ psi + up @ (1 + psi) - psi) / eps
    system = np.column_stack([stay_empty + up @ passage - np.eye(len(ones)), -with_slope - ones])
    solution = np.linalg.lstsq(system, -base - level_constant * with_slope, rcond=None)[0]
    w, mean = [solution[:-1]], solution[-1]
    for _ in range(levels):
        w.append(passage @ w[-1])
    w[-1] = w[-2] = np.full(len(ones), w[-1].mean())
    slope = (level_constant - mean) / eps

    with precision(160):
        columns = arb_mat(len(ones), levels + 1, [arb(float(x)) for x in np.array(w).T.ravel()])
        lam_, eps_, slope_, mean_ = ball(rate), ball(gap), arb(float(slope)), arb(float(mean))
        psi_ = [ball(x) for x in buffered]
        y_ = [arb(float(x)) for x in y]

        def v(level):
            return arb_mat(
                [
                    [(level + p) ** 2 / (2 * eps_) + slope_ * (level + p) + z]
                    for p, z in zip(psi_, y_, strict=True)
                ]
            )

        v0, v1, v2 = v(0), v(1), v(2)
        tail = (
            (1 - lam_) * (accept_arb * v0)
            + lam_ * (accept_arb * v1)
            + (1 - lam_) * (reject_arb * v1)
            + lam_ * (reject_arb * v2)
            - v1
        )
        accepted, rejected = accept_arb * columns, reject_arb * columns
        worst = arb(0)
        for b in patterns:
            constant = tail[b, 0] + 1 - mean_
            worst = worst.max(abs(constant))
            for level in range(1, levels):
                residual = (
                    constant
                    + (1 - lam_) * (accepted[b, level - 1] + rejected[b, level])
                    + lam_ * (accepted[b, level] + rejected[b, level + 1])
                    - columns[b, level]
                )
                worst = worst.max(abs(residual))
        first = arb_mat([[columns[b, 0]] for b in patterns])
        second = arb_mat([[columns[b, 1]] for b in patterns])
        empty = (
            lam_ * (accept_arb * (v0 + first) + reject_arb * (v1 + second))
            + (1 - lam_) * (serve_arb * (v0 + first))
            - v0
            - first
        )
        for b in patterns:
            worst = worst.max(abs(empty[b, 0] - mean_))
        low, high = ends(mean_ - worst)[0], ends(mean_ + worst)[1]
    return low, high


def _first_passage(down, stay, up):
    """First passage matrix one level down, by logarithmic reduction (floating point)."""
    import numpy as np

    identity = np.eye(len(down))
    inverse = np.linalg.inv(identity - stay)
    lower, upper = inverse @ down, inverse @ up
    passage, weight = lower.copy(), upper.copy()
    for _ in range(60):
        inverse = np.linalg.inv(identity - lower @ upper - upper @ lower)
        lower, upper = inverse @ lower @ lower, inverse @ upper @ upper
        change = weight @ lower
        passage, weight = passage + change, weight @ upper
        if change.max() < 1e-17:
            break
    return passage


@lru_cache(maxsize=4)
def heavy_traffic_constant(rates: tuple[str, ...]) -> Fraction:
    """Limit of (h - lambda) E[Q] for normalized odds as lambda tends to h, exactly.

    Half the stationary second moment of the step of Psi at lambda = h, where Psi has no drift:
    0 = E[Psi'^2 - Psi^2] = -2 eps E[Psi] + E[(Psi' - Psi)^2] in the limit.
    """
    import numpy as np

    from simlib.recharge.exact import stationary_law

    mu = fractions(rates)
    accepted, rejected, _ = _router(rates)
    law = stationary_law(accepted + rejected)
    odds = [rate / (1 - rate) for rate in mu]
    shares = [x / sum(odds) for x in odds]
    weights = [p / (r + (1 - r) * p) for p, r in zip(shares, mu, strict=True)]
    h = sum(odds) / (1 + sum(odds))
    psi = np.array(
        [
            sum((w for j, w in enumerate(weights) if b >> j & 1), Fraction(0))
            for b in range(len(law))
        ]
    )
    # E[(arrival - accepted + psi' - psi)^2 | b], the squares expanded so that only matrix-vector
    # products are needed; the arrival is independent with mean and mean square h.
    ones = np.array([Fraction(1)] * len(law))

    def second_moment(matrix, shift):
        start = shift - psi
        return (
            start * start * matrix.dot(ones) + 2 * start * matrix.dot(psi) + matrix.dot(psi * psi)
        )

    moment = h * (second_moment(accepted, 0 * ones) + second_moment(rejected, ones)) + (1 - h) * (
        second_moment(accepted, -ones) + second_moment(rejected, 0 * ones)
    )
    return law.dot(moment) / 2
