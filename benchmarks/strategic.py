"""How fast are many queues in `simlib`, and what of it are the model and the learners?

    python benchmarks/strategic.py [--steps N] [--repeats N] [--json FILE]

Before anything is timed, simlib and a loop in plain Python must walk the same path. README.md says
what is measured and how to read it. Exit status 0: the paths agree and every target is met; 1: not.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.exp3 import act, uniform, update
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
from simlib.learners import Learner, exp3, exp3_ix, learner, uniform_router
from simlib.strategic import fixed_priority, oldest_first, simulate_periods, simulate_system
from simlib.streams import substreams

#: CPU seconds that 10^6 steps of four queues with EXP3 may take; smallest ratio uncompiled / simlib;
#: range of the time of a step over the horizons; bytes by which the peak of allocated memory may
#: differ between the horizons.
AT_MOST_SECONDS = 1.0
AT_LEAST_UNCOMPILED = 100.0
SAME_TIME = 1.5
SAME_MEMORY = 4096
MEMORY_STEPS = (10**4, 10**6)


@learner(rows=1)
class Homebody:
    """Always send to the last server: costs nothing, and keeps every queue backlogged."""

    def act(state, params, t, rng):
        return state.shape[1] - 1

    def update(state, params, t, arm, reward):
        pass


@dataclass(frozen=True)
class System:
    """Arrival and service rates of one system, and the steps of its long run."""

    arrival_rates: tuple[float, ...]
    service_rates: tuple[float, ...]
    steps: int
    seed: int = 1

    def run(self, each: Learner, steps: int | None = None, **options: Any):
        """The run of simlib, its preparations included."""
        return simulate_system(
            self.arrival_rates, self.service_rates, each, steps or self.steps, self.seed, **options
        )


def small(steps: int) -> System:
    """Four queues and eight unlike servers, an eighth above the rate that Theorem 4.1 asks for."""
    shares = np.array((0.9, 0.8, 0.5, 0.4, 0.3, 0.2, 0.1, 0.1))
    return System((0.4,) * 4, tuple((3.0 * shares / shares.sum()).tolist()), steps)


def large(steps: int) -> System:
    """Two hundred queues and four hundred servers, half above that rate."""
    return System((0.4,) * 200, (0.5,) * 400, steps)


# The same loop in plain Python ----------------------------------------------------------------------


@dataclass(frozen=True)
class Walk:
    """Counts at the end of a run, on which both loops must agree."""

    queues: list[int]
    sent: list[int]
    cleared: list[int]
    accepted: list[int]
    busy: list[int]


def in_simlib(system: System, exploration: float, steps: int) -> Callable[[], Walk]:
    """The loop of simlib through its public function, whose preparations are timed with it."""

    def run():
        found = system.run(exp3(exploration=exploration), steps)
        names = ("queues", "sent", "cleared", "accepted", "busy")
        return Walk(*(getattr(found, name)[-1].tolist() for name in names))

    return run


def in_python(system: System, exploration: float, steps: int) -> Callable[[], Walk]:
    """The loop in plain Python on lists, for EXP3 and the uniform acceptance rule."""
    n, m = len(system.arrival_rates), len(system.service_rates)
    names = [f"{kind} {i}" for kind in ("arrivals", "actions") for i in range(n)]
    names += [f"services {j}" for j in range(m)]
    *streams, ties = (state.tolist() for state in substreams(system.seed, [*names, "ties"]))
    arrivals, actions, services = streams[:n], streams[n : 2 * n], streams[2 * n :]
    log_fails = [math.log1p(-rate) for rate in system.service_rates]
    weights = [[1.0] * m for _ in range(n)]
    strategies = [[1.0 / m] * m for _ in range(n)]
    rate = exploration / m

    def run():
        length, sent, cleared = [0] * n, [0] * n, [0] * n
        accepted, busy, free_at = [0] * m, [0] * m, [0] * m
        for t in range(1, steps + 1):
            senders: dict[int, list[int]] = {}
            for i, chance in enumerate(system.arrival_rates):
                if uniform(arrivals[i]) < chance:
                    length[i] += 1
                if length[i]:
                    sent[i] += 1
                    senders.setdefault(act(strategies[i], actions[i]), []).append(i)
            for j, those in senders.items():
                winner = -1
                if free_at[j] <= t:
                    k = int(uniform(ties) * len(those)) if len(those) > 1 else 0
                    winner = those[k]
                    duration = int(math.log1p(-uniform(services[j])) / log_fails[j]) + 1
                    free_at[j] = t + duration
                    busy[j] += duration
                    accepted[j] += 1
                    cleared[winner] += 1
                    length[winner] -= 1
                for i in those:
                    update(weights[i], strategies[i], rate, exploration, j, float(i == winner))
        busy_so_far = [b - max(0, end - 1 - steps) for b, end in zip(busy, free_at, strict=True)]
        return Walk(length, sent, cleared, accepted, busy_so_far)

    return run


UNCOMPILED_PROGRAM = """
from simlib.learners import exp3
from simlib.strategic import simulate_system
steps, exploration, n, *rates = map(float, sys.argv[1:])
start = time.process_time()
run = simulate_system(rates[:int(n)], rates[int(n):], exp3(exploration=exploration), int(steps), 1)
print(time.process_time() - start, *run.queues[-1], *run.sent[-1], *run.cleared[-1], *run.busy[-1])
"""


def uncompiled(system: System, exploration: float, steps: int) -> tuple[float, bool]:
    """The very source of simlib without its compiler, in a process of its own.

    Returns
    -------
    float
        CPU seconds of the run.
    bool
        Whether the counts are those of the compiled source.
    """
    rates = (*system.arrival_rates, *system.service_rates)
    arguments = (steps, exploration, len(system.arrival_rates), *rates)
    seconds, *found = uncompiled_child(UNCOMPILED_PROGRAM, *arguments)
    walk = in_simlib(system, exploration, steps)()
    return seconds, found == [*walk.queues, *walk.sent, *walk.cleared, *walk.busy]


def disagreements(system: System, steps: int = 20_000) -> list[str]:
    """Fields in which the two loops differ; empty when they walk the same path."""
    found = []
    for exploration in (0.01, 0.3):
        want, other = (loop(system, exploration, steps)() for loop in (in_simlib, in_python))
        found += [
            f"exploration {exploration}: {name}"
            for name, mine in vars(want).items()
            if mine != getattr(other, name)
        ]
    return found


# What is measured -----------------------------------------------------------------------------------


def against_python(system: System, repeats: int, exploration: float = 0.01) -> dict[str, Any]:
    """CPU time a step of simlib, of the lists and of the uncompiled source, interleaved."""
    lengths = {"simlib": system.steps, "python": max(system.steps // 50, 5000), "uncompiled": 2000}
    loops = {"simlib": in_simlib, "python": in_python}
    rounds = []
    for number in range(repeats):
        say(f"four queues, EXP3: repetition {number + 1}/{repeats}")
        rounds.append(
            {
                name: cpu_seconds(loop(system, exploration, lengths[name])) / lengths[name] * 1e9
                for name, loop in loops.items()
            }
        )
        if number < 3:  # a new process each time
            seconds, same = uncompiled(system, exploration, lengths["uncompiled"])
            if not same:
                raise RuntimeError("simlib walks another path when it is not compiled")
            rounds[-1]["uncompiled"] = seconds / lengths["uncompiled"] * 1e9

    def over(name):
        return spread([one[name] / one["simlib"] for one in rounds if name in one])

    return {
        "steps": system.steps,
        "seconds": spread([one["simlib"] * system.steps / 1e9 for one in rounds]),
        "nanoseconds": {n: spread([one[n] for one in rounds if n in one]) for n in lengths},
        "python_over_simlib": over("python"),
        "uncompiled_over_simlib": over("uncompiled"),
    }


def parts(system: System, repeats: int) -> list[dict[str, Any]]:
    """CPU time a step with learners that cost nothing, one draw, or their usual work, interleaved.

    Also the other acceptance rules and, over a twentieth of the steps, the counterfactuals of
    `simulate_periods`, with EXP3.
    """
    m = len(system.service_rates)
    watched = system.steps // 20
    full = exp3(exploration=0.01)
    order = range(len(system.arrival_rates))
    runs: dict[str, Callable] = {
        "one server for all": partial(system.run, Homebody),
        "uniform router": partial(system.run, uniform_router(m)),
        "EXP3": partial(system.run, full),
        "EXP3-IX": partial(system.run, exp3_ix(system.steps)),
        "EXP3, oldest first": partial(system.run, full, acceptance=oldest_first()),
        "EXP3, fixed priority": partial(system.run, full, acceptance=fixed_priority(order)),
        "EXP3, counterfactuals": partial(
            simulate_periods,
            *(system.arrival_rates, system.service_rates, full, watched, 1, system.seed),
        ),
    }
    steps = {name: watched if name.endswith("counterfactuals") else system.steps for name in runs}
    decisions = {}
    for name, run in runs.items():
        found = run()
        sent = found.sent if steps[name] == system.steps else watched - found.empty
        decisions[name] = float(sent[-1].sum()) / steps[name]
    times = interleaved(runs, repeats, f"{len(order)} queues, {m} servers", steps)
    return [
        {"learner": name, "decisions": decisions[name], "nanoseconds": times[name]} for name in runs
    ]


def horizons(system: System, repeats: int) -> list[dict[str, Any]]:
    """CPU time a step of EXP3 for three horizons, the longest last, interleaved."""
    lengths = (system.steps // 10, system.steps, 10 * system.steps)
    runs = {steps: partial(system.run, exp3(exploration=0.01), steps) for steps in lengths}
    times = interleaved(runs, repeats, "horizons", {steps: steps for steps in lengths})
    return [{"steps": steps, "nanoseconds": found} for steps, found in times.items()]


MEMORY_PROGRAM = """
import sys, tracemalloc
from simlib.learners import exp3
from simlib.strategic import oldest_first, simulate_system
def run(steps):
    simulate_system([0.4] * 4, [0.375] * 8, exp3(steps), steps, 1, acceptance=oldest_first())
run(1000)
tracemalloc.start()
run(int(sys.argv[1]))
print(tracemalloc.get_traced_memory()[1])
"""

START_PROGRAM = """
import time
from simlib.learners import exp3
from simlib.strategic import simulate_system
simulate_system([0.4] * 4, [0.375] * 8, exp3(1000), 1000, 1)
print(time.process_time())
"""


# The command ----------------------------------------------------------------------------------------


def missed(result: dict[str, Any]) -> list[str]:
    """The targets that a result misses."""
    found = []
    loop = result["loop"]
    seconds = loop["nanoseconds"]["simlib"]["median"] * 1e6 / 1e9
    if seconds > AT_MOST_SECONDS:
        found.append(f"{seconds:.2f} s for 10^6 steps, target at most {AT_MOST_SECONDS:.0f} s")
    if loop["uncompiled_over_simlib"]["median"] < AT_LEAST_UNCOMPILED:
        found.append(f"less than {AT_LEAST_UNCOMPILED:.0f} x uncompiled")
    times = [row["nanoseconds"]["median"] for row in result["horizons"]]
    if max(times) > SAME_TIME * min(times):
        found.append("the time of a step depends on the horizon")
    peaks = [row["allocated"] for row in result["memory"]]
    if max(peaks) - min(peaks) > SAME_MEMORY:
        found.append("memory depends on the horizon")
    return found


def table(result: dict[str, Any]) -> str:
    """The result as text."""
    loop = result["loop"]
    lines = machine_lines(result["machine"])
    lines += [
        "",
        f"4 queues, 8 servers, EXP3, {loop['steps']} steps: median [min, max]",
        f"  simlib, CPU seconds        {shown(loop['seconds'], 3)}",
    ]
    lines += [
        f"  {name + ', ns a step':<26} {shown(value)}"
        for name, value in loop["nanoseconds"].items()
    ]
    lines += [
        f"  lists / simlib             {shown(loop['python_over_simlib'])}",
        f"  uncompiled / simlib        {shown(loop['uncompiled_over_simlib'])}"
        f"  (target >={AT_LEAST_UNCOMPILED:.0f})",
    ]
    for key, title in (("small", "4 queues, 8 servers"), ("large", "200 queues, 400 servers")):
        steps = result[key]["steps"]
        lines += ["", f"{title}, {steps} steps: CPU time of a step"]
        lines.append(f"  {'learner':<22} {'decisions':>9} {'ns a step':>24} {'a decision':>11}")
        for row in result[key]["parts"]:
            each = row["nanoseconds"]["median"] / row["decisions"]
            lines.append(
                f"  {row['learner']:<22} {row['decisions']:>9.2f} {shown(row['nanoseconds']):>24} "
                f"{each:>11.0f}"
            )
    lines += ["", f"{'steps':>10} {'ns a step':>20}"]
    lines += [f"{row['steps']:>10} {shown(row['nanoseconds']):>20}" for row in result["horizons"]]
    lines += ["", *allocated_lines(result["memory"]), "", *start_up_lines(result["start_up"])]
    return "\n".join(lines)


def main() -> int:
    """Run the command; returns the exit status."""
    options = command(
        *(__doc__.splitlines()[0], "steps", 1_000_000, 10_000, "steps of the small system"),
        repeats=7,
    )

    few, many = small(options.steps), large(options.steps // 10)
    say("do the two loops walk the same path?")
    different = disagreements(few)
    if different:
        return refuse(different)
    result: dict[str, Any] = {
        "schema": 1,
        "machine": machine(),
        "loop": against_python(few, options.repeats),
        "small": {"steps": few.steps, "parts": parts(few, options.repeats)},
        "large": {"steps": many.steps, "parts": parts(many, min(options.repeats, 3))},
        "horizons": horizons(few, min(options.repeats, 3)),
        "memory": allocated(MEMORY_PROGRAM, "steps", MEMORY_STEPS),
        "start_up": start_up(START_PROGRAM),
    }
    result["missed"] = missed(result)
    agreement = "simlib, lists and the uncompiled source walk one path"
    return report(result, table(result), agreement, options.json)


if __name__ == "__main__":
    sys.exit(main())
