"""What no schedule can exceed: the bound on OPT, exact optima with certificates, round robin, greedy."""

from fractions import Fraction
from functools import cache

from checks.claim import Claim, Source
from checks.finding import (
    Finding,
    combine,
    decide,
    exact,
    one_of,
    proved,
    refuted,
    truncated,
    undecided,
)
from checks.judging import exponential_above_line
from checks.recharge.instances import SOURCE

opt_upper_bound = Claim(
    "recharge.opt_upper_bound",
    title="No blind schedule earns more than one minus the product of the failure rates",
    kind="lemma",
    source=Source(SOURCE, "Lemma 3.6"),
    statement=r"""
For all rates $\mu\in(0,1)^m$, $q_j=1-\mu_j$, and **every** schedule and horizon $T$,
$$U_T\le T\Bigl(1-\prod_jq_j\Bigr)+m,$$
and $1-\prod_jq_j\le1-e^{-\rho}$. Hence $\mathrm{OPT}\le1-\prod_jq_j\le1-e^{-\rho}$.
""",
    claimed={"discount": "0", "tangent": "1", "exponent": "1"},
    meaning={
        "discount": "what might be taken off the bound per step",
        "tangent": "slope of the line below the exponential in the proof",
        "exponent": "what multiplies -rho in the second bound",
    },
    rests_on=["recharge.age_state"],
    parts={"product": "the bound by the product", "exponential": "the product is at least e^-rho"},
    uncovered="that the gaps of an arm add up to at most T",
)


def _round_robin_against(discount: str) -> Finding:
    """Two servers of rate 1/2 in turn, valued in rationals, against the bound less a discount."""
    from simlib.recharge.formulas import optimum_upper_bound
    from simlib.recharge.optimum import cycle_value

    pair = (Fraction(1, 2), Fraction(1, 2))
    value, bound = cycle_value(pair, (0, 1)), optimum_upper_bound(pair) - Fraction(discount)
    text = f"two servers of rate 1/2 in turn earn {value} a step, bound {bound}"
    return decide(value <= bound, text, text)


@opt_upper_bound.check(
    method="symbolic",
    scope="general",
    part="product",
    false=[{"discount": "0.01"}, {"tangent": "1.01"}],
)
def dual_certificate(discount: str, tangent: str) -> Finding:
    """A pull at gap d pays at most 1-y-yL + y d ln(1/q_j), y the product and L = ln(1/y); then add.

    The step is e^x >= 1+x at x = L - d ln(1/q_j). The gaps of an arm add up to at most T, the logs to L,
    1-y-yL is at least 0, and each first pull costs at most 1: what is left is T(1-y) + m. Judged are the
    slope of that tangent, and what might still be taken off the bound: nothing.
    """
    import sympy

    from checks.methods.symbolic import identity

    load, spread, horizon, m = sympy.symbols("L a T m", positive=True)  # a = d ln(1/q_j)
    y = sympy.exp(-load)
    x = load - spread
    above = y * (sympy.exp(x) - 1 - x)  # >= 0 by the tangent
    pull = (1 - y - y * load + y * spread) - (1 - sympy.exp(-spread))
    total = horizon * (1 - y - y * load) + y * horizon * load + m
    return combine(
        [
            exponential_above_line(Fraction(tangent)),
            _round_robin_against(discount),
            identity(pull, above, "slack of one pull"),
            identity(total, horizon * (1 - y) + m, "sum over the pulls"),
            # 1 - y - yL = y (e^L - 1 - L) >= 0, so counting all T steps as repeated pulls is safe
            identity(1 - y - y * load, y * (sympy.exp(load) - 1 - load), "price of a pull"),
        ],
        "each pull pays at most its tangent; the sum over pulls is T(1-y) + m, for any schedule",
    )


@opt_upper_bound.check(
    method="symbolic", scope="general", part="exponential", false={"exponent": "0.99"}
)
def logarithm_of_the_odds(exponent: str) -> Finding:
    """1/q_j = 1 + rho_j <= e^(rho_j), so the product of the q_j is at least e^-rho.

    Judged is the factor k of the exponent -k rho: 1 + rho_j <= e^(k rho_j) is e^x >= 1 + x/k.
    """
    import sympy

    from checks.methods.symbolic import identity

    mu = sympy.symbols("mu", positive=True)
    line = exponential_above_line(1 / Fraction(exponent))
    steps = [identity(1 / (1 - mu), 1 + mu / (1 - mu), "1/q = 1 + odds"), line]
    return combine(steps, "1/q_j = 1 + rho_j <= e^(rho_j)")


@opt_upper_bound.check(method="exact", scope="instances", part="product", false={"discount": "0.3"})
def every_short_schedule(discount: str) -> Finding:
    """Every schedule of the arms 1/2, 1/10, 3/10 up to length 9, in rationals.

    The m first pulls hide a small discount on so short a horizon: the false one is 0.3.
    """
    from itertools import product

    from simlib.recharge.exact import evaluate_schedule
    from simlib.recharge.formulas import INSTANCES, optimum_upper_bound

    rates, count, largest = INSTANCES["I3"], 0, Fraction(0)
    bound = optimum_upper_bound(rates) - Fraction(discount)
    for steps in range(1, 10):
        for actions in product(range(3), repeat=steps):
            count += 1
            excess = evaluate_schedule(rates, actions).utility - steps * bound
            largest = max(largest, excess)
            if excess > 3:
                return refuted(f"schedule {actions} earns {float(excess):.4f} > 3 above T times it")
    margin = f"largest excess {float(largest):.4f} of 3"
    return proved(f"{count} schedules", margin=margin, largest_excess=exact(largest))


# ----------------------------------------------------------------------------------------------

opt_certificate = Claim(
    "recharge.opt_certificate",
    title="A Bellman inequality on capped ages proves what no schedule can exceed",
    source=Source(SOURCE, "Section 3.2", provenance="ours"),
    statement=r"""
Cap the age of arm $j$ at $D_j$, let $\bar r_j(d)=1-q_j^d$ below the cap and $<<cap_reward>>$ at it. If a
function $\varphi$ on capped states satisfies $\bar r_a(s_a)+\varphi(s')-\varphi(s)\le g$ for every
capped state $s$ reachable from "all capped" and every arm $a$ (leading to $s'$), then every policy
and every $T$ have $\mathbb E\,U_T\le gT+\max\varphi-\min\varphi$. If a cycle with all gaps below the
caps has mean $g$, then $\mathrm{OPT}=g$. For the rates $1/2,1/10,3/10$ with caps $(4,20,6)$ this holds
with $g=<<gain>>$ and span $<<span>>$, along the <<schedule>> schedule; of the policies that differ from
the certificate's in one state, $<<rejected>>$ are rejected.
""",
    claimed={
        "gain": "67252215599/100000000000",
        "span": "134098695697/100000000000",
        "cap_reward": "1",
        "schedule": "optimal",
        "rejected": "316",
    },
    rests_on=["recharge.age_state"],
    parts={"theorem": "the inequality bounds every policy", "instance": "the certificate of I3"},
)


@opt_certificate.check(method="smt", scope="general", part="theorem", false={"cap_reward": "1-q^D"})
def capping_and_telescoping(cap_reward: str) -> Finding:
    """Capping commutes with ageing, overestimates the reward, and the inequality telescopes, by z3.

    With the reward 1-q^D at the cap an older arm would pay more than it is credited with, and the
    inequality would bound nothing.
    """
    import z3

    from checks.methods.smt import implies

    age, cap = z3.Ints("d D")

    def capped(d):
        return z3.If(d < cap, d, cap)

    # p = q^d at the true age, p_cap = q^D; powers fall with the age
    power, at_cap, reward, bar = z3.Reals("p p_cap reward bar")
    credited = 1 if one_of("cap_reward", cap_reward, "1", "1-q^D") == "1" else 1 - at_cap
    phi, after, g, bound, total = z3.Reals("phi phi_after g bound U")
    return combine(
        [
            implies([age >= 1, cap >= 1], capped(age + 1) == capped(capped(age) + 1), "capping"),
            implies(
                [power >= 0, power <= at_cap, at_cap < 1, reward == 1 - power, bar == credited],
                reward <= bar,
                "the reward at or beyond the cap is not underestimated",
            ),
            implies(
                [total <= bound - phi, reward <= bar, bar + after - phi <= g],
                total + reward <= bound + g - after,
                "one step of the sum",
            ),
        ],
        "capping commutes with ageing; the reward is overestimated; U + phi grows by at most g a step",
    )


@opt_certificate.check(
    method="exact",
    scope="general",
    part="instance",
    false=[
        {"gain": "67252215600/100000000000"},
        {"span": "134098695698/100000000000"},
        {"gain": "534943279/800000000", "schedule": "greedy"},
    ],
)
def certificate_of_three_servers(gain: str, span: str, schedule: str) -> Finding:
    """The stored certificate of I3, in rationals: cycle, states, relative values, inequality, span.

    Greedy's schedule attains the false gain with gaps below its caps, and everything but the Bellman
    inequality: only that can reject it, and it must be what rejects it.
    """
    from dataclasses import replace

    from simlib.recharge.formulas import INSTANCES
    from simlib.recharge.optimum import certificates, check_certificate

    rates = INSTANCES["I3"]
    if one_of("schedule", schedule, "optimal", "greedy") == "greedy":
        result = check_certificate(_certificate_of_greedy(rates, Fraction(gain)))
        text = f"greedy: {result.failed_step}: {result.detail}"
        return refuted(text) if result.failed_step == "Bellman inequality" else undecided(text)
    certificate = replace(certificates()["I3"], gain=Fraction(gain), span=Fraction(span))
    if (certificate.rates, certificate.caps) != (rates, (4, 20, 6)):
        return undecided("the stored certificate is one for other rates or caps")
    result = check_certificate(certificate)
    text = f"{result.failed_step}: {result.detail}" if result.failed_step else ""
    found = f"{result.states} states, the inequality holds at each state and arm"
    return decide(result.valid, found, text, gain=exact(gain), span=exact(span))


def _certificate_of_greedy(rates, gain: Fraction):
    """What greedy would have to show: its cycle, caps above its gaps, its choice at each state."""
    from simlib.recharge.optimum import Certificate

    actions, start = _greedy(rates, 3000)
    cycle = tuple(actions[start:])
    gaps = [
        next(k for k in range(1, len(cycle) + 1) if cycle[t - k] == arm)
        for t, arm in enumerate(cycle)
    ]
    caps = tuple(
        1 + max(gap for gap, other in zip(gaps, cycle, strict=True) if other == arm)
        for arm in range(len(rates))
    )
    states, choices = [caps], []
    for (
        ages
    ) in states:  # breadth-first from "all capped", arms in order, as a certificate counts them
        pays = [
            Fraction(1) if age == cap else 1 - (1 - rate) ** age
            for rate, age, cap in zip(rates, ages, caps, strict=True)
        ]
        choices.append(pays.index(max(pays)))
        for arm in range(len(rates)):
            after = tuple(
                1 if other == arm else min(age + 1, cap)
                for other, (age, cap) in enumerate(zip(ages, caps, strict=True))
            )
            if after not in states:
                states.append(after)
    return Certificate(rates, caps, gain, cycle, "".join(map(str, choices)), Fraction(0))


@opt_certificate.check(method="exact", scope="general", part="instance", false={"rejected": "317"})
def corrupted_certificates(rejected: str) -> Finding:
    """Change each digit of I3's policy to each other arm and count what the verification rejects.

    What is accepted proves the same gain with the same span, so it is another optimal policy. The
    Bellman inequality itself must reject many of them.
    """
    from collections import Counter
    from dataclasses import replace

    from simlib.recharge.optimum import certificates, check_certificate

    original = certificates()["I3"]
    steps = Counter()
    for place, digit in enumerate(original.policy):
        for other in set("012") - {digit}:
            policy = original.policy[:place] + other + original.policy[place + 1 :]
            steps[check_certificate(replace(original, policy=policy)).failed_step] += 1
    wrong_rate = replace(original, rates=(Fraction(1, 2), Fraction(1, 10), Fraction(31, 100)))
    if check_certificate(wrong_rate):
        return refuted("the certificate is accepted for the rate 31/100 instead of 3/10")
    accepted = steps.pop(None, 0)
    count, bellman = sum(steps.values()), steps["Bellman inequality"]
    text = f"{count} rejected, {bellman} of them by the inequality; {accepted} are optimal too"
    if not bellman:
        return undecided(f"no policy fails the Bellman inequality: {text}")
    return decide(count == int(rejected), text, text, rejected=exact(count))


# ----------------------------------------------------------------------------------------------

OPTIMA = {  # name of the instance -> number of the claim
    "I3": "three",
    "half, quarter": "half_quarter",
    "half, tenth": "half_tenth",
    "half, third, quarter": "half_third_quarter",
    "fifth, tenth, twentieth": "fifth_tenth_twentieth",
    "four arms": "four",
    "three of 3/10": "three_of_3_10",
    "three of 1/2": "three_of_1_2",
    "two of 1/2": "two_of_1_2",
}

opt_exact_small = Claim(
    "recharge.opt_exact_small",
    title="The optimum of eleven small instances, exactly",
    kind="proposition",
    source=Source(SOURCE, "Section 3.2", provenance="ours"),
    statement=r"""
$\mathrm{OPT}$ is $<<three>>$ for rates $1/2,1/10,3/10$; $<<half_quarter>>$ for $1/2,1/4$;
$<<half_tenth>>$ for $1/2,1/10$; $<<half_third_quarter>>$ for $1/2,1/3,1/4$;
$<<fifth_tenth_twentieth>>$ for $1/5,1/10,1/20$; $<<four>>$ for $2/5,3/10,1/5,1/10$;
$<<three_of_3_10>>$ and $<<three_of_1_2>>$ for three arms of rate $3/10$ and $1/2$;
$<<two_of_1_2>>$ for two of rate $1/2$; and, both rational and cut off, $<<fast_slow>>...$ for
$9/10,1/20$ and $<<fast_half_tenth>>...$ for $9/10,1/2,1/10$. For the seven rates
$0.5, 0.33, 0.33, 0.33, 0.25, 0.25, 0.1$ it lies
between $<<seven_low>>$ and $<<seven_high>>$.
""",
    claimed={
        "three": "67252215599/100000000000",
        "half_quarter": "39/64",
        "half_tenth": "1620859837/3000000000",
        "half_third_quarter": "61919/82944",
        "fifth_tenth_twentieth": "2811600261/8960000000",
        "four": "69014775599/100000000000",
        "three_of_3_10": "657/1000",
        "three_of_1_2": "7/8",
        "two_of_1_2": "3/4",
        "fast_slow": "0.9023988366",
        "fast_half_tenth": "0.9367916155",
        "seven_low": "0.921515",
        "seven_high": "0.923870",
    },
    rests_on=["recharge.opt_certificate", "recharge.opt_upper_bound"],
)


TRUNCATED = {"fast, slow": "fast_slow", "fast, half, tenth": "fast_half_tenth"}  # long rationals


@cache
def _verified(name: str):
    """A stored certificate and what its verification in rationals says (independent of the claim)."""
    from simlib.recharge.optimum import certificates, check_certificate

    certificate = certificates()[name]
    return certificate, check_certificate(certificate)


@opt_exact_small.check(
    method="exact",
    scope="general",
    false=[
        {"three": "67252215600/100000000000"},
        {"four": "69014775600/100000000000"},
        {"half_quarter": "5/8"},
        {"half_tenth": "1620859838/3000000000"},
        {"half_third_quarter": "61920/82944"},
        {"fifth_tenth_twentieth": "2811600262/8960000000"},
        {"three_of_3_10": "658/1000"},
        {"three_of_1_2": "6/7"},
        {"two_of_1_2": "2/3"},
        {"fast_slow": "0.9023988367"},
        {"fast_half_tenth": "0.9367916156"},
        {"seven_low": "0.921516"},
        {"seven_high": "0.923869"},
    ],
    reads=tuple(opt_exact_small.claimed),
)
def certificates_and_cycles(**numbers: str) -> Finding:
    """Eleven certificates, verified in rationals at every capped state; a bracket for the twelfth.

    Lower end: exact mean of the stored cycle. Upper end: the Bellman inequality; for seven arms the
    product bound. Decimals are truncated, so the digits shown are those of the exact value.
    """
    from simlib.recharge.formulas import INSTANCES, optimum_upper_bound
    from simlib.recharge.optimum import I7_CYCLE, cycle_value

    found, states = [], 0
    for name, key in (OPTIMA | TRUNCATED).items():
        (certificate, result), claimed = _verified(name), numbers[key]
        gain, states = certificate.gain, states + result.states
        if not result.valid or certificate.rates != INSTANCES[name]:
            return refuted(f"the certificate of {name} fails: {result.detail}")
        digits = len(claimed) - 2
        same = (
            truncated(gain, digits) == claimed if name in TRUNCATED else gain == Fraction(claimed)
        )
        wrong = f"{name}: OPT = {exact(gain)}, not {claimed}"
        found.append(decide(same, "", wrong, **{f"OPT({name})": exact(gain)}))
    low, high = cycle_value(INSTANCES["I7"], I7_CYCLE), optimum_upper_bound(INSTANCES["I7"])
    kept = {"OPT(I7) at least": exact(low), "OPT(I7) at most": exact(high)}
    for truth, text in (
        (low >= Fraction(numbers["seven_low"]), f"the cycle of I7 earns {truncated(low, 8)}..."),
        (high <= Fraction(numbers["seven_high"]), f"the bound of I7 is {truncated(high, 8)}..."),
    ):
        found.append(decide(truth, "", text, **kept))
    return combine(found, f"11 certificates hold at each of {states} states; I7 is bracketed")


# ----------------------------------------------------------------------------------------------

identical_arms = Claim(
    "recharge.identical_arms",
    title="On identical arms round robin is optimal and greedy becomes a round robin",
    kind="proposition",
    source=Source(SOURCE, "after Lemma 3.6"),
    statement=r"""
For $m$ arms of <<rates>>, pulling them in turn earns $\frac1m\sum_j\bigl(1-(1-\mu_j)^m\bigr)$ a step,
and this is $1-\prod_j(1-\mu_j)=\mathrm{OPT}$. The greedy schedule, which pulls an arm of highest
expected reward (ties broken in any way), is a round robin once every arm has been pulled.
""",
    claimed={"rates": "one common rate"},
    rests_on=["recharge.opt_upper_bound"],
    uncovered="that greedy takes the arm of age m, because the reward grows with the age",
)

ANY_RATES = {"rates": "any rates"}


@identical_arms.check(method="symbolic", scope="general", false=ANY_RATES)
def every_gap_is_m(rates: str) -> Finding:
    """In turn, every gap is m, and 1-(1-mu)^m is the product bound; greedy pulls the oldest arm.

    The reward grows with the age, so greedy takes the oldest arm; with the ages 1..m it takes age m,
    the others grow by one, and the ages are 1..m again, in the rotated order: a round robin for ever.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    if one_of("rates", rates, "one common rate", "any rates") == "any rates":
        return _round_robin_of_three()
    mu = sympy.symbols("mu", positive=True)
    m, d, k = sympy.symbols("m d k", integer=True, positive=True)
    q = 1 - mu
    bound = 1 - sympy.Product(q, (k, 1, m)).doit()
    older = (1 - q ** (d + 1)) - (1 - q**d)
    age, arms = z3.Ints("k m")
    before = z3.And(
        age >= 2, age <= arms
    )  # an arm of age k-1 that was not pulled, or the pulled one
    rotated = implies(
        [arms >= 1],
        z3.And(age >= 1, age <= arms) == z3.Or(age == 1, before),
        "the ages 1..m are 1..m again",
    )
    return combine(
        [
            identity(1 - q**m, bound, "utility is the bound"),
            identity(older, mu * q**d, "one step of age adds mu q^d > 0"),
            rotated,
        ],
        "utility 1-(1-mu)^m equals the bound for any m; greedy keeps the ages 1..m rotating",
    )


def _round_robin_of_three() -> Finding:
    """On unequal arms round robin stays below the bound, and below the Hamacher sum."""
    from simlib.recharge.formulas import INSTANCES, hamacher_sum, optimum_upper_bound
    from simlib.recharge.optimum import cycle_value

    rates = INSTANCES["I3"]
    value, bound = cycle_value(rates, (0, 1, 2)), optimum_upper_bound(rates)
    text = f"rates 1/2, 1/10, 3/10 in turn earn {value} < {bound}, and less than h"
    return decide(value == bound or value >= hamacher_sum(rates), text, text)


@identical_arms.check(method="exact", scope="instances", false=ANY_RATES)
def certified_identical_arms(rates: str) -> Finding:
    """Certificates of two and three identical arms, and greedy from random ties, in rationals."""
    import random

    from simlib.recharge.optimum import certificates, check_certificate, cycle_value

    if one_of("rates", rates, "one common rate", "any rates") == "any rates":
        return _round_robin_of_three()
    found = []
    for name in ("three of 3/10", "three of 1/2", "two of 1/2"):
        certificate = certificates()[name]
        arms = len(certificate.rates)
        value = cycle_value(certificate.rates, tuple(range(arms)))
        same = value == certificate.gain and bool(check_certificate(certificate))
        found.append(decide(same, "", f"{name}: in turn {value}, OPT {certificate.gain}"))
    draw = random.Random(0)
    for _ in range(200):
        arms = draw.randint(2, 8)
        ages = [draw.randint(1, 30) for _ in range(arms)]
        order = []
        for _ in range(3 * arms):
            oldest = max(ages)
            arm = draw.choice([j for j, age in enumerate(ages) if age == oldest])
            ages = [1 if j == arm else age + 1 for j, age in enumerate(ages)]
            order.append(arm)
        turns = order[arms:]
        rotates = all(turns[t] == turns[t - arms] for t in range(arms, len(turns)))
        found.append(decide(rotates, "", f"greedy from ages pulled {order}"))
    return combine(found, "3 certificates; 200 greedy runs with random ages and ties rotate")


# ----------------------------------------------------------------------------------------------

greedy_no_regret = Claim(
    "recharge.greedy_no_regret",
    title="Greedy with known rates has no regret, so it is competitive; it is not optimal",
    kind="proposition",
    source=Source(SOURCE, "end of Section 3"),
    statement=r"""
The schedule that pulls at each step the arm with the <<rule>> has
$R_{T,j}\le0$ for every arm and every $T$. Hence it earns at least $hT$ and is at least
$c^*$-competitive. On the rates $1/2,1/10,3/10$ its long-run utility is <<utility>>.
""",
    claimed={"rule": "highest expected reward", "utility": "below OPT"},
    rests_on=["recharge.hamacher_lower_bound", "recharge.competitive_ratio"],
    parts={"regret": "no arm is better in hindsight", "suboptimal": "its value on I3"},
)

OPTIMAL = {"utility": "equal to OPT"}
OLDEST = {"rule": "oldest attempt"}
RULES = ("highest expected reward", "oldest attempt")


def _greedy(rates, steps: int, rule: str = RULES[0]):
    """Schedule by a rule, with ties to the lowest index, and the step at which its ages recur."""
    q = [1 - rate for rate in rates]
    ages: list = [None] * len(rates)
    seen, actions = {}, []
    for t in range(steps):
        if None not in ages:
            if tuple(ages) in seen:
                return actions, seen[tuple(ages)]
            seen[tuple(ages)] = t
        pays = [Fraction(1) if d is None else 1 - q[j] ** d for j, d in enumerate(ages)]
        if one_of("rule", rule, *RULES) == "oldest attempt":
            pays = [steps if d is None else d for d in ages]
        arm = pays.index(max(pays))
        actions.append(arm)
        ages = [1 if j == arm else d and d + 1 for j, d in enumerate(ages)]
    return actions, None


@greedy_no_regret.check(method="smt", scope="general", part="regret", false=OLDEST)
def best_at_each_step(rule: str) -> Finding:
    """A step that pays at least as much as every arm keeps every regret at most 0, by z3.

    With R <= 0 before and u(j) <= u(a) now, the regret R + u(j) - u(a) is at most 0: induction on T.
    Pulling the oldest arm gives no such u(a).
    """
    import z3

    from checks.methods.smt import implies

    regret, other, best = z3.Reals("R u_j u_a")
    known = [regret <= 0, other >= 0, other <= 1, best >= 0, best <= 1]
    if one_of("rule", rule, *RULES) == "highest expected reward":
        known.append(other <= best)
    return implies(known, regret + other - best <= 0, "R + u(j) - u(a) <= 0 from R <= 0")


@greedy_no_regret.check(method="exact", scope="general", part="suboptimal", false=OPTIMAL)
def greedy_cycle(utility: str) -> Finding:
    """The cycle into which greedy falls on 1/2, 1/10, 3/10, valued in rationals, against OPT."""
    from simlib.recharge.formulas import INSTANCES
    from simlib.recharge.optimum import certificates, cycle_value

    rates = INSTANCES["I3"]
    actions, start = _greedy(rates, 3000)
    if start is None:
        return undecided("no recurrence of the ages within 3000 steps")
    cycle = tuple(actions[start:])
    value, optimum = cycle_value(rates, cycle), certificates()["I3"].gain
    text = f"greedy's cycle of length {len(cycle)} earns {truncated(value, 8)}..., OPT is {optimum}"
    below = one_of("utility", utility, "below OPT", "equal to OPT") == "below OPT"
    right = value < optimum if below else value == optimum
    margin = f"{float(optimum - value):.6f} below OPT"
    return decide(right, text, text, margin=margin, greedy=exact(value))


@greedy_no_regret.check(method="exact", scope="instances", part="regret", false=OLDEST)
def regret_of_greedy(rule: str) -> Finding:
    """Regret of greedy against every arm after each of 200 steps, in rationals, on I3 and I7."""
    from simlib.recharge.exact import evaluate_schedule
    from simlib.recharge.formulas import INSTANCES

    worst = None
    for name in ("I3", "I7"):
        actions, start = _greedy(INSTANCES[name], 200, rule)
        while start is not None and len(actions) < 200:
            actions += actions[start:]
        for steps in range(1, len(actions) + 1, 1 if name == "I3" else 20):
            value = evaluate_schedule(INSTANCES[name], actions[:steps])
            if value.regret > 0:
                return refuted(f"{name}, {steps} steps: regret {float(value.regret):.4f} > 0")
            worst = value.regret if worst is None else max(worst, value.regret)
    return proved(
        "regret at most 0 at each step looked at", margin=f"largest regret {float(worst):.4f}"
    )
