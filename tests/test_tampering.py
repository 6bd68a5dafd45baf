"""What `make test` runs fails when a number, a cell, a constant or the baseline was tampered with.

Each change is made in a light copy of the repository, and the very commands of the Makefile are run
there, two at a time, when the first test needs one of them; each test reads its part.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest

from book import chapters
from checks import ledger

# A claim that is decided in a second, without importing SymPy.
CLAIM = "recharge.opt_exact_small"

# Constants of simlib: the first is in what the chapter below computes, the second in the claim.
CONSTANTS = {
    "    return rho / (1 + rho)\n": "    return rho / (2 + rho)\n",
    '"I3": "1/2 1/10 3/10"': '"I3": "1/2 1/10 2/10"',
}

TEXT = """\
# A chapter

```{code-cell} ipython3
from simlib.recharge.formulas import hamacher_sum

h = hamacher_sum(["1/2", "1/10", "3/10"])
print(h)
```

```{code-cell} ipython3
print(f"{float(h):.6f}")
```

```{code-cell} ipython3
print("cleared")
```

```{code-cell} ipython3
print("never run")
```

```{code-cell} ipython3
print("no error")
```
"""

PRINTED = ["97/160", "0.606250", "cleared", "never run", "no error"]

# As in the Makefile; the first test compares.
PYTEST = [sys.executable, "-m", "pytest"]
DIFF = [sys.executable, "-m", "checks", "diff"]
CHECK = [sys.executable, "book/chapters.py", "check"]


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def spoil(notebook):
    """Tamper with every code cell but the first, each in its own way."""
    _, number, cleared, unrun, raising = code_cells(notebook)
    number.outputs[0].text = number.outputs[0].text.replace("0.606250", "0.606251")
    cleared.outputs = []
    unrun.update(outputs=[], execution_count=None)
    raising.source = 'raise ValueError("on purpose")'
    raising.outputs = [nbformat.v4.new_output("error", ename="ValueError", evalue="on purpose")]


def change_baseline(root, *, forged):
    """Change a stored number; a careful forger also renews the checksum."""
    path = root / "checks" / "baselines" / "recharge.json"
    stored = json.loads(path.read_text())
    record = stored["efforts"]["quick"]["claims"][CLAIM]
    values = [v for check in record["checks"] for v in check["claimed"]["values"].values()]
    value = next(value for value in values if value["low"] == "39/64")
    value.update(low="39/63", high="39/63")
    if forged:
        stored["checksum"] = ledger._checksum(stored["efforts"])
    path.write_text(json.dumps(stored))


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """Copies of the repository by name, with one tiny chapter."""
    base = tmp_path_factory.mktemp("tampering")
    sound = base / "sound"
    ignore = shutil.ignore_patterns("__pycache__")
    for folder in ("checks", "simlib"):
        shutil.copytree(chapters.ROOT / folder, sound / folder, ignore=ignore)
    for file in ("pyproject.toml", "book/chapters.py"):
        (sound / file).parent.mkdir(exist_ok=True)
        shutil.copy(chapters.ROOT / file, sound / file)
    text = sound / "book" / "topic" / "sound.md"
    text.parent.mkdir()
    text.write_text(TEXT)
    notebook = chapters.from_text(text)  # executed below, by pytest
    for number, cell in enumerate(code_cells(notebook)):
        printed = nbformat.v4.new_output("stream", name="stdout", text=PRINTED[number] + "\n")
        cell.update(execution_count=number + 1, outputs=[printed])
    nbformat.write(notebook, text.with_suffix(".ipynb"))

    def copy(name):
        return shutil.copytree(sound, base / name)

    constant, number, forged = copy("constant"), copy("number"), copy("forged")
    formulas = constant / "simlib" / "recharge" / "formulas.py"
    source = formulas.read_text()
    for old, new in CONSTANTS.items():
        assert source.count(old) == 1
        source = source.replace(old, new)
    formulas.write_text(source)
    change_baseline(number, forged=False)
    change_baseline(forged, forged=True)

    spoil(notebook)
    nbformat.write(notebook, text.with_name("spoiled.ipynb"))
    shutil.copy(text, text.with_name("spoiled.md"))
    return base


@pytest.fixture(scope="module")
def result(copies):
    """The finished process of a command in a copy, by the names of both."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        # A copy keeps its machine code to itself, and is no part of the pytest that runs this.
        if name not in ("NUMBA_CACHE_DIR", "SIMLIB_NUMBA_CACHE_PARENT", "PYTEST_CURRENT_TEST")
    }
    cell_by_cell = [*PYTEST, "-rA", "-p", "no:cacheprovider", "book"]
    where = "import simlib, checks; print(simlib.__file__, checks.__file__)"
    commands = {
        ("sound", "where"): [sys.executable, "-c", where],
        ("sound", "pytest"): cell_by_cell,
        ("sound", "check"): CHECK,
        ("sound", "diff"): [*DIFF, CLAIM],
        ("constant", "pytest"): cell_by_cell,
        ("constant", "diff"): [*DIFF, CLAIM],
        ("number", "diff"): [*DIFF, CLAIM],
        ("forged", "diff"): [*DIFF, CLAIM],
    }

    def run(key):
        root = copies / key[0]
        done = subprocess.run(
            commands[key],
            cwd=root,
            # Before the repository itself, which is installed in editable mode.
            env=inherited | {"PYTHONPATH": str(root)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        done.stdout = re.sub(r"\x1b\[[\d;]*m", "", done.stdout)  # the colours of nbval
        return done

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(commands, pool.map(run, commands), strict=True))


def outcomes(process, notebook):
    """Outcome of each code cell of a notebook in the output of pytest -rA."""
    pattern = rf"^(PASSED|FAILED) book/topic/{notebook}\.ipynb::Cell (\d+)"
    found = {int(cell): word for word, cell in re.findall(pattern, process.stdout, re.MULTILINE)}
    return [found[cell] for cell in sorted(found)]


def test_the_commands_are_those_of_make_test(copies, result):
    rules = (chapters.ROOT / "Makefile").read_text()
    for step, command in (("ledger", DIFF), ("pytest", PYTEST), ("notebooks-check", CHECK)):
        assert re.search(
            rf"^{step}:.*\n\t\$\(PY\) {re.escape(' '.join(command[1:]))}\b", rules, re.MULTILINE
        ), step
    # The notebooks are checked as a test of their own, and lint, ledger, kernel and pytest all run.
    assert re.search(r"^test:.*\n.*for step in lint ledger kernel pytest;", rules, re.MULTILINE)
    assert "chapters.check()" in (chapters.ROOT / "tests" / "test_book.py").read_text()


def test_the_copy_is_what_runs(copies, result):
    found = result["sound", "where"].stdout.split()
    assert found == [str(copies / "sound" / name / "__init__.py") for name in ("simlib", "checks")]


def test_what_was_not_tampered_with_passes(result):
    assert outcomes(result["sound", "pytest"], "sound") == ["PASSED"] * 5
    assert "book/topic/sound" not in result["sound", "check"].stdout
    ledger_run = result["sound", "diff"]
    assert ledger_run.returncode == 0, ledger_run.stdout
    assert "1 claim, 0 differ from the baseline" in ledger_run.stdout


def test_a_tampered_number_a_cleared_cell_and_a_raising_cell_fail(result):
    run, check = result["sound", "pytest"], result["sound", "check"]
    assert run.returncode == check.returncode == 1
    # The fourth cell, as if never run, nbval lets pass: that one is for the check of the chapters.
    expected = ["PASSED", "FAILED", "FAILED", "PASSED", "FAILED"]
    assert outcomes(run, "spoiled") == expected, run.stdout
    assert "0.606251" in run.stdout
    assert "ValueError: on purpose" in run.stdout
    assert "Unexpected output fields from running code: {'stdout'}" in run.stdout
    for message in (
        "the notebook differs from its text",
        "code cell 4 was not executed",
        "code cell 5 raises an error",
    ):
        assert f"book/topic/spoiled: {message}" in check.stdout
    assert "2 chapters, 1 to mend" in check.stdout


def test_a_changed_constant_fails_in_the_chapter_and_in_the_ledger(result):
    run, ledger_run = result["constant", "pytest"], result["constant", "diff"]
    assert run.returncode == 1
    assert outcomes(run, "sound") == ["FAILED", "FAILED", "PASSED", "PASSED", "PASSED"]
    assert "97/223" in run.stdout  # rho / (2 + rho) with rho = 97/63
    assert ledger_run.returncode == 1
    assert f"{CLAIM} differs from the baseline" in ledger_run.stdout
    assert "claimed: refuted, recorded proved" in ledger_run.stdout


def test_a_tampered_baseline_fails(result):
    number, forged = result["number", "diff"], result["forged", "diff"]
    assert number.returncode == 2
    assert "recharge.json: does not match its checksum" in number.stdout
    assert forged.returncode == 1
    assert "1 differ from the baseline" in forged.stdout
    assert re.search(r"OPT.*39/64.*, recorded ", forged.stdout), forged.stdout
