"""What a learner is, and how one is written.

A learner is three compiled functions over a table of floats with one column an arm:

``init(state, params)``
    fills the table before the first step (optional: it starts with zeros);
``act(state, params, t, rng)``
    returns the arm to pull, an integer from 0 to arms - 1;
``update(state, params, t, arm, reward)``
    learns from the reward (0.0 or 1.0) of the arm just pulled.

``params`` can only be read: what a learner keeps is in its state, which a restart clears.
``t`` counts the steps of the system from 1. In a queue a learner is called only in steps with a
packet to send, so ``t`` jumps; a learner that needs the number of its own decisions keeps it in
its state.

The functions enter the simulation kernels as first-class functions of a fixed signature. A kernel
is then compiled once, whatever the learner, and a learner from a notebook cell runs at the same
speed as one of the library.
"""

import dataclasses
import hashlib
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import types
from numba.core import serialize
from numpy.typing import NDArray

from simlib.arguments import positive_integer, real_vector
from simlib.compiled import compile_function, refuse_other_randomness, refuse_wrong_arguments
from simlib.fingerprint import fingerprint

__all__ = [
    "ACT",
    "EXAMPLE",
    "INIT",
    "UPDATE",
    "Learner",
    "check_learner",
    "compile_learner",
    "learner",
]

_STATE = types.Array(types.float64, 2, "C")
_PARAMS = types.Array(types.float64, 1, "C", readonly=True)
_RNG = types.Array(types.uint64, 1, "C")
_SIGNATURES = {
    "init": types.void(_STATE, _PARAMS),
    "act": types.int64(_STATE, _PARAMS, types.int64, _RNG),
    "update": types.void(_STATE, _PARAMS, types.int64, types.int64, types.float64),
}
_ARGUMENTS = {
    "init": ("state", "params"),
    "act": ("state", "params", "t", "rng"),
    "update": ("state", "params", "t", "arm", "reward"),
}

#: Numba types under which a kernel receives the functions.
INIT = types.FunctionType(_SIGNATURES["init"])
ACT = types.FunctionType(_SIGNATURES["act"])
UPDATE = types.FunctionType(_SIGNATURES["update"])

#: The example that error messages show.
EXAMPLE = """\
from simlib.learners import learner
from simlib.streams import integer_below, random

@learner(rows=2)                                   # state: float64, shape (2, arms), zeros
class EpsilonGreedy:
    def act(state, params, t, rng):                # returns an arm: 0, 1, ..., arms - 1
        arms = state.shape[1]
        if random(rng) < t ** (-1 / 3):
            return integer_below(rng, arms)
        return (state[1] / (state[0] + 1)).argmax()

    def update(state, params, t, arm, reward):     # reward: 0.0 or 1.0
        state[0, arm] += 1
        state[1, arm] += reward
"""


@dataclass(frozen=True, eq=False)
class Learner:
    """A learner that the simulators can run. Made by `learner` or by a factory of the library.

    Attributes
    ----------
    name : str
        Name in tables, plots and messages.
    rows : int
        Number of rows of the state; it has one column an arm.
    init, act, update : numba dispatcher
        The compiled functions (see the module's description).
    params : tuple of float
        Numbers that the functions receive as an array; finite.
    strategy_row : int or None
        Row of the state that holds the mixed strategy from which the next arm will be drawn.
    arms : int or None
        The number of arms that the learner is made for, if it is made for one.
    digest : str
        Changes when the code of a function, anything it refers to, or a parameter changes (see
        `simlib.fingerprint`; code of simlib counts by its name). Use it with
        ``simlib.SOURCES_DIGEST`` as key of stored results.
    """

    name: str
    rows: int
    init: Callable
    act: Callable
    update: Callable
    params: tuple[float, ...] = ()
    strategy_row: int | None = None
    arms: int | None = None
    digest: str = ""

    def with_params(self, params: Any, name: str | None = None, arms: int | None = None):
        """Return the same compiled learner with other parameters; nothing is compiled.

        Parameters
        ----------
        params : array_like of float
            The new parameters, finite.
        name : str, optional
            A new name.
        arms : int, optional
            The number of arms that the new parameters are made for.

        Returns
        -------
        Learner
        """
        values = _checked_params(self.name, params)
        changed = dataclasses.replace(
            self, params=values, name=name or self.name, arms=self.arms if arms is None else arms
        )
        return dataclasses.replace(changed, digest=_digest(changed))

    def new_state(self, arms: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return an initialised state, shape (rows, arms), and the parameters as an array.

        Raises
        ------
        ValueError
            If an entry of the state is not finite.
        """
        state = np.zeros((self.rows, arms))
        params = np.array(self.params, dtype=np.float64)
        self.init(state, params)
        bad = np.argwhere(~np.isfinite(state)).tolist()
        if bad:
            row, arm = bad[0]
            raise ValueError(
                f"learner {self.name}: state[{row}, {arm}] is {state[row, arm]} after step 0, "
                f"which is init; permitted: finite numbers"
            )
        return state, params

    def __reduce__(self):
        # Compiled code does not travel between processes; its Python functions do (by reference
        # if they can be imported, else by value), and are compiled once in each process.
        functions = {kind: getattr(self, kind).py_func for kind in _SIGNATURES}
        options = {
            field: getattr(self, field) for field in ("name", "rows", "strategy_row", "arms")
        }
        return _restore, (self.digest, self.params, options, serialize.dumps(functions))


def learner(
    cls: type | None = None,
    /,
    *,
    rows: int,
    params: Any = (),
    strategy_row: int | None = None,
    arms: int | None = None,
    name: str | None = None,
):
    """Turn a class with the functions ``act``, ``update`` and perhaps ``init`` into a `Learner`.

    The functions are compiled at once with fixed signatures, in about a second.

    Parameters
    ----------
    rows : int
        Number of rows of the state, at least 1.
    params : array_like of float, optional
        Numbers handed to the functions.
    strategy_row : int, optional
        Row that holds the mixed strategy of the next draw, if the learner keeps one.
    arms : int, optional
        The only number of arms that the learner can be run with.
    name : str, optional
        Name for tables and messages; by default that of the class.

    Returns
    -------
    Learner

    Raises
    ------
    ValueError
        If a function is missing, takes the wrong number of arguments, cannot be compiled, writes
        to ``params`` or returns the wrong type; if it uses a row that the state does not have; if it
        draws from ``random`` or ``numpy.random``; if ``params`` are not finite. The message says
        what a learner looks like.

    Examples
    --------
    >>> from simlib.learners import learner
    >>> @learner(rows=1)
    ... class AlwaysFirst:
    ...     def act(state, params, t, rng):
    ...         return 0
    ...
    ...     def update(state, params, t, arm, reward):
    ...         state[0, arm] += reward
    >>> AlwaysFirst.name
    'AlwaysFirst'
    """

    def decorate(cls):
        made = compile_learner(
            cls, rows=rows, params=params, strategy_row=strategy_row, arms=arms, name=name
        )
        _try_out(made, made.arms or max(3, len(made.params)))
        return made

    return decorate if cls is None else decorate(cls)


def _no_init(state, params):
    pass


def compile_learner(
    cls: type,
    *,
    rows: int,
    params: Any = (),
    strategy_row: int | None = None,
    arms: int | None = None,
    name: str | None = None,
    built_in: bool = False,
) -> Learner:
    """Check and compile a class of functions; `learner` and the library are made of this.

    Parameters
    ----------
    cls : type
        Class that holds the functions.
    rows, params, strategy_row, arms, name
        As in `learner`.
    built_in : bool
        True for the library's own learners: their machine code is kept on disk (its folder is
        named after the sources) and is compiled without reference counting, which is safe only
        for functions that allocate no array and saves several nanoseconds a call.

    Returns
    -------
    Learner

    Raises
    ------
    ValueError
        As `learner`.
    """
    name = name or getattr(cls, "__name__", "learner")
    functions = _functions_of(cls, name)
    rows = positive_integer(f"learner {name}: rows", rows)
    values = _checked_params(name, params)
    if strategy_row is not None and not (
        isinstance(strategy_row, int) and 0 <= strategy_row < rows
    ):
        raise ValueError(
            f"learner {name}: strategy_row = {strategy_row!r}; permitted: None or 0..{rows - 1}"
        )
    if arms is not None:
        arms = positive_integer(f"learner {name}: arms", arms)
    if not built_in:
        for kind, function in functions.items():
            refuse_other_randomness(f"learner {name}", kind, function, _explanation())
    compiled = {
        kind: _compile(name, kind, function, built_in) for kind, function in functions.items()
    }
    made = Learner(
        name=name, rows=rows, params=values, strategy_row=strategy_row, arms=arms, **compiled
    )
    return dataclasses.replace(made, digest=_digest(made))


_TRIED: set[tuple[str, int]] = set()


def _is_built_in(function: Callable) -> bool:
    return function.__module__ == "simlib.learners.library"


def check_learner(value: Any, arms: int, parameter: str = "learner") -> Learner:
    """Return ``value`` if it is a learner that can be run with this number of arms.

    Parameters
    ----------
    value : object
    arms : int
    parameter : str
        Name of the parameter, for messages.

    Raises
    ------
    ValueError
        Otherwise; the message says what a learner looks like, or which entry outside the state it
        uses with this number of arms.
    """
    if not isinstance(value, Learner):
        what = "a plain Python function" if inspect.isfunction(value) else "not a learner"
        hint = ""
        if callable(value) and getattr(value, "__module__", "").startswith("simlib.learners"):
            hint = f" (it makes learners: did you mean {value.__name__}(...)?)"
        raise ValueError(f"{parameter} = {value!r} is {what}{hint}.\n{_explanation()}")
    if value.arms is not None and value.arms != arms:
        raise ValueError(
            f"learner {value.name} is made for {value.arms} arms; service_rates has {arms}"
        )
    trial = (value.digest, arms)
    if not _is_built_in(value.act.py_func) and trial not in _TRIED:
        _try_out(value, arms)
        _TRIED.add(trial)
    return value


def _explanation() -> str:
    return "A learner looks like this:\n\n" + textwrap.indent(EXAMPLE, "    ")


def _checked_params(name: str, params: Any) -> tuple[float, ...]:
    return tuple(real_vector(f"learner {name}: params", params).tolist())


def _functions_of(cls: type, name: str) -> dict[str, Callable]:
    """Return the plain functions of a learner's class, after checking names and arguments."""
    if not inspect.isclass(cls):
        raise ValueError(f"learner: {cls!r} is not a class.\n{_explanation()}")
    functions = {}
    for kind in _SIGNATURES:
        function = getattr(cls, kind, None)
        function = getattr(function, "py_func", function)
        if function is None and kind == "init":
            function = _no_init
        if not inspect.isfunction(function):
            raise ValueError(f"learner {name} has no function {kind}.\n{_explanation()}")
        refuse_wrong_arguments(f"learner {name}", kind, function, _ARGUMENTS[kind], _explanation())
        functions[kind] = function
    return functions


def _compile(name: str, kind: str, function: Callable, built_in: bool) -> Callable:
    """Compile one function of a learner and check the type that it returns."""
    options = {"cache": True, "_nrt": False} if built_in else {}
    returns = "an arm, an integer from 0 to arms - 1"
    return compile_function(
        *(f"learner {name}", kind, function, _SIGNATURES[kind], returns, _explanation()), **options
    )


class _RowError(Exception):
    """The state was read or written outside its rows or columns."""


class _GuardedState(np.ndarray):
    """An array that reports wrong indices as `_RowError`."""

    def __getitem__(self, index):
        try:
            return super().__getitem__(index)
        except IndexError as error:
            raise _RowError(str(error)) from None

    def __setitem__(self, index, value):
        try:
            super().__setitem__(index, value)
        except IndexError as error:
            raise _RowError(str(error)) from None


def _try_out(made: Learner, arms: int, steps: int = 8) -> None:
    """Run the Python functions for a few steps to find indices outside the state.

    Compiled code does not check indices: a row too few would silently read and overwrite other
    memory. Any other exception is left to the real run, since a guessed number of arms and
    alternating rewards need not suit every learner.
    """
    state = np.zeros((made.rows, arms)).view(_GuardedState)
    params = np.array(made.params, dtype=np.float64)
    rng = np.arange(1, 5, dtype=np.uint64)
    try:
        with np.errstate(all="ignore"):
            made.init.py_func(state, params)
            for t in range(1, steps + 1):
                arm = made.act.py_func(state, params, t, rng)
                if not 0 <= arm < arms:
                    return
                made.update.py_func(state, params, t, int(arm), float(t % 2))
    except _RowError as error:
        raise ValueError(
            f"learner {made.name}: the state has {made.rows} rows (rows={made.rows}) and {arms} "
            f"columns in this trial, but the code uses an entry outside: {error}"
        ) from None
    except Exception:
        return


def _digest(made: Learner) -> str:
    """Return a digest of what the learner computes."""
    head = (made.name, made.rows, made.strategy_row, made.arms, made.params)
    functions = [getattr(made, kind).py_func for kind in _SIGNATURES]
    return fingerprint((*head, *functions))[:24]


_RESTORED: dict[tuple[str, str], Learner] = {}


def _restore(digest: str, params: tuple, options: dict, functions: bytes) -> Learner:
    """Rebuild a pickled learner, compiling its functions once in each process."""
    key = (digest, hashlib.sha256(functions).hexdigest())
    if key not in _RESTORED:
        functions = serialize.loads(functions)
        cls = type(options["name"], (), functions)
        built_in = _is_built_in(functions["act"])
        _RESTORED[key] = compile_learner(cls, params=params, built_in=built_in, **options)
    return _RESTORED[key]
