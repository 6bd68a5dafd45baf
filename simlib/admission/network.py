"""Open networks of exponential queues with a product form, given by rates and routing.

Numbers may be exact (``int``, `fractions.Fraction`, strings such as ``"1/2"``) or floats; a network
keeps rationals only if all of its numbers are exact (see :mod:`simlib.arithmetic`).

Source: Anselmi, Gaujal and Rebuffi, arXiv 2308.02391, Section 2 (model) and Section 7 (three tiers).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import flint
import numpy as np

from simlib.arguments import non_negative_integer, positive_integer
from simlib.arithmetic import as_number, as_positive

__all__ = [
    "Network",
    "as_acceptance",
    "as_cost",
    "as_sequence",
    "as_uniformization",
    "parallel",
    "tandem",
    "three_tier",
]

# Floats: a routing row or a distribution may miss its sum by this much.
_TOLERANCE = 1e-9


def as_sequence(name, value):
    """The elements of a sequence of numbers as a list; ``ValueError`` if it is none."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ValueError(f"{name} = {value!r}; permitted: a sequence of numbers")
    return list(value)


def _probabilities(name, value, length):
    """Numbers in [0, 1], one a station, exact where they are."""
    row = [as_number(f"{name}[{j}]", entry) for j, entry in enumerate(as_sequence(name, value))]
    if len(row) != length:
        raise ValueError(
            f"{name} has {len(row)} entries; permitted: one for each of {length} stations"
        )
    for j, entry in enumerate(row):
        if not 0 <= entry <= 1:
            raise ValueError(f"{name}[{j}] = {entry}; permitted: probabilities in [0, 1]")
    return row


def as_acceptance(acceptance, limit=None):
    """Acceptance probabilities alpha(0), ..., alpha(S-1) of a sum-policy, checked.

    Parameters
    ----------
    acceptance : sequence of numbers in [0, 1]
        Probability of admitting an arrival that finds s jobs, for s below the limit. A further entry
        for s = S is accepted if it is 0: at the limit everything is rejected.
    limit : int, optional
        The limit S; without it, the length of the sequence.

    Returns
    -------
    tuple of Fraction or float, length S >= 1

    Raises
    ------
    ValueError
        If an entry is no probability or the length is neither S nor S + 1 with alpha(S) = 0.
    """
    values = [
        as_number(f"acceptance[{s}]", a)
        for s, a in enumerate(as_sequence("acceptance", acceptance))
    ]
    for s, value in enumerate(values):
        if not 0 <= value <= 1:
            raise ValueError(f"acceptance[{s}] = {value}; permitted: probabilities in [0, 1]")
    if limit is not None and len(values) == limit + 1:
        if values[-1] != 0:
            raise ValueError(
                f"acceptance[{limit}] = {values[-1]}; permitted: 0, arrivals at the limit are rejected"
            )
        del values[-1]
    if not values or (limit is not None and len(values) != limit):
        wanted = (
            "at least one entry" if limit is None else f"{limit} entries, one for each total below"
        )
        raise ValueError(f"acceptance has {len(values)} entries; permitted: {wanted}")
    return tuple(values)


def as_cost(name, value):
    """A cost: a finite number from 0, exact if it is given exactly; ``ValueError`` otherwise."""
    number = as_number(name, value)
    if not 0 <= number < math.inf:
        raise ValueError(f"{name} = {value!r}; permitted: finite numbers from 0")
    return number


def as_uniformization(value, least):
    """A uniformization constant U, which must be at least the sum of the rates of any state.

    Parameters
    ----------
    value : number or None
        U; None stands for ``least``.
    least : Fraction or float
        The sum of the rates. Floats may miss it by rounding.

    Raises
    ------
    ValueError
        If U is smaller: some state would be left with a probability above 1.
    """
    if value is None:
        return least
    number = as_positive("uniformization", value)
    exact = isinstance(number, Fraction) and isinstance(least, Fraction)
    if number < (least if exact else float(least) * (1 - 1e-12)):
        raise ValueError(
            f"uniformization = {value}; permitted: at least {least}, the sum of the rates of events"
        )
    return number


@dataclass(frozen=True)
class Network:
    """An open network of exponential queues under one Poisson stream of arrivals.

    A job that completes service at station i goes to station j with probability ``routing[i][j]`` and
    leaves with the rest; an arriving job enters station j with probability ``external[j]``.

    Parameters
    ----------
    arrival_rate : number above 0
        Rate lambda at which jobs ask for admission.
    routing : sequence of N sequences of N numbers in [0, 1]
        Substochastic matrix L; from each station a job can reach the exit.
    rates : sequence of N numbers above 0
        Service rate of one server of each station.
    servers : sequence of N integers from 1, or ``math.inf``, optional
        Servers of each station; one each by default. ``math.inf`` serves all jobs at once.
    external : sequence of N numbers in [0, 1], optional
        Where admitted jobs enter, summing to 1; by default all at station 0.

    Attributes
    ----------
    arrival_rate, routing, rates, servers, external
        As given, normalised to tuples; all Fractions if every number is exact, all floats otherwise.

    Raises
    ------
    ValueError
        If a rate is not positive and finite, lengths differ, the routing matrix is not substochastic
        or keeps the jobs of some station for ever, or ``external`` is no distribution.
    """

    arrival_rate: Fraction | float
    routing: tuple
    rates: tuple
    servers: tuple | None = None
    external: tuple | None = None

    def __post_init__(self):
        rates = [
            as_positive(f"rates[{i}]", r) for i, r in enumerate(as_sequence("rates", self.rates))
        ]
        n = len(rates)
        if n == 0:
            raise ValueError("rates is empty; permitted: at least one station")
        arrival_rate = as_positive("arrival_rate", self.arrival_rate)
        routing = [
            _probabilities(f"routing[{i}]", row, n)
            for i, row in enumerate(as_sequence("routing", self.routing))
        ]
        if len(routing) != n:
            raise ValueError(
                f"routing has {len(routing)} rows; permitted: one for each of {n} stations"
            )
        external = self.external
        external = [1] + [0] * (n - 1) if external is None else external
        external = _probabilities("external", external, n)
        servers = (1,) * n if self.servers is None else as_sequence("servers", self.servers)
        if len(servers) != n:
            raise ValueError(f"servers has {len(servers)} entries; permitted: one for each station")
        servers = tuple(
            c if isinstance(c, float) and c == math.inf else positive_integer(f"servers[{i}]", c)
            for i, c in enumerate(servers)
        )
        numbers = [arrival_rate, *rates, *external, *(entry for row in routing for entry in row)]
        exact = all(isinstance(number, Fraction) for number in numbers)
        kind, slack = (Fraction, 0) if exact else (float, _TOLERANCE)
        if abs(sum(external) - 1) > slack:
            raise ValueError(
                f"external sums to {sum(external)}; permitted: probabilities that sum to 1"
            )
        for i, row in enumerate(routing):
            if sum(row) > 1 + slack:
                raise ValueError(
                    f"routing[{i}] sums to {sum(row)}; permitted: at most 1, the rest leaves the network"
                )
        leaving = {i for i, row in enumerate(routing) if sum(row) < 1 - slack}
        found = True
        while found:
            found = {
                i
                for i, row in enumerate(routing)
                if i not in leaving and any(row[j] > 0 for j in leaving)
            }
            leaving |= found
        kept = sorted(set(range(n)) - leaving)
        if kept:
            raise ValueError(
                f"routing never lets a job of station {kept[0]} leave (it stays in stations "
                f"{', '.join(map(str, kept))}); permitted: a path to the exit from each station"
            )
        object.__setattr__(self, "arrival_rate", kind(arrival_rate))
        object.__setattr__(self, "rates", tuple(map(kind, rates)))
        object.__setattr__(self, "external", tuple(map(kind, external)))
        object.__setattr__(self, "routing", tuple(tuple(map(kind, row)) for row in routing))
        object.__setattr__(self, "servers", servers)

    @property
    def stations(self) -> int:
        """Number N of stations."""
        return len(self.rates)

    @property
    def exact(self) -> bool:
        """Whether the numbers are Fractions."""
        return isinstance(self.arrival_rate, Fraction)

    @cached_property
    def exit(self) -> tuple:
        """Probability of leaving the network after service at each station, length N."""
        rests = (1 - sum(row) for row in self.routing)
        return (
            tuple(rest if rest > 0 else rest * 0 for rest in rests)
            if self.exact
            else tuple(rest if rest > _TOLERANCE else 0.0 for rest in rests)
        )

    @cached_property
    def visits(self) -> tuple:
        """Mean visits of a job to each station, the solution of v = external + v routing, length N."""
        n = self.stations
        if not self.exact:
            matrix = np.eye(n) - np.array(self.routing).T
            return tuple(float(v) for v in np.linalg.solve(matrix, np.array(self.external)))
        left = flint.fmpq_mat(
            n,
            n,
            [
                flint.fmpq(*((i == j) - self.routing[j][i]).as_integer_ratio())
                for i in range(n)
                for j in range(n)
            ],
        )
        right = flint.fmpq_mat(n, 1, [flint.fmpq(*a.as_integer_ratio()) for a in self.external])
        return tuple(Fraction(int(v.p), int(v.q)) for v in left.solve(right).entries())

    def station_rate(self, station: int, jobs: int):
        """Total service rate of a station that holds so many jobs.

        Parameters
        ----------
        station : int
            From 0 to N - 1.
        jobs : int
            From 0.

        Raises
        ------
        ValueError
            If there is no such station, or the jobs are no number from 0.
        """
        station, jobs = non_negative_integer("station", station), non_negative_integer("jobs", jobs)
        if station >= self.stations:
            raise ValueError(
                f"station = {station}; permitted: integers from 0 to {self.stations - 1}"
            )
        return self.rates[station] * min(jobs, self.servers[station])

    def rate_bound(self, limit: int | None = None):
        """Least uniformization constant, arrival rate plus all service capacity.

        Parameters
        ----------
        limit : int, optional
            Largest number of jobs; stands for the servers of a station that has infinitely many.

        Raises
        ------
        ValueError
            If a station has infinitely many servers and there is no limit.
        """
        total = self.arrival_rate
        for i, (rate, servers) in enumerate(zip(self.rates, self.servers, strict=True)):
            if servers == math.inf:
                if limit is None:
                    raise ValueError(
                        f"servers[{i}] = inf and limit = None; permitted: a limit on the jobs "
                        "where a station has infinitely many servers"
                    )
                servers = positive_integer("limit", limit)
            total += rate * servers
        return total

    def loads(self) -> tuple:
        """Load lambda v_i / (rate_i c_i) of each station if all jobs are admitted, length N."""
        return tuple(
            self.arrival_rate * visits / (rate * servers) if servers != math.inf else visits * 0
            for visits, rate, servers in zip(self.visits, self.rates, self.servers, strict=True)
        )

    def require_stable(self) -> None:
        """Raise ``ValueError`` naming the most loaded station unless all loads are below 1."""
        loads = self.loads()
        station = max(range(self.stations), key=loads.__getitem__)
        if loads[station] >= 1:
            raise ValueError(
                f"station {station} has load {loads[station]} ({float(loads[station]):.6g}) if every "
                "job is admitted; permitted: networks whose loads are all below 1"
            )

    def is_hyperstable(self) -> bool:
        """Whether each station outpaces all other stations at full speed.

        That is ``lambda external_i + sum_j rate_j c_j routing_ji < rate_i c_i`` for every i, the
        reading of *hyper-stable* adopted here (the definition is lost in the source's Section 6).
        """
        capacity = [rate * c for rate, c in zip(self.rates, self.servers, strict=True)]
        return all(
            self.arrival_rate * self.external[i]
            + sum(
                capacity[j] * self.routing[j][i] for j in range(self.stations) if self.routing[j][i]
            )
            < capacity[i]
            for i in range(self.stations)
        )

    def as_floats(self) -> "Network":
        """The same network with all numbers as floats."""
        return Network(
            float(self.arrival_rate),
            tuple(tuple(map(float, row)) for row in self.routing),
            tuple(map(float, self.rates)),
            self.servers,
            tuple(map(float, self.external)),
        )


def tandem(arrival_rate, rates, servers=None) -> Network:
    """Stations in series: jobs enter at the first and leave after the last.

    Parameters
    ----------
    arrival_rate : number above 0
    rates : sequence of N >= 1 numbers above 0
    servers : sequence of N integers or ``math.inf``, optional
    """
    n = len(as_sequence("rates", rates))
    routing = [[int(j == i + 1) for j in range(n)] for i in range(n)]
    return Network(arrival_rate, routing, rates, servers)


def three_tier(per_tier=1, *, arrival_rate, rates, back=Fraction(1, 2)) -> Network:
    """Three tiers of parallel single-server queues, the network of the source's Section 7.

    A job enters a queue of tier 1, chosen uniformly. After service there it leaves with probability
    ``1 - back``, and otherwise passes tier 2 and tier 3 and returns to tier 1, each time to a queue
    chosen uniformly. Stations are numbered tier by tier.

    Parameters
    ----------
    per_tier : int
        Queues n of each tier, at least 1.
    arrival_rate : number above 0
    rates : number above 0, or sequence of three
        Service rate of every queue, or of the queues of each tier.
    back : number in [0, 1)
        Probability p that a job goes on from tier 1 to tier 2.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    Stable if and only if ``arrival_rate / (1 - back) < n * rates[0]`` and ``arrival_rate * back /
    (1 - back)`` is below n times each of the other two rates.
    """
    n = positive_integer("per_tier", per_tier)
    rates = (
        [rates] * 3 if isinstance(rates, str) or not isinstance(rates, Iterable) else list(rates)
    )
    if len(rates) != 3:
        raise ValueError(f"rates has {len(rates)} entries; permitted: one number, or one a tier")
    back = as_number("back", back)
    if not 0 <= back < 1:
        raise ValueError(f"back = {back}; permitted: numbers in [0, 1)")
    following = [(1, back / n), (2, Fraction(1, n)), (0, Fraction(1, n))]
    routing = [
        [following[i // n][1] if j // n == following[i // n][0] else 0 for j in range(3 * n)]
        for i in range(3 * n)
    ]
    external = [Fraction(1, n)] * n + [0] * (2 * n)
    return Network(arrival_rate, routing, [rates[i // n] for i in range(3 * n)], None, external)


def parallel(arrival_rate, rates, shares) -> Network:
    """Stations side by side: a job enters one of them and leaves after its service.

    Parameters
    ----------
    arrival_rate : number above 0
    rates : sequence of N >= 1 numbers above 0
    shares : sequence of N numbers in [0, 1]
        Probability of entering each station, summing to 1.
    """
    n = len(as_sequence("rates", rates))
    return Network(arrival_rate, [[0] * n] * n, rates, None, shares)
