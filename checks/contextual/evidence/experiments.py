"""The source's experiments once more: queues of all policies on random instances."""

from checks.evidence import evidence, replicate

HORIZON = 5_000
SERVERS, DIMENSION = 5, 5
ARRIVAL_RATE, SLACK, CURVATURE = 0.7, 0.1, 10.0
SMALL = 0.02  # what is left of the bonus in the variants
SPACING = 100  # rounds between checkpoints; the first rounds have more of them
EARLY = (1, 2, 5, 10, 20, 35, 50, 75, 150, 250, 350)

#: Varied one at a time, as in the source: (slack, d, K).
SWEEPS = {
    "slack": [(slack, 5, 5) for slack in (0.05, 0.1, 0.15)],
    "servers": [(0.1, 5, servers) for servers in (3, 5, 7, 9)],
    "dimension": [(0.1, dimension, 5) for dimension in (3, 5, 10, 20)],
}


def policies():
    """The policies that are compared, with the names that they have in the arrays.

    Returns
    -------
    dict of str to Policy
    """
    from simlib import contextual as c

    failure = 1 / HORIZON
    return {
        "opt": c.cqb_opt(),
        "opt_small": c.cqb_opt(bonus_scale=SMALL),
        "eps": c.cqb_epsilon(failure=failure),
        "eps_small": c.cqb_epsilon(bonus_scale=SMALL, failure=failure),
        "eps_opt_small": c.cqb_epsilon_opt(bonus_scale=SMALL),
        "ts_small": c.cqb_ts(bonus_scale=SMALL),
        "greedy": c.greedy(),
        "q_ucb": c.q_ucb(),
        "q_ths": c.q_ths(),
        "random": c.uniform(),
    }


@evidence("contextual.experiments", quick={"runs": 10}, full={"runs": 200})
def experiments(seed, jobs, *, runs):
    """Random instances of Section 7; all policies of an instance see the same jobs and uniforms.

    Arrays: ``rounds`` (C,); ``optimal`` (runs, C), Q*(t); for each name of `policies` an array of that
    name (runs, C), Q(t); for each of `SWEEPS` ``tau_<name>``, the rounds of pure exploration by the
    experiments' formula, not cut off at the horizon.
    """
    import numpy as np

    from simlib.contextual import random_experiment
    from simlib.contextual.formulas import experiment_exploration_rounds

    rounds = np.union1d(EARLY, np.arange(SPACING, HORIZON + 1, SPACING))
    made = policies()
    result = replicate(
        random_experiment,
        runs,
        seed=seed,
        experiment="contextual.experiments",
        parameters={
            "policies": list(made.values()),
            "horizon": HORIZON,
            "checkpoints": rounds,
            "servers": SERVERS,
            "dimension": DIMENSION,
            "arrival_rate": ARRIVAL_RATE,
            "slack": SLACK,
            "kappa": CURVATURE,
        },
        n_jobs=jobs,
    )
    found = {"rounds": rounds, "optimal": result["benchmark"]}
    for i, name in enumerate(made):
        found[name] = result["queue"][:, i]
    for name, cases in SWEEPS.items():
        found[f"tau_{name}"] = [
            experiment_exploration_rounds(HORIZON, dimension, servers, ARRIVAL_RATE, slack)
            for slack, dimension, servers in cases
        ]
    return found
