"""Contexts chosen by an adversary: Theorem 6.3; and what is known of queues without contexts."""

from __future__ import annotations

from fractions import Fraction

from checks.claim import Claim, Source
from checks.contextual.bad_rounds import elliptical_count
from checks.contextual.decaying_regret import (
    grows_like,
    ramp_as_stated,
    symbols,
)
from checks.contextual.drift import drift
from checks.contextual.explicit_bounds import (
    LARGEST,
    SECTION_7,
    Balls,
    Bound,
    Order,
    Orders,
    cauchy_bound,
    crossing,
    width,
)
from checks.contextual.instances import SOURCE
from checks.contextual.ramp import ramp
from checks.contextual.switching import psi_product_bound
from checks.contextual.widths import confidence_width, decimal_of
from checks.finding import Finding, combine, one_of, refuted, undecided
from checks.judging import as_stated, exponential_above_line

# Theorem 6.3 ---------------------------------------------------------------------------------------

theorem_6_3 = Claim(
    "contextual.theorem_6_3",
    title="Against any contexts fixed in advance the regret of CQB-Opt is O(log^<<logs>> T)",
    source=Source(SOURCE, "Theorem 6.3", provenance="reconstructed"),
    statement=r"""
From an empty queue CQB-Opt takes the pair with the largest sum of estimate and width in every round.
The contexts are fixed in advance by an adversary; the other assumptions are those of
`contextual.theorem_5_5`, and $m_t$, $\delta_t$ are those of `contextual.psi_product_bound`. Let
$\delta=1/T$, $\beta_T$ a width of `contextual.confidence_width` with $4\beta_T\ge\epsilon$ and
$2\beta_T\ge1$,
$\Lambda=\ln(1+T/(dK\kappa\lambda_0))$, $\omega'=128\,\beta_T^2Kd\Lambda/\epsilon^3$, and
$C_\rho=1+16/\epsilon^2$. Then
$$\begin{aligned}R_T&\le\sqrt{\sum m_t^2}\sqrt{\sum\delta_t^2},\\
\sum m_t^2&\le<<errors>>\,\beta_T^2Kd\Lambda+1,\\
\sum\delta_t^2&\le\omega'+<<effects>>\,\frac{C_\rho}{\epsilon^2}+2.\end{aligned}$$
For $T\to\infty$ that is
$$<<leading>>\,\frac{\beta_T^2Kd\ln T}{\epsilon^{3/2}}\,(1+o(1)),$$
which grows like $(\ln T)^{<<logs>>}$, and never falls.

In the setting of Section 7 it falls below the trivial $\lambda T$, for good, at
$T=10^{<<source_width>>}$ with the width of the source and at $10^{<<our_width>>}$ with ours ($T$ to
$10^{200}$ looked at). At
$T=5000$ it allows $<<bad_rounds>>\cdot10^8$ bad rounds and $<<jobs>>\cdot10^8$ jobs, and from there on
never fewer than $<<least>>\cdot10^8$ jobs. The ramp of `contextual.ramp_clean`, with
$\omega'=64\beta_T^2Kd\Lambda/\epsilon^3$ and the width of the source, gives $10^{<<clean_width>>}$.
""",
    claimed={
        "errors": "8",
        "effects": "128",
        "leading": "32",
        "logs": "2",
        "source_width": "9.6",
        "our_width": "8.7",
        "clean_width": "9.4",
        "bad_rounds": "5.57",
        "jobs": "1.76",
        "least": "1.7",
    },
    meaning={
        "errors": "factor of the squared errors",
        "effects": "factor of what the ramp adds",
        "leading": "constant of the leading term",
        "logs": "power of ln T",
        "source_width": "horizon with the width of the source",
        "our_width": "horizon with our width",
        "clean_width": "horizon with the sharper ramp",
        "bad_rounds": "bad rounds at T = 5000, in 10^8",
        "jobs": "bound at T = 5000, in 10^8 jobs",
        "least": "what the bound stays above from there on, in 10^8 jobs",
    },
    rests_on=[
        "contextual.psi_product_bound",
        "contextual.confidence_width",
        "contextual.elliptical_count",
        "contextual.drift",
        "contextual.ramp",
        "contextual.ramp_clean",
    ],
    parts={
        "errors": "the squared errors",
        "effects": "the squared effects",
        "order": "how the bound grows",
        "horizons": "where it says something",
    },
    uncovered="the Cauchy-Schwarz inequality for sums over rounds; that the bound never falls (it is "
    "made of growing terms); and what the lemmas below leave uncovered",
)


@theorem_6_3.check(method="smt", scope="general", part="errors", false={"errors": "5.77"})
def squared_errors(errors: str) -> Finding:
    """A gap is at most 1 and at most two widths: min(1, 4 beta^2 y) <= 4 beta^2 min(1, y), y = |x|^2.

    As 4 beta^2 >= 1; then the sum of `elliptical_count`. Outside the event that all intervals hold, T
    rounds of probability 1/T add 1. A factor below 4/ln 2 is refuted by one round with beta = 1/2.
    """
    import z3

    from checks.methods.certified import ball, precision
    from checks.methods.smt import implies, real

    stated = Fraction(errors)
    with precision(100):
        one_round = ball(stated) / 4 * ball(2).log()
        if one_round < 1:
            return refuted(
                "d = K = kappa lambda_0 = 1, x = 1, T = 1, beta = 1/2: min(1, 4 beta^2 |x|^2) = 1, the "
                f"bound {one_round.str(6, radius=False)}"
            )
    beta, y, gap, total, log, failed, delta, horizon = z3.Reals("beta y gap sum Kd*ln f delta T")
    factor = real(stated)
    if stated < 8:
        return undecided(f"the sum of the source gives 8, and {errors} is above 4/ln 2")
    return combine(
        [
            as_stated(psi_product_bound, bound=r"m_t\,\delta_t"),
            as_stated(elliptical_count, potential="2"),
            as_stated(confidence_width, lead="1/4", ridge="1/2"),
            implies(
                [
                    *(2 * beta >= 1, y >= 0, gap >= 0, gap <= 1, gap * gap <= 4 * beta * beta * y),
                ],
                gap * gap <= 4 * beta * beta * z3.If(y <= 1, y, 1),
                "squared gap",
            ),
            implies(
                [
                    *(beta > 0, log > 0, total <= 2 * log, delta * horizon == 1, horizon >= 1),
                    failed <= horizon * delta,
                ],
                4 * beta * beta * total + failed <= factor * beta * beta * log + 1,
                "sum over rounds",
            ),
        ],
        "four beta^2 times twice the logarithms, and 1",
    )


@theorem_6_3.check(method="smt", scope="general", part="effects", false={"effects": "65"})
def squared_effects(effects: str) -> Finding:
    """Rounds within omega' count 1, the others are a geometric series; failures add 1.

    With u = epsilon^2/32 the series is 2 C_rho/(1 - e^(-u)) <= 2 C_rho (1 + u)/u, and u <= 1/32: 66 is
    enough, the source has 128. A factor below 65.005 is refuted near epsilon = 1.
    """
    import z3

    from checks.methods.certified import ball, precision
    from checks.methods.smt import implies, real

    stated = Fraction(effects)
    if stated < 66:
        slack = Fraction(9999, 10000)
        with precision(100):
            true = 2 * ball(slack**2) / (1 - (-ball(slack**2 / 32)).exp())
            if true > ball(stated):
                return refuted(
                    f"epsilon = {slack}: the series is {true.str(8, radius=False)} C_rho/epsilon^2"
                )
        return undecided(f"the series against {effects} C_rho/epsilon^2")
    u, grown, square, series, constant = z3.Reals("u e^u epsilon^2 series C_rho")
    window, whole, first, failed, delta, horizon = z3.Reals("omega ceil(omega) first f delta T")
    factor = real(stated)
    return combine(
        [
            as_stated(ramp, lemma_6_2="1/8", omega="4"),
            as_stated(drift, threshold=r"(\epsilon-2\varepsilon)/4", share="1/2"),
            as_stated(elliptical_count, constant="32"),
            exponential_above_line(),
            implies(
                [
                    *(u > 0, 32 * u == square, square <= 1, grown >= 1 + u, constant > 0),
                    series * (grown - 1) == 2 * constant * grown,
                ],
                series * square <= factor * constant,
                "geometric series, exponent 1/32 or more",
            ),
            implies(
                [
                    *(window >= 0, whole < window + 1, first <= whole, horizon >= 1),
                    *(delta * horizon == 1, failed <= horizon * delta),
                ],
                first + failed <= window + 2,
                "rounds within omega', and failures",
            ),
        ],
        f"omega' + 1 rounds, a series of at most {effects} C_rho/epsilon^2, and 1",
    )


@theorem_6_3.check(
    method="symbolic",
    scope="general",
    part="order",
    false=[{"logs": "1"}, {"logs": "3/2"}, {"leading": "31"}],
)
def leading_term_of_the_product(leading: str, logs: str) -> Finding:
    """Evaluate the bound with leading terms c T^a (ln T)^b in the place of numbers, all else symbols.

    Both widths. It never falls, as it is made of T by sums, products, roots and logarithms.
    """
    import sympy

    s, n, found = symbols(), Orders(), []
    for kind in ("source", "ours"):
        bound = cauchy_bound(n, s, kind, "source").regret
        beta = width(n, s, kind, n.log_horizon)
        squares: Order = beta * beta * n.log_horizon
        scale = s.servers * s.dimension / s.slack ** sympy.Rational(3, 2)
        coefficient = sympy.Rational(leading) * squares.coefficient * scale
        found += [
            grows_like(bound, Fraction(0), Fraction(logs), coefficient, "the bound"),
            grows_like(squares, Fraction(0), Fraction(logs), None, "beta^2 ln T"),
        ]
    return combine(found, f"{leading} beta^2 K d ln T/epsilon^(3/2), for both widths")


@theorem_6_3.check(
    method="certified",
    scope="general",
    part="horizons",
    false=[
        {"source_width": "9.7"},
        {"our_width": "8.8"},
        {"clean_width": "9.5"},
        {"bad_rounds": "5.58"},
        {"jobs": "1.77"},
        {"least": "1.8"},
    ],
)
def horizons_of_theorem_6_3(
    source_width: str, our_width: str, clean_width: str, bad_rounds: str, jobs: str, least: str
) -> Finding:
    """Enclose the bound at all horizons from 10^4 to 10^200, and at 5000 (Arb).

    The part is about one setting, so it is decided whole.
    """
    from checks.methods.certified import ball, positive_on, precision

    found = []
    for kind, form, stated in (
        ("source", "source", source_width),
        ("ours", "source", our_width),
        ("source", "clean", clean_width),
    ):
        found.append(
            crossing(
                lambda n, kind=kind, form=form: Bound(
                    cauchy_bound(n, SECTION_7, kind, form).regret
                ),
                lambda n: n.number(SECTION_7.arrival_rate) * n.horizon,
                stated,
                f"width {kind}, ramp {form}: bound below lambda T",
            )
        )
    with precision(96):
        at = cauchy_bound(Balls(ball(5000).log() / ball(10).log()), SECTION_7, "source", "source")
        unit = ball(10**8)
        found += [
            decimal_of(at.bad_rounds / unit, bad_rounds, "bad rounds at T = 5000, in 10^8"),
            decimal_of(at.regret / unit, jobs, "bound at T = 5000, in 10^8 jobs"),
        ]
        later, _ = positive_on(
            lambda x: (
                cauchy_bound(Balls(x), SECTION_7, "source", "source").regret / unit - ball(least)
            ),
            Fraction(3698, 1000),  # 10^3.698 < 5000
            LARGEST,
        )
    return combine(
        [
            as_stated(confidence_width, logs="2", lead="1/4", ridge="1/2"),
            ramp_as_stated(),
            *found,
            later,
        ],
        f"three horizons, and at least {least} times 10^8 jobs from T = 5000 on",
    )


# Queues without contexts ---------------------------------------------------------------------------

BUSY = r"\frac\lambda\mu"
RATIO = r"\frac{\lambda(1-\mu)}{\mu(1-\lambda)}"

krishnasamy_facts = Claim(
    "contextual.krishnasamy_facts",
    title="Without contexts: bounds that we cite, and what can be checked around them",
    source=Source(
        "krishnasamy2016regret",
        "Theorems 3 and 5 of arXiv 1604.06377v4",
        provenance="reconstructed",
    ),
    kind="remark",
    statement=r"""
One queue with arrival rate $\lambda$, servers of unknown rates $\mu_k$, the same for all jobs,
$\mu^*=\max\mu_k$, $\epsilon=\mu^*-\lambda>0$, $\Delta_k=\mu^*-\mu_k$, and $\Delta$ is the least
positive $\Delta_k$. $\Psi(t)$ is the mean length under a learner less that under the best server.

1. *Cited.* For Q-UCB with any $\beta>1$, $w(t)=t^{1-1/\beta}$, $v'(t)=6Kw(t)/\epsilon$,
   $v(t)=\frac{24\ln t}{\epsilon^2}+\frac{60K}\epsilon\frac{v'(t)\ln^2t}t$, and
   $t\ge\exp(4/(\Delta^2(1-1/\beta)^3))$ (and two conditions more),
   $$\Psi(t)\le6K\,\frac{v(t)\ln^2t}t+\frac{24.004+K}{6t^2}.$$
   And for every $\alpha$-consistent policy $\Psi(t)$ exceeds, on average over the classes and infinitely
   often, a constant times $(K-1)/t$.
2. *Order.* The bound in 1 is $<<leading>>\,\frac{K\ln^3t}{\epsilon^2t}(1+o(1))$. With $\Delta=1/10$ it
   says nothing before $t=10^{<<start>>}$, whatever $\beta$.
3. *The best server alone.* If service comes before arrivals in a step, the length has in the long run
   $\Pr(Q\ge b)=<<busy>>\,r^{b-1}$ for $b\ge1$ with $r=<<ratio>>$; if arrivals come first,
   $\Pr(Q\ge b)=r^b$.
4. *Any learner*, if both queues start with the latter law: $T_k$ being the steps $s\le t$ in which
   server $k$ is chosen, be there a job or not,
   $$\Psi(t)\ge\sum_k\Delta_kE[T_k]-\epsilon t.$$
""",
    claimed={
        "leading": "144",
        "start": "173.7",
        "busy": BUSY,
        "ratio": RATIO,
        "relief": "1",
    },
    meaning={
        "leading": "constant of the leading term",
        "start": "exponent of the first step the bound speaks of",
        "busy": "probability of a job, service first",
        "ratio": "ratio of the geometric law",
        "relief": "what an empty queue forgives, over the slack and time",
    },
    parts={
        "cited": "the two bounds",
        "order": "how the first of them behaves",
        "law": "the length under the best server",
        "any learner": "the bound from below",
    },
    uncovered="that a queue with these laws forgets its start, and that a departure needs a service",
    open="The bounds in 1 are quoted from a public restatement of Krishnasamy, Sen, Johari and "
    "Shakkottai; their proofs are not checked here.",
)


@krishnasamy_facts.check(
    method="symbolic",
    scope="general",
    part="order",
    false=[{"leading": "143"}, {"start": "173.8"}],
)
def cited_bound_for_large_times(leading: str, start: str) -> Finding:
    """Let t grow in the cited bound, beta a symbol; and enclose its first step for the gap 1/10."""
    import sympy

    from checks.methods.certified import ball, precision
    from checks.methods.symbolic import identity

    t, k, e, a = sympy.symbols("t K epsilon a", positive=True)  # a = 1/beta
    log = sympy.log(t)
    rest = 60 * k / e * (6 * k * t ** (1 - a) / e) * log**2 / t
    scale = k * log**3 / (e**2 * t)
    first = 6 * k * (24 * log / e**2) * log**2 / t / scale
    second = sympy.simplify(6 * k * rest * log**2 / t / scale)
    third = sympy.simplify((sympy.Rational(24004, 1000) + k) / (6 * t**2) / scale)
    zero = [sympy.limit(term, t, sympy.oo) for term in (second, third)]
    if zero != [0, 0]:
        return undecided(f"the limits of the other terms are {zero}")
    with precision(100):
        exponent = 4 / ball(Fraction(1, 100)) / ball(10).log()  # beta to infinity
        earliest = decimal_of(exponent, start, "exponent of the first step")
    return combine(
        [
            identity(
                first,
                sympy.Rational(leading),
                "first term over K ln^3 t/(epsilon^2 t)",
                at=[{k: 2}],
            ),
            earliest,
        ],
        f"{leading} K ln^3 t/(epsilon^2 t), and nothing before 10^{start}",
    )


@krishnasamy_facts.check(
    method="symbolic",
    scope="general",
    part="law",
    false=[{"ratio": BUSY}, {"busy": RATIO}],
)
def balance_of_the_best_server(busy: str, ratio: str) -> Finding:
    """The flow up across each level equals the flow down, in both orders of a step.

    Service first: from 0 the length rises with probability lambda, elsewhere with lambda (1 - mu).
    Arrivals first: with lambda (1 - mu) everywhere. Down with mu (1 - lambda).
    """
    import sympy

    from checks.methods.symbolic import identity

    lam, mu = sympy.symbols("lambda mu", positive=True)
    read = {BUSY: lam / mu, RATIO: lam * (1 - mu) / (mu * (1 - lam))}
    r, any_job = read[one_of("ratio", ratio, *read)], read[one_of("busy", busy, *read)]
    up, down = lam * (1 - mu), mu * (1 - lam)
    at = [{lam: sympy.Rational(1, 2), mu: sympy.Rational(3, 4)}]
    one = any_job * (1 - r)  # Pr(Q = 1), service first
    return combine(
        [
            identity((1 - r) * up, (1 - r) * r * down, "arrivals first, every level", at=at),
            identity((1 - any_job) * lam, one * down, "service first, level 0", at=at),
            identity(one * up, one * r * down, "service first, other levels", at=at),
        ],
        "flows balance across every level, so the laws are stationary",
    )


@krishnasamy_facts.check(
    method="smt", scope="general", part="any learner", false={"relief": "0.99"}
)
def service_offered(relief: str) -> Finding:
    """Count what is offered: at most t steps, each worth mu* less the gap of its server; z3 adds up.

    The queue of the best server keeps its mean. A smaller factor is refuted by a second server of
    rate 0 that is used exactly in steps in which no job waits or arrives, which costs nothing.
    """
    import z3

    from checks.methods.smt import implies, real

    stated = Fraction(relief)
    if stated < 1:
        rate, best = Fraction(1, 4), Fraction(1, 2)
        ratio = rate * (1 - best) / (best * (1 - rate))
        idle = (1 - ratio) * (1 - rate)  # no job waits and none arrives, arrivals first
        lost = best * idle
        if lost > stated * (best - rate):
            return refuted(
                f"lambda = {rate}, rates {best} and 0, the latter in idle steps: Psi = 0, while a step "
                f"adds {lost} - {relief} * {best - rate} on the right"
            )
        return undecided("idle steps are no counterexample")
    length, best_length, begins, rate, best, t, steps, gaps, left, slack = z3.Reals(
        "E(Q) E(Q*) E(Q(0)) lambda mu* t steps sum(gap*T) departures epsilon"
    )
    return combine(
        [
            implies(
                [
                    *(best > 0, slack > 0, t >= 0, steps <= t, steps >= 0, slack == best - rate),
                    length == begins + rate * t - left,
                    *(left <= best * steps - gaps, best_length == begins),
                ],
                length - best_length >= gaps - real(stated) * slack * t,
                "lengths",
            ),
        ],
        "E Q(t) >= E Q(0) + lambda t - mu* t + sum of Delta_k E T_k",
    )
