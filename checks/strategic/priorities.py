"""Any acceptance rule will do, and none does with less."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING

from checks.claim import Claim, Source
from checks.finding import (
    Finding,
    combine,
    decide,
    decimal,
    estimate,
    one_of,
    proved,
    refuted,
    undecided,
)
from checks.judging import as_stated, unfit
from checks.strategic.evidence.hypotheses import (
    ARRIVAL_RATES,
    RULES,
    TOTALS,
    priorities,
)
from checks.strategic.instances import SOURCE
from checks.strategic.no_less import tightness
from checks.strategic.sufficiency import sufficiency

if TYPE_CHECKING:
    pass

# Priorities ------------------------------------------------------------------------------------------

FACTOR = r"1/(1-\lambda_{\max})"

priority_robust = Claim(
    "strategic.priority_robust",
    title="No acceptance rule breaks the guarantee, and none needs less than the factor",
    source=Source(SOURCE, "Section 1.1, remark on priorities", provenance="stated"),
    kind="proposition",
    statement=r"""
Let servers accept by any rule: one that looks at queues, servers, lengths, ages, at everything that was
sent in the step or at the whole past, that tosses coins, or that an adversary chooses step by step. All
that is asked is that a server with an empty buffer takes <<takes>>, and that no rule foresees arrivals
and services that are still to come.

1. In a step in which a server is idle <<idle>>, it would have accepted a packet of any queue that has
   one. Nothing else about the rule enters the proof of sufficiency. So for learners that satisfy its
   hypothesis under the rule an overprovisioning factor above $<<factor>>$ suffices, whatever the rule.
2. For <<alone>> all rules are the same rule. So no rule needs less: for every
   $\lambda_{\max}\in(0,1)$ and every factor below $<<factor>>$ one queue with enough identical servers
   and the uniform router is unstable under each of them.
""",
    claimed={
        "takes": "exactly one of the packets sent to it",
        "idle": "just before service",
        "factor": FACTOR,
        "alone": "one queue",
    },
    meaning={
        "takes": "what a server with an empty buffer must do",
        "idle": "the moment of a step at which a server counts as idle",
        "factor": "least overprovisioning that suffices for every rule",
        "alone": "number of queues for which the rule does not matter",
    },
    rests_on=["strategic.sufficiency", "strategic.longest_queue_drift", "strategic.tightness"],
    parts={
        "step": "the step of the proof in which a rule appears",
        "one queue": "rules that differ",
        "factor": "the factor suffices and is needed",
    },
    uncovered="that the rule enters the proof of sufficiency nowhere else: the other lemmas name none",
)

TAKES = ("exactly one of the packets sent to it", "at most one of the packets sent to it")
IDLE = ("just before service", "just before acceptance")


@priority_robust.check(
    method="smt",
    scope="general",
    false=[{"takes": TAKES[1]}, {"idle": IDLE[1]}],
    part="step",
)
def alone_at_an_idle_server(takes: str, idle: str) -> Finding:
    """Ask z3 whether any rule accepts a packet sent to an idle server; queues and rule are arbitrary.

    The senders to a server are any set S of integers, the rule any function from sets to integers; where
    something is sent to an empty buffer the packet taken is one of those sent. The server is full just
    before service if it was before, or if S is not empty. Had queue i sent to it as well, the senders
    would have been S and i: idle means that S is empty, so it takes the packet of i. A smaller duty, or
    the other moment, is refuted by z3's set and rule, which is a step of two queues.
    """
    import z3

    from checks.methods.smt import implies

    integers = z3.IntSort()
    rule = z3.Function("rule", z3.SetSort(integers), integers)
    senders = z3.Const("senders", z3.SetSort(integers))
    i, nobody = z3.Ints("i nobody")
    full_before, full_after, takes_one = z3.Bools("full_before full_after takes_one")
    with_i = z3.SetAdd(senders, i)
    model = [
        z3.Not(z3.IsMember(nobody, with_i)),
        full_after == z3.Or(full_before, senders != z3.EmptySet(integers)),
        z3.If(takes_one, z3.IsMember(rule(with_i), with_i), rule(with_i) == nobody),
        z3.Not(full_after if one_of("idle", idle, *IDLE) == IDLE[0] else full_before),
    ]
    if one_of("takes", takes, *TAKES) == TAKES[0]:
        model.append(takes_one)  # it is sent something, at least by i
    return implies(model, rule(with_i) == i, f"a server idle {idle} takes {takes}")


@priority_robust.check(
    method="exact", scope="general", false={"alone": "two queues"}, part="one queue"
)
def rules_that_differ(alone: str) -> Finding:
    """Enumerate all rules for a set of queues: functions from nonempty sets of senders to a sender.

    Whatever a rule looks at, in a given step it is one of these functions. If there is one only, no
    rule can do anything that another does not.
    """
    queues = {"one queue": (1,), "two queues": (1, 2)}[
        one_of("alone", alone, "one queue", "two queues")
    ]
    sets = [s for size in range(1, len(queues) + 1) for s in combinations(queues, size)]
    rules = list(product(*sets))
    return decide(
        len(rules) == 1,
        "the only set of senders is {1}, so there is one rule",
        f"{len(rules)} rules for the sets of senders {', '.join(map(str, sets))}: of two packets at one "
        "server some take that of queue 1 and some that of queue 2",
    )


@priority_robust.check(
    method="smt",
    scope="general",
    false=[{"factor": "1.4"}, {"factor": "1.7"}],
    part="factor",
)
def enough_and_needed(factor: str) -> Finding:
    """Ask z3 for both directions; another factor is judged at lambda_max = 0.4, in rationals.

    *Enough*: above the factor mu (1 - lambda_max) - lambda is positive, which is all that the theorem
    asks of the rates. *Needed*: one queue, m identical servers of total rate mu < lambda/(1 - lambda),
    and m > lambda mu/(lambda - mu (1 - lambda)): then rho < lambda/(1 - lambda), the acceptance rate
    rho/(1 + rho) of the backlogged uniform router is below lambda, and the queue grows.
    """
    import z3

    from checks.methods.smt import implies

    if factor != FACTOR:
        return _factor_at_two_fifths(Fraction(factor))
    largest, rate, mu, scale, servers, odds = z3.Reals("lambda_max lambda mu factor m rho")
    rates = [largest > 0, largest < 1, rate >= largest, scale * (1 - largest) == 1]
    single = [*rates, rate == largest, mu > 0, mu < scale * rate, servers > mu]
    return combine(
        [
            as_stated(sufficiency, multiple="1"),
            as_stated(tightness, clearing=r"\mu/(1+\mu-\nu)"),
            implies([*rates, mu > scale * rate], mu * (1 - largest) - rate > 0, "margin"),
            implies(single, rate - mu * (1 - rate) > 0, "so many servers exist"),
            implies(
                [
                    *single,
                    servers * (rate - mu * (1 - rate)) > rate * mu,
                    odds * (1 - mu / servers) == mu,  # m odds of (mu/m)/(1 - mu/m)
                    servers * mu > 0,
                ],
                odds < rate * (1 + odds),
                "acceptance rate of one backlogged queue",
            ),
        ],
        "above the factor the margin is positive; below it one queue is unstable",
    )


def _factor_at_two_fifths(factor: Fraction) -> Finding:
    """A system of rates at most 0.4 between the stated factor and 5/3, stable or not by a theorem."""
    largest = Fraction(2, 5)
    true = 1 / (1 - largest)
    between = (factor + true) / 2
    mu = between * largest
    if factor < true:
        servers = int(largest * mu / (largest - mu * (1 - largest))) + 1
        odds = mu / (1 - mu / servers)
        accepted = odds / (1 + odds)
        text = (
            f"one queue of rate 0.4, {servers} servers, factor {decimal(between, 4)}: uniform routing "
            f"clears {decimal(accepted, 5)} per step, under any rule"
        )
        return refuted(text) if accepted < largest else undecided(text)
    margin = mu * (1 - largest) - largest
    text = f"one queue of rate 0.4 needs less: factor {decimal(between, 4)} has margin {margin}"
    return refuted(text) if margin > 0 else undecided(text)


@priority_robust.check(
    method="statistical",
    scope="instances",
    false={"factor": "1.4"},
    part="factor",
    uses=priorities,
    alpha=5e-7,
)
def growth_under_three_rules(runs, factor: str) -> Finding:
    """Decide whether the longest queue grows in the systems whose factor is above the stated one.

    Four queues of rate 0.4, EXP3, factors 15/8, 5/3 (full effort only), 23/16 and 5/4; uniform, fixed
    priority, oldest first. Growth rate over the second half of 20,000 (quick) or 1,000,000 steps (full),
    64 runs, t interval, alpha split over the systems; a system grows if the interval lies above 0.003
    packets per step, and does not if it lies below: a settled queue of ten packets moves by 0.001 at
    most. Above 5/3 none grows. At 23/16 the lowest priority does, by 0.019 with a standard error of
    0.0012 at quick effort, so that 1.4 is refuted with probability above 1 - 1e-6; this is a run of
    EXP3, no theorem. That factors between 23/16 and 5/3 can suffice here is not judged.
    """
    from simlib.strategic.stability import growth_rate, stability_verdict

    stated = 1 / (1 - Fraction(str(max(ARRIVAL_RATES)))) if factor == FACTOR else Fraction(factor)
    arrivals = sum(Fraction(str(rate)) for rate in ARRIVAL_RATES)
    names = [name for name in TOTALS if f"queues_{name}_uniform" in runs]
    systems = [
        (name, rule)
        for name, rule in product(names, RULES)
        if Fraction(TOTALS[name]).limit_denominator(100) / arrivals > stated
    ]
    found = []
    for name, rule in systems:
        label = f"growth, factor {float(TOTALS[name] / float(arrivals)):.4g}, {rule}"
        growth = growth_rate(runs["steps"], runs[f"queues_{name}_{rule}"].max(axis=2))
        bad = unfit(growth, priorities, label)
        if bad:
            found.append(bad)
            continue
        verdict = stability_verdict(growth, 0.003, 5e-7 / len(systems))
        shown = estimate(verdict.growth.value, verdict.growth.low, verdict.growth.high)
        text = f"{label}: {shown.text}, {verdict.verdict}"
        made = {"growing": refuted, "not growing": proved, "undecided": undecided}
        found.append(made[verdict.verdict](text, **{label: shown}))
    return combine(found, f"{len(found)} systems above the factor, none grows")
