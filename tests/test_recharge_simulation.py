"""Simulations of the recharging bandit and its queue, against slow twins and known values."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from simlib import learners
from simlib.learners import BUILT_IN, by_name, learner
from simlib.recharge import simulate, simulate_queue, simulate_queues, simulate_with_buffers
from simlib.recharge.bandit import availability_table
from simlib.streams import random, replication_seeds, substreams

I3 = (0.5, 0.1, 0.3)
I7 = (0.5, 0.33, 0.33, 0.33, 0.25, 0.25, 0.1)
H3 = 97 / 160


def slow_bandit(rates, one, horizon, seed):
    """The age model with everything summed over every step and arm, in plain Python."""
    arms = len(rates)
    actions, rewards = substreams(seed, ("actions", "rewards"))
    state, params = one.new_state(arms)
    last, uniform = [None] * arms, [None] * arms
    twin = SimpleNamespace(
        arms=[],
        rewards=[],
        utility=np.zeros(arms),
        hindsight=np.zeros(arms),
        free=np.zeros(arms, dtype=int),
        hindsight_at={},
        strategies=[],
    )
    for t in range(1, horizon + 1):
        chance = [
            1.0 if last[j] is None else 1.0 - (1.0 - rates[j]) ** (t - last[j]) for j in range(arms)
        ]
        free = [last[j] is None or uniform[j] < chance[j] for j in range(arms)]
        twin.hindsight += chance
        twin.free += free
        twin.hindsight_at[t] = twin.hindsight.copy()
        if one.strategy_row is not None:
            twin.strategies.append(state[one.strategy_row].copy())
        arm = one.act(state, params, t, actions)
        twin.utility[arm] += chance[arm]
        twin.arms.append(arm)
        twin.rewards.append(int(free[arm]))
        last[arm], uniform[arm] = t, random(rewards)
        one.update(state, params, t, arm, float(free[arm]))
    twin.last = last
    return twin


@pytest.mark.parametrize("name", ["exp3", "thompson", "greedy", "ucb1", "round-robin"])
@pytest.mark.parametrize("rates", [I3, (0.9,)])
def test_bandit_equals_its_slow_twin(name, rates):
    horizon = 2000
    one = by_name(name, horizon=horizon, rates=rates)
    steps = [1, 2, 17, 300, 1999]
    run = simulate(rates, one, horizon, 7, checkpoints=steps, realized=True)
    twin = slow_bandit(rates, one, horizon, 7)
    arms = np.array(twin.arms)
    assert run.pulls.tolist() == np.bincount(arms, minlength=len(rates)).tolist()
    assert run.reward == sum(twin.rewards)
    assert run.switches == int((np.diff(arms) != 0).sum())
    assert run.utility == pytest.approx(twin.utility, rel=1e-12)
    assert run.hindsight == pytest.approx(twin.hindsight, rel=1e-12)
    assert run.realized_hindsight.tolist() == twin.free.tolist()
    assert run.last_age.tolist() == [-1 if s is None else horizon - s for s in twin.last]
    assert run.checkpoints.tolist() == steps
    for k, t in enumerate(steps):
        assert run.reward_at[k] == sum(twin.rewards[:t])
        assert run.hindsight_at[k] == pytest.approx(twin.hindsight_at[t], rel=1e-12)
        regret = twin.hindsight_at[t] - run.utility_at[k].sum()
        assert run.arm_regret_at[k] == pytest.approx(regret, abs=1e-9)
        if one.strategy_row is not None:
            assert run.strategy_at[k] == pytest.approx(twin.strategies[t], rel=1e-15)


def test_an_arm_never_pulled_would_always_have_paid():
    run = simulate(I3, learners.memoryless([0.5, 0.0, 0.5]), 1000, 1, realized=True)
    assert run.hindsight[1] == 1000
    assert run.realized_hindsight[1] == 1000
    assert run.last_age[1] == -1
    assert abs(run.identity_gap) < 1e-12


@pytest.mark.parametrize("name", sorted(BUILT_IN))
@pytest.mark.parametrize("rates", [I3, I7, (0.03, 0.999)])
def test_utility_identity_holds_on_every_path(name, rates):
    horizon = 20_000
    run = simulate(rates, by_name(name, horizon=horizon, rates=rates), horizon, 3)
    assert abs(run.identity_gap) < 1e-9
    # Written out once more, so that the property itself is under test.
    mu = np.array(rates)
    odds = mu / (1 - mu)
    utility = run.utility.sum()
    regret = run.hindsight - utility
    tail = sum((1 - mu[j]) ** run.last_age[j] for j in range(mu.size) if run.pulls[j])
    assert (1 + odds.sum()) * utility == pytest.approx(
        odds.sum() * horizon - odds @ regret + tail, rel=1e-9
    )


def test_the_identity_notices_a_wrong_age():
    run = simulate(I3, learners.exp3(5000), 5000, 3)
    mu = np.array(I3)
    odds = 1 / mu  # the false variant in which a gap starts at age 0
    left = (1 + odds.sum()) * run.utility.sum()
    right = odds.sum() * 5000 - odds @ run.arm_regret
    assert abs(left - right) / left > 1e-2


def test_table_is_literal_and_long_enough():
    table = availability_table([0.5, 1e-3], 10**6)
    assert table.shape[1] > 37_000
    assert table[:, -1, 0].tolist() == [1.0, 1.0]
    assert table[0, :4, 0].tolist() == [0.0, 0.5, 0.75, 0.875]
    assert table[0, 3, 1] == 17 / 8
    assert availability_table([1e-3], 10).shape[1] == 12
    with pytest.raises(ValueError, match="service_rates has the entry 1e-09"):
        availability_table([1e-9], 10**12)


def test_ages_beyond_the_table():
    @learner(rows=1)
    class Rarely:
        """Pull arm 1 every 500 steps, which is beyond the table of fast arms."""

        def act(state, params, t, rng):
            return 1 if t % 500 == 0 else 0

        def update(state, params, t, arm, reward):
            pass

    rates = (0.5, 0.9)
    run = simulate(rates, Rarely, 5000, 1, realized=True)
    twin = slow_bandit(rates, Rarely, 5000, 1)
    assert run.hindsight == pytest.approx(twin.hindsight, rel=1e-13)
    assert run.realized_hindsight.tolist() == twin.free.tolist()


def test_watching_the_strategy():
    horizon, burn_in = 3000, 1000
    one = learners.exp3(horizon)
    target = np.array([63, 7, 27]) / 97
    edges = (0.05, 0.2, 0.3)
    run = simulate(
        I3, one, horizon, 5, reference=target, tv_edges=edges, burn_in=burn_in, checkpoints=[9]
    )
    plain = simulate(I3, one, horizon, 5)
    assert run.utility.tolist() == plain.utility.tolist()
    assert plain.strategy is None
    p = np.array(slow_bandit(I3, one, horizon, 5).strategies)
    distance = np.abs(p - target).sum(axis=1) / 2
    trace = run.strategy
    assert trace.mean == pytest.approx(p.mean(axis=0))
    assert trace.tv_of_mean == pytest.approx(np.abs(p.mean(axis=0) - target).sum() / 2)
    assert trace.mean_tv == pytest.approx(distance[burn_in:].mean())
    assert trace.late_mean == pytest.approx(p[burn_in:].mean(axis=0))
    assert trace.late_std == pytest.approx(p[burn_in:].std(axis=0))
    counts = np.bincount(np.searchsorted(edges, distance, side="right"), minlength=4)
    assert trace.tv_fraction == pytest.approx(counts / horizon)
    assert trace.tv_fraction.sum() == pytest.approx(1.0)


def test_progress_and_seeds():
    done = []
    seed = replication_seeds(1, "test", 1)[0]
    one = learners.exp3(1000)
    first = simulate(I3, one, 1000, seed, checkpoints=[10, 500], progress=done.append)
    assert done == [10, 500, 1000]
    again = simulate(I3, one, 1000, seed)
    assert again.utility.tolist() == first.utility.tolist()
    assert simulate(I3, one, 1000, 2).utility.tolist() != first.utility.tolist()


def test_buffers_behave_as_ages_say():
    """The acceptance rate in each cell of arm and age is 1 - q**age."""
    run = simulate_with_buffers(I3, learners.uniform_router(3), 300_000, 4, max_age=8)
    assert run.accepted[:, 0].tolist() == run.pulls[:, 0].tolist() == [1, 1, 1]
    for j, mu in enumerate(I3):
        for age in range(1, 9):
            n, p = run.pulls[j, age], 1 - (1 - mu) ** age
            assert n > 1000
            # Five standard errors: over 24 cells, a false alarm once in 70,000 seeds.
            assert abs(run.accepted[j, age] / n - p) < 5 * math.sqrt(p * (1 - p) / n)
    assert run.reward / run.horizon == pytest.approx(25 / 48, abs=0.006)


def test_buffers_equal_a_slow_twin():
    horizon, max_age = 1500, 6
    one = learners.exp3(horizon)
    run = simulate_with_buffers(I3, one, horizon, 9, max_age=max_age)
    actions, services = substreams(9, ("actions", "services"))
    state, params = one.new_state(3)
    full, last = [False] * 3, [None] * 3
    pulls, accepted = np.zeros((3, max_age + 1), int), np.zeros((3, max_age + 1), int)
    for t in range(1, horizon + 1):
        arm = one.act(state, params, t, actions)
        accept = not full[arm]
        full[arm] = True
        age = 0 if last[arm] is None else t - last[arm]
        if age <= max_age:
            pulls[arm, age] += 1
            accepted[arm, age] += accept
        last[arm] = t
        for j in range(3):
            if random(services) < I3[j]:
                full[j] = False
        one.update(state, params, t, arm, float(accept))
    assert run.pulls.tolist() == pulls.tolist()
    assert run.accepted.tolist() == accepted.tolist()


@pytest.mark.parametrize("name", ["exp3", "ucb1", "greedy", "normalized-odds"])
def test_queue_equals_its_slow_twin(name):
    horizon, arrival_rate = 3000, 0.55
    one = by_name(name, horizon=horizon, rates=I3)
    steps = [1, 10, 1500]
    run = simulate_queue(arrival_rate, I3, one, horizon, 6, checkpoints=steps)
    actions, rewards, arrivals = substreams(6, ("actions", "rewards", "arrivals"))
    state, params = one.new_state(3)
    last, uniform = [None] * 3, [None] * 3
    queue, lengths, sent, utility, arrived = 0, [], [], 0.0, 0
    for t in range(1, horizon + 1):
        arrival = random(arrivals) < arrival_rate
        arrived += arrival
        queue += arrival
        u = random(rewards)
        if queue > 0:
            arm = one.act(state, params, t, actions)
            chance = 1.0 if last[arm] is None else 1 - (1 - I3[arm]) ** (t - last[arm])
            accepted = last[arm] is None or uniform[arm] < chance
            queue -= accepted
            utility += chance
            sent.append(arm)
            last[arm], uniform[arm] = t, u
            one.update(state, params, t, arm, float(accepted))
        lengths.append(queue)
    assert run.checkpoints.tolist() == [*steps, horizon]
    assert run.queue.tolist() == [lengths[t - 1] for t in run.checkpoints]
    assert run.cumulative_queue.tolist() == [sum(lengths[:t]) for t in run.checkpoints]
    assert run.pulls.tolist() == np.bincount(sent, minlength=3).tolist()
    assert run.utility == pytest.approx(utility, rel=1e-12)
    assert run.arrivals == arrived
    assert run.mean_queue() == pytest.approx(np.mean(lengths))
    assert run.mean_queue(10, 1500) == pytest.approx(np.mean(lengths[10:1500]))
    with pytest.raises(ValueError, match="after = 11 was not recorded"):
        run.mean_queue(11)
    with pytest.raises(ValueError, match="not below"):
        run.mean_queue(1500, 10)


def test_two_learners_meet_the_same_arrivals():
    runs = [
        simulate_queue(0.5, I3, by_name(name, horizon=9, rates=I3), 5000, 8)
        for name in ("exp3", "ucb1", "normalized-odds")
    ]
    assert len({run.arrivals for run in runs}) == 1
    assert len({run.cumulative_queue[-1] for run in runs}) > 1


def test_queue_replications_are_single_runs():
    seeds = replication_seeds(2, "queues", 3)
    done = []
    one = learners.exp3(2000)
    runs = simulate_queues(0.55, I3, one, 2000, seeds, checkpoints=[500], progress=done.append)
    assert done == [1, 2, 3]
    for i, seed in enumerate(seeds):
        run = simulate_queue(0.55, I3, one, 2000, seed, checkpoints=[500])
        assert runs.queue[i].tolist() == run.queue.tolist()
        assert runs.mean_queue(500)[i] == run.mean_queue(500)
    with pytest.raises(ValueError, match="seeds is empty"):
        simulate_queues(0.55, I3, one, 2000, [])


def test_queue_reports_bad_learners():
    @learner(rows=1, params=(10.0,))
    class Breaks:
        def act(state, params, t, rng):
            return 5 if t > 900 else 0

        def update(state, params, t, arm, reward):
            if t > params[0]:
                state[0, 2] = np.inf

    with pytest.raises(ValueError, match=r"Breaks: state\[0, 2\] is inf after step 1\d"):
        simulate_queue(0.9, I3, Breaks, 1000, 1)
    with pytest.raises(ValueError, match="Breaks: act returned the arm 5 at step 901"):
        simulate_queue(0.9, I3, Breaks.with_params([1e9]), 1000, 1)
    with pytest.raises(ValueError, match=r"Breaks: state\[0, 2\] is inf after step 11"):
        simulate_with_buffers(I3, Breaks, 1000, 1)


def test_queue_looks_at_the_state_after_the_last_step():
    @learner(rows=1)
    class Breaks:
        def act(state, params, t, rng):
            return 0

        def update(state, params, t, arm, reward):
            state[0, 0] = np.inf if t > 1 else 0.0

    # With few arrivals a run of 60 steps ends, for some seed, without a packet in the last one.
    for seed in range(20):
        good = simulate_queue(0.1, I3, learners.round_robin(), 60, seed)
        if good.pulls.sum() > 1 and good.queue[-1] == 0:
            with pytest.raises(ValueError, match=r"Breaks: state\[0, 0\] is inf after step \d"):
                simulate_queue(0.1, I3, Breaks, 60, seed)


ONE = learners.round_robin()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"service_rates": [0.5, 1.0]}, r"service_rates\[1\] = 1.0"),
        ({"service_rates": []}, "service_rates is empty"),
        ({"horizon": 0}, "horizon = 0"),
        ({"horizon": 2.5}, "horizon = 2.5"),
        ({"seed": None}, "seed = None"),
        ({"learner": None}, "learner = None"),
        ({"checkpoints": [5, 4]}, "checkpoints"),
        ({"checkpoints": [101]}, "checkpoints"),
        ({"burn_in": 100}, "burn_in = 100"),
        ({"reference": [0.5, 0.25, 0.25]}, "keeps no mixed strategy"),
        ({"reference": [0.5, 0.5]}, "reference has 2 entries"),
        ({"tv_edges": [0.2, 0.1]}, "tv_edges"),
    ],
)
def test_simulate_refuses(change, message):
    good = {"service_rates": I3, "learner": ONE, "horizon": 100, "seed": 1}
    with pytest.raises(ValueError, match=message):
        simulate(**(good | change))


@pytest.mark.parametrize("rate", [0.0, 1.0, -1, float("nan"), "0.5", True])
def test_queue_refuses_arrival_rates(rate):
    with pytest.raises(ValueError, match=r"arrival_rate = .*permitted"):
        simulate_queue(rate, I3, ONE, 100, 1)


@pytest.mark.parametrize(
    ("name", "value", "margin"),
    [
        # Exact 97/160; the variance rate of acceptances is 0.2141, so five s.d. are 0.0023.
        ("normalized-odds", H3, 0.0025),
        ("uniform", 25 / 48, 0.0025),
        ("proportional", 605 / 1008, 0.0025),
        ("round-robin", 0.601, 0.0025),
        ("ucb1", 0.5005, 0.003),
        ("greedy", 0.6688, 0.003),
        ("exp3", 0.6052, 0.003),
    ],
)
def test_known_values(name, value, margin):
    horizon = 1_000_000
    run = simulate(I3, by_name(name, horizon=horizon, rates=I3), horizon, 12)
    assert run.average_reward == pytest.approx(value, abs=margin)
    assert run.average_utility == pytest.approx(value, abs=margin)


def test_known_mean_queue():
    """Normalized odds at h - 0.1: the exact mean is 1.5426."""
    run = simulate_queue(H3 - 0.1, I3, learners.normalized_odds_router(I3), 1_000_000, 3)
    assert run.mean_queue() == pytest.approx(1.5426, abs=0.06)
