"""Estimates with intervals: what the statistical checks judge and the chapters draw.

A sample is one number a replication; replications are independent. Bounded quantities get intervals
that hold for every sample size; the normal approximation is there for the rest, with its
conditions.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from simlib.arguments import (
    non_negative_integer,
    positive_integer,
    probability_open,
    real,
    real_vector,
)

__all__ = [
    "Estimate",
    "mean_hoeffding",
    "mean_normal",
    "proportion",
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
    vector = _samples(samples, least=1)
    low, high = real("low", low), real("high", high)
    if low >= high:
        raise ValueError(f"low = {low}, high = {high}; permitted: low < high")
    outside = np.flatnonzero((vector < low) | (vector > high))
    if outside.size:
        where = int(outside[0])
        raise ValueError(f"samples[{where}] = {vector[where]}; permitted: from {low} to {high}")
    alpha = probability_open("alpha", alpha)
    radius = (high - low) * math.sqrt(math.log(2 / alpha) / (2 * len(vector)))
    # The mean of numbers within the bounds can leave them by a rounding error.
    mean = min(max(float(np.mean(vector)), low), high)
    return Estimate(
        value=mean,
        low=max(low, mean - radius),
        high=min(high, mean + radius),
        n=len(vector),
        alpha=alpha,
        method="Hoeffding",
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
