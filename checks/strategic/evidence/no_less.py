"""What is simulated for the chapter on tightness: uniform learners on many identical servers.

Conventions: an axis of replications comes first (R runs); growth is the slope of a queue length over the
second half of a run, in packets per step; rates in names are the total service rates.
"""

from checks.evidence import evidence, replicate

#: E7: one queue of rate 1/2 and 200 servers, at these total rates.
SINGLE_TOTALS = ("0.9", "0.95", "1.05", "1.1")
SINGLE_SERVERS = 200

#: E8: arrival rates of three queues, and total service rate and number of servers of each system.
THREE_RATES = ("0.6", "0.3", "0.1")
SYSTEMS = (
    ("2.2", 400),
    ("2.4", 400),
    ("2.6", 400),
    ("2.8", 400),
    ("2.2", 39),
    ("2.2", 19),
    ("2.2", 10),
)

#: Arrival rates of the phase transition: one queue and several for each largest rate.
VECTORS = (
    ("0.2",),
    ("0.4",),
    ("0.5",),
    ("0.75",),
    ("0.2", "0.1", "0.05"),
    ("0.4", "0.4", "0.4", "0.4"),
    ("0.5", "0.4", "0.2", "0.1"),
    ("0.75", "0.25"),
)

#: Those of them that are simulated with EXP3 too.
LEARNED = (("0.5", "0.4", "0.2", "0.1"),)


def _floats(texts):
    return [float(text) for text in texts]


def _one_run(seed, arrival_rates, total, servers, horizon, exploration=None):
    import numpy as np

    from simlib.learners import exp3, uniform_router
    from simlib.strategic import simulate_system
    from simlib.strategic.stability import growth_rate

    run = simulate_system(
        _floats(arrival_rates),
        [total / servers] * servers,
        exp3(exploration=exploration) if exploration else uniform_router(servers),
        horizon,
        seed,
        checkpoints=[horizon // 4, horizon // 2, horizon],
    )
    cleared = growth_rate(run.checkpoints, run.cleared.sum(axis=1))
    return {
        "shortfall": np.array(run.arrival_rates.sum() - cleared),
        "growth": np.array(growth_rate(run.checkpoints, run.longest)),
        "growth_first": np.array(growth_rate(run.checkpoints, run.queues[:, 0])),
        "growth_total": np.array(growth_rate(run.checkpoints, run.total)),
        "clearing_first": np.array(run.cleared[-1, 0] / horizon),
        "lengths": run.queues,
    }


@evidence(
    "strategic.single_queue",
    quick={"horizon": 80_000, "runs": 40},
    full={"horizon": 1_000_000, "runs": 40},
)
def single_queue(seed, jobs, *, horizon, runs):
    """One queue of rate 1/2, empty at first, and 200 identical servers drawn uniformly (E7).

    Arrays, for X in ``SINGLE_TOTALS``: ``horizon``; ``growth_total_X``, ``shortfall_X`` (R,) as for
    `three_queues`; ``lengths_X`` (R, 3) queue after a quarter, half and all of the run.
    """
    found = {"horizon": horizon}
    for total in SINGLE_TOTALS:
        result = replicate(
            _one_run,
            runs,
            seed=seed,
            experiment=f"strategic.single_queue.{total}",
            parameters={
                "arrival_rates": ("0.5",),
                "total": float(total),
                "servers": SINGLE_SERVERS,
                "horizon": horizon,
            },
            n_jobs=jobs,
        )
        for key in ("growth_total", "shortfall"):
            found[f"{key}_{total}"] = result[key]
        found[f"lengths_{total}"] = result["lengths"][:, :, 0]
    return found


@evidence(
    "strategic.three_queues",
    quick={"horizon": 60_000, "runs": 32},
    full={"horizon": 2_000_000, "runs": 40},
)
def three_queues(seed, jobs, *, horizon, runs):
    """Queues of rates 0.6, 0.3 and 0.1, empty at first, all uniform; ties broken uniformly (E8).

    Arrays, for X = "total rate_servers" in ``SYSTEMS``: ``horizon``; ``growth_first_X`` (R,) of queue 1,
    ``growth_total_X`` (R,) of all packets in queues, ``growth_X`` (R,) of the longest queue;
    ``shortfall_X`` (R,) total arrival rate less packets accepted per step of the second half, which has
    the mean of ``growth_total_X`` and, where queues grow, less noise;
    ``clearing_first_X`` (R,) packets of queue 1 accepted per step; ``lengths_X`` (R, 3, 3) lengths after
    a quarter, half and all of the run.
    """
    found = {"horizon": horizon}
    for total, servers in SYSTEMS:
        name = f"{total}_{servers}"
        result = replicate(
            _one_run,
            runs,
            seed=seed,
            experiment=f"strategic.three_queues.{name}",
            parameters={
                "arrival_rates": THREE_RATES,
                "total": float(total),
                "servers": servers,
                "horizon": horizon,
            },
            n_jobs=jobs,
        )
        found |= {f"{key}_{name}": values for key, values in result.items()}
    return found


def vector_name(arrival_rates):
    """Name of a vector of arrival rates in the arrays of the phase transition."""
    return "_".join(arrival_rates)


def threshold(arrival_rates):
    """Total service rate at the factor 1 / (1 - largest arrival rate)."""
    rates = _floats(arrival_rates)
    return sum(rates) / (1 - max(rates))


def predicted_growth(arrival_rates, total, servers):
    """Growth of the longest queue that the fluid predicts, uniform learners on identical servers.

    A backlogged queue clears at the free fraction f of the servers, every other one what arrives: f
    solves ``sum_i min(lambda_i, f) = mu (1 - f) / (1 - nu)``. This is exact for one queue, f = h; with
    several it leaves out collisions.

    Parameters
    ----------
    arrival_rates : sequence of n numbers or texts of numbers
    total : float
        Total service rate mu, in (0, servers).
    servers : int
        Number of servers m; nu = mu/m.

    Returns
    -------
    float
        Packets per step, ``max(0, lambda_max - f)``.
    """
    from scipy.optimize import brentq

    rates = _floats(arrival_rates)

    def excess(free):
        return sum(min(rate, free) for rate in rates) - total * (1 - free) / (1 - total / servers)

    return max(0.0, max(rates) - brentq(excess, 0.0, 1.0))


@evidence(
    "strategic.phase_transition",
    quick={
        "shares": (0.6, 0.8, 0.9, 1.0, 1.1, 1.25),
        "servers": 50,
        "horizon": 12_000,
        "runs": 32,
    },
    full={
        "shares": (0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.25, 1.4),
        "servers": 200,
        "horizon": 200_000,
        "runs": 32,
    },
)
def phase_transition(seed, jobs, *, shares, servers, horizon, runs):
    """Growth of the longest queue against the overprovisioning factor, identical servers, empty start.

    Uniform learners for all of ``VECTORS``; for ``LEARNED`` also EXP3 (exploration 0.01), which stays
    near the uniform strategy, because that is the normalized odds here.

    Arrays, for X = `vector_name` of a vector and F factors: ``servers``; ``horizon``; ``shares`` (F,)
    total service rate over `threshold`; ``factors_X`` (F,) total service rate over total arrival rate;
    ``growth_X`` (F, R) of the longest queue and ``growth_exp3_X`` (F, R) the same with EXP3;
    ``predicted_X`` (F,) as `predicted_growth`.
    """
    import numpy as np

    found = {"servers": servers, "horizon": horizon, "shares": np.array(shares)}
    for rates in VECTORS:
        name, critical = vector_name(rates), threshold(rates)
        totals = [share * critical for share in shares]
        found[f"factors_{name}"] = np.array(totals) / sum(_floats(rates))
        found[f"predicted_{name}"] = [predicted_growth(rates, total, servers) for total in totals]
        for key, exploration in (("growth", None), ("growth_exp3", 0.01)):
            if exploration and rates not in LEARNED:
                continue
            found[f"{key}_{name}"] = [
                replicate(
                    _one_run,
                    runs,
                    seed=seed,
                    experiment=f"strategic.phase_transition.{name}.{share}",
                    case=key,
                    parameters={
                        "arrival_rates": rates,
                        "total": total,
                        "servers": servers,
                        "horizon": horizon,
                        "exploration": exploration,
                    },
                    n_jobs=jobs,
                )["growth"]
                for share, total in zip(shares, totals, strict=True)
            ]
    return found


# Windows ------------------------------------------------------------------------------------------

#: Two queues that never empty in front of two servers of this rate.
WINDOW_RATE = "0.3"
RULES = ("the same", "different")

_compiled = {}  # the rule of the next function, made when it is first used


def different_at_each_server():
    """An acceptance rule: server 1 prefers the queue with the smallest number, others the largest."""
    from simlib.strategic import acceptance_rule

    if not _compiled:

        @acceptance_rule(heads=False)
        def different(server, t, senders, count, lengths, heads, params, rng):
            return senders[0] if server == 0 else senders[count - 1]

        _compiled["rule"] = different
    return _compiled["rule"]


def _one_window_run(seed, rule, step, steps):
    from simlib.learners import uniform_router
    from simlib.strategic import fixed_priority, simulate_periods

    run = simulate_periods(
        [0.5, 0.5],
        [float(WINDOW_RATE)] * 2,
        uniform_router(2),
        step,
        steps,
        seed,
        acceptance=fixed_priority([0, 1]) if rule == "the same" else different_at_each_server(),
        start_queues=[step * steps] * 2,
    )
    would, cleared = run.would_clear[:, 0].cumsum(axis=0), run.cleared[:, 0].cumsum()
    return {"against_first": would[:, 0] - cleared, "regret": would.max(axis=1) - cleared}


@evidence(
    "strategic.windows",
    quick={"step": 500, "steps": 20, "runs": 40},
    full={"step": 5_000, "steps": 40, "runs": 200},
)
def windows(seed, jobs, *, step, steps, runs):
    """Regret of queue 1, one of two uniform queues that never empty, at two servers of rate 0.3.

    Arrays, for K = 0 (all servers prefer queue 1) and 1 (server 1 prefers queue 1, server 2 queue 2):
    ``window`` (C,) lengths of windows from the first step; ``against_first_K`` (R, C) realised regret
    of queue 1 against server 1; ``regret_K`` (R, C) against the best server.
    """
    import numpy as np

    found = {"window": step * np.arange(1, steps + 1)}
    for number, rule in enumerate(RULES):
        result = replicate(
            _one_window_run,
            runs,
            seed=seed,
            experiment="strategic.windows",  # the same arrivals, targets and services for both
            case=rule,
            parameters={"rule": rule, "step": step, "steps": steps},
            n_jobs=jobs,
        )
        found |= {f"{key}_{number}": values for key, values in result.items()}
    return found
