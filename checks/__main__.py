"""The command line: ``bounds``, or ``python -m checks``."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from checks import ledger
from checks.claim import EFFORTS, Claim, all_claims, find, select
from checks.display import card_of, error_budget
from checks.evidence import DEFAULT_SEED
from checks.finding import PROVED, REFUTED, is_number, one_of
from checks.methods import coq
from checks.methods.kernel_record import words
from checks.proofs import pinned_text

if TYPE_CHECKING:
    from checks.methods.kernel import Result

EPILOG = """\
examples:
  bounds list                                    the claims and their verdicts
  bounds show competitive_ratio                  one of them, with its evidence
  bounds try competitive_ratio constant=0.7702   judge a number of your own
  bounds run recharge --effort full              decide a topic at the papers' scale
  bounds audit my.py:Mine --rates 0.5,0.1,0.3 --horizon 100000
  bounds capacity --arrivals 0.59 --services 0.5,0.1,0.3 --learning-rate 0.001
  bounds kernel hamacher_lower_bound             have Coq check its proof

exit status:
  0  every verdict is the expected one and every check rejects its false statements
     (try: every check proves the number; audit: hypothesis and conclusion are met;
     capacity: the arrivals are guaranteed; kernel: Coq accepts every theorem, or is not
     installed and COQ_REQUIRED=1 is not set)
  1  it is not so
  2  the call cannot be carried out: an unknown claim, a bad number, a damaged file
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # a learner of the user's own lies in the working directory
    options = _parser().parse_args(argv)
    try:
        return options.command(options)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except ModuleNotFoundError as error:
        print(f"error: {error}; run `make setup`, then .venv/bin/bounds", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bounds",
        description="Decide the claims of Bounds That Hold.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
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
    sub.add_argument("--horizon", required=True, type=_steps, help="steps of a run, such as 100000")
    sub.add_argument("--replications", type=int, default=40)
    sub.add_argument(
        "--within", type=float, default=0.01, help="regret per step that counts as none"
    )
    sub.add_argument("--seed", type=int, default=1)
    sub.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="worker processes")
    sub.add_argument("--json", metavar="FILE", type=Path, help="write the audit as JSON")

    sub = command(
        "capacity", _capacity, "what given servers carry, how many to add, how long queues"
    )
    sub.add_argument("--arrivals", required=True, help="one rate a queue, such as 0.3,0.2")
    sub.add_argument("--services", required=True, help="one rate a server, such as 0.5,8x0.3")
    sub.add_argument("--learning-rate", type=float, metavar="ETA", help="of EXP3, for one queue")
    sub.add_argument("--new-server", metavar="RATE", help="of servers to add, else as the fastest")
    sub.add_argument("--router", metavar="NAME", help="what it can be relied on to carry, as ucb1")
    sub.add_argument("--json", action="store_true", help="as JSON on standard output")

    sub = command("kernel", _kernel, "have Coq check the proofs of claims, from their sources")
    sub.add_argument("claims", nargs="*", metavar="TOPIC|CLAIM", help="all of them by default")
    sub.add_argument("--no-mutants", action="store_true", help="leave out the edits that must fail")
    sub.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="programs at a time")
    sub.add_argument("--recheck", action="store_true", help="have coqchk check all a second time")
    sub.add_argument("--json", metavar="FILE", type=Path, help="write the results as JSON")
    sub.add_argument("--record", metavar="REASON", help="make the results those that cards show")

    sub = command("record", _record, "run, and make the result the baseline")
    _add_run_options(sub)
    sub.add_argument("--reason", required=True, help="why the baseline changes")
    return parser


def _steps(text: str) -> int:
    """An integer, also written 1e5."""
    number = float(text)
    if not number.is_integer():
        raise ValueError
    return int(number)


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
    if shown.word and coq.version() is None:
        word = replace(shown.word, missing="coqc is not installed here")
        shown = replace(shown, word=word)
    print(shown.text(evidence=True))
    print("\n" + claim.fill(claim.statement).strip())
    if shown.word:
        print("\nin Coq (checks/coq)")
        print(pinned_text(shown.word))
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
                print(f"    {quantity['low']}")  # all of it: this is the place to copy it from
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
    for name in ("json", "junit"):
        path = getattr(options, name)
        if path and path.is_dir():
            raise ValueError(f"{name} = {path}: is a folder, must be a file")
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
            wrong = ledger.complaints(record, expected, done)
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
    if any("expected" in text for text in complaints):
        print(f"    if that is meant: bounds record {record['id']} --reason '...'", flush=True)


def _count(things: Collection, name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _run(options: argparse.Namespace) -> int:
    done, interrupted = _execute(options)
    expected = ledger.recorded(options.effort)
    bad = [record for record in done if ledger.complaints(record, expected, done)]
    alpha = sum(record["alpha"] for record in done)
    summary = f"{_count(done, 'claim')}, {len(bad)} fail"
    if alpha:
        summary += f"; probability of a wrong statistical verdict at most {alpha:.0e}"
    print(summary)
    proved = words().keys() & {record["id"] for record in done}
    if proved:
        print(f"{_count(proved, 'claim')} with proofs in Coq, not run here: bounds kernel")
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
    failing = [record["id"] for record in done if ledger.complaints(record, before, done)]
    print(f"{_count(done, 'claim')}, {len(drifted) + len(gone)} differ from the baseline")
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


def _kernel(options: argparse.Namespace) -> int:
    from checks.methods import kernel, kernel_record

    theorems = kernel.all_theorems()
    proved = {theorem.claim for theorem in theorems}
    for name in options.claims:
        if not proved & {claim.id for claim in select([name])}:
            raise ValueError(f"claim = {name!r}: Coq has no proof for it")
    if options.record is not None and (options.no_mutants or not options.record.strip()):
        raise ValueError("record: needs a reason, and the mutants")
    chosen = {claim.id for claim in select(options.claims)}
    theorems = [theorem for theorem in theorems if theorem.claim in chosen]
    recorded = kernel_record.load()
    found = coq.version()
    if found is None:
        required = os.environ.get("COQ_REQUIRED") == "1"
        said = [word for name, word in kernel_record.words().items() if name in chosen]
        here = sum(len(word.entries) for word in said)
        print(
            "coqc is not installed: the kernel was not run; "
            f"accepted when last recorded: {here} of {_count(theorems, 'theorem')}",
            file=sys.stderr,
        )
        return int(required)
    progress = _Progress()
    results = kernel.verify(
        theorems,
        jobs=options.jobs,
        mutants=not options.no_mutants,
        recheck=options.recheck,
        announce=progress,
    )
    progress("")
    _print_theorems(results, found)
    bad = [result for result in results if not result.accepted]
    if options.json:
        entries = [
            kernel_record.entry_of(result, found)
            | {"accepted": result.accepted, "seconds": result.seconds}
            for result in results
        ]
        text = json.dumps({"schema": kernel_record.SCHEMA, "theorems": entries}, indent=1)
        ledger.write_text(options.json, text + "\n")
    if options.record is not None:
        kernel_record.store(results, found, options.record)
        print(f"recorded {kernel_record.RECORD.name}")
        recorded = kernel_record.load()
    drifted = kernel_record.drift(results, recorded)
    for text in drifted:
        print(f"differs from the record: {text}")
    print(
        f"{_count(results, 'theorem')}, {len(bad)} rejected, {len(drifted)} differ from the record"
    )
    return int(bool(bad or drifted))


def _print_theorems(results: Sequence[Result], version: str) -> None:
    """A line for each theorem, and what the axioms are."""
    for result in results:
        theorem = result.theorem
        word = "accepted" if result.accepted else "REJECTED"
        line = f"{word} {theorem.claim:<32} {theorem.proof:<36} {result.seconds:6.2f} s"
        if result.accepted:
            controls = f"; {result.message}" if result.message else ""
            print(f"{line}  axioms: {result.profile}{controls}")
        else:
            print(f"{line}\n    FAILS: {result.message}")
    print(f"\naxioms, by Coq {version}")
    used = {result.profile for result in results}
    for profile, text in coq.PROFILES.items():
        if profile in used:
            print(f"  {profile}: {text}")


def _capacity(options: argparse.Namespace) -> int:
    from simlib.capacity import plan

    found = plan(
        _rates("arrivals", options.arrivals),
        _rates("services", options.services),
        learning_rate=options.learning_rate,
        new_server_rate=options.new_server,
        router=options.router,
    )
    print(json.dumps(found.as_dict(), indent=1) if options.json else found.text())
    return 0 if found.guaranteed else 1


def _rates(name: str, text: str) -> list[str]:
    """Rates from ``0.5,1/10,8x0.3``, as text, so that they stay exact."""
    rates: list[str] = []
    for part in text.split(","):
        count, times, rate = part.strip().rpartition("x")
        if times and not (count.strip().isdecimal() and 1 <= int(count) <= 1000):
            raise ValueError(f"{name}: {part.strip()!r} must read COUNTxRATE, COUNT from 1 to 1000")
        rates += [rate.strip()] * (int(count) if times else 1)
    return rates


def _try(options: argparse.Namespace) -> int:
    claim = find(options.claim)
    numbers = dict(claim.claimed)
    for pair in options.numbers:
        name, equals, value = pair.partition("=")
        if not equals or not value:
            raise ValueError(f"{pair!r}: must read NUMBER=VALUE")
        if name not in numbers:
            known = ", ".join(f"{key} (claimed {text})" for key, text in claim.claimed.items())
            raise ValueError(f"{name!r} is no number of {claim.id}; it has {known or 'none'}")
        numbers[name] = _permitted(claim, name, value)
    changed = {key for key, value in numbers.items() if value != claim.claimed[key]}
    for key in changed:
        print(f"{key} = {numbers[key]}" + _gloss(claim, key) + f", claimed {claim.claimed[key]}")
    concerned = [c for c in claim.checks if not changed or changed & set(c.parameters)]
    outcomes = [_judge_numbers(claim, check, numbers, options.effort) for check in concerned]
    refuted = outcomes.count(REFUTED)
    if refuted:
        print(f"REFUTED by {refuted} of {_count(outcomes, 'check')}")
        return 1
    whole = bool(outcomes) and all(outcome == PROVED for outcome in outcomes)
    print("PROVED by every check concerned" if whole else "NOT DECIDED")
    return 0 if whole else 1


def _gloss(claim: Claim, name: str) -> str:
    return f" ({claim.meaning[name]})" if name in claim.meaning else ""


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
