"""One round of a coupled pair with job sets of any size, decided by z3.

What waits in a queue is a function from an uninterpreted sort to numbers: from jobs to 0 or 1, or,
where only lengths matter, from rates to how many jobs of that rate there are. So nothing is assumed of
how many jobs there are, and the only hypothesis on them is that a nonempty queue has a job that its
rule serves first (true of finite sets). The sort is essentially universal, so z3 decides every question
asked here; each round that it finds is repeated by the explorer of `checks.contextual.automaton`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from checks.contextual.automaton import (
    BOTH,
    CLASSES,
    MINUS,
    NO_CLASS,
    OUTCOMES,
    PLUS,
    START,
    TIES,
    Outcome,
    Round,
    Rules,
    Word,
    after_service,
    classify,
    departures,
    without_equal_rates,
)
from checks.methods.smt import TIMEOUT_MS

if TYPE_CHECKING:
    import z3

VIEWS = ("jobs", "rates")


@dataclass(frozen=True)
class Row:
    """Where a round can lead that begins in one class.

    Attributes
    ----------
    rounds : dict of ((int, int), str) to Round
        Each possible pair of an outcome and a next class, with a round that z3 found, before the
        arrival. What is not in it is impossible: z3 shows the formula unsatisfiable.
    trouble : str
        Why nothing is decided: z3 answers unknown, or its round is not repeated by the explorer.
    """

    rounds: dict[tuple[Outcome, str], Round]
    trouble: str = ""

    def after(self, outcome: Outcome) -> set[str]:
        """Next classes under that outcome."""
        return {name for key, name in self.rounds if key == outcome}


@cache
def row(rules: Rules, before: str, view: str = "jobs") -> Row:
    """Decide where a round can lead.

    Parameters
    ----------
    rules : Rules
    before : str
        A class, or ``START`` for round t, in which both queues hold the same jobs, Q- serves the best
        one, and Q+ any one at any rate from 0 (it idles) to the best rate of that job.
    view : {"jobs", "rates"}
        Whether jobs are told apart, or only their rates: then ties do not matter, the class of a
        pair is that after private jobs of equal rate are left out, and the rule must go by rate.

    Returns
    -------
    Row
        Cost: up to 24 questions to z3, 0.1 s.

    Raises
    ------
    ValueError
        For a view that is not one of these, or a rule that does not go by rate with rates alone.
    """
    if view not in VIEWS:
        raise ValueError(f"view = {view!r}: must be one of {VIEWS}")
    if view == "rates" and "rate" not in rules.service:
        raise ValueError(
            f"service = {rules.service!r}: must go by rate where jobs are not told apart"
        )
    world = _World(rules, before, view)
    found: dict[tuple[Outcome, str], Round] = {}
    for outcome in OUTCOMES:
        for after in (*CLASSES, NO_CLASS):
            answer, one = world.find(outcome, after)
            where = f"{before}, {departures(outcome)} to {after}"
            if answer == "unknown":
                return Row({}, f"{where}: z3 answers unknown")
            if one is not None:
                if not _repeats(rules, before, view, one, after):
                    return Row({}, f"{where}: the explorer does not repeat the round {one}")
                found[outcome, after] = one
    return Row(found)


def reached(rules: Rules, outcome: Outcome, view: str = "jobs") -> tuple[set[str], str]:
    """Classes that a pair can be in after an outcome of round t, by induction over the rounds.

    Returns
    -------
    set of str, str
        Closed under the rounds of every class in it, unless ``NO_CLASS`` is in it: then the search
        stops. And why it is not decided, or the empty string.
    """
    first = row(rules, START, view)
    found, todo = first.after(outcome), sorted(first.after(outcome))
    trouble = first.trouble
    for name in todo:
        if name == NO_CLASS or trouble:
            break
        later = row(rules, name, view)
        trouble = later.trouble
        new = {after for _, after in later.rounds} - found
        found |= new
        todo += sorted(new)
    return found, trouble


def _repeats(rules: Rules, before: str, view: str, one: Round, after: str) -> bool:
    """Whether the explorer serves the same jobs, and finds the outcome possible and both classes."""
    names = [
        classify(without_equal_rates(word) if view == "rates" else word)
        for word in (one.before, one.after)
    ]
    if before == START:
        plus, minus = one.tried, Rules().first(one.before, MINUS)
        possible = one.outcome in rules.first_outcomes()
    else:
        plus, minus = rules.first(one.before, PLUS), rules.first(one.before, MINUS)
        possible = one.outcome in rules.outcomes(one.before, plus, minus)
    same = after_service(one.before, plus, minus, one.outcome) == one.after
    return same and possible and names == ["S0" if before == START else before, after]


class _World:
    """The formulas of a round that begins in one class, in a solver that is asked for its end."""

    def __init__(self, rules: Rules, before: str, view: str):
        import z3

        self.before, self.view = before, view
        self.sort = sort = z3.DeclareSort("Job" if view == "jobs" else "Rate")
        self.plus, self.minus = (
            z3.Function(name, sort, z3.IntSort()) for name in ("plus", "minus")
        )
        self.rate, self.since = (
            z3.Function(name, sort, z3.RealSort()) for name in ("rate", "since")
        )
        self.served = z3.Consts("served_plus served_minus", sort)
        self.solver = z3.Solver()
        self.solver.set("timeout", TIMEOUT_MS)
        tried, shared, other = z3.Reals("tried_rate uniform other_uniform")
        y = self._any = z3.Const("y", sort)
        counts = [self.plus(y) >= 0, self.minus(y) >= 0, self.rate(y) > 0, self.rate(y) < 1]
        if view == "jobs":
            counts += [self.plus(y) <= 1, self.minus(y) <= 1]
        self._for_all(z3.And(*counts))
        key = self.since if view == "jobs" else self.rate
        x = z3.Const("x", sort)
        self.solver.add(z3.ForAll([x, y], z3.Implies(key(x) == key(y), x == y)))
        self.solver.add(shared > 0, shared < 1, other > 0, other < 1)
        self._serves(self.served[1], self.minus, Rules() if before == START else rules, MINUS)
        if before == START:
            self.solver.add(self._is_class("S0", self._difference(), "before"))
            self.solver.add(tried >= 0, tried <= self.rate(self.served[0]))
            self.solver.add(z3.Implies(self._waits(PLUS), self.plus(self.served[0]) >= 1))
            plus_rate = tried
        else:
            self.solver.add(self._is_class(before, self._difference(), "before"))
            self._serves(self.served[0], self.plus, rules, PLUS)
            plus_rate = self.rate(self.served[0])
        minus_uniform = shared if rules.uniforms == "shared" else other
        self.departs = (
            z3.And(self._waits(PLUS), shared <= plus_rate),
            z3.And(self._waits(MINUS), minus_uniform <= self.rate(self.served[1])),
        )

    def find(self, outcome: Outcome, after: str) -> tuple[str, Round | None]:
        """z3's answer to whether a round ends so, and the round if it does."""
        import z3

        self.solver.push()
        for departs, expected in zip(self.departs, outcome, strict=True):
            self.solver.add(departs if expected else z3.Not(departs))
        self.solver.add(self._is_class(after, self._difference(*self.departs), "after"))
        answer = self.solver.check()
        one = self._round(self.solver.model(), outcome) if answer == z3.sat else None
        self.solver.pop()
        return str(answer), one

    def _for_all(self, formula: z3.BoolRef) -> None:
        import z3

        self.solver.add(z3.ForAll([self._any], formula))

    def _waits(self, queue: int) -> z3.BoolRef:
        """Whether a queue is nonempty."""
        import z3

        return z3.Bool(f"waits_{queue}")

    def _ahead(self, rules: Rules, queue: int) -> Callable[[z3.ExprRef, z3.ExprRef], z3.BoolRef]:
        """Whether a queue serves the first job before the second."""
        import z3

        def ahead(x, y):
            earlier = self.since(x) < self.since(y)
            faster = self.rate(x) > self.rate(y)
            if rules.service == "first in, first out":
                return earlier
            if rules.service == "last in, first out":
                return self.since(x) > self.since(y)
            if rules.service == "worst rate first":
                faster = self.rate(x) < self.rate(y)
            if self.view == "rates":
                return faster
            if rules.ties == TIES[1] and queue == MINUS:
                earlier = self.since(x) > self.since(y)
            return z3.Or(faster, z3.And(self.rate(x) == self.rate(y), earlier))

        return ahead

    def _serves(
        self, served: z3.ExprRef, waiting: z3.FuncDeclRef, rules: Rules, queue: int
    ) -> None:
        """The queue is empty, or this is the job that it serves."""
        import z3

        y, ahead, waits = self._any, self._ahead(rules, queue), self._waits(queue)
        self.solver.add(z3.Implies(waits, waiting(served) >= 1))
        first = z3.Or(waiting(y) == 0, y == served, ahead(served, y))
        self._for_all(z3.If(waits, first, waiting(y) == 0))

    def _difference(self, *departs: z3.BoolRef) -> Callable[[z3.ExprRef], z3.ArithRef]:
        """Jobs of a kind in Q+ less those in Q-, before the round or, given departures, after it.

        An arrival adds one to both, and the difference is all that a class depends on.
        """
        import z3

        def difference(y):
            left = self.plus(y) - self.minus(y)
            for served, leaves, change in zip(self.served, departs, (-1, 1), strict=False):
                left += z3.If(z3.And(leaves, y == served), change, 0)
            return left

        return difference

    def _is_class(self, name: str, difference: Callable, when: str) -> z3.BoolRef:
        """The class of a pair, in terms of the kinds of private jobs."""
        import z3

        sort, y = self.sort, self._any
        a, b = z3.Consts(f"private_{when} other_private_{when}", sort)
        if name == NO_CLASS:
            more, fewer = (
                z3.And(sign * difference(a) >= 1, sign * difference(b) >= 1) for sign in (1, -1)
            )
            two = z3.And(a != b, z3.Or(more, fewer))
            return z3.Or(difference(a) >= 2, difference(a) <= -2, two)
        private = {"S0": {}, "S1+": {a: 1}, "S1-": {a: -1}}.get(name, {a: 1, b: -1})
        rest = z3.ForAll([y], z3.Or(difference(y) == 0, *(y == kind for kind in private)))
        own = [difference(kind) == value for kind, value in private.items()]
        if len(private) == 2:
            ahead = self._ahead(Rules(), PLUS)
            own.append(ahead(a, b) if name == "S2+" else ahead(b, a))
        return z3.And(rest, *own)

    def _round(self, model: z3.ModelRef, outcome: Outcome) -> Round:
        """The round of a model, in the words of the explorer."""

        def value(term):
            return model.eval(term, model_completion=True)

        def order(kind):
            return value(self.since(kind) if self.view == "jobs" else self.rate(kind)).as_fraction()

        kinds = sorted(model.get_universe(self.sort), key=order)
        counts = {
            kind: tuple(value(count(kind)).as_long() for count in (self.plus, self.minus))
            for kind in kinds
        }
        rates = {kind: value(self.rate(kind)).as_fraction() for kind in kinds if any(counts[kind])}
        levels = sorted(set(rates.values()))
        word, places = [], {}
        for kind in rates:
            plus, minus = counts[kind]
            common = min(plus, minus)
            jobs = [BOTH] * common + [PLUS] * (plus - common) + [MINUS] * (minus - common)
            places[kind] = len(word)
            word += [(levels.index(rates[kind]), queues) for queues in jobs]
        served = [places.get(value(kind)) for kind in self.served]
        before: Word = tuple(word)
        after = after_service(before, *served, outcome)
        tried = served[0] if self.before == START and served[0] is not None else -1
        return Round(before, tried, outcome, -1, after)
