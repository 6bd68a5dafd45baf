"""Runs of one policy, or of several on the same jobs and service uniforms.

A run plays rounds 1..T and records Q(t), the number of waiting jobs at the **beginning** of round t,
as the source does: regret is about Q(T). What chance decides is in `simlib.contextual.model.Jobs`; the
policy draws from two streams of its own, "coins" (one uniform in every round, whether it is needed or
not: the coin that decides on exploration) and "choices" (uniform jobs and servers, samples).

Waiting jobs are kept in the order in which they entered, and equal values are decided in favour of the
job that entered first, and of the server with the smaller number.

**Cost.** A learner keeps ``mu(x . estimate)`` and ``|x|_{V^-1}`` for all pairs of a waiting job and a
server. After a round only one server's estimate has changed and at most one job is new, so that one
column and one row are computed: O(|Q| d^2 + K d^2). Beside it stands the estimate of that server, O(n
d^2) with n its attempts, about one and a half passes over its data: O(T^2 d^2 / K) in all.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from simlib import arguments
from simlib.contextual import estimation
from simlib.contextual.estimation import FIT, FITTED, WORK, add_sample, fit, score
from simlib.contextual.model import Instance, Jobs, draw_jobs, random_instance
from simlib.contextual.policies import (
    CHOOSE,
    OPTIMAL,
    OPTIMISTIC,
    OWN,
    Q_THS,
    Q_UCB,
    SAMPLING,
    UNIFORM,
    UPDATE,
    Policy,
    check_policy,
    optimal,
    resolve,
    stand_ins,
    state_columns,
)
from simlib.learners.guard import BAD_STATE, CHECK_EVERY, OK, first_bad_entry
from simlib.streams import beta, integer_below, normal, random, substreams

__all__ = [
    "PairedRuns",
    "Path",
    "Run",
    "random_experiment",
    "run_on",
    "simulate",
    "simulate_paired",
]

_BAD_PAIR = 1

_F1 = types.Array(types.float64, 1, "C")
_F2 = types.Array(types.float64, 2, "C")
_I1 = types.Array(types.int64, 1, "C")
_I2 = types.Array(types.int64, 2, "C")
_U1 = types.Array(types.uint64, 1, "C")


@dataclass(frozen=True)
class Path:
    """What happened in every round of a run.

    Attributes
    ----------
    job : ndarray of int64, shape (T,)
        Number of the job served in each round (its row in `Jobs`), -1 in rounds with an empty queue.
    server : ndarray of int64, shape (T,)
        Server chosen, or -1.
    departed : ndarray of int64, shape (T,)
        1 if the job departed.
    """

    job: NDArray[np.int64]
    server: NDArray[np.int64]
    departed: NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """One run of one policy.

    Attributes
    ----------
    policy : str
        Name of the policy.
    horizon : int
        T.
    checkpoints : ndarray of int64, shape (C,)
        Recorded rounds; the last one is T.
    queue : ndarray of int64, shape (C,)
        Q(t): waiting jobs at the beginning of each recorded round.
    gap : ndarray, shape (C,)
        gap_t: largest rate among all pairs less the rate of the chosen pair, in the recorded round; 0
        if the queue was empty.
    gap_sum, gap_square_sum : ndarray, shape (C,)
        Sums of gap_s and of its square over s = 1..t.
    departures, explored, bad : ndarray of int64, shape (C,)
        Rounds among 1..t in which a job departed, in which a coin or pure exploration decided, and in
        which the width of the chosen pair was above ``(slack - 2 exploration) / (4 beta)`` (learners
        only; rounds that explore do not count as bad).
    attempts : ndarray of int64, shape (K,)
        Rounds in which each server was chosen.
    estimates : ndarray, shape (K, d)
        Estimates after the last round; zeros for policies that do not estimate.
    inverse_designs : ndarray, shape (K, d, d)
        V^-1 of each server after the last round; zeros likewise.
    approximate : bool
        Whether decisions used estimates that were not computed anew after every attempt (a ``refresh``
        above 1).
    fits, passes, projections, unfinished : int
        Estimates computed, passes over a server's data, estimates outside the ball, and estimates that
        100 passes did not determine to 1e-7 (expect none).
    path : Path or None
        Every round, if asked for.
    """

    policy: str
    horizon: int
    checkpoints: NDArray[np.int64]
    queue: NDArray[np.int64]
    gap: NDArray[np.float64]
    gap_sum: NDArray[np.float64]
    gap_square_sum: NDArray[np.float64]
    departures: NDArray[np.int64]
    explored: NDArray[np.int64]
    bad: NDArray[np.int64]
    attempts: NDArray[np.int64]
    estimates: NDArray[np.float64]
    inverse_designs: NDArray[np.float64]
    approximate: bool
    fits: int
    passes: int
    projections: int
    unfinished: int
    path: Path | None


@dataclass(frozen=True)
class PairedRuns:
    """Runs of several policies on the same jobs and service uniforms, with the benchmark.

    Attributes
    ----------
    runs : tuple of Run
        One a policy, in the order given.
    benchmark : Run
        That of pi*.
    """

    runs: tuple[Run, ...]
    benchmark: Run

    @property
    def policies(self) -> tuple[str, ...]:
        """Names of the policies."""
        return tuple(run.policy for run in self.runs)

    @property
    def checkpoints(self) -> NDArray[np.int64]:
        """Recorded rounds, shape (C,)."""
        return self.benchmark.checkpoints

    @property
    def queue(self) -> NDArray[np.int64]:
        """Q(t) of each policy, shape (policies, C)."""
        return np.array([run.queue for run in self.runs])

    @property
    def regret(self) -> NDArray[np.int64]:
        """``Q(t) - Q*(t)`` of each policy on these jobs, shape (policies, C); may be negative."""
        return self.queue - self.benchmark.queue


@njit(cache=True, error_model="numpy", _nrt=False)
def _best_pair(waiting, count, mean, width, bonus):
    """Return ``position * K + server`` of the largest ``mean + bonus width``."""
    servers = mean.shape[1]
    found = 0
    best = -math.inf
    for i in range(count):
        job = waiting[i]
        for k in range(servers):
            value = mean[job, k] + bonus[k] * width[job, k]
            if value > best:
                best = value
                found = i * servers + k
    return found


_ADVANCE = types.int64(
    *(CHOOSE, UPDATE, FIT, _I1, _F1, _F1, _F1),
    *(_I1, _F2, _F2, _F1, _F1, _I1, _U1, _U1),
    *(_F2, _F1, _F2, _I1, WORK, _F2, _F2, _F1, _I1),
    *(_I2, _F2, _I2, _I2, _I1, types.int64),
)


@njit(_ADVANCE, cache=True, error_model="numpy", _nrt=False)
def _advance(
    choose,
    update,
    fit,
    whole,
    real,
    bonuses,
    thresholds,
    entered,
    contexts,
    rates,
    best_rates,
    services,
    checkpoints,
    coins,
    choices,
    state,
    params,
    line,
    line_entered,
    work,
    mean,
    width,
    bonus,
    waiting,
    recorded,
    recorded_gaps,
    path,
    counts,
    report,
    check_every,
):
    """Play all rounds; return `OK`, `_BAD_PAIR` or `BAD_STATE`.

    Read: ``whole`` (kind, rounds of pure exploration, cutoff, whether any job is explored), ``real``
    (exploration, radius, regularisation, refresh), the jobs, and what `Resolved` holds.

    Changed in place: the generators, a policy's own ``state``, the copies of the waiting contexts made
    for it (``line``, ``line_entered``), the estimation's workspace, scores by job (``mean``, ``width``),
    the factor of each server's bonus, the ``waiting`` jobs, ``recorded`` (rows: queue, departures,
    explored, bad), ``recorded_gaps`` (rows: gap, sum, sum of squares), ``path`` (rows: job, server,
    departed; no columns if it is not wanted), ``counts`` (rows: attempts, departures; by server),
    ``report`` (round, value and number of waiting jobs of an error).
    """
    kind, tau, cutoff, any_job = whole[0], whole[1], whole[2], whole[3] == 1
    exploration, radius, ridge, refresh = real[0], real[1], real[2], real[3]
    horizon = services.shape[0]
    servers = rates.shape[1]
    d = contexts.shape[1]
    learns = kind in (OPTIMISTIC, SAMPLING)
    own = kind == OWN
    attempts = counts[0]
    with_path = path.shape[1] > 0
    check_at = check_every
    arrived = 0
    count = 0
    in_turn = 0
    departures = 0
    explored = 0
    bad_rounds = 0
    gaps = 0.0
    squares = 0.0
    row = 0
    while arrived < entered.shape[0] and entered[arrived] == 0:
        waiting[count] = arrived
        if own:
            for a in range(d):
                line[count, a] = contexts[arrived, a]
            line_entered[count] = 0
        count += 1
        arrived += 1
    if learns:
        for k in range(servers):
            bonus[k] = bonuses[0]
            if tau == 0:
                for i in range(count):
                    mean[waiting[i], k], width[waiting[i], k] = score(k, contexts[waiting[i]], work)

    for t in range(1, horizon + 1):
        coin = random(coins)
        queue = count
        gap = 0.0
        position = -1
        server = -1
        departed = 0
        job = -1
        if count > 0:
            fresh = t > 1 and entered[waiting[count - 1]] == t - 1
            explores = False
            pair = -1
            if kind == OPTIMAL:
                best = -1.0
                for i in range(count):
                    if best_rates[waiting[i]] > best:
                        best = best_rates[waiting[i]]
                        position = i
                server = 0
                while rates[waiting[position], server] < best:
                    server += 1
            elif kind == UNIFORM:
                position = integer_below(choices, count)
                server = integer_below(choices, servers)
            elif own:
                pair = choose(state, params, t, line[:count], line_entered[:count], choices)
            elif kind in (Q_UCB, Q_THS):
                position = 0
                square = math.log(t) ** 2
                if coin < min(1.0, 3.0 * servers * square / t):
                    explores = True
                    server = integer_below(choices, servers)
                else:
                    best = -math.inf
                    for k in range(servers):
                        if kind == Q_THS:
                            value = beta(
                                choices, 1.0 + counts[1, k], 1.0 + (attempts[k] - counts[1, k])
                            )
                        elif attempts[k] == 0:
                            value = math.inf
                        else:
                            value = counts[1, k] / attempts[k]
                            value += math.sqrt(square / (2.0 * attempts[k]))
                        if value > best:
                            best = value
                            server = k
            elif t <= tau:
                explores = True
                if fresh:
                    position = count - 1
                    server = in_turn
                    in_turn = in_turn + 1 if in_turn + 1 < servers else 0
                else:
                    position = integer_below(choices, count)
                    server = integer_below(choices, servers)
            elif t <= cutoff and coin < exploration and (fresh or any_job):
                explores = True
                position = integer_below(choices, count) if any_job else count - 1
                server = integer_below(choices, servers)
            elif kind == OPTIMISTIC:
                pair = _best_pair(waiting, count, mean, width, bonus)
            else:
                best = -math.inf
                for i in range(count):
                    for k in range(servers):
                        value = mean[waiting[i], k]
                        value += bonus[k] * width[waiting[i], k] * normal(choices)
                        if value > best:
                            best = value
                            pair = i * servers + k
            if position < 0:
                if pair < 0 or pair >= count * servers:
                    report[0], report[1], report[2] = t, pair, count
                    return _BAD_PAIR
                position = pair // servers
                server = pair % servers

            job = waiting[position]
            best = 0.0
            for i in range(count):
                best = max(best, best_rates[waiting[i]])
            gap = best - rates[job, server]
            explored += explores
            if learns and not explores:
                bad_rounds += width[job, server] > thresholds[attempts[server]]
            departed = np.int64(services[t - 1] < rates[job, server])
            attempts[server] += 1
            counts[1, server] += departed
            if departed:
                departures += 1
                count -= 1
                for i in range(position, count):
                    waiting[i] = waiting[i + 1]
            if own:
                update(state, params, t, contexts[job], server, np.float64(departed))
                if departed:
                    for i in range(position, count):
                        line_entered[i] = line_entered[i + 1]
                        for a in range(d):
                            line[i, a] = line[i + 1, a]
            if learns:
                add_sample(server, contexts[job], np.float64(departed), work)
                n = attempts[server]
                bonus[server] = bonuses[n]
                if t > tau:
                    if n >= refresh * work[2][FITTED, server]:
                        fit(server, contexts[job], np.float64(departed), radius, ridge, *work)
                    for i in range(count):
                        other = waiting[i]
                        mean[other, server], width[other, server] = score(
                            server, contexts[other], work
                        )
        gaps += gap
        squares += gap * gap
        if learns and t == tau:
            # The first decision that looks at estimates needs those of all servers.
            for k in range(servers):
                if attempts[k] > 0:
                    fit(k, contexts[0], 0.0, radius, ridge, *work)
                for i in range(count):
                    mean[waiting[i], k], width[waiting[i], k] = score(k, contexts[waiting[i]], work)
        if own and t >= check_at:
            check_at = t + check_every
            bad = first_bad_entry(state)
            if bad >= 0:
                report[0], report[1] = t, bad
                return BAD_STATE
        if with_path:
            path[0, t - 1], path[1, t - 1], path[2, t - 1] = job, server, departed
        if checkpoints[row] == t:
            recorded[0, row] = queue
            recorded[1, row] = departures
            recorded[2, row] = explored
            recorded[3, row] = bad_rounds
            recorded_gaps[0, row] = gap
            recorded_gaps[1, row] = gaps
            recorded_gaps[2, row] = squares
            row += 1
        if arrived < entered.shape[0] and entered[arrived] == t:
            waiting[count] = arrived
            if own:
                for a in range(d):
                    line[count, a] = contexts[arrived, a]
                line_entered[count] = t
            if learns and t >= tau:
                for k in range(servers):
                    mean[arrived, k], width[arrived, k] = score(k, contexts[arrived], work)
            count += 1
            arrived += 1
    if own:
        bad = first_bad_entry(state)
        if bad >= 0:
            report[0], report[1] = horizon, bad
            return BAD_STATE
    return OK


def simulate(
    instance: Instance,
    policy: Policy,
    horizon: int,
    seed: Any,
    *,
    checkpoints: Any = None,
    contexts: Any = None,
    arrivals: Any = None,
    start: Any = None,
    path: bool = False,
) -> Run:
    """Run one policy.

    Parameters
    ----------
    instance : Instance
        See :mod:`simlib.contextual.model`.
    policy : Policy
        See :mod:`simlib.contextual.policies`.
    horizon : int
        T, from 2 to 10**7.
    seed : int or numpy.random.SeedSequence
        Seed of this run; runs with one seed meet the same jobs and service uniforms.
    checkpoints : array_like of int, optional
        Strictly increasing rounds at which to record; the horizon is always added.
    contexts, arrivals, start
        As in `simlib.contextual.model.draw_jobs`: an oblivious adversary's contexts, a pattern of
        arrivals, jobs that wait at the start.
    path : bool, optional
        Whether to keep the choice of every round.

    Returns
    -------
    Run

    Raises
    ------
    ValueError
        If an argument is out of range (see also `draw_jobs`); if pure exploration would fill the run;
        during the run, if a policy of one's own returns a pair that does not exist or its state stops
        being finite.

    Notes
    -----
    Cost: see the module's description. Memory: O(T (d + K)).

    References
    ----------
    Section 3 (model), Algorithms 1 and 2, Appendix A (baselines).
    """
    jobs = draw_jobs(instance, horizon, seed, contexts=contexts, arrivals=arrivals, start=start)
    return run_on(jobs, policy, seed, checkpoints=checkpoints, path=path)


def simulate_paired(
    instance: Instance,
    policies: Iterable[Policy],
    horizon: int,
    seed: Any,
    *,
    checkpoints: Any = None,
    contexts: Any = None,
    arrivals: Any = None,
    start: Any = None,
    path: bool = False,
) -> PairedRuns:
    """Run several policies, and pi*, on the same jobs and service uniforms.

    Parameters
    ----------
    instance, horizon, seed, checkpoints, contexts, arrivals, start, path
        As in `simulate`; each run is the one that `simulate` makes.
    policies : iterable of Policy
        At least one.

    Returns
    -------
    PairedRuns

    Raises
    ------
    ValueError
        As `simulate`.
    """
    if isinstance(policies, Policy) or not isinstance(policies, Iterable):
        raise ValueError(f"policies = {policies!r}; permitted: a sequence of policies")
    policies = list(policies)
    if not policies:
        raise ValueError("policies is empty; permitted: at least one policy")
    jobs = draw_jobs(instance, horizon, seed, contexts=contexts, arrivals=arrivals, start=start)
    options = {"checkpoints": checkpoints, "path": path}
    for i, one in enumerate(policies):
        resolve(check_policy(one, instance, f"policies[{i}]"), instance, jobs.horizon)
    return PairedRuns(
        runs=tuple(run_on(jobs, one, seed, **options) for one in policies),
        benchmark=run_on(jobs, optimal(), seed, **options),
    )


def random_experiment(
    seed: Any,
    *,
    policies: Iterable[Policy],
    horizon: int,
    checkpoints: Any = None,
    **instance: Any,
) -> dict[str, NDArray]:
    """Draw an instance and run several policies and pi* on it: one replication of an experiment.

    Made for `simlib.replicate.replicate`.

    Parameters
    ----------
    seed : int or numpy.random.SeedSequence
        Of the instance and of the runs.
    policies, horizon, checkpoints
        As in `simulate_paired`.
    **instance
        Arguments of `simlib.contextual.model.random_instance`.

    Returns
    -------
    dict
        ``queue`` and ``gap``, shape (policies, C), and ``benchmark``, shape (C,): Q(t), gap_t and Q*(t)
        at the checkpoints.

    Raises
    ------
    ValueError
        As `random_instance` and `simulate_paired`.
    """
    found = simulate_paired(
        random_instance(seed, **instance), policies, horizon, seed, checkpoints=checkpoints
    )
    return {
        "queue": found.queue,
        "gap": np.array([run.gap for run in found.runs]),
        "benchmark": found.benchmark.queue,
    }


def run_on(
    jobs: Jobs, policy: Policy, seed: Any, *, checkpoints: Any = None, path: bool = False
) -> Run:
    """Run one policy on jobs that have been drawn.

    Parameters
    ----------
    jobs : Jobs
        Made by `simlib.contextual.model.draw_jobs`.
    policy, checkpoints, path
        As in `simulate`.
    seed : int or numpy.random.SeedSequence
        Its streams "coins" and "choices" are used.

    Returns
    -------
    Run

    Raises
    ------
    ValueError
        As `simulate`.
    """
    if not isinstance(jobs, Jobs):
        raise ValueError(f"jobs = {jobs!r}; permitted: Jobs, made by draw_jobs(...)")
    if not isinstance(path, bool):
        raise ValueError(f"path = {path!r}; permitted: True or False")
    instance, horizon = jobs.instance, jobs.horizon
    policy = check_policy(policy, instance)
    numbers = resolve(policy, instance, horizon)
    steps = arguments.checkpoint_steps("checkpoints", checkpoints, horizon)
    steps = np.unique(np.append(steps, horizon))
    # A failed check of the state is repeated round by round, to name the first bad one.
    for check_every in (CHECK_EVERY, 1):
        outcome = _run(jobs, policy, numbers, steps, seed, path, check_every)
        code, report, state = outcome[:3]
        if code != BAD_STATE:
            break
    _raise_run_error(policy, code, report, state, instance.servers)
    recorded, gaps, rounds, counts, work = outcome[3:]
    learns = numbers.kind in (OPTIMISTIC, SAMPLING)
    vectors, matrices, _, totals = work[:4]
    return Run(
        policy=policy.name,
        horizon=horizon,
        checkpoints=steps,
        queue=recorded[0],
        gap=gaps[0],
        gap_sum=gaps[1],
        gap_square_sum=gaps[2],
        departures=recorded[1],
        explored=recorded[2],
        bad=recorded[3],
        attempts=counts[0],
        estimates=vectors[:, estimation.ESTIMATE].copy(),
        inverse_designs=matrices[:, estimation.INVERSE] * float(learns),
        approximate=numbers.refresh > 1,
        fits=int(totals[estimation.FITS]),
        passes=int(totals[estimation.PASSES]),
        projections=int(totals[estimation.PROJECTIONS]),
        unfinished=int(totals[estimation.UNFINISHED]),
        path=Path(*rounds) if path else None,
    )


def _run(jobs, policy, numbers, steps, seed, path, check_every):
    """Run once and return the kernel's answer and arrays."""
    instance, horizon = jobs.instance, jobs.horizon
    k, d, total = instance.servers, instance.dimension, jobs.entered.size
    coins, choices = substreams(seed, ("coins", "choices"))
    learns, own = numbers.kind in (OPTIMISTIC, SAMPLING), numbers.kind == OWN
    params = np.array(policy.params)
    if own:
        state = np.zeros((k, state_columns(policy, d)))
        policy.init(state, params)
        functions = (policy.choose, policy.update)
    else:
        state = np.zeros((0, 0))
        functions = stand_ins()
    line = np.zeros((total if own else 0, d))
    work = estimation.workspace(
        k, d, horizon if learns else 0, instance.kappa, numbers.regularisation
    )
    scores = (total if learns else 0, k)
    recorded = np.zeros((4, steps.size), dtype=np.int64)
    gaps = np.zeros((3, steps.size))
    rounds = np.zeros((3, horizon if path else 0), dtype=np.int64)
    counts = np.zeros((2, k), dtype=np.int64)
    report = np.zeros(3, dtype=np.int64)
    whole = [numbers.kind, numbers.exploration_rounds, numbers.cutoff, int(numbers.any_job)]
    real = [numbers.exploration, instance.radius, numbers.regularisation, numbers.refresh]
    code = _advance(
        *(*functions, fit, np.array(whole), np.array(real), numbers.bonuses, numbers.thresholds),
        *(jobs.entered, jobs.contexts, jobs.rates, jobs.best_rates, jobs.services, steps),
        *(coins, choices, state, params, line, np.zeros(len(line), dtype=np.int64), work),
        *(np.empty(scores), np.empty(scores), np.zeros(k), np.zeros(total, dtype=np.int64)),
        *(recorded, gaps, rounds, counts, report, check_every),
    )
    return code, report, state, recorded, gaps, rounds, counts, work


def _raise_run_error(policy: Policy, code: int, report: Sequence, state, servers: int) -> None:
    """Raise the ``ValueError`` that describes what the kernel found, if it found anything."""
    t, value, waiting = (int(number) for number in report)
    if code == _BAD_PAIR:
        raise ValueError(
            f"policy {policy.name}: choose returned {value} in round {t} with {waiting} waiting jobs; "
            f"permitted: position * servers + server, from 0 to {waiting * servers - 1}"
        )
    if code == BAD_STATE:
        server, column = divmod(value, state.shape[1])
        raise ValueError(
            f"policy {policy.name}: state[{server}, {column}] is {state[server, column]} after round "
            f"{t}; permitted: finite numbers"
        )
