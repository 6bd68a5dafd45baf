"""Run claims, record what they found, compare a run with the recorded one, export."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from checks import claim as claims_module
from checks.claim import (
    EFFORTS,
    METHODS,
    TRUE_VERDICTS,
    Check,
    Claim,
    Judged,
    is_covered,
    judge,
    verdict,
)
from checks.evidence import DEFAULT_SEED, Evidence
from checks.finding import Finding, Quantity, undecided

SCHEMA = 1
BASELINES = Path(__file__).with_name("baselines")

Record = dict[str, Any]


# A run ----------------------------------------------------------------------------------------


def run_claim(claim: Claim, effort: str = "quick", seed: int = DEFAULT_SEED) -> Record:
    """Judge one claim and return its record (see `record_of`); its evidence is taken from disk."""
    started = time.perf_counter()
    judged = [_judge(check, effort, seed) for check in claim.checks]
    record = record_of(claim, judged)
    record["seconds"] = round(time.perf_counter() - started, 3)
    return record


def _judge(check: Check, effort: str, seed: int) -> Judged:
    """Judge; a check or evidence that raises is broken, and reported without stopping the run."""
    try:
        return judge(check, [evidence.get(effort, seed=seed) for evidence in check.uses])
    except Exception as error:
        traceback.print_exc()
        return Judged(check, undecided(f"raised {type(error).__name__}: {error}"), (), None)


def evidence_of(claims: Sequence[Claim]) -> list[Evidence]:
    """The evidence that the claims use, each once."""
    return list(dict.fromkeys(e for claim in claims for check in claim.checks for e in check.uses))


def run(
    claims: Sequence[Claim],
    *,
    effort: str = "quick",
    seed: int = DEFAULT_SEED,
    jobs: int = 1,
    fresh: bool = False,
    announce: Any = lambda text: None,
) -> Iterator[Record]:
    """Compute the evidence, then judge the claims; yield a record as each is decided.

    Parameters
    ----------
    claims : sequence of Claim
    effort : {"quick", "full"}
    seed : int
        Seed of all the evidence.
    jobs : int
        Worker processes, at least 1. The records do not depend on it.
    fresh : bool
        Recompute stored evidence.
    announce : callable
        Told in a line what is about to be done.

    Yields
    ------
    dict
        In the order of ``claims``.
    """
    if effort not in EFFORTS:
        raise ValueError(f"effort = {effort!r}: must be one of {EFFORTS}")
    if jobs < 1:
        raise ValueError(f"jobs = {jobs!r}: must be at least 1")
    needed = evidence_of(claims)
    for number, evidence in enumerate(needed, 1):
        announce(f"evidence {number}/{len(needed)}  {evidence.name}")
        try:
            evidence.get(effort, seed=seed, jobs=jobs, fresh=fresh)
        except ArithmeticError:
            traceback.print_exc()  # its checks will meet the same, and be undecided
    announce("")
    if jobs == 1 or len(claims) == 1:
        for claim in claims:
            announce(f"judging {claim.id}")
            yield run_claim(claim, effort, seed)
        return
    from joblib import Parallel, delayed

    tasks = (delayed(_run_by_id)(claim.id, effort, seed) for claim in claims)
    yield from Parallel(n_jobs=jobs, return_as="generator")(tasks)


def _run_by_id(claim_id: str, effort: str, seed: int) -> Record:
    """Entry point of a worker process, which imports the claims for itself."""
    return run_claim(claims_module.find(claim_id), effort, seed)


# Records --------------------------------------------------------------------------------------


def record_of(claim: Claim, judged: Sequence[Judged]) -> Record:
    """What a run found out about a claim, as plain data.

    Returns
    -------
    dict
        ``id``, ``verdict``, ``scope``, ``methods`` (general ones first, then by strength),
        ``toothless``, ``value``, ``margin``, ``alpha``, what is claimed (numbers, parts, what it rests
        on, a digest of the statement) and, for each check, what it found on each set of numbers.
    """
    ranked = sorted(
        judged, key=lambda one: (one.check.scope != "general", METHODS.index(one.check.method))
    )
    ran = [one for one in ranked if not one.not_run]
    quantities = [q for one in ran for q in one.claimed.values.values()]
    return {
        "id": claim.id,
        "verdict": verdict(claim, judged),
        "scope": "general" if is_covered(claim, ran) else "instances",
        "methods": list(dict.fromkeys(one.check.method for one in ran)),
        "toothless": any(one.toothless for one in judged),
        "value": quantities[0].text if quantities else "",
        "margin": next((one.claimed.margin for one in ran if one.claimed.margin), ""),
        "alpha": sum(one.check.alpha for one in ran),
        "claimed": dict(claim.claimed),
        "as_printed": dict(claim.as_printed.numbers) if claim.as_printed else {},
        "parts": list(claim.parts),
        "rests_on": list(claim.rests_on),
        "statement": hashlib.sha256(claim.statement.encode()).hexdigest()[:16],
        "checks": [_check_record(one) for one in ranked],
    }


def _check_record(one: Judged) -> Record:
    check = one.check
    return {
        "name": check.name,
        "method": check.method,
        "scope": check.scope,
        "part": check.part,
        "summary": check.summary,
        "alpha": check.alpha,
        "evidence": [evidence.name for evidence in check.uses],
        "not_run": one.not_run,
        "toothless": one.toothless,
        "claimed": _finding_record(one.claimed),
        "false": [
            {"numbers": dict(numbers), "outcome": finding.outcome, "witness": finding.witness}
            for numbers, finding in zip(check.false, one.false, strict=False)
        ],
        "as_printed": one.as_printed
        and {"outcome": one.as_printed.outcome, "witness": one.as_printed.witness},
    }


def _finding_record(finding: Finding) -> Record:
    return {
        "outcome": finding.outcome,
        "witness": finding.witness,
        "margin": finding.margin,
        "values": {name: vars(quantity) for name, quantity in finding.values.items()},
    }


def foundation(claim_id: str, records: Mapping[str, Record]) -> list[str]:
    """Claims below this one (through ``rests_on``) that do not hold, with their verdicts.

    Parameters
    ----------
    claim_id : str
    records : mapping of id to record
        Recorded or just computed; a claim without a record counts as not run.
    """
    known = claims_module.all_claims()
    weak, seen, todo = [], set(), list(known[claim_id].rests_on)
    while todo:
        below = todo.pop(0)
        if below in seen:
            continue
        seen.add(below)
        found = records.get(below, {}).get("verdict", "not run")
        if found not in TRUE_VERDICTS:
            weak.append(f"{below} ({found})")
        todo += known[below].rests_on if below in known else ()
    return weak


# The baseline ---------------------------------------------------------------------------------


def _checksum(efforts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(efforts, sort_keys=True).encode()).hexdigest()


def load_baseline(topic: str) -> dict[str, Any]:
    """The recorded efforts of a topic: effort -> {"reason", "seed", "claims": {id: record}}.

    Raises
    ------
    ValueError
        If the file is no baseline of this schema or was changed by anything but ``record``.
    """
    path = BASELINES / f"{topic}.json"
    if not path.exists():
        return {}
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        schema, efforts, checksum = stored["schema"], stored["efforts"], stored["checksum"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"baseline = {path}: is damaged ({error}); restore or record it") from None
    if schema != SCHEMA:
        raise ValueError(f"baseline = {path}: has schema {schema}, must be {SCHEMA}")
    if checksum != _checksum(efforts):
        raise ValueError(f"baseline = {path}: does not match its checksum; restore or record it")
    return efforts


def recorded(effort: str = "quick") -> dict[str, Record]:
    """Every recorded claim at an effort, by id."""
    found: dict[str, Record] = {}
    for topic in claims_module.TOPICS:
        found |= load_baseline(topic).get(effort, {}).get("claims", {})
    return found


def store_baseline(records: Sequence[Record], effort: str, seed: int, reason: str) -> list[Path]:
    """Write records into the baselines of their topics, keeping the others.

    Parameters
    ----------
    records : sequence of dict
    effort : str
    seed : int
    reason : str
        Why the baseline changes; not empty.

    Returns
    -------
    list of Path
        The files written.
    """
    if not reason.strip():
        raise ValueError("reason = '': must say why the baseline changes")
    written = []
    known = claims_module.all_claims()
    for topic in dict.fromkeys(record["id"].split(".")[0] for record in records):
        efforts = load_baseline(topic)
        kept = efforts.get(effort, {}).get("claims", {})
        if (
            kept
            and seed != efforts[effort]["seed"]
            and not kept.keys() <= {r["id"] for r in records}
        ):
            raise ValueError(
                f"seed = {seed}: the other claims of {topic} were recorded with "
                f"{efforts[effort]['seed']}; record all of them"
            )
        new = {r["id"]: r for r in records if r["id"].startswith(topic + ".")}
        merged = {key: (kept | new)[key] for key in known if key in kept | new}
        efforts[effort] = {"reason": reason, "seed": seed, "claims": merged}
        path = BASELINES / f"{topic}.json"
        content = {"schema": SCHEMA, "checksum": _checksum(efforts), "efforts": efforts}
        write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        written.append(path)
    return written


def write_text(path: Path, text: str) -> None:
    """Replace a file whole: a reader sees the old text or the new one, never a part."""
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():  # a pipe or a device is written to, never replaced
        path.write_text(text, encoding="utf-8")
        return
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def drift(record: Record, baseline: Record | None) -> list[str]:
    """How a run differs from the baseline; empty when it doesn't.

    What is claimed, and how it is decided, must be the same. Exact values must agree to the letter;
    enclosures and sampled intervals must overlap and be at most twice as wide. Run time never counts.
    """
    if baseline is None:
        return ["is not in the baseline"]
    found = []
    for key in _COMPARED:
        if record.get(key) != baseline.get(key):
            found.append(f"{key}: {record.get(key)!r}, recorded {baseline.get(key)!r}")
    now = {check["name"]: check for check in record["checks"]}
    then = {check["name"]: check for check in baseline["checks"]}
    for name in sorted(now.keys() ^ then.keys()):
        found.append(f"check {name}: {'new' if name in now else 'gone'}")
    for name in sorted(now.keys() & then.keys()):
        found += [f"{name}: {text}" for text in _check_drift(now[name], then[name])]
    return found


_COMPARED = (
    *("verdict", "scope", "methods", "toothless"),
    *("claimed", "as_printed", "parts", "rests_on", "statement"),
)


def _check_drift(now: Record, then: Record) -> Iterator[str]:
    for key in ("method", "scope", "part", "alpha", "evidence", "not_run"):
        if now[key] != then[key]:
            yield f"{key}: {now[key]!r}, recorded {then[key]!r}"
    for key in ("claimed", "as_printed"):
        outcomes = [side[key] and side[key]["outcome"] for side in (now, then)]
        if outcomes[0] != outcomes[1]:
            yield f"{key}: {outcomes[0]}, recorded {outcomes[1]}"
    rejected = [[f["numbers"] | {"outcome": f["outcome"]} for f in s["false"]] for s in (now, then)]
    if rejected[0] != rejected[1]:
        yield "the false numbers or their outcomes differ"
    values, old = now["claimed"]["values"], then["claimed"]["values"]
    for name in sorted(values.keys() ^ old.keys()):
        yield f"value {name!r}: {'new' if name in values else 'gone'}"
    for name in sorted(values.keys() & old.keys()):
        text = _value_drift(Quantity(**values[name]), Quantity(**old[name]))
        if text:
            yield f"value {name!r}: {text}"


def _value_drift(now: Quantity, then: Quantity) -> str:
    if now.kind != then.kind:
        return f"is {now.kind}, recorded {then.kind}"
    if now.kind == "exact":
        return "" if now == then else f"{now}, recorded {then}"
    low, high, old_low, old_high = (
        Fraction(end) for end in (now.low, now.high, then.low, then.high)
    )
    if low > old_high or high < old_low:
        return f"{now} does not meet the recorded {then}"
    if high - low > 2 * (old_high - old_low):
        return f"{now} is more than twice as wide as the recorded {then}"
    return ""


# Exports --------------------------------------------------------------------------------------


def complaints(
    record: Record, records: Mapping[str, Record], run: Sequence[Record] = ()
) -> list[str]:
    """Why a record fails a run.

    Parameters
    ----------
    record : dict
        The record of the run.
    records : mapping of id to record
        The baseline: the expected verdict, and the verdicts of what the claim rests on.
    run : sequence of dict
        Records of the same run: what the claim rests on is looked up here first, so that a lemma
        that breaks shows at once in all that rests on it.

    Returns
    -------
    list of str
        Another verdict than expected, a check without teeth, or a claim that is said to hold and
        rests on one that does not.
    """
    expected = records.get(record["id"], {}).get("verdict")
    found = []
    if record["verdict"] in TRUE_VERDICTS:
        weak = foundation(record["id"], {**records, **{one["id"]: one for one in run}})
        found += [f"holds, but rests on {below}" for below in weak]
    if expected is None:
        found.append("has no expected verdict: record it")
    elif record["verdict"] != expected:
        found.append(f"{record['verdict']}, expected {expected}")
    for check in record["checks"]:
        for false in check["false"]:
            if false["outcome"] != "refuted":
                numbers = ", ".join(f"{k} = {v}" for k, v in false["numbers"].items())
                found.append(f"toothless: {check['name']} does not reject {numbers}")
        if check["toothless"] and not check["false"]:
            found.append(f"toothless: {check['name']} judged no false statement")
    return found


def export(records: Sequence[Record], *, effort: str, seed: int) -> dict[str, Any]:
    """A run as plain data with a schema version, for ``--json``."""
    before, now = recorded(effort), {record["id"]: record for record in records}
    known = claims_module.all_claims()
    exported = []
    for record in records:
        previous = before.get(record["id"], {})
        exported.append(
            record
            | {
                "title": known[record["id"]].fill(known[record["id"]].title),
                "expected": previous.get("verdict"),
                "rests_on": list(known[record["id"]].rests_on),
                "unsupported": foundation(record["id"], before | now),
                "complaints": complaints(record, before, records),
            }
        )
    return {"schema": SCHEMA, "effort": effort, "seed": seed, "claims": exported}


def junit(exported: Mapping[str, Any]) -> str:
    """A run as JUnit XML: a claim is a test case, a complaint a failure."""
    cases = exported["claims"]
    suite = ElementTree.Element(
        "testsuite",
        name=f"claims ({exported['effort']})",
        tests=str(len(cases)),
        failures=str(sum(bool(case["complaints"]) for case in cases)),
        errors="0",
    )
    for case in cases:
        topic, name = case["id"].split(".")
        node = ElementTree.SubElement(
            suite, "testcase", classname=topic, name=name, time=str(case["seconds"])
        )
        if case["complaints"]:
            text = "; ".join(case["complaints"])
            ElementTree.SubElement(node, "failure", message=text).text = text
        output = ElementTree.SubElement(node, "system-out")
        output.text = f"{case['verdict']}: {case['title']} {case['value']}"
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
