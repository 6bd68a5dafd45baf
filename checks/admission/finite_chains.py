"""Finite chains in rationals: distances to the stationary law, and certified second eigenvalues."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from checks.finding import Finding
from checks.methods.certified import quantity, rounds_to

if TYPE_CHECKING:
    from flint import arb

    from simlib.admission.network import Network

ONE_QUEUE = ("queue", "1", 1, 1, "4")  # lambda = mu = 1, S = 1, all accepted, U = 4


@dataclass(frozen=True, eq=False)
class Chain:
    """A finite chain with rational transition probabilities, as integers over common denominators.

    Attributes
    ----------
    matrix : flint.fmpz_mat
        Transition probabilities times ``scale``.
    scale : int
    law : tuple of int
        Stationary probabilities times ``mass``.
    mass : int
    """

    matrix: Any
    scale: int
    law: tuple[int, ...]
    mass: int

    @classmethod
    def of(cls, rows, law) -> Chain:
        """From rows and stationary law in Fractions.

        Raises
        ------
        ArithmeticError
            If the law is not stationary.
        """
        from flint import fmpz_mat

        scale = math.lcm(*(p.denominator for row in rows for p in row))
        mass = math.lcm(*(p.denominator for p in law))
        matrix = fmpz_mat([[int(p * scale) for p in row] for row in rows])
        weights = fmpz_mat([[int(p * mass) for p in law]])
        if weights * matrix != weights * scale:
            raise ArithmeticError("the law is not stationary")
        return cls(matrix, scale, tuple(int(p * mass) for p in law), mass)

    def rows(self, steps: int) -> tuple[list, int]:
        """Rows of the power of the matrix, as integers, and their denominator."""
        return (self.matrix**steps).tolist(), self.scale**steps

    def distances(self, steps: int) -> list[Fraction]:
        """Total variation distance to the stationary law after so many steps, from every state."""
        rows, unit = self.rows(steps)
        return [
            Fraction(
                sum(abs(int(p) * self.mass - q * unit) for p, q in zip(row, self.law, strict=True)),
                2 * unit * self.mass,
            )
            for row in rows
        ]

    def farthest(self, steps: int) -> Fraction:
        """d(t), the largest distance to the stationary law."""
        return max(self.distances(steps))

    def apart(self, steps: int) -> Fraction:
        """The largest distance of two starts."""
        rows, unit = self.rows(steps)
        return max(
            Fraction(sum(abs(int(p) - int(q)) for p, q in zip(one, other, strict=True)), 2 * unit)
            for one in rows
            for other in rows
        )

    def average(self, steps: int) -> Fraction:
        """The distance to the stationary law, averaged over a stationary start."""
        found = self.distances(steps)
        return (
            sum((q * far for q, far in zip(self.law, found, strict=True)), Fraction(0)) / self.mass
        )

    def mixes_at(self, steps: int) -> bool:
        """Whether this is the mixing time, the least t with d(t) <= 1/4."""
        quarter = Fraction(1, 4)
        return self.farthest(steps) <= quarter and (
            steps == 0 or self.farthest(steps - 1) > quarter
        )

    def second_modulus(self) -> arb:
        """A ball around the second-largest modulus of an eigenvalue (1 being counted once).

        Raises
        ------
        ArithmeticError
            If 1 is no eigenvalue, so that the rows do not sum to 1.
        """
        from flint import arb, fmpz_poly

        characteristic = self.matrix.charpoly()
        rest, remainder = divmod(characteristic, fmpz_poly([-self.scale, 1]))
        if remainder:
            raise ArithmeticError("1 is no eigenvalue")
        moduli = [abs(root) / self.scale for root, _ in rest.complex_roots()]
        largest = moduli[0]
        for modulus in moduli[1:]:
            largest = arb.max(largest, modulus)
        return largest


@cache
def queue_or_tiers(kind: str, arrival_rate: str, limit: int, theta: int, clock: str) -> Chain:
    """A network's chain under a threshold.

    Parameters
    ----------
    kind : {"queue", "tiers", "half"}
        One queue of rate 1, or of rate 1/2; or three tiers of one queue each, rates 1, half go on.
    arrival_rate, clock : str
        Rational lambda and U.
    limit, theta : int
        Largest number of jobs; admit below theta.
    """
    from simlib.admission.chain import stationary_exact, transition_matrix
    from simlib.admission.model import threshold

    network = _network(kind, arrival_rate)
    policy = threshold(theta, limit)
    points, rows = transition_matrix(network, limit, policy, Fraction(clock), exact=True)
    law = stationary_exact(network, limit, policy)
    return Chain.of(rows, [law[x] for x in points])


def _network(kind: str, arrival_rate: str) -> Network:
    from simlib.admission.network import tandem, three_tier

    if kind == "tiers":
        return three_tier(1, arrival_rate=Fraction(arrival_rate), rates=1)
    rates = {"queue": (Fraction(1),), "half": (Fraction(1, 2),)}
    return tandem(Fraction(arrival_rate), rates[kind])


def whole(name: str, text: str, least: int, most: int) -> int:
    """A whole number within limits, from its text.

    Raises
    ------
    ValueError
        For any other text: it would be no such number, or take for ever.
    """
    if not (text.strip().isdigit() and least <= int(text) <= most):
        raise ValueError(f"{name} = {text!r}: must be a whole number from {least} to {most}")
    return int(text)


def inverse_log(modulus: arb) -> arb:
    """W^2 = 1/log(1/rho) of a ball around rho."""
    return -1 / modulus.log()


def decimal_of(value: arb, text: str, name: str) -> Finding:
    """Whether a decimal is a certified ball's value, rounded; the value is kept."""
    return rounds_to(value, text, name, **{name: quantity(value, 12)})
