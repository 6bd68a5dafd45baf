"""Every rule, expected regret, restarted learners: second routes to what the claims compute."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.claim import find
from checks.methods.certified import ball, precision
from checks.strategic import guarded, hypotheses, restarted
from checks.strategic.evidence import hypotheses as evidence
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
    found = hypotheses._coin_for_a_period(None).witness
    assert f"r = {fixed:.1f}" in found
    assert run.cleared[:, 1].sum() == 0


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
    from scipy import stats

    for n in (2, 5, 100):
        for window, rate in ((3, 0.3), (30, 0.5), (200, 0.9)):
            below = stats.binom.cdf(np.arange(window), window, rate)
            excess = (1 - below**n).sum() - window * rate
            assert 0 < excess <= math.sqrt(window * math.log(n) / 2)


# Guarded uniform routing --------------------------------------------------------------------------


def test_guard_and_plain_router_part_only_after_an_alarm():
    arguments = ((0.5,), (0.08,) * 10)
    never = guarded_uniform(100_000, 10, 0.001, 0.8)
    runs = [simulate_periods(*arguments, one, 2_000, 1, 4) for one in (never, uniform_router(10))]
    np.testing.assert_array_equal(runs[0].would_clear, runs[1].would_clear)


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
        (hypotheses.alone_at_an_idle_server, {"takes": "two", "idle": "just before service"}),
        (hypotheses.rules_that_differ, {"alone": "three queues"}),
        (hypotheses.largest_excess_of_arrivals, {"spread": "1/3"}),
        (hypotheses.every_period_or_not, {"when": "sometimes"}),
        (restarted.a_late_period, {"start": "never"}),
        (restarted.assemble_the_drift, {"share": "2"}),
        (guarded.false_alarms, {"servers": "two servers"}),
        (guarded.deviation_of_the_estimates, {"deviation": "1"}),
    ],
)
def test_an_unknown_variant_is_no_verdict(judge, numbers):
    with pytest.raises(ValueError, match="must be one of"):
        judge(**numbers)


@pytest.mark.parametrize("factor", ["1.25", "1.6", "1.66", "1.67", "3"])
def test_every_factor_but_the_true_one_is_refuted(factor):
    assert hypotheses.enough_and_needed(factor).outcome == "refuted"


def test_samples_that_are_no_design_decide_nothing():
    regret = {"periods": np.array([20_000])}
    regret |= {f"regret_20000_{rule}": np.full((32, 1), 400) for rule in ("uniform", "fixed")}
    assert restarted.measured_regret(regret, "2").outcome == "undecided"
    few = {"alarm_alike": np.zeros(10, dtype=bool)}
    assert guarded.measured_alarms(few, "identical servers").outcome == "undecided"
    steps = np.array([10_000, 20_000])
    flat = {"steps": steps}
    flat |= {f"queues_3.0_{rule}": np.ones((64, 2, 4)) for rule in evidence.RULES}
    found = hypotheses.growth_under_three_rules(flat, hypotheses.FACTOR)
    assert found.outcome == "undecided"


# Evidence -----------------------------------------------------------------------------------------


def test_evidence_does_not_depend_on_the_number_of_workers():
    one, two = (evidence.violators.compute(7, jobs, power=6, runs=2) for jobs in (1, 2))
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


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
