"""Negative drift and bounded steps bound the mean of a process: a lemma that two topics use.

A process X starts at or below beta + c, its steps are at most c in absolute value, and its drift given
the past is at most -alpha < 0 wherever it is above beta. Then, for all times t,

    E X_t <= beta + c + (c^2 / alpha) ln(1 / (1 - theta)),   theta = exp(-exponent (alpha / c)^2),

with exponent 1/2.
"""

from __future__ import annotations

from fractions import Fraction

from checks.finding import Finding, combine, proved, refuted, undecided


def exponential_moment(exponent: str) -> Finding:
    """Decide the step of the proof that fixes the exponent, and those that follow from it.

    On [-c, c] the chord of exp gives E exp(k X) <= cosh y - y sinh y for a step with mean at most
    -alpha, where k = alpha/c^2 and y = alpha/c. Every coefficient of cosh y - y sinh y beyond the
    first is negative, so it is at most 1 - y^2/2, and 1 - x <= exp(-x). Then Y = exp(k X) satisfies
    E Y' <= theta E Y + A with A = exp(k (beta + c)) >= Y_0, which keeps E Y below A/(1 - theta);
    Jensen's inequality ends the proof. An exponent above 1/2 is refuted at a small y.

    Parameters
    ----------
    exponent : str
        A positive rational.

    Raises
    ------
    ValueError
        If it is not positive: theta would be no factor below 1.
    """
    import sympy
    import z3

    from checks.methods.certified import ball, precision
    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    stated = Fraction(exponent)
    if stated <= 0:
        raise ValueError(f"exponent = {exponent}: must be positive, or theta is no factor below 1")
    if stated > Fraction(1, 2):
        y = min(stated - Fraction(1, 2), Fraction(1))
        with precision(128):
            y_ball = ball(y)
            moment = y_ball.cosh() - y_ball * y_ball.sinh()
            bound = (-ball(stated) * y_ball * y_ball).exp()
            if not moment > bound:
                return undecided(f"at alpha/c = {y} moment and bound are not separated")
            return refuted(
                f"at alpha/c = {y} the moment exceeds the bound by "
                f"{float((moment - bound).mid()):.1e}"
            )
    k = sympy.Symbol("k", integer=True, positive=True)
    coefficient = (1 / sympy.factorial(2 * k) - 1 / sympy.factorial(2 * k - 1)) * sympy.factorial(
        2 * k
    )
    coefficient = sympy.simplify(sympy.expand(sympy.gammasimp(coefficient)))
    x = sympy.Symbol("x", real=True)
    chord = sympy.cosh(x) + (-x) * sympy.sinh(x)
    upper, lower = sympy.exp(x), sympy.exp(-x)
    mean_at_chord = (1 - x) / 2 * upper + (1 + x) / 2 * lower
    moment, start, theta = z3.Reals("EY A theta")
    bound = [start > 0, theta > 0, theta < 1, moment >= 0]
    stays = implies(
        [*bound, moment * (1 - theta) <= start],
        (theta * moment + start) * (1 - theta) <= start,
        "E Y stays below A / (1 - theta)",
    )
    begins = implies([*bound, moment <= start], moment * (1 - theta) <= start, "E Y starts there")
    return combine(
        [
            identity(coefficient, 1 - 2 * k, "coefficient of y^(2k) times (2k)!"),
            identity(mean_at_chord.rewrite(sympy.exp), chord.rewrite(sympy.exp), "chord"),
            proved(f"1 - y^2/2 <= exp(-{stated} y^2), as 1 - x <= exp(-x) and {stated} <= 1/2"),
            stays,
            begins,
        ],
        "coefficients (1 - 2k)/(2k)! are negative; the moment stays below A/(1 - theta)",
    )
