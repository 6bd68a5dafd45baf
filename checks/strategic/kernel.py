"""What Coq's kernel checks of the claims on strategic queues."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction

from checks.methods.coq_values import booleans, naturals, of_two_indices, real
from checks.methods.kernel import Anchor, Mutant, Reach, Theorem

# Anchors: the dynamics against a simulation with buffers and packets --------------------------------

Bits = Sequence[Sequence[bool]]


def _accepted(senders: set[int], turn: int, queues: int, full: bool) -> int | None:
    """Whom a server takes: the first sender in cyclic order from the queue whose turn it is."""
    if full:
        return None
    order = [(turn + k) % queues for k in range(queues)]
    return next((i for i in order if i in senders), None)


def _period(
    lengths: Sequence[int],
    buffers: Sequence[bool],
    arrivals: Bits,
    choices: Sequence[Sequence[int]],
    services: Bits,
) -> dict[str, object]:
    """Play a period, packet by packet; the counterfactual of each queue and server is played too."""
    n, m, steps = len(lengths), len(buffers), len(arrivals[0])
    queue, full = list(lengths), list(buffers)
    accepted, busy, served, entered = [0] * n, [0] * m, [0] * m, [0] * m
    would = [[0] * m for _ in range(n)]
    for s in range(steps):
        for i in range(n):
            queue[i] += arrivals[i][s]
        asked = [{i for i in range(n) if queue[i] and choices[i][s] == j} for j in range(m)]
        for i in range(n):
            for j in range(m):
                taken = _accepted(asked[j] | {i}, s, n, full[j])
                would[i][j] += bool(queue[i]) and taken == i
        taken = [_accepted(asked[j], s, n, full[j]) for j in range(m)]
        for j, i in enumerate(taken):
            if i is not None:
                queue[i] -= 1
                accepted[i] += 1
                entered[j] += 1
                full[j] = True
        for j in range(m):
            busy[j] += full[j]
            if full[j] and services[j][s]:
                served[j] += 1
                full[j] = False
    regret = [max(would[i]) - accepted[i] for i in range(n)]
    return {
        "queue": queue,
        "full": full,
        "arrived": [sum(row) for row in arrivals],
        "busy": busy,
        "served": served,
        "entered": entered,
        "regret": regret,
    }


def _drawn(seed: int, n: int, m: int, steps: int) -> tuple[tuple, dict[str, object]]:
    """A drawn period and what happened in it."""
    source = random.Random(seed)
    coins = [[[source.random() < 0.5 for _ in range(steps)] for _ in range(k)] for k in (n, m)]
    choices = [[source.randrange(m) for _ in range(steps)] for _ in range(n)]
    lengths = [source.randint(0, 3) for _ in range(n)]
    buffers = [source.random() < 0.5 for _ in range(m)]
    played = (lengths, buffers, coins[0], choices, coins[1])
    return played, _period(*played)


def _anchors(seed: int, n: int, m: int, steps: int) -> tuple[Anchor, ...]:
    """Lengths, busy steps, services and regrets of a drawn period, as computed by Coq."""
    (lengths, buffers, arrivals, choices, services), found = _drawn(seed, n, m, steps)
    # The rule of `_accepted`: the first sender in cyclic order from queue s mod n.
    pick = (
        f"(fun (j s : nat) (S : nat -> bool) => "
        f"match find S (map (fun k => Nat.modulo (s + k) {n}) (seq 0 {n})) "
        f"with Some i => i | None => 0%nat end)"
    )
    start = (
        f"{{| len := fun i : nat => nth i {naturals(lengths)} 0%nat; "
        f"full := fun j : nat => nth j {booleans(buffers)} false |}}"
    )
    arr, tgt, srv = (of_two_indices(rows) for rows in (arrivals, choices, services))
    system = f"{arr} {tgt} {pick} {srv} {start}"
    before = max(lengths)
    facts = [
        f"M {n} {system} 0 = {before}%nat",
        f"M {n} {system} {steps} = {max(found['queue'])}%nat",
        f"Bmin {n} {m} {system} {steps} = {min(found['busy'])}%nat",
        f"Tot {n} {system} {steps} = {sum(found['queue'])}%nat",
    ]
    for i in range(n):
        facts += [
            f"Strategic.N {n} {system} {i} {steps} = {found['queue'][i]}%nat",
            f"A {arr} {i} {steps} = {found['arrived'][i]}%nat",
            f"Reg {n} {m} {system} {i} {steps} = ({found['regret'][i]})%Z",
        ]
    for j in range(m):
        facts += [
            f"B {n} {system} {j} {steps} = {found['busy'][j]}%nat",
            f"served {n} {system} {j} {steps} = {found['served'][j]}%nat",
            f"acc_j {n} {system} {j} {steps} = {found['entered'][j]}%nat",
            f"b2n (full (st {n} {system} {steps}) {j}) = {int(found['full'][j])}%nat",
        ]
    return (Anchor(" /\\\n".join(facts), "repeat split; vm_compute; reflexivity"),)


_PERIODS = (*_anchors(1, 2, 2, 6), *_anchors(2, 3, 2, 5))

# Theorems -------------------------------------------------------------------------------------------

_FILE = "Strategic.v"
_RULE = """(forall j s (S : nat -> bool), (exists i, (i < n)%nat /\\ S i = true) ->
    (pick j s S < n)%nat /\\ S (pick j s S) = true) ->"""
_SYSTEM = "arr tgt pick srv st0"


def _drift(threshold: str) -> str:
    """The inequality of the longest queue, for every system with M above the threshold."""
    return f"""forall st0 W i, (0 < n)%nat -> (0 < m)%nat -> (i < n)%nat ->
  ({threshold} <= M n {_SYSTEM} 0)%nat ->
  (Z.of_nat (Strategic.N n {_SYSTEM} i W) - Z.of_nat (M n {_SYSTEM} 0)
   <= Z.of_nat (A arr i W) - (Z.of_nat W - Z.of_nat (Bmin n m {_SYSTEM} W))
      + Reg n m {_SYSTEM} i W)%Z"""


_BUSY = Mutant(
    _FILE,
    "nsum W (fun s => b2n (post (st s) s j)).\nDefinition V",
    "nsum W (fun s => b2n (full (st s) j)).\nDefinition V",
    "busy steps counted before acceptance",
)

THEOREMS = (
    Theorem(
        claim="strategic.flow_identity",
        proof="Strategic.accepted_served",
        statement=f"""forall n arr tgt pick srv st0 j W,
  (acc_j n {_SYSTEM} j W <= served n {_SYSTEM} j W + 1)%nat /\\
  (served n {_SYSTEM} j W <= acc_j n {_SYSTEM} j W + 1)%nat""",
        covers="accepted and completed packets differ by one at most, on every path",
        anchors=_PERIODS,
        refutations=(
            f"""Strategic.gap_0_false : ~ (forall n arr tgt pick srv st0 j W,
  (acc_j n {_SYSTEM} j W <= served n {_SYSTEM} j W)%nat)""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "full := fun j => post st s j && negb (srv j s) |}.",
                "full := fun j => post st s j |}.",
                "a server that never becomes free",
            ),
        ),
        axioms="none",
    ),
    Theorem(
        claim="strategic.flow_identity",
        proof="Strategic.server_flow",
        statement=f"""forall n arr tgt pick srv st0 j W,
  (b2n (full st0 j) + acc_j n {_SYSTEM} j W)%nat =
  (b2n (full (st n {_SYSTEM} W) j) + served n {_SYSTEM} j W)%nat""",
        covers="the difference is the change of the buffer",
        anchors=_PERIODS,
        refutations=(
            f"""Strategic.flow_without_buffers_false : ~ (forall n arr tgt pick srv st0 j W,
  acc_j n {_SYSTEM} j W = served n {_SYSTEM} j W)""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "b2n (post (st s) s j && srv j s)).",
                "b2n (full (st s) j && srv j s)).",
                "services of packets that are there at the start of the step",
            ),
        ),
        axioms="none",
    ),
    Theorem(
        claim="strategic.flow_identity",
        proof="Strategic.free_steps",
        statement=f"""forall n arr tgt pick srv st0 j W,
  (nsum W (fun s => b2n (negb (full (st n {_SYSTEM} s) j))) + B n {_SYSTEM} j W)%nat =
  (W + acc_j n {_SYSTEM} j W)%nat""",
        covers="the number of steps in which the buffer is free just before acceptance",
        anchors=_PERIODS,
        refutations=(
            f"""Strategic.free_steps_false : ~ (forall n arr tgt pick srv st0 j W,
  (nsum W (fun s => b2n (negb (full (st n {_SYSTEM} s) j))) + B n {_SYSTEM} j W)%nat = W)""",
        ),
        mutants=(_BUSY,),
        axioms="none",
    ),
    Theorem(
        claim="strategic.longest_queue_drift",
        proof="Strategic.longest_queue_drift",
        statement=f"forall n m arr tgt pick srv,\n  {_RULE}\n  {_drift('W')}",
        covers="the inequality on every path, for every queue, any choices and any acceptance rule",
        anchors=_PERIODS,
        refutations=(
            "Strategic.drift_false : ~ (forall n m arr tgt pick srv,\n"
            f"  (forall i s, (tgt i s < m)%nat) ->\n  {_RULE}\n  {_drift('W - 1')})",
        ),
        mutants=(
            Mutant(
                _FILE,
                "0 < m -> i < n -> W <= M 0 ->",
                "0 < m -> i < n -> W <= S (M 0) ->",
                "one packet less",
            ),
            _BUSY,
        ),
        axioms="none",
    ),
    Theorem(
        claim="strategic.longest_queue_drift",
        proof="Strategic.longest_queue_drift_max",
        statement=f"""forall n m arr tgt pick srv,
  {_RULE}
  forall st0 W, (0 < n)%nat -> (0 < m)%nat -> (W <= M n {_SYSTEM} 0)%nat ->
  exists i, (i < n)%nat /\\ Strategic.N n {_SYSTEM} i W = M n {_SYSTEM} W /\\
  (Z.of_nat (M n {_SYSTEM} W) - Z.of_nat (M n {_SYSTEM} 0)
   <= Z.of_nat (A arr i W) - (Z.of_nat W - Z.of_nat (Bmin n m {_SYSTEM} W))
      + Reg n m {_SYSTEM} i W)%Z""",
        covers="the inequality for a queue that is longest at the end",
        anchors=_PERIODS,
        refutations=(
            f"""Strategic.drift_max_false : ~ (forall n m arr tgt pick srv,
  {_RULE}
  forall st0 W, (0 < n)%nat -> (0 < m)%nat -> (W - 1 <= M n {_SYSTEM} 0)%nat ->
  exists i, (i < n)%nat /\\ Strategic.N n {_SYSTEM} i W = M n {_SYSTEM} W /\\
  (Z.of_nat (M n {_SYSTEM} W) - Z.of_nat (M n {_SYSTEM} 0)
   <= Z.of_nat (A arr i W) - (Z.of_nat W - Z.of_nat (Bmin n m {_SYSTEM} W))
      + Reg n m {_SYSTEM} i W)%Z)""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "forall W, 0 < n -> 0 < m -> W <= M 0 ->\n  exists i",
                "forall W, 0 < n -> 0 < m -> W <= S (M 0) ->\n  exists i",
                "one packet less",
            ),
        ),
        axioms="none",
    ),
    Theorem(
        claim="strategic.longest_queue_drift",
        proof="Strategic.longest_queue_drift_good",
        statement=f"""forall n m arr tgt pick srv,
  {_RULE}
  forall st0 W lmax delta, (0 < n)%nat -> (0 < m)%nat -> (W <= M n {_SYSTEM} 0)%nat ->
  (forall i, (i < n)%nat -> INR (A arr i W) <= (lmax + delta) * INR W) ->
  (forall i, (i < n)%nat -> IZR (Reg n m {_SYSTEM} i W) <= delta * INR W) ->
  INR (M n {_SYSTEM} W) - INR (M n {_SYSTEM} 0)
   <= lmax * INR W - (INR W - INR (Bmin n m {_SYSTEM} W)) + 2 * delta * INR W""",
        covers="the inequality of the source, with few arrivals and little regret",
        anchors=_PERIODS,
        refutations=(
            f"""Strategic.delta_once_false : ~ (forall n m arr tgt pick srv,
  {_RULE}
  forall st0 W lmax delta, (0 < n)%nat -> (0 < m)%nat -> (W <= M n {_SYSTEM} 0)%nat ->
  (forall i, (i < n)%nat -> INR (A arr i W) <= (lmax + delta) * INR W) ->
  (forall i, (i < n)%nat -> IZR (Reg n m {_SYSTEM} i W) <= delta * INR W) ->
  INR (M n {_SYSTEM} W) - INR (M n {_SYSTEM} 0)
   <= lmax * INR W - (INR W - INR (Bmin n m {_SYSTEM} W)) + delta * INR W)""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "(INR W - INR (Bmin W)) + 2 * delta * INR W)%R.",
                "(INR W - INR (Bmin W)) + delta * INR W)%R.",
                "delta once",
            ),
        ),
    ),
    Theorem(
        claim="strategic.total_drift",
        proof="Strategic.total_drift",
        statement=f"""forall n m arr tgt pick srv, (forall i s, (tgt i s < m)%nat) ->
  {_RULE}
  forall st0 W,
  (Tot n {_SYSTEM} W + nsum m (fun j => served n {_SYSTEM} j W)
    + nsum m (fun j => b2n (full (st n {_SYSTEM} W) j)))%nat =
  (Tot n {_SYSTEM} 0 + nsum n (fun i => A arr i W) + nsum m (fun j => b2n (full st0 j)))%nat""",
        covers="the conservation of packets, on every path",
        anchors=_PERIODS,
        refutations=(
            f"""Strategic.conserved_without_buffers_false : ~ (forall n m arr tgt pick srv,
  (forall i s, (tgt i s < m)%nat) ->
  {_RULE}
  forall st0 W, (Tot n {_SYSTEM} W + nsum m (fun j => served n {_SYSTEM} j W))%nat
    = (Tot n {_SYSTEM} 0 + nsum n (fun i => A arr i W))%nat)""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "pick j s S < n /\\ S (pick j s S) = true.",
                "pick j s S < n.",
                "a rule that may accept a queue that did not ask",
            ),
        ),
        axioms="none",
    ),
    Theorem(
        claim="strategic.total_drift",
        proof="Strategic.total_drift_bound",
        statement=f"""forall n m arr tgt pick srv, (forall i s, (tgt i s < m)%nat) ->
  {_RULE}
  forall st0 W,
  (Tot n {_SYSTEM} W + nsum m (fun j => served n {_SYSTEM} j W)
    <= Tot n {_SYSTEM} 0 + nsum n (fun i => A arr i W) + m)%nat""",
        covers="the bound with m packets more, on every path",
        anchors=_PERIODS,
        refutations=(
            f"""Strategic.total_less_false : ~ (forall n m arr tgt pick srv,
  (forall i s, (tgt i s < m)%nat) ->
  {_RULE}
  forall st0 W,
  (Tot n {_SYSTEM} W + nsum m (fun j => served n {_SYSTEM} j W)
    <= Tot n {_SYSTEM} 0 + nsum n (fun i => A arr i W) + (m - 1))%nat)""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "<= Tot 0 + nsum n (fun i => A i W) + m.",
                "<= Tot 0 + nsum n (fun i => A i W).",
                "without m",
            ),
        ),
        axioms="none",
    ),
    Theorem(
        claim="strategic.potential_drift",
        proof="Strategic.potential_cancel",
        statement="""forall lam mu lmax b err W m dN dM, 0 <= mu ->
  dN <= lam * W - mu * b + m -> dM <= lmax * W - W + b + err ->
  dN + mu * dM <= - (mu * (1 - lmax) - lam) * W + m + mu * err""",
        covers="the busy steps b cancel with the weight mu, in the sum of the two drift bounds (item 2)",
        refutations=(
            """Strategic.potential_larger_weight_false : forall v mu, 0 <= mu < v ->
  ~ (forall lam lmax b W m0 dN dM, 0 <= b <= W ->
     dN <= lam * W - mu * b + m0 -> dM <= lmax * W - W + b ->
     dN + v * dM <= - (v * (1 - lmax) - lam) * W + m0)""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "dM <= lmax * W - W + b + err ->",
                "dM <= lmax * W - W + 2 * b + err ->",
                "busy steps that count twice",
            ),
        ),
    ),
    Theorem(
        claim="strategic.potential_drift",
        proof="Strategic.potential_region",
        statement="""forall n mu N M W, 0 <= n -> 0 < n + mu -> N <= n * M ->
  (n + mu) * W <= N + mu * M -> W <= M""",
        covers="a large potential means a long queue (item 1)",
        refutations=(
            """Strategic.region_false : ~ (forall n mu N M W, 0 <= n -> 0 < n + mu -> N <= n * M ->
  n * W <= N + mu * M -> W <= M)""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "(n + mu) * W <= N + mu * M -> W <= M.",
                "n * W <= N + mu * M -> W <= M.",
                "a smaller potential",
            ),
        ),
    ),
    Theorem(
        claim="strategic.potential_drift",
        proof="Strategic.potential_sign",
        statement="""forall D mu e m W, 0 < D -> 0 <= W -> mu * e <= D / 2 -> 2 * m / D < W ->
  - D * W + m + mu * (e * W) < 0""",
        covers="when the bound is negative (item 3)",
        refutations=(
            """Strategic.period_false : ~ (forall D mu e m W, 0 < D -> 0 <= W -> mu * e <= D / 2 ->
  19 / 10 * m / D < W -> - D * W + m + mu * (e * W) < 0)""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "mu * e <= D / 2 -> 2 * m / D < W ->",
                "mu * e <= D / 2 -> m / D < W ->",
                "half of the period",
            ),
        ),
    ),
    Theorem(
        claim="strategic.tightness",
        proof="Strategic.tightness_exactly",
        statement="""forall lam eps mu m, 0 < lam < 1 -> 0 < eps < 1 ->
  mu = (1 - eps) * lam / (1 - lam) -> mu < INR m ->
  hamacher m (fun _ => mu / INR m) = mu / (1 + mu - mu / INR m)
  /\\ (hamacher m (fun _ => mu / INR m) < lam <-> mu / eps < INR m)""",
        covers="item 1: the Hamacher sum, and that it is below lambda exactly for m > mu/epsilon",
        anchors=(
            Anchor("hamacher 2 (fun _ => 1/3) = 1/2", "unfold hamacher, rho, odds; simpl; lra"),
        ),
        refutations=(
            """Strategic.nine_servers_false : ~ (forall lam eps mu m, 0 < lam < 1 -> 0 < eps < 1 ->
  mu = (1 - eps) * lam / (1 - lam) -> mu < INR m ->
  (hamacher m (fun _ => mu / INR m) < lam <-> mu / eps <= INR m))""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "(hamacher m (fun _ => mu / INR m) < lam <-> mu / eps < INR m).",
                "(hamacher m (fun _ => mu / INR m) < lam <-> mu < INR m).",
                "no eps",
            ),
        ),
    ),
    Theorem(
        claim="strategic.tightness",
        proof="Strategic.tightness_example",
        statement=f"hamacher 10 (fun _ => 9/100) = {real(Fraction(90, 181))} /\\ 90/181 < 1/2",
        covers="ten servers of rate 9/100 clear 90/181 packets a step, less than 1/2",
        mutants=(
            Mutant(
                _FILE,
                "hamacher 10 (fun _ => 9/100) = 90/181 /\\",
                "hamacher 10 (fun _ => 9/100) = 91/181 /\\",
                "another numerator",
            ),
        ),
    ),
)

REACH = (
    Reach(
        "strategic.flow_identity",
        outside=(
            "the mean: that the mean number of services given the past is the rate times that "
            "of busy steps"
        ),
    ),
    Reach(
        "strategic.longest_queue_drift",
        outside=(
            "the table: how many paths there are, and on how many the inequality fails from "
            "one packet below"
        ),
    ),
    Reach(
        "strategic.total_drift",
        outside=(
            "the means given the past: the equality with b and the mean of b', and both "
            "bounds by busy steps"
        ),
    ),
    Reach(
        "strategic.potential_drift",
        outside=(
            "item 4; in item 2 both drift bounds in the mean, with the error (2 delta + 2 n "
            "zeta) W; in item 1 that N is at most n M"
        ),
    ),
    Reach(
        "strategic.tightness",
        outside=(
            "items 2 and 3, so that the mean queue grows; in the example the table, and that ten is "
            "the least number (item 1 with epsilon = 1/10)"
        ),
    ),
)
