"""A learner that meets the hypothesis of the stability theorem: EXP3-IX, restarted in each period."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from checks.claim import Claim, Source
from checks.finding import REFUTED, Finding, combine, decide, one_of, proved, refuted, undecided
from checks.judging import as_stated, exponential_above_line, one_for_each, unfit
from checks.methods.statistical import at_most
from checks.strategic.evidence.hypotheses import ARRIVAL_RATES, SHAPE, restarted_regret
from checks.strategic.expected_regret import REGRETS, WHEN, sufficiency_expected_regret
from checks.strategic.instances import SOURCE
from checks.strategic.potential import potential_drift
from checks.strategic.small_systems import paths
from checks.strategic.sufficiency import negative_drift_bound

if TYPE_CHECKING:
    from flint import arb

_STARTS = ("at the start of each period", "at the first step only")

exp3ix_restarted = Claim(
    "strategic.exp3ix_restarted",
    title="Restarted EXP3-IX has small expected regret in every period, whatever went before",
    source=Source(SOURCE, "the hypothesis of Theorem 4.1", provenance="ours"),
    statement=r"""
EXP3 with implicit exploration (Neu 2015), learning rate $\eta>0$, forgets everything <<start>>; a period
has $W$ steps. It draws server $j$ with probability $p_j\propto e^{-\eta\hat L_j}$, where $\hat L_j$ sums
the estimates
$$\hat\ell_j=\frac{\ell_j\mathbf 1\{J=j\}}{p_j+<<implicit>>\,\eta},$$
$J$ is the server drawn and the loss $\ell_j$ is 1 where a packet would be rejected and 0 where it would
be accepted; steps with an empty queue change nothing. Everything else in a step may depend on the whole
past, but not on the draw of the step: arrivals, buffers, the choices of the others, and what the
acceptance rule does with each set of packets that may be sent (its coins included). So the losses of a
step are fixed before the draw. With $m$ servers, $n$ queues and the regret $R_i$ of queue $i$ in a
period:

1. *moment*: $E\exp(\sum_j\alpha_j\hat\ell_j)\le\exp(\sum_j\alpha_j\ell_j)$ in each step, given what was
   before the draw, if $0\le\alpha_j\le\eta$;
2. *path*: on every path and for every server $k$,
   $$\begin{aligned}&\sum_t\ell_{t,J_t}-\hat L_k\\
   &\quad\le\ \frac{\ln m}\eta+\eta\sum_t\sum_j\hat\ell_{t,j};\end{aligned}$$
3. *tail*: from 1 and 2 follows, for every history $\mathcal F$ before the period and all $x>0$,
   $$\Pr\Bigl(R_i>\frac{<<logs>>\ln m+x}\eta+\eta mW+x\Bigm|\mathcal F\Bigr)
   \le<<failures>>\,e^{-x};$$
4. *mean*: integrated over $x$, and over all queues at once, the tail bounds
   $E[\max_iR_i^+\mid\mathcal F]$ by a function of $\eta$. It is least at $\eta=\sqrt{K/(mW)}$ with
   $K=2\ln m+\ln2n+1$, where
   $$E\bigl[\max_iR_i^+\bigm|\mathcal F\bigr]\ \le\ r(W)=<<leading>>\sqrt{mWK}+1+\ln2n;$$
5. *one server*: in the mean 2 bounds the regret of queue $i$ against any fixed server, given
   $\mathcal F$, by $\frac{\ln m}\eta+\eta mW$, which for $m\ge2$ is least at
   $\eta=\sqrt{\ln m/(mW)}$: there it is $<<single>>\sqrt{mW\ln m}$.

Without the restarts the bound in 4 can fail in late periods. Two servers, one queue and $W=100$: server
1 refuses everything for ten periods and then accepts everything, while server 2 does the opposite.
""",
    claimed={
        "start": _STARTS[0],
        "implicit": "0.5",
        "second_order": "1",
        "logs": "2",
        "failures": "2",
        "leading": "2",
        "single": "2",
    },
    meaning={
        "start": "when the learner is restarted",
        "implicit": "what is added to the probability in the estimate, over the learning rate",
        "second_order": "what the estimates cost on a path, over the learning rate",
        "logs": "logarithms of the number of servers in the tail bound",
        "failures": "probabilities e^-x that are added up",
        "leading": "factor of the square root in the mean",
        "single": "factor of the square root for one fixed server",
    },
    parts={
        "moment": "exponential moment of the estimates in a step",
        "path": "exponential weights on every path",
        "tail": "the regret of one queue with high probability",
        "mean": "the largest regret of all queues on average",
        "one server": "the mean regret against one server",
        "restart": "what the restarts are for",
    },
    uncovered="the step from moments to tails (a supermartingale and Markov's inequality), the sum of "
    "the one-step inequalities over a period, and that a mean is at most a plus b times the integral of "
    "the tail at a + b x: written lines. The constants are those of this proof; smaller ones may do",
)

# The moment of a step ------------------------------------------------------------------------------


@exp3ix_restarted.check(
    method="symbolic",
    scope="general",
    false=[{"implicit": "0"}, {"implicit": "0.49"}],
    part="moment",
)
def moment_of_a_step(implicit: str) -> Finding:
    """Show p (e^(alpha x) - 1) <= alpha l for the estimate x = l/(p + c eta) of one server, c >= 1/2.

    The difference is concave in alpha and 0 at alpha = 0, so alpha = eta decides. There eta x is at
    most z/(1 + z/2), z = eta l/p, because l <= 1; and z/(1 + z/2) <= ln(1 + z), equal at 0, with
    derivative of the difference z^2/((1 + z)(2 + z)^2). Summed over the server drawn the mean is at
    most 1 + sum alpha_j l_j, and 1 + s <= e^s. A smaller c is refuted on one server of small p.
    """
    import sympy
    import z3

    from checks.methods.smt import implies, real
    from checks.methods.symbolic import identity

    c = Fraction(implicit)
    if c < Fraction(1, 2):
        return _moment_too_large(c)
    z, alpha, x, p = sympy.symbols("z alpha x p", positive=True)
    gap = sympy.log(1 + z) - z / (1 + z / 2)
    slack = alpha * sympy.Symbol("l", nonnegative=True) - p * (sympy.exp(alpha * x) - 1)
    slope = z**2 / ((1 + z) * (2 + z) ** 2)
    estimate, prob, rate, loss, ratio = z3.Reals("x p eta l z")
    model = [
        *(prob > 0, prob <= 1, rate > 0, loss >= 0, loss <= 1),
        estimate * (prob + real(c) * rate) == loss,
        ratio * prob == rate * loss,
    ]
    return combine(
        [
            identity(sympy.diff(slack, alpha, 2), -p * x**2 * sympy.exp(alpha * x), "concave"),
            decide(slack.subs(alpha, 0) == 0, "0 at alpha = 0", "not 0 at alpha = 0"),
            implies(model, rate * estimate * (1 + ratio / 2) <= ratio, "eta x (1 + z/2) against z"),
            identity(sympy.diff(gap, z), slope, "derivative of ln(1 + z) - z/(1 + z/2)"),
            decide(gap.subs(z, 0) == 0 and bool(slope.is_positive), "0 at 0, then up", "not up"),
            exponential_above_line(),
        ],
        "eta x <= z/(1 + z/2) <= ln(1 + z) with z = eta l/p, for all p, eta and losses in [0, 1]",
    )


def _moment_too_large(c: Fraction) -> Finding:
    """One server of small probability with loss 1, where the estimate is too large for its moment."""
    from checks.methods.certified import ball, precision

    p = min(Fraction(1, 100), (1 - 2 * c) / 2)
    for rate in (10 * p, p / 10, p * p / 10):
        with precision(128):
            eta, prob = ball(rate), ball(p)
            moment = 1 - prob + prob * (eta / (prob + ball(c) * eta)).exp()
            excess = moment - eta.exp()
            if excess > 0:
                return refuted(
                    f"p = {p}, eta = {rate}, loss 1: E e^(eta x) exceeds e^(eta l) by "
                    f"{float(excess.mid()):.4g}"
                )
    return undecided(f"no point is known at which {c} fails")


# A path --------------------------------------------------------------------------------------------


@exp3ix_restarted.check(method="smt", scope="general", false={"second_order": "0.85"}, part="path")
def one_step_of_the_weights(second_order: str) -> Finding:
    """Bound the loss of a step by the fall of the log-sum of weights, and add up.

    With y = eta times the estimate of the server drawn, the sum Z of the weights is multiplied by
    1 - p (1 - e^-y), so its logarithm falls by D >= p (y - y^2/2) [ln(1 + s) <= s and
    e^-y <= 1 - y + y^2/2]. z3: eta l <= D + eta^2 x, as p x <= 1. The falls add up to
    ln Z_1 - ln Z_(W+1) <= ln m + eta L_k, from Z_1 = m. A smaller factor than 1 is refuted by a path.
    """
    import sympy
    import z3

    from checks.methods.smt import implies, real
    from checks.methods.symbolic import identity

    factor = Fraction(second_order)
    if factor < 1:
        return _rotation(factor)
    weight, total, y = sympy.symbols("w Z y", positive=True)
    after = total - weight + weight * sympy.exp(-y)
    quadratic = 1 - y + y**2 / 2 - sympy.exp(-y)
    estimate, prob, rate, loss, fall = z3.Reals("x p eta l D")
    model = [
        *(prob > 0, prob <= 1, rate > 0, loss >= 0, loss <= 1),
        estimate * (prob + rate / 2) == loss,
    ]
    drop = fall >= prob * rate * estimate - prob * rate * rate * estimate * estimate / 2
    return combine(
        [
            identity(after / total, 1 - weight / total * (1 - sympy.exp(-y)), "sum of the weights"),
            exponential_above_line(),  # with e^x >= 1 + x also ln(1 + s) <= s
            identity(
                sympy.diff(quadratic, y), sympy.exp(-y) - 1 + y, "derivative, by e^x >= 1 + x"
            ),
            decide(quadratic.subs(y, 0) == 0, "0 at 0", "not 0 at 0"),
            implies(model, prob * estimate <= 1, "p x <= 1"),
            implies(
                [*model, prob * estimate <= 1, drop],
                rate * loss <= fall + real(factor) * rate * rate * estimate,
                "eta l <= D + eta^2 x",
            ),
        ],
        "eta l <= D + eta^2 x in each step, and the falls D add up to at most ln m + eta L_k",
    )


def _rotation(factor: Fraction) -> Finding:
    """Ten servers that always refuse, each time the likeliest one drawn: a path of 20,000 steps."""
    from checks.methods.certified import ball, precision

    arms, steps, rate = 10, 20_000, Fraction(1, 50)
    with precision(1000):  # an error of a weight grows with each draw
        eta = ball(rate)
        losses, weights = [ball(0)] * arms, [ball(1)] * arms
        sum_of_estimates = ball(0)
        for _ in range(steps):
            # any path will do; on this one the weights stay close together
            arm = min(range(arms), key=lambda j: float(losses[j].mid()))
            estimate = 1 / (weights[arm] / sum(weights) + eta / 2)
            losses[arm] += estimate
            sum_of_estimates += estimate
            weights[arm] *= (-eta * estimate).exp()
        least = min(losses, key=lambda loss: float(loss.mid()))
        left = steps - least
        right = ball(arms).log() / eta + ball(factor) * eta * sum_of_estimates
        text = (
            f"{arms} servers refuse in turn for {steps} steps, eta = {rate}: left side "
            f"{float(left.mid()):.1f}, right side {float(right.mid()):.1f} with {factor}"
        )
        return refuted(text) if left > right else undecided(text)


@exp3ix_restarted.check(
    method="certified", scope="instances", false={"second_order": "0.65"}, part="path"
)
def every_short_path(second_order: str) -> Finding:
    """Go through all paths of eight refusals with two servers and of six with three, in Arb.

    Learning rates 1/5, 1 and 4. Accepted packets are left out: they change neither side.
    """
    from checks.methods.certified import ball, precision

    factor, count, least = Fraction(second_order), 0, None
    with precision(96):
        for arms, steps in ((2, 8), (3, 6)):
            for rate in (Fraction(1, 5), Fraction(1), Fraction(4)):
                for path, slack in _refusals(arms, steps, ball(rate), ball(factor)):
                    count += 1
                    if slack < 0:
                        return refuted(
                            f"{arms} servers, eta = {rate}, refused by {path}: the left side exceeds "
                            f"the right by {float(-slack.mid()):.4f}"
                        )
                    if not slack >= 0:
                        return undecided(f"{arms} servers, eta = {rate}, {path}: not separated")
                    low = float(slack.mid())
                    least = low if least is None else min(least, low)
    return proved(f"{count} paths", margin=f"least slack {least:.4f}")


def _refusals(arms: int, steps: int, eta: arb, factor: arb):
    """Every sequence of at most ``steps`` refusing servers, with right side less left side."""
    from checks.methods.certified import ball

    start = ball(arms).log() / eta
    todo = [((), (ball(0),) * arms, (ball(1),) * arms, ball(0))]
    while todo:
        path, losses, weights, estimates = todo.pop()
        if path:
            bounds = [start + factor * eta * estimates - len(path) + loss for loss in losses]
            yield path, min(bounds, key=lambda bound: float(bound.mid()))
        if len(path) == steps:
            continue
        for arm in range(min(arms, max(path, default=-1) + 2)):  # servers are named as they come
            estimate = 1 / (weights[arm] / sum(weights) + eta / 2)
            moved = weights[arm] * (-eta * estimate).exp()
            todo.append(
                (
                    (*path, arm),
                    (*losses[:arm], losses[arm] + estimate, *losses[arm + 1 :]),
                    (*weights[:arm], moved, *weights[arm + 1 :]),
                    estimates + estimate,
                )
            )


# From one step to the mean -------------------------------------------------------------------------


@exp3ix_restarted.check(
    method="smt", scope="general", false=[{"logs": "1.99"}, {"failures": "1"}], part="tail"
)
def assemble_the_tail(logs: str, failures: str) -> Finding:
    """Ask z3 whether path inequality and the two tails give the bound and its probability.

    By the moment inequality the exponentials of eta (L_j estimated - L_j) and of eta times the sum over
    all servers are supermartingales from 1. So each estimate exceeds its loss by more than
    (ln m + x)/eta with probability at most e^-x/m, one of the m at most e^-x; and the sum of all
    estimates times eta exceeds eta m W + x with probability at most e^-x. Judged is the inference from
    these facts and the path inequality, whose numbers are refuted by losses and estimates, or by
    probabilities, that agree with all of them. (The probability of EXP3-IX itself may be smaller.)
    """
    import z3

    from checks.methods.smt import implies, real

    log_m, x, rate, regret, m, window = z3.Reals("ln(m) x eta R m W")
    losses, own, excess, total, true = z3.Reals("losses L_k excess sum_estimates sum_losses")
    stated = real(logs)
    model = [
        *(m >= 2, window >= 1, log_m > 0, log_m <= m - 1, x > 0, rate > 0),
        *(own >= 0, own <= losses, losses <= window, own + excess >= 0),
        *(true >= own, true <= m * window, total >= own + excess),
        regret == losses - own,  # against the best server k: its true loss
        rate * (losses - own - excess)
        <= log_m + rate * rate * total,  # path; estimate = own + excess
        rate * excess <= log_m + x,
        rate * total <= rate * true + x,
    ]
    tail, first, second, either = z3.Reals("e^-x P1 P2 P")
    events = [
        *(tail > 0, tail < 1, first >= 0, second >= 0, either >= 0, either <= 1),
        *(first <= tail, second <= tail, either <= first + second),
        *(first <= either, second <= either),
    ]
    bound = rate * regret <= stated * log_m + x + rate * (rate * m * window + x)
    name = f"eta R <= {logs} ln m + x + eta (eta m W + x)"
    path = implies(model, bound, name)
    if path.outcome == REFUTED:  # the numbers shown are to be those of a possible system
        three = [m == 3, window == 100, log_m >= z3.Q(10986, 10**4), log_m <= z3.Q(10987, 10**4)]
        path = implies([*model, *three], bound, f"{name} with three servers, W = 100")
    return combine(
        [
            path,
            implies(events, either <= int(failures) * tail, f"P <= {failures} e^-x"),
        ],
        "outside two events of probability e^-x each the bound follows from the path inequality",
    )


@exp3ix_restarted.check(
    method="symbolic",
    scope="general",
    false=[{"leading": "1.99"}, {"failures": "1"}, {"logs": "1.99"}],
    part="mean",
)
def integrate_the_tail(logs: str, failures: str, leading: str) -> Finding:
    """Integrate min(1, c n e^-x) and choose the learning rate: the bound in closed form.

    R_i > a + b x has probability at most c e^-x for each queue, with a = l ln m/eta + eta m W,
    b = 1 + 1/eta, hence E max R_i^+ <= a + b (1 + ln(c n)). With K as stated this is
    K/eta + eta m W + 1 + ln 2n, equal to the bound at the stated eta, and a square away from it at any
    other. The statement is about this integral and its least value, so equalities are judged, for l
    logarithms and c failures. (The mean regret itself is smaller.)
    """
    import sympy

    from checks.methods.symbolic import identity

    rate, m, n, W, x, k = sympy.symbols("eta m n W x K", positive=True)
    c, number, lead = (sympy.Rational(text) for text in (failures, logs, leading))
    start = sympy.log(c * n)  # from here on c n e^-x is below 1
    integral = start + sympy.integrate(c * n * sympy.exp(-x), (x, start, sympy.oo))
    mean = number * sympy.log(m) / rate + rate * m * W + (1 + 1 / rate) * integral
    rest = 1 + sympy.log(2 * n)
    stated_k = 2 * sympy.log(m) + sympy.log(2 * n) + 1
    point = {rate: 1, m: 2, n: 1, W: 1}
    tuned = (k / rate + rate * m * W).subs(rate, sympy.sqrt(k / (m * W)))
    return combine(
        [
            identity(mean, stated_k / rate + rate * m * W + rest, "the mean", at=[point]),
            identity(tuned, lead * sympy.sqrt(m * W * k), "the best rate", at=[{m: 1, W: 1, k: 1}]),
            identity(
                k / rate + rate * m * W - 2 * sympy.sqrt(m * W * k),
                (sympy.sqrt(k / rate) - sympy.sqrt(rate * m * W)) ** 2,
                "any other rate",
            ),
        ],
        "a + b (1 + ln 2n) = K/eta + eta m W + 1 + ln 2n, least at the stated eta",
    )


@exp3ix_restarted.check(
    method="symbolic", scope="general", false={"single": "1.99"}, part="one server"
)
def regret_against_one_server(single: str) -> Finding:
    """Take means in the path inequality: an estimate is on average at most its loss.

    E x = l p/(p + eta/2) <= l, so the mean regret is at most ln m/eta + eta m W, equal to the stated
    bound at the stated eta and a square away from it at any other. The statement is about this least
    value, so equalities are judged.
    """
    import sympy

    from checks.methods.symbolic import identity

    rate, log_m, m, W, p, loss = sympy.symbols("eta ln(m) m W p l", positive=True)
    room = loss - loss * p / (p + rate / 2)
    mean = log_m / rate + rate * m * W
    root = sympy.sqrt(m * W * log_m)
    best = mean.subs(rate, sympy.sqrt(log_m / (m * W)))
    return combine(
        [
            identity(room, loss * rate / (2 * p + rate), "loss less mean estimate"),
            identity(
                best, sympy.Rational(single) * root, "the best rate", at=[{m: 1, W: 1, log_m: 1}]
            ),
            identity(
                mean - 2 * root,
                (sympy.sqrt(log_m / rate) - sympy.sqrt(rate * m * W)) ** 2,
                "any other rate",
            ),
        ],
        "the mean estimate is below the loss; ln m/eta + eta m W is least at the stated eta",
    )


# What the restarts are for -------------------------------------------------------------------------


@exp3ix_restarted.check(
    method="certified", scope="general", false={"start": _STARTS[1]}, part="restart"
)
def a_late_period(start: str) -> Finding:
    """The falls of the log-sum of weights add up to ln(1/p_k) + eta L_k, p_k at the start of the period.

    After a restart p_k = 1/m for every server and every history: that is the ln m of the path
    inequality. Without, p_k can be as small as one likes. Two servers, W = 100, K as stated: server 1
    refuses for ten periods and accepts in the eleventh, server 2 the other way round. The draws are a
    chain in the number of refusals, so the mean regret of the eleventh period is enclosed (Arb), and
    compared with r(W).
    """
    import sympy

    from checks.methods.certified import ball, precision
    from checks.methods.symbolic import identity

    restarts = one_of("start", start, *_STARTS) == _STARTS[0]
    window, periods = 100, 10
    with precision(96):
        k = 2 * ball(2).log() + ball(2).log() + 1
        eta = (k / (2 * window)).sqrt()
        bound = 2 * (2 * window * k).sqrt() + 1 + ball(2).log()
        levels, law = _refusals_in(0 if restarts else periods * window, ball(0), eta)
        regret, missed = ball(0), 1 - sum(law, ball(0))
        for level, chance in zip(levels, law, strict=True):
            _, later = _refusals_in(window, -level, eta)
            regret += chance * sum((count * prob for count, prob in enumerate(later)), ball(0))
            missed += chance * (1 - sum(later, ball(0)))
        text = (
            f"two servers, period {periods + 1} of {window} steps: mean regret "
            f"{float(regret.mid()):.2f}, bound {float(bound.mid()):.2f}"
        )
        if regret > bound:
            return refuted(f"{text}; server 1 refused in all periods before, and accepts now")
        if not restarts or not regret + missed * window < bound:
            return undecided(text)
    m, weight, total, eta_loss = sympy.symbols("m w Z eta*L_k", positive=True)
    fallen = sympy.log(total) - (
        sympy.log(weight) - eta_loss
    )  # Z at the end is at least this weight
    ratio = total / weight
    return combine(
        [
            identity(fallen, sympy.log(ratio) + eta_loss, "falls of the log-sum"),
            identity(ratio.subs({weight: 1, total: m}), m, "1/p_k after a restart"),
        ],
        f"the term is ln m after a restart, for all k and every history; {text}",
    )


def _refusals_in(steps: int, odds: arb, eta: arb) -> tuple[list[arb], list[arb]]:
    """Law of the number of refusals of one server while the other accepts, of a learner that goes on.

    Parameters
    ----------
    steps : int
    odds : arb
        Log-odds of the accepting server at the start.
    eta : arb

    Returns
    -------
    list of arb, list of arb
        For 0, 1, ... refusals: the log-odds of the accepting server then, and the probability of
        that many. The tail that is cut off makes the law, and with it the mean, too small.
    """
    from checks.methods.certified import ball

    least = ball(Fraction(1, 10**12))
    levels, chances, law = [odds], [1 / (1 + odds.exp())], [ball(1)]
    for _ in range(steps):
        if len(law) == len(levels):
            levels.append(levels[-1] + eta / (chances[-1] + eta / 2))
            chances.append(1 / (1 + levels[-1].exp()))
        stay = [prob * (1 - chance) for prob, chance in zip(law, chances, strict=False)]
        move = [prob * chance for prob, chance in zip(law, chances, strict=False)]
        law = [x + y for x, y in zip([*stay, ball(0)], [ball(0), *move], strict=True)]
        while law[-1] < least:
            law.pop()
    return levels[: len(law)], law


# In the example ------------------------------------------------------------------------------------


@exp3ix_restarted.check(
    method="statistical",
    scope="instances",
    false={"leading": "0.3"},
    part="mean",
    uses=restarted_regret,
    alpha=5e-7,
)
def measured_regret(runs, leading: str) -> Finding:
    """Compare the mean of the largest regret of a period with r(W), in the example.

    Four queues of rate 0.4, eight servers with total rate 3.0, uniform acceptance and fixed priority;
    32 runs. W = 20,000, one period a run (quick); 50 of them, and four of W = 232,240 (full). A run is
    an average of sums over thousands of steps: t interval, alpha split over the systems. The measured
    mean is a fifth of the bound, which holds against every environment. With 0.3 in the place of 2 it
    would be 326, more than 12 standard errors below the mean under uniform acceptance (431).
    """
    import math

    from simlib.estimate import mean_normal
    from simlib.strategic.formulas import exp3_ix_constant

    periods = [int(period) for period in runs["periods"]]
    queues, servers = len(ARRIVAL_RATES), len(SHAPE)
    k, found = exp3_ix_constant(queues, servers), []
    for period in periods:
        root = (servers * period * k) ** 0.5
        bound = float(leading) * root + 1 + math.log(2 * queues)
        for rule in ("uniform", "fixed"):
            name = f"largest regret, W = {period}, {rule}"
            means = runs[f"regret_{period}_{rule}"].clip(min=0).mean(axis=1)
            bad = unfit(means, restarted_regret, name)
            alpha = 5e-7 / (2 * len(periods))
            found.append(bad or at_most(mean_normal(means, alpha), bound, name, 1))
    return combine(found)


# From the learner to a stable system ---------------------------------------------------------------

#: Queues, arrival rate of each, servers, total service rate: the systems of the table.
TABLE = ((4, "2/5", 8, "3"), (1, "1/2", 3, "3/2"), (2, "3/10", 4, "2"))

sufficiency_end_to_end = Claim(
    "strategic.sufficiency_end_to_end",
    title="Queues that run restarted EXP3-IX are stable, with every constant explicit",
    source=Source(SOURCE, "Theorem 4.1", provenance="ours"),
    statement=r"""
Let $\Delta=\mu(1-\lambda_{\max})-\lambda>0$, let each of $n$ queues run EXP3-IX with
$\eta=\sqrt{K/(mW)}$, $K=2\ln m+\ln2n+1$, restarted every $W$ steps, and let servers accept by any rule.

1. If
   $$\begin{aligned}&\mu\Bigl(2\sqrt{mWK}+1+\ln2n+\sqrt{\tfrac{W\ln n}2}\Bigr)\\
   &\quad+m\ \le\ <<share>>\,\Delta W,\end{aligned}$$
   then, with $N$ packets in all queues and $M$ in the longest, the bound on the drift of
   $\Phi=N+\mu M$ over a period that starts with
   $\Phi\ge D=(n+\mu)W$ is at most $-\Delta W/2$.
2. It suffices that $W\ge\bigl(<<scale>>\mu/\Delta\bigr)^2\bigl(2\sqrt{mK}+\sqrt{\ln(n)/2}\bigr)^2$ and
   $W\ge\frac4\Delta\bigl(\mu(1+\ln2n)+m\bigr)$.
3. Then, from a start with $\Phi\le2D$, with $\alpha=\Delta W/2$, at the start of every period
   $$E\,\Phi\ \le\ 2D+\frac{D^2}\alpha\ln\frac1{1-e^{-\alpha^2/(2D^2)}}.$$
   In a period $N$ grows by at most $<<growth>>$, so $E\,N_t$ is at most that much more at all times.

*Three systems.* The least $W$ that the first condition allows, and the bound on $E\,\Phi$ in millions:

| $(n,\lambda_i,m,\mu)$ | $(4,0.4,8,3)$ | $(1,0.5,3,1.5)$ | $(2,0.3,4,2)$ |
| --- | --- | --- | --- |
| least $W$ | <<periods:cells>> |
| bound | <<bounds:cells>> |
""",
    claimed={
        "share": "0.5",
        "scale": "4",
        "growth": "nW",
        "periods": "232240, 6811, 2384",
        "bounds": "1049.0728, 2.3107, 0.5246",
    },
    meaning={
        "share": "share of the margin that regret, arrivals and buffers may take",
        "scale": "factor of the condition on W in closed form",
        "growth": "by how much the number of packets can grow in a period",
        "periods": "least lengths of a period, three systems",
        "bounds": "bounds on the mean potential in millions, three systems",
    },
    rests_on=[
        "strategic.sufficiency_expected_regret",
        "strategic.exp3ix_restarted",
        "strategic.negative_drift_bound",
    ],
    parts={
        "drift": "the drift under the first condition",
        "explicit": "the condition on W in closed form",
        "mean": "the mean at all times",
        "table": "three systems",
    },
    uncovered="Jensen's inequality, which ends the proof of the negative drift lemma (textbook)",
)


@sufficiency_end_to_end.check(method="smt", scope="general", false={"share": "0.51"}, part="drift")
def assemble_the_drift(share: str) -> Finding:
    """Ask z3 whether the condition makes the bound on the drift at most -Delta W/2, for all parameters.

    The bounds on drift and regret are those of the claims below, as they are claimed. A larger share is
    refuted by the first system of the table with a slightly shorter period, in Arb.
    """
    import z3

    from checks.methods.smt import implies, real

    stated = Fraction(share)
    if stated > Fraction(1, 2):
        return _shorter_period(stated)
    mu, margin, window, m = z3.Reals("mu Delta W m")
    regret, arrivals = z3.Reals("r(W) sqrt(W*ln(n)/2)")
    model = [
        *(mu > 0, margin > 0, margin < mu, window >= 1, m >= 1, regret > 0, arrivals >= 0),
        mu * (regret + arrivals) + m <= real(stated) * margin * window,
    ]
    bound = -margin * window + mu * (regret + arrivals) + m
    return combine(
        [
            as_stated(sufficiency_expected_regret, regret=REGRETS[0], spread="0.5", when=WHEN[0]),
            as_stated(exp3ix_restarted, leading="2", start=_STARTS[0]),
            implies(model, bound <= -margin * window / 2, "bound on the drift"),
        ]
    )


def _shorter_period(share: Fraction) -> Finding:
    """The condition with a larger share is met, and the bound on the drift is above -Delta W/2."""
    from checks.methods.certified import ball, precision

    system, window = TABLE[0], 232_239
    with precision(160):
        _, _, _, margin, _ = _constants(*system)
        slack = _slack_of_the_condition(system, window)
        met = slack + ball(share - Fraction(1, 2)) * margin * window > 0
        text = (
            f"n = 4, m = 8, mu = 3, W = {window}: the condition holds, and the bound on the drift "
            f"exceeds -Delta W/2 by {float(-slack.mid()):.3f}"
        )
        return refuted(text) if met and slack < 0 else undecided(f"W = {window} decides nothing")


@sufficiency_end_to_end.check(
    method="smt", scope="general", false={"scale": "3.9"}, part="explicit"
)
def two_conditions_suffice(scale: str) -> Finding:
    """Ask z3 whether both conditions on W together imply the first one, for all parameters.

    With w = sqrt(W) and s = 2 sqrt(mK) + sqrt(ln(n)/2): the terms with a root are mu s w, and w is at
    least 4 mu s/Delta; the constant ones are a quarter of Delta W at most. A smaller factor is refuted
    by a system of one queue and two servers, in Arb.
    """
    import z3

    from checks.methods.smt import implies, real

    stated = Fraction(scale)
    if stated < 4:
        return _both_conditions_met(stated)
    mu, margin, w, s, constant = z3.Reals("mu Delta sqrt(W) s mu(1+ln(2n))+m")
    model = [
        *(mu > 0, margin > 0, margin < mu, w >= 1, s > 0, constant > 0),
        margin * w >= real(stated) * mu * s,
        margin * w * w >= 4 * constant,
    ]
    return implies(model, mu * s * w + constant <= margin * w * w / 2, "both conditions")


def _both_conditions_met(scale: Fraction) -> Finding:
    """One queue, two slow servers: both conditions hold, the first one of the claim does not."""
    from checks.methods.certified import ball, precision

    system = (1, "1/1000000", 2, "1/46")
    with precision(128):
        n, m, mu, margin, k = _constants(*system)
        explicit = (ball(scale) * mu / margin * (2 * (m * k).sqrt())) ** 2  # ln n = 0
        other = 4 / margin * (mu * (1 + (2 * n).log()) + m)
        window = int(float(max(explicit.mid(), other.mid()))) + 1
        met = ball(window) > explicit and ball(window) > other
        slack = _slack_of_the_condition(system, window)
        text = f"one queue of rate 1e-6, two servers with total rate 1/46, W = {window}"
        if met and slack < 0:
            return refuted(f"{text}: both conditions hold, the first fails by {slack.str(3)}")
        return undecided(f"{text} decides nothing")


def _constants(n: int, rate: str, m: int, mu: str) -> tuple[arb, arb, arb, arb, arb]:
    """Number of queues and servers, total service rate, margin Delta and K, as balls."""
    from checks.methods.certified import ball

    margin = Fraction(mu) * (1 - Fraction(rate)) - n * Fraction(rate)
    k = 2 * ball(m).log() + ball(2 * n).log() + 1
    return ball(n), ball(m), ball(mu), ball(margin), k


def _slack_of_the_condition(system: tuple[int, str, int, str], window: int) -> arb:
    """Right side less left side of the first condition, at half of Delta W."""
    n, m, mu, margin, k = _constants(*system)
    regret = 2 * (m * window * k).sqrt() + 1 + (2 * n).log()
    arrivals = (window * n.log() / 2).sqrt()
    return margin * window / 2 - m - mu * (regret + arrivals)


@sufficiency_end_to_end.check(
    method="smt", scope="general", false={"growth": "(n-1)W"}, part="mean"
)
def from_the_drift_to_all_times(growth: str) -> Finding:
    """Insert threshold D, step D and drift -Delta W/2 in the negative drift lemma; z3 does the rest.

    Where Phi > D the drift is at most -alpha (point 1), the steps are at most D and D <= Phi_0 <= 2 D or
    less at first: the lemma with beta = c = D. N is at most Phi, and grows by one packet per queue and
    step at most (induction). A smaller growth is refuted by a path of one queue.
    """
    import z3

    from checks.methods.smt import implies

    one_of("growth", growth, *_GROWTHS)
    if growth != _GROWTHS[0]:
        return _one_packet_more()
    c, first, drift, alpha, beta, size, bound = z3.Reals("D Phi_0 drift alpha beta c log_term")
    margin, window, mean, later, start, n, s, steps = z3.Reals("Delta W E(Phi) N_t N n s W_0")
    lemma = [
        *(c > 0, margin > 0, window >= 1, alpha == margin * window / 2, beta == c, size == c),
        *(first <= 2 * c, drift <= -margin * window / 2, mean <= beta + size + bound),
    ]
    return combine(
        [
            as_stated(
                negative_drift_bound,
                exponent="1/2",
                steps="at most c in absolute value",
                drift="at most −α",
            ),
            as_stated(potential_drift, region="(n+μ)W", increment="(n+μ)W"),
            implies(
                lemma,
                z3.And(first <= beta + size, drift <= -alpha, mean <= 2 * c + bound),
                "hypotheses and bound of the lemma",
            ),
            implies(
                [n >= 1, s >= 0, later <= start + n * s, s + 1 <= steps],
                z3.And(later + n <= start + n * (s + 1), later + n <= start + n * steps),
                "packets, one step more",
            ),
        ],
        "the negative drift lemma with beta = c = D, and at most n W packets more in a period",
    )


_GROWTHS = ("nW", "(n-1)W")


def _one_packet_more() -> Finding:
    """A path of one queue and one step on which the queue grows."""
    found = paths(1, 1, 1, 0)
    for number, (outcome, _) in enumerate(found.outcomes):
        if sum(outcome.end) > sum(outcome.start):
            return refuted(f"{found.show(number)}: one packet more, and (n-1)W = 0")
    return undecided("no path of one queue and one step is known on which it grows")


@sufficiency_end_to_end.check(
    method="certified",
    scope="general",
    false=[
        {"periods": "232239, 6811, 2384"},
        {"periods": "232240, 6812, 2384"},
        {"periods": "232240, 6811, 2383"},
        {"bounds": "1049.0727, 2.3107, 0.5246"},
        {"bounds": "1049.0728, 2.3108, 0.5246"},
        {"bounds": "1049.0728, 2.3107, 0.5245"},
    ],
    part="table",
)
def three_systems(periods: str, bounds: str) -> Finding:
    """Enclose both sides of the condition at W and at W - 1, and the bound at W, in Arb.

    Its part of the statement is this table. The slack of the condition is convex in sqrt(W) and
    negative at 0, so it changes sign once. A bound is judged to half a unit of its last digit.
    """
    from checks.methods.certified import compare, precision, quantity, rounds_to

    found = []
    columns = one_for_each("periods", periods, *TABLE), one_for_each("bounds", bounds, *TABLE)
    with precision(160):
        for system, period, bound in zip(TABLE, *columns, strict=True):
            window = int(period)
            name = f"n = {system[0]}, W = {window}"
            at, before = (_slack_of_the_condition(system, w) for w in (window, window - 1))
            found.append(compare(at, ">", "0", f"slack at {name}"))
            found.append(compare(before, "<", "0", f"slack one step below, {name}"))
            n, _, mu, margin, _ = _constants(*system)
            step, drift = (n + mu) * window, margin * window / 2
            theta = (-((drift / step) ** 2) / 2).exp()
            mean = 2 * step - step**2 / drift * (1 - theta).log()
            shown = f"bound on E Phi, {name}"
            wrong = f"{shown}: {mean.str(12)}, not {bound} million"
            found.append(
                rounds_to(
                    *(mean / 10**6, bound, "bounds", f"{shown}: {mean.str(8)}", wrong),
                    **{shown: quantity(mean, 6)},
                )
            )
    return combine(found, "each W is the least one; each bound agrees to its last digit")
