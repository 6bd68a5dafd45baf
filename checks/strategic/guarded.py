"""The guarded uniform router: little regret against anything, and the queues grow all the same."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from checks.claim import Claim, Source
from checks.finding import Finding, combine, decide, estimate, one_of, refuted, settle, undecided
from checks.judging import as_stated, unfit
from checks.methods.statistical import most_runs
from checks.strategic.evidence.hypotheses import GUARD_ERROR, GUARD_SYSTEMS, guarded_router
from checks.strategic.expected_regret import moment_of_a_bounded_step
from checks.strategic.instances import SOURCE
from checks.strategic.no_less import linear_submartingale
from checks.strategic.restarted import exp3ix_restarted
from checks.strategic.windows import uniform_is_windowed_no_regret

_GUARDS = ("EXP3-IX, started afresh", "nothing else")
_SERVERS = ("identical servers", "any servers")

guarded_uniform = Claim(
    "strategic.guarded_uniform",
    title="The bad example survives with learners that have little regret against anything",
    source=Source(SOURCE, "Section 4, last theorem", "ours"),
    kind="proposition",
    statement=r"""
*Guarded uniform routing* is made for a total service rate $\mu$ and a probability $\zeta\in(0,1)$ of
error. In each period of $W$ steps a queue sends to uniformly random servers and adds up, for every
server $j$, the estimates $\hat u(j)=m$ if its packet went to $j$ and was accepted, else 0. When the
largest sum exceeds the number of accepted packets by more than
$$\begin{aligned}\theta=&\ m\sqrt{<<deviation>>\,W\ln(m/\zeta)}+\frac{2m}\mu\\
&+\Bigl(1+\frac{2m}\mu\Bigr)\sqrt{2W\ln(m/\zeta)},\end{aligned}$$
the alarm, it switches to <<guard>> with learning rate $\sqrt{(2\ln m+\ln(2/\zeta))/(mW)}$, until the
period ends. Environments are those of `strategic.exp3ix_restarted`: what a server would do in a
step is fixed before the draw.

1. *Estimates.* Whatever the environment does, with probability at least $1-\zeta$ no server would have
   accepted more than $\sum\hat u(j)+m\sqrt{<<deviation>>\,W\ln(m/\zeta)}$ packets up to the alarm (or
   up to the end of the period, if there is none).
2. *Any environment.* At the alarm the largest sum exceeds the accepted packets by $\theta+<<jump>>$ at
   most. So with probability at least $1-2\zeta$, given all that happened before the period, the regret
   $R$ of the queue in the period is bounded by
   $$\begin{aligned}R\ \le\ &\theta+<<jump>>+m\sqrt{<<deviation>>\,W\ln(m/\zeta)}\\
   &+2\sqrt{mW(2\ln m+\ln(2/\zeta))}+\ln(2/\zeta).\end{aligned}$$
3. *False alarms.* Let there be <<servers>> with total rate $\mu$, and $n$ queues that all route so; let
   every server decide by itself, all by the same rule, which may depend on the senders and on the queues
   but not on what the server did before. Then the probability of an alarm at any of the queues in a
   period is at most $2n\zeta$, whatever happened before it.
4. *Growth.* With identical servers let $\Psi$ and $\gamma$ be those of
   `strategic.linear_submartingale`, for a
   queue of the largest rate. In a step in which this queue does not route uniformly $\Psi$ drifts by
   $\gamma-<<cost>>$ at least. So $E\,\Psi_{kW}\ge\Psi_0+(\gamma-2n\zeta)\,kW$ if all queues are guarded
   and the rule is as in 3, and for $\zeta<\gamma/(2n)$ the queues are unstable although every learner
   has little regret in every period, against any environment.
""",
    claimed={
        "deviation": "0.5",
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
    is at most e^(m^2 s^2/8); the tail exp(W m^2 s^2/8 - s t) is least at s = 4t/(W m^2), and is zeta/m
    at the stated t. A smaller constant is refuted by two servers that accept everything: fair coins,
    for which the sums of both servers cannot fall short at once.
    """
    import sympy

    from checks.methods.symbolic import identity

    constant = Fraction(deviation)
    if constant < Fraction(1, 2):
        return _two_willing_servers(constant)
    s, t, window, m, log = sympy.symbols("s t W m ln(m/zeta)", positive=True)
    exponent = window * m**2 * s**2 / 8 - s * t
    stated = m * sympy.sqrt(sympy.Rational(str(constant)) * window * log)
    best = -2 * t**2 / (window * m**2)
    return combine(
        [
            moment_of_a_bounded_step(),
            identity(
                exponent - best, window * m**2 / 8 * (s - 4 * t / (window * m**2)) ** 2, "best s"
            ),
            identity(
                best.subs(t, stated),
                -2 * sympy.Rational(str(constant)) * log,
                "exponent at the stated deviation",
            ),
            decide(constant >= Fraction(1, 2), "ln(m/zeta) or more", "below ln(m/zeta)"),
        ],
        "each of m sums falls short by that with probability zeta/m at most",
    )


def _two_willing_servers(constant: Fraction) -> Finding:
    """Two servers that accept every packet, zeta = 10^-60: a binomial tail from its largest terms."""
    from checks.methods.certified import ball, precision

    window, zeta = 10_000, Fraction(1, 10**60)
    with precision(300):
        deviation = 2 * (ball(constant) * window * ball(2 / zeta).log()).sqrt()
        # the sum of a server falls short by W - 2 (packets sent to it)
        least = int((window - float(deviation.mid())) / 2) - 1
        if not ball(window - 2 * least) > deviation:
            return undecided("the number of packets is not separated from the deviation")
        terms = sum(comb(window, k) for k in range(least - 40, least + 1))
        chance = 2 * ball(Fraction(terms, 2**window))
        text = (
            f"two servers that accept everything, W = {window}, zeta = 1e-60: the probability is at "
            f"least {float(chance.mid()):.1e}"
        )
        return refuted(text) if chance > ball(zeta) else undecided(text)


@guarded_uniform.check(
    method="smt",
    scope="general",
    false=[{"jump": "m-2"}, {"guard": _GUARDS[1]}],
    part="any",
)
def regret_in_any_environment(jump: str, guard: str) -> Finding:
    """Bound the largest sum at the alarm and add what happens before and after it, with z3.

    An accepted packet raises one sum by m and the count of accepted packets by 1, so at the alarm the
    excess is at most theta + m - 1; less is refuted by a sequence of accepted packets at ten servers.
    Before the alarm the estimates fall short by the deviation at most, after it EXP3-IX has its bound
    with x = ln(2/zeta), in a period that is not longer; each fails with probability zeta at most.
    Without the switch the statement is refuted by one server of rate 0.9 and nine of 0.01, the queue
    never empty, W = 200,000.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    if one_of("guard", guard, *_GUARDS) != _GUARDS[0]:
        chance = _uniform_on_unlike_servers()["too much regret"]
        text = (
            "one server of rate 0.9, nine of 0.01: R exceeds the bound with probability "
            f"{float(chance):.3f} or more"
        )
        return refuted(text) if chance > 2 * GUARD_ERROR else undecided(text)
    if one_of("jump", jump, *_JUMPS) != _JUMPS[0]:
        return _last_packet_before_the_alarm()
    m, theta, own, accepted, got, drawn, over = z3.Reals("m theta sum accepted r drawn over")
    bits = [z3.Or(x == 0, x == 1) for x in (got, drawn)]
    after = (own + m * got * drawn) - (accepted + got)
    before = [m >= 1, theta >= 0, own >= 0, accepted >= 0, own - accepted <= theta]
    at_alarm = implies(
        [*before, *bits, after > theta],
        after <= theta + (m - 1),
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
    first, second, both, zeta = z3.Reals("P1 P2 P zeta")
    fails = implies(
        [first <= zeta, second <= zeta, both <= first + second], both <= 2 * zeta, "two events"
    )
    servers, window, log_m, x, error = sympy.symbols("m W ln(m) x zeta", positive=True)
    rate = sympy.sqrt((2 * log_m + x) / (servers * window))
    tail = (2 * log_m + x) / rate + rate * servers * window + x
    return combine(
        [
            as_stated(exp3ix_restarted, logs="2", failures="2"),
            at_alarm,
            adds_up,
            fails,
            identity(
                tail, 2 * sympy.sqrt(servers * window * (2 * log_m + x)) + x, "bound of EXP3-IX"
            ),
            identity(2 * sympy.exp(-sympy.log(2 / error)), error, "its probability"),
        ],
        "before the alarm the estimates decide, after it EXP3-IX",
    )


_JUMPS = ("m-1", "m-2")


def _last_packet_before_the_alarm() -> Finding:
    """Ten servers that accept everything: some packets to server 2, then as many as needed to server 1.

    The sum of server 1 exceeds the a + b accepted packets by (m - 1) a - b, which meets the integer
    below theta; the next packet to server 1 adds m - 1.
    """
    from simlib.tuning import guard_threshold

    m, window, total = 10, 100_000, sum(GUARD_SYSTEMS["alike"][1])
    theta = Fraction(guard_threshold(window, m, GUARD_ERROR, total))
    below = theta.numerator // theta.denominator
    if not Fraction(1, 1000) < theta - below < Fraction(999, 1000):  # the float is not exact
        return undecided(f"theta = {float(theta)} is too near an integer")
    first = -(-below // (m - 1))
    second = (m - 1) * first - below
    largest = max((m - 1) * second, 0)  # the excess of server 2, before any packet to server 1
    after = (m - 1) * (first + 1) - second
    text = (
        f"ten servers that accept everything, W = {window:,}: {second} packets to server 2, then "
        f"{first + 1} to server 1 raise the excess from {below} <= theta = {float(theta):.3f} to {after}"
    )
    possible = first + 1 + second <= window and largest <= below
    return refuted(text) if possible and after > theta + (m - 2) else undecided(text)


def _uniform_on_unlike_servers() -> dict[str, Fraction]:
    """Probabilities, from below, of plain uniform routing on one server of rate 0.9 and nine of 0.01.

    The queue is never empty, W = 200,000, zeta = 1/1000. A server of rate x is free in a step with
    probability f + (1 - f) g^s, g = (1 - x)(1 - 1/m), f = x/(1 - g), s steps after it was. With D the
    mean of the regret against the fast server: D <= bound + W Pr(regret > bound), and as the excess of
    its sum has mean D and is at most (m - 1) W, D <= theta + (m - 1) W Pr(alarm).
    """
    from simlib.strategic.formulas import guarded_uniform_regret
    from simlib.tuning import guard_threshold

    rates = [Fraction(str(rate)) for rate in GUARD_SYSTEMS["unlike"][1]]
    window, m, error = 200_000, len(rates), float(GUARD_ERROR)
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
    bound = Fraction(guarded_uniform_regret(window, m, total, error)) + 1
    theta = Fraction(guard_threshold(window, m, error, total)) + 1
    return {
        "too much regret": (mean - bound) / window,
        "alarm": (mean - theta) / ((m - 1) * window),
    }


@guarded_uniform.check(method="smt", scope="general", false={"servers": _SERVERS[1]}, part="alarms")
def false_alarms(servers: str) -> Finding:
    """Add up what the excess of a sum consists of, with z3, while all queues route uniformly.

    The excess for server j is the deviation of its estimates plus the regret against it so far. With
    identical servers the mean of the regret still to come is at most v <= m/mu in absolute value from
    every state, so regret plus that is a martingale from at most m/mu, with steps of at most 1 + 2m/mu.
    Azuma's exponent at the stated deviation is ln(zeta/m), so both deviations are exceeded with
    probability zeta at most, for all servers and times at once. Until the first alarm the system is that
    of uniform routers. Other servers are refuted by one of rate 0.9 and nine of 0.01.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

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
    n, error, chance, bias, m, mu, nu = z3.Reals("n zeta P v m mu nu")
    window, number, zeta, mean = sympy.symbols("W m zeta m/mu", positive=True)
    exceeded = (1 + 2 * mean) * sympy.sqrt(2 * window * sympy.log(number / zeta))
    exponent = -(exceeded**2) / (2 * window * (1 + 2 * mean) ** 2)
    return combine(
        [
            as_stated(
                uniform_is_windowed_no_regret,
                servers="identical",
                rule="the same",
                bias=r"(m-1)/(1+\mu-\nu)",
            ),
            implies(
                [m >= 2, nu > 0, nu < 1, mu == m * nu, bias * (1 + mu - nu) == m - 1],
                bias * mu <= m,
                "v <= m/mu",
            ),
            implies(model, estimates + regret <= theta, "excess of a sum"),
            increments,
            identity(sympy.exp(exponent), zeta / number, "Azuma's bound for each server"),
            implies(
                [n >= 1, error > 0, chance <= n * (error + error)],
                chance <= 2 * n * error,
                "n queues",
            ),
        ],
        "outside two events for each queue no sum exceeds theta",
    )


@guarded_uniform.check(method="symbolic", scope="general", false={"cost": "0.9"}, part="growth")
def drift_of_a_step_that_is_not_uniform(cost: str) -> Finding:
    """Compute the drift of Psi when the queue of the largest rate does what it likes, for all systems.

    It is cleared with probability 1 at most; services and arrivals change Psi as in any step, and leave
    gamma - b/m, b full buffers before the step. Periods: the loss is at most W with an alarm of this
    queue, which has probability 2 n zeta at most, and 0 without. A smaller cost is refuted by one queue
    and many servers, all but one full, where it sends to the free one: 1 - 1/m.
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
        servers = int(2 / (1 - stated)) + 1
        values = {own: sympy.Rational(1, 2), rate: sympy.Rational(1, 2), m: servers}
        values |= {nu: sympy.Rational(8, 10 * servers), b: servers - 1}
        lost = Fraction(str((gamma - drift(1, servers)).subs(values)))
        text = f"one queue, all of {servers} servers full but one, it sends to that: gamma - {lost}"
        return refuted(text) if lost > stated else undecided(text)
    gain, error, n, window, alarm, price = z3.Reals("gain zeta n W P cost")
    periods = implies(
        [
            *(window >= 1, n >= 1, error > 0, alarm >= 0, alarm <= 2 * n * error),
            z3.And(price > 0, price <= 1),
        ],
        gain * window - alarm * window * price >= (gain - 2 * n * error) * window,
        "a period",
    )
    return combine(
        [
            as_stated(linear_submartingale, weight=r"(1-\nu)/\mu"),
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
    0.999); threshold for a total rate of 0.8, zeta = 1/1000. 32 periods of 100,000 steps (quick) or 128
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
    binomial interval. The bound 2 zeta = 0.002 is far below what so many periods can show: none in 32 is
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
        few, most = share.high < 0.5, share.low > 0.5
        found.append(settle(few, most, f"{name}: {shown.text}", **{name: shown}))
    return combine(found)
