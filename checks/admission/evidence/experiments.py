"""The source's experiments once more, and those on UCRL-MT; all regrets in units of r_max.

The three tiers have n queues each of rate 1/n; a job leaves after the first with probability 1/2 and
else passes the other two and returns. Arrival rate 0.99, at most S = 10 n jobs (or as said), U = 0.99 +
3, holding cost 1/n, rejection cost 10. The source's own parameters are lost; these are ours, like it in
that the network is not stable. The learners of a replication meet the same events.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from checks.evidence import evidence, replicate

if TYPE_CHECKING:
    from simlib.admission.model import AdmissionModel
    from simlib.admission.network import Network

REJECTION_COST = 10
ARRIVAL_RATE = Fraction(99, 100)
PUBLISHED_MODULES = 3  # of UCRL-M in the source's experiments
MODULES = (1, 3, 10, 30)
SIZES = (1, 2, 4, 8)
LOOSE_LEVEL = 0.02  # an L far below that of the theorem

#: Networks on which the length of a module is certified, with S.
CERTIFIED = {"tandem": 4, "overload": 5, "stable": 5}
SINGLE_LIMIT = 10


def tiers(size: int = 1, arrival_rate: Fraction = ARRIVAL_RATE, limit: int | None = None) -> Any:
    """The three tiers with ``size`` queues each: network, S, and the problem of their total.

    Parameters
    ----------
    size : int
        n.
    arrival_rate : Fraction
    limit : int, optional
        S; 10 n by default.

    Returns
    -------
    tuple of Network, int, AdmissionModel
    """
    from simlib.admission.model import model_of
    from simlib.admission.network import three_tier

    rate, limit = Fraction(1, size), 10 * size if limit is None else limit
    network = three_tier(size, arrival_rate=arrival_rate, rates=rate)
    model = model_of(
        network,
        limit,
        rejection_cost=REJECTION_COST,
        holding_cost=rate,
        uniformization=arrival_rate + 3,
    )
    return network, limit, model


def certified_case(name: str) -> tuple[Network, int, AdmissionModel]:
    """A network of `CERTIFIED`: S and the problem of its total, in rationals.

    "tandem": two queues in series of rate 1, arrivals 3/5, holding cost 1, rejection cost 4, U = 13/5.
    "overload" and "stable": the three tiers, one queue each, S = 5, arrivals 99/100 and 1/4.
    """
    from simlib.admission.model import model_of
    from simlib.admission.network import tandem

    limit = CERTIFIED[name]
    if name != "tandem":
        return tiers(1, ARRIVAL_RATE if name == "overload" else Fraction(1, 4), limit)
    network = tandem(Fraction(3, 5), (1, 1))
    return network, limit, model_of(network, limit, rejection_cost=4, holding_cost=1)


def single_queue() -> tuple[Network, int, AdmissionModel]:
    """One queue of rate 1, arrivals 1/2, holding cost 1, rejection cost 10, S = 10, U = 3/2."""
    from simlib.admission.model import model_of
    from simlib.admission.network import tandem

    network = tandem(Fraction(1, 2), (1,))
    model = model_of(network, SINGLE_LIMIT, rejection_cost=REJECTION_COST, holding_cost=1)
    return network, SINGLE_LIMIT, model


def _run(seed: int, jobs: int, runs: int, name: str, case: str, **parameters: Any) -> dict:
    """Replications of `simlib.admission.learners.experiment`."""
    from simlib.admission.learners import experiment

    return replicate(
        experiment,
        runs,
        seed=seed,
        experiment=f"admission.{name} {case}",
        parameters=parameters,
        n_jobs=jobs,
    )


def _named(found: dict, names: Any) -> dict:
    """Arrays by learner, from those of several."""
    counts = ("episodes", "capped", "not_optimistic", "not_covered")
    arrays = {}
    for i, name in enumerate(names):
        arrays[name] = found["regret"][:, i]
        arrays |= {f"{count}_{name}": found[count][:, i] for count in counts}
    return arrays


@evidence(
    "admission.modules",
    quick={"runs": 40, "steps": [100_000, 300_000, 1_000_000]},
    full={"runs": 66, "steps": [100_000, 300_000, 1_000_000, 3_000_000, 10_000_000]},
)
def modules(seed: int, jobs: int, *, runs: int, steps: list[int]) -> dict:
    """One queue a tier: UCRL-M against its modules, and the learners of thresholds.

    Arrays: ``steps`` (C,); for tau in `MODULES` ``ucrl_m_<tau>`` (runs, C); with 3 modules ``ucrl_mt``,
    ``bandit``, ``model_only`` (UCRL-MT without the direct index) and ``loose`` (UCRL-MT with an L of
    0.02). For each of these names, with the name after an underscore, numbers (runs,): ``episodes``,
    ``capped`` (iterations that hit the cap on sweeps), ``not_optimistic``, ``not_covered``.
    """
    from simlib.admission.learners import threshold_bandit, ucrl_m, ucrl_mt

    tau = PUBLISHED_MODULES
    made = {f"ucrl_m_{count}": ucrl_m(count) for count in MODULES}
    made |= {
        "ucrl_mt": ucrl_mt(tau),
        "bandit": threshold_bandit(tau),
        "model_only": ucrl_mt(tau, direct_index=False),
        "loose": ucrl_mt(tau, level=LOOSE_LEVEL),
    }
    network, _, model = tiers()
    found = _run(
        *(seed, jobs, runs, "modules", ""),
        network=network,
        learner=list(made.values()),
        horizon=steps[-1],
        model=model,
        checkpoints=steps,
    )
    return {"steps": steps, **_named(found, made)}


@evidence(
    "admission.sizes",
    quick={"runs": 32, "steps": [100_000, 1_000_000], "sizes": [8]},
    full={"runs": 66, "steps": [100_000, 1_000_000, 10_000_000], "sizes": list(SIZES)},
)
def sizes(seed: int, jobs: int, *, runs: int, steps: list[int], sizes: list[int]) -> dict:
    """UCRL-M and UCRL-MT with 3 modules against the number n of queues of a tier, S = 10 n.

    Arrays: ``steps`` (C,), ``sizes``; for each n ``ucrl_m_<n>`` and ``ucrl_mt_<n>`` (runs, C),
    ``threshold_<n>`` (runs, C), the threshold of UCRL-M that played the step; and counts as in
    `modules`.
    """
    from simlib.admission.learners import ucrl_m, ucrl_mt

    arrays: dict[str, Any] = {"steps": steps, "sizes": sizes}
    for size in sizes:
        network, _, model = tiers(size)
        found = _run(
            *(seed, jobs, runs, "sizes", str(size)),
            network=network,
            learner=[ucrl_m(PUBLISHED_MODULES), ucrl_mt(PUBLISHED_MODULES)],
            horizon=steps[-1],
            model=model,
            checkpoints=steps,
        )
        arrays |= _named(found, (f"ucrl_m_{size}", f"ucrl_mt_{size}"))
        arrays[f"threshold_{size}"] = found["threshold"][:, 0]
    return arrays


@evidence(
    "admission.growth",
    quick={"runs": 32, "steps": [100_000, 1_000_000]},
    full={"runs": 32, "steps": [100_000, 1_000_000, 10_000_000, 100_000_000]},
)
def growth(seed: int, jobs: int, *, runs: int, steps: list[int]) -> dict:
    """UCRL-M with one module, one queue a tier, by decades: ``steps`` (C,), ``regret`` (runs, C)."""
    from simlib.admission.learners import ucrl_m

    network, _, model = tiers()
    found = _run(
        *(seed, jobs, runs, "growth", ""),
        network=network,
        learner=ucrl_m(1),
        horizon=steps[-1],
        model=model,
        checkpoints=steps,
    )
    return {"steps": steps, "regret": found["regret"]}


@evidence(
    "admission.certified",
    quick={"runs": 32, "horizon": 1_000_000},
    full={"runs": 40, "horizon": 10_000_000},
)
def certified(seed: int, jobs: int, *, runs: int, horizon: int) -> dict:
    """UCRL-MT and the bandit with the modules that the theorem asks for.

    Arrays: ``horizon`` (); for each of `CERTIFIED` ``tau_<name>`` (), the length of a module, found in
    floats (the judges certify it); ``ucrl_mt_<name>``, ``bandit_<name>`` and ``model_only_<name>``
    (without the direct index), each (runs, 1); for the tandem also ``unknown_tandem``, with an unknown
    arrival rate, and ``ucrl_m_tandem``; ``ucrl_mt_single`` for `single_queue` with the radius of one
    station, and ``tau_single``; and counts as in `modules`.
    """
    from simlib.admission.learners import threshold_bandit, ucrl_m, ucrl_mt
    from simlib.admission.mixing import module_length_float

    arrays: dict[str, Any] = {"horizon": horizon}
    for name in (*CERTIFIED, "single"):
        network, limit, model = single_queue() if name == "single" else certified_case(name)
        tau = module_length_float(network, limit, horizon, model.uniformization)
        if name == "single":
            made = {"ucrl_mt": ucrl_mt(tau, single_station=True)}
        else:
            made = {
                "ucrl_mt": ucrl_mt(tau),
                "bandit": threshold_bandit(tau),
                "model_only": ucrl_mt(tau, direct_index=False),
            }
        if name == "tandem":
            made |= {"unknown": ucrl_mt(tau, arrival_rate_known=False), "ucrl_m": ucrl_m(tau)}
        found = _run(
            *(seed, jobs, runs, "certified", name),
            network=network,
            learner=list(made.values()),
            horizon=horizon,
            model=model,
        )
        arrays[f"tau_{name}"] = tau
        arrays |= _named(found, [f"{one}_{name}" for one in made])
    return arrays
