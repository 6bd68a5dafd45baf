"""EXP3 in front of the eight servers of the example: with enough service, and with too little.

Replication i has its own seed, so the arrays do not depend on the number of workers. An axis of
replications comes first; names end in the system (``_ample``, ``_ample_fixed``, ``_scarce_fixed``).
"""

from checks.evidence import evidence, replicate

#: Arrival rates of the example, and its service rates up to a factor.
ARRIVAL_RATES = (0.4,) * 4
SHAPE = (0.9, 0.8, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1)

#: Total service rate and acceptance rule; "fixed": queue 1 before queue 2 and so on, at every server.
SYSTEMS = {
    "ample": (3.0, "uniform"),
    "ample_fixed": (3.0, "fixed"),
    "scarce_fixed": (2.0, "fixed"),
}


def service_rates(total):
    """The service rates of the example with a given sum."""
    return tuple(rate * total / sum(SHAPE) for rate in SHAPE)


def _one_run(seed, total, rule, horizon, points):
    import numpy as np

    from simlib.learners import exp3
    from simlib.strategic import fixed_priority, simulate_system, uniform

    steps = np.linspace(0, horizon, points + 1).round().astype(int)[1:]
    run = simulate_system(
        ARRIVAL_RATES,
        service_rates(total),
        exp3(exploration=0.01),
        horizon,
        seed,
        acceptance=uniform() if rule == "uniform" else fixed_priority(range(len(ARRIVAL_RATES))),
        checkpoints=steps,
    )
    sums = run.cumulative.sum(axis=1)
    half = np.searchsorted(steps, horizon // 2)
    return {
        "steps": steps,
        "longest": run.longest.astype(np.int32),
        "total": run.total.astype(np.int32),
        "late_mean": np.array((sums[-1] - sums[half]) / (horizon - horizon // 2)),
        "busy": np.array(run.busy[-1] / horizon),
    }


@evidence(
    "strategic.exp3_example",
    quick={"horizon": 40_000, "points": 80, "runs": 32},
    full={"horizon": 1_000_000, "points": 200, "runs": 32},
)
def exp3_example(seed, jobs, *, horizon, points, runs):
    """Four queues of rate 0.4 with EXP3 (exploration 0.01, learning rate an eighth of it).

    Arrays, for X in ample, ample_fixed and scarce_fixed, R runs, C even checkpoints of which the middle
    one is half of the horizon: ``steps`` (C,); ``longest_X``, ``total_X`` (R, C) lengths of the longest
    queue and of all together at the end of a step; ``late_mean_X`` (R,) mean of the latter over the
    second half; ``busy_X`` (R, m) share of steps in which a buffer is full just before service.
    """
    found = {}
    for system, (total, rule) in SYSTEMS.items():
        result = replicate(
            _one_run,
            runs,
            seed=seed,
            experiment=f"strategic.exp3_example.{system}",
            parameters={"total": total, "rule": rule, "horizon": horizon, "points": points},
            n_jobs=jobs,
        )
        found["steps"] = result.pop("steps")[0]
        found |= {f"{name}_{system}": values for name, values in result.items()}
    return found
