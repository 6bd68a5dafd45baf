"""Coq: a theorem is accepted when its kernel has checked a proof of the statement that a claim pins.

A proof is not believed because its file compiles. For each theorem, from sources alone:

1. the sources are copied into a new folder and compiled there, so no object file from elsewhere is
   used; text that could reach outside the kernel or change how a statement is read is refused first;
2. a *wrapper* states the text that the claim pins, with the names of Coq's library read last, so
   that the book cannot put its own ``exp`` or ``<=`` in their place, and proves it by the theorem
   and nothing else: a theorem with another hypothesis or a smaller constant does not fit;
3. *anchors*, closed facts computed without Coq, are proved of the definitions that the statement
   uses: a statement about a wrong definition is worth nothing;
4. ``Print Assumptions`` lists every axiom below the pinned theorem, read where nothing of the book
   is imported, so that names come out qualified; they must be those of the declared profile;
5. *refutations*, the negations of the nearest false statements, are pinned and read in the same way;
6. *mutants*, edits of a statement or a definition, must make the same proofs fail, and fail in the
   proof: not in time, not in the syntax, and not because the edit itself makes no sense to Coq. A
   mutant that fails shows that the proof depends on what was edited, not that the edit is false;
7. on demand, ``coqchk``, a second program, reads what was compiled, sources and wrappers, and checks
   it again: it must find no axiom of the book's own and no switched-off check.

A time limit that is reached is a failure. What stays outside: that the definitions say what the
source means, and the trusted base, which is Coq's kernel and parser with the libraries as they are
installed, the axioms listed, and this driver. Coq is optional: `version` says whether it is there.
"""

from __future__ import annotations

import graphlib
import importlib
import importlib.util
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks.claim import TOPICS, all_claims
from checks.methods.coq import (
    CLASSIC,
    INTEGERS,
    LEAVES_PROOF,
    PROFILES,
    Programs,
    Rejected,
    code_of,
    complaint,
    error_line,
    profile_of,
    read_axioms,
    require_closed,
    shortened,
    version,
    wrong_place,
    wrong_reason,
)

SOURCES = Path(__file__).parents[1] / "coq"


@dataclass(frozen=True)
class Anchor:
    """A closed fact about the definitions, computed without Coq.

    Attributes
    ----------
    statement : str
        A proposition in Coq, such as ``hamacher 2 (fun _ => 1/2) = 2/3``.
    proof : str
        Tactics that compute, without ``Proof`` and ``Qed``: ``unfold hamacher, rho; simpl; lra``.

    Raises
    ------
    ValueError
        If one of them is empty or leaves its place.
    """

    statement: str
    proof: str

    def __post_init__(self) -> None:
        require_closed("statement", self.statement)
        if not self.proof.strip() or LEAVES_PROOF.search(code_of(self.proof)):
            raise ValueError(f"proof = {self.proof!r}: must be tactics, without Proof or Qed")


@dataclass(frozen=True)
class Mutant:
    """An edit of a source that must make its proofs fail.

    Attributes
    ----------
    file : str
        Name of the source, such as ``Recharge.v``.
    old, new : str
        The text, which occurs once in the file, and what is put in its place.
    why : str
        What the edit changes, in a few words.

    Raises
    ------
    ValueError
        If the file is no ``.v`` file, or nothing is edited.
    """

    file: str
    old: str
    new: str
    why: str

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z]\w*\.v", self.file):
            raise ValueError(f"file = {self.file!r}: must be the name of a source, as Recharge.v")
        if not self.old or self.old == self.new:
            raise ValueError(f"old = {self.old!r}: must be text that differs from new")

    @property
    def module(self) -> str:
        return self.file.removesuffix(".v")


@dataclass(frozen=True)
class Theorem:
    """A theorem in Coq for a claim.

    Attributes
    ----------
    claim : str
        Id of the claim.
    proof : str
        The proved theorem, as ``Recharge.hamacher_pathwise``.
    statement : str
        What it must prove: text of Coq, kept apart from the sources.
    covers : str
        What of the claim it proves, in a line.
    anchors : tuple of Anchor
    refutations : tuple of str
        ``Refute.hamacher_false : ~ (...)``: a theorem and its pinned statement, the negation of the
        nearest false one.
    mutants : tuple of Mutant
    axioms : {"none", "reals", "classic", "classic and 63-bit integers"}
        What the proof rests on; a proof that needs less than is declared is rejected as well.

    Raises
    ------
    ValueError
        Naming the attribute that is wrong.

    Notes
    -----
    A statement is read with all modules of the book imported that the proof's module depends on, its
    own last, then ``ZArith Arith List Lia Lra Reals`` and the notations of lists, in ``R_scope``.
    Where a name is hidden by a later module it is written qualified, as ``Strategic.N``.
    """

    claim: str
    proof: str
    statement: str
    covers: str
    anchors: tuple[Anchor, ...] = ()
    refutations: tuple[str, ...] = ()
    mutants: tuple[Mutant, ...] = ()
    axioms: str = "reals"

    def __post_init__(self) -> None:
        for item in self.pinned:
            if not re.fullmatch(r"[A-Za-z]\w*\.[A-Za-z_][\w']*", item.name):
                raise ValueError(f"proof = {item.name!r}: must read MODULE.theorem")
            require_closed("statement", item.statement)
        if self.axioms not in PROFILES:
            raise ValueError(f"axioms = {self.axioms!r}: must be one of {', '.join(PROFILES)}")

    @property
    def pinned(self) -> tuple[Pinned, ...]:
        """The theorem with its anchors, then the refutations."""
        split = [text.partition(":") for text in self.refutations]
        refutations = (Pinned(name.strip(), rest.strip()) for name, _, rest in split)
        return Pinned(self.proof, self.statement.strip(), self.anchors), *refutations


@dataclass(frozen=True)
class Reach:
    """How far the theorems in Coq for a claim reach.

    Attributes
    ----------
    claim : str
        Id of the claim.
    outside : str
        What of its statement none of them covers, in a line; empty if nothing.
    uncovered : str, optional
        What neither they nor the other checks of the claim reach, where that is less than the
        claim's own ``uncovered``; empty if nothing is left.
    extent : {"whole", "in part", "a step"}
        How much of the claim they are: all of it, its core or parts, or a single step.
    """

    claim: str
    outside: str
    uncovered: str | None = None
    extent: str = "in part"

    def __post_init__(self) -> None:
        if self.extent not in ("whole", "in part", "a step"):
            raise ValueError(f"extent = {self.extent!r}: must be whole, in part or a step")
        if (self.extent == "whole") != (not self.outside):
            raise ValueError(f"extent = {self.extent!r}: must be whole if nothing is outside")
        for text in (self.outside, self.uncovered or ""):
            if "\n" in text or text.endswith("."):
                raise ValueError(f"outside = {text!r}: must be a line without a full stop")


@dataclass(frozen=True)
class Pinned:
    """A proved theorem, the statement that it must prove, and facts about its definitions."""

    name: str
    statement: str
    anchors: tuple[Anchor, ...] = ()

    @property
    def module(self) -> str:
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Result:
    """What became of a theorem.

    Attributes
    ----------
    theorem : Theorem
    accepted : bool
    axioms : tuple of str
        Every axiom below the theorem, by its qualified name; empty if it was not reached.
    profile : str
        The first of ``PROFILES`` that has them all; empty if the theorem is rejected.
    seconds : float
        Time of its statement, its axioms and its mutants (an equal share where several theorems are
        read together); compiling the sources is not counted.
    message : str
        Which controls it passed, or why it is rejected.
    """

    theorem: Theorem
    accepted: bool
    axioms: tuple[str, ...]
    profile: str
    seconds: float
    message: str


def text_of(module: str, sources: Path = SOURCES) -> str:
    """The text of a source.

    Raises
    ------
    ValueError
        If there is no such source.
    """
    path = sources / f"{module}.v"
    if not path.is_file():
        raise ValueError(f"module = {module!r}: must be a source in {sources.name}")
    return path.read_text("utf-8")


@dataclass
class _Book:
    """The sources, in a folder of their own: their text, and what each depends on, itself last."""

    root: Path
    texts: Mapping[str, str]
    needs: Mapping[str, tuple[str, ...]]


def _copy(sources: Path, root: Path, programs: Programs) -> _Book:
    """Copy the sources, and nothing else, and read from them what depends on what."""
    texts = {path.stem: path.read_text("utf-8") for path in sorted(sources.glob("*.v"))}
    if not texts:
        raise ValueError(f"sources = {sources}: must be a folder with files of Coq (*.v)")
    for folder in ("book", "pins"):
        (root / folder).mkdir(parents=True)
    for name, text in texts.items():
        (root / "book" / f"{name}.v").write_text(text, "utf-8")
    files = [f"{name}.v" for name in texts]
    _, output, _ = programs.run(root / "book", "coqdep", "-Q", ".", "Book", *files)
    direct: dict[str, set[str]] = {name: set() for name in texts}
    for row in output.splitlines():
        target, _, needed = row.partition(":")
        name = Path(target.split()[0]).stem if target.split() else ""
        if target.startswith(f"{name}.vo ") and name in direct:
            stems = {Path(word).stem for word in needed.split() if word.endswith(".vo")}
            direct[name] = stems & texts.keys() - {name}
    order = tuple(graphlib.TopologicalSorter(direct).static_order())
    needs: dict[str, tuple[str, ...]] = {}
    for name in order:
        below = {name, *(other for near in direct[name] for other in needs[near])}
        needs[name] = tuple(other for other in order if other in below)
    return _Book(root, texts, needs)


# Wrappers -------------------------------------------------------------------------------------


def _wrapper(book: _Book, pins: Sequence[Pinned]) -> str:
    """The file that states the pinned texts of one module and proves them by its theorems."""
    modules = book.needs[pins[0].module]
    rows = [f"From Book Require Import {' '.join(modules)}."]
    # Coq's library comes after the book, so that its names and notations have the last word.
    rows += ["From Coq Require Import Prelude ZArith Arith List Lia Lra Reals."]
    rows += ["Import ListNotations.", "Open Scope R_scope."]
    for number, pin in enumerate(pins):
        rows += [f"Module P{number}.", f"Definition claim : Prop := (\n{pin.statement}\n)."]
        rows += [f"Theorem pinned : claim.\nProof. exact Book.{pin.name}. Qed."]
        rows += [f"End P{number}."]
    for number, anchor in enumerate(_anchors(pins)):
        tactics = anchor.proof.strip().removesuffix(".")
        rows += [f"Theorem anchor{number} : (\n{anchor.statement}\n).\nProof. {tactics}. Qed."]
    return "\n".join(rows) + "\n"


def _anchors(pins: Sequence[Pinned]) -> list[Anchor]:
    """The anchors of pinned statements, each once."""
    return list(dict.fromkeys(anchor for pin in pins for anchor in pin.anchors))


@dataclass
class _Place:
    """Where a pinned statement and its anchors were proved, and the time that it took."""

    file: str
    name: str
    anchors: list[str]
    seconds: float


class _Verification:
    """The work of one call of `verify`, as tasks that depend on one another."""

    def __init__(self, book: _Book, programs: Programs, theorems: Sequence[Theorem]):
        self.book, self.programs, self.theorems = book, programs, theorems
        self.main = {theorem.pinned[0] for theorem in theorems}
        self.pins = list(dict.fromkeys(pin for theorem in theorems for pin in theorem.pinned))
        self.places: dict[Pinned, _Place] = {}
        self.axioms: dict[Pinned, tuple[str, ...]] = {}
        self.seconds: dict[Pinned | Mutant, float] = {}
        self.errors: dict[object, str] = {}  # of a module, a pinned statement, (theorem, mutant)
        self.tasks: dict[tuple, tuple[set[tuple], Callable[[], None]]] = {}
        self.files = iter(range(10**9))

    def plan(self, mutants: bool, recheck: bool) -> None:
        """Lay out the tasks: sources, statements, axioms, mutants, the second checker."""
        needs = self.book.needs
        for pin in self.pins:
            if pin.module not in needs:
                self.errors[pin] = f"there is no source {pin.module}.v"
        known = [pin for pin in self.pins if pin.module in needs]
        for module in dict.fromkeys(name for pin in known for name in needs[pin.module]):
            below = {("source", name) for name in needs[module][:-1]}
            self.tasks["source", module] = below, lambda m=module: self._build(m)
        for module in dict.fromkeys(pin.module for pin in known):
            group = [pin for pin in known if pin.module == module]
            after = {("statements", module)}
            self.tasks["statements", module] = (
                {("source", module)},
                lambda g=group: self._state(g),
            )
            for number, part in enumerate(self._parts(group)):
                work = lambda p=part: self._read(p)  # noqa: E731
                self.tasks["axioms", module, number] = after, work
        listed = dict.fromkeys(m for theorem in self.theorems for m in theorem.mutants)
        for number, mutant in enumerate(listed if mutants else ()):
            users = [t for t in self.theorems if mutant in t.mutants and t.pinned[0] in known]
            after = {("statements", theorem.pinned[0].module) for theorem in users}
            work = lambda m=mutant, u=users: self._mutate(m, u)  # noqa: E731
            self.tasks["mutant", mutant.module, number] = after, work
        for kind, module in [key for key in self.tasks if key[0] == "source"] if recheck else ():
            stated = ("statements", module)
            after = {stated if stated in self.tasks else (kind, module)}
            self.tasks["recheck", module] = after, lambda m=module: self._recheck(m)

    def _parts(self, group: Sequence[Pinned]) -> list[list[Pinned]]:
        """Pinned theorems whose axioms one program reads.

        To list them takes most of the time where machine integers are among them, so each of these
        stands alone, to be read beside others.
        """
        slow = {t.pinned[0] for t in self.theorems if t.axioms == "classic and 63-bit integers"}
        mains = [pin for pin in group if pin in self.main]
        quick = [pin for pin in mains if pin not in slow]
        parts = [[pin] for pin in mains if pin in slow]
        parts += [quick[start : start + 6] for start in range(0, len(quick), 6)]
        rest = [pin for pin in group if pin not in self.main]
        return [*parts, rest] if rest else parts

    def run(self, jobs: int, announce: Callable[[str], None]) -> None:
        """Do the tasks, each as soon as those it needs are done."""
        order = graphlib.TopologicalSorter({key: task[0] for key, task in self.tasks.items()})
        order.prepare()
        with ThreadPoolExecutor(jobs) as pool:
            running: dict[Future, tuple] = {}
            try:
                while order.is_active():
                    for key in order.get_ready():
                        running[pool.submit(self.tasks[key][1])] = key
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        key = running.pop(future)
                        future.result()
                        announce(f"{key[0]}: {key[1]}")
                        order.done(key)
            except BaseException:
                self.programs.close()  # or leaving the pool would wait for what runs
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _build(self, module: str) -> None:
        """Compile one source."""
        for name in self.book.needs[module][:-1]:
            if name in self.errors:
                self.errors[module] = self.errors[name]
                return
        try:
            if module in {name.partition(".")[0] for name in CLASSIC} | set(INTEGERS):
                # An axiom of its own would be printed as one of the library.
                raise Rejected("has the name of a file of Coq's library")
            refused = complaint(code_of(self.book.texts[module]))
            if refused:
                raise Rejected(refused)
            fine, _, errors = self.programs.compile(self.book.root, f"book/{module}.v")
            if not fine:
                raise Rejected(f"does not compile: {shortened(errors)}")
        except Rejected as reason:
            self.errors[module] = f"{module}.v {reason}"

    def _state(self, pins: list[Pinned]) -> None:
        """Prove the pinned statements of a module, together or, if that fails, one by one."""
        if pins[0].module in self.errors:
            self.errors |= dict.fromkeys(pins, self.errors[pins[0].module])
            return
        started, file = time.perf_counter(), f"W{next(self.files)}"
        (self.book.root / "pins" / f"{file}.v").write_text(_wrapper(self.book, pins), "utf-8")
        try:
            fine, _, errors = self.programs.compile(self.book.root, f"pins/{file}.v")
            reason = "" if fine else f"statement or anchor does not fit: {shortened(errors)}"
        except Rejected as limit:
            reason = str(limit)
        if reason and len(pins) > 1:
            for pin in pins:
                self._state([pin])
        elif reason:
            self.errors[pins[0]] = reason
        else:
            spent = (time.perf_counter() - started) / len(pins)
            names = {a: f"Pins.{file}.anchor{n}" for n, a in enumerate(_anchors(pins))}
            for number, pin in enumerate(pins):
                name, anchors = f"Pins.{file}.P{number}.pinned", [names[a] for a in pin.anchors]
                self.places[pin] = _Place(file, name, anchors, spent)

    def _read(self, pins: list[Pinned]) -> None:
        """Read the axioms of theorems, of each apart; of refutations and anchors, all together."""
        pins = [pin for pin in pins if pin in self.places]
        if not pins:
            return
        started, file = time.perf_counter(), f"A{next(self.files)}"
        apart = [pin for pin in pins if pin in self.main]
        together = [self.places[pin].name for pin in pins if pin not in self.main]
        together += dict.fromkeys(name for pin in pins for name in self.places[pin].anchors)
        # Nothing is imported: what is not imported is printed with its qualified name.
        rows = [f"From Pins Require {' '.join(sorted({self.places[p].file for p in pins}))}."]
        rows += [f"Definition together := ({', '.join(['I', *together])})."]
        asked = [self.places[pin].name for pin in apart]
        for name in [*asked, "together"] if together else asked:
            rows += [f'Goal True. idtac "{_MARK}". Abort.', f"Print Assumptions {name}."]
        (self.book.root / "pins" / f"{file}.v").write_text("\n".join(rows) + "\n", "utf-8")
        try:
            fine, output, errors = self.programs.compile(self.book.root, f"pins/{file}.v")
            lists = output.split(f"{_MARK}\n")[1:]
            if not fine or len(lists) != len(apart) + bool(together):
                raise Rejected(f"axioms cannot be read: {shortened(errors or output)}")
            for pin, text in zip(apart, lists, strict=False):
                self._accept(pin, text)
            if together:
                profile_of(read_axioms(lists[-1]))
        except Rejected as reason:
            for pin in pins:
                self.errors.setdefault(pin, str(reason))
        for pin in pins:
            self.seconds[pin] = (time.perf_counter() - started) / len(pins)

    def _accept(self, pin: Pinned, text: str) -> None:
        """Compare the axioms of a theorem with the allow-list and with what it declares."""
        try:
            self.axioms[pin] = read_axioms(text)
            found = profile_of(self.axioms[pin])
        except Rejected as reason:
            self.errors[pin] = str(reason)
            return
        for theorem in self.theorems:
            if theorem.pinned[0] == pin and theorem.axioms != found:
                self.errors[pin] = f"rests on {found!r}, not on {theorem.axioms!r} as declared"

    def _mutate(self, mutant: Mutant, users: Sequence[Theorem]) -> None:
        """Edit a source; for each user, its proofs or its pinned statement must then fail."""
        started = time.perf_counter()
        pins = dict.fromkeys(theorem.pinned[0] for theorem in users)
        reasons = {pin: self._survives(mutant, pin) for pin in pins if pin in self.places}
        for theorem in users:
            reason = reasons.get(theorem.pinned[0])
            if reason:
                text = f"mutant of {mutant.file} ({mutant.why}) {reason}"
                self.errors[theorem, mutant] = text
        self.seconds[mutant] = (time.perf_counter() - started) / max(1, len(users))

    def _survives(self, mutant: Mutant, pin: Pinned) -> str:
        """What is wrong with a mutant; empty if proofs fail, and fail for the right reason."""
        modules, before = self.book.needs[pin.module], self.book.texts.get(mutant.module, "")
        if mutant.module not in modules:
            return "is of a file that the proof does not use"
        if before.count(mutant.old) != 1:
            return f"has its text {before.count(mutant.old)} times in the file, must be once"
        after = before.replace(mutant.old, mutant.new)
        with tempfile.TemporaryDirectory(dir=self.book.root) as folder:
            root = Path(folder)
            (root / "book").mkdir()
            (root / "pins").mkdir()
            for module in modules:
                if mutant.module not in self.book.needs[module]:
                    compiled = Path("book") / f"{module}.vo"
                    (root / compiled).symlink_to(self.book.root / compiled)
                    continue
                text = after if module == mutant.module else self.book.texts[module]
                (root / "book" / f"{module}.v").write_text(text, "utf-8")
                errors = self._errors(root, f"book/{module}.v")
                if errors:
                    edited = module == mutant.module
                    wrong = wrong_reason(errors)
                    wrong = wrong or (wrong_place(errors, before, after) if edited else "")
                    return f"fails for the wrong reason: {wrong}" if wrong else ""
            text = _wrapper(self.book, [pin])
            (root / "pins" / "Pinned.v").write_text(text, "utf-8")
            errors = self._errors(root, "pins/Pinned.v")
        if not errors:
            return "is proved all the same"
        wrong = wrong_reason(errors)
        if not wrong and error_line(errors) <= text[: text.index("Theorem pinned")].count("\n"):
            wrong = "the pinned statement makes no sense to Coq"
        return f"fails for the wrong reason: {wrong}" if wrong else ""

    def _recheck(self, module: str) -> None:
        """Have ``coqchk`` check a compiled source and the statements that its theorems prove."""
        stated = {place.file for pin, place in self.places.items() if pin.module == module}
        names = [f"Book.{module}", *(f"Pins.{file}" for file in sorted(stated))]
        try:
            reason = "" if module in self.errors else self.programs.recheck(self.book.root, names)
        except Rejected as limit:
            reason = str(limit)
        for pin in self.pins if reason else ():
            if module in self.book.needs.get(pin.module, ()):
                self.errors.setdefault(pin, f"coqchk does not accept {module}.v: {reason}")

    def _errors(self, root: Path, file: str) -> str:
        """The errors of a file, empty if it compiles; a time limit is an error without a place."""
        try:
            fine, _, errors = self.programs.compile(root, file)
        except Rejected as limit:
            return str(limit)
        return "" if fine else errors or "no message"

    def result(self, theorem: Theorem, mutants: bool) -> Result:
        """What the tasks found about one theorem."""
        pins, tried = theorem.pinned, theorem.mutants if mutants else ()
        reasons = [self.errors[pin] for pin in pins[:1] if pin in self.errors]
        reasons += [f"{pin.name}: {self.errors[pin]}" for pin in pins[1:] if pin in self.errors]
        reasons += [self.errors[theorem, m] for m in tried if (theorem, m) in self.errors]
        unread = [pin.name for pin in pins if pin not in self.seconds]
        unread += [mutant.file for mutant in tried if mutant not in self.seconds]
        if unread and not reasons:  # nothing is accepted because it was passed over
            reasons = [f"not checked: {', '.join(unread)}"]
        axioms = self.axioms.get(pins[0], ())
        seconds = sum(self.seconds.get(key, 0.0) for key in (*pins, *tried))
        seconds += sum(self.places[pin].seconds for pin in pins if pin in self.places)
        if reasons:
            return Result(theorem, False, axioms, "", round(seconds, 2), "; ".join(reasons))
        passed = [
            f"{len(things)} {name}{'' if len(things) == 1 else 's'}"
            for things, name in (
                (theorem.anchors, "anchor"),
                (pins[1:], "refutation"),
                (tried, "mutant"),
            )
            if things
        ]
        profile = profile_of(axioms)
        return Result(theorem, True, axioms, profile, round(seconds, 2), ", ".join(passed))


_MARK = "--------"


def verify(
    theorems: Iterable[Theorem],
    *,
    jobs: int = 2,
    timeout: float = 120,
    mutants: bool = True,
    recheck: bool = False,
    sources: Path = SOURCES,
    announce: Callable[[str], None] = lambda text: None,
) -> list[Result]:
    """Build the sources anew, and have Coq check the theorems and their controls.

    Parameters
    ----------
    theorems : iterable of Theorem
        At least one.
    jobs : int
        Programs at a time, from 1; each takes up to 0.6 GB.
    timeout : float
        Seconds for each program, above 0; one that needs longer fails.
    mutants : bool
        Whether the mutants are tried as well, which takes about as long as all the rest.
    recheck : bool
        Whether ``coqchk`` checks the compiled files as well, which takes a minute or two.
    sources : Path
        The folder of the ``.v`` files; only what the theorems depend on is compiled.
    announce : callable
        Called with a few words after each step.

    Returns
    -------
    list of Result
        One a theorem, in their order.

    Raises
    ------
    ValueError
        Naming the argument that is wrong.
    ModuleNotFoundError
        If Coq is not installed (see `version`).
    """
    from simlib.arguments import positive_integer, positive_real  # which loads numpy

    theorems = list(theorems)
    jobs, timeout = positive_integer("jobs", jobs), positive_real("timeout", timeout)
    if not theorems:
        raise ValueError("theorems = []: must have at least one")
    if version() is None:
        raise ModuleNotFoundError("coqc is not installed, so Coq's kernel was not run")
    with tempfile.TemporaryDirectory(prefix="bounds-kernel-") as folder, Programs(timeout) as coq:
        work = _Verification(_copy(Path(sources), Path(folder) / "work", coq), coq, theorems)
        work.plan(mutants, recheck)
        work.run(jobs, announce)
        return [work.result(theorem, mutants) for theorem in theorems]


def _of_topics(name: str, topics: Iterable[str]) -> list[Any]:
    """What the files ``kernel.py`` of topics list under a name, in the order of the topics."""
    found: list[Any] = []
    for topic in topics:
        if importlib.util.find_spec(f"checks.{topic}.kernel"):
            found += getattr(importlib.import_module(f"checks.{topic}.kernel"), name)
    return found


def all_theorems(topics: Iterable[str] = TOPICS) -> list[Theorem]:
    """The theorems of topics, in their order.

    Parameters
    ----------
    topics : iterable of str
        All of them by default; to load one takes less time.

    Raises
    ------
    ValueError
        If one names no claim, or two are the same in claim and proof.
    """
    found: list[Theorem] = _of_topics("THEOREMS", topics)
    names, claims = [(theorem.claim, theorem.proof) for theorem in found], all_claims()
    for claim, proof in names:
        if claim not in claims:
            raise ValueError(f"claim = {claim!r}: {proof} must be for a claim of the book")
        if names.count((claim, proof)) > 1:
            raise ValueError(f"THEOREMS: {proof} is listed twice for {claim}")
    return found


def all_reaches(topics: Iterable[str] = TOPICS) -> dict[str, Reach]:
    """How far the kernel reaches, for each claim of topics that has a theorem in Coq.

    Raises
    ------
    ValueError
        If the claims of `all_theorems` and of the reaches are not the same, each once.
    """
    topics = tuple(topics)
    found: list[Reach] = _of_topics("REACH", topics)
    claims = [reach.claim for reach in found]
    wanted = dict.fromkeys(theorem.claim for theorem in all_theorems(topics))
    if sorted(claims) != sorted(wanted):
        wrong = sorted({*wanted} ^ {*claims}) or "twice the same"
        raise ValueError(f"REACH: must have each claim with a theorem once, see {wrong}")
    return {reach.claim: reach for reach in found}
