"""Computer algebra: an identity is decided by simplifying the difference to the literal 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from checks.finding import Finding, proved, refuted, undecided

if TYPE_CHECKING:
    from sympy import Expr


def identity(left: Expr, right: Expr, name: str, *, at: list[dict] | None = None) -> Finding:
    """Decide ``left == right`` for all values of the symbols.

    Parameters
    ----------
    left, right : sympy expressions
    name : str
        What the identity says, for the witness.
    at : list of dict, optional
        Exact points at which a difference is looked for when it does not simplify to 0.

    Returns
    -------
    Finding
        Refuted only by a point at which both sides differ.
    """
    import sympy

    difference = left - right
    for simplify in (sympy.expand, sympy.together, sympy.simplify):
        difference = simplify(difference)
        if difference == 0:
            return proved(f"{name}: the difference of both sides simplifies to 0")
    difference = sympy.simplify(sympy.powsimp(sympy.expand(difference)))
    if difference == 0:
        return proved(f"{name}: the difference of both sides simplifies to 0")
    for point in at or []:
        value = sympy.nsimplify(difference.subs(point))
        if value.is_number and sympy.simplify(value) != 0:
            where = ", ".join(f"{symbol} = {number}" for symbol, number in point.items())
            return refuted(f"{name}: at {where} the sides differ by {sympy.simplify(value)}")
    return undecided(f"{name}: the difference {difference} is not decided")
