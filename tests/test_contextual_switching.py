"""Switching queues and the greedy benchmark: brute force beside the recursions, and broken lemmas."""

from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks import ledger
from checks.claim import find, judge
from checks.contextual import optimality, schedules, small_instances, switching
from checks.contextual.schedules import (
    LAST,
    NO_ARRIVALS,
    POLICIES,
    System,
    after_batch,
    best_first,
    greedy_mean,
    ordered_coupling,
    path_law,
    value,
)
from checks.contextual.small_instances import (
    NAMED,
    STAY_OR_SWITCH,
    Instance,
    coupled,
    drawn,
    laws,
    optimal_mean,
    regret,
    switching_rounds,
)
from checks.judging import misprint

CLAIMS = (
    *("regret_telescopes", "psi_product_bound", "path_likelihood"),
    *("greedy_is_optimal", "one_step_loss", "survival"),
)
HALF, FAST = Fraction(1, 2), Fraction(9, 10)


def check(claim, name):
    return next(one for one in find(f"contextual.{claim}").checks if one.judge.__name__ == name)


def outcomes(claim, name, evidence=()):
    """What a check says about its claimed and its false numbers."""
    found = judge(check(claim, name), evidence)
    return [found.claimed.outcome, *(false.outcome for false in found.false)]


# Claims --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claimed_number_is_visible(name):
    claim = find(f"contextual.{name}")
    assert claim.shown | set(claim.meaning) == set(claim.claimed)


def test_a_broken_lemma_shows_below_lemma_4_2():
    records = {f"contextual.{name}": {"verdict": "holds"} for name in CLAIMS}
    for name in ("regret_telescopes", "one_step_loss"):
        broken = records | {f"contextual.{name}": {"verdict": "refuted"}}
        weak = ledger.foundation("contextual.psi_product_bound", broken)
        assert f"contextual.{name} (refuted)" in weak


# The recursions against brute force ----------------------------------------------------------------


def all_histories(instance, learner, switches):
    """Every path of queues that share arrivals and uniforms, with its probability, written out.

    A queue follows the learner up to its switch. Uniforms are cut at all rates.
    """
    cuts = sorted({Fraction(0), Fraction(1), *(r for row in instance.rates for r in row)})
    atoms = [(high, high - low) for low, high in pairwise(cuts)]
    paths = [(Fraction(1), [(instance.start, learner.memory)] * len(switches))]
    for t in range(1, instance.horizon):
        following = []
        for chance, queues in paths:
            coins = [learner.act(w, m) if any(w) else None for w, m in queues]
            learns = [coin for coin, s in zip(coins, switches, strict=True) if t <= s and coin]
            choices = (
                learns[0] if learns else ((Fraction(1), None),)
            )  # queues agree while they learn
            for (weight, choice), (high, width) in product(choices, atoms):
                left = []
                for (waiting, memory), switch in zip(queues, switches, strict=True):
                    if not any(waiting):
                        left.append((waiting, memory))
                        continue
                    kind, server = choice if t <= switch else greedy_pair(instance, waiting)
                    gone = high <= instance.rates[kind][server]
                    rest = tuple(n - (gone and k == kind) for k, n in enumerate(waiting))
                    left.append((rest, learner.remember(memory, server, gone)))
                for joins, arrived in (
                    (1 - instance.arrival_rate, (0, 0)),
                    (instance.arrival_rate * instance.share, (1, 0)),
                    (instance.arrival_rate * (1 - instance.share), (0, 1)),
                ):
                    p = chance * weight * width * joins
                    if p:
                        after = [
                            ((w[0] + arrived[0], w[1] + arrived[1]), memory) for w, memory in left
                        ]
                        following.append((p, after))
        paths = following
    return paths


def greedy_pair(instance, waiting):
    pairs = [(k, j) for k in (0, 1) if waiting[k] for j in (0, 1)]
    return max(pairs, key=lambda pair: instance.rates[pair[0]][pair[1]])


@pytest.mark.parametrize("number", range(3))
def test_the_pair_is_that_of_all_histories(number):
    instance, learner = drawn(3, horizon=4)[number]
    for t, one in enumerate(switching_rounds(instance, learner), 1):
        law = dict.fromkeys(one.law, Fraction(0))
        for p, ((plus, _), (minus, _)) in all_histories(instance, learner, (t, t - 1)):
            law[sum(plus) - sum(minus)] += p
        assert law == one.law


def test_laws_are_laws_and_all_differences_are_small():
    for instance in NAMED:
        assert all(sum(law.values()) == 1 for law in laws(instance, STAY_OR_SWITCH))
        for one in switching_rounds(instance, STAY_OR_SWITCH):
            assert sum(one.law.values()) == 1
            assert set(one.law) <= {-1, 0, 1}
            assert one.mean >= 0


@settings(max_examples=30, deadline=None)
@given(st.tuples(*[st.integers(0, 2)] * 4), st.integers(0, 4))
def test_coupled_queues_keep_their_means(waiting, rounds):
    plus, minus = waiting[:2], waiting[2:]
    difference = small_instances.mean(coupled(NAMED[0], rounds, plus, minus))
    assert difference == optimal_mean(NAMED[0], rounds, plus) - optimal_mean(
        NAMED[0], rounds, minus
    )


def test_independent_uniforms_keep_the_means_but_not_the_lemma(monkeypatch):
    def independent(plus, minus):
        chances = ((1, plus), (0, 1 - plus)), ((1, minus), (0, 1 - minus))
        return tuple((a, b, p * q) for (a, p), (b, q) in product(*chances))

    instance = Instance(NAMED[0].rates, HALF, HALF, 4, (1, 1))
    before = switching_rounds(instance, STAY_OR_SWITCH)
    for cached in ("coupled", "coupled_after_arrival", "switching_rounds"):
        monkeypatch.setattr(small_instances, cached, getattr(small_instances, cached).__wrapped__)
    monkeypatch.setattr(small_instances, "outcomes", independent)
    after = small_instances.switching_rounds(instance, STAY_OR_SWITCH)
    assert [one.mean for one in after] == [one.mean for one in before]
    assert {difference for one in after for difference in one.law} >= {-2, 2}


def steady(instance):
    """The same queue for the room of all policies: types in the order of their best rates."""
    first = instance.arrival_rate * instance.share
    batch = ((1 - instance.arrival_rate, ()), (first, (0,)), (instance.arrival_rate - first, (1,)))
    start = (0,) * instance.start[0] + (1,) * instance.start[1]
    return System(instance.rates, start, (batch,) * (instance.horizon - 1))


@pytest.mark.parametrize(
    ("number", "largest", "smallest"), [(0, "1.066967", "1.086888"), (1, "2.884550", "3.118895")]
)
def test_two_rooms_agree_and_slow_jobs_first_is_worse(number, largest, smallest):
    system = steady(NAMED[number])
    found = [value(system, LAST["q"], policy) for policy in POLICIES]
    start = NAMED[number].start
    assert found[0] == found[1] == optimal_mean(NAMED[number], 7, start)
    for true, printed in zip(found[1:], (largest, smallest), strict=True):
        assert abs(true - Fraction(printed)) <= Fraction(1, 2 * 10**6)


def test_a_learner_that_is_greedy_has_no_regret():
    instance = NAMED[2]
    greedy = small_instances.Learner(
        None,
        lambda waiting, memory: ((Fraction(1), greedy_pair(instance, waiting)),),
        lambda *seen: None,
    )
    assert regret(instance, greedy) == 0
    assert all(
        one.gap == one.product == one.mean == 0 for one in switching_rounds(instance, greedy)
    )


# Every policy --------------------------------------------------------------------------------------


def test_the_least_mean_is_that_of_all_decision_rules():
    """Two rounds, two jobs, an arrival: every rule from what was seen to an action, written out."""
    rates = ((Fraction(3, 4), Fraction(1, 3)), (HALF, Fraction(2, 3)))
    arrives = ((Fraction(1, 4), (0,)), (Fraction(3, 4), ()))
    system = System(rates, (0, 1), (arrives, NO_ARRIVALS))

    def after(waiting, action):
        if action is None or action[0] not in waiting:
            return [(Fraction(1), waiting)]
        rate, rest = rates[action[0]][action[1]], list(waiting)
        rest.remove(action[0])
        return [(rate, tuple(rest)), (1 - rate, waiting)]

    actions = [None, *product((0, 1), repeat=2)]
    best = min(
        sum(
            p * q * min(sum(r * len(end) for r, end in after(sorted_(w, b), a)) for a in actions)
            for p, w in after((0, 1), first)
            for q, b in arrives
        )
        for first in actions
    )
    assert value(system, LAST["q"]) == best
    assert value(system, LAST["q"], "largest rate first") == best


def sorted_(waiting, batch):
    return tuple(sorted((*waiting, *batch)))


def test_known_values_of_two_jobs():
    two = optimality.TWO_JOBS
    assert [value(two, LAST["q"], policy) for policy in POLICIES[:2]] == [Fraction(14, 25)] * 2
    for rounds in range(6):  # the slow job first, then greedy

        def mean(*waiting, rounds=rounds):
            return greedy_mean((FAST, HALF), NO_ARRIVALS, rounds, waiting)

        greedy = FAST * mean(1) + (1 - FAST) * mean(0, 1)
        loss = HALF * mean(0) + (1 - HALF) * mean(0, 1) - greedy
        assert loss == (FAST - HALF) * (1 - FAST) ** rounds


def test_the_counterexample_without_preemption_at_two_horizons():
    hypothesis = optimality.HYPOTHESES["preemption"]
    greedy, least = hypothesis.values(dropped=True)
    assert (greedy, least) == (Fraction(171, 100), 1)
    longer = System(
        hypothesis.system.rates, (1,), (*hypothesis.system.batches, NO_ARRIVALS), preemptive=False
    )
    assert value(longer, LAST["q"], "largest rate first") == Fraction(1539, 1000)
    assert value(longer, LAST["q"]) == Fraction(9, 10)


def test_paths_have_the_value_of_the_recursion():
    system = steady(Instance(NAMED[0].rates, HALF, Fraction(1, 3), 5, (1, 2)))
    law = path_law(system, best_first)
    assert sum(law.values()) == 1

    def cost(path):
        return max(path) * path[2] + path[-1]

    mean = sum(p * cost(path) for path, p in law.items())
    assert mean == value(system, cost, "largest rate first", whole_path=True)
    rates, batches = tuple(map(max, system.rates)), system.batches[0]
    stays = sum(p for path, p in law.items() if min(path) > 0)
    assert stays == schedules.survival(rates, batches, 4, system.start)
    assert sum(p * path[-1] for path, p in law.items()) == greedy_mean(
        rates, batches, 4, system.start
    )
    assert sum(p * path[-1] for path, p in law.items()) != after_batch(
        greedy_mean, rates, batches, 4, system.start
    )


def test_a_coupling_is_ordered_as_far_as_it_can_be():
    low, high = {(0,): HALF, (2,): HALF}, {(1,): HALF, (3,): HALF}
    assert ordered_coupling(low, high) == 1
    assert ordered_coupling(high, low) == HALF
    incomparable = {(0, 1): Fraction(1)}, {(1, 0): Fraction(1)}
    assert ordered_coupling(*incomparable) == 0
    with pytest.raises(ValueError, match=r"common denominator .* must be below 2\^31"):
        ordered_coupling({(0,): Fraction(1, 3**20), (1,): 1 - Fraction(1, 3**20)}, low)


# Judges --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("claim", "name"),
    [
        ("regret_telescopes", "telescoping_by_induction"),
        ("regret_telescopes", "three_instances_in_rationals"),
        ("psi_product_bound", "sums_of_three_instances"),
        ("psi_product_bound", "outcomes_of_the_switching_round"),
        ("greedy_is_optimal", "seven_systems"),
        ("one_step_loss", "losses_by_induction"),
        ("survival", "survival_by_induction"),
    ],
)
def test_judges_prove_what_is_claimed_and_reject_what_is_not(claim, name):
    claimed, *false = outcomes(claim, name)
    assert claimed == "proved"
    assert set(false) == {"refuted"}


def test_recursions_that_disagree_decide_nothing(monkeypatch):
    wrong = [NAMED[0], NAMED[1], Instance(NAMED[2].rates, HALF, HALF, 10, (1, 1))]
    assert outcomes("regret_telescopes", "three_instances_in_rationals")[0] == "proved"
    monkeypatch.setattr(switching, "NAMED", wrong)
    assert outcomes("regret_telescopes", "three_instances_in_rationals")[0] == "refuted"
    monkeypatch.setattr(switching, "regret", lambda instance, learner: Fraction(1))
    assert outcomes("regret_telescopes", "three_instances_in_rationals")[0] == "undecided"


def test_a_control_that_shows_nothing_is_undecided(monkeypatch):
    tame = optimality.Hypothesis("preemption", optimality.TWO_JOBS, {})
    monkeypatch.setitem(optimality.HYPOTHESES, "preemption", tame)
    judged = judge(check("greedy_is_optimal", "one_deviation"))
    found = dict(
        zip([next(iter(f.values())) for f in judged.check.false], judged.false, strict=True)
    )
    assert found["preemption"].outcome == "undecided"
    assert judged.toothless


def test_values_that_are_not_the_least_are_refuted():
    found = optimality.every_policy.compute(7, 1, systems=1)
    assert outcomes("greedy_is_optimal", "backward_induction", [found])[0] == "proved"
    worse = found | {"least": tuple(str(Fraction(one) - 1) for one in found["least"])}
    assert outcomes("greedy_is_optimal", "backward_induction", [worse])[0] == "refuted"


# Bad input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"arrival_rate": Fraction(3, 2)}, r"arrival_rate = 3/2: must be in \[0, 1\]"),
        ({"share": Fraction(-1, 2)}, r"share = -1/2: must be in \[0, 1\]"),
        ({"rates": ((FAST, Fraction(2)), (HALF, HALF))}, r"rates = 2: must be in \[0, 1\]"),
        ({"horizon": 1}, "horizon = 1: must be an integer from 2"),
        ({"start": (0, -1)}, r"start = \(0, -1\): must be two integers from 0"),
    ],
)
def test_an_impossible_instance_is_refused(changes, message):
    fields = {"rates": NAMED[0].rates, "arrival_rate": HALF, "share": HALF, "horizon": 3}
    with pytest.raises(ValueError, match=message):
        Instance(**(fields | {"start": (0, 0)} | changes))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rates": ((HALF,), (FAST,))}, "must not increase"),
        ({"rates": ((Fraction(3, 2),), (HALF,))}, r"must be in \[0, 1\]"),
        ({"start": (1, 0)}, r"start = \(1, 0\): must be sorted"),
        ({"attempts": 2, "sees_coin": True}, "attempts = 2: must be 1"),
        ({"attempts": 2, "preemptive": False}, "attempts = 2: must be 1"),
    ],
)
def test_an_impossible_system_is_refused(options, message):
    fields = {"rates": ((FAST,), (HALF,)), "start": (0, 1), "batches": (NO_ARRIVALS,)}
    with pytest.raises(ValueError, match=message):
        System(**(fields | options))


def test_wrong_words_and_lists_are_errors_not_verdicts():
    with pytest.raises(ValueError, match="policy = 'fifo'"):
        value(optimality.TWO_JOBS, LAST["q"], "fifo")
    with pytest.raises(ValueError, match="must be 2 numbers, for x = 1; x = 2"):
        misprint("x", "0.5", switching.numbered("x", [HALF, HALF]))
    with pytest.raises(ValueError, match="switch = 't-3'"):
        switching.telescoping_by_induction("1", "t-3", "T")
