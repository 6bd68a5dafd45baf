"""Corollaries of the regret theorem: stability, S, one station, unknown arrivals, unknown mixing."""

from __future__ import annotations

from fractions import Fraction

from checks.admission.confidence import kl_radius
from checks.admission.dominance import dominance
from checks.admission.instances import SOURCE, three_tiers
from checks.admission.perturbation import increment_bounds, perturbation_identity
from checks.admission.regret import constants_of, regret_theorem
from checks.claim import Claim, Source
from checks.finding import (
    PROVED,
    Finding,
    combine,
    decimal,
    one_of,
    refuted,
    undecided,
)
from checks.judging import as_stated, one_for_each

_BASEL = (r"\tfrac{\pi^2}6", r"\tfrac32")
_STATIONS = ("one station", "one station or more")
_SELDOM = (r"16\,\tau L", r"16\,L")

regret_corollaries = Claim(
    "admission.regret_corollaries",
    title="Stable networks without S, all networks, one station, unknown arrivals, unknown mixing",
    source=Source(SOURCE, "Theorem 5.1 and Section 6", provenance="ours"),
    kind="corollary",
    statement=r"""
Notation and assumptions of `admission.regret_theorem`.

1. *Stable.* If $\mu(i_0)>\lambda$, let $q=\lambda/\mu(i_0)$ and $C_1,C_2$ be as in
   `admission.increment_bounds`. For $f(s)=s^2$, whatever $S$ and $T$ are,
   $$\sqrt{FV_f}\le C_2\sqrt{\tfrac{\mu(1)}U}\,\sqrt{<<basel>>\,C_1\sum_{s\ge1}q^ss^2
   \bigl(s+\tfrac q{1-q}\bigr)^2}.$$
   So $\mathrm{Reg}(T)\le k_0\sqrt{\tau LT}+O(\tau LS^2\log T)$, where $k_0$,
   which is $4(1+\sqrt2)$ times the right side, does not grow with $S$ as long as
   $\mu(1),\mu(i_0),\lambda,R,g_h,U$ do not. One queue with $\mu=1$, $\lambda=\frac12$, $R=10$,
   $g_h=1$: $k_0=<<cap>>$. The constants of $\sqrt{\tau LT}$ in $A_1$, with nearly the best $f$, and in
   $A_3$ are

   | | $S=5$ | $S=10$ | $S=20$ |
   | --- | --- | --- | --- |
   | $4(1+\sqrt2)\sqrt{FV_f}$ | <<in_first:cells>> |
   | $(2+\sqrt2)\,r_{\max}\sqrt{S+1}$ | <<in_third:cells>> |

2. *Not necessarily stable.* For $f\equiv1$
   $$4(1+\sqrt2)\sqrt{FV_f}\le<<overall>>\,(1+\sqrt2)\,r_{\max}\sqrt S\,(S+1)\sqrt{U/\mu(1)}.$$
3. *One station.* In networks of <<stations>> a job leaves with probability $p(s_t)$ whatever happened
   before, so that the kl radius $L/N$ will do. Then $A_1$ and $A_2$ hold with $\sqrt{LT}$ for
   $\sqrt{\tau LT}$ and $\frac{16}3L$ for $\frac{16}3\tau L$; the other part remains
   $<<seldom>>\sum_s\Delta(s)$.
4. *Unknown arrival rate.* Let $L=\log(<<level>>(S+1)T^2)$, and $\tilde\lambda_k/U$ the smallest $l$ with
   $t_k\,\mathrm{kl}(\hat a_k,l)\le L$, where $\hat a_k$ is the share of steps with an arrival among the
   $t_k$ steps before the episode. With $\tilde\lambda_k$ in place of $\lambda$ in both limits, and $u_k$
   cut at $1-\tilde\lambda_k/U$, the theorem holds with
   $\bar D\,(1+\sqrt2)\sqrt{<<arrivals>>\tfrac\lambda ULT}$ added to it: no $\tau$. Here
   $\bar D=\max_\theta E_{\nu^\theta}\bigl[1\{X<\theta\}\Delta(X+1)+1\{X=\theta\}R\bigr]$.
5. *Unknown mixing time.* If after $t$ steps, from any state and under any threshold, the network is
   within $C\rho^t$ of stationarity, $C\ge1$, then $\tau=\lceil\log^2T\rceil$ satisfies (M) as soon as
   $$\log T\ge\frac{<<twice>>}{\log(1/\rho)}+\sqrt{1+\frac{\log C}{\log(1/\rho)}}.$$
""",
    claimed={
        "basel": _BASEL[0],
        "cap": "1750.2",
        "in_first": "82.0, 113.6, 128.6",
        "in_third": "55.8, 113.2, 260.8",
        "overall": "2",
        "stations": _STATIONS[0],
        "seldom": _SELDOM[0],
        "level": "13",
        "arrivals": "8",
        "twice": "2",
    },
    meaning={
        "basel": "bound on the sum of 1/s^2",
        "cap": "bound on the constant that does not depend on S",
        "in_first": "constants of A_1",
        "in_third": "constants of A_3",
        "overall": "constant for networks that need not be stable",
        "stations": "networks whose total forgets all but itself",
        "seldom": "what numbers of jobs met seldom cost with one station",
        "level": "factor in L where the arrival rate is unknown",
        "arrivals": "constant under the root of the arrival rate's width",
        "twice": "log T that is enough, over the time scale of mixing",
    },
    rests_on=[
        "admission.regret_theorem",
        "admission.increment_bounds",
        "admission.dominance",
        "admission.kl_radius",
        "admission.perturbation_identity",
    ],
    parts={
        "stable": "the stable case",
        "numbers": "one queue",
        "general": "all networks",
        "station": "one station",
        "arrivals": "unknown arrival rate",
        "oblivious": "unknown mixing time",
    },
    uncovered=(
        "that 1/log(1/rho) grows like S at most, with which the rate becomes sqrt(S T): it is false at "
        "criticality (admission.rho_vs_s). U is at least the sum of all rates, and tau is in steps of "
        "1/U: a hidden dependence on the number of queues. Before any arrival the model with rate 0 is "
        "meant as the limit of those with positive rates"
    ),
)


@regret_corollaries.check(method="smt", scope="general", part="stable", false={"basel": _BASEL[1]})
def weights_of_the_stable_case(basel: str) -> Finding:
    """Bound f Delta^2 p by increments, the law of thresholds by that of accept-all, 1/s^2 by pi^2/6.

    A law is at most C_1 q^s as the sum of weights is at least 1, by z3 for each factor: below i_0 the
    factors of C_1 that are left are 1 at least, from i_0 on a factor is q at most. Sums by SymPy.
    3/2 is refuted by ten terms of the sum of 1/s^2 (a smaller constant fails as an inference only).
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    if one_of("basel", basel, *_BASEL) == _BASEL[1]:
        part = sum(Fraction(1, s * s) for s in range(1, 11))
        if part > Fraction(3, 2):
            return refuted(f"the first ten 1/s^2 sum to {decimal(part, 6)}")
        return undecided("3/2")
    s = sympy.symbols("s", integer=True, positive=True)
    d, a, mu, least, moved = z3.Reals("Delta C_2*w mu(s) mu(1) mu*Delta")
    law, weight, total, bound = z3.Reals("nu w(s) sum C1*q^s")
    rate, speed, top, q = z3.Reals("lambda mu(i) mu(i0) q")
    low, high, w_low, w_high = z3.Reals("s s' (s+shift) (s'+shift)")
    left, more, part, power, whole = z3.Reals("left left*factor met q^s C1")
    increment = [mu >= least, least > 0, moved >= 0, moved <= least * a, a >= 0, d * mu == moved]
    return combine(
        [
            as_stated(increment_bounds, shift=r"\tfrac q{1-q}", queue="nondecreasing"),
            as_stated(dominance, factor="1"),
            identity(sympy.summation(1 / s**2, (s, 1, sympy.oo)), sympy.pi**2 / 6, "sum of 1/s^2"),
            # Delta^2 p is Delta (mu Delta)/U; mu Delta is at most mu(1) C_2 w, and mu at least mu(1).
            implies(increment, d * moved <= least * (a * a), "Delta mu Delta <= mu(1) (C_2 w)^2"),
            implies(
                [weight >= 0, total >= 1, law * total == weight, weight <= bound],
                law <= bound,
                "law of accept-all",
            ),
            implies(
                [speed > 0, top >= speed, left >= 1, more * speed == left * top],
                more >= 1,
                "the factors mu(i_0)/mu(i) that are left, one more",
            ),
            implies(
                [part > 0, left >= 1, power > 0, whole == part * left, weight == power * part],
                weight <= power * whole,
                "below i_0",
            ),
            implies(
                [
                    *(rate > 0, speed >= top, top > rate, q * top == rate),
                    *(bound >= 0, weight >= 0, weight <= bound),
                ],
                weight * rate <= (bound * q) * speed,
                "one factor more, from i_0 on",
            ),
            implies(
                [low >= 1, high >= low, w_low >= low, w_high >= w_low],
                z3.And(low * low <= high * high, w_low * w_low <= w_high * w_high),
                "f a^2 is nondecreasing",
            ),
        ],
        "sqrt(F V_f) for f = s^2, uniformly in S",
    )


@regret_corollaries.check(
    method="certified",
    scope="general",
    part="numbers",
    false=[
        {"cap": "1750.1"},
        {"in_first": "82.0, 113.6, 128.5"},
        {"in_third": "55.8, 113.3, 260.8"},
    ],
)
def constants_of_one_queue(cap: str, in_first: str, in_third: str) -> Finding:
    """Sums of q^s s^k in closed form (SymPy), then roots of rationals (Arb); F V_f is exact for its f.

    The part is about one queue, so it is decided whole.
    """
    import sympy
    from flint import arb

    from checks.methods.certified import ball, ends, precision, rounds_to
    from simlib.admission.model import c1_c2, model_of
    from simlib.admission.network import tandem

    x = sympy.symbols("x", positive=True)
    found = []
    with precision(128):
        root2 = ball(2).sqrt()

        def printed(name: str, value: arb, text: str) -> Finding:
            return rounds_to(value, text, name, f"{name} = {value.str(8, radius=False)}")

        limits = (5, 10, 20)
        told = [f"S = {limit}" for limit in limits]
        columns = (
            one_for_each("in_first", in_first, *told),
            one_for_each("in_third", in_third, *told),
        )
        for limit, first, third in zip(limits, *columns, strict=True):
            model = model_of(tandem(Fraction(1, 2), (1,)), limit, rejection_cost=10, holding_cost=1)
            known = constants_of(model)
            leading = 4 * (1 + root2) * ball(known.model).sqrt()
            arms = (2 + root2) * ball(known.max_reward) * ball(limit + 1).sqrt()
            found += [
                printed(f"S = {limit}, in A_1", leading, first),
                printed(f"S = {limit}, in A_3", arms, third),
            ]
        _, q, c1, c2 = c1_c2(model)
        series, sums = 1 / (1 - x), []
        for _ in range(4):  # x d/dx raises the power of s by 1
            series = sympy.together(x * sympy.diff(series, x))
            sums.append(Fraction(str(series.subs(x, sympy.Rational(q.numerator, q.denominator)))))
        shift = q / (1 - q)
        total = sums[3] + 2 * shift * sums[2] + shift**2 * sums[1]
        share = model.rates[0] / model.uniformization
        k0 = 4 * (1 + root2) * arb.pi() * ball(c2**2 * share * c1 * total / 6).sqrt()
        found.append(printed("k_0", k0, cap))
        if not all(ends(k0)[0] > Fraction(text) for text in columns[0]):
            return undecided("k_0 against the constants that it bounds")
    return combine(found, f"{len(found)} constants")


@regret_corollaries.check(method="smt", scope="general", part="general", false={"overall": "1.9"})
def constant_of_all_networks(overall: str) -> Finding:
    """Delta is at most (S+1) U r_max/(2 mu(s)), so Delta^2 p at most (S+1)^2 U r_max^2/(4 mu(1)).

    F = S for f = 1. A smaller constant is refuted as an inference, by numbers that attain both.
    """
    import z3

    from checks.methods.smt import implies, real

    d, mu, least, clock, reward, states, moved, largest = z3.Reals(
        "Delta mu(s) mu(1) U r_max S+1 mu*Delta Delta^2*mu"
    )
    half, root, whole = z3.Reals("half sqrt(Delta^2*mu) bound")
    return combine(
        [
            as_stated(increment_bounds, half=r"\tfrac{S+1}2"),
            implies(
                [
                    *(least > 0, mu >= least, moved >= 0, half >= 0, moved <= half),
                    *(mu * d == moved, d >= 0, largest == d * moved),
                ],
                largest * least <= half * half,
                "Delta^2 mu <= (mu Delta)^2/mu(1)",
            ),
            # Roots: 4 sqrt(S) half sqrt(1/(mu(1) U)), half = (S+1) U r_max/2.
            implies(
                [
                    *(states >= 2, clock > 0, reward > 0, 2 * half == states * clock * reward),
                    *(root >= 0, root <= half, whole == real(overall) * states * clock * reward),
                ],
                4 * root <= whole,
                "constant",
            ),
        ],
        f"4 half = {overall} (S + 1) U r_max",
    )


@regret_corollaries.check(
    method="symbolic",
    scope="general",
    part="station",
    false=[{"stations": _STATIONS[1]}, {"seldom": _SELDOM[1]}],
)
def one_station_forgets(stations: str, seldom: str) -> Finding:
    """One station: the exit rate is mu(s) in the only state with s jobs (SymPy); then as before (z3).

    A class is then all steps, with no error from (M), and the sum over n has T terms. That visits come
    seldom still rests on (M). More stations are refuted by the three tiers.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity
    from simlib.admission.chain import states
    from simlib.admission.product_form import flow_equivalent_rates

    if one_of("stations", stations, *_STATIONS) == _STATIONS[1]:
        network = three_tiers()
        (rate,) = flow_equivalent_rates(network, 1)
        exits = {
            x: sum(network.station_rate(i, jobs) * network.exit[i] for i, jobs in enumerate(x))
            for x in states(3, 1)
            if sum(x) == 1
        }
        at, found = max(exits.items(), key=lambda pair: pair[1])
        if found != rate:
            return refuted(f"three tiers: in state {at} jobs leave at rate {found}, mu(1) = {rate}")
        return undecided("exit rates of the three tiers")
    back, speed, before = sympy.symbols("L_11 mu_1(s) G(s-1)", positive=True)
    visit = 1 / (1 - back)
    m, n, level, tau, horizon, kappa = z3.Reals("M N L tau T kappa")
    often = 8 * tau * level if one_of("seldom", seldom, *_SELDOM) == _SELDOM[0] else 8 * level
    fewer, states_ = z3.Reals("samples S")
    return combine(
        [
            identity(
                before / (before * visit / speed),
                speed * (1 - back),
                "G(s-1)/G(s) is the rate at which jobs leave for good",
            ),
            as_stated(kl_radius, first="8", second="8/3", pinsker="2", kappa="1-e^{-1}"),
            as_stated(regret_theorem, few="16", visits="8", logs="16/3"),
            implies(
                [
                    *(kappa >= z3.Q(632, 1000), kappa <= 1, level >= 5, tau >= 1, horizon >= 4),
                    *(m >= often, n * horizon >= kappa * (m * horizon - 1) - tau * level * horizon),
                ],
                2 * n >= m,
                "half of the expected visits",
            ),
            implies(
                [states_ >= 1, horizon >= 4, fewer >= 0],
                2 * states_ * horizon + states_ * horizon + 2 * (states_ + 1) * horizon
                <= 9 * (states_ + 1) * horizon,
                "probabilities, without the factor e",
            ),
        ],
        "radius L/N; numbers of jobs met seldom cost what they did",
    )


@regret_corollaries.check(
    method="smt",
    scope="general",
    part="arrivals",
    false=[{"level": "10"}, {"arrivals": "7"}],
)
def lower_limit_of_the_arrival_rate(level: str, arrivals: str) -> Finding:
    """The lower side of a kl interval (z3), its probability, and both lower limits with it.

    With a = lambda/U, share h and limit l: from kl(h, .) <= eta, (a - h)^2 <= 2 a eta and (h - l)^2 <=
    2 h eta if h <= a; else kl(a, l) <= kl(h, l), so (a - l)^2 <= 2 a eta. The direct limit is linear in
    lambda, so that it is valid where it is at 0 and at the true rate: 4(S+1)T e^-L, and 2 T e^-L for the
    arrivals. It falls by R (a - l) U at most, and R is the mean in D at threshold 0.
    """
    import sympy
    import z3

    from checks.methods.certified import ball
    from checks.methods.smt import implies, real
    from checks.methods.symbolic import identity

    e, factor = Fraction("2.71829"), Fraction(level)
    if not ball(1).exp() < ball(e):
        return undecided("e < 2.71829")
    states, horizon, tau = z3.Reals("S T tau")
    total = 2 * real(e) * states * horizon + states * tau + 4 * (states + 1) * horizon + 2 * horizon
    union = implies(
        [states >= 1, tau >= 1, horizon >= tau],
        total <= real(level) * (states + 1) * horizon,
        "sum of the probabilities",
    )
    if union.outcome != PROVED and factor < 2 * Fraction("2.71828") + 5:
        for s in range(1, 10**4, 7):
            if (2 * Fraction("2.71828") + 5) * s + 6 > factor * (s + 1):
                return refuted(f"S = {s}, tau = T: the probabilities sum to more than 1/T")
    a, h, w, x, f, r, d, wide = z3.Reals("a h sqrt(eta) sqrt(a) f sqrt(2) d a-l")
    lost, price, most = z3.Reals("R*blocked R D")
    share, limit = sympy.symbols("h l", positive=True)
    kl = share * sympy.log(share / limit) + (1 - share) * sympy.log((1 - share) / (1 - limit))
    slope = sympy.diff(kl, share)
    roots = [x >= 0, x * x == a, w >= 0, r > 0, r * r == 2, f >= 0, f * f == real(arrivals)]
    below = r * x * w  # sqrt(2 a eta)
    g, z, cost, cost0, mean, mean0, span, span0 = z3.Reals(
        "weight radius c(lambda) c(0) seen(lambda) seen(0) span(lambda) span(0)"
    )
    steps = [
        as_stated(kl_radius, second="8/3", hoeffding="2"),
        as_stated(regret_theorem, sequence=r"1+\sqrt2"),
        as_stated(perturbation_identity, which="second", order=r"\tilde{\bar c}\le\bar c"),
        union,
        implies([*roots, d >= 0, d * d <= 2 * a * (w * w)], d <= below, "a - h, or a - l"),
        implies(
            [*roots, h >= 0, h <= a, d >= 0, 3 * d * d <= 2 * (w * w) * (3 * h)],
            d <= below,
            "h - l there",
        ),
        # Convex in the share with its minimum at l, kl grows from there on.
        identity(slope.subs(share, limit), 0, "slope of kl at h = l"),
        identity(sympy.diff(slope, share), 1 / (share * (1 - share)), "kl is convex in the share"),
        implies([*roots, z3.Or(wide <= 2 * below, wide <= below)], wide <= f * x * w, "width"),
        implies(
            [g >= 0, g <= 1, z >= 0, mean0 - span0 * z <= cost0, mean - span * z <= cost],
            (1 - g) * (mean0 - span0 * z) + g * (mean - span * z) <= (1 - g) * cost0 + g * cost,
            "the direct limit at a rate in between",
        ),
        implies(
            [d >= 0, lost >= 0, lost <= price, price <= most],
            d * lost <= d * most,
            "what the direct limit loses by the lower rate",
        ),
    ]
    return combine(steps, "the arrival rate costs its width times the mean increment")


@regret_corollaries.check(method="smt", scope="general", part="oblivious", false={"twice": "1"})
def square_of_the_logarithm(twice: str) -> Finding:
    """With x = log T and r = log(1/rho): x^2 >= 1 + (2 x + c)/r follows from x >= 2/r + sqrt(1 + c/r).

    Then C rho^(tau - 1) <= T^-2. With 1/r instead, numbers refute it.
    """
    import z3

    from checks.methods.smt import implies, real

    x, scale, c, root, modules, half = z3.Reals("log(T) 1/r log(C)/r root tau 2/r")
    given = [scale > 0, c >= 0, root >= 0, root * root == 1 + c, half == 2 * scale]
    return combine(
        [
            implies(
                [*given, x >= real(twice) * scale + root, modules >= x * x],
                modules - 1 >= half * x + c,
                "(tau - 1) r >= 2 log T + log C",
            ),
        ],
        "log^2 T is enough from there on",
    )
