"""Simulations of many queues, against slow twins, exact chains and known values."""

import math
import pickle
import re
import tracemalloc
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import strategic as benchmark
from simlib import learners, tuning
from simlib.learners import guard, learner
from simlib.recharge import simulate_queue
from simlib.strategic import (
    acceptance_rule,
    fixed_priority,
    oldest_first,
    simulate_periods,
    simulate_system,
    uniform,
)
from simlib.strategic import system as kernels
from simlib.strategic.exact import JointSystem, backlogged_chain, joint_chain, priority_law
from simlib.strategic.rules import EXAMPLE, check_rule
from simlib.strategic.stability import growth_rate, stability_verdict
from simlib.streams import integer_below, random, replication_seeds, substreams

LAMBDA = (0.5, 0.6, 0.4)
MU = (0.7, 0.2, 0.3, 0.05)
I3 = (0.5, 0.1, 0.3)


@learner(rows=2, params=(0.1, 0.2))
class Sticky:
    """Stay with a server until it rejects; the arguments' shapes are part of what it computes."""

    def act(state, params, t, rng):
        if random(rng) < params[params.shape[0] - 1]:
            return integer_below(rng, state.shape[1])
        return int(state[state.shape[0] - 1, 0])

    def update(state, params, t, arm, reward):
        state[0, arm] += reward
        state[1, 0] = arm if reward > 0.0 else (arm + 1) % state.shape[1]


@acceptance_rule(params=(0.3,))
def longest_or_first(server, t, senders, count, lengths, heads, params, rng):
    """The longest queue; with some probability the one whose packet came first."""
    chosen = senders[0]
    by_age = random(rng) < params[0] or server == t % 3
    for k in range(1, count):
        mine, best = lengths[senders[k]], lengths[chosen]
        if by_age:
            mine, best = -heads[senders[k]], -heads[chosen]
        if mine > best:
            chosen = senders[k]
    return chosen


def slow_uniform(server, t, senders, lengths, heads, rng):
    return senders[integer_below(rng, len(senders))]


def slow_priority(server, t, senders, lengths, heads, rng):
    return min(senders, key=[2, 0, 1].index)


def slow_oldest(server, t, senders, lengths, heads, rng):
    chosen, ties = senders[0], 1
    for queue in senders[1:]:
        if heads[queue] < heads[chosen]:
            chosen, ties = queue, 1
        elif heads[queue] == heads[chosen]:
            ties += 1
            if integer_below(rng, ties) == 0:
                chosen = queue
    return chosen


def slow_longest_or_first(server, t, senders, lengths, heads, rng):
    if random(rng) < 0.3 or server == t % 3:
        return min(senders, key=lambda queue: heads[queue])
    return max(senders, key=lambda queue: lengths[queue])


RULES = {
    "uniform": (uniform(), slow_uniform),
    "fixed priority": (fixed_priority([2, 0, 1]), slow_priority),
    "oldest first": (oldest_first(), slow_oldest),
    "a user's": (longest_or_first, slow_longest_or_first),
}


class Twin:
    """The literal step in plain Python: packets in lists, full buffers counted down one by one."""

    def __init__(self, lam, mu, each, seed, choose, restart=None, queues=None, full=None):
        self.lam, self.mu, self.each, self.choose, self.restart = lam, mu, each, choose, restart
        n, m = len(lam), len(mu)
        names = [f"arrivals {i}" for i in range(n)] + [f"actions {i}" for i in range(n)]
        names += [f"services {j}" for j in range(m)] + ["ties", "counterfactual ties"]
        self.streams = dict(zip(names, substreams(seed, names), strict=True))
        self.packets = [[0] * (queues[i] if queues else 0) for i in range(n)]
        self.left = [self.service(j) if full and full[j] else 0 for j in range(m)]
        self.states = [one.new_state(m) for one in each]
        self.lengths, self.buffers = [], []
        self.arrived, self.sent, self.cleared = (np.zeros(n, dtype=int) for _ in range(3))
        self.accepted, self.busy, self.served = (np.zeros(m, dtype=int) for _ in range(3))
        self.would_clear = np.zeros((n, m), dtype=int)
        self.t = 0

    def service(self, j):
        u = random(self.streams[f"services {j}"])
        return int(math.log1p(-u) / math.log1p(-self.mu[j])) + 1

    def step(self):
        self.t += 1
        n, m = len(self.lam), len(self.mu)
        if self.restart and self.t > 1 and (self.t - 1) % self.restart == 0:
            self.states = [one.new_state(m) for one in self.each]
        for i in range(n):
            if random(self.streams[f"arrivals {i}"]) < self.lam[i]:
                self.packets[i].append(self.t)
                self.arrived[i] += 1
        lengths = [len(line) for line in self.packets]
        heads = [line[0] if line else -1 for line in self.packets]
        chosen = [
            one.act(*state, self.t, self.streams[f"actions {i}"]) if lengths[i] else None
            for i, (one, state) in enumerate(zip(self.each, self.states, strict=True))
        ]
        senders = {j: [i for i in range(n) if chosen[i] == j] for j in range(m)}
        winner = {}
        for j in dict.fromkeys(j for j in chosen if j is not None):
            if self.left[j] == 0:
                winner[j] = self.pick(j, senders[j], lengths, heads, "ties")
        for j in range(m):
            for i in range(n):
                if self.left[j] == 0 and lengths[i]:
                    if chosen[i] == j:
                        taken = winner[j] == i
                    else:
                        rivals = sorted([*senders[j], i])
                        taken = self.pick(j, rivals, lengths, heads, "counterfactual ties") == i
                    self.would_clear[i, j] += taken
        for j, i in winner.items():
            self.left[j] = self.service(j)
            self.packets[i].pop(0)
            self.accepted[j] += 1
            self.cleared[i] += 1
        for i, j in enumerate(chosen):
            if j is not None:
                self.sent[i] += 1
                self.each[i].update(*self.states[i], self.t, j, float(winner.get(j) == i))
        self.busy += np.array(self.left) > 0
        self.served += np.array(self.left) == 1
        self.left = [max(0, steps - 1) for steps in self.left]
        self.lengths.append([len(line) for line in self.packets])
        self.buffers.append([int(steps > 0) for steps in self.left])

    def pick(self, j, senders, lengths, heads, stream):
        if len(senders) == 1:
            return senders[0]
        return self.choose(j, self.t, senders, lengths, heads, self.streams[stream])


MIXED = [learners.exp3(1000), Sticky, learners.ucb1()]


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize(
    "start",
    [
        {},
        {"start_queues": [3, 0, 7], "start_full": [True, False, True, True]},
        {"start_queues": [40, 1, 0], "restart_every": 97},
    ],
)
def test_every_step_equals_the_slow_twin(name, start):
    rule, slow = RULES[name]
    horizon = 600
    run = simulate_system(
        LAMBDA, MU, MIXED, horizon, 5, acceptance=rule, checkpoints=range(1, horizon), **start
    )
    twin = Twin(
        *(LAMBDA, MU, MIXED, 5, slow),
        restart=start.get("restart_every"),
        queues=start.get("start_queues"),
        full=start.get("start_full"),
    )
    for k in range(horizon):
        twin.step()
        for field in ("sent", "cleared", "accepted", "busy", "served"):
            assert getattr(run, field)[k].tolist() == getattr(twin, field).tolist()
        assert run.arrivals[k].tolist() == twin.arrived.tolist()
    assert run.queues.tolist() == twin.lengths
    assert run.buffers.tolist() == twin.buffers
    assert run.full.tolist() == np.sum(twin.buffers, axis=1).tolist()
    assert run.cumulative.tolist() == np.cumsum(twin.lengths, axis=0).tolist()
    assert run.longest.tolist() == np.max(twin.lengths, axis=1).tolist()
    assert run.total.tolist() == np.sum(twin.lengths, axis=1).tolist()
    assert run.learners == ("EXP3", "Sticky", "UCB1")
    assert run.acceptance == rule.name


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("restart", [False, True])
def test_periods_equal_the_slow_twin_and_the_run(name, restart):
    rule, slow = RULES[name]
    start = {"start_queues": [3, 0, 9], "start_full": [0, 1, 0, 1]}
    period, periods = 60, 5
    found = simulate_periods(
        LAMBDA, MU, MIXED, period, periods, 8, acceptance=rule, restart=restart, **start
    )
    run = simulate_system(
        *(LAMBDA, MU, MIXED, period * periods, 8),
        acceptance=rule,
        checkpoints=range(period, period * periods, period),
        restart_every=period if restart else None,
        **start,
    )
    assert found.end.tolist() == run.queues.tolist()
    assert found.start.tolist() == [start["start_queues"], *run.queues[:-1].tolist()]
    for field in ("arrivals", "cleared", "accepted", "busy", "served"):
        assert getattr(found, field).cumsum(axis=0).tolist() == getattr(run, field).tolist()
    assert (period - found.empty).cumsum(axis=0).tolist() == run.sent.tolist()
    twin = Twin(
        *(LAMBDA, MU, MIXED, 8, slow, period if restart else None),
        *(start["start_queues"], start["start_full"]),
    )
    before = 0
    for p in range(periods):
        for _ in range(period):
            twin.step()
        assert found.would_clear[p].tolist() == (twin.would_clear - before).tolist()
        before = twin.would_clear.copy()
    regret = found.would_clear.max(axis=2) - found.cleared
    assert found.regret.tolist() == regret.tolist()
    # An empty queue would not have cleared anything.
    assert (found.would_clear <= (period - found.empty)[:, :, None]).all()


KINDS = [learners.exp3(200), learners.round_robin(), learners.thompson(), Sticky]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_packets_are_conserved(data):
    n = data.draw(st.integers(1, 5), "queues")
    m = data.draw(st.integers(1, 4), "servers")
    rates = st.floats(0.01, 0.99)
    lam = data.draw(st.lists(rates, min_size=n, max_size=n))
    mu = data.draw(st.lists(rates, min_size=m, max_size=m))
    each = data.draw(st.lists(st.sampled_from(KINDS), min_size=n, max_size=n))
    rule = data.draw(st.sampled_from([uniform(), oldest_first(), longest_or_first]))
    start = data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    full = data.draw(st.lists(st.booleans(), min_size=m, max_size=m))
    horizon = data.draw(st.integers(2, 150))
    steps = [horizon // 2, horizon]
    run = simulate_system(
        *(lam, mu, each, horizon, data.draw(st.integers(0, 2**64))),
        acceptance=rule,
        checkpoints=steps,
        start_queues=start,
        start_full=full,
    )
    assert (np.array(start) + run.arrivals - run.cleared == run.queues).all()
    assert (run.accepted.sum(axis=1) == run.cleared.sum(axis=1)).all()
    assert (abs(run.accepted - run.served) <= 1).all()
    assert (run.served <= run.busy).all()
    assert (run.accepted <= run.busy).all()
    assert (run.busy <= run.checkpoints[:, None]).all()
    assert (run.cleared <= run.sent).all()
    assert (run.arrivals <= run.checkpoints[:, None]).all()
    for counts in (run.arrivals, run.sent, run.cleared, run.accepted, run.busy, run.cumulative):
        assert (np.diff(counts, axis=0) >= 0).all()


def test_one_queue_has_the_law_of_the_age_model():
    """Normalized odds at h - 0.1: the exact mean is 1.5426 (see the test of the age model)."""
    router = learners.normalized_odds_router(I3)
    rate, horizon = 97 / 160 - 0.1, 1_000_000
    run = simulate_system([rate], I3, router, horizon, 3)
    ages = simulate_queue(rate, I3, router, horizon, 4)
    assert run.cumulative[-1, 0] / horizon == pytest.approx(1.5426, abs=0.06)
    assert run.cumulative[-1, 0] / horizon == pytest.approx(ages.mean_queue(), abs=0.09)
    # In a stable run all that arrives is accepted: each server at its rate times its busy steps.
    assert run.busy[-1] * np.array(I3) == pytest.approx(run.served[-1], rel=0.02)


@pytest.mark.parametrize(("queues", "total"), [(2, 1.5), (4, 3.0)])
@pytest.mark.parametrize("rule", [uniform(), oldest_first()])
def test_backlogged_queues_equal_their_exact_chain(queues, total, rule):
    servers, horizon = 20, 100_000
    run = simulate_system(
        [0.5] * queues,
        [total / servers] * servers,
        learners.uniform_router(servers),
        horizon,
        1,
        acceptance=rule,
        start_queues=[10**8] * queues,
    )
    exact = backlogged_chain(queues, servers, total_service_rate=total)
    # Acceptances of one step are correlated with later ones negatively: below sqrt(n/T).
    assert run.cleared.sum() / horizon == pytest.approx(exact.throughput, abs=0.02)
    assert run.cleared[0] / horizon == pytest.approx([exact.per_queue] * queues, abs=0.015)


@pytest.mark.parametrize(
    ("rule", "law"),
    [(uniform(), None), (fixed_priority([1, 0]), priority_law([1, 0]))],
)
def test_tiny_systems_equal_their_exact_chain(rule, law):
    lam, mu = ("1/4", "2/5"), ("7/10", "3/10")
    routers = (("1/2", "1/2"), ("4/5", "1/5"))
    system = JointSystem(lam, mu, routers, *([law] if law else []))
    cap = 12
    chain = joint_chain(system, cap)
    stationary = chain.stationary(exact=False)
    lengths = np.array([state[0] for state in chain.states])
    assert stationary[(lengths == cap).any(axis=1)].sum() < 1e-3
    each = [learners.memoryless([0.5, 0.5]), learners.memoryless([0.8, 0.2])]
    horizon = 400_000
    run = simulate_system([0.25, 0.4], [0.7, 0.3], each, horizon, 2, acceptance=rule)
    assert run.cumulative[-1] / horizon == pytest.approx(stationary @ lengths, abs=0.05)


def test_rules_differ_as_they_say():
    lam, mu = [0.4, 0.4, 0.4], [0.5] * 3
    router = learners.uniform_router(3)
    mean = {}
    for rule in (uniform(), fixed_priority([1, 0, 2]), oldest_first()):
        run = simulate_system(lam, mu, router, 100_000, 1, acceptance=rule)
        mean[rule.name] = run.cumulative[-1] / 100_000
    first, middle, last = mean["fixed priority"][[1, 0, 2]]
    assert first < middle < last
    assert last > 2 * mean["uniform"].max()
    assert np.ptp(mean["oldest first"]) < 0.5 * last


def test_runs_with_one_seed_share_arrivals_and_service():
    runs = [
        simulate_system(LAMBDA, MU, one, 3000, 9, acceptance=rule, checkpoints=[1000, 2000])
        for one in (learners.exp3(3000), learners.round_robin())
        for rule in (uniform(), oldest_first())
    ]
    assert len({run.arrivals.tobytes() for run in runs}) == 1
    assert len({run.queues.tobytes() for run in runs}) == 4
    again = simulate_system(LAMBDA, MU, learners.exp3(3000), 3000, 9, checkpoints=[1000, 2000])
    assert again.queues.tolist() == runs[0].queues.tolist()
    other = simulate_system(LAMBDA, MU, learners.exp3(3000), 3000, 10)
    assert other.queues.tolist() != runs[0].queues[-1:].tolist()


def test_a_learner_of_ones_own_at_one_queue_only():
    default = learners.exp3(2000)
    all_alike = simulate_system(LAMBDA, MU, default, 2000, 4)
    as_list = simulate_system(LAMBDA, MU, [default] * 3, 2000, 4)
    one_other = simulate_system(LAMBDA, MU, [default, Sticky, default], 2000, 4)
    assert as_list.queues.tolist() == all_alike.queues.tolist()
    assert one_other.learners == ("EXP3", "Sticky", "EXP3")
    assert one_other.queues.tolist() != all_alike.queues.tolist()


def test_restarts_forget():
    @learner(rows=1)
    class Counts:
        def init(state, params):
            state[0, 0] = 10.0

        def act(state, params, t, rng):
            return 0 if state[0, 1] == 0.0 else 1

        def update(state, params, t, arm, reward):
            # Moves on to the second server after its first packet of a period.
            state[0, 1] += 1.0
            state[0, 0] = np.inf if state[0, 0] != 10.0 else 10.0

    run = simulate_system([0.9], [0.999, 0.999], Counts, 40, 1, restart_every=10, start_queues=[99])
    assert run.accepted[-1].tolist() == [4, 36]
    once = simulate_system([0.9], [0.999, 0.999], Counts, 40, 1, start_queues=[99])
    assert once.accepted[-1].tolist() == [1, 39]


def test_the_largest_sums_fit():
    start = 2**62 // 1000
    run = simulate_system([0.9], [0.001], learners.round_robin(), 1000, 1, start_queues=[start])
    assert run.cumulative[-1, 0] > 1000 * (start - 1000)
    with pytest.raises(ValueError, match=rf"start_queues\[0\] = {start + 1}; .* {start} "):
        simulate_periods([0.9], [0.5], ONE, 10, 100, 1, start_queues=[start + 1])


def test_rates_at_the_ends_of_the_interval():
    """Geometric numbers too large for an integer, or hardly ever above 1."""
    run = simulate_system(
        [1 - 2**-53], [1e-12, 5e-324, 1 - 2**-53], ONE, 3000, 1, start_full=[1, 1, 0]
    )
    assert run.accepted.tolist() == [[0, 0, 1000]]
    assert run.busy.tolist() == [[3000, 3000, 1000]]
    assert run.buffers.tolist() == [[1, 1, 0]]


def test_a_server_that_starts_full_can_be_served_in_the_first_step():
    served = 0
    seeds = range(300)
    for seed in seeds:
        run = simulate_system(
            [0.5], [0.7], learners.round_robin(), 1, seed, start_queues=[1], start_full=[1]
        )
        assert run.busy.tolist() == [[1]]
        assert run.accepted.tolist() == [[0]]
        served += int(run.served[0, 0])
    # Five standard errors of a binomial with 300 trials.
    assert served / len(seeds) == pytest.approx(0.7, abs=5 * math.sqrt(0.21 / 300))


def test_memory_does_not_depend_on_the_horizon():
    def peak(horizon):
        tracemalloc.start()
        simulate_system(LAMBDA, MU, MIXED, horizon, 1, acceptance=oldest_first())
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    peak(100)
    assert abs(peak(300_000) - peak(3000)) < 4096


def test_mixed_kinds_run_without_a_warning():
    kinds = [
        *(learners.exp3(100), learners.exp3_anytime(), learners.exp3_ix(100)),
        *(learners.tsallis_inf(), learners.thompson(), learners.ucb1(), Sticky),
        learners.round_robin(),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = simulate_system([0.3] * 9, [0.5] * 6, [*kinds, kinds[0]], 500, 1)
        # Each of the slots is used with its own functions.
        twin = Twin([0.3] * 9, [0.5] * 6, [*kinds, kinds[0]], 1, slow_uniform)
        for _ in range(500):
            twin.step()
    assert run.queues[-1].tolist() == twin.lengths[-1]
    with pytest.raises(ValueError, match="9 different kinds; permitted: at most 8"):
        simulate_system([0.3] * 9, [0.5] * 6, [*kinds, learners.epsilon_greedy()], 500, 1)


ONE = learners.round_robin()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"arrival_rates": [0.5, 1.0]}, r"arrival_rates\[1\] = 1.0"),
        ({"arrival_rates": []}, "arrival_rates is empty"),
        ({"service_rates": [0.5, 0.0]}, r"service_rates\[1\] = 0.0"),
        ({"horizon": 0}, "horizon = 0"),
        ({"seed": None}, "seed = None"),
        ({"learners": [ONE] * 3}, "learners has 3 entries.*2 queues"),
        ({"learners": [ONE, "exp3"]}, r"learners\[1\] = 'exp3' is not a learner"),
        ({"learners": learners.round_robin}, r"learners = .*did you mean round_robin\(...\)"),
        ({"learners": learners.uniform_router(3)}, "made for 3 arms"),
        ({"checkpoints": [5, 4]}, "checkpoints"),
        ({"checkpoints": [101]}, "checkpoints"),
        ({"restart_every": 0}, "restart_every = 0"),
        ({"start_queues": [1]}, "start_queues has 1 entries.*2 queues"),
        ({"start_queues": [1, -2]}, r"start_queues\[1\] = -2"),
        ({"start_queues": [1, 0.5]}, r"start_queues\[1\] = 0.5"),
        ({"start_full": [True]}, "start_full = .*2 servers"),
        ({"start_full": [True, 2]}, "start_full = .*truth value"),
        ({"start_full": [[True], [True, False]]}, "start_full = .*truth value"),
        ({"start_queues": [0, 2**53], "horizon": 1000}, r"start_queues\[1\] = .*2\*\*62 // 1000"),
        ({"acceptance": "uniform"}, "acceptance = 'uniform' is not a rule"),
        ({"acceptance": uniform}, r"acceptance = .*did you mean uniform\(...\)"),
        ({"acceptance": lambda *a: 0}, "acceptance = .* is a plain Python function"),
        ({"acceptance": fixed_priority([0, 1, 2])}, "made for 3 queues; arrival_rates has 2"),
    ],
)
def test_bad_arguments_are_named(change, message):
    good = {"arrival_rates": [0.3, 0.4], "service_rates": [0.5, 0.6]}
    good |= {"learners": ONE, "horizon": 100, "seed": 1}
    with pytest.raises(ValueError, match=message):
        simulate_system(**(good | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"period": 0}, "period = 0"),
        ({"periods": 1.5}, "periods = 1.5"),
        ({"restart": 1}, "restart = 1"),
        ({"period": 2**40, "periods": 2**40}, "period . periods"),
    ],
)
def test_bad_periods_are_named(change, message):
    good = {"period": 10, "periods": 2, "restart": True}
    with pytest.raises(ValueError, match=message):
        simulate_periods([0.3], [0.5], ONE, seed=1, **(good | change))


def test_bad_learners_are_reported_with_their_queue():
    @learner(rows=1, params=(300.0, 1e9))
    class Breaks:
        def act(state, params, t, rng):
            return 7 if t > params[1] else 1

        def update(state, params, t, arm, reward):
            if t > params[0]:
                state[0, 2] = np.nan

    def run(**options):
        each = [ONE, Breaks.with_params(options.pop("params", Breaks.params)), ONE]
        simulate_system([0.99] * 3, I3, each, 1000, 1, start_queues=[9] * 3, **options)

    with pytest.raises(ValueError, match=r"Breaks of queue 1: state\[0, 2\] is nan after step 301"):
        run()
    with pytest.raises(ValueError, match=r"Breaks of queue 1: state\[0, 2\] is nan after step 301"):
        run(restart_every=303)
    with pytest.raises(ValueError, match=r"Breaks of queue 1: state\[0, 2\] is nan after step 999"):
        run(params=[998.0, 1e9])
    with pytest.raises(ValueError, match="Breaks of queue 1: act returned the arm 7 at step 51"):
        run(params=[1e9, 50.0])


def test_a_learner_that_does_not_repeat_itself_is_reported(monkeypatch):
    answers = [guard.BAD_STATE, guard.OK]
    monkeypatch.setattr(kernels, "_advance", lambda *arguments: answers.pop(0))
    with pytest.raises(ValueError, match="round robin: its state stopped being finite in one run"):
        simulate_system([0.5], [0.5], ONE, 10, 1)


def test_a_rule_that_takes_a_packet_nobody_sent():
    @acceptance_rule(params=(2.0,))
    def out_of_place(server, t, senders, count, lengths, heads, params, rng):
        return int(params[0])

    def run(rule, simulate=simulate_system, **options):
        each = [learners.memoryless([0.0, 1.0])] * 2 + [learners.memoryless([1.0, 0.0])]
        simulate([0.9] * 3, [0.9, 0.9], each, *options.values(), 1, acceptance=rule)

    message = (
        r"out_of_place: returned the queue {} at step \d+ for server 1, to which only the queues 0, 1 "
        r"sent"
    )
    for queue in (2, -1, 3):
        with pytest.raises(ValueError, match=message.format(queue)):
            run(out_of_place.with_params([queue]), horizon=100)
    # Realised decisions are right, the counterfactual one is not.
    with pytest.raises(
        ValueError, match=r"returned the queue 1 at step \d+ for server 0.*only the"
    ):
        run(out_of_place.with_params([1]), simulate_periods, period=100, periods=1)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def rule(server, t): return 0", "wrong arguments"),
        ("def rule(server, t, s, c, l, h, p, rng): return 0.5", "accept returns float64"),
        ("def rule(server, t, s, c, l, h, p, rng): pass", "not on every path returns a queue"),
        ("def rule(server, t, s, c, l, h, p, rng): return nowhere", "nowhere"),
        ("def rule(server, t, s, c, l, h, p, rng):\n    l[0] = 5\n    return s[0]", "readonly"),
        (
            "def rule(server, t, s, c, l, h, p, rng): return s[np.random.randint(c)]",
            r"uses np.random.* do not follow from the seed",
        ),
    ],
)
def test_rules_are_refused_at_definition(source, message):
    scope = {"np": np}
    exec(source, scope)
    with pytest.raises(ValueError, match=message) as caught:
        acceptance_rule(scope["rule"])
    assert "An acceptance rule looks like this" in str(caught.value)
    assert "nopython mode pipeline" not in str(caught.value)


def test_a_rule_that_reads_outside_its_arrays():
    @acceptance_rule(params=(0.5, 0.2))
    def by_weight(server, t, senders, count, lengths, heads, params, rng):
        chosen = senders[0]
        for k in range(1, count):
            if params[senders[k]] > params[chosen]:
                chosen = senders[k]
        return chosen

    @acceptance_rule
    def beyond_the_last(server, t, senders, count, lengths, heads, params, rng):
        return senders[count]

    run = simulate_system([0.9] * 2, [0.5], ONE, 100, 1, acceptance=by_weight)
    assert run.cleared.sum() > 40
    simulate_system([0.9], [0.5], ONE, 100, 1, acceptance=beyond_the_last)  # never called
    for rule, n in ((by_weight, 3), (beyond_the_last, 2)):
        with pytest.raises(ValueError, match=f"{rule.name}: with {n} queues .* outside its arrays"):
            simulate_system([0.9] * n, [0.5], ONE, 100, 1, acceptance=rule)


def test_a_learner_cannot_keep_anything_from_a_restart():
    class Remembers:
        def act(state, params, t, rng):
            return 0

        def update(state, params, t, arm, reward):
            params[0] += reward

    with pytest.raises(ValueError, match=r"cannot compile update: .*readonly"):
        learner(Remembers, rows=1, params=[0.0])


def test_other_refusals_of_rules():
    for order in ([], [0, 0], [1, 2], [0.5, 1], "01"):
        with pytest.raises(ValueError, match="order"):
            fixed_priority(order)
    with pytest.raises(ValueError, match="heads = 1"):
        acceptance_rule(heads=1)(longest_or_first.accept)
    with pytest.raises(ValueError, match="is not a function"):
        acceptance_rule(3)
    with pytest.raises(ValueError, match="params"):
        longest_or_first.with_params([math.nan])
    assert check_rule(None, 3) is uniform()


def test_the_example_of_the_messages_runs():
    scope = {}
    exec(EXAMPLE, scope)
    run = simulate_system(
        [0.4] * 3, [0.5] * 3, ONE, 2000, 1, acceptance=scope["longest_queue_first"]
    )
    assert run.cleared.sum() > 1000


@pytest.mark.parametrize("rule", [uniform(), fixed_priority([2, 0, 1]), longest_or_first])
def test_rules_travel_and_have_digests(rule):
    copy = pickle.loads(pickle.dumps(rule))
    assert (copy.name, copy.digest, copy.params) == (rule.name, rule.digest, rule.params)
    mine, its = (
        simulate_system(LAMBDA, MU, ONE, 500, 1, acceptance=one).queues for one in (rule, copy)
    )
    assert mine.tolist() == its.tolist()
    assert rule.with_params([2.0, 1.0, 0.0]).digest != rule.digest


# Learners that this topic needs ---------------------------------------------------------------------


def test_uniform_router_is_the_scan_in_constant_time():
    one, scan = learners.uniform_router(7), learners.memoryless([1 / 7] * 7)
    (first,), (second,) = (substreams(1, ["actions"]) for _ in range(2))
    a, b = one.new_state(7), scan.new_state(7)
    assert a[0] == pytest.approx(b[0], rel=1e-15)
    mine = [one.act(*a, t, first) for t in range(1000)]
    assert mine == [scan.act(*b, t, second) for t in range(1000)]


def test_exp3_ix_with_a_rate_of_ones_own():
    tuned = learners.exp3_ix(1000)
    rate = math.sqrt(2 * math.log(3) / (3 * 1000))
    own = learners.exp3_ix(learning_rate=rate)
    runs = [simulate_system([0.5], I3, one, 1000, 1) for one in (tuned, own)]
    assert runs[0].accepted.tolist() == runs[1].accepted.tolist()
    other = simulate_system([0.5], I3, learners.exp3_ix(1000, learning_rate=0.3), 1000, 1)
    assert other.accepted.tolist() != runs[0].accepted.tolist()
    with pytest.raises(ValueError, match=r"needs horizon=.* or learning_rate="):
        learners.exp3_ix()
    with pytest.raises(ValueError, match="learning_rate = 0"):
        learners.exp3_ix(10, learning_rate=0)


def test_guarded_uniform_follows_its_definition():
    period, arms, error, total = 3000, 4, 0.01, 1.5
    one = learners.guarded_uniform(period, arms, error, total)
    threshold = tuning.guard_threshold(period, arms, error, total)
    rate = tuning.exp3_ix_learning_rate(period, arms, error)
    log = math.log(arms / error)
    assert threshold == pytest.approx(
        arms * math.sqrt(period * log / 2)
        + 2 * arms / total
        + (1 + 2 * arms / total) * math.sqrt(2 * period * log)
    )
    state, params = one.new_state(arms)
    twin = learners.exp3_ix(learning_rate=rate)
    twin_state, twin_params = twin.new_state(arms)
    rng, twin_rng = substreams(1, ["actions", "actions"])
    estimate, rewards, alarm = np.zeros(arms), 0, None
    for t in range(1, 2 * period):
        arm = one.act(state, params, t, rng)
        reward = float(arm == 2)  # only one server ever takes anything
        one.update(state, params, t, arm, reward)
        if alarm is None:
            assert arm == integer_below(twin_rng, arms)
            estimate[arm] += arms * reward
            rewards += reward
            if estimate.max() - rewards > threshold:
                alarm = t
        else:
            assert arm == twin.act(twin_state, twin_params, t, twin_rng)
            twin.update(twin_state, twin_params, t, arm, reward)
    assert alarm is not None
    assert threshold / 0.75 < alarm < 1.4 * threshold / 0.75
    assert state[1].tolist() == twin_state[1].tolist()
    assert state[1, 2] > 0.9
    good = {"period": 9, "arms": 4, "confidence": 0.01, "total_service_rate": 1}
    for name, bad in {"period": 1, "arms": 0, "confidence": 1.0, "total_service_rate": 0.0}.items():
        with pytest.raises(ValueError, match=f"^{name} = {bad} .*permitted"):
            learners.guarded_uniform(**(good | {name: bad}))


def test_guarded_uniform_in_its_symmetric_system():
    """Ten servers, one queue: no alarm, and the queue grows at lambda - h = 1/362."""
    period = 100_000
    one = learners.guarded_uniform(period, 10, 0.01, 0.9)
    symmetric = [0.09] * 10
    run = simulate_system([0.5], symmetric, one, 4 * period, 1, restart_every=period)
    plain = simulate_system([0.5], symmetric, learners.uniform_router(10), 4 * period, 1)
    assert run.queues.tolist() == plain.queues.tolist()
    assert run.queues[-1, 0] / (4 * period) == pytest.approx(1 / 362, abs=0.004)
    # One good server among bad ones: the alarm rings and most packets go there.
    asymmetric = [0.9] + [0.01] * 9
    guarded, blind = (
        simulate_periods([0.999], asymmetric, each, period, 2, 1)
        for each in (one, learners.uniform_router(10))
    )
    assert (guarded.regret < 0.6 * blind.regret).all()
    assert (blind.regret > 0.75 * period).all()


# Stability ------------------------------------------------------------------------------------------


def growth_of(total, servers=100, replications=30, horizon=40_000):
    mu = [total / servers] * servers
    runs = [
        simulate_system(
            [0.5], mu, learners.uniform_router(servers), horizon, seed, checkpoints=[horizon // 2]
        )
        for seed in replication_seeds(1, f"growth {total}", replications)
    ]
    return growth_rate(runs[0].checkpoints, [run.longest for run in runs])


def test_verdicts_on_both_sides_of_the_threshold():
    """One queue at rate 1/2: unstable below h = 1/2; with m = 100 and mu = 0.9, h = 0.4758."""
    grows, settles = growth_of(0.9), growth_of(1.1)
    verdict = stability_verdict(grows, 0.005, 1e-6)
    assert verdict.verdict == "growing"
    assert verdict.growth.low < 0.5 - (90 / 99.1) / (1 + 90 / 99.1) < verdict.growth.high
    assert stability_verdict(settles, 0.005, 1e-6).verdict == "not growing"
    assert stability_verdict(grows, verdict.growth.value, 1e-6).verdict == "undecided"


def test_growth_rate_is_the_slope_of_the_second_half():
    steps = [10, 50, 70, 100]
    assert growth_rate(steps, [5, 7, 100, 17]) == 0.2
    assert growth_rate(steps, [[0, 1, 2, 51], [9, 5, 1, 0]]).tolist() == [1.0, -0.1]
    with pytest.raises(ValueError, match="do not contain 50"):
        growth_rate([10, 100], [1, 2])
    with pytest.raises(ValueError, match="shape"):
        growth_rate(steps, [1, 2, 3])
    with pytest.raises(ValueError, match="29 entries; permitted: at least 30"):
        stability_verdict([0.1] * 29, 0.1, 1e-6)
    with pytest.raises(ValueError, match="resolution = 0"):
        stability_verdict(range(30), 0, 1e-6)


# Benchmark ------------------------------------------------------------------------------------------


def test_the_benchmarks_loops_walk_the_same_path():
    system = benchmark.small(2000)
    assert benchmark.disagreements(system, steps=2000) == []
    walk = benchmark.in_simlib(system, 0.01, 2000)()
    other = benchmark.in_python(replace(system, seed=2), 0.01, 2000)()
    assert all(
        mine != getattr(other, name) for name, mine in vars(walk).items() if name != "queues"
    )


def test_the_benchmark_says_what_was_missed():
    one = {"median": 2000.0, "min": 1.0, "max": 3.0}
    loop = {
        "steps": 7,
        "seconds": one,
        "nanoseconds": dict.fromkeys(("simlib", "python", "uncompiled"), one),
        "python_over_simlib": one,
        "uncompiled_over_simlib": one | {"median": 5.0},
    }
    rows = {"steps": 7, "parts": [{"learner": "EXP3", "decisions": 4.0, "nanoseconds": one}]}
    result = {
        "machine": {"cpu": "any"},
        "loop": loop,
        "small": rows,
        "large": rows,
        "horizons": [{"steps": k, "nanoseconds": one | {"median": k}} for k in (1.0, 2.0)],
        "memory": [{"steps": k, "allocated": k} for k in (10, 10**6)],
        "start_up": {"cold": 2.0, "warm": 1.0},
    }
    assert re.search(r"EXP3 +4\.00 +2000 \[1, 3\] +500\n", benchmark.table(result))
    assert [re.sub(r"[\d.]+", "_", text) for text in benchmark.missed(result)] == [
        "_ s for _^_ steps, target at most _ s",
        "less than _ x uncompiled",
        "the time of a step depends on the horizon",
        "memory depends on the horizon",
    ]
