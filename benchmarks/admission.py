"""How fast are a network behind an admission controller, its learners, and extended value iteration?

    python benchmarks/admission.py [--steps N] [--repeats N] [--json FILE]

Before anything is timed, simlib and a loop in plain Python must walk the same path. README.md says
what is measured and how to read it. Exit status 0: the paths agree and every target is met; 1: not.
"""

import itertools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.exp3 import uniform
from benchmarks.measure import (
    allocated,
    allocated_lines,
    command,
    cpu_seconds,
    interleaved,
    machine,
    machine_lines,
    refuse,
    report,
    say,
    shown,
    spread,
    start_up,
    start_up_lines,
    uncompiled_child,
)
from simlib.admission import (
    AdmissionLearner,
    AdmissionModel,
    Network,
    accept_all,
    always_reject,
    extended_value_iteration,
    generic_extended_value_iteration,
    hysteresis_rule,
    model_of,
    run_learner,
    simulate,
    three_tier,
    threshold_bandit,
    ucrl2,
    ucrl_m,
    ucrl_mt,
)
from simlib.streams import substreams

#: CPU seconds that 10^7 steps of UCRL-M with three modules may take; smallest ratio uncompiled / simlib;
#: range of the time of a step over the horizons; bytes by which the peak of allocated memory may differ
#: between the horizons (some more episodes are recorded); largest ratio of the times of a sweep over ten
#: times as many states.
AT_MOST_SECONDS = 5.0
AT_LEAST_UNCOMPILED = 100.0
SAME_TIME = 1.5
SAME_MEMORY = 65536
LINEAR = 15.0
SHORT = 100_000
MEMORY_STEPS = (10**5, 10**7)
SWEPT = (10, 100, 1000, 10_000)
SWEPT_DENSE = (10, 100, 1000)


@dataclass(frozen=True)
class Setting:
    """The three-tier network with n queues a tier, and its admission problem with limit 10 n."""

    network: Network
    model: AdmissionModel
    steps: int
    seed: int = 1

    def learn(self, learner: AdmissionLearner, steps: int | None = None, **options: Any):
        """The run of simlib, its preparations included."""
        return run_learner(
            *(self.network, learner, steps or self.steps, self.model),
            **{"seed": self.seed, **options},
        )


def setting(per_tier: int, steps: int) -> Setting:
    """An unstable network: arrival rate 0.99 where the first tier can serve one half."""
    network = three_tier(per_tier, arrival_rate=0.99, rates=1 / per_tier)
    model = model_of(network, 10 * per_tier, rejection_cost=10.0, holding_cost=1 / per_tier)
    return Setting(network, model, steps)


# The same loop in plain Python ----------------------------------------------------------------------


@dataclass(frozen=True)
class Walk:
    """What both loops must agree on: the episodes and the visits."""

    starts: list[int]
    policies: list[list[int]]
    sweeps: list[int]
    visits: list[list[int]]
    total: int


def in_simlib(one: Setting, learner: AdmissionLearner, steps: int) -> Callable[[], Walk]:
    """The loop of simlib through its public function, whose preparations are timed with it."""

    def run():
        found = one.learn(learner, steps)
        episodes = found.episodes
        return Walk(
            *(episodes.start.tolist(), episodes.policy.tolist(), episodes.sweeps.tolist()),
            *(found.visits[-1].tolist(), found.total),
        )

    return run


def best_law(values, law, half):
    """Largest mean of the values over laws within ``2 half`` of the given one."""
    order = sorted(range(len(values)), key=values.__getitem__)
    best = order[-1]
    left = min(1 - law[best], half)
    mean = sum(p * v for p, v in zip(law, values, strict=True))
    for k in order[:-1]:
        taken = min(left, law[k])
        mean += taken * (values[best] - values[k])
        left -= taken
    return mean


def in_python(one: Setting, learner: AdmissionLearner, steps: int) -> Callable[[], Walk]:
    """UCRL-M and UCRL2 in plain Python on lists, written from the description of the algorithm."""
    network, model, tau = one.network, one.model.as_floats(), learner.modules
    top, bound, most = model.limit, model.uniformization, model.max_reward
    reward = [
        [
            (model.holding_cost * (top - s) + a * model.arrival_rate * model.rejection_cost) / bound
            for a in (0, 1)
        ]
        for s in range(top + 1)
    ]
    routes = [(network.arrival_rate * share, 0, -1, j) for j, share in enumerate(network.external)]
    for i, row in enumerate(network.routing):
        for j, share in [*enumerate(row), (-1, network.exit[i])]:
            rate = network.rates[i] * share
            routes.append((rate * min(network.servers[i], top), rate, i, j))
    routes = [route for route in routes if route[0] > 0]
    ends = list(itertools.accumulate(width for width, *_ in routes))
    events, coins = (state.tolist() for state in substreams(one.seed, ("events", "rewards")))
    actions = [(0, 1)] * top + [(0,)]
    jaksch = learner.radii == "jaksch"

    def plan(counts, t, u):
        """Policy, sweeps and values of extended value iteration; visits that end the episode."""
        log = math.log(4 * t)
        reward_log, law_log = 2 * log, 8 * log
        if jaksch:
            reward_log = 3.5 * math.log(4 * (top + 1) * t * t)
            law_log = 14 * (top + 1) * math.log(4 * t * t)
        tables, left = {}, {}
        for s in range(top + 1):
            for a in actions[s]:
                cells = [counts[m][s][a] for m in range(tau)]
                n, up, down, won = max(cells, key=lambda cell: cell[0])
                left[s, a] = [max(1, cell[0]) for cell in cells]
                size = max(1, n)
                mean = most * won / size if n else most
                law = [down / size, 1 - down / size - up / size, up / size]
                radius = math.sqrt(law_log / size)
                tables[s, a] = (
                    min(most, mean + most * math.sqrt(reward_log / size)),
                    law,
                    radius / 2,
                )
        sweeps = 0
        while True:
            sweeps += 1
            new, policy = [], []
            target = max(range(top + 1), key=u.__getitem__)
            for s in range(top + 1):
                best = -math.inf
                for a in actions[s]:
                    bonus, law, half = tables[s, a]
                    around = [u[max(s - 1, 0)], u[s], u[s + 1] if a == 1 else u[s]]
                    laws = law
                    if jaksch and abs(target - s) > 1:
                        around, laws = [*around, u[target]], [*law, 0.0]
                    elif jaksch:
                        # The best state is a neighbour, if perhaps one that was never met.
                        around[1 + target - s] = u[target]
                    value = bonus + best_law(around, laws, half)
                    if value > best:
                        best, chosen = value, a
                new.append(best)
                policy.append(chosen)
            change = [n - o for n, o in zip(new, u, strict=True)]
            u = [value - new[0] for value in new]
            if max(change) - min(change) < most / math.sqrt(t) or sweeps == learner.most_sweeps:
                return policy, sweeps, u, left

    def run():
        x, t, u = [0] * network.stations, 0, [0.0] * (top + 1)
        counts = [[[[0] * 4 for _ in (0, 1)] for _ in range(top + 1)] for _ in range(tau)]
        visits = [[0, 0] for _ in range(top + 1)]
        starts, policies, all_sweeps = [], [], []
        while t < steps:
            policy, sweeps, u, left = plan(counts, max(t, 1), u)
            starts.append(t)
            policies.append(policy)
            all_sweeps.append(sweeps)
            ramp_end = t + tau if learner.ramp else t
            playing = True
            while playing and t < steps:
                s = sum(x)
                a = policy[s]
                y = uniform(events) * bound
                k = next((k for k, end in enumerate(ends) if y < end), None)
                if k is not None:
                    _, rate, i, j = routes[k]
                    begin = ends[k - 1] if k else 0.0
                    if i == -1:
                        x[j] += a
                    elif x[i] >= min(network.servers[i], top) or y - begin < rate * x[i]:
                        x[i] -= 1
                        if j >= 0:
                            x[j] += 1
                visits[s][a] += 1
                won = uniform(coins) * most < reward[s][a]
                if t >= ramp_end:
                    cell = counts[t % tau][s][a]
                    cell[0] += 1
                    cell[1] += sum(x) > s
                    cell[2] += sum(x) < s
                    cell[3] += won
                    left[s, a][t % tau] -= 1
                    playing = left[s, a][t % tau] > 0
                t += 1
        return Walk(starts, policies, all_sweeps, visits, sum(x))

    return run


UNCOMPILED_PROGRAM = """
from benchmarks.admission import setting
from simlib.admission import ucrl_m
steps, modules = map(int, sys.argv[1:])
one = setting(1, steps)
start = time.process_time()
run = one.learn(ucrl_m(modules))
print(time.process_time() - start, *run.episodes.start, *run.episodes.sweeps, *run.visits[-1].ravel())
"""


def uncompiled(one: Setting, modules: int, steps: int) -> tuple[float, bool]:
    """The very source of simlib without its compiler, in a process of its own.

    Returns
    -------
    float
        CPU seconds of the run.
    bool
        Whether the counts are those of the compiled source.
    """
    root = str(Path(__file__).resolve().parents[1])
    seconds, *found = uncompiled_child(UNCOMPILED_PROGRAM, steps, modules, PYTHONPATH=root)
    run = one.learn(ucrl_m(modules), steps)
    return seconds, found == [
        *(*run.episodes.start.tolist(), *run.episodes.sweeps.tolist()),
        *run.visits[-1].ravel().tolist(),
    ]


def disagreements(steps: int = 4000) -> list[str]:
    """Fields in which the two loops differ; empty when they walk the same path."""
    found = []
    for per_tier, learner in (
        *((1, ucrl_m(3)), (1, ucrl_m(1)), (2, ucrl_m(3)), (1, ucrl2("modular")), (1, ucrl2())),
    ):
        one = setting(per_tier, steps)
        want, other = (loop(one, learner, steps)() for loop in (in_simlib, in_python))
        found += [
            f"{learner.name}, {per_tier} a tier: {name}"
            for name, mine in vars(want).items()
            if mine != getattr(other, name)
        ]
    return found


# What is measured -----------------------------------------------------------------------------------


def against_python(one: Setting, repeats: int, modules: int = 3) -> dict[str, Any]:
    """CPU time a step of UCRL-M in simlib, on lists and in the uncompiled source, interleaved."""
    learner = ucrl_m(modules)
    loops = {"simlib": in_simlib, "python": in_python}
    rounds = []
    for number in range(repeats):
        say(f"UCRL-M, 3 stations: repetition {number + 1}/{repeats}")
        found = {"simlib": cpu_seconds(loops["simlib"](one, learner, one.steps)) / one.steps}
        # Short runs plan more often: simlib's is as short as the others.
        for name, loop in loops.items():
            found[f"short {name}"] = cpu_seconds(loop(one, learner, SHORT)) / SHORT
        if number < 3:  # a new process each time
            seconds, same = uncompiled(one, modules, SHORT)
            if not same:
                raise RuntimeError("simlib walks another path when it is not compiled")
            found["short uncompiled"] = seconds / SHORT
        rounds.append({name: each * 1e9 for name, each in found.items()})

    def over(name):
        return spread([found[name] / found["short simlib"] for found in rounds if name in found])

    return {
        "steps": one.steps,
        "seconds": spread([found["simlib"] * one.steps / 1e9 for found in rounds]),
        "nanoseconds": spread([found["simlib"] for found in rounds]),
        "python_over_simlib": over("short python"),
        "uncompiled_over_simlib": over("short uncompiled"),
    }


def parts(one: Setting, repeats: int) -> list[dict[str, Any]]:
    """CPU time a step of the network under policies that learn nothing, and of the learners."""
    network, model, steps = one.network, one.model, one.steps
    halves = (0.5,) * model.limit
    watched = partial(simulate, network, horizon=steps, model=model, seed=one.seed)
    learners = [always_reject(), accept_all(), *(ucrl_m(tau) for tau in (1, 3, 30, 300))]
    learners += [ucrl2("modular"), ucrl2(), ucrl_mt(3), ucrl_mt(300), threshold_bandit(300)]
    runs: dict[str, Callable] = {
        "simulate: accept all": partial(watched, (1,) * model.limit),
        "simulate: coins": partial(watched, halves),
        "simulate: hysteresis": partial(watched, hysteresis_rule(model.limit // 2, 1)),
        **{learner.name: partial(one.learn, learner) for learner in learners},
    }
    found = {name: run() for name, run in runs.items()}  # loads what was compiled
    times = interleaved(runs, repeats, f"{network.stations} stations", dict.fromkeys(runs, steps))
    rows = []
    for name in runs:
        episodes = getattr(found[name], "episodes", None)
        sweeps = 0 if episodes is None else int(episodes.sweeps.sum())
        capped = 0 if episodes is None else int(episodes.capped.sum())
        count = 0 if episodes is None else episodes.count
        row = {"policy": name, "nanoseconds": times[name]}
        rows.append({**row, "episodes": count, "sweeps": sweeps, "capped": capped})
    return rows


def sweeps(repeats: int) -> list[dict[str, Any]]:
    """CPU time of a sweep of extended value iteration, by the number of states and the loop."""
    rows = []
    for top in SWEPT:
        s = np.arange(top + 1.0)
        rewards = np.stack([(top - s) / (top + 1), (top - s + 5) / (top + 1)], axis=1)
        up, down = np.zeros((top + 1, 2)), np.repeat(0.3 * s[:, None] / (s[:, None] + 3), 2, axis=1)
        up[:-1, 1] = 0.25
        radius = np.full((top + 1, 2), 0.05)
        dense = np.zeros((top + 1, 2, top + 1)) if top in SWEPT_DENSE else None
        if dense is not None:
            for i, a in itertools.product(range(top + 1), (0, 1)):
                dense[i, a, min(i + 1, top)] += up[i, a]
                dense[i, a, max(i - 1, 0)] += down[i, a]
                dense[i, a, i] += 1 - up[i, a] - down[i, a]
        wanted = {"precision": 1e-300}  # never reached: exactly so many sweeps
        most = {"neighbours": 2_000_000 // top, "all": 2_000_000 // top}
        loops: dict[str, Callable] = {
            support: partial(
                *(extended_value_iteration, rewards, up, down, radius),
                **{**wanted, "support": support, "most_sweeps": most[support]},
            )
            for support in most
        }
        if dense is not None:
            most["generic"] = max(1, 20_000_000 // top**2)
            loops["generic"] = partial(
                *(generic_extended_value_iteration, rewards, dense, radius),
                **{**wanted, "most_sweeps": most["generic"]},
            )
        thousands = {name: loop().sweeps * 1000 for name, loop in loops.items()}
        times = interleaved(loops, repeats, f"sweeps over {top + 1} states", thousands)
        rows.append({"limit": top, "microseconds": times})
    return rows


def horizons(one: Setting, repeats: int) -> list[dict[str, Any]]:
    """CPU time a step of UCRL-M for three horizons, interleaved."""
    lengths = (one.steps, 10 * one.steps, 100 * one.steps)
    runs = {steps: partial(one.learn, ucrl_m(3), steps) for steps in lengths}
    times = interleaved(runs, repeats, "horizons", {steps: steps for steps in lengths})
    return [{"steps": steps, "nanoseconds": found} for steps, found in times.items()]


MEMORY_PROGRAM = """
import sys, tracemalloc
from simlib.admission import model_of, run_learner, three_tier, ucrl_m
network = three_tier(1, arrival_rate=0.99, rates=1.0)
model = model_of(network, 10, rejection_cost=10.0, holding_cost=1.0)
run_learner(network, ucrl_m(3), 1000, model, seed=1)
tracemalloc.start()
run_learner(network, ucrl_m(3), int(sys.argv[1]), model, seed=1)
print(tracemalloc.get_traced_memory()[1])
"""

START_PROGRAM = """
import time
from simlib.admission import model_of, run_learner, three_tier, ucrl_m
network = three_tier(1, arrival_rate=0.99, rates=1.0)
model = model_of(network, 10, rejection_cost=10.0, holding_cost=1.0)
run_learner(network, ucrl_m(3), 1000, model, seed=1)
print(time.process_time())
"""


# The command ----------------------------------------------------------------------------------------


def missed(result: dict[str, Any]) -> list[str]:
    """The targets that a result misses."""
    found = []
    loop = result["loop"]
    seconds = loop["nanoseconds"]["median"] * 1e7 / 1e9
    if seconds > AT_MOST_SECONDS:
        found.append(f"{seconds:.2f} s for 10^7 steps, target at most {AT_MOST_SECONDS:.0f} s")
    if loop["uncompiled_over_simlib"]["median"] < AT_LEAST_UNCOMPILED:
        found.append(f"less than {AT_LEAST_UNCOMPILED:.0f} x uncompiled")
    times = [row["nanoseconds"]["median"] for row in result["horizons"][1:]]
    if max(times) > SAME_TIME * min(times):
        found.append("the time of a step depends on the horizon")
    peaks = [row["allocated"] for row in result["memory"]]
    if max(peaks) - min(peaks) > SAME_MEMORY:
        found.append("memory depends on the horizon")
    times = [row["microseconds"]["neighbours"]["median"] for row in result["sweeps"]]
    if any(more > LINEAR * fewer for fewer, more in itertools.pairwise(times)):
        found.append("a sweep is not linear in the states")
    return found


def table(result: dict[str, Any]) -> str:
    """The result as text."""
    loop = result["loop"]
    lines = machine_lines(result["machine"])
    lines += [
        "",
        f"UCRL-M, 3 modules, 3 stations, limit 10, {loop['steps']} steps: median [min, max]",
        f"  CPU seconds, planning included {shown(loop['seconds'], 3)}",
        f"  ns a step                      {shown(loop['nanoseconds'], 1)}",
        f"  lists / simlib, short runs     {shown(loop['python_over_simlib'])}",
        f"  uncompiled / simlib, the same  {shown(loop['uncompiled_over_simlib'])}"
        f"  (target >={AT_LEAST_UNCOMPILED:.0f})",
    ]
    for key in ("small", "large"):
        one = result[key]
        lines += ["", f"{one['stations']} stations, {one['steps']} steps: CPU time of a step"]
        lines.append(f"  {'policy':<36} {'ns':>20} {'episodes':>8} {'sweeps':>8} {'capped':>6}")
        lines += [
            f"  {row['policy']:<36} {shown(row['nanoseconds'], 1):>20} {row['episodes']:>8} "
            f"{row['sweeps']:>8} {row['capped']:>6}"
            for row in one["parts"]
        ]
    lines += ["", "one sweep of extended value iteration, microseconds"]
    lines += [
        f"  S = {row['limit']:<6} "
        + "  ".join(f"{name} {shown(value, 2)}" for name, value in row["microseconds"].items())
        for row in result["sweeps"]
    ]
    lines += ["", f"{'steps':>10} {'ns a step':>20}"]
    lines += [
        f"{row['steps']:>10} {shown(row['nanoseconds'], 1):>20}" for row in result["horizons"]
    ]
    lines += ["", *allocated_lines(result["memory"]), "", *start_up_lines(result["start_up"])]
    return "\n".join(lines)


def main() -> int:
    """Run the command; returns the exit status."""
    options = command(
        *(__doc__.splitlines()[0], "steps", 10_000_000, 100_000, "steps of the timed loop"),
        repeats=7,
    )

    say("do the two loops walk the same path?")
    different = disagreements()
    if different:
        return refuse(different)
    few, many = setting(1, options.steps // 10), setting(8, options.steps // 10)
    result: dict[str, Any] = {
        "schema": 1,
        "machine": machine(),
        "loop": against_python(setting(1, options.steps), options.repeats),
        **{
            name: {
                "stations": one.network.stations,
                "steps": one.steps,
                "parts": parts(one, options.repeats),
            }
            for name, one in (("small", few), ("large", many))
        },
        "sweeps": sweeps(min(options.repeats, 3)),
        "horizons": horizons(setting(1, options.steps // 10), min(options.repeats, 3)),
        "memory": allocated(MEMORY_PROGRAM, "steps", MEMORY_STEPS),
        "start_up": start_up(START_PROGRAM),
    }
    result["missed"] = missed(result)
    agreement = "simlib, lists and the uncompiled source walk one path"
    return report(result, table(result), agreement, options.json)


if __name__ == "__main__":
    sys.exit(main())
