"""What uniform learners do over a window: regret against every server, and clearing under backlog."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from checks.claim import Claim, Source
from checks.finding import (
    PROVED,
    Finding,
    combine,
    decimal,
    exact,
    one_of,
    proved,
    refuted,
    settle,
    undecided,
)
from checks.judging import as_printed_decimal, one_for_each, unfit
from checks.methods.certified import rounds_to
from checks.strategic.evidence.no_less import RULES, WINDOW_RATE, windows
from checks.strategic.instances import SOURCE

uniform_is_windowed_no_regret = Claim(
    "strategic.uniform_is_windowed_no_regret",
    title="On identical servers uniform learners have no regret on any window, whatever happened before",
    source=Source(SOURCE, "Section 4, last theorem", provenance="ours"),
    statement=r"""
There are $n$ queues and $m\ge2$ <<servers>> servers of rate $\nu=\mu/m<1$. Every queue sends each packet
to a server drawn uniformly, independently of everything else; every server decides by itself, and the
acceptance rule is <<rule>> at all of them. It may depend on which queues sent to the server and on all
queues, but on nothing that the server did before. Let $R_{W,j}$ be the regret of one queue against
server $j$ over a window of $W$ steps, the packets of the queue that server $j$ would have accepted less
those that were accepted, and
$$v=<<bias>>.$$

1. For every history $\mathcal F$ before the window (any lengths, any buffers)
   $$|E[R_{W,j}\mid\mathcal F]|\le v.$$
   This is sharp: for one queue that never empties, started with server $j$ free and all others full, the
   left side tends to $v$ as $W\to\infty$.
2. The expectation of $R_{W,j}$, given what is known after each step, moves by at most $<<step>>$ in a
   step. So for every $\zeta\in(0,1)$, with conditional probability at least $1-\zeta$,
   $$R_W=\max_jR_{W,j}\le v+(<<step>>)\sqrt{2W\ln(m/\zeta)}.$$

*Systems.* The largest $|E[R_{W,j}\mid\mathcal F]|$ for $W=400$, over all queues, servers and starts, is
<<largest>> for the $(n,m,\mu)$ of $(2,2,0.6)$, $(2,3,0.9)$ and $(1,4,0.9)$, with arrival rates $1/2$ and
$1/4$, queue 1 preferred, and room for 4, 3 and 6 packets in a queue.
""",
    claimed={
        "servers": "identical",
        "rule": "the same",
        "bias": r"(m-1)/(1+\mu-\nu)",
        "step": "1+2v",
        "largest": "0.7139, 1.1464, 1.7910",
    },
    meaning={
        "servers": "what the servers have in common",
        "rule": "what the acceptance rule has in common at all servers",
        "bias": "bound on the expected regret against a server",
        "step": "bound on a step of the martingale of the regret",
        "largest": "largest expected regret of three systems",
    },
    parts={
        "bias": "expected regret against every server",
        "window": "with high probability",
        "systems": "three systems computed exactly",
    },
    uncovered="induction over the steps of a window; Azuma's inequality and the union bound over the "
    "servers (textbook)",
)


_UNEQUAL = (Fraction(1, 2), Fraction(1, 10), Fraction(3, 10))


def _regret_of_one_queue(rates, full, steps) -> Fraction:
    """Expected regret against server 1 of a queue that never empties and draws servers uniformly."""
    share = Fraction(1, len(rates))
    free = [Fraction(1 - one) for one in full]
    total = Fraction(0)
    for _ in range(steps):
        total += free[0] - share * sum(free)
        free = [mu + (1 - mu) * (1 - share) * x for mu, x in zip(rates, free, strict=True)]
    return total


def _regret_of_two_queues(rate, orders, steps) -> Fraction:
    """Expected regret of queue 1 against server 1; two queues that never empty, two servers, empty."""
    half = Fraction(1, 2)
    # Server j takes queue 1 surely if alone there or preferred; only how likely it is free matters.
    free = [Fraction(1), Fraction(1)]
    total = Fraction(0)
    for _ in range(steps):
        takes = [x * (1 if order[0] == 0 else half) for x, order in zip(free, orders, strict=True)]
        total += takes[0] - half * sum(takes)
        hit = 1 - half * half
        free = [rate + (1 - rate) * (1 - hit) * x for x in free]
    return total


@uniform_is_windowed_no_regret.check(
    method="symbolic",
    scope="general",
    false=[{"servers": "different"}, {"rule": "different"}],
    part="bias",
)
def swapping_two_servers(servers: str, rule: str) -> Finding:
    """A step is as likely as its mirror image in two servers j and k, for any n and m.

    Let the buffers of j and k agree, queues A send to j, queues B to k, and the rule take x of A and y
    of B. In the mirror image B goes to j and A to k, and y and x are taken there. Both have the same
    probability if the rule is the same at j and k, and the same lengths and services follow if the rates
    are; so the future is symmetric, and the mean of u(j) - u(k) is 0 in every later step. (A rule that
    remembers what its server did counts as different rules.) Otherwise the expected regret passes v: two
    queues with priority at one server each, or one queue at servers of rates 1/2, 1/10 and 3/10.
    """
    import sympy

    from checks.methods.symbolic import identity

    one_of("servers", servers, "identical", "different")
    one_of("rule", rule, *RULES)
    m, n, a, b, nu, other = sympy.symbols("m n a b nu nu_k", positive=True)
    takes, takes_k = sympy.Function("alpha"), sympy.Function("beta")
    if rule == "the same":
        takes_k = takes
    if servers == "identical":
        other = nu
    x, y, at_a, at_b = sympy.symbols("x y A B")

    def chance(to_j, to_k):
        return m ** -(to_j + to_k) * (1 - 2 / m) ** (n - to_j - to_k)

    step = chance(a, b) * takes(x, at_a) * takes_k(y, at_b)
    mirror = chance(b, a) * takes(y, at_b) * takes_k(x, at_a)
    found = combine(
        [
            identity(step, mirror, "targets and acceptance"),
            identity((1 - nu) * other, nu * (1 - other), "one buffer emptied, the other not"),
        ],
        "a step and its mirror image are equally likely; from equal buffers on the mean is 0",
    )
    if found.outcome == "proved":
        return found
    if rule == "different":
        which = "two queues, each preferred by one of two servers of rate 3/10"
        rates = [Fraction(WINDOW_RATE)] * 2
        regret = _regret_of_two_queues(rates[0], ([0, 1], [1, 0]), 100)
    else:
        which, rates = "one queue, servers of rates 1/2, 1/10, 3/10", _UNEQUAL
        regret = _regret_of_one_queue(rates, (0, 0, 0), 100)
    m, total = len(rates), sum(rates)
    bound = Fraction(m - 1) / (1 + total - total / m)
    text = (
        f"{which}: expected regret against server 1 {decimal(regret, 2)} in 100 steps, v = "
        f"{decimal(bound, 2)}"
    )
    return refuted(text) if regret > bound else undecided(text)


_BIASES = {r"(m-1)/(1+\mu-\nu)": "(m-1)/(1+mu-nu)", r"(m-1)/(1+\mu)": "(m-1)/(1+mu)"}


@uniform_is_windowed_no_regret.check(
    method="smt", scope="general", false={"bias": r"(m-1)/(1+\mu)"}, part="bias"
)
def until_two_buffers_agree(bias: str) -> Finding:
    """Bound what the steps in which two buffers differ can add, for all parameters.

    Let D bound the rest of E sum (u(j) - u(k)) over w steps, from every state. A step in which the queue
    is empty adds 0 and leaves j and k different with probability 1 - nu at most, because the full one
    empties. Otherwise it adds 1 at most, and they stay different only if the queue's own packet misses
    the free one, 1 - 1/m, and the full one stays full. z3 shows that D = m/(1 + mu - nu) then bounds
    w + 1 steps. Against a uniform draw the regret is the mean over k of these sums, at most (m-1)/m D.
    A smaller bound is refuted by one queue that never empties, where both bounds are equalities.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    one_of("bias", bias, *_BIASES)
    m, nu = sympy.symbols("m nu", positive=True)
    most = m / (1 + m * nu - nu)
    stated = sympy.sympify(_BIASES[bias], locals={"mu": m * nu, "nu": nu, "m": m})
    if sympy.simplify(stated - (m - 1) / m * most) != 0:
        regret = _regret_of_one_queue([Fraction(9, 40)] * 4, (0, 1, 1, 1), 40)
        told = Fraction(str(stated.subs({m: 4, nu: sympy.Rational(9, 40)})))
        text = (
            f"one queue, four servers of rate 9/40, three full: {decimal(regret, 4)} in 40 steps, "
            f"{decimal(told, 4)} stated"
        )
        return refuted(text) if regret > told else undecided(text)
    servers, rate, bound, rest, stay, adds = z3.Reals("m nu D rest stay adds")
    hypotheses = [
        z3.And(servers >= 2, rate > 0, rate < 1, rest >= 0, rest <= bound, stay >= 0, adds >= 0),
        bound * (1 + servers * rate - rate) == servers,
    ]
    after = adds + stay * rest <= bound
    sent = [adds <= 1, servers * stay <= (servers - 1) * (1 - rate)]
    empty = [adds == 0, stay <= 1 - rate]
    last = most * (1 - (1 - 1 / m) * (1 - nu))
    return combine(
        [
            implies([*hypotheses, *sent], after, "a step with a packet"),
            implies([*hypotheses, *empty], after, "a step without"),
            identity(last, sympy.Integer(1), "one queue that never empties: D = 1 + stay D"),
            identity(stated, (m - 1) / m * most, "mean over the other servers"),
        ],
        "E sum (u(j) - u(k)) is at most m/(1 + mu - nu), with equality for one queue that never empties",
    )


@uniform_is_windowed_no_regret.check(
    method="smt", scope="general", false={"step": "1+v"}, part="window"
)
def martingale_of_the_regret(step: str) -> Finding:
    """Bound the steps of the Doob martingale of the regret and insert them in Azuma's inequality.

    Regret so far plus the mean of the rest is a martingale, the rest is within v of 0 from every state,
    and a step of the regret is at most 1 in absolute value. Azuma's exponent at the stated deviation is
    ln(zeta/m); m servers. A smaller step is refuted by one queue at four servers of rate 9/40.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    one_of("step", step, "1+2v", "1+v")
    regret, rest, before, v = z3.Reals("r rest before v")
    if step == "1+v":
        return _longest_step()
    change = regret + rest - before
    hypotheses = [z3.And(x >= -b, x <= b) for x, b in ((regret, 1), (rest, v), (before, v))]
    most = 1 + 2 * v
    w, m, zeta, size = sympy.symbols("W m zeta v", positive=True)
    deviation = (1 + 2 * size) * sympy.sqrt(2 * w * sympy.log(m / zeta))
    exponent = -(deviation**2) / (2 * w * (1 + 2 * size) ** 2)
    return combine(
        [
            implies(hypotheses, z3.And(change <= most, change >= -most), "a step"),
            identity(sympy.exp(exponent), zeta / m, "Azuma's bound for each server"),
        ],
        "steps at most 1 + 2v; each of m servers exceeds the bound with probability zeta/m at most",
    )


def _longest_step() -> Finding:
    """From server 1 free and three full to server 1 full and three free, in one step, without regret."""
    m, nu = 4, Fraction(9, 40)
    most = Fraction(m) / (1 + m * nu - nu)  # of E sum (u(1) - u(k)), while 1 is free and k is full
    v = Fraction(m - 1, m) * most
    chance = (
        Fraction(1, m) * (1 - nu) * nu ** (m - 1)
    )  # sent to server 1; it stays full, others empty
    text = (
        f"one queue, four servers of rate 9/40, server 1 free: with probability {decimal(chance, 4)} "
        f"the mean of the rest goes from {decimal(v, 3)} to {decimal(-v, 3)}, 1 + v = "
        f"{decimal(1 + v, 3)}"
    )
    return refuted(text) if chance > 0 and 2 * v > 1 + v else undecided(text)


_SYSTEMS = (
    ((2, 2, "3/5"), 4),
    ((2, 3, "9/10"), 3),
    ((1, 4, "9/10"), 6),
)


@cache
def _largest_regret(n: int, m: int, total: str, cap: int) -> Fraction:
    from simlib.strategic.exact import JointSystem, expected_regret, priority_law

    system = JointSystem.identical(("1/2", "1/4")[:n], m, total, priority_law(range(n)))
    regret = expected_regret(system, cap, (400,))
    return Fraction(float(max(regret.largest[0], -regret.least[0])))


@uniform_is_windowed_no_regret.check(
    method="certified",
    scope="general",
    false={"largest": "0.7139, 1.1465, 1.7910"},
    part="systems",
)
def largest_of_three_systems(largest: str) -> Finding:
    """Dynamic programme over all states of three systems; its part of the statement is these numbers.

    One-step laws in rationals, sums over the window in floats with a proved rounding error below 1e-8. A
    packet that arrives at a full queue is lost, so arrivals depend on the lengths, which the proof
    allows. Each value must also be at most (m-1)/(1 + mu - nu), and that of one queue within 1e-5 of it.
    """
    found = []
    texts = one_for_each("largest", largest, *(system for system, _ in _SYSTEMS))
    for ((n, m, total), cap), text in zip(_SYSTEMS, texts, strict=True):
        value, error = _largest_regret(n, m, total, cap), Fraction(1, 10**8)
        stated, half = as_printed_decimal("largest", text)
        bound = Fraction(m - 1) / (1 + Fraction(total) * (1 - Fraction(1, m)))
        lowest = max(stated - half, bound - Fraction(1, 10**5) if n == 1 else 0)
        highest = min(stated + half, bound)
        told = f"n={n}, m={m}, mu={total}: {decimal(value, 4)} (bound {decimal(bound, 4)})"
        holds = lowest <= value - error and value + error <= highest
        fails = value + error < lowest or value - error > highest
        found.append(settle(holds, fails, told, f"{told}, not {text}"))
    return combine(found)


@uniform_is_windowed_no_regret.check(
    method="statistical",
    scope="instances",
    false={"rule": "different"},
    part="bias",
    uses=windows,
    alpha=1e-7,
)
def regret_of_two_queues(windowed, rule: str) -> Finding:
    """Simulate two queues that never empty and compare their regret per step with 0, to 0.02.

    40 runs of 10,000 steps or more, queue 1 against server 1, two servers of rate 0.3; t interval: a run
    adds up thousands of steps. Standard deviation of a run 0.005, half-width 0.006. d = 0.02 covers v
    and the half-width and is a fifth of 1/11, the regret per step if each server prefers another queue.
    """
    from checks.methods.statistical import equals
    from simlib.estimate import mean_normal

    number = RULES.index(one_of("rule", rule, *RULES))
    samples = windowed[f"against_first_{number}"][:, -1] / windowed["window"][-1]
    name = "regret per step against server 1"
    bad = unfit(samples, windows, name)
    return bad or equals(mean_normal(samples, 1e-7), 0.0, 0.02, name, digits=4)


# Backlog ------------------------------------------------------------------------------------------

_FOUR = (("one", 1, "1"), ("two", 2, "3/2"), ("three", 3, "5/2"), ("four", 4, "3"))
_SERVERS = (5, 20, 100, 400)

saturated_throughput = Claim(
    "strategic.saturated_throughput",
    title="Backlogged queues without regret clear n mu/(n + mu) packets per step or more",
    source=Source(SOURCE, "Section 4", provenance="ours"),
    statement=r"""
There are $n$ queues and $m$ servers of rates $\mu_j<1$ with sum $\mu$.

1. Let all queues start a window of $W$ steps with $W$ packets or more, so that none is empty in it. Let
   $C$ be the number of packets that all queues clear in it, and $R_i$ the largest *expected* regret of
   queue $i$ against a single server, given the past. Whatever the learners and the acceptance rule,
   $$(n+\mu)\,E\,C\ \ge\ n\mu W-\mu\sum_iR_i-nm.$$
   So without regret they clear at least $<<bound>>$ per step in the long run.
2. *It is attained.* On identical servers of rate $\nu=\mu/m$ backlogged uniform queues clear exactly
   $$<<exactly>>\ \text{per step},\quad\theta=1-\Bigl(1-\frac1m\Bigr)^n,$$
   in the long run, which is at least $<<bound>>$ and at most $n\mu/(n+\mu-\nu n)$.
3. Let $s$ be that rate and $\lambda$ the sum of the arrival rates. From every state of uniform queues
   $N+kb$ drifts up by $\lambda-s$ or more, where $N$ counts the packets in queues, $b$ the full buffers,
   and $k=\theta/(\nu+(1-\nu)\theta)$. So for $\lambda>s$ the queues grow without bound.

The exact rates of point 2, by the number of servers:

| $n$, $\mu$ | $m=5$ | $m=20$ | $m=100$ | $m=400$ |
| --- | --- | --- | --- | --- |
| 1, 1 | <<one:cells>> |
| 2, 1.5 | <<two:cells>> |
| 3, 2.5 | <<three:cells>> |
| 4, 3 | <<four:cells>> |
""",
    claimed={
        "bound": r"n\mu/(n+\mu)",
        "exactly": r"\mu\theta/(\nu+(1-\nu)\theta)",
        "one": "0.5556, 0.5128, 0.5025, 0.5006",
        "two": "0.9783, 0.8854, 0.8627, 0.8585",
        "three": "1.6398, 1.4274, 1.3761, 1.3667",
        "four": "2.1183, 1.8087, 1.7328, 1.7189",
    },
    meaning={
        "bound": "least clearing rate of backlogged queues without regret",
        "exactly": "clearing rate of backlogged uniform queues",
        **{name: f"clearing rates in the row of n = {n}" for name, n, _ in _FOUR},
    },
    parts={
        "bound": "a bound for every learner",
        "attained": "uniform learners on identical servers",
        "numbers": "the table",
    },
    rests_on=[
        "strategic.flow_identity",
        "strategic.longest_queue_drift",
        "strategic.uniform_is_windowed_no_regret",
    ],
    uncovered="the limits: dividing by W, and that the mean number of full buffers, which contracts, "
    "settles (a line each)",
)

_BOUNDS = {r"n\mu/(n+\mu)": "n*mu/(n+mu)", r"\min(n,\mu)": "Min(n, mu)"}
_BOUNDS[r"1.001\,n\mu/(n+\mu)"] = "1001*n*mu/(1000*(n+mu))"
_FALSE_BOUNDS = [{"bound": name} for name in _BOUNDS if name != r"n\mu/(n+\mu)"]


def _clearing(queues: int, servers: int, total: Fraction) -> Fraction:
    """Clearing rate of backlogged uniform queues on identical servers, in closed form."""
    nu, theta = total / servers, 1 - (1 - Fraction(1, servers)) ** queues
    return total * theta / (nu + (1 - nu) * theta)


def _bound(bound: str, queues, total):
    import sympy

    one_of("bound", bound, *_BOUNDS)
    return sympy.sympify(_BOUNDS[bound], locals={"n": queues, "mu": total})


def _too_large(bound: str) -> Finding | None:
    """A backlogged system without regret that clears less than a stated bound, if that is too large."""
    value = _clearing(1, 2000, Fraction(1))
    told = Fraction(str(_bound(bound, 1, 1)))
    text = f"one backlogged queue, 2000 servers, mu = 1: clears {value}, {decimal(told, 6)} stated"
    return refuted(text) if value < told else None


@saturated_throughput.check(method="symbolic", scope="general", false=_FALSE_BOUNDS, part="bound")
def sum_over_queues_and_servers(bound: str) -> Finding:
    """The slack is an explicit sum of non-negative terms, with symbolic numbers of queues and servers.

    In a step in which server j is not full before service nobody sent to it, so it would have taken a
    packet of queue i: E C_i >= W - E B_j - E R_ij. Each server accepts what it serves, up to one packet
    that it holds at the start: E C >= sum_j mu_j E B_j - m. Weighted with mu_j and summed over j and i
    the slack is the sum of mu_j (C_i - W + B_j + R_i) and n (C - sum_j mu_j B_j + m). Without regret C/W
    is then at least n mu/(n + mu), as W grows. A larger bound is refuted by uniform learners on 2000
    servers.
    """
    import sympy
    from sympy import IndexedBase, Sum, factor_terms

    from checks.methods.symbolic import identity

    i, j, n, m = sympy.symbols("i j n m", integer=True, positive=True)
    window, cleared, total, served = sympy.symbols("W C mu S", positive=True)
    rates, busy, each, regret = (IndexedBase(name) for name in ("mu", "B", "C", "R"))

    def over(term, index, top):
        return factor_terms(Sum(sympy.expand(term), (index, 1, top)).expand())

    over_servers = {over(rates[j], j, m): total, over(rates[j] * busy[j], j, m): served}
    inner = over(rates[j] * (each[i] - window + busy[j] + regret[i]), j, m).subs(over_servers)
    pairs = over(inner, i, n).doit().subs(over(each[i], i, n), cleared)
    slack = pairs + n * (cleared - served + m)
    stated = (n + total) * cleared - n * total * window + total * over(regret[i], i, n) + n * m
    rest = sympy.simplify(sympy.expand(stated - slack))
    if rest != 0:
        return undecided(f"the slack differs from the sum of these terms by {rest}")
    limit = -stated.expand().coeff(window) / sympy.diff(stated, cleared)
    return _too_large(bound) or combine(
        [identity(_bound(bound, n, total), limit, "the limit")],
        "(n + mu) C - n mu W + mu sum R_i + n m is a sum of non-negative terms, for any n and m",
    )


_EXACTLY = {
    r"\mu\theta/(\nu+(1-\nu)\theta)": "mu*theta/(nu+(1-nu)*theta)",
    r"\mu\theta/(\nu+\theta)": "mu*theta/(nu+theta)",
}


@saturated_throughput.check(
    method="symbolic",
    scope="general",
    false=[{"exactly": r"\mu\theta/(\nu+\theta)"}, *_FALSE_BOUNDS],
    part="attained",
)
def balance_of_full_buffers(exactly: str, bound: str) -> Finding:
    """Solve the mean number of full buffers, and bound the rate from both sides, for all parameters.

    Each of m - b free servers is hit by n uniform packets with probability theta, and then takes exactly
    one, so (m - b) theta packets are cleared on average: linear in b, and E b' = (1-nu)(b + (m-b) theta)
    contracts to its fixed point. n/(n+m) <= theta <= n/m by induction on n (z3) gives both bounds. With
    k as stated N + k b drifts by lambda - s plus nu/(nu + (1-nu) theta) times the packets that empty
    queues did not send and that would have been taken. A larger bound is refuted by 2000 servers.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    one_of("exactly", exactly, *_EXACTLY)
    wrong = _too_large(bound)
    if wrong:
        return wrong
    theta, nu, m, b = sympy.symbols("theta nu m b", positive=True)
    rate, missed = sympy.symbols("lambda missed", positive=True)
    stated = sympy.sympify(_EXACTLY[exactly], locals={"theta": theta, "nu": nu, "mu": m * nu})
    fixed = (1 - nu) * m * theta / (nu + (1 - nu) * theta)
    if sympy.simplify((m - fixed) * theta - stated) != 0:
        point = {m: 5, nu: sympy.Rational(1, 5), theta: sympy.Rational(1, 5)}
        told, true = stated.subs(point), ((m - fixed) * theta).subs(point)
        text = f"n = 1, m = 5, mu = 1: clears {true}, {told} stated"
        return refuted(text) if told != true else undecided(text)
    k = theta / (nu + (1 - nu) * theta)
    cleared = (m - b) * theta - missed
    drift = rate - cleared + k * ((1 - nu) * (b + cleared) - b)
    alone, queues, servers, least, share, total = z3.Reals("p n m theta nu mu")
    some = [z3.And(queues >= 1, servers >= 1, alone >= 0, alone <= 1)]
    one = [queues == 1, servers * alone == servers - 1]
    not_hit = alone * (queues + servers) <= servers  # theta = 1 - p >= n/(n+m)
    step = alone * (servers - 1) * (queues + 1 + servers) <= servers * servers
    union = servers * (1 - alone) <= queues
    union_step = servers - alone * (servers - 1) <= queues + 1
    rates = [
        z3.And(queues >= 1, servers >= 1, total > 0, total < servers, total == share * servers),
        z3.And(least > 0, least <= 1, least * (queues + servers) >= queues),
        least * servers <= queues,
    ]
    below = queues * (share + (1 - share) * least) <= (queues + total) * least
    above = (queues + total - share * queues) * least <= queues * (share + (1 - share) * least)
    return combine(
        [
            identity(fixed, (1 - nu) * (fixed + (m - fixed) * theta), "mean of full buffers"),
            identity((m - fixed) * theta, stated, "packets cleared"),
            identity(drift, rate - stated + nu * k / theta * missed, "drift of N + k b"),
            implies([*some, *one], z3.And(not_hit, union), "theta = 1/m, one queue"),
            implies([*some, not_hit], step, "theta >= n/(n+m), one queue more"),
            implies([*some, union], union_step, "theta <= n/m, one queue more"),
            implies(rates, below, "at least n mu/(n + mu)"),
            implies(rates, above, "at most n mu/(n + mu - nu n)"),
        ],
        "clears (m - E b) theta, between n mu/(n + mu) and n mu/(n + mu - nu n)",
    )


@saturated_throughput.check(
    method="exact",
    scope="general",
    false=[
        {"one": "0.5556, 0.5128, 0.5025, 0.5007"},
        {"two": "0.9783, 0.8854, 0.8627, 0.8586"},
        {"three": "1.6398, 1.4274, 1.3761, 1.3668"},
        {"four": "2.1183, 1.8087, 1.7328, 1.7188"},
    ],
    part="numbers",
)
def stationary_laws(one: str, two: str, three: str, four: str) -> Finding:
    """Sixteen clearing rates in rationals; its part of the statement is these numbers.

    With 5 and 20 servers also from the stationary law of the number of full buffers, solved in rationals
    from the steps of the packets: both must be equal.
    """
    from simlib.strategic.exact import backlogged_chain

    texts = {"one": one, "two": two, "three": three, "four": four}
    for name, queues, total in _FOUR:
        rates = one_for_each(name, texts[name], *(f"m = {servers}" for servers in _SERVERS))
        for servers, text in zip(_SERVERS, rates, strict=True):
            value = _clearing(queues, servers, Fraction(total))
            told = f"n = {queues}, mu = {total}, m = {servers}: clears {decimal(value, 6)}"
            if servers <= 20:
                chain = backlogged_chain(queues, servers, total_service_rate=total).throughput
                if chain != value:
                    return refuted(f"{told} in closed form, {decimal(chain, 6)} by the chain")
            rounded = rounds_to(value, text, name, told)
            if rounded.outcome != PROVED:
                return rounded
    return proved(
        "sixteen rates; those with 5 and 20 servers equal the stationary law",
        **{"n = 4, mu = 3, m = 5": exact(_clearing(4, 5, Fraction(3)))},
    )
