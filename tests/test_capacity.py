"""The capacity calculator: known answers, boundaries in exact rationals, the command."""

import json
import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.__main__ import main
from checks.claim import all_claims
from simlib.capacity import (
    CLAIMS,
    ROUTERS,
    plan,
    servers_needed_at_least,
    servers_needed_overprovisioned,
)
from simlib.learners import BUILT_IN
from simlib.recharge.flow import fluid_peak
from simlib.recharge.formulas import INSTANCES, capacity, servers_needed
from simlib.recharge.optimum import I7_CYCLE, cycle_value

I3, I7 = INSTANCES["I3"], INSTANCES["I7"]
percent = st.integers(1, 99).map(lambda k: F(k, 100))


def first(condition):
    return next(m for m in range(1, 100) if condition(m))


@pytest.mark.parametrize(
    ("arrival_rate", "learner", "in_turn", "theorem"),
    [("0.5", 3, 2, 4), ("0.75", 8, 4, 11), ("0.9", 22, 7, 31)],
)
def test_how_many_servers_of_rate_three_tenths(arrival_rate, learner, in_turn, theorem):
    lam, mu = F(arrival_rate), F(3, 10)
    odds = mu / (1 - mu)
    # From the definitions, one server after the other.
    assert first(lambda m: m * odds / (1 + m * odds) > lam) == learner
    assert first(lambda m: 1 - (1 - mu) ** m > lam) == in_turn
    assert first(lambda m: m * mu * (1 - lam) > lam) == theorem
    # From the calculator, with none present and beside one; floats count as decimals.
    assert servers_needed(lam, mu) == learner
    assert servers_needed_at_least(lam, mu) == in_turn
    assert servers_needed_overprovisioned([float(lam)], 0.3) == theorem
    beside_one = plan([float(lam)], [0.3])
    assert beside_one.servers_needed == learner - 1
    assert beside_one.servers_needed_at_least == in_turn - 1
    assert beside_one.servers_needed_overprovisioned == theorem - 1


def test_exactly_at_the_boundary_is_not_enough():
    seven = plan([0.75], [0.3] * 7)
    assert seven.guaranteed_rate == F(3, 4)
    assert seven.verdict == "not guaranteed"
    assert (seven.margin, seven.missing_odds, seven.servers_needed) == (0, 0, 1)
    # Two servers of 1/2: the ceiling is 3/4 exactly, and a third is needed even in turn.
    assert servers_needed_at_least(0.75, 0.5) == 3
    assert plan([0.75], [0.5, 0.5]).verdict == "impossible"
    # Two queues of 1/2 before servers of total rate 2.
    assert plan([0.5, 0.5], [0.5] * 4).verdict == "not guaranteed"
    assert plan([0.5, 0.5], [0.5] * 4).servers_needed == 1
    assert plan([0.5, 0.5], [0.5, 0.5]).verdict == "impossible"


def test_the_two_systems_of_the_source():
    three, seven = plan(["0.59"], I3), plan([I7_RATE - F(1, 200)], I7)
    assert three.guaranteed_rate == F(97, 160)
    assert three.optimum == 0.67252215599
    assert float(three.guaranteed_share) == pytest.approx(0.885, abs=5e-4)
    assert float(seven.guaranteed_share) == pytest.approx(0.828, abs=5e-4)
    assert seven.largest_learning_rate == pytest.approx(0.00285, abs=5e-6)
    assert 1 / three.worst_share == pytest.approx(1 / 0.850303, abs=2e-6)
    assert 1 / seven.worst_share == pytest.approx(1 / 0.805042, abs=2e-6)
    assert three.visible_buffers_rate == pytest.approx(0.807056, abs=5e-7)
    assert seven.optimum is None
    # What a router that accounts for recharge carries: a schedule, and above it the bound.
    assert three.aware_rate == pytest.approx(0.672219, abs=5e-7)
    assert three.aware_rate < three.optimum
    assert (seven.aware_rate, seven.aware_steps) == (float(cycle_value(I7, I7_CYCLE)), 25)


def test_a_router_that_accounts_for_recharge():
    same = plan([0.5], [0.3] * 6)  # round robin is optimal: lower and upper bound meet
    assert same.aware_rate == pytest.approx(float(same.ceiling))
    assert same.aware_steps == 6
    between = plan([0.9], I7)
    assert between.verdict == "not guaranteed"
    assert "at least, if it accounts for recharge" in between.text()
    assert "0.672522  if the router accounts for recharge" in plan([0.65], I3).text()
    assert plan([0.5], [0.3] * 65).aware_rate is None


I7_RATE = F(1963, 2566)


@pytest.mark.parametrize("learning_rate", [None, 0.001, 0.04, 0.3])
def test_one_queue_agrees_with_the_short_answer(learning_rate):
    short = capacity("59/100", I3, learning_rate=learning_rate, new_server_rate="3/10")
    long = plan(["59/100"], I3, learning_rate=learning_rate, new_server_rate="3/10")
    assert long.servers_needed == short.servers_needed
    for name, value in {
        "guaranteed_rate": short.guaranteed_rate,
        "ceiling": short.ceiling,
        "margin": short.margin,
        "settled_queue": short.expected_queue,
        "settled_queue_estimate": short.kappa / short.margin,
        "largest_learning_rate": short.largest_learning_rate,
        "effective_margin": short.effective_margin,
        "learning_queue": short.learning_expected_queue,
        "relaxation_time": short.relaxation_time,
    }.items():
        assert getattr(long, name) == (value if value is None else pytest.approx(float(value)))


def test_too_fast_a_learner_is_refused_a_queue():
    limit = plan([0.6], I3).largest_learning_rate
    slow, fast = (plan([0.6], I3, learning_rate=limit * factor) for factor in (0.99, 1.01))
    assert slow.effective_margin > 0
    assert slow.learning_queue_estimate > slow.settled_queue_estimate
    assert fast.effective_margin < 0
    assert fast.learning_queue is None
    assert fast.learning_queue_estimate is None
    assert "unsettles" in fast.text()
    assert plan([0.2], [0.3], learning_rate=0.5).largest_learning_rate == math.inf


def test_warm_up_is_that_of_the_fluid_with_the_exploration_of_exp3():
    found = plan([0.59], I3, learning_rate=0.001)
    peak = fluid_peak(0.59, I3, 0.003, 0.001)
    assert (found.peak_backlog, found.peak_time) == pytest.approx((peak.height, peak.time))
    assert found.relaxation_time == pytest.approx(1 / (0.001 * 0.60625 * 0.39375))
    assert plan([0.1], I3, learning_rate=0.001).peak_backlog == 0
    # So much exploration that the path rests below the arrival rate, or is none.
    assert plan([0.6], I3, learning_rate=0.3).peak_backlog is None
    assert plan([0.6], I3, learning_rate=0.5).peak_backlog is None


def test_many_queues():
    found = plan([0.6, 0.3, 0.1], [0.5, 0.5, 0.4])
    assert found.overprovisioning_factor == F(5, 2)
    assert found.overprovisioning == F(7, 5)
    assert found.capacity_margin == F(14, 10) * F(4, 10) - 1
    assert found.required_scale == F(25, 14)
    assert found.binding_queues == (0,)
    assert found.missing_rate == F(11, 10)
    assert found.saturated_floor == 3 * F(7, 5) / (3 + F(7, 5))
    assert found.verdict == "not guaranteed"
    assert plan([0.4, 0.2, 0.4], [0.9]).binding_queues == (0, 2)
    assert plan([0.6, 0.6], [0.6, 0.5]).verdict == "impossible"
    for name in (
        "optimum",
        "aware_rate",
        "settled_queue",
        "relaxation_time",
        "price_of_learning",
        "total_odds",
    ):
        assert getattr(found, name) is None


def test_at_the_needed_scale_theorem_4_1_just_fails():
    arrivals, rates = [F(3, 10), F(1, 5)], [F(1, 5), F(1, 10), F(1, 10)]
    scale = plan(arrivals, rates).required_scale
    assert plan(arrivals, [rate * scale for rate in rates]).capacity_margin == 0
    assert plan(arrivals, [rate * scale * F(1001, 1000) for rate in rates]).verdict == "guaranteed"


def carried(arrivals, rates):
    """Whether learning, some router and Theorem 4.1 alone carry the arrivals, from the definitions."""
    total, largest, capacity = sum(arrivals), max(arrivals), sum(rates)
    theorem = capacity * (1 - largest) > total
    if len(arrivals) > 1:
        return theorem, capacity > total, theorem
    odds = sum(rate / (1 - rate) for rate in rates)
    return odds / (1 + odds) > total, 1 - math.prod(1 - rate for rate in rates) > total, theorem


@settings(max_examples=30, deadline=None)
@given(
    st.lists(percent, min_size=1, max_size=3), st.lists(percent, min_size=1, max_size=3), percent
)
def test_the_servers_to_add_are_just_enough(arrivals, rates, extra):
    found = plan(arrivals, rates, new_server_rate=extra)
    counts = (
        found.servers_needed,
        found.servers_needed_at_least,
        found.servers_needed_overprovisioned,
    )
    for which, count in enumerate(counts):
        assert carried(arrivals, [*rates, *[extra] * count])[which]
        assert count == 0 or not carried(arrivals, [*rates, *[extra] * (count - 1)])[which]
    assert (found.verdict == "guaranteed") == (counts[0] == 0)
    assert (found.verdict == "impossible") == (counts[1] > 0)


@settings(max_examples=25, deadline=None)
@given(st.lists(percent, min_size=1, max_size=4), st.lists(percent, min_size=1, max_size=3))
def test_what_is_true_of_every_system(arrivals, rates):
    found = plan(arrivals, rates)
    n, mu = len(arrivals), sum(rates)
    assert found.guaranteed_rate <= found.ceiling
    if n == 1:
        assert max(rates) <= found.aware_rate + 1e-12
        assert found.aware_rate <= (found.optimum or found.ceiling) + 1e-12
    assert found.servers_needed_at_least <= found.servers_needed
    assert found.servers_needed <= found.servers_needed_overprovisioned
    assert found.saturated_floor == n * mu / (n + mu)
    if n == 1:  # the sharp condition is weaker than Theorem 4.1, which here is mu / (1 + mu)
        assert found.guaranteed_rate > found.saturated_floor
    else:
        # With all arrivals scaled by one factor, Theorem 4.1 ends at the guaranteed rate.
        scaled = [rate * found.guaranteed_rate / found.arrival_rate for rate in arrivals]
        assert sum(scaled) == mu * (1 - max(scaled))
    if len(set(arrivals)) == 1 < n:
        assert found.guaranteed_rate == found.saturated_floor


@pytest.mark.parametrize(
    ("router", "rate"),
    [
        ("exp3", 0.60625),
        ("EXP3_IX", 0.60625),
        ("ucb1", 0.5),
        ("epsilon-greedy", 0.5),
        ("uniform", 25 / 48),
        ("round-robin", 0.601),
    ],
)
def test_what_a_router_can_be_relied_on_to_carry(router, rate):
    below, above = plan([rate - 0.001], I3, router=router), plan([0.605], I3, router=router)
    assert below.router_rate == pytest.approx(rate)
    assert below.guaranteed
    assert above.verdict == "guaranteed"
    assert above.guaranteed == (rate > 0.605)
    assert ("WARNING" in above.text()) == (rate <= 0.605)


def test_routers_of_many_queues():
    servers = [0.3] * 6
    assert plan([0.3, 0.2], servers, router="exp3-ix").router_rate
    assert plan([0.3, 0.2], servers, router="uniform").router_rate
    assert plan([0.3, 0.2], [*servers, 0.2], router="uniform").router_rate is None
    assert plan([0.3, 0.2], servers, router="exp3").router_rate is None
    for router in ("ucb1", "epsilon-greedy"):
        found = plan([0.3, 0.2], servers, router=router)
        assert not found.guaranteed
        assert "WARNING" in found.text()


def test_each_answer_names_a_claim_and_each_router_a_learner():
    named = {claim for claims in CLAIMS.values() for claim in claims.values()}
    named |= {claim for _, claim in ROUTERS.values()} | {"strategic.uniform_is_windowed_no_regret"}
    assert named <= all_claims().keys()
    assert ROUTERS.keys() <= BUILT_IN.keys()
    fields = plan([0.5], I3).as_dict().keys()
    for claims in CLAIMS.values():
        assert claims.keys() - {"tightness"} <= fields


@pytest.mark.parametrize(
    ("arrivals", "services", "options"),
    [
        ([0.59], I3, {"learning_rate": 0.001, "router": "ucb1"}),
        ([0.76], I7, {"learning_rate": 0.02, "router": "tsallis-inf"}),
        ([0.999999], [0.123456] * 40, {"new_server_rate": 1e-5, "learning_rate": 1e-9}),
        ([0.3] * 30, np.linspace(0.01, 0.99, 99), {"router": "exp3-ix"}),
        (np.linspace(0.1, 0.9, 40), [0.3], {"router": "round-robin"}),
        ([0.5, 0.4], [0.5, 0.5], {"router": "ucb1"}),
    ],
)
def test_the_answer_fits_one_screen(arrivals, services, options):
    lines = plan(arrivals, services, **options).text().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 84


def test_a_thousand_servers_take_no_time_to_speak_of():
    found = plan([0.5], [f"{rate:.3f}" for rate in np.linspace(0.001, 0.999, 999)])
    assert found.verdict == "guaranteed"
    assert found.settled_queue is None


@pytest.mark.parametrize(
    ("arguments", "options", "named"),
    [
        (([], [0.3]), {}, "arrival_rates"),
        (([0.3], []), {}, "service_rates"),
        ((0.3, [0.3]), {}, "arrival_rates"),
        (([0.3, 1.0], [0.3]), {}, r"arrival_rates\[1\]"),
        (([0.3], [0.3, "x"]), {}, r"service_rates\[1\]"),
        (([0.3], [0.3, float("nan")]), {}, r"service_rates\[1\]"),
        (([0.3], [0.3] * 1001), {}, "at most 1000"),
        (([0.3], [0.3]), {"learning_rate": 0}, "learning_rate"),
        (([0.3], [0.3]), {"new_server_rate": 1}, "new_server_rate"),
        (([0.3], [0.3]), {"router": "random"}, "router"),
        (([0.3], [0.3]), {"router": 3}, "router"),
    ],
)
def test_bad_input_is_named(arguments, options, named):
    with pytest.raises(ValueError, match=named):
        plan(*arguments, **options)


def test_the_command_answers_in_one_screen(capsys):
    assert main(["capacity", "--arrivals", "3/4", "--services", "0.3, 7x0.3"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("1 queue: 0.75\n8 servers: 0.3 x8\nSTABLE for every learner")
    assert main(["capacity", "--arrivals", "0.75", "--services", "7x0.3"]) == 1
    assert "NOT GUARANTEED" in capsys.readouterr().out


def test_the_command_gives_json(capsys):
    options = ["--new-server", "0.1", "--learning-rate", "0.01", "--router", "exp3", "--json"]
    assert main(["capacity", "--arrivals", "0.5", "--services", "0.6", *options]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["guaranteed_rate"] == 0.6
    assert found["largest_learning_rate"] is None
    assert found["claims"]["verdict"] == "recharge.stability_threshold"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--arrivals", "0.3", "--services", "0x0.3"], "'0x0.3' must read COUNTxRATE"),
        (["--arrivals", "1.2", "--services", "0.3"], "arrival_rates[0] = '1.2'"),
        (["--arrivals", "0.3,", "--services", "0.3"], "arrival_rates[1] = ''"),
        (["--arrivals", "0.3", "--services", "0.3", "--router", "dice"], "router = 'dice'"),
    ],
)
def test_the_command_refuses(options, message, capsys):
    assert main(["capacity", *options]) == 2
    assert message in capsys.readouterr().err
