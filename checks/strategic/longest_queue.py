"""What happens on every path of a period: packets are conserved, and the longest queue drifts down."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

from checks.claim import Claim, Printed, Source
from checks.finding import (
    PROVED,
    Finding,
    combine,
    decide,
    exact,
    one_of,
    proved,
    refuted,
    undecided,
)
from checks.strategic.instances import SOURCE
from checks.strategic.small_systems import Outcome, mean_period, paths, server_steps

INDICATORS = ("just before service", "just before acceptance")

# Flow ----------------------------------------------------------------------------------------------

flow_identity = Claim(
    "strategic.flow_identity",
    title="A server completes its rate times its busy steps, counted <<indicator>>",
    source=Source(SOURCE, "Lemma 4.6", provenance="stated"),
    kind="lemma",
    statement=r"""
In a period of $W$ steps let $B_j$ be the number of steps in which the buffer of server $j$ is full
<<indicator>>, $S_j$ the number of its services and $a_j$ the number of packets that it accepts. For all
learners, every acceptance rule and every history $\mathcal F$ before the period,
$$E(S_j\mid\mathcal F)=\mu_j\,E(B_j\mid\mathcal F).$$
On every path $|a_j-S_j|\le<<gap>>$, and the number of steps in which the buffer is free just before
acceptance is $<<free>>$.
""",
    claimed={"indicator": "just before service", "gap": "1", "free": "W-B_j+a_j"},
    meaning={
        "indicator": "the moment of a step at which a server counts as busy",
        "gap": "packets accepted but not served, or the other way round",
        "free": "steps in which the buffer is free just before acceptance",
    },
    parts={"mean": "services against busy steps, on average", "paths": "what holds on every path"},
    as_printed=Printed(
        {"indicator": "just before acceptance"},
        says="the indicator says whether the server has a packet in its buffer 'at that step', and the "
        "conditioning is on the history up to the beginning of the step; which moment of the step is "
        "meant is left open",
        correct="the buffer must be looked at just before service; at the beginning of the step it can "
        "be empty and yet the server completes a packet in that step",
        kind="unspecified",
    ),
)


@flow_identity.check(
    method="symbolic", scope="general", false={"indicator": "just before acceptance"}, part="mean"
)
def services_given_the_buffer(indicator: str) -> Finding:
    """The mean number of services in a step, given everything before service, is rate times indicator.

    In the four cases (buffer full or not, something sent or not) a service happens with probability mu
    if the buffer is then full, whatever went before. Given the past each step adds the same to both
    sides of the lemma, and both are 0 before the first step. Where a case fails, the other reading is
    refuted only by a system: one backlogged queue, one server, a free buffer at first.
    """
    import sympy

    from checks.methods.symbolic import identity

    mu, chance, services, busy = sympy.symbols("mu p E(S) E(B)", positive=True)
    moment = one_of("indicator", indicator, *INDICATORS)
    cases: dict[tuple, list] = {}
    for step in server_steps():
        cases.setdefault((step["full"], step["sent"]), []).append(step)
    found = []
    for (full, sent), (idle, completes) in cases.items():
        served = (1 - mu) * idle["served"] + mu * completes["served"]
        counted = completes["busy"] if moment == INDICATORS[0] else full
        case = f"buffer {'full' if full else 'free'}, {'something' if sent else 'nothing'} sent"
        found.append(identity(served, mu * counted, case, at=[{mu: sympy.Rational(1, 2)}]))
    found.append(
        identity(
            services + mu * chance - mu * (busy + chance),
            services - mu * busy,
            "a step in which the server is busy with probability p",
        )
    )
    result = combine(found, "equal in all cases of a step, so equal in sum")
    return result if result.outcome == PROVED else _one_backlogged_queue(moment, result.witness)


def _one_backlogged_queue(indicator: str, reason: str) -> Finding:
    """Services against busy steps of one server that is sent something in each of three steps."""
    half, period = Fraction(1, 2), 3
    found = mean_period((period,), (0,), (half,), (half,), period)
    services, busy = found.served[0], (found.busy if indicator == INDICATORS[0] else found.full)[0]
    if services == half * busy:
        return undecided(reason)
    return refuted(
        f"one backlogged queue and one server of rate {half}, free at first, {period} steps: "
        f"E S = {services}, mu E B = {half * busy}"
    )


@flow_identity.check(
    method="smt", scope="general", false=[{"gap": "0"}, {"free": "W-B_j"}], part="paths"
)
def one_server_on_every_path(gap: str, free: str) -> Finding:
    """Compare counts over all cases of a step, and add up the steps by induction with z3.

    In each of the eight cases of a step (buffer, something sent, service) the buffer at its start plus
    acceptances equal the buffer at its end plus services, and the free steps grow as stated. A smaller
    gap is refuted by a period of one step: each case is a step of one queue and one server.
    """
    import z3

    from checks.methods.smt import implies

    allowed = int(gap)
    one_of("free", free, "W-B_j+a_j", "W-B_j")
    for step in server_steps():
        free_before = 1 - step["full"]
        stated = 1 - step["busy"] + (step["accepted"] if free == "W-B_j+a_j" else 0)
        case = f"one step: buffer {step['full']} at the start, {step['sent']} packet sent"
        if free_before != stated:
            return refuted(f"{case}: free before acceptance in {free_before}, {free} = {stated}")
        if step["full"] + step["accepted"] != step["left"] + step["served"]:
            return undecided(f"{case}: the model of a step loses packets")
        if not 0 <= step["left"] <= 1:
            return undecided(f"{case}: the buffer holds {step['left']} packets")
        if abs(step["accepted"] - step["served"]) > allowed:
            return refuted(f"{case}: {step['accepted']} accepted, {step['served']} served")
    start, now, after, a, s, more_a, more_s = z3.Ints("start now after a S da dS")
    bits = [z3.And(x >= 0, x <= 1) for x in (start, now, after)]
    return combine(
        [
            implies(
                [*bits, start + a == now + s, now + more_a == after + more_s],
                start + (a + more_a) == after + (s + more_s),
                "the balance of a buffer goes from step to step",
            ),
            implies(
                [*bits, start + a == now + s],
                z3.And(a - s <= allowed, s - a <= allowed),
                "accepted against served",
            ),
        ],
        "all eight cases of a step balance; sums by induction",
    )


@flow_identity.check(
    method="exact", scope="instances", false={"indicator": "just before acceptance"}, part="mean"
)
def services_of_small_systems(indicator: str) -> Finding:
    """Compute both sides exactly for systems of one or two queues and servers over two steps.

    Arrival rates 1/2 and 1/4, service rates 1/3 and 3/5; every queue picks a server uniformly, queue 1
    has priority. From every state of the buffers, with empty queues and with queues of length 2.
    """
    moment = one_of("indicator", indicator, *INDICATORS)
    compared = 0
    for n, m in ((1, 1), (1, 2), (2, 1), (2, 2)):
        for length, full in product((0, 2), product((0, 1), repeat=m)):
            found = mean_period((length,) * n, full, _ARRIVALS[:n], _SERVICES[:m], period=2)
            busy = found.busy if moment == INDICATORS[0] else found.full
            for j in range(m):
                if found.served[j] != _SERVICES[j] * busy[j]:
                    return refuted(
                        f"n={n}, m={m}, lengths {length}, full {full}, server {j + 1}: "
                        f"E S = {found.served[j]}, mu E B = {_SERVICES[j] * busy[j]}"
                    )
                compared += 1
    return proved(f"equal in rationals for {compared} servers of 20 systems")


_ARRIVALS = (Fraction(1, 2), Fraction(1, 4))
_SERVICES = (Fraction(1, 3), Fraction(3, 5))


# The longest queue ---------------------------------------------------------------------------------

#: (queues, servers, steps of a period) of the systems whose paths are all looked at.
SYSTEMS = ((1, 2, 3), (2, 2, 1), (2, 1, 3), (3, 1, 2), (2, 2, 2))

#: Those whose paths from just below the threshold are counted.
COUNTED = ((1, 2, 3), (2, 2, 1), (2, 2, 2))

longest_queue_drift = Claim(
    "strategic.longest_queue_drift",
    title="The longest queue shrinks by the idle steps of the least busy server, whatever "
    "the priorities",
    source=Source(SOURCE, "Lemma 4.3 (there for M at least 3W)", provenance="stated"),
    kind="lemma",
    statement=r"""
A period has $W$ steps. Queue $i$ has $N_i$ packets at its start and $N_i'$ at its end; $M=\max_iN_i$,
$M'=\max_iN_i'$. In the period $A_i$ packets arrive at queue $i$, $C_i$ of its packets are accepted, and
$B_j$ is the number of steps in which the buffer of server $j$ is full <<indicator>>, $B=\min_jB_j$. In a
step, $u^i(j)=1$ if server $j$ would accept a packet of queue $i$ with everything else in this step
unchanged, and 0 if not or if the queue is empty; $R_i=\max_j\sum_su^i_s(j)-C_i$ is the realised regret.

If $M\ge <<threshold>>$, then on every path, however the queues choose and whatever the acceptance
rule, every queue satisfies
$$N_i'-M\ \le\ A_i-(W-B)+R_i,$$
and so does $M'-M$ with $i$ a longest queue at the end. If besides $A_i\le(\lambda_{\max}+\delta)W$ and
$R_i\le\delta W$ for all $i$, then, as in the source,
$$M'-M\ \le\ \lambda_{\max}W-(W-B)+2\delta W.$$

*Sharp.* One packet less is not enough: with $M=W-1$ and cyclic priorities there are paths on which the
inequality fails for a queue that ends longest.

| $(n,m,W)$ | $(1,2,3)$ | $(2,2,1)$ | $(2,2,2)$ |
| --- | --- | --- | --- |
| paths | <<below:cells>> |
| it fails on | <<failing:cells>> |
""",
    claimed={
        "threshold": "W",
        "indicator": "just before service",
        "below": "5934, 226, 71776",
        "failing": "6, 26, 112",
    },
    meaning={
        "threshold": "least length of the longest queue at the start",
        "indicator": "the moment of a step at which a server counts as busy",
        "below": "queue 1 starts with W - 1 packets, the others with at most that; all states of the "
        "buffers, arrivals, choices and services; in each step one of the n cyclic orders of the "
        "queues is the priority at all servers",
        "failing": "those of them on which the inequality fails for a queue that ends longest",
    },
    parts={"paths": "the inequality on every path", "sharp": "paths from just below the threshold"},
)

_THRESHOLDS = {"W": 0, "W-1": -1}


def _slack(outcome: Outcome, queue: int, period: int, indicator: str) -> int:
    """Right side less left side of the inequality for a queue, on a path."""
    busy = outcome.busy if indicator == INDICATORS[0] else outcome.full
    bound = outcome.arrivals[queue] - (period - min(busy)) + outcome.regret(queue)
    return bound - (outcome.end[queue] - max(outcome.start))


def _failing_path(start: int, indicator: str, systems=None, rule: str = "any") -> str:
    """A path of a small system that breaks the inequality, from a longest queue of W + start."""
    for n, m, period in SYSTEMS if systems is None else systems:
        found = paths(n, m, period, period + start, rule)
        for number, (outcome, _) in enumerate(found.outcomes):
            for i in outcome.longest():
                slack = _slack(outcome, i, period, indicator)
                if slack < 0:
                    grows = outcome.end[i] - max(outcome.start)
                    return f"M' - M = {grows} > {grows + slack} on a path: {found.show(number)}"
    return ""


def _steps_of_a_queue_and_a_server() -> Iterator[dict[str, int]]:
    """Every step of one queue and one server, with all others summed up in what reaches the server.

    ``others``: some other packet is sent to the server; ``chosen``: the server would take the packet
    of the queue rather than one of those; ``elsewhere``: another server takes it, if it goes there.
    """
    for full, nonempty, here, others, chosen, elsewhere in product((0, 1), repeat=6):
        if here and not nonempty:
            continue
        utility = int(nonempty and not full and (chosen or not others))
        yield {
            "full": full,
            "nonempty": nonempty,
            "here": here,
            "busy": int(full or here or others),
            "utility": utility,
            "accepted": utility if here else nonempty * elsewhere,
        }


@longest_queue_drift.check(
    method="smt",
    scope="general",
    false=[{"threshold": "W-1"}, {"indicator": "just before acceptance"}],
    part="paths",
)
def every_step_then_induction(threshold: str, indicator: str) -> Finding:
    """Show a fact about a step in all its cases, add it up by induction, and conclude with z3.

    *A step* of queue i and server j: the queue is empty, or the server is busy, or it would accept a
    packet of the queue. So V + B + E >= W, for V what j would have accepted and E the empty steps.
    *Induction* from s = 0: a queue that was ever empty in s steps has N + E <= s, and always N + E <=
    N_s + s, as at most one packet leaves a step. *Conclusion*, in integers: with j the least busy
    server the inequality follows from M >= W. Where a step of the proof fails, the statement is
    refuted only by a path of a small system.
    """
    import z3

    from checks.methods.smt import implies

    start = _THRESHOLDS[one_of("threshold", threshold, *_THRESHOLDS)]
    moment = one_of("indicator", indicator, *INDICATORS)
    failed = ""
    for step in _steps_of_a_queue_and_a_server():
        busy = step["busy"] if moment == INDICATORS[0] else step["full"]
        if step["accepted"] > step["nonempty"]:
            return undecided("the model of a step takes a packet from an empty queue")
        if step["utility"] + busy + (1 - step["nonempty"]) < 1:
            failed = failed or "a server neither busy nor willing"

    v, b, e, s, u, x, empty = z3.Ints("V B E s u b e")
    first, length, arrival, leaves = z3.Ints("N N_s a c")
    bit = [z3.And(y >= 0, y <= 1) for y in (u, x, empty, arrival, leaves)]
    adds_up = implies(
        [*bit, s <= v + b + e, u + x + empty >= 1],
        s + 1 <= (v + u) + (b + x) + (e + empty),
        "V + B + E >= s",
    )
    model = [
        *bit,
        *(y >= 0 for y in (first, length, e, s)),
        (empty == 1) == (length + arrival == 0),
        leaves <= 1 - empty,
    ]
    was_empty = [z3.Or(e == 0, first + e <= s), first + e <= length + s]
    begins = implies(
        [first >= 0, first == length, *(y == 0 for y in (s, v, b, e))],
        z3.And(s <= v + b + e, *was_empty),
        "before the first step",
    )
    after, empties = length + arrival - leaves, e + empty
    empties_bounded = implies(
        [*model, *was_empty],
        z3.And(z3.Or(empties == 0, first + empties <= s + 1), first + empties <= after + s + 1),
        "N + E <= N_s + s, and N + E <= s if ever empty",
    )
    end, longest, w, arrived, accepted, best = z3.Ints("N' M W A C max(V)")
    lam, delta = z3.Reals("lambda_max delta")
    period = [
        *(y >= 0 for y in (first, end, w, arrived, accepted, v, b, e)),
        end == first + arrived - accepted,
        first <= longest,
        longest >= w + start,
        best >= v,
        w <= v + b + e,
        z3.Or(e == 0, first + e <= w),
    ]
    bound = arrived - (w - b) + (best - accepted)
    concludes = implies(period, end - longest <= bound, "N' - M <= A - (W - B) + R")
    few = [arrived <= (lam + delta) * w, best - accepted <= delta * w]
    good = implies(
        [end - longest <= bound, *few],
        end - longest <= lam * w - (w - b) + 2 * delta * w,
        "with few arrivals and little regret",
    )
    proof = combine(
        [begins, adds_up, empties_bounded, concludes, good], "a step, induction, conclusion"
    )
    if not failed and proof.outcome == PROVED:
        return proof
    path = _failing_path(start, moment)
    return refuted(path) if path else undecided(failed or proof.witness)


@longest_queue_drift.check(
    method="exact",
    scope="instances",
    false=[{"threshold": "W-1"}, {"indicator": "just before acceptance"}],
    part="paths",
)
def all_paths_of_small_systems(threshold: str, indicator: str) -> Finding:
    """Go through all paths of five small systems, with every decision of every server.

    Up to three queues, two servers and three steps; the longest queue starts at the threshold and one
    above it, the others anywhere below it. All arrivals, choices, services, states of the buffers; a
    free server may take any packet sent to it, and would or would not have taken any other.
    """
    start = _THRESHOLDS[one_of("threshold", threshold, *_THRESHOLDS)]
    moment = one_of("indicator", indicator, *INDICATORS)
    count = tight = 0
    for n, m, period in SYSTEMS:
        for longest in (period + start, period + start + 1):
            found = paths(n, m, period, longest)
            count += found.count
            for number, (outcome, ways) in enumerate(found.outcomes):
                for i in range(n):
                    slack = _slack(outcome, i, period, moment)
                    if slack < 0:
                        return refuted(f"short by {-slack} for queue {i + 1}: {found.show(number)}")
                    tight += ways * (slack == 0)
    return proved(
        f"no violation on {count} paths; equality for {tight} pairs of path and queue",
        **{"paths, every decision": exact(count), "pairs with equality": exact(tight)},
    )


@longest_queue_drift.check(
    method="exact",
    scope="general",
    false=[
        {"threshold": "W-1"},
        {"indicator": "just before acceptance"},
        {"below": "5934, 226, 71777"},
        {"failing": "6, 36, 136"},
    ],
    part="sharp",
)
def paths_around_the_threshold(threshold: str, indicator: str, below: str, failing: str) -> Finding:
    """Count the paths of three small systems that start one packet below the threshold.

    Its part of the statement is these numbers, and each is counted. From the threshold itself no path
    may fail.
    """
    start = _THRESHOLDS[one_of("threshold", threshold, *_THRESHOLDS)]
    moment = one_of("indicator", indicator, *INDICATORS)
    if path := _failing_path(start, moment, COUNTED, "cyclic"):
        return refuted(path)
    rows = [_count(*system, system[-1] + start - 1, moment) for system in COUNTED]
    counted = {
        "paths": (below, [row[0] for row in rows]),
        "paths that fail": (failing, [row[1] for row in rows]),
    }
    return combine(
        decide(
            [part.strip() for part in stated.split(",")] == [str(count) for count in true],
            f"{name}: {stated}",
            f"{name}: {', '.join(map(str, true))}, not {stated}",
        )
        for name, (stated, true) in counted.items()
    )


@cache
def _count(n: int, m: int, period: int, longest: int, indicator: str) -> tuple[int, int]:
    """Paths with cyclic priorities, and those that fail for a queue that ends longest."""
    found = paths(n, m, period, longest, "cyclic")
    fails = [
        any(_slack(outcome, i, period, indicator) < 0 for i in outcome.longest())
        for outcome, _ in found.outcomes
    ]
    ways = [number for _, number in found.outcomes]
    return found.count, sum(number for number, fail in zip(ways, fails, strict=True) if fail)
