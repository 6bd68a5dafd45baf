"""What is simulated for the claims about one learner; the chapters plot the same arrays.

Every piece runs independent replications: replication i of an experiment
has its own seed, so the arrays do not depend on the number of workers. Conventions: an axis of
replications comes first; names end in the instance (``_I3``, ``_I7``, ``_ID10``, ``_half``) where an
array belongs to one; "utility" is the conditional expectation of the reward given the past.
"""

from checks.evidence import evidence, replicate

#: Service rates by instance; ID10: ten identical servers with total odds 1.8395, near the worst case.
RATES = {
    "I3": (0.5, 0.1, 0.3),
    "I7": (0.5, 0.33, 0.33, 0.33, 0.25, 0.25, 0.1),
    "ID10": (1.8395 / 11.8395,) * 10,
    "half": (0.5, 0.5),
}

#: Margins h - lambda of the queue experiment.
MARGINS = (0.005, 0.01, 0.015)


def odds_and_sum(instance):
    """Normalized odds and Hamacher sum of an instance, as floats."""
    import numpy as np

    rates = np.array(RATES[instance])
    odds = rates / (1 - rates)
    return odds / odds.sum(), odds.sum() / (1 + odds.sum())


def log_steps(horizon, per_decade=12):
    """Steps spread evenly in the logarithm, from 1 to the horizon, each once."""
    import numpy as np

    points = int(per_decade * np.log10(horizon)) + 1
    return np.unique(np.geomspace(1, horizon, points).round().astype(int))


def even_steps(horizon, points):
    """``points`` equally spaced steps, the last one the horizon."""
    import numpy as np

    return np.unique(np.linspace(0, horizon, points + 1).round().astype(int)[1:])


# EXP3 at work -------------------------------------------------------------------------------------


def _one_long_run(seed, instance, horizon, tail):
    import numpy as np

    from simlib.learners import exp3
    from simlib.recharge.bandit import simulate

    pi, _ = odds_and_sum(instance)
    steps = np.unique(np.concatenate([log_steps(horizon), horizon - tail + even_steps(tail, 400)]))
    scale = (1e8 / horizon) ** 0.25
    run = simulate(
        RATES[instance],
        exp3(horizon),
        horizon,
        seed,
        checkpoints=steps,
        reference=pi,
        tv_edges=np.array([1e-4, 1e-3, 1e-2]) * scale,
    )
    return {
        "steps": steps,
        "tv": np.abs(run.strategy_at - pi).sum(axis=1) / 2,
        "tv_mean": np.abs(run.strategy_mean_at - pi).sum(axis=1) / 2,
        "tv_fraction": run.strategy.tv_fraction,
        "strategy": run.strategy_at,
        "reward": np.array(run.average_reward),
        "hindsight": run.hindsight / horizon,
    }


@evidence(
    "recharge.exp3_long_run",
    quick={"horizon": 4_000_000, "runs": 3},
    full={"horizon": 100_000_000, "runs": 4},
)
def exp3_long_run(seed, jobs, *, horizon, runs):
    """EXP3 as in section 5.1 of the source: T steps, gamma = T^(-1/2), eta = gamma/m, uniform start.

    Arrays, for X in I3 and I7, with R runs and C checkpoints (log-spaced, and 400 evenly spaced ones in
    the last tenth): ``horizon``; ``steps_X`` (C,); ``tv_X`` (R, C) total variation distance between
    the mixed strategy and the normalized odds, ``tv_mean_X`` (R, C) the same for its running average;
    ``strategy_X`` (R, C, m); ``tv_fraction_X`` (R, 4) shares of all steps with the distance below
    1e-4, in [1e-4, 1e-3), in [1e-3, 1e-2) and above, these edges multiplied by (1e8/T)^(1/4);
    ``reward_X`` (R,) average realised reward; ``hindsight_X`` (R, m) what each arm would have paid.
    """
    found = {"horizon": horizon}
    for instance in ("I3", "I7"):
        result = replicate(
            _one_long_run,
            runs,
            seed=seed,
            experiment=f"recharge.exp3_long_run.{instance}",
            parameters={"instance": instance, "horizon": horizon, "tail": horizon // 10},
            n_jobs=jobs,
        )
        found[f"steps_{instance}"] = result.pop("steps")[0]
        found |= {f"{name}_{instance}": values for name, values in result.items()}
    return found


def _one_settled_run(seed, instance, exploration, horizon, burn_in):
    import numpy as np

    from simlib.learners import exp3, normalized_odds_router
    from simlib.recharge.bandit import simulate

    pi, h = odds_and_sum(instance)
    settings = {"checkpoints": [burn_in, horizon]}
    run = simulate(
        RATES[instance],
        exp3(exploration=exploration),
        horizon,
        seed,
        reference=pi,
        burn_in=burn_in,
        **settings,
    )
    twin = simulate(
        RATES[instance], normalized_odds_router(RATES[instance]), horizon, seed, **settings
    )
    steps = horizon - burn_in
    lost = [np.diff(each.utility_at.sum(axis=1))[0] / steps for each in (run, twin)]
    return {
        "std": run.strategy.late_std,
        "mean": run.strategy.late_mean,
        "mean_tv": np.array(run.strategy.mean_tv),
        "loss": np.array(lost[1] - lost[0]),
        "plain_loss": np.array(h - lost[0]),
    }


@evidence(
    "recharge.exp3_settled",
    quick={"exploration": 0.02, "horizon": 550_000, "burn_in": 50_000, "runs": 48},
    full={"exploration": 0.01, "horizon": 4_100_000, "burn_in": 100_000, "runs": 64},
)
def exp3_settled(seed, jobs, *, exploration, horizon, burn_in, runs):
    """EXP3 with exploration gamma and eta = gamma/m after it has forgotten its uniform start.

    Beside each run goes a twin: the normalized odds router on the same uniforms, whose utility is h
    on average; the difference estimates EXP3's loss with a third to a tenth of the variance.

    Arrays, for X in I3 and I7, R runs, steps up to the burn-in left out: ``eta_X``; ``std_X``,
    ``mean_X`` (R, m) of each probability over time; ``mean_tv_X`` (R,) mean distance to the normalized
    odds; ``loss_X`` (R,) utility of the twin less that of EXP3, per step; ``plain_loss_X`` (R,) h less
    the utility of EXP3.
    """
    found = {}
    for instance in ("I3", "I7"):
        result = replicate(
            _one_settled_run,
            runs,
            seed=seed,
            experiment=f"recharge.exp3_settled.{instance}",
            parameters={
                "instance": instance,
                "exploration": exploration,
                "horizon": horizon,
                "burn_in": burn_in,
            },
            n_jobs=jobs,
        )
        found[f"eta_{instance}"] = exploration / len(RATES[instance])
        found |= {f"{name}_{instance}": values for name, values in result.items()}
    return found


# The queue in front ---------------------------------------------------------------------------------


def _one_queue(seed, instance, margin, horizon, points, exploration, settled, after):
    import numpy as np

    from simlib.learners import exp3
    from simlib.recharge.queue import simulate_queue

    pi, h = odds_and_sum(instance)
    learner = exp3(exploration=exploration, initial=pi if settled else None)
    steps = even_steps(horizon, points)
    run = simulate_queue(h - margin, RATES[instance], learner, horizon, seed, checkpoints=steps)
    return {
        "queue": run.queue.astype(np.int32),
        "late_mean": np.array(run.mean_queue(after=after)),
    }


@evidence(
    "recharge.queue_growth",
    quick={"horizon": 100_000, "runs": 160},
    full={"horizon": 100_000, "runs": 1000},
)
def queue_growth(seed, jobs, *, horizon, runs):
    """The queue of section 5.2: empty at first, EXP3 as its router, six arrival rates h - eps.

    Arrays, for X in I3 and I7 and E in 5, 10, 15 (thousandths of eps), R runs, 200 checkpoints:
    ``steps`` (200,); ``runs``; ``mean_X_E``, ``std_X_E`` (200,) mean and standard deviation over runs
    of the queue at the end of the step; ``low_X_E``, ``high_X_E`` (200,) pointwise 95 % confidence
    intervals for the mean (normal); ``late_mean_X_E`` (R,) time average of each run over its second
    half.
    """
    import numpy as np

    found = {"steps": even_steps(horizon, 200), "runs": runs, "exploration": horizon**-0.5}
    for instance in ("I3", "I7"):
        for margin in MARGINS:
            name = f"{instance}_{round(1000 * margin)}"
            result = replicate(
                _one_queue,
                runs,
                seed=seed,
                experiment=f"recharge.queue_growth.{name}",
                parameters={
                    "instance": instance,
                    "margin": margin,
                    "horizon": horizon,
                    "points": 200,
                    "exploration": horizon**-0.5,
                    "settled": False,
                    "after": horizon // 2,
                },
                n_jobs=jobs,
            )
            queue = result["queue"].astype(float)
            mean, std = queue.mean(axis=0), queue.std(axis=0, ddof=1)
            half = 1.959964 * std / np.sqrt(runs)
            found |= {
                f"mean_{name}": mean,
                f"std_{name}": std,
                f"low_{name}": mean - half,
                f"high_{name}": mean + half,
                f"late_mean_{name}": result["late_mean"],
            }
    return found


@evidence(
    "recharge.queue_settled",
    quick={"horizon": 300_000, "runs": 96, "exploration": 0.02},
    full={"horizon": 2_000_000, "runs": 96, "exploration": 0.02},
)
def queue_settled(seed, jobs, *, horizon, runs, exploration):
    """The queue when EXP3 starts at the normalized odds: what its fluctuations cost in the long run.

    The learning rate is about six times that of section 5.2, to make the cost visible. Seven servers,
    margin 0.015. Arrays, R runs: ``margin``; ``eta``; ``late_mean`` (R,) time average of the queue at
    the end of the step, without the first tenth of the run.
    """
    instance, margin = "I7", 0.015
    result = replicate(
        _one_queue,
        runs,
        seed=seed,
        experiment="recharge.queue_settled",
        parameters={
            "instance": instance,
            "margin": margin,
            "horizon": horizon,
            "points": 10,
            "exploration": exploration,
            "settled": True,
            "after": horizon // 10,
        },
        n_jobs=jobs,
    )
    eta = exploration / len(RATES[instance])
    return {"margin": margin, "eta": eta, "late_mean": result["late_mean"]}


# Other learners -------------------------------------------------------------------------------------

LEARNERS = (
    "normalized odds",
    "EXP3",
    "EXP3-IX",
    "Tsallis-INF",
    "Thompson sampling",
    "UCB1",
    "epsilon-greedy",
    "greedy",
    "round robin",
)


def _learner(name, instance, horizon):
    from simlib import learners

    rates = RATES[instance]
    return {
        "normalized odds": lambda: learners.normalized_odds_router(rates),
        "EXP3": learners.exp3_anytime,
        "EXP3-IX": lambda: learners.exp3_ix(horizon),
        "Tsallis-INF": learners.tsallis_inf,
        "Thompson sampling": learners.thompson,
        "UCB1": learners.ucb1,
        "epsilon-greedy": learners.epsilon_greedy,
        "greedy": lambda: learners.greedy(rates),
        "round robin": learners.round_robin,
    }[name]()


def _one_learner_run(seed, name, instance, horizon):
    import numpy as np

    from simlib.recharge.bandit import simulate

    steps = np.unique(np.append(log_steps(horizon, 8), [horizon // 2, horizon]))
    run = simulate(
        RATES[instance], _learner(name, instance, horizon), horizon, seed, checkpoints=steps
    )
    if not abs(run.identity_gap) < 1e-9:  # holds on every path: anything else is a defect
        raise ArithmeticError(f"{name} on {instance}: utility identity off by {run.identity_gap}")
    return {
        "utility_at": run.utility_at.sum(axis=1) / steps,
        "steps": steps,
        "regret": np.array(run.regret / horizon),
    }


def simulated_schedule(name, instance, horizon, seed=1):
    """Arms that a learner pulled in a run, read off its collected utility, and the run itself."""
    import numpy as np

    from simlib.recharge.bandit import simulate

    steps = np.arange(1, horizon + 1)
    learner = _learner(name, instance, horizon)
    run = simulate(RATES[instance], learner, horizon, seed, checkpoints=steps)
    earned = np.diff(run.utility_at, axis=0, prepend=0.0)
    return tuple(earned.argmax(axis=1).tolist()), run  # only the arm pulled earns, and more than 0


@evidence(
    "recharge.learner_table",
    quick={"horizon": 50_000, "runs": 32, "slow_runs": 2, "unwatched_runs": 2},
    full={"horizon": 2_000_000, "runs": 32, "slow_runs": 4, "unwatched_runs": 4},
)
def learner_table(seed, jobs, *, horizon, runs, slow_runs, unwatched_runs):
    """Nine learners on three instances, all on the same uniforms.

    Arrays, for X in I3, I7, ID10 and learner number L (order of ``learners``): ``learners`` (9,) names;
    ``horizon``; ``steps`` (C,) log-spaced; ``utility_L_X`` (R,) average utility; ``regret_L_X`` (R,)
    regret per step; ``trace_L_X`` (C,) average utility of the steps so far, mean over the runs. R is
    ``runs`` for the learners that are judged, ``slow_runs`` for Thompson sampling and
    ``unwatched_runs`` for the baselines greedy and round robin, whose utility does not vary. A run in
    which the utility identity fails by more than rounding raises.
    """
    import numpy as np

    found = {"learners": np.array(LEARNERS), "horizon": horizon}
    several = {
        "Thompson sampling": slow_runs,
        "greedy": unwatched_runs,
        "round robin": unwatched_runs,
    }
    for number, name in enumerate(LEARNERS):
        for instance in ("I3", "I7", "ID10"):
            result = replicate(
                _one_learner_run,
                several.get(name, runs),
                seed=seed,
                experiment=f"recharge.learner_table.{instance}",  # the same uniforms for all
                case=name,
                parameters={"name": name, "instance": instance, "horizon": horizon},
                n_jobs=jobs,
            )
            found["steps"] = result["steps"][0]
            found[f"utility_{number}_{instance}"] = result["utility_at"][:, -1]
            found[f"regret_{number}_{instance}"] = result["regret"]
            found[f"trace_{number}_{instance}"] = result["utility_at"].mean(axis=0)
    return found


def _one_ucb1_run(seed, instance, horizon, alpha):
    import numpy as np

    from simlib.learners import ucb1
    from simlib.recharge.bandit import simulate

    steps = np.unique(
        np.append(log_steps(horizon, 6), [horizon // 20, horizon // 10, horizon // 2])
    )
    run = simulate(RATES[instance], ucb1(alpha), horizon, seed, checkpoints=steps)
    total = run.utility_at.sum(axis=1)

    def window(first, last):
        ends = np.searchsorted(steps, [first, last])
        return np.diff(total[ends])[0] / (last - first)

    return {
        "steps": steps,
        "trace": total / steps,
        "late": np.array(window(horizon // 2, horizon)),
        "early": np.array(window(horizon // 20, horizon // 10)),
        "switches": np.array(run.switches / horizon),
        "regret": np.array(run.regret / horizon),
    }


@evidence(
    "recharge.ucb1_paths",
    quick={"horizon": 200_000, "runs": 32},
    full={"horizon": 10_000_000, "runs": 32},
)
def ucb1_paths(seed, jobs, *, horizon, runs):
    """UCB1 (alpha = 2) on four instances.

    Arrays, for X in I3, I7, half (two servers of rate 1/2) and ID10, R runs, C log-spaced checkpoints:
    ``horizon``; ``steps`` (C,); ``trace_X`` (R, C) average utility of the steps so far; ``late_X`` (R,)
    average utility of the second half of the run; ``early_X`` (R,) that of the steps T/20 to T/10;
    ``switches_X`` (R,) share of steps with another arm than the step before; ``regret_X`` (R,) regret
    per step.
    """
    found = {"horizon": horizon}
    for instance in ("I3", "I7", "half", "ID10"):
        result = replicate(
            _one_ucb1_run,
            runs,
            seed=seed,
            experiment=f"recharge.ucb1_paths.{instance}",
            parameters={"instance": instance, "horizon": horizon, "alpha": 2.0},
            n_jobs=jobs,
        )
        found["steps"] = result.pop("steps")[0]
        found |= {f"{name}_{instance}": values for name, values in result.items()}
    return found
