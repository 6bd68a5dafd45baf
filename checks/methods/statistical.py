"""Judging samples: a statement is proved when the whole interval lies where it says.

"The interval contains v" proves nothing; an interval that neither lies inside the claimed region
nor outside it leaves the statement undecided.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from checks.finding import Finding, estimate, proved, refuted, undecided

FEWEST_RUNS = 30


class Interval(Protocol):
    """What is judged: an estimate with a finite-sample interval."""

    value: float
    low: float
    high: float


def equals(sample: Interval, value: float, within: float, name: str, digits: int = 5) -> Finding:
    """Decide "the parameter is ``value`` to within ``within``" from its interval.

    Parameters
    ----------
    sample : Interval
    value, within : float
        The claimed value and the declared accuracy, ``within > 0``.
    name : str
        What is estimated; also the name of the recorded quantity.
    digits : int
        Digits shown.
    """
    if not within > 0:
        raise ValueError(f"within = {within!r}: must be positive")
    shown = estimate(sample.value, sample.low, sample.high, digits)
    text = f"{name} = {shown}"
    values = {name: shown}
    if not sample.low < sample.high:
        return undecided(f"{text}: samples without spread are no samples", **values)
    target = f"{value:.{digits}f} ± {within:.{digits}f}"
    if value - within <= sample.low and sample.high <= value + within:
        inside = min(sample.low - value + within, value + within - sample.high)
        return proved(f"{text} lies inside {target}", margin=f"{inside:.2g}", **values)
    if sample.high < value - within or sample.low > value + within:
        return refuted(f"{text} lies outside {target}", **values)
    return undecided(f"{text} is neither inside nor outside {target}", **values)


def at_least(sample: Interval, value: float, name: str, digits: int = 5) -> Finding:
    """Decide "the parameter is at least ``value``" from its interval."""
    shown = estimate(sample.value, sample.low, sample.high, digits)
    values, text = {name: shown}, f"{name} = {shown}"
    if sample.low >= value:
        margin = f"{sample.low - value:.2g}"
        return proved(f"{text} lies above {value:.{digits}f}", margin=margin, **values)
    if sample.high < value:
        return refuted(f"{text} lies below {value:.{digits}f}", **values)
    return undecided(f"{text} contains {value:.{digits}f}", **values)


def at_most(sample: Interval, value: float, name: str, digits: int = 5) -> Finding:
    """Decide "the parameter is at most ``value``" from its interval."""
    shown = estimate(sample.value, sample.low, sample.high, digits)
    values, text = {name: shown}, f"{name} = {shown}"
    if sample.high <= value:
        margin = f"{value - sample.high:.2g}"
        return proved(f"{text} lies below {value:.{digits}f}", margin=margin, **values)
    if sample.low > value:
        return refuted(f"{text} lies above {value:.{digits}f}", **values)
    return undecided(f"{text} contains {value:.{digits}f}", **values)


def most_runs(values, satisfied: Callable, alpha: float, name: str, says: str) -> Finding:
    """Decide "a run is ``says`` with probability above 1/2", without assuming a law.

    Parameters
    ----------
    values : array_like, shape (n,)
        One number for each independent run; with fewer than 30, with one that is not finite, or with
        all of them equal nothing is decided.
    satisfied : callable
        Whether a number is what is stated.
    alpha : float
        Probability of error of the exact (Clopper-Pearson) interval.
    name, says : str
        What the number is, and what is stated of it, for the witness.
    """
    import numpy as np

    from simlib.estimate import proportion

    values = np.asarray(values, dtype=float)
    if len(values) < FEWEST_RUNS or not np.isfinite(values).all() or np.ptp(values) == 0:
        return undecided(f"{name}: {FEWEST_RUNS} or more finite values with some spread are needed")
    hits = sum(bool(satisfied(value)) for value in values)
    share = proportion(hits, len(values), alpha)
    # What a later run is compared with is the interval for the median, from order statistics.
    ranked = np.sort(values)
    shown = estimate(float(np.median(ranked)), float(ranked[0]), float(ranked[-1]))
    text = f"{name}: median {shown.text}, {hits} of {len(values)} runs {says}"
    if share.low > 0.5:
        return proved(text, margin=f"probability at least {share.low:.2f}", **{name: shown})
    if share.high < 0.5:
        return refuted(text, **{name: shown})
    return undecided(text, **{name: shown})
