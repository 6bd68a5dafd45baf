"""Why no smaller overprovisioning will do: uniform learners on many identical servers."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import count, product

from checks.claim import Claim, Source
from checks.finding import (
    Finding,
    combine,
    decide,
    decimal,
    exact,
    one_of,
    proved,
    refuted,
    undecided,
)
from checks.judging import one_for_each, unfit
from checks.methods.certified import rounds_to
from checks.strategic.evidence.no_less import (
    SINGLE_SERVERS,
    SINGLE_TOTALS,
    SYSTEMS,
    THREE_RATES,
    VECTORS,
    phase_transition,
    single_queue,
    three_queues,
    vector_name,
)
from checks.strategic.instances import SOURCE

# One queue ----------------------------------------------------------------------------------------

tightness = Claim(
    "strategic.tightness",
    title="No factor below 1/(1 - arrival rate) is enough, whatever the arrival rate",
    source=Source(SOURCE, "Section 4, last theorem", provenance="reconstructed"),
    statement=r"""
Let $\lambda\in(0,1)$ and $\varepsilon\in(0,1)$. One queue with arrival rate $\lambda$ meets $m$ servers
of rate $\nu=\mu/m<1$ each, with $\mu=(1-\varepsilon)\lambda/(1-\lambda)$ in total, and sends each packet
to a server drawn uniformly. At the end of a step it holds $Q$ packets, and $b$ buffers are full.

1. The Hamacher sum of the rates, $h=<<clearing>>$, is below $\lambda$ exactly for $m>\mu/\varepsilon$.
2. $Q+b/(1+\mu-\nu)$ drifts by exactly $\lambda-h$ in every step that starts with a nonempty queue, and
   by at least $\lambda-h$ in the others. So from the empty system
   $$E\,Q_T\ \ge\ (\lambda-h)\,T-\frac m{1+\mu-\nu}.$$
3. The learner has no regret on any window, in expectation and with high probability, whatever
   happened before.

So for $m>\mu/\varepsilon$ the mean queue grows without bound, although the overprovisioning factor
$\mu/\lambda$ is $(1-\varepsilon)/(1-\lambda)$.

*Example.* $\lambda=1/2$ and $\mu=9/10$, a factor of 1.8: ten servers of rate $9/100$ clear
<<accepts>> packets per step of a backlogged queue, which is below $1/2$, and <<fewest>> is the least
number of servers for which this happens. With 200 servers:

| $\mu$ | 0.9 | 0.95 | 1.05 | 1.1 |
| --- | --- | --- | --- | --- |
| $\max(0,\lambda-h)$ | <<growth:cells>> |
""",
    claimed={
        "servers": "1",
        "clearing": r"\mu/(1+\mu-\nu)",
        "accepts": "90/181",
        "fewest": "10",
        "growth": "0.0252, 0.0116, 0.0000, 0.0000",
    },
    meaning={
        "servers": "what multiplies mu/epsilon in the number of servers",
        "clearing": "packets cleared per step of a backlogged queue",
        "fewest": "servers from which on the queue of the example is unstable",
        "growth": "growth of the queue per step for four total rates of 200 servers",
    },
    parts={
        "servers": "how many servers suffice",
        "growth": "linear growth of the mean queue",
        "example": "the numbers of the example",
    },
    rests_on=["strategic.uniform_is_windowed_no_regret"],
    uncovered="that the mean queue of the example grows no faster than by the drift: simulated",
)


def _in_whole_numbers(hypotheses, conclusion, name, *whole) -> Finding:
    """z3 over the reals; a counterexample must have the whole numbers of servers and queues given."""
    from checks.methods.smt import implies

    found = implies(hypotheses, conclusion, name)
    if found.outcome != "refuted":
        return found
    special = implies([*hypotheses, *whole], conclusion, name)
    if special.outcome == "refuted":
        return special
    return undecided(
        f"{name}: fails for numbers that are not whole, not for {', '.join(map(str, whole))}"
    )


@tightness.check(
    method="smt", scope="general", false=[{"servers": "0.99"}, {"servers": "1.01"}], part="servers"
)
def below_the_arrival_rate(servers: str) -> Finding:
    """Ask z3 whether h < lambda holds exactly for more than mu/epsilon servers, over all parameters.

    The number of servers is a real number here, at least mu, so that its rates are below 1. Another
    number is refuted by ten servers.
    """
    import z3

    from checks.methods.smt import real

    rate, eps, total, m = z3.Reals("lambda epsilon mu m")
    hypotheses = [
        *(z3.And(x > 0, x < 1) for x in (rate, eps)),
        total * (1 - rate) == (1 - eps) * rate,
        m >= 1,
        m > total,
    ]
    below = total * m < rate * (m + total * m - total)  # h < lambda, times m (1 + mu - nu) > 0
    enough = m * eps > real(servers) * total
    return _in_whole_numbers(
        hypotheses, below == enough, "h < lambda against the number of servers", m == 10
    )


_CLEARING = {r"\mu/(1+\mu-\nu)": "mu/(1+mu-nu)", r"\mu/(1+\mu)": "mu/(1+mu)"}


@tightness.check(
    method="symbolic", scope="general", false={"clearing": r"\mu/(1+\mu)"}, part="growth"
)
def drift_of_one_queue(clearing: str) -> Finding:
    """Compute the drift from every state, for all rates and numbers of servers.

    A packet is accepted with probability 1 - b/m; then each full buffer stays full with probability
    1 - nu. In a step that starts empty a packet is sent with probability lambda only, and the drift
    exceeds lambda - h by (1 - lambda) h (1 - b/m). Summed over T steps, with b between 0 and m, this
    bounds the mean queue from below. Another clearing rate is refuted by a state of ten servers.
    """
    import sympy

    from checks.methods.symbolic import identity

    one_of("clearing", clearing, *_CLEARING)
    rate, nu, m, b = sympy.symbols("lambda nu m b", positive=True)
    total = m * nu
    stated = sympy.sympify(_CLEARING[clearing], locals={"mu": total, "nu": nu})
    odds = total / (1 - nu)
    weight = 1 / (1 + total - nu)
    accepted = 1 - b / m
    sent = -accepted + weight * ((1 - nu) * (b + accepted) - b)
    nothing = weight * ((1 - nu) * b - b)
    drift = sympy.simplify(rate + sent)
    ten = {rate: sympy.Rational(1, 2), nu: sympy.Rational(9, 100), m: 10, b: 0}
    if sympy.simplify(drift - (rate - stated)) != 0:
        found, told = drift.subs(ten), (rate - stated).subs(ten)
        text = f"ten servers of rate 9/100, arrival rate 1/2, buffers empty: the drift is {found}"
        return refuted(f"{text}, not {told}") if found != told else undecided(text)
    excess = rate * (1 + sent) + (1 - rate) * nothing - (rate - stated)
    queue, steps = sympy.symbols("Q T", positive=True)
    slack = queue + weight * b - (rate - stated) * steps + weight * (m - b)
    return combine(
        [
            identity(stated, odds / (1 + odds), "h is the Hamacher sum"),
            identity(rate + sent, rate - stated, "drift in a step that starts nonempty"),
            identity(excess, (1 - rate) * stated * accepted, "excess in a step that starts empty"),
            identity(queue - (rate - stated) * steps + weight * m, slack, "the mean after T steps"),
        ],
        "drift lambda - h when the queue is not empty; otherwise more by (1 - lambda) h (1 - b/m)",
    )


def _hamacher(total: Fraction, servers: int) -> Fraction:
    """Hamacher sum of identical rates, from their odds."""
    odds = servers * (rate := total / servers) / (1 - rate)
    return odds / (1 + odds)


@tightness.check(
    method="exact",
    scope="general",
    false=[
        {"accepts": "91/181"},
        {"fewest": "9"},
        {"fewest": "5"},
        {"growth": "0.0252, 0.0117, 0.0000, 0.0000"},
    ],
    part="example",
)
def numbers_of_the_example(accepts: str, fewest: str, growth: str) -> Finding:
    """Compute the numbers of the example in rationals; its part of the statement is these numbers.

    The clearing rate of ten servers also from the stationary law of the number of full buffers; nine
    servers clear 1/2 exactly, five clear 90/172.
    """
    from simlib.strategic.exact import backlogged_chain

    arrivals, total = Fraction(1, 2), Fraction(9, 10)
    chain = backlogged_chain(1, 10, total_service_rate=total).throughput
    found = [
        decide(
            chain == _hamacher(total, 10) == Fraction(accepts) and chain < arrivals,
            f"ten servers clear {chain} < 1/2",
            f"ten servers clear {chain}, not {accepts}",
            **{"clearing rate": exact(chain)},
        )
    ]
    for servers, low in ((int(fewest), True), (int(fewest) - 1, False)):
        clears = _hamacher(total, servers)
        found.append(
            decide(
                (clears < arrivals) == low,
                f"{servers} servers clear {clears}",
                f"{servers} servers clear {clears}, {'not ' if low else ''}below 1/2",
            )
        )
    texts = one_for_each("growth", growth, *SINGLE_TOTALS)
    for of, text in zip(SINGLE_TOTALS, texts, strict=True):
        value = max(Fraction(0), arrivals - _hamacher(Fraction(of), SINGLE_SERVERS))
        told = f"total rate {of}: {decimal(value, 6)}"
        wrong = f"total rate {of}: growth {decimal(value, 6)}, not {text}"
        found.append(rounds_to(value, text, "growth", told, wrong))
    return combine(found)


GROWTH_WITHIN = 0.005


@tightness.check(
    method="statistical",
    scope="instances",
    false={"growth": "0.0000, 0.0000, 0.0000, 0.0000"},
    part="growth",
    uses=single_queue,
    alpha=4e-7,
)
def growth_of_one_queue(single, growth: str) -> Finding:
    """Simulate the example with 200 servers and compare the growth over the second half of the run.

    t intervals, alpha split over four total rates: the growth of a run adds up thousands of steps. It is
    arrivals less clearings; the arrivals, whose mean is known, are taken out, so the statistic is the
    arrival rate less the clearing rate. Its standard deviation is 0.003 at most, its half-width 0.0031
    at most with 40 runs of 80,000 steps. d = 0.005 is a fifth of the largest growth, and covers what is
    left of the start. No growth is refuted with probability above 1 - 1e-6 by the first total rate.
    """
    from checks.methods.statistical import equals
    from simlib.estimate import mean_normal

    found = []
    texts = one_for_each("growth", growth, *SINGLE_TOTALS)
    for total, text in zip(SINGLE_TOTALS, texts, strict=True):
        name = f"growth per step, total rate {total}"
        slopes = single[f"shortfall_{total}"]
        bad = unfit(slopes, single_queue, name)
        found.append(
            bad or equals(mean_normal(slopes, 1e-7), float(text), GROWTH_WITHIN, name, digits=4)
        )
    return combine(found)


# A submartingale ----------------------------------------------------------------------------------

linear_submartingale = Claim(
    "strategic.linear_submartingale",
    title="One uniform queue among any others makes a linear function of the state drift up",
    source=Source(SOURCE, "Section 4, last theorem", provenance="ours"),
    kind="proposition",
    statement=r"""
There are $n$ queues with arrival rates $\lambda_i$, $\lambda=\sum_i\lambda_i$, and $m$ identical servers
of rate $\nu=\mu/m<1$. Queue 1 sends each packet to a server drawn uniformly, independently of the past
and of everything else in the step; the other queues and the acceptance rule may do anything. Let $N_1$
be the length of queue 1, $Z$ the number of packets in the system (in queues and buffers), $b$ the number
of full buffers, all at the end of a step, and
$$\Psi=N_1+c\,Z+\frac bm,\qquad c=<<weight>>,\qquad\gamma=\lambda_1-1+c\,\lambda.$$

1. From **every** state $E[\Psi_{t+1}-\Psi_t\mid\mathcal F_t]\ge\gamma$.
2. For one queue it is sharp: $\gamma/(1+c)=\lambda-h$, the growth of a backlogged queue, where
   $h=\mu/(1+\mu-\nu)$ is the Hamacher sum of the rates.
""",
    claimed={"weight": r"(1-\nu)/\mu", "excess": "0"},
    meaning={
        "weight": "weight of the packets in the system",
        "excess": "what might be added to gamma",
    },
    parts={"drift": "the drift from every state", "sharp": "one queue"},
)

_WEIGHTS = {r"(1-\nu)/\mu": "(1-nu)/mu", r"1/\mu": "1/mu"}
_BY_RATE = {"weight": r"1/\mu"}


def _weight(weight: str, total: Fraction, nu: Fraction) -> Fraction:
    one_of("weight", weight, *_WEIGHTS)
    return (1 - nu) / total if weight == r"(1-\nu)/\mu" else 1 / total


@cache
def _small_steps() -> list[tuple]:
    """One step from every small state, in rationals: case, what is known of it, mean changes.

    Each entry is (case, arrival rates, nu, change of N_1, of Z, of b); nothing depends on the weight.
    """
    from simlib.strategic.exact import JointSystem, priority_law

    found = []
    for n, m in ((2, 2), (2, 3), (1, 3), (3, 2)):
        rates, nu = [Fraction(x) for x in ("3/5", "3/10", "1/10")[:n]], Fraction(9, 10 * m)
        uniform = [Fraction(1, m)] * m
        one_server = [Fraction(int(j == 0)) for j in range(m)]
        for others, order in product((uniform, one_server), (range(n), range(n)[::-1])):
            routers = [uniform, *[others] * (n - 1)]
            system = JointSystem(rates, [nu] * m, routers, priority_law(order))
            for lengths, full in product(product(range(3), repeat=n), product((0, 1), repeat=m)):
                first = packets = buffers = Fraction(0)
                for step in system.steps(lengths, full):
                    filled = sum(step.full) - sum(full)
                    first += step.probability * (step.lengths[0] - lengths[0])
                    packets += step.probability * (sum(step.lengths) - sum(lengths) + filled)
                    buffers += step.probability * filled
                case = f"n={n}, m={m}, lengths {lengths}, full {full}"
                found.append((case, rates, nu, first, packets, buffers))
    return found


def _ten_servers(weight: str) -> tuple[Fraction, Fraction]:
    """Drift of Psi and gamma: one queue of rate 1/2, ten servers of rate 9/100, buffers empty."""
    rate, nu, m = Fraction(1, 2), Fraction(9, 100), 10
    c = _weight(weight, m * nu, nu)
    full = 1 - nu  # mean number of full buffers after the step: the packet meets a free one
    drift = rate - 1 + c * (rate - nu) + full / m
    return drift, rate - 1 + c * rate


@linear_submartingale.check(
    method="symbolic", scope="general", false=[_BY_RATE, {"excess": "1/1000"}], part="drift"
)
def cancellation(weight: str, excess: str) -> Finding:
    """The drift is gamma plus a sum of non-negative terms, one for each server, for all parameters.

    Queue 1 hits server j with probability 1/m, and is accepted there with some probability a_j if it is
    free, never if it is full; so it clears with probability sum_j a_j (1 - b_j)/m. With B the mean
    number of buffers full before service, nu B packets leave the system and (1 - nu) B buffers stay
    full. Then B and b cancel, and what remains beside gamma is sum_j (1 - a_j)(1 - b_j)/m. Other
    statements are refuted by one queue and ten servers.
    """
    import sympy
    from sympy import IndexedBase, Sum, factor_terms

    own, rate, nu, busy = sympy.symbols("lambda_1 lambda nu B", positive=True)
    j, m = sympy.symbols("j m", integer=True, positive=True)
    a, full = IndexedBase("a"), IndexedBase("b")

    def over_servers(term):
        return factor_terms(Sum(sympy.expand(term), (j, 1, m)).expand())

    one_of("weight", weight, *_WEIGHTS)
    total = m * nu
    c = sympy.sympify(_WEIGHTS[weight], locals={"mu": total, "nu": nu})
    gamma = own - 1 + c * rate
    before = over_servers(full[j])
    clears = over_servers(a[j] * (1 - full[j]) / m)
    drift = own - clears + c * (rate - nu * busy) + ((1 - nu) * busy - before) / m
    slack = over_servers((1 - a[j]) * (1 - full[j]) / m)
    rest = sympy.simplify(sympy.expand((drift - gamma - slack).doit()))
    claims = Fraction(excess)
    if rest == 0 and claims <= 0:
        return proved("drift = gamma + sum_j (1 - a_j)(1 - b_j)/m, each term at least 0, for any m")
    found, least = _ten_servers(weight)
    text = f"one queue of rate 1/2, ten servers of rate 9/100, buffers empty: the drift is {found}"
    if found >= least + claims:
        return undecided(f"{text}; beside gamma and the terms of the servers there is {rest}")
    return refuted(f"{text}, claimed at least {least + claims}")


@linear_submartingale.check(method="symbolic", scope="general", false=_BY_RATE, part="sharp")
def growth_of_a_single_queue(weight: str) -> Finding:
    """Compare gamma/(1 + c) with lambda - h for all rates and numbers of servers.

    The false weight claims 1/38 for one queue of rate 1/2 and ten servers of rate 9/100; it is 1/362.
    """
    import sympy

    from checks.methods.symbolic import identity

    one_of("weight", weight, *_WEIGHTS)
    rate, nu, m = sympy.symbols("lambda nu m", positive=True)
    total, odds = m * nu, m * nu / (1 - nu)
    c = sympy.sympify(_WEIGHTS[weight], locals={"mu": total, "nu": nu})
    growth = (rate - 1 + c * rate) / (1 + c)
    ten = {rate: sympy.Rational(1, 2), nu: sympy.Rational(9, 100), m: 10}
    claimed, true = growth.subs(ten), (rate - odds / (1 + odds)).subs(ten)
    if claimed != true:
        return refuted(f"rate 1/2, ten servers of rate 9/100: {claimed} claimed, {true} exactly")
    return identity(growth, rate - odds / (1 + odds), "growth of a single queue")


@linear_submartingale.check(
    method="exact", scope="instances", false=[_BY_RATE, {"excess": "1/1000"}], part="drift"
)
def drift_from_every_small_state(weight: str, excess: str) -> Finding:
    """Enumerate a step from every state with up to two packets a queue, in rationals.

    (n, m) = (2, 2), (2, 3), (1, 3), (3, 2); queue 1 first or last in the priority; the other queues
    uniform or all on one server; arrival rates 3/5, 3/10, 1/10, total service rate 9/10.
    """
    equal, steps, total = 0, _small_steps(), Fraction(9, 10)
    for case, rates, nu, first, packets, buffers in steps:
        c = _weight(weight, total, nu)
        drift = first + c * packets + buffers * nu / total
        least = rates[0] - 1 + c * sum(rates) + Fraction(excess)
        equal += drift == least
        if drift < least:
            return refuted(f"{case}: drift {decimal(drift, 5)} < {decimal(least, 5)}")
    return proved(
        f"{len(steps)} cases, none below gamma, {equal} equal to it",
        cases=exact(len(steps)),
        **{"cases with equality": exact(equal)},
    )


# Every vector of arrival rates --------------------------------------------------------------------

tight_for_every_arrival_vector = Claim(
    "strategic.tight_for_every_arrival_vector",
    title="Whatever the arrival rates, less service than the factor allows makes queues grow",
    source=Source(SOURCE, "Section 4, last theorem", provenance="ours"),
    statement=r"""
There are $n$ queues of arrival rates $\lambda_i$, $\lambda=\sum_i\lambda_i$, and $m$ identical servers
of rate $\nu=\mu/m<1$. Let $r$ be the <<which>> arrival rate, number the queues so that the largest rate
is $\lambda_1$, and let $g=\lambda-\mu(1-r)$, which is positive exactly for an overprovisioning factor
$\mu/\lambda$ below $1/(1-r)$. With $c=(1-\nu)/\mu$ and $\gamma=\lambda_1-1+c\lambda$,

1. $\gamma>0$ exactly if $g>0$ and $m>\lambda\mu/g$. If queue 1 draws uniformly, independently of
   everything else, the number $N_T$ of packets in all queues satisfies, for every behaviour of the other
   queues, every acceptance rule, every start and every $T$,
   $$E\,N_T\ \ge\ \frac{\gamma T-cm-1}{<<divisor>>},$$
   and almost surely $\liminf_TN_T/T\ge\gamma/(<<divisor>>)$, because $N_1+cZ+b/m$, which drifts up,
   moves by at most $<<step>>$ in a step ($b$ full buffers, $Z=N+b$).
2. If all queues do so, the queue with the largest rate grows itself: for every acceptance rule and every
   start, almost surely
   $$\liminf_T\frac{N_{1,T}}T\ \ge\ \frac{\gamma-c\,(n-1)\cdot(<<collisions>>)\,\lambda_1/m}{1+cn},$$
   which is positive if $g>0$ and $m>(\lambda\mu+<<extra>>\lambda_1)/g$.
3. If all queues do so, and all servers follow one acceptance rule, each by itself and without memory,
   no queue has regret on any window, in expectation and with high probability, whatever happened before.

So for every vector of arrival rates no factor below $1/(1-\lambda_1)$ is enough.

*Example.* $\lambda=(0.6,0.3,0.1)$, where the factor is 2.5. At $\mu=2.2$ point 1 needs <<fewest_one>>
servers and the bound of point 2 is positive from <<fewest_all>> servers on. With 400 servers
$\gamma/(1+c)$ is <<growth>> for $\mu$ = 2.2 and 2.4.
""",
    claimed={
        "which": "largest",
        "one": "1",
        "divisor": "1+c",
        "step": r"2+c\max(n,m)",
        "collisions": "n-1",
        "extra": "(n-1)^2",
        "fewest_one": "19",
        "fewest_all": "38",
        "growth": "0.0358, 0.0100",
    },
    meaning={
        "which": "the arrival rate that decides the factor",
        "one": "what multiplies lambda mu / g in the number of servers",
        "divisor": "what turns the drift into packets",
        "step": "bound on a step of N_1 + c Z + b/m",
        "collisions": "other queues that a packet may collide with",
        "extra": "part of the number of servers of point 2",
        "fewest_one": "least number of servers of point 1 in the example",
        "fewest_all": "least number of servers of point 2 in the example",
        "growth": "growth per step in the example, all queues together, 400 servers",
    },
    parts={
        "one": "all queues together",
        "all": "the queue with the largest rate",
        "path": "from the mean to almost every path",
        "example": "the numbers of the example",
    },
    rests_on=[
        "strategic.linear_submartingale",
        "strategic.uniform_is_windowed_no_regret",
    ],
    uncovered="almost every path: that the bound on the moment of a step multiplies over the steps (the "
    "tower rule), the union bound and the Borel-Cantelli lemma, all textbook. That the example grows no "
    "faster than by the bound: simulated",
)


@tight_for_every_arrival_vector.check(
    method="smt",
    scope="general",
    false=[{"which": "average"}, {"one": "0.99"}, {"one": "1.01"}],
    part="one",
)
def when_the_drift_is_positive(which: str, one: str) -> Finding:
    """Ask z3 whether gamma > 0 exactly if g > 0 and m > lambda mu/g, for all arrival rates.

    The other queues enter by the sum of their rates and their number. Other statements are refuted by
    three queues and ten servers.
    """
    import z3

    from checks.methods.smt import real

    own, rest, total, m, n, c = z3.Reals("lambda_1 others mu m n c")
    rate, gap = z3.Reals("rate gap")
    arrivals = own + rest
    average = one_of("which", which, "largest", "average") == "average"
    hypotheses = [
        z3.And(own > 0, own < 1),
        z3.Or(z3.And(n == 1, rest == 0), z3.And(n >= 2, rest > 0, rest <= (n - 1) * own)),
        z3.And(total > 0, m >= 1, m > total),
        c * total * m == m - total,  # c = (1 - nu)/mu
        n * rate == arrivals if average else rate == own,
        gap == arrivals - total * (1 - rate),
    ]
    enough = m * gap > real(one) * arrivals * total  # so gap > 0
    grows = own - 1 + c * arrivals > 0
    return _in_whole_numbers(hypotheses, grows == enough, "sign of the drift", n == 3, m == 10)


@tight_for_every_arrival_vector.check(
    method="symbolic", scope="general", false={"divisor": "1"}, part="one"
)
def from_drift_to_packets(divisor: str) -> Finding:
    """If Psi >= gamma T, the slack of the bound on the packets is a sum of non-negative terms.

    E Psi_T is at least gamma T, because it starts at 0 or above and drifts up by gamma or more. Psi_T is
    N_1 + c (N + b) + b/m with N_1 <= N and b <= m. Without the divisor the bound is refuted by the exact
    mean of one queue after 40 steps.
    """
    import sympy

    from checks.methods.symbolic import identity

    own, packets, full, m, c, gamma, steps = sympy.symbols("N_1 N b m c gamma T", positive=True)
    divisor_is = {"1+c": 1 + c, "1": sympy.Integer(1)}[one_of("divisor", divisor, "1+c", "1")]
    psi = own + c * (packets + full) + full / m
    slack = (psi - gamma * steps) + (packets - own) + (c + 1 / m) * (m - full)
    found = identity(divisor_is * packets - (gamma * steps - c * m - 1), slack, "packets at time T")
    return found if found.outcome == "proved" else _two_servers(40, divisor)


def _two_servers(steps: int, divisor: str) -> Finding:
    """Mean length of a queue of rate 9/10 at two servers of rate 9/20, against the stated bound."""
    from simlib.strategic.exact import JointSystem
    from simlib.strategic.formulas import submartingale_rate, submartingale_weight

    system = JointSystem.identical(("9/10",), 2, "9/10")
    law = {((0,), (0, 0)): Fraction(1)}
    for _ in range(steps):
        following: dict[tuple, Fraction] = {}
        for (lengths, full), chance in law.items():
            for step in system.steps(lengths, full):
                key = step.lengths, tuple(sorted(step.full))  # the servers are alike
                following[key] = following.get(key, 0) + chance * step.probability
        law = following
    mean = sum(chance * lengths[0] for (lengths, _), chance in law.items())
    c = submartingale_weight(2, "9/10")
    bound = steps * submartingale_rate(("9/10",), 2, "9/10") - 2 * c - 1
    if divisor == "1+c":
        bound /= 1 + c
    text = (
        f"one queue of rate 9/10, two servers of rate 9/20, {steps} steps: {decimal(mean, 3)} packets "
        f"on average, {decimal(bound, 3)} stated"
    )
    return refuted(text) if mean < bound else undecided(text)


_COLLISIONS = ("n-1", "n-2", "1", "0")


@tight_for_every_arrival_vector.check(
    method="symbolic",
    scope="general",
    false=[{"collisions": name} for name in _COLLISIONS[1:]],
    part="all",
)
def no_other_queue_outgrows_the_first(collisions: str) -> Finding:
    """From the drift to queue 1, on every path without a large deviation: sums of non-negative terms.

    *Collisions* (z3): no other packet goes to the server of queue i with probability (1 - 1/m)^(n-1) or
    more, which is at least 1 - kappa, kappa = (n-1)/m, by induction on n. So while it has packets queue
    i clears at least (1 - kappa) times the free share of the servers in the mean, and queue 1 never more
    than that share. *Lengths:* let queue i be last empty x steps ago (or hold N_0 packets at the start),
    and let three sums over these x steps be less than e from their means; then N_i <= N_1 + kappa
    lambda_1 T + N_0 + 3e, whether kappa is below 1 or not. *Sum:* insert this in Psi >= gamma T - e.
    Claims of fewer collisions are refuted by two or three queues at two servers that prefer queue 1.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    n, m, alone = z3.Reals("n m alone")
    of = {"n-1": n - 1, "n-2": n - 2, "1": 1 + 0 * n, "0": 0 * n}
    stated = of[one_of("collisions", collisions, *_COLLISIONS)]
    rare = m * alone >= m - stated
    more_rare = alone * (m - 1) >= m - z3.substitute(stated, (n, n + 1))
    chance = combine(
        [
            implies([n == 2, m >= 1, m * alone == m - 1], rare, "one other queue"),
            implies([n >= 2, m >= 1, rare, alone >= 0], more_rare, "one queue more"),
        ]
    )
    if chance.outcome != "proved":
        return _preferred(collisions)

    own, rate, x, steps, kappa, c = sympy.symbols("lambda_1 lambda_i x T kappa c", positive=True)
    first, other, cleared_first, cleared = sympy.symbols("N_1 N_i C_1 C_i", positive=True)
    gamma, full, packets, start, error = sympy.symbols("gamma b N N_0 e", positive=True)
    queues, servers = sympy.symbols("n m", positive=True)
    arrived = start + rate * x + error - cleared - other  # each of these is at least 0
    fair = cleared - (1 - kappa) * cleared_first + error
    kept_up = cleared_first - own * x + first + error
    often = arrived + fair + (1 - kappa) * kept_up + (own - rate) * x + kappa * own * (steps - x)
    rarely = arrived + cleared + (own - rate) * x + own * (kappa * steps - x)  # for kappa >= 1
    length = first + kappa * own * steps + start + 3 * error - other
    psi = first + c * (packets + full) + full / servers
    others = queues * first + (queues - 1) * (kappa * own * steps + 3 * error) + start - packets
    most = psi - gamma * steps + error + c * others + (c + 1 / servers) * (servers - full)
    growth = gamma - c * (queues - 1) * kappa * own
    constant = c * servers + 1 + c * start + (1 + 3 * c * (queues - 1)) * error
    return combine(
        [
            chance,
            identity(length, often + kappa * (first + error), "length of another queue"),
            identity(length, rarely + first + 2 * error, "the same for kappa >= 1"),
            identity(
                (1 + c * queues) * first - growth * steps + constant, most, "length of queue 1"
            ),
        ],
        "collisions, lengths of the other queues and their sum, for all parameters",
    )


def _preferred(collisions: str) -> Finding:
    """Exact growth of a preferred queue beside others, all too long to empty, and the stated bound."""
    from simlib.strategic.exact import backlogged_chain
    from simlib.strategic.formulas import submartingale_rate, submartingale_weight

    for queues, rate, service in ((2, "9/10", "1/2"), (3, "99/100", "19/20")):
        arrivals, total, servers = Fraction(rate), 2 * Fraction(service), 2
        law = backlogged_chain(queues, servers, total_service_rate=total).stationary
        free = 1 - sum(full * chance for full, chance in enumerate(law)) / servers  # clears queue 1
        c = submartingale_weight(servers, total)
        gamma = submartingale_rate([rate] * queues, servers, total)
        stated = {"n-1": queues - 1, "n-2": queues - 2, "1": 1, "0": 0}[collisions]
        bound = (gamma - c * (queues - 1) * stated * arrivals / servers) / (1 + c * queues)
        if arrivals - free < bound:
            return refuted(
                f"{queues} queues of rate {rate}, two servers of rate {service} that prefer queue 1: "
                f"it grows by {arrivals - free} per step, {bound} stated"
            )
    return undecided(f"no preferred queue is known to grow less than {collisions} collisions allow")


_STEPS = {r"2+c\max(n,m)": (2, 1), r"1+c\max(n,m)": (1, 1), "2+c": (2, 0)}


@tight_for_every_arrival_vector.check(
    method="symbolic",
    scope="general",
    false=[{"step": r"1+c\max(n,m)"}, {"step": "2+c"}],
    part="path",
)
def almost_every_path(step: str) -> Finding:
    """Bound the chance of a large deviation and its sum over T, for all parameters.

    Psi moves by at most K in a step (z3). Let at most T terms have mean 0 or more and lie in an interval
    of length 2 K, given the past: their sum is below -delta T with probability at most
    e^(-delta^2 T/(2 K^2)), from the moment of a bounded step, at the best exponent. Point 1 needs one
    such sum, Psi less gamma T; point 2 another 3(n-1)T of terms in [-1, 1], three for each other queue
    and each time since it was last empty. The chances have a finite sum over T, so almost surely only
    finitely many T have a deviation, for each delta. Smaller steps are refuted by one of three queues.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity
    from checks.strategic.expected_regret import moment_of_a_bounded_step

    alone, times = _STEPS[one_of("step", step, *_STEPS)]
    n, m, c, first, packets, full, most = z3.Reals("n m c N_1 Z b max(n,m)")
    moves = [
        z3.And(n >= 1, m >= 1, c > 0, most >= n, most >= m, z3.Or(most == n, most == m)),
        z3.And(first >= -1, first <= 1, packets >= -m, packets <= n, full >= -m, full <= m),
    ]
    moved = m * (first + c * packets) + full
    size_of_step = m * (alone + c * (most if times else 1))
    steps = implies(moves, z3.And(moved <= size_of_step, moved >= -size_of_step), "a step")
    if steps.outcome != "proved":
        return _longest_step_of_three_queues(alone, times)
    s, delta, size, time = sympy.symbols("s delta K T", positive=True)
    ratio, terms = sympy.symbols("r M", positive=True)
    exponent = -s * delta * time + time * (2 * size * s) ** 2 / 8
    sums = (ratio - (terms + 1) * ratio ** (terms + 1) + terms * ratio ** (terms + 2)) / (
        1 - ratio
    ) ** 2
    one_more = (terms + 1) * ratio ** (terms + 1)
    return combine(
        [
            steps,
            moment_of_a_bounded_step(),
            identity(
                exponent.subs(s, delta / size**2), -(delta**2) * time / (2 * size**2), "exponent"
            ),
            identity(sums.subs(terms, 1), ratio, "sum of T r^T, one term"),
            identity(sums.subs(terms, terms + 1) - sums, one_more, "sum of T r^T, one more"),
            identity(
                ratio / (1 - ratio) ** 2 - sums,
                ratio ** (terms + 1) * (1 + terms * (1 - ratio)) / (1 - ratio) ** 2,
                "what the sum lacks, which is positive for r < 1",
            ),
        ],
        "steps at most 2 + c max(n, m); chances at most 3 n T r^T with r < 1, of sum at most "
        "3 n r/(1 - r)^2",
    )


def _longest_step_of_three_queues(alone: int, times: int) -> Finding:
    """Largest step of Psi from an empty system: three queues of rate 1/2, two servers of rate 1/2."""
    from simlib.strategic.exact import JointSystem, priority_law

    n, m, c = 3, 2, Fraction(1, 2)
    system = JointSystem.identical(("1/2",) * n, m, "1", priority_law((2, 1, 0)))
    largest = max(
        step.lengths[0] + c * (sum(step.lengths) + sum(step.full)) + Fraction(sum(step.full), m)
        for step in system.steps((0,) * n, (0,) * m)
    )
    stated = alone + c * (max(n, m) if times else 1)
    text = (
        f"three queues of rate 1/2, two servers of rate 1/2, queue 1 served last: a step of {largest} "
        f"is possible, {stated} stated"
    )
    return refuted(text) if largest > stated else undecided(text)


@tight_for_every_arrival_vector.check(
    method="symbolic", scope="general", false={"extra": "(n-1)"}, part="all"
)
def servers_for_the_largest_rate(extra: str) -> Finding:
    """The numerator of the bound, times m^2 mu, is a positive term and one that is not negative.

    They are m (m g - lambda mu - (n-1)^2 lambda_1), positive by the condition, and mu (n-1)^2 lambda_1.
    A smaller number of servers is refuted by 29 servers in the example.
    """
    import sympy

    from checks.methods.symbolic import identity
    from simlib.strategic.formulas import capacity_margin, longest_queue_growth

    square = one_of("extra", extra, "(n-1)^2", "(n-1)") == "(n-1)^2"
    own, arrivals, total, m, n = sympy.symbols("lambda_1 lambda mu m n", positive=True)
    c = (1 - total / m) / total
    gap = arrivals - total * (1 - own)
    lost = (n - 1) ** 2 * own
    bound = own - 1 + c * arrivals - c * lost / m
    enough = m * gap - arrivals * total - (lost if square else (n - 1) * own)
    found = identity(m**2 * total * bound, m * enough + total * lost, "the bound of point 2")
    value = longest_queue_growth(THREE_RATES, 29, "2.2")
    example = {own: "3/5", arrivals: 1, total: "11/5", m: 29, n: 3}
    same = (bound / (1 + c * n)).subs(example) == sympy.Rational(str(value))
    if found.outcome == "proved" and same:
        return found
    lost_in_example = Fraction("0.6") * (4 if square else 2)
    need = (Fraction("2.2") + lost_in_example) / -capacity_margin(THREE_RATES, "2.2")
    text = (
        f"rates 0.6, 0.3, 0.1, total rate 2.2, 29 > {need} servers: the bound of point 2 is {value}"
    )
    return refuted(text) if need < 29 and value <= 0 else undecided(text)


@tight_for_every_arrival_vector.check(
    method="exact",
    scope="general",
    false=[
        {"fewest_one": "10"},
        {"fewest_one": "18"},
        {"fewest_all": "37"},
        {"growth": "0.0358, 0.0101"},
    ],
    part="example",
)
def numbers_of_three_queues(fewest_one: str, fewest_all: str, growth: str) -> Finding:
    """Compute the numbers of the example in rationals; its part of the statement is these numbers.

    gamma is -1/990 with 18 servers and 2/1045 with 19. From 39 servers on the bound of point 2 is
    positive by its general condition, m > 38.3.
    """
    from simlib.strategic.formulas import longest_queue_growth, submartingale_rate, total_growth

    found = []
    for name, stated, value in (
        ("gamma", fewest_one, submartingale_rate),
        ("the bound of point 2", fewest_all, longest_queue_growth),
    ):
        least = next(m for m in count(3) if value(THREE_RATES, m, "2.2") > 0)  # rates are below 1
        below, at = (value(THREE_RATES, m, "2.2") for m in (least - 1, least))
        text = f"{least - 1} servers: {name} = {below}, {least} servers: {at}"
        found.append(decide(least == int(stated), text, text))
    totals = ("2.2", "2.4")
    for total, text in zip(totals, one_for_each("growth", growth, *totals), strict=True):
        value = total_growth(THREE_RATES, 400, total)
        told = f"total rate {total}: growth {decimal(value, 6)}"
        kept = {f"growth, {total}": exact(value)}
        found.append(rounds_to(value, text, "growth", told, told, **kept))
    return combine(found)


WITHIN = 0.008


def _slope(samples, source, alpha, name):
    """An interval for a growth, or what makes the samples unfit."""
    from simlib.estimate import mean_normal

    bad = unfit(samples, source, name)
    return bad, None if bad else mean_normal(samples, alpha)


@tight_for_every_arrival_vector.check(
    method="statistical",
    scope="instances",
    false=[{"growth": "0.0000, 0.0000"}, {"fewest_one": "10"}],
    part="example",
    uses=three_queues,
    alpha=5e-7,
)
def growth_of_three_queues(three, growth: str, fewest_one: str) -> Finding:
    """Simulate the example: growth with 400 servers, and growth with the least number of them.

    32 runs or more; t intervals, alpha split over five. With 400 servers at the total rates 2.2 and 2.4
    all queues together grow as stated within d = 0.008, and at 2.6 and 2.8, above the threshold, by less
    than d. A run adds up 30,000 steps or more; from the growth the arrivals, whose mean is known, are
    taken out: standard deviation 0.0035, half-width 0.0043, so no growth is refuted with probability
    above 1 - 1e-6. With the least number of servers of point 1 and 2.2 they hold 0.0013 T packets or
    more at the end, as point 1 says of 19 servers: simulated 0.009 T with 19 servers, 0.0003 T with 10,
    half-widths 0.0032 T and 0.0003 T.
    """
    from checks.methods.statistical import at_least, at_most, equals

    found = []
    totals = ("2.2", "2.4")
    for total, text in zip(totals, one_for_each("growth", growth, *totals), strict=True):
        name = f"growth per step, total rate {total}"
        samples = three[f"shortfall_{total}_400"]
        bad, sample = _slope(samples, three_queues, 1e-7, name)
        found.append(bad or equals(sample, float(text), WITHIN, name, digits=4))
    for total in ("2.6", "2.8"):
        name = f"growth per step, total rate {total}"
        bad, sample = _slope(three[f"growth_total_{total}_400"], three_queues, 1e-7, name)
        found.append(bad or at_most(sample, WITHIN, name, digits=4))
    name = f"packets at the end over T, total rate 2.2, {fewest_one} servers"
    if ("2.2", int(fewest_one)) not in SYSTEMS:
        return undecided(f"{fewest_one} servers were not simulated")
    packets = three[f"lengths_2.2_{fewest_one}"][:, -1].sum(axis=1)
    bad, sample = _slope(packets / three["horizon"], three_queues, 1e-7, name)
    found.append(bad or at_least(sample, 0.0013, name, digits=4))
    return combine(found)


@tight_for_every_arrival_vector.check(
    method="statistical",
    scope="instances",
    false={"which": "average"},
    part="one",
    uses=phase_transition,
    alpha=8e-7,
)
def phase_transition_of_eight_vectors(transition, which: str) -> Finding:
    """Simulate eight vectors of arrival rates below and above the factor 1/(1 - rate).

    32 runs, uniform learners, 50 servers or more; t intervals, alpha split over 16. At 0.8 times the
    service rate that the largest arrival rate asks for the longest queue grows by 0.005 or more, at 1.25
    times by less. With the average rate the factor is smaller for unequal rates, and these would be said
    to be stable at 0.8. Growth there is 0.03 or more, in a run with a standard deviation of 0.01, so the
    half-width is 0.013 at most; the queues at 1.25 are settled, standard deviation 0.001.
    """
    from checks.methods.statistical import at_least, at_most

    one_of("which", which, "largest", "average")
    found = []
    for rates in VECTORS:
        total = sum(each := [float(rate) for rate in rates])
        decisive = max(each) if which == "largest" else total / len(each)
        for share in (0.8, 1.25):
            at = int(abs(transition["shares"] - share).argmin())
            name = f"growth, ({', '.join(rates)}), {share} of the threshold"
            growth = transition[f"growth_{vector_name(rates)}"][at]
            bad, sample = _slope(growth, phase_transition, 5e-8, name)
            factor = float(transition[f"factors_{vector_name(rates)}"][at])
            judged = at_least if factor < 1 / (1 - decisive) else at_most
            found.append(bad or judged(sample, 0.005, name, digits=4))
    return combine(found, f"{len(VECTORS)} vectors grow below the factor and settle above it")
