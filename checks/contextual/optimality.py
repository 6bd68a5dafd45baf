"""Why the greedy benchmark is optimal."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from checks.claim import Claim, Source
from checks.contextual.instances import SOURCE
from checks.contextual.schedules import (
    LAST,
    NO_ARRIVALS,
    POLICIES,
    System,
    best_first,
    drawn_increasing,
    drawn_rates,
    every_policy,
    ordered_coupling,
    path_law,
    value,
)
from checks.contextual.small_instances import (
    Instance,
    coupled_after_arrival,
    less,
    outcomes,
)
from checks.finding import (
    PROVED,
    REFUTED,
    Finding,
    combine,
    decide,
    exact,
    one_of,
    proved,
    refuted,
    undecided,
)

#: Two jobs, of rates 9/10 and 1/2, and no arrivals: T = 3, so two rounds.
TWO_JOBS = System(((Fraction(9, 10),), (Fraction(1, 2),)), (0, 1), (NO_ARRIVALS,) * 2)

# Likelihood of paths -------------------------------------------------------------------------------

_WEIGHTS = ("the rate of the job that is gone", "1", "the rate of the job that is left")

path_likelihood = Claim(
    "contextual.path_likelihood",
    title="Weighted by the rate of the job that is gone, every path is likelier without the better job",
    source=Source(SOURCE, "Section 3", provenance="ours"),
    kind="lemma",
    statement=r"""
Job $i$ leaves with probability at most $r_i$ when it is served, its best rate. The policy $\pi^*$
serves a waiting job of the largest best rate at its best server, and the arrivals of all rounds are
given. Let $s$ be a set of waiting jobs, $i,j\in s$ with $r_i\ge r_j$, and let $P_u(\gamma)$ be the
probability that under $\pi^*$ from the set $u$ the lengths of the queue over the remaining rounds are
$\gamma$. Then, with $w$ <<weight>>,
$$w_i\,P_{s\setminus i}(\gamma)\ \ge\ w_j\,P_{s\setminus j}(\gamma)$$
for **every** path $\gamma$. So $w_iE_{s\setminus i}\Phi\ge w_jE_{s\setminus j}\Phi$ for every function
$\Phi\ge0$ of the path.
""",
    claimed={"weight": _WEIGHTS[0]},
    uncovered="that the cases make an induction over the rounds: a batch that joins all sets alike "
    "keeps i and j in them",
)


def _weighing(weight: str):
    """The factors of both sides, as a function of the rates of the job gone on each."""
    one_of("weight", weight, *_WEIGHTS)
    pairs = {
        _WEIGHTS[0]: lambda ri, rj: (ri, rj),
        _WEIGHTS[1]: lambda ri, rj: (1, 1),
        _WEIGHTS[2]: lambda ri, rj: (rj, ri),
    }
    return pairs[weight]


@path_likelihood.check(
    method="smt", scope="general", false=[{"weight": weight} for weight in _WEIGHTS[1:]]
)
def likelihood_by_induction(weight: str) -> Finding:
    """One round with a departure and one without, in both cases of who is on top, by z3.

    *The top k of s is not i* (nor j, which comes after i): both sets lose k, or both nothing. *The
    top is i*: s without i loses its own top k, with r_j <= r_k <= r_i, s without j loses i, or both
    nothing; the hypothesis is used for the pair (k, j) in s without i, and for (i, j) in s. With
    another weight a step fails, and the lemma is refuted by a path of a small queue.
    """
    import z3

    from checks.methods.smt import implies

    weigh = _weighing(weight)
    ri, rj, rk, left, right = z3.Reals("r_i r_j r_k P_i P_j")
    chances = [left >= 0, right >= 0, rj >= 0, ri <= 1]

    def at_least(pair, one, other):
        first, second = weigh(*pair)
        return first * one >= second * other

    here, below = at_least((ri, rj), left, right), at_least((rk, rj), left, right)
    top_other = [*chances, rk >= ri, ri >= rj, rk <= 1, here]
    top_i = [*chances, ri >= rk, rk >= rj]
    proof = combine(
        [
            implies([*chances, ri >= rj], at_least((ri, rj), 1, 1), "no round left"),
            implies(
                top_other, at_least((ri, rj), rk * left, rk * right), "another job on top leaves"
            ),
            implies(
                top_other,
                at_least((ri, rj), (1 - rk) * left, (1 - rk) * right),
                "another job on top stays",
            ),
            implies([*top_i, below], at_least((ri, rj), rk * left, ri * right), "the top leaves"),
            implies(
                [*top_i, here],
                at_least((ri, rj), (1 - rk) * left, (1 - ri) * right),
                "the top stays",
            ),
        ],
        "no round, a departure and none, in both cases of the job on top",
    )
    if proof.outcome == PROVED:
        return proof
    cell = _likelihood_of_drawn_queues(weight)
    return cell if cell.outcome == REFUTED else undecided(proof.witness)


@path_likelihood.check(
    method="exact", scope="instances", false=[{"weight": weight} for weight in _WEIGHTS[1:]]
)
def likelihood_of_all_paths(weight: str) -> Finding:
    """Every path of eighty drawn queues of two to five jobs, with up to two arrivals a round.

    Four rates, multiples of 1/12 from 0 to 1, two to four rounds; the laws of the path without either
    job are computed in rationals.
    """
    return _likelihood_of_drawn_queues(weight)


def _likelihood_of_drawn_queues(weight: str) -> Finding:
    weigh = _weighing(weight)
    source, cells = random.Random(3), 0
    for number in range(80):
        rates = drawn_rates(source, 4)
        batches = tuple(
            ((Fraction(1), tuple(source.choices(range(4), k=source.choice((0, 0, 1, 2))))),)
            for _ in range(source.randint(2, 4))
        )
        i, j = sorted(source.sample(range(4), 2))
        rest = source.choices(range(4), k=source.randint(0, 3))
        rows = tuple((rate,) for rate in rates)
        without_i, without_j = (
            path_law(System(rows, tuple(sorted((*rest, kept))), batches), best_first)
            for kept in (j, i)
        )
        first, second = weigh(rates[i], rates[j])
        for path in dict.fromkeys([*without_i, *without_j]):
            cells += 1
            one, other = without_i.get(path, 0), without_j.get(path, 0)
            if first * one < second * other:
                return refuted(
                    f"queue {number}, best rates {listed(rates)}, waiting {sorted((*rest, i, j))}: the "
                    f"lengths {path} have probability {one} without job {i}, {other} without job {j}"
                )
    return proved(f"no violation in {cells} paths of 80 queues", paths=exact(cells))


def listed(rates) -> str:
    return "(" + ", ".join(map(str, rates)) + ")"


# Optimality ----------------------------------------------------------------------------------------

_SERVES = POLICIES[1:]
_ORDERS = ("below", "above")
_EXCHANGES = ("$w_i=r_i$, $w_j=r_j$", "$w_i=w_j=1$")
_NOTHING = "none of them"


@dataclass(frozen=True)
class Hypothesis:
    """A hypothesis of the theorem, and a system in which it matters.

    Attributes
    ----------
    name : str
    system : System
        Satisfies all hypotheses.
    change : mapping
        What is changed in it when the hypothesis is dropped.
    wanted : {"fewest", "most"}
        Jobs at the end, when the hypothesis is dropped; fewest otherwise.
    """

    name: str
    system: System
    change: Mapping[str, object]
    wanted: str = "fewest"

    def values(self, dropped: bool) -> tuple[Fraction, Fraction]:
        """Mean cost of largest rate first, and the least one, with the hypothesis or without it."""
        system = replace(self.system, **self.change) if dropped else self.system
        sign = -1 if dropped and self.wanted == "most" else 1

        def cost(path):
            return sign * path[-1]

        return value(system, cost, "largest rate first"), value(system, cost)


def _one_round(*rates: tuple[str, ...]) -> System:
    rows = tuple(tuple(map(Fraction, row)) for row in rates)
    return System(rows, tuple(range(len(rows))), (NO_ARRIVALS,))


_PAIR = _one_round(("9/10",), ("1/2",))
_SLOW = System(((Fraction(1),), (Fraction(1, 10),)), (1,), (((Fraction(1), (0,)),), NO_ARRIVALS))

#: By the number of the claim that has the two means without it, in the order of the statement.
HYPOTHESES = {
    "preemption": Hypothesis("preemption", _SLOW, {"preemptive": False}),
    "attempts": Hypothesis(
        "one attempt a round", _one_round(("1", "9/10"), ("19/20", "0")), {"attempts": 2}
    ),
    "costs": Hypothesis("equal costs", _PAIR, {"weights": (1, 10)}),
    "rates": Hypothesis("constant rates", TWO_JOBS, {"until": (2, 1)}),
    "arrivals": Hypothesis("arrivals that do not react", _PAIR, {"reaction": ((0, 0),)}),
    "coins": Hypothesis("coins that nobody sees", TWO_JOBS, {"sees_coin": True}),
    "monotone": Hypothesis("a nondecreasing cost", TWO_JOBS, {}, wanted="most"),
}
_NAMES = tuple(hypothesis.name for hypothesis in HYPOTHESES.values())

greedy_is_optimal = Claim(
    "contextual.greedy_is_optimal",
    title="Serving the <<serves>> is optimal: its queue path lies <<order>> that of any policy, in law",
    source=Source(SOURCE, "Section 3", provenance="ours"),
    statement=r"""
Job $i$ leaves with probability $p\le r_i$ when it is served, $r_i$ its rate at its best server. In a
round a policy serves a waiting job at a server, or idles; then a batch of jobs joins, which depends
on neither services nor choices: any fixed sequence, so also contexts drawn at random or fixed by an
oblivious adversary. A policy may use the whole past, coins, and the complete list of future arrivals.
$\pi^*$ serves the <<serves>>, and $Q^*$ is its queue.

1. *Exchange.* Let $V(u)$ be the mean under $\pi^*$ of a nondecreasing function of the lengths from
   now on, from the waiting set $u$. For $i,j\in s$ with $r_i\ge r_j$: $V(s)\ge V(s\setminus i)$, and
   with weights <<exchange>>
   $$w_i\,[V(s)-V(s\setminus i)]\ \ge\ w_j\,[V(s)-V(s\setminus j)].$$
2. *Optimality.* For every start, every $T$, every policy $\pi$ and every function $\varphi$ that is
   nondecreasing in each length,
   $$E\,\varphi(Q^*(1),\dots,Q^*(T))\ \le\ E\,\varphi(Q^\pi(1),\dots,Q^\pi(T)).$$
   So $R_T\ge0$, $E[\psi(t,T)\mid\mathcal F_t^+]\ge0$, and some coupling has $Q^*(t)\le Q^\pi(t)$ for
   all $t\le T$.
3. *Not on every path.* Under the shared uniforms of the coupling of switching queues the order can
   fail: jobs of rates $\tfrac9{10}$ and $\tfrac12$, no arrivals, $T=3$, the slow job first; this
   queue is the shorter one with probability <<shorter>>.
4. *What is needed.* Of the hypotheses below <<dropped>> can be dropped. In each row all others hold. The
   last column has the mean costs of $\pi^*$ and of the best policy, which may idle. Unless said
   otherwise there is one job each of rates $\tfrac9{10}$ and $\tfrac12$, nothing arrives, and the cost
   is the number of jobs at the end.

| dropped | system | $\pi^*$ and best |
| --- | --- | --- |
| preemption | one job of rate $\tfrac1{10}$, one of rate 1 arrives in round 1; $T=3$ | <<preemption>> |
| one attempt a round | two servers: $(1,\tfrac9{10})$, $(\tfrac{19}{20},0)$; one round | <<attempts>> |
| equal costs | costs 1 and 10 of a waiting job; one round | <<costs>> |
| constant rates | the slow job can be served in round 1 only; $T=3$ | <<rates>> |
| arrivals that do not react | a job joins when the fast one leaves; one round | <<arrivals>> |
| coins that nobody sees | the uniform of the round is seen first; $T=3$ | <<coins>> |
| a nondecreasing cost | $-Q(3)$ | <<monotone>> |
""",
    claimed={
        "serves": _SERVES[0],
        "order": _ORDERS[0],
        "exchange": _EXCHANGES[0],
        "shorter": "1/5",
        "dropped": _NOTHING,
        "preemption": "171/100 and 1",
        "attempts": "1 and 3/20",
        "costs": "101/10 and 6",
        "rates": "101/100 and 3/5",
        "arrivals": "2 and 3/2",
        "coins": "14/25 and 9/25",
        "monotone": "-14/25 and -2",
    },
    meaning={
        "serves": "the policy",
        "order": "where its path lies",
        "exchange": "what the losses are weighted with",
        "shorter": "probability that the deviating queue is shorter under shared uniforms",
        "dropped": "hypotheses that are not needed",
    },
    rests_on=["contextual.path_likelihood"],
    parts={
        "exchange": "removing a better job helps more, weighted",
        "optimal": "one deviation never pays",
        "paths": "no order under shared uniforms",
        "needed": "every hypothesis is needed",
    },
    uncovered="that the cases make an induction over the rounds; that a mean which no action lowers "
    "gives the inequality for every policy (a submartingale; history and coins change nothing); "
    "averaging over arrivals; and the coupling of ordered paths (Strassen's theorem)",
)


@greedy_is_optimal.check(
    method="smt",
    scope="general",
    part="exchange",
    false=[{"exchange": _EXCHANGES[1]}, {"dropped": "a nondecreasing cost"}],
)
def exchange_by_induction(exchange: str, dropped: str) -> Finding:
    """The step of the induction over the rounds: identities by SymPy, signs by z3.

    *Another job k on top of s*: the difference is a mean of those from s without k and from s; so is
    each loss. *Job i on top, k next*: an identity whose two brackets are the hypothesis for (i, j) in
    s and for (k, j) in s without i, 0 if k = j. Both are for one function of the lengths to come; the
    sets without i and without j are shorter now, by one, and what that takes off is the mean of a
    function that is at least 0, so path_likelihood compares it. A step that fails is refuted by two
    jobs.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    weighted = one_of("exchange", exchange, *_EXCHANGES) == _EXCHANGES[0]
    monotone = one_of("dropped", dropped, _NOTHING, *_NAMES) == _NOTHING
    if dropped not in (_NOTHING, "a nondecreasing cost"):  # the rounds themselves are others then
        return _best_without(dropped)
    steps = []

    ri, rj, rk = sympy.symbols("r_i r_j r_k")
    s, si, sj, sij, sik, k, ki, kj = sympy.symbols("U_s U_i U_j U_ij U_ik U_k U_ki U_kj")
    wi, wj, wk = (ri, rj, rk) if weighted else (1, 1, 1)

    def round_of(rate, left, stays):
        return rate * left + (1 - rate) * stays

    def compared(first, second, whole, without, other):
        return first * (whole - without) - second * (whole - other)

    point = [{ri: sympy.Rational(9, 10), rj: sympy.Rational(1, 2), rk: sympy.Rational(1, 2)}]
    point[0] |= {s: 2, si: 1, sj: 1, sij: 0, sik: 0, k: 1, ki: 0, kj: 0}
    steps.append(
        identity(
            compared(wi, wj, round_of(rk, k, s), round_of(rk, ki, si), round_of(rk, kj, sj)),
            rk * compared(wi, wj, k, ki, kj) + (1 - rk) * compared(wi, wj, s, si, sj),
            "another job on top",
            at=point,
        )
    )
    top_i = round_of(ri, si, s), round_of(rk, sik, si), round_of(ri, sij, sj)
    steps.append(
        identity(
            compared(wi, wj, *top_i),
            (1 - ri) * compared(wi, wj, s, si, sj) + ri * compared(wk, wj, si, sik, sij),
            "job i on top",
            at=point,
        )
    )
    steps.append(
        identity(
            top_i[0] - top_i[1],
            (1 - ri) * (s - si) + rk * (si - sik),
            "job i on top, loss",
            at=point,
        )
    )

    a, b, c, d, x, y, z = z3.Reals("r_i r_j c d x y z")
    wa, wb = (a, b) if weighted else (1, 1)
    rates = [a >= b, b >= 0, a <= 1]
    falls = [z >= 0] if monotone else []
    steps += [
        implies([*rates, *falls], z3.And(z >= 0, wa * z >= wb * z), "no round left"),
        implies(
            [c >= 0, c <= 1, d >= 0, d <= 1, x >= 0, y >= 0],
            z3.And(c * x + (1 - c) * y >= 0, c * x + d * y >= 0),
            "sums of terms that are at least 0",
        ),
        implies(  # x, y: losses for the same function; c, d: means of the drop without i and j
            [
                *rates,
                x >= 0,
                wa * x >= wb * y,
                *([c >= 0, d >= 0, a * c >= b * d] if monotone else [a * c >= b * d]),
            ],
            z3.And(x + c >= 0, wa * (x + c) >= wb * (y + d)),
            "the first length",
        ),
    ]
    proof = combine(steps, "three identities, signs of all terms, and the first length")
    if proof.outcome == PROVED:
        return proof
    return _two_jobs(weighted, monotone) or undecided(proof.witness)


def _two_jobs(weighted: bool, monotone: bool) -> Finding | None:
    """The exchange for jobs of rates 9/10 and 1/2 before a single round, where it fails."""
    rates = [max(row) for row in TWO_JOBS.rates]
    sign = 1 if monotone else -1

    def mean(start):
        one = replace(TWO_JOBS, start=start, batches=(NO_ARRIVALS,))
        return value(one, lambda path: sign * path[-1], "largest rate first")

    loss = [mean((0, 1)) - mean((1,)), mean((0, 1)) - mean((0,))]  # without job 0, without job 1
    sides = [rates[k] * loss[k] if weighted else loss[k] for k in (0, 1)]
    if loss[0] >= 0 and sides[0] >= sides[1]:
        return None
    return refuted(
        f"rates 9/10 and 1/2, one round, cost {'' if monotone else '-'}Q: losses without them "
        f"{loss[0]} and {loss[1]}, compared as {sides[0]} and {sides[1]}"
    )


@greedy_is_optimal.check(
    method="exact", scope="instances", part="exchange", false={"exchange": _EXCHANGES[1]}
)
def exchange_of_drawn_queues(exchange: str) -> Finding:
    """Losses without either of two jobs, for drawn nondecreasing functions of the path, in rationals.

    Forty queues of two to four jobs with four rates in twelfths, three rounds, fixed arrivals of up
    to two jobs a round.
    """
    weighted = one_of("exchange", exchange, *_EXCHANGES) == _EXCHANGES[0]
    source = random.Random(17)
    for number in range(40):
        rates = drawn_rates(source, 4)
        batches = tuple(
            ((Fraction(1), tuple(source.choices(range(4), k=source.choice((0, 1, 2))))),)
            for _ in range(3)
        )
        i, j = sorted(source.sample(range(4), 2))
        rest = source.choices(range(4), k=source.randint(0, 2))
        cost, rows = drawn_increasing(source, 4), tuple((rate,) for rate in rates)
        whole, without_i, without_j = (
            value(
                System(rows, tuple(sorted((*rest, *kept))), batches),
                cost,
                "largest rate first",
                whole_path=True,
            )
            for kept in ((i, j), (j,), (i,))
        )
        weights = (rates[i], rates[j]) if weighted else (1, 1)
        sides = weights[0] * (whole - without_i), weights[1] * (whole - without_j)
        if whole < without_i or sides[0] < sides[1]:
            return refuted(
                f"queue {number}, best rates {listed(rates)}, waiting {sorted((*rest, i, j))}: compared "
                f"without jobs {i} and {j} as {sides[0]} and {sides[1]}"
            )
    return proved("no violation in 40 queues")


@greedy_is_optimal.check(
    method="smt",
    scope="general",
    part="optimal",
    false=[
        {"serves": _SERVES[1]},
        {"order": _ORDERS[1]},
        *({"dropped": name} for name in _NAMES),
    ],
)
def one_deviation(serves: str, order: str, dropped: str) -> Finding:
    """A round with job j at rate p instead of the policy's job k, then the policy: z3 signs the loss.

    The loss is [r_k D_k - r_j D_j] + (r_j - p) D_j, D the loss of mean without a job; idling is p =
    0. Exchange makes both terms at least 0 if r_k >= r_j. For another policy or the reverse order a
    step fails, and two jobs refute; a dropped hypothesis is judged on its own system, where the best
    policy is found by backward induction.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    largest = one_of("serves", serves, *_SERVES) == _SERVES[0]
    below = one_of("order", order, *_ORDERS) == _ORDERS[0]
    if one_of("dropped", dropped, _NOTHING, *_NAMES) != _NOTHING:
        return _best_without(dropped)
    rk, rj, p, s, sk, sj = sympy.symbols("r_k r_j p U_s U_k U_j")
    identical = identity(
        (p * sj + (1 - p) * s) - (rk * sk + (1 - rk) * s),
        (rk * (s - sk) - rj * (s - sj)) + (rj - p) * (s - sj),
        "loss of one deviation",
    )
    a, b, q, x, y = z3.Reals("r_k r_j p D_k D_j")
    better, worse = ((a, x), (b, y)) if largest else ((b, y), (a, x))
    exchange = [
        better[0] >= worse[0],
        better[0] * better[1] >= worse[0] * worse[1],
        x >= 0,
        y >= 0,
    ]
    loss = (a * x - b * y) + (b - q) * y
    proof = combine(
        [
            identical,
            implies(
                [*exchange, q >= 0, q <= b, b <= 1, a <= 1],
                loss >= 0 if below else loss <= 0,
                "sign of the loss",
            ),
        ],
        "loss = exchange + (r_j - p) D_j, both at least 0",
    )
    if proof.outcome == PROVED:
        return proof
    values = {policy: value(TWO_JOBS, LAST["q"], policy) for policy in POLICIES}
    return _compare("rates 9/10 and 1/2, T = 3", values, serves, below) or undecided(proof.witness)


def _compare(case: str, values: Mapping[str, Fraction], serves: str, below: bool) -> Finding | None:
    """Refuted where the policy's mean is not on the stated side of that of every policy."""
    mine = values[serves]
    for policy, other in values.items():
        if (other < mine) if below else (other > mine):
            name = "the best policy" if policy == "least" else policy
            return refuted(f"{case}: {serves} {mine}, {name} {other}")
    return None


def _best_without(dropped: str) -> Finding:
    """Largest rate first in the system of a hypothesis, with that hypothesis dropped."""
    named = next(one for one in HYPOTHESES.values() if one.name == dropped)
    greedy, least = named.values(dropped=True)
    text = f"without {dropped}: largest rate first {greedy}, best policy {least}"
    return refuted(text) if least < greedy else undecided(f"{text}: no difference here")


@greedy_is_optimal.check(
    method="exact", scope="general", part="paths", false=[{"shorter": "0"}, {"shorter": "1/4"}]
)
def queues_that_share_uniforms(shorter: str) -> Finding:
    """The coupled law of both queues: one serves the slow job in round 1, the other is greedy.

    The part is about this system, so it is decided whole; 0 would be the order on every path.
    """
    rates = tuple((max(row), max(row)) for row in TWO_JOBS.rates)
    instance = Instance(rates, Fraction(0), Fraction(0), TWO_JOBS.horizon, (1, 1))
    fast, slow = instance.best
    law: dict[int, Fraction] = {}
    for first, second, chance in outcomes(slow, fast):
        plus = less((1, 1), 1) if first else (1, 1)
        minus = less((1, 1), 0) if second else (1, 1)
        for difference, p in coupled_after_arrival(instance, 1, plus, minus):
            law[difference] = law.get(difference, Fraction(0)) + chance * p
    true = sum(p for difference, p in law.items() if difference < 0)
    text = f"the queue that served the slow job first is shorter with probability {true}"
    stated = Fraction(shorter)
    return decide(true == stated, text, f"{text}, not {stated}", shorter=exact(true))


@greedy_is_optimal.check(
    method="exact",
    scope="general",
    part="needed",
    reads=("dropped", *HYPOTHESES),
    false=[
        *({"dropped": name} for name in _NAMES),
        {"preemption": "171/100 and 9/10"},
        {"attempts": "1 and 1/20"},
        {"costs": "101/10 and 5"},
        {"rates": "101/100 and 1/2"},
        {"arrivals": "2 and 1"},
        {"coins": "14/25 and 8/25"},
        {"monotone": "-14/25 and -1"},
    ],
)
def seven_systems(dropped: str, **stated: str) -> Finding:
    """Backward induction over all policies in seven systems, with a hypothesis and without it.

    With it largest rate first must attain the minimum, without it the two stated means. The part is
    about these systems, so it is decided whole.
    """
    one_of("dropped", dropped, _NOTHING, *_NAMES)
    values = {}
    for number, hypothesis in HYPOTHESES.items():
        kept = hypothesis.values(dropped=False)
        if kept[0] != kept[1]:
            return undecided(f"with {hypothesis.name}: {kept[0]}, best policy {kept[1]}")
        mine, least = hypothesis.values(dropped=True)
        text = f"without {hypothesis.name}: largest rate first {mine}, best policy {least}"
        if hypothesis.name == dropped and least < mine:
            return refuted(text)
        if [mine, least] != [Fraction(one) for one in stated[number].split(" and ")]:
            return refuted(f"{text}, not {stated[number]}")
        values[f"without {hypothesis.name}"] = exact(mine - least)
    return proved(
        "in each of the seven the best policy costs less without the hypothesis", **values
    )


@greedy_is_optimal.check(
    method="exact",
    scope="instances",
    part="optimal",
    uses=every_policy,
    false=[{"serves": _SERVES[1]}, {"order": _ORDERS[1]}],
)
def backward_induction(found, serves: str, order: str) -> Finding:
    """Backward induction over all jobs, all servers and idling, on drawn systems.

    Three or four types, two or three servers, rates in twelfths, T = 5 or 6 (paths: 4); steady laws,
    laws that change, fixed sequences; five costs of the last length and drawn nondecreasing functions
    of the path. 48 systems at quick effort, 720 at full.
    """
    one_of("serves", serves, *_SERVES)
    below = one_of("order", order, *_ORDERS) == _ORDERS[0]
    for row, case in enumerate(found["case"]):
        values = {policy: Fraction(str(found[policy][row])) for policy in POLICIES}
        wrong = _compare(str(case), values, serves, below)
        if wrong:
            return wrong
    count = len(found["case"])
    return proved(f"no policy does better in {count} systems", systems=exact(count))


@greedy_is_optimal.check(
    method="exact", scope="instances", part="optimal", false={"order": _ORDERS[1]}
)
def ordered_paths(order: str) -> Finding:
    """The coupling of the paths as a maximal flow, in integers, against three other policies.

    Jobs of rates 9/10, 7/10 and 1/2, T = 4 and 5, no arrivals or one after each of three rounds; the
    worst job first, worst and best in turn, and a policy that looks at the path. A flow of 1 is a
    coupling in which the paths are ordered.
    """
    below = one_of("order", order, *_ORDERS) == _ORDERS[0]
    others = {
        "worst first": lambda t, waiting, path: len(waiting) - 1,
        "worst and best in turn": lambda t, waiting, path: t % 2 * (len(waiting) - 1),
        "middle after a departure": lambda t, waiting, path: (
            len(waiting) // 2 if len(path) > 1 and path[-1] < path[-2] else len(waiting) - 1
        ),
    }
    rates, count = ((Fraction(9, 10),), (Fraction(7, 10),), (Fraction(1, 2),)), 0
    joining = (*(((Fraction(1), (kind,)),) for kind in (0, 2, 1)), NO_ARRIVALS)
    for batches, T in ((NO_ARRIVALS,) * 4, 4), ((NO_ARRIVALS,) * 4, 5), (joining, 4), (joining, 5):
        system = System(rates, (0, 1, 2), tuple(batches[: T - 1]))
        best = path_law(system, best_first)
        for name, choose in others.items():
            other = path_law(system, choose)
            flow = ordered_coupling(best, other) if below else ordered_coupling(other, best)
            if flow != 1:
                return refuted(
                    f"{name}, T = {T}: paths are ordered with probability at most {flow}"
                )
            count += 1
    return proved(f"a coupling orders the paths in {count} cases")
