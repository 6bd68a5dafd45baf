"""The claim model: what a verdict needs, and that a check without teeth is found out."""

import re
from fractions import Fraction
from pathlib import Path

import pytest
import z3

from checks import claim as claim_module
from checks.claim import Claim, Printed, Source, all_claims, find, judge, verdict, written
from checks.display import card, chapters, readable, statement
from checks.finding import Finding, decide, enclosure, exact, proved, refuted, settle, undecided
from checks.ledger import record_of, recorded
from checks.methods import certified, smt, statistical
from simlib.estimate import Estimate

CLAIMS = all_claims()


@pytest.fixture
def make(monkeypatch):
    """Claims that exist during one test only."""
    monkeypatch.setattr(claim_module, "_REGISTRY", {})

    def build(**options):
        options = {"claimed": {"x": "1"}} | options
        source = Source("geometric_recharge", "nowhere", provenance="ours")
        return Claim("recharge.made_up", title="x", statement="s", source=source, **options)

    return build


def below_two(x: str) -> Finding:
    """Decide x < 2."""
    return decide(float(x) < 2, f"{x} < 2", f"{x} >= 2")


def judged(claim):
    return [judge(check) for check in claim.checks]


# --- the claims of the book


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_claim_is_complete(claim):
    assert claim.checks or claim.open, "neither a check nor a reason why it is open"
    assert set(claim.rests_on) <= set(CLAIMS)
    assert claim.source.provenance != "stated" or claim.source.where != ""
    assert not claim.title.endswith(".")
    assert "$" not in claim.title
    assert "<<" not in repr(statement(claim.id))
    for check in claim.checks:
        assert check.summary.endswith("."), f"{check.name} does not say what it decides"


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_each_claimed_number_has_a_false_one(claim):
    judged = {name for check in claim.checks for name in check.parameters}
    false = {name for check in claim.checks for numbers in check.false for name in numbers}
    assert judged == set(claim.claimed)
    assert false == set(claim.claimed)


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_each_claimed_number_can_be_understood(claim):
    assert claim.shown | set(claim.meaning) == set(claim.claimed)


@pytest.mark.parametrize("name", CLAIMS)
def test_each_claim_is_recorded_at_both_efforts(name):
    for effort in ("quick", "full"):
        assert name in recorded(effort), f"record {name} at {effort} effort"


def test_each_claim_is_stated_in_a_chapter():
    assert set(chapters()) == set(CLAIMS)


def test_each_source_is_in_the_bibliography():
    entries = (claim_module.__file__.rsplit("checks", 1)[0]) + "references.bib"
    with open(entries, encoding="utf-8") as file:
        keys = set(re.findall(r"^@\w+\{([^,]+),", file.read(), re.MULTILINE))
    assert {claim.source.key for claim in CLAIMS.values()} <= keys


def test_nothing_rests_on_itself():
    def below(name, path):
        assert name not in path, f"{' -> '.join(path)} -> {name}"
        for other in CLAIMS[name].rests_on:
            below(other, (*path, name))

    for name in CLAIMS:
        below(name, ())


def test_an_unknown_claim_suggests_the_nearest():
    with pytest.raises(ValueError, match=r"did you mean recharge\.competitive_ratio"):
        find("competitve_ratio")


# --- verdicts


@pytest.mark.parametrize(
    ("method", "scope", "expected"),
    [
        ("exact", "general", "holds"),
        ("exact", "instances", "supported"),
        ("reproduced", "instances", "supported"),
    ],
)
def test_scope_decides_between_holds_and_supported(make, method, scope, expected):
    claim = make()
    claim.check(method=method, scope=scope, false={"x": "2"})(below_two)
    assert verdict(claim, judged(claim)) == expected


def test_a_part_without_a_general_check_leaves_the_claim_supported(make):
    claim = make(parts={"one": "first", "two": "second"})
    claim.check(method="exact", scope="general", part="one", false={"x": "2"})(below_two)
    claim.check(method="exact", scope="instances", part="two", false={"x": "2"})(below_two)
    assert verdict(claim, judged(claim)) == "supported"


@pytest.mark.parametrize(
    ("method", "outcome", "expected"),
    [
        ("exact", refuted("no"), "refuted"),
        ("reproduced", refuted("no"), "not reproduced"),
        ("exact", undecided("cannot tell"), "undecided"),
    ],
)
def test_no_check_passes_by_default(make, method, outcome, expected):
    claim = make()
    claim.check(method="exact", scope="general", false={"x": "2"})(below_two)

    @claim.check(method=method, scope="instances", false={"x": "2"})
    def other(x: str) -> Finding:
        """Decide nothing of interest."""
        return outcome

    assert verdict(claim, judged(claim)) == expected


def test_a_number_that_no_general_check_reads_leaves_the_claim_supported(make):
    claim = make(claimed={"x": "1", "y": "1"})
    claim.check(method="exact", scope="general", false={"x": "2"})(below_two)
    assert verdict(claim, judged(claim)) == "supported"


def test_an_open_convention_is_no_correction(make):
    claim = make(as_printed=Printed({"x": "3"}, "x may be 3", "x is 1", kind="unspecified"))
    claim.check(method="exact", scope="general", false={"x": "2"})(below_two)
    assert verdict(claim, judged(claim)) == "holds"


def test_a_proved_print_is_no_correction(make):
    claim = make(as_printed=Printed({"x": "1.5"}, "x is 1.5", "x is 1"))
    claim.check(method="exact", scope="general", false={"x": "2"})(below_two)
    assert verdict(claim, judged(claim)) == "undecided"


def test_a_refuted_print_is_a_correction(make):
    claim = make(as_printed=Printed({"x": "3"}, "x is 3", "x is 1"))
    claim.check(method="exact", scope="general", false={"x": "2"})(below_two)
    assert verdict(claim, judged(claim)) == "holds as corrected"


def test_open_stays_open_whatever_supports_it(make):
    claim = make(open="nobody has proved the second half")
    claim.check(method="exact", scope="instances", false={"x": "2"})(below_two)
    assert verdict(claim, judged(claim)) == "open"


def test_a_missing_tool_is_never_silent(make):
    claim = make()

    @claim.check(method="kernel", scope="general", false={"x": "2"})
    def absent(x: str) -> Finding:
        """Need a tool that is not there."""
        raise ModuleNotFoundError("coqc is not installed")

    claim.check(method="exact", scope="instances", false={"x": "2"})(below_two)
    assert verdict(claim, judged(claim)) == "not run"
    assert "coqc" in record_of(claim, judged(claim))["checks"][0]["not_run"]


@pytest.mark.parametrize("answer", [proved("always"), undecided("never sure")])
def test_a_check_that_cannot_fail_is_toothless(make, answer):
    claim = make()

    @claim.check(method="exact", scope="general", false={"x": "2"})
    def gullible(x: str) -> Finding:
        """Accept anything."""
        return answer

    assert record_of(claim, judged(claim))["toothless"]


# --- a claim that is put together wrongly is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "guess"}, "method = 'guess'"),
        ({"scope": "all"}, "scope = 'all'"),
        ({"false": {}}, "needs its nearest false statement"),
        ({"false": {"x": "1"}}, "is what recharge.made_up claims"),
        ({"false": {"y": "1"}}, "must be among"),
        ({"method": "statistical", "alpha": 1e-6}, "a simulation decides instances only"),
        ({"method": "statistical", "scope": "instances"}, "alpha = 0.0"),
        ({"method": "statistical", "scope": "instances", "alpha": 1e-3}, "alpha = 0.001"),
        ({"alpha": 1e-9}, "alpha = 1e-09"),
        ({"part": "middle"}, "part = 'middle'"),
    ],
)
def test_a_check_declared_wrongly_is_refused(make, options, message):
    settings = {"method": "exact", "scope": "general", "false": {"x": "2"}} | options
    with pytest.raises(ValueError, match=re.escape(message)):
        make().check(**settings)(below_two)


def test_a_judge_must_look_at_its_false_numbers(make):
    claim = make(claimed={"x": "1", "y": "1"})
    with pytest.raises(ValueError, match="never looks at its false numbers"):
        claim.check(method="exact", scope="general", false={"y": "2"})(below_two)


def test_a_placeholder_needs_its_number():
    source = Source("geometric_recharge", "nowhere")
    with pytest.raises(ValueError, match="<<constant>>"):
        Claim("recharge.no_number", title="<<constant>>", statement="", source=source)
    assert "recharge.no_number" not in all_claims()


def test_a_claim_has_at_least_one_part(make):
    with pytest.raises(ValueError, match="must have at least one part"):
        make(parts={})


# --- methods that must not be fooled


def test_nothing_follows_from_a_contradiction():
    x = z3.Real("x")
    assert smt.implies([x > 1, x < 0], x == 5, "nonsense").outcome == "undecided"


@pytest.mark.parametrize(
    "values", [[0.1] * 40, [0.1, 0.2] * 5, [float("nan")] * 40], ids=["equal", "few", "nan"]
)
def test_degenerate_samples_decide_nothing(values):
    found = statistical.most_runs(values, lambda value: value < 1, 1e-6, "value", "below 1")
    assert found.outcome == "undecided"


def test_an_interval_decides_where_it_lies():
    def judge_interval(low, high):
        sample = Estimate((low + high) / 2, low, high, 10, 1e-6, "made up")
        return statistical.equals(sample, 0.5, 0.1, "x").outcome

    assert judge_interval(0.45, 0.55) == "proved"
    assert judge_interval(0.61, 0.65) == "refuted"
    assert judge_interval(0.55, 0.65) == "undecided"
    assert judge_interval(0.5, 0.5) == "undecided"


def test_a_ball_that_straddles_decides_nothing():
    with certified.precision(20):
        third = certified.ball("1/3") * 3
        for relation in "<>":
            assert certified.compare(third, relation, "1").outcome == "undecided"


@pytest.mark.parametrize(
    ("value", "text", "expected"),
    [
        (Fraction(2, 3), "0.667", "proved"),
        (Fraction(2, 3), " 0.67 ", "proved"),
        (Fraction(2, 3), "0.666", "refuted"),  # cut off, not rounded
        (Fraction(2, 3), "0.668", "refuted"),
        (Fraction(1, 8), "0.12", "proved"),  # half-way: rounds to both
        (Fraction(1, 8), "0.13", "proved"),
        (Fraction(1, 8) + Fraction(1, 10**9), "0.12", "refuted"),
        (Fraction(1, 8) - Fraction(1, 10**9), "0.13", "refuted"),
        ((Fraction(1, 8), Fraction(135, 1000)), "0.13", "proved"),
        ((Fraction(1, 8), Fraction(136, 1000)), "0.13", "undecided"),
        ((Fraction(135, 1000), Fraction(1)), "0.13", "undecided"),  # one end touches
        ((Fraction(136, 1000), Fraction(1)), "0.13", "refuted"),
        ((Fraction(0), Fraction(1)), "0.13", "undecided"),  # the decimal is inside
    ],
)
def test_what_a_number_rounds_to(value, text, expected):
    found = certified.rounds_to(value, text, "x")
    assert found.outcome == expected
    assert found.witness.startswith("x = ")


def test_a_ball_rounds_to_a_decimal_only_if_all_of_it_does():
    def outcome(bits, text, x):
        with certified.precision(bits):
            return certified.rounds_to(certified.ball(x).sqrt(), text).outcome

    assert outcome(60, "1.414", 2) == "proved"
    assert outcome(60, "1.415", 2) == "refuted"
    assert outcome(60, "1.41421356237309504880", 2) == "undecided"
    assert outcome(120, "1.41421356237309504880", 2) == "proved"
    assert outcome(120, "1.41421356237309504881", 2) == "refuted"
    assert outcome(60, "0.5", -1) == "undecided"  # no number


def test_what_a_rounded_number_is_compared_with_is_told():
    kept = {"value": exact("1/3")}
    right = certified.rounds_to(Fraction(1, 3), "0.33", "x", "a third", **kept)
    assert (right.witness, right.values) == ("a third", kept)
    wrong = certified.rounds_to(Fraction(1, 3), " 0.34", "x", "a third", **kept)
    assert (wrong.witness, wrong.values) == ("a third, not 0.34", kept)
    assert certified.rounds_to(Fraction(1, 3), "0.34", "x", "a third", "no").witness == "no"
    for text in ("1/3", "0", ".33", "0.33e0", "-0.33", "0.3 0.3", ""):
        with pytest.raises(ValueError, match=f"x = {text!r}: must be a plain decimal"):
            certified.rounds_to(Fraction(1, 3), text, "x")


def test_two_comparisons_that_show_nothing_decide_nothing():
    assert settle(True, False, "it is 1", "it is 2").witness == "it is 1"
    assert settle(False, True, "it is 1", "it is 2").witness == "it is 2"
    assert settle(False, True, "it is 1").outcome == "refuted"
    assert settle(False, False, "it is 1", "it is 2").outcome == "undecided"
    with pytest.raises(ValueError, match="cannot be shown together"):
        settle(True, True, "it is 1")


# --- findings


def test_a_refutation_shows_its_witness():
    with pytest.raises(ValueError, match="must show its witness"):
        refuted("")


def test_an_enclosure_prints_the_digits_it_is_sure_of():
    assert enclosure("0.12345", "0.12349").text == "0.1234..."
    assert enclosure("0.9999", "1.0001").text.startswith("[0.9999")
    with pytest.raises(ValueError, match="must be at most"):
        enclosure("2", "1")


def test_an_exact_value_is_kept_whole():
    assert exact("97/160").low == "97/160"


# --- what readers see


def test_a_card_reads_well_in_a_terminal():
    text = card("recharge.competitive_ratio").text()
    assert max(map(len, text.splitlines())) <= 100
    assert "0.77016349200449182161" in text
    assert "holds as corrected" in text
    assert "1.29842560752563911948" in text


def test_the_card_that_the_readme_shows():
    readme = (Path(__file__).parents[1] / "README.md").read_text("utf-8")
    shown = readme.partition("bounds show competitive_ratio\n")[2].partition("...\n...\n")[0]
    assert shown.count("\n") == 2
    assert card("recharge.competitive_ratio").text().startswith(shown)


def test_a_card_links_to_methods_and_ledger():
    html = card("recharge.competitive_ratio").html()
    assert "how_to_read.html#method-certified" in html
    assert "ledger.html#recharge.competitive_ratio" in html


@pytest.mark.parametrize(
    ("number", "form", "shown"),
    [
        ("97/160", "", "97/160"),
        ("-1/2, 3", "frac", r"-\tfrac{1}{2}, 3"),
        ("0.1, 0.2", "cells", "0.1 | 0.2"),
        ("1, 2; 3, 4", "cells", "1, 2 | 3, 4"),
        ("2/3", "6", r"0.666666\dots"),
    ],
)
def test_forms_of_a_number(number, form, shown):
    assert written(number, form) == shown


@pytest.mark.parametrize(("number", "form"), [("1/2", "0"), ("1/2", "table"), ("-1/3", "4")])
def test_no_other_form(number, form):
    with pytest.raises(ValueError, match="must"):
        written(number, form)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"\frac{2KN}\lambda+\frac{\ln(1/\delta)}{2\lambda^2}", "2KN/λ+ln(1/δ)/(2λ^2)"),
        (r"\frac{e^{\epsilon/2}-1}{1-e^{-\epsilon^2/8}}", "(e^(ϵ/2)-1)/(1-e^(-ϵ^2/8))"),
        (
            r"in round $t$: E[\mathrm{gap}_{T-1}] \le m_t\,\delta_t",
            "in round t: E[gap_(T-1)] ≤ m_t δ_t",
        ),
        (r"1/(1-\lambda_{\max}), 2+c\max(n,m), s\setminus i", "1/(1-λ_max), 2+c max(n,m), s∖i"),
        ("3 < 4 packets", "3 < 4 packets"),
    ],
)
def test_formulas_on_a_card_are_plain_text(text, plain):
    assert readable(text) == plain


@pytest.mark.parametrize("name", CLAIMS)
def test_no_raw_formula_on_a_card(name):
    assert not [text for _, text in card(name).rows() if "\\" in text or "$" in text]
