"""Two queues that differ in one decision: the five classes of a coupled pair, and where they end."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Any

from checks.claim import Claim, Printed, Source
from checks.contextual.any_jobs import reached, row
from checks.contextual.automaton import (
    CLASSES,
    NO_CLASS,
    OUTCOMES,
    PSI,
    SERVICES,
    START,
    TIES,
    UNIFORMS,
    Outcome,
    Rules,
    branch,
    departures,
    mirrored,
    reachable,
    show,
    starts,
)
from checks.contextual.instances import SOURCE
from checks.contextual.switching import regret_telescopes
from checks.finding import Finding, combine, decide, exact, one_of, proved, refuted, undecided
from checks.judging import as_stated

# One queue: five classes --------------------------------------------------------------------------

coupling_automaton = Claim(
    "contextual.coupling_automaton",
    title="One decision changes the length of the queue by at most one job, at every later time",
    source=Source(SOURCE, "Lemmas 4.1 and B.1", provenance="stated"),
    kind="lemma",
    statement=r"""
Two queues hold the same finite set of jobs at the beginning of round $t$. They receive the same
arrivals; a service succeeds in a round if its uniform is at most the rate of job and server (strictly
between 0 and 1), and these uniforms are <<uniforms>>. A job is *better* than another if its best rate
is larger, or equal and it arrived earlier. In round $t$ the queue $Q^+$ serves any of its jobs on any
server, or idles, while $Q^-$ serves its best job on that job's best server. In later rounds both serve
<<service>>, ties broken <<ties>>, on the best server. Let $D^\pm$ be the departures of a round and
$\psi=Q^+-Q^-$.

Five classes of pairs of job sets: **S0** both are equal; **S1+** (**S1-**) they are equal but for one
more job in $Q^+$ ($Q^-$); **S2+** (**S2-**) each has one private job, that of $Q^+$ being the better
(worse) one, and all others are common.

1. From a class, the departures $(D^+,D^-)$ of a round lead to the following classes and to no other,
   whatever the job sets, and each of these occurs:
   - round $t$: <<round_t>>
   - S0: <<from_s0>>
   - S1+: <<from_s1_plus>>
   - S1-: <<from_s1_minus>>
   - S2+: <<from_s2_plus>>
   - S2-: as S2+, with the queues exchanged
2. Round $t$ is never $(1,0)$. At every later time $\psi\in\{<<neither>>\}$ if it was $(0,0)$,
   $\psi\in\{<<both>>\}$ if it was $(1,1)$, and $\psi\in\{<<minus_only>>\}$ if it was $(0,1)$; each value
   occurs. Class <<unreached>> is not reached, and the others take <<transitions>> of the labelled steps.
3. Point 2 on $\psi$ holds for every way to break ties, even one that differs between the queues.
4. Start with at most $n$ jobs of $R$ different rates, and let one arrive in round $t$ and others only
   while fewer than $n$ jobs wait in both queues together. The table has the
   numbers of starts (a job set and a job to try), of pairs reached after equal departures in round $t$,
   and of those reached after $(0,1)$.

| $R=2$, $n=5$ | $R=3$, $n=5$ | $R=4$, $n=4$ |
| --- | --- | --- |
| <<pairs:cells>> |

5. *Many decisions.* Let a learner serve in rounds $1,\dots,T-1$. The queues that follow it up to some
   round, and from then on serve best first, all see the same arrivals and uniforms. A round $t$ has the
   departures of the pair that turns to best first after rounds $t$ and $t-1$. With $Q$ the queue of the
   learner and $Q^*$ that of best first, on every path
   $$-\#\{t<T:<<ahead>>\}\ \le\ Q(T)-Q^*(T)\ \le\ \#\{t<T:<<behind>>\}.$$
""",
    claimed={
        "service": SERVICES[0],
        "uniforms": UNIFORMS[0],
        "ties": TIES[0],
        "round_t": "(0,0) to S0; (1,1) to S0 or S2+; (0,1) to S1+",
        "from_s0": "(0,0) to S0; (1,1) to S0",
        "from_s1_plus": "(0,0) to S1+; (1,1) to S1+; (1,0) to S0",
        "from_s1_minus": "(0,0) to S1-; (1,1) to S1-; (0,1) to S0",
        "from_s2_plus": "(0,0) to S2+; (1,1) to S0 or S2+; (1,0) to S1-",
        "neither": "0",
        "both": "-1, 0",
        "minus_only": "0, 1",
        "unreached": "S2-",
        "transitions": "12",
        "pairs": "258, 651, 215; 1641, 6045, 1694; 1252, 6070, 1937",
        "behind": "(0,1)",
        "ahead": "(1,1)",
    },
    rests_on=["contextual.regret_telescopes"],
    parts={
        "automaton": "the classes and where they end",
        "lengths": "lengths, for every way to break ties",
        "small systems": "how many pairs are reached",
        "many decisions": "how far a learner is behind or ahead on a path",
    },
    uncovered="that a nonempty finite set of jobs has a best one, and that coupled queues have the laws "
    "of the two policy-switching queues",
)

SIZES = ((2, 5), (3, 5), (4, 4))  # ranks and jobs of the systems explored
_PSI_NAMES = ("neither", "both", "minus_only")
# Every rule that breaks the statement shows it in S1+ first.
_ROWS = {
    "from_s1_plus": "S1+",
    "from_s1_minus": "S1-",
    "from_s2_plus": "S2+",
    "from_s0": "S0",
    "round_t": START,
}


def _parse_row(name: str, text: str) -> set[tuple[Outcome, str]]:
    """The pairs of an outcome and a next class that a row of the table lists."""
    listed = set()
    for entry in text.split(";"):
        match = re.fullmatch(r"\s*\(([01]),([01])\) to (S[012][+-]?(?: or S[012][+-]?)*)\s*", entry)
        if not match:
            raise ValueError(f"{name} = {text!r}: must list entries such as '(1,1) to S0 or S2+'")
        for after in match[3].split(" or "):
            listed.add(((int(match[1]), int(match[2])), one_of(name, after, *CLASSES)))
    return listed


def _parse_psi(numbers: dict[str, str]) -> dict[Outcome, set[int]]:
    """The values of psi stated for each outcome of round t that can occur."""
    return {
        outcome: {int(value) for value in numbers[name].split(",")}
        for outcome, name in zip(OUTCOMES, _PSI_NAMES, strict=False)
    }


def _listed(values: set[int]) -> str:
    return ", ".join(map(str, sorted(values)))


@coupling_automaton.check(
    method="smt",
    scope="general",
    false=[
        {"service": "first in, first out"},
        {"service": "last in, first out"},
        {"service": "worst rate first"},
        {"uniforms": "independent"},
        {"ties": "inconsistent"},
        {"round_t": "(0,0) to S0; (1,1) to S0; (0,1) to S1+"},
        {"from_s0": "(0,0) to S0; (1,1) to S0 or S2+"},
        {"from_s1_plus": "(0,0) to S1+; (1,1) to S0 or S1+; (1,0) to S0"},
        {"from_s1_minus": "(0,0) to S1-; (1,1) to S1-; (0,1) to S0; (1,0) to S1-"},
        {"from_s2_plus": "(0,0) to S2+; (1,1) to S0 or S2+; (1,0) to S1+"},
        {"both": "0"},
        {"neither": "-1, 0"},
        {"minus_only": "1"},
        {"unreached": "S1-"},
        {"transitions": "16"},
    ],
    part="automaton",
    reads=("service", "uniforms", "ties", *_ROWS, *_PSI_NAMES, "unreached", "transitions"),
)
def every_round_of_every_class(**numbers: str) -> Finding:
    """Decide with z3 which class a round can lead to, for job sets of any size; then add up the rounds.

    Jobs are an uninterpreted sort, so no bound on their number enters. For each class, each outcome
    and each next class (or none of the five) z3 finds a round or shows that there is none; a round that
    it finds is repeated by the explorer. Classes closed under the rounds, from round t on, give the
    values of psi; that each value and each labelled step occurs is shown by a path of at most three
    jobs and two rates from equal job sets.
    """
    rules = Rules(numbers["service"], numbers["uniforms"], numbers["ties"])
    table: dict[str, set[tuple[Outcome, str]]] = {}
    for name, before in _ROWS.items():
        stated = table[before] = _parse_row(name, numbers[name])
        wrong = _compare_row(rules, before, stated)
        if before == "S2+" and wrong is None:
            table["S2-"] = {(outcome[::-1], mirrored(after)) for outcome, after in stated}
            wrong = _compare_row(rules, "S2-", table["S2-"])
        if wrong is not None:
            return wrong
    psi = _parse_psi(numbers)
    found: set[str] = set()
    seen: set[tuple[str, Outcome, str]] = set()
    for outcome, values in psi.items():
        classes, trouble = reached(rules, outcome)
        if trouble:
            return undecided(trouble)
        wrong = _compare_psi(rules, outcome, {PSI[name] for name in classes}, values)
        if wrong is not None:
            return wrong
        found |= classes
        seen |= branch(rules, outcome, 2, 3).transitions
    listed = {(before, *step) for before in found for step in table[before]}
    if seen != listed:
        return undecided(
            f"paths of at most three jobs take other steps: {sorted(listed ^ seen)} differ"
        )
    missed = sorted(set(CLASSES) - found)
    count = f"{len(listed)} labelled steps are taken, and {', '.join(missed)} is not reached"
    return decide(
        missed == [one_of("unreached", numbers["unreached"], *CLASSES)]
        and len(listed) == int(numbers["transitions"]),
        f"z3 decides where every class leads, for job sets of any size: {count}",
        count,
        **{f"psi after {departures(outcome)}": exact(_listed(psi[outcome])) for outcome in psi},
        **{"labelled steps": exact(len(listed))},
    )


def _compare_row(rules: Rules, before: str, stated: set[tuple[Outcome, str]]) -> Finding | None:
    """None if a row lists exactly what z3 finds possible."""
    decided = row(rules, before)
    if decided.trouble:
        return undecided(decided.trouble)
    for (outcome, after), one in sorted(decided.rounds.items(), key=lambda item: item[0][1]):
        if (outcome, after) not in stated and after == NO_CLASS:
            return refuted(f"{before} is left for no class: {one} gives {show(one.after)}")
    for (outcome, after), one in decided.rounds.items():
        if (outcome, after) not in stated:
            return refuted(f"{before} leads to {after}: {one} gives {show(one.after)}")
    for outcome, after in sorted(stated):
        if (outcome, after) not in decided.rounds:
            where = f"{before} never leads to {after} by {departures(outcome)}"
            return refuted(f"{where}: unsatisfiable for job sets of any size")
    return None


def _compare_psi(
    rules: Rules, outcome: Outcome, possible: set[int], stated: set[int]
) -> Finding | None:
    """None if the stated values of psi are those that are possible, and each occurs in a small pair."""
    paths = branch(rules, outcome, 2, 3)
    for value in sorted(stated - possible):
        return refuted(f"after {departures(outcome)} in round t, psi = {value} is impossible")
    for value in sorted(possible - stated):
        if value in paths.differences:
            return refuted(f"psi = {value}: {paths.path(paths.differences[value])}")
    if set(paths.differences) != stated:
        return undecided(f"no path of at most three jobs shows all of psi = {_listed(possible)}")
    return None


@coupling_automaton.check(
    method="smt",
    scope="general",
    false=[
        {"service": "worst rate first"},
        {"uniforms": "independent"},
        {"both": "0"},
        {"minus_only": "0"},
    ],
    part="lengths",
)
def lengths_without_a_tie_rule(
    service: str, uniforms: str, neither: str, both: str, minus_only: str
) -> Finding:
    """Decide the same with jobs told apart by their rates only, so that no tie is ever broken.

    What waits is a function from an uninterpreted sort of rates to numbers of jobs; private jobs of
    equal rate, one in each queue, cancel. The lengths depend on nothing else. A wrong rule is refuted
    by a path of at most four jobs and two rates.
    """
    one_of("service", service, "best rate first", "worst rate first")
    rules = Rules(service, uniforms)
    numbers = dict(zip(_PSI_NAMES, (neither, both, minus_only), strict=True))
    for outcome, values in _parse_psi(numbers).items():
        classes, trouble = reached(rules, outcome, "rates")
        if trouble:
            return undecided(trouble)
        if NO_CLASS in classes:
            return _psi_out_of_range(rules, outcome, values)
        wrong = _compare_psi(rules, outcome, {PSI[name] for name in classes}, values)
        if wrong is not None:
            return wrong
    return proved(
        "the same classes, closed under every round, for any numbers of jobs of any rates"
    )


def _psi_out_of_range(rules: Rules, outcome: Outcome, stated: set[int]) -> Finding:
    """Refuted by a small pair whose lengths differ by more than is stated, if there is one."""
    paths = branch(rules, outcome, 2, 4)
    for value, word in paths.differences.items():
        if value not in stated:
            return refuted(f"psi = {value}: {paths.path(word)}")
    return undecided(f"after {departures(outcome)} the five classes are left")


@coupling_automaton.check(
    method="exact",
    scope="general",
    false=[
        {"service": "first in, first out"},
        {"service": "worst rate first"},
        {"uniforms": "independent"},
        {"pairs": "258, 651, 215; 1641, 6045, 1694; 1252, 6070, 1936"},
    ],
    part="small systems",
)
def reachable_pairs(service: str, uniforms: str, ties: str, pairs: str) -> Finding:
    """Count starts and reachable pairs of three small systems by breadth-first search.

    Its part of the statement is these nine numbers. A job set is a word of ranks in order of arrival.
    Rules under which the lengths differ by more than one job are refuted by a shortest path.
    """
    rules = Rules(service, uniforms, ties)
    for size in SIZES:
        for outcome in OUTCOMES[:3]:
            paths = branch(rules, outcome, *size)
            for value, word in paths.differences.items():
                if abs(value) > 1:
                    return refuted(f"lengths come to differ by {abs(value)}: {paths.path(word)}")
    counts = "; ".join(", ".join(map(str, reachable(rules, *size))) for size in SIZES)
    return decide(
        counts == pairs,
        f"{len(SIZES)} systems, searched until no round leads to a new pair",
        f"they are {counts}",
        **{"starts and pairs": exact(counts)},
    )


@coupling_automaton.check(
    method="exact",
    scope="instances",
    false=[
        {"service": "first in, first out"},
        {"service": "last in, first out"},
        {"service": "worst rate first"},
        {"uniforms": "independent"},
        {"ties": "inconsistent"},
        {"both": "0"},
        {"minus_only": "0"},
    ],
    part="automaton",
)
def every_path_of_small_systems(
    service: str, uniforms: str, ties: str, neither: str, both: str, minus_only: str
) -> Finding:
    """Follow every path of three small systems, and compare classes and lengths of every pair.

    Two and three rates with at most five jobs, four rates with at most four. Wrong rules are refuted
    by a shortest path from equal job sets out of the five classes.
    """
    rules = Rules(service, uniforms, ties)
    numbers = dict(zip(_PSI_NAMES, (neither, both, minus_only), strict=True))
    for size in SIZES:
        wrong = _compare_paths(rules, size, _parse_psi(numbers), classes=True)
        if wrong is not None:
            return wrong
    count = sum(1 for size in SIZES for _ in starts(*size))
    return proved(f"every pair reached from {count} starts is in one of the five classes")


def _compare_paths(
    rules: Rules, size: tuple[int, int], psi: dict[Outcome, set[int]], classes: bool
) -> Finding | None:
    """None if every pair of a small system has a stated psi and (if asked) one of the five classes."""
    for outcome, values in psi.items():
        paths = branch(rules, outcome, *size)
        outside = paths.outside()
        if classes and outside is not None:
            return refuted(f"in no class: {paths.path(outside)}")
        for value, word in paths.differences.items():
            if value not in values:
                return refuted(f"psi = {value}: {paths.path(word)}")
        missed = values - set(paths.differences)
        if missed:
            return undecided(f"psi = {_listed(missed)} does not occur with at most {size[1]} jobs")
    return None


@coupling_automaton.check(
    method="exact",
    scope="instances",
    false=[{"both": "0"}, {"minus_only": "0"}, {"service": "worst rate first"}],
    part="lengths",
)
def paths_with_ties_broken_differently(
    service: str, uniforms: str, neither: str, both: str, minus_only: str
) -> Finding:
    """Follow every path when Q+ serves the earlier and Q- the later of equally fast jobs.

    Two and three rates, at most five and four jobs. The job sets then differ by two jobs each, but the
    lengths by one at most.
    """
    rules = Rules(service, uniforms, TIES[1])
    numbers = dict(zip(_PSI_NAMES, (neither, both, minus_only), strict=True))
    for size in ((2, 5), (3, 4)):
        wrong = _compare_paths(rules, size, _parse_psi(numbers), classes=False)
        if wrong is not None:
            return wrong
    paths = branch(rules, OUTCOMES[1], 2, 5)
    outside = paths.outside()
    if outside is None:
        return undecided("ties that are broken differently change nothing here")
    return proved(f"the lengths stay within the claim, although {show(outside)} is reached")


# Many decisions -----------------------------------------------------------------------------------

_ROUNDS = tuple(departures(outcome) for outcome in OUTCOMES[:3])


@coupling_automaton.check(
    method="smt",
    scope="general",
    false=[{"behind": "(1,1)"}, {"behind": "(0,0)"}, {"ahead": "(0,1)"}, {"ahead": "(0,0)"}],
    part="many decisions",
)
def decisions_add_up(neither: str, both: str, minus_only: str, behind: str, ahead: str) -> Finding:
    """Q(T) - Q*(T) is the sum of the psi of all rounds, on each path; add them up by induction.

    The telescoping sum of `contextual.regret_telescopes` is one for any function of the switching
    round, so for the lengths on a path. Each term is in the set that point 2 allows, so one round more
    keeps both inequalities. Other rounds are refuted by a learner on a path of three rounds.
    """
    import z3

    from checks.methods.smt import implies

    wrong = _learner_without("behind", behind, 1) or _learner_without("ahead", ahead, -1)
    if wrong is not None:
        return wrong
    sets = _parse_psi(dict(zip(_PSI_NAMES, (neither, both, minus_only), strict=True)))
    total, late, early = z3.Ints("sum behind ahead")
    found = [as_stated(regret_telescopes, first="1", switch="t-1", moment="T")]
    for outcome, values in sets.items():
        shown = departures(outcome)
        for psi in sorted(values):
            found.append(
                implies(
                    [late >= 0, early >= 0, total <= late, total >= -early],
                    z3.And(
                        total + psi <= late + int(shown == behind),
                        total + psi >= -early - int(shown == ahead),
                    ),
                    f"a round {shown} with psi = {psi}",
                )
            )
    return combine(found, "each round adds a psi that its own count makes up for")


def _learner_without(name: str, counted: str, sign: int) -> Finding | None:
    """A learner of `_learners` that is further behind (or ahead) than its counted rounds, if any is."""
    place = _ROUNDS.index(one_of(name, counted, *_ROUNDS))
    for (behind, counts), path in _learners().items():
        if sign * behind > counts[place]:
            text = f"Q - Q* = {behind} with {counts[place]} rounds {counted}"
            return refuted(f"{name}, {text}: {path}")
    return None


@cache
def _learners() -> dict[tuple[int, tuple[int, int, int]], str]:
    """Q(4) - Q*(4) and the numbers of rounds (0,0), (1,1) and (0,1), each with a path that has them.

    Two jobs at first, of best rates 3/4 and 1/2; rate 1/4 on the other server. Every sequence of three
    decisions (which kind, which server), of uniforms in quarters, and of arrivals in rounds 1 and 2.

    Notes
    -----
    Cost: 0.25 s for 36 864 paths.
    """
    best_rates, other = (3, 2), 1
    decisions = tuple(product((0, 1), (True, False)))
    found: dict[tuple[int, tuple[int, int, int]], str] = {}

    def serve(state, kind, rate, uniform):
        if kind is None or uniform >= rate:
            return state
        return (state[0] - 1, state[1]) if kind == 0 else (state[0], state[1] - 1)

    def best(state):
        kind = 0 if state[0] else 1 if state[1] else None
        return kind, best_rates[kind or 0]

    def tried(state, decision):
        kind, on_best = decision
        kind = kind if state[kind] else best(state)[0]
        return kind, best_rates[kind or 0] if on_best else other

    for choices in product(decisions, repeat=3):
        for uniforms, comes in product(
            product(range(4), repeat=3), product((None, 0, 1), repeat=2)
        ):
            joins = [(int(kind == 0), int(kind == 1)) for kind in (*comes, None)]
            state, counts = (1, 1), [0, 0, 0]
            for choice, uniform, (fast, slow) in zip(choices, uniforms, joins, strict=True):
                left = serve(state, *tried(state, choice), uniform)
                better = serve(state, *best(state), uniform)
                outcome = sum(state) - sum(left), sum(state) - sum(better)
                counts[OUTCOMES.index(outcome)] += 1
                state = left[0] + fast, left[1] + slow
            optimal = (1, 1)
            for uniform, (fast, slow) in zip(uniforms, joins, strict=True):
                left = serve(optimal, *best(optimal), uniform)
                optimal = left[0] + fast, left[1] + slow
            key = sum(state) - sum(optimal), tuple(counts)
            if key not in found:
                found[key] = (
                    f"tries (kind, on its best server) {choices}, uniforms {uniforms} in quarters, "
                    f"arrivals {comes}"
                )
    return found


@coupling_automaton.check(
    method="exact",
    scope="instances",
    false=[{"behind": "(1,1)"}, {"ahead": "(0,1)"}],
    part="many decisions",
)
def learners_of_three_rounds(behind: str, ahead: str) -> Finding:
    """Follow every learner of three rounds on every path of a small queue, and best first beside it."""
    wrong = _learner_without("behind", behind, 1) or _learner_without("ahead", ahead, -1)
    if wrong is not None:
        return wrong
    furthest = max(jobs for jobs, _ in _learners())
    return proved(f"no violation; a learner is behind by up to {furthest} jobs, one for each round")


# Two queues ---------------------------------------------------------------------------------------

multiqueue_counterexample = Claim(
    "contextual.multiqueue_counterexample",
    title="With two queues, the effect of one decision can grow by <<growth>> job in every slot",
    source=Source(SOURCE, "Appendix G", provenance="stated"),
    kind="example",
    statement=r"""
One server serves one job a slot, surely, of the <<rule>> of two queues (of queue 1 if they are equal).
Two systems start from $(2,2)$. In slot 1 the system $-$ serves queue 1 and the system $+$ serves queue
2; afterwards both follow the rule. Nothing arrives in slots 1 and 2, and one job in each queue in each
slot from 3 on. Then after each slot $t\ge3$ the lengths in system $-$ are

- $<<arrivals_first>>$ if the arrivals of a slot come before its service;
- $<<service_first>>$ if they come after it, and a slot in which the rule points at an empty queue is
  lost;
- $<<service_first_nonempty>>$ if they come after it, and a nonempty queue must be served;

and in system $+$ the same with the queues exchanged. So each queue of one system drifts away from
that of the other by <<growth>> job a slot, although the systems differ in one decision and always hold
equally many jobs.
""",
    claimed={
        "rule": "shorter",
        "arrivals_first": "(0, t)",
        "service_first": "(1, t)",
        "service_first_nonempty": "(1, t-1)",
        "growth": "1",
    },
    as_printed=Printed(
        {"service_first_nonempty": "(0, t)"},
        says="'a chosen nonempty queue' is served and the lengths are (0, t) for all t >= 2; whether "
        "the arrivals of a slot come before its service is not said",
        correct="(0, t) is right if arrivals come first. In the order of the source's own model, "
        "service first, the rule points at an empty queue in slot 3; with a nonempty queue served "
        "instead, the lengths are (1, t-1) from slot 3 on",
        kind="unspecified",
    ),
)

_ORDERS = ("arrivals_first", "service_first", "service_first_nonempty")


def _slot(lengths, arrivals: int, order: str, rule: str, choose: Callable[[Any, Any, Any], Any]):
    """Lengths after one slot, of numbers or of formulas (``choose`` is if-then-else of either)."""
    first, second = lengths
    if order == "arrivals_first":
        first, second = first + arrivals, second + arrivals
    shorter = one_of("rule", rule, "shorter", "longer") == "shorter"
    serves_first = first <= second if shorter else first >= second
    if order == "service_first_nonempty":
        serves_first = choose(first == 0, False, choose(second == 0, True, serves_first))
    left = (
        choose(serves_first, choose(first > 0, first - 1, first), first),
        choose(serves_first, second, choose(second > 0, second - 1, second)),
    )
    if order == "arrivals_first":
        return left
    return left[0] + arrivals, left[1] + arrivals


def _after_three_slots(order: str, rule: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Lengths in systems - and + after slot 3."""

    def choose(condition, yes, no):
        return yes if condition else no

    minus, plus = (1, 2), (2, 1)  # after slot 1: one decision apart
    for arrivals in (0, 1):
        minus, plus = (_slot(system, arrivals, order, rule, choose) for system in (minus, plus))
    return minus, plus


def _parse_lengths(name: str, text: str) -> Callable[[Any], tuple[Any, Any]]:
    """Two lengths as functions of the slot: constants, or ``t`` with a constant added."""
    match = re.fullmatch(r"\((t?)([+-]?\d+)?, (t?)([+-]?\d+)?\)", text)
    if not match:
        raise ValueError(f"{name} = {text!r}: must be a pair such as '(1, t-1)'")
    slopes = [int(bool(match[place])) for place in (1, 3)]
    constants = [int(match[place] or 0) for place in (2, 4)]
    return lambda t: tuple(s * t + c for s, c in zip(slopes, constants, strict=True))


@multiqueue_counterexample.check(
    method="smt",
    scope="general",
    false=[
        {"rule": "longer"},
        {"arrivals_first": "(1, t)"},
        {"service_first": "(0, t)"},
        {"service_first_nonempty": "(1, t)"},
        {"growth": "2"},
    ],
    reads=("rule", *_ORDERS, "growth"),
)
def induction_over_slots(**numbers: str) -> Finding:
    """Run three slots exactly; one slot more, from the stated lengths, is decided by z3 for every t."""
    import z3

    from checks.methods.smt import implies

    t, growth = z3.Int("t"), int(numbers["growth"])
    found = []
    for order in _ORDERS:
        stated = _parse_lengths(order, numbers[order])
        for system, start in zip(
            ("-", "+"), _after_three_slots(order, numbers["rule"]), strict=True
        ):
            step = 1 if system == "-" else -1
            if start != stated(3)[::step]:
                name = order.replace("_", " ")
                return refuted(f"{name}: system {system} is {start} after slot 3")
            following = _slot(stated(t)[::step], 1, order, numbers["rule"], z3.If)
            goal = stated(t + 1)[::step]
            found.append(
                implies(
                    [t >= 3],
                    z3.And(*(a == b for a, b in zip(following, goal, strict=True))),
                    f"{order}, system {system}, slot t + 1",
                )
            )
        apart = [stated(slot)[1] - stated(slot)[0] for slot in (t, t + 1)]
        found.append(implies([t >= 3], apart[1] - apart[0] == growth, f"growth, {order}"))
    return combine(found, "slots 1 to 3 exactly, every later one by induction, in three orders")


@multiqueue_counterexample.check(
    method="exact",
    scope="instances",
    false=[
        {"rule": "longer"},
        {"arrivals_first": "(1, t)"},
        {"service_first": "(0, t)"},
        {"service_first_nonempty": "(1, t)"},
    ],
    reads=("rule", *_ORDERS),
)
def fifty_slots(**numbers: str) -> Finding:
    """Serve fifty slots job by job, each queue a list of arrival slots, in three orders."""
    shown = []
    for order in _ORDERS:
        stated = _parse_lengths(order, numbers[order])
        for system, step in (("-", 1), ("+", -1)):
            for slot, lengths in enumerate(_serve_jobs(order, numbers["rule"], system), 1):
                if slot >= 3 and lengths != stated(slot)[::step]:
                    name = order.replace("_", " ")
                    return refuted(f"{name}: system {system} is {lengths} after slot {slot}")
                if slot == 12 and system == "-":
                    shown.append(str(lengths))
    return proved(
        f"system - after slot 12: {', '.join(shown)}", **{"after slot 12": exact(", ".join(shown))}
    )


def _serve_jobs(order: str, rule: str, system: str) -> list[tuple[int, int]]:
    """Lengths after each of fifty slots of a simulation that keeps the jobs."""
    sign = {"shorter": 1, "longer": -1}[one_of("rule", rule, "shorter", "longer")]
    queues, history = [[0, 0], [0, 0]], []
    for slot in range(1, 51):
        coming = slot >= 3
        if coming and order == "arrivals_first":
            for queue in queues:
                queue.append(slot)
        candidates = [0, 1]
        if order == "service_first_nonempty":
            candidates = [i for i in candidates if queues[i]]
        target = min(candidates, key=lambda i: sign * len(queues[i]))  # queue 1 if equal
        if slot == 1:
            target = 0 if system == "-" else 1
        if queues[target]:
            queues[target].pop(0)
        if coming and order != "arrivals_first":
            for queue in queues:
                queue.append(slot)
        history.append((len(queues[0]), len(queues[1])))
    return history
