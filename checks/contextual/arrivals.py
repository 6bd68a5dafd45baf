"""How many jobs pure exploration can try: one arrival fewer than it has rounds."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from checks.claim import Claim, Source
from checks.contextual.instances import SOURCE
from checks.finding import Finding, combine, proved, refuted

exploration_count_offbyone = Claim(
    "contextual.exploration_count_offbyone",
    title="Pure exploration has one arrival fewer to explore than it has rounds, and that is enough",
    source=Source(SOURCE, "Lemma 5.2", provenance="ours"),
    kind="lemma",
    statement=r"""
In rounds $1,\dots,\tau$ from an empty queue only the jobs that arrive in rounds $1,\dots,\tau-1$ can be
tried fresh. Let $0<\lambda\le1$, $0<\delta<1$, $\ell=\ln(1/\delta)$ and
$$\tau=\frac{<<multiple>>\,A}\lambda+\frac\ell{2\lambda^2},$$
where $A=K\lceil N\rceil$ arrivals are needed. If $A\ge<<least>>$ and $A^2\ge<<square>>\,\ell$, then
for every $m\ge\tau-1$
$$\lambda m-\sqrt{m\ell/2}\ \ge\ A,$$
so that $m$ rounds bring at least $A$ arrivals with probability at least $1-\delta$ (Hoeffding). At
$m=\tau-1$ the inequality says exactly that $A\ge\lambda$ and $(A-\lambda)^2\ge\ell/2$. The conditions
hold if $N\ge\ln(dK/\delta)/(0.1534\,\sigma_0^2)$, $\sigma_0\le1$ and $K\ge2$.
""",
    claimed={"multiple": "2", "least": "2", "square": "2"},
    meaning={
        "multiple": "how often the needed arrivals are planned for",
        "least": "fewest needed arrivals",
        "square": "how their square compares with ln(1/delta)",
    },
    uncovered="Hoeffding's inequality",
)


@exploration_count_offbyone.check(
    method="smt",
    scope="general",
    false=[{"multiple": "1.9"}, {"least": "1"}, {"square": "1.9"}],
)
def square_of_the_inequality(multiple: str, least: str, square: str) -> Finding:
    """Write the inequality without a root, with x = lambda m and b = ln(1/delta)/(2 lambda), and ask z3.

    It is x >= A and (x - A)^2 >= x b, for all x >= multiple A + b - lambda. A counterexample is a choice
    of A, lambda, b and x; for smaller numbers one is at x = lambda (tau - 1).
    """
    import z3

    from checks.methods.smt import implies, real

    needed, rate, b, x = z3.Reals("A lambda ln(1/delta)/(2*lambda) lambda*m")
    c, first, second = (real(number) for number in (multiple, least, square))
    log, sigma, d = z3.Reals("ln(dK/delta) sigma^2 ln(1/delta)")
    count = z3.Real("K*N")
    hypotheses = [rate > 0, rate <= 1, b > 0, needed >= first, needed**2 >= second * 2 * rate * b]
    found = [
        implies(
            [*hypotheses, x >= c * needed + b - rate],
            z3.And(x >= needed, (x - needed) ** 2 >= x * b),
            "arrivals",
        ),
        implies(
            [
                *(log >= d, d > 0, log >= z3.Q(69, 100), sigma > 0, sigma <= 1),
                count * z3.Q(1534, 10000) * sigma >= 2 * log,
            ],
            z3.And(count >= first, count**2 >= second * d),
            "the conditions hold for the N of the source",
        ),
    ]
    if (multiple, least, square) == ("2", "2", "2"):
        planned = 2 * needed + b - rate
        found.append(
            implies(
                [rate > 0, b > 0, needed > 0],
                z3.And(planned >= needed, (planned - needed) ** 2 >= planned * b)
                == z3.And(needed >= rate, (needed - rate) ** 2 >= rate * b),
                "exactly at m = tau - 1",
            )
        )
    return combine(
        found, "x >= A and (x - A)^2 >= x b; at tau - 1 it is (A - lambda)^2 >= lambda b"
    )


@exploration_count_offbyone.check(method="certified", scope="instances", false=[{"multiple": "1"}])
def exact_binomials(multiple: str) -> Finding:
    """Sum exact binomial tails, for 48 choices of needed arrivals, arrival rate and error probability.

    Needed arrivals from 2 to 100; lambda = 1/10, 3/10, 7/10, 9/10; delta = 1/20, 1/100, 10^-4, where
    A^2 >= 2 ln(1/delta); tau - 1 rounds.
    """
    from math import comb

    from checks.methods.certified import ball, precision

    stated, count, largest = Fraction(multiple), 0, 0.0
    with precision(100):
        for needed, tenth, error in product((2, 4, 15, 100), (1, 3, 7, 9), (20, 100, 10**4)):
            log = ball(error).log()
            if not ball(needed**2) >= 2 * log:
                continue
            rate, delta = Fraction(tenth, 10), Fraction(1, error)
            tau = ball(stated * needed / rate) + log / ball(2 * rate**2)
            rounds = int((tau - 1).ceil().unique_fmpz())
            few = sum(
                comb(rounds, k) * tenth**k * (10 - tenth) ** (rounds - k) for k in range(needed)
            )
            missing = Fraction(few, 10**rounds)
            if missing > delta:
                return refuted(
                    f"A = {needed}, lambda = {rate}, delta = {delta}: {rounds} rounds bring fewer than "
                    f"A arrivals with probability {float(missing):.4f}"
                )
            count, largest = count + 1, max(largest, float(missing / delta))
    return proved(f"{count} tails; the largest share of delta is {largest:.3f}")
