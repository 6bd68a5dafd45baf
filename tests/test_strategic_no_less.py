"""What the claims on tightness compute beyond what the ledger judges."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.claim import find
from checks.strategic import no_less, windows
from checks.strategic.evidence import no_less as simulated
from simlib.chains import stationary_law
from simlib.strategic import formulas
from simlib.strategic.exact import JointSystem, backlogged_chain, expected_regret, priority_law

# Closed forms against chains and simulations -----------------------------------------------------


@pytest.mark.parametrize(
    ("queues", "servers", "total"), [(2, 100, 1.5), (4, 100, 3.0), (7, 40, 5.0)]
)
def test_backlogged_queues_clear_what_the_stationary_law_says(queues, servers, total):
    chain = backlogged_chain(queues, servers, total_service_rate=total).throughput
    closed = windows._clearing(queues, servers, Fraction(str(total)))
    assert float(closed) == pytest.approx(chain, rel=1e-12)


@given(st.integers(1, 12), st.integers(1, 60), st.fractions("1/50", "49/50"))
@settings(max_examples=60, deadline=None)
def test_clearing_of_backlogged_queues_lies_between_its_bounds(queues, servers, rate):
    total = rate * servers
    clears = windows._clearing(queues, servers, total)
    assert queues * total / (queues + total) <= clears
    assert clears <= queues * total / (queues + total - rate * queues)
    assert clears <= min(queues, total)


def test_one_backlogged_queue_clears_the_hamacher_sum():
    assert windows._clearing(1, 10, Fraction(9, 10)) == no_less._hamacher(Fraction(9, 10), 10)


@pytest.mark.parametrize("total", [0.6, 0.9, 1.3])
def test_the_fluid_is_exact_for_one_queue(total):
    h = float(no_less._hamacher(Fraction(str(total)), 50))
    assert simulated.predicted_growth(("0.5",), total, 50) == pytest.approx(max(0, 0.5 - h))


@pytest.mark.parametrize(("total", "servers"), [(2.2, 400), (2.4, 400), (2.2, 39)])
def test_the_fluid_is_the_bound_where_one_queue_alone_grows(total, servers):
    rates = [0.6, 0.3, 0.1]
    bound = formulas.total_growth(rates, servers, total)
    assert simulated.predicted_growth(rates, total, servers) == pytest.approx(bound)
    clears = formulas.largest_clearing_rate(rates, servers, total)
    assert 0.6 - clears == pytest.approx(bound)


# Regret -------------------------------------------------------------------------------------------


def regret_of_long_queues(system, full, steps):
    """Expected regret of queue 1 against server 1 when no queue can empty, by dynamic programming."""
    found = expected_regret(system, steps + 1, (steps,))
    start = found.states.index(((steps,) * len(system.arrival_rates), full))
    return found.values[0, start, 0, 0]


def test_regret_of_one_queue_that_never_empties():
    rates = (Fraction(1, 2), Fraction(1, 10), Fraction(3, 10))
    system = JointSystem(("1/2",), rates, [[Fraction(1, 3)] * 3])
    for full in ((0, 0, 0), (0, 1, 1), (1, 0, 1)):
        expected = regret_of_long_queues(system, full, 6)
        assert float(windows._regret_of_one_queue(rates, full, 6)) == pytest.approx(expected)


@pytest.mark.parametrize("orders", [([0, 1], [1, 0]), ([0, 1], [0, 1]), ([1, 0], [1, 0])])
def test_regret_of_two_queues_that_never_empty(orders):
    system = JointSystem.identical(("1/2", "1/2"), 2, "3/5", priority_law(orders))
    expected = regret_of_long_queues(system, (0, 0), 4)
    assert float(windows._regret_of_two_queues(Fraction(3, 10), orders, 4)) == pytest.approx(
        expected
    )


def test_the_longest_step_of_the_martingale_joins_both_extremes():
    found = expected_regret(JointSystem.identical(("1/2",), 4, "9/10"), 6, (300,))
    v = 3 / (1 + 0.9 - 0.225)
    for full, value in (((0, 1, 1, 1), v), ((1, 0, 0, 0), -v)):
        start = found.states.index(((6,), full))
        assert found.values[0, start, 0, 0] == pytest.approx(value, abs=1e-5)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_no_queue_clears_more_than_the_free_share_and_none_much_less(order):
    n, m, rates = 3, 2, ("1/2", "1/4", "3/4")
    system = JointSystem.identical(rates, m, "1", priority_law(order))
    for lengths in product((0, 2), repeat=n):
        for full in product((0, 1), repeat=m):
            free = 1 - Fraction(sum(full), m)
            clears = [Fraction(0)] * n
            for step in system.steps(lengths, full):
                clears = [
                    x + step.probability * y for x, y in zip(clears, step.cleared, strict=True)
                ]
            assert all(x <= free for x in clears)
            busy = [x for x, length in zip(clears, lengths, strict=True) if length]
            assert all(x >= (1 - Fraction(n - 1, m)) * free for x in busy)
            assert all(x >= (1 - Fraction(1, m)) ** (n - 1) * free for x in busy)


def test_a_rule_that_remembers_whom_its_server_took_first_breaks_the_bound():
    # One rule, "whom I took first", means different priorities where the servers took different queues.
    v = Fraction(1) / (1 + Fraction(3, 5) - Fraction(3, 10))
    remembered = windows._regret_of_two_queues(Fraction(3, 10), ([0, 1], [1, 0]), 30)
    assert windows._regret_of_two_queues(Fraction(3, 10), ([0, 1], [0, 1]), 30) <= v < remembered


def test_simulated_windows_stay_far_below_the_bound():
    found = simulated.windows.compute(3, 1, step=200, steps=5, runs=8)
    v = 1 / (1 + 0.6 - 0.3)
    bound = v + (1 + 2 * v) * np.sqrt(2 * found["window"] * np.log(2 / 1e-6))
    assert (found["regret_0"] < bound).all()
    assert (found["regret_0"] >= found["against_first_0"]).all()


# Evidence and what is judged on it ----------------------------------------------------------------


def test_growth_and_shortfall_have_the_same_mean():
    found = simulated.three_queues.compute(11, 1, horizon=4_000, runs=12)
    for total, servers in simulated.SYSTEMS:
        growth, shortfall = (
            found[f"{key}_{total}_{servers}"] for key in ("growth_total", "shortfall")
        )
        noise = (growth - shortfall).std(ddof=1) / np.sqrt(12)  # of the arrivals
        assert abs((growth - shortfall).mean()) < 6 * noise


SPOILT = [lambda x: x * 0, lambda x: x * np.nan, lambda x: x[:9]]


@pytest.mark.parametrize("spoil", SPOILT)
@pytest.mark.parametrize(
    "name", ["shortfall_2.2_400", "growth_total_2.8_400", "lengths_2.2_19"], ids=str
)
def test_degenerate_runs_decide_nothing(spoil, name):
    rng = np.random.default_rng(5)
    three = {"horizon": 1_000}
    for total, servers in simulated.SYSTEMS:
        three[f"shortfall_{total}_{servers}"] = rng.normal(0.03, 1e-4, 32)
        three[f"growth_total_{total}_{servers}"] = rng.normal(0, 1e-4, 32)
        three[f"lengths_{total}_{servers}"] = rng.integers(10, 20, (32, 3, 3))
    growth = "0.0300, 0.0300"
    found = no_less.growth_of_three_queues(three | {name: spoil(three[name])}, growth, "19")
    assert found.outcome == "undecided"
    assert no_less.growth_of_three_queues(three, growth, "19").outcome == "proved"
    assert no_less.growth_of_three_queues(three, growth, "11").outcome == "undecided"


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("step", [-1, 1])
def test_the_table_of_clearing_rates_is_judged_to_the_last_digit(number, step):
    claimed = {name: find("saturated_throughput").claimed[name] for name, *_ in windows._FOUR}
    name = windows._FOUR[number][0]
    first, *others = claimed[name].split(", ")
    wrong = ", ".join([f"{float(first) + step * 1e-4:.4f}", *others])
    found = windows.stationary_laws(**claimed | {name: wrong})
    assert found.outcome == "refuted"


@pytest.mark.parametrize("fewest", ["9", "11"])
def test_the_least_number_of_servers_is_judged_from_both_sides(fewest):
    claimed = find("tightness").claimed
    numbers = {name: claimed[name] for name in ("accepts", "growth")}
    assert no_less.numbers_of_the_example(fewest=fewest, **numbers).outcome == "refuted"


@pytest.mark.parametrize(
    ("queues", "rate", "growth"), [(2, "1/2", "23/70"), (3, "19/20", "541/15900")]
)
def test_growth_of_a_preferred_queue_from_the_steps_of_the_servers(queues, rate, growth):
    rate, shortest = Fraction(rate), 2  # no queue empties in a step
    system = JointSystem.identical(("1/2",) * queues, 2, 2 * rate, priority_law(range(queues)))
    patterns = list(product((0, 1), repeat=2))
    transition = np.full((4, 4), Fraction(0), dtype=object)
    cleared = [Fraction(0)] * 4
    for k, full in enumerate(patterns):
        for step in system.steps((shortest,) * queues, full):
            transition[k, patterns.index(step.full)] += step.probability
            cleared[k] += step.probability * step.cleared[0]
    clears = sum(x * y for x, y in zip(stationary_law(transition), cleared, strict=True))
    arrivals = {2: Fraction(9, 10), 3: Fraction(99, 100)}[queues]
    assert arrivals - clears == Fraction(growth)
    found = no_less.no_other_queue_outgrows_the_first({2: "n-2", 3: "1"}[queues])
    assert f" {growth} per step" in found.witness


def test_the_longest_step_is_possible():
    found = no_less.almost_every_path("2+c")
    assert found.outcome == "refuted"
    assert "a step of 7/2" in found.witness  # 2 + c max(n, m)


def test_an_unknown_variant_is_an_error_and_no_verdict():
    for judge, name in (
        (windows.until_two_buffers_agree, "bias"),
        (windows.martingale_of_the_regret, "step"),
        (no_less.from_drift_to_packets, "divisor"),
        (no_less.no_other_queue_outgrows_the_first, "collisions"),
        (no_less.almost_every_path, "step"),
        (no_less.growth_of_a_single_queue, "weight"),
    ):
        with pytest.raises(ValueError, match=name):
            judge("nonsense")
