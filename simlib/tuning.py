"""Thresholds and learning rates that theorems prescribe to learners.

They stand apart from the learners, so that formulas can use them without waiting for Numba.
"""

import math

from simlib.arguments import positive_integer, positive_real, probability_open

__all__ = ["exp3_ix_learning_rate", "guard_threshold"]


def exp3_ix_learning_rate(period, arms, error):
    """Learning rate of EXP3-IX for a regret bound that holds with probability ``1 - error``.

    Parameters
    ----------
    period : int
        Steps W, at least 1.
    arms : int
        Number of servers m, at least 1.
    error : float
        Probability of error, in (0, 1).

    Returns
    -------
    float
        ``sqrt((2 ln m + ln(2 / error)) / (m W))``.

    References
    ----------
    Ours (claim ``strategic.exp3ix_restarted``), after G. Neu, "Explore no more: improved
    high-probability regret bounds for non-stochastic bandits", NIPS 2015.
    """
    period = positive_integer("period", period)
    arms = positive_integer("arms", arms)
    error = probability_open("error", error)
    return math.sqrt((2 * math.log(arms) + math.log(2 / error)) / (arms * period))


def guard_threshold(period, arms, error, total_service_rate):
    """Threshold of the alarm of the guarded uniform router.

    Parameters
    ----------
    period, arms, error
        As in `exp3_ix_learning_rate`.
    total_service_rate : float
        Sum of the service rates, above 0.

    Returns
    -------
    float
        ``m sqrt(W ln(m/error) / 2) + 2 m/mu + (1 + 2 m/mu) sqrt(2 W ln(m/error))``: in a system of
        identical servers and uniform routers the alarm rings in a period with probability at most
        ``2 error`` for each queue.

    References
    ----------
    Ours (claim ``strategic.guarded_uniform``).
    """
    period = positive_integer("period", period)
    arms = positive_integer("arms", arms)
    error = probability_open("error", error)
    wait = arms / positive_real("total_service_rate", total_service_rate)
    log = math.log(arms / error)
    return (
        arms * math.sqrt(period * log / 2) + 2 * wait + (1 + 2 * wait) * math.sqrt(2 * period * log)
    )
