"""Other learners than EXP3: which keep the promise, which break it; and the crawler."""

from collections.abc import Callable
from fractions import Fraction

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
)
from checks.judging import unfit
from checks.methods.statistical import most_runs
from checks.recharge.evidence import LEARNERS, RATES, learner_table, odds_and_sum, ucb1_paths
from checks.recharge.instances import I3, I7, SOURCE

# Not every bandit algorithm ----------------------------------------------------------------------

not_every_bandit = Claim(
    "recharge.not_every_bandit",
    title="Standard bandit algorithms can end below the Hamacher sum",
    source=Source(SOURCE, "the hypothesis of Theorem 3.1", provenance="ours"),
    kind="proposition",
    statement=r"""
The hypothesis "no regret" of the lower bound cannot be replaced by "a standard bandit algorithm".

1. A learner that from some time on pulls a single arm $j$, as every rule of the kind *explore, then
   commit* does, has $U_T/T\to\mu_j<h$, for every choice of $m\ge<<arms>>$ rates.
2. On three servers of rates $1/2$, $1/10$, $3/10$, on seven of rates $0.5$, $0.33$, $0.33$, $0.33$,
   $0.25$, $0.25$, $0.1$ and on ten identical servers with total odds 1.8395, a run of $T$ steps earns
   less than $h-<<margin>>$ per step with probability above 1/2 for each of the learners <<below>>, and
   comes to within $<<tolerance>>$ of $h$ with probability above 1/2 for each of
   <<reaching>>. Here $T=50\,000$ (quick effort) or $2\cdot10^6$ (full); UCB1 has
   $\alpha=2$, epsilon-greedy explores with probability $\varepsilon_t=t^{-1/3}$, EXP3 is the version
   that needs no horizon (learning rate $\sqrt{\ln m/(mt)}$ on estimated losses), EXP3-IX is tuned
   to $T$.
""",
    claimed={
        "arms": "2",
        "below": "UCB1, epsilon-greedy",
        "reaching": "EXP3, EXP3-IX, Tsallis-INF",
        "margin": "0.05",
        "tolerance": "0.01",
    },
    meaning={
        "arms": "least number of servers",
        "below": "learners that stay below the Hamacher sum",
        "reaching": "learners that come close to it",
        "margin": "by how much the first ones stay below, in packets per step",
        "tolerance": "how close the others come, in packets per step",
    },
    rests_on=["recharge.hamacher_lower_bound"],
    parts={"commit": "committing to one arm", "simulated": "standard learners on three instances"},
    uncovered="that an arm pulled for ever earns its rate in the long run, whatever went before: one "
    "line; and any horizon but those simulated",
)


@not_every_bandit.check(method="smt", scope="general", false={"arms": "1"}, part="commit")
def one_arm_earns_less(arms: str) -> Finding:
    """Ask z3 whether the rate of an arm is below the Hamacher sum, given its odds and the others'.

    Pulled in every step, an arm has age 1, so it pays its rate mu = r/(1 + r). With r its odds and s
    the total odds of the others (positive if there are others), h = (r + s)/(1 + r + s).
    """
    import z3

    from checks.methods.smt import implies

    own, others = z3.Reals("odds others")
    hypotheses = [own > 0, others > 0 if int(arms) >= 2 else others >= 0]
    # r/(1+r) < (r+s)/(1+r+s), multiplied by both positive denominators
    below = own * (1 + own + others) < (own + others) * (1 + own)
    return implies(hypotheses, below, f"an arm among at least {arms}")


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _judge_learners(table, names: str, satisfied: Callable, says: str) -> Finding:
    chosen = _names(names)
    alpha = 1e-6 / (3 * len(chosen))
    found = []
    for name in chosen:
        one_of("learner", name, *LEARNERS)
        for instance in ("I3", "I7", "ID10"):
            _, h = odds_and_sum(instance)
            values = table[f"utility_{LEARNERS.index(name)}_{instance}"]
            label = f"{name} on {instance}"
            found.append(
                unfit(values, learner_table, label)
                or most_runs(
                    values, lambda u, h=h: satisfied(u, h), alpha, label, f"{says} {h:.4f}"
                )
            )
    return combine(found, f"{len(found)} pairs of learner and instance, every time in most runs")


@not_every_bandit.check(
    method="statistical",
    scope="instances",
    false=[{"below": "UCB1, EXP3-IX"}, {"margin": "0.2"}],
    part="simulated",
    uses=learner_table,
    alpha=1e-6,
)
def learners_below(table, below: str, margin: str) -> Finding:
    """Decide for UCB1 and epsilon-greedy whether a run earns less than h less the margin.

    32 runs for each learner and instance; a statement about a run is proved when it is true with
    probability above 1/2 by the exact binomial interval (alpha split over the pairs: 31 of 32 runs
    or all). The margin, 0.05, is 25 times the spread of a run. Runs of EXP3-IX lie 0.05 above the
    line, 100 standard deviations, so calling it a loser is refuted with probability above 1 - 1e-6.
    """
    gap = float(margin)
    return _judge_learners(table, below, lambda u, h: u < h - gap, f"{gap} below")


@not_every_bandit.check(
    method="statistical",
    scope="instances",
    false=[{"reaching": "EXP3, UCB1"}, {"tolerance": "0.0001"}],
    part="simulated",
    uses=learner_table,
    alpha=1e-6,
)
def learners_that_reach(table, reaching: str, tolerance: str) -> Finding:
    """Decide for three no-regret learners whether a run comes to within the tolerance of h.

    Design as for the learners below. The tolerance covers what learning costs at the quick horizon
    (at most 0.006 of utility, decreasing like T^(-1/2)); the spread of a run is at most 0.001.
    """
    gap = float(tolerance)
    return _judge_learners(table, reaching, lambda u, h: abs(u - h) <= gap, f"within {gap} of")


# UCB1 ------------------------------------------------------------------------------------------------

ucb1_limit = Claim(
    "recharge.ucb1_limit",
    title="UCB1 falls back to the best single server, so it has linear regret on every instance",
    source=Source(SOURCE, "Section 2.1", provenance="ours"),
    statement=r"""
Pull an arm with the largest index $X_j(t)=S_j/n_j+\sqrt{\alpha\ln t/n_j}$ ($n_j$ pulls so far, $S_j$
of them accepted; any $\alpha>0$, any rule for ties; UCB1 is $\alpha=2$) on $m\ge<<arms>>$ recharging
arms of any rates. Almost surely $U_T/T$ tends to the <<limit>>, the share of steps in which the arm
changes tends to 0, and hence
$$\liminf_{T\to\infty}\frac{R_T}{T}\ \ge\ 1-\frac{\max_j\mu_j}{h}\ >\ 0.$$

The proof has deterministic steps, valid on every path. With $G(t)=\sqrt{\alpha\ln t}$ and $L(t)$ the
second largest index:

- *bonus*: pulling an arm at $t\ge2$ lowers its bonus if it had *<<pulls>>* pulls;
- *level*: the <<level>> less $G$ never increases; a new leader starts at most at $L(t-1)$ plus the
  increment of $G$; an arm whose first pull in a run fails loses $<<cost>>$ of its average, and starts
  its next run lower by that at least, relative to $G$;
- *windows*: with $\varepsilon$ the excess of the level over $\max_j\mu_j$ at the end of a window that
  starts at $t_0$ and doubles the time, the window has length at most $C t_0$ with
  $C=2(1+<<overshoot>>/\varepsilon)$; if it has fewer than $<<switch_share>>\cdot\varepsilon t_0$
  switches, the level drops by at least $\varepsilon/2-o(1)$; otherwise at least $\frac\varepsilon4t_0-m$
  of its switches have a gap of at most $<<gap_factor>>mC/\varepsilon$.

On ten identical servers with total odds 1.8395 the limit is out of reach of simulation; there the
utility still falls by at least <<decline>> over the last decade of a run.
""",
    claimed={
        "limit": "largest rate",
        "pulls": "fewer than t",
        "level": "second largest index",
        "cost": "S_j/(n_j(n_j+1))",
        "overshoot": "1.6",
        "switch_share": "1/2",
        "gap_factor": "4",
        "decline": "0.01",
        "arms": "2",
    },
    meaning={
        "limit": "what UCB1 earns per step in the long run",
        "pulls": "how often the arm was pulled before, at step t",
        "level": "the index that never rises, but for the growth of all bonuses",
        "cost": "by how much a failure lowers an average of n_j answers, S_j of them accepted",
        "overshoot": "bounds how far a window outlasts twice its start",
        "switch_share": "share of the window below which switches count as few, over epsilon",
        "gap_factor": "factor in the largest gap that counts as short",
        "decline": "least fall of utility over the last decade, ten identical servers",
        "arms": "least number of servers",
    },
    rests_on=["recharge.age_state", "recharge.hamacher_lower_bound"],
    parts={
        "bonus": "pulling lowers the bonus",
        "levels": "how the leading indices move",
        "windows": "the arithmetic of a window",
        "regret": "the limit means linear regret",
        "limit": "the almost sure limit",
    },
    uncovered="the almost sure facts about the rewards, that the inequalities of a window apply to its "
    "path, the assembly of the steps into the limit, and that the share of switches tends to 0: a "
    "written proof",
)


@ucb1_limit.check(method="certified", scope="general", false={"pulls": "at most t"}, part="bonus")
def pulling_lowers_the_bonus(pulls: str) -> Finding:
    """Decide ln(t+1)/(n+1) <= ln(t)/n, that is n ln(1 + 1/t) <= ln t, for all n < t and t >= 2.

    For t >= 3: ln(1 + x) <= x (difference 0 at 0, derivative x/(1 + x) >= 0), so the left side is at
    most n/t < 1 < ln 3, the last in Arb. The case t = 2 is compared in Arb.
    """
    import sympy

    from checks.methods.certified import ball, compare, precision
    from checks.methods.symbolic import identity

    x = sympy.Symbol("x", positive=True)
    gap = x - sympy.log(1 + x)
    found = [
        identity(sympy.diff(gap, x), x / (1 + x), "derivative of x - ln(1 + x)"),
        decide(gap.subs(x, 0) == 0, "0 at 0", "not 0 at 0"),
    ]
    with precision(128):
        found.append(compare(ball(3).log(), ">", "1", "ln 3"))
        for n in range(1, {"fewer than t": 2, "at most t": 3}[pulls]):
            left, right = n * ball(Fraction(3, 2)).log(), ball(2).log()
            name = f"t = 2, n = {n}: ln t - n ln(1 + 1/t)"
            found.append(compare(right - left, ">", "0", name))
    return combine(found, "n ln(1 + 1/t) <= n/t < 1 < ln t for t >= 3; t = 2 by value")


@ucb1_limit.check(
    method="smt",
    scope="general",
    false=[{"level": "largest index"}, {"cost": "S_j/n_j^2"}, {"cost": "0"}],
    part="levels",
)
def leading_indices(level: str, cost: str) -> Finding:
    """Ask z3 about two arbitrary arms (of any number of arms) in one step, and about a run.

    In a step every arm but the one pulled, the leader, gains at most g = G(t+1) - G(t), since n >= 1.
    Two different arms can't both end above L + g, since one of them was not pulled: so the second
    largest index less G never increases. A new leader was not the one pulled. The cost of a failure is
    the fall of an average from S/n to S/(n+1), by SymPy; with a bonus that a pull lowers, the index
    falls by it at least. For runs of an arm that start at s < s', the facts chain to
    X(s') - G(s') <= X(s) - G(s) - cost after a failed first pull.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    paid, pulls = sympy.symbols("S n", positive=True)
    fall = identity(
        paid / pulls - paid / (pulls + 1),
        _costs(paid, pulls)[one_of("cost", cost, *_costs(1, 1))],
        f"fall of an average by {cost}",
        at=[{paid: 1, pulls: 1}, {paid: 1, pulls: 2}],
    )

    x1, x2, y1, y2, second, g = z3.Reals("x1 x2 y1 y2 L g")
    is1, is2 = z3.Bools("pulled1 pulled2")
    step = [g >= 0, z3.Not(z3.And(is1, is2))]
    for pulled, before, after in ((is1, x1, y1), (is2, x2, y2)):
        step.append(z3.Or(pulled, z3.And(before <= second, after <= before + g)))
    if one_of("level", level, "second largest index", "largest index") == "second largest index":
        bounded = z3.Or(y1 <= second + g, y2 <= second + g)
    else:
        bounded = z3.And(y1 <= second + g, y2 <= second + g)
    start, lowered, later, level_then, level_later = z3.Reals("X X_lower X_next L1 L2")
    g1, g2, g3, g4 = z3.Reals("G_s G_s1 G_before G_next")
    average, bonus, new_bonus, lost = z3.Reals("average bonus new_bonus cost")
    failed = [
        *(g1 <= g2, g2 <= g3, g3 <= g4, lost >= 0),
        *(start == average + bonus, new_bonus <= bonus, lowered == average - lost + new_bonus),
    ]
    # the run ends at once, and X only gains until the next start ...
    ended = implies(
        [*failed, later <= lowered + g4 - g2], later - g4 <= start - g1 - lost, "run of one pull"
    )
    # ... or the arm leads on, so the level is below its lowered index, and the next start is at
    # most the level before it plus an increment.
    goes_on = implies(
        [
            *failed,
            level_then <= lowered,
            level_later - g3 <= level_then - g2,
            later <= level_later + g4 - g3,
        ],
        later - g4 <= start - g1 - lost,
        "longer run",
    )
    return combine(
        [
            fall,
            implies(step, bounded, f"{level} after a step"),
            implies([*step, z3.Not(is1)], y1 <= second + g, "start of a new leader"),
            ended,
            goes_on,
        ],
        f"the {level} less G never increases; starts of runs decrease by the cost of a failure",
    )


def _costs(paid, pulls) -> dict:
    """What an average loses by a failure, and false variants."""
    return {
        "S_j/(n_j(n_j+1))": paid / (pulls * (pulls + 1)),
        "S_j/n_j^2": paid / pulls**2,
        "0": 0 * paid,
    }


@ucb1_limit.check(
    method="certified",
    scope="instances",
    false=[{"level": "largest index"}, {"cost": "S_j/n_j^2"}, {"cost": "0"}],
    part="levels",
)
def every_step_of_some_paths(level: str, cost: str) -> Finding:
    """Assert the deterministic steps on whole paths, with indices as Arb balls.

    All 2^10 reward sequences of two and of three arms for 10 steps after the first pulls, and
    sampled paths of 1500 steps on three instances (the path need not be typical: the inequalities
    hold on each). The leader is certain: indices that the balls don't separate belong to equal pairs
    (S, n), which are ties. Inequalities hold to within the width of the balls, below 1e-20.
    """
    import itertools
    import random

    one_of("level", level, "second largest index", "largest index")
    one_of("cost", cost, *_costs(1, 1))
    paths, steps = 0, 0
    for arms in (2, 3):
        for rewards in itertools.product((0, 1), repeat=10):
            violation, count = _follow(arms, level, cost, iter(rewards))
            if violation:
                return refuted(violation)
            paths, steps = paths + 1, steps + count
    for seed, rates in enumerate((RATES["I3"], RATES["I7"], RATES["half"])):
        rewards = _sampled(rates, random.Random(seed), 1500)
        violation, count = _follow(len(rates), level, cost, rewards)
        if violation:
            return refuted(violation)
        paths, steps = paths + 1, steps + count
    return proved(f"{steps} steps of {paths} paths")


def _sampled(rates, random, horizon):
    """Rewards of recharging arms on demand: send the arm, receive 0 or 1."""
    ages = [1] * len(rates)
    reward = None
    for _ in range(horizon):
        arm = yield reward
        reward = int(random.random() < 1 - (1 - rates[arm]) ** ages[arm])
        ages = [1 if j == arm else age + 1 for j, age in enumerate(ages)]


def _follow(arms: int, level: str, cost: str, rewards) -> tuple[str, int]:
    """Run UCB1 (alpha = 2, each arm pulled once and paid) and check each step of the proof.

    Returns the first violation ("" if there is none) and the number of steps.
    """
    from checks.methods.certified import ball, precision

    with precision(96):
        n, s = [1] * arms, [1] * arms
        sampled = not hasattr(rewards, "__length_hint__")
        if sampled:
            next(rewards)
        started: dict[int, tuple] = {}  # arm -> (X - G at its last start, cost of a failure)
        previous, before, t = None, None, arms
        steps = 0
        while True:
            t += 1
            g = (2 * ball(t).log()).sqrt()
            index = [ball(Fraction(b, a)) + g / ball(a).sqrt() for a, b in zip(n, s, strict=True)]
            order = _ranking(index, n, s)
            leader, second = order[0], order[1]
            watched = index[second if level == "second largest index" else leader] - g
            if before is not None and watched > before[0]:
                rise = float((watched - before[0]).mid())
                return f"step {t}, {arms} arms: the {level} less G rises by {rise:.3f}", steps
            if previous is not None and leader != previous:
                if index[leader] - g > before[1]:
                    return f"step {t}: the new leader starts above the level", steps
                last = started.get(leader)
                if last and index[leader] - g > last:
                    return f"step {t}: arm {leader} starts its run too high", steps
            try:
                reward = rewards.send(leader) if sampled else next(rewards)
            except StopIteration:
                return "", steps
            if leader != previous:
                lost = 0
                if not reward:
                    paid, pulls = Fraction(s[leader]), n[leader]
                    lost = _costs(paid, pulls)[cost]
                    if paid / pulls - paid / (pulls + 1) != lost:
                        return (
                            f"step {t}: a failure at S = {paid}, n = {pulls} costs not {lost}",
                            steps,
                        )
                started[leader] = index[leader] - g - ball(lost)
            before = (watched, index[second] - g)
            n[leader], s[leader] = n[leader] + 1, s[leader] + reward
            previous, steps = leader, steps + 1


def _ranking(index, n, s) -> list[int]:
    """Arms from the largest index down; balls that overlap must belong to equal (n, S)."""
    order: list[int] = []
    for arm in range(len(index)):
        place = len(order)
        for position, other in enumerate(order):
            if index[arm] > index[other]:
                place = position
                break
            tie = (n[arm], s[arm]) == (n[other], s[other])
            if not (tie or index[arm] < index[other]):
                raise ArithmeticError("the precision does not separate two indices")
        order.insert(place, arm)
    return order


@ucb1_limit.check(
    method="smt",
    scope="general",
    false=[
        {"overshoot": "1.59"},
        {"switch_share": "0.51"},
        {"switch_share": "0.49"},
        {"gap_factor": "3.99"},
    ],
    part="windows",
)
def arithmetic_of_a_window(overshoot: str, switch_share: str, gap_factor: str) -> Finding:
    """Ask z3 for the three inequalities of a window [t0, t1), error terms included.

    *Length:* the last run starts before 2 t0 with n pulls and S <= n (1 + o) payments, earns at most
    mu l + 1 + o t1 in l steps, and its index is still at least mu + eps. *Few switches:* the rewards
    are at most mu (t1 - t0) + K + o t0, and at least Theta_1 N_1 - Theta_0 N_0 - o t0, with N_0 <= t0
    pulls of the arms concerned before and N_1 = N_0 + t1 - t0 after. *Many switches:* at most
    m (C t0/D + 1) of them have a gap above D. The error o is at most eps/16. A false constant breaks one
    of these inequalities, which are what is claimed of a window; it says nothing against the limit.
    """
    import z3

    from checks.methods.smt import implies, real

    def rational(text):
        if Fraction(text) <= 0:
            raise ValueError(f"{text}: a constant of a window must be positive")
        return real(text)

    mu, eps, o, t0, t1 = z3.Reals("mu eps o t0 t1")
    small = [mu > 0, eps > 0, mu + eps <= 1, t0 >= 1, o >= 0, o <= eps / 16]
    n, paid, run, start = z3.Reals("n S l s")
    # The start of the run is at most 2 t0 and t1 its end; the product eps t1 is what counts.
    length = implies(
        [
            *small,
            n >= 0,
            run >= 0,
            n <= start,
            start <= 2 * t0,
            t1 == start + run,
            paid >= 0,
            paid <= n * (1 + o),
            paid + mu * run + 1 + o * t1 >= (n + run) * (mu + eps),
        ],
        eps * t1 <= 2 * (eps + rational(overshoot)) * t0,
        "length of a window",
    )
    theta0, drop, n0, few, rewards = z3.Reals("Theta0 drop N0 K rewards")
    elapsed = t1 - t0
    theta1 = theta0 - drop
    few_switches = implies(
        [
            *small,
            t1 >= 2 * t0,
            n0 >= 0,
            n0 <= t0,
            theta1 >= mu + eps,
            few >= 0,
            few <= rational(switch_share) * eps * t0,
            rewards <= mu * elapsed + few + o * t0,
            rewards >= theta1 * (n0 + elapsed) - theta0 * n0 - o * t0,
        ],
        drop >= eps / 2 - 2 * o,
        "few switches",
    )
    arms, factor, switches, long_gaps = z3.Reals("m C K long")
    # D = gap_factor m C / eps, so m C t0 / D = eps t0 / gap_factor
    many_switches = implies(
        [
            arms >= 2,
            factor >= 2,
            *small,
            long_gaps >= 0,
            switches >= rational(switch_share) * eps * t0,
            long_gaps <= eps * t0 / rational(gap_factor) + arms,
        ],
        switches - long_gaps >= eps * t0 / 4 - arms,
        "many switches",
    )
    return combine([length, few_switches, many_switches], "all three negations are unsatisfiable")


@ucb1_limit.check(method="smt", scope="general", false={"arms": "1"}, part="regret")
def linear_regret(arms: str) -> Finding:
    """Ask z3 whether U -> max mu and U >= h (1 - R) leave a regret rate of 1 - max mu / h > 0."""
    import z3

    from checks.methods.smt import implies

    own, others, regret = z3.Reals("odds others regret")
    hypotheses = [own > 0, others > 0 if int(arms) >= 2 else others >= 0]
    # U = own/(1+own) and U (1+own+others) >= (own+others)(1 - regret), denominators multiplied out
    hypotheses.append(own * (1 + own + others) >= (own + others) * (1 + own) * (1 - regret))
    return implies(hypotheses, regret > 0, f"regret rate with at least {arms} arms")


@ucb1_limit.check(
    method="statistical",
    scope="instances",
    false={"limit": "Hamacher sum"},
    part="limit",
    uses=ucb1_paths,
    alpha=1e-6,
)
def utility_on_three_servers(paths, limit: str) -> Finding:
    """Decide whether the second half of a run on rates 1/2, 1/10, 3/10 earns the limit to 0.01.

    32 runs; proved when true with probability above 1/2 by the exact binomial interval (30 runs or
    more). d = 0.01 is what is left of the way to the limit at the quick horizon (0.0001) with room;
    the Hamacher sum is 0.106 away, 500 standard deviations of a run. Ten identical servers can't
    show the limit at a horizon that can be run: there the decline is checked instead.
    """
    target = {"largest rate": max(RATES["I3"]), "Hamacher sum": odds_and_sum("I3")[1]}[limit]
    return unfit(paths["late_I3"], ucb1_paths, "late utility") or most_runs(
        paths["late_I3"],
        lambda u: abs(u - target) <= 0.01,
        1e-6,
        "late utility",
        f"within 0.01 of {target:.4f}",
    )


@ucb1_limit.check(
    method="statistical",
    scope="instances",
    false={"decline": "0.2"},
    part="limit",
    uses=ucb1_paths,
    alpha=1e-6,
)
def decline_over_a_decade(paths, decline: str) -> Finding:
    """Decide whether utility falls by at least the declared amount from T/20..T/10 to T/2..T.

    On ten identical servers, whose limit no run can reach; 32 runs, each compared with itself, exact
    binomial interval (30 runs or more). 0.01 is the smallest fall of interest; a fall by 0.2 in a
    decade is 0.08 more than is seen at the quick horizon, 50 standard deviations of a run.
    """
    fall, least = paths["early_ID10"] - paths["late_ID10"], float(decline)
    return unfit(fall, ucb1_paths, "fall in a decade") or most_runs(
        fall,
        lambda fall: fall >= least,
        1e-6,
        "fall in a decade",
        f"at least {least}",
    )


# Crawling -------------------------------------------------------------------------------------------

crawling = Claim(
    "recharge.crawling",
    title="The freshness-optimal crawler is normalized odds if weights are the <<weights>> "
    "and freshness counts <<epoch>>",
    source=Source(SOURCE, "Section 3.1, last remark", provenance="stated"),
    kind="remark",
    statement=r"""
Page $j$ changes with probability $\mu_j\in(0,1)$ in each step, after the crawl. A memoryless crawler
fetches one page a step, page $j$ with probability $p_j$; $F_j$ is the long-run share of steps in
which the copy of page $j$ is fresh <<epoch>>. With weights $w_j$ equal to the <<weights>>, the
objective $\sum_jw_jF_j$ has its only maximum over the simplex at $p=\pi$, the normalized odds, and the
maximum is $h$.

The reason is an identity for every schedule of crawls, random or not: over a gap of $d$ steps
between crawls of page $j$, $\mu_j$ times the expected number of fresh steps (<<epoch>>) equals the
probability $1-(1-\mu_j)^d$ that the second crawl detects a change. So weighted freshness *is* the
utility of the recharging bandit.
""",
    claimed={"weights": "rates", "epoch": "before the change"},
    meaning={
        "weights": "what the weight of a page is proportional to",
        "epoch": "the moment of a step at which a copy counts as fresh",
    },
    rests_on=["recharge.odds_best_memoryless"],
    parts={"memoryless": "the optimal memoryless crawler", "schedules": "every schedule"},
    as_printed=Printed(
        {"epoch": "after the change"},
        says="weights proportional to the rates are said to make normalized odds optimal; at which "
        "moment of a step a copy counts as fresh is left open",
        correct="the remark needs freshness between the crawl and the change; counted after the change, "
        "the weights must be proportional to the odds",
        kind="unspecified",
    ),
    uncovered="from the gaps to the long-run share of fresh steps (the first and the last gap are lost) "
    "and from equal slopes and concavity to the only maximum: a few written lines",
)


@crawling.check(
    method="symbolic",
    scope="general",
    false=[{"weights": "odds"}, {"epoch": "after the change"}],
    part="memoryless",
)
def optimality_conditions(weights: str, epoch: str) -> Finding:
    """Check first-order conditions and concavity of each page's term, for all rates and any m.

    The share of fresh copies solves the balance of the two-state chain (crawl, then change). The
    objective is a sum of terms of one page each, so normalized odds is the unique maximum if at
    p_j = rho_j/rho the slope of every term is the same (free of mu_j) and each term is concave.
    Otherwise two pages of rates 1/2 and 1/10 show by how much their slopes differ.
    """
    import sympy

    from checks.methods.symbolic import identity

    mu, p, total = sympy.symbols("mu p rho", positive=True)
    fresh = sympy.Symbol("y")
    q = 1 - mu
    # y: fresh between crawl and change; q y: after the change; crawled with p, else left as it was
    (before,) = sympy.solve(sympy.Eq(fresh, p + (1 - p) * q * fresh), fresh)
    share = before if epoch == "before the change" else q * before
    weight = mu if weights == "rates" else mu / q
    term = sympy.together(weight * share)
    slope = sympy.together(sympy.diff(term, p)).subs(p, mu / q / total)
    slopes = [
        sympy.nsimplify(slope.subs({mu: rate, total: sympy.Rational(10, 9)}))
        for rate in (sympy.Rational(1, 2), sympy.Rational(1, 10))
    ]
    if sympy.simplify(slopes[0] - slopes[1]) != 0:
        return refuted(
            f"rates 1/2 and 1/10 at normalized odds: one more crawl of the first is worth "
            f"{sympy.nsimplify(slopes[0])}, of the second {sympy.nsimplify(slopes[1])}"
        )
    half = {mu: sympy.Rational(1, 2), p: sympy.Rational(1, 3), total: sympy.Integer(2)}
    odds = mu / q
    found = [
        identity(term, p * odds / (odds + p), "weighted freshness of a page", at=[half]),
        identity(slope, (1 + 1 / total) ** -2, "slope at normalized odds", at=[half]),
        identity(sympy.diff(term, p, 2), -2 * odds**2 / (odds + p) ** 3, "curvature", at=[half]),
        identity(
            term.subs(p, odds / total),
            odds / total * total / (1 + total),
            "share of h at normalized odds",
            at=[half],
        ),
    ]
    return combine(found, "slopes at the normalized odds are all (1 + 1/rho)^-2; terms are concave")


@crawling.check(
    method="symbolic",
    scope="general",
    false=[{"weights": "odds"}, {"epoch": "after the change"}],
    part="schedules",
)
def fresh_steps_of_a_gap(weights: str, epoch: str) -> Finding:
    """Sum the expected fresh steps of a gap by induction on its length, for all rates.

    s steps after a crawl (s = 0 at the crawl) the copy is fresh before the change with probability
    q^s, after it with q^(s+1). Whatever decides the length of the gap has not seen the page since the
    crawl, so the identity holds given the length, hence for random schedules as well.
    """
    import sympy

    from checks.methods.symbolic import identity

    q = sympy.Symbol("q", positive=True)
    d = sympy.Symbol("d", integer=True, positive=True)
    weight = 1 - q if weights == "rates" else (1 - q) / q
    delay = 0 if epoch == "before the change" else 1

    def detected(gap):
        return 1 - q**gap

    half = [{q: sympy.Rational(1, 2), d: 1}]
    return combine(
        [
            identity(weight * q**delay, detected(1), "gap of length 1", at=half),
            identity(
                weight * q ** (d + delay), detected(d + 1) - detected(d), "longer by 1", at=half
            ),
        ],
        "weight times fresh steps = probability of a detected change, for every gap",
    )


@crawling.check(
    method="exact",
    scope="instances",
    false=[{"weights": "odds"}, {"epoch": "after the change"}],
    part="memoryless",
)
def two_instances(weights: str, epoch: str) -> Finding:
    """Evaluate the objective in rationals at normalized odds and around it, on both instances.

    Around: a thousandth of the crawls moved from any page to any other, 6 + 42 directions. Freshness
    is the exact sum over the ages of a copy, (1 - (1 - p)(1 - mu))^-1 times p.
    """
    found = []
    for name, rates in (("m = 3", I3), ("m = 7", I7)):
        mu = [Fraction(rate) for rate in rates]
        odds = [rate / (1 - rate) for rate in mu]
        pi = [x / sum(odds) for x in odds]
        h = sum(odds) / (1 + sum(odds))

        def objective(p, mu=mu, odds=odds):
            total = Fraction(0)
            for rate, x, share in zip(mu, odds, p, strict=True):
                keep = (1 - share) * (1 - rate)
                fresh = share / (1 - keep)
                fresh *= 1 if epoch == "before the change" else 1 - rate
                total += fresh * (rate if weights == "rates" else x)
            return total

        best = objective(pi)
        step = Fraction(1, 1000)
        for i in range(len(mu)):
            for j in range(len(mu)):
                if i != j:
                    moved = list(pi)
                    moved[i], moved[j] = moved[i] - step, moved[j] + step
                    if objective(moved) >= best:
                        return refuted(
                            f"{name}: moving a thousandth from page {i} to page {j} changes the "
                            f"objective by {decimal(objective(moved) - best, 7)}"
                        )
        if best != h:
            return refuted(f"{name}: the objective is {decimal(best, 6)}, h = {decimal(h, 6)}")
        found.append(proved(f"{name}: {best}", **{f"maximum, {name}": exact(best)}))
    return combine(found)
