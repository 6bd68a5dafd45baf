"""A learner of the user's own against the claims about any learner on recharging arms.

Two questions are answered separately. *Is the hypothesis met?* The regret per step must be small; no
finite run proves that it vanishes, so the trend is shown beside it. *Is the conclusion met?* The
utility must reach the Hamacher sum. And one check must hold whatever the learner does, on every path:
``U_T >= h (T - R_T)``; its failure would refute a proved theorem, so it would be a bug.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from checks.finding import Finding, decimal
from checks.methods.statistical import FEWEST_RUNS, at_least, at_most
from simlib import arguments
from simlib.estimate import Estimate, mean_normal
from simlib.learners import BUILT_IN, Learner, by_name, check_learner
from simlib.recharge import simulate
from simlib.recharge.formulas import hamacher_sum, least_competitive_ratio, optimum_upper_bound
from simlib.replicate import replicate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ALPHA = 1e-6
ROUNDING = 1e-9  # relative; the pathwise inequality is exact but for floating-point sums


def load_learner(text: str, *, horizon: int, rates: ArrayLike) -> Learner:
    """The learner named on a command line.

    Parameters
    ----------
    text : str
        ``module:name`` or ``path/to/file.py:name``, where the name is a `simlib.learners.Learner` or a
        function that returns one (it is given ``horizon``, ``rates`` or ``arms`` where it asks for
        them); or the name of a built-in learner.
    horizon : int
    rates : array_like, shape (arms,)

    Raises
    ------
    ValueError
        If there is no such module, name or built-in, or it is no learner.
    """
    module_name, colon, name = text.rpartition(":")
    if not colon:
        if text.lower().replace("_", "-") not in BUILT_IN:
            known = ", ".join(sorted(BUILT_IN))
            raise ValueError(
                f"learner = {text!r}: must be MODULE:NAME, FILE.py:NAME or one of {known}"
            )
        return by_name(text, horizon=horizon, rates=rates)
    module = _import(module_name)
    if not hasattr(module, name):
        names = [key for key, value in vars(module).items() if isinstance(value, Learner)]
        hint = f"; its learners are {', '.join(names)}" if names else "; it defines no learner"
        raise ValueError(f"learner = {text!r}: {module_name} has no {name!r}{hint}")
    found = getattr(module, name)
    if inspect.isclass(found):
        raise ValueError(f"learner = {text!r}: put @learner(rows=...) above the class {name}")
    if not isinstance(found, Learner) and callable(found):
        found = _call_factory(found, {"horizon": horizon, "rates": rates, "arms": len(rates)})
    return check_learner(found, len(rates))


def _import(name: str) -> Any:
    if name.endswith(".py"):
        path = Path(name)
        if not path.is_file():
            raise ValueError(f"learner = {name!r}: there is no such file")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except SyntaxError as error:
            raise ValueError(f"{name}, line {error.lineno}: {error.msg}") from error
        except ImportError as error:
            raise ValueError(f"{name}: {error}") from error
        return module
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ValueError(f"learner: cannot import the module {name!r} ({error})") from error


def _call_factory(factory: Any, given: Mapping[str, Any]) -> Any:
    parameters = inspect.signature(factory).parameters
    unknown = [
        name
        for name, one in parameters.items()
        if one.default is one.empty
        and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        and name not in given
    ]
    if unknown:
        return factory  # no factory that we can call; check_learner explains what a learner is
    return factory(**{name: value for name, value in given.items() if name in parameters})


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    learner : str
    service_rates : tuple of float
    replications : int
    steps : tuple of int
        Horizons looked at, the last one being the horizon of the audit.
    regret : tuple of Estimate
        Regret per step at each of them, over the replications.
    utility : Estimate
        Utility per step at the horizon.
    slack : float
        Least value of ``U_T - h (T - R_T)`` over all paths and horizons.
    hypothesis, conclusion, pathwise : Finding
        "Regret per step at most ``within``"; "utility at least ``h - within``"; "no path below".
    hamacher, bound, constant : float
        ``h``, the bound on OPT and the least competitive ratio for this number of arms.
    within : float
    """

    learner: str
    service_rates: tuple[float, ...]
    replications: int
    steps: tuple[int, ...]
    regret: tuple[Estimate, ...]
    utility: Estimate
    slack: float
    hypothesis: Finding
    conclusion: Finding
    pathwise: Finding
    hamacher: float
    bound: float
    constant: float
    within: float

    @property
    def passed(self) -> bool:
        """Whether hypothesis and conclusion are both met, and no path contradicts the theorem."""
        findings = (self.hypothesis, self.conclusion, self.pathwise)
        return all(finding.outcome == "proved" for finding in findings)

    def __str__(self) -> str:
        words = {"proved": "met", "refuted": "NOT MET", "undecided": "undecided"}
        rates = ", ".join(f"{rate:g}" for rate in self.service_rates)
        trend = "  ".join(
            f"T={step}: {estimate.value:+.4f}"
            for step, estimate in zip(self.steps, self.regret, strict=True)
        )
        used = self.utility.value / self.bound
        rows = [
            f"{self.learner} on rates {rates}; {self.replications} runs of {self.steps[-1]} steps",
            f"hypothesis  {words[self.hypothesis.outcome]:<10} regret per step at most "
            f"{self.within:g}: {_interval(self.regret[-1])}",
            f"{'':<23}trend  {trend}",
            f"conclusion  {words[self.conclusion.outcome]:<10} utility at least h - {self.within:g}, "
            f"h = {self.hamacher:.6f}: {_interval(self.utility)}",
            f"{'':<23}{used:.1%} of the bound {self.bound:.6f} on OPT, a long-run value",
            f"{'':<23}(no regret guarantees {self.constant:.1%} of OPT)",
            f"on paths    {words[self.pathwise.outcome]:<10} U >= h (T - R) on each, least slack "
            f"{self.slack:.4f}",
        ]
        if (
            self.hypothesis.outcome == "refuted"
            and self.regret[-1].value < self.regret[0].value / 2
        ):
            rows.append(
                "the regret per step is still falling: a longer horizon may decide otherwise"
            )
        if self.hypothesis.outcome == "refuted" and self.conclusion.outcome == "proved":
            rows.append("no contradiction: the theorem promises nothing without its hypothesis")
        return "\n".join(rows)

    def as_dict(self) -> dict[str, Any]:
        """The audit as plain data, for ``--json``."""
        return {
            "learner": self.learner,
            "service_rates": list(self.service_rates),
            "replications": self.replications,
            "within": self.within,
            "hypothesis": self.hypothesis.outcome,
            "conclusion": self.conclusion.outcome,
            "pathwise": self.pathwise.outcome,
            "regret_per_step": [
                {"horizon": step, "value": e.value, "low": e.low, "high": e.high}
                for step, e in zip(self.steps, self.regret, strict=True)
            ],
            "utility_per_step": {
                "value": self.utility.value,
                "low": self.utility.low,
                "high": self.utility.high,
            },
            "hamacher_sum": self.hamacher,
            "bound_on_opt": self.bound,
            "least_slack": self.slack,
        }


def _interval(estimate: Estimate) -> str:
    return f"{estimate.value:.4f} [{estimate.low:.4f}, {estimate.high:.4f}]"


def audit(
    learner: Learner,
    service_rates: ArrayLike,
    horizon: int,
    *,
    replications: int = 40,
    within: float = 0.01,
    seed: int = 1,
    jobs: int = 1,
) -> Audit:
    """Run a learner on recharging arms and judge hypothesis and conclusion of Theorem 3.1.

    Parameters
    ----------
    learner : Learner
    service_rates : array_like, shape (arms,)
        Rates in (0, 1).
    horizon : int
        Steps of a run, at least 100; the regret is also looked at after a tenth and a hundredth.
    replications : int
        Independent runs, at least 30: the unit of the Student intervals (each value is the average
        over a long run), which are at level 1e-6.
    within : float
        How much regret per step still counts as none, in (0, 1).
    seed : int
    jobs : int
        Worker processes; the numbers do not depend on it.

    Returns
    -------
    Audit

    Raises
    ------
    ValueError
        If an argument is out of range, or the learner misbehaves during the run.
    """
    mu = arguments.rates("service_rates", service_rates)
    learner = check_learner(learner, mu.size)
    horizon = arguments.positive_integer("horizon", horizon)
    replications = arguments.positive_integer("replications", replications)
    within = arguments.probability_open("within", within)
    if horizon < 100:
        raise ValueError(f"horizon = {horizon}; permitted: integers from 100")
    if replications < FEWEST_RUNS:
        raise ValueError(f"replications = {replications}; permitted: integers from {FEWEST_RUNS}")
    steps = (horizon // 100, horizon // 10, horizon)
    runs = replicate(
        _one_run,
        replications,
        seed=seed,
        experiment="audit",
        parameters={"service_rates": mu, "learner": learner, "steps": steps},
        n_jobs=jobs,
    )
    h = float(hamacher_sum(mu))
    times = np.array(steps)
    slack = runs["utility"] - h * (times - runs["regret"])
    least = float(slack.min())
    regret = [mean_normal(one, ALPHA) for one in (runs["regret"] / times).T]
    utility = mean_normal(runs["utility"][:, -1] / horizon, ALPHA)
    fine = least >= -ROUNDING * horizon
    return Audit(
        learner=learner.name,
        service_rates=tuple(mu.tolist()),
        replications=replications,
        steps=steps,
        regret=tuple(regret),
        utility=utility,
        slack=least,
        hypothesis=at_most(regret[-1], within, "regret per step"),
        conclusion=at_least(utility, h - within, "utility per step"),
        pathwise=Finding("proved" if fine else "refuted", f"least slack {least:.6f}"),
        hamacher=h,
        bound=float(optimum_upper_bound(mu)),
        constant=least_competitive_ratio(mu.size)[0] if mu.size > 1 else 1.0,
        within=within,
    )


def _one_run(seed_sequence, *, service_rates, learner, steps) -> dict[str, Any]:
    """Utility and regret of one run at the horizons looked at."""
    run = simulate(service_rates, learner, steps[-1], seed_sequence, checkpoints=steps)
    utility = run.utility_at.sum(axis=1)
    return {"utility": utility, "regret": (run.hindsight_at - utility[:, None]).max(axis=1)}


def parse_rates(text: str) -> tuple[float, ...]:
    """Rates from ``0.5,1/10,0.3``.

    Raises
    ------
    ValueError
        Naming the entry that is no number in (0, 1).
    """
    rates = []
    for part in text.split(","):
        try:
            rate = float(decimal(part.strip(), 17))
        except (ValueError, ZeroDivisionError):
            raise ValueError(
                f"rates: {part!r} must be a number in (0, 1); separate rates by commas"
            ) from None
        if not 0 < rate < 1:
            raise ValueError(f"rates: {part!r} must be a number in (0, 1)")
        rates.append(rate)
    return tuple(rates)
