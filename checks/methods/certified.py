"""Certified arithmetic: Arb balls, three-valued.

A comparison of balls answers ``True`` only when it holds for every point of both; ``False`` means
"not shown". So the helpers here prove, or refute with a witness point, or say that they can't tell.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING

from checks.finding import Finding, Quantity, decimal, enclosure, proved, refuted, undecided
from checks.judging import as_printed_decimal

if TYPE_CHECKING:
    from flint import arb

MAX_BOXES = 200_000


@contextmanager
def precision(bits: int):
    """Work with ``bits`` bits of precision inside the block."""
    from flint import ctx

    before, ctx.prec = ctx.prec, bits
    try:
        yield
    finally:
        ctx.prec = before


def ball(value: Fraction | int | str) -> arb:
    """A ball that contains the rational (never built from a float: 0.1 is not one tenth)."""
    from flint import arb, fmpq

    value = Fraction(value)
    return arb(fmpq(value.numerator, value.denominator))


def interval(low: Fraction, high: Fraction) -> arb:
    """The smallest ball around [low, high]."""
    return ball(low).union(ball(high))


def ends(x: arb) -> tuple[Fraction, Fraction]:
    """Rational ends of a ball."""

    def rational(end: arb) -> Fraction:
        mantissa, exponent = end.mid().man_exp()
        return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)

    low, high = x.lower(), x.upper()
    return rational(low) - rational(low.rad()), rational(high) + rational(high.rad())


def quantity(x: arb, digits: int = 40) -> Quantity:
    """A ball as a named enclosure."""
    low, high = ends(x)
    return enclosure(low, high, digits)


def positive_on(
    function: Callable[[arb], arb],
    low: Fraction,
    high: Fraction,
    *,
    derivative: Callable[[arb], arb] | None = None,
    boxes: int = MAX_BOXES,
    narrowest: Fraction = Fraction(1, 2**40),
) -> tuple[Finding, int]:
    """Decide whether ``function > 0`` on [low, high], by subdivision.

    Parameters
    ----------
    function : callable
        Takes a ball, returns a ball that contains every value on it.
    low, high : Fraction
    derivative : callable, optional
        Encloses the derivative on a ball; then the mean value form is used, which needs far fewer
        boxes where the function is nearly 0.
    boxes : int
        Give up after that many boxes.
    narrowest : Fraction
        Give up on a box narrower than that, where its midpoint gives no counterexample.

    Returns
    -------
    Finding, int
        Proved; refuted (by a point at which the function is certainly negative); or undecided.
        And the number of boxes looked at.
    """
    todo, count = [(Fraction(low), Fraction(high))], 0
    while todo:
        left, right = todo.pop()
        count += 1
        box, middle = interval(left, right), (left + right) / 2
        at_middle = function(ball(middle))
        if function(box) > 0:
            continue
        if derivative and at_middle + derivative(box) * (box - ball(middle)) > 0:
            continue
        if at_middle < 0:
            where = decimal(middle, 8)
            return refuted(f"at {where} the left side minus the right is {at_middle.str(6)}"), count
        if count >= boxes or right - left < narrowest:
            return undecided(f"no proof on [{decimal(left)}, {decimal(right)}]"), count
        todo += [(left, middle), (middle, right)]
    return proved(f"{count} boxes cover [{low}, {high}]"), count


def compare(x: arb, relation: str, value: Fraction | str, name: str = "value") -> Finding:
    """Decide ``x < value`` or ``x > value`` for the number that the ball encloses.

    Parameters
    ----------
    x : arb
    relation : {"<", ">"}
    value : Fraction or str
        Exact text of the number to compare with.
    name : str
        How the enclosed number is called in the witness.
    """
    if relation not in ("<", ">"):
        raise ValueError(f"relation = {relation!r}: must be < or >")
    other = ball(value)
    below, above = bool(x < other), bool(x > other)
    shown = f"{name} = {quantity(x, 20).text}"
    if not below and not above:
        return undecided(f"{shown} is not separated from {value}")
    holds = below if relation == "<" else above
    margin = abs(x - other)
    if holds:
        return proved(f"{shown} {relation} {value}", margin=f"{float(margin.mid()):.2g}")
    return refuted(f"{shown}, not {relation} {value}")


def rounds_to(
    value: arb | Fraction | tuple[Fraction, Fraction],
    text: str,
    name: str = "value",
    told: str = "",
    wrong: str = "",
    /,
    **values: Quantity,
) -> Finding:
    """Decide that a number, rounded to as many digits as are printed, is a printed decimal.

    A number half-way between two decimals rounds to both, as in `checks.judging.misprint`.

    Parameters
    ----------
    value : arb, Fraction or (Fraction, Fraction)
        A ball that contains the number, the number itself, or both ends of an interval around it.
    text : str
        A plain decimal; half a unit of its last digit is what it may be off.
    name : str
        How the number is called.
    told : str
        The witness; if empty, the name with the enclosure.
    wrong : str
        The witness of a refutation; if empty, what is told and that it is not the decimal.
    **values : Quantity
        What the finding keeps, however it turns out.

    Returns
    -------
    Finding
        Proved if all of the enclosure is within half a unit, refuted if none of it is; undecided if
        it is too wide to tell or not finite.

    Raises
    ------
    ValueError
        If the text is no plain decimal with a point.
    """
    stated, half = as_printed_decimal(name, text)
    if isinstance(value, (Fraction, tuple)):
        low, high = value if isinstance(value, tuple) else (value, value)
    elif value.is_finite():
        low, high = ends(value)
    else:
        return undecided(f"{name} = {value}: there is no enclosure", **values)
    told = told or f"{name} = {enclosure(low, high, 12).text}"
    if stated - half <= low and high <= stated + half:
        return proved(told, **values)
    if high < stated - half or stated + half < low:
        return refuted(wrong or f"{told}, not {text.strip()}", **values)
    return undecided(f"{told} is not separated from the ends of {text.strip()}", **values)
