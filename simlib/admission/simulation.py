"""A product-form network behind an admission controller, step by step.

One step of the uniformized network, of mean duration 1/U:

1. an event happens: an arrival with probability lambda/U, the completion of a service by a given busy
   server of station i with probability rate_i/U, or nothing;
2. a job that arrives when the total is s is admitted by the controller, always rejected if s is the
   limit S; a job whose service is completed goes on to another station or leaves.

**One uniform a step.** The interval [0, U) is cut into the arrivals at each station, the services of
each station with each destination, and the rest, in which nothing happens; the interval of a route of a
station with c servers is cut again into c parts, of which as many count as servers are busy. The
interval in which ``U u`` falls is found through a table of equal cells, so that a step costs the same
whatever the number of stations. Two runs with one seed meet the same uniforms whatever their policies:
this is the usual coupling of two networks.

**Random numbers.** The network draws from the stream "events", one number a step; a policy from the
stream "coins".

Source: Anselmi, Gaujal and Rebuffi, arXiv 2308.02391, Section 2.
"""

import dataclasses
import hashlib
import inspect
import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import njit, types
from numba.core import serialize
from numpy.typing import NDArray

from simlib import arguments
from simlib.admission.model import AdmissionModel
from simlib.admission.network import Network, as_acceptance, as_cost, as_uniformization
from simlib.compiled import compile_function, refuse_other_randomness, refuse_wrong_arguments
from simlib.fingerprint import fingerprint
from simlib.streams import random, substreams

__all__ = [
    "AFTER_ARRIVAL",
    "AFTER_DEPARTURE",
    "AFTER_OTHER",
    "AdmissionRule",
    "AdmissionRun",
    "EventTable",
    "admission_rule",
    "event_table",
    "hysteresis_rule",
    "network_event",
    "simulate",
    "start_jobs",
]

#: What the step before did to the total: nothing (or it is the first step), a job was admitted, a job
#: left. Middle index of `AdmissionRun.visits` and `departures`.
AFTER_OTHER, AFTER_ARRIVAL, AFTER_DEPARTURE = 0, 1, 2

#: Answers of `network_event` besides the arrival's row in the table.
_INSIDE, _LEFT = -1, -2

_OK, _BAD_DECISION, _BAD_MEMORY = 0, 1, 2
_CELLS_PER_EVENT = 8

_F1 = types.Array(types.float64, 1, "C")
_I1 = types.Array(types.int64, 1, "C")
_I2 = types.Array(types.int64, 2, "C")
_I3 = types.Array(types.int64, 3, "C")
_U1 = types.Array(types.uint64, 1, "C")

_SIGNATURE = types.int64(
    *(types.Array(types.int64, 1, "C", readonly=True), types.int64, types.int64, _F1),
    *(types.Array(types.float64, 1, "C", readonly=True), _U1),
)
_ARGUMENTS = ("x", "total", "t", "memory", "params", "rng")
_RETURNS = "whether to admit, the integer 0 or 1"
_ADMIT = types.FunctionType(_SIGNATURE)

#: The example that error messages show.
EXAMPLE = """\
from simlib.admission import admission_rule

@admission_rule
def first_station_free(x, total, t, memory, params, rng):
    return int(x[0] == 0)                           # 1 admits the job, 0 rejects it
"""


def _explanation() -> str:
    return "An admission rule looks like this:\n\n" + textwrap.indent(EXAMPLE, "    ")


# Events ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EventTable:
    """The events of one step of a network, as compiled code reads them.

    Attributes
    ----------
    uniformization : float
        U.
    lower, upper : ndarray, shape (E,)
        Each event's interval in [0, U); the last event, "nothing", has no upper end.
    per_server : ndarray, shape (E,)
        Rate at which one busy server causes the event; 0 for arrivals.
    source, destination : ndarray of int64, shape (E,)
        Station at which a service is completed (-1: an arrival; -2: nothing happens), and the station
        to which the job goes (-1: it leaves).
    servers : ndarray of int64, shape (N,)
        Servers of each station, at most the limit of the total.
    guide : ndarray of int64, shape (cells,)
        For each of equally many parts of [0, U), a power of two, the event at its lower end.
    """

    uniformization: float
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    per_server: NDArray[np.float64]
    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    servers: NDArray[np.int64]
    guide: NDArray[np.int64]

    @property
    def packed(self) -> tuple:
        """The fields in the order of the arguments of `network_event`."""
        return (
            *(self.uniformization, self.lower, self.upper, self.per_server),
            *(self.source, self.destination, self.servers, self.guide),
        )


def event_table(network: Network, limit: int, uniformization: Any = None) -> EventTable:
    """Cut the step of a network into its events.

    Parameters
    ----------
    network : Network
    limit : int
        Bound S on the total, at least 1; a station never uses more than S servers.
    uniformization : float, optional
        U, at least ``network.rate_bound(limit)``, its default.

    Returns
    -------
    EventTable

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Cost: O(N^2).
    """
    if not isinstance(network, Network):
        raise ValueError(f"network = {network!r}; permitted: a simlib.admission.Network")
    limit = arguments.positive_integer("limit", limit)
    bound = float(as_uniformization(uniformization, network.rate_bound(limit)))
    servers = np.array([min(c, limit) for c in network.servers], dtype=np.int64)
    events = [
        (float(network.arrival_rate) * float(share), 0.0, -1, j)
        for j, share in enumerate(network.external)
    ]
    for i, row in enumerate(network.routing):
        rate = float(network.rates[i])
        for j, share in [*enumerate(row), (-1, network.exit[i])]:
            events.append((rate * float(share) * servers[i], rate * float(share), i, j))
    events = [event for event in events if event[0] > 0.0]
    ends = np.cumsum([width for width, *_ in events])
    lower = np.concatenate([[0.0], ends])
    upper = np.concatenate([ends, [math.inf]])
    cells = 1 << (_CELLS_PER_EVENT * lower.size - 1).bit_length()
    starts = np.arange(cells) / cells * bound
    return EventTable(
        uniformization=bound,
        lower=lower,
        upper=upper,
        per_server=np.array([*(event[1] for event in events), 0.0]),
        source=np.array([*(event[2] for event in events), -2], dtype=np.int64),
        destination=np.array([*(event[3] for event in events), -1], dtype=np.int64),
        servers=servers,
        guide=np.searchsorted(upper, starts, side="right").astype(np.int64),
    )


@njit(cache=True, error_model="numpy", _nrt=False)
def network_event(
    u, x, uniformization, lower, upper, per_server, source, destination, servers, guide
):
    """Let the event at ``u`` happen; an arrival is left to the caller.

    Parameters
    ----------
    u : float
        Uniform in [0, 1).
    x : ndarray of int64, shape (N,)
        Jobs at each station, changed in place.
    uniformization, lower, upper, per_server, source, destination, servers, guide
        See `EventTable`.

    Returns
    -------
    int
        -1: no job entered or left; -2: a job left; otherwise the row of an arrival, whose job the
        caller adds to ``x[destination[row]]`` if it is admitted.
    """
    y = u * uniformization
    k = guide[np.int64(u * guide.shape[0])]
    while y >= upper[k]:
        k += 1
    i = source[k]
    if i >= 0:
        busy = x[i]
        # The parts of servers 0..busy-1 count; when all are busy no rounding may lose the last.
        if busy >= servers[i] or y - lower[k] < per_server[k] * busy:
            x[i] = busy - 1
            j = destination[k]
            if j < 0:
                return _LEFT
            x[j] += 1
        return _INSIDE
    return k if i == -1 else _INSIDE


# Policies -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class AdmissionRule:
    """A compiled policy that may look at the whole state and remember. Made by `admission_rule`.

    It is called at every arrival that finds the total below the limit, as
    ``admit(x, total, t, memory, params, rng)``, and returns 1 to admit the job and 0 to reject it.
    ``x`` holds the jobs at each station before the arrival, ``total`` their sum, ``t`` the step,
    counted from 1; ``memory`` is an array of the rule's own, zero at the start, that it may change;
    ``rng`` is a generator for its coins (`simlib.streams.random`).

    Attributes
    ----------
    name : str
        Name in tables, plots and messages.
    admit : numba dispatcher
        The compiled function.
    params : tuple of float
        Numbers that the function receives as an array; finite.
    memory : int
        Length of the memory.
    stations : int or None
        The number of stations that the rule is made for, if it is made for one.
    digest : str
        Changes when the code, anything it refers to, or a parameter changes.
    """

    name: str
    admit: Callable
    params: tuple[float, ...] = ()
    memory: int = 0
    stations: int | None = None
    digest: str = ""

    def __reduce__(self):
        # Compiled code does not travel, its Python function does.
        options = {"name": self.name, "memory": self.memory, "stations": self.stations}
        return _restore, (
            *(self.digest, self.params, options, serialize.dumps(self.admit.py_func)),
        )


def _signed(rule: AdmissionRule) -> AdmissionRule:
    head = (rule.name, rule.params, rule.memory, rule.stations)
    return dataclasses.replace(rule, digest=fingerprint((*head, rule.admit.py_func))[:24])


def admission_rule(
    function: Callable | None = None,
    /,
    *,
    params: Any = (),
    memory: int = 0,
    stations: int | None = None,
    name: str | None = None,
):
    """Turn a function into an `AdmissionRule`; it is compiled at once with a fixed signature.

    Parameters
    ----------
    function : function
        ``admit(x, total, t, memory, params, rng)``, see `AdmissionRule`.
    params : array_like of float, optional
        Numbers handed to the function.
    memory : int, optional
        Length of the array that the function may keep.
    stations : int, optional
        The only number of stations that the rule can be run with.
    name : str, optional
        Name for tables and messages; by default that of the function.

    Returns
    -------
    AdmissionRule

    Raises
    ------
    ValueError
        If the function takes the wrong number of arguments, cannot be compiled, writes to the state,
        does not return an integer, or draws from ``random`` or ``numpy.random``; if ``params`` are not
        finite. The message says what a rule looks like.

    Examples
    --------
    >>> from simlib.admission import admission_rule
    >>> @admission_rule
    ... def at_most_two(x, total, t, memory, params, rng):
    ...     return int(total < 2)
    >>> at_most_two.name
    'at_most_two'
    """

    def decorate(function):
        return _make(function, params=params, memory=memory, stations=stations, name=name)

    return decorate if function is None else decorate(function)


def _make(function, *, params=(), memory=0, stations=None, name=None, built_in=False):
    function = getattr(function, "py_func", function)
    name = name or getattr(function, "__name__", "rule")
    owner = f"admission rule {name}"
    if not inspect.isfunction(function):
        raise ValueError(f"{owner}: {function!r} is not a function.\n{_explanation()}")
    memory = arguments.non_negative_integer(f"{owner}: memory", memory)
    if stations is not None:
        stations = arguments.positive_integer(f"{owner}: stations", stations)
    values = tuple(arguments.real_vector(f"{owner}: params", params).tolist())
    refuse_wrong_arguments(owner, "admit", function, _ARGUMENTS, _explanation())
    if not built_in:
        refuse_other_randomness(owner, "admit", function, _explanation())
    options = {"cache": True, "_nrt": False} if built_in else {}
    compiled = compile_function(
        owner, "admit", function, _SIGNATURE, _RETURNS, _explanation(), **options
    )
    return _signed(AdmissionRule(name, compiled, values, memory, stations))


_RESTORED: dict[tuple[str, str], AdmissionRule] = {}


def _restore(digest: str, params: tuple, options: dict, function: bytes) -> AdmissionRule:
    """Rebuild a pickled rule, compiling its function once in each process."""
    key = (digest, hashlib.sha256(function).hexdigest())
    if key not in _RESTORED:
        plain = serialize.loads(function)
        built_in = plain.__module__ == __name__
        _RESTORED[key] = _make(plain, params=params, built_in=built_in, **options)
    return _RESTORED[key]


def _never(x, total, t, memory, params, rng):
    return 0


def _hysteresis(x, total, t, memory, params, rng):
    # memory[0] is 1 while jobs are rejected; the total then only falls until it is at most resume.
    if memory[0] == 1.0 and total <= params[1]:
        memory[0] = 0.0
    if memory[0] == 1.0 or total >= params[0]:
        return 0
    if total + 1 >= params[0]:
        memory[0] = 1.0
    return 1


@cache
def _built_in(function: Callable, name: str, memory: int) -> AdmissionRule:
    return _make(function, name=name, memory=memory, built_in=True)


def hysteresis_rule(stop: int, resume: int) -> AdmissionRule:
    """Reject from the moment the total reaches ``stop`` until it has fallen to ``resume``.

    Parameters
    ----------
    stop : int
        At least 1.
    resume : int
        From 0 to ``stop - 1``; with ``stop - 1`` this is a threshold.

    Returns
    -------
    AdmissionRule

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    stop = arguments.positive_integer("stop", stop)
    resume = arguments.non_negative_integer("resume", resume)
    if resume >= stop:
        raise ValueError(f"resume = {resume}; permitted: integers from 0 to stop - 1 = {stop - 1}")
    rule = _built_in(_hysteresis, "hysteresis", 1)
    return _signed(dataclasses.replace(rule, params=(float(stop), float(resume))))


# Runs -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AdmissionRun:
    """One run of one policy; counts are of the steps 1..t, by the total s before the step.

    Attributes
    ----------
    policy : str
        Name of the policy.
    horizon : int
        Number of steps T.
    limit : int
        Bound S on the total.
    uniformization : float
        U; a step lasts 1/U on average.
    checkpoints : ndarray of int64, shape (C,)
        Recorded steps t; the last one is T.
    visits : ndarray of int64, shape (C, 3, S + 1)
        Steps that began with the total s; the middle index says what the step before did to the total
        (`AFTER_OTHER`, `AFTER_ARRIVAL`, `AFTER_DEPARTURE`).
    departures : ndarray of int64, shape (C, 3, S + 1)
        Those of these steps in which a job left.
    arrivals, admitted : ndarray of int64, shape (C, S + 1)
        Steps in which a job arrived, and in which it was admitted.
    total : ndarray of int64, shape (C,)
        Jobs in the network after each recorded step.
    jobs : ndarray of int64, shape (N,)
        Jobs at each station after the last step.
    """

    policy: str
    horizon: int
    limit: int
    uniformization: float
    checkpoints: NDArray[np.int64]
    visits: NDArray[np.int64]
    departures: NDArray[np.int64]
    arrivals: NDArray[np.int64]
    admitted: NDArray[np.int64]
    total: NDArray[np.int64]
    jobs: NDArray[np.int64]

    @property
    def law(self) -> NDArray[np.float64]:
        """Fraction of the steps 1..t that began with the total s, shape (C, S + 1)."""
        return self.visits.sum(axis=1) / self.checkpoints[:, None]

    @property
    def exit_rate(self) -> NDArray[np.float64]:
        """Departures per unit of time by the total, over all T steps; NaN where it was never met."""
        with np.errstate(invalid="ignore"):
            shares = self.departures[-1].sum(axis=0) / self.visits[-1].sum(axis=0)
        return self.uniformization * shares

    def cost(self, rejection_cost: Any, holding_cost: Any) -> NDArray[np.float64]:
        """Cost of the steps 1..t, shape (C,): ``g_h s / U`` a step, and R for each job rejected.

        Parameters
        ----------
        rejection_cost, holding_cost : float
            R for a rejected job, g_h for a job and a unit of time.

        Raises
        ------
        ValueError
            If a cost is negative or not finite.

        Notes
        -----
        Its mean is ``t r_max`` less that of the rewards (1) of the source.
        """
        reject = float(as_cost("rejection_cost", rejection_cost))
        hold = float(as_cost("holding_cost", holding_cost))
        held = self.visits.sum(axis=1) @ np.arange(self.limit + 1.0)
        rejected = (self.arrivals - self.admitted).sum(axis=1)
        return reject * rejected + hold * held / self.uniformization


_ADVANCE = types.int64(
    *(_ADMIT, _F1, _F1, _F1, types.boolean, types.int64, _I1, _I1, _U1, _U1),
    *(types.float64, _F1, _F1, _F1, _I1, _I1, _I1, _I1),
    *(_I3, _I3, _I2, _I2, _I1, _I1),
)


@njit(_ADVANCE, cache=True, error_model="numpy", _nrt=False)
def _advance(
    admit,
    alpha,
    memory,
    params,
    looks,
    limit,
    x,
    checkpoints,
    events,
    coins,
    uniformization,
    lower,
    upper,
    per_server,
    source,
    destination,
    servers,
    guide,
    visits,
    departures,
    arrivals,
    admitted,
    totals,
    report,
):
    """Run to the last checkpoint; return `_OK`, `_BAD_DECISION` or `_BAD_MEMORY`.

    ``looks`` says whether ``admit`` decides, or the acceptance probabilities ``alpha``. Changed in
    place: the generators, ``memory``, ``x``; ``visits``, ``departures``, ``arrivals`` and ``admitted``,
    the counts since the last checkpoint, and ``totals``, one row a checkpoint (see `AdmissionRun`);
    ``report`` (step and value of an error).
    """
    total = np.int64(0)
    for i in range(x.shape[0]):
        total += x[i]
    before = AFTER_OTHER
    t = 0
    for k in range(checkpoints.shape[0]):
        while t < checkpoints[k]:
            t += 1
            visits[k, before, total] += 1
            u = random(events)
            event = network_event(
                u, x, uniformization, lower, upper, per_server, source, destination, servers, guide
            )
            if event >= 0:
                arrivals[k, total] += 1
                decision = np.int64(0)
                if total < limit:
                    if looks:
                        decision = admit(x, total, t, memory, params, coins)
                        if decision != 0 and decision != 1:
                            report[0], report[1] = t, decision
                            return _BAD_DECISION
                    elif alpha[total] > 0.0:
                        decision = np.int64(alpha[total] >= 1.0 or random(coins) < alpha[total])
                if decision == 1:
                    admitted[k, total] += 1
                    x[destination[event]] += 1
                    total += 1
                    before = AFTER_ARRIVAL
                else:
                    before = AFTER_OTHER
            elif event == _LEFT:
                departures[k, before, total] += 1
                total -= 1
                before = AFTER_DEPARTURE
            else:
                before = AFTER_OTHER
        totals[k] = total
        for i in range(memory.shape[0]):
            # Only for infinities and NaN the difference is not zero.
            if memory[i] - memory[i] != 0.0:
                report[0], report[1] = t, i
                return _BAD_MEMORY
    return _OK


def simulate(
    network: Network,
    policy: Any,
    horizon: int,
    *,
    seed: Any,
    limit: int | None = None,
    model: AdmissionModel | None = None,
    checkpoints: Any = None,
    start: Any = None,
    uniformization: Any = None,
) -> AdmissionRun:
    """Run a network under one admission policy.

    Parameters
    ----------
    network : Network
        Stations with one server or several.
    policy : sequence of float, or AdmissionRule
        Acceptance probability by the total, for s = 0..S-1 (a last entry 0 for s = S may follow): any
        policy that looks at the total alone. Or a rule that looks at the state or remembers, see
        `admission_rule` and `hysteresis_rule`.
    horizon : int
        Number of steps T, at least 1.
    seed : int or numpy.random.SeedSequence
        Seed of this run; runs with one seed meet the same events (see the module's description).
    limit : int, optional
        Bound S on the total, at least 1; by default that of the model, or the length of the sequence.
    model : AdmissionModel, optional
        Where the limit and the uniformization constant are taken from.
    checkpoints : array_like of int, optional
        Strictly increasing steps at which to record; the horizon is always added.
    start : array_like of int, shape (N,), optional
        Jobs at each station before the first step, in all at most S; by default none.
    uniformization : float, optional
        U; by default that of the model, or else the smallest possible.

    Returns
    -------
    AdmissionRun

    Raises
    ------
    ValueError
        If an argument is out of its range; during the run, if a rule returns something else than 0 or
        1 or its memory stops being finite.

    Notes
    -----
    Cost: about 15 to 25 ns a step. Memory: O(S) a checkpoint, whatever the horizon.
    """
    looks = isinstance(policy, AdmissionRule)
    if callable(policy):
        raise ValueError(
            f"policy = {policy!r} is a plain function; permitted: acceptance probabilities by the "
            f"total, or an admission rule.\n{_explanation()}"
        )
    limit, uniformization = _limit(policy, limit, model, uniformization)
    table = event_table(network, limit, uniformization)
    horizon = arguments.positive_integer("horizon", horizon)
    steps = arguments.checkpoint_steps("checkpoints", checkpoints, horizon)
    steps = np.unique(np.append(steps, horizon))
    x = start_jobs(start, network.stations, limit)
    alpha = np.zeros(limit + 1)
    if looks:
        rule, name = _check_rule(policy, network.stations), policy.name
    else:
        rule, name = _built_in(_never, "never", 0), "sum policy"
        alpha[:limit] = [float(share) for share in as_acceptance(policy, limit)]
    memory, params = np.zeros(rule.memory), np.array(rule.params, dtype=np.float64)
    events, coins = substreams(seed, ("events", "coins"))
    counts = [np.zeros((steps.size, 3, limit + 1), dtype=np.int64) for _ in range(2)]
    counts += [np.zeros((steps.size, limit + 1), dtype=np.int64) for _ in range(2)]
    totals, report = np.zeros(steps.size, dtype=np.int64), np.zeros(2, dtype=np.int64)
    code = _advance(
        *(rule.admit, alpha, memory, params, looks, limit, x, steps, events, coins),
        *(*table.packed, *counts, totals, report),
    )
    t, value = report.tolist()
    if code == _BAD_DECISION:
        raise ValueError(f"admission rule {name}: returned {value} at step {t}; permitted: 0 or 1")
    if code == _BAD_MEMORY:
        raise ValueError(
            f"admission rule {name}: memory[{value}] is {memory[value]} after step {t}; permitted: "
            f"finite numbers"
        )
    visits, departures, arrivals, admitted = (count.cumsum(axis=0) for count in counts)
    return AdmissionRun(
        policy=name,
        horizon=horizon,
        limit=limit,
        uniformization=table.uniformization,
        checkpoints=steps,
        visits=visits,
        departures=departures,
        arrivals=arrivals,
        admitted=admitted,
        total=totals,
        jobs=x,
    )


def _limit(policy, limit, model, uniformization):
    """Return the limit and the uniformization constant, from the model where they are not given."""
    if model is not None:
        if not isinstance(model, AdmissionModel):
            raise ValueError(f"model = {model!r}; permitted: a simlib.admission.AdmissionModel")
        if limit is not None and limit != model.limit:
            raise ValueError(f"limit = {limit!r}; permitted: that of the model, {model.limit}")
        limit = model.limit
        if uniformization is None:
            uniformization = model.uniformization
    if limit is None:
        if isinstance(policy, AdmissionRule) or not hasattr(policy, "__len__"):
            raise ValueError("limit = None; needed: limit or model, unless policy is a sequence")
        limit = len(policy)
    return arguments.positive_integer("limit", limit), uniformization


def start_jobs(start: Any, stations: int, limit: int) -> NDArray[np.int64]:
    """Return the jobs at each station before the first step as an array, shape (stations,).

    Raises
    ------
    ValueError
        Unless there is a number for each station, at least 0, and they sum to at most the limit.
    """
    if start is None:
        return np.zeros(stations, dtype=np.int64)
    vector = arguments.real_vector("start", start)
    if vector.size != stations:
        raise ValueError(
            f"start has {vector.size} entries; permitted: one for each of {stations} stations"
        )
    jobs = [
        arguments.non_negative_integer(f"start[{i}]", count)
        for i, count in enumerate(vector.tolist())
    ]
    if sum(jobs) > limit:
        raise ValueError(f"start sums to {sum(jobs)}; permitted: at most the limit {limit}")
    return np.array(jobs, dtype=np.int64)


_TRIED: set[tuple[str, int]] = set()


def _check_rule(rule: AdmissionRule, stations: int) -> AdmissionRule:
    """Return the rule if it can be run with this number of stations."""
    if rule.stations is not None and rule.stations != stations:
        raise ValueError(
            f"admission rule {rule.name} is made for {rule.stations} stations; the network has "
            f"{stations}"
        )
    trial = (rule.digest, stations)
    if rule.admit.py_func.__module__ != __name__ and trial not in _TRIED:
        # Compiled code does not check indices: it would decide by whatever lies in memory there.
        x, memory = np.ones(stations, dtype=np.int64), np.zeros(rule.memory)
        params, rng = np.array(rule.params), np.arange(1, 5, dtype=np.uint64)
        try:
            with np.errstate(all="ignore"):
                rule.admit.py_func(x, stations, 1, memory, params, rng)
        except IndexError as error:
            raise ValueError(
                f"admission rule {rule.name}: with {stations} stations, {len(rule.params)} params "
                f"and a memory of {rule.memory} the code uses an entry outside its arrays: {error}"
            ) from None
        except Exception:  # left to the real run: these numbers need not suit every rule
            return rule
        _TRIED.add(trial)
    return rule
