"""What Coq's kernel checks of the claims on queues of jobs with contexts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from checks.methods.coq_values import booleans, by_index, naturals, of_two_indices, real
from checks.methods.kernel import Anchor, Mutant, Reach, Theorem

# Anchors of the automaton ---------------------------------------------------------------------------

_CLASSES = ("S0", "S1p", "S1m", "S2p", "S2m")

#: The published table: departures of both queues, and the classes that may follow.
_TABLE = {
    "S0": {(0, 0): ("S0",), (1, 1): ("S0",)},
    "S1p": {(0, 0): ("S1p",), (1, 1): ("S1p",), (1, 0): ("S0",)},
    "S1m": {(0, 0): ("S1m",), (1, 1): ("S1m",), (0, 1): ("S0",)},
    "S2p": {(0, 0): ("S2p",), (1, 1): ("S0", "S2p"), (1, 0): ("S1m",)},
    "S2m": {(0, 0): ("S2m",), (1, 1): ("S0", "S2m"), (0, 1): ("S1p",)},
}


def _table_anchor() -> Anchor:
    """Every class, pair of departures and next class: listed or impossible."""
    facts = []
    for start, departures in product(_CLASSES, product((0, 1), repeat=2)):
        first, second = ("true" if left else "false" for left in departures)
        for end in _CLASSES:
            possible = end in _TABLE[start].get(departures, ())
            facts.append(f"{'' if possible else '~ '}table {start} {first} {second} {end}")
    proof = (
        "repeat split; simpl; try intros H; try discriminate; try (destruct H; discriminate); tauto"
    )
    return Anchor(" /\\ ".join(facts), proof)


_RATES = (Fraction(9, 10), Fraction(3, 5), Fraction(1, 2), Fraction(1, 5))
_DRAWS = (
    (Fraction(7, 10), 2),
    (Fraction(1, 2), None),
    (Fraction(11, 20), 0),
    (Fraction(3, 10), None),
)


def _best_first(jobs: Sequence[int]) -> list[int]:
    """Best first with the uniforms of ``_DRAWS``: a set of jobs, of which the smallest is served."""
    waiting = set(jobs)
    for uniform, arrival in _DRAWS:
        if waiting and uniform <= _RATES[min(waiting)]:
            waiting.remove(min(waiting))
        if arrival is not None:
            waiting.add(arrival)
    return sorted(waiting)


def _run_anchors() -> tuple[Anchor, ...]:
    """What waits after four rounds of best first, from two sets of jobs, and the difference."""
    events = "; ".join(
        f"({real(uniform)}, {'None' if arrival is None else f'Some {arrival}%nat'})"
        for uniform, arrival in _DRAWS
    )
    # The better of two jobs is the one of the smaller number.
    ends = [
        f"run nat gt2 {by_index(_RATES)} [{events}] {naturals(jobs)} = {naturals(_best_first(jobs))}"
        for jobs in ((1, 3), (3,))
    ]
    decide = (
        "repeat (match goal with |- context [Rle_dec ?a ?b] => destruct (Rle_dec a b); "
        "try (exfalso; lra); simpl end); reflexivity"
    )
    return (
        *(Anchor(end, f"unfold run, round, serve, arrive; simpl; {decide}") for end in ends),
        # What hypotheses say, in full: one that asks for more would make every theorem say less.
        Anchor(
            "forall J gtb p e es lp lm, fresh J gtb p (e :: es) lp lm <-> "
            "(forall a, snd e = Some a -> ~ In a lp /\\ ~ In a lm) /\\ "
            "fresh J gtb p es (round J gtb p e lp) (round J gtb p e lm)",
            "intros J gtb p e es lp lm; split; intros H; exact H",
        ),
        Anchor("forall J gtb p lp lm, fresh J gtb p [] lp lm", "intros; exact I"),
        Anchor(
            "forall J gtb x l, sorted J gtb (x :: l) <-> "
            "(forall y, In y l -> gtb x y = true) /\\ sorted J gtb l",
            "intros J gtb x l; split; [intros H; inversion H; subst; split; "
            "[apply Forall_forall; assumption | assumption] | "
            "intros [H1 H2]; constructor; [exact H2 | apply Forall_forall; exact H1]]",
        ),
        Anchor("psi nat [1; 2; 3]%nat [4]%nat = 2%Z", "reflexivity"),
        Anchor("insert nat gt2 1%nat [0; 2]%nat = [0; 1; 2]%nat", "reflexivity"),
    )


_AUTOMATON = (_table_anchor(), *_run_anchors())
_LEARNER = Anchor(
    "learner nat (1/4) (1/2) [0]%nat 1%nat [2]%nat = [0; 2]%nat /\\ "
    "learner nat (3/4) (1/2) [0]%nat 1%nat [2]%nat = [0; 1; 2]%nat /\\ ldep (1/4) (1/2) = true",
    "unfold learner, ldep; destruct (Rle_dec (1/4) (1/2)); [|exfalso; lra]; "
    "destruct (Rle_dec (3/4) (1/2)); [exfalso; lra|]; repeat split",
)

# Anchors of best first: all outcomes of all rounds, one by one ----------------------------------------

_BEST = (Fraction(9, 10), Fraction(3, 5), Fraction(1, 2))
_ARRIVED = ((True, False, True), (True, True, True), (True, True, True), (True, True, True))
_ROUNDS = 3


def _outcomes(left: Sequence[bool]) -> Iterator[tuple[Fraction, list[int], bool]]:
    """Chance, sizes (with the jobs still to come) and "never empty" of every outcome."""
    for coins in product((True, False), repeat=_ROUNDS):
        chance, jobs, sizes, alive = Fraction(1), list(left), [sum(left)], True
        for turn, success in enumerate(coins):
            here = [p for p, arrived in enumerate(_ARRIVED[turn]) if arrived and jobs[p]]
            if here:
                chance *= _BEST[here[0]] if success else 1 - _BEST[here[0]]
                jobs[here[0]] &= not success
            else:
                chance *= Fraction(1, 2)  # a coin that nobody looks at
                alive = False
            sizes.append(sum(jobs))
        alive &= any(j and a for j, a in zip(jobs, _ARRIVED[_ROUNDS], strict=True))
        yield chance, sizes, alive


def _best_first_anchors() -> tuple[Anchor, ...]:
    """Means of a function of the path, of the size at the end, and the chance of survival."""
    rates, avail = by_index(_BEST), of_two_indices(_ARRIVED)
    facts = []
    for left in ((True, True, True), (True, False, True)):
        found = list(_outcomes(left))
        path = sum(c * sum(n**2 * (k + 1) for k, n in enumerate(sizes)) for c, sizes, _ in found)
        mean = sum(c * sizes[-1] for c, sizes, _ in found)
        survives = sum(c for c, _, alive in found if alive)
        cost = (
            "(fun g => match g with [a; b; c; d] => "
            "INR (a * a + 2 * (b * b) + 3 * (c * c) + 4 * (d * d)) | _ => 0 end)"
        )
        s = booleans(left)
        facts += [
            Anchor(f"V {rates} {avail} {_ROUNDS} 0 {cost} {s} = {real(path)}", "simpl; lra"),
            Anchor(f"W {rates} {avail} {_ROUNDS} 0 {s} = {real(mean)}", "simpl; lra"),
            Anchor(f"H {rates} {avail} {_ROUNDS} 0 {s} = {real(survives)}", "simpl; lra"),
        ]
    return (
        *facts,
        Anchor(
            f"here {avail} 1 [true; true; true] 1 /\\ ~ here {avail} 0 [true; true; true] 1",
            "split; [split; reflexivity | intros [_ H]; discriminate H]",
        ),
        Anchor(f"top {avail} 0 [false; true; true] = Some 2%nat", "reflexivity"),
        Anchor("clr 1 [true; true; true] = [true; false; true]", "reflexivity"),
        Anchor(
            "forall avail t s i, here avail t s i <-> nth i s false = true /\\ avail t i = true",
            "intros avail t s i; unfold here; replace (nth i s false) with (get i s); "
            "[split; intros H; exact H | revert i; induction s; destruct i; simpl; auto]",
        ),
    )


_GREEDY = _best_first_anchors()
_POLICIES = (
    # What a policy may do: serve any job on any server, idle, throw coins.
    Anchor(
        "forall r avail n t Phi s j p v1 v0, here avail t s j -> 0 <= p <= r j -> "
        "ach r avail n (S t) (fun g => Phi (card s :: g)) (clr j s) v1 -> "
        "ach r avail n (S t) (fun g => Phi (card s :: g)) s v0 -> "
        "ach r avail (S n) t Phi s (p * v1 + (1 - p) * v0)",
        "intros; eapply a_serve; eassumption",
    ),
    Anchor(
        "forall r avail n t Phi s v, ach r avail n (S t) (fun g => Phi (card s :: g)) s v -> "
        "ach r avail (S n) t Phi s v",
        "intros; eapply a_idle; eassumption",
    ),
    Anchor(
        "forall r avail n t Phi s a v w, 0 <= a <= 1 -> ach r avail n t Phi s v -> "
        "ach r avail n t Phi s w -> ach r avail n t Phi s (a * v + (1 - a) * w)",
        "intros; eapply a_mix; eassumption",
    ),
    Anchor(  # the slow job first, then best first: 3/5 jobs are left, and not 14/25
        "forall Phi, ach (fun i : nat => match i with 0%nat => 9/10 | _ => 1/2 end) (fun _ _ => true) "
        "1 0 Phi [true; true] (1/2 * Phi [2%nat; 1%nat] + (1 - 1/2) * Phi [2%nat; 2%nat])",
        "intros Phi; apply a_serve with (j := 1%nat); "
        "[split; reflexivity | simpl; lra | apply a_end | apply a_end]",
    ),
)

_TIES = (
    # What a policy of largest rates may do: any of equals, idle without a job, throw coins.
    Anchor(
        "forall r avail n t Phi s k v1 v0, here avail t s k -> "
        "(forall p, here avail t s p -> r p <= r k) -> "
        "best r avail n (S t) (fun g => Phi (card s :: g)) (clr k s) v1 -> "
        "best r avail n (S t) (fun g => Phi (card s :: g)) s v0 -> "
        "best r avail (S n) t Phi s (r k * v1 + (1 - r k) * v0)",
        "intros; eapply b_serve; eassumption",
    ),
    Anchor(
        "forall r avail n t Phi s v, (forall p, ~ here avail t s p) -> "
        "best r avail n (S t) (fun g => Phi (card s :: g)) s v -> best r avail (S n) t Phi s v",
        "intros; eapply b_idle; eassumption",
    ),
    Anchor(
        "forall r avail n t Phi s a v w, best r avail n t Phi s v -> "
        "best r avail n t Phi s w -> best r avail n t Phi s (a * v + (1 - a) * w)",
        "intros; eapply b_coin; eassumption",
    ),
    Anchor("forall r avail t Phi s, best r avail 0 t Phi s (Phi [card s])", "intros; apply b_end"),
)

# Theorems -------------------------------------------------------------------------------------------

_COUPLING, _FILE, _STEPS = "Coupling.v", "GreedyOptimal.v", "Steps.v"

_ORDERED = """forall (J : Type) (gtb : J -> J -> bool) (p : J -> R),
  (forall x y z, gtb x y = true -> gtb y z = true -> gtb x z = true) ->
  (forall x y, x = y \\/ gtb x y = true \\/ gtb y x = true) ->
  (forall x y, gtb x y = true -> p y <= p x) ->
  forall A x B u r o es, sorted J gtb (A ++ x :: B) -> r <= p x ->
  let lp := arrive J gtb o (learner J u r A x B) in
  let lm := arrive J gtb o (serve J p u (A ++ x :: B)) in
  (forall a, o = Some a -> ~ In a (A ++ x :: B)) -> fresh J gtb p es lp lm ->"""
_PSI = "psi J (run J gtb p es lp) (run J gtb p es lm)"

_TWO_RATES = "fun x : nat => match x with 0%nat => 3/4 | _ => 1/2 end"

_RATED = """forall r : nat -> R, (forall p, 0 <= r p <= 1) ->
  (forall p q, (p <= q)%nat -> r q <= r p) ->
  forall avail : nat -> nat -> bool, (forall t p, avail t p = true -> avail (S t) p = true) ->"""

# Shared by two claims each.
_EQUAL_RATES = """forall r : nat -> R, (forall p q, (p <= q)%nat -> r q <= r p) ->
  forall avail : nat -> nat -> bool, (forall t p, avail t p = true -> avail (S t) p = true) ->
  forall n t (Phi : list nat -> R) s i j, (i < j)%nat -> here avail t s i -> here avail t s j ->
  r i = r j -> V r avail n t Phi (clr i s) = V r avail n t Phi (clr j s)"""
_UNEQUAL = Mutant(
    _FILE,
    "here t s j -> r i = r j ->",
    "here t s j -> r j <= r i ->",
    "a better job",
)
_PRODUCT = f"""{_RATED}
  forall n t s j k p, here avail t s j -> top avail t s = Some k -> 0 <= p <= r j ->
  (p * W r avail n (S t) (clr j s) + (1 - p) * W r avail n (S t) s) - W r avail (S n) t s
    <= (r k - p) * (W r avail n (S t) s - W r avail n (S t) (clr k s)) /\\
  0 <= W r avail n (S t) s - W r avail n (S t) (clr k s) <= 1"""
_HALF_PRODUCT = f"""GreedyOptimal.half_product_false : ~ ({_RATED}
  forall n t s j k p, here avail t s j -> top avail t s = Some k -> 0 <= p <= r j ->
  (p * W r avail n (S t) (clr j s) + (1 - p) * W r avail n (S t) s) - W r avail (S n) t s
    <= (r k - p) / 2 * (W r avail n (S t) s - W r avail n (S t) (clr k s)))"""
_TRIED = Mutant(
    _FILE,
    "<= (r k - p) * (W n (S t) s - W n (S t) (clr k s)) /\\",
    "<= (r j - p) * (W n (S t) s - W n (S t) (clr k s)) /\\",
    "the rate of the job tried",
)

_THREE_POINT = "a * exp (- (eps / 2)) + (1 - a - b) + b * exp (eps / 2)"

THEOREMS = (
    Theorem(
        claim="contextual.coupling_automaton",
        proof="Coupling.serve_class",
        statement="""forall (J : Type) (gtb : J -> J -> bool) (p : J -> R),
  (forall x y, gtb x y = true -> p y <= p x) ->
  forall c lp lm u, In_cls J gtb c lp lm -> sorted J gtb lp -> sorted J gtb lm ->
  exists c', In_cls J gtb c' (serve J p u lp) (serve J p u lm)
    /\\ table c (dep J p u lp) (dep J p u lm) c'""",
        covers="item 1 from S0 to S2-: a round leads to the listed classes only, for any finite sets",
        anchors=_AUTOMATON,
        mutants=(
            Mutant(
                _COUPLING,
                "  | S2p, true, false => c' = S1m",
                "  | S2p, true, false => c' = S1p",
                "another class in the table",
            ),
            Mutant(
                _COUPLING,
                "| c2p : forall A x B y C, x >> y ->",
                "| c2p : forall A x B y C, y >> x ->",
                "the private job of the first queue is the worse one",
            ),
        ),
    ),
    Theorem(
        claim="contextual.coupling_automaton",
        proof="Coupling.switching_round",
        statement="""forall (J : Type) (gtb : J -> J -> bool) (p : J -> R),
  (forall x y, gtb x y = true -> p y <= p x) ->
  forall A x B u r, sorted J gtb (A ++ x :: B) -> r <= p x ->
  exists c, In_cls J gtb c (learner J u r A x B) (serve J p u (A ++ x :: B)) /\\
  match ldep u r, dep J p u (A ++ x :: B) with
  | false, false => c = S0
  | true, true => c = S0 \\/ c = S2p
  | false, true => c = S1p
  | true, false => False
  end""",
        covers="item 1, round t: it leads to the listed classes only, and is never (1, 0)",
        anchors=(*_AUTOMATON[1:], _LEARNER),
        mutants=(
            Mutant(
                _COUPLING,
                "| true, true => c = S0 \\/ c = S2p\n  | false, true",
                "| true, true => c = S0\n  | false, true",
                "the same jobs after (1, 1)",
            ),
        ),
    ),
    Theorem(
        claim="contextual.coupling_automaton",
        proof="Coupling.every_step",
        statement=f"""let p := {_TWO_RATES} in
  forall c dp dm c', table c dp dm c' -> exists lp lm u, 0 < u < 1
  /\\ In_cls nat Nat.ltb c lp lm /\\ sorted nat Nat.ltb lp /\\ sorted nat Nat.ltb lm
  /\\ dep nat p u lp = dp /\\ dep nat p u lm = dm
  /\\ In_cls nat Nat.ltb c' (serve nat p u lp) (serve nat p u lm)""",
        covers="item 1 from S0 to S2-: each step of the table occurs",
        anchors=_AUTOMATON,
        mutants=(
            Mutant(
                _COUPLING,
                "table c dp dm c' -> exists lp lm u, 0 < u",
                "table c dm dp c' -> exists lp lm u, 0 < u",
                "the departures exchanged",
            ),
        ),
    ),
    Theorem(
        claim="contextual.coupling_automaton",
        proof="Coupling.every_switch",
        statement=f"""let p := {_TWO_RATES} in
  forall dp dm c,
  match dp, dm with
  | false, false => c = S0
  | true, true => c = S0 \\/ c = S2p
  | false, true => c = S1p
  | true, false => False
  end -> exists A x B u r, 0 < u < 1
  /\\ sorted nat Nat.ltb (A ++ x :: B) /\\ r <= p x
  /\\ ldep u r = dp /\\ dep nat p u (A ++ x :: B) = dm
  /\\ In_cls nat Nat.ltb c (learner nat u r A x B) (serve nat p u (A ++ x :: B))""",
        covers="item 1, round t: each step occurs",
        anchors=(*_AUTOMATON[1:], _LEARNER),
        mutants=(
            Mutant(
                _COUPLING,
                "| false, true => c = S1p\n  | true, false => False",
                "| false, true => c = S1m\n  | true, false => False",
                "one more job in the other queue",
            ),
        ),
    ),
    Theorem(
        claim="contextual.coupling_automaton",
        proof="Coupling.arrive_class",
        statement="""forall (J : Type) (gtb : J -> J -> bool),
  (forall x y z, gtb x y = true -> gtb y z = true -> gtb x z = true) ->
  forall c lp lm o, In_cls J gtb c lp lm -> sorted J gtb lp -> sorted J gtb lm ->
  In_cls J gtb c (arrive J gtb o lp) (arrive J gtb o lm)""",
        covers="a common arrival keeps the class",
        anchors=_AUTOMATON[-1:],
        refutations=(
            """Coupling.unordered_false : ~ (forall (J : Type) (gtb : J -> J -> bool),
  (forall x y z, gtb x y = true -> gtb y z = true -> gtb x z = true) ->
  forall c lp lm o, In_cls J gtb c lp lm -> In_cls J gtb c (arrive J gtb o lp) (arrive J gtb o lm))""",
        ),
        mutants=(
            Mutant(
                _COUPLING,
                "match o with None => l | Some a => insert a l end.",
                "match o with None => l | Some a => firstn 1 l ++ insert a (skipn 1 l) end.",
                "an arrival never goes before the first job",
            ),
        ),
        axioms="none",
    ),
    Theorem(
        claim="contextual.coupling_automaton",
        proof="Coupling.coupling_agree",
        statement=f"""{_ORDERED}
  ldep u r = dep J p u (A ++ x :: B) -> ({_PSI} = -1 \\/ {_PSI} = 0)%Z""",
        covers="item 2 after equal departures: psi is -1 or 0 at every later time",
        anchors=(*_AUTOMATON[1:], _LEARNER),
        refutations=(
            """Coupling.psi_minus_one : exists u r es, let l := [0; 1]%nat in
  ldep u r = true /\\ dep nat p2 u l = true /\\
  psi nat (run nat gt2 p2 es (learner nat u r [0%nat] 1%nat []))
          (run nat gt2 p2 es (serve nat p2 u l)) = (-1)%Z""",
        ),
        mutants=(
            Mutant(
                _COUPLING,
                "match l with [] => [] | x :: t => if Rle_dec u (p x) then t else l end.",
                "match l with [] => [] | x :: t => if Rle_dec (p x) u then t else l end.",
                "a job leaves if the uniform is large",
            ),
        ),
    ),
    Theorem(
        claim="contextual.coupling_automaton",
        proof="Coupling.coupling_neither",
        statement="""forall (J : Type) (gtb : J -> J -> bool) (p : J -> R) A x B u r o es,
  ldep u r = false -> dep J p u (A ++ x :: B) = false ->
  psi J (run J gtb p es (arrive J gtb o (learner J u r A x B)))
        (run J gtb p es (arrive J gtb o (serve J p u (A ++ x :: B)))) = 0%Z""",
        covers="item 2 after (0, 0): psi is 0 at every later time",
        anchors=(*_AUTOMATON[1:], _LEARNER),
        mutants=(
            Mutant(
                _COUPLING,
                "ldep u r = false -> dep u (A ++ x :: B) = false ->",
                "ldep u r = true -> dep u (A ++ x :: B) = true ->",
                "after (1, 1)",
            ),
        ),
    ),
    Theorem(
        claim="contextual.coupling_automaton",
        proof="Coupling.coupling_disagree",
        statement=f"""{_ORDERED}
  ldep u r = false -> dep J p u (A ++ x :: B) = true -> ({_PSI} = 0 \\/ {_PSI} = 1)%Z""",
        covers="item 2 after (0, 1): psi is 0 or 1 at every later time",
        anchors=(*_AUTOMATON[1:], _LEARNER),
        mutants=(
            Mutant(
                _COUPLING,
                "Definition disagree_side (c : cls) : Prop := c = S0 \\/ c = S1p.",
                "Definition disagree_side (c : cls) : Prop := c = S0 \\/ c = S1m.",
                "another pair of classes",
            ),
        ),
    ),
    Theorem(
        claim="contextual.coupling_automaton",
        proof="Coupling.no_reverse",
        statement="""forall (J : Type) (gtb : J -> J -> bool) (p : J -> R),
  (forall x y, gtb x y = true -> p y <= p x) ->
  forall A x B u r, sorted J gtb (A ++ x :: B) -> r <= p x ->
  ldep u r = true -> dep J p u (A ++ x :: B) = true""",
        covers="round t is never (1, 0)",
        anchors=(_LEARNER,),
        mutants=(
            Mutant(
                _COUPLING,
                "Hypothesis mono : forall x y, x >> y -> p y <= p x.",
                "Hypothesis mono : forall x y, x >> y -> p x <= p y.",
                "worst first",
            ),
        ),
    ),
    Theorem(
        claim="contextual.coupling_automaton",
        proof="Coupling.every_value",
        statement=f"""let l := [0; 1]%nat in
  let p := {_TWO_RATES} in
  exists u00 u11 u01 r : R,
  let psi_of := fun u es => psi nat (run nat Nat.ltb p es (learner nat u r [0%nat] 1%nat []))
                                    (run nat Nat.ltb p es (serve nat p u l)) in
  0 < u00 < 1 /\\ 0 < u11 < 1 /\\ 0 < u01 < 1 /\\ r = p 1%nat
  /\\ (ldep u00 r = false /\\ dep nat p u00 l = false /\\ psi_of u00 [] = 0%Z)
  /\\ (ldep u11 r = true /\\ dep nat p u11 l = true
     /\\ psi_of u11 [] = 0%Z
     /\\ exists es, Forall (fun e => 0 < fst e < 1) es /\\ psi_of u11 es = (-1)%Z)
  /\\ (ldep u01 r = false /\\ dep nat p u01 l = true
     /\\ psi_of u01 [] = 1%Z
     /\\ exists es, Forall (fun e => 0 < fst e < 1) es /\\ psi_of u01 es = 0%Z)""",
        covers="item 2: each value occurs",
        anchors=(*_AUTOMATON[1:], _LEARNER),
        mutants=(
            Mutant(
                _COUPLING,
                "/\\ psi_of u01 [] = 1%Z",
                "/\\ psi_of u01 [] = (-1)%Z",
                "the other sign",
            ),
        ),
    ),
    Theorem(
        claim="contextual.coupling_automaton",
        proof="Coupling.reached_classes",
        statement=f"""{_ORDERED}
  exists c, c <> S2m /\\ In_cls J gtb c (run J gtb p es lp) (run J gtb p es lm)""",
        covers="item 2: each pair that is reached is in a class other than S2-",
        anchors=(*_AUTOMATON, _LEARNER),
        mutants=(
            Mutant(
                _COUPLING,
                "exists c, c <> S2m /\\ In_cls c (run es lp) (run es lm).",
                "exists c, c <> S2p /\\ In_cls c (run es lp) (run es lm).",
                "S2+ for S2-",
            ),
        ),
    ),
    Theorem(
        claim="contextual.coupling_automaton",
        proof="Coupling.best_exists",
        statement="""forall (J : Type) (gtb : J -> J -> bool),
  (forall x y z, gtb x y = true -> gtb y z = true -> gtb x z = true) ->
  (forall x y, x = y \\/ gtb x y = true \\/ gtb y x = true) ->
  forall l, l <> [] -> exists x, In x l /\\ forall y, In y l -> y = x \\/ gtb x y = true""",
        covers="a nonempty finite set of jobs has a best one",
        mutants=(
            Mutant(
                _COUPLING,
                "In y l -> y = x \\/ x >> y.",
                "In y l -> x >> y.",
                "better than itself, too",
            ),
        ),
        axioms="none",
    ),
    Theorem(
        claim="contextual.path_likelihood",
        proof="GreedyOptimal.path_likelihood",
        statement=f"""{_RATED}
  forall n t (Phi : list nat -> R) s i j, (forall g, 0 <= Phi g) -> (i < j)%nat ->
  here avail t s i -> here avail t s j ->
  r j * V r avail n t Phi (clr j s) <= r i * V r avail n t Phi (clr i s)""",
        covers="the inequality for every nonnegative function of the path, by induction over the rounds",
        anchors=_GREEDY,
        refutations=(
            f"""GreedyOptimal.unweighted_false : ~ ({_RATED}
  forall n t (Phi : list nat -> R) s i j, (forall g, 0 <= Phi g) -> (i < j)%nat ->
  here avail t s i -> here avail t s j ->
  V r avail n t Phi (clr j s) <= V r avail n t Phi (clr i s))""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "r j * V n t Phi (clr j s) <= r i * V n t Phi (clr i s).",
                "V n t Phi (clr j s) <= V n t Phi (clr i s).",
                "without the weights",
            ),
        ),
    ),
    Theorem(
        claim="contextual.path_likelihood",
        proof="GreedyOptimal.equal_rates",
        statement=_EQUAL_RATES,
        covers="two jobs of the same rate, in whichever order they are served: equality",
        anchors=_GREEDY,
        mutants=(_UNEQUAL,),
    ),
    Theorem(
        claim="contextual.path_likelihood",
        proof="GreedyOptimal.ties_are_free",
        statement="""forall r : nat -> R, (forall p q, (p <= q)%nat -> r q <= r p) ->
  forall avail : nat -> nat -> bool, (forall t p, avail t p = true -> avail (S t) p = true) ->
  forall n t (Phi : list nat -> R) s v, best r avail n t Phi s v -> v = V r avail n t Phi s""",
        covers="however ties are broken, by round, by the set or by coins, the law is the same",
        anchors=(*_TIES, *_GREEDY),
        mutants=(
            Mutant(
                _FILE,
                "here t s k -> (forall p, here t s p -> r p <= r k) ->",
                "here t s k ->",
                "any job",
            ),
        ),
    ),
    Theorem(
        claim="contextual.greedy_is_optimal",
        proof="GreedyOptimal.exchange",
        statement=f"""{_RATED}
  forall n t (Phi : list nat -> R) s, (forall g g', Forall2 le g g' -> Phi g <= Phi g') ->
  (forall i, here avail t s i -> V r avail n t Phi (clr i s) <= V r avail n t Phi s) /\\
  (forall i j, (i < j)%nat -> here avail t s i -> here avail t s j ->
    r j * (V r avail n t Phi s - V r avail n t Phi (clr j s))
    <= r i * (V r avail n t Phi s - V r avail n t Phi (clr i s)))""",
        covers="item 1, for every nondecreasing function of the path, by induction over the rounds",
        anchors=_GREEDY,
        refutations=(
            f"""GreedyOptimal.unweighted_exchange_false : ~ ({_RATED}
  forall n t (Phi : list nat -> R) s i j, (forall g g', Forall2 le g g' -> Phi g <= Phi g') ->
  (i < j)%nat -> here avail t s i -> here avail t s j ->
  V r avail n t Phi s - V r avail n t Phi (clr j s)
    <= V r avail n t Phi s - V r avail n t Phi (clr i s))""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "Hypothesis rmono : forall p q, (p <= q)%nat -> r q <= r p.",
                "Hypothesis rmono : forall p q, (p <= q)%nat -> r p <= r q.",
                "worst first",
            ),
        ),
    ),
    Theorem(
        claim="contextual.greedy_is_optimal",
        proof="GreedyOptimal.equal_rates",
        statement=_EQUAL_RATES,
        covers="item 1 for two jobs of the same rate, in whichever order they are served: equality",
        anchors=_GREEDY,
        mutants=(_UNEQUAL,),
    ),
    Theorem(
        claim="contextual.greedy_is_optimal",
        proof="GreedyOptimal.greedy_optimal",
        statement=f"""{_RATED}
  forall n t (Phi : list nat -> R) s v, (forall g g', Forall2 le g g' -> Phi g <= Phi g') ->
  ach r avail n t Phi s v -> V r avail n t Phi s <= v""",
        covers="item 2: no policy does better (idling, any job, any server, history, coins)",
        anchors=(*_GREEDY[:1], *_GREEDY[6:], *_POLICIES),
        refutations=(
            f"""GreedyOptimal.any_function_false : ~ ({_RATED}
  forall n t (Phi : list nat -> R) s v,
  ach r avail n t Phi s v -> V r avail n t Phi s <= v)""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "here t s j -> 0 <= p <= r j ->\n    ach",
                "here t s j -> 0 <= p ->\n    ach",
                "a policy whose services may be faster than the best rate",
            ),
        ),
    ),
    Theorem(
        claim="contextual.greedy_is_optimal",
        proof="GreedyOptimal.greedy_attains",
        statement="""forall r : nat -> R, (forall p, 0 <= r p <= 1) ->
  forall avail n t (Phi : list nat -> R) s, ach r avail n t Phi s (V r avail n t Phi s)""",
        covers="that the bound of item 2 is the value of a policy",
        anchors=(*_GREEDY[6:], *_POLICIES),
        mutants=(
            Mutant(
                _FILE,
                "here t s j -> 0 <= p <= r j ->\n    ach",
                "here t s j -> 0 <= p < r j ->\n    ach",
                "a policy that serves at less than the best rate",
            ),
        ),
    ),
    Theorem(
        claim="contextual.one_step_loss",
        proof="GreedyOptimal.one_step_loss",
        statement=f"""{_RATED}
  forall n t s j k p, here avail t s j -> top avail t s = Some k -> 0 <= p <= r j ->
  (1 - r 0%nat) ^ n * (r k - p) <=
    (p * W r avail n (S t) (clr j s) + (1 - p) * W r avail n (S t) s) - W r avail (S n) t s
    <= r k - p""",
        covers="the outer bounds of item 1, given the past",
        anchors=_GREEDY,
        refutations=(
            f"""GreedyOptimal.round_less_false : ~ ({_RATED}
  forall n t s j k p, here avail t s j -> top avail t s = Some k -> 0 <= p <= r j ->
  (1 - r 0%nat) ^ (n - 1) * (r k - p) <=
    (p * W r avail n (S t) (clr j s) + (1 - p) * W r avail n (S t) s) - W r avail (S n) t s)""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "  (1 - r O) ^ n * (r k - p) <=\n    (p *",
                "  (1 - r O) ^ (n - 1) * (r k - p) <=\n    (p *",
                "one round less",
            ),
        ),
    ),
    Theorem(
        claim="contextual.one_step_loss",
        proof="GreedyOptimal.rid_of_the_slow",
        statement=f"""{_RATED}
  forall n t s i j, (i < j)%nat -> here avail t s i -> here avail t s j ->
  W r avail n t (clr j s) <= W r avail n t (clr i s)""",
        covers="item 2: it is better to be rid of a slow job",
        anchors=_GREEDY[1:2],
        refutations=(
            f"""GreedyOptimal.rid_of_the_fast_false : ~ ({_RATED}
  forall n t s i j, (i < j)%nat -> here avail t s i -> here avail t s j ->
  W r avail n t (clr i s) <= W r avail n t (clr j s))""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "  W n t (clr j s) <= W n t (clr i s).\nProof",
                "  W n t (clr j s) < W n t (clr i s).\nProof",
                "always strictly better",
            ),
        ),
    ),
    Theorem(
        claim="contextual.one_step_loss",
        proof="GreedyOptimal.one_step_product",
        statement=_PRODUCT,
        covers="the inner bounds of item 1, and 0 <= psi-tilde <= 1 of item 2, given the past",
        anchors=_GREEDY,
        refutations=(_HALF_PRODUCT,),
        mutants=(_TRIED,),
    ),
    Theorem(
        claim="contextual.one_step_loss",
        proof="GreedyOptimal.mean_length",
        statement="""forall (r : nat -> R) (avail : nat -> nat -> bool) n t s,
  W r avail n t s = V r avail n t (fun g => INR (last g 0%nat)) s""",
        covers="W is the mean of the last length, so that equal rates give equality (path_likelihood)",
        anchors=_GREEDY,
        mutants=(
            Mutant(
                _FILE,
                "INR (last g O)) s.\nProof.",
                "INR (hd O g)) s.\nProof.",
                "the first length",
            ),
        ),
    ),
    Theorem(
        claim="contextual.psi_product_bound",
        proof="GreedyOptimal.one_step_product",
        statement=_PRODUCT,
        covers="the error times what is left of it, given the past, without a coupling",
        anchors=_GREEDY,
        refutations=(_HALF_PRODUCT,),
        mutants=(_TRIED,),
    ),
    Theorem(
        claim="contextual.psi_product_bound",
        proof="Steps.switching_step",
        statement="""forall pp pm e11 e01 e00, 0 <= pp <= pm -> pm <= 1 -> e11 <= 0 -> e00 <= 0 ->
  pp * e11 + (pm - pp) * e01 + (1 - pm) * e00 <= (pm - pp) * e01""",
        covers="the algebra of the coupling: only the disagreement of round t counts",
        refutations=(
            """Steps.equal_departures_false : ~ (forall pp pm e11 e01 e00, 0 <= pp <= pm -> pm <= 1 ->
  e11 <= 1 -> e00 <= 0 ->
  pp * e11 + (pm - pp) * e01 + (1 - pm) * e00 <= (pm - pp) * e01)""",
        ),
        mutants=(
            Mutant(
                _STEPS,
                "pm <= 1 -> e11 <= 0 -> e00 <= 0 ->",
                "pm <= 1 -> e11 <= 1 -> e00 <= 0 ->",
                "a difference of 1 after equal departures",
            ),
        ),
    ),
    Theorem(
        claim="contextual.survival",
        proof="GreedyOptimal.survival",
        statement=f"""{_RATED}
  forall n t s i, here avail t s i ->
  W r avail n t s - W r avail n t (clr i s) <= H r avail n t s""",
        covers="the first inequality, for given arrivals, by induction over the rounds",
        anchors=_GREEDY,
        refutations=(
            f"""GreedyOptimal.survival_without_false : ~ ({_RATED}
  forall n t s i, here avail t s i ->
  W r avail n t s - W r avail n t (clr i s) <= H r avail n t (clr i s))""",
        ),
        mutants=(
            Mutant(
                _FILE,
                "W n t s - W n t (clr i s) <= H n t s.",
                "W n t s - W n t (clr i s) <= H n t (clr i s).",
                "the queue without the job",
            ),
        ),
    ),
    Theorem(
        claim="contextual.mgf_step",
        proof="Steps.mgf_step",
        statement=f"""forall eps a b, 0 < eps <= 1 -> 0 <= a -> 0 <= b -> a + b <= 1 ->
  {_THREE_POINT} <= exp (eps / 2)
  /\\ (b - a <= - (eps / 2) -> {_THREE_POINT} <= exp (- (eps * eps / 8)))""",
        covers="all of it; a and b are the chances of -1 and 1",
        refutations=(
            f"""Steps.mgf_exponent_false : ~ (forall eps a b, 0 < eps <= 1 -> 0 <= a -> 0 <= b ->
  a + b <= 1 -> b - a <= - (eps / 2) -> {_THREE_POINT} <= exp (- (eps * eps / 6)))""",
        ),
        mutants=(
            Mutant(
                _STEPS,
                "(b - a <= - (eps / 2) ->\n",
                "(b - a <= - (eps / 3) ->\n",
                "a third of the slack",
            ),
        ),
        axioms="classic",
    ),
    Theorem(
        claim="contextual.elliptical_count",
        proof="Steps.min1_le_2ln",
        statement="forall y, 0 <= y -> Rmin 1 y <= 2 * ln (1 + y)",
        covers="the step of one round, with the constant 2",
        mutants=(
            Mutant(
                _STEPS,
                "Rmin 1 y <= 2 * ln (1 + y).",
                "Rmin 1 y <= ln (1 + y).",
                "the constant 1",
            ),
        ),
        refutations=("Steps.min1_not_ln : ~ (Rmin 1 1 <= ln (1 + 1))",),
        axioms="classic",
    ),
    Theorem(
        claim="contextual.elliptical_count",
        proof="Steps.min1_le_sharp",
        statement="forall y, 0 <= y -> Rmin 1 y * ln 2 <= ln (1 + y)",
        covers="the step of one round with 1/ln 2, which is least: equality at 1",
        anchors=(
            Anchor(
                "Rmin 1 1 * ln 2 = ln (1 + 1)",
                "rewrite Rmin_left by lra; rewrite Rmult_1_l; f_equal; lra",
            ),
        ),
        refutations=(
            "Steps.sharper_false : ~ (forall y, 0 <= y -> Rmin 1 y * (7 / 10) <= ln (1 + y))",
        ),
        mutants=(
            Mutant(
                _STEPS,
                "Rmin 1 y * ln 2 <= ln (1 + y).",
                "Rmin 1 y * ln 2 < ln (1 + y).",
                "without equality",
            ),
        ),
        axioms="classic",
    ),
    Theorem(
        claim="contextual.queue_tail",
        proof="Steps.one_minus_exp",
        statement="forall x, 0 <= x <= 1 -> x / 2 <= 1 - exp (- x)",
        covers="the step of the constant: 1/(1 - rho) <= 16/eps^2, with x = eps^2/8",
        refutations=(
            "Steps.half_exponent_false : ~ (forall x, 0 <= x <= 1 -> x / 2 <= 1 - exp (- x / 2))",
        ),
        mutants=(
            Mutant(
                _STEPS,
                "x / 2 <= 1 - exp (- x).",
                "x / 2 <= 1 - exp (- x / 2).",
                "half of the exponent",
            ),
        ),
        axioms="classic",
    ),
    Theorem(
        claim="contextual.theorem_5_5",
        proof="Steps.chebyshev_sum",
        statement="""forall n (M D : nat -> R),
  (forall i j, (i <= j < n)%nat -> M j <= M i) -> (forall i j, (i <= j < n)%nat -> D i <= D j) ->
  INR n * sumn n (fun i => M i * D i) <= sumn n M * sumn n D""",
        covers="Chebyshev's sum inequality, the last step of item 1",
        anchors=(Anchor("sumn 3 (fun s => INR s * INR s) = 5", "simpl; lra"),),
        refutations=(
            """Steps.chebyshev_equal_order_false : ~ (forall n (M D : nat -> R),
  (forall i j, (i <= j < n)%nat -> M j <= M i) -> (forall i j, (i <= j < n)%nat -> D j <= D i) ->
  INR n * sumn n (fun i => M i * D i) <= sumn n M * sumn n D)""",
        ),
        mutants=(
            Mutant(
                _STEPS,
                "(forall i j, (i <= j < n)%nat -> D i <= D j) ->",
                "(forall i j, (i <= j < n)%nat -> D j <= D i) ->",
                "equal order",
            ),
        ),
    ),
)

REACH = (
    Reach(
        "contextual.coupling_automaton",
        outside=(
            "an empty start; that reached pairs take all 12 steps; ties that differ between the "
            "queues (item 3); items 4 and 5"
        ),
        uncovered="that coupled queues have the laws of the two policy-switching queues",
    ),
    Reach(
        "contextual.path_likelihood",
        outside="",
        extent="whole",
        uncovered="",
    ),
    Reach(
        "contextual.greedy_is_optimal",
        outside="in item 2 averaging over random arrivals and over coins with infinitely many "
        "outcomes, and the coupling of ordered paths; items 3 and 4",
        uncovered=(
            "averaging over random arrivals, and over coins with infinitely many outcomes; "
            "and the coupling of ordered paths (Strassen's theorem)"
        ),
    ),
    Reach(
        "contextual.one_step_loss",
        outside=(
            "averaging over the past, the arrivals and the learner's coins; item 3, the sum "
            "over the rounds; and the three instances"
        ),
        uncovered="averaging over the past, the arrivals and the learner's coins: a line each",
    ),
    Reach(
        "contextual.psi_product_bound",
        outside=(
            "that W(s) - W(s without k) is the mean of psi in the coupling; averaging over "
            "the past; the roots m_t and delta_t; the sums over t; the three instances"
        ),
    ),
    Reach(
        "contextual.survival",
        outside=(
            "the mean over the arrivals, so the second inequality; and equality for a single "
            "job without arrivals"
        ),
        uncovered="the mean over the arrival of round t",
    ),
    Reach(
        "contextual.mgf_step",
        outside="",
        extent="whole",
    ),
    Reach(
        "contextual.elliptical_count",
        outside=(
            "all but one round: determinants, the sums over rounds and servers, the number of "
            "bad rounds with 32, and that 16/ln 2 is least and below 23.0832"
        ),
        extent="a step",
    ),
    Reach(
        "contextual.queue_tail",
        outside=(
            "the tail: the moment that shrinks, Markov's inequality, the bad rounds; and that "
            "CQB-epsilon and CQB-Opt have the drift"
        ),
        extent="a step",
    ),
    Reach(
        "contextual.theorem_5_5",
        outside=(
            "all but Chebyshev's inequality: the bounds M_t and Delta_t, their sums, the "
            "order in T, and how large the bound is"
        ),
        extent="a step",
    ),
)
