"""Functions of a user that kernels call: how they are compiled, and what they may not do.

Learners and acceptance rules enter the kernels as compiled functions of a fixed signature. A
function that cannot be compiled, returns the wrong type or draws from another generator is refused
with a message that names it and says what it should look like.
"""

import inspect
from collections.abc import Callable
from typing import Any

from numba import njit, types
from numba.core.errors import NumbaError

from simlib.fingerprint import is_installed, plain_function, references

__all__ = ["compile_function", "refuse_other_randomness", "refuse_wrong_arguments"]


def refuse_wrong_arguments(
    owner: str, kind: str, function: Callable, expected: tuple[str, ...], example: str
) -> None:
    """Raise ``ValueError`` unless a function takes as many positional arguments as expected.

    Parameters
    ----------
    owner : str
        What the function belongs to, for the message.
    kind : str
        The function's part in it.
    function : function
    expected : tuple of str
        The arguments.
    example : str
        What it should look like; the end of the message.
    """
    parameters = inspect.signature(function).parameters.values()
    positional = all(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
    if len(parameters) != len(expected) or not positional:
        raise ValueError(
            f"{owner}: {kind}{inspect.signature(function)} has the wrong arguments; "
            f"needed: {kind}({', '.join(expected)}), without self.\n{example}"
        )


def refuse_other_randomness(owner: str, kind: str, function: Callable, example: str) -> None:
    """Raise ``ValueError`` if a function, or what it calls, draws from another generator.

    Parameters
    ----------
    owner, kind, function, example
        As in `refuse_wrong_arguments`.
    """
    _refuse(owner, kind, function, example, set())


def _refuse(owner, kind, function, example, seen):
    if function in seen or is_installed(function.__globals__.get("__name__")):
        return
    seen.add(function)
    for path, value in references(function).items():
        value = plain_function(value)
        if _is_other_randomness(value):
            raise ValueError(
                f"{owner}: {kind} uses {path}, whose numbers do not follow from the seed; "
                f"use simlib.streams.random(rng).\n{example}"
            )
        if inspect.isfunction(value):
            _refuse(owner, kind, value, example, seen)


def _is_other_randomness(value: Any) -> bool:
    """Tell whether a value is, or belongs to, the module random or numpy.random."""
    if inspect.ismodule(value):
        origin = value.__name__
    else:
        owner = getattr(value, "__self__", None)
        if owner is None or inspect.ismodule(owner):
            owner = value
        origin = getattr(owner, "__module__", None) or type(owner).__module__
    return isinstance(origin, str) and (
        origin in ("random", "secrets") or f"{origin}.".startswith("numpy.random.")
    )


def compile_function(
    owner: str, kind: str, function: Callable, signature, returns: str, example: str, **options
) -> Callable:
    """Compile one function with a fixed signature and check the type that it returns.

    Parameters
    ----------
    owner, kind, function, example
        As in `refuse_wrong_arguments`.
    signature : numba signature
        Its return type is either ``void`` or ``int64``.
    returns : str
        What a function that returns an integer should return, for the message.
    **options
        Further options of `numba.njit`.

    Returns
    -------
    numba dispatcher

    Raises
    ------
    ValueError
        If Numba cannot compile the function, or it returns another type.
    """
    options = {"error_model": "numpy", **options}
    compiled = _compile_or_explain(owner, kind, function, signature.args, options, example)
    (returned,) = (overload.signature.return_type for overload in compiled.overloads.values())
    if signature.return_type == types.void:
        if returned != types.none:
            raise ValueError(
                f"{owner}: {kind} returns {returned}; it must return nothing and change "
                f"state in place.\n{example}"
            )
    elif not isinstance(returned, types.Integer):
        what, _, values = returns.partition(", ")
        reason = (
            f"not on every path returns {what}"
            if isinstance(returned, types.Optional | types.NoneType)
            else f"returns {returned}"
        )
        raise ValueError(
            f"{owner}: {kind} {reason}; it must return {values} "
            f"(a number can be turned into one with int(...)).\n{example}"
        )
    elif returned != types.int64:
        compiled = _compile_or_explain(owner, kind, function, signature, options, example)
    return compiled


def _compile_or_explain(owner, kind, function, signature, options, example):
    try:
        return njit(signature, **options)(function)
    except NumbaError as error:
        message = _first_useful_lines(str(error))
    raise ValueError(
        f"{owner}: Numba cannot compile {kind}: {message}\n"
        f"Inside such a function, use numbers, NumPy arrays and functions compiled with numba.njit."
        f"\n{example}"
    )


def _first_useful_lines(message: str) -> str:
    """Return the reason and the place from a Numba error message."""
    lines = [line.strip() for line in message.splitlines()]
    lines = [line for line in lines if line and not line.startswith(("Failed in", "During:"))]
    reason = lines[0] if lines else message.strip()
    if reason.endswith(("signature:", ":")) and len(lines) > 1:
        reason += " " + lines[1].removeprefix(">>> ")
    place = next((line for line in lines if line.startswith("File ")), "")
    return f"{reason} ({place.rstrip(':')})" if place else reason
