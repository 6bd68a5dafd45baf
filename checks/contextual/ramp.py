"""What is left of a disagreement after n rounds: Lemmas C.5, 5.4 and 6.2."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import product
from math import ceil
from typing import TYPE_CHECKING

from checks.claim import Claim, Source
from checks.contextual.deviations import survival
from checks.contextual.instances import SOURCE
from checks.contextual.queue_chains import Queue, laws, pair_unmerged, unmerged, unmerged_fair
from checks.contextual.tail import disagreement_queue, limit_ball, queue_potential
from checks.finding import (
    PROVED,
    Finding,
    combine,
    one_of,
    proved,
    refuted,
    undecided,
)
from checks.judging import as_stated, bernoulli_moment, exponential_above_line

if TYPE_CHECKING:
    from flint import arb

SLOPE = Fraction(5, 16)  # a = lambda + SLOPE epsilon, of the exponential potential

# A disagreement wears off --------------------------------------------------------------------------

_LENGTHS = (r"n\epsilon\ge q-1", r"q\ge1")

disagreement_decay = Claim(
    "contextual.disagreement_decay",
    title="A disagreement wears off exponentially once the queue has had time to drain",
    source=Source(SOURCE, "Lemma C.5", provenance="reconstructed"),
    kind="lemma",
    statement=r"""
Every job has a server at which it leaves with probability at least $\lambda+\epsilon$ (Assumption 3.4).
In round $t$ a job leaves $Q^-$ and none leaves $Q^+$; then $q=Q^+(t+1)$, $n=T-t-1\ge1$ rounds are left,
both queues follow $\pi^*$, and given the past arrival and departure of a round are independent. If
$<<lengths>>$, then what is left of the disagreement on average is
$$\tilde\psi(t,T)\le\exp\Bigl(-\frac{(n\epsilon-(q-1))^2}n\Bigr).$$
The source has $1/8$ in the exponent and a factor 2, from a two-sided bound for increments of size 2.
""",
    claimed={"exponent": "1", "lengths": _LENGTHS[0]},
    meaning={
        "exponent": "constant in the exponent",
        "lengths": "for which lengths of the queue",
    },
    rests_on=["contextual.survival"],
    uncovered="Markov's inequality, and that means of products over rounds multiply, given the past",
)


@disagreement_decay.check(
    method="symbolic", scope="general", false=[{"exponent": "1.1"}, {"lengths": _LENGTHS[1]}]
)
def one_sided_moments(exponent: str, lengths: str) -> Finding:
    """Bound the moments of arrivals and departures each by Hoeffding's lemma; take the best exponent.

    What is left is at most the probability that the queue survives (`survival`), and then arrivals less
    departures add up to at least 1 - q. A larger exponent is refuted by one job with arrival rate
    (1 - epsilon)/2, whose paths can be counted; other lengths by a queue too long to drain.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    stated = Fraction(exponent)
    if one_of("lengths", lengths, *_LENGTHS) == _LENGTHS[1]:
        return _too_long_to_drain(stated)
    if stated > 1:
        return _lone_job(stated, lambda rate, slack: _one())
    s, n, q, e, lam, rate = sympy.symbols("s n q epsilon lambda r", positive=True)
    room = n * e - (q - 1)
    step = (s * lam + s**2 / 8) + (-s * rate + s**2 / 8)  # ln E e^(s (A - D)), at most
    tail = n * step.subs(rate, lam + e) + s * (q - 1)
    change, start, end, minus = z3.Ints("A-D q Q+ Q-")
    tilt, arrivals, served, slack = z3.Reals("s lambda r epsilon")
    return combine(
        [
            as_stated(survival, factor="1", set="s"),
            implies(
                [end == start + change, end == minus + 1, minus >= 0],
                change >= -(start - 1),
                "arrivals less departures of a queue that survives",
            ),
            bernoulli_moment(),
            implies(
                [tilt >= 0, served >= arrivals + slack],
                tilt * (arrivals - served) <= -tilt * slack,
                "rates of Assumption 3.4",
            ),
            identity(
                tail.subs(s, 2 * room / n), -(room**2) / n, "exponent at s = 2 (n eps - q + 1)/n"
            ),
            proved(f"exp(-x) <= exp(-{exponent} x) for x >= 0, as {exponent} <= 1"),
        ],
        "E e^(s (A - D)) <= e^(-s epsilon + s^2/4), at s = 2 (n epsilon - (q - 1))/n",
    )


def _one() -> arb:
    from checks.methods.certified import ball

    return ball(1)


def _too_long_to_drain(exponent: Fraction) -> Finding:
    """With more jobs than rounds neither queue can empty: nothing of the disagreement wears off."""
    slack = Fraction(1, 10)
    for q in (100, 10**4):
        distance = exponent * (slack - (q - 1)) ** 2
        if distance > 0:
            return refuted(
                f"n = 1, q = {q}, epsilon = {slack}: nothing wears off in one round, while the bound is "
                f"exp(-{float(distance):.0f})"
            )
    return undecided(f"no queue is known that breaks the exponent {exponent}")


def _lone_job(exponent: Fraction, constant: Callable[[Fraction, Fraction], arb]) -> Finding:
    """Refute ``constant e^(-exponent epsilon^2 n)`` by one job.

    lambda = (1 - epsilon)/2, and the job leaves with probability 1 - lambda. Its queue stays ahead for
    n rounds with probability about (1 - epsilon^2)^n.
    """
    from checks.methods.certified import ball, precision

    with precision(128):
        for slack, rounds in product(
            (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5), Fraction(1, 10)), (200, 2000, 20000)
        ):
            rate = (1 - slack) / 2
            chance = unmerged_fair(1 - rate, rounds, terms=40)
            bound = constant(rate, slack) * (-ball(exponent * slack**2 * rounds)).exp()
            if chance > bound:
                return refuted(
                    f"one job, lambda = {rate}, rate {1 - rate}, n = {rounds}: what is left is "
                    f"{chance.str(4, radius=False)} or more, the bound {bound.str(4, radius=False)}"
                )
    return undecided(f"no queue is known that breaks the exponent {exponent}")


@disagreement_decay.check(
    method="certified", scope="instances", false=[{"exponent": "2"}, {"lengths": _LENGTHS[1]}]
)
def exact_pairs(exponent: str, lengths: str) -> Finding:
    """Compute what is left exactly, for pairs of queues of equal jobs and of two types of jobs.

    Equal jobs: four pairs of arrival rate and slack, up to 40 rounds and 6 jobs. Two types: rates 4/5
    and 7/10 against the arrival rate 1/2, every pair of queues of up to four jobs, up to 6 rounds.
    """
    from checks.methods.certified import ball, precision

    stated, every = Fraction(exponent), one_of("lengths", lengths, *_LENGTHS) == _LENGTHS[1]
    closest, count = 0.0, 0
    with precision(100):
        for slack, q, n, left, where in _pairs():
            room = n * slack - (q - 1)
            if room < 0 and not every:
                continue
            bound = (-ball(stated * room**2 / n)).exp()
            if ball(left) > bound:
                return refuted(
                    f"{where}, q = {q}, n = {n}: what is left is {float(left):.3e}, above "
                    f"{bound.str(5, radius=False)}"
                )
            if not ball(left) <= bound:
                return undecided(f"{where}, q = {q}, n = {n}: not separated")
            closest, count = max(closest, float((ball(left) / bound).mid())), count + 1
    return proved(f"{count} pairs; the largest share of the bound is {closest:.3f}")


@cache
def _pairs() -> tuple[tuple[Fraction, int, int, Fraction, str], ...]:
    """Slack, length of Q+, rounds, what is left, and a name."""
    found = []
    for rate, slack in (("7/10", "1/10"), ("3/10", "3/10"), ("1/2", "1/5"), ("1/5", "3/5")):
        rate, slack = Fraction(rate), Fraction(slack)
        table = unmerged(rate, rate + slack, 40, 6)
        for n, q in product((5, 10, 20, 40), (1, 2, 4, 6)):
            found.append(
                (slack, q, n, table[n][q], f"equal jobs, lambda = {rate}, epsilon = {slack}")
            )
    rates, arrivals = (Fraction(4, 5), Fraction(7, 10)), (Fraction(1, 4), Fraction(1, 4))
    for a, b, private, n in product(range(4), range(4), (0, 1), (2, 4, 6)):
        if a + b <= 3:
            left = pair_unmerged(rates, arrivals, (a, b), private, n)
            where = f"jobs of rates 4/5, 7/10: {a}, {b} and one of type {private + 1} in Q+ alone"
            found.append((Fraction(1, 5), a + b + 1, n, left, where))
    return tuple(found)


# The ramp ------------------------------------------------------------------------------------------

ramp_clean = Claim(
    "contextual.ramp_clean",
    title="What is left of a disagreement falls exponentially, once bad rounds have been made up for",
    source=Source(SOURCE, "Lemmas 5.4 and 6.2", provenance="ours"),
    kind="lemma",
    statement=r"""
In the setting of `contextual.queue_potential` let every job have a server at which it leaves with
probability at least $\lambda+\epsilon$ (Assumption 3.4). Let $E_g\subseteq E_t$ be an event on
which at most $b$ of the rounds before $t$ are bad ($b=\tau$ for CQB-$\varepsilon$, the bound on
$|B'|$ for CQB-Opt), $a\ge\lambda+\frac5{16}\epsilon$, and
$$\omega=<<omega>>\,\frac{ab}\epsilon,\qquad \Gamma=1+\frac87C_\lambda,\qquad
c=<<exponent:frac>>\,\epsilon^2.$$
Let $\tilde\psi(t,T)$ be what is left of a disagreement in round $t$, as in
`contextual.psi_product_bound` (0 if nothing waits). For
$n=T-t-1\ge\max\{\omega,1\}$
$$E\bigl[1_{E_g}\tilde\psi(t,T)\bigr]\le\Gamma\,e^{-c\,(n-\omega)},$$
and always $E[1_{E_g}\tilde\psi(t,T)]\le1$. Moreover
$\Gamma\le<<additive:frac>>+<<coefficient>>\,\lambda/\epsilon$, and
$$\sum_{n=0}^\infty\min\bigl\{1,\Gamma\,e^{-c\,(n-\omega)}\bigr\}\le
\omega+<<rest>>+\frac{1+\ln\Gamma}c,$$
which bounds $\sum_{t=1}^{T-1}E[1_{E_g}\tilde\psi(t,T)]$ as well. (A larger $\omega$ and a smaller $c$
do too: with $a=1+\epsilon/4$ one may take $\omega=\frac52b/\epsilon$.)
""",
    claimed={
        "exponent": "1/4",
        "omega": "2",
        "additive": "9/4",
        "coefficient": "7",
        "rest": "1",
    },
    meaning={
        "exponent": "constant in the exponent, over the square of the slack",
        "omega": "rounds that a bad round costs, over a / epsilon",
        "additive": "constant in the bound on the factor",
        "coefficient": "factor of lambda / epsilon in that bound",
        "rest": "constant in the bound on the sum",
    },
    rests_on=[
        "contextual.queue_potential",
        "contextual.disagreement_queue",
        "contextual.disagreement_decay",
    ],
    parts={"decay": "the bound for n rounds", "factor": "the factor", "sum": "the sum over n"},
    uncovered="exponents between 1/4 and 1, and rounds between 1 and 2 for each bad round, are neither "
    "proved nor refuted",
)


@ramp_clean.check(
    method="smt", scope="general", part="decay", false=[{"exponent": "1.1"}, {"omega": "0.95"}]
)
def split_at_half(exponent: str, omega: str) -> Finding:
    """Split at a queue of epsilon n/2 jobs: shorter ones drain in time, longer ones are rare, by z3.

    Shorter: n epsilon - (q - 1) >= n epsilon/2, so what is left is at most e^(-epsilon^2 n/4). Longer:
    the margin of the tail is (epsilon/2)(n - 2 a b/epsilon). Other numbers are refuted by queues: a job
    that stays alone, and a queue that grows in many bad rounds.
    """
    import sympy
    import z3

    from checks.methods.smt import implies, real
    from checks.methods.symbolic import identity

    stated, rounds = Fraction(exponent), Fraction(omega)
    if stated > 1:
        return _lone_job(stated, _factor_over_chance)
    if rounds < 1:
        return _long_drain(rounds, True, stated, factor_ball)
    e, n, a, b = sympy.symbols("epsilon n a b", positive=True)
    slack, left, q, bad = z3.Reals("epsilon n q a*b")
    room, exponent_, distance = left * slack - (q - 1), z3.Real("x"), z3.Real("n-omega")
    c, k = real(stated), real(rounds)
    sizes = [slack > 0, slack <= 1, left >= 1]
    long_ = [*sizes, bad >= 0, distance >= 0, slack * (left - distance) == k * bad]
    result = combine(
        [
            as_stated(queue_potential, slope="5/16", exponent="1/2"),
            as_stated(disagreement_queue, queue="Q(t)+A(t)", factor="8/7"),
            as_stated(disagreement_decay, exponent="1", lengths=_LENGTHS[0]),
            implies(
                [*sizes, 2 * q <= slack * left], 2 * room >= left * slack, "short: it can drain"
            ),
            implies(
                [*sizes, exponent_ * left == room * room, 2 * room >= left * slack],
                4 * exponent_ >= slack * slack * left,
                "short: exponent",
            ),
            identity(e / 2 * (e * n / 2 - a * b), e**2 / 4 * (n - 2 * a * b / e), "long: exponent"),
            implies(long_, slack * left / 4 >= c * slack * distance, "short, from omega on"),
            implies(
                long_,
                slack * (slack * left - 2 * bad) / 4 >= c * slack * slack * distance,
                "long, from omega on",
            ),
        ],
        "short: e^(-epsilon^2 n/4); long: (8/7) C_lambda e^(-epsilon^2 (n - 2ab/epsilon)/4)",
    )
    return result if result.outcome == PROVED else undecided(result.witness)


def factor_ball(rate: Fraction, slack: Fraction) -> arb:
    """The factor Gamma as a ball."""
    from checks.methods.certified import ball

    return 1 + ball("8/7") * limit_ball(rate, slack)


def _factor_over_chance(rate: Fraction, slack: Fraction) -> arb:
    """Gamma over the chance that one job is there in round 2 and none joins it; no bad rounds."""
    from checks.methods.certified import ball

    return factor_ball(rate, slack) / ball(rate * (1 - rate))


def _long_drain(
    multiple: Fraction,
    of_a: bool,
    exponent: Fraction,
    constant: Callable[[Fraction, Fraction], arb],
) -> Finding:
    """Refute ``constant e^(-exponent epsilon^2 (n - omega))`` by a queue that grows in b bad rounds.

    epsilon = 1/50 and lambda = 24/25. Without service b rounds leave about lambda b jobs, which then
    take about lambda b/epsilon rounds to drain; n is half way between that and omega. Chebyshev's and
    Kolmogorov's inequalities bound the chances of too few jobs, and that they drain too soon.

    Parameters
    ----------
    multiple : Fraction
        omega epsilon/b, or that over a.
    of_a : bool
        Whether omega contains the factor a.
    exponent : Fraction
    constant : callable
        The factor, a ball, from lambda and epsilon.
    """
    from checks.methods.certified import ball, precision

    slack, rate = Fraction(1, 50), Fraction(24, 25)
    served = rate + slack
    each = multiple * (rate + SLOPE * slack if of_a else 1)  # omega epsilon over b
    if each >= rate or exponent <= 0:
        return undecided(
            f"no queue is known that needs more than omega = {float(each):.4f} b/epsilon"
        )
    per_round = rate * (1 - rate) + served * (1 - served)  # variance of arrivals less departures
    aside = (rate - each) / 4  # jobs for each bad round that may be missing, or drained too soon
    with precision(100):
        for bad in (10**4, 10**6, 10**8, 10**10):
            rounds = int((rate + each) / 2 * bad / slack)
            fewer = bad * rate * (1 - rate) / (aside * bad) ** 2
            sooner = rounds * per_round / (aside * bad - 2) ** 2  # one job must stay in Q-
            chance = 1 - fewer - sooner
            bound = (
                constant(rate, slack)
                * (-ball(exponent * slack**2 * (rounds - each * bad / slack))).exp()
            )
            if chance > 0 and ball(chance) > bound:
                return refuted(
                    f"lambda = {rate}, epsilon = {slack}, {bad} bad rounds without service: after n = "
                    f"{float(rounds):.3e} rounds {float(chance):.3f} is left or more, the bound is "
                    f"{bound.str(3, radius=False)}"
                )
    return undecided(f"no queue is known that breaks omega = {float(each):.4f} b/epsilon")


@ramp_clean.check(
    method="exact",
    scope="general",
    part="factor",
    false=[{"additive": "2.14"}, {"coefficient": "5.4"}],
)
def bound_on_the_factor(additive: str, coefficient: str) -> Finding:
    """Put the bound on C_lambda into the factor and compare coefficients, in rationals.

    Smaller numbers are refuted by the factor itself, as a ball, at some lambda <= 1 - epsilon.
    """
    from checks.methods.certified import ball, precision

    first, second = Fraction(additive), Fraction(coefficient)
    constant = Fraction(8, 7), Fraction(8, 7) * Fraction(416, 75)
    if first >= 1 + constant[0] and second >= constant[1]:
        return combine(
            [
                as_stated(queue_potential, constant="416/75"),
                as_stated(disagreement_queue, factor="8/7"),
            ],
            f"Gamma <= {1 + constant[0]} + {constant[1]} lambda/epsilon",
        )
    with precision(100):
        for twentieth, power in product(range(1, 20), (0, 2, 4, 6)):
            slack = Fraction(twentieth, 20)
            rate = (1 - slack) / 10**power
            gamma = factor_ball(rate, slack)
            if gamma > ball(first + second * rate / slack):
                return refuted(
                    f"lambda = {rate}, epsilon = {slack}: Gamma = {gamma.str(8, radius=False)}, above "
                    f"{float(first + second * rate / slack):.6f}"
                )
    return undecided(f"Gamma against {additive} + {coefficient} lambda/epsilon")


@ramp_clean.check(method="symbolic", scope="general", part="sum", false={"rest": "0.5"})
def sum_over_the_rounds(rest: str) -> Finding:
    """Count the terms that are 1, sum the others as a geometric series, and round up by convexity.

    With x = omega + ln(Gamma)/c and y = ceil(x) - x the sum is x + y + e^(-c y)/(1 - e^(-c)). That is
    convex in y, and at y = 0 and y = 1 it is x + 1/(1 - e^(-c)) <= x + 1 + 1/c. A smaller constant is
    refuted where x is an integer and epsilon near 1.
    """
    from checks.methods.certified import ball, precision

    stated = Fraction(rest)
    if stated < 1:
        slack = Fraction(99, 100)
        with precision(100):
            scale = ball(slack**2 / 4)
            series = 1 / (1 - (-scale).exp())
            if series > ball(stated) + 1 / scale:
                return refuted(
                    f"epsilon = {slack}, x = omega + ln(Gamma)/c an integer: the sum is x + "
                    f"{series.str(8, radius=False)}, above x + {rest} + 1/c"
                )
        return undecided(f"the sum against x + {rest} + 1/c")
    return combine(
        [sum_rounded_up(), proved(f"1 <= {rest}")],
        "at most x + 1/(1 - e^(-c)) <= x + 1 + 1/c",
    )


def sum_rounded_up() -> Finding:
    """Decide y + e^(-c y)/(1 - e^(-c)) <= 1/(1 - e^(-c)) <= 1 + 1/c for all y in [0, 1] and c > 0.

    y terms of 1 and a geometric series after them: what rounding x up to x + y adds to a sum. It is
    convex in y, and equal to the bound at both ends.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    c, y = sympy.symbols("c y", positive=True)
    series = 1 / (1 - sympy.exp(-c))
    counted = y + sympy.exp(-c * y) * series
    scale, grown = z3.Reals("c e^c")
    return combine(
        [
            identity(counted.subs(y, 0), series, "rounded up by 0"),
            identity(counted.subs(y, 1), series, "rounded up by 1"),
            identity(
                sympy.diff(counted, y, 2), c**2 * sympy.exp(-c * y) * series, "second derivative"
            ),
            exponential_above_line(),
            implies(
                [scale > 0, grown >= 1 + scale],
                grown * scale <= (1 + scale) * (grown - 1),
                "1/(1 - e^(-c)) <= 1 + 1/c",
            ),
        ],
        "convex in y, equal at 0 and 1",
    )


@cache
def _exact_ramps() -> tuple[tuple[Queue, int, Fraction, int, Fraction], ...]:
    """Queue, t, bad rounds at most, n, and the mean of what is left of a disagreement in round t."""
    found = []
    for (rate, slack), bad in product(((5, 5), (3, 6), (1, 8)), ("none", "the first 20")):
        queue = Queue(Fraction(rate, 10), Fraction(slack, 10), bad)
        bound, t = (20, 22) if bad == "the first 20" else (0, 6)
        law, whole = laws(queue, t - 1)[t - 1], queue.denominator ** (t - 1)
        longest = max(length for length, _ in law) + 1
        table = unmerged(queue.arrival_rate, queue.arrival_rate + queue.slack, 120, longest)
        for n in range(1, 121, 7):
            left = sum(
                weight
                * (
                    queue.arrival_rate * table[n][length + 1]
                    + (1 - queue.arrival_rate) * table[n][length]
                )
                for (length, _), weight in law.items()
                if length
            )
            found.append((queue, t, Fraction(bound), n, left / whole))
    return tuple(found)


def _ramps_of_chains(
    omega: Callable[[Queue], Fraction], exponent: Fraction, constant: Callable[[Queue], arb]
) -> Finding:
    """Compare the exact means with ``constant e^(-exponent epsilon^2 (n - omega))``.

    Parameters
    ----------
    omega : callable
        omega over the number of bad rounds.
    exponent : Fraction
    constant : callable
        The factor, as a ball.
    """
    from checks.methods.certified import ball, precision

    closest, count = 0.0, 0
    with precision(100):
        for queue, t, bad, n, left in _exact_ramps():
            later = n - omega(queue) * bad
            if later < 0:
                continue
            bound = constant(queue) * (-ball(exponent * queue.slack**2 * later)).exp()
            where = f"lambda = {queue.arrival_rate}, epsilon = {queue.slack}, t = {t}, n = {n}"
            if ball(left) > bound:
                return refuted(
                    f"{where}, bad rounds: {queue.bad}: {float(left):.3e} is left, above "
                    f"{bound.str(4, radius=False)}"
                )
            if not ball(left) <= bound:
                return undecided(f"{where}: not separated")
            closest, count = max(closest, float((ball(left) / bound).mid())), count + 1
    return proved(f"{count} exact means; the largest share of the bound is {closest:.3f}")


@ramp_clean.check(method="certified", scope="instances", part="decay", false={"exponent": "2"})
def exact_ramps(exponent: str, omega: str) -> Finding:
    """Compute what is left exactly, for six queues and up to 120 rounds, and compare.

    Equal jobs; the learner serves with half of the slack in good rounds and not at all in bad ones, of
    which there are none or 20.
    """
    rounds = Fraction(omega)
    return _ramps_of_chains(
        lambda queue: rounds * (queue.arrival_rate + SLOPE * queue.slack) / queue.slack,
        Fraction(exponent),
        lambda queue: factor_ball(queue.arrival_rate, queue.slack),
    )


ramp = Claim(
    "contextual.ramp",
    title="Lemmas 5.4 and 6.2 hold as stated, though the proof of the second gives less",
    source=Source(SOURCE, "Lemmas 5.4 and 6.2, Appendix D.2", provenance="stated"),
    kind="lemma",
    statement=r"""
In the setting of `contextual.ramp_clean` let $C_\rho=1+16/\epsilon^2$ and
$\omega=<<omega>>\,b/\epsilon$, with $b=\tau$ for CQB-$\varepsilon$ (Lemma 5.4) and
$b=32\beta_T^2Kd\ln(1+T/(dK\kappa\lambda_0))/\epsilon^2$ for CQB-Opt (Lemma 6.2). For
$n=T-t-1\ge\max\{\omega,1\}$
$$E\bigl[1_{E_g}\tilde\psi(t,T)\bigr]\le\min\bigl\{1,2C_\rho\,e^{-c\,\epsilon^2(n-\omega)}\bigr\},$$
where $c=<<lemma_5_4>>$ in Lemma 5.4 and $c=<<lemma_6_2>>$ in Lemma 6.2; both are true with either. What
the proof of the source bounds it by,
$$2e^{-\epsilon^2n/32}+C\,e^{-\epsilon^2(n-\omega)/4},\qquad C\le C_\rho,$$
is at most $2C_\rho\,e^{-c\,\epsilon^2(n-\omega)}$ for $c\le<<proof>>$ only: its first term comes
from the two-sided Lemma C.5. So Appendix D.2, the proof of Lemma 6.2, ends with $1/32$, and Section E.2
uses that; the $1/8$ of the main text is true all the same. (The source writes $\psi$ for
$\tilde\psi$, and leaves out $1_{E_g}$ in the main text.)
""",
    claimed={"omega": "4", "lemma_5_4": "1/32", "lemma_6_2": "1/8", "proof": "1/32"},
    meaning={
        "omega": "rounds that a bad round costs, over 1 / epsilon",
        "lemma_5_4": "exponent of Lemma 5.4",
        "lemma_6_2": "exponent of Lemma 6.2 in the main text",
        "proof": "exponent that the source's proof yields",
    },
    rests_on=["contextual.ramp_clean", "contextual.queue_tail", "contextual.disagreement_queue"],
    parts={"lemmas": "the bound of both lemmas", "proof": "what the source's proof yields"},
    uncovered="that the number of bad rounds is at most b: contextual.exploration_length and "
    "contextual.elliptical_count",
)


@ramp.check(
    method="smt", scope="general", part="proof", false=[{"proof": "1/8"}, {"proof": "1/31"}]
)
def yield_of_the_proof(proof: str) -> Finding:
    """Add the two terms of the source's proof; the tail with the arrival of round t counted.

    For an exponent c <= 1/32 each term is at most its factor times e^(-c epsilon^2 (n - omega)), and
    2 + C_rho <= 2 C_rho; (8/7) C_lambda <= C_rho closes the gap between Q(t) + A(t) and Q(t+1). For a
    larger exponent the first term alone is larger for large n.
    """
    import z3

    from checks.methods.certified import ball, precision
    from checks.methods.smt import implies, real

    stated = Fraction(proof)
    if stated > Fraction(1, 32):
        slack = Fraction(1, 10)
        with precision(100):
            factor = _source_factor(slack)
            apart = ball(slack**2 * (stated - Fraction(1, 32)))
            rounds = ceil(float(((factor / 2).log() / apart).mid())) + 1
            first = 2 * (-ball(slack**2 * rounds / 32)).exp()
            if first > factor * (-ball(stated * slack**2 * rounds)).exp():
                return refuted(
                    f"epsilon = {slack}, no bad rounds, n = {rounds}: the first term of the proof is "
                    f"{first.str(3, radius=False)}, above 2 C_rho exp(-{proof} epsilon^2 n)"
                )
        return undecided(f"the two terms against the exponent {proof}")
    rate, slack, later, left = z3.Reals("lambda epsilon n-omega n")
    c = real(stated)
    region = [rate > 0, slack > 0, rate <= 1 - slack]
    return combine(
        [
            as_stated(queue_potential, constant="416/75", exponent="1/2"),
            as_stated(disagreement_queue, factor="8/7"),
            implies([later >= 0, left >= later], left / 32 >= c * later, "first term, exponent"),
            implies([later >= 0], later / 4 >= c * later, "second term, exponent"),
            implies(
                region,
                8 * (75 * slack * slack + 416 * rate * slack) <= 7 * 75 * (slack * slack + 16),
                "(8/7) C_lambda <= C_rho",
            ),
            implies(region, 2 * slack * slack <= slack * slack + 16, "2 + C_rho <= 2 C_rho"),
        ],
        "2 + C_rho <= 2 C_rho, and 1/32 <= 1/4",
    )


@ramp.check(
    method="smt",
    scope="general",
    part="lemmas",
    false=[{"lemma_5_4": "1.1"}, {"lemma_6_2": "1.1"}, {"omega": "0.95"}],
)
def from_the_clean_ramp(lemma_5_4: str, lemma_6_2: str, omega: str) -> Finding:
    """Compare factor, exponent and omega with those of `ramp_clean`, with z3.

    2 a <= 2 and Gamma <= 9/4 + 7 lambda/epsilon <= 2 C_rho. Other numbers are refuted by the queues that
    refute them there.
    """
    import z3

    from checks.methods.smt import implies, real

    largest, rounds = max(Fraction(lemma_5_4), Fraction(lemma_6_2)), Fraction(omega)
    if largest > 1:
        return _lone_job(largest, _source_factor_over_chance)
    if rounds < 1:
        return _long_drain(rounds, False, largest, lambda rate, slack: _source_factor(slack))
    rate, slack, later, bad, clean = z3.Reals("lambda epsilon n-omega b n-omega_clean")
    c, k = real(largest), real(rounds)
    a = rate + z3.Q(5, 16) * slack
    region = [rate > 0, slack > 0, rate <= 1 - slack]
    result = combine(
        [
            as_stated(ramp_clean, exponent="1/4", omega="2", additive="9/4", coefficient="7"),
            implies(
                region,
                9 * slack * slack / 4 + 7 * rate * slack <= 2 * (slack * slack + 16),
                "factors",
            ),
            implies(
                [*region, bad >= 0, later >= 0, slack * clean == slack * later + (k - 2 * a) * bad],
                clean / 4 >= c * later,
                "exponents",
            ),
        ],
        "Gamma <= 2 C_rho, 2 a b/epsilon <= omega, and 1/4 is more than both exponents",
    )
    return result if result.outcome == PROVED else undecided(result.witness)


def _source_factor(slack: Fraction) -> arb:
    from checks.methods.certified import ball

    return ball(2 * (1 + 16 / slack**2))


def _source_factor_over_chance(rate: Fraction, slack: Fraction) -> arb:
    """As `_factor_over_chance`."""
    from checks.methods.certified import ball

    return _source_factor(slack) / ball(rate * (1 - rate))


@ramp.check(
    method="certified",
    scope="instances",
    part="lemmas",
    false=[{"lemma_5_4": "3"}, {"lemma_6_2": "3"}],
)
def exact_ramps_of_the_source(lemma_5_4: str, lemma_6_2: str, omega: str) -> Finding:
    """Compare the exact means of six queues, up to 120 rounds, with the bound of both lemmas.

    With omega = 80/epsilon for 20 bad rounds.
    """
    rounds = Fraction(omega)
    return _ramps_of_chains(
        lambda queue: rounds / queue.slack,
        max(Fraction(lemma_5_4), Fraction(lemma_6_2)),
        lambda queue: _source_factor(queue.slack),
    )
