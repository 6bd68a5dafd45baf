"""How fast is the EXP3 loop of `simlib`, beside the same loop in C and in plain Python?

    python benchmarks/exp3.py [--steps N] [--repeats N] [--cflags FLAGS] [--json FILE]

Before anything is timed, the three loops must walk the same path to the last bit. README.md says
what is measured and how to read it. Exit status 0: the paths agree and every target is met; 1: not.
"""

import ctypes
import math
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import (
    child,
    command,
    cpu_seconds,
    machine,
    machine_lines,
    refuse,
    report,
    say,
    shown,
    spread,
    start_up,
    uncompiled_child,
)
from simlib.learners import Learner, exp3
from simlib.learners.guard import CHECK_EVERY
from simlib.recharge import simulate
from simlib.recharge.bandit import availability_table
from simlib.recharge.formulas import INSTANCES
from simlib.streams import substreams

SOURCE = Path(__file__).with_suffix(".c")

#: No contraction: GCC would round factor * weight + floor once, where Numba and Python round twice.
CFLAGS = "-O3 -march=native -ffp-contract=off"

RATES = {
    3: tuple(map(float, INSTANCES["I3"])),
    7: tuple(map(float, INSTANCES["I7"])),
    100: tuple(np.linspace(0.01, 0.03, 100).tolist()),
}

#: Largest ratio simlib / C, by arms; smallest ratio uncompiled / simlib; bytes by which the peak of
#: allocated memory may differ between the horizons.
AT_MOST_C = {3: 1.35, 7: 1.2, 100: 1.2}
AT_LEAST_UNCOMPILED = 100.0
SAME_MEMORY = 4096
MEMORY_STEPS = (10**5, 10**7)


@dataclass(frozen=True)
class Walk:
    """What a loop has found at its checkpoints: the numbers on which all three must agree."""

    pulls: NDArray[np.int64]
    switches: int
    reward_at: NDArray[np.int64]
    utility_at: NDArray[np.float64]
    hindsight_at: NDArray[np.float64]
    strategy_at: NDArray[np.float64]

    def differences(self, other: "Walk") -> list[str]:
        """Names of the fields that are not equal to the last bit."""
        pairs = ((name, mine, getattr(other, name)) for name, mine in vars(self).items())
        return [name for name, mine, its in pairs if not np.array_equal(mine, its)]


@dataclass(frozen=True)
class Setting:
    """One run: rates, learner, seed, and the steps at which to record (the last ends it)."""

    rates: tuple[float, ...]
    learner: Learner
    checkpoints: tuple[int, ...]
    seed: int = 1

    @property
    def steps(self) -> int:
        return self.checkpoints[-1]

    def prepared(self) -> tuple[NDArray, ...]:
        """State and parameters of the learner, both generators, and the table of the model."""
        streams = substreams(self.seed, ("actions", "rewards"))
        table = availability_table(self.rates, self.steps)
        return (*self.learner.new_state(len(self.rates)), *streams, table)


def with_tails(table, hindsight, last_pull, t):
    """Add to the hindsight values the steps since each arm's last pull."""
    ages, full = t - last_pull, table.shape[1] - 1
    since = table[np.arange(table.shape[0]), np.minimum(ages, full), 1] + np.maximum(ages - full, 0)
    return hindsight + np.where(last_pull > 0, since, t)


# The three loops: each function prepares a run and returns what is to be timed ------------------


def in_simlib(setting: Setting) -> Callable[[], Walk]:
    """The loop of simlib through its public function, whose preparations are timed with it."""

    def run():
        found = simulate(
            setting.rates,
            setting.learner,
            setting.steps,
            setting.seed,
            checkpoints=setting.checkpoints,
        )
        return Walk(
            found.pulls,
            found.switches,
            found.reward_at,
            found.utility_at,
            found.hindsight_at,
            found.strategy_at,
        )

    return run


def compiler() -> list[str] | None:
    """The C compiler: that of the environment variable CC, or cc; None if there is none."""
    command = shlex.split(os.environ.get("CC", "cc"))
    return command if shutil.which(command[0]) else None


def compile_c(folder: Path, flags: str = CFLAGS) -> ctypes.CDLL:
    """Compile the C program to a shared library in a folder and load it.

    It is called in this process, so that no start of a program is timed.
    """
    library = folder / "exp3.so"
    command = [*compiler(), *shlex.split(flags), "-shared", "-fPIC", SOURCE, "-o", library, "-lm"]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(library))
    integer, floats = ctypes.c_int64, np.ctypeslib.ndpointer(np.float64, flags="C")
    integers, words = (np.ctypeslib.ndpointer(kind, flags="C") for kind in (np.int64, np.uint64))
    loaded.advance.restype = integer
    loaded.advance.argtypes = [
        *(integer, integer, ctypes.c_double, floats, words, words, floats),
        *(integers, floats, integers, integer, integer, integer),
    ]
    return loaded


def in_c(loaded: ctypes.CDLL, setting: Setting) -> Callable[[], Walk]:
    """The loop in C."""
    state, params, actions, rewards, table = setting.prepared()
    arms, ages = table.shape[:2]
    counts, sums = np.zeros((3, arms), dtype=np.int64), np.zeros((3, arms))
    scalars = np.array([-1, 0], dtype=np.int64)

    def run():
        rows, start = [], 1
        for stop in setting.checkpoints:
            code = loaded.advance(
                *(arms, ages, params[0], state, actions, rewards, table),
                *(counts, sums, scalars, start, stop, CHECK_EVERY),
            )
            if code != 0:
                raise RuntimeError(f"the C program stopped with code {code}")
            hindsight = with_tails(table, sums[2], counts[0], stop)
            rows.append((counts[2].sum(), sums[1].copy(), hindsight, state[1].copy()))
            start = stop + 1
        return Walk(counts[1], int(scalars[1]) - 1, *map(np.array, zip(*rows, strict=True)))

    return run


MASK = 2**64 - 1


def uniform(rng: list[int]) -> float:
    """Draw from [0, 1) with xoshiro256+."""
    s0, s1, s2, s3 = rng
    word = (s0 + s3) & MASK
    s2 ^= s0
    s3 ^= s1
    rng[0] = s0 ^ s3
    rng[1] = s1 ^ s2
    rng[2] = s2 ^ ((s1 << 17) & MASK)
    rng[3] = ((s3 << 45) & MASK) | (s3 >> 19)
    return (word >> 11) * 2.0**-53


def act(strategy: list[float], rng: list[int]) -> int:
    """Draw an arm from the mixed strategy."""
    u = uniform(rng)
    for j, probability in enumerate(strategy):
        u -= probability
        if u < 0.0:
            return j
    return max(j for j, probability in enumerate(strategy) if probability > 0.0)


def update(weights, strategy, rate, exploration, arm, reward):
    """Learn from the reward of the arm just pulled."""
    if reward > 0.0:
        weights[arm] *= math.exp(rate * reward / strategy[arm])
        total = 0.0  # not sum(), which compensates for rounding since Python 3.12
        for weight in weights:
            total += weight
        if total > 1e100:
            scale = 1.0 / total
            weights[:] = [max(weight * scale, 1e-300) for weight in weights]
            total = 0.0
            for weight in weights:
                total += weight
        factor = (1.0 - exploration) / total
        floor = exploration / len(weights)
        strategy[:] = [factor * weight + floor for weight in weights]


def in_python(setting: Setting) -> Callable[[], Walk]:
    """The loop in plain Python, on lists (arrays are slower when read one number at a time)."""
    state, params, actions, rewards, table = setting.prepared()
    weights, strategy, (rate, *_) = state.tolist()
    exploration = float(params[0])
    actions, rewards = actions.tolist(), rewards.tolist()
    available, summed = table[:, :, 0].tolist(), table[:, :, 1].tolist()
    arms, ages = table.shape[:2]

    def run():
        last_pull, pulls, earned = [0] * arms, [0] * arms, [0] * arms
        kept, utility, hindsight = [0.0] * arms, [0.0] * arms, [0.0] * arms
        previous, switches, rows, start = -1, 0, [], 1
        for stop in setting.checkpoints:
            for t in range(start, stop + 1):
                arm = act(strategy, actions)
                if not 0 <= arm < arms:
                    raise RuntimeError(f"the arm {arm} does not exist")
                u = uniform(rewards)
                age = t - last_pull[arm]
                if last_pull[arm] == 0:
                    chance = reward = 1.0
                    hindsight[arm] += age
                else:
                    if age < ages:
                        chance = available[arm][age]
                        hindsight[arm] += summed[arm][age]
                    else:
                        chance = 1.0
                        hindsight[arm] += summed[arm][-1] + (age - (ages - 1))
                    reward = 1.0 if kept[arm] < chance else 0.0
                kept[arm] = u
                utility[arm] += chance
                last_pull[arm] = t
                pulls[arm] += 1
                earned[arm] += int(reward)
                switches += arm != previous
                previous = arm
                update(weights, strategy, rate, exploration, arm, reward)
                if t % CHECK_EVERY == 0 and not all(map(math.isfinite, weights + strategy)):
                    raise RuntimeError(f"the state is not finite after step {t}")
            tails = with_tails(table, np.array(hindsight), np.array(last_pull), stop)
            rows.append((sum(earned), np.array(utility), tails, np.array(strategy)))
            start = stop + 1
        return Walk(np.array(pulls), switches - 1, *map(np.array, zip(*rows, strict=True)))

    return run


UNCOMPILED_PROGRAM = """
from simlib.learners import exp3
from simlib.recharge import simulate
steps, tuned_for, seed, *rates = map(float, sys.argv[1:])
start = time.process_time()
run = simulate(rates, exp3(int(tuned_for)), int(steps), int(seed))
print(time.process_time() - start, *run.pulls.tolist(), *run.utility.tolist())
"""


def uncompiled(setting: Setting, tuned_for: int) -> tuple[float, bool]:
    """The very source of simlib without its compiler, in a process of its own.

    Returns
    -------
    float
        CPU seconds of the run.
    bool
        Whether pulls and utility are those of the compiled source.
    """
    arguments = (setting.steps, tuned_for, setting.seed, *setting.rates)
    seconds, *found = uncompiled_child(UNCOMPILED_PROGRAM, *arguments)
    walk = in_simlib(setting)()
    return seconds, found == [*walk.pulls.tolist(), *walk.utility_at[-1].tolist()]


# What is measured -------------------------------------------------------------------------------


def short_settings(arms: int, steps: int = 20_000) -> dict[str, Setting]:
    """Runs short enough for plain Python that reach every branch of the loop.

    With the second learner the weights would overflow after some 10 000 steps; they are rescaled.
    """
    checkpoints = (1, 255, steps // 2 + 1, steps)
    return {
        "tuned": Setting(RATES[arms], exp3(10 * steps), checkpoints),
        "rescaled": Setting(RATES[arms], exp3(exploration=0.3, learning_rate=0.1), checkpoints),
    }


def disagreements(loaded: ctypes.CDLL, setting: Setting, python: bool = True) -> list[str]:
    """Where the loops differ on a setting; empty when they walk the same path."""
    want = in_simlib(setting)()
    loops = {"C": partial(in_c, loaded)} | ({"plain Python": in_python} if python else {})
    return [
        f"{name}: {field}"
        for name, loop in loops.items()
        for field in want.differences(loop(setting)())
    ]


def speed(loaded: ctypes.CDLL, arms: int, steps: int, repeats: int) -> dict[str, Any]:
    """CPU time a step of each loop and its ratios, from interleaved repetitions."""
    learner = exp3(steps)
    long = Setting(RATES[arms], learner, (steps,))
    short = Setting(RATES[arms], learner, (max(steps // 100, 10_000),))
    shortest = Setting(RATES[arms], learner, (2000,))
    loops = {
        "c": (partial(in_c, loaded), long),
        "simlib": (in_simlib, long),
        "python": (in_python, short),
    }
    rounds = []
    for number in range(repeats):
        say(f"{arms} arms: repetition {number + 1}/{repeats}")
        rounds.append(
            {
                name: cpu_seconds(prepare(setting)) / setting.steps * 1e9
                for name, (prepare, setting) in loops.items()
            }
        )
        if number < 3:  # a new process each time, and no hurry to be exact about a factor of 500
            seconds, same = uncompiled(shortest, steps)
            if not same:
                raise RuntimeError("simlib walks another path when it is not compiled")
            rounds[-1]["uncompiled"] = seconds / shortest.steps * 1e9

    def over(above, below):
        return spread([one[above] / one[below] for one in rounds if above in one])

    names = (*loops, "uncompiled")
    return {
        "arms": arms,
        "steps": steps,
        "nanoseconds": {n: spread([one[n] for one in rounds if n in one]) for n in names},
        "simlib_over_c": over("simlib", "c"),
        "uncompiled_over_simlib": over("uncompiled", "simlib"),
        "python_over_simlib": over("python", "simlib"),
    }


# VmHWM and not getrusage: the latter also counts the process that started this one.
MEMORY_PROGRAM = """
import re, sys, tracemalloc
from pathlib import Path
from simlib.learners import exp3
from simlib.recharge import simulate
steps, rates = int(sys.argv[1]), [float(rate) for rate in sys.argv[2:]]
simulate(rates, exp3(steps), 1000, 1)
tracemalloc.start()
simulate(rates, exp3(steps), steps, 1)
allocated = tracemalloc.get_traced_memory()[1]
status = Path("/proc/self/status")
found = re.search(r"VmHWM:\\s+(\\d+)", status.read_text()) if status.exists() else None
print(allocated, 1024 * int(found[1]) if found else 0)
"""

START_PROGRAM = """
import time
from simlib.learners import exp3
from simlib.recharge import simulate
simulate([0.5, 0.1, 0.3], exp3(1000), 1000, 1)
print(time.process_time())
"""


def memory(arms: int = 7) -> list[dict[str, int]]:
    """Peak of the memory that a run allocates, and of its whole process, for each horizon."""
    found = []
    for steps in MEMORY_STEPS:
        say(f"memory of {steps:.0e} steps")
        allocated, resident = child(MEMORY_PROGRAM, steps, *RATES[arms])
        found.append({"steps": steps, "allocated": int(allocated), "resident": int(resident)})
    return found


def start() -> dict[str, float]:
    """CPU seconds from the start of a process to the first result, and of the compiler."""
    with tempfile.TemporaryDirectory() as folder:
        before = os.times()
        compile_c(Path(folder))
        after = os.times()
    imports = child("import time, numpy, numba; print(time.process_time())")[0]
    used = sum(after[2:4]) - sum(before[2:4])
    return {"numpy_and_numba": imports, "compile_c": used} | start_up(START_PROGRAM)


def the_machine() -> dict[str, str]:
    """The machine and the compilers, in general terms."""
    answer = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=True)
    return machine(
        system=f"{platform.system()} {' '.join(platform.libc_ver())}".strip(),
        compiler=answer.stdout.splitlines()[0],
    )


# The command ------------------------------------------------------------------------------------


def missed(result: dict[str, Any]) -> list[str]:
    """The targets that a result misses."""
    found = []
    for row in result["speed"]:
        arms, ratio = row["arms"], row["simlib_over_c"]["median"]
        if ratio > AT_MOST_C[arms]:
            found.append(f"{arms} arms: {ratio:.2f} x C, target at most {AT_MOST_C[arms]}")
        if row["uncompiled_over_simlib"]["median"] < AT_LEAST_UNCOMPILED:
            found.append(f"{arms} arms: less than {AT_LEAST_UNCOMPILED:.0f} x uncompiled")
    allocated = [row["allocated"] for row in result["memory"]]
    if max(allocated) - min(allocated) > SAME_MEMORY:
        found.append("memory depends on the horizon")
    return found


def table(result: dict[str, Any]) -> str:
    """The result as text."""
    lines = machine_lines(result["machine"])
    lines += [
        f"flags     {result['cflags']}",
        "",
        "CPU nanoseconds a step (medians)",
        f"{'arms':>4} {'steps':>9} {'C':>8} {'simlib':>8} {'lists':>8} {'uncompiled':>11}",
    ]
    for row in result["speed"]:
        c, simlib, lists, source = (
            row["nanoseconds"][name]["median"] for name in ("c", "simlib", "python", "uncompiled")
        )
        lines.append(
            f"{row['arms']:>4} {row['steps']:>9} {c:>8.1f} {simlib:>8.1f} {lists:>8.0f} {source:>11.0f}"
        )
    lines += [
        "",
        "ratios of interleaved runs: median [min, max]",
        f"{'arms':>4}   {'simlib / C':<22} {'target':<7} {'uncompiled / simlib':<20} {'target':<7} "
        "lists / simlib",
    ]
    for row in result["speed"]:
        lines.append(
            f"{row['arms']:>4}   {shown(row['simlib_over_c'], 3):<22} "
            f"<={AT_MOST_C[row['arms']]:<5} {shown(row['uncompiled_over_simlib']):<20} "
            f">={AT_LEAST_UNCOMPILED:<5.0f} {shown(row['python_over_simlib'])}"
        )
    lines += ["", f"{'steps':>9} {'allocated by the run':>21} {'peak of the process':>20}"]
    for row in result["memory"]:
        lines.append(
            f"{row['steps']:>9} {row['allocated']:>15} bytes {row['resident'] / 2**20:>16.1f} MiB"
        )
    start = result["start_up"]
    lines += [
        "",
        "CPU seconds to the first result of a new process",
        f"  simlib, nothing compiled yet {start['cold']:6.2f}",
        f"  simlib, compiled before      {start['warm']:6.2f}"
        f"  (of which importing NumPy and Numba {start['numpy_and_numba']:.2f})",
        f"  compiling the C program      {start['compile_c']:6.2f}",
    ]
    return "\n".join(lines)


def main() -> int:
    """Run the command; returns the exit status."""
    options = command(
        *(__doc__.splitlines()[0], "steps", 3_000_000, 10_000, "steps of a timed run"),
        repeats=11,
        cflags=CFLAGS,
    )
    if compiler() is None:
        say("there is no C compiler; install cc, or name one in the variable CC")
        return 2

    with tempfile.TemporaryDirectory() as folder:
        loaded = compile_c(Path(folder), options.cflags)
        different = []
        for arms in RATES:
            say(f"{arms} arms: do the three loops walk the same path?")
            for name, setting in short_settings(arms).items():
                found = disagreements(loaded, setting)
                different += [f"{arms} arms, {name}: {text}" for text in found]
            steps = (options.steps // 10, options.steps)
            long = Setting(RATES[arms], exp3(options.steps), steps)
            found = disagreements(loaded, long, python=False)
            different += [f"{arms} arms, {options.steps} steps: {text}" for text in found]
        if different:
            return refuse(different)
        speeds = [speed(loaded, arms, options.steps, options.repeats) for arms in RATES]

    result = {
        "schema": 1,
        "machine": the_machine(),
        "cflags": options.cflags,
        "speed": speeds,
        "memory": memory(),
        "start_up": start(),
    }
    result["missed"] = missed(result)
    agreement = "C, simlib, lists and the uncompiled source walk one path, to the last bit"
    return report(result, table(result), agreement, options.json)


if __name__ == "__main__":
    sys.exit(main())
