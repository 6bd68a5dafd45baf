"""Judging samples: a statement is proved when the whole interval lies where it says.

"The interval contains v" proves nothing; an interval that neither lies inside the claimed region
nor outside it leaves the statement undecided.
"""

from __future__ import annotations

from typing import Protocol

from checks.finding import Finding, estimate, proved, refuted, undecided


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
