"""The regret of UCRL-MT, assembled from its lemmas; corollaries; what is decided of Theorem 5.1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import TYPE_CHECKING

from checks.admission.confidence import kl_radius
from checks.admission.evidence.experiments import CERTIFIED, certified_case
from checks.admission.instances import SOURCE
from checks.admission.perturbation import (
    increment_bounds,
    increment_limits,
    perturbation_identity,
)
from checks.admission.samples import sample_law
from checks.admission.thresholds import threshold_gain
from checks.claim import Claim, Source
from checks.finding import (
    Finding,
    combine,
    decide,
    decimal,
    one_of,
    refuted,
    settle,
    undecided,
)
from checks.judging import as_printed_decimal, as_stated, exponential_above_line, one_for_each

if TYPE_CHECKING:
    from flint import arb

    from simlib.admission.model import AdmissionModel

# The bound as a number -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Constants:
    """What the bound needs of a model, in rationals; squares where a root follows.

    Attributes
    ----------
    max_reward : Fraction
        r_max.
    states : int
        S + 1.
    increments : Fraction
        Sum of Delta(s).
    model, pinsker : Fraction
        F V_f and F H_f, each with weights f of its own.
    """

    max_reward: Fraction
    states: int
    increments: Fraction
    model: Fraction
    pinsker: Fraction


@cache
def constants_of(model: AdmissionModel) -> Constants:
    """Constants of a model with rational numbers.

    The weights f are found in floats, nearly the best ones, and rounded to six digits; all that follows
    is exact for these f.
    """
    from simlib.admission.formulas import best_weight
    from simlib.admission.model import law, threshold

    delta, limit = increment_limits(model), model.limit
    laws = [law(model, threshold(theta, limit)) for theta in range(1, limit + 1)]
    squares = []
    for factor in (model.death_probabilities, (1,) * limit):
        rows = [
            [p * d * d * q for p, d, q in zip(nu[1:], delta, factor, strict=True)] for nu in laws
        ]
        found = best_weight([[float(c) for c in row] for row in rows])
        weights = [Fraction(f"{f:.6g}") for f in found]
        most = max(
            sum((c * f for c, f in zip(row, weights, strict=True)), Fraction(0)) for row in rows
        )
        squares.append(sum(1 / f for f in weights) * most)
    return Constants(model.max_reward, limit + 1, sum(delta), *squares)


@dataclass(frozen=True)
class Shares:
    """The bound of the theorem and its parts over r_max T, as balls.

    Attributes
    ----------
    fixed : arb
        2 + (K + S + 1) tau.
    first, second, third : arb
        A_1, A_2 and A_3.
    """

    fixed: arb
    first: arb
    second: arb
    third: arb

    @property
    def total(self) -> arb:
        """The bound on the regret."""
        return self.fixed + self.first.min(self.second).min(self.third)


def shares(known: Constants, horizon: int, modules: int) -> Shares:
    """Evaluate the bound of `regret_theorem` over r_max T, at the precision in use.

    Parameters
    ----------
    known : Constants
    horizon, modules : int
        T and tau.
    """
    from flint import arb

    from checks.methods.certified import ball

    states, tau, two = known.states, modules, arb(2)
    level = (ball(9 * states) * ball(horizon) ** 2).log()

    def doublings(scale: arb) -> arb:
        return (ball(horizon) / scale).max(arb(1)).log() / two.log()

    episodes = states * (1 + doublings(ball(states * tau))) + 1
    per_step = ball(1 / (known.max_reward * horizon))
    root, often = (tau * level * horizon).sqrt(), tau * level * ball(known.increments)
    lead = 1 + two.sqrt()
    first = 4 * lead * ball(known.model).sqrt() * root
    first += often * (16 + ball(Fraction(16, 3)) * doublings(8 * tau * level))
    second = 2 * lead * ball(known.pinsker).sqrt() * root + 16 * often
    return Shares(
        fixed=(2 + (episodes + states) * tau) / horizon,
        first=first * per_step,
        second=second * per_step,
        third=(2 + two.sqrt()) * (states * tau * level / horizon).sqrt()
        + ball(Fraction(2, horizon**2)),
    )


@cache
def module_of(name: str, horizon: int) -> int:
    """Certified least tau of condition (M) for a network of `CERTIFIED`.

    Raises
    ------
    ArithmeticError
        If it is not certified that no smaller one will do.
    """
    from simlib.admission.mixing import module_length

    network, limit, model = certified_case(name)
    found = module_length(network, limit, horizon, model.uniformization)
    if not found.smallest:
        raise ArithmeticError(f"{name}: whether {found.tau} is the least is not certified")
    return found.tau


# The theorem ---------------------------------------------------------------------------------------

_ROOTS = (r"1+\sqrt2", "2.41")
_DIRECT = (r"2+\sqrt2", "3.41")
_INDICES = ("larger", "smaller")
_SMALLEST = ("A_3", "A_1", "A_2")

regret_theorem = Claim(
    "admission.regret_theorem",
    title="The regret of UCRL-MT is O(sqrt(S tau L T)), with all constants and no diameter",
    source=Source(SOURCE, "Theorem 5.1", provenance="ours"),
    statement=r"""
A threshold $\theta=0,\dots,S$ admits if there are fewer than $\theta$ jobs. A step at which it meets $s$
jobs has the cost rate $g_hs+\lambda R1\{s\ge\theta\}$, and as mean reward $r_{\max}$ less this over $U$,
where $Ur_{\max}=g_hS+\lambda R$.

*UCRL-MT* starts from any state with at most $S\ge1$ jobs; it knows $\lambda,R,g_h,U$, the horizon $T$
and a $\tau$ with $1\le\tau\le T$. An episode $k$ has two limits for the mean cost rate of each
threshold, from `admission.kl_radius` with $L=\log(9(S+1)T^2)$: $a_k(\theta)$, what it is in the
birth-death chain with rates $\lambda$ and $Uu_k(s)$, where $u_k(s)$ is the upper limit of
$p(s)=\mu(s)/U$ (1 if $s$ jobs were never recorded), cut and made nondecreasing as there; and
$b_k(\theta)$, the lower limit from the costs met under $\theta$ ($-\infty$ if there are none). It plays
the threshold $\theta_k$ at which the <<index>> of both is smallest, discards $\tau$ steps, and records
$\ell_k=\max\{\tau,n_k(\theta_k)\}$ steps, where $n_k(\theta)$ is the number recorded for $\theta$ so
far.

*Assumptions.* The network of `admission.norton_sum_policy`, with queue rates that are nondecreasing in
the queue length; $T\ge\max\{4,U/\min\{\mu(1),\lambda\}\}$; and (M): after $\tau-1$ steps, from any state
and under any threshold, the network is within total variation $T^{-2}$ of stationarity. Let $\Delta(s)$
be that of `admission.increment_bounds`, $f(1),\dots,f(S)$ any positive weights, $F=\sum_s1/f(s)$,
$$V_f=\max_\theta E_{\nu^\theta}[f\Delta^2p\,1\{X\ge1\}],\qquad
H_f=\max_\theta E_{\nu^\theta}[f\Delta^21\{X\ge1\}],$$
where $X$ is the number of jobs, $\nu^\theta$ its stationary law under the threshold $\theta$, and
$p=p(X)$ and so on; $\log_2^+x=\log_2\max\{1,x\}$.

*Theorem.* $\mathrm{Reg}(T)=Tg^*-E\sum_{t<T}r_t$, with $r_t$ the reward of step $t$ and $g^*$ the largest
mean reward of a step, in the long run, under policies that look at the number of jobs alone, is at most
$r_{\max}\bigl(<<fixed>>+(K+S+1)\tau\bigr)+\min\{A_1,A_2,A_3\}$. Here $K$ is the most
episodes that there can be, and
$$\begin{aligned}
K&\le(S+1)\Bigl(<<doubled>>+\log_2^+\frac T{(S+1)\tau}\Bigr)+<<cut>>,\\
A_1&=<<lead>>\,(<<sequence>>)\sqrt{FV_f}\sqrt{\tau LT}\\
&\quad+\tau L\Bigl(<<few>>+<<logs:frac>>\log_2^+\frac T{<<visits>>\tau L}\Bigr)\sum_s\Delta(s),\\
A_2&=<<pinsker>>\,(<<sequence>>)\sqrt{FH_f}\sqrt{\tau LT}+<<few>>\,\tau L\sum_s\Delta(s),\\
A_3&=(<<direct>>)\,r_{\max}\sqrt{(S+1)\tau LT}+\frac{2r_{\max}}T.
\end{aligned}$$

*When it says something.* "Tandem": two queues in series, rates 1, $\lambda=0.6$, $S=4$, $R=4$,
$g_h=1$, $U=2.6$. "Overload" and "stable": three tiers of one queue each, rates 1, half of the jobs go
on, $S=5$, $R=10$, $g_h=1$, $\lambda=0.99$ and $0.25$, $U=\lambda+3$. With the least $\tau$ that (M)
allows, which is certified, the bound with $A_3$ alone, and with $A_1$ and $A_2$ alone, is below the
trivial $r_{\max}T$ at $10^{x+0.05}$ steps and not at $10^{x-0.05}$, for these $x$:

| | tandem | overload | stable |
| --- | --- | --- | --- |
| with $A_3$ | <<with_third:cells>> |
| with $A_1$, $A_2$ | <<with_others:cells>> |
| $\tau$ at $T=10^7$ | <<modules:cells>> |
| bound at $T=10^7$, per cent of $r_{\max}T$ | <<at_7:cells>> |

That the model always improves the bound is false: even where $A_1$ and $A_2$ begin to say something, at
$10^{x+0.05}$ steps for the $x$ of the second row, the smallest of $A_1,A_2,A_3$ is $<<smallest>>$ in all
three; and with $b_k$ alone as the index $A_3$ needs neither Norton's theorem nor a model.
""",
    claimed={
        "index": _INDICES[0],
        "fixed": "2",
        "doubled": "1",
        "cut": "1",
        "lead": "4",
        "pinsker": "2",
        "sequence": _ROOTS[0],
        "few": "16",
        "logs": "16/3",
        "visits": "8",
        "direct": _DIRECT[0],
        "with_third": "5.5, 6.2, 6.3",
        "with_others": "7.2, 9.1, 8.5",
        "modules": "202, 686, 964",
        "at_7": "20.8, 42.2, 50.2",
        "smallest": _SMALLEST[0],
    },
    meaning={
        "index": "which of the two lower limits of a threshold's cost decides",
        "fixed": "steps for failures and for what (M) leaves",
        "doubled": "episodes of a threshold before its steps double",
        "cut": "episodes cut off at T",
        "lead": "constant of A_1",
        "pinsker": "constant of A_2",
        "sequence": "constant of the lemma on sequences that double at most",
        "few": "steps at a number of jobs met seldom, over tau L",
        "logs": "constant of the logarithm in A_1",
        "visits": "expected visits from which on a number of jobs is met often, over tau L",
        "direct": "constant of A_3",
        "with_third": "exponents of T from which A_3 is below the trivial bound",
        "with_others": "exponents of T from which A_1 or A_2 is",
        "smallest": "smallest of the three where A_1 or A_2 begins to say something",
    },
    rests_on=[
        "admission.norton_sum_policy",
        "admission.threshold_gain",
        "admission.perturbation_identity",
        "admission.increment_bounds",
        "admission.sample_law",
        "admission.kl_radius",
    ],
    parts={
        "episodes": "the number of episodes",
        "steps": "ramps, first episodes, failures, and what is left",
        "optimism": "two gaps at the threshold played",
        "model": "the gap of the model",
        "sums": "sums over episodes and numbers of jobs",
        "direct": "the gap of the costs met",
        "horizons": "when the bound says something",
    },
    uncovered=(
        "that sums over episodes of the steps shown are the sums stated, by induction; that the bounds "
        "decrease in T beyond the horizons shown; what the lemmas leave uncovered (classical "
        "inequalities). The weights f of the table are found by a search and then used exactly: other f "
        "may do better"
    ),
)


@cache
def most_episodes(limit: int, rounds: int) -> tuple[int, int]:
    """Episodes, and steps over tau, of S + 1 thresholds played in turn for so many rounds.

    Played as seldom as possible each threshold costs least, so that no order of play has more episodes
    in as many steps.
    """
    recorded = [0] * (limit + 1)
    steps = episodes = 0
    for _ in range(rounds):
        for theta in range(limit + 1):
            length = max(1, recorded[theta])
            recorded[theta] += length
            steps += 1 + length
            episodes += 1
    return episodes, steps


@regret_theorem.check(
    method="smt",
    scope="general",
    part="episodes",
    false=[{"doubled": "0.9"}, {"cut": "0"}],
)
def doublings_of_a_threshold(doubled: str, cut: str) -> Finding:
    """Steps recorded for a threshold are tau, then double (z3); logarithms are concave (SymPy, Arb).

    With m thresholds and y = T/(m tau) the full episodes are at most m(1 + log2 y), which grows with m
    while y >= e/2, and at most T/(2 tau). Thresholds played in turn refute smaller numbers.
    """
    import sympy
    import z3

    from checks.methods.certified import ball
    from checks.methods.smt import implies, real
    from checks.methods.symbolic import identity

    first, last = Fraction(doubled), Fraction(cut)
    for limit in (1, 4):
        episodes, steps = most_episodes(limit, 14)
        # One step more begins another episode, which is cut off.
        ratio = Fraction(steps + 1, limit + 1)
        bound = (limit + 1) * (ball(first) + ball(ratio).log() / ball(2).log()) + ball(last)
        if bound < episodes + 1:
            return refuted(
                f"S = {limit}, tau = 1, thresholds in turn: {episodes + 1} episodes in {steps + 1} "
                f"steps, above {bound.str(8, radius=False)}"
            )
    n, tau, m, limit, x, log, count = z3.Reals("n tau m S x log2(x) full")
    arms, total = sympy.symbols("m T", positive=True)
    grows = sympy.diff(arms * (1 + sympy.log(total / arms) / sympy.log(2)), arms)
    steps = [
        implies([tau > 0, n == 0], n + z3.If(n >= tau, n, tau) == tau, "first episode"),
        implies([tau > 0, n >= tau], n + z3.If(n >= tau, n, tau) == 2 * n, "later episodes double"),
        exponential_above_line(),  # log y <= y - 1: the mean of logarithms is at most that of the mean
        identity(
            grows,
            1 + (sympy.log(total / arms) - 1) / sympy.log(2),
            "derivative in m, at least 0 for T/m >= e/2",
        ),
        implies(
            [limit >= 1, x >= 1, x <= real("1.36"), log >= 0, 2 * count <= (limit + 1) * x],
            count + real(cut) <= (limit + 1) * (real(doubled) + log) + real(cut),
            "short horizons, 2 tau steps an episode",
        ),
        implies(
            [limit >= 1, x > 0, x < 1, 2 * count <= (limit + 1) * x],
            count <= (limit + 1) * real(doubled),
            "horizons below (S + 1) tau",
        ),
        implies([m >= 0], m + 1 <= m + real(cut), "the episode that is cut off"),
    ]
    if not ball(1).exp() / 2 < ball("1.36"):
        return undecided("e/2 < 1.36")
    if first < 1:
        return undecided(f"doublings with {doubled}")
    return combine(steps, "K <= (S + 1)(1 + log2 T/((S + 1) tau)) + 1")


@regret_theorem.check(method="smt", scope="general", part="steps", false={"fixed": "1"})
def what_is_no_gap(fixed: str) -> Finding:
    """Add up in units of r_max: a step costs 1 at most, (M) leaves T^-2 a step, a failure T/T (z3).

    A recorded step is drawn after tau - 1 steps under the episode's threshold, from whatever state, so
    its mean cost is within T^-2 U r_max of the stationary one: no Markov property of the total is used.
    """
    import z3

    from checks.methods.smt import implies, real

    horizon, tau, k, s, epsilon, fails, gaps = z3.Reals("T tau K S epsilon P(failure) gaps")
    ramps, firsts, excess, failure = z3.Reals("ramps first_episodes excess failure")
    return combine(
        [
            as_stated(sample_law, ramp=r"\tau-1", rule="when it starts"),
            as_stated(kl_radius, exponent="2"),
            implies(
                [
                    *(horizon >= 4, tau >= 1, k >= 1, s >= 1, gaps >= 0),
                    *(epsilon * horizon * horizon == 1, fails * horizon <= 1, fails >= 0),
                    *(ramps <= k * tau, firsts <= (s + 1) * tau),
                    *(excess * horizon <= 1, failure <= 1),
                ],
                ramps + firsts + excess + failure + gaps <= real(fixed) + (k + s + 1) * tau + gaps,
                "sum of the five",
            ),
            implies(
                [horizon >= 4, epsilon * horizon * horizon == 1],
                horizon * epsilon * horizon == 1,
                "T steps of T^-2",
            ),
        ],
        "ramps K tau, first episodes (S + 1) tau, failures 1, what (M) leaves 1/T",
    )


@regret_theorem.check(method="smt", scope="general", part="optimism", false={"index": _INDICES[1]})
def gaps_of_both_indices(index: str) -> Finding:
    """The threshold played has an index of at most the best cost, and so both its limits are (z3).

    That the limits are below the true costs is item 3 of `perturbation_identity` and (iii) of
    `kl_radius`.
    """
    import z3

    from checks.methods.smt import implies

    a, b, a_best, b_best, cost, best = z3.Reals("a(th_k) b(th_k) a(th*) b(th*) c(th_k) c*")
    larger = one_of("index", index, *_INDICES) == _INDICES[0]

    def both(x: z3.ArithRef, y: z3.ArithRef) -> z3.ArithRef:
        return z3.If((x >= y) if larger else (x <= y), x, y)

    return combine(
        [
            as_stated(
                perturbation_identity, order=r"\tilde{\bar c}\le\bar c", policies="thresholds"
            ),
            as_stated(kl_radius, hoeffding="2"),
            as_stated(threshold_gain, rates="positive"),  # c* is the best of all such policies
            implies(
                [a_best <= best, b_best <= best, both(a, b) <= both(a_best, b_best)],
                z3.And(cost - best <= cost - a, cost - best <= cost - b),
                "the excess of the threshold played",
            ),
        ],
        "c(th_k) - c* is at most the gap of the model and that of the costs met",
    )


def _value(text: str) -> tuple[bool, Fraction]:
    """Whether a constant contains the root of 2, and its rational part."""
    return r"\sqrt2" in text, Fraction(text.replace(r"+\sqrt2", ""))


@regret_theorem.check(
    method="smt",
    scope="general",
    part="model",
    false=[
        {"visits": "7.5"},
        {"few": "15"},
        {"lead": "3.9"},
        {"logs": "5"},
        {"pinsker": "1.9"},
    ],
)
def gap_at_a_number_of_jobs(visits: str, few: str, lead: str, logs: str, pinsker: str) -> Finding:
    """Visits from below, the widths with them, and what is left where visits are few (z3).

    With M = M_k(s) >= 8 tau L the samples are at least M/2, so x(u - p) is at most
    4 sqrt(p tau L) x/sqrt(M) + (16/3) tau L x/M; below 8 tau L the steps before M doubles once more are
    counted. Judged is the inference: smaller constants are refuted by numbers that agree with lemmas.
    """
    import z3

    from checks.methods.certified import ball, ends
    from checks.methods.smt import implies, real

    often, seldom, first, log, second = (real(text) for text in (visits, few, lead, logs, pinsker))
    kappa = z3.Real("kappa")
    floor = ends(1 - ball(-1).exp())[0]
    if not ball(9 * 2 * 16).log() > 5:
        return undecided("L > 5")
    m, n, level, horizon, x, steps, nu = z3.Reals("M N tau*L T x n nu")
    eta, p, wide, root_p, root_eta, root8, ratio, root2 = z3.Reals(
        "eta p u-p sqrt(p) sqrt(eta) sqrt(8) tau*L/M sqrt(2)"
    )
    root_ratio = z3.Real("sqrt(tau*L/M)")
    roots = [
        *(root_p >= 0, root_p * root_p == p, root_eta >= 0, root_eta * root_eta == eta),
        *(root_ratio >= 0, root_ratio * root_ratio == ratio, root2 > 0, root2 * root2 == 2),
    ]
    many = [eta >= 0, ratio > 0, eta <= 2 * ratio, p > 0, p < 1]
    step = [root_eta <= root2 * root_ratio]
    return combine(
        [
            as_stated(increment_bounds, projected="nondecreasing", queue="nondecreasing"),
            as_stated(perturbation_identity, which="second"),
            as_stated(kl_radius, first="8", second="8/3", pinsker="2", kappa="1-e^{-1}"),
            implies(
                [
                    *(kappa >= real(floor), kappa <= 1, level >= 5, horizon >= 4),
                    *(
                        m >= often * level,
                        n * horizon >= kappa * (m * horizon - 1) - level * horizon,
                    ),
                ],
                2 * n >= m,
                "half of the expected visits",
            ),
            implies(
                [m >= 0, x >= 0, x <= m, m < often * level, level > 0],
                m + x <= seldom * level,
                "steps while visits are few",
            ),
            implies(
                [steps >= 0, nu >= 0, m >= steps * nu, x == steps * nu],
                x <= m,
                "fixed lengths: no more steps than before",
            ),
            implies([*roots, *many], root_eta <= root2 * root_ratio, "sqrt(eta)"),
            implies(
                [
                    *(*roots, *many, *step, root8 == 2 * root2),
                    wide <= root8 * root_p * root_eta + real("8/3") * eta,
                ],
                wide <= first * root_p * root_ratio + log * ratio,
                "width",
            ),
            implies(
                [*roots, *many, *step, wide <= root2 * root_eta],
                wide <= second * root_ratio,
                "width by Pinsker's inequality",
            ),
        ],
        "x(u - p) in terms of expected visits",
    )


@regret_theorem.check(method="smt", scope="general", part="sums", false={"sequence": _ROOTS[1]})
def sequences_that_double_at_most(sequence: str) -> Finding:
    """Roots telescope: x/sqrt(M) <= c (sqrt(M+x) - sqrt(M)); x/M <= log2(1 + x/M); Cauchy-Schwarz.

    x is at most M. The second compares a concave function with its chord, equal at 0 and 1; the third is
    an identity for one term more. A smaller constant than 1 + sqrt(2) is refuted by M = x.
    """
    import sympy
    import z3

    from checks.methods.smt import implies, real
    from checks.methods.symbolic import identity

    rooted, rest = _value(one_of("sequence", sequence, *_ROOTS))
    before, after, root = z3.Reals("sqrt(M) sqrt(M+x) sqrt(2)")
    two = [root > 0, root * root == 2]
    y = sympy.symbols("y", positive=True)
    total, more, weight, part = sympy.symbols("F B a_f a_B", positive=True)
    log2 = sympy.log(1 + y) / sympy.log(2)
    curvature = sympy.diff(log2, y, 2)
    if not (curvature.is_negative and log2.subs(y, 0) == 0 and log2.subs(y, 1) == 1):
        return undecided("log2(1 + y) against y")
    return combine(
        [
            implies(
                [*two, before > 0, after >= before, after * after <= 2 * before * before],
                (after + before) * (after - before)
                <= ((1 + root) if rooted else real(rest)) * before * (after - before),
                "x/sqrt(M) telescopes",
            ),
            identity(
                (total**2 + weight**2) * (more**2 + part**2) - (total * more + weight * part) ** 2,
                (total * part - weight * more) ** 2,
                "Cauchy-Schwarz, one term more",
            ),
            as_stated(sample_law, rule="when it starts"),
        ],
        f"roots telescope with {sequence}, shares with log2",
    )


@regret_theorem.check(
    method="symbolic",
    scope="general",
    part="direct",
    false=[{"direct": _DIRECT[1]}, {"sequence": _ROOTS[1]}],
)
def gap_of_the_costs_met(direct: str, sequence: str) -> Finding:
    """2 sqrt(tau L/(2n)) a step, summed as before: sqrt(2)(1 + sqrt(2)) times the roots of n(theta).

    These add up to sqrt((S+1) T) at most. A smaller constant is refuted as an inference, by a threshold
    whose steps have doubled at each episode.
    """
    import sympy

    from checks.methods.certified import ball
    from checks.methods.symbolic import identity

    def number(text: str) -> sympy.Expr:
        rooted, rest = _value(text)
        return sympy.Rational(rest.numerator, rest.denominator) + (sympy.sqrt(2) if rooted else 0)

    if one_of("sequence", sequence, *_ROOTS) == _ROOTS[1]:
        if ball("2.41") * (ball(2).sqrt() - 1) < 1:
            return refuted("M = x = 1: x/sqrt(M) = 1, 2.41 (sqrt(2) - 1) is less")
        return undecided("2.41 (sqrt(2) - 1) against 1")
    tau_l, n, horizon = sympy.symbols("tauL n T", positive=True)
    a_step = 2 * sympy.sqrt(tau_l / (2 * n))
    lead = number(one_of("direct", direct, *_DIRECT))
    if direct == _DIRECT[1]:
        # K episodes of one threshold, each as long as all before: sum of l/sqrt(n) over sqrt(n_T).
        doubled = sum(ball(2) ** k / (ball(2) ** k).sqrt() for k in range(60))
        worst = ball(2).sqrt() * doubled / (ball(2) ** 60).sqrt()
        if worst > ball(direct):
            return refuted(
                f"one threshold, steps doubled 60 times: the radii add up to "
                f"{worst.str(8, radius=False)} sqrt(tau L T), above {direct}"
            )
        return undecided(f"constant {direct}")
    return combine(
        [
            as_stated(kl_radius, hoeffding="2"),
            identity(a_step, sympy.sqrt(2) * sympy.sqrt(tau_l / n), "twice the radius"),
            identity(lead, sympy.sqrt(2) * number(sequence), "constant"),
            identity(horizon * 2 * horizon**-2, 2 / horizon, "2 r_max T^-2 a step, from (iii)"),
        ],
        "A_3",
    )


def falls_below_one(
    share: Callable[[Fraction], arb], text: str, name: str, case: str, what: str = ""
) -> list[Finding]:
    """Whether a bound over r_max T falls below 1 at T = 10^x, where x is a printed decimal.

    Parameters
    ----------
    share : callable
        From x, a Fraction, to a ball around the bound over r_max T.
    text : str
        The exponent, a plain decimal.
    name : str
        How the exponent is called.
    case, what : str
        Where, and which bound, for the witnesses.

    Returns
    -------
    list of Finding
        Half a unit of the last digit before x the bound is above 1; half a unit after x it is below.

    Raises
    ------
    ValueError
        If the text is no plain decimal with a point.
    """
    middle, half = as_printed_decimal(name, text)
    before, after = share(middle - half), share(middle + half)

    def told(exponent: Fraction, value: arb) -> str:
        shown = f"{what}{value.str(5, radius=False)} r_max T"
        return f"{case}, T = 10^{decimal(exponent, 2)}: {shown}"

    return [
        settle(before > 1, before < 1, told(middle - half, before)),
        settle(after < 1, after > 1, told(middle + half, after)),
    ]


_EXPONENTS = Fraction(1, 20)


def _power_of_ten(exponent: Fraction) -> int:
    """10^exponent, cut off to an integer; for exponents with two decimals."""
    from checks.methods.certified import ball, ends, precision

    with precision(200):
        low, high = (int(end) for end in ends(ball(10) ** ball(exponent)))
    if low != high:
        raise ArithmeticError(f"10^{exponent} is too close to an integer")
    return low


@regret_theorem.check(
    method="certified",
    scope="general",
    part="horizons",
    false=[
        {"with_third": "5.5, 6.1, 6.3"},
        {"with_others": "7.3, 9.1, 8.5"},
        {"modules": "200, 686, 964"},
        {"at_7": "20.8, 42.3, 50.2"},
        {"smallest": _SMALLEST[1]},
    ],
)
def where_the_bound_says_something(
    with_third: str, with_others: str, modules: str, at_7: str, smallest: str
) -> Finding:
    """Certify tau at each horizon (Arb), then enclose the bound there.

    The part is about three networks, so it is decided whole.
    """
    from checks.methods.certified import precision, rounds_to

    one_of("smallest", smallest, *_SMALLEST)
    thirds = one_for_each("with_third", with_third, *CERTIFIED)
    others = one_for_each("with_others", with_others, *CERTIFIED)
    stated_modules = one_for_each("modules", modules, *CERTIFIED)
    shares_at_7 = one_for_each("at_7", at_7, *CERTIFIED)
    found = []
    for i, name in enumerate(CERTIFIED):
        known = constants_of(certified_case(name)[2])

        def at(horizon: int, name: str = name, known: Constants = known) -> Shares:
            with precision(128):
                return shares(known, horizon, module_of(name, horizon))

        def share(which: str, exponent: Fraction, at: Callable[[int], Shares] = at) -> arb:
            one = at(_power_of_ten(exponent))
            return one.fixed + (one.third if which == "A_3" else one.first.min(one.second))

        for text, which in ((thirds[i], "A_3"), (others[i], "A_1 or A_2")):
            if as_printed_decimal("exponent", text)[1] != _EXPONENTS:
                raise ValueError(f"exponent = {text!r}: must have one decimal each")
            found += falls_below_one(
                partial(share, which), text, "exponent", name, f"the bound with {which} is "
            )
        tau = module_of(name, 10**7)
        stated = stated_modules[i]
        found.append(
            decide(
                stated == str(tau),
                f"{name}: tau = {tau}",
                f"{name}: the least tau is {tau}, not {stated}",
            )
        )
        value = 100 * at(10**7).total
        told = f"{name}, T = 10^7: {value.str(6, radius=False)} per cent"
        found.append(rounds_to(value, shares_at_7[i], "at_7", told, told))
        late = at(_power_of_ten(Fraction(others[i]) + _EXPONENTS))
        three = dict(zip(_SMALLEST, (late.third, late.first, late.second), strict=True))
        least = three.pop(smallest)
        told = f"{name}, later: " + ", ".join(
            f"{key} = {value.str(4, radius=False)} r_max T"
            for key, value in {smallest: least, **three}.items()
        )
        smaller = all(least < other for other in three.values())
        found.append(settle(smaller, any(least > other for other in three.values()), told))
    return combine(found, f"{len(found)} comparisons in three networks")
