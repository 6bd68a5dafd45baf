(** * A learner with feedback has a law over sequences of arms

    Claims recharge.age_state, hamacher_lower_bound, competitive_ratio: what joins the buffers and the
    answers, [joint], to the laws of which the limits speak. *)

From Coq Require Import Reals Lra Lia List Arith.
From Book Require Export Recharge.
Import ListNotations.
Open Scope R_scope.

(** ** Sums over states *)

Lemma sum_states_plus m F G : sum_states m (fun y => F y + G y) = sum_states m F + sum_states m G.
Proof. revert F G. induction m; intros; simpl; [reflexivity|]. rewrite !IHm. ring. Qed.
Lemma sum_states_nonneg m F : (forall y, 0 <= F y) -> 0 <= sum_states m F.
Proof. revert F. induction m; intros F H; simpl; [apply H|]. apply Rplus_le_le_0_compat; apply IHm; intros; apply H. Qed.
Lemma sum_states_swap m n F : sum_states m (fun x => sum_states n (fun y => F x y)) = sum_states n (fun y => sum_states m (fun x => F x y)).
Proof. revert F. induction m; intros F; simpl; [reflexivity|]. rewrite !IHm, <- sum_states_plus. reflexivity. Qed.

(** ** The chance of a past, and of an answer *)

Definition chance m mu learner (es : list (nat * bool)) : R := sum_states m (joint m mu learner (map Some es)).
(** The chances of the two answers to a packet add up to that of its choice: nothing is lost.
    Proof: from each state the moves of every server add up to 1, but for the answer of server a, which
    the state decides. *)
Theorem chance_answers m mu learner a t : (a < m)%nat ->
  chance m mu learner ((a, true) :: t) + chance m mu learner ((a, false) :: t)
  = learner (map Some t) (Some a) * chance m mu learner t.
Proof.
  intros Ha. unfold chance. cbn [map joint option_map fst].
  set (J := joint m mu learner (map Some t)).
  assert (E : forall ok, sum_states m (fun x => learner (map Some t) (Some a) * sum_states m (fun y =>
      J y * prodn m (fun j => move (mu j) (seen j (Some (a, ok))) (y j) (x j))))
    = learner (map Some t) (Some a) * sum_states m (fun y => J y * (if Bool.eqb (y a) ok then 1 else 0))).
  { intros ok. rewrite (sum_states_ext m _ (fun x => sum_states m (fun y =>
        J y * prodn m (fun j => move (mu j) (seen j (Some (a, ok))) (y j) (x j))) * learner (map Some t) (Some a)))
      by (intros; ring).
    rewrite sum_states_scal, sum_states_swap, Rmult_comm. f_equal. apply sum_states_ext. intros y.
    rewrite (sum_states_ext m _ (fun x => prodn m (fun j => move (mu j) (seen j (Some (a, ok))) (y j) (x j)) * J y))
      by (intros; ring).
    rewrite sum_states_scal, (sum_states_prod m (fun j b => move (mu j) (seen j (Some (a, ok))) (y j) b)), Rmult_comm.
    f_equal. rewrite <- (prodn_one m a (if Bool.eqb (y a) ok then 1 else 0) Ha). apply prodn_ext. intros j _. unfold seen.
    destruct (Nat.eqb_spec a j) as [<-|]; [destruct ok, (y a)|destruct (y j)]; simpl; ring. }
  rewrite !E, <- Rmult_plus_distr_l, <- sum_states_plus. f_equal. apply sum_states_ext. intros y. destruct (y a); simpl; ring.
Qed.

(** ** All pasts of T steps, and the law of the arms that a learner chooses *)

Fixpoint pasts (m T : nat) : list (list (nat * bool)) :=
  match T with O => [[]] | S k => flat_map (fun t => flat_map (fun a => [(a, true) :: t; (a, false) :: t]) (seq 0 m)) (pasts m k) end.
Definition law_of m mu learner T : list (R * list nat) :=
  map (fun es => (chance m mu learner es, map fst es)) (pasts m T).
(** [learner] chooses one of the m arms in each step. *)
Definition chances m (learner : list (option (nat * bool)) -> option nat -> R) :=
  forall t, (forall a, 0 <= learner t a) /\ sumn m (fun a => learner t (Some a)) = 1.

Lemma joint_nonneg m mu learner es x : rates m mu -> chances m learner -> 0 <= joint m mu learner es x.
Proof.
  intros Hr Hl. revert x. induction es as [|e t IH]; intros x; cbn [joint].
  - apply prodn_nonneg. intros j _. destruct (x j); lra.
  - apply Rmult_le_pos; [apply Hl|]. apply sum_states_nonneg. intros y. apply Rmult_le_pos; [apply IH|].
    apply prodn_nonneg. intros j Hj. pose proof (Hr j Hj). unfold move.
    destruct (seen j e) as [[|]|], (y j), (x j); lra.
Qed.
Lemma Law_app d d' F : Law (d ++ d') F = Law d F + Law d' F.
Proof. induction d; unfold Law in *; cbn [app fold_right]; [ring|]. rewrite IHd. ring. Qed.
Lemma Law_of_choices m mu learner t l : (forall a, In a l -> (a < m)%nat) -> forall F,
  Law (map (fun es => (chance m mu learner es, map fst es)) (flat_map (fun a => [(a, true) :: t; (a, false) :: t]) l)) F
  = chance m mu learner t * fold_right (fun a s => learner (map Some t) (Some a) * F (a :: map fst t) + s) 0 l.
Proof.
  intros Hl F. induction l as [|a l IH]; [unfold Law; simpl; ring|].
  cbn [flat_map app map]. unfold Law in *. cbn [fold_right fst snd map]. rewrite IH by (intros; apply Hl; right; auto).
  pose proof (chance_answers m mu learner a t (Hl a (or_introl eq_refl))) as E.
  rewrite <- Rplus_assoc, <- Rmult_plus_distr_r, E. ring.
Qed.
Lemma fold_sum m f : fold_right (fun a s => f a + s) 0 (seq 0 m) = sumn m f.
Proof.
  induction m; [reflexivity|]. rewrite seq_S, fold_right_app. cbn [fold_right sumn Nat.add].
  rewrite <- IHm, Rplus_0_r. generalize (f m). clear. induction (seq 0 m); intros z; simpl; [ring|]. rewrite IHl. ring.
Qed.
(** So the theorems about laws over sequences hold for every learner with feedback and coins.  Proof: by
    induction on T, adding up the two answers of each step, then the choices. *)
Theorem learner_has_laws : forall m mu learner, rates m mu -> chances m learner -> laws m (law_of m mu learner).
Proof.
  intros m mu learner Hr Hl T. split.
  - intros w h Hin. unfold law_of in Hin. apply in_map_iff in Hin as (es & [= <- <-] & Hin).
    split; [apply sum_states_nonneg; intros; apply joint_nonneg; auto|]. clear Hr Hl.
    revert es Hin. induction T as [|T IH]; intros es Hin.
    + destruct Hin as [<-|[]]. split; [intros a []|reflexivity].
    + cbn [pasts] in Hin. apply in_flat_map in Hin as (t & Ht & Hin). apply in_flat_map in Hin as (a & Ha & Hin).
      apply in_seq in Ha. destruct (IH t Ht) as [A L].
      destruct Hin as [<-|[<-|[]]]; cbn [map fst length]; (split; [intros b [<-|Hb]; [lia|auto]|rewrite L; reflexivity]).
  - induction T as [|T IH].
    + unfold law_of, Law, chance. simpl.
      rewrite (sum_states_prod m (fun _ b => if b then 1 else 0)).
      rewrite (prodn_ext m _ (fun _ => 1)) by (intros; ring). clear. induction m; simpl; lra.
    + etransitivity; [|exact IH]. unfold law_of. cbn [pasts]. clear IH. induction (pasts m T) as [|t l IHl]; [reflexivity|].
      cbn [flat_map]. rewrite map_app, Law_app, IHl, Law_of_choices by (intros a Ha; apply in_seq in Ha; lia).
      rewrite (fold_sum m (fun a => learner (map Some t) (Some a) * 1)).
      rewrite (sumn_ext m _ (fun a => learner (map Some t) (Some a))) by (intros; ring).
      rewrite (proj2 (Hl _)). unfold Law. cbn [map fold_right fst snd]. ring.
Qed.
