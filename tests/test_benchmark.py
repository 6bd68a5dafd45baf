"""The benchmark compares loops that walk the same path; how fast they are is never a test."""

import re
from dataclasses import replace

import pytest

from benchmarks import exp3 as benchmark
from benchmarks import measure


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    if benchmark.compiler() is None:
        pytest.skip("there is no C compiler")
    return benchmark.compile_c(tmp_path_factory.mktemp("c"))


@pytest.mark.parametrize("arms", benchmark.RATES)
def test_c_simlib_and_plain_python_walk_the_same_path(loaded, arms):
    for setting in benchmark.short_settings(arms, steps=6000).values():
        assert benchmark.disagreements(loaded, setting) == []


def test_another_path_is_told_apart(loaded):
    setting = benchmark.short_settings(3, steps=6000)["tuned"]
    walk = benchmark.in_simlib(setting)()
    other = benchmark.in_c(loaded, replace(setting, seed=2))()
    assert {"pulls", "switches", "utility_at"} <= set(walk.differences(other))
    # What one fused multiplication would do: the last bit of some number.
    nudged = replace(walk, strategy_at=walk.strategy_at * (1 + 2**-52))
    assert walk.differences(nudged) == ["strategy_at"]


def test_runs_are_timed_in_turn(monkeypatch):
    order = []
    runs = {name: lambda name=name: order.append(name) for name in "ab"}
    monkeypatch.setattr(measure, "cpu_seconds", lambda run: run() or float(len(order)))
    assert measure.interleaved(runs, 3, "both")["b"] == {"median": 4, "min": 2, "max": 6}
    assert order == ["a", "b"] * 3
    order.clear()
    found = measure.interleaved(runs, 3, "both", {"a": 2e9, "b": 1e9})
    assert found["a"] == {"median": 1.5, "min": 0.5, "max": 2.5}


def test_the_table_says_what_was_missed():
    one = {"median": 2.0, "min": 1.0, "max": 3.0}
    row = {"arms": 3, "steps": 7, "simlib_over_c": one, "uncompiled_over_simlib": one}
    row["nanoseconds"] = dict.fromkeys(("c", "simlib", "python", "uncompiled"), one)
    memory = [{"steps": 10**k, "allocated": 10**k, "resident": 2**20} for k in (5, 7)]
    start = dict.fromkeys(("cold", "warm", "numpy_and_numba", "compile_c"), 1.0)
    result = {"speed": [row | {"python_over_simlib": one}], "memory": memory, "start_up": start}
    text = benchmark.table(result | {"machine": {"cpu": "any"}, "cflags": benchmark.CFLAGS})
    assert re.search(r"3 +2\.000 \[1\.000, 3\.000\] +<=1\.35", text)
    missed = benchmark.missed(result)
    assert [re.sub(r"[\d.]+", "_", text) for text in missed] == [
        "_ arms: _ x C, target at most _",
        "_ arms: less than _ x uncompiled",
        "memory depends on the horizon",
    ]
