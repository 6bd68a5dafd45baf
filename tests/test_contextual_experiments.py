"""The source's experiments: the formula in floats, judges on made-up samples, evidence in small."""

import math

import numpy as np
import pytest

from checks.claim import find
from checks.contextual import experiments as claims
from checks.contextual.evidence import experiments as evidence
from simlib.contextual import random_instance
from simlib.streams import replication_seeds, substreams

NAMES = (
    *("tau_of_the_experiments", "queues_of_the_experiments"),
    *("sweeps_of_the_experiments", "measured_decay"),
)


@pytest.mark.parametrize("name", NAMES)
def test_every_claimed_number_is_read_and_has_a_false_value(name):
    claim = find(f"contextual.{name}")
    assert {key for one in claim.checks for key in one.parameters} == set(claim.claimed)
    assert {key for one in claim.checks for false in one.false for key in false} == set(
        claim.claimed
    )


# The formula for tau -------------------------------------------------------------------------------


def tau(slack, dimension=5, servers=5, horizon=5000):
    left = slack - 2 / math.sqrt(horizon)
    return 3e-4 * dimension**3 * math.log(horizon) * servers / 0.7 / left**2


def test_the_formula_in_floats():
    claimed = claims.tau_of_the_experiments.claimed
    for name, cases in evidence.SWEEPS.items():
        found = ", ".join(str(int(tau(slack, d, k))) for slack, d, k in cases)
        assert found == claimed[name]
    assert tau(0.04964) > 5000 > tau(0.04965)
    assert tau(0.005) < 5000  # below 2 T^(-1/2) the formula falls again, where it means nothing
    assert tau(0.1, 11) < 5000 < tau(0.1, 12)
    assert sum(tau(*case) > 2500 for case in evidence.SETTINGS.values()) == int(claimed["most"])
    assert int(tau(0.1)) == evidence.BASE_EXPLORATION
    assert set(evidence.SETTINGS.values()) == {
        case for cases in evidence.SWEEPS.values() for case in cases
    }


def test_a_number_that_cannot_be_printed_is_refused():
    with pytest.raises(ValueError, match="least_slack"):
        claims.where_exploration_fills_the_run("1/20", "11")


# Judges on made-up samples -------------------------------------------------------------------------


def samples(mean, spread, runs=400, seed=1):
    return mean + spread * np.random.default_rng(seed).standard_normal(runs)


def test_departures_are_told_apart():
    runs = {"departures": samples(0.55, 0.01), "waiting": np.full(400, 0.55)}
    runs["fresh"] = runs["waiting"] + 0.008
    waiting, fresh = claims._MEANS
    assert claims.departures_of_the_random_policy(runs, waiting).outcome == "proved"
    assert claims.departures_of_the_random_policy(runs, fresh).outcome == "refuted"
    few = {name: values[:50] for name, values in runs.items()}
    assert claims.departures_of_the_random_policy(few, waiting).outcome == "undecided"


def made_up_queues(**means):
    rounds = evidence.checkpoints()
    runs = {"rounds": rounds}
    for seed, (name, mean) in enumerate({"optimal": 1.0, **means}.items()):
        runs[name] = mean + samples(0, 0.1, 32 * rounds.size, seed).reshape(32, rounds.size)
    return runs


def test_learners_that_do_not_come_back_are_seen():
    good = {"opt": 9, "eps": 9, "opt_small": 1.3, "eps_small": 1.3}
    judge = claims.back_at_the_optimum
    assert judge(made_up_queues(**good), "0.02", "1").outcome == "proved"
    assert judge(made_up_queues(**good), "1", "1").outcome == "refuted"
    assert judge(made_up_queues(**good | {"eps_small": 5}), "0.02", "1").outcome == "refuted"
    assert judge(made_up_queues(**good | {"opt": 1.3}), "0.02", "1").outcome == "refuted"


def test_a_setting_on_the_wrong_side_is_seen():
    runs = {"rounds": evidence.checkpoints()}
    for seed, name in enumerate(evidence.SETTINGS):
        shape = (30, runs["rounds"].size)
        for i, (kind, mean) in enumerate((("optimal", 1), ("opt", 2), ("eps", 2), ("short", 2))):
            high = 300 if (kind, name) == ("eps", "d 10") else 0
            noise = samples(0, 1, math.prod(shape), 10 * seed + i).reshape(shape)
            runs[f"{kind}_{name}"] = mean + high + noise
    judge = claims.settings_above_the_line
    assert judge(runs, "10", "none", "d 10", "none").outcome == "proved"
    assert judge(runs, "10", "none", "none", "none").outcome == "refuted"
    assert judge(runs, "10", "d 3", "d 10", "none").outcome == "refuted"
    with pytest.raises(ValueError, match="setting = 'd 11'"):
        judge(runs, "10", "d 11", "d 10", "none")


def pairs_of_sizes(runs, wrong, dimensions_differ=True):
    """Excess 1 in the small systems and 2 in the large ones, but 0 in some of those."""
    found = {"rounds": evidence.checkpoints()}
    high = np.where(np.arange(runs) < wrong, 0.0, 2.0)[:, None] + np.zeros(found["rounds"].size)
    for name, excess in (
        *(("K 3", np.ones_like(high)), ("K 9", high), ("d 3", np.ones_like(high))),
        ("d 20", high if dimensions_differ else np.where(np.arange(runs) % 2, 2.0, 0.0)[:, None]),
    ):
        found[f"optimal_{name}"] = np.ones_like(high)
        found[f"opt_{name}"] = 1 + excess * np.ones_like(high)
    return found


def test_larger_systems_are_told_from_smaller_ones():
    judge = claims.larger_systems
    assert judge(pairs_of_sizes(30, 1), "larger").outcome == "proved"
    assert judge(pairs_of_sizes(30, 1), "smaller").outcome == "refuted"
    assert judge(pairs_of_sizes(30, 2), "larger").outcome == "undecided"
    # dimensions are compared where there are more runs than at quick effort
    assert judge(pairs_of_sizes(30, 1, False), "larger").outcome == "proved"
    assert judge(pairs_of_sizes(200, 10, False), "larger").outcome == "undecided"
    assert judge(pairs_of_sizes(200, 10), "larger").outcome == "proved"


@pytest.mark.parametrize(
    ("exponent", "faster", "slower"),
    [(0.7, "proved", "refuted"), (0.1, "refuted", "proved"), (0.25, "undecided", "undecided")],
)
def test_decays_are_told_apart(exponent, faster, slower):
    horizons = evidence.HORIZONS[:4]
    runs = {"horizons": np.array(horizons)}
    for i, policy in enumerate(("opt", "eps_opt")):
        for j, t in enumerate(horizons):
            mean = 2 * (t / 250) ** -exponent
            runs[f"{policy}_{t}"] = samples(mean, mean / 2, 400, 10 * i + j)
    assert claims.first_and_last_horizon(runs, "faster", "1/4").outcome == faster
    assert claims.first_and_last_horizon(runs, "no faster", "1/4").outcome == slower


# Evidence in small ---------------------------------------------------------------------------------


def test_the_balance_of_the_random_policy():
    (seed,) = replication_seeds(3, "test", 1)
    found = evidence.random_pairs_run(seed, contexts=4_000)
    instance = random_instance(seed)
    (stream,) = substreams(5, ["law of contexts"])
    _, rates, _ = instance.draw_contexts(4_000, stream)
    mean, growth = rates.mean(axis=1), 0.7 - found["waiting"]
    assert 0.7 * np.mean(1 / (growth + mean)) == pytest.approx(1, abs=0.01)
    assert found["waiting"] < found["fresh"] == pytest.approx(mean.mean(), abs=0.01)
    assert found["departures"] == pytest.approx(found["waiting"], abs=0.04)


def test_runs_do_not_depend_on_what_else_is_run():
    (seed,) = replication_seeds(3, "test", 1)
    options = {"horizon": 400, "refresh": 1.2}
    both = evidence.late_regret(seed, names=["opt", "eps_opt"], exact=True, **options)
    alone = evidence.late_regret(seed, names=["eps_opt"], exact=False, **options)
    assert alone["regret"] == both["regret"][1:]
    assert both["exact"].shape == (2,)
    assert alone["exact"].size == 0


def test_the_evidence_in_small():
    found = evidence.decay.compute(
        1, 1, sizes=[3, 3], runs=3, compared=3, compared_at=1_000, refresh=1.2
    )
    assert found["opt_250"].shape == found["eps_opt_1000"].shape == (3,)
    assert found["compared_opt"].shape == (3, 2)
    assert "eps_1000" not in found


def test_every_later_horizon_must_be_below_the_first():
    horizons = evidence.HORIZONS[:4]
    runs = {"horizons": np.array(horizons)}
    for policy in ("opt", "eps_opt"):
        for j, t in enumerate(horizons):
            runs[f"{policy}_{t}"] = samples(2 * (t / 250) ** -0.7, 0.01, 400, j)
    assert claims.first_and_last_horizon(runs, "faster", "1/4").outcome == "proved"
    runs["opt_4000"] = samples(2 * 16**-0.1, 0.01)
    assert claims.first_and_last_horizon(runs, "faster", "1/4").outcome == "refuted"
