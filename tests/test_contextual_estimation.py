"""Estimation and explicit regret bounds: second routes to the numbers, judges that look first."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import sympy
from scipy import stats
from scipy.optimize import minimize

from checks import ledger
from checks.claim import find, judge
from checks.contextual import bad_rounds, decaying_regret, exploration
from checks.contextual.evidence import estimation as simulated
from checks.contextual.explicit_bounds import (
    EASY,
    SECTION_7,
    Balls,
    Bound,
    Order,
    Orders,
    cauchy_bound,
    chebyshev_bound,
    crossing,
    cutoff_bound,
    halfway_bound,
    learning,
    width,
)
from checks.methods.certified import ball, precision
from simlib.contextual import estimation as exact_estimates
from simlib.contextual import formulas

CLAIMS = (
    *("confidence_width", "elliptical_count", "exploration_length", "instant_gap"),
    *("theorem_5_5", "l1_one_third", "cqb_eta2", "theorem_6_3", "krishnasamy_facts"),
)


def check(claim, name):
    return next(one for one in find(f"contextual.{claim}").checks if one.judge.__name__ == name)


def middle(x):
    return float(x.mid())


# The claims ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CLAIMS)
def test_every_claimed_number_is_visible_read_and_has_a_false_value(name):
    claim = find(f"contextual.{name}")
    assert claim.shown | set(claim.meaning) == set(claim.claimed)
    assert {key for one in claim.checks for key in one.parameters} == set(claim.claimed)
    wrong = {key for one in claim.checks for false in one.false for key in false}
    assert wrong == set(claim.claimed)


def test_what_is_only_cited_stays_open():
    claim = find("contextual.krishnasamy_facts")
    assert claim.open
    assert "cited" not in {one.part for one in claim.checks}


@pytest.mark.parametrize("name", ["theorem_5_5", "l1_one_third", "cqb_eta2"])
def test_a_broken_lemma_shows_in_the_theorems(name):
    theorem = f"contextual.{name}"
    records = {f"contextual.{one}": {"verdict": "holds"} for one in CLAIMS}
    for lemma in ("confidence_width", "exploration_length", "instant_gap"):
        broken = records | {f"contextual.{lemma}": {"verdict": "refuted"}}
        assert f"contextual.{lemma} (refuted)" in ledger.foundation(theorem, broken)


@pytest.mark.parametrize(
    ("claim", "name", "lemma", "number", "value"),
    [
        ("theorem_5_5", "sums_in_closed_form", "instant_gap", "spread", "5"),
        ("l1_one_third", "early_and_late_rounds", "ramp_clean", "omega", "3"),
        ("cqb_eta2", "before_and_after_the_cutoff", "exploration_length", "failures", "3"),
        ("theorem_6_3", "squared_errors", "elliptical_count", "potential", "3"),
        ("instant_gap", "explored_contexts", "exploration_length", "rate", "0.15"),
    ],
)
def test_a_lemma_is_used_with_the_numbers_it_claims(monkeypatch, claim, name, lemma, number, value):
    monkeypatch.setitem(find(f"contextual.{lemma}").claimed, number, value)
    assert judge(check(claim, name)).claimed.outcome == "undecided"


def test_numbers_that_a_lemma_proves_beyond_its_claim_are_not_refuted():
    for failures, outcome in (("3", "proved"), ("2", "proved"), ("1.5", "proved")):
        assert exploration.optimism_squared(failures, "4").outcome == outcome
    for failures, outcome in (("4", "proved"), ("3.9", "proved"), ("2.9", "refuted")):
        assert decaying_regret.early_and_late_rounds(failures).outcome == outcome


@pytest.mark.parametrize(
    ("lemma", "number", "value"),
    [
        ("confidence_width", "lead", "1/2"),
        ("exploration_length", "samples", "16"),
        ("queue_potential", "constant", "16"),
        ("disagreement_queue", "factor", "1"),
    ],
)
def test_formulas_are_compared_with_their_lemmas(monkeypatch, lemma, number, value):
    monkeypatch.setitem(find(f"contextual.{lemma}").claimed, number, value)
    outcomes = {
        judge(check(*one)).claimed.outcome
        for one in (
            ("l1_one_third", "early_and_late_rounds"),
            ("l1_one_third", "best_rate_of_exploration"),
        )
    }
    assert "undecided" in outcomes


# Widths --------------------------------------------------------------------------------------------


def samples(seed, runs, n, spread=3.0):
    """Contexts on the circle, which of them count, and answers of one-sided parameters."""
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * rng.random((runs, n))
    contexts = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    used = np.arange(n) < rng.integers(1, n + 1, size=(runs, 1))
    truth = rng.normal(size=(runs, 2)) * spread
    rates = 1 / (1 + np.exp(-np.einsum("rnd,rd->rn", contexts, truth)))
    return contexts, used, (rng.random((runs, n)) < rates).astype(float)


def test_estimates_are_those_of_a_general_optimiser():
    contexts, used, answers = samples(1, 6, 12)
    found = simulated.regularised_estimate(contexts, used, answers, np.zeros((6, 2)))
    for run in range(6):
        x, y = contexts[run, used[run]], answers[run, used[run]]

        def loss(theta, x=x, y=y):
            z = x @ theta
            return np.sum(np.logaddexp(0, z) - y * z) + simulated.RIDGE / 2 * theta @ theta

        best = minimize(loss, np.zeros(2), tol=1e-12).x
        np.testing.assert_allclose(found[run], best, atol=2e-5)


def projected_by_grid(contexts, used, theta, design):
    """The nearest of a fine grid of the whole disc."""
    radii = np.linspace(0.5, 1, 26) * simulated.RADIUS
    angles = np.linspace(0, 2 * np.pi, 1440, endpoint=False)
    points = np.array([[r * np.cos(a), r * np.sin(a)] for r in radii for a in angles])
    many = np.broadcast_to(contexts, (len(points), *contexts.shape))
    apart = simulated.gradient_map(many, used, points)
    apart = apart - simulated.gradient_map(contexts[None], used, theta[None])
    distances = np.einsum("rd,de,re->r", apart, np.linalg.inv(design), apart)
    return points[distances.argmin()], distances.min()


def test_a_long_estimate_is_projected_to_the_nearest_point_of_the_disc():
    contexts, used, answers = samples(2, 12, 15, spread=9.0)
    free = simulated.regularised_estimate(contexts, used, answers, np.zeros((12, 2)))
    outer = np.einsum("rn,rnd,rne->rde", used.astype(float), contexts, contexts)
    design = outer + simulated.CURVATURE * simulated.RIDGE * np.eye(2)
    result = simulated.projected(contexts, used, free, design)
    long = np.hypot(*free.T) > simulated.RADIUS
    assert long.sum() >= 4
    np.testing.assert_array_equal(result[~long], free[~long])
    for run in np.flatnonzero(long):
        near, distance = projected_by_grid(contexts[run], used[run], free[run], design[run])
        np.testing.assert_allclose(result[run], near, atol=0.01)
        apart = simulated.gradient_map(contexts[[run]], used[[run]], result[[run]])
        apart = (apart - simulated.gradient_map(contexts[[run]], used[[run]], free[[run]]))[0]
        assert apart @ np.linalg.solve(design[run], apart) <= distance + 1e-9


def test_estimates_are_those_of_the_simulator():
    contexts, _, answers = samples(3, 1, 25, spread=9.0)
    kappa, ridge = simulated.CURVATURE, simulated.RIDGE
    work = exact_estimates.workspace(1, 2, 25, kappa, ridge)
    theta, longer = np.zeros((1, 2)), 0
    design = kappa * ridge * np.eye(2)[None]
    for n in range(25):
        exact_estimates.add_sample(0, contexts[0, n], answers[0, n], work)
        exact_estimates.fit(0, contexts[0, n], answers[0, n], simulated.RADIUS, ridge, *work)
        design = design + np.multiply.outer(contexts[0, n], contexts[0, n])
        used = np.ones((1, n + 1), dtype=bool)
        some = contexts[:, : n + 1]
        theta = simulated.regularised_estimate(some, used, answers[:, : n + 1], theta)
        mine = simulated.projected(some, used, theta, design)[0]
        longer += np.hypot(*theta[0]) > simulated.RADIUS
        other = work[0][0, exact_estimates.ESTIMATE]
        np.testing.assert_allclose(mine, other, atol=2e-5)
    assert longer > 0


def test_the_error_that_is_recorded_is_the_worst_over_all_contexts():
    rng = np.random.default_rng(4)
    theta, truth = rng.normal(size=2), rng.normal(size=2)
    root = rng.normal(size=(2, 2))
    design = root @ root.T + np.eye(2)
    recorded = math.sqrt((theta - truth) @ design @ (theta - truth)) / 4
    angles, lengths = np.linspace(0, np.pi, 721), np.geomspace(1e-3, 1, 40)
    unit = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    widths = np.sqrt(np.einsum("ad,de,ae->a", unit, np.linalg.inv(design), unit))
    worst = max(
        np.max(
            np.abs(np.tanh(r * unit @ theta / 2) - np.tanh(r * unit @ truth / 2)) / 2 / r / widths
        )
        for r in lengths
    )
    assert recorded * 0.9999 < worst <= recorded


def test_runs_do_not_depend_on_how_many_there_are():
    few, more = (
        simulated.estimation_error.compute(5, 1, rounds=15, runs=runs, bonus=0.5)["error"]
        for runs in (3, 7)
    )
    np.testing.assert_allclose(few, more[:3], rtol=1e-9)


def test_coverage_needs_runs_that_are_fit_to_judge():
    coverage = check("confidence_width", "coverage")
    good = np.random.default_rng(6).random((200, 4)) / 10
    for runs, outcome in (
        (good, "proved"),
        (good[:30], "undecided"),
        (np.full_like(good, np.nan), "undecided"),
        (np.zeros_like(good), "undecided"),
        (good + 100, "refuted"),
    ):
        assert judge(coverage, [{"error": runs}]).claimed.outcome == outcome


@pytest.mark.parametrize(("form", "stated"), [("ours", "17.88"), ("source", "43.05")])
def test_widths_are_those_of_the_simulator(form, stated):
    value = formulas.confidence_width(
        1500, 5, 5, math.log(1000), kappa=10, radius=formulas.radius_of_kappa(10), form=form
    )
    assert f"{value:.2f}" == stated == find("contextual.confidence_width").claimed[form]


# Bad rounds and eigenvalues ------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["least known", "the same", "around"])
def test_squared_uncertainties_in_floating_point(rule):
    found = bad_rounds._squared_uncertainties(3, 2, Fraction(1, 4), rule, rounds=12)
    assert len(found) == 12
    if rule == "the same":  # (3/5, 4/5, 0) again and again, at two servers in turn
        expected = [1 / (0.25 + t // 2) for t in range(12)]
        np.testing.assert_allclose([float(y) for y in found], expected)
    if rule == "least known":  # always a direction that was not tried, or tried least
        assert found[0] == found[1] == 4
        assert min(found) >= Fraction(1, 3)


def test_binomial_probabilities():
    with precision(200):
        for n, k, p in ((10, 3, Fraction(1, 4)), (10**6, 480, Fraction(1, 2000))):
            expected = stats.binom.logpmf(k, n, float(p))
            assert middle(exploration.log_binomial(n, k, p)) == pytest.approx(expected, rel=1e-9)


def test_the_tail_of_the_least_eigenvalue_in_one_dimension():
    rate = float(Fraction(find("contextual.exploration_length").claimed["rate"]))
    for n in (1, 5, 20, 200, 2000):
        for p in (0.01, 0.1, 0.5, 0.9, 1.0):
            assert stats.binom.cdf(math.floor(n * p / 2), n, p) <= math.exp(-rate * n * p)


def test_eigenvalues_of_sums_in_closed_form():
    drawn = simulated.least_eigenvalues.compute(7, 1, samples=12, runs=5)
    (root,) = simulated_seeds(7)
    angles = 2 * np.pi * np.random.default_rng(root).random((5, 12))
    for run in range(5):
        x = np.stack([np.cos(angles[run]), np.sin(angles[run])])
        assert drawn["least"][run] == pytest.approx(np.linalg.eigvalsh(x @ x.T)[0], abs=1e-12)


def simulated_seeds(seed):
    from simlib.streams import replication_seeds

    return replication_seeds(seed, "contextual.least_eigenvalues", 1)


# Explicit bounds: floating point -------------------------------------------------------------------


def floats(s, x, kind, power, p=2):
    """T, width, tau, s_0 and the numbers of a setting, in floating point and without rounding up."""
    horizon, log = 10.0**x, p * x * math.log(10)
    kappa, d, k = float(s.curvature), s.dimension, s.servers
    radius = math.acosh(kappa / 2 - 1)
    growth = d * math.log1p(horizon / (kappa * float(s.ridge) * d))
    both = math.log(k) + log
    if kind == "source":
        beta = kappa / 2 * math.sqrt(2 * growth + both) + kappa * radius * math.sqrt(s.ridge) / 2
    else:
        beta = kappa / 4 * math.sqrt(growth + 2 * both) + radius * math.sqrt(kappa * s.ridge) / 2
    slack, rate, spread = float(s.slack), float(s.arrival_rate), float(s.spread)
    explore = slack / 4 if power is None else horizon**-power
    few = (math.log(d * k) + log) / ((1 - math.log(2)) / 2 * spread)
    count = max(few, 32 * beta**2 / (spread * (slack - 2 * explore) ** 2))
    tau = 2 * k * count / rate + log / (2 * rate**2)
    settled = k / (rate * explore) * max(8 * both, 2 * few)
    return horizon, beta, tau, settled, explore, slack, rate, spread, k


@pytest.mark.parametrize("setting", [SECTION_7, EASY])
@pytest.mark.parametrize("kind", ["source", "ours"])
def test_theorem_5_5_in_floating_point(setting, kind):
    for x in (12, 30, 60):
        horizon, beta, tau, settled, explore, slack, rate, spread, k = floats(setting, x, kind, 0.5)
        errors = tau + settled + 1 + math.sqrt(3) + horizon * math.sqrt(rate * explore)
        errors += 8 * beta * math.sqrt(k / (rate * spread)) * horizon**0.75
        constant = 1 + 16 / slack**2
        effects = 4 * tau / slack + 32 / slack**2 * math.log(2 * constant) + 64 / slack**2 + 1
        expected = errors * (effects + math.sqrt(3)) / (horizon - 1)
        with precision(96):
            found = chebyshev_bound(Balls(ball(x)), setting, kind, Fraction(2)).regret
        assert middle(found) == pytest.approx(expected, rel=1e-4)


def ramp_of(slack, rate, tau):
    factor = 1 + 8 / 7 * (1 + 416 / 75 * rate / slack)
    return 2 * tau / slack, slack**2 / 4, factor


@pytest.mark.parametrize("kind", ["source", "ours"])
@pytest.mark.parametrize("power", [Fraction(1, 3), Fraction(1, 2)])
def test_the_bound_without_cauchy_schwarz_in_floating_point(kind, power):
    for x in (14, 30, 60):
        horizon, beta, tau, _, explore, slack, rate, spread, k = floats(
            SECTION_7, x, kind, float(power)
        )
        window, c, factor = ramp_of(slack, rate, tau)
        eigenvalue = rate * explore * spread * (horizon / 2 - tau) / (4 * k)
        error = explore + 2 * beta / math.sqrt(eigenvalue)
        early = (horizon / 2 + 1) * factor * math.exp(-c * (horizon / 2 - 2 - window))
        expected = 4 / horizon + early + error * (window + 1 + (1 + math.log(factor)) / c)
        with precision(96):
            found = halfway_bound(Balls(ball(x)), SECTION_7, kind, power)
        assert middle(found.regret) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("kind", ["source", "ours"])
def test_the_bound_with_a_cutoff_in_floating_point(kind):
    for x in (13, 30, 60):
        horizon, beta, tau, _, explore, slack, rate, spread, k = floats(SECTION_7, x, kind, None)
        window, c, factor = ramp_of(slack, rate, tau)
        cut = 1 + window + math.log(8 / 7 * factor / c * math.sqrt(horizon)) / c
        eigenvalue = rate * explore * spread * (horizon - cut - tau) / (4 * k)
        expected = horizon**-0.5 + 3 / horizon + cut * 2 * beta / math.sqrt(eigenvalue)
        with precision(96):
            found = cutoff_bound(Balls(ball(x)), SECTION_7, kind)
        assert middle(found.regret) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("kind", ["source", "ours"])
def test_bounds_of_the_source_are_those_of_the_simulator(kind):
    for x in (20, 60):
        with precision(96):
            n = Balls(ball(x))
            fifth = chebyshev_bound(n, SECTION_7, kind, Fraction(2)).regret
            sixth = cauchy_bound(n, SECTION_7, kind, "source").regret
        other = formulas.theorem_5_5_bound(x, formulas.SOURCE_SETTING, width=kind)
        assert math.log10(middle(fifth)) == pytest.approx(other.log10_value, abs=0.01)
        other = formulas.theorem_6_3_bound(x, formulas.SOURCE_SETTING, width=kind, form="source")
        assert math.log10(middle(sixth)) == pytest.approx(other.log10_value, abs=0.01)


@pytest.mark.parametrize("kind", ["source", "ours"])
@pytest.mark.parametrize("x", [13, 30, 60])
def test_our_bounds_are_those_of_the_simulator(x, kind):
    setting = formulas.SOURCE_SETTING
    with precision(96):
        n = Balls(ball(x))
        pairs = [
            (halfway_bound(n, SECTION_7, kind, Fraction(1, 3)), formulas.l1_bound),
            (cutoff_bound(n, SECTION_7, kind), formulas.cqb_eta2_bound),
        ]
    for stated, bound in pairs:
        found = bound(x, setting, width=kind)
        assert 10**found.log10_value == pytest.approx(middle(stated.regret), rel=1e-6)


@pytest.mark.parametrize("setting", [SECTION_7, EASY])
def test_settings_meet_the_assumptions(setting):
    with precision(64):
        radius = middle(Balls(ball(4)).radius(ball(setting.curvature)))
    largest = 1 / (1 + math.exp(-radius))
    assert largest * (1 - largest) == pytest.approx(1 / float(setting.curvature))
    assert setting.arrival_rate + setting.slack <= largest + 1e-12
    assert setting.spread * setting.dimension <= 1


# Explicit bounds: orders of growth -----------------------------------------------------------------


def test_leading_terms_are_approached():
    with precision(96):
        n = Balls(ball(10**9))
        given = learning(n, SECTION_7, "source", Fraction(2), n.power(Fraction(-1, 2)))
        scale = ball(SECTION_7.servers / (SECTION_7.arrival_rate * SECTION_7.spread)).sqrt()
        leading = 32 * scale / ball(SECTION_7.slack) * given.exploration * given.width
        bound = chebyshev_bound(n, SECTION_7, "source", Fraction(2)).regret
        assert middle(bound / (leading * n.power(Fraction(-1, 4)))) == pytest.approx(1, abs=1e-3)
        cut = cutoff_bound(n, SECTION_7, "source")
        root = ball(SECTION_7.servers / (SECTION_7.arrival_rate * SECTION_7.slack)).sqrt()
        leading = 8 * root / ball(SECTION_7.spread).sqrt() * cut.cut * cut.width
        ratio = cut.regret / (leading * n.power(Fraction(-1, 2)))
        assert middle(ratio) == pytest.approx(1, abs=1e-6)
        product = cauchy_bound(n, SECTION_7, "source", "source").regret
        beta = width(n, SECTION_7, "source", n.log_horizon)
        leading = 32 * beta**2 * 25 * n.log_horizon / ball(SECTION_7.slack) ** ball(Fraction(3, 2))
        assert middle(product / leading) == pytest.approx(1, abs=1e-3)


def test_the_arithmetic_of_leading_terms():
    x, n = sympy.Symbol("x", positive=True), Orders()
    two = Order(sympy.Integer(2))
    assert (n.horizon + 5) == n.horizon
    assert (two * n.log_horizon + n.log_horizon).coefficient == 3
    assert (n.horizon / n.log_horizon).size == (1, -1)
    assert n.sqrt(4 * n.power(Fraction(1, 2))).size == (Fraction(1, 4), 0)
    assert (Order(x) - Order(x / 2)).coefficient == x / 2
    assert (1 - n.power(Fraction(-1))) == Order(sympy.Integer(1))
    assert n.log(n.power(Fraction(1, 2))).coefficient == Fraction(1, 2)
    for smaller, larger in ((two, n.horizon), (Order(x), Order(x)), (Order(x), Order(2 * x))):
        with pytest.raises(ArithmeticError, match="first term"):
            smaller - larger
    with pytest.raises(ArithmeticError, match="power of T"):
        n.exp_minus(n.log_horizon)


def test_with_delta_as_in_other_bandits_the_bound_grows():
    found = decaying_regret.leading_term_of_the_bound("32", "1/4", "3/2", "1")
    assert found.outcome == "refuted"
    assert "T^(1/4)" in found.witness


# Horizons ------------------------------------------------------------------------------------------


def one(n):
    return n.number(1)


@pytest.mark.parametrize(
    ("stated", "outcome"),
    [("6.0", "proved"), ("6.00", "proved"), ("5.9", "refuted"), ("6.1", "refuted")],
)
def test_a_horizon_is_judged_to_its_last_digit(stated, outcome):
    found = crossing(
        lambda n: Bound(n.power(Fraction(-1, 4)) * n.number(Fraction(31623, 1000))),
        one,
        stated,
        "x",
    )
    assert found.outcome == outcome


def test_a_bound_that_comes_back_does_not_fall_for_good():
    def back(n):
        x = n.log_horizon / n.number(10).log()
        return Bound(1 + (x - 6) * (x - 20) / 1000)

    assert crossing(back, one, "6.0", "x").outcome == "undecided"


def test_there_is_no_bound_where_a_condition_fails():
    def conditional(n):
        return Bound(n.power(Fraction(-1)), ((n.horizon, n.power(Fraction(0)) * 10**9),))

    assert crossing(conditional, one, "9.0", "x").outcome == "proved"
    assert crossing(conditional, one, "8.5", "x").outcome == "refuted"
    assert crossing(conditional, one, "9.5", "x").outcome == "refuted"


def test_horizons_that_are_no_horizons():
    with pytest.raises(ValueError, match="plain decimal"):
        crossing(lambda n: Bound(one(n)), one, "12", "x")
    with pytest.raises(ValueError, match="three exponents"):
        decaying_regret.horizons(lambda n: Bound(one(n)), SECTION_7, "12.2, 60.3", "x")
    with precision(64):
        n = Balls(ball(5))
        with pytest.raises(ValueError, match="kind = 'theirs'"):
            width(n, SECTION_7, "theirs", n.log_horizon)
        with pytest.raises(ValueError, match="ramp = 'steep'"):
            cauchy_bound(n, SECTION_7, "ours", "steep")


def test_a_longer_pure_exploration_moves_the_horizons():
    harder = replace(SECTION_7, spread=Fraction(1, 50))  # 4.3 decades later, as sigma_0^2 falls
    claimed = find("contextual.theorem_5_5").claimed["source_width"]
    found = decaying_regret.horizons(
        lambda n: Bound(chebyshev_bound(n, harder, "source", Fraction(2)).regret),
        harder,
        claimed,
        "bound",
    )
    assert [one.outcome for one in found] == ["refuted"] * 3


# Claims beyond -------------------------------------------------------------------------------------


def test_the_law_under_the_best_server_by_powers_of_its_matrix():
    lam, mu, levels = 0.3, 0.6, 60
    for first in ("service", "arrivals"):
        step = np.zeros((levels, levels))
        for q in range(levels):
            for a, d in ((0, 0), (0, 1), (1, 0), (1, 1)):
                chance = (lam if a else 1 - lam) * (mu if d else 1 - mu)
                after = max(q - d, 0) + a if first == "service" else max(q + a - d, 0)
                step[q, min(after, levels - 1)] += chance
        law = np.linalg.matrix_power(step, 4096)[0]
        r = lam * (1 - mu) / (mu * (1 - lam))
        tail = law[::-1].cumsum()[::-1][1:8]
        start = lam / mu if first == "service" else r
        np.testing.assert_allclose(tail, start * r ** np.arange(7), rtol=1e-9)
