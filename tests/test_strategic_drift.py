"""The claims behind Theorem 4.1: what breaks when a lemma breaks, and that no judge is gullible."""

import re
from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np
import pytest
from scipy import stats

from checks import ledger
from checks.__main__ import main
from checks.claim import find, judge
from checks.finding import undecided
from checks.strategic import longest_queue, potential, small_systems, sufficiency
from checks.strategic.evidence import overprovisioning
from checks.strategic.small_systems import Paths, mean_period, paths, steps
from simlib.strategic import exact, formulas

CLAIMS = (
    *("flow_identity", "longest_queue_drift", "good_event", "longest_queue_expected"),
    *("total_drift", "potential_drift", "negative_drift_bound", "sufficiency"),
)


def check(claim, name):
    return next(one for one in find(f"strategic.{claim}").checks if one.judge.__name__ == name)


def outcomes(claim, name, evidence=()):
    """What a check says about its claimed and its false numbers."""
    found = judge(check(claim, name), evidence)
    return [found.claimed.outcome, *(false.outcome for false in found.false)]


# Breaking a lemma ----------------------------------------------------------------------------------


def test_breaking_the_drift_lemma_shows_in_theorem_4_1(monkeypatch, capsys):
    lemma, theorem = "strategic.longest_queue_drift", "strategic.sufficiency"
    monkeypatch.setitem(find(lemma).claimed, "threshold", "W-1")
    assert main(["run", lemma, theorem, "--jobs", "1"]) == 1
    before, _, after = capsys.readouterr().out.partition(theorem)
    assert before.startswith("refuted")
    assert f"holds, but rests on {lemma} (refuted)" in after


def test_every_lemma_is_below_the_theorem():
    records = {f"strategic.{name}": {"verdict": "holds"} for name in CLAIMS}
    assert ledger.foundation("strategic.sufficiency", records) == []
    for name in CLAIMS[:-1]:
        broken = records | {f"strategic.{name}": {"verdict": "refuted"}}
        weak = ledger.foundation("strategic.sufficiency", broken)
        assert weak == [f"strategic.{name} (refuted)"]


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claimed_number_is_visible(name):
    claim = find(f"strategic.{name}")
    assert claim.shown | set(claim.meaning) == set(claim.claimed)


# The enumeration of paths --------------------------------------------------------------------------


def all_rules(n):
    """Every function that picks one of the senders, for each nonempty set of senders."""
    sets = list(chain.from_iterable(combinations(range(n), size) for size in range(1, n + 1)))
    for picks in product(*sets):
        yield dict(zip(sets, picks, strict=True))


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1)])
def test_steps_are_those_of_all_rules_written_out(n, m):
    for full, nonempty in product(product((0, 1), repeat=m), product((0, 1), repeat=n)):
        literal = set()
        for targets in product(*(range(m) if some else (-1,) for some in nonempty)):
            senders = [
                [tuple(k for k in range(n) if targets[k] == j or k == i) for j in range(m)]
                for i in range(n)
            ]
            for rules in product(all_rules(n), repeat=m):
                takes = [
                    [
                        int(nonempty[i] and not full[j] and rules[j][senders[i][j]] == i)
                        for j in range(m)
                    ]
                    for i in range(n)
                ]
                utilities = tuple(chain.from_iterable(takes))
                busy = tuple(int(full[j] or j in targets) for j in range(m))
                accepted = tuple(takes[i][to] if to >= 0 else 0 for i, to in enumerate(targets))
                for left in product(*(range(one + 1) for one in busy)):
                    literal.add((targets, accepted, utilities, busy, left))
        found = [
            (one.targets, one.accepted, one.utilities, one.busy, one.left)
            for one in steps(full, nonempty, "any")
        ]
        assert len(found) == len(set(found))
        assert set(found) == literal


def seen_by_one_queue_and_one_server():
    """The steps of small systems, as queue i and server j see them."""
    for n, m in ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1)):
        for full, nonempty in product(product((0, 1), repeat=m), product((0, 1), repeat=n)):
            for step in steps(full, nonempty, "any"):
                for i, j in product(range(n), range(m)):
                    yield {
                        "full": full[j],
                        "nonempty": nonempty[i],
                        "here": int(step.targets[i] == j),
                        "busy": step.busy[j],
                        "utility": step.utilities[i * m + j],
                        "accepted": step.accepted[i],
                    }


def test_the_steps_of_the_proof_are_those_of_the_systems():
    seen = {tuple(sorted(one.items())) for one in seen_by_one_queue_and_one_server()}
    proof = {tuple(sorted(o.items())) for o in longest_queue._steps_of_a_queue_and_a_server()}
    assert seen == proof


def test_the_steps_of_a_server_are_those_of_the_systems():
    seen, proof = set(), set()
    for n, m in ((1, 1), (2, 1), (2, 2)):
        for full, nonempty in product(product((0, 1), repeat=m), product((0, 1), repeat=n)):
            for step, j in product(steps(full, nonempty, "any"), range(m)):
                accepted = sum(
                    a for a, to in zip(step.accepted, step.targets, strict=True) if to == j
                )
                served = step.busy[j] - step.left[j]
                sent = int(j in step.targets)
                seen.add((full[j], sent, accepted, step.busy[j], served, step.left[j]))
    for step in small_systems.server_steps():
        names = ("full", "sent", "accepted", "busy", "served", "left")
        proof.add(tuple(step[name] for name in names))
    assert seen == proof


def test_realised_regret_can_be_negative():
    # Two packets were accepted, by different servers; each of these would have accepted one.
    found = [o for o, _ in paths(1, 2, 2, 2).outcomes if o.utilities == ((1, 1),)]
    assert {o.regret(0) for o in found if o.accepted == (2,)} == {-1}


def test_paths_of_one_queue_and_one_server_by_hand():
    # Two buffers at the start; in each step two arrivals and two services, as something is sent.
    assert paths(1, 1, 1, 1).count == 8
    assert paths(1, 1, 2, 2).count == 32
    assert {o.busy for o, _ in paths(1, 1, 2, 2).outcomes} == {(2,)}


def test_cyclic_orders_are_some_of_all_decisions():
    cyclic, anything = paths(2, 2, 1, 1, "cyclic"), paths(2, 2, 1, 1)
    assert {o for o, _ in cyclic.outcomes} <= {o for o, _ in anything.outcomes}


@pytest.mark.parametrize("period", [0, 4])
def test_only_short_periods_can_be_counted(period):
    with pytest.raises(ValueError, match="from 1 to 3"):
        Paths(1, 1, period, 1, "any")


def test_an_unknown_rule_is_named():
    with pytest.raises(ValueError, match="rule = 'random'"):
        steps((0,), (1,), "random")


def test_mean_period_of_a_backlogged_queue():
    rate = Fraction(1, 3)
    found = mean_period((5,), (0,), (Fraction(1, 2),), (rate,), 4)
    assert found.busy == (4,)
    assert found.full == (3 * (1 - rate),)
    assert found.served == (4 * rate,)
    assert found.waiting == 5 + 4 * Fraction(1, 2) - (1 + 3 * rate)


# A judge that cannot do its work decides nothing ---------------------------------------------------


def test_no_path_no_refutation(monkeypatch):
    monkeypatch.setattr(longest_queue, "SYSTEMS", ())
    found = outcomes("longest_queue_drift", "every_step_then_induction")
    assert found == ["proved", "undecided", "undecided"]


@pytest.mark.parametrize(
    "wrong",
    [
        {
            "full": 0,
            "nonempty": 1,
            "here": 0,
            "busy": 0,
            "utility": 0,
            "accepted": 0,
        },  # turned down
        {
            "full": 0,
            "nonempty": 0,
            "here": 1,
            "busy": 1,
            "utility": 0,
            "accepted": 1,
        },  # from nothing
    ],
)
def test_the_drift_lemma_needs_its_model_of_a_step(monkeypatch, wrong):
    monkeypatch.setattr(longest_queue, "_steps_of_a_queue_and_a_server", lambda: iter([wrong]))
    found = longest_queue.every_step_then_induction("W", "just before service")
    assert found.outcome == "undecided"


def lossy():
    yield from small_systems.server_steps()
    yield {"full": 1, "sent": 1, "accepted": 0, "busy": 1, "served": 0, "left": 0}


def large():
    """A server with a buffer for more than one packet."""
    for full, sent, service in product((0, 1), repeat=3):
        held = full + sent
        served = int(held and service)
        yield {"full": full, "sent": sent, "accepted": sent, "busy": int(held > 0)} | {
            "served": served,
            "left": held - served,
        }


def test_a_larger_buffer_proves_nothing(monkeypatch):
    monkeypatch.setattr(longest_queue, "server_steps", large)
    assert longest_queue.one_server_on_every_path("1", "W-B_j+a_j").outcome != "proved"


def late():
    """A server that cannot serve a packet in the step in which it accepts it."""
    for step in small_systems.server_steps():
        served = int(step["full"] and step["served"])
        yield step | {"served": served, "left": step["busy"] - served}


def test_an_instance_does_not_stand_in_for_a_failed_proof(monkeypatch):
    monkeypatch.setattr(longest_queue, "server_steps", late)
    found = longest_queue.services_given_the_buffer("just before service")
    assert found.outcome == "undecided"


def test_a_server_that_loses_packets_proves_nothing(monkeypatch):
    monkeypatch.setattr(potential, "server_steps", lossy)
    monkeypatch.setattr(longest_queue, "server_steps", lossy)
    assert potential.packets_are_conserved("m").outcome == "undecided"
    assert longest_queue.one_server_on_every_path("1", "W-B_j+a_j").outcome == "undecided"


def test_wrong_constants_are_refuted_by_systems_only(monkeypatch):
    monkeypatch.setattr(potential, "_systems_of_many_queues", list)
    assert potential.from_paths_to_means("2", "1.9").outcome == "undecided"
    monkeypatch.setattr(potential, "paths", lambda *_: Paths(1, 1, 1, 5, "cyclic"))
    assert potential.changes_in_a_period("(n+μ)W-1").outcome == "undecided"
    monkeypatch.setattr(potential, "_excess", lambda *_: Fraction(0))
    assert potential.packets_are_conserved("m-1").outcome == "undecided"
    monkeypatch.setattr(potential, "_two_steps", lambda _: dict.fromkeys(("arrivals", "regret"), 1))
    assert potential.all_conditions_at_once("2n-1", potential._GUARANTEES[0]).outcome == "undecided"
    assert potential.all_conditions_at_once("2n", potential._GUARANTEES[1]).outcome == "undecided"
    monkeypatch.setattr(potential, "_fair_tail", lambda *_, **__: Fraction(0))
    assert potential.hoeffding_by_convexity("2.1").outcome == "undecided"


@pytest.mark.parametrize("factor", ["0.3", "0.99", "1.01", "2", "5"])
def test_every_other_weight_has_its_system(factor):
    assert potential.drift_of_the_potential(f"{factor}μ").outcome == "refuted"
    assert potential.busy_steps_cancel(f"{factor}μ").outcome == "refuted"
    assert potential._wrong_weight(Fraction(1), "the bounds agree").outcome == "undecided"


@pytest.mark.parametrize("weight", ["2", "λ", "-1μ"])
def test_a_weight_is_a_multiple_of_mu(weight):
    with pytest.raises(ValueError, match="multiple of it"):
        potential.busy_steps_cancel(weight)


@pytest.mark.parametrize("multiple", ["-1", "0", "0.3", "0.999999", "1-1e-9", "1", "1.001", "7"])
def test_every_other_factor_is_decided(multiple):
    number = "999999999/1000000000" if multiple == "1-1e-9" else multiple
    found = sufficiency.assembly_of_the_lemmas(number)
    assert found.outcome == ("refuted" if Fraction(number) < 1 else "proved")


def test_a_factor_of_one_or_more_is_refuted_by_no_queue():
    assert sufficiency._one_queue_grows(Fraction(1), "no proof").outcome == "undecided"


def test_any_factor_can_be_tried_from_a_terminal(capsys):
    assert main(["try", "sufficiency", "multiple=0.93"]) == 1
    assert "of total rate 193/200 > 93/100" in capsys.readouterr().out


@pytest.mark.parametrize("multiple", ["1.99", "1.5", "0.1", "2", "3"])
def test_every_shorter_period_has_a_bound_that_is_not_negative(multiple):
    found = potential.a_long_period_makes_the_bound_negative(multiple)
    assert found.outcome == ("refuted" if Fraction(multiple) < 2 else "proved")


# Witnesses, by other routes -------------------------------------------------------------------------


def test_a_server_looked_at_too_early():
    found = longest_queue.services_given_the_buffer("just before acceptance")
    assert found.witness.endswith("E S = 3/2, mu E B = 1/2")


@pytest.mark.parametrize("exponent", ["2.02", "2.1", "3"])
def test_a_tail_above_the_bound_is_one(exponent):
    assert potential._heavier_tail(Fraction(2)).outcome == "undecided"
    found = potential._heavier_tail(Fraction(exponent))
    if exponent == "2.02":
        assert found.outcome == "undecided"
        return
    period = int(re.search(r"W = (\d+)", found.witness)[1])
    above = stats.binom.sf(period // 2 + period // 20, period, 0.5)
    assert above > np.exp(-float(exponent) * period / 400)


def test_the_learner_with_a_bad_past():
    found = potential.all_conditions_at_once("2n", "nothing but the rates")
    assert "much regret with probability 1/8" in found.witness
    assert "Pr(G) = 3/8 < 1/2" in found.witness


def numbers_of(witness):
    found = re.search(r"by at least (\S+) per step, above the bound (\S+),", witness)
    return float(found[1]), float(found[2])


def test_systems_for_wrong_weights_by_hand():
    # A fresh server in each step: N = M falls by 1 - 1/2 per step.
    period, total = 7 * 32**2, 0.9 * (7 * 32**2 + 1)
    drift, bound = numbers_of(potential.drift_of_the_potential("0.5μ").witness)
    assert drift == pytest.approx(-(1 + total / 2) / 2, abs=1e-3)
    margin = total / 2 - 1 / 2
    errors = total / 2 * (2 / 32 + 2e-6)
    assert bound == pytest.approx(-margin + (period + 1) / period + errors, abs=1e-3)
    # A queue that starves: M grows by 1/2, one server clears packets of the other.
    period = 7 * 16**2
    drift, bound = numbers_of(potential.drift_of_the_potential("2μ").witness)
    cleared = (1 + (period - 1) * 0.9) / period
    assert drift == pytest.approx(0.6 - cleared + 2 * 0.9 / 2, abs=1e-3)
    assert bound == pytest.approx(0.6 - 0.45 + 1 / period + 1.8 * (2 / 16 + 4e-6), abs=1e-3)


def test_the_server_of_a_starving_queue():
    rates = (Fraction(1, 10), Fraction(1, 2))
    found = mean_period((5, 5), (0,), rates, (Fraction(9, 10),), 3)
    assert found.waiting == 10 + 3 * sum(rates) - (1 + 2 * Fraction(9, 10))


def test_steps_up_or_down_by_hand():
    found = outcomes("negative_drift_bound", "exponential_potential")
    assert found == ["proved", *["refuted"] * 3]
    y = 0.01
    excess = np.cosh(y) - y * np.sinh(y) - np.exp(-0.51 * y * y)
    witness = sufficiency.exponential_potential("0.51", *MEANT).witness
    assert witness.endswith(f"exceeds the bound by {excess:.1e}")


MEANT = ("at most c in absolute value", "at most −α")


# What a lemma says is what its users take it to say -----------------------------------------------


@pytest.mark.parametrize(
    ("lemma", "number", "other", "user", "arguments"),
    [
        ("longest_queue_drift", "threshold", "W-1", potential.from_paths_to_means, ("2", "2")),
        ("flow_identity", "indicator", "later", potential.packets_are_conserved, ("m",)),
        ("longest_queue_expected", "failures", "4", potential.busy_steps_cancel, ("μ",)),
        ("longest_queue_expected", "slack", "3", potential.busy_steps_cancel, ("μ",)),
        ("total_drift", "extra", "2m", potential.busy_steps_cancel, ("μ",)),
        ("good_event", "exponent", "1", sufficiency.assembly_of_the_lemmas, ("1",)),
        ("potential_drift", "period", "3", sufficiency.assembly_of_the_lemmas, ("1",)),
        ("potential_drift", "region", "2nW", sufficiency.assembly_of_the_lemmas, ("1",)),
        ("negative_drift_bound", "exponent", "1/4", sufficiency.assembly_of_the_lemmas, ("1",)),
    ],
)
def test_a_lemma_with_other_numbers_proves_nothing(
    monkeypatch, lemma, number, other, user, arguments
):
    assert user(*arguments).outcome == "proved"
    monkeypatch.setitem(find(f"strategic.{lemma}").claimed, number, other)
    found = user(*arguments)
    assert found.outcome == "undecided"
    assert f"strategic.{lemma} is used with other numbers" in found.witness


# Second routes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("multiple", "servers", "total"), [("0.8", 10, "9/10"), ("0.9", 20, "19/20"), ("-3", 2, "1/2")]
)
def test_the_growing_queue_clears_what_the_backlogged_chain_clears(multiple, servers, total):
    clears = exact.backlogged_chain(1, servers, total_service_rate=Fraction(total)).throughput
    found = sufficiency._one_queue_grows(Fraction(multiple), "")
    assert found.outcome == "refuted"
    assert f"{servers} identical servers" in found.witness
    assert f"clears {clears} < 1/2" in found.witness


def test_binomial_tails_are_those_of_scipy():
    for rate, above in (("1/10", 12), ("2/5", 100), ("3/4", 170)):
        mine = float(potential._tail(200, Fraction(rate), Fraction(above)))
        assert mine == pytest.approx(stats.binom.sf(above, 200, float(Fraction(rate))), rel=1e-9)
    assert float(potential._fair_tail(400, 241, terms=160)) == pytest.approx(
        stats.binom.sf(240, 400, 0.5), rel=1e-9
    )


def test_bounds_are_those_of_the_formula():
    bounds = find("negative_drift_bound").claimed["bounds"].split(",")
    for rate, bound in zip((0.3, 0.45), bounds, strict=True):
        assert formulas.negative_drift_bound(0, 1, 0.5 - rate) == pytest.approx(
            float(bound), abs=0.005
        )
    claimed = find("sufficiency").claimed
    period = int(claimed["shortest"])
    step, alpha = 7 * period, 0.1 * period - 8
    packets = formulas.negative_drift_bound(step, step, alpha) + step + 8
    assert packets / 1e9 == pytest.approx(float(claimed["bound"]), abs=0.05)
    shown = sufficiency.constants_of_the_example(**{k: claimed[k] for k in ("shortest", "bound")})
    assert float(Fraction(shown.values["bound on the mean"].low)) == pytest.approx(
        packets, rel=1e-12
    )
    constants = formulas.proof_constants((Fraction(2, 5),) * 4, 8, 3)
    assert (constants.period, constants.bound) == (period, pytest.approx(packets, rel=1e-12))


def test_mean_of_the_longest_by_enumeration():
    law = {-1: Fraction(1, 2), 0: Fraction(1, 3), 1: Fraction(1, 6)}
    mean = Fraction(0)
    for values in product(law, repeat=3):
        mean += max(values) * law[values[0]] * law[values[1]] * law[values[2]]
    assert potential._mean_of_longest(law, 3) == mean


def test_the_process_with_rare_long_jumps_keeps_its_hypotheses():
    # The law at each step; k steps to go, a jump to 2k from 0, otherwise one down.
    steps_of_a_round = 12
    law = {0: Fraction(1)}
    for k in range(steps_of_a_round, 0, -1):
        jump, following = Fraction(1, 4 * k * k), {}
        for x, chance in law.items():
            moves = {x - 1: Fraction(1)} if x else {2 * k: jump, 0: 1 - jump}
            assert sum(p * (y - x) ** 2 for y, p in moves.items()) <= 1
            assert x == 0 or sum(p * (y - x) for y, p in moves.items()) == -1
            for y, p in moves.items():
                following[y] = following.get(y, Fraction(0)) + chance * p
        law = following
    mean = sum(x * chance for x, chance in law.items())
    assert float(sufficiency._mean_at_target(steps_of_a_round).mid()) == pytest.approx(float(mean))
    harmonic = sum(1 / k for k in range(1, steps_of_a_round + 1))
    assert float(mean) >= harmonic / 8


def test_the_process_with_fading_drift_by_hand():
    assert sufficiency._mean_with_fading_drift(1) == 1
    assert sufficiency._mean_with_fading_drift(2) == pytest.approx(2 * 3 / 8)


# The simulated example -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runs():
    return overprovisioning.exp3_example.get()


@pytest.mark.parametrize("spoil", [lambda x: x * 0, lambda x: x * np.nan, lambda x: x[:9]])
def test_runs_that_are_no_design_decide_nothing(runs, spoil):
    bad = runs | {"late_mean_ample": spoil(runs["late_mean_ample"])}
    assert sufficiency.growth_of_exp3(bad, "1").outcome == "undecided"


def test_a_growing_queue_refutes_and_an_empty_promise_decides_nothing(runs):
    steps_ = runs["steps"]
    growing = runs | {"longest_ample": runs["longest_ample"] + steps_ // 50}
    assert sufficiency.growth_of_exp3(growing, "1").outcome == "refuted"
    assert sufficiency.growth_of_exp3(runs, "9.9").outcome == "undecided"
    # 3/4 is exactly the factor of the system with too little service: it promises nothing there
    assert sufficiency.growth_of_exp3(runs, "0.75").outcome == "proved"


def test_the_example_is_the_one_of_the_constants():
    assert overprovisioning.ARRIVAL_RATES == (0.4,) * 4
    assert len(overprovisioning.SHAPE) == 8
    assert sum(overprovisioning.service_rates(3.0)) == pytest.approx(3)


def test_undecided_lemmas_stay_undecided(monkeypatch):
    monkeypatch.setattr(
        sufficiency.negative_drift, "exponential_moment", lambda _: undecided("no idea")
    )
    found = outcomes("negative_drift_bound", "exponential_potential")
    assert found == ["undecided", "undecided", "refuted", "refuted"]
