"""What readers see of the proofs in Coq: pinned statements, sources, and what they rest on.

Everything here is made from the sources, the pinned statements and the record; nothing is run.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from pathlib import Path

from checks.claim import find
from checks.methods.kernel import SOURCES, Theorem, all_theorems, text_of
from checks.methods.kernel_record import Word, foundations, words
from checks.page import Page, table

BOOK = Path(__file__).resolve().parents[1] / "book"
FOLDER = "kernel"  # of the pages that show the sources, below BOOK

# A top-level word that starts a theorem, and what ends its proof.
_THEOREM = re.compile(r"^(?:Theorem|Lemma|Corollary|Fact)\s+([\w']+)", re.MULTILINE)
_PROOF = re.compile(r"\bProof\b.*?\b(?:Qed|Defined)\.", re.DOTALL)
_FOLDED = 3  # lines of a proof from which it is folded


@functools.cache
def pages() -> dict[str, str]:
    """Where each source is shown: module -> page below `FOLDER`, read off the texts of the pages."""
    found = {}
    for path in sorted((BOOK / FOLDER).glob("*.md")):
        for module in re.findall(r"^source\(\"(\w+)\"\)", path.read_text("utf-8"), re.MULTILINE):
            found[module] = path.stem
    return found


def address(name: str) -> str:
    """The address of a theorem, such as ``Recharge.hamacher_pathwise``, from a page of a topic."""
    return f"../{FOLDER}/{pages().get(name.partition('.')[0], '')}.html#{name}"


def highlighted(code: str) -> str:
    """Text of Coq as HTML, coloured as the theme colours other programs."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    return highlight(code, get_lexer_by_name("coq"), HtmlFormatter()).rstrip("\n")


def _link(name: str) -> str:
    return f'<a href="{address(name)}"><code>{escape(name)}</code></a>'


def statements(word: Word) -> str:
    """The pinned statements of a claim, folded, each with a link to its proof, as HTML."""
    rows = []
    for number, theorem in enumerate(word.theorems):
        entry = word.entries[number] if word.accepted else None
        told = f"rests on: {foundations([entry])}; {entry['controls']}" if entry else "not run"
        false = ", ".join(_link(pin.name) for pin in theorem.pinned[1:])
        told = escape(told) + (f"; nearest false statement refuted: {false}" if false else "")
        rows.append(
            f"<dt>{_link(theorem.proof)}</dt><dd>{escape(theorem.covers)}"
            f"{highlighted(theorem.statement)}<small>{told}</small></dd>"
        )
    return (
        "<details><summary>The statements in Coq, and their proofs</summary>"
        f"<dl>{''.join(rows)}</dl></details>"
    )


def pinned_text(word: Word) -> str:
    """The pinned statements of a claim as plain text."""
    return "\n\n".join(
        f"  {theorem.proof}: {theorem.covers}\n"
        + "\n".join(f"    {row}" for row in theorem.statement.strip().splitlines())
        for theorem in word.theorems
    )


def reach_table() -> Page:
    """For each claim with a theorem in Coq: axioms, and what stays outside the kernel."""
    plain, rows = [], []
    for name, word in words().items():
        title = find(name).fill(find(name).title)
        told, outside = word.summary, word.reach.outside or "nothing"
        plain.append(f"{name}: {told}\n    outside it: {outside}")
        rows.append(
            f'<tr><td><a href="../start/ledger.html#{name}">{escape(title)}</a></td>'
            f'<td data-label="kernel:">{escape(told)}</td>'
            f'<td data-label="outside it:">{escape(outside)}</td></tr>'
        )
    return Page("\n".join(plain), table(("claim", "kernel", "outside it"), rows))


# Sources --------------------------------------------------------------------------------------


def source(module: str) -> Page:
    """A source of Coq: its comments as prose, its proofs folded, its theorems with their claims.

    Parameters
    ----------
    module : str
        Its name without ``.v``.

    Raises
    ------
    ValueError
        If there is no such source.
    """
    text, html = text_of(module, SOURCES), []
    for prose, piece in _pieces(text):
        html.append(_prose(piece) if prose else "".join(_code(module, piece)))
    plain = f"{module}.v, {len(text.splitlines())} lines: {', '.join(_THEOREM.findall(text))}"
    return Page(plain, f'<div class="coq-source">{"".join(html)}</div>')


def _pieces(text: str) -> Iterator[tuple[bool, str]]:
    """The text in order, as comments that begin with ``(**`` in the first column, and the rest."""
    place = 0
    for start in re.finditer(r"^\(\*\*(?!\*)", text, re.MULTILINE):
        if start.start() < place:
            continue
        yield False, text[place : start.start()]
        depth, place = 1, start.end()
        while depth:
            mark = re.compile(r"\(\*|\*\)").search(text, place)
            if mark is None:
                raise ValueError("text: has a comment without end")
            depth, place = depth + (1 if mark[0] == "(*" else -1), mark.end()
        yield True, text[start.end() : place - 2]
    yield False, text[place:]


def _prose(comment: str) -> str:
    """A comment as paragraphs; one that starts with stars is a heading, brackets hold code."""
    rows = []
    for paragraph in re.split(r"\n\s*\n", comment.strip()):
        said = " ".join(paragraph.split())
        stars = re.match(r"(\*+) ", said)
        inner = re.sub(r"\[([^\[\]]+)\]", r"<code>\1</code>", escape(said, quote=False))
        if stars and len(stars[1]) == 1:  # the title, which the page has as a heading
            continue
        if stars:
            rows.append(
                f'<p class="coq-heading level-{len(stars[1])}">{inner[len(stars[0]) :]}</p>'
            )
        else:
            rows.append(f"<p>{inner}</p>")
    return "".join(rows)


def _code(module: str, code: str) -> Iterator[str]:
    """Code with an anchor at each theorem, and its longer proofs folded."""
    starts = [match.start() for match in _THEOREM.finditer(code)]
    bounds = [0, *starts, len(code)]
    for start, end in pairwise(bounds):
        part = code[start:end].strip("\n")
        if not part.strip():
            continue
        named = _THEOREM.match(part)
        if not named:
            yield highlighted(part)
            continue
        name = f"{module}.{named[1]}"
        proof = _PROOF.search(part)
        if not proof:
            raise ValueError(f"{name}: has no proof")
        lines = proof[0].count("\n") + 1
        yield f'<div class="coq-theorem" id="{name}">'
        yield from _uses(name)
        if lines < _FOLDED:
            yield highlighted(part[: proof.end()])
        else:
            yield highlighted(part[: proof.start()].rstrip())
            yield f"<details><summary>Proof, {lines} lines</summary>"
            yield f"{highlighted(proof[0])}</details>"
        yield "</div>"
        if part[proof.end() :].strip():
            yield highlighted(part[proof.end() :].strip("\n"))


@functools.cache
def _pinned_by() -> dict[str, list[Theorem]]:
    """The theorems of claims by the name of each theorem or refutation that they pin."""
    found: dict[str, list[Theorem]] = {}
    for theorem in all_theorems():
        for pin in theorem.pinned:
            found.setdefault(pin.name, []).append(theorem)
    return found


def _uses(name: str) -> Iterator[str]:
    """Which claims a theorem is pinned for, or refutes the nearest false neighbour of."""
    for theorem in _pinned_by().get(name, ()):
        verb = "for" if theorem.proof == name else "refutes a false neighbour of"
        link = f'<a href="../start/ledger.html#{theorem.claim}">{theorem.claim}</a>'
        yield f'<p class="coq-use">{verb} {link}</p>'
