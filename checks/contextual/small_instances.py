"""Small contextual queues in rationals: two types of jobs, two servers, a learner with little memory.

A waiting set is the pair of numbers of waiting jobs of both types. In a round the policy serves a job
(if there is one), which leaves with the rate of its pair; then a job may arrive. Three recursions, none
of which uses another: the law of waiting set and memory under the learner (forwards), the mean length
under the optimal policy (backwards), and the law of the difference of two coupled queues that see the
same arrivals and the same uniforms (on pairs of waiting sets).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

Waiting = tuple[int, int]
NOTHING = Fraction(0)


@dataclass(frozen=True)
class Learner:
    """A policy with a finite memory.

    Attributes
    ----------
    memory : hashable
        What it starts with.
    act : callable
        ``act(waiting, memory)`` gives pairs of a probability and a choice (type, server), for a waiting
        set that is not empty; the probabilities add up to 1.
    remember : callable
        ``remember(memory, server, departed)`` is the memory after a round in which a job was served.
    """

    memory: object
    act: Callable[[Waiting, object], tuple[tuple[Fraction, tuple[int, int]], ...]]
    remember: Callable[[object, int, bool], object]


def _either_type(waiting: Waiting, server: object) -> tuple[tuple[Fraction, tuple[int, int]], ...]:
    """The server remembered; of two types the first with probability 1/3."""
    if all(waiting):
        return (Fraction(1, 3), (0, server)), (Fraction(2, 3), (1, server))
    return ((Fraction(1), (0 if waiting[0] else 1, server)),)


#: Stays at a server after a success and changes after a failure; of two types the first in 1/3.
STAY_OR_SWITCH = Learner(0, _either_type, lambda server, used, departed: server ^ (not departed))


@dataclass(frozen=True)
class Instance:
    """A contextual queue with two types of jobs and two servers.

    Attributes
    ----------
    rates : tuple, shape (2, 2)
        Probability in [0, 1] that a job of a type leaves a server.
    arrival_rate : Fraction
        Probability in [0, 1] that a job arrives in a round.
    share : Fraction
        Share of the first type among the arrivals, in [0, 1].
    horizon : int
        T, at least 2: lengths are compared at the beginning of round T, after T - 1 rounds.
    start : tuple of int
        Jobs of both types at the beginning of round 1.
    """

    rates: tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]
    arrival_rate: Fraction
    share: Fraction
    horizon: int
    start: Waiting

    def __post_init__(self) -> None:
        for name, value in (
            *(("rates", rate) for row in self.rates for rate in row),
            ("arrival_rate", self.arrival_rate),
            ("share", self.share),
        ):
            if not 0 <= value <= 1:
                raise ValueError(f"{name} = {value}: must be in [0, 1]")
        if self.horizon < 2:
            raise ValueError(f"horizon = {self.horizon}: must be an integer from 2")
        if min(self.start) < 0:
            raise ValueError(f"start = {self.start}: must be two integers from 0")

    @property
    def best(self) -> tuple[Fraction, Fraction]:
        """Rate of each type at its best server."""
        return max(self.rates[0]), max(self.rates[1])

    def top(self, waiting: Waiting) -> int | None:
        """The type that the optimal policy serves; None if nothing waits.

        Of equal rates the first type: values depend on the rates of the waiting jobs only.
        """
        present = [kind for kind in (0, 1) if waiting[kind]]
        return max(present, key=lambda kind: self.best[kind]) if present else None

    def arrive(self, waiting: Waiting) -> tuple[tuple[Fraction, Waiting], ...]:
        """What may be waiting after the arrival of a round, with probabilities."""
        a, b = waiting
        first = self.arrival_rate * self.share
        return (
            (1 - self.arrival_rate, waiting),
            (first, (a + 1, b)),
            (self.arrival_rate - first, (a, b + 1)),
        )


def _rates(*rates: str) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
    a0, a1, b0, b1 = map(Fraction, rates)
    return (a0, a1), (b0, b1)


_TYPES = _rates("9/10", "3/5", "1/2", "4/5")

#: Empty at first; two jobs of each type; and one of each with fewer arrivals over a longer horizon.
NAMED = (
    Instance(_TYPES, Fraction(7, 10), Fraction(1, 2), 8, (0, 0)),
    Instance(_TYPES, Fraction(7, 10), Fraction(1, 2), 8, (2, 2)),
    Instance(_TYPES, Fraction(1, 2), Fraction(1, 3), 10, (1, 1)),
)


def drawn(count: int, horizon: int) -> list[tuple[Instance, Learner]]:
    """Instances and learners of one bit of memory, drawn once for all.

    Rates and probabilities are multiples of 1/10. Given what waits and the bit, a learner mixes two
    choices; the bit it keeps depends on the old one, the server and the outcome.

    Parameters
    ----------
    count : int
        The first ``count`` of one sequence.
    horizon : int
        At least 2.
    """
    source = random.Random(1)

    def tenth() -> Fraction:
        return Fraction(source.randint(0, 10), 10)

    found = []
    for _ in range(count):
        rates = _rates(*(str(tenth()) for _ in range(4)))
        start = source.randint(0, 2), source.randint(0, 2)
        instance = Instance(rates, tenth(), tenth(), horizon, start)
        table = {
            (kinds, bit): (tenth(), [(source.choice(kinds), source.randint(0, 1)) for _ in "12"])
            for kinds in ((0,), (1,), (0, 1))
            for bit in (0, 1)
        }
        bits = {
            (bit, server, departed): source.randint(0, 1)
            for bit in (0, 1)
            for server in (0, 1)
            for departed in (False, True)
        }
        found.append((instance, _from_tables(table, bits)))
    return found


def _from_tables(table, bits) -> Learner:
    def act(waiting, bit):
        chance, (one, other) = table[tuple(kind for kind in (0, 1) if waiting[kind]), bit]
        return (chance, one), (1 - chance, other)

    return Learner(0, act, lambda *seen: bits[seen])


def less(waiting: Waiting, kind: int) -> Waiting:
    """The waiting set without a job of that type."""
    return (waiting[0] - 1, waiting[1]) if kind == 0 else (waiting[0], waiting[1] - 1)


@cache
def optimal_mean(instance: Instance, rounds: int, waiting: Waiting) -> Fraction:
    """Mean length after some rounds of the optimal policy; the horizon plays no role."""
    if rounds == 0:
        return Fraction(sum(waiting))
    kind = instance.top(waiting)
    if kind is None:
        return _after_arrival(instance, rounds - 1, waiting)
    rate = instance.best[kind]
    left = _after_arrival(instance, rounds - 1, less(waiting, kind))
    return rate * left + (1 - rate) * _after_arrival(instance, rounds - 1, waiting)


@cache
def _after_arrival(instance: Instance, rounds: int, waiting: Waiting) -> Fraction:
    return sum(p * optimal_mean(instance, rounds, after) for p, after in instance.arrive(waiting))


@cache
def laws(
    instance: Instance, learner: Learner
) -> tuple[dict[tuple[Waiting, object], Fraction], ...]:
    """Law of waiting set and memory at the beginning of rounds 1, ..., T under the learner."""
    law = {(instance.start, learner.memory): Fraction(1)}
    found = [law]
    for _ in range(instance.horizon - 1):
        following: dict[tuple[Waiting, object], Fraction] = {}
        for (waiting, memory), chance in law.items():
            for weight, served, after in _learner_round(instance, learner, waiting, memory):
                for p, arrived in instance.arrive(served):
                    key = arrived, after
                    following[key] = following.get(key, NOTHING) + chance * weight * p
        law = {key: chance for key, chance in following.items() if chance}
        found.append(law)
    return tuple(found)


def _learner_round(instance, learner, waiting, memory):
    """Probabilities, what is left after service, and the new memory."""
    if not any(waiting):
        yield Fraction(1), waiting, memory
        return
    for weight, (kind, server) in learner.act(waiting, memory):
        rate = instance.rates[kind][server]
        yield weight * rate, less(waiting, kind), learner.remember(memory, server, True)
        yield weight * (1 - rate), waiting, learner.remember(memory, server, False)


@cache
def switched_mean(
    instance: Instance, learner: Learner, switch: int, moment: int | None = None
) -> Fraction:
    """E Q(t, T): the learner in rounds 1, ..., t = ``switch``, then the optimal policy.

    Parameters
    ----------
    instance : Instance
    learner : Learner
    switch : int
        From 0 to T - 1.
    moment : int, optional
        Round from 1 to T at whose beginning the length is taken; T by default. A switch that is not
        before it has not happened yet.
    """
    moment = instance.horizon if moment is None else moment
    switch = min(switch, moment - 1)
    return sum(
        chance * optimal_mean(instance, moment - 1 - switch, waiting)
        for (waiting, _), chance in laws(instance, learner)[switch].items()
    )


def outcomes(plus: Fraction, minus: Fraction) -> tuple[tuple[int, int, Fraction], ...]:
    """Departures of two queues that share a uniform, each if it is at most the rate of the queue."""
    both = min(plus, minus)
    return (
        (1, 1, both),
        (1, 0, plus - both),
        (0, 1, minus - both),
        (0, 0, 1 - max(plus, minus)),
    )


Differences = tuple[tuple[int, Fraction], ...]


@cache
def coupled(instance: Instance, rounds: int, plus: Waiting, minus: Waiting) -> Differences:
    """Law of the difference of lengths after some rounds, both queues under the optimal policy.

    Both see the same arrivals, and a job leaves if the uniform of the round, the same for both, is at
    most its rate. Equal waiting sets stay equal.

    Returns
    -------
    tuple of (int, Fraction)
        Differences (plus less minus) and their probabilities.
    """
    if rounds == 0 or plus == minus:
        return ((sum(plus) - sum(minus), Fraction(1)),)
    tops = instance.top(plus), instance.top(minus)
    rates = [NOTHING if kind is None else instance.best[kind] for kind in tops]
    law: dict[int, Fraction] = {}
    for first, second, chance in outcomes(*rates):
        if chance:
            after = (
                less(plus, tops[0]) if first else plus,
                less(minus, tops[1]) if second else minus,
            )
            for difference, p in coupled_after_arrival(instance, rounds - 1, *after):
                law[difference] = law.get(difference, NOTHING) + chance * p
    return tuple(law.items())


@cache
def coupled_after_arrival(
    instance: Instance, rounds: int, plus: Waiting, minus: Waiting
) -> Differences:
    """As `coupled`, from waiting sets to which the arrival of the round is still to be added."""
    law: dict[int, Fraction] = {}
    pairs = zip(instance.arrive(plus), instance.arrive(minus), strict=True)
    for (chance, first), (_, second) in pairs:
        for difference, p in coupled(instance, rounds, first, second):
            law[difference] = law.get(difference, NOTHING) + chance * p
    return tuple(law.items())


def mean(law: Differences) -> Fraction:
    """Mean of a difference."""
    return sum((difference * p for difference, p in law), NOTHING)


@dataclass(frozen=True)
class SwitchingRound:
    """What happens when the switch moves from round t to t - 1, exactly.

    Attributes
    ----------
    law : dict of int to Fraction
        Law of psi(t, T), from the coupled pair.
    gap, gap_squared : Fraction
        Means of the rate of the optimal choice less that of the learner, and of its square.
    disagreement : Fraction
        Mean of the conditional mean of psi(t, T) given the past and that only the queue that switched
        earlier loses a job in round t (0 where nothing waits).
    product : Fraction
        Mean of the product of the gap and that conditional mean.
    product_given_past : Fraction
        The same with the mean of psi(t, T) given the past and the choice of round t only.
    """

    law: dict[int, Fraction]
    gap: Fraction
    gap_squared: Fraction
    disagreement: Fraction
    product: Fraction
    product_given_past: Fraction

    @property
    def mean(self) -> Fraction:
        """E psi(t, T)."""
        return mean(tuple(self.law.items()))


@cache
def switching_rounds(instance: Instance, learner: Learner) -> tuple[SwitchingRound, ...]:
    """The coupled pair for t = 1, ..., T - 1: the learner up to round t, or up to t - 1."""
    return tuple(_switching_round(instance, learner, t) for t in range(1, instance.horizon))


def _switching_round(instance, learner, t) -> SwitchingRound:
    rest = instance.horizon - 1 - t
    law: dict[int, Fraction] = {}
    gap = gap_squared = disagreement = product = given_past = NOTHING
    for (waiting, memory), chance in laws(instance, learner)[t - 1].items():
        top = instance.top(waiting)
        if top is None:
            law[0] = law.get(0, NOTHING) + chance
            continue
        best = instance.best[top]
        without = less(waiting, top)
        if_only_minus = mean(coupled_after_arrival(instance, rest, waiting, without))
        for weight, (kind, server) in learner.act(waiting, memory):
            now, rate = chance * weight, instance.rates[kind][server]
            gap += now * (best - rate)
            gap_squared += now * (best - rate) ** 2
            disagreement += now * if_only_minus
            product += now * (best - rate) * if_only_minus
            for first, second, p in outcomes(rate, best):
                if not p:
                    continue
                plus = less(waiting, kind) if first else waiting
                minus = without if second else waiting
                differences = coupled_after_arrival(instance, rest, plus, minus)
                given_past += now * (best - rate) * p * mean(differences)
                for difference, q in differences:
                    law[difference] = law.get(difference, NOTHING) + now * p * q
    return SwitchingRound(law, gap, gap_squared, disagreement, product, given_past)


def regret(instance: Instance, learner: Learner) -> Fraction:
    """E Q(T) - E Q*(T): the forward law of the learner against the optimal policy from the start."""
    last = laws(instance, learner)[-1]
    reached = sum(chance * sum(waiting) for (waiting, _), chance in last.items())
    return reached - optimal_mean(instance, instance.horizon - 1, instance.start)
