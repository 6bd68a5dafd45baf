"""Finite Markov chains, in rationals or in floats."""

from fractions import Fraction

import flint
import numpy as np

__all__ = ["stationary_law"]


def stationary_law(transition):
    """Stationary law of a finite Markov chain with one recurrent class, in the matrix's arithmetic.

    Parameters
    ----------
    transition : ndarray, shape (n, n)
        Stochastic matrix; dtype object with Fractions for the exact law, float otherwise.

    Returns
    -------
    ndarray, shape (n,), of Fraction or float64
    """
    n = len(transition)
    # Balance equations with the last one (implied by the others) replaced by normalization.
    balance = (transition - np.eye(n, dtype=int)).T
    balance[-1] = transition[-1] * 0 + 1
    if transition.dtype != object:
        return np.linalg.solve(balance, np.eye(n)[-1])
    left = flint.fmpq_mat(n, n, [flint.fmpq(x.numerator, x.denominator) for x in balance.ravel()])
    right = flint.fmpq_mat(n, 1, [0] * (n - 1) + [1])
    law = np.empty(n, dtype=object)
    law[:] = [Fraction(int(x.p), int(x.q)) for x in left.solve(right).entries()]
    return law
