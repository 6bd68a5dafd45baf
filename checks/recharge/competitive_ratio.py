"""The competitive ratio: the constant, its value for each number of arms, and its tightness."""

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
    settle,
    truncated,
    undecided,
)
from checks.judging import exponential_above_line
from checks.recharge.instances import SOURCE

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
            [exponential_above_line()], "summed over arms the tangents leave nothing at the mean"
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
            exponential_above_line(),
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
    found, half = [], Fraction(1, 2 * 10**6)
    for m in ARMS:
        below, above = _enclosed_minimum(m)
        claimed, shown = Fraction(numbers[f"c{m}"]), enclosure(below, above, 12)
        holds = claimed - half <= below and above <= claimed + half
        fails = above < claimed - half or below > claimed + half
        told = f"c_{m} = {shown}"
        wrong = f"{told}, which does not round to {decimal(claimed, 6)}"
        found.append(settle(holds, fails, told, wrong, **{f"c{m}": shown}))
    return combine(found, f"{len(ARMS)} minima enclosed")


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
    strict = exponential_above_line()
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
    from checks.methods.certified import precision, quantity, rounds_to

    found = []
    with precision(160):
        root = _root()
        for m, claimed in ((10, ratio10), (100, ratio100), (1000, ratio1000)):
            ratio = _arm_ratio(m, root)
            shown = quantity(ratio, 30)
            told, wrong = f"{m} arms: {claimed}", f"{m} arms: {shown}, not {claimed}"
            kept = {f"{m} arms": shown}
            found.append(rounds_to(ratio, claimed, f"ratio{m}", told, wrong, **kept))
    return combine(found)


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
