"""Norton's theorem under any policy that sees the number of jobs, and what it does not say."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from checks.admission.instances import (
    SOURCE,
    first_station_empty,
    named_networks,
    six_policies,
    solved,
    three_tiers,
)
from checks.claim import Claim, Source
from checks.finding import (
    Finding,
    combine,
    decide,
    decimal,
    exact,
    one_of,
    proved,
    refuted,
    undecided,
)
from checks.judging import as_printed_decimal, one_for_each

norton_sum_policy = Claim(
    "admission.norton_sum_policy",
    title="To one who sees and uses only the number of jobs, the network is a single queue",
    source=Source(SOURCE, "Section 2.1"),
    statement=r"""
Jobs arrive in a Poisson process of rate $\lambda>0$; all service times are exponential. A job that finds
$s$ jobs in the network is admitted with probability $\alpha(s)$, by a policy that sees the <<sees>>;
$\alpha(S)=0$, and at most $S$ jobs are in the network. It enters station $i$ with probability
$a_i$. Station $i$ with $k\ge1$ jobs serves at rate $\mu_i(k)>0$; a served job goes to station $j$ with
probability $L_{ij}$ and leaves with probability $L_{i0}=1-\sum_jL_{ij}$, where $I-L$ is invertible. The
visit ratios $v_i\ge0$ solve $v=a+vL$. For a state $x$, the numbers of jobs at the $N$ stations, let
$|x|=x_1+\dots+x_N$ and
$$f(x)=\prod_{i=1}^N\prod_{k=1}^{x_i}\frac{<<weight>>}{\mu_i(k)},\qquad G(s)=\sum_{|x|=s}f(x),\qquad
\mu(s)=<<rate>>.$$

1. The stationary law of the state is $\nu(x)=\frac1Z\prod_{k<|x|}\lambda\alpha(k)\,f(x)$. So the law of
   the state given $|x|=s$ is $f(x)/G(s)$ under every policy that reaches $s$.
2. The number of jobs has the stationary law of the birth-death chain with rates $\lambda\alpha(s)$ up
   and $\mu(s)$ down.
3. $\mu(s)$ is the rate at which jobs pass the exit of the closed network with $s$ jobs, in which each
   that would leave is admitted anew.
4. The policy must not see more, nor remember. Let it admit exactly when station 1 is empty, and compare
   the law of the number of jobs with that of the birth-death chain which admits with the true
   probabilities given $s$. On the five networks of `checks/admission/instances.py` the total variation
   distance is <<state_gaps>>.
   Let it stop at 4 jobs and resume at 1: on three tiers, $\lambda=1$, the distance is <<memory_gap>>
   (the chain compared keeps the mode).

*Example.* Three tiers, one queue each, rates $1,\frac32,2$; from tier 1 a job leaves or goes on to tiers
2, 3 and back to 1, with probability $\frac12$ each. Then $\mu(1),\dots,\mu(6)$ are
$<<rates:frac>>$.
""",
    claimed={
        "sees": "number of jobs",
        "weight": "v_i",
        "rate": "G(s-1)/G(s)",
        "rates": "6/19, 114/265, 318/671, 1830/3731, 2706/5449, 2975154/5964505",
        "state_gaps": "0.0779, 0.0179, 0.0071, 0.0390, 0.0584",
        "memory_gap": "0.0065",
    },
    meaning={
        "state_gaps": "tandem of three; three tiers; four stations with loops; 1, 2 and 3 servers; five",
    },
    parts={
        "law": "the law of the state",
        "total": "the law of the number of jobs",
        "closed": "the closed network",
        "needed": "what the policy must not do",
        "example": "the numbers of the example",
    },
    uncovered=(
        "that exponential service without blocking is needed: no network without them is looked at; and "
        "that every state leads to the empty one, so that there is one stationary law, is not computed"
    ),
)

_SEES = ("number of jobs", "state")
_WEIGHTS = ("v_i", "1")
_RATES = ("G(s-1)/G(s)", "G(s)/G(s+1)")


def _visits(network, weight: str) -> tuple:
    return network.visits if weight == "v_i" else (Fraction(1),) * network.stations


def _weights(network, limit: int, weight: str) -> dict[tuple[int, ...], Fraction]:
    """f(x) for every state, from its definition."""
    from simlib.admission.chain import states

    visits = _visits(network, weight)
    return {
        x: math.prod(
            visits[i] / network.station_rate(i, k)
            for i in range(network.stations)
            for k in range(1, x[i] + 1)
        )
        for x in states(network.stations, limit)
    }


def _rates(network, limit: int, weight: str, rate: str) -> list[Fraction]:
    """mu(1), ..., mu(S) by summing f."""
    from simlib.admission.chain import law_of_total

    shift = _RATES.index(rate)
    sums = law_of_total(_weights(network, limit + shift, weight))
    return [Fraction(sums[s - 1 + shift], sums[s + shift]) for s in range(1, limit + 1)]


def _differs(name: str, policy: str, sees: str, weight: str, rate: str) -> str:
    """How the solved law of a named network differs from the statement; empty if it does not."""
    from simlib.admission.chain import acceptance_given_total, law_of_total, total_variation
    from simlib.admission.product_form import total_law

    named = next(one for one in named_networks() if one.name == name)
    policy = policy if sees == "number of jobs" else "first station empty"
    law, f = solved(name, policy), _weights(named.network, named.limit, weight)
    totals, sums = law_of_total(law), law_of_total(f)
    case = f"{name}, {policy}"
    for x, p in law.items():
        if p * sums[sum(x)] != totals[sum(x)] * f[x]:
            return (
                f"{case}: given {sum(x)} jobs, {x} has probability "
                f"{decimal(p / totals[sum(x)], 4)}, not {decimal(f[x] / sums[sum(x)], 4)}"
            )
    if sees == "number of jobs":
        accept = six_policies(named.limit)[policy]
    else:
        accept = acceptance_given_total(law, first_station_empty)
    rates = _rates(named.network, named.limit, weight, rate)
    gap = total_variation(totals, total_law(named.network.arrival_rate, rates, accept))
    return f"{case}: the law of the number of jobs is off by {decimal(gap, 4)}" if gap else ""


def _refuted_on_an_instance(sees: str, weight: str, rate: str) -> Finding:
    """Refuted by the solved three tiers, or undecided if they agree."""
    found = _differs("three tiers", "randomised", sees, weight, rate)
    return refuted(found) if found else undecided("the three tiers agree with another statement")


def _leaving(own, arriving, a, j, n):
    """sum_i w_i L_i0 = sum_j (w_j - sum_i w_i L_ij), simplified with sum_j a_j = 1."""
    import sympy
    from sympy import Sum, factor_terms

    total = factor_terms(Sum(sympy.expand(own - arriving), (j, 1, n)).expand())
    return sympy.simplify(total.subs(Sum(a[j], (j, 1, n)), 1))


@norton_sum_policy.check(
    method="symbolic", scope="general", false=[{"weight": "1"}, {"sees": "state"}], part="law"
)
def local_balance(sees: str, weight: str) -> Finding:
    """Balance at each station and with the outside, for any number of stations, all data symbolic.

    One more job at station i multiplies nu by lambda alpha w_i/mu_i(x_i + 1), so nu(y + e_i) mu_i is
    nu(y) lambda alpha(|y|) w_i. Divided by nu(y) lambda alpha(|y|), station j is in balance in y + e_j
    if w_j = a_j + sum_i w_i L_ij, and y with the outside if sum_i w_i L_i0 = 1; where alpha(|y|) = 0
    both sides vanish. All stations and the outside together are the balance of the state; and all
    states lead to the empty one, so there is no other stationary law. The weight does not depend on the
    order in which the jobs are added if alpha sees their number only.
    """
    import sympy
    from sympy import IndexedBase, Sum

    one_of("sees", sees, *_SEES)
    one_of("weight", weight, *_WEIGHTS)
    i, j, n = sympy.symbols("i j N", integer=True, positive=True)
    v, a, routing = IndexedBase("v"), IndexedBase("a"), IndexedBase("L")
    if weight == "v_i":
        own, arriving = v[j], v[j] - a[j]  # sum_i v_i L_ij, by v = a + v L
    else:
        own, arriving = sympy.Integer(1), Sum(routing[i, j], (i, 1, n))
    station = sympy.expand(own - a[j] - arriving)
    leaving = _leaving(own, arriving, a, j, n)
    alpha = sympy.symbols("alpha_1 alpha_2")
    orders = 0 if sees == "number of jobs" else alpha[0] - alpha[1]
    if station == 0 and leaving == 1 and orders == 0:
        return proved("v_j = a_j + sum_i v_i L_ij, and sum_i v_i L_i0 = sum_j a_j = 1, for any N")
    return _refuted_on_an_instance(sees, weight, "G(s-1)/G(s)")


@norton_sum_policy.check(
    method="symbolic", scope="instances", false=[{"weight": "1"}, {"sees": "state"}], part="law"
)
def balance_of_every_state(sees: str, weight: str) -> Finding:
    """The balance equation of every state of two and three stations, with a symbol for each datum.

    Two stations with up to three jobs and three with up to two: no step of the proof is used. The entry
    probabilities are put in as a = v - v L. Other statements are refuted at a rational point.
    """
    import sympy

    from simlib.admission.chain import states

    one_of("sees", sees, *_SEES)
    one_of("weight", weight, *_WEIGHTS)
    checked = 0
    for n, limit in ((2, 3), (3, 2)):
        arrival = sympy.Symbol("lambda", positive=True)
        v = sympy.symbols(f"v1:{n + 1}", positive=True)
        routing = [sympy.symbols(f"L{i}_1:{n + 1}", positive=True) for i in range(1, n + 1)]
        mu = [sympy.symbols(f"mu{i}_1:{limit + 1}", positive=True) for i in range(1, n + 1)]
        enters = [v[j] - sum(v[i] * routing[i][j] for i in range(n)) for j in range(n)]
        leaves = [1 - sum(row) for row in routing]
        weights = v if weight == "v_i" else (1,) * n
        symbol = {}

        def accept(x, limit=limit, symbol=symbol):
            if sum(x) == limit:
                return sympy.Integer(0)
            key = sum(x) if sees == "number of jobs" else x
            return symbol.setdefault(key, sympy.Symbol(f"alpha_{key}", positive=True))

        def moved(x, i, d):
            return (*x[:i], x[i] + d, *x[i + 1 :])

        def nu(x, weights=weights, mu=mu, n=n, arrival=arrival, accept=accept, moved=moved):
            value, at = sympy.Integer(1), (0,) * n
            for i in range(n):
                for k in range(x[i]):
                    value *= arrival * accept(at) * weights[i] / mu[i][k]
                    at = moved(at, i, 1)
            return value

        for x in states(n, limit):
            out = nu(x) * (
                arrival * accept(x) * sum(enters) + sum(mu[i][x[i] - 1] for i in range(n) if x[i])
            )
            into = sympy.Integer(0)
            for j in range(n):
                if x[j]:
                    y = moved(x, j, -1)
                    into += nu(y) * arrival * accept(y) * enters[j]
                    for i in range(n):
                        z = moved(y, i, 1)
                        into += nu(z) * mu[i][z[i] - 1] * routing[i][j]
                if sum(x) < limit:
                    z = moved(x, j, 1)
                    into += nu(z) * mu[j][z[j] - 1] * leaves[j]
            rest = sympy.expand(out - into)
            checked += 1
            if rest == 0:
                continue
            free = sorted(rest.free_symbols, key=str)
            value = rest.subs({s: sympy.Rational(1, 3 + k) for k, s in enumerate(free)})
            if value == 0:
                return undecided(f"{n} stations, state {x}: out - in = {rest}")
            return refuted(f"{n} stations, state {x}: out - in = {value}, with data 1/3, 1/4, ...")
    return proved(f"out - in expands to 0 in each of {checked} states")


@norton_sum_policy.check(
    method="exact",
    scope="instances",
    false=[{"weight": "1"}, {"sees": "state"}, {"rate": "G(s)/G(s+1)"}],
    part="total",
)
def networks_solved(sees: str, weight: str, rate: str) -> Finding:
    """Solve the balance equations of five networks under six policies in rationals and compare.

    Each law comes from a linear system with one equation for each of the 84 or 126 states; neither the
    product form nor the visit ratios enter it. Compared are all conditional laws given the number of
    jobs, and the law of that number.
    """
    one_of("sees", sees, *_SEES)
    one_of("weight", weight, *_WEIGHTS)
    one_of("rate", rate, *_RATES)
    for named in named_networks():
        for policy in six_policies(named.limit):
            if found := _differs(named.name, policy, sees, weight, rate):
                return refuted(found)
    systems = [
        len(solved(one.name, p)) for one in named_networks() for p in six_policies(one.limit)
    ]
    return proved(
        f"{len(systems)} systems of {min(systems)} to {max(systems)} equations agree",
        **{"solved systems": exact(len(systems)), "equations in all": exact(sum(systems))},
    )


@norton_sum_policy.check(
    method="symbolic", scope="general", false={"rate": "G(s)/G(s+1)"}, part="total"
)
def birth_death_balance(rate: str) -> Finding:
    """Sum nu over |x| = s and compare the flow up from s with that down from s + 1, for any G.

    The sum is prod_{k<s} lambda alpha(k) G(s)/Z; the flow up is lambda alpha(s) times it, and mu(s + 1)
    times the next sum must equal it. Another rate is refuted by the solved three tiers.
    """
    import sympy

    one_of("rate", rate, *_RATES)
    weight, up, before, now, after = sympy.symbols("A lambda_alpha G_s G_t G_u", positive=True)
    down = {"G(s-1)/G(s)": before / now, "G(s)/G(s+1)": now / after}[rate]
    rest = sympy.simplify(weight * before * up - weight * up * now * down)
    if rest == 0:
        return proved("nu(s) lambda alpha(s) = nu(s+1) mu(s+1) for any G and alpha")
    return _refuted_on_an_instance("number of jobs", "v_i", rate)


def _closed_throughput(network, jobs: int) -> Fraction:
    """Rate at which jobs pass the exit of the closed network, from its balance equations."""
    import numpy as np

    from simlib.admission.product_form import compositions
    from simlib.chains import stationary_law

    points = list(compositions(network.stations, jobs))
    index = {x: i for i, x in enumerate(points)}
    clock = sum(network.station_rate(i, jobs) for i in range(network.stations))
    step = np.full((len(points), len(points)), Fraction(0), dtype=object)
    passing = []
    for x in points:
        step[index[x], index[x]] += 1
        passing.append(Fraction(0))
        for i in range(network.stations):
            rate = network.station_rate(i, x[i])
            passing[-1] += rate * network.exit[i]
            step[index[x], index[x]] -= rate / clock
            for j in range(network.stations):
                to = network.routing[i][j] + network.exit[i] * network.external[j]
                y = list(x)
                y[i] -= 1
                y[j] += 1
                if rate:
                    step[index[x], index[tuple(y)]] += rate * to / clock
    return sum(p * q for p, q in zip(stationary_law(step), passing, strict=True))


@norton_sum_policy.check(
    method="symbolic", scope="general", false={"rate": "G(s)/G(s+1)"}, part="closed"
)
def closed_network(rate: str) -> Finding:
    """Close the network, for any number of stations: its visit ratios, and the rate at its exit.

    Its routing is L_ij + L_i0 a_j, so sum_i v_i L_ij + (sum_i v_i L_i0) a_j must be v_j; then f(x)/G(s)
    is its law, by the station balance of `local_balance`. In state y + e_i jobs pass from station i at
    rate f(y + e_i) mu_i L_i0/G(s) = f(y) v_i L_i0/G(s). Summed over i and over |y| = s - 1 this is
    G(s-1)/G(s). Another rate is refuted by the three tiers.
    """
    import sympy
    from sympy import IndexedBase

    one_of("rate", rate, *_RATES)
    j, n = sympy.symbols("j N", integer=True, positive=True)
    v, a = IndexedBase("v"), IndexedBase("a")
    arriving = v[j] - a[j]  # sum_i v_i L_ij, by v = a + v L
    leaves = _leaving(v[j], arriving, a, j, n)
    traffic = sympy.expand(arriving + leaves * a[j] - v[j])
    before, now, after = sympy.symbols("G_s G_t G_u", positive=True)
    stated = {"G(s-1)/G(s)": before / now, "G(s)/G(s+1)": now / after}[rate]
    if leaves == 1 and traffic == 0 and sympy.simplify(leaves * before / now - stated) == 0:
        return proved("v = v (L + L_0 a), and jobs pass the exit at rate G(s-1)/G(s), for any N")
    network = three_tiers()
    found, told = _closed_throughput(network, 2), _rates(network, 2, "v_i", rate)[1]
    text = f"three tiers closed with 2 jobs: {found} pass per unit of time, not {told}"
    return refuted(text) if found != told else undecided(text)


@norton_sum_policy.check(
    method="exact", scope="instances", false={"rate": "G(s)/G(s+1)"}, part="closed"
)
def closed_networks_solved(rate: str) -> Finding:
    """Solve the five networks closed with 1 to 4 jobs (five stations: to 3) in rationals."""
    one_of("rate", rate, *_RATES)
    count = 0
    for named in named_networks():
        most = 4 if named.network.stations < 5 else 3
        told = _rates(named.network, most, "v_i", rate)
        for jobs in range(1, most + 1):
            found = _closed_rates(named.name)[jobs - 1]
            count += 1
            if found != told[jobs - 1]:
                return refuted(f"{named.name} with {jobs} jobs: {found}, not {told[jobs - 1]}")
    return proved(f"{count} closed networks agree", **{"closed networks": exact(count)})


@cache
def _closed_rates(name: str) -> tuple[Fraction, ...]:
    named = next(one for one in named_networks() if one.name == name)
    most = 4 if named.network.stations < 5 else 3
    return tuple(_closed_throughput(named.network, jobs) for jobs in range(1, most + 1))


@norton_sum_policy.check(
    method="exact",
    scope="general",
    false={"rates": "6/19, 114/265, 318/671, 1830/3731, 2706/5449, 2975154/5964506"},
    part="example",
)
def rates_of_the_example(rates: str) -> Finding:
    """Compute mu(1), ..., mu(6) of the example in four ways; its part of the statement is these numbers.

    By Buzen's convolution, by mean value analysis, by summing f over all states, and as lambda nu(s-1)/
    nu(s) from the solved balance equations under the policy that admits all.
    """
    from simlib.admission.chain import law_of_total
    from simlib.admission.product_form import flow_equivalent_rates, mean_value_analysis

    network = three_tiers()
    told = [
        Fraction(text) for text in one_for_each("rates", rates, *(f"mu({s})" for s in range(1, 7)))
    ]
    totals = law_of_total(solved("three tiers", "accept all"))
    ways = {
        "convolution": flow_equivalent_rates(network, 6),
        "mean value analysis": mean_value_analysis(network, 6),
        "sums over the states": _rates(network, 6, "v_i", "G(s-1)/G(s)"),
        "balance equations": [
            network.arrival_rate * totals[s - 1] / totals[s] for s in range(1, 7)
        ],
    }
    return combine(
        [
            decide(
                list(found) == told,
                f"{way} agrees",
                f"{way}: {', '.join(map(str, found))}",
            )
            for way, found in ways.items()
        ],
        "convolution, mean value analysis, sums over the states and balance equations agree",
    )


@norton_sum_policy.check(
    method="exact",
    scope="general",
    false=[
        {"state_gaps": "0.0000, 0.0000, 0.0000, 0.0000, 0.0000"},
        {"state_gaps": "0.0779, 0.0179, 0.0072, 0.0390, 0.0584"},
        {"memory_gap": "0.0000"},
        {"memory_gap": "0.0078"},
    ],
    part="needed",
)
def policies_that_see_more(state_gaps: str, memory_gap: str) -> Finding:
    """Solve the networks under a policy that looks at station 1, and under hysteresis, in rationals.

    The part is about these instances. The birth-death chain is given the exact probability of admission
    given the number of jobs; the chain for hysteresis has the numbers of jobs and the two modes. Gaps of
    0, as Norton's theorem would have them for these policies, are refuted.
    """
    from simlib.admission.chain import (
        acceptance_given_total,
        hysteresis,
        hysteresis_totals,
        law_of_total,
        total_variation,
    )
    from simlib.admission.product_form import flow_equivalent_rates, total_law

    gaps = {}
    for named in named_networks():
        law = solved(named.name, "first station empty")
        accept = acceptance_given_total(law, first_station_empty)
        rates = flow_equivalent_rates(named.network, named.limit)
        one_queue = total_law(named.network.arrival_rate, rates, accept)
        gaps[f"{named.name}, first station empty"] = total_variation(law_of_total(law), one_queue)
    network = three_tiers()

    def by_total(law):
        sums = [Fraction(0)] * 5
        for (state, _), p in law.items():
            sums[state if isinstance(state, int) else sum(state)] += p
        return sums

    full = by_total(hysteresis(network, 4, 1))
    rates = flow_equivalent_rates(network, 4)
    one_queue = by_total(hysteresis_totals(network.arrival_rate, rates, 4, 1))
    gaps["three tiers, stop at 4, resume at 1"] = total_variation(full, one_queue)
    found = []
    *by_state, _ = gaps
    texts = [*one_for_each("state_gaps", state_gaps, *by_state), memory_gap]
    for (case, gap), text in zip(gaps.items(), texts, strict=True):
        told, half = as_printed_decimal("gap", text)
        found.append(
            decide(
                gap > 0 and abs(gap - told) <= half,
                f"{case}: {decimal(gap, 6)}",
                f"{case}: the gap is {decimal(gap, 6)}, not {text.strip()}",
                **{case: exact(gap)},
            )
        )
    return combine(found)


# The number of jobs is not Markov ---------------------------------------------------------------

total_not_markov = Claim(
    "admission.total_not_markov",
    title="The number of jobs has the law of a birth-death chain, but it is not Markov",
    source=Source(SOURCE, "Section 4", provenance="ours"),
    kind="proposition",
    statement=r"""
In the setting of `admission.norton_sum_policy`, let the network be stationary under a policy that sees
the number of jobs. Jobs leave at rate $e(x)=\sum_i\mu_i(x_i)L_{i0}$ in state $x$.

1. Given $s$ jobs the mean of $e$ is $\mu(s)$. Just after a departure that leaves $s$ jobs behind it is
   $\mu(<<left_behind>>)$ as well: the departure tells nothing but $s$.
2. Just after an admitted arrival that makes $s$ jobs the mean of $e$ is
   $$\mu(<<met>>)+\sum_ja_jL_{j0}\,E\big[\mu_j(X_j+1)-\mu_j(X_j)\,\big|\,|X|=s-1\big].$$
   If no station both takes arrivals and lets jobs go, as in a tandem of two or more, that is
   $\mu(<<met>>)$. In three tiers of single queues it is the exit rate of a busy first tier, for any $s$.

*Example.* In the three tiers of `admission.norton_sum_policy` the mean exit rate with 1, ..., 5 jobs is
$<<given:frac>>$; just after an arrival that makes so many jobs it is $<<after_arrival:frac>>$. So the
number of jobs is not a Markov process: with one job in the network, how it came to be one tells how soon
it leaves.
""",
    claimed={
        "left_behind": "s",
        "met": "s-1",
        "given": "6/19, 114/265, 318/671, 1830/3731, 2706/5449",
        "after_arrival": "1/2, 1/2, 1/2, 1/2, 1/2",
    },
    meaning={
        "left_behind": "jobs whose exit rate is the mean one just after a departure",
        "met": "jobs that an arrival meets if it makes s",
    },
    parts={
        "departure": "what a departure tells",
        "arrival": "what an arrival tells",
        "example": "the numbers of the example",
    },
    rests_on=["admission.norton_sum_policy"],
)


_MOMENTS = ("given", "departure", "arrival")


@cache
def _exit_rates(name: str) -> dict[str, tuple[Fraction, ...]]:
    """Mean exit rates of a named network under "randomised", from the solved balance equations.

    Returns
    -------
    dict
        ``given``, ``departure``, ``arrival``: means at s = 1, ..., S (after a departure to S - 1).
    """
    from simlib.admission.chain import exit_rates

    named = next(one for one in named_networks() if one.name == name)
    network, limit = named.network, named.limit
    law = solved(name, "randomised")

    def leaves(x):
        return sum(network.station_rate(i, k) * network.exit[i] for i, k in enumerate(x) if k)

    sums = {kind: [[Fraction(0)] * 2 for _ in range(limit + 1)] for kind in _MOMENTS}

    def count(kind, x, weight):
        at = sums[kind][sum(x)]
        at[0] += weight
        at[1] += weight * leaves(x)

    for x, p in law.items():
        count("given", x, p)
        for i in range(network.stations):
            if x[i]:
                rate = network.station_rate(i, x[i]) * network.exit[i]
                count("departure", (*x[:i], x[i] - 1, *x[i + 1 :]), p * rate)
            if sum(x) < limit:  # of those with s jobs all are admitted with the same probability
                count("arrival", (*x[:i], x[i] + 1, *x[i + 1 :]), p * network.external[i])
    found = {
        kind: tuple(mean / mass for mass, mean in rows[1 : limit + (kind != "departure")])
        for kind, rows in sums.items()
    }
    library = exit_rates(network, six_policies(limit)["randomised"])
    same = (library.given_total, library.after_departure, library.after_arrival)
    if tuple(map(tuple, same)) != tuple(found[kind] for kind in _MOMENTS):
        raise ArithmeticError(f"{name}: the library's exit rates differ from the solved ones")
    return found


@total_not_markov.check(
    method="symbolic", scope="general", false={"left_behind": "s+1"}, part="departure"
)
def state_left_behind(left_behind: str) -> Finding:
    """The law of the state that a departure leaves behind, for any number of stations.

    Departures to y happen at rate sum_i nu(y + e_i) mu_i L_i0 = nu(y) lambda alpha(|y|) sum_i v_i L_i0,
    and the last sum is 1; given |y| = s that is the stationary law given s. So every mean after a
    departure is the mean given s, and that of the exit rate is the closed network's throughput. With
    s + 1 in place of s, refuted by the three tiers.
    """
    import sympy
    from sympy import IndexedBase

    one_of("left_behind", left_behind, "s", "s+1")
    j, n = sympy.symbols("j N", integer=True, positive=True)
    v, a = IndexedBase("v"), IndexedBase("a")
    weight, admits = sympy.symbols("nu_y lambda_alpha", positive=True)
    departures = weight * admits * _leaving(v[j], v[j] - a[j], a, j, n)
    if left_behind == "s" and sympy.simplify(departures / (weight * admits)) == 1:
        return proved("departures to y have rate lambda alpha(s) nu(y), for any N")
    found, told = (
        _exit_rates("three tiers")[kind][at] for kind, at in (("departure", 0), ("given", 1))
    )
    text = f"three tiers: after a departure that leaves 1 job the mean exit rate is {found}"
    return refuted(f"{text}, not {told}") if found != told else undecided(text)


@total_not_markov.check(method="symbolic", scope="general", false={"met": "s"}, part="arrival")
def state_after_an_arrival(met: str) -> Finding:
    """Split the mean exit rate just after an arrival, for any number of stations.

    The arrival meets the law given s - 1 jobs, whatever alpha(s-1) is, and enters j with probability
    a_j; then e(y + e_j) = e(y) + L_j0 (mu_j(y_j + 1) - mu_j(y_j)), and sum_j a_j = 1. In the three
    tiers a_1 = 1 and only station 1 has an exit, of probability q: e(y) = q mu_1 1{y_1 > 0}, and
    e(y + e_1) = q mu_1. With s in place of s - 1, refuted by the tandem, where no exit has an entry.
    """
    import sympy
    from sympy import IndexedBase, Sum, factor_terms

    one_of("met", met, "s-1", "s")
    j, n = sympy.symbols("j N", integer=True, positive=True)
    a, exits, gains = IndexedBase("a"), IndexedBase("L0"), IndexedBase("g")
    now, own, q = sympy.symbols("e_y mu_1 q", positive=True)
    mean = factor_terms(Sum(sympy.expand(a[j] * (now + exits[j] * gains[j])), (j, 1, n)).expand())
    mean = mean.subs(Sum(a[j], (j, 1, n)), 1)
    split = sympy.simplify(mean - now - Sum(a[j] * exits[j] * gains[j], (j, 1, n)))
    tiers = [q * own * busy + q * (own - own * busy) - q * own for busy in (0, 1)]
    if met == "s-1" and split == 0 and not any(map(sympy.expand, tiers)):
        return proved(
            "e(y) + sum_j a_j L_j0 (mu_j(y_j+1) - mu_j(y_j)), y as with s - 1 jobs, any N"
        )
    found, told = (_exit_rates("tandem")[kind][0] for kind in ("arrival", "given"))
    text = f"tandem: after an arrival that makes 1 job the mean exit rate is {found}"
    return refuted(f"{text}, not {told}") if found != told else undecided(text)


@total_not_markov.check(
    method="exact",
    scope="instances",
    false=[{"left_behind": "s+1"}, {"met": "s"}],
    part="arrival",
)
def exit_rates_of_the_networks(left_behind: str, met: str) -> Finding:
    """Sum over the states of five solved networks, in rationals, under a randomised policy."""
    from simlib.admission.product_form import flow_equivalent_rates

    behind = ("s", "s+1").index(one_of("left_behind", left_behind, "s", "s+1"))
    before = ("s", "s-1").index(one_of("met", met, "s-1", "s"))
    counted = 0
    for named in named_networks():
        network, found = named.network, _exit_rates(named.name)
        law = solved(named.name, "randomised")
        rates = (Fraction(0), *flow_equivalent_rates(network, named.limit))
        for s in range(1, named.limit + 1):
            gain = sum(
                p
                * network.external[j]
                * network.exit[j]
                * (network.station_rate(j, x[j] + 1) - network.station_rate(j, x[j]))
                for x, p in law.items()
                if sum(x) == s - 1
                for j in range(network.stations)
            ) / sum(p for x, p in law.items() if sum(x) == s - 1)
            told = {"given": rates[s], "arrival": rates[s - before] + gain}
            if s < named.limit:
                told["departure"] = rates[s + behind]
            for kind, value in told.items():
                counted += 1
                if found[kind][s - 1] != value:
                    return refuted(
                        f"{named.name}, {kind}, s = {s}: the mean exit rate is "
                        f"{found[kind][s - 1]}, not {value}"
                    )
    return proved(f"{counted} mean exit rates agree", **{"mean exit rates": exact(counted)})


@total_not_markov.check(
    method="exact",
    scope="general",
    false=[
        {"after_arrival": "6/19, 114/265, 318/671, 1830/3731, 2706/5449"},
        {"given": "6/19, 114/265, 318/671, 1830/3731, 2706/5450"},
    ],
    part="example",
)
def exit_rates_of_the_example(given: str, after_arrival: str) -> Finding:
    """Sum over the states of the solved three tiers, in rationals; and compare the two rates.

    Its part of the statement is these numbers. If the number of jobs were a birth-death process with
    rates mu(s), the rates after an arrival would be mu(s) too, which is refuted.
    """
    rates = _exit_rates("three tiers")
    cases = [f"s = {s}" for s in range(1, 6)]
    in_stationarity = [Fraction(text) for text in one_for_each("given", given, *cases)]
    told = {
        "given": in_stationarity,
        "departure": in_stationarity,
        "arrival": [
            Fraction(text) for text in one_for_each("after_arrival", after_arrival, *cases)
        ],
    }
    found = [
        decide(
            list(rates[kind][:5]) == numbers,
            f"{kind}: {', '.join(map(str, numbers))}",
            f"{kind}: the mean exit rates are {', '.join(map(str, rates[kind][:5]))}",
        )
        for kind, numbers in told.items()
    ]
    apart = told["arrival"][0] != told["given"][0]
    found.append(decide(apart, "1/2 is not 6/19: not Markov", "the rates with one job are equal"))
    return combine(found)
