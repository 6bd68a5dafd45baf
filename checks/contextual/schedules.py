"""Every policy of a small queue, by backward induction in rationals; the rules are parameters.

Jobs are numbered by type so that their best rates fall: type 0 is the best. What waits is a sorted
tuple of types. In a round the policy makes its attempts, jobs leave, then a batch joins.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, pairwise, product

from checks.evidence import evidence
from checks.finding import one_of

Waiting = tuple[int, ...]
Batches = tuple[tuple[Fraction, Waiting], ...]
Attempt = tuple[int, Fraction]

POLICIES = ("least", "largest rate first", "smallest rate first")
NO_ARRIVALS: Batches = ((Fraction(1), ()),)


@dataclass(frozen=True)
class System:
    """A queue over a fixed number of rounds, and the rules under which it is served.

    Attributes
    ----------
    rates : tuple, shape (types, servers)
        Probability in [0, 1] that an attempt succeeds; the largest of each row must not increase.
    start : tuple of int
        Types waiting at the beginning of round 1, sorted.
    batches : tuple
        For each of the rounds 1, ..., T - 1 the law of what joins at its end.
    preemptive : bool
        Otherwise a job whose attempt failed is attempted again until it leaves.
    attempts : int
        Attempts in a round, at different servers and of different jobs.
    weights : tuple of int
        What a waiting job of each type counts; empty: 1 each.
    until : tuple of int
        Last round in which a type can be served; empty: all.
    reaction : tuple of (int, int)
        Pairs: whenever a job of the first type leaves, one of the second joins.
    sees_coin : bool
        The policy sees the uniform of the round, which decides the attempt, before it chooses.
    """

    rates: tuple[tuple[Fraction, ...], ...]
    start: Waiting
    batches: tuple[Batches, ...]
    preemptive: bool = True
    attempts: int = 1
    weights: tuple[int, ...] = ()
    until: tuple[int, ...] = ()
    reaction: tuple[tuple[int, int], ...] = ()
    sees_coin: bool = False

    def __post_init__(self) -> None:
        best = [max(row) for row in self.rates]
        if best != sorted(best, reverse=True):
            raise ValueError(f"rates = {self.rates}: the best rates of the types must not increase")
        if not all(0 <= rate <= 1 for row in self.rates for rate in row):
            raise ValueError(f"rates = {self.rates}: must be in [0, 1]")
        if self.start != tuple(sorted(self.start)):
            raise ValueError(f"start = {self.start}: must be sorted")
        if self.attempts > 1 and (self.sees_coin or not self.preemptive):
            raise ValueError(
                f"attempts = {self.attempts}: must be 1 with a coin seen or a job bound"
            )

    @property
    def horizon(self) -> int:
        """T: the lengths at the beginning of rounds 1, ..., T make the path."""
        return len(self.batches) + 1

    def rate(self, kind: int, server: int, t: int) -> Fraction:
        """Rate of a pair in round t."""
        over = self.until and t > self.until[kind]
        return Fraction(0) if over else self.rates[kind][server]

    def choices(self, t: int, waiting: Waiting) -> list[tuple[Attempt, ...]]:
        """Everything a policy can do in a round, idling included: tuples of (type, rate)."""
        found = {}
        kinds = (None, *dict.fromkeys(waiting))
        for assigned in product(kinds, repeat=len(self.rates[0])):
            used = [kind for kind in assigned if kind is not None]
            if len(used) <= self.attempts and all(used.count(k) <= waiting.count(k) for k in used):
                pairs = [(k, self.rate(k, j, t)) for j, k in enumerate(assigned) if k is not None]
                found[tuple(pairs)] = None
        return list(found)

    def by_rate(self, t: int, waiting: Waiting, largest: bool) -> tuple[Attempt, ...]:
        """The pair of largest rate, then the next among other jobs and servers; or smallest jobs first.

        "Smallest" serves the job whose best rate is smallest, at its best server.
        """
        jobs, servers, made = list(waiting), list(range(len(self.rates[0]))), []
        while jobs and len(made) < self.attempts:
            best = {k: max(servers, key=lambda j: self.rate(k, j, t)) for k in jobs}
            pick = (max if largest else min)(jobs, key=lambda k: self.rate(k, best[k], t))
            made.append((pick, self.rate(pick, best[pick], t)))
            jobs.remove(pick)
            servers.remove(best[pick])
        return tuple(made)


def value(
    system: System,
    cost: Callable[[tuple[int, ...]], Fraction | int],
    policy: str = "least",
    *,
    whole_path: bool = False,
) -> Fraction:
    """Mean cost of a policy, or the least one that any policy attains.

    Parameters
    ----------
    system : System
    cost : callable
        A function of the path of lengths (weighted where the system has weights).
    policy : {"least", "largest rate first", "smallest rate first"}
        "least" minimises over all policies, which may idle and remember everything; randomising does
        not lower a minimum.
    whole_path : bool
        Whether ``cost`` looks at the whole path; otherwise it is given the last length only, as a tuple
        of one. The cost of a call grows with the number of states, or of paths, that can be reached.
    """
    one_of("policy", policy, *POLICIES)

    def length(waiting):
        return sum(system.weights[k] for k in waiting) if system.weights else len(waiting)

    @cache
    def ahead(t, waiting, bound, path):
        path = (*path, length(waiting)) if whole_path else (length(waiting),)
        if t == system.horizon:
            return Fraction(cost(path))
        if bound:
            choices = [bound]
        elif policy == "least":
            choices = system.choices(t, waiting)
        else:
            choices = [system.by_rate(t, waiting, policy == "largest rate first")]

        @cache
        def join(left, now_bound):
            joins = tuple(new for gone, new in system.reaction for _ in range(left.count(gone)))
            stay = list(waiting)
            for kind in left:
                stay.remove(kind)
            return sum(
                p * ahead(t + 1, tuple(sorted((*stay, *joins, *batch))), now_bound, path)
                for p, batch in system.batches[t - 1]
            )

        def if_all(choice, success):
            left = tuple(kind for (kind, _), one in zip(choice, success, strict=True) if one)
            stuck = () if system.preemptive or all(success) else choice
            return join(left, stuck)

        if system.sees_coin:
            cuts = sorted({Fraction(0), Fraction(1), *(r for choice in choices for _, r in choice)})
            return sum(
                (high - low)
                * min(if_all(choice, [r >= high for _, r in choice]) for choice in choices)
                for low, high in pairwise(cuts)
            )
        return min(
            sum(
                chance * if_all(choice, success)
                for chance, success in _successes([rate for _, rate in choice])
            )
            for choice in choices
        )

    return ahead(1, system.start, (), ())


def _successes(rates: list[Fraction]):
    """Which of some independent attempts succeed, with probabilities."""
    for success in product((True, False), repeat=len(rates)):
        chance = Fraction(1)
        for rate, one in zip(rates, success, strict=True):
            chance *= rate if one else 1 - rate
        if chance:
            yield chance, success


def path_law(
    system: System, choose: Callable[[int, Waiting, tuple[int, ...]], int]
) -> dict[tuple[int, ...], Fraction]:
    """Law of the path of lengths under a policy that serves each job at its best server.

    Parameters
    ----------
    system : System
        With one attempt a round; its other rules are not looked at.
    choose : callable
        ``choose(t, waiting, path)`` is the place in ``waiting`` of the job that is served.
    """
    law: dict[tuple[int, ...], Fraction] = {}
    states = {(system.start, (len(system.start),)): Fraction(1)}
    for t, batches in enumerate(system.batches, 1):
        following: dict[tuple, Fraction] = {}
        for (waiting, path), chance in states.items():
            at = choose(t, waiting, path) if waiting else 0
            rate = max(system.rates[waiting[at]]) if waiting else Fraction(0)
            for p, rest in ((rate, waiting[:at] + waiting[at + 1 :]), (1 - rate, waiting)):
                for q, batch in batches if p else ():
                    after = tuple(sorted(rest + batch))
                    key = after, (*path, len(after))
                    following[key] = following.get(key, Fraction(0)) + chance * p * q
        states = following
    for (_, path), chance in states.items():
        law[path] = law.get(path, Fraction(0)) + chance
    return law


def best_first(t: int, waiting: Waiting, path: tuple[int, ...]) -> int:
    """The place of the job with the largest rate: the first, as types are numbered."""
    return 0


def ordered_coupling(
    below: Mapping[tuple[int, ...], Fraction], above: Mapping[tuple[int, ...], Fraction]
) -> Fraction:
    """The largest probability with which a pair of paths of these laws is ordered in each coordinate.

    A maximal flow from the paths of ``below`` to those of ``above`` that lie above them; it is 1 if and
    only if there is a coupling in which the first path never exceeds the second.

    Raises
    ------
    ValueError
        If the common denominator does not fit the integers of SciPy's flow.
    """
    from math import lcm

    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    lower, upper = list(below), list(above)
    scale = lcm(*(p.denominator for p in (*below.values(), *above.values())))
    if scale >= 2**31:
        raise ValueError(f"below, above: common denominator {scale}; must be below 2^31")
    first, last = len(lower) + len(upper), len(lower) + len(upper) + 1
    capacity = np.zeros((last + 1, last + 1), dtype=np.int32)
    for i, path in enumerate(lower):
        capacity[first, i] = int(below[path] * scale)
        for j, other in enumerate(upper, len(lower)):
            if all(x <= y for x, y in zip(path, other, strict=True)):
                capacity[i, j] = scale
    for j, other in enumerate(upper, len(lower)):
        capacity[j, last] = int(above[other] * scale)
    return Fraction(int(maximum_flow(csr_array(capacity), first, last).flow_value), scale)


@cache
def greedy_mean(rates: tuple[Fraction, ...], batches: Batches, rounds: int, waiting: Waiting):
    """Mean length after some rounds of largest rate first, the same law of a batch in each.

    Parameters
    ----------
    rates : tuple of Fraction, shape (types,)
        Best rates, not increasing.
    batches : tuple
        Law of what joins at the end of a round.
    rounds : int
    waiting : tuple of int
        Sorted.
    """
    if rounds == 0:
        return Fraction(len(waiting))
    return _greedy_round(greedy_mean, rates, batches, rounds, waiting)


@cache
def survival(rates: tuple[Fraction, ...], batches: Batches, rounds: int, waiting: Waiting):
    """Probability that the queue is not empty now, nor after any of some rounds of largest rate first.

    Parameters as for `greedy_mean`.
    """
    if not waiting or rounds == 0:
        return Fraction(bool(waiting))
    return _greedy_round(survival, rates, batches, rounds, waiting)


def _greedy_round(function, rates, batches, rounds, waiting):
    rate = rates[waiting[0]] if waiting else Fraction(0)
    return sum(
        p * q * function(rates, batches, rounds - 1, tuple(sorted(rest + batch)))
        for p, rest in ((rate, waiting[1:]), (1 - rate, waiting))
        for q, batch in (batches if p else ())
    )


def after_batch(function, rates, batches, rounds, waiting) -> Fraction:
    """Mean of `greedy_mean` or `survival` over the batch that is still to join."""
    return sum(
        q * function(rates, batches, rounds, tuple(sorted(waiting + batch))) for q, batch in batches
    )


def drawn_rates(source: random.Random, types: int, parts: int = 12) -> tuple[Fraction, ...]:
    """Rates that are multiples of 1/parts, 0 and 1 included, largest first."""
    return tuple(
        sorted((Fraction(source.randint(0, parts), parts) for _ in range(types)), reverse=True)
    )


def drawn_arrivals(source: random.Random, types: int, largest: int = 1) -> Batches:
    """A law of batches of up to ``largest`` jobs, with up to four different ones."""
    weights = [source.randint(1, 4) for _ in range(4)]
    sizes = [0, *(source.randint(1, largest) for _ in weights[1:])]
    return tuple(
        (Fraction(w, sum(weights)), tuple(sorted(source.choices(range(types), k=size))))
        for w, size in zip(weights, sizes, strict=True)
    )


def sets_of(types: int, most: int) -> list[Waiting]:
    """All waiting sets with 1 to ``most`` jobs."""
    return [s for k in range(1, most + 1) for s in combinations_with_replacement(range(types), k)]


def _drawn_system(source: random.Random, kind: str) -> System:
    types, rounds = (4, 4) if kind == "varying" else (3, 5)
    servers = source.choice((2, 3))
    rows = [
        tuple(Fraction(source.randint(0, 12), 12) for _ in range(servers)) for _ in range(types)
    ]
    rows = tuple(sorted(rows, key=max, reverse=True))
    start = tuple(sorted(source.choices(range(types), k=source.randint(1, 3))))
    if kind == "steady":
        batches = (drawn_arrivals(source, types),) * rounds
    elif kind == "varying":
        batches = tuple(drawn_arrivals(source, types, 2) for _ in range(rounds))
    else:  # a fixed sequence
        batches = tuple(
            ((Fraction(1), tuple(sorted(source.choices(range(types), k=source.randint(0, 1))))),)
            for _ in range(rounds)
        )
    return System(rows, start, batches)


def drawn_increasing(source: random.Random, steps: int):
    """A nondecreasing function of a path: a weighted sum of indicators of unions of orthants."""
    parts = [
        (
            source.randint(1, 5),
            [
                tuple(source.randint(0, 4) for _ in range(steps))
                for _ in range(source.randint(1, 3))
            ],
        )
        for _ in range(3)
    ]
    return lambda path: sum(
        weight
        for weight, corners in parts
        if any(all(x >= y for x, y in zip(path, corner, strict=True)) for corner in corners)
    )


#: Costs that look at the last length only.
LAST = {
    "q": lambda path: path[-1],
    "q^2": lambda path: path[-1] ** 2,
    "1{q>=1}": lambda path: path[-1] >= 1,
    "1{q>=2}": lambda path: path[-1] >= 2,
    "1{q>=3}": lambda path: path[-1] >= 3,
}


@evidence("contextual.every_policy", quick={"systems": 8}, full={"systems": 120})
def every_policy(seed, jobs, systems):
    """Mean costs of three policies on drawn systems: the least, that of largest and smallest rate first.

    For each of three kinds of arrivals (one law for all rounds, another in each round, a fixed
    sequence) ``systems`` systems, each with one cost of the last length and one of the whole path.

    Returns
    -------
    dict of str to ndarray, shape (6 systems,)
        ``case``, and the values of the policies as text.
    """
    source = random.Random(seed)
    rows = []
    for kind, number in product(("steady", "varying", "sequence"), range(systems)):
        system = _drawn_system(source, kind)
        name = source.choice(list(LAST))
        short = System(system.rates, system.start, system.batches[:3])
        costs = (
            (system, name, LAST[name], False),
            (short, "a path", drawn_increasing(source, short.horizon), True),
        )
        for one, called, cost, whole in costs:
            case = f"{kind} arrivals, system {number}, cost of {called}"
            values = [value(one, cost, policy, whole_path=whole) for policy in POLICIES]
            rows.append((case, *map(str, values)))
    return dict(zip(("case", *POLICIES), zip(*rows, strict=True), strict=True))
