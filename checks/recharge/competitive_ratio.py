"""The competitive ratio of no-regret learning: OPT from above, the constant, and its tightness."""

from fractions import Fraction

from checks.claim import Claim, Printed, Source
from checks.finding import Finding, combine, exact, proved, refuted

SOURCE = "geometric_recharge"

competitive_ratio = Claim(
    "recharge.competitive_ratio",
    title="Every no-regret learner is <<constant>>-competitive",
    source=Source(SOURCE, "Theorem 3.8", provenance="reconstructed"),
    statement=r"""
For every number of arms $m$, all rates $\mu\in(0,1)^m$ and every learner with no regret in
expectation,
$$\liminf_{T\to\infty}\frac{\mathbb E[U_T]}{T}\ \ge\ c^*\,\mathrm{OPT},\qquad
c^*=\min_{r>0}\frac{r}{(1+r)(1-e^{-r})}=1-\frac{r_*}{(1+r_*)^2}\ \ge\ <<constant>>,$$
where $r_*$ is the only positive root of $e^{r}=1+r+r^2$. The price of learning $1/c^*$ is
at most $<<price>>$.
""",
    claimed={"constant": "0.7701634", "price": "1.298426"},
    rests_on=["recharge.hamacher_lower_bound", "recharge.opt_upper_bound"],
    as_printed=Printed(
        {"price": "1.29"},
        says="the price of learning is at most 1.29",
        correct="the price of learning is 1.29842..., so at most 1.30",
    ),
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
    assert slope(box) > 0 and f(arb(box.lower())) < 0 < f(arb(box.upper()))
    for _ in range(9):
        middle = arb(box.mid())
        box = box.intersection(middle - f(middle) / slope(box))
    low, high = ends(box)
    return interval(low, high)


@competitive_ratio.check(
    method="certified", scope="general", false=[{"constant": "0.7701635"}, {"price": "1.298425"}]
)
def minimum_over_total_odds(constant: str, price: str) -> Finding:
    """Enclose the minimum over all r > 0 of r / ((1+r)(1-e^-r)) with Arb balls.

    The interior [1/8, 8] is covered by boxes on which r - c(1+r)(1-e^-r) is positive; below,
    1-e^-r <= r gives a ratio of at least 8/9; above, the ratio is at least r/(1+r) >= 8/9. The
    minimum itself is evaluated at the root of the stationarity condition.
    """
    from checks.methods.certified import ball, compare, positive_on, precision, quantity

    with precision(160):
        root = _root()
        least = 1 - root / (1 + root) ** 2
        worst = 1 / least
        c = ball(constant)
        if not c < ball(Fraction(8, 9)):
            return refuted(f"at r = {float(root.mid()):.8f} the ratio is {least.str(10)}")
        interior, _ = positive_on(
            lambda r: r - c * (1 + r) * (1 - (-r).exp()),
            Fraction(1, 8),
            Fraction(8),
            derivative=lambda r: 1 - c * (1 + r * (-r).exp()),
        )
        if interior.outcome == "refuted":
            interior = refuted(
                f"at r = {float(root.mid()):.8f} the ratio is {_ratio(root).str(8, radius=False)}"
            )
        elif interior.outcome == "proved":
            margin = f"{float((least - c).mid()):.1e} above the claim"
            interior = proved(
                f"{interior.witness}; the ratio exceeds 8/9 outside them", margin=margin
            )
        found = combine([interior, compare(worst, "<", price, "1/c*")])
        values = {"c*": quantity(least), "1/c*": quantity(worst), "r*": quantity(root)}
        return Finding(found.outcome, found.witness, found.margin, values)


@competitive_ratio.check(method="exact", scope="instances", false={"price": "1.290157"})
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
