"""The chapter *drift and tail*: second routes, broken lemmas, judges that cannot be fooled."""

import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from checks.contextual import arrivals, drift, lower_bound, queue_chains, ramp, tail
from checks.contextual.queue_chains import BAD_ROUNDS, Queue, laws, pair_unmerged, unmerged
from checks.methods.certified import ball, precision

CLAIMS = {
    "drift": drift.drift,
    "mgf_step": drift.mgf_step,
    "queue_potential": tail.queue_potential,
    "queue_tail": tail.queue_tail,
    "disagreement_queue": tail.disagreement_queue,
    "disagreement_decay": ramp.disagreement_decay,
    "ramp_clean": ramp.ramp_clean,
    "ramp": ramp.ramp,
    "exploration_count_offbyone": arrivals.exploration_count_offbyone,
    "lower_bound": lower_bound.lower_bound,
}


# Broken lemmas -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lemma", "number", "other", "user"),
    [
        ("mgf_step", "exponent", "1/9", "queue_potential"),
        ("drift", "share", "1/3", "queue_tail"),
        ("queue_potential", "slope", "1", "queue_tail"),
        ("queue_potential", "exponent", "1/4", "disagreement_queue"),
        ("queue_potential", "constant", "6", "ramp_clean"),
        ("disagreement_queue", "factor", "2", "ramp_clean"),
        ("disagreement_decay", "exponent", "1/2", "ramp_clean"),
        ("ramp_clean", "omega", "5/2", "ramp"),
        ("ramp_clean", "exponent", "1/5", "lower_bound"),
    ],
)
def test_a_lemma_with_other_numbers_proves_nothing(monkeypatch, lemma, number, other, user):
    monkeypatch.setitem(CLAIMS[lemma].claimed, number, other)
    general = [check for check in CLAIMS[user].checks if check.scope == "general"]
    found = [check.decide(CLAIMS[user].claimed) for check in general]
    assert "undecided" in [one.outcome for one in found]
    assert any(f"contextual.{lemma} is used with other numbers" in one.witness for one in found)


def test_the_survival_lemma_is_used_as_stated(monkeypatch):
    monkeypatch.setitem(ramp.survival.claimed, "factor", "2")
    assert ramp.one_sided_moments("1", ramp._LENGTHS[0]).outcome == "undecided"


def test_the_loss_of_one_step_is_used_as_stated(monkeypatch):
    monkeypatch.setitem(lower_bound.one_step_loss.claimed, "power", "T-t")
    assert lower_bound.two_servers_told_apart("1/2").outcome == "undecided"


# Other numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decide", "numbers", "outcome"),
    [
        (drift.optimism_and_drift, (r"(\epsilon-2\varepsilon)/4", "not empty", "0.4"), "proved"),
        (
            drift.optimism_and_drift,
            (r"(\epsilon-2\varepsilon)/4", "possibly empty", "-99"),
            "undecided",
        ),
        (drift.chord_and_derivative, ("1/2", "0.12", "1.5"), "proved"),
        (drift.chord_and_derivative, ("0.501", "0.1249", "1"), "undecided"),
        (tail.recursion_in_the_mean, ("1", tail.LIMIT, "0.4"), "proved"),
        (tail.recursion_in_the_mean, ("0.3", tail.LIMIT, "1/2"), "undecided"),
        (tail.recursion_in_the_mean, ("5/16", tail.LIMIT, "0.9"), "undecided"),
        (tail.recursion_in_the_mean, ("-1", tail.LIMIT, "1/2"), "refuted"),
        (tail.recursion_in_the_mean, ("5/16", tail.LIMIT, "7"), "refuted"),
        (tail.simpler_bound, ("5.53",), "undecided"),
        (tail.simpler_bound, ("6",), "proved"),
        (tail.whole_slack_in_the_exponent, ("1", "0.9"), "proved"),
        (tail.whole_slack_in_the_exponent, ("0.16", "1"), "undecided"),
        (tail.whole_slack_in_the_exponent, ("0.1249", "1"), "refuted"),
        (tail.whole_slack_in_the_exponent, ("3/16", "1.001"), "refuted"),
        (tail.simpler_bound_for_the_whole_slack, ("41.24",), "undecided"),
        (tail.simpler_bound_for_the_whole_slack, ("43",), "proved"),
        (tail.recursion_of_the_source, ("0", "1/2"), "undecided"),
        (tail.from_the_sharper_potential, ("0", "1/2"), "proved"),
        (tail.from_the_sharper_potential, ("-11/16", "1/2"), "proved"),
        (tail.from_the_sharper_potential, ("-0.9", "1/2"), "undecided"),
        (tail.geometric_series, ("8.52",), "undecided"),
        (tail.geometric_series, ("8.54",), "proved"),
        (tail.cost_of_the_arrival, ("1.1427",), "proved"),
        (ramp.one_sided_moments, ("1/8", ramp._LENGTHS[0]), "proved"),
        (ramp.one_sided_moments, ("1.0000001", ramp._LENGTHS[0]), "undecided"),
        (ramp.split_at_half, ("1/8", "5/2"), "proved"),
        (ramp.split_at_half, ("0.3", "2"), "undecided"),
        (ramp.split_at_half, ("1/4", "1.5"), "undecided"),
        (ramp.split_at_half, ("1/4", "0.1"), "refuted"),
        (ramp.bound_on_the_factor, ("9/4", "6"), "undecided"),
        (ramp.sum_over_the_rounds, ("3",), "proved"),
        (ramp.sum_over_the_rounds, ("0.6",), "undecided"),
        (ramp.from_the_clean_ramp, ("1/4", "1/4", "2"), "proved"),
        (ramp.from_the_clean_ramp, ("1/32", "1/8", "1.9"), "undecided"),
        (ramp.yield_of_the_proof, ("1/33",), "proved"),
        (arrivals.square_of_the_inequality, ("3", "2", "2"), "proved"),
        (arrivals.square_of_the_inequality, ("2", "4", "2"), "proved"),
        (lower_bound.two_servers_told_apart, ("0.49",), "proved"),
        (lower_bound.two_servers_told_apart, ("0.7",), "undecided"),
        (lower_bound.divergence_of_two_bits, ("1.9999999999999999",), "undecided"),
        (lower_bound.constants_for_every_horizon, ("1", "0.09", "0.07", "0.02", "0.01"), "proved"),
        (lower_bound.every_round_is_good, ("3", "167.85", "64.95"), "proved"),
        (lower_bound.every_round_is_good, ("1.99", "168", "65"), "refuted"),
        (lower_bound.every_round_is_good, ("2", "167.84", "65"), "refuted"),
    ],
)
def test_other_numbers_are_decided_or_left_open(decide, numbers, outcome):
    assert decide(*numbers).outcome == outcome


@pytest.mark.parametrize(
    "decide",
    [
        lambda: drift.optimism_and_drift("epsilon", "not empty", "1/2"),
        lambda: drift.rounds_of_three_pairs(r"(\epsilon-2\varepsilon)/4", "long", "1/2"),
        lambda: tail.recursion_in_the_mean("5/16", "2", "1/2"),
        lambda: tail.every_round_with_a_disagreement("Q"),
        lambda: ramp.exact_pairs("1", "some"),
    ],
)
def test_unknown_variants_are_named(decide):
    with pytest.raises(ValueError, match="must be one of"):
        decide()


# Second routes -------------------------------------------------------------------------------------


def simulated(queue, rounds, runs, seed):
    """Lengths and bad rounds at the beginning of a round, from literal runs."""
    source, is_bad = random.Random(seed), BAD_ROUNDS[queue.bad]
    served = float(queue.arrival_rate + queue.slack / 2)
    rate, found = float(queue.arrival_rate), []
    for _ in range(runs):
        length = before = 0
        for t in range(1, rounds + 1):
            bad = is_bad(t, length, before)
            leaves = length > 0 and not bad and source.random() < served
            length += (source.random() < rate) - leaves
            before += bad
        found.append((length, before))
    return np.array(found)


@pytest.mark.parametrize("bad", BAD_ROUNDS)
def test_laws_agree_with_runs(bad):
    queue, rounds, runs = Queue(Fraction(3, 10), Fraction(1, 5), bad), 25, 4000
    law = laws(queue, rounds)[rounds]
    whole = queue.denominator**rounds
    assert sum(law.values()) == whole
    mean = np.array([sum(state[k] * w for state, w in law.items()) / whole for k in (0, 1)])
    runs_ = simulated(queue, rounds, runs, seed=3)
    error = 5 * runs_.std(axis=0) / math.sqrt(runs) + 1e-12
    assert (np.abs(runs_.mean(axis=0) - mean) <= error).all()


def test_law_by_hand():
    queue = Queue(Fraction(1, 2), Fraction(1, 5))  # served with 3/5
    law = {length: w for (length, _), w in laws(queue, 2)[2].items()}
    whole = Fraction(queue.denominator**2)
    assert law[2] / whole == Fraction(1, 2) * Fraction(1, 2) * Fraction(2, 5)
    assert law[0] / whole == Fraction(1, 4) + Fraction(1, 2) * Fraction(1, 2) * Fraction(3, 5)


@pytest.mark.parametrize("bad", ["none", "every third", "6 while long"])
def test_means_and_tails_are_those_of_the_law(bad):
    queue, t, slope = Queue(Fraction(3, 10), Fraction(3, 10), bad), 12, Fraction(5, 16)
    a = float(queue.arrival_rate + slope * queue.slack)
    whole = queue.denominator ** (t - 1)
    law = {state: w / whole for state, w in laws(queue, t - 1)[t - 1].items()}
    with precision(80):
        mean = float(queue_chains.weighted_mean(queue, t, slope).mid())
    eta = float(queue.slack) / 2
    assert mean == pytest.approx(sum(w * math.exp(eta * (q - a * b)) for (q, b), w in law.items()))
    for beyond in range(4):
        counted = sum(w for (q, b), w in law.items() if q >= a * b + beyond)
        found = queue_chains.tail(queue, t, slope, beyond, arrival=False)
        assert float(found) == pytest.approx(counted)
        rate = float(queue.arrival_rate)
        fewer = sum(w for (q, b), w in law.items() if q >= a * b + beyond - 1)
        found = queue_chains.tail(queue, t, slope, beyond, arrival=True)
        assert float(found) == pytest.approx((1 - rate) * counted + rate * fewer)


@pytest.mark.parametrize(
    "wrong",
    [
        {"arrival_rate": 0.5},
        {"arrival_rate": Fraction(0)},
        {"slack": Fraction(3, 4)},
        {"bad": "sometimes"},
    ],
)
def test_a_queue_says_what_is_wrong_with_it(wrong):
    right = {"arrival_rate": Fraction(1, 2), "slack": Fraction(1, 10), "bad": "none"}
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Queue(**right | wrong)


def test_three_routes_to_what_is_left():
    rate, served = Fraction(3, 10), Fraction(7, 10)
    table = unmerged(rate, served, 12, 5)
    for rounds in (1, 3, 12):
        with precision(100):
            fair = queue_chains.unmerged_fair(served, rounds, terms=99)
            assert fair.overlaps(ball(table[rounds][1]))
    split = (Fraction(1, 10), Fraction(1, 5))
    for (a, b), private in product(((0, 0), (1, 0), (2, 1), (0, 3)), (0, 1)):
        pair = pair_unmerged((served, served), split, (a, b), private, 6)
        assert pair == table[6][a + b + 1]


def test_what_is_left_of_two_types_in_literal_runs():
    rates, comes, n, runs = (0.8, 0.7), (0.25, 0.25), 4, 20000
    source, left = random.Random(11), 0
    for _ in range(runs):
        minus, plus = [1, 1], [1, 2]  # one more job of the second type in Q+
        for _ in range(n):
            uniform, arrival = source.random(), source.random()
            for jobs in (minus, plus):
                top = next((kind for kind in (0, 1) if jobs[kind]), None)
                if top is not None and uniform <= rates[top]:
                    jobs[top] -= 1
            for jobs in (minus, plus):
                if arrival < sum(comes):
                    jobs[int(arrival >= comes[0])] += 1
        left += sum(plus) - sum(minus)
    exact = pair_unmerged(
        (Fraction(4, 5), Fraction(7, 10)), (Fraction(1, 4), Fraction(1, 4)), (1, 1), 1, n
    )
    assert left / runs == pytest.approx(float(exact), abs=5 / math.sqrt(runs))


def test_the_settled_law_of_the_witness():
    rate, states = 0.4375, 60
    law = np.zeros(states)
    law[0] = 1.0
    for _ in range(4000):
        after = law * 0
        after[1:] += law[:-1] * rate
        after[-1] += law[-1] * rate
        after[:-1] += law[1:] * (1 - rate)
        after[0] += law[0] * (1 - rate)
        law = after
    assert law[10:].sum() == pytest.approx((rate / (1 - rate)) ** 10, rel=1e-5)


def test_the_sum_of_a_ramp():
    for c, factor, omega in product((0.25, 0.1, 0.01), (2.2, 30.0), (0.0, 3.7, 50.0)):
        terms = np.exp(np.minimum(0, np.log(factor) - c * (np.arange(20000) - omega)))
        bound = omega + 1 + (1 + math.log(factor)) / c
        assert bound - 0.6 < terms.sum() < bound


def test_the_queue_that_drains_late_in_literal_runs():
    # the witness against a smaller omega, at a scale that can be run
    rate, slack, bad, source = 0.96, 0.02, 400, np.random.default_rng(5)
    start = source.binomial(bad, rate, size=(100, 1))
    rounds = int(0.8 * rate * bad / slack)
    arrives, leaves = (source.binomial(1, p, (100, rounds)) for p in (rate, rate + slack))
    steps = arrives - leaves
    survives = (start - 1 + np.cumsum(steps, axis=1)).min(axis=1) > 0
    assert survives.mean() > 0.9


@pytest.mark.parametrize(
    ("needed", "rate", "log"), [(2, 0.9, 1.9), (15, 0.7, 3.0), (40, 0.2, 700.0), (3, 1.0, 4.4)]
)
def test_arrivals_enough(needed, rate, log):
    rounds = 2 * needed / rate + log / (2 * rate**2) - 1
    slack = rate * rounds - math.sqrt(rounds * log / 2) - needed
    assert (slack >= 0) == ((needed - rate) ** 2 >= log / 2)


# The lower bound -----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [0, 1])
def test_minimax_regret_over_all_policies_written_out(case):
    # T = 4: decisions in rounds 2 and 3. In round 3 a policy knows both arrivals and what it saw.
    rate, middle, half = (float(x) for x in lower_bound.PAIRS[case])
    chance, values = (1 - rate, rate), []
    for second, *third in product((0, 1), repeat=5):
        rules = dict(zip(((0, 0, 1), (1, 0, 0), (1, 0, 1), (1, 1, 1)), third, strict=True))
        regrets = []
        for better in (0, 1):
            served = [middle + half if k == better else middle - half for k in (0, 1)]
            lengths = []
            for knows in (True, False):  # the optimal policy, and this one
                mean = 0.0
                for first, later, last, left in product((0, 1), repeat=4):
                    p2 = served[better if knows else second]
                    if not first and left:
                        continue  # nothing to serve in round 2
                    weight = chance[first] * chance[later] * chance[last]
                    weight *= (p2 if left else 1 - p2) if first else 1
                    waiting = first - left + later
                    rule = rules.get((first, left, later))  # None if nothing waits in round 3
                    p3 = served[better if knows else rule] if waiting else 0.0
                    mean += weight * (waiting - p3 + last)
                lengths.append(mean)
            regrets.append(lengths[1] - lengths[0])
        values.append(sum(regrets) / 2)
    exact = lower_bound.minimax_regret(4, *lower_bound.PAIRS[case])
    assert min(values) == pytest.approx(float(exact))


def test_closed_form_of_the_bound():
    rate, middle, half = lower_bound.PAIRS[0]
    for horizon in (3, 4, 17):
        with precision(100):
            kl = float(lower_bound.larger_divergence(middle, half).mid())
            bound = float(lower_bound.bound_of_sum(rate, middle, half, horizon).mid())
        age = float(1 - middle - half)
        terms = (age**m * math.exp(-(horizon - 3 - m) * kl) for m in range(horizon - 2))
        assert bound == pytest.approx(float(rate * half) / 2 * sum(terms))


def test_divergence_by_scipy():
    high, low = np.array([0.7, 0.3]), np.array([0.5, 0.5])
    largest = max(np.sum(high * np.log(high / low)), np.sum(low * np.log(low / high)))
    with precision(100):
        found = lower_bound.larger_divergence(Fraction(3, 5), Fraction(1, 10))
    assert float(found.mid()) == pytest.approx(largest)


@pytest.mark.parametrize(("case", "limit"), [(0, 0.04963), (1, 0.03714)])
def test_constants_at_a_long_horizon(case, limit):
    rate, middle, _ = lower_bound.PAIRS[case]
    horizon = 10**8
    with precision(128):
        half = ball(middle * (1 - middle) / horizon).sqrt() / 2
        bound = lower_bound.bound_of_sum(rate, middle, half, horizon) * ball(horizon).sqrt()
    assert float(bound.mid()) == pytest.approx(limit, abs=2e-5)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((1, Fraction(1, 2), Fraction(1, 2), Fraction(1, 8)), "horizon"),
        ((3, Fraction(1), Fraction(1, 2), Fraction(1, 8)), "rate"),
        ((3, Fraction(1, 2), Fraction(1, 2), Fraction(1, 2)), "middle"),
    ],
)
def test_minimax_regret_says_what_is_wrong(arguments, name):
    with pytest.raises(ValueError, match=name):
        lower_bound.minimax_regret(*arguments)


def test_no_policy_no_refutation(monkeypatch):
    monkeypatch.setattr(lower_bound, "minimax_regret", lambda *_: Fraction(9))
    assert lower_bound.two_servers_told_apart("1.001").outcome == "undecided"
