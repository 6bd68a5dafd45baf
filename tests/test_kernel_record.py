"""The record of what Coq accepted, and how cards and pages show it. None of this needs Coq."""

import json
import re
from dataclasses import replace
from html import unescape

import pytest

from checks import display, proofs
from checks.__main__ import main
from checks.claim import find
from checks.ledger import recorded
from checks.methods import kernel_record
from checks.methods.kernel import SOURCES, Result, all_theorems

CLAIM = "recharge.per_arm_identity"


@pytest.fixture
def theorem():
    return next(t for t in all_theorems() if t.proof == "Recharge.gap_identity")


@pytest.fixture
def accepted(theorem):
    return Result(theorem, True, ("A.b",), "reals", 1.0, "1 mutant")


@pytest.fixture
def copied(tmp_path):
    """The sources in a folder where they can be edited."""
    folder = tmp_path / "coq"
    folder.mkdir()
    for path in SOURCES.glob("*.v"):
        (folder / path.name).write_text(path.read_text())
    yield folder
    kernel_record.needs.cache_clear()


def test_the_record_is_of_the_present_text():
    entries = kernel_record.load()
    theorems = {(t.claim, t.proof): t for t in all_theorems()}
    assert entries.keys() == theorems.keys()
    stale = [
        key for key, t in theorems.items() if entries[key]["digest"] != kernel_record.digest(t)
    ]
    assert not stale, "bounds kernel --record REASON"
    for key, entry in entries.items():
        assert entry["profile"] == theorems[key].axioms
        assert bool(entry["axioms"]) == (entry["profile"] != "none")


def test_a_digest_is_of_all_that_coq_reads(theorem, copied):
    before = kernel_record.digest(theorem, copied)
    assert before == kernel_record.digest(theorem)
    for change in (
        {"statement": theorem.statement.replace("mu <> 0", "mu > 0")},
        {"anchors": ()},
        {"mutants": ()},
        {"refutations": ("Recharge.gap_false : False",)},
        {"axioms": "classic"},
    ):
        assert kernel_record.digest(replace(theorem, **change)) != before
    for file, same in (("Coupling.v", True), ("Sums.v", False), ("Recharge.v", False)):
        path = copied / file
        text = path.read_text()
        path.write_text(text + "\n")
        assert (kernel_record.digest(theorem, copied) == before) is same, file
        path.write_text(text)


def test_what_a_source_needs(copied):
    assert kernel_record.needs("Sums") == ("Sums",)
    assert kernel_record.needs("Thresholds") == ("Perturbation", "Sums", "Thresholds")
    assert "Exponential" in kernel_record.needs("Competitive")
    with pytest.raises(ValueError, match="module = 'Nothing'"):
        kernel_record.needs("Nothing")
    for text in (
        "Require Import Book.Sums.",
        "  From  Book  Require Sums.",
        "From Book\n  Require Export Sums.",
        "Open Scope nat_scope. From Book Require Import Sums. Open Scope R_scope.",
        "#[local] Require Book.Sums.",
        "From Book Require (* Recharge *) Import Sums.",
    ):
        kernel_record.needs.cache_clear()
        (copied / "Mine.v").write_text(f"{text}\n")
        assert kernel_record.needs("Mine", copied) == ("Mine", "Sums"), text


def test_storing(accepted, tmp_path):
    record = tmp_path / "kernel.json"
    kernel_record.store([accepted], "8.16.1", "first", record)
    (entry,) = kernel_record.load(record).values()
    assert (entry["axioms"], entry["coq"]) == (["A.b"], "8.16.1")
    other = next(t for t in all_theorems() if t.proof == "Recharge.per_arm_identity")
    kernel_record.store([replace(accepted, theorem=other)], "8.16.1", "second", record)
    assert len(kernel_record.load(record)) == 2
    with pytest.raises(ValueError, match="reason"):
        kernel_record.store([accepted], "8.16.1", " ", record)
    with pytest.raises(ValueError, match="gap_identity rejected; nothing was recorded"):
        kernel_record.store([replace(accepted, accepted=False)], "8.16.1", "third", record)
    stored = json.loads(record.read_text())
    for damage in ({"schema": 0}, {"theorems": []}, {"checksum": ""}):
        record.write_text(json.dumps(stored | damage))
        with pytest.raises(ValueError, match=f"record = {record}"):
            kernel_record.load(record)
    record.write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        kernel_record.load(record)


def test_how_a_run_differs_from_the_record(accepted):
    theorem = accepted.theorem
    entry = kernel_record.entry_of(accepted, "8.16.1")
    entries = {(theorem.claim, theorem.proof): entry}
    assert kernel_record.drift([accepted], entries) == []
    assert "not in the record" in kernel_record.drift([accepted], {})[0]
    assert "other axioms" in kernel_record.drift([replace(accepted, axioms=())], entries)[0]
    edited = replace(accepted, theorem=replace(theorem, mutants=()))
    assert "of another text" in kernel_record.drift([edited], entries)[0]


def test_a_card_says_what_was_accepted_and_what_is_outside():
    word = kernel_record.word("recharge.age_state")
    card = display.card("recharge.age_state")
    assert f"holds · {word.short} + " in card.headline
    assert dict(card.rows())["kernel"] == word.summary
    assert "axioms: sig_forall_dec, functional_extensionality_dep" in word.summary
    assert word.reach.outside in " ".join(card.text().split())
    assert "Recharge.html" not in card.html()
    assert "../kernel/proofs_recharge.html#Recharge.free_probability" in card.html()
    assert display.card("recharge.queue_transient").word is None


def test_a_text_that_coq_has_not_read_is_not_called_accepted():
    claim, records = find(CLAIM), recorded()
    word = kernel_record.word(CLAIM)
    unread = replace(word, entries=())
    card = display.Card(claim, records[CLAIM], (), records, unread)
    assert "kernel" not in card.headline
    assert dict(card.rows())["kernel"] == "not run on the present text of its 3 theorems"
    assert "not run" in card.html()
    assert "kernel" in display.Card(claim, records[CLAIM], (), records, word).headline


def test_what_the_kernel_reaches_is_not_called_uncovered():
    claim, records = find("contextual.path_likelihood"), recorded()
    word = kernel_record.word(claim.id)
    reach = replace(word.reach, uncovered="")
    card = display.Card(claim, records[claim.id], (), records, replace(word, reach=reach))
    assert claim.uncovered
    assert "by hand" not in card.headline
    assert "not covered" not in dict(card.rows())
    missing = replace(word, reach=reach, missing="coqc is not installed here")
    card = display.Card(claim, records[claim.id], (), records, missing)
    assert "by hand" in card.headline
    assert "kernel" not in card.headline


def test_without_coq_nothing_claims_the_kernel(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("COQ_REQUIRED", raising=False)
    assert main(["show", "per_arm_identity"]) == 0
    printed = capsys.readouterr().out
    assert "kernel" not in printed[: printed.index("rejected")]
    assert "not run: coqc is not installed here (recorded: 3 theorems accepted" in printed
    assert "Recharge.gap_identity: " in printed
    assert main(["kernel", "per_arm_identity"]) == 0
    assert "accepted when last recorded: 3 of 3 theorems" in capsys.readouterr().err


def test_a_record_needs_a_reason_and_the_mutants(capsys):
    for options in (["--record", " "], ["--record", "why", "--no-mutants"]):
        assert main(["kernel", "per_arm_identity", *options]) == 2
        assert "needs a reason, and the mutants" in capsys.readouterr().err


# Pages ----------------------------------------------------------------------------------------


def test_every_source_is_shown_once_and_every_pinned_theorem_has_an_anchor():
    assert proofs.pages().keys() == {path.stem for path in SOURCES.glob("*.v")}
    shown = {module: proofs.source(module).html for module in proofs.pages()}
    for theorem in all_theorems():
        for pin in theorem.pinned:
            assert f'id="{pin.name}"' in shown[pin.module], pin.name
            assert f'#{theorem.claim}">{theorem.claim}</a>' in shown[pin.module]
    assert "Proof, " in shown["Norton"]


def test_no_text_of_a_source_is_lost():
    for module in proofs.pages():
        html = re.sub(
            r"<summary>.*?</summary>|<p class=\"coq-use\">.*?</p>", "", proofs.source(module).html
        )
        seen = re.sub(r"\s|[\[\]]", "", unescape(re.sub(r"<[^>]*>", "", html)))
        for row in (SOURCES / f"{module}.v").read_text().splitlines():
            if not re.match(r"\s*\(\*\*|.*\*\)$", row) and not row.startswith("    "):
                assert re.sub(r"\s|[\[\]]", "", row) in seen, (module, row)


def test_pages_of_sources_and_bad_input(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="module = 'Nothing'"):
        proofs.source("Nothing")
    monkeypatch.setattr(proofs, "SOURCES", tmp_path)
    for text, complaint in (
        ("(** no end", "without end"),
        ("Lemma a : True.\n", "M.a: has no proof"),
    ):
        (tmp_path / "M.v").write_text(text)
        with pytest.raises(ValueError, match=complaint):
            proofs.source("M")


def test_the_table_has_each_claim_once():
    page = proofs.reach_table()
    for name, word in kernel_record.words().items():
        assert page.html.count(f'#{name}"') == 1
        assert (word.reach.outside or "nothing") in page.plain
