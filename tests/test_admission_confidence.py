"""What the claims about samples, intervals and planning compute: known values, two routes, errors."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from checks.admission.confidence import (
    costs_of_a_threshold,
    coverage,
    falls_below,
    one_sample_by_powers,
    runs_with_a_miss,
    runs_without_optimism,
    some_n_fails,
    splits,
)
from checks.admission.planning import every_vertex, largest_mean
from checks.admission.regions import doubling_share
from checks.admission.samples import chain_of, samples_by_powers, survivors, whole_episodes
from checks.claim import find
from checks.finding import PROVED, REFUTED, UNDECIDED
from simlib.admission import formulas
from simlib.admission.evi import extended_value_iteration, optimistic_row
from simlib.admission.network import tandem, three_tier

CLAIMS = (
    "admission.sample_law",
    "admission.kl_radius",
    "admission.coverage_in_runs",
    "admission.confidence_sets",
    "admission.evi_closed_form",
)


# Samples --------------------------------------------------------------------------------------------


def test_survivors_follow_the_chain_without_its_end():
    # A second route: forward equations in floats, from the empty network, 230 steps.
    known = chain_of(three_tier(1, arrival_rate=Fraction(99, 100), rates=1), 5, 5)
    rows = known.chain.matrix.tolist()
    matrix = np.array([[int(p) / known.chain.scale for p in row] for row in rows])
    ended = np.array(known.totals) == 5
    law = np.zeros(len(ended))
    law[known.totals.index(0)] = 1.0
    for _ in range(230):
        law = np.where(ended, 0.0, law) @ matrix
        law /= law.sum()
    leaving = np.array([float(share) for share in known.leaving])
    for s, (low, high, true) in enumerate(survivors(200), start=1):
        at = np.array(known.totals) == s
        found = (law[at] * leaving[at]).sum() / law[at].sum()
        assert float(low) - 1e-9 <= found <= float(high) + 1e-9
        assert found > 1.05 * float(true)


def test_sums_over_an_episode_step_by_step():
    known = chain_of(three_tier(1, arrival_rate=Fraction(99, 100), rates=1), 5, 5)
    matrix = np.array(
        [[int(p) / known.chain.scale for p in row] for row in known.chain.matrix.tolist()]
    )
    totals = np.array(known.totals)
    excess = np.array([float(x) for x in known.leaving])
    excess -= np.array([0.0, *(float(rate / known.clock) for rate in known.rates)])[totals]
    law = np.array([p / known.chain.mass for p in known.chain.law], dtype=float)
    sums, length = np.zeros(6), 0.0
    for step in range(600):
        if step == 200:
            late = law.sum()
        sums += np.bincount(totals, law * excess)
        length += law.sum()
        law = np.where(totals == 5, 0.0, law) @ matrix
    found, steps, rest = whole_episodes()
    assert [float(x) for x in found] == pytest.approx(sums[1:], abs=1e-12)
    assert (float(steps), float(rest)) == pytest.approx((length, late), rel=1e-9)


@pytest.mark.parametrize("name", ["biased", "unbiased", "excess", "sums"])
def test_a_row_of_another_length_is_an_error(name):
    claim = find("admission.sample_law")
    check = next(check for check in claim.checks if name in check.parameters)
    for row in (claim.claimed[name] + ", 0.5", claim.claimed[name].rpartition(", ")[0]):
        with pytest.raises(ValueError, match=f"{name} = .*must be 5 numbers"):
            check.decide(claim.claimed | {name: row})


def test_shares_of_a_law_are_those_of_its_states():
    known = chain_of(tandem(Fraction(3, 5), (1, 1)), 3, 2)
    law = [Fraction(p, known.chain.mass) for p in known.chain.law]
    assert sum(known.share(law, s)[0] for s in range(4)) == 1
    assert known.share(law, 3) == (0, 0)
    at, left = known.share(law, 2)
    assert left / at == known.rates[1] / known.clock


# Probabilities --------------------------------------------------------------------------------------


def _paths(p, samples):
    for path in itertools.product((0, 1), repeat=samples):
        hits = sum(path)
        yield np.cumsum(path), p**hits * (1 - p) ** (samples - hits)


@pytest.mark.parametrize("level", [1, 2])
def test_anytime_probability_by_all_paths(level):
    p, samples = Fraction(1, 3), 10
    expected = sum(
        weight
        for sums, weight in _paths(p, samples)
        if any(
            n * formulas.kl_divergence(k / n, float(p)) > level
            for n, k in enumerate(sums.tolist(), start=1)
        )
    )
    assert some_n_fails(p, samples, level) == expected


@pytest.mark.parametrize("kappa", [Fraction(1), Fraction(2, 3)])
def test_falling_below_by_all_paths(kappa):
    p, samples = Fraction(1, 2), 10
    expected = sum(
        weight
        for sums, weight in _paths(p, samples)
        if any(k < kappa * n * p - 1 for n, k in enumerate(sums.tolist(), start=1))
    )
    assert falls_below(p, samples, 1, kappa) == expected


@pytest.mark.parametrize(
    ("number", "outcome"), [("1", PROVED), ("2", PROVED), ("5/2", REFUTED), ("2.01", UNDECIDED)]
)
def test_radius_of_mean_costs(number, outcome):
    assert costs_of_a_threshold(number).outcome == outcome


@pytest.mark.parametrize("number", ["0", "-1"])
def test_a_radius_needs_a_positive_number(number):
    with pytest.raises(ValueError, match="hoeffding"):
        costs_of_a_threshold(number)


def test_doubling_sums_are_those_of_the_sequence():
    for k in range(12):
        visits = [1, *(2**j for j in range(k))]
        before = np.concatenate([[0], np.cumsum(visits)[:-1]])
        expected = sum(v / math.sqrt(max(1, n)) for v, n in zip(visits, before, strict=True))
        a, b = doubling_share(k)
        share = float(a) + float(b) * math.sqrt(2)
        assert share == pytest.approx(expected / math.sqrt(sum(visits)))
        assert share < 1 + math.sqrt(2)


def test_width_of_the_formulas_is_not_below_that_of_the_claim():
    claimed = find("admission.kl_radius").claimed
    first, second, pinsker = (
        float(Fraction(claimed[name])) for name in ("first", "second", "pinsker")
    )
    for p, eta in itertools.product((0.0, 1e-4, 0.1, 0.5, 0.9), (1e-5, 1e-3, 0.1)):
        own = min(math.sqrt(first * p * eta) + second * eta, math.sqrt(pinsker * eta))
        assert own <= formulas.kl_width(p, eta) * (1 + 1e-12)


# Planning -------------------------------------------------------------------------------------------


def _by_programme(phat, u, beta):
    # q = phat + a - b with a, b >= 0 and sum a + b <= beta
    n = len(u)
    answer = linprog(
        np.concatenate([-u, u]),
        A_ub=np.vstack([np.ones(2 * n), np.hstack([-np.eye(n), np.eye(n)])]),
        b_ub=np.concatenate([[beta], phat]),
        A_eq=[np.concatenate([np.ones(n), -np.ones(n)])],
        b_eq=[0.0],
    )
    return phat @ u - answer.fun


@pytest.mark.parametrize("states", [2, 3, 7])
def test_optimistic_row_is_the_optimum_of_the_programme(states):
    source = np.random.default_rng(states)
    for _ in range(15):
        phat, u = source.dirichlet(np.ones(states)), source.normal(size=states)
        beta = source.uniform(0, 2.2)
        q, value = optimistic_row(u, phat, beta)
        assert np.abs(np.array(q) - phat).sum() <= beta + 1e-12
        assert value == pytest.approx(_by_programme(phat, u, beta), abs=1e-9)


def test_optimistic_row_is_the_best_vertex_in_rationals():
    phat = [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]
    for u in itertools.product((-1, 0, 2), repeat=3):
        for beta in (Fraction(0), Fraction(1, 3), Fraction(3, 2), Fraction(5, 2)):
            assert optimistic_row(u, phat, beta)[1] == largest_mean(phat, u, beta)[0]


def test_one_sweep_of_the_kernel_is_the_closed_form():
    source = np.random.default_rng(5)
    limit = 6
    up, down = np.zeros((limit + 1, 2)), np.zeros((limit + 1, 2))
    up[:-1, 1] = source.uniform(0, 0.5, limit)
    down[1:] = source.uniform(0, 0.5, limit)[:, None]
    rewards, radius = source.uniform(size=(limit + 1, 2)), source.uniform(0, 1.5, (limit + 1, 2))
    start = source.normal(size=limit + 1)
    found = extended_value_iteration(
        rewards, up, down, radius, precision=1e-9, start=start, most_sweeps=1
    )
    best = []
    for s in range(limit + 1):
        values = []
        for a in range(2 if s < limit else 1):
            near = [k for k in (s - 1, s, s + 1) if 0 <= k <= (limit if a else s)]
            law = {s - 1: down[s, a], s + 1: up[s, a], s: 1 - down[s, a] - up[s, a]}
            _, value = optimistic_row(
                [start[k] for k in near], [law[k] for k in near], radius[s, a]
            )
            values.append(rewards[s, a] + value)
        best.append(max(values))
    assert found.values == pytest.approx(np.array(best) - best[0])


# Claims ---------------------------------------------------------------------------------------------


def _coverage(runs, missed, pessimistic):
    shape = {"missed": missed, "pessimistic": pessimistic}
    return {
        f"{name}_{setting}_{learner}": np.resize(values, runs)
        for name, values in shape.items()
        for setting in ("tandem", "tiers")
        for learner in ("theorem", "short", "tiny")
    }


def test_runs_are_judged_by_what_they_contain():
    runs = coverage.parameters("quick")["runs"]
    level = find("admission.coverage_in_runs").claimed["level"]
    assert runs_with_a_miss(_coverage(runs, [0], [0]), level).outcome == PROVED
    assert runs_with_a_miss(_coverage(runs, [1], [0]), level).outcome == REFUTED
    assert runs_with_a_miss(_coverage(runs - 1, [0], [0]), level).outcome == UNDECIDED
    assert runs_without_optimism(_coverage(runs, [0], [18, 19, 20]), "10").outcome == PROVED
    assert runs_without_optimism(_coverage(runs, [0], [0, 1]), "10").outcome == REFUTED
    assert runs_without_optimism(_coverage(runs, [0], [18]), "10").outcome == UNDECIDED


@pytest.mark.parametrize(
    ("judge", "number"),
    [
        (samples_by_powers, "rule"),
        (samples_by_powers, "ramp"),
        (one_sample_by_powers, "floor"),
        (splits, "pooled"),
        (every_vertex, "taken"),
    ],
)
def test_numbers_out_of_the_named_variants_are_errors(judge, number):
    check = next(check for name in CLAIMS for check in find(name).checks if check.judge is judge)
    with pytest.raises(ValueError, match=number):
        check.decide(check.claim.claimed | {number: "nonsense"})
