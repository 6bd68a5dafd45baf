"""One queue of jobs with contexts and K servers with unknown logistic service rates.

Round t = 1, 2, ..., in order:

1. *observe*: the policy sees the contexts of the waiting jobs; their number at this moment is Q(t);
2. *choose*: if a job waits, the policy picks one and a server k;
3. *serve*: the job departs with probability ``mu(x . theta_k)``, ``mu(z) = 1 / (1 + exp(-z))``; if it
   fails it stays and can be picked again; only this bit is observed;
4. *arrive*: with probability ``arrival_rate`` a job with a new context joins; it can be served from
   round t + 1 on.

So ``Q(t+1) = Q(t) + A(t) - D(t)``, with ``D(t) = 0`` when the queue is empty.

**What chance decides is drawn in advance**, from streams of its own: which rounds bring a job and
with which context (`Jobs`), and one uniform ``U(t)`` a round for the service: the job departs if
``U(t)`` is below its rate at the chosen server. All policies that are run with one seed meet the same
jobs and the same uniforms, which pairs them, and is the coupling of the source's proofs.

Assumptions of the source: 3.1, contexts have norm at most 1 and parameters at most S (``radius``);
3.2, the slope of mu is at least 1/kappa; 3.3, contexts are drawn independently from one law; 3.4, for
every context some server has rate at least ``arrival_rate + slack``. An oblivious adversary replaces
3.3 by a sequence of contexts that is fixed in advance.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from simlib import arguments
from simlib.contextual.formulas import kappa_of_radius, radius_of_kappa
from simlib.streams import as_seed_sequence, random, substreams

__all__ = [
    "Instance",
    "InstanceSummary",
    "Jobs",
    "draw_jobs",
    "finite_instance",
    "instance_of",
    "random_instance",
    "service_rates",
    "summarise",
    "table_instance",
]

#: Norms may exceed their bound by rounding alone.
_ROUNDING = 1e-9
#: Contexts that are tried for one that is accepted; beyond, the instance is given up.
_MOST_TRIES = 10**7
#: Largest dimension, number of servers and horizon, and their largest product.
_LARGEST = {"dimension": 1000, "servers": 1000, "horizon": 10**7}
_LARGEST_TABLE = 2 * 10**8

_F1 = types.Array(types.float64, 1, "C")
_F2 = types.Array(types.float64, 2, "C")
_U1 = types.Array(types.uint64, 1, "C")


@njit(types.float64(types.float64), cache=True, error_model="numpy", _nrt=False)
def logistic(z):
    """``1 / (1 + exp(-z))``."""
    return 1.0 / (1.0 + math.exp(-z))


@njit(types.void(_F2, _F2, _F2), cache=True, error_model="numpy", _nrt=False)
def _rates(contexts, parameters, out):
    """Fill ``out[i, k]`` with the rate of context i at server k.

    The sums run in one fixed order: equal contexts have equal rates to the last bit, so that ties
    are ties (a matrix product of BLAS does not promise that).
    """
    for i in range(contexts.shape[0]):
        for k in range(parameters.shape[0]):
            z = 0.0
            for a in range(contexts.shape[1]):
                z += contexts[i, a] * parameters[k, a]
            out[i, k] = logistic(z)


@njit(types.int64(_U1, _F2, types.float64, _F2), cache=True, error_model="numpy", _nrt=False)
def _draw_directions(rng, parameters, least, out):
    """Fill ``out`` with directions for which some server has rate ``least``; return the tries.

    A direction is a uniform vector of the cube divided by its norm. Returns -1 if one context needs
    more than `_MOST_TRIES`.
    """
    d = out.shape[1]
    tries = 0
    for i in range(out.shape[0]):
        for attempt in range(_MOST_TRIES + 1):
            if attempt == _MOST_TRIES:
                return -1
            tries += 1
            square = 0.0
            for a in range(d):
                out[i, a] = 2.0 * random(rng) - 1.0
                square += out[i, a] * out[i, a]
            if square == 0.0:
                continue
            norm = math.sqrt(square)
            for a in range(d):
                out[i, a] /= norm
            best = -math.inf
            for k in range(parameters.shape[0]):
                z = 0.0
                for a in range(d):
                    z += out[i, a] * parameters[k, a]
                best = max(best, z)
            if logistic(best) >= least:
                break
    return tries


@njit(types.void(_U1, _F1), cache=True, error_model="numpy", _nrt=False)
def _fill_uniforms(rng, out):
    for i in range(out.shape[0]):
        out[i] = random(rng)


@dataclass(frozen=True, eq=False)
class Instance:
    """Servers, arrivals and the law of the contexts. Made by the functions of this module.

    Attributes
    ----------
    arrival_rate : float
        lambda, in (0, 1).
    slack : float or None
        Traffic slack of Assumption 3.4, above 0; None where the assumption is not made.
    parameters : ndarray, shape (K, d)
        theta*, one row a server.
    radius : float
        S, at least the norm of every row.
    contexts : ndarray, shape (n, d), or None
        The contexts that occur; None for random directions (`random_instance`).
    probabilities : ndarray, shape (n,), or None
        Their probabilities.
    rates : ndarray, shape (n, K), or None
        Their rates at the servers where these do not follow from ``parameters``: the logistic model is
        then wrong, and ``parameters`` only say how many servers and coordinates there are.
    """

    arrival_rate: float
    slack: float | None
    parameters: NDArray[np.float64]
    radius: float
    contexts: NDArray[np.float64] | None = None
    probabilities: NDArray[np.float64] | None = None
    rates: NDArray[np.float64] | None = None

    @property
    def servers(self) -> int:
        """K."""
        return self.parameters.shape[0]

    @property
    def dimension(self) -> int:
        """d."""
        return self.parameters.shape[1]

    @property
    def kappa(self) -> float:
        """Smallest kappa of Assumption 3.2 for contexts of norm at most 1."""
        return kappa_of_radius(self.radius)

    @property
    def least_rate(self) -> float:
        """``arrival_rate + slack``: what the best server offers every context at least (or 0)."""
        return 0.0 if self.slack is None else self.arrival_rate + self.slack

    @cached_property
    def _cumulative(self):
        return np.cumsum(self.probabilities)

    def draw_contexts(self, n: int, rng: NDArray[np.uint64]):
        """Draw contexts independently from the instance's law.

        Parameters
        ----------
        n : int
            Number of contexts, from 0.
        rng : ndarray of uint64, shape (4,)
            Generator, changed in place.

        Returns
        -------
        contexts : ndarray, shape (n, d)
        rates : ndarray, shape (n, K)
            Their rates at the servers.
        tries : int
            Directions that were tried; n where contexts are drawn from a list.

        Raises
        ------
        ValueError
            If one context needs more than 10**7 tries: Assumption 3.4 leaves too little.
        """
        n = arguments.non_negative_integer("n", n)
        if self.contexts is None:
            drawn = np.empty((n, self.dimension))
            tries = _draw_directions(rng, self.parameters, self.least_rate, drawn)
            if tries < 0:
                raise ValueError(
                    f"slack = {self.slack}: more than {_MOST_TRIES:.0e} directions have no server of "
                    f"rate {self.least_rate:.6g} (Assumption 3.4); permitted: a smaller slack, or a "
                    f"larger kappa"
                )
            return drawn, service_rates(drawn, self.parameters), int(tries)
        uniforms = np.empty(n)
        _fill_uniforms(rng, uniforms)
        which = np.searchsorted(self._cumulative, uniforms, side="right")
        which = np.minimum(which, self.contexts.shape[0] - 1)
        return self.contexts[which], self._rates[which], n

    @cached_property
    def _rates(self):
        return service_rates(self.contexts, self.parameters) if self.rates is None else self.rates


def service_rates(contexts: NDArray[np.float64], parameters: NDArray[np.float64]):
    """Rates ``mu(x . theta_k)`` of contexts at servers.

    Parameters
    ----------
    contexts : array_like, shape (n, d)
    parameters : array_like, shape (K, d)

    Returns
    -------
    ndarray, shape (n, K)
        Equal contexts have equal rates to the last bit.
    """
    parameters = _matrix("parameters", parameters)
    contexts = _matrix("contexts", contexts, parameters.shape[1], least_rows=0)
    out = np.empty((contexts.shape[0], parameters.shape[0]))
    _rates(contexts, parameters, out)
    return out


def _matrix(name, value, columns=None, least_rows=1):
    """Return a C-contiguous float64 copy, shape (n, d), of finite numbers."""
    permitted = "a two-dimensional array of finite numbers, one row each"
    try:
        raw = np.asarray(value)
        if raw.dtype.kind not in "iuf":
            raise TypeError
        matrix = np.array(raw, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise ValueError(f"{name} is not numeric; permitted: {permitted}") from None
    if matrix.ndim != 2:
        raise ValueError(f"{name} has {matrix.ndim} dimensions; permitted: {permitted}")
    if matrix.shape[0] < least_rows or matrix.shape[1] < 1:
        raise ValueError(f"{name} has shape {matrix.shape}; permitted: {permitted}, not empty")
    if columns is not None and matrix.shape[1] != columns:
        raise ValueError(
            f"{name} has dimension {matrix.shape[1]}; permitted: {columns}, that of the parameters"
        )
    bad = np.argwhere(~np.isfinite(matrix))
    if bad.size:
        i, a = bad[0].tolist()
        raise ValueError(f"{name}[{i}, {a}] = {matrix[i, a]}; permitted: finite numbers")
    return matrix


def _refuse_long(name, matrix, radius, assumption):
    norms = np.sqrt((matrix**2).sum(axis=1))
    long = np.flatnonzero(norms > radius * (1 + _ROUNDING))
    if long.size:
        i = int(long[0])
        raise ValueError(
            f"{name}[{i}] has norm {norms[i]:.12g}; permitted: at most {radius:.12g} ({assumption})"
        )


def _refuse_slow(name, contexts, instance):
    """Raise ``ValueError`` naming the first context that no server serves fast enough."""
    if instance.slack is None or contexts.shape[0] == 0:
        return
    best = service_rates(contexts, instance.parameters).max(axis=1)
    needed = instance.least_rate
    slow = np.flatnonzero(best < needed - _ROUNDING)
    if slow.size:
        i = int(slow[0])
        shown = np.array2string(contexts[i], precision=4, threshold=8)
        raise ValueError(
            f"{name}[{i}] = {shown}: the best of {instance.servers} servers has rate "
            f"{best[i]:.6g}, and slack = {instance.slack} asks for at least arrival_rate + slack = "
            f"{needed:.6g} (Assumption 3.4); {slow.size} of {contexts.shape[0]} contexts violate it"
        )


def _checked_load(arrival_rate, slack):
    arrival_rate = arguments.probability_open("arrival_rate", arrival_rate)
    if slack is not None:
        slack = arguments.positive_real("slack", slack)
        if arrival_rate + slack >= 1:
            raise ValueError(
                f"slack = {slack!r} with arrival_rate = {arrival_rate!r}; permitted: arrival_rate + "
                f"slack below 1, since no rate of a logistic server reaches 1 (Assumption 3.4)"
            )
    return arrival_rate, slack


def _limited(name, value, least=1):
    value = arguments.positive_integer(name, value)
    if not least <= value <= _LARGEST[name]:
        raise ValueError(f"{name} = {value}; permitted: integers from {least} to {_LARGEST[name]}")
    return value


def random_instance(
    seed: Any,
    *,
    servers: int = 5,
    dimension: int = 5,
    arrival_rate: float = 0.7,
    slack: float = 0.1,
    kappa: float = 10.0,
) -> Instance:
    """Draw an instance of the source's experiments that satisfies all four assumptions.

    A parameter is a uniform vector of the cube ``[-1, 1]^d`` rescaled to the norm S for which kappa
    is attained; a context is such a vector rescaled to norm 1, and drawn again until some server has
    rate ``arrival_rate + slack``. The source draws both uniformly from the cube and does not say how
    it meets its assumptions; the rescaling and the rejection are ours.

    Parameters
    ----------
    seed : int or numpy.random.SeedSequence
        Its stream "parameters" is used.
    servers, dimension : int
        K and d, from 1 to 1000.
    arrival_rate, slack : float
        In (0, 1), with a sum below 1.
    kappa : float
        At least 4.

    Returns
    -------
    Instance

    Raises
    ------
    ValueError
        If an argument is out of range; if no context has a server of rate ``arrival_rate + slack``,
        because even the context in the direction of a parameter has rate ``mu(S)``.

    References
    ----------
    Section 7.
    """
    k, d = _limited("servers", servers), _limited("dimension", dimension)
    arrival_rate, slack = _checked_load(arrival_rate, arguments.positive_real("slack", slack))
    radius = radius_of_kappa(kappa)
    best = float(logistic(radius))
    if best < arrival_rate + slack:
        raise ValueError(
            f"slack = {slack!r}: with kappa = {kappa!r} parameters have norm {radius:.6g}, and the "
            f"context in the direction of one has rate {best:.6g}, below arrival_rate + slack = "
            f"{arrival_rate + slack:.6g}; no context satisfies Assumption 3.4"
        )
    (rng,) = substreams(seed, ["parameters"])
    parameters = np.empty((k, d))
    _draw_directions(rng, np.zeros((1, d)), 0.0, parameters)
    return Instance(arrival_rate, slack, parameters * radius, radius)


def instance_of(
    parameters: Any, arrival_rate: float, slack: float, *, radius: float | None = None
) -> Instance:
    """Return the instance with given parameters and random directions as contexts.

    Parameters
    ----------
    parameters : array_like, shape (K, d)
    arrival_rate, slack : float
        As in `random_instance`, where the contexts are described.
    radius : float, optional
        S; by default the largest norm of a parameter.

    Returns
    -------
    Instance

    Raises
    ------
    ValueError
        As `random_instance`; if a parameter is longer than ``radius``.
    """
    parameters, radius = _checked_parameters(parameters, radius)
    arrival_rate, slack = _checked_load(arrival_rate, arguments.positive_real("slack", slack))
    best = float(logistic(np.sqrt((parameters**2).sum(axis=1)).max()))
    if best < arrival_rate + slack:
        raise ValueError(
            f"slack = {slack!r}: the context in the direction of the longest parameter has rate "
            f"{best:.6g}, below arrival_rate + slack = {arrival_rate + slack:.6g}; no context satisfies "
            f"Assumption 3.4"
        )
    return Instance(arrival_rate, slack, parameters, radius)


def _checked_parameters(parameters, radius):
    parameters = _matrix("parameters", parameters)
    _limited("servers", parameters.shape[0])
    _limited("dimension", parameters.shape[1])
    largest = float(np.sqrt((parameters**2).sum(axis=1)).max())
    if radius is None:
        if largest == 0.0:
            raise ValueError("parameters are all zero; permitted: give radius as well")
        radius = largest
    radius = arguments.positive_real("radius", radius)
    _refuse_long("parameters", parameters, radius, "Assumption 3.1")
    return parameters, radius


def finite_instance(
    parameters: Any,
    contexts: Any,
    arrival_rate: float,
    *,
    probabilities: Any = None,
    slack: float | None = None,
    radius: float | None = None,
) -> Instance:
    """Return an instance whose contexts come from a finite list, such as a data set.

    Parameters
    ----------
    parameters : array_like, shape (K, d)
    contexts : array_like, shape (n, d)
        Of norm at most 1.
    arrival_rate : float
        In (0, 1).
    probabilities : array_like, shape (n,), optional
        By default all the same.
    slack : float, optional
        Asserts Assumption 3.4, which is then checked for every context; None makes no assumption.
    radius : float, optional
        S; by default the largest norm of a parameter.

    Returns
    -------
    Instance

    Raises
    ------
    ValueError
        If an argument is out of range, dimensions differ, a context is longer than 1, or no server
        serves one of them at rate ``arrival_rate + slack``; the message names the assumption and the
        context.
    """
    parameters, radius = _checked_parameters(parameters, radius)
    contexts = _matrix("contexts", contexts, parameters.shape[1])
    arrival_rate, slack = _checked_load(arrival_rate, slack)
    _refuse_long("contexts", contexts, 1.0, "Assumption 3.1")
    n = contexts.shape[0]
    if probabilities is None:
        law = np.full(n, 1.0 / n)
    else:
        law = arguments.distribution("probabilities", probabilities, n)
    made = Instance(arrival_rate, slack, parameters, radius, contexts, law)
    _refuse_slow("contexts", contexts, made)
    return made


def table_instance(
    rates: Any,
    arrival_rate: float,
    *,
    probabilities: Any = None,
    slack: float | None = None,
) -> Instance:
    """Return the instance whose job types have given rates at the servers.

    Type i is the i-th unit vector of dimension n, and server k has the logits of its rates as
    parameter: what a logistic model with one coordinate a type amounts to.

    Parameters
    ----------
    rates : array_like, shape (n, K)
        ``rates[i, k]``: rate of type i at server k, in (0, 1).
    arrival_rate, probabilities, slack
        As in `finite_instance`.

    Returns
    -------
    Instance

    Raises
    ------
    ValueError
        As `finite_instance`; if a rate is outside (0, 1).
    """
    table = _matrix("rates", rates)
    bad = np.argwhere((table <= 0.0) | (table >= 1.0))
    if bad.size:
        i, k = bad[0].tolist()
        raise ValueError(
            f"rates[{i}, {k}] = {table[i, k]}; permitted: numbers strictly between 0 and 1"
        )
    parameters = np.ascontiguousarray((np.log(table) - np.log1p(-table)).T)
    radius = None if parameters.any() else 1.0
    return finite_instance(
        *(parameters, np.eye(table.shape[0]), arrival_rate),
        probabilities=probabilities,
        slack=slack,
        radius=radius,
    )


@dataclass(frozen=True)
class InstanceSummary:
    """What the contexts of an instance look like; see `summarise`.

    Attributes
    ----------
    acceptance : float
        Share of the random directions that Assumption 3.4 accepts (1 for a list of contexts).
    second_moment : float
        sigma_0^2 of Assumption 3.3: smallest eigenvalue of the mean of ``x x^T``.
    random_pair_rate : float
        Mean rate of a random job at a random server.
    best_rate : float
        Mean rate of a random job at its best server.
    least_best_rate : float
        Smallest rate of a job at its best server; at least ``arrival_rate + slack`` under
        Assumption 3.4.
    best_fixed_server : float
        Largest mean rate of one server for all jobs: what a policy blind to contexts can reach.
    """

    acceptance: float
    second_moment: float
    random_pair_rate: float
    best_rate: float
    least_best_rate: float
    best_fixed_server: float


def summarise(instance: Instance, *, samples: int = 4000, seed: Any = 0) -> InstanceSummary:
    """Describe the contexts of an instance: exactly for a list, from samples for directions.

    Parameters
    ----------
    instance : Instance
    samples : int
        Contexts to draw; unused for a list.
    seed : int or numpy.random.SeedSequence
        Its stream "summary" is used.

    Returns
    -------
    InstanceSummary
        With samples, the smallest eigenvalue errs by about ``sigma_0^2 sqrt(d / samples)``.
    """
    _check_instance(instance)
    samples = arguments.positive_integer("samples", samples)
    if instance.contexts is None:
        (rng,) = substreams(seed, ["summary"])
        contexts, rates, tries = instance.draw_contexts(samples, rng)
        weights, acceptance = np.full(samples, 1.0 / samples), samples / tries
    else:
        contexts, rates = instance.contexts, instance._rates
        weights, acceptance = instance.probabilities, 1.0
    best = rates.max(axis=1)
    moment = (contexts * weights[:, None]).T @ contexts
    return InstanceSummary(
        acceptance=acceptance,
        second_moment=float(np.linalg.eigvalsh(moment)[0]),
        random_pair_rate=float(weights @ rates.mean(axis=1)),
        best_rate=float(weights @ best),
        least_best_rate=float(best[weights > 0].min()),
        best_fixed_server=float((weights @ rates).max()),
    )


@dataclass(frozen=True, eq=False)
class Jobs:
    """Everything that chance decides besides the policy's own coins: made by `draw_jobs`.

    Attributes
    ----------
    instance : Instance
    horizon : int
        T: rounds 1..T.
    entered : ndarray of int64, shape (J,)
        Round in which each job arrived, ascending; 0 for a job that waits at the start. At most one
        job arrives in a round, and can be served from the next one on.
    contexts : ndarray, shape (J, d)
    rates : ndarray, shape (J, K)
        Rate of each job at each server.
    services : ndarray, shape (T,)
        U(t): the job served in round t departs if this is below its rate at the chosen server.
    """

    instance: Instance
    horizon: int
    entered: NDArray[np.int64]
    contexts: NDArray[np.float64]
    rates: NDArray[np.float64]
    services: NDArray[np.float64]

    @cached_property
    def best_rates(self) -> NDArray[np.float64]:
        """Rate of each job at its best server, shape (J,)."""
        return self.rates.max(axis=1)


def draw_jobs(
    instance: Instance,
    horizon: int,
    seed: Any,
    *,
    contexts: Any = None,
    arrivals: Any = None,
    start: Any = None,
) -> Jobs:
    """Draw the jobs and service uniforms of one run.

    Parameters
    ----------
    instance : Instance
    horizon : int
        T, from 2 to 10**7.
    seed : int or numpy.random.SeedSequence
        Its streams "arrivals", "contexts" and "services" are used.
    contexts : array_like, shape (T, d), or callable, optional
        What an oblivious adversary has written down: a job that arrives in round t has the context
        ``contexts[t - 1]``. A callable is called once, before anything runs, with ``(horizon, rng)``,
        a `numpy.random.Generator` that belongs to the stream "contexts", and returns such an array.
        By default contexts are drawn from the instance's law.
    arrivals : array_like of 0 and 1, shape (T,), optional
        Rounds in which a job arrives; by default each with probability ``arrival_rate``.
    start : array_like, shape (n, d), optional
        Contexts of the jobs that wait at the start; the first counts as first in. By default none.

    Returns
    -------
    Jobs

    Raises
    ------
    ValueError
        If an argument is out of range; if a context is longer than 1, has the wrong dimension, is not
        finite, or violates Assumption 3.4 where the instance makes it.

    Notes
    -----
    Cost and memory: O(T (d + K)), and the tries of the rejection.
    """
    _check_instance(instance)
    horizon = _limited("horizon", horizon, least=2)
    k, d = instance.servers, instance.dimension
    if horizon * (k + d) > _LARGEST_TABLE:
        raise ValueError(
            f"horizon = {horizon} with {k} servers and dimension {d}; permitted: at most "
            f"{_LARGEST_TABLE // (k + d)} rounds, so that contexts and rates fit into memory"
        )
    seed = as_seed_sequence(seed)
    coin, context_stream, service = substreams(seed, ("arrivals", "contexts", "services"))
    services = np.empty(horizon)
    _fill_uniforms(service, services)
    if arrivals is None:
        uniforms = np.empty(horizon)
        _fill_uniforms(coin, uniforms)
        rounds = np.flatnonzero(uniforms < instance.arrival_rate) + 1
    else:
        rounds = np.flatnonzero(_arrival_pattern(arrivals, horizon)) + 1
    if instance.rates is not None and (contexts is not None or start is not None):
        raise ValueError(
            "contexts and start cannot be given for an instance whose rates do not follow from its "
            "parameters; permitted: None"
        )
    if contexts is None:
        fresh, rates, _ = instance.draw_contexts(rounds.size, context_stream)
    else:
        fresh = _written_down(contexts, instance, horizon, context_stream)[rounds - 1]
        rates = service_rates(fresh, instance.parameters)
    entered = rounds
    if start is not None:
        waiting = _matrix("start", start, d, least_rows=0)
        _refuse_long("start", waiting, 1.0, "Assumption 3.1")
        _refuse_slow("start", waiting, instance)
        fresh = np.vstack([waiting, fresh])
        rates = np.vstack([service_rates(waiting, instance.parameters), rates])
        entered = np.concatenate([np.zeros(len(waiting), dtype=np.int64), rounds])
    fresh = np.ascontiguousarray(fresh)
    return Jobs(instance, horizon, entered, fresh, rates, services)


def _check_instance(instance):
    if not isinstance(instance, Instance):
        raise ValueError(
            f"instance = {instance!r}; permitted: an Instance, made by random_instance(...), "
            f"finite_instance(...) or table_instance(...)"
        )


def _arrival_pattern(arrivals, horizon):
    pattern = arguments.real_vector("arrivals", arrivals)
    if pattern.size != horizon or not np.isin(pattern, (0.0, 1.0)).all():
        raise ValueError(
            f"arrivals has {pattern.size} entries; permitted: 0 or 1 for each of {horizon} rounds"
        )
    return pattern


def _written_down(contexts: Any, instance: Instance, horizon: int, stream):
    """Return the adversary's contexts, one row a round, after checking every one of them."""
    if callable(contexts):
        contexts = contexts(horizon, np.random.default_rng(stream))
    matrix = _matrix("contexts", contexts, instance.dimension)
    if matrix.shape[0] != horizon:
        raise ValueError(
            f"contexts has {matrix.shape[0]} rows; permitted: one for each of {horizon} rounds"
        )
    _refuse_long("contexts", matrix, 1.0, "Assumption 3.1")
    _refuse_slow("contexts", matrix, instance)
    return matrix
