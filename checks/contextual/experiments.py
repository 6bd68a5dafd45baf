"""The source's experiments: what their formula for tau says, and what is seen in them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from checks.claim import Claim, Source
from checks.contextual.evidence.experiments import (
    ARRIVAL_RATE,
    BASE_EXPLORATION,
    DECAYING,
    HORIZON,
    SETTINGS,
    SMALL,
    SWEEPS,
    decay,
    experiments,
    random_pairs,
    sweeps,
)
from checks.contextual.instances import SOURCE
from checks.finding import (
    Finding,
    combine,
    decide,
    estimate,
    one_of,
    proved,
    refuted,
    settle,
    undecided,
)
from checks.judging import one_for_each, unfit
from checks.methods.statistical import at_least, at_most, equals, most_runs

if TYPE_CHECKING:
    from flint import arb

    from simlib.estimate import Estimate

# The formula for tau -------------------------------------------------------------------------------

tau_of_the_experiments = Claim(
    "contextual.tau_of_the_experiments",
    title="The experiments' formula for tau takes most of the run in <<most>> of nine settings",
    source=Source(SOURCE, "Section 7 and Appendix A", provenance="ours"),
    kind="proposition",
    statement=r"""
In the experiments of the source CQB-$\varepsilon$ begins with
$$\tau=3\cdot10^{-4}\,d^3\ln(T)\,\frac K{\lambda\,(\epsilon-2T^{-1/2})^2}$$
rounds of pure exploration, where $d$ is the dimension of the contexts, $K$ the number of servers,
$\lambda=0.7$ the arrival rate, $\epsilon$ the slack and $T=5000$ the number of rounds. Its integer
part is

- for $K=d=5$ and $\epsilon=0.05,\ 0.1,\ 0.15$: <<slack>>;
- for $\epsilon=0.1$, $d=5$ and $K=3,5,7,9$: <<servers>>;
- for $\epsilon=0.1$, $K=5$ and $d=3,5,10,20$: <<dimension>>.

These are nine settings, as one of them is in every list; in <<most>> of them $\tau>T/2$. Among the
slacks $\epsilon>2T^{-1/2}$ (others leave no room for the exploration after $\tau$) the formula asks for
$K=d=5$ for less than all $T$ rounds only above $\epsilon=<<least_slack>>$ (to the digits shown), and
for $\epsilon=0.1$, $K=5$ only for $d\le<<largest_dimension>>$.
""",
    claimed={
        "slack": "4837, 443, 153",
        "servers": "266, 443, 621, 798",
        "dimension": "95, 443, 3548, 28389",
        "most": "3",
        "least_slack": "0.0496",
        "largest_dimension": "11",
    },
    meaning={
        "slack": "rounds of pure exploration as the slack varies",
        "servers": "rounds of pure exploration as the number of servers varies",
        "dimension": "rounds of pure exploration as the dimension varies",
        "most": "settings in which tau is more than half of the run",
        "least_slack": "slack at which tau = T",
        "largest_dimension": "largest dimension with tau below T",
    },
    parts={"table": "eleven values", "limits": "where exploration fills the run"},
    uncovered="which tau the authors ran: the formula is what is printed, and its logarithm is taken "
    "to be the natural one",
)


def _exploration(slack: Fraction, dimension: int, servers: int) -> arb:
    """The formula as a ball, in rounds."""
    from checks.methods.certified import ball

    room = ball(slack) - 2 / ball(HORIZON).sqrt()
    scale = Fraction(3, 10**4) * dimension**3 * servers / _RATE
    return ball(scale) * ball(HORIZON).log() / room**2


_RATE = Fraction(str(ARRIVAL_RATE))


@tau_of_the_experiments.check(
    method="certified",
    scope="general",
    part="table",
    false=[
        {"slack": "4838, 443, 153"},
        {"servers": "266, 443, 620, 798"},
        {"dimension": "95, 443, 3549, 28389"},
        {"most": "2"},
    ],
)
def integer_parts(slack: str, servers: str, dimension: str, most: str) -> Finding:
    """Enclose the formula in the settings of the sweeps (Arb) and compare with the whole numbers.

    The part is about these settings, so it is decided whole. 3549 is what d = 10 rounds to.
    """
    from checks.methods.certified import ball, precision, quantity

    found, long = [], {}
    stated = {"slack": slack, "servers": servers, "dimension": dimension}
    with precision(96):
        for name, text in stated.items():
            numbers = one_for_each(name, text, *SWEEPS[name])
            for case, number in zip(SWEEPS[name], map(int, numbers), strict=True):
                gap, d, k = Fraction(str(case[0])), *case[1:]
                value = _exploration(gap, d, k)
                told = f"slack {float(gap)}, d = {d}, K = {k}: {value.str(8, radius=False)}"
                long[case] = bool(value > HORIZON // 2)
                key = f"tau, {name} {case[('slack', 'dimension', 'servers').index(name)]}"
                found.append(
                    settle(
                        value > ball(number) and value < ball(number + 1),
                        value < ball(number) or value > ball(number + 1),
                        told,
                        f"{told}, not {number} and a fraction",
                        **{key: quantity(value, 12)},
                    )
                )
        over = sum(long.values())
        text = f"tau is more than half of the run in {over} of {len(long)} settings"
        found.append(decide(over == int(most), text, text))
    return combine(found, f"{len(found) - 1} values")


@tau_of_the_experiments.check(
    method="certified",
    scope="general",
    part="limits",
    false=[{"least_slack": "0.0497"}, {"largest_dimension": "12"}, {"largest_dimension": "10"}],
)
def where_exploration_fills_the_run(least_slack: str, largest_dimension: str) -> Finding:
    """Solve tau = T for the slack, and enclose tau at the dimension stated and the next (Arb).

    tau falls with the slack from 2 T^(-1/2) on and grows with the dimension: the room between the slack
    and 2 T^(-1/2) appears in a denominator only, the dimension as a cube.
    """
    from checks.methods.certified import ball, precision, quantity, rounds_to

    d = int(largest_dimension)
    with precision(96):
        scale = ball(Fraction(3, 10**4) * 125 * 5 / _RATE) * ball(HORIZON).log()
        slack = 2 / ball(HORIZON).sqrt() + (scale / HORIZON).sqrt()
        at, after = (_exploration(Fraction(1, 10), one, 5) for one in (d, d + 1))
        text = (
            f"d = {d}: {at.str(6, radius=False)} rounds, d = {d + 1}: {after.str(6, radius=False)}"
        )
        return combine(
            [
                rounds_to(
                    *(slack, least_slack, "least_slack"),
                    f"tau = T at the slack {slack.str(8, radius=False)}",
                    **{"slack with tau = T": quantity(slack, 12)},
                ),
                settle(at < HORIZON, at > HORIZON, text),
                settle(after > HORIZON, after < HORIZON, text),
            ]
        )


# The queues of Figure 2 ------------------------------------------------------------------------------

_MEANS = ("the jobs that wait", "new jobs")
_TOLERANCE = 0.004  # jobs per round: a good half of the difference between both rates

queues_of_the_experiments = Claim(
    "contextual.queues_of_the_experiments",
    title="In the experiment as we read it queues grow without contexts; a small bonus brings them back",
    source=Source(SOURCE, "Section 7, Figure 2 (left)", provenance="reconstructed"),
    kind="proposition",
    statement=r"""
$T=5000$, $\lambda=0.7$, $\epsilon=0.1$, $K=d=5$, $\kappa=10$. An instance is drawn at random: parameters
$\theta_k$ are uniform vectors of $[-1,1]^5$ rescaled to the length at which $\kappa=10$, contexts such
vectors rescaled to length 1 and drawn again until some server has rate $\lambda+\epsilon$ or more.
Learners have $\lambda_0=1$, $\delta=1/T$ and the source's width of `contextual.confidence_width`;
CQB-$\varepsilon$ explores for the $\tau$ of `contextual.tau_of_the_experiments`, then at the rate
$T^{-1/2}$.

1. *The random policy.* Let $m(x)$ be the rate of a job $x$ at a random server. On average over instances
   the jobs that leave per round, from round 1001 to $T$, are the mean rate of <<mean>>, to within
   $0.004$. For jobs that wait it is $\lambda-g$, where the growth $g\ge0$ of the queue solves
   $\lambda\,E\,\frac1{g+m(x)}=1$ ($g=0$ if nothing does); for new jobs, $E\,m(x)$, it is larger:
   slow jobs stay.
2. *Q-UCB and Q-ThS*, which look at no context: over the same rounds their queues grow by at least
   <<blind>> jobs per round on average.
3. *CQB-Opt and CQB-$\varepsilon$*, with <<scale>> times the width, are back at the
   optimum: in most instances (with probability above $1/2$) their queue, averaged over the rounds 1600,
   1700, ..., $T$, is at most <<close>> job longer than that of the optimal policy on the same jobs
   and service uniforms. With the full width both are further away in most instances.
""",
    claimed={"mean": _MEANS[0], "blind": "0.08", "scale": str(SMALL), "close": "1"},
    meaning={
        "mean": "whose mean rate is the rate of departures",
        "blind": "growth without contexts, jobs per round",
        "scale": "what the width is multiplied by",
        "close": "jobs above the optimum, from round 1600 on",
    },
    parts={"growth": "policies without contexts", "return": "the learners"},
    rests_on=["contextual.tau_of_the_experiments"],
    uncovered="a proof that the queue of the random policy grows like g t (the equation is a heuristic "
    "balance, compared with runs); that means over instances are normal, as the t intervals of both "
    "growths suppose; the lost details of the source, see the chapter; at quick effort "
    "estimates are renewed when a server's attempts have grown by 5%, at full effort after each attempt",
)


@queues_of_the_experiments.check(
    method="statistical",
    scope="instances",
    part="growth",
    false={"mean": _MEANS[1]},
    uses=random_pairs,
    alpha=1e-7,
)
def departures_of_the_random_policy(runs, mean: str) -> Finding:
    """Compare departures with both mean rates, instance by instance, to 0.004 jobs per round.

    400 instances (quick), 4,000 (full); t interval, as a run averages over 4,000 rounds. Standard
    deviation of a difference 0.009, half-width 0.0025 at quick effort; the two rates differ by 0.008, so
    that 0.004 separates them.
    """
    from simlib.estimate import mean_normal

    rate = {_MEANS[0]: "waiting", _MEANS[1]: "fresh"}[one_of("mean", mean, *_MEANS)]
    difference = runs["departures"] - runs[rate]
    name = f"departures per round less the mean rate of {mean}"
    bad = unfit(difference, random_pairs, name)
    return bad or equals(mean_normal(difference, 1e-7), 0.0, _TOLERANCE, name)


@queues_of_the_experiments.check(
    method="statistical",
    scope="instances",
    part="growth",
    false={"blind": "0.25"},
    uses=experiments,
    alpha=2e-7,
)
def growth_without_contexts(runs, blind: str) -> Finding:
    """Growth of the queues of Q-UCB and Q-ThS from round 1000 to 5000, on average over instances.

    32 instances (quick), 200 (full); t interval, alpha halved. Mean about 0.15 with standard deviation
    0.04 over instances: half-width 0.05 at quick effort.
    """
    from simlib.estimate import mean_normal

    rounds, found = runs["rounds"], []
    for key, name in (("q_ucb", "Q-UCB"), ("q_ths", "Q-ThS")):
        first, last = (runs[key][:, rounds == t][:, 0] for t in (1_000, HORIZON))
        growth = (last - first) / (HORIZON - 1_000)
        name = f"growth of {name}, jobs per round"
        bad = unfit(growth, experiments, name)
        found.append(bad or at_least(mean_normal(growth, 1e-7), float(blind), name))
    return combine(found)


def _excess(runs: Any, key: str, start: int) -> Any:
    """Mean of Q(t) - Q*(t) over the recorded rounds after ``start``, for each run."""
    late = runs["rounds"] > start
    return (runs[key] - runs["optimal"])[:, late].mean(axis=1)


@queues_of_the_experiments.check(
    method="statistical",
    scope="instances",
    part="return",
    false=[{"scale": "1"}, {"close": "100"}],
    uses=experiments,
    alpha=4e-7,
)
def back_at_the_optimum(runs, scale: str, close: str) -> Finding:
    """Count the instances in which a learner's queue is near that of the optimal policy.

    It is with the small width, and is not with the full one. 32 instances (quick), 200 (full), four
    exact binomial intervals, alpha divided among them. Nearness of 100 jobs is refuted by the full width
    of CQB-Opt, which is that near in nearly all instances.
    """
    kind = {str(SMALL): "_small", "1": ""}[one_of("scale", scale, str(SMALL), "1")]
    bound, found = float(close), []
    for key, name in (("opt", "CQB-Opt"), ("eps", "CQB-ε")):
        near, far = _excess(runs, key + kind, 1_500), _excess(runs, key, 1_500)
        near_name, far_name = (
            f"jobs above the optimum, {name}, {width}"
            for width in (f"{scale} of the width", "full width")
        )
        bad = unfit(near, experiments, near_name) or unfit(far, experiments, far_name)
        found += [
            bad or most_runs(near, lambda x: x <= bound, 1e-7, near_name, f"at most {close}"),
            bad or most_runs(far, lambda x: x > bound, 1e-7, far_name, f"more than {close}"),
        ]
    return combine(found)


# The sweeps of Figures 2 and 3 ---------------------------------------------------------------------

_NONE = "none"
_SIZES = ("larger", "smaller")
_QUICK_SWEEPS = sweeps.parameters("quick")["runs"]

sweeps_of_the_experiments = Claim(
    "contextual.sweeps_of_the_experiments",
    title="In the sweeps CQB-epsilon is far above the optimum only where its tau fills most of the run",
    source=Source(SOURCE, "Section 7 and Appendix A, Figures 2 and 3", provenance="ours"),
    kind="proposition",
    statement=r"""
Instances as in `contextual.queues_of_the_experiments`, in nine settings: $\epsilon=0.1$, $K=d=5$, and
with one of them changed, $\epsilon=0.05,0.15$, $K=3,7,9$ or $d=3,10,20$. Bonus 0.02 of the width. How
many jobs more than that of the optimal policy has the queue of a learner, on average over instances and
the rounds 4600, 4700, ..., $T=5000$? With a line drawn at <<line>> jobs:

1. CQB-Opt is above the line in <<opt>> of the nine settings.
2. CQB-$\varepsilon$ with $\tau$ by the formula of `contextual.tau_of_the_experiments` is above it with
   <<formula>>, and only there. With slack 0.05 and with $d=20$ its queue at the end is at least
   <<share>> times that of the random policy, on average.
3. CQB-$\varepsilon$ with the $\tau=443$ of the unchanged setting in place of the formula's is above the
   line with <<fixed>> of those three.
4. CQB-Opt does get worse with $K$: of two instances drawn independently, with $K=3$ and with $K=9$, with
   probability above $1/2$ the <<worse>> one has the greater mean of $Q(t)-Q^*(t)$ over
   $t=100,200,\dots,T$. At full effort so it is with $d=3$ and $d=20$.
""",
    claimed={
        "line": "10",
        "opt": _NONE,
        "formula": "slack 0.05, d 10, d 20",
        "fixed": _NONE,
        "share": "0.8",
        "worse": _SIZES[0],
    },
    meaning={
        "line": "jobs above the optimum that separate the settings",
        "opt": "settings in which CQB-Opt is above it",
        "formula": "settings in which CQB-epsilon is above it",
        "fixed": "the same with 443 rounds of pure exploration",
        "share": "queue at the end over that of the random policy",
        "worse": "which of two instances is further above its optimum",
    },
    rests_on=["contextual.tau_of_the_experiments"],
    uncovered="other bonuses, and what the source ran; that means over instances are normal, as the t "
    "intervals of points 1 to 3 suppose; at quick effort whether CQB-Opt gets worse with d. Estimates "
    "are renewed when a server's attempts have grown by 10% (quick) or 5% (full). With $d=20$, where "
    "tau is longer than the run, CQB-epsilon explores in all rounds but the last",
)

_VARIANTS = {"opt": "CQB-Opt", "eps": "CQB-ε", "short": f"CQB-ε, tau = {BASE_EXPLORATION}"}


def _above(runs: Any, variant: str, stated: str, line: float, alpha: float) -> Finding:
    """Whether a learner is above the line in the stated settings and below it in all others."""
    from simlib.estimate import mean_normal

    names = [one for one in SETTINGS if f"{variant}_{one}" in runs]
    above = set() if stated == _NONE else {one_of("setting", x, *names) for x in stated.split(", ")}
    late, found = runs["rounds"] > HORIZON - 500, []
    for one in names:
        excess = (runs[f"{variant}_{one}"] - runs[f"optimal_{one}"])[:, late].mean(axis=1)
        name = f"{_VARIANTS[variant]}, {one}"
        side = at_least if one in above else at_most
        bad = unfit(excess, sweeps, name)
        found.append(bad or side(mean_normal(excess, alpha), line, name, digits=2))
    return combine(found, f"{_VARIANTS[variant]}: {len(found)} settings, above the line: {stated}")


@sweeps_of_the_experiments.check(
    method="statistical",
    scope="instances",
    false=[
        {"opt": "d 20"},
        {"formula": "slack 0.05, d 20"},
        {"formula": "slack 0.05, K 9, d 10, d 20"},
        {"fixed": "d 20"},
        {"line": "1000"},
    ],
    uses=sweeps,
    alpha=9e-7,
)
def settings_above_the_line(runs, line: str, opt: str, formula: str, fixed: str) -> Finding:
    """Compare the late queues with the line, in every setting, by t intervals over instances.

    30 instances a setting (quick), 200 (full); 21 means share alpha. Half-widths are at most one job
    below the line, and above it the means are hundreds of jobs.
    """
    bound = float(line)
    return combine(
        [
            _above(runs, variant, stated, bound, 4e-8)
            for variant, stated in (("opt", opt), ("eps", formula), ("short", fixed))
        ]
    )


@sweeps_of_the_experiments.check(
    method="statistical",
    scope="instances",
    false={"share": "1.1"},
    uses=sweeps,
    alpha=1e-7,
)
def as_long_as_the_random_queue(runs, share: str) -> Finding:
    """Compare the last queue of CQB-epsilon with a share of the random policy's, instance by instance.

    t intervals, alpha halved, of the difference; it is about 90 jobs with slack 0.05, half-width 55 at
    quick effort.
    """
    from simlib.estimate import mean_normal

    found = []
    for one in ("slack 0.05", "d 20"):
        difference = runs[f"eps_{one}"][:, -1] - float(share) * runs[f"random_{one}"][:, -1]
        name = f"CQB-ε less {share} of random, {one}"
        bad = unfit(difference, sweeps, name)
        found.append(bad or at_least(mean_normal(difference, 5e-8), 0.0, name, digits=1))
    return combine(found)


@sweeps_of_the_experiments.check(
    method="statistical",
    scope="instances",
    false={"worse": _SIZES[1]},
    uses=sweeps,
    alpha=4e-7,
)
def larger_systems(runs, worse: str) -> Finding:
    """Pair the instances of two settings, which are independent, and count which is further above.

    Exact binomial intervals, alpha halved, for any law of the queues. 29 of 30 pairs are needed (quick);
    d = 3 and d = 20 are told apart that surely by the 200 of full effort only.
    """
    one_of("worse", worse, *_SIZES)
    every, found = runs["rounds"] % 100 == 0, []
    names = (("K 3", "K 9"), ("d 3", "d 20"))
    for few, many in names if len(runs["opt_K 3"]) > _QUICK_SWEEPS else names[:1]:
        excess = [
            (runs[f"opt_{one}"] - runs[f"optimal_{one}"])[:, every].mean(axis=1)
            for one in ((few, many) if worse == _SIZES[0] else (many, few))
        ]
        name = f"jobs further above the optimum, {worse} of {few} and {many}"
        more = excess[1] - excess[0]
        bad = unfit(more, sweeps, name)
        found.append(bad or most_runs(more, lambda x: x > 0, 2e-7, name, "more than 0"))
    return combine(found)


# The decay -----------------------------------------------------------------------------------------

_ORDERS = ("faster", "no faster")

measured_decay = Claim(
    "contextual.measured_decay",
    title="Up to the horizons run, measured regret falls <<order>> than T^(-<<power>>)",
    source=Source(SOURCE, "Theorem 5.5", provenance="ours"),
    kind="proposition",
    statement=r"""
Instances of Section 7 as in `contextual.queues_of_the_experiments`, bonus 0.02 of the width. Let
$\bar R_T$ be the mean of $Q(t)-Q^*(t)$ over instances and the last twentieth of $T$ rounds, both queues
on the same jobs and service uniforms. It falls faster than $T^{-p}$ over some horizons if
$T^p\bar R_T$ is at each later one below what it is at the first. For CQB-Opt and CQB-$\varepsilon$-Opt,
$\delta=1/T$, it falls <<order>> than $T^{-<<power>>}$ over $T=250,\ 1000,\ 4000,\ 16{,}000$ (at full
effort also $64{,}000$); at full effort so it does over $T=4000,\ 64{,}000$ for CQB-$\varepsilon$ and
CQB-$\eta$-2 (rate 1/40 until $\frac{19}{20}T$), $\delta=T^{-2}$.
""",
    claimed={"order": _ORDERS[0], "power": "1/4"},
    meaning={"order": "how the regret falls", "power": "power of T that is compared"},
    rests_on=["contextual.theorem_5_5"],
    uncovered="any exponent as T grows: a few horizons identify none, and the first hundreds of rounds, "
    "in which the servers become known, are part of what is compared. That means over instances are "
    "normal, as t intervals suppose. Instances have one law, so this neither supports nor contradicts "
    "bounds for the worst instance. Estimates are renewed when a server's attempts have grown by 20%. "
    "CQB-epsilon and CQB-eta-2 are judged at full effort only",
)


@measured_decay.check(
    method="statistical",
    scope="instances",
    false=[{"order": _ORDERS[1]}, {"power": "3"}],
    uses=decay,
    alpha=1e-6,
)
def first_and_last_horizon(runs, order: str, power: str) -> Finding:
    """Compare T^p times the mean regret at the first horizon with that at the later ones.

    Horizons have instances of their own (quick: 300, 400, 100 and 40); t intervals share alpha. Falling
    faster is proved if T^p times the regret is smaller at every later horizon, and refuted by one at
    which it is larger; for falling no faster it is the other way round.
    """
    p, found = float(Fraction(power)), []
    horizons = [int(one) for one in runs["horizons"]]
    for policy in ("opt", "eps_opt") if len(horizons) < len(DECAYING["opt"]) else DECAYING:
        where = [one for one in horizons if one in DECAYING[policy]]
        if where[0] != horizons[0]:
            where = [where[0], where[-1]]
        found.append(_falls(runs, policy, where, p))
    return (
        _negated(combine(found))
        if one_of("order", order, *_ORDERS) == _ORDERS[1]
        else combine(found)
    )


def _falls(runs: Any, policy: str, horizons: Iterable[int], power: float) -> Finding:
    from simlib.estimate import mean_normal

    means: dict[int, Estimate] = {}
    for horizon in horizons:
        sample = runs[f"{policy}_{horizon}"]
        bad = unfit(sample, decay, f"regret of {policy} at T = {horizon}")
        if bad:
            return bad
        means[horizon] = mean_normal(sample, 1e-6 / 18)
    first, *later = means
    shown = {
        f"regret of {policy}, T = {t}": estimate(one.value, one.low, one.high)
        for t, one in means.items()
    }
    start, ratio = means[first], {t: (t / first) ** power for t in later}
    text = f"{policy}: {start.value:.3f} jobs at T = {first}"
    for t in later:
        if ratio[t] * means[t].low > start.high:
            return refuted(f"{text}, {means[t].value:.3f} at T = {t}", **shown)
    text = ", ".join([text, *(f"{means[t].value:.3f} at T = {t}" for t in later)])
    if all(ratio[t] * means[t].high < start.low for t in later):
        return proved(text, **shown)
    return undecided(text, **shown)


def _negated(finding: Finding) -> Finding:
    """The finding on the opposite statement."""
    opposite = {"proved": refuted, "refuted": proved}.get(finding.outcome, undecided)
    return opposite(finding.witness, **finding.values)
