"""What Coq's kernel checks of the claims on recharging servers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod

from checks.methods.coq_values import by_index, naturals, real
from checks.methods.kernel import Anchor, Mutant, Reach, Theorem

# Anchors: the definitions against a simulation that knows nothing of ages ---------------------------

RATES = (Fraction(1, 2), Fraction(1, 10), Fraction(3, 10))
_MU = by_index(RATES)


def _played(
    rates: Sequence[Fraction], actions: Sequence[int]
) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
    """What each arm paid, what each would have paid, and the busy probabilities at the end.

    Forward in time, with the probability that each buffer is full: a packet sent fills it for sure,
    and each step leaves it full with probability 1 - mu.
    """
    full = [Fraction(0)] * len(rates)
    paid, hindsight = list(full), list(full)
    for action in actions:
        hindsight = [total + 1 - busy for total, busy in zip(hindsight, full, strict=True)]
        paid[action] += 1 - full[action]
        full[action] = Fraction(1)
        full = [busy * (1 - rate) for busy, rate in zip(full, rates, strict=True)]
    return paid, hindsight, full


_COMPUTE = "unfold U, Hind, Uarm, avail; simpl; lra"
_MAXIMUM = (  # each maximum of two numbers, the innermost first
    "unfold regret; cbn [maxn Nat.sub]; unfold Hind, U, avail; simpl; "
    "repeat (match goal with |- context [Rmax ?a ?b] => "
    "lazymatch a with context [Rmax _ _] => fail | _ => "
    "first [rewrite (Rmax_left a b) by lra | rewrite (Rmax_right a b) by lra] end end); lra"
)


def _anchors_of_sequences() -> tuple[Anchor, ...]:
    """Utilities, hindsight values, boundary terms and regrets of three drawn sequences."""
    source = random.Random(7)
    found = []
    for length in (1, 4, 6):
        actions = [source.randrange(3) for _ in range(length)]
        paid, hindsight, full = _played(RATES, actions)
        history = naturals(actions[::-1])
        found += [
            Anchor(f"U {_MU} {history} = {real(sum(paid))}", _COMPUTE),
            Anchor(f"Hind {_MU} {history} 2%nat = {real(hindsight[2])}", _COMPUTE),
            Anchor(f"Uarm {_MU} {history} 0%nat = {real(paid[0])}", _COMPUTE),
            Anchor(
                f"bdry {_MU} {history} 0%nat = {real(full[0] / (1 - RATES[0]))}",
                "unfold bdry; simpl; lra",
            ),
            Anchor(f"regret 3 {_MU} {history} = {real(max(hindsight) - sum(paid))}", _MAXIMUM),
        ]
    return tuple(found)


_ODDS = [rate / (1 - rate) for rate in RATES]
_H = sum(_ODDS) / (1 + sum(_ODDS))
_SEQUENCES = _anchors_of_sequences()
_NAMES = (
    Anchor(f"hamacher 3 {_MU} = {real(_H)}", "unfold hamacher, rho, odds; simpl; lra"),
    Anchor(f"rho 3 {_MU} = {real(sum(_ODDS))}", "unfold rho, odds; simpl; lra"),
    Anchor(
        "arms 2 [0%nat; 1%nat] /\\ ~ arms 2 [2%nat]",
        "split; [intros a Ha; simpl in Ha; lia | "
        "intros H; specialize (H 2%nat (or_introl eq_refl)); lia]",
    ),
    Anchor(
        f"rates 3 {_MU} /\\ ~ rates 1 (fun _ => 1)",
        "split; [intros [|[|[|j]]] Hj; simpl; try lra; lia | "
        "intros H; specialize (H 0%nat ltac:(lia)); lra]",
    ),
    # What hypotheses say, in full: one that asks for more would make every theorem say less.
    Anchor(
        "forall m mu, rates m mu <-> (forall j, (j < m)%nat -> 0 < mu j < 1)",
        "intros m mu; split; intros H; exact H",
    ),
    Anchor(
        "forall m h, arms m h <-> (forall a, In a h -> (a < m)%nat)",
        "intros m h; split; intros H; exact H",
    ),
)


def _expected(rates: Sequence[Fraction], law: Sequence[Fraction], length: int) -> list[Fraction]:
    """Mean utility and mean hindsight value of the last arm over all sequences, one by one."""
    totals = [Fraction(0), Fraction(0)]
    for actions in product(range(len(rates)), repeat=length):
        chance = prod((law[a] for a in actions), start=Fraction(1))
        paid, hindsight, _ = _played(rates, actions)
        totals[0] += chance * sum(paid)
        totals[1] += chance * hindsight[-1]
    return totals


_TWO = (Fraction(1, 2), Fraction(1, 4))
_LAW = (Fraction(2, 3), Fraction(1, 3))
_MEANS = _expected(_TWO, _LAW, 3)
_EXPECTATIONS = (
    Anchor(
        f"Ex 2 {by_index(_LAW)} 3 (U {by_index(_TWO)}) = {real(_MEANS[0])}",
        "cbn [Ex sumn]; unfold U, avail; simpl; lra",
    ),
    Anchor(
        f"Ex 2 {by_index(_LAW)} 3 (fun h => Hind {by_index(_TWO)} h 1) = {real(_MEANS[1])}",
        "cbn [Ex sumn]; unfold Hind, avail; simpl; lra",
    ),
    Anchor(
        f"norm_odds 3 {_MU} 2%nat = {real(_ODDS[2] / sum(_ODDS))}",
        "unfold norm_odds, rho, odds; simpl; lra",
    ),
)


def _belief(rate: Fraction, answers: Sequence[bool | None]) -> tuple[Fraction, Fraction]:
    """Joint probabilities of the answers with a buffer that is free, or full: over all services."""
    totals = {False: Fraction(0), True: Fraction(0)}
    for services in product((False, True), repeat=len(answers)):
        chance, full, possible = Fraction(1), False, True
        for answer, service in zip(answers, services, strict=True):
            if answer is not None:
                possible &= answer is not full
                full = True
            chance *= rate if service else 1 - rate
            full &= not service
        totals[full] += chance * possible
    return totals[False], totals[True]


_ANSWERS = (True, None, False, None, None)
_FREE, _FULL = _belief(Fraction(1, 4), _ANSWERS)
_COQ_ANSWERS = "; ".join(
    "None" if a is None else f"Some {str(a).lower()}" for a in reversed(_ANSWERS)
)
_BELIEFS = (
    Anchor(
        f"fst (belief (1 / 4) [{_COQ_ANSWERS}]) = {real(_FREE)} /\\ "
        f"snd (belief (1 / 4) [{_COQ_ANSWERS}]) = {real(_FULL)}",
        "split; simpl; lra",
    ),
    Anchor(f"last_use [{_COQ_ANSWERS}] = Some 3%nat", "reflexivity"),
)

_LOWER = (*_SEQUENCES, *_NAMES)
_LAW_OF_LENGTH = (
    Anchor(
        "Law [(1/3, [0%nat]); (2/3, [1%nat; 0%nat])] (fun h => INR (length h)) = 5/3",
        "unfold Law; simpl; lra",
    ),
)
_RECHARGE, _RATIO, _OPTIMUM = "Recharge.v", "Ratio.v", "Optimum.v"
_LAWS = """(forall T, (forall w h, In (w, h) (d T) -> 0 <= w /\\ arms m h /\\ length h = T)
    /\\ Law (d T) (fun _ => 1) = 1) ->"""
_NO_REGRET = """(forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    Law (d T) (regret m mu) <= eps * INR T) ->"""
_APPROACHED = """(forall eps T0, 0 < eps -> exists h, (T0 <= length h)%nat /\\ arms m h
    /\\ (v - eps) * INR (length h) <= U mu h) ->"""


def _past(
    rates: Sequence[Fraction], steps: Sequence[tuple[int, bool] | None], chosen: Fraction
) -> tuple[Fraction, Fraction]:
    """Chance of choices and answers, and of these with a free server 0 then: over all services.

    Each choice, of a server or of no packet, has the same chance, whatever the past.
    """
    totals = [Fraction(0), Fraction(0)]
    in_a_step = list(product((False, True), repeat=len(rates)))
    for services in product(in_a_step, repeat=len(steps)):
        chance, full, possible = Fraction(1), [False] * len(rates), True
        for step, served in zip(steps, services, strict=True):
            chance *= chosen
            if step is not None:
                server, accepted = step
                possible &= accepted is not full[server]
                full[server] = True
            for server, (rate, done) in enumerate(zip(rates, served, strict=True)):
                chance *= rate if done else 1 - rate
                full[server] &= not done
        totals[0] += chance * possible
        totals[1] += chance * possible * (not full[0])
    return totals[0], totals[1]


_STEPS = ((0, True), (1, True), (0, False), None)
_CHANCE, _CHANCE_FREE = _past(_TWO, _STEPS, Fraction(1, 3))
_COQ_STEPS = "; ".join(
    "None" if step is None else f"Some ({step[0]}%nat, {str(step[1]).lower()})"
    for step in reversed(_STEPS)
)
_JOINT = f"joint 2 {by_index(_TWO)} (fun _ _ => 1 / 3) [{_COQ_STEPS}]"
_PASTS = (
    Anchor(
        "last_use [None; Some false; None; Some true] = Some 2%nat /\\ last_use [None] = None",
        "split; reflexivity",
    ),
    Anchor(
        "seen 1 (Some (1%nat, true)) = Some true /\\ seen 0 (Some (1%nat, true)) = None "
        "/\\ seen 0 None = None",
        "repeat split; reflexivity",
    ),
    Anchor(f"sum_states 2 ({_JOINT}) = {real(_CHANCE)}", "cbn; lra"),
    Anchor(  # the learner sees all that was before, and nothing else
        f"forall learner, sum_states 2 (joint 2 {by_index(_TWO)} learner [{_COQ_STEPS}]) = "
        "learner [] (Some 0%nat) * learner [Some (0%nat, true)] (Some 1%nat) "
        "* learner [Some (1%nat, true); Some (0%nat, true)] (Some 0%nat) "
        "* learner [Some (0%nat, false); Some (1%nat, true); Some (0%nat, true)] None "
        f"* {real(81 * _CHANCE)}",
        "intros; cbn; field",
    ),
    Anchor(
        f"sum_states 2 (fun x => {_JOINT} x * (if x 0%nat then 1 else 0)) = {real(_CHANCE_FREE)}",
        "cbn; lra",
    ),
)


# Theorems -------------------------------------------------------------------------------------------

_PAYS = Theorem(
    claim="recharge.age_state",
    proof="Recharge.pull_pays_avail",
    statement="""forall m mu learner es a, (a < m)%nat ->
  sum_states m (fun x => joint m mu learner (map Some es) x * (if x a then 1 else 0))
  = avail mu (map fst es) a * sum_states m (joint m mu learner (map Some es))""",
    covers="that a pull pays 1 - q^d given the past, whatever the learner and the answers",
    anchors=_PASTS,
    mutants=(
        Mutant(
            _RECHARGE,
            "sum_states m (fun x => joint m mu learner (map Some es) x * (if x a then 1 else 0))\n"
            "  = avail mu (map fst es) a *",
            "sum_states m (fun x => joint m mu learner (map Some es) x * (if x a then 1 else 0))\n"
            "  = avail mu (map fst (tl es)) a *",
            "one step too early",
        ),
    ),
)

_HAS_LAWS = Theorem(
    claim="recharge.hamacher_lower_bound",
    proof="Feedback.learner_has_laws",
    statement="""forall m mu learner, rates m mu ->
  (forall t, (forall a, 0 <= learner t a) /\\ sumn m (fun a => learner t (Some a)) = 1) ->
  forall T, let d := map (fun es => (sum_states m (joint m mu learner (map Some es)), map fst es))
      (pasts m T) in
  (forall w h, In (w, h) d -> 0 <= w /\\ arms m h /\\ length h = T) /\\ Law d (fun _ => 1) = 1""",
    covers="that any learner with feedback and coins has such a law over sequences for each T",
    anchors=(
        Anchor(
            "pasts 2 1 = [[(0%nat, true)]; [(0%nat, false)]; [(1%nat, true)]; [(1%nat, false)]]",
            "reflexivity",
        ),
        Anchor("length (pasts 2 3) = 64%nat", "reflexivity"),
        *_PASTS,
    ),
    mutants=(
        Mutant(
            "Feedback.v",
            "(forall a, 0 <= learner t a) /\\ sumn m (fun a => learner t (Some a)) = 1.",
            "(forall a, 0 <= learner t a) /\\ sumn m (fun a => learner t (Some a)) <= 1.",
            "choices that are lost",
        ),
    ),
)
_OPT = Theorem(
    claim="recharge.opt_upper_bound",
    proof="Optimum.opt_is_approached",
    statement="""forall m mu v,
  is_lub (fun x => exists a, (forall t, (a t < m)%nat) /\\ forall eps T0, 0 < eps ->
    exists T, (T0 <= T)%nat /\\ (x - eps) * INR T <= U mu (hist a T)) v ->
  forall eps T0, 0 < eps -> exists h, (T0 <= length h)%nat /\\ arms m h
    /\\ (v - eps) * INR (length h) <= U mu h""",
    covers="OPT, the least upper bound of what infinite schedules reach, is what they come close to",
    anchors=_SEQUENCES[:1],
    mutants=(
        Mutant(
            "Optimum.v",
            "is_lub (reaches m mu) v -> approached m mu v.",
            "is_upper_bound (reaches m mu) v -> approached m mu v.",
            "any upper bound",
        ),
    ),
    axioms="classic",
)
_OF_LAWS = Theorem(
    claim="recharge.opt_upper_bound",
    proof="Optimum.approached_by_laws",
    statement=f"""forall m mu v,
  (forall eps T0, 0 < eps -> exists T d, (T0 <= T)%nat
    /\\ (forall w h, In (w, h) d -> 0 <= w /\\ arms m h /\\ length h = T) /\\ Law d (fun _ => 1) = 1
    /\\ (v - eps) * INR T <= Law d (U mu)) ->
  {_APPROACHED.removesuffix(" ->")}""",
    covers="policies with coins and feedback come close to no more than schedules do",
    anchors=(*_LAW_OF_LENGTH, *_SEQUENCES[:1]),
    mutants=(
        Mutant(
            "Optimum.v",
            "/\\ (v - eps) * INR T <= Law d (U mu)) -> approached m mu v.",
            "/\\ (v - 2 * eps) * INR T <= Law d (U mu)) -> approached m mu v.",
            "twice as far",
        ),
    ),
)

THEOREMS = (
    Theorem(
        claim="recharge.age_state",
        proof="Recharge.free_probability",
        statement="""forall mu es,
  fst (belief mu es) = (fst (belief mu es) + snd (belief mu es))
     * match last_use es with None => 1 | Some d => 1 - (1 - mu) ^ d end""",
        covers="one server, any record of its answers: it is free with chance 1 - q^d at age d",
        anchors=_BELIEFS,
        refutations=(
            """Recharge.reset_by_acceptance_false : ~ (forall mu es, 0 < mu < 1 ->
  fst (belief mu es) = (fst (belief mu es) + snd (belief mu es))
     * match last_acceptance es with None => 1 | Some d => 1 - (1 - mu) ^ d end)""",
        ),
        mutants=(
            Mutant(
                _RECHARGE,
                "| Some true => (mu * fst w, (1 - mu) * fst w)",
                "| Some true => (fst w, (1 - mu) * fst w)",
                "a server that accepts stays free",
            ),
        ),
    ),
    Theorem(
        claim="recharge.age_state",
        proof="Recharge.pull_pays",
        statement="""forall m mu learner es a, (a < m)%nat ->
  sum_states m (fun x => joint m mu learner es x * (if x a then 1 else 0))
  = match last_use (map (seen a) es) with None => 1 | Some d => 1 - (1 - mu a) ^ d end
    * sum_states m (joint m mu learner es)""",
        covers="all servers at once, any learner: acceptance given all choices and answers",
        anchors=(*_PASTS, *_BELIEFS),
        mutants=(
            Mutant(
                _RECHARGE,
                "  | Some true, false => 0\n  | Some false, true => 0\n",
                "  | Some true, false => 0\n",
                "a free server that rejects",
            ),
        ),
    ),
    _PAYS,
    Theorem(
        claim="recharge.age_state",
        proof="Feedback.chance_answers",
        statement="""forall m mu learner a t, (a < m)%nat ->
  let chance es := sum_states m (joint m mu learner (map Some es)) in
  chance ((a, true) :: t) + chance ((a, false) :: t) = learner (map Some t) (Some a) * chance t""",
        covers="accepted or rejected: the chances of both answers add up to that of the choice",
        anchors=_PASTS,
        mutants=(
            Mutant(
                "Feedback.v",
                "  = learner (map Some t) (Some a) * chance m mu learner t.",
                "  = learner (map Some t) (Some 0%nat) * chance m mu learner t.",
                "another choice",
            ),
        ),
    ),
    replace(_PAYS, claim="recharge.per_arm_identity"),
    Theorem(
        claim="recharge.per_arm_identity",
        proof="Recharge.per_arm_identity",
        statement="""forall (mu : nat -> R) (h : list nat) (j : nat), 0 < mu j < 1 ->
  Hind mu h j = INR (length h) - (Uarm mu h j - bdry mu h j) / (mu j / (1 - mu j))""",
        covers="the identity: any sequence over any number of arms",
        anchors=_SEQUENCES,
        refutations=(
            """Recharge.gap_false : ~ (forall (d : nat) (mu : R), 0 < mu < 1 ->
  sumn d (fun s => 1 - (1 - mu) ^ (S s)) = INR d - 1 / mu * (1 - (1 - mu) ^ d))""",
        ),
        mutants=(
            Mutant(
                _RECHARGE,
                "| Some d => (1 - mu j) ^ (d - 1) end.",
                "| Some d => (1 - mu j) ^ d end.",
                "the boundary term one step later",
            ),
        ),
    ),
    Theorem(
        claim="recharge.per_arm_identity",
        proof="Recharge.gap_identity",
        statement="""forall (d : nat) (mu : R), mu <> 0 ->
  sumn d (fun s => 1 - (1 - mu) ^ (S s)) = INR d - (1 - mu) / mu * (1 - (1 - mu) ^ d)""",
        covers="the sum over one gap between two pulls",
        anchors=(Anchor("sumn 3 (fun s => INR s * INR s) = 5", "simpl; lra"),),
        mutants=(
            Mutant(
                _RECHARGE,
                "INR d - (1 - mu) / mu * (1 - (1 - mu) ^ d).",
                "INR d - 1 / mu * (1 - (1 - mu) ^ d).",
                "1/mu for the inverse odds",
            ),
        ),
    ),
    replace(_PAYS, claim="recharge.utility_identity"),
    Theorem(
        claim="recharge.utility_identity",
        proof="Recharge.utility_identity",
        statement="""forall m mu h, rates m mu -> arms m h ->
  (1 + rho m mu) * U mu h = rho m mu * INR (length h)
    - sumn m (fun j => odds mu j * (Hind mu h j - U mu h)) + sumn m (bdry mu h)""",
        covers="the identity, for any sequence over any number of arms",
        anchors=_LOWER,
        refutations=(
            """Recharge.utility_without_boundary_false : ~ (forall m mu h, rates m mu -> arms m h ->
  (1 + rho m mu) * U mu h =
    rho m mu * INR (length h) - sumn m (fun j => odds mu j * (Hind mu h j - U mu h)))""",
        ),
        mutants=(
            Mutant(
                _RECHARGE,
                "    + sumn m (bdry mu h).\nProof",
                "    + 2 * sumn m (bdry mu h).\nProof",
                "the boundary terms twice",
            ),
        ),
    ),
    Theorem(
        claim="recharge.utility_identity",
        proof="Recharge.utility_a_step",
        statement="""forall m mu h, (0 < m)%nat -> rates m mu -> arms m h -> (0 < length h)%nat ->
  let T := INR (length h) in
  U mu h / T = hamacher m mu
      * (1 - sumn m (fun j => odds mu j / rho m mu * ((Hind mu h j - U mu h) / T)))
    + / ((1 + rho m mu) * T) * sumn m (bdry mu h)""",
        covers="the second form, a step",
        anchors=(*_SEQUENCES, *_NAMES),
        mutants=(
            Mutant(
                _RECHARGE,
                "+ / ((1 + rho m mu) * T) * sumn m (bdry mu h).",
                "+ / (rho m mu * T) * sumn m (bdry mu h).",
                "rho for 1 + rho",
            ),
        ),
    ),
    Theorem(
        claim="recharge.utility_identity",
        proof="Recharge.Uarm_sum",
        statement="forall m mu h, arms m h -> sumn m (Uarm mu h) = U mu h",
        covers="the utility of a sequence is the sum of what its arms paid",
        anchors=_SEQUENCES,
        mutants=(
            Mutant(
                _RECHARGE,
                "arms m h -> sumn m (Uarm mu h) = U mu h.",
                "sumn m (Uarm mu h) = U mu h.",
                "arms outside, too",
            ),
        ),
    ),
    replace(_PAYS, claim="recharge.hamacher_lower_bound"),
    Theorem(
        claim="recharge.hamacher_lower_bound",
        proof="Recharge.hamacher_pathwise",
        statement="""forall m mu h, (0 < m)%nat -> rates m mu -> arms m h ->
  U mu h >= hamacher m mu * (INR (length h) - regret m mu h)""",
        covers="the bound for every sequence, however it was chosen",
        anchors=_LOWER,
        refutations=(
            """Recharge.hamacher_false : ~ (forall m mu h, (0 < m)%nat -> rates m mu -> arms m h ->
  U mu h >= 101/100 * hamacher m mu * (INR (length h) - regret m mu h))""",
        ),
        mutants=(
            Mutant(
                _RECHARGE,
                "U mu h >= hamacher m mu * (INR (length h) - regret m mu h).\nProof.",
                "U mu h >= 101/100 * hamacher m mu * (INR (length h) - regret m mu h).\nProof.",
                "1.01 times h",
            ),
        ),
    ),
    _HAS_LAWS,
    Theorem(
        claim="recharge.hamacher_lower_bound",
        proof="Recharge.hamacher_expected",
        statement="""forall m mu T d, (0 < m)%nat -> rates m mu ->
  (forall w h, In (w, h) d -> 0 <= w /\\ arms m h /\\ length h = T) -> Law d (fun _ => 1) = 1 ->
  Law d (U mu) >= hamacher m mu * (INR T - Law d (regret m mu))""",
        covers="the bound in the mean for every T: any finite law over sequences, so any learner",
        anchors=(*_LAW_OF_LENGTH, *_LOWER[:5]),
        mutants=(
            Mutant(
                _RECHARGE,
                "hamacher m mu * (INR T - Law d (regret m mu)).",
                "hamacher m mu * (INR T - Law d (regret m mu) / 2).",
                "half of the regret",
            ),
        ),
    ),
    Theorem(
        claim="recharge.hamacher_lower_bound",
        proof="Recharge.hamacher_expected_each_arm",
        statement="""forall m mu T d K, (0 < m)%nat -> rates m mu ->
  (forall w h, In (w, h) d -> 0 <= w /\\ arms m h /\\ length h = T) -> Law d (fun _ => 1) = 1 ->
  (forall j, (j < m)%nat -> Law d (fun h => Hind mu h j - U mu h) <= K) ->
  Law d (U mu) >= hamacher m mu * (INR T - K)""",
        covers="the same from the expected regret against each single arm",
        anchors=_NAMES[:1],
        mutants=(
            Mutant(
                _RECHARGE,
                "Law d (fun h => Hind mu h j - U mu h) <= K) ->",
                "Law d (fun h => Hind mu h j - U mu h) <= 2 * K) ->",
                "twice the regret",
            ),
        ),
    ),
    Theorem(
        claim="recharge.hamacher_lower_bound",
        proof="Recharge.no_regret_liminf",
        statement="""forall m mu a, (0 < m)%nat -> rates m mu -> (forall t, (a t < m)%nat) ->
  (forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat -> regret m mu (hist a T) <= eps * INR T) ->
  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    U mu (hist a T) >= (hamacher m mu - eps) * INR T""",
        covers="the limit on each path with no regret, hence almost surely",
        anchors=(
            Anchor("hist (fun t => (2 * t)%nat) 3 = [4%nat; 2%nat; 0%nat]", "reflexivity"),
            *_NAMES[:1],
        ),
        mutants=(
            Mutant(
                _RECHARGE,
                "U mu (hist a T) >= (hamacher m mu - eps) * INR T.",
                "U mu (hist a T) >= hamacher m mu * INR T.",
                "no eps",
            ),
        ),
    ),
    Theorem(
        claim="recharge.hamacher_lower_bound",
        proof="Recharge.no_regret_mean",
        statement=f"""forall m mu d, (0 < m)%nat -> rates m mu ->
  {_LAWS}
  {_NO_REGRET}
  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    Law (d T) (U mu) >= (hamacher m mu - eps) * INR T""",
        covers="the limit in expectation",
        anchors=_LAW_OF_LENGTH,
        mutants=(
            Mutant(
                _RECHARGE,
                "Law (d T) (regret m mu) <= eps * INR T) ->\n"
                "  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->\n"
                "    Law (d T) (U mu) >= (hamacher m mu - eps) * INR T.",
                "Law (d T) (regret m mu) <= eps * INR T) ->\n"
                "  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->\n"
                "    Law (d T) (U mu) >= hamacher m mu * INR T.",
                "no eps",
            ),
        ),
    ),
    Theorem(
        claim="recharge.hamacher_lower_bound",
        proof="Recharge.no_regret_mean_each_arm",
        statement=f"""forall m mu d, (0 < m)%nat -> rates m mu ->
  {_LAWS}
  (forall j, (j < m)%nat -> forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    Law (d T) (fun h => Hind mu h j - U mu h) <= eps * INR T) ->
  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    Law (d T) (U mu) >= (hamacher m mu - eps) * INR T""",
        covers="the limit in expectation from regret o(T) against each single arm",
        anchors=_LAW_OF_LENGTH,
        mutants=(
            Mutant(
                _RECHARGE,
                "Law (d T) (fun h => Hind mu h j - U mu h) <= eps * INR T) ->",
                "Law (d T) (fun h => Hind mu h j - U mu h) <= INR T) ->",
                "a regret that every learner has",
            ),
        ),
    ),
    Theorem(
        claim="recharge.hamacher_lower_bound",
        proof="Recharge.no_regret_probable",
        statement=f"""forall m mu d eta, (0 < m)%nat -> rates m mu ->
  {_LAWS}
  (forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    1 - eta <= Law (d T) (fun h => if Rle_dec (regret m mu h) (eps * INR T) then 1 else 0)) ->
  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    1 - eta <= Law (d T)
      (fun h => if Rle_dec ((hamacher m mu - eps) * INR T) (U mu h) then 1 else 0)""",
        covers="the limit with probability 1 - eta, for each eta: with high probability",
        anchors=_LAW_OF_LENGTH,
        mutants=(
            Mutant(
                _RECHARGE,
                "if Rle_dec ((hamacher m mu - eps) * INR T) (U mu h) then 1 else 0).",
                "if Rle_dec (hamacher m mu * INR T) (U mu h) then 1 else 0).",
                "no eps",
            ),
        ),
    ),
    replace(_PAYS, claim="recharge.greedy_no_regret"),
    Theorem(
        claim="recharge.greedy_no_regret",
        proof="Recharge.greedy_no_regret",
        statement="""forall m mu h j, greedy m mu h -> (j < m)%nat -> Hind mu h j - U mu h <= 0""",
        covers="no regret against any arm, at any horizon, ties broken anyhow",
        anchors=(
            Anchor(
                "greedy 2 (fun _ => 1/2) [1%nat; 0%nat] /\\ ~ greedy 2 (fun _ => 1/2) [0%nat; 0%nat]",
                "split; [simpl; split; [intros [|[|j]] Hj; unfold avail; simpl; try lra; lia | "
                "split; [intros [|[|j]] Hj; unfold avail; simpl; try lra; lia | exact I]] | "
                "intros [H _]; specialize (H 1%nat ltac:(lia)); unfold avail in H; simpl in H; lra]",
            ),
            Anchor(
                "forall m mu a t, greedy m mu (a :: t) <-> "
                "(forall j, (j < m)%nat -> avail mu t j <= avail mu t a) /\\ greedy m mu t",
                "intros m mu a t; split; intros H; exact H",
            ),
        ),
        refutations=(
            """Recharge.greedy_optimal_false : ~ (forall m mu h h', rates m mu -> greedy m mu h ->
  arms m h' -> length h' = length h -> U mu h' <= U mu h)""",
        ),
        mutants=(
            Mutant(
                _RECHARGE,
                "avail mu t j <= avail mu t a) /\\ greedy",
                "avail mu t a <= avail mu t j) /\\ greedy",
                "pull the worst arm",
            ),
        ),
    ),
    replace(_PAYS, claim="recharge.odds_best_memoryless"),
    Theorem(
        claim="recharge.odds_best_memoryless",
        proof="Memoryless.best_memoryless",
        statement="""forall m mu p, (0 < m)%nat -> rates m mu ->
  (forall j, (j < m)%nat -> 0 <= p j) -> sumn m p = 1 ->
  sumn m (fun j => p j * (odds mu j / (odds mu j + p j))) <= hamacher m mu""",
        covers="the sum over the arms is at most h, whatever the probabilities",
        anchors=_NAMES[:1],
        refutations=(
            """Memoryless.less_than_h_false : forall c, c < 1 -> ~ (forall m mu p, (0 < m)%nat ->
  rates m mu -> (forall j, (j < m)%nat -> 0 <= p j) -> sumn m p = 1 ->
  memo_value m mu p <= c * hamacher m mu)""",
        ),
        mutants=(
            Mutant(
                "Memoryless.v",
                "memo_value m mu p <= hamacher m mu.",
                "memo_value m mu p <= 99/100 * hamacher m mu.",
                "0.99 times h",
            ),
        ),
    ),
    Theorem(
        claim="recharge.odds_best_memoryless",
        proof="Memoryless.best_memoryless_unique",
        statement="""forall m mu p, (0 < m)%nat -> rates m mu ->
  (forall j, (j < m)%nat -> 0 <= p j) -> sumn m p = 1 ->
  sumn m (fun j => p j * (odds mu j / (odds mu j + p j))) = hamacher m mu ->
  forall j, (j < m)%nat -> p j = odds mu j / rho m mu""",
        covers="equality only for the normalized odds",
        anchors=_NAMES[:2],
        refutations=(
            """Memoryless.proportional_rates_false : ~ (forall m mu, (0 < m)%nat -> rates m mu ->
  memo_value m mu (fun j => mu j / sumn m mu) = hamacher m mu)""",
        ),
        mutants=(
            Mutant(
                "Memoryless.v",
                "(j : nat) : R := odds mu j / rho m mu.",
                "(j : nat) : R := mu j / rho m mu.",
                "rates for odds",
            ),
        ),
    ),
    Theorem(
        claim="recharge.odds_best_memoryless",
        proof="Memoryless.norm_odds_value",
        statement="""forall m mu, (0 < m)%nat -> rates m mu ->
  sumn m (fun j => odds mu j / rho m mu * (odds mu j / (odds mu j + odds mu j / rho m mu)))
  = hamacher m mu""",
        covers="the normalized odds attain h",
        anchors=_NAMES[:2],
        mutants=(
            Mutant(
                "Memoryless.v",
                "(j : nat) : R := odds mu j / rho m mu.",
                "(j : nat) : R := odds mu j / (1 + rho m mu).",
                "h for the sum of the weights",
            ),
        ),
    ),
    Theorem(
        claim="recharge.odds_best_memoryless",
        proof="Memoryless.geometric_age_value",
        statement="""forall mu p, 0 < mu < 1 -> 0 < p <= 1 ->
  infinite_sum (fun k : nat => (p * (1 - p) ^ k) * (1 - (1 - mu) ^ (S k)))
    ((mu / (1 - mu)) / (mu / (1 - mu) + p))""",
        covers="the mean pay of an arm that is used with probability p, as its age is geometric",
        mutants=(
            Mutant(
                "Memoryless.v",
                "(p * (1 - p) ^ k) * (1 - (1 - mu) ^ (S k))) ((mu",
                "(p * (1 - p) ^ k) * (1 - (1 - mu) ^ k)) ((mu",
                "one step less",
            ),
        ),
    ),
    replace(_PAYS, claim="recharge.normalized_odds_tight"),
    Theorem(
        claim="recharge.normalized_odds_tight",
        proof="Memoryless.normalized_odds_utility",
        statement="""forall m mu T, (0 < m)%nat -> rates m mu ->
  hamacher m mu * INR T <= Ex m (norm_odds m mu) T (U mu)
    <= hamacher m mu * INR T + sumn m (fun j => norm_odds m mu j / mu j)""",
        covers="the bounds on the mean utility for every T, over all sequences",
        anchors=(*_EXPECTATIONS, *_NAMES[:1]),
        refutations=(
            """Memoryless.normalized_odds_exact_false : ~ (forall m mu T, (0 < m)%nat -> rates m mu ->
  Ex m (norm_odds m mu) T (U mu) = hamacher m mu * INR T)""",
        ),
        mutants=(
            Mutant(
                "Memoryless.v",
                "<= hamacher m mu * INR T + sumn m (fun j => norm_odds m mu j / mu j).",
                "<= hamacher m mu * INR T.",
                "no constant",
            ),
        ),
    ),
    Theorem(
        claim="recharge.normalized_odds_tight",
        proof="Memoryless.normalized_odds_hindsight",
        statement="""forall m mu T j, (0 < m)%nat -> rates m mu -> (j < m)%nat ->
  hamacher m mu * INR T <= Ex m (norm_odds m mu) T (fun h => Hind mu h j)
    <= hamacher m mu * INR T + / mu j""",
        covers="the bounds on the mean value of each arm in hindsight, for every T",
        anchors=(*_EXPECTATIONS, *_NAMES[:1]),
        refutations=(
            """Memoryless.hindsight_exact_false : ~ (forall m mu T j, (0 < m)%nat -> rates m mu ->
  (j < m)%nat -> Ex m (norm_odds m mu) T (fun h => Hind mu h j) = hamacher m mu * INR T)""",
        ),
        mutants=(
            Mutant(
                "Memoryless.v",
                "(1 - mu j) * (p j + (1 - p j) * busy mu p j t) end.",
                "(1 - mu j) * (p j + busy mu p j t) end.",
                "a busy server that can be used twice",
            ),
        ),
    ),
    replace(_PAYS, claim="recharge.opt_upper_bound"),
    Theorem(
        claim="recharge.opt_upper_bound",
        proof="Optimum.opt_upper_bound",
        statement="""forall m mu h, rates m mu -> arms m h ->
  U mu h <= INR (length h) * (1 - prodn m (fun j => 1 - mu j)) + INR m""",
        covers="the bound by the product, for every sequence",
        anchors=(
            Anchor(
                f"prodn 3 (fun j => 1 - {_MU} j) = {real(prod(1 - rate for rate in RATES))}",
                "simpl; lra",
            ),
            *_SEQUENCES[:1],
            *_SEQUENCES[5:6],
            *_NAMES[2:],
        ),
        refutations=(
            """Optimum.opt_false : ~ (exists K : R, forall h, arms 2 h ->
  U (fun _ => 1/2) h <= INR (length h) * (1 - prodq 2 (fun _ => 1/2) - 1/100) + K)""",
        ),
        mutants=(
            Mutant(
                _OPTIMUM,
                "U mu h <= INR (length h) * (1 - prodq m mu) + INR m.\nProof.",
                "U mu h <= INR (length h) * (1 - prodq m mu - 1/100) + INR m.\nProof.",
                "0.01 less per step",
            ),
        ),
        axioms="classic",
    ),
    Theorem(
        claim="recharge.opt_upper_bound",
        proof="Optimum.prodq_ge_exp_rho",
        statement="""forall m mu, rates m mu ->
  exp (- sumn m (fun j => mu j / (1 - mu j))) <= prodn m (fun j => 1 - mu j)""",
        covers="the bound by the exponential",
        refutations=(
            """Optimum.half_odds_false : ~ (forall m mu, rates m mu ->
  exp (- sumn m (fun j => mu j / (1 - mu j)) / 2) <= prodn m (fun j => 1 - mu j))""",
        ),
        mutants=(
            Mutant(
                _OPTIMUM,
                "exp (- rho m mu) <= prodq m mu.\nProof.",
                "exp (- rho m mu / 2) <= prodq m mu.\nProof.",
                "half of the odds",
            ),
        ),
        axioms="classic",
    ),
    _OPT,
    _OF_LAWS,
    Theorem(
        claim="recharge.opt_upper_bound",
        proof="Optimum.opt_at_most",
        statement=f"""forall m mu v, rates m mu ->
  {_APPROACHED}
  v <= 1 - prodn m (fun j => 1 - mu j)""",
        covers="that OPT is at most 1 - prod q: OPT is what sequences of any length come close to",
        anchors=_SEQUENCES[:1],
        mutants=(
            Mutant(
                _OPTIMUM,
                "approached m mu v -> v <= 1 - prodq m mu.",
                "approached m mu v -> v < 1 - prodq m mu.",
                "strictly less",
            ),
        ),
        axioms="classic",
    ),
    replace(_PAYS, claim="recharge.competitive_ratio"),
    Theorem(
        claim="recharge.competitive_ratio",
        proof="Ratio.minimum_characterised",
        statement="""exists s, 0 < s /\\ exp s = 1 + s + s * s
  /\\ (forall s', 0 < s' -> exp s' = 1 + s' + s' * s' -> s' = s)
  /\\ (forall r, 0 < r -> 1 - s / (1 + s) ^ 2 <= r / ((1 + r) * (1 - exp (- r))))
  /\\ s / ((1 + s) * (1 - exp (- s))) = 1 - s / (1 + s) ^ 2""",
        covers="the minimum: its place, which is the only positive root, and its value",
        mutants=(
            Mutant(
                _RATIO,
                "Definition f (r : R) : R := exp r - 1 - r - r * r.",
                "Definition f (r : R) : R := exp r - 1 - r - r * r / 2.",
                "another equation for the root",
            ),
        ),
        axioms="classic",
    ),
    Theorem(
        claim="recharge.competitive_ratio",
        proof="Digits.minimum_enclosed",
        statement="""exists s, 0 < s /\\ exp s = 1 + s + s * s
  /\\ 1793282132900760 / 1000000000000000 < s < 1793282132900762 / 1000000000000000
  /\\ (forall r, 0 < r -> 1 - s / (1 + s) ^ 2 <= r / ((1 + r) * (1 - exp (- r))))
  /\\ s / ((1 + s) * (1 - exp (- s))) = 1 - s / (1 + s) ^ 2
  /\\ 77016349200449 / 100000000000000 < 1 - s / (1 + s) ^ 2 < 77016349200450 / 100000000000000""",
        covers="fourteen digits of the constant and of its root",
        refutations=(
            """Digits.not_77016349200450 : exists r, 0 < r /\\
  r / ((1 + r) * (1 - exp (- r))) < 77016349200450 / 100000000000000""",
            "Digits.not_7702 : exists r, 0 < r /\\ r / ((1 + r) * (1 - exp (- r))) < 7702 / 10000",
        ),
        mutants=(
            Mutant(
                "Digits.v",
                "/\\ 77016349200449 / 100000000000000 < 1 - s",
                "/\\ 77016349200450 / 100000000000000 < 1 - s",
                "the last digit",
            ),
        ),
        axioms="classic and 63-bit integers",
    ),
    Theorem(
        claim="recharge.competitive_ratio",
        proof="Competitive.competitive_strict",
        statement="""forall m mu a b, (0 < m)%nat -> rates m mu -> arms m a -> arms m b ->
  length a = length b ->
  U mu a >= 7701634 / 10000000 * (U mu b - INR m) - hamacher m mu * regret m mu a""",
        covers="any sequence against any other of the same length, for every T, with 0.7701634",
        anchors=_LOWER,
        mutants=(
            Mutant(
                "Competitive.v",
                "U mu a >= 7701634 / 10000000 * (U mu b - INR m)",
                "U mu a >= 7702000 / 10000000 * (U mu b - INR m)",
                "0.7702",
            ),
        ),
        axioms="classic",
    ),
    replace(_HAS_LAWS, claim="recharge.competitive_ratio"),
    replace(_OPT, claim="recharge.competitive_ratio"),
    replace(_OF_LAWS, claim="recharge.competitive_ratio"),
    Theorem(
        claim="recharge.competitive_ratio",
        proof="Ratio.ratio_lower",
        statement="""forall r, 0 < r -> 7701634 / 10000000 <= r / ((1 + r) * (1 - exp (- r)))""",
        covers="0.7701634, without machine integers",
        mutants=(
            Mutant(
                _RATIO,
                "0 < r -> 7701634 / 10000000 <= g r.",
                "0 < r -> 7701635 / 10000000 <= g r.",
                "the last digit",
            ),
        ),
        axioms="classic",
    ),
    Theorem(
        claim="recharge.competitive_ratio",
        proof="Competitive.competitive_mean",
        statement=f"""forall s m mu d v, 0 < s -> exp s = 1 + s + s * s -> (0 < m)%nat -> rates m mu ->
  {_APPROACHED}
  {_LAWS}
  {_NO_REGRET}
  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    Law (d T) (U mu) >= ((1 - s / (1 + s) ^ 2) * v - eps) * INR T""",
        covers="the limit in expectation with c* itself, against OPT: what sequences come close to",
        anchors=(*_LAW_OF_LENGTH, *_LOWER[:5]),
        mutants=(
            Mutant(
                "Competitive.v",
                "Law (d T) (U mu) >= ((1 - s / (1 + s) ^ 2) * v - eps) * INR T.",
                "Law (d T) (U mu) >= (1 - s / (1 + s) ^ 2) * v * INR T.",
                "no eps",
            ),
        ),
        axioms="classic",
    ),
    Theorem(
        claim="recharge.competitive_ratio",
        proof="Competitive.competitive_limit",
        statement=f"""forall s m mu a v, 0 < s -> exp s = 1 + s + s * s -> (0 < m)%nat -> rates m mu ->
  {_APPROACHED}
  (forall t, (a t < m)%nat) ->
  (forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat -> regret m mu (hist a T) <= eps * INR T) ->
  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    U mu (hist a T) >= ((1 - s / (1 + s) ^ 2) * v - eps) * INR T""",
        covers="the limit on each path with no regret, with c* itself, against OPT",
        anchors=_NAMES[:1],
        mutants=(
            Mutant(
                "Competitive.v",
                "U mu (hist a T) >= ((1 - s / (1 + s) ^ 2) * v - eps) * INR T.",
                "U mu (hist a T) >= (1 - s / (1 + s) ^ 2) * v * INR T.",
                "no eps",
            ),
        ),
        axioms="classic",
    ),
    Theorem(
        claim="recharge.competitive_ratio",
        proof="Ratio.price_of_learning",
        statement="""forall r, 0 < r -> / (r / ((1 + r) * (1 - exp (- r)))) <= 1298426 / 1000000""",
        covers="the price of learning is at most 1.298426",
        refutations=(
            """Competitive.price_129_false : forall T : nat,
  let EU := Ex 50 (norm_odds 50 mu50) T (U mu50) in
  (forall j, (j < 50)%nat -> Ex 50 (norm_odds 50 mu50) T (fun h => Hind mu50 h j) - EU <= 259 / 9)
  /\\ U mu50 (hist (round_robin 50) T) - 129 / 100 * EU >= INR T / 20000 - 38""",
        ),
        mutants=(
            Mutant(
                _RATIO,
                "/ g r <= 1298426 / 1000000.",
                "/ g r <= 1298425 / 1000000.",
                "the last digit",
            ),
        ),
        axioms="classic",
    ),
    Theorem(
        claim="recharge.competitive_ratio_m",
        proof="Optimum.prodq_amgm",
        statement="""forall m mu, (0 < m)%nat -> rates m mu ->
  (/ (1 + rho m mu / INR m)) ^ m <= prodn m (fun j => 1 - mu j)""",
        covers="the product against that of m identical arms of the same total odds",
        anchors=_NAMES[1:2],
        refutations=(
            """Optimum.half_odds_mean_false : ~ (forall m mu, (0 < m)%nat -> rates m mu ->
  (/ (1 + rho m mu / (2 * INR m))) ^ m <= prodn m (fun j => 1 - mu j))""",
        ),
        mutants=(
            Mutant(
                _OPTIMUM,
                "(/ (1 + rho m mu / INR m)) ^ m <= prodq m mu.",
                "(/ (1 + rho m mu / (2 * INR m))) ^ m <= prodq m mu.",
                "half of the odds",
            ),
        ),
        axioms="classic",
    ),
    Theorem(
        claim="recharge.competitive_ratio_m",
        proof="Optimum.ratio_two",
        statement="""forall r, 0 < r -> 8 / 9 * (1 - (/ (1 + r / 2)) ^ 2) <= r / (1 + r)""",
        covers="c_2 = 8/9: no less for any total odds, and equality at 2 (the fact about numbers)",
        anchors=(Anchor("8 / 9 * (1 - (/ (1 + 2 / 2)) ^ 2) = 2 / (1 + 2)", "lra"),),
        refutations=(
            """Optimum.nine_tenths_false :
  ~ (forall r, 0 < r -> 9 / 10 * (1 - (/ (1 + r / 2)) ^ 2) <= r / (1 + r))""",
        ),
        mutants=(
            Mutant(
                _OPTIMUM,
                "0 < r -> 8 / 9 * (1 - (/ (1 + r / 2)) ^ 2) <= r / (1 + r).",
                "0 < r -> 9 / 10 * (1 - (/ (1 + r / 2)) ^ 2) <= r / (1 + r).",
                "0.9",
            ),
        ),
    ),
)

REACH = (
    Reach(
        "recharge.age_state",
        outside=(
            "that arrivals do not touch the buffers, and that an optimal policy is a "
            "deterministic schedule"
        ),
        uncovered="that a schedule is as good as any policy (a policy is an average over schedules)",
    ),
    Reach("recharge.per_arm_identity", outside="", extent="whole"),
    Reach("recharge.utility_identity", outside="", extent="whole"),
    Reach("recharge.hamacher_lower_bound", outside="", uncovered="", extent="whole"),
    Reach(
        "recharge.greedy_no_regret",
        outside=(
            "that it earns at least hT and is c*-competitive (two other claims), and that on "
            "the rates 1/2, 1/10, 3/10 its long-run utility is below OPT"
        ),
    ),
    Reach(
        "recharge.odds_best_memoryless",
        outside=(
            "that the utility of a router is in the long run the sum of the pays of its arms; "
            "and the last sentence, which joins other claims"
        ),
    ),
    Reach(
        "recharge.normalized_odds_tight",
        outside="the last sentence, which divides both bounds by T and subtracts them",
    ),
    Reach("recharge.opt_upper_bound", outside="", uncovered="", extent="whole"),
    Reach("recharge.competitive_ratio", outside="", uncovered="", extent="whole"),
    Reach(
        "recharge.competitive_ratio_m",
        outside=(
            "that h is at least c_m OPT (one division), and equality for identical arms; c_1 "
            "= 1; that c_m decreases; and the values from c_3 on"
        ),
    ),
)
