"""Is a simulated system stable? A verdict with an interval, and what it does not show.

No finite simulation decides stability. What a simulation can decide is whether the longest queue
grew, and how fast, over a stretch of time that was fixed in advance. That is what the verdict
below is about. It uses the whole second half of the run and not a glance at its last value, and
its unit is the independent replication.

**The statistic.** With M_t the length of the longest queue at the end of step t, one replication
of T steps gives the growth rate ``(M_T - M_{T/2}) / (T/2)``, in packets a step. In a system that
has settled it has mean near 0: M_T and M_{T/2} have the same law. In a system whose longest queue
grows linearly it has that rate as its limit. The first half is left out because there the learners
are still learning.

**The interval** is Student's, over at least 30 independent replications. Each value is an average
of T/2 increments that are at most 1 in absolute value, so that it is the sum of a drift and of
noise of order ``T**-1/2``; replications are neither rare events nor heavy tails.

**The verdict** compares the whole interval with a resolution that is declared before the run:
"growing" if it lies above, "not growing" if it lies below, "undecided" otherwise.

**What it shows.** "Growing": over these steps the expected growth exceeded the resolution, with
probability of error at most alpha. "Not growing": it stayed below.

**What it does not show.** A longest queue that grows more slowly than the resolution, or that
starts to grow after T, is called "not growing". A null recurrent system, whose longest queue grows
like the square root of time, has a growth rate of about ``T**-1/2`` and is called "growing" or not
as the resolution says. So the resolution should lie well above ``T**-1/2`` times the spread of one
step and well below the drift that theory predicts on the unstable side; and a run near the
threshold should come out "undecided".

A verdict from the batches of a single run is not offered: near the threshold the increments of
distant batches are not independent (a queue that is long stays long), and an interval from them is
too short just where it matters.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simlib.arguments import positive_real, probability_open, real_vector
from simlib.estimate import Estimate, mean_normal

__all__ = ["FEWEST_REPLICATIONS", "StabilityVerdict", "growth_rate", "stability_verdict"]

#: Fewer replications than this make no verdict.
FEWEST_REPLICATIONS = 30


@dataclass(frozen=True)
class StabilityVerdict:
    """Whether the longest queue grew; see the module's description.

    Attributes
    ----------
    verdict : str
        ``"growing"``, ``"not growing"`` or ``"undecided"``.
    growth : Estimate
        Mean growth rate in packets a step, with its interval over the replications.
    resolution : float
        Growth rate with which the interval was compared.
    """

    verdict: str
    growth: Estimate
    resolution: float


def growth_rate(checkpoints: Any, longest: Any) -> float | NDArray[np.float64]:
    """Return the growth rate of the longest queue over the second half of a run.

    Parameters
    ----------
    checkpoints : array_like of int, shape (C,)
        Recorded steps; the last one is the horizon T, and ``T // 2`` is among them.
    longest : array_like, shape (C,) or (replications, C)
        Length of the longest queue (or any other length) at these steps.

    Returns
    -------
    float or ndarray, shape (replications,)
        Packets a step.

    Raises
    ------
    ValueError
        If ``T // 2`` was not recorded, or the shapes do not fit.
    """
    steps = real_vector("checkpoints", checkpoints)
    lengths = np.asarray(longest, dtype=np.float64)
    if steps.size == 0 or lengths.ndim not in (1, 2) or lengths.shape[-1] != steps.size:
        raise ValueError(
            f"longest has the shape {lengths.shape} for {steps.size} checkpoints; permitted: a value "
            f"for each checkpoint, in a row for each replication"
        )
    half = steps[-1] // 2
    found = np.flatnonzero(steps == half)
    if half < 1 or found.size == 0:
        raise ValueError(
            f"checkpoints do not contain {int(half)}, half of the horizon {int(steps[-1])}; permitted: "
            f"checkpoints=[horizon // 2, ...]"
        )
    growth = (lengths[..., -1] - lengths[..., found[0]]) / (steps[-1] - half)
    return float(growth) if growth.ndim == 0 else growth


def stability_verdict(growth: Any, resolution: float, alpha: float) -> StabilityVerdict:
    """Judge whether the longest queue grew, from one growth rate a replication.

    Parameters
    ----------
    growth : array_like, shape (replications,)
        Growth rates of independent replications, at least `FEWEST_REPLICATIONS`; see `growth_rate`.
    resolution : float
        Growth rate in packets a step, above 0, declared before the run.
    alpha : float
        Probability of error of the interval, in (0, 1).

    Returns
    -------
    StabilityVerdict

    Raises
    ------
    ValueError
        If there are too few replications, or a parameter is out of range.
    """
    samples = real_vector("growth", growth)
    if samples.size < FEWEST_REPLICATIONS:
        raise ValueError(
            f"growth has {samples.size} entries; permitted: at least {FEWEST_REPLICATIONS} independent "
            f"replications"
        )
    resolution = positive_real("resolution", resolution)
    estimate = mean_normal(samples, probability_open("alpha", alpha))
    if estimate.low > resolution:
        verdict = "growing"
    elif estimate.high < resolution:
        verdict = "not growing"
    else:
        verdict = "undecided"
    return StabilityVerdict(verdict, estimate, resolution)
