"""The command line: ``python -m checks`` or ``bounds``.

Exit status 0: every verdict is the expected one and no check is toothless; 1: some are not;
2: the call cannot be carried out (unknown claim, bad number, damaged file).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from checks import ledger
from checks.claim import EFFORTS, PROVED, Claim, all_claims, find, select
from checks.display import card_of, error_budget
from checks.evidence import DEFAULT_SEED
from checks.finding import is_number, one_of


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # a learner of the user's own lies in the working directory
    options = _parser().parse_args(argv)
    try:
        return options.command(options)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="checks", description="Decide the claims of Bounds That Hold."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name, function, text):
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=function)
        return sub

    sub = command("list", _list, "the claims and their recorded verdicts")
    sub.add_argument("claims", nargs="*", metavar="TOPIC|CLAIM")
    sub.add_argument("--json", action="store_true", help="as JSON on standard output")
    sub.add_argument("--effort", choices=EFFORTS, default="quick")

    sub = command("run", _run, "decide claims and compare their verdicts with the expected ones")
    _add_run_options(sub)

    sub = command("show", _show, "one claim: statement, numbers, evidence, what it rests on")
    sub.add_argument("claim", metavar="CLAIM")
    sub.add_argument("--effort", choices=EFFORTS, default="quick")

    sub = command("try", _try, "judge your own numbers")
    sub.add_argument("claim", metavar="CLAIM")
    sub.add_argument("numbers", nargs="+", metavar="NUMBER=VALUE")
    sub.add_argument("--effort", choices=EFFORTS, default="quick")

    sub = command("diff", _diff, "run, and compare every verdict and value with the baseline")
    _add_run_options(sub)

    sub = command("audit", _audit, "a learner of your own against the claims about any learner")
    sub.add_argument("learner", metavar="MODULE:LEARNER", help="or FILE.py:LEARNER, or a built-in")
    sub.add_argument("--rates", required=True, help="service rates, such as 0.5,0.1,0.3")
    sub.add_argument("--horizon", required=True, type=int, help="steps of a run")
    sub.add_argument("--replications", type=int, default=40)
    sub.add_argument(
        "--within", type=float, default=0.01, help="regret per step that counts as none"
    )
    sub.add_argument("--seed", type=int, default=1)
    sub.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    sub.add_argument("--json", metavar="FILE", type=Path, help="write the audit as JSON")

    sub = command("record", _record, "run, and make the result the baseline")
    _add_run_options(sub)
    sub.add_argument("--reason", required=True, help="why the baseline changes")
    return parser


def _add_run_options(sub: argparse.ArgumentParser) -> None:
    sub.add_argument("claims", nargs="*", metavar="TOPIC|CLAIM", help="all of them by default")
    sub.add_argument("--effort", choices=EFFORTS, default="quick")
    sub.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    sub.add_argument("--seed", type=int, default=DEFAULT_SEED)
    sub.add_argument("--fresh", action="store_true", help="recompute stored evidence")
    sub.add_argument("--json", metavar="FILE", type=Path, help="write the run as JSON")
    sub.add_argument("--junit", metavar="FILE", type=Path, help="write the run as JUnit XML")


# Reading --------------------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> int:
    claims, records = select(options.claims), ledger.recorded(options.effort)
    if options.json:
        shown = [
            {
                "id": claim.id,
                "title": claim.fill(claim.title),
                "source": vars(claim.source),
                "claimed": claim.claimed,
                "verdict": records.get(claim.id, {}).get("verdict", "not run"),
                "value": records.get(claim.id, {}).get("value", ""),
            }
            for claim in claims
        ]
        print(json.dumps({"schema": ledger.SCHEMA, "claims": shown}, indent=1, ensure_ascii=False))
        return 0
    for claim in claims:
        verdict = records.get(claim.id, {}).get("verdict", "not run")
        print(f"{verdict:<19} {claim.id:<32} {claim.fill(claim.title)}")
    return 0


def _show(options: argparse.Namespace) -> int:
    claim, records = find(options.claim), ledger.recorded(options.effort)
    shown = card_of(claim, records)
    print(shown.text(evidence=True))
    print("\n" + claim.fill(claim.statement).strip())
    values = [
        (check["name"], name, quantity)
        for check in shown.record["checks"]
        for name, quantity in check["claimed"]["values"].items()
    ]
    if values:
        print("\nvalues, to all certified digits")
        for check, name, quantity in values:
            print(f"  {name} = {quantity['text']}  ({quantity['kind']}, {check})")
            if quantity["kind"] == "exact" and quantity["low"] not in quantity["text"]:
                print(f"    {quantity['low']}")
    return 0


# Running --------------------------------------------------------------------------------------


class _Progress:
    """One line of progress on a terminal, nothing elsewhere."""

    def __init__(self) -> None:
        self.live = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        if self.live:
            print(f"\r\033[K{text[:100]}", end="", file=sys.stderr, flush=True)


def _execute(options: argparse.Namespace) -> tuple[list[ledger.Record], bool]:
    """Run what the options ask for, printing each verdict; also whether it was interrupted."""
    claims, progress, done = select(options.claims), _Progress(), []
    records = ledger.run(
        claims,
        effort=options.effort,
        seed=options.seed,
        jobs=options.jobs,
        fresh=options.fresh,
        announce=progress,
    )
    expected = ledger.recorded(options.effort)
    interrupted = False
    try:
        for record in records:
            done.append(record)
            progress("")
            wrong = ledger.complaints(record, expected)
            _print_line(record, wrong)
    except KeyboardInterrupt:
        interrupted = True
        progress("")
        print(f"interrupted: {len(done)} of {len(claims)} claims were decided", file=sys.stderr)
    exported = ledger.export(done, effort=options.effort, seed=options.seed)
    if options.json:
        text = json.dumps(exported, indent=1, ensure_ascii=False) + "\n"
        ledger.write_text(options.json, text)
    if options.junit:
        ledger.write_text(options.junit, ledger.junit(exported))
    return done, interrupted


def _print_line(record: ledger.Record, complaints: Sequence[str]) -> None:
    how = f"{'+'.join(record['methods'])} · {record['scope']}"
    line = f"{record['verdict']:<19} {record['id']:<32} {how:<36} {record['seconds']:6.2f} s"
    print(line + (f"  {record['value'][:48]}" if record["value"] else ""), flush=True)
    for text in complaints:
        print(f"    FAILS: {text}", flush=True)


def _run(options: argparse.Namespace) -> int:
    done, interrupted = _execute(options)
    expected = ledger.recorded(options.effort)
    bad = [record for record in done if ledger.complaints(record, expected)]
    alpha = sum(record["alpha"] for record in done)
    print(
        f"{len(done)} claims, {len(bad)} with another verdict than expected or a toothless check; "
        f"statistical error at most {alpha:.1e}"
    )
    return 130 if interrupted else int(bool(bad))


def _diff(options: argparse.Namespace) -> int:
    done, interrupted = _execute(options)
    before = ledger.recorded(options.effort)
    drifted = {record["id"]: ledger.drift(record, before.get(record["id"])) for record in done}
    drifted = {key: found for key, found in drifted.items() if found}
    for key, found in drifted.items():
        print(f"{key} differs from the baseline")
        for text in found:
            print(f"    {text}")
    whole = not options.claims and not interrupted
    gone = sorted(before.keys() - {r["id"] for r in done} - all_claims().keys()) if whole else []
    for key in gone:
        print(f"{key} is in the baseline but is no claim")
    failing = [record["id"] for record in done if ledger.complaints(record, before)]
    print(f"{len(done)} claims, {len(drifted) + len(gone)} differ from the baseline")
    return 130 if interrupted else int(bool(drifted or gone or failing))


def _record(options: argparse.Namespace) -> int:
    if not options.reason.strip():
        raise ValueError("reason = '': must say why the baseline changes")
    done, interrupted = _execute(options)
    if interrupted:
        print("nothing was recorded", file=sys.stderr)
        return 130
    unfit = [r["id"] for r in done if r["toothless"] or r["verdict"] == "undecided"]
    if unfit:
        raise ValueError(f"{', '.join(unfit)}: undecided or toothless; nothing was recorded")
    for record in done:
        record.pop("seconds")
    for path in ledger.store_baseline(done, options.effort, options.seed, options.reason):
        print(f"recorded {path.name}")
    print(f"statistical error of the whole book at most {error_budget(options.effort):.1e}")
    return 0


def _audit(options: argparse.Namespace) -> int:
    from checks.audit import audit, load_learner, parse_rates

    rates = parse_rates(options.rates)
    learner = load_learner(options.learner, horizon=options.horizon, rates=rates)
    found = audit(
        learner,
        rates,
        options.horizon,
        replications=options.replications,
        within=options.within,
        seed=options.seed,
        jobs=options.jobs,
    )
    print(found)
    if options.json:
        ledger.write_text(options.json, json.dumps(found.as_dict(), indent=1) + "\n")
    return 0 if found.passed else 1


def _try(options: argparse.Namespace) -> int:
    claim = find(options.claim)
    numbers = dict(claim.claimed)
    for pair in options.numbers:
        name, equals, value = pair.partition("=")
        if not equals or not value:
            raise ValueError(f"{pair!r}: must read NUMBER=VALUE")
        if name not in numbers:
            known = ", ".join(f"{key} (claimed {text})" for key, text in claim.claimed.items())
            raise ValueError(f"{name} = {value!r}: {claim.id} has the numbers {known or 'none'}")
        numbers[name] = _permitted(claim, name, value)
    changed = {key for key, value in numbers.items() if value != claim.claimed[key]}
    outcomes = [
        _judge_numbers(claim, check, numbers, options.effort)
        for check in claim.checks
        if not changed or changed & set(check.parameters)
    ]
    return 0 if outcomes and all(outcome == PROVED for outcome in outcomes) else 1


def _permitted(claim: Claim, name: str, value: str) -> str:
    """The value given, if it is a number like the claimed one or a variant that the claim names."""
    if "," in claim.claimed[name] or is_number(claim.claimed[name]):
        return value
    printed = claim.as_printed.numbers if claim.as_printed else {}
    sets = [claim.claimed, printed, *(wrong for check in claim.checks for wrong in check.false)]
    variants = list(dict.fromkeys(numbers[name] for numbers in sets if name in numbers))
    return one_of(name, value, *variants)


def _judge_numbers(claim: Claim, check, numbers: dict[str, str], effort: str) -> str:
    found = [evidence.get(effort) for evidence in check.uses]
    try:
        finding = check.decide(numbers, found)
    except (ValueError, ZeroDivisionError, TypeError, SyntaxError, KeyError) as error:
        given = ", ".join(f"{key} = {numbers[key]}" for key in check.parameters)
        raise ValueError(
            f"{given}: {check.name} cannot judge that ({error}); "
            f"a number of the kind claimed is needed, such as {claim.claimed}"
        ) from None
    print(f"{finding.outcome:<10} {check.name} ({check.method}, {check.scope}): {finding.witness}")
    return finding.outcome


if __name__ == "__main__":
    sys.exit(main())
