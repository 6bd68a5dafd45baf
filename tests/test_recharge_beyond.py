"""Planners and learners that account for recharge, and what their claims compute."""

import math
import pickle
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from checks.audit import load_learner
from checks.claim import find
from checks.recharge import slow_learners
from simlib.learners import exp3, greedy
from simlib.recharge import simulate, simulate_queue
from simlib.recharge.aware import explore_then_commit, learn_while_exploiting, restarting
from simlib.recharge.exact import evaluate_schedule
from simlib.recharge.formulas import INSTANCES, optimum_upper_bound, relaxed_pull_frequencies
from simlib.recharge.optimum import I7_CYCLE, certificates, cycle_value
from simlib.recharge.planners import best_periodic_schedule, periodic_schedule
from simlib.recharge.routers import periodic_router, schedule_router

I3, I7 = ("1/2", "1/10", "3/10"), INSTANCES["I7"]
RATES = [0.5, 0.1, 0.3]
percent = st.integers(1, 99).map(lambda k: Fraction(k, 100))


def pulled(run):
    """The arm of each step, read off the utility collected at every step."""
    earned = np.diff(run.utility_at, axis=0, prepend=0.0)
    return earned.argmax(axis=1).tolist()


# Planners ----------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.lists(percent, min_size=1, max_size=6), st.integers(1, 60))
def test_a_periodic_schedule_spreads_its_pulls(rates, length):
    schedule = periodic_schedule(rates, length)
    assert len(schedule) == length
    shares = relaxed_pull_frequencies(rates)
    counts = np.bincount(schedule, minlength=len(rates))
    assert (np.abs(counts - shares * length) < 1).all()
    for arm, count in enumerate(counts.tolist()):
        done = np.cumsum(np.array(schedule) == arm)
        steps = np.arange(1, length + 1)
        assert (np.abs(done * length - count * steps) < length).all()  # within one pull, always


@settings(max_examples=15, deadline=None)
@given(st.lists(percent, min_size=1, max_size=5))
def test_the_best_schedule_lies_between_one_server_and_the_bound(rates):
    found = best_periodic_schedule(rates, 16)
    assert found.value == cycle_value(rates, found.cycle)
    assert max(rates) <= found.value <= optimum_upper_bound(rates)


@pytest.mark.parametrize(
    "name", ["half, quarter", "half, third, quarter", "fast, half, tenth", "four arms"]
)
def test_the_search_finds_the_optimum_of_small_instances(name):
    certificate = certificates()[name]
    assert best_periodic_schedule(certificate.rates).value == certificate.gain


def test_the_search_is_as_good_as_the_best_schedule_known_of_seven_arms():
    assert best_periodic_schedule(I7).value == cycle_value(I7, I7_CYCLE)
    ten = best_periodic_schedule(["3/20"] * 10)
    assert (ten.cycle, ten.value) == (tuple(range(10)), 1 - Fraction(17, 20) ** 10)
    assert isinstance(best_periodic_schedule(RATES, 8).value, float)


def test_a_router_follows_its_schedule():
    cycle = (0, 2, 0, 0, 2, 0, 0, 2, 0, 1)
    run = simulate(RATES, schedule_router(cycle, 3), 50, 1, checkpoints=np.arange(1, 51))
    assert pulled(run) == list(cycle * 5)
    assert run.utility.sum() == pytest.approx(float(evaluate_schedule(I3, cycle * 5).utility))


def test_the_periodic_router_keeps_to_its_frequencies():
    steps = np.arange(1, 501)
    arms = pulled(simulate(RATES, periodic_router(RATES), 500, 1, checkpoints=steps))
    for arm, share in enumerate(relaxed_pull_frequencies(I3)):
        done = np.cumsum(np.array(arms) == arm)
        assert (np.abs(done - share * steps) < 1).all()


# Learners ----------------------------------------------------------------------------------------


def teach(learner, rates, steps):
    """State of a learner whose rewards are the probabilities, so that its estimates are exact."""
    state, params = learner.new_state(len(rates))
    last, gaps, arms = {}, [], []
    for t in range(1, steps + 1):
        arm = int(learner.act(state, params, t, np.zeros(4, dtype=np.uint64)))
        paid = 1 - (1 - rates[arm]) ** (t - last[arm]) if arm in last else 1.0
        learner.update(state, params, t, arm, float(paid))
        gaps.append(t - last[arm] if arm in last else None)
        last[arm] = t
        arms.append(arm)
    return state, arms, gaps


@pytest.mark.parametrize(
    ("name", "caps"),
    [("half, quarter", (8, 12)), ("half, third, quarter", (8, 12, 12)), ("I3", (4, 20, 6))],
)
def test_the_optimal_planner_finds_the_optimum_for_true_rates(name, caps):
    certificate = certificates()[name]
    rates = [float(rate) for rate in certificate.rates]
    learner = learn_while_exploiting(first_epoch=120, planner="optimal", caps=caps)
    state, arms, _ = teach(learner, rates, 700)
    assert np.exp(-state[1]) == pytest.approx(1 - np.array(rates), abs=1e-9)
    length = len(certificate.cycle)
    late = arms[-20 * length :]
    assert late == late[:length] * 20  # it repeats itself ...
    assert cycle_value(certificate.rates, late[:length]) == certificate.gain


@pytest.mark.parametrize("planner", ["greedy", "periodic"])
def test_with_exact_estimates_the_plan_is_that_for_known_rates(planner):
    rates = [0.5, 0.33, 0.25]
    learner = explore_then_commit(exploration=5, planner=planner)
    _, arms, _ = teach(learner, rates, 400)
    assert arms[:18] == [0] * 6 + [1] * 6 + [2] * 6
    if planner == "periodic":
        run = simulate(rates, periodic_router(rates), 382, 1, checkpoints=np.arange(1, 383))
        assert arms[18:] == pulled(run)
    else:
        state, params = greedy(rates).new_state(3)
        state[0] = (6, 12, 18)
        for t in range(19, 401):
            arm = int(greedy(rates).act(state, params, t, np.zeros(4, dtype=np.uint64)))
            assert arms[t - 1] == arm
            state[0, arm] = t


def test_an_estimate_is_the_root_of_its_equation():
    learner = learn_while_exploiting(first_epoch=300, block=2)
    state, params = learner.new_state(2)
    draw = np.random.default_rng(5)
    gaps, paid, last = ([], []), [0, 0], [0, 0]
    for t in range(1, 301):
        arm = int(learner.act(state, params, t, np.zeros(4, dtype=np.uint64)))
        reward = int(draw.random() < 0.6)
        if last[arm]:
            gaps[arm].append(t - last[arm])
            paid[arm] += reward
        last[arm] = t
        learner.update(state, params, t, arm, float(reward))
    for arm in (0, 1):
        counts = np.array(gaps[arm])
        root = brentq(lambda q, d=counts, r=paid[arm]: (1 - q**d).sum() - r, 0, 1)
        assert math.exp(-state[1, arm]) == pytest.approx(root, abs=1e-9)


def test_epochs_double_and_an_epoch_follows_one_plan():
    learner = learn_while_exploiting(first_epoch=10, block=1)
    state, params = learner.new_state(2)
    due = []
    for t in range(1, 160):
        arm = int(learner.act(state, params, t, np.zeros(4, dtype=np.uint64)))
        before = state[5, 0]
        learner.update(state, params, t, arm, 1.0)
        if state[5, 0] != before:
            due.append(t)
    assert due == [10, 30, 70, 150]


def test_a_restart_forgets_and_explores_again():
    steps = np.arange(1, 301)
    run = simulate(RATES, restarting(100, exploration=4), 300, 2, checkpoints=steps)
    arms = pulled(run)
    for start in (0, 100, 200):
        assert arms[start : start + 15] == [0] * 5 + [1] * 5 + [2] * 5
    assert arms[15:100] != arms[115:200] or arms[15:100] != arms[215:300]


@pytest.mark.parametrize(
    ("learner", "least"),
    [
        (explore_then_commit(60_000, exploration=500), 0.65),
        (learn_while_exploiting(), 0.66),
        (learn_while_exploiting(planner="optimal", caps=(4, 20, 6)), 0.665),
        (restarting(30_000, exploration=300), 0.64),
        (learn_while_exploiting(planner="periodic"), 0.65),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_each_learner_earns_more_than_the_hamacher_sum(learner, least):
    run = simulate(RATES, learner, 60_000, 3)
    assert least < run.average_utility < 0.6726
    assert abs(run.identity_gap) < 1e-9


def test_a_queue_above_the_hamacher_sum():
    runs = [
        simulate_queue(0.65, RATES, learner, 60_000, 4, checkpoints=[30_000]).queue
        for learner in (exp3(60_000), learn_while_exploiting())
    ]
    assert runs[0][1] - runs[0][0] > 800
    assert runs[1][1] < 200


def test_learners_travel_and_can_be_audited():
    router = schedule_router((0, 1), 2)
    assert pickle.loads(pickle.dumps(router)).digest == router.digest
    name = "simlib.recharge.aware:{}"
    for made in ("explore_then_commit", "learn_while_exploiting"):
        found = load_learner(name.format(made), horizon=1000, rates=RATES)
        assert simulate(RATES, found, 1000, 1).pulls.sum() == 1000


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: explore_then_commit(), "horizon"),
        (lambda: explore_then_commit(1), "horizon"),
        (lambda: explore_then_commit(exploration=0), "exploration"),
        (lambda: explore_then_commit(100, planner="best"), "planner"),
        (lambda: explore_then_commit(100, planner="optimal"), "caps"),
        (lambda: explore_then_commit(100, caps=(3, 3)), "caps"),
        (lambda: explore_then_commit(100, planner="optimal", caps=(3,)), "caps"),
        (lambda: explore_then_commit(100, planner="optimal", caps=(1, 9)), "caps"),
        (lambda: explore_then_commit(100, planner="optimal", caps=(99, 99)), "4096"),
        (lambda: learn_while_exploiting(first_epoch=0), "first_epoch"),
        (lambda: learn_while_exploiting(block=1.5), "block"),
        (lambda: restarting(1), "period"),
        (lambda: schedule_router((0, 3), 3), "cycle"),
        (lambda: periodic_router([0.5, 1.0]), "rates"),
        (lambda: periodic_schedule(I3, 0), "length"),
        (lambda: best_periodic_schedule(I3, 20_000), "longest"),
        (
            lambda: simulate(RATES, restarting(9, planner="optimal", caps=(3, 3)), 10, 1),
            "made for 2",
        ),
    ],
)
def test_bad_input_is_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()


# Claims ------------------------------------------------------------------------------------------

CLAIMS = (
    *("slow_learners_get_at_most_h", "thompson_at_most_h", "thompson_no_regret"),
    *("lipschitz_in_rates", "etc_regret", "learn_while_exploiting", "beyond_h_in_queues"),
    *("learners_above_h", "queue_above_h"),
)


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claimed_number_is_visible_read_and_has_a_false_value(name):
    claim = find(name)
    shown = set(re.findall(r"<<(\w+)[:>]", claim.title + claim.statement))
    assert shown | set(claim.meaning) >= set(claim.claimed)
    assert {key for check in claim.checks for key in check.parameters} == set(claim.claimed)
    wrong = {key for check in claim.checks for false in check.false for key in false}
    assert wrong == set(claim.claimed)


def test_exp3_moves_by_at_most_its_learning_rate():
    rate = 0.01
    learner = exp3(exploration=0.03, learning_rate=rate)
    strategies = simulate(RATES, learner, 2_000, 1, checkpoints=np.arange(1, 2_001)).strategy_at
    moves = np.abs(np.diff(strategies, axis=0))
    assert 0.5 * rate < moves.max() <= rate * (1 + 1e-9)


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 7), (20, 5)])
def test_distance_of_two_posteriors(a, b):
    x = np.linspace(0, 1, 200_001)[1:-1]
    inverse = math.factorial(a + b - 1) / math.factorial(a - 1) / math.factorial(b - 1)
    density = inverse * x ** (a - 1) * (1 - x) ** (b - 1)
    other = density * x * (a + b) / a
    numerical = np.abs(density - other).mean() / 2
    assert float(slow_learners._beta_distance(a, b)) == pytest.approx(numerical, rel=1e-3)
