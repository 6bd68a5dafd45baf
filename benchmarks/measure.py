"""What the benchmarks share: clocks, programs in processes of their own, the machine, the report."""

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
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


def child(program: str, *arguments: Any, **environment: str) -> list[float]:
    """The numbers that a program prints, run in a process of its own."""
    # Without this variable simlib takes the cache folder that it is given as the user's choice.
    inherited = {k: v for k, v in os.environ.items() if k != "SIMLIB_NUMBA_CACHE_PARENT"}
    command = [sys.executable, "-c", program, *map(str, arguments)]
    found = subprocess.run(
        command, env=inherited | environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return [float(word) for word in found.stdout.split()]


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
