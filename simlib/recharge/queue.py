"""One queue whose packets a learner sends to servers with one-packet buffers.

One step, in order: a packet arrives with probability ``arrival_rate``; if the queue is not empty
(a packet that just arrived counts), the learner sends one packet to a server; the server accepts
it if its buffer is empty, and the packet then leaves the queue; every full buffer empties with the
server's service rate. The queue length is taken at the end of the step.

Buffers are represented by ages as in :mod:`simlib.recharge.bandit`: a server attempted ``d`` steps
ago is free with probability ``1 - q**d``.

Every step draws one uniform from the stream "arrivals" and one from "rewards", used or not, so
that learners run with one seed meet the same arrivals and the same service.
"""

from collections.abc import Callable, Iterable
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
from simlib.learners.interface import ACT, UPDATE, Learner, check_learner
from simlib.recharge.bandit import availability_table
from simlib.streams import random, substreams

__all__ = ["QueueRun", "QueueRuns", "simulate_queue", "simulate_queues"]

_F1 = types.Array(types.float64, 1, "C")
_F2 = types.Array(types.float64, 2, "C")
_F3 = types.Array(types.float64, 3, "C")
_I1 = types.Array(types.int64, 1, "C")
_I2 = types.Array(types.int64, 2, "C")
_U1 = types.Array(types.uint64, 1, "C")


@dataclass(frozen=True)
class QueueRun:
    """One run of a single queue.

    Attributes
    ----------
    arrival_rate : float
    service_rates : ndarray, shape (arms,)
    horizon : int
        Number of steps.
    learner : str
        Name of the learner.
    checkpoints : ndarray of int64, shape (checkpoints,)
        Recorded steps; the last one is the horizon.
    queue : ndarray of int64, shape (checkpoints,)
        Queue length at the end of each recorded step.
    cumulative_queue : ndarray of int64, shape (checkpoints,)
        Sum of the queue lengths at the ends of steps 1..t.
    arrivals : int
        Packets that arrived.
    utility : float
        Sum over the packets sent of the conditional probability of acceptance.
    pulls : ndarray of int64, shape (arms,)
        Packets sent to each server.
    """

    arrival_rate: float
    service_rates: NDArray[np.float64]
    horizon: int
    learner: str
    checkpoints: NDArray[np.int64]
    queue: NDArray[np.int64]
    cumulative_queue: NDArray[np.int64]
    arrivals: int
    utility: float
    pulls: NDArray[np.int64]

    def mean_queue(self, after: int = 0, until: int | None = None) -> float:
        """Return the time average of the queue length over steps ``after + 1 .. until``.

        Parameters
        ----------
        after, until : int
            0 or recorded steps, ``after < until``; by default the whole run.

        Raises
        ------
        ValueError
            If a step was not recorded.
        """
        return float(_window_mean(self, after, until))


@dataclass(frozen=True)
class QueueRuns:
    """Independent replications of a single queue.

    Attributes
    ----------
    arrival_rate : float
    service_rates : ndarray, shape (arms,)
    horizon : int
        Number of steps.
    learner : str
        Name of the learner.
    checkpoints : ndarray of int64, shape (checkpoints,)
        Recorded steps; the last one is the horizon.
    queue, cumulative_queue : ndarray of int64, shape (replications, checkpoints)
        As in `QueueRun`, a row for each replication.
    """

    arrival_rate: float
    service_rates: NDArray[np.float64]
    horizon: int
    learner: str
    checkpoints: NDArray[np.int64]
    queue: NDArray[np.int64]
    cumulative_queue: NDArray[np.int64]

    def mean_queue(self, after: int = 0, until: int | None = None) -> NDArray[np.float64]:
        """Return the time average over steps ``after + 1 .. until``, one for each replication.

        Parameters and errors as in `QueueRun.mean_queue`.
        """
        return _window_mean(self, after, until)


def _window_mean(run: QueueRun | QueueRuns, after: int, until: int | None):
    until = run.horizon if until is None else until
    ends = []
    for name, step in (("after", after), ("until", until)):
        found = np.flatnonzero(run.checkpoints == step)
        if step != 0 and found.size == 0:
            raise ValueError(f"{name} = {step!r} was not recorded; permitted: 0 or a checkpoint")
        ends.append(0 if step == 0 else run.cumulative_queue[..., found[0]])
    if after >= until:
        raise ValueError(f"after = {after} is not below until = {until}")
    return (ends[1] - ends[0]) / (until - after)


_ADVANCE = types.int64(
    *(ACT, UPDATE, _F2, _F1, _U1, _U1, _U1, _F3),
    *(types.float64, _I1, _I2, _I2, _F2, _I1, types.int64),
)


@njit(_ADVANCE, cache=True, error_model="numpy", _nrt=False)
def _advance(
    act,
    update,
    state,
    params,
    actions,
    rewards,
    arrivals,
    table,
    arrival_rate,
    checkpoints,
    recorded,
    counts,
    sums,
    scalars,
    check_every,
):
    """Run one replication up to the last checkpoint; return `OK`, `BAD_ARM` or `BAD_STATE`.

    Changed in place: ``recorded`` (rows: queue length, its cumulative sum; one column a
    checkpoint), ``counts`` (rows: last attempt or 0, pulls), ``sums`` (rows: uniform of the last
    attempt, utility), ``scalars`` (step and value of an error, arrivals), the learner's state and
    the generators.
    """
    arms = state.shape[1]
    ages = table.shape[1]
    queue = 0
    total = 0
    arrived = 0
    check_at = check_every
    t = 0
    for k in range(checkpoints.shape[0]):
        while t < checkpoints[k]:
            t += 1
            if random(arrivals) < arrival_rate:
                queue += 1
                arrived += 1
            uniform = random(rewards)
            if queue > 0:
                arm = act(state, params, t, actions)
                if arm < 0 or arm >= arms:
                    scalars[0] = t
                    scalars[1] = arm
                    return BAD_ARM
                last = counts[0, arm]
                age = t - last
                utility = 1.0
                if last > 0 and age < ages:
                    utility = table[arm, age, 0]
                reward = 1.0 if last == 0 or sums[0, arm] < utility else 0.0
                sums[0, arm] = uniform
                sums[1, arm] += utility
                counts[0, arm] = t
                counts[1, arm] += 1
                queue -= np.int64(reward)
                update(state, params, t, arm, reward)
                if t >= check_at:
                    check_at = t + check_every
                    bad = first_bad_entry(state)
                    if bad >= 0:
                        scalars[0] = t
                        scalars[1] = bad
                        return BAD_STATE
            total += queue
        recorded[0, k] = queue
        recorded[1, k] = total
    # The learner need not have had a packet in the last step.
    bad = first_bad_entry(state)
    if bad >= 0:
        scalars[0] = t
        scalars[1] = bad
        return BAD_STATE
    scalars[2] = arrived
    return OK


def simulate_queue(
    arrival_rate: float,
    service_rates: Any,
    learner: Learner,
    horizon: int,
    seed: Any,
    *,
    checkpoints: Any = None,
) -> QueueRun:
    """Run one queue, empty at the start, with a learner as its router.

    Parameters
    ----------
    arrival_rate : float
        Probability of an arrival in a step, in (0, 1).
    service_rates : array_like, shape (arms,)
        Service rates in (0, 1).
    learner : Learner
        See :mod:`simlib.learners`; it acts and learns only in steps with a packet to send.
    horizon : int
        Number of steps, at least 1.
    seed : int or numpy.random.SeedSequence
        Seed of this run; its streams "actions", "rewards" and "arrivals" are used.
    checkpoints : array_like of int, optional
        Strictly increasing steps at which to record; the horizon is always added.

    Returns
    -------
    QueueRun

    Raises
    ------
    ValueError
        If an argument is out of its range; during the run if the learner returns an arm that does
        not exist, or its state stops being finite.

    Notes
    -----
    Cost per step: the learner (when there is a packet) and about 10 ns. Memory does not depend on
    the horizon.

    References
    ----------
    "Learning in Strategic Queuing with Geometric Recharge", Section 5.2.
    """
    settings = _checked(arrival_rate, service_rates, learner, horizon, checkpoints)
    rate, mu, learner, horizon, steps, table = settings
    recorded, counts, sums, scalars = _run(rate, learner, steps, table, seed)
    return QueueRun(
        arrival_rate=rate,
        service_rates=mu,
        horizon=horizon,
        learner=learner.name,
        checkpoints=steps,
        queue=recorded[0],
        cumulative_queue=recorded[1],
        arrivals=int(scalars[2]),
        utility=float(sums[1].sum()),
        pulls=counts[1],
    )


def simulate_queues(
    arrival_rate: float,
    service_rates: Any,
    learner: Learner,
    horizon: int,
    seeds: Iterable[Any],
    *,
    checkpoints: Any = None,
    progress: Callable[[int], Any] | None = None,
) -> QueueRuns:
    """Run independent replications of `simulate_queue`, one after the other.

    Parameters
    ----------
    arrival_rate, service_rates, learner, horizon, checkpoints
        As in `simulate_queue`.
    seeds : iterable of int or numpy.random.SeedSequence
        One seed a replication, for example from `simlib.streams.replication_seeds`. Replication
        ``i`` is the run that `simulate_queue` makes with ``seeds[i]``, so that replications can
        be spread over processes in any way.
    progress : callable, optional
        Called with the number of replications done after each one.

    Returns
    -------
    QueueRuns

    Raises
    ------
    ValueError
        As `simulate_queue`.
    """
    seeds = list(seeds)
    if not seeds:
        raise ValueError("seeds is empty; permitted: one seed for each replication")
    settings = _checked(arrival_rate, service_rates, learner, horizon, checkpoints)
    rate, mu, learner, horizon, steps, table = settings
    queue = np.empty((len(seeds), steps.size), dtype=np.int64)
    cumulative = np.empty_like(queue)
    for i, seed in enumerate(seeds):
        recorded, _, _, _ = _run(rate, learner, steps, table, seed)
        queue[i], cumulative[i] = recorded
        if progress is not None:
            progress(i + 1)
    return QueueRuns(
        arrival_rate=rate,
        service_rates=mu,
        horizon=horizon,
        learner=learner.name,
        checkpoints=steps,
        queue=queue,
        cumulative_queue=cumulative,
    )


def _checked(arrival_rate, service_rates, learner, horizon, checkpoints):
    """Return the arguments in their normal form, the steps to record and the table of ages."""
    rate = arguments.probability_open("arrival_rate", arrival_rate)
    mu = arguments.rates("service_rates", service_rates)
    learner = check_learner(learner, mu.size)
    horizon = arguments.positive_integer("horizon", horizon)
    steps = arguments.checkpoint_steps("checkpoints", checkpoints, horizon)
    steps = np.unique(np.append(steps, horizon))
    return rate, mu, learner, horizon, steps, availability_table(mu, horizon)


def _run(rate, learner, steps, table, seed):
    """Run one replication and return the arrays of the kernel."""
    arms = table.shape[0]
    # A failed check of the state is repeated step by step, to name the first bad one.
    for check_every in (CHECK_EVERY, 1):
        actions, rewards, arrivals = substreams(seed, ("actions", "rewards", "arrivals"))
        state, params = learner.new_state(arms)
        recorded = np.zeros((2, steps.size), dtype=np.int64)
        counts = np.zeros((2, arms), dtype=np.int64)
        sums = np.zeros((2, arms))
        scalars = np.zeros(3, dtype=np.int64)
        code = _advance(
            *(learner.act, learner.update, state, params, actions, rewards, arrivals, table),
            *(rate, steps, recorded, counts, sums, scalars, check_every),
        )
        if code != BAD_STATE:
            if check_every == 1:
                raise_unrepeatable(learner)
            break
    raise_run_error(learner, state, code, int(scalars[0]), int(scalars[1]))
    return recorded, counts, sums, scalars
