(** * Two queues that differ by one decision: contextual.coupling_automaton

    Jobs are of any type with a strict total order "served first", and a waiting set is its
    decreasing list: any finite set of jobs, any arrivals, any horizon. *)

From Coq Require Import Reals Lra Lia List ZArith Sorted.
Import ListNotations.
Open Scope R_scope.

Section Coupling.
(** [gtb x y]: x is served before y; [p x]: the best success rate of job x, monotone in that order.
    *)
Variable J : Type.
Variable gtb : J -> J -> bool.
Variable p : J -> R.
Notation "x >> y" := (gtb x y = true) (at level 70).
Hypothesis trans : forall x y z, x >> y -> y >> z -> x >> z.
Hypothesis total : forall x y, x = y \/ x >> y \/ y >> x.
Hypothesis mono : forall x y, x >> y -> p y <= p x.

(** A nonempty finite set has a first job. *)
Theorem best_exists : forall l, l <> [] -> exists x, In x l /\ forall y, In y l -> y = x \/ x >> y.
Proof.
  induction l as [|a t IH]; intros H; [congruence|]. destruct t as [|b t].
  - exists a. split; [left; auto|]. intros y [Hy|[]]; auto.
  - destruct IH as (x & Hx & M); [discriminate|].
    destruct (total a x) as [ -> |[G|G]]; [exists x|exists a|exists x]; (split; [simpl in *; tauto|]).
    + intros y [Hy|Hy]; auto.
    + intros y [Hy|Hy]; auto. right. destruct (M y Hy) as [ -> |]; eauto.
    + intros y [<-|Hy]; auto.
Qed.

(** ** The dynamics: serve the first job with uniform u, then let an arrival join *)
Definition sorted := StronglySorted (fun x y => x >> y).
Definition serve (u : R) (l : list J) : list J :=
  match l with [] => [] | x :: t => if Rle_dec u (p x) then t else l end.
Definition dep (u : R) (l : list J) : bool :=
  match l with [] => false | x :: _ => if Rle_dec u (p x) then true else false end.
Fixpoint insert (a : J) (l : list J) : list J :=
  match l with [] => [a] | x :: t => if gtb a x then a :: l else x :: insert a t end.
Definition arrive (o : option J) (l : list J) : list J :=
  match o with None => l | Some a => insert a l end.

(** ** The five classes in which two waiting sets may differ

    S0: equal.  S1p, S1m: the first, the second has one job x more.  S2p: the first has x where the
    second has y, and x goes before y.  S2m: the same with the roles exchanged. *)
Inductive cls := S0 | S1p | S1m | S2p | S2m.
Inductive In_cls : cls -> list J -> list J -> Prop :=
| c0  : forall l, In_cls S0 l l
| c1p : forall A x B, In_cls S1p (A ++ x :: B) (A ++ B)
| c1m : forall A x B, In_cls S1m (A ++ B) (A ++ x :: B)
| c2p : forall A x B y C, x >> y -> In_cls S2p (A ++ x :: B ++ C) (A ++ B ++ y :: C)
| c2m : forall A x B y C, y >> x -> In_cls S2m (A ++ B ++ x :: C) (A ++ y :: B ++ C).

(** The published table: class, departures (D+, D-), next class.  All that is not listed is
    impossible. *)
Definition table (c : cls) (dp dm : bool) (c' : cls) : Prop :=
  match c, dp, dm with
  | S0, false, false | S0, true, true => c' = S0
  | S1p, false, false | S1p, true, true => c' = S1p
  | S1p, true, false => c' = S0
  | S1m, false, false | S1m, true, true => c' = S1m
  | S1m, false, true => c' = S0
  | S2p, false, false => c' = S2p
  | S2p, true, true => c' = S0 \/ c' = S2p
  | S2p, true, false => c' = S1m
  | S2m, false, false => c' = S2m
  | S2m, true, true => c' = S0 \/ c' = S2m
  | S2m, false, true => c' = S1p
  | _, _, _ => False
  end.

(** One round with a common uniform follows the table.  Proof: look at the two first jobs; only
    there can the departures differ. *)
Lemma head_ge x l y : sorted (x :: l) -> In y l -> p y <= p x.
Proof. intros H Hy. inversion H as [|? ? H1 H2]; subst. rewrite Forall_forall in H2. apply mono; auto. Qed.

Theorem serve_class : forall c lp lm u, In_cls c lp lm -> sorted lp -> sorted lm ->
  exists c', In_cls c' (serve u lp) (serve u lm) /\ table c (dep u lp) (dep u lm) c'.
Proof.
  intros c lp lm u H Sp Sm. destruct H as [l|A x B|A x B|A x B y C Hxy|A x B y C Hxy].
  - exists S0. split; [constructor|]. destruct (dep u l); reflexivity.
  - destruct A as [|a A]; simpl.
    + destruct (Rle_dec u (p x)) as [Hx|Hx].
      * destruct B as [|b B]; simpl; [exists S0; split; [constructor|reflexivity]|].
        destruct (Rle_dec u (p b)).
        -- exists S1p. split; [apply (c1p [] b B)|reflexivity].
        -- exists S0. split; [constructor|reflexivity].
      * exists S1p. destruct B as [|b B]; simpl.
        -- split; [apply (c1p [] x [])|reflexivity].
        -- assert (p b <= p x) by (apply (head_ge x (b :: B)); simpl; auto).
           destruct (Rle_dec u (p b)); [lra|]. split; [apply (c1p [] x (b :: B))|reflexivity].
    + exists S1p. destruct (Rle_dec u (p a)); (split; [|reflexivity]); first [apply (c1p A)|apply (c1p (a :: A))].
  - destruct A as [|a A]; simpl.
    + destruct (Rle_dec u (p x)) as [Hx|Hx].
      * destruct B as [|b B]; simpl; [exists S0; split; [constructor|reflexivity]|].
        destruct (Rle_dec u (p b)).
        -- exists S1m. split; [apply (c1m [] b B)|reflexivity].
        -- exists S0. split; [constructor|reflexivity].
      * exists S1m. destruct B as [|b B]; simpl.
        -- split; [apply (c1m [] x [])|reflexivity].
        -- assert (p b <= p x) by (apply (head_ge x (b :: B)); simpl; auto).
           destruct (Rle_dec u (p b)); [lra|]. split; [apply (c1m [] x (b :: B))|reflexivity].
    + exists S1m. destruct (Rle_dec u (p a)); (split; [|reflexivity]); first [apply (c1m A)|apply (c1m (a :: A))].
  - destruct A as [|a A]; simpl.
    + destruct B as [|b B]; simpl.
      * assert (p y <= p x) by (apply mono; auto).
        destruct (Rle_dec u (p x)); destruct (Rle_dec u (p y)); try lra.
        -- exists S0. split; [constructor|left; reflexivity].
        -- exists S1m. split; [apply (c1m [] y C)|reflexivity].
        -- exists S2p. split; [apply (c2p [] x [] y C Hxy)|reflexivity].
      * assert (p b <= p x) by (apply (head_ge x (b :: B ++ C)); simpl; auto).
        assert (Hby : b >> y).
        { inversion Sm as [|? ? H1 H2]; subst. rewrite Forall_forall in H2. apply H2, in_app_iff. simpl; auto. }
        destruct (Rle_dec u (p x)); destruct (Rle_dec u (p b)); try lra.
        -- exists S2p. split; [apply (c2p [] b B y C Hby)|right; reflexivity].
        -- exists S1m. split; [apply (c1m (b :: B) y C)|reflexivity].
        -- exists S2p. split; [apply (c2p [] x (b :: B) y C Hxy)|reflexivity].
    + exists S2p. destruct (Rle_dec u (p a)); split.
      * apply (c2p A); auto.
      * right; reflexivity.
      * apply (c2p (a :: A)); auto.
      * reflexivity.
  - destruct A as [|a A]; simpl.
    + destruct B as [|b B]; simpl.
      * assert (p x <= p y) by (apply mono; auto).
        destruct (Rle_dec u (p x)); destruct (Rle_dec u (p y)); try lra.
        -- exists S0. split; [constructor|left; reflexivity].
        -- exists S1p. split; [apply (c1p [] x C)|reflexivity].
        -- exists S2m. split; [apply (c2m [] x [] y C Hxy)|reflexivity].
      * assert (p b <= p y) by (apply (head_ge y (b :: B ++ C)); simpl; auto).
        assert (Hbx : b >> x).
        { inversion Sp as [|? ? H1 H2]; subst. rewrite Forall_forall in H2. apply H2, in_app_iff. simpl; auto. }
        destruct (Rle_dec u (p y)); destruct (Rle_dec u (p b)); try lra.
        -- exists S2m. split; [apply (c2m [] x B b C Hbx)|right; reflexivity].
        -- exists S1p. split; [apply (c1p (b :: B) x C)|reflexivity].
        -- exists S2m. split; [apply (c2m [] x (b :: B) y C Hxy)|reflexivity].
    + exists S2m. destruct (Rle_dec u (p a)); split.
      * apply (c2m A); auto.
      * right; reflexivity.
      * apply (c2m (a :: A)); auto.
      * reflexivity.
Qed.

(** A common arrival keeps the class.  Proof: insert it into both lists; the pieces stay in place.
    *)
Lemma insert_In a l y : In y (insert a l) <-> y = a \/ In y l.
Proof.
  induction l as [|x t IH]; simpl; [intuition|].
  destruct (gtb a x); simpl; [intuition|]. rewrite IH; intuition.
Qed.
Lemma insert_sorted a l : sorted l -> ~ In a l -> sorted (insert a l).
Proof.
  unfold sorted. induction l as [|x t IH]; intros H Hn; simpl.
  - constructor; [constructor|constructor].
  - inversion H as [|? ? H1 H2]; subst. destruct (gtb a x) eqn:E.
    + constructor; auto. constructor; auto. rewrite Forall_forall in *. intros y Hy. eapply trans; eauto.
    + assert (x >> a) by (destruct (total x a) as [ -> |[|]]; [exfalso; apply Hn; simpl; auto|auto|congruence]).
      constructor; [apply IH; auto; intros Hi; apply Hn; simpl; auto|].
      rewrite Forall_forall in *. intros y Hy. apply insert_In in Hy as [ -> |Hy]; auto.
Qed.
Lemma insert_mid a A x B : sorted (A ++ x :: B) ->
  exists A' B', insert a (A ++ x :: B) = A' ++ x :: B' /\ insert a (A ++ B) = A' ++ B'.
Proof.
  induction A as [|c A IH]; simpl; intros H.
  - destruct (gtb a x) eqn:E.
    + exists [a], B. split; [reflexivity|]. destruct B as [|b B]; simpl; [reflexivity|].
      inversion H as [|? ? H1 H2]; subst. inversion H2; subst.
      rewrite (trans a x b); auto.
    + exists [], (insert a B). split; reflexivity.
  - inversion H as [|? ? H1 H2]; subst. destruct (gtb a c) eqn:E.
    + exists (a :: c :: A), B. split; reflexivity.
    + destruct (IH H1) as (A' & B' & E1 & E2). exists (c :: A'), B'. simpl. rewrite E1, E2. split; reflexivity.
Qed.
Lemma insert_two a x y B C A : x >> y -> sorted (A ++ x :: B ++ C) -> sorted (A ++ B ++ y :: C) ->
  exists A' B' C', insert a (A ++ x :: B ++ C) = A' ++ x :: B' ++ C'
                /\ insert a (A ++ B ++ y :: C) = A' ++ B' ++ y :: C'.
Proof.
  intros Hxy. induction A as [|c A IH]; simpl; intros Hp Hm.
  - destruct (gtb a x) eqn:E.
    + exists [a], B, C. split; [reflexivity|]. simpl.
      destruct B as [|b B]; simpl.
      * rewrite (trans a x y); auto.
      * inversion Hp as [|? ? H1 H2]; subst. inversion H2; subst. rewrite (trans a x b); auto.
    + (* a goes after x: insert into B ++ C and into B ++ y :: C *)
      destruct (insert_mid a B y C Hm) as (B' & C' & E1 & E2).
      exists [], B', C'. simpl. rewrite E1, E2. split; reflexivity.
  - inversion Hp as [|? ? H1 H2]; subst. inversion Hm as [|? ? H3 H4]; subst.
    destruct (gtb a c) eqn:E.
    + exists (a :: c :: A), B, C. split; reflexivity.
    + destruct (IH H1 H3) as (A' & B' & C' & E1 & E2). exists (c :: A'), B', C'. simpl.
      rewrite E1, E2. split; reflexivity.
Qed.
Theorem arrive_class : forall c lp lm o, In_cls c lp lm -> sorted lp -> sorted lm ->
  In_cls c (arrive o lp) (arrive o lm).
Proof.
  intros c lp lm [a|] H Sp Sm; simpl; [|exact H].
  destruct H as [l|A x B|A x B|A x B y C Hxy|A x B y C Hxy].
  - constructor.
  - destruct (insert_mid a A x B Sp) as (A' & B' & E1 & E2). rewrite E1, E2. constructor.
  - destruct (insert_mid a A x B Sm) as (A' & B' & E1 & E2). rewrite E1, E2. constructor.
  - destruct (insert_two a x y B C A Hxy Sp Sm) as (A' & B' & C' & E1 & E2). rewrite E1, E2. constructor; auto.
  - destruct (insert_two a y x B C A Hxy Sm Sp) as (A' & B' & C' & E1 & E2). rewrite E1, E2. constructor; auto.
Qed.

(** ** Runs of any length *)
Definition round (e : R * option J) (l : list J) : list J := arrive (snd e) (serve (fst e) l).
Fixpoint run (es : list (R * option J)) (l : list J) : list J :=
  match es with [] => l | e :: t => run t (round e l) end.
(** Jobs that arrive are new when they arrive. *)
Fixpoint fresh (es : list (R * option J)) (lp lm : list J) : Prop :=
  match es with [] => True
  | e :: t => (forall a, snd e = Some a -> ~ In a lp /\ ~ In a lm) /\ fresh t (round e lp) (round e lm)
  end.
Lemma serve_sorted u l : sorted l -> sorted (serve u l).
Proof. intros H. destruct l; simpl; [exact H|]. destruct (Rle_dec u (p j)); [|exact H]. inversion H; auto. Qed.
Lemma serve_In u l y : In y (serve u l) -> In y l.
Proof. destruct l; simpl; [auto|]. destruct (Rle_dec u (p j)); simpl; auto. Qed.
Lemma round_sorted e l : sorted l -> (forall a, snd e = Some a -> ~ In a l) -> sorted (round e l).
Proof.
  intros H Hf. unfold round, arrive. destruct (snd e) as [a|]; [|apply serve_sorted; auto].
  apply insert_sorted; [apply serve_sorted; auto|]. intros Hi; apply serve_In in Hi. exact (Hf a eq_refl Hi).
Qed.

Definition agree_side (c : cls) : Prop := c = S0 \/ c = S2p \/ c = S1m.
Definition disagree_side (c : cls) : Prop := c = S0 \/ c = S1p.

Lemma round_class c lp lm e : In_cls c lp lm -> sorted lp -> sorted lm ->
  exists c', In_cls c' (round e lp) (round e lm) /\ table c (dep (fst e) lp) (dep (fst e) lm) c'.
Proof.
  intros H Sp Sm. destruct (serve_class c lp lm (fst e) H Sp Sm) as (c' & H' & T).
  exists c'. split; [|exact T]. apply arrive_class; auto using serve_sorted.
Qed.
Lemma table_agree c dp dm c' : table c dp dm c' -> agree_side c -> agree_side c'.
Proof.
  unfold agree_side; intros T [ -> |[ -> | -> ]]; destruct dp, dm; simpl in T; try contradiction;
  intuition (subst; auto).
Qed.
Lemma table_disagree c dp dm c' : table c dp dm c' -> disagree_side c -> disagree_side c'.
Proof.
  unfold disagree_side; intros T [ -> | -> ]; destruct dp, dm; simpl in T; try contradiction;
  intuition (subst; auto).
Qed.
Lemma run_class (P : cls -> Prop) : (forall c dp dm c', table c dp dm c' -> P c -> P c') ->
  forall es c lp lm, In_cls c lp lm -> P c -> sorted lp -> sorted lm -> fresh es lp lm ->
  exists c', P c' /\ In_cls c' (run es lp) (run es lm).
Proof.
  intros HP. induction es as [|e es IH]; intros c lp lm H Hc Sp Sm F; simpl.
  - exists c; auto.
  - destruct F as [Fe F]. destruct (round_class c lp lm e H Sp Sm) as (c' & H' & T).
    apply (IH c'); auto.
    + eapply HP; eauto.
    + apply round_sorted; auto. intros a Ha; apply (Fe a Ha).
    + apply round_sorted; auto. intros a Ha; apply (Fe a Ha).
Qed.

(** ** The switching round

    The learner tries a waiting job x at any rate r <= p x, the other queue its first job, with the
    same uniform.  psi is the difference of the lengths from then on. *)
Definition psi (lp lm : list J) : Z := (Z.of_nat (length lp) - Z.of_nat (length lm))%Z.
Lemma psi_class c lp lm : In_cls c lp lm ->
  psi lp lm = match c with S0 => 0 | S1p => 1 | S1m => -1 | S2p => 0 | S2m => 0 end%Z.
Proof. intros H; destruct H; unfold psi; repeat rewrite app_length; simpl; repeat rewrite app_length; simpl; lia. Qed.

Definition learner (u r : R) (A : list J) (x : J) (B : list J) : list J :=
  if Rle_dec u r then A ++ B else A ++ x :: B.
Definition ldep (u r : R) : bool := if Rle_dec u r then true else false.

(** Where the switching round leads. *)
Definition switch_table (dp dm : bool) (c : cls) : Prop :=
  match dp, dm with
  | false, false => c = S0
  | true, true => c = S0 \/ c = S2p
  | false, true => c = S1p
  | true, false => False
  end.
Lemma learner_sorted : forall A x B u r, sorted (A ++ x :: B) -> sorted (learner u r A x B).
Proof.
  intros A x B u r Sl. unfold learner. destruct (Rle_dec u r); [|exact Sl].
  unfold sorted in *. induction A as [|a A IH]; simpl in *; [inversion Sl; auto|].
  inversion Sl as [|? ? H1 H2]; subst. constructor; auto.
  rewrite Forall_forall in *. intros y Hy. apply H2. apply in_app_iff in Hy. apply in_app_iff; simpl; intuition.
Qed.
Theorem switching_round : forall A x B u r, sorted (A ++ x :: B) -> r <= p x ->
  exists c, In_cls c (learner u r A x B) (serve u (A ++ x :: B)) /\
  switch_table (ldep u r) (dep u (A ++ x :: B)) c.
Proof.
  intros A x B u r Sl Hr. unfold switch_table, learner, ldep. destruct (Rle_dec u r) as [Hu|Hu].
  - destruct A as [|a A]; simpl in *.
    + destruct (Rle_dec u (p x)); [|lra]. exists S0. split; [constructor|auto].
    + assert (a >> x).
      { inversion Sl as [|? ? H1 H2]; subst. rewrite Forall_forall in H2. apply H2, in_app_iff; simpl; auto. }
      assert (p x <= p a) by (apply mono; auto). destruct (Rle_dec u (p a)); [|lra].
      exists S2p. split; [apply (c2p [] a A x B); auto|auto].
  - destruct (A ++ x :: B) as [|c l] eqn:E; [destruct A; discriminate|]. simpl.
    destruct (Rle_dec u (p c)); [exists S1p; split; [apply (c1p [] c l)|auto]|exists S0; split; [constructor|auto]].
Qed.

(** Both serve or both fail: psi is -1 or 0 for ever.  Proof: the classes S0, S2p, S1m are closed.
    *)
Theorem coupling_agree : forall A x B u r o es,
  sorted (A ++ x :: B) -> r <= p x ->
  let lp := arrive o (learner u r A x B) in
  let lm := arrive o (serve u (A ++ x :: B)) in
  (forall a, o = Some a -> ~ In a (A ++ x :: B)) -> fresh es lp lm ->
  ldep u r = dep u (A ++ x :: B) ->
  (psi (run es lp) (run es lm) = -1 \/ psi (run es lp) (run es lm) = 0)%Z.
Proof.
  intros A x B u r o es Sl Hr lp lm Ho F E.
  destruct (switching_round A x B u r Sl Hr) as (c & H & Hc). pose proof (learner_sorted A x B u r Sl) as Slp.
  assert (agree_side c).
  { unfold agree_side. unfold switch_table in Hc. rewrite <- E in Hc. destruct (ldep u r); [destruct Hc|]; auto. }
  assert (Slm : sorted (serve u (A ++ x :: B))) by (apply serve_sorted; auto).
  assert (Inl : forall a, In a (learner u r A x B) -> In a (A ++ x :: B)).
  { unfold learner. intros a. destruct (Rle_dec u r); auto. rewrite !in_app_iff; simpl; intuition. }
  destruct (run_class agree_side table_agree es c lp lm) as (c' & Hc' & H'); auto.
  - unfold lp, lm. apply arrive_class; auto.
  - unfold lp, arrive. destruct o as [a|]; auto. apply insert_sorted; auto. intros Hi. apply (Ho a eq_refl); auto.
  - unfold lm, arrive. destruct o as [a|]; auto. apply insert_sorted; auto.
    intros Hi. apply (Ho a eq_refl). eapply serve_In; eauto.
  - rewrite (psi_class c'); auto. destruct Hc' as [ -> |[ -> | -> ]]; auto.
Qed.

(** Both fail: the queues are the same for ever. *)
Theorem coupling_neither : forall A x B u r o es,
  ldep u r = false -> dep u (A ++ x :: B) = false ->
  psi (run es (arrive o (learner u r A x B))) (run es (arrive o (serve u (A ++ x :: B)))) = 0%Z.
Proof.
  intros A x B u r o es E1 E2.
  assert (L : learner u r A x B = A ++ x :: B)
    by (unfold learner, ldep in *; destruct (Rle_dec u r); [discriminate|reflexivity]).
  assert (O : serve u (A ++ x :: B) = A ++ x :: B).
  { destruct (A ++ x :: B) as [|c l]; simpl in *; [reflexivity|].
    destruct (Rle_dec u (p c)); [discriminate|reflexivity]. }
  rewrite L, O. unfold psi. lia.
Qed.

(** Only the other queue serves: psi is 0 or 1 for ever.  Proof: the classes S0, S1p are closed. *)
Theorem coupling_disagree : forall A x B u r o es,
  sorted (A ++ x :: B) -> r <= p x ->
  let lp := arrive o (learner u r A x B) in
  let lm := arrive o (serve u (A ++ x :: B)) in
  (forall a, o = Some a -> ~ In a (A ++ x :: B)) -> fresh es lp lm ->
  ldep u r = false -> dep u (A ++ x :: B) = true ->
  (psi (run es lp) (run es lm) = 0 \/ psi (run es lp) (run es lm) = 1)%Z.
Proof.
  intros A x B u r o es Sl Hr lp lm Ho F E1 E2.
  assert (EL : learner u r A x B = A ++ x :: B) by (unfold learner, ldep in *; destruct (Rle_dec u r); [discriminate|auto]).
  assert (Slm : sorted (serve u (A ++ x :: B))) by (apply serve_sorted; auto).
  assert (H : In_cls S1p (A ++ x :: B) (serve u (A ++ x :: B))).
  { destruct (A ++ x :: B) as [|c l]; simpl in *; [discriminate|].
    destruct (Rle_dec u (p c)); [|discriminate]. apply (c1p [] c l). }
  destruct (run_class disagree_side table_disagree es S1p lp lm) as (c' & Hc' & H'); auto.
  - unfold lp, lm. rewrite EL. apply arrive_class; auto.
  - right; auto.
  - unfold lp. rewrite EL. unfold arrive. destruct o as [a|]; auto. apply insert_sorted; auto.
  - unfold lm, arrive. destruct o as [a|]; auto. apply insert_sorted; auto.
    intros Hi. apply (Ho a eq_refl). eapply serve_In; eauto.
  - rewrite (psi_class c'); auto. destruct Hc' as [ -> | -> ]; auto.
Qed.

(** S2m is never reached: no other class leads to it. *)
Theorem reached_classes : forall A x B u r o es, sorted (A ++ x :: B) -> r <= p x ->
  let lp := arrive o (learner u r A x B) in
  let lm := arrive o (serve u (A ++ x :: B)) in
  (forall a, o = Some a -> ~ In a (A ++ x :: B)) -> fresh es lp lm ->
  exists c, c <> S2m /\ In_cls c (run es lp) (run es lm).
Proof.
  intros A x B u r o es Sl Hr lp lm Ho F.
  destruct (switching_round A x B u r Sl Hr) as (c & H & Hc). pose proof (learner_sorted A x B u r Sl) as Slp.
  assert (Slm : sorted (serve u (A ++ x :: B))) by (apply serve_sorted; auto).
  assert (Inl : forall a, In a (learner u r A x B) -> In a (A ++ x :: B)).
  { unfold learner. intros a. destruct (Rle_dec u r); auto. rewrite !in_app_iff; simpl; intuition. }
  apply (run_class (fun c => c <> S2m)) with (c := c); auto.
  - intros c0 dp dm c' T N. destruct c0, dp, dm; simpl in T; try contradiction; try congruence;
      destruct T; congruence.
  - unfold lp, lm. apply arrive_class; auto.
  - unfold switch_table in Hc. destruct (ldep u r), (dep u (A ++ x :: B)); try contradiction; try (intros ->; discriminate);
      destruct Hc; subst; discriminate.
  - unfold lp, arrive. destruct o as [a|]; auto. apply insert_sorted; auto. intros Hi. apply (Ho a eq_refl); auto.
  - unfold lm, arrive. destruct o as [a|]; auto. apply insert_sorted; auto.
    intros Hi. apply (Ho a eq_refl). eapply serve_In; eauto.
Qed.

(** The learner cannot serve alone: r <= p x <= p of the first job. *)
Theorem no_reverse : forall A x B u r, sorted (A ++ x :: B) -> r <= p x ->
  ldep u r = true -> dep u (A ++ x :: B) = true.
Proof.
  intros A x B u r Sl Hr. unfold ldep. destruct (Rle_dec u r); [|discriminate]. intros _.
  destruct A as [|a A]; simpl in *.
  - destruct (Rle_dec u (p x)); [auto|lra].
  - assert (p x <= p a) by (apply (head_ge a (A ++ x :: B)); auto; apply in_app_iff; simpl; auto).
    destruct (Rle_dec u (p a)); [auto|lra].
Qed.
End Coupling.

Definition gt2 (x y : nat) : bool := Nat.ltb x y.
(** An arrival among jobs out of order need not keep the class: [2; 0] and [0], and 1 arrives. *)
Theorem unordered_false : ~ (forall (J : Type) (gtb : J -> J -> bool),
  (forall x y z, gtb x y = true -> gtb y z = true -> gtb x z = true) ->
  forall c lp lm o, In_cls J gtb c lp lm -> In_cls J gtb c (arrive J gtb o lp) (arrive J gtb o lm)).
Proof.
  intros F. assert (T : forall x y z, gt2 x y = true -> gt2 y z = true -> gt2 x z = true).
  { unfold gt2. intros x y z. rewrite !Nat.ltb_lt. lia. }
  specialize (F nat gt2 T S1p _ _ (Some 1%nat) (c1p nat gt2 [] 2%nat [0%nat])). simpl in F.
  inversion F as [|A x B E1 E2| | |]. destruct A as [|a [|b [|c A]]]; simpl in *; congruence.
Qed.

(** Every value is taken: jobs 0 and 1 with p 0 = 3/4 and p 1 = 1/2, the learner tries job 1. *)
Definition p3 (x : nat) : R := match x with O => 3/4 | _ => 1/2 end.
Theorem every_value : exists u00 u11 u01 r : R, let l := [0; 1]%nat in
  let psi_of := fun u es => psi nat (run nat gt2 p3 es (learner nat u r [0%nat] 1%nat []))
                                    (run nat gt2 p3 es (serve nat p3 u l)) in
  0 < u00 < 1 /\ 0 < u11 < 1 /\ 0 < u01 < 1 /\ r = p3 1%nat
  /\ (ldep u00 r = false /\ dep nat p3 u00 l = false /\ psi_of u00 [] = 0%Z)
  /\ (ldep u11 r = true /\ dep nat p3 u11 l = true
     /\ psi_of u11 [] = 0%Z
     /\ exists es, Forall (fun e => 0 < fst e < 1) es /\ psi_of u11 es = (-1)%Z)
  /\ (ldep u01 r = false /\ dep nat p3 u01 l = true
     /\ psi_of u01 [] = 1%Z
     /\ exists es, Forall (fun e => 0 < fst e < 1) es /\ psi_of u01 es = 0%Z).
Proof.
  exists (7/8), (1/4), (5/8), (1/2). cbv zeta. do 3 (split; [lra|]). split; [reflexivity|].
  unfold ldep, dep, learner, serve, p3. repeat (match goal with
    |- context [Rle_dec ?a ?b] => destruct (Rle_dec a b); try (exfalso; lra) end).
  repeat split.
  - exists [(5/8, None)]. split; [repeat constructor; simpl; lra|]. simpl. unfold round, arrive, serve, p3. simpl.
    repeat (match goal with |- context [Rle_dec ?a ?b] => destruct (Rle_dec a b); try (exfalso; lra) end). reflexivity.
  - exists [(1/4, None); (1/4, None)]. split; [repeat constructor; simpl; lra|]. simpl. unfold round, arrive, serve, p3. simpl.
    repeat (match goal with |- context [Rle_dec ?a ?b] => destruct (Rle_dec a b); try (exfalso; lra); simpl end).
    reflexivity.
Qed.
(** -1 is attained: jobs 0 and 1 with p 0 = 1 and p 1 = 1/2. *)
Definition p2 (x : nat) : R := match x with O => 1 | _ => 1/2 end.
Theorem psi_minus_one : exists u r es,
  let l := [0; 1]%nat in
  ldep u r = true /\ dep nat p2 u l = true /\
  psi nat (run nat gt2 p2 es (learner nat u r [0%nat] 1%nat []))
          (run nat gt2 p2 es (serve nat p2 u l)) = (-1)%Z.
Proof.
  exists (1/4), (1/2), [(3/4, None)]. simpl. unfold ldep, dep, learner, serve, round, arrive, p2. simpl.
  destruct (Rle_dec (1/4) (1/2)); [|lra]. destruct (Rle_dec (1/4) 1); [|lra].
  split; [auto|]. split; [auto|]. simpl.
  unfold serve; simpl. destruct (Rle_dec (3/4) 1); [|lra]. destruct (Rle_dec (3/4) (1/2)); [lra|]. reflexivity.
Qed.

(** Every step of the table is taken, and so is every step of the switching round. *)
Ltac decide_uniforms := unfold serve, dep, ldep, learner, p3; simpl; repeat (match goal with
  |- context [Rle_dec ?a ?b] => destruct (Rle_dec a b); try (exfalso; lra); simpl end).
Ltac ordered := unfold sorted; repeat (constructor; try reflexivity).
Theorem every_step : forall c dp dm c', table c dp dm c' -> exists lp lm u, 0 < u < 1
  /\ In_cls nat gt2 c lp lm /\ sorted nat gt2 lp /\ sorted nat gt2 lm
  /\ dep nat p3 u lp = dp /\ dep nat p3 u lm = dm
  /\ In_cls nat gt2 c' (serve nat p3 u lp) (serve nat p3 u lm).
Proof.
  assert (X : forall c dp dm c' lp lm u, 0 < u < 1 ->
    In_cls nat gt2 c lp lm -> sorted nat gt2 lp -> sorted nat gt2 lm ->
    dep nat p3 u lp = dp /\ dep nat p3 u lm = dm /\ In_cls nat gt2 c' (serve nat p3 u lp) (serve nat p3 u lm) ->
    exists lp lm u, 0 < u < 1 /\ In_cls nat gt2 c lp lm /\ sorted nat gt2 lp /\ sorted nat gt2 lm
    /\ dep nat p3 u lp = dp /\ dep nat p3 u lm = dm
    /\ In_cls nat gt2 c' (serve nat p3 u lp) (serve nat p3 u lm)) by (intros; do 3 eexists; eauto).
  pose proof (c1p nat gt2 []) as P. pose proof (c1m nat gt2 []) as M.
  pose proof (fun x y => c2p nat gt2 [] x [] y []) as P2. pose proof (fun x y => c2m nat gt2 [] x [] y []) as M2.
  pose proof (c2p nat gt2 [0%nat] 1%nat [] 2%nat [] eq_refl) as PP.
  pose proof (c2m nat gt2 [0%nat] 2%nat [] 1%nat [] eq_refl) as MM. simpl in *.
  intros [| | | |] [|] [|] c' T; simpl in T; try contradiction; try (destruct T as [T|T]); subst c'.
  - apply (X _ _ _ _ [0%nat] [0%nat] (1/4)); [lra|constructor|ordered|ordered|]. decide_uniforms. repeat split; constructor.
  - apply (X _ _ _ _ [0%nat] [0%nat] (7/8)); [lra|constructor|ordered|ordered|]. decide_uniforms. repeat split; constructor.
  - apply (X _ _ _ _ [0; 1]%nat [1]%nat (1/4)); [lra|apply (P 0%nat)|ordered|ordered|]. decide_uniforms. repeat split; apply P.
  - apply (X _ _ _ _ [0]%nat [] (1/4)); [lra|apply P|ordered|ordered|]. decide_uniforms. repeat split; constructor.
  - apply (X _ _ _ _ [0]%nat [] (7/8)); [lra|apply P|ordered|ordered|]. decide_uniforms. repeat split; apply P.
  - apply (X _ _ _ _ [1]%nat [0; 1]%nat (1/4)); [lra|apply (M 0%nat)|ordered|ordered|]. decide_uniforms. repeat split; apply M.
  - apply (X _ _ _ _ [] [0]%nat (1/4)); [lra|apply M|ordered|ordered|]. decide_uniforms. repeat split; constructor.
  - apply (X _ _ _ _ [] [0]%nat (7/8)); [lra|apply M|ordered|ordered|]. decide_uniforms. repeat split; apply M.
  - apply (X _ _ _ _ [0]%nat [1]%nat (1/4)); [lra|apply P2; reflexivity|ordered|ordered|]. decide_uniforms. repeat split; constructor.
  - apply (X _ _ _ _ [0; 1]%nat [0; 2]%nat (1/4)); [lra|exact PP|ordered|ordered|]. decide_uniforms. repeat split; apply P2; reflexivity.
  - apply (X _ _ _ _ [0]%nat [1]%nat (5/8)); [lra|apply P2; reflexivity|ordered|ordered|]. decide_uniforms. repeat split; apply M.
  - apply (X _ _ _ _ [0]%nat [1]%nat (7/8)); [lra|apply P2; reflexivity|ordered|ordered|]. decide_uniforms. repeat split; apply P2; reflexivity.
  - apply (X _ _ _ _ [1]%nat [0]%nat (1/4)); [lra|apply M2; reflexivity|ordered|ordered|]. decide_uniforms. repeat split; constructor.
  - apply (X _ _ _ _ [0; 2]%nat [0; 1]%nat (1/4)); [lra|exact MM|ordered|ordered|]. decide_uniforms. repeat split; apply M2; reflexivity.
  - apply (X _ _ _ _ [1]%nat [0]%nat (5/8)); [lra|apply M2; reflexivity|ordered|ordered|]. decide_uniforms. repeat split; apply P.
  - apply (X _ _ _ _ [1]%nat [0]%nat (7/8)); [lra|apply M2; reflexivity|ordered|ordered|]. decide_uniforms. repeat split; apply M2; reflexivity.
Qed.
Theorem every_switch : forall dp dm c, switch_table dp dm c -> exists A x B u r, 0 < u < 1
  /\ sorted nat gt2 (A ++ x :: B) /\ r <= p3 x /\ ldep u r = dp /\ dep nat p3 u (A ++ x :: B) = dm
  /\ In_cls nat gt2 c (learner nat u r A x B) (serve nat p3 u (A ++ x :: B)).
Proof.
  intros [|] [|] c T; simpl in T; try contradiction; try (destruct T as [T|T]); subst c.
  - exists [], 0%nat, [], (1/4), (3/4). simpl. split; [lra|]. split; [ordered|]. split; [simpl; lra|]. decide_uniforms.
    repeat split; constructor.
  - exists [0%nat], 1%nat, [], (1/4), (1/2). simpl. split; [lra|]. split; [ordered|]. split; [simpl; lra|]. decide_uniforms.
    repeat split; apply (c2p nat gt2 [] 0%nat [] 1%nat []); reflexivity.
  - exists [0%nat], 1%nat, [], (5/8), (1/2). simpl. split; [lra|]. split; [ordered|]. split; [simpl; lra|]. decide_uniforms.
    repeat split; apply (c1p nat gt2 [] 0%nat [1%nat]).
  - exists [], 0%nat, [], (7/8), (3/4). simpl. split; [lra|]. split; [ordered|]. split; [simpl; lra|]. decide_uniforms.
    repeat split; constructor.
Qed.
