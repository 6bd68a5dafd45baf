"""What the recorded samples tell, with which probability: the intervals of UCRL-MT."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from checks.admission.evidence.confidence import SETTINGS, coverage
from checks.admission.instances import SOURCE
from checks.admission.samples import chain_of, sample_law
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
from checks.judging import (
    as_stated,
    exponential_above_line,
    first_unfit,
    misprint,
    unfit,
)

if TYPE_CHECKING:
    from flint import arb

# The confidence event of UCRL-MT ------------------------------------------------------------------

_FLOORS = (r"\min\{\mu(1),\lambda\}", r"\mu(1)")
_PAIRS = ("T", "1")
_POOLED = (r"\tau", "1")
_KAPPAS = ("1-e^{-1}", "1", "2/3")

kl_radius = Claim(
    "admission.kl_radius",
    title="The intervals of UCRL-MT hold at all episodes together, except with probability 1/T",
    source=Source(SOURCE, "(13)-(17)", provenance="ours"),
    kind="lemma",
    statement=r"""
*Setting.* The network of `admission.norton_sum_policy`, step by step as in `admission.sample_law`: at
most $S\ge1$ jobs, arrivals at rate $\lambda$, rates $\mu(s)$ of the equivalent queue, $U$ steps per unit
of time. In episode $j$ UCRL-MT plays a threshold $\theta_j$; it discards $\tau$ steps, then records
$\ell_j$ steps, a number fixed when the episode begins. A recorded step with $s_t$ jobs has $D_t=1$ if a
job leaves, else $D_t=0$, and a cost rate in $[0,Ur_{\max}]$ that depends on $s_t$ and $\theta_j$ only.
Let $p(s)=\mu(s)/U$ be nondecreasing, $\nu^\theta$ the stationary law of the number of jobs and
$\bar c(\theta)$ the mean cost rate under the threshold $\theta$, $T$ the horizon,
$\varepsilon=T^{-<<exponent>>}$ and $p_0=<<floor>>/U$. Assume $T\ge1/p_0$, $1\le\tau\le T$ and: after
$\tau-1$ steps, from any state and under any threshold, the network is within total variation
$\varepsilon$ of stationarity. Write, with $0\log0=0$,
$$\mathrm{kl}(a,b)=a\log\tfrac ab+(1-a)\log\tfrac{1-a}{1-b},\qquad L=\log(<<level>>(S+1)T^2).$$

*Event.* With probability at least $1-1/T$, at the start of every episode $k$ together,

- (i) $N_k(s)\,\mathrm{kl}(\hat p_k(s),p(s))\le<<pooled>>\,L$ for all $s=1,\dots,S$ with $N_k(s)\ge1$,
  where $N_k(s)$ recorded steps had $s$ jobs and a share $\hat p_k(s)$ of them $D_t=1$;
- (ii) $N_k(s)\ge\kappa\,(M_k(s)-\tfrac1T)-\tau L$ for $s=1,\dots,S$, with $\kappa=<<kappa>>$ and
  $M_k(s)=\sum_{j<k}\ell_j\nu^{\theta_j}(s)$;
- (iii) $|\hat c_k(\theta)-\bar c(\theta)|\le
  Ur_{\max}\big(\sqrt{\tau L/(<<hoeffding>>\,n_k(\theta))}+\varepsilon\big)$ for every $\theta$ with
  $n_k(\theta)\ge1$ recorded steps, $\hat c_k(\theta)$ being their mean cost rate.

*Steps.*

1. Split the recorded steps into classes mod $\tau$. Let $\mathcal G_t$ be what is known $\tau-1$ steps
   before $t$, and $\Lambda(z)=\log(1-p(s)+p(s)e^z)$. Then $Y=\exp(1\{s_t=s\}(zD_t-\Lambda(z)))$ has mean
   1 in stationarity and lies between 0 and $1/p_0$, so $E[Y|\mathcal G_t]\le1+\varepsilon/p_0$; and
   $(1+\varepsilon/p_0)^T\le e$.
2. After the $n$-th step with $s$ jobs in a class $\hat p\ge x>p(s)$, where $n\,\mathrm{kl}(x,p(s))=L$,
   has probability at most $e^{1-L}$; as has the other side. There are at most $<<pairs>>$ pairs of a
   class and an $n$ to sum over. The sum is needed: for independent samples with $p=\frac15$ the
   probability that $n\,\mathrm{kl}(\hat p,p)>L$ for some $n\le500$ is <<anytime>> at $L=2,3,4$, above
   $2e^{-L}$.
3. $N\,\mathrm{kl}(\hat p,p)$ is at most the sum of the same over the classes: $\mathrm{kl}(\cdot,p)$ is
   convex.
4. $E[e^{-1\{s_t=s\}}|\mathcal G_t]\le e^{-\kappa(\nu(s)-\varepsilon)}$, so one class fails (ii) with
   probability at most $e^{-L}$. With 1 for $\kappa$ that is false: for independent samples with
   $p=\frac1{20}$ the number of successes falls below $np-L$ for some $n\le400$ with probability
   <<below>> at $L=1,2,3$.
5. The three events fail with probability at most $2eST\,e^{-L}$, $S\tau\,e^{-L}$ and $2(S+1)T\,e^{-L}$,
   together at most $1/T$.

*Width.* Let $\eta=\tau L/N_k(s)$ and $u$ the largest number with $\mathrm{kl}(\hat p_k(s),u)\le\eta$. On
(i) $u\ge p=p(s)$, also after $u$ is cut at $1-\lambda/U$ and then replaced by the smallest of the limits
at $s,s+1,\dots,S$; and
$$u-p\le\sqrt{<<first>>\,p\,\eta}+<<second:frac>>\,\eta,\qquad u-p\le\sqrt{<<pinsker>>\,\eta}.$$
This uses $\mathrm{kl}(a,b)\ge\frac{3(a-b)^2}{2(a+2b)}$ and $\mathrm{kl}(a,b)\ge2(a-b)^2$. With
$<<needed>>\,\eta$ for the second-order part it would be false.
""",
    claimed={
        "exponent": "2",
        "floor": _FLOORS[0],
        "level": "9",
        "pooled": _POOLED[0],
        "kappa": _KAPPAS[0],
        "hoeffding": "2",
        "pairs": _PAIRS[0],
        "anytime": "0.4763, 0.2237, 0.0884",
        "below": "0.8062, 0.6290, 0.4683",
        "first": "8",
        "second": "8/3",
        "pinsker": "2",
        "needed": "1.98",
    },
    meaning={
        "anytime": "p = 1/5, n up to 500, at L = 2, 3, 4",
        "below": "p = 1/20, n up to 400, constant 1, at L = 1, 2, 3",
        "second": "the constant of the second-order part of the width",
        "needed": "a constant of the second-order part that is too small",
    },
    rests_on=["admission.sample_law"],
    parts={
        "sample": "one sample",
        "pairs": "all numbers of visits of a class",
        "pooled": "all classes together",
        "visits": "visits from below",
        "costs": "costs of a threshold",
        "union": "the sum of the probabilities",
        "width": "the width of the interval",
    },
    uncovered=(
        "Ville's inequality for nonnegative supermartingales, that of Azuma and Hoeffding, and Jensen's "
        "for more than two terms are classical and used as they are"
    ),
)


@kl_radius.check(
    method="smt",
    scope="general",
    part="sample",
    false=[{"floor": _FLOORS[1]}, {"exponent": "1"}, {"exponent": "3/2"}],
)
def one_sample(floor: str, exponent: str) -> Finding:
    """The mean by SymPy, the range with g = e^z by z3, the product by e^x >= 1 + x.

    The mean moves by at most the range times the total variation. Without the arrival rate in the floor
    one queue refutes the range; for a smaller exponent some T = 1/p_0 does the product.
    """
    import sympy
    import z3

    from checks.methods.certified import ball, precision
    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    nu, p_, g_ = sympy.symbols("nu p g", positive=True)
    both = 1 - p_ + p_ * g_  # e^Lambda
    p, g, lam, first, rate, bound, low = z3.Reals("p g lambda mu(1) mu(s) U p_0")
    least = {
        _FLOORS[0]: z3.If(first <= lam, first, lam),
        _FLOORS[1]: first,
    }[one_of("floor", floor, *_FLOORS)]
    model = [lam > 0, first > 0, rate >= first, bound >= lam + rate, p * bound == rate]
    range_ = [*model, low * bound == least, g > 0]
    up, down, far, most = z3.Reals("sum_up sum_down tv most")
    order = Fraction(exponent)
    steps = [
        as_stated(sample_law, distance=r"\varepsilon", ramp=r"\tau-1", modulus=r"\tau"),
        identity(1 - nu + nu * ((1 - p_) / both + p_ * g_ / both), 1, "mean of Y in stationarity"),
        implies(range_, low * g <= 1 - p + p * g, "Y where a job leaves"),
        implies(range_, low <= 1 - p + p * g, "Y where none leaves"),
        implies(range_, low <= 1, "Y elsewhere"),
        implies(
            [far >= 0, most >= 0, up <= far * most, down >= 0], up - down <= far * most, "the mean"
        ),
    ]
    if order >= 2:
        horizon, eps, excess = z3.Reals("T eps eps/p_0")
        steps += [
            implies(
                [
                    *(horizon >= 1, low > 0, horizon * low >= 1, eps >= 0),
                    *(eps * horizon * horizon <= 1, excess * low == eps),
                ],
                horizon * excess <= 1,
                "T eps/p_0 <= 1",
            ),
            exponential_above_line(),  # so (1 + eps/p_0)^T <= e^(T eps/p_0)
        ]
    else:
        for horizon in (4, 100, 10**4):
            with precision(200):
                excess = ball(horizon) ** ball(1 - order)
                if (1 + excess) ** horizon > ball(1).exp():
                    return refuted(
                        f"T = 1/p_0 = {horizon}: (1 + T^-{exponent}/p_0)^T = "
                        f"{((1 + excess) ** horizon).str(6)}, above e"
                    )
        return undecided(f"(1 + T^-{exponent}/p_0)^T")
    return combine(steps, "E[Y | G] <= 1 + eps/p_0, and T factors of it make e at most")


@kl_radius.check(
    method="exact",
    scope="instances",
    part="sample",
    false=[{"floor": "\\mu(1)"}],
)
def one_sample_by_powers(floor: str) -> Finding:
    """Means of Y from all starts, in rationals: queues in series after 1, 5, 15 steps, and in parallel.

    Two in series (rates 1, arrivals 3/5, at most 3 jobs), each threshold and total, e^z from 1/8 to 8;
    two in parallel (rates 1, arrivals 1/100), 10 jobs and no step.
    """
    from simlib.admission.network import parallel, tandem

    of = {_FLOORS[0]: min, _FLOORS[1]: lambda first, lam: first}
    least = of[one_of("floor", floor, *_FLOORS)]
    largest, half = Fraction(0), Fraction(1, 2)
    grid = [Fraction(2) ** k for k in range(-3, 4)]
    series, side = tandem(Fraction(3, 5), (1, 1)), parallel(Fraction(1, 100), (1, 1), (half, half))
    cases = [(series, 3, theta, range(1, theta + 1), (1, 5, 15), grid) for theta in (1, 2, 3)]
    cases.append((side, 10, 10, (10,), (0,), [Fraction(1, 64)]))
    for network, limit, theta, totals, gaps, factors in cases:
        known, arrivals = chain_of(network, limit, theta), network.arrival_rate
        p0 = least(known.rates[0], arrivals) / known.clock
        for steps in gaps:
            for start, (row, far) in enumerate(known.after(steps)):
                for s in totals:
                    at, left = known.share(row, s)
                    p = known.rates[s - 1] / known.clock
                    for g in factors:
                        mean = 1 - at + (at - left + left * g) / (1 - p + p * g)
                        if mean - 1 > far / p0:
                            return refuted(
                                f"lambda = {arrivals}, state {start}, {steps} steps, s = {s}, "
                                f"e^z = {g}: E Y = {decimal(mean, 4)}, above {decimal(1 + far / p0, 4)}"
                            )
                        largest = max(largest, (mean - 1) * p0 / far if far else largest)
    return proved(f"E Y - 1 is at most {decimal(largest, 4)} of TV/p_0")


@cache
def some_n_fails(p: Fraction, samples: int, level: int) -> Fraction:
    """Probability that n kl(phat_n, p) > level for some n up to a number of independent samples.

    Parameters
    ----------
    p : Fraction
        Success probability, in (0, 1).
    samples, level : int

    Notes
    -----
    Exact recursion on the number of successes, those that went out being dropped. Which numbers are out
    is decided in floats, which are never closer to the level than 1e-9.
    """
    yes, all_ = p.numerator, p.denominator
    alive, low, unit, out = [1], 0, 1, Fraction(0)
    for n in range(1, samples + 1):
        moved = [0] * (len(alive) + 1)
        for k, weight in enumerate(alive):
            moved[k] += weight * (all_ - yes)
            moved[k + 1] += weight * yes
        unit *= all_
        kept = [k for k in range(low, low + len(moved)) if not _outside(k, n, float(p), level)]
        first, last = kept[0], kept[-1]
        out += Fraction(sum(moved[: first - low]) + sum(moved[last - low + 1 :]), unit)
        alive, low = moved[first - low : last - low + 1], first
    return out


def _outside(k: int, n: int, p: float, level: int) -> bool:
    share = k / n
    value = 0.0
    if k:
        value += k * math.log(share / p)
    if k < n:
        value += (n - k) * math.log((1 - share) / (1 - p))
    if abs(value - level) < 1e-9:
        raise ArithmeticError(f"{k} of {n}: too close to the level")
    return value > level


@kl_radius.check(
    method="symbolic",
    scope="general",
    part="pairs",
    false=[{"pairs": _PAIRS[1]}, {"anytime": "0.4763, 0.2237, 0.0874"}],
)
def chernoff_and_union(pairs: str, anytime: str) -> Finding:
    """Choose z with x z - Lambda(z) = kl(x, p) by SymPy, its sign by z3; sum over all n of each class.

    The numbers for one class of independent samples are an exact recursion, and so is the refutation of
    "no sum": they exceed 2 e^-L.
    """
    import sympy
    import z3

    from checks.methods.certified import ball
    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    p_, samples, levels = Fraction(1, 5), 500, (2, 3, 4)
    terms = samples if one_of("pairs", pairs, *_PAIRS) == _PAIRS[0] else 1
    values = {level: some_n_fails(p_, samples, level) for level in levels}
    wrong = misprint("anytime", anytime, ((f"L = {level}", v) for level, v in values.items()), 8)
    if wrong:
        return wrong
    for level, value in values.items():
        if not ball(value) > 2 * ball(-level).exp():
            return undecided(f"L = {level}: {decimal(value, 8)} is not above 2 e^-L")
    for level in (*levels, 8):
        value, bound = some_n_fails(p_, samples, level), 2 * terms * ball(-level).exp()
        if not ball(value) <= bound:
            return refuted(
                f"independent samples, p = 1/5, L = {level}: some n <= 500 fails with probability "
                f"{decimal(value, 4)}, above {bound.str(4, radius=False)}"
            )
    a, b = sympy.symbols("a b", positive=True)  # x = a/(1+a), p = b/(1+b)
    x, p = a / (1 + a), b / (1 + b)
    z = sympy.log(a) - sympy.log(b)
    kl = x * sympy.log(a / b) + sympy.log((1 + b) / (1 + a))
    log_mean = sympy.log((1 + a) / (1 + b))
    left, right = z3.Reals("x p")
    return combine(
        [
            identity(
                1 - p + p * a / b, (1 + a) / (1 + b), "e^Lambda at e^z = x(1 - p)/((1 - x) p)"
            ),
            identity(
                sympy.expand_log(x * sympy.log(x / p) + (1 - x) * sympy.log((1 - x) / (1 - p))),
                sympy.expand_log(kl),
                "kl in odds",
            ),
            identity(
                sympy.expand_log(x * z - log_mean), sympy.expand_log(kl), "x z - Lambda = kl(x, p)"
            ),
            implies(
                [left > 0, left < 1, right > 0, right < 1],
                (left * (1 - right) > (1 - left) * right) == (left > right),
                "z > 0 exactly if x > p",
            ),
        ],
        "e^(1-L) for each side, class and n; the n of all classes are at most T",
    )


@kl_radius.check(method="symbolic", scope="general", part="pooled", false={"pooled": _POOLED[1]})
def convexity(pooled: str) -> Finding:
    """The second derivative of kl in its first argument; without the factor two equal classes refute."""
    import sympy

    from checks.methods.symbolic import identity

    if one_of("pooled", pooled, *_POOLED) == _POOLED[1]:
        return _splits(factor=False)
    a, b = sympy.symbols("a b", positive=True)
    kl = a * sympy.log(a / b) + (1 - a) * sympy.log((1 - a) / (1 - b))
    curvature = identity(sympy.diff(kl, a, 2), 1 / (a * (1 - a)), "second derivative in a")
    return combine([curvature], "kl(., p) is convex, so tau classes make tau L at most")


@kl_radius.check(method="exact", scope="instances", part="pooled", false={"pooled": _POOLED[1]})
def splits(pooled: str) -> Finding:
    """Share 24 samples out to 2 or 3 classes in all ways: tau times the largest n kl of a class."""
    return _splits(factor=one_of("pooled", pooled, *_POOLED) == _POOLED[0])


def _splits(*, factor: bool) -> Finding:
    from itertools import product

    from simlib.admission.formulas import kl_divergence

    closest, count = 0.0, 0
    for sizes in ((12, 12), (6, 18), (8, 8, 8), (2, 10, 12)):
        for hits in product(*(range(size + 1) for size in sizes)):
            for p in (0.1, 0.45):
                parts = [n * kl_divergence(k / n, p) for k, n in zip(hits, sizes, strict=True)]
                whole = sum(sizes) * kl_divergence(sum(hits) / sum(sizes), p)
                allowed = (len(sizes) if factor else 1) * max(parts)
                if whole > allowed * (1 + 1e-9) + 1e-12:
                    return refuted(
                        f"{hits} successes in classes of {sizes}, p = {p}: N kl = {whole:.6f}, above "
                        f"{allowed:.6f}"
                    )
                closest, count = max(closest, whole / allowed if allowed else 0.0), count + 1
    return proved(f"{count} splits; the largest share of the bound is {closest:.6f}")


def falls_below(p: Fraction, samples: int, level: int, kappa: Fraction) -> Fraction:
    """Probability that the successes fall below kappa n p - level for some n; exact recursion.

    Parameters
    ----------
    p, kappa : Fraction
    samples, level : int
        Largest n; how far below.
    """
    yes, all_ = p.numerator, p.denominator
    alive, unit, out = {0: 1}, 1, Fraction(0)
    enough = max(0, math.ceil(kappa * samples * p - level))
    for n in range(1, samples + 1):
        unit *= all_
        line, moved = kappa * n * p - level, {}
        for k, weight in alive.items():
            moved[k] = moved.get(k, 0) + weight * (all_ - yes)
            if k + 1 < enough:  # from there on no n up to the last is below the line
                moved[k + 1] = moved.get(k + 1, 0) + weight * yes
        out += Fraction(sum(weight for k, weight in moved.items() if k < line), unit)
        alive = {k: weight for k, weight in moved.items() if k >= line}
    return out


@kl_radius.check(
    method="certified",
    scope="general",
    part="visits",
    false=[
        {"kappa": _KAPPAS[1]},
        {"kappa": _KAPPAS[2]},
        {"below": "0.8062, 0.6290, 0.4693"},
    ],
)
def visits_from_below(kappa: str, below: str) -> Finding:
    """E e^-X = 1 - (1 - 1/e) q <= e^(-kappa q), by e^x >= 1 + x; larger kappa by exact recursions.

    The recursions run over 400 independent samples with q = 1/20, L = 1, 2, 3, and are compared with
    e^-L.
    """
    from checks.methods.certified import ball, ends

    p, samples = Fraction(1, 20), 400
    values = {level: falls_below(p, samples, level, Fraction(1)) for level in (1, 2, 3)}
    cases = ((f"L = {level}, constant 1", value) for level, value in values.items())
    wrong = misprint("below", below, cases, 8)
    if wrong:
        return wrong
    for level, value in values.items():
        if not ball(value) > ball(-level).exp():
            return undecided(f"L = {level}: {decimal(value, 8)} is not above e^-L")
    if one_of("kappa", kappa, *_KAPPAS) == _KAPPAS[0]:
        above = ends(1 - ball(-1).exp())[1]
        for level in (1, 2, 3):
            value = falls_below(p, samples, level, above)
            if ball(value) > ball(-level).exp():
                return refuted(f"L = {level}: {decimal(value, 8)} > e^-{level}")
        return _mean_below()
    for level in (1, 2, 3):
        value = falls_below(p, samples, level, Fraction(kappa))
        if ball(value) > ball(-level).exp():
            return refuted(
                f"independent, q = 1/20, L = {level}: below {kappa} n q - L for some n <= 400 with "
                f"probability {decimal(value, 6)}, above e^-{level} = {ball(-level).exp().str(5)}"
            )
    return undecided(f"constant {kappa}")


def _mean_below() -> Finding:
    """E e^-X of one recorded step, X being 1 if it has s jobs, else 0, with q >= nu(s) - eps for E X."""
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    q_ = sympy.symbols("q", nonnegative=True)
    q, nu, eps, share = z3.Reals("q nu eps 1-1/e")
    return combine(
        [
            as_stated(sample_law, distance=r"\varepsilon", ramp=r"\tau-1", modulus=r"\tau"),
            identity(1 - q_ + q_ * sympy.exp(-1), 1 - (1 - sympy.exp(-1)) * q_, "E e^-X"),
            exponential_above_line(),
            implies([share > 0, q >= nu - eps], share * q >= share * (nu - eps), "a visit"),
        ],
        "1 - x <= e^-x with x = (1 - 1/e) q, and q >= nu(s) - eps; Ville's inequality",
    )


@kl_radius.check(
    method="symbolic",
    scope="general",
    part="costs",
    false=[{"hoeffding": "4"}, {"hoeffding": "5/2"}],
)
def costs_of_a_threshold(hoeffding: str) -> Finding:
    """The exponent of Hoeffding's bound at this radius (SymPy); the sum of roots over classes by z3.

    With a larger number the exact tail of fair coins refutes it.
    """
    import sympy
    import z3

    from checks.methods.certified import ball
    from checks.methods.smt import implies, real
    from checks.methods.symbolic import identity

    h = Fraction(hoeffding)
    if h <= 0:
        raise ValueError(f"hoeffding = {hoeffding!r}: must be above 0, as a radius divides by it")
    size, log, span = sympy.symbols("n L range", positive=True)
    radius = span * sympy.sqrt(log / (sympy.Rational(h.numerator, h.denominator) * size))
    exponent = 2 / sympy.Rational(h.numerator, h.denominator)
    count, sum_, new, root, level = z3.Reals("classes n x sum_of_roots L")
    proof = combine(
        [
            as_stated(sample_law, distance=r"\varepsilon", ramp=r"\tau-1", modulus=r"\tau"),
            identity(2 * size * radius**2 / span**2, exponent * log, "exponent"),
            implies([level >= 0], real(2 / h) * level >= level, "exponent at least L"),
            implies(
                [count >= 1, sum_ >= 0, new >= 0, root >= 0, root * root <= count * sum_],
                (root + new) * (root + new) <= (count + 1) * (sum_ + new * new),
                "(sum of roots)^2 <= classes times the sum, one class more",
            ),
        ],
        "an exponent of L at least; sum_m sqrt(n_m) <= sqrt(tau n)",
    )
    if proof.outcome == PROVED:
        return proof
    n, level = 400, 30
    far = [k for k in range(n + 1) if (Fraction(k, n) - Fraction(1, 2)) ** 2 > level / (h * n)]
    tail = Fraction(sum(math.comb(n, k) for k in far), 2**n)
    if ball(tail) > 2 * ball(-level).exp():
        return refuted(
            f"{n} fair coins, L = {level}: the tail beyond sqrt(L/({hoeffding} n)) is "
            f"{float(tail):.3e}, above 2 e^-L = {2 * math.exp(-level):.3e}"
        )
    return undecided(proof.witness)


@kl_radius.check(
    method="smt", scope="general", part="union", false=[{"level": "8"}, {"level": "2"}]
)
def sum_of_probabilities(level: str) -> Finding:
    """Multiply by (S + 1) T e^L and bound e above by 2.71829 (Arb); a smaller level fails for some S."""
    import z3

    from checks.methods.certified import ball
    from checks.methods.smt import implies, real

    e = Fraction("2.71829")
    if not ball(1).exp() < ball(e):
        return undecided("e < 2.71829")
    states, horizon, tau = z3.Reals("S T tau")
    total = 2 * real(e) * states * horizon + states * tau + 2 * (states + 1) * horizon
    proof = implies(
        [states >= 1, tau >= 1, horizon >= tau],
        total <= real(level) * (states + 1) * horizon,
        "sum of the three",
    )
    if proof.outcome == PROVED:
        return proof
    lower = Fraction("2.71828")
    for s in range(1, 1000):
        if (2 * lower + 1) * s + 2 * (s + 1) > Fraction(level) * (s + 1):
            return refuted(f"S = {s}, tau = T: the three sum to more than 1/T")
    return undecided(proof.witness)


# The width --------------------------------------------------------------------------------------------


def _kl(a: Fraction, b: Fraction) -> arb:
    """A ball around kl(a, b), for a in [0, 1] and b in (0, 1)."""
    from checks.methods.certified import ball

    value = ball(0)
    if a:
        value += ball(a) * ball(a / b).log()
    if a < 1:
        value += ball(1 - a) * ball((1 - a) / (1 - b)).log()
    return value


def _wider(first: str, second: str, pinsker: str) -> Finding | None:
    """A certified interval wider than stated; None if none of ours is."""
    from checks.methods.certified import ball, precision
    from simlib.admission.formulas import kl_upper_limit

    cases = [(1e-6, 1e-6 * ratio) for ratio in (1e-4, 1e-2, 0.1, 1.0)]
    cases += [(0.5 - (eta / 2) ** 0.5, eta) for eta in (1e-4, 1e-3)]
    for p, eta in cases:
        # The largest share whose interval holds p, then its limit; both a little inside.
        share = p + 0.999999 * (_inverse(p, eta) - p)
        limit = share + 0.999999 * (kl_upper_limit(share, eta) - share)
        p_, eta_, a, u = map(Fraction, (p, eta, share, limit))
        with precision(200):
            if not (_kl(a, p_) <= ball(eta_) and _kl(a, u) <= ball(eta_)):
                continue
            wide = ball(u - p_)
            bounds = {
                f"sqrt({first} p eta) + {second} eta": (ball(first) * ball(p_ * eta_)).sqrt()
                + ball(second) * ball(eta_),
                f"sqrt({pinsker} eta)": (ball(pinsker) * ball(eta_)).sqrt(),
            }
            for name, bound in bounds.items():
                if wide > bound:
                    return refuted(
                        f"p = {p:.6g}, eta = {eta:.3g}, share {share:.6g}: "
                        f"u - p >= {float(u - p_):.6g}, above {name} = {bound.str(6, radius=False)}"
                    )
    return None


def _inverse(p: float, eta: float) -> float:
    """Largest share a with kl(a, p) <= eta, by bisection."""
    from simlib.admission.formulas import kl_divergence

    low, high = p, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if kl_divergence(middle, p) <= eta else (low, middle)
    return low


@kl_radius.check(
    method="smt",
    scope="general",
    part="width",
    false=[
        {"first": "7"},
        {"second": "4/3"},
        {"second": "1.98"},
        {"pinsker": "3/2"},
        {"needed": "2.7"},
    ],
)
def width_of_the_interval(first: str, second: str, pinsker: str, needed: str) -> Finding:
    """Both lower bounds of kl by the sign of a derivative in b (SymPy, z3); then quadratic inequalities.

    With x = sqrt(p), w = sqrt(eta), d = phat - p, y = u - phat: d^2 <= (2/3) w^2 (3 x^2 + d) and
    y^2 <= (2/3) w^2 (3 phat + 2 y). That the projected limit is above p holds as p is nondecreasing.
    Smaller constants are refuted by intervals that Arb encloses.
    """
    import z3

    from checks.methods.smt import implies, real

    x, w, d, y, r, f = z3.Reals("x w d y r f")
    roots = [x >= 0, w >= 0, r >= 0, r * r == 2]
    d_most, y_most = r * x * w + real("2/3") * w * w, r * x * w + 2 * w * w
    steps = [
        *_width_lemmas(),
        implies(
            [*roots, f >= 0, f * f == real(first), d <= d_most, y <= y_most],
            d + y <= f * x * w + real(second) * w * w,
            "u - p",
        ),
        implies(
            [w >= 0, f >= 0, f * f == real(pinsker), 2 * d * d <= w * w, 2 * y * y <= w * w],
            d + y <= f * w,
            "u - p by Pinsker's inequality",
        ),
    ]
    proof = combine(steps, "the width holds with these constants")
    if proof.outcome != PROVED:
        return _wider(first, second, pinsker) or undecided(proof.witness)
    if Fraction(needed) >= Fraction(second):
        return refuted(f"{needed} is not too small: {second} will do, as proved")
    if _wider(first, needed, pinsker) is None:
        return undecided(f"no interval is wider than with {needed} for {second}")
    return proof


@cache
def _width_lemmas() -> tuple[Finding, ...]:
    """What the width rests on whatever its constants."""
    import sympy
    import z3

    from checks.methods.smt import implies, real
    from checks.methods.symbolic import identity

    a_, b_ = sympy.symbols("a b", positive=True)
    kl_ = a_ * sympy.log(a_ / b_) + (1 - a_) * sympy.log((1 - a_) / (1 - b_))
    rational = sympy.Rational(3, 2) * (a_ - b_) ** 2 / (a_ + 2 * b_)
    bracket = 3 * (2 * a_ + b_) / (a_ + 2 * b_) ** 2
    a, b, x, w, d, y, r, share = z3.Reals("a b x w d y r phat")
    u, cut, other, p_other, p = z3.Reals("u cut u(j) p(j) p(s)")
    lam, mu, clock = z3.Reals("lambda mu(s) U")
    inside = [a >= 0, a <= 1, b > 0, b < 1]
    roots = [x >= 0, w >= 0, r >= 0, r * r == 2]
    third = real("2/3")
    d_most, y_most = r * x * w + third * w * w, r * x * w + 2 * w * w
    return (
        identity(sympy.diff(kl_, b_), (b_ - a_) / (b_ * (1 - b_)), "derivative of kl"),
        identity(sympy.diff(rational, b_), (b_ - a_) * bracket, "derivative of 3(a-b)^2/(2(a+2b))"),
        implies(
            inside,
            (a + 2 * b) * (a + 2 * b) >= 3 * (2 * a + b) * b * (1 - b),
            "kl less the first bound falls before a and grows after",
        ),
        implies(inside, 4 * b * (1 - b) <= 1, "kl less 2(a-b)^2 falls before a and grows after"),
        implies([*roots, d * d <= third * w * w * (3 * x * x + d)], d <= d_most, "phat - p"),
        implies(
            [*roots, share <= x * x + d_most, y * y <= third * w * w * (3 * share + 2 * y)],
            y <= y_most,
            "u - phat",
        ),
        implies(
            [lam > 0, mu > 0, clock >= lam + mu, cut * clock == clock - lam, p * clock == mu],
            cut >= p,
            "the cut",
        ),
        implies(
            [u >= p, cut >= p, other >= p_other, p_other >= p],
            z3.And(z3.If(u <= cut, u, cut) >= p, other >= p),
            "the limit, cut and projected",
        ),
    )


@kl_radius.check(
    method="certified",
    scope="instances",
    part="width",
    false=[{"first": "7"}, {"second": "4/3"}, {"pinsker": "3/2"}],
)
def intervals_of_samples(first: str, second: str, pinsker: str) -> Finding:
    """Intervals from k of n successes, p at their lower and upper ends (Arb); then the extreme ones."""
    from checks.methods.certified import ball, precision
    from simlib.admission.formulas import kl_lower_limit, kl_upper_limit

    count = 0
    with precision(100):
        for n in (20, 400):
            for k in (0, 1, n // 10, n // 2, n - 1):
                for eta in (0.001, 0.05, 0.8):
                    share = k / n
                    p = max(kl_lower_limit(share, eta), 1e-12)
                    limit = min(kl_upper_limit(share, eta), 1 - 1e-15)
                    wide, eta_, p_ = ball(Fraction(limit) - Fraction(p)), Fraction(eta), Fraction(p)
                    bounds = (
                        (ball(first) * ball(p_ * eta_)).sqrt() + ball(second) * ball(eta_),
                        (ball(pinsker) * ball(eta_)).sqrt(),
                    )
                    slack = ball(Fraction(1, 10**11))  # of the bisections in floats
                    if any(wide > bound + slack for bound in bounds):
                        return refuted(f"{k} of {n}, eta = {eta}: width {float(limit - p):.6f}")
                    if not all(wide <= bound + slack for bound in bounds):
                        return undecided(f"{k} of {n}, eta = {eta}")
                    count += 1
    return _wider(first, second, pinsker) or proved(f"{count} intervals", intervals=exact(count))


# Runs -------------------------------------------------------------------------------------------------

_LEVELS = ("as in `admission.kl_radius`", "equal to 0.02")

coverage_in_runs = Claim(
    "admission.coverage_in_runs",
    title="In runs the intervals of UCRL-MT hold; with a tiny level optimism is lost",
    source=Source(SOURCE, "(13)-(18)", provenance="ours"),
    kind="proposition",
    statement=r"""
UCRL-MT (`admission.kl_radius`), $T=10^5$ steps, on two queues in series (rates 1, $\lambda=0.6$, at most
$S=4$ jobs, a rejection costs 4) and on three tiers of one queue each (rates 1, half of the jobs go on,
$\lambda=0.99$, $S=5$, a rejection costs 10); a job in the network costs 1 per unit of time.

1. With $L$ <<level>> a run with an episode at which some $p(s)$ or mean cost is outside what (i) and
   (iii) there allow is rarer than one without: with the $\tau$ that is certified for the network, and
   also with $\tau=3$, for which nothing is proved.
2. With $L=0.02$ and $\tau=3$ a run has <<pessimistic>> or more episodes in the mean at which the index
   of the threshold played, the larger of the two lower limits of its cost, exceeds the least cost of
   all thresholds: optimism is lost.
""",
    claimed={"level": _LEVELS[0], "pessimistic": "10"},
    meaning={
        "pessimistic": "episodes, out of about 25",
    },
    rests_on=["admission.kl_radius"],
    parts={"stated": "the level of the lemma", "tiny": "a tiny level"},
    uncovered=(
        "part (ii) of the event, the visits from below; other networks; and how rare a miss is with the "
        "stated level: 1/T by the lemma, which no number of runs would show"
    ),
)


@coverage_in_runs.check(
    method="statistical",
    scope="instances",
    part="stated",
    uses=coverage,
    alpha=4e-7,
    false={"level": _LEVELS[1]},
)
def runs_with_a_miss(found: dict, level: str) -> Finding:
    """Count the runs in which an interval misses; an exact interval for the probability, four times."""
    from checks.methods.statistical import at_most
    from simlib.estimate import proportion

    kinds = ("theorem", "short") if one_of("level", level, *_LEVELS) == _LEVELS[0] else ("tiny",)
    findings = []
    for setting in SETTINGS:
        for kind in kinds:
            missed = found[f"missed_{setting}_{kind}"]
            if len(missed) < coverage.parameters("quick")["runs"]:
                return undecided(f"{len(missed)} runs are too few")
            sample = proportion(int((missed > 0).sum()), len(missed), 1e-7)
            name = f"runs with a miss, {setting}, {kind}"
            findings.append(at_most(sample, 0.5, name))
    return combine(findings)


@coverage_in_runs.check(
    method="statistical",
    scope="instances",
    part="tiny",
    uses=coverage,
    alpha=2e-7,
    false={"pessimistic": "25"},
)
def runs_without_optimism(found: dict, pessimistic: str) -> Finding:
    """Means of the numbers of episodes with an index above the least cost; Student's interval.

    One number a run, between 0 and the number of its episodes. A sum over some 25 episodes is near
    enough to normal for 40 runs, beside a margin of several standard deviations of the mean.
    """
    from checks.methods.statistical import at_least
    from simlib.estimate import mean_normal

    samples = {setting: found[f"pessimistic_{setting}_tiny"] for setting in SETTINGS}
    unfit_ = first_unfit(unfit(values, coverage, name) for name, values in samples.items())
    if unfit_:
        return unfit_
    return combine(
        at_least(mean_normal(values, 1e-7), float(Fraction(pessimistic)), f"episodes, {name}")
        for name, values in samples.items()
    )
