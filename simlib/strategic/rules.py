"""Acceptance rules: which of several packets a free server takes.

A rule is one compiled function

``accept(server, t, senders, count, lengths, heads, params, rng)``

that returns the queue whose packet is taken. It is called only where two or more packets reach a
free server; a lone packet is always taken, and a full server rejects all. Its arguments:

``server``, ``t``
    the server, and the step of the system, counted from 1;
``senders``, ``count``
    the queues that sent to the server, in ascending order: ``senders[0] .. senders[count - 1]``;
``lengths``, ``heads``
    for each queue, its length after the arrivals of this step, and the step in which the packet at
    its head arrived (0 for a packet that was there at the start, -1 in an empty queue); queues are
    first in, first out;
``params``, ``rng``
    the rule's own numbers, and a generator for its coins.

All arrays but ``rng`` are read-only. Decisions of one step do not see each other: lengths change
only after all servers have chosen.
"""

import dataclasses
import hashlib
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.core import serialize

from simlib.arguments import positive_integer, real_vector
from simlib.compiled import compile_function, refuse_other_randomness, refuse_wrong_arguments
from simlib.fingerprint import fingerprint
from simlib.streams import integer_below

__all__ = [
    "ACCEPT",
    "AcceptanceRule",
    "acceptance_rule",
    "check_rule",
    "fixed_priority",
    "oldest_first",
    "uniform",
]

_READ_ONLY = types.Array(types.int64, 1, "C", readonly=True)
_SIGNATURE = types.int64(
    *(types.int64, types.int64, _READ_ONLY, types.int64, _READ_ONLY, _READ_ONLY),
    *(types.Array(types.float64, 1, "C", readonly=True), types.Array(types.uint64, 1, "C")),
)
_ARGUMENTS = ("server", "t", "senders", "count", "lengths", "heads", "params", "rng")
_RETURNS = "a queue, an integer, one of senders[:count]"

#: Numba type under which a kernel receives a rule.
ACCEPT = types.FunctionType(_SIGNATURE)

#: The example that error messages show.
EXAMPLE = """\
from simlib.strategic import acceptance_rule
from simlib.streams import integer_below

@acceptance_rule
def longest_queue_first(server, t, senders, count, lengths, heads, params, rng):
    chosen = senders[0]
    for k in range(1, count):
        if lengths[senders[k]] > lengths[chosen]:
            chosen = senders[k]
    return chosen                                  # one of senders[0], ..., senders[count - 1]
"""


def _explanation() -> str:
    return "An acceptance rule looks like this:\n\n" + textwrap.indent(EXAMPLE, "    ")


@dataclass(frozen=True, eq=False)
class AcceptanceRule:
    """A rule that the simulator can run. Made by `acceptance_rule` or by a factory.

    Attributes
    ----------
    name : str
        Name in tables, plots and messages.
    accept : numba dispatcher
        The compiled function (see the module's description).
    params : tuple of float
        Numbers that the function receives as an array; finite.
    heads : bool
        Whether the function looks at ``heads``.
    queues : int or None
        The number of queues that the rule is made for, if it is made for one.
    digest : str
        Changes when the code of the function, anything it refers to, or a parameter changes; as
        that of a learner.
    """

    name: str
    accept: Callable
    params: tuple[float, ...] = ()
    heads: bool = True
    queues: int | None = None
    digest: str = ""

    def with_params(self, params: Any, name: str | None = None, queues: int | None = None):
        """Return the same compiled rule with other parameters; nothing is compiled.

        Parameters
        ----------
        params : array_like of float
            The new parameters, finite.
        name : str, optional
            A new name.
        queues : int, optional
            The number of queues that the new parameters are made for.

        Returns
        -------
        AcceptanceRule
        """
        return _signed(
            dataclasses.replace(
                self,
                params=_checked_params(self.name, params),
                name=name or self.name,
                queues=self.queues if queues is None else queues,
            )
        )

    def __reduce__(self):
        # As for learners: compiled code does not travel, its Python function does.
        options = {"name": self.name, "heads": self.heads, "queues": self.queues}
        return _restore, (
            *(self.digest, self.params, options, serialize.dumps(self.accept.py_func)),
        )


def _signed(rule: AcceptanceRule) -> AcceptanceRule:
    """Return the rule with the digest of what it does."""
    head = (rule.name, rule.params, rule.heads, rule.queues)
    return dataclasses.replace(rule, digest=fingerprint((*head, rule.accept.py_func))[:24])


def _checked_params(name: str, params: Any) -> tuple[float, ...]:
    return tuple(real_vector(f"acceptance rule {name}: params", params).tolist())


def acceptance_rule(
    function: Callable | None = None,
    /,
    *,
    params: Any = (),
    heads: bool = True,
    queues: int | None = None,
    name: str | None = None,
):
    """Turn a function into an `AcceptanceRule`; it is compiled at once with a fixed signature.

    Parameters
    ----------
    function : function
        As in the module's description.
    params : array_like of float, optional
        Numbers handed to the function.
    heads : bool, optional
        False promises that the function does not look at ``heads``, which then hold nothing; it
        saves the look-up of one arrival for each packet that leaves.
    queues : int, optional
        The only number of queues that the rule can be run with.
    name : str, optional
        Name for tables and messages; by default that of the function.

    Returns
    -------
    AcceptanceRule

    Raises
    ------
    ValueError
        If the function takes the wrong number of arguments, cannot be compiled, writes to its
        arrays, does not return an integer, or draws from ``random`` or ``numpy.random``; if
        ``params`` are not finite. The message says what a rule looks like.

    Examples
    --------
    >>> from simlib.strategic import acceptance_rule
    >>> @acceptance_rule
    ... def first_come(server, t, senders, count, lengths, heads, params, rng):
    ...     return senders[0]
    >>> first_come.name
    'first_come'
    """

    def decorate(function):
        return _make(function, params=params, heads=heads, queues=queues, name=name)

    return decorate if function is None else decorate(function)


def _make(function, *, params=(), heads=True, queues=None, name=None, built_in=False):
    function = getattr(function, "py_func", function)
    name = name or getattr(function, "__name__", "rule")
    owner = f"acceptance rule {name}"
    if not inspect.isfunction(function):
        raise ValueError(f"{owner}: {function!r} is not a function.\n{_explanation()}")
    if not isinstance(heads, bool):
        raise ValueError(f"{owner}: heads = {heads!r}; permitted: True or False")
    if queues is not None:
        queues = positive_integer(f"{owner}: queues", queues)
    values = _checked_params(name, params)
    refuse_wrong_arguments(owner, "accept", function, _ARGUMENTS, _explanation())
    if not built_in:
        refuse_other_randomness(owner, "accept", function, _explanation())
    options = {"cache": True, "_nrt": False} if built_in else {}
    compiled = compile_function(
        owner, "accept", function, _SIGNATURE, _RETURNS, _explanation(), **options
    )
    return _signed(AcceptanceRule(name, compiled, values, heads, queues))


_RESTORED: dict[tuple[str, str], AcceptanceRule] = {}


def _restore(digest: str, params: tuple, options: dict, function: bytes) -> AcceptanceRule:
    """Rebuild a pickled rule, compiling its function once in each process."""
    key = (digest, hashlib.sha256(function).hexdigest())
    if key not in _RESTORED:
        plain = serialize.loads(function)
        built_in = _is_built_in(plain)
        _RESTORED[key] = _make(plain, params=params, built_in=built_in, **options)
    return _RESTORED[key]


def check_rule(value: Any, queues: int) -> AcceptanceRule:
    """Return ``value`` if it is a rule that can be run with this number of queues.

    ``None`` stands for `uniform`.

    Raises
    ------
    ValueError
        Otherwise; the message says what a rule looks like, or which entry outside its arrays it uses
        with this number of queues.
    """
    if value is None:
        return uniform()
    if not isinstance(value, AcceptanceRule):
        what = "a plain Python function" if inspect.isfunction(value) else "not a rule"
        hint = ""
        if callable(value) and getattr(value, "__module__", "") == __name__:
            hint = f" (it makes rules: did you mean {value.__name__}(...)?)"
        raise ValueError(f"acceptance = {value!r} is {what}{hint}.\n{_explanation()}")
    if value.queues is not None and value.queues != queues:
        raise ValueError(
            f"acceptance rule {value.name} is made for {value.queues} queues; arrival_rates has "
            f"{queues}"
        )
    trial = (value.digest, queues)
    # One queue never meets another, and its rule is never called.
    if queues > 1 and not _is_built_in(value.accept.py_func) and trial not in _TRIED:
        _try_out(value, queues)
        _TRIED.add(trial)
    return value


_TRIED: set[tuple[str, int]] = set()


def _is_built_in(function: Callable) -> bool:
    return function.__module__ == __name__


def _try_out(rule: AcceptanceRule, queues: int) -> None:
    """Let the Python function decide between all queues to find indices outside its arrays.

    Compiled code does not check indices: it would decide by whatever lies in memory there. Any other
    exception is left to the real run, since the numbers of this trial need not suit every rule.
    """
    senders, lengths = np.arange(queues), np.arange(1, queues + 1)
    params, rng = np.array(rule.params), np.arange(1, 5, dtype=np.uint64)
    try:
        with np.errstate(all="ignore"):
            rule.accept.py_func(0, queues, senders, queues, lengths, senders + 1, params, rng)
    except IndexError as error:
        raise ValueError(
            f"acceptance rule {rule.name}: with {queues} queues and {params.size} params the code uses "
            f"an entry outside its arrays: {error}"
        ) from None
    except Exception:
        return


@cache
def _built_in(function: Callable, name: str, heads: bool) -> AcceptanceRule:
    return _make(function, name=name, heads=heads, built_in=True)


def _uniform(server, t, senders, count, lengths, heads, params, rng):
    return senders[integer_below(rng, count)]


def uniform() -> AcceptanceRule:
    """Each of the packets with the same probability; one uniform a decision."""
    return _built_in(_uniform, "uniform", False)


def _fixed_priority(server, t, senders, count, lengths, heads, params, rng):
    chosen = senders[0]
    for k in range(1, count):
        if params[senders[k]] < params[chosen]:
            chosen = senders[k]
    return chosen


def fixed_priority(order: Any) -> AcceptanceRule:
    """The packet of the queue that comes first in a fixed order, the same at all servers.

    Parameters
    ----------
    order : sequence of int, length n
        All queues 0, 1, ..., n - 1, the highest priority first.

    Returns
    -------
    AcceptanceRule

    Raises
    ------
    ValueError
        If ``order`` does not name each queue exactly once.
    """
    queues = real_vector("order", order).tolist()
    if not queues or sorted(queues) != list(range(len(queues))):
        raise ValueError(
            f"order = {order!r}; permitted: each of the queues 0, 1, ..., n - 1 exactly once"
        )
    ranks = [queues.index(queue) for queue in range(len(queues))]
    return _built_in(_fixed_priority, "fixed priority", False).with_params(
        ranks, queues=len(queues)
    )


def _oldest_first(server, t, senders, count, lengths, heads, params, rng):
    chosen = senders[0]
    ties = 1
    for k in range(1, count):
        if heads[senders[k]] < heads[chosen]:
            chosen = senders[k]
            ties = 1
        elif heads[senders[k]] == heads[chosen]:
            # Each of the ties so far is kept with the same probability.
            ties += 1
            if integer_below(rng, ties) == 0:
                chosen = senders[k]
    return chosen


def oldest_first() -> AcceptanceRule:
    """The packet that arrived first; among packets of one age each with the same probability."""
    return _built_in(_oldest_first, "oldest first", True)
