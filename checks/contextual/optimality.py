"""Why the greedy benchmark is optimal, what a deviation costs, and how long its effect survives."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from checks.claim import Claim, Source
from checks.contextual import schedules
from checks.contextual.instances import SOURCE
from checks.contextual.schedules import (
    LAST,
    NO_ARRIVALS,
    POLICIES,
    System,
    after_batch,
    best_first,
    drawn_arrivals,
    drawn_increasing,
    drawn_rates,
    every_policy,
    greedy_mean,
    ordered_coupling,
    path_law,
    sets_of,
    value,
)
from checks.contextual.small_instances import (
    NAMED,
    STAY_OR_SWITCH,
    Instance,
    coupled_after_arrival,
    less,
    outcomes,
    regret,
    switching_rounds,
)
from checks.contextual.switching import misprint
from checks.finding import (
    PROVED,
    REFUTED,
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
                    f"queue {number}, best rates {_shown(rates)}, waiting {sorted((*rest, i, j))}: the "
                    f"lengths {path} have probability {one} without job {i}, {other} without job {j}"
                )
    return proved(f"no violation in {cells} paths of 80 queues", paths=exact(cells))


def _shown(rates) -> str:
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
4. *What is needed.* Of the hypotheses below <<dropped>> can be dropped. In each row all others hold;
   mean costs of $\pi^*$ and of the best policy, which may idle. Unless said otherwise one job each of
   rates $\tfrac9{10}$ and $\tfrac12$, no arrivals, and the cost is the number of jobs at the end.

| dropped | system | $\pi^*$ and best |
| --- | --- | --- |
| preemption | rate $\tfrac1{10}$; one of rate 1 arrives in round 1; $T=3$ | <<preemption>> |
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
                f"queue {number}, best rates {_shown(rates)}, waiting {sorted((*rest, i, j))}: compared "
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


# What a deviation costs ----------------------------------------------------------------------------

_POWERS = ("T-1-t", "T-2-t")
_LASTS = (r"E[\mathrm{gap}_{T-1}]", r"E[\mathrm{gap}_{T-1}]+E[\mathrm{gap}_{T-2}]")

one_step_loss = Claim(
    "contextual.one_step_loss",
    title="One round of the learner costs no more than its error, and at least what cannot be made up",
    source=Source(SOURCE, "Lemma 4.2 (the upper half)", provenance="ours"),
    statement=r"""
In the setting of `contextual.greedy_is_optimal` let $s$ wait at the beginning of round $t$, $k$ the
job in $s$ of the largest rate $r_k$; the learner serves job $j$ with probability $p\le r_j$ (or
idles, $p=0$), and $\mathrm{gap}_t=r_k-p$. No job that waits or arrives has a rate above $r_{\max}$.
$W(u)$ is the mean of the length at the beginning of round $T$ under $\pi^*$ if $u$ is left after the
service of round $t$, and $\tilde\psi(t,T)=W(s)-W(s\setminus k)$.

1. *Both sides.*
   $$\begin{aligned}(1-r_{\max})^{<<power>>}\,\mathrm{gap}_t&\le E[\psi(t,T)\mid\mathcal F_t^+]\\
   &\le<<factor>>\cdot\mathrm{gap}_t\,\tilde\psi(t,T)\le\mathrm{gap}_t.\end{aligned}$$
2. $0\le\tilde\psi(t,T)\le1$, and $W(s\setminus j)\le W(s\setminus i)$ for $r_i\ge r_j$: it is better
   to be rid of a slow job.
3. *Regret.* $<<last>>\le R_T$, and
   $$\sum_{t=1}^{T-1}(1-r_{\max})^{<<power>>}E[\mathrm{gap}_t]
   \le R_T\le\sum_{t=1}^{T-1}E[\mathrm{gap}_t].$$

For the three instances of `contextual.regret_telescopes` ($r_{\max}=\tfrac9{10}$) the left sum is
<<lower>>, the right one <<upper>>, and $E[\psi(T-1,T)]=E[\mathrm{gap}_{T-1}]$ is <<gap_1>>, <<gap_2>>
and <<gap_3>>.
""",
    claimed={
        "power": "T-1-t",
        "factor": "1",
        "last": _LASTS[0],
        "lower": "0.146393, 0.212065, 0.124039",
        "upper": "0.703642, 1.485093, 1.324598",
        "gap_1": "3427496932097/25920000000000",
        "gap_2": "133313444985605989/699840000000000000",
        "gap_3": "73659225819260717/661197634560000000",
    },
    meaning={
        "power": "rounds in which what was lost may be made up",
        "factor": "constant of the upper bound",
        "last": "what regret is at least",
        "lower": "lower bounds of the regret of three instances",
        "upper": "upper bounds of the regret of three instances",
    },
    rests_on=["contextual.regret_telescopes"],
    parts={
        "losses": "bounds on the loss without a job, and on their differences",
        "sides": "both sides for one round",
        "regret": "the sum over the rounds",
        "values": "three instances",
    },
    uncovered="that the cases make an induction over the rounds; averaging over the past, the arrivals "
    "and the learner's coins: a line each",
)


@one_step_loss.check(method="smt", scope="general", part="losses", false={"power": "T-2-t"})
def losses_by_induction(power: str) -> Finding:
    """Three bounds go from n rounds to n + 1, in both cases of the job on top, by z3.

    With D_i the loss without job i, c_n = (1 - r_max)^n and r_i >= r_j: (a) c_n <= D_i <= 1; (b) c_n
    (r_i - r_j) <= r_i D_i - r_j D_j <= r_i - r_j; (c) D_i <= D_j. Without rounds D = 1. With another
    job on top each is a mean of two of its kind; with i on top and k next, D_i is (1 - r_i) D_i(s) +
    r_k D_k(s - i) (the last term absent if i is alone), and r_i D_i - r_j D_j the sum of two
    brackets, as in exchange_by_induction. With one power less the bound fails for two jobs.
    """
    import z3

    from checks.methods.smt import implies

    one_of("power", power, *_POWERS)
    i, j, k, most, c, now, e = z3.Reals("r_i r_j r_k r_max c_n share c_{n+1}")
    rates = [most <= 1, i <= most, i >= j, j >= 0, c >= 0, c <= 1, e == (1 - most) * c]
    share = [now >= 0, now <= 1]
    first, second, x, y = z3.Reals("D_i D_j x y")
    u, ui, uj, uij, uik = z3.Reals("U_s U_i U_j U_ij U_ik")
    top = [*rates, i >= k, k >= j]

    def within(difference, low, high):
        return z3.And(low <= difference, difference <= high)

    no_round = c == 1 if power == _POWERS[0] else (1 - most) * c == 1
    proof = combine(
        [
            implies(
                [most <= 1, i <= most, i >= j, j >= 0, no_round, first == 1, second == 1],
                z3.And(
                    within(first, c, 1),
                    within(i * first - j * second, c * (i - j), i - j),
                    first <= second,
                ),
                "no round left, D = 1",
            ),
            implies(
                [*rates, *share, within(x, c, 1), within(y, c, 1)],
                within(now * x + (1 - now) * y, e, 1),
                "(a), another job on top",
            ),
            implies(
                [*rates, *share, *(within(z, c * (i - j), i - j) for z in (x, y))],
                within(now * x + (1 - now) * y, e * (i - j), i - j),
                "(b), another job on top",
            ),
            implies(
                [*share, x >= 0, y >= 0], now * x + (1 - now) * y >= 0, "(c), another job on top"
            ),
            implies(
                [*rates, within(x, c, 1)], within((1 - i) * x, e, 1), "(a), job i on top and alone"
            ),
            implies(
                [*top, within(x, c, 1), within(y, c, 1)],
                within((1 - i) * x + k * y, e, 1),
                "(a), job i on top",
            ),
            implies(
                [*top, within(x, c * (i - j), i - j), within(y, 0, k - j)],
                within((1 - i) * x + i * y, e * (i - j), i - j),
                "(b), job i on top",
            ),
            implies(  # U of s without i, without j, ...: losses are differences of these
                [*top, u >= ui, u >= uj, ui >= uij, ui >= uik, uj <= ui, uij <= uik],
                i * uij + (1 - i) * uj <= k * uik + (1 - k) * ui,
                "(c), job i on top",
            ),
        ],
        "(a), (b) and (c) go from n rounds to n + 1",
    )
    if proof.outcome == PROVED:
        return proof
    found = _two_jobs_cost(power=power)
    return found if found.outcome == REFUTED else undecided(proof.witness)


def _two_jobs_cost(
    power: str = _POWERS[0], factor: Fraction = Fraction(1), last: str = _LASTS[0]
) -> Finding:
    """Jobs of rates 9/10 and 1/2, T = 3: the slow one first, or idling, in round 1, then greedy."""
    fast, slow = (max(row) for row in TWO_JOBS.rates)
    rounds = TWO_JOBS.horizon - 2  # after round 1

    def mean(*waiting):
        return greedy_mean((fast, slow), NO_ARRIVALS, rounds, waiting)

    gap, greedy = fast - slow, fast * mean(1) + (1 - fast) * mean(0, 1)
    loss = slow * mean(0) + (1 - slow) * mean(0, 1) - greedy
    least = (1 - fast) ** (rounds if power == _POWERS[0] else rounds - 1) * gap
    idle = mean(0, 1) - greedy
    largest = factor * fast * (mean(0, 1) - mean(1))
    gaps = gap if last == _LASTS[1] else Fraction(0)  # of rounds 1 and 2; greedy in round 2
    text = "rates 9/10 and 1/2, T = 3"
    if not least <= loss:
        return refuted(f"{text}: serving the slow job first costs {loss} < {least}")
    if not idle <= largest:
        return refuted(f"{text}: idling in round 1 costs {idle} > {largest}")
    return decide(
        gaps <= loss,
        f"{text}: {least} <= {loss}",
        f"{text}: the slow job first has R_3 = {loss} and gaps of sum {gaps}",
    )


@one_step_loss.check(
    method="smt",
    scope="general",
    part="sides",
    false={"factor": "0.99"},
)
def both_sides_of_one_round(factor: str) -> Finding:
    """From the bounds on the losses to both sides, by z3; the loss is r_k D_k - p D_j.

    The lower side adds (r_k D_k - r_j D_j) and (r_j - p) D_j; the upper one is p D_k <= p D_j. Another
    constant is refuted by idling in front of two jobs.
    """
    import sympy
    import z3

    from checks.methods.smt import implies, real
    from checks.methods.symbolic import identity

    stated = Fraction(factor)
    rk, p, s, sk, sj = sympy.symbols("r_k p W_s W_k W_j")
    k, j, q, c, x, y = z3.Reals("r_k r_j p c_n D_k D_j")
    losses = [
        *(k >= j, j >= q, q >= 0, k <= 1, c >= 0, c <= 1),
        *(z3.And(c <= d, d <= 1) for d in (x, y)),
        c * (k - j) <= k * x - j * y,
        x <= y,
    ]
    upper = real(stated) * (k - q) * x
    proof = combine(
        [
            identity(
                (p * sj + (1 - p) * s) - (rk * sk + (1 - rk) * s),
                rk * (s - sk) - p * (s - sj),
                "loss of one round",
            ),
            implies(losses, c * (k - q) <= k * x - q * y, "lower side"),
            implies(losses, z3.And(k * x - q * y <= upper, upper <= k - q), "upper side"),
        ],
        "c_n gap <= loss <= gap psi~ <= gap",
    )
    if proof.outcome == PROVED:
        return proof
    found = _two_jobs_cost(factor=stated)
    return found if found.outcome == REFUTED else undecided(proof.witness)


@one_step_loss.check(
    method="smt", scope="general", part="regret", false=[{"last": _LASTS[1]}, {"power": "T-2-t"}]
)
def last_round_and_sum(last: str, power: str) -> Finding:
    """Add one round to the sums; the last round has no round to make up for it, so its term is the gap.

    The power of 1 - r_max in round t is 0 for t = T - 1: that term alone bounds the regret, as the
    others are not negative. Two undiscounted gaps, or one power less, are refuted by two jobs.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    one_of("last", last, *_LASTS)
    t, T = sympy.symbols("t T", integer=True)
    exponents = {_POWERS[0]: T - 1 - t, _POWERS[1]: T - 2 - t}
    exponent = exponents[one_of("power", power, *_POWERS)]
    low, high, total, c, gap, cost, before, last_gap = z3.Reals("low high R c gap E_psi g_1 g_2")
    stated = last_gap if last == _LASTS[0] else last_gap + before
    proof = combine(
        [
            identity(exponent.subs(t, T - 1), sympy.Integer(0), "power in round T - 1"),
            implies(
                [low <= total, total <= high, c * gap <= cost, cost <= gap],
                z3.And(low + c * gap <= total + cost, total + cost <= high + gap),
                "one round more",
            ),
            implies(  # R is the sum over t < T - 1, at least c g_1 for the round T - 2, and the last
                [
                    c >= 0,
                    c <= 1,
                    before >= 0,
                    last_gap >= 0,
                    low >= c * before,
                    total == low + last_gap,
                ],
                stated <= total,
                "regret against the last gap",
            ),
        ],
        "sums of both sides, and the last round",
    )
    if proof.outcome == PROVED:
        return proof
    found = _two_jobs_cost(power=power, last=last)
    return found if found.outcome == REFUTED else undecided(proof.witness)


@one_step_loss.check(
    method="exact",
    scope="general",
    part="values",
    false=[
        {"lower": "0.146394, 0.212065, 0.124039"},
        {"upper": "0.703642, 1.485094, 1.324598"},
        {"gap_1": "3427496932098/25920000000000"},
        {"gap_2": "133313444985605990/699840000000000000"},
        {"gap_3": "73659225819260718/661197634560000000"},
    ],
)
def bracket_of_three_instances(
    lower: str, upper: str, gap_1: str, gap_2: str, gap_3: str
) -> Finding:
    """Both sums and the last round of the three instances, in rationals.

    The part is about these instances, so it is decided whole; that the regret lies between is compared.
    """
    sums, values = ([], []), {}
    for number, (instance, stated) in enumerate(zip(NAMED, (gap_1, gap_2, gap_3), strict=True), 1):
        rounds = switching_rounds(instance, STAY_OR_SWITCH)
        last = rounds[-1]
        if last.mean != last.gap:
            return undecided(f"instance {number}: E psi = {last.mean}, E gap = {last.gap}")
        if last.gap != Fraction(stated):
            return refuted(f"instance {number}: the last gap is {last.gap}, not {stated}")
        loss = 1 - max(instance.best)
        low = sum(one.gap * loss**n for n, one in enumerate(reversed(rounds)))
        high = sum(one.gap for one in rounds)
        if not max(low, last.gap) <= regret(instance, STAY_OR_SWITCH) <= high:
            return undecided(f"instance {number}: the regret is not between its bounds")
        for row, one in zip(sums, (low, high), strict=True):
            row.append(one)
        values |= {
            f"lower, instance {number}": exact(low),
            f"upper, instance {number}": exact(high),
        }
    wrong = misprint("left sum, instance", lower, sums[0])
    wrong = wrong or misprint("right sum, instance", upper, sums[1])
    return wrong or proved("the regret lies between both sums, and above the last gap", **values)


@one_step_loss.check(
    method="exact",
    scope="instances",
    part="sides",
    false=[{"power": "T-2-t"}, {"factor": "0.99"}],
)
def sides_of_drawn_queues(power: str, factor: str) -> Finding:
    """Both sides for every waiting set of up to three jobs and every action, in rationals.

    Twelve draws of three rates in twelfths and of a law of arrivals, n = T - 1 - t from 0 to 3, each
    job at its best rate, at half of it, and idling.
    """
    stated = Fraction(factor)
    shift = (0, 1)[one_of("power", power, *_POWERS) == _POWERS[1]]
    source, cells = random.Random(11), 0
    for number in range(12):
        rates, batches = drawn_rates(source, 3), drawn_arrivals(source, 3)
        for n in range(4):
            for s in sets_of(3, 3):
                stay, best = (
                    after_batch(greedy_mean, rates, batches, n, left) for left in (s, s[1:])
                )
                tilde, top = stay - best, rates[s[0]]
                for at, kind in enumerate(s):
                    gone = after_batch(greedy_mean, rates, batches, n, s[:at] + s[at + 1 :])
                    for p in (rates[kind], rates[kind] / 2, Fraction(0)):
                        gap, loss = top - p, top * tilde - p * (stay - gone)
                        low = (1 - rates[0]) ** max(n - shift, 0) * gap
                        case = f"draw {number}, best rates {_shown(rates)}, waiting {s}, n = {n}"
                        if not low <= loss <= stated * gap * tilde <= gap:
                            return refuted(
                                f"{case}, job {kind} at {p}: {decimal(low, 6)}, loss "
                                f"{decimal(loss, 6)}, {decimal(stated * gap * tilde, 6)}, gap {gap}"
                            )
                        cells += 1
    return proved(f"both sides hold in {cells} cases", cases=exact(cells))


# How long its effect survives ----------------------------------------------------------------------

_SETS = ("s", r"s\setminus i")

survival = Claim(
    "contextual.survival",
    title="What is left of a deviation is at most the chance that the queue never empties",
    source=Source(SOURCE, "Lemma C.5 (its first step)", provenance="ours"),
    statement=r"""
In the setting of `contextual.greedy_is_optimal` let $V_n(u)$ be the mean length of the queue after
$n$ rounds of $\pi^*$ from the waiting set $u$, and $H_n(u)$ the probability that it is not empty now,
nor after any of these $n$ rounds. For every waiting set $s$ and every $i\in s$
$$V_n(s)-V_n(s\setminus i)\ \le\ <<factor>>\cdot H_n(<<set>>).$$
Hence, with $\mathcal X^+$ what waits at the beginning of round $t+1$ if nothing left in round $t$,
$$\tilde\psi(t,T)\ \le\ E\bigl[H_{T-1-t}(\mathcal X^+)\bigr],$$
whatever the ties, without a coupling. Equality for a single job and no arrivals: both sides are
$(1-r)^n$.
""",
    claimed={"factor": "1", "set": "s"},
    meaning={"factor": "constant of the bound", "set": "from which waiting set the queue survives"},
    rests_on=["contextual.one_step_loss"],
    uncovered="that the cases make an induction over the rounds; the mean over the arrival of round t",
)


@survival.check(method="smt", scope="general", false=[{"factor": "0.99"}, {"set": _SETS[1]}])
def survival_by_induction(factor: str, set: str) -> Finding:
    """From n rounds to n + 1 in both cases of the job on top, by z3; D is the loss without job i.

    *Another job k on top*: D and H are the same mean, of those from s without k and from s. *Job i on
    top, k next*: D = (1 - r_i) D_i(s) + r_k D_k(s - i) with r_k <= r_i, and H = (1 - r_i) H(s) + r_i
    H(s - i); alone, without the last term of D. Without rounds D = H = 1. Another constant fails
    there, the other set in a small queue.
    """
    import z3

    from checks.methods.smt import implies, real

    stated = Fraction(factor)
    if one_of("set", set, *_SETS) == _SETS[1]:
        found = _survival_of_drawn_queues(stated, set)
        return found if found.outcome == REFUTED else undecided(found.witness)
    c = real(stated)
    i, k, x, y, g, h = z3.Reals("r_i r_k D D' H H'")
    model = [i <= 1, i >= k, k >= 0, x >= 0, y >= 0, g >= 0, h >= 0, x <= c * g]
    proof = combine(
        [
            implies([x == 1, g == 1], x <= c * g, "no round left"),
            implies(
                [*model, y <= c * h], k * y + (1 - k) * x <= c * (k * h + (1 - k) * g), "k on top"
            ),
            implies(
                [*model, y <= c * h], (1 - i) * x + k * y <= c * ((1 - i) * g + i * h), "i on top"
            ),
            implies(model, (1 - i) * x <= c * ((1 - i) * g + i * h), "i alone"),
        ],
        "no round, and one more in three cases",
    )
    if proof.outcome == PROVED:
        return proof
    found = _survival_of_drawn_queues(stated, set)
    return found if found.outcome == REFUTED else undecided(proof.witness)


@survival.check(method="exact", scope="instances", false=[{"factor": "0.99"}, {"set": _SETS[1]}])
def survival_of_drawn_queues(factor: str, set: str) -> Finding:
    """Both sides for every waiting set of up to three jobs and each of its jobs, in rationals.

    Twelve draws of three rates in twelfths and of a law of arrivals, with n from 0 to 3; and one job of
    rate 1/3 without arrivals, where both sides must be equal.
    """
    stated = Fraction(factor)
    one_of("set", set, *_SETS)
    rate = (Fraction(1, 3),)
    for n in range(4):
        left = greedy_mean(rate, NO_ARRIVALS, n, (0,))
        right = stated * schedules.survival(rate, NO_ARRIVALS, n, (0,) if set == "s" else ())
        if left > right:
            return refuted(f"one job of rate 1/3, no arrivals, n = {n}: {left} > {right}")
        if left != right:
            return undecided(f"one job of rate 1/3, no arrivals, n = {n}: {left} < {right}")
    return _survival_of_drawn_queues(stated, set)


def _survival_of_drawn_queues(factor: Fraction, which: str) -> Finding:
    source, cells = random.Random(13), 0
    for number in range(12):
        rates, batches = drawn_rates(source, 3), drawn_arrivals(source, 3)
        for n in range(4):
            for s in sets_of(3, 3):
                stay = greedy_mean(rates, batches, n, s)
                for at, kind in enumerate(s):
                    rest = s[:at] + s[at + 1 :]
                    left = stay - greedy_mean(rates, batches, n, rest)
                    from_set = s if which == "s" else rest
                    right = factor * schedules.survival(rates, batches, n, from_set)
                    if left > right:
                        return refuted(
                            f"draw {number}, best rates {_shown(rates)}, waiting {s}, n = {n}, "
                            f"job {kind}: {decimal(left, 6)} > {decimal(right, 6)}"
                        )
                    cells += 1
    return proved(f"no violation in {cells} cases", cases=exact(cells))
