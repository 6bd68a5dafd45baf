"""How much more than independent ones the samples of a number of jobs vary along a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING

from checks.admission.evidence.experiments import certified_case
from checks.admission.instances import SOURCE
from checks.admission.samples import sample_law
from checks.claim import Claim, Source
from checks.finding import Finding, combine, decimal, exact, one_of, proved, refuted
from checks.judging import as_stated, misprint

if TYPE_CHECKING:
    from simlib.admission.network import Network

module_variance = Claim(
    "admission.module_variance",
    title="Along a path samples can have 18 times the variance of independent ones, or about half",
    source=Source(SOURCE, "Lemma 12.1", provenance="ours"),
    kind="proposition",
    statement=r"""
A stationary network that admits all it can up to $S$ jobs, step by step; $s_t$ is the number of
jobs and $D_t=1$ if one leaves, $p=\mu(s)/U$, where $U$ is $\lambda$ and all service rates together. If
the samples of $s$ jobs were independent, then
$\Sigma_n=\sum_{t<n}1\{s_t=s\}(D_t-p)$ would have variance $n\,\nu(s)\,p(1-p)$. Its true variance is
asymptotically $V_s$ times that. With $P$ the transition matrix, $P_D$ its part in which a job leaves,
$f(x)=1\{|x|=s\}(P_D1(x)-p)$, and $g$ the solution of $(I-P)g=f$, $\nu g=0$,
$$V_s=1+\frac2{\nu(s)\,p(1-p)}\sum_{|x|=s}\nu(x)\bigl[P_Dg(x)-<<centre>>\,Pg(x)\bigr].$$

| | $V_1,\dots,V_S$ |
| --- | --- |
| one queue, $\lambda=\frac12$, rate 1, $S=4$ | <<queue>> |
| two queues in series, rates 1, $\lambda=0.6$, $S=4$ | <<tandem>> |
| three tiers, rates 1, $\lambda=0.25$, $S=5$ | <<tiers>> |
| two parallel queues, rates 1 and 0.02, $\lambda=\frac12$, shares 0.9 and 0.1, $S=4$ | <<parallel>> |

So a radius as if samples were independent is right for one queue, and too small by a factor of up
to 4.3 for two parallel ones: modules, or something in their place, do matter. But the $\sqrt\tau$
that modules pay is far more than the variance asks for: 31 for these three tiers at $T=10^7$ (where
$\tau=964$, "stable" in `admission.regret_theorem`).
""",
    claimed={
        "centre": "p",
        "queue": "1.000, 1.000, 1.000, 1.000",
        "tandem": "0.530, 0.697, 0.768, 0.816",
        "tiers": "1.363, 1.279, 1.191, 1.125, 1.092",
        "parallel": "8.903, 11.202, 13.097, 18.806",
    },
    meaning={
        "centre": "what is taken off a sample",
        "queue": "variance over that of independent samples, one queue",
        "tandem": "the same, two queues in series",
        "tiers": "the same, three tiers",
        "parallel": "the same, two parallel queues",
    },
    rests_on=["admission.sample_law"],
    parts={"formula": "the variance of a sum", "values": "four networks"},
    uncovered=(
        "that Var(Sigma_n)/n has a limit is classical for finite chains and not proved here; an "
        "inequality with V in the place of tau, which needs one of Bernstein's kind for Markov chains"
    ),
)


@dataclass(frozen=True, eq=False)
class Path:
    """A network that admits all up to S jobs, step by step, in rationals.

    Attributes
    ----------
    totals : tuple of int
        Jobs in each state.
    law : tuple of Fraction
        Stationary law of the states.
    rows, leaves : tuple of dict
        For each state, the probabilities of the next ones; and with a job that leaves.
    chances : tuple of Fraction
        mu(s)/U for s = 1..S.
    """

    totals: tuple[int, ...]
    law: tuple[Fraction, ...]
    rows: tuple[dict[int, Fraction], ...]
    leaves: tuple[dict[int, Fraction], ...]
    chances: tuple[Fraction, ...]

    def sample(self, s: int) -> list[Fraction]:
        """f, by state."""
        p = self.chances[s - 1]
        return [
            sum(left.values()) - p if total == s else Fraction(0)
            for total, left in zip(self.totals, self.leaves, strict=True)
        ]

    def following(self, s: int, g: Sequence[Fraction], centre: Fraction) -> Fraction:
        """Sum over the states with s jobs of nu (P_D g - centre P g)."""

        def mean(row: dict[int, Fraction]) -> Fraction:
            return sum((q * g[j] for j, q in row.items()), Fraction(0))

        return sum(
            (
                p * (mean(left) - centre * mean(row))
                for p, left, row, total in zip(
                    self.law, self.leaves, self.rows, self.totals, strict=True
                )
                if total == s
            ),
            Fraction(0),
        )


@cache
def path_of(network: Network, limit: int) -> Path:
    """The path of a network with rational numbers, at most ``limit`` jobs."""
    from simlib.admission.chain import transition_matrix
    from simlib.admission.product_form import flow_equivalent_rates, product_law

    clock, policy = Fraction(network.rate_bound(limit)), (1,) * limit
    points, matrix = transition_matrix(network, limit, policy, clock, exact=True)
    where, leaves = {x: i for i, x in enumerate(points)}, []
    for x in points:
        left: dict[int, Fraction] = {}
        for station, jobs in enumerate(x):
            rate = Fraction(network.station_rate(station, jobs)) * network.exit[station]
            if jobs and rate:
                target = where[(*x[:station], jobs - 1, *x[station + 1 :])]
                left[target] = left.get(target, Fraction(0)) + rate / clock
        leaves.append(left)
    n = len(points)
    return Path(
        totals=tuple(map(sum, points)),
        law=tuple(product_law(network, policy).values()),
        rows=tuple({j: matrix[i, j] for j in range(n) if matrix[i, j]} for i in range(n)),
        leaves=tuple(leaves),
        chances=tuple(Fraction(rate) / clock for rate in flow_equivalent_rates(network, limit)),
    )


@cache
def ratios(network: Network, limit: int) -> tuple[Fraction, ...]:
    """V_1, ..., V_S, exact.

    Parameters
    ----------
    network : Network
        With rational numbers.
    limit : int
        S.
    """
    from flint import fmpq, fmpq_mat

    path = path_of(network, limit)
    n, found = len(path.law), []
    entries = [
        Fraction(int(i == j)) - path.rows[i].get(j, 0) + path.law[j]
        for i in range(n)
        for j in range(n)
    ]
    system = fmpq_mat(n, n, [fmpq(e.numerator, e.denominator) for e in entries])
    right = [path.sample(s)[i] for i in range(n) for s in range(1, limit + 1)]
    solution = system.solve(fmpq_mat(n, limit, [fmpq(v.numerator, v.denominator) for v in right]))
    for s in range(1, limit + 1):
        g = [Fraction(int(solution[i, s - 1].p), int(solution[i, s - 1].q)) for i in range(n)]
        p = path.chances[s - 1]
        alone = sum(q for q, total in zip(path.law, path.totals, strict=True) if total == s)
        found.append(1 + 2 * path.following(s, g, p) / (alone * p * (1 - p)))
    return tuple(found)


_CENTRES = ("p", "0")


@module_variance.check(
    method="symbolic", scope="general", part="formula", false={"centre": _CENTRES[1]}
)
def covariances_telescope(centre: str) -> Finding:
    """One sample has variance p(1 - p); with what follows (I - P)g = f adds covariances up (SymPy).

    The sum over t of P^t f is g less P^n g, which goes to nu g = 0. With another centre two samples
    in a row refute it: two queues in series, all steps and departures enumerated.
    """
    import sympy

    from checks.methods.symbolic import identity

    stated = one_of("centre", centre, *_CENTRES)
    path = path_of(tandem_network(), 2)
    p = path.chances[0]
    listed = Fraction(0)
    for i, total in enumerate(path.totals):
        for j, q in path.rows[i].items():
            if total == 1 and path.totals[j] == 1:
                gone = path.leaves[i].get(j, Fraction(0))
                for k, r in path.rows[j].items():
                    left = path.leaves[j].get(k, Fraction(0))
                    first = gone * (1 - p) + (q - gone) * -p
                    listed += path.law[i] * first * (left * (1 - p) + (r - left) * -p)
    value = path.following(1, path.sample(1), p if stated == "p" else Fraction(0))
    if value != listed:
        return refuted(
            f"two queues in series, S = 2, s = 1: two samples in a row have covariance "
            f"{decimal(listed, 8)}, not {decimal(value, 8)}"
        )
    nu, p_, gone_, after = sympy.symbols("nu(x) p P_Dg Pg", positive=True)
    g, moved, final = sympy.symbols("g Pg(x) P^n_g")
    return combine(
        [
            as_stated(sample_law, rate=r"\mu(s)"),
            identity((g - moved) + (moved - final), g - final, "sum of P^t f telescopes"),
            identity(p_ * (1 - p_) ** 2 + (1 - p_) * p_**2, p_ * (1 - p_), "variance of one"),
            identity(
                nu * ((1 - p_) * gone_ - p_ * (after - gone_)),
                nu * (gone_ - p_ * after),
                "a sample times what follows, leaving and staying",
            ),
        ],
        "V = 1 + 2 covariances over the variance of one",
    )


def tandem_network() -> Network:
    """The two queues in series of `admission.regret_theorem`."""
    return certified_case("tandem")[0]


@module_variance.check(
    method="exact",
    scope="general",
    part="values",
    false=[
        {"queue": "1.000, 1.000, 1.000, 1.001"},
        {"tandem": "1.000, 1.000, 1.000, 1.000"},
        {"tiers": "1.000, 1.000, 1.000, 1.000, 1.000"},
        {"parallel": "1.000, 1.000, 1.000, 1.000"},
        {"parallel": "8.903, 11.202, 13.097, 18.807"},
    ],
)
def ratios_of_four_networks(queue: str, tandem: str, tiers: str, parallel: str) -> Finding:
    """Solve for g in rationals; 5, 15, 56 and 15 states.

    The part is about four networks, so it is decided whole.
    """
    from simlib.admission import network as networks

    f = Fraction
    cases = {
        "one queue": (networks.tandem(f(1, 2), (1,)), 4, queue),
        "two in series": (tandem_network(), 4, tandem),
        "three tiers": (certified_case("stable")[0], 5, tiers),
        "two parallel": (
            networks.parallel(f(1, 2), (1, f(1, 50)), (f(9, 10), f(1, 10))),
            4,
            parallel,
        ),
    }
    shown = {}
    for name, (network, limit, text) in cases.items():
        values = ratios(network, limit)
        wrong = misprint(
            name, text, [(f"{name}, V_{s}", value) for s, value in enumerate(values, 1)]
        )
        if wrong:
            return wrong
        shown |= {f"V_{s}, {name}": exact(decimal(value, 8)) for s, value in enumerate(values, 1)}
    return proved(f"{len(shown)} ratios, correctly rounded", **shown)
