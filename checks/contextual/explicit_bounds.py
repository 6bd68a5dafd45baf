"""The constants of the algorithms and their regret bounds, written once for two kinds of numbers.

A formula is evaluated with balls at a horizon T = 10^x, which gives enclosures, or with leading terms
c T^a (ln T)^b, which gives the order of growth with its constant. Both go through the same lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from checks.finding import Finding, decimal, proved, refuted, undecided
from checks.judging import as_printed_decimal

if TYPE_CHECKING:
    from flint import arb
    from sympy import Expr


@dataclass(frozen=True)
class Setting:
    """What the bounds are evaluated at.

    Attributes
    ----------
    arrival_rate, slack : Fraction
        lambda and epsilon, with lambda + epsilon at most the largest rate.
    servers, dimension : int
        K and d.
    curvature : Fraction
        kappa, at least 4: the slope of the logistic function is at least 1/kappa at |z| <= S.
    ridge : Fraction
        lambda_0.
    spread : Fraction
        sigma_0^2, the least eigenvalue of E x x^T; at most 1/d.

    In place of these numbers, the fields may be SymPy symbols (see `orders`).
    """

    arrival_rate: Any
    slack: Any
    servers: Any
    dimension: Any
    curvature: Any
    ridge: Any
    spread: Any


#: The experiment of Section 7 of the source; lambda_0 and sigma_0^2 are ours.
SECTION_7 = Setting(
    Fraction(7, 10), Fraction(1, 10), 5, 5, Fraction(10), Fraction(1), Fraction(1, 10)
)

#: A short queue and one context x = 1 or -1: lambda + epsilon = 0.9 needs S = ln 9, so kappa = 100/9.
EASY = Setting(Fraction(3, 10), Fraction(3, 5), 2, 1, Fraction(100, 9), Fraction(1), Fraction(1))


@cache
def _ball(value: Fraction | int, bits: int) -> arb:
    """A number as a ball of the precision in use; most of the time went into these."""
    from checks.methods.certified import ball, precision

    with precision(bits):
        return ball(value)


class Balls:
    """Arb balls at the horizon T = 10^x.

    Parameters
    ----------
    x : arb
        May be wide: then all results enclose those of every horizon in it.
    """

    def __init__(self, x: arb) -> None:
        from flint import arb, ctx

        self._bits = ctx.prec
        self.log_horizon = x * arb(10).log()
        self.horizon = self.log_horizon.exp()

    def number(self, value: Fraction | int) -> arb:
        return _ball(value, self._bits)

    def power(self, exponent: Fraction) -> arb:
        """T to a rational power."""
        return (self.log_horizon * self.number(exponent)).exp()

    def log_growth(self, scale: arb) -> arb:
        """ln(1 + T/scale), from ln T: a wide ball around T reaches down to 0."""
        return self.log_horizon - scale.log() + (1 + scale * self.power(Fraction(-1))).log()

    def radius(self, curvature: arb) -> arb:
        """S, at which the slope of the logistic function is 1/kappa."""
        root = (1 - 4 / curvature).sqrt()
        return ((1 + root) / (1 - root)).log()

    def log(self, value: arb) -> arb:
        return value.log()

    def sqrt(self, value: arb) -> arb:
        return value.sqrt()

    def exp_minus(self, value: arb) -> arb:
        return (-value).exp()

    def rounded_up(self, value: arb) -> arb:
        """Contains the least integer that is not below the value."""
        return value.union(value + 1)

    def larger(self, first: arb, second: arb) -> arb:
        return first.max(second)


@dataclass(frozen=True)
class Order:
    """c T^a (ln T)^b times 1 + o(1), as T grows: what is left of a formula for large T.

    Sums keep the larger term, so they need positive coefficients; a difference needs a larger first
    term.

    Attributes
    ----------
    coefficient : sympy expression
        Positive.
    power, logs : Fraction
        a and b.
    """

    coefficient: Expr
    power: Fraction = Fraction(0)
    logs: Fraction = Fraction(0)

    @property
    def size(self) -> tuple[Fraction, Fraction]:
        return self.power, self.logs

    def __add__(self, other: Order | int) -> Order:
        other = _as_order(other)
        if self.size == other.size:
            return Order(self.coefficient + other.coefficient, *self.size)
        return max(self, other, key=lambda term: term.size)

    __radd__ = __add__

    def __sub__(self, other: Order | int) -> Order:
        other = _as_order(other)
        if self.size > other.size:
            return self
        left = self.coefficient - other.coefficient
        if self.size < other.size or not left.is_positive:
            raise ArithmeticError(f"{self} - {other}: the first term must be the larger one")
        return Order(left, *self.size)

    def __rsub__(self, other: int) -> Order:
        return _as_order(other) - self

    def __mul__(self, other: Order | int) -> Order:
        other = _as_order(other)
        return Order(
            self.coefficient * other.coefficient, self.power + other.power, self.logs + other.logs
        )

    __rmul__ = __mul__

    def __truediv__(self, other: Order | int) -> Order:
        other = _as_order(other)
        return Order(
            self.coefficient / other.coefficient, self.power - other.power, self.logs - other.logs
        )

    def __rtruediv__(self, other: int) -> Order:
        return _as_order(other) / self


def _as_order(value: Order | int) -> Order:
    import sympy

    return value if isinstance(value, Order) else Order(sympy.Integer(value))


class Orders:
    """Leading terms for T to infinity; every number of a setting is a positive symbol."""

    def __init__(self) -> None:
        import sympy

        self.log_horizon = Order(sympy.Integer(1), logs=Fraction(1))
        self.horizon = Order(sympy.Integer(1), power=Fraction(1))

    def number(self, value: Any) -> Order:
        import sympy

        return Order(
            sympy.Rational(*value.as_integer_ratio())
            if isinstance(value, Fraction)
            else sympy.sympify(value)
        )

    def power(self, exponent: Fraction) -> Order:
        import sympy

        return Order(sympy.Integer(1), power=exponent)

    def log_growth(self, scale: Order) -> Order:
        """ln(1 + T/scale) ~ ln T for a constant scale."""
        if scale.size != (0, 0):
            raise ArithmeticError(f"scale = {scale}: must not grow")
        return self.log_horizon

    def radius(self, curvature: Order) -> Order:
        import sympy

        return Order(sympy.Symbol("S", positive=True))

    def log(self, value: Order) -> Order:
        """A constant's logarithm may have any sign, so it must not be the leading term of a sum."""
        import sympy

        if value.size == (0, 0):
            return Order(sympy.log(value.coefficient))
        return Order(sympy.Rational(*value.power.as_integer_ratio()), logs=Fraction(1))

    def sqrt(self, value: Order) -> Order:
        import sympy

        return Order(sympy.sqrt(value.coefficient), value.power / 2, value.logs / 2)

    def exp_minus(self, value: Order) -> Order:
        """e^-value for a value that grows like a power of T: smaller than any power of T."""
        import sympy

        if value.power <= 0:
            raise ArithmeticError(f"exp(-{value}): the exponent must grow like a power of T")
        return Order(sympy.Integer(1), power=Fraction(-(10**9)))

    def rounded_up(self, value: Order) -> Order:
        return value

    def larger(self, first: Order, second: Order) -> Order:
        """The second of two terms of equal order: callers show that it is the larger one."""
        return first if first.size > second.size else second


# Constants of the algorithms -----------------------------------------------------------------------

#: Coefficients of a width: of kappa sqrt(d ln(1 + n/(kappa lambda_0 d)) + logs ln(K/delta)), and of the
#: ridge term; "source" is the width of the source with its lost square roots put back.
WIDTHS = ("source", "ours")


def width(n: Any, s: Setting, kind: str, log_confidence: Any) -> Any:
    """The width beta_T of Lemma 5.1 after T samples.

    Parameters
    ----------
    n : Balls or Orders
    s : Setting
    kind : {"source", "ours"}
        (kappa/2) sqrt(2 d ln(1+T/(kappa lambda_0 d)) + ln(K/delta)) + kappa S sqrt(lambda_0)/2, or
        (kappa/4) sqrt(d ln(1+T/(kappa lambda_0 d)) + 2 ln(K/delta)) + S sqrt(kappa lambda_0)/2.
    log_confidence : number
        ln(1/delta).
    """
    kappa, d, ridge = n.number(s.curvature), n.number(s.dimension), n.number(s.ridge)
    growth = d * n.log_growth(kappa * ridge * d)
    confidence = n.log(n.number(s.servers)) + log_confidence
    radius = n.radius(kappa)
    if kind == "source":
        return kappa / 2 * n.sqrt(2 * growth + confidence) + kappa * radius * n.sqrt(ridge) / 2
    if kind == "ours":
        return kappa / 4 * n.sqrt(growth + 2 * confidence) + radius * n.sqrt(kappa * ridge) / 2
    raise ValueError(f"kind = {kind!r}: must be one of {WIDTHS}")


def chernoff_rate(n: Any) -> Any:
    """Exponent of the lower tail of a least eigenvalue in Lemma 5.2, just below (1 - ln 2)/2."""
    return n.number(Fraction(1534, 10000))


@dataclass(frozen=True)
class Learning:
    """What the algorithms compute before they start, at confidence delta = T^-p.

    Attributes
    ----------
    log_confidence : number
        ln(1/delta).
    width : number
        beta_T.
    exploration : number
        Rounds tau of pure exploration, rounded up.
    settled : number
        Rounds s_0 of later exploration after which the least eigenvalue is under control.
    """

    log_confidence: Any
    width: Any
    exploration: Any
    settled: Any


def learning(n: Any, s: Setting, kind: str, confidence: Fraction, explore: Any) -> Learning:
    """Constants of CQB-epsilon: Lemmas 5.2 and 5.3 with the matrix Chernoff bound.

    Parameters
    ----------
    n : Balls or Orders
    s : Setting
    kind : {"source", "ours"}
        Which width.
    confidence : Fraction
        p, where delta = T^-p.
    explore : number
        epsilon, the exploration rate after the pure exploration.
    """
    slack, rate, spread = n.number(s.slack), n.number(s.arrival_rate), n.number(s.spread)
    servers, dimension = n.number(s.servers), n.number(s.dimension)
    log_confidence = n.number(confidence) * n.log_horizon
    beta = width(n, s, kind, log_confidence)
    eigenvalue = (n.log(dimension * servers) + log_confidence) / (chernoff_rate(n) * spread)
    room = slack - 2 * explore
    samples = n.rounded_up(n.larger(eigenvalue, 32 * beta * beta / (spread * room * room)))
    tau = 2 * servers * samples / rate + log_confidence / (2 * rate * rate)
    counted = 8 * (n.log(servers) + log_confidence)
    settled = servers / (rate * explore) * n.larger(counted, 2 * eigenvalue)
    return Learning(log_confidence, beta, n.rounded_up(tau), settled)


# Regret bounds: written per round and in powers of T, which keeps the balls of many horizons narrow --


@dataclass(frozen=True)
class Bound:
    """A bound that holds where its conditions do.

    Attributes
    ----------
    regret : number
        Jobs.
    conditions : tuple of pairs of numbers
        The first of each must be at least the second.
    """

    regret: Any
    conditions: tuple[tuple[Any, Any], ...] = ()


@dataclass(frozen=True)
class Monotone:
    """The bound of Theorem 5.5 and what it is made of.

    Attributes
    ----------
    exploration, window : number
        tau and omega, in rounds.
    errors : number
        Bound on the sum of M_t, over T.
    effects : number
        Bound on the sum of Delta_t.
    regret : number
        Jobs.
    """

    exploration: Any
    window: Any
    errors: Any
    effects: Any
    regret: Any


def chebyshev_bound(
    n: Any, s: Setting, kind: str, confidence: Fraction, power: Fraction = Fraction(1, 2)
) -> Monotone:
    """Theorem 5.5: sum of M_t times sum of Delta_t over T - 1, with exploration rate T^-power.

    Parameters
    ----------
    n : Balls or Orders
    s : Setting
    kind : {"source", "ours"}
        Which width.
    confidence : Fraction
        p, where delta = T^-p.
    power : Fraction
        In (0, 1); 1/2 in the source.
    """
    rate, slack, spread = n.number(s.arrival_rate), n.number(s.slack), n.number(s.spread)
    given = learning(n, s, kind, confidence, n.power(-power))
    square, per_round = slack * slack, n.power(Fraction(-1))
    errors = (
        8 * given.width * n.sqrt(n.number(s.servers) / (rate * spread)) * n.power((power - 1) / 2)
        + n.sqrt(rate) * n.power(-power / 2)
        + (given.settled + given.exploration + 1) * per_round
        + n.sqrt(n.number(3)) * n.power(-confidence / 2)
    )
    window = 4 * given.exploration / slack
    tail = 32 / square * n.log(2 * (1 + 16 / square)) + 64 / square + 1
    effects = window + tail + n.sqrt(n.number(3)) * n.power(1 - confidence / 2)
    return Monotone(given.exploration, window, errors, effects, errors * effects / (1 - per_round))


def _after_pure_exploration(n: Any, s: Setting, tau: Any) -> tuple[Any, Any, Any]:
    """Window 2 tau/epsilon, exponent and factor of the ramp (`ramp_clean` with a = 1)."""
    slack, rate = n.number(s.slack), n.number(s.arrival_rate)
    potential = 1 + n.number(Fraction(416, 75)) * rate / slack
    return 2 * tau / slack, slack * slack / 4, 1 + n.number(Fraction(8, 7)) * potential


def _late_error(n: Any, s: Setting, beta: Any, explore: Any, growth: Any, share: Any) -> Any:
    """2 beta over the root of lambda epsilon s sigma_0^2/(4K), s = share T rounds of exploration.

    ``explore * growth`` is epsilon T.
    """
    scale = n.number(s.arrival_rate) * n.number(s.spread) / (4 * n.number(s.servers))
    return 2 * beta / n.sqrt(scale * explore * growth * share)


def halfway_bound(n: Any, s: Setting, kind: str, power: Fraction) -> Bound:
    """CQB-epsilon with exploration rate T^-power: the sum over rounds split at T/2, no Cauchy-Schwarz.

    Parameters
    ----------
    n : Balls or Orders
    s : Setting
    kind : {"source", "ours"}
        Which width.
    power : Fraction
        In (0, 1).
    """
    explore, per_round = n.power(-power), n.power(Fraction(-1))
    given = learning(n, s, kind, Fraction(2), explore)
    window, exponent, factor = _after_pure_exploration(n, s, given.exploration)
    half, drained = n.horizon / 2, n.horizon / 2 - (window + 2)
    share = n.number(Fraction(1, 2)) - given.exploration * per_round
    error = _late_error(n, s, given.width, n.number(1), n.power(1 - power), share) + explore
    late = error * (window + (1 + n.log(factor)) / exponent + 1)
    early = (half + 1) * factor * n.exp_minus(exponent * drained)
    return Bound(
        late + 4 * per_round + early,
        (
            (share, given.settled * per_round),
            (drained, n.number(1)),
            (n.number(s.slack), 2 * explore),
        ),
    )


@dataclass(frozen=True)
class Cutoff(Bound):
    """A bound with the rounds from the cutoff to the horizon, and the width."""

    cut: Any = None
    width: Any = None


def cutoff_bound(n: Any, s: Setting, kind: str, power: Fraction | None = None) -> Cutoff:
    """CQB-eta-2: exploration at the constant rate epsilon/4 until a cutoff, pure UCB after it.

    Parameters
    ----------
    n : Balls or Orders
    s : Setting
    kind : {"source", "ours"}
        Which width.
    power : Fraction, optional
        Explore at the rate T^-power instead, in (0, 1).
    """
    per_round = n.power(Fraction(-1))
    explore = n.number(s.slack) / 4 if power is None else n.power(-power)
    given = learning(n, s, kind, Fraction(2), explore)
    window, exponent, factor = _after_pure_exploration(n, s, given.exploration)
    series = n.number(Fraction(8, 7)) / exponent
    cut = window + n.log(factor * series * n.power(Fraction(1, 2))) / exponent + 1
    share = 1 - (cut + 1 + given.exploration) * per_round  # at most (T_c - tau)/T
    late = cut * _late_error(n, s, given.width, explore, n.horizon, share)
    return Cutoff(
        late + n.power(Fraction(-1, 2)) + 3 * per_round,
        ((share, given.settled * per_round),),
        cut,
        given.width,
    )


@dataclass(frozen=True)
class Polylogarithmic:
    """The bound of Theorem 6.3 and what it is made of."""

    bad_rounds: Any
    window: Any
    errors: Any
    effects: Any
    regret: Any


def cauchy_bound(n: Any, s: Setting, kind: str, ramp: str) -> Polylogarithmic:
    """Theorem 6.3: root of the sum of m_t^2 times root of the sum of delta_t^2, delta = 1/T.

    Parameters
    ----------
    n : Balls or Orders
    s : Setting
    kind : {"source", "ours"}
        Which width.
    ramp : {"source", "clean"}
        omega' = 4 b/epsilon with the sum 128 C_rho/epsilon^2, or that of `ramp_clean` with a = 1.
    """
    slack, kappa, ridge = n.number(s.slack), n.number(s.curvature), n.number(s.ridge)
    volume = n.number(s.servers) * n.number(s.dimension)
    beta = width(n, s, kind, n.log_horizon)
    potential = beta * beta * volume * n.log_growth(volume * kappa * ridge)
    bad, square = 32 * potential / (slack * slack), slack * slack
    if ramp == "source":
        window = 4 * bad / slack
        effects = window + 128 * (1 + 16 / square) / square + 2
    elif ramp == "clean":
        window, exponent, factor = _after_pure_exploration(n, s, bad)
        effects = window + (1 + n.log(factor)) / exponent + 2
    else:
        raise ValueError(f"ramp = {ramp!r}: must be source or clean")
    errors = 8 * potential + 1
    return Polylogarithmic(bad, window, errors, effects, n.sqrt(errors * effects))


# Horizons ------------------------------------------------------------------------------------------

LEAST, LARGEST = Fraction(4), Fraction(200)  # exponents of the horizons looked at


def crossing(
    bound: Callable[[Balls], Bound], target: Callable[[Balls], arb], stated: str, name: str
) -> Finding:
    """Decide that a bound falls below a target at T = 10^x, where x is a printed decimal, for good.

    With h half a unit of the last digit: for every T from 10^4 to 10^(x-h) the conditions of the bound
    fail or it is at least the target, and for every T from 10^(x+h) to 10^200 they hold and it is less.

    Parameters
    ----------
    bound : callable
        From `Balls` to a `Bound`.
    target : callable
        From `Balls` to a ball.
    stated : str
        The exponent, a plain decimal.
    name : str
        What falls below what, for the witness.
    """
    from checks.methods.certified import ball, positive_on, precision

    middle, half = as_printed_decimal(name, stated)

    def excess(x: arb, wanted: int) -> arb:
        """A ball that is positive only where the bound is above (or, for -1, below) the target."""
        n = Balls(x)
        given = bound(n)
        difference = given.regret.log() - target(n).log()
        if any(left < right for left, right in given.conditions):
            return ball(wanted)  # no bound at all
        if not all(left >= right for left, right in given.conditions) and not difference > 0:
            return ball(0).union(difference)
        return wanted * difference

    with precision(96):
        if excess(ball(middle - half), 1) < 0:
            return refuted(f"{name}: already at T = 10^{decimal(middle - half, 4)}")
        if excess(ball(middle + half), 1) > 0:
            return refuted(f"{name}: not yet at T = 10^{decimal(middle + half, 4)}")
        above, _ = positive_on(lambda x: excess(x, 1), LEAST, middle - half)
        below, _ = positive_on(lambda x: excess(x, -1), middle + half, LARGEST)
    if above.outcome != "proved" or below.outcome != "proved":
        return undecided(f"{name}: {above.witness}; {below.witness}")
    return proved(f"{name} at T = 10^{stated}")
