"""Values as text of Coq, for anchors: rationals, lists, functions given by a table."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def real(value: Fraction | int | str) -> str:
    """A rational number in the scope of reals.

    Parameters
    ----------
    value : Fraction, int or str
        A text is read as a fraction, such as ``97/160``.

    Returns
    -------
    str
        Such as ``(97 / 160)``.
    """
    value = Fraction(value)
    sign = "- " if value < 0 else ""
    return f"({sign}({abs(value.numerator)} / {value.denominator}))"


def naturals(values: Sequence[int]) -> str:
    """A list of natural numbers: ``[0%nat; 2%nat]``."""
    return "[" + "; ".join(f"{value}%nat" for value in values) + "]"


def booleans(values: Sequence[bool]) -> str:
    """A list of booleans: ``[true; false]``."""
    return "[" + "; ".join("true" if value else "false" for value in values) + "]"


def by_index(values: Sequence[Fraction | int | str]) -> str:
    """The function of an index from 0 that has these real values, and the last one beyond.

    Parameters
    ----------
    values : sequence of Fraction, int or str
        At least one.

    Returns
    -------
    str
        ``(fun i : nat => match i with 0%nat => (1 / 2) | _ => (1 / 10) end)``.
    """
    *first, last = [real(value) for value in values]
    cases = "".join(f"{index}%nat => {value} | " for index, value in enumerate(first))
    return f"(fun i : nat => match i with {cases}_ => {last} end)"


def of_two_indices(rows: Sequence[Sequence[bool | int]]) -> str:
    """The function of a row and a column with these booleans or naturals; false or 0 beyond.

    Parameters
    ----------
    rows : sequence of sequence of bool or int

    Returns
    -------
    str
        ``(fun i s : nat => nth s (nth i [[true; false]] []) false)``.
    """
    boolean = isinstance(rows[0][0], bool)
    text = "; ".join((booleans if boolean else naturals)(row) for row in rows)
    return f"(fun i s : nat => nth s (nth i [{text}] []) {'false' if boolean else '0%nat'})"
