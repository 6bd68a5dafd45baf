"""Exact chains of many queues: identical servers by their number, tiny systems as they are.

Everything is computed step by step from the model (arrive, send, accept, serve), never from the
closed forms it is meant to check. Routers are memoryless: each queue that is not empty draws its
server from a fixed distribution.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import stats

from simlib.arguments import positive_integer, real_vector
from simlib.arithmetic import as_distribution, as_exact_rates, as_positive, plain
from simlib.chains import stationary_law

__all__ = [
    "BackloggedChain",
    "ExpectedRegret",
    "JointChain",
    "JointSystem",
    "Step",
    "backlogged_chain",
    "expected_regret",
    "joint_chain",
    "priority_law",
    "uniform_law",
]

# Identical servers, all queues backlogged -----------------------------------------------------------


@dataclass(frozen=True)
class BackloggedChain:
    """Stationary behaviour of backlogged uniform queues; see `backlogged_chain`.

    Attributes
    ----------
    stationary : tuple of Fraction or of float, length m + 1
        Law of the number of full buffers before *accept*.
    throughput : Fraction or float
        Packets that all queues clear together, a step.
    per_queue : Fraction or float
        The same for one queue.
    """

    stationary: tuple
    throughput: Fraction | float
    per_queue: Fraction | float


def backlogged_chain(queues, servers, *, rate=None, total_service_rate=None):
    """Solve n backlogged queues that pick one of m identical servers uniformly.

    Parameters
    ----------
    queues, servers : int
        Numbers n and m, at least 1.
    rate : number in (0, 1), optional
        Service rate of each server.
    total_service_rate : number in (0, m), optional
        Sum of the service rates; give either this or ``rate``.

    Returns
    -------
    BackloggedChain
        In rationals if the rate is exact (see :mod:`simlib.arithmetic`), in floats otherwise.

    Raises
    ------
    ValueError
        If a parameter is out of range, or not exactly one rate is given.

    Notes
    -----
    With k full buffers the n packets meet D different free servers, which fill; each of the ``k + D``
    full buffers then empties with probability ``rate``. Which packet a server takes does not matter.
    Cost: a linear solve of size m + 1, after m + 1 steps of the packets for each number of full buffers;
    m = 400 takes about a tenth of a second in floats, m = 20 in rationals.
    """
    queues, servers = positive_integer("queues", queues), positive_integer("servers", servers)
    if (rate is None) == (total_service_rate is None):
        raise ValueError(
            f"rate = {rate!r}, total_service_rate = {total_service_rate!r}; permitted: exactly one"
        )
    name, value = ("rate", rate) if rate is not None else ("total_service_rate", total_service_rate)
    share = as_positive(name, value) / (1 if rate is not None else servers)
    if share >= 1:
        permitted = "(0, 1)" if rate is not None else f"(0, {servers}), the number of servers"
        raise ValueError(f"{name} = {value!r}; permitted: numbers in {permitted}")
    exact = isinstance(share, Fraction)
    one = Fraction(1) if exact else 1.0
    zeros = np.full((servers + 1, servers + 1), 0 * one, dtype=object if exact else float)
    hits = [_distinct_hits(queues, servers, servers - full, one) for full in range(servers + 1)]
    filled, left = zeros.copy(), zeros.copy()
    for full, law in enumerate(hits):
        filled[full, full : full + len(law)] = law
    for full in range(servers + 1):
        left[full, : full + 1] = _binomial(full, 1 - share)
    law = stationary_law(filled @ left)
    accepted = [sum(d * p for d, p in enumerate(one_law)) for one_law in hits]
    throughput = plain(sum(x * y for x, y in zip(law, accepted, strict=True)))
    return BackloggedChain(tuple(map(plain, law)), throughput, throughput / queues)


def _distinct_hits(queues, servers, free, one):
    """Law of the number of different free servers that n packets reach, at most n and at most free."""
    law = [one]
    for _ in range(queues):
        following = [0 * one] * min(len(law) + 1, free + 1)
        for hit, probability in enumerate(law):
            new = one * (free - hit) / servers
            following[hit] += probability * (1 - new)
            if hit < free:
                following[hit + 1] += probability * new
        law = following
    return law


def _binomial(n, p):
    if isinstance(p, Fraction):
        return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    return stats.binom.pmf(np.arange(n + 1), n, p)


# Tiny systems as they are ---------------------------------------------------------------------------


def uniform_law(server, senders, lengths):
    """Each of the packets with the same probability."""
    return [Fraction(1, len(senders))] * len(senders)


def priority_law(order):
    """Return the law that takes the packet of the queue that comes first in an order.

    Parameters
    ----------
    order : sequence of int, or sequence of m such sequences
        All queues, the highest priority first: one order for all servers, or one for each.

    Returns
    -------
    function
        As `JointSystem` needs it.
    """
    orders = [list(each) if isinstance(each, Sequence) else each for each in order]
    different = all(isinstance(each, list) for each in orders)

    def law(server, senders, lengths):
        try:
            own = orders[server] if different else orders
            first = min(senders, key=own.index)
        except (IndexError, ValueError):
            raise ValueError(
                f"order = {order!r} does not place the queues {tuple(senders)} at server {server}; "
                f"permitted: all queues, in one order for all servers or in one for each"
            ) from None
        return [Fraction(int(queue == first)) for queue in senders]

    return law


@dataclass(frozen=True)
class Step:
    """One possible outcome of one step; see `JointSystem.steps`.

    Attributes
    ----------
    probability : Fraction
    arrivals : tuple of int, length n
        1 where a packet arrived.
    sent : tuple of (int or None), length n
        Server that each queue sent to; None for an empty queue.
    accepted : tuple of (int or None), length m
        Queue whose packet each server took.
    busy : tuple of int, length m
        1 where the buffer was full just before *serve*.
    lengths : tuple of int, length n
        Queue lengths at the end of the step.
    full : tuple of int, length m
        1 where the buffer is full at the end of the step.
    """

    probability: Fraction
    arrivals: tuple
    sent: tuple
    accepted: tuple
    busy: tuple
    lengths: tuple
    full: tuple

    @property
    def cleared(self):
        """1 for each queue whose packet was taken, 0 for the others; tuple of int, length n."""
        return tuple(int(queue in self.accepted) for queue in range(len(self.lengths)))


@dataclass(frozen=True)
class JointSystem:
    """n queues with memoryless routers and m servers, in rationals.

    Attributes
    ----------
    arrival_rates : sequence of length n
        Exact numbers in (0, 1).
    service_rates : sequence of length m
        Exact numbers in (0, 1).
    routers : sequence of n distributions
        For each queue exact probabilities over the m servers.
    acceptance : function
        ``acceptance(server, senders, lengths)`` gives the probabilities with which a free server takes
        the packet of each of the senders (a tuple of two or more queues in ascending order); lengths
        are those after the arrivals of the step. See `uniform_law`, `priority_law`.

    Raises
    ------
    ValueError
        If a rate or a probability is inexact or out of range, or the lengths do not fit.
    """

    arrival_rates: Sequence
    service_rates: Sequence
    routers: Sequence
    acceptance: Callable = uniform_law

    def __post_init__(self):
        rates = as_exact_rates(self.arrival_rates, "arrival_rates")
        services = as_exact_rates(self.service_rates, "service_rates")
        if len(self.routers) != len(rates):
            raise ValueError(
                f"routers has {len(self.routers)} entries; permitted: one distribution for each of "
                f"{len(rates)} queues"
            )
        routers = []
        for i, router in enumerate(self.routers):
            routers.append(as_distribution(router, len(services), f"routers[{i}]"))
            if not isinstance(routers[-1], tuple):
                raise ValueError(
                    f"routers[{i}] = {router!r}; permitted: exact probabilities, Fractions or strings "
                    f"such as '3/10'"
                )
        object.__setattr__(self, "arrival_rates", rates)
        object.__setattr__(self, "service_rates", services)
        object.__setattr__(self, "routers", tuple(routers))

    @classmethod
    def identical(cls, arrival_rates, servers, total_service_rate, acceptance=uniform_law):
        """Uniform routers at every queue and identical servers.

        Parameters
        ----------
        arrival_rates : sequence of length n
            Exact numbers in (0, 1).
        servers : int
            Number of servers m.
        total_service_rate : exact number in (0, m)
            Sum of their rates.
        acceptance : function, optional
        """
        servers = positive_integer("servers", servers)
        total = as_positive("total_service_rate", total_service_rate)
        (share,) = as_exact_rates([total / servers], "total_service_rate / servers")
        arrival_rates = as_exact_rates(arrival_rates, "arrival_rates")
        router = (Fraction(1, servers),) * servers
        routers = (router,) * len(arrival_rates)
        return cls(arrival_rates, (share,) * servers, routers, acceptance)

    def taken(self, server, senders, lengths):
        """Probability with which each sender's packet is taken by a free server.

        Raises
        ------
        ValueError
            If the acceptance law gives no distribution over the senders.
        """
        if len(senders) == 1:
            return (Fraction(1),)
        law = tuple(self.acceptance(server, tuple(senders), tuple(lengths)))
        if len(law) != len(senders) or any(p < 0 for p in law) or sum(law) != 1:
            raise ValueError(
                f"acceptance gives {law} at server {server} for the queues {tuple(senders)}; "
                f"permitted: one probability for each of them, with sum 1"
            )
        return law

    def steps(self, lengths, full, cap=None) -> Iterator[Step]:
        """Yield every outcome of one step that has positive probability.

        Parameters
        ----------
        lengths : sequence of int, length n
            Queue lengths at the start of the step.
        full : sequence of int, length m
            1 where a buffer is full, 0 where it is empty.
        cap : int, optional
            A packet that arrives at a queue of this length is lost, and its arrival is not counted.

        Yields
        ------
        Step
            Different outcomes may lead to one state. Cost: up to ``2^n m^n 2^m`` outcomes, and the
            choices of the servers.
        """
        room = [cap is None or length < cap for length in lengths]
        chances = [
            ((0, 1 - rate), (1, rate)) if space else ((0, Fraction(1)),)
            for rate, space in zip(self.arrival_rates, room, strict=True)
        ]
        for arrived in itertools.product(*chances):
            arrivals = tuple(count for count, _ in arrived)
            after = tuple(map(sum, zip(lengths, arrivals, strict=True)))
            choices = [
                [(j, p) for j, p in enumerate(router) if p] if length else [(None, Fraction(1))]
                for router, length in zip(self.routers, after, strict=True)
            ]
            before = math.prod(p for _, p in arrived)
            for chosen in itertools.product(*choices):
                sent = tuple(server for server, _ in chosen)
                probability = before * math.prod(p for _, p in chosen)
                yield from self._accept_and_serve(probability, arrivals, after, sent, full)

    def _accept_and_serve(self, probability, arrivals, lengths, sent, full):
        winners = []
        for server, occupied in enumerate(full):
            senders = tuple(queue for queue, choice in enumerate(sent) if choice == server)
            if occupied or not senders:
                winners.append([(None, Fraction(1))])
            else:
                law = self.taken(server, senders, lengths)
                winners.append([(q, p) for q, p in zip(senders, law, strict=True) if p])
        for taken in itertools.product(*winners):
            accepted = tuple(queue for queue, _ in taken)
            left = tuple(length - (queue in accepted) for queue, length in enumerate(lengths))
            busy = tuple(
                int(occupied or queue is not None)
                for occupied, queue in zip(full, accepted, strict=True)
            )
            outcomes = [
                ((0, rate), (1, 1 - rate)) if occupied else ((0, Fraction(1)),)
                for occupied, rate in zip(busy, self.service_rates, strict=True)
            ]
            before = probability * math.prod(p for _, p in taken)
            for served in itertools.product(*outcomes):
                chance = before * math.prod(p for _, p in served)
                end = tuple(bit for bit, _ in served)
                yield Step(chance, arrivals, sent, accepted, busy, left, end)

    def would_clear(self, queue, server, lengths, sent, full):
        """Probability that a server would take a packet of a queue, the others sending as they do.

        Parameters
        ----------
        queue, server : int
        lengths : sequence of int, length n
            Queue lengths after the arrivals; 0 for this queue gives 0.
        sent : sequence of (int or None), length n
            Servers that the queues send to; that of this queue does not matter.
        full : sequence of int, length m
            Buffers before *accept*.

        Returns
        -------
        Fraction
        """
        if full[server] or not lengths[queue]:
            return Fraction(0)
        senders = [q for q, choice in enumerate(sent) if choice == server or q == queue]
        return self.taken(server, senders, lengths)[senders.index(queue)]


@dataclass(frozen=True)
class JointChain:
    """Chain of a tiny system with capped queues; see `joint_chain`.

    Attributes
    ----------
    states : tuple of (lengths, full)
        All queue lengths up to the cap with all patterns of full buffers.
    transition : ndarray of Fraction, shape (S, S)
    """

    states: tuple
    transition: np.ndarray

    def stationary(self, exact=True):
        """Stationary law over the states, an ndarray of shape (S,).

        Parameters
        ----------
        exact : bool
            In rationals (an exact solve of size S: a second for 100 states), or in floats.
        """
        return stationary_law(self.transition if exact else self.transition.astype(float))


def _states(system, cap):
    cap = positive_integer("cap", cap)
    lengths = itertools.product(range(cap + 1), repeat=len(system.arrival_rates))
    patterns = itertools.product((0, 1), repeat=len(system.service_rates))
    return tuple(itertools.product(lengths, tuple(patterns)))


def joint_chain(system, cap):
    """Transition matrix of a tiny system whose queues hold at most ``cap`` packets.

    Parameters
    ----------
    system : JointSystem
    cap : int
        At least 1; arrivals at a queue of this length are lost.

    Returns
    -------
    JointChain
        With ``(cap + 1)^n 2^m`` states.
    """
    states = _states(system, cap)
    index = {state: k for k, state in enumerate(states)}
    transition = np.full((len(states), len(states)), Fraction(0), dtype=object)
    for k, (lengths, full) in enumerate(states):
        for step in system.steps(lengths, full, cap):
            transition[k, index[step.lengths, step.full]] += step.probability
    return JointChain(states, transition)


@dataclass(frozen=True)
class ExpectedRegret:
    """Expected regrets over windows, from every state; see `expected_regret`.

    Attributes
    ----------
    states : tuple of (lengths, full)
    windows : tuple of int
        Lengths W.
    values : ndarray of float64, shape (windows, S, n, m)
        ``E R_{W,j}`` of queue i against server j, started in a state.
    """

    states: tuple
    windows: tuple
    values: np.ndarray

    @property
    def largest(self):
        """Largest expected regret of each window over states, queues and servers, shape (windows,)."""
        return self.values.max(axis=(1, 2, 3))

    @property
    def least(self):
        """Smallest of the same, shape (windows,)."""
        return self.values.min(axis=(1, 2, 3))


def expected_regret(system, cap, windows):
    """Expected regret over windows of W steps from every state, by dynamic programming.

    Parameters
    ----------
    system : JointSystem
    cap : int
        At least 1; arrivals at a queue of this length are lost.
    windows : sequence of int
        Strictly increasing lengths W, each at least 1.

    Returns
    -------
    ExpectedRegret

    Notes
    -----
    The regret of queue i against server j is the sum over the steps of the probability that a packet of
    i sent to j would have been taken, less the packets of i that were taken; steps in which queue i is
    empty count 0. Transition probabilities and one-step regrets are exact, the sum over a window is
    taken in floats: its rounding error is below ``W^2 (S + 2) 2**-53``, 1e-8 for 1000 steps and 100
    states. Cost: W products of the S x S transition matrix with n m vectors.
    """
    windows = real_vector("windows", windows).tolist()
    windows = tuple(positive_integer(f"windows[{k}]", w) for k, w in enumerate(windows))
    if not windows or any(a >= b for a, b in itertools.pairwise(windows)):
        raise ValueError(f"windows = {windows}; permitted: strictly increasing integers")
    n, m = len(system.arrival_rates), len(system.service_rates)
    states = _states(system, cap)
    index = {state: k for k, state in enumerate(states)}
    transition = np.zeros((len(states), len(states)))
    one_step = np.zeros((len(states), n, m))
    for k, (lengths, full) in enumerate(states):
        row, gains = {}, [[Fraction(0)] * m for _ in range(n)]
        for step in system.steps(lengths, full, cap):
            target = index[step.lengths, step.full]
            row[target] = row.get(target, 0) + step.probability
            after = tuple(map(sum, zip(lengths, step.arrivals, strict=True)))
            for i, cleared in enumerate(step.cleared):
                for j in range(m):
                    would = system.would_clear(i, j, after, step.sent, full)
                    gains[i][j] += step.probability * (would - cleared)
        transition[k, list(row)] = list(map(float, row.values()))
        one_step[k] = [[float(value) for value in each] for each in gains]
    flat = one_step.reshape(len(states), n * m)
    values, found = np.zeros_like(flat), []
    for w in range(1, windows[-1] + 1):
        values = flat + transition @ values
        if w in windows:
            found.append(values.reshape(one_step.shape).copy())
    return ExpectedRegret(states, windows, np.array(found))
