"""What a check reports: proved, refuted or undecided, with numbers that a later run can compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction

PROVED, REFUTED, UNDECIDED = "proved", "refuted", "undecided"
DIGITS = 12  # shown after the point where an exact value is too long to read


@dataclass(frozen=True)
class Quantity:
    """A number as a check knows it.

    Attributes
    ----------
    kind : {"exact", "enclosure", "estimate"}
        A rational or an algebraic string; a proved interval; a sampled interval.
    text : str
        How it is printed.
    low, high : str
        Decimal or rational ends of the interval; both equal the value when it is exact.
    """

    kind: str
    text: str
    low: str
    high: str

    def __post_init__(self) -> None:
        if self.kind not in ("exact", "enclosure", "estimate"):
            raise ValueError(f"kind = {self.kind!r}: must be exact, enclosure or estimate")

    def __str__(self) -> str:
        return self.text


def decimal(value: Fraction | int | str, digits: int = DIGITS) -> str:
    """A rational rounded to ``digits`` places after the point, as text.

    Parameters
    ----------
    value : Fraction, int or str
    digits : int
        At least 1.
    """
    value = Fraction(value)
    with localcontext() as context:
        context.prec = digits + 30
        quotient = Decimal(value.numerator) / Decimal(value.denominator)
        return f"{quotient:.{digits}f}"


def truncated(value: Fraction | int | str, digits: int) -> str:
    """A non-negative rational cut off (not rounded) after ``digits`` places, as text."""
    whole = int(Fraction(value) * 10**digits)
    return f"{whole // 10**digits}.{whole % 10**digits:0{digits}d}"


def exact(value: Fraction | int | str, digits: int = DIGITS) -> Quantity:
    """An exactly known value: a rational, or any other value as its canonical string."""
    if isinstance(value, str):
        return Quantity("exact", value, value, value)
    name = str(value)
    if "/" not in name:
        text = name
    elif len(name) <= 30:
        text = f"{name} = {decimal(value, digits)}"
    else:
        text = decimal(value, digits) + " (exact rational)"
    return Quantity("exact", text, name, name)


def enclosure(low: Fraction | str, high: Fraction | str, digits: int = 40) -> Quantity:
    """A proved interval [low, high], printed as the digits that both ends share.

    Raises
    ------
    ValueError
        If ``low > high``.
    """
    low_text, high_text = (decimal(Fraction(end), digits + 10) for end in (low, high))
    if Fraction(low) > Fraction(high):
        raise ValueError(f"low = {low}: must be at most high = {high}")
    shared = 0
    while shared < len(low_text) and low_text[: shared + 1] == high_text[: shared + 1]:
        shared += 1
    # at least two places after the point, however long the number is before it
    text = low_text[: min(shared, max(digits + 2, low_text.find(".") + 3))]
    if "." not in text or text.endswith("."):
        text = f"[{low_text}, {high_text}]"
    else:
        text += "..."
    return Quantity("enclosure", text, str(low), str(high))


def estimate(value: float, low: float, high: float, digits: int = 5) -> Quantity:
    """A sampled value with its interval."""
    text = f"{value:.{digits}f} in [{low:.{digits}f}, {high:.{digits}f}]"
    return Quantity("estimate", text, repr(float(low)), repr(float(high)))


@dataclass(frozen=True)
class Finding:
    """The outcome of a check on one set of numbers.

    Attributes
    ----------
    outcome : {"proved", "refuted", "undecided"}
    witness : str
        One line. For *refuted* the counterexample (required), otherwise what decided it.
    margin : str
        How far the numbers are from the nearest ones that would fail.
    values : mapping of str to Quantity
        Named quantities, compared with the baseline by later runs.
    """

    outcome: str
    witness: str = ""
    margin: str = ""
    values: Mapping[str, Quantity] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.outcome not in (PROVED, REFUTED, UNDECIDED):
            raise ValueError(f"outcome = {self.outcome!r}: must be proved, refuted or undecided")
        if self.outcome == REFUTED and not self.witness:
            raise ValueError("witness = '': a refutation must show its witness")


def proved(witness: str = "", *, margin: str = "", **values: Quantity) -> Finding:
    """The numbers are right; `witness` says in a line what decided it."""
    return Finding(PROVED, witness, margin, values)


def refuted(witness: str, *, margin: str = "", **values: Quantity) -> Finding:
    """The numbers are wrong, and `witness` is the counterexample."""
    return Finding(REFUTED, witness, margin, values)


def undecided(reason: str, **values: Quantity) -> Finding:
    """The tool could not tell; `reason` says why."""
    return Finding(UNDECIDED, reason, "", values)


def decide(truth: bool, yes: str, no: str, *, margin: str = "", **values: Quantity) -> Finding:
    """Turn the answer of an exact decision into a finding."""
    return proved(yes, margin=margin, **values) if truth else refuted(no, margin=margin, **values)


def settle(holds: bool, fails: bool, told: str, wrong: str = "", /, **values: Quantity) -> Finding:
    """Turn two certified comparisons into a finding: where neither is shown, nothing is decided.

    Parameters
    ----------
    holds, fails : bool
        Whether the claimed relation, and whether its contrary, is shown.
    told : str
        The witness.
    wrong : str
        Replaces it in a refutation.
    **values : Quantity

    Raises
    ------
    ValueError
        If both are shown, which no comparison of enclosures of one number can do.
    """
    if holds and fails:
        raise ValueError(f"holds = True: cannot be shown together with its contrary ({told})")
    if holds:
        return proved(told, **values)
    return refuted(wrong or told, **values) if fails else undecided(told, **values)


def is_number(text: str) -> bool:
    """Whether a claimed text is a rational number, such as ``0.77`` or ``97/160``."""
    try:
        Fraction(text)
    except (ValueError, ZeroDivisionError):
        return False
    return True


def one_of(name: str, value: str, *allowed: str) -> str:
    """A named variant of a statement, checked: anything else is a ``ValueError``, never a verdict."""
    if value not in allowed:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(map(repr, allowed))}")
    return value


def combine(findings: Iterable[Finding], summary: str = "") -> Finding:
    """All parts must be proved; one refuted part refutes, else one undecided part decides nothing.

    Parameters
    ----------
    findings : iterable of Finding
        At least one; their values are merged (names must differ).
    summary : str
        Replaces the witness when everything is proved.
    """
    parts = list(findings)
    if not parts:
        raise ValueError("findings = []: at least one finding is needed")
    values = {name: quantity for part in parts for name, quantity in part.values.items()}
    for outcome in (REFUTED, UNDECIDED):
        found = [part for part in parts if part.outcome == outcome]
        if found:
            return Finding(outcome, found[0].witness, found[0].margin, values)
    witness = summary or "; ".join(part.witness for part in parts if part.witness)
    margin = next((part.margin for part in parts if part.margin), "")
    return Finding(PROVED, witness, margin, values)
