"""The confidence regions of UCRL-M for independent samples, and what their radii add up to."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from checks.admission.instances import SOURCE
from checks.claim import Claim, Source
from checks.finding import (
    Finding,
    combine,
    decimal,
    one_of,
    proved,
    refuted,
    undecided,
)

_GROWTH = (r"(1+\sqrt2)", "2.41")

confidence_sets = Claim(
    "admission.confidence_sets",
    title="With independent samples the regions of UCRL-M hold, and their radii add up to a root",
    source=Source(SOURCE, "(13)-(17)", provenance="reconstructed"),
    kind="lemma",
    statement=r"""
At step $t\ge1$ let $n$ samples of a number of jobs and an action be given: rewards that are $r_{\max}$
with probability $r/r_{\max}$, else 0, and moves, one of three, with the law $p$. Let $\hat r,\hat p$ be
their means, $A=2$, $\ell=\log(2At)$. The samples are independent.

1. $|\hat p-p|_1\ge\epsilon$ has probability at most $<<subsets>>\,e^{-n\epsilon^2/2}$.
2. $|\hat r-r|>r_{\max}\sqrt{<<reward>>\,\ell/n}$ has probability at most $2(2At)^{-4}$, and
   $|\hat p-p|_1>\sqrt{<<law>>\,\ell/n}$ at most $6(2At)^{-4}$.
3. Summed over $S'=S+1$ numbers of jobs, $A$ actions and $n\le t$ these make
   $\frac{S'}{<<cubic>>\,t^3}$; summed over $t$ with the weight $t$, $\frac{S'\pi^2}{<<outside>>}$. If an
   episode that begins at step $t$ has $t$ steps at most, this bounds what episodes with a wrong region
   cost in the mean, in units of $r_{\max}$, whatever $T$ is.
4. Let $V_1,V_2,\dots\ge0$ be integers, $N_1=0$, $N_{k+1}=N_k+V_k$ and $V_k\le\max\{1,N_k\}$. Then
   $$\sum_{j\le k}\frac{V_j}{\sqrt{\max\{1,N_j\}}}\le<<growth>>\,\sqrt{N_{k+1}}.$$
   With 2.41 for $1+\sqrt2$ that is false: if $V=1,1,2,4,8,\dots$, from $N_{k+1}=<<doubling>>$ on.
""",
    claimed={
        "subsets": "6",
        "reward": "2",
        "law": "8",
        "cubic": "16",
        "outside": "96",
        "growth": _GROWTH[0],
        "doubling": "131072",
    },
    meaning={
        "subsets": "sets of one or two out of three moves",
        "doubling": "the first power of 2 at which the sum is above 2.41 times the root",
    },
    parts={
        "moves": "the law of the moves",
        "radii": "the two radii",
        "sums": "the sum of the probabilities",
        "growth": "the sum of the radii",
    },
    uncovered=(
        "Hoeffding's inequality is classical and used as it is. The samples of a module are not "
        "independent (admission.module_independence), and rule (18) biases them (admission.sample_law): "
        "so this is no proof that the regions of UCRL-M hold"
    ),
)


def _moves_tail(law: tuple[Fraction, ...], n: int) -> dict[Fraction, Fraction]:
    """For each possible distance of phat from the law, the probability of this or a larger one."""
    mass: dict[Fraction, Fraction] = {}
    for first in range(n + 1):
        for second in range(n + 1 - first):
            counts = (first, second, n - first - second)
            far = sum(abs(Fraction(k, n) - p) for k, p in zip(counts, law, strict=True))
            weight = Fraction(math.comb(n, first) * math.comb(n - first, second))
            for k, p in zip(counts, law, strict=True):
                weight *= p**k
            mass[far] = mass.get(far, Fraction(0)) + weight
    tails, total = {}, Fraction(0)
    for far in sorted(mass, reverse=True):
        total += mass[far]
        tails[far] = total
    return tails


@cache
def _worst_moves() -> tuple[Fraction, int, Fraction, Fraction]:
    """The tail that is the largest multiple of e^(-n eps^2/2): law's first entry, n, eps, tail."""
    third = Fraction(1, 3)
    laws = [(third,) * 3, (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))]
    laws += [
        (Fraction(1, 2), Fraction(1, 2), Fraction(0)),
        (Fraction(4, 5), Fraction(1, 10), Fraction(1, 10)),
    ]
    found = (
        (law[0], n, far, tail)
        for law in laws
        for n in (1, 2, 3, 5, 10, 20)
        for far, tail in _moves_tail(law, n).items()
    )
    return max(found, key=lambda case: float(case[3]) * math.exp(case[1] * float(case[2]) ** 2 / 2))


def _moves_exceed(subsets: int) -> Finding | None:
    """Refuted by exact tails above the bound; None if none is."""
    from checks.methods.certified import ball

    first, n, far, tail = _worst_moves()
    bound = subsets * ball(-n * far**2 / 2).exp()
    if ball(tail) > bound:
        return refuted(
            f"p_1 = {first}, n = {n}: |phat - p| >= {far} has probability {decimal(tail, 4)}, above "
            f"{bound.str(4, radius=False)}"
        )
    return None


@confidence_sets.check(
    method="smt", scope="general", part="moves", false=[{"subsets": "1"}, {"subsets": "2"}]
)
def subsets_of_moves(subsets: str) -> Finding:
    """The distance is twice the largest gain on a set of moves (z3); Hoeffding's bound for each set.

    e^(-2n (eps/2)^2) for each of the 2^3 - 2 sets; fewer are refuted by exact tails.
    """
    import z3

    from checks.methods.smt import implies

    x, y, z, eps = z3.Reals("gap_1 gap_2 gap_3 eps")
    size = sum(z3.If(gap >= 0, gap, -gap) for gap in (x, y, z))
    sets = [x, y, z, x + y, x + z, y + z]
    if int(subsets) >= len(sets):
        return implies(
            [x + y + z == 0, eps > 0, size >= eps],
            z3.Or(*(gain >= eps / 2 for gain in sets)),
            "one of the six sets gains half of it",
        )
    return _moves_exceed(int(subsets)) or undecided(f"{subsets} sets are not enough to cover")


@confidence_sets.check(method="exact", scope="instances", part="moves", false={"subsets": "2"})
def tails_of_moves(subsets: str) -> Finding:
    """All outcomes of up to 20 samples under four laws, every distance that occurs."""
    wrong = _moves_exceed(int(subsets))
    if wrong:
        return wrong
    first, n, far, tail = _worst_moves()
    ratio = float(tail) * math.exp(n * float(far) ** 2 / 2)
    return proved(f"largest at p_1 = {first}, n = {n}: {ratio:.4f} times e^(-n eps^2/2)")


@confidence_sets.check(
    method="symbolic", scope="general", part="radii", false=[{"reward": "1"}, {"law": "4"}]
)
def exponents_of_the_radii(reward: str, law: str) -> Finding:
    """Insert the radii: 2 n c ell/n and n c ell/(2n) must be 4 ell; smaller ones by 100 fair coins."""
    import sympy

    from checks.methods.certified import ball
    from checks.methods.symbolic import identity

    n, t = 100, 100
    ell = ball(4 * t).log()
    for name, constant, front, share in (("reward", reward, 2, 1), ("law", law, 6, 2)):
        # Fair coins; as a law (1/2, 1/2, 0) the distance is twice that of the mean.
        radius = (ball(constant) * ell / n).sqrt()
        far = [
            k
            for k in range(n + 1)
            if abs(ball(share * abs(Fraction(k, n) - Fraction(1, 2)))) > radius
        ]
        tail = Fraction(sum(math.comb(n, k) for k in far), 2**n)
        if ball(tail) > front * ball(Fraction(1, (4 * t) ** 4)):
            return refuted(
                f"{name}: {n} fair coins, t = {t}: beyond the radius with probability "
                f"{float(tail):.2e}, above {front}(4t)^-4 = {front / (4 * t) ** 4:.2e}"
            )
    size, log = sympy.symbols("n ell", positive=True)
    c_r, c_p = (sympy.Rational(*Fraction(text).as_integer_ratio()) for text in (reward, law))
    if c_r < 2 or c_p < 8:
        return undecided("smaller than Hoeffding's bound gives, but no counterexample")
    return combine(
        [
            identity(2 * size * (sympy.sqrt(2 * log / size)) ** 2, 4 * log, "rewards"),
            identity(size * (sympy.sqrt(8 * log / size)) ** 2 / 2, 4 * log, "moves"),
        ],
        "both exponents are 4 log(2At), and larger radii are missed less often",
    )


@confidence_sets.check(
    method="symbolic", scope="general", part="sums", false=[{"cubic": "32"}, {"outside": "90"}]
)
def sums_over_time(cubic: str, outside: str) -> Finding:
    """Multiply and sum by SymPy, with A = 2."""
    import sympy

    t, states = sympy.symbols("t S'", positive=True)
    k = sympy.symbols("k", integer=True, positive=True)
    at_t = states * 2 * t * (2 + 6) / (4 * t) ** 4
    weighted = sympy.summation(k * at_t.subs(t, k), (k, 1, sympy.oo))
    found = {
        "at step t": (states / (t**3 * at_t), cubic),
        "weighted sum": (states * sympy.pi**2 / weighted, outside),
    }
    for name, (value, stated) in found.items():
        value = sympy.simplify(value)
        if value != sympy.Rational(*Fraction(stated).as_integer_ratio()):
            return refuted(f"{name}: {value}, not {stated}")
    return proved("8 S' A t (2At)^-4 = S'/(16 t^3), and sum of 1/t^2 is pi^2/6")


def doubling_share(k: int) -> tuple[Fraction, Fraction]:
    """(a, b) with a + b sqrt 2 the sum over root for V = 1, 1, 2, 4, ..., 2^(k-1), N = 2^k."""
    a, b = Fraction(1), Fraction(0)  # V_1 = 1 at N = 0
    for j in range(k):  # V = 2^j at N = 2^j: 2^(j/2)
        if j % 2:
            b += 2 ** (j // 2)
        else:
            a += 2 ** (j // 2)
    if k % 2:  # divide by 2^(k/2) = 2^((k-1)/2) sqrt 2
        return b / 2 ** (k // 2), a / 2 ** (k // 2) / 2
    return a / 2 ** (k // 2), b / 2 ** (k // 2)


@confidence_sets.check(
    method="smt",
    scope="general",
    part="growth",
    false=[{"growth": _GROWTH[1]}, {"doubling": "65536"}, {"doubling": "262144"}],
)
def sequence_of_visits(growth: str, doubling: str) -> Finding:
    """One episode more, with a = sqrt(N_k), b = sqrt(N_k+1), by z3; doubling in Q(sqrt 2)."""
    import z3

    from checks.methods.certified import ball
    from checks.methods.smt import implies

    def above(k: int, factor: Fraction) -> bool:
        a, b = doubling_share(k)
        return bool(ball(a) + ball(b) * ball(2).sqrt() > ball(factor))

    other = Fraction("2.41")
    first = next(k for k in range(60) if above(k, other))
    if one_of("growth", growth, *_GROWTH) == _GROWTH[1]:
        return refuted(f"V = 1, 1, 2, 4, ...: above 2.41 sqrt(N) at N = {2**first}")
    if int(doubling) != 2**first:
        return refuted(f"doubling is above 2.41 sqrt(N) from N = {2**first} on")
    a, b, r, total, visits, share, after = z3.Reals("a b r sum V sum/sqrt(N) sum'/sqrt(2N)")
    roots = [r >= 0, r * r == 2, b >= 0]
    return combine(
        [
            implies(
                [*roots, a >= 1, b >= a, b * b <= 2 * a * a],
                b * b - a * a <= (1 + r) * (b - a) * a,
                "V/sqrt(N) <= (1 + sqrt 2)(sqrt(N + V) - sqrt N)",
            ),
            implies(
                [*roots, z3.Or(visits == 0, visits == 1), b * b == visits, total == visits],
                total <= (1 + r) * b,
                "while N = 0",
            ),
            implies(
                [r >= 0, r * r == 2, share < 1 + r, after * r == share + 1],
                z3.And(share < after, after < 1 + r),
                "doubling once more: a larger share, below 1 + sqrt 2",
            ),
        ],
        f"telescopes; 2.41 fails from N = {2**first} on",
    )
