"""Priorities, the regret of restarted learners, the guarded uniform router, and learners that break off.

Replication i of an experiment has its own seed, so the arrays do not depend on the number of
workers. An axis of replications comes first.
"""

from functools import cache

from checks.evidence import evidence, replicate

#: Arrival rates of the example, and its service rates up to a factor.
ARRIVAL_RATES = (0.4,) * 4
SHAPE = (0.9, 0.8, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1)

#: Total service rates; the factors over the arrivals are 15/8, 5/3 (the threshold), 23/16 and 5/4.
TOTALS = {"3.0": 3.0, "2.667": 8 / 3, "2.3": 2.3, "2.0": 2.0}

#: Acceptance rules; "fixed": queue 1 before queue 2 and so on, at every server.
RULES = ("uniform", "fixed", "oldest")


def service_rates(total):
    """The service rates of the example with a given sum."""
    return tuple(rate * total / sum(SHAPE) for rate in SHAPE)


def _acceptance(rule):
    from simlib.strategic import fixed_priority, oldest_first, uniform

    if rule == "fixed":
        return fixed_priority(range(len(ARRIVAL_RATES)))
    return {"uniform": uniform, "oldest": oldest_first}[rule]()


# Priorities ------------------------------------------------------------------------------------------


def _one_rule(seed, total, rule, horizon, points):
    import numpy as np

    from simlib.learners import exp3
    from simlib.strategic import simulate_system

    steps = horizon * np.arange(1, points + 1) // points
    run = simulate_system(
        ARRIVAL_RATES,
        service_rates(total),
        exp3(exploration=0.01),
        horizon,
        seed,
        acceptance=_acceptance(rule),
        checkpoints=steps,
    )
    return {"steps": steps, "queues": run.queues.astype(np.int32)}


@evidence(
    "strategic.priorities",
    quick={"totals": ("3.0", "2.3", "2.0"), "horizon": 20_000, "points": 20, "runs": 64},
    full={"totals": tuple(TOTALS), "horizon": 1_000_000, "points": 100, "runs": 64},
)
def priorities(seed, jobs, *, totals, horizon, points, runs):
    """Four queues of rate 0.4 and eight servers, EXP3 (exploration 0.01) under three acceptance rules.

    All rules meet the same arrivals and service times. Arrays, for each total service rate S in
    ``totals`` (names of TOTALS) and rule X in RULES, R runs, C even checkpoints (half of the horizon is
    one): ``steps`` (C,); ``queues_S_X`` (R, C, 4) lengths at the end of a step.
    """
    found = {}
    for name in totals:
        for rule in RULES:
            result = replicate(
                _one_rule,
                runs,
                seed=seed,
                experiment="strategic.priorities",
                case=f"{name}.{rule}",
                parameters={
                    "total": TOTALS[name],
                    "rule": rule,
                    "horizon": horizon,
                    "points": points,
                },
                n_jobs=jobs,
            )
            found["steps"] = result["steps"][0]
            found[f"queues_{name}_{rule}"] = result["queues"]
    return found


# Restarted EXP3-IX -----------------------------------------------------------------------------------


def _restarted(seed, period, periods, rule):
    from simlib.learners import exp3_ix
    from simlib.strategic import simulate_periods
    from simlib.strategic.formulas import restarted_learning_rate

    rate = restarted_learning_rate(period, len(ARRIVAL_RATES), len(SHAPE))
    run = simulate_periods(
        ARRIVAL_RATES,
        service_rates(3.0),
        exp3_ix(learning_rate=rate),
        period,
        periods,
        seed,
        acceptance=_acceptance(rule),
    )
    return {"regret": run.regret.max(axis=1), "longest": run.end.max(axis=1)}


@evidence(
    "strategic.restarted_regret",
    quick={"lengths": ((20_000, 1),), "runs": 32},
    full={"lengths": ((20_000, 50), (232_240, 4)), "runs": 32},
)
def restarted_regret(seed, jobs, *, lengths, runs):
    """EXP3-IX restarted every W steps in the example with total service rate 3.0.

    ``lengths`` are pairs of a period W and a number P of periods. Arrays, for each W and X in uniform
    and fixed, R runs: ``regret_W_X`` (R, P) largest realised regret of the four queues in a period;
    ``longest_W_X`` (R, P) longest queue at the end of a period; ``periods`` the lengths W.
    """
    found = {"periods": [period for period, _ in lengths]}
    for period, periods in lengths:
        for rule in ("uniform", "fixed"):
            result = replicate(
                _restarted,
                runs,
                seed=seed,
                experiment="strategic.restarted_regret",
                case=f"{period}.{rule}",
                parameters={"period": period, "periods": periods, "rule": rule},
                n_jobs=jobs,
            )
            found |= {f"{name}_{period}_{rule}": values for name, values in result.items()}
    return found


# The pathwise lemma in an overloaded system ----------------------------------------------------------


def _overloaded(seed, period, periods, rule):
    from simlib.learners import exp3_ix
    from simlib.strategic import simulate_periods
    from simlib.strategic.formulas import restarted_learning_rate

    rate = restarted_learning_rate(period, len(ARRIVAL_RATES), len(SHAPE))
    run = simulate_periods(
        ARRIVAL_RATES,
        service_rates(1.0),
        exp3_ix(learning_rate=rate),
        period,
        periods,
        seed,
        acceptance=_acceptance(rule),
        start_queues=(period,) * len(ARRIVAL_RATES),
    )
    return {
        "start": run.start.max(axis=1),
        "growth": run.end - run.start.max(axis=1)[:, None],
        "arrivals": run.arrivals,
        "idle": period - run.busy.min(axis=1),
        "regret": run.regret,
    }


@evidence(
    "strategic.overloaded_periods",
    quick={"period": 300, "periods": 400, "runs": 1},
    full={"period": 300, "periods": 400, "runs": 32},
)
def overloaded_periods(seed, jobs, *, period, periods, runs):
    """The example with a total service rate of 1.0, far too little: long queues in every period.

    EXP3-IX restarted in each period. Arrays, for X in RULES, R runs, P periods: ``start_X`` (R, P)
    longest queue at the start; ``growth_X``, ``arrivals_X``, ``regret_X`` (R, P, 4) length at the end
    less the longest at the start, arrivals, realised regret; ``idle_X`` (R, P) steps in which the least
    busy server is empty just before service; ``period``.
    """
    found = {"period": period}
    for rule in RULES:
        result = replicate(
            _overloaded,
            runs,
            seed=seed,
            experiment="strategic.overloaded_periods",
            case=rule,
            parameters={"period": period, "periods": periods, "rule": rule},
            n_jobs=jobs,
        )
        found |= {f"{name}_{rule}": values for name, values in result.items()}
    return found


# The guarded uniform router --------------------------------------------------------------------------

#: Ten identical servers for which the alarm is made, and ten that are as different as can be.
GUARD_SYSTEMS = {
    "alike": (0.5, (0.08,) * 10),
    "unlike": (0.999, (0.9,) + (0.01,) * 9),
}
GUARD_ERROR = 0.001


def _guarded(seed, system, period):
    import numpy as np

    from simlib.learners import guarded_uniform, uniform_router
    from simlib.strategic import simulate_periods

    rate, rates = GUARD_SYSTEMS[system]
    made_for = sum(GUARD_SYSTEMS["alike"][1])
    learners = {
        "guarded": guarded_uniform(period, len(rates), GUARD_ERROR, made_for),
        "uniform": uniform_router(len(rates)),
    }
    runs = {
        name: simulate_periods((rate,), rates, learner, period, 1, seed)
        for name, learner in learners.items()
    }
    # Until the alarm both routers send alike, step by step; after it they part.
    same = np.array_equal(runs["guarded"].would_clear, runs["uniform"].would_clear)
    return {
        "alarm": np.array(not same),
        "queue": np.array(runs["guarded"].end[0, 0]),
        **{f"regret_{name}": np.array(run.regret[0, 0]) for name, run in runs.items()},
    }


@evidence(
    "strategic.guarded_router",
    quick={"period": 100_000, "runs": 32},
    full={"period": 200_000, "runs": 128},
)
def guarded_router(seed, jobs, *, period, runs):
    """One queue, ten servers, one period of the guarded uniform router and of the plain one.

    Both on the same random numbers. Arrays, for X in alike (arrival rate 1/2, ten servers of rate 0.08,
    for which the threshold is made) and unlike (0.999; one server of rate 0.9, nine of 0.01), R runs:
    ``alarm_X`` (R,) whether the paths part; ``regret_guarded_X``, ``regret_uniform_X`` (R,) realised
    regret of the period; ``queue_X`` (R,) length of the queue at its end under the guarded router;
    ``period``.
    """
    found = {"period": period}
    for system in GUARD_SYSTEMS:
        result = replicate(
            _guarded,
            runs,
            seed=seed,
            experiment=f"strategic.guarded_router.{system}",
            parameters={"system": system, "period": period},
            n_jobs=jobs,
        )
        found |= {f"{name}_{system}": values for name, values in result.items()}
    return found


# Learners that break the hypothesis, and learners that keep it ---------------------------------------

#: Arrival and service rates; all are above the factor 1/(1 - lambda_max).
VIOLATOR_SYSTEMS = {
    "eight": (ARRIVAL_RATES, service_rates(3.0)),
    "forty": (ARRIVAL_RATES, (0.08,) * 40),
    "single": ((0.5,), (0.075,) * 20),
}

#: Learners, each at every queue; "restarted": EXP3-IX restarted every 4,000 steps.
VIOLATOR_LEARNERS = ("EXP3", "restarted", "UCB1", "epsilon-greedy", "rare blocks")
RESTART_EVERY = 4_000


@cache
def _rare_blocks():
    """Uniform, but for [2^k, 2^k + floor(2^k/k)), k >= 2: there always the last server."""
    from simlib.learners import learner
    from simlib.streams import integer_below

    @learner(rows=1, name="rare blocks")
    class RareBlocks:
        def act(state, params, t, rng):
            power, k = 1, 0
            while 2 * power <= t:
                power *= 2
                k += 1
            if k >= 2 and t - power < power // k:
                return state.shape[1] - 1
            return integer_below(rng, state.shape[1])

        def update(state, params, t, arm, reward):
            pass

    return RareBlocks


def _violator(name, queues, servers):
    """The learner of that name, and how often it is restarted (None: never)."""
    from simlib.learners import epsilon_greedy, exp3, exp3_ix, ucb1
    from simlib.strategic.formulas import restarted_learning_rate

    if name == "rare blocks":
        return _rare_blocks(), None
    if name == "restarted":
        rate = restarted_learning_rate(RESTART_EVERY, queues, servers)
        return exp3_ix(learning_rate=rate), RESTART_EVERY
    if name == "EXP3":
        return exp3(exploration=0.01), None
    return {"UCB1": ucb1, "epsilon-greedy": epsilon_greedy}[name](), None


def _one_violator(seed, system, learner, restart_every, steps):
    import numpy as np

    from simlib.strategic import simulate_system

    arrivals, services = VIOLATOR_SYSTEMS[system]
    run = simulate_system(
        arrivals,
        services,
        learner,
        steps[-1],
        seed,
        checkpoints=steps,
        restart_every=restart_every,
    )
    return {"longest": run.longest.astype(np.int32)}


@evidence(
    "strategic.violators",
    quick={"power": 13, "runs": 32},
    full={"power": 19, "runs": 32},
)
def violators(seed, jobs, *, power, runs):
    """Five kinds of learners in three systems with enough service for the theorem.

    A run ends with the block of the rare-blocks learner that starts at 2^power. Arrays, for each system
    X, learner number L in VIOLATOR_LEARNERS, R runs, C checkpoints: ``steps`` (C,) 32 even ones in each
    octave from 2^(power - 3) on (half of the horizon is one), and the ends of blocks; ``blocks`` the
    steps that end a block; ``longest_X_L`` (R, C) the longest queue at the end of a step.
    """
    import numpy as np

    blocks = np.array([2**k + 2**k // k - 1 for k in range(power - 3, power + 1)])
    horizon = int(blocks[-1])
    even = [2**k + 2**k * np.arange(32) // 32 for k in range(power - 3, power)]
    steps = np.unique(np.concatenate([*even, [2**power, horizon // 2], blocks]))
    found = {"steps": steps, "blocks": blocks}
    for system in VIOLATOR_SYSTEMS:
        arrivals, services = VIOLATOR_SYSTEMS[system]
        for number, name in enumerate(VIOLATOR_LEARNERS):
            learner, restart_every = _violator(name, len(arrivals), len(services))
            result = replicate(
                _one_violator,
                runs,
                seed=seed,
                experiment=f"strategic.violators.{system}",
                case=str(number),
                parameters={
                    "system": system,
                    "learner": learner,
                    "restart_every": restart_every,
                    "steps": tuple(steps.tolist()),
                },
                n_jobs=jobs,
            )
            found[f"longest_{system}_{number}"] = result["longest"]
    return found
