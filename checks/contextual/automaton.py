"""Two queues that differ in one decision: the pairs of job sets that a coupled pair can reach.

The queues Q+ and Q- share every arrival and every service uniform. Up to round t they hold the same
jobs. In round t the policy under study chooses for Q+, the optimal policy for Q-; from then on the
optimal policy chooses for both. What matters of the two job sets is a *word*: the jobs in either of
them in order of arrival, each with the rank of its best rate (larger is faster) and the queues that it
waits in. Words are explored here exhaustively, for a bounded number of jobs and of ranks (appendix B.1
of the source has the proof for all of them).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

from checks.finding import one_of

SERVICES = ("best rate first", "worst rate first", "first in, first out", "last in, first out")
UNIFORMS = ("shared", "independent")
TIES = ("by arrival", "inconsistent")
CLASSES = ("S0", "S1+", "S1-", "S2+", "S2-")
NO_CLASS = "none"
START = "round t"
OUTCOMES = ((0, 0), (1, 1), (0, 1), (1, 0))
PSI = {"S0": 0, "S1+": 1, "S1-": -1, "S2+": 0, "S2-": 0}
PLUS, MINUS = 1, 2  # bits of the queues that a job waits in
BOTH = PLUS | MINUS

Word = tuple[tuple[int, int], ...]
Outcome = tuple[int, int]


@dataclass(frozen=True)
class Rules:
    """How both queues serve after round t; the defaults are the optimal policy and the coupling.

    The others are what the statement breaks on. In round t itself Q- always serves the best job.

    Attributes
    ----------
    service : str
        Whom a queue serves, one of ``SERVICES`` (preemptive, on the best server of the job).
    uniforms : {"shared", "independent"}
        Whether one uniform a round decides about the service of both queues.
    ties : {"by arrival", "inconsistent"}
        Among equal rates the earlier job; or the earlier one in Q+ and the later one in Q-.

    Raises
    ------
    ValueError
        For any other name.
    """

    service: str = SERVICES[0]
    uniforms: str = UNIFORMS[0]
    ties: str = TIES[0]

    def __post_init__(self) -> None:
        one_of("service", self.service, *SERVICES)
        one_of("uniforms", self.uniforms, *UNIFORMS)
        one_of("ties", self.ties, *TIES)

    def first(self, word: Word, queue: int) -> int | None:
        """Place in the word of the job that a queue serves; None if it is empty."""
        waiting = [place for place, (_, queues) in enumerate(word) if queues & queue]
        if not waiting:
            return None
        if self.service == "first in, first out":
            return waiting[0]
        if self.service == "last in, first out":
            return waiting[-1]
        sign = 1 if self.service == "best rate first" else -1
        if self.ties == "inconsistent" and queue == MINUS:
            waiting.reverse()
        return max(waiting, key=lambda place: sign * word[place][0])  # the first of the largest

    def outcomes(self, word: Word, plus: int | None, minus: int | None) -> Iterator[Outcome]:
        """Departures (D+, D-) that are possible when these places are served after round t."""
        for outcome in OUTCOMES:
            if (outcome[0] and plus is None) or (outcome[1] and minus is None):
                continue
            if self.uniforms == "shared" and plus is not None and minus is not None:
                faster = word[plus][0] - word[minus][0]
                if (outcome == (1, 0) and faster <= 0) or (outcome == (0, 1) and faster >= 0):
                    continue
            yield outcome

    def first_outcomes(self) -> tuple[Outcome, ...]:
        """Departures (D+, D-) that are possible in round t, whichever job Q+ tries.

        Q+ may use a slow server, so its rate is anything up to that of the job that Q- serves: with a
        shared uniform it never succeeds alone.
        """
        return OUTCOMES if self.uniforms == "independent" else OUTCOMES[:3]


def after_service(word: Word, plus: int | None, minus: int | None, outcome: Outcome) -> Word:
    """The word after departures from these places, before the arrival."""
    left = list(word)
    for place, queue, departs in zip((plus, minus), (PLUS, MINUS), outcome, strict=True):
        if departs:
            rank, queues = left[place]
            left[place] = rank, queues & ~queue
    return tuple(job for job in left if job[1])


def private_jobs(word: Word, queue: int) -> list[int]:
    """Places of the jobs that wait in that queue only."""
    return [place for place, (_, queues) in enumerate(word) if queues == queue]


def classify(word: Word) -> str:
    """The class of a pair of job sets, one of ``CLASSES``, or ``NO_CLASS``.

    S0: equal sets. S1+, S1-: one more job in Q+, in Q-. S2+, S2-: one private job each, that of Q+
    having the better rate (or an equal one and the earlier arrival), or the worse.
    """
    plus, minus = private_jobs(word, PLUS), private_jobs(word, MINUS)
    if len(plus) > 1 or len(minus) > 1:
        return NO_CLASS
    if plus and minus:
        better = (-word[plus[0]][0], plus[0]) < (-word[minus[0]][0], minus[0])
        return "S2+" if better else "S2-"
    return "S1+" if plus else "S1-" if minus else "S0"


def without_equal_rates(word: Word) -> Word:
    """Leave out private jobs of equal rank in pairs, one of each queue: what lengths depend on."""
    left = list(word)
    for place in private_jobs(word, PLUS):
        match = (word[place][0], MINUS)
        if match in left:
            left.remove(match)
            left.remove((word[place][0], PLUS))
    return tuple(left)


def difference(word: Word) -> int:
    """psi: the number of jobs in Q+ less that in Q-."""
    return len(private_jobs(word, PLUS)) - len(private_jobs(word, MINUS))


def show(word: Word) -> str:
    """The two job sets in a line: jobs numbered by arrival among those present, and their speeds."""
    if not word:
        return "both empty"
    speeds = ", ".join(str(rank + 1) for rank, _ in word)
    plus, minus = (
        "{" + ", ".join(str(i) for i, (_, queues) in enumerate(word, 1) if queues & queue) + "}"
        for queue in (PLUS, MINUS)
    )
    return f"speeds {speeds}: + {plus}, - {minus}"


def departures(outcome: Outcome) -> str:
    """The departures (D+, D-) as text."""
    return f"({outcome[0]},{outcome[1]})"


@dataclass(frozen=True)
class Round:
    """One round of the pair, with what was reached by it.

    Attributes
    ----------
    before : Word
        At the beginning of the round.
    tried : int
        Place of the job that Q+ tries in round t; -1 in later rounds.
    outcome : (int, int)
        Departures (D+, D-).
    arrival : int
        Rank of the arriving job; -1 for none.
    after : Word
    """

    before: Word
    tried: int
    outcome: Outcome
    arrival: int
    after: Word

    def __str__(self) -> str:
        tries = f", + tries job {self.tried + 1}" if self.tried >= 0 else ""
        comes = f", speed {self.arrival + 1} arrives" if self.arrival >= 0 else ""
        return f"{show(self.before)}{tries}; {departures(self.outcome)}{comes}"


class Branch:
    """Every pair of job sets reachable after one outcome of round t.

    Parameters
    ----------
    rules : Rules
    outcome : (int, int)
        Departures in round t.
    ranks : int
        Number of different rates.
    jobs : int
        Jobs at the beginning of round t, at most. One may arrive in round t, later ones only while
        fewer than that many wait in the two queues together.

    Attributes
    ----------
    pairs : dict of Word to Round
        Each pair after round t, with the round that led to it first, on a path of fewest rounds.
    transitions : set of (str, (int, int), str)
        Labelled changes of class after round t.
    differences : dict of int to Word
        Each value of psi with the first pair that has it.
    """

    def __init__(self, rules: Rules, outcome: Outcome, ranks: int, jobs: int):
        self.rules = rules
        self.pairs: dict[Word, Round] = {}
        self.transitions: set[tuple[str, Outcome, str]] = set()
        for one in first_rounds(rules, outcome, ranks, jobs):
            for arrival in range(-1, ranks):
                self._reach(one, arrival)
        todo = list(self.pairs)
        for word in todo:
            before = classify(word)
            for one in later_rounds(rules, word):
                # An arrival joins both queues, so the class is that before it.
                self.transitions.add((before, one.outcome, classify(one.after)))
                for arrival in range(-1, ranks if len(one.after) < jobs else 0):
                    todo += self._reach(one, arrival)
        self.differences: dict[int, Word] = {}
        for word in self.pairs:
            self.differences.setdefault(difference(word), word)

    def _reach(self, one: Round, arrival: int) -> list[Word]:
        """The pair that the round with this arrival leads to, if it is new."""
        after = one.after if arrival < 0 else (*one.after, (arrival, BOTH))
        if after in self.pairs:
            return []
        self.pairs[after] = replace(one, arrival=arrival, after=after)
        return [after]

    def path(self, word: Word) -> str:
        """How a pair is reached from equal job sets, round by round."""
        told, one = [show(word)], self.pairs[word]
        while one.tried < 0:
            told.append(str(one))
            one = self.pairs[one.before]
        told.append(str(one))
        return " -> ".join(reversed(told))

    def outside(self) -> Word | None:
        """The pair that is in no class and reached first, if any is."""
        return next((word for word in self.pairs if classify(word) == NO_CLASS), None)


def first_rounds(rules: Rules, outcome: Outcome, ranks: int, jobs: int) -> Iterator[Round]:
    """Every round t with that outcome, before the arrival: each start, each job that Q+ may try."""
    if outcome in rules.first_outcomes():
        for word, tried in starts(ranks, jobs):
            best = Rules().first(word, MINUS)
            after = after_service(word, tried, best, outcome)
            yield Round(word, tried, outcome, -1, after)


def later_rounds(rules: Rules, word: Word) -> Iterator[Round]:
    """Every round after round t that begins with this pair, before the arrival."""
    plus, minus = rules.first(word, PLUS), rules.first(word, MINUS)
    for outcome in rules.outcomes(word, plus, minus):
        yield Round(word, -1, outcome, -1, after_service(word, plus, minus, outcome))


def starts(ranks: int, jobs: int) -> Iterator[tuple[Word, int]]:
    """Every nonempty set of at most ``jobs`` jobs, in both queues, with each job that Q+ may try.

    Raises
    ------
    ValueError
        If ``ranks`` or ``jobs`` is below 1.
    """
    for name, value in (("ranks", ranks), ("jobs", jobs)):
        if value < 1:
            raise ValueError(f"{name} = {value}: must be at least 1")
    for count in range(1, jobs + 1):
        for word in product(range(ranks), repeat=count):
            for tried in range(count):
                yield tuple((rank, BOTH) for rank in word), tried


@cache
def branch(rules: Rules, outcome: Outcome, ranks: int, jobs: int) -> Branch:
    """The pairs reachable after one outcome of round t, explored once (see `Branch`).

    Cost: 0.2 s for four ranks and four jobs, 6 000 pairs.
    """
    return Branch(rules, outcome, ranks, jobs)


def reachable(rules: Rules, ranks: int, jobs: int) -> tuple[int, int, int]:
    """Starts, pairs reachable after equal departures in round t, and after (0, 1)."""
    neither, both, minus_only = (branch(rules, o, ranks, jobs) for o in OUTCOMES[:3])
    count = sum(1 for _ in starts(ranks, jobs))
    return count, len(neither.pairs.keys() | both.pairs.keys()), len(minus_only.pairs)


@dataclass(frozen=True)
class Transition:
    """One arrow of the automaton.

    Attributes
    ----------
    before : str
        A class, or ``START`` for round t, in which both queues hold the same jobs.
    outcome : (int, int)
        Departures (D+, D-).
    after : str
        The next class.
    psi : int
        Q+ less Q- after it.
    reached : bool
        Whether a pair takes it that started from equal job sets.
    example : Round
        A smallest round that takes it, without an arrival.
    """

    before: str
    outcome: Outcome
    after: str
    psi: int
    reached: bool
    example: Round


@cache
def transition_table() -> tuple[Transition, ...]:
    """The arrows of the automaton under the rules of the source, each with an example.

    Returns
    -------
    tuple of Transition
        Four arrows of round t, the twelve that are reached later, and the four out of S2-, which no
        pair reaches: the mirror images of those out of S2+. In the order of ``CLASSES`` and
        ``OUTCOMES``. That there are no others is what `contextual.coupling_automaton` claims.
        Examples have two jobs of different rates where they can, so that one picture of two jobs
        serves many arrows.
    """
    rules, ranks, jobs = Rules(), 3, 3
    rounds = {START: [], **{name: [] for name in CLASSES}}
    for outcome in rules.first_outcomes():
        rounds[START] += first_rounds(rules, outcome, ranks, jobs)
        for word in branch(rules, outcome, ranks, jobs).pairs:
            rounds[classify(word)] += later_rounds(rules, word)
    examples: dict[tuple[str, Outcome, str], Round] = {}
    for before, found in rounds.items():
        for one in sorted(found, key=_simplicity):
            examples.setdefault((before, one.outcome, classify(one.after)), one)
    unreached = {
        ("S2-", outcome[::-1], mirrored(after)): _mirror(one)
        for (before, outcome, after), one in examples.items()
        if before == "S2+"
    }
    rows = [
        Transition(*key, PSI[key[2]], key in examples, one)
        for key, one in (examples | unreached).items()
    ]
    order = (START, *CLASSES)
    rows.sort(key=lambda row: (order.index(row.before), OUTCOMES.index(row.outcome), row.after))
    return tuple(rows)


def _simplicity(one: Round) -> tuple:
    ranks = [rank for rank, _ in one.before]
    return abs(len(ranks) - 2), len(ranks) - len(set(ranks)), one.before, one.tried


def mirrored(name: str) -> str:
    """The class with the queues exchanged."""
    return name.translate(str.maketrans("+-", "-+"))


def _mirror(one: Round) -> Round:
    """The round with the queues exchanged."""
    exchanged = {PLUS: MINUS, MINUS: PLUS, BOTH: BOTH}
    before, after = (
        tuple((rank, exchanged[queues]) for rank, queues in word)
        for word in (one.before, one.after)
    )
    return Round(before, one.tried, one.outcome[::-1], one.arrival, after)
