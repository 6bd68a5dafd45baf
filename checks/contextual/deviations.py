"""What a deviation from the greedy benchmark costs, and how long its effect survives."""

from __future__ import annotations

import random
from fractions import Fraction

from checks.claim import Claim, Source
from checks.contextual import schedules
from checks.contextual.instances import SOURCE
from checks.contextual.optimality import TWO_JOBS, listed
from checks.contextual.schedules import (
    NO_ARRIVALS,
    after_batch,
    drawn_arrivals,
    drawn_rates,
    greedy_mean,
    sets_of,
)
from checks.contextual.small_instances import (
    NAMED,
    STAY_OR_SWITCH,
    regret,
    switching_rounds,
)
from checks.contextual.switching import numbered
from checks.finding import (
    PROVED,
    REFUTED,
    Finding,
    combine,
    decide,
    decimal,
    exact,
    one_of,
    proved,
    refuted,
    undecided,
)
from checks.judging import misprint

# What a deviation costs ----------------------------------------------------------------------------

_POWERS = ("T-1-t", "T-2-t")
_LASTS = (r"E[\mathrm{gap}_{T-1}]", r"E[\mathrm{gap}_{T-1}]+E[\mathrm{gap}_{T-2}]")

one_step_loss = Claim(
    "contextual.one_step_loss",
    title="One round of the learner costs no more than its error, and at least what cannot be made up",
    source=Source(SOURCE, "Lemma 4.2 (the upper half)", provenance="ours"),
    statement=r"""
In the setting of `contextual.greedy_is_optimal` let $s$ wait at the beginning of round $t$, $k$ the
job in $s$ of the largest rate $r_k$; the learner serves job $j$ with probability $p\le r_j$ (or
idles, $p=0$), and $\mathrm{gap}_t=r_k-p$. No job that waits or arrives has a rate above $r_{\max}$.
$W(u)$ is the mean of the length at the beginning of round $T$ under $\pi^*$ if $u$ is left after the
service of round $t$, and $\tilde\psi(t,T)=W(s)-W(s\setminus k)$.

1. *Both sides.*
   $$\begin{aligned}(1-r_{\max})^{<<power>>}\,\mathrm{gap}_t&\le E[\psi(t,T)\mid\mathcal F_t^+]\\
   &\le\mathrm{gap}_t\,\tilde\psi(t,T)\le\mathrm{gap}_t.\end{aligned}$$
2. $0\le\tilde\psi(t,T)\le1$, and $W(s\setminus j)\le W(s\setminus i)$ for $r_i\ge r_j$: it is better
   to be rid of a slow job.
3. *Regret.* $<<last>>\le R_T$, and
   $$\sum_{t=1}^{T-1}(1-r_{\max})^{<<power>>}E[\mathrm{gap}_t]
   \le R_T\le\sum_{t=1}^{T-1}E[\mathrm{gap}_t].$$

For the three instances of `contextual.regret_telescopes`, in their order, $r_{\max}=\tfrac9{10}$, and
$E[\psi(T-1,T)]=E[\mathrm{gap}_{T-1}]$:

| | first | second | third |
| --- | --- | --- | --- |
| left sum | <<lower:cells>> |
| right sum | <<upper:cells>> |
| $E[\mathrm{gap}_{T-1}]$ | $<<gap_1:6>>$ | $<<gap_2:6>>$ | $<<gap_3:6>>$ |
""",
    claimed={
        "power": "T-1-t",
        "factor": "1",
        "last": _LASTS[0],
        "lower": "0.146393, 0.212065, 0.124039",
        "upper": "0.703642, 1.485093, 1.324598",
        "gap_1": "3427496932097/25920000000000",
        "gap_2": "133313444985605989/699840000000000000",
        "gap_3": "73659225819260717/661197634560000000",
    },
    meaning={
        "power": "rounds in which what was lost may be made up",
        "factor": "constant of the upper bound",
        "last": "what regret is at least",
        "lower": "lower bounds of the regret of three instances",
        "upper": "upper bounds of the regret of three instances",
        "gap_1": "mean error of the last round, first instance",
        "gap_2": "the same, second instance",
        "gap_3": "the same, third instance",
    },
    rests_on=["contextual.regret_telescopes"],
    parts={
        "losses": "bounds on the loss without a job, and on their differences",
        "sides": "both sides for one round",
        "regret": "the sum over the rounds",
        "values": "three instances",
    },
    uncovered="that the cases make an induction over the rounds; averaging over the past, the arrivals "
    "and the learner's coins: a line each",
)


@one_step_loss.check(method="smt", scope="general", part="losses", false={"power": "T-2-t"})
def losses_by_induction(power: str) -> Finding:
    """Three bounds go from n rounds to n + 1, in both cases of the job on top, by z3.

    With D_i the loss without job i, c_n = (1 - r_max)^n and r_i >= r_j: (a) c_n <= D_i <= 1; (b) c_n
    (r_i - r_j) <= r_i D_i - r_j D_j <= r_i - r_j; (c) D_i <= D_j. Without rounds D = 1. With another
    job on top each is a mean of two of its kind; with i on top and k next, D_i is (1 - r_i) D_i(s) +
    r_k D_k(s - i) (the last term absent if i is alone), and r_i D_i - r_j D_j the sum of two
    brackets, as in exchange_by_induction. With one power less the bound fails for two jobs.
    """
    import z3

    from checks.methods.smt import implies

    one_of("power", power, *_POWERS)
    i, j, k, most, c, now, e = z3.Reals("r_i r_j r_k r_max c_n share c_{n+1}")
    rates = [most <= 1, i <= most, i >= j, j >= 0, c >= 0, c <= 1, e == (1 - most) * c]
    share = [now >= 0, now <= 1]
    first, second, x, y = z3.Reals("D_i D_j x y")
    u, ui, uj, uij, uik = z3.Reals("U_s U_i U_j U_ij U_ik")
    top = [*rates, i >= k, k >= j]

    def within(difference, low, high):
        return z3.And(low <= difference, difference <= high)

    no_round = c == 1 if power == _POWERS[0] else (1 - most) * c == 1
    proof = combine(
        [
            implies(
                [most <= 1, i <= most, i >= j, j >= 0, no_round, first == 1, second == 1],
                z3.And(
                    within(first, c, 1),
                    within(i * first - j * second, c * (i - j), i - j),
                    first <= second,
                ),
                "no round left, D = 1",
            ),
            implies(
                [*rates, *share, within(x, c, 1), within(y, c, 1)],
                within(now * x + (1 - now) * y, e, 1),
                "(a), another job on top",
            ),
            implies(
                [*rates, *share, *(within(z, c * (i - j), i - j) for z in (x, y))],
                within(now * x + (1 - now) * y, e * (i - j), i - j),
                "(b), another job on top",
            ),
            implies(
                [*share, x >= 0, y >= 0], now * x + (1 - now) * y >= 0, "(c), another job on top"
            ),
            implies(
                [*rates, within(x, c, 1)], within((1 - i) * x, e, 1), "(a), job i on top and alone"
            ),
            implies(
                [*top, within(x, c, 1), within(y, c, 1)],
                within((1 - i) * x + k * y, e, 1),
                "(a), job i on top",
            ),
            implies(
                [*top, within(x, c * (i - j), i - j), within(y, 0, k - j)],
                within((1 - i) * x + i * y, e * (i - j), i - j),
                "(b), job i on top",
            ),
            implies(  # U of s without i, without j, ...: losses are differences of these
                [*top, u >= ui, u >= uj, ui >= uij, ui >= uik, uj <= ui, uij <= uik],
                i * uij + (1 - i) * uj <= k * uik + (1 - k) * ui,
                "(c), job i on top",
            ),
        ],
        "(a), (b) and (c) go from n rounds to n + 1",
    )
    if proof.outcome == PROVED:
        return proof
    found = _two_jobs_cost(power=power)
    return found if found.outcome == REFUTED else undecided(proof.witness)


def _two_jobs_cost(
    power: str = _POWERS[0], factor: Fraction = Fraction(1), last: str = _LASTS[0]
) -> Finding:
    """Jobs of rates 9/10 and 1/2, T = 3: the slow one first, or idling, in round 1, then greedy."""
    fast, slow = (max(row) for row in TWO_JOBS.rates)
    rounds = TWO_JOBS.horizon - 2  # after round 1

    def mean(*waiting):
        return greedy_mean((fast, slow), NO_ARRIVALS, rounds, waiting)

    gap, greedy = fast - slow, fast * mean(1) + (1 - fast) * mean(0, 1)
    loss = slow * mean(0) + (1 - slow) * mean(0, 1) - greedy
    least = (1 - fast) ** (rounds if power == _POWERS[0] else rounds - 1) * gap
    idle = mean(0, 1) - greedy
    largest = factor * fast * (mean(0, 1) - mean(1))
    gaps = gap if last == _LASTS[1] else Fraction(0)  # of rounds 1 and 2; greedy in round 2
    text = "rates 9/10 and 1/2, T = 3"
    if not least <= loss:
        return refuted(f"{text}: serving the slow job first costs {loss} < {least}")
    if not idle <= largest:
        return refuted(f"{text}: idling in round 1 costs {idle} > {largest}")
    return decide(
        gaps <= loss,
        f"{text}: {least} <= {loss}",
        f"{text}: the slow job first has R_3 = {loss} and gaps of sum {gaps}",
    )


@one_step_loss.check(
    method="smt",
    scope="general",
    part="sides",
    false={"factor": "0.99"},
)
def both_sides_of_one_round(factor: str) -> Finding:
    """From the bounds on the losses to both sides, by z3; the loss is r_k D_k - p D_j.

    The lower side adds (r_k D_k - r_j D_j) and (r_j - p) D_j; the upper one is p D_k <= p D_j. Another
    constant is refuted by idling in front of two jobs.
    """
    import sympy
    import z3

    from checks.methods.smt import implies, real
    from checks.methods.symbolic import identity

    stated = Fraction(factor)
    rk, p, s, sk, sj = sympy.symbols("r_k p W_s W_k W_j")
    k, j, q, c, x, y = z3.Reals("r_k r_j p c_n D_k D_j")
    losses = [
        *(k >= j, j >= q, q >= 0, k <= 1, c >= 0, c <= 1),
        *(z3.And(c <= d, d <= 1) for d in (x, y)),
        c * (k - j) <= k * x - j * y,
        x <= y,
    ]
    upper = real(stated) * (k - q) * x
    proof = combine(
        [
            identity(
                (p * sj + (1 - p) * s) - (rk * sk + (1 - rk) * s),
                rk * (s - sk) - p * (s - sj),
                "loss of one round",
            ),
            implies(losses, c * (k - q) <= k * x - q * y, "lower side"),
            implies(losses, z3.And(k * x - q * y <= upper, upper <= k - q), "upper side"),
        ],
        "c_n gap <= loss <= gap psi~ <= gap",
    )
    if proof.outcome == PROVED:
        return proof
    found = _two_jobs_cost(factor=stated)
    return found if found.outcome == REFUTED else undecided(proof.witness)


@one_step_loss.check(
    method="smt", scope="general", part="regret", false=[{"last": _LASTS[1]}, {"power": "T-2-t"}]
)
def last_round_and_sum(last: str, power: str) -> Finding:
    """Add one round to the sums; the last round has no round to make up for it, so its term is the gap.

    The power of 1 - r_max in round t is 0 for t = T - 1: that term alone bounds the regret, as the
    others are not negative. Two undiscounted gaps, or one power less, are refuted by two jobs.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    one_of("last", last, *_LASTS)
    t, T = sympy.symbols("t T", integer=True)
    exponents = {_POWERS[0]: T - 1 - t, _POWERS[1]: T - 2 - t}
    exponent = exponents[one_of("power", power, *_POWERS)]
    low, high, total, c, gap, cost, before, last_gap = z3.Reals("low high R c gap E_psi g_1 g_2")
    stated = last_gap if last == _LASTS[0] else last_gap + before
    proof = combine(
        [
            identity(exponent.subs(t, T - 1), sympy.Integer(0), "power in round T - 1"),
            implies(
                [low <= total, total <= high, c * gap <= cost, cost <= gap],
                z3.And(low + c * gap <= total + cost, total + cost <= high + gap),
                "one round more",
            ),
            implies(  # R is the sum over t < T - 1, at least c g_1 for the round T - 2, and the last
                [
                    c >= 0,
                    c <= 1,
                    before >= 0,
                    last_gap >= 0,
                    low >= c * before,
                    total == low + last_gap,
                ],
                stated <= total,
                "regret against the last gap",
            ),
        ],
        "sums of both sides, and the last round",
    )
    if proof.outcome == PROVED:
        return proof
    found = _two_jobs_cost(power=power, last=last)
    return found if found.outcome == REFUTED else undecided(proof.witness)


@one_step_loss.check(
    method="exact",
    scope="general",
    part="values",
    false=[
        {"lower": "0.146394, 0.212065, 0.124039"},
        {"upper": "0.703642, 1.485094, 1.324598"},
        {"gap_1": "3427496932098/25920000000000"},
        {"gap_2": "133313444985605990/699840000000000000"},
        {"gap_3": "73659225819260718/661197634560000000"},
    ],
)
def bracket_of_three_instances(
    lower: str, upper: str, gap_1: str, gap_2: str, gap_3: str
) -> Finding:
    """Both sums and the last round of the three instances, in rationals.

    The part is about these instances, so it is decided whole; that the regret lies between is compared.
    """
    sums, values = ([], []), {}
    for number, (instance, stated) in enumerate(zip(NAMED, (gap_1, gap_2, gap_3), strict=True), 1):
        rounds = switching_rounds(instance, STAY_OR_SWITCH)
        last = rounds[-1]
        if last.mean != last.gap:
            return undecided(f"instance {number}: E psi = {last.mean}, E gap = {last.gap}")
        if last.gap != Fraction(stated):
            return refuted(f"instance {number}: the last gap is {last.gap}, not {stated}")
        loss = 1 - max(instance.best)
        low = sum(one.gap * loss**n for n, one in enumerate(reversed(rounds)))
        high = sum(one.gap for one in rounds)
        if not max(low, last.gap) <= regret(instance, STAY_OR_SWITCH) <= high:
            return undecided(f"instance {number}: the regret is not between its bounds")
        for row, one in zip(sums, (low, high), strict=True):
            row.append(one)
        values |= {
            f"lower, instance {number}": exact(low),
            f"upper, instance {number}": exact(high),
        }
    wrong = misprint("lower", lower, numbered("left sum, instance", sums[0]), 9)
    wrong = wrong or misprint("upper", upper, numbered("right sum, instance", sums[1]), 9)
    return wrong or proved("the regret lies between both sums, and above the last gap", **values)


@one_step_loss.check(
    method="exact",
    scope="instances",
    part="sides",
    false=[{"power": "T-2-t"}, {"factor": "0.99"}],
)
def sides_of_drawn_queues(power: str, factor: str) -> Finding:
    """Both sides for every waiting set of up to three jobs and every action, in rationals.

    Twelve draws of three rates in twelfths and of a law of arrivals, n = T - 1 - t from 0 to 3, each
    job at its best rate, at half of it, and idling.
    """
    stated = Fraction(factor)
    shift = (0, 1)[one_of("power", power, *_POWERS) == _POWERS[1]]
    source, cells = random.Random(11), 0
    for number in range(12):
        rates, batches = drawn_rates(source, 3), drawn_arrivals(source, 3)
        for n in range(4):
            for s in sets_of(3, 3):
                stay, best = (
                    after_batch(greedy_mean, rates, batches, n, left) for left in (s, s[1:])
                )
                tilde, top = stay - best, rates[s[0]]
                for at, kind in enumerate(s):
                    gone = after_batch(greedy_mean, rates, batches, n, s[:at] + s[at + 1 :])
                    for p in (rates[kind], rates[kind] / 2, Fraction(0)):
                        gap, loss = top - p, top * tilde - p * (stay - gone)
                        low = (1 - rates[0]) ** max(n - shift, 0) * gap
                        case = f"draw {number}, best rates {listed(rates)}, waiting {s}, n = {n}"
                        if not low <= loss <= stated * gap * tilde <= gap:
                            return refuted(
                                f"{case}, job {kind} at {p}: {decimal(low, 6)}, loss "
                                f"{decimal(loss, 6)}, {decimal(stated * gap * tilde, 6)}, gap {gap}"
                            )
                        cells += 1
    return proved(f"both sides hold in {cells} cases", cases=exact(cells))


# How long its effect survives ----------------------------------------------------------------------

_SETS = ("s", r"s\setminus i")

survival = Claim(
    "contextual.survival",
    title="What is left of a deviation is at most the chance that the queue never empties",
    source=Source(SOURCE, "Lemma C.5 (its first step)", provenance="ours"),
    statement=r"""
In the setting of `contextual.greedy_is_optimal` let $V_n(u)$ be the mean length of the queue after
$n$ rounds of $\pi^*$ from the waiting set $u$, and $H_n(u)$ the probability that it is not empty now,
nor after any of these $n$ rounds. For every waiting set $s$ and every $i\in s$
$$V_n(s)-V_n(s\setminus i)\ \le\ H_n(<<set>>).$$
Hence, with $\mathcal X^+$ what waits at the beginning of round $t+1$ if nothing left in round $t$,
$$\tilde\psi(t,T)\ \le\ E\bigl[H_{T-1-t}(\mathcal X^+)\bigr],$$
whatever the ties, without a coupling. Equality for a single job and no arrivals: both sides are
$(1-r)^n$.
""",
    claimed={"factor": "1", "set": "s"},
    meaning={"factor": "constant of the bound", "set": "from which waiting set the queue survives"},
    rests_on=["contextual.one_step_loss"],
    uncovered="that the cases make an induction over the rounds; the mean over the arrival of round t",
)


@survival.check(method="smt", scope="general", false=[{"factor": "0.99"}, {"set": _SETS[1]}])
def survival_by_induction(factor: str, set: str) -> Finding:
    """From n rounds to n + 1 in both cases of the job on top, by z3; D is the loss without job i.

    *Another job k on top*: D and H are the same mean, of those from s without k and from s. *Job i on
    top, k next*: D = (1 - r_i) D_i(s) + r_k D_k(s - i) with r_k <= r_i, and H = (1 - r_i) H(s) + r_i
    H(s - i); alone, without the last term of D. Without rounds D = H = 1. Another constant fails
    there, the other set in a small queue.
    """
    import z3

    from checks.methods.smt import implies, real

    stated = Fraction(factor)
    if one_of("set", set, *_SETS) == _SETS[1]:
        found = _survival_of_drawn_queues(stated, set)
        return found if found.outcome == REFUTED else undecided(found.witness)
    c = real(stated)
    i, k, x, y, g, h = z3.Reals("r_i r_k D D' H H'")
    model = [i <= 1, i >= k, k >= 0, x >= 0, y >= 0, g >= 0, h >= 0, x <= c * g]
    proof = combine(
        [
            implies([x == 1, g == 1], x <= c * g, "no round left"),
            implies(
                [*model, y <= c * h], k * y + (1 - k) * x <= c * (k * h + (1 - k) * g), "k on top"
            ),
            implies(
                [*model, y <= c * h], (1 - i) * x + k * y <= c * ((1 - i) * g + i * h), "i on top"
            ),
            implies(model, (1 - i) * x <= c * ((1 - i) * g + i * h), "i alone"),
        ],
        "no round, and one more in three cases",
    )
    if proof.outcome == PROVED:
        return proof
    found = _survival_of_drawn_queues(stated, set)
    return found if found.outcome == REFUTED else undecided(proof.witness)


@survival.check(method="exact", scope="instances", false=[{"factor": "0.99"}, {"set": _SETS[1]}])
def survival_of_drawn_queues(factor: str, set: str) -> Finding:
    """Both sides for every waiting set of up to three jobs and each of its jobs, in rationals.

    Twelve draws of three rates in twelfths and of a law of arrivals, with n from 0 to 3; and one job of
    rate 1/3 without arrivals, where both sides must be equal.
    """
    stated = Fraction(factor)
    one_of("set", set, *_SETS)
    rate = (Fraction(1, 3),)
    for n in range(4):
        left = greedy_mean(rate, NO_ARRIVALS, n, (0,))
        right = stated * schedules.survival(rate, NO_ARRIVALS, n, (0,) if set == "s" else ())
        if left > right:
            return refuted(f"one job of rate 1/3, no arrivals, n = {n}: {left} > {right}")
        if left != right:
            return undecided(f"one job of rate 1/3, no arrivals, n = {n}: {left} < {right}")
    return _survival_of_drawn_queues(stated, set)


def _survival_of_drawn_queues(factor: Fraction, which: str) -> Finding:
    source, cells = random.Random(13), 0
    for number in range(12):
        rates, batches = drawn_rates(source, 3), drawn_arrivals(source, 3)
        for n in range(4):
            for s in sets_of(3, 3):
                stay = greedy_mean(rates, batches, n, s)
                for at, kind in enumerate(s):
                    rest = s[:at] + s[at + 1 :]
                    left = stay - greedy_mean(rates, batches, n, rest)
                    from_set = s if which == "s" else rest
                    right = factor * schedules.survival(rates, batches, n, from_set)
                    if left > right:
                        return refuted(
                            f"draw {number}, best rates {listed(rates)}, waiting {s}, n = {n}, "
                            f"job {kind}: {decimal(left, 6)} > {decimal(right, 6)}"
                        )
                    cells += 1
    return proved(f"no violation in {cells} cases", cases=exact(cells))
