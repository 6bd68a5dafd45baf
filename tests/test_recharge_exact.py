"""Exact evaluation, optimum, stationary queue and mean-field flow of the recharging bandit."""

import dataclasses
import itertools
import json
import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlib.recharge import exact, flow, optimum, stationary
from simlib.recharge.formulas import (
    INSTANCES,
    availability,
    bufferless_mean_queue,
    hamacher_sum,
    normalized_odds,
    odds,
    optimum_upper_bound,
    stationary_utility_loss,
)

I3, I7 = INSTANCES["I3"], INSTANCES["I7"]
UNIFORM = ("1/3", "1/3", "1/3")

rational_rates = st.lists(
    st.fractions(F(1, 20), F(19, 20), max_denominator=30), min_size=1, max_size=4
)


@st.composite
def schedules(draw):
    rates = draw(rational_rates)
    arms = st.integers(0, len(rates) - 1)
    return rates, draw(st.lists(arms, min_size=1, max_size=40))


@given(schedules())
def test_utility_identity_holds_on_every_schedule(schedule):
    rates, actions = schedule
    value = exact.evaluate_schedule(rates, actions)
    shares = odds(rates)
    rho = sum(shares)
    weighted = sum(x * y for x, y in zip(shares, value.regrets, strict=True))
    boundary = sum(
        (1 - rate) ** tail
        for rate, tail in zip(rates, value.tails, strict=True)
        if tail is not None
    )
    assert (1 + rho) * value.utility == rho * value.steps - weighted + boundary
    assert value.utility >= hamacher_sum(rates) * (value.steps - value.regret)
    assert value.utility <= value.steps * optimum_upper_bound(rates) + len(rates)


@given(schedules())
def test_schedules_are_valued_step_by_step(schedule):
    rates, actions = schedule
    last, hindsight, collected = {}, [F(0)] * len(rates), [F(0)] * len(rates)
    for t, action in enumerate(actions):
        for arm, rate in enumerate(rates):
            free = availability(rate, t - last[arm]) if arm in last else F(1)
            hindsight[arm] += free
            collected[arm] += free if arm == action else 0
        last[action] = t
    value = exact.evaluate_schedule(rates, actions)
    assert value.hindsight == tuple(hindsight)
    assert value.utility_by_arm == tuple(collected)
    assert value.utility == sum(collected)


def test_acceptance_depends_on_the_age_alone():
    rates = (F(1, 3), F(3, 4))
    cells = [
        cell
        for actions in itertools.product((0, 1), repeat=6)
        for cell in exact.acceptance_given_history(rates, actions)
    ]
    assert len(cells) == 4032
    assert all(cell.acceptance == availability(rates[cell.arm], cell.age) for cell in cells)


def test_rejections_reset_the_age():
    cells = exact.acceptance_given_history(("1/3", "3/4"), (0, 0))
    after_rejection = next(cell for cell in cells if cell.history == (0,))
    assert after_rejection.acceptance == F(1, 3) != availability("1/3", 2)
    first = exact.acceptance_given_history(("1/3", "3/4"), (0, 1), initial_age=None)
    assert [cell.acceptance for cell in first] == [1, 1]


def test_saturated_chain():
    chain = exact.saturated_chain(I3, normalized_odds(I3))
    assert chain.accept_rate == F(97, 160)
    assert chain.availability == (F(97, 160),) * 3
    assert sum(chain.stationary) == 1
    uniform = exact.saturated_chain(I3, UNIFORM)
    assert uniform.accept_rate == F(25, 48)
    assert uniform.availability == (F(3, 4), F(1, 4), F(9, 16))
    assert exact.saturated_chain(I3, [x / sum(I3) for x in I3]).accept_rate == F(605, 1008)
    # A server that is never used is free.
    assert exact.saturated_chain(I3, (1, 0, 0)).availability == (F(1, 2), 1, 1)


@settings(max_examples=20)
@given(rational_rates)
def test_saturated_chain_attains_the_hamacher_sum(rates):
    chain = exact.saturated_chain(rates, normalized_odds(rates))
    assert chain.accept_rate == hamacher_sum(rates)
    assert set(chain.availability) == {hamacher_sum(rates)}


def test_lumped_chain():
    for arms, total, value in ((10, "9/10", F(90, 181)), (5, 1, F(5, 9)), (12, "3/2", F(12, 19))):
        assert exact.lumped_chain(arms, total_service_rate=total).accept_rate == value
    assert exact.lumped_chain(3, "1/2").accept_rate == F(3, 4)
    full = exact.saturated_chain(["2/7"] * 3, UNIFORM)
    assert exact.lumped_chain(3, "2/7").accept_rate == full.accept_rate


OPTIMA = {
    "I3": (F(67252215599, 10**11), 160),
    "half, quarter": (F(39, 64), 19),
    "half, tenth": (F(1620859837, 3 * 10**9), 31),
    "fast, slow": (0.90239883668355, 115),
    "half, third, quarter": (F(61919, 82944), 254),
    "fifth, tenth, twentieth": (F(2811600261, 8960000000), 1862),
    "fast, half, tenth": (0.93679161559633, 1726),
    "four arms": (F(69014775599, 10**11), 5471),
    "three of 3/10": (F(657, 1000), 130),
    "three of 1/2": (F(7, 8), 130),
    "two of 1/2": (F(3, 4), 15),
}


def test_stored_certificates_prove_the_optima():
    stored = optimum.certificates()
    assert stored.keys() == OPTIMA.keys() == INSTANCES.keys() - {"I7"}
    for name, certificate in stored.items():
        gain, states = OPTIMA[name]
        result = optimum.check_certificate(certificate)
        assert result, result.detail
        assert result.states == states
        assert certificate.rates == INSTANCES[name]
        if isinstance(gain, F):
            assert certificate.gain == gain
        else:
            assert float(certificate.gain) == pytest.approx(gain, abs=1e-14)
    assert stored["I3"].span == F(134098695697, 10**11)


def test_a_policy_found_by_others_is_accepted_too():
    policy = (
        "02002020102000200010202000201020202000202100000020002020200020202000202020102010"
        "20102010201020102010201020102010200020102000202020202020200000202020202220000022"
    )
    ours = optimum.certificates()["I3"]
    theirs = dataclasses.replace(ours, policy=policy, cycle=tuple(map(int, "0200200201")))
    assert optimum.check_certificate(theirs)


def test_wrong_certificates_are_rejected_at_the_step_that_fails():
    right = optimum.certificates()["I3"]
    unit = F(1, 10**11)

    def failed(**changes):
        return optimum.check_certificate(dataclasses.replace(right, **changes)).failed_step

    assert failed(gain=right.gain + unit) == "attained"
    assert failed(gain=right.gain - unit) == "attained"
    assert failed(rates=("1/2", "1/10", "31/100")) == "attained"
    assert failed(caps=(4, 10, 6)) == "attained"  # the cycle has a gap of 10
    assert failed(policy=right.policy[:-1]) == "states"
    assert failed(span=right.span - unit) == "span"
    lazy = dataclasses.replace(
        right, cycle=(0,), gain=F(1, 2), policy="0" * len(right.policy), span=F(1)
    )
    assert optimum.check_certificate(lazy).failed_step == "Bellman inequality"
    failures = set()
    for position in range(0, len(right.policy), 7):
        digit = str((int(right.policy[position]) + 1) % 3)
        failures.add(failed(policy=right.policy[:position] + digit + right.policy[position + 1 :]))
    # None: a single changed digit can give another optimal policy with the same values.
    assert failures <= {"relative values", "Bellman inequality", "span", None}
    assert "Bellman inequality" in failures


def test_a_second_cycle_in_the_policy_is_noticed():
    right = optimum.certificates()["three of 1/2"]
    graph = optimum._CappedGraph(right.rates, right.caps)
    # Pulling arm 0 for ever ends in a loop of its own, which the right policy never meets.
    lonely = graph.states.index((1, 8, 8))
    policy = right.policy[:lonely] + "0" + right.policy[lonely + 1 :]
    result = optimum.check_certificate(dataclasses.replace(right, policy=policy))
    assert result.failed_step == "relative values"


def test_certificates_can_be_found_for_other_instances():
    found = optimum.find_certificate(("2/3", "1/5"))
    assert optimum.check_certificate(found)
    best = max(
        optimum.cycle_value(found.rates, cycle)
        for length in range(1, 10)
        for cycle in itertools.product((0, 1), repeat=length)
    )
    assert found.gain == best
    again = optimum.Certificate.from_json(json.loads(json.dumps(found.to_json())))
    assert again == found
    assert optimum.find_certificate(I3).gain == optimum.certificates()["I3"].gain
    for short in ((4, 19, 6), (4, 20, 5), (3, 20, 6)):
        with pytest.raises(ValueError, match="caps"):
            optimum.find_certificate(I3, short)
    with pytest.raises(ValueError, match="most_states"):
        optimum.find_certificate(I3, (40, 40, 40), most_states=1000)


def test_stored_certificates_are_what_the_finder_finds():
    for name, stored in optimum.certificates().items():
        assert optimum.find_certificate(stored.rates, stored.caps) == stored, name


def test_optima_lie_within_the_proved_bounds():
    for name, certificate in optimum.certificates().items():
        rates = INSTANCES[name]
        assert hamacher_sum(rates) <= certificate.gain <= optimum_upper_bound(rates)
    assert float(optimum.cycle_value(I7, optimum.I7_CYCLE)) == pytest.approx(0.921516, abs=5e-7)


def test_a_router_that_sees_the_buffers_beats_the_bound_for_schedules():
    assert optimum.clairvoyant_rate(["1/2"] * 3) == pytest.approx(33 / 34, abs=1e-12)
    assert optimum.clairvoyant_rate(I3) == pytest.approx(0.807056, abs=5e-7)
    assert optimum.clairvoyant_rate(I7) == pytest.approx(0.999947, abs=5e-7)


QUEUE_TABLE = {
    "I3": {
        0.1: (1.5426, 2.201, 0.45355, 0.649968),
        0.05: (3.7674, 4.532, 0.25908, 0.804633),
        0.02: (10.5352, 11.372, 0.11288, 0.916030),
        0.015: (14.3043, 15.154, 0.08591, 0.936232),
        0.01: (21.8466, 22.709, 0.05813, 0.956949),
        0.005: (44.4816, 45.357, 0.02950, 0.978198),
        0.001: (225.590, 226.48, 0.00597, 0.995594),
    },
    "I7": {
        0.1: (1.2528, 1.792, 0.47687, 0.587025),
        0.05: (2.9209, 3.534, 0.28419, 0.756443),
        0.02: (7.9703, 8.634, 0.12810, 0.890892),
        0.015: (10.7799, 11.453, 0.09813, 0.916504),
        0.01: (16.4012, 17.084, 0.06684, 0.943180),
        0.005: (33.2690, 33.961, 0.03416, 0.970988),
        0.001: (168.225, 168.93, 0.00696, 0.994098),
    },
}


@pytest.mark.parametrize("name", QUEUE_TABLE)
def test_stationary_queue(name):
    rates = INSTANCES[name]
    for margin, (mean, deviation, empty, decay) in QUEUE_TABLE[name].items():
        queue = stationary.stationary_queue(float(hamacher_sum(rates)) - margin, rates)
        assert queue.mean == pytest.approx(mean, rel=3e-5)
        assert queue.standard_deviation == pytest.approx(deviation, rel=3e-4)
        assert queue.probability_empty == pytest.approx(empty, abs=6e-6)
        assert queue.decay == pytest.approx(decay, abs=6e-7)


def test_stationary_queue_of_other_routers():
    for arrival_rate, mean in ((0.5, 10.42), (0.515, 39.53), (0.52, 282.1)):
        queue = stationary.stationary_queue(arrival_rate, I3, UNIFORM)
        assert queue.mean == pytest.approx(mean, rel=5e-4)
    # One server: the queue beside a buffer, known in closed form.
    for arrival_rate in ("3/10", "9/20"):
        queue = stationary.stationary_queue(arrival_rate, ["1/2"])
        in_buffer = F(arrival_rate) * F(1, 2) / F(1, 2)
        whole = bufferless_mean_queue(arrival_rate, "1/2")
        assert queue.mean == pytest.approx(float(whole - in_buffer), rel=1e-12)
    law = stationary.stationary_queue(0.5, I3).law(400)
    assert law.sum() == pytest.approx(1, abs=1e-12)
    assert law @ np.arange(400) == pytest.approx(stationary.stationary_queue(0.5, I3).mean)


def test_unstable_arrivals_are_refused_with_the_threshold():
    with pytest.raises(ValueError, match=r"arrival_rate.*0\.60625"):
        stationary.stationary_queue(0.60626, I3)
    with pytest.raises(ValueError, match=r"arrival_rate.*0\.520833"):
        stationary.stationary_queue("25/48", I3, UNIFORM)


def test_heavy_traffic_constant():
    assert stationary.acceptance_variance(I3) == pytest.approx(0.214069, abs=5e-7)
    assert stationary.acceptance_variance(I7) == pytest.approx(0.157622, abs=5e-7)
    for rates, kappa in ((I3, 0.22639), (I7, 0.16870)):
        assert stationary.heavy_traffic_constant(rates) == pytest.approx(kappa, abs=5e-6)
        queue = stationary.stationary_queue(float(hamacher_sum(rates)) - 1e-5, rates)
        assert queue.mean * 1e-5 == pytest.approx(kappa, rel=1e-4)


def test_mean_field_flow_settles_on_the_normalized_odds():
    path = flow.mean_field_path(I3, 1e-4, 1e-4 / 3, 1e6, points=7, spacing="log")
    assert path.distance[0] == pytest.approx(0.31615, abs=2e-5)
    assert path.probabilities.sum(axis=1) == pytest.approx(np.ones(7))
    assert path.distance[-1] < 1e-4
    assert path.utility[-1] == pytest.approx(float(hamacher_sum(I3)), abs=1e-6)
    start = flow.mean_field_path(I7, 1e-4, 1e-4 / 7, 1e4, points=3)
    assert start.distance[0] == start.average_distance[0] == pytest.approx(0.18965, abs=5e-6)


@pytest.mark.parametrize(
    ("rates", "deviations", "average_distance", "transient", "utility", "distance"),
    [
        (I3, [0.3998, 0.2127, 0.3751], 3.69e-4, 4.96e-5, 0.60619, 0.00228),
        (I7, [0.5420] + [0.4201] * 3 + [0.3550] * 2 + [0.2122], 7.31e-4, 7.7e-5, 0.76490, 0.00412),
    ],
)
def test_exp3_predictions(rates, deviations, average_distance, transient, utility, distance):
    learning_rate = 1e-4 / len(rates)
    prediction = flow.exp3_prediction(rates, 1e-4, learning_rate, 1e8)
    scaled = prediction.standard_deviation / math.sqrt(learning_rate)
    assert scaled == pytest.approx(deviations, abs=1e-4)
    assert prediction.average_distance == pytest.approx(average_distance, rel=2e-3)
    assert prediction.transient_utility_loss == pytest.approx(transient, rel=5e-3)
    assert prediction.utility == pytest.approx(utility, abs=5e-6)
    assert prediction.distance == pytest.approx(distance, abs=1.2e-5)
    assert prediction.stationary_utility_loss == stationary_utility_loss(rates, learning_rate)


def test_white_noise_would_spread_wider():
    white = flow.stationary_covariance(I3, 1.0, "white")
    serial = flow.stationary_covariance(I3, 1.0)
    assert math.sqrt(white[0, 0]) == pytest.approx(0.5377, abs=5e-5)
    assert serial[0, 0] / white[0, 0] == pytest.approx(0.553, abs=5e-4)
    assert serial.sum(axis=0) == pytest.approx(np.zeros(3), abs=1e-12)
    assert np.linalg.eigvalsh(serial).min() > -1e-12


@pytest.mark.parametrize(
    ("name", "margin", "height", "time"),
    [("I3", 0.005, 122.2, 5161), ("I3", 0.015, 82.3, 3161), ("I7", 0.01, 103.8, 8111)],
)
def test_fluid_peak(name, margin, height, time):
    rates = INSTANCES[name]
    exploration = 1e5**-0.5
    peak = flow.fluid_peak(
        float(hamacher_sum(rates)) - margin, rates, exploration, exploration / len(rates)
    )
    assert peak.height == pytest.approx(height, abs=0.06)
    assert peak.time == pytest.approx(time, rel=5e-3)  # the height is flat there
    assert flow.fluid_peak(0.3, rates, exploration, 1e-3) == flow.FluidPeak(0.0, 0.0)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("rates", lambda: exact.evaluate_schedule([0.5], [0])),
        ("actions", lambda: exact.evaluate_schedule(I3, [])),
        (r"actions\[1\]", lambda: exact.evaluate_schedule(I3, [0, 3])),
        ("p", lambda: exact.saturated_chain(I3, [0.5, 0.25, 0.25])),
        ("arms", lambda: exact.lumped_chain(0, "1/2")),
        ("rate", lambda: exact.lumped_chain(3)),
        ("total_service_rate", lambda: exact.lumped_chain(3, total_service_rate=4)),
        ("cycle", lambda: optimum.cycle_value(I3, [-1])),
        ("caps", lambda: optimum.find_certificate(I3, (3, 3))),
        ("tolerance", lambda: optimum.clairvoyant_rate(I3, 0.0)),
        ("exploration", lambda: flow.mean_field_path(I3, 1.0, 0.1, 10)),
        ("learning_rate", lambda: flow.fluid_peak(0.55, I3, 0.1, -1.0)),
        ("arrival_rate", lambda: flow.fluid_peak(0.61, I3, 0.1, 0.1)),
        ("noise", lambda: flow.stationary_covariance(I3, 0.1, "pink")),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=rf"^{name}.*permitted"):
        call()
