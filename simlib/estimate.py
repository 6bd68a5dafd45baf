"""Estimates with intervals: what the statistical checks judge and the chapters draw.

A sample is one number a replication; replications are independent. Bounded quantities get intervals
that hold for every sample size; the normal approximation is there for the rest, with its
conditions.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from simlib.arguments import non_negative_integer, positive_integer, probability_open, real_vector

__all__ = [
    "Estimate",
    "mean_empirical_bernstein",
    "mean_hoeffding",
    "mean_normal",
    "paired_difference",
    "proportion",
    "slope_loglog",
]


@dataclass(frozen=True)
class Estimate:
    """A number estimated from independent replications.

    Attributes
    ----------
    value : float
        Point estimate.
    low, high : float
        Two-sided confidence interval: it contains the true value with probability at least
        ``1 - alpha`` (approximately, for the method "normal").
    n : int
        Replications.
    alpha : float
        Probability of error, in (0, 1).
    method : str
        How the interval was made.
    """

    value: float
    low: float
    high: float
    n: int
    alpha: float
    method: str

    @property
    def half_width(self):
        """Half the length of the interval."""
        return (self.high - self.low) / 2


def _samples(samples, least):
    vector = real_vector("samples", samples)
    if len(vector) < least:
        raise ValueError(f"samples has {len(vector)} entries; permitted: at least {least}")
    return vector


def _bounded(samples, low, high, least):
    vector = _samples(samples, least)
    low, high = float(low), float(high)
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"low = {low}, high = {high}; permitted: finite numbers with low < high")
    outside = np.flatnonzero((vector < low) | (vector > high))
    if outside.size:
        where = int(outside[0])
        raise ValueError(f"samples[{where}] = {vector[where]}; permitted: from {low} to {high}")
    return vector, low, high


def mean_hoeffding(samples, low, high, alpha):
    """Estimate the mean of a bounded quantity by Hoeffding's inequality.

    Parameters
    ----------
    samples : array_like, shape (n,)
        Independent values, n >= 1; they need not have the same law.
    low, high : float
        Bounds that hold for every possible value, not only for those observed.
    alpha : float
        Probability of error, in (0, 1).

    Returns
    -------
    Estimate
        Mean plus or minus ``(high - low) sqrt(ln(2 / alpha) / (2 n))``, cut to the bounds.

    Raises
    ------
    ValueError
        If a sample lies outside the bounds or a parameter is out of range.

    References
    ----------
    W. Hoeffding, "Probability inequalities for sums of bounded random variables", Journal of the
    American Statistical Association 58, 1963, Theorem 2.
    """
    vector, low, high = _bounded(samples, low, high, least=1)
    alpha = probability_open("alpha", alpha)
    radius = (high - low) * math.sqrt(math.log(2 / alpha) / (2 * len(vector)))
    return _clipped(vector, radius, low, high, alpha, "Hoeffding")


def mean_empirical_bernstein(samples, low, high, alpha):
    """Estimate the mean of a bounded quantity by the empirical Bernstein inequality.

    Shorter than Hoeffding's interval if the standard deviation is well below the range and n is
    some hundreds or more.

    Parameters
    ----------
    samples : array_like, shape (n,)
        Independent values, n >= 2; they need not have the same law.
    low, high : float
        Bounds that hold for every possible value, not only for those observed.
    alpha : float
        Probability of error, in (0, 1).

    Returns
    -------
    Estimate
        Mean plus or minus ``s sqrt(2 ln(4/alpha) / n) + 7 (high - low) ln(4/alpha) / (3 (n - 1))``
        with the sample standard deviation s, cut to the bounds.

    Raises
    ------
    ValueError
        If a sample lies outside the bounds or a parameter is out of range.

    References
    ----------
    A. Maurer and M. Pontil, "Empirical Bernstein bounds and sample variance penalization", COLT
    2009, Theorem 4, used on both sides with half the probability of error.
    """
    vector, low, high = _bounded(samples, low, high, least=2)
    alpha = probability_open("alpha", alpha)
    n, log_term = len(vector), math.log(4 / alpha)
    radius = math.sqrt(2 * float(np.var(vector, ddof=1)) * log_term / n)
    radius += 7 * (high - low) * log_term / (3 * (n - 1))
    return _clipped(vector, radius, low, high, alpha, "empirical Bernstein")


def _clipped(vector, radius, low, high, alpha, method):
    # The mean of numbers within the bounds can leave them by a rounding error.
    mean = min(max(float(np.mean(vector)), low), high)
    return Estimate(
        value=mean,
        low=max(low, mean - radius),
        high=min(high, mean + radius),
        n=len(vector),
        alpha=alpha,
        method=method,
    )


def proportion(successes, n, alpha):
    """Estimate a probability from the number of successes, exactly.

    Parameters
    ----------
    successes, n : int
        ``0 <= successes <= n``, n >= 1.
    alpha : float
        Probability of error, in (0, 1).

    Returns
    -------
    Estimate
        Interval of Clopper and Pearson: never covers with less than ``1 - alpha``.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    References
    ----------
    C. Clopper and E. Pearson, "The use of confidence or fiducial limits illustrated in the case of
    the binomial", Biometrika 26, 1934.
    """
    n = positive_integer("n", n)
    successes = non_negative_integer("successes", successes)
    if successes > n:
        raise ValueError(f"successes = {successes}; permitted: integers from 0 to n = {n}")
    alpha = probability_open("alpha", alpha)
    failures = n - successes
    low = stats.beta.ppf(alpha / 2, successes, failures + 1) if successes else 0.0
    high = stats.beta.isf(alpha / 2, successes + 1, failures) if failures else 1.0
    return Estimate(successes / n, float(low), float(high), n, alpha, "Clopper-Pearson")


def mean_normal(samples, alpha):
    """Estimate a mean by Student's t interval.

    Exact for normal samples, otherwise an approximation. It is justified where each sample is
    itself an average over many nearly independent pieces (a long-run average of a replication), and
    n is not tiny beside ``ln(1 / alpha)``: at alpha = 1e-6 the tails decide, so take n of 30 or
    more. It is not justified for rare events or heavy tails.

    Parameters
    ----------
    samples : array_like, shape (n,)
        Independent values of the same law, n >= 2.
    alpha : float
        Probability of error, in (0, 1).

    Returns
    -------
    Estimate

    Raises
    ------
    ValueError
        If there are fewer than two samples or a parameter is out of range.

    References
    ----------
    Student, "The probable error of a mean", Biometrika 6, 1908.
    """
    vector = _samples(samples, least=2)
    alpha = probability_open("alpha", alpha)
    n = len(vector)
    mean = float(np.mean(vector))
    radius = float(stats.t.isf(alpha / 2, n - 1) * np.std(vector, ddof=1) / math.sqrt(n))
    return Estimate(mean, mean - radius, mean + radius, n, alpha, "normal")


def paired_difference(first, second, alpha):
    """Estimate the difference of two means from replications paired by their random numbers.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Entry i of both comes from replication i, n >= 2.
    alpha : float
        Probability of error, in (0, 1).

    Returns
    -------
    Estimate
        Of the mean of ``first - second``, by `mean_normal` (see there when it is justified).

    Raises
    ------
    ValueError
        If the lengths differ or a parameter is out of range.
    """
    first, second = real_vector("first", first), real_vector("second", second)
    if len(first) != len(second):
        raise ValueError(
            f"second has {len(second)} entries; permitted: as many as first, {len(first)}"
        )
    return mean_normal(first - second, alpha)


def slope_loglog(x, samples, alpha):
    """Estimate the exponent of a power law from independent replications.

    Parameters
    ----------
    x : array_like, shape (points,)
        At least two different positive numbers, such as horizons.
    samples : array_like, shape (n, points)
        Positive values, a row a replication, n >= 2.
    alpha : float
        Probability of error, in (0, 1).

    Returns
    -------
    Estimate
        Mean of the replications' least-squares slopes of ln(sample) on ln(x), with the t interval
        of `mean_normal`. Points of one replication may depend on each other: each slope counts
        once.

    Raises
    ------
    ValueError
        If a number isn't positive or a shape doesn't fit.

    Notes
    -----
    Estimates the slope over the given x, which for a law with lower-order terms is not the
    asymptotic exponent.
    """
    x = real_vector("x", x)
    if len(np.unique(x)) < 2 or (x <= 0).any():
        raise ValueError(f"x = {x}; permitted: positive numbers, at least two different")
    values = np.asarray(samples, dtype=float)
    if values.ndim != 2 or values.shape[1] != len(x):
        raise ValueError(f"samples has shape {values.shape}; permitted: (n, {len(x)})")
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError("samples has an entry that is not positive; permitted: finite, above 0")
    centered = np.log(x) - np.log(x).mean()
    slopes = np.log(values) @ centered / (centered @ centered)
    return mean_normal(slopes, alpha)
