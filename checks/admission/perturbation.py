"""Two models under one policy: the difference of their costs, exactly, and bounds on increments."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise
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
    decimal,
    exact,
    one_of,
    proved,
    refuted,
    undecided,
)
from checks.judging import as_stated, misprint

if TYPE_CHECKING:
    from simlib.admission.model import AdmissionModel

# The difference of two models ----------------------------------------------------------------------

_COSTS = ("nondecreasing", "any function")
_INCREMENTS = ("second", "first")
_POLICIES = ("thresholds", "sum-policies")
_ORDERS = (r"\tilde{\bar c}\le\bar c", r"\tilde{\bar c}\ge\bar c")

perturbation_identity = Claim(
    "admission.perturbation_identity",
    title="The costs of two models differ by a sum of the law of one and the increments of the other",
    source=Source(SOURCE, "Section 5", provenance="ours"),
    kind="lemma",
    statement=r"""
*Increments.* Jobs arrive at rate $\lambda$ at $s<\theta$ and leave at rate $m(s)>0$ at
$s=1,\dots,\theta$; $\nu$ is the law of the number $X$ of jobs, $c$ a cost, $\bar c=E_\nu c(X)$. The
increments $d(1),\dots,d(\theta)$ of the cost bias solve
$$\bar c=c(s)+\lambda1\{s<\theta\}\,d(s+1)-m(s)\,d(s),\qquad s=0,\dots,\theta,$$
with $m(0)d(0)=0$.

1. $m(s)\nu(s)d(s)=\mathrm{Cov}_\nu(1\{X\ge s\},c(X))$. If $c$ is <<cost>>, then
   $$0\le m(s)\nu(s)\,d(s)\le(c(\theta)-c(0))\,P(X\ge s)\,P(X<s).$$

*Two models.* Positive rates $\lambda,\mu(s)$ and $\tilde\lambda,\tilde\mu(s)$, the same acceptance
probabilities $\alpha(s)$ with $\alpha(S)=0$, costs $g_hs+\lambda R(1-\alpha(s))$ with $g_h,R\ge0$, and
the same with $\tilde\lambda$.
Mean costs $\bar c,\tilde{\bar c}$, laws $\nu,\tilde\nu$, increments $d,\tilde d$.

2. With the law of the first model and the increments of the <<which>>, called $e$ here, exactly
   $$\begin{aligned}\bar c-\tilde{\bar c}=\sum_{s=0}^S\nu(s)\bigl[&(\lambda-\tilde\lambda)
   \bigl(\alpha(s)e(s+1)+(1-\alpha(s))R\bigr)\\
   &+(\tilde\mu(s)-\mu(s))\,e(s)\bigr]\end{aligned}$$
   (without $e(0)$ and $e(S+1)$): nothing of second order is left.
3. If $\tilde\lambda\le\lambda$ and $\tilde\mu\ge\mu$, then $<<order>>$ for all <<policies>>.
4. One server, $S=1$, everything admitted, $\lambda=\tilde\lambda=\mu(1)=g_h=1$, $\tilde\mu(1)=2$, $R=0$:
   $\bar c-\tilde{\bar c}=<<difference>>$. With the law and the increments both of the first model the
   sum is <<mixture>>.
""",
    claimed={
        "cost": _COSTS[0],
        "which": _INCREMENTS[0],
        "order": _ORDERS[0],
        "policies": _POLICIES[0],
        "difference": "1/6",
        "mixture": "1/4",
    },
    meaning={
        "which": "the model whose increments stand in the sum",
        "policies": "for which policies faster service means less cost",
    },
    rests_on=["admission.threshold_gain"],
    parts={
        "increments": "increments as covariances",
        "difference": "the difference of two models",
        "order": "faster service, fewer arrivals: less cost",
        "example": "one server",
    },
    uncovered="that sums of the steps shown are the sums stated, by induction on the number of states",
)


@perturbation_identity.check(
    method="symbolic", scope="general", part="increments", false={"cost": _COSTS[1]}
)
def covariance_by_telescoping(cost: str) -> Finding:
    """Multiply the equation by nu(s), add up from the top, and compare the two parts of the mean cost.

    Each step has the state as a symbol, so that any number of states is covered: SymPy for identities,
    z3 for the two tails, which lie between their least and their largest cost. A cost that falls is
    refuted by two states.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    lam, m, m_next, nu, d_next, c, mean = sympy.symbols("lambda m m' nu d' c cbar", positive=True)
    nu_next = lam * nu / m_next
    d = (c - mean + lam * d_next) / m
    upper, lower, p = sympy.symbols("upper lower p", positive=True)  # sums of nu c, and P(X >= s)
    monotone = one_of("cost", cost, *_COSTS) == _COSTS[0]
    up, down, q, chance, mass = z3.Reals("U L P(X<s) P(X>=s) nu(n)")
    here, first, last, at, before = z3.Reals("c(n) c(0) c(theta) c(s) c(s-1)")

    def given(*order: z3.BoolRef) -> list:
        return [mass > 0, q > 0, chance > 0, *(order if monotone else ())]

    steps = [
        identity(
            m * nu * d,
            nu * (c - mean) + m_next * nu_next * d_next,
            "m nu d adds nu (c - mean) to the one above",
        ),
        identity(m * nu * d.subs(d_next, 0), nu * (c - mean), "at the top"),
        identity(
            upper - p * (upper + lower),
            (1 - p) * upper - p * lower,
            "sum over X >= s: a covariance",
        ),
        implies(
            [*given(at <= here, here <= last), up >= chance * at, up <= chance * last],
            z3.And(
                up + mass * here >= (chance + mass) * at, up + mass * here <= (chance + mass) * last
            ),
            "upper tail, one state more",
        ),
        implies(
            [*given(first <= here, here <= before), down >= q * first, down <= q * before],
            z3.And(
                down + mass * here >= (q + mass) * first, down + mass * here <= (q + mass) * before
            ),
            "lower tail, one state more",
        ),
        implies(
            [
                *given(before <= at),
                *(up >= chance * at, up <= chance * last),
                *(down >= q * first, down <= q * before),
            ],
            z3.And(
                q * up - chance * down >= 0, q * up - chance * down <= (last - first) * chance * q
            ),
            "sign and upper bound",
        ),
    ]
    proof = combine(steps, "m(s) nu(s) d(s) is the covariance, between 0 and its bound")
    if proof.outcome == PROVED:
        return proof
    law, rate, falling = (Fraction(1, 2), Fraction(1, 2)), 1, (1, 0)
    found = (falling[1] - sum(p * x for p, x in zip(law, falling, strict=True))) / Fraction(rate)
    if monotone or found >= 0:
        return undecided(proof.witness)
    return refuted(f"theta = 1, lambda = m = 1, c = {falling}: d(1) = {found}")


@perturbation_identity.check(
    method="exact", scope="instances", part="increments", false={"cost": _COSTS[1]}
)
def covariances_of_drawn_chains(cost: str) -> Finding:
    """Increments from the recursion and covariances from solved laws, 60 drawn chains of 6 states.

    Costs are drawn too, nondecreasing or not as stated; every increment must be the covariance, and lie
    within its bounds.
    """
    source = random.Random(5)
    for model in drawn(60, limit=5, shape="any"):
        values = [Fraction(source.randint(0, 9)) for _ in range(6)]
        if one_of("cost", cost, *_COSTS) == _COSTS[0]:
            values.sort()
        law = solved_law(model, (1,) * 5)
        mean = sum(p * c for p, c in zip(law, values, strict=True))
        found = Fraction(0)
        for s in range(5, 0, -1):
            found = (values[s] - mean + model.arrival_rate * found) / model.rates[s - 1]
            tail, scale = sum(law[s:]), model.rates[s - 1] * law[s]
            covariance = sum(law[j] * values[j] for j in range(s, 6)) - tail * mean
            if found * scale != covariance:
                return undecided("increments and covariances disagree")
            if not 0 <= covariance <= (values[-1] - values[0]) * tail * (1 - tail):
                return refuted(
                    f"{described(model)}, c = ({listed(values)}): d({s}) = {decimal(found, 4)}"
                )
    return proved("300 increments, equal in rationals to their covariances, within the bounds")


@perturbation_identity.check(
    method="symbolic", scope="general", part="difference", false={"which": _INCREMENTS[1]}
)
def mean_of_the_other_equation(which: str) -> Finding:
    """Take the mean of the second model's equation under the law of the first, state by state.

    For any numbers e the mean of lambda alpha(s) e(s+1) - mu(s) e(s) under nu telescopes to 0; adding it
    to the second model's equation leaves the stated summand, exactly. The increments of the first model
    satisfy another equation: they are refuted by the example.
    """
    import sympy

    from checks.methods.symbolic import identity

    lam, lam2, mu, mu2, death, alpha, alpha_next, nu, s, g, r = sympy.symbols(
        "lambda lambda~ mu(s) mu~(s) mu(s+1) alpha(s) alpha(s+1) nu(s) s g_h R", positive=True
    )
    e, e_next, e_after, mean = sympy.symbols("e(s) e(s+1) e(s+2) cbar~")
    nu_next = lam * alpha * nu / death
    cost, cost2 = (g * s + rate * r * (1 - alpha) for rate in (lam, lam2))
    second = one_of("which", which, *_INCREMENTS) == _INCREMENTS[0]
    # The mean cost of the model whose increments e are, by its own equation.
    own = (
        cost2 + lam2 * alpha * e_next - mu2 * e if second else cost + lam * alpha * e_next - mu * e
    )
    summand = (lam - lam2) * (alpha * e_next + (1 - alpha) * r) + (mu2 - mu) * e
    point = {lam: 1, lam2: 1, mu: 1, mu2: 2, alpha: 1, s: 1, g: 1, r: 0, e: 1, e_next: 0, mean: 0}
    proof = combine(
        [
            identity(
                lam * alpha * nu * e_next + nu_next * (lam * alpha_next * e_after - death * e_next),
                lam * alpha_next * nu_next * e_after,
                "partial sums telescope to lambda alpha nu e, which is 0 at S",
            ),
            identity(cost - own + (lam * alpha * e_next - mu * e), summand, "summand", at=[point]),
        ],
        "cost - own mean + the telescoping term = the summand, in every state",
    )
    if proof.outcome == PROVED:
        return proof
    first, other = _example()
    left, right = _both_sides(first, other, (1,), which)
    if left == right:
        return undecided(proof.witness)
    return refuted(
        f"{described(first)} and mu~ = {other.rates[0]}: {left} on the left, {right} right"
    )


def _example() -> tuple[AdmissionModel, AdmissionModel]:
    """The two models of item 4."""

    from simlib.admission.model import AdmissionModel

    return AdmissionModel(1, (1,), 0, 1), AdmissionModel(1, (2,), 0, 1)


def _both_sides(
    first: AdmissionModel, second: AdmissionModel, alphas: Sequence, which: str
) -> tuple[Fraction, Fraction]:
    """Difference of the mean costs from solved laws, and the sum that is said to be equal to it."""

    from simlib.admission.model import increments

    left = solved_cost(first, alphas) - solved_cost(second, alphas)
    model = second if one_of("which", which, *_INCREMENTS) == _INCREMENTS[0] else first
    e = (0, *increments(model, alphas), 0)
    right = Fraction(0)
    for s, p in enumerate(solved_law(first, alphas)):
        alpha = alphas[s] if s < first.limit else 0
        arrivals = alpha * e[s + 1] + (1 - alpha) * first.rejection_cost
        right += p * (first.arrival_rate - second.arrival_rate) * arrivals
        if s:
            right += p * (second.rates[s - 1] - first.rates[s - 1]) * e[s]
    return left, right


def _pairs(count: int, limit: int) -> Iterator[tuple[AdmissionModel, AdmissionModel]]:
    """Drawn pairs of models, the second with no larger arrival rate and no smaller death rates."""

    from simlib.admission.model import AdmissionModel

    source = random.Random(3)
    for first in drawn(count, limit=limit, shape="any"):
        second = AdmissionModel(
            first.arrival_rate * Fraction(source.randint(1, 4), 4),
            [rate + Fraction(source.randint(0, 8), 4) for rate in first.rates],
            first.rejection_cost,
            first.holding_cost,
        )
        yield first, second


@perturbation_identity.check(
    method="exact", scope="instances", part="difference", false={"which": _INCREMENTS[1]}
)
def drawn_pairs_of_models(which: str) -> Finding:
    """Compare both sides for 40 drawn pairs of models, S = 4, one policy with coins each.

    The laws come from linear systems. Both directions are tried: each model is once the first.
    """
    for number, (first, second) in enumerate(_pairs(40, 4)):
        alphas = drawn_acceptance(4, number)
        for one, other in ((first, second), (second, first)):
            left, right = _both_sides(one, other, alphas, which)
            if left != right:
                return refuted(
                    f"{described(one)}; lambda~ = {other.arrival_rate}, mu~ = ({listed(other.rates)}), "
                    f"alpha = ({listed(alphas)}): {decimal(left, 6)} on the left, "
                    f"{decimal(right, 6)} on the right"
                )
    return proved("80 differences of mean costs, equal in rationals")


@perturbation_identity.check(
    method="smt",
    scope="general",
    part="order",
    false=[{"order": _ORDERS[1]}, {"policies": _POLICIES[1]}],
)
def every_summand_has_a_sign(order: str, policies: str) -> Finding:
    """The cost of a threshold grows with the state it visits, so all increments and summands are >= 0.

    A sum-policy that rejects at few jobs and admits at many can lose by faster service: refuted by such
    a policy, with S = 2.
    """
    import z3

    from checks.methods.smt import implies
    from simlib.admission.model import AdmissionModel

    s, theta = z3.Ints("s theta")
    g, lam, lam2, r, mu, mu2, nu, e, e_next, alpha, alpha_next = z3.Reals(
        "g_h lambda lambda~ R mu mu~ nu e(s) e(s+1) alpha(s) alpha(s+1)"
    )
    rates = [g >= 0, r >= 0, lam2 > 0, lam2 <= lam, mu > 0, mu2 >= mu, nu >= 0]
    coins = [alpha >= 0, alpha <= 1, alpha_next >= 0, alpha_next <= 1]
    if one_of("policies", policies, *_POLICIES) == _POLICIES[0]:
        coins += [
            s >= 0,
            s < theta,
            alpha == 1,
            alpha_next == z3.If(s + 1 < theta, z3.RealVal(1), z3.RealVal(0)),
        ]
    summand = nu * ((lam - lam2) * (alpha * e_next + (1 - alpha) * r) + (mu2 - mu) * e)
    less = one_of("order", order, *_ORDERS) == _ORDERS[0]
    proof = combine(
        [
            as_stated(perturbation_identity, cost=_COSTS[0], which=_INCREMENTS[0]),
            implies(
                [*rates, *coins],
                lam2 * r * (1 - alpha) <= g + lam2 * r * (1 - alpha_next),
                "the cost is nondecreasing",
            ),
            implies(
                [*rates, alpha >= 0, alpha <= 1, e >= 0, e_next >= 0],
                summand >= 0 if less else summand <= 0,
                "summand",
            ),
        ],
        "increments of the second model are not negative, nor are the summands",
    )
    if proof.outcome == PROVED:
        return proof
    alphas = (1,) if policies == _POLICIES[0] else (Fraction(1, 10), 1)
    limit = len(alphas)
    first, second = (AdmissionModel(1, (x, 1)[:limit], 1, 0) for x in (1, 2))
    costs = solved_cost(first, alphas), solved_cost(second, alphas)
    if (costs[1] <= costs[0]) == less:
        return undecided(proof.witness)
    return refuted(
        f"{described(first)}, mu~(1) = 2, alpha = ({listed(alphas)}): the costs are {costs[0]} and "
        f"{costs[1]}"
    )


@perturbation_identity.check(
    method="exact",
    scope="general",
    part="example",
    false=[{"difference": "1/4"}, {"mixture": "1/6"}],
)
def one_server(difference: str, mixture: str) -> Finding:
    """Solve both models of the example in rationals; this part is about them, so it is decided whole."""
    first, second = _example()
    for name, stated, which in (
        ("second", difference, _INCREMENTS[0]),
        ("first", mixture, _INCREMENTS[1]),
    ):
        left, right = _both_sides(first, second, (1,), which)
        if left != Fraction(1, 6):
            return undecided(f"the costs differ by {left}")
        if right != Fraction(stated):
            return refuted(
                f"with the increments of the {name} model the sum is {right}, not {stated}"
            )
    return proved(
        "the costs are 1/2 and 1/3; the increments are d(1) = 1/2 and d~(1) = 1/3",
        difference=exact(difference),
        mixture=exact(mixture),
    )


# Increments of an optimistic model -----------------------------------------------------------------

_QUEUES = ("nondecreasing", "nonincreasing")
_PROJECTED = ("nondecreasing", "of any shape")
_FACTORS = (
    r"\min\{s,\theta-s+1\}",
    r"\min\{s,\theta-s\}",
    r"\tfrac{s(\theta-s+1)}{\theta+1}",
    r"\max\{s,\theta-s+1\}",
)
_HALVES = (r"\tfrac{S+1}2", r"\tfrac S2", "S")
_SHIFTS = (r"\tfrac q{1-q}", "0")

increment_bounds = Claim(
    "admission.increment_bounds",
    title="The increments of every optimistic model are bounded by constants of the true one",
    source=Source(SOURCE, "Section 5", provenance="ours"),
    kind="lemma",
    statement=r"""
1. *Networks.* If the rate of every queue of a product-form network is <<queue>> in its length (single,
   several or infinitely many servers), then $\mu(s)=G(s-1)/G(s)$ is nondecreasing.
2. *Increments.* Let $\mu$ be nondecreasing, $\tilde\mu(s)\ge\mu(s)>0$, $0<\tilde\lambda\le\lambda$, and
   let $\tilde d$ be the increments of the threshold $\theta$ in the model $(\tilde\lambda,\tilde\mu)$,
   with costs $c_\theta(j)=g_hj+\tilde\lambda R1\{j=\theta\}$, $g_h,R\ge0$. Then, for $1\le s\le\theta$,
   $$0\le\mu(s)\,\tilde d(s)\le\sum_{j=s}^\theta\Bigl(\prod_{i=s+1}^j\frac\lambda{\mu(i)}\Bigr)
   \bigl(g_hj+\lambda R1\{j=\theta\}\bigr),$$
   and if $\tilde\mu$ is <<projected>>,
   $$\mu(s)\,\tilde d(s)\le<<factor>>\,(g_h\theta+\lambda R).$$
   So $\tilde d(s)\le\Delta(s)$, where $\mu(s)\Delta(s)$ is the largest over $\theta\ge s$ of the smaller
   right side; and $\mu(s)\Delta(s)\le<<half>>\,(g_hS+\lambda R)$.
3. *Stable.* If $\mu(i_0)>\lambda$, then with $q=\lambda/\mu(i_0)$ and
   $C_1=\prod_{i<i_0}\mu(i_0)/\mu(i)$
   $$\mu(s)\,\Delta(s)\le a(s):=C_1\Bigl[g_h\,\frac{s+<<shift>>}{1-q}+\lambda R\Bigr],$$
   and $a(s)/\mu(1)\le C_2\bigl(s+\tfrac q{1-q}\bigr)$ with
   $C_2=(\lambda R+g_h)C_1/(\mu(1)(1-q))$.
4. *Overload.* For $\mu\equiv1$, $\lambda=\tilde\lambda=4$, $R=g_h=1$, $S=\theta=14$, and
   $\tilde\mu=20$ at $s\le7$ but $1$ above, $\mu(8)\tilde d(8)$ is <<excess>> times the second bound.
5. *Three tiers* with rates 1, $p=\tfrac12$, $S=10$, $R=10$, $g_h=1$: for $\lambda=\tfrac14,\tfrac25,
   \tfrac{99}{100}$ the largest $\Delta(s)$ is <<largest>>, and the diameter <<diameters>>.
""",
    claimed={
        "queue": _QUEUES[0],
        "projected": _PROJECTED[0],
        "factor": _FACTORS[0],
        "half": _HALVES[0],
        "shift": _SHIFTS[0],
        "excess": "581.48",
        "largest": "31.62, 75.67, 209.47",
        "diameters": "11927.50, 699.24, 93.91",
    },
    meaning={
        "projected": "what the second bound needs of the optimistic rates",
        "factor": "factor in the second bound",
        "half": "factor in the bound for every s",
        "shift": "what is added to s in the stable case",
        "excess": "violation without the monotone projection",
        "largest": "largest bounds on increments",
        "diameters": "diameters in steps, U = lambda + 3",
    },
    rests_on=["admission.perturbation_identity", "admission.diameter"],
    parts={
        "networks": "flow-equivalent rates are nondecreasing",
        "increments": "two bounds",
        "stable": "the stable case",
        "values": "overload, and three tiers",
    },
    uncovered="that sums and products of the steps shown are those stated, by induction",
)


@increment_bounds.check(
    method="symbolic", scope="general", part="networks", false={"queue": _QUEUES[1]}
)
def convolution_keeps_log_concavity(queue: str) -> Finding:
    """Add one queue to a network: Lagrange's identity by induction, and the minors of both sequences.

    G is the convolution of f(x) = prod v/mu(k). If ratios f(x+1)/f(x) do not grow then all 2x2 minors of
    the matrix f(i - j) are at least 0 (z3, one step to the right at a time); a minor of a product of two
    matrices is the sum of the products of minors (SymPy, one term more), so the convolution has the same
    property. Queues that slow down are refuted by two of rate 1/k.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    ac, bd, ad, bc, a, b, c, d = sympy.symbols("sum_ac sum_bd sum_ad sum_bc a b c d")
    g0, g1, g2 = sympy.symbols("G(s-1) G(s) G(s+1)", positive=True)
    # f(p), f(p-t), f(p+u), f(p+u-t) and the next ratios of the last two; t, u > 0
    f, f_left, f_right, f_both, ratio, ratio_left = z3.Reals("f f_t f_u f_ut r r_t")
    given = [x >= 0 for x in (f, f_left, f_right, f_both, ratio, ratio_left)]
    grows = one_of("queue", queue, *_QUEUES) == _QUEUES[0]
    given.append(ratio_left >= ratio if grows else ratio_left <= ratio)
    proof = combine(
        [
            implies(
                [*given, f * f_both >= f_left * f_right],
                f * (f_both * ratio_left) >= f_left * (f_right * ratio),
                "minors of one queue, one column further",
            ),
            implies(
                [*given, f_left == 0], f * f_both >= f_left * f_right, "minors where f(p-t) = 0"
            ),
            identity(
                (ac + a * c) * (bd + b * d) - (ad + a * d) * (bc + b * c) - (ac * bd - ad * bc),
                ac * b * d - ad * b * c - bc * a * d + bd * a * c,
                "Lagrange's identity: the sum of (a_k b - a b_k)(c_k d - c d_k), one term more",
            ),
            identity(
                g1 / g2 - g0 / g1,
                (g1**2 - g0 * g2) / (g1 * g2),
                "mu(s+1) - mu(s) is a minor over positive numbers",
            ),
        ],
        "log-concavity passes to convolutions, so mu is nondecreasing",
    )
    return proof if proof.outcome == PROVED else _slow_queues(grows, proof.witness)


def _convolution(*weights: Sequence) -> list[Fraction]:
    """Normalizing constants of stations with given weights f(0), ..., f(S)."""
    total = [Fraction(1)] + [Fraction(0)] * (len(weights[0]) - 1)
    for f in weights:
        total = [sum(total[k] * f[s - k] for k in range(s + 1)) for s in range(len(f))]
    return total


def _slow_queues(grows: bool, reason: str) -> Finding:
    """Refuted by two queues of rates 1/k."""
    f = list(accumulate([Fraction(1), *map(Fraction, range(1, 5))], lambda a, b: a * b))
    g = _convolution(f, f)
    rates = [a / b for a, b in pairwise(g)]
    if grows or rates == sorted(rates):
        return undecided(reason)
    return refuted(f"two queues with v = 1 and rates 1/k: mu = ({listed(rates)})")


@increment_bounds.check(
    method="exact", scope="instances", part="networks", false={"queue": _QUEUES[1]}
)
def rates_of_drawn_networks(queue: str) -> Finding:
    """60 drawn networks of 2 to 4 stations with one, several or infinitely many servers, S = 8."""

    from simlib.admission.network import Network
    from simlib.admission.product_form import flow_equivalent_rates

    if one_of("queue", queue, *_QUEUES) == _QUEUES[1]:
        return _slow_queues(False, "")
    source = random.Random(11)
    for _ in range(60):
        n = source.randint(2, 4)
        shares = [source.randint(1, 5) for _ in range(n)]
        servers = tuple(source.choice((1, 1, 2, 3, float("inf"))) for _ in range(n))
        speeds = [Fraction(source.randint(1, 12), 4) for _ in range(n)]
        external = [Fraction(share, sum(shares)) for share in shares]
        rates = flow_equivalent_rates(Network(1, [[0] * n] * n, speeds, servers, external), 8)
        if list(rates) != sorted(rates):
            return refuted(f"speeds {listed(speeds)}, servers {servers}: mu = ({listed(rates)})")
    return proved("nondecreasing in 60 networks")


@increment_bounds.check(
    method="smt",
    scope="general",
    part="increments",
    false=[
        {"projected": _PROJECTED[1]},
        {"factor": _FACTORS[1]},
        {"factor": _FACTORS[2]},
        {"half": _HALVES[1]},
    ],
)
def both_bounds_by_induction(projected: str, factor: str, half: str) -> Finding:
    """First bound from the top; second by Lemma 1 and a law whose ratios do not grow (z3, each step).

    First: without the mean cost the sum grows as costs and ratios do. Second: with nondecreasing rates
    nu(j) nu(k) <= nu(s) nu(j+k-s) for j < s <= k. Over k this adds up to nu(j) P(X >= s) <= nu(s), over
    j to nu(k) P(X < s) <= nu(s): so P(X >= s) P(X < s) is at most s nu(s) and at most
    (theta - s + 1) nu(s). Other statements are refuted by instances.
    """
    import z3

    from checks.methods.smt import implies

    lam, lam2, mu, mu2, g, r = z3.Reals("lambda lambda~ mu(s+1) mu~(s+1) g_h R")
    cost, cost2, mean, x2, y, here2, here = z3.Reals("c c~ cbar~ X~(s+1) Y(s+1) X~(s) Y(s)")
    model = [lam2 > 0, lam2 <= lam, mu > 0, mu2 >= mu, g >= 0, r >= 0]
    s, theta, limit, count = z3.Reals("s theta S n")
    size = [s >= 1, s <= theta, theta <= limit]
    at_j, at_k, at_s, moved, ratio, ratio_in = z3.Reals("nu(j) nu(k) nu(s) nu(j+k-s) r(k+1) r_in")
    tail, inside, low, high = z3.Reals("sum_k sum_j+k-s P(X<s) P(X>=s)")
    d, span, rate, speed = z3.Reals("d~(s) osc mu~(s) mu(s)")
    shape = (
        [ratio_in >= ratio] if one_of("projected", projected, *_PROJECTED) == _PROJECTED[0] else []
    )
    law = [x >= 0 for x in (at_j, at_k, moved, ratio, ratio_in)] + [at_s > 0]
    smaller = z3.If(s <= theta - s + 1, s, theta - s + 1)
    claimed = {
        _FACTORS[0]: smaller,
        _FACTORS[1]: z3.If(s <= theta - s, s, theta - s),
        _FACTORS[2]: s * (theta - s + 1) / (theta + 1),
        _FACTORS[3]: theta + 1 - smaller,
    }[one_of("factor", factor, *_FACTORS)]
    largest = dict(zip(_HALVES, ((limit + 1) / 2, limit / 2, limit), strict=True))[
        one_of("half", half, *_HALVES)
    ]
    steps = [
        as_stated(perturbation_identity, cost=_COSTS[0]),
        implies(
            [
                *(*model, cost2 <= cost, mean >= 0, x2 >= 0, x2 <= y),
                *(
                    mu2 * here2 == mu2 * (cost2 - mean) + lam2 * x2,
                    mu * here == mu * cost + lam * y,
                ),
            ],
            here2 <= here,
            "first bound, one state further down",
        ),
        implies(
            [*model, cost2 <= cost, mean >= 0], cost2 - mean <= cost, "first bound, at the top"
        ),
        implies(
            [*law, *shape, at_j * at_k <= at_s * moved],
            at_j * (at_k * ratio) <= at_s * (moved * ratio_in),
            "pairs of states, one state further out",
        ),
        implies(
            [*law, at_j * tail <= at_s * inside, at_j * at_k <= at_s * moved],
            at_j * (tail + at_k) <= at_s * (inside + moved),
            "sum over one side, one state more",
        ),
        implies(
            [*law, at_j * tail <= at_s * inside, inside <= 1],
            at_j * tail <= at_s,
            "sum over one side",
        ),
        implies(
            [*law, low * high <= count * at_s, at_j * high <= at_s],
            (low + at_j) * high <= (count + 1) * at_s,
            "sum over the other side, one state more",
        ),
        implies(
            [
                *(*size, span >= 0, at_s > 0, speed > 0, rate >= speed, d >= 0, low * high >= 0),
                *(low * high <= s * at_s, low * high <= (theta - s + 1) * at_s),
                *(rate * at_s * d <= span * (low * high), span <= g * theta + lam * r),
            ],
            speed * d <= claimed * (g * theta + lam * r),
            "second bound",
        ),
        implies(
            [*model, *size],
            smaller * (g * theta + lam * r) <= largest * (g * limit + lam * r),
            "the bound for every s",
        ),
    ]
    proof = combine(steps, "both bounds hold for every threshold")
    if proof.outcome == PROVED:
        return proof
    for first, second, theta_ in _optimistic(0, projected == _PROJECTED[0]):
        wrong = _violation(first, second, theta_, factor, half)
        if wrong:
            return wrong
    return undecided(proof.witness)


def _optimistic(count: int, monotone: bool) -> Iterator[tuple[AdmissionModel, AdmissionModel, int]]:
    """Pairs of a true and an optimistic model with a threshold: named ones, then drawn ones."""

    from simlib.admission.model import AdmissionModel

    if not monotone:
        first, second = overload()
        yield first, second, first.limit
    rare = AdmissionModel("1/10", (1,), 1, 1)
    yield rare, rare, 1
    source = random.Random(7)
    for first in drawn(count, limit=5, shape="nondecreasing"):
        rates = [rate + Fraction(source.randint(0, 12), 4) for rate in first.rates]
        if monotone:  # the smallest of the rates from s on, as the learner projects
            rates = list(accumulate(rates[::-1], min))[::-1]
        costs = first.rejection_cost, first.holding_cost
        slower = first.arrival_rate * Fraction(source.randint(1, 4), 4)
        for theta in range(1, 6):
            yield first, AdmissionModel(slower, rates, *costs), theta


def overload() -> tuple[AdmissionModel, AdmissionModel]:
    """The true and the optimistic model of item 4, without projection."""

    from simlib.admission.model import AdmissionModel

    return AdmissionModel(4, (1,) * 14, 1, 1), AdmissionModel(4, (20,) * 7 + (1,) * 7, 1, 1)


def _second_bound(model: AdmissionModel, theta: int, s: int, factor: str = _FACTORS[0]) -> Fraction:
    """Right side of the second bound."""
    count = {
        _FACTORS[0]: Fraction(min(s, theta - s + 1)),
        _FACTORS[1]: Fraction(min(s, theta - s)),
        _FACTORS[2]: Fraction(s * (theta - s + 1), theta + 1),
        _FACTORS[3]: Fraction(max(s, theta - s + 1)),
    }[factor]
    return count * (model.holding_cost * theta + model.arrival_rate * model.rejection_cost)


def increment_limits(model: AdmissionModel) -> list[Fraction]:
    """Delta(1), ..., Delta(S)."""
    return [
        max(
            min(_first_bound(model, theta, s), _second_bound(model, theta, s))
            for theta in range(s, model.limit + 1)
        )
        / model.rates[s - 1]
        for s in range(1, model.limit + 1)
    ]


def _first_bound(model: AdmissionModel, theta: int, s: int) -> Fraction:
    """Right side of the first bound."""
    chain, total = Fraction(1), Fraction(0)
    for j in range(s, theta + 1):
        chain *= model.arrival_rate / model.rates[j - 1] if j > s else 1
        rejected = model.arrival_rate * model.rejection_cost if j == theta else 0
        total += chain * (model.holding_cost * j + rejected)
    return total


def _violation(
    first: AdmissionModel, second: AdmissionModel, theta: int, factor: str, half: str
) -> Finding | None:
    """Refuted by the first increment of a threshold outside its bounds; None if there is none."""

    from simlib.admission.model import increments, threshold

    found = increments(second, threshold(theta, first.limit))
    sizes = Fraction(first.limit + 1, 2), Fraction(first.limit, 2), Fraction(first.limit)
    size = dict(zip(_HALVES, sizes, strict=True))[one_of("half", half, *_HALVES)]
    worst = first.holding_cost * first.limit + first.arrival_rate * first.rejection_cost
    for s in range(1, theta + 1):
        value = first.rates[s - 1] * found[s - 1]
        bounds = [_first_bound(first, theta, s), _second_bound(first, theta, s, factor)]
        bounds.append(size * worst)
        if not 0 <= value <= min(bounds):
            return refuted(
                f"{described(first)}; lambda~ = {second.arrival_rate}, mu~ = ({listed(second.rates)}), "
                f"theta = {theta}: mu({s}) d~({s}) = {decimal(value, 4)}, bounds "
                f"{', '.join(decimal(bound, 4) for bound in bounds)}"
            )
    return None


@increment_bounds.check(
    method="exact",
    scope="instances",
    part="increments",
    false=[{"projected": _PROJECTED[1]}, {"factor": _FACTORS[1]}, {"half": _HALVES[1]}],
)
def drawn_optimistic_models(projected: str, factor: str, half: str) -> Finding:
    """60 drawn true models, an optimistic one each, five thresholds, every state, in rationals."""

    from simlib.admission.model import increments, threshold

    closest = Fraction(0)
    monotone = one_of("projected", projected, *_PROJECTED) == _PROJECTED[0]
    for first, second, theta in _optimistic(60, monotone):
        wrong = _violation(first, second, theta, one_of("factor", factor, *_FACTORS), half)
        if wrong:
            return wrong
        found = increments(second, threshold(theta, first.limit))
        limits = increment_limits(first)
        closest = max(closest, *(found[s] / limits[s] for s in range(theta) if limits[s]), closest)
        if any(found[s] > limits[s] for s in range(theta)):
            return undecided("within the bounds of its threshold, but above Delta")
    return proved(f"301 thresholds; the largest share of Delta is {decimal(closest, 4)}")


@increment_bounds.check(method="smt", scope="general", part="stable", false={"shift": _SHIFTS[1]})
def geometric_sums_by_induction(shift: str) -> Finding:
    """From the top with z3: a state at or above i_0 adds a factor q, one below i_0 its own ratio.

    Y(s) = g_h s + (lambda/mu(s+1)) Y(s+1) from Y(theta) = g_h theta + lambda R, so the rejection enters
    once. With C(s) = prod_{s < i < i_0} mu(i_0)/mu(i) it is at most C(s) times the bracket. Without the
    shift refuted by a queue of one server.
    """
    import z3

    from checks.methods.smt import implies

    g, q, inverse, s, reject, c, c_next, ratio, y, y_next, rate = z3.Reals(
        "g_h q 1/(1-q) s lambda*R C(s) C(s+1) lambda/mu(s+1) Y(s) Y(s+1) mu(i_0)/mu(s+1)"
    )
    stated = q * inverse if one_of("shift", shift, *_SHIFTS) == _SHIFTS[0] else 0
    given = [g >= 0, q > 0, q < 1, inverse * (1 - q) == 1, inverse >= 1, s >= 1, reject >= 0]

    def bracket(place: z3.ArithRef) -> z3.ArithRef:
        return g * (place + stated) * inverse + reject

    step = [*given, y == g * s + ratio * y_next, c_next >= 1, y_next <= c_next * bracket(s + 1)]
    proof = combine(
        [
            implies([*given, c >= 1], g * s + reject <= c * bracket(s), "at theta"),
            implies(
                [
                    *given,
                    y == g * s + ratio * y_next,
                    y_next >= 0,
                    y_next <= bracket(s + 1),
                    ratio <= q,
                ],
                y <= bracket(s),
                "at or above i_0 - 1, where C = 1",
            ),
            implies(
                [*given],
                g * s + q * bracket(s + 1) <= bracket(s),
                "the bracket itself",
            ),
            implies(
                [*step, ratio == q * rate, rate >= 1, c == rate * c_next],
                y <= g * s + c * q * bracket(s + 1),
                "below i_0 - 1: insert the bound",
            ),
            implies(
                [*given, c >= 1, g * s + q * bracket(s + 1) <= bracket(s)],
                g * s + c * q * bracket(s + 1) <= c * bracket(s),
                "below i_0 - 1: the bracket, times C(s)",
            ),
            implies(
                given,
                bracket(s) <= (reject + g) * inverse * (s + q * inverse),
                "a(s) in terms of C_2",
            ),
        ],
        "mu(s) Delta(s) is at most C_1 times the bracket",
    )
    return proof if proof.outcome == PROVED else _stable_ratios(shift, 0, proof.witness)


def _stable_ratios(shift: str, count: int, reason: str) -> Finding:
    """Refuted by a stable model whose Delta exceeds its bound; with the largest share otherwise."""

    from simlib.admission.model import AdmissionModel, c1_c2

    closest = Fraction(0)
    one = AdmissionModel("1/2", (1,) * 12, 0, 1)
    for model in (one, *drawn(count, limit=6, shape="nondecreasing")):
        if max(model.rates) <= model.arrival_rate:
            continue
        _, q, c1, _ = c1_c2(model)
        for s, limit in enumerate(increment_limits(model), start=1):
            held = model.holding_cost * (s + (q / (1 - q) if shift == _SHIFTS[0] else 0)) / (1 - q)
            bound = c1 * (held + model.arrival_rate * model.rejection_cost)
            value = model.rates[s - 1] * limit
            if value > bound:
                return refuted(
                    f"{described(model)}: mu({s}) Delta({s}) = {decimal(value, 4)}, above "
                    f"{decimal(bound, 4)}"
                )
            closest = max(closest, value / bound if bound else closest)
    if reason:
        return undecided(reason)
    return proved(f"within the bound in all stable ones; largest share {decimal(closest, 4)}")


@increment_bounds.check(
    method="exact", scope="instances", part="stable", false={"shift": _SHIFTS[1]}
)
def stable_drawn_models(shift: str) -> Finding:
    """Compare Delta with its bound in one queue and in the stable ones of 80 drawn models."""
    return _stable_ratios(one_of("shift", shift, *_SHIFTS), 80, "")


@increment_bounds.check(
    method="exact",
    scope="general",
    part="values",
    false=[
        {"excess": "581.49"},
        {"largest": "31.63, 75.67, 209.47"},
        {"diameters": "11927.50, 699.24, 93.90"},
    ],
)
def overload_and_three_tiers(excess: str, largest: str, diameters: str) -> Finding:
    """Compute the factor, the bounds and the diameters in rationals; they are this whole part."""

    from simlib.admission.model import diameter, increments, model_of, threshold
    from simlib.admission.network import three_tier

    first, second = overload()
    rates = ("1/4", "2/5", "99/100")
    value = increments(second, threshold(14, 14))[7] / _second_bound(first, 14, 8, _FACTORS[0])
    models = [
        model_of(three_tier(1, arrival_rate=rate, rates=1), 10, rejection_cost=10, holding_cost=1)
        for rate in rates
    ]
    found = {
        "excess": ("excess", excess, [value]),
        "largest Delta": ("largest", largest, [max(increment_limits(model)) for model in models]),
        "diameter": ("diameters", diameters, [diameter(model).longest for model in models]),
    }
    for what, (name, text, values) in found.items():
        at = [f", lambda = {rate}" for rate in rates] if len(values) > 1 else [""]
        cases = [(f"{what}{where}", value) for where, value in zip(at, values, strict=True)]
        wrong = misprint(name, text, cases)
        if wrong:
            return wrong
    return proved(
        "seven numbers, correctly rounded",
        **{what: exact(decimal(values[-1], 9)) for what, (*_, values) in found.items()},
    )
