"""On average: good periods, the drift of the longest queue and of the total, the potential."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import ceil

from checks.claim import Claim, Printed, Source
from checks.finding import (
    PROVED,
    Finding,
    combine,
    decimal,
    one_of,
    proved,
    refuted,
    undecided,
)
from checks.judging import as_stated
from checks.strategic.instances import SOURCE
from checks.strategic.longest_queue import flow_identity, longest_queue_drift
from checks.strategic.small_systems import mean_period, paths, server_steps

# Good periods --------------------------------------------------------------------------------------

good_event = Claim(
    "strategic.good_event",
    title="A long period has few arrivals and little regret, with a probability given <<guarantee>>",
    source=Source(SOURCE, "Lemma 4.4", provenance="stated"),
    kind="lemma",
    statement=r"""
For $\delta,\zeta>0$ and a period of $W$ steps with history $\mathcal F$ before it, let
$\mathcal G_\delta$ be the event that $A_i\le(\lambda_i+\delta)W$ and $R_i\le\delta W$ for every queue
$i$ (arrivals and realised regret in the period, as in `strategic.longest_queue_drift`).

1. For every queue $\Pr(A_i>(\lambda_i+\delta)W\mid\mathcal F)\le e^{-<<exponent>>\delta^2W}$.
2. If each of these $2n$ conditions fails with probability at most $\zeta$, given <<guarantee>>, then
   $\Pr(\mathcal G_\delta\mid\mathcal F)\ge1-<<events>>\,\zeta$.

So for $W\ge\ln(1/\zeta)/(2\delta^2)$ what is asked of the learners is that
$\Pr(R_i>\delta W\mid\mathcal F)\le\zeta$ in every period, whatever happened before it. (The source
writes $\eta$ for $\zeta$.)
""",
    claimed={"exponent": "2", "events": "2n", "guarantee": "all that happened before the period"},
    meaning={
        "exponent": "constant in the bound on the arrivals",
        "events": "multiple of the probability that one condition fails",
        "guarantee": "what the probability of little regret is conditional on",
    },
    parts={"arrivals": "few arrivals", "union": "all conditions at once"},
    as_printed=Printed(
        {"guarantee": "nothing but the rates"},
        says="the queues use 'learning algorithms with high-probability regret guarantees'; whether "
        "these hold in each period given the past is left open",
        correct="the lemma is about probabilities given the past, so the guarantee must be too: a "
        "bound on the regret that holds on average over the past can fail on a part of it",
        kind="unspecified",
    ),
    uncovered="Markov's inequality, that arrivals of different steps are independent, and Taylor's "
    "formula: textbook facts",
)

_GUARANTEES = ("all that happened before the period", "nothing but the rates")


@good_event.check(method="symbolic", scope="general", false={"exponent": "2.1"}, part="arrivals")
def hoeffding_by_convexity(exponent: str) -> Finding:
    """Bound the moment of an arrival by its second derivative, then choose the best exponent.

    f(s) = ln(1 - lambda + lambda e^s) - lambda s has f(0) = f'(0) = 0 and f'' <= 1/4, so it is at most
    s^2/8; Markov's inequality for e^(s A) gives exp((s^2/8 - s delta) W), least at s = 4 delta. A larger
    exponent is refuted by an exact binomial tail.
    """
    import sympy

    from checks.methods.symbolic import identity

    stated = Fraction(exponent)
    if stated > 2:
        return _heavier_tail(stated)
    s, rate, delta = sympy.symbols("s lambda delta", positive=True)
    moment = 1 - rate + rate * sympy.exp(s)
    f = sympy.log(moment) - rate * s
    room = (1 - rate - rate * sympy.exp(s)) ** 2 / (4 * moment**2)  # a square, so at least 0
    best = (s - 4 * delta) ** 2 / 8
    return combine(
        [
            identity(f.subs(s, 0), sympy.Integer(0), "f(0) = 0"),
            identity(sympy.diff(f, s).subs(s, 0), sympy.Integer(0), "f'(0) = 0"),
            identity(sympy.Rational(1, 4) - sympy.diff(f, s, 2), room, "1/4 - f''"),
            identity(s**2 / 8 - s * delta + 2 * delta**2, best, "exponent less its least value"),
            proved(f"exp(-2 delta^2 W) <= exp(-{stated} delta^2 W), as {stated} <= 2"),
        ],
        "f'' <= 1/4, so f <= s^2/8; at s = 4 delta the exponent is -2 delta^2",
    )


def _heavier_tail(exponent: Fraction) -> Finding:
    """A binomial tail, summed exactly from its largest terms, above exp(-exponent delta^2 W)."""
    from checks.methods.certified import ball, precision

    delta = Fraction(1, 20)
    for period in (400, 1600, 6400, 12800, 25600):
        first = period // 2 + period // 20 + 1
        tail = _fair_tail(period, first, terms=400)
        with precision(200):
            bound = (-ball(exponent * delta**2 * period)).exp()
            if ball(tail) > bound:
                return refuted(
                    f"lambda = 1/2, delta = {delta}, W = {period}: Pr(A > {first - 1}) is at least "
                    f"{float(tail):.3e}, above {float(bound.mid()):.3e}"
                )
    return undecided(f"no tail is known to exceed exp(-{exponent} delta^2 W)")


def _fair_tail(period: int, first: int, terms: int) -> Fraction:
    """Sum of the first terms of Pr(at least ``first`` of ``period`` fair coins show heads)."""
    from math import comb

    term = total = comb(period, first)
    for k in range(first, min(first + terms - 1, period)):
        term = term * (period - k) // (k + 1)
        total += term
    return Fraction(total, 2**period)


@good_event.check(method="certified", scope="instances", false={"exponent": "3"}, part="arrivals")
def exact_binomial_tails(exponent: str) -> Finding:
    """Compare exact binomial tails with the bound, for 48 triples of rate, period and margin.

    Rates 1/10, 2/5, 1/2, 3/4; periods of 10, 50, 200, 400 steps; margins 1/20, 1/10, 1/5.
    """
    from checks.methods.certified import ball, precision

    stated, closest = Fraction(exponent), 0.0
    cases = product(("1/10", "2/5", "1/2", "3/4"), (10, 50, 200, 400), ("1/20", "1/10", "1/5"))
    with precision(100):
        for rate, period, margin in cases:
            delta = Fraction(margin)
            tail = _tail(period, Fraction(rate), (Fraction(rate) + delta) * period)
            bound = (-ball(stated * delta**2 * period)).exp()
            where = f"lambda = {rate}, delta = {margin}, W = {period}"
            if ball(tail) > bound:
                return refuted(
                    f"{where}: {float(tail):.2e} exceeds the bound {float(bound.mid()):.2e}"
                )
            if not ball(tail) <= bound:
                return undecided(f"{where}: tail and bound are not separated")
            closest = max(closest, float((ball(tail) / bound).mid()))
    return proved(f"every tail is below its bound; the largest share is {closest:.3f}")


def _tail(period: int, rate: Fraction, above: Fraction) -> Fraction:
    """Pr(A > above) for the arrivals of a period."""
    from math import comb

    p, q = rate.numerator, rate.denominator - rate.numerator
    first = above.numerator // above.denominator + 1
    hits = sum(comb(period, k) * p**k * q ** (period - k) for k in range(first, period + 1))
    return Fraction(hits, rate.denominator**period)


@good_event.check(
    method="smt",
    scope="general",
    false=[{"events": "2n-1"}, {"guarantee": "nothing but the rates"}],
    part="union",
)
def all_conditions_at_once(events: str, guarantee: str) -> Finding:
    """Add up the failures of 2n conditions, by induction on their number, with z3.

    Refuted only by a system: one queue with two packets or more, two free servers of rate 1/2, a
    period of two steps, lambda = 1/2, delta = zeta = 1/4. Its learner decides in the second step between
    the server that it used and the other one, by what it saw.
    """
    import z3

    from checks.methods.smt import implies

    given = one_of("guarantee", guarantee, *_GUARANTEES)
    fewer = {"2n": 0, "2n-1": 1}[one_of("events", events, "2n", "2n-1")]
    if given != _GUARANTEES[0]:
        return _learner_with_a_bad_past()
    failed, after, one, zeta, k, n = z3.Reals("P(k) P(k+1) P(condition) zeta k n")
    chances = [zeta > 0, *(z3.And(x >= 0, x <= 1) for x in (failed, after, one))]
    result = combine(
        [
            implies(
                [*chances, k >= 0, failed <= k * zeta, one <= zeta, after <= failed + one],
                after <= (k + 1) * zeta,
                "one condition more",
            ),
            implies(
                [*chances, n >= 1, failed <= 2 * n * zeta],
                1 - failed >= 1 - (2 * n - fewer) * zeta,
                "all 2n conditions",
            ),
        ],
        "each condition adds at most zeta",
    )
    return result if result.outcome == PROVED else _learner_of_two_steps(events)


def _two_steps(insists: Callable[[tuple[int, int]], bool]) -> dict[str, Fraction]:
    """Probabilities in a period of two steps, for a learner that may insist on its first server.

    The queue has packets enough; both servers, of rate 1/2, start free. The first packet goes to
    server 1 and is accepted. In step 2 server 2 is free and server 1 is if it has served, so the
    regret is 1 if the learner insists on server 1 and finds it full, and 0 otherwise.
    """
    half, found = (
        Fraction(1, 2),
        {"arrivals": Fraction(0), "regret": Fraction(0), "good": Fraction(0)},
    )
    for first, second, served in product((0, 1), repeat=3):
        chance = half**3
        again = insists((first, second))
        could = (1 + served, 2)  # what servers 1 and 2 would have accepted in the two steps
        accepted = 1 + (served if again else 1)
        many = first + second > (half + Fraction(1, 4)) * 2
        regret = max(could) - accepted > Fraction(1, 4) * 2
        found["arrivals"] += chance * many
        found["regret"] += chance * regret
        found["good"] += chance * (not many and not regret)
    return found


def _learner_of_two_steps(events: str) -> Finding:
    """Both conditions fail with probability exactly 1/4, and never together."""
    zeta = Fraction(1, 4)
    found = _two_steps(lambda arrivals: arrivals in ((0, 0), (1, 0)))
    bound = 1 - zeta * (2 if events == "2n" else 1)
    fine = found["arrivals"] <= zeta and found["regret"] <= zeta
    if not fine or found["good"] >= bound:
        return undecided(f"no system is known in which 1 - ({events}) zeta is too much")
    return refuted(
        f"one queue, two servers, two steps: arrivals fail with probability {found['arrivals']}, regret "
        f"with {found['regret']}, never together; Pr(G) = {found['good']} < {bound}"
    )


def _learner_with_a_bad_past() -> Finding:
    """A learner that was unlucky before the period, with probability 1/4, insists on its server."""
    zeta, unlucky = Fraction(1, 4), Fraction(1, 4)
    bad, fine = _two_steps(lambda arrivals: True), _two_steps(lambda arrivals: False)
    average = unlucky * bad["regret"] + (1 - unlucky) * fine["regret"]
    if not (average <= zeta and bad["arrivals"] <= zeta) or bad["good"] >= 1 - 2 * zeta:
        return undecided("no learner is known whose guarantee fails on a part of the past only")
    return refuted(
        f"a learner that insists on its server after a past of probability {unlucky}: much regret with "
        f"probability {average} on average over the past, yet Pr(G) = {bad['good']} < {1 - 2 * zeta} "
        "given that past"
    )


# The longest queue, on average ---------------------------------------------------------------------

longest_queue_expected = Claim(
    "strategic.longest_queue_expected",
    title="On average the longest queue loses the idle steps of the least busy server, up to errors",
    source=Source(SOURCE, "Lemma 4.5", provenance="reconstructed"),
    kind="lemma",
    statement=r"""
Let $M$ and $M'$ be the lengths of the longest queue at the start and at the end of a period of $W$
steps, $A_i$ and $R_i$ the arrivals at queue $i$ and its realised regret in the period, $\delta,\zeta>0$.
Let $M\ge W$, and let each of the conditions $A_i\le(\lambda_i+\delta)W$, $R_i\le\delta W$ fail with
probability at most $\zeta$ given the history $\mathcal F$ before the period. Then
$$\begin{aligned}E(M'-M\mid\mathcal F)\ \le\ &\lambda_{\max}W-W+E(B\mid\mathcal F)\\
&+<<slack>>\,\delta W+<<failures>>\,n\zeta W,\end{aligned}$$
where $B$ counts the busy steps of the least busy server, just before service. (The source's constant
is lost; from the good event and its complement alone one gets $4n\zeta W$.)
""",
    claimed={"slack": "2", "failures": "2"},
    meaning={
        "slack": "multiple of the margin delta",
        "failures": "multiple of n times the probability that a condition fails",
    },
    rests_on=["strategic.longest_queue_drift", "strategic.good_event"],
)


@longest_queue_expected.check(
    method="smt", scope="general", false=[{"slack": "1.9"}, {"failures": "1.9"}]
)
def from_paths_to_means(slack: str, failures: str) -> Finding:
    """Split arrivals and regret by the conditions, take means, and compare with z3, per step.

    The pathwise bound A - (W - B) + R holds on every path with M >= W, good or not. A is at most
    (lambda + delta) W where no condition on arrivals fails and W otherwise, R at most delta W and W in
    the same way; the conditions of n queues fail with probability at most n zeta. The error terms are
    not shown to be needed by this: smaller constants are refuted by systems of many queues.
    """
    import z3

    from checks.methods.smt import implies, real

    lam, delta, n_zeta, busy, drift = z3.Reals("lambda_max delta n*zeta E(B) E(M'-M)")
    few, many, pa = z3.Reals("E(A|few) E(A|many) Pr(many)")
    little, much, pr = z3.Reals("E(R|little) E(R|much) Pr(much)")
    arrivals, regret = (1 - pa) * few + pa * many, (1 - pr) * little + pr * much
    hypotheses = [
        *(z3.And(lam > 0, lam < 1), delta > 0, n_zeta > 0, z3.And(busy >= 0, busy <= 1)),
        *(z3.And(x >= 0, x <= 1, x <= n_zeta) for x in (pa, pr)),
        *(z3.And(few >= 0, few <= lam + delta), z3.And(many >= 0, many <= 1)),
        *(little <= delta, much <= 1),
        drift <= arrivals - 1 + busy + regret,
    ]
    result = combine(
        [
            as_stated(longest_queue_drift, threshold="W", indicator="just before service"),
            implies(
                hypotheses,
                drift <= lam - 1 + busy + real(slack) * delta + real(failures) * n_zeta,
                "mean drift, per step",
            ),
        ],
        "arrivals and regret each exceed by delta, and by 1 where a condition fails",
    )
    if result.outcome == PROVED:
        return result
    return _needed_errors(Fraction(slack), Fraction(failures), result.witness)


def _mean_of_longest(law: dict[int, Fraction], queues: int) -> Fraction:
    """Mean of the largest of independent changes with the same law."""
    values = sorted(law)
    below = [sum(law[x] for x in values if x <= value) ** queues for value in values]
    shares = [now - before for now, before in zip(below, [Fraction(0), *below], strict=False)]
    return sum(value * share for value, share in zip(values, shares, strict=True))


def _systems_of_many_queues() -> list[tuple[str, Fraction, Fraction]]:
    """Name, mean drift of the longest queue less (lambda - 1) W, delta W and n zeta W, of two systems.

    Every queue has a server of its own, free at first; one server is full at first, and one is never
    used, so B = 0. All queues start with W packets.

    *Rare failures*: one step, lambda = zeta; a queue sends to the full server with probability zeta
    (regret 1), else to its own, which accepts it. For zeta -> 0 the excess is about (2 - 1/n) n zeta.
    *Much slack*: two steps, lambda = delta = 1/2; every queue sends first to the full server, then to
    its own: regret 1 = delta W, and no number of arrivals exceeds (lambda + delta) W = 2.
    """
    rate, tiny, half = Fraction(1, 5000), Fraction(1, 10**6), Fraction(1, 2)
    law = {
        1: rate * rate,  # a packet arrives, none is accepted
        0: 2 * rate * (1 - rate),
        -1: (1 - rate) ** 2,
    }
    drift = _mean_of_longest(law, 40)
    rare = f"40 queues, W = 1, lambda = zeta = {rate}", drift - (rate - 1), tiny, 40 * rate
    law = {arrived - 1: half**2 * (2 if arrived == 1 else 1) for arrived in range(3)}
    drift = _mean_of_longest(law, 20)
    slack = "20 queues, W = 2, lambda = delta = 1/2", drift - 2 * (half - 1), Fraction(1), 40 * tiny
    return [rare, slack]


def _needed_errors(slack: Fraction, failures: Fraction, reason: str = "") -> Finding:
    worst = []
    for name, excess, delta, n_zeta in _systems_of_many_queues():
        allowed = slack * delta + failures * n_zeta
        if excess > allowed:
            return refuted(
                f"{name}: E(M' - M) exceeds (lambda - 1) W + E(B) by {decimal(excess, 6)}, more than "
                f"{decimal(allowed, 6)}"
            )
        worst.append(f"{decimal(excess, 5)} of {decimal(allowed, 5)} ({name})")
    return undecided(reason) if reason else proved("error terms used: " + "; ".join(worst))


@longest_queue_expected.check(
    method="exact", scope="instances", false=[{"slack": "1.9"}, {"failures": "1.9"}]
)
def errors_that_are_used_up(slack: str, failures: str) -> Finding:
    """Compute the mean drift exactly in two systems of many queues that use up the error terms.

    Every queue has a server of its own, one server is full and one is idle throughout. In one system
    a queue rarely tries the full server; in the other all do so in one of two steps.
    """
    return _needed_errors(Fraction(slack), Fraction(failures))


# The total -----------------------------------------------------------------------------------------

total_drift = Claim(
    "strategic.total_drift",
    title="On average the queues together lose what the servers serve, up to <<extra>> packets",
    source=Source(SOURCE, "Lemma 4.7", provenance="stated"),
    kind="lemma",
    statement=r"""
Let $N$ and $N'$ be the packets in all queues at the start and at the end of a period of $W$ steps,
$b$ and $b'$ the numbers of full buffers, $\lambda=\sum_i\lambda_i$, $\mu=\sum_j\mu_j$; in the period
$A_i$ packets arrive at queue $i$, server $j$ completes $S_j$ packets and is full just before service in
$B_j$ steps, and $B=\min_jB_j$. Then $N'+b'=N+b+\sum_iA_i-\sum_jS_j$ on every path, and
$$\begin{aligned}E(N'-N\mid\mathcal F)\ &=\ \lambda W-\sum_j\mu_jE(B_j\mid\mathcal F)\\
&\qquad+b-E(b'\mid\mathcal F)\\
&\le\ \lambda W-\sum_j\mu_jE(B_j\mid\mathcal F)+<<extra>>\\
&\le\ \lambda W-\mu\,E(B\mid\mathcal F)+<<extra>>.\end{aligned}$$
""",
    claimed={"extra": "m"},
    meaning={"extra": "packets that were in the buffers before the period"},
    rests_on=["strategic.flow_identity"],
)

_EXTRAS = {"m": 0, "m-1": -1}


@total_drift.check(method="smt", scope="general", false={"extra": "m-1"})
def packets_are_conserved(extra: str) -> Finding:
    """Add up a step of all queues and servers by induction, then bound the buffers, with z3.

    In all eight cases of a step of a server (buffer, something sent, service) it keeps what it had and
    accepts less what it serves; a packet that is accepted leaves one queue. So waiting plus buffered
    packets change by arrivals less services. Fewer extra packets are refuted by one step of one empty
    queue in front of a full server.
    """
    import z3

    from checks.methods.smt import implies

    fewer = _EXTRAS[one_of("extra", extra, *_EXTRAS)]
    for step in server_steps():
        if step["full"] + step["accepted"] != step["left"] + step["served"]:
            return undecided("the model of a step loses packets")
    start, now, in_start, in_now, a, s = z3.Ints("N N_s b b_s A S")
    more_a, taken, more_s = z3.Ints("dA accepted dS")
    en, eb, m, rate, work, least, mu = z3.Reals("E(N'-N) E(b') m lambda*W work E(B) mu")
    first = z3.Real("b")
    buffers = [first >= 0, first <= m, eb >= 0, eb <= m]
    result = combine(
        [
            as_stated(flow_identity, indicator="just before service"),
            implies(
                [now + in_now == start + in_start + a - s],
                (now + more_a - taken) + (in_now + taken - more_s)
                == start + in_start + (a + more_a) - (s + more_s),
                "a step of all queues and servers",
            ),
            implies(
                [*buffers, m >= 1, en == rate - work + first - eb],
                en <= rate - work + m + fewer,
                "full buffers at the start and at the end",
            ),
            implies(
                [*buffers, mu > 0, work >= mu * least, en <= rate - work + m + fewer],
                en <= rate - mu * least + m + fewer,
                "every server is busy at least as often as the least busy one",
            ),
        ],
        "a step, induction, and b <= m",
    )
    return result if result.outcome == PROVED else _full_buffers(fewer, result.witness)


def _full_buffers(fewer: int, reason: str) -> Finding:
    """Compare drift and bound for a step of empty queues in front of full buffers."""
    for m in (1, 2):
        rates, arrivals = (Fraction(9, 10),) * m, (Fraction(1, 10),)
        excess = _excess((0,), (1,) * m, arrivals, rates, 1) - (m + fewer)
        if excess > 0:
            return refuted(
                f"an empty queue of rate 1/10, full buffers of rate 9/10, m = {m}, one step: E(N' - N) "
                f"exceeds the bound by {excess}"
            )
    return undecided(reason)


def _excess(lengths, full, arrivals, services, period) -> Fraction:
    """E(N' - N) less (lambda W - sum of mu_j E(B_j)), computed over all paths."""
    found = mean_period(lengths, full, arrivals, services, period)
    work = sum(mu * busy for mu, busy in zip(services, found.busy, strict=True))
    return found.waiting - sum(lengths) - (sum(arrivals) * period - work)


@total_drift.check(method="exact", scope="instances", false={"extra": "m-1"})
def total_of_small_systems(extra: str) -> Finding:
    """Compute both sides in rationals for one or two queues and servers, from all states of buffers.

    Arrival rates 1/10 and 1/4, service rates 9/10 and 4/5, periods of 1 and 2 steps, queues of length
    0 or 2; the equality with the full buffers is checked too.
    """
    fewer = _EXTRAS[one_of("extra", extra, *_EXTRAS)]
    arrivals, services = (Fraction(1, 10), Fraction(1, 4)), (Fraction(9, 10), Fraction(4, 5))
    count = 0
    for n, m, length, period in product((1, 2), (1, 2), (0, 2), (1, 2)):
        for full in product((0, 1), repeat=m):
            case = (length,) * n, full, arrivals[:n], services[:m], period
            excess = _excess(*case)
            if excess != sum(full) - mean_period(*case).left_full:
                return undecided("the mean change is not what the buffers say")
            if excess > m + fewer:
                return refuted(
                    f"n={n}, m={m}, W={period}, lengths {length}, full {full}: E(N' - N) exceeds "
                    f"lambda W - sum mu_j E(B_j) by {decimal(excess, 4)} > {m + fewer}"
                )
            count += 1
    return proved(f"equality with b - E(b') in {count} systems, at most m in all")


# The potential -------------------------------------------------------------------------------------

potential_drift = Claim(
    "strategic.potential_drift",
    title="With the total service rate as weight of the longest queue, the busy steps cancel and the "
    "potential drifts down",
    source=Source(SOURCE, "Lemma 4.8", provenance="reconstructed"),
    kind="lemma",
    statement=r"""
Let $\Phi=N+<<weight>>\,M$, where $N$ is the number of packets in the queues and $M$ the length of the
longest; $\lambda=\sum_i\lambda_i$, $\mu=\sum_j\mu_j$ and $\Delta=\mu(1-\lambda_{\max})-\lambda$. Let
$\delta,\zeta>0$, and in a period of $W$ steps let each of the conditions $A_i\le(\lambda_i+\delta)W$,
$R_i\le\delta W$ on arrivals and realised regret fail with probability at most $\zeta$ given the history
$\mathcal F$ before it.

1. $\Phi\ge<<region>>$ implies $M\ge W$.
2. If $M\ge W$ then
   $$\begin{aligned}E(\Phi'-\Phi\mid\mathcal F)\ \le\ &-\Delta W+m\\
   &+<<weight>>\,(2\delta+2n\zeta)W.\end{aligned}$$
3. If $\mu(2\delta+2n\zeta)\le\Delta/2$ and $W> <<period>>\,m/\Delta$, that bound is negative.
4. Always $|\Phi'-\Phi|\le<<increment>>$.
""",
    claimed={
        "weight": "μ",
        "region": "(n+μ)W",
        "period": "2",
        "increment": "(n+μ)W",
    },
    meaning={
        "weight": "weight of the longest queue in the potential",
        "region": "potential from which on it drifts down",
        "period": "multiple of m / Delta that a period must exceed",
        "increment": "largest change of the potential in a period",
    },
    rests_on=["strategic.longest_queue_expected", "strategic.total_drift"],
    parts={
        "region": "a large potential means a long queue",
        "drift": "the drift over a period",
        "sign": "when the bound on the drift is negative",
        "increments": "the change of the potential is bounded",
    },
)


def _weight(text: str) -> Fraction:
    """The multiple of mu that a weight is."""
    match = re.fullmatch("([0-9.]*)μ", text)
    if not match:
        raise ValueError(f"weight = {text!r}: must be μ or a multiple of it, such as 0.9μ")
    return Fraction(match[1] or 1)


@potential_drift.check(
    method="symbolic",
    scope="general",
    false=[{"weight": "0.9μ"}, {"weight": "1.1μ"}],
    part="drift",
)
def busy_steps_cancel(weight: str) -> Finding:
    """Add the two drift lemmas, the second times the weight, and read off what is left.

    The sum of their right sides is -Delta W + weight (2 delta + 2 n zeta) W + m, with no busy step B
    left. With another weight some are left; that is refuted by a system whose drift is computed.
    """
    import sympy

    from checks.methods.symbolic import identity

    names = "lambda mu lambda_max delta zeta E(B) W n m"
    rate, mu, largest, delta, zeta, busy, period, n, m = sympy.symbols(names, positive=True)
    factor = _weight(weight)
    on_longest = sympy.Rational(factor.numerator, factor.denominator) * mu
    total = rate * period - mu * busy + m
    errors = (2 * delta + 2 * n * zeta) * period
    longest = largest * period - period + busy + errors
    gap = mu * (1 - largest) - rate
    result = combine(
        [
            as_stated(longest_queue_expected, slack="2", failures="2"),
            as_stated(total_drift, extra="m"),
            identity(
                total + on_longest * longest,
                -gap * period + on_longest * errors + m,
                "sum of both bounds",
            ),
        ]
    )
    return result if result.outcome == PROVED else _wrong_weight(factor, result.witness)


@potential_drift.check(
    method="smt",
    scope="general",
    false=[{"weight": "0.9μ"}, {"weight": "1.1μ"}],
    part="drift",
)
def drift_of_the_potential(weight: str) -> Finding:
    """Ask z3 whether the two drift lemmas imply that of the potential; per step of the period.

    Another weight is refuted not by the bounds alone but by a system whose drift is computed: for
    smaller ones a single queue that finds a free server in each step, for larger ones a queue that
    starves behind another at the only server.
    """
    import z3

    from checks.methods.smt import implies, real

    factor = _weight(weight)
    dn, dm, rate, mu, largest, busy, errors, rest = z3.Reals(
        "E(N'-N) E(M'-M) lambda mu lambda_max E(B) 2delta+2n*zeta m/W"
    )
    hypotheses = [
        rate > 0,
        mu > 0,
        z3.And(largest > 0, largest < 1),
        z3.And(busy >= 0, busy <= 1),
        errors > 0,
        rest > 0,
        dn <= rate - mu * busy + rest,
        dm <= largest - 1 + busy + errors,
    ]
    drift = dn + real(factor) * mu * dm
    bound = -(mu * (1 - largest) - rate) + real(factor) * mu * errors + rest
    result = implies(hypotheses, drift <= bound, "drift of the potential per step")
    return result if result.outcome == PROVED else _wrong_weight(factor, result.witness)


def _wrong_weight(factor: Fraction, reason: str) -> Finding:
    """A system whose potential with another weight drifts up by more than the bound."""
    from checks.methods.certified import ball, precision

    if factor == 1:
        return undecided(reason)
    delta = min(abs(factor - 1), Fraction(1)) / 16
    period, zeta = ceil(7 / delta**2), Fraction(1, 10**6)
    with precision(100):
        if not (-ball(2 * delta**2 * period)).exp() < ball(
            zeta
        ):  # the arrivals' condition may fail
            return undecided("the period is too short for its arrivals")
    half = Fraction(1, 2)
    if factor < 1:
        # One queue; each packet goes to a fresh server, so all are accepted (regret 0, and B = 0).
        m, n = period + 1, 1
        mu, rate, largest = Fraction(9, 10) * m, half, half
        drift = (1 + factor * mu) * (half - 1) * period
        system = f"one queue, lambda = 1/2, {m} servers of rate 9/10, a fresh one in each step"
    else:
        # Queue 2 is preferred at the only server; queue 1 is never accepted, and could not be.
        m, n = 1, 2
        mu, largest, rate = Fraction(9, 10), half, half + Fraction(1, 10)
        accepted = 1 + (period - 1) * mu  # the server is free at first, then if it has served
        drift = rate * period - accepted + factor * mu * largest * period
        system = "queues of rates 1/2 and 1/10, the second preferred at one server of rate 9/10"
    gap = mu * (1 - largest) - rate
    bound = -gap * period + m + factor * mu * (2 * delta + 2 * n * zeta) * period
    if drift <= bound:
        return undecided(f"{system}: drift {drift}, bound {bound}")
    return refuted(
        f"the potential with weight {factor} mu drifts by at least {decimal(drift / period, 4)} per "
        f"step, above the bound {decimal(bound / period, 4)}, for {system}, W = {period}"
    )


@potential_drift.check(
    method="smt",
    scope="general",
    false=[{"region": "(n+μ)(W-1)"}, {"region": "(1+μ)W"}],
    part="region",
)
def a_large_potential_means_a_long_queue(region: str) -> Finding:
    """N <= n M, so Phi <= (n + mu) M; z3 does the rest. Refuted by lengths of queues."""
    import z3

    from checks.methods.smt import implies

    total, longest, n, mu, period = z3.Reals("N M n mu W")
    stated = {
        "(n+μ)W": lambda n, mu, period: (n + mu) * period,
        "(n+μ)(W-1)": lambda n, mu, period: (n + mu) * (period - 1),
        "(1+μ)W": lambda n, mu, period: (1 + mu) * period,
    }
    least = stated[one_of("region", region, *stated)]
    hypotheses = [
        *(n >= 1, mu > 0, period >= 1, longest >= 0),
        total <= n * longest,
        total + mu * longest >= least(n, mu, period),
    ]
    result = implies(hypotheses, longest >= period, "M >= W")
    if result.outcome == PROVED:
        return result
    for n, period in product((1, 2, 3), (2, 3)):
        for lengths in product(range(period), repeat=n):
            if sum(lengths) + max(lengths) >= least(n, 1, period):
                return refuted(f"mu = 1, W = {period}, lengths {lengths}: Phi is large, M is not")
    return undecided(result.witness)


@potential_drift.check(method="smt", scope="general", false={"period": "1.9"}, part="sign")
def a_long_period_makes_the_bound_negative(period: str) -> Finding:
    """Ask z3 whether the bound is negative, per step, for small errors and long periods.

    A smaller multiple is refuted by a system for which the bound is 0. What it breaks is the sign of the
    bound; the drift itself may still be negative.
    """
    import z3

    from checks.methods.smt import implies, real

    gap, errors, rest = z3.Reals("Delta mu(2delta+2n*zeta) m/W")
    hypotheses = [gap > 0, errors >= 0, errors <= gap / 2, rest > 0, real(period) * rest < gap]
    result = implies(hypotheses, -gap + errors + rest < 0, "bound per step")
    return result if result.outcome == PROVED else _bound_of_twenty_servers(period, result.witness)


def _bound_of_twenty_servers(multiple: str, reason: str) -> Finding:
    """The bound on the drift for one queue, with half the margin taken by errors and half by buffers."""
    n, m, rate, mu, period = 1, 20, Fraction(1, 2), Fraction(3), 40
    gap, delta, zeta = mu * (1 - rate) - rate, Fraction(1, 24), Fraction(1, 24)
    errors = mu * (2 * delta + 2 * n * zeta)
    bound = -gap * period + m + errors * period
    long_enough = period > Fraction(multiple) * m / gap
    if errors > gap / 2 or not long_enough or bound < 0:
        return undecided(reason)
    return refuted(
        f"one queue of rate {rate}, {m} servers of total rate {mu}, delta = zeta = {delta}: errors "
        f"{errors} = Delta/2, W = {period} > {multiple} m/Delta, and the bound is {bound}"
    )


@potential_drift.check(
    method="smt", scope="general", false={"increment": "(n+μ)W-1"}, part="increments"
)
def changes_in_a_period(increment: str) -> Finding:
    """Each queue changes by at most W; so do the longest one and, n times, the total (induction, z3).

    Less than that is refuted by a path of two queues and two servers of which the first step already
    changes the potential by n + mu.
    """
    import z3

    from checks.methods.smt import implies

    stated = {"(n+μ)W": 0, "(n+μ)W-1": 1}[one_of("increment", increment, "(n+μ)W", "(n+μ)W-1")]
    period, first, first_after, last, last_after = z3.Reals("W N_l N_l' N_i N_i'")
    so_far, change, k, total, longest, n, mu = z3.Reals("D x k N'-N M'-M n mu")

    def within(x, size):
        return z3.And(x <= size, -x <= size)

    ends = [within(first_after - first, period), within(last_after - last, period)]
    result = combine(
        [
            implies(
                [period > 0, *ends, first >= last, last_after >= first_after],
                within(last_after - first, period),
                "longest queue (l at the start, i at the end)",
            ),
            implies(
                [k >= 0, period > 0, within(so_far, k * period), within(change, period)],
                within(so_far + change, (k + 1) * period),
                "one queue more",
            ),
            implies(
                [n >= 1, mu > 0, period >= 1, within(total, n * period), within(longest, period)],
                within(total + mu * longest, (n + mu) * period - stated),
                "potential",
            ),
        ],
        "n + mu times the change of one queue",
    )
    return result if result.outcome == PROVED else _largest_change(stated, result.witness)


def _largest_change(less: int, reason: str) -> Finding:
    """A path of one step that changes the potential by more than (n + mu) W - less; mu is 1."""
    found = paths(2, 2, 1, 1)
    for number, (outcome, _) in enumerate(found.outcomes):
        change = sum(outcome.end) - sum(outcome.start) + max(outcome.end) - max(outcome.start)
        if abs(change) > 3 - less:
            return refuted(f"{found.show(number)}; with mu = 1 the potential changes by {change}")
    return undecided(reason)
