"""Capacity calculator: what the theorems say about one system of queues and servers.

`plan` answers for ``n`` queues of selfish learners in front of ``m`` servers with one-packet buffers.
One queue has the sharp condition: it is stable for every learner with small regret on every window
exactly if the arrival rate is below the Hamacher sum of the service rates (Remark 3.4). A router that
accounts for recharge carries more, all that some schedule carries: for one queue a schedule and its
value are searched, up to 64 servers. For two or more queues there is Theorem 4.1: total service rate
above ``1 / (1 - largest arrival rate)`` times total arrival rate. Where Theorem 4.1 does not apply the
system may be stable all the same.

All comparisons are made in exact rationals, because at equality a system is not stable and a rounding
error would decide. `simlib.recharge.formulas.capacity` is the shorter answer about one queue.
"""

import math
import textwrap
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from types import MappingProxyType

import numpy as np

from simlib.arguments import choice
from simlib.arithmetic import as_open_unit, as_positive, as_rates
from simlib.recharge.flow import fluid_peak
from simlib.recharge.formulas import (
    effective_margin,
    hamacher_sum,
    heavy_traffic_constant,
    largest_learning_rate,
    least_competitive_ratio,
    memoryless_utility,
    missing_odds,
    optimum_upper_bound,
    price_of_learning,
    relaxation_time,
    round_robin_utility,
    servers_needed,
    total_odds,
)
from simlib.recharge.optimum import clairvoyant_rate, find_certificate
from simlib.recharge.planners import best_periodic_schedule
from simlib.recharge.stationary import stationary_queue
from simlib.strategic.formulas import (
    capacity_margin,
    overprovisioning_factor,
    required_scale,
    saturated_floor,
)

__all__ = [
    "CLAIMS",
    "ROUTERS",
    "Plan",
    "plan",
    "servers_needed_at_least",
    "servers_needed_overprovisioned",
]

_MOST_SERVERS = 1000
_MOST_SERVERS_SOLVED = 8  # the chain of a queue has 2**m patterns of full buffers
_MOST_AGES = {2: 300, 3: 1500, 4: 8000}  # states of the exact optimum: well under a second
_MOST_SERVERS_SCHEDULED = 64  # beyond, the search for a schedule takes seconds
_LEAST_MARGIN = 1e-9  # closer to the threshold the chain is singular in double precision

#: Routers the calculator knows (names as in `simlib.learners.BUILT_IN`), what is known of each for one
#: queue, and the claim that says it.
ROUTERS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "exp3": (
            "close to the guaranteed rate in simulation; its proved guarantee is from the first "
            "step on, not for late windows",
            "recharge.not_every_bandit",
        ),
        "exp3-ix": (
            "restarted every W steps it has small regret in every period, as the theorems ask",
            "strategic.exp3ix_restarted",
        ),
        "tsallis-inf": (
            "close to the guaranteed rate in simulation; its proved guarantee is from the first "
            "step on, not for late windows",
            "recharge.not_every_bandit",
        ),
        "greedy": (
            "knows the service rates and has no regret at any step",
            "recharge.greedy_no_regret",
        ),
        "normalized-odds": (
            "knows the service rates and earns the guaranteed rate, no more",
            "recharge.normalized_odds_tight",
        ),
        "ucb1": ("falls back to the fastest server", "recharge.ucb1_limit"),
        "epsilon-greedy": ("falls back to the fastest server", "recharge.not_every_bandit"),
        "uniform": (
            "does not learn: what it earns under backlog is exact",
            "recharge.odds_best_memoryless",
        ),
        "round-robin": (
            "does not learn: what it earns under backlog is exact",
            "recharge.identical_arms",
        ),
    }
)
_KNOWN_TO_FALL_SHORT = ("ucb1", "epsilon-greedy")

_OF_ONE_QUEUE = {
    "verdict": "recharge.stability_threshold",
    "guaranteed_rate": "recharge.stability_threshold",
    "ceiling": "recharge.opt_upper_bound",
    "optimum": "recharge.opt_certificate",
    "aware_rate": "recharge.beyond_h_in_queues",
    "bufferless_rate": "recharge.mean_queue_convention",
    "servers_needed": "recharge.stability_threshold",
    "missing_odds": "recharge.stability_threshold",
    "servers_needed_at_least": "recharge.opt_upper_bound",
    "settled_queue": "recharge.stability_threshold",
    "settled_queue_estimate": "recharge.queue_transient",
    "learning_queue": "recharge.queue_transient",
    "learning_queue_estimate": "recharge.queue_transient",
    "effective_margin": "recharge.exp3_concentration",
    "largest_learning_rate": "recharge.exp3_concentration",
    "relaxation_time": "recharge.exp3_concentration",
    "peak_backlog": "recharge.queue_transient",
    "price_of_learning": "recharge.opt_upper_bound",
    "worst_share": "recharge.competitive_ratio_m",
}
_OF_MANY_QUEUES = {
    "verdict": "strategic.sufficiency",
    "guaranteed_rate": "strategic.sufficiency",
    "ceiling": "strategic.flow_identity",
    "servers_needed": "strategic.sufficiency",
    "servers_needed_at_least": "strategic.flow_identity",
}
_OF_ANY_NUMBER = {
    "overprovisioning_factor": "strategic.sufficiency",
    "required_scale": "strategic.sufficiency",
    "servers_needed_overprovisioned": "strategic.sufficiency",
    "tightness": "strategic.tight_for_every_arrival_vector",
    "saturated_floor": "strategic.saturated_throughput",
}

#: The claim behind each answer, for one queue and for many; ``tightness`` is the claim that systems of
#: the same total rate are unstable where Theorem 4.1 does not apply.
CLAIMS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "one queue": _OF_ONE_QUEUE | _OF_ANY_NUMBER,
        "many queues": _OF_MANY_QUEUES | _OF_ANY_NUMBER,
    }
)


@dataclass(frozen=True)
class Plan:
    """What the theorems say about one system; see `plan`.

    Rates are packets per step, queues are packets at the end of a step, times are steps. Answers that
    are known for one queue only are None for more. `CLAIMS` names the claim behind each answer.

    Attributes
    ----------
    arrival_rates, service_rates : tuple of Fraction, lengths n and m
    learning_rate : float or None
    new_server_rate : Fraction
    router : str or None
    verdict : {"guaranteed", "not guaranteed", "impossible"}
        Stable for every learner with small regret on every window; not known, or false for some such
        learner; unstable for every router (one queue: for every router that cannot see the buffers).
    arrival_rate : Fraction
        All queues together.
    guaranteed_rate : Fraction
        Total arrival rate below which stability is guaranteed: the Hamacher sum for one queue; for
        more, ``lambda mu / (lambda + mu lambda_max)``, with arrivals in the given proportions.
    ceiling : Fraction
        Total arrival rate at and above which no router is stable: ``1 - prod(1 - mu_j)`` for one that
        cannot see the buffers; for more, the total service rate, or less if the busiest queue sends a
        packet at each step before that.
    optimum : float or None
        Utility of the best schedule that does not see the buffers (one queue), if it is cheap.
    aware_rate : float or None
        What a router that accounts for recharge carries at least (one queue, up to 64 servers): the
        exact value, rounded, of the best schedule found. That a learner carries all that schedules do
        is a theorem; what `simlib.recharge.aware.restarting` carries depends on its planner. Nothing
        between this and ``optimum``, or ``ceiling`` where that is not known, is excluded. For identical
        servers all three are equal.
    aware_steps : int or None
        Length of that schedule.
    visible_buffers_rate : float or None
        What a router that sees the buffers accepts under backlog (one queue, up to 8 servers). Value
        iteration; no claim of the book.
    bufferless_rate : Fraction or None
        Rate of the fastest server: all that one queue carries without buffers.
    margin : Fraction
        ``guaranteed_rate - arrival_rate``.
    total_odds, missing_odds : Fraction or None
        Odds of the servers, and those still missing (negative if there is room to spare): one queue.
    missing_rate : Fraction
        Service rate that Theorem 4.1 still asks for, ``lambda / (1 - lambda_max) - mu``.
    servers_needed : int
        Extra servers of rate ``new_server_rate`` for the guarantee.
    servers_needed_at_least : int
        Extra servers without which no router (one queue: that cannot see the buffers) is stable.
    servers_needed_overprovisioned : int
        Extra servers that Theorem 4.1 alone would ask for; for one queue it is not sharp.
    overprovisioning : Fraction
        Total service rate over total arrival rate.
    overprovisioning_factor : Fraction
        What it must exceed: ``1 / (1 - lambda_max)``.
    capacity_margin : Fraction
        ``mu (1 - lambda_max) - lambda``: positive if Theorem 4.1 applies.
    required_scale : Fraction
        Theorem 4.1 applies if all service rates are multiplied by more than this.
    largest_scale : Fraction
        The scale at which the fastest server reaches rate 1.
    saturated_floor : Fraction
        ``n mu / (n + mu)``: what n backlogged queues without regret clear together at least.
    binding_queues : tuple of int
        The queues (from 0) whose arrival rate is largest and sets the factor.
    settled_queue : float or None
        Exact E[Q] with the normalized odds; up to 8 servers.
    settled_queue_estimate : float or None
        Its approximation ``kappa / margin`` in heavy traffic, for any number of servers.
    effective_margin, largest_learning_rate : float or None
        Margin less what EXP3's fluctuations cost, ``eta (m - 1) h**2 / 2``; the learning rate at which
        nothing is left of it (infinite for one server).
    learning_queue, learning_queue_estimate : float or None
        The two queues above at the effective margin; None where that is not positive.
    relaxation_time : float or None
        Steps ``1 / (eta h (1 - h))`` in which EXP3 forgets.
    peak_backlog, peak_time : float or None
        Largest backlog on the mean-field path from uniform weights with exploration ``m eta``, and
        when it is reached; None also if the path never catches up.
    price_of_learning, guaranteed_share : Fraction or None
        Ceiling over Hamacher sum, and the inverse: the share of the optimum that learning keeps at
        least on these servers.
    worst_share : float or None
        The least such share over all rates of that many servers, ``c_m``.
    router_rate : float or None
        Arrival rate that the router can be relied on to carry; None if nothing is known.
    router_note, router_claim : str or None
        What is known of the router, and the claim that says it.
    """

    arrival_rates: tuple
    service_rates: tuple
    learning_rate: float | None
    new_server_rate: Fraction
    router: str | None
    verdict: str
    arrival_rate: Fraction
    guaranteed_rate: Fraction
    ceiling: Fraction
    optimum: float | None
    aware_rate: float | None
    aware_steps: int | None
    visible_buffers_rate: float | None
    bufferless_rate: Fraction | None
    margin: Fraction
    total_odds: Fraction | None
    missing_odds: Fraction | None
    missing_rate: Fraction
    servers_needed: int
    servers_needed_at_least: int
    servers_needed_overprovisioned: int
    overprovisioning: Fraction
    overprovisioning_factor: Fraction
    capacity_margin: Fraction
    required_scale: Fraction
    largest_scale: Fraction
    saturated_floor: Fraction
    binding_queues: tuple
    settled_queue: float | None = None
    settled_queue_estimate: float | None = None
    effective_margin: float | None = None
    largest_learning_rate: float | None = None
    learning_queue: float | None = None
    learning_queue_estimate: float | None = None
    relaxation_time: float | None = None
    peak_backlog: float | None = None
    peak_time: float | None = None
    price_of_learning: Fraction | None = None
    guaranteed_share: Fraction | None = None
    worst_share: float | None = None
    router_rate: float | None = None
    router_note: str | None = None
    router_claim: str | None = None

    @property
    def guaranteed(self):
        """Whether the arrivals are guaranteed, with this router if one was named."""
        falls_short = self.router in _KNOWN_TO_FALL_SHORT and self.router_rate is None
        if self.router_rate is not None:
            falls_short = self.router_rate <= self.arrival_rate
        return self.verdict == "guaranteed" and not falls_short

    @property
    def claims(self):
        """The claim behind each answer, a mapping of field names to claim ids."""
        found = CLAIMS["one queue" if len(self.arrival_rates) == 1 else "many queues"]
        # What no router can carry is another theorem than what learning guarantees.
        return found | {"verdict": found["ceiling"]} if self.verdict == "impossible" else found

    def as_dict(self):
        """The plan as plain data for JSON: rationals as floats, None for infinite."""

        def plain(value):
            if isinstance(value, tuple):
                return [plain(item) for item in value]
            if isinstance(value, Fraction):
                return float(value)
            return None if value == math.inf else value

        found = {field.name: plain(getattr(self, field.name)) for field in fields(self)}
        return found | {"guaranteed": self.guaranteed, "claims": dict(self.claims)}

    def __repr__(self):
        return self.text()

    def text(self):
        """The plan on one screen: at most 24 lines of at most 84 characters.

        In brackets stands the claim behind an answer, without its topic.
        """
        one = len(self.arrival_rates) == 1
        arrivals = _listed("queue", self.arrival_rates)
        lines = [
            arrivals if one else f"{arrivals}, {_short(self.arrival_rate)} together",
            _listed("server", self.service_rates),
            _at_end(
                _SAYS["one queue" if one else "many queues"][self.verdict], self._claim("verdict")
            ),
        ]
        for label, value, says, *answer in self._one_queue() if one else self._many_queues():
            line = f"{label:<12}{value if isinstance(value, str) else _short(value):>10}  {says}"
            lines.append(_at_end(line, self._claim(*answer)))
        if not one:
            if self.capacity_margin < 0 and self.verdict == "not guaranteed":
                says = "other servers of the same total are unstable"
                lines.append(_at_end(says, self._claim("tightness")))
            lines.append("queues, warm-up, price of learning: known for one queue only")
        if self.router is not None:
            warning = "WARNING: " if self.verdict == "guaranteed" and not self.guaranteed else ""
            rate = "" if self.router_rate is None else f"rely on {_short(self.router_rate)}; "
            claim = f" [{self.router_claim.partition('.')[2]}]" if self.router_claim else ""
            text = f"{warning}{self.router}: {rate}{self.router_note}{claim}"
            lines += textwrap.wrap(text, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
        return "\n".join(lines)

    def _claim(self, answer=None):
        return f"[{self.claims[answer].partition('.')[2]}]" if answer else ""

    def _servers(self, blind):
        return [
            (
                "servers",
                self.servers_needed,
                f"to add, of rate {_short(self.new_server_rate)}",
                "servers_needed",
            ),
            (
                "  at least",
                self.servers_needed_at_least,
                f"to add, for any {blind}router",
                "servers_needed_at_least",
            ),
        ]

    def _theorem(self):
        factor = _short(self.overprovisioning_factor)
        says = f"service over arrivals, to exceed {factor}"
        return ("Theorem 4.1", self.overprovisioning, says, "overprovisioning_factor")

    def _one_queue(self):
        """Lines about one queue: label, value, what it is, field whose claim is shown."""
        room = f"{_short(abs(self.margin))} short" if self.margin < 0 else "nothing to spare"
        room = f"{_short(self.margin)} to spare" if self.margin > 0 else room
        adds = _short(self.new_server_rate / (1 - self.new_server_rate))
        yield "carries", self.guaranteed_rate, f"Hamacher sum; {room}", "guaranteed_rate"
        yield "ceiling", self.ceiling, "of blind routers: they see no buffers", "ceiling"
        if self.optimum is not None:
            yield "  optimum", self.optimum, "the best of them, exactly", "optimum"
        if self.aware_rate is not None:
            says = "if the router" if self.optimum is not None else "at least, if it"
            says += " accounts for recharge"
            yield "  aware", self.optimum or self.aware_rate, says, "aware_rate"
        if self.visible_buffers_rate is not None:
            yield "  seeing", self.visible_buffers_rate, "a router that sees the buffers"
        yield "  unbuffered", self.bufferless_rate, "the fastest server", "bufferless_rate"
        yield from self._servers("blind ")
        yield "  odds", self.missing_odds, f"missing; one more adds {adds}", "missing_odds"
        if self.margin > 0:
            yield from self._queue_and_warm_up()
        yield "price", self.price_of_learning, "ceiling over Hamacher sum", "price_of_learning"
        count = len(self.service_rates)
        yield f"  any {count}", 1 / self.worst_share, "the most for so many servers", "worst_share"
        yield self._theorem()
        count = self.servers_needed_overprovisioned
        yield "  servers", count, "to add if it were all: not sharp for one queue"

    def _queue_and_warm_up(self):
        rough, eta = _short(self.settled_queue_estimate), self.learning_rate
        if self.settled_queue is None:
            yield "queue", rough, "packets once settled, roughly", "settled_queue_estimate"
        else:
            says = f"packets once settled, roughly {rough}"
            yield "queue", self.settled_queue, says, "settled_queue"
        if eta is not None and self.learning_queue_estimate is None:
            yield "  learning", "-", f"rate {_short(eta)} unsettles it"
        elif eta is not None:
            exact = self.learning_queue
            queue = self.learning_queue_estimate if exact is None else exact
            yield "  learning", queue, f"packets, learning at {_short(eta)}", "learning_queue"
        if self.largest_learning_rate != math.inf:
            yield "  too fast", self.largest_learning_rate, "to learn at", "largest_learning_rate"
        if eta is not None:
            yield "warm-up", self.relaxation_time, "steps to forget", "relaxation_time"
        if self.peak_backlog is not None:
            says = f"packets at first, near step {_short(self.peak_time)}"
            yield "  peak", self.peak_backlog, says, "peak_backlog"

    def _many_queues(self):
        """Lines about two queues or more, as in `_one_queue`."""
        queues = ", ".join(str(queue + 1) for queue in self.binding_queues)
        if len(queues) > 10:
            queues = f"{len(self.binding_queues)} of them"
        says = "to multiply all services by, at least"
        if self.required_scale >= self.largest_scale:
            says = f"for all services; one is 1 at {_short(self.largest_scale)}"
        yield "carries", self.guaranteed_rate, "together, in these proportions", "guaranteed_rate"
        yield "ceiling", self.ceiling, "of all routers", "ceiling"
        yield self._theorem()
        yield "  scale", self.required_scale, says, "required_scale"
        yield "  binding", queues, "the queue with most arrivals"
        says = f"cleared at least while all {len(self.arrival_rates)} wait"
        yield "  floor", self.saturated_floor, says, "saturated_floor"
        yield from self._servers("")


_WIDTH = 84
_SAYS = {
    "one queue": {
        "guaranteed": "STABLE for every learner whose regret is small on every window",
        "not guaranteed": "NOT GUARANTEED: unstable for some routers without regret",
        "impossible": "NOT STABLE under any router that cannot see the buffers",
    },
    "many queues": {
        "guaranteed": "STABLE for learners whose regret is small in every period",
        "not guaranteed": "NOT GUARANTEED by Theorem 4.1, yet it may be stable",
        "impossible": "NOT STABLE under any router: the servers cannot serve so much",
    },
}


def _at_end(line, claim):
    """The line with a claim at the right margin."""
    return line + claim.rjust(max(_WIDTH - len(line), len(claim) + 1)) if claim else line


def _short(value):
    """A number to six digits."""
    return str(value) if isinstance(value, int) else f"{float(value):.6g}"


def _listed(thing, rates):
    """Rates as ``4 servers: 0.5, 0.33 x3``, shortened to fit a line."""
    text = ", ".join(
        _short(rate) if count == 1 else f"{_short(rate)} x{count}"
        for rate, count in Counter(rates).items()
    )
    if len(text) > 50:
        text = f"rates from {_short(min(rates))} to {_short(max(rates))}"
    return f"{len(rates)} {thing}{'' if len(rates) == 1 else 's'}: {text}"


def _exact(name, value):
    """A rate as the decimal or fraction that was written: the float 0.3 counts as 3/10."""
    number = as_open_unit(name, value)
    return number if isinstance(number, Fraction) else Fraction(repr(float(number)))


def _exact_rates(name, values):
    if hasattr(values, "__iter__") and not isinstance(values, str | bytes):
        values = list(values)
    rates = as_rates(values, name)
    if len(rates) > _MOST_SERVERS:
        raise ValueError(f"{name} has {len(rates)} entries; permitted: at most {_MOST_SERVERS}")
    return tuple(_exact(f"{name}[{j}]", value) for j, value in enumerate(values))


def servers_needed_at_least(arrival_rate, server_rate, rates=()):
    """Smallest number of extra servers that lifts the bound of Lemma 3.6 above the arrival rate.

    With fewer, no router that cannot see the buffers keeps one queue stable. For identical servers
    round robin attains the bound, so that this is the number that round robin needs.

    Parameters
    ----------
    arrival_rate, server_rate : number in (0, 1)
        Floats count as the decimals that they print as.
    rates : sequence
        Rates of the servers that are there already; may be empty.

    Returns
    -------
    int

    Raises
    ------
    ValueError
        If a rate is out of range.

    Notes
    -----
    ``prod(1 - mu_j) (1 - server_rate)**k < 1 - arrival_rate``, by logarithms, and in rationals where
    those cannot tell equality.
    """
    arrival_rate = _exact("arrival_rate", arrival_rate)
    server_rate = _exact("server_rate", server_rate)
    fails = math.prod(1 - rate for rate in _exact_rates("rates", rates)) if len(rates) else 1
    if fails < 1 - arrival_rate:
        return 0
    count = (math.log1p(-arrival_rate) - math.log(fails)) / math.log1p(-server_rate)
    near = round(count)
    # Nobody writes down an arrival rate of so many digits that equality could happen beyond.
    if near > 10_000 or abs(count - near) > 1e-9 * max(near, 1):
        return math.floor(count) + 1
    return near + (fails * (1 - server_rate) ** near >= 1 - arrival_rate)


def servers_needed_overprovisioned(arrival_rates, server_rate, rates=()):
    """Smallest number of extra servers with which Theorem 4.1 applies.

    Parameters
    ----------
    arrival_rates : sequence of length n
        In (0, 1). Floats count as the decimals that they print as.
    server_rate : number in (0, 1)
    rates : sequence
        Rates of the servers that are there already; may be empty.

    Returns
    -------
    int
        For one queue more than needed: `simlib.recharge.formulas.servers_needed` is sharp there.

    Raises
    ------
    ValueError
        If a rate is out of range.
    """
    arrivals = _exact_rates("arrival_rates", arrival_rates)
    server_rate = _exact("server_rate", server_rate)
    present = sum(_exact_rates("rates", rates)) if len(rates) else 0
    missing = sum(arrivals) / (1 - max(arrivals)) - present
    return 0 if missing < 0 else math.floor(missing / server_rate) + 1


def plan(arrival_rates, service_rates, *, learning_rate=None, new_server_rate=None, router=None):
    """Answer the capacity questions about one system.

    Parameters
    ----------
    arrival_rates : sequence of length n >= 1
        Probability that a packet arrives at each queue in a step, in (0, 1). Text such as ``"1/3"``
        and `Fraction` are exact; a float counts as the decimal that it prints as.
    service_rates : sequence of length 1 <= m <= 1000
        Probability that a full buffer empties in a step, in (0, 1).
    learning_rate : float, optional
        EXP3's eta, positive: adds the warm-up and what fluctuations cost (one queue).
    new_server_rate : number in (0, 1), optional
        Rate of the servers that could be added; by default that of the fastest present.
    router : str, optional
        A name in `ROUTERS`; adds what it can be relied on to carry.

    Returns
    -------
    Plan

    Raises
    ------
    ValueError
        If a rate is out of range, there are too many, or the router is unknown.

    Notes
    -----
    Sources: the statements named in `CLAIMS`. Cost: under a second; the chain of full buffers is solved
    up to 8 servers, the best schedule found up to 4 (and for identical servers).

    Examples
    --------
    >>> from simlib.capacity import plan
    >>> plan(["0.75"], ["0.3"] * 7).servers_needed  # seven carry 3/4, and that is not enough
    1
    """
    arrivals = _exact_rates("arrival_rates", arrival_rates)
    rates = _exact_rates("service_rates", service_rates)
    if learning_rate is not None:
        learning_rate = float(as_positive("learning_rate", learning_rate))
    extra = max(rates)
    if new_server_rate is not None:
        extra = _exact("new_server_rate", new_server_rate)
    if router is not None:
        key = router.lower().replace("_", "-") if isinstance(router, str) else router
        router = choice("router", key, ROUTERS)

    total, largest, capacity = sum(arrivals), max(arrivals), sum(rates)
    overprovisioned = servers_needed_overprovisioned(arrivals, extra, rates)
    if len(arrivals) == 1:
        guaranteed, ceiling = hamacher_sum(rates), optimum_upper_bound(rates)
        needed = servers_needed(total, extra, rates)
        at_least = servers_needed_at_least(total, extra, rates)
        answers = _one_queue(total, rates, learning_rate)
    else:
        guaranteed = total * capacity / (total + capacity * largest)
        ceiling = min(capacity, total / largest)
        needed = overprovisioned
        lacking = total - capacity
        at_least = 0 if lacking < 0 else math.floor(lacking / extra) + 1
        answers = dict.fromkeys(
            (
                *("optimum", "aware_rate", "aware_steps", "visible_buffers_rate"),
                *("bufferless_rate", "total_odds", "missing_odds"),
            )
        )
    if total < guaranteed:
        verdict = "guaranteed"
    else:
        verdict = "impossible" if total >= ceiling else "not guaranteed"
    return Plan(
        arrival_rates=arrivals,
        service_rates=rates,
        learning_rate=learning_rate,
        new_server_rate=extra,
        router=router,
        verdict=verdict,
        arrival_rate=total,
        guaranteed_rate=guaranteed,
        ceiling=ceiling,
        margin=guaranteed - total,
        missing_rate=total / (1 - largest) - capacity,
        servers_needed=needed,
        servers_needed_at_least=at_least,
        servers_needed_overprovisioned=overprovisioned,
        overprovisioning=capacity / total,
        overprovisioning_factor=overprovisioning_factor(largest),
        capacity_margin=capacity_margin(arrivals, capacity),
        required_scale=required_scale(arrivals, capacity),
        largest_scale=1 / max(rates),
        saturated_floor=saturated_floor(len(arrivals), capacity),
        binding_queues=tuple(i for i, rate in enumerate(arrivals) if rate == largest),
        **answers,
        **_of_router(router, arrivals, rates, guaranteed),
    )


def _one_queue(arrival_rate, rates, learning_rate):
    """The answers that are known for one queue only."""
    # Beyond the verdict, six digits will do: sums of many rationals would cost seconds.
    floats, lam, count = np.array([float(rate) for rate in rates]), float(arrival_rate), len(rates)
    h, margin = float(hamacher_sum(rates)), float(hamacher_sum(rates) - arrival_rate)
    solved, price = count <= _MOST_SERVERS_SOLVED, price_of_learning(rates)

    def queues(gap):
        """E[Q] at some margin, from the chain and by the heavy-traffic constant."""
        if gap <= 0:
            return None, None
        exact = None
        if solved and gap > _LEAST_MARGIN:
            exact = stationary_queue(max(lam, h - gap), floats).mean
        return exact, heavy_traffic_constant(floats) / gap

    answers = {
        "optimum": _optimum(rates),
        "aware_rate": None,
        "aware_steps": None,
        "visible_buffers_rate": clairvoyant_rate(floats) if solved else None,
        "bufferless_rate": max(rates),
        "total_odds": total_odds(rates),
        "missing_odds": missing_odds(arrival_rate, rates),
        "price_of_learning": price,
        "guaranteed_share": 1 / price,
        "worst_share": least_competitive_ratio(count)[0] if count > 1 else 1.0,
    }
    if count <= _MOST_SERVERS_SCHEDULED:
        schedule = best_periodic_schedule(rates, max(64, 2 * count))
        answers["aware_rate"], answers["aware_steps"] = float(schedule.value), len(schedule.cycle)
    if margin > 0:
        answers["settled_queue"], answers["settled_queue_estimate"] = queues(margin)
        answers["largest_learning_rate"] = float(largest_learning_rate(lam, floats))
    if learning_rate is not None:
        effective = float(effective_margin(lam, floats, learning_rate))
        answers["effective_margin"] = effective
        answers["learning_queue"], answers["learning_queue_estimate"] = queues(effective)
        answers["relaxation_time"] = float(relaxation_time(floats, learning_rate))
        peak = _peak(lam, floats, learning_rate) if margin > 0 else None
        if peak is not None:
            answers["peak_backlog"], answers["peak_time"] = peak.height, peak.time
    return answers


def _optimum(rates):
    """Utility of the best blind schedule; None if it would take long to find."""
    if len(set(rates)) == 1:
        return float(optimum_upper_bound(rates))  # round robin attains it
    if len(rates) not in _MOST_AGES:
        return None
    try:
        return float(find_certificate(rates, most_states=_MOST_AGES[len(rates)]).gain)
    except ValueError:  # more ages than that
        return None


def _peak(arrival_rate, rates, learning_rate):
    """Fluid peak with the exploration that `simlib.learners.exp3` pairs with the learning rate."""
    exploration = len(rates) * learning_rate
    if exploration >= 1:
        return None
    try:
        return fluid_peak(arrival_rate, rates, exploration, learning_rate)
    except ValueError:  # the path comes to rest, or almost, below the arrival rate
        return None


def _of_router(router, arrivals, rates, guaranteed):
    """Rate, note and claim of a router."""
    if router is None:
        return {}
    note, claim = ROUTERS[router]
    if len(arrivals) > 1:
        rate = float(guaranteed)
        if router == "exp3-ix":
            return {"router_rate": rate, "router_note": note, "router_claim": claim}
        if router == "uniform" and len(set(rates)) == 1:
            note = "no regret among identical servers and rules that treat them alike"
            claim = "strategic.uniform_is_windowed_no_regret"
            return {"router_rate": rate, "router_note": note, "router_claim": claim}
        if router in _KNOWN_TO_FALL_SHORT:
            note = "has regret for one queue already; nothing is known for many"
            return {"router_note": note, "router_claim": claim}
        note = "small regret in every period, given the past, is not proved for it"
        return {"router_note": note}
    carries = float(guaranteed)
    floats = np.array([float(rate) for rate in rates])
    if router in _KNOWN_TO_FALL_SHORT:
        carries = floats.max()
    elif router == "uniform":
        carries = memoryless_utility(floats, np.full(len(floats), 1 / len(floats)))
    elif router == "round-robin":
        carries = round_robin_utility(floats)
    return {"router_rate": float(carries), "router_note": note, "router_claim": claim}
