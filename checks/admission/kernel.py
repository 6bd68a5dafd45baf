"""What Coq's kernel checks of the claims on admission control."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product

from checks.admission.birth_death import solved_cost, solved_law
from checks.methods.coq_values import by_index, real
from checks.methods.kernel import Anchor, Mutant, Reach, Theorem
from simlib.admission.model import AdmissionModel

# Anchors of the network: closed chains solved state by state -----------------------------------------

_SERVICE = (Fraction(1), Fraction(3, 2), Fraction(2))
_ROUTES = ((0, Fraction(1, 2), 0), (0, 0, 1), (1, 0, 0))  # station 1 to the exit: 1/2
_ENTRY = (1, 0, 0)
_VISITS = (2, 1, 1)


def _exit_rate(jobs: int) -> Fraction:
    """Rate at which jobs pass the exit if each that would leave is admitted anew: a linear system."""
    import numpy as np

    from simlib.chains import stationary_law

    states = [x for x in product(range(jobs + 1), repeat=3) if sum(x) == jobs]
    total = sum(_SERVICE)
    chain = np.full((len(states), len(states)), Fraction(0), dtype=object)
    for row, x in enumerate(states):
        for i, rate in enumerate(_SERVICE):
            if x[i] == 0:
                continue
            leaves = 1 - sum(_ROUTES[i])
            for j in range(3):
                chance = _ROUTES[i][j] + leaves * _ENTRY[j]
                y = list(x)
                y[i] -= 1
                y[j] += 1
                chain[row, states.index(tuple(y))] += rate * chance / total
        chain[row, row] += 1 - chain[row].sum()
    law = stationary_law(chain)
    return sum(
        p * rate * (1 - sum(_ROUTES[i]))
        for p, x in zip(law, states, strict=True)
        for i, rate in enumerate(_SERVICE)
        if x[i]
    )


_MU = (
    "(fun i k : nat => match k with 0%nat => 0 | _ => "
    "match i with 0%nat => 1 | 1%nat => 3/2 | _ => 2 end end)"
)
_L = (
    "(fun i j : nat => match i, j with 0%nat, 1%nat => 1/2 | 1%nat, 2%nat => 1 | 2%nat, 0%nat => 1 "
    "| _, _ => 0 end)"
)


def _exit_rates(*jobs: int) -> tuple[Anchor, ...]:
    """The flow-equivalent rates G(s-1)/G(s) of three tiers."""
    v = by_index(_VISITS)
    return tuple(
        Anchor(
            f"G 3 {v} {_MU} {s - 1} = {real(_exit_rate(s))} * G 3 {v} {_MU} {s}",
            "unfold G, weight; simpl; unfold upd, zero; simpl; lra",
        )
        for s in jobs
    )


def _network_anchors() -> tuple[Anchor, ...]:
    """Three rates, one stationary weight, a sum over states and exit probabilities."""
    v, rates = by_index(_VISITS), _exit_rates(1, 2, 3)
    weight = Fraction(1)
    for visits, service in zip(_VISITS, _SERVICE, strict=True):
        weight *= visits / service
    state = "(fun _ : nat => 1%nat)"
    alpha = by_index((1, Fraction(1, 2), Fraction(1, 3), 0))
    return (
        *rates,
        Anchor(
            f"nu 3 {v} {_MU} 2 {alpha} {state} = {real(weight * 8 * Fraction(1, 6))}",
            "unfold nu; simpl; lra",
        ),
        Anchor("Sum 2 3 (fun x => INR (x 0%nat)) = 6", "simpl; unfold upd, zero; simpl; lra"),
        Anchor(f"exitp 3 {_L} 0 = 1/2 /\\ exitp 3 {_L} 1 = 0", "split; unfold exitp; simpl; lra"),
    )


_NETWORK = _network_anchors()

# Anchors of two models: laws from linear systems -----------------------------------------------------

_FIRST = AdmissionModel(Fraction(3, 2), (1, 2, 3), Fraction(5), 1)
_ACCEPTED = (Fraction(1), Fraction(1, 2), Fraction(1, 4))


def _model_anchors() -> tuple[Anchor, ...]:
    """The law, the mean cost, and the tails of a model with three jobs at most."""
    lam, mu, alpha = (
        real(_FIRST.arrival_rate),
        by_index((0, *_FIRST.rates)),
        by_index((*_ACCEPTED, 0)),
    )
    law, mean = solved_law(_FIRST, _ACCEPTED), solved_cost(_FIRST, _ACCEPTED)
    holding, rejection = real(_FIRST.holding_cost), real(_FIRST.rejection_cost)
    chain = f"(law 3 {lam} {mu} {alpha})"
    return (
        *(Anchor(f"{chain} {s} = {real(p)}", "unfold law; simpl; lra") for s, p in enumerate(law)),
        Anchor(
            f"mean 3 {chain} (cost {lam} {holding} {rejection} {alpha}) = {real(mean)}",
            "unfold mean, law, cost; simpl; lra",
        ),
        Anchor(
            f"upper_part 3 {chain} (fun _ => 1) 2 = {real(sum(law[2:]))}",
            "unfold upper_part, law; simpl; lra",
        ),
        Anchor(
            f"model 3 {lam} {mu} {alpha}",
            "repeat split; try lra; try reflexivity; try (intros [|[|[|[|s]]]]; simpl; intros; lra); "
            "try (intros [|[|[|[|s]]]] Hs; simpl; try lra; lia); destruct s as [|[|[|s]]]; simpl; lra",
        ),
        Anchor("threshold 2 1 = 1 /\\ threshold 2 2 = 0", "split; reflexivity"),
        # What hypotheses say, in full: one that asks for more would make every theorem say less.
        Anchor(
            "forall N lam mu alpha, model N lam mu alpha <-> (0 < lam /\\ mu 0%nat = 0 /\\ "
            "(forall s, (1 <= s <= N)%nat -> 0 < mu s) /\\ (forall s, 0 <= alpha s <= 1) /\\ "
            "alpha N = 0)",
            "intros N lam mu alpha; split; intros H; exact H",
        ),
        Anchor(
            "forall N lam mu alpha c x d, increments N lam mu alpha c x d <-> "
            "(forall s, (s <= N)%nat -> x = c s + lam * alpha s * d (S s) - mu s * d s)",
            "intros N lam mu alpha c x d; split; intros H; exact H",
        ),
    )


_MODEL = _model_anchors()
_SHARE = Anchor(  # threshold 1: admit at 0, and reject at 1
    f"share {by_index((*_ACCEPTED, 0))} 1 = {real(_ACCEPTED[0] * (1 - _ACCEPTED[1]))}",
    "unfold share; simpl; lra",
)


def _flip(times: int) -> Fraction:
    """Chance to be at the start after some steps of the chain with two states that flips with 1/4."""
    here, there = Fraction(1), Fraction(0)
    for _ in range(times):
        here, there = here * Fraction(3, 4) + there / 4, here / 4 + there * Fraction(3, 4)
    return here


# Theorems -------------------------------------------------------------------------------------------

_NORTON, _MIXING = "Norton.v", "Mixing.v"
_PERTURBATION, _THRESHOLDS = "Perturbation.v", "Thresholds.v"
_SERVICES = """(forall i, mu i 0%nat = 0) -> (forall i k, (1 <= k)%nat -> 0 < mu i k) ->
  sumn Nq a = 1 -> (forall j, (j < Nq)%nat -> v j = a j + sumn Nq (fun i => v i * L i j)) ->
  (forall i, (i < Nq)%nat -> 0 < v i) ->"""
_TYPES = "(L : nat -> nat -> R) (a v : nat -> R) (mu : nat -> nat -> R)"
_NU = "nu Nq v mu lam alpha"


def _of_models(law: str) -> str:
    """The sum of item 2 with a law."""
    return f"""sumn (S N) (fun s => {law} s * ((lam - lam') * (alpha s * e (S s) + (1 - alpha s) * Rj)
                          + (mu' s - mu s) * e s))"""


_FASTER = (
    """0 <= g -> 0 <= Rj -> lam' <= lam -> (forall s, (1 <= s <= N)%nat -> mu s <= mu' s) ->"""
)

_BALANCED = """forall s, (s <= N)%nat ->
    p s * (lam * alpha s + mu s) = match s with O => 0 | S k => p k * (lam * alpha k) end
      + (if (s <? N)%nat then p (S s) * mu (S s) else 0)"""
_STATIONARY = Theorem(
    claim="admission.perturbation_identity",
    proof="Perturbation.law_is_stationary",
    statement=f"""forall N lam mu alpha, model N lam mu alpha -> forall p : nat -> R,
  (sumn (S N) p = 1 /\\ {_BALANCED})
  <-> (forall s, (s <= N)%nat -> p s = law N lam mu alpha s)""",
    covers="that the law is stationary, and the only one that is",
    anchors=_MODEL[:5],
    refutations=(
        f"""Perturbation.stationary_without_sum_false : ~ (forall N lam mu alpha,
  model N lam mu alpha -> forall p : nat -> R, ({_BALANCED}) ->
  forall s, (s <= N)%nat -> p s = law N lam mu alpha s)""",
    ),
    mutants=(
        Mutant(
            _PERTURBATION,
            "S k => p k * (lam * alpha k) end",
            "S k => p k * (lam * alpha (S k)) end",
            "admission by the number after the arrival",
        ),
    ),
)


THEOREMS = (
    Theorem(
        claim="admission.norton_sum_policy",
        proof="Norton.global_balance",
        statement=f"""forall Nq {_TYPES} (lam : R) (alpha : nat -> R),
  {_SERVICES}
  forall x, {_NU} x * (lam * alpha (tot Nq x)) + sumn Nq (fun j => {_NU} x * mu j (x j)) =
    sumn Nq (fun i => {_NU} (Norton.up x i) * mu i (S (x i)) * exitp Nq L i)
    + sumn Nq (fun j => if (x j =? 0)%nat then 0 else
        {_NU} (dn x j) * (lam * alpha (tot Nq (dn x j))) * a j
        + sumn Nq (fun i => {_NU} (Norton.up (dn x j) i) * mu i (S (dn x j i)) * L i j))""",
        covers="item 1: the product form is in balance at every state, for any routing and rates",
        anchors=_NETWORK,
        refutations=(
            f"""Norton.admitted_after_false : ~ (forall Nq {_TYPES} (lam : R) (alpha : nat -> R),
  {_SERVICES}
  forall x, {_NU} x * (lam * alpha (S (tot Nq x))) + sumn Nq (fun j => {_NU} x * mu j (x j)) =
    sumn Nq (fun i => {_NU} (Norton.up x i) * mu i (S (x i)) * exitp Nq L i)
    + sumn Nq (fun j => if (x j =? 0)%nat then 0 else
        {_NU} (dn x j) * (lam * alpha (tot Nq (dn x j))) * a j
        + sumn Nq (fun i => {_NU} (Norton.up (dn x j) i) * mu i (S (dn x j i)) * L i j)))""",
        ),
        mutants=(
            Mutant(
                _NORTON,
                "Definition exitp (i : nat) : R := 1 - sumn Nq (L i).",
                "Definition exitp (i : nat) : R := 2 - sumn Nq (L i).",
                "jobs that multiply at the exit",
            ),
            Mutant(
                _NORTON,
                "S l => adm l * (lam * alpha l) end.",
                "S l => adm l * (lam * alpha (S l)) end.",
                "admission by the total after the arrival",
            ),
        ),
    ),
    Theorem(
        claim="admission.norton_sum_policy",
        proof="Norton.total_law",
        statement=f"""forall Nq (v : nat -> R) (mu : nat -> nat -> R) (lam : R) (alpha : nat -> R) s,
  Sum Nq s ({_NU}) = adm lam alpha s * G Nq v mu s""",
        covers="item 2: the law of the number of jobs",
        anchors=_NETWORK[:5],
        refutations=(
            f"""Norton.total_law_false : ~ (forall Nq (v : nat -> R) (mu : nat -> nat -> R) (lam : R)
  (alpha : nat -> R) s, Sum Nq s ({_NU}) = adm lam alpha (S s) * G Nq v mu s)""",
        ),
        mutants=(
            Mutant(
                _NORTON,
                "Sum Nq s nu = adm s * G s.",
                "Sum Nq s nu = adm (S s) * G s.",
                "one admission more",
            ),
        ),
    ),
    Theorem(
        claim="admission.norton_sum_policy",
        proof="Norton.norton",
        statement=f"""forall Nq {_TYPES},
  {_SERVICES}
  forall s, Sum Nq (S s) (fun x => weight Nq v mu x * sumn Nq (fun i => mu i (x i) * exitp Nq L i))
    = G Nq v mu s""",
        covers="item 3: under f/G the mean exit rate with s + 1 jobs is G(s)/G(s+1); the example",
        anchors=(*_NETWORK, *_exit_rates(4, 5, 6)),
        refutations=(
            f"""Norton.exit_rate_false : ~ (forall Nq {_TYPES},
  {_SERVICES}
  forall s, Sum Nq (S s) (fun x => weight Nq v mu x * sumn Nq (fun i => mu i (x i) * exitp Nq L i))
    = G Nq v mu (S s))""",
        ),
        mutants=(
            Mutant(
                _NORTON,
                "S l => w i l * (v i / mu i (S l)) end.",
                "S l => w i l * (a i / mu i (S l)) end.",
                "where jobs enter for how often they visit",
            ),
        ),
    ),
    Theorem(
        claim="admission.norton_sum_policy",
        proof="Norton.closed_balance",
        statement=f"""forall Nq {_TYPES},
  {_SERVICES}
  forall x, sumn Nq (fun j => weight Nq v mu x * mu j (x j)) =
    sumn Nq (fun j => if (x j =? 0)%nat then 0 else
      sumn Nq (fun i => weight Nq v mu (Norton.up (dn x j) i) * mu i (S (dn x j i))
        * (L i j + exitp Nq L i * a j)))""",
        covers="item 3: in the closed network f is in balance at every state",
        anchors=_NETWORK,
        refutations=(
            f"""Norton.nobody_enters_false : ~ (forall Nq {_TYPES},
  {_SERVICES}
  forall x, sumn Nq (fun j => weight Nq v mu x * mu j (x j)) =
    sumn Nq (fun j => if (x j =? 0)%nat then 0 else
      sumn Nq (fun i => weight Nq v mu (Norton.up (dn x j) i) * mu i (S (dn x j i)) * L i j)))""",
        ),
        mutants=(
            Mutant(
                _NORTON,
                "mu i (S (dn x j i)) * (L i j + exitp i * a j))).",
                "mu i (S (dn x j i)) * (L i j + a j))).",
                "each job enters anew",
            ),
        ),
    ),
    Theorem(
        claim="admission.norton_sum_policy",
        proof="Norton.aggregated_balance",
        statement="""forall Nq (v : nat -> R) (mu : nat -> nat -> R) (lam : R) (alpha : nat -> R) s,
  0 < G Nq v mu (S s) ->
  (adm lam alpha s * G Nq v mu s) * (lam * alpha s)
  = (adm lam alpha (S s) * G Nq v mu (S s)) * (G Nq v mu s / G Nq v mu (S s))""",
        covers="item 2: that law is in balance with rates lambda alpha(s) up, G(s)/G(s+1) down",
        anchors=_NETWORK[:4],
        refutations=(
            """Norton.admission_later_false : ~ (forall Nq (v : nat -> R) (mu : nat -> nat -> R)
  (lam : R) (alpha : nat -> R) s, 0 < G Nq v mu (S s) ->
  (adm lam alpha s * G Nq v mu s) * (lam * alpha (S s))
  = (adm lam alpha (S s) * G Nq v mu (S s)) * (G Nq v mu s / G Nq v mu (S s)))""",
        ),
        mutants=(
            Mutant(
                _NORTON,
                "(adm s * G s) * (lam * alpha s) =",
                "(adm s * G s) * (lam * alpha (S s)) =",
                "admission one job later",
            ),
        ),
    ),
    Theorem(
        claim="admission.mixing_w",
        proof="Mixing.mixing_rate",
        statement="""forall (d : nat -> R) (tm : nat), (0 < tm)%nat ->
  (forall s t, (s <= t)%nat -> d t <= d s) -> (forall k, d (k * tm)%nat <= (/ 2) ^ k) ->
  forall t, d t <= 2 * exp (- (INR t / INR tm * ln 2))""",
        covers="items 2 and 3: the rate and the constant 2, from the distances at multiples of t_mix",
        refutations=(
            """Mixing.mixing_without_constant_false : ~ (forall (d : nat -> R) (tm : nat),
  (0 < tm)%nat ->
  (forall s t, (s <= t)%nat -> d t <= d s) -> (forall k, d (k * tm)%nat <= (/ 2) ^ k) ->
  forall t, d t <= exp (- (INR t / INR tm * ln 2)))""",
        ),
        mutants=(
            Mutant(
                _MIXING,
                "d t <= 2 * exp (- (INR t / INR tm * ln 2)).",
                "d t <= exp (- (INR t / INR tm * ln 2)).",
                "without the constant",
            ),
        ),
        axioms="classic",
    ),
    Theorem(
        claim="admission.mixing_w",
        proof="Mixing.two_state",
        statement="forall t, p00 t - 1 / 2 = (/ 2) ^ (t + 1)",
        covers="item 5, U = 4: the distance after t steps",
        anchors=(Anchor(f"p00 3 = {real(_flip(3))}", "simpl; lra"),),
        mutants=(
            Mutant(
                _MIXING,
                "1 / 4 * (1 - p00 s) end.",
                "1 / 3 * (1 - p00 s) end.",
                "another chance to flip",
            ),
        ),
    ),
    Theorem(
        claim="admission.mixing_w",
        proof="Mixing.W_counterexample",
        statement="p00 1 - 1 / 2 = 1 / 4 /\\ sqrt (1 * ln 2) < / sqrt (ln 2)",
        covers="item 5, U = 4: d(1) = 1/4, and W = 1/sqrt(log 2) is above the printed bound",
        anchors=(Anchor(f"p00 1 = {real(_flip(1))}", "simpl; lra"),),
        mutants=(
            Mutant(
                _MIXING,
                "sqrt (1 * ln 2) < / sqrt (ln 2).",
                "/ sqrt (ln 2) < sqrt (1 * ln 2).",
                "the other way round",
            ),
        ),
        axioms="classic",
    ),
    Theorem(
        claim="admission.perturbation_identity",
        proof="Perturbation.perturbation_identity",
        statement=f"""forall N lam lam' mu mu' alpha g Rj e,
  model N lam mu alpha -> model N lam' mu' alpha ->
  let nu := law N lam mu alpha in
  let c := cost lam g Rj alpha in
  let c' := cost lam' g Rj alpha in
  let x' := mean N (law N lam' mu' alpha) c' in
  increments N lam' mu' alpha c' x' e ->
  mean N nu c - x' = {_of_models("nu")}""",
        covers="item 2, for any limit, rates and sum-policy: exact, without a second-order term",
        anchors=_MODEL,
        refutations=(
            f"""Perturbation.perturbation_same_model_false : ~ (forall N lam lam' mu mu' alpha g Rj e,
  model N lam mu alpha -> model N lam' mu' alpha ->
  let c := cost lam g Rj alpha in
  increments N lam mu alpha c (mean N (law N lam mu alpha) c) e ->
  mean N (law N lam mu alpha) c
    - mean N (law N lam' mu' alpha) (cost lam' g Rj alpha) = {_of_models("law N lam mu alpha")})""",
        ),
        mutants=(
            Mutant(
                _PERTURBATION,
                "c' in\n  increments N lam' mu' alpha c' x' e ->",
                "c' in\n  increments N lam mu' alpha c' x' e ->",
                "the first arrival rate in the second equation",
            ),
            Mutant(
                _PERTURBATION,
                "S k => weight lam mu alpha k * (lam * alpha k / mu (S k)) end.",
                "S k => weight lam mu alpha k * (lam * alpha k / mu k) end.",
                "the service rate of the state below",
            ),
        ),
    ),
    _STATIONARY,
    Theorem(
        claim="admission.perturbation_identity",
        proof="Perturbation.increments_exist",
        statement="""forall N lam mu alpha, model N lam mu alpha ->
  forall c, exists d, increments N lam mu alpha c (mean N (law N lam mu alpha) c) d""",
        covers="that there are increments: the equation has a solution, whatever the cost",
        anchors=_MODEL[:5],
        refutations=(
            """Perturbation.other_gain_false : ~ (forall N lam mu alpha, model N lam mu alpha ->
  forall c, exists d, increments N lam mu alpha c (mean N (law N lam mu alpha) c + 1) d)""",
        ),
        mutants=(
            Mutant(
                _PERTURBATION,
                "exists d, increments N lam mu alpha c (mean N nu c) d.",
                "exists d, increments N lam mu alpha c (mean N nu c + 1) d.",
                "another constant than the mean cost",
            ),
        ),
    ),
    Theorem(
        claim="admission.perturbation_identity",
        proof="Perturbation.increments_unique",
        statement="""forall N lam mu alpha, model N lam mu alpha ->
  forall c x d d', increments N lam mu alpha c x d -> increments N lam mu alpha c x d' ->
  forall s, (1 <= s <= N)%nat -> d s = d' s""",
        covers="that they are unique",
        refutations=(
            """Perturbation.unique_at_0_false : ~ (forall N lam mu alpha, model N lam mu alpha ->
  forall c x d d', increments N lam mu alpha c x d -> increments N lam mu alpha c x d' ->
  forall s, (s <= N)%nat -> d s = d' s)""",
        ),
        mutants=(
            Mutant(
                _PERTURBATION,
                "c x d' -> forall s, (1 <= s <= N)%nat ->",
                "c x d' -> forall s, (s <= N)%nat ->",
                "also in state 0",
            ),
        ),
    ),
    Theorem(
        claim="admission.perturbation_identity",
        proof="Perturbation.gain_is_mean",
        statement="""forall N lam mu alpha, model N lam mu alpha ->
  forall c x d, increments N lam mu alpha c x d ->
  x = sumn (S N) (fun s => law N lam mu alpha s * c s)""",
        covers="that the equation can be solved for the mean cost only",
        anchors=_MODEL[:4],
        refutations=(
            """Perturbation.equation_less_false : ~ (forall N lam mu alpha,
  model N lam mu alpha -> forall c x d,
  (forall s, (s < N)%nat -> x = c s + lam * alpha s * d (S s) - mu s * d s) ->
  x = mean N (law N lam mu alpha) c)""",
        ),
        mutants=(
            Mutant(
                _PERTURBATION,
                "forall s, (s <= N)%nat -> x = c s",
                "forall s, (s < N)%nat -> x = c s",
                "no equation in the last state",
            ),
        ),
    ),
    Theorem(
        claim="admission.perturbation_identity",
        proof="Perturbation.increments_covariance",
        statement="""forall N lam mu alpha, model N lam mu alpha ->
  let nu := law N lam mu alpha in
  forall c d, increments N lam mu alpha c (mean N nu c) d -> forall s, (1 <= s <= N)%nat ->
  mu s * nu s * d s = upper_part N nu c s - upper_part N nu (fun _ => 1) s * mean N nu c""",
        covers="item 1: increments as covariances of the cost and of having s jobs or more",
        anchors=_MODEL,
        refutations=(
            """Perturbation.states_above_false : ~ (forall N lam mu alpha, model N lam mu alpha ->
  let nu := law N lam mu alpha in
  forall c d, increments N lam mu alpha c (mean N nu c) d -> forall s, (1 <= s <= N)%nat ->
  mu s * nu s * d s = upper_part N nu c (S s) - upper_part N nu (fun _ => 1) (S s) * mean N nu c)""",
        ),
        mutants=(
            Mutant(
                _PERTURBATION,
                "sumn (S N) (fun j => if (s <=? j)%nat then nu j * f j else 0).",
                "sumn (S N) (fun j => if (s <? j)%nat then nu j * f j else 0).",
                "more than s jobs",
            ),
        ),
    ),
    Theorem(
        claim="admission.perturbation_identity",
        proof="Perturbation.covariance_bounds",
        statement="""forall N lam mu alpha, model N lam mu alpha ->
  let nu := law N lam mu alpha in
  forall c d, increments N lam mu alpha c (mean N nu c) d ->
  (forall i j, (i <= j <= N)%nat -> c i <= c j) -> forall s, (1 <= s <= N)%nat ->
  let p := upper_part N nu (fun _ => 1) s in
  0 <= mu s * nu s * d s <= (c N - c 0%nat) * p * (1 - p)""",
        covers="item 1: the bounds for a nondecreasing cost",
        anchors=_MODEL,
        refutations=(
            """Perturbation.smaller_bound_false : ~ (forall N lam mu alpha, model N lam mu alpha ->
  let nu := law N lam mu alpha in
  forall c d, increments N lam mu alpha c (mean N nu c) d ->
  (forall i j, (i <= j <= N)%nat -> c i <= c j) -> forall s, (1 <= s <= N)%nat ->
  let p := upper_part N nu (fun _ => 1) s in
  mu s * nu s * d s <= 99 / 100 * ((c N - c 0%nat) * p * (1 - p)))""",
        ),
        mutants=(
            Mutant(
                _PERTURBATION,
                "(forall i j, (i <= j <= N)%nat -> c i <= c j) -> forall s,",
                "(forall i j, (i <= j <= N)%nat -> c j <= c i) -> forall s,",
                "a cost that falls",
            ),
        ),
    ),
    Theorem(
        claim="admission.perturbation_identity",
        proof="Perturbation.faster_is_cheaper",
        statement=f"""forall N lam lam' mu mu' theta g Rj,
  model N lam mu (threshold theta) -> model N lam' mu' (threshold theta) -> {_FASTER}
  mean N (law N lam' mu' (threshold theta)) (cost lam' g Rj (threshold theta))
    <= mean N (law N lam mu (threshold theta)) (cost lam g Rj (threshold theta))""",
        covers="item 3: faster service and fewer arrivals cost less under a threshold",
        anchors=_MODEL,
        refutations=(
            f"""Perturbation.faster_is_not_always_cheaper : ~ (forall N lam lam' mu mu' alpha g Rj,
  model N lam mu alpha -> model N lam' mu' alpha -> {_FASTER}
  mean N (law N lam' mu' alpha) (cost lam' g Rj alpha)
    <= mean N (law N lam mu alpha) (cost lam g Rj alpha))""",
        ),
        mutants=(
            Mutant(
                _PERTURBATION,
                "Definition threshold (theta : nat) (s : nat) : R := if (s <? theta)%nat then 1 else 0.",
                "Definition threshold (theta : nat) (s : nat) : R := if (s <? theta)%nat then 0 else 1.",
                "a policy that rejects below the threshold",
            ),
        ),
    ),
    Theorem(
        claim="admission.perturbation_identity",
        proof="Perturbation.one_server_example",
        statement="""mean 1 (law 1 1 (one 1) (threshold 1)) (cost 1 1 0 (threshold 1))
  - mean 1 (law 1 1 (one 2) (threshold 1)) (cost 1 1 0 (threshold 1)) = 1 / 6""",
        covers="item 4: the difference 1/6",
        anchors=(Anchor("one 2 0 = 0 /\\ one 2 1 = 2", "split; reflexivity"),),
        mutants=(
            Mutant(
                _PERTURBATION,
                "mean_one 1 - mean_one 2 = 1 / 6.",
                "mean_one 1 - mean_one 2 = 1 / 4.",
                "1/4",
            ),
        ),
    ),
    Theorem(
        claim="admission.perturbation_identity",
        proof="Perturbation.one_server_mixture",
        statement="""forall d,
  increments 1 1 (one 1) (threshold 1) (cost 1 1 0 (threshold 1)) (mean_one 1) d ->
  sumn 2 (fun s => law 1 1 (one 1) (threshold 1) s
    * ((1 - 1) * (threshold 1 s * d (S s) + (1 - threshold 1 s) * 0)
       + (one 2 s - one 1 s) * d s)) = 1 / 4""",
        covers="item 4: the sum with the law and the increments of the first model, 1/4",
        anchors=(
            Anchor(
                "mean_one 1 = 1/2 /\\ mean_one 2 = 1/3",
                "split; unfold mean_one, mean, law, cost, threshold; simpl; lra",
            ),
        ),
        mutants=(
            Mutant(
                _PERTURBATION,
                "+ (one 2 s - one 1 s) * d s)) = 1 / 4.",
                "+ (one 2 s - one 1 s) * d s)) = 1 / 6.",
                "the difference of the costs",
            ),
        ),
    ),
    replace(_STATIONARY, claim="admission.threshold_gain"),
    Theorem(
        claim="admission.threshold_gain",
        proof="Thresholds.mixture_of_thresholds",
        statement="""forall N lam mu alpha g Rj, model N lam mu alpha ->
  let W := fun a => sumn (S N) (weight lam mu a) in
  let p := fun t => prodn t alpha * (1 - alpha t) * W (threshold t) / W alpha in
  (forall t, (t <= N)%nat -> 0 <= p t) /\\ sumn (S N) p = 1
  /\\ (forall s, (s <= N)%nat ->
       law N lam mu alpha s = sumn (S N) (fun t => p t * law N lam mu (threshold t) s))
  /\\ mean N (law N lam mu alpha) (cost lam g Rj alpha)
     = sumn (S N) (fun t => p t * mean N (law N lam mu (threshold t)) (cost lam g Rj (threshold t)))""",
        covers="item 1: every sum-policy is a mixture of thresholds, in law and in cost",
        anchors=(*_MODEL, _SHARE),
        refutations=(
            """Thresholds.mixture_without_weights_false : ~ (forall N lam mu alpha g Rj,
  model N lam mu alpha ->
  mean N (law N lam mu alpha) (cost lam g Rj alpha)
  = sumn (S N) (fun t => prodn t alpha * (1 - alpha t)
      * mean N (law N lam mu (threshold t)) (cost lam g Rj (threshold t))))""",
        ),
        mutants=(
            Mutant(
                _THRESHOLDS,
                "(t : nat) : R := prodn t alpha * (1 - alpha t).",
                "(t : nat) : R := prodn t alpha * alpha t.",
                "the chance to admit one job more",
            ),
        ),
    ),
    Theorem(
        claim="admission.threshold_gain",
        proof="Thresholds.cost_of_state",
        statement="""forall N lam mu alpha g Rj, model N lam mu alpha ->
  mean N (law N lam mu alpha) (cost lam g Rj alpha)
  = mean N (law N lam mu alpha) (fun s => g * INR s + (lam - mu s) * Rj)""",
        covers="item 1: the cost is the mean of one function of the state, the same for all policies",
        anchors=_MODEL,
        refutations=(
            """Thresholds.cost_of_next_state_false : ~ (forall N lam mu alpha g Rj,
  model N lam mu alpha ->
  mean N (law N lam mu alpha) (cost lam g Rj alpha)
  = mean N (law N lam mu alpha) (fun s => g * INR s + (lam - mu (S s)) * Rj))""",
        ),
        mutants=(
            Mutant(
                _THRESHOLDS,
                "R := g * INR s + (lam - mu s) * Rj.",
                "R := g * INR s + (lam - mu (S s)) * Rj.",
                "the rate of the next state",
            ),
        ),
    ),
    Theorem(
        claim="admission.threshold_gain",
        proof="Thresholds.threshold_is_best",
        statement="""forall N lam mu alpha g Rj, model N lam mu alpha ->
  exists theta, (theta <= N)%nat /\\
    mean N (law N lam mu (threshold theta)) (cost lam g Rj (threshold theta))
    <= mean N (law N lam mu alpha) (cost lam g Rj alpha)""",
        covers="a threshold is as good as any sum-policy, without a condition on the rates",
        anchors=_MODEL,
        refutations=(
            """Thresholds.admit_all_false : ~ (forall N lam mu alpha g Rj, model N lam mu alpha ->
  0 <= g -> 0 <= Rj ->
  mean N (law N lam mu (threshold N)) (cost lam g Rj (threshold N))
    <= mean N (law N lam mu alpha) (cost lam g Rj alpha))""",
        ),
        mutants=(
            Mutant(
                _THRESHOLDS,
                "exists theta, (theta <= N)%nat /\\",
                "exists theta, (theta < N)%nat /\\",
                "a threshold below the limit",
            ),
        ),
    ),
    Theorem(
        claim="admission.threshold_gain",
        proof="Thresholds.first_rejection",
        statement="""forall N lam mu alpha g Rj theta, model N lam mu alpha -> (theta <= N)%nat ->
  (forall s, (s < theta)%nat -> alpha s = 1) -> alpha theta = 0 ->
  mean N (law N lam mu alpha) (cost lam g Rj alpha)
  = mean N (law N lam mu (threshold theta)) (cost lam g Rj (threshold theta))""",
        covers="item 2: without coins only the first rejection counts",
        anchors=_MODEL,
        mutants=(
            Mutant(
                _THRESHOLDS,
                "-> alpha s = 1) -> alpha theta = 0 ->",
                "-> alpha s = 1) -> alpha (S theta) = 0 ->",
                "a later rejection",
            ),
        ),
    ),
    Theorem(
        claim="admission.threshold_gain",
        proof="Thresholds.three_minima",
        statement="""let mu := fun s => match s with
    0%nat => 0 | 1%nat => 1/2 | 2%nat => 5/4 | 3%nat => 3/2 | 4%nat => 5/2 | 5%nat => 4 | _ => 5 end in
  let c := fun t => mean 6 (law 6 2 mu (threshold t)) (cost 2 (1/2) (3/4) (threshold t)) in
  (c 0%nat = 3/2 /\\ c 1%nat = 8/5 /\\ c 2%nat = 30/19 /\\ c 3%nat = 510/299 /\\ c 4%nat = 3382/2007
   /\\ c 5%nat = 3638/2263 /\\ c 6%nat = 18574/11827)
  /\\ 3/2 < 8/5 /\\ 30/19 < 8/5 /\\ 30/19 < 510/299 /\\ 3638/2263 < 3382/2007 < 510/299
  /\\ 18574/11827 < 3638/2263""",
        covers="item 3: the costs of the example, with local minima at 0, 2 and 6",
        anchors=_MODEL,
        mutants=(Mutant(_THRESHOLDS, "c 2%nat = 30/19", "c 2%nat = 31/19", "another numerator"),),
    ),
    Theorem(
        claim="admission.dominance",
        proof="Thresholds.likelihood_ratio",
        statement="""forall N lam mu alpha beta, model N lam mu alpha -> model N lam mu beta ->
  (forall k, alpha k <= beta k) -> forall s s', (s <= s' <= N)%nat ->
  law N lam mu alpha s' * law N lam mu beta s <= law N lam mu alpha s * law N lam mu beta s'""",
        covers="the order of likelihood ratios, for the single queue of admission.norton_sum_policy",
        anchors=_MODEL[:4],
        refutations=(
            """Thresholds.ratio_reversed_false : ~ (forall N lam mu alpha beta,
  model N lam mu alpha -> model N lam mu beta ->
  (forall k, alpha k <= beta k) -> forall s s', (s <= s' <= N)%nat ->
  law N lam mu alpha s * law N lam mu beta s' <= law N lam mu alpha s' * law N lam mu beta s)""",
        ),
        mutants=(
            Mutant(
                _THRESHOLDS,
                "law N lam mu alpha s' * law N lam mu beta s <= law",
                "law N lam mu alpha s * law N lam mu beta s <= law",
                "the same state twice",
            ),
        ),
    ),
    Theorem(
        claim="admission.dominance",
        proof="Thresholds.every_level",
        statement="""forall N lam mu alpha beta, model N lam mu alpha -> model N lam mu beta ->
  (forall k, alpha k <= beta k) -> forall k,
  sumn (S N) (fun s => if (k <=? s)%nat then law N lam mu alpha s else 0)
  <= sumn (S N) (fun s => if (k <=? s)%nat then law N lam mu beta s else 0)""",
        covers="every level is more likely",
        anchors=_MODEL[:4],
        refutations=(
            """Thresholds.every_number_false : ~ (forall N lam mu alpha beta,
  model N lam mu alpha -> model N lam mu beta ->
  (forall k, alpha k <= beta k) -> forall k, (k <= N)%nat ->
  law N lam mu alpha k <= law N lam mu beta k)""",
        ),
        mutants=(
            Mutant(
                _THRESHOLDS,
                "(forall k, alpha k <= beta k) -> forall k,\n",
                "(forall k, beta k <= alpha k) -> forall k,\n",
                "the other order",
            ),
        ),
    ),
)

REACH = (
    Reach(
        "admission.norton_sum_policy",
        outside="that there is one stationary law, of the network and of the closed one; stations "
        "with v_i = 0; item 4",
    ),
    Reach(
        "admission.mixing_w",
        outside=(
            "items 1 and 4; in item 2 that d(k t_mix) is at most 2^-k, that d does not rise, and "
            "that 2 is least; in item 3 the value of W; in item 5 that the distance is that of "
            "one state of two, that no rho below 1/2 will do, U = 2, and the decimals"
        ),
    ),
    Reach(
        "admission.perturbation_identity",
        outside="",
        extent="whole",
        uncovered="",
    ),
    Reach(
        "admission.threshold_gain",
        outside=(
            "item 4, the only policy that is optimal in every state of the example; and the gain "
            "in steps of 1/U"
        ),
    ),
    Reach(
        "admission.dominance",
        outside=(
            "that the number of jobs in the network has the law of this single queue: "
            "admission.norton_sum_policy"
        ),
    ),
)
