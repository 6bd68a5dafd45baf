"""Contextual queueing bandits: the simulator against slow twins, exact laws and known values."""

import itertools
import math
import pickle
from dataclasses import fields
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from benchmarks import contextual as benchmark
from simlib.contextual import (
    coupled_pairs,
    coupled_path,
    cqb_epsilon,
    cqb_epsilon_opt,
    cqb_eta2,
    cqb_opt,
    cqb_ts,
    draw_jobs,
    finite_instance,
    formulas,
    greedy,
    instance_of,
    optimal,
    pairs_on,
    policy,
    q_ths,
    q_ucb,
    random_experiment,
    random_instance,
    run_on,
    service_rates,
    simulate,
    simulate_paired,
    summarise,
    switching_queues,
    table_instance,
    uniform,
)
from simlib.contextual.coupling import STATES
from simlib.contextual.model import Jobs
from simlib.contextual.policies import EXAMPLE, check_policy
from simlib.replicate import replicate
from simlib.streams import beta, integer_below, normal, random, replication_seeds, substreams


def mu(z):
    return 1 / (1 + np.exp(-z))


def a_finite_instance(seed=3, servers=3, slack=None):
    """Two coordinates and contexts of many norms, so that no two values are equal by chance."""
    rng = np.random.default_rng(seed)
    contexts = rng.uniform(-1, 1, (12, 2))
    contexts *= (np.linspace(0.5, 1, 12) / np.linalg.norm(contexts, axis=1))[:, None]
    parameters = rng.uniform(-1, 1, (servers, 2))
    parameters *= (0.7 / np.linalg.norm(parameters, axis=1))[:, None]
    return finite_instance(parameters, contexts, 0.6, slack=slack)


class Twin:
    """The literal round in plain Python: no scores are kept, every estimate is from all the data."""

    def __init__(self, instance, kind, horizon, seed, **numbers):
        self.instance, self.kind, self.horizon, self.numbers = instance, kind, horizon, numbers
        names = ["arrivals", "contexts", "services", "coins", "choices"]
        self.streams = dict(zip(names, substreams(seed, names), strict=True))
        self.waiting = []  # (round of entry, context)
        self.data = [[] for _ in range(instance.servers)]
        self.estimates = [{} for _ in range(instance.servers)]
        self.turn = 0
        self.queue, self.chosen, self.gaps = [], [], []

    def play(self):
        law = np.cumsum(self.instance.probabilities)
        for t in range(1, self.horizon + 1):
            self.queue.append(len(self.waiting))
            coin = random(self.streams["coins"])
            service = random(self.streams["services"])
            gap, pair = 0.0, None
            if self.waiting:
                pair = self.choose(t, coin)
                entered, context = self.waiting[pair[0]]
                rates = mu(np.array([x for _, x in self.waiting]) @ self.instance.parameters.T)
                gap = rates.max() - rates[pair]
                departed = service < rates[pair]
                self.data[pair[1]].append((context, float(departed)))
                if departed:
                    self.waiting.pop(pair[0])
                pair = (entered, pair[1], int(departed))
            self.chosen.append(pair)
            self.gaps.append(gap)
            if random(self.streams["arrivals"]) < self.instance.arrival_rate:
                which = np.searchsorted(law, random(self.streams["contexts"]), side="right")
                self.waiting.append((t, self.instance.contexts[which]))
        return self

    def uniform_pair(self, n):
        rng = self.streams["choices"]
        return integer_below(rng, n), integer_below(rng, self.instance.servers)

    def choose(self, t, coin):
        n, k, rng = len(self.waiting), self.instance.servers, self.streams["choices"]
        fresh = self.waiting[-1][0] == t - 1
        if self.kind == "optimal":
            rates = mu(np.array([x for _, x in self.waiting]) @ self.instance.parameters.T)
            return first_largest(rates)
        if self.kind == "random":
            return self.uniform_pair(n)
        if self.kind in ("Q-UCB", "Q-ThS"):
            if coin < min(1, 3 * k * math.log(t) ** 2 / t):
                return 0, integer_below(rng, k)
            values = []
            for attempts in self.data:
                good, n = sum(y for _, y in attempts), len(attempts)
                if self.kind == "Q-ThS":
                    values.append(beta(rng, 1 + good, 1 + n - good))
                else:
                    index = good / n + math.sqrt(math.log(t) ** 2 / (2 * n)) if n else math.inf
                    values.append(index)
            return 0, int(np.argmax(values))
        tau, cutoff = self.numbers.get("tau", 0), self.numbers.get("cutoff", self.horizon)
        any_job = self.numbers.get("any_job", False)
        if t <= tau:
            if not fresh:
                return self.uniform_pair(n)
            self.turn += 1
            return n - 1, (self.turn - 1) % k
        if t <= cutoff and coin < self.numbers.get("exploration", 0) and (fresh or any_job):
            return (integer_below(rng, n) if any_job else n - 1), integer_below(rng, k)
        return first_largest(self.scores(rng))

    def scores(self, rng):
        ridge, scale = self.numbers.get("ridge", 1.0), self.numbers.get("scale", 0.0)
        kappa, out = self.instance.kappa, np.zeros((len(self.waiting), self.instance.servers))
        for k, attempts in enumerate(self.data):
            design = kappa * ridge * np.eye(self.instance.dimension)
            design += sum(np.outer(x, x) for x, _ in attempts)
            if len(attempts) not in self.estimates[k]:
                self.estimates[k] = {len(attempts): estimate(attempts, self.instance, ridge)}
            theta = self.estimates[k][len(attempts)]
            width = self.numbers["width"](len(attempts))
            for i, (_, x) in enumerate(self.waiting):
                bonus = scale * width * math.sqrt(x @ np.linalg.solve(design, x))
                out[i, k] = mu(x @ theta)
                out[i, k] += bonus if self.kind == "optimistic" else 0.0
        if self.kind == "sampling":
            for i, (_, x) in enumerate(self.waiting):
                for k, attempts in enumerate(self.data):
                    design = kappa * ridge * np.eye(self.instance.dimension)
                    design += sum(np.outer(y, y) for y, _ in attempts)
                    width = self.numbers["width"](len(attempts))
                    spread = scale * width * math.sqrt(x @ np.linalg.solve(design, x))
                    out[i, k] += spread * normal(rng)
        return out


def first_largest(values):
    position, server = np.unravel_index(np.argmax(values), values.shape)
    return int(position), int(server)


def sums(attempts, ridge, dimension):
    """g as a function of theta, b, and the design without its multiple of the identity."""
    x = np.array([x for x, _ in attempts]).reshape(-1, dimension)
    y = np.array([y for _, y in attempts])
    return lambda theta: x.T @ mu(x @ theta) + ridge * theta, x.T @ y, x


def estimate(attempts, instance, ridge):
    """The regularised estimate by SciPy, projected by a scan of the circle (two coordinates)."""
    if not attempts:
        return np.zeros(instance.dimension)
    g, b, x = sums(attempts, ridge, instance.dimension)

    def loss(theta):
        return np.logaddexp(0, x @ theta).sum() - b @ theta + ridge / 2 * theta @ theta

    def hessian(theta):
        slope = mu(x @ theta) * (1 - mu(x @ theta))
        return (x * slope[:, None]).T @ x + ridge * np.eye(instance.dimension)

    start = np.zeros(instance.dimension)
    found = minimize(
        loss, start, jac=lambda theta: g(theta) - b, hess=hessian, method="trust-exact", tol=1e-12
    ).x
    if np.linalg.norm(found) <= instance.radius:
        return found
    inverse = np.linalg.inv(instance.kappa * ridge * np.eye(2) + x.T @ x)

    def distance(angle):
        rest = g(instance.radius * np.array([math.cos(angle), math.sin(angle)])) - b
        return rest @ inverse @ rest

    grid = np.linspace(0, 2 * math.pi, 721)
    best = grid[np.argmin([distance(angle) for angle in grid])]
    angle = minimize_scalar(
        distance, bounds=(best - 0.01, best + 0.01), method="bounded", options={"xatol": 1e-11}
    ).x
    return instance.radius * np.array([math.cos(angle), math.sin(angle)])


def width_of(instance, horizon, power, form="source"):
    """Lemma 5.1 with its roots, written out again."""

    def width(n):
        growth = instance.dimension * math.log(1 + n / (instance.kappa * instance.dimension))
        errors = math.log(instance.servers * horizon**power)
        if form == "source":
            first = instance.kappa / 2 * math.sqrt(2 * growth + errors)
            return first + instance.kappa * instance.radius / 2
        first = instance.kappa / 4 * math.sqrt(growth + 2 * errors)
        return first + instance.radius * math.sqrt(instance.kappa) / 2

    return width


HORIZON = 100
FAMILY = {
    "optimal": (optimal(), "optimal", {}),
    "random": (uniform(), "random", {}),
    "Q-UCB": (q_ucb(), "Q-UCB", {}),
    "Q-ThS": (q_ths(), "Q-ThS", {}),
    "greedy": (greedy(regularisation=0.1), "optimistic", {"ridge": 0.1}),
    "CQB-Opt": (cqb_opt(), "optimistic", {"scale": 1.0}),
    "CQB-Opt, ours": (
        cqb_opt(bonus_scale=0.1, bonus="ours", failure=HORIZON**-3.0),
        "optimistic",
        {"scale": 0.1, "form": "ours", "power": 3},
    ),
    "CQB-ε": (
        cqb_epsilon(30, 0.3, bonus_scale=0.1),
        "optimistic",
        {"scale": 0.1, "tau": 30, "exploration": 0.3, "power": 2},
    ),
    "CQB-ε-Opt": (
        cqb_epsilon_opt(bonus_scale=0.05),
        "optimistic",
        {"scale": 0.05, "exploration": HORIZON**-0.5, "any_job": True},
    ),
    "CQB-TS": (cqb_ts(bonus_scale=0.02), "sampling", {"scale": 0.02}),
    "CQB-η-2": (
        cqb_eta2(0.5, 70, 30, bonus_scale=0.02),
        "optimistic",
        {"scale": 0.02, "tau": 30, "exploration": 0.5, "cutoff": 70, "power": 2},
    ),
}


@pytest.mark.parametrize("name", FAMILY)
def test_every_round_equals_the_slow_twin(name):
    made, kind, numbers = FAMILY[name]
    numbers = dict(numbers)
    instance = a_finite_instance()
    form = numbers.pop("form", "source")
    numbers["width"] = width_of(instance, HORIZON, numbers.pop("power", 1), form)
    ridge = numbers.get("ridge", 1.0)
    every = range(1, HORIZON + 1)
    run = simulate(instance, made, HORIZON, 5, checkpoints=every, path=True)
    twin = Twin(instance, kind, HORIZON, 5, **numbers).play()
    jobs = draw_jobs(instance, HORIZON, 5)
    chosen = [
        None if job < 0 else (jobs.entered[job], server, departed)
        for job, server, departed in zip(
            run.path.job.tolist(), run.path.server.tolist(), run.path.departed.tolist(), strict=True
        )
    ]
    assert chosen == twin.chosen
    assert run.queue.tolist() == twin.queue
    assert run.gap == pytest.approx(twin.gaps, abs=1e-12)
    assert run.gap_sum == pytest.approx(np.cumsum(twin.gaps))
    assert run.gap_square_sum == pytest.approx(np.cumsum(np.square(twin.gaps)))
    assert run.attempts.tolist() == [len(attempts) for attempts in twin.data]
    assert run.departures[-1] == sum(pair[2] for pair in twin.chosen if pair)
    assert run.policy == made.name
    if kind in ("optimistic", "sampling"):
        assert run.unfinished == 0
        assert run.projections > 0
        for k, attempts in enumerate(twin.data):
            assert run.estimates[k] == pytest.approx(estimate(attempts, instance, ridge), abs=2e-6)


def fitted(dimension, seed, radius, attempts=400):
    """Estimates of one server after each of some hundred attempts, in any dimension."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(1, dimension))
    theta *= radius / np.linalg.norm(theta)
    instance = instance_of(theta, 0.5, 0.01, radius=radius)
    return instance, simulate(
        instance, greedy(), attempts, seed, path=True, arrivals=[1] * attempts
    )


@pytest.mark.parametrize("dimension", [1, 2, 3, 8, 17])
@pytest.mark.parametrize("radius", [0.7, 2.0])
def test_estimates_are_minimisers(dimension, radius):
    projected = 0
    for seed in range(4):
        instance, run = fitted(dimension, seed, radius)
        jobs = draw_jobs(instance, 400, seed, arrivals=[1] * 400)
        served = run.path.job >= 0
        x = jobs.contexts[run.path.job[served]]
        y = run.path.departed[served]
        design = instance.kappa * np.eye(dimension) + x.T @ x
        assert run.inverse_designs[0] == pytest.approx(np.linalg.inv(design), abs=1e-12)
        theta = run.estimates[0]
        rest = x.T @ mu(x @ theta) + theta - x.T @ y
        if np.linalg.norm(theta) < radius * (1 - 1e-9):
            assert abs(rest).max() < 1e-11
            continue
        projected += 1
        # Stationary on the sphere: the gradient points outwards.
        slope = mu(x @ theta) * (1 - mu(x @ theta))
        jacobian = (x * slope[:, None]).T @ x + np.eye(dimension)
        gradient = jacobian @ np.linalg.solve(design, rest)
        assert np.linalg.norm(theta) == pytest.approx(radius, rel=1e-12)
        assert -gradient @ theta == pytest.approx(radius * np.linalg.norm(gradient), rel=1e-9)
        # And no better point is found from other starts.
        value = rest @ np.linalg.solve(design, rest)
        rng = np.random.default_rng(seed)
        others = rng.normal(size=(2000, dimension))
        others *= radius / np.linalg.norm(others, axis=1)[:, None]
        close = theta + 0.05 * others
        close *= radius / np.linalg.norm(close, axis=1)[:, None]
        for points in (others, close):
            rests = mu(points @ x.T) @ x + points - x.T @ y
            values = (rests * np.linalg.solve(design, rests.T).T).sum(axis=1)
            assert values.min() >= value * (1 - 1e-9)
        assert run.unfinished == 0
    assert projected >= 1


def test_the_inverse_is_computed_anew():
    instance = random_instance(1, servers=1, dimension=3)
    run = simulate(instance, greedy(refresh=2.0), 5000, 1, path=True, arrivals=[1] * 5000)
    x = draw_jobs(instance, 5000, 1, arrivals=[1] * 5000).contexts[run.path.job[1:]]
    assert run.attempts.tolist() == [4999]
    design = instance.kappa * np.eye(3) + x.T @ x
    assert run.inverse_designs[0] == pytest.approx(np.linalg.inv(design), rel=1e-10)


# Exact laws ------------------------------------------------------------------------------------------

RATES = (("9/10", "3/5"), ("1/2", "4/5"))
TABLE = [[float(Fraction(rate)) for rate in row] for row in RATES]


@policy(size=1)
class StayAfterSuccess:
    """First in, first out; stay with a server after a success, move on after a failure."""

    def choose(state, params, t, contexts, entered, rng):
        return 0 * state.shape[0] + int(state[0, 0])

    def update(state, params, t, context, server, departed):
        if departed == 0.0:
            state[0, 0] = (server + 1) % state.shape[0]


def law_of(best, horizon):
    """Exact law of Q(T) by a forward recursion over (types in order of entry, memory), empty start."""
    rate, share = Fraction(7, 10), Fraction(1, 2)
    law = {((), 0): Fraction(1)}
    for _ in range(1, horizon):
        new = {}
        for (line, memory), mass in law.items():
            outcomes = [(line, memory, Fraction(1))]
            if line:
                if best:
                    pairs = [(i, k) for i in range(len(line)) for k in range(2)]
                    i, k = max(pairs, key=lambda pair: Fraction(RATES[line[pair[0]]][pair[1]]))
                else:
                    i, k = 0, memory
                p = Fraction(RATES[line[i]][k])
                outcomes = [(line[:i] + line[i + 1 :], memory, p)]
                outcomes.append((line, memory if best else (k + 1) % 2, 1 - p))
            for after, kept, p in outcomes:
                for kind, q in ((None, 1 - rate), (0, rate * share), (1, rate * (1 - share))):
                    key = (after if kind is None else (*after, kind), kept)
                    new[key] = new.get(key, 0) + mass * p * q
        law = new
    out = {}
    for (line, _), mass in law.items():
        out[len(line)] = out.get(len(line), 0) + mass
    return out


@pytest.mark.parametrize(("made", "best"), [(optimal(), True), (StayAfterSuccess, False)])
def test_the_law_of_a_small_instance_is_exact(made, best):
    """All arrivals and all intervals between rates: the kernel's law, with no randomness at all."""
    horizon, instance = 4, table_instance(TABLE, 0.7)
    cells = [("0.25", "1/2"), ("0.55", "1/10"), ("0.7", "1/5"), ("0.85", "1/10"), ("0.95", "1/10")]
    law = {}
    arrivals = list(itertools.product((None, 0, 1), repeat=horizon - 1))
    for pattern in arrivals:
        kinds = [kind for kind in pattern if kind is not None]
        rounds = np.array([t + 1 for t, kind in enumerate(pattern) if kind is not None], np.int64)
        contexts = np.eye(2)[kinds].reshape(-1, 2)
        mass = math.prod([Fraction(3, 10) if kind is None else Fraction(7, 20) for kind in pattern])
        rates = service_rates(contexts, instance.parameters)
        for services in itertools.product(cells, repeat=horizon - 2):
            uniforms = np.array([0.5, *(float(u) for u, _ in services), 0.5])
            jobs = Jobs(instance, horizon, rounds, contexts, rates, uniforms)
            queue = int(run_on(jobs, made, 1).queue[-1])
            share = mass * math.prod([Fraction(p) for _, p in services])
            law[queue] = law.get(queue, 0) + share
    assert law == law_of(best, horizon)


def test_the_regret_of_a_small_instance():
    """R_8 = 1185917433229151/2592000000000000 for a learner with one bit (by exact recursion)."""

    @policy(size=1)
    class OneBit:
        def choose(state, params, t, contexts, entered, rng):
            first = contexts[0, 0] == 1.0
            position = 0
            for i in range(contexts.shape[0]):
                if (contexts[i, 0] == 1.0) != first:
                    wanted = random(rng) < 1.0 / 3.0
                    while (contexts[position, 0] == 1.0) != wanted:
                        position += 1
                    break
            return position * state.shape[0] + int(state[0, 0])

        def update(state, params, t, context, server, departed):
            if departed == 0.0:
                state[0, 0] = 1 - server

    instance = table_instance(TABLE, 0.7)
    seeds = replication_seeds(1, "one bit", 1000)
    found = [coupled_pairs(instance, OneBit, 8, seed) for seed in seeds]
    regret = np.array([pairs.psi.sum() for pairs in found])
    bound = np.array([pairs.bound.sum() for pairs in found])
    error = 5 * regret.std() / math.sqrt(len(seeds))
    assert regret.mean() == pytest.approx(0.457529873930999, abs=error)
    assert error < 0.15
    # The sum of E[gap psi tilde] is 0.476957.
    error = 5 * bound.std() / math.sqrt(len(seeds))
    assert bound.mean() == pytest.approx(0.476957, abs=error)
    assert error < 0.07


# Pairing, and what one seed determines ---------------------------------------------------------------


def test_runs_with_one_seed_are_paired():
    instance = random_instance(2)
    every = range(1, 400)
    paired = simulate_paired(instance, [uniform(), greedy()], 400, 7, checkpoints=every)
    alone = [simulate(instance, one, 400, 7, checkpoints=every) for one in (uniform(), greedy())]
    assert paired.queue.tolist() == [run.queue.tolist() for run in alone]
    best = simulate(instance, optimal(), 400, 7, checkpoints=every)
    assert paired.regret.tolist() == (paired.queue - best.queue).tolist()
    assert paired.policies == ("random", "greedy")
    assert (paired.checkpoints == np.arange(1, 401)).all()
    jobs = draw_jobs(instance, 400, 7)
    arrived = np.searchsorted(jobs.entered, paired.checkpoints)
    for run in (*paired.runs, paired.benchmark):
        # Arrivals of the rounds before, less departures of the rounds before.
        before = np.concatenate([[0], run.departures[:-1]])
        assert (run.queue == arrived - before).all()
    again = draw_jobs(instance, 400, 7)
    for field in fields(jobs)[2:]:
        assert np.array_equal(getattr(jobs, field.name), getattr(again, field.name))
    assert simulate(instance, uniform(), 400, 8).queue != paired.queue[0, -1]


def test_an_experiment_is_a_paired_run_on_a_random_instance():
    options = {"policies": [uniform(), greedy()], "horizon": 200, "checkpoints": [100]}
    found = replicate(
        random_experiment, 3, seed=1, experiment="any", parameters=options | {"slack": 0.15}
    )
    seeds = replication_seeds(1, "any", 3)
    for i, seed in enumerate(seeds):
        runs = simulate_paired(random_instance(seed, slack=0.15), seed=seed, **options)
        assert found["queue"][i].tolist() == runs.queue.tolist()
        assert found["benchmark"][i].tolist() == runs.benchmark.queue.tolist()
        assert found["gap"][i, 1].tolist() == runs.runs[1].gap.tolist()


def test_coins_do_not_depend_on_the_policy():
    """Two rates of exploration explore in nested sets of rounds, as long as the paths agree."""
    instance = random_instance(2)
    few, many = (
        simulate(instance, cqb_epsilon_opt(rate), 300, 3, checkpoints=range(1, 300)).explored
        for rate in (0.05, 0.9)
    )
    assert few[-1] < many[-1]
    first = np.flatnonzero(few)[0]
    assert many[first] > (many[first - 1] if first else 0)


def test_a_policy_of_ones_own_is_the_built_in_one():
    @policy(size=1)
    class Blind:
        def choose(state, params, t, contexts, entered, rng):
            position = integer_below(rng, contexts.shape[0])
            return position * state.shape[0] + integer_below(rng, state.shape[0])

        def update(state, params, t, context, server, departed):
            pass

    instance = random_instance(4)
    every = range(1, 500)
    mine, built_in = (
        simulate(instance, one, 500, 3, checkpoints=every).queue for one in (Blind, uniform())
    )
    assert mine.tolist() == built_in.tolist()


def test_what_a_policy_of_ones_own_sees():
    @policy(size=lambda dimension: dimension)
    class Watcher:
        def choose(state, params, t, contexts, entered, rng):
            n = contexts.shape[0]
            for i in range(1, n):
                if entered[i] <= entered[i - 1] or entered[i] >= t:
                    return -1
            for a in range(contexts.shape[1]):
                state[0, a] = contexts[n - 1, a]
            return (n - 1) * state.shape[0]

        def update(state, params, t, context, server, departed):
            for a in range(context.shape[0]):
                if context[a] != state[0, a]:
                    state[0, a] = np.nan

    instance = random_instance(4, servers=2, dimension=3)
    run = simulate(instance, Watcher, 200, 3, checkpoints=range(1, 200), path=True)
    jobs = draw_jobs(instance, 200, 3)
    waiting = []
    for t in range(1, 201):
        assert run.queue[t - 1] == len(waiting)
        if waiting:
            # It takes the last in, and stops the run if what it sees is not as described.
            assert run.path.job[t - 1] == waiting[-1]
            if run.path.departed[t - 1]:
                waiting.pop()
        waiting += np.flatnonzero(jobs.entered == t).tolist()


def test_geometric_refresh():
    instance = random_instance(1)
    exact = simulate(instance, greedy(), 3000, 2, path=True)
    often = simulate(instance, greedy(refresh=1.0000001), 3000, 2, path=True)
    # Growing by less than one attempt is every attempt.
    assert exact.path.job.tolist() == often.path.job.tolist()
    rare = simulate(instance, greedy(refresh=1.2), 3000, 2, path=True)
    per_server = math.log(3000) / math.log(1.2)
    assert rare.fits < instance.servers * (per_server + 8) < exact.fits / 5
    assert (exact.approximate, often.approximate, rare.approximate) == (False, True, True)
    same = (exact.path.job == rare.path.job) & (exact.path.server == rare.path.server)
    assert 0.05 < same.mean() < 1
    assert abs(int(exact.queue[-1]) - int(rare.queue[-1])) <= 5


# Coupling --------------------------------------------------------------------------------------------

TRANSITIONS = {
    ("S0", 0, 0): {"S0"},
    ("S0", 1, 1): {"S0"},
    ("S1+", 0, 0): {"S1+"},
    ("S1+", 1, 1): {"S1+"},
    ("S1+", 1, 0): {"S0"},
    ("S1-", 0, 0): {"S1-"},
    ("S1-", 1, 1): {"S1-"},
    ("S1-", 0, 1): {"S0"},
    ("S2+", 0, 0): {"S2+"},
    ("S2+", 1, 1): {"S0", "S2+"},
    ("S2+", 1, 0): {"S1-"},
}


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_pairs_keep_to_the_automaton(data):
    seed = data.draw(st.integers(0, 10**6))
    types = data.draw(st.integers(1, 4))
    table = data.draw(
        st.lists(
            st.lists(st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9]), min_size=2, max_size=2),
            min_size=types,
            max_size=types,
        )
    )
    instance = table_instance(table, data.draw(st.sampled_from([0.3, 0.6, 0.9])))
    made = data.draw(st.sampled_from([uniform(), StayAfterSuccess, q_ths(), greedy()]))
    start = np.eye(types)[data.draw(st.lists(st.integers(0, types - 1), max_size=5))]
    horizon = data.draw(st.integers(2, 60))
    pairs = coupled_pairs(instance, made, horizon, seed, start=start.reshape(-1, types))
    agree = pairs.departed_plus == pairs.departed_minus
    assert set(pairs.psi[agree].tolist()) <= {-1, 0}
    assert set(pairs.psi[~agree].tolist()) <= {0, 1}
    assert set(pairs.psi_disagree.tolist()) <= {0, 1}
    assert (pairs.psi[~agree] == pairs.psi_disagree[~agree]).all()
    assert (pairs.departed_plus <= pairs.departed_minus).all()
    assert not {"S2-", "other"} & {STATES[state] for state in pairs.state}
    assert ((pairs.merged <= horizon) == (pairs.state == 0)).all()
    options = {"start": start.reshape(-1, types)}
    policy_run, best_run = (
        simulate(instance, one, horizon, seed, **options) for one in (made, optimal())
    )
    assert pairs.psi.sum() == policy_run.queue[-1] - best_run.queue[-1]
    switch = data.draw(st.integers(1, horizon - 1))
    path = coupled_path(instance, made, horizon, seed, switch, **options)
    assert path.plus[-1] - path.minus[-1] == pairs.psi[switch - 1]
    assert STATES[path.state[-1]] == STATES[pairs.state[switch - 1]]
    assert (path.departed_plus[0], path.departed_minus[0]) == (
        pairs.departed_plus[switch - 1],
        pairs.departed_minus[switch - 1],
    )
    for i in range(1, path.rounds.size - 1):
        step = (STATES[path.state[i]], path.departed_plus[i], path.departed_minus[i])
        assert STATES[path.state[i + 1]] in TRANSITIONS[step]
    queues = switching_queues(instance, made, horizon, seed, range(horizon), **options)
    assert np.diff(queues[:, -1]).tolist() == pairs.psi.tolist()
    assert queues[switch, switch:].tolist() == path.plus[1:].tolist()
    assert queues[switch - 1, switch:].tolist() == path.minus[1:].tolist()


def test_other_disciplines_leave_the_automaton():
    instance = table_instance([[0.9], [0.1]], 0.5)
    seen = {}
    for after in ("best", "worst", "first in", "last in"):
        pairs = coupled_pairs(instance, uniform(), 500, 1, after=after)
        seen[after] = set(pairs.psi.tolist())
    assert seen["best"] <= {-1, 0, 1}
    assert max(seen["first in"]) > 1
    apart = coupled_pairs(instance, uniform(), 500, 1, shared=False)
    assert max(abs(apart.psi)) > 1
    again = coupled_pairs(instance, uniform(), 500, 1, [10, 499], shared=False)
    assert again.psi.tolist() == apart.psi[[9, 498]].tolist()


# Instances -------------------------------------------------------------------------------------------


def test_random_instances_satisfy_the_assumptions():
    instance = random_instance(1)
    assert np.linalg.norm(instance.parameters, axis=1) == pytest.approx(2.0634370688955608)
    assert instance.kappa == pytest.approx(10, rel=1e-14)
    jobs = draw_jobs(instance, 3000, 1)
    assert np.linalg.norm(jobs.contexts, axis=1) == pytest.approx(1)
    assert jobs.best_rates.min() >= 0.8
    assert jobs.entered.size == pytest.approx(2100, abs=150)
    assert jobs.rates == pytest.approx(mu(jobs.contexts @ instance.parameters.T))
    # Averages of 20 instances: acceptance .30, sigma_0^2 .097, rates .572, .837, .620.
    found = [summarise(random_instance(seed), samples=1500) for seed in range(20)]
    assert np.mean([one.acceptance for one in found]) == pytest.approx(0.30, abs=0.03)
    assert np.mean([one.second_moment for one in found]) == pytest.approx(0.097, abs=0.01)
    assert np.mean([one.random_pair_rate for one in found]) == pytest.approx(0.572, abs=0.03)
    assert np.mean([one.best_rate for one in found]) == pytest.approx(0.837, abs=0.005)
    assert np.mean([one.best_fixed_server for one in found]) == pytest.approx(0.620, abs=0.03)
    assert min(one.least_best_rate for one in found) >= 0.8


def test_the_summary_of_a_list_is_exact():
    instance = table_instance(TABLE, 0.7, probabilities=[0.25, 0.75], slack=0.1)
    found = summarise(instance)
    assert found.second_moment == pytest.approx(0.25)
    assert found.best_rate == pytest.approx(0.25 * 0.9 + 0.75 * 0.8)
    assert found.random_pair_rate == pytest.approx(0.25 * 0.75 + 0.75 * 0.65)
    assert found.best_fixed_server == pytest.approx(0.25 * 0.6 + 0.75 * 0.8)
    assert found.least_best_rate == pytest.approx(0.8)
    assert found.acceptance == 1
    counts = draw_jobs(instance, 4000, 1).contexts.mean(axis=0)
    assert counts == pytest.approx([0.25, 0.75], abs=0.04)


def test_adversarial_contexts():
    instance = random_instance(1)
    rng = np.random.default_rng(1)
    own = instance.parameters[rng.integers(0, 5, 300)] / instance.radius
    jobs = draw_jobs(instance, 300, 4, contexts=own)
    assert np.array_equal(jobs.contexts, own[jobs.entered - 1])
    assert np.array_equal(jobs.entered, draw_jobs(instance, 300, 4).entered)

    def adversary(horizon, rng):
        return instance.parameters[rng.integers(0, 5, horizon)] / instance.radius

    runs = [simulate(instance, greedy(), 300, seed, contexts=adversary).queue for seed in (4, 4)]
    assert runs[0] == runs[1]
    one, other = (draw_jobs(instance, 300, seed, contexts=adversary).contexts for seed in (4, 5))
    assert not np.array_equal(one[:50], other[:50])
    pattern = [1, 0, 0, 1] * 75
    assert draw_jobs(instance, 300, 4, arrivals=pattern).entered[:4].tolist() == [1, 4, 5, 8]


# Formulas --------------------------------------------------------------------------------------------


def test_exploration_rounds_of_the_experiments():
    def rounds(horizon=5000, dimension=5, servers=5, slack=0.1):
        return formulas.experiment_exploration_rounds(horizon, dimension, servers, 0.7, slack)

    assert [rounds(slack=slack) for slack in (0.05, 0.1, 0.15)] == [4837, 443, 153]
    assert [rounds(servers=k) for k in (3, 5, 7, 9)] == [266, 443, 621, 798]
    assert [rounds(dimension=d) for d in (3, 5, 10, 20)] == [95, 443, 3548, 28389]
    assert rounds(horizon=1000) > 1000


def test_kappa_and_radius():
    assert formulas.radius_of_kappa(10) == pytest.approx(2.0634370688955608, rel=1e-15)
    root = math.sqrt(0.6)
    assert formulas.radius_of_kappa(10) == pytest.approx(math.log((1 + root) / (1 - root)))
    for radius in (0.0, 0.3, 2.0, 9.0):
        slope = mu(radius) * (1 - mu(radius))
        assert formulas.kappa_of_radius(radius) == pytest.approx(1 / slope)
        kappa = formulas.kappa_of_radius(radius)
        assert formulas.radius_of_kappa(kappa) == pytest.approx(radius, abs=1e-7)


def test_bounds_of_the_document():
    source = formulas.SOURCE_SETTING
    at = math.log10(5000)
    first, second = formulas.theorem_5_5_bound(at, source), formulas.theorem_6_3_bound(at, source)
    assert 10**first.log10_value == pytest.approx(4.1e16, rel=0.02)
    assert first.width == pytest.approx(50.6, abs=0.05)
    assert first.exploration == pytest.approx(2.3e9, rel=0.02)
    assert first.threshold == pytest.approx(9e10, rel=0.02)
    assert 10**second.log10_value == pytest.approx(1.76e8, rel=0.005)
    assert second.exploration == pytest.approx(5.6e8, rel=0.01)
    known = [(6, 2.0e14), (9, 4.6e12), (12, 1.1e12), (15, 2.7e11), (20, 2.3e10)]
    for power, value in known:
        found = formulas.theorem_5_5_bound(power, source).log10_value
        assert 10**found == pytest.approx(value, rel=0.025)
    eta = formulas.cqb_eta2_bound(30, source, form="source", width="ours")
    assert 10**eta.log10_value == pytest.approx(4.2498, rel=1e-4)
    assert 10 ** formulas.cqb_eta2_bound(30, source, width="ours").log10_value == pytest.approx(
        2.1249, rel=1e-4
    )
    assert formulas.tail_constant(0.1, 0.7) == pytest.approx(29.73, abs=0.005)
    assert formulas.tail_constant(0.1, 0.7, form="source") == pytest.approx(1601)
    assert formulas.ramp_constant(0.1, 0.7, form="source") == pytest.approx(3202)


@pytest.mark.parametrize(
    ("bound", "width", "trivial", "ten", "one"),
    [
        (formulas.theorem_5_5_bound, "source", 12.2, 60.3, 64.5),
        (formulas.theorem_5_5_bound, "ours", 11.3, 55.7, 59.9),
        (formulas.theorem_6_3_bound, "source", 9.65, None, None),
        (formulas.theorem_6_3_bound, "ours", 8.75, None, None),
        (formulas.l1_bound, "source", 11.20, 43.23, 46.36),
        (formulas.l1_bound, "ours", 10.44, 39.76, 42.91),
        (formulas.cqb_eta2_bound, "source", 11.53, 30.90, 32.98),
        (formulas.cqb_eta2_bound, "ours", 10.77, 28.59, 30.68),
    ],
)
def test_horizons_at_which_bounds_say_something(bound, width, trivial, ten, one):
    def at(log10_horizon):
        return bound(log10_horizon, formulas.SOURCE_SETTING, width=width)

    assert formulas.crossing(at, 1, arrival_rate=0.7) == pytest.approx(trivial, abs=0.051)
    for target, want in ((10, ten), (1, one)):
        found = formulas.crossing(at, target)
        assert found == (math.inf if want is None else pytest.approx(want, abs=0.051))


def test_no_setting_breaks_the_assumptions():
    easy = formulas.FRIENDLY
    assert easy.kappa == pytest.approx(100 / 9)
    assert mu(easy.radius) == pytest.approx(easy.arrival_rate + easy.slack)
    with pytest.raises(
        ValueError, match=r"radius = 1.5: no rate is above 0.817574.*Assumption 3.4"
    ):
        formulas.Setting(0.3, 0.6, 2, 1, 1.0, 1.5, 10.0)
    with pytest.raises(ValueError, match=r"kappa = 6.0 with radius = 1.5; permitted: from 6.70482"):
        formulas.Setting(0.3, 0.5, 2, 1, 1.0, 1.5, 6.0)


def test_the_rates_of_the_bounds():
    source = formulas.SOURCE_SETTING

    def decades(bound, **options):
        def at(log10_horizon):
            return bound(log10_horizon, source, **options)

        return formulas.crossing(at, 1) - formulas.crossing(at, 10)

    # A factor of ten in T to the power of a quarter, a third, a half, with logarithms on top.
    assert decades(formulas.theorem_5_5_bound) == pytest.approx(4.17, abs=0.02)
    assert decades(formulas.l1_bound) == pytest.approx(3.13, abs=0.02)
    assert decades(formulas.cqb_eta2_bound) == pytest.approx(2.08, abs=0.02)
    ours = formulas.theorem_5_5_bound(60, source, form="ours")
    assert ours.log10_value == formulas.l1_bound(60, source, power=0.5).log10_value


def test_ramps_and_the_lower_bound():
    ramp = formulas.ramp(np.arange(0, 20_000), 3000.0, 0.1, 0.7)
    assert (np.diff(ramp) <= 0).all()
    assert (ramp[:3001] == 1).all()
    assert ramp.sum() <= formulas.ramp_sum(3000.0, 0.1, 0.7)
    source = formulas.ramp(np.arange(0, 200_000), 3000.0, 0.1, 0.7, form="source")
    assert source.sum() <= formulas.ramp_sum(3000.0, 0.1, 0.7, form="source")
    assert (source[: ramp.size] >= ramp).all()
    known = {3: 0.015, 4: 0.018248, 6: 0.016970, 8: 0.014403, 10: 0.012112, 12: 0.010175}
    for horizon, value in known.items():
        assert formulas.lower_bound(horizon, 0.3, 0.6, 0.1) == pytest.approx(value, abs=1e-6)
    least = min(math.sqrt(t) * formulas.lower_bound(t, 0.5, 0.7) for t in range(5, 300))
    assert least == pytest.approx(0.04848, abs=1e-5)


# Bad input -------------------------------------------------------------------------------------------

PURE = "exploration_rounds = 1369 for a horizon of 1000: the run would be pure exploration"
LONG = [[1.1, 0.0]]
AXES = [[2.0, 0.0], [0.0, 2.0]]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: random_instance(1, servers=0), "servers = 0"),
        (lambda: random_instance(1, servers=1001), "servers = 1001; .*1 to 1000"),
        (lambda: random_instance(1, dimension=1.5), "dimension = 1.5"),
        (lambda: random_instance(1, arrival_rate=1.0), "arrival_rate = 1.0"),
        (lambda: random_instance(1, slack=0.0), "slack = 0.0"),
        (lambda: random_instance(1, slack=0.3), r"slack = 0.3 with .*Assumption 3.4"),
        (lambda: random_instance(1, slack=0.25), r"no context satisfies Assumption 3.4"),
        (lambda: random_instance(1, kappa=3.9), "kappa = 3.9"),
        (lambda: random_instance(None), "seed = None"),
        (lambda: instance_of(AXES, 0.7, 0.29), "longest parameter has rate 0.88.*Assumption 3.4"),
        (lambda: instance_of(AXES, 0.7, 0.1, radius=1.9), r"parameters\[0\] has norm 2; .*3.1"),
        (lambda: instance_of([[0.0]], 0.7, 0.1), "parameters are all zero"),
        (lambda: finite_instance(AXES, LONG, 0.5), r"contexts\[0\] has norm 1.1; .*Assumption 3.1"),
        (lambda: finite_instance(AXES, [[1.0]], 0.5), "contexts has dimension 1; permitted: 2"),
        (lambda: finite_instance(AXES, [[np.nan, 0]], 0.5), r"contexts\[0, 0\] = nan"),
        (lambda: finite_instance(AXES, [1.0, 0.0], 0.5), "contexts has 1 dimensions"),
        (lambda: finite_instance(AXES, [], 0.5), "contexts"),
        (lambda: finite_instance(AXES, "ab", 0.5), "contexts is not numeric"),
        (
            lambda: finite_instance(AXES, [[1, 0], [-0.5, 0.1]], 0.5, slack=0.2),
            r"contexts\[1\] = \[-0.5  0.1\]: the best of 2 servers has rate 0.549.*Assumption 3.4",
        ),
        (lambda: finite_instance(AXES, [[1, 0]], 0.5, probabilities=[0.5]), "probabilities"),
        (lambda: table_instance([[0.5, 1.0]], 0.5), r"rates\[0, 1\] = 1.0"),
        (lambda: table_instance(TABLE, 0.7, slack=0.11), r"contexts\[1\].*0.8.*Assumption 3.4"),
    ],
)
def test_bad_instances_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"instance": 3}, "instance = 3"),
        ({"policy": "greedy"}, "policy = 'greedy' is not a policy"),
        ({"policy": greedy}, r"policy = .*did you mean greedy\(...\)"),
        ({"policy": lambda: 0}, "is a plain Python function"),
        ({"horizon": 1}, "horizon = 1; permitted: integers from 2"),
        ({"horizon": 10**8}, "horizon = 100000000; permitted: integers from 2 to 10000000"),
        ({"horizon": 2.5}, "horizon = 2.5"),
        ({"seed": -1}, "seed = -1"),
        ({"checkpoints": [0]}, "checkpoints"),
        ({"checkpoints": [101]}, "checkpoints"),
        ({"path": 1}, "path = 1"),
        ({"arrivals": [1] * 99}, "arrivals has 99 entries; .*100 rounds"),
        ({"arrivals": [0.5] * 100}, "arrivals"),
        ({"contexts": [[1.0, 0]] * 99}, "contexts has 99 rows"),
        ({"contexts": [[1.0]] * 100}, "contexts has dimension 1"),
        ({"contexts": [[1.0, 0]] * 50 + [[1.1, 0]] * 50}, r"contexts\[50\] has norm 1.1"),
        ({"contexts": [[1.0, 0]] * 50 + [[-0.9, 0]] * 50}, r"contexts\[50\] = .*Assumption 3.4"),
        ({"contexts": lambda horizon, rng: [[np.inf, 0]] * horizon}, r"contexts\[0, 0\] = inf"),
        ({"start": [[0.0, 0.0]]}, r"start\[0\] = .*rate 0.5.*Assumption 3.4"),
        ({"policy": cqb_epsilon(100)}, "CQB-ε: exploration_rounds = 100 .*pure exploration"),
        ({"policy": cqb_epsilon(), "instance": random_instance(1), "horizon": 1000}, PURE),
        ({"policy": cqb_eta2(0.1, 20, 30)}, "cutoff = 20; permitted: from exploration_rounds = 30"),
        ({"policy": cqb_eta2(0.1, 101, 30)}, "cutoff = 101"),
        ({"policy": cqb_epsilon(exploration=0.3)}, "exploration"),
    ],
)
def test_bad_runs_are_named(change, message):
    contexts = [[1.0, 0.0], [0.0, 1.0], [0.9, 0.1]]
    good = {"instance": finite_instance(AXES, contexts, 0.7, slack=0.14), "policy": greedy()}
    good |= {"horizon": 100, "seed": 1}
    with pytest.raises(ValueError, match=message):
        simulate(**(good | change))


def test_a_slack_is_needed_where_it_is_used():
    with pytest.raises(
        ValueError, match="exploration_rounds = None; permitted on an instance without"
    ):
        simulate(a_finite_instance(), cqb_epsilon(), 100, 1)
    run = simulate(a_finite_instance(), cqb_epsilon(20), 100, 1)
    assert run.bad[-1] == 0


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (cqb_opt, {"bonus_scale": -1}, "bonus_scale = -1"),
        (cqb_opt, {"bonus": "mine"}, "bonus = 'mine'"),
        (cqb_opt, {"regularisation": 0}, "regularisation = 0"),
        (cqb_opt, {"failure": 1.0}, "failure = 1.0"),
        (cqb_opt, {"refresh": 0.5}, "refresh = 0.5"),
        (cqb_epsilon, {"exploration_rounds": -1}, "exploration_rounds = -1"),
        (cqb_epsilon, {"exploration": 1.0}, "exploration = 1.0; permitted: .*below 1"),
        (cqb_eta2, {"exploration": 0.1, "cutoff": -1}, "cutoff = -1"),
    ],
)
def test_bad_settings_are_named(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: simulate_paired(one, [], 10, 1), "policies is empty"),
        (lambda one: simulate_paired(one, greedy(), 10, 1), "policies = "),
        (lambda one: simulate_paired(one, [greedy(), 3], 10, 1), r"policies\[1\] = 3"),
        (lambda one: coupled_pairs(one, greedy(), 10, 1, [0, 3]), "rounds"),
        (lambda one: coupled_pairs(one, greedy(), 10, 1, [10]), "rounds"),
        (lambda one: coupled_pairs(one, greedy(), 10, 1, after="fifo"), "after = 'fifo'"),
        (lambda one: coupled_pairs(one, greedy(), 10, 1, shared=1), "shared = 1"),
        (lambda one: coupled_path(one, greedy(), 10, 1, 10), "switch"),
        (lambda one: switching_queues(one, greedy(), 10, 1, [10]), r"switches\[0\] = 10; .*0 to 9"),
        (lambda one: run_on(one, greedy(), 1), "jobs = "),
        (lambda one: pairs_on(draw_jobs(one, 10, 1), None, 1), "path is NoneType"),
    ],
)
def test_other_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(random_instance(1))


def test_a_path_of_other_jobs_is_refused():
    instance = random_instance(1)
    run = simulate(instance, uniform(), 50, 1, path=True)
    with pytest.raises(ValueError, match="does not belong to these jobs"):
        pairs_on(draw_jobs(instance, 50, 2), run.path, 1)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("class P:\n    def choose(state): return 0", "wrong arguments"),
        ("class P:\n    pass", "has no function choose"),
        ("def P(): pass", "is not a class"),
        (
            "class P:\n    def choose(s, p, t, c, e, rng): return 0.5\n"
            "    def update(s, p, t, x, k, y): pass",
            "choose returns float64",
        ),
        (
            "class P:\n    def choose(s, p, t, c, e, rng):\n        c[0, 0] = 1.0\n        return 0\n"
            "    def update(s, p, t, x, k, y): pass",
            "readonly",
        ),
        (
            "class P:\n    def choose(s, p, t, c, e, rng): return np.random.randint(3)\n"
            "    def update(s, p, t, x, k, y): pass",
            r"np.random.* do not follow from the seed",
        ),
    ],
)
def test_policies_are_refused_at_definition(source, message):
    scope = {"np": np}
    exec(source, scope)
    with pytest.raises(ValueError, match=message) as caught:
        policy(scope["P"], size=1)
    assert "A policy looks like this" in str(caught.value)


def test_bad_policies_are_reported_while_they_run():
    @policy(size=1, params=(50.0, 1e9))
    class Breaks:
        def choose(state, params, t, contexts, entered, rng):
            return 999_999 if t > params[0] else 0

        def update(state, params, t, context, server, departed):
            if t > params[1]:
                state[1, 0] = np.nan

    instance = random_instance(1)
    with pytest.raises(
        ValueError, match=r"Breaks: choose returned 999999 in round 5\d with \d+ wait"
    ):
        simulate(instance, Breaks, 1000, 1)
    with pytest.raises(ValueError, match=r"Breaks: state\[1, 0\] is nan after round 30\d"):
        simulate(instance, Breaks.with_params([1e9, 300]), 1000, 1)

    @policy(size=1)
    class Outside:
        def choose(state, params, t, contexts, entered, rng):
            return int(state[0, 7])

        def update(state, params, t, context, server, departed):
            pass

    with pytest.raises(ValueError, match=r"Outside: with 5 servers and dimension 5 .*outside"):
        simulate(instance, Outside, 1000, 1)


def test_the_example_of_the_messages_runs():
    scope = {}
    exec(EXAMPLE, scope)
    made = scope["OldestJobBestServer"]
    run = simulate(random_instance(1), made, 2000, 1)
    assert 10 < run.queue[-1] < 600


@pytest.mark.parametrize("made", [cqb_epsilon(30), StayAfterSuccess, q_ucb()])
def test_policies_travel_and_have_digests(made):
    copy = pickle.loads(pickle.dumps(made))
    assert (copy.name, copy.digest, copy.settings) == (made.name, made.digest, made.settings)
    instance = random_instance(3)
    mine, its = (simulate(instance, one, 200, 1).queue for one in (made, copy))
    assert mine == its
    assert check_policy(copy, instance) is copy


def test_digests_tell_policies_apart():
    made = [cqb_opt(), cqb_opt(bonus_scale=0.5), cqb_opt(refresh=1.1), greedy(), q_ucb()]
    made += [StayAfterSuccess, StayAfterSuccess.with_params([1.0])]
    assert len({one.digest for one in made}) == len(made)


# The benchmark ---------------------------------------------------------------------------------------


def test_the_benchmarks_loops_walk_the_same_path():
    assert benchmark.disagreements(rounds=150) == []
    one = benchmark.roomy(random_instance(1))
    other = benchmark.naive_queues(one, 150, 3)
    assert other != benchmark.in_simlib(one, 150, 1)


def test_the_benchmark_says_what_was_missed():
    one = {"median": 2.0, "min": 1.0, "max": 3.0}
    names = ["exact 5000", "refreshed 5000", "refreshed 50000", "refreshed 500000"]
    result = {
        "rounds": 5000,
        "machine": {"cpu": "any"},
        "policies": {"CQB-Opt": one},
        "horizons": {"seconds": dict.fromkeys(names, one), "exponent": 1.7},
        "naive": {"naive_over_simlib": 9, "uncompiled_over_simlib": 99, "uncompiled_agrees": True},
        "memory": [{"rounds": 10, "allocated": 2000}],
        "start_up": {"cold": 9.0, "warm": 1.0},
    }
    text = benchmark.table(result)
    assert "CQB-Opt      2.0000 [1.0000, 3.0000]" in text
    assert "200 bytes a round" in text
    slow = dict(one, median=40.0)
    result["horizons"]["seconds"]["refreshed 500000"] = slow
    result["naive"]["uncompiled_agrees"] = False
    assert benchmark.missed(result) == [
        "2.00 s for a run, target at most 1.00 s",
        "500000 rounds cost 20.0 x 50000, target 15",
        "less than 100 x uncompiled",
        "the uncompiled source walks another path",
    ]
