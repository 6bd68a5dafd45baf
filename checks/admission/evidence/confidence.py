"""How often the intervals of UCRL-MT miss, with the level of the theorem and with a tiny one.

Replication i of an experiment has its own seed, so the arrays do not depend on the number of
workers. An axis of replications comes first.
"""

from fractions import Fraction

from checks.evidence import evidence, replicate

HORIZON = 100_000

#: Name: largest number of jobs, rejection cost (a job in the network costs 1 per unit of time).
SETTINGS = {"tandem": (4, 4), "tiers": (5, 10)}

#: Name: whether tau satisfies condition (M) or is 3; the level, None for that of the theorem.
LEARNERS = {"theorem": (True, None), "short": (False, None), "tiny": (False, 0.02)}


def network_of(name):
    """Two queues of rate 1 in series with arrival rate 3/5, or three tiers of rate 1 with 99/100."""
    from simlib.admission.network import tandem, three_tier

    if name == "tandem":
        return tandem(Fraction(3, 5), (1, 1))
    return three_tier(1, arrival_rate=Fraction(99, 100), rates=1)


def _one_run(seed, setting, modules, level):
    from simlib.admission.learners import run_learner, ucrl_mt
    from simlib.admission.model import model_of

    limit, rejection = SETTINGS[setting]
    network = network_of(setting)
    model = model_of(network, limit, rejection_cost=rejection, holding_cost=1)
    run = run_learner(network, ucrl_mt(modules, level=level), HORIZON, model, seed=seed)
    return {
        "missed": run.episodes.not_covered.sum(),
        "pessimistic": run.episodes.not_optimistic.sum(),
        "episodes": run.episodes.count,
    }


@evidence("admission.coverage", quick={"runs": 40}, full={"runs": 400})
def coverage(seed, jobs, *, runs):
    """UCRL-MT in the two SETTINGS with the three LEARNERS, 10^5 steps, from an empty network.

    Arrays, for each setting X and learner Y, R runs, counts of episodes: ``missed_X_Y`` (R,) some p(s)
    or mean cost lies outside its interval; ``pessimistic_X_Y`` (R,) the index of the threshold played
    is above the least cost; ``episodes_X_Y`` (R,). And ``modules_X``: the certified tau of (M).
    """
    from simlib.admission.mixing import module_length

    found = {}
    for setting, (limit, _) in SETTINGS.items():
        length = module_length(network_of(setting), limit, HORIZON).tau
        found[f"modules_{setting}"] = length
        for learner, (enough, level) in LEARNERS.items():
            result = replicate(
                _one_run,
                runs,
                seed=seed,
                experiment="admission.coverage",
                case=f"{setting}.{learner}",
                parameters={
                    "setting": setting,
                    "modules": length if enough else 3,
                    "level": level,
                },
                n_jobs=jobs,
            )
            found |= {f"{name}_{setting}_{learner}": value for name, value in result.items()}
    return found
