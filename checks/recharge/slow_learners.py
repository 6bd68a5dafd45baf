"""Learners whose mixed strategy moves slowly earn the Hamacher sum at most; Thompson sampling does."""

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise, product

from checks.claim import Claim, Source
from checks.finding import Finding, combine, decide, exact, one_of, proved, refuted, undecided
from checks.judging import unfit
from checks.methods.smt import real
from checks.methods.statistical import most_runs
from checks.recharge.evidence_beyond import THOMPSON_INSTANCES, thompson_regret
from checks.recharge.instances import I3, SOURCE

BEST_OF_I3 = (0, 2, 0, 0, 2, 0, 0, 2, 0, 1)  # optimal, by the claim recharge.opt_certificate


def _positive(name: str, text: str) -> Fraction:
    number = Fraction(text)
    if number <= 0:
        raise ValueError(f"{name} = {text}: must be positive")
    return number


def hamacher_sum(rates: Iterable[Fraction]) -> Fraction:
    """r/(1+r) for the sum r of the odds, from the definition."""
    total = sum(rate / (1 - rate) for rate in rates)
    return total / (1 + total)


# Slow learners -----------------------------------------------------------------------------------

slow_learners = Claim(
    "recharge.slow_learners_get_at_most_h",
    title="A learner whose mixed strategy moves slowly earns at most the Hamacher sum",
    source=Source(SOURCE, "Theorem 3.1", provenance="ours"),
    statement=r"""
Let a learner on $m$ recharging arms of rates $\mu_j=1-q_j\in(0,1)$ draw arm $j$ at step $t$ with a
probability $p_j(t)$ that the past determines, and let
$V_{T,j}=\sum_{t=1}^{T-1}|p_j(t+1)-p_j(t)|$. With $U_T$ the utility of $T$ steps (each reward replaced by
its probability given the past) and $h$ the Hamacher sum,
$$E\,U_T\ \le\ hT+m+\sum_j\frac1{q_j}+\sum_j\frac{E\,V_{T,j}}{\mu_j}.$$
With probability at least $1-\delta$ the same is true of $U_T$ and $V_{T,j}$ themselves, with
$m\sqrt{T\ln(m/\delta)/2}$ added on the right: a sum over $j$ of martingales with increments in intervals
of length at most <<interval>>.

So a learner without regret, which earns at least $hT-o(T)$, earns exactly that if its strategy has a
variation of $o(T)$: to earn more, a learner must go on moving.

*EXP3* with exploration $\gamma$ and learning rate $\eta\le\gamma/m$ moves each probability by at most
$\eta$ in a step.
""",
    claimed={"constant": "1", "variation": "1", "interval": "1", "step": "1"},
    meaning={
        "constant": "what might multiply m and the sum of 1/q_j",
        "variation": "what might multiply the sum of the variations over the rates",
        "interval": "longest interval of an increment",
        "step": "largest move of a probability of EXP3, over its learning rate",
    },
    rests_on=["recharge.age_state", "recharge.per_arm_identity", "recharge.odds_best_memoryless"],
    parts={
        "bound": "the bound for every learner",
        "range": "the increments of the martingales",
        "exp3": "how far EXP3 moves in a step",
    },
    uncovered="the inequality of Hoeffding and Azuma, and that a martingale has mean 0",
)


@slow_learners.check(
    method="symbolic",
    scope="general",
    false=[{"constant": "0.49"}, {"variation": "0.01"}],
    part="bound",
)
def availability_follows_the_strategy(constant: str, variation: str) -> Finding:
    """Sum the gap between availability and its resting point by parts, for symbolic rates and steps.

    Given the past, the availability a = 1 - q^age of an arm moves to mu + q(1 - p)a on average, whose
    fixed point is f(p) = rho/(rho + p). So a - f(p) is w = 1/(mu + qp) times the mean decrease of a, and
    the sum over steps telescopes but for the changes of w. The per-arm identity turns it into a bound on
    the utility, and sum p_j f_j(p_j) <= h. A smaller constant is compared with one arm of rate 1/100, a
    smaller multiple of the variation with the optimal schedule of three arms.
    """
    import sympy

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    first = _positive("constant", constant), _positive("variation", variation)
    if first[0] < 1 or first[1] < 1:
        return _too_small(*first)

    q, p, a, v, w, b, c = sympy.symbols("q p alpha v w b c", positive=True)
    mu = 1 - q
    odds, weight = mu / q, 1 / (mu + q * p)
    rest = odds / (odds + p)
    found = [
        identity(p * mu + (1 - p) * (1 - q * (1 - a)), mu + q * (1 - p) * a, "next availability"),
        identity(a - rest, weight * (a - (mu + q * (1 - p) * a)), "distance from rest"),
        # w_(T+1) (a_(T+1) - a_(T+2)) keeps the sum equal to its value by parts
        identity(w * (b - c), v * b - w * c + (w - v) * b, "one more step, by parts"),
        identity(odds * (1 - rest), p * rest, "odds times what is missing"),
        identity(odds / mu, 1 / q, "odds times the largest weight"),
        identity(odds * q / mu**2, 1 / mu, "odds times the steepest weight"),
    ]
    # with 0 < q < 1 written as mu > 0: 1/mu - w and q/mu^2 - |dw/dp| have positive terms only
    m = sympy.Symbol("mu", positive=True)
    w_of = 1 / (m + q * p)
    for gap, name in (
        (1 / m - w_of, "weight at most 1/mu"),
        (q / m**2 + sympy.diff(w_of, p), "slope of the weight at most q/mu^2"),
    ):
        positive = bool(sympy.factor(sympy.together(gap)).is_positive)
        found.append(decide(positive, name, f"{name}: sign not seen"))
    found.append(_assembled(implies))
    return combine(found, "telescoped by parts, with weights in (0, 1/mu] of slope at most q/mu^2")


def _assembled(implies) -> Finding:
    """z3 adds up: from the sum by parts and the per-arm identity to the bound for one arm."""
    import z3

    names = "utility rho missing resting excess at_first at_last moved steep V"
    utility, rho, missing, resting, excess, at_first, at_last, moved, steep, v = z3.Reals(names)
    # sum of (1 - a) = sum of (1 - f) - excess; excess >= w_1 a_1 - w_T a_(T+1) - sum |dw| a
    hypotheses = [
        *(rho > 0, steep > 0, v >= 0, at_first >= 0, at_last >= 0),
        utility <= rho * missing + 1,
        missing == resting - excess,
        excess >= at_first - at_last - moved,
        moved <= steep * v,
    ]
    bound = rho * resting + 1 + rho * at_last + rho * steep * v
    return implies(hypotheses, utility <= bound, "one arm")


def _too_small(constant: Fraction, variation: Fraction) -> Finding:
    """Compare smaller numbers with one slow arm, pulled always, and with the optimal schedule."""
    from simlib.recharge.exact import evaluate_schedule

    slow = Fraction(1, 100)
    for rates, actions, name in (
        ((slow,), (0,) * 3, "one arm of rate 1/100, T = 3"),
        (tuple(map(Fraction, I3)), BEST_OF_I3 * 150, "rates 1/2, 1/10, 3/10, optimal, T = 1500"),
    ):
        utility, steps = evaluate_schedule(rates, actions).utility, len(actions)
        bound = hamacher_sum(rates) * steps
        bound += constant * (len(rates) + sum(1 / (1 - rate) for rate in rates))
        moves = [0] * len(rates)
        for last, arm in pairwise(actions):
            if last != arm:
                moves[last] += 1
                moves[arm] += 1
        bound += variation * sum(move / rate for move, rate in zip(moves, rates, strict=True))
        if utility > bound:
            return refuted(f"{name}: U = {float(utility):.4f}, the bound is {float(bound):.4f}")
    return undecided("the proof needs 1, and no counterexample is known")


@slow_learners.check(method="exact", scope="instances", false={"variation": "0.01"}, part="bound")
def adapted_strategies(variation: str) -> Finding:
    """Sum by parts in rationals over whole trees of answers, two arms, four steps, 16 random trees.

    A tree gives each history of arms and answers its own strategy, a multiple of 1/10. Decided: the
    expected sum of availability less resting point, less its two ends, is at most the given multiple
    of q/mu^2 times the expected variation, in absolute value.
    """
    import random

    multiple = _positive("variation", variation)
    draw, trees, worst = random.Random(1), 0, Fraction(0)
    for rates in ((Fraction(1, 2), Fraction(1, 10)), (Fraction(2, 3), Fraction(1, 4))):
        for _ in range(8):
            trees += 1
            for arm in (0, 1):
                left, moved = _tree(rates, arm, draw, 4)
                scale = (1 - rates[arm]) / rates[arm] ** 2
                if abs(left) > multiple * scale * moved:
                    return refuted(
                        f"rates {rates[0]}, {rates[1]}, a tree of 4 steps, arm {arm}: "
                        f"|{float(left):.4f}| > {float(multiple * scale * moved):.4f}"
                    )
                worst = max(worst, abs(left) / (scale * moved))
    shown = {"trees": exact(trees)}
    return proved(f"{trees} trees; the largest ratio is {float(worst):.3f}", **shown)


def _tree(rates, arm, draw, depth):
    """Expected sum of availability less rest without its ends, and the expected variation."""
    q = [1 - rate for rate in rates]

    def walk(step, ages, before):
        share = Fraction(draw.randrange(1, 10), 10)
        p = (share, 1 - share)
        free = [1 if age is None else 1 - x**age for age, x in zip(ages, q, strict=True)]
        weight = 1 / (rates[arm] + q[arm] * p[arm])
        gap = free[arm] - rates[arm] * weight  # the resting point is mu/(mu + q p)
        moved = Fraction(0)
        if before is None:
            gap -= weight * free[arm]
        else:
            moved = abs(p[arm] - before)
        for pulled in (0, 1):
            after = tuple(1 if j == pulled else age and age + 1 for j, age in enumerate(ages))
            for chance in (free[pulled], 1 - free[pulled]):
                if not chance:
                    continue
                if step == depth:
                    last = 1 if after[arm] is None else 1 - q[arm] ** after[arm]
                    rest = (weight * last, Fraction(0))
                else:
                    rest = walk(step + 1, after, p[arm])
                gap += p[pulled] * chance * rest[0]
                moved += p[pulled] * chance * rest[1]
        return gap, moved

    return walk(1, (None, None), None)


@slow_learners.check(method="symbolic", scope="general", false={"interval": "0.99"}, part="range")
def increments_of_the_martingale(interval: str) -> Finding:
    """Bound the interval of an increment, rho w q a, for all rates, strategies and ages.

    The next availability is mu if the arm is pulled and mu + q a if not: an interval of length q a,
    times the odds rho = mu/q and the weight w = 1/(mu + qp).
    """
    import sympy

    from checks.methods.symbolic import identity

    claimed = _positive("interval", interval)
    mu, q, p, a, u = sympy.symbols("mu q p alpha unused", positive=True)
    length = mu / q * q * a / (mu + q * p)
    if claimed < 1:
        at = {mu: sympy.Rational(1, 2), q: sympy.Rational(1, 2), a: 1, p: sympy.Rational(1, 1000)}
        value = length.subs(at)
        return decide(
            value <= claimed, f"{value}", f"rate 1/2, never pulled, p = 1/1000: length {value}"
        )
    slack = sympy.factor(sympy.together((1 - length).subs(a, 1 - u)))
    # a <= 1 as a = 1 - u: (qp + mu u)/(mu + qp) has no negative term
    return combine(
        [
            identity(slack, (q * p + mu * u) / (mu + q * p), "1 less the length"),
            decide(
                bool(((q * p + mu * u) / (mu + q * p)).is_positive), "positive", "sign not seen"
            ),
        ],
        "1 less the length is (q p + mu (1 - a))/(mu + q p)",
    )


@slow_learners.check(method="certified", scope="general", false={"step": "0.99"}, part="exp3")
def one_update_of_exp3(step: str) -> Finding:
    """Bound what one success adds to the probability of its arm, for every state of EXP3.

    With s the share of the arm's weight, P = (1 - gamma)s + gamma/m its probability and x = eta/P, the
    update adds (1 - gamma) s(1 - s)(e^x - 1)/(1 + s(e^x - 1)), and the other arms lose as much together.
    Since eta <= gamma/m, (1 - gamma)s <= P(1 - x); and (1 - x)(e^x - 1) <= x because e^-x >= 1 - x. A
    smaller multiple is compared with a state close to the limit, in Arb.
    """
    import sympy
    import z3

    from checks.judging import exponential_above_line
    from checks.methods.certified import ball, precision
    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    claimed = _positive("step", step)
    if claimed < 1:
        # eta = gamma/m tiny, the share of the arm 1000 times eta
        with precision(128):
            eta, gamma, share = ball("1e-12"), ball("2e-12"), ball("1e-9")
            probability = (1 - gamma) * share + eta
            growth = (eta / probability).exp() - 1
            moved = (1 - gamma) * share * (1 - share) * growth / (1 + share * growth)
            if moved > ball(claimed) * eta:
                return refuted(
                    f"share 1e-9, eta = gamma/2 = 1e-12: moves {(moved / eta).mid()} eta"
                )
        return undecided("the proof needs 1, and the state tried moves less")
    s, e = sympy.symbols("s e", positive=True)
    growth = identity(
        s * e / (1 + s * (e - 1)) - s, s * (1 - s) * (e - 1) / (1 + s * (e - 1)), "gain"
    )
    share, x, big, floor, rate, gain = z3.Reals("share x P floor eta gain")
    grown = z3.Real("grown")  # e^x - 1
    # share stands for (1 - gamma) s; the remaining factor (1 - s)/(1 + s (e^x - 1)) is at most 1
    moved = implies(
        [
            *(share >= 0, big > 0, rate > 0, grown >= 0, x > 0, x <= 1),
            *(big == share + floor, floor >= rate, x * big == rate),
            (1 - x) * grown <= x,
            *(gain >= 0, gain <= share * grown),
        ],
        gain <= real(claimed) * rate,
        "what a success adds",
    )
    e_x, y = z3.Reals("exp_x y")
    shape = implies(
        [e_x > 0, y >= 0, y <= 1, e_x * (1 - y) <= 1],
        (1 - y) * (e_x - 1) <= y,
        "from e^-x >= 1 - x",
    )
    return combine([growth, exponential_above_line(), shape, moved], "at most eta, in every state")


# Thompson sampling -------------------------------------------------------------------------------

thompson_at_most_h = Claim(
    "recharge.thompson_at_most_h",
    title="Thompson sampling earns at most the Hamacher sum, up to a term of order the root of T",
    source=Source(SOURCE, "Section 2.1", provenance="ours"),
    statement=r"""
Thompson sampling with uniform priors keeps for each of $m$ arms the law Beta$(1+S_j,1+F_j)$ ($S_j$
successes, $F_j$ failures so far), draws a number from each and pulls the arm with the largest. A success
moves the law of one arm from Beta$(a,b)$ to Beta$(a+1,b)$: by at most $<<one:frac>>/\sqrt a$ in total
variation, and a failure by at most $<<one:frac>>/\sqrt b$. Since
$\sum_{k\le S}\frac1{2\sqrt k}\le\sqrt S$, on every path of $T$ steps
$$\sum_{t<T}\|p(t+1)-p(t)\|_{\rm TV}\ \le\ \sum_j\bigl(\sqrt{S_j}+\sqrt{F_j}\bigr)\ \le\
\sqrt{<<total>>\,mT},$$
and hence
$$E\,U_T\ \le\ hT+m+\sum_j\frac1{q_j}+\sqrt{<<total>>\,mT}\,\sum_j\frac1{\mu_j}.$$
""",
    claimed={"one": "1/2", "root": "1", "total": "2"},
    meaning={
        "one": "move of a posterior in total variation, times the root of its count",
        "root": "what might multiply the root of S",
        "total": "constant under the root",
    },
    rests_on=["recharge.slow_learners_get_at_most_h"],
    parts={"posterior": "one answer moves one posterior", "sums": "adding up"},
    uncovered="that the largest of independent draws moves in total variation by no more than the one "
    "draw whose law changes, and that this distance is at most half the root of the chi-square "
    "distance (Cauchy and Schwarz)",
)


@thompson_at_most_h.check(
    method="symbolic", scope="general", false={"one": "0.39"}, part="posterior"
)
def chi_square_of_one_answer(one: str) -> Finding:
    """Integrate the squared density ratio of Beta(a+1,b) over Beta(a,b), for symbolic a and b.

    The ratio is x(a + b)/a, so the chi-square distance is b/(a(a + b + 1)), below 1/a, and the distance
    in total variation is at most half its root. A smaller constant is compared with the exact distance,
    x^a (1 - x)^b/(a B(a,b)) at x = a/(a + b), for some integers. Failures are the same with a and b
    exchanged.
    """
    import sympy

    from checks.methods.symbolic import identity

    claimed = _positive("one", one)
    if claimed < Fraction(1, 2):
        for a, b in product((1, 2, 5, 10, 20), (10, 500)):
            distance = _beta_distance(a, b)
            if distance**2 * a > claimed**2:
                return refuted(
                    f"Beta({a}, {b}): distance {float(distance):.6f}, "
                    f"not {float(claimed) / math.sqrt(a):.6f}"
                )
        return undecided("the proof needs 1/2, and no counterexample is known")
    a, b = sympy.symbols("a b", positive=True)
    second = a * (a + 1) / ((a + b) * (a + b + 1))  # of Beta(a, b)
    square = b / (a * (a + b + 1))
    return combine(
        [
            identity((a + b) ** 2 / a**2 * second - 1, square, "chi-square distance"),
            identity(1 / a - square, (a + 1) / (a * (a + b + 1)), "1/a less it, a positive term"),
        ],
        "chi-square b/(a(a+b+1)) < 1/a, so total variation at most 1/(2 sqrt a)",
    )


def _beta_distance(a: int, b: int) -> Fraction:
    """Total variation distance between Beta(a, b) and Beta(a + 1, b): their laws cross once."""
    x = Fraction(a, a + b)
    inverse = Fraction(math.factorial(a + b - 1), math.factorial(a - 1) * math.factorial(b - 1))
    return x**a * (1 - x) ** b * inverse / a


@thompson_at_most_h.check(
    method="exact", scope="instances", false={"one": "0.39"}, part="posterior"
)
def exact_distances(one: str) -> Finding:
    """The exact distance in rationals for 1,640 pairs of counts, against the constant over sqrt(a).

    a up to 40, b up to 40 and 500: the distance grows with b, and its largest multiple of 1/sqrt(a)
    tends to 0.3989.
    """
    claimed = _positive("one", one)
    square, a, b = max(
        (_beta_distance(a, b) ** 2 * a, a, b)
        for a, b in product(range(1, 41), (*range(1, 41), 500))
    )
    shown = f"largest distance times sqrt(a): {math.sqrt(square):.4f}, at Beta({a}, {b})"
    return decide(square <= claimed**2, shown, shown)


@thompson_at_most_h.check(
    method="certified", scope="general", false=[{"root": "0.9"}, {"total": "1.9"}], part="sums"
)
def roots_add_up(root: str, total: str) -> Finding:
    """Induction for the sum over one count, then the inequality of the means for the 2m counts.

    sqrt(S+1) - sqrt S = 1/(sqrt(S+1) + sqrt S) >= 1/(2 sqrt(S+1)). Each root is at most (x/s + s)/2
    with s = sqrt(T/(2m)), and x sums to T. Smaller constants are compared with S = 100 (Arb) and with
    2m equal counts.
    """
    import sympy
    import z3

    from checks.methods.certified import ball, precision
    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    one, under = _positive("root", root), _positive("total", total)
    if one < 1:
        with precision(128):
            added = ball(0)
            for k in range(1, 101):
                added += 1 / (2 * ball(k).sqrt())
            if added > 10 * ball(one):
                return refuted(f"S = 100: the sum is {added.mid()}, above {10 * float(one)}")
        return undecided("no counterexample is known")
    if under < 2:
        return refuted(
            f"2m counts of 1, T = 2m: the roots add up to 2m, and 4m^2 > {under} m T = {2 * under} m^2"
        )
    low, high = z3.Reals("root_S root_S1")
    step = implies(
        [low >= 0, high > 0, high * high == low * low + 1],
        2 * high * real(one) * (high - low) >= 1,
        "one more success",
    )
    x, s = sympy.symbols("x s", positive=True)
    means = identity((x / s + s) / 2 - sympy.sqrt(x), (sympy.sqrt(x) - s) ** 2 / (2 * s), "means")
    m, horizon = sympy.symbols("m T", positive=True)
    at = sympy.sqrt(horizon / (2 * m))
    added = (horizon / at + 2 * m * at) / 2
    whole = identity(added**2, 2 * m * horizon, "2m means")
    return combine([step, means, whole], "one root for each count, and 2m roots of sum T")


# Is Thompson sampling without regret? ------------------------------------------------------------

thompson_no_regret = Claim(
    "recharge.thompson_no_regret",
    title="Conjecture: Thompson sampling has no regret on recharging arms",
    kind="conjecture",
    source=Source(SOURCE, "Section 2.1", provenance="ours"),
    statement=r"""
*Conjecture.* On every instance the regret of Thompson sampling is $o(T)$; then it earns exactly the
Hamacher sum $h$ in the long run, since it cannot earn more.

*What can be said of its fluid limit*, in which arm $j$ of odds $\rho_j$ is drawn with probability $p_j$,
is free with probability $f_j(p_j)=\rho_j/(\rho_j+p_j)$, and makes up a share $x_j>0$ of the pulls.

1. Where all averages equal $\theta$ and stay equal, $p_j\bigl(f_j(p_j)-\theta\bigr)=\dot\theta x_j$ with
   time counted in logarithms. If all $p_j>0$, then $\theta$ rises only below the <<level>>, falls only
   above it, and rests only there, with $p=\pi$, the normalized odds.
2. With two arms, averages equal to $\theta$ above the <<threshold>>, and any shares, exactly one
   $p_1\in(0,1)$ keeps them equal. Below it the first average gains on the second, above it it loses.

*Simulated* on two servers of rate 1/2 and on three of rates 1/2, 1/10, 3/10: a run of <<learner>> has
$R_T\le<<root>>\sqrt T$ with probability above 1/2, $T=8000$ (quick effort) or $400\,000$ (full).
""",
    claimed={
        "level": "Hamacher sum",
        "threshold": "largest rate",
        "learner": "Thompson sampling",
        "root": "10",
    },
    meaning={
        "level": "where equal averages come to rest",
        "threshold": "what equal averages must exceed",
        "root": "bound on the regret, over the root of the number of steps",
    },
    rests_on=["recharge.thompson_at_most_h", "recharge.hamacher_lower_bound"],
    parts={
        "conjecture": "no regret",
        "averages": "how equal averages move",
        "two": "two arms",
        "simulated": "two instances",
    },
    open="that equal averages stay equal is not proved (with three arms they need not, from every "
    "state), nor that randomness averages out, even with two arms",
    uncovered="the passage from the learner to its fluid limit",
)


@thompson_no_regret.check(
    method="smt", scope="general", false={"level": "largest rate"}, part="averages"
)
def equal_averages(level: str) -> Finding:
    """Ask z3 for one arm and add over any number of arms.

    If the average rises, f_j(p_j) > theta, so p_j < rho_j (1 - theta)/theta; the sum over the arms is
    1 < rho (1 - theta)/theta, that is theta < h. Likewise if it falls or rests. The other level is
    compared with two arms of rate 1/2 at theta = 11/20.
    """
    import z3

    from checks.methods.smt import implies

    if one_of("level", level, "Hamacher sum", "largest rate") == "largest rate":
        odds, share, theta = Fraction(1), Fraction(1, 2), Fraction(11, 20)
        pull = share * (odds / (odds + share) - theta)
        return decide(
            pull <= 0,
            "does not rise",
            f"two arms of rate 1/2, theta = {theta}, p = 1/2: rises with p(f - theta) = {pull}",
        )
    p, odds, theta, drift, share, total = z3.Reals("p rho theta drift x sum_rho")
    arm = [p > 0, odds > 0, theta > 0, theta < 1, share > 0]
    arm.append(p * (odds - theta * (odds + p)) == drift * share * (odds + p))
    found = []
    for sign, moves in ((1, "rises"), (-1, "falls"), (0, "rests")):
        there = drift * sign > 0 if sign else drift == 0
        side = theta * p - odds * (1 - theta)
        limit = -sign * side > 0 if sign else side == 0
        found.append(implies([*arm, there], limit, f"average {moves}, one arm"))
        # summed over the arms: theta against rho (1 - theta), hence theta against h
        summed = theta - total * (1 - theta)
        below = theta * (1 + total) - total
        hypotheses = [total > 0, theta > 0, theta < 1]
        hypotheses.append(-sign * summed > 0 if sign else summed == 0)
        found.append(
            implies(hypotheses, -sign * below > 0 if sign else below == 0, f"{moves}, all arms")
        )
    return combine(found, "theta rises only below h, falls only above, rests only at h with p = pi")


@thompson_no_regret.check(
    method="symbolic", scope="general", false={"threshold": "smallest rate"}, part="two"
)
def one_equilibrium_of_two_arms(threshold: str) -> Finding:
    """Signs at both ends and the third derivative of the speed of the difference, for two arms.

    g(p) = p(f_1(p) - theta)/x_1 - (1-p)(f_2(1-p) - theta)/x_2 has g(0) > 0 > g(1) if theta exceeds both
    rates. Its third derivative is positive, so g rises, falls and rises at most: it crosses 0 once, from
    above. Above the smaller rate only, g(1) may be positive: rates 1/2, 1/10 and theta = 3/10.
    """
    import sympy

    from checks.methods.symbolic import identity

    r1, r2, x1, x2 = sympy.symbols("rho1 rho2 x1 x2", positive=True)
    p, theta = sympy.symbols("p theta", positive=True)
    g = p * (r1 / (r1 + p) - theta) / x1
    g -= (1 - p) * (r2 / (r2 + 1 - p) - theta) / x2
    if one_of("threshold", threshold, "largest rate", "smallest rate") == "smallest rate":
        at = {r1: 1, r2: sympy.Rational(1, 9), x1: 1, x2: 1, theta: sympy.Rational(3, 10), p: 1}
        value = g.subs(at)
        return decide(
            value < 0, f"g(1) = {value}", f"rates 1/2, 1/10, theta = 3/10: g(1) = {value}"
        )
    mu1, mu2 = r1 / (1 + r1), r2 / (1 + r2)
    third = 6 * r1**2 / (x1 * (r1 + p) ** 4) + 6 * r2**2 / (x2 * (r2 + 1 - p) ** 4)
    return combine(
        [
            identity(g.subs(p, 0), (theta - mu2) / x2, "g(0)"),
            identity(g.subs(p, 1), (mu1 - theta) / x1, "g(1)"),
            identity(sympy.diff(g, p, 3), third, "third derivative, a sum of positive terms"),
        ],
        "g(0) > 0 > g(1) and g''' > 0: one crossing, downwards",
    )


@thompson_no_regret.check(
    method="statistical",
    scope="instances",
    false=[{"root": "0.1"}, {"learner": "UCB1"}],
    part="simulated",
    uses=thompson_regret,
    alpha=1e-6,
)
def regret_of_some_runs(runs, learner: str, root: str) -> Finding:
    """Decide whether the regret of a run is at most the given multiple of the root of T.

    32 runs; proved when true with probability above 1/2 by the exact binomial interval (alpha split
    over the instances). Thompson sampling has regrets of at most 7 roots, UCB1 of 14 or more, and
    growing like T.
    """
    one_of("learner", learner, "Thompson sampling", "UCB1")
    most = float(_positive("root", root))
    found = []
    for instance in THOMPSON_INSTANCES:
        name = f"{learner} on {instance}"
        values = runs[f"{learner}_{instance}"] / math.sqrt(runs["horizon"])
        found.append(
            unfit(values, thompson_regret, name)
            or most_runs(
                values,
                lambda value: value <= most,
                1e-6 / len(THOMPSON_INSTANCES),
                f"regret over sqrt(T), {name}",
                f"at most {most:g}",
            )
        )
    return combine(found)
