"""Admission control, simulated and learned: against slow twins, exact laws and known values."""

import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from benchmarks import admission as benchmark
from simlib.admission import (
    AdmissionModel,
    Network,
    accept_all,
    admission_rule,
    always_reject,
    event_table,
    experiment,
    extended_value_iteration,
    fixed_threshold,
    formulas,
    generic_extended_value_iteration,
    hysteresis_rule,
    known_threshold,
    model_of,
    oblivious_modules,
    optimistic_row,
    parallel,
    run_learner,
    simulate,
    tandem,
    three_tier,
    threshold,
    threshold_bandit,
    ucrl2,
    ucrl_m,
    ucrl_mt,
)
from simlib.admission.chain import stationary_exact
from simlib.admission.model import bellman, delta_bound, gain, increments, law, policies
from simlib.admission.simulation import AFTER_ARRIVAL, AFTER_DEPARTURE
from simlib.replicate import replicate
from simlib.streams import random, substreams

HALF = Fraction(1, 2)
#: Cycles, a self-loop, two entrances, stations with 1, 2 and infinitely many servers.
MIXED = Network(
    1.0,
    [[0.2, 0.5, 0.0], [0.0, 0.0, 0.7], [0.3, 0.0, 0.0]],
    [1.5, 0.6, 0.4],
    [1, 2, math.inf],
    [0.6, 0.0, 0.4],
)
TIER = three_tier(1, arrival_rate=0.99, rates=1.0)
TIER_MODEL = model_of(TIER, 6, rejection_cost=10.0, holding_cost=1.0)


@admission_rule
def first_station_free(x, total, t, memory, params, rng):
    return int(x[0] == 0)


@admission_rule(params=[0.7], memory=1)
def moody(x, total, t, memory, params, rng):
    """Rejects after every third admission, and tosses a coin where station 1 holds more than one."""
    if memory[0] >= 3.0:
        memory[0] = 0.0
        return 0
    if x[1] > 1 and random(rng) > params[0]:
        return 0
    memory[0] += 1.0
    return 1


# The network ----------------------------------------------------------------------------------------


def twin(network, admit, limit, horizon, seed, bound):
    """The literal step in plain Python: routes, servers and destinations one after the other."""
    events, coins = substreams(seed, ("events", "coins"))
    x, previous, memory = [0] * network.stations, 0, np.zeros(1)
    visits, left = np.zeros((3, limit + 1), int), np.zeros((3, limit + 1), int)
    arrivals, admitted = np.zeros(limit + 1, int), np.zeros(limit + 1, int)
    slots = [(network.arrival_rate * share, -1, j, 0) for j, share in enumerate(network.external)]
    for i, row in enumerate(network.routing):
        for j, share in [*enumerate(row), (-1, network.exit[i])]:
            servers = range(min(network.servers[i], limit))
            slots += [(network.rates[i] * share, i, j, server) for server in servers]
    for t in range(1, horizon + 1):
        s, y, change = sum(x), random(events) * bound, 0
        visits[previous, s] += 1
        route = iter(slots)
        width, i, j, server = next(route)
        while y >= width:
            y -= width
            width, i, j, server = next(route, (math.inf, -2, -1, 0))
        if i == -1:
            arrivals[s] += 1
            if s < limit and admit(np.array(x), s, t, memory, coins):
                admitted[s] += 1
                x[j] += 1
                change = AFTER_ARRIVAL
        elif i >= 0 and server < x[i]:
            x[i] -= 1
            if j == -1:
                left[previous, s] += 1
                change = AFTER_DEPARTURE
            else:
                x[j] += 1
        previous = change
    return visits, left, arrivals, admitted, x


def coins_at(alphas):
    """A sum-policy for the twin: no coin where the decision is certain."""

    def admit(x, s, t, memory, coins):
        return alphas[s] > 0 and (alphas[s] >= 1 or random(coins) < alphas[s])

    return admit


def stop_and_go(x, s, t, memory, coins):
    if s <= 1:
        memory[0] = 0
    if s >= 4:
        memory[0] = 1
    if memory[0] == 0 and s == 3:
        memory[0] = 1
        return True
    return memory[0] == 0


def as_python(rule):
    return lambda x, s, t, memory, coins: rule.admit.py_func(
        x, s, t, memory, np.array(rule.params), coins
    )


@pytest.mark.parametrize(
    ("policy", "admit"),
    [
        ((0.7, 1, 0.2, 0.9, 1), coins_at((0.7, 1, 0.2, 0.9, 1))),
        (threshold(3, 5), coins_at((1, 1, 1, 0, 0))),
        (hysteresis_rule(4, 1), stop_and_go),
        (first_station_free, lambda x, s, t, memory, coins: x[0] == 0),
        (moody, as_python(moody)),
    ],
)
def test_a_run_is_the_literal_one(policy, admit):
    steps, bound = 4000, 9.0
    run = simulate(
        MIXED, policy, steps, seed=5, limit=5, uniformization=bound, checkpoints=[1, 900]
    )
    want = twin(MIXED, admit, 5, steps, 5, bound)
    found = (run.visits[-1], run.departures[-1], run.arrivals[-1], run.admitted[-1], run.jobs)
    assert [array.tolist() for array in found] == [np.asarray(w).tolist() for w in want]
    again = simulate(MIXED, policy, 900, seed=5, limit=5, uniformization=bound)
    assert np.array_equal(run.visits[1], again.visits[-1])
    assert run.total[1] == again.jobs.sum()
    assert run.visits[0].sum() == 1


@pytest.mark.parametrize("alphas", [(1, 1, 1, 1), (1, HALF, 0, 1), (HALF, 1, Fraction(1, 5), 1)])
def test_the_total_has_its_product_form(alphas):
    network = Network(
        1, [[0, HALF, 0], [0, 0, 1], [HALF, 0, 0]], ["3/2", "3/5", "2/5"], [1, 2, math.inf]
    )
    exact = np.zeros(5)
    for x, p in stationary_exact(network, 4, alphas).items():
        exact[sum(x)] += p
    run = simulate(network, alphas, 2_000_000, seed=3, limit=4)
    # Four standard errors of a sample as large as a hundredth of the steps.
    assert run.law[-1] == pytest.approx(exact, abs=4 * 0.5 / math.sqrt(20_000))
    model = model_of(network, 4, rejection_cost=3, holding_cost=1)
    mean = float(model.max_reward - gain(model, alphas))
    assert run.cost(3, 1)[-1] / run.horizon == pytest.approx(mean, rel=0.02)


def test_the_total_is_no_birth_death_process():
    run = simulate(three_tier(1, arrival_rate=1, rates=1), (1,) * 5, 2_000_000, seed=2)
    shares = run.uniformization * run.departures[-1] / np.maximum(1, run.visits[-1])
    # Just after an admission the first station is busy: it lets one job of two out.
    assert shares[AFTER_ARRIVAL, 1:] == pytest.approx([0.5] * 5, abs=0.03)
    rates = [
        float(rate)
        for rate in model_of(
            three_tier(1, arrival_rate=1, rates=1), 5, rejection_cost=1, holding_cost=1
        ).rates
    ]
    assert shares[AFTER_DEPARTURE, 1:5] == pytest.approx(rates[:4], abs=0.02)
    assert run.exit_rate[1:] == pytest.approx(rates, abs=0.01)
    assert shares[AFTER_ARRIVAL, 1] - rates[0] > 0.2


def test_the_table_of_events_covers_the_step():
    table = event_table(MIXED, 5)
    assert table.uniformization == pytest.approx(1 + 1.5 + 2 * 0.6 + 5 * 0.4)
    assert np.array_equal(table.lower[1:], table.upper[:-1])
    assert table.upper[-2] == pytest.approx(table.uniformization)
    cells = np.arange(table.guide.size) / table.guide.size * table.uniformization
    assert (table.lower[table.guide] <= cells).all()
    assert (cells < table.upper[table.guide]).all()
    assert table.source[-1] == -2


def test_policies_with_one_seed_meet_the_same_events():
    runs = [
        simulate(MIXED, policy, 5000, seed=1, limit=5) for policy in ((1,) * 5, (0,) * 5, moody)
    ]
    assert len({int(run.arrivals[-1].sum()) for run in runs}) == 1
    assert runs[1].jobs.sum() == 0
    start = simulate(MIXED, (0,) * 5, 5000, seed=1, limit=5, start=[2, 0, 1])
    assert start.visits[-1, 0, 3] > 0
    assert start.jobs.sum() == 0


def test_rules_travel():
    for rule in (moody, hysteresis_rule(4, 1)):
        other = pickle.loads(pickle.dumps(rule))
        assert other.digest == rule.digest
        one, two = (simulate(MIXED, r, 3000, seed=9, limit=5) for r in (rule, other))
        assert np.array_equal(one.visits, two.visits)


# Extended value iteration ---------------------------------------------------------------------------


def linear_programme(values, phat, radius):
    """Largest ``q . values`` over laws q with ``|q - phat|_1 <= radius``: variables q, |q - phat|."""
    n = len(values)
    eye = np.eye(n)
    found = linprog(
        -np.concatenate([values, np.zeros(n)]),
        A_ub=np.vstack([np.hstack([eye, -eye]), np.hstack([-eye, -eye]), [[0] * n + [1] * n]]),
        b_ub=np.concatenate([phat, -np.asarray(phat), [radius]]),
        A_eq=[[1] * n + [0] * n],
        b_eq=[1],
    )
    return -found.fun


def test_the_inner_maximum_is_that_of_the_linear_programme():
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(60):
        n = rng.integers(1, 5)
        values, phat, radius = rng.normal(size=n), rng.dirichlet(np.ones(n)), rng.uniform(0, 2.5)
        phat[rng.integers(n)] *= rng.integers(2)
        phat = phat / phat.sum() if phat.sum() else np.eye(n)[0]
        q, best = optimistic_row(values, phat, radius)
        assert best == pytest.approx(linear_programme(values, phat, radius), abs=1e-9)
        assert abs(np.asarray(q) - phat).sum() <= radius + 1e-12
        wrong += optimistic_row(values, phat, 2 * radius)[1] > best + 1e-6
    assert wrong > 20  # moving the radius in place of half of it
    q, best = optimistic_row([3, 1, 0], [Fraction(1, 4), HALF, Fraction(1, 4)], Fraction(4, 5))
    assert q == [Fraction(13, 20), Fraction(7, 20), 0]
    assert best == Fraction(23, 10)


def a_region(rng, top):
    rewards, radius = rng.uniform(size=(top + 1, 2)), rng.uniform(0, 1.2, size=(top + 1, 2))
    up, down = rng.uniform(0, 0.4, size=(top + 1, 2)), rng.uniform(0, 0.4, size=(top + 1, 2))
    up[:, 0] = up[-1] = down[0] = 0
    return rewards, up, down, radius


def dense(up, down):
    top = len(up) - 1
    laws = np.zeros((top + 1, 2, top + 1))
    for s in range(top + 1):
        for a in (0, 1):
            laws[s, a, s] = 1 - up[s, a] - down[s, a]
            if s < top:
                laws[s, a, s + 1] = up[s, a]
            if s > 0:
                laws[s, a, s - 1] = down[s, a]
    return laws


@pytest.mark.parametrize("seed", range(8))
def test_three_loops_of_extended_value_iteration(seed):
    rng = np.random.default_rng(seed)
    rewards, up, down, radius = a_region(rng, 6)
    options = {"precision": 1e-9}
    near, far = (
        extended_value_iteration(rewards, up, down, radius, support=support, **options)
        for support in ("neighbours", "all")
    )
    blocked = rewards.copy()
    blocked[-1, 1] = -math.inf
    generic = generic_extended_value_iteration(blocked, dense(up, down), radius, **options)
    assert far.values == pytest.approx(generic.values, abs=1e-7)
    assert far.policy.tolist() == generic.policy.tolist()
    assert near.high <= far.high + 1e-9
    # The values solve the optimality equation, whose inner maximum is optimistic_row's.
    for s in range(7):
        choices = []
        for a in range(2 if s < 6 else 1):
            around = [near.values[k] for k in (s - 1, s, s + 1) if 0 <= k <= 6]
            laws = [dense(up, down)[s, a, k] for k in (s - 1, s, s + 1) if 0 <= k <= 6]
            if a == 0 and s < 6:
                around, laws = around[:-1], laws[:-1]
            choices.append(rewards[s, a] + optimistic_row(around, laws, radius[s, a])[1])
        assert max(choices) == pytest.approx(near.values[s] + near.high, abs=1e-7)


def test_without_uncertainty_the_gain_is_the_best():
    model = TIER_MODEL
    s, rates = np.arange(7.0), np.array([0.0, *model.rates]) / model.uniformization
    rewards = np.repeat((6 - s)[:, None], 2, axis=1) / model.uniformization
    rewards[:, 1] += model.arrival_rate * model.rejection_cost / model.uniformization
    up, down = np.zeros((7, 2)), np.repeat(rates[:, None], 2, axis=1)
    up[:-1, 1] = model.arrival_rate / model.uniformization
    found = extended_value_iteration(rewards, up, down, np.zeros((7, 2)), precision=1e-10)
    best = bellman(model)
    assert found.low <= model.max_reward - best.cost / model.uniformization + 1e-12
    assert found.high >= model.max_reward - best.cost / model.uniformization - 1e-12
    assert found.policy[:6].tolist() == list(best.policy)
    assert np.diff(found.values) == pytest.approx(-np.array(best.increments), rel=1e-6)
    cut = extended_value_iteration(
        rewards, up, down, np.zeros((7, 2)), precision=1e-10, most_sweeps=5
    )
    assert (cut.sweeps, cut.capped) == (5, True)


# Learners -------------------------------------------------------------------------------------------


def test_ucrl_walks_the_path_of_plain_python():
    assert benchmark.disagreements(1500) == []


def threshold_twin(network, model, learner, horizon, seed):
    """UCRL-MT in plain Python, from its description; the network is that of the simulator."""
    top, bound, tau = model.limit, model.uniformization, learner.modules
    level = learner.level or formulas.confidence_level(
        horizon, top, arrival_rate_known=learner.arrival_rate_known
    )
    visits, left = np.zeros(top + 1), np.zeros(top + 1)
    steps, spent = np.zeros(top + 1), np.zeros((top + 1, 2))
    t, arrivals, played, promised = 0, 0, [], []
    x, (events,) = [0] * network.stations, substreams(seed, ("events",))
    while t < horizon:
        rate = model.arrival_rate
        if not learner.arrival_rate_known:
            share = arrivals / t if t else 0.0
            rate = bound * formulas.kl_lower_limit(share, level / max(t, 1))
        upper = np.full(top + 1, 1 - rate / bound)
        for s in range(1, top + 1):
            if visits[s] and left[s] / visits[s] < upper[s]:
                budget = learner.pooled * level / visits[s]
                upper[s] = min(upper[s], formulas.kl_upper_limit(left[s] / visits[s], budget))
        upper = np.minimum.accumulate(upper[::-1])[::-1]
        index = np.full(top + 1, -math.inf)
        if learner.model_index:
            for theta in range(top + 1):
                with np.errstate(divide="ignore", invalid="ignore"):
                    # From the top, so that an arrival rate of 0 gives weight to 0 alone.
                    weights = np.append(1.0, np.cumprod(rate / (bound * upper[1 : theta + 1])))
                costs = model.holding_cost * np.arange(theta + 1.0)
                costs[theta] += rate * model.rejection_cost
                index[theta] = weights @ costs / weights.sum()
        if learner.direct_index:
            for theta in np.flatnonzero(steps):
                mean = spent[theta] @ [model.holding_cost, rate * model.rejection_cost]
                width = math.sqrt(tau * level / (2 * steps[theta])) + horizon**-2.0
                span = model.holding_cost * top + rate * model.rejection_cost
                index[theta] = max(index[theta], mean / steps[theta] - span * width)
        theta = int(np.argmin(index))
        played.append((t, theta))
        promised.append(model.max_reward - index[theta] / bound)
        ramp_end = t + tau
        end = min(horizon, ramp_end + max(tau, int(steps[theta])))
        while t < end:
            t += 1
            s, y = sum(x), random(events) * bound
            widths = [network.arrival_rate, *network.rates]
            ends = np.cumsum(widths)
            k = int(np.searchsorted(ends, y, side="right"))
            gone = False
            if k == 0:
                arrivals += 1
                x[0] += s < theta
            elif k <= network.stations and x[k - 1] > 0:
                x[k - 1] -= 1
                gone = k == network.stations
                if not gone:
                    x[k] += 1
            if t > ramp_end:
                visits[s] += 1
                left[s] += gone
                steps[theta] += 1
                spent[theta] += s, s >= theta
    return played, promised


@pytest.mark.parametrize(
    "learner",
    [
        *(ucrl_mt(7), ucrl_mt(7, direct_index=False), ucrl_mt(7, arrival_rate_known=False)),
        *(threshold_bandit(7), ucrl_mt(7, single_station=True)),
        ucrl_mt(2, level=0.3),  # in overload, where small totals are rare: projection matters
    ],
)
def test_ucrl_mt_walks_the_path_of_plain_python(learner):
    network = tandem(3.0 if learner.level else 0.6, (1.0, 0.8))
    model = model_of(network, 4, rejection_cost=4.0, holding_cost=1.0)
    run = run_learner(network, learner, 6000, model, seed=8)
    episodes = run.episodes
    found = list(zip(episodes.start.tolist(), episodes.threshold.tolist(), strict=True))
    played, promised = threshold_twin(network, model, learner, 6000, 8)
    assert found == played
    # Seldom does a detail of an index change which threshold is played.
    assert episodes.optimistic_gain == pytest.approx(promised, rel=1e-9)
    assert episodes.length.sum() == 6000
    if not learner.level:
        assert not episodes.not_covered.any()
        assert not episodes.not_optimistic.any()


def test_violations_are_seen():
    network = tandem(0.6, (1.0, 1.0))
    model = model_of(network, 4, rejection_cost=4.0, holding_cost=1.0)
    bold = run_learner(network, ucrl_mt(3, level=0.02), 100_000, model, seed=1).episodes
    assert bold.not_optimistic.sum() > 20
    assert bold.not_covered.sum() >= bold.not_optimistic.sum()
    sure = run_learner(network, ucrl_mt(3), 100_000, model, seed=1).episodes
    assert sure.not_covered.sum() == 0


def test_fixed_thresholds_have_the_regret_of_their_cost():
    steps, model = 400_000, TIER_MODEL
    best = bellman(model).cost
    for learner, theta in (
        (always_reject(), 0),
        (accept_all(), 6),
        (fixed_threshold(4), 4),
        (known_threshold(model), 2),
    ):
        run = run_learner(TIER, learner, steps, model, seed=4)
        nu = np.array(law(model, threshold(theta, 6)))
        cost = nu @ np.arange(7) + nu[theta] * model.arrival_rate * model.rejection_cost
        want = (cost - best) / model.uniformization
        assert run.regret[-1] / steps == pytest.approx(want, abs=0.02)
        assert run.threshold.tolist() == [theta]
        simulated = simulate(TIER, threshold(theta, 6), steps, seed=4, model=model)
        assert run.visits[-1].sum(axis=1).tolist() == simulated.visits[-1].sum(axis=0).tolist()


def test_ucrl_m_learns_and_keeps_its_books():
    checkpoints = [1000, 10_000, 300_000]
    run = run_learner(TIER, ucrl_m(3), 300_000, TIER_MODEL, seed=2, checkpoints=checkpoints)
    episodes = run.episodes
    assert episodes.start[0] == 0
    assert np.array_equal(episodes.start[1:], np.cumsum(episodes.length)[:-1])
    assert run.visits[:, -1, 1].max() == 0
    assert run.visits.sum(axis=(1, 2)).tolist() == checkpoints
    assert episodes.count <= formulas.most_ucrl_episodes(300_000, 3, 6)
    assert not (episodes.capped | episodes.not_optimistic | episodes.not_covered).any()
    reject = run_learner(TIER, always_reject(), 300_000, TIER_MODEL, seed=2)
    assert run.regret[-1] < reject.regret[-1]
    playing = episodes.threshold[np.searchsorted(episodes.start, checkpoints, side="left") - 1]
    assert run.threshold.tolist() == playing.tolist()
    short = run_learner(TIER, ucrl_m(3), 10_000, TIER_MODEL, seed=2)
    assert short.regret[-1] == run.regret[1]
    sure = run_learner(TIER, ucrl_m(3), 300_000, TIER_MODEL, seed=2, rewards="mean")
    assert sure.regret[-1] != run.regret[-1]
    capped = run_learner(TIER, ucrl_m(3, most_sweeps=2), 10_000, TIER_MODEL, seed=2)
    assert capped.episodes.capped.any()
    assert capped.episodes.sweeps.max() == 2


def test_a_replication_plays_several_learners_on_the_same_events():
    learners = [ucrl_m(3), ucrl2(), ucrl_mt(30), threshold_bandit(30), always_reject()]
    parameters = {
        "network": TIER,
        "learner": learners,
        "horizon": 5000,
        "model": TIER_MODEL,
        "checkpoints": [500],
    }
    assert pickle.loads(pickle.dumps(parameters)) == parameters
    found = replicate(experiment, 2, seed=1, experiment="t", parameters=parameters)
    assert found["regret"].shape == (2, 5, 2)
    assert (found["episodes"][:, -1] == 1).all()
    parameters["learner"] = ucrl_m(3)
    single = replicate(experiment, 1, seed=1, experiment="t", parameters=parameters)
    assert np.array_equal(single["regret"][0], found["regret"][0, 0])
    assert single["not_covered"].shape == (1,)


# Formulas -------------------------------------------------------------------------------------------


@settings(max_examples=100, deadline=None)
@given(st.floats(0, 1), st.floats(1e-9, 5))
def test_limits_of_the_divergence(p, budget):
    high, low = formulas.kl_upper_limit(p, budget), formulas.kl_lower_limit(p, budget)
    assert 0 <= low <= p <= high <= 1
    # One last digit more or less crosses the budget.
    slack = 1 + 1e-9
    assert formulas.kl_divergence(p, np.nextafter(high, 0)) <= budget * slack + 1e-12
    assert formulas.kl_divergence(p, high) * slack + 1e-12 >= budget or high == 1
    assert formulas.kl_divergence(p, low + 3e-16) <= budget * slack + 1e-12
    assert formulas.kl_divergence(p, low) * slack + 1e-12 >= budget or low == 0
    # A sample whose interval holds q has its upper limit within the width at q.
    assert high - p <= 2 * math.sqrt(budget / 2) + 1e-12
    assert high - low <= formulas.kl_width(low, budget) + math.sqrt(2 * budget) + 1e-9


def test_the_bound_of_the_theorem():
    # Values of the theory document, computed there by other programmes; its K is a little larger.
    cases = [(tandem(0.6, (1, 1)), 4, 4, 200, 2.07e6)]
    cases += [
        (three_tier(1, arrival_rate=rate, rates=1), 5, 10, tau, bound)
        for rate, tau, bound in ((0.99, 686, 4.23e6), (0.25, 964, 5.03e6))
    ]
    for network, limit, cost, modules, want in cases:
        model = model_of(network, limit, rejection_cost=cost, holding_cost=1)
        bound = formulas.regret_bound(model, 1e7, modules)
        assert bound.total / float(model.max_reward) == pytest.approx(want, rel=4e-3)
        plain = formulas.regret_bound(model, 1e7, modules, weight=[1] * limit)
        assert bound.first_leading <= plain.first_leading
        assert formulas.regret_bound(model, 1e7, 1).total < bound.total
        unknown = formulas.regret_bound(model, 1e7, modules, arrival_rate_known=False)
        assert unknown.total > bound.total
        # One arrival admitted in place of one rejected costs an increment, or R at the threshold.
        delta = np.array(delta_bound(model.as_floats()))
        price = max(
            nu[:theta] @ delta[:theta] + nu[theta] * float(model.rejection_cost)
            for theta in range(limit + 1)
            for nu in [np.array(law(model.as_floats(), threshold(theta, limit)))]
        )
        events = float(model.arrival_rate / model.uniformization) * 1e7
        want = (4 + math.sqrt(8)) * price * math.sqrt(unknown.level * events)
        assert unknown.arrival_rate == pytest.approx(want)


def test_the_leading_constant_of_a_stable_queue_does_not_grow():
    leading = {}
    for limit in (5, 10, 40, 80):
        model = model_of(tandem(0.5, (1,)), limit, rejection_cost=10, holding_cost=1)
        leading[limit] = 4 * (1 + math.sqrt(2)) * formulas.first_order_constants(model)[0]
        constant = 4 * (1 + math.sqrt(2)) * formulas.stable_constant(model)
        assert leading[limit] < constant == pytest.approx(1750, abs=1)
    assert leading[5] == pytest.approx(82.0, abs=0.05)
    assert leading[10] == pytest.approx(113.6, abs=0.05)
    assert leading[80] == pytest.approx(leading[40], rel=1e-3)


def test_the_reconstructed_bound_of_ucrl_m():
    network = three_tier(1, arrival_rate=0.25, rates=1)
    model = model_of(network, 10, rejection_cost=10, holding_cost=1)
    bound = formulas.ucrl_bound(model, 1e7, 3, 11_927)
    assert bound.main / float(model.max_reward) == pytest.approx(4.86e6, rel=1e-3)
    assert bound.total == bound.main + bound.lower_order > bound.main
    assert bound.remembered > bound.by_diameter > bound.main
    worst = np.maximum.accumulate(
        np.abs([increments(TIER_MODEL, policy) for policy in policies(6)]).max(axis=0)
    )
    assert formulas.largest_increments(TIER_MODEL) == pytest.approx(worst, rel=1e-9)
    ratio = lambda horizon: 100 / math.sqrt(horizon)  # noqa: E731
    assert formulas.crossing(ratio) == pytest.approx(4, abs=1e-5)


def test_numbers_of_modules():
    assert formulas.published_modules(1e7, math.exp(-1 / 49.9)) == pytest.approx(4021, abs=1)
    assert formulas.enough_modules(1e4, 1, math.exp(-0.5)) == 1 + math.ceil(4 * math.log(1e4))
    assert oblivious_modules(10**7) == 260
    assert oblivious_modules(1) == 1
    rewards, laws = formulas.modular_radii(1, [0, 4], 2.0)
    assert rewards == pytest.approx(2 * np.sqrt(2 * math.log(4) / np.array([1, 4])))
    assert laws == pytest.approx(rewards)
    assert formulas.jaksch_radii(10, 5, 1.0, 10)[1] == pytest.approx(
        math.sqrt(14 * 11 * math.log(400) / 5)
    )


# What is refused ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: simulate(MIXED, (1,) * 5, 0, seed=1), "horizon = 0 is too small"),
        (lambda: simulate(MIXED, (1.5,) * 5, 10, seed=1), r"acceptance\[0\] = 1.5"),
        (lambda: simulate(MIXED, (1,) * 4, 10, seed=1, limit=5), "acceptance has 4 entries"),
        (lambda: simulate(MIXED, lambda x: 1, 10, seed=1, limit=5), "plain function"),
        (lambda: simulate(MIXED, moody, 10, seed=1), "limit = None"),
        (lambda: simulate(MIXED, (1,), 10, seed=1, limit=0), "limit = 0 is too small"),
        (lambda: simulate(MIXED, (1,) * 5, 10, seed=None), "seed = None"),
        (lambda: simulate(MIXED, (1,) * 5, 10, seed=1, start=[3, 3, 0]), "start sums to 6"),
        (lambda: simulate(MIXED, (1,) * 5, 10, seed=1, uniformization=2), "at least 5.7"),
        (lambda: simulate("MIXED", (1,) * 5, 10, seed=1), "network = 'MIXED'"),
        (lambda: simulate(MIXED, (1,) * 5, 10, seed=1).cost(-1, 1), "rejection_cost = -1"),
        (lambda: hysteresis_rule(2, 2), "resume = 2"),
        (lambda: ucrl_m(0), "modules = 0"),
        (lambda: ucrl2("loose"), "radii = 'loose'"),
        (lambda: ucrl_mt(2, level=0), "level = 0"),
        (lambda: ucrl_mt(2, direct_index=1), "direct_index = 1"),
        (lambda: run_learner(TIER, ucrl_m(11), 10, TIER_MODEL, seed=1), "at most the horizon 10"),
        (lambda: run_learner(TIER, "ucrl", 10, TIER_MODEL, seed=1), "learner = 'ucrl'"),
        (lambda: run_learner(MIXED, ucrl_m(1), 10, TIER_MODEL, seed=1), "model.arrival_rate"),
        (lambda: run_learner(TIER, fixed_threshold(7), 10, TIER_MODEL, seed=1), "theta = 7"),
        (
            lambda: run_learner(TIER, ucrl_m(1), 10, TIER_MODEL, seed=1, rewards="x"),
            "rewards = 'x'",
        ),
        (lambda: simulate(MIXED, (1,) * 5, 10, seed=1).cost(1, math.nan), "holding_cost = nan"),
        (lambda: optimistic_row([1, 2], [0.5, 0.6], 1), "sum to 1"),
        (lambda: optimistic_row([1, math.nan], [0.5, 0.5], 1), r"values\[1\] = nan"),
        (lambda: optimistic_row([1, 2], [0.5, math.nan], 1), r"phat = \[0.5, nan\]"),
        (lambda: optimistic_row([1, 2], [0.5, 0.5], math.nan), "radius = nan"),
        (lambda: formulas.regret_bound(TIER_MODEL, 3, 1), "horizon = 3"),
        (lambda: formulas.regret_bound(TIER_MODEL, 1e6, 0.5), "modules = 0.5"),
        (lambda: formulas.regret_bound(TIER_MODEL, 1e6, 5, weight=[1] * 5), "weight has 5"),
        (lambda: formulas.published_modules(1e6, 1.0), "rho = 1.0"),
        (lambda: formulas.kl_width(0.5, -1), "budget = -1; permitted: finite numbers from 0"),
        (lambda: formulas.kl_width(1.5, 1), "p = 1.5; permitted: numbers from 0 to 1"),
        (lambda: formulas.kl_divergence(1.5, 0.5), "p = 1.5"),
        (lambda: formulas.kl_divergence(0.5, -0.1), "q = -0.1"),
        (lambda: formulas.kl_upper_limit(2, 1), "p = 2"),
        (lambda: formulas.kl_upper_limit(0.5, math.nan), "budget = nan"),
        (lambda: formulas.kl_lower_limit(0.5, -1), "budget = -1"),
        (
            lambda: formulas.confidence_level(-1, 3),
            "horizon = -1; permitted: finite numbers from 1",
        ),
        (lambda: formulas.confidence_level(10, 0), "limit = 0"),
        (lambda: formulas.modular_radii(0, [1], 1), "step = 0"),
        (lambda: formulas.modular_radii(1, [-1], 1), r"visits = \[-1\]"),
        (lambda: formulas.modular_radii(1, [1], -1), "max_reward = -1"),
        (lambda: formulas.jaksch_radii(0.1, [1], 1, 2), "step = 0.1"),
        (lambda: formulas.jaksch_radii(1, [math.nan], 1, 2), r"visits = \[nan\]"),
        (lambda: formulas.jaksch_radii(1, [1], 1, 0), "limit = 0"),
        (lambda: formulas.published_episodes(10, -1, 3), "modules = -1"),
        (lambda: formulas.published_episodes(10, 3, 3), "horizon = 10; permitted: at least tau"),
        (lambda: formulas.most_ucrl_episodes(0, 1, 3), "horizon = 0"),
        (lambda: formulas.most_threshold_episodes(10, 0, 3), "modules = 0"),
        (lambda: formulas.best_weight([[0, 1], [0, 2]]), "only zeros in column 0"),
        (lambda: formulas.best_weight([1, 2]), r"coefficients has shape \(2,\)"),
        (lambda: formulas.best_weight([[1, -2]]), r"coefficients\[0, 1\] = -2"),
        (lambda: formulas.best_weight([[1]], 0), "rounds = 0"),
        (
            lambda: formulas.regret_bound(TIER_MODEL, 1e6, 5, constants=(-1, -1)),
            r"constants = \[-1.0, -1.0\]; permitted: two",
        ),
        (lambda: formulas.arrival_rate_term(TIER_MODEL, 1e6, -1), "level = -1"),
        (lambda: formulas.ucrl_bound(TIER_MODEL, 1e6, 3, -2), "diameter = -2"),
        (lambda: formulas.ucrl_bound(TIER_MODEL, 10, 3, 9), "horizon = 10; permitted: at least"),
        (lambda: formulas.ucrl_bound(TIER_MODEL, 1e6, 3, 9, increments=[1]), "increments = "),
        (lambda: formulas.crossing(lambda T: 1 / T, 3, 2), "low = 3"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_model_of_another_network_is_refused():
    other = AdmissionModel(0.99, (0.5,) * 6, 10.0, 1.0, 4.0)
    with pytest.raises(ValueError, match=re.escape("model.rates[0] = 0.5")):
        run_learner(TIER, ucrl_m(1), 10, other, seed=1)
    free = model_of(TIER, 3, rejection_cost=0, holding_cost=0)
    with pytest.raises(ValueError, match="rejection_cost = 0 and holding_cost = 0"):
        run_learner(TIER, ucrl_m(1), 10, free, seed=1)


def test_bad_rules_are_named():
    with pytest.raises(ValueError, match="wrong arguments"):
        admission_rule(lambda x: 1)

    @admission_rule
    def two(x, total, t, memory, params, rng):
        return 2

    with pytest.raises(ValueError, match="two: returned 2 at step"):
        simulate(MIXED, two, 100, seed=1, limit=5)

    @admission_rule(memory=1)
    def forgetful(x, total, t, memory, params, rng):
        memory[0] = np.nan
        return 1

    with pytest.raises(ValueError, match=re.escape("memory[0] is nan")):
        simulate(MIXED, forgetful, 100, seed=1, limit=5)

    @admission_rule
    def far(x, total, t, memory, params, rng):
        return int(x[7] == 0)

    with pytest.raises(ValueError, match="outside its arrays"):
        simulate(MIXED, far, 100, seed=1, limit=5)
    with pytest.raises(ValueError, match="made for 2 stations"):
        simulate(MIXED, admission_rule(two.admit.py_func, stations=2), 100, seed=1, limit=5)

    def draw(x, total, t, memory, params, rng):
        return int(np.random.random() < 0.5)  # noqa: NPY002

    with pytest.raises(ValueError, match="do not follow from the seed"):
        admission_rule(draw)


def test_parallel_stations_run_too():
    network = parallel(0.5, (1.0, 0.02), (0.9, 0.1))
    run = simulate(network, (1,) * 4, 200_000, seed=1)
    want = law(model_of(network, 4, rejection_cost=1, holding_cost=1), (1,) * 4)
    assert run.law[-1] == pytest.approx(want, abs=0.06)
