"""The competitive ratio of no-regret learning: OPT from above, the constant, and its tightness."""

from fractions import Fraction
from functools import cache

from checks.claim import Claim, Printed, Source
from checks.finding import (
    Finding,
    combine,
    decide,
    decimal,
    enclosure,
    exact,
    one_of,
    proved,
    refuted,
    truncated,
    undecided,
)

SOURCE = "geometric_recharge"

competitive_ratio = Claim(
    "recharge.competitive_ratio",
    title="Every no-regret learner is <<constant>>-competitive",
    source=Source(SOURCE, "Theorem 3.8", provenance="reconstructed"),
    statement=r"""
For every number of arms $m$, all rates $\mu\in(0,1)^m$ and every learner with no regret in
expectation,
$$\liminf_{T\to\infty}\frac{\mathbb E[U_T]}{T}\ \ge\ c^*\,\mathrm{OPT},$$
$$c^*=\min_{r>0}\frac{r}{(1+r)(1-e^{-r})}=1-\frac{r_*}{(1+r_*)^2}\ \ge\ <<constant>>,$$
where $r_*$ is the only positive root of $e^{r}=1+r+r^2$. The price of learning $1/c^*$ is
at most $<<price>>$.
""",
    claimed={
        "constant": "0.7701634",
        "price": "1.298426",
        "formula": "1 - r/(1+r)**2",
    },
    meaning={"formula": "c* as a function of the root r"},
    rests_on=["recharge.hamacher_lower_bound", "recharge.opt_upper_bound"],
    as_printed=Printed(
        {"price": "1.29"},
        says="the price of learning is at most 1.29 (section 3.2; in section 1.1 about 1.29)",
        correct="the price of learning is 1.29842..., so at most 1.30",
    ),
    parts={"bound": "the minimum over all total odds", "formula": "the minimum at its root"},
    uncovered="dividing the bound on the learner by the bound on OPT (one line, in the chapter)",
)


def _ratio(r):
    """Hamacher sum over the bound on OPT, as a function of the total odds (a ball)."""
    return r / ((1 + r) * (1 - (-r).exp()))


def _root():
    """Enclose the positive root of exp(r) = 1 + r + r^2 by interval Newton steps."""
    from flint import arb

    from checks.methods.certified import ends, interval

    def f(r):
        return r.exp() - 1 - r - r * r

    def slope(r):
        return r.exp() - 1 - 2 * r

    low, high = Fraction(17, 10), Fraction(19, 10)
    box = interval(low, high)
    if not (slope(box) > 0 and f(arb(box.lower())) < 0 < f(arb(box.upper()))):
        raise ArithmeticError("f must increase on the box and change its sign")
    for _ in range(9):
        middle = arb(box.mid())
        box = box.intersection(middle - f(middle) / slope(box))
    low, high = ends(box)
    return interval(low, high)


@competitive_ratio.check(
    method="certified",
    scope="general",
    part="bound",
    false=[{"constant": "0.7701635"}, {"price": "1.298425"}],
)
def minimum_over_total_odds(constant: str, price: str) -> Finding:
    """Bracket the minimum over all r > 0 of r / ((1+r)(1-e^-r)) with Arb balls, to 2e-12.

    From below: boxes on [1/8, 8] on which r - c(1+r)(1-e^-r) is positive for c a little below the value
    at the root; for smaller r, 1-e^-r <= r gives a ratio of at least 8/9; for larger r it is at least
    r/(1+r) >= 8/9. From above: the ratio at the middle of the enclosure of the root.
    """
    from checks.methods.certified import ball, ends, positive_on, precision, quantity

    with precision(160):
        root = _root()
        least, attained = 1 - root / (1 + root) ** 2, _ratio(ball(ends(root)[0]))
        below, above = ends(least)[0] - Fraction(1, 10**12), ends(attained)[1]
        c = ball(below)
        boxes, _ = positive_on(
            lambda r: r - c * (1 + r) * (1 - (-r).exp()),
            Fraction(1, 8),
            Fraction(8),
            derivative=lambda r: 1 - c * (1 + r * (-r).exp()),
        )
        if boxes.outcome != "proved" or not below < above < below + Fraction(2, 10**12):
            return undecided(f"no bracket of the minimum: {boxes.witness}")
        values = {"c*": quantity(least), "1/c*": quantity(1 / least), "r*": quantity(root)}
    at_root = f"at r = {float(root.mid()):.8f} the ratio is"
    if Fraction(constant) > above:
        return refuted(f"{at_root} {truncated(above, 9)}... < {constant}", **values)
    if Fraction(price) < 1 / above:
        return refuted(f"{at_root} 1/{truncated(1 / above, 9)}..., so the price exceeds {price}")
    if Fraction(constant) > below or Fraction(price) < 1 / below:
        return undecided("closer to the minimum than its bracket")
    margin = f"{float(below - Fraction(constant)):.1e} above the claim"
    text = f"{boxes.witness}, and the ratio exceeds 8/9 outside; the bracket of c* is 2e-12 wide"
    return proved(text, margin=margin, **values)


@competitive_ratio.check(
    method="symbolic",
    scope="general",
    part="formula",
    false={"formula": "1 - (1 - 10**-8)*r/(1+r)**2"},
)
def stationary_point(formula: str) -> Finding:
    """The ratio falls before, and rises after, the only positive root of e^r = 1+r+r^2; its value.

    The slope of its logarithm has the sign of f = e^r - 1 - r - r^2. At 0, f and its slope vanish, its
    second derivative is -1, and the third derivative e^r is positive: f is negative, then positive.
    """
    import sympy

    from checks.methods.symbolic import identity

    r, e = sympy.symbols("r e^r", positive=True)
    f = sympy.exp(r) - 1 - r - r**2
    ratio = r / ((1 + r) * (1 - sympy.exp(-r)))
    slope = sympy.diff(sympy.log(ratio), r)
    sign = f / (r * (1 + r) * (sympy.exp(r) - 1))
    at_zero = [sympy.diff(f, r, k).subs(r, 0) for k in range(3)]
    root = r / ((1 + r) * (1 - 1 / e))
    stated = sympy.sympify(formula, locals={"r": r})
    return combine(
        [
            identity(slope.rewrite(sympy.exp), sign, "slope of the logarithm"),
            decide(at_zero == [0, 0, -1], "", f"f, f', f'' at 0 are {at_zero}"),
            identity(sympy.diff(f, r, 3), sympy.exp(r), "third derivative"),
            identity(root.subs(e, 1 + r + r**2), stated, "value at the root", at=[{r: 1}]),
        ],
        "one positive root r*, the minimum is there, and it is 1 - r*/(1+r*)^2",
    )


@competitive_ratio.check(
    method="exact", scope="instances", part="bound", false={"price": "1.290157"}
)
def price_of_fifty_servers(price: str) -> Finding:
    """The price paid by fifty identical servers with total odds 9/5, as a rational.

    The learner is the normalized odds router (utility the Hamacher sum), the optimum is round
    robin; the claimed price must not be below what this instance pays.
    """
    odds, arms = Fraction(9, 5), 50
    hamacher = odds / (1 + odds)
    optimum = 1 - (1 + odds / arms) ** -arms
    paid = optimum / hamacher
    value = exact(paid, 9)
    if Fraction(price) < paid:
        return refuted(f"{arms} servers of rate 9/259 pay {float(paid):.6f}", price=value)
    return proved(f"{arms} servers of rate 9/259 pay {float(paid):.6f}", price=value)


# ----------------------------------------------------------------------------------------------

opt_upper_bound = Claim(
    "recharge.opt_upper_bound",
    title="No blind schedule earns more than one minus the product of the failure rates",
    kind="lemma",
    source=Source(SOURCE, "Lemma 3.6"),
    statement=r"""
For all rates $\mu\in(0,1)^m$, $q_j=1-\mu_j$, and **every** schedule and horizon $T$,
$$U_T\le T\Bigl(1-\prod_jq_j\Bigr)+m,$$
and $1-\prod_jq_j\le1-e^{-\rho}$. Hence $\mathrm{OPT}\le1-\prod_jq_j\le1-e^{-\rho}$.
""",
    claimed={"discount": "0", "tangent": "1", "exponent": "1"},
    meaning={
        "discount": "what might be taken off the bound per step",
        "tangent": "slope of the line below the exponential in the proof",
        "exponent": "what multiplies -rho in the second bound",
    },
    rests_on=["recharge.age_state"],
    parts={"product": "the bound by the product", "exponential": "the product is at least e^-rho"},
    uncovered="that the gaps of an arm add up to at most T",
)


def _exponential_above_line(slope: Fraction = Fraction(1)) -> Finding:
    """Decide e^x >= 1 + slope x for all real x; strict but at 0 for slope 1.

    The difference is convex and 0 at 0, so it is the slope there that decides: for 1, 0 is the minimum;
    otherwise a point a little to one side is below.
    """
    import sympy

    from checks.methods.certified import ball, precision

    x = sympy.symbols("x", real=True)
    g = sympy.exp(x) - 1 - sympy.Rational(slope.numerator, slope.denominator) * x
    convex = bool(g.subs(x, 0) == 0) and bool(sympy.diff(g, x, 2).is_positive)
    if convex and sympy.diff(g, x).subs(x, 0) == 0:
        return proved("e^x - 1 - x is convex, and 0 with slope 0 at 0: positive elsewhere")
    at = (slope - 1) / 2
    with precision(100):
        if ball(at).exp() < 1 + ball(slope) * ball(at):
            return refuted(f"e^x < 1 + {slope} x at x = {at}")
    return undecided(f"e^x against 1 + {slope} x")


def _round_robin_against(discount: str) -> Finding:
    """Two servers of rate 1/2 in turn, valued in rationals, against the bound less a discount."""
    from simlib.recharge.formulas import optimum_upper_bound
    from simlib.recharge.optimum import cycle_value

    pair = (Fraction(1, 2), Fraction(1, 2))
    value, bound = cycle_value(pair, (0, 1)), optimum_upper_bound(pair) - Fraction(discount)
    text = f"two servers of rate 1/2 in turn earn {value} a step, bound {bound}"
    return decide(value <= bound, text, text)


@opt_upper_bound.check(
    method="symbolic",
    scope="general",
    part="product",
    false=[{"discount": "0.01"}, {"tangent": "1.01"}],
)
def dual_certificate(discount: str, tangent: str) -> Finding:
    """A pull at gap d pays at most 1-y-yL + y d ln(1/q_j), y the product and L = ln(1/y); then add.

    The step is e^x >= 1+x at x = L - d ln(1/q_j). The gaps of an arm add up to at most T, the logs to L,
    1-y-yL is at least 0, and each first pull costs at most 1: what is left is T(1-y) + m. Judged are the
    slope of that tangent, and what might still be taken off the bound: nothing.
    """
    import sympy

    from checks.methods.symbolic import identity

    load, spread, horizon, m = sympy.symbols("L a T m", positive=True)  # a = d ln(1/q_j)
    y = sympy.exp(-load)
    x = load - spread
    above = y * (sympy.exp(x) - 1 - x)  # >= 0 by the tangent
    pull = (1 - y - y * load + y * spread) - (1 - sympy.exp(-spread))
    total = horizon * (1 - y - y * load) + y * horizon * load + m
    return combine(
        [
            _exponential_above_line(Fraction(tangent)),
            _round_robin_against(discount),
            identity(pull, above, "slack of one pull"),
            identity(total, horizon * (1 - y) + m, "sum over the pulls"),
            # 1 - y - yL = y (e^L - 1 - L) >= 0, so counting all T steps as repeated pulls is safe
            identity(1 - y - y * load, y * (sympy.exp(load) - 1 - load), "price of a pull"),
        ],
        "each pull pays at most its tangent; the sum over pulls is T(1-y) + m, for any schedule",
    )


@opt_upper_bound.check(
    method="symbolic", scope="general", part="exponential", false={"exponent": "0.99"}
)
def logarithm_of_the_odds(exponent: str) -> Finding:
    """1/q_j = 1 + rho_j <= e^(rho_j), so the product of the q_j is at least e^-rho.

    Judged is the factor k of the exponent -k rho: 1 + rho_j <= e^(k rho_j) is e^x >= 1 + x/k.
    """
    import sympy

    from checks.methods.symbolic import identity

    mu = sympy.symbols("mu", positive=True)
    line = _exponential_above_line(1 / Fraction(exponent))
    steps = [identity(1 / (1 - mu), 1 + mu / (1 - mu), "1/q = 1 + odds"), line]
    return combine(steps, "1/q_j = 1 + rho_j <= e^(rho_j)")


@opt_upper_bound.check(method="exact", scope="instances", part="product", false={"discount": "0.3"})
def every_short_schedule(discount: str) -> Finding:
    """Every schedule of the arms 1/2, 1/10, 3/10 up to length 9, in rationals.

    The m first pulls hide a small discount on so short a horizon: the false one is 0.3.
    """
    from itertools import product

    from simlib.recharge.exact import evaluate_schedule
    from simlib.recharge.formulas import INSTANCES, optimum_upper_bound

    rates, count, largest = INSTANCES["I3"], 0, Fraction(0)
    bound = optimum_upper_bound(rates) - Fraction(discount)
    for steps in range(1, 10):
        for actions in product(range(3), repeat=steps):
            count += 1
            excess = evaluate_schedule(rates, actions).utility - steps * bound
            largest = max(largest, excess)
            if excess > 3:
                return refuted(f"schedule {actions} earns {float(excess):.4f} > 3 above T times it")
    margin = f"largest excess {float(largest):.4f} of 3"
    return proved(f"{count} schedules", margin=margin, largest_excess=exact(largest))


# ----------------------------------------------------------------------------------------------

opt_certificate = Claim(
    "recharge.opt_certificate",
    title="A Bellman inequality on capped ages proves what no schedule can exceed",
    source=Source(SOURCE, "Section 3.2", provenance="ours"),
    statement=r"""
Cap the age of arm $j$ at $D_j$, let $\bar r_j(d)=1-q_j^d$ below the cap and $<<cap_reward>>$ at it. If a
function $\varphi$ on capped states satisfies $\bar r_a(s_a)+\varphi(s')-\varphi(s)\le g$ for every
capped state $s$ reachable from "all capped" and every arm $a$ (leading to $s'$), then every policy
and every $T$ have $\mathbb E\,U_T\le gT+\max\varphi-\min\varphi$. If a cycle with all gaps below the
caps has mean $g$, then $\mathrm{OPT}=g$. For the rates $1/2,1/10,3/10$ with caps $(4,20,6)$ this holds
with $g=<<gain>>$ and span $<<span>>$, along the <<schedule>> schedule; of the policies that differ from
the certificate's in one state, $<<rejected>>$ are rejected.
""",
    claimed={
        "gain": "67252215599/100000000000",
        "span": "134098695697/100000000000",
        "cap_reward": "1",
        "schedule": "optimal",
        "rejected": "316",
    },
    rests_on=["recharge.age_state"],
    parts={"theorem": "the inequality bounds every policy", "instance": "the certificate of I3"},
)


@opt_certificate.check(method="smt", scope="general", part="theorem", false={"cap_reward": "1-q^D"})
def capping_and_telescoping(cap_reward: str) -> Finding:
    """Capping commutes with ageing, overestimates the reward, and the inequality telescopes, by z3.

    With the reward 1-q^D at the cap an older arm would pay more than it is credited with, and the
    inequality would bound nothing.
    """
    import z3

    from checks.methods.smt import implies

    age, cap = z3.Ints("d D")

    def capped(d):
        return z3.If(d < cap, d, cap)

    # p = q^d at the true age, p_cap = q^D; powers fall with the age
    power, at_cap, reward, bar = z3.Reals("p p_cap reward bar")
    credited = 1 if one_of("cap_reward", cap_reward, "1", "1-q^D") == "1" else 1 - at_cap
    phi, after, g, bound, total = z3.Reals("phi phi_after g bound U")
    return combine(
        [
            implies([age >= 1, cap >= 1], capped(age + 1) == capped(capped(age) + 1), "capping"),
            implies(
                [power >= 0, power <= at_cap, at_cap < 1, reward == 1 - power, bar == credited],
                reward <= bar,
                "the reward at or beyond the cap is not underestimated",
            ),
            implies(
                [total <= bound - phi, reward <= bar, bar + after - phi <= g],
                total + reward <= bound + g - after,
                "one step of the sum",
            ),
        ],
        "capping commutes with ageing; the reward is overestimated; U + phi grows by at most g a step",
    )


@opt_certificate.check(
    method="exact",
    scope="general",
    part="instance",
    false=[
        {"gain": "67252215600/100000000000"},
        {"span": "134098695698/100000000000"},
        {"gain": "534943279/800000000", "schedule": "greedy"},
    ],
)
def certificate_of_three_servers(gain: str, span: str, schedule: str) -> Finding:
    """The stored certificate of I3, in rationals: cycle, states, relative values, inequality, span.

    Greedy's schedule attains the false gain with gaps below its caps, and everything but the Bellman
    inequality: only that can reject it, and it must be what rejects it.
    """
    from dataclasses import replace

    from simlib.recharge.formulas import INSTANCES
    from simlib.recharge.optimum import certificates, check_certificate

    rates = INSTANCES["I3"]
    if one_of("schedule", schedule, "optimal", "greedy") == "greedy":
        result = check_certificate(_certificate_of_greedy(rates, Fraction(gain)))
        text = f"greedy: {result.failed_step}: {result.detail}"
        return refuted(text) if result.failed_step == "Bellman inequality" else undecided(text)
    certificate = replace(certificates()["I3"], gain=Fraction(gain), span=Fraction(span))
    if (certificate.rates, certificate.caps) != (rates, (4, 20, 6)):
        return undecided("the stored certificate is one for other rates or caps")
    result = check_certificate(certificate)
    text = f"{result.failed_step}: {result.detail}" if result.failed_step else ""
    found = f"{result.states} states, the inequality holds at each state and arm"
    return decide(result.valid, found, text, gain=exact(gain), span=exact(span))


def _certificate_of_greedy(rates, gain: Fraction):
    """What greedy would have to show: its cycle, caps above its gaps, its choice at each state."""
    from simlib.recharge.optimum import Certificate

    actions, start = _greedy(rates, 3000)
    cycle = tuple(actions[start:])
    gaps = [
        next(k for k in range(1, len(cycle) + 1) if cycle[t - k] == arm)
        for t, arm in enumerate(cycle)
    ]
    caps = tuple(
        1 + max(gap for gap, other in zip(gaps, cycle, strict=True) if other == arm)
        for arm in range(len(rates))
    )
    states, choices = [caps], []
    for (
        ages
    ) in states:  # breadth-first from "all capped", arms in order, as a certificate counts them
        pays = [
            Fraction(1) if age == cap else 1 - (1 - rate) ** age
            for rate, age, cap in zip(rates, ages, caps, strict=True)
        ]
        choices.append(pays.index(max(pays)))
        for arm in range(len(rates)):
            after = tuple(
                1 if other == arm else min(age + 1, cap)
                for other, (age, cap) in enumerate(zip(ages, caps, strict=True))
            )
            if after not in states:
                states.append(after)
    return Certificate(rates, caps, gain, cycle, "".join(map(str, choices)), Fraction(0))


@opt_certificate.check(method="exact", scope="general", part="instance", false={"rejected": "317"})
def corrupted_certificates(rejected: str) -> Finding:
    """Change each digit of I3's policy to each other arm and count what the verification rejects.

    What is accepted proves the same gain with the same span, so it is another optimal policy. The
    Bellman inequality itself must reject many of them.
    """
    from collections import Counter
    from dataclasses import replace

    from simlib.recharge.optimum import certificates, check_certificate

    original = certificates()["I3"]
    steps = Counter()
    for place, digit in enumerate(original.policy):
        for other in set("012") - {digit}:
            policy = original.policy[:place] + other + original.policy[place + 1 :]
            steps[check_certificate(replace(original, policy=policy)).failed_step] += 1
    wrong_rate = replace(original, rates=(Fraction(1, 2), Fraction(1, 10), Fraction(31, 100)))
    if check_certificate(wrong_rate):
        return refuted("the certificate is accepted for the rate 31/100 instead of 3/10")
    accepted = steps.pop(None, 0)
    count, bellman = sum(steps.values()), steps["Bellman inequality"]
    text = f"{count} rejected, {bellman} of them by the inequality; {accepted} are optimal too"
    if not bellman:
        return undecided(f"no policy fails the Bellman inequality: {text}")
    return decide(count == int(rejected), text, text, rejected=exact(count))


# ----------------------------------------------------------------------------------------------

OPTIMA = {  # name of the instance -> number of the claim
    "I3": "three",
    "half, quarter": "half_quarter",
    "half, tenth": "half_tenth",
    "half, third, quarter": "half_third_quarter",
    "fifth, tenth, twentieth": "fifth_tenth_twentieth",
    "four arms": "four",
    "three of 3/10": "three_of_3_10",
    "three of 1/2": "three_of_1_2",
    "two of 1/2": "two_of_1_2",
}

opt_exact_small = Claim(
    "recharge.opt_exact_small",
    title="The optimum of eleven small instances, exactly",
    kind="proposition",
    source=Source(SOURCE, "Section 3.2", provenance="ours"),
    statement=r"""
$\mathrm{OPT}$ is $<<three>>$ for rates $1/2,1/10,3/10$; $<<half_quarter>>$ for $1/2,1/4$;
$<<half_tenth>>$ for $1/2,1/10$; $<<half_third_quarter>>$ for $1/2,1/3,1/4$;
$<<fifth_tenth_twentieth>>$ for $1/5,1/10,1/20$; $<<four>>$ for $2/5,3/10,1/5,1/10$;
$<<three_of_3_10>>$ and $<<three_of_1_2>>$ for three arms of rate $3/10$ and $1/2$;
$<<two_of_1_2>>$ for two of rate $1/2$; and, both rational and cut off, $<<fast_slow>>...$ for
$9/10,1/20$ and $<<fast_half_tenth>>...$ for $9/10,1/2,1/10$. For the seven rates
$0.5, 0.33, 0.33, 0.33, 0.25, 0.25, 0.1$ it lies
between $<<seven_low>>$ and $<<seven_high>>$.
""",
    claimed={
        "three": "67252215599/100000000000",
        "half_quarter": "39/64",
        "half_tenth": "1620859837/3000000000",
        "half_third_quarter": "61919/82944",
        "fifth_tenth_twentieth": "2811600261/8960000000",
        "four": "69014775599/100000000000",
        "three_of_3_10": "657/1000",
        "three_of_1_2": "7/8",
        "two_of_1_2": "3/4",
        "fast_slow": "0.9023988366",
        "fast_half_tenth": "0.9367916155",
        "seven_low": "0.921515",
        "seven_high": "0.923870",
    },
    rests_on=["recharge.opt_certificate", "recharge.opt_upper_bound"],
)


TRUNCATED = {"fast, slow": "fast_slow", "fast, half, tenth": "fast_half_tenth"}  # long rationals


@cache
def _verified(name: str):
    """A stored certificate and what its verification in rationals says (independent of the claim)."""
    from simlib.recharge.optimum import certificates, check_certificate

    certificate = certificates()[name]
    return certificate, check_certificate(certificate)


@opt_exact_small.check(
    method="exact",
    scope="general",
    false=[
        {"three": "67252215600/100000000000"},
        {"four": "69014775600/100000000000"},
        {"half_quarter": "5/8"},
        {"half_tenth": "1620859838/3000000000"},
        {"half_third_quarter": "61920/82944"},
        {"fifth_tenth_twentieth": "2811600262/8960000000"},
        {"three_of_3_10": "658/1000"},
        {"three_of_1_2": "6/7"},
        {"two_of_1_2": "2/3"},
        {"fast_slow": "0.9023988367"},
        {"fast_half_tenth": "0.9367916156"},
        {"seven_low": "0.921516"},
        {"seven_high": "0.923869"},
    ],
    reads=tuple(opt_exact_small.claimed),
)
def certificates_and_cycles(**numbers: str) -> Finding:
    """Eleven certificates, verified in rationals at every capped state; a bracket for the twelfth.

    Lower end: exact mean of the stored cycle. Upper end: the Bellman inequality; for seven arms the
    product bound. Decimals are truncated, so the digits shown are those of the exact value.
    """
    from simlib.recharge.formulas import INSTANCES, optimum_upper_bound
    from simlib.recharge.optimum import I7_CYCLE, cycle_value

    found, values, states = [], {}, 0
    for name, key in (OPTIMA | TRUNCATED).items():
        (certificate, result), claimed = _verified(name), numbers[key]
        gain, states = certificate.gain, states + result.states
        values[f"OPT({name})"] = exact(gain)
        if not result.valid or certificate.rates != INSTANCES[name]:
            return refuted(f"the certificate of {name} fails: {result.detail}")
        digits = len(claimed) - 2
        same = (
            truncated(gain, digits) == claimed if name in TRUNCATED else gain == Fraction(claimed)
        )
        found.append(decide(same, "", f"{name}: OPT = {exact(gain)}, not {claimed}"))
    low, high = cycle_value(INSTANCES["I7"], I7_CYCLE), optimum_upper_bound(INSTANCES["I7"])
    values |= {"OPT(I7) at least": exact(low), "OPT(I7) at most": exact(high)}
    for truth, text in (
        (low >= Fraction(numbers["seven_low"]), f"the cycle of I7 earns {truncated(low, 8)}..."),
        (high <= Fraction(numbers["seven_high"]), f"the bound of I7 is {truncated(high, 8)}..."),
    ):
        found.append(decide(truth, "", text))
    whole = combine(found, f"11 certificates hold at each of {states} states; I7 is bracketed")
    return Finding(whole.outcome, whole.witness, whole.margin, values)


# ----------------------------------------------------------------------------------------------

identical_arms = Claim(
    "recharge.identical_arms",
    title="On identical arms round robin is optimal and greedy becomes a round robin",
    kind="proposition",
    source=Source(SOURCE, "after Lemma 3.6"),
    statement=r"""
For $m$ arms of <<rates>>, pulling them in turn earns $\frac1m\sum_j\bigl(1-(1-\mu_j)^m\bigr)$ a step,
and this is $1-\prod_j(1-\mu_j)=\mathrm{OPT}$. The greedy schedule, which pulls an arm of highest
expected reward (ties broken in any way), is a round robin once every arm has been pulled.
""",
    claimed={"rates": "one common rate"},
    rests_on=["recharge.opt_upper_bound"],
    uncovered="that greedy takes the arm of age m, because the reward grows with the age",
)

ANY_RATES = {"rates": "any rates"}


@identical_arms.check(method="symbolic", scope="general", false=ANY_RATES)
def every_gap_is_m(rates: str) -> Finding:
    """In turn, every gap is m, and 1-(1-mu)^m is the product bound; greedy pulls the oldest arm.

    The reward grows with the age, so greedy takes the oldest arm; with the ages 1..m it takes age m,
    the others grow by one, and the ages are 1..m again, in the rotated order: a round robin for ever.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    if one_of("rates", rates, "one common rate", "any rates") == "any rates":
        return _round_robin_of_three()
    mu = sympy.symbols("mu", positive=True)
    m, d, k = sympy.symbols("m d k", integer=True, positive=True)
    q = 1 - mu
    bound = 1 - sympy.Product(q, (k, 1, m)).doit()
    older = (1 - q ** (d + 1)) - (1 - q**d)
    age, arms = z3.Ints("k m")
    before = z3.And(
        age >= 2, age <= arms
    )  # an arm of age k-1 that was not pulled, or the pulled one
    rotated = implies(
        [arms >= 1],
        z3.And(age >= 1, age <= arms) == z3.Or(age == 1, before),
        "the ages 1..m are 1..m again",
    )
    return combine(
        [
            identity(1 - q**m, bound, "utility is the bound"),
            identity(older, mu * q**d, "one step of age adds mu q^d > 0"),
            rotated,
        ],
        "utility 1-(1-mu)^m equals the bound for any m; greedy keeps the ages 1..m rotating",
    )


def _round_robin_of_three() -> Finding:
    """On unequal arms round robin stays below the bound, and below the Hamacher sum."""
    from simlib.recharge.formulas import INSTANCES, hamacher_sum, optimum_upper_bound
    from simlib.recharge.optimum import cycle_value

    rates = INSTANCES["I3"]
    value, bound = cycle_value(rates, (0, 1, 2)), optimum_upper_bound(rates)
    text = f"rates 1/2, 1/10, 3/10 in turn earn {value} < {bound}, and less than h"
    return decide(value == bound or value >= hamacher_sum(rates), text, text)


@identical_arms.check(method="exact", scope="instances", false=ANY_RATES)
def certified_identical_arms(rates: str) -> Finding:
    """Certificates of two and three identical arms, and greedy from random ties, in rationals."""
    import random

    from simlib.recharge.optimum import certificates, check_certificate, cycle_value

    if one_of("rates", rates, "one common rate", "any rates") == "any rates":
        return _round_robin_of_three()
    found = []
    for name in ("three of 3/10", "three of 1/2", "two of 1/2"):
        certificate = certificates()[name]
        arms = len(certificate.rates)
        value = cycle_value(certificate.rates, tuple(range(arms)))
        same = value == certificate.gain and bool(check_certificate(certificate))
        found.append(decide(same, "", f"{name}: in turn {value}, OPT {certificate.gain}"))
    draw = random.Random(0)
    for _ in range(200):
        arms = draw.randint(2, 8)
        ages = [draw.randint(1, 30) for _ in range(arms)]
        order = []
        for _ in range(3 * arms):
            oldest = max(ages)
            arm = draw.choice([j for j, age in enumerate(ages) if age == oldest])
            ages = [1 if j == arm else age + 1 for j, age in enumerate(ages)]
            order.append(arm)
        turns = order[arms:]
        rotates = all(turns[t] == turns[t - arms] for t in range(arms, len(turns)))
        found.append(decide(rotates, "", f"greedy from ages pulled {order}"))
    return combine(found, "3 certificates; 200 greedy runs with random ages and ties rotate")


# ----------------------------------------------------------------------------------------------

ARMS = (3, 4, 5, 6, 7, 8, 10, 15, 20, 30, 50, 100, 1000)
C_M = (
    "0.850303",
    "0.830664",
    "0.818761",
    "0.810774",
    "0.805042",
    "0.800728",
    "0.794668",
    "0.786547",
    "0.782469",
    "0.778380",
    "0.775099",
    "0.772633",
    "0.770411",
)

competitive_ratio_m = Claim(
    "recharge.competitive_ratio_m",
    title="The exact competitive ratio for each number of arms",
    source=Source(SOURCE, "Theorem 3.8", provenance="ours"),
    statement=r"""
For $m$ arms of any rates, $h\ge c_m\,\mathrm{OPT}$ with
$$c_m=\min_{r>0}\frac{r/(1+r)}{1-(1+r/m)^{-m}},$$
attained by $m$ identical arms; $c_1=1$, $c_2=<<c2>>$ exactly (total odds 2), $c_m$ <<trend>> in $m$, and
to six digits $c_3=<<c3>>$, $c_5=<<c5>>$, $c_7=<<c7>>$, $c_{10}=<<c10>>$, $c_{100}=<<c100>>$,
$c_{1000}=<<c1000>>$.
""",
    claimed={"c2": "8/9", "mean": "1", "trend": "decreases"}
    | {f"c{m}": c for m, c in zip(ARMS, C_M, strict=True)},
    meaning={"mean": "where the tangent touches, in means of the odds"}
    | {f"c{m}": f"least ratio for {m} arms" for m in ARMS},
    rests_on=[
        "recharge.hamacher_lower_bound",
        "recharge.opt_upper_bound",
        "recharge.identical_arms",
    ],
    parts={
        "bound": "the ratio is at least c_m",
        "trend": "c_m decreases in m",
        "two arms": "c_2 exactly",
        "values": "c_m to six digits",
    },
    uncovered="one division: a larger bound on OPT makes the ratio smaller",
)


def _arm_ratio(m: int, r):
    """h over the product bound for m identical arms of total odds r (a ball)."""
    return r / ((1 + r) * (1 - (1 + r / m) ** (-m)))


@competitive_ratio_m.check(method="symbolic", scope="general", part="bound", false={"mean": "0.99"})
def mean_of_logarithms(mean: str) -> Finding:
    """Sum of ln(1+rho_j) is at most m ln(1+rho/m), by the tangent of the logarithm at the mean.

    ln(1+x) <= ln(1+a) + (x-a)/(1+a) is e^t >= 1+t with e^t = (1+x)/(1+a). Summed over arms with a a
    multiple of the mean of the x, a multiple of (1 - multiple) is left: nothing for the mean itself.
    Judged is the multiple; a smaller one is refuted by equal arms.
    """
    import sympy
    from sympy import IndexedBase, Sum, factor_terms

    from checks.methods.certified import ball, precision

    j, m = sympy.symbols("j m", integer=True, positive=True)
    a = sympy.symbols("a", positive=True)
    x, share = IndexedBase("x"), Fraction(mean)
    multiple = sympy.Rational(share.numerator, share.denominator)
    summed = factor_terms(Sum(sympy.expand((x[j] - a) / (1 + a)), (j, 1, m)).expand()).doit()
    total = Sum(x[j], (j, 1, m))
    left = sympy.simplify(summed.subs(total, m * a / multiple))
    if left == 0:
        return combine(
            [_exponential_above_line()], "summed over arms the tangents leave nothing at the mean"
        )
    with precision(100):  # two arms of odds 1: 2 ln 2 against 2 ln(1 + share)
        if ball(2).log() > ball(1 + share).log():
            return refuted(f"equal arms of odds 1: ln 2 > ln(1 + {mean})")
    return undecided(f"the tangents leave {left}")


@competitive_ratio_m.check(
    method="symbolic", scope="general", part="trend", false={"trend": "increases"}
)
def one_arm_more(trend: str) -> Finding:
    """(1+r/m)^m grows with m: the mean of m numbers r/m and one 0 is r/(m+1); so c_m decreases.

    By the step above with m+1 arms. At r = 2 the ratio of three arms is below c_2, in rationals.
    """
    import sympy

    from checks.methods.symbolic import identity

    r, m = sympy.symbols("r m", positive=True)
    three = Fraction(2, 3) / (1 - Fraction(3, 5) ** 3)
    below = three < Fraction(8, 9)
    if one_of("trend", trend, "decreases", "increases") == "increases":
        text = f"c_3 is at most {three} (at r = 2), and c_2 = 8/9"
        return refuted(text) if below else undecided(text)
    mean = (m * (r / m) + 0) / (m + 1)
    return combine(
        [
            _exponential_above_line(),
            identity((m + 1) * sympy.log(1 + mean), (m + 1) * sympy.log(1 + r / (m + 1)), "mean"),
            decide(below, "", "three arms are not below two"),
        ],
        "m ln(1+r/m) + ln 1 <= (m+1) ln(1+r/(m+1)), and OPT's bound grows with it",
    )


@competitive_ratio_m.check(
    method="symbolic", scope="general", part="two arms", false=[{"c2": "0.889"}, {"c2": "0.888"}]
)
def two_arms(c2: str) -> Finding:
    """The ratio of two arms less 8/9 is (1-8/9)(r-2)^2/((1+r)(4+r)): never negative, 0 at r = 2."""
    import sympy

    from checks.methods.symbolic import identity

    r = sympy.symbols("r", positive=True)
    c = sympy.Rational(c2)
    ratio = (r / (1 + r)) / (1 - (1 + r / 2) ** -2)
    square = (1 - c) * (r - 2) ** 2 / ((1 + r) * (4 + r))
    return identity(ratio - c, square, f"ratio of two arms less {c2}", at=[{r: 2}])


@cache
def _enclosed_minimum(m: int) -> tuple[Fraction, Fraction]:
    """Rational ends of an enclosure of c_m, about 2e-10 wide; raises if the boxes do not prove it."""
    from checks.methods.certified import ball, ends, positive_on, precision
    from simlib.recharge.formulas import least_competitive_ratio

    with precision(120):
        _, minimiser = least_competitive_ratio(m)
        above = ends(_arm_ratio(m, ball(Fraction(minimiser).limit_denominator(10**9))))[1]
        below = Fraction(int(above * 10**10) - 1, 10**10)
        c = ball(below)
        boxes, _ = positive_on(
            lambda r: r - c * (1 + r) * (1 - (1 + r / m) ** (-m)),
            Fraction(1, 8),
            Fraction(8),
            derivative=lambda r: (
                1 - c * (1 - (1 + r / m) ** (-m)) - c * (1 + r) * (1 + r / m) ** (-m - 1)
            ),
        )
    if boxes.outcome != "proved" or below > Fraction(8, 9):
        raise ArithmeticError(f"c_{m} is not enclosed: {boxes.witness}")
    return below, above


@competitive_ratio_m.check(
    method="certified",
    scope="general",
    part="values",
    false=[{f"c{m}": str(Fraction(c) + Fraction(1, 10**6))} for m, c in zip(ARMS, C_M, strict=True)]
    + [{f"c{m}": str(Fraction(c) - Fraction(1, 10**6))} for m, c in zip(ARMS, C_M, strict=True)],
    reads=tuple(f"c{m}" for m in ARMS),
)
def minimum_for_each_number_of_arms(**numbers: str) -> Finding:
    """Arb encloses each c_m within 2e-10, from both sides; a printed value must be its rounding.

    Above: the ratio at a point. Below: boxes on [1/8, 8]; outside, the ratio is at least 8/9 because
    1-(1+r/m)^-m is at most r and at most 1.
    """
    found, values, half = [], {}, Fraction(1, 2 * 10**6)
    for m in ARMS:
        below, above = _enclosed_minimum(m)
        claimed = Fraction(numbers[f"c{m}"])
        values[f"c{m}"] = shown = enclosure(below, above, 12)
        if claimed - half <= below and above <= claimed + half:
            found.append(proved(f"c_{m}"))
        elif above < claimed - half or below > claimed + half:
            found.append(refuted(f"c_{m} = {shown}, which does not round to {decimal(claimed, 6)}"))
        else:
            found.append(undecided(f"c_{m} = {shown} against {numbers[f'c{m}']}"))
    whole = combine(found, f"{len(ARMS)} minima enclosed")
    return Finding(whole.outcome, whole.witness, whole.margin, values)


# ----------------------------------------------------------------------------------------------

ratio_tight = Claim(
    "recharge.ratio_tight",
    title="The competitive ratio is approached by many identical servers and attained by none",
    kind="proposition",
    source=Source(SOURCE, "Theorem 3.8"),
    statement=r"""
On $m$ identical arms of total odds $r_*$ the uniform learner has no regret and earns exactly
$h=r_*/(1+r_*)$, while $\mathrm{OPT}=1-(1+r_*/m)^{-m}$. Their ratio is above $c^*$ for every $m$ and
tends to it: it is $<<ratio10>>$ for ten arms, $<<ratio100>>$ for a hundred, $<<ratio1000>>$ for a
thousand, and $c^*$ is attained <<attained>>.
""",
    claimed={
        "ratio10": "0.794705",
        "ratio100": "0.772634",
        "ratio1000": "0.770411",
        "attained": "in the limit only",
    },
    rests_on=[
        "recharge.normalized_odds_tight",
        "recharge.identical_arms",
        "recharge.competitive_ratio",
    ],
    parts={"limit": "strictly above, with limit c*", "values": "the three ratios"},
)


ATTAINED = ("in the limit only", "by some number of arms")


@ratio_tight.check(
    method="symbolic", scope="general", part="limit", false={"attained": "by some number of arms"}
)
def strictly_above(attained: str) -> Finding:
    """(1+r/m)^m < e^r for every m, because e^x > 1+x for x > 0; and it tends to e^r.

    Equality for some m would need e^x = 1+x at x = r/m > 0.
    """
    import sympy

    r, m = sympy.symbols("r m", positive=True)
    strict = _exponential_above_line()
    power = (1 + r / m) ** m
    base, exponent = power.as_base_exp()
    whole = sympy.simplify(exponent * (base - 1) - r)  # (1+x)^k < (e^x)^k = e^r needs k x = r
    tied = decide(whole == 0, "", f"the exponent times r/m is not r but {whole} more")
    if one_of("attained", attained, *ATTAINED) != "in the limit only":
        text = "e^x - 1 - x > 0 for every x > 0, so (1+r/m)^m < e^r for every m"
        both = combine([strict, tied])
        return refuted(text) if both.outcome == "proved" else both
    limit = sympy.limit(power, m, sympy.oo)
    tends = decide(sympy.simplify(limit - sympy.exp(r)) == 0, "", f"the limit is {limit}")
    return combine(
        [strict, tied, tends], "(1+r/m)^m < e^r with limit e^r: above c*, and tending to it"
    )


@ratio_tight.check(
    method="certified",
    scope="general",
    part="values",
    false=[{"ratio10": "0.794706"}, {"ratio100": "0.772633"}, {"ratio1000": "0.770410"}],
)
def ratios_at_the_root(ratio10: str, ratio100: str, ratio1000: str) -> Finding:
    """Arb encloses the ratio of m identical arms of total odds r*, for m = 10, 100, 1000."""
    from checks.methods.certified import ball, precision, quantity

    found, values, half = [], {}, Fraction(1, 2 * 10**6)
    with precision(160):
        root = _root()
        for m, claimed in ((10, ratio10), (100, ratio100), (1000, ratio1000)):
            ratio = _arm_ratio(m, root)
            values[f"{m} arms"] = shown = quantity(ratio, 30)
            low, high = ball(Fraction(claimed) - half), ball(Fraction(claimed) + half)
            if low < ratio < high:
                found.append(proved(f"{m} arms: {claimed}"))
            elif ratio < low or ratio > high:
                found.append(refuted(f"{m} arms: {shown}, not {claimed}"))
            else:
                found.append(undecided(f"{m} arms: {shown}"))
    whole = combine(found)
    return Finding(whole.outcome, whole.witness, whole.margin, values)


@ratio_tight.check(
    method="exact", scope="instances", part="limit", false={"attained": "by some number of arms"}
)
def lumped_chains(attained: str) -> Finding:
    """The uniform router on m identical servers of total odds 9/5, in rationals, against c*.

    Exact accept rates from the chain of the number of busy servers; the ratio to round robin falls with
    m and stays above the certified c*.
    """
    from simlib.recharge.exact import lumped_chain
    from simlib.recharge.formulas import identical, round_robin_utility

    least, ratios, odds = Fraction("0.7701634920044918"), {}, Fraction(9, 5)
    for m in (2, 5, 10, 20):
        rates = identical(m, odds)
        accept = lumped_chain(m, rate=rates[0]).accept_rate
        if accept != odds / (1 + odds):
            return refuted(f"{m} servers accept {accept}, not {odds / (1 + odds)}")
        ratios[m] = accept / round_robin_utility(rates)
    falling = all(
        a > b for a, b in zip(list(ratios.values()), list(ratios.values())[1:], strict=False)
    )
    text = ", ".join(f"m={m}: {float(ratio):.6f}" for m, ratio in ratios.items())
    if not (falling and min(ratios.values()) > least):
        return undecided(f"the ratios do not fall towards c*: {text}")
    if one_of("attained", attained, *ATTAINED) != "in the limit only":
        return refuted(f"all ratios exceed c*: {text}")
    return proved(text)


# ----------------------------------------------------------------------------------------------

greedy_no_regret = Claim(
    "recharge.greedy_no_regret",
    title="Greedy with known rates has no regret, so it is competitive; it is not optimal",
    kind="proposition",
    source=Source(SOURCE, "end of Section 3"),
    statement=r"""
The schedule that pulls at each step the arm with the <<rule>> has
$R_{T,j}\le0$ for every arm and every $T$. Hence it earns at least $hT$ and is at least
$c^*$-competitive. On the rates $1/2,1/10,3/10$ its long-run utility is <<utility>>.
""",
    claimed={"rule": "highest expected reward", "utility": "below OPT"},
    rests_on=["recharge.hamacher_lower_bound", "recharge.competitive_ratio"],
    parts={"regret": "no arm is better in hindsight", "suboptimal": "its value on I3"},
)

OPTIMAL = {"utility": "equal to OPT"}
OLDEST = {"rule": "oldest attempt"}
RULES = ("highest expected reward", "oldest attempt")


def _greedy(rates, steps: int, rule: str = RULES[0]):
    """Schedule by a rule, with ties to the lowest index, and the step at which its ages recur."""
    q = [1 - rate for rate in rates]
    ages: list = [None] * len(rates)
    seen, actions = {}, []
    for t in range(steps):
        if None not in ages:
            if tuple(ages) in seen:
                return actions, seen[tuple(ages)]
            seen[tuple(ages)] = t
        pays = [Fraction(1) if d is None else 1 - q[j] ** d for j, d in enumerate(ages)]
        if one_of("rule", rule, *RULES) == "oldest attempt":
            pays = [steps if d is None else d for d in ages]
        arm = pays.index(max(pays))
        actions.append(arm)
        ages = [1 if j == arm else d and d + 1 for j, d in enumerate(ages)]
    return actions, None


@greedy_no_regret.check(method="smt", scope="general", part="regret", false=OLDEST)
def best_at_each_step(rule: str) -> Finding:
    """A step that pays at least as much as every arm keeps every regret at most 0, by z3.

    With R <= 0 before and u(j) <= u(a) now, the regret R + u(j) - u(a) is at most 0: induction on T.
    Pulling the oldest arm gives no such u(a).
    """
    import z3

    from checks.methods.smt import implies

    regret, other, best = z3.Reals("R u_j u_a")
    known = [regret <= 0, other >= 0, other <= 1, best >= 0, best <= 1]
    if one_of("rule", rule, *RULES) == "highest expected reward":
        known.append(other <= best)
    return implies(known, regret + other - best <= 0, "R + u(j) - u(a) <= 0 from R <= 0")


@greedy_no_regret.check(method="exact", scope="general", part="suboptimal", false=OPTIMAL)
def greedy_cycle(utility: str) -> Finding:
    """The cycle into which greedy falls on 1/2, 1/10, 3/10, valued in rationals, against OPT."""
    from simlib.recharge.formulas import INSTANCES
    from simlib.recharge.optimum import certificates, cycle_value

    rates = INSTANCES["I3"]
    actions, start = _greedy(rates, 3000)
    if start is None:
        return undecided("no recurrence of the ages within 3000 steps")
    cycle = tuple(actions[start:])
    value, optimum = cycle_value(rates, cycle), certificates()["I3"].gain
    text = f"greedy's cycle of length {len(cycle)} earns {truncated(value, 8)}..., OPT is {optimum}"
    below = one_of("utility", utility, "below OPT", "equal to OPT") == "below OPT"
    right = value < optimum if below else value == optimum
    margin = f"{float(optimum - value):.6f} below OPT"
    return decide(right, text, text, margin=margin, greedy=exact(value))


@greedy_no_regret.check(method="exact", scope="instances", part="regret", false=OLDEST)
def regret_of_greedy(rule: str) -> Finding:
    """Regret of greedy against every arm after each of 200 steps, in rationals, on I3 and I7."""
    from simlib.recharge.exact import evaluate_schedule
    from simlib.recharge.formulas import INSTANCES

    worst = None
    for name in ("I3", "I7"):
        actions, start = _greedy(INSTANCES[name], 200, rule)
        while start is not None and len(actions) < 200:
            actions += actions[start:]
        for steps in range(1, len(actions) + 1, 1 if name == "I3" else 20):
            value = evaluate_schedule(INSTANCES[name], actions[:steps])
            if value.regret > 0:
                return refuted(f"{name}, {steps} steps: regret {float(value.regret):.4f} > 0")
            worst = value.regret if worst is None else max(worst, value.regret)
    return proved(
        "regret at most 0 at each step looked at", margin=f"largest regret {float(worst):.4f}"
    )
