"""Every path of a small system over one period, with all that the lemmas of the topic count on it.

A path fixes the start (lengths, full buffers) and, in each step, who receives a packet, where each
nonempty queue sends, what each server decides, and which full servers complete their service. What a
server *would* have decided about a packet that was not sent to it is a part of the path too: the
utilities of a queue depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

RULES = ("any", "cyclic")
_BITS = 2  # digits of the counters, so periods of up to three steps


@dataclass(frozen=True)
class Step:
    """One way in which a step may go on, given the full buffers and the nonempty queues.

    Attributes
    ----------
    targets : tuple of int, length n
        Server that each queue sends to; -1 for an empty queue.
    accepted : tuple of int, length n
        Whether its packet was accepted.
    utilities : tuple of int, length n * m
        Whether a packet of queue i to server j would have been accepted, all else equal; 0 for an empty
        queue.
    busy : tuple of int, length m
        Buffers full just before service.
    left : tuple of int, length m
        Buffers full at the end of the step.
    ways : int
        Decisions of the servers that lead to this.
    """

    targets: tuple[int, ...]
    accepted: tuple[int, ...]
    utilities: tuple[int, ...]
    busy: tuple[int, ...]
    left: tuple[int, ...]
    ways: int


def server_steps() -> Iterator[dict[str, int]]:
    """Every step of one server: buffer full or not, something sent or not, service or not.

    Yields
    ------
    dict
        ``full`` and ``sent`` as just before acceptance; ``accepted``; ``busy`` just before service;
        ``served``; ``left`` in the buffer at the end.
    """
    for full, sent, service in product((0, 1), repeat=3):
        accepted = int(sent and not full)
        busy = full + accepted
        served = int(busy and service)
        yield {
            "full": full,
            "sent": sent,
            "accepted": accepted,
            "busy": busy,
            "served": served,
            "left": busy - served,
        }


@cache
def steps(full: tuple[int, ...], nonempty: tuple[int, ...], rule: str) -> tuple[Step, ...]:
    """All ways in which a step may go on after the arrivals.

    Parameters
    ----------
    full : tuple of int, length m
        Buffers that are full just before acceptance.
    nonempty : tuple of int, length n
    rule : {"any", "cyclic"}
        "any": a free server takes any of the packets sent to it, and would have taken a further one
        instead or not, independently of everything else. "cyclic": in each step one of the n cyclic
        orders of the queues holds at all servers.
    """
    if rule not in RULES:
        raise ValueError(f"rule = {rule!r}: must be one of {RULES}")
    found: dict[tuple, int] = {}
    for targets in product(*(range(len(full)) if some else (-1,) for some in nonempty)):
        senders = [[i for i, to in enumerate(targets) if to == j] for j in range(len(full))]
        busy = tuple(int(full[j] or bool(senders[j])) for j in range(len(full)))
        decide = _any_decisions if rule == "any" else _cyclic_decisions
        for utilities in decide(full, targets, senders):
            accepted = tuple(
                utilities[i * len(full) + to] if to >= 0 else 0 for i, to in enumerate(targets)
            )
            for left in product(*((0, 1) if one else (0,) for one in busy)):
                key = (targets, accepted, utilities, busy, left)
                found[key] = found.get(key, 0) + 1
    return tuple(Step(*key, ways) for key, ways in found.items())


def _any_decisions(full, targets, senders) -> Iterator[tuple[int, ...]]:
    """Utilities for every choice: whom a free server takes, and whom else it would have taken."""
    winners = [who if who and not full[j] else [None] for j, who in enumerate(senders)]
    for winner in product(*winners):
        options = []
        for i, to in enumerate(targets):
            for j, who in enumerate(senders):
                if to < 0 or full[j]:
                    options.append((0,))
                elif to == j:
                    options.append((int(winner[j] == i),))
                else:  # without another packet it must be taken
                    options.append((0, 1) if who else (1,))
        yield from product(*options)


def _cyclic_decisions(full, targets, senders) -> Iterator[tuple[int, ...]]:
    """Utilities for each of the n cyclic orders of the queues."""
    n = len(targets)
    for first in range(n):
        yield tuple(
            int(
                to >= 0
                and not full[j]
                and all((i - first) % n <= (other - first) % n for other in who)
            )
            for i, to in enumerate(targets)
            for j, who in enumerate(senders)
        )


@dataclass(frozen=True)
class Outcome:
    """What the lemmas count on a path: of each queue, of each server, of each pair.

    Attributes
    ----------
    start, end, arrivals, accepted : tuple of int, length n
        Lengths at the start and at the end of the period; packets that arrived and that were accepted.
    utilities : tuple of tuple of int, shape (n, m)
        Steps in which server j would have accepted a packet of queue i.
    busy, full : tuple of int, length m
        Steps in which a buffer was full just before service, and just before acceptance.
    """

    start: tuple[int, ...]
    end: tuple[int, ...]
    arrivals: tuple[int, ...]
    accepted: tuple[int, ...]
    utilities: tuple[tuple[int, ...], ...]
    busy: tuple[int, ...]
    full: tuple[int, ...]

    def regret(self, queue: int) -> int:
        """Realised regret of a queue: the best single server in hindsight less what it got."""
        return max(self.utilities[queue]) - self.accepted[queue]

    def longest(self) -> list[int]:
        """The queues that are longest at the end."""
        return [i for i, length in enumerate(self.end) if length == max(self.end)]


class Paths:
    """All paths of a period of ``period`` steps in which queue 0 starts as a longest one.

    The other queues start with every length up to that of queue 0, the buffers in every state.

    Parameters
    ----------
    queues, servers : int
    period : int
        From 1 to 3 steps.
    longest : int
        Length of queue 0 at the start.
    rule : {"any", "cyclic"}

    Attributes
    ----------
    outcomes : list of (Outcome, int)
        What is counted on a path, and the number of paths on which it is. Paths with equal counts, but
        different buffers at the end, may be listed apart.
    """

    def __init__(self, queues: int, servers: int, period: int, longest: int, rule: str):
        if not 1 <= period < 2**_BITS:
            raise ValueError(f"period = {period}: must be from 1 to {2**_BITS - 1}")
        self.shape = queues, servers, period, longest
        layer: dict[tuple, int] = {}
        for others in product(range(longest + 1), repeat=queues - 1):
            for full in product((0, 1), repeat=servers):
                layer[(longest, *others), full, 0] = 1
        self._came_from: list[dict[tuple, tuple]] = []
        for _ in range(period):
            layer = self._next(layer, rule)
        self._final = layer
        self.outcomes = [(self._decode(key), ways) for key, ways in layer.items()]

    def _next(self, layer, rule):
        queues = range(self.shape[0])
        following: dict[tuple, int] = {}
        came_from: dict[tuple, tuple] = {}
        for key, ways in layer.items():
            start, full, counted = key
            lengths = self._lengths(start, counted)
            for arrivals in product((0, 1), repeat=len(queues)):
                nonempty = tuple(int(lengths[i] + arrivals[i] > 0) for i in queues)
                for step, added in _steps_with_digits(full, arrivals, nonempty, rule):
                    new = start, step.left, counted + added
                    if new not in following:
                        following[new] = 0
                        came_from[new] = key, arrivals, step
                    following[new] += ways * step.ways
        self._came_from.append(came_from)
        return following

    def _lengths(self, start, counted):
        n = len(start)
        digits = _digits(counted, 2 * n)
        return tuple(start[i] + digits[i] - digits[n + i] for i in range(n))

    def _decode(self, key) -> Outcome:
        start, _, counted = key
        n, m, _, _ = self.shape
        digits = _digits(counted, 2 * n + n * m + 2 * m)
        utilities, rest = digits[2 * n : 2 * n + n * m], digits[2 * n + n * m :]
        return Outcome(
            start,
            self._lengths(start, counted),
            digits[:n],
            digits[n : 2 * n],
            tuple(utilities[i * m : (i + 1) * m] for i in range(n)),
            rest[:m],
            rest[m:],
        )

    @property
    def count(self) -> int:
        """Number of paths."""
        return sum(ways for _, ways in self.outcomes)

    def show(self, number: int) -> str:
        """One path with the outcome of that number, in words."""
        key = list(self._final)[number]
        told = []
        for came_from in reversed(self._came_from):
            key, arrivals, step = came_from[key]
            told.append(
                f"arrivals {arrivals}, sends to {_servers(step.targets)}, "
                f"accepted {step.accepted}, full after service {step.left}"
            )
        start, full, _ = key
        n, m, period, _ = self.shape
        steps_told = "; ".join(f"step {s}: {text}" for s, text in enumerate(reversed(told), 1))
        return f"n={n}, m={m}, W={period}, lengths {start}, full {full}; {steps_told}"


def _servers(targets: tuple[int, ...]) -> str:
    return "(" + ", ".join("-" if to < 0 else str(to + 1) for to in targets) + ")"


def _digits(counted: int, count: int) -> tuple[int, ...]:
    return tuple(counted >> _BITS * place & 2**_BITS - 1 for place in range(count))


@cache
def _steps_with_digits(full, arrivals, nonempty, rule) -> tuple[tuple[Step, int], ...]:
    """The ways of a step with what each adds to the counters, packed into one integer."""

    def pack(step):
        digits = (*arrivals, *step.accepted, *step.utilities, *step.busy, *full)
        return sum(digit << _BITS * place for place, digit in enumerate(digits))

    return tuple((step, pack(step)) for step in steps(full, nonempty, rule))


@cache
def paths(queues: int, servers: int, period: int, longest: int, rule: str = "any") -> Paths:
    """The paths of a small system, enumerated once (see `Paths`)."""
    return Paths(queues, servers, period, longest, rule)


@dataclass(frozen=True)
class MeanPeriod:
    """Means over a period, exactly.

    Attributes
    ----------
    served, busy, full : tuple of Fraction, length m
        Services; steps in which a buffer is full just before service, and just before acceptance.
    waiting, left_full : Fraction
        Packets in all queues, and full buffers, at the end of the period.
    """

    served: tuple[Fraction, ...]
    busy: tuple[Fraction, ...]
    full: tuple[Fraction, ...]
    waiting: Fraction
    left_full: Fraction


@cache
def mean_period(
    lengths: tuple[int, ...],
    full: tuple[int, ...],
    arrival_rates: tuple[Fraction, ...],
    service_rates: tuple[Fraction, ...],
    period: int,
) -> MeanPeriod:
    """Means over a period of a system whose queues choose uniformly, queue 1 before 2 and so on.

    Parameters
    ----------
    lengths : tuple of int, length n
    full : tuple of int, length m
        Buffers that are full at the start.
    arrival_rates : tuple of Fraction, length n
    service_rates : tuple of Fraction, length m
    period : int
        Steps; the cost grows with the number of states that can be reached.
    """
    from simlib.strategic.exact import JointSystem, priority_law

    n, m = len(lengths), len(full)
    uniform = (Fraction(1, m),) * m
    system = JointSystem(arrival_rates, service_rates, (uniform,) * n, priority_law(range(n)))
    served, busy_steps, full_steps = ([Fraction(0)] * m for _ in range(3))
    law = {(tuple(lengths), tuple(full)): Fraction(1)}
    for _ in range(period):
        following: dict[tuple, Fraction] = {}
        for (queues, buffers), chance in law.items():
            for step in system.steps(queues, buffers):
                now = chance * step.probability
                for j in range(m):
                    full_steps[j] += now * buffers[j]
                    busy_steps[j] += now * step.busy[j]
                    served[j] += now * (step.busy[j] - step.full[j])
                state = step.lengths, step.full
                following[state] = following.get(state, Fraction(0)) + now
        law = following
    waiting = sum(chance * sum(queues) for (queues, _), chance in law.items())
    left_full = sum(chance * sum(buffers) for (_, buffers), chance in law.items())
    return MeanPeriod(tuple(served), tuple(busy_steps), tuple(full_steps), waiting, left_full)
