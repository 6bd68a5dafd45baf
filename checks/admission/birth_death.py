"""Small admission problems in rationals, and a route to their laws that uses no formula for them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simlib.admission.model import AdmissionModel


SHAPES = ("concave", "nondecreasing", "any")


def drawn(count: int, *, limit: int, shape: str, seed: int = 1) -> Iterator[AdmissionModel]:
    """Drawn problems with small rational numbers, the same in every run.

    Parameters
    ----------
    count, limit : int
        Number of problems, and jobs that each admits at most.
    shape : {"concave", "nondecreasing", "any"}
        What is known of the death rates, with mu(0) = 0; concave ones may fall at the end.
    seed : int
    """

    from simlib.admission.model import AdmissionModel

    source = random.Random(f"{shape} {limit} {seed}")
    while count:
        if shape == "any":
            rates = [Fraction(source.randint(1, 20), 4) for _ in range(limit)]
        else:
            steps = [Fraction(source.randint(0, 12), 4) for _ in range(limit)]
            if shape == "concave":
                steps = sorted((step - Fraction(1, 4) for step in steps), reverse=True)
            rates = list(accumulate(steps))
        if min(rates) > 0:
            count -= 1
            yield AdmissionModel(
                Fraction(source.randint(1, 12), 2),
                rates,
                Fraction(source.randint(0, 12), 4),
                Fraction(source.randint(0, 8), 4),
            )


def drawn_acceptance(limit: int, seed: int) -> tuple[Fraction, ...]:
    """Acceptance probabilities in quarters, the same in every run."""
    source = random.Random(seed)
    return tuple(Fraction(source.randint(0, 4), 4) for _ in range(limit))


def solved_law(model: AdmissionModel, acceptance: Sequence) -> list[Fraction]:
    """Stationary law from the balance equations of the uniformized chain, solved as a linear system."""
    import numpy as np

    from simlib.chains import stationary_law

    n = model.limit + 1
    chain = np.full((n, n), Fraction(0), dtype=object)
    for s in range(n):
        if s < model.limit:
            chain[s, s + 1] = model.arrival_rate * acceptance[s] / model.uniformization
        if s:
            chain[s, s - 1] = model.rates[s - 1] / model.uniformization
        chain[s, s] = 1 - chain[s].sum()
    return list(stationary_law(chain))


def solved_cost(model: AdmissionModel, acceptance: Sequence) -> Fraction:
    """Mean cost per unit time under the law of `solved_law`."""
    law = solved_law(model, acceptance)
    return sum(p * c for p, c in zip(law, model.costs(acceptance), strict=True))


def described(model: AdmissionModel) -> str:
    """The numbers of a problem, for a witness."""
    rates = ", ".join(map(str, model.rates))
    return (
        f"lambda = {model.arrival_rate}, mu = ({rates}), R = {model.rejection_cost}, "
        f"g_h = {model.holding_cost}"
    )


def listed(values: Sequence) -> str:
    """Values separated by commas."""
    return ", ".join(map(str, values))
