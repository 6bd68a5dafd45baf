"""Down in good rounds, up in bad ones: the drift, its exponential moment, the tail of the queue."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from checks.claim import Claim, Printed, Source
from checks.contextual.instances import SOURCE
from checks.finding import Finding, combine, one_of, proved, refuted, undecided

# One good round ------------------------------------------------------------------------------------

_QUEUES = ("not empty", "possibly empty")
_THRESHOLDS = {r"(\epsilon-2\varepsilon)/4": 2, r"(\epsilon-\varepsilon)/4": 1}

drift = Claim(
    "contextual.drift",
    title="In a good round a queue that is <<queue>> drifts down by half of the slack",
    source=Source(SOURCE, "Appendix C.4", provenance="reconstructed"),
    kind="lemma",
    statement=r"""
At the beginning of a round some waiting job has a server at which it leaves with probability at least
$\lambda+\epsilon$ (Assumption 3.4), where $\lambda>0$ is the arrival rate, $\epsilon>0$ the slack and
$\lambda+\epsilon\le1$. Of each waiting job and server the learner has an estimate, which differs from
the true rate by at most a width $w$; it takes the pair with the largest sum of estimate and width.
Only with conditional probability at most $\varepsilon$, where $0\le2\varepsilon<\epsilon$, it takes any
other pair instead, to explore. The round is *good* if the width of the pair with the largest sum, be
it taken or not, is at most $<<threshold>>$. (For CQB-Opt $\varepsilon=0$.)

If the queue is <<queue>> and the round is good, then, given the past,
$$E[A(t)-D(t)]\le-<<share:frac>>\,\epsilon.$$
""",
    claimed={"threshold": r"(\epsilon-2\varepsilon)/4", "queue": "not empty", "share": "1/2"},
    meaning={
        "threshold": "largest width of a good round",
        "queue": "which queues drift down",
        "share": "share of the slack that is left",
    },
    as_printed=Printed(
        {"queue": "possibly empty"},
        says="the display of the lemma and its proof have no condition on the queue (the sentence "
        "around the display is lost)",
        correct="from an empty queue nothing leaves and the drift is +lambda; this costs the tail bound "
        "nothing, see contextual.queue_potential",
        kind="unspecified",
    ),
)


def _empty_queue(share: Fraction) -> Finding:
    """Its drift is the arrival rate, whatever the learner does."""
    rate, slack = Fraction(7, 10), Fraction(1, 10)
    if rate <= -share * slack:
        return undecided(f"the drift {rate} of an empty queue is no counterexample")
    return refuted(
        f"an empty queue with arrival rate {rate} drifts by +{rate}, above {-share * slack}"
    )


@drift.check(
    method="smt",
    scope="general",
    false=[
        {"threshold": r"(\epsilon-\varepsilon)/4"},
        {"queue": "possibly empty"},
        {"share": "0.51"},
    ],
)
def optimism_and_drift(threshold: str, queue: str, share: str) -> Finding:
    """Ask z3 for a round that breaks it: rates, estimates and widths of three pairs.

    The best pair, the one with the largest sum, and one that is explored; other pairs play no part. A
    counterexample is a round. From an empty queue nothing leaves.
    """
    import z3

    from checks.methods.smt import implies, real

    explored_share = _THRESHOLDS[one_of("threshold", threshold, *_THRESHOLDS)]
    if one_of("queue", queue, *_QUEUES) == "possibly empty":
        return _empty_queue(Fraction(share))
    rate, slack, explore, coin = z3.Reals("lambda slack epsilon Pr(explores)")
    best, guess_best, w_best = z3.Reals("best its_estimate its_width")
    taken, guess, w, explored = z3.Reals("taken estimate width explored")
    hypotheses = [
        *(rate > 0, slack > 0, rate + slack <= 1, explore >= 0, 2 * explore < slack),
        *(coin >= 0, coin <= explore, best >= rate + slack, best <= 1),
        *(z3.And(x > 0, x <= best) for x in (taken, explored)),
        *(w_best >= 0, best - w_best <= guess_best, guess_best <= best + w_best),
        *(w >= 0, taken - w <= guess, guess <= taken + w, guess + w >= guess_best + w_best),
        4 * w <= slack - explored_share * explore,
    ]
    mean = (1 - coin) * taken + coin * explored
    bound = -real(share) * slack
    return implies(hypotheses, rate - mean <= bound, "drift of a good round")


@drift.check(
    method="exact",
    scope="instances",
    false=[
        {"threshold": r"(\epsilon-\varepsilon)/4"},
        {"queue": "possibly empty"},
        {"share": "0.51"},
    ],
)
def rounds_of_three_pairs(threshold: str, queue: str, share: str) -> Finding:
    """Let the learner choose among a good pair, a wide bad pair and a decoy, in exact arithmetic.

    Arrival rates 1/5, 1/2, 7/10, 4/5, slacks 1/10 and 1/5, three exploration rates; estimates at the
    ends of their intervals; the worst pair is explored, and equal sums go to the worse pair.
    """
    explored_share = _THRESHOLDS[one_of("threshold", threshold, *_THRESHOLDS)]
    if one_of("queue", queue, *_QUEUES) == "possibly empty":
        return _empty_queue(Fraction(share))
    good = 0
    rates = [Fraction(x, 10) for x in (2, 5, 7, 8)]
    for rate, slack, part in product(rates, (Fraction(1, 10), Fraction(1, 5)), (0, 4, 9)):
        explore = slack * part / 20
        width = (slack - explored_share * explore) / 4
        for step, *signs in product(range(13), (-1, 1), (-1, 1), (-1, 1)):
            pairs = [  # rate, width
                (rate + slack, width / 2),
                (rate + slack - width * step / 4, width),
                (Fraction(1, 20), Fraction(1, 10)),
            ]
            sums = [(p + sign * w + w, -p, w) for (p, w), sign in zip(pairs, signs, strict=True)]
            _, taken, w = max(sums)
            if w > width:
                continue
            good += 1
            change = rate - ((1 - explore) * -taken + explore * min(pairs)[0])
            if change > -Fraction(share) * slack:
                return refuted(
                    f"lambda = {rate}, slack = {slack}, epsilon = {explore}: the pair of rate "
                    f"{-taken} is taken, of width {w}; the drift is {change}, above "
                    f"-{Fraction(share) * slack}"
                )
    return proved(f"{good} good rounds drift down by half of the slack or more")


# Its exponential moment ----------------------------------------------------------------------------

mgf_step = Claim(
    "contextual.mgf_step",
    title="A step that goes down by half of the slack on average shrinks an exponential moment",
    source=Source(SOURCE, "Appendix C.4", provenance="reconstructed"),
    kind="lemma",
    statement=r"""
Let $X\in\{-1,0,1\}$ be random with $E[X]\le-\epsilon/2$, where $0<\epsilon\le1$, and
$\eta=<<tilt:frac>>\,\epsilon$. Then
$$E[e^{\eta X}]\le e^{-<<exponent>>\,\epsilon^2}.$$
Whatever its mean, $E[e^{\eta X}]\le e^{\eta}$.
""",
    claimed={"tilt": "1/2", "exponent": "1/8", "worst": "1"},
    meaning={
        "tilt": "multiple of the slack in the exponent of the moment",
        "exponent": "constant in the bound of a good round",
        "worst": "multiple of eta in the bound of a bad round",
    },
)


@mgf_step.check(
    method="symbolic",
    scope="general",
    false=[{"exponent": "0.126"}, {"tilt": "0.49"}, {"tilt": "0.51"}, {"worst": "0.99"}],
)
def chord_and_derivative(tilt: str, exponent: str, worst: str) -> Finding:
    """Replace the moment by its chord, then differentiate the ratio of the chord to the bound.

    The chord exceeds the moment by (1 - Pr(X = 1) - Pr(X = -1)) (cosh eta - 1). With h = epsilon/2 it is
    at most cosh h - h sinh h, and exp(h^2/2) times that is 1 at h = 0 with derivative
    -h^2 exp(h^2/2) sinh h. Other numbers are refuted by a step X = 1 or -1 of mean -epsilon/2.
    """
    import sympy

    from checks.methods.symbolic import identity

    if Fraction(worst) < 1:
        return refuted(f"X = 1 surely: e^eta > e^({worst} eta)")
    if Fraction(tilt) != Fraction(1, 2) or Fraction(exponent) > Fraction(1, 8):
        return _fair_step(Fraction(tilt), Fraction(exponent))
    eta, up, down, h = sympy.symbols("eta up down h", positive=True)
    moment = 1 - up - down + up * sympy.exp(eta) + down * sympy.exp(-eta)
    chord = sympy.cosh(eta) + (up - down) * sympy.sinh(eta)
    ratio = sympy.exp(h**2 / 2) * (sympy.cosh(h) - h * sympy.sinh(h))
    found = [
        identity(
            (chord - moment).rewrite(sympy.exp),
            ((1 - up - down) * (sympy.cosh(eta) - 1)).rewrite(sympy.exp),
            "the chord less the moment",
        ),
        identity(
            sympy.diff(ratio, h).rewrite(sympy.exp),
            (-(h**2) * sympy.exp(h**2 / 2) * sympy.sinh(h)).rewrite(sympy.exp),
            "derivative of the ratio",
        ),
        identity(ratio.subs(h, 0), sympy.Integer(1), "ratio at 0"),
        proved(f"e^(-epsilon^2/8) <= e^(-{exponent} epsilon^2), as {exponent} <= 1/8"),
    ]
    return combine(found, "the moment is below its chord, and the chord below e^(-h^2/2)")


def _fair_step(tilt: Fraction, exponent: Fraction) -> Finding:
    """The moment of a step up or down with mean -slack/2 against the bound, for 12 slacks."""
    from checks.methods.certified import ball, precision

    with precision(200):
        for power in range(12):
            slack = Fraction(1, 2**power)
            eta = ball(tilt * slack)
            moment = eta.cosh() - ball(slack / 2) * eta.sinh()
            bound = (-ball(exponent * slack**2)).exp()
            if moment > bound:
                return refuted(
                    f"X = 1 or -1 with mean -epsilon/2, epsilon = {slack}: the moment "
                    f"{moment.str(8, radius=False)} exceeds {bound.str(8, radius=False)}"
                )
    return undecided(
        f"no step is known to exceed e^(-{exponent} epsilon^2) at eta = {tilt} epsilon"
    )


@mgf_step.check(method="certified", scope="instances", false=[{"exponent": "1/7"}, {"tilt": "1/4"}])
def moments_of_steps(tilt: str, exponent: str) -> Finding:
    """Enclose the moments of 140 steps with a mean of exactly -epsilon/2, epsilon = 1/20, ..., 1.

    For each slack seven laws, from no step up to no step of 0.
    """
    from checks.methods.certified import ball, precision

    closest = 0.0
    with precision(100):
        for twentieth, part in product(range(1, 21), range(7)):
            slack = Fraction(twentieth, 20)
            up = (1 - slack / 2) / 2 * Fraction(part, 6)
            down = up + slack / 2
            eta = ball(Fraction(tilt) * slack)
            moment = 1 + ball(up) * (eta.exp() - 1) + ball(down) * ((-eta).exp() - 1)
            bound = (-ball(Fraction(exponent) * slack**2)).exp()
            if moment > bound:
                return refuted(
                    f"epsilon = {slack}, Pr(X = 1) = {up}, Pr(X = -1) = {down}: "
                    f"{moment.str(8, radius=False)} exceeds {bound.str(8, radius=False)}"
                )
            if not moment <= bound:
                return undecided(f"epsilon = {slack}: moment and bound are not separated")
            closest = max(closest, float((moment / bound).mid()))
    return proved(f"140 moments are below the bound; the largest ratio is {closest:.6f}")
