"""How fast networks forget: mixing time, the rate of (21), and the dependence inside a module."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from checks.admission.instances import SOURCE
from checks.claim import Claim, Printed, Source
from checks.finding import (
    Finding,
    combine,
    decide,
    decimal,
    exact,
    one_of,
    proved,
    refuted,
    undecided,
)
from checks.judging import as_printed_decimal

if TYPE_CHECKING:
    from flint import arb

    from simlib.admission.network import Network


@dataclass(frozen=True, eq=False)
class Chain:
    """A finite chain with rational transition probabilities, as integers over common denominators.

    Attributes
    ----------
    matrix : flint.fmpz_mat
        Transition probabilities times ``scale``.
    scale : int
    law : tuple of int
        Stationary probabilities times ``mass``.
    mass : int
    """

    matrix: Any
    scale: int
    law: tuple[int, ...]
    mass: int

    @classmethod
    def of(cls, rows, law) -> Chain:
        """From rows and stationary law in Fractions.

        Raises
        ------
        ArithmeticError
            If the law is not stationary.
        """
        from flint import fmpz_mat

        scale = math.lcm(*(p.denominator for row in rows for p in row))
        mass = math.lcm(*(p.denominator for p in law))
        matrix = fmpz_mat([[int(p * scale) for p in row] for row in rows])
        weights = fmpz_mat([[int(p * mass) for p in law]])
        if weights * matrix != weights * scale:
            raise ArithmeticError("the law is not stationary")
        return cls(matrix, scale, tuple(int(p * mass) for p in law), mass)

    def rows(self, steps: int) -> tuple[list, int]:
        """Rows of the power of the matrix, as integers, and their denominator."""
        return (self.matrix**steps).tolist(), self.scale**steps

    def distances(self, steps: int) -> list[Fraction]:
        """Total variation distance to the stationary law after so many steps, from every state."""
        rows, unit = self.rows(steps)
        return [
            Fraction(
                sum(abs(int(p) * self.mass - q * unit) for p, q in zip(row, self.law, strict=True)),
                2 * unit * self.mass,
            )
            for row in rows
        ]

    def farthest(self, steps: int) -> Fraction:
        """d(t), the largest distance to the stationary law."""
        return max(self.distances(steps))

    def apart(self, steps: int) -> Fraction:
        """The largest distance of two starts."""
        rows, unit = self.rows(steps)
        return max(
            Fraction(sum(abs(int(p) - int(q)) for p, q in zip(one, other, strict=True)), 2 * unit)
            for one in rows
            for other in rows
        )

    def average(self, steps: int) -> Fraction:
        """The distance to the stationary law, averaged over a stationary start."""
        found = self.distances(steps)
        return (
            sum((q * far for q, far in zip(self.law, found, strict=True)), Fraction(0)) / self.mass
        )

    def mixes_at(self, steps: int) -> bool:
        """Whether this is the mixing time, the least t with d(t) <= 1/4."""
        quarter = Fraction(1, 4)
        return self.farthest(steps) <= quarter and (
            steps == 0 or self.farthest(steps - 1) > quarter
        )

    def second_modulus(self) -> arb:
        """A ball around the second-largest modulus of an eigenvalue (1 being counted once).

        Raises
        ------
        ArithmeticError
            If the balls of two different moduli overlap at the largest.
        """
        from flint import arb, fmpz_poly

        characteristic = self.matrix.charpoly()
        rest, remainder = divmod(characteristic, fmpz_poly([-self.scale, 1]))
        if remainder:
            raise ArithmeticError("1 is no eigenvalue")
        moduli = [abs(root) / self.scale for root, _ in rest.complex_roots()]
        largest = moduli[0]
        for modulus in moduli[1:]:
            largest = arb.max(largest, modulus)
        return largest


@cache
def queue_or_tiers(kind: str, arrival_rate: str, limit: int, theta: int, clock: str) -> Chain:
    """A network's chain under a threshold.

    Parameters
    ----------
    kind : {"queue", "tiers", "half"}
        One queue of rate 1, or of rate 1/2; or three tiers of one queue each, rates 1, half go on.
    arrival_rate, clock : str
        Rational lambda and U.
    limit, theta : int
        Largest number of jobs; admit below theta.
    """
    from simlib.admission.chain import stationary_exact, transition_matrix
    from simlib.admission.model import threshold

    network = _network(kind, arrival_rate)
    policy = threshold(theta, limit)
    points, rows = transition_matrix(network, limit, policy, Fraction(clock), exact=True)
    law = stationary_exact(network, limit, policy)
    return Chain.of(rows, [law[x] for x in points])


def _network(kind: str, arrival_rate: str) -> Network:
    from simlib.admission.network import tandem, three_tier

    if kind == "tiers":
        return three_tier(1, arrival_rate=Fraction(arrival_rate), rates=1)
    rates = {"queue": (Fraction(1),), "half": (Fraction(1, 2),)}
    return tandem(Fraction(arrival_rate), rates[kind])


def inverse_log(modulus: arb) -> arb:
    """W^2 = 1/log(1/rho) of a ball around rho."""
    return -1 / modulus.log()


def _decimal_of(value: arb, text: str, name: str) -> Finding:
    """Whether a decimal is a certified ball's value, rounded."""
    from checks.methods.certified import ball, quantity

    told, half = as_printed_decimal(name, text)
    shown = quantity(value, 12)
    if abs(value - ball(told)) <= ball(half):
        return proved(f"{name} = {shown.text}", **{name: shown})
    if abs(value - ball(told)) > ball(half):
        return refuted(f"{name} = {shown.text}, not {text.strip()}")
    return undecided(f"{name} = {shown.text}: too wide to compare with {text.strip()}")


# The mixing time and W --------------------------------------------------------------------------

mixing_w = Claim(
    "admission.mixing_w",
    title="The mixing time bounds W by its root over the root of log 2, not times it",
    source=Source(SOURCE, "Section 6"),
    kind="proposition",
    statement=r"""
Let $P$ be the transition matrix of a finite chain with stationary law $\nu$, $d(t)$ the largest total
variation distance of $P^t(x,\cdot)$ from $\nu$ over the starts $x$, $t_{mix}$ the least $t$ with
$d(t)\le\frac14$, and $\bar d(t)$ the largest distance of $P^t(x,\cdot)$ from $P^t(y,\cdot)$.

1. $d\le\bar d\le<<twice>>\,d$, and $\bar d(s+t)\le\bar d(s)\,\bar d(t)$.
2. $d(k\,t_{mix})\le<<base>>^{-k}$ for $k=1,2,\dots$, and for all $t$
   $d(t)\le<<constant>>\cdot2^{-t/t_{mix}}$. No constant below <<constant>> will do for all chains.
3. So $d(t)\le C\rho^t$ with $C=<<constant>>$ and $\rho=2^{-1/t_{mix}}$; then $W=\log^{-1/2}(1/\rho)$ is
   $\sqrt{<<factor>>\;t_{mix}}$.
4. If two copies of the chain started at $x$ and $y$ meet after $\tau_{x,y}$ steps and stay together,
   $t_{mix}\le<<coupling>>\max_{x,y}E\tau_{x,y}$.
5. $W\le\sqrt{t_{mix}\log2}$ is false. Take one queue, $\lambda=\mu=1$, $S=1$. With $U=4$ and all
   accepted, $d(t)=2^{-t-1}$ and $t_{mix}=1$. No $\rho<\frac12$ will do, whatever $C$ is, so $W$ is at
   least <<w_accepting>>, above <<printed_accepting>>. With $U=2$ the slowest policy rejects all:
   $d(t)=2^{-t}$, $t_{mix}=2$, and $W$ is at least <<w_rejecting>>, above <<printed_rejecting>>.
""",
    claimed={
        "twice": "2",
        "base": "2",
        "constant": "2",
        "factor": r"\tfrac1{\log2}",
        "coupling": "4",
        "w_accepting": "1.2011",
        "printed_accepting": "0.8326",
        "w_rejecting": "1.2011",
        "printed_rejecting": "1.1774",
    },
    parts={
        "distances": "the two distances",
        "powers": "multiples of the mixing time",
        "W": "W from the mixing time",
        "coupling": "the mixing time from a coupling",
        "counterexample": "one queue",
    },
    as_printed=Printed(
        numbers={"factor": r"\log2"},
        says=r"W <= sqrt(t_mix log 2)",
        correct=r"W <= sqrt(t_mix / log 2); with one queue and S = 1, W^2 = 1/log 2 and t_mix = 1",
    ),
    uncovered=(
        "what the source means by W: its definition did not survive, and this is the only reading that "
        "fits the inequality"
    ),
)

_QUEUE = ("queue", "1", 1, 1, "4")  # lambda = mu = 1, S = 1, all accepted, U = 4


@mixing_w.check(method="symbolic", scope="general", false={"twice": "1.9"}, part="distances")
def contraction(twice: str) -> Finding:
    """Write u P for a vector u of sum 0 as a mixture of differences of rows, for any number of states.

    With u = u+ - u-, both parts of mass m: m (uP)(z) = sum over x, y of u+(x) u-(y) (P(x,z) - P(y,z)),
    so by the triangle inequality |uP| <= (1/m) m m 2 dbar = dbar |u|. With u = P^s(x,.) - P^s(y,.) this
    is dbar(s+t) <= dbar(s) dbar(t); with unit mass at x less nu it is d <= dbar. The upper bound is the
    triangle inequality once more. A smaller factor is refuted by one queue.
    """
    import sympy
    import z3
    from sympy import IndexedBase, Sum, factor_terms

    from checks.methods.smt import implies

    n = sympy.symbols("n", integer=True, positive=True)
    x = sympy.symbols("x", integer=True, positive=True)
    plus, minus, row = IndexedBase("u_plus"), IndexedBase("u_minus"), IndexedBase("P_z")
    mass, weight, entry, image = sympy.symbols("m u_x P_xz V_z")

    def over(term):
        return factor_terms(Sum(sympy.expand(term), (x, 1, n)).expand())

    inner = over(minus[x] * weight * (entry - row[x]))
    inner = inner.subs(Sum(minus[x], (x, 1, n)), mass)
    inner = sympy.expand(inner).subs(Sum(minus[x] * row[x], (x, 1, n)), image)
    outer = over(inner.subs({weight: plus[x], entry: row[x]}))
    outer = sympy.expand(outer).subs(Sum(plus[x], (x, 1, n)), mass)
    wanted = mass * (Sum(plus[x] * row[x], (x, 1, n)) - image)
    if sympy.expand(outer - wanted) != 0:
        return undecided(f"the mixture leaves {sympy.expand(outer - wanted)}")
    chain, factor = queue_or_tiers(*_QUEUE), Fraction(twice)
    if chain.apart(1) > factor * chain.farthest(1):
        return refuted(
            f"one queue after a step: dbar = {chain.apart(1)}, d = {chain.farthest(1)}, and "
            f"{chain.apart(1)} > {factor} * {chain.farthest(1)}"
        )
    p, q, r = z3.Reals("p q r")

    def size(value):
        return z3.If(value >= 0, value, -value)

    triangle = implies([factor >= 2], size(p - q) <= size(p - r) + size(q - r), "triangle")
    return combine(
        [triangle], "m uP is the mixture of differences of rows, for any number of states"
    )


@mixing_w.check(method="exact", scope="instances", false={"twice": "1.9"}, part="distances")
def distances_of_networks(twice: str) -> Finding:
    """Compute d and dbar of one queue and of three tiers, in rationals, at 1, 2, 4, ..., 32 steps."""
    factor, compared = Fraction(twice), 0
    chains = {"one queue": queue_or_tiers(*_QUEUE)}
    for theta in range(4):
        chains[f"three tiers, threshold {theta}"] = queue_or_tiers("tiers", "1/4", 3, theta, "13/4")
    for name, chain in chains.items():
        far = {2**k: chain.farthest(2**k) for k in range(6)}
        apart = {2**k: chain.apart(2**k) for k in range(6)}
        for t in far:
            compared += 1
            if not far[t] <= apart[t] <= factor * far[t]:
                return refuted(
                    f"{name}, t = {t}: d = {decimal(far[t], 6)}, dbar = {decimal(apart[t], 6)}"
                )
            if 2 * t in apart and apart[2 * t] > apart[t] ** 2:
                return refuted(f"{name}: dbar({2 * t}) > dbar({t})^2")
    return proved(f"{compared} pairs of distances", pairs=exact(compared))


@mixing_w.check(
    method="symbolic",
    scope="general",
    false=[{"base": "21/10"}, {"base": "4"}, {"constant": "1"}, {"constant": "1.99"}],
    part="powers",
)
def powers_of_the_mixing_time(base: str, constant: str) -> Finding:
    """Raise 2 d(t_mix) <= 1/2 to the power k, and put any t between two multiples of the mixing time.

    With t = k t_mix + r, 0 <= r < t_mix: d(t) <= dbar(k t_mix) <= 2^-k = 2^(r/t_mix) 2^(-t/t_mix). A
    larger base is refuted by one queue with d(k) = 2^-k/2, a smaller constant by words of m letters out
    of B of which each step drops the first and appends a random one: d(t) = 1 - B^-(m-t), t_mix = m.
    """
    import sympy

    b, c = Fraction(base), Fraction(constant)
    k, r, m = sympy.symbols("k r m", positive=True)
    power = sympy.simplify(2 ** (-k) / (2 ** (r / m) * 2 ** (-(k * m + r) / m)))
    found = [decide(power == 1, "2^-k = 2^(r/m) 2^(-(km+r)/m)", f"the quotient is {power}")]
    if b <= 2:
        found.append(proved("(2/4)^k = 2^-k"))
    else:
        k_bad = next((n for n in range(1, 2000) if (b / 2) ** n > 2), 0)
        if not k_bad:
            return undecided(f"base {b}: no small power decides")
        text = f"one queue, t_mix = 1: d({k_bad}) = 2^-{k_bad + 1} > ({b})^-{k_bad}"
        found.append(refuted(text))
    if c >= 2:
        found.append(proved("2^(r/m) < 2 for r < m"))
    else:
        found.append(_words_against(c))
    return combine(found)


def _words_against(constant: Fraction) -> Finding:
    """Words of m letters out of B with d(m-1) = 1 - 1/B above constant 2^-(m-1)/m."""
    for length, letters in ((2, 4), (4, 30), (20, 200), (200, 2000)):
        far = 1 - Fraction(1, letters)
        if (far / constant) ** length > Fraction(1, 2 ** (length - 1)):
            return refuted(
                f"words of {length} letters out of {letters}: t_mix = {length}, "
                f"d({length - 1}) = {far} > {constant} * 2^(-{length - 1}/{length})"
            )
    return undecided(f"constant {constant}: no words of up to 200 letters decide")


@mixing_w.check(
    method="exact", scope="instances", false=[{"constant": "1"}, {"base": "4"}], part="powers"
)
def powers_on_chains(constant: str, base: str) -> Finding:
    """Compute d at every step up to twice the mixing time, for words, one queue and three tiers.

    In rationals; words of two letters out of four, 16 states. d(t) <= C 2^(-t/t_mix) is compared after
    raising it to the power t_mix.
    """
    c, b, compared = Fraction(constant), Fraction(base), 0
    cases = {
        "words of 2 letters out of 4": (_words(4, 2), 2),
        "one queue": (queue_or_tiers(*_QUEUE), 1),
        "three tiers, accepting all": (queue_or_tiers("tiers", "1/4", 3, 3, "13/4"), 29),
        "three tiers, rejecting all": (queue_or_tiers("tiers", "1/4", 3, 0, "13/4"), 53),
    }
    for name, (chain, mixing) in cases.items():
        if not chain.mixes_at(mixing):
            return undecided(f"{name}: the mixing time is not {mixing}")
        for t in sorted({*range(0, 2 * mixing + 1, max(1, mixing // 8)), mixing - 1, 2 * mixing}):
            compared += 1
            far = chain.farthest(t)
            if far**mixing > c**mixing / 2**t:
                return refuted(f"{name}: d({t}) = {decimal(far, 6)} > {c} * 2^(-{t}/{mixing})")
            if t and t % mixing == 0 and far > 1 / b ** (t // mixing):
                return refuted(f"{name}: d({t}) = {decimal(far, 6)} > {b}^-{t // mixing}")
    return proved(f"{compared} distances", distances=exact(compared))


@cache
def _words(letters: int, length: int) -> Chain:
    """The chain on words that drops the first letter and appends a random one."""
    size = letters**length
    rows = [[Fraction(0)] * size for _ in range(size)]
    for word in range(size):
        for letter in range(letters):
            rows[word][word * letters % size + letter] = Fraction(1, letters)
    return Chain.of(rows, [Fraction(1, size)] * size)


_FACTORS = (r"\tfrac1{\log2}", r"\log2")


@mixing_w.check(method="symbolic", scope="general", false={"factor": r"\log2"}, part="W")
def w_from_the_mixing_time(factor: str) -> Finding:
    """Compute W^2 = 1/log(1/rho) for rho = 2^(-1/t_mix), for every mixing time.

    The source's factor is refuted by one queue under the policy that mixes slowest: U = 2, rejecting
    all, t_mix = 2, where rho = 1/2 is the least with d(t) = 2^-t <= C rho^t. Arb compares.
    """
    import sympy

    from checks.methods.certified import ball, precision

    one_of("factor", factor, *_FACTORS)
    t = sympy.Symbol("t", positive=True)
    square = sympy.simplify(1 / sympy.log(1 / 2 ** (-1 / t)))
    stated = t / sympy.log(2) if factor == _FACTORS[0] else t * sympy.log(2)
    if sympy.simplify(sympy.expand_log(square, force=True) - stated) == 0:
        return proved("1/log(2^(1/t)) = t/log 2")
    with precision(100):
        w_square, bound = 1 / ball(2).log(), 2 * ball(2).log()
        if w_square > bound:
            return refuted(
                "one queue, U = 2, rejecting all, t_mix = 2: W^2 = 1/log 2 = "
                f"{w_square.str(6, radius=False)} > {bound.str(6, radius=False)} = t_mix log 2"
            )
    return undecided("the two sides are not separated")


@mixing_w.check(method="smt", scope="general", false={"coupling": "1.3"}, part="coupling")
def mixing_from_coupling(coupling: str) -> Finding:
    """Ask z3 for Markov's inequality at the last step before c E tau, over all means.

    d(t) is at most P(tau > t) = P(tau >= t + 1) <= E tau/(t + 1), which is 1/4 or less once t + 1 >= 4 E
    tau. A factor of 1.3 is refuted by one queue of rate 1, U = 100, rejecting all: two copies meet when
    it serves, after 100 steps in the mean; d(t) = (99/100)^t, and t_mix = 138.
    """
    import z3

    from checks.methods.smt import implies, real

    chain, mean, mixing = queue_or_tiers("queue", "1", 1, 0, "100"), 100, 138
    if chain.mixes_at(mixing) and mixing > Fraction(coupling) * mean:
        return refuted(f"one queue, U = 100: t_mix = {mixing} > {coupling} * {mean}")
    p, t, e = z3.Reals("p t mean")
    markov = [e >= 1, t >= 0, p * (t + 1) <= e, p >= 0, t + 1 >= real(coupling) * e]
    found = implies(markov, p <= real("1/4"), "P(tau > t) <= 1/4")
    return found if found.outcome == "proved" else undecided("Markov's inequality is not enough")


@mixing_w.check(
    method="certified",
    scope="general",
    false=[
        {"w_accepting": "0.8326"},
        {"printed_accepting": "1.2011"},
        {"w_rejecting": "1.1774"},
        {"printed_rejecting": "1.2011"},
    ],
    part="counterexample",
)
def one_queue(
    w_accepting: str, printed_accepting: str, w_rejecting: str, printed_rejecting: str
) -> Finding:
    """Compute d of the two chains for all t, and both sides of the source's inequality with Arb.

    The matrices are the model's; their powers follow by induction. If 2^-t <= C rho^t for all t, with
    any C, then rho >= 1/2, so W^2 >= 1/log 2. The part is about these two chains.
    """
    import sympy

    from checks.methods.certified import ball, precision
    from simlib.admission.chain import transition_matrix
    from simlib.admission.network import tandem

    network, t = tandem(1, (1,)), sympy.Symbol("t", positive=True)
    halves, one = sympy.Rational(1, 2), sympy.Integer(1)
    decay = 2 ** (-t)
    closed = {
        "accepting": (
            [1],
            4,
            sympy.Matrix([[one + decay, one - decay], [one - decay, one + decay]]) * halves,
            sympy.Matrix([halves, halves]).T,
            decay * halves,
            1,
        ),
        "rejecting": (
            [0],
            2,
            sympy.Matrix([[one, 0], [one - decay, decay]]),
            sympy.Matrix([one, 0]).T,
            decay,
            2,
        ),
    }
    found = []
    told = {
        "accepting": (w_accepting, printed_accepting),
        "rejecting": (w_rejecting, printed_rejecting),
    }
    for name, (policy, clock, power, law, far, mixing) in closed.items():
        rows = transition_matrix(network, 1, policy, clock, exact=True)[1]
        step = sympy.Matrix([[sympy.Rational(*p.as_integer_ratio()) for p in row] for row in rows])
        induction = sympy.simplify(power * step - power.subs(t, t + 1))
        start = power.subs(t, 0) - sympy.eye(2)
        stays = law * step - law
        gaps = [sum(abs(power[x, z] - law[z]) for z in (0, 1)) / 2 for x in (0, 1)]
        largest = sympy.simplify(sympy.Max(*gaps) - far)
        chain = queue_or_tiers("queue", "1", 1, policy[0], str(clock))
        right = induction.is_zero_matrix and start.is_zero_matrix and stays.is_zero_matrix
        found.append(
            decide(
                bool(right) and largest == 0 and chain.mixes_at(mixing),
                f"{name}: d(t) = {far}, t_mix = {mixing}",
                f"{name}: d(t) or the mixing time is another",
            )
        )
        with precision(100):
            w, bound = (1 / ball(2).log()).sqrt(), (mixing * ball(2).log()).sqrt()
            found.append(_decimal_of(w, told[name][0], f"least W, {name}"))
            found.append(_decimal_of(bound, told[name][1], f"sqrt(t_mix log 2), {name}"))
            found.append(
                decide(bool(w > bound), f"{name}: W is larger", f"{name}: W is not larger")
            )
    return combine(found)


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

    chain = queue_or_tiers(*_QUEUE)
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
        *(text.split(",") for text in (stable, stable_mixing, constants, critical)),
        strict=True,
    )
    with precision(200):
        for size, w_told, mixing_told, constant_told, critical_told in columns:
            rho, mixing = _rho_of_one_queue("1/4", size), int(mixing_told)
            chain = queue_or_tiers("half", "1/4", size, size, "1")
            found.append(_decimal_of(inverse_log(rho), w_told, f"W^2, lambda 1/4, S {size}"))
            before, far = _around(chain, mixing)
            found.append(
                decide(
                    far <= Fraction(1, 4) < before,
                    f"S {size}: t_mix = {mixing}",
                    f"S {size}: d({mixing - 1}) = {decimal(before, 5)}, d({mixing}) = {decimal(far, 5)}",
                )
            )
            least = ball(chain.farthest(4 * mixing)) / rho ** (4 * mixing)
            found.append(_decimal_of(least, constant_told, f"C, S {size}"))
            square = inverse_log(_rho_of_one_queue("1/2", size))
            found.append(_decimal_of(square, critical_told, f"W^2, lambda 1/2, S {size}"))
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
    for rate, clock, squares, mixings, slowest in (
        ("1/4", "13/4", tiers, tiers_mixing, None),
        ("99/100", "399/100", busy_tiers, busy_tiers_mixing, 0),
    ):
        for limit, w_told, mixing_told in zip(
            (3, 4, 5), squares.split(","), mixings.split(","), strict=True
        ):
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
                found.append(_decimal_of(inverse_log(moduli[top]), w_told, f"W^2, {case}"))
            mixing = int(mixing_told)
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
