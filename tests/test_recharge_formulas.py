"""Closed forms of the recharging bandit: known values, and properties of arbitrary instances."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlib.recharge import formulas
from simlib.recharge.formulas import INSTANCES, as_rates, capacity, identical

I3, I7 = INSTANCES["I3"], INSTANCES["I7"]

rational_rates = st.lists(
    st.fractions(F(1, 50), F(49, 50), max_denominator=60), min_size=1, max_size=6
)


def test_named_instances_have_the_published_values():
    assert formulas.odds(I3) == (1, F(1, 9), F(3, 7))
    assert formulas.total_odds(I3) == F(97, 63)
    assert formulas.hamacher_sum(I3) == F(97, 160)
    assert formulas.normalized_odds(I3) == (F(63, 97), F(7, 97), F(27, 97))
    assert formulas.total_odds(I7) == F(1963, 603)
    assert formulas.hamacher_sum(I7) == F(1963, 2566)
    assert formulas.optimum_upper_bound(I3) == F(137, 200)
    assert float(formulas.optimum_upper_bound(I7)) == pytest.approx(0.923869, abs=5e-7)
    assert formulas.optimum_upper_bound_exponential(I3) == pytest.approx(0.785551, abs=5e-7)
    assert formulas.optimum_upper_bound_exponential(I7) == pytest.approx(0.961434, abs=5e-7)
    assert formulas.round_robin_utility(I3) == F(601, 1000)
    assert 1 / float(formulas.price_of_learning(I3)) == pytest.approx(0.885, abs=5e-4)
    assert 1 / float(formulas.price_of_learning(I7)) == pytest.approx(0.828, abs=5e-4)


def test_relaxed_pull_frequencies():
    assert formulas.relaxed_pull_frequencies(I3) == pytest.approx(
        [0.60003, 0.09121, 0.30876], abs=5e-6
    )
    assert formulas.relaxed_pull_frequencies(I7)[[0, 1, 4, 6]] == pytest.approx(
        [0.26915, 0.15551, 0.11171, 0.04091], abs=5e-6
    )


def test_memoryless_routers():
    uniform = [F(1, 3)] * 3
    assert formulas.memoryless_utility(I3, uniform) == F(25, 48)
    assert formulas.memoryless_availability(I3, uniform) == (F(3, 4), F(1, 4), F(9, 16))
    assert formulas.memoryless_utility(I3, [x / sum(I3) for x in I3]) == F(605, 1008)


def test_competitive_ratios():
    ratio, root = formulas.least_competitive_ratio()
    assert ratio == pytest.approx(0.770163492004491, abs=1e-14)
    assert root == pytest.approx(1.793282132900761, abs=1e-14)
    assert 1 / ratio == pytest.approx(1.29842560752563911948, abs=1e-14)
    assert formulas.competitive_ratio_arms(2, 2) == F(8, 9)
    known = {
        3: (0.850303, 1.93725),
        4: (0.830664, 1.90381),
        5: (0.818761, 1.88300),
        7: (0.805042, 1.85847),
        10: (0.794668, 1.83953),
        50: (0.775099, 1.80277),
        1000: (0.770411, None),
    }
    for arms, (value, where) in known.items():
        ratio, root = formulas.least_competitive_ratio(arms)
        assert ratio == pytest.approx(value, abs=6e-7)
        assert where is None or root == pytest.approx(where, abs=6e-6)


def test_the_printed_price_of_learning_is_exceeded_by_fifty_servers():
    assert 1 / formulas.competitive_ratio_arms("9/5", 50) > F(129, 100)
    assert formulas.price_of_learning(identical(50, "9/5")) > F(129, 100)
    assert 1 / formulas.least_competitive_ratio(49)[0] < 1.29


def test_exp3_predictions():
    assert formulas.relaxation_time(I3, 1e-4 / 3) == pytest.approx(1.257e5, rel=5e-4)
    assert formulas.relaxation_time(I7, 1e-4 / 7) == pytest.approx(3.894e5, rel=5e-4)
    assert float(formulas.stationary_utility_loss(I3, 1)) == pytest.approx(0.3675, abs=5e-5)
    assert float(formulas.stationary_utility_loss(I7, 1)) == pytest.approx(1.7557, abs=5e-5)
    arrival = float(formulas.hamacher_sum(I7)) - 0.005
    assert formulas.largest_learning_rate(arrival, I7) == pytest.approx(0.00285, abs=5e-6)


def test_servers_needed_counts_the_boundary_as_unstable():
    # Seven servers of rate 3/10 have odds 3, exactly what arrivals at 3/4 need and not more.
    assert formulas.missing_odds("3/4", ["3/10"] * 7) == 0
    assert [formulas.servers_needed(x, "3/10") for x in ("1/2", "3/4", "9/10")] == [3, 8, 22]
    assert formulas.servers_needed("1/2", "3/10", I3) == 0


def test_bufferless_queue_differs_by_the_arrivals_between_epochs():
    assert formulas.bufferless_mean_queue("3/10", "1/2") == F(3, 4)
    assert formulas.bufferless_mean_queue("3/10", "1/2", "arrival") == F(21, 20)


def test_capacity_calculator():
    report = capacity("59/100", I3, learning_rate=0.001, new_server_rate="3/10")
    assert report.verdict == "stable if regret is small on every window"
    assert report.margin == F(13, 800)
    assert report.missing_odds == F(59, 41) - F(97, 63)
    assert report.servers_needed == 0
    assert report.bufferless_rate == F(1, 2)
    assert report.kappa == pytest.approx(0.22639, abs=5e-6)
    assert report.expected_queue < report.learning_expected_queue
    assert report.effective_margin < report.margin
    assert capacity(0.65, I3).verdict == "not guaranteed"
    assert capacity(0.65, I3).expected_queue is None
    assert capacity(0.7, I3).verdict == "above the ceiling"
    # Learning noise alone can use up the margin.
    noisy = capacity("3/5", I3, learning_rate=0.1)
    assert noisy.effective_margin < 0
    assert noisy.learning_expected_queue is None


@given(rational_rates)
def test_hamacher_sum_lies_between_the_best_server_and_the_upper_bound(rates):
    h = formulas.hamacher_sum(rates)
    assert max(rates) <= h <= formulas.optimum_upper_bound(rates)
    assert formulas.memoryless_utility(rates, formulas.normalized_odds(rates)) == h
    assert set(formulas.memoryless_availability(rates, formulas.normalized_odds(rates))) == {h}
    assert formulas.optimum_upper_bound(rates) <= formulas.optimum_upper_bound_exponential(
        rates
    ) + F(1, 10**12)
    assert h * formulas.price_of_learning(rates) == formulas.optimum_upper_bound(rates)
    assert float(1 / formulas.price_of_learning(rates)) >= formulas.least_competitive_ratio()[0]


@given(rational_rates, st.data())
def test_no_memoryless_router_beats_the_normalized_odds(rates, data):
    weights = data.draw(
        st.lists(st.integers(1, 20), min_size=len(rates), max_size=len(rates)), label="weights"
    )
    p = [F(weight, sum(weights)) for weight in weights]
    assert formulas.memoryless_utility(rates, p) <= formulas.hamacher_sum(rates)


@given(rational_rates)
def test_floats_and_fractions_agree(rates):
    floats = [float(rate) for rate in rates]
    for function in (
        formulas.hamacher_sum,
        formulas.optimum_upper_bound,
        formulas.round_robin_utility,
        formulas.price_of_learning,
    ):
        assert isinstance(function(rates), F)
        assert function(floats) == pytest.approx(float(function(rates)), rel=1e-12)


@given(st.fractions(F(1, 50), F(49, 50), max_denominator=60), st.integers(1, 40))
def test_gap_hindsight_is_the_literal_sum(rate, gap):
    literal = sum(formulas.availability(rate, age) for age in range(1, gap + 1))
    assert formulas.gap_hindsight(rate, gap) == literal


def test_exactness_follows_the_input():
    assert as_rates(["3/10", "0.5", F(1, 7)]) == (F(3, 10), F(1, 2), F(1, 7))
    assert isinstance(as_rates([F(1, 2), 0.5]), np.ndarray)
    assert formulas.availability("1/3", math.inf) == 1
    assert formulas.availability(0.25, 2) == pytest.approx(0.4375)


@pytest.mark.parametrize("wrong", [[], "1/2", [0.0], [1], ["1/0"], ["x"], [None], [0.5, 1.5], 0.5])
def test_rates_out_of_range_are_refused_by_name(wrong):
    with pytest.raises(ValueError, match=r"^rates.*permitted"):
        formulas.hamacher_sum(wrong)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("p", lambda: formulas.memoryless_utility(I3, ["1/3"] * 2)),
        ("p", lambda: formulas.memoryless_utility(I3, [0.5, 0.5, 0.5])),
        ("p", lambda: formulas.memoryless_utility(I3, [-0.5, 0.5, 1.0])),
        ("arrival_rate", lambda: formulas.missing_odds(1, I3)),
        ("learning_rate", lambda: formulas.relaxation_time(I3, 0.0)),
        ("age", lambda: formulas.availability(0.5, 0)),
        ("total_odds", lambda: formulas.competitive_ratio(-1.0)),
        ("total_odds", lambda: formulas.competitive_ratio(True)),
        ("arms", lambda: formulas.least_competitive_ratio(1)),
        ("arms", lambda: identical(0, 1)),
        ("epoch", lambda: formulas.bufferless_mean_queue(0.1, 0.2, "start")),
        ("arrival_rate", lambda: formulas.bufferless_mean_queue(0.3, 0.2)),
    ],
)
def test_other_parameters_out_of_range_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=rf"^{name}.*permitted"):
        call()
