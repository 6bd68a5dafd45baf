"""Intervals: known values, coverage, and refusals."""

import math

import numpy as np
import pytest

from simlib import estimate


def test_hoeffding_radius():
    found = estimate.mean_hoeffding([0.25, 0.75] * 100, 0, 1, 0.01)
    assert found.value == 0.5
    assert found.half_width == pytest.approx(math.sqrt(math.log(200) / 400))
    assert (found.n, found.alpha, found.method) == (200, 0.01, "Hoeffding")


def test_intervals_stay_within_the_bounds():
    found = estimate.mean_hoeffding([0.0, 0.0, 1.0], 0, 1, 1e-6)
    assert (found.low, found.high) == (0, 1)


def test_clopper_pearson():
    # No success in n trials: the upper end solves (1 - p)**n = alpha / 2.
    none = estimate.proportion(0, 20, 0.05)
    assert none.low == 0
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 20))
    every = estimate.proportion(20, 20, 0.05)
    assert (every.low, every.high) == (pytest.approx(0.025 ** (1 / 20)), 1)
    some = estimate.proportion(7, 20, 0.05)
    assert (some.low, some.high) == (
        pytest.approx(0.1539, abs=5e-5),
        pytest.approx(0.5922, abs=5e-5),
    )


def test_clopper_pearson_covers_every_probability():
    n, alpha = 25, 0.1
    intervals = [estimate.proportion(k, n, alpha) for k in range(n + 1)]
    for p in np.linspace(0.01, 0.99, 99):
        covered = sum(
            math.comb(n, k) * p**k * (1 - p) ** (n - k)
            for k, found in enumerate(intervals)
            if found.low <= p <= found.high
        )
        assert covered >= 1 - alpha


def test_coverage_on_a_skewed_law():
    rng = np.random.default_rng(5)
    samples = rng.beta(0.3, 1.5, size=(2000, 60))  # mean 1/6
    found = [estimate.mean_hoeffding(row, 0, 1, 0.1) for row in samples]
    assert np.mean([interval.low <= 1 / 6 <= interval.high for interval in found]) >= 0.9


def test_normal_interval_covers_normal_samples_as_promised():
    rng = np.random.default_rng(6)
    found = [estimate.mean_normal(row, 0.2) for row in rng.normal(3.0, 2.0, size=(4000, 5))]
    covered = np.mean([interval.low <= 3.0 <= interval.high for interval in found])
    assert covered == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("samples", lambda: estimate.mean_hoeffding([], 0, 1, 0.1)),
        (r"samples\[1\]", lambda: estimate.mean_hoeffding([0.5, 1.5], 0, 1, 0.1)),
        ("low", lambda: estimate.mean_hoeffding([0.5], 1, 0, 0.1)),
        ("low", lambda: estimate.mean_hoeffding([0.5], "0", 1, 0.1)),
        ("low", lambda: estimate.mean_hoeffding([0.5], None, 1, 0.1)),
        ("high", lambda: estimate.mean_hoeffding([0.5], 0, math.inf, 0.1)),
        ("high", lambda: estimate.mean_hoeffding([0.5], 0, [1], 0.1)),
        ("samples", lambda: estimate.mean_normal([[0.5], [0.1, 0.2]], 0.1)),
        ("alpha", lambda: estimate.mean_hoeffding([0.5], 0, 1, 0.0)),
        ("successes", lambda: estimate.proportion(5, 4, 0.1)),
        ("n", lambda: estimate.proportion(0, 0, 0.1)),
        ("samples", lambda: estimate.mean_normal([1.0], 0.1)),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(name, call):
    with pytest.raises(ValueError, match=rf"^{name}.*permitted"):
        call()
