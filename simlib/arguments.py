"""Checks of arguments, shared by every public function.

Each function returns the argument in its normal form or raises a ``ValueError`` that names the
parameter, the value it had and the values that are permitted.
"""

import operator
from collections.abc import Iterable, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "checkpoint_steps",
    "choice",
    "distribution",
    "logarithmic_checkpoints",
    "non_negative_integer",
    "positive_integer",
    "positive_real",
    "probability_open",
    "rates",
    "real",
    "real_vector",
]

_LARGEST = 2**53  # up to here a float holds every integer


def _integer(name: str, value: Any, least: int) -> int:
    permitted = f"integers from {least} to 2**53"
    if isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} = {value!r} is a truth value; permitted: {permitted}")
    if isinstance(value, float | np.floating) and float(value).is_integer():
        number = int(value)
    else:
        try:
            number = operator.index(value)
        except TypeError:
            raise ValueError(
                f"{name} = {value!r} is not an integer; permitted: {permitted}"
            ) from None
    if not least <= number <= _LARGEST:
        size = "small" if number < least else "large"
        raise ValueError(f"{name} = {value!r} is too {size}; permitted: {permitted}")
    return number


def positive_integer(name: str, value: Any) -> int:
    """Return ``value`` as an ``int`` from 1 to 2**53.

    A float without a fraction such as ``1e6`` is accepted, as is any NumPy integer.

    Raises
    ------
    ValueError
        For truth values, fractions, anything that is not a number, and numbers out of range.
    """
    return _integer(name, value, 1)


def non_negative_integer(name: str, value: Any) -> int:
    """Return ``value`` as an ``int`` from 0 to 2**53; otherwise as `positive_integer`."""
    return _integer(name, value, 0)


def _real(name: str, value: Any, permitted: str) -> float:
    try:
        if isinstance(value, bool | np.bool_ | str):
            raise TypeError
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} = {value!r} is not a number; permitted: {permitted}") from None
    return number


def real(name: str, value: Any) -> float:
    """Return ``value`` as a finite ``float``, or raise ``ValueError``."""
    permitted = "finite numbers"
    number = _real(name, value, permitted)
    if not np.isfinite(number):
        raise ValueError(f"{name} = {value!r} is not finite; permitted: {permitted}")
    return number


def positive_real(name: str, value: Any) -> float:
    """Return ``value`` as a finite ``float`` above 0, or raise ``ValueError``."""
    permitted = "finite numbers above 0"
    number = _real(name, value, permitted)
    if not (0.0 < number < np.inf):
        raise ValueError(f"{name} = {value!r} is out of range; permitted: {permitted}")
    return number


def probability_open(name: str, value: Any) -> float:
    """Return ``value`` as a ``float`` strictly between 0 and 1, or raise ``ValueError``."""
    permitted = "numbers strictly between 0 and 1"
    number = _real(name, value, permitted)
    if not 0.0 < number < 1.0:
        raise ValueError(f"{name} = {value!r} is out of range; permitted: {permitted}")
    return number


def real_vector(name: str, value: Any) -> NDArray[np.float64]:
    """Return ``value`` as a new C-contiguous 1-D float64 array of finite numbers.

    Raises
    ------
    ValueError
        For anything that is not a one-dimensional sequence of finite real numbers.
    """
    permitted = "a one-dimensional sequence of finite numbers"
    if isinstance(value, str | bytes):
        raise ValueError(f"{name} = {value!r} is text; permitted: {permitted}")
    if isinstance(value, Set | Mapping):
        raise ValueError(f"{name} = {value!r} has no order; permitted: {permitted}")
    if isinstance(value, Iterable) and not isinstance(value, np.ndarray):
        value = list(value)
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "iufO" or (
            raw.dtype.kind == "O"
            and any(isinstance(item, str | bytes | bool | np.bool_) for item in raw.ravel())
        ):
            raise TypeError
        vector = np.array(raw, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} = {value!r} is not numeric; permitted: {permitted}") from None
    if vector.ndim != 1:
        raise ValueError(f"{name} has {vector.ndim} dimensions; permitted: {permitted}")
    if not np.isfinite(vector).all():
        where = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise ValueError(f"{name}[{where}] = {vector[where]} is not finite; permitted: {permitted}")
    return vector


def rates(name: str, value: Any) -> NDArray[np.float64]:
    """Return rates as a new C-contiguous float64 array, shape (arms,).

    Raises
    ------
    ValueError
        Unless ``value`` is a nonempty one-dimensional sequence of numbers in the open interval
        (0, 1).
    """
    permitted = "a nonempty one-dimensional sequence of numbers strictly between 0 and 1"
    vector = real_vector(name, value)
    if vector.size == 0:
        raise ValueError(f"{name} is empty; permitted: {permitted}")
    outside = np.flatnonzero((vector <= 0.0) | (vector >= 1.0))
    if outside.size:
        where = int(outside[0])
        raise ValueError(
            f"{name}[{where}] = {vector[where]} is out of range; permitted: {permitted}"
        )
    return vector


def distribution(name: str, value: Any, arms: int | None = None) -> NDArray[np.float64]:
    """Return a probability distribution over arms, divided by its sum.

    Parameters
    ----------
    name : str
        Name of the parameter, for messages.
    value : array_like, shape (arms,)
        Non-negative numbers that sum to 1 within 1e-9.
    arms : int, optional
        Required length.

    Returns
    -------
    ndarray of float64, shape (arms,)

    Raises
    ------
    ValueError
        If an entry is negative or not finite, or the length or the sum is wrong.
    """
    permitted = "non-negative numbers that sum to 1 (within 1e-9), one an arm"
    vector = real_vector(name, value)
    if vector.size == 0:
        raise ValueError(f"{name} is empty; permitted: {permitted}")
    if arms is not None and vector.size != arms:
        raise ValueError(
            f"{name} has {vector.size} entries for {arms} arms; permitted: {permitted}"
        )
    if (vector < 0.0).any():
        where = int(np.flatnonzero(vector < 0.0)[0])
        raise ValueError(f"{name}[{where}] = {vector[where]} is negative; permitted: {permitted}")
    total = float(vector.sum())
    if abs(total - 1.0) > 1e-9:
        raise ValueError(f"{name} sums to {total!r}; permitted: {permitted}")
    return vector / total


def choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of the allowed names, or raise ``ValueError`` listing them."""
    names = sorted(allowed)
    if not isinstance(value, str) or value not in names:
        raise ValueError(f"{name} = {value!r} is unknown; permitted: {', '.join(names)}")
    return value


def checkpoint_steps(name: str, value: Any, horizon: int) -> NDArray[np.int64]:
    """Return steps at which a run is recorded, strictly increasing, in 1..horizon.

    Parameters
    ----------
    name : str
        Name of the parameter, for messages.
    value : array_like of int or None
        The steps; ``None`` stands for the last step alone.
    horizon : int
        Number of steps of the run.

    Returns
    -------
    ndarray of int64, shape (checkpoints,)

    Raises
    ------
    ValueError
        If a step is not an integer, is outside 1..horizon, or does not exceed the one before.
    """
    permitted = f"strictly increasing integers from 1 to {horizon}"
    if value is None:
        return np.array([horizon], dtype=np.int64)
    vector = real_vector(name, value)
    if vector.size == 0:
        raise ValueError(f"{name} is empty; permitted: {permitted}")
    fractions = np.flatnonzero(vector != np.floor(vector))
    if fractions.size:
        where = int(fractions[0])
        raise ValueError(f"{name}[{where}] = {vector[where]} is no integer; permitted: {permitted}")
    bad = np.flatnonzero((vector < 1) | (vector > horizon) | (np.diff(vector, prepend=0.0) <= 0))
    if bad.size:
        where = int(bad[0])
        raise ValueError(
            f"{name}[{where}] = {int(vector[where])} is out of order or range; "
            f"permitted: {permitted}"
        )
    return vector.astype(np.int64)


def logarithmic_checkpoints(horizon: int, per_decade: int = 20) -> NDArray[np.int64]:
    """Return steps spaced evenly on a logarithmic axis, from 1 to the horizon inclusive.

    Parameters
    ----------
    horizon : int
        Last step, at least 1.
    per_decade : int
        Steps for each factor of ten, before rounding and removal of duplicates.

    Returns
    -------
    ndarray of int64
    """
    horizon = positive_integer("horizon", horizon)
    per_decade = positive_integer("per_decade", per_decade)
    count = int(np.ceil(np.log10(horizon) * per_decade)) + 1
    steps = np.rint(np.geomspace(1, horizon, max(count, 1))).astype(np.int64)
    return np.unique(np.append(steps, horizon))
