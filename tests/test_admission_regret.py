"""The regret theorem in floats and in small runs; judges of the experiments on made-up samples."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from checks.admission import experiments as claims
from checks.admission import module_variance, published_bound, regret
from checks.admission.evidence import experiments as evidence
from checks.claim import find
from simlib.admission import formulas
from simlib.admission.learners import run_learner, ucrl_m, ucrl_mt
from simlib.admission.network import parallel, tandem

NAMES = (
    *("regret_theorem", "regret_corollaries", "regret_bound", "module_variance"),
    *("tiers_baselines", "measured_regret", "measured_thresholds", "measured_bound"),
)


@pytest.mark.parametrize("name", NAMES)
def test_every_claimed_number_is_read_and_has_a_false_value(name):
    claim = find(f"admission.{name}")
    assert {key for one in claim.checks for key in one.parameters} == set(claim.claimed)
    assert {key for one in claim.checks for false in one.false for key in false} == set(
        claim.claimed
    )


# The theorem ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", evidence.CERTIFIED)
@pytest.mark.parametrize(("horizon", "modules"), [(10**6, 500), (10**11, 1500)])
def test_the_bound_in_floats(name, horizon, modules):
    _, _, model = evidence.certified_case(name)
    known = formulas.regret_bound(model, horizon, modules)
    found = regret.shares(regret.constants_of(model), horizon, modules)
    for one, other in (
        (found.fixed, known.ramps),
        (found.first, known.first),
        (found.second, known.second),
        (found.third, known.third),
        (found.total, known.total),
    ):
        assert float(one.mid()) == pytest.approx(other / known.trivial, rel=1e-4)


def test_no_order_of_play_has_more_episodes():
    source = random.Random(1)
    for _ in range(200):
        limit, tau = source.randint(1, 5), source.randint(1, 4)
        recorded, steps = [0] * (limit + 1), 0
        favourites = source.sample(range(limit + 1), source.randint(1, limit + 1))
        for episode in range(1, source.randint(2, 60)):
            theta = source.choice(favourites)
            length = max(tau, recorded[theta])
            recorded[theta] += length
            steps += tau + length
            # One step more begins an episode that is cut off.
            assert episode + 1 <= formulas.most_threshold_episodes(steps + 1, tau, limit)


def test_a_run_keeps_the_bounds_of_the_proof():
    network, limit, model = evidence.certified_case("tandem")
    horizon, tau = 60_000, 50
    run = run_learner(network, ucrl_mt(tau), horizon, model, seed=3)
    lengths, played = run.episodes.length, run.episodes.threshold
    recorded = dict.fromkeys(range(limit + 1), 0)
    for length, theta in zip(lengths[:-1], played[:-1], strict=True):
        assert length - tau == max(tau, recorded[theta])
        recorded[theta] += length - tau
    states = limit + 1
    most = states * (1 + math.log2(max(1, horizon / (states * tau)))) + 1
    assert run.episodes.count <= most
    assert run.scaled_regret[-1] <= formulas.regret_bound(model, horizon, tau).total


def test_sequences_that_double_at_most():
    source = np.random.default_rng(2)
    for _ in range(100):
        start = total = source.uniform(0.1, 5)
        roots = shares = 0.0
        for _ in range(40):
            step = total * source.uniform() ** source.integers(0, 3)
            roots, shares, total = roots + step / total**0.5, shares + step / total, total + step
        assert roots <= (1 + 2**0.5) * (total**0.5 - start**0.5) * (1 + 1e-12)
        assert shares <= math.log2(total / start) * (1 + 1e-12)


def test_horizons_with_other_decimals_are_refused():
    judge = regret.where_the_bound_says_something
    with pytest.raises(ValueError, match="one decimal"):
        judge("5.50, 6.2, 6.3", "7.2, 9.1, 8.5", "202, 686, 964", "20.8, 42.2, 50.2", "A_3")
    with pytest.raises(ValueError, match="smallest = 'A_4'"):
        judge("5.5, 6.2, 6.3", "7.2, 9.1, 8.5", "202, 686, 964", "20.8, 42.2, 50.2", "A_4")


# The source's theorem ------------------------------------------------------------------------------


def test_episodes_of_the_source():
    network, limit, model = evidence.certified_case("tandem")
    for tau in (1, 7):
        run = run_learner(network, ucrl_m(tau), 20_000, model, seed=1)
        assert run.episodes.count <= formulas.published_episodes(20_000, tau, limit)
    episodes, steps = published_bound.cells_in_turn(6, 10)
    assert (episodes, steps) == (60, 6 * 2**9)


def test_the_term_of_the_source_in_floats():
    rate = Fraction(1, 4)
    network, limit, model = evidence.tiers(1, rate)
    known = formulas.ucrl_bound(model, 10**8, 3, 1.0)
    found = published_bound._term(published_bound.sizes_of(rate).increments, Fraction(8))
    share = known.main / (float(model.max_reward) * 10**8)
    assert float(found.mid()) == pytest.approx(share, rel=1e-9)
    assert (network.stations, limit) == (3, 10)


# Variances -----------------------------------------------------------------------------------------


def test_variances_of_short_paths_approach_the_ratio():
    path = module_variance.path_of(tandem(Fraction(3, 5), (1, 1)), 2)
    law, steps, s = np.array(path.law, dtype=float), 3_000, 1
    rows, leaves = (
        np.array([[float(row.get(j, 0)) for j in range(law.size)] for row in part])
        for part in (path.rows, path.leaves)
    )
    p, at = float(path.chances[s - 1]), np.array(path.totals) == s
    f = at * (leaves.sum(axis=1) - p)
    weights = (law * at) @ (leaves - p * rows)
    one = (law * at).sum() * p * (1 - p)
    total = one
    for k in range(1, steps):
        total += 2 * (1 - k / steps) * weights @ f
        f = rows @ f
    ratio = module_variance.ratios(tandem(Fraction(3, 5), (1, 1)), 2)[s - 1]
    assert total / one == pytest.approx(float(ratio), rel=2e-3)


def test_one_queue_and_equal_queues():
    assert set(module_variance.ratios(tandem(Fraction(1, 2), (3,)), 5)) == {1}
    half = Fraction(1, 2)
    slow, fast = (
        module_variance.ratios(parallel(half, (1, rate), (half, half)), 3) for rate in (half / 4, 1)
    )
    assert all(a > b >= 1 for a, b in zip(slow, fast, strict=True))


# Judges on made-up samples -------------------------------------------------------------------------


def samples(mean, spread, runs=40, seed=1):
    return mean + spread * np.random.default_rng(seed).standard_normal(runs)


def regrets(steps, seed=1, **means):
    runs = {"steps": np.array(steps)}
    for i, (name, values) in enumerate(means.items()):
        noise = samples(0, 0.02, 40 * len(steps), seed + i).reshape(40, -1)
        runs[name] = np.array(values, dtype=float) * (1 + noise)
    return runs


@pytest.mark.parametrize(
    ("last", "outcome"), [(4.1e4, "proved"), (3e4, "refuted"), (6e4, "refuted")]
)
def test_slopes_are_told_apart(last, outcome):
    runs = regrets([10**5, 10**6], regret=[1e4, last])
    runs["regret"] = np.concatenate([runs["regret"], 1.001 * runs["regret"]])
    assert claims.slopes_by_decades(runs, "0.5", "0.7").outcome == outcome


def test_late_slopes_are_judged_where_there_are_any():
    steps, good = [10**5, 10**6, 10**7, 10**8], [1e4, 4e4, 1.2e5, 2.6e5]
    for last, outcome in ((2.6e5, "proved"), (5e5, "refuted")):
        runs = regrets(steps, regret=[*good[:3], last])
        runs["regret"] = np.concatenate([runs["regret"], 1.001 * runs["regret"]])
        assert claims.slopes_by_decades(runs, "0.5", "0.7").outcome == outcome


def modular(**changed):
    means = {
        "ucrl_m_1": [1e4, 2.2e4, 4.4e4],
        "ucrl_m_3": [1.7e4, 3.1e4, 7.2e4],
        "ucrl_m_10": [2.2e4, 5.6e4, 1.1e5],
        "ucrl_m_30": [1.5e4, 6.5e4, 1.9e5],
        "ucrl_mt": [2.7e3, 4.2e3, 5.9e3],
        "bandit": [3.2e3, 5.5e3, 8.1e3],
    }
    return regrets([10**5, 3 * 10**5, 10**6], **means | changed)


def test_modules_are_told_apart():
    scaled, plain = claims._STEPS
    judge = claims.rescaled_and_not
    assert judge(modular(), scaled, "8").outcome == "proved"
    assert judge(modular(), plain, "8").outcome == "refuted"
    assert judge(modular(ucrl_m_3=[1.7e4, 6e4, 7.2e4]), scaled, "8").outcome == "refuted"
    assert judge(modular(ucrl_m_30=[1, 1, 6e5]), scaled, "8").outcome == "refuted"


def test_the_line_of_rejecting_everything():
    judge = claims.against_rejecting
    assert judge(modular(), "10, 30").outcome == "proved"
    assert judge(modular(ucrl_m_10=[1, 1, 6e4]), "10, 30").outcome == "refuted"
    with pytest.raises(ValueError, match="worse = '3'"):
        judge(modular(), "3, 10")


@pytest.mark.parametrize(("last", "outcome"), [(1.7e5, "proved"), (3e5, "refuted")])
def test_sizes_are_told_apart(last, outcome):
    many = regrets([10**5, 10**6], seed=9, ucrl_m_8=[2.5e4, last])
    assert claims.against_queues(modular(), many, "2.83", "3").outcome == outcome


def test_learners_are_told_apart():
    judge = claims.three_learners
    assert judge(modular(), "8", "5", "2").outcome == "proved"
    assert judge(modular(ucrl_mt=[1, 1, 3e4]), "8", "5", "2").outcome == "refuted"
    assert judge(modular(bandit=[1, 1, 2e4]), "8", "5", "2").outcome == "refuted"


def test_events_are_counted():
    none, all_ = np.zeros(40), np.ones(40)
    assert claims._mostly(none, False, 1e-7, "x").outcome == "proved"
    assert claims._mostly(all_, False, 1e-7, "x").outcome == "refuted"
    assert claims._mostly(all_, True, 1e-7, "x").outcome == "proved"
    assert claims._mostly(np.arange(40) % 2, True, 1e-7, "x").outcome == "undecided"
    assert claims._mostly(none[:20], False, 1e-7, "x").outcome == "undecided"


def test_runs_with_other_modules_decide_nothing():
    found = claims._bound("tandem", 10**6, 17)
    assert found.outcome == "undecided"
    assert claims._bound("tandem", 10**6, 174) == pytest.approx(0.5749e6, rel=1e-3)


# Evidence in small ---------------------------------------------------------------------------------


def test_the_evidence_in_small():
    found = evidence.certified.compute(1, 1, runs=2, horizon=4_000)
    assert found["tau_tandem"] == regret.module_of("tandem", 4_000)
    assert found["ucrl_mt_stable"].shape == (2, 1)
    assert found["not_covered_ucrl_mt_single"].shape == (2,)
    found = evidence.sizes.compute(1, 1, runs=2, steps=[500, 1_000], sizes=[2])
    assert found["ucrl_m_2"].shape == found["threshold_2"].shape == (2, 2)
    found = evidence.modules.compute(1, 1, runs=2, steps=[500, 1_000])
    assert set(evidence.MODULES) == {int(key[7:]) for key in found if key[:7] == "ucrl_m_"}
    assert evidence.growth.compute(1, 1, runs=2, steps=[500])["regret"].shape == (2, 1)
