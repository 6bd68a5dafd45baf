"""The flow-equivalent rates of networks grow ever more slowly."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from checks.admission.birth_death import listed
from checks.admission.instances import SOURCE
from checks.claim import Claim, Source
from checks.finding import PROVED, Finding, combine, one_of, proved, refuted, undecided

if TYPE_CHECKING:
    from simlib.admission.network import Network

_SHAPES = ("concave", "convex")
_ADDED = ("one server or infinitely many", "any nondecreasing rate")

concave_rates = Claim(
    "admission.concave_rates",
    title="Flow-equivalent rates of single servers and delays are nondecreasing and <<shape>>",
    source=Source(SOURCE, "Section 7", provenance="ours"),
    kind="proposition",
    statement=r"""
Let $m(1),m(2),\dots$ be the flow-equivalent rates of a product-form network, $m(s)=H(s-1)/H(s)$ with
its normalizing constants $H$, and $m(0)=0$. Add a station with <<added>>, visit ratio $v$ and rate
$\kappa v$ of a server: the constants become $G(s)=\sum_{k\le s}f(k)H(s-k)$ with $f(k)=\kappa^{-k}$ or
$\kappa^{-k}/k!$, the rates $\mu(s)=G(s-1)/G(s)$.

1. If $m$ is nondecreasing and <<shape>> on $\{0,\dots,S\}$, then so is $\mu$.
2. Hence the flow-equivalent rates are nondecreasing and <<shape>> in every product-form network whose
   stations have one server or infinitely many each, but for at most one station with any number of them.
""",
    claimed={"shape": _SHAPES[0], "added": _ADDED[0]},
    meaning={"shape": "shape of the rates", "added": "what is added to the network"},
    parts={
        "one server more": "adding one server",
        "one delay more": "adding infinitely many servers",
        "first station": "a network of one station",
    },
    uncovered="networks with two or more stations of several (finitely many) servers; the literature "
    "has a theorem for stations of concave rates",
)


@concave_rates.check(
    method="symbolic",
    scope="general",
    part="one server more",
    false=[{"shape": _SHAPES[1]}, {"added": _ADDED[1]}],
)
def one_server_more(shape: str, added: str) -> Finding:
    """Induction on s: the chance v(s) = H(s)/G(s) that the new station is empty is convex in s.

    With a(s) = (m(s) - mu(s-1))/kappa: v(s) = v(s-1)/(1 + a(s)), a(s+1) = a(s)(1 - v(s)) + (m(s+1) -
    m(s))/kappa, and v(s-1) - 2 v(s) + v(s+1) >= 0 if and only if a(s+1) <= a(s)(1 + a(s+1)). SymPy
    decides the identities, z3 that this inequality passes on to s + 1. Others are refuted by networks.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    h0, h1, h2, g0, x = sympy.symbols("H(s-1) H(s) H(s+1) G(s-1) x", positive=True)
    single = one_of("added", added, *_ADDED) == _ADDED[0]
    later = sympy.Integer(0) if single else sympy.Symbol("c")  # what else there is in the sum
    g1 = h1 + x * g0 + later
    g2 = h2 + x * g1 + later
    v0, v1, v2 = h0 / g0, h1 / g1, h2 / g2
    a1, a2 = x * h0 / h1 - (1 - v0), x * h1 / h2 - (1 - v1)
    step = x * (h1 / h2 - h0 / h1)
    point = {h0: 1, h1: 1, h2: 1, g0: 1, x: 1, **({} if single else {later: 1})}
    a, nxt, before, v, v_before, rise, rise_next = z3.Reals(
        "a(s) a(s+1) a(s-1) v(s) v(s-1) e(s) e(s+1)"
    )
    grow = [rise >= 0, rise_next >= 0, v_before > 0, v_before <= 1, a >= 0, v * (1 + a) == v_before]
    concave = one_of("shape", shape, *_SHAPES) == _SHAPES[0]
    grow.append(rise_next <= rise if concave else rise_next >= rise)
    good = nxt <= a * (1 + nxt) if concave else nxt >= a * (1 + nxt)
    good_before = a <= before * (1 + a) if concave else a >= before * (1 + a)
    empty = identity(1 - x * g0 / g1, v1, "v(s) = 1 - mu(s)/kappa", at=[point])
    if empty.outcome != PROVED:
        return _other_shape(shape, added) or undecided(empty.witness)
    proof = combine(
        [
            empty,
            identity(v1 * (1 + a1), v0, "v(s) (1 + a(s)) = v(s-1)"),
            identity(a2, a1 * (1 - v1) + step, "a(s+1)"),
            identity(v0 - 2 * v1 + v2, v1 * (a1 - a2 / (1 + a2)), "second difference"),
            implies(
                [*grow, v_before == 1, a == rise, nxt == a * (1 - v) + rise_next], good, "s = 1"
            ),
            implies(
                [
                    *grow,
                    *(before >= 0, a == before * (1 - v_before) + rise, good_before),
                    nxt == a * (1 - v) + rise_next,
                ],
                good,
                "from s - 1 to s",
            ),
            implies(
                [*grow, nxt == a * (1 - v) + rise_next],
                z3.And(nxt >= 0, v > 0, v <= v_before),
                "a is not negative, so v does not grow and mu does not fall",
            ),
            implies(
                [a >= 0, nxt >= 0, v > 0, good],
                (a * (1 + nxt) - nxt) * v >= 0 if concave else (a * (1 + nxt) - nxt) * v <= 0,
                "sign of the second difference, times 1 + a(s+1)",
            ),
        ],
        "v is convex, so mu = kappa (1 - v) is concave",
    )
    if proof.outcome == PROVED:
        return proof
    return _other_shape(shape, added) or undecided(proof.witness)


@concave_rates.check(
    method="symbolic", scope="general", part="one delay more", false={"added": _ADDED[1]}
)
def one_delay_more(shape: str, added: str) -> Finding:
    """Let x = 1/kappa grow from 0: the differences of mu obey linear equations whose sources are >= 0.

    The derivative of G(s) is G(s-1), as that of x^k/k! is x^(k-1)/(k-1)!. So with D(s) = mu(s) - mu(s-1)
    and E(s) = D(s) - D(s+1) the derivatives are D' = -mu(s) D(s) + mu(s-1) D(s-1) and E' = -(mu(s) +
    2 D(s) - E(s)) E(s) + mu(s-1) E(s-1). By induction on s neither changes its sign (mu(0) = 0, and at
    x = 0 the rates are m). Any other weights are refuted by a station of rate k^2.
    """
    import sympy

    from checks.methods.symbolic import identity

    one_of("shape", shape, *_SHAPES)
    x, k, f = sympy.symbols("x k f(k)", positive=True)
    before, ratio = sympy.symbols("f(k-1) r")  # f(k+1) = r f(k)
    delay = one_of("added", added, *_ADDED) == _ADDED[0]
    # f(k) = x f(k-1)/k and f(k)' = f(k-1) give f(k+1)' = f(k); other stations have another ratio.
    slope = (f + x * before) / (k + 1) if delay else ratio * before
    weights = identity(slope.subs(before, k * f / x), f, "derivative of f(k+1)")
    if weights.outcome != PROVED:
        return _other_shape(shape, added) or undecided(weights.witness)
    g0, g1, g2 = sympy.symbols("G(s-2) G(s-1) G(s)", positive=True)
    u0, u1, u2, u3 = sympy.symbols("mu(s-2) mu(s-1) mu(s) mu(s+1)", positive=True)
    d1, d2, d3 = u1 - u0, u2 - u1, u3 - u2
    e1, e2 = d1 - d2, d2 - d3
    r1, r2, r3 = -u1 * d1, -u2 * d2, -u3 * d3  # derivatives of mu(s-1), mu(s), mu(s+1)
    growth, value, source = (sympy.Function(name)(x) for name in ("K", "E", "r"))
    lifted = sympy.diff(value * sympy.exp(growth), x).subs(
        sympy.diff(value, x), source - sympy.diff(growth, x) * value
    )
    return combine(
        [
            weights,
            identity(
                (g0 * g2 - g1 * g1) / g2**2, -(g1 / g2) * (g1 / g2 - g0 / g1), "derivative of mu(s)"
            ),
            identity(r2 - r1, -u2 * d2 + u1 * d1, "derivative of D(s)"),
            identity(
                (r2 - r1) - (r3 - r2), -(u2 + 2 * d2 - e2) * e2 + u1 * e1, "derivative of E(s)"
            ),
            identity(lifted, source * sympy.exp(growth), "E exp(K) grows if its source is >= 0"),
        ],
        "D and E keep their signs for every x > 0",
    )


def _has_shape(rates: Sequence, shape: str) -> bool:
    """Whether 0 and the rates are nondecreasing and concave, or convex."""
    steps = [b - a for a, b in pairwise((0, *rates))]
    return steps[-1] >= 0 <= steps[0] and steps == sorted(steps, reverse=shape == _SHAPES[0])


def _other_shape(shape: str, added: str) -> Finding | None:
    """Refuted by one server with a station that serves all its jobs at once, or is faster still."""
    weights = [Fraction(1, math.factorial(s)) for s in range(6)]
    if added == _ADDED[0]:
        other, name = [Fraction(1)] * 6, "one server"
    else:
        other, name = [weight**2 for weight in weights], "rates k^2"
    constants = [sum(weights[k] * other[s - k] for k in range(s + 1)) for s in range(6)]
    rates = [a / b for a, b in pairwise(constants)]
    if _has_shape(rates, shape):
        return None
    return refuted(f"infinitely many servers and a station with {name}: mu = ({listed(rates)})")


@concave_rates.check(
    method="smt", scope="general", part="first station", false={"shape": _SHAPES[1]}
)
def first_station(shape: str) -> Finding:
    """Rates min(s, c), for any number c of servers, also infinite: increments 1 up to c, 0 beyond."""
    import z3

    from checks.methods.smt import implies

    s, servers = z3.Ints("s c")

    def rate(jobs: z3.ArithRef) -> z3.ArithRef:
        return z3.If(jobs <= servers, jobs, servers)

    bent = rate(s + 1) + rate(s - 1) - 2 * rate(s)
    concave = one_of("shape", shape, *_SHAPES) == _SHAPES[0]
    return combine(
        [
            implies(
                [s >= 1, servers >= 1], bent <= 0 if concave else bent >= 0, "second difference"
            ),
            implies([s >= 1, servers >= 1], rate(s) >= rate(s - 1), "nondecreasing"),
        ],
        "min(s, c) is nondecreasing and concave; the other stations are added one by one",
    )


def _networks(count: int) -> Iterator[tuple[Network, str]]:
    """Drawn stations side by side, at most one of them with several servers."""

    from simlib.admission.network import Network

    source = random.Random(17)
    for _ in range(count):
        n = source.randint(2, 5)
        shares = [source.randint(1, 5) for _ in range(n)]
        servers = (source.randint(1, 4), *(source.choice((1, 1, math.inf)) for _ in range(n - 1)))
        speeds = [Fraction(source.randint(1, 12), 4) for _ in range(n)]
        external = [Fraction(share, sum(shares)) for share in shares]
        name = f"rates {listed(speeds)}, shares {listed(external)}, servers {listed(servers)}"
        yield Network(1, [[0] * n] * n, speeds, servers, external), name


@concave_rates.check(
    method="exact", scope="instances", part="one server more", false={"shape": _SHAPES[1]}
)
def rates_of_drawn_networks(shape: str) -> Finding:
    """60 drawn networks of 2 to 5 stations, S = 8, in rationals by convolution."""

    from simlib.admission.product_form import flow_equivalent_rates

    for network, name in _networks(60):
        rates = flow_equivalent_rates(network, 8)
        if not _has_shape(rates, one_of("shape", shape, *_SHAPES)):
            return refuted(f"{name}: mu = ({listed(rates)})")
    return proved("60 networks")
