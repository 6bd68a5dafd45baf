"""How fast networks forget: the mixing time, W, and the samples of a module."""

from __future__ import annotations

import itertools
from fractions import Fraction
from functools import cache

from checks.admission.finite_chains import ONE_QUEUE, Chain, decimal_of, queue_or_tiers
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
    settle,
    undecided,
)
from checks.judging import one_for_each

# The mixing time and W --------------------------------------------------------------------------

mixing_w = Claim(
    "admission.mixing_w",
    title="The mixing time bounds W by its root over the root of log 2, not times it",
    source=Source(SOURCE, "Section 6"),
    kind="proposition",
    statement=r"""
Let $P$ be the transition matrix of a chain on finitely many, but at least two, states, with stationary
law $\nu$, $d(t)$ the largest total variation distance of $P^t(x,\cdot)$ from $\nu$ over the starts $x$,
$t_{mix}$ the least $t$ with $d(t)\le\frac14$ (let there be one), and $\bar d(t)$ the largest distance of
$P^t(x,\cdot)$ from $P^t(y,\cdot)$.

1. $d\le\bar d\le<<twice>>\,d$, and $\bar d(s+t)\le\bar d(s)\,\bar d(t)$.
2. $d(k\,t_{mix})\le<<base>>^{-k}$ for $k=1,2,\dots$, and for all $t$
   $d(t)\le<<constant>>\cdot2^{-t/t_{mix}}$. No constant below <<constant>> will do for all chains.
3. So $d(t)\le C\rho^t$ with $C=<<constant>>$ and $\rho=2^{-1/t_{mix}}$. Then $W=\log^{-1/2}(1/\rho)$
   satisfies $W^2=<<factor>>\;t_{mix}$.
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
        correct=(
            "W <= sqrt(t_mix / log 2); with one queue, S = 1, U = 2, and all rejected, which mixes "
            "slowest, W^2 = 1/log 2 = 1.4427 is more than t_mix log 2 = 2 log 2 = 1.3863"
        ),
    ),
    uncovered=(
        "what the source means by W: its definition did not survive, and this is the only reading that "
        "fits the inequality; the coupling inequality d(t) <= max P(tau > t), which is used as known"
    ),
)


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

    from checks.methods.smt import implies, real

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
    chain, factor = queue_or_tiers(*ONE_QUEUE), Fraction(twice)
    if chain.apart(1) > factor * chain.farthest(1):
        return refuted(
            f"one queue after a step: dbar = {chain.apart(1)}, d = {chain.farthest(1)}, and "
            f"{chain.apart(1)} > {factor} * {chain.farthest(1)}"
        )
    p, q, r = z3.Reals("p q r")
    apart, first, second, far = z3.Reals("dbar d_x d_y d")

    def size(value):
        return z3.If(value >= 0, value, -value)

    return combine(
        [
            implies([], size(p - q) <= size(p - r) + size(q - r), "triangle"),
            implies(
                [apart <= first + second, first <= far, second <= far, far >= 0],
                apart <= real(factor) * far,
                "dbar from d",
            ),
        ],
        "m uP is the mixture of differences of rows, for any number of states; |p - q| <= |p - r| + "
        "|q - r|",
    )


@mixing_w.check(method="exact", scope="instances", false={"twice": "1.9"}, part="distances")
def distances_of_networks(twice: str) -> Finding:
    """Compute d and dbar of one queue and of three tiers, in rationals, at 1, 2, 4, ..., 32 steps."""
    factor, compared = Fraction(twice), 0
    chains = {"one queue": queue_or_tiers(*ONE_QUEUE)}
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
    false=[{"base": "21/10"}, {"base": "4"}, {"constant": "1.99"}, {"constant": "2.01"}],
    part="powers",
)
def powers_of_the_mixing_time(base: str, constant: str) -> Finding:
    """Raise 2 d(t_mix) <= 1/2 to the power k, and put any t between two multiples of the mixing time.

    With t = k t_mix + r, 0 <= r < t_mix: d(t) <= dbar(k t_mix) <= 2^-k = 2^(r/t_mix) 2^(-t/t_mix). A
    larger base is refuted by one queue with d(k) = 2^-k/2, a smaller constant by words of m letters out
    of B of which each step drops the first and appends a random one: d(t) = 1 - B^-(m-t), t_mix = m.
    For large B and m the constants that they need tend to 2; one above 2 is refuted, as 2 will do.
    """
    import sympy

    b, c = Fraction(base), Fraction(constant)
    k, r, m = sympy.symbols("k r m", positive=True)
    power = sympy.simplify(2 ** (-k) / (2 ** (r / m) * 2 ** (-(k * m + r) / m)))
    found = [decide(power == 1, "2^-k = 2^(r/m) 2^(-(km+r)/m)", f"the quotient is {power}")]
    if b <= 2:
        found.append(decide(Fraction(2, 4) <= 1 / b, f"(2/4)^k <= ({b})^-k", "2/4 is larger"))
    else:
        k_bad = next((n for n in range(1, 2000) if (b / 2) ** n > 2), 0)
        if not k_bad:
            return undecided(f"base {b}: no small power decides")
        text = f"one queue, t_mix = 1: d({k_bad}) = 2^-{k_bad + 1} > ({b})^-{k_bad}"
        found.append(refuted(text))
    if c >= 2:
        u = sympy.symbols("u", nonnegative=True)
        rises = sympy.diff(2**u, u).is_positive and 2 ** u.subs(u, 1) <= c
        found.append(decide(bool(rises), f"2^(r/m) < 2 <= {c} for r < m", "2^u does not rise"))
        letters = sympy.symbols("B", positive=True)
        needed = (1 - 1 / letters) * 2 ** ((m - 1) / m)  # d(m-1) 2^((m-1)/m)
        least = sympy.limit(sympy.limit(needed, letters, sympy.oo), m, sympy.oo)
        found.append(
            decide(
                least == sympy.Rational(c.numerator, c.denominator),
                f"words need constants that tend to {least}",
                f"{least} will do for all chains, and is below {c}",
            )
        )
    else:
        found.append(_words_against(c))
    return combine(found)


def _words_against(constant: Fraction) -> Finding:
    """Words of m letters out of B with d(m-1) = 1 - 1/B above constant 2^-(m-1)/m."""
    for length, letters in ((2, 4), (4, 30), (20, 200), (200, 2000), (20000, 10**6)):
        far = 1 - Fraction(1, letters)
        if (far / constant) ** length > Fraction(1, 2 ** (length - 1)):
            return refuted(
                f"words of {length} letters out of {letters}: t_mix = {length}, "
                f"d({length - 1}) = {far} > {constant} * 2^(-{length - 1}/{length})"
            )
    return undecided(f"constant {constant}: no words of up to 20000 letters decide")


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
        "one queue": (queue_or_tiers(*ONE_QUEUE), 1),
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
            found.append(decimal_of(w, told[name][0], f"least W, {name}"))
            found.append(decimal_of(bound, told[name][1], f"sqrt(t_mix log 2), {name}"))
            found.append(
                settle(w > bound, w <= bound, f"{name}: W is larger", f"{name}: W is not larger")
            )
    return combine(found)


# Inside a module --------------------------------------------------------------------------------

module_independence = Claim(
    "admission.module_independence",
    title="Samples of a module are nearly independent: their laws differ by the average distance",
    source=Source(SOURCE, "Lemma 12.1", provenance="reconstructed"),
    kind="lemma",
    statement=r"""
Let $X_0,X_1,\dots$ be a stationary finite chain, as of a network under a fixed policy, with law $\nu$
and transition matrix $P$. Let $\beta(\tau)=\sum_x\nu(x)\,\mathrm{TV}(P^\tau(x,\cdot),\nu)$ and let
$d(\tau)$ be the largest of these distances, so that $\beta(\tau)\le d(\tau)$. The source assumes in (21)
that $d(\tau)\le C\rho^\tau$ for all $\tau$, with some $C$ and $\rho<1$.

1. The law of $(X_0,X_\tau)$ is at total variation distance $\beta(\tau)$ from $\nu\otimes\nu$.
2. The law of $n$ samples $X_0,X_\tau,\dots,X_{(n-1)\tau}$ is at distance at most
   $(<<samples>>)\,\beta(\tau)$ from that of $n$ independent ones.
3. Why $\tau$ has the factor 5, as we read it: a union over $n\le t$ samples, a further $t$ for the
   stopping rule, and the sum over $t\le T$ make of point 2
   $$\sum_{t\le T}t\sum_{n\le t}(n-1)\le<<leading:frac>>\,T^4+\tfrac1{12}T^3,$$
   which $\rho^\tau\le T^{-5}$ turns into $O(1/T)$. For a bounded sum $T^{-<<power>>}$ is enough.

*Example.* Three tiers of one queue each, rates 1, half of the jobs going on, $\lambda=\frac14$, $S=4$,
all accepted, $U=\frac{13}4$: $\rho=<<rho>>$. For $\tau=1,100,300$ the ratio $d(\tau)/\rho^\tau$ is
<<far>>, and $\beta(\tau)/\rho^\tau$ is <<average>>.
""",
    claimed={
        "pair": "1",
        "samples": "n-1",
        "leading": "1/8",
        "power": "4",
        "rho": "0.958795",
        "far": "1.0405, 1.5159, 1.5163",
        "average": "0.7582, 0.3592, 0.3592",
    },
    meaning={"pair": "the distance of point 1, as a multiple of beta"},
    parts={
        "pair": "two samples",
        "samples": "the samples of a module",
        "exponent": "the factor 5",
        "example": "three tiers",
    },
    rests_on=["admission.mixing_w"],
    uncovered=(
        "policies that change within a module, and stopping rules that look at the samples; the lemma's "
        "own wording, which is lost"
    ),
)


@cache
def _joint(samples: int, steps: int) -> tuple[Fraction, Fraction]:
    """Distance of samples of one queue from independent ones, by enumeration, and beta.

    One queue, lambda = 1, mu = 1, S = 2, all accepted, U = 4: three states.
    """
    chain = queue_or_tiers("queue", "1", 2, 2, "4")
    rows, unit = chain.rows(steps)
    law = [Fraction(q, chain.mass) for q in chain.law]
    total = Fraction(0)
    for path in itertools.product(range(len(law)), repeat=samples):
        joint, apart = law[path[0]], law[path[0]]
        for now, then in itertools.pairwise(path):
            joint *= Fraction(int(rows[now][then]), unit)
            apart *= law[then]
        total += abs(joint - apart)
    return total / 2, chain.average(steps)


@module_independence.check(
    method="smt", scope="general", false=[{"pair": "1/2"}, {"pair": "2"}], part="pair"
)
def two_samples(pair: str) -> Finding:
    """Take nu(x) out of each term |nu(x) P(x,y) - nu(x) nu(y)|, and bound the average by the largest.

    Summed over y and halved the term at x is nu(x) TV(P(x,.), nu). z3 decides both steps, over all
    reals; the average is at most d because sum_x nu(x) (d - d_x) has no negative term. Another factor
    is refuted by the enumerated law of one queue with three states.
    """
    import z3

    from checks.methods.smt import implies

    found, beta = _joint(2, 1)
    if found != Fraction(pair) * beta:
        return refuted(f"one queue, S = 2, tau = 1: the distance is {found}, not {pair} * {beta}")
    nu, p, q, far, here = z3.Reals("nu P q d d_x")

    def size(value):
        return z3.If(value >= 0, value, -value)

    return combine(
        [
            implies([nu >= 0], size(nu * p - nu * q) == nu * size(p - q), "nu(x) taken out"),
            implies([nu >= 0, here <= far], nu * (far - here) >= 0, "average and largest"),
        ]
    )


@module_independence.check(
    method="symbolic", scope="general", false={"samples": "n-2"}, part="samples"
)
def one_sample_after_another(samples: str) -> Finding:
    """Replace the samples one at a time, for any number of them.

    L_n = L_{n-1} P^tau differs from nu^n by L_{n-1} (P^tau - nu) + (L_{n-1} - nu^{n-1}) nu. The first
    part has size beta, because X_{(n-2) tau} has law nu; the second that of n - 1 samples. So the bound
    b_n = b_{n-1} + beta with b_1 = 0 is solved. A smaller bound is refuted by two samples of one queue.
    """
    import sympy

    one_of("samples", samples, "n-1", "n-2")
    law, new, step, nu, n, beta = sympy.symbols("L N P nu n beta", positive=True)
    split = sympy.expand(law * step - new * nu - (law * (step - nu) + (law - new) * nu))
    bound = sympy.sympify(samples, locals={"n": n}) * beta
    solves = sympy.expand(bound - bound.subs(n, n - 1) - beta) == 0 and bound.subs(n, 1) == 0
    if split == 0 and solves:
        return proved("b_n = (n - 1) beta solves b_n = b_{n-1} + beta, b_1 = 0")
    found, average = _joint(2, 1)
    text = f"one queue, S = 2, two samples at tau = 1: distance {found}, bound 0 * {average}"
    return refuted(text) if found > 0 else undecided(text)


@module_independence.check(
    method="exact", scope="instances", false={"samples": "n-2"}, part="samples"
)
def samples_of_one_queue(samples: str) -> Finding:
    """Enumerate the joint law of 2 to 5 samples of one queue at tau = 1, 2, 4, 8, in rationals."""
    less, shown = {"n-1": 1, "n-2": 2}[one_of("samples", samples, "n-1", "n-2")], []
    for n in (2, 3, 4, 5):
        for steps in (1, 2, 4, 8):
            found, beta = _joint(n, steps)
            if found > (n - less) * beta:
                return refuted(
                    f"{n} samples, tau = {steps}: {decimal(found, 5)} > {n - less} * {decimal(beta, 5)}"
                )
            shown.append(found / ((n - 1) * beta))
    largest = max(shown)
    return proved(
        f"{len(shown)} joint laws, the largest part of the bound is {decimal(largest, 4)}",
        **{"largest part of the bound": exact(largest)},
    )


@module_independence.check(
    method="symbolic",
    scope="general",
    false=[{"leading": "1/9"}, {"power": "3"}],
    part="exponent",
)
def sum_of_the_union_bounds(leading: str, power: str) -> Finding:
    """Compute the double sum for all T, compare it with the bound, and find the power that bounds it."""
    import sympy

    t, n, horizon = sympy.symbols("t n T", integer=True, positive=True)
    total = sympy.expand(
        sympy.summation(t * sympy.summation(n - 1, (n, 1, t)), (t, 1, horizon)).doit()
    )
    lead = sympy.Rational(leading)
    slack = sympy.Poly(lead * horizon**4 + horizon**3 / 12 - total, horizon)
    fits = all(coefficient >= 0 for coefficient in slack.coeffs())
    least = sympy.limit(total / horizon ** sympy.Rational(power), horizon, sympy.oo)
    at_large = slack.eval(1000)
    return combine(
        [
            decide(
                fits,
                f"the sum is {total}",
                f"T = 1000: the bound less the sum is {at_large}",
            )
            if fits or at_large < 0
            else undecided(f"the bound less the sum is {slack.as_expr()}"),
            decide(
                least.is_finite is True,
                f"divided by T^{power} it tends to {least}",
                f"divided by T^{power} it tends to {least}",
            ),
        ]
    )


@module_independence.check(
    method="certified",
    scope="general",
    false=[
        {"rho": "0.958796"},
        {"far": "1.0405, 1.5159, 1.5159"},
        {"average": "0.7582, 0.7582, 0.7582"},
    ],
    part="example",
)
def distances_of_the_example(rho: str, far: str, average: str) -> Finding:
    """Compute both distances in rationals from matrix powers, and rho from certified roots.

    The part is about this chain of 35 states.
    """
    from checks.methods.certified import ball, precision

    chain = queue_or_tiers("tiers", "1/4", 4, 4, "13/4")
    with precision(200):
        modulus = chain.second_modulus()
        found = [decimal_of(modulus, rho, "rho")]
        lengths = (1, 100, 300)
        columns = zip(
            lengths,
            one_for_each("far", far, *lengths),
            one_for_each("average", average, *lengths),
            strict=True,
        )
        for steps, far_told, average_told in columns:
            unit = modulus**steps
            most = ball(chain.farthest(steps)) / unit
            mean = ball(chain.average(steps)) / unit
            found.append(decimal_of(most, far_told, f"d/rho^tau, tau {steps}"))
            found.append(decimal_of(mean, average_told, f"beta/rho^tau, tau {steps}"))
    return combine(found)
