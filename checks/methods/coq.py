"""What the method `kernel` needs of Coq: what its text may say, its axioms, its programs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

REALS = (
    "ClassicalDedekindReals.sig_forall_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
)
CLASSIC = (*REALS, "ClassicalDedekindReals.sig_not_dec", "Classical_Prop.classic")
INTEGERS = ("PrimInt63", "Uint63")  # modules: the interval tactic uses all that they postulate

#: What a proof may rest on besides the kernel, from nothing to most, each with what came before.
PROFILES = {
    "none": "no axiom",
    "reals": " and ".join(REALS) + " (Coq's real numbers)",
    "classic": " and ".join(CLASSIC[2:]) + " besides (excluded middle)",
    "classic and 63-bit integers": "the machine integers of "
    + " and ".join(INTEGERS)
    + " besides (interval arithmetic)",
}


class Rejected(Exception):
    """Why a source, a statement, an axiom or a mutant is not accepted."""


# Text -----------------------------------------------------------------------------------------

# What would reach past the kernel or leave it something to believe. This is a first net only: what
# a file postulates by other words is in the list of axioms.
_FORBIDDEN = re.compile(
    r"\b(Admitted|admit|give_up|Axioms?|Parameters?|Conjectures?|Declare\s+ML|Load|LoadPath|ML\s+Path"
    r"|bypass_check|Unset\s+(?:Guard|Positivity|Universe)\s+Checking|type_in_type|Redirect|Drop|Cd"
    r"|Definitional\s+UIP|Extraction|Delimit|Undelimit|Bind\s+Scope|Global|global|export)\b"
)
# What changes how a statement is read wherever the file is imported, if it leaves its section.
_READING = re.compile(r"\b(Notation|Infix|Coercion|Canonical|SubClass)\b")
LEAVES_PROOF = re.compile(
    r"\b(Qed|Defined|Admitted|Abort|Save|Restart|Goal|Proof|Lemma|Theorem|Definition|Hypothesis"
    r"|Variable|Axiom|Parameter|Require|Import|Notation|Ltac|Module|Section)\b"
)
# Reasons for which a mutant may not fail: then nothing was learnt about the proof.
_WRONG_REASON = re.compile(
    r"Syntax error|Lexer error|Unterminated|was not found in the current environment|was not found\."
    r"|Unknown interpretation|Unable to locate|Cannot find a physical path|inconsistent assumptions"
    r"|Anomaly|Stack overflow|Out of memory"
)
_ERROR = re.compile(r'File "[^"]*", line (\d+), characters (\d+)-(\d+):\s*Error:\s*(.*)', re.DOTALL)


def code_of(text: str) -> str:
    """The text without its comments, which nest, and in which strings are still strings."""
    kept, depth, place, quoted = [], 0, 0, False
    while place < len(text):
        pair = text[place : place + 2]
        if text[place] == '"':
            quoted = not quoted
        elif not quoted and pair == "(*":
            depth, place = depth + 1, place + 2
            continue
        elif not quoted and depth and pair == "*)":
            depth, place = depth - 1, place + 2
            kept.append(" ")
            continue
        if not depth:
            kept.append(text[place])
        place += 1
    return "".join(kept)


def require_closed(name: str, text: str) -> None:
    """Raise unless a text can stand between parentheses and say nothing beyond them.

    Letters of other alphabets are refused: some look like those of this one.
    """
    level = lowest = 0
    for sign in code_of(text):
        level += (sign == "(") - (sign == ")")
        lowest = min(level, lowest)
    if not text.isascii():
        raise ValueError(f"{name} = {text!r}: must be ASCII")
    if not text.strip() or level or lowest or re.search(r"\.(\s|$)", code_of(text)):
        raise ValueError(f"{name} = {text!r}: must be one proposition of Coq, without a full stop")


def complaint(code: str) -> str:
    """What is refused in a source without comments, or nothing."""
    found = _FORBIDDEN.search(code)
    if found:
        return f"contains {found[0]!r}"
    open_parts: list[str] = []
    code = re.sub(r'"[^"]*"', '""', code)  # a string may look like sentences
    for sentence in re.split(r"\.\s", code):
        words = sentence.split()
        if words[:1] == ["Section"] or (words[:1] == ["Module"] and ":=" not in words):
            open_parts.append(words[0])
        elif words[:1] == ["End"] and open_parts:
            open_parts.pop()
        found = _READING.search(sentence)
        # A coercion or a canonical structure outlives its section, a notation does not.
        ends = "Section" in open_parts and found and found[0] in ("Notation", "Infix")
        if found and words[0] not in ("Local", "#[local]") and not ends:
            return f"contains {found[0]!r} outside a section and not Local"
    return ""


def shortened(output: str) -> str:
    """The first error of an output in one line."""
    found = _ERROR.search(output)
    text = f"line {found[1]}: {found[4]}" if found else output
    return " ".join(text.split())[:300]


def error_line(output: str) -> int:
    """The line of the first error, 0 if there is none."""
    found = _ERROR.search(output)
    return int(found[1]) if found else 0


def wrong_reason(output: str) -> str:
    """Why a failure teaches nothing about a proof; empty if it does teach something."""
    found = _ERROR.search(output)
    if not found:
        return f"no error of a proof ({shortened(output)})"
    wrong = _WRONG_REASON.search(found[4])
    return wrong[0] if wrong else ""


def wrong_place(output: str, before: str, after: str) -> str:
    """Why the place of the first error of an edited text teaches nothing; empty if it does."""
    found, text = _ERROR.search(output), after.encode()
    if not found:
        return ""
    line = sum(len(row) + 1 for row in text.split(b"\n")[: int(found[1]) - 1])
    start, end = line + int(found[2]), line + int(found[3])  # Coq counts bytes
    first, last = _edited(before.encode(), text)
    if start <= last and first < end:
        return "Coq does not understand the edit itself"
    return "an error before the edit" if end <= first else ""


def _edited(before: bytes, after: bytes) -> tuple[int, int]:
    """First and last place, in the text after an edit, of what the edit put there."""
    first = _agree(before, after)
    same = _agree(before[first:][::-1], after[first:][::-1])
    return first, max(first, len(after) - same - 1)


def _agree(one: bytes, other: bytes) -> int:
    """How many bytes at the start are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


# Axioms ---------------------------------------------------------------------------------------


def read_axioms(output: str) -> tuple[str, ...]:
    """The names that one ``Print Assumptions`` lists, sorted.

    A name stands at the start of its line, its type after it or indented below. What is no name there
    (kernel checks that were switched off, say) is returned too, and is in no profile.

    Parameters
    ----------
    output : str
        What Coq printed for this command alone.

    Returns
    -------
    tuple of str

    Raises
    ------
    Rejected
        If it is no such list.
    """
    if output.strip() == "Closed under the global context":
        return ()
    head, found, body = output.partition("Axioms:\n")
    names = {row.split()[0] for row in body.splitlines() if row.strip() and not row[0].isspace()}
    if head.strip() or not found or not names:
        raise Rejected(f"no list of axioms: {shortened(output)}")
    unchecked = re.search(r"^(\S+) is (assumed to be|positive|not)[^:\n]*$", body, re.MULTILINE)
    if unchecked:
        raise Rejected(f"a check of the kernel is switched off: {unchecked[0]}")
    return tuple(sorted(names))


def profile_of(axioms: Iterable[str]) -> str:
    """The first of ``PROFILES`` that has all these axioms.

    Parameters
    ----------
    axioms : iterable of str
        Qualified names: a hypothesis called ``classic`` in a file ``Mine.v`` is ``Mine.classic``.

    Returns
    -------
    str

    Raises
    ------
    Rejected
        If an axiom is in none of them.
    """
    names = set(axioms)
    integers = {name for name in names if re.fullmatch(rf"({'|'.join(INTEGERS)})\.[\w']+", name)}
    strange = names - integers - set(CLASSIC)
    if strange:
        raise Rejected(f"axioms outside the allow-list: {', '.join(sorted(strange))}")
    if integers:
        return "classic and 63-bit integers"
    if names - set(REALS):
        return "classic"
    return "reals" if names else "none"


_CHECKED = (
    "Theory: Set is predicative",
    "Constants/Inductives relying on type-in-type: <none>",
    "Constants/Inductives relying on unsafe (co)fixpoints: <none>",
    "Inductives whose positivity is assumed: <none>",
)


def refused_by_checker(summary: str) -> str:
    """What the summary of ``coqchk -o`` has against a file; empty if nothing.

    Its list of axioms is of all files that were read, so only those of the book's own count.
    """
    rows = {row.strip().removeprefix("* ") for row in summary.splitlines()}
    missing = [row for row in _CHECKED if row not in rows]
    if missing:
        return f"it does not say {missing[0]!r}"
    own = sorted(row for row in rows if row.startswith(("Book.", "Pins.")))
    return f"it finds the axiom {own[0]}" if own else ""


# Programs -------------------------------------------------------------------------------------


def version() -> str | None:
    """The version of Coq on this machine, such as ``8.16.1``, or None if ``coqc`` is missing."""
    if not (shutil.which("coqc") and shutil.which("coqdep")):
        return None
    ran = subprocess.run(["coqc", "--print-version"], capture_output=True, text=True, check=False)
    return ran.stdout.split()[0] if ran.returncode == 0 and ran.stdout.strip() else None


@dataclass
class Programs:
    """Runs Coq's programs under a time limit and ends those that still run when it is left."""

    timeout: float
    running: set[subprocess.Popen] = field(default_factory=set)
    closed: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Programs:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End what runs; nothing can be started any more."""
        with self.lock:
            self.closed = True
            for program in self.running:
                _kill(program)

    def run(self, folder: Path, *command: str, longer: float = 1) -> tuple[int, str, str]:
        """Exit status, standard output and standard error; raises at so many time limits."""
        # Variables of Coq's own could bring in other files than those of the folder.
        kept = {name: text for name, text in os.environ.items() if not name.startswith("COQ")}
        # Nor may the folders where Coq looks for libraries of the user's own.
        kept |= dict.fromkeys(("XDG_DATA_HOME", "XDG_DATA_DIRS"), os.devnull)
        with self.lock:
            if self.closed:
                raise Rejected("interrupted")
            program = subprocess.Popen(
                command,
                cwd=folder,
                env=kept,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                start_new_session=True,
            )
            self.running.add(program)
        try:
            output, errors = program.communicate(timeout=longer * self.timeout)
        except subprocess.TimeoutExpired:
            _kill(program)
            program.communicate()
            limit = f"{longer * self.timeout:g} s"
            raise Rejected(f"{command[-1]}: not done within {limit}") from None
        finally:
            with self.lock:
                self.running.discard(program)
        return program.returncode, output, errors

    def compile(self, root: Path, file: str) -> tuple[bool, str, str]:
        """Compile a file of ``Book`` or ``Pins`` below ``root``: success, output and errors."""
        options = ["-q", "-w", "none", "-Q", "book", "Book", "-Q", "pins", "Pins"]
        status, output, errors = self.run(root, "coqc", *options, file)
        return status == 0, output, errors

    def recheck(self, root: Path, names: Iterable[str]) -> str:
        """Why ``coqchk`` does not accept compiled files below ``root``; empty if it does.

        The files that they use are taken as they are. It computes without Coq's machine for it, so
        that some proofs take it ten times as long.
        """
        wanted = [word for name in names for word in ("-norec", name)]
        folders = ["-Q", "book", "Book", "-Q", "pins", "Pins"]
        status, output, errors = self.run(
            root, "coqchk", "-silent", "-o", *folders, *wanted, longer=5
        )
        summary = output + errors  # in 8.16 all of it is on standard error
        return refused_by_checker(summary) if status == 0 else shortened(summary)


def _kill(program: subprocess.Popen) -> None:
    """End a program with its children; it leads a process group of its own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
