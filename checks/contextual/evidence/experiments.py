"""The source's experiments once more: queues on random instances, sweeps, and regret against T.

An instance, its jobs and its service uniforms are drawn anew in each replication; the policies of a
replication share them. In the variants of the learners that are "small" the bonus is 0.02 of what the
theory asks for.

With a ``refresh`` above 1 the estimate of a server is renewed when its attempts have grown by that
factor, and not after each of them: an approximation, whose effect is measured here as well.
"""

from checks.evidence import evidence, replicate

HORIZON = 5_000
SERVERS, DIMENSION = 5, 5
ARRIVAL_RATE, SLACK, CURVATURE = 0.7, 0.1, 10.0
SMALL = 0.02  # what is left of the bonus in the variants
SPACING = 100  # rounds between checkpoints; the first rounds have more of them
FIRST = 1_000  # growth is measured from here to the horizon
EARLY = (1, 2, 5, 10, 20, 35, 50, 75, 150, 250, 350)

#: Varied one at a time, as in the source: (slack, d, K).
SWEEPS = {
    "slack": [(slack, 5, 5) for slack in (0.05, 0.1, 0.15)],
    "servers": [(0.1, 5, servers) for servers in (3, 5, 7, 9)],
    "dimension": [(0.1, dimension, 5) for dimension in (3, 5, 10, 20)],
}

#: The nine settings of the sweeps, by name.
SETTINGS = {
    "section 7": (0.1, 5, 5),
    "slack 0.05": (0.05, 5, 5),
    "slack 0.15": (0.15, 5, 5),
    "K 3": (0.1, 5, 3),
    "K 7": (0.1, 5, 7),
    "K 9": (0.1, 5, 9),
    "d 3": (0.1, 3, 5),
    "d 10": (0.1, 10, 5),
    "d 20": (0.1, 20, 5),
}
BASE_EXPLORATION = 443  # rounds that the experiments' formula gives in the setting of Section 7

#: Horizons of the decay; CQB-epsilon and CQB-eta-2 from the third on, when what pure exploration left
#: behind has gone.
HORIZONS = (250, 1_000, 4_000, 16_000, 64_000)
DECAYING = {
    "opt": HORIZONS,
    "eps_opt": HORIZONS,
    "eps": HORIZONS[2:],
    "eta": HORIZONS[2:],
}
_LATE = 20  # a twentieth of the rounds is averaged over


def checkpoints():
    """Rounds at which queues are recorded, ascending."""
    import numpy as np

    return np.union1d(EARLY, np.arange(SPACING, HORIZON + 1, SPACING))


def policies(refresh=1.0):
    """The policies that are compared, with the names that they have in the arrays.

    Parameters
    ----------
    refresh : float
        See the module's description.

    Returns
    -------
    dict of str to Policy
    """
    from simlib import contextual as c

    failure = 1 / HORIZON
    options = {"refresh": refresh}
    small = options | {"bonus_scale": SMALL}
    return {
        "opt": c.cqb_opt(**options),
        "opt_small": c.cqb_opt(**small),
        "eps": c.cqb_epsilon(failure=failure, **options),
        "eps_small": c.cqb_epsilon(failure=failure, **small),
        "eps_opt_small": c.cqb_epsilon_opt(**small),
        "ts_small": c.cqb_ts(**small),
        "greedy": c.greedy(**options),
        "q_ucb": c.q_ucb(),
        "q_ths": c.q_ths(),
        "random": c.uniform(),
    }


def _section_7(made, rounds):
    """Parameters of `random_experiment` for some policies in the setting of Section 7."""
    return {
        "policies": made,
        "horizon": HORIZON,
        "checkpoints": rounds,
        "servers": SERVERS,
        "dimension": DIMENSION,
        "arrival_rate": ARRIVAL_RATE,
        "slack": SLACK,
        "kappa": CURVATURE,
    }


@evidence(
    "contextual.experiments",
    quick={"runs": 32, "compared": 10, "refresh": 1.05},
    full={"runs": 200, "compared": 200, "refresh": 1.0},
)
def experiments(seed, jobs, *, runs, compared, refresh):
    """Random instances of Section 7; all policies of an instance see the same jobs and uniforms.

    Arrays: ``rounds`` (C,); ``optimal`` (runs, C), Q*(t); for each name of `policies` an array of
    that name (runs, C), Q(t), with the ``refresh`` given; ``compared_opt_small`` and
    ``compared_eps_small`` (compared, C), the first runs again, with the other refresh (1 for 1.05, 1.05
    for 1); for each of `SWEEPS` ``tau_<name>``, the rounds of pure exploration by the experiments'
    formula, not cut off at the horizon.
    """
    from simlib.contextual import random_experiment
    from simlib.contextual.formulas import experiment_exploration_rounds

    rounds = checkpoints()
    made = policies(refresh)
    result = replicate(
        random_experiment,
        runs,
        seed=seed,
        experiment="contextual.experiments",
        parameters=_section_7(list(made.values()), rounds),
        n_jobs=jobs,
    )
    other = policies(1.05 if refresh == 1 else 1.0)
    again = replicate(
        random_experiment,
        compared,
        seed=seed,
        experiment="contextual.experiments",
        case="compared",
        parameters=_section_7([other["opt_small"], other["eps_small"]], rounds),
        n_jobs=jobs,
    )
    found = {"rounds": rounds, "optimal": result["benchmark"]}
    for i, name in enumerate(made):
        found[name] = result["queue"][:, i]
    for i, name in enumerate(("opt_small", "eps_small")):
        found[f"compared_{name}"] = again["queue"][:, i]
    for name, cases in SWEEPS.items():
        found[f"tau_{name}"] = [
            experiment_exploration_rounds(HORIZON, dimension, servers, ARRIVAL_RATE, slack)
            for slack, dimension, servers in cases
        ]
    return found


# Random pairs ----------------------------------------------------------------------------------------


def random_pairs_run(seed, *, contexts):
    """One instance of Section 7 under the random policy, and the rates at which jobs should leave.

    Parameters
    ----------
    seed : numpy.random.SeedSequence
    contexts : int
        Contexts drawn to find means over the law of contexts.

    Returns
    -------
    dict
        ``departures``, ``waiting`` and ``fresh`` as in `random_pairs`.
    """
    import numpy as np

    from simlib import contextual as c
    from simlib.streams import substreams

    instance = c.random_instance(
        seed,
        servers=SERVERS,
        dimension=DIMENSION,
        arrival_rate=ARRIVAL_RATE,
        slack=SLACK,
        kappa=CURVATURE,
    )
    run = c.simulate(instance, c.uniform(), HORIZON, seed, checkpoints=[FIRST, HORIZON])
    (stream,) = substreams(seed, ["law of contexts"])
    _, rates, _ = instance.draw_contexts(contexts, stream)
    mean = rates.mean(axis=1)
    low, high = 0.0, ARRIVAL_RATE
    for _ in range(40):
        growth = (low + high) / 2
        if ARRIVAL_RATE * np.mean(1 / (growth + mean)) > 1:
            low = growth
        else:
            high = growth
    return {
        "departures": (run.departures[1] - run.departures[0]) / (HORIZON - FIRST),
        "waiting": ARRIVAL_RATE - low,
        "fresh": mean.mean(),
    }


@evidence(
    "contextual.random_pairs",
    quick={"runs": 400, "contexts": 2_000},
    full={"runs": 4_000, "contexts": 2_000},
)
def random_pairs(seed, jobs, *, runs, contexts):
    """The random policy on many random instances of Section 7.

    Arrays, all (runs,): ``departures``, jobs that leave in a round, from round 1001 to 5000;
    ``fresh``, the mean rate m(x) of a new job at a random server; ``waiting``, lambda - g for the g at
    which lambda E 1/(g + m(x)) = 1. When the queue is g t, a job that came in round s is still there in
    round t with probability (s/t)^(m(x)/g), and that equation says that g t jobs are.
    """
    return replicate(
        random_pairs_run,
        runs,
        seed=seed,
        experiment="contextual.random_pairs",
        parameters={"contexts": contexts},
        n_jobs=jobs,
    )


# Sweeps ----------------------------------------------------------------------------------------------


@evidence(
    "contextual.sweeps", quick={"runs": 30, "refresh": 1.1}, full={"runs": 200, "refresh": 1.05}
)
def sweeps(seed, jobs, *, runs, refresh):
    """The nine settings of Section 7 and Appendix A; learners with the small bonus.

    Arrays: ``rounds`` (C,); for each setting, with its name after an underscore, ``tau_`` (), the
    rounds of pure exploration by the experiments' formula; ``optimal_``, ``random_``, ``opt_`` (CQB-Opt)
    and ``eps_`` (CQB-epsilon, which explores all the time if tau is too long), each (runs, C); and where
    tau is more than half of the horizon ``short_``, CQB-epsilon with `BASE_EXPLORATION` rounds instead.
    """
    from simlib import contextual as c
    from simlib.contextual.formulas import experiment_exploration_rounds

    rounds = checkpoints()
    options = {"bonus_scale": SMALL, "refresh": refresh}
    found = {"rounds": rounds}
    for name, (slack, dimension, servers) in SETTINGS.items():
        tau = experiment_exploration_rounds(HORIZON, dimension, servers, ARRIVAL_RATE, slack)
        made = {
            "random": c.uniform(),
            "opt": c.cqb_opt(**options),
            "eps": c.cqb_epsilon(min(tau, HORIZON - 1), failure=1 / HORIZON, **options),
        }
        if 2 * tau > HORIZON:
            made["short"] = c.cqb_epsilon(BASE_EXPLORATION, failure=1 / HORIZON, **options)
        result = replicate(
            c.random_experiment,
            runs,
            seed=seed,
            experiment=f"contextual.sweeps {name}",
            parameters=_section_7(list(made.values()), rounds)
            | {"slack": slack, "dimension": dimension, "servers": servers},
            n_jobs=jobs,
        )
        found[f"tau_{name}"] = tau
        found[f"optimal_{name}"] = result["benchmark"]
        for i, kind in enumerate(made):
            found[f"{kind}_{name}"] = result["queue"][:, i]
    return found


# Decay -----------------------------------------------------------------------------------------------


def late_regret(seed, *, names, horizon, refresh, exact):
    """One instance of Section 7: the regret of some policies, averaged over the last rounds.

    Parameters
    ----------
    seed : numpy.random.SeedSequence
    names : list of str
        Of `DECAYING`.
    horizon : int
        T.
    refresh : float
    exact : bool
        Whether to run all policies once more, with estimates renewed after each attempt.

    Returns
    -------
    dict
        ``regret`` (policies,): mean of Q(t) - Q*(t) over the last twentieth of the rounds; ``exact``
        likewise, or empty.
    """
    import numpy as np

    from simlib import contextual as c

    def made(refresh):
        options = {"bonus_scale": SMALL, "refresh": refresh}
        every = {
            "opt": c.cqb_opt(**options),
            "eps_opt": c.cqb_epsilon_opt(**options),
            "eps": c.cqb_epsilon(**options),
            "eta": c.cqb_eta2(SLACK / 4, horizon - horizon // _LATE, **options),
        }
        return [every[name] for name in names]

    instance = c.random_instance(
        seed,
        servers=SERVERS,
        dimension=DIMENSION,
        arrival_rate=ARRIVAL_RATE,
        slack=SLACK,
        kappa=CURVATURE,
    )
    both = made(refresh) + (made(1.0) if exact else [])
    last = np.arange(horizon - horizon // _LATE + 1, horizon + 1)
    regret = c.simulate_paired(instance, both, horizon, seed, checkpoints=last).regret.mean(axis=1)
    return {"regret": regret[: len(names)], "exact": regret[len(names) :]}


@evidence(
    "contextual.decay",
    quick={
        "sizes": [300, 400, 100, 40],
        "runs": 40,
        "compared": 60,
        "compared_at": 1_000,
        "refresh": 1.2,
    },
    full={
        "sizes": [2_000, 2_000, 2_000, 600, 200],
        "runs": 200,
        "compared": 200,
        "compared_at": 4_000,
        "refresh": 1.2,
    },
)
def decay(seed, jobs, *, sizes, runs, compared, compared_at, refresh):
    """Regret of CQB-Opt, CQB-epsilon-Opt, CQB-epsilon and CQB-eta-2 at several horizons, small bonus.

    Each horizon has its own instances, ``sizes`` of them (``runs`` is the fewest). CQB-eta-2 explores at
    the rate 1/40 until 19/20 of the horizon; rounds of pure exploration by the experiments' formula.

    Arrays: ``horizons`` (H,); ``<policy>_<T>`` (size,), Q(t) - Q*(t) averaged over the last twentieth of
    the rounds, for the horizons of `DECAYING`; ``compared_<policy>`` (compared, 2), the same for T =
    ``compared_at`` on other instances, with the refresh and without.
    """
    import numpy as np

    horizons = HORIZONS[: len(sizes)]
    found = {"horizons": horizons}
    for horizon, size in zip(horizons, sizes, strict=True):
        names = [name for name, where in DECAYING.items() if horizon in where]
        result = replicate(
            late_regret,
            size,
            seed=seed,
            experiment=f"contextual.decay {horizon}",
            parameters={"names": names, "horizon": horizon, "refresh": refresh, "exact": False},
            n_jobs=jobs,
        )
        for i, name in enumerate(names):
            found[f"{name}_{horizon}"] = result["regret"][:, i]
    names = [name for name, where in DECAYING.items() if compared_at in where]
    result = replicate(
        late_regret,
        compared,
        seed=seed,
        experiment="contextual.decay compared",
        parameters={"names": names, "horizon": compared_at, "refresh": refresh, "exact": True},
        n_jobs=jobs,
    )
    for i, name in enumerate(names):
        found[f"compared_{name}"] = np.stack(
            [result["regret"][:, i], result["exact"][:, i]], axis=1
        )
    return found
