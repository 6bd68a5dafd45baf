"""How fast are contextual queueing bandits in `simlib`, and what does exact estimation cost?

    python benchmarks/contextual.py [--rounds N] [--repeats N] [--json FILE]

Before anything is timed, simlib and a loop in plain NumPy that keeps nothing must walk the same path.
README.md says what is measured and how to read it. Exit status 0: the paths agree and every target is
met; 1: not.
"""

import math
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import (
    allocated,
    command,
    interleaved,
    machine,
    machine_lines,
    refuse,
    report,
    say,
    shown,
    start_up,
    start_up_lines,
    uncompiled_child,
)
from simlib.contextual import (
    Policy,
    cqb_epsilon,
    cqb_epsilon_opt,
    cqb_opt,
    cqb_ts,
    draw_jobs,
    greedy,
    optimal,
    q_ths,
    q_ucb,
    random_instance,
    simulate,
    uniform,
)

#: CPU seconds that a learner's run of 5000 rounds may take; most by which ten times the horizon may
#: multiply the time with a geometric refresh; smallest ratio uncompiled / simlib.
AT_MOST_SECONDS = 1.0
AT_MOST_GROWTH = 15.0
AT_LEAST_UNCOMPILED = 100.0
TARGET_ROUNDS = 5000
#: Growth of a server's attempts between two estimates, where they are refreshed.
REFRESH = 1.05
#: Rounds of the loop that keeps nothing, and of the uncompiled source.
FEW_ROUNDS = 500
FEWER_ROUNDS = 200
MEMORY_ROUNDS = (10**4, 10**5)
BONUS_SCALE = 0.02


def policies() -> list[Policy]:
    """Everything that the source compares; learners first."""
    return [
        *(cqb_epsilon(bonus_scale=BONUS_SCALE), cqb_opt(bonus_scale=BONUS_SCALE)),
        *(cqb_epsilon_opt(bonus_scale=BONUS_SCALE), cqb_ts(bonus_scale=BONUS_SCALE), greedy()),
        *(q_ucb(), q_ths(), uniform(), optimal()),
    ]


# The same loop, keeping nothing ---------------------------------------------------------------------


def naive_queues(instance, rounds: int, seed: int) -> list[int]:
    """Q(1), ..., Q(T) of the greedy policy, every estimate and score computed anew in each round."""
    jobs = draw_jobs(instance, rounds, seed)
    data: list[list[tuple[int, float]]] = [[] for _ in range(instance.servers)]
    estimates = np.zeros((instance.servers, instance.dimension))
    waiting: list[int] = []
    queues, arrived = [], 0
    for t in range(1, rounds + 1):
        queues.append(len(waiting))
        if waiting:
            rates = 1 / (1 + np.exp(-jobs.contexts[waiting] @ estimates.T))
            position, server = divmod(int(rates.argmax()), instance.servers)
            job = waiting[position]
            departed = bool(jobs.services[t - 1] < jobs.rates[job, server])
            data[server].append((job, float(departed)))
            if departed:
                waiting.pop(position)
            attempts = data[server]
            x = jobs.contexts[[job for job, _ in attempts]]
            y = np.array([outcome for _, outcome in attempts])
            estimates[server] = newton(x, y)
        if arrived < jobs.entered.size and jobs.entered[arrived] == t:
            waiting.append(arrived)
            arrived += 1
    return queues


def newton(x, y):
    """Regularised maximum likelihood from scratch, lambda_0 = 1."""
    theta = np.zeros(x.shape[1])
    for _ in range(100):
        mean = 1 / (1 + np.exp(-x @ theta))
        hessian = (x * (mean * (1 - mean))[:, None]).T @ x + np.eye(theta.size)
        step = np.linalg.solve(hessian, x.T @ (mean - y) + theta)
        length = np.linalg.norm(step)
        theta -= step * (math.log1p(length) / length if length > 0.1 else 1.0)
        if length < 1e-7:
            break
    return theta


def in_simlib(instance, rounds: int, seed: int) -> list[int]:
    """The same queues from simlib."""
    every = range(1, rounds + 1)
    return simulate(instance, greedy(), rounds, seed, checkpoints=every).queue.tolist()


def roomy(instance):
    """The instance with a ball so large that no estimate is projected, as in the loop above."""
    return replace(instance, radius=30.0)


UNCOMPILED_PROGRAM = """
from simlib.contextual import greedy, random_instance, simulate
rounds = int(sys.argv[1])
instance = random_instance(1)
start = time.process_time()
run = simulate(instance, greedy(), rounds, 1, checkpoints=range(1, rounds))
print(time.process_time() - start, *run.queue)
"""


def disagreements(rounds: int = FEW_ROUNDS) -> list[str]:
    """Seeds for which the two loops differ; empty when they walk the same path."""
    return [
        f"seed {seed}"
        for seed in (1, 2)
        if in_simlib(roomy(random_instance(seed)), rounds, seed)
        != naive_queues(roomy(random_instance(seed)), rounds, seed)
    ]


# What is measured -------------------------------------------------------------------------------------


def timed(runs: dict[str, Callable], repeats: int, title: str) -> dict[str, dict[str, float]]:
    """CPU seconds of each run, in interleaved repetitions after a first run of each."""
    for run in runs.values():
        run()
    return interleaved(runs, repeats, title)


def horizons(rounds: int, repeats: int) -> dict[str, Any]:
    """CPU seconds of CQB-Opt over the horizon, exact and with refreshed estimates."""
    instance = random_instance(1)
    exact = cqb_opt(bonus_scale=BONUS_SCALE)
    refreshed = cqb_opt(bonus_scale=BONUS_SCALE, refresh=REFRESH)
    lengths = [rounds // 4, rounds // 2, rounds, 2 * rounds, 4 * rounds]
    runs = {f"exact {n}": partial(simulate, instance, exact, n, 1) for n in lengths}
    runs |= {
        f"refreshed {n}": partial(simulate, instance, refreshed, n, 1)
        for n in (rounds, 10 * rounds, 100 * rounds)
    }
    found = timed(runs, repeats, "horizons")
    times = [found[f"exact {n}"]["median"] for n in lengths]
    slope = np.polyfit(np.log(lengths), np.log(times), 1)[0]
    return {"seconds": found, "exponent": float(slope)}


def against_naive(repeats: int) -> dict[str, Any]:
    """How much longer the loop that keeps nothing takes, and the uncompiled source."""
    instance = roomy(random_instance(1))
    runs = {
        "simlib": partial(in_simlib, instance, FEW_ROUNDS, 1),
        "naive": partial(naive_queues, instance, FEW_ROUNDS, 1),
        "fewer": partial(simulate, random_instance(1), greedy(), FEWER_ROUNDS, 1),
    }
    found = timed(runs, repeats, "against NumPy")
    say("uncompiled")
    seconds, *queues = uncompiled_child(UNCOMPILED_PROGRAM, FEWER_ROUNDS)
    same = queues == in_simlib(random_instance(1), FEWER_ROUNDS, 1)
    return {
        "naive_over_simlib": found["naive"]["median"] / found["simlib"]["median"],
        "uncompiled_over_simlib": seconds / found["fewer"]["median"],
        "uncompiled_agrees": same,
    }


MEMORY_PROGRAM = """
import sys, tracemalloc
from simlib.contextual import cqb_opt, random_instance, simulate
one, instance = cqb_opt(refresh=1.05), random_instance(1)
simulate(instance, one, 1000, 1)
tracemalloc.start()
simulate(instance, one, int(sys.argv[1]), 1)
print(tracemalloc.get_traced_memory()[1])
"""

START_PROGRAM = """
import time
from simlib.contextual import cqb_opt, random_instance, simulate
simulate(random_instance(1), cqb_opt(), 100, 1)
print(time.process_time())
"""


# The command ------------------------------------------------------------------------------------------


def missed(result: dict[str, Any]) -> list[str]:
    """The targets that a result misses."""
    found = []
    slowest = max(row["median"] for row in result["policies"].values())
    allowed = AT_MOST_SECONDS * (result["rounds"] / TARGET_ROUNDS) ** 2
    if slowest > allowed:
        found.append(f"{slowest:.2f} s for a run, target at most {allowed:.2f} s")
    seconds = result["horizons"]["seconds"]
    rounds = result["rounds"]
    for n in (rounds, 10 * rounds):
        growth = seconds[f"refreshed {10 * n}"]["median"] / seconds[f"refreshed {n}"]["median"]
        if growth > AT_MOST_GROWTH:
            found.append(f"{10 * n} rounds cost {growth:.1f} x {n}, target {AT_MOST_GROWTH:.0f}")
    if result["naive"]["uncompiled_over_simlib"] < AT_LEAST_UNCOMPILED:
        found.append(f"less than {AT_LEAST_UNCOMPILED:.0f} x uncompiled")
    if not result["naive"]["uncompiled_agrees"]:
        found.append("the uncompiled source walks another path")
    return found


def table(result: dict[str, Any]) -> str:
    """The result as text."""
    rounds, naive = result["rounds"], result["naive"]
    lines = machine_lines(result["machine"])
    lines += ["", f"5 servers, dimension 5, {rounds} rounds: CPU seconds, median [min, max]"]
    lines += [f"  {name:<12} {shown(one, 4)}" for name, one in result["policies"].items()]
    lines += ["", f"CQB-Opt over the horizon (exponent {result['horizons']['exponent']:.2f})"]
    lines += [
        f"  {name:<18} {shown(one, 4)}" for name, one in result["horizons"]["seconds"].items()
    ]
    lines += [
        "",
        f"keeping nothing / simlib   {naive['naive_over_simlib']:.0f}   ({FEW_ROUNDS} rounds)",
        f"uncompiled / simlib        {naive['uncompiled_over_simlib']:.0f}"
        f"   (target >={AT_LEAST_UNCOMPILED:.0f})",
        "",
    ]
    lines += [
        f"{row['rounds']:>8} rounds allocate {row['allocated'] / row['rounds']:.0f} bytes a round"
        for row in result["memory"]
    ]
    lines += ["", *start_up_lines(result["start_up"])]
    return "\n".join(lines)


def main() -> int:
    """Run the command; returns the exit status."""
    options = command(
        *(__doc__.splitlines()[0], "rounds", TARGET_ROUNDS, 2000, "rounds of a run"), repeats=5
    )

    say("do the two loops walk the same path?")
    different = disagreements()
    if different:
        return refuse(different)
    instance = random_instance(1)
    runs = {one.name: partial(simulate, instance, one, options.rounds, 1) for one in policies()}
    result: dict[str, Any] = {
        "schema": 1,
        "rounds": options.rounds,
        "machine": machine(),
        "policies": timed(runs, options.repeats, "policies"),
        "horizons": horizons(options.rounds, options.repeats),
        "naive": against_naive(options.repeats),
        "memory": allocated(MEMORY_PROGRAM, "rounds", MEMORY_ROUNDS),
        "start_up": start_up(START_PROGRAM),
    }
    result["missed"] = missed(result)
    agreement = "simlib and the loop that keeps nothing walk one path"
    return report(result, table(result), agreement, options.json)


if __name__ == "__main__":
    sys.exit(main())
