"""Stationary queue length under a settled router: a quasi-birth-death chain, not truncated.

The level is the queue length at the end of a step, the phase the 2**m busy bits. From a level above
0, and after an arrival at level 0, the router draws a server from fixed probabilities.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simlib.arithmetic import as_distribution, as_open_unit, as_rates
from simlib.chains import stationary_law
from simlib.recharge.exact import router_matrices, service_matrix
from simlib.recharge.formulas import normalized_odds

__all__ = [
    "StationaryQueue",
    "acceptance_variance",
    "heavy_traffic_constant",
    "router_threshold",
    "stationary_queue",
]


def _router(service_rates, p):
    """Rates and routing probabilities as float arrays; by default the normalized odds."""
    rates = as_rates(service_rates, "service_rates")
    p = normalized_odds(rates) if p is None else as_distribution(p, len(rates))
    return np.array(rates, dtype=float), np.array(p, dtype=float)


def router_threshold(service_rates, p=None):
    """Acceptance rate of the backlogged i.i.d. router: the queue is stable below it and not at it.

    Parameters
    ----------
    service_rates : sequence of length m
        In (0, 1).
    p : sequence of length m, optional
        Routing probabilities; the normalized odds by default, whose threshold is the Hamacher sum.

    Returns
    -------
    float
        Packets per step (Remark 3.4), from the stationary law of the 2**m busy patterns.
    """
    accepted, rejected = router_matrices(*_router(service_rates, p))
    accepted, rejected = accepted.sum(axis=0), rejected.sum(axis=0)
    return float(stationary_law(accepted + rejected) @ accepted.sum(axis=1))


def acceptance_variance(service_rates, p=None):
    """Long-run variance per step of the acceptances of the backlogged i.i.d. router (ours).

    Parameters
    ----------
    service_rates, p
        As in `router_threshold`.

    Returns
    -------
    float
        Limit of ``Var(accepted in T steps) / T``. Successive answers are correlated through the
        buffers, so it is not ``h (1 - h)``: 0.2141 against 0.2387 on the instance I3.
    """
    accepted, rejected = router_matrices(*_router(service_rates, p))
    accepted, rejected = accepted.sum(axis=0), rejected.sum(axis=0)
    transition = accepted + rejected
    law = stationary_law(transition)
    free = accepted.sum(axis=1)
    rate = law @ free
    # Serial covariances summed by the fundamental matrix (I - P + 1 law)^-1.
    later = np.linalg.solve(np.eye(len(law)) - transition + law, free - rate)
    return float(rate - rate**2 + 2 * law @ accepted @ later)


def heavy_traffic_constant(service_rates, p=None):
    """Limit kappa of ``(threshold - arrival_rate) * E[Q]`` as the arrival rate nears the threshold.

    Half the sum of the arrivals' variance at the threshold and of `acceptance_variance` (ours).

    Parameters
    ----------
    service_rates, p
        As in `router_threshold`.

    Returns
    -------
    float
    """
    threshold = router_threshold(service_rates, p)
    return (threshold * (1 - threshold) + acceptance_variance(service_rates, p)) / 2


@dataclass(frozen=True)
class StationaryQueue:
    """Stationary queue length at the end of a step; see `stationary_queue`.

    Attributes
    ----------
    arrival_rate, threshold : float
        Packets per step; the chain is stable below the threshold.
    boundary : ndarray, shape (2**m,)
        Probabilities of the busy patterns together with an empty queue.
    rate_matrix : ndarray, shape (2**m, 2**m)
        R: each level's probabilities are those of the level below times R.
    """

    arrival_rate: float
    threshold: float
    boundary: np.ndarray
    rate_matrix: np.ndarray

    @cached_property
    def _resolvent(self):
        return np.linalg.inv(np.eye(len(self.boundary)) - self.rate_matrix)

    @cached_property
    def mean(self):
        """E[Q], packets."""
        sums = self._resolvent.sum(axis=1)
        return float(self.boundary @ self.rate_matrix @ self._resolvent @ sums)

    @cached_property
    def standard_deviation(self):
        """Standard deviation of Q, packets."""
        sums = self._resolvent @ self._resolvent.sum(axis=1)
        tail = self.boundary @ self.rate_matrix
        second = (tail + tail @ self.rate_matrix) @ self._resolvent @ sums
        return float(np.sqrt(second - self.mean**2))

    @property
    def probability_empty(self):
        """P(Q = 0)."""
        return float(self.boundary.sum())

    @cached_property
    def decay(self):
        """Spectral radius of R: the ratio in which P(Q = n) ultimately decreases."""
        return float(np.abs(np.linalg.eigvals(self.rate_matrix)).max())

    def law(self, levels):
        """P(Q = n) for n = 0..levels-1, an ndarray of shape (levels,)."""
        probabilities = np.empty(levels)
        level = self.boundary
        for n in range(levels):
            probabilities[n] = level.sum()
            level = level @ self.rate_matrix
        return probabilities


def stationary_queue(arrival_rate, service_rates, p=None):
    """Exact stationary queue length of one queue under an i.i.d. router.

    Parameters
    ----------
    arrival_rate : number in (0, 1)
        Packets per step; must lie below the router's threshold.
    service_rates : sequence of length m
        In (0, 1).
    p : sequence of length m, optional
        Routing probabilities; the normalized odds by default.

    Returns
    -------
    StationaryQueue

    Raises
    ------
    ValueError
        If a parameter is out of range or the queue would not be stable.

    Notes
    -----
    Remark 3.4; the chain and its solution are ours. Blocks: up ``l Rej``, local ``l Acc + (1 - l)
    Rej``, down ``(1 - l) Acc``; at level 0 without an arrival the servers only serve. Logarithmic
    reduction (Latouche and Ramaswami 1993): no truncation of the level, about 15 inversions of size
    2**m; m = 7 takes a fraction of a second.
    """
    arrival_rate = float(as_open_unit("arrival_rate", arrival_rate))
    rates, p = _router(service_rates, p)
    accepted, rejected = (blocks.sum(axis=0) for blocks in router_matrices(rates, p))
    saturated = stationary_law(accepted + rejected)
    threshold = float(saturated @ accepted.sum(axis=1))
    if arrival_rate >= threshold:
        raise ValueError(
            f"arrival_rate = {arrival_rate}; permitted: below the router's threshold "
            f"{threshold:.9g}"
        )
    up = arrival_rate * rejected
    local = arrival_rate * accepted + (1 - arrival_rate) * rejected
    down = (1 - arrival_rate) * accepted
    first_passage = _logarithmic_reduction(up, local, down)
    identity = np.eye(len(up))
    rate_matrix = up @ np.linalg.inv(identity - local - up @ first_passage)
    idle = arrival_rate * accepted + (1 - arrival_rate) * service_matrix(rates)
    # The chain watched only at level 0: excursions above end with first_passage.
    boundary = stationary_law(idle + up @ first_passage)
    mass = boundary @ np.linalg.solve(identity - rate_matrix, np.ones(len(up)))
    return StationaryQueue(arrival_rate, threshold, boundary / mass, rate_matrix)


def _logarithmic_reduction(up, local, down):
    """G: where the chain first enters the level below, by doubling the number of levels."""
    identity = np.eye(len(up))
    inverse = np.linalg.inv(identity - local)
    up, down = inverse @ up, inverse @ down
    first_passage, climbed = down.copy(), up.copy()
    while np.abs(1 - first_passage.sum(axis=1)).max() > 1e-13:
        inverse = np.linalg.inv(identity - up @ down - down @ up)
        up, down = inverse @ up @ up, inverse @ down @ down
        step = climbed @ down
        first_passage += step
        if np.abs(step).max() < 1e-17:
            break
        climbed = climbed @ up
    return first_passage
