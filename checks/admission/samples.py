"""What one recorded sample tells of the rate of departures, and what a stopping rule does to it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from checks.admission.finite_chains import Chain
from checks.admission.instances import SOURCE, three_tiers
from checks.admission.norton import norton_sum_policy
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
    undecided,
)
from checks.judging import as_stated, misprint, one_for_each
from checks.methods.certified import rounds_to

if TYPE_CHECKING:
    from simlib.admission.network import Network


@dataclass(frozen=True, eq=False)
class Threshold:
    """A network under a threshold, step by step, in rationals.

    Attributes
    ----------
    totals : tuple of int
        Jobs in each state.
    leaving : tuple of Fraction
        Probability that a job leaves in a step, in each state.
    rates : tuple of Fraction
        mu(1), ..., mu(S).
    clock : Fraction
        U.
    chain : Chain
    """

    totals: tuple[int, ...]
    leaving: tuple[Fraction, ...]
    rates: tuple[Fraction, ...]
    clock: Fraction
    chain: Chain

    def after(self, steps: int) -> Iterator[tuple[list[Fraction], Fraction]]:
        """For each start, the law after so many steps and its distance to the stationary law."""
        rows, unit = self.chain.rows(steps)
        for row, far in zip(rows, self.chain.distances(steps), strict=True):
            yield [Fraction(int(p), unit) for p in row], far

    def share(self, law: Sequence[Fraction], s: int) -> tuple[Fraction, Fraction]:
        """Probability of s jobs, and of s jobs of which one leaves, under a law of the state."""
        at = [i for i, total in enumerate(self.totals) if total == s]
        zero = Fraction(0)
        return sum((law[i] for i in at), zero), sum((law[i] * self.leaving[i] for i in at), zero)


@cache
def chain_of(network: Network, limit: int, theta: int) -> Threshold:
    """The network with rational numbers that admits below theta; at most ``limit`` jobs at the start."""
    from simlib.admission.chain import stationary_exact, transition_matrix
    from simlib.admission.model import threshold
    from simlib.admission.product_form import flow_equivalent_rates

    clock = Fraction(network.rate_bound(limit))
    policy = threshold(theta, limit)
    points, rows = transition_matrix(network, limit, policy, clock, exact=True)
    law = stationary_exact(network, limit, policy)
    return Threshold(
        totals=tuple(map(sum, points)),
        leaving=tuple(_leaving(network, x) / clock for x in points),
        rates=tuple(flow_equivalent_rates(network, limit)),
        clock=clock,
        chain=Chain.of(rows, [law[x] for x in points]),
    )


def _leaving(network: Network, state: tuple[int, ...]) -> Fraction:
    return sum(
        (network.station_rate(i, jobs) * network.exit[i] for i, jobs in enumerate(state)),
        Fraction(0),
    )


# What a sample tells ------------------------------------------------------------------------------

_RATES = (r"\mu(s)", r"\mu(s+1)")
_RAMPS = (r"\tau-1", r"\tau-2")
_CLASSES = (r"\tau", r"\tau-1")
_DISTANCES = {r"\varepsilon": Fraction(1), r"\tfrac12\varepsilon": Fraction(1, 2)}
_RULES = ("when it starts", "by its samples")

sample_law = Claim(
    "admission.sample_law",
    title="A recorded sample tells the departure rate, unless the samples themselves end the episode",
    source=Source(SOURCE, "Lemma 12.1, (13)-(18)", provenance="ours"),
    kind="lemma",
    statement=r"""
The network of `admission.norton_sum_policy`: at most $S$ jobs, arrivals at rate $\lambda$, and the
rates $\mu(1),\dots,\mu(S)$ of its equivalent queue. Step by step: in step $t$, of mean length $1/U$,
some job leaves ($D_t=1$) or none ($D_t=0$); $s_t$ is the number of jobs before it; $U$ is at least
$\lambda$ and the rates of all servers together. An episode plays a threshold chosen when it starts,
discards at least $<<ramp>>$ steps, where $\tau\ge1$ is an integer, and then records; its length is fixed
<<rule>>. Let $\mathcal G_t$ be what is known $\tau-1$ steps before $t$: the past up to the state at step
$t-\tau+1$. Suppose that after $\tau-1$ steps under any threshold, from any state, the network is within
total variation $\varepsilon$ of stationarity.

1. In stationarity under a threshold, $P(D_t=1\,|\,s_t=s)=<<rate>>/U$ for each $s\ge1$ that occurs.
2. For a recorded step $t$, the threshold and the event that $t$ is recorded are known in $\mathcal G_t$;
   given $\mathcal G_t$ the law of the state and $D_t$ is within total variation $<<distance>>$ of the
   stationary one, so that for $s=1,\dots,S$
   $\bigl|E[1\{s_t=s\}(D_t-\tfrac{\mu(s)}U)\,|\,\mathcal G_t]\bigr|\le<<distance>>$.
3. If $t<t'$ are recorded steps with the same remainder mod $<<modulus>>$, then $(s_t,D_t)$ is known in
   $\mathcal G_{t'}$.
4. Rule (18) of the source ends an episode by its samples: when some number of jobs, with one action and
   in one class mod $\tau$, was recorded as often as before the episode, once at least. Then item 2
   fails. Three tiers of one queue each, rates 1, half of the jobs go on, $\lambda=0.99$, $U=3.99$,
   $S=5$, everything admitted; 5 jobs were never recorded, the other numbers so often that only the first
   record of 5 ends the episode. Whatever the state was when recording began, from 200 steps later on the
   probability that a job leaves, given $s_t=s$ and that the episode has not ended before, is that of the
   table. No $\tau$ makes it right.
5. Over a whole episode less is lost. Imagine that its threshold is played on after its end. The steps
   $t$ in whose $\mathcal G_t$ the episode has not ended are the recorded ones and at most $<<extra>>$
   more, and for all of these item 2 holds; so the sum of
   $1\{s_t=s\}(D_t-\frac{\mu(s)}U)$ over the recorded steps has a mean of size $<<extra>>$ at most, and
   $\varepsilon$ for each step. In the example, with recording begun in stationarity, it is the last row;
   <<length>> steps are recorded in the mean, and more than 200 with probability $<<late>>\cdot10^{-6}$.

| $s$ | 1 | 2 | 3 | 4 | 5 |
|---|---|---|---|---|---|
| probability under the rule | <<biased:cells>> |
| $\mu(s)/U$ | <<unbiased:cells>> |
| too much by, per cent | <<excess:cells>> |
| mean sum over the episode | <<sums:cells>> |
""",
    claimed={
        "rate": _RATES[0],
        "ramp": _RAMPS[0],
        "rule": _RULES[0],
        "distance": r"\varepsilon",
        "modulus": _CLASSES[0],
        "biased": "0.06611, 0.09682, 0.11268, 0.12102, 0.12531",
        "unbiased": "0.06266, 0.09114, 0.10603, 0.11432, 0.11905",
        "excess": "5.5, 6.2, 6.3, 5.9, 5.3",
        "sums": "0.0007, 0.0023, 0.0044, 0.0054, 0.0029",
        "extra": r"\tau-1",
        "length": "6.15",
        "late": "0.88",
    },
    meaning={
        "ramp": "discarded steps that are enough; the algorithms discard one more",
        "rule": "when the length of an episode is fixed",
    },
    rests_on=["admission.norton_sum_policy"],
    parts={
        "stationary": "the departure rate given the number of jobs",
        "recorded": "the law of a recorded sample",
        "classes": "samples of a class",
        "bias": "episodes that end by their samples",
        "whole": "whole episodes",
    },
    uncovered=(
        "how large the bias of (18) is once all numbers of jobs have been recorded often; the display "
        "(18) is lost, and read as in UCRL2"
    ),
)


@sample_law.check(method="symbolic", scope="general", part="stationary", false={"rate": _RATES[1]})
def cut_equation(rate: str) -> Finding:
    """Jobs leave from s as often as they are admitted at s - 1; divide by the law of the total (SymPy).

    Uses the law of `admission.norton_sum_policy`. Another rate is refuted by queues in series.
    """
    import sympy

    from checks.methods.symbolic import identity

    if one_of("rate", rate, *_RATES) == _RATES[1]:
        return _stationary_rates(rate)
    below, lam, alpha, mu = sympy.symbols("nu(s-1) lambda alpha(s-1) mu(s)", positive=True)
    at = below * lam * alpha / mu
    return combine(
        [
            as_stated(norton_sum_policy, rate="G(s-1)/G(s)", sees="number of jobs"),
            identity(lam * alpha * below / at, mu, "admissions at s - 1, over the law of s"),
        ],
        "the mean exit rate given s is mu(s)",
    )


def _stationary_rates(rate: str) -> Finding:
    from simlib.admission.network import parallel, tandem

    half, shift, compared = Fraction(1, 2), _RATES.index(rate), 0
    for network in (
        tandem(Fraction(3, 5), (1, 1)),
        three_tiers(),
        parallel(Fraction(1, 2), (1, Fraction(1, 50)), (half, half)),
    ):
        for theta in (2, 4):
            known = chain_of(network, 4, theta)
            law = [Fraction(p, known.chain.mass) for p in known.chain.law]
            for s in range(1, theta + 1 - shift):
                at, left = known.share(law, s)
                if left / at * known.clock != known.rates[s - 1 + shift]:
                    return refuted(
                        f"{network.stations} stations, threshold {theta}, s = {s}: mean exit rate "
                        f"{left / at * known.clock}, not {known.rates[s - 1 + shift]}"
                    )
                compared += 1
    return proved(f"{compared} mean exit rates", rates=exact(compared))


@sample_law.check(method="exact", scope="instances", part="stationary", false={"rate": _RATES[1]})
def exit_rates_of_networks(rate: str) -> Finding:
    """Mean exit rates given s from the solved balance equations: three networks, thresholds 2 and 4."""
    return _stationary_rates(one_of("rate", rate, *_RATES))


@sample_law.check(
    method="smt",
    scope="general",
    part="recorded",
    false=[{"ramp": _RAMPS[1]}, {"distance": r"\tfrac12\varepsilon"}, {"rule": _RULES[1]}],
)
def known_in_time(ramp: str, distance: str, rule: str) -> Finding:
    """Times by z3 over the integers; D is drawn from the state by a kernel, which keeps the distance.

    Other statements are refuted by one queue with three places, in rationals: just after a change of the
    threshold, at the worst start, or in an episode that ends when it is full.
    """
    import sympy
    import z3

    from checks.methods.smt import implies, real
    from checks.methods.symbolic import identity

    short = _RAMPS.index(one_of("ramp", ramp, *_RAMPS)) + 1
    fixed = one_of("rule", rule, *_RULES) == _RULES[0]
    start, t, tau, decided = z3.Ints("t_k t tau decided")
    recorded = [tau >= 1, start >= 0, t >= start, t >= start + tau - short]
    decided_by = start if fixed else t  # the step before which it is known whether t is recorded
    gap, leave, one, none, nu, p_ = sympy.symbols("gap k gap_1 gap_0 nu p", real=True)
    left, stayed, far, p = z3.Reals("gap(s,D=1) gap(s,D=0) tv p")
    share = _DISTANCES[one_of("distance", distance, *_DISTANCES)]
    factor = real(share)
    mean = (1 - p) * left - p * stayed

    def within(value: z3.ArithRef) -> list:
        return [value <= far, value >= -far]

    steps = [
        implies(recorded, start <= t - tau + 1, "one threshold on the last tau - 1 steps"),
        implies(
            [*recorded, decided == decided_by],
            decided <= t - tau + 1,
            "t is recorded: known in G_t",
        ),
        identity(
            sympy.Abs(gap) * leave + sympy.Abs(gap) * (1 - leave),
            sympy.Abs(gap),
            "the distance of a state, split by D",
        ),
        implies([far >= 0], far <= factor * far, "the law of the state"),
        identity(
            (1 - p_) * (nu * p_ + one) - p_ * (nu * (1 - p_) + none),
            (1 - p_) * one - p_ * none,
            "E[1(D - p)]: the stationary shares cancel",
        ),
        implies(
            [far >= 0, p >= 0, p <= 1, *within(left), *within(stayed)],
            z3.And(mean <= factor * far, mean >= -factor * far),
            "E[1(D - p)] from the gaps of two events",
        ),
    ]
    proof = combine(steps, "threshold, recording and law are known tau - 1 steps before")
    if proof.outcome == PROVED:
        return proof
    return _three_places(short, share, fixed, 25) or undecided(proof.witness)


def _three_places(short: int, factor: Fraction, fixed: bool, tau: int) -> Finding | None:
    """Refuted by one queue, lambda = mu = 1, U = 2, S = 3; None if it does not refute.

    The new threshold is 3; before it is in force nothing was admitted, and the queue is empty.
    """
    from simlib.admission.network import tandem

    queue = tandem(1, (1,))
    chains = [chain_of(queue, 3, theta) for theta in range(4)]
    epsilon = max(chain.chain.farthest(tau - 1) for chain in chains)
    empty = chains[3].totals.index(0)
    steps = tau - short  # under the new threshold, out of the last tau - 1
    away = chains[3].chain.distances(steps)[empty]
    where = f"one queue, lambda = mu = 1, U = 2, S = 3, tau = {tau}"
    if not fixed:
        # Full: the episode ends. Law of the state at t given that it was never full in tau - 1 steps.
        law = [Fraction(int(i == empty)) for i in range(4)]
        full = chains[3].totals.index(3)
        one_step = [row for row, _ in chains[3].after(1)]
        for _ in range(tau - 1):
            law = [sum(law[i] * one_step[i][j] for i in range(4) if i != full) for j in range(4)]
        mass, stationary = sum(law), Fraction(1, 4)
        away = sum(abs(p / mass - stationary) for p in law) / 2
        where += ", ended when full, given that it goes on"
    if away > factor * epsilon:
        return refuted(
            f"{where}: the sample is {decimal(away, 8)} from the stationary law, epsilon = "
            f"{decimal(epsilon, 8)}"
        )
    return None


@sample_law.check(
    method="exact",
    scope="instances",
    part="recorded",
    false=[{"ramp": _RAMPS[1]}, {"distance": r"\tfrac12\varepsilon"}, {"rule": _RULES[1]}],
)
def samples_by_powers(ramp: str, distance: str, rule: str) -> Finding:
    """Laws of a sample from rational powers: two queues in series, then one queue.

    All thresholds and starts; rates 1, arrivals 3/5, at most 3 jobs, tau = 2, 8, 20.
    """
    from simlib.admission.network import tandem

    short = _RAMPS.index(one_of("ramp", ramp, *_RAMPS)) + 1
    fixed = one_of("rule", rule, *_RULES) == _RULES[0]
    factor, compared = _DISTANCES[one_of("distance", distance, *_DISTANCES)], 0
    for tau in (2, 8, 20):
        for theta in range(4):
            known = chain_of(tandem(Fraction(3, 5), (1, 1)), 3, theta)
            epsilon = known.chain.farthest(tau - 1)
            for start, (law, _) in enumerate(known.after(tau - 1)):
                for s in range(1, theta + 1):
                    at, left = known.share(law, s)
                    off = abs(left - at * known.rates[s - 1] / known.clock)
                    if off > epsilon:
                        return refuted(
                            f"tau = {tau}, theta = {theta}, start {start}, s = {s}: {off}"
                        )
                    compared += 1
    for tau in (25, 33):
        found = _three_places(short, factor, fixed, tau)
        if found:
            return found
    return proved(f"{compared} means of samples, and one queue", samples=exact(compared))


@sample_law.check(method="smt", scope="general", part="classes", false={"modulus": _CLASSES[1]})
def classes_are_apart(modulus: str) -> Finding:
    """The sample of step t is known at step t + 1; z3 over the integers."""
    import z3

    from checks.methods.smt import implies

    t, later, tau = z3.Ints("t t' tau")
    step = tau - _CLASSES.index(one_of("modulus", modulus, *_CLASSES))
    # The difference is a positive multiple of the step.
    apart = [tau >= 1, later > t, later - t >= step]
    return implies(apart, t + 1 <= later - tau + 1, "known tau - 1 steps before the next")


def _example() -> Threshold:
    """The three tiers of item 4."""
    from simlib.admission.network import three_tier

    return chain_of(three_tier(1, arrival_rate=Fraction(99, 100), rates=1), 5, 5)


@cache
def survivors(steps: int) -> tuple[tuple[Fraction, Fraction, Fraction], ...]:
    """Least and largest probability that a job leaves, given s and no end, over the starts; and mu(s)/U.

    The three tiers of item 4, for s = 1, ..., 5. Any law of the state at a time at least so many steps
    after recording began is a mixture of the laws of the survivors from single states, so that these are
    bounds for all starts and all later steps.

    Parameters
    ----------
    steps : int
        At least 2.
    """
    from flint import fmpz_mat

    known = _example()
    n, alive = len(known.totals), [total < 5 for total in known.totals]
    full = known.chain.matrix.tolist()
    last = fmpz_mat([[full[i][j] if alive[i] else 0 for j in range(n)] for i in range(n)])
    inner = fmpz_mat(
        [[full[i][j] if alive[i] and alive[j] else 0 for j in range(n)] for i in range(n)]
    )
    rows = (inner ** (steps - 1) * last).tolist()
    unit = math.lcm(*(share.denominator for share in known.leaving))
    leaving = [int(share * unit) for share in known.leaving]
    found = []
    for s in range(1, 6):
        at = [j for j, total in enumerate(known.totals) if total == s]
        given = [
            Fraction(
                int(sum(rows[i][j] * leaving[j] for j in at)),
                unit * int(sum(rows[i][j] for j in at)),
            )
            for i in range(n)
            if alive[i]
        ]
        found.append((min(given), max(given), known.rates[s - 1] / known.clock))
    return tuple(found)


@sample_law.check(
    method="exact",
    scope="general",
    part="bias",
    false=[
        {"biased": "0.06266, 0.09114, 0.10603, 0.11432, 0.11905"},
        {"biased": "0.06611, 0.09682, 0.11268, 0.12102, 0.12532"},
        {"unbiased": "0.06266, 0.09114, 0.10604, 0.11432, 0.11905"},
        {"excess": "5.5, 6.2, 6.3, 5.9, 5.2"},
    ],
)
def survivors_of_the_rule(biased: str, unbiased: str, excess: str) -> Finding:
    """Powers of the matrix without the states that end the episode, in rationals, from every state.

    The least and the largest value over the starts after 200 steps bound all starts and later steps.
    These numbers are this whole part.
    """
    known = survivors(200)
    states = [f"s = {s}" for s in range(1, len(known) + 1)]
    rows = (
        one_for_each(name, text, *states)
        for name, text in (("biased", biased), ("unbiased", unbiased), ("excess", excess))
    )
    columns = zip(known, *rows, strict=True)
    for s, ((low, high, true), *printed) in enumerate(columns, start=1):
        ends = {
            "biased": (low, high),
            "unbiased": (true, true),
            "excess": (100 * (low / true - 1), 100 * (high / true - 1)),
        }
        for (name, (least, most)), text in zip(ends.items(), printed, strict=True):
            told = f"s = {s}: {name} is {decimal(least, 7)}"
            rounded = rounds_to((least, most), text, name, told)
            if rounded.outcome != PROVED:
                return rounded
    spread = max(high - low for low, high, _ in known)
    return proved(
        f"the starts differ by {decimal(spread, 12)} at most after 200 steps",
        leaving_with_one_job=exact(decimal(known[0][0], 9)),
    )


@sample_law.check(method="smt", scope="general", part="whole", false={"extra": _RAMPS[1]})
def steps_after_the_end(extra: str) -> Finding:
    """Count the steps, and those of one class, by z3.

    That a step is the first not recorded is known when it comes. The episode is thought to go on under
    its threshold for the steps counted; each adds 1 at most.
    """
    import z3

    from checks.methods.smt import implies

    t, other, tau, end = z3.Ints("t t' tau end")
    count = tau - 1 - _RAMPS.index(one_of("extra", extra, *_RAMPS))

    def after(step: z3.ArithRef) -> list:
        return [step >= end, end > step - tau + 1]

    return combine(
        [
            implies([tau >= 1, *after(t)], t < end + count, "steps not recorded"),
            implies(
                [tau >= 1, *after(t), *after(other), t < other],
                other - t < tau,
                "one of each class",
            ),
        ],
        "at most tau - 1 steps, one of each class",
    )


@cache
def whole_episodes() -> tuple[tuple[Fraction, ...], Fraction, Fraction]:
    """Means over an episode of the example, begun in stationarity, from linear equations in rationals.

    Returns
    -------
    sums : tuple of Fraction, length 5
        Of 1{s_t = s}(D_t - mu(s)/U) over the recorded steps, for s = 1, ..., 5.
    length : Fraction
        Recorded steps, the last one with 5 jobs.
    late : Fraction
        Probability of more than 200 of them.
    """
    from flint import fmpq, fmpq_mat, fmpz_mat

    known = _example()
    matrix, unit = known.chain.matrix.tolist(), known.chain.scale
    law = [Fraction(p, known.chain.mass) for p in known.chain.law]
    alive = [i for i, total in enumerate(known.totals) if total < 5]
    # Visits before the end: nu (I - K)^-1, with the transposed equations.
    equations = fmpq_mat(
        [[fmpq(int(i == j)) - fmpq(int(matrix[j][i]), unit) for j in alive] for i in alive]
    )
    start = fmpq_mat([[fmpq(law[i].numerator, law[i].denominator)] for i in alive])
    solved = equations.solve(start)
    visits = {i: Fraction(int(x.p), int(x.q)) for i, x in zip(alive, solved.entries(), strict=True)}
    for i, total in enumerate(known.totals):
        if total == 5:  # the last recorded step
            entered = sum(visits[j] * Fraction(int(matrix[j][i]), unit) for j in alive)
            visits[i] = law[i] + entered
    sums = []
    for s in range(1, 6):
        at = [i for i, total in enumerate(known.totals) if total == s]
        p = known.rates[s - 1] / known.clock
        sums.append(sum((visits[i] * (known.leaving[i] - p) for i in at), Fraction(0)))
    inner = fmpz_mat([[matrix[i][j] for j in alive] for i in alive]) ** 199
    late = sum(
        law[i] * Fraction(int(sum(row)), unit**199)
        for i, row in zip(alive, inner.tolist(), strict=True)
    )
    return tuple(sums), sum(visits.values(), Fraction(0)), late


@sample_law.check(
    method="exact",
    scope="general",
    part="whole",
    false=[
        {"sums": "0.0007, 0.0023, 0.0044, 0.0054, 0.0063"},
        {"length": "11.28"},
        {"late": "0.82"},
    ],
)
def sums_over_episodes(sums: str, length: str, late: str) -> Finding:
    """Solve for the mean visits before the end, in rationals; the numbers are all that is stated."""
    means, steps, rest = whole_episodes()
    by_state = [(f"sum at s = {s}", mean) for s, mean in enumerate(means, 1)]
    wrong = misprint("sums", sums, by_state, 9)
    wrong = wrong or misprint("length", length, [("length", steps)], 9)
    wrong = wrong or misprint("late", late, [("late", 10**6 * rest)], 9)
    if wrong:
        return wrong
    return proved("seven numbers, correctly rounded", recorded_steps=exact(decimal(steps, 9)))
