"""Claims are data; checks decide them; verdicts are computed, never typed."""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from checks.finding import PROVED, REFUTED, UNDECIDED, Finding, truncated, undecided

if TYPE_CHECKING:
    from checks.evidence import Evidence

TOPICS = ("recharge", "strategic", "contextual", "admission")
METHODS = ("kernel", "symbolic", "exact", "smt", "certified", "statistical", "reproduced")
SCOPES = ("general", "instances")
PROVENANCES = ("stated", "reconstructed", "ours")
EFFORTS = ("quick", "full")
TRUE_VERDICTS = ("holds", "holds as corrected")
MAX_ALPHA = 1e-6

Numbers = dict[str, str]

PLACE = re.compile(r"<<(\w+)(?::(\w+))?>>")


def written(number: str, form: str) -> str:
    """A claimed number the way a statement shows it.

    Parameters
    ----------
    number : str
    form : str
        Empty for the number itself; ``frac`` for its fractions as TeX; ``cells`` for a list (of lists,
        if it has semicolons) as cells of a table; a number of places for a nonnegative fraction, cut
        off after them, in TeX.

    Raises
    ------
    ValueError
        For any other form.
    """
    if not form:
        return number
    if form == "frac":
        return re.sub(r"(\d+)/(\d+)", r"\\tfrac{\1}{\2}", number)
    if form == "cells":
        return " | ".join(number.split("; " if "; " in number else ", "))
    if not re.fullmatch(r"[1-9]\d*", form):
        raise ValueError(f"form = {form!r}: must be frac, cells or a number of places")
    if number.startswith("-"):
        raise ValueError(f"number = {number!r}: must not be negative to be cut off")
    return truncated(number, int(form)) + r"\dots"


@dataclass(frozen=True)
class Source:
    """Where a statement comes from.

    Attributes
    ----------
    key : str
        Key in ``references.bib``.
    where : str
        Number of the theorem or section there.
    provenance : {"stated", "reconstructed", "ours"}
        Printed there; rebuilt because the display is lost; or beyond the source.
    """

    key: str
    where: str
    provenance: str = "stated"

    def __post_init__(self) -> None:
        if self.provenance not in PROVENANCES:
            raise ValueError(f"provenance = {self.provenance!r}: must be one of {PROVENANCES}")


@dataclass(frozen=True)
class Printed:
    """What the source says where it differs from what is true.

    Attributes
    ----------
    numbers : dict
        The printed numbers, judged by the same checks as the claimed ones.
    says : str
        The printed statement, in a line of our own words.
    correct : str
        What is true instead, in a line.
    kind : {"printed", "unspecified"}
        The source says it; or it leaves a convention open, and read this way the statement is false.
        Only what is printed makes a claim hold *as corrected*.
    """

    numbers: Numbers
    says: str
    correct: str
    kind: str = "printed"

    def __post_init__(self) -> None:
        if self.kind not in ("printed", "unspecified"):
            raise ValueError(f"kind = {self.kind!r}: must be printed or unspecified")


@dataclass(frozen=True)
class Check:
    """One way to decide a claim: a judge, its method and scope, and its false numbers."""

    claim: Claim
    judge: Callable[..., Finding]
    method: str
    scope: str
    false: tuple[Numbers, ...]
    part: str
    uses: tuple[Evidence, ...]
    alpha: float
    reads: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.judge.__name__

    @property
    def summary(self) -> str:
        """First paragraph of the judge's docstring, as one line."""
        return " ".join((inspect.getdoc(self.judge) or "").split("\n\n")[0].split())

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the numbers that the judge looks at."""
        if self.reads:
            return self.reads
        return tuple(inspect.signature(self.judge).parameters)[len(self.uses) :]

    def decide(self, numbers: Mapping[str, str], evidence: Sequence[Any] = ()) -> Finding:
        """Judge one set of numbers (those the judge does not look at are ignored)."""
        arguments = {name: numbers[name] for name in self.parameters}
        return self.judge(*evidence, **arguments)


@dataclass(eq=False)
class Claim:
    """A statement of the book.

    Parameters
    ----------
    id : str
        ``topic.snake_case_name``; used in the registry, the theorem's label, the baseline, the URL.
    title : str
        One sentence. ``<<name>>`` is replaced by the claimed number of that name, ``<<name:form>>`` by
        that number in a form of `written`.
    statement : str
        LaTeX (Markdown with ``$``) with all hypotheses; same placeholders.
    source : Source
    claimed : dict of str to str
        The numbers (or named variants) claimed, as exact text.
    rests_on : sequence of str
        Ids of the claims that the proof uses.
    parts : dict of str to str
        What must be proved in general for the claim to hold; by default one part, the statement.
    as_printed : Printed, optional
        What the source prints where that is wrong.
    open : str
        The reason why the claim (or a named rest of it) has no proof; empty when it has one.
    uncovered : str
        What no check of the claim reaches; shown on its card.
    meaning : dict of str to str
        What a claimed number stands for, in a few words, where the statement does not show it.
    kind : str
        The kind of box that states it in the book (``theorem``, ``lemma``, ``proposition``, ...).
    """

    id: str
    title: str
    statement: str
    source: Source
    claimed: Numbers = field(default_factory=dict)
    rests_on: Sequence[str] = ()
    parts: Mapping[str, str] = field(default_factory=lambda: {"statement": ""})
    as_printed: Printed | None = None
    open: str = ""
    uncovered: str = ""
    meaning: Mapping[str, str] = field(default_factory=dict)
    kind: str = "theorem"
    checks: list[Check] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z]+\.[a-z0-9_]+", self.id):
            raise ValueError(f"id = {self.id!r}: must read topic.snake_case_name")
        if self.id in _REGISTRY:
            raise ValueError(f"id = {self.id!r}: is already taken")
        for name in self.shown:
            if name not in self.claimed:
                raise ValueError(f"claimed: {self.id} names <<{name}>> but does not claim it")
        if not set(self.meaning) <= set(self.claimed):
            raise ValueError(f"meaning: names of {self.id} must be among {set(self.claimed)}")
        if not self.parts:
            raise ValueError(f"parts = {{}}: {self.id} must have at least one part")
        if self.as_printed and not set(self.as_printed.numbers) <= set(self.claimed):
            raise ValueError(f"as_printed: names of {self.id} must be among {set(self.claimed)}")
        _REGISTRY[self.id] = self

    @property
    def topic(self) -> str:
        return self.id.split(".")[0]

    @property
    def shown(self) -> set[str]:
        """Names of the numbers that title and statement show."""
        return {name for name, _ in PLACE.findall(self.title + self.statement)}

    @property
    def label(self) -> str:
        """The label of the theorem in the book."""
        return self.id.replace(".", "-").replace("_", "-")

    def fill(self, text: str) -> str:
        """Put the claimed numbers in the place of ``<<name>>`` and ``<<name:form>>``."""
        return PLACE.sub(lambda match: written(self.claimed[match[1]], match[2] or ""), text)

    def check(
        self,
        *,
        method: str,
        scope: str,
        false: Numbers | Sequence[Numbers],
        part: str | None = None,
        uses: Evidence | Sequence[Evidence] = (),
        alpha: float = 0.0,
        reads: Sequence[str] = (),
    ) -> Callable[[Callable[..., Finding]], Callable[..., Finding]]:
        """Register a judge. Its parameters, after the evidence it uses, are names of numbers.

        Parameters
        ----------
        method : str
            One of ``METHODS``.
        scope : {"general", "instances"}
        false : dict, or sequence of dicts
            The nearest false statement(s), as changes to the claimed numbers; each must be refuted.
        part : str, optional
            The part of the claim it decides (by default the only one).
        uses : Evidence, or sequence of them
            Passed to the judge first, in this order.
        alpha : float
            Probability of a false verdict of a statistical check, in (0, 1e-6].
        reads : sequence of str
            Names of the numbers of a judge that takes them as ``**numbers``.

        Raises
        ------
        ValueError
            Naming the argument that is wrong.
        """
        false_sets = (false,) if isinstance(false, Mapping) else tuple(false)
        uses = tuple(uses) if isinstance(uses, Sequence) else (uses,)
        part = next(iter(self.parts)) if part is None else part
        if method not in METHODS:
            raise ValueError(f"method = {method!r}: must be one of {METHODS}")
        if scope not in SCOPES:
            raise ValueError(f"scope = {scope!r}: must be one of {SCOPES}")
        if method in ("statistical", "reproduced") and scope == "general":
            raise ValueError("scope = 'general': a simulation decides instances only")
        if part not in self.parts:
            raise ValueError(f"part = {part!r}: must be one of {tuple(self.parts)}")
        if not false_sets or not all(false_sets):
            raise ValueError(f"false: a check of {self.id} needs its nearest false statement")
        for numbers in false_sets:
            if not set(numbers) <= set(self.claimed):
                raise ValueError(f"false = {numbers}: names must be among {tuple(self.claimed)}")
            if all(self.claimed[name] == number for name, number in numbers.items()):
                raise ValueError(f"false = {numbers}: is what {self.id} claims")
        if (method == "statistical") != (0 < alpha <= MAX_ALPHA):
            raise ValueError(f"alpha = {alpha}: must be in (0, {MAX_ALPHA}] if statistical, else 0")

        def register(judge: Callable[..., Finding]) -> Callable[..., Finding]:
            new = Check(self, judge, method, scope, false_sets, part, uses, alpha, tuple(reads))
            unknown = set(new.parameters) - set(self.claimed)
            if unknown:
                raise ValueError(f"{judge.__name__}: {sorted(unknown)} are no numbers of {self.id}")
            if any(not set(numbers) & set(new.parameters) for numbers in false_sets):
                raise ValueError(f"{judge.__name__}: never looks at its false numbers")
            self.checks.append(new)
            return judge

        return register


_REGISTRY: dict[str, Claim] = {}


def all_claims() -> dict[str, Claim]:
    """Every claim of every topic, by id, in the order of the files."""
    for topic in TOPICS:
        importlib.import_module(f"checks.{topic}")
    return dict(_REGISTRY)


def find(name: str) -> Claim:
    """The claim of that id (the topic may be left out where the rest is unique).

    Raises
    ------
    ValueError
        If there is none; the message suggests the nearest names.
    """
    claims = all_claims()
    if name in claims:
        return claims[name]
    short = [claim for key, claim in claims.items() if key.split(".")[1] == name]
    if len(short) == 1:
        return short[0]
    shorts = {key.split(".")[1]: key for key in claims}
    near = difflib.get_close_matches(name, [*claims, *shorts], n=3, cutoff=0.4)
    near = list(dict.fromkeys(shorts.get(key, key) for key in near))
    hint = f"; did you mean {', '.join(near)}?" if near else "; `list` shows them all"
    raise ValueError(f"claim = {name!r}: there is no claim of that name{hint}")


def select(names: Sequence[str]) -> list[Claim]:
    """The claims named by topics or ids; all of them for no name."""
    claims = all_claims()
    if not names:
        return list(claims.values())
    chosen: dict[str, Claim] = {}
    for name in names:
        if name in TOPICS:
            chosen |= {key: claim for key, claim in claims.items() if claim.topic == name}
        else:
            claim = find(name)
            chosen[claim.id] = claim
    return list(chosen.values())


@dataclass(frozen=True)
class Judged:
    """A check after its run: what it found on each set of numbers."""

    check: Check
    claimed: Finding
    false: tuple[Finding, ...]
    as_printed: Finding | None
    not_run: str = ""

    @property
    def toothless(self) -> bool:
        """Whether some false numbers were not rejected (or not even judged)."""
        if self.not_run:
            return False
        rejected = [found for found in self.false if found.outcome == REFUTED]
        return len(rejected) < len(self.check.false)


def judge(check: Check, evidence: Sequence[Any] = ()) -> Judged:
    """Run a check on the claimed, the false and (where it applies) the printed numbers."""
    claim = check.claim
    try:
        claimed = check.decide(claim.claimed, evidence)
        false = tuple(check.decide(claim.claimed | wrong, evidence) for wrong in check.false)
        printed = None
        if claim.as_printed and set(claim.as_printed.numbers) & set(check.parameters):
            printed = check.decide(claim.claimed | claim.as_printed.numbers, evidence)
    except ModuleNotFoundError as missing:
        return Judged(check, undecided(str(missing)), (), None, str(missing))
    return Judged(check, claimed, false, printed)


def verdict(claim: Claim, judged: Sequence[Judged]) -> str:
    """The verdict that follows from what the checks found.

    A refuted check refutes (*not reproduced* when it was a published number); an undecided one
    leaves the claim undecided; *holds* needs every part proved by a general check, and every claimed
    number looked at by one; *as corrected* needs the printed numbers refuted besides. What rests on
    instances only is *supported*, and stays *open* where the claim says so. A claim that would be
    covered if a tool were not missing is *not run*.
    """
    ran = [one for one in judged if not one.not_run]
    wrong = [one for one in ran if one.claimed.outcome == REFUTED]
    if wrong:
        reproduced = all(one.check.method == "reproduced" for one in wrong)
        return "not reproduced" if reproduced else "refuted"
    if any(one.claimed.outcome == UNDECIDED for one in ran):
        return "undecided"
    if len(ran) < len(judged) and not is_covered(claim, ran) and is_covered(claim, judged):
        return "not run"
    if is_covered(claim, ran) and not claim.open:
        if claim.as_printed is None or claim.as_printed.kind == "unspecified":
            return "holds"
        printed = [one.as_printed.outcome for one in ran if one.as_printed]
        return "holds as corrected" if REFUTED in printed and PROVED not in printed else "undecided"
    if claim.open:
        return "open"
    return "supported" if ran else "not run"


def is_covered(claim: Claim, ran: Sequence[Judged]) -> bool:
    """Whether general checks reach every part of a claim and every number that it claims."""
    general = [one.check for one in ran if one.check.scope == "general"]
    numbers = {name for check in general for name in check.parameters}
    return {check.part for check in general} >= set(claim.parts) and numbers >= set(claim.claimed)
