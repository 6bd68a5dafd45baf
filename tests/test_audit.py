"""The audit of a learner: the library's, one of the reader's own, and wrong ones."""

import json
import textwrap

import pytest

from checks.__main__ import main
from checks.audit import audit, load_learner
from simlib.learners import by_name
from simlib.recharge import simulate

RATES = (0.5, 0.1, 0.3)
HORIZON = 20_000

FINE = """\
from simlib.learners import learner
from simlib.streams import integer_below, random


@learner(rows=2)
class FollowTheRecord:
    def act(state, params, t, rng):
        arms = state.shape[1]
        if random(rng) < 0.05:
            return integer_below(rng, arms)
        return (state[1] / (state[0] + 1.0)).argmax()

    def update(state, params, t, arm, reward):
        state[0, arm] += 1.0
        state[1, arm] += reward


def first_or_last(arms):
    @learner(rows=1, arms=arms)
    class FirstOrLast:
        def act(state, params, t, rng):
            return 0 if t % 2 else state.shape[1] - 1

        def update(state, params, t, arm, reward):
            state[0, arm] += reward

    return FirstOrLast


def plain(state, params, t, rng):
    return 0
"""

HEAD = "from simlib.learners import learner\n\n@learner(rows=1)\nclass L:\n"
ACT = "    def act(state, params, t, rng):\n        return {arm}\n"
UPDATE = "    def update(state, params, t, arm, reward):\n        state[0, arm] += {by}\n"


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """A file of learners outside the repository."""
    path = tmp_path_factory.mktemp("own") / "mine.py"
    path.write_text(FINE)
    return path


def run(learner, *options, horizon=HORIZON):
    rates = ",".join(map(str, RATES))
    given = ["--rates", rates, "--horizon", horizon, "--replications", 30, *options]
    return main(["audit", *map(str, [learner, *given])])


@pytest.mark.parametrize(
    ("name", "hypothesis", "conclusion"),
    [("exp3", "proved", "proved"), ("greedy", "proved", "proved"), ("ucb1", "refuted", "refuted")],
)
def test_hypothesis_and_conclusion_are_judged_apart(name, hypothesis, conclusion):
    learner = by_name(name, horizon=HORIZON, rates=RATES)
    found = audit(learner, RATES, HORIZON, replications=30, within=0.05)
    assert (found.hypothesis.outcome, found.conclusion.outcome) == (hypothesis, conclusion)
    assert found.pathwise.outcome == "proved"
    assert found.passed == (name != "ucb1")


def test_a_learner_in_a_file_of_the_readers_own(own, tmp_path, capsys):
    learner = load_learner(f"{own}:FollowTheRecord", horizon=HORIZON, rates=RATES)
    assert simulate(RATES, learner, HORIZON, 1).pulls.sum() == HORIZON
    report = tmp_path / "audit.json"
    run(f"{own}:FollowTheRecord", "--jobs", 1, "--json", report)
    printed = capsys.readouterr().out
    assert printed.startswith("FollowTheRecord on rates 0.5, 0.1, 0.3; 30 runs of 20000 steps")
    for word in ("hypothesis  ", "conclusion  ", "on paths    met"):
        assert word in printed
    assert json.loads(report.read_text())["pathwise"] == "proved"


def test_the_exit_status_is_the_answer(own, capsys):
    assert run("exp3", "--within", 0.05, "--jobs", 1) == 0
    # Two arms in turn: the third would have paid more often than they do.
    assert run(f"{own}:first_or_last", "--jobs", 1) == 1
    assert "hypothesis  NOT MET" in capsys.readouterr().out


def test_the_same_numbers_with_one_and_two_jobs(own):
    learner = load_learner(f"{own}:first_or_last", horizon=HORIZON, rates=RATES)
    one, two = (audit(learner, RATES, 2000, replications=30, jobs=jobs) for jobs in (1, 2))
    assert one.as_dict() == two.as_dict()


@pytest.mark.parametrize(
    ("source", "messages"),
    [
        (
            HEAD + ACT.format(arm="0.5") + UPDATE.format(by="reward"),
            ["learner L: act returns float64", "an integer from 0 to arms - 1", "int(...)"],
        ),
        (
            HEAD + ACT.format(arm="3 if t > 99 else 0") + UPDATE.format(by="reward"),
            ["learner L: act returned the arm 3 at step 100", "integers from 0 to 2"],
        ),
        (
            HEAD + ACT.format(arm="0") + UPDATE.format(by="0 / (99 - t) + reward"),
            ["learner L: state[0, 0] is nan after step 99", "permitted: finite numbers"],
        ),
        (HEAD + ACT.format(arm="0"), ["learner L has no function update", "looks like this"]),
        (
            "def L(state, params, t, rng):\n    return 0\n",
            ["is a plain Python function", "A learner looks like this"],
        ),
        ("x = 1\n", ["has no 'L'; it defines no learner"]),
        (FINE, ["has no 'L'; its learners are FollowTheRecord"]),
    ],
)
def test_a_wrong_learner_is_told_what_is_wrong(tmp_path, capsys, source, messages):
    path = tmp_path / "wrong.py"
    path.write_text(textwrap.dedent(source))
    assert run(f"{path}:L", "--jobs", 1, horizon=1000) == 2
    error = capsys.readouterr().err
    for message in messages:
        assert message in error, error
    assert "Traceback" not in error


def test_a_file_that_is_not_there(tmp_path, capsys):
    assert run(f"{tmp_path / 'nothing.py'}:L") == 2
    assert "there is no such file" in capsys.readouterr().err
