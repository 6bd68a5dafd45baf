"""No policy does better than 1/sqrt(T): two servers that cannot be told apart in time."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, reduce
from typing import TYPE_CHECKING

from checks.claim import Claim, Source
from checks.contextual.deviations import one_step_loss
from checks.contextual.instances import SOURCE
from checks.contextual.ramp import factor_ball, ramp_clean
from checks.contextual.switching import psi_product_bound
from checks.finding import (
    Finding,
    combine,
    decide,
    exact,
    proved,
    refuted,
    undecided,
)
from checks.judging import as_stated, one_for_each

if TYPE_CHECKING:
    from flint import arb

#: Arrival rate, middle of both rates, and half of their distance where regret is computed exactly.
PAIRS = (
    (Fraction(1, 2), Fraction(7, 10), Fraction(1, 8)),
    (Fraction(3, 10), Fraction(3, 5), Fraction(1, 10)),
)

lower_bound = Claim(
    "contextual.lower_bound",
    title="For every policy and horizon T there is a queue with regret of order 1/sqrt(T)",
    source=Source(SOURCE, "the regret bounds, Theorems 5.5 and 6.3", provenance="ours"),
    statement=r"""
All jobs are alike, the queue starts empty, $T\ge3$, and of two servers one completes a job with
probability $p+D$, the other with $p-D$, where $0<D<\min\{p,1-p\}$ and $p+D>\lambda$. (So $d=1$, $x=1$,
and the Assumptions 3.1 to 3.4 hold.) A policy does not know which is which. Let $\mathrm{kl}$ be the
larger of the two divergences between bits of mean $p+D$ and $p-D$. For every policy the larger of its
regrets in both cases is at least
$$\begin{aligned}L_T&=<<factor:frac>>\,\lambda D\sum_{m=0}^{T-3}(1-p-D)^m\,e^{-(T-3-m)\,\mathrm{kl}}\\
&\ge<<factor:frac>>\,\lambda D\,e^{-(T-3)\,\mathrm{kl}},\end{aligned}$$
where
$$\mathrm{kl}\le\frac{<<divergence>>\,D^2}{\min\{(p-D)(1-p+D),(p+D)(1-p-D)\}}.$$

*For every horizon.* With $D=\frac12\sqrt{p(1-p)/T}$ the bound $L_T$, and with $D=\sqrt{p(1-p)/(2T)}$ the
simpler $\frac12\lambda De^{-(T-2)\mathrm{kl}}$, are for every $T\ge3$ at least

| $\lambda$, $p$ | $\sqrt T$ times $L_T$ | $\sqrt T$ times the simpler bound |
| --- | --- | --- |
| $\frac12$, $\frac7{10}$ | <<sum_1>> | <<simple_1>> |
| $\frac3{10}$, $\frac35$ | <<sum_2>> | <<simple_2>> |

*Exactly.* The least that the larger regret can be is

| $\lambda$, $p$, $D$ | $T=3$ | $T=4$ |
| --- | --- | --- |
| $\frac12$, $\frac7{10}$, $\frac18$ | <<least_1:cells>> |
| $\frac3{10}$, $\frac35$, $\frac1{10}$ | <<least_2:cells>> |

*From above.* Let $p-\lambda\ge<<apart>>D$. In both cases the regret of every policy that serves whenever
a job waits, be it always at the wrong server, is at most
$$2D\Bigl(1+\frac{1+\ln\Gamma}c\Bigr),\qquad c=\tfrac14(p-\lambda)^2,\quad\Gamma=1+\tfrac87C_\lambda,$$
with $C_\lambda$ of `contextual.queue_potential` for the slack $p-\lambda$. For
$T\ge p(1-p)/(p-\lambda)^2$ and $D=\frac12\sqrt{p(1-p)/T}$ that is at most $<<above_1>>/\sqrt T$ for
$\lambda=\frac12$, $p=\frac7{10}$, and $<<above_2>>/\sqrt T$ for $\lambda=\frac3{10}$, $p=\frac35$. So
with these pairs the least regret is of the order of $1/\sqrt T$, no more and no less.
""",
    claimed={
        "factor": "1/2",
        "divergence": "2",
        "sum_1": "0.0484",
        "sum_2": "0.0361",
        "simple_1": "0.0296",
        "simple_2": "0.0190",
        "least_1": "1/16, 31/320",
        "least_2": "3/100, 249/5000",
        "apart": "2",
        "above_1": "168",
        "above_2": "65",
    },
    meaning={
        "factor": "constant of the lower bound",
        "divergence": "constant in the bound on the divergence",
        "sum_1": "constant for every horizon, arrival rate 1/2",
        "sum_2": "the same, arrival rate 3/10",
        "simple_1": "constant of the simpler bound, arrival rate 1/2",
        "simple_2": "the same, arrival rate 3/10",
        "least_1": "minimax regret of the pair for T = 3 and 4, arrival rate 1/2",
        "least_2": "the same, arrival rate 3/10",
        "apart": "how much larger than D the distance of p and the arrival rate must be",
        "above_1": "constant from above, arrival rate 1/2",
        "above_2": "the same, arrival rate 3/10",
    },
    rests_on=["contextual.one_step_loss", "contextual.psi_product_bound", "contextual.ramp_clean"],
    parts={
        "bound": "the lower bound",
        "divergence": "the divergence of two bits",
        "constants": "constants for every horizon",
        "least": "minimax regret at two short horizons",
        "above": "the bound from above",
    },
    uncovered="the Bretagnolle-Huber inequality and the chain rule of divergences, which the proof "
    "takes from the literature. The factor is refuted above 1 only, and the constants from "
    "above are those of a bound, some fifty times the regret of always the wrong server. The pair of "
    "queues changes with T: nothing is said of the regret in one queue as T grows",
)


@lower_bound.check(method="smt", scope="general", part="bound", false={"factor": "1.001"})
def two_servers_told_apart(factor: str) -> Finding:
    """Add up what errors cost in both cases, by z3: a wrong server or none costs at least 2D.

    A job that arrives in round t - 1 waits in round t, which has probability lambda and tells nothing;
    the services of rounds 2, ..., t - 1 are known then, so both error probabilities add up to
    e^(-(t-2) kl)/2 or more. Each error costs its gap times (1 - p - D)^(T-1-t) (`one_step_loss`). A
    factor above 1 is refuted by the exact minimax regret at T = 3.
    """
    import z3

    from checks.methods.smt import implies, real

    stated = Fraction(factor)
    if stated > Fraction(1, 2):
        rate, middle, half = PAIRS[1]
        least = minimax_regret(3, rate, middle, half)
        if stated * rate * half > least:
            return refuted(
                f"lambda = {rate}, p = {middle}, D = {half}, T = 3: some policy has regret {least} in "
                f"both cases, below {stated * rate * half}"
            )
        return undecided(f"no policy is known that breaks the factor {factor}")
    p, d, rate, power, told = z3.Reals("p D lambda (1-p-D)^m e^(-(t-2)kl)")
    first, second, one, other, worse = z3.Reals("error1 error2 regret1 regret2 worse")
    t, horizon, m, known = z3.Ints("t T m known")
    sizes = [d > 0, d < p, p + d < 1, rate > 0, rate < 1, power > 0, power <= 1, told > 0]
    errors = [first >= 0, second >= 0, 2 * (first + second) >= told]
    return combine(
        [
            as_stated(one_step_loss, power="T-1-t"),
            implies(sizes, p + d >= 2 * d, "idling costs no less than the wrong server"),
            implies(
                [
                    *(*sizes, *errors, worse >= one, worse >= other),
                    one >= rate * 2 * d * power * first,
                    other >= rate * 2 * d * power * second,
                ],
                worse >= real(stated) * rate * d * power * told,
                "one round, both cases",
            ),
            implies(
                [horizon >= 3, t >= 2, t <= horizon - 1, m == horizon - 1 - t, known == t - 2],
                z3.And(m >= 0, m <= horizon - 3, known == horizon - 3 - m),
                "rounds and known services",
            ),
            implies(
                [horizon >= 3, m >= 0, m <= horizon - 3, t == horizon - 1 - m],
                z3.And(t >= 2, t <= horizon - 1),
                "every m is a round",
            ),
        ],
        "lambda 2D (1-p-D)^m times half of e^(-(T-3-m) kl)/2, for m = 0, ..., T-3",
    )


@lower_bound.check(
    method="symbolic", scope="general", part="divergence", false={"divergence": "1.99"}
)
def divergence_of_two_bits(divergence: str) -> Finding:
    """Integrate the derivative of the divergence, which is (b - a)/(b (1 - b)) in its second argument.

    b (1 - b) is concave, so between both means it is at least the smaller of its end values. A smaller
    constant is refuted by two means that are close.
    """
    import sympy
    import z3

    from checks.methods.certified import ball, precision
    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    stated = Fraction(divergence)
    if stated < 2:
        with precision(200):
            for power in range(1, 8):
                half = Fraction(1, 10**power)
                low = Fraction(1, 2) - half
                kl = larger_divergence(Fraction(1, 2), half)
                if kl > ball(stated * half**2 / (low * (1 - low))):
                    return refuted(
                        f"p = 1/2, D = {half}: kl = {kl.str(8, radius=False)}, above {divergence} D^2 "
                        f"over {low * (1 - low)}"
                    )
        return undecided(f"no two means are known that break the constant {divergence}")
    a, b, half, least = sympy.symbols("a b D m", positive=True)
    kl = a * sympy.log(a / b) + (1 - a) * sympy.log((1 - a) / (1 - b))
    low, high, x = z3.Reals("p-D p+D b")
    inside = [low > 0, high < 1, low <= x, x <= high]
    smaller = z3.If(low * (1 - low) <= high * (1 - high), low * (1 - low), high * (1 - high))
    return combine(
        [
            identity(sympy.diff(kl, b), (b - a) / (b * (1 - b)), "derivative"),
            identity(kl.subs(b, a), sympy.Integer(0), "both means equal"),
            implies(inside, x * (1 - x) >= smaller, "concave between the means"),
            identity(
                sympy.integrate((b - a) / least, (b, a, a + 2 * half)),
                2 * half**2 / least,
                "integral of the bound, upwards",
            ),
            identity(
                sympy.integrate((b - a) / least, (b, a, a - 2 * half)),
                2 * half**2 / least,
                "integral of the bound, downwards",
            ),
            proved(f"2 <= {divergence}"),
        ],
        "the integral of |b - a|/min over a distance of 2D is 2 D^2/min",
    )


def larger_divergence(middle: Fraction, half: Fraction | arb) -> arb:
    """The larger divergence between bits of mean p + D and p - D, as a ball.

    Parameters
    ----------
    middle : Fraction
        p, in (0, 1).
    half : Fraction or ball
        D, between 0 and min(p, 1 - p).
    """
    from checks.methods.certified import ball

    p = ball(middle)
    d = ball(half) if isinstance(half, Fraction) else half
    high, low = p + d, p - d
    wins, losses = (high / low).log(), ((1 - low) / (1 - high)).log()
    one = high * wins - (1 - high) * losses
    other = (1 - low) * losses - low * wins
    return one.max(other)


def bound_of_sum(rate: Fraction, middle: Fraction, half: Fraction | arb, horizon: int) -> arb:
    """L_T as a ball, its geometric sum in closed form."""
    from checks.methods.certified import ball

    d = ball(half) if isinstance(half, Fraction) else half
    decay = (-larger_divergence(middle, half)).exp()
    ratio = (1 - ball(middle) - d) / decay
    terms = horizon - 2
    return ball(rate / 2) * d * decay ** (terms - 1) * (1 - ratio**terms) / (1 - ratio)


def bound_of_one_term(rate: Fraction, middle: Fraction, half: arb, horizon: int) -> arb:
    """The simpler bound as a ball."""
    from checks.methods.certified import ball

    return ball(rate / 2) * half * (-(horizon - 2) * larger_divergence(middle, half)).exp()


@cache
def least_constant(case: int, simple: bool) -> tuple[arb, int, arb]:
    """The least sqrt(T) times a bound from T = 3 on: at short horizons with its T, and at all others.

    Short horizons are computed one by one. Beyond, with D_0 the largest D, T kl is at most T times the
    bound of `divergence_of_two_bits`, which does not increase in T, and the geometric sum is at least
    what it is for D_0.

    Parameters
    ----------
    case : {0, 1}
        Which of ``PAIRS``.
    simple : bool
        The simpler bound.

    Returns
    -------
    ball, int, ball

    Notes
    -----
    Cost: 0.2 s for the simpler bound.
    """
    from checks.methods.certified import ball, precision

    rate, middle, _ = PAIRS[case]
    spread = middle * (1 - middle)
    share = Fraction(1, 2) if simple else Fraction(1, 4)  # D^2 T over p (1 - p)
    last = 16_000 if simple else 1200
    bound = bound_of_one_term if simple else bound_of_sum
    with precision(64):
        scaled = []
        for horizon in range(3, last + 1):
            half = ball(share * spread / horizon).sqrt()
            scaled.append((bound(rate, middle, half, horizon) * ball(horizon).sqrt(), horizon))
        where = min(scaled, key=lambda pair: pair[0].mid())[1]
        smallest = reduce(lambda x, pair: x.min(pair[0]), scaled, scaled[0][0])
        half = ball(share * spread / last).sqrt()
        low, high = ball(middle) - half, ball(middle) + half
        least = (low * (1 - low)).min(high * (1 - high))
        tail = (
            ball(rate / 2) * ball(share * spread).sqrt() * (-ball(2 * share * spread) / least).exp()
        )
        if not simple:
            tail *= (1 - (1 - high) ** (last - 1)) / high
    return smallest, where, tail


@lower_bound.check(
    method="certified",
    scope="general",
    part="constants",
    false=[
        {"sum_1": "0.0485"},
        {"sum_2": "0.0362"},
        {"simple_1": "0.0297"},
        {"simple_2": "0.0191"},
    ],
)
def constants_for_every_horizon(
    factor: str, sum_1: str, sum_2: str, simple_1: str, simple_2: str
) -> Finding:
    """Enclose both bounds at each short horizon, and all longer ones at once.

    Short: up to T = 1200, of the simpler bound 16000. Longer ones by monotonicity in T. A larger
    constant is refuted at the horizon where the bound is smallest.
    """
    from checks.methods.certified import ball, precision, quantity

    found = []
    for case, simple, stated in (
        *((0, False, sum_1), (1, False, sum_2)),
        *((0, True, simple_1), (1, True, simple_2)),
    ):
        smallest, where, tail = least_constant(case, simple)
        rate, middle, _ = PAIRS[case]
        name = f"{'simpler bound' if simple else 'L_T'}, lambda = {rate}, p = {middle}"
        with precision(64):
            if not simple:
                smallest, tail = (ball(2 * Fraction(factor)) * x for x in (smallest, tail))
            value = quantity(smallest, 12)
            if smallest < ball(stated):
                found.append(refuted(f"{name}: {value.text}/sqrt(T) at T = {where}, not {stated}"))
            elif smallest >= ball(stated) and tail >= ball(stated):
                text = f"{name}: least at T = {where}, {value.text}"
                found.append(proved(text, **{f"least constant, {name}": value}))
            else:
                found.append(undecided(f"{name}: {value.text} and {tail.str(6)} against {stated}"))
    return combine(found)


def minimax_regret(horizon: int, rate: Fraction, middle: Fraction, half: Fraction) -> Fraction:
    """The least that the larger of both regrets can be, in rationals, by backward induction.

    A policy that first exchanges the names of the servers with probability 1/2 has the same regret in
    both cases, so this is the least mean regret if both cases are equally likely. What was seen matters
    only through the successes of server 1 less those of server 2, and the failures likewise.

    Parameters
    ----------
    horizon : int
        T, at least 2; lengths are compared at the beginning of round T.
    rate, middle, half : Fraction
        lambda, p and D.

    Raises
    ------
    ValueError
        If the horizon is below 2, lambda not in (0, 1), or a rate not.

    Notes
    -----
    Cost: 0.05 s for T = 8, 0.15 s for T = 10.
    """
    if horizon < 2:
        raise ValueError(f"horizon = {horizon}: must be an integer from 2")
    high, low = middle + half, middle - half
    for name, value in (("rate", rate), ("middle + half", high), ("middle - half", low)):
        if not 0 < value < 1:
            raise ValueError(f"{name} = {value}: must be in (0, 1)")

    @cache
    def belief(wins: int, losses: int) -> Fraction:
        """Posterior probability that server 1 is the better one."""
        odds = (high / low) ** wins * ((1 - high) / (1 - low)) ** losses
        return odds / (1 + odds)

    @cache
    def least(t: int, waiting: int, wins: int, losses: int) -> Fraction:
        if t == horizon:
            return Fraction(waiting)

        def later(left: int, wins: int, losses: int) -> Fraction:
            stays = least(t + 1, left, wins, losses)
            return (1 - rate) * stays + rate * least(t + 1, left + 1, wins, losses)

        if waiting == 0:
            return later(0, wins, losses)
        first = belief(wins, losses)
        return min(
            served * later(waiting - 1, wins + sign, losses)
            + (1 - served) * later(waiting, wins, losses + sign)
            for sign, served in (
                (1, first * high + (1 - first) * low),
                (-1, first * low + (1 - first) * high),
            )
        )

    @cache
    def known(t: int, waiting: int) -> Fraction:
        """The same if the better server is known."""
        if t == horizon:
            return Fraction(waiting)
        served = high if waiting else Fraction(0)
        return sum(
            p * q * known(t + 1, waiting - leaves + joins)
            for leaves, p in ((1, served), (0, 1 - served))
            for joins, q in ((1, rate), (0, 1 - rate))
            if p
        )

    return least(1, 0, 0, 0) - known(1, 0)


@lower_bound.check(
    method="exact",
    scope="general",
    part="least",
    false=[{"least_1": "1/16, 32/320"}, {"least_2": "3/100, 250/5000"}],
)
def exact_minimax_regret(least_1: str, least_2: str) -> Finding:
    """Solve both pairs for T = 3 and T = 4 in rationals: this part of the statement is these numbers."""
    found = []
    for (rate, middle, half), name, stated in zip(
        PAIRS, ("least_1", "least_2"), (least_1, least_2), strict=True
    ):
        numbers = one_for_each(name, stated, "T = 3", "T = 4")
        for horizon, number in zip((3, 4), numbers, strict=True):
            least = minimax_regret(horizon, rate, middle, half)
            name = f"minimax regret, lambda = {rate}, T = {horizon}"
            found.append(
                decide(
                    least == Fraction(number),
                    f"{name}: {least}",
                    f"{name}: {least}, not {number}",
                    **{name: exact(least)},
                )
            )
    return combine(found)


@lower_bound.check(method="certified", scope="instances", part="bound", false={"factor": "1.001"})
def bound_below_the_minimax_regret(factor: str) -> Finding:
    """Compare the bound with the exact minimax regret of both pairs, for T = 3, 4, 6 and 8."""
    from checks.methods.certified import ball, precision

    stated, closest = Fraction(factor), 0.0
    with precision(100):
        for rate, middle, half in PAIRS:
            for horizon in (3, 4, 6, 8):
                least = minimax_regret(horizon, rate, middle, half)
                bound = ball(2 * stated) * bound_of_sum(rate, middle, half, horizon)
                where = f"lambda = {rate}, p = {middle}, D = {half}, T = {horizon}"
                if bound > ball(least):
                    return refuted(
                        f"{where}: {bound.str(8, radius=False)} exceeds the minimax regret "
                        f"{float(least):.8f}"
                    )
                if not bound <= ball(least):
                    return undecided(f"{where}: not separated")
                closest = max(closest, float((bound / ball(least)).mid()))
    return proved(f"eight exact values; the largest share is {closest:.3f}")


@lower_bound.check(
    method="certified",
    scope="general",
    part="above",
    false=[{"apart": "1.9"}, {"above_1": "167"}, {"above_2": "64"}],
)
def every_round_is_good(apart: str, above_1: str, above_2: str) -> Finding:
    """Even the wrong server leaves half of the slack p - lambda, so no round is bad, by z3.

    Then an error of at most 2D lasts as long as ramp_clean says for b = 0, and Arb encloses what that is
    for both pairs. The horizons from which D is small enough follow from D^2 = p (1 - p)/(4T).
    """
    import z3

    from checks.methods.certified import ball, precision, quantity
    from checks.methods.smt import implies, real

    p, d, rate, wrong, slack, served, spread, t = z3.Reals("p D lambda chance slack rate p(1-p) T")
    found = [
        as_stated(psi_product_bound, relation=r"\le"),
        as_stated(one_step_loss, factor="1"),
        as_stated(ramp_clean, exponent="1/4", rest="1"),
        implies(
            [
                *(d > 0, d < p, p + d < 1, rate > 0, slack == p - rate, slack >= real(apart) * d),
                *(wrong >= 0, wrong <= 1, served == wrong * (p - d) + (1 - wrong) * (p + d)),
            ],
            z3.And(
                *(rate - served <= -slack / 2, slack > 0, rate + slack <= p + d, rate <= 1 - slack),
                p + d - served <= 2 * d,
            ),
            "drift at any server, and the error of a choice",
        ),
        implies(
            [
                *(t > 0, slack > 0, d > 0, spread > 0, 4 * t * d * d == spread),
                t * slack * slack >= spread,
            ],
            slack >= 2 * d,
            "horizons from which D is small enough",
        ),
    ]
    for (arrivals, middle, _), stated in zip(PAIRS, (above_1, above_2), strict=True):
        room = middle - arrivals
        with precision(100):
            lasts = 1 + (1 + factor_ball(arrivals, room).log()) / ball(room**2 / 4)
            constant = ball(middle * (1 - middle)).sqrt() * lasts
            name = f"sqrt(T) times the bound from above, lambda = {arrivals}"
            value = quantity(constant, 12)
            if constant > ball(stated):
                found.append(refuted(f"{name}: {value.text}, above {stated}"))
            elif constant <= ball(stated):
                found.append(proved(f"{name}: {value.text}", **{name: value}))
            else:
                found.append(undecided(f"{name}: {value.text} against {stated}"))
    return combine(found)


@lower_bound.check(
    method="certified",
    scope="instances",
    part="above",
    false=[{"above_1": "1"}, {"above_2": "0.5"}],
)
def always_the_wrong_server(above_1: str, above_2: str) -> Finding:
    """Enclose the regret of a policy that always takes the wrong server, for T = 8, 32 and 128."""
    from checks.methods.certified import ball, precision

    largest = []
    for (rate, middle, _), stated in zip(PAIRS, (above_1, above_2), strict=True):
        scaled = []
        for horizon in (8, 32, 128):
            with precision(100):
                half = ball(middle * (1 - middle) / horizon).sqrt() / 2
                mean = [
                    _mean_length(ball(rate), ball(middle) + sign * half, horizon)
                    for sign in (-1, 1)
                ]
                scaled.append(float(((mean[0] - mean[1]) * ball(horizon).sqrt()).mid()))
                if not (mean[0] - mean[1]) * ball(horizon).sqrt() <= ball(stated):
                    return refuted(
                        f"lambda = {rate}, T = {horizon}: sqrt(T) times the regret is {scaled[-1]:.6f}, "
                        f"above {stated}"
                    )
        largest.append(f"{max(scaled):.4f}")
    return proved(f"sqrt(T) times the regret is at most {' and '.join(largest)}")


def _mean_length(rate: arb, served: arb, horizon: int) -> arb:
    """Mean length at the beginning of round T of a queue of one service rate, empty at first."""
    law = [1 + 0 * rate]
    for _ in range(horizon - 1):
        after = [0 * rate for _ in range(len(law) + 1)]
        for length, weight in enumerate(law):
            leaves = served if length else 0 * rate
            for change, chance in (
                (1, rate * (1 - leaves)),
                (0, rate * leaves + (1 - rate) * (1 - leaves)),
                (-1, (1 - rate) * leaves),
            ):
                if length + change >= 0:
                    after[length + change] += weight * chance
        law = after
    return sum(length * weight for length, weight in enumerate(law))
