"""Jobs whose contexts are rows of data sets that scikit-learn ships, in both readings of a label.

The source's own sets need a network. Digits (ten classes) stand in for MNIST, breast cancer (two
classes) for In-Vehicle Coupon, iris and wine (three classes) for Heart Disease, with arrival rates
chosen as the source's are: at 1/K or a little above it. A horizon is short where queues grow long.

Learners that are "small" have 0.02 of the bonus that the theory asks for; "stale" estimates are renewed
when a server's attempts have grown by 5%, and not after each of them.
"""

from checks.evidence import evidence, replicate

#: Arrival rate and horizon of each data set.
DATA = {
    "digits": (0.15, 1_000),
    "wine": (0.4, 1_000),
    "iris": (0.4, 1_000),
    "breast cancer": (0.5, 300),
}
LIBRARIES = ("scikit-learn",)  # ships the data sets and fits the models
READINGS = ("label", "fitted")
SMALL = 0.02  # what is left of the bonus in the variants
STALE = 1.05
POINTS = 50  # checkpoints, equally spaced

#: Policies whose queues the claims compare.
COMPARED = {
    "digits": ("opt_small", "eps_small", "stale"),
    "wine": ("opt_small", "eps_small"),
    "breast cancer": ("opt", "eps", "random"),
}
#: Policies of the overview.
ALL = (
    *("opt", "opt_small", "eps", "eps_small", "eps_opt_small", "ts_small", "greedy"),
    *("q_ucb", "q_ths", "random"),
)


def policies(horizon):
    """The policies that are compared, with the names that they have in the arrays.

    Parameters
    ----------
    horizon : int
        T; CQB-epsilon explores for T/10 rounds, as the source does on its data.

    Returns
    -------
    dict of str to Policy
    """
    from simlib import contextual as c

    tau, failure = horizon // 10, 1 / horizon
    return {
        "opt": c.cqb_opt(),
        "opt_small": c.cqb_opt(bonus_scale=SMALL),
        "eps": c.cqb_epsilon(tau, failure=failure),
        "eps_small": c.cqb_epsilon(tau, bonus_scale=SMALL, failure=failure),
        "eps_opt_small": c.cqb_epsilon_opt(bonus_scale=SMALL),
        "ts_small": c.cqb_ts(bonus_scale=SMALL),
        "greedy": c.greedy(),
        "q_ucb": c.q_ucb(),
        "q_ths": c.q_ths(),
        "random": c.uniform(),
        "stale": c.cqb_opt(bonus_scale=SMALL, refresh=STALE),
    }


def one_run(seed, *, instance, policies, horizon):
    """Several policies and pi* on the same jobs: one replication.

    Returns
    -------
    dict
        ``queue``, shape (policies + 1, POINTS): Q(t) at t = T/POINTS, 2 T/POINTS, ..., pi* last;
        ``mean``, shape (policies + 1,): mean of Q(t) over the rounds t = 1..T; ``busiest``, shape
        (policies,): share of the server that was chosen most often.
    """
    import numpy as np

    from simlib.contextual import simulate_paired

    found = simulate_paired(
        instance, policies, horizon, seed, checkpoints=np.arange(1, horizon + 1)
    )
    queue = np.vstack([found.queue, found.benchmark.queue])
    step = horizon // POINTS
    return {
        "queue": queue[:, step - 1 :: step],
        "mean": queue.mean(axis=1),
        "busiest": np.array([run.attempts.max() / run.attempts.sum() for run in found.runs]),
    }


def _runs(name, reading, chosen, runs, seed, jobs, experiment):
    """Replications on one data set, with the names that the arrays have in the evidence."""
    from simlib.contextual import instance_from_data, load_data

    rate, horizon = DATA[name]
    made = policies(horizon)
    result = replicate(
        one_run,
        runs,
        seed=seed,
        experiment=experiment,
        case=f"{name} {reading}",
        parameters={
            "instance": instance_from_data(load_data(name), rate, departures=reading),
            "policies": [made[one] for one in chosen],
            "horizon": horizon,
        },
        n_jobs=jobs,
    )
    found = {}
    for i, one in enumerate([*chosen, "optimal"]):
        found[f"{name}|{reading}|{one}|queue"] = result["queue"][:, i]
        found[f"{name}|{reading}|{one}|mean"] = result["mean"][:, i]
        if i < len(chosen):
            found[f"{name}|{reading}|{one}|busiest"] = result["busiest"][:, i]
    return found


@evidence("contextual.real_data", quick={"runs": 60}, full={"runs": 400}, libraries=LIBRARIES)
def real_data(seed, jobs, *, runs):
    """What the claims compare, in the reading "label".

    Arrays ``<data>|label|<policy>|<quantity>``: ``queue`` (runs, POINTS), ``mean`` (runs,) and
    ``busiest`` (runs,) as in `one_run`, for the policies of `COMPARED`, and the first two for
    ``optimal``.
    """
    found = {}
    for name, chosen in COMPARED.items():
        found |= _runs(name, "label", chosen, runs, seed, jobs, "contextual.real_data")
    return found


@evidence(
    "contextual.real_data_overview", quick={"runs": 10}, full={"runs": 100}, libraries=LIBRARIES
)
def overview(seed, jobs, *, runs):
    """All policies on all data sets in both readings; arrays named as in `real_data`."""
    found = {}
    for name in DATA:
        for reading in READINGS:
            found |= _runs(name, reading, ALL, runs, seed, jobs, "contextual.real_data_overview")
    return found
