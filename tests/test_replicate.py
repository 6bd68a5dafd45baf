"""Replications: the same numbers however they are computed, and checkpoints that can be trusted."""

import importlib
import os
import sys
import types

import joblib
import numpy as np
import pytest

from simlib.replicate import fingerprint, replicate


def walk(seed_sequence, horizon=20, scale=1.0):
    """A random walk."""
    steps = scale * np.random.default_rng(seed_sequence).normal(size=horizon)
    return {"end": steps.sum(), "path": np.cumsum(steps)[:3], "positive": int((steps > 0).sum())}


class Counted:
    """The walk as a callable that counts its calls and can be interrupted, with a fixed identity."""

    calls = 0
    stop = None

    def __call__(self, seed_sequence, **parameters):
        self.calls += 1
        if self.calls == self.stop:
            raise KeyboardInterrupt
        return walk(seed_sequence, **parameters)

    def __reduce__(self):
        return (Counted, ())


def same(first, second):
    return first.keys() == second.keys() and all(
        first[name].dtype == second[name].dtype and np.array_equal(first[name], second[name])
        for name in first
    )


def test_results_are_stacked_replication_first():
    found = replicate(walk, 5, seed=3, experiment="walk", parameters={"horizon": 7})
    assert {name: array.shape for name, array in found.items()} == {
        "end": (5,),
        "path": (5, 3),
        "positive": (5,),
    }
    assert found["positive"].dtype.kind == "i"
    assert len(set(found["end"])) == 5


def test_workers_and_backends_do_not_matter():
    alone = replicate(walk, 12, seed=3, experiment="walk")
    assert same(alone, replicate(walk, 12, seed=3, experiment="walk", n_jobs=2))
    for backend in ("threading", "multiprocessing"):  # the latter returns lists, in rounds
        with joblib.parallel_config(backend=backend, n_jobs=2):
            assert same(alone, replicate(walk, 12, seed=3, experiment="walk"))


def test_seed_and_experiment_matter_and_the_number_of_replications_does_not():
    few = replicate(walk, 4, seed=3, experiment="walk")["end"]
    assert np.array_equal(few, replicate(walk, 9, seed=3, experiment="walk")["end"][:4])
    assert not np.array_equal(few, replicate(walk, 4, seed=4, experiment="walk")["end"])
    assert not np.array_equal(few, replicate(walk, 4, seed=3, experiment="other")["end"])


def test_an_interrupted_run_is_resumed_without_loss(tmp_path):
    path = tmp_path / "walk.npz"
    whole = replicate(walk, 10, seed=3, experiment="walk")
    interrupted = Counted()
    interrupted.stop = 7
    with pytest.raises(KeyboardInterrupt):
        replicate(interrupted, 10, seed=3, experiment="walk", checkpoint=path)
    assert os.listdir(tmp_path) == ["walk.npz"]
    resumed = Counted()
    assert same(whole, replicate(resumed, 10, seed=3, experiment="walk", checkpoint=path))
    assert resumed.calls == 4
    idle = Counted()
    assert same(whole, replicate(idle, 10, seed=3, experiment="walk", checkpoint=path))
    assert idle.calls == 0
    longer = replicate(Counted(), 14, seed=3, experiment="walk", checkpoint=path, n_jobs=2)
    assert same(replicate(walk, 14, seed=3, experiment="walk"), longer)


def test_an_error_keeps_what_has_finished(tmp_path):
    path = tmp_path / "walk.npz"

    def broken(seed_sequence):
        if seed_sequence.spawn_key[-1] == 3:
            raise ZeroDivisionError
        return {"x": 1.0}

    with pytest.raises(ZeroDivisionError):
        replicate(broken, 5, seed=3, experiment="broken", checkpoint=path)
    with np.load(path) as stored:
        assert stored["replications"].tolist() == [0, 1, 2]


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    path = tmp_path / "walk.npz"
    run = {"seed": 3, "experiment": "walk", "parameters": {"scale": 1.0}, "checkpoint": path}
    replicate(walk, 3, **run)
    kept = path.read_bytes()
    for part, change in (
        ("seed", {"seed": 4}),
        ("experiment", {"experiment": "other"}),
        ("parameters", {"parameters": {"scale": 2.0}}),
    ):
        with pytest.raises(ValueError, match=rf"^checkpoint = .*walk\.npz.*different: {part}"):
            replicate(walk, 3, **(run | change))
    with pytest.raises(ValueError, match="different: function"):
        replicate(lambda seed_sequence, scale: walk(seed_sequence, scale=scale), 3, **run)
    assert path.read_bytes() == kept


def test_a_damaged_checkpoint_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "walk.npz"
    run = {"seed": 3, "experiment": "walk", "checkpoint": path}
    whole = replicate(walk, 3, **run)
    content = path.read_bytes()
    refused = 0
    for position in range(0, len(content), 29):
        damaged = bytearray(content)
        damaged[position] ^= 0x5A
        path.write_bytes(damaged)
        try:
            found = replicate(walk, 3, **run)
        except ValueError as error:
            message = str(error)
        else:  # some bytes of an archive carry nothing, such as time stamps
            message = None
            assert same(whole, found)
        if message is not None:
            assert message.startswith("checkpoint = ")
            assert "permitted" in message
            refused += 1
        assert path.read_bytes() == damaged
    assert refused > 20
    for damaged in (b"", content[:100], content[:-1], b"text"):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"^checkpoint = .*permitted"):
            replicate(walk, 3, **run)
    assert os.listdir(tmp_path) == ["walk.npz"]


def test_a_path_that_cannot_be_written_is_refused_before_anything_runs(tmp_path):
    counted = Counted()
    for path in (tmp_path, tmp_path / "absent" / "walk.npz"):
        with pytest.raises(ValueError, match=r"^checkpoint = .*permitted"):
            replicate(counted, 3, seed=3, experiment="walk", checkpoint=path)
    assert counted.calls == 0


def test_what_functions_return_is_checked():
    def shapes(seed_sequence):
        return {"x": np.zeros(1 + seed_sequence.spawn_key[-1])}

    for function in (shapes, lambda seed: {}, lambda seed: 1.0, lambda seed: {"x": "text"}):
        with pytest.raises(ValueError, match=r"^function returned.*permitted"):
            replicate(function, 2, seed=3, experiment="walk")


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("replications", {"replications": 0}),
        ("seed", {"seed": -1}),
        ("experiment", {"experiment": ""}),
        ("parameters", {"parameters": [1]}),
        ("n_jobs", {"n_jobs": 0}),
        ("function", {"function": None}),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(name, changes):
    run = {"function": walk, "replications": 2, "seed": 3, "experiment": "walk"}
    with pytest.raises(ValueError, match=rf"^{name}.*permitted"):
        replicate(**(run | changes))


def test_no_progress_bar_outside_a_terminal(capsys):
    replicate(walk, 2, seed=3, experiment="walk")
    assert capsys.readouterr() == ("", "")


def cell(source):
    """Functions of a notebook cell: defined in a module that is no file."""
    module = types.ModuleType("__main__")
    exec(source, module.__dict__)
    return module.__dict__


def test_fingerprints_see_the_code_and_what_it_refers_to():
    source = "rate = 1\ndef inner(x):\n    return rate * x\ndef outer(x):\n    return inner(x)\n"
    outer = fingerprint(cell(source)["outer"])
    assert outer == fingerprint(cell("\n\n" + source)["outer"])  # a moved cell
    assert outer != fingerprint(cell(source.replace("rate = 1", "rate = 2"))["outer"])
    assert outer != fingerprint(cell(source.replace("rate * x", "rate + x"))["outer"])


def test_fingerprints_see_modules_and_classes(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    source = "rate = 1\ndef f(x):\n    return inner(x)\ndef inner(x):\n    return x\n"
    seen = set()
    for text in (source, source.replace("return x\n", "return 2 * x\n"), source + "# changed\n"):
        (tmp_path / "its_helper.py").write_text(text)
        monkeypatch.delitem(sys.modules, "its_helper", raising=False)
        importlib.invalidate_caches()
        sys.dont_write_bytecode, kept = True, sys.dont_write_bytecode
        try:
            outer = cell("import its_helper\ndef outer(x):\n    return its_helper.f(x)\n")["outer"]
        finally:
            sys.dont_write_bytecode = kept
        seen.add(fingerprint(outer))
        assert fingerprint(outer) in seen
    assert len(seen) == 3
    outer = cell("import its_helper\ndef outer(x):\n    return x * its_helper.rate\n")["outer"]
    before = fingerprint(outer)
    sys.modules["its_helper"].rate = 2
    assert fingerprint(outer) != before

    body = """
class C:
    rate = 1
    @staticmethod
    def s(x): return x + 1
    @classmethod
    def c(cls, x): return x + 2
    @property
    def p(self): return 3
def outer(x):
    return C.s(x)
"""
    edits = [("", ""), ("rate = 1", "rate = 2"), ("x + 1", "x + 5"), ("x + 2", "x + 5")]
    edits += [("return 3", "return 5"), ("classmethod", "staticmethod")]
    found = [fingerprint(cell(body.replace(*edit))["outer"]) for edit in edits]
    assert len(set(found)) == len(edits)
    assert fingerprint(cell(body)["outer"]) == found[0]
    # A class executed without a module's name.
    bare = [{}, {}]
    for scope, text in zip(bare, (body, body.replace("x + 2", "x + 5")), strict=True):
        exec(text, scope)
    assert fingerprint(bare[0]["C"]) != fingerprint(bare[1]["C"])


def test_fingerprints_see_every_entry_of_an_array_in_a_container():
    one = np.zeros(2000)
    two = one.copy()
    two[1000] = 1e-300
    for wrap in (tuple, list, lambda items: {"key": items}, lambda items: np.array(items, object)):
        assert fingerprint(wrap([one, 1])) != fingerprint(wrap([two, 1]))
        assert fingerprint(wrap([one, 1])) == fingerprint(wrap([one.copy(), 1]))


def test_dataclasses_enums_and_objects_have_fingerprints():
    text = """
import dataclasses, enum
@dataclasses.dataclass(frozen=True)
class D:
    x: int = 1
    y: list = dataclasses.field(default_factory=list)
class E(enum.Enum):
    A = 1
class Plain:
    factor = 1
def outer(x):
    return D(E.A.value, [Plain()])
"""
    variants = [("", ""), ("x: int = 1", "x: int = 2"), ("A = 1", "A = 2"), ("r = 1", "r = 2")]
    found = [fingerprint(cell(text.replace(*edit))["outer"]) for edit in variants]
    assert len(set(found)) == len(variants)
    assert fingerprint(cell(text)["outer"]) == found[0]


def test_fingerprints_of_values():
    def adder(n):
        return lambda x: x + n

    values = [1, 1.0, True, "1", (1,), [1], {1: 1}, {1}, None, np.ones(1), np.ones(1, dtype=int)]
    values += [adder(1), adder(2), np.random.SeedSequence(1), np.random.SeedSequence(2), len]
    assert len({fingerprint(value) for value in values}) == len(values)
    assert fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    with pytest.raises(ValueError, match="permitted"):
        fingerprint(x for x in ())
