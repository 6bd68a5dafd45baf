"""Runs, baselines, exports and the command line."""

import copy
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import simlib
from checks import ledger
from checks.__main__ import main
from checks.claim import find
from checks.evidence import DEFAULT_SEED, Evidence, replicate
from checks.sources import used_by

ROOT = Path(__file__).resolve().parents[1]
CHEAP = ["recharge.competitive_ratio", "recharge.odds_best_memoryless"]


@pytest.fixture
def baseline(tmp_path, monkeypatch):
    """A copy of the baselines that a test may change."""
    for path in ledger.BASELINES.glob("*.json"):
        (tmp_path / path.name).write_text(path.read_text())
    monkeypatch.setattr(ledger, "BASELINES", tmp_path)
    return tmp_path / "recharge.json"


def run(*arguments):
    return main([str(argument) for argument in arguments])


# --- comparing


@pytest.fixture(scope="module")
def record():
    return ledger.run_claim(find(CHEAP[0]))


def spoilt(record, change):
    changed = copy.deepcopy(record)
    change(changed)
    return changed


def values_with(record, name):
    values = [check["claimed"]["values"] for check in record["checks"]]
    return next(found for found in values if name in found)


def value(record, name):
    return values_with(record, name)[name]


def printed_of(record):
    return next(check["as_printed"] for check in record["checks"] if check["as_printed"])


def test_a_run_agrees_with_itself(record):
    assert ledger.drift(record, copy.deepcopy(record)) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.update(verdict="holds"), "verdict"),
        (lambda r: r["claimed"].update(constant="0.5"), "claimed"),
        (lambda r: r.update(statement="another"), "statement"),
        (lambda r: r["rests_on"].pop(), "rests_on"),
        (lambda r: r["checks"][0].update(alpha=1e-3), "alpha"),
        (lambda r: r["checks"][0].update(part="all"), "part"),
        (lambda r: r.update(scope="instances"), "scope"),
        (lambda r: r["checks"].pop(), ": new"),
        (lambda r: r["checks"][0]["false"].pop(), "false numbers"),
        (lambda r: printed_of(r).update(outcome="proved"), "as_printed"),
        (lambda r: value(r, "c*").update(low="0.78", high="0.79"), "does not meet"),
        (lambda r: value(r, "c*").update(low=value(r, "c*")["high"]), "twice as wide"),
        (lambda r: value(r, "price").update(low="1", high="1", text="1"), "recorded 1"),
        (lambda r: values_with(r, "c*").pop("c*"), "value 'c*': new"),
    ],
)
def test_a_difference_from_the_baseline_is_named(record, change, message):
    found = ledger.drift(record, spoilt(record, change))
    assert any(message in text for text in found), found


def test_sampled_values_must_meet():
    def sampled(low, high):
        quantity = {"kind": "estimate", "text": "", "low": str(low), "high": str(high)}
        finding = {"outcome": "proved", "values": {"u": quantity}}
        check = {"name": "c", "claimed": finding, "as_printed": None, "false": []}
        check |= dict.fromkeys(("method", "scope", "part", "alpha", "evidence", "not_run"))
        return {"verdict": "supported", "checks": [check]}

    assert ledger.drift(sampled(0.1, 0.2), sampled(0.19, 0.3)) == []
    assert ledger.drift(sampled(0.1, 0.2), sampled(0.21, 0.3)) != []
    assert ledger.drift(sampled(-5, 5), sampled(0.1, 0.2)) != []


# --- the baseline


def test_a_number_changed_by_hand_is_found(baseline, capsys):
    text = baseline.read_text()
    baseline.write_text(text.replace("0.77016349", "0.77016348", 1))
    assert run("diff", CHEAP[0]) == 2
    assert "does not match its checksum" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", '{"schema": 99, "efforts": {}, "checksum": ""}']
)
def test_a_damaged_baseline_is_named(baseline, content, capsys):
    baseline.write_text(content)
    assert run("list") == 2
    assert str(baseline) in capsys.readouterr().err


def test_recording_needs_a_reason_and_leaves_a_baseline_that_diff_accepts(baseline, capsys):
    before = baseline.read_text()
    assert run("record", CHEAP[0], "--reason", " ") == 2
    assert baseline.read_text() == before
    assert run("record", CHEAP[0], "--reason", "a test", "--jobs", 1) == 0
    assert run("diff", CHEAP[0], "--jobs", 1) == 0
    assert "0 differ from the baseline" in capsys.readouterr().out


def test_an_unexpected_verdict_fails_a_run(baseline, capsys):
    record = ledger.recorded()[CHEAP[0]] | {"verdict": "open"}
    ledger.store_baseline([record], "quick", DEFAULT_SEED, "a test")
    assert run("run", CHEAP[0]) == 1
    assert "holds as corrected, expected open" in capsys.readouterr().out
    assert run("diff", CHEAP[0]) == 1


def test_nothing_half_written(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(TypeError):
        ledger.write_text(path, 7)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


# --- the foundation of a claim


def test_a_broken_lemma_shows_in_every_dependent():
    records = copy.deepcopy(ledger.recorded())
    tight = records["recharge.ratio_tight"]
    assert ledger.complaints(tight, records) == []
    assert ledger.foundation("recharge.competitive_ratio", records) == []
    records["recharge.age_state"]["verdict"] = "refuted"
    weak = ledger.foundation("recharge.ratio_tight", records)
    assert weak == ["recharge.age_state (refuted)"]
    rest = ["holds, but rests on recharge.age_state (refuted)"]
    assert ledger.complaints(tight, records) == rest


# --- exports and the command line


def test_exports(tmp_path, capsys):
    paths = tmp_path / "run.json", tmp_path / "run.xml"
    assert run("run", *CHEAP, "--json", paths[0], "--junit", paths[1], "--jobs", 1) == 0
    exported = json.loads(paths[0].read_text())
    assert exported["schema"] == ledger.SCHEMA
    fields = {"id", "verdict", "expected", "scope", "methods", "toothless", "value"}
    for claim in exported["claims"]:
        assert fields <= claim.keys()
        assert claim["verdict"] == claim["expected"]
        assert claim["toothless"] is False
    suite = ElementTree.parse(paths[1]).getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("2", "0")
    assert [case.get("name") for case in suite] == [name.split(".")[1] for name in CHEAP]


def test_the_same_numbers_with_one_and_two_jobs(tmp_path, capsys):
    runs = []
    for jobs in (1, 2):
        path = tmp_path / f"{jobs}.json"
        assert run("run", *CHEAP, "--jobs", jobs, "--json", path) == 0
        runs.append(json.loads(path.read_text()))
        for claim in runs[-1]["claims"]:
            claim.pop("seconds")
    assert runs[0] == runs[1]


def test_try_judges_a_number_of_the_readers_own(capsys):
    assert run("try", "competitive_ratio", "constant=0.77") == 0
    assert run("try", "competitive_ratio", "constant=0.7702") == 1
    assert "refuted    minimum_over_total_odds" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "competitve_ratio"], "did you mean recharge.competitive_ratio"),
        (["run", "no_such_claim_at_all"], "there is no claim of that name"),
        (["try", "competitive_ratio", "constant"], "must read NUMBER=VALUE"),
        (
            ["try", "competitive_ratio", "ratio=1"],
            "it has constant (claimed 0.7701634)",
        ),
        (["try", "competitive_ratio", "constant=big"], "cannot judge that"),
        (["run", "--jobs", "0"], "jobs = 0"),
        (["run", "recharge.exp3_concentration", "--seed", "-1"], "seed = -1"),
        (["audit", "expo3", "--rates", "0.5", "--horizon", "1000"], "must be MODULE:NAME"),
        (["audit", "exp3", "--rates", "0.5,1.5", "--horizon", "1000"], "rates: '1.5'"),
        (["audit", "exp3", "--rates", "0.5,0.1", "--horizon", "0"], "horizon = 0"),
        (["audit", "exp3", "--rates", "0.5", "--horizon", "1e30"], "horizon = 1"),
        (["audit", "no_such_module:x", "--rates", "0.5", "--horizon", "1000"], "cannot import"),
    ],
)
def test_what_cannot_be_done_says_why_and_exits_with_2(arguments, message, capsys):
    assert run(*arguments) == 2
    assert message in capsys.readouterr().err


def test_list_and_show_answer_at_once():
    for arguments in (["list"], ["show", "competitive_ratio"], ["list", "--json"]):
        code = f"import sys; from checks.__main__ import main; main({arguments!r}); "
        code += "heavy = {'numpy', 'sympy', 'numba', 'flint', 'z3'} & set(sys.modules); "
        code += "sys.exit(f'loads {heavy}' if heavy else 0)"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert found.returncode == 0, found.stderr


def test_an_interrupted_run_says_what_has_finished():
    command = [sys.executable, "-u", "-m", "checks", "run", "--jobs", "1"]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # a job in the background of a script ignores the signal, and its children would too
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    first = process.stdout.readline()
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    rest, errors = process.communicate(timeout=60)
    assert first.strip()
    assert process.returncode == 130, errors
    assert re.search(r"interrupted: \d+ of \d+ claims were decided", errors)
    assert " fail" in rest


# --- evidence


@pytest.fixture
def evidence(tmp_path, monkeypatch):
    monkeypatch.setattr("checks.evidence.CACHE", tmp_path)
    calls = []

    def compute(seed, jobs, size):
        calls.append(jobs)
        return {"draws": np.random.default_rng(seed).random(size)}

    made = Evidence("recharge.test", compute, {"quick": {"size": 3}, "full": {"size": 5}})
    return made, calls


def test_evidence_is_computed_once(evidence):
    made, calls = evidence
    first, second = made.get(seed=1), made.get(seed=1, jobs=2)
    assert calls == [1]
    assert np.array_equal(first["draws"], second["draws"])
    made.get(seed=1, fresh=True)
    assert calls == [1, 1]
    assert made.get("full", seed=1)["draws"].size == 5


def _sometimes(seed_sequence, folder):
    """A replication that leaves a mark, and fails in the third one if a file says so."""
    marks = sorted(Path(folder).glob("mark*"))
    if len(marks) == 2 and (Path(folder) / "fail").exists():
        raise KeyboardInterrupt
    (Path(folder) / f"mark{len(marks)}").touch()
    return {"draw": np.random.default_rng(seed_sequence).random()}


def test_an_interrupted_evidence_loses_no_finished_replication(tmp_path, monkeypatch):
    monkeypatch.setattr("checks.evidence.CACHE", tmp_path / "cache")

    def compute(seed, jobs, folder):
        options = {"seed": seed, "experiment": "test", "parameters": {"folder": folder}}
        return replicate(_sometimes, 5, n_jobs=jobs, progress=False, **options)

    def draws(folder):
        folder.mkdir(exist_ok=True)
        return Evidence("recharge.test", compute, {"full": {"folder": str(folder)}})

    whole = draws(tmp_path / "whole").get("full", seed=1)["draw"]
    folder = tmp_path / "broken"
    broken = draws(folder)
    (folder / "fail").touch()
    with pytest.raises(KeyboardInterrupt):
        broken.get("full", seed=1)
    (folder / "fail").unlink()
    assert np.array_equal(broken.get("full", seed=1)["draw"], whole)
    assert len(list(folder.glob("mark*"))) == 5  # two before the interruption, three after


def test_damaged_evidence_is_named(evidence):
    made, _ = evidence
    made.get(seed=1)
    path = made.path(seed=1)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(ValueError, match=re.escape(str(path))):
        made.get(seed=1)


def test_evidence_depends_on_what_it_imports(evidence, monkeypatch):
    made, _ = evidence
    before = made.path(seed=1)
    streams = "simlib/streams.py"
    edited = used_by(made._file) | {streams: "another"}
    monkeypatch.setattr("checks.evidence.used_by", lambda path: edited)
    with pytest.raises(ValueError, match=f"{streams}: was edited .* restart Python"):
        made.get(seed=1)
    monkeypatch.setitem(simlib.SOURCES, "streams.py", "another")
    with pytest.raises(ValueError, match="restart Python"):
        made.get(seed=1)
    object.__setattr__(made, "source", edited)
    assert made.path(seed=1) != before


def test_a_file_depends_on_what_is_imported_anywhere_in_it(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from checks.contextual.evidence.experiments import HORIZON\n"
        "def f():\n    from simlib import tuning as t\n    import simlib.recharge.bandit\n"
    )
    found = used_by(file)
    assert {"mine.py", "simlib/tuning.py", "checks/contextual/evidence/experiments.py"} <= set(
        found
    )
    assert {"simlib/contextual/model.py", "simlib/recharge/certificates.json"} <= set(found)
    assert not any(name.startswith("simlib/strategic") for name in found)
    assert "checks/evidence.py" not in found
    assert "checks/contextual/tail.py" not in found


def test_evidence_of_another_seed_is_kept(evidence):
    made, calls = evidence
    for seed in (1, 2, 1):
        made.get(seed=seed)
    assert len(calls) == 2


def test_a_failing_recomputation_leaves_the_old_evidence(evidence, monkeypatch):
    made, _ = evidence
    before = made.get(seed=1)["draws"]
    monkeypatch.setattr(np, "savez_compressed", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        made.get(seed=1, fresh=True)
    assert np.array_equal(made.get(seed=1)["draws"], before)


def test_broken_evidence_stops_no_other_claim(monkeypatch, capsys):
    def broken(*_, **__):
        raise ArithmeticError("the simulation is wrong")

    monkeypatch.setattr(Evidence, "get", broken)
    assert run("run", "recharge.exp3_concentration", CHEAP[0], "--jobs", 1) == 1
    printed = capsys.readouterr().out
    assert "undecided, expected supported" in printed
    assert f"holds as corrected  {CHEAP[0]}" in printed


def test_a_folder_is_no_file_to_write_to(tmp_path, capsys):
    assert run("run", CHEAP[0], "--json", tmp_path) == 2
    assert "is a folder" in capsys.readouterr().err


def test_one_claim_is_not_recorded_with_another_seed(baseline, capsys):
    assert run("record", CHEAP[0], "--seed", 7, "--reason", "a test", "--jobs", 1) == 2
    assert "record all of them" in capsys.readouterr().err
