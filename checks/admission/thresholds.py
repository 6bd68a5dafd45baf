"""Thresholds are enough; when the best one is found by a scan; what optimal decisions look like."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from checks.admission.birth_death import (
    described,
    drawn,
    drawn_acceptance,
    listed,
    solved_cost,
    solved_law,
)
from checks.admission.instances import SOURCE
from checks.claim import Claim, Source
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

if TYPE_CHECKING:
    from simlib.admission.model import AdmissionModel

# A threshold is enough -----------------------------------------------------------------------------

_WEIGHTS = (
    r"\alpha(0)\cdots\alpha(\theta-1)\,(1-\alpha(\theta))\,W_\theta",
    r"\alpha(0)\cdots\alpha(\theta-1)\,(1-\alpha(\theta))",
)
_FIRST = (
    r"the smallest $s$ with $\alpha(s)=0$",
    r"the smallest $s$ with $\alpha(k)=0$ for all $k\ge s$",
)
_RATES = ("positive", "nonnegative")


@cache
def bent() -> AdmissionModel:
    """A model whose rates are nondecreasing but not concave."""
    from simlib.admission.model import AdmissionModel

    rates = ("1/2", "5/4", "3/2", "5/2", 4, 5)
    return AdmissionModel(2, rates, rejection_cost="3/4", holding_cost="1/2")


threshold_gain = Claim(
    "admission.threshold_gain",
    title="A threshold is as good as any policy that acts on the number of jobs, whatever the rates",
    source=Source(SOURCE, "Section 7", provenance="ours"),
    kind="theorem",
    statement=r"""
*The problem.* With $s\in\{0,\dots,S\}$ jobs in the system, jobs ask for admission at rate $\lambda>0$
and one leaves at rate $\mu(s)$, which is <<rates>> for $s\ge1$; $\mu(0)=0$. A *sum-policy* admits with
probability $\alpha(s)\in[0,1]$, and $\alpha(S)=0$. A job costs $g_h\ge0$ for a unit of time, a rejected
one $R\ge0$. With the stationary law $\nu^\alpha$ of $s$ the mean cost is
$$\bar c(\alpha)=E_{\nu^\alpha}[g_hX+\lambda R(1-\alpha(X))]$$
(in steps of $1/U$ the gain of the source's rewards is $(g_hS+\lambda R-\bar c(\alpha))/U$). The
*threshold* $\theta\in\{0,\dots,S\}$ admits if and only if $s<\theta$; its law is $\nu^\theta$, its mean
cost $\bar c(\theta)$. Let $w(s)=\prod_{i=1}^s\lambda/\mu(i)$ and $W_\theta=\sum_{s\le\theta}w(s)$.

1. Every sum-policy is a mixture of thresholds:
   $$\nu^\alpha=\sum_\theta p_\theta\nu^\theta,\quad
   \bar c(\alpha)=\sum_\theta p_\theta\,\bar c(\theta),$$
   where $p_\theta$ is proportional to $<<weight>>$. And $\bar c(\alpha)=E_{\nu^\alpha}[\varphi(X)]$
   with one function $\varphi(s)=g_hs+(\lambda-\mu(s))R$ for all of them.
2. If $\alpha$ takes the values 0 and 1 only, $\bar c(\alpha)=\bar c(\theta)$ with $\theta$ <<first>>.

Hence a threshold has the least mean cost of all sum-policies, without any condition on the rates. Two
stronger statements are false. For $\lambda=2$, $\mu=(\tfrac12,\tfrac54,\tfrac32,\tfrac52,4,5)$,
$R=\tfrac34$, $g_h=\tfrac12$:

3. The thresholds $0,\dots,6$ cost $<<costs:frac>>$, so the local minima of $\bar c(\theta)$ are at
   $\theta=<<minima>>$.
4. The only policy that is optimal in *every* state, also in those that it never returns to, takes the
   decisions $(<<policy>>)$ in $s=0,\dots,5$ (1: admit): no threshold.
""",
    claimed={
        "rates": _RATES[0],
        "weight": _WEIGHTS[0],
        "first": _FIRST[0],
        "costs": "3/2, 8/5, 30/19, 510/299, 3382/2007, 3638/2263, 18574/11827",
        "minima": "0, 2, 6",
        "policy": "0, 0, 0, 1, 1, 1",
    },
    meaning={
        "rates": "what is assumed of the death rates",
        "weight": "weight of a threshold in the mixture",
        "first": "the threshold with the same mean cost",
        "costs": "mean costs of the thresholds",
        "minima": "thresholds that cost no more than their neighbours",
        "policy": "decisions that are optimal in every state",
    },
    parts={
        "mixture": "sum-policies are mixtures of thresholds",
        "first rejection": "policies without coins",
        "stronger": "two stronger statements fail",
    },
    uncovered="that policies which use the past or the time do no better than stationary ones, a "
    "textbook fact on finite decision processes",
)


def _pair_of_laws(rates: str) -> Finding | None:
    """Two stationary laws where a rate is 0; None where rates are positive."""
    if one_of("rates", rates, *_RATES) == _RATES[0]:
        return None
    mu, alphas = (0, 1, 0), (0, 0, 0)
    laws = [law for law in ((1, 0, 0), (0, 1, 0), (0, 0, 1)) if _balanced(law, mu, alphas)]
    if len(laws) < 2:
        return undecided("a rate that is 0, but one stationary law")
    return refuted(f"mu(1) = 1, mu(2) = 0, nothing admitted: the laws {laws} are all stationary")


def _balanced(law: Sequence, mu: Sequence, alphas: Sequence) -> bool:
    """Whether no probability flows across any cut, for arrival rate 1."""
    return all(alphas[s] * law[s] == mu[s + 1] * law[s + 1] for s in range(len(law) - 1))


@threshold_gain.check(
    method="symbolic",
    scope="general",
    part="mixture",
    false=[{"weight": _WEIGHTS[1]}, {"rates": _RATES[1]}],
)
def mixture_by_summation(weight: str, rates: str) -> Finding:
    """Sum by parts, for any S: one step of each induction, its state a symbol.

    Balance says that the flow across each cut vanishes, which fixes the law up to a factor as the rates
    are positive: with A(s) = alpha(0)...alpha(s-1) it is A(s) w(s). The weight of a threshold is
    (A(theta) - A(theta+1)) W(theta). The mean cost is the mean of phi(s) = g_h s + (lambda - mu(s)) R,
    the same function for every policy.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    lam, mu, mu_next, a, a_next, w, big, r, g, s = sympy.symbols(
        "lambda mu(s) mu(s+1) A alpha(s) w W R g_h s", positive=True
    )
    one, two = z3.Reals("nu(s+1) nu'(s+1)")
    flow, death, p, chance, total = z3.Reals("lambda*alpha(s)*nu(s) mu(s+1) A(s) alpha(s) W(s)")
    positive = death > 0 if one_of("rates", rates, *_RATES) == _RATES[0] else death >= 0
    steps = [
        implies(
            [positive, flow >= 0, death * one == flow, death * two == flow],
            one == two,
            "a cut fixes the next probability",
        ),
        implies(
            [p >= 0, p <= 1, chance >= 0, chance <= 1, total >= 1],
            z3.And(p * (1 - chance) * total >= 0, p * chance <= p, p * chance >= 0),
            "weights are not negative",
        ),
    ]
    below, here, above, alpha_below = sympy.symbols("nu(s-1) nu(s) nu(s+1) alpha(s-1)")
    balance = lam * alpha_below * below + mu_next * above - (lam * a_next + mu) * here
    cuts = (lam * alpha_below * below - mu * here) - (lam * a_next * here - mu_next * above)
    w_next = w * lam / mu_next
    steps += [
        identity(balance, cuts, "balance is the difference of two cuts"),
        identity(lam * a_next * (a * w), mu_next * (a_next * a) * w_next, "A w solves the cuts"),
    ]
    # Sums over theta up to some n, with B = A(n+1) and C = A(n+2); x stands for w or w phi.
    b, c, x, x_next, summed = sympy.symbols("A(n+1) A(n+2) X_n x(n+1) sum")
    by_parts = summed - b * x  # the mixed sum up to n, by induction
    mass = a * (1 - a_next)
    stated = mass * (big if one_of("weight", weight, *_WEIGHTS) == _WEIGHTS[0] else 1)
    steps += [
        identity(mass, a - a * a_next, "A(theta) - A(theta+1)"),
        identity(
            by_parts + (b - c) * (x + x_next),
            (summed + b * x_next) - c * (x + x_next),
            "summation by parts, one threshold more",
        ),
        identity((a - b) * x, a * x - b * x, "summation by parts, threshold 0"),
        identity((a - b) + b, a, "tail of the weights"),
        identity(stated * (w / big), mass * w, "what a threshold adds to a state"),
    ]
    # The partial sum of A w (c - phi) up to s is -lambda R alpha(s) A(s) w(s), which is 0 at s = S.
    nu = sympy.Symbol("nu(s)")
    nu_next = lam * a_next * nu / mu_next
    chance_next = sympy.Symbol("alpha(s+1)")
    cost = g * (s + 1) + lam * r * (1 - chance_next)
    value = g * (s + 1) + (lam - mu_next) * r
    steps += [
        identity(
            -lam * r * a_next * nu + nu_next * (cost - value),
            -lam * r * chance_next * nu_next,
            "mean cost is the mean of phi, one state more",
        ),
        identity(
            nu * (lam * r * (1 - a_next) - lam * r),
            -lam * r * a_next * nu,
            "mean cost is the mean of phi, state 0",
        ),
    ]
    proof = combine(steps, "law and cost of A w are those of the mixture, by summation by parts")
    if proof.outcome == PROVED:
        return proof
    return _pair_of_laws(rates) or _unmixed(weight) or undecided(proof.witness)


def _mixture(model: AdmissionModel, alphas: Sequence, weight: str) -> tuple[list, Fraction]:
    """Law and cost of the mixture of thresholds with the stated weights."""

    from simlib.admission.model import threshold

    weights, product, w, total = [], Fraction(1), Fraction(1), Fraction(0)
    for theta, alpha in enumerate((*alphas, 0)):
        w *= model.arrival_rate / model.rates[theta - 1] if theta else 1
        total += w
        weights.append(product * (1 - alpha) * (total if weight == _WEIGHTS[0] else 1))
        product *= alpha
    law, cost = [Fraction(0)] * (model.limit + 1), Fraction(0)
    for theta, p in enumerate(weights):
        rule = threshold(theta, model.limit)
        cost += p / sum(weights) * solved_cost(model, rule)
        for s, q in enumerate(solved_law(model, rule)):
            law[s] += p / sum(weights) * q
    return law, cost


def _unmixed(weight: str) -> Finding | None:
    """Refuted by one coin at state 0, S = 1; None if its law is the mixture."""

    from simlib.admission.model import AdmissionModel

    model = AdmissionModel(1, (1,), rejection_cost=1, holding_cost=1)
    law, (mixed, _) = (
        solved_law(model, (Fraction(1, 2),)),
        _mixture(model, (Fraction(1, 2),), weight),
    )
    if law == mixed:
        return None
    return refuted(
        f"S = 1, lambda = mu = 1, alpha(0) = 1/2: Pr(X = 1) = {law[1]}, in the mixture {mixed[1]}"
    )


@threshold_gain.check(
    method="smt", scope="general", part="first rejection", false={"first": _FIRST[1]}
)
def only_one_weight_is_left(first: str) -> Finding:
    """Without coins A(s) is 1 up to the first rejection and 0 beyond, so one threshold has all weight.

    One step of the induction on s, for any policy and any S, by z3. Another threshold is refuted by a
    policy of a drawn problem.
    """
    import z3

    from checks.methods.smt import implies

    s, theta = z3.Ints("s theta")
    alpha, here, after = z3.Reals("alpha(s) A(s) A(s+1)")
    given = [s >= 0, theta >= 0, z3.Or(alpha == 0, alpha == 1), after == alpha * here]
    if one_of("first", first, *_FIRST) == _FIRST[0]:
        given += [z3.Implies(s < theta, alpha == 1), z3.Implies(s == theta, alpha == 0)]
    else:
        given += [z3.Implies(s >= theta, alpha == 0), z3.Implies(s == theta - 1, alpha == 1)]
    yes, no = z3.RealVal(1), z3.RealVal(0)
    given.append(here == z3.If(s <= theta, yes, no))
    proof = combine(
        [
            implies(given, after == z3.If(s + 1 <= theta, yes, no), "A(s+1)"),
            implies(given, here * (1 - alpha) == z3.If(s == theta, yes, no), "the weights"),
        ],
        "all weight is at the first rejection",
    )
    if proof.outcome == PROVED:
        return proof
    return _same_cost_as_a_threshold(first, 1) or undecided(proof.witness)


def _same_cost_as_a_threshold(first: str, count: int) -> Finding | None:
    """Refuted by a policy without coins whose cost is not that of its threshold; None if all agree."""

    from simlib.admission.model import policies, threshold

    for model in drawn(count, limit=4, shape="any"):
        costs = [solved_cost(model, threshold(theta, 4)) for theta in range(5)]
        for rule in policies(4):
            full = (*rule, 0)
            theta = (
                full.index(0)
                if first == _FIRST[0]
                else 4 - full[3::-1].index(1)
                if any(full)
                else 0
            )
            cost = solved_cost(model, rule)
            if cost != costs[theta]:
                return refuted(
                    f"{described(model)}: the policy {rule} costs {cost}, threshold {theta} costs "
                    f"{costs[theta]}"
                )
    return None


@threshold_gain.check(
    method="exact",
    scope="instances",
    part="mixture",
    false=[{"weight": _WEIGHTS[1]}, {"first": _FIRST[1]}],
)
def every_policy_of_drawn_problems(weight: str, first: str) -> Finding:
    """Solve the balance equations of all 16 policies and of 5 with coins, for 8 drawn problems, S = 4.

    The laws come from a linear system, not from the product of ratios.
    """
    wrong = _same_cost_as_a_threshold(one_of("first", first, *_FIRST), 8)
    if wrong:
        return wrong
    for number, model in enumerate(drawn(8, limit=4, shape="any")):
        for seed in range(5):
            alphas = drawn_acceptance(4, 10 * number + seed)
            law, cost = _mixture(model, alphas, one_of("weight", weight, *_WEIGHTS))
            if law != solved_law(model, alphas) or cost != solved_cost(model, alphas):
                return refuted(
                    f"{described(model)}, alpha = ({listed(alphas)}): the mixture costs {cost}, the "
                    f"policy {solved_cost(model, alphas)}"
                )
    return proved("128 policies without coins and 40 with coins, law and cost equal in rationals")


@threshold_gain.check(
    method="exact",
    scope="general",
    part="stronger",
    false=[
        {"costs": "3/2, 8/5, 30/19, 510/299, 3382/2007, 3638/2263, 18575/11827"},
        {"minima": "0, 6"},
        {"policy": "0, 0, 0, 0, 0, 0"},
    ],
)
def the_bent_instance(costs: str, minima: str, policy: str) -> Finding:
    """Solve the balance equations of the seven thresholds, then the optimality equation, in rationals.

    This part is about one instance, so it is decided whole. Increments d that satisfy the optimality
    equation in all seven states, with no d(s) = R, leave one policy (`threshold_concave`: the equation
    has one solution, whatever the rates).
    """

    from simlib.admission.model import threshold

    found = [solved_cost(bent(), threshold(theta, 6)) for theta in range(7)]
    lowest = [
        theta
        for theta in range(7)
        if all(found[theta] <= found[k] for k in (theta - 1, theta + 1) if 0 <= k <= 6)
    ]
    increments = optimal_increments(bent(), min(found))
    residual = optimality_residual(bent(), min(found), increments)
    if residual or bent().rejection_cost in increments:
        return undecided("the increments do not solve the optimality equation, or there is a tie")
    best = [int(step < bent().rejection_cost) for step in increments]
    for name, stated, true in (
        ("costs", costs, listed(found)),
        ("local minima", minima, listed(lowest)),
        ("optimal decisions", policy, listed(best)),
    ):
        if stated != true:
            return refuted(f"{name}: {true}, not {stated}")
    return proved(
        f"d = ({listed(increments)}) solves the optimality equation; R = {bent().rejection_cost}",
        **{"costs of thresholds": exact(costs)},
    )


def optimal_increments(model: AdmissionModel, cost: Fraction) -> list[Fraction]:
    """Increments d(1), ..., d(S) that satisfy the optimality equation at s >= 1 for a given cost."""
    least, found = model.rejection_cost, []
    for s in range(model.limit, 0, -1):
        step = model.holding_cost * s - cost + model.arrival_rate * least
        found.append(step / model.rates[s - 1])
        least = min(model.rejection_cost, found[-1])
    return found[::-1]


def optimality_residual(model: AdmissionModel, cost: Fraction, increments: Sequence) -> Fraction:
    """Largest absolute violation of the optimality equation over the states 0, ..., S."""
    rates, steps = (0, *model.rates), (0, *increments)
    violations = []
    for s in range(model.limit + 1):
        least = model.rejection_cost
        if s < model.limit:
            least = min(least, steps[s + 1])
        right = model.holding_cost * s + model.arrival_rate * least - rates[s] * steps[s]
        violations.append(abs(cost - right))
    return max(violations)


# Concave rates -------------------------------------------------------------------------------------

_GIVEN = ("nonincreasing, then nondecreasing", "any function")
_COSTS = ("nonincreasing, then nondecreasing", "convex")
_SHAPES = ("concave", "nondecreasing")
_STOPS = (
    r"\varphi(\theta+1)\ge\bar c(\theta)",
    r"\varphi(\theta+1)\ge\varphi(\theta)",
    r"\varphi(\theta+1)>\bar c(\theta)",
)
_TIES = ("up to ties", "without exception")
_RANGES = (r"d\ge0", r"0\le d\le R")
_RULES = ("d(s+1)", "d(s)")


@cache
def tied_model() -> AdmissionModel:
    """A model in which every policy costs the same."""
    from simlib.admission.model import AdmissionModel

    return AdmissionModel(2, (1, 2, 3, 4), rejection_cost=1, holding_cost=1)


@cache
def stepped() -> AdmissionModel:
    """A model with phi = (1, 1, 0): a valley with a step, from rates that are not concave."""
    from simlib.admission.model import AdmissionModel

    return AdmissionModel(1, (1, 3), rejection_cost=1, holding_cost=1)


threshold_concave = Claim(
    "admission.threshold_concave",
    title="Concave rates: a scan finds the best threshold; optimal decisions are thresholds <<ties>>",
    source=Source(SOURCE, "Section 7", provenance="ours"),
    kind="theorem",
    statement=r"""
Notation of `admission.threshold_gain`, and $\varphi(s)=g_hs+(\lambda-\mu(s))R$, $\mu(0)=0<\mu(s)$ for
$s=1,\dots,S$.

1. *Valley.* If $\varphi$ is <<given>> on $\{0,\dots,S\}$, then $\theta\mapsto\bar c(\theta)$ is
   <<costs>>.
2. *Scan.* If $\mu$ is <<shape>> on $\{0,\dots,S\}$ (as in networks of single servers,
   `admission.concave_rates`), then $\varphi$ is convex, and the smallest optimal
   threshold is the first $\theta<S$ with $<<stop>>$, or $S$ if there is none.
3. *Optimality equation.* For any rates
   $$c=g_hs+\lambda\min\{R,d(s+1)\}-\mu(s)\,d(s)\quad(s=0,\dots,S),$$
   with $d(S+1)=\infty$ and $\mu(0)d(0)=0$, has exactly one solution $c,d(1),\dots,d(S)$;
   $c=\min_\theta\bar c(\theta)$ is the least mean cost, $<<range>>$, and in state $s<S$ admitting is
   optimal if and only if $<<rule>>\le R$, rejecting if and only if $<<rule>>\ge R$.
   If $\mu$ is <<shape>>, then $d(1)\le\dots\le d(S)$: so a policy that is optimal in every state is a
   threshold policy, <<ties>> (states with $d(s+1)=R$, which are consecutive).
4. For $\lambda=2$, $R=g_h=1$ and $\mu(s)=s$, $s\le4$, every decision is a tie, and every threshold costs
   $<<tied>>$. For $\lambda=R=g_h=1$ and the rates $(1,3)$, not concave, $\varphi=(1,1,0)$ is a valley;
   the scan stops at 0, at cost 1, while the threshold 2 costs <<missed>>.
""",
    claimed={
        "given": _GIVEN[0],
        "costs": _COSTS[0],
        "shape": _SHAPES[0],
        "stop": _STOPS[0],
        "range": _RANGES[0],
        "rule": _RULES[0],
        "ties": _TIES[0],
        "tied": "2",
        "missed": "6/7",
    },
    meaning={
        "range": "what holds of all increments",
        "rule": "the increment that decides at s",
        "missed": "least cost where the scan stops too early",
    },
    rests_on=["admission.threshold_gain", "admission.concave_rates"],
    parts={
        "valley": "the shape of the costs",
        "scan": "the smallest optimal threshold",
        "equation": "one solution, which is the optimum",
        "decisions": "increments and optimal decisions",
        "instances": "a tie, and a valley that is not convex",
    },
    uncovered="the intermediate value theorem (a solution exists)",
)


@threshold_concave.check(
    method="smt",
    scope="general",
    part="valley",
    false=[{"given": _GIVEN[1]}, {"costs": _COSTS[1]}],
)
def valley_by_induction(given: str, costs: str) -> Finding:
    """The cost of theta + 1 is a mean of that of theta and of phi(theta + 1); two inductions with z3.

    While phi falls it is at most the mean so far, so the mean falls. Once it has risen above the mean,
    the mean stays below it and goes on rising. Other statements are refuted by drawn problems.
    """
    import z3

    from checks.methods.smt import implies

    c, after, last_but, now, following, last, big, w, w_next = z3.Reals(
        "c(theta) c(theta+1) c(theta+2) phi(theta+1) phi(theta+2) phi(theta) W w w'"
    )
    mean = [big > 0, w > 0, (big + w) * after == big * c + w * now]
    valley = one_of("given", given, *_GIVEN) == _GIVEN[0]
    falls, rises = ([now <= last], [following >= now]) if valley else ([], [])
    steps = [
        implies(
            [*mean, last <= c, *falls],
            z3.And(after <= c, now <= after),
            "phi falls: the mean falls and stays above phi",
        ),
        implies(
            [*mean, now >= c, *rises],
            z3.And(after >= c, following >= after),
            "the mean has risen: it goes on rising",
        ),
        implies([*mean, now < c], after < c, "the mean has not risen yet: it falls"),
    ]
    if one_of("costs", costs, *_COSTS) == _COSTS[1]:
        total = big + w
        again = [w_next > 0, (total + w_next) * last_but == total * after + w_next * following]
        steps.append(implies([*mean, *again, *falls], last_but - after >= after - c, "convexity"))
    proof = combine(
        steps, "the costs fall as long as phi(theta + 1) < c(theta), and never fall after that"
    )
    if proof.outcome == PROVED:
        return proof
    return _other_costs(given, costs, 40) or undecided(proof.witness)


def _is_valley(values: Sequence) -> bool:
    """Whether a sequence is nonincreasing, then nondecreasing."""
    rises = [b > a for a, b in pairwise(values) if a != b]
    return rises == sorted(rises)


def _is_convex(values: Sequence) -> bool:
    """Whether the differences of a sequence are nondecreasing."""
    rises = [b - a for a, b in pairwise(values)]
    return rises == sorted(rises)


def _other_costs(given: str, costs: str, count: int) -> Finding | None:
    """Refuted by a problem whose phi is as given and whose costs are not as stated; else None."""

    from simlib.admission.model import phi, threshold

    one_of("given", given, *_GIVEN)
    fits = _is_valley if one_of("costs", costs, *_COSTS) == _COSTS[0] else _is_convex
    for model in (bent(), *drawn(count, limit=6, shape="any")):
        found = [solved_cost(model, threshold(theta, 6)) for theta in range(7)]
        if (given == _GIVEN[1] or _is_valley(phi(model))) and not fits(found):
            return refuted(
                f"{described(model)}: phi = ({listed(phi(model))}), costs ({listed(found)})"
            )
    return None


@threshold_concave.check(
    method="smt",
    scope="general",
    part="scan",
    false=[{"shape": _SHAPES[1]}, {"stop": _STOPS[1]}, {"stop": _STOPS[2]}],
)
def scan_by_induction(shape: str, stop: str) -> Finding:
    """Before the first stop each cost is below the one before; after it none is (z3, one step each).

    Invariant: while phi falls strictly it is at most the mean so far. So if phi(theta + 1) reaches the
    mean, phi has turned, and being convex it never falls again.
    """
    import z3

    from checks.methods.smt import implies

    before, here, after, reject, lam, hold, s = z3.Reals("mu(s-1) mu(s) mu(s+1) R lambda g_h s")
    concave = one_of("shape", shape, *_SHAPES) == _SHAPES[0]
    rates = [here - before >= after - here] if concave else [before <= here, here <= after]

    def value(place: z3.ArithRef, rate: z3.ArithRef) -> z3.ArithRef:
        return hold * place + (lam - rate) * reject

    bent = value(s + 1, after) - value(s, here) >= value(s, here) - value(s - 1, before)
    c, following, last, big, w = z3.Reals("c(theta) c(theta+1) phi(theta) W w")
    rise, next_rise, next_but_one = z3.Reals("e(theta-1) e(theta) e(theta+1)")
    now = last + next_rise
    mean = [big > 0, w > 0, (big + w) * following == big * c + w * now]
    convex = [rise <= next_rise, next_rise <= next_but_one]
    invariant = z3.Implies(rise < 0, c >= last)
    stops = {_STOPS[0]: now >= c, _STOPS[1]: now >= last, _STOPS[2]: now > c}[
        one_of("stop", stop, *_STOPS)
    ]
    again = {
        _STOPS[0]: now + next_but_one >= following,
        _STOPS[1]: next_but_one >= 0,
        _STOPS[2]: now + next_but_one > following,
    }[stop]
    proof = combine(
        [
            implies([reject >= 0, hold >= 0, lam > 0, *rates], bent, "phi is convex"),
            implies(
                [*mean, *convex, invariant, next_rise < 0],
                following >= now,
                "phi falls: it is at most the mean",
            ),
            implies(
                [*mean, *convex, invariant, z3.Not(stops)],
                following < c,
                "before the stop it falls",
            ),
            implies(
                [*mean, *convex, invariant, stops],
                z3.And(following >= c, again),
                "after the stop it does not",
            ),
        ],
        "costs fall strictly up to the stop and never after it",
    )
    if proof.outcome == PROVED:
        return proof
    return _wrong_scan(shape, stop, 40) or undecided(proof.witness)


def _stopped(model: AdmissionModel, stop: str) -> int:
    """Where the scan with the stated rule stops."""

    from simlib.admission.model import phi, threshold_costs

    one_of("stop", stop, *_STOPS)
    values, costs = phi(model), threshold_costs(model)
    for theta in range(model.limit):
        now, last, mean = values[theta + 1], values[theta], costs[theta]
        if {_STOPS[0]: now >= mean, _STOPS[1]: now >= last, _STOPS[2]: now > mean}[stop]:
            return theta
    return model.limit


def _wrong_scan(shape: str, stop: str, count: int) -> Finding | None:
    """Refuted by a problem in which the scan misses the smallest optimal threshold; else None."""

    from simlib.admission.model import threshold

    one_of("shape", shape, *_SHAPES)
    for model in (tied_model(), *drawn(count, limit=6, shape=shape)):
        costs = [
            solved_cost(model, threshold(theta, model.limit)) for theta in range(model.limit + 1)
        ]
        best, found = costs.index(min(costs)), _stopped(model, stop)
        if best != found:
            return refuted(
                f"{described(model)}: the scan stops at {found}, at cost {costs[found]}; the smallest "
                f"optimal threshold is {best}, at cost {costs[best]}"
            )
    return None


@threshold_concave.check(
    method="smt",
    scope="general",
    part="equation",
    false=[{"range": _RANGES[1]}, {"rule": _RULES[1]}],
)
def one_solution(range: str, rule: str) -> Finding:
    """Work from the top with z3: a smaller c gives larger increments, so two solutions cannot be.

    At c = 0 the increments are not negative and at c = lambda R the equation at 0 asks for too little,
    so a solution exists in between. A negative increment would make all below it negative, and c with
    them. The mean of the equation under any policy telescopes, so no policy costs less, and one that
    takes a best decision in every state costs c. False variants are refuted by the instance of item 4
    of `admission.threshold_gain`.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    lam, mu, hold, s, reject, alpha = z3.Reals("lambda mu(s) g_h s R alpha(s)")
    c, c2, d, d2, up, up2 = z3.Reals("c c' d(s) d'(s) d(s+1) d'(s+1)")
    given = [lam > 0, mu > 0, hold >= 0, s >= 1, reject >= 0]

    def least(step: z3.ArithRef | None) -> z3.ArithRef:
        return reject if step is None else z3.If(step <= reject, step, reject)

    def solves(cost: z3.ArithRef, step: z3.ArithRef, above: z3.ArithRef | None) -> z3.BoolRef:
        return cost == hold * s + lam * least(above) - mu * step

    decides = up if one_of("rule", rule, *_RULES) == _RULES[0] else d
    top = [[], [up <= reject]][one_of("range", range, *_RANGES) == _RANGES[1]]
    steps = [
        implies([*given, solves(c, d, None), solves(c2, d2, None), c < c2], d > d2, "at S"),
        implies(
            [*given, solves(c, d, up), solves(c2, d2, up2), c < c2, up > up2], d > d2, "below S"
        ),
        implies(
            [*given, c == lam * least(up), c2 == lam * least(up2), up > up2],
            c >= c2,
            "at 0: a smaller cost with larger increments is impossible",
        ),
        implies([*given, solves(c, d, None), solves(c, d2, None)], d == d2, "equal costs, at S"),
        implies([*given, solves(c, d, up), solves(c, d2, up2), up == up2], d == d2, "equal costs"),
        implies([*given, c == 0, solves(c, d, None)], d >= 0, "c = 0, at S"),
        implies([*given, c == 0, solves(c, d, up), up >= 0], d >= 0, "c = 0, below S"),
        implies([*given, c == 0, up >= 0], lam * least(up) >= c, "c = 0, at 0"),
        implies([*given, c == lam * reject], lam * least(up) <= c, "c = lambda R, at 0"),
        implies([*given, solves(c, d, None), d < 0], c > hold * s, "a negative increment, at S"),
        implies(
            [*given, solves(c, d, up), d < 0, up >= 0],
            c > hold * s,
            "a negative increment, below S",
        ),
        implies(
            [*given, solves(c, d, up), up < 0, c > hold * (s + 1)],
            z3.And(d < 0, c > hold * s),
            "the next one below is negative too",
        ),
        implies([*given, c == lam * least(up), up < 0], c < 0, "at 0, where c > 0 was shown"),
        implies(
            [*given, solves(c, d, up), alpha >= 0, alpha <= 1],
            least(up) <= alpha * up + (1 - alpha) * reject,
            "a decision costs at least the best one",
        ),
        *(
            implies(
                [*given, solves(c, d, up), alpha == decision],
                z3.simplify(condition) == (least(up) == alpha * up + (1 - alpha) * reject),
                f"decision {decision} is optimal exactly where stated",
            )
            for decision, condition in ((1, decides <= reject), (0, decides >= reject))
        ),
        *(implies([*given, solves(c, d, up)], bound, "no increment exceeds R") for bound in top),
    ]
    rate, death, chance, chance_next, nu, step, step_next = sympy.symbols(
        "lambda mu(s+1) alpha(s) alpha(s+1) nu(s) d(s+1) d(s+2)", positive=True
    )
    nu_next = rate * chance * nu / death
    steps.append(
        identity(
            rate * chance * nu * step + nu_next * (rate * chance_next * step_next - death * step),
            rate * chance_next * nu_next * step_next,
            "the mean telescopes",
        )
    )
    proof = combine(
        steps, "one solution, whose cost is the least mean cost, without negative increments"
    )
    return proof if proof.outcome == PROVED else _bent_increments(range, rule, proof.witness)


def _bent_increments(range: str, rule: str, reason: str) -> Finding:
    """Refuted by the bent instance, where R lies between the increments and the order is not theirs."""

    from simlib.admission.model import threshold_costs

    cost = min(threshold_costs(bent()))
    steps = optimal_increments(bent(), cost)
    if optimality_residual(bent(), cost, steps):
        return undecided("the increments do not solve the optimality equation")
    shown = f"{described(bent())}: d = ({listed(steps)})"
    if range == _RANGES[1] and max(steps) > bent().rejection_cost:
        return refuted(f"{shown}, above R")
    for s, (lower, upper) in enumerate(pairwise(steps), start=1):
        if rule == _RULES[1] and lower > bent().rejection_cost > upper:
            return refuted(f"{shown}: at s = {s} admitting is optimal, although d({s}) > R")
    return undecided(reason)


@threshold_concave.check(
    method="smt",
    scope="general",
    part="decisions",
    false=[{"shape": _SHAPES[1]}, {"ties": _TIES[1]}],
)
def increments_grow(shape: str, ties: str) -> Finding:
    """A first descent of the increments would go on up to the top, which is impossible (z3, each step).

    Let d(k+1) < d(k) be the first descent, m(s) = min(R, d(s)). The equations at k and k - 1 give
    (mu(k) - mu(k-1)) d(k) <= g_h. For s > k, while d falls, the equations at s and s - 1 give
    m(s+1) < m(s), as mu(s) - mu(s-1) <= mu(k) - mu(k-1): so d(s+1) < d(s) if s < S, and at S the
    left side is R. No discounting is needed, nor that mu is nondecreasing.
    """
    import z3

    from checks.methods.smt import implies

    lam, hold, reject, c, s = z3.Reals("lambda g_h R c s")
    here, below = z3.Reals("mu(s) mu(s-1)")
    d0, d1, d2, served, m2 = z3.Reals("d(s-1) d(s) d(s+1) mu(s-1)*d(s-1) m(s+1)")
    slope, peak = z3.Reals("mu(k)-mu(k-1) d(k)")
    given = [lam > 0, hold >= 0, reject >= 0, s >= 1, here > 0, below >= 0]

    def least(step: z3.ArithRef) -> z3.ArithRef:
        return z3.If(step <= reject, step, reject)

    equations = [
        c == hold * s + lam * m2 - here * d1,
        c == hold * (s - 1) + lam * least(d1) - served,
    ]
    concave = one_of("shape", shape, *_SHAPES) == _SHAPES[0]
    falling = [d0 >= 0, d1 >= 0, d1 < d0, d0 <= peak, slope * peak <= hold]
    falling.append(here - below <= slope if concave else z3.And(here >= below, slope >= 0))
    earlier, later = z3.Reals("d(s'+1) d(s+1)")
    meet = [earlier >= reject, later <= reject, earlier <= later]
    middle = z3.Real("d(between)")
    steps = [
        implies(
            [*given, *equations, m2 == least(d2), d2 < d1, served <= below * d1],
            (here - below) * d1 <= hold,
            "first descent",
        ),
        implies([*given, *equations, served == below * d0, *falling], m2 < least(d1), "it goes on"),
        implies([m2 == least(d2), m2 < least(d1)], d2 < d1, "below S the increments fall"),
        implies([m2 < least(d1)], m2 < reject, "at S, where m(S+1) = R"),
        implies(
            meet,
            z3.And(earlier == reject, later == reject)
            if one_of("ties", ties, *_TIES) == _TIES[0]
            else z3.Not(z3.And(*meet[:2])),
            "a state that rejects below one that admits",
        ),
        implies(
            [earlier == reject, later == reject, earlier <= middle, middle <= later],
            middle == reject,
            "ties are consecutive",
        ),
    ]
    proof = combine(steps, "the increments never fall, so admitting stops once, up to ties")
    if proof.outcome == PROVED:
        return proof
    return _no_threshold(shape, ties, 1) or undecided(proof.witness)


def _no_threshold(shape: str, ties: str, count: int) -> Finding | None:
    """Refuted by a problem with an optimal policy that is no threshold (but for ties); else None."""

    from simlib.admission.model import bellman, threshold

    one_of("ties", ties, *_TIES)
    named = (tied_model(),) if shape == _SHAPES[0] else (tied_model(), bent())
    for model in (*named, *drawn(count, limit=6, shape=shape)):
        cost = min(solved_cost(model, threshold(t, model.limit)) for t in range(model.limit + 1))
        steps = optimal_increments(model, cost)
        if optimality_residual(model, cost, steps) or tuple(steps) != bellman(model).increments:
            return undecided(f"{described(model)}: two routes to the increments disagree")
        shown = f"{described(model)}: d = ({listed(steps)})"
        if any(a > b for a, b in pairwise(steps)) or steps[0] < 0:
            return refuted(f"{shown} falls, or is negative")
        if ties == _TIES[1] and len([step for step in steps if step == model.rejection_cost]) > 1:
            return refuted(f"{shown}: rejecting at 0 and admitting at 1 are both optimal")
    return None


@threshold_concave.check(
    method="exact",
    scope="general",
    part="instances",
    false=[{"tied": "1"}, {"missed": "1"}],
)
def two_named_instances(tied: str, missed: str) -> Finding:
    """Solve the balance equations of all policies of both instances, in rationals; decided whole."""

    from simlib.admission.model import phi, policies, threshold

    costs = {solved_cost(tied_model(), rule) for rule in policies(4)}
    if costs != {Fraction(tied)}:
        return refuted(f"{described(tied_model())}: the policies cost {listed(sorted(costs))}")
    steps = optimal_increments(tied_model(), Fraction(tied))
    if optimality_residual(tied_model(), Fraction(tied), steps) or set(steps) != {
        tied_model().rejection_cost
    }:
        return refuted(f"{described(tied_model())}: d = ({listed(steps)})")
    found = [solved_cost(stepped(), threshold(theta, 2)) for theta in range(3)]
    if _stopped(stepped(), _STOPS[0]) != 0 or not _is_valley(phi(stepped())):
        return undecided("the second instance is not as stated")
    return decide(
        min(found) == found[2] == Fraction(missed) and found[0] == 1,
        f"16 policies cost {tied} each; the other instance's thresholds cost {listed(found)}",
        f"the thresholds of {described(stepped())} cost {listed(found)}",
        **{"least cost of the second": exact(min(found))},
    )


@threshold_concave.check(
    method="exact",
    scope="instances",
    part="scan",
    false=[{"shape": _SHAPES[1]}, {"stop": _STOPS[1]}, {"ties": _TIES[1]}, {"given": _GIVEN[1]}],
)
def drawn_problems(shape: str, stop: str, ties: str, given: str, costs: str) -> Finding:
    """Decide the whole statement for 40 drawn problems, S = 6, with costs from linear systems.

    Smallest optimal threshold against the scan; increments from two routes, one of them policy
    iteration; 40 more of any rates, of which those whose phi is a valley must have valleys of costs.
    """
    wrong = (
        _wrong_scan(shape, stop, 40)
        or _no_threshold(shape, ties, 40)
        or _other_costs(given, costs, 40)
    )
    return wrong or proved("41 problems with concave rates, 41 with any")
