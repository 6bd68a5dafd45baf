"""What the benchmarks share: clocks, programs in processes of their own, the command, the report."""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numba
import numpy as np


def say(text: str) -> None:
    """One line of progress."""
    print(text, file=sys.stderr, flush=True)


def cpu_seconds(run: Callable[[], Any]) -> float:
    """CPU time of this process for one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def spread(values) -> dict[str, float]:
    """Median and range."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def shown(one: dict[str, float], digits: int = 0) -> str:
    """Median and range as text."""
    return "{median:.{d}f} [{min:.{d}f}, {max:.{d}f}]".format(**one, d=digits)


def interleaved(
    runs: Mapping[Any, Callable[[], Any]],
    repeats: int,
    title: str,
    steps: Mapping[Any, float] | None = None,
) -> dict[Any, dict[str, float]]:
    """CPU seconds of each run, or nanoseconds a step, in rounds that run each once.

    Parameters
    ----------
    runs : mapping
        By name.
    repeats : int
        Number of rounds.
    title : str
        For the lines of progress.
    steps : mapping, optional
        Steps of each run; then a time is nanoseconds a step.
    """
    times: dict[Any, list[float]] = {name: [] for name in runs}
    for number in range(repeats):
        say(f"{title}: repetition {number + 1}/{repeats}")
        for name, run in runs.items():
            seconds = cpu_seconds(run)
            times[name].append(seconds / steps[name] * 1e9 if steps else seconds)
    return {name: spread(values) for name, values in times.items()}


def child(program: str, *arguments: Any, **environment: str) -> list[float]:
    """The numbers that a program prints, run in a process of its own."""
    # Without this variable simlib takes the cache folder that it is given as the user's choice.
    inherited = {k: v for k, v in os.environ.items() if k != "SIMLIB_NUMBA_CACHE_PARENT"}
    call = [sys.executable, "-c", program, *map(str, arguments)]
    found = subprocess.run(
        call, env=inherited | environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return [float(word) for word in found.stdout.split()]


WITHOUT_COMPILER = """
import sys, time
import numpy as np
import simlib.compiled

# Numba leaves the kernels as they are; learners and rules ask it for the types of their functions.
def as_it_stands(owner, kind, function, *rest, **options):
    function.py_func = function
    return function

simlib.compiled.compile_function = as_it_stands
np.seterr(over="ignore")  # the generator's additions wrap around
"""


def uncompiled_child(program: str, *arguments: Any, **environment: str) -> list[float]:
    """The same of a program that runs the very source of simlib, without its compiler.

    It finds ``sys``, ``time`` and ``np`` imported.
    """
    environment = {"NUMBA_DISABLE_JIT": "1", **environment}
    return child(WITHOUT_COMPILER + program, *arguments, **environment)


def allocated(program: str, unit: str, horizons: Sequence[int]) -> list[dict[str, int]]:
    """Peak of the memory that a run allocates, for each horizon; ``unit`` names the horizon."""
    say("memory")
    return [{unit: horizon, "allocated": int(child(program, horizon)[0])} for horizon in horizons]


def start_up(program: str) -> dict[str, float]:
    """CPU seconds from the start of a process to its first result, with nothing compiled and after."""
    say("start-up")
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (child(program, NUMBA_CACHE_DIR=folder)[0] for _ in range(2))
    return {"cold": cold, "warm": warm}


def machine(**more: str) -> dict[str, str]:
    """The machine and what ran on it, in general terms; ``more`` stands before the versions."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return {
        "cpu": next(names, platform.machine()),
        "cores": str(os.cpu_count()),
        **more,
        "python": f"{platform.python_version()}, Numba {numba.__version__}, NumPy {np.__version__}",
    }


def command(
    description: str,
    unit: str,
    default: int,
    least: int,
    meaning: str,
    *,
    repeats: int,
    cflags: str | None = None,
) -> argparse.Namespace:
    """The options of a benchmark from its command line; ends the process where they are not valid.

    Parameters
    ----------
    description : str
    unit : str
        Name of the option for the length of a run, without its dashes.
    default, least : int
        Its value, and the smallest that is permitted.
    meaning : str
        What it is.
    repeats : int
        Interleaved repetitions, by default.
    cflags : str, optional
        Flags of the C compiler, by default; without them there is no such option.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(f"--{unit}", type=int, default=default, help=meaning)
    parser.add_argument("--repeats", type=int, default=repeats, help="interleaved repetitions")
    if cflags is not None:
        parser.add_argument("--cflags", default=cflags, help=f"compiler flags (default: {cflags})")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the result as JSON")
    options = parser.parse_args()
    if getattr(options, unit) < least or options.repeats < 1:
        parser.error(f"needed: --{unit} at least {least}, --repeats at least 1")
    return options


def refuse(different: Sequence[str]) -> int:
    """Say in what the loops differ, so that nothing is timed; returns the exit status."""
    print("nothing was timed; these differ from simlib's:", *different, sep="\n  ")
    return 1


def machine_lines(found: dict[str, str]) -> list[str]:
    """The machine as lines of a table."""
    return [f"{name:<9} {text}" for name, text in found.items()]


def allocated_lines(rows: Sequence[dict[str, int]]) -> list[str]:
    """Allocated memory by the number of steps, as lines of a table."""
    return [
        f"{'steps':>10} {'allocated by the run':>21}",
        *(f"{row['steps']:>10} {row['allocated']:>15} bytes" for row in rows),
    ]


def start_up_lines(start: dict[str, float]) -> list[str]:
    """Times to the first result, as lines of a table."""
    return [
        "CPU seconds to the first result of a new process",
        f"  nothing compiled yet {start['cold']:6.2f}",
        f"  compiled before      {start['warm']:6.2f}",
    ]


def report(result: dict[str, Any], table: str, agreement: str, file: Path | None) -> int:
    """Print a result, write it as JSON if a file is named, and return the exit status.

    Parameters
    ----------
    result : dict
        With the key ``missed``: the targets that it misses.
    table : str
        The result as text.
    agreement : str
        Which loops were found to walk one path.
    file : Path or None
    """
    print(table)
    print(f"\n{agreement}; targets missed: {'; '.join(result['missed']) or 'none'}")
    if file:
        file.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return int(bool(result["missed"]))
