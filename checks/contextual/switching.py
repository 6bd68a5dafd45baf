"""Queue length regret as a sum over switching times; Lemma 4.2: an error times what is left of it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from checks.claim import Claim, Printed, Source
from checks.contextual.instances import SOURCE
from checks.contextual.small_instances import (
    NAMED,
    STAY_OR_SWITCH,
    drawn,
    regret,
    switched_mean,
    switching_rounds,
)
from checks.finding import (
    PROVED,
    Finding,
    combine,
    decimal,
    exact,
    one_of,
    proved,
    refuted,
    undecided,
)
from checks.judging import misprint, one_for_each
from checks.methods.certified import ball, precision, quantity, rounds_to

# Telescoping ---------------------------------------------------------------------------------------

_DEPARTS = ("the rate of its own choice", "the larger rate of both choices")
_MOMENTS = ("T", "t")

regret_telescopes = Claim(
    "contextual.regret_telescopes",
    title="Regret is the sum, over the rounds, of what one round more under the learner costs",
    source=Source(SOURCE, "Section 4", provenance="stated"),
    kind="lemma",
    statement=r"""
*The queue.* At the beginning of a round, $Q$ jobs wait; if $Q\ge1$, the policy picks one of them, of
context $x$, and a server $k$, and the job leaves with probability $\mu(x^\top\theta^*_k)$; then a job
joins with probability $\lambda$, with a context of its own. The optimal policy $\pi^*$ picks the pair
of largest probability. A learner $\pi$ may use the whole past and coins. $R_T=E[Q(T)-Q^*(T)]$ is its
queue length regret.

*Switching.* $Q(t,T)$ is the length at the beginning of round $T$ if $\pi$ serves in rounds $1,\dots,t$
and $\pi^*$ in rounds $t+1,\dots,T-1$; so $Q(T-1,T)=Q(T)$ and $Q(0,T)=Q^*(T)$.

*Coupling.* $Q^+$ switches after round $t$, $Q^-$ after round $<<switch>>$. Both see the same coins and
arrivals, and in each round the same uniform number $U$: a queue loses a job if $U$ is at most
<<departs>>. Let $\psi(t,T)=Q^+-Q^-$ at the beginning of round $<<moment>>$.

Then each queue of the pair has the law of its own switching queue, and for every $T\ge2$
$$R_T=\sum_{t=<<first>>}^{T-1}E[Q(t,T)-Q(t-1,T)]=\sum_{t=<<first>>}^{T-1}E[\psi(t,T)].$$

*Exactly.* Two types of jobs, two servers, rates $(\tfrac9{10},\tfrac35)$ for type $a$ and
$(\tfrac12,\tfrac45)$ for $b$. The learner stays at a server after a success and changes after a
failure, starts at the first, and takes $a$ with probability $\tfrac13$ if both types wait.

| $\lambda$ | share of $a$ | $T$ | at first | $R_T$ |
| --- | --- | --- | --- | --- |
| $7/10$ | $1/2$ | 8 | empty | $<<regret_1:6>>$ |
| $7/10$ | $1/2$ | 8 | 2 of each type | $<<regret_2:6>>$ |
| $1/2$ | $1/3$ | 10 | 1 of each type | $<<regret_3:6>>$ |

The card has these rationals in full. The first is the sum of $E[\psi(t,8)]$ for $t=1,\dots,7$, which are
<<terms>>.
""",
    claimed={
        "first": "1",
        "switch": "t-1",
        "departs": _DEPARTS[0],
        "moment": "T",
        "regret_1": "1185917433229151/2592000000000000",
        "regret_2": "1743861043085666669/1399680000000000000",
        "regret_3": "16821141474701114743/33059881728000000000",
        "terms": "0.000000, 0.037089, 0.043224, 0.061108, 0.080662, 0.103213, 0.132234",
    },
    meaning={
        "first": "first term of the sum",
        "switch": "last round of the learner in the queue that switches earlier",
        "regret_1": "regret of the first row",
        "regret_2": "the same, second row",
        "regret_3": "the same, third row",
        "departs": "with what the uniform is compared",
        "moment": "round at whose beginning the lengths are compared",
    },
    parts={
        "sum": "the sum telescopes",
        "coupling": "each queue of the pair has its own law",
        "values": "three instances, exactly",
    },
    as_printed=Printed(
        {"moment": "t"},
        says="Section 3 defines R_T with the lengths at time T; Section 4 writes R_T = E[Q(t) - Q*(t)] "
        "and psi(t, T) = Q+(t) - Q-(t), with the letter of the switching round",
        correct="the lengths at the beginning of round T are meant; at the beginning of round t both "
        "queues of a pair still have the same length, and the sum would be 0",
        kind="unspecified",
    ),
    uncovered="that both queues of a pair agree up to the switching round (they are built so), that "
    "steps of the right law give paths of the right law, and linearity of the mean",
)


@regret_telescopes.check(
    method="symbolic",
    scope="general",
    part="sum",
    false=[{"first": "2"}, {"switch": "t-2"}, {"moment": "t"}],
)
def telescoping_by_induction(first: str, switch: str, moment: str) -> Finding:
    """The sum from the first term to T - 1 is E Q(T-1,T) - E Q(0,T), by induction on its upper end.

    With q(t) = E Q(t,T) for any function q: the first term alone, and one term more. Another first term
    or another switch leaves a difference; it is refuted by its value in the three instances. So are
    lengths at the beginning of round t.
    """
    import sympy

    from checks.methods.symbolic import identity

    one_of("moment", moment, *_MOMENTS)
    back = {"t-1": 1, "t-2": 2}[one_of("switch", switch, "t-1", "t-2")]
    start = int(first)
    q = sympy.Function("q")
    t = sympy.symbols("t", integer=True)
    begins = identity(q(start) - q(start - back), q(start) - q(0), "first term")
    goes_on = identity(q(t) - q(0) + (q(t + 1) - q(t + 1 - back)), q(t + 1) - q(0), "one term more")
    proof = combine([begins, goes_on], "Q(t,T) - Q(t-1,T) adds up to Q(T-1,T) - Q(0,T)")
    if proof.outcome == PROVED and moment == "T":
        return proof
    for number, instance in enumerate(NAMED, 1):
        total = sum(
            _step_back(instance, t, back, t if moment == "t" else None)
            for t in range(start, instance.horizon)
        )
        true = regret(instance, STAY_OR_SWITCH)
        if total != true:
            return refuted(
                f"instance {number}, from t = {first}, against a switch after {switch}, lengths at "
                f"{moment}: the sum is {decimal(total, 6)}, R_T = {decimal(true, 6)}"
            )
    return undecided(proof.witness)


def _step_back(instance, t: int, back: int, moment: int | None = None) -> Fraction:
    """Mean difference of the queues that switch after rounds t and t - back."""
    earlier = switched_mean(instance, STAY_OR_SWITCH, max(t - back, 0), moment)
    return switched_mean(instance, STAY_OR_SWITCH, t, moment) - earlier


@regret_telescopes.check(
    method="smt", scope="general", part="coupling", false={"departs": _DEPARTS[1]}
)
def shared_uniform_keeps_each_law(departs: str) -> Finding:
    """Ask z3 for the probabilities of the four outcomes of a round, for all rates p and q of a pair.

    Two intervals [0, a] and [0, b] of uniforms overlap in min(a, b): the four outcomes have
    probabilities that are not negative, and each queue must lose a job with its own rate.
    """
    import z3

    from checks.methods.smt import implies

    p, q, a, b, both = z3.Reals("p q a b both")
    larger = z3.If(p >= q, p, q)
    own = one_of("departs", departs, *_DEPARTS) == _DEPARTS[0]
    model = [
        *(z3.And(x >= 0, x <= 1) for x in (p, q)),
        a == (p if own else larger),
        b == (q if own else larger),
        both == z3.If(a <= b, a, b),
    ]
    only_plus, only_minus = a - both, b - both
    neither = 1 - both - only_plus - only_minus
    return combine(
        [
            implies(
                model,
                z3.And(*(x >= 0 for x in (both, only_plus, only_minus, neither))),
                "four probabilities",
            ),
            implies(model, both + only_plus == p, f"the first queue, U at most {departs}"),
            implies(model, both + only_minus == q, f"the second queue, U at most {departs}"),
        ],
        "each queue loses a job with its own rate",
    )


@regret_telescopes.check(
    method="exact",
    scope="general",
    part="values",
    false=[
        {"regret_1": "1185917433229152/2592000000000000"},
        {"regret_2": "1743861043085666670/1399680000000000000"},
        {"regret_3": "16821141474701114744/33059881728000000000"},
        {"terms": "0.000000, 0.037089, 0.043224, 0.061108, 0.080662, 0.103213, 0.132235"},
    ],
)
def three_instances_in_rationals(
    regret_1: str, regret_2: str, regret_3: str, terms: str
) -> Finding:
    """The law under the learner, the value of the optimal policy, and the law of the coupled pair.

    Three recursions in rationals. For each t the mean of psi(t,T) from the pair must equal
    E Q(t,T) - E Q(t-1,T) from the other two, and their sum the regret; then the numbers are compared.
    The part is about these instances, so it is decided whole.
    """
    values = {}
    for number, (instance, claimed) in enumerate(
        zip(NAMED, (regret_1, regret_2, regret_3), strict=True), 1
    ):
        rounds = switching_rounds(instance, STAY_OR_SWITCH)
        for t, one in enumerate(rounds, 1):
            if one.mean != _step_back(instance, t, 1):
                return undecided(f"instance {number}, t = {t}: two recursions disagree")
        true = regret(instance, STAY_OR_SWITCH)
        if sum(one.mean for one in rounds) != true:
            return undecided(f"instance {number}: the sum is not the regret")
        if true != Fraction(claimed):
            return refuted(f"instance {number}: R_T = {true}, not {claimed}")
        values[f"regret, instance {number}"] = exact(true)
    means = [one.mean for one in switching_rounds(NAMED[0], STAY_OR_SWITCH)]
    wrong = misprint("terms", terms, numbered("E psi(t,8), t", means), 9)
    return wrong or proved("three recursions agree in every term of three sums", **values)


def numbered(name: str, values: Iterable[Fraction]) -> list[tuple[str, Fraction]]:
    """The values with their name and number, from 1 on, for `misprint`."""
    return [(f"{name} = {number}", value) for number, value in enumerate(values, 1)]


@regret_telescopes.check(method="exact", scope="instances", part="sum", false={"first": "2"})
def drawn_learners(first: str) -> Finding:
    """Ten drawn instances and learners with memory, T = 5: the sum of E psi against the regret.

    E psi(t,T) is that of the coupled pair, the regret comes from the law under the learner and the
    value of the optimal policy: recursions that share nothing.
    """
    start, terms = int(first), 0
    for number, (instance, learner) in enumerate(drawn(10, horizon=5), 1):
        pairs = switching_rounds(instance, learner)[start - 1 :]
        total, true = sum((one.mean for one in pairs), Fraction(0)), regret(instance, learner)
        if total != true:
            return refuted(
                f"drawn instance {number}, from t = {first}: the sum is {decimal(total, 6)}, "
                f"R_5 = {decimal(true, 6)}"
            )
        terms += len(pairs)
    return proved(f"equal in rationals for 10 learners, {terms} terms in all")


# Lemma 4.2 -----------------------------------------------------------------------------------------

_GIVEN = ("and that only the queue that switched earlier loses a job in round $t$", "alone")
_BOUNDS = (r"m_t\,\delta_t", r"m_t^2\,\delta_t", "m_t^2")
_RELATIONS = (r"\le", "=")

psi_product_bound = Claim(
    "contextual.psi_product_bound",
    title="A round costs at most the error of its choice times what is left of it at the end",
    source=Source(SOURCE, "Lemma 4.2", provenance="reconstructed"),
    kind="lemma",
    statement=r"""
Let $\mathrm{gap}_t$ be the largest rate $\mu(x^\top\theta^*_k)$ of a job that waits at the beginning
of round $t$ less the rate of the learner's pair (0 if nothing waits), and $\mathcal F_t^+$ all that
happened before the service of round $t$, the choice included. Let $\psi(t,T)$ be the difference of
the coupled queues that switch to $\pi^*$ after round $t$ and after round $t-1$, and $\tilde\psi(t,T)$
its mean given $\mathcal F_t^+$ <<given>>, which is $W(s)-W(s\setminus k)$ of
`contextual.one_step_loss`, also where $\mathrm{gap}_t=0$ (and 0 if nothing waits). Then
$$\begin{aligned}E[\psi(t,T)]&<<relation>> E[\mathrm{gap}_t\,\tilde\psi(t,T)]\\
&\le <<bound>>,\end{aligned}$$
where $m_t^2=E[\mathrm{gap}_t^2]$ and $\delta_t^2=E[\tilde\psi(t,T)]$. Hence
$$R_T\le\sum_{t=1}^{T-1}E[\mathrm{gap}_t\,\tilde\psi(t,T)]\le\sum_{t=1}^{T-1} <<bound>>.$$

For the three instances of `contextual.regret_telescopes`, in their order:

| | first | second | third |
| --- | --- | --- | --- |
| $R_T$ | <<regrets:cells>> |
| $\sum_tE[\mathrm{gap}_t\tilde\psi(t,T)]$ | <<means:cells>> |
| $\sum_tm_t\delta_t$ | <<products:cells>> |
""",
    claimed={
        "given": _GIVEN[0],
        "relation": r"\le",
        "bound": _BOUNDS[0],
        "regrets": "0.457530, 1.245900, 0.508808",
        "means": "0.476957, 1.380753, 0.571236",
        "products": "0.802337, 1.796067, 1.120526",
    },
    meaning={
        "given": "what is given besides the past in the second factor",
        "relation": "first step of the chain",
        "bound": "what the mean of the product is bounded by",
        "means": "sums over t of the mean of gap times what is left",
        "products": "sums over t of the products of the two roots",
    },
    rests_on=["contextual.regret_telescopes", "contextual.one_step_loss"],
    parts={
        "branches": "the outcomes of round t",
        "roots": "from the mean of a product to a product of roots",
        "values": "three instances",
    },
    uncovered="that the inequality given the past holds on average, and the sum over t: a line each",
)


@psi_product_bound.check(
    method="smt",
    scope="general",
    part="branches",
    false=[{"relation": "="}, {"given": _GIVEN[1]}],
)
def outcomes_of_the_switching_round(given: str, relation: str) -> Finding:
    """Ask z3 for the mean of psi over the outcomes of round t, each with its sign.

    The learner's rate is p, the largest p + gap. With probability p both queues lose a job, and the one
    with the better job left is ahead: psi has mean at most 0 (one_step_loss, item 2). With probability
    1 - p - gap neither does, and psi is 0. With probability gap only the queue that switched earlier
    does. A false step is refuted by a round of the three instances.
    """
    import z3

    from checks.methods.smt import implies

    p, gap, both, only, neither, mean = z3.Reals("p gap both only neither mean")
    alone = one_of("given", given, *_GIVEN) == _GIVEN[1]
    product = gap * (mean if alone else only)
    equal = one_of("relation", relation, *_RELATIONS) == "="
    proof = implies(
        [
            p >= 0,
            gap >= 0,
            p + gap <= 1,
            both <= 0,
            neither == 0,
            only >= 0,
            mean == p * both + gap * only + (1 - p - gap) * neither,
        ],
        mean == product if equal else mean <= product,
        f"mean of psi against the product, relation {relation}",
    )
    if proof.outcome == PROVED:
        return proof
    for number, instance in enumerate(NAMED, 1):
        for t, one in enumerate(switching_rounds(instance, STAY_OR_SWITCH), 1):
            right = one.product_given_past if alone else one.product
            if one.mean > right or (equal and one.mean != right):
                return refuted(
                    f"instance {number}, t = {t}: E psi = {decimal(one.mean, 6)}, "
                    f"E[gap psi~] = {decimal(right, 6)}"
                )
    return undecided(proof.witness)


@psi_product_bound.check(
    method="smt",
    scope="general",
    part="roots",
    false=[{"bound": bound} for bound in _BOUNDS[1:]],
)
def cauchy_schwarz(bound: str) -> Finding:
    """Ask z3 whether squares with nonnegative means imply (E XY)^2 <= E X^2 E Y, for Y in [0, 1].

    X is the gap, Y what is left. The squares are those of c X - a Y, b X - c Y, X + Y and X - Y, where
    a = E X^2, b = E Y^2, c = E XY; and Y^2 <= Y. That Y is in [0, 1] is item 2 of one_step_loss. A
    smaller bound is refuted by the regret of the first instance.
    """
    import z3

    from checks.methods.smt import implies

    one_of("bound", bound, *_BOUNDS)
    y, a, b, c, d = z3.Reals("Y E(X^2) E(Y^2) E(XY) E(Y)")
    squares = [
        a >= 0,
        b >= 0,
        a * (a * b - c * c) >= 0,
        b * (a * b - c * c) >= 0,
        a + 2 * c + b >= 0,
        a - 2 * c + b >= 0,
    ]
    right = {_BOUNDS[0]: a * d, _BOUNDS[1]: a * a * d, _BOUNDS[2]: a * a}[bound]
    proof = combine(
        [
            implies([y >= 0, y <= 1], y * y <= y, "Y^2 <= Y"),
            implies([*squares, b <= d], c * c <= right, f"squared mean of the product, {bound}"),
        ],
        "Cauchy-Schwarz, and Y^2 <= Y on [0, 1]",
    )
    if proof.outcome == PROVED:
        return proof
    with precision(120):
        total = _sum_of(bound, switching_rounds(NAMED[0], STAY_OR_SWITCH))
        true = regret(NAMED[0], STAY_OR_SWITCH)
        text = f"first instance: the sum of {bound} is {total.str(7, radius=False)}"
        if total < ball(true):
            return refuted(f"{text}, R_8 = {decimal(true, 6)}")
    return undecided(proof.witness)


def _sum_of(bound: str, rounds):
    """Sum over t of a bound on the mean of the product (a ball)."""
    total = ball(0)
    for one in rounds:
        m, delta = ball(one.gap_squared).sqrt(), ball(one.disagreement).sqrt()
        total += {_BOUNDS[0]: m * delta, _BOUNDS[1]: m**2 * delta, _BOUNDS[2]: m**2}[bound]
    return total


@psi_product_bound.check(
    method="certified",
    scope="general",
    part="values",
    false=[
        {"regrets": "0.457531, 1.245900, 0.508808"},
        {"means": "0.476957, 1.380754, 0.571236"},
        {"products": "0.802337, 1.796067, 1.120527"},
    ],
)
def sums_of_three_instances(regrets: str, means: str, products: str) -> Finding:
    """Both sums of the three instances: rationals for the first, Arb for the sum of roots.

    The part is about these instances, so it is decided whole. The chain is compared besides.
    """
    rounds = [switching_rounds(instance, STAY_OR_SWITCH) for instance in NAMED]
    true = [regret(instance, STAY_OR_SWITCH) for instance in NAMED]
    first = [sum(one.product for one in row) for row in rounds]
    found = misprint("regrets", regrets, numbered("R_T of instance", true), 9)
    found = found or misprint("means", means, numbered("sum of E[gap psi~], instance", first), 9)
    if found:
        return found
    values = {}
    with precision(120):
        texts = one_for_each(
            "products", products, *(f"instance {i + 1}" for i in range(len(NAMED)))
        )
        for number, (row, text) in enumerate(zip(rounds, texts, strict=True), 1):
            total = _sum_of(_BOUNDS[0], row)
            shown = f"sum of m delta, instance {number}"
            if not ball(true[number - 1]) <= ball(first[number - 1]) <= total:
                return undecided(f"instance {number}: the chain does not hold")
            told = f"{shown}: {total.str(9, radius=False)}"
            rounded = rounds_to(total, text, "products", told)
            if rounded.outcome != PROVED:
                return rounded
            values[f"sum of means, instance {number}"] = exact(first[number - 1])
            values[shown] = quantity(total, 20)
    return proved("regret, sum of means and sum of products of three instances", **values)


@psi_product_bound.check(
    method="exact",
    scope="instances",
    part="branches",
    false=[{"relation": "="}, {"given": _GIVEN[1]}, *({"bound": b} for b in _BOUNDS[1:])],
)
def chain_of_drawn_learners(given: str, relation: str, bound: str) -> Finding:
    """Both steps of the chain in each round of the drawn instances and learners, in rationals.

    psi and what is left of it are computed from the law of the coupled pair. The second step is
    squared.
    """
    alone = one_of("given", given, *_GIVEN) == _GIVEN[1]
    equal = one_of("relation", relation, *_RELATIONS) == "="
    one_of("bound", bound, *_BOUNDS)
    compared = 0
    for number, (instance, learner) in enumerate(drawn(10, horizon=5), 1):
        for t, one in enumerate(switching_rounds(instance, learner), 1):
            product = one.product_given_past if alone else one.product
            a = one.gap_squared
            square = {
                _BOUNDS[0]: a * one.disagreement,
                _BOUNDS[1]: a * a * one.disagreement,
                _BOUNDS[2]: a * a,
            }[bound]
            case = f"drawn instance {number}, t = {t}: E[gap psi~] = {decimal(product, 6)}"
            if one.mean > product or (equal and one.mean != product):
                return refuted(f"{case}, E psi = {decimal(one.mean, 6)}")
            if product * product > square:
                return refuted(f"{case}, square of {bound} = {decimal(square, 6)}")
            compared += 1
    return proved(f"both steps hold in {compared} rounds of 10 learners")
