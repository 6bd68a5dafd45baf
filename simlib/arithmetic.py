"""Numbers in the arithmetic of their input: exact where all of it is exact, floats otherwise.

`fractions.Fraction`, ``int`` and strings such as ``"3/10"`` or ``"0.3"`` count as exact, anything else
as float. The formulas and the exact chains of all topics take their numbers through these functions.
"""

import math
from fractions import Fraction

import numpy as np

__all__ = [
    "as_distribution",
    "as_exact_rates",
    "as_number",
    "as_open_unit",
    "as_positive",
    "as_rates",
    "plain",
]


def as_number(name, value):
    """One number: exact for int, Fraction and str, float otherwise."""
    if isinstance(value, str):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"{name} = {value!r}; permitted: rationals such as '3/10'") from None
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} = {value!r} is a truth value; permitted: numbers")
    if isinstance(value, int | np.integer):
        return Fraction(int(value))
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} = {value!r}; permitted: numbers") from None


def as_open_unit(name, value):
    """A number strictly between 0 and 1."""
    number = as_number(name, value)
    if not 0 < number < 1:
        raise ValueError(f"{name} = {value!r}; permitted: numbers strictly between 0 and 1")
    return number


def as_positive(name, value):
    """A finite number above 0."""
    number = as_number(name, value)
    if not 0 < number < math.inf:
        raise ValueError(f"{name} = {value!r}; permitted: finite numbers above 0")
    return number


def as_rates(values, name="rates"):
    """Service rates as exact rationals if all of them are exact, as a float array otherwise.

    Parameters
    ----------
    values : sequence of length m >= 1
        Numbers strictly between 0 and 1; `str` (``"3/10"``, ``"0.3"``), `Fraction` and `int` count
        as exact, anything else as float.
    name : str
        Name of the parameter in error messages.

    Returns
    -------
    tuple of Fraction, or ndarray of float64, length m

    Raises
    ------
    ValueError
        If a rate is no number or lies outside (0, 1), or there is none.
    """
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ValueError(f"{name} = {values!r}; permitted: a sequence of numbers in (0, 1)")
    rates = [as_open_unit(f"{name}[{j}]", value) for j, value in enumerate(values)]
    if not rates:
        raise ValueError(f"{name} is empty; permitted: a nonempty sequence of numbers in (0, 1)")
    if all(isinstance(rate, Fraction) for rate in rates):
        return tuple(rates)
    return np.array([float(rate) for rate in rates])


def as_exact_rates(values, name="rates"):
    """Service rates as a tuple of `Fraction`; floats are refused.

    A float such as 0.1 is a binary fraction with 55 digits, hardly ever what was meant.

    Raises
    ------
    ValueError
        As `as_rates`, and if a rate is a float.
    """
    rates = as_rates(values, name)
    if not isinstance(rates, tuple):
        raise ValueError(
            f"{name} = {values!r}; permitted: exact rates, Fractions or strings such as '3/10'"
        )
    return rates


def as_distribution(values, arms, name="p"):
    """Routing probabilities over ``arms`` arms, exact if all are exact, floats otherwise.

    Raises
    ------
    ValueError
        If the length differs from ``arms``, a probability is outside [0, 1], or the sum is not 1
        (exactly for rationals, to 1e-9 for floats).
    """
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise ValueError(f"{name} = {values!r}; permitted: a sequence of {arms} probabilities")
    p = [as_number(f"{name}[{j}]", value) for j, value in enumerate(values)]
    if len(p) != arms:
        raise ValueError(f"{name} has {len(p)} entries; permitted: one for each of {arms} arms")
    for j, value in enumerate(p):
        if not 0 <= value <= 1:
            raise ValueError(f"{name}[{j}] = {value}; permitted: numbers in [0, 1]")
    exact = all(isinstance(value, Fraction) for value in p)
    total = sum(p)
    if abs(total - 1) > (0 if exact else 1e-9):
        raise ValueError(f"{name} sums to {total}; permitted: probabilities that sum to 1")
    return tuple(p) if exact else np.array([float(value) for value in p])


def plain(value):
    """A Fraction as it is, a NumPy scalar as a Python float, which prints as a number."""
    return value if isinstance(value, Fraction) else float(value)
