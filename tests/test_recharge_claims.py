"""What the claims about queue, EXP3 and other learners compute beyond what the ledger judges."""

from fractions import Fraction

import numpy as np
import pytest

from checks.claim import find
from checks.judging import as_printed_decimal, unfit
from checks.methods.certified import ball
from checks.methods.statistical import most_runs
from checks.recharge import exp3_at_work, other_bandits, queue_in_front
from checks.recharge.evidence import exp3_long_run, exp3_settled, queue_growth, queue_settled
from checks.recharge.mean_queue import heavy_traffic_constant, mean_queue
from simlib.recharge import formulas
from simlib.recharge.stationary import heavy_traffic_constant as floating_heavy_traffic
from simlib.recharge.stationary import stationary_queue


@pytest.mark.parametrize(("rate", "margin"), [("1/2", "1/5"), ("1/2", "1/20"), ("3/10", "1/100")])
def test_enclosed_mean_queue_with_one_server_is_the_closed_form(rate, margin):
    service, gap = Fraction(rate), Fraction(margin)
    arrival = service - gap
    # The bufferless queue less the packet in the buffer.
    exact = arrival * (1 - service) / gap - arrival * (1 - service) / service
    low, high = mean_queue((rate,), margin)
    assert low <= exact <= high
    assert high - low < Fraction(1, 10**8)


def test_enclosed_mean_queue_contains_the_matrix_analytic_one():
    rates = ("2/5", "3/10", "1/5", "1/10")
    threshold = sum(x := [Fraction(r) / (1 - Fraction(r)) for r in rates]) / (1 + sum(x))
    low, high = mean_queue(rates, "0.02")
    other = stationary_queue(float(threshold) - 0.02, [float(Fraction(r)) for r in rates]).mean
    assert float(low) == pytest.approx(other, rel=1e-9)
    assert high - low < Fraction(1, 10**7)


def test_heavy_traffic_constant_agrees_with_the_variance_formula():
    rates = ("1/2", "1/10", "3/10")
    exact = heavy_traffic_constant(rates)
    assert formulas.heavy_traffic_constant(formulas.as_rates(rates)) == exact
    assert float(exact) == pytest.approx(floating_heavy_traffic([0.5, 0.1, 0.3]), rel=1e-12)


@pytest.mark.parametrize(("hits", "outcome"), [(40, "proved"), (22, "undecided"), (1, "refuted")])
def test_most_runs_has_three_answers(hits, outcome):
    values = np.arange(40.0)
    found = most_runs(values, lambda value: value < hits, 1e-6, "number", f"below {hits}")
    assert found.outcome == outcome


def test_evidence_does_not_depend_on_the_number_of_workers():
    few = {"horizon": 2_000, "runs": 3, "exploration": 0.02}
    one, two = (queue_settled.compute(7, jobs, **few) for jobs in (1, 2))
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


CLAIMS = (
    *("exp3_concentration", "queue_transient", "stability_threshold", "ucb1_limit"),
    *("not_every_bandit", "crawling", "mean_queue_convention"),
)


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claimed_number_is_visible_read_and_has_a_false_value(name):
    claim = find(name)
    hidden = {key for key in claim.claimed if f"<<{key}>>" not in claim.title + claim.statement}
    assert not hidden
    assert {key for check in claim.checks for key in check.parameters} == set(claim.claimed)
    wrong = {key for check in claim.checks for false in check.false for key in false}
    assert wrong == set(claim.claimed)


# Texts that are no numbers of the kind claimed ---------------------------------------------------


@pytest.mark.parametrize("text", ["3/2", "1", "1.", ".5", "1e0", "-1.3", "nan", "1.3 4"])
def test_a_printed_number_must_say_how_exactly_it_is_meant(text):
    with pytest.raises(ValueError, match="plain decimal"):
        as_printed_decimal("ratio", text)
    with pytest.raises(ValueError, match="plain decimal"):
        queue_in_front.ratio_in_heavy_traffic(text)


@pytest.mark.parametrize("exponent", ["0", "-1"])
def test_a_factor_that_does_not_shrink_is_refused(exponent):
    with pytest.raises(ValueError, match="positive"):
        queue_in_front.exponential_moment(exponent)


# Checks that refute must first have looked -------------------------------------------------------


@pytest.mark.parametrize(
    "rates",
    [
        ("1/2", "3/5", "3/10"),  # the blocks are served faster than packets arrive
        ("1/10", "1/20", "1/10"),  # packets arrive faster than h
    ],
)
def test_rare_blocks_refute_nothing_where_the_construction_fails(monkeypatch, rates):
    monkeypatch.setattr(queue_in_front, "I3", rates)
    for guarantee in queue_in_front._GUARANTEES:
        assert queue_in_front.rare_long_blocks(guarantee).outcome == "undecided"


def test_the_flow_is_not_refuted_where_it_rests():
    rates = exp3_at_work._SYSTEMS["I3"]
    odds = [Fraction(rate) / (1 - Fraction(rate)) for rate in rates]
    at_rest = [ball(rho / sum(odds)) for rho in odds]
    assert exp3_at_work._pushes_differ(at_rest, rates).outcome == "undecided"
    moved = [at_rest[0] + ball("0.001"), at_rest[1] - ball("0.001"), at_rest[2]]
    assert exp3_at_work._pushes_differ(moved, rates).outcome == "refuted"


def test_both_routes_to_the_noise_agree_on_another_system():
    rates = ("2/5", "3/10", "1/5", "1/10")
    chain = exp3_at_work._long_run_covariance(rates, "serially correlated")
    assert chain == exp3_at_work._closed_covariance(rates)


@pytest.mark.parametrize("instance", ["3", "7"])
def test_predicted_deviations_are_judged_to_the_last_digit(instance):
    claimed = {key: find("exp3_concentration").claimed[key] for key in ("std_3", "std_7", "noise")}
    *others, last = claimed[f"std_{instance}"].split(", ")
    for step in (-1, 1):
        wrong = ", ".join([*others, f"{float(last) + step * 1e-4:.4f}"])
        found = exp3_at_work.predicted_deviations(**claimed | {f"std_{instance}": wrong})
        assert found.outcome == "refuted"


@pytest.mark.parametrize(
    ("name", "value", "step"),
    [
        ("overshoot", "1.59", "length of a window"),
        ("switch_share", "0.51", "few switches"),
        ("switch_share", "0.49", "many switches"),
        ("gap_factor", "3.99", "many switches"),
    ],
)
def test_each_constant_of_a_window_breaks_the_step_it_belongs_to(name, value, step):
    claimed = find("ucb1_limit").claimed
    names = ("overshoot", "switch_share", "gap_factor")
    numbers = {key: claimed[key] for key in names} | {name: value}
    found = other_bandits.arithmetic_of_a_window(**numbers)
    assert found.outcome == "refuted"
    assert found.witness.startswith(step)


# Degenerate samples decide nothing ---------------------------------------------------------------


@pytest.mark.parametrize(
    "samples", [np.full(48, 0.4), np.full(48, np.nan), np.linspace(0.39, 0.41, 47), np.zeros(0)]
)
def test_samples_that_are_no_design_are_unfit(samples):
    assert unfit(samples, exp3_settled, "deviation").outcome == "undecided"
    assert exp3_at_work._within(samples, 0.4, 0.12, 1e-7, "deviation").outcome == "undecided"


@pytest.mark.parametrize("values", [[0.6062] * 3, [0.6062, np.nan, 0.6061], [0.6061, 0.6062]])
def test_a_published_number_is_not_reproduced_by_degenerate_runs(values):
    assert exp3_long_run.parameters("quick")["runs"] == 3
    found = exp3_at_work._every_run(np.array(values), 0.6062, 1.5e-4, "utility")
    assert found.outcome == "undecided"


@pytest.mark.parametrize("spoil", [lambda x: x * 0, lambda x: x * np.nan, lambda x: x[:9]])
def test_a_queue_without_spread_or_runs_shows_no_transient(spoil):
    growth = queue_growth.get()
    bad = growth | {"late_mean_I7_10": spoil(growth["late_mean_I7_10"])}
    assert queue_in_front.published_shape(bad, "seven").outcome == "undecided"
    assert queue_in_front.height_of_the_fluid_peak(bad, "1").outcome == "undecided"
