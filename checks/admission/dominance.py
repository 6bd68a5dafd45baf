"""For which policies accepting all keeps most jobs in the network, and for which it does not."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations

from checks.admission.finite_chains import whole
from checks.admission.instances import SOURCE, named_networks, six_policies, solved
from checks.claim import Claim, Source
from checks.finding import (
    Finding,
    Quantity,
    combine,
    decide,
    decimal,
    enclosure,
    exact,
    one_of,
    proved,
    refuted,
    undecided,
)
from checks.methods.certified import rounds_to

dominance = Claim(
    "admission.dominance",
    title="In the long run, to admit more at some numbers of jobs makes every level more likely",
    source=Source(SOURCE, "Section 5", provenance="ours"),
    kind="lemma",
    statement=r"""
In the setting of `admission.norton_sum_policy`, let two policies act on the <<sees>>: they admit an
arrival that finds $s$ jobs with probabilities $\alpha(s)\le\beta(s)$, for every $s$. Let
$\nu^\alpha$ and $\nu^\beta$ be the stationary laws of the number of jobs. Then for all $s<s'$ and $k$
$$\nu^\alpha(s')\,\nu^\beta(s)\le\nu^\alpha(s)\,\nu^\beta(s')\qquad\text{and}\qquad
\sum_{s\ge k}\nu^\alpha(s)\le\sum_{s\ge k}\nu^\beta(s).$$
So among all these policies, randomised ones included, to accept all gives the largest number of jobs, in
the order of likelihood ratios.
""",
    claimed={"sees": "number of jobs", "factor": "1"},
    meaning={"factor": "what multiplies the right side of the first inequality"},
    parts={
        "ratio": "the order of likelihood ratios",
        "levels": "every level",
    },
    rests_on=["admission.norton_sum_policy"],
    uncovered=(
        "finite times: from the empty network, P(number of jobs >= k) need not be largest if all are "
        "accepted (admission.dominance_refuted); whether it is among deterministic policies on the "
        "number of jobs, the same at all times, is open"
    ),
)

_SEES = ("number of jobs", "state")


def _shut(stations: int, first: int):
    """Reject when there is one job, and it is in one of the first stations."""
    return lambda x: int(sum(x) != 1 or not any(x[:first]))


@cache
def _series(stations: int, arrival_rate: Fraction, shut: int) -> tuple[Fraction, Fraction]:
    """P(empty) of a tandem of rate-1 stations with at most two jobs: under `_shut`, accepting all."""
    from simlib.admission.chain import stationary_exact
    from simlib.admission.network import tandem

    network, empty = tandem(arrival_rate, (1,) * stations), (0,) * stations
    policies = (_shut(stations, shut), (1, 1))
    first, second = (stationary_exact(network, 2, policy)[empty] for policy in policies)
    return first, second


def _refuted_by_five_in_series() -> Finding:
    shut, accepting = _series(5, Fraction(3), 2)
    text = f"five stations in series: P(empty) = {shut}, and {accepting} if all are accepted"
    return refuted(text) if shut < accepting else undecided(text)


@dominance.check(
    method="smt",
    scope="general",
    false=[{"factor": "0.99"}, {"sees": "state"}],
    part="ratio",
)
def cross_products(sees: str, factor: str) -> Finding:
    """Ask z3 for the cross product and for the induction from s to s', over all parameters.

    nu(s')/nu(s) is the product over the levels between of lambda alpha/mu: D A for one policy and D B
    for the other, with one D > 0. From 0 <= A <= B and 0 <= alpha <= beta follows A alpha <= B beta;
    then nu^a(s) A D nu^b(s) <= nu^a(s) nu^b(s) B D. A level of mass 0 has none of mass above it. A
    policy that sees the state is refuted by five stations in series.
    """
    import z3

    from checks.methods.smt import implies, real

    if one_of("sees", sees, *_SEES) == "state":
        return _refuted_by_five_in_series()
    a, b, alpha, beta, d, first, second = z3.Reals("A B alpha beta D nu_a nu_b")
    ordered = [a >= 0, a <= b, alpha >= 0, alpha <= beta, beta <= 1]
    laws = [d > 0, first >= 0, second >= 0]
    cross = first * a * d * second <= real(factor) * first * second * b * d
    return combine(
        [
            implies(ordered, a * alpha <= b * beta, "one more level"),
            implies([*ordered, *laws], cross, "cross product"),
        ]
    )


@dominance.check(method="smt", scope="general", false={"sees": "state"}, part="levels")
def from_ratios_to_levels(sees: str) -> Finding:
    """Add the cross products over s < k <= s', for any number of levels, and ask z3 for the rest.

    The sum over all pairs is a product of sums: the cross products give p q' <= p' q for the masses p =
    P_a(>= k), p' = P_a(< k) and q', q of the other law. With both masses 1 this is p <= q. A policy that
    sees the state is refuted by five stations in series.
    """
    import sympy
    import z3

    from checks.methods.smt import implies

    if one_of("sees", sees, *_SEES) == "state":
        return _refuted_by_five_in_series()
    s, k, top = sympy.symbols("s k S", integer=True)
    one, other = sympy.IndexedBase("nu_a"), sympy.IndexedBase("nu_b")
    at_one, at_other, low_one, low_other = sympy.symbols("a_t b_t P_low Q_low")

    def added(term, first, last):
        return sympy.factor_terms(sympy.Sum(term, (s, first, last)).expand())

    below = added(one[s] * at_other - at_one * other[s], 0, k - 1)  # over s, for one s' = t
    below = below.subs(sympy.Sum(one[s], (s, 0, k - 1)), low_one)
    below = below.subs(sympy.Sum(other[s], (s, 0, k - 1)), low_other)
    pairs = added(sympy.expand(below.subs({at_one: one[s], at_other: other[s]})), k, top)
    high_one, high_other = (sympy.Sum(law[s], (s, k, top)) for law in (one, other))
    if sympy.expand(pairs - (low_one * high_other - high_one * low_other)) != 0:
        return undecided("the sum over pairs is not the product of the sums")
    p, p_low, q, q_low = z3.Reals("p p_low q q_low")
    given = [*(x >= 0 for x in (p, p_low, q, q_low)), p + p_low == 1, q + q_low == 1]
    return implies([*given, p * q_low <= p_low * q], p <= q, "P_a(>= k) <= P_b(>= k)")


@dominance.check(method="exact", scope="instances", false={"factor": "0.99"}, part="ratio")
def orders_of_the_networks(factor: str) -> Finding:
    """Compare the solved laws of five networks under all ordered pairs of six policies, in rationals."""
    from simlib.admission.chain import law_of_total

    told, compared = Fraction(factor), 0
    for named in named_networks():
        policies = six_policies(named.limit)
        laws = {policy: law_of_total(solved(named.name, policy)) for policy in policies}
        for lower, upper in (
            pair for a, b in combinations(policies, 2) for pair in ((a, b), (b, a))
        ):
            if any(x > y for x, y in zip(policies[lower], policies[upper], strict=True)):
                continue
            one, other = laws[lower], laws[upper]
            for s, t in combinations(range(named.limit + 1), 2):
                compared += 1
                if one[t] * other[s] > told * one[s] * other[t]:
                    return refuted(
                        f"{named.name}, {lower} and {upper}, {s} and {t} jobs: the cross products are "
                        f"{float(one[t] * other[s]):.4g} and {float(one[s] * other[t]):.4g}"
                    )
            for k in range(1, named.limit + 1):
                if sum(one[k:]) > sum(other[k:]):
                    return refuted(f"{named.name}, {lower} and {upper}: P(at least {k}) is larger")
    return proved(f"{compared} cross products", **{"cross products": exact(compared)})


# Where it fails ---------------------------------------------------------------------------------

dominance_refuted = Claim(
    "admission.dominance_refuted",
    title="To accept fewer jobs can leave more of them in the network, at a time or in the long run",
    source=Source(SOURCE, "Section 5", provenance="ours"),
    kind="proposition",
    statement=r"""
In each network the stations have rate 1 and are in series, and at most $S$ jobs are admitted.

1. *At a fixed time.* Two stations, $\lambda=1$, $S=1$, started empty, in steps of $1/U$ with $U=3$.
   Accepting all, there is a job after $t$ steps with probability
   $\frac23\big(1-3^{-t/2}\cos(<<angle>>)\big)$, now above, now below its limit $\frac23$; at $t=10$ it
   is <<accepting>>. If the first <<delay>> steps reject, it is <<delayed>> at $t=10$, which is more.
2. *At a fixed time, for a policy that acts on the number of jobs and does not change.* Now <<many>>
   stations, $\lambda=\frac14$, $S=1$, $U=\lambda+<<many>>$. After <<late>> steps there is a job with
   probability <<all_accepted>> if all are accepted. If each job that finds the network empty is accepted
   with probability <<chance>>, it is <<some_accepted>>, which is more.
3. *In the long run, for a policy that sees the state.* There are <<stations>> stations,
   $\lambda=<<arrival_rate>>$, $S=2$. Rejecting if there is one job only and it is at one of the first
   <<shut>> stations, the network is empty with probability <<empty>>; accepting all, with probability
   <<empty_accepting>>, which is more.
4. *Not every such policy does.* To reject while a single job is at the first station leaves four
   stations, $\lambda=3$, empty with probability <<four>> (accepting all, less: <<four_accepting>>), and
   three, $\lambda=1$, with probability <<three>> (<<three_accepting>>).
""",
    claimed={
        "angle": r"\pi t/6",
        "accepting": "485/729",
        "delay": "5",
        "delayed": "19/27",
        "many": "40",
        "late": "1500",
        "chance": "1/2",
        "all_accepted": "0.9045",
        "some_accepted": "0.9074",
        "stations": "5",
        "arrival_rate": "3",
        "shut": "2",
        "empty": "319/50059",
        "empty_accepting": "1/151",
        "four": "412/41581",
        "four_accepting": "1/103",
        "three": "11/95",
        "three_accepting": "1/10",
    },
    parts={
        "transient": "at a fixed time",
        "randomised": "at a fixed time, randomised",
        "stationary": "in the long run",
        "not any": "policies that do not",
    },
    uncovered=(
        "how common such policies are; and at finite times whether a deterministic policy on the number "
        "of jobs, the same at all times, can be one: none was found"
    ),
)


@cache
def _two_in_series():
    """The three states and the exact matrices of a step, accepting all and rejecting all."""
    from simlib.admission.chain import transition_matrix
    from simlib.admission.network import tandem

    network = tandem(1, (1, 1))
    points, accept = transition_matrix(network, 1, (1,), 3, exact=True)
    return points, accept, transition_matrix(network, 1, (0,), 3, exact=True)[1]


def _some_job(steps: int, rejecting: int) -> Fraction:
    """P(a job after so many steps), from the empty network, if the first ones reject."""
    points, accept, reject = _two_in_series()
    law = [Fraction(int(sum(x) == 0)) for x in points]
    for step in range(steps):
        law = list(law @ (reject if step < rejecting else accept))
    return sum(p for x, p in zip(points, law, strict=True) if sum(x))


_ANGLES = {r"\pi t/6": 6, r"\pi t/5": 5}


@dominance_refuted.check(
    method="symbolic", scope="general", false={"angle": r"\pi t/5"}, part="transient"
)
def damped_oscillation(angle: str) -> Finding:
    """Compare the closed form with the chain's recursion, for all times.

    By Cayley and Hamilton the difference from 2/3 obeys the recursion of the characteristic polynomial
    divided by x - 1; the closed form must obey it too, with the same start. Another angle is refuted by
    the first step.
    """
    import sympy

    from checks.methods.symbolic import identity

    one_of("angle", angle, *_ANGLES)
    accept = _two_in_series()[1]
    x, t = sympy.Symbol("x"), sympy.Symbol("t", real=True)
    matrix = sympy.Matrix([[sympy.Rational(*p.as_integer_ratio()) for p in row] for row in accept])
    rest = sympy.quo(matrix.charpoly(x).as_expr(), x - 1, x)
    closed = -sympy.Rational(2, 3) * 3 ** (-t / 2) * sympy.cos(sympy.pi * t / _ANGLES[angle])
    for step in (0, 1, 2):
        found = _some_job(step, 0)
        told = sympy.simplify(sympy.Rational(2, 3) + closed.subs(t, step))
        if told != sympy.Rational(found.numerator, found.denominator):
            return refuted(
                f"after {step} steps there is a job with probability {found}, not {told}"
            )
    recursion = sum(
        coefficient * closed.subs(t, t + power)
        for (power,), coefficient in sympy.Poly(rest, x).terms()
    )
    recursion = sympy.expand(sympy.expand_trig(recursion) / 3 ** (-t / 2))
    return identity(sympy.powsimp(recursion), sympy.Integer(0), f"recursion of {rest}")


@dominance_refuted.check(
    method="exact",
    scope="general",
    false=[
        {"delay": "8"},
        {"delayed": "485/729"},
        {"accepting": "19/27"},
    ],
    part="transient",
)
def rejecting_first(accepting: str, delay: str, delayed: str) -> Finding:
    """Multiply the transition matrices in rationals. The part is about this instance.

    A delay of 8 steps gives no counterexample: the check refutes it.
    """
    all_, late = _some_job(10, 0), _some_job(10, whole("delay", delay, 0, 10))
    return combine(
        [
            decide(late > all_, f"{late} > {all_}", f"a delay of {delay} steps: {late} < {all_}"),
            decide(all_ == Fraction(accepting), f"accepting all: {all_}", f"it is {all_}"),
            decide(
                late == Fraction(delayed),
                f"after {delay} rejecting steps: {late}",
                f"after {delay} rejecting steps it is {late}, not {delayed}",
                **{"P(a job), accepting all": exact(all_), "P(a job), late start": exact(late)},
            ),
        ]
    )


@cache
def _one_job(stations: int, steps: int, chance: Fraction) -> Fraction:
    """P(a job after so many steps) in a tandem with S = 1, lambda = 1/4, from the empty network.

    In integers over a common denominator, which a gcd at each step would make too slow.
    """
    from simlib.admission.chain import transition_matrix
    from simlib.admission.network import tandem

    network = tandem(Fraction(1, 4), (1,) * stations)
    points, rows = transition_matrix(network, 1, (chance,), exact=True)
    scale = math.lcm(*(p.denominator for row in rows for p in row))
    moves = [(i, j, int(p * scale)) for i, row in enumerate(rows) for j, p in enumerate(row) if p]
    empty = points.index((0,) * stations)
    law = [int(i == empty) for i in range(len(points))]
    for _ in range(steps):
        following = [0] * len(law)
        for i, j, p in moves:
            if law[i]:
                following[j] += law[i] * p
        law = following
    return 1 - Fraction(law[empty], scale**steps)


def _in_short(value: Fraction) -> Quantity:
    """A rational with thousands of digits, between two decimals of 30 places."""
    low = Fraction(math.floor(value * 10**30), 10**30)
    return enclosure(low, low + Fraction(1, 10**30), 20)


@dominance_refuted.check(
    method="exact",
    scope="general",
    false=[
        {"many": "20"},
        {"late": "2500"},
        {"chance": "1/10"},
        {"some_accepted": "0.9045"},
        {"all_accepted": "0.9074"},
    ],
    part="randomised",
)
def accepting_half(
    many: str, late: str, chance: str, all_accepted: str, some_accepted: str
) -> Finding:
    """Multiply the vector of probabilities by the transition matrix, in integers.

    The part is about this instance. Twenty stations, 2500 steps, or accepting a tenth, are no
    counterexamples: the check refutes them.
    """
    stations, steps = whole("many", many, 1, 60), whole("late", late, 0, 4000)
    every, some = (
        _one_job(stations, steps, Fraction(1)),
        _one_job(stations, steps, Fraction(chance)),
    )
    case = f"{stations} stations, {steps} steps"
    found = [
        decide(
            some > every,
            f"{case}: {decimal(some, 6)} > {decimal(every, 6)}",
            f"{case}: {decimal(some, 6)} <= {decimal(every, 6)}, no counterexample",
            **{"what accepting some adds": _in_short(some - every)},
        )
    ]
    for name, value, text in (
        ("accepting all", every, all_accepted),
        (f"accepting {chance}", some, some_accepted),
    ):
        told = f"{name}: {decimal(value, 6)}"
        found.append(rounds_to(value, text, name, told, f"{case}, {told}, not {text}"))
    return combine(found)


@dominance_refuted.check(
    method="exact",
    scope="general",
    false=[
        {"stations": "4", "shut": "1"},
        {"stations": "3", "arrival_rate": "1", "shut": "1"},
        {"stations": "4"},
        {"shut": "3"},
    ],
    part="stationary",
)
def emptier_if_all_are_accepted(stations: str, arrival_rate: str, shut: str) -> Finding:
    """Solve the balance equations of all states in rationals, and compare P(empty).

    The part is about this instance. Fewer stations, a smaller rate, or more stations at which a single
    job shuts the network, are no counterexamples: the check refutes them.
    """
    n = whole("stations", stations, 1, 20)
    first = whole("shut", shut, 0, n)
    rejecting, accepting = _series(n, Fraction(arrival_rate), first)
    case = f"{stations} stations, rate {arrival_rate}, shut while at the first {shut}"
    return decide(
        rejecting < accepting,
        f"{case}: P(empty) = {rejecting} < {accepting}",
        f"{case}: P(empty) = {rejecting} >= {accepting}, no counterexample",
        **{"P(empty), rejecting": exact(rejecting), "P(empty), accepting all": exact(accepting)},
    )


@dominance_refuted.check(
    method="exact",
    scope="general",
    false=[{"empty": "1/151"}, {"empty_accepting": "319/50059"}],
    part="stationary",
)
def probabilities_of_the_example(empty: str, empty_accepting: str) -> Finding:
    """Solve the balance equations of the five stations, 21 states, in rationals."""
    return _as_told("five stations", _series(5, Fraction(3), 2), empty, empty_accepting)


@dominance_refuted.check(
    method="exact",
    scope="general",
    false=[
        {"four": "1/104"},
        {"four_accepting": "412/41581"},
        {"three": "1/11"},
        {"three_accepting": "11/95"},
    ],
    part="not any",
)
def no_counterexamples(four: str, four_accepting: str, three: str, three_accepting: str) -> Finding:
    """Solve the balance equations of four and of three stations in rationals.

    Values that would make counterexamples of them are refuted.
    """
    found = [
        _as_told("four stations", _series(4, Fraction(3), 1), four, four_accepting),
        _as_told("three stations", _series(3, Fraction(1), 1), three, three_accepting),
    ]
    for case, rejects, accepts in (
        ("four stations", four, four_accepting),
        ("three stations", three, three_accepting),
    ):
        more = Fraction(rejects) > Fraction(accepts)
        found.append(decide(more, f"{case}: {rejects} > {accepts}", f"{case}: {rejects} is less"))
    return combine(found)


def _as_told(case: str, found: tuple[Fraction, Fraction], rejects: str, accepts: str) -> Finding:
    told = Fraction(rejects), Fraction(accepts)
    text = f"{case}: P(empty) = {found[0]}, accepting all {found[1]}"
    return decide(found == told, text, f"{text}, not {rejects} and {accepts}")
