"""What it costs not to see where the jobs are, and what memory wins back."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from checks.admission.instances import SOURCE, three_tiers
from checks.claim import Claim, Printed, Source
from checks.finding import Finding, combine, decide, decimal, exact, one_of
from checks.judging import one_for_each
from checks.methods.certified import rounds_to

if TYPE_CHECKING:
    from simlib.admission.chain import InformedOptimum
    from simlib.admission.network import Network

sum_policy_gap = Claim(
    "admission.sum_policy_gap",
    title="To act on the number of jobs alone costs something, and memory wins some of it back",
    source=Source(SOURCE, "Section 2.1"),
    kind="proposition",
    statement=r"""
A rejected job costs $R$, and each job in the network costs 1 per unit of time; at most $S$ jobs are
admitted. Compare the least mean cost per unit of time of policies that act on the number of jobs alone
with that of policies that see where the jobs are. All stations have one server, $\lambda=1$.

| network | $R$ | $S$ | number of jobs | whole state |
|---|---|---|---|---|
| three tiers of `admission.norton_sum_policy` | 8 | 5 | <<three_tiers:cells>> |
| tandem of rates $2,3,\frac52$ | 5/2 | 6 | <<tandem:cells>> |
| tandem of rates $1,\frac65$ | 5 | 6 | <<two:cells>> |

1. On these networks the cost of the best policy that sees the state is <<relation>> that of the best one
   that acts on the number of jobs. It admits and rejects at the same number of jobs.
2. A policy that *sees* the number of jobs only can cost less than every one that *acts* on it alone.
   Let two stations of rate 1 be in series, $\lambda=1$, $R=4$, $S=2$. The best policies that act on the
   number of jobs cost <<alone>>. This one costs <<remembers>>: admit at 0 jobs and reject at 2; at 1 job
   reject the first arrival since the number of jobs last changed, and admit the next. The best policy
   that sees the state costs <<sees>>.
""",
    claimed={
        "three_tiers": "6.66024, 6.65368",
        "tandem": "1.79088, 1.74427",
        "two": "3.64249, 3.57951",
        "relation": "below",
        "alone": "10/3",
        "remembers": "93/28",
        "sees": "29/9",
    },
    parts={
        "state": "the value of seeing the state",
        "memory": "the value of remembering",
    },
    rests_on=["admission.norton_sum_policy"],
    as_printed=Printed(
        numbers={"remembers": "10/3"},
        says=(
            "where the state is not observed, the best one can hope to learn is the best policy that "
            "acts on the number of jobs alone"
        ),
        correct="one that remembers a rejection costs less: 93/28 against 10/3 on two queues in series",
    ),
    uncovered="how little a policy with any memory of what it sees can cost",
)

_CASES = {
    "three_tiers": (lambda: three_tiers(), 5, Fraction(8)),
    "tandem": (lambda: _tandem(2, 3, Fraction(5, 2)), 6, Fraction(5, 2)),
    "two": (lambda: _tandem(1, Fraction(6, 5)), 6, Fraction(5)),
    "equal": (lambda: _tandem(1, 1), 2, Fraction(4)),
}


def _tandem(*rates) -> Network:
    from simlib.admission.network import tandem

    return tandem(1, rates)


@cache
def _informed(case: str) -> InformedOptimum:
    from simlib.admission.chain import optimal_informed

    network, limit, rejection = _CASES[case]
    return optimal_informed(network(), limit, rejection_cost=rejection, holding_cost=1)


@cache
def _informed_is_optimal(case: str) -> bool:
    """Whether cost and bias solve the optimality equation in every state of the network."""
    from simlib.admission.chain import transition_matrix

    make, limit, rejection = _CASES[case]
    network, best = make(), _informed(case)
    clock = network.rate_bound(limit)
    points, admit = transition_matrix(network, limit, [1] * limit, exact=True)
    _, reject = transition_matrix(network, limit, [0] * limit, exact=True)
    bias = [best.bias[x] for x in points]
    for i, x in enumerate(points):
        holding, turned = Fraction(sum(x)), network.arrival_rate * rejection
        values = [holding + turned + clock * _mean(reject[i], bias)]
        if sum(x) < limit:
            values.append(holding + clock * _mean(admit[i], bias))
        if best.cost + clock * bias[i] != min(values):
            return False
    return True


def _mean(row, values) -> Fraction:
    return sum((p * values[j] for j, p in enumerate(row) if p), Fraction(0))


@cache
def _best_alone(case: str) -> Fraction:
    """Least mean cost of policies that act on the number of jobs, by the optimality equation.

    Raises
    ------
    ArithmeticError
        If the solution does not satisfy the equation, or a deterministic policy costs less.
    """
    from simlib.admission.model import bellman, mean_cost, model_of, policies

    make, limit, rejection = _CASES[case]
    model = model_of(make(), limit, rejection_cost=rejection, holding_cost=1)
    best = bellman(model)
    up = (*best.increments, None)
    for s in range(limit + 1):
        down = model.rates[s - 1] * best.increments[s - 1] if s else 0
        turned = model.arrival_rate * rejection
        admitted = [model.arrival_rate * up[s]] if s < limit else []
        if best.cost != s - down + min([turned, *admitted]):
            raise ArithmeticError(f"{case}: the optimality equation fails at {s} jobs")
    if best.cost != min(mean_cost(model, policy) for policy in policies(limit)):
        raise ArithmeticError(f"{case}: another policy costs less")
    return best.cost


@sum_policy_gap.check(
    method="exact",
    scope="general",
    false=[
        {"relation": "equal to"},
        {"three_tiers": "6.66024, 6.65369"},
        {"tandem": "1.79088, 1.79088"},
        {"two": "3.64250, 3.57951"},
    ],
    part="state",
)
def optimality_equations(three_tiers: str, tandem: str, two: str, relation: str) -> Finding:
    """Solve both optimality equations in rationals on the three networks; verify them state by state.

    The part is about these instances. A solution of the optimality equation of the state proves that no
    policy costs less, be it randomised or with memory. That of the number of jobs proves it for the
    birth-death chain, and a policy that acts on the number of jobs alone, randomised or not, costs in
    the network what it costs there, by `admission.norton_sum_policy`; one with memory need not. The
    chain's deterministic policies are enumerated besides.
    """
    one_of("relation", relation, "below", "equal to")
    found = []
    for case, texts in {"three_tiers": three_tiers, "tandem": tandem, "two": two}.items():
        alone, best = _best_alone(case), _informed(case)
        solves = _informed_is_optimal(case)
        found.append(
            decide(solves, f"{case}: solved", f"{case}: the optimality equation is not satisfied")
        )
        names = ("number of jobs", "state")
        told_costs = one_for_each(case, texts, *names)
        for name, value, text in zip(names, (alone, best.cost), told_costs, strict=True):
            shown = decimal(value, 6)
            wrong = f"{case}, {name}: the least mean cost is {shown}, not {text}"
            found.append(rounds_to(value, text, case, f"{case}, {name}: {shown}", wrong))
        holds = best.cost < alone if relation == "below" else best.cost == alone
        found.append(
            decide(
                holds,
                f"{case}: less by {decimal(alone - best.cost, 6)}",
                f"{case}: the difference is {decimal(alone - best.cost, 6)}",
                **{f"{case}, what seeing the state saves": exact(alone - best.cost)},
            )
        )
        by_total: dict[int, set[bool]] = {}
        for x, admits in best.policy.items():
            if x not in best.ties:
                by_total.setdefault(sum(x), set()).add(admits)
        mixed = [s for s, decisions in by_total.items() if len(decisions) == 2]
        found.append(
            decide(
                bool(mixed),
                f"{case}: both decisions at {mixed} jobs",
                f"{case}: one decision at every number of jobs",
            )
        )
    return combine(found)


@cache
def _remembering() -> Fraction:
    """Mean cost of the policy that remembers one rejection, from its chain's balance equations.

    States are those of the network, and whether an arrival was rejected since the number of jobs last
    changed (only at one job, where it matters).
    """
    import numpy as np

    from simlib.chains import stationary_law

    empty, full = ((0, 0), False), {((2, 0), False), ((1, 1), False), ((0, 2), False)}
    points = [empty, *(((1 - i, i), m) for i in (0, 1) for m in (False, True)), *sorted(full)]
    index = {point: i for i, point in enumerate(points)}
    step = np.full((len(points), len(points)), Fraction(0), dtype=object)
    costs = []
    for i, ((first, second), turned) in enumerate(points):
        jobs = first + second
        admits = jobs == 0 or (jobs == 1 and turned)
        arrival = ((first + 1, second), False) if admits else ((first, second), jobs == 1)
        targets = [arrival]
        targets.append(((first - 1, second + 1), turned) if first else points[i])
        targets.append(((first, second - 1), False) if second else points[i])
        for target in targets:  # arrival, service at 1, service at 2: rate 1 each
            step[i, index[target]] += Fraction(1, 3)
        costs.append(Fraction(jobs) + (0 if admits else 4))
    return sum((p * c for p, c in zip(stationary_law(step), costs, strict=True)), Fraction(0))


@sum_policy_gap.check(
    method="exact",
    scope="general",
    false=[{"remembers": "10/3"}, {"alone": "93/28"}, {"sees": "93/28"}],
    part="memory",
)
def one_rejection_remembered(alone: str, remembers: str, sees: str) -> Finding:
    """Solve the chain of two queues and the policy's memory, eight states, in rationals.

    The part is about this instance. The best policies on the number of jobs, and on the state, solve
    their optimality equations. That no memory helps is refuted: the costs would be equal.
    """
    least, cost, informed = _best_alone("equal"), _remembering(), _informed("equal").cost
    found = [
        decide(
            least == Fraction(alone),
            f"number of jobs alone: {least}",
            f"number of jobs alone: the least mean cost is {least}, not {alone}",
        ),
        decide(
            cost == Fraction(remembers),
            f"with a rejection remembered: {cost}",
            f"with a rejection remembered the mean cost is {cost}, not {remembers}",
            **{"mean cost with memory": exact(cost)},
        ),
        decide(
            informed == Fraction(sees) and _informed_is_optimal("equal"),
            f"state seen: {informed}",
            f"state seen: the least mean cost is {informed}, not {sees}",
        ),
        decide(
            informed < cost < least,
            f"{informed} < {cost} < {least}",
            f"not {informed} < {cost} < {least}",
        ),
    ]
    return combine(found)
