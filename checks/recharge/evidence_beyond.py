"""What is simulated for learners on both sides of the Hamacher sum; the chapter plots the same arrays.

Conventions as in `checks.recharge.evidence`: an axis of replications comes first, names end in the
instance, "utility" is the conditional expectation of the reward given the past.
"""

from checks.evidence import evidence, replicate

#: Service rates by instance, as in `checks.recharge.evidence`, which is not imported so that an edit
#: there leaves these results valid.
RATES = {
    "I3": (0.5, 0.1, 0.3),
    "I7": (0.5, 0.33, 0.33, 0.33, 0.25, 0.25, 0.1),
    "ID10": (1.8395 / 11.8395,) * 10,
    "half": (0.5, 0.5),
}

#: Ages that the optimal planner tells apart on I3; the gaps of its best schedule stay below them.
CAPS_I3 = (4, 20, 6)

THOMPSON_INSTANCES = ("half", "I3")


def _one_regret(seed, name, instance, horizon):
    import numpy as np

    from simlib import learners
    from simlib.recharge.bandit import simulate

    learner = {"Thompson sampling": learners.thompson, "UCB1": learners.ucb1}[name]()
    return {"regret": np.array(simulate(RATES[instance], learner, horizon, seed).regret)}


@evidence(
    "recharge.thompson_regret",
    quick={"horizon": 8_000, "runs": 32},
    full={"horizon": 400_000, "runs": 32},
)
def thompson_regret(seed, jobs, *, horizon, runs):
    """Regret of Thompson sampling and of UCB1, on the same uniforms.

    Arrays, for X in half and I3 and L in "Thompson sampling" and "UCB1", R runs: ``horizon``;
    ``L_X`` (R,) regret of a run of that many steps, in packets.
    """
    found = {"horizon": horizon}
    for instance in THOMPSON_INSTANCES:
        for name in ("Thompson sampling", "UCB1"):
            found[f"{name}_{instance}"] = replicate(
                _one_regret,
                runs,
                seed=seed,
                experiment=f"recharge.thompson_regret.{instance}",
                case=name,
                parameters={"name": name, "instance": instance, "horizon": horizon},
                n_jobs=jobs,
            )["regret"]
    return found


def epoch_ends(epochs):
    """Decisions at which an epoch of `learn_while_exploiting` ends."""
    import numpy as np

    return 1_000 * (2 ** np.arange(1, epochs + 1) - 1)


def _one_learning_run(seed, instance, epochs):
    from simlib.recharge.aware import learn_while_exploiting
    from simlib.recharge.bandit import simulate

    optimal = {"planner": "optimal", "caps": CAPS_I3} if instance == "I3" else {}
    learner, steps = learn_while_exploiting(**optimal), epoch_ends(epochs)
    run = simulate(RATES[instance], learner, int(steps[-1]), seed, checkpoints=steps)
    return {"utility": run.utility_at.sum(axis=1) / steps}


def _one_committed_run(seed, instance, horizon, exploration):
    import numpy as np

    from simlib.recharge.aware import explore_then_commit
    from simlib.recharge.bandit import simulate

    learner = explore_then_commit(exploration=exploration)
    run = simulate(RATES[instance], learner, horizon, seed)
    return {"utility": np.array(run.average_utility)}


@evidence(
    "recharge.aware_learners",
    quick={"runs": 30, "epochs": 9, "committed": 100_000, "exploration": 200},
    full={"runs": 64, "epochs": 10, "committed": 100_000, "exploration": 200},
)
def aware_learners(seed, jobs, *, runs, epochs, committed, exploration):
    """Learners that account for recharge: utilities.

    Learning while exploiting runs for nine epochs (511,000 steps) or ten (1,023,000); its planner is
    the optimal one on I3 and greedy on the others. Explore then commit, with greedy, runs for
    ``committed`` steps.

    Arrays, for X in I3, I7, ID10, R runs: ``steps`` (E,) ends of the epochs; ``learning_X`` (R, E)
    average utility up to there; ``committed_X`` (R,) average utility; ``committed_steps``.
    """
    found = {"steps": epoch_ends(epochs), "committed_steps": committed}
    for instance in ("I3", "I7", "ID10"):
        shared = {
            "replications": runs,
            "seed": seed,
            "experiment": f"recharge.aware_learners.{instance}",
            "n_jobs": jobs,
        }
        found[f"learning_{instance}"] = replicate(
            _one_learning_run,
            **shared,
            case="learning",
            parameters={"instance": instance, "epochs": epochs},
        )["utility"]
        found[f"committed_{instance}"] = replicate(
            _one_committed_run,
            **shared,
            case="committed",
            parameters={"instance": instance, "horizon": committed, "exploration": exploration},
        )["utility"]
    return found


#: Routers of the queue experiment, and thousandths of the arrival rate.
QUEUES = (("EXP3", 650), ("restarting", 650), ("learning", 650), ("restarting", 680))


def _one_queue(seed, router, arrival_rate, horizon, period, exploration, points):
    import numpy as np

    from simlib.learners import exp3
    from simlib.recharge.aware import learn_while_exploiting, restarting
    from simlib.recharge.queue import simulate_queue

    learner = {
        "EXP3": lambda: exp3(horizon),
        "restarting": lambda: restarting(period, exploration=exploration),
        "learning": learn_while_exploiting,
    }[router]()
    steps = np.linspace(0, horizon, points + 1).round().astype(int)[1:]
    run = simulate_queue(arrival_rate, RATES["I3"], learner, horizon, seed, checkpoints=steps)
    return {
        "queue": run.queue.astype(np.int32),
        "late_mean": np.array(run.mean_queue(after=horizon // 2)),
    }


@evidence(
    "recharge.aware_queue",
    quick={"horizon": 400_000, "runs": 32, "period": 100_000, "exploration": 300},
    full={"horizon": 4_000_000, "runs": 64, "period": 100_000, "exploration": 300},
)
def aware_queue(seed, jobs, *, horizon, runs, period, exploration):
    """One queue in front of the servers 1/2, 1/10, 3/10, fed faster than the Hamacher sum.

    EXP3 is tuned to the horizon; the restarting learner explores with that many rewards an arm in each
    period; learning while exploiting has its defaults; both plan greedily. The same arrivals and service
    for all.

    Arrays, for the pairs L, E of a router and thousandths of the arrival rate in ``QUEUES``, R runs:
    ``steps`` (200,), ``queue_L_E`` (R, 200) the queue there; ``late_mean_L_E`` (R,) time average over
    the second half of a run.
    """
    import numpy as np

    points = 200
    found = {"steps": np.linspace(0, horizon, points + 1).round().astype(int)[1:]}
    for router, thousandths in QUEUES:
        result = replicate(
            _one_queue,
            runs,
            seed=seed,
            experiment=f"recharge.aware_queue.{thousandths}",
            case=router,
            parameters={
                "router": router,
                "arrival_rate": thousandths / 1000,
                "horizon": horizon,
                "period": period,
                "exploration": exploration,
                "points": points,
            },
            n_jobs=jobs,
        )
        found |= {f"{name}_{router}_{thousandths}": value for name, value in result.items()}
    return found
