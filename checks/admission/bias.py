"""How far apart states are, in steps and in cost: diameter, and increments of the bias."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import TYPE_CHECKING

from checks.admission.birth_death import described, drawn, drawn_acceptance, listed, solved_law
from checks.admission.instances import SOURCE
from checks.admission.thresholds import threshold_gain
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

# Diameter ------------------------------------------------------------------------------------------

_FROM = ("j+1", "j")
_DOWN = (r"\tfrac U{\mu(s)}", r"\tfrac U{\mu(s)+\lambda}")
_GROWTHS = ("linear", "exponential")

admission_diameter = Claim(
    "admission.diameter",
    title="The diameter is exponential in S where service outpaces arrivals, <<overload>> in overload",
    source=Source(SOURCE, "Sections 1 and 3", provenance="reconstructed"),
    kind="proposition",
    statement=r"""
The number of jobs is a decision process with states $0,\dots,S$ in steps of length $1/U$: up with
probability $\lambda/U$ if it admits ($s<S$), down with probability $\mu(s)/U>0$, $U\ge\lambda+\mu(s)$.
Its *diameter* $D$ is the largest over $s\ne s'$ of the least mean number of steps from $s$ to $s'$, over
all policies.

1. $D$ is the larger of
   $$D_\uparrow=\sum_{s=0}^{S-1}\frac U\lambda\sum_{j=0}^s\prod_{i=<<first>>}^s\frac{\mu(i)}\lambda,
   \qquad D_\downarrow=\sum_{s=1}^S<<down>>,$$
   the first from 0 to $S$ when all is admitted, the second back when nothing is.
2. *Stable.* If $\mu(i)\ge\kappa>\lambda$ for $i_0\le i\le S$, then
   $D\ge\frac U\lambda\bigl(\frac\kappa\lambda\bigr)^{S-i_0}$: exponential in $S$.
3. *Critical.* If $\mu(i)\le\lambda$ for all $i$, then $D_\uparrow\le\frac U\lambda\frac{S(S+1)}2$.
4. *Overload.* If $\mu(1)\le\mu(i)\le\kappa<\lambda$ for all $i$, then
   $$S\frac U\lambda\le D\le S\,\max\Bigl\{\frac U{\lambda-\kappa},\frac U{\mu(1)}\Bigr\}:$$
   <<overload>> in $S$. In a network of single servers $\kappa=\min_i\mu_i/v_i$ will do, the rate of
   the bottleneck.
5. *The source's network* (one queue a tier, rates 1, $p=\tfrac12$, $U=\lambda+3$: numbers of ours, the
   source's are lost), where $\kappa=\tfrac12$. Steps:

   | $\lambda$ | $S=5$ | 10 | 20 | 30 |
   | --- | --- | --- | --- | --- |
   | 1/4, up | <<up_stable:cells>> |
   | 1/4, down | <<down_stable:cells>> |
   | 1/2, up | <<up_critical:cells>> |
   | 1/2, down | <<down_critical:cells>> |
   | 99/100, up | <<up_overload:cells>> |
   | 99/100, down | <<down_overload:cells>> |

   The source says of its experiments that the network is not stable: there the diameter is small.
""",
    claimed={
        "first": _FROM[0],
        "down": _DOWN[0],
        "overload": _GROWTHS[0],
        "up_stable": "382.4, 11927.5, 12117348.6, 12407684434.4",
        "down_stable": "43.6, 76.5, 141.5, 206.5",
        "up_critical": "76.2, 292.2, 1237.8, 2882.8",
        "down_critical": "46.9, 82.4, 152.4, 222.4",
        "up_overload": "28.6, 67.5, 148.7, 230.1",
        "down_overload": "53.5, 93.9, 173.7, 253.5",
    },
    meaning={
        "first": "first index of the product",
        "down": "mean steps from s to s - 1",
        "overload": "growth of the diameter in overload",
    },
    parts={
        "formula": "the two sums",
        "growth": "how they grow",
        "values": "the source's network",
    },
    uncovered="optional stopping (a bounded function that does not fall on average, plus time, bounds a "
    "mean passage time), and that the formula is read off the recursion by induction",
)


@admission_diameter.check(
    method="symbolic",
    scope="general",
    part="formula",
    false=[{"first": _FROM[1]}, {"down": _DOWN[1]}],
)
def first_passages(first: str, down: str) -> Finding:
    """The stated passage times satisfy their recursions, and no decision makes them shorter.

    E(s), from s to s + 1, is the inner sum. With V the sum of the passage times up to the target, one
    step under an acceptance probability a changes t + V by (1 - a)(lambda/U) E(s) on average on the way
    up, and by a (lambda/U) F(s+1) on the way down: never negative, and 0 for the stated policy. A
    longest way is one from end to end, as it adds positive terms. Others are refuted by chains with
    S = 2.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity
    from simlib.admission.model import AdmissionModel

    u, lam, mu, inner, above, a = sympy.symbols("U lambda mu(s) sum F(s+1) a", positive=True)
    ratio = mu / lam
    # The inner sum at s from that at s - 1: each product has one factor more, and j = s is new.
    last = 1 if one_of("first", first, *_FROM) == _FROM[0] else ratio
    passage = u / lam * (last + ratio * inner)
    before = u / lam * inner
    back = u / mu if one_of("down", down, *_DOWN) == _DOWN[0] else u / (mu + lam)
    start = (
        u / lam * (1 if first == _FROM[0] else 0)
    )  # s = 0, where mu(0) = 0 leaves the empty product
    far, near = z3.Reals("V(far) V(near)")
    proof = combine(
        [
            identity(
                passage,
                1 + mu / u * (before + passage) + (1 - (lam + mu) / u) * passage,
                "first step on the way up",
            ),
            identity(start, 1 + (1 - lam / u) * start, "first step from 0"),
            identity(
                1 + mu / u * before - a * lam / u * passage,
                (1 - a) * lam / u * passage,
                "up: what a decision adds",
            ),
            identity(
                1 - mu / u * back + a * lam / u * above, a * lam / u * above, "down: what it adds"
            ),
            implies([near >= 0, far >= 0], near + far >= near, "a longer way takes longer"),
        ],
        "both passage times are exact and least over all policies",
    )
    if proof.outcome == PROVED:
        return proof
    for rate in (1, 9):
        wrong = _wrong_diameter(AdmissionModel(rate, (2, 3), 0, 0), first, down)
        if wrong:
            return wrong
    return undecided(proof.witness)


def _stated_diameter(model: AdmissionModel, first: str, down: str) -> Fraction:
    """The larger of the two sums as they are stated, term by term."""
    lam, u, rates = model.arrival_rate, model.uniformization, (Fraction(0), *model.rates)
    up = Fraction(0)
    for s in range(model.limit):
        for j in range(s + 1):
            term = u / lam
            for i in range(j + 1 if first == _FROM[0] else j, s + 1):
                term *= rates[i] / lam
            up += term
    extra = 0 if down == _DOWN[0] else lam
    return max(up, sum(u / (rate + extra) for rate in rates[1:]))


def _wrong_diameter(model: AdmissionModel, first: str, down: str) -> Finding | None:
    """Refuted by a model whose diameter, over all policies, starts and targets, is another."""

    from simlib.admission.model import diameter_brute

    stated = _stated_diameter(model, one_of("first", first, *_FROM), one_of("down", down, *_DOWN))
    true = diameter_brute(model)
    if stated == true:
        return None
    return refuted(
        f"{described(model)}, U = {model.uniformization}: all policies, starts and targets give "
        f"{decimal(true, 4)}, the sums {decimal(stated, 4)}"
    )


@admission_diameter.check(
    method="exact",
    scope="instances",
    part="formula",
    false=[{"first": _FROM[1]}, {"down": _DOWN[1]}],
)
def every_policy_start_and_target(first: str, down: str) -> Finding:
    """12 drawn chains, S = 3: the least mean passage times over all 8 policies, by linear systems.

    Arrivals are slow in some and fast in others, so that either sum is the larger one.
    """

    from simlib.admission.model import AdmissionModel, diameter

    larger = {"up": 0, "down": 0}
    fast = (
        AdmissionModel(9, model.rates, 0, 0) for model in drawn(6, limit=3, shape="any", seed=2)
    )
    for model in (*drawn(6, limit=3, shape="any"), *fast):
        wrong = _wrong_diameter(model, first, down)
        if wrong:
            return wrong
        larger["up" if diameter(model).up > diameter(model).down else "down"] += 1
    return proved(f"equal in 12 chains; up is larger in {larger['up']}, down in {larger['down']}")


@admission_diameter.check(
    method="smt", scope="general", part="growth", false={"overload": _GROWTHS[1]}
)
def growth_by_induction(overload: str) -> Finding:
    """E(s) = U/lambda + (mu(s)/lambda) E(s-1): inductions on s, their step for a symbolic s, with z3.

    In overload the bound that is linear in S refutes any other growth; the source's network shows it.
    """
    import z3

    from checks.methods.smt import implies
    from simlib.admission.model import diameter

    u, lam, mu, kappa, before, after, power, s, total, first = z3.Reals(
        "U lambda mu(s) kappa E(s-1) E(s) (kappa/lambda)^(s-i_0) s D(s) mu(1)"
    )
    other, x, constant, larger = z3.Reals("G'(s) v_i/mu_i G(s-1) G(s)")
    given = [lam > 0, mu > 0, u >= lam + mu, before > 0, lam * after == u + mu * before, s >= 0]
    steps = [
        implies(
            [*given, mu >= kappa, kappa > lam, power > 0, lam * before >= u * power],
            lam * (lam * after) >= u * (kappa * power),
            "stable: one factor kappa/lambda a state",
        ),
        implies(
            [*given, mu <= lam, lam * before <= s * u],
            lam * after <= (s + 1) * u,
            "critical: one U/lambda a state",
        ),
        implies(
            [*given, lam * after <= (s + 1) * u, 2 * lam * total <= u * s * (s + 1)],
            2 * lam * (total + after) <= u * (s + 1) * (s + 2),
            "critical: the sum",
        ),
        implies([*given], lam * after >= u, "at least U/lambda a state"),
        implies(
            [*given, mu <= kappa, kappa < lam, (lam - kappa) * before <= u],
            (lam - kappa) * after <= u,
            "overload: at most U/(lambda - kappa) a state",
        ),
        implies(
            [lam > kappa, kappa > 0, u > 0, after * lam == u], (lam - kappa) * after <= u, "at 0"
        ),
        implies([first > 0, mu >= first, u > 0, after * mu == u], after * first <= u, "down"),
        # G(s) = G'(s) + x G(s-1), with G' for the network without a single server of x = v_i/mu_i
        implies(
            [other >= 0, x > 0, constant > 0, larger == other + x * constant, kappa * x == 1],
            constant <= kappa * larger,
            "bottleneck: G(s-1)/G(s) <= mu_i/v_i",
        ),
    ]
    proof = combine(steps, "a lower bound that grows by a factor, and an upper one a state")
    if one_of("overload", overload, *_GROWTHS) == _GROWTHS[0] or proof.outcome != PROVED:
        return proof
    model = _tiers("99/100", 20)
    slope = model.uniformization * max(
        1 / (model.arrival_rate - Fraction(1, 2)), 1 / model.rates[0]
    )
    found = diameter(model).longest
    if found > 20 * slope:
        return undecided("the bound does not hold for the source's network")
    return refuted(
        f"three tiers, lambda = 99/100: D <= {decimal(slope, 2)} S for every S; it is "
        f"{decimal(found, 1)} for S = 20"
    )


def _tiers(rate: str, limit: int) -> AdmissionModel:
    """The source's network, one queue a tier, rates 1, p = 1/2, R = 10, g_h = 1."""

    from simlib.admission.model import model_of
    from simlib.admission.network import three_tier

    network = three_tier(1, arrival_rate=rate, rates=1)
    return model_of(network, limit, rejection_cost=10, holding_cost=1)


def _within_its_bounds(model: AdmissionModel) -> bool:
    """Whether the diameter obeys items 2, 3 and 4, those that apply, with kappa = 1/2."""

    from simlib.admission.model import c1_c2, diameter

    lam, u, limit, kappa = model.arrival_rate, model.uniformization, model.limit, Fraction(1, 2)
    found = diameter(model)
    if lam < kappa:
        i0, q, *_ = c1_c2(model)
        return found.longest >= u / lam / q ** (limit - i0)
    if lam == kappa:
        return found.up <= u / lam * limit * (limit + 1) / 2
    most = max(u / (lam - kappa), u / model.rates[0])
    return limit * u / lam <= found.longest <= limit * most


_TABLE = tuple(
    f"{way}_{load}" for load, way in product(("stable", "critical", "overload"), ("up", "down"))
)


@admission_diameter.check(
    method="exact",
    scope="general",
    part="values",
    false=[
        {"up_stable": "382.4, 11927.5, 12117348.6, 12407684434.5"},
        {"down_stable": "43.6, 76.5, 141.5, 206.6"},
        {"up_critical": "76.2, 292.2, 1237.8, 2882.9"},
        {"down_critical": "46.9, 82.4, 152.4, 222.5"},
        {"up_overload": "28.6, 67.5, 148.7, 230.2"},
        {"down_overload": "53.5, 93.9, 173.7, 253.6"},
    ],
    reads=_TABLE,
)
def table_of_the_network(**numbers: str) -> Finding:
    """Compute the table in rationals, and the bounds of items 2 to 4 for its rows; decided whole."""

    from simlib.admission.model import diameter

    loads = {"stable": "1/4", "critical": "1/2", "overload": "99/100"}
    shown = {}
    for load, rate in loads.items():
        models = [_tiers(rate, limit) for limit in (5, 10, 20, 30)]
        if not all(map(_within_its_bounds, models)):
            return undecided(f"lambda = {rate}: a bound of items 2 to 4 fails")
        for way in ("up", "down"):
            name = f"{way}_{load}"
            values = [getattr(diameter(model), way) for model in models]
            cases = [
                (f"{name}, S = {model.limit}", v) for model, v in zip(models, values, strict=True)
            ]
            wrong = misprint(name, numbers[name], cases)
            if wrong:
                return wrong
            shown[name] = exact(decimal(values[-1], 6))
    return proved("24 mean passage times, correctly rounded", **shown)


# Increments of the bias ----------------------------------------------------------------------------

_STARTS = ("s", "s+1")
_BOUNDS = (r"\bigl(\max\{s,\bar s,1\}+\tfrac q{1-q}\bigr)", "s")

bias_increment = Claim(
    "admission.bias_increment",
    title="The increments of the bias of every sum-policy, and what C_2 has to do with them",
    source=Source(SOURCE, "Section 5", provenance="reconstructed"),
    kind="proposition",
    statement=r"""
Notation of `admission.threshold_gain`; $c(s)=g_hs+\lambda R(1-\alpha(s))$ is the cost under a sum-policy
$\alpha$, $\bar c$ its mean, and the increments $d(1),\dots,d(S)$ of the cost bias solve
$$\bar c=c(s)+\lambda\alpha(s)d(s+1)-\mu(s)d(s),\quad s=0,\dots,S,$$
with $\mu(0)d(0)=0=\alpha(S)$.

1. For $s=1,\dots,S$
   $$\mu(s)\,d(s)=\sum_{j=<<start>>}^S\Bigl(\prod_{i=s+1}^j\frac{\lambda\alpha(i-1)}{\mu(i)}\Bigr)
   (c(j)-\bar c).$$
2. Let $\mu$ be nondecreasing, $\mu(i_0)>\lambda$, $q=\lambda/\mu(i_0)$,
   $C_1=\prod_{i<i_0}\mu(i_0)/\mu(i)$, $C_2=\frac{(\lambda R+g_h)C_1}{\mu(1)(1-q)}$, and $\bar s$ the
   mean number of jobs when all are admitted. Then for every sum-policy
   $$|d(s)|\le C_2\,<<bound>>.$$
   ($C_1,C_2$ are the source's; how it uses them is lost.)
3. $C_2s$ is attained: one server of rate $\mu>\lambda$, $S=\infty$, all admitted, $R=0$:
   $d(s)=<<attained>>=C_2s$.
   But it is no bound for all policies. One server with $\mu=1$, $g_h=1$, $R=\tfrac1{100}$, *reject at 0
   only*:

   | | $d(1)$ | $C_2$ | $C_2(\max\{1,\bar s\}+\frac q{1-q})$ |
   | --- | --- | --- | --- |
   | $\lambda=1/2$, $S=200$ | <<light:cells>> |
   | $\lambda=9/10$, $S=8$ | <<heavy:cells>> |

4. Three tiers (rates 1, $p=\tfrac12$, $S=10$, $R=10$, $g_h=1$) at $\lambda=\tfrac{99}{100}$, where no
   $i_0$ exists: the largest $|d(s)|$ is <<worst>> over all $2^{10}$ policies without coins, from
   *reject at 0 only*, and <<best>> over thresholds.
""",
    claimed={
        "start": _STARTS[0],
        "bound": _BOUNDS[0],
        "attained": r"\frac{g_hs}{\mu-\lambda}",
        "light": "3.9900, 2.0100, 4.0200",
        "heavy": "22.4689, 10.0900, 124.1880",
        "worst": "30338.8",
        "best": "23.1",
    },
    meaning={
        "start": "first index of the sum",
        "bound": "what the increment is at most, over C_2",
        "attained": "increments of one server when all is admitted",
        "light": "increment and bounds at load 1/2",
        "heavy": "increment and bounds at load 9/10",
        "worst": "largest increment over all policies",
        "best": "largest increment over thresholds",
    },
    rests_on=["admission.threshold_gain"],
    parts={
        "sum": "increments as a sum",
        "bound": "the bound",
        "attained": "a policy that attains the guess",
        "values": "policies that exceed it",
    },
    uncovered="that sums of the steps shown are the sums stated, by induction",
)


@bias_increment.check(method="symbolic", scope="general", part="sum", false={"start": _STARTS[1]})
def sum_from_the_top(start: str) -> Finding:
    """The sum at s is its first term plus lambda alpha(s)/mu(s+1) times the sum at s + 1; so is mu d.

    At 0 the sum is the mean of c - cbar over nu(0), which is 0: the equation there holds. Without its
    first term it is refuted by one state.
    """
    import sympy

    from checks.methods.symbolic import identity
    from simlib.admission.model import AdmissionModel

    lam, mu, mu_next, alpha, cost, mean, inner, nu = sympy.symbols(
        "lambda mu(s) mu(s+1) alpha(s) c(s) cbar X(s+1) nu(s)", positive=True
    )
    first = cost - mean if one_of("start", start, *_STARTS) == _STARTS[0] else 0
    chain = first + lam * alpha / mu_next * inner
    d, d_next = chain / mu, inner / mu_next
    nu_next = lam * alpha * nu / mu_next
    point = {lam: 1, mu: 1, mu_next: 1, alpha: 1, cost: 2, mean: 1, inner: 0, nu: 1}
    proof = combine(
        [
            identity(mean, cost + lam * alpha * d_next - mu * d, "the equation at s", at=[point]),
            identity(
                nu * chain,
                nu * (cost - mean) + nu_next * inner,
                "nu(s) times the sum adds nu(s)(c(s) - cbar), to 0 at s = 0",
                at=[point],
            ),
        ],
        "the sum solves the equation in every state",
    )
    if proof.outcome == PROVED:
        return proof
    return _wrong_sum(AdmissionModel(1, (1,), 1, 1), (1,), start) or undecided(proof.witness)


def _wrong_sum(model: AdmissionModel, alphas: Sequence, start: str) -> Finding | None:
    """Refuted if the sums violate the equation, with a mean cost from the solved law; else None."""
    alphas, rates = (*alphas, 0), (0, *model.rates)
    costs = model.costs(alphas[:-1])
    mean = sum(p * c for p, c in zip(solved_law(model, alphas[:-1]), costs, strict=True))
    d = [Fraction(0)] * (model.limit + 2)
    for s in range(1, model.limit + 1):
        chain = Fraction(1)
        for j in range(s, model.limit + 1):
            chain *= model.arrival_rate * alphas[j - 1] / rates[j] if j > s else 1
            if j > s or start == _STARTS[0]:
                d[s] += chain * (costs[j] - mean) / rates[s]
    for s in range(model.limit + 1):
        right = costs[s] + model.arrival_rate * alphas[s] * d[s + 1] - rates[s] * d[s]
        if right != mean:
            return refuted(
                f"{described(model)}, alpha = ({listed(alphas)}): at s = {s} the equation gives "
                f"{right}, the mean cost is {mean}"
            )
    return None


@bias_increment.check(method="exact", scope="instances", part="sum", false={"start": _STARTS[1]})
def sums_of_drawn_policies(start: str) -> Finding:
    """60 drawn problems and policies with coins, S = 5: the sums solve the equation in every state."""
    for number, model in enumerate(drawn(60, limit=5, shape="any")):
        wrong = _wrong_sum(model, drawn_acceptance(5, number), one_of("start", start, *_STARTS))
        if wrong:
            return wrong
    return proved("360 equations hold in rationals")


@bias_increment.check(method="smt", scope="general", part="bound", false={"bound": _BOUNDS[1]})
def dominated_from_the_top(bound: str) -> Finding:
    """Bound |c(j) - cbar| by lambda R + g_h max(j, sbar), and add up from the top, with z3.

    The mean number of jobs of a threshold grows with it, so that of any mixture is at most sbar. With
    C(s) = prod_{s < i < i_0} mu(i_0)/mu(i) and M(s) = max(s, sbar) the sum is at most C(s)(lambda R +
    g_h (M(s) + q/(1-q)))/(1-q). The guess is refuted by the policy that rejects at 0 only.
    """
    import z3

    from checks.methods.smt import implies

    one_of("bound", bound, *_BOUNDS)
    g, q, inverse, s, reject, mean_jobs, jobs = z3.Reals("g_h q 1/(1-q) s lambda*R sbar E_alpha(X)")
    cost, mean, chance, own = z3.Reals("c(j) cbar alpha(j) E(1-alpha)")
    theta, here, after, big, w = z3.Reals("theta m(theta) m(theta+1) W w")
    c, c_next, ratio, y, y_next, rate, top, top_next = z3.Reals(
        "C(s) C(s+1) lambda/mu(s+1) Y(s) Y(s+1) mu(i_0)/mu(s+1) M(s) M(s+1)"
    )
    given = [g >= 0, q > 0, q < 1, inverse * (1 - q) == 1, inverse >= 1, s >= 1, reject >= 0]
    tops = [mean_jobs >= 0, top == z3.If(s >= mean_jobs, s, mean_jobs), top_next <= top + 1]

    def bracket(height: z3.ArithRef) -> z3.ArithRef:
        return (reject + g * (height + q * inverse)) * inverse

    size = z3.If(s >= mean_jobs, s, mean_jobs)
    worst = z3.If(z3.And(s >= mean_jobs, s >= 1), s, z3.If(mean_jobs >= 1, mean_jobs, 1))
    claimed = (worst + q * inverse) if bound == _BOUNDS[0] else s
    proof = combine(
        [
            as_stated(threshold_gain, rates="positive"),
            implies(
                [big > 0, w > 0, here <= theta, (big + w) * after == big * here + w * (theta + 1)],
                z3.And(here <= after, after <= theta + 1),
                "a larger threshold has more jobs",
            ),
            implies(
                [
                    *(g >= 0, reject >= 0, s >= 0, jobs >= 0, jobs <= mean_jobs),
                    *(chance >= 0, chance <= 1, own >= 0, own <= 1),
                    *(cost == g * s + reject * (1 - chance), mean == g * jobs + reject * own),
                ],
                z3.And(cost - mean <= reject + g * size, mean - cost <= reject + g * size),
                "distance of a cost from the mean",
            ),
            implies(
                [*given, *tops, y_next <= bracket(top_next), y_next >= 0, ratio >= 0, ratio <= q],
                reject + g * top + ratio * y_next <= bracket(top),
                "at or above i_0 - 1, where C = 1",
            ),
            implies([*given, *tops], reject + g * top <= bracket(top), "at S"),
            implies(
                [
                    *given,
                    *tops,
                    c_next >= 1,
                    y_next <= c_next * bracket(top_next),
                    rate >= 1,
                    ratio == q * rate,
                    c == rate * c_next,
                ],
                ratio * y_next <= c * (q * bracket(top_next)),
                "below i_0 - 1: insert the bound",
            ),
            implies(
                [*given, *tops],
                reject + g * top + q * bracket(top_next) <= bracket(top),
                "the bracket itself",
            ),
            implies(
                [c >= 1, y >= 0, y_next >= 0, y + y_next <= top],
                y + c * y_next <= c * top,
                "below i_0 - 1: the bracket, times C(s)",
            ),
            implies(
                [*given, *tops],
                bracket(top) <= (reject + g) * inverse * claimed,
                "in terms of C_2",
            ),
        ],
        "the sum of absolute values is at most C_1 times the bracket",
    )
    return proof if proof.outcome == PROVED else _too_large(bound, 0, proof.witness)


def _bounds_of(model: AdmissionModel, s: int) -> dict[str, Fraction]:
    """C_2 times each of the two factors."""

    from simlib.admission.model import c1_c2, law

    _, q, _, c2 = c1_c2(model)
    jobs = sum(k * p for k, p in enumerate(law(model, (1,) * model.limit)))
    return {_BOUNDS[0]: c2 * (max(s, jobs, 1) + q / (1 - q)), _BOUNDS[1]: c2 * s}


def _hole(rate: str, limit: int) -> AdmissionModel:
    """One server of rate 1, g_h = 1, R = 1/100."""

    from simlib.admission.model import AdmissionModel

    return AdmissionModel(rate, (1,) * limit, "1/100", 1)


def _too_large(bound: str, count: int, reason: str) -> Finding:
    """Refuted by an increment above the bound: reject at 0 only, then all policies of drawn problems."""

    from simlib.admission.model import increments, policies

    closest, compared = Fraction(0), 0
    cases = [(_hole("1/2", 12), [(0, *(1,) * 11)])]
    for model in drawn(count, limit=5, shape="nondecreasing"):
        if max(model.rates) > model.arrival_rate and any(
            (model.rejection_cost, model.holding_cost)
        ):
            cases.append((model, policies(5)))
    for model, rules in cases:
        limits = [_bounds_of(model, s)[bound] for s in range(1, model.limit + 1)]
        for rule in rules:
            for s, (step, most) in enumerate(zip(increments(model, rule), limits, strict=True), 1):
                if abs(step) > most:
                    return refuted(
                        f"{described(model)}, admitting ({listed(rule)}): d({s}) = {decimal(step, 4)}, "
                        f"above {decimal(most, 4)}"
                    )
                closest = max(closest, abs(step) / most)
                compared += 1
    if reason:
        return undecided(reason)
    return proved(f"{compared} increments; the largest is {decimal(closest, 4)} of its bound")


@bias_increment.check(method="exact", scope="instances", part="bound", false={"bound": _BOUNDS[1]})
def all_policies_of_stable_problems(bound: str) -> Finding:
    """All 32 policies of the stable ones of 40 drawn problems, S = 5, and reject at 0 only, S = 12."""
    return _too_large(one_of("bound", bound, *_BOUNDS), 40, "")


_ATTAINED = (r"\frac{g_hs}{\mu-\lambda}", r"\frac{g_hs}{\mu}")


@bias_increment.check(
    method="symbolic", scope="general", part="attained", false={"attained": _ATTAINED[1]}
)
def one_server_without_limit(attained: str) -> Finding:
    """Insert the increments in the equation at every s, with the mean cost g_h lambda/(mu - lambda)."""
    import sympy

    from checks.methods.symbolic import identity

    lam, mu, g, s = sympy.symbols("lambda mu g_h s", positive=True)
    slope = g / (mu - lam if one_of("attained", attained, *_ATTAINED) == _ATTAINED[0] else mu)
    mean, q = g * lam / (mu - lam), lam / mu
    point = {lam: sympy.Rational(1, 2), mu: 1, g: 1, s: 1}
    return combine(
        [
            identity(
                mean, g * s + lam * slope * (s + 1) - mu * slope * s, "equation at s", at=[point]
            ),
            identity(mean, lam * slope, "equation at 0", at=[point]),
            identity(slope * s, g / (mu * (1 - q)) * s, "C_2 s with C_1 = 1, R = 0", at=[point]),
        ],
        "d(s) = g_h s/(mu - lambda) = C_2 s",
    )


@bias_increment.check(
    method="exact",
    scope="general",
    part="values",
    false=[
        {"light": "3.9901, 2.0100, 4.0200"},
        {"heavy": "10.0900, 10.0900, 124.1880"},
        {"worst": "30338.9"},
        {"best": "23.2"},
    ],
)
def holes_at_the_bottom(light: str, heavy: str, worst: str, best: str) -> Finding:
    """Compute the table and the largest increments over all policies, in rationals; decided whole."""

    from simlib.admission.model import increments

    for name, text, rate, limit in (("light", light, "1/2", 200), ("heavy", heavy, "9/10", 8)):
        model = _hole(rate, limit)
        bounds = _bounds_of(model, 1)
        cases = {
            "d(1)": increments(model, (0, *(1,) * (limit - 1)))[0],
            "C_2": bounds[_BOUNDS[1]],
            "the bound": bounds[_BOUNDS[0]],
        }
        wrong = misprint(name, text, [(f"lambda = {rate}, {of}", v) for of, v in cases.items()])
        if wrong:
            return wrong
        if not cases["C_2"] < cases["d(1)"] <= cases["the bound"]:
            return undecided(f"{name}: the increment lies elsewhere")
    largest, size, steady = _largest_increments()
    if largest != (0, *(1,) * 9):
        return undecided(f"the largest increment is that of {largest}")
    wrong = misprint("worst", worst, [("all policies", size)])
    wrong = wrong or misprint("best", best, [("thresholds", steady)])
    return wrong or proved(
        "1024 policies of the three tiers, two of one server",
        worst=exact(decimal(size, 6)),
        best=exact(decimal(steady, 6)),
    )


@cache
def _largest_increments() -> tuple[tuple[int, ...], Fraction, Fraction]:
    """The policy with the largest increment of item 4, this increment, and that of thresholds."""

    from simlib.admission.model import increments, policies, threshold

    model = _tiers("99/100", 10)
    sizes = {rule: max(map(abs, increments(model, rule))) for rule in policies(10)}
    largest = max(sizes, key=sizes.__getitem__)
    return largest, sizes[largest], max(sizes[threshold(theta, 10)] for theta in range(11))
