"""Networks, product forms, exact chains and the admission problem: known values, two routes, errors."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlib import admission
from simlib.admission.chain import (
    acceptance_given_total,
    exit_rates,
    hysteresis,
    hysteresis_totals,
    law_of_total,
    optimal_informed,
    states,
    stationary_exact,
    stationary_float,
    total_variation,
    transition_matrix,
)
from simlib.admission.mixing import (
    certified_distances,
    expected_total_variation,
    mixing_scale,
    mixing_time,
    module_length,
    module_length_float,
    second_eigenvalue,
    single_queue_modulus,
    total_variation_profile,
)
from simlib.admission.model import (
    AdmissionModel,
    bellman,
    c1_c2,
    delta_bound,
    diameter,
    diameter_brute,
    gain,
    increments,
    law,
    mean_cost,
    model_of,
    optimal_threshold,
    phi,
    policies,
    scan_threshold,
    threshold,
    threshold_costs,
)
from simlib.admission.network import Network, parallel, tandem, three_tier
from simlib.admission.product_form import (
    compositions,
    flow_equivalent_rates,
    mean_value_analysis,
    normalizing_constants,
    product_law,
    total_law,
)

F = Fraction


def tiers(arrival_rate, rates=1):
    return three_tier(arrival_rate=arrival_rate, rates=rates)


NETWORKS = {
    "tandem": (tandem(1, (2, 3, "5/2")), 4),
    "three tiers": (tiers(1, (1, "3/2", 2)), 4),
    "several servers": (
        Network(2, ((0, "1/2", "1/4"), ("1/3", 0, "1/3"), (0, "1/2", "1/4")), (3, 2, 1), (1, 2, 3)),
        4,
    ),
    "infinite server": (
        Network(1, ((0, "1/2"), ("1/2", "1/4")), (1, "1/2"), (1, math.inf), ("1/3", "2/3")),
        4,
    ),
}
POLICIES = {
    "all": (1, 1, 1, 1),
    "threshold": (1, 1, 0, 0),
    "hole": (1, 0, 1, 1),
    "none": (0, 1, 1, 1),
    "randomised": ("1/2", "1/3", 1, "1/5"),
}

# Networks -------------------------------------------------------------------------------------------


def test_three_tiers():
    network = three_tier(2, arrival_rate="1/4", rates=("1/2", 1, 2), back="1/3")
    assert network.stations == 6
    assert network.visits == (F(3, 4), F(3, 4), F(1, 4), F(1, 4), F(1, 4), F(1, 4))
    assert network.exit == (F(2, 3), F(2, 3), 0, 0, 0, 0)
    assert network.loads()[:3] == (F(3, 8), F(3, 8), F(1, 16))
    assert network.rate_bound() == F(1, 4) + 7
    assert sum(v * out for v, out in zip(network.visits, network.exit, strict=True)) == 1
    network.require_stable()


def test_network_arithmetic():
    exact, mixed = tandem(1, (2, "1/2")), tandem(1, (2, 0.5))
    assert exact.exact
    assert not mixed.exact
    assert mixed == exact.as_floats()
    assert hash(exact) == hash(tandem(F(1), (F(2), F(1, 2))))
    assert np.allclose(mixed.visits, (1, 1))


def test_infinite_servers():
    network, _ = NETWORKS["infinite server"]
    assert network.station_rate(1, 7) == F(7, 2)
    assert network.loads()[1] == 0
    assert network.rate_bound(4) == 1 + 1 + 2
    with pytest.raises(ValueError, match="limit = None"):
        network.rate_bound()


def test_hyperstable():
    assert tandem("1/2", ("4/5", 1)).is_hyperstable()
    assert not tandem("1/2", (1, 1)).is_hyperstable()
    assert not tiers("1/4").is_hyperstable()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"routing": ((0, 1), ("1/2", "2/3"))}, r"routing\[1\] sums to 7/6"),
        ({"routing": ((0, -1), (0, 0))}, r"routing\[0\]\[1\] = -1; permitted: probabilities"),
        ({"routing": ((0, 1), (1, 0))}, "never lets a job of station 0 leave"),
        ({"routing": ((0, 0), (0, 1))}, "never lets a job of station 1 leave"),
        ({"routing": ((0.0, 0.0), (0.0, 1 - 1e-12))}, "never lets a job of station 1 leave"),
        ({"routing": ((0, 0),)}, "routing has 1 rows"),
        ({"routing": ((0, 0), (0,))}, r"routing\[1\] has 1 entries"),
        ({"arrival_rate": 0}, "arrival_rate = 0; permitted: finite numbers above 0"),
        ({"arrival_rate": math.inf}, "arrival_rate = inf"),
        ({"rates": (1, -2)}, r"rates\[1\] = -2"),
        ({"rates": ()}, "rates is empty"),
        ({"servers": (1, 0)}, r"servers\[1\] = 0"),
        ({"servers": (1,)}, "servers has 1 entries"),
        ({"external": ("1/2", "1/3")}, "external sums to 5/6"),
    ],
)
def test_bad_networks(arguments, message):
    good = {"arrival_rate": 1, "routing": ((0, 1), (0, 0)), "rates": (2, 3)}
    with pytest.raises(ValueError, match=message):
        Network(**{**good, **arguments})


def test_unstable_networks_are_named():
    with pytest.raises(ValueError, match=r"station 1 has load 3/2 \(1.5\)"):
        tandem(3, (4, 2)).require_stable()
    with pytest.raises(ValueError, match="station 0 has load 1"):
        tiers("1/2").require_stable()


def test_bad_constructors():
    with pytest.raises(ValueError, match="back = 1; permitted"):
        three_tier(arrival_rate=1, rates=1, back=1)
    with pytest.raises(ValueError, match="rates has 2 entries"):
        three_tier(arrival_rate=1, rates=(1, 2))
    with pytest.raises(ValueError, match="per_tier = 0 is too small"):
        three_tier(0, arrival_rate=1, rates=1)
    with pytest.raises(ValueError, match="external has 1 entries"):
        parallel(1, (1, 2), (1,))


# Product forms --------------------------------------------------------------------------------------


def test_flow_equivalent_rates_of_three_tiers():
    rates = flow_equivalent_rates(tiers("1/4", (1, "3/2", 2)), 6)
    known = "6/19 114/265 318/671 1830/3731 2706/5449 2975154/5964505"
    assert rates == list(map(F, known.split()))


@pytest.mark.parametrize("name", NETWORKS)
def test_constants_by_enumeration(name):
    network, limit = NETWORKS[name]
    constants = normalizing_constants(network, limit)
    for total, constant in enumerate(constants):
        terms = [
            math.prod(
                network.visits[i] / network.station_rate(i, k)
                for i, jobs in enumerate(state)
                for k in range(1, jobs + 1)
            )
            for state in states(network.stations, limit)
            if sum(state) == total
        ]
        assert constant == sum(terms)
    rates = flow_equivalent_rates(network, limit)
    assert rates == [a / b for a, b in itertools.pairwise(constants)]
    assert np.allclose(flow_equivalent_rates(network.as_floats(), limit), np.array(rates, float))


def test_mean_value_analysis():
    for name in ("tandem", "three tiers"):
        network, _ = NETWORKS[name]
        assert mean_value_analysis(network, 8) == flow_equivalent_rates(network, 8)
    with pytest.raises(ValueError, match=r"servers\[1\] = 2"):
        mean_value_analysis(NETWORKS["several servers"][0], 3)


def test_many_jobs_in_floats():
    rates = flow_equivalent_rates(tiers(0.25, 1e-3), 5_000)
    assert rates[-1] == pytest.approx(0.5e-3, rel=1e-9)
    nu = total_law(1.0, [0.1] * 5_000, [1] * 5_000)
    assert nu[-1] == pytest.approx(0.9)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("name", NETWORKS)
def test_norton(name, policy):
    network, limit = NETWORKS[name]
    found = stationary_exact(network, limit, POLICIES[policy])
    assert found == product_law(network, POLICIES[policy])
    rates = flow_equivalent_rates(network, limit)
    nu = total_law(network.arrival_rate, rates, POLICIES[policy])
    assert law_of_total(found) == nu
    assert sum(nu) == 1


def test_norton_fails_for_policies_that_see_the_state():
    def rule(state):
        return int(state[0] == 0)

    for network, gap in (
        (tandem(1, (2, 3, "5/2")), 0.07787),
        (tiers(1, (1, "3/2", 2)), 0.01794),
    ):
        found = stationary_exact(network, 6, rule)
        accepted = acceptance_given_total(found, rule)
        nu = total_law(network.arrival_rate, flow_equivalent_rates(network, 6), accepted)
        assert total_variation(nu, law_of_total(found)) == pytest.approx(gap, abs=5e-6)
    # A sum-policy given as a function of the state is one.
    found = stationary_exact(network, 4, lambda state: F(1, 1 + sum(state)))
    assert found == product_law(network, [F(1, 1 + s) for s in range(4)])


def test_norton_fails_with_memory():
    network = tiers(1, (1, "3/2", 2))
    found = hysteresis(network, 4, 1)
    assert sum(found.values()) == 1
    merged = {}
    for (state, open_), probability in found.items():
        key = sum(state), open_
        merged[key] = merged.get(key, 0) + probability
    aggregated = hysteresis_totals(1, flow_equivalent_rates(network, 4), 4, 1)
    assert total_variation(aggregated, merged) == pytest.approx(0.0078445, abs=1e-6)
    # One station is a birth-death process, so there the aggregated chain is exact.
    queue = tandem(1, ("3/2",))
    aggregated = hysteresis_totals(1, [F(3, 2)] * 4, 4, 2)
    assert {((s,), o): p for (s, o), p in aggregated.items()} == hysteresis(queue, 4, 2)


def test_many_servers_in_floats():
    # The constants of this station are beyond floats.
    assert flow_equivalent_rates(tandem(1.0, (0.5,), (math.inf,)), 1_000) == pytest.approx(
        [0.5 * s for s in range(1, 1_001)], rel=1e-11
    )
    both = flow_equivalent_rates(tandem(1.0, (2.0, 0.5), (1, 900)), 900)
    alone = flow_equivalent_rates(tandem(1, (2, "1/2"), (1, 900)), 40)
    assert both[:40] == pytest.approx([float(rate) for rate in alone], rel=1e-11)
    assert both[-1] == pytest.approx(2)


def test_exit_rates():
    network = tiers(1, (1, "3/2", 2))
    found, rates = exit_rates(network, [1] * 6), flow_equivalent_rates(network, 6)
    assert found.given_total == tuple(rates)
    assert found.after_departure == tuple(rates[:-1])
    assert found.after_arrival == (F(1, 2),) * 6
    with pytest.raises(ValueError, match=r"acceptance\[1\] = 0"):
        exit_rates(network, (1, 0))


# Exact chains ---------------------------------------------------------------------------------------


def test_states():
    found = states(3, 4)
    assert len(found) == len(set(found)) == math.comb(7, 3)
    assert found == sorted(found, key=lambda state: (sum(state), state))


def test_transition_matrices():
    network, limit = NETWORKS["several servers"]
    points, matrix = transition_matrix(network, limit, POLICIES["hole"], exact=True)
    assert (matrix.sum(axis=1) == 1).all()
    assert (matrix >= 0).all()
    nu = np.array([product_law(network, POLICIES["hole"])[x] for x in points], dtype=object)
    assert (nu @ matrix == nu).all()
    _, floats = transition_matrix(network.as_floats(), limit, POLICIES["hole"])
    assert np.allclose(floats.toarray(), matrix.astype(float))
    found = stationary_float(network, limit, POLICIES["hole"])
    assert np.allclose(list(found.values()), nu.astype(float), atol=1e-12)
    _, slower = transition_matrix(network, limit, POLICIES["hole"], 100, exact=True)
    assert (nu @ slower == nu).all()


def test_overshoot_of_two_queues():
    # The number of jobs of a tandem that admits all overshoots its limit 2/3.
    points, matrix = transition_matrix(tandem(1, (1, 1)), 1, (1,), exact=True)
    row, occupied = np.array([F(int(x == (0, 0))) for x in points], dtype=object), []
    for _ in range(11):
        occupied.append(1 - row[0])
        row = row @ matrix
    assert occupied[:7] == [0, F(1, 3), F(5, 9), F(2, 3), F(19, 27), F(19, 27), F(56, 81)]
    assert occupied[10] == F(485, 729)


def test_spacing_jobs_out():
    network = tandem(3, (1,) * 5)
    law_ = stationary_exact(network, 2, lambda x: int(not (sum(x) == 1 and x[0] + x[1] == 1)))
    assert law_of_total(law_)[0] == F(319, 50059)
    assert law_of_total(stationary_exact(network, 2, (1, 1)))[0] == F(1, 151)


@pytest.mark.parametrize(
    ("network", "limit", "rejection_cost", "costs"),
    [
        (tiers(1, (1, "3/2", 2)), 5, 8, (6.66024, 6.65368)),
        (tandem(1, (2, 3, "5/2")), 6, "5/2", (1.79088, 1.74427)),
        (tandem(1, (1, "6/5")), 6, 5, (3.64249, 3.57951)),
    ],
)
def test_price_of_not_seeing_the_state(network, limit, rejection_cost, costs):
    model = model_of(network, limit, rejection_cost=rejection_cost, holding_cost=1)
    best = optimal_informed(network, limit, rejection_cost=rejection_cost, holding_cost=1)
    assert min(threshold_costs(model)) == pytest.approx(costs[0], abs=5e-6)
    assert best.cost == pytest.approx(costs[1], abs=5e-6)
    # Its mean cost from the stationary law of its own policy.
    found = stationary_exact(network, limit, lambda state: int(best.policy[state]))
    rejected = F(rejection_cost) * network.arrival_rate
    cost = sum(
        p * (sum(x) + (0 if best.policy.get(x, False) else rejected)) for x, p in found.items()
    )
    assert cost == best.cost


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda n: stationary_exact(n.as_floats(), 2, (1, 1)), "network has float rates"),
        (lambda n: stationary_exact(n, 2, (1, 0.5)), "acceptance at .* is a float"),
        (lambda n: stationary_exact(n, 0, ()), "limit = 0 is too small"),
        (lambda n: stationary_exact(n, 2, (1,)), "acceptance has 1 entries; permitted: 2 entries"),
        (lambda n: stationary_exact(n, 2, (1, 2)), r"acceptance\[1\] = 2"),
        (lambda n: stationary_exact(n, 2, (1, 1, 1)), r"acceptance\[2\] = 1; permitted: 0"),
        (lambda n: stationary_exact(n, 2, lambda x: 3), r"acceptance\(\(0, 0, 0\)\) = 3"),
        (lambda n: stationary_exact(n, 40, (1,) * 40), "gives 12341 states; permitted: up to"),
        (
            lambda n: transition_matrix(n, 2, (1, 1), 8),
            "uniformization = 8; permitted: at least 17/2",
        ),
        (lambda n: hysteresis(n, 2, 2), "resume = 2; permitted: below stop = 2"),
        (lambda n: hysteresis_totals(1, (1,), 2, 0), "rates has 1 entries"),
        (
            lambda n: optimal_informed(n, 2, rejection_cost=-1, holding_cost=1),
            "rejection_cost = -1; permitted: finite numbers from 0",
        ),
        (
            lambda n: optimal_informed(n, 2, rejection_cost=1, holding_cost=0.5),
            "holding_cost = 0.5; permitted: exact",
        ),
        (lambda n: hysteresis_totals(1, (1, 0.5), 2, 0), "arrival_rate or rates has floats"),
        (lambda n: total_variation({1: 1}, {2: 1}), "second has other keys"),
        (lambda n: total_variation({1: 1}, [1]), "second is a list, first a dict"),
        (lambda n: total_variation([1], {1: 1}), "second is a dict, first a list"),
        (lambda n: total_variation([1], [1, 0]), "second has 2 entries; permitted: as many"),
        (lambda n: total_variation(1, [1]), "first = 1; permitted: a sequence"),
        (lambda n: hysteresis_totals(1, 2, 2, 0), "rates = 2; permitted: a sequence"),
        (lambda n: total_law(1, 3, (1,)), "rates = 3; permitted: a sequence"),
        (lambda n: total_law(1, (), ()), "rates is empty"),
        (lambda n: compositions(0, 1), "stations = 0 is too small"),
        (lambda n: compositions(2, -1), "total = -1 is too small"),
        (lambda n: n.station_rate(3, 1), "station = 3; permitted: integers from 0 to 2"),
        (lambda n: n.station_rate(-1, 1), "station = -1 is too small"),
        (lambda n: n.station_rate(0, -1), "jobs = -1 is too small"),
        (lambda n: second_eigenvalue([1, 0]), r"matrix has shape \(2,\)"),
        (lambda n: second_eigenvalue([[1]]), r"matrix has shape \(1, 1\)"),
        (lambda n: second_eigenvalue([["x"]]), "matrix = .* a square matrix of numbers"),
        (
            lambda n: second_eigenvalue([[1, math.nan]] * 2),
            "matrix has entries that are not finite",
        ),
    ],
)
def test_bad_chains(call, message):
    with pytest.raises(ValueError, match=message):
        call(tandem(1, (2, 3, "5/2")))


# The admission problem ------------------------------------------------------------------------------


rational = st.fractions(F(1, 4), 4, max_denominator=6)


@st.composite
def models(draw, limit=5):
    return AdmissionModel(
        draw(rational), [draw(rational) for _ in range(limit)], draw(rational), draw(rational)
    )


@settings(deadline=None, max_examples=10, derandomize=True, database=None)
@given(models())
def test_every_policy_costs_what_its_threshold_costs(model):
    costs = threshold_costs(model)
    for policy in policies(model.limit):
        theta = (*policy, 0).index(0)
        cost, d = mean_cost(model, policy), increments(model, policy)
        assert cost == costs[theta]
        # The Poisson equation at the empty state is not used by the recursion.
        assert model.costs(policy)[0] + model.arrival_rate * policy[0] * d[0] == cost
    best = bellman(model)
    assert best.cost == min(costs) == costs[optimal_threshold(model)]
    for s, step in enumerate(best.increments):
        assert best.policy[s] == (step < model.rejection_cost) or s in best.ties


@settings(deadline=None, max_examples=15, derandomize=True, database=None)
@given(models())
def test_concave_rates(model):
    steps = sorted(model.rates, reverse=True)
    concave = AdmissionModel(
        model.arrival_rate,
        list(itertools.accumulate(steps)),
        model.rejection_cost,
        model.holding_cost,
    )
    assert concave.concave
    assert scan_threshold(concave) == optimal_threshold(concave)
    assert bellman(concave).is_threshold


def test_thresholds_can_fail_without_concavity():
    model = AdmissionModel(2, ("1/2", "5/4", "3/2", "5/2", 4, 5), "3/4", "1/2")
    costs = threshold_costs(model)
    assert np.allclose(
        np.array(costs, float), [1.5, 1.6, 1.579, 1.706, 1.685, 1.608, 1.570], atol=5e-4
    )
    best = bellman(model)
    assert best.policy == (0, 0, 0, 1, 1, 1)
    assert not best.is_threshold
    assert not model.concave


def test_ties():
    best = bellman(AdmissionModel(2, range(1, 7), 1, 1))
    assert best.cost == 2
    assert best.ties == tuple(range(6))
    assert best.is_threshold


def test_gain_and_phi():
    model = model_of(tiers("1/4"), 5, rejection_cost=10, holding_cost=1)
    policy = threshold(3, 5)
    assert model.uniformization == F(13, 4)
    assert model.max_reward == F(30, 13)
    nu, rejected = law(model, policy), model.arrival_rate * model.rejection_cost
    reward = sum(p * (rejected * (policy[s] if s < 5 else 0) + 5 - s) for s, p in enumerate(nu))
    assert gain(model, policy) == reward / model.uniformization
    assert sum(p * value for p, value in zip(nu, phi(model), strict=True)) == mean_cost(
        model, policy
    )
    floats = model.as_floats()
    assert np.allclose(threshold_costs(floats), np.array(threshold_costs(model), float))


@pytest.mark.parametrize(
    ("rejection_cost", "thetas"),
    [(2, [0, 0, 0]), (5, [1, 1, 2]), (10, [2, 3, 6]), (20, [3, 6, 12])],
)
def test_optimal_thresholds_of_three_tiers(rejection_cost, thetas):
    found = []
    for n in (1, 2, 4):
        network = three_tier(n, arrival_rate="99/100", rates=F(1, n))
        model = model_of(network, 10 * n, rejection_cost=rejection_cost, holding_cost=F(1, n))
        found.append(optimal_threshold(model.as_floats()))
    assert found == thetas


@settings(deadline=None, max_examples=8, derandomize=True, database=None)
@given(models(4))
def test_diameter(model):
    assert diameter(model).longest == diameter_brute(model)


@pytest.mark.parametrize(
    ("arrival_rate", "limit", "up", "down"),
    [
        ("1/4", 5, 382.45, 43.586),
        ("1/4", 30, 1.24077e10, 206.51),
        ("1/2", 20, 1237.8, 152.395),
        ("99/100", 30, 230.148, 253.531),
    ],
)
def test_diameter_of_three_tiers(arrival_rate, limit, up, down):
    model = model_of(tiers(arrival_rate), limit, rejection_cost=10, holding_cost=1)
    assert diameter(model) == pytest.approx((up, down), rel=2e-5)


def test_dominant_constants():
    i0, q, *constants = c1_c2(model_of(tiers("1/4"), 10, rejection_cost=10, holding_cost=1))
    assert (i0, q) == (2, F(11, 16))
    assert constants == [F(16, 11), F(3584, 55)]
    i0, q, *constants = c1_c2(model_of(tiers("2/5"), 10, rejection_cost=10, holding_cost=1))
    assert constants == pytest.approx((1.969, 721.9), rel=1e-3)
    with pytest.raises(ValueError, match="C1 and C2 are undefined"):
        c1_c2(model_of(tiers("99/100"), 10, rejection_cost=10, holding_cost=1))
    with pytest.raises(ValueError, match="i0 = 1; permitted"):
        c1_c2(model_of(tiers("2/5"), 10, rejection_cost=10, holding_cost=1), 1)


def test_increments_of_a_hole_at_the_bottom():
    model = AdmissionModel("9/10", [1] * 8, "1/100", 1)
    assert float(increments(model, (0,) + (1,) * 7)[0]) == pytest.approx(22.469, abs=1e-3)
    assert float(c1_c2(model).C2) == pytest.approx(10.09)


def test_delta_bound():
    largest = {"1/4": 31.6, "2/5": 75.7, "99/100": 209.5}
    for arrival_rate, value in largest.items():
        model = model_of(tiers(arrival_rate), 10, rejection_cost=10, holding_cost=1)
        bounds = delta_bound(model)
        assert float(max(bounds)) == pytest.approx(value, rel=2e-3)
        quicker = AdmissionModel(model.arrival_rate, [2 * r for r in model.rates], 10, 1)
        for theta in range(1, 11):
            for near in (model, quicker):
                d = increments(near, threshold(theta, 10))[:theta]
                assert all(0 <= a <= b for a, b in zip(d, bounds, strict=False))
    with pytest.raises(ValueError, match=r"rates\[1\] = 1 is below rates\[0\] = 2"):
        delta_bound(AdmissionModel(1, (2, 1), 1, 1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, (), 1, 1), "limit S is 0; permitted: S from 1"),
        ((1, (1, 0), 1, 1), r"rates\[1\] = 0"),
        ((0, (1,), 1, 1), "arrival_rate = 0"),
        ((1, (1,), -1, 1), "rejection_cost = -1; permitted: finite numbers from 0"),
        ((1, (1,), math.inf, 1), "rejection_cost = inf"),
        ((1, (1,), 1, math.nan), "holding_cost = nan"),
        ((1, (1, 2), 1, 1, "5/2"), "uniformization = 5/2; permitted: at least 3"),
    ],
)
def test_bad_models(arguments, message):
    with pytest.raises(ValueError, match=message):
        AdmissionModel(*arguments)


def test_bad_policies():
    model = AdmissionModel(1, (1, 2), 1, 1)
    with pytest.raises(ValueError, match="theta = 3; permitted: integers from 0 to 2"):
        threshold(3, 2)
    with pytest.raises(ValueError, match=r"acceptance\[2\] = 1; permitted: 0"):
        mean_cost(model, (1, 1, 1))
    with pytest.raises(ValueError, match="limit = 0 is too small"):
        model_of(tandem(1, (1,)), 0, rejection_cost=1, holding_cost=1)
    with pytest.raises(ValueError, match="permitted: exact numbers"):
        diameter_brute(model.as_floats())


# Mixing ---------------------------------------------------------------------------------------------


def test_two_states():
    queue = tandem(1, (1,))
    _, matrix = transition_matrix(queue, 1, (1,), 4, exact=True)
    nu = product_law(queue, (1,))
    assert total_variation_profile(matrix, nu, 4) == [F(1, 2 ** (t + 1)) for t in range(5)]
    assert expected_total_variation(matrix, nu, 4) == [F(1, 2 ** (t + 1)) for t in range(5)]
    assert mixing_time(matrix, nu) == mixing_time(matrix.astype(float), nu) == 1
    assert mixing_scale(second_eigenvalue(matrix)) == pytest.approx(1.2011, abs=1e-4)


@pytest.mark.parametrize(
    ("network", "limit", "uniformization", "scale", "time"),
    [
        (tandem("1/4", ("1/2",)), 20, 1, 19.18, 79),
        (tiers("1/4"), 5, None, 29.32, 57),
        (tiers("99/100"), 5, None, 13.03, 32),
        (tandem("1/2", (1, 1)), 10, None, 15.07, 52),
        (tandem("1/2", ("4/5", 1)), 10, None, 21.55, 55),
    ],
)
def test_mixing_of_networks(network, limit, uniformization, scale, time):
    policy = (1,) * limit
    _, matrix = transition_matrix(network, limit, policy, uniformization)
    nu = product_law(network, policy)
    assert mixing_scale(second_eigenvalue(matrix)) ** 2 == pytest.approx(scale, rel=5e-4)
    assert mixing_time(matrix, nu) == time
    profile = total_variation_profile(matrix, nu, time)
    assert profile[time] <= 0.25 < profile[time - 1]
    assert all(
        a <= b for a, b in zip(expected_total_variation(matrix, nu, time), profile, strict=True)
    )


def test_single_queue_modulus():
    for limit in (5, 20):
        _, matrix = transition_matrix(tandem("1/4", ("1/2",)), limit, (1,) * limit, 2)
        expected = single_queue_modulus("1/4", "1/2", limit, 2)
        assert second_eigenvalue(matrix) == pytest.approx(expected, abs=1e-10)
        assert second_eigenvalue(matrix.toarray().tolist()) == second_eigenvalue(matrix)


def test_certified_distances_enclose_the_exact_ones():
    network = tandem("3/5", (1, 1))
    for bounds in certified_distances(network, 3, 13):
        policy = threshold(bounds.theta, 3)
        _, matrix = transition_matrix(network, 3, policy, exact=True)
        exact = total_variation_profile(matrix, product_law(network, policy), 13)[-1]
        assert bounds.lower <= exact <= bounds.upper
        assert bounds.upper - bounds.lower < F(1, 10**30)


@pytest.mark.parametrize(
    ("network", "limit", "tau"),
    [(tandem("3/5", (1, 1)), 4, 202), (tiers("99/100"), 5, 686), (tiers("1/4"), 5, 964)],
)
def test_module_length(network, limit, tau):
    found = module_length(network, limit, 10**7)
    assert found.tau == tau
    assert found.smallest
    assert found.tolerance == F(1, 10**14)
    assert [bounds.theta for bounds in found.distances] == list(range(limit + 1))
    assert all(bounds.upper <= found.tolerance for bounds in found.distances)
    assert found.one_less.lower > found.tolerance
    assert module_length_float(network.as_floats(), limit, 10**7) == tau


def test_module_lengths_at_the_edges():
    network = tandem("3/5", (1, 1))
    assert module_length(network, 2, 1).tau == 1
    # Few bits cannot tell at once; they are doubled, and the length stays the same.
    assert module_length(network, 2, 10**6, bits=8).tau == module_length(network, 2, 10**6).tau
    with pytest.raises(ValueError, match="horizon = 10, and condition"):
        module_length(network, 2, 10)
    with pytest.raises(ValueError, match="network has float rates"):
        module_length(network.as_floats(), 2, 10**6)
    with pytest.raises(ValueError, match="level = 1; permitted"):
        mixing_time(np.eye(2), (0.5, 0.5), 1)
    with pytest.raises(ValueError, match="law 1 entries"):
        mixing_time(np.eye(2), (1.0,))
    with pytest.raises(ValueError, match="is not reached within"):
        mixing_time(np.eye(2), (0.5, 0.5))


@pytest.mark.parametrize(
    "name", ["Network", "product_law", "transition_matrix", "bellman", "module_length"]
)
def test_exports(name):
    assert name in admission.__all__
    assert getattr(admission, name).__name__ == name


def test_unknown_export():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = admission.nothing
