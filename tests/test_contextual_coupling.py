"""The coupled pair of queues: explorer, z3 and a simulation with real rates against one another."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from checks.contextual import any_jobs, automaton, coupling
from checks.contextual.automaton import (
    BOTH,
    CLASSES,
    MINUS,
    OUTCOMES,
    PLUS,
    START,
    Rules,
    branch,
    classify,
    later_rounds,
    transition_table,
)

VARIANTS = [
    Rules(),
    *(Rules(service) for service in automaton.SERVICES[1:]),
    Rules(uniforms="independent"),
    Rules(ties="inconsistent"),
]
PSI = {(0, 0): {0}, (1, 1): {-1, 0}, (0, 1): {0, 1}}


# Job sets written as sets, with real rates and uniforms --------------------------------------------


def best(jobs):
    return max(jobs, key=lambda job: (job[0], -job[1]), default=None)


def class_of(plus, minus):
    more, fewer = plus - minus, minus - plus
    if len(more) > 1 or len(fewer) > 1:
        return "none"
    if more and fewer:
        return "S2+" if best(more | fewer) in more else "S2-"
    return "S1+" if more else "S1-" if fewer else "S0"


def attempt(jobs, job, rate, uniform):
    departs = int(job is not None and uniform <= rate)
    return (jobs - {job} if departs else jobs), departs


RATES = st.sampled_from([0.1, 0.4, 0.5, 0.9])
UNIFORMS = st.floats(0.001, 0.999)
ARRIVALS = st.none() | RATES


@given(
    st.lists(RATES, min_size=1, max_size=7),
    st.integers(0, 6),
    st.sampled_from([0.0, 0.3, 1.0]),
    st.lists(st.tuples(UNIFORMS, ARRIVALS), min_size=1, max_size=25),
)
@settings(max_examples=150, deadline=None)
def test_a_coupled_pair_takes_only_steps_of_the_table(rates, tried, speed, rounds):
    arrows = {(row.before, row.outcome, row.after) for row in transition_table() if row.reached}
    plus = minus = frozenset((rate, number) for number, rate in enumerate(rates))
    deviation = sorted(plus, key=lambda job: job[1])[tried % len(plus)]
    first = None
    for number, (uniform, arrival) in enumerate(rounds, len(rates)):
        before = class_of(plus, minus) if first else START
        job = best(plus) if first else deviation
        rate = job and job[0] * (1 if first else speed)
        other = best(minus)
        plus, leaves = attempt(plus, job, rate, uniform)
        minus, other_leaves = attempt(minus, other, other and other[0], uniform)
        outcome = leaves, other_leaves
        if arrival is not None:
            plus, minus = plus | {(arrival, number)}, minus | {(arrival, number)}
        first = first or outcome
        assert (before, outcome, class_of(plus, minus)) in arrows
        assert len(plus) - len(minus) in PSI[first]


def pairs_as_sets(rates, jobs):
    """Reachable pairs, explored with sets of (rate, time of arrival); relabelled at the end."""
    reached = {}

    def add(plus, minus, arrival, outcome, todo):
        now = 1 + max((time for _, time in plus | minus), default=0)
        new = {(arrival, now)} if arrival is not None else set()
        order = {
            time: place
            for place, (_, time) in enumerate(sorted(plus | minus | new, key=lambda job: job[1]))
        }
        pair = tuple(
            frozenset((rate, order[time]) for rate, time in side | new) for side in (plus, minus)
        )
        if pair not in reached.setdefault(outcome, set()):
            reached[outcome].add(pair)
            todo.append(pair)

    for outcome in PSI:
        todo = []
        for count in range(1, jobs + 1):
            for word in product(range(rates), repeat=count):
                both = frozenset((rate, time) for time, rate in enumerate(word))
                for job in both:
                    plus = both - {job} if outcome[0] else both
                    minus = both - {best(both)} if outcome[1] else both
                    for arrival in (None, *range(rates)):
                        add(plus, minus, arrival, outcome, todo)
        for plus, minus in todo:
            top, other = best(plus), best(minus)
            for uniform in [rate + half for rate in range(-1, rates) for half in (0, 0.5)]:
                # Ranks stand for rates: a service succeeds if the uniform is at most the rank.
                left, _ = attempt(plus, top, top and top[0], uniform)
                right, _ = attempt(minus, other, other and other[0], uniform)
                room = len(left | right) < jobs
                for arrival in (None, *range(rates)) if room else (None,):
                    add(left, right, arrival, outcome, todo)
    return reached


@pytest.mark.parametrize(("ranks", "jobs"), [(1, 3), (2, 3), (3, 2)])
def test_explorer_against_sets(ranks, jobs):
    for outcome, pairs in pairs_as_sets(ranks, jobs).items():
        explored = branch(Rules(), outcome, ranks, jobs).pairs
        as_sets = {
            tuple(
                frozenset((rank, i) for i, (rank, queues) in enumerate(word) if queues & queue)
                for queue in (PLUS, MINUS)
            )
            for word in explored
        }
        assert as_sets == pairs
        for word, (plus, minus) in zip(explored, map(_sides, explored), strict=True):
            assert classify(word) == class_of(plus, minus)
            assert automaton.difference(word) == len(plus) - len(minus)


def _sides(word):
    return tuple(
        frozenset((rank, i) for i, (rank, queues) in enumerate(word) if queues & queue)
        for queue in (PLUS, MINUS)
    )


# The explorer -------------------------------------------------------------------------------------


def test_paths_of_wrong_rules():
    """Values of psi for two rates and at most four jobs; more jobs would drive the lengths apart."""
    found = {
        rules: [sorted(branch(rules, outcome, 2, 4).differences) for outcome in OUTCOMES[:3]]
        for rules in VARIANTS
    }
    fast, worst, fifo, lifo, independent, inconsistent = (found[rules] for rules in VARIANTS)
    assert fast == inconsistent == [[0], [-1, 0], [0, 1]]
    assert worst == [[0], [*range(-4, 1)], [*range(5)]]
    assert fifo == [[0], [*range(-4, 5)], [*range(5)]]
    assert lifo == [[0], [-3, -2, -1, 0, 1], [0, 1]]
    assert min(independent[1]) <= -4
    assert max(independent[2]) >= 4
    for rules in VARIANTS[1:]:
        assert any(branch(rules, outcome, 2, 4).outside() for outcome in OUTCOMES[:3])


def test_a_path_is_told_from_equal_sets_on():
    paths = branch(Rules(), (1, 1), 2, 3)
    assert paths.path(paths.differences[-1]) == (
        "speeds 1, 2: + {1, 2}, - {1, 2}, + tries job 1; (1,1) -> "
        "speeds 1, 2: + {2}, - {1}; (1,0) -> speeds 1: + {}, - {1}"
    )


def test_jobs_of_equal_rate_cancel():
    word = ((1, PLUS), (0, PLUS), (1, BOTH), (1, MINUS), (1, MINUS))
    assert automaton.without_equal_rates(word) == ((0, PLUS), (1, BOTH), (1, MINUS))


def test_the_table_has_an_example_for_every_arrow():
    rows = transition_table()
    assert [sum(row.before == name for row in rows) for name in (START, *CLASSES)] == [
        4, 2, 3, 3, 4, 4,
    ]  # fmt: skip
    assert sum(row.reached for row in rows) == 16
    for row in rows:
        one = row.example
        assert one.arrival == -1
        assert row.reached == (row.before != "S2-")
        assert classify(one.before) == ("S0" if row.before == START else row.before)
        assert (row.after, row.psi) == (classify(one.after), automaton.difference(one.after))
        if row.before == START:
            assert one.before[one.tried][1] == BOTH
        else:
            assert one in list(later_rounds(Rules(), one.before))


def test_the_table_is_what_is_claimed():
    claimed = coupling.coupling_automaton.claimed
    for name, before in coupling._ROWS.items():
        drawn = {(row.outcome, row.after) for row in transition_table() if row.before == before}
        assert coupling._parse_row(name, claimed[name]) == drawn


# z3 -----------------------------------------------------------------------------------------------


def every_word(ranks, jobs):
    letters = list(product(range(ranks), (PLUS, MINUS, BOTH)))
    for count in range(jobs + 1):
        yield from product(letters, repeat=count)


@pytest.mark.parametrize("rules", VARIANTS, ids=str)
def test_z3_finds_what_small_job_sets_show(rules):
    """Pairs of few jobs, reachable or not, take exactly the steps that z3 allows."""
    shown = {
        START: {((0, 0), "S0")},
        **{name: set() for name in CLASSES},
    }  # an empty queue stays so
    for outcome in OUTCOMES:
        for one in automaton.first_rounds(rules, outcome, 2, 4):
            shown[START].add((outcome, classify(one.after)))
    for word in {*every_word(3, 3), *every_word(2, 4)}:
        if classify(word) in shown:
            for one in later_rounds(rules, word):
                shown[classify(word)].add((one.outcome, classify(one.after)))
    for name in (START, *CLASSES):
        decided = any_jobs.row(rules, name)
        assert not decided.trouble
        assert set(decided.rounds) == shown[name]


def test_a_round_that_the_explorer_does_not_repeat_decides_nothing(monkeypatch):
    any_jobs.row.cache_clear()
    monkeypatch.setattr(any_jobs, "classify", lambda word: "S0")
    assert "does not repeat" in any_jobs.row(Rules(), "S1+").trouble
    check = coupling.coupling_automaton.checks[0]
    assert check.decide(check.claim.claimed).outcome == "undecided"
    any_jobs.row.cache_clear()


def test_without_ties_the_classes_are_the_same():
    for outcome, psi in PSI.items():
        for view in any_jobs.VIEWS:
            classes, trouble = any_jobs.reached(Rules(), outcome, view)
            assert not trouble
            assert {automaton.PSI[name] for name in classes} == psi


# Many decisions -----------------------------------------------------------------------------------


@given(
    st.lists(st.floats(0.05, 0.95), min_size=1, max_size=4),
    st.lists(
        st.tuples(
            *(st.floats(0, 1), st.booleans(), st.floats(0.05, 0.95)),
            *(st.integers(0, 9), st.floats(0, 1)),
        ),
        min_size=1,
        max_size=7,
    ),
)
@settings(max_examples=300, deadline=None)
def test_a_learner_is_as_far_behind_as_its_rounds_say(start, rounds):
    """Jobs with real rates; a round is a uniform, an arrival or none, and what the learner tries."""

    def served(jobs, which, share, uniform):
        if not jobs:
            return jobs
        kept = sorted(jobs, reverse=True)
        rate = kept[which % len(kept)] * share
        return (
            kept[: which % len(kept)] + kept[which % len(kept) + 1 :] if uniform <= rate else kept
        )

    learner, optimal, behind, ahead = list(start), list(start), 0, 0
    for uniform, arrives, rate, which, share in rounds:
        best = served(learner, 0, 1, uniform)
        after = served(learner, which, share, uniform)
        behind += len(best) < len(learner) == len(after)
        ahead += len(best) < len(learner) > len(after)
        assert len(after) >= len(best)
        joins = [rate] if arrives else []
        learner, optimal = after + joins, served(optimal, 0, 1, uniform) + joins
    assert -ahead <= len(learner) - len(optimal) <= behind


# Two queues ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["shorter", "longer"])
@pytest.mark.parametrize("order", coupling._ORDERS)
def test_slots_by_numbers_and_job_by_job(order, rule):
    by_jobs = [coupling._serve_jobs(order, rule, system)[2] for system in "-+"]
    assert by_jobs == list(coupling._after_three_slots(order, rule))


def test_serving_the_longer_queue_forgets_the_decision():
    for order in coupling._ORDERS:
        minus, plus = (coupling._serve_jobs(order, "longer", system) for system in "-+")
        assert minus[1:] == plus[1:]


# What is no question ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Rules("slow first"), "service = 'slow first'"),
        (lambda: Rules(uniforms="none"), "uniforms = 'none'"),
        (lambda: Rules(ties="random"), "ties = 'random'"),
        (lambda: list(automaton.starts(0, 3)), "ranks = 0: must be at least 1"),
        (lambda: list(automaton.starts(2, 0)), "jobs = 0: must be at least 1"),
        (lambda: any_jobs.row(Rules(), "S0", "lengths"), "view = 'lengths'"),
        (lambda: any_jobs.row(Rules("first in, first out"), "S0", "rates"), "must go by rate"),
        (lambda: coupling._parse_row("from_s0", "(0,0) to S3"), "from_s0 = "),
        (lambda: coupling._parse_lengths("service_first", "1, t"), "service_first = "),
        (lambda: coupling._serve_jobs("arrivals_first", "random", "+"), "rule = 'random'"),
    ],
)
def test_bad_input_is_named(wrong, message):
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        wrong()
