"""Learners of the admission policy, which see arrivals, departures and the total, and nothing else.

**Of the source** (its pseudo-code survives in words, its displays (12)-(18) are lost and *reconstructed*
here): `ucrl_m`, UCRL with modules, and its oblivious variant (`oblivious_modules`); the baselines
`ucrl2`, `always_reject`, `accept_all`, `known_threshold`.

**Ours** (beyond the source): `ucrl_mt`, UCRL-M on thresholds, with a complete regret bound; and
`threshold_bandit`, the plain bandit over thresholds that any claim of improvement must be measured
against.

`run_learner` plays one of them and records its regret against the best policy that looks at the total,

    regret(t) = t g* - sum of the mean rewards r(s, a) of the steps 1..t,

which has the mean of the source's regret and a smaller variance; r is (1) of the source.

**Conventions** (the source leaves them open). At the limit S the only action is to reject. A reward is
``r_max`` with probability ``r / r_max`` and else 0 (the source says Bernoulli; its means may exceed 1),
or r itself if asked for. A total and action never tried have the reward r_max, and radii that hold every
law. On ties a learner rejects, or takes the smaller threshold. UCRL-M knows that the total moves by one
at most; UCRL-MT knows the costs and, unless told otherwise, lambda.

**Random numbers.** The network draws from the stream "events" as in `simlib.admission.simulation`,
rewards from "rewards"; the learners themselves toss no coins.

Source: Anselmi, Gaujal and Rebuffi, arXiv 2308.02391, Sections 4 and 7.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from simlib import arguments
from simlib.admission import formulas
from simlib.admission.evi import MOST_SWEEPS, iterate
from simlib.admission.model import AdmissionModel, optimal_threshold, threshold_costs
from simlib.admission.network import Network
from simlib.admission.product_form import flow_equivalent_rates
from simlib.admission.simulation import event_table, network_event, start_jobs
from simlib.streams import random, substreams

__all__ = [
    "AdmissionLearner",
    "Episodes",
    "LearnerRun",
    "accept_all",
    "always_reject",
    "experiment",
    "fixed_threshold",
    "known_threshold",
    "oblivious_modules",
    "run_learner",
    "threshold_bandit",
    "ucrl2",
    "ucrl_m",
    "ucrl_mt",
]

_kl = njit(cache=True, error_model="numpy")(formulas.unchecked_divergence)
_kl_upper = njit(cache=True, error_model="numpy")(formulas.unchecked_upper_limit)

_REWARDS = ("bernoulli", "mean")
_RADII = ("jaksch", "modular")
_FIXED, _EVI, _THRESHOLDS = "fixed", "evi", "thresholds"


@dataclass(frozen=True)
class AdmissionLearner:
    """A learner and its settings. Made by the functions of this module.

    Attributes
    ----------
    name : str
    kind : {"fixed", "evi", "thresholds"}
        Which loop plays it.
    modules : int
        tau: number of modules, and length of the ramp.
    ramp : bool
        Whether an episode begins with tau steps whose samples are discarded.
    radii : {"modular", "jaksch"}
        Confidence region (kind "evi").
    most_sweeps : int
        Cap on the sweeps of one extended value iteration (kind "evi").
    theta : int
        The threshold played (kind "fixed"); -1 stands for the limit S.
    model_index, direct_index : bool
        Which lower confidence limits of a threshold's cost are used (kind "thresholds").
    arrival_rate_known : bool
        Whether lambda is given, not estimated (kind "thresholds").
    pooled : int
        Modules that the kl radius pays for (kind "thresholds"): tau, or 1 where samples are exact.
    level : float
        L; 0 stands for that of the theorem (kind "thresholds").
    """

    name: str
    kind: str
    modules: int = 1
    ramp: bool = True
    radii: str = "modular"
    most_sweeps: int = MOST_SWEEPS
    theta: int = 0
    model_index: bool = True
    direct_index: bool = True
    arrival_rate_known: bool = True
    pooled: int = 1
    level: float = 0.0


def oblivious_modules(horizon: int) -> int:
    """Number of modules that needs no mixing time: ``ceil(log(T)**2)``, at least 1.

    References
    ----------
    Source, end of Section 6 (the rounding is ours).
    """
    horizon = arguments.positive_integer("horizon", horizon)
    return max(1, math.ceil(math.log(horizon) ** 2))


def ucrl_m(modules: int, *, most_sweeps: int = MOST_SWEEPS) -> AdmissionLearner:
    """UCRL-M: optimism with tau modules, each of which sees every tau-th step.

    An episode takes, for each total and action, estimates from the module with most visits and the
    radii `formulas.modular_radii`; finds a policy by extended value iteration to the precision
    ``r_max / sqrt(t_k)``; plays tau steps that it discards; and plays on, crediting step t to module
    ``t mod tau``, until some module has seen some total and action as often as before the episode (and
    once at least).

    Parameters
    ----------
    modules : int
        tau, at least 1 and at most the horizon; `oblivious_modules` gives the oblivious variant.
    most_sweeps : int
        Cap on the sweeps of one iteration; episodes that hit it are counted.

    Returns
    -------
    AdmissionLearner

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Source, Algorithm 1 and (12)-(18); the displays are lost, this is a reconstruction.
    """
    modules = arguments.positive_integer("modules", modules)
    return AdmissionLearner(
        name=f"UCRL-M, {_count(modules)}",
        kind=_EVI,
        modules=modules,
        most_sweeps=arguments.positive_integer("most_sweeps", most_sweeps),
    )


def _count(modules: int) -> str:
    return "1 module" if modules == 1 else f"{modules} modules"


def ucrl2(radii: str = "jaksch", *, most_sweeps: int = MOST_SWEEPS) -> AdmissionLearner:
    """UCRL2: one module, nothing discarded.

    An episode ends as in `ucrl_m`: with the step by which some total and action has been met as often
    as before the episode (once at least). That of Jaksch et al. ends when such a pair is about to be
    met once more, so that no pair exceeds this number in either; theirs can only be longer.

    Parameters
    ----------
    radii : {"jaksch", "modular"}
        The region of Jaksch, Ortner and Auer (2010) over laws on all states, with delta = 1/t; or that
        of UCRL-M with one module, over laws on the neighbours.
    most_sweeps : int
        As in `ucrl_m`.

    Returns
    -------
    AdmissionLearner

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    radii = arguments.choice("radii", radii, _RADII)
    return AdmissionLearner(
        name="UCRL2" if radii == "jaksch" else "UCRL2, radii of UCRL-M",
        kind=_EVI,
        ramp=False,
        radii=radii,
        most_sweeps=arguments.positive_integer("most_sweeps", most_sweeps),
    )


def fixed_threshold(theta: int, name: str | None = None) -> AdmissionLearner:
    """Admit while the total is below ``theta``, an integer from 0 to S: learns nothing."""
    theta = arguments.non_negative_integer("theta", theta)
    return AdmissionLearner(name=name or f"threshold {theta}", kind=_FIXED, theta=theta)


def always_reject() -> AdmissionLearner:
    """Admit no job."""
    return fixed_threshold(0, "always reject")


def accept_all() -> AdmissionLearner:
    """Admit every job that finds the total below the limit."""
    return AdmissionLearner(name="accept all", kind=_FIXED, theta=-1)


def known_threshold(model: AdmissionModel) -> AdmissionLearner:
    """The best threshold of a model that is known."""
    return fixed_threshold(optimal_threshold(model), "known model")


def ucrl_mt(
    modules: int,
    *,
    direct_index: bool = True,
    arrival_rate_known: bool = True,
    single_station: bool = False,
    level: float | None = None,
) -> AdmissionLearner:
    """UCRL-MT (ours): UCRL-M on thresholds, with a complete regret bound.

    An episode computes an upper confidence rate of departures for each total (kl radius ``tau L / N``,
    then made nondecreasing), from them the cost of every threshold in closed form, and a second lower
    limit of it from the costs met under that threshold; takes the threshold whose larger limit is
    smallest; discards tau steps; and records as many steps as that threshold has so far, tau at least.

    Parameters
    ----------
    modules : int
        tau of condition (M), at least 1 and at most the horizon.
    direct_index : bool
        Whether the second limit is used.
    arrival_rate_known : bool
        If not, a kl lower limit of lambda is used (Corollary 4).
    single_station : bool
        The network is one station, whose total is Markov: radius ``L / N`` (Corollary 3).
    level : float, optional
        L, above 0; by default that of the theorem, `formulas.confidence_level`. Smaller ones void it.

    Returns
    -------
    AdmissionLearner

    Raises
    ------
    ValueError
        If an argument is out of range.

    References
    ----------
    Ours: addendum, "The algorithm, UCRL-MT"; Lemmas 1 to 7; Corollaries 3 and 4.
    """
    modules = arguments.positive_integer("modules", modules)
    for name, value in (
        ("direct_index", direct_index),
        ("arrival_rate_known", arrival_rate_known),
        ("single_station", single_station),
    ):
        if not isinstance(value, bool):
            raise ValueError(f"{name} = {value!r}; permitted: True or False")
    details = [_count(modules)]
    details += ["no direct index"] * (not direct_index)
    details += ["lambda unknown"] * (not arrival_rate_known)
    return AdmissionLearner(
        name=f"UCRL-MT, {', '.join(details)}",
        kind=_THRESHOLDS,
        modules=modules,
        direct_index=direct_index,
        arrival_rate_known=arrival_rate_known,
        pooled=1 if single_station else modules,
        level=0.0 if level is None else arguments.positive_real("level", level),
    )


def threshold_bandit(modules: int, *, level: float | None = None) -> AdmissionLearner:
    """The plain bandit over the S + 1 thresholds (ours): UCRL-MT with the direct index alone.

    It knows neither Norton's theorem nor a model; its regret is at most the bound of UCRL-MT with A_3 in
    place of the minimum.

    Parameters
    ----------
    modules, level
        As in `ucrl_mt`.

    Returns
    -------
    AdmissionLearner

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    modules = arguments.positive_integer("modules", modules)
    return AdmissionLearner(
        name=f"bandit over thresholds, {_count(modules)}",
        kind=_THRESHOLDS,
        modules=modules,
        model_index=False,
        pooled=modules,
        level=0.0 if level is None else arguments.positive_real("level", level),
    )


# Kernels --------------------------------------------------------------------------------------------


@njit(cache=True, error_model="numpy", _nrt=False)
def _play_fixed(
    theta,
    checkpoints,
    x,
    events,
    uniformization,
    lower,
    upper,
    per_server,
    source,
    destination,
    servers,
    guide,
    visits,
):
    """Play one threshold to the last checkpoint; ``visits`` as in `_play_evi`."""
    total = np.int64(0)
    for i in range(x.shape[0]):
        total += x[i]
    t = 0
    for row in range(checkpoints.shape[0]):
        while t < checkpoints[row]:
            t += 1
            admitted = np.int64(total < theta)
            visits[row, total, admitted] += 1
            u = random(events)
            event = network_event(
                u, x, uniformization, lower, upper, per_server, source, destination, servers, guide
            )
            if event >= 0:
                x[destination[event]] += admitted
                total += admitted
            elif event == -2:
                total -= 1


@njit(cache=True, error_model="numpy", _nrt=False)
def _play_evi(
    modules,
    ramp,
    jaksch,
    most_sweeps,
    max_reward,
    bernoulli,
    means,
    true_up,
    true_down,
    gain,
    checkpoints,
    x,
    events,
    rewards,
    uniformization,
    lower,
    upper,
    per_server,
    source,
    destination,
    servers,
    guide,
    counts,
    left,
    tables,
    values,
    policy,
    visits,
    thresholds,
    episodes,
    policies,
    gains,
):
    """Play UCRL-M or UCRL2 to the last checkpoint; return the number of episodes.

    ``means``, ``true_up``, ``true_down`` (by total and action) are the true model: the first gives the
    rewards, all of them judge the confidence region. Changed in place: ``counts`` (by module, total and
    action: visits, jobs more, jobs fewer, rewards won), ``left`` (visits until the episode ends),
    ``tables`` (optimistic rewards, up, down, half the radius), ``values`` (rows: u, scratch, gains),
    ``visits`` (since the last checkpoint), ``thresholds``, ``episodes`` (columns: start, length, sweeps,
    hit the cap, not optimistic, not covered), ``policies``, ``gains``.
    """
    top = policy.shape[0] - 1
    horizon = checkpoints[-1]
    total = np.int64(0)
    for i in range(x.shape[0]):
        total += x[i]
    bounds = values[2]
    t = 0
    module = 0
    row = 0
    episode = 0
    while t < horizon:
        t_k = np.float64(max(t, 1))
        if jaksch:
            reward_log = 3.5 * math.log(4.0 * (top + 1) * t_k * t_k)
            law_log = 14.0 * (top + 1) * math.log(4.0 * t_k * t_k)
        else:
            reward_log = 2.0 * math.log(4.0 * t_k)
            law_log = 8.0 * math.log(4.0 * t_k)
        covered = True
        for s in range(top + 1):
            for a in range(2 if s < top else 1):
                best = 0
                for m in range(modules):
                    n = counts[m, s, a, 0]
                    left[m, s, a] = max(n, 1)
                    if n > counts[best, s, a, 0]:
                        best = m
                n = counts[best, s, a, 0]
                size = np.float64(max(n, 1))
                reward_radius = max_reward * math.sqrt(reward_log / size)
                law_radius = math.sqrt(law_log / size)
                up, down, reward = 0.0, 0.0, max_reward
                if n > 0:
                    up = counts[best, s, a, 1] / size
                    down = counts[best, s, a, 2] / size
                    reward = max_reward * counts[best, s, a, 3] / size if bernoulli else means[s, a]
                    distance = abs(up - true_up[s, a]) + abs(down - true_down[s, a])
                    distance += abs(up + down - true_up[s, a] - true_down[s, a])
                    if distance > law_radius or abs(reward - means[s, a]) > reward_radius:
                        covered = False
                tables[0, s, a] = min(max_reward, reward + reward_radius)
                tables[1, s, a] = up
                tables[2, s, a] = down
                tables[3, s, a] = 0.5 * law_radius
        sweeps = iterate(
            values[0],
            values[1],
            tables[0],
            tables[1],
            tables[2],
            tables[3],
            jaksch,
            max_reward / math.sqrt(t_k),
            most_sweeps,
            policy,
            bounds,
        )
        theta = 0
        while policy[theta] == 1:
            theta += 1
        for s in range(top + 1):
            policies[episode, s] = policy[s]
        gains[episode] = bounds[1]
        episodes[episode, 0] = t
        episodes[episode, 2] = abs(sweeps)
        episodes[episode, 3] = sweeps < 0
        episodes[episode, 4] = bounds[1] < gain
        episodes[episode, 5] = not covered

        discard = modules if ramp else 0
        playing = True
        while playing and t < horizon:
            s = total
            a = policy[s]
            u = random(events)
            event = network_event(
                u, x, uniformization, lower, upper, per_server, source, destination, servers, guide
            )
            change = np.int64(0)
            if event >= 0:
                x[destination[event]] += a
                change = a
            elif event == -2:
                change = np.int64(-1)
            total += change
            visits[row, s, a] += 1
            won = bernoulli and random(rewards) * max_reward < means[s, a]
            if discard > 0:
                discard -= 1
            else:
                counts[module, s, a, 0] += 1
                counts[module, s, a, 1] += change > 0
                counts[module, s, a, 2] += change < 0
                counts[module, s, a, 3] += won
                left[module, s, a] -= 1
                playing = left[module, s, a] > 0
            t += 1
            module += 1
            if module == modules:
                module = 0
            if t == checkpoints[row]:
                thresholds[row] = theta
                row += 1
        episodes[episode, 1] = t - episodes[episode, 0]
        episode += 1
    return episode


@njit(cache=True, error_model="numpy", _nrt=False)
def _play_thresholds(
    modules,
    pooled,
    level,
    use_model,
    use_direct,
    rate_known,
    arrival_rate,
    rejection_cost,
    holding_cost,
    true_rates,
    true_costs,
    best_cost,
    checkpoints,
    x,
    events,
    uniformization,
    lower,
    upper,
    per_server,
    source,
    destination,
    servers,
    guide,
    counts,
    arms,
    index,
    visits,
    thresholds,
    episodes,
    policies,
    gains,
):
    """Play UCRL-MT or the bandit over thresholds; return the number of episodes.

    Changed in place: ``counts`` (rows: N, D by total), ``arms`` (rows by threshold: recorded steps, sum
    of the totals, steps at the threshold), ``index`` (rows: the model's and the direct limit of the cost
    of each threshold, upper limits of the rates), ``gains`` (the index played); the rest as in
    `_play_evi`.
    """
    top = index.shape[1] - 1
    horizon = checkpoints[-1]
    total = np.int64(0)
    for i in range(x.shape[0]):
        total += x[i]
    error = 1.0 / (np.float64(horizon) * np.float64(horizon))
    t = 0
    row = 0
    episode = 0
    arrivals = np.int64(0)
    while t < horizon:
        covered = True
        rate = arrival_rate
        if not rate_known:
            rate = 0.0
            if arrivals > 0:
                # The lower limit of a probability is the upper limit of its complement.
                rate = uniformization * max(0.0, 1.0 - _kl_upper(1.0 - arrivals / t, level / t))
            covered = rate <= arrival_rate
        cap = 1.0 - rate / uniformization
        ceiling = cap
        for s in range(top, 0, -1):
            limit = cap
            if use_model and counts[0, s] > 0:
                seen = counts[1, s] / counts[0, s]
                budget = pooled * level / counts[0, s]
                if seen < cap:
                    limit = min(cap, _kl_upper(seen, budget))
                if _kl(seen, true_rates[s] / uniformization) > budget:
                    covered = False
            ceiling = min(ceiling, limit)
            index[2, s] = uniformization * ceiling
        # The cost of threshold theta is a mean of phi(0..theta) with weights that do not depend on
        # theta; spread is their sum over the last of them.
        cost = rate * rejection_cost
        spread = 1.0
        chosen = 0
        best = math.inf
        for theta in range(top + 1):
            if theta > 0:
                spread = 1.0 + spread * index[2, theta] / rate
                phi = holding_cost * theta + (rate - index[2, theta]) * rejection_cost
                cost += (phi - cost) / spread
            index[0, theta] = cost if use_model else -math.inf
            index[1, theta] = -math.inf
            steps = np.float64(arms[0, theta])
            if use_direct and steps > 0:
                width = math.sqrt(modules * level / (2.0 * steps)) + error
                held = holding_cost * arms[1, theta] / steps
                blocked = rejection_cost * arms[2, theta] / steps
                span = holding_cost * top + rate * rejection_cost
                index[1, theta] = held + rate * blocked - span * width
                # Coverage is a matter of the true arrival rate.
                span = holding_cost * top + arrival_rate * rejection_cost
                if abs(held + arrival_rate * blocked - true_costs[theta]) > span * width:
                    covered = False
            value = max(index[0, theta], index[1, theta])
            if value < best:
                best = value
                chosen = theta
        for s in range(top + 1):
            policies[episode, s] = s < chosen
        gains[episode] = best
        episodes[episode, 0] = t
        episodes[episode, 4] = best > best_cost * (1.0 + 1e-12)
        episodes[episode, 5] = not covered

        ramp_end = t + modules
        end = min(ramp_end + max(modules, arms[0, chosen]), horizon)
        while t < end:
            s = total
            admitted = np.int64(s < chosen)
            u = random(events)
            event = network_event(
                u, x, uniformization, lower, upper, per_server, source, destination, servers, guide
            )
            left = 0
            if event >= 0:
                arrivals += 1
                x[destination[event]] += admitted
                total += admitted
            elif event == -2:
                left = 1
                total -= 1
            visits[row, s, admitted] += 1
            if t >= ramp_end:
                counts[0, s] += 1
                counts[1, s] += left
                arms[0, chosen] += 1
                arms[1, chosen] += s
                arms[2, chosen] += 1 - admitted
            t += 1
            if t == checkpoints[row]:
                thresholds[row] = chosen
                row += 1
        episodes[episode, 1] = t - episodes[episode, 0]
        episode += 1
    return episode


# Runs -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Episodes:
    """The episodes of a run; one entry each.

    Attributes
    ----------
    start : ndarray of int64, shape (K,)
        Steps before the episode.
    length : ndarray of int64, shape (K,)
        Its steps, those of the ramp included.
    policy : ndarray of int8, shape (K, S + 1)
        Action by the total.
    optimistic_gain : ndarray, shape (K,)
        An upper limit of g* if the confidence region holds the truth: the largest entry of the last
        change of extended value iteration, or ``r_max - index / U`` of the threshold played. NaN where
        nothing is learned.
    not_optimistic : ndarray of bool, shape (K,)
        Whether the optimistic gain is below g*.
    not_covered : ndarray of bool, shape (K,)
        Whether the confidence region misses the true model.
    sweeps : ndarray of int64, shape (K,)
        Sweeps of extended value iteration; 0 where there is none.
    capped : ndarray of bool, shape (K,)
        Whether the iteration hit its cap.
    """

    start: NDArray[np.int64]
    length: NDArray[np.int64]
    policy: NDArray[np.int8]
    optimistic_gain: NDArray[np.float64]
    not_optimistic: NDArray[np.bool_]
    not_covered: NDArray[np.bool_]
    sweeps: NDArray[np.int64]
    capped: NDArray[np.bool_]

    @property
    def count(self) -> int:
        """K."""
        return self.start.size

    @property
    def threshold(self) -> NDArray[np.int64]:
        """Least total at which the policy rejects, shape (K,): what counts in the long run."""
        return (self.policy == 0).argmax(axis=1)


@dataclass(frozen=True)
class LearnerRun:
    """One run of one learner.

    Attributes
    ----------
    learner : str
    horizon : int
        T.
    max_reward : float
        r_max.
    gain : float
        g*, the best gain of a policy that looks at the total.
    checkpoints : ndarray of int64, shape (C,)
        Recorded steps t; the last one is T.
    regret : ndarray, shape (C,)
        Regret over the steps 1..t (see the module's description), in units of reward.
    threshold : ndarray of int64, shape (C,)
        Threshold of the policy that played step t.
    visits : ndarray of int64, shape (C, S + 1, 2)
        Steps among 1..t by total and action.
    episodes : Episodes
    total : int
        Jobs in the network after the last step.
    """

    learner: str
    horizon: int
    max_reward: float
    gain: float
    checkpoints: NDArray[np.int64]
    regret: NDArray[np.float64]
    threshold: NDArray[np.int64]
    visits: NDArray[np.int64]
    episodes: Episodes
    total: int

    @property
    def scaled_regret(self) -> NDArray[np.float64]:
        """Regret in units of r_max, shape (C,): never above t."""
        return self.regret / self.max_reward


@dataclass(frozen=True)
class _Numbers:
    """The numbers of a model as floats; means, up and down by total and action."""

    limit: int
    arrival_rate: float
    rejection_cost: float
    holding_cost: float
    uniformization: float
    rates: NDArray[np.float64]
    costs: NDArray[np.float64]
    max_reward: float
    gain: float
    means: NDArray[np.float64]
    up: NDArray[np.float64]
    down: NDArray[np.float64]


def _numbers(model: AdmissionModel, network: Network) -> _Numbers:
    """Return the numbers of a model if it is the one of the network."""
    if not isinstance(model, AdmissionModel):
        raise ValueError(f"model = {model!r}; permitted: a simlib.admission.AdmissionModel")
    if not isinstance(network, Network):
        raise ValueError(f"network = {network!r}; permitted: a simlib.admission.Network")
    model, limit = model.as_floats(), model.limit
    if model.max_reward == 0:
        raise ValueError(
            "rejection_cost = 0 and holding_cost = 0 in the model; permitted: one of them above 0"
        )
    own = network.as_floats()
    if not np.isclose(model.arrival_rate, own.arrival_rate, rtol=1e-9, atol=0):
        raise ValueError(
            f"model.arrival_rate = {model.arrival_rate}; permitted: that of the network, "
            f"{own.arrival_rate}"
        )
    rates = np.array(flow_equivalent_rates(own, limit))
    wrong = np.flatnonzero(~np.isclose(rates, model.rates, rtol=1e-6, atol=0))
    if wrong.size:
        where = int(wrong[0])
        raise ValueError(
            f"model.rates[{where}] = {model.rates[where]}; permitted: the flow-equivalent rates of the "
            f"network, here {rates[where]} (see model_of)"
        )
    bound = model.uniformization
    costs = np.array(threshold_costs(model))
    means = np.zeros((limit + 1, 2))
    means += (model.holding_cost * (limit - np.arange(limit + 1.0)) / bound)[:, None]
    means[:, 1] += model.arrival_rate * model.rejection_cost / bound
    rates = np.array([0.0, *model.rates])
    up = np.zeros_like(means)
    up[:-1, 1] = model.arrival_rate / bound
    return _Numbers(
        limit=limit,
        arrival_rate=model.arrival_rate,
        rejection_cost=model.rejection_cost,
        holding_cost=model.holding_cost,
        uniformization=bound,
        rates=rates,
        costs=costs,
        max_reward=model.max_reward,
        gain=model.max_reward - costs.min() / bound,
        means=means,
        up=up,
        down=np.repeat(rates[:, None] / bound, 2, axis=1),
    )


def run_learner(
    network: Network,
    learner: AdmissionLearner,
    horizon: int,
    model: AdmissionModel,
    *,
    seed: Any,
    checkpoints: Any = None,
    start: Any = None,
    rewards: str = "bernoulli",
) -> LearnerRun:
    """Run one learner on a network.

    Parameters
    ----------
    network : Network
    learner : AdmissionLearner
        See the functions of this module.
    horizon : int
        T, at least 1.
    model : AdmissionModel
        The costs, the limit S and the uniformization constant; and the true rates, which only judge:
        g*, and whether a confidence region holds them. `simlib.admission.model_of` makes it.
    seed : int or numpy.random.SeedSequence
        Seed of this run; runs with one seed meet the same events.
    checkpoints : array_like of int, optional
        Strictly increasing steps at which to record; the horizon is always added.
    start : array_like of int, shape (N,), optional
        Jobs at each station before the first step, in all at most S; by default none.
    rewards : {"bernoulli", "mean"}
        What UCRL-M and UCRL2 see of a reward: ``r_max`` or 0, with mean r; or r itself.

    Returns
    -------
    LearnerRun

    Raises
    ------
    ValueError
        If an argument is out of range, the model is not of this network, or there are more modules than
        steps.

    Notes
    -----
    Cost: 15 to 30 ns a step, O(tau S) an episode, and for UCRL-M the sweeps of extended value
    iteration; see ``benchmarks/README.md``. Memory: O(tau S + K S) for K episodes, whose number grows
    with the logarithm of the horizon.

    References
    ----------
    Source, Algorithm 1, Sections 4 and 7. UCRL-MT and the bandit: ours.
    """
    if not isinstance(learner, AdmissionLearner):
        raise ValueError(
            f"learner = {learner!r}; permitted: one made by simlib.admission, such as ucrl_m(3)"
        )
    numbers = _numbers(model, network)
    table = event_table(network, numbers.limit, numbers.uniformization)
    horizon = arguments.positive_integer("horizon", horizon)
    if learner.modules > horizon:
        raise ValueError(f"modules = {learner.modules}; permitted: at most the horizon {horizon}")
    if learner.theta > numbers.limit:
        raise ValueError(f"theta = {learner.theta}; permitted: at most the limit {numbers.limit}")
    steps = arguments.checkpoint_steps("checkpoints", checkpoints, horizon)
    steps = np.unique(np.append(steps, horizon))
    bernoulli = arguments.choice("rewards", rewards, _REWARDS) == "bernoulli"
    x = start_jobs(start, network.stations, numbers.limit)
    events, coins = substreams(seed, ("events", "rewards"))
    visits = np.zeros((steps.size, numbers.limit + 1, 2), dtype=np.int64)
    thresholds = np.zeros(steps.size, dtype=np.int64)
    if learner.kind == _FIXED:
        episodes = _fixed(learner, numbers, steps, x, events, table, visits, thresholds)
    elif learner.kind == _EVI:
        rewarded = (coins, bernoulli)
        episodes = _evi(learner, numbers, steps, x, events, table, visits, thresholds, *rewarded)
    else:
        episodes = _thresholds(learner, numbers, steps, x, events, table, visits, thresholds)
    visits = visits.cumsum(axis=0)
    return LearnerRun(
        learner=learner.name,
        horizon=horizon,
        max_reward=numbers.max_reward,
        gain=numbers.gain,
        checkpoints=steps,
        regret=steps * numbers.gain - np.einsum("csa,sa->c", visits, numbers.means),
        threshold=thresholds,
        visits=visits,
        episodes=episodes,
        total=int(x.sum()),
    )


def _records(most: int, limit: int) -> tuple[NDArray, NDArray, NDArray]:
    columns = np.zeros((most, 6), dtype=np.int64)
    return columns, np.zeros((most, limit + 1), dtype=np.int8), np.full(most, np.nan)


def _as_episodes(count: int, columns, policies, gains) -> Episodes:
    columns = columns[:count]
    return Episodes(
        start=columns[:, 0].copy(),
        length=columns[:, 1].copy(),
        policy=policies[:count].copy(),
        optimistic_gain=gains[:count].copy(),
        not_optimistic=columns[:, 4] > 0,
        not_covered=columns[:, 5] > 0,
        sweeps=columns[:, 2].copy(),
        capped=columns[:, 3] > 0,
    )


def _fixed(learner, numbers, steps, x, events, table, visits, thresholds):
    theta = numbers.limit if learner.theta == -1 else learner.theta
    _play_fixed(theta, steps, x, events, *table.packed, visits)
    thresholds[:] = theta
    columns, policies, gains = _records(1, numbers.limit)
    columns[0, 1] = steps[-1]
    policies[0, :theta] = 1
    return _as_episodes(1, columns, policies, gains)


def _evi(learner, numbers, steps, x, events, table, visits, thresholds, coins, bernoulli):
    limit, modules, horizon = numbers.limit, learner.modules, int(steps[-1])
    most = formulas.most_ucrl_episodes(horizon, modules, limit, ramp=learner.ramp)
    records = _records(most, limit)
    count = _play_evi(
        *(modules, learner.ramp, learner.radii == "jaksch", learner.most_sweeps),
        *(numbers.max_reward, bernoulli, numbers.means, numbers.up, numbers.down, numbers.gain),
        *(steps, x, events, coins, *table.packed),
        np.zeros((modules, limit + 1, 2, 4), dtype=np.int64),
        np.zeros((modules, limit + 1, 2), dtype=np.int64),
        *(np.zeros((4, limit + 1, 2)), np.zeros((3, limit + 1))),
        *(np.zeros(limit + 1, dtype=np.int64), visits, thresholds, *records),
    )
    return _as_episodes(count, *records)


def _thresholds(learner, numbers, steps, x, events, table, visits, thresholds):
    limit, modules, horizon = numbers.limit, learner.modules, int(steps[-1])
    level = learner.level or formulas.confidence_level(
        horizon, limit, arrival_rate_known=learner.arrival_rate_known
    )
    columns, policies, index = _records(
        formulas.most_threshold_episodes(horizon, modules, limit), limit
    )
    count = _play_thresholds(
        *(modules, learner.pooled, level, learner.model_index, learner.direct_index),
        *(learner.arrival_rate_known, numbers.arrival_rate, numbers.rejection_cost),
        *(numbers.holding_cost, numbers.rates, numbers.costs, numbers.costs.min(), steps, x),
        *(events, *table.packed, np.zeros((2, limit + 1), dtype=np.int64)),
        *(np.zeros((3, limit + 1), dtype=np.int64), np.zeros((3, limit + 1))),
        *(visits, thresholds, columns, policies, index),
    )
    gains = numbers.max_reward - index / numbers.uniformization
    return _as_episodes(count, columns, policies, gains)


def experiment(
    seed: Any,
    *,
    network: Network,
    learner: AdmissionLearner | Sequence[AdmissionLearner],
    horizon: int,
    model: AdmissionModel,
    checkpoints: Any = None,
    rewards: str = "bernoulli",
) -> dict[str, NDArray]:
    """Run one learner, or several on the same events: one replication of an experiment.

    Made for `simlib.replicate.replicate`.

    Parameters
    ----------
    seed : int or numpy.random.SeedSequence
    network, learner, horizon, model, checkpoints, rewards
        As in `run_learner`; ``learner`` may be a sequence.

    Returns
    -------
    dict
        ``regret`` (in units of r_max) and ``threshold``, shape (C,); ``episodes``, ``sweeps``,
        ``capped``, ``not_optimistic``, ``not_covered``: numbers of episodes, of sweeps in all, and of
        episodes with a capped iteration or a violation. For several learners, one row each.

    Raises
    ------
    ValueError
        As `run_learner`.
    """
    several = not isinstance(learner, AdmissionLearner)
    options = {"seed": seed, "checkpoints": checkpoints, "rewards": rewards}
    runs = [
        run_learner(network, one, horizon, model, **options)
        for one in (learner if several else [learner])
    ]
    found = {
        "regret": [run.scaled_regret for run in runs],
        "threshold": [run.threshold for run in runs],
        "episodes": [run.episodes.count for run in runs],
        "sweeps": [run.episodes.sweeps.sum() for run in runs],
        "capped": [run.episodes.capped.sum() for run in runs],
        "not_optimistic": [run.episodes.not_optimistic.sum() for run in runs],
        "not_covered": [run.episodes.not_covered.sum() for run in runs],
    }
    return {name: np.array(each if several else each[0]) for name, each in found.items()}
