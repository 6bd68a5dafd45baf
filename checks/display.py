"""What readers see of a claim: its statement, its card, and the tables of the book.

Everything here is made from the claims and from the recorded baseline; nothing is run.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from checks.claim import TOPICS, Claim, all_claims, find
from checks.ledger import Record, foundation, recorded
from checks.methods.kernel_record import Word, word
from checks.page import Page, table
from checks.proofs import statements

WIDTH = 92
SHOWN = 3  # values and rejections on a card; the rest is folded
BOOK = Path(__file__).resolve().parents[1] / "book"
START = "../start"  # pages about the whole book, seen from a page of any topic
STYLES = {
    "holds": "holds",
    "holds as corrected": "corrected",
    "supported": "supported",
    "open": "open",
    "undecided": "open",
    "refuted": "refuted",
    "not reproduced": "refuted",
    "not run": "notrun",
}
TOPIC_TITLES = {
    "recharge": "One learner on geometrically recharging arms",
    "strategic": "Many queues, selfish learners, servers with one-packet buffers",
    "contextual": "Jobs with features: contextual queueing bandits",
    "admission": "Admission control of a network that one cannot see",
}


#: The theorems that the front page shows of each topic.
HEADLINES = {
    "recharge": (
        "recharge.hamacher_lower_bound",
        "recharge.competitive_ratio",
        "recharge.stability_threshold",
        "recharge.beyond_h_in_queues",
    ),
    "strategic": (
        "strategic.sufficiency",
        "strategic.tight_for_every_arrival_vector",
        "strategic.sufficiency_end_to_end",
    ),
    "contextual": (
        "contextual.coupling_automaton",
        "contextual.theorem_5_5",
        "contextual.theorem_6_3",
        "contextual.cqb_eta2",
        "contextual.lower_bound",
    ),
    "admission": (
        "admission.norton_sum_policy",
        "admission.threshold_gain",
        "admission.regret_bound",
        "admission.regret_theorem",
    ),
}

_COMMANDS = (
    *("lambda", "mu", "nu", "theta", "rho", "kappa", "epsilon", "varepsilon", "delta", "gamma"),
    *("eta", "pi", "le", "ge", "setminus", "sqrt", "infty", "dots", "cdots", "alpha"),
)
#: What a card shows for a command of TeX: there, and in a terminal, formulas are plain text.
PLAIN = dict(zip(_COMMANDS, "λμνθρκϵεδγηπ≤≥∖√∞……α", strict=True))


def readable(text: str) -> str:
    """Text whose formulas are TeX, as plain text: ``\\frac{2N}\\lambda`` becomes 2N/λ.

    A numerator or denominator that is no single term is put in brackets. Commands that are not in
    `PLAIN` keep their names.
    """
    if "\\" not in text and "$" not in text:
        return text
    group = r"\{((?:[^{}]|\{[^{}]*\})*)\}"  # one more pair of braces within, no deeper
    part = rf"(?:{group}|(\\[a-z]+|\w))"
    fraction = re.compile(rf"\\t?frac\s*{part}{part}")

    def quotient(match: re.Match) -> str:
        above, below = match[1] or match[2], match[3] or match[4]
        above = f"({above})" if re.search(r"[-+]", above) else above
        below = below if re.fullmatch(r"\d+|\\?[a-zA-Z]+", below) else f"({below})"
        return f"{above}/{below}"

    while fraction.search(text):
        text = fraction.sub(quotient, text)
    text = re.sub(r"\\(?:mathrm|mathcal)\{(\w+)\}", r"\1", text)
    text = re.sub(r"\\[,;! ]", " ", text).replace("$", "")
    text = re.sub(r"([_^])\{(\\?\w+)\}", r"\1\2", text)
    text = re.sub(rf"([_^]){group}", r"\1(\2)", text)
    text = re.sub(r"(?<=[a-zA-Z0-9])\\(max|min|ln|exp)\b", r" \1", text)
    text = re.sub(r"\\([a-zA-Z]+) ?", lambda match: PLAIN.get(match[1], match[0][1:]), text)
    return re.sub(r"([≤≥])(?=\S)", r"\1 ", text)


def chapters() -> dict[str, str]:
    """Where each claim is stated: id -> ``topic/chapter``, read off the chapters' texts."""
    found = {}
    for topic in TOPICS:
        for path in sorted((BOOK / topic).glob("*.md")):
            for name in re.findall(r"^statement\(\"([\w.]+)\"\)", path.read_text("utf-8"), re.M):
                found.setdefault(name, f"{topic}/{path.stem}")
    return found


PROVENANCE = {
    "stated": "{}, stated there",
    "reconstructed": "{}, reconstructed: its display is lost in the text at hand",
    "ours": "ours; it belongs with {}",
}


def _source(claim: Claim) -> str:
    return PROVENANCE[claim.source.provenance].format(claim.source.where)


def _numbers(numbers: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in numbers.items())


def _row(label: str, text: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=f"  {label:<12}",
        subsequent_indent=" " * 14,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _printed_witness(record: Record) -> str:
    """What refutes the printed numbers, from the first check that does."""
    for check in record["checks"]:
        if check["as_printed"] and check["as_printed"]["outcome"] == "refuted":
            return check["as_printed"]["witness"]
    return "not decided"


@dataclass(frozen=True)
class Card:
    """The verdict card of a claim: text in a terminal, styled on the page.

    Attributes
    ----------
    claim : Claim
    record : dict
        The record of its run, see `checks.ledger.record_of`.
    weak : tuple of str
        What it rests on and does not hold.
    records : dict
        The records of the other claims, for the verdicts of what it rests on.
    word : Word, optional
        What Coq's kernel has to say, where the claim has theorems in Coq.
    """

    claim: Claim
    record: Record
    weak: tuple[str, ...]
    records: dict[str, Record]
    word: Word | None = None

    @property
    def headline(self) -> str:
        """Verdict, strongest deciding methods and scope."""
        record = self.record
        if not record["checks"]:
            return record["verdict"]
        deciding = [c["method"] for c in record["checks"] if c["scope"] == record["scope"]]
        # where general checks do not cover the claim, each one still says how a part was decided
        methods = list(dict.fromkeys(deciding or record["methods"]))
        if self.word and self.word.accepted:
            methods.insert(0, self.word.short)
        by_hand = " · rest by hand" if self.uncovered and record["scope"] == "general" else ""
        return f"{record['verdict']} · {' + '.join(methods)} · {record['scope']}{by_hand}"

    @property
    def uncovered(self) -> str:
        """What neither the checks nor the kernel reach."""
        if self.word and self.word.accepted and self.word.reach.uncovered is not None:
            return self.word.reach.uncovered
        return self.claim.uncovered

    @property
    def title(self) -> str:
        return self.claim.fill(self.claim.title)

    def rows(self) -> list[tuple[str, str]]:
        """Labels and texts below the title."""
        claim, record, rows = self.claim, self.record, []
        values = [
            (name, quantity["text"])
            for check in record["checks"]
            for name, quantity in check["claimed"]["values"].items()
        ]
        for number, (name, text) in enumerate(values[:SHOWN]):
            rows.append(("value" if number == 0 else "", f"{name} = {text}"))
        if len(values) > SHOWN:
            rows.append(("", f"and {len(values) - SHOWN} more, with what each check found"))
        margins = [(c["claimed"]["margin"], c["name"]) for c in record["checks"]]
        for margin, name in [pair for pair in margins if pair[0]][:1]:
            rows.append(("margin", f"{margin} ({name})"))
        rows += self._parts()
        rejections = self._rejections()
        for number, false in enumerate(rejections[:SHOWN]):
            rows.append(("rejected" if number == 0 else "", textwrap.shorten(false, 190)))
        if len(rejections) > SHOWN:
            more = len(rejections) - SHOWN
            rows.append(("", f"and {more} more false statement{'s' * (more > 1)}"))
        if claim.as_printed:
            witness = _printed_witness(record)
            printed = claim.as_printed.kind == "printed"
            rows.append(
                (
                    "as printed" if printed else "left open",
                    f"“{claim.as_printed.says}”: refuted, {witness}"
                    if printed
                    else f"{claim.as_printed.says}; otherwise {witness}",
                )
            )
            rows.append(("", f"true instead: {claim.as_printed.correct}"))
        if claim.rests_on:
            below = []
            for name in claim.rests_on:
                found = self.records.get(name, {}).get("verdict", "not run")
                short = name.removeprefix(claim.topic + ".")
                below.append(f"{short} ({found})")
            rows.append(("rests on", ", ".join(below)))
        if self.weak:
            rows.append(("gaps below", ", ".join(self.weak)))
        if claim.open:
            rows.append(("open", claim.open))
        if self.word:
            rows.append(("kernel", self.word.summary))
            if self.word.accepted and self.word.reach.outside:
                rows.append(("", f"outside it: {self.word.reach.outside}"))
        if self.uncovered:
            rows.append(("not covered", self.uncovered))
        rows.append(("source", _source(claim)))
        return [(label, readable(text)) for label, text in rows]

    def _parts(self) -> list[tuple[str, str]]:
        """How each part of the statement is decided, where it has several."""
        rows = []
        for part, says in self.claim.parts.items() if len(self.claim.parts) > 1 else ():
            on_it = [c for c in self.record["checks"] if c["part"] == part]
            general = [c for c in on_it if c["scope"] == "general"]
            scope = "general" if general else "instances"
            methods = " + ".join(dict.fromkeys(c["method"] for c in general or on_it))
            rows.append(("" if rows else "parts", f"{says}: {methods or 'no check'}, {scope}"))
        return rows

    def _rejections(self) -> list[str]:
        """The false numbers that were rejected, one for each check, with their witnesses."""
        found = {}
        for check in self.record["checks"]:
            for false in check["false"]:
                verb = "" if false["outcome"] == "refuted" else "NOT REJECTED "
                text = f"{verb}{_numbers(false['numbers'])}: {false['witness']}"
                found.setdefault(text.split(":")[0], text)
        return list(found.values())

    def evidence(self) -> list[tuple[str, str]]:
        """A line for each check: what it is, and what it found."""
        lines = []
        for check in self.record["checks"]:
            kind = f"{check['method']}, {check['scope']}"
            if len(self.claim.parts) > 1:
                kind += f", part {check['part']}"
            if check["alpha"]:
                kind += f", alpha {check['alpha']:.0e}"
            found = check["not_run"] or f"{check['claimed']['outcome']}: "
            found += check["claimed"]["witness"]
            values = check["claimed"]["values"].items()
            found += "".join(f"; {name} = {quantity['text']}" for name, quantity in values)
            for false in check["false"]:
                found += f". Rejected {_numbers(false['numbers'])}: {false['witness']}"
            found = readable(f"{check['summary']} {found}")
            lines.append((f"{check['name']} ({kind})", found))
        return lines

    def numbers(self) -> list[tuple[str, str]]:
        """The claimed numbers, as one gives them to ``bounds try``, and what each stands for."""
        claim = self.claim
        return [
            (name, f"{value}  ({claim.meaning[name]})" if name in claim.meaning else value)
            for name, value in claim.claimed.items()
        ]

    def __repr__(self) -> str:
        return self.text()

    def text(self, *, evidence: bool = False) -> str:
        """The card as plain text, with every check's finding if ``evidence``."""
        head, space = self.claim.id, WIDTH - len(self.claim.id) - len(self.headline)
        between = " " * space if space > 1 else "\n"  # a line of its own where one is too short
        lines = [head + between + self.headline, textwrap.fill(self.title + ".", WIDTH)]
        lines += [_row(label, text) for label, text in self.rows()]
        if evidence:
            for number, (name, text) in enumerate(self.numbers()):
                lines.append(_row("numbers" if number == 0 else "", f"{name} = {text}"))
            for name, text in self.evidence():
                lines += [_row("check", name), _row("", text)]
        return "\n".join(lines)

    def html(self, *, level: str = "div", statement: bool = False) -> str:
        """The card as HTML; colours come from the book's style sheet."""
        claim, link = self.claim, f"{START}/ledger.html#{self.claim.id}"
        methods = dict.fromkeys(c["method"] for c in self.record["checks"])
        methods = ["kernel", *methods] if self.word else methods
        headline = escape(self.headline)
        for method in methods:
            target = f'<a href="{START}/how_to_read.html#method-{method}">{method}</a>'
            headline = headline.replace(method, target, 1)
        rows = "".join(
            f"<dt>{escape(label)}</dt><dd>{escape(text)}</dd>" for label, text in self.rows()
        )
        checks = "".join(
            f"<dt><code>{escape(name)}</code></dt><dd>{escape(text)}</dd>"
            for name, text in self.evidence()
        )
        numbers = "".join(
            f"<dt><code>{escape(name)}</code></dt><dd>{escape(readable(text))}</dd>"
            for name, text in self.numbers()
        )
        numbers = f"<dt>What is claimed</dt><dd><dl>{numbers}</dl></dd>" if numbers else ""
        checks = numbers + checks
        folded = f"<details><summary>What each check found</summary><dl>{checks}</dl></details>"
        folded += statements(self.word) if self.word else ""
        return (
            f'<div class="claim-card verdict-{STYLES[self.record["verdict"]]}">'
            f'<div class="claim-head"><a class="claim-id" href="{link}">{claim.id}</a>'
            f'<span class="claim-verdict">{headline}</span></div>'
            f'<p class="claim-title">{escape(self.title)}.</p><dl>{rows}</dl>'
            f"{folded if checks or self.word else ''}</div>"
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": self.text(), "text/html": self.html()}


def card(name: str, effort: str = "quick") -> Card:
    """The verdict card of a claim, from the recorded baseline.

    Parameters
    ----------
    name : str
        Id of the claim.
    effort : {"quick", "full"}

    Raises
    ------
    ValueError
        If there is no such claim (the nearest names are suggested).
    """
    return card_of(find(name), recorded(effort))


def card_of(claim: Claim, records: dict[str, Record]) -> Card:
    """The card of a claim from given records; *not run* where it has none."""
    nothing = {"verdict": "not run", "scope": "instances", "checks": []}
    record = records.get(claim.id, nothing)
    return Card(claim, record, tuple(foundation(claim.id, records)), records, word(claim.id))


@dataclass(frozen=True)
class Statement:
    """The statement of a claim as a theorem box."""

    claim: Claim

    def _heading(self) -> str:
        source = self.claim.source
        origin = "ours" if source.provenance == "ours" else f"{source.where} of the source"
        return f"{self.claim.fill(self.claim.title)}; {origin}"

    def _body(self) -> str:
        return textwrap.dedent(self.claim.fill(self.claim.statement)).strip()

    def __repr__(self) -> str:
        return f"{self._heading()}\n\n{self._body()}"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        claim, body = self.claim, self._body()
        box = "````{prf:" + claim.kind + "} " + self._heading()
        box += f"\n:label: {claim.label}\n\n{body}\n````"
        html = f"<p><b>{claim.kind.capitalize()}</b> ({escape(self._heading())})</p>"
        html += f"<div>{escape(body)}</div>"
        return {"text/plain": repr(self), "text/markdown": box, "text/html": html}


def statement(name: str) -> Statement:
    """The statement of a claim, with its numbers filled in, as a labelled theorem."""
    return Statement(find(name))


def _chip(verdict: str, text: str | None = None) -> str:
    return f'<span class="verdict-chip verdict-{STYLES[verdict]}">{escape(text or verdict)}</span>'


def _chapter_link(claim: Claim, where: dict[str, str]) -> str:
    chapter = where.get(claim.id)
    return f"../{chapter}.html#{claim.label}" if chapter else f"{START}/ledger.html#{claim.id}"


def glance(effort: str = "quick") -> Page:
    """The headline theorems of each topic, and how many of its claims have which verdict."""
    records = recorded(effort)

    def told(topic: str) -> str:
        verdicts = [card_of(claim, records).record["verdict"] for claim in _claims(topic)]
        counts = [f"{verdicts.count(name)} {name}" for name in STYLES if name in verdicts]
        return f"{len(verdicts)} claims: {', '.join(counts)}"

    return _table(
        {topic: [find(name) for name in HEADLINES[topic]] for topic in TOPICS}, records, told
    )


def overview(effort: str = "quick") -> Page:
    """A table with a row for each claim."""
    return _table({topic: _claims(topic) for topic in TOPICS}, recorded(effort), lambda topic: "")


def _claims(topic: str) -> list[Claim]:
    return [claim for claim in all_claims().values() if claim.topic == topic]


def _table(claims: Mapping[str, list[Claim]], records: dict, told: Callable[[str], str]) -> Page:
    """Rows for the claims of topics, each topic under its title and what is told of it."""
    where = chapters()
    plain, rows = [], []
    for topic, chosen in claims.items():
        words = told(topic)
        if words:
            plain.append(f"{TOPIC_TITLES[topic]} ({words})")
        small = f"<br><small>{escape(words)}</small>" if words else ""
        rows.append(
            f'<tr class="topic"><th colspan="3">{escape(TOPIC_TITLES[topic])}{small}</th></tr>'
        )
        for claim in chosen:
            one = card_of(claim, records)
            parts = one.headline.split(" · ")
            plain.append(f"{one.headline:<46}{one.title}")
            rows.append(
                f"<tr><td>{_chip(one.record['verdict'])}</td>"
                f'<td><a href="{_chapter_link(claim, where)}">{escape(one.title)}</a></td>'
                f"<td>{escape(' · '.join(parts[1:]))}</td></tr>"
            )
    return Page("\n".join(plain), table(("verdict", "claim", "decided by"), rows))


def ledger_page(effort: str = "quick") -> Page:
    """Every claim with its card and a permanent link."""
    records, where = recorded(effort), chapters()
    cards = [card_of(claim, records) for claim in all_claims().values()]
    html = []
    for one in cards:
        link = f'<a href="{_chapter_link(one.claim, where)}">stated and derived here</a>'
        anchor = f'<a class="permalink" href="#{one.claim.id}" title="permanent link">#</a>'
        html.append(
            f'<section class="ledger-entry" id="{one.claim.id}">{one.html()}'
            f"<p>{anchor} {link}</p></section>"
        )
    return Page("\n\n".join(one.text(evidence=True) for one in cards), "".join(html))


def errata(effort: str = "quick") -> Page:
    """What the sources print and what is true instead, with the witness of each."""
    records, where = recorded(effort), chapters()
    columns = ("where", "printed or left open", "true instead", "witness")
    plain, rows, topic = [], [], ""
    for claim in all_claims().values():
        if not claim.as_printed:
            continue
        if claim.topic != topic:  # each has one source, whose numbering the links are in
            topic = claim.topic
            rows.append(
                f'<tr class="topic"><th colspan="4">{escape(TOPIC_TITLES[topic])}</th></tr>'
            )
        witness = _printed_witness(records.get(claim.id, {"checks": []}))
        printed, source = claim.as_printed, f"{claim.source.key}, {claim.source.where}"
        plain.append(
            "\n".join(
                [
                    source,
                    _row("printed" if printed.kind == "printed" else "left open", printed.says),
                    _row("true", printed.correct),
                    _row("witness", witness),
                    _row("claim", claim.id),
                ]
            )
        )
        link = f'<a href="{_chapter_link(claim, where)}">{escape(claim.source.where)}</a>'
        kind = "" if printed.kind == "printed" else "left open: "
        texts = (kind + printed.says, printed.correct, witness)
        cells = [link, *map(escape, texts)]
        rows.append(
            "<tr>"
            + "".join(
                f'<td data-label="{name}">{cell}</td>'
                for name, cell in zip(columns, cells, strict=True)
            )
            + "</tr>"
        )
    return Page("\n\n".join(plain), table(columns, rows))


def error_budget(effort: str = "quick") -> float:
    """Probability that some statistical verdict of the book is false: the sum over all checks."""
    return sum(record["alpha"] for record in recorded(effort).values())
