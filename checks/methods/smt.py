"""z3: a statement is proved when the hypotheses with its negation are unsatisfiable.

Division is total in z3, so callers multiply denominators out and state positivity as hypotheses.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from checks.finding import Finding, proved, refuted, undecided

TIMEOUT_MS = 20_000


def real(value: str | int | Fraction) -> Any:
    """An exact rational constant of z3, from a number or its text (never from a float)."""
    import z3

    return z3.Q(*Fraction(value).as_integer_ratio())


def implies(hypotheses: Sequence[Any], conclusion: Any, name: str) -> Finding:
    """Decide whether the hypotheses imply the conclusion over the reals.

    Parameters
    ----------
    hypotheses : sequence of z3 formulas
    conclusion : z3 formula
    name : str

    Returns
    -------
    Finding
        Refuted with z3's model, re-evaluated on the hypotheses and the conclusion; undecided where
        z3 answers *unknown*, or finds no case that satisfies the hypotheses: from a contradiction
        everything follows.
    """
    import z3

    solver = z3.Solver()
    solver.set("timeout", TIMEOUT_MS)
    solver.add(*hypotheses)
    if solver.check() != z3.sat:
        return undecided(f"{name}: no case is known that satisfies the hypotheses")
    solver.add(z3.Not(conclusion))
    answer = solver.check()
    if answer == z3.unsat:
        return proved(f"{name}: the negation is unsatisfiable")
    if answer == z3.unknown:
        return undecided(f"{name}: z3 answers unknown ({solver.reason_unknown()})")
    model = solver.model()
    confirmed = z3.is_false(model.eval(conclusion, model_completion=True)) and all(
        z3.is_true(model.eval(formula, model_completion=True)) for formula in hypotheses
    )
    if not confirmed:
        return undecided(f"{name}: z3's model does not evaluate to a counterexample")
    point = ", ".join(f"{symbol} = {model[symbol]}" for symbol in sorted(model, key=str))
    return refuted(f"{name}: fails at {point}")
