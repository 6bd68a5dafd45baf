"""What the claims about queue, EXP3 and other learners compute beyond what the ledger judges."""

from fractions import Fraction

import numpy as np
import pytest

from checks.claim import find
from checks.methods.statistical import most_runs
from checks.recharge.evidence import queue_settled
from checks.recharge.queue_in_front import heavy_traffic_constant, mean_queue
from simlib.recharge.stationary import heavy_traffic_constant as floating_heavy_traffic
from simlib.recharge.stationary import stationary_queue


@pytest.mark.parametrize(("rate", "margin"), [("1/2", "1/5"), ("1/2", "1/20"), ("3/10", "1/100")])
def test_enclosed_mean_queue_with_one_server_is_the_closed_form(rate, margin):
    service, gap = Fraction(rate), Fraction(margin)
    arrival = service - gap
    # The bufferless queue less the packet in the buffer.
    exact = arrival * (1 - service) / gap - arrival * (1 - service) / service
    low, high = mean_queue((rate,), margin)
    assert low <= exact <= high
    assert high - low < Fraction(1, 10**8)


def test_enclosed_mean_queue_contains_the_matrix_analytic_one():
    rates = ("2/5", "3/10", "1/5", "1/10")
    threshold = sum(x := [Fraction(r) / (1 - Fraction(r)) for r in rates]) / (1 + sum(x))
    low, high = mean_queue(rates, "0.02")
    other = stationary_queue(float(threshold) - 0.02, [float(Fraction(r)) for r in rates]).mean
    assert float(low) == pytest.approx(other, rel=1e-9)
    assert high - low < Fraction(1, 10**7)


def test_heavy_traffic_constant_agrees_with_the_variance_formula():
    rates = ("1/2", "1/10", "3/10")
    exact = heavy_traffic_constant(rates)
    assert float(exact) == pytest.approx(floating_heavy_traffic([0.5, 0.1, 0.3]), rel=1e-12)


@pytest.mark.parametrize(("hits", "outcome"), [(40, "proved"), (22, "undecided"), (1, "refuted")])
def test_most_runs_has_three_answers(hits, outcome):
    values = np.arange(40.0)
    found = most_runs(values, lambda value: value < hits, 1e-6, "number", f"below {hits}")
    assert found.outcome == outcome


def test_evidence_does_not_depend_on_the_number_of_workers():
    few = {"horizon": 2_000, "runs": 3, "exploration": 0.02}
    one, two = (queue_settled.compute(7, jobs, **few) for jobs in (1, 2))
    assert one.keys() == two.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], two[name])


def test_every_number_of_a_check_is_visible_in_the_statement_or_title():
    names = "exp3_concentration queue_transient stability_threshold ucb1_limit not_every_bandit"
    for name in [*names.split(), "crawling", "mean_queue_convention"]:
        claim = find(name)
        hidden = {key for key in claim.claimed if f"<<{key}>>" not in claim.title + claim.statement}
        assert not hidden, f"{claim.id}: {hidden}"
