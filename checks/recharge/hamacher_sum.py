"""Why every no-regret learner earns the Hamacher sum, and which router earns exactly that."""

from fractions import Fraction
from itertools import product

from checks.claim import Claim, Source
from checks.finding import Finding, combine, decide, exact, one_of, proved, refuted, undecided
from checks.recharge.instances import I3, SOURCE

ENUMERATED = (I3, ("2/3", "1/4", "1/7"))
COUNTED = "schedules enumerated"
LENGTH = 8  # every schedule of three arms up to this length: 9,840 for each rate vector


def _schedules(arms: int, length: int):
    """Every schedule of the arms, of every length from 1 to ``length``."""
    for steps in range(1, length + 1):
        yield from product(range(arms), repeat=steps)


# ----------------------------------------------------------------------------------------------

age_state = Claim(
    "recharge.age_state",
    title="A server accepts with a probability set by the time since the last attempt",
    kind="lemma",
    source=Source(SOURCE, "Section 2.2"),
    statement=r"""
Consider one queue in front of $m$ servers with one-packet buffers and service rates
$\mu\in(0,1)^m$, $q_j=1-\mu_j$; in a step the packet is sent, accepted if the buffer is empty, and then
every full buffer empties with probability $\mu_j$. Let $d\ge1$ be the number of steps since <<reset>>
on server $j$. Given all past actions, answers and arrivals, a packet sent to $j$ now is accepted with
probability $1-q_j^{\,d}$. So past answers say nothing about future ones, and an optimal policy is a
deterministic schedule.
""",
    claimed={"reset": "the last attempt"},
    uncovered="that buffers are independent given the past (a step touches one and serves each on its "
    "own), and that a schedule is as good as any policy (a policy is an average over schedules)",
)

RESETS = ("the last attempt", "the last accepted attempt")


@age_state.check(method="symbolic", scope="general", false={"reset": "the last accepted attempt"})
def bayes_filter(reset: str) -> Finding:
    """Bayes' rule for one buffer, with symbolic rate and belief, then induction on the age.

    The state is the probability b that the buffer is full just before a packet may be accepted. The
    buffers are independent given the past, because a step touches one of them and serves each on its
    own; so one buffer is all there is to look at.
    """
    import sympy

    from checks.methods.symbolic import identity

    one_of("reset", reset, *RESETS)
    mu, b = sympy.symbols("mu b", positive=True)
    d = sympy.symbols("d", integer=True, positive=True)
    q = 1 - mu
    full_after = {
        "accepted": sympy.Integer(1),  # it was empty and now holds the packet
        "rejected": sympy.cancel(b * 1 / (b * 1 + (1 - b) * 0)),  # Bayes: only a full one rejects
    }
    facts = [
        identity(full_after["accepted"], sympy.Integer(1), "full after an accepted attempt"),
        identity(full_after["rejected"], sympy.Integer(1), "full after a rejected attempt"),
        identity(1 - q * 1, 1 - q**1, "age 1"),
        identity(1 - q * q**d, 1 - q ** (d + 1), "one more step"),
    ]
    if reset == "the last accepted attempt":
        # an attempt accepted at age 0 and rejected at age 1: the age would be 2 a step later
        claimed, actual = 1 - q**2, 1 - q * full_after["rejected"]
        at = [{mu: sympy.Rational(1, 2)}]
        return identity(actual, claimed, "acceptance one step after a rejection", at=at)
    return combine(facts, "full before serve after any attempt; then 1 - q^d by induction on d")


@age_state.check(method="exact", scope="instances", false={"reset": "the last accepted attempt"})
def every_history(reset: str) -> Finding:
    """Explicit buffers, two servers of rates 1/3 and 3/4: all schedules of six steps, all answers.

    The law of the buffers given the answers is filtered in rationals; ages play no part in it.
    """
    from simlib.recharge.exact import acceptance_given_history

    one_of("reset", reset, *RESETS)
    rates, cells = (Fraction(1, 3), Fraction(3, 4)), 0
    for actions in product(range(2), repeat=6):
        for cell in acceptance_given_history(rates, actions):
            cells += 1
            q = 1 - rates[cell.arm]
            age = cell.age
            if reset == "the last accepted attempt":
                taken = [
                    step
                    for step, answer in enumerate(cell.history)
                    if answer and actions[step] == cell.arm
                ]
                age = len(cell.history) - taken[-1] if taken else len(cell.history) + 1
            if cell.acceptance != 1 - q**age:
                return refuted(
                    f"sent {list(actions[: len(cell.history)])}, answered {list(cell.history)}, now "
                    f"to {cell.arm}: accepted with {cell.acceptance}, not {1 - q**age}"
                )
    return proved(f"{cells} histories, all equal 1 - q^d", **{"histories enumerated": exact(cells)})


# ----------------------------------------------------------------------------------------------

per_arm_identity = Claim(
    "recharge.per_arm_identity",
    title="What an arm would have paid equals the horizon minus what it paid over its odds",
    kind="lemma",
    source=Source(SOURCE, "proof of Theorem 3.1", provenance="reconstructed"),
    statement=r"""
For every sequence of actions $a_1,\dots,a_T$, every arm $j$ of rate $\mu\in(0,1)$ and $q=1-\mu$,
with $u_t(j)$ the probability that a pull of $j$ at step $t$ is rewarded given the actions before $t$
(1 before the first pull), $U_{T,j}=\sum_{t:a_t=j}u_t(j)$, and $L_j$ the number of steps after the last
pull of $j$,
$$\sum_{t=1}^{T}u_t(j)=T-\frac{1-\mu}{\mu}\Bigl(U_{T,j}-q^{L_j}\mathbf 1\{j\text{ was pulled}\}\Bigr).$$
""",
    claimed={"factor": "(1-mu)/mu"},
    meaning={"factor": "what multiplies the reward collected"},
    rests_on=["recharge.age_state"],
)


@per_arm_identity.check(method="symbolic", scope="general", false={"factor": "1/mu"})
def induction_on_the_schedule(factor: str) -> Finding:
    """Induction on the length of the schedule, with symbolic rate and age.

    The identity holds before anything is pulled, is created by the first pull, and is kept by each
    later step, whether the arm (last pulled a steps ago) is left alone or pulled.
    """
    import sympy

    from checks.methods.symbolic import identity

    mu, x = sympy.symbols("mu q^L", positive=True)
    q, k = 1 - mu, sympy.sympify(factor, locals={"mu": mu})
    pays = 1 - q * x
    at = [{mu: sympy.Rational(1, 2), x: 1}]
    # change of the left side = change of T - factor * (U - q^L)
    return combine(
        [
            identity(sympy.Integer(1), 1 - k * (1 - q**0), "first pull", at=at),
            identity(pays, 1 - k * (0 - q * x + x), "arm left alone", at=at),
            identity(pays, 1 - k * (pays - 1 + x), "arm pulled", at=at),
        ],
        "kept by the first pull, by a step without and by a step with a pull, for all mu and ages",
    )


@per_arm_identity.check(method="exact", scope="instances", false={"factor": "1/mu"})
def all_short_schedules_per_arm(factor: str) -> Finding:
    """Every schedule of three arms up to length 8, in rationals, for two rate vectors.

    The left side is the literal sum over the steps, the right side uses the rewards collected.
    """
    from simlib.recharge.exact import evaluate_schedule

    one_of("factor", factor, "(1-mu)/mu", "1/mu")
    count = 0
    for rates in ENUMERATED:
        for actions in _schedules(len(rates), LENGTH):
            value = evaluate_schedule(rates, actions)
            count += 1
            for arm, rate in enumerate(map(Fraction, rates)):
                tail = value.tails[arm]
                boundary = 0 if tail is None else (1 - rate) ** tail
                collected = value.utility_by_arm[arm] - boundary
                k = {"(1-mu)/mu": (1 - rate) / rate, "1/mu": 1 / rate}[factor]
                if value.hindsight[arm] != value.steps - k * collected:
                    return refuted(
                        f"rates {', '.join(rates)}, schedule {list(actions)}, arm {arm}: "
                        f"{value.hindsight[arm]} against {value.steps - k * collected}"
                    )
    return proved(f"{count} schedules, equality each time", **{COUNTED: exact(count)})


# ----------------------------------------------------------------------------------------------

utility_identity = Claim(
    "recharge.utility_identity",
    title="Utility is the Hamacher sum times one minus the odds-weighted regret",
    source=Source(SOURCE, "Theorem 3.1", provenance="ours"),
    statement=r"""
For every horizon $T$, every sequence of actions and all rates $\mu\in(0,1)^m$, with odds
$\rho_j=\mu_j/(1-\mu_j)$, $\rho=\sum_j\rho_j$, utility $U_T=\sum_jU_{T,j}$ and regrets
$R_{T,j}=\sum_tu_t(j)-U_T$,
$$(1+\rho)\,U_T=\rho\,T-\sum_j\rho_jR_{T,j}+\sum_{j\text{ pulled}}q_j^{L_j},$$
where $L_j$ is the number of steps after the last pull of $j$. With $h=\rho/(1+\rho)$ and
$\pi_j=\rho_j/\rho$ this reads
$$\frac{U_T}{T}=h\Bigl(1-\sum_j\pi_j\frac{R_{T,j}}{T}\Bigr)
+\frac{1}{(1+\rho)\,T}\sum_{j\text{ pulled}}q_j^{L_j}.$$
""",
    claimed={"weights": "the odds of arm j"},
    meaning={"weights": "what weighs the regret against arm j"},
    rests_on=["recharge.per_arm_identity"],
)

UNIFORM_WEIGHTS = {"weights": "the mean odds"}


def _sides(rates: tuple[str, ...], actions: tuple[int, ...], weights: str):
    """Both sides of the identity on one schedule, in rationals."""
    from simlib.recharge.exact import evaluate_schedule
    from simlib.recharge.formulas import odds

    one_of("weights", weights, "the odds of arm j", "the mean odds")
    value = evaluate_schedule(rates, actions)
    each = odds([Fraction(rate) for rate in rates])
    rho = sum(each)
    weight = each if weights == "the odds of arm j" else [rho / len(each)] * len(each)
    regrets = sum(w * regret for w, regret in zip(weight, value.regrets, strict=True))
    boundary = sum(
        (1 - Fraction(rate)) ** tail
        for rate, tail in zip(rates, value.tails, strict=True)
        if tail is not None
    )
    return (1 + rho) * value.utility, rho * value.steps - regrets + boundary


@utility_identity.check(method="symbolic", scope="general", false=UNIFORM_WEIGHTS)
def sum_over_arms(weights: str) -> Finding:
    """Multiply the identity of each arm by its weight and add, with a symbolic number of arms.

    Sums over arms stay symbolic, so one cancellation serves every number of arms. Weights that leave
    something are refuted by two arms, in rationals.
    """
    import sympy
    from sympy import IndexedBase, Sum, factor_terms

    j, m = sympy.symbols("j m", integer=True, positive=True)
    horizon, utility = sympy.symbols("T U", positive=True)
    rho, u, b = IndexedBase("rho"), IndexedBase("u"), IndexedBase("b")

    def over_arms(term):
        return factor_terms(Sum(sympy.expand(term), (j, 1, m)).expand())

    odds, boundary = over_arms(rho[j]), over_arms(b[j])
    mean = one_of("weights", weights, "the odds of arm j", "the mean odds") == "the mean odds"
    weight = sympy.Symbol("w", positive=True) if mean else rho[j]  # the mean is no function of j
    # the regret against arm j is T - (u_j - b_j)/rho_j - U
    weighted_regret = over_arms(weight * (horizon - (u[j] - b[j]) / rho[j] - utility))
    difference = (1 + odds) * utility - (odds * horizon - weighted_regret + boundary)
    rest = sympy.expand(sympy.expand(difference).subs(over_arms(u[j]), utility))
    if rest == 0:
        return proved("the sum over arms of odds times the per-arm identity is this, for any m")
    left, right = _sides(("1/2", "3/4"), (0, 0), weights)
    if left == right:
        return undecided(f"the sum over arms leaves {rest}")
    return refuted(f"rates 1/2 and 3/4, arm 0 twice: {left} against {right}")


@utility_identity.check(method="exact", scope="instances", false=UNIFORM_WEIGHTS)
def all_short_schedules(weights: str) -> Finding:
    """Every schedule of three arms up to length 8, in rationals, for two rate vectors.

    Hindsight values are literal sums over the steps, never computed from the identity.
    """
    count = 0
    for rates in ENUMERATED:
        for actions in _schedules(len(rates), LENGTH):
            left, right = _sides(rates, actions, weights)
            count += 1
            if left != right:
                return refuted(f"rates {', '.join(rates)}, {list(actions)}: {left} against {right}")
    return proved(f"{count} schedules, equality each time", **{COUNTED: exact(count)})


@utility_identity.check(method="exact", scope="instances", false=UNIFORM_WEIGHTS)
def simulated_schedules(weights: str) -> Finding:
    """The first 200 steps of nine simulated learners, read off the simulator and valued in rationals.

    The simulator's own utility and hindsight values must agree with the exact ones to 1e-9. Each longer
    run of the shared evidence is held to the identity, up to rounding, when it is simulated.
    """
    import numpy as np

    from checks.recharge.evidence import LEARNERS, simulated_schedule
    from simlib.recharge.exact import evaluate_schedule

    for name in LEARNERS:
        actions, run = simulated_schedule(name, "I3", 200)
        left, right = _sides(I3, actions, weights)
        if left != right:
            return refuted(f"{name}, 200 steps: {float(left):.4f} against {float(right):.4f}")
        value = evaluate_schedule(I3, actions)
        apart = np.abs(np.array(value.hindsight, dtype=float) - run.hindsight).max()
        apart = max(apart, abs(float(value.utility) - run.utility.sum()))
        if not apart < 1e-9:
            return refuted(f"{name}: the simulator is {apart:.2g} off the exact value")
    return proved(f"{len(LEARNERS)} schedules, equality each time")


# ----------------------------------------------------------------------------------------------

hamacher_lower_bound = Claim(
    "recharge.hamacher_lower_bound",
    title="Every no-regret learner earns at least the Hamacher sum of the rates",
    source=Source(SOURCE, "Theorem 3.1", provenance="reconstructed"),
    statement=r"""
For all rates $\mu\in(0,1)^m$ with Hamacher sum $h=\rho/(1+\rho)$, every horizon $T$ and **every**
sequence of actions, with regret $R_T=\max_jR_{T,j}$ in conditional expected utilities,
$$U_T\ \ge\ h\,(T-R_T).$$
Hence a learner with no regret in expectation (with high probability, almost surely) has
$\liminf_T\mathbb E[U_T]/T\ge h$ (the same in that sense). For the expectation it is enough that the
expected regret against each single arm is $o(T)$.
""",
    claimed={"factor": "1"},
    meaning={"factor": "what might multiply the bound"},
    rests_on=["recharge.utility_identity"],
    uncovered="the limit: divide by T, take expectations and let T grow (one line, in the chapter)",
)

STRONGER = {"factor": "1.001"}


@hamacher_lower_bound.check(method="symbolic", scope="general", false=STRONGER)
def slack_is_non_negative(factor: str) -> Finding:
    """The slack is an explicit sum of non-negative terms, with a symbolic number of arms.

    (1+rho)(U - h(T-R)) = sum of rho_j (R - R_j) + sum of q_j^L_j; every term is at least 0 because R is
    the largest regret. A factor c leaves (1-c) rho (T-R) besides, which only c <= 1 keeps from being
    negative; a larger one is refuted by one arm, whose utility after T steps is T/2 + 1/2 at rate 1/2.
    """
    import sympy
    from sympy import IndexedBase, Sum, factor_terms

    j, m = sympy.symbols("j m", integer=True, positive=True)
    horizon, worst, c = sympy.symbols("T R c", real=True)
    rho, regret, b = IndexedBase("rho"), IndexedBase("R"), IndexedBase("b")

    def over_arms(term):
        return factor_terms(Sum(term, (j, 1, m)).expand())

    odds = over_arms(rho[j])
    utility = (odds * horizon - over_arms(rho[j] * regret[j]) + over_arms(b[j])) / (1 + odds)
    slack = (1 + odds) * utility - c * odds * (horizon - worst)
    terms = over_arms(rho[j] * (worst - regret[j])) + over_arms(b[j])
    left = sympy.expand(sympy.simplify(slack - terms - (1 - c) * odds * (horizon - worst)))
    if left != 0:
        return refuted(f"the slack differs from the sum of these terms by {left}")
    if Fraction(factor) <= 1:
        return proved("slack = sum rho_j (R - R_j) + sum q_j^L_j, each term at least 0, for any m")
    steps = int(1 / (Fraction(factor) - 1)) + 2
    earned, promised = Fraction(steps + 1, 2), Fraction(factor) * Fraction(steps, 2)
    text = f"one arm of rate 1/2, T = {steps}: U = {float(earned):.4f} < {float(promised):.4f}"
    return refuted(text) if earned < promised else undecided(text)


@hamacher_lower_bound.check(method="smt", scope="instances", false=STRONGER)
def three_arms_by_z3(factor: str) -> Finding:
    """The algebraic core for three arms, by z3: from rho_j U >= rho_j - U_j to U(1+rho) >= rho."""
    import z3

    from checks.methods.smt import implies

    odds, earned = z3.Reals("rho1 rho2 rho3"), z3.Reals("u1 u2 u3")
    utility = sum(earned)
    hypotheses = [r > 0 for r in odds] + [u >= 0 for u in earned]
    hypotheses += [r * utility >= r - u for r, u in zip(odds, earned, strict=True)]
    bound = utility * (1 + sum(odds)) >= z3.RealVal(factor) * sum(odds)
    return implies(hypotheses, bound, "three arms, regrets 0")


@hamacher_lower_bound.check(method="exact", scope="instances", false={"factor": "1.7"})
def no_short_schedule_below(factor: str) -> Finding:
    """Every schedule of three arms up to length 8 earns at least h (T - R), in rationals.

    Short schedules profit from their first pulls, so only a grossly stronger bound fails on them: the
    false factor is 1.7 here.
    """
    from simlib.recharge.exact import evaluate_schedule
    from simlib.recharge.formulas import hamacher_sum

    count, least = 0, None
    for rates in ENUMERATED:
        h = hamacher_sum([Fraction(rate) for rate in rates])
        for actions in _schedules(len(rates), LENGTH):
            value = evaluate_schedule(rates, actions)
            count += 1
            promised = h * (value.steps - value.regret)
            if value.utility < Fraction(factor) * promised:
                text = (
                    f"rates {', '.join(rates)}, {list(actions)}: {float(value.utility):.4f} earned"
                )
                return refuted(f"{text}, {float(Fraction(factor) * promised):.4f} promised")
            least = min(least or value.utility - promised, value.utility - promised)
    margin = f"least slack {float(least):.4f}"
    return proved(f"{count} schedules, none below", margin=margin, **{COUNTED: exact(count)})


# ----------------------------------------------------------------------------------------------

normalized_odds_tight = Claim(
    "recharge.normalized_odds_tight",
    title="Routing with the normalized odds has no regret and earns exactly the Hamacher sum",
    source=Source(SOURCE, "Theorem 3.3"),
    statement=r"""
For all rates $\mu\in(0,1)^m$ with odds $\rho_j=\mu_j/(1-\mu_j)$, $\rho=\sum_j\rho_j$, let a learner
pull arm $j$ with probability proportional to <<weights>>, $\pi_j=\rho_j/\rho$, independently in each
step. With $h=\rho/(1+\rho)$, its utility $U_T$ and the probability $u_t(j)$ that a pull of $j$ at step
$t$ would be rewarded given the past satisfy, for every $T$ and every arm,
$$hT\le\mathbb E\,U_T\le hT+\sum_j\frac{\pi_j}{\mu_j},\qquad
hT\le\mathbb E\sum_{t\le T}u_t(j)\le hT+\frac1{\mu_j}.$$
So the learner earns $h$ a step in the long run, each fixed arm has that same value in hindsight, and
the expected regret against each arm stays bounded.
""",
    claimed={"weights": "its odds"},
    rests_on=["recharge.age_state"],
    uncovered="regret against the best arm in hindsight (the maximum inside the expectation, almost "
    "surely, with high probability): law of large numbers for a finite chain",
)

BY_RATE = {"weights": "its rate"}


def _router(rates: tuple[str, ...], weights: str) -> list[Fraction]:
    """Probabilities proportional to the odds or to the rates."""
    each = [Fraction(rate) for rate in rates]
    if one_of("weights", weights, "its odds", "its rate") == "its odds":
        each = [mu / (1 - mu) for mu in each]
    return [x / sum(each) for x in each]


@normalized_odds_tight.check(method="symbolic", scope="general", false=BY_RATE)
def expected_availability(weights: str) -> Finding:
    """The expected availability of each arm at each step, for symbolic rates and probabilities.

    A pull with probability p makes the chance that the buffer is full obey b' = q (p + (1-p) b); its
    fixed point leaves the availability rho/(rho+p), which is h exactly when p is the odds over rho.
    """
    import sympy

    from checks.methods.symbolic import identity

    one_of("weights", weights, "its odds", "its rate")
    mu, p, total = sympy.symbols("mu p rho", positive=True)
    t = sympy.symbols("t", integer=True, nonnegative=True)
    q, odds = 1 - mu, mu / (1 - mu)
    fixed, decay = q * p / (1 - q * (1 - p)), q * (1 - p)
    full = fixed * (1 - decay**t)  # empty buffers at the start
    share = odds / total if weights == "its odds" else mu / total
    h = total / (1 + total)
    at = [{mu: sympy.Rational(1, 2), total: sympy.Rational(97, 63)}]
    if weights != "its odds":
        at = [{mu: sympy.Rational(1, 2), total: sympy.Rational(9, 10)}]
        h = sympy.Rational(97, 160)  # of the rates 1/2, 1/10, 3/10, which add up to 9/10
    steps = [
        identity(q * (p + (1 - p) * full), fixed * (1 - decay ** (t + 1)), "one step"),
        identity(1 - fixed, odds / (odds + p), "availability in the long run"),
        identity((1 - fixed).subs(p, share), h, "availability under this router", at=at),
        identity(fixed / (1 - decay), p * q / (1 - q * (1 - p)) ** 2, "excess at the start"),
        # excess <= 1/mu: 1 - q(1-p) = mu + q p, and (mu + q p)^2 - mu p q is a sum of positive terms
        identity(
            (mu + q * p) ** 2 - mu * p * q,
            mu**2 + mu * p * q + (p * q) ** 2,
            "excess below 1/mu",
        ),
    ]
    text = "available with rho/(rho+p) + (full share) (q(1-p))^t, equal to h in the long run"
    return combine(steps, text)


@normalized_odds_tight.check(method="exact", scope="instances", false=BY_RATE)
def saturated_chain_in_rationals(weights: str) -> Finding:
    """Stationary law of all busy patterns of the three servers 1/2, 1/10, 3/10, in rationals."""
    from simlib.recharge.exact import saturated_chain
    from simlib.recharge.formulas import hamacher_sum

    h = hamacher_sum([Fraction(rate) for rate in I3])
    chain = saturated_chain(I3, _router(I3, weights))
    each = ", ".join(map(str, chain.availability))
    text = f"accepts {chain.accept_rate}, servers free with {each}; h = {h}"
    same = chain.accept_rate == h and set(chain.availability) == {h}
    return decide(same, text, text, **{"accept rate": exact(chain.accept_rate)})


@normalized_odds_tight.check(method="exact", scope="instances", false=BY_RATE)
def identical_servers(weights: str) -> Finding:
    """The uniform router on identical servers, by the number of busy ones, in rationals.

    Rates and odds give the same router there, so the false statement is told apart on two unequal
    servers, 1/2 and 1/4.
    """
    from simlib.recharge.exact import lumped_chain, saturated_chain
    from simlib.recharge.formulas import hamacher_sum

    pair = ("1/2", "1/4")
    value = saturated_chain(pair, _router(pair, weights)).accept_rate
    h = hamacher_sum([Fraction(rate) for rate in pair])
    if value != h:
        return refuted(f"rates 1/2, 1/4: accepts {value}, h = {h}")
    found = {}
    for arms, total in ((10, "9/10"), (5, "1"), (12, "3/2")):
        rate = Fraction(total) / arms
        found[f"{arms} servers"] = accept = lumped_chain(arms, rate=rate).accept_rate
        if accept != hamacher_sum([rate] * arms):
            return refuted(f"{arms} servers of rate {rate} accept {accept}")
    text = ", ".join(f"{name} accept {accept}" for name, accept in found.items())
    return proved(text, **{name: exact(accept) for name, accept in found.items()})


# ----------------------------------------------------------------------------------------------

odds_best_memoryless = Claim(
    "recharge.odds_best_memoryless",
    title="Among memoryless routers the normalized odds are the unique best",
    kind="proposition",
    source=Source(SOURCE, "Section 3.1", provenance="ours"),
    statement=r"""
For all $\mu\in(0,1)^m$ the utility of pulling arm $j$ with probability $p_j$ independently at each
step, $\sum_jp_j\rho_j/(\rho_j+p_j)$, is at most $h$, with equality only where $p$ is proportional to
<<weights>>. So $h$ is at once the least utility of a no-regret learner and the largest of a
memoryless router.
""",
    claimed={"weights": "the odds"},
    rests_on=["recharge.normalized_odds_tight", "recharge.hamacher_lower_bound"],
)

LOG_WEIGHTS = {"weights": "-log(1-mu)"}


@odds_best_memoryless.check(method="symbolic", scope="general", false=LOG_WEIGHTS)
def gap_to_the_tangent(weights: str) -> Finding:
    """The gap to the tangent at the normalized odds is a square, so no calculus is needed.

    The tangents of all arms have the same slope there, so their sum is constant on the simplex, and it
    is h. The false maximiser, best for periodic schedules, is evaluated with Arb on 1/2, 1/10, 3/10.
    """
    import sympy

    from checks.methods.symbolic import identity

    p, r, total = sympy.symbols("p r rho", positive=True)
    if one_of("weights", weights, "the odds", "-log(1-mu)") != "the odds":
        return _log_router_falls_short()
    t = 1 / total
    value = p * r / (r + p)
    slope = 1 / (1 + t) ** 2
    tangent = value.subs(p, t * r) + slope * (p - t * r)
    square = (p - t * r) ** 2 / ((r + p) * (1 + t) ** 2)
    return combine(
        [
            identity(sympy.diff(value, p).subs(p, t * r), slope, "same slope for each arm"),
            identity(tangent - value, square, "gap is a square"),
            identity(value.subs(p, t * r), r / (1 + total), "value there: sums to h"),
        ],
        "gap to the tangent (p - r/rho)^2 / ((r + p)(1 + 1/rho)^2), zero only at the odds",
    )


def _log_router_falls_short() -> Finding:
    from checks.methods.certified import ball, precision

    with precision(100):
        rates = [ball(rate) for rate in I3]
        weights = [-((1 - mu).log()) for mu in rates]
        odds = [mu / (1 - mu) for mu in rates]
        share = [w / sum(weights) for w in weights]
        value = sum(p * r / (r + p) for p, r in zip(share, odds, strict=True))
        best = ball(Fraction(97, 160))
        text = f"rates 1/2, 1/10, 3/10: -log(1-mu) gives {value.str(8, radius=False)} < 97/160"
        return refuted(text) if value < best else proved("not below h")
