"""Every rule, expected regret, restarted learners: second routes to what the claims compute."""

import inspect
import math
import pickle
import random
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.claim import all_claims, find
from checks.methods.certified import ball, precision
from checks.strategic import expected_regret, guarded, priorities, restarted
from checks.strategic.evidence import hypotheses as evidence
from checks.strategic.longest_queue import longest_queue_drift
from checks.strategic.no_less import linear_submartingale
from checks.strategic.potential import total_drift
from checks.strategic.small_systems import paths
from checks.strategic.sufficiency import negative_drift_bound
from checks.strategic.windows import uniform_is_windowed_no_regret
from simlib.learners import exp3_ix, guarded_uniform, learner, uniform_router
from simlib.strategic import fixed_priority, formulas, simulate_periods

# EXP3-IX ------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(
    st.floats(1e-3, 1),
    st.floats(1e-3, 10),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_moment_of_an_estimate(p, rate, loss, share):
    alpha = share * rate
    estimate = loss / (p + rate / 2)
    moment = 1 - p + p * math.exp(alpha * estimate)
    assert moment <= (1 + alpha * loss) * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(2, 5),
    st.floats(0.01, 3),
    st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1)), max_size=40),
)
def test_path_inequality_with_any_losses(arms, rate, steps):
    sums, suffered, total = np.zeros(arms), 0.0, 0.0
    for arm, loss in steps:
        weights = np.exp(-rate * (sums - sums.min()))
        estimate = loss / (weights[arm % arms] / weights.sum() + rate / 2)
        sums[arm % arms] += estimate
        suffered += loss
        total += estimate
    assert suffered - sums.min() <= math.log(arms) / rate + rate * total + 1e-9


def test_late_period_agrees_with_a_simulation():
    window, rate, runs = 60, 0.16, 4000
    generator = random.Random(5)
    counts = np.zeros(runs)
    for run in range(runs):
        odds = -2.0  # log-odds of the accepting server
        for _ in range(window):
            chance = 1 / (1 + math.exp(odds))
            if generator.random() < chance:
                odds += rate / (chance + rate / 2)
                counts[run] += 1
    with precision(96):
        _, law = restarted._refusals_in(window, ball(-2), ball("0.16"))
    chances = np.array([float(chance.mid()) for chance in law])
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    exact = chances @ np.arange(chances.size)
    assert counts.mean() == pytest.approx(exact, abs=6 * counts.std() / math.sqrt(runs))


@pytest.mark.parametrize("implicit", ["0", "0.1", "0.4", "0.49", "0.499"])
def test_every_smaller_implicit_exploration_is_refuted(implicit):
    assert restarted.moment_of_a_step(implicit).outcome == "refuted"


# End to end ---------------------------------------------------------------------------------------


def test_table_agrees_with_the_float_formulas():
    claimed = find("sufficiency_end_to_end").claimed
    periods, bounds = (claimed[name].split(", ") for name in ("periods", "bounds"))
    for (n, rate, m, mu), period, bound in zip(restarted.TABLE, periods, bounds, strict=True):
        system = ([Fraction(rate)] * n, m, Fraction(mu))
        assert formulas.sufficient_period(*system) == int(period)
        assert formulas.end_to_end_bound(*system) == pytest.approx(float(bound) * 1e6, rel=1e-4)


def test_the_condition_is_that_of_both_lower_claims():
    n, m, mu, window = 4, 8, 3.0, 232_240
    regret = formulas.exp3_ix_expected_regret(window, n, m)
    left = mu * (regret + math.sqrt(window * math.log(n) / 2)) + m
    margin = formulas.capacity_margin([0.4] * n, mu)
    with precision(96):
        slack = restarted._slack_of_the_condition(restarted.TABLE[0], window)
    assert float(slack.mid()) == pytest.approx(margin * window / 2 - left, abs=1e-6)


# Regret against one server ------------------------------------------------------------------------


@learner(rows=1)
class Alternate:
    def act(state, params, t, rng):
        return (t - 1) % 2

    def update(state, params, t, arm, reward):
        pass


def test_coin_for_a_period_against_the_simulator():
    """Heads, queue 1 is taken each time: what it clears, and what the other would have."""
    window, periods = 20, 4000
    run = simulate_periods(
        [0.01] * 2,
        [0.99] * 2,
        Alternate,
        window,
        periods,
        3,
        acceptance=fixed_priority([0, 1]),
        start_queues=[window * periods] * 2,
    )
    # the coin is fair: the mean regret of a queue against server j, averaged over who is preferred
    mean = run.would_clear.mean(axis=0) - run.cleared.mean(axis=0)[:, None]
    fixed = mean.mean(axis=0).max()
    found = expected_regret._coin_for_a_period(None).witness
    assert f"r = {fixed:.1f}" in found
    assert run.cleared[:, 1].sum() == 0


def test_law_of_the_coin_has_the_mean_of_the_recursion():
    window, chance = expected_regret._COIN_WINDOW, 1 - (1 - expected_regret._COIN_RATE) ** 2
    accepted, _, busy = expected_regret._means_of_the_coin(window)
    assert accepted == 2 + (window - 2) * chance
    # ten packets to each server; the second waits a step less for the end
    assert busy == 10 + 9 * (1 - expected_regret._COIN_RATE)
    with precision(100):
        # for a small kappa the soft maximum of two equal lengths moves by half of what one moves
        tiny = expected_regret._soft_maximum_of_a_coin(window, Fraction(1, 10**9))
        assert float(tiny.mid()) == pytest.approx(-float(accepted) / 2, abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_queues_that_go_up_or_down_are_a_system_without_more_regret_than_stated(n):
    """Step through the definitions: own servers 0..n-1, a full one, one that is never used."""
    full, unused, kappa = n, n + 1, 0.3
    soft, regret = 0.0, np.zeros((n, n + 2))
    busy = np.zeros(n + 2)
    for arrived in np.ndindex(*[2] * n):
        targets = [full if some else i for i, some in enumerate(arrived)]
        accepted = [int(to != full) for to in targets]
        changes = [some - one for some, one in zip(arrived, accepted, strict=True)]
        assert set(changes) <= {-1, 1}
        soft += np.log(np.mean(np.exp(kappa * np.array(changes)))) / kappa / 2**n
        for j in range(n + 2):
            busy[j] += (j == full or j in targets) / 2**n
            for i in range(n):
                # at the server of another queue it may be preferred or not: take the larger utility
                regret[i, j] += (int(j != full) - accepted[i]) / 2**n
    assert regret.max() == 0.5
    assert busy.min() == busy[unused] == 0
    with precision(100):
        value = expected_regret._soft_maximum_of_coins(n, Fraction(3, 10))
    assert float(value.mid()) == pytest.approx(soft, abs=1e-12)


@pytest.mark.parametrize("shape", [(1, 2, 3), (2, 2, 1), (2, 1, 3), (3, 1, 2)])
def test_mean_length_of_a_queue_holds_on_every_path(shape):
    """The inequality of the soft maximum for each queue, long or short, and each server."""
    n, m, window = shape
    for longest in range(window + 2):
        for outcome, _ in paths(n, m, window, longest).outcomes:
            for i, j in np.ndindex(n, m):
                regret = outcome.utilities[i][j] - outcome.accepted[i]
                bound = outcome.arrivals[i] - (window - outcome.busy[j]) + regret
                assert outcome.end[i] - max(outcome.start[i], window) <= bound


@pytest.mark.parametrize(
    ("judge", "numbers"),
    [
        (expected_regret.drift_of_the_soft_maximum, {"soft": "0.49", "room": "0.25"}),
        (expected_regret.drift_of_the_soft_maximum, {"soft": "0", "room": "0.25"}),
        (expected_regret.drift_of_the_soft_maximum, {"soft": "0.5", "room": "0.251"}),
        (expected_regret.soft_maximum_of_two_kinds, {"soft": "0.3"}),
        (expected_regret.largest_excess_of_arrivals, {"spread": "1/3"}),
        (restarted.assemble_the_drift, {"share": "0.5001"}),
        (restarted.assemble_the_drift, {"share": "2"}),
        (restarted.two_conditions_suffice, {"scale": "3.8"}),
        (guarded.drift_of_a_step_that_is_not_uniform, {"cost": "0.99"}),
    ],
)
def test_nearer_and_farther_false_numbers_are_refuted(judge, numbers):
    assert judge(**numbers).outcome == "refuted"


@pytest.mark.parametrize(
    ("lemma", "number", "judge"),
    [
        (longest_queue_drift, "threshold", expected_regret.from_paths_to_the_potential),
        (total_drift, "extra", expected_regret.from_paths_to_the_potential),
        (total_drift, "extra", expected_regret.drift_of_the_soft_maximum),
        (priorities.priority_robust, "idle", expected_regret.drift_of_the_soft_maximum),
        (negative_drift_bound, "steps", expected_regret.every_period_or_not),
        (negative_drift_bound, "drift", restarted.from_the_drift_to_all_times),
        (restarted.exp3ix_restarted, "leading", restarted.assemble_the_drift),
        (restarted.exp3ix_restarted, "logs", guarded.regret_in_any_environment),
        (uniform_is_windowed_no_regret, "rule", guarded.false_alarms),
        (linear_submartingale, "weight", guarded.drift_of_a_step_that_is_not_uniform),
    ],
)
def test_no_verdict_from_a_lemma_with_other_numbers(monkeypatch, lemma, number, judge):
    numbers = inspect.signature(judge).parameters
    owner = next(one for one in all_claims().values() for c in one.checks if c.judge is judge)
    claimed = {name: owner.claimed[name] for name in numbers}
    monkeypatch.setitem(lemma.claimed, number, "something else")
    assert judge(**claimed).outcome == "undecided"


@pytest.mark.parametrize("kappa", [0.001, 0.01, 0.1, 1.0])
def test_soft_maximum_obeys_its_bound_where_the_maximum_does_not(kappa):
    """The coin for a period, with servers that always serve: means are known."""
    window, start = 20, 100
    accepted, busy, regret = window, window / 2, window / 4

    def soft(lengths):
        return np.logaddexp.reduce(kappa * np.array(lengths)) / kappa

    grows = soft([start - accepted, start]) - soft([start, start])
    others = math.log1p(math.exp(-kappa * (start - window))) / kappa
    bound = -window + busy + regret
    assert grows <= bound + kappa * window**2 / 2 + others
    spread = math.sqrt(window * math.log(2) / 2)
    assert max(start - accepted, start) - start > bound + spread  # with the maximum it fails


def test_largest_excess_of_a_few_counts_is_below_the_bound():
    for n in (2, 5, 100):
        for window, rate in ((3, 0.3), (30, 0.5), (200, 0.9)):
            law = [
                math.comb(window, k) * rate**k * (1 - rate) ** (window - k) for k in range(window)
            ]
            excess = (1 - np.cumsum(law) ** n).sum() - window * rate
            assert 0 < excess <= math.sqrt(window * math.log(n) / 2)


# Guarded uniform routing --------------------------------------------------------------------------


def test_guard_and_plain_router_part_only_after_an_alarm():
    arguments = ((0.5,), (0.08,) * 10)
    never = guarded_uniform(100_000, 10, 0.001, 0.8)
    runs = [simulate_periods(*arguments, one, 2_000, 1, 4) for one in (never, uniform_router(10))]
    np.testing.assert_array_equal(runs[0].would_clear, runs[1].would_clear)


def test_last_packet_before_the_alarm_rings_it():
    """The packets of the witness, given to the learner itself."""
    found = guarded._last_packet_before_the_alarm()
    assert found.outcome == "refuted"
    second, first, below, after = map(
        int,
        re.search(
            r"(\d+) packets .* then (\d+) .* from (\d+) .* to (\d+)$", found.witness
        ).groups(),
    )
    guard = guarded_uniform(100_000, 10, evidence.GUARD_ERROR, 0.8)
    state, params = guard.new_state(10)
    for arm in [1] * second + [0] * (first - 1):
        guard.update(state, params, 1, arm, 1.0)
    assert state[6, 0] == 0
    assert state[5, 0] - state[4, 0] == below
    guard.update(state, params, 1, 0, 1.0)
    assert state[6, 0] == 1
    assert state[5, 0] - state[4, 0] == after == below + 9


def test_unlike_servers_against_the_simulator():
    rate, rates = evidence.GUARD_SYSTEMS["unlike"]
    window = 100_000
    run = simulate_periods((rate,), rates, uniform_router(10), window, 1, 6, start_queues=[window])
    chances = guarded._uniform_on_unlike_servers()
    bound = formulas.guarded_uniform_regret(200_000, 10, sum(rates), evidence.GUARD_ERROR)
    mean = float(chances["too much regret"]) * 200_000 + bound + 1
    assert run.regret[0, 0] / window == pytest.approx(mean / 200_000, abs=0.01)


# Numbers and samples that are refused ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("judge", "numbers"),
    [
        (priorities.alone_at_an_idle_server, {"takes": "two", "idle": "just before service"}),
        (priorities.rules_that_differ, {"alone": "three queues"}),
        (expected_regret.every_period_or_not, {"when": "sometimes"}),
        (restarted.a_late_period, {"start": "never"}),
        (restarted.from_the_drift_to_all_times, {"growth": "W"}),
        (guarded.false_alarms, {"servers": "two servers"}),
        (guarded.regret_in_any_environment, {"jump": "m", "guard": guarded._GUARDS[0]}),
    ],
)
def test_an_unknown_variant_is_no_verdict(judge, numbers):
    with pytest.raises(ValueError, match="must be one of"):
        judge(**numbers)


@pytest.mark.parametrize("factor", ["1.25", "1.6", "1.66", "1.67", "3"])
def test_every_factor_but_the_true_one_is_refuted(factor):
    assert priorities.enough_and_needed(factor).outcome == "refuted"


def test_samples_that_are_no_design_decide_nothing():
    regret = {"periods": np.array([20_000])}
    regret |= {f"regret_20000_{rule}": np.full((32, 1), 400) for rule in ("uniform", "fixed")}
    assert restarted.measured_regret(regret, "2").outcome == "undecided"
    few = {"alarm_alike": np.zeros(10, dtype=bool)}
    assert guarded.measured_alarms(few, "identical servers").outcome == "undecided"
    steps = np.array([10_000, 20_000])
    flat = {"steps": steps}
    flat |= {f"queues_3.0_{rule}": np.ones((64, 2, 4)) for rule in evidence.RULES}
    found = priorities.growth_under_three_rules(flat, priorities.FACTOR)
    assert found.outcome == "undecided"


def test_growth_at_the_factor_itself_contradicts_nothing():
    """5/3 times the arrivals is promised nothing, but it is by a smaller factor."""
    rng = np.random.default_rng(3)
    steps = np.arange(1, 21) * 1000
    runs = {"steps": steps}
    for rule in evidence.RULES:
        settled = rng.integers(1, 4, (64, 20, 4))
        runs[f"queues_3.0_{rule}"] = settled
        runs[f"queues_2.667_{rule}"] = settled + (steps // 10)[:, None]
    judge = priorities.growth_under_three_rules
    assert judge(runs, priorities.FACTOR).outcome == "proved"
    assert judge(runs, "1.6").outcome == "refuted"


# Evidence -----------------------------------------------------------------------------------------


def test_learner_of_rare_blocks_survives_the_way_to_a_worker():
    """And insists on the last server in its blocks, and nowhere else on any server."""
    sent = pickle.loads(pickle.dumps(evidence._rare_blocks()))
    state, params = sent.new_state(3)
    rng = np.arange(1, 5, dtype=np.uint64)
    arms = [sent.act(state, params, t, rng) for t in range(1, 2**11)]
    for k in range(2, 11):
        block = 2**k // k
        assert set(arms[2**k - 1 : 2**k + block - 1]) == {2}
        if k > 5:
            assert set(arms[2**k + block - 1 : 2 ** (k + 1) - 1]) == {0, 1, 2}


def test_overloaded_periods_obey_the_inequality_for_any_learner():
    run = simulate_periods(
        [0.3, 0.6],
        [0.2, 0.1, 0.1],
        exp3_ix(learning_rate=0.5),
        50,
        100,
        2,
        start_queues=[50, 50],
    )
    longest = run.start.max(axis=1)[:, None]
    idle = 50 - run.busy.min(axis=1)[:, None]
    assert (longest >= 50).all()
    assert (run.end - longest <= run.arrivals - idle + run.regret).all()
