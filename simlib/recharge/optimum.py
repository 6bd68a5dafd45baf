"""Exact optimum of small recharging bandits, with certificates checked in rationals.

The reward of a pull depends only on the ages, so an optimal policy is a schedule: a walk on the
graph of age vectors with the largest mean reward. A certificate caps the ages and stores a policy
on the capped graph. The cap overestimates rewards, so the Bellman inequality on the capped graph
bounds every schedule, and a cycle that never reaches a cap attains the bound.
"""

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import resources

import numpy as np

from simlib.arguments import positive_integer
from simlib.arithmetic import as_exact_rates, as_number, as_rates
from simlib.recharge.exact import as_actions, service_matrix

__all__ = [
    "I7_CYCLE",
    "Certificate",
    "CertificateResult",
    "certificates",
    "check_certificate",
    "clairvoyant_rate",
    "cycle_value",
    "find_certificate",
]

#: Best cycle known for the instance I7, whose seven ages are out of reach of a certificate: its
#: optimum lies between the value of this cycle and ``optimum_upper_bound``.
I7_CYCLE = tuple(map(int, "5102430152034102530614203"))


@dataclass(frozen=True)
class Certificate:
    """Statement and witness of the optimum of one instance; see `check_certificate`.

    Attributes
    ----------
    rates : tuple of Fraction, length m <= 10
        Service rates.
    caps : tuple of int, length m
        Ages are counted up to here, where the reward is taken to be 1.
    gain : Fraction
        The optimum, in packets per step.
    cycle : tuple of int
        A schedule that attains it when repeated for ever.
    policy : str
        One digit a state: the arm to pull. States are the capped age vectors reachable from
        "all capped", in breadth-first order with arms tried in increasing order.
    span : Fraction
        Largest less smallest relative value: no schedule collects more than ``gain T + span``.
    """

    rates: tuple
    caps: tuple
    gain: Fraction
    cycle: tuple
    policy: str
    span: Fraction

    def to_json(self):
        """The certificate as a dict of strings and lists of int, rationals as ``"p/q"``."""
        return {
            "rates": [str(rate) for rate in self.rates],
            "caps": list(self.caps),
            "gain": str(self.gain),
            "cycle": "".join(map(str, self.cycle)),
            "policy": self.policy,
            "span": str(self.span),
        }

    @classmethod
    def from_json(cls, data):
        """Certificate from the dict of `to_json`; nothing is checked beyond the form.

        Raises
        ------
        ValueError
            If an entry is missing or malformed.
        """
        missing = {"rates", "caps", "gain", "cycle", "policy", "span"} - set(data)
        if missing:
            raise ValueError(
                f"data lacks {sorted(missing)}; permitted: all fields of a certificate"
            )
        rates = as_exact_rates(data["rates"])
        return cls(
            rates=rates,
            caps=_as_caps(data["caps"], len(rates)),
            gain=as_number("gain", str(data["gain"])),
            cycle=_as_digits("cycle", data["cycle"], len(rates)),
            policy="".join(map(str, _as_digits("policy", data["policy"], len(rates)))),
            span=as_number("span", str(data["span"])),
        )


@dataclass(frozen=True)
class CertificateResult:
    """Outcome of `check_certificate`.

    Attributes
    ----------
    valid : bool
    failed_step : str or None
        "attained", "states", "relative values", "Bellman inequality" or "span"; None if valid.
    detail : str
        What was verified, or the witness against it.
    states : int
        Reachable capped states.
    """

    valid: bool
    failed_step: str | None
    detail: str
    states: int

    def __bool__(self):
        return self.valid


def _as_caps(caps, arms):
    caps = tuple(positive_integer(f"caps[{j}]", cap) for j, cap in enumerate(caps))
    if len(caps) != arms:
        raise ValueError(f"caps = {caps}; permitted: one positive integer for each of {arms} arms")
    return caps


def _as_digits(name, text, arms):
    if arms > 10:
        raise ValueError(f"{name} has {arms} arms; permitted: at most 10, one digit each")
    text = str(text)
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{name} = {text!r}; permitted: digits from 0 to {arms - 1}")
    return as_actions(map(int, text), arms, name)


def cycle_value(rates, cycle):
    """Exact mean reward of a schedule that repeats a cycle for ever.

    Parameters
    ----------
    rates : sequence of length m
        Exact service rates in (0, 1).
    cycle : sequence of int, length n >= 1
        Arms, from 0.

    Returns
    -------
    Fraction
        Mean of ``1 - (1 - mu)**gap`` over the pulls of one period, gaps counted around the cycle.

    Raises
    ------
    ValueError
        If a rate is inexact or out of range, or an entry is no arm.
    """
    rates = as_exact_rates(rates)
    cycle = as_actions(cycle, len(rates), "cycle")
    pulls = zip(cycle, _cycle_gaps(cycle), strict=True)
    return sum(1 - (1 - rates[arm]) ** gap for arm, gap in pulls) / len(cycle)


def _cycle_gaps(cycle):
    """Steps since the previous pull of the same arm, around the cycle."""
    n = len(cycle)
    return [next(d for d in range(1, n + 1) if cycle[t - d] == arm) for t, arm in enumerate(cycle)]


class _CappedGraph:
    """Capped age vectors reachable from "all capped", with integer rewards over one denominator."""

    def __init__(self, rates, caps, most_states=None, gain=None):
        self.rates, self.caps = rates, caps
        # One denominator for all rewards (and the gain, if given) makes everything below integers.
        factors = [rate.denominator ** (cap - 1) for rate, cap in zip(rates, caps, strict=True)]
        self.scale = math.lcm(*factors, 1 if gain is None else gain.denominator)
        self.pay = [
            [0] + [self._scaled(1 - (1 - rate) ** age) for age in range(1, cap)] + [self.scale]
            for rate, cap in zip(rates, caps, strict=True)
        ]
        self._explore(most_states)

    def _scaled(self, value):
        return value.numerator * (self.scale // value.denominator)

    def _explore(self, most_states):
        arms = range(len(self.caps))
        self.states = [self.caps]
        number = {self.caps: 0}
        self.following = []
        for ages in self.states:  # grows while it is walked: breadth first
            older = [min(age + 1, cap) for age, cap in zip(ages, self.caps, strict=True)]
            row = []
            for arm in arms:
                after = (*older[:arm], 1, *older[arm + 1 :])
                if after not in number:
                    number[after] = len(self.states)
                    self.states.append(after)
                row.append(number[after])
            self.following.append(row)
            if most_states is not None and len(self.states) > most_states:
                raise ValueError(
                    f"caps = {self.caps}; permitted: caps that reach at most most_states = "
                    f"{most_states} age vectors"
                )

    def reward(self, state, arm):
        return self.pay[arm][self.states[state][arm]]

    def cycle_from(self, policy, state):
        """States of the cycle that the policy ends in."""
        seen = {}
        while state not in seen:
            seen[state] = len(seen)
            state = self.following[state][policy[state]]
        return [s for s, when in seen.items() if when >= seen[state]]


def _relative_values(graph, policy, gain, root):
    """Integer relative values of a policy, 0 at root; None where the policy never reaches it."""
    value = [None] * len(graph.states)
    value[root] = 0
    for start in range(len(value)):
        path, on_path, state = [], set(), start
        while value[state] is None and state not in on_path:
            path.append(state)
            on_path.add(state)
            state = graph.following[state][policy[state]]
        if value[state] is None:  # a second cycle: its states have no value relative to the root
            continue
        for s in reversed(path):
            arm = policy[s]
            value[s] = graph.reward(s, arm) - gain + value[graph.following[s][arm]]
    return value


def check_certificate(certificate):
    """Verify a certificate of the optimum, in integers over a common denominator.

    Parameters
    ----------
    certificate : Certificate

    Returns
    -------
    CertificateResult
        True in a boolean context if every step holds; otherwise names the first step that fails and
        its witness.

    Raises
    ------
    ValueError
        If the certificate is malformed (an inexact rate, a digit that is no arm, ...).

    Notes
    -----
    Ours. Steps: *attained*: the cycle has mean ``gain`` and all its gaps are below the caps;
    *states*: the policy has one digit for each reachable capped state; *relative values*: following
    the policy reaches one cycle from everywhere, which defines the values; *Bellman inequality*:
    reward plus change of value is at most ``gain`` at each state and arm; *span*. Together they
    prove that the optimum is ``gain`` and that no schedule collects more than ``gain T + span`` in
    T steps. Cost: linear in states times arms; 5,471 states take a fraction of a second.
    """
    rates = as_exact_rates(certificate.rates)
    caps = _as_caps(certificate.caps, len(rates))
    gain, span = as_number("gain", certificate.gain), as_number("span", certificate.span)
    if not (isinstance(gain, Fraction) and isinstance(span, Fraction)):
        raise ValueError(f"gain = {gain!r}, span = {span!r}; permitted: exact rationals")
    policy = _as_digits("policy", certificate.policy, len(rates))
    cycle = as_actions(certificate.cycle, len(rates), "cycle")

    graph = _CappedGraph(rates, caps, gain=gain)
    states = len(graph.states)

    def fails(step, detail):
        return CertificateResult(False, step, detail, states)

    mean = cycle_value(rates, cycle)
    if mean != gain:
        return fails("attained", f"the cycle's mean is {mean}, not {gain}")
    for arm, gap in zip(cycle, _cycle_gaps(cycle), strict=True):
        if gap >= caps[arm]:
            return fails("attained", f"arm {arm} is pulled at gap {gap}, not below cap {caps[arm]}")
    if len(policy) != states:
        return fails("states", f"the policy has {len(policy)} digits for {states} states")

    target = graph._scaled(gain)
    value = _relative_values(graph, policy, target, graph.cycle_from(policy, 0)[0])
    if None in value:
        lost = graph.states[value.index(None)]
        return fails("relative values", f"from ages {lost} the policy ends in a second cycle")
    for state in range(states):
        for arm, after in enumerate(graph.following[state]):
            excess = graph.reward(state, arm) + value[after] - value[state] - target
            if excess > 0:
                return fails(
                    "Bellman inequality",
                    f"pulling arm {arm} at ages {graph.states[state]} exceeds the gain by "
                    f"{Fraction(excess, graph.scale)}",
                )
    found = Fraction(max(value) - min(value), graph.scale)
    if found != span:
        return fails("span", f"the span of the relative values is {found}, not {span}")
    return CertificateResult(
        True, None, f"optimum {gain} verified at {states} states and {len(rates)} arms", states
    )


def find_certificate(rates, caps=None, *, most_states=50_000):
    """Find and verify a certificate of the optimum of a small instance.

    Parameters
    ----------
    rates : sequence of length 1 <= m <= 10
        Exact service rates in (0, 1), Fractions or strings such as ``"3/10"``.
    caps : sequence of int, length m, optional
        Ages are counted up to here. By default they start small and double for each arm whose cap
        the optimal cycle uses.
    most_states : int
        Refuse graphs with more capped age vectors than this.

    Returns
    -------
    Certificate
        Verified by `check_certificate`; its cycle is the alphabetically first of its rotations.

    Raises
    ------
    ValueError
        If a rate is inexact or out of range, the caps are too small for the optimum (they are
        named), or the graph exceeds ``most_states``.

    Notes
    -----
    Ours. Howard's policy iteration on the deterministic capped graph, in integers, so that equality
    is decided and not rounded. Cost: a fraction of a second for 5,000 states.
    """
    rates = as_exact_rates(rates)
    if len(rates) > 10:
        raise ValueError(f"rates has {len(rates)} entries; permitted: at most 10")
    most_states = positive_integer("most_states", most_states)
    automatic = caps is None
    caps = (4,) * len(rates) if automatic else _as_caps(caps, len(rates))
    while True:
        graph = _CappedGraph(rates, caps, most_states)
        policy, loop = _policy_iteration(graph)
        cycle = [policy[state] for state in loop]
        short = {
            arm for arm, gap in zip(cycle, _cycle_gaps(cycle), strict=True) if gap >= caps[arm]
        } | {arm for arm in range(len(rates)) if arm not in cycle and automatic}
        if not short:
            break
        if not automatic:
            raise ValueError(
                f"caps = {caps}; permitted: larger ones, the capped optimum uses the cap of arms "
                f"{sorted(short)}"
            )
        caps = tuple(2 * cap if arm in short else cap for arm, cap in enumerate(caps))
    gain = cycle_value(rates, cycle)
    # The gain's denominator need not divide the rewards' one: put both over a common one.
    graph = _CappedGraph(rates, caps, gain=gain)
    value = _relative_values(graph, policy, graph._scaled(gain), loop[0])
    certificate = Certificate(
        rates=rates,
        caps=caps,
        gain=gain,
        cycle=min(tuple(cycle[t:] + cycle[:t]) for t in range(len(cycle))),
        policy="".join(map(str, policy)),
        span=Fraction(max(value) - min(value), graph.scale),
    )
    result = check_certificate(certificate)
    if not result:
        raise RuntimeError(f"policy iteration ended early: {result.failed_step}: {result.detail}")
    return certificate


def _policy_iteration(graph):
    """Optimal policy on the capped graph and the states of its best cycle."""
    arms = range(len(graph.caps))
    states = range(len(graph.states))
    before = [[] for _ in states]
    for state in states:
        for arm in arms:
            before[graph.following[state][arm]].append((state, arm))
    policy = [max(arms, key=lambda arm, s=state: graph.reward(s, arm)) for state in states]
    while True:
        loop, total = _best_loop(graph, policy)
        # Multiply by the length of the loop: its mean need not be an integer.
        length = len(loop)
        value = _attach(graph, policy, before, loop, total)
        improved = False
        for state in states:
            best, choice = value[state], None
            for arm, after in enumerate(graph.following[state]):
                candidate = graph.reward(state, arm) * length - total + value[after]
                if candidate > best:
                    best, choice = candidate, arm
            if choice is not None:
                policy[state], improved = choice, True
        if not improved:
            return policy, loop


def _best_loop(graph, policy):
    """Cycle of the policy with the largest mean: its states and its total reward."""
    color = [0] * len(graph.states)
    best, best_total = None, 0
    for start in range(len(color)):
        state, mark = start, start + 1
        while not color[state]:
            color[state] = mark
            state = graph.following[state][policy[state]]
        if color[state] != mark:  # runs into something seen earlier
            continue
        loop = graph.cycle_from(policy, state)
        total = sum(graph.reward(s, policy[s]) for s in loop)
        if best is None or total * len(best) > best_total * len(loop):
            best, best_total = loop, total
    return best, best_total


def _attach(graph, policy, before, loop, total):
    """Relative values times the loop's length; states led elsewhere are led to the loop."""
    length = len(loop)
    value = [None] * len(graph.states)
    value[loop[0]] = 0
    front = [loop[0]]
    for own in (True, False):  # first along the policy, then along any arm for who is left
        while front:
            reached = []
            for after in front:
                for state, arm in before[after]:
                    if value[state] is None and (not own or policy[state] == arm):
                        policy[state] = arm
                        value[state] = graph.reward(state, arm) * length - total + value[after]
                        reached.append(state)
            front = reached
        front = [state for state in range(len(value)) if value[state] is not None]
    return value


@cache
def certificates():
    """The stored certificates by instance name, as in `simlib.recharge.formulas.INSTANCES`.

    Returns
    -------
    dict of str to Certificate
        Eleven instances; read from the package, not verified (that is `check_certificate`'s work).
    """
    text = resources.files("simlib.recharge").joinpath("certificates.json").read_text("utf-8")
    return {name: Certificate.from_json(data) for name, data in json.loads(text).items()}


def clairvoyant_rate(rates, tolerance=1e-12):
    """Largest acceptance rate of a backlogged router that sees which buffers are free.

    Parameters
    ----------
    rates : sequence of length m
        Service rates in (0, 1).
    tolerance : float
        Width at which the enclosing bounds on the rate are accepted, at least 1e-14.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If a rate or the tolerance is out of range.

    Notes
    -----
    Ours; the upper bound of Lemma 3.6 does not apply to it. Value iteration on the 2**m busy
    patterns; the least and largest one-step change of value enclose the rate. Cost: ``m 4**m`` a
    sweep.
    """
    rates = np.array([float(rate) for rate in as_rates(rates)])
    tolerance = float(tolerance)
    if not 1e-14 <= tolerance < 1:
        raise ValueError(f"tolerance = {tolerance}; permitted: numbers in [1e-14, 1)")
    serve = service_matrix(rates)
    patterns = np.arange(2 ** len(rates))
    pays = [(patterns >> arm & 1 == 0).astype(float) for arm in range(len(rates))]
    value = np.zeros(len(patterns))
    while True:
        later = serve @ value
        swept = np.max([pay + later[patterns | 1 << arm] for arm, pay in enumerate(pays)], axis=0)
        change = swept - value
        if np.ptp(change) <= tolerance:
            return float((change.max() + change.min()) / 2)
        value = swept - swept[0]
