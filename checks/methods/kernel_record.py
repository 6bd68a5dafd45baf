"""What Coq's kernel was seen to accept: the record that cards show where Coq is not run.

An entry stands for one run of `checks.methods.kernel.verify` on one text. It keeps a digest of all that
was read then: the pinned statement with its anchors, refutations and mutants, and the sources below
it. Where the text has changed since, the entry says nothing, and the card says that the kernel was
not run.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checks import ledger
from checks.claim import TOPICS
from checks.methods.coq import CLASSIC, PROFILES, code_of
from checks.methods.kernel import (
    SOURCES,
    Reach,
    Result,
    Theorem,
    all_reaches,
    all_theorems,
    text_of,
)

RECORD = ledger.BASELINES / "kernel.json"
SCHEMA = 1

Entry = dict[str, Any]


@functools.cache
def needs(module: str, sources: Path = SOURCES) -> tuple[str, ...]:
    """The modules of the book that a module imports, directly or not, and itself, sorted.

    Read off its text, so that it needs no Coq.

    Raises
    ------
    ValueError
        If there is no such source.
    """
    found = {module}
    for sentence in re.split(r"\.\s", code_of(text_of(module, sources))):
        # However it is written; a name of Coq's library that is also a source is one too many.
        for name in re.findall(r"\w+", sentence) if re.search(r"\bRequire\b", sentence) else ():
            if name not in found and (sources / f"{name}.v").is_file():
                found.update(needs(name, sources))
    return tuple(sorted(found))


def digest(theorem: Theorem, sources: Path = SOURCES) -> str:
    """A digest of all that Coq reads for a theorem and for its controls."""
    read = {module for pin in theorem.pinned for module in needs(pin.module, sources)}
    texts = {module: text_of(module, sources) for module in sorted(read)}
    data = (theorem.axioms, theorem.pinned, theorem.mutants, texts)
    return hashlib.sha256(repr(data).encode()).hexdigest()[:16]


def entry_of(result: Result, coq: str, sources: Path = SOURCES) -> Entry:
    """What is kept of an accepted theorem."""
    theorem = result.theorem
    return {
        "claim": theorem.claim,
        "proof": theorem.proof,
        "axioms": list(result.axioms),
        "profile": result.profile,
        "controls": result.message,
        "coq": coq,
        "digest": digest(theorem, sources),
    }


def store(results: Sequence[Result], coq: str, reason: str, path: Path = RECORD) -> None:
    """Make the results of a run the record; entries of theorems that are no more are dropped.

    Parameters
    ----------
    results : sequence of Result
        Of a run with the mutants, all accepted.
    coq : str
        The version.
    reason : str
        Why the record changes.
    path : Path

    Raises
    ------
    ValueError
        If a theorem was rejected, or no reason is given.
    """
    if not reason.strip():
        raise ValueError("reason = '': must say why the record changes")
    rejected = [result.theorem.proof for result in results if not result.accepted]
    if rejected:
        raise ValueError(f"results: {', '.join(rejected)} rejected; nothing was recorded")
    new = {(r.theorem.claim, r.theorem.proof): entry_of(r, coq) for r in results}
    known = (load(path) if path.exists() else {}) | new
    kept = [known[key] for key in map(_key, all_theorems()) if key in known]
    content = {"schema": SCHEMA, "reason": reason, "checksum": _checksum(kept), "theorems": kept}
    ledger.write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def load(path: Path = RECORD) -> dict[tuple[str, str], Entry]:
    """The entries by claim and proof; none where nothing was recorded.

    Raises
    ------
    ValueError
        If the file is no record of this schema or was changed by anything but ``--record``.
    """
    if not path.exists():
        return {}
    try:
        stored = json.loads(path.read_text("utf-8"))
        schema, checksum, entries = stored["schema"], stored["checksum"], stored["theorems"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"record = {path}: is damaged ({error}); restore or record it") from None
    if schema != SCHEMA:
        raise ValueError(f"record = {path}: has schema {schema}, must be {SCHEMA}")
    if checksum != _checksum(entries):
        raise ValueError(f"record = {path}: does not match its checksum; restore or record it")
    return {(entry["claim"], entry["proof"]): entry for entry in entries}


def _checksum(entries: Sequence[Entry]) -> str:
    return hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()


def _key(theorem: Theorem) -> tuple[str, str]:
    return theorem.claim, theorem.proof


def drift(results: Sequence[Result], entries: Mapping[tuple[str, str], Entry]) -> list[str]:
    """How accepted theorems differ from their entries, a line each; empty if they don't.

    The version of Coq is not compared, nor are the controls, which a run may leave out.
    """
    found = []
    for result in results:
        theorem = result.theorem
        entry = entries.get(_key(theorem))
        if not result.accepted:
            continue
        if entry is None:
            found.append(f"{theorem.proof}: is not in the record")
        elif entry["digest"] != digest(theorem):
            found.append(f"{theorem.proof}: the record is of another text")
        elif entry["axioms"] != list(result.axioms):
            found.append(f"{theorem.proof}: other axioms than recorded")
    return found


@dataclass(frozen=True)
class Word:
    """What the kernel has to say on a claim.

    Attributes
    ----------
    reach : Reach
    theorems : tuple of Theorem
    entries : tuple of dict
        One a theorem, in their order; empty unless all were accepted as they stand now.
    missing : str
        Why the kernel could not be run, where that matters.
    """

    reach: Reach
    theorems: tuple[Theorem, ...]
    entries: tuple[Entry, ...]
    missing: str = ""

    @property
    def accepted(self) -> bool:
        """Whether the kernel accepted every theorem for the claim, as it stands now."""
        return bool(self.entries) and not self.missing

    @property
    def short(self) -> str:
        """The name of the method as the headline of a card has it."""
        if not self.accepted:
            return ""
        return "kernel" if self.reach.extent == "whole" else f"kernel ({self.reach.extent})"

    @property
    def summary(self) -> str:
        """A line: how many theorems, which Coq, which axioms."""
        count = f"{len(self.theorems)} theorem{'s' * (len(self.theorems) > 1)}"
        versions = " and ".join(sorted({entry["coq"] for entry in self.entries}))
        if not self.entries:
            return f"not run on the present text of its {count}"
        if self.missing:
            return f"not run: {self.missing} (recorded: {count} accepted by Coq {versions})"
        return f"{count} accepted by Coq {versions}; {axioms_in_words(self.entries)}"


def axioms_in_words(entries: Sequence[Entry]) -> str:
    """The axioms below some theorems together: their profile, and their names, shortened."""
    names = sorted({name for entry in entries for name in entry["axioms"]})
    if not names:
        return "no axiom"
    known = [name.rpartition(".")[2] for name in CLASSIC if name in names]
    rest = len(names) - len(known)
    text = f"axioms: {', '.join(known)}"
    if rest:
        text += f" and {rest} on the machine integers PrimInt63, Uint63"
    return f"{text} ({foundations(entries)})"


def foundations(entries: Sequence[Entry]) -> str:
    """What the axioms below some theorems together stand for, in a few words."""
    return _MEANING[max((entry["profile"] for entry in entries), key=list(PROFILES).index)]


#: What a profile of axioms means to a reader, see the chapter on the kernel.
_MEANING = {
    "none": "no axiom",
    "reals": "real numbers",
    "classic": "real numbers, excluded middle",
    "classic and 63-bit integers": "real numbers, excluded middle, interval arithmetic",
}


def word(claim: str) -> Word | None:
    """What the kernel has to say of a claim, None if the claim has no theorem in Coq.

    Raises
    ------
    ValueError
        If the record is damaged.
    """
    return _words_of(claim.partition(".")[0]).get(claim)


def words() -> dict[str, Word]:
    """What the kernel has to say, for each claim that has a theorem in Coq.

    Raises
    ------
    ValueError
        If the record is damaged.
    """
    return {name: found for topic in TOPICS for name, found in _words_of(topic).items()}


@functools.cache
def _words_of(topic: str) -> dict[str, Word]:
    entries, found = load(), {}
    for name, reach in all_reaches([topic]).items():
        theorems = tuple(t for t in all_theorems([topic]) if t.claim == name)
        seen = [entries.get(_key(theorem)) for theorem in theorems]
        current = all(e and e["digest"] == digest(t) for e, t in zip(seen, theorems, strict=True))
        found[name] = Word(reach, theorems, tuple(e for e in seen if e) if current else ())
    return found
