"""How the rate of (21) depends on the number of jobs that are admitted."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from checks.admission.finite_chains import (
    ONE_QUEUE,
    Chain,
    decimal_of,
    inverse_log,
    queue_or_tiers,
    whole,
)
from checks.admission.instances import SOURCE
from checks.claim import Claim, Source
from checks.finding import (
    Finding,
    combine,
    decide,
    decimal,
    one_of,
    proved,
    refuted,
    undecided,
)
from checks.judging import one_for_each

if TYPE_CHECKING:
    from flint import arb


# How rho depends on S ---------------------------------------------------------------------------

rho_vs_s = Claim(
    "admission.rho_vs_s",
    title="W of a single queue is bounded in S when it is stable, and grows like S at criticality",
    source=Source(SOURCE, "Section 6", provenance="ours"),
    kind="proposition",
    statement=r"""
Let $\rho$ be the second-largest modulus of an eigenvalue of a network's transition matrix in steps of
$1/U$, and $W^2=1/\log(1/\rho)$. With $d(t)$ and $t_{mix}$ of `admission.mixing_w`,

1. $d(t)\ge<<least:frac>>\,\rho^t$ for all $t$, so that $d(t)\le C r^t$ for all $t$ only if $r\ge\rho$.
2. For one queue of rate $\mu$ that admits all, with at most $S$ jobs and $U\ge\lambda+\mu$, the
   eigenvalues are 1 and $1-\frac{\lambda+\mu}U+\frac{2\sqrt{\lambda\mu}}U\cos(k\,<<angle>>)$ for
   $k=1,\dots,S$, and $\rho$ is the one with $k=1$.
3. There, if $\lambda\ne\mu$, then $W^2<U/(\sqrt\mu-\sqrt\lambda)^2$ for every $S$.
4. There, if $\lambda=\mu$, then $W^2/(S+1)^{<<growth>>}\to U/(\pi^2\lambda)$: $W$ is of order $S$, not
   $\sqrt S$.

*One queue* with $\mu=\frac12$ and $U=1$:

| | $S=5$ | 10 | 20 | 40 |
|---|---|---|---|---|
| $\lambda=\frac14$: $W^2$ | <<stable:cells>> |
| $t_{mix}$ | <<stable_mixing:cells>> |
| $C\ge d(t)/\rho^t$ at $t=4\,t_{mix}$ | <<constants:cells>> |
| $\lambda=\frac12$: $W^2$ | <<critical:cells>> |

So it is $C$ that grows where $W$ does not.

*Three tiers* of one queue each, rates 1, half of the jobs going on, $U=\lambda+3$. The largest values
over all thresholds are

| | $S=3$ | 4 | 5 |
|---|---|---|---|
| $\lambda=\frac14$: $W^2$ | <<tiers:cells>> |
| $t_{mix}$ | <<tiers_mixing:cells>> |
| $\lambda=\frac{99}{100}$: $W^2$ | <<busy_tiers:cells>> |
| $t_{mix}$ | <<busy_tiers_mixing:cells>> |

The largest $\rho$ is that of accepting all for $\lambda=\frac14$, and of rejecting all for
$\lambda=\frac{99}{100}$. The longest mixing time is that of rejecting all: the network has to drain.
""",
    claimed={
        "least": r"1/2",
        "angle": r"\tfrac\pi{S+1}",
        "bound": "1",
        "growth": "2",
        "stable": "6.75, 13.47, 19.18, 21.73",
        "stable_mixing": "12, 34, 79, 166",
        "constants": "1.48, 3.10, 21.93, 3350.36",
        "critical": "6.95, 24.18, 89.03, 340.31",
        "tiers": "18.05, 23.77, 29.32",
        "tiers_mixing": "53, 64, 75",
        "busy_tiers": "18.84, 18.84, 18.84",
        "busy_tiers_mixing": "66, 79, 92",
    },
    meaning={"bound": "what multiplies the bound of point 3"},
    parts={
        "rate": "no faster decay",
        "spectrum": "the eigenvalues",
        "stable": "off criticality",
        "critical": "at criticality",
        "queue": "numbers of one queue",
        "tiers": "numbers of three tiers",
    },
    uncovered=(
        "acyclic and hyper-stable networks, for which the source states W of order sqrt(S), beyond one "
        "queue; and policies other than thresholds, over which it takes the largest rho as well"
    ),
)


@rho_vs_s.check(method="smt", scope="general", false={"least": "0.51"}, part="rate")
def no_faster_decay(least: str) -> Finding:
    """Bound an eigenvector's values by its largest one, for any chain; z3 decides the steps.

    Let f be an eigenvector of the eigenvalue z, scaled so that |f| <= 1 with equality at x. Then |z|^t =
    |sum_y (P^t(x,y) - nu(y)) f(y)|, because nu f = 0 for z other than 1; by the triangle inequality and
    |p f| <= |p| that is at most 2 d(t). A larger factor is refuted by one queue, where d(t) = 2^-t/2.
    """
    import z3

    from checks.methods.smt import implies, real

    chain = queue_or_tiers(*ONE_QUEUE)
    if chain.farthest(3) < Fraction(least) / 8:
        return refuted(f"one queue, rho = 1/2: d(3) = {chain.farthest(3)} < {least} * 2^-3")
    p, a, b, total, far = z3.Reals("p a b total d")
    unit = [a * a + b * b <= 1]
    sums = [total <= 2 * far, total >= 0]
    return combine(
        [
            implies(unit, (p * a) * (p * a) + (p * b) * (p * b) <= p * p, "|p f| <= |p|"),
            implies(sums, far >= real(least) * total, "d(t) from the sum of |p|"),
        ]
    )


@rho_vs_s.check(method="certified", scope="instances", false={"least": "1.1"}, part="rate")
def decay_of_three_tiers(least: str) -> Finding:
    """Compare d(t) with rho^t for three tiers, S = 3, under every threshold, at 1, 2, 4, ..., 256 steps.

    d in rationals, rho from certified roots. There 1.1 is refuted; one queue needs 1/2.
    """
    from checks.methods.certified import ball, precision

    lowest = None
    with precision(300):
        for theta, modulus in enumerate(_moduli("1/4", 3, "13/4")):
            chain = queue_or_tiers("tiers", "1/4", 3, theta, "13/4")
            for k in range(9):
                ratio = ball(chain.farthest(2**k)) / modulus ** (2**k)
                shown = f"threshold {theta}, t = {2**k}: d(t)/rho^t = {ratio.str(5, radius=False)}"
                if ratio < ball(least):
                    return refuted(shown)
                if not ratio >= ball(least):
                    return undecided(shown)
                lowest = ratio if lowest is None or ratio < lowest else lowest
    return proved(f"the least ratio d(t)/rho^t is {lowest.str(5, radius=False)}")


_ANGLES = {r"\tfrac\pi{S+1}": 1, r"\tfrac\pi S": 0}


@rho_vs_s.check(
    method="symbolic", scope="general", false={"angle": r"\tfrac\pi S"}, part="spectrum"
)
def eigenvalues_of_one_queue(angle: str) -> Finding:
    """Verify the eigenvectors' increments for all rates, S and k.

    For an eigenvector f of eigenvalue 1 - sigma/U, sigma > 0, the increments g(s) = f(s) - f(s-1) obey
    lambda g(s+1) + mu g(s-1) = (lambda + mu - sigma) g(s) with g(0) = g(S+1) = 0, and g gives f back.
    So g(s) = (mu/lambda)^(s/2) sin(s x) with sin((S+1) x) = 0. The cosines of k = 1, ..., S differ, and
    with 1 these are all S + 1 eigenvalues. The last cosine is minus the first, so for U >= lambda + mu
    the sum of both eigenvalues is not negative, and k = 1 has the largest modulus. Another angle is
    refuted at S = 2.
    """
    import sympy

    from checks.methods.symbolic import identity

    plus = _ANGLES[one_of("angle", angle, *_ANGLES)]
    rate, service = sympy.symbols("lambda mu", positive=True)
    s, x = sympy.symbols("s x", real=True)
    k, top = sympy.symbols("k S", integer=True, positive=True)
    own = sympy.symbols("q", positive=True)  # sqrt(mu/lambda)

    def g(at):
        return own**at * sympy.sin(at * x)

    factor = 2 * rate * own * sympy.cos(x)  # 2 sqrt(lambda mu) cos x
    rest = (rate * g(s + 1) + rate * own**2 * g(s - 1) - factor * g(s)) / own**s
    at_end = sympy.simplify(sympy.sin((top + 1) * k * sympy.pi / (top + plus)))
    first = sympy.pi / (top + 1)
    opposite = sympy.simplify(top * sympy.pi / (top + 1) - (sympy.pi - first)) == 0
    opposite = opposite and sympy.expand_trig(sympy.cos(sympy.pi - x)) == -sympy.cos(x)
    if plus and at_end == 0:
        return combine(
            [
                identity(sympy.expand_trig(sympy.expand(rest)), sympy.Integer(0), "recursion of g"),
                decide(opposite, "the last cosine is minus the first", "the cosines do not cancel"),
            ]
        )
    matrix = sympy.Matrix(
        [
            [-rate, rate, 0],
            [service, -rate - service, rate],
            [0, service, -service],
        ]
    )
    claims = -(rate + service) + 2 * sympy.sqrt(rate * service) * sympy.cos(sympy.pi / (2 + plus))
    value = sympy.simplify((matrix - claims * sympy.eye(3)).det().subs({rate: 1, service: 4}))
    text = f"S = 2, lambda = 1, mu = 4: det(Q - sigma I) = {value}"
    return refuted(text) if value != 0 else undecided(text)


@rho_vs_s.check(method="smt", scope="general", false={"bound": "0.9"}, part="stable")
def bounded_off_criticality(bound: str) -> Finding:
    """Ask z3 for 1 - rho >= (sqrt(mu) - sqrt(lambda))^2/U, over all rates, U and cosines.

    log(1/rho) >= 1 - rho, because e^x >= 1 + x; so W^2 <= 1/(1 - rho). A smaller multiple is refuted by
    one queue with S = 400, lambda = 1/4, mu = 1, U = 10.
    """
    import z3
    from flint import arb

    from checks.judging import exponential_above_line
    from checks.methods.certified import ball, precision
    from checks.methods.smt import implies

    if Fraction(bound) < 1:
        with precision(100):
            cosine = (arb.pi() / 401).cos()
            rho = 1 - ball("5/4") / 10 + cosine / 10
            w_square, told = inverse_log(rho), ball(bound) * 10 / ball("1/4")
            text = f"S = 400, lambda = 1/4, mu = 1, U = 10: W^2 = {w_square.str(6, radius=False)}"
            if w_square > told:
                return refuted(f"{text} > {told.str(6, radius=False)}")
        return undecided(text)
    a, b, u, c = z3.Reals("root_lambda root_mu U cosine")
    given = [a > 0, b > 0, a != b, u >= a * a + b * b, c < 1]
    gap = a * a + b * b - 2 * a * b * c  # U (1 - rho)
    return combine(
        [
            implies(given, gap > (a - b) * (a - b), "U (1 - rho) > (root mu - root lambda)^2"),
            exponential_above_line(),
        ]
    )


@rho_vs_s.check(
    method="symbolic", scope="general", false=[{"growth": "1"}, {"growth": "3"}], part="critical"
)
def growth_at_criticality(growth: str) -> Finding:
    """Compute the limit of W^2/(S+1)^growth for lambda = mu, for all U.

    With x = pi/(S+1), 1 - rho = c (1 - cos x), c = 2 lambda/U. The limit must be U/(pi^2 lambda).
    """
    import sympy

    x, c = sympy.symbols("x c", positive=True)
    power = sympy.Rational(growth)
    quotient = (x / sympy.pi) ** power / -sympy.log(1 - c * (1 - sympy.cos(x)))
    limit = sympy.simplify(sympy.limit(quotient, x, 0, "+"))
    text = f"the limit is {limit}, where c = 2 lambda/U"
    return decide(sympy.simplify(limit - 2 / (sympy.pi**2 * c)) == 0, text, text)


_SIZES = (5, 10, 20, 40)


def _rho_of_one_queue(rate: str, size: int) -> arb:
    """rho of one queue of rate 1/2, U = 1."""
    from flint import arb

    from checks.methods.certified import ball

    both = ball(Fraction(rate)) + ball("1/2")
    return 1 - both + 2 * (ball(Fraction(rate)) / 2).sqrt() * (arb.pi() / (size + 1)).cos()


@rho_vs_s.check(
    method="certified",
    scope="general",
    false=[
        {"stable": "6.75, 13.47, 19.18, 38.37"},
        {"stable_mixing": "12, 34, 79, 165"},
        {"constants": "1.48, 1.48, 1.48, 1.48"},
        {"critical": "6.95, 13.90, 27.80, 55.60"},
    ],
    part="queue",
)
def numbers_of_one_queue(stable: str, stable_mixing: str, constants: str, critical: str) -> Finding:
    """Compute W^2 with Arb, and d at and before the mixing time in rationals.

    The part is about these queues. d comes from powers of the exact transition matrix. Among the refuted
    numbers are W^2 proportional to S at criticality, and a bounded C.
    """
    from checks.methods.certified import ball, precision

    found = []
    columns = zip(
        _SIZES,
        one_for_each("stable", stable, *_SIZES),
        one_for_each("stable_mixing", stable_mixing, *_SIZES),
        one_for_each("constants", constants, *_SIZES),
        one_for_each("critical", critical, *_SIZES),
        strict=True,
    )
    with precision(200):
        for size, w_told, mixing_told, constant_told, critical_told in columns:
            rho, mixing = (
                _rho_of_one_queue("1/4", size),
                whole("stable_mixing", mixing_told, 1, 1000),
            )
            chain = queue_or_tiers("half", "1/4", size, size, "1")
            found.append(decimal_of(inverse_log(rho), w_told, f"W^2, lambda 1/4, S {size}"))
            before, far = _around(chain, mixing)
            found.append(
                decide(
                    far <= Fraction(1, 4) < before,
                    f"S {size}: t_mix = {mixing}",
                    f"S {size}: d({mixing - 1}) = {decimal(before, 5)}, d({mixing}) = {decimal(far, 5)}",
                )
            )
            least = ball(chain.farthest(4 * mixing)) / rho ** (4 * mixing)
            found.append(decimal_of(least, constant_told, f"C, S {size}"))
            square = inverse_log(_rho_of_one_queue("1/2", size))
            found.append(decimal_of(square, critical_told, f"W^2, lambda 1/2, S {size}"))
    return combine(found)


@cache
def _around(chain: Chain, mixing: int) -> tuple[Fraction, Fraction]:
    return chain.farthest(mixing - 1), chain.farthest(mixing)


@rho_vs_s.check(
    method="certified",
    scope="general",
    false=[
        {"tiers": "18.05, 23.77, 29.33"},
        {"tiers_mixing": "29, 43, 57"},
        {"busy_tiers": "7.98, 10.47, 13.03"},
        {"busy_tiers_mixing": "17, 24, 32"},
    ],
    part="tiers",
)
def numbers_of_three_tiers(
    tiers: str, tiers_mixing: str, busy_tiers: str, busy_tiers_mixing: str
) -> Finding:
    """Isolate the eigenvalues of every threshold's exact matrix, and compute d in rationals.

    The part is about these networks: 20 to 56 states, rational characteristic polynomials, certified
    roots. The numbers of accepting all, in place of the largest over the thresholds, are refuted.
    """
    from checks.methods.certified import precision

    found = []
    limits = (3, 4, 5)
    for rate, clock, squares, mixings, slowest in (
        (
            *("1/4", "13/4", one_for_each("tiers", tiers, *limits)),
            *(one_for_each("tiers_mixing", tiers_mixing, *limits), None),
        ),
        (
            *("99/100", "399/100", one_for_each("busy_tiers", busy_tiers, *limits)),
            *(one_for_each("busy_tiers_mixing", busy_tiers_mixing, *limits), 0),
        ),
    ):
        for limit, w_told, mixing_told in zip(limits, squares, mixings, strict=True):
            case = f"tiers, lambda {rate}, S {limit}"
            moduli = _moduli(rate, limit, clock)
            top = limit if slowest is None else slowest
            with precision(100):
                largest = all(moduli[top] > m for theta, m in enumerate(moduli) if theta != top)
                found.append(
                    decide(
                        largest,
                        f"{case}: threshold {top}",
                        f"{case}: {top} has not the largest rho",
                    )
                )
                found.append(decimal_of(inverse_log(moduli[top]), w_told, f"W^2, {case}"))
            mixing = whole("mixing time", mixing_told, 1, 1000)
            far = _far_by_threshold(rate, limit, clock, mixing)
            before = _far_by_threshold(rate, limit, clock, mixing - 1)
            quarter = Fraction(1, 4)
            found.append(
                decide(
                    max(far) <= quarter and before[0] > quarter,
                    f"{case}: t_mix = {mixing}",
                    f"{case}: d({mixing - 1}) = {decimal(before[0], 4)} rejecting all, the largest "
                    f"d({mixing}) = {decimal(max(far), 4)}",
                )
            )
    return combine(found)


@cache
def _moduli(rate: str, limit: int, clock: str) -> tuple[arb, ...]:
    return tuple(
        queue_or_tiers("tiers", rate, limit, theta, clock).second_modulus()
        for theta in range(limit + 1)
    )


@cache
def _far_by_threshold(rate: str, limit: int, clock: str, steps: int) -> tuple[Fraction, ...]:
    return tuple(
        queue_or_tiers("tiers", rate, limit, theta, clock).farthest(steps)
        for theta in range(limit + 1)
    )
