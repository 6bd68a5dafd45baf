"""The saturated geometric recharging bandit: a router that always has a packet to send.

An arm that was pulled ``d >= 1`` steps ago pays 1 with probability ``1 - q**d``, where
``q = 1 - service rate``, whatever its last reward was; the first pull of an arm pays 1. This is
the buffer of a server seen by its only sender: after any attempt the buffer is full, and each
later service empties it.

`simulate` works with ages, `simulate_with_buffers` with the buffers themselves; the second is the
slow reference for the first.

Randomness. One uniform is drawn at every step from the stream "rewards" and stays with the arm
pulled at that step: its next pull, ``d`` steps later, succeeds if the uniform is below
``1 - q**d``. The uniform thus fixes the step at which the arm becomes free, and a counterfactual
pull has a definite outcome. It belongs to the step and not to the arm, so that learners run with
one seed meet the same uniforms.
"""

from collections.abc import Callable
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
from simlib.streams import random, substreams

__all__ = [
    "BanditRun",
    "BufferRun",
    "StrategyTrace",
    "availability_table",
    "simulate",
    "simulate_with_buffers",
]

_TABLE_ENTRIES = 2**24
_DEFAULT_TV_EDGES = (1e-4, 1e-3, 1e-2, 1e-1)

_F1 = types.Array(types.float64, 1, "C")
_F2 = types.Array(types.float64, 2, "C")
_F3 = types.Array(types.float64, 3, "C")
_I1 = types.Array(types.int64, 1, "C")
_I2 = types.Array(types.int64, 2, "C")
_U1 = types.Array(types.uint64, 1, "C")


@dataclass(frozen=True)
class StrategyTrace:
    """How a learner's mixed strategy moved around a reference distribution.

    TV is the total-variation distance, half the sum of absolute differences.

    Attributes
    ----------
    reference : ndarray, shape (arms,)
        The reference distribution.
    mean : ndarray, shape (arms,)
        Average of the strategies of all steps.
    tv_of_mean : float
        TV distance of that average from the reference.
    tv_edges : ndarray, shape (edges,)
        Edges of the histogram of the TV distance.
    tv_fraction : ndarray, shape (edges + 1,)
        Share of all steps with the distance below the first edge, between consecutive edges, and
        at or above the last.
    burn_in : int
        The three numbers below leave out this many first steps.
    mean_tv : float
        Average over steps of the TV distance.
    late_mean, late_std : ndarray, shape (arms,)
        Mean and standard deviation over steps of each probability.
    """

    reference: NDArray[np.float64]
    mean: NDArray[np.float64]
    tv_of_mean: float
    tv_edges: NDArray[np.float64]
    tv_fraction: NDArray[np.float64]
    burn_in: int
    mean_tv: float
    late_mean: NDArray[np.float64]
    late_std: NDArray[np.float64]


@dataclass(frozen=True)
class BanditRun:
    """One run of the saturated recharging bandit.

    "Utility" is the conditional expectation of a reward given the past, ``1 - q**age`` (1 on the
    first pull); "reward" is its realisation, 0 or 1. The hindsight value of an arm is the sum over
    all steps of the utility that a pull of this arm would have had at that step.

    Attributes
    ----------
    service_rates : ndarray, shape (arms,)
    horizon : int
        Number of steps T.
    learner : str
        Name of the learner.
    reward : int
        Total of the realised rewards.
    utility : ndarray, shape (arms,)
        Utility collected from each arm.
    hindsight : ndarray, shape (arms,)
        Hindsight value of each arm, accumulated on its own from the literal sums of ``1 - q**s``.
    realized_hindsight : ndarray of int64, shape (arms,), or None
        Number of steps at which a pull of the arm would have succeeded; the first-pull phase
        counts in full.
    pulls : ndarray of int64, shape (arms,)
    last_age : ndarray of int64, shape (arms,)
        Number of steps after the last pull of each arm (``L_j``: 0 if pulled in the last step);
        -1 for an arm never pulled.
    switches : int
        Number of steps whose arm differs from that of the step before.
    checkpoints : ndarray of int64, shape (checkpoints,)
        Steps t at which the following were recorded, at the end of the step.
    reward_at : ndarray of int64, shape (checkpoints,)
        Realised reward of steps 1..t.
    utility_at, hindsight_at : ndarray, shape (checkpoints, arms)
        As ``utility`` and ``hindsight``, for steps 1..t.
    strategy_at : ndarray, shape (checkpoints, arms), or None
        The mixed strategy of step t + 1, if the learner keeps one.
    strategy_mean_at : ndarray, shape (checkpoints, arms), or None
        Average of the strategies of steps 1..t, if a reference was given.
    strategy : StrategyTrace or None
        Present if a reference was given.
    """

    service_rates: NDArray[np.float64]
    horizon: int
    learner: str
    reward: int
    utility: NDArray[np.float64]
    hindsight: NDArray[np.float64]
    realized_hindsight: NDArray[np.int64] | None
    pulls: NDArray[np.int64]
    last_age: NDArray[np.int64]
    switches: int
    checkpoints: NDArray[np.int64]
    reward_at: NDArray[np.int64]
    utility_at: NDArray[np.float64]
    hindsight_at: NDArray[np.float64]
    strategy_at: NDArray[np.float64] | None
    strategy_mean_at: NDArray[np.float64] | None
    strategy: StrategyTrace | None

    @property
    def average_reward(self) -> float:
        """Realised reward per step."""
        return self.reward / self.horizon

    @property
    def average_utility(self) -> float:
        """Utility per step."""
        return float(self.utility.sum()) / self.horizon

    @property
    def arm_regret(self) -> NDArray[np.float64]:
        """Regret against each arm, ``R_j = hindsight_j - sum(utility)``, shape (arms,)."""
        return self.hindsight - self.utility.sum()

    @property
    def regret(self) -> float:
        """Regret against the best fixed arm in hindsight."""
        return float(self.arm_regret.max())

    @property
    def arm_regret_at(self) -> NDArray[np.float64]:
        """Regret against each arm at each checkpoint, shape (checkpoints, arms)."""
        return self.hindsight_at - self.utility_at.sum(axis=1, keepdims=True)

    @property
    def identity_gap(self) -> float:
        """Left side minus right side of the utility identity, relative to the left side.

        The identity ``(1 + rho) U = rho T - sum_j rho_j R_j + sum_{j pulled} q_j**L_j`` holds on
        every path; the gap is rounding, unless the simulation is wrong. It says something because
        utility and hindsight are accumulated independently.
        """
        odds = self.service_rates / (1.0 - self.service_rates)
        pulled = self.pulls > 0
        tails = (1.0 - self.service_rates[pulled]) ** self.last_age[pulled]
        left = (1.0 + odds.sum()) * self.utility.sum()
        right = odds.sum() * self.horizon - odds @ self.arm_regret + tails.sum()
        return float((left - right) / left)


@dataclass(frozen=True)
class BufferRun:
    """Counts from a run with explicit buffers.

    Attributes
    ----------
    horizon : int
        Number of steps.
    learner : str
        Name of the learner.
    reward : int
        Number of accepted packets.
    pulls, accepted : ndarray of int64, shape (arms, max_age + 1)
        Attempts, and those accepted, for each arm and each age, the number of steps since the last
        attempt. Column 0 counts first attempts; ages above ``max_age`` are left out.
    """

    horizon: int
    learner: str
    reward: int
    pulls: NDArray[np.int64]
    accepted: NDArray[np.int64]


def availability_table(service_rates: Any, horizon: int) -> NDArray[np.float64]:
    """Tabulate the probability of success by age, and its running sum.

    Parameters
    ----------
    service_rates : array_like, shape (arms,)
        Service rates in (0, 1).
    horizon : int
        Number of steps; larger ages are never met.

    Returns
    -------
    ndarray, shape (arms, ages, 2)
        Entry ``[j, d, 0]`` is ``1 - q_j**d`` and ``[j, d, 1]`` the literal sum of ``1 - q_j**s``
        over ``s = 1..d``. Beyond the last age every ``q**d`` is below 2**-54, so the probability
        is 1 in double precision.

    Raises
    ------
    ValueError
        If a rate is so small that the table would have more than 2**24 ages.
    """
    mu = arguments.rates("service_rates", service_rates)
    horizon = arguments.positive_integer("horizon", horizon)
    log_q = np.log1p(-mu)
    ages = int(min(np.ceil(54.0 * np.log(2.0) / -log_q.max()), horizon)) + 2
    if ages * mu.size > _TABLE_ENTRIES:
        raise ValueError(
            f"service_rates has the entry {mu.min()}, which needs a table of {ages} ages for each "
            f"of {mu.size} arms; permitted: arms * 38 / (smallest rate) up to {_TABLE_ENTRIES}"
        )
    table = np.empty((mu.size, ages, 2))
    table[:, :, 0] = -np.expm1(np.outer(log_q, np.arange(ages)))
    table[:, :, 1] = np.cumsum(table[:, :, 0], axis=1)
    return table


@njit(cache=True, error_model="numpy", _nrt=False)
def summed_availability(table, arm, age):
    """Return the sum of ``1 - q**s`` over ``s = 1..age``."""
    ages = table.shape[1]
    if age < ages:
        return table[arm, age, 1]
    return table[arm, ages - 1, 1] + (age - (ages - 1))


@njit(cache=True, error_model="numpy", _nrt=False)
def _free_steps(table, arm, uniform, age):
    """Return at how many of the ages ``1..age`` the arm is free, given its uniform."""
    # The arm is free from the first age on whose availability exceeds the uniform.
    low = 0
    high = table.shape[1] - 1
    while high - low > 1:
        middle = (low + high) // 2
        if uniform < table[arm, middle, 0]:
            high = middle
        else:
            low = middle
    return max(0, age - high + 1)


@njit(cache=True, error_model="numpy", _nrt=False)
def _watch(state, row, reference, edges, counts, sums, late, t, burn_in):
    """Add the strategy of step ``t`` to histogram and moments."""
    arms = state.shape[1]
    distance = 0.0
    for j in range(arms):
        deviation = state[row, j] - reference[j]
        distance += abs(deviation)
        sums[0, j] += deviation
        if t > burn_in:
            sums[1, j] += deviation
            sums[2, j] += deviation * deviation
    distance *= 0.5
    k = 0
    while k < edges.shape[0] and distance >= edges[k]:
        k += 1
    counts[k] += 1
    if t > burn_in:
        late[0] += distance


_ADVANCE = types.int64(
    *(ACT, UPDATE, _F2, _F1, _U1, _U1, _F3),  # learner, its state, generators, table
    *(_I2, _F2, _I1),  # sums: int64 by arm, float64 by arm, scalars
    *(types.int64, types.int64, types.int64, types.boolean),
    *(types.int64, _F1, _F1, _I1, _F2, _F1, types.int64),  # watching the strategy
)


@njit(_ADVANCE, cache=True, error_model="numpy", _nrt=False)
def _advance(
    act,
    update,
    state,
    params,
    actions,
    rewards,
    table,
    counts,
    sums,
    scalars,
    start,
    stop,
    check_every,
    realized,
    watched_row,
    reference,
    tv_edges,
    tv_counts,
    moments,
    late,
    burn_in,
):
    """Run steps ``start .. stop`` and return `OK`, `BAD_ARM` or `BAD_STATE`.

    Changed in place: ``counts`` (rows: last pull or 0, pulls, realised reward, realised
    hindsight), ``sums`` (rows: uniform of the last pull, utility, hindsight), ``scalars``
    (previous arm, switches, step and value of an error), the learner's state, the generators, and
    the arrays of the watched strategy (none if ``watched_row`` is negative).
    """
    arms = state.shape[1]
    ages = table.shape[1]
    previous = scalars[0]
    switches = scalars[1]
    t = start
    while t <= stop:
        block_end = min(stop, t + check_every - 1)
        while t <= block_end:
            if watched_row >= 0:
                _watch(
                    state, watched_row, reference, tv_edges, tv_counts, moments, late, t, burn_in
                )
            arm = act(state, params, t, actions)
            if arm < 0 or arm >= arms:
                scalars[2] = t
                scalars[3] = arm
                return BAD_ARM
            uniform = random(rewards)
            last = counts[0, arm]
            age = t - last
            if last == 0:
                utility = 1.0
                sums[2, arm] += age
                reward = 1.0
                counts[3, arm] += age
            else:
                if age < ages:
                    utility = table[arm, age, 0]
                    sums[2, arm] += table[arm, age, 1]
                else:
                    utility = 1.0
                    sums[2, arm] += summed_availability(table, arm, age)
                reward = 1.0 if sums[0, arm] < utility else 0.0
                if realized:
                    counts[3, arm] += _free_steps(table, arm, sums[0, arm], age)
            sums[0, arm] = uniform
            sums[1, arm] += utility
            counts[0, arm] = t
            counts[1, arm] += 1
            counts[2, arm] += np.int64(reward)
            switches += arm != previous
            previous = arm
            update(state, params, t, arm, reward)
            t += 1
        bad = first_bad_entry(state)
        if bad >= 0:
            scalars[2] = block_end
            scalars[3] = bad
            return BAD_STATE
    scalars[0] = previous
    scalars[1] = switches
    return OK


def simulate(
    service_rates: Any,
    learner: Learner,
    horizon: int,
    seed: Any,
    *,
    checkpoints: Any = None,
    realized: bool = False,
    reference: Any = None,
    tv_edges: Any = _DEFAULT_TV_EDGES,
    burn_in: int = 0,
    progress: Callable[[int], Any] | None = None,
) -> BanditRun:
    """Run a learner on the saturated geometric recharging bandit.

    Parameters
    ----------
    service_rates : array_like, shape (arms,)
        Service rates in (0, 1).
    learner : Learner
        See :mod:`simlib.learners`.
    horizon : int
        Number of steps, at least 1.
    seed : int or numpy.random.SeedSequence
        Seed of this run; its streams "actions" and "rewards" are used.
    checkpoints : array_like of int, optional
        Strictly increasing steps at which to record; by default the last step alone.
    realized : bool
        Also count the steps at which each arm was really free (one search a pull).
    reference : array_like, shape (arms,), optional
        Watch the learner's mixed strategy and compare it with this distribution at each step;
        O(arms) a step.
    tv_edges : array_like, optional
        Increasing edges of the histogram of the distance to the reference.
    burn_in : int
        Number of first steps left out of the late moments, below the horizon.
    progress : callable, optional
        Called after each checkpoint and at the end with the number of steps done since the start.

    Returns
    -------
    BanditRun

    Raises
    ------
    ValueError
        If an argument is out of its range; during the run if the learner returns an arm that does
        not exist, or its state stops being finite.

    Notes
    -----
    Cost per step: the learner and about 10 ns, whatever the number of arms. Memory does not depend
    on the horizon. The state of a learner is checked every 256 steps; if the check fails, the run
    is repeated with a check after each step to name the first bad one.

    References
    ----------
    "Learning in Strategic Queuing with Geometric Recharge", Section 2.2.

    Examples
    --------
    >>> from simlib.learners import normalized_odds_router
    >>> from simlib.recharge import simulate
    >>> rates = [0.5, 0.1, 0.3]
    >>> run = simulate(rates, normalized_odds_router(rates), horizon=200_000, seed=1)
    >>> abs(run.average_utility - 97 / 160) < 0.01
    True
    """
    mu = arguments.rates("service_rates", service_rates)
    learner = check_learner(learner, mu.size)
    horizon = arguments.positive_integer("horizon", horizon)
    steps = arguments.checkpoint_steps("checkpoints", checkpoints, horizon)
    burn_in = arguments.non_negative_integer("burn_in", burn_in)
    if burn_in >= horizon:
        raise ValueError(f"burn_in = {burn_in}; permitted: integers from 0 to {horizon - 1}")
    edges = arguments.real_vector("tv_edges", tv_edges)
    if (np.diff(edges) <= 0.0).any():
        raise ValueError(f"tv_edges = {edges.tolist()}; permitted: strictly increasing numbers")
    if reference is not None:
        reference = arguments.distribution("reference", reference, mu.size)
        if learner.strategy_row is None:
            raise ValueError(
                f"reference was given, but the learner {learner.name} keeps no mixed strategy; "
                f"permitted: learners with a strategy_row"
            )
    table = availability_table(mu, horizon)
    settings = (mu, learner, horizon, seed, steps, bool(realized), reference, edges, burn_in, table)
    run, error = _run(*settings, progress, CHECK_EVERY)
    if error is not None and error[1] == BAD_STATE:
        _, error = _run(*settings, None, 1)
        if error is None:
            raise_unrepeatable(learner)
    if error is not None:
        raise_run_error(learner, *error)
    return run


def _run(
    mu,
    learner,
    horizon,
    seed,
    steps,
    realized,
    reference,
    edges,
    burn_in,
    table,
    progress,
    check_every,
):
    """Run from the start; return the result, or the arguments of `raise_run_error`."""
    arms = mu.size
    actions, rewards = substreams(seed, ("actions", "rewards"))
    state, params = learner.new_state(arms)
    counts = np.zeros((4, arms), dtype=np.int64)
    sums = np.zeros((3, arms))
    scalars = np.array([-1, 0, 0, 0], dtype=np.int64)
    row = -1 if learner.strategy_row is None else learner.strategy_row
    watched_row = -1 if reference is None else row
    target = np.zeros(arms) if reference is None else reference
    tv_counts = np.zeros(edges.size + 1, dtype=np.int64)
    moments = np.zeros((3, arms))
    late = np.zeros(1)

    reward_at = np.zeros(steps.size, dtype=np.int64)
    utility_at = np.zeros((steps.size, arms))
    hindsight_at = np.zeros((steps.size, arms))
    strategy_at = None if row < 0 else np.zeros((steps.size, arms))
    strategy_mean_at = None if reference is None else np.zeros((steps.size, arms))
    done = 0
    for stop in np.unique(np.append(steps, horizon)):
        code = _advance(
            *(learner.act, learner.update, state, params, actions, rewards, table),
            *(counts, sums, scalars, done + 1, stop, check_every, realized),
            *(watched_row, target, edges, tv_counts, moments, late, burn_in),
        )
        if code != OK:
            return None, (state, code, int(scalars[2]), int(scalars[3]))
        done = int(stop)
        k = int(np.searchsorted(steps, stop))
        if k < steps.size:
            reward_at[k] = counts[2].sum()
            utility_at[k] = sums[1]
            hindsight_at[k] = sums[2] + _tails(table, counts[0], done)
            if strategy_at is not None:
                strategy_at[k] = state[row]
            if strategy_mean_at is not None:
                strategy_mean_at[k] = target + moments[0] / done
        if progress is not None:
            progress(done)

    trace = None
    if reference is not None:
        late_steps = horizon - burn_in
        late_deviation = moments[1] / late_steps
        variance = np.maximum(moments[2] / late_steps - late_deviation**2, 0.0)
        trace = StrategyTrace(
            reference=reference,
            mean=reference + moments[0] / horizon,
            tv_of_mean=float(np.abs(moments[0]).sum() / (2 * horizon)),
            tv_edges=edges,
            tv_fraction=tv_counts / horizon,
            burn_in=burn_in,
            mean_tv=float(late[0] / late_steps),
            late_mean=reference + late_deviation,
            late_std=np.sqrt(variance),
        )
    pulled = counts[1] > 0
    run = BanditRun(
        service_rates=mu,
        horizon=horizon,
        learner=learner.name,
        reward=int(counts[2].sum()),
        utility=sums[1].copy(),
        hindsight=sums[2] + _tails(table, counts[0], horizon),
        realized_hindsight=_realized(table, counts, sums, horizon) if realized else None,
        pulls=counts[1].copy(),
        last_age=np.where(pulled, horizon - counts[0], -1),
        # The first step is no switch, although no arm came before it.
        switches=int(scalars[1]) - 1,
        checkpoints=steps,
        reward_at=reward_at,
        utility_at=utility_at,
        hindsight_at=hindsight_at,
        strategy_at=strategy_at,
        strategy_mean_at=strategy_mean_at,
        strategy=trace,
    )
    return run, None


def _tails(table, last, t):
    """Return the hindsight value of the steps after each arm's last pull, up to step ``t``."""
    # A last pull at step 0 stands for no pull, and then every step so far would have paid 1.
    return np.array(
        [
            summed_availability(table, arm, t - step) if step > 0 else float(t)
            for arm, step in enumerate(last.tolist())
        ]
    )


def _realized(table, counts, sums, horizon):
    """Return the realised hindsight value of each arm, including the steps after its last pull."""
    return np.array(
        [
            total + (_free_steps(table, arm, sums[0, arm], horizon - step) if step > 0 else horizon)
            for arm, (step, total) in enumerate(zip(counts[0], counts[3], strict=True))
        ],
        dtype=np.int64,
    )


_WITH_BUFFERS = types.int64(
    *(ACT, UPDATE, _F2, _F1, _U1, _U1, _F1),
    *(types.int64, types.int64, _I2, _I2, _I2, _I1),
)


@njit(_WITH_BUFFERS, cache=True, error_model="numpy", _nrt=False)
def _advance_with_buffers(
    act,
    update,
    state,
    params,
    actions,
    services,
    service_rates,
    horizon,
    check_every,
    servers,
    pulls,
    accepted,
    scalars,
):
    """Run the model with one buffer a server, in its order: send, accept, serve.

    Changed in place: ``servers`` (rows: buffer full or not, step of the last attempt), ``pulls``
    and ``accepted`` (by arm and age), ``scalars`` (step and value of an error, total accepted).
    """
    arms = state.shape[1]
    for t in range(1, horizon + 1):
        arm = act(state, params, t, actions)
        if arm < 0 or arm >= arms:
            scalars[0] = t
            scalars[1] = arm
            return BAD_ARM
        accept = 1 - servers[0, arm]
        servers[0, arm] = 1
        age = t - servers[1, arm] if servers[1, arm] > 0 else 0
        servers[1, arm] = t
        if age < pulls.shape[1]:
            pulls[arm, age] += 1
            accepted[arm, age] += accept
        scalars[2] += accept
        for j in range(arms):
            # One draw for every server at every step keeps runs of different learners aligned.
            if random(services) < service_rates[j]:
                servers[0, j] = 0
        update(state, params, t, arm, np.float64(accept))
        if t % check_every == 0 or t == horizon:
            bad = first_bad_entry(state)
            if bad >= 0:
                scalars[0] = t
                scalars[1] = bad
                return BAD_STATE
    return OK


def simulate_with_buffers(
    service_rates: Any, learner: Learner, horizon: int, seed: Any, *, max_age: int = 20
) -> BufferRun:
    """Run the saturated router with explicit buffers instead of ages.

    Each server has a buffer for one packet. In one step the learner sends to one server, which
    accepts if its buffer is empty; then every full buffer empties with the server's probability,
    also one filled in this step.

    Parameters
    ----------
    service_rates : array_like, shape (arms,)
        Service rates in (0, 1).
    learner : Learner
        See :mod:`simlib.learners`.
    horizon : int
        Number of steps, at least 1.
    seed : int or numpy.random.SeedSequence
        Seed of this run; its streams "actions" and "services" are used.
    max_age : int
        Largest age that is counted, at least 1.

    Returns
    -------
    BufferRun

    Raises
    ------
    ValueError
        As `simulate`.

    Notes
    -----
    Cost per step: one uniform an arm. Independent of `simulate`: no age enters a decision about
    acceptance.

    References
    ----------
    "Learning in Strategic Queuing with Geometric Recharge", Section 2.2.
    """
    mu = arguments.rates("service_rates", service_rates)
    learner = check_learner(learner, mu.size)
    horizon = arguments.positive_integer("horizon", horizon)
    max_age = arguments.positive_integer("max_age", max_age)
    for check_every in (CHECK_EVERY, 1):
        actions, services = substreams(seed, ("actions", "services"))
        state, params = learner.new_state(mu.size)
        servers = np.zeros((2, mu.size), dtype=np.int64)
        pulls = np.zeros((mu.size, max_age + 1), dtype=np.int64)
        accepted = np.zeros_like(pulls)
        scalars = np.zeros(3, dtype=np.int64)
        code = _advance_with_buffers(
            *(learner.act, learner.update, state, params, actions, services, mu),
            *(horizon, check_every, servers, pulls, accepted, scalars),
        )
        if code != BAD_STATE:
            if check_every == 1:
                raise_unrepeatable(learner)
            break
    raise_run_error(learner, state, code, int(scalars[0]), int(scalars[1]))
    return BufferRun(
        horizon=horizon,
        learner=learner.name,
        reward=int(scalars[2]),
        pulls=pulls,
        accepted=accepted,
    )
