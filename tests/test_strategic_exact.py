"""Closed forms and exact chains of many queues: known values, two routes to one number, errors."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlib.chains import stationary_law
from simlib.recharge.exact import lumped_chain, saturated_chain
from simlib.recharge.formulas import hamacher_sum
from simlib.strategic import formulas
from simlib.strategic.exact import (
    JointSystem,
    backlogged_chain,
    expected_regret,
    joint_chain,
    priority_law,
    uniform_law,
)

THREE = ("3/5", "3/10", "1/10")

# Closed forms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "value"),
    [
        (formulas.overprovisioning_factor("1/2"), Fraction(2)),
        (formulas.overprovisioning_factor("1/5"), Fraction(5, 4)),
        (formulas.overprovisioning_factor("3/4"), Fraction(4)),
        (formulas.capacity_margin(["2/5"] * 4, 3), Fraction(1, 5)),
        (formulas.capacity_margin(["1/2"], "3/2"), Fraction(1, 4)),
        (formulas.required_scale(["2/5"] * 4, 3), Fraction(8, 9)),
        (formulas.required_scale(THREE, "5/2"), Fraction(1)),
        (formulas.saturated_floor(4, 3), Fraction(12, 7)),
        (formulas.saturated_floor(2, "3/2"), Fraction(6, 7)),
        (formulas.submartingale_weight(10, "9/10"), Fraction(91, 90)),
        (formulas.submartingale_rate(THREE, 18, "11/5"), Fraction(-1, 990)),
        (formulas.submartingale_rate(THREE, 19, "11/5"), Fraction(2, 1045)),
        (formulas.total_growth(["1/2"], 10, "9/10"), Fraction(1, 362)),
        (formulas.fluid_clearing_rate(THREE, "11/5"), Fraction(9, 16)),
        (formulas.uniform_expected_regret(2, "3/5"), Fraction(10, 13)),
        (formulas.identical_servers_needed("1/2", "1/10"), 10),
        (formulas.servers_for_total_growth(THREE, "11/5"), 19),
        (formulas.servers_for_longest_growth(THREE, "11/5"), 39),
        (formulas.sufficient_period(["2/5"] * 4, 8, 3), 232_240),
        (formulas.sufficient_period(["1/2"], 3, "3/2"), 6811),
        (formulas.sufficient_period(["3/10"] * 2, 4, 2), 2384),
    ],
)
def test_exact_values(found, value):
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("found", "value", "digits"),
    [
        (formulas.capacity_margin([0.4] * 4, 3.0), 0.2, 12),
        (formulas.submartingale_rate([0.6, 0.3, 0.1], 400, 2.2), 0.05205, 5),
        (formulas.longest_queue_growth([0.6, 0.3, 0.1], 400, 2.2), 0.0209, 4),
        (formulas.longest_queue_growth(THREE, 39, "11/5"), 0.0011, 4),
        (formulas.largest_clearing_rate(THREE, 400, "11/5"), 0.5642, 4),
        (formulas.largest_clearing_rate(THREE, 19, "11/5"), 0.5986, 4),
        (formulas.uniform_regret(20_000, 20, 2.2, 0.01), 7338, 0),
        (formulas.guard_threshold(200_000, 10, 0.01, 0.9), 46_935, 0),
        (formulas.guarded_uniform_regret(200_000, 10, 0.9, 0.01), 64_161, 0),
        (formulas.exp3_ix_constant(4, 8), 7.2383, 4),
        (formulas.exp3_ix_expected_regret(232_240, 4, 8), 7337, 0),
        (formulas.exp3_ix_expected_regret(20_000, 4, 8), 2155, 0),
        (formulas.restarted_learning_rate(20_000, 4, 8), 0.00673, 5),
        (formulas.end_to_end_bound(["2/5"] * 4, 8, 3) / 1e9, 1.05, 2),
        (formulas.end_to_end_bound(["1/2"], 3, "3/2") / 1e6, 2.3, 1),
        (formulas.end_to_end_bound(["3/10"] * 2, 4, 2) / 1e5, 5.2, 1),
    ],
)
def test_values_in_floats(found, value, digits):
    assert isinstance(found, float | Fraction)
    assert round(float(found), digits) == value


def test_the_proofs_own_constants():
    found = formulas.proof_constants(["2/5"] * 4, 8, 3)
    assert found.delta == pytest.approx(0.2 / 24)
    assert found.eta == pytest.approx(0.2 / 96)
    assert found.period == 25_216_846
    assert found.threshold == 7 * found.period
    assert round(found.bound / 1e9, 1) == 114.1
    regret = 5.15 * math.sqrt(8 * found.period * math.log(8 / found.eta))
    assert regret <= found.delta * found.period
    shorter = found.period - 2
    assert 5.15 * math.sqrt(8 * shorter * math.log(8 / found.eta)) > found.delta * shorter
    # With hardly any regret the other two conditions on the period decide.
    lucky = formulas.proof_constants(["2/5"] * 4, 8, 3, regret_constant=1e-9)
    assert lucky.period == math.ceil(math.log(1 / found.eta) / (2 * found.delta**2))


@settings(deadline=None)
@given(
    n=st.integers(1, 6),
    m=st.integers(1, 50),
    largest=st.floats(0.05, 0.95),
    excess=st.floats(1.001, 3.0),
)
def test_sufficient_period_is_the_smallest(n, m, largest, excess):
    rates = [largest] * n
    total = excess * sum(rates) / (1 - largest)
    period = formulas.sufficient_period(rates, m, total)
    margin = formulas.capacity_margin(rates, total)

    def enough(w):
        regret = formulas.exp3_ix_expected_regret(w, n, m)
        return total * (regret + math.sqrt(w * math.log(n) / 2)) + m <= margin * w / 2

    # Up to rounding, which matters near the root.
    assert enough(period + 1 + period // 10**9)
    shorter = period - 2 - period // 10**9
    assert shorter < 1 or not enough(shorter)


def test_formulas_agree_with_each_other():
    # At the critical rate margin and scale say the same; the floor meets equal arrivals there.
    rates = ["2/5"] * 4
    critical = sum(map(Fraction, rates)) * formulas.overprovisioning_factor("2/5")
    assert formulas.capacity_margin(rates, critical) == 0
    assert formulas.required_scale(rates, critical) == 1
    assert formulas.saturated_floor(4, critical) == Fraction(8, 5)
    # gamma = -Delta/mu - lambda/m, and the servers of (i) and (ii) are where the bounds change sign.
    margin = formulas.capacity_margin(THREE, "11/5")
    for m in (3, 18, 19, 39):
        rate = formulas.submartingale_rate(THREE, m, "11/5")
        assert rate == -margin / Fraction(11, 5) - Fraction(1, m)
    for m in range(3, 80):
        assert (formulas.total_growth(THREE, m, "11/5") > 0) == (m >= 19)
        if m >= 39:
            assert formulas.longest_queue_growth(THREE, m, "11/5") > 0
    # One queue: the drift is exactly lambda - h.
    h = hamacher_sum(["9/100"] * 10)
    assert h == Fraction(90, 181) == lumped_chain(10, "9/100").accept_rate
    assert formulas.total_growth(["1/2"], 10, "9/10") == Fraction(1, 2) - h
    # The smallest example: one server less and it has no drift upwards.
    for arrival_rate, shortfall in (("1/2", "1/10"), ("3/4", "1/7"), ("1/5", "1/3"), (0.37, 0.01)):
        m = formulas.identical_servers_needed(arrival_rate, shortfall)
        rate, less = Fraction(arrival_rate), 1 - Fraction(shortfall)
        total = less * rate / (1 - rate)
        for servers, grows in ((m, True), (m - 1, False)):
            share = total / servers if servers else Fraction(1)
            odds = servers * share / (1 - share) if share < 1 else math.inf
            assert (odds < rate / (1 - rate)) == grows
    # Nine servers in the first of them: exactly no drift.
    assert hamacher_sum(["1/10"] * 9) == Fraction(1, 2)


@pytest.mark.parametrize("ratio", [1.0, 0.3, 1e-3, 1e-8, 1e-12])
def test_drift_bound_is_accurate_for_every_drift(ratio):
    step = 7.0
    with mpmath.workdps(60):
        theta = mpmath.exp(-(mpmath.mpf(ratio) ** 2) / 2)
        exact = 5 + step + step / ratio * mpmath.log(1 / (1 - theta))
        assert formulas.negative_drift_bound(5, step, ratio * step) == pytest.approx(
            float(exact), rel=1e-13
        )


def test_drift_bound_of_a_birth_death_queue():
    """Mean 0.75 and 4.5 at the end of a step; the bound is far above, as it must be."""
    assert formulas.negative_drift_bound(0, 1, 0.2) == pytest.approx(20.61, abs=0.005)
    assert formulas.negative_drift_bound(0, 1, 0.05) == pytest.approx(134.70, abs=0.005)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: formulas.overprovisioning_factor(1), "largest_arrival_rate = 1"),
        (lambda: formulas.capacity_margin([], 1), "arrival_rates is empty"),
        (lambda: formulas.capacity_margin(["1/2", 1], 1), r"arrival_rates\[1\] = 1"),
        (lambda: formulas.required_scale(["1/2"], 0), "total_service_rate = 0"),
        (lambda: formulas.saturated_floor(0, 1), "queues = 0"),
        (lambda: formulas.submartingale_rate(["1/2"], 2, 2), "below the number of servers"),
        (lambda: formulas.identical_servers_needed("1/2", 0), "shortfall = 0"),
        (lambda: formulas.servers_for_total_growth(THREE, "5/2"), r"below .* = 5/2"),
        (lambda: formulas.servers_for_longest_growth(THREE, 3), r"below .* = 5/2"),
        (lambda: formulas.sufficient_period(THREE, 8, "5/2"), r"above .* = 5/2"),
        (lambda: formulas.proof_constants(THREE, 8, 2.4), r"above .* = 5/2"),
        (lambda: formulas.end_to_end_bound(["3/10"] * 2, 4, 2, 2383), "integers from 2384"),
        (lambda: formulas.uniform_regret(10, 4, 2, 0), "error = 0"),
        (lambda: formulas.negative_drift_bound(0, 1, 1.5), "alpha = 1.5; permitted: at most step"),
        (lambda: formulas.negative_drift_bound(0, 1, 1e-170), "alpha = 1e-170; .*1e-150 of it"),
        (lambda: formulas.negative_drift_bound(0, 0, 1), "step = 0"),
        (lambda: formulas.guarded_uniform_regret(10, 0, 1, 0.1), "servers = 0"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# Backlogged queues on identical servers --------------------------------------------------------------


@pytest.mark.parametrize(
    ("queues", "total", "values"),
    [
        (1, 1.0, (0.5556, 0.5128, 0.5025, 0.5006)),
        (2, 1.5, (0.9783, 0.8854, 0.8627, 0.8585)),
        (3, 2.5, (1.6398, 1.4274, 1.3761, 1.3667)),
        (4, 3.0, (2.1183, 1.8087, 1.7328, 1.7189)),
    ],
)
def test_backlogged_throughput(queues, total, values):
    for servers, value in zip((5, 20, 100, 400), values, strict=True):
        chain = backlogged_chain(queues, servers, total_service_rate=total)
        assert chain.throughput == pytest.approx(value, abs=5e-5)
        assert chain.throughput > formulas.saturated_floor(queues, total)
        assert chain.per_queue == chain.throughput / queues
        assert sum(chain.stationary) == pytest.approx(1)
        # What is accepted is served: each full buffer after *accept* with the rate of a server.
        full = np.arange(servers + 1) @ chain.stationary
        share = total / servers
        assert (full + chain.throughput) * share == pytest.approx(chain.throughput)


def test_backlogged_chain_is_exact_for_exact_rates():
    one = backlogged_chain(1, 10, total_service_rate="9/10")
    assert one.throughput == Fraction(90, 181)
    assert one.stationary == lumped_chain(10, "9/100").stationary
    exact = backlogged_chain(4, 5, total_service_rate=3)
    floats = backlogged_chain(4, 5, rate=0.6)
    assert isinstance(exact.throughput, Fraction)
    assert floats.throughput == pytest.approx(float(exact.throughput), rel=1e-12)
    assert floats.stationary == pytest.approx(list(map(float, exact.stationary)), rel=1e-9)


@pytest.mark.parametrize(("queues", "servers"), [(1, 2), (2, 2), (3, 2), (2, 3)])
def test_backlogged_chain_equals_the_chain_of_all_patterns(queues, servers):
    """Enumerate sends, acceptances and services of long queues, and solve on all 2**m patterns."""
    system = JointSystem.identical(["1/2"] * queues, servers, "7/5")
    patterns = list(itertools.product((0, 1), repeat=servers))
    transition = np.full((len(patterns),) * 2, Fraction(0), dtype=object)
    accepted = np.full(len(patterns), Fraction(0), dtype=object)
    for k, full in enumerate(patterns):
        for step in system.steps((9,) * queues, full):
            transition[k, patterns.index(step.full)] += step.probability
            accepted[k] += step.probability * sum(step.cleared)
    law = stationary_law(transition)
    chain = backlogged_chain(queues, servers, total_service_rate="7/5")
    assert law @ accepted == chain.throughput
    by_number = [
        sum(p for p, full in zip(law, patterns, strict=True) if sum(full) == k)
        for k in range(servers + 1)
    ]
    assert tuple(by_number) == chain.stationary


# Tiny systems as they are ---------------------------------------------------------------------------

LAWS = {
    "uniform": uniform_law,
    "priority": priority_law([1, 0]),
    "server by server": priority_law([[1, 0], [0, 1]]),
}


@pytest.mark.parametrize("name", LAWS)
def test_steps_are_the_model(name):
    system = JointSystem(
        ("1/3", "2/5"), ("3/4", "1/5"), (("1/2", "1/2"), ("1/4", "3/4")), LAWS[name]
    )
    for lengths in itertools.product(range(3), repeat=2):
        for full in itertools.product((0, 1), repeat=2):
            total, counts = Fraction(0), {}
            for step in system.steps(lengths, full):
                total += step.probability
                assert step.probability > 0
                for i in range(2):
                    now = lengths[i] + step.arrivals[i]
                    assert (step.sent[i] is None) == (now == 0)
                    assert step.lengths[i] == now - step.cleared[i]
                for j in range(2):
                    senders = [i for i in range(2) if step.sent[i] == j]
                    taken = step.accepted[j]
                    assert (taken is not None) == (bool(senders) and not full[j])
                    assert taken is None or taken in senders
                    assert step.busy[j] == int(full[j] or taken is not None)
                    assert step.full[j] <= step.busy[j]
                    if len(senders) == 2 and taken is not None:
                        counts.setdefault((j, taken), Fraction(0))
                        counts[j, taken] += step.probability
            assert total == 1
            if not any(full) and min(lengths) > 0:
                if name == "uniform":
                    assert counts[0, 0] == counts[0, 1] == Fraction(1, 16)
                elif name == "priority":
                    assert set(counts) == {(0, 1), (1, 1)}
                else:
                    assert set(counts) == {(0, 1), (1, 0)}


def test_capped_queues_lose_arrivals():
    system = JointSystem.identical(["1/2"], 1, "1/2")
    assert {step.lengths for step in system.steps((2,), (1,), cap=2)} == {(2,)}
    assert {step.lengths for step in system.steps((2,), (1,))} == {(2,), (3,)}


def test_joint_chain_of_one_queue_and_one_server():
    """The waiting packets of a birth-death queue: 0.45 on average at rates 0.3 and 0.5."""
    chain = joint_chain(JointSystem(["3/10"], ["1/2"], [["1"]]), 25)
    law = chain.stationary(exact=False)
    assert law @ [lengths[0] for lengths, _ in chain.states] == pytest.approx(0.45, abs=1e-5)


def test_joint_chain_of_a_crowded_queue_is_that_of_a_backlogged_one():
    system = JointSystem(["9/10"], ["1/2", "1/10"], [["2/3", "1/3"]])
    chain = joint_chain(system, 3)
    assert all(sum(row) == 1 for row in chain.transition)
    exact, floats = chain.stationary(), chain.stationary(exact=False)
    assert sum(exact) == 1
    assert list(map(float, exact)) == pytest.approx(floats.tolist())
    full = [
        sum(p for p, state in zip(exact, chain.states, strict=True) if state[1][j]) for j in (0, 1)
    ]
    backlogged = saturated_chain(["1/2", "1/10"], ["2/3", "1/3"])
    # Hardly ever empty with a cap of 3: within a few percent of always backlogged.
    assert [1 - float(x) for x in full] == pytest.approx(
        list(map(float, backlogged.availability)), rel=0.05
    )


@pytest.mark.parametrize(
    ("system", "cap", "bound"),
    [
        (JointSystem.identical(["1/4", "2/5"], 2, "3/5"), 4, Fraction(10, 13)),
        (JointSystem.identical(["1/2"], 4, "9/10"), 6, Fraction(120, 67)),
    ],
)
def test_uniform_queues_have_bounded_regret(system, cap, bound):
    regret = expected_regret(system, cap, [50, 100, 400])
    total = sum(system.service_rates)
    assert formulas.uniform_expected_regret(len(system.service_rates), total) == bound
    assert (regret.largest < float(bound)).all()
    assert (regret.least > -float(bound)).all()
    assert regret.largest[0] == pytest.approx(regret.largest[2], rel=1e-6)


def test_priorities_of_single_servers_give_linear_regret():
    system = JointSystem.identical(["2/5"] * 2, 2, "3/5", priority_law([[0, 1], [1, 0]]))
    largest = expected_regret(system, 4, [100, 200, 400]).largest
    assert largest[0] > 5 / 3
    assert largest[2] - largest[1] == pytest.approx(2 * (largest[1] - largest[0]), rel=0.01)


def test_expected_regret_of_two_steps_is_the_sum_over_all_paths():
    law = priority_law([[0, 1], [1, 0]])
    system = JointSystem(("1/3", "3/4"), ("1/2", "1/5"), (("1/2", "1/2"), ("2/3", "1/3")), law)
    regret = expected_regret(system, 4, [1, 2])
    for start in (((0, 0), (0, 0)), ((1, 2), (0, 1)), ((0, 1), (1, 1))):
        sums = np.zeros((2, 2, 2))
        for first in system.steps(*start):
            after = tuple(map(sum, zip(start[0], first.arrivals, strict=True)))
            for i, j in itertools.product(range(2), repeat=2):
                would = system.would_clear(i, j, after, first.sent, start[1]) - first.cleared[i]
                sums[:, i, j] += float(first.probability * would)
            for second in system.steps(first.lengths, first.full):
                later = tuple(map(sum, zip(first.lengths, second.arrivals, strict=True)))
                for i, j in itertools.product(range(2), repeat=2):
                    would = system.would_clear(i, j, later, second.sent, first.full)
                    gain = first.probability * second.probability * (would - second.cleared[i])
                    sums[1, i, j] += float(gain)
        assert regret.values[:, regret.states.index(start)] == pytest.approx(sums, abs=1e-12)


def test_would_clear_is_the_realised_bit_on_average():
    system = JointSystem(("1/3", "3/4"), ("1/2", "1/5"), (("1/2", "1/2"), ("2/3", "1/3")))
    lengths, full = (1, 1), (0, 0)
    for i in range(2):
        realised = would = Fraction(0)
        for step in system.steps(lengths, full):
            after = tuple(map(sum, zip(lengths, step.arrivals, strict=True)))
            realised += step.probability * step.cleared[i]
            would += step.probability * system.would_clear(i, step.sent[i], after, step.sent, full)
        assert realised == would
    assert system.would_clear(0, 0, (0, 1), (None, 0), (0, 0)) == 0
    assert system.would_clear(0, 0, (1, 1), (1, 0), (1, 0)) == 0
    assert system.would_clear(0, 0, (1, 1), (1, 0), (0, 0)) == Fraction(1, 2)
    assert system.would_clear(0, 1, (1, 1), (0, 0), (0, 0)) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: backlogged_chain(0, 2, rate="1/2"), "queues = 0"),
        (lambda: backlogged_chain(1, 2), "permitted: exactly one"),
        (lambda: backlogged_chain(1, 2, rate=1), "rate = 1; permitted"),
        (
            lambda: backlogged_chain(1, 2, total_service_rate=2.0),
            r"\(0, 2\), the number of servers",
        ),
        (lambda: JointSystem([0.5], ["1/2"], [["1"]]), "arrival_rates = .*exact rates"),
        (lambda: JointSystem(["1/2"], ["1/2"], []), "routers has 0 entries"),
        (lambda: JointSystem(["1/2"], ["1/2"], [["1/2"]]), r"routers\[0\] sums to 1/2"),
        (lambda: JointSystem(["1/2"], ["1/2"], [[1.0]]), r"routers\[0\] = .*exact probabilities"),
        (lambda: JointSystem.identical(["1/2"], 2, 3), "total_service_rate / servers.* = .*3"),
        (lambda: JointSystem.identical(["1/2"], 2, 1.5), "total_service_rate / servers = .*exact"),
        (lambda: joint_chain(JointSystem(["1/2"], ["1/2"], [["1"]]), 0), "cap = 0"),
        (
            lambda: expected_regret(JointSystem(["1/2"], ["1/2"], [["1"]]), 1, 5),
            "windows has 0 dimensions",
        ),
        (lambda: priority_law([1, 0])(0, (0, 2), (1, 1, 1)), r"order = .*queues \(0, 2\)"),
        (lambda: priority_law([[0, 1]])(1, (0, 1), (1, 1)), "order = .*server 1"),
        (lambda: expected_regret(JointSystem(["1/2"], ["1/2"], [["1"]]), 1, [2, 2]), "windows"),
        (
            lambda: joint_chain(
                JointSystem.identical(["1/2"] * 2, 1, "1/2", lambda j, senders, lengths: [1]), 1
            ),
            r"acceptance gives \(1,\) at server 0 for the queues \(0, 1\)",
        ),
    ],
)
def test_bad_systems_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
