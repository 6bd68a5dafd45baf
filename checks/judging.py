"""What judges of several topics share: printed numbers, samples fit to judge, and two lemmas."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from checks.finding import Finding, combine, decimal, proved, refuted, undecided

if TYPE_CHECKING:
    from checks.claim import Claim
    from checks.evidence import Evidence


def as_printed_decimal(name: str, text: str) -> tuple[Fraction, Fraction]:
    """A decimal and half a unit of its last digit: what a printed number stands for.

    Parameters
    ----------
    name : str
        How the number is called.
    text : str
        Digits, a point, digits.

    Raises
    ------
    ValueError
        For any other text: it would not say how exactly the number is meant.
    """
    if not re.fullmatch(r"[0-9]+\.[0-9]+", text.strip()):
        raise ValueError(f"{name} = {text!r}: must be a plain decimal with a point, such as 1.342")
    return Fraction(text.strip()), Fraction(1, 2 * 10 ** len(text.strip().partition(".")[2]))


def one_for_each(name: str, text: str, *cases: object) -> list[str]:
    """The texts of a list of numbers that are parted by commas, one for each case.

    Parameters
    ----------
    name : str
        How the list is called.
    text : str
    *cases
        What the numbers are about, in their order.

    Raises
    ------
    ValueError
        If there are more numbers or fewer.
    """
    texts = [part.strip() for part in text.split(",")]
    if len(texts) != len(cases):
        each = "; ".join(map(str, cases))
        raise ValueError(f"{name} = {text!r}: must be {len(cases)} numbers, for {each}")
    return texts


def misprint(
    name: str, text: str, cases: Iterable[tuple[str, Fraction]], digits: int = 6
) -> Finding | None:
    """Refuted at the first of several decimals that is not its value, correctly rounded; else None.

    Parameters
    ----------
    name : str
        How the list of decimals is called.
    text : str
        Decimals, parted by commas.
    cases : iterable of (str, Fraction)
        What each decimal is, and its value.
    digits : int
        Of the value, in what is found.

    Raises
    ------
    ValueError
        If their number differs, or one is no plain decimal.
    """
    cases = list(cases)
    texts = one_for_each(name, text, *(case for case, _ in cases))
    for (case, value), one in zip(cases, texts, strict=True):
        stated, half = as_printed_decimal(name, one)
        if abs(value - stated) > half:
            return refuted(f"{case}: {decimal(value, digits)}, not {one}")
    return None


def unfit(values: Any, evidence: Evidence, name: str) -> Finding | None:
    """Undecided where samples carry no verdict: too few runs, not finite, or without spread.

    Parameters
    ----------
    values : array_like, shape (n,)
        One number for each independent run, of a quantity that is random.
    evidence : Evidence
        Whose ``runs`` at quick effort are the fewest that the design allows.
    name : str
    """
    import numpy as np

    least = evidence.parameters("quick")["runs"]
    values = np.asarray(values, dtype=float)
    if values.ndim != 1 or len(values) < least:
        return undecided(f"{name}: {values.shape} values; the design needs {least} runs")
    if not np.isfinite(values).all():
        return undecided(f"{name}: not every run gave a finite number")
    if np.ptp(values) == 0:
        return undecided(f"{name}: all {len(values)} runs gave {values[0]:g}, which is not random")
    return None


def first_unfit(findings: Iterable[Finding | None]) -> Finding | None:
    """The first that is not None."""
    return next((found for found in findings if found is not None), None)


def as_stated(lemma: Claim, **numbers: str) -> Finding:
    """Whether a lemma still claims the numbers with which it is used; else nothing is decided.

    Parameters
    ----------
    lemma : Claim
    **numbers : str
        Numbers of the lemma, as its user's formulas have them.
    """
    changed = [f"{k} = {lemma.claimed[k]}" for k in numbers if lemma.claimed[k] != numbers[k]]
    if changed:
        return undecided(f"{lemma.id} is used with other numbers than it claims: {changed[0]}")
    return proved(f"{lemma.id} is used as stated")


def bernoulli_moment() -> Finding:
    """Decide ln E e^(s B) <= s p + s^2/8 for a bit B with mean p and all real s (Hoeffding's lemma).

    The difference f(s) = ln(1 - p + p e^s) - s p has f(0) = f'(0) = 0, and 1/4 - f'' is a square.
    """
    import sympy

    from checks.methods.symbolic import identity

    s, p = sympy.Symbol("s", real=True), sympy.Symbol("p", positive=True)
    moment = 1 - p + p * sympy.exp(s)
    f = sympy.log(moment) - s * p
    room = (1 - p - p * sympy.exp(s)) ** 2 / (4 * moment**2)
    return combine(
        [
            identity(f.subs(s, 0), sympy.Integer(0), "f(0) = 0"),
            identity(sympy.diff(f, s).subs(s, 0), sympy.Integer(0), "f'(0) = 0"),
            identity(sympy.Rational(1, 4) - sympy.diff(f, s, 2), room, "1/4 - f''"),
        ],
        "f(0) = f'(0) = 0 and f'' <= 1/4",
    )


def exponential_above_line(slope: Fraction = Fraction(1)) -> Finding:
    """Decide e^x >= 1 + slope x for all real x; strict but at 0 for slope 1.

    The difference is convex and 0 at 0, so it is the slope there that decides: for 1, 0 is the minimum;
    otherwise a point a little to one side is below.
    """
    import sympy

    from checks.methods.certified import ball, precision

    x = sympy.symbols("x", real=True)
    g = sympy.exp(x) - 1 - sympy.Rational(slope.numerator, slope.denominator) * x
    convex = bool(g.subs(x, 0) == 0) and bool(sympy.diff(g, x, 2).is_positive)
    if convex and sympy.diff(g, x).subs(x, 0) == 0:
        return proved("e^x - 1 - x is convex, and 0 with slope 0 at 0: positive elsewhere")
    at = (slope - 1) / 2
    with precision(100):
        if ball(at).exp() < 1 + ball(slope) * ball(at):
            return refuted(f"e^x < 1 + {slope} x at x = {at}")
    return undecided(f"e^x against 1 + {slope} x")
