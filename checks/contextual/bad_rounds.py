"""However contexts are chosen, few rounds are bad: the elliptical count."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from checks.claim import Claim, Source
from checks.contextual.instances import SOURCE
from checks.contextual.widths import STARTS, determinant_growth
from checks.finding import Finding, combine, proved, refuted, undecided
from checks.judging import exponential_above_line

if TYPE_CHECKING:
    pass

# Bad rounds ----------------------------------------------------------------------------------------

elliptical_count = Claim(
    "contextual.elliptical_count",
    title="However the contexts are chosen, few rounds are bad",
    source=Source(SOURCE, "Proposition 6.1", provenance="stated"),
    kind="proposition",
    statement=r"""
In round $t=1,\dots,T$ a context $x_t$, $\|x_t\|\le1$, is tried at server $k_t$ of $K$; $V_{t,k}$ is
$\kappa\lambda_0I$ plus the sum of $x_sx_s^\top$ over the rounds $s\le t$ with $k_s=k$. Contexts and
servers may be chosen by an adversary. Let all widths $\beta_{t,k}$ be at most $\beta_T$, and
$0<\epsilon\le4\beta_T$.
Round $t$ is *bad* if $\|x_t\|_{V_{t-1,k_t}^{-1}}>\epsilon/(4\beta_{t-1,k_t})$. Then
$$\begin{aligned}\sum_{t\le T}\min\bigl\{1,\|x_t\|^2_{V_{t-1,k_t}^{-1}}\bigr\}
&\le<<potential>>\,Kd\ln\Bigl(1+\frac T{dK\kappa\lambda_0}\Bigr),\\
|\{t\le T:t\text{ bad}\}|&\le\frac{<<constant>>\,\beta_T^2}{\epsilon^2}\,
Kd\ln\Bigl(1+\frac T{dK\kappa\lambda_0}\Bigr).\end{aligned}$$
The least constants for which this holds are $1/\ln2$ and $16/\ln2$, which is just below <<least>>: one
round with $d=K=\kappa\lambda_0=1$ needs them.
""",
    claimed={"potential": "2", "constant": "32", "least": "23.0832"},
    meaning={
        "potential": "factor in the sum of squared uncertainties",
        "constant": "factor in the number of bad rounds",
        "least": "the least such factor, rounded up",
    },
    parts={"potential": "the sum", "count": "the number of bad rounds"},
    uncovered="that det(V + x x^T) = det(V) (1 + x^T V^-1 x) in every dimension (checked in rationals "
    "up to dimension 4)",
)


def _one_bad_round(potential: Fraction) -> Finding | None:
    """None where ``potential`` ln 2 > 1, refuted where it is less: by one round with y = 1."""
    from checks.methods.certified import ball, precision

    with precision(100):
        bound = ball(potential) * ball(2).log()
        if bound > 1:
            return None
        if bound < ball(1 - Fraction(1, 10**12)):
            return refuted(
                "d = K = kappa lambda_0 = 1, x = 1, T = 1, epsilon = 4 beta (1 - 10^-13): one bad "
                f"round of uncertainty 1, and the bound is {bound.str(8, radius=False)}"
            )
    return undecided(f"{potential} ln 2 is not separated from 1")


@elliptical_count.check(
    method="symbolic",
    scope="general",
    part="potential",
    false=[{"potential": "1"}, {"potential": "1.4426"}],
)
def logarithms_of_determinants(potential: str) -> Finding:
    """Bound min(1, y) by a multiple of ln(1 + y), then add up the logarithms server by server.

    On [0, 1] the logarithm is concave, so it is above its chord y ln 2; beyond, it grows. A server adds
    at most d ln(1 + n/(d kappa lambda_0)) after n rounds, which is concave in n: together at most K
    times its value at the mean T/K, again by tangents. A multiple below 1/ln 2 is refuted by one round.
    """
    import sympy
    from sympy import IndexedBase, Sum, factor_terms

    from checks.methods.symbolic import identity

    wrong = _one_bad_round(Fraction(potential))
    if wrong is not None:
        return wrong
    y = sympy.symbols("y", positive=True)
    f = sympy.log(1 + y)
    k, servers = sympy.symbols("k K", integer=True, positive=True)
    mean, c = sympy.symbols("m c", positive=True)
    n = IndexedBase("n")
    tangents = Sum(sympy.expand((n[k] - mean) / (c + mean)), (k, 1, servers)).expand()
    left = factor_terms(tangents).doit().subs(Sum(n[k], (k, 1, servers)), servers * mean)
    one = sympy.Symbol("n", positive=True)
    return combine(
        [
            identity(sympy.diff(f, y, 2), -1 / (1 + y) ** 2, "concave on [0, 1]"),
            identity(f.subs(y, 0), sympy.Integer(0), "0 at 0"),
            identity(sympy.diff(f, y), 1 / (1 + y), "it grows beyond 1"),
            determinant_growth(STARTS[0]),
            exponential_above_line(),
            identity(
                (c + one) / (c + mean) - 1, (one - mean) / (c + mean), "tangent of ln(1 + n/c)"
            ),
            identity(sympy.simplify(left), sympy.Integer(0), "tangents at the mean, summed"),
        ],
        f"min(1, y) <= {potential} ln(1 + y), and the logarithms add up to at most that",
    )


@elliptical_count.check(
    method="smt",
    scope="general",
    part="count",
    false=[{"constant": "23.0831"}, {"least": "23.0831"}, {"least": "23.0833"}],
)
def bad_rounds_counted(constant: str, least: str) -> Finding:
    """A bad round adds at least (epsilon/(4 beta_T))^2, which is at most 1, to the sum; z3 counts.

    A sum below 1/ln 2 times the logarithm gives 16/ln 2, which is enclosed; a constant below it is
    refuted by one bad round.
    """
    import z3

    from checks.methods.certified import ball, precision
    from checks.methods.smt import implies, real

    wrong = _one_bad_round(Fraction(constant) / 16)
    if wrong is not None:
        return wrong
    with precision(100):
        sharp = 16 / ball(2).log()
        rounded, unit = Fraction(least), Fraction(1, 10 ** len(least.partition(".")[2]))
        shown = sharp.str(9, radius=False)
        if not ball(rounded - unit) < sharp < ball(rounded):
            return refuted(f"16/ln 2 = {shown}, which is not just below {least}")
    count, share, own, y, slack, beta, beta_t, total, log = z3.Reals(
        "bad share share_t y epsilon beta_T beta_t sum Kd*ln"
    )
    sizes = [slack > 0, slack <= 4 * beta, 16 * share * beta * beta == slack * slack]
    factor = real(constant)
    adds = z3.If(y <= 1, y, 1)
    return combine(
        [
            implies(
                [
                    *(*sizes, beta_t > 0, beta_t <= beta, y > own),
                    16 * own * beta_t * beta_t == slack * slack,
                ],
                adds >= share,
                "a bad round adds",
            ),
            implies(
                [*sizes, log > 0, count >= 0, count * share <= total, 16 * total <= factor * log],
                count * slack * slack <= factor * beta * beta * log,
                "bad rounds",
            ),
        ],
        f"{constant}/16 >= 1/ln 2, and 16/ln 2 = {shown}",
    )


@elliptical_count.check(
    method="certified",
    scope="instances",
    part="count",
    false=[{"potential": "1"}, {"constant": "16"}],
)
def adversarial_contexts(potential: str, constant: str) -> Finding:
    """Run three rules for contexts in rationals, dimensions 1 to 4, and count.

    The context is always the basis vector that is known least, or always the same, or goes around a
    list; one or two servers in turn. Determinants are compared with the products of 1 + x^T V^-1 x.
    Bad rounds are those with uncertainty above 99/100, 1/2 or 1/8, beta constant.
    """
    from checks.methods.certified import ball, precision

    count, fullest = 0, 0.0
    with precision(100):
        for d, servers, start, rule in product(
            (1, 2, 4), (1, 2), (Fraction(1), Fraction(1, 4)), ("least known", "the same", "around")
        ):
            squares = _squared_uncertainties(d, servers, start, rule, rounds=24)
            if squares is None:
                return undecided("a determinant differs from the product of 1 + x^T V^-1 x")
            for rounds in (1, 6, 24):
                where = f"d = {d}, K = {servers}, kappa lambda_0 = {start}, {rule}, T = {rounds}"
                seen = squares[:rounds]
                log = servers * d * (1 + ball(Fraction(rounds) / (d * servers * start))).log()
                total = sum((min(Fraction(1), y) for y in seen), Fraction(0))
                if ball(total) > ball(potential) * log:
                    return refuted(f"{where}: the sum is {float(total):.4f}, above {potential} ln")
                for share in (Fraction(99, 100), Fraction(1, 2), Fraction(1, 8)):
                    bad = sum(y > share**2 for y in seen)
                    bound = ball(constant) / ball(16 * share**2) * log
                    if bad > bound:
                        return refuted(f"{where}: {bad} bad rounds, more than {bound.str(6)}")
                    if not bad <= bound:
                        return undecided(f"{where}: not separated")
                    count, fullest = count + 1, max(fullest, bad / float(bound.mid()))
    return proved(f"{count} counts; the largest share of the bound is {fullest:.3f}")


def _squared_uncertainties(
    d: int, servers: int, start: Fraction, rule: str, rounds: int
) -> list[Fraction] | None:
    """x^T V^-1 x of each round, exactly; None if a determinant is not the product of 1 + these."""
    from flint import fmpq, fmpq_mat

    def number(x: Fraction) -> fmpq:
        return fmpq(x.numerator, x.denominator)

    basis = [[Fraction(int(i == j)) for j in range(d)] for i in range(d)]
    tilted = [[Fraction(3, 5), Fraction(4, 5), *[Fraction(0)] * (d - 2)]] if d > 1 else []
    around = [*basis, *tilted]
    designs = [
        fmpq_mat(d, d, [number(start * int(i == j)) for i in range(d) for j in range(d)])
        for _ in range(servers)
    ]
    products, found = [start**d] * servers, []
    for t in range(rounds):
        k = t % servers
        inverse = designs[k].inv()

        def uncertainty(x: list[Fraction], inverse: fmpq_mat = inverse) -> Fraction:
            column = fmpq_mat(d, 1, [number(v) for v in x])
            value = (column.transpose() * inverse * column)[0, 0]
            return Fraction(int(value.p), int(value.q))

        x = {
            "least known": max(around, key=uncertainty),
            "the same": around[-1],
            "around": around[t // servers % len(around)],
        }[rule]
        y = uncertainty(x)
        column = fmpq_mat(d, 1, [number(v) for v in x])
        designs[k] = designs[k] + column * column.transpose()
        products[k] *= 1 + y
        found.append(y)
        if designs[k].det() != number(products[k]):
            return None
    return found
