"""What is seen where the contexts are rows of a data set: does exploring first shorten the queue?

The source says that CQB-epsilon is the best of its policies on three data sets. These need a network,
and how a label yields a departure is not said; what is decided here is about other data sets, in one
reading, and neither confirms nor refutes that sentence.
"""

from __future__ import annotations

from fractions import Fraction

from checks.claim import Claim, Source
from checks.contextual.evidence.real_data import DATA, SMALL, STALE, real_data
from checks.contextual.instances import SOURCE
from checks.finding import Finding, one_of
from checks.methods.statistical import most_runs

_ALPHA = 2e-7  # of each interval

_SETTING = r"""
Jobs are rows of a data set of $K$ classes that scikit-learn ships, drawn uniformly; in each of $T$
rounds one arrives with probability $\lambda$. A job of class $c$ departs for certain at server $c$ and
never at another one, our reading of what the source leaves open. CQB-ε explores for $T/10$ rounds
and tries a new job at random with probability $T^{-1/2}$ afterwards. Learners have
$\kappa=10$, $\lambda_0=1$, $\delta=1/T$ and
<<WIDTH>>. $\bar Q=\frac1T\sum_{t\le T}Q(t)$ is the mean queue of a
run; policies that are compared see the same jobs.
"""

_UNCOVERED = (
    "the source's own three data sets; other readings of a label, widths, horizons and arrival rates. "
    "What is claimed was picked after an overview of all four sets (other runs, all in the chapter). "
    "A statement about more than half of all runs says nothing about the mean"
)


def _setting(width: str) -> str:
    return _SETTING.replace("<<WIDTH>>", width)


def _difference(runs, data, longer, shorter):
    return runs[f"{data}|label|{longer}|mean"] - runs[f"{data}|label|{shorter}|mean"]


def _compared(runs, data, order, by, pair, name) -> Finding:
    """Decide "more than half of all runs have the first of a pair longer (or shorter) by that much"."""
    least = float(Fraction(by))
    difference = _difference(runs, data, *pair)
    if order == "shorter":
        difference = -difference
    says = f"have {name} {order} by {by} jobs or more"
    return most_runs(
        difference, lambda x: x >= least, _ALPHA, f"{data}: {name}, how much {order}", says
    )


# A small bonus ---------------------------------------------------------------------------------------

small_bonus = Claim(
    "contextual.real_data_small_bonus",
    title="With a small bonus CQB-ε queues are <<order>> than those of CQB-Opt on digits and on wine",
    source=Source(SOURCE, 'Appendix A, "Real-world dataset"', provenance="ours"),
    kind="observation",
    statement=_setting(f"{SMALL} times the width of the source")
    + rf"""
In more than half of all runs $\bar Q$ of CQB-ε is <<order>> than $\bar Q$ of CQB-Opt,

- on digits ($K=10$, $\lambda={DATA["digits"][0]}$, $T={DATA["digits"][1]}$) by <<digits>> jobs or more,
- on wine ($K=3$, $\lambda={DATA["wine"][0]}$, $T={DATA["wine"][1]}$) by <<wine>> jobs or more.

So in most runs on these two CQB-ε is not the best of the policies that the source compares.
""",
    claimed={"order": "longer", "digits": "0.3", "wine": "0.2"},
    meaning={
        "order": "CQB-ε beside CQB-Opt",
        "digits": "jobs more than half of the runs differ by, on digits",
        "wine": "jobs more than half of the runs differ by, on wine",
    },
    parts={"digits": "digits", "wine": "wine"},
    uncovered=_UNCOVERED,
)


@small_bonus.check(
    method="statistical",
    scope="instances",
    part="digits",
    uses=real_data,
    alpha=_ALPHA,
    false=[{"order": "shorter"}, {"digits": "6"}],
)
def paired_runs_on_digits(runs, order: str, digits: str) -> Finding:
    """Both policies on the same jobs, in each run; the share of runs by an exact interval.

    The interval for the share (Clopper-Pearson) holds for every law of the queues, so that no mean of
    heavy tails has to be trusted. Six jobs more is what about one run in twenty has.
    """
    one_of("order", order, "longer", "shorter")
    return _compared(runs, "digits", order, digits, ("eps_small", "opt_small"), "CQB-ε")


@small_bonus.check(
    method="statistical",
    scope="instances",
    part="wine",
    uses=real_data,
    alpha=_ALPHA,
    false=[{"order": "shorter"}, {"wine": "2"}],
)
def paired_runs_on_wine(runs, order: str, wine: str) -> Finding:
    """As on digits, with three classes and standardised features."""
    one_of("order", order, "longer", "shorter")
    return _compared(runs, "wine", order, wine, ("eps_small", "opt_small"), "CQB-ε")


# The full bonus --------------------------------------------------------------------------------------

full_bonus = Claim(
    "contextual.real_data_full_bonus",
    title="With the full bonus CQB-ε queues are <<order>> than those of CQB-Opt on breast cancer, and "
    "those of random pairs shorter still",
    source=Source(SOURCE, 'Appendix A, "Real-world dataset"', provenance="ours"),
    kind="observation",
    statement=_setting("the width of the source")
    + rf"""
On breast cancer ($K=2$, $\lambda={DATA["breast cancer"][0]}$, $T={DATA["breast cancer"][1]}$), in more
than half of all runs,

- $\bar Q$ of CQB-ε is <<order>> than that of CQB-Opt, by <<gain>> jobs or more;
- $\bar Q$ of CQB-ε is longer than that of random pairs, by <<loss>> jobs or more;
- CQB-Opt chooses one of the two servers in a share of <<busiest>> of its decisions, or more.
""",
    claimed={"order": "shorter", "gain": "5", "loss": "15", "busiest": "0.9"},
    meaning={
        "order": "CQB-ε beside CQB-Opt",
        "gain": "jobs that exploring saves in more than half of the runs",
        "loss": "jobs that random pairs save besides",
        "busiest": "share of the busier server",
    },
    parts={
        "exploring": "CQB-ε and CQB-Opt",
        "random": "CQB-ε and random pairs",
        "servers": "the two servers",
    },
    uncovered="that the busier server is the cause; " + _UNCOVERED,
)


@full_bonus.check(
    method="statistical",
    scope="instances",
    part="exploring",
    uses=real_data,
    alpha=_ALPHA,
    false=[{"order": "longer"}, {"gain": "60"}],
)
def exploring_helps(runs, order: str, gain: str) -> Finding:
    """Paired runs and an exact interval for the share of them, as with a small bonus."""
    one_of("order", order, "longer", "shorter")
    return _compared(runs, "breast cancer", order, gain, ("eps", "opt"), "CQB-ε")


@full_bonus.check(
    method="statistical",
    scope="instances",
    part="random",
    uses=real_data,
    alpha=_ALPHA,
    false={"loss": "60"},
)
def chance_is_better(runs, loss: str) -> Finding:
    """Paired runs likewise: even a random job at a random server keeps a shorter queue."""
    return _compared(runs, "breast cancer", "longer", loss, ("eps", "random"), "CQB-ε")


@full_bonus.check(
    method="statistical",
    scope="instances",
    part="servers",
    uses=real_data,
    alpha=_ALPHA,
    false={"busiest": "0.999"},
)
def one_server_only(runs, busiest: str) -> Finding:
    """Decisions of CQB-Opt for its busier server, as a share; an exact interval for the runs.

    The factor of a server's bonus grows with its own attempts, so that in a direction that no server has
    seen the one which is tried most looks the least certain.
    """
    least = float(Fraction(busiest))
    return most_runs(
        runs["breast cancer|label|opt|busiest"],
        lambda share: share >= least,
        _ALPHA,
        "share of CQB-Opt's busier server",
        f"have {busiest} or more",
    )


# Estimates that lag behind ---------------------------------------------------------------------------

stale_estimates = Claim(
    "contextual.real_data_stale_estimates",
    title="On digits, estimates that lag by 5% of a server's attempts lengthen the queue of CQB-Opt",
    source=Source(SOURCE, 'Appendix A, "Real-world dataset"', provenance="ours"),
    kind="observation",
    statement=_setting(f"{SMALL} times the width of the source")
    + rf"""
On digits ($K=10$, $\lambda={DATA["digits"][0]}$, $T={DATA["digits"][1]}$), let CQB-Opt renew the
estimate of a server when its attempts have grown by {100 * STALE - 100:g}% since the last time, instead
of after each of them. Then in more than half of all runs $\bar Q$ is longer by <<cost>> jobs or more.
""",
    claimed={"cost": "0.2"},
    meaning={"cost": "jobs more in more than half of the runs"},
    uncovered="that the wrong model is the cause; " + _UNCOVERED,
)


@stale_estimates.check(
    method="statistical",
    scope="instances",
    uses=real_data,
    alpha=_ALPHA,
    false={"cost": "5"},
)
def renewed_late(runs, cost: str) -> Finding:
    """The same jobs with and without the delay, in each run; an exact interval for the share of runs."""
    return _compared(runs, "digits", "longer", cost, ("stale", "opt_small"), "a late estimate")
