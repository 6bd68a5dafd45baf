"""Mean-field flow of EXP3 on recharging arms, and the fluctuations around it.

EXP3 keeps a log-weight theta_j for each arm and adds ``eta * reward / p_j`` when it pulls arm j.
With slowly moving probabilities the server is free with probability ``rho_j / (rho_j + p_j)``, so
theta_j drifts at rate ``eta rho_j / (rho_j + p_j)``: an ordinary differential equation, whose only
fixed point are the normalized odds. All of this is ours: first order in the learning rate, not a
theorem.
"""

from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import softmax

from simlib.arguments import choice
from simlib.arithmetic import as_number, as_open_unit, as_positive, as_rates
from simlib.chains import stationary_law
from simlib.recharge.exact import router_matrices
from simlib.recharge.formulas import (
    hamacher_sum,
    normalized_odds,
    odds,
    relaxation_time,
    stationary_utility_loss,
)

__all__ = [
    "Exp3Prediction",
    "FluidPeak",
    "MeanFieldPath",
    "exp3_prediction",
    "fluid_peak",
    "long_run_covariance",
    "mean_field_path",
    "stationary_covariance",
]


@dataclass(frozen=True)
class MeanFieldPath:
    """EXP3's mean-field flow from uniform weights; see `mean_field_path`.

    Attributes
    ----------
    times : ndarray, shape (n,)
        Steps.
    probabilities : ndarray, shape (n, m)
        Probabilities of pulling each arm.
    average_probabilities : ndarray, shape (n, m)
        Their averages from 0 to each time.
    utility, average_utility : ndarray, shape (n,)
        ``sum p_j rho_j / (rho_j + p_j)`` and its average from 0 to each time, in packets per step.
    target : ndarray, shape (m,)
        The normalized odds.
    """

    times: np.ndarray
    probabilities: np.ndarray
    average_probabilities: np.ndarray
    utility: np.ndarray
    average_utility: np.ndarray
    target: np.ndarray

    @property
    def distance(self):
        """Total variation between the probabilities and the normalized odds, shape (n,)."""
        return np.abs(self.probabilities - self.target).sum(axis=1) / 2

    @property
    def average_distance(self):
        """Total variation between the averages and the normalized odds, shape (n,)."""
        return np.abs(self.average_probabilities - self.target).sum(axis=1) / 2


def _check(rates, exploration, learning_rate):
    rates = np.array(as_rates(rates), dtype=float)
    exploration = float(as_number("exploration", exploration))
    if not 0 <= exploration < 1:
        raise ValueError(f"exploration = {exploration}; permitted: numbers in [0, 1)")
    return rates, exploration, float(as_positive("learning_rate", learning_rate))


def _solve(rates, exploration, scaled_horizon):
    """The flow in scaled time eta t, with the integrals of p and of the utility appended."""
    rho = np.array(odds(rates))
    arms = len(rho)

    def pull(theta):
        return (1 - exploration) * softmax(theta) + exploration / arms

    def drift(_, state):
        p = pull(state[:arms])
        free = rho / (rho + p)
        # Only differences of theta matter: without their common growth they stay of order one.
        return np.concatenate([free - free.mean(), p, [p @ free]])

    path = solve_ivp(
        drift,
        (0.0, scaled_horizon),
        np.zeros(2 * arms + 1),
        method="DOP853",
        dense_output=True,
        rtol=1e-10,
        atol=1e-12,
    )
    if not path.success:
        raise RuntimeError(f"the mean-field flow could not be integrated: {path.message}")

    def evaluate(scaled_time):
        state = path.sol(scaled_time)
        p = pull(state[:arms])
        return p, state[arms : 2 * arms], p @ (rho / (rho + p)), state[-1]

    return evaluate


def mean_field_path(rates, exploration, learning_rate, horizon, points=200, spacing="linear"):
    """EXP3's mean-field flow from uniform weights.

    Parameters
    ----------
    rates : sequence of length m
        Service rates in (0, 1).
    exploration : float
        Share gamma of uniform exploration in the probabilities, in [0, 1). It does not move the
        fixed point as long as every normalized odd exceeds ``gamma / m``.
    learning_rate : float
        EXP3's eta, positive.
    horizon : float
        Steps, positive.
    points : int
        Number of times to report, at least 2; the last is the horizon.
    spacing : {"linear", "log"}
        Times at equal distances from 0, or at equal ratios from 1.

    Returns
    -------
    MeanFieldPath

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    Ours. Integrated in scaled time ``eta t``; cost proportional to ``eta * horizon``, a fraction of
    a second up to a few thousand.
    """
    rates, exploration, learning_rate = _check(rates, exploration, learning_rate)
    horizon = float(as_positive("horizon", horizon))
    if points < 2:
        raise ValueError(f"points = {points}; permitted: integers 2, 3, ...")
    choice("spacing", spacing, ("linear", "log"))
    if spacing == "log" and horizon <= 1:
        raise ValueError(f"horizon = {horizon}; permitted with spacing = 'log': above 1")
    times = (
        np.geomspace(1, horizon, points) if spacing == "log" else np.linspace(0, horizon, points)
    )
    times[-1] = horizon  # geomspace may overshoot by a rounding error
    evaluate = _solve(rates, exploration, learning_rate * horizon)
    rows = [evaluate(learning_rate * time) for time in times]
    p, p_sum, u, u_sum = (np.array(column) for column in zip(*rows, strict=True))
    # At time 0 the average is the value itself.
    elapsed = np.where(times > 0, learning_rate * times, 1.0)
    start = times == 0
    return MeanFieldPath(
        times=times,
        probabilities=p,
        average_probabilities=np.where(start[:, None], p, p_sum / elapsed[:, None]),
        utility=u,
        average_utility=np.where(start, u, u_sum / elapsed),
        target=np.array(normalized_odds(rates)),
    )


@dataclass(frozen=True)
class FluidPeak:
    """Largest backlog while EXP3 is still learning; see `fluid_peak`.

    Attributes
    ----------
    time : float
        Step at which the accepted rate reaches the arrival rate.
    height : float
        Packets queued by then.
    """

    time: float
    height: float


def fluid_peak(arrival_rate, rates, exploration, learning_rate):
    """Peak of the fluid queue ``max_t int_0^t (lambda - u(p(s))) ds`` along the mean-field flow.

    Parameters
    ----------
    arrival_rate : number
        Packets per step, below the Hamacher sum.
    rates, exploration, learning_rate
        As in `mean_field_path`.

    Returns
    -------
    FluidPeak
        At time 0 with height 0 if uniform routing already accepts more than arrives.

    Raises
    ------
    ValueError
        If a parameter is out of range; at or above the Hamacher sum the backlog never peaks.

    Notes
    -----
    Ours, a prediction for section 5.2 that leaves out the queue's own fluctuations.
    """
    arrival_rate = float(as_open_unit("arrival_rate", arrival_rate))
    rates, exploration, learning_rate = _check(rates, exploration, learning_rate)
    h = hamacher_sum(rates)
    if arrival_rate >= h:
        raise ValueError(
            f"arrival_rate = {arrival_rate}; permitted: below the Hamacher sum {h:.9g}"
        )
    end = 1.0
    evaluate = _solve(rates, exploration, end)
    if evaluate(0.0)[2] >= arrival_rate:
        return FluidPeak(0.0, 0.0)
    while evaluate(end)[2] < arrival_rate:
        if end > 1e4:
            raise ValueError(
                f"arrival_rate = {arrival_rate}; permitted: further below the Hamacher sum {h:.9g}"
            )
        end *= 2
        evaluate = _solve(rates, exploration, end)
    crossing = brentq(lambda time: evaluate(time)[2] - arrival_rate, 0.0, end)
    height = float(arrival_rate * crossing - evaluate(crossing)[3]) / learning_rate
    return FluidPeak(crossing / learning_rate, height)


def long_run_covariance(rates):
    """Long-run covariance of EXP3's reward estimates at the normalized odds.

    The vector ``(1{a = j} r / pi_j)_j`` of one step of the backlogged router, covariances summed
    over all lags through the fundamental matrix of the 2**m busy patterns.

    Returns
    -------
    ndarray, shape (m, m)
    """
    rates = np.array(as_rates(rates), dtype=float)
    pi = np.array(normalized_odds(rates))
    accepted, rejected = router_matrices(rates, pi)
    transition = (accepted + rejected).sum(axis=0)
    law = stationary_law(transition)
    free = accepted.sum(axis=2) / pi[:, None]  # mean of each entry given the busy pattern
    mean = free @ law
    moved = (law @ accepted) / pi[:, None]  # law of the next pattern, weighted by the entry
    later = np.linalg.solve(np.eye(len(law)) - transition + law, (free - mean[:, None]).T)
    lagged = moved @ later
    return np.diag(mean / pi) - np.outer(mean, mean) + lagged + lagged.T


def stationary_covariance(rates, learning_rate, noise="serial"):
    """Stationary covariance of EXP3's probabilities, to first order in the learning rate.

    Parameters
    ----------
    rates : sequence of length m
        Service rates in (0, 1).
    learning_rate : float
        EXP3's eta, positive.
    noise : {"serial", "white"}
        With the serial correlation of rewards through the buffers, or (a wrong prediction, too
        wide) as if rewards at different steps were independent.

    Returns
    -------
    ndarray, shape (m, m)
        ``eta / (2 h (1 - h)) J Sigma J`` with ``J = diag(pi) - pi pi^T`` and Sigma from
        `long_run_covariance`; for white noise ``eta J / (2 (1 - h))``.

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    rates = np.array(as_rates(rates), dtype=float)
    learning_rate = float(as_positive("learning_rate", learning_rate))
    choice("noise", noise, ("serial", "white"))
    h, pi = hamacher_sum(rates), np.array(normalized_odds(rates))
    jacobian = np.diag(pi) - np.outer(pi, pi)
    if noise == "white":
        return learning_rate / (2 * (1 - h)) * jacobian
    return learning_rate / (2 * h * (1 - h)) * jacobian @ long_run_covariance(rates) @ jacobian


@dataclass(frozen=True)
class Exp3Prediction:
    """What section 5.1's experiment should show; see `exp3_prediction`.

    Attributes
    ----------
    relaxation_time : float
        Steps.
    standard_deviation : ndarray, shape (m,)
        Of each probability in the stationary regime.
    distance : float
        Mean total variation between the probabilities and the normalized odds, stationary regime.
    average_distance : float
        Total variation of the running average at the horizon: the part left by the transient.
    average_standard_deviation : ndarray, shape (m,)
        Noise of the running average at the horizon, on top of the transient part.
    transient_utility_loss, stationary_utility_loss : float
        What the transient and the fluctuations cost in average utility over the horizon.
    utility : float
        Predicted average utility: the Hamacher sum less both losses.
    """

    relaxation_time: float
    standard_deviation: np.ndarray
    distance: float
    average_distance: float
    average_standard_deviation: np.ndarray
    transient_utility_loss: float
    stationary_utility_loss: float
    utility: float


def exp3_prediction(rates, exploration, learning_rate, horizon):
    """Predictions for a long run of EXP3 from uniform weights.

    Parameters
    ----------
    rates, exploration, learning_rate, horizon
        As in `mean_field_path`; the horizon should be many relaxation times.

    Returns
    -------
    Exp3Prediction

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Notes
    -----
    Ours, first order in eta: transient from the mean-field flow, fluctuations as a stationary
    Ornstein-Uhlenbeck process with one relaxation time, started in its stationary law.
    """
    path = mean_field_path(rates, exploration, learning_rate, horizon, points=2)
    deviation = np.sqrt(np.diag(stationary_covariance(rates, learning_rate)))
    tau = float(relaxation_time(rates, learning_rate))
    h = float(hamacher_sum(rates))
    transient = h - float(path.average_utility[-1])
    stationary = float(stationary_utility_loss(rates, learning_rate))
    return Exp3Prediction(
        relaxation_time=tau,
        standard_deviation=deviation,
        distance=float(np.sqrt(2 / np.pi) * deviation.sum() / 2),
        average_distance=float(path.average_distance[-1]),
        average_standard_deviation=deviation * np.sqrt(2 * tau / float(horizon)),
        transient_utility_loss=transient,
        stationary_utility_loss=stationary,
        utility=h - transient - stationary,
    )
