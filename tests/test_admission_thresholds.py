"""Thresholds, increments, diameter: second routes to what the claims compute, and what they refuse."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.admission import bias, perturbation, thresholds, throughput
from checks.admission.birth_death import SHAPES, drawn, drawn_acceptance, solved_cost, solved_law
from checks.claim import find
from checks.finding import PROVED
from checks.judging import misprint
from simlib.admission.model import (
    AdmissionModel,
    bellman,
    delta_bound,
    diameter,
    increments,
    law,
    mean_cost,
    policies,
    scan_threshold,
    threshold,
    threshold_costs,
)
from simlib.admission.network import Network
from simlib.admission.product_form import flow_equivalent_rates

QUARTERS = st.integers(1, 16).map(lambda n: Fraction(n, 4))
MODELS = st.builds(
    AdmissionModel, QUARTERS, st.lists(QUARTERS, min_size=1, max_size=5), QUARTERS, QUARTERS
)


@pytest.mark.parametrize("shape", SHAPES)
def test_drawn_problems_have_their_shape_and_are_the_same_in_every_run(shape):
    models = list(drawn(12, limit=5, shape=shape))
    assert models == list(drawn(12, limit=5, shape=shape))
    for model in models:
        steps = [b - a for a, b in zip((0, *model.rates), model.rates, strict=False)]
        assert shape != "nondecreasing" or min(steps) >= 0
        assert shape != "concave" or steps == sorted(steps, reverse=True)


@settings(max_examples=25, deadline=None)
@given(MODELS, st.integers(0, 99))
def test_solved_laws_are_the_products_of_ratios(model, seed):
    alphas = drawn_acceptance(model.limit, seed)
    assert solved_law(model, alphas) == law(model, alphas)
    assert solved_cost(model, alphas) == mean_cost(model, alphas)


@settings(max_examples=25, deadline=None)
@given(MODELS)
def test_optimality_equation_is_solved_by_the_least_cost_only(model):
    cost = min(threshold_costs(model))
    assert cost == min(mean_cost(model, rule) for rule in policies(model.limit))
    steps = thresholds.optimal_increments(model, cost)
    assert thresholds.optimality_residual(model, cost, steps) == 0
    assert tuple(steps) == bellman(model).increments
    for other in (cost * Fraction(9, 10), cost * Fraction(11, 10)):
        steps = thresholds.optimal_increments(model, other)
        assert thresholds.optimality_residual(model, other, steps) > 0


def test_concave_rates_that_fall_at_the_end_still_give_thresholds():
    # The theory document asks for nondecreasing rates as well; the proof does not.
    fallen = 0
    for model in drawn(60, limit=6, shape="concave", seed=5):
        found = bellman(model)
        assert list(found.increments) == sorted(found.increments)
        assert found.is_threshold
        assert scan_threshold(model) == threshold_costs(model).index(found.cost)
        fallen += model.rates[-1] < model.rates[-2]
    assert fallen >= 5


@settings(max_examples=25, deadline=None)
@given(MODELS)
def test_increments_are_within_the_bounds_without_any_optimism(model):
    model = AdmissionModel(
        model.arrival_rate, sorted(model.rates), model.rejection_cost, model.holding_cost
    )
    sharp = perturbation.increment_limits(model)
    assert all(a <= b for a, b in zip(sharp, delta_bound(model), strict=True))
    for theta in range(1, model.limit + 1):
        found = increments(model, threshold(theta, model.limit))
        assert all(0 <= found[s] <= sharp[s] for s in range(theta))


def test_sharper_factor_is_attained_up_to_a_rare_arrival():
    model = AdmissionModel(Fraction(1, 1000), (1,), 0, 1)
    assert increments(model, (1,))[0] == Fraction(1000, 1001)
    assert perturbation.increment_limits(model) == [1]


def test_diameter_of_one_server_in_closed_form():
    # Up one state from s: (U/lambda)(r^(s+1) - 1)/(r - 1) with r = mu/lambda.
    model = AdmissionModel(1, (3,) * 6, 0, 0)
    up = sum(Fraction(4) * (3 ** (s + 1) - 1) / 2 for s in range(6))
    assert diameter(model) == (up, 8)


def test_balanced_single_servers_have_rates_s_over_s_plus_n_minus_one():
    network = Network(1, [[0] * 3] * 3, (1, 1, 1), None, (Fraction(1, 3),) * 3)
    rates = flow_equivalent_rates(network, 6)
    assert list(rates) == [Fraction(3 * s, s + 2) for s in range(1, 7)]


@pytest.mark.parametrize(
    ("claim", "number", "wrong"),
    [
        ("threshold_gain", "first", "the last one"),
        ("threshold_concave", "stop", "never"),
        ("diameter", "overload", "quadratic"),
        ("diameter", "up_stable", "382.4, 11927.5"),
        ("bias_increment", "bound", "2s"),
        ("perturbation_identity", "which", "third"),
        ("increment_bounds", "factor", "1"),
        ("concave_rates", "shape", "linear"),
    ],
)
def test_unknown_variants_are_refused_by_name(claim, number, wrong):
    claim = find(f"admission.{claim}")
    for check in claim.checks:
        if number in check.parameters:
            with pytest.raises(ValueError, match=number):
                check.decide(claim.claimed | {number: wrong})


@pytest.mark.parametrize(
    ("claim", "number", "weaker"),
    [
        ("increment_bounds", "factor", r"\max\{s,\theta-s+1\}"),
        ("increment_bounds", "half", "S"),
    ],
)
def test_the_weaker_bounds_of_the_theory_document_are_proved_too(claim, number, weaker):
    claim = find(f"admission.{claim}")
    (check,) = [c for c in claim.checks if c.judge is perturbation.both_bounds_by_induction]
    assert check.decide(claim.claimed | {number: weaker}).outcome == PROVED


def test_decimals_are_compared_as_printed():
    third, rest = ("a", Fraction(1, 3)), ("b", Fraction(2, 3))
    assert misprint("x", "0.3, 0.67", [third, rest]) is None
    assert misprint("x", "0.3, 0.66", [third, rest]).witness == "b: 0.666667, not 0.66"
    for text in ("0.66", "0.3, 0.67, 0.5"):
        with pytest.raises(ValueError, match="must be 2 numbers, for a; b"):
            misprint("x", text, [third, rest])


@pytest.mark.parametrize(
    ("name", "number", "text"),
    [
        ("module_variance", "queue", "1.000, 1.000"),
        ("kl_radius", "below", "0.8062"),
        ("regret_theorem", "at_7", "20.8, 42.2, 50.2, 1.0"),
        ("regret_bound", "better", "increments"),
        ("tiers_baselines", "reject", "0.0753"),
        ("sample_law", "sums", "0.0007"),
    ],
)
def test_a_list_that_is_too_short_or_too_long_is_no_verdict(name, number, text):
    claim = find(f"admission.{name}")
    for check in claim.checks:
        if number in check.parameters:
            with pytest.raises(ValueError, match=f"{number} = .*must be [0-9]+ numbers"):
                check.decide(claim.claimed | {number: text})


def test_every_claim_of_these_modules_reads_all_its_numbers_in_general():
    for module in (thresholds, bias, perturbation, throughput):
        for claim in vars(module).values():
            if getattr(claim, "topic", None) == "admission":
                general = [check for check in claim.checks if check.scope == "general"]
                assert {check.part for check in general} == set(claim.parts)
                assert {name for check in general for name in check.parameters} == set(
                    claim.claimed
                )
