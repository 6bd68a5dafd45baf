"""Policies: which waiting job is served next, and by which server.

The source's policies, its baselines and a few of our own are one compiled family; a factory of this
module sets its numbers. A policy of one's own is two compiled functions (a third one is optional) over
a table of floats with one row a server:

``init(state, params)``
    fills the table before the first round (optional: it starts with zeros);
``choose(state, params, t, contexts, entered, rng)``
    called in rounds with a waiting job; returns ``position * servers + server``, where ``position``
    counts the waiting jobs in the order in which they entered and ``servers`` is ``state.shape[0]``;
``update(state, params, t, context, server, departed)``
    learns whether the job just served departed (1.0) or stayed (0.0).

``contexts`` has one row for each waiting job and ``entered`` the round in which it arrived (0: it was
there at the start), so that ``entered[-1] == t - 1`` says that a job arrived in the round before.
Everything but ``state`` and ``rng`` is read-only.
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

from simlib.arguments import (
    choice,
    non_negative_integer,
    positive_integer,
    positive_real,
    probability_open,
    real,
    real_vector,
)
from simlib.compiled import compile_function, refuse_other_randomness, refuse_wrong_arguments
from simlib.contextual.formulas import confidence_width, experiment_exploration_rounds
from simlib.contextual.model import Instance
from simlib.fingerprint import fingerprint

__all__ = [
    "CHOOSE",
    "EXAMPLE",
    "UPDATE",
    "Policy",
    "Settings",
    "cqb_epsilon",
    "cqb_epsilon_opt",
    "cqb_eta2",
    "cqb_opt",
    "cqb_ts",
    "greedy",
    "optimal",
    "policy",
    "q_ths",
    "q_ucb",
    "uniform",
]

#: Kinds of decisions, as the kernel knows them.
OPTIMAL, UNIFORM, Q_UCB, Q_THS, OPTIMISTIC, SAMPLING, OWN = range(7)

_STATE = types.Array(types.float64, 2, "C")
_PARAMS = types.Array(types.float64, 1, "C", readonly=True)
_CONTEXTS = types.Array(types.float64, 2, "C", readonly=True)
_ENTERED = types.Array(types.int64, 1, "C", readonly=True)
_SIGNATURES = {
    "init": types.void(_STATE, _PARAMS),
    "choose": types.int64(
        *(_STATE, _PARAMS, types.int64, _CONTEXTS, _ENTERED, types.Array(types.uint64, 1, "C"))
    ),
    "update": types.void(_STATE, _PARAMS, types.int64, _PARAMS, types.int64, types.float64),
}
_ARGUMENTS = {
    "init": ("state", "params"),
    "choose": ("state", "params", "t", "contexts", "entered", "rng"),
    "update": ("state", "params", "t", "context", "server", "departed"),
}
_RETURNS = "position * servers + server, an integer from 0 to waiting * servers - 1"

#: Numba types under which the kernel receives a policy's functions.
CHOOSE = types.FunctionType(_SIGNATURES["choose"])
UPDATE = types.FunctionType(_SIGNATURES["update"])

#: The example that error messages show.
EXAMPLE = """\
from simlib.contextual import policy
from simlib.streams import integer_below, random

@policy(size=2)                                    # state: float64, shape (servers, 2), zeros
class OldestJobBestServer:
    def choose(state, params, t, contexts, entered, rng):
        servers = state.shape[0]
        server = (state[:, 1] / (state[:, 0] + 1)).argmax()
        if random(rng) < t ** (-1 / 3):
            server = integer_below(rng, servers)
        return 0 * servers + server                # the first in, of len(contexts) waiting jobs

    def update(state, params, t, context, server, departed):
        state[server, 0] += 1                      # departed: 0.0 or 1.0
        state[server, 1] += departed
"""


def _explanation() -> str:
    return "A policy looks like this:\n\n" + textwrap.indent(EXAMPLE, "    ")


@dataclass(frozen=True)
class Settings:
    """Numbers of a policy of the built-in family. Where None, the instance and horizon decide.

    Attributes
    ----------
    kind : int
        How it decides: `OPTIMAL`, `UNIFORM`, `Q_UCB`, `Q_THS`, `OPTIMISTIC` or `SAMPLING`.
    exploration_rounds : int or None
        tau: rounds 1..tau are pure exploration. None: `experiment_exploration_rounds`.
    exploration : float or None
        Exploration rate afterwards, in [0, 1). None: ``T**-0.5``.
    cutoff : int or None
        Last round with exploration. None: T.
    any_job : bool
        Whether exploration after tau serves a uniform waiting job in any round; otherwise it serves
        the job that just arrived, in rounds that follow an arrival.
    bonus_scale : float
        Factor of the width beta; 1 is what the theory asks for, 0 is greedy.
    bonus : str
        Form of the width, "source" or "ours": `simlib.contextual.formulas.confidence_width`.
    regularisation : float
        lambda_0.
    failure : float or None
        delta. None: ``T**-failure_power``.
    failure_power : int
        2 where theorem and policy need delta = T^-2, else 1.
    refresh : float
        A server's estimate is computed anew when its attempts have grown by this factor since; 1 is
        after every attempt: exact. Above 1 decisions use an older estimate: approximate.
    """

    kind: int
    exploration_rounds: int | None = 0
    exploration: float | None = 0.0
    cutoff: int | None = None
    any_job: bool = False
    bonus_scale: float = 0.0
    bonus: str = "source"
    regularisation: float = 1.0
    failure: float | None = None
    failure_power: int = 1
    refresh: float = 1.0


@dataclass(frozen=True, eq=False)
class Policy:
    """A policy that the simulator can run. Made by a factory of this module or by `policy`.

    Attributes
    ----------
    name : str
        Name in tables, plots and messages.
    settings : Settings
        Of the built-in family.
    size : int or callable
        Columns of the state of a policy of one's own; a callable computes them from the dimension.
    init, choose, update : numba dispatcher or None
        Its compiled functions (see the module's description).
    params : tuple of float
        Numbers that they receive as an array; finite.
    digest : str
        Changes with whatever changes the policy's decisions; as that of a learner.
    """

    name: str
    settings: Settings
    size: int | Callable[[int], int] = 0
    init: Callable | None = None
    choose: Callable | None = None
    update: Callable | None = None
    params: tuple[float, ...] = ()
    digest: str = ""

    def with_params(self, params: Any, name: str | None = None) -> "Policy":
        """Return a policy of one's own with other parameters; nothing is compiled.

        Parameters
        ----------
        params : array_like of float
            The new parameters, finite.
        name : str, optional
            A new name.
        """
        changed = {"params": _checked_params(self.name, params), "name": name or self.name}
        return _signed(dataclasses.replace(self, **changed))

    def __reduce__(self):
        if self.settings.kind != OWN:
            return _built_in, (self.name, self.settings)
        # As for learners: compiled code does not travel, its Python functions do.
        functions = {kind: getattr(self, kind).py_func for kind in _SIGNATURES}
        options = {"name": self.name, "size": self.size}
        return _restore, (self.digest, self.params, serialize.dumps((options, functions)))


def _signed(made: Policy) -> Policy:
    """Return the policy with the digest of what it decides."""
    head = (made.name, dataclasses.astuple(made.settings), made.size, made.params)
    functions = [made.init, made.choose, made.update]
    return dataclasses.replace(made, digest=fingerprint((*head, *functions))[:24])


def _checked_params(name: str, params: Any) -> tuple[float, ...]:
    return tuple(real_vector(f"policy {name}: params", params).tolist())


# Policies of one's own -------------------------------------------------------------------------------


def policy(
    cls: type | None = None,
    /,
    *,
    size: int | Callable[[int], int],
    params: Any = (),
    name: str | None = None,
):
    """Turn a class with the functions ``choose``, ``update`` and perhaps ``init`` into a `Policy`.

    The functions are compiled at once with fixed signatures, in about a second.

    Parameters
    ----------
    size : int or callable
        Columns of the state, at least 1; or a function that computes them from the dimension, such
        as ``lambda dimension: dimension * (dimension + 1)``. (A row ``state[k, d:]`` can be
        reshaped to a matrix.)
    params : array_like of float, optional
        Numbers handed to the functions.
    name : str, optional
        Name for tables and messages; by default that of the class.

    Returns
    -------
    Policy

    Raises
    ------
    ValueError
        If a function is missing, takes the wrong number of arguments, cannot be compiled, writes to
        anything but ``state`` or returns the wrong type; if it draws from ``random`` or
        ``numpy.random``; if ``params`` are not finite. The message says what a policy looks like.

    Examples
    --------
    >>> from simlib.contextual import policy
    >>> @policy(size=1)
    ... class FirstInFirstServer:
    ...     def choose(state, params, t, contexts, entered, rng):
    ...         return 0
    ...
    ...     def update(state, params, t, context, server, departed):
    ...         state[server, 0] += departed
    >>> FirstInFirstServer.name
    'FirstInFirstServer'
    """

    def decorate(cls):
        return _compile(cls, size=size, params=params, name=name)

    return decorate if cls is None else decorate(cls)


def _no_init(state, params):
    pass


def no_choose(state, params, t, contexts, entered, rng):
    """Stand in for the functions of a policy of the built-in family, which are never called."""
    return 0


def no_update(state, params, t, context, server, departed):
    """See `no_choose`."""


@cache
def stand_ins() -> tuple[Callable, Callable]:
    """Return compiled functions for the places that a policy of the family leaves empty."""
    return tuple(
        compile_function(
            *("built-in policy", kind, function, _SIGNATURES[kind], _RETURNS, _explanation()),
            cache=True,
            _nrt=False,
        )
        for kind, function in (("choose", no_choose), ("update", no_update))
    )


def _compile(cls, *, size, params=(), name=None):
    name = name or getattr(cls, "__name__", "policy")
    owner = f"policy {name}"
    if not inspect.isclass(cls):
        raise ValueError(f"policy: {cls!r} is not a class.\n{_explanation()}")
    if not callable(size):
        size = positive_integer(f"{owner}: size", size)
    functions = {}
    for kind in _SIGNATURES:
        function = getattr(cls, kind, None)
        function = getattr(function, "py_func", function)
        if function is None and kind == "init":
            function = _no_init
        if not inspect.isfunction(function):
            raise ValueError(f"{owner} has no function {kind}.\n{_explanation()}")
        refuse_wrong_arguments(owner, kind, function, _ARGUMENTS[kind], _explanation())
        refuse_other_randomness(owner, kind, function, _explanation())
        functions[kind] = function
    values = _checked_params(name, params)
    compiled = {
        kind: compile_function(owner, kind, function, _SIGNATURES[kind], _RETURNS, _explanation())
        for kind, function in functions.items()
    }
    return _signed(Policy(name, Settings(OWN), size=size, params=values, **compiled))


_RESTORED: dict[tuple[str, str], Policy] = {}


def _restore(digest: str, params: tuple, pickled: bytes) -> Policy:
    """Rebuild a pickled policy, compiling its functions once in each process."""
    key = (digest, hashlib.sha256(pickled).hexdigest())
    if key not in _RESTORED:
        options, functions = serialize.loads(pickled)
        cls = type(options["name"], (), functions)
        _RESTORED[key] = _compile(cls, params=params, **options)
    return _RESTORED[key]


def check_policy(value: Any, instance: Instance, parameter: str = "policy") -> Policy:
    """Return ``value`` if it is a policy that can be run on the instance.

    Raises
    ------
    ValueError
        Otherwise; the message says what a policy looks like, or which entry outside its arrays it uses
        with this number of servers and this dimension.
    """
    if not isinstance(value, Policy):
        what = "a plain Python function" if inspect.isfunction(value) else "not a policy"
        hint = ""
        if callable(value) and getattr(value, "__module__", "") == __name__:
            hint = f" (it makes policies: did you mean {value.__name__}(...)?)"
        raise ValueError(f"{parameter} = {value!r} is {what}{hint}.\n{_explanation()}")
    trial = (value.digest, instance.servers, instance.dimension)
    if value.settings.kind == OWN and trial not in _TRIED:
        _try_out(value, instance)
        _TRIED.add(trial)
    return value


_TRIED: set[tuple[str, int, int]] = set()


def state_columns(made: Policy, dimension: int) -> int:
    """Return the number of columns of the state of a policy of one's own."""
    size = made.size(dimension) if callable(made.size) else made.size
    return positive_integer(f"policy {made.name}: size", size)


def _try_out(made: Policy, instance: Instance, steps: int = 8) -> None:
    """Run the Python functions for a few rounds to find indices outside their arrays.

    Compiled code does not check indices: it would silently read and overwrite other memory. Any other
    exception is left to the real run, since made-up contexts need not suit every policy.
    """
    k, d = instance.servers, instance.dimension
    state = np.zeros((k, state_columns(made, d)))
    params, rng = np.array(made.params), np.arange(1, 5, dtype=np.uint64)
    contexts = np.full((steps, d), d**-0.5)
    try:
        with np.errstate(all="ignore"):
            made.init.py_func(state, params)
            for t in range(1, steps + 1):
                entered = np.arange(t)
                pair = made.choose.py_func(state, params, t, contexts[:t], entered, rng)
                if not 0 <= pair < t * k:
                    return
                server, departed = int(pair) % k, float(t % 2)
                made.update.py_func(state, params, t, contexts[0], server, departed)
    except IndexError as error:
        raise ValueError(
            f"policy {made.name}: with {k} servers and dimension {d} the code uses an entry outside "
            f"its arrays (the state has shape {state.shape}): {error}"
        ) from None
    except Exception:
        return


# The built-in family ---------------------------------------------------------------------------------


def _built_in(name: str, settings: Settings) -> Policy:
    return _signed(Policy(name, settings))


def _checked_settings(kind: int, **given: Any) -> Settings:
    """Return settings whose numbers are in their ranges."""
    values = dict(given)
    if values.get("exploration_rounds") is not None:
        values["exploration_rounds"] = non_negative_integer(
            "exploration_rounds", values["exploration_rounds"]
        )
    for name in ("exploration", "bonus_scale"):
        if values.get(name) is not None:
            values[name] = real(name, values[name])
            most = 1.0 if name == "exploration" else np.inf
            if not 0 <= values[name] < most:
                raise ValueError(
                    f"{name} = {values[name]!r}; permitted: finite numbers from 0"
                    + (" to below 1" if name == "exploration" else "")
                )
    if values.get("cutoff") is not None:
        values["cutoff"] = non_negative_integer("cutoff", values["cutoff"])
    if values.get("failure") is not None:
        values["failure"] = probability_open("failure", values["failure"])
    if "regularisation" in values:
        values["regularisation"] = positive_real("regularisation", values["regularisation"])
    if "bonus" in values:
        choice("bonus", values["bonus"], ("source", "ours"))
    if "refresh" in values:
        values["refresh"] = real("refresh", values["refresh"])
        if values["refresh"] < 1:
            raise ValueError(f"refresh = {values['refresh']!r}; permitted: finite numbers from 1")
    return Settings(kind, **values)


def optimal() -> Policy:
    """The benchmark pi*: the pair of largest rate, known parameters; ties to the job first in."""
    return _built_in("optimal", Settings(OPTIMAL))


def uniform() -> Policy:
    """A uniform waiting job on a uniform server."""
    return _built_in("random", Settings(UNIFORM))


def q_ucb() -> Policy:
    """Q-UCB: first in, first out; explores with probability ``min(1, 3 K log(t)^2 / t)``.

    Otherwise the server with the largest ``mean + sqrt(log(t)^2 / (2 n))``, untried ones first; it does
    not look at contexts.

    References
    ----------
    Krishnasamy, Sen, Johari and Shakkottai, arXiv 1604.06377, Algorithm 1; the source's Appendix A.
    """
    return _built_in("Q-UCB", Settings(Q_UCB))


def q_ths() -> Policy:
    """Q-ThS: as `q_ucb`, with Thompson sampling from Beta laws in place of the index.

    References
    ----------
    Krishnasamy et al., arXiv 1604.06377, Algorithm 2; the display in the source is lost, and the uniform
    prior is the standard choice.
    """
    return _built_in("Q-ThS", Settings(Q_THS))


def cqb_epsilon(
    exploration_rounds: int | None = None,
    exploration: float | None = None,
    *,
    bonus_scale: float = 1.0,
    bonus: str = "source",
    regularisation: float = 1.0,
    failure: float | None = None,
    refresh: float = 1.0,
    name: str = "CQB-ε",
) -> Policy:
    """CQB-epsilon: pure exploration, then optimism with a rate of exploration.

    Rounds 1..tau: if a job has just arrived it is served by the next server in turn, otherwise a uniform
    job by a uniform server (the source: any). Afterwards: if a job has just arrived and the coin of
    this round says so (probability ``exploration``), it is served by a uniform server, otherwise the
    pair with the largest ``mu(x . estimate) + bonus_scale beta |x|_{V^-1}`` is taken.

    Parameters
    ----------
    exploration_rounds : int, optional
        tau, from 0 to T - 1; by default that of the source's experiments,
        `simlib.contextual.formulas.experiment_exploration_rounds`.
    exploration : float, optional
        In [0, 1); by default ``T**-0.5``.
    bonus_scale, bonus, regularisation, failure, refresh
        As in `Settings`; ``failure`` is ``T**-2`` by default.
    name : str
        Name for tables and messages.

    Returns
    -------
    Policy

    Raises
    ------
    ValueError
        If a number is out of range. A tau of T rounds or more is refused when the policy is run.

    Notes
    -----
    Estimates: see :mod:`simlib.contextual.estimation`.

    References
    ----------
    Algorithm 1 (reconstructed).
    """
    settings = _checked_settings(
        OPTIMISTIC,
        exploration_rounds=exploration_rounds,
        exploration=exploration,
        bonus_scale=bonus_scale,
        bonus=bonus,
        regularisation=regularisation,
        failure=failure,
        failure_power=2,
        refresh=refresh,
    )
    return _built_in(name, settings)


def cqb_opt(
    *,
    bonus_scale: float = 1.0,
    bonus: str = "source",
    regularisation: float = 1.0,
    failure: float | None = None,
    refresh: float = 1.0,
    name: str = "CQB-Opt",
) -> Policy:
    """CQB-Opt: optimism in every round, no exploration.

    Parameters
    ----------
    bonus_scale, bonus, regularisation, failure, refresh
        As in `Settings`; ``failure`` is ``1/T`` by default.
    name : str

    References
    ----------
    Algorithm 2.
    """
    settings = _checked_settings(
        OPTIMISTIC,
        bonus_scale=bonus_scale,
        bonus=bonus,
        regularisation=regularisation,
        failure=failure,
        refresh=refresh,
    )
    return _built_in(name, settings)


def greedy(*, regularisation: float = 1.0, refresh: float = 1.0, name: str = "greedy") -> Policy:
    """The pair with the largest estimated rate: `cqb_opt` without a bonus (ours)."""
    return cqb_opt(bonus_scale=0.0, regularisation=regularisation, refresh=refresh, name=name)


def cqb_epsilon_opt(
    exploration: float | None = None,
    *,
    bonus_scale: float = 1.0,
    bonus: str = "source",
    regularisation: float = 1.0,
    failure: float | None = None,
    refresh: float = 1.0,
    name: str = "CQB-ε-Opt",
) -> Policy:
    """CQB-epsilon-Opt: `cqb_opt`, but in every round a uniform pair with some probability.

    Parameters
    ----------
    exploration : float, optional
        In [0, 1); by default ``T**-0.5``.
    bonus_scale, bonus, regularisation, failure, refresh
        As in `Settings`; ``failure`` is ``1/T`` by default.
    name : str

    References
    ----------
    Appendix A, which says "random exploration in every round"; that it is a uniform waiting job on a
    uniform server is our reading.
    """
    settings = _checked_settings(
        OPTIMISTIC,
        exploration=exploration,
        any_job=True,
        bonus_scale=bonus_scale,
        bonus=bonus,
        regularisation=regularisation,
        failure=failure,
        refresh=refresh,
    )
    return _built_in(name, settings)


def cqb_ts(
    *,
    bonus_scale: float = 1.0,
    bonus: str = "source",
    regularisation: float = 1.0,
    failure: float | None = None,
    refresh: float = 1.0,
    name: str = "CQB-TS",
) -> Policy:
    """CQB-TS: the pair with the largest sampled rate.

    Every pair of a waiting job and a server has a normal draw with mean ``mu(x . estimate)`` and
    standard deviation ``bonus_scale beta |x|_{V^-1}``, new in each round.

    Parameters
    ----------
    bonus_scale, bonus, regularisation, failure, refresh
        As in `Settings`; ``failure`` is ``1/T`` by default.
    name : str

    References
    ----------
    Appendix A, whose display is lost: **the sampling law is ours**.
    """
    settings = _checked_settings(
        SAMPLING,
        bonus_scale=bonus_scale,
        bonus=bonus,
        regularisation=regularisation,
        failure=failure,
        refresh=refresh,
    )
    return _built_in(name, settings)


def cqb_eta2(
    exploration: float,
    cutoff: int,
    exploration_rounds: int | None = None,
    *,
    bonus_scale: float = 1.0,
    bonus: str = "source",
    regularisation: float = 1.0,
    failure: float | None = None,
    refresh: float = 1.0,
    name: str = "CQB-η-2",
) -> Policy:
    """CQB-eta-2: as `cqb_epsilon` with a constant rate of exploration, which stops at a cutoff.

    Parameters
    ----------
    exploration : float
        eta, in [0, 1); the theory takes a quarter of the slack.
    cutoff : int
        Last round with exploration.
    exploration_rounds : int, optional
        As in `cqb_epsilon`.
    bonus_scale, bonus, regularisation, failure, refresh
        As in `Settings`; ``failure`` is ``T**-2`` by default.
    name : str

    References
    ----------
    Beyond the source: after the abstract of arXiv 2606.09668; the constants are ours.
    """
    settings = _checked_settings(
        OPTIMISTIC,
        exploration_rounds=exploration_rounds,
        exploration=real("exploration", exploration),
        cutoff=non_negative_integer("cutoff", cutoff),
        bonus_scale=bonus_scale,
        bonus=bonus,
        regularisation=regularisation,
        failure=failure,
        failure_power=2,
        refresh=refresh,
    )
    return _built_in(name, settings)


# What a run needs to know ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Resolved:
    """Settings with all numbers in place, for one instance and horizon.

    Attributes
    ----------
    kind, exploration_rounds, cutoff : int
    any_job : bool
    exploration, regularisation, refresh : float
    bonuses, thresholds : ndarray, shape (T + 1,)
        For n attempts of a server: the factor of ``|x|_{V^-1}`` in the index, and the norm ``(slack -
        2 exploration) / (4 beta)`` beyond which a round is a bad one (infinite without a slack).
    """

    kind: int
    exploration_rounds: int
    cutoff: int
    any_job: bool
    exploration: float
    regularisation: float
    refresh: float
    bonuses: np.ndarray
    thresholds: np.ndarray


def resolve(made: Policy, instance: Instance, horizon: int) -> Resolved:
    """Put numbers in the places that a policy leaves to the instance and the horizon.

    Raises
    ------
    ValueError
        If the pure exploration would fill the run, or the cutoff lies beyond it; if the exploration
        rounds are to follow from a slack that the instance does not have.
    """
    settings, owner = made.settings, f"policy {made.name}"
    if settings.kind not in (OPTIMISTIC, SAMPLING):
        nothing = np.zeros(1)
        return Resolved(settings.kind, 0, horizon, False, 0.0, 1.0, 1.0, nothing, nothing)
    tau, exploration = settings.exploration_rounds, settings.exploration
    if exploration is None:
        exploration = horizon**-0.5
    if tau is None:
        if instance.slack is None:
            raise ValueError(
                f"{owner}: exploration_rounds = None; permitted on an instance without a slack: an "
                f"integer from 0 to {horizon - 1}"
            )
        tau = experiment_exploration_rounds(
            *(horizon, instance.dimension, instance.servers, instance.arrival_rate, instance.slack)
        )
    if tau >= horizon:
        raise ValueError(
            f"{owner}: exploration_rounds = {tau} for a horizon of {horizon}: the run would be pure "
            f"exploration, all of it; permitted: 0 to {horizon - 1}"
        )
    cutoff = horizon if settings.cutoff is None else settings.cutoff
    if not tau <= cutoff <= horizon:
        raise ValueError(
            f"{owner}: cutoff = {cutoff}; permitted: from exploration_rounds = {tau} to the horizon "
            f"{horizon}"
        )
    log_failure = settings.failure_power * np.log(horizon)
    if settings.failure is not None:
        log_failure = -np.log(settings.failure)
    width = confidence_width(
        np.arange(horizon + 1),
        instance.dimension,
        instance.servers,
        float(log_failure),
        kappa=instance.kappa,
        radius=instance.radius,
        regularisation=settings.regularisation,
        form=settings.bonus,
    )
    margin = np.inf if instance.slack is None else max(0.0, instance.slack - 2 * exploration)
    return Resolved(
        kind=settings.kind,
        exploration_rounds=tau,
        cutoff=cutoff,
        any_job=settings.any_job,
        exploration=exploration,
        regularisation=settings.regularisation,
        refresh=settings.refresh,
        bonuses=settings.bonus_scale * width,
        thresholds=margin / (4 * width),
    )
