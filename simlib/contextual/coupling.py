"""Policy-switching queues, and the coupled pair of two that switch one round apart.

``Q(t1, t2)`` is the queue at the beginning of round t2 of a system that follows the policy in the
rounds 1..t1 and pi* from then on: ``Q(T - 1, T) = Q(T)`` and ``Q(0, T) = Q*(T)``. Since all of them
meet the same jobs and service uniforms (`simlib.contextual.model.Jobs`), ``psi(t, T) = Q(t, T) -
Q(t - 1, T)`` is a number of the path, and its sum over t = 1..T - 1 is exactly the ``Q(T) - Q*(T)`` of
the path.

The pair of index t: the system "plus" follows the policy to round t, "minus" to round t - 1. What
happens after round t does not depend on the policy any more, so that a pair needs only the jobs and
the policy's choices: a recorded `simlib.contextual.simulation.Path`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from simlib import arguments
from simlib.contextual.model import Instance, Jobs, draw_jobs
from simlib.contextual.policies import Policy
from simlib.contextual.simulation import Path, run_on
from simlib.streams import random, substreams

__all__ = [
    "AFTER",
    "STATES",
    "CoupledPath",
    "Pairs",
    "coupled_pairs",
    "coupled_path",
    "pairs_on",
    "switching_queues",
]

#: States of a pair, by their number: equal sets; one private job of plus; of minus; of each, that of
#: plus the better one; that of minus the better one; anything else.
STATES = ("S0", "S1+", "S1-", "S2+", "S2-", "other")

#: What both systems do after the switch, each job at its best server: the job with the largest best
#: rate (pi*), the smallest, the first in, the last in. Only the first is the source's.
AFTER = ("best", "worst", "first in", "last in")

_F1 = types.Array(types.float64, 1, "C")
_F2 = types.Array(types.float64, 2, "C")
_I1 = types.Array(types.int64, 1, "C")
_I2 = types.Array(types.int64, 2, "C")


@dataclass(frozen=True)
class Pairs:
    """Coupled pairs of one path, an entry for each switching round t.

    Attributes
    ----------
    horizon : int
        T.
    rounds : ndarray of int64, shape (R,)
        Switching rounds t.
    psi : ndarray of int64, shape (R,)
        psi(t, T).
    gap : ndarray, shape (R,)
        gap_t: largest rate among all pairs of round t less that of the policy's; 0 with an empty queue.
    departed_plus, departed_minus : ndarray of int64, shape (R,)
        D+(t) and D-(t).
    psi_disagree : ndarray of int64, shape (R,)
        psi(t, T) if round t is made to end with D+ = 0, D- = 1, everything after it as it was: one
        sample of psi tilde, whose mean given the past, the coins and the arrival of round t is psi
        tilde(t, T). 0 with an empty queue.
    merged : ndarray of int64, shape (R,)
        First round after t at whose beginning both systems hold the same jobs; T + 1 if that does not
        happen up to T.
    state : ndarray of int64, shape (R,)
        State of the pair at the beginning of round T, an index of `STATES`.
    """

    horizon: int
    rounds: NDArray[np.int64]
    psi: NDArray[np.int64]
    gap: NDArray[np.float64]
    departed_plus: NDArray[np.int64]
    departed_minus: NDArray[np.int64]
    psi_disagree: NDArray[np.int64]
    merged: NDArray[np.int64]
    state: NDArray[np.int64]

    @property
    def bound(self) -> NDArray[np.float64]:
        """``gap_t`` times the sample of psi tilde, shape (R,): its mean is at least that of psi."""
        return self.gap * self.psi_disagree


@dataclass(frozen=True)
class CoupledPath:
    """One coupled pair, round by round.

    Attributes
    ----------
    rounds : ndarray of int64, shape (T - t + 1,)
        t, t + 1, ..., T.
    plus, minus : ndarray of int64, shape (T - t + 1,)
        Waiting jobs of each system at the beginning of the round.
    state : ndarray of int64, shape (T - t + 1,)
        Index of `STATES`; S0 at t, where both systems are one.
    departed_plus, departed_minus : ndarray of int64, shape (T - t + 1,)
        Whether a job departed in the round.
    """

    rounds: NDArray[np.int64]
    plus: NDArray[np.int64]
    minus: NDArray[np.int64]
    state: NDArray[np.int64]
    departed_plus: NDArray[np.int64]
    departed_minus: NDArray[np.int64]


@njit(cache=True, error_model="numpy", _nrt=False)
def _next(waiting, count, best_rates, after):
    """Return the position of the job that is served after the switch."""
    if after == 2:
        return 0
    if after == 3:
        return count - 1
    found = 0
    for i in range(1, count):
        if after == 0:
            better = best_rates[waiting[i]] > best_rates[waiting[found]]
        else:
            better = best_rates[waiting[i]] < best_rates[waiting[found]]
        if better:
            found = i
    return found


@njit(cache=True, error_model="numpy", _nrt=False)
def _drop(waiting, count, position):
    for i in range(position, count - 1):
        waiting[i] = waiting[i + 1]


@njit(cache=True, error_model="numpy", _nrt=False)
def _state_of(plus, n_plus, minus, n_minus, best_rates):
    """Return the state of a pair, an index of `STATES`; both lists are ascending."""
    i, j = 0, 0
    mine, other = -1, -1
    own_plus, own_minus = 0, 0
    while i < n_plus or j < n_minus:
        if j == n_minus or (i < n_plus and plus[i] < minus[j]):
            mine = plus[i]
            own_plus += 1
            i += 1
        elif i == n_plus or minus[j] < plus[i]:
            other = minus[j]
            own_minus += 1
            j += 1
        else:
            i += 1
            j += 1
    if own_plus > 1 or own_minus > 1:
        return 5
    if own_plus + own_minus < 2:
        return own_plus + 2 * own_minus
    if best_rates[mine] > best_rates[other]:
        return 3
    return 3 if best_rates[mine] == best_rates[other] and mine < other else 4


@njit(cache=True, error_model="numpy", _nrt=False)
def _equal(plus, n_plus, minus, n_minus):
    i = 0
    while i < n_plus and i < n_minus and plus[i] == minus[i]:
        i += 1
    return i == n_plus == n_minus


@njit(cache=True, error_model="numpy", _nrt=False)
def _serve(waiting, count, best_rates, uniform, after):
    """Serve one job as after the switch; return the number of waiting jobs that are left."""
    if count == 0:
        return 0
    position = _next(waiting, count, best_rates, after)
    if uniform >= best_rates[waiting[position]]:
        return count
    _drop(waiting, count, position)
    return count - 1


@njit(
    types.void(
        *(_I2, types.int64, types.int64, types.int64, types.int64, _I1, _F1, _F2),
        *(types.int64, types.boolean, _I2, _I1),
    ),
    cache=True,
    error_model="numpy",
    _nrt=False,
)
def _follow(
    lists, n_plus, n_minus, t, arrived, entered, best_rates, uniforms, after, shared, record, out
):
    """Play the rounds t + 1..T - 1 of a pair; ``lists`` (plus, minus) hold the jobs after round t.

    Into ``out``: psi, the round at whose beginning the systems were equal first, the state at the
    beginning of T. ``record`` (rows: plus, minus, state, departure of each; a column a round from t on)
    is left alone if it has no columns. ``uniforms`` has a row for each system.
    """
    horizon = uniforms.shape[1]
    plus, minus = lists[0], lists[1]
    recording = record.shape[1] > 0
    out[1] = horizon + 1
    for i in range(t + 1, horizon + 1):
        if _equal(plus, n_plus, minus, n_minus):
            out[1] = min(out[1], i)
            if shared and not recording:
                out[0], out[2] = 0, 0
                return
        if recording:
            column = i - t
            record[0, column], record[1, column] = n_plus, n_minus
            record[2, column] = _state_of(plus, n_plus, minus, n_minus, best_rates)
        if i == horizon:
            break
        left_plus = _serve(plus, n_plus, best_rates, uniforms[0, i - 1], after)
        left_minus = _serve(minus, n_minus, best_rates, uniforms[1, i - 1], after)
        if recording:
            record[3, column], record[4, column] = n_plus - left_plus, n_minus - left_minus
        n_plus, n_minus = left_plus, left_minus
        if arrived < entered.shape[0] and entered[arrived] == i:
            plus[n_plus] = arrived
            minus[n_minus] = arrived
            n_plus += 1
            n_minus += 1
            arrived += 1
    out[0] = n_plus - n_minus
    out[2] = _state_of(plus, n_plus, minus, n_minus, best_rates)


@njit(
    types.void(
        *(_I1, _F2, _F1, _F2, _I1, _I1, _I1, _I1),
        *(_I1, _I2, types.int64, types.boolean, _I2, _I2, _F1),
    ),
    cache=True,
    error_model="numpy",
    _nrt=False,
)
def _pairs(
    entered,
    rates,
    best_rates,
    uniforms,
    jobs,
    servers,
    departed,
    rounds,
    waiting,
    lists,
    after,
    shared,
    record,
    results,
    gaps,
):
    """Follow the pairs of the given ascending rounds; ``results`` has a column for each (see `Pairs`).

    With ``record`` there is one round only.
    """
    horizon = uniforms.shape[1]
    count, arrived, row = 0, 0, 0
    plus, minus = lists[0], lists[1]
    out = results[6]
    while arrived < entered.shape[0] and entered[arrived] == 0:
        waiting[count] = arrived
        count += 1
        arrived += 1
    for t in range(1, horizon):
        position = 0
        while position < count and waiting[position] != jobs[t - 1]:
            position += 1
        joins = arrived < entered.shape[0] and entered[arrived] == t
        if row < rounds.shape[0] and rounds[row] == t:
            # With an empty queue both systems do the same, and stay equal.
            top = 0
            left_minus = 0
            for i in range(1, count):
                if best_rates[waiting[i]] > best_rates[waiting[top]]:
                    top = i
            if count > 0:
                highest = best_rates[waiting[top]]
                gaps[row] = highest - rates[jobs[t - 1], servers[t - 1]]
                left_minus = np.int64(uniforms[1, t - 1] < highest)
            results[1, row], results[2, row] = departed[t - 1], left_minus
            if record.shape[1] > 0:
                record[0, 0], record[1, 0], record[2, 0] = count, count, 0
                record[3, 0], record[4, 0] = departed[t - 1], left_minus
            # First the pair as it is, then with the outcomes 0 and 1 of the round.
            for version in range(2):
                if version == 1 and (count == 0 or record.shape[1] > 0):
                    break
                n_plus, n_minus = count, count
                for i in range(count):
                    plus[i] = waiting[i]
                    minus[i] = waiting[i]
                if version == 0 and departed[t - 1] == 1:
                    _drop(plus, n_plus, position)
                    n_plus -= 1
                if version == 1 or left_minus == 1:
                    _drop(minus, n_minus, top)
                    n_minus -= 1
                if joins:
                    plus[n_plus] = arrived
                    minus[n_minus] = arrived
                    n_plus += 1
                    n_minus += 1
                _follow(
                    *(lists, n_plus, n_minus, t, arrived + joins, entered, best_rates),
                    *(uniforms, after, shared, record, out),
                )
                if version == 0:
                    results[0, row] = out[0]
                    results[4, row] = out[1]
                    results[5, row] = out[2]
                else:
                    results[3, row] = out[0]
            row += 1
        if departed[t - 1] == 1:
            _drop(waiting, count, position)
            count -= 1
        if joins:
            waiting[count] = arrived
            count += 1
            arrived += 1


def coupled_pairs(
    instance: Instance,
    policy: Policy,
    horizon: int,
    seed: Any,
    rounds: Any = None,
    *,
    contexts: Any = None,
    arrivals: Any = None,
    start: Any = None,
    after: str = "best",
    shared: bool = True,
) -> Pairs:
    """Run a policy and return psi(t, T) for switching rounds t of its path.

    Parameters
    ----------
    instance, policy, horizon, seed, contexts, arrivals, start
        As in `simlib.contextual.simulation.simulate`.
    rounds : array_like of int, optional
        Strictly increasing switching rounds, from 1 to T - 1; by default all of them.
    after, shared
        As in `pairs_on`.

    Returns
    -------
    Pairs

    Raises
    ------
    ValueError
        As `simulate` and `pairs_on`.

    References
    ----------
    Section 4, Lemmas 4.1, 4.2 and B.1.
    """
    jobs = draw_jobs(instance, horizon, seed, contexts=contexts, arrivals=arrivals, start=start)
    rounds = _checked_rounds(rounds, jobs.horizon)
    run = run_on(jobs, policy, seed, path=True)
    return pairs_on(jobs, run.path, seed, rounds, after=after, shared=shared)


def _checked_rounds(rounds, horizon):
    if rounds is None:
        return np.arange(1, horizon)
    return arguments.checkpoint_steps("rounds", rounds, horizon - 1)


def pairs_on(
    jobs: Jobs,
    path: Path,
    seed: Any,
    rounds: Any = None,
    *,
    after: str = "best",
    shared: bool = True,
) -> Pairs:
    """Return psi(t, T) for switching rounds t of a path that has been recorded.

    Parameters
    ----------
    jobs : Jobs
        Those of the run.
    path : Path
        Its choices.
    seed : int or numpy.random.SeedSequence
        Used only if ``shared`` is False: its stream "services of minus".
    rounds : array_like of int, optional
        As in `coupled_pairs`.
    after : {"best", "worst", "first in", "last in"}
        What both systems do after the switch, see `AFTER`; the theory is about "best". In round t
        itself, minus follows pi* in any case.
    shared : bool
        Whether both systems meet the same service uniforms; if not, the minus system has its own.

    Returns
    -------
    Pairs

    Raises
    ------
    ValueError
        If an argument is out of range, or the path is not one of these jobs.

    Notes
    -----
    Cost: O(|Q|) for each round in which the two systems of a pair differ, which for a stable queue is
    until it empties; nothing after they are equal (with shared uniforms).
    """
    prepared = _prepared(jobs, path, seed, after, shared)
    rounds = _checked_rounds(rounds, jobs.horizon)
    results = np.zeros((7, max(3, rounds.size)), dtype=np.int64)
    gaps = np.zeros(rounds.size)
    total = jobs.entered.size
    _pairs(
        *prepared,
        rounds,
        np.zeros(total, dtype=np.int64),
        np.zeros((2, total), dtype=np.int64),
        *(AFTER.index(after), shared, np.zeros((5, 0), dtype=np.int64), results, gaps),
    )
    results = results[:, : rounds.size]
    return Pairs(
        horizon=jobs.horizon,
        rounds=rounds,
        psi=results[0],
        gap=gaps,
        departed_plus=results[1],
        departed_minus=results[2],
        psi_disagree=results[3],
        merged=results[4],
        state=results[5],
    )


def _prepared(jobs, path, seed, after, shared):
    """Check what both functions of pairs take, and return the kernel's arrays."""
    if not isinstance(jobs, Jobs):
        raise ValueError(f"jobs = {jobs!r}; permitted: Jobs, made by draw_jobs(...)")
    if not isinstance(path, Path) or path.job.size != jobs.horizon:
        raise ValueError(
            f"path is {type(path).__name__}; permitted: the path of a run on these jobs, made with "
            f"path=True"
        )
    arguments.choice("after", after, AFTER)
    if not isinstance(shared, bool):
        raise ValueError(f"shared = {shared!r}; permitted: True or False")
    _refuse_other_path(jobs, path)
    uniforms = np.vstack([jobs.services, jobs.services])
    if not shared:
        (rng,) = substreams(seed, ["services of minus"])
        uniforms[1] = [random(rng) for _ in range(jobs.horizon)]
    return (
        *(jobs.entered, jobs.rates, jobs.best_rates, uniforms),
        *(path.job, path.server, path.departed),
    )


def _refuse_other_path(jobs, path):
    """Raise ``ValueError`` unless every round of the path follows from the jobs and its choices."""
    served = np.flatnonzero(path.job >= 0)
    job = path.job[served]
    fits = (
        (job < jobs.entered.size).all()
        and (jobs.entered[job] <= served).all()
        and (jobs.services[served] < jobs.rates[job, path.server[served]]).tolist()
        == (path.departed[served] == 1).tolist()
    )
    if not fits:
        raise ValueError("path does not belong to these jobs; permitted: a run on these jobs")


def coupled_path(
    instance: Instance,
    policy: Policy,
    horizon: int,
    seed: Any,
    switch: int,
    *,
    contexts: Any = None,
    arrivals: Any = None,
    start: Any = None,
    after: str = "best",
    shared: bool = True,
) -> CoupledPath:
    """Run a policy and follow one coupled pair round by round.

    Parameters
    ----------
    switch : int
        Switching round t, from 1 to T - 1.
    instance, policy, horizon, seed, contexts, arrivals, start, after, shared
        As in `coupled_pairs`.

    Returns
    -------
    CoupledPath
        The departures of round T are not played, and 0.

    Raises
    ------
    ValueError
        As `coupled_pairs`.
    """
    jobs = draw_jobs(instance, horizon, seed, contexts=contexts, arrivals=arrivals, start=start)
    (switch,) = arguments.checkpoint_steps("switch", [switch], jobs.horizon - 1)
    run = run_on(jobs, policy, seed, path=True)
    prepared = _prepared(jobs, run.path, seed, after, shared)
    record = np.zeros((5, jobs.horizon - switch + 1), dtype=np.int64)
    total = jobs.entered.size
    _pairs(
        *prepared,
        np.array([switch]),
        np.zeros(total, dtype=np.int64),
        np.zeros((2, total), dtype=np.int64),
        *(AFTER.index(after), shared, record, np.zeros((7, 3), dtype=np.int64), np.zeros(1)),
    )
    return CoupledPath(np.arange(switch, jobs.horizon + 1), *record)


@njit(
    types.void(_I1, _F1, _F1, _I1, _I1, _I1, _I1, _I2),
    cache=True,
    error_model="numpy",
    _nrt=False,
)
def _switching(entered, best_rates, services, jobs, departed, switches, waiting, out):
    """Fill ``out[s, t - 1]`` with the queue at the beginning of round t that switches after s rounds."""
    for s in range(switches.shape[0]):
        count, arrived = 0, 0
        while arrived < entered.shape[0] and entered[arrived] == 0:
            waiting[count] = arrived
            count += 1
            arrived += 1
        for t in range(1, services.shape[0] + 1):
            out[s, t - 1] = count
            if t > switches[s]:
                count = _serve(waiting, count, best_rates, services[t - 1], 0)
            elif departed[t - 1] == 1:
                position = 0
                while waiting[position] != jobs[t - 1]:
                    position += 1
                _drop(waiting, count, position)
                count -= 1
            if arrived < entered.shape[0] and entered[arrived] == t:
                waiting[count] = arrived
                count += 1
                arrived += 1


def switching_queues(
    instance: Instance,
    policy: Policy,
    horizon: int,
    seed: Any,
    switches: Any,
    *,
    contexts: Any = None,
    arrivals: Any = None,
    start: Any = None,
) -> NDArray[np.int64]:
    """Return the policy-switching queues Q(s, t) of one path for all t.

    Parameters
    ----------
    instance, policy, horizon, seed, contexts, arrivals, start
        As in `simlib.contextual.simulation.simulate`.
    switches : array_like of int
        Numbers s of rounds that follow the policy, from 0 (pi* throughout) to T - 1 (the policy
        throughout, as far as Q(T) is concerned).

    Returns
    -------
    ndarray of int64, shape (len(switches), T)
        Entry ``[i, t - 1]`` is ``Q(min(s, t - 1), t)``: the queue at the beginning of round t.

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Section 4.
    """
    jobs = draw_jobs(instance, horizon, seed, contexts=contexts, arrivals=arrivals, start=start)
    numbers = [
        arguments.non_negative_integer(f"switches[{i}]", s)
        for i, s in enumerate(arguments.real_vector("switches", switches).tolist())
    ]
    for i, s in enumerate(numbers):
        if s >= jobs.horizon:
            raise ValueError(f"switches[{i}] = {s}; permitted: integers from 0 to {horizon - 1}")
    run = run_on(jobs, policy, seed, path=True)
    out = np.zeros((len(numbers), jobs.horizon), dtype=np.int64)
    _switching(
        *(jobs.entered, jobs.best_rates, jobs.services, run.path.job, run.path.departed),
        *(np.array(numbers, dtype=np.int64), np.zeros(jobs.entered.size, dtype=np.int64), out),
    )
    return out
