"""The inner step of extended value iteration: the best law of a confidence region, and what it costs."""

from __future__ import annotations

import ast
import copy
import math
import operator
import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product

from checks.admission.instances import SOURCE
from checks.claim import Claim, Source
from checks.finding import (
    PROVED,
    Finding,
    combine,
    exact,
    one_of,
    proved,
    refuted,
    undecided,
)
from checks.sources import ROOT

_MOVED = (r"\tfrac\beta2", r"\beta")
_FROM = ("worst", "best")
_PAIRS_OF = {"2S+1": lambda s: 2 * s + 1, "2S+2": lambda s: 2 * s + 2, "S^3": lambda s: s**3}
_PAIRS = tuple(_PAIRS_OF)

evi_closed_form = Claim(
    "admission.evi_closed_form",
    title="The best law of a confidence ball moves half its radius, from the worst states to the best",
    source=Source(SOURCE, "Section 4.4, Appendix 10", provenance="reconstructed"),
    kind="proposition",
    statement=r"""
Extended value iteration replaces values $u$ by
$$u'(s)=\max_a\Bigl\{\tilde r(s,a)+\max\bigl\{q\cdot u:\ q\text{ a law},\ \|q-\hat p(s,a)\|_1
\le\beta(s,a)\bigr\}\Bigr\}.$$

1. For a law $\hat p$ on finitely many states, values $u$ and $\beta\ge0$ the inner maximum is attained
   by moving $m=\min\{1-\hat p_b,<<moved>>\}$ of probability to a state $b$ with the largest value, taken
   from the other states, those with the <<taken>> value first.
2. *Example.* For $\hat p=(\frac14,\frac12,\frac14)$, $u=(0,1,3)$, $\beta=\frac12$ the maximum is
   $<<value:frac>>$.
3. If $q$ may charge $s-1,s,s+1$ only, as the number of jobs moves by one at most, a maximum takes at
   most <<operations>> additions, subtractions, multiplications and comparisons, whatever $S$ is. A sweep
   takes $<<pairs>>$ maxima.
""",
    claimed={
        "moved": _MOVED[0],
        "taken": _FROM[0],
        "value": "2",
        "operations": "21",
        "pairs": _PAIRS[0],
    },
    meaning={
        "operations": "of one inner maximum, in the book's own kernel",
        "pairs": "inner maxima of one sweep: two actions, one of them at S",
    },
    parts={
        "maximum": "the closed form",
        "example": "the example",
        "cost": "the cost of a sweep",
    },
    uncovered=(
        "how many sweeps extended value iteration needs. The source says O(S^3) for a sweep, which as "
        "an upper bound is not false; its Appendix 10 is lost"
    ),
)


def _closed_form(
    phat: Sequence[Fraction], u: Sequence[Fraction], beta: Fraction, moved: str, taken: str
) -> list[Fraction]:
    """The law that a statement of item 1 describes."""
    order = sorted(range(len(u)), key=lambda k: u[k])
    best, others = order[-1], order[:-1]
    q = list(phat)
    left = min(1 - q[best], beta / 2 if moved == _MOVED[0] else beta)
    q[best] += left
    for k in others if taken == _FROM[0] else reversed(others):
        part = min(left, q[k])
        q[k] -= part
        left -= part
    return q


def _mean(q: Sequence[Fraction], u: Sequence[Fraction]) -> Fraction:
    return sum((a * b for a, b in zip(q, u, strict=True)), Fraction(0))


def _distance(q: Sequence[Fraction], p: Sequence[Fraction]) -> Fraction:
    return sum((abs(a - b) for a, b in zip(q, p, strict=True)), Fraction(0))


def largest_mean(
    phat: Sequence[Fraction], u: Sequence[Fraction], beta: Fraction
) -> tuple[Fraction, tuple[Fraction, ...]]:
    """Largest q . u over three states, by looking at every vertex of the region, and where.

    Parameters
    ----------
    phat, u : sequence of Fraction, length 3
    beta : Fraction
        Radius in the 1-norm, at least 0.

    Notes
    -----
    The region in the plane of (q_1, q_2) is cut out by three signs of q and eight half-planes of the
    norm; a vertex lies on two of these lines.
    """
    signs = list(product((1, -1), repeat=3))
    # a q_1 + b q_2 <= c, with q_3 = 1 - q_1 - q_2
    cuts = [(-1, 0, Fraction(0)), (0, -1, Fraction(0)), (1, 1, Fraction(1))]
    cuts += [(x - z, y - z, beta - z + _mean((x, y, z), phat)) for x, y, z in signs]
    vertices = []
    for (a, b, c), (d, e, f) in combinations(cuts, 2):
        if a * e - b * d:
            x, y = (c * e - b * f) / (a * e - b * d), (a * f - c * d) / (a * e - b * d)
            if all(g * x + h * y <= k for g, h, k in cuts):
                vertices.append((x, y, 1 - x - y))
    best = max(vertices, key=lambda q: _mean(q, u))
    return _mean(best, u), best


def _instances(count: int) -> Iterator[tuple[list[Fraction], list[Fraction], Fraction]]:
    """The example, then drawn laws on three states, values with ties, and radii up to above 2."""
    yield [Fraction(k, 4) for k in (1, 2, 1)], [Fraction(k) for k in (0, 1, 3)], Fraction(1, 2)
    source = random.Random(3)
    for _ in range(count):
        parts = [source.randint(0, 6) for _ in range(2)] + [source.randint(1, 6)]
        source.shuffle(parts)
        yield (
            [Fraction(part, sum(parts)) for part in parts],
            [Fraction(source.randint(-4, 4)) for _ in range(3)],
            Fraction(source.randint(0, 18), 8),
        )


def _compared(moved: str, taken: str, count: int) -> Finding:
    """Refuted by an instance where a law described by the statement is outside the ball or not best."""
    for phat, u, beta in _instances(count):
        q = _closed_form(phat, u, beta, moved, taken)
        shown = f"phat = {_listed(phat)}, u = {_listed(u)}, beta = {beta}: q = {_listed(q)}"
        if _distance(q, phat) > beta:
            return refuted(f"{shown} is {_distance(q, phat)} from phat")
        largest, where = largest_mean(phat, u, beta)
        if _mean(q, u) != largest:
            return refuted(f"{shown} has {_mean(q, u)}, but {_listed(where)} has {largest}")
    return proved(f"the largest over all vertices in {count + 1} instances")


def _listed(values: Sequence[Fraction]) -> str:
    return "(" + ", ".join(map(str, values)) + ")"


@evi_closed_form.check(
    method="smt",
    scope="general",
    part="maximum",
    false=[{"moved": _MOVED[1]}, {"taken": _FROM[1]}],
)
def sums_from_the_best(moved: str, taken: str) -> Finding:
    """Write q.u by sums over the best j states; each sum has a bound that the closed form attains (z3).

    From best to worst, Q_j = q_1 + ... + q_j: q.u = sum_j (u_j - u_{j+1}) Q_j + u_n. For a law in the
    ball Q_j <= min(1, P_j + beta/2), as what it gains on a set it loses outside. From the states that
    come first in order, min(m, their mass) is taken; so worst first leaves Q_j = min(1, P_j + m). One
    state more at a time: any number is covered. Others are refuted by all vertices of a region.
    """
    import sympy
    import z3

    from checks.methods.smt import implies
    from checks.methods.symbolic import identity

    gain, inside, outside, beta, p, mass, here, m, best, q, u, v = z3.Reals(
        "q(A)-p(A) sum_A sum_outside beta p(A) p(first) p(k) m p(b) q(A) u_j u_j+1"
    )
    part = beta / 2 if one_of("moved", moved, *_MOVED) == _MOVED[0] else beta

    def least(x: z3.ArithRef, y: z3.ArithRef) -> z3.ArithRef:
        return z3.If(x <= y, x, y)

    bound = least(1 - p, beta / 2)
    # What is taken outside the set A of best states, among them b.
    worst_first = one_of("taken", taken, *_FROM) == _FROM[0]
    taken_outside = least(m, 1 - p) if worst_first else m - least(m, p - best)
    rest, big_q, new, u_j, u_next = sympy.symbols("sum_i<j Q_j q_j+1 u_j u_j+1")
    steps = [
        identity(
            rest + u_j * big_q + u_next * new,
            rest + (u_j - u_next) * big_q + u_next * (big_q + new),
            "q.u by sums, one state more",
        ),
        implies(
            [gain <= inside, gain <= outside, inside + outside <= beta, gain <= 1 - p],
            gain <= bound,
            "what a law in the ball gains on a set",
        ),
        implies(
            [u >= v, q <= p + bound],
            (u - v) * q <= (u - v) * (p + bound),
            "a larger sum over the best is no loss",
        ),
        implies(
            [m >= 0, mass >= 0, here >= 0],
            least(m, mass) + least(here, m - least(m, mass)) == least(m, mass + here),
            "what is taken from the first states, one state more",
        ),
        implies(
            [beta >= 0, best >= 0, p >= best, p <= 1, m == least(1 - best, part)],
            taken_outside == bound,
            "the closed form attains the bound for every set of best states",
        ),
        implies([m >= 0, m <= part], 2 * m <= beta, "the closed form is in the ball"),
    ]
    proof = combine(steps, "attained for every set of best states at once")
    if proof.outcome == PROVED:
        return proof
    found = _compared(moved, taken, 60)
    return found if found.outcome != PROVED else undecided(proof.witness)


@evi_closed_form.check(
    method="exact",
    scope="instances",
    part="maximum",
    false=[{"moved": _MOVED[1]}, {"taken": _FROM[1]}],
)
def every_vertex(moved: str, taken: str) -> Finding:
    """Compare with the linear programme, solved by its vertices in rationals, on 201 regions."""
    return _compared(one_of("moved", moved, *_MOVED), one_of("taken", taken, *_FROM), 200)


@evi_closed_form.check(
    method="exact", scope="general", part="example", false=[{"value": "5/2"}, {"value": "7/4"}]
)
def example_by_vertices(value: str) -> Finding:
    """Look at every vertex of the region of the example; it is this whole part."""
    phat, u, beta = next(_instances(0))
    largest, where = largest_mean(phat, u, beta)
    if largest != Fraction(value):
        return refuted(f"the maximum is {largest}, at q = {_listed(where)}")
    return proved(f"attained at q = {_listed(where)}", maximum=exact(largest))


# The cost -----------------------------------------------------------------------------------------


@cache
def _kernels() -> dict[str, ast.FunctionDef]:
    """The functions of the book's module for extended value iteration, as syntax trees."""
    tree = ast.parse((ROOT / "simlib/admission/evi.py").read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


_LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)


def _operations(node: ast.AST) -> int:
    """Most operations on any path through a statement or expression without loops."""
    if isinstance(node, _LOOPS):
        raise ValueError("node: has a loop")
    if isinstance(node, ast.Call) and ast.unparse(node.func) != "min":
        raise ValueError(f"node: calls {ast.unparse(node.func)}")
    if isinstance(node, ast.If):
        branches = [sum(map(_operations, part)) for part in (node.body, node.orelse)]
        return _operations(node.test) + max(branches)
    own = isinstance(node, (ast.BinOp, ast.AugAssign, ast.Call, ast.UnaryOp))
    own += len(node.ops) if isinstance(node, ast.Compare) else 0
    return own + sum(map(_operations, ast.iter_child_nodes(node)))


class _Counted:
    """A rational that counts what is done with it."""

    done = 0

    def __init__(self, value: Fraction | float) -> None:
        self.value = value

    def _apply(self, other: object, operation: Callable) -> object:
        type(self).done += 1
        return operation(self.value, other.value if isinstance(other, _Counted) else other)

    def __add__(self, other: object) -> _Counted:
        return _Counted(self._apply(other, operator.add))

    def __sub__(self, other: object) -> _Counted:
        return _Counted(self._apply(other, operator.sub))

    def __rsub__(self, other: object) -> _Counted:
        return _Counted(self._apply(other, lambda x, y: y - x))

    def __mul__(self, other: object) -> _Counted:
        return _Counted(self._apply(other, operator.mul))

    def __lt__(self, other: object) -> bool:
        return self._apply(other, operator.lt)

    def __gt__(self, other: object) -> bool:
        return self._apply(other, operator.gt)

    def __le__(self, other: object) -> bool:
        return self._apply(other, operator.le)

    def __ge__(self, other: object) -> bool:
        return self._apply(other, operator.ge)


def _uncompiled(name: str, **names: object) -> Callable:
    """A kernel as a Python function, with other functions in the place of those it calls."""
    node = copy.deepcopy(_kernels()[name])
    node.decorator_list = []
    space = {"math": math, **names}
    exec(compile(ast.Module([node], []), name, "exec"), space)
    return space[name]


def _most_counted() -> int:
    """Most operations that the kernel really does, over all orders of the values, and radii."""
    kernel, most = _uncompiled("_best_of_three"), 0
    for values in permutations((Fraction(0), Fraction(1), Fraction(3))):
        for half in (Fraction(1, 8), Fraction(1, 3), Fraction(1)):
            _Counted.done = 0
            kernel(*(_Counted(x) for x in (Fraction(1, 4), Fraction(1, 4), *values, half)))
            most = max(most, _Counted.done)
    return most


@evi_closed_form.check(
    method="exact",
    scope="general",
    part="cost",
    false=[{"operations": "20"}, {"pairs": _PAIRS[1]}, {"pairs": _PAIRS[2]}],
)
def operations_of_the_kernel(operations: str, pairs: str) -> Finding:
    """Read the kernel's syntax tree: no loops, so the longest path bounds its operations.

    The two loops of a sweep are read there as well. Then the kernel runs, uncompiled, on numbers that
    count what is done with them, and sweeps of 1 to 12 places count its calls.
    """
    bound, done = sum(map(_operations, _kernels()["_best_of_three"].body)), _most_counted()
    if done > int(operations):
        return refuted(f"one inner maximum takes {done} operations")
    if bound > int(operations):
        return undecided(f"the longest path has {bound} operations, those run {done} at most")
    stated = _PAIRS_OF[one_of("pairs", pairs, *_PAIRS)]
    for limit in range(1, 13):
        calls = _calls(limit)
        if calls != stated(limit):
            return refuted(f"S = {limit}: a sweep takes {calls} inner maxima, not {stated(limit)}")
    loops = [ast.unparse(node.iter) for node in ast.walk(_sweep()) if isinstance(node, ast.For)]
    if loops != ["range(top + 1)", "range(2 if s < top else 1)"]:
        return undecided(f"the loops of a sweep are {loops}")
    return proved(
        f"at most {bound} operations, {done} in a run; two actions at each of S states, one at S",
        operations=exact(bound),
    )


def _sweep() -> ast.For:
    """The loop over the states in one sweep: the one that calls the inner maximum."""
    loops = [node for node in ast.walk(_kernels()["iterate"]) if isinstance(node, ast.For)]
    calling = [node for node in loops if "_best_of_three" in ast.unparse(node)]
    return next(node for node in calling if ast.unparse(node.target) == "s")


def _calls(limit: int) -> int:
    """Inner maxima in one sweep with at most so many jobs."""
    import numpy as np

    calls = 0

    def inner(*_: float) -> float:
        nonlocal calls
        calls += 1
        return 0.0

    table = np.zeros((limit + 1, 2))
    _uncompiled("iterate", _best_of_three=inner)(
        *(np.zeros(limit + 1), np.zeros(limit + 1), table, table, table, table, False, 1.0, 1),
        *(np.zeros(limit + 1, dtype=int), np.zeros(2)),
    )
    return calls
