"""Coq's kernel: what the driver accepts, and the ways to deceive it that it must not fall for.

The theorems of the book are verified by `make kernel`, which `make test` runs. Without Coq the tests
that need it are skipped, and say so; with COQ_REQUIRED=1 they fail instead.
"""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import threading
import time

import pytest

from checks.__main__ import main
from checks.methods import coq, kernel, kernel_record
from checks.methods.kernel import Anchor, Mutant, Reach, Theorem, verify

INSTALLED = coq.version() is not None
REQUIRED = os.environ.get("COQ_REQUIRED") == "1"
with_coq = pytest.mark.skipif(
    not INSTALLED and not REQUIRED, reason="coqc is not installed: Coq's kernel was not run"
)

# A book of one page, quick to compile.
SUMS = """\
(* Not a statement: "Axiom", (* nested *) and "*)" Admitted. *)
Fixpoint sum_to (n : nat) : nat := match n with O => 0 | S k => sum_to k + n end.
Theorem twice : forall n, 2 * sum_to n = n * (n + 1).
Proof. induction n; [reflexivity|]. cbn [sum_to]. rewrite PeanoNat.Nat.mul_add_distr_l, IHn. ring. Qed.
"""
SUMS = "From Coq Require Import Arith.\n" + SUMS
GAUSS = """\
From Coq Require Import Lia.
From Book Require Import Sums.
Theorem ten : sum_to 10 = 55.
Proof. pose proof (twice 10). lia. Qed.
Theorem not_fifty : ~ (sum_to 10 = 50).
Proof. discriminate. Qed.
"""
BOOK = {"Sums.v": SUMS, "Gauss.v": GAUSS}
TWICE = Theorem(
    claim="topic.twice",
    proof="Sums.twice",
    statement="(forall n, 2 * sum_to n = n * (n + 1))%nat",
    covers="all of it",
    anchors=(Anchor("sum_to 4 = 10%nat", "reflexivity"),),
    mutants=(Mutant("Sums.v", "= n * (n + 1)", "= n * (n + 2)", "one more"),),
    axioms="none",
)
TEN = Theorem(
    claim="topic.ten",
    proof="Gauss.ten",
    statement="sum_to 10 = 55%nat",
    covers="all of it",
    refutations=("Gauss.not_fifty : sum_to 10 <> 50%nat",),
    mutants=(Mutant("Sums.v", "sum_to k + n", "sum_to k + k", "the sum of the numbers below"),),
    axioms="none",
)


@pytest.fixture
def book(tmp_path):
    """Write the sources of a book, and verify theorems of it."""

    def check(*theorems, files=BOOK, **options):
        folder = tmp_path / "sources"
        folder.mkdir(exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
        return verify(theorems, sources=folder, **options)

    return check


def changed(theorem, **values):
    return dataclasses.replace(theorem, **values)


def edited(text, old, new):
    assert text.count(old) == 1
    return text.replace(old, new)


# What is accepted, and with which words what is not ------------------------------------------


@with_coq
def test_genuine_theorems_are_accepted(book):
    found = book(TWICE, TEN)
    assert [result.message for result in found] == ["1 anchor, 1 mutant", "1 refutation, 1 mutant"]
    for result in found:
        assert result.accepted
        assert (result.axioms, result.profile) == ((), "none")
        assert result.seconds > 0


@with_coq
def test_what_does_not_fit_is_rejected(book):
    ten = changed(TEN, mutants=())
    expected = [
        (ten, ""),  # what is beside the others is judged for itself
        (changed(ten, statement="sum_to 10 = 56%nat"), "does not fit"),
        (changed(ten, statement="sum_to 11 = 55%nat"), "does not fit"),
        (changed(ten, statement="nonsense 10 = 55%nat"), "nonsense was not found"),
        (changed(ten, refutations=("Gauss.not_fifty : sum_to 10 <> 51%nat",)), "Gauss.not_fifty"),
        (changed(ten, anchors=(Anchor("sum_to 4 = 11%nat", "reflexivity"),)), "does not fit"),
        (changed(ten, proof="Gauss.eleven"), "eleven was not found"),
        (changed(ten, proof="Euler.ten"), "there is no source Euler.v"),
        (changed(TWICE, axioms="reals"), "rests on 'none', not on 'reals'"),
    ]
    results = book(*(theorem for theorem, _ in expected), mutants=False)
    for result, (theorem, words) in zip(results, expected, strict=True):
        assert result.accepted == (theorem is ten)
        assert words in result.message


@with_coq
def test_mutants_must_fail_and_for_the_right_reason(book):
    expected = {
        Mutant("Sums.v", "O => 0", "O => 0 * 1", "no change"): "is proved all the same",
        Mutant("Sums.v", "n * (n + 1)", "n * (n + 1", "syntax"): "Syntax error",
        Mutant("Sums.v", "n * (n + 1)", "n * (k + 1)", "a name"): "not found in the current",
        Mutant("Sums.v", "n * (n + 1)", "n * (n + true)", "a type"): "does not understand",
        Mutant("Sums.v", "n * (n + 2)", "n * (n + 1)", "elsewhere"): "0 times",
        Mutant("Sums.v", "sum_to", "square", "everywhere"): "must be once",
        Mutant("Sums.v", "induction n;", "fail 1000; idtac;", "a proof"): "does not understand",
        Mutant("Gauss.v", "55", "56", "above"): "does not use",
    }
    (found,) = book(changed(TWICE, mutants=tuple(expected)))
    assert not found.accepted
    reasons = found.message.split("; mutant of ")
    assert len(reasons) == len(expected)
    for reason, (mutant, words) in zip(reasons, expected.items(), strict=True):
        assert f"({mutant.why})" in reason
        assert words in reason


@with_coq
def test_a_mutant_may_fail_at_the_pinned_statement_only(book):
    files = BOOK | {"Gauss.v": GAUSS.replace("55", "(50 + 5)")}
    weaker = Mutant("Gauss.v", "sum_to 10 = (50 + 5)", "sum_to 10 > (50 + 4)", "weaker")
    (found,) = book(changed(TEN, mutants=(weaker,)), files=files)
    assert found.accepted


@with_coq
def test_the_time_limit_is_a_failure(book):
    slow = edited(GAUSS, "Proof. discriminate.", "Proof. do 1000000000 idtac. discriminate.")
    for sources, theorem, options in (
        (BOOK | {"Gauss.v": slow}, TEN, {"mutants": False}),
        (BOOK, changed(TWICE, anchors=(Anchor("True", "do 1000000000 idtac; exact I"),)), {}),
    ):
        started = time.perf_counter()
        (found,) = book(theorem, files=sources, timeout=3, **options)
        assert not found.accepted
        assert "not done within 3 s" in found.message
        assert time.perf_counter() - started < 30
    forever = Mutant("Sums.v", "induction n;", "do 1000000000 idtac; induction n;", "slow")
    (found,) = book(changed(TWICE, mutants=(forever,)), files=BOOK, timeout=3)
    assert not found.accepted
    assert "not done within" in found.message


@with_coq
def test_a_stale_object_file_is_never_used(book, tmp_path, monkeypatch):
    folder = tmp_path / "sources"
    assert all(result.accepted for result in book(TWICE, TEN, mutants=False))
    assert not list(folder.glob("*.vo*"))  # nor is one left behind
    programs = coq.Programs(timeout=60)
    for name in ("Sums", "Gauss"):
        status, _, errors = programs.run(folder, "coqc", "-q", "-Q", ".", "Book", f"{name}.v")
        assert status == 0, errors
    lie = BOOK | {"Sums.v": edited(SUMS, "O => 0", "O => 1")}
    later = time.time() + 3600
    for path in folder.glob("*.vo"):
        os.utime(path, (later, later))
    monkeypatch.setenv("COQPATH", str(folder))
    for result in book(TWICE, TEN, files=lie, mutants=False):
        assert not result.accepted
        assert "Sums.v does not compile" in result.message


@with_coq
def test_nothing_is_left_running_when_it_is_interrupted(book, monkeypatch):
    started, real = threading.Event(), coq.Programs.run
    programs = []

    def run(self, folder, *command):
        if command[0] == "coqc":
            programs.append(self)
            started.set()
        return real(self, folder, *command)

    def interrupt(*_, **__):
        started.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(coq.Programs, "run", run)
    monkeypatch.setattr(kernel, "wait", interrupt)
    slow = {"Sums.v": SUMS + "Goal True. do 1000000000 idtac. Abort.\n"}
    with pytest.raises(KeyboardInterrupt):
        book(TWICE, files=slow)
    assert not programs[0].running


# Attacks --------------------------------------------------------------------------------------


@with_coq
def test_the_second_checker(book, tmp_path, monkeypatch):
    assert all(result.accepted for result in book(TWICE, TEN, recheck=True))
    folder = tmp_path / "work" / "book"
    folder.mkdir(parents=True)
    for text, complaint in (
        ("Axiom open : False.", "it finds the axiom Book.Odd.open"),
        ("Variable open : False.", "it finds the axiom Book.Odd.open"),
        (
            "Unset Guard Checking.\nFixpoint down (n : nat) : False := down n.",
            "it does not say 'Constants/Inductives relying on unsafe (co)fixpoints: <none>'",
        ),
        (
            "Unset Positivity Checking.\nInductive odd := make : (odd -> nat) -> odd.",
            "it does not say 'Inductives whose positivity is assumed: <none>'",
        ),
        ("Lemma one : 1 = 1.\nProof. reflexivity. Qed.", ""),
    ):
        (folder / "Odd.v").write_text(text + "\n")
        with coq.Programs(60) as programs:
            assert programs.compile(folder.parent, "book/Odd.v")[0], text
            assert programs.recheck(folder.parent, ["Book.Odd"]) == complaint
            (folder / "Odd.vo").write_bytes(b"not a compiled file")
            assert programs.recheck(folder.parent, ["Book.Odd"])
    monkeypatch.setattr(coq.Programs, "recheck", lambda self, root, names: f"no {names[0]}")
    twice, ten = book(TWICE, TEN, recheck=True)
    assert "coqchk does not accept Sums.v: no Book.Sums" in twice.message
    assert not ten.accepted


def test_text_that_is_refused_before_anything_runs():
    refused = [
        "Theorem t : 1 = 2. Admitted.",
        "Axiom a : False.",
        "Proof. admit. Qed.",
        '(* "(*" *) Axiom a : False. (* "*)" *)',
        '(* " *) Axiom a : False. (* " *)',
        "Unset  Guard\n Checking.",
        "#[bypass_check(guard)] Fixpoint f (n : nat) : False := f n.",
        'Declare ML Module "x".',
        "Global Set Universe Polymorphism.",
        'Notation "x <= y" := True.',
        'Section S. End S. Infix "+" := minus.',
        "Module M. Coercion f : nat >-> Z. End M.",
        "#[export] Hint Resolve x.",
        'Definition s := "a. Section b. ". Notation "\'sup\' x" := (0 * x) (at level 9).',
        "Section S. Coercion b2n : bool >-> nat. End S.",
        "Section S. Canonical Structure c := d. End S.",
        "Set Definitional UIP.",
    ]
    for text in refused[:4] + refused[5:]:
        assert coq.complaint(coq.code_of(text)), text
    allowed = [
        SUMS,
        GAUSS,
        "Definition admitted_axioms := 1.",
        refused[4],  # to Coq, too, one comment with a string in it
        'Section S. Notation "x >> y" := (x > y). End S.',
        "Local Notation nu := (law 1).",
    ]
    for text in allowed:
        assert not coq.complaint(coq.code_of(text)), text


@with_coq
@pytest.mark.parametrize("name", ["Sums", "Classical_Prop"])
def test_a_hypothesis_with_an_innocent_name(book, name):
    """In a file called as the library's it would print as the library's: such a file is refused."""
    cheat = (
        "Hypothesis classic : forall P : Prop, P.\nTheorem t : 1 = 2.\nProof. apply classic. Qed.\n"
    )
    theorem = Theorem("topic.t", f"{name}.t", "1%nat = 2%nat", "", axioms="classic")
    (found,) = book(theorem, files={f"{name}.v": cheat})
    assert not found.accepted
    words = {"Sums": "outside the allow-list: Sums.classic", "Classical_Prop": "name of a file"}
    assert words[name] in found.message


@with_coq
def test_an_axiom_below_an_anchor_or_a_refutation(book):
    cheat = SUMS + "Hypothesis classic : forall P : Prop, P.\n"
    cheat += "Theorem never : sum_to 1 <> 2.\nProof. apply classic. Qed.\n"
    anchored = changed(TWICE, anchors=(Anchor("sum_to 4 = 11%nat", "apply Sums.classic"),))
    refuting = changed(TWICE, refutations=("Sums.never : sum_to 1 <> 2%nat",))
    for theorem in (anchored, refuting):
        (found,) = book(theorem, files={"Sums.v": cheat}, mutants=False)
        assert not found.accepted
        assert "outside the allow-list: Sums.classic" in found.message


@with_coq
def test_names_of_the_library_mean_the_library(book):
    """A book that redefines `exp` proves nothing of the real one."""
    text = "From Coq Require Import Reals Lra.\nOpen Scope R_scope.\nDefinition exp (x : R) := 5.\n"
    text += "Theorem small : exp 0 = 5.\nProof. reflexivity. Qed.\n"
    theorem = Theorem("topic.exp", "Own.small", "exp 0 = 5", "")
    (found,) = book(theorem, files={"Own.v": text})
    assert not found.accepted
    assert "does not fit" in found.message
    (found,) = book(changed(theorem, statement="Own.exp 0 = 5"), files={"Own.v": text})
    assert found.profile == "reals"


@with_coq
@pytest.mark.parametrize(
    ("own", "proved", "pinned"),
    [
        ("Definition False := True.", "False", "False"),
        ("Definition not (P : Prop) := P.", "not (1 = 1)", "not (1 = 1)"),
        ("Definition fst (x : nat * nat) := 0.", "forall x, fst x = 0", "forall x, fst x = 0%nat"),
        ("Definition negb (b : bool) := b.", "negb true = true", "negb true = true"),
        ("Definition S (n : nat) := n.", "S 1 = 1", "(S 1 = 1)%nat"),
        (
            "Inductive nat := .",
            "forall n m : nat, n = m",
            "forall n m : nat, n = m",
        ),
    ],
)
def test_names_that_coq_always_has_mean_what_coq_means(book, own, proved, pinned):
    proof = "Proof. first [exact I | reflexivity | intros []]. Qed."
    files = {"Own.v": f"{own}\nTheorem t : {proved}.\n{proof}\n"}
    (found,) = book(Theorem("topic.t", "Own.t", pinned, "", axioms="none"), files=files)
    assert not found.accepted
    assert "does not fit" in found.message


@with_coq
def test_libraries_of_the_user_are_not_read(book, tmp_path, monkeypatch):
    """What Coq finds in the folders of the user's own is compiled by nobody here."""
    folder = tmp_path / "data" / "coq" / "Book"
    folder.mkdir(parents=True)
    (folder / "Elsewhere.v").write_text("Axiom open : False.\n")
    subprocess.run(["coqc", "-Q", ".", "Book", "Elsewhere.v"], cwd=folder, check=True)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    text = "Require Export Book.Elsewhere.\nTheorem t : 1 = 1.\nProof. reflexivity. Qed.\n"
    theorem = Theorem("topic.t", "Own.t", "1%nat = 1%nat", "", axioms="none")
    (found,) = book(theorem, files={"Own.v": text})
    assert not found.accepted
    assert "Cannot find" in found.message or "Unable to locate" in found.message


@pytest.fixture(scope="module")
def hamacher(tmp_path_factory):
    """The theorem of the Hamacher sum, its source up to there, and a folder of what it needs."""
    (theorem,) = (t for t in kernel.all_theorems() if t.proof == "Recharge.hamacher_pathwise")
    text = (kernel.SOURCES / "Recharge.v").read_text()
    text = text[: text.index("Qed.", text.index("Theorem hamacher_pathwise")) + len("Qed.\n")]
    # Whoever redefines the sum leaves out the other theorem that speaks of it.
    text = re.sub(r"Theorem utility_a_step .*?Qed\.\n", "", text, flags=re.DOTALL)
    folder = tmp_path_factory.mktemp("hamacher")
    shutil.copy(kernel.SOURCES / "Sums.v", folder)
    return changed(theorem, refutations=(), mutants=()), text, folder


ZERO = """\
Proof.
  intros m mu h _ Hr Ha. unfold hamacher, Rdiv. rewrite !Rmult_0_l. apply Rle_ge.
  induction h as [|a t IH]; cbn [U]; [lra|].
  assert (0 <= U mu t) by (apply IH; intros x Hx; apply Ha; right; exact Hx).
  assert (P : forall k x, 0 <= x <= 1 -> 0 <= x ^ k <= 1).
  { intros k x Hx. induction k; simpl; [lra|]. split; [apply Rmult_le_pos; lra|].
    rewrite <- (Rmult_1_l 1). apply Rmult_le_compat; lra. }
  unfold avail. destruct (age t a) as [d|]; [|lra].
  specialize (Hr a (Ha a (or_introl eq_refl))). specialize (P d (1 - mu a) ltac:(lra)). lra.
Qed.
"""


def attack(kind, text):
    """The source of the theorem, tampered with."""
    name = "Theorem hamacher_pathwise"
    start, proof = text.index(name), text.index("Proof.", text.index(name))
    before, statement, script = text[:start], text[start:proof], text[proof:]
    if kind == "genuine":
        return text
    if kind == "admitted":
        return before + statement + "Proof. Admitted.\n"
    if kind == "own axiom":
        return before + "Axiom cheat : False.\n" + statement + "Proof. destruct cheat. Qed.\n"
    if kind == "own hypothesis":
        before += "Hypothesis classic : False.\n"
        return before + statement + "Proof. destruct classic. Qed.\n"
    if kind == "another hypothesis":
        statement = edited(statement, "rates m mu ->", "(length h < 5)%nat -> rates m mu ->")
        return before + statement + edited(script, "intros m mu h Hm", "intros m mu h Hm _")
    before = re.sub(r"(Definition hamacher [^=\n]*:= )", r"\g<1>0 * ", before)
    return before + statement + ZERO


@with_coq
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("genuine", ""),
        ("admitted", "contains 'Admitted'"),
        ("own axiom", "contains 'Axiom'"),
        ("own hypothesis", "outside the allow-list: Recharge.classic"),
        ("another hypothesis", "statement or anchor does not fit"),
        ("hamacher redefined as 0, with an honest proof", "statement or anchor does not fit"),
    ],
)
def test_attacks_on_the_hamacher_sum(hamacher, kind, words):
    theorem, text, folder = hamacher
    tampered = attack(kind, text)
    assert (tampered == text) == (kind == "genuine")
    (folder / "Recharge.v").write_text(tampered)
    (found,) = verify([theorem], sources=folder)
    assert found.accepted == (kind == "genuine")
    assert words in found.message
    if "redefined" in kind:  # only the anchors see it
        assert verify([changed(theorem, anchors=())], sources=folder)[0].accepted


# The lists of axioms --------------------------------------------------------------------------


def test_lists_of_axioms():
    listed = "Axioms:\nA.b : forall x,\n  x = x\nC.d\n  : False\n"
    assert coq.read_axioms(listed) == ("A.b", "C.d")
    assert coq.read_axioms("Closed under the global context\n") == ()
    for text in ("", "Axioms:\n", "Theory: Set is impredicative\nAxioms:\nA.b : False\n"):
        with pytest.raises(coq.Rejected):
            coq.read_axioms(text)
    assert coq.profile_of(()) == "none"
    assert coq.profile_of(coq.REALS[:1]) == "reals"
    assert coq.profile_of(coq.CLASSIC) == "classic"
    assert coq.profile_of([*coq.CLASSIC, "Uint63.add_spec"]) == "classic and 63-bit integers"
    for name in ("classic", "Sums.Classical_Prop.classic", "Uint63.x.y", "Own.Uint63.x", "Theory:"):
        with pytest.raises(coq.Rejected, match="outside the allow-list"):
            coq.profile_of([name])


# The book -------------------------------------------------------------------------------------


def test_sources_and_theorems_belong_together():
    sources = {path.name for path in kernel.SOURCES.glob("*.v")}
    listed = set(
        re.findall(r"^\S+\.v$", (kernel.SOURCES / "_CoqProject").read_text(), re.MULTILINE)
    )
    assert listed == sources
    for theorem in kernel.all_theorems():
        for pin in theorem.pinned:
            module, name = pin.name.split(".")
            text = (kernel.SOURCES / f"{module}.v").read_text()
            assert re.search(rf"^(Theorem|Lemma|Corollary) {name}\b", text, re.MULTILINE), pin.name
        assert theorem.covers.strip()
    able_to_fail = {t.claim for t in kernel.all_theorems() if t.mutants or t.refutations}
    assert able_to_fail == {theorem.claim for theorem in kernel.all_theorems()}
    assert able_to_fail == set(kernel.all_reaches())


@with_coq
def test_the_digest_and_coq_agree_on_what_a_source_needs(tmp_path):
    with coq.Programs(60) as programs:
        book = kernel._copy(kernel.SOURCES, tmp_path / "work", programs)
    for module, below in book.needs.items():
        assert kernel_record.needs(module) == tuple(sorted(below))


@with_coq
def test_a_changed_digit_in_a_pinned_statement_fails():
    (theorem,) = (t for t in kernel.all_theorems() if t.proof == "Strategic.tightness_example")
    theorem = changed(theorem, refutations=(), mutants=())
    digit = changed(theorem, statement=edited(theorem.statement, "90/181 <", "91/181 <"))
    genuine, false = verify([theorem, digit])
    assert genuine.accepted
    assert not false.accepted
    assert "statement or anchor does not fit" in false.message


@with_coq
def test_the_goals_that_the_chapter_shows(tmp_path):
    text = (kernel.SOURCES.parents[1] / "book/kernel/what_a_kernel_adds.md").read_text()
    shown = re.findall(r"^```text\n((?:(?!^```).)*?={9,}.*?)^```", text, re.DOTALL | re.MULTILINE)
    source = (kernel.SOURCES / "Recharge.v").read_text()
    proof = re.search(r"Theorem gap_identity.*?Qed\.", source, re.DOTALL)[0]
    stated, script = proof.split("Proof.")
    script = re.sub(r"\.(?=\s)", ". Show.", script)
    root = tmp_path / "book"
    root.mkdir()
    for name in ("Sums", "Recharge"):
        (root / f"{name}.v").write_text((kernel.SOURCES / f"{name}.v").read_text())
    (root / "Goals.v").write_text(
        "From Coq Require Import Reals Lra.\nFrom Book Require Import Sums.\nOpen Scope R_scope.\n"
        f"{stated}Proof.\n{script}\n"
    )
    with coq.Programs(60) as programs:
        for name in ("Sums", "Recharge", "Goals"):
            fine, output, errors = programs.compile(tmp_path, f"book/{name}.v")
            assert fine, errors
    assert len(shown) == 2
    for goal in shown:
        assert goal.rstrip() in output


# The command, and bad input -------------------------------------------------------------------


@with_coq
def test_the_command(capsys, monkeypatch, tmp_path):
    claim = next(t for t in kernel.all_theorems() if t.proof == "Recharge.gap_identity")
    entry = kernel_record.load()[claim.claim, claim.proof]
    monkeypatch.setattr(kernel, "all_theorems", lambda: [claim])
    for accepted, axioms, words, status in (
        (True, tuple(entry["axioms"]), "axioms: reals; why", 0),
        (True, (), "differs from the record: Recharge.gap_identity: other axioms", 1),
        (False, (), "FAILS: why", 1),
    ):
        result = kernel.Result(claim, accepted, axioms, "reals" if accepted else "", 1.5, "why")
        monkeypatch.setattr(kernel, "verify", lambda theorems, found=result, **options: [found])
        file = tmp_path / "kernel.json"
        assert main(["kernel", "per_arm_identity", "--json", str(file)]) == status
        printed = capsys.readouterr().out
        assert words in printed
        assert f"1 theorem, {int(not accepted)} rejected" in printed
        (written,) = json.loads(file.read_text())["theorems"]
        assert (written["accepted"], written["proof"]) == (accepted, "Recharge.gap_identity")
    assert main(["kernel", "per_arm_identity", "--record", "why"]) == 2
    assert "gap_identity rejected; nothing was recorded" in capsys.readouterr().err
    assert main(["kernel", "recharge.age_state"]) == 2
    assert "has no proof" in capsys.readouterr().err


def test_without_coq(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert coq.version() is None
    with pytest.raises(ModuleNotFoundError, match="coqc is not installed"):
        verify([TEN])
    for required, status in (("", 0), ("1", 1)):
        monkeypatch.setenv("COQ_REQUIRED", required)
        assert main(["kernel"]) == status
        assert "coqc is not installed: the kernel was not run" in capsys.readouterr().err


def test_bad_input(tmp_path, capsys):
    for values, name in (
        ({"proof": "twice"}, "proof"),
        ({"statement": ""}, "statement"),
        ({"statement": "True). Axiom a : (False"}, "statement"),
        ({"statement": "True. Definition x := 1"}, "statement"),
        ({"statement": "\u0445 = \u0445"}, "statement"),
        ({"axioms": "all"}, "axioms"),
        ({"refutations": ("sum_to 10 <> 50",)}, "proof"),
    ):
        with pytest.raises(ValueError, match=f"^{name} = "):
            changed(TEN, **values)
    for values in (
        ("all of it", None, "whole"),
        ("", None, "in part"),
        ("much", None, "much"),
        ("It ends.", None, "a step"),
        ("a\nb", None, "a step"),
    ):
        with pytest.raises(ValueError, match="must be"):
            Reach("topic.ten", *values)
    for values in (("True", ""), ("True", "exact I. Qed. Goal False"), ("True.", "exact I")):
        with pytest.raises(ValueError, match="must be"):
            Anchor(*values)
    for values in (
        ("Sums", "a", "b"),
        ("../Sums.v", "a", "b"),
        ("Sums.v", "a", "a"),
        ("S.v", "", "b"),
    ):
        with pytest.raises(ValueError, match="must be"):
            Mutant(*values, "why")
    for options, name in (({"jobs": 0}, "jobs"), ({"timeout": -1}, "timeout")):
        with pytest.raises(ValueError, match=name):
            verify([TEN], **options)
    with pytest.raises(ValueError, match="theorems"):
        verify([])
    if INSTALLED:
        with pytest.raises(ValueError, match="sources"):
            verify([TEN], sources=tmp_path)
    assert main(["kernel", "no_such_claim"]) == 2
    assert "there is no claim of that name" in capsys.readouterr().err
    assert main(["kernel", "--jobs", "0"]) == 2 or not INSTALLED
