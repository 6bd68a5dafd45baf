"""What the claims on the whole network compute beyond what the ledger judges."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.admission import (
    dominance,
    full_information,
    instances,
    mixing,
    norton,
    perturbation,
    spectrum,
)
from checks.admission.finite_chains import Chain, decimal_of, inverse_log, queue_or_tiers
from checks.methods.certified import ball, precision
from simlib.admission.chain import law_of_total, stationary_exact, transition_matrix
from simlib.admission.network import Network, tandem
from simlib.admission.product_form import flow_equivalent_rates, product_law, total_law

# Bad input ----------------------------------------------------------------------------------------


def test_networks_and_policies_are_named():
    with pytest.raises(ValueError, match="name = 'ring': must be one of tandem"):
        instances.solved("ring", "accept all")
    with pytest.raises(ValueError, match="policy = 'reject': must be one of accept all"):
        instances.solved("tandem", "reject")


@pytest.mark.parametrize(
    ("claim", "numbers", "message"),
    [
        (norton.norton_sum_policy, {"sees": "weather"}, "sees = 'weather'"),
        (norton.norton_sum_policy, {"weight": "v"}, "weight = 'v'"),
        (norton.norton_sum_policy, {"state_gaps": "1/10, 0.1, 0.1, 0.1, 0.1"}, "plain decimal"),
        (norton.total_not_markov, {"met": "s-2"}, "met = 's-2'"),
        (full_information.sum_policy_gap, {"relation": "above"}, "relation = 'above'"),
        (dominance.dominance, {"sees": "everything"}, "sees = 'everything'"),
        (dominance.dominance_refuted, {"angle": "t"}, "angle = 't'"),
        (mixing.mixing_w, {"factor": "1"}, "factor = '1'"),
        (mixing.module_independence, {"samples": "n"}, "samples = 'n'"),
        (spectrum.rho_vs_s, {"angle": "1"}, "angle = '1'"),
        (norton.norton_sum_policy, {"rates": "1/2"}, "rates = '1/2': must be 6 numbers"),
        (
            norton.norton_sum_policy,
            {"state_gaps": "0.1, 0.1"},
            "state_gaps = .*: must be 5 numbers",
        ),
        (norton.total_not_markov, {"given": "1/2"}, "given = '1/2': must be 5 numbers, for s = 1;"),
        (norton.total_not_markov, {"after_arrival": "1/2"}, "after_arrival = '1/2': must be 5"),
        (full_information.sum_policy_gap, {"tandem": "1.0"}, "tandem = '1.0': must be 2 numbers"),
        (mixing.module_independence, {"far": "1.0"}, "far = '1.0': must be 3 numbers"),
        (mixing.module_independence, {"average": "1.0"}, "average = '1.0': must be 3 numbers"),
        (spectrum.rho_vs_s, {"critical": "1.0"}, "critical = '1.0': must be 4 numbers"),
        (spectrum.rho_vs_s, {"busy_tiers": "1.0"}, "busy_tiers = '1.0': must be 3 numbers"),
        (perturbation.increment_bounds, {"largest": "1.0"}, "largest = '1.0': must be 3 numbers"),
        (perturbation.increment_bounds, {"diameters": "1.0"}, "diameters = '1.0': must be 3"),
    ],
)
def test_variants_that_are_not_offered_are_no_verdicts(claim, numbers, message):
    name = next(iter(numbers))
    check = next(check for check in claim.checks if name in check.parameters)
    with pytest.raises(ValueError, match=message):
        check.decide(claim.claimed | numbers)


def test_a_law_that_is_not_stationary_is_refused():
    half = Fraction(1, 2)
    with pytest.raises(ArithmeticError, match="not stationary"):
        Chain.of([[half, half], [0 * half, 1 + 0 * half]], [half, half])


# Networks -----------------------------------------------------------------------------------------


@st.composite
def two_stations(draw):
    """A network of two stations with rational data, and acceptance probabilities."""
    tenths = st.integers(0, 4).map(lambda k: Fraction(k, 10))
    rates = st.integers(1, 12).map(lambda k: Fraction(k, 4))
    routing = [[draw(tenths) for _ in range(2)] for _ in range(2)]
    enters = draw(st.integers(0, 5).map(lambda k: Fraction(k, 5)))
    servers = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    network = Network(
        draw(rates), routing, [draw(rates), draw(rates)], servers, (enters, 1 - enters)
    )
    accept = draw(st.lists(st.integers(0, 4).map(lambda k: Fraction(k, 4)), min_size=3, max_size=3))
    return network, accept


@given(two_stations())
@settings(max_examples=40, deadline=None)
def test_norton_on_drawn_networks(drawn):
    network, accept = drawn
    law = stationary_exact(network, 3, accept)
    assert law == product_law(network, accept)
    rates = flow_equivalent_rates(network, 3)
    assert law_of_total(law) == total_law(network.arrival_rate, rates, accept)
    assert rates == norton._rates(network, 3, "v_i", "G(s-1)/G(s)")
    assert norton._closed_throughput(network, 3) == rates[2]


@given(two_stations(), st.lists(st.integers(0, 4), min_size=3, max_size=3))
@settings(max_examples=30, deadline=None)
def test_more_admission_raises_every_level_of_drawn_networks(drawn, more):
    network, lower = drawn
    upper = [max(a, Fraction(b, 4)) for a, b in zip(lower, more, strict=True)]
    one, other = (law_of_total(stationary_exact(network, 3, accept)) for accept in (lower, upper))
    for s in range(3):
        assert one[s + 1] * other[s] <= one[s] * other[s + 1]
    assert all(sum(one[k:]) <= sum(other[k:]) for k in range(4))


def test_after_an_arrival_a_tandem_leaves_as_with_one_job_less():
    found = norton._exit_rates("tandem")
    assert found["arrival"] == (0, *found["given"][:-1])
    assert found["departure"] == found["given"][:-1]


def test_delayed_start_equals_accepting_all_later():
    for delay in range(6):
        assert dominance._some_job(10, delay) == dominance._some_job(10 - delay, 0)


def test_one_job_in_integers_agrees_with_fractions():
    rows = transition_matrix(tandem(Fraction(1, 4), (1, 1, 1)), 1, (Fraction(1, 2),), exact=True)[1]
    law = np.array([Fraction(int(i == 0)) for i in range(4)], dtype=object)
    for _ in range(9):
        law = law @ rows
    assert dominance._one_job(3, 9, Fraction(1, 2)) == 1 - law[0]


def test_the_cost_of_remembering_lies_between_by_value_iteration():
    # States: jobs at both stations, and whether an arrival was rejected since the last change.
    def run(policy, steps=4000):
        states = [(a, b, m) for a in range(3) for b in range(3 - a) for m in (0, 1)]
        value = dict.fromkeys(states, 0.0)
        for _ in range(steps):
            new = {}
            for a, b, m in states:
                admits = policy(a + b, m)
                arrival = (a + 1, b, 0) if admits else (a, b, 1)
                first = (a - 1, b + 1, m) if a else (a, b, m)
                second = (a, b - 1, 0) if b else (a, b, m)
                cost = a + b + (0 if admits else 4)
                new[a, b, m] = cost / 3 + sum(value[s] for s in (arrival, first, second)) / 3
            low = min(new[s] - value[s] for s in states)
            high = max(new[s] - value[s] for s in states)
            value = {s: v - new[0, 0, 0] for s, v in new.items()}
            if high - low < 1e-10:
                break
        return 3 * low, 3 * high

    low, high = run(lambda jobs, rejected: jobs == 0 or (jobs == 1 and rejected))
    assert low - 1e-9 <= float(full_information._remembering()) <= high + 1e-9
    low, high = run(lambda jobs, rejected: jobs == 0)
    assert low - 1e-9 <= float(full_information._best_alone("equal")) <= high + 1e-9


# Finite chains ------------------------------------------------------------------------------------


def test_distances_and_spectrum_agree_with_floats():
    network = tandem(Fraction(1, 3), (1, Fraction(1, 2)))
    points, rows = transition_matrix(network, 3, (1, 1, 0), exact=True)
    law = stationary_exact(network, 3, (1, 1, 0))
    chain = Chain.of(rows, [law[x] for x in points])
    matrix = rows.astype(float)
    power = np.linalg.matrix_power(matrix, 7)
    target = np.array([float(law[x]) for x in points])
    far = np.abs(power - target).sum(axis=1) / 2
    assert [float(d) for d in chain.distances(7)] == pytest.approx(far.tolist())
    assert float(chain.average(7)) == pytest.approx(far @ target)
    apart = np.abs(power[:, None] - power[None]).sum(axis=2).max() / 2
    assert float(chain.apart(7)) == pytest.approx(apart)
    moduli = sorted(np.abs(np.linalg.eigvals(matrix)))
    assert float(chain.second_modulus().mid()) == pytest.approx(moduli[-2], rel=1e-6)


def test_one_queue_has_the_rho_of_its_closed_form():
    chain = queue_or_tiers("half", "1/4", 6, 6, "1")
    with precision(100):
        assert chain.second_modulus().overlaps(spectrum._rho_of_one_queue("1/4", 6))


@pytest.mark.parametrize(("letters", "length"), [(2, 3), (3, 2), (4, 2)])
def test_words_forget_a_letter_a_step(letters, length):
    chain = mixing._words(letters, length)
    for t in range(length + 1):
        assert chain.farthest(t) == 1 - Fraction(1, letters ** (length - t))
    assert chain.mixes_at(length)


def test_two_samples_are_as_far_from_independent_as_beta_says():
    for steps in (1, 3):
        distance, beta = mixing._joint(2, steps)
        assert distance == beta


def test_decimals_are_compared_with_their_last_digit():
    with precision(60):
        assert decimal_of(ball("1/3"), "0.333", "third").outcome == "proved"
        assert decimal_of(ball("1/3"), "0.334", "third").outcome == "refuted"
        assert (
            decimal_of(ball("1/3") + ball(0).union(ball(1)), "0.333", "third").outcome
            == "undecided"
        )
        assert inverse_log(ball("1/2")).overlaps(1 / ball(2).log())
