"""The guarded uniform router: little regret against anything, and the queues grow all the same."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from checks.claim import Claim, Source
from checks.finding import Finding, combine, estimate, one_of, proved, refuted, undecided
from checks.judging import unfit
from checks.methods.statistical import most_runs
from checks.strategic.evidence.hypotheses import GUARD_ERROR, GUARD_SYSTEMS, guarded_router
from checks.strategic.hypotheses import moment_of_a_bounded_step
from checks.strategic.instances import SOURCE

_GUARDS = ("EXP3-IX, started afresh", "nothing else")
_SERVERS = ("identical servers", "any servers")
_DEVIATIONS = {r"\tfrac12": Fraction(1, 2), "0.45": Fraction(9, 20)}

guarded_uniform = Claim(
    "strategic.guarded_uniform",
    title="The bad example survives with learners that have little regret against anything",
    source=Source(SOURCE, "the necessity theorem of Section 4", "ours"),
    kind="proposition",
    statement=r"""
*Guarded uniform routing* with $0<\eta<1$: in each period of $W$ steps a queue sends to uniformly random
servers and adds up, for every server $j$, the estimates $\hat u(j)=m$ if its packet went to $j$ and was
accepted, else 0. When the largest sum exceeds the number of accepted packets by more than
$$\begin{aligned}\theta=&\ m\sqrt{<<deviation>>\,W\ln(m/\eta)}+\frac{2m}\mu\\
&+\Bigl(1+\frac{2m}\mu\Bigr)\sqrt{2W\ln(m/\eta)},\end{aligned}$$
the alarm, it switches to <<guard>> with learning rate $\sqrt{(2\ln m+\ln(2/\eta))/(mW)}$, until the
period ends.

1. *Estimates.* Whatever the environment does, with probability at least $1-\eta$ no server would have
   accepted more than $\sum\hat u(j)+m\sqrt{<<deviation>>\,W\ln(m/\eta)}$ packets up to the alarm (or
   up to the end of the period, if there is none).
2. *Any environment.* With probability at least $1-2\eta$, given all that happened before the period,
   $$\begin{aligned}R\ \le\ &\theta+<<jump>>+m\sqrt{<<deviation>>\,W\ln(m/\eta)}\\
   &+2\sqrt{mW(2\ln m+\ln(2/\eta))}+\ln(2/\eta).\end{aligned}$$
3. *False alarms.* With <<servers>>, a rule that treats all servers alike and $n$ queues that all route
   so, the probability of an alarm at any of them in a period is at most $2n\eta$, whatever happened
   before it.
4. *Growth.* With identical servers let $\Psi$ and $\gamma$ be as in the linear submartingale, for a
   queue of the largest rate. In a step in which this queue does not route uniformly $\Psi$ drifts by
   $\gamma-<<cost>>$ at least. So $E\,\Psi_{kW}\ge\Psi_0+(\gamma-2n\eta)\,kW$ if all queues are guarded,
   and for $\eta<\gamma/(2n)$ the queues are unstable although every learner has little regret in every
   period, against any environment.
""",
    claimed={
        "deviation": r"\tfrac12",
        "guard": _GUARDS[0],
        "jump": "m-1",
        "servers": _SERVERS[0],
        "cost": "1",
    },
    meaning={
        "deviation": "constant in the deviation of the estimates",
        "guard": "what is played after the alarm",
        "jump": "by how much the largest sum can exceed the threshold at the alarm",
        "servers": "systems in which alarms are rare",
        "cost": "what a step that is not uniform costs at most",
    },
    rests_on=[
        "strategic.exp3ix_restarted",
        "strategic.uniform_is_windowed_no_regret",
        "strategic.linear_submartingale",
    ],
    parts={
        "estimates": "how far estimates fall short",
        "any": "regret in any environment",
        "alarms": "false alarms",
        "growth": "the queues grow all the same",
    },
    uncovered="the maximal form of Azuma's inequality, and that sums stopped at the alarm are "
    "martingales: textbook facts",
)


@guarded_uniform.check(
    method="symbolic", scope="general", false={"deviation": "0.45"}, part="estimates"
)
def deviation_of_the_estimates(deviation: str) -> Finding:
    """Bound the tail of a martingale whose steps lie in an interval of length m, for m servers at once.

    Given the past u(j) - m 1{J = j} u(J) has mean 0 and lies in an interval of length m, so its moment
    is at most e^(m^2 s^2/8); the tail exp(W m^2 s^2/8 - s t) is least at s = 4t/(W m^2), and is eta/m at
    the stated t. A smaller constant is refuted by two servers that accept everything: fair coins, for
    which the sums of both servers cannot fall short at once.
    """
    import sympy

    from checks.methods.symbolic import identity

    constant = _DEVIATIONS[one_of("deviation", deviation, *_DEVIATIONS)]
    if constant < Fraction(1, 2):
        return _two_willing_servers(constant)
    s, t, window, m, log = sympy.symbols("s t W m ln(m/eta)", positive=True)
    exponent = window * m**2 * s**2 / 8 - s * t
    stated = m * sympy.sqrt(sympy.Rational(str(constant)) * window * log)
    best = -2 * t**2 / (window * m**2)
    return combine(
        [
            moment_of_a_bounded_step(),
            identity(
                exponent - best, window * m**2 / 8 * (s - 4 * t / (window * m**2)) ** 2, "best s"
            ),
            identity(best.subs(t, stated), -log, "exponent at the stated deviation"),
        ],
        "each of m sums falls short by that with probability eta/m at most",
    )


def _two_willing_servers(constant: Fraction) -> Finding:
    """Two servers that accept every packet, eta = 10^-60: a binomial tail from its largest terms."""
    from checks.methods.certified import ball, precision

    window, eta = 10_000, Fraction(1, 10**60)
    with precision(300):
        deviation = 2 * (ball(constant) * window * ball(2 / eta).log()).sqrt()
        # the sum of a server falls short by W - 2 (packets sent to it)
        least = int((window - float(deviation.mid())) / 2) - 1
        if not ball(window - 2 * least) > deviation:
            return undecided("the number of packets is not separated from the deviation")
        terms = sum(comb(window, k) for k in range(least - 40, least + 1))
        chance = 2 * ball(Fraction(terms, 2**window))
        text = (
            f"two servers that accept everything, W = {window}, eta = 1e-60: the probability is at "
            f"least {float(chance.mid()):.1e}"
        )
        return refuted(text) if chance > ball(eta) else undecided(text)


@guarded_uniform.check(
    method="smt",
    scope="general",
    false=[{"jump": "m-2"}, {"guard": _GUARDS[1]}],
    part="any",
)
def regret_in_any_environment(jump: str, guard: str) -> Finding:
    """Bound the largest sum at the alarm and add what happens before and after it, with z3.

    An accepted packet raises one sum by m and the count of accepted packets by 1, so at the alarm the
    excess is at most theta + m - 1. Before it the estimates fall short by the deviation at most, after
    it EXP3-IX has its bound; each fails with probability eta at most. Without the switch the statement
    is refuted by one server of rate 0.9 and nine of 0.01, the queue never empty, W = 200,000.
    """
    import z3

    from checks.methods.smt import implies

    if one_of("guard", guard, *_GUARDS) != _GUARDS[0]:
        chance = _uniform_on_unlike_servers()["too much regret"]
        text = (
            "one server of rate 0.9, nine of 0.01: R exceeds the bound with probability "
            f"{float(chance):.3f} or more"
        )
        return refuted(text) if chance > 2 * GUARD_ERROR else undecided(text)
    m, theta, own, accepted, got, drawn, over = z3.Reals("m theta sum accepted r drawn over")
    allowed = {"m-1": m - 1, "m-2": m - 2}[one_of("jump", jump, "m-1", "m-2")]
    bits = [z3.Or(x == 0, x == 1) for x in (got, drawn)]
    after = (own + m * got * drawn) - (accepted + got)
    before = [m >= 2, theta >= 0, own >= 0, accepted >= 0, own - accepted <= theta]
    at_alarm = implies(
        [*before, *bits, after > theta],
        after <= theta + allowed,
        "excess of a server's sum after the step of the alarm",
    )
    would, would_later, later, deviation, bound = z3.Reals("u_before u_after r_after dev ix")
    adds_up = implies(
        [
            *(would <= own + deviation, own - accepted <= theta + over),
            would_later - later <= bound,
        ],
        (would + would_later) - (accepted + later) <= theta + over + deviation + bound,
        "regret against any server",
    )
    first, second, both, eta = z3.Reals("P1 P2 P eta")
    fails = implies(
        [first <= eta, second <= eta, both <= first + second], both <= 2 * eta, "two events"
    )
    return combine(
        [at_alarm, adds_up, fails], "before the alarm the estimates decide, after it EXP3-IX"
    )


def _uniform_on_unlike_servers() -> dict[str, Fraction]:
    """Probabilities, from below, of plain uniform routing on one server of rate 0.9 and nine of 0.01.

    The queue is never empty, W = 200,000, eta = 1/1000. A server of rate x is free in a step with
    probability f + (1 - f) g^s, g = (1 - x)(1 - 1/m), f = x/(1 - g), s steps after it was. With D the
    mean of the regret against the fast server: D <= bound + W Pr(regret > bound), and as the excess of
    its sum has mean D and is at most (m - 1) W, D <= theta + (m - 1) W Pr(alarm).
    """
    from simlib.strategic.formulas import guarded_uniform_regret
    from simlib.tuning import guard_threshold

    rates = [Fraction(str(rate)) for rate in GUARD_SYSTEMS["unlike"][1]]
    window, m, eta = 200_000, len(rates), Fraction(str(GUARD_ERROR))
    accepted = Fraction(0)
    for rate in rates:
        kept = (1 - rate) * (1 - Fraction(1, m))
        free = rate / (1 - kept)
        accepted += (window * free + (1 - free) / (1 - kept)) / m
        if rate == max(rates):
            would = window * free
    mean = would - accepted
    # the float formulas are rounded up by more than their error
    total = float(sum(rates))
    bound = Fraction(guarded_uniform_regret(window, m, total, float(eta))) + 1
    theta = Fraction(guard_threshold(window, m, float(eta), total)) + 1
    return {
        "too much regret": (mean - bound) / window,
        "alarm": (mean - theta) / ((m - 1) * window),
    }


@guarded_uniform.check(method="smt", scope="general", false={"servers": _SERVERS[1]}, part="alarms")
def false_alarms(servers: str) -> Finding:
    """Add up what the excess of a sum consists of, with z3, while all queues route uniformly.

    The excess for server j is the deviation of its estimates plus the regret against it so far. With
    identical servers the mean of the regret still to come is at most m/mu in absolute value from every
    state, so regret plus that is a martingale from at most m/mu, with steps of at most 1 + 2m/mu; both
    deviations are exceeded with probability eta at most, for all servers and times at once. Other
    servers are refuted by one of rate 0.9 and nine of 0.01.
    """
    import z3

    from checks.methods.smt import implies

    if one_of("servers", servers, *_SERVERS) != _SERVERS[0]:
        chance = _uniform_on_unlike_servers()["alarm"]
        text = f"one queue, servers of rate 0.9 and 0.01: an alarm with probability {float(chance):.3f}"
        return refuted(f"{text} or more") if chance > 2 * GUARD_ERROR else undecided(text)
    wait, deviation, second, regret, to_come, at_start, now, estimates, theta = z3.Reals(
        "m/mu dev1 dev2 R_j V M_0 M_t estimates theta"
    )
    model = [
        *(wait > 0, deviation >= 0, second >= 0),
        theta == deviation + 2 * wait + second,
        estimates <= deviation,
        z3.And(to_come <= wait, to_come >= -wait),
        *(at_start <= wait, now == regret + to_come, now - at_start <= second),
    ]
    step, change, before, after = z3.Reals("R_step step V_before V_after")
    increments = implies(
        [
            *(wait > 0, z3.And(step <= 1, step >= -1), change == step + after - before),
            *(z3.And(v <= wait, v >= -wait) for v in (before, after)),
        ],
        z3.And(change <= 1 + 2 * wait, change >= -1 - 2 * wait),
        "steps of the martingale",
    )
    n, eta, chance = z3.Reals("n eta P")
    return combine(
        [
            implies(model, estimates + regret <= theta, "excess of a sum"),
            increments,
            implies(
                [n >= 1, eta > 0, chance <= n * (eta + eta)], chance <= 2 * n * eta, "n queues"
            ),
        ],
        "outside two events for each queue no sum exceeds theta",
    )


@guarded_uniform.check(method="symbolic", scope="general", false={"cost": "0.5"}, part="growth")
def drift_of_a_step_that_is_not_uniform(cost: str) -> Finding:
    """Compute the drift of Psi when the queue of the largest rate does what it likes, for all systems.

    It is cleared with probability 1 at most; services and arrivals change Psi as in any step, and leave
    gamma - b/m, b full buffers before the step. Periods: the loss is at most W with an alarm of this
    queue, which has probability 2 n eta at most, and 0 without. A smaller cost is refuted by one queue
    and ten servers, nine of them full, where it sends to the free one.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    own, rate, nu, m, b, busy = sympy.symbols("lambda_1 lambda nu m b b_post", positive=True)
    weight = (1 - nu) / (m * nu)
    gamma = own - 1 + weight * rate

    def drift(cleared, busy):
        """Of Psi, from b full buffers to ``busy`` just before service; c Z counts all packets."""
        full = (1 - nu) * busy
        return own - cleared + weight * (rate - nu * busy) + (full - b) / m

    stated = Fraction(cost)
    if stated < 1:
        values = {own: sympy.Rational(1, 2), rate: sympy.Rational(1, 2), m: 10}
        values |= {nu: sympy.Rational(8, 100), b: 9}
        lost = Fraction(str((gamma - drift(1, 10)).subs(values)))
        text = f"one queue, nine of ten servers full, it sends to the free one: gamma - {lost}"
        return refuted(text) if lost > stated else undecided(text)
    gain, eta, n, window, alarm, price = z3.Reals("gain eta n W P cost")
    periods = implies(
        [
            *(window >= 1, n >= 1, eta > 0, alarm >= 0, alarm <= 2 * n * eta),
            z3.And(price > 0, price <= 1),
        ],
        gain * window - alarm * window * price >= (gain - 2 * n * eta) * window,
        "a period",
    )
    return combine(
        [
            identity(drift(1, busy), gamma - b / m, "drift of a step, cleared for sure"),
            identity((gamma - b / m).subs(b, m), gamma - 1, "with all buffers full"),
            periods,
        ],
        "gamma - b/m >= gamma - 1 whatever the queue does",
    )


@guarded_uniform.check(
    method="statistical",
    scope="instances",
    false={"guard": _GUARDS[1]},
    part="any",
    uses=guarded_router,
    alpha=5e-7,
)
def measured_regret_of_the_guard(runs, guard: str) -> Finding:
    """Decide whether a period stays below the bound of point 2, with probability above 1/2.

    One queue; ten servers of rate 0.08 (arrivals 1/2), or one of rate 0.9 and nine of 0.01 (arrivals
    0.999); threshold for a total rate of 0.8, eta = 1/1000. 32 periods of 100,000 steps (quick) or 128
    of 200,000 (full) of each, exact binomial interval, alpha halved. On the second system plain uniform
    routing has 0.81 W regret in every period, 1.5 times the bound or more: refuted in all runs.
    """
    from simlib.strategic.formulas import guarded_uniform_regret

    which = {_GUARDS[0]: "guarded", _GUARDS[1]: "uniform"}[one_of("guard", guard, *_GUARDS)]
    made_for = GUARD_SYSTEMS["alike"][1]
    bound = guarded_uniform_regret(int(runs["period"]), len(made_for), sum(made_for), GUARD_ERROR)
    found = []
    for system in GUARD_SYSTEMS:
        regret = runs[f"regret_{which}_{system}"]
        name = f"regret, servers {system}, {which}"
        found.append(
            unfit(regret, guarded_router, name)
            or most_runs(regret, lambda r: r <= bound, 2.5e-7, name, f"below {bound:.0f}")
        )
    return combine(found)


@guarded_uniform.check(
    method="statistical",
    scope="instances",
    false={"servers": _SERVERS[1]},
    part="alarms",
    uses=guarded_router,
    alpha=5e-7,
)
def measured_alarms(runs, servers: str) -> Finding:
    """Decide whether a period has an alarm with probability below 1/2, in the systems as above.

    Counted are periods in which the guarded and the plain router part, on the same random numbers; exact
    binomial interval. The bound 2 eta = 0.002 is far below what so many periods can show: none in 32 is
    evidence for "less than a half", and an alarm in each refutes it for the other servers.
    """
    from simlib.estimate import proportion

    systems = {_SERVERS[0]: ("alike",), _SERVERS[1]: tuple(GUARD_SYSTEMS)}[
        one_of("servers", servers, *_SERVERS)
    ]
    found = []
    for system in systems:
        alarms = runs[f"alarm_{system}"]
        if len(alarms) < guarded_router.parameters("quick")["runs"]:
            return undecided(f"{len(alarms)} periods are too few")
        share = proportion(int(alarms.sum()), len(alarms), 5e-7 / len(systems))
        shown = estimate(share.value, share.low, share.high)
        name = f"share of periods with an alarm, servers {system}"
        text = f"{name}: {shown.text}"
        if share.high < 0.5:
            found.append(proved(text, **{name: shown}))
        elif share.low > 0.5:
            found.append(refuted(text, **{name: shown}))
        else:
            found.append(undecided(text, **{name: shown}))
    return combine(found)
