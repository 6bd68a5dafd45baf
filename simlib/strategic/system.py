"""n queues whose learners send packets to m servers with one-packet buffers.

One step, in order:

1. *arrive*: each queue gains a packet with its arrival rate;
2. *send*: the learner of each queue that is not empty (a packet that just arrived counts) picks a
   server;
3. *accept*: each server with an empty buffer takes exactly one of the packets sent to it, the
   choice of an acceptance rule; that packet leaves its queue, all others stay; each sender sees
   only whether its own packet was taken;
4. *serve*: each full buffer empties with its server's service rate. A packet accepted in a step can
   be served in the same step.

**Full buffers are timers.** A server that accepts a packet in step t draws one geometric number G,
``P(G = d) = mu (1 - mu)**(d - 1)`` for d = 1, 2, ..., by inversion of one uniform of its own
stream: its buffer is full just before *serve* in the steps t, ..., t + G - 1 and empty again from
step t + G on. A packet that is rejected draws nothing, since it finds the timer running. This is
the law of one draw for each full buffer and step, because the number of trials up to and including
the first success is geometric; it is also the law of the ages of :mod:`simlib.recharge.queue`. The
cost of a step does not depend on how many servers are full or idle, or for how long.

**Random numbers.** Queue i draws from the streams "arrivals i" and "actions i", server j from
"services j", the acceptance rule from "ties": whatever the learners and the rule, runs with one seed
meet the same arrivals, and the k-th packet of a server is served for as long.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from simlib import arguments
from simlib.learners.guard import (
    BAD_ARM,
    BAD_STATE,
    CHECK_EVERY,
    OK,
    first_bad_entry,
    raise_run_error,
    raise_unrepeatable,
)
from simlib.learners.interface import ACT, INIT, UPDATE, Learner, check_learner
from simlib.strategic.rules import ACCEPT, AcceptanceRule, check_rule
from simlib.streams import random, substreams

__all__ = ["MOST_KINDS", "PeriodRun", "SystemRun", "simulate_periods", "simulate_system"]

#: Kinds of learners (different compiled functions) that one run can hold. The kernel has a fixed
#: number of slots for them, because a list of functions would have to be compiled in each process.
MOST_KINDS = 8

_BAD_QUEUE = 3
#: Bound on the product of a queue length at the start and the number of steps.
_LARGEST_SUM = 2**62

_F1 = types.Array(types.float64, 1, "C")
_F2 = types.Array(types.float64, 2, "C")
_F3 = types.Array(types.float64, 3, "C")
_I1 = types.Array(types.int64, 1, "C")
_I2 = types.Array(types.int64, 2, "C")
_I3 = types.Array(types.int64, 3, "C")
_U1 = types.Array(types.uint64, 1, "C")
_U2 = types.Array(types.uint64, 2, "C")


@dataclass(frozen=True)
class SystemRun:
    """One run of a system of n queues and m servers.

    Attributes
    ----------
    arrival_rates : ndarray, shape (n,)
    service_rates : ndarray, shape (m,)
    horizon : int
        Number of steps.
    learners : tuple of str, length n
        Name of each queue's learner.
    acceptance : str
        Name of the acceptance rule.
    checkpoints : ndarray of int64, shape (C,)
        Recorded steps; the last one is the horizon.
    queues : ndarray of int64, shape (C, n)
        Queue lengths at the end of each recorded step.
    cumulative : ndarray of int64, shape (C, n)
        Sums of the queue lengths at the ends of steps 1..t.
    arrivals, sent, cleared : ndarray of int64, shape (C, n)
        Packets that arrived, were sent (steps in which the queue was not empty) and were accepted
        in steps 1..t.
    accepted : ndarray of int64, shape (C, m)
        Packets that each server accepted in steps 1..t.
    busy : ndarray of int64, shape (C, m)
        Steps among 1..t in which each server was full just before *serve*.
    buffers : ndarray of int64, shape (C, m)
        1 where the buffer is full at the end of the recorded step, 0 where it is empty.
    start_queues : ndarray of int64, shape (n,)
        Queue lengths before the first step.
    start_full : ndarray of bool, shape (m,)
        Whether each buffer is full before the first step.
    """

    arrival_rates: NDArray[np.float64]
    service_rates: NDArray[np.float64]
    horizon: int
    learners: tuple[str, ...]
    acceptance: str
    checkpoints: NDArray[np.int64]
    queues: NDArray[np.int64]
    cumulative: NDArray[np.int64]
    arrivals: NDArray[np.int64]
    sent: NDArray[np.int64]
    cleared: NDArray[np.int64]
    accepted: NDArray[np.int64]
    busy: NDArray[np.int64]
    buffers: NDArray[np.int64]
    start_queues: NDArray[np.int64]
    start_full: NDArray[np.bool_]

    @property
    def longest(self) -> NDArray[np.int64]:
        """Length of the longest queue at each recorded step, shape (C,)."""
        return self.queues.max(axis=1)

    @property
    def total(self) -> NDArray[np.int64]:
        """Packets in all queues (not in buffers) at each recorded step, shape (C,)."""
        return self.queues.sum(axis=1)

    @property
    def full(self) -> NDArray[np.int64]:
        """Number of full buffers at the end of each recorded step, shape (C,)."""
        return self.buffers.sum(axis=1)

    @property
    def served(self) -> NDArray[np.int64]:
        """Packets that each server served in steps 1..t, shape (C, m)."""
        return self.start_full + self.accepted - self.buffers


@dataclass(frozen=True)
class PeriodRun:
    """One run in periods of equal length; every entry is that of one period.

    Attributes
    ----------
    arrival_rates : ndarray, shape (n,)
    service_rates : ndarray, shape (m,)
    period : int
        Length W of a period in steps.
    learners : tuple of str, length n
        Name of each queue's learner.
    acceptance : str
        Name of the acceptance rule.
    start, end : ndarray of int64, shape (P, n)
        Queue lengths at the start and at the end of each period.
    arrivals, cleared : ndarray of int64, shape (P, n)
        Packets that arrived, and that were accepted, during the period.
    empty : ndarray of int64, shape (P, n)
        Steps in which the queue had nothing to send.
    accepted, busy : ndarray of int64, shape (P, m)
        Packets that each server accepted, and steps in which it was full just before *serve*.
    served : ndarray of int64, shape (P, m)
        Packets that each server served during the period.
    would_clear : ndarray of int64, shape (P, n, m)
        Steps in which a packet of queue i sent to server j would have been accepted, the other
        queues sending as they did; a step in which queue i is empty counts 0.
    """

    arrival_rates: NDArray[np.float64]
    service_rates: NDArray[np.float64]
    period: int
    learners: tuple[str, ...]
    acceptance: str
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    arrivals: NDArray[np.int64]
    cleared: NDArray[np.int64]
    empty: NDArray[np.int64]
    accepted: NDArray[np.int64]
    busy: NDArray[np.int64]
    served: NDArray[np.int64]
    would_clear: NDArray[np.int64]

    @property
    def regret(self) -> NDArray[np.int64]:
        """Realised regret of each queue in each period against the best server, shape (P, n)."""
        return self.would_clear.max(axis=2) - self.cleared


@njit(types.int64(_U1, types.float64), cache=True, error_model="numpy", _nrt=False)
def _service_time(rng, log_fail):
    """Draw a geometric number from 1, 2, ...; ``log_fail`` is ``log(1 - mu)``."""
    trials = math.log1p(-random(rng)) / log_fail
    # Beyond every horizon; a larger number would not fit.
    return np.int64(trials) + 1 if trials < 2.0**60 else np.int64(2**60)


_ADVANCE = types.int64(
    *(ACT,) * MOST_KINDS,
    *(UPDATE,) * MOST_KINDS,
    *(INIT,) * MOST_KINDS,
    *(ACCEPT, _I2, _F3, _F2, _F1),
    *(_U2, _U2, _U2, _U2, _U1, _U1),
    *(_F1, _F1, _I1, _I2, _I2),
    *(_I3, _I3, _I3, _I1, types.int64, types.int64, types.int64, types.int64, types.int64),
)


@njit(_ADVANCE, cache=True, error_model="numpy", _nrt=False)
def _advance(
    act0,
    act1,
    act2,
    act3,
    act4,
    act5,
    act6,
    act7,
    update0,
    update1,
    update2,
    update3,
    update4,
    update5,
    update6,
    update7,
    init0,
    init1,
    init2,
    init3,
    init4,
    init5,
    init6,
    init7,
    accept,
    shapes,
    states,
    params,
    rule_params,
    arrivals,
    lagging,
    actions,
    services,
    ties,
    coins,
    arrival_rates,
    log_fails,
    checkpoints,
    queues,
    servers,
    recorded,
    recorded_servers,
    would_clear,
    report,
    restart_every,
    check_from,
    check_every,
    with_heads,
    with_counterfactuals,
):
    """Run to the last checkpoint; return `OK`, `BAD_ARM`, `BAD_STATE` or `_BAD_QUEUE`.

    Read: ``shapes`` (rows: slot of the learner's functions, rows of its state, number of its
    parameters; one column a queue).

    Changed in place: the learners' ``states``, the generators, ``queues`` and ``servers`` (rows as
    named below), ``recorded`` (rows: length, cumulative length, arrivals, sent, cleared),
    ``recorded_servers`` (rows: accepted, busy, full), ``would_clear`` (the sum over the steps since
    the last checkpoint), ``report`` (step, value, queue and server of an error).
    """
    n = queues.shape[1]
    m = servers.shape[1]
    slot, rows, sizes = shapes[0], shapes[1], shapes[2]
    length, cumulative, arrived = queues[0], queues[1], queues[2]
    sent, cleared = queues[3], queues[4]
    # Packets left from the start; arrival step of the packet at the head; server chosen or -1; next
    # queue that sent to the same server; 1 if the packet was taken; servers that received packets;
    # queues that sent to one of them.
    initial, head, choice, following = queues[5], queues[6], queues[7], queues[8]
    taken, touched, senders = queues[9], queues[10], queues[11]
    # A server is full before *accept* of step t if t < free_at.
    free_at, accepted, busy = servers[0], servers[1], servers[2]
    count, first, last, winner = servers[3], servers[4], servers[5], servers[6]
    restart_at = restart_every + 1
    check_at = check_from
    t = 0
    for k in range(checkpoints.shape[0]):
        while t < checkpoints[k]:
            t += 1
            if t == restart_at:
                restart_at += restart_every
                for i in range(n):
                    state = states[i, : rows[i]]
                    # A bad entry must not disappear unseen.
                    bad = first_bad_entry(state)
                    if bad >= 0:
                        report[0], report[1], report[2] = t - 1, bad, i
                        return BAD_STATE
                    own = params[i, : sizes[i]]
                    state[:] = 0.0
                    kind = slot[i]
                    if kind == 0:
                        init0(state, own)
                    elif kind == 1:
                        init1(state, own)
                    elif kind == 2:
                        init2(state, own)
                    elif kind == 3:
                        init3(state, own)
                    elif kind == 4:
                        init4(state, own)
                    elif kind == 5:
                        init5(state, own)
                    elif kind == 6:
                        init6(state, own)
                    else:
                        init7(state, own)

            # arrive and send
            servers_touched = 0
            for i in range(n):
                if random(arrivals[i]) < arrival_rates[i]:
                    if with_heads and length[i] == 0:
                        head[i] = t
                        lagging[i, 0] = arrivals[i, 0]
                        lagging[i, 1] = arrivals[i, 1]
                        lagging[i, 2] = arrivals[i, 2]
                        lagging[i, 3] = arrivals[i, 3]
                    length[i] += 1
                    arrived[i] += 1
                if length[i] == 0:
                    choice[i] = -1
                    continue
                state = states[i, : rows[i]]
                own = params[i, : sizes[i]]
                kind = slot[i]
                if kind == 0:
                    j = act0(state, own, t, actions[i])
                elif kind == 1:
                    j = act1(state, own, t, actions[i])
                elif kind == 2:
                    j = act2(state, own, t, actions[i])
                elif kind == 3:
                    j = act3(state, own, t, actions[i])
                elif kind == 4:
                    j = act4(state, own, t, actions[i])
                elif kind == 5:
                    j = act5(state, own, t, actions[i])
                elif kind == 6:
                    j = act6(state, own, t, actions[i])
                else:
                    j = act7(state, own, t, actions[i])
                if j < 0 or j >= m:
                    report[0], report[1], report[2] = t, j, i
                    return BAD_ARM
                choice[i] = j
                sent[i] += 1
                taken[i] = 0
                if count[j] == 0:
                    touched[servers_touched] = j
                    servers_touched += 1
                    first[j] = i
                else:
                    following[last[j]] = i
                last[j] = i
                count[j] += 1

            # accept: all servers choose before anything changes
            for k_touched in range(servers_touched):
                j = touched[k_touched]
                winner[j] = -1
                if free_at[j] <= t:
                    i = first[j]
                    if count[j] > 1:
                        for k_sender in range(count[j]):
                            senders[k_sender] = i
                            i = following[i]
                        i = accept(j, t, senders, count[j], length, head, rule_params, ties)
                        if i < 0 or i >= n or choice[i] != j:
                            report[0], report[1], report[2], report[3] = t, count[j], i, j
                            return _BAD_QUEUE
                    winner[j] = i
                    taken[i] = 1

            if with_counterfactuals:
                for j in range(m):
                    if free_at[j] > t:
                        continue
                    for i in range(n):
                        if choice[i] == j:
                            would_clear[k, i, j] += taken[i]
                        elif choice[i] >= 0 and count[j] == 0:
                            would_clear[k, i, j] += 1
                        elif choice[i] >= 0:
                            # Queue i among the queues that sent to j.
                            other = first[j]
                            size = 0
                            placed = False
                            for _ in range(count[j]):
                                if not placed and other > i:
                                    senders[size] = i
                                    size += 1
                                    placed = True
                                senders[size] = other
                                size += 1
                                other = following[other]
                            if not placed:
                                senders[size] = i
                                size += 1
                            other = accept(j, t, senders, size, length, head, rule_params, coins)
                            if other < 0 or other >= n or (other != i and choice[other] != j):
                                report[0], report[1], report[2], report[3] = t, size, other, j
                                return _BAD_QUEUE
                            would_clear[k, i, j] += other == i

            for k_touched in range(servers_touched):
                j = touched[k_touched]
                count[j] = 0
                if winner[j] >= 0:
                    steps = _service_time(services[j], log_fails[j])
                    free_at[j] = t + steps
                    busy[j] += steps
                    accepted[j] += 1

            # learn
            for i in range(n):
                j = choice[i]
                if j >= 0:
                    if taken[i]:
                        cleared[i] += 1
                        length[i] -= 1
                        if with_heads:
                            if length[i] == 0:
                                head[i] = -1
                                initial[i] = 0
                            elif initial[i] > 1:
                                initial[i] -= 1
                            else:
                                # The generator that lags behind moves to the next arrival.
                                initial[i] = 0
                                head[i] += 1
                                while random(lagging[i]) >= arrival_rates[i]:
                                    head[i] += 1
                    state = states[i, : rows[i]]
                    own = params[i, : sizes[i]]
                    reward = np.float64(taken[i])
                    kind = slot[i]
                    if kind == 0:
                        update0(state, own, t, j, reward)
                    elif kind == 1:
                        update1(state, own, t, j, reward)
                    elif kind == 2:
                        update2(state, own, t, j, reward)
                    elif kind == 3:
                        update3(state, own, t, j, reward)
                    elif kind == 4:
                        update4(state, own, t, j, reward)
                    elif kind == 5:
                        update5(state, own, t, j, reward)
                    elif kind == 6:
                        update6(state, own, t, j, reward)
                    else:
                        update7(state, own, t, j, reward)
                cumulative[i] += length[i]
            if t >= check_at:
                check_at = t + check_every
                for i in range(n):
                    bad = first_bad_entry(states[i, : rows[i]])
                    if bad >= 0:
                        report[0], report[1], report[2] = t, bad, i
                        return BAD_STATE

        for row in range(recorded.shape[0]):
            for i in range(n):
                recorded[row, k, i] = queues[row, i]
        for j in range(m):
            recorded_servers[0, k, j] = accepted[j]
            # Timers count their steps in advance.
            recorded_servers[1, k, j] = busy[j] - max(0, free_at[j] - 1 - t)
            recorded_servers[2, k, j] = free_at[j] > t + 1
    for i in range(n):
        bad = first_bad_entry(states[i, : rows[i]])
        if bad >= 0:
            report[0], report[1], report[2] = t, bad, i
            return BAD_STATE
    return OK


@dataclass(frozen=True)
class _System:
    """Checked arguments of a run."""

    arrival_rates: NDArray[np.float64]
    service_rates: NDArray[np.float64]
    learners: tuple[Learner, ...]
    kinds: tuple[Learner, ...]
    slots: tuple[int, ...]
    rule: AcceptanceRule
    start_queues: NDArray[np.int64]
    start_full: NDArray[np.bool_]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(learner.name for learner in self.learners)


def simulate_system(
    arrival_rates: Any,
    service_rates: Any,
    learners: Learner | Sequence[Learner],
    horizon: int,
    seed: Any,
    *,
    acceptance: AcceptanceRule | None = None,
    checkpoints: Any = None,
    restart_every: int | None = None,
    start_queues: Any = None,
    start_full: Any = None,
) -> SystemRun:
    """Run a system of n queues and m servers.

    Parameters
    ----------
    arrival_rates : array_like, shape (n,)
        Probability of an arrival at each queue in a step, in (0, 1).
    service_rates : array_like, shape (m,)
        Service rates in (0, 1).
    learners : Learner or sequence of n Learners
        One learner that every queue uses (each with a state of its own), or one for each queue, of
        at most `MOST_KINDS` different kinds. See :mod:`simlib.learners`; a learner acts and learns
        only in steps with a packet to send.
    horizon : int
        Number of steps, at least 1.
    seed : int or numpy.random.SeedSequence
        Seed of this run.
    acceptance : AcceptanceRule, optional
        Which packet a server takes where several arrive, see :mod:`simlib.strategic.rules`; by
        default `uniform`.
    checkpoints : array_like of int, optional
        Strictly increasing steps at which to record; the horizon is always added.
    restart_every : int, optional
        All learners forget what they know after each so many steps: their state is set to zero and
        ``init`` is called again before the steps ``restart_every + 1``, ``2 * restart_every + 1``...
        The step ``t`` that they are told goes on counting.
    start_queues : array_like of int, shape (n,), optional
        Queue lengths before the first step, at most 2**62 over the number of steps; by default all
        empty. These packets count as arrived in step 0.
    start_full : array_like of bool, shape (m,), optional
        Whether each buffer is full before the first step (it can be served in that step); by
        default none is.

    Returns
    -------
    SystemRun

    Raises
    ------
    ValueError
        If an argument is out of its range; during the run, naming the queue, if a learner returns
        an arm that does not exist or its state stops being finite, or if the acceptance rule
        returns a queue that did not send to the server.

    Notes
    -----
    Cost per step: O(n + servers that receive packets) for the model, and each learner's own; see
    ``benchmarks/README.md``. Memory does not depend on the horizon.

    References
    ----------
    "Learning in Strategic Queuing with Geometric Recharge", Section 4.
    """
    system = _checked(arrival_rates, service_rates, learners, acceptance, start_queues, start_full)
    horizon = arguments.positive_integer("horizon", horizon)
    steps = arguments.checkpoint_steps("checkpoints", checkpoints, horizon)
    steps = np.unique(np.append(steps, horizon))
    if restart_every is None:
        restart_every = horizon
    restart_every = arguments.positive_integer("restart_every", restart_every)
    recorded, recorded_servers, _ = _run(system, steps, seed, restart_every, False)
    return SystemRun(
        arrival_rates=system.arrival_rates,
        service_rates=system.service_rates,
        horizon=horizon,
        learners=system.names,
        acceptance=system.rule.name,
        checkpoints=steps,
        queues=recorded[0],
        cumulative=recorded[1],
        arrivals=recorded[2],
        sent=recorded[3],
        cleared=recorded[4],
        accepted=recorded_servers[0],
        busy=recorded_servers[1],
        buffers=recorded_servers[2],
        start_queues=system.start_queues,
        start_full=system.start_full,
    )


def simulate_periods(
    arrival_rates: Any,
    service_rates: Any,
    learners: Learner | Sequence[Learner],
    period: int,
    periods: int,
    seed: Any,
    *,
    acceptance: AcceptanceRule | None = None,
    restart: bool = True,
    start_queues: Any = None,
    start_full: Any = None,
) -> PeriodRun:
    """Run a system in periods and find what each queue would have cleared at each server.

    The path is that of `simulate_system` with the same seed and restarts.

    Parameters
    ----------
    arrival_rates, service_rates, learners, seed, acceptance, start_queues, start_full
        As in `simulate_system`.
    period : int
        Steps of a period, at least 1.
    periods : int
        Number of periods, at least 1.
    restart : bool
        Whether all learners forget what they know at the start of each period.

    Returns
    -------
    PeriodRun

    Raises
    ------
    ValueError
        As `simulate_system`.

    Notes
    -----
    For a queue i that is not empty and a server j the counterfactual bit of a step is 1 if j is
    free before *accept* and the rule would take queue i's packet among those of the other queues
    that sent to j and its own. It is the realised bit where i did send to j. Where the rule tosses
    coins, those of a counterfactual come from a stream of their own, so that the path is not
    disturbed. Cost per step: O(n m), and a call of the rule for each queue and free server that
    another queue sent to. Memory: one number for each period, queue and server.
    """
    system = _checked(arrival_rates, service_rates, learners, acceptance, start_queues, start_full)
    period = arguments.positive_integer("period", period)
    periods = arguments.positive_integer("periods", periods)
    arguments.positive_integer("period * periods", period * periods)
    if not isinstance(restart, bool):
        raise ValueError(f"restart = {restart!r}; permitted: True or False")
    steps = period * np.arange(1, periods + 1)
    restart_every = period if restart else period * periods
    recorded, recorded_servers, would_clear = _run(system, steps, seed, restart_every, True)
    length, _, arrivals, sent, cleared = recorded
    accepted, busy, full = recorded_servers
    full_before = np.vstack([system.start_full, full[:-1]])
    accepted = np.diff(accepted, axis=0, prepend=0)
    return PeriodRun(
        arrival_rates=system.arrival_rates,
        service_rates=system.service_rates,
        period=period,
        learners=system.names,
        acceptance=system.rule.name,
        start=np.vstack([system.start_queues, length[:-1]]),
        end=length,
        arrivals=np.diff(arrivals, axis=0, prepend=0),
        cleared=np.diff(cleared, axis=0, prepend=0),
        empty=period - np.diff(sent, axis=0, prepend=0),
        accepted=accepted,
        busy=np.diff(busy, axis=0, prepend=0),
        served=full_before + accepted - full,
        would_clear=would_clear,
    )


def _checked(arrival_rates, service_rates, learners, acceptance, start_queues, start_full):
    """Return the arguments in their normal form."""
    lam = arguments.rates("arrival_rates", arrival_rates)
    mu = arguments.rates("service_rates", service_rates)
    n, m = lam.size, mu.size
    if isinstance(learners, Sequence) and not isinstance(learners, str):
        if len(learners) != n:
            raise ValueError(
                f"learners has {len(learners)} entries; permitted: one Learner for all queues, or "
                f"one for each of the {n} queues in arrival_rates"
            )
        own = list(learners)
    else:
        own = [learners] * n
    checked: dict[int, Learner] = {}
    kinds: dict[tuple, int] = {}
    slots = []
    for learner in own:
        if id(learner) not in checked:
            name = "learners" if learners is learner else f"learners[{len(slots)}]"
            checked[id(learner)] = check_learner(learner, m, name)
        functions = (learner.init, learner.act, learner.update)
        slots.append(kinds.setdefault(functions, len(kinds)))
    if len(kinds) > MOST_KINDS:
        raise ValueError(
            f"learners are of {len(kinds)} different kinds; permitted: at most {MOST_KINDS} (learners "
            f"that differ in their params alone are of one kind)"
        )
    first_of_kind = [own[slots.index(k)] for k in range(len(kinds))]
    first_of_kind += first_of_kind[:1] * (MOST_KINDS - len(kinds))
    return _System(
        arrival_rates=lam,
        service_rates=mu,
        learners=tuple(own),
        kinds=tuple(first_of_kind),
        slots=tuple(slots),
        rule=check_rule(acceptance, n),
        start_queues=_start_queues(start_queues, n),
        start_full=_start_full(start_full, m),
    )


def _start_queues(value, n):
    if value is None:
        return np.zeros(n, dtype=np.int64)
    vector = arguments.real_vector("start_queues", value)
    if vector.size != n:
        raise ValueError(
            f"start_queues has {vector.size} entries; permitted: one for each of {n} queues"
        )
    lengths = [
        arguments.non_negative_integer(f"start_queues[{i}]", length)
        for i, length in enumerate(vector.tolist())
    ]
    return np.array(lengths, dtype=np.int64)


def _start_full(value, m):
    if value is None:
        return np.zeros(m, dtype=np.bool_)
    try:
        flags = np.array(value)
    except ValueError:  # rows of different lengths
        flags = np.zeros(0)
    if flags.shape != (m,) or not np.isin(flags, (0, 1)).all():
        raise ValueError(
            f"start_full = {value!r}; permitted: a truth value for each of {m} servers"
        )
    return flags.astype(np.bool_)


def _run(system, steps, seed, restart_every, with_counterfactuals):
    """Run one replication and return the arrays of the kernel."""
    longest = int(system.start_queues.argmax())
    if int(system.start_queues[longest]) * int(steps[-1]) > _LARGEST_SUM:
        raise ValueError(
            f"start_queues[{longest}] = {system.start_queues[longest]}; permitted: at most "
            f"{_LARGEST_SUM // int(steps[-1])} = 2**62 // {steps[-1]} steps, so that the sum of the "
            f"lengths over the steps fits into 64 bits"
        )
    n, m = system.arrival_rates.size, system.service_rates.size
    # A failed check of the states is repeated step by step, to name the first bad one.
    check_from, check_every = CHECK_EVERY, CHECK_EVERY
    suspect = None
    while True:
        names = [f"{kind} {i}" for kind in ("arrivals", "actions") for i in range(n)]
        names += [f"services {j}" for j in range(m)]
        *streams, ties, coins = substreams(seed, [*names, "ties", "counterfactual ties"])
        arrivals, actions = np.array(streams[:n]), np.array(streams[n : 2 * n])
        services = np.array(streams[2 * n :])

        shapes = np.zeros((3, n), dtype=np.int64)
        shapes[0] = system.slots
        shapes[1] = [learner.rows for learner in system.learners]
        shapes[2] = [len(learner.params) for learner in system.learners]
        states = np.zeros((n, shapes[1].max(), m))
        params = np.zeros((n, max(1, shapes[2].max())))
        for i, learner in enumerate(system.learners):
            states[i, : learner.rows], params[i, : shapes[2, i]] = learner.new_state(m)

        queues = np.zeros((12, n), dtype=np.int64)
        queues[0] = queues[5] = system.start_queues
        queues[6] = np.where(system.start_queues > 0, 0, -1)
        servers = np.zeros((7, m), dtype=np.int64)
        log_fails = np.log1p(-system.service_rates)
        for j in np.flatnonzero(system.start_full):
            # Full before *serve* of the steps 1, ..., G, as if accepted in step 1.
            service_time = _service_time(services[j], log_fails[j])
            servers[0, j], servers[2, j] = 1 + service_time, service_time

        recorded = np.zeros((5, steps.size, n), dtype=np.int64)
        recorded_servers = np.zeros((3, steps.size, m), dtype=np.int64)
        shape = (steps.size, n, m) if with_counterfactuals else (0, 0, 0)
        would_clear = np.zeros(shape, dtype=np.int64)
        report = np.zeros(4, dtype=np.int64)
        code = _advance(
            *(learner.act for learner in system.kinds),
            *(learner.update for learner in system.kinds),
            *(learner.init for learner in system.kinds),
            *(system.rule.accept, shapes, states, params, np.array(system.rule.params)),
            *(arrivals, arrivals.copy(), actions, services, ties, coins),
            *(system.arrival_rates, log_fails, steps, queues, servers),
            *(recorded, recorded_servers, would_clear, report, restart_every),
            *(check_from, check_every, system.rule.heads, with_counterfactuals),
        )
        step, value, queue, server = report.tolist()
        if code != BAD_STATE or suspect is not None:
            break
        suspect = system.learners[queue]
        check_from, check_every = max(1, step - CHECK_EVERY), 1
    if code in (BAD_ARM, BAD_STATE):
        learner = system.learners[queue]
        state = states[queue, : learner.rows]
        raise_run_error(learner, state, code, step, value, f"queue {queue}")
    if suspect is not None:
        raise_unrepeatable(suspect)
    if code == _BAD_QUEUE:
        senders = queues[11, :value].tolist()
        raise ValueError(
            f"acceptance rule {system.rule.name}: returned the queue {queue} at step {step} for server "
            f"{server}, to which only the queues {', '.join(map(str, senders))} sent; permitted: one "
            f"of these"
        )
    return recorded, recorded_servers, would_clear
