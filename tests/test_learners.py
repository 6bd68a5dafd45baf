"""Learners: what the interface refuses and accepts, and the algorithms against slow twins."""

import math
import os
import pickle
import subprocess
import sys
import textwrap
import types

import joblib
import numpy as np
import pytest
from numba import njit

import simlib
from simlib import arguments, learners
from simlib.learners import BUILT_IN, EXAMPLE, Learner, by_name, guard, interface, learner
from simlib.recharge import bandit, queue, simulate, simulate_queue, simulate_with_buffers
from simlib.streams import random

I3 = (0.5, 0.1, 0.3)


def made(source, **names):
    """Execute the source of a learner and return the learner called L."""
    scope = {"learner": learner, "np": np, "random": random, **names}
    exec(textwrap.dedent(source), scope)
    return scope["L"]


GOOD_UPDATE = "def update(state, params, t, arm, reward): state[0, arm] += reward"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (f"{GOOD_UPDATE}", "no function act"),
        ("def act(state, params, t, rng): return 0", "no function update"),
        (f"def act(self, state, params, t, rng): return 0\n    {GOOD_UPDATE}", "wrong arguments"),
        (f"def act(*everything): return 0\n    {GOOD_UPDATE}", "wrong arguments"),
        (f"def act(state, params, t, rng): return 0.5\n    {GOOD_UPDATE}", "act returns float64"),
        (f"def act(state, params, t, rng): return t > 1\n    {GOOD_UPDATE}", "act returns bool"),
        (f"def act(state, params, t, rng): pass\n    {GOOD_UPDATE}", "not on every path"),
        (
            f"def act(state, params, t, rng):\n        if t > 3: return 1\n    {GOOD_UPDATE}",
            "not on every path",
        ),
        (f"def act(state, params, t, rng): return nowhere\n    {GOOD_UPDATE}", "nowhere"),
        (f"def act(state, params, t, rng): return open('x')\n    {GOOD_UPDATE}", "cannot compile"),
        (
            "def act(state, params, t, rng): return 0\n"
            "    def update(state, params, t, arm, reward): return reward",
            "update returns float64",
        ),
        (f"def act(state, params, t, rng): return int(state[1, 0])\n    {GOOD_UPDATE}", "1 rows"),
    ],
)
def test_refused_at_definition(body, message):
    with pytest.raises(ValueError, match=message) as caught:
        made(f"@learner(rows=1)\nclass L:\n    {body}\n")
    if "1 rows" not in message:
        assert "A learner looks like this" in str(caught.value)
    assert "nopython mode pipeline" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"rows": 0},
        {"rows": 1.5},
        {"rows": True},
        {"rows": 1, "params": [float("nan")]},
        {"rows": 1, "params": "abc"},
        {"rows": 1, "params": [[1.0]]},
        {"rows": 1, "strategy_row": 1},
        {"rows": 1, "arms": 0},
    ],
)
def test_bad_options(options):
    class Anything:
        def act(state, params, t, rng):
            return 0

        def update(state, params, t, arm, reward):
            pass

    with pytest.raises(ValueError, match=r"Anything.*permitted"):
        learner(**options)(Anything)


def test_things_that_are_not_learners():
    for thing in (lambda t: 0, "exp3", learners.round_robin, None):
        with pytest.raises(ValueError, match="A learner looks like this"):
            simulate(I3, thing, 10, 1)
    with pytest.raises(ValueError, match=r"did you mean round_robin\(...\)"):
        simulate(I3, learners.round_robin, 10, 1)
    with pytest.raises(ValueError, match="made for 2 arms"):
        simulate(I3, learners.uniform_router(2), 10, 1)


def test_the_example_of_the_messages_runs():
    scope = {}
    exec(EXAMPLE, scope)
    run = simulate(I3, scope["EpsilonGreedy"], 2000, 1)
    assert run.pulls.sum() == 2000


def test_digest_follows_the_source_and_what_it_calls():
    source = """
    @learner(rows=1, params={params})
    class L:
        def act(state, params, t, rng):
            return helper(t) + {constant}
        def update(state, params, t, arm, reward):
            state[0, arm] += reward
    """

    one, two = njit(lambda t: 1), njit(lambda t: 2)

    def digest(constant=0, params=(1.0,), helper=one):
        text = source.format(constant=constant, params=params)
        return made(text, helper=helper).digest

    assert digest() == digest()
    variants = [
        digest(),
        digest(constant=1),
        digest(params=(2.0,)),
        digest(helper=two),
    ]
    assert len(set(variants)) == 4


def rewards_of(one):
    """A simulation for worker processes."""
    return simulate(I3, one, 500, 1).reward


def by_table(arms):
    """A learner that reads its arms from an array in a tuple."""
    table = (np.array(arms), "table")

    @learner(rows=1)
    class Table:
        def act(state, params, t, rng):
            return table[0][t]

        def update(state, params, t, arm, reward):
            state[0, arm] += reward

    return Table


def by_module(constant):
    """A learner that reads its arm from a module."""
    helper = types.ModuleType("helper")
    helper.arm = constant

    @learner(rows=1)
    class Module:
        def act(state, params, t, rng):
            return helper.arm if t % 2 else 0

        def update(state, params, t, arm, reward):
            state[0, arm] += reward

    return Module


def test_learners_that_differ_out_of_sight_stay_apart_in_workers():
    arms = np.arange(2000) % 2
    other = arms.copy()
    other[3] = 2  # NumPy prints neither
    pairs = [(by_table(arms), by_table(other)), (by_module(1), by_module(2))]
    for one, two in pairs:
        assert one.digest != two.digest
        expected = [rewards_of(one), rewards_of(two)]
        assert expected[0] != expected[1]
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(rewards_of)(x) for x in (one, two) * 3)
        assert found == expected * 3
    assert by_table(arms).digest == pairs[0][0].digest
    assert by_module(1).digest == pairs[1][0].digest


def test_learners_can_be_pickled():
    for one in (learners.exp3(1000), learners.greedy(I3), by_module(1)):
        interface._RESTORED.clear()
        copy = pickle.loads(pickle.dumps(one))
        assert copy.act is not one.act  # so the digest below has been computed again
        assert (copy.digest, copy.params, copy.name) == (one.digest, one.params, one.name)
        here = simulate(I3, one, 500, 1).utility
        assert np.array_equal(simulate(I3, copy, 500, 1).utility, here)


OUTSIDE = '''
import pickle
import sys

import simlib
from simlib.learners import exp3, learner
from simlib.recharge import bandit, simulate
from simlib.streams import random

@learner(rows=2)
class Foreign:
    """Play the arm with the best mean, or explore one time in ten."""

    def act(state, params, t, rng):
        arms = state.shape[1]
        if random(rng) < 0.1:
            return int(random(rng) * arms)
        best = 0
        for j in range(arms):
            if state[1, j] * state[0, best] > state[1, best] * state[0, j]:
                best = j
        return best

    def update(state, params, t, arm, reward):
        state[0, arm] += 1
        state[1, arm] += reward

simulate([0.5, 0.1, 0.3], Foreign, 10, 1)
simulate([0.5, 0.1, 0.3], exp3(10), 10, 1)

with open(sys.argv[1], "rb") as file:
    travelled = pickle.load(file)
print(simulate([0.5, 0.1, 0.3], travelled, 500, 1).reward, travelled.digest)
print(simlib.SOURCES_DIGEST)
stats = bandit._advance.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
'''


def test_in_another_process_no_kernel_recompiles(tmp_path):
    offset = 1

    @learner(rows=1)
    class Local:
        def act(state, params, t, rng):
            return (t + offset) % 2

        def update(state, params, t, arm, reward):
            state[0, arm] += reward

    simulate(I3, learners.exp3(10), 10, 1)  # the kernel is in the cache from here on
    pickled = tmp_path / "learner.pickle"
    pickled.write_bytes(pickle.dumps(Local))
    path = tmp_path / "foreign.py"
    path.write_text(OUTSIDE)
    root = os.path.dirname(os.path.dirname(os.path.abspath(learners.__file__)))
    run = subprocess.run(
        [sys.executable, str(path), str(pickled)],
        env=os.environ | {"PYTHONPATH": os.path.dirname(root)},
        capture_output=True,
        text=True,
        check=True,
    )
    travelled, sources, stats = run.stdout.strip().splitlines()
    if sources != simlib.SOURCES_DIGEST:
        pytest.skip("a source was edited while the test ran")
    assert travelled == f"{simulate(I3, Local, 500, 1).reward} {Local.digest}"
    assert stats == "1 0"


def test_a_column_that_two_arms_do_not_have_is_refused():
    @learner(rows=1)
    class ThirdColumn:
        def act(state, params, t, rng):
            return 0

        def update(state, params, t, arm, reward):
            state[0, 2] = reward

    assert simulate(I3, ThirdColumn, 10, 1).pulls[0] == 10
    message = r"ThirdColumn: the state has 1 rows \(rows=1\) and 2 columns.*outside"
    for run in (
        lambda: simulate([0.5, 0.1], ThirdColumn, 10, 1),
        lambda: simulate_queue(0.1, [0.5, 0.1], ThirdColumn, 10, 1),
        lambda: simulate_with_buffers([0.5, 0.1], ThirdColumn, 10, 1),
    ):
        with pytest.raises(ValueError, match=message):
            run()


helper = njit(lambda: np.random.random())  # noqa: NPY002


@pytest.mark.parametrize(
    ("prelude", "draw", "named"),
    [
        ("", "np.random.random()", "np.random"),
        ("from numpy.random import rand", "rand()", "rand"),
        ("import random as chance", "chance.random()", "chance"),
        ("from random import gauss", "gauss(0.0, 1.0)", "gauss"),
        ("from numpy import random as nr", "nr.standard_normal()", "nr"),
        ("", "helper()", "np.random"),
    ],
)
def test_other_random_numbers_are_refused(prelude, draw, named):
    source = f"""
    {prelude}
    @learner(rows=1)
    class L:
        def act(state, params, t, rng):
            return 1 if {draw} < 0.5 else 0
        def update(state, params, t, arm, reward):
            pass
    """
    message = rf"learner L: act uses {named}.*use simlib\.streams\.random\(rng\)"
    with pytest.raises(ValueError, match=message):
        made(source, helper=helper)


def test_the_names_of_random_functions_are_free():
    source = """
    @learner(rows=1)
    class L:
        def act(state, params, t, rng):
            return np.int64(random(rng) < 0.5)
        def update(state, params, t, arm, reward):
            state[0, arm] = np.sqrt(state[0, arm])
    """
    assert made(source).name == "L"


def test_a_failure_that_does_not_repeat_is_reported(monkeypatch):
    def once(answer):
        answers = [answer]
        return lambda *arguments: answers.pop() if answers else guard.OK

    one = learners.round_robin()
    monkeypatch.setattr(queue, "_advance", once(guard.BAD_STATE))
    monkeypatch.setattr(bandit, "_advance", once(guard.BAD_STATE))
    monkeypatch.setattr(bandit, "_advance_with_buffers", once(guard.BAD_STATE))
    for run in (
        lambda: simulate(I3, one, 10, 1),
        lambda: simulate_with_buffers(I3, one, 10, 1),
        lambda: simulate_queue(0.5, I3, one, 10, 1),
    ):
        with pytest.raises(
            ValueError, match=r"repeated with the same seed.*streams\.random\(rng\)"
        ):
            run()


def test_run_time_errors_name_learner_step_and_value():
    @learner(rows=1)
    class OutOfRange:
        def act(state, params, t, rng):
            return 3 if t == 700 else -1 if t == 800 else 0

        def update(state, params, t, arm, reward):
            state[0, arm] += reward

    with pytest.raises(ValueError, match=r"OutOfRange.*arm 3 at step 700.*0 to 2"):
        simulate(I3, OutOfRange, 1000, 1)
    with pytest.raises(ValueError, match=r"OutOfRange.*arm -1 at step 800.*0 to 3"):
        simulate((*I3, 0.2), OutOfRange, 1000, 1)

    @learner(rows=2)
    class NotANumber:
        def act(state, params, t, rng):
            return int(state[1, 0])

        def update(state, params, t, arm, reward):
            state[1, 2] = math.sqrt(613.0 - t)

    with pytest.raises(ValueError, match=r"NotANumber: state\[1, 2\] is nan after step 614"):
        simulate(I3, NotANumber, 1000, 1)

    @learner(rows=1, params=[0.0])
    class BadStart:
        def init(state, params):
            state[0, 1] = 1.0 / params[0]

        def act(state, params, t, rng):
            return 0

        def update(state, params, t, arm, reward):
            pass

    for run in (
        lambda: simulate(I3, BadStart, 1000, 1),
        lambda: simulate_with_buffers(I3, BadStart, 1000, 1),
        lambda: simulate_queue(0.5, I3, BadStart, 1000, 1),
    ):
        with pytest.raises(ValueError, match=r"BadStart: state\[0, 1\] is inf after step 0"):
            run()


def slow_exp3(rng, rewards, horizon, arms):
    """EXP3 as in the paper, in plain Python; ``rewards(t, arm)`` answers a pull."""
    gamma = horizon**-0.5
    eta = gamma / arms
    weights = [1.0] * arms
    for t in range(1, horizon + 1):
        total = sum(weights)
        p = [(1 - gamma) * w / total + gamma / arms for w in weights]
        u = random(rng)
        arm = int(np.searchsorted(np.cumsum(p), u, side="right"))
        yield arm
        weights[arm] *= math.exp(eta * rewards(t, arm) / p[arm])


def slow_exp3_anytime(rng, rewards, horizon, arms):
    losses = np.zeros(arms)
    for t in range(1, horizon + 1):
        p = np.exp(-math.sqrt(math.log(arms) / (arms * t)) * losses)
        p /= p.sum()
        arm = int(np.searchsorted(np.cumsum(p), random(rng), side="right"))
        yield arm
        losses[arm] += (1 - rewards(t, arm)) / p[arm]


def slow_exp3_ix(rng, rewards, horizon, arms):
    eta = math.sqrt(2 * math.log(arms) / (arms * horizon))
    losses = np.zeros(arms)
    for t in range(1, horizon + 1):
        p = np.exp(-eta * losses)
        p /= p.sum()
        arm = int(np.searchsorted(np.cumsum(p), random(rng), side="right"))
        yield arm
        losses[arm] += (1 - rewards(t, arm)) / (p[arm] + eta / 2)


def slow_tsallis_inf(rng, rewards, horizon, arms):
    from scipy.optimize import brentq

    losses = np.zeros(arms)
    for t in range(1, horizon + 1):
        eta = 2 / math.sqrt(t)

        def excess(x, eta=eta):
            return (4 / (eta * (losses - x)) ** 2).sum() - 1

        low, high = losses.min() - 2 * math.sqrt(arms) / eta, losses.min() - 2 / eta
        x = brentq(excess, low - 1e-9, high + 1e-9, xtol=1e-14)
        p = 4 / (eta * (losses - x)) ** 2
        arm = int(np.searchsorted(np.cumsum(p), random(rng), side="right"))
        yield arm
        losses[arm] += (1 - rewards(t, arm)) / p[arm]


def slow_ucb1(rng, rewards, horizon, arms):
    pulls, total = np.zeros(arms), np.zeros(arms)
    for t in range(1, horizon + 1):
        if (pulls == 0).any():
            arm = int(np.argmin(pulls))
        else:
            arm = int(np.argmax(total / pulls + np.sqrt(2 * math.log(t) / pulls)))
        yield arm
        pulls[arm] += 1
        total[arm] += rewards(t, arm)


def slow_greedy(rng, rewards, horizon, arms):
    from fractions import Fraction

    q = [1 - Fraction(str(rate)) for rate in I3]
    last = [0] * arms
    for t in range(1, horizon + 1):
        value = [1 - q[j] ** (t - last[j]) if last[j] else Fraction(2) for j in range(arms)]
        arm = value.index(max(value))
        yield arm
        last[arm] = t


@pytest.mark.parametrize(
    ("slow", "name"),
    [
        (slow_exp3, "exp3"),
        (slow_exp3_anytime, "exp3-anytime"),
        (slow_exp3_ix, "exp3-ix"),
        (slow_tsallis_inf, "tsallis-inf"),
        (slow_ucb1, "ucb1"),
        (slow_greedy, "greedy"),
    ],
)
def test_algorithms_equal_slow_twins(slow, name):
    horizon = 500
    one = by_name(name, horizon=horizon, rates=I3)
    coins = np.random.default_rng(1).random(horizon + 1)

    def rewards(t, arm):
        return float(coins[t] < (0.2, 0.8, 0.5)[arm])

    expected = list(slow(np.arange(1, 5, dtype=np.uint64), rewards, horizon, 3))
    rng = np.arange(1, 5, dtype=np.uint64)
    state, params = one.new_state(3)
    actual = []
    for t in range(1, horizon + 1):
        actual.append(one.act(state, params, t, rng))
        one.update(state, params, t, actual[-1], rewards(t, actual[-1]))
    assert actual == expected
    assert len(set(actual)) == 3


def test_exp3_survives_rescaling():
    one = learners.exp3(exploration=0.5, learning_rate=5.0)
    state, params = one.new_state(2)
    for t in range(1, 2000):
        one.update(state, params, t, 0, 1.0)
    assert np.isfinite(state).all()
    assert state[1] == pytest.approx([0.75, 0.25])
    assert state[0, 1] > 0


def test_exp3_starts_at_the_given_strategy():
    start = [0.6, 0.3, 0.1]
    state, _ = learners.exp3(exploration=0.01, initial=start).new_state(3)
    assert state[1] == pytest.approx(start)
    assert 0.99 * state[0] / state[0].sum() + 0.01 / 3 == pytest.approx(start)


def test_memoryless_never_draws_an_arm_of_probability_zero():
    one = learners.memoryless([0.0, 0.5, 0.5, 0.0])
    run = simulate([0.5] * 4, one, 5000, 1)
    assert run.pulls[[0, 3]].sum() == 0


def test_factories_refuse_bad_arguments():
    for call in (
        lambda: learners.exp3(),
        lambda: learners.exp3(1),
        lambda: learners.exp3(100, exploration=1.0),
        lambda: learners.exp3(100, learning_rate=0.0),
        lambda: learners.exp3(exploration=0.5, initial=[0.9, 0.1]),
        lambda: learners.exp3_ix(1.5),
        lambda: learners.ucb1(-1),
        lambda: learners.memoryless([0.5, 0.6]),
        lambda: learners.memoryless([1.5, -0.5]),
        lambda: learners.normalized_odds_router([0.5, 1.0]),
        lambda: learners.greedy([]),
        lambda: learners.uniform_router(0),
        lambda: by_name("exp4"),
        lambda: by_name("exp3-ix"),
        lambda: by_name("greedy", horizon=10),
        lambda: by_name(7),
    ):
        with pytest.raises(ValueError, match=r"permitted|needs"):
            call()
    with pytest.raises(ValueError, match="thompson"):
        by_name("thomson")


def test_by_name_makes_every_learner():
    for name in BUILT_IN:
        one = by_name(name.upper().replace("-", "_"), horizon=100, rates=I3)
        assert isinstance(one, Learner)
    assert len({by_name(name, horizon=100, rates=I3).digest for name in BUILT_IN}) == len(BUILT_IN)


@pytest.mark.parametrize(
    "bad",
    [
        *([], 0.5, [[0.5]], [0.0], [1.0], [float("nan")], [-0.1, 0.5], ["a"], None, "0.5"),
        *([[0.5], [0.1, 0.2]], {0.5, 0.1}, {0.5: 1}, [True, False], [0.5, "0.1"], [0.5, None]),
        *(np.array(["0.5", "0.1"], dtype=object), np.array([0.5, True], dtype=object)),
    ],
    ids=repr,
)
def test_rates_refuses(bad):
    with pytest.raises(ValueError, match=r"service_rates.*permitted"):
        arguments.rates("service_rates", bad)


@pytest.mark.parametrize(
    "bad", [0, -3, 1.5, True, "3", None, float("nan"), float("inf"), 2**53 + 1, 1e16]
)
def test_positive_integer_refuses(bad):
    with pytest.raises(ValueError, match=r"horizon.*permitted: integers from 1 to 2\*\*53"):
        arguments.positive_integer("horizon", bad)


@pytest.mark.parametrize("good", [3, 3.0, np.int32(3), np.uint8(3), np.float64(3)])
def test_positive_integer_accepts(good):
    value = arguments.positive_integer("horizon", good)
    assert value == 3
    assert type(value) is int


@pytest.mark.parametrize("bad", [[], [0], [11], [3, 3], [4, 3], [1.5], ["a"], 3])
def test_checkpoints_refuses(bad):
    with pytest.raises(ValueError, match=r"checkpoints.*permitted"):
        arguments.checkpoint_steps("checkpoints", bad, 10)


def test_logarithmic_checkpoints():
    steps = arguments.logarithmic_checkpoints(12345, per_decade=3)
    assert steps[0] == 1
    assert steps[-1] == 12345
    assert (np.diff(steps) > 0).all()
    assert arguments.logarithmic_checkpoints(1).tolist() == [1]
