(** * The constant W of a mixing time: admission.mixing_w *)

From Coq Require Import Reals Lra Lia Arith.
From Book Require Export Optimum.
Open Scope R_scope.

(** If d decreases and d(k tm) <= 2^-k for every k, then d(t) <= 2 exp(-(t/tm) ln 2): W = sqrt(tm /
    ln 2). Proof: with k = t / tm rounded down, t/tm <= k + 1. *)
Theorem mixing_rate : forall (d : nat -> R) (tm : nat), (0 < tm)%nat ->
  (forall s t, (s <= t)%nat -> d t <= d s) -> (forall k, d (k * tm)%nat <= (/ 2) ^ k) ->
  forall t, d t <= 2 * exp (- (INR t / INR tm * ln 2)).
Proof.
  intros d tm Htm Hmon Hk t.
  assert (HT : 0 < INR tm) by (apply lt_0_INR; auto).
  set (k := (t / tm)%nat).
  assert (K1 : (k * tm <= t)%nat) by (unfold k; rewrite Nat.mul_comm; apply Nat.mul_div_le; lia).
  assert (K2 : (t < (k + 1) * tm)%nat).
  { unfold k. pose proof (Nat.mul_succ_div_gt t tm ltac:(lia)). lia. }
  apply Rle_trans with ((/ 2) ^ k); [eapply Rle_trans; [apply (Hmon _ _ K1)|apply Hk]|].
  rewrite (pow_inv_exp 2 k) by lra. rewrite <- (exp_ln 2) at 2 by lra. rewrite <- exp_plus.
  assert (0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (INR t / INR tm <= INR k + 1).
  { apply (Rmult_le_reg_r (INR tm)); [auto|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    apply lt_INR in K2. rewrite mult_INR, plus_INR in K2. simpl in K2. lra. }
  assert (INR t / INR tm * ln 2 <= (INR k + 1) * ln 2) by (apply Rmult_le_compat_r; lra).
  assert (- (INR k * ln 2) <= ln 2 + - (INR t / INR tm * ln 2)) by lra.
  destruct H2 as [H2|H2]; [left; apply exp_increasing; exact H2|right; rewrite H2; reflexivity].
Qed.

(** Two states that flip with probability 1/4: the distance after t steps is 2^-(t+1), tm = 1. *)
Fixpoint p00 (t : nat) : R := match t with O => 1 | S s => 3 / 4 * p00 s + 1 / 4 * (1 - p00 s) end.
Theorem two_state : forall t, p00 t - 1 / 2 = (/ 2) ^ (t + 1).
Proof. induction t; simpl; [lra|]. simpl in IHt. rewrite Nat.add_1_r in *. simpl in *. lra. Qed.

(** There W = 1/sqrt(ln 2), above the printed bound sqrt(tm ln 2). *)
Theorem W_counterexample : p00 1 - 1 / 2 = 1 / 4 /\ sqrt (1 * ln 2) < / sqrt (ln 2).
Proof.
  split; [simpl; lra|].
  assert (0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (ln 2 < 1). { assert (ln 2 < ln (exp 1)); [|rewrite ln_exp in H0; auto].
    apply ln_increasing; [lra|]. assert (1 <> 0) by lra. pose proof (exp_ineq1 1 H0). lra. }
  rewrite Rmult_1_l. assert (0 < sqrt (ln 2)) by (apply sqrt_lt_R0; auto).
  apply (Rmult_lt_reg_l (sqrt (ln 2))); [auto|]. rewrite sqrt_sqrt, Rinv_r by lra. auto.
Qed.

(** Without the constant 2 it is false: tm = 2, and d falls only when t is even. *)
Theorem mixing_without_constant_false : ~ (forall (d : nat -> R) (tm : nat), (0 < tm)%nat ->
  (forall s t, (s <= t)%nat -> d t <= d s) -> (forall k, d (k * tm)%nat <= (/ 2) ^ k) ->
  forall t, d t <= exp (- (INR t / INR tm * ln 2))).
Proof.
  intros F. specialize (F (fun t => (/ 2) ^ (t / 2)) 2%nat ltac:(lia)).
  assert (D : forall s t, (s <= t)%nat -> (/ 2) ^ (t / 2) <= (/ 2) ^ (s / 2)).
  { intros s t H. pose proof (Nat.div_le_mono s t 2 ltac:(lia) H) as K. replace (t / 2)%nat with (s / 2 + (t / 2 - s / 2))%nat by lia.
    rewrite pow_add, <- Rmult_1_r. apply Rmult_le_compat_l; [apply pow_le; lra|].
    induction (t / 2 - s / 2)%nat; simpl; lra. }
  specialize (F D ltac:(intros k; cbv beta; rewrite Nat.div_mul by lia; lra) 1%nat). simpl in F.
  assert (0 < ln 2) by (rewrite <- ln_1; apply ln_increasing; lra).
  assert (exp (- (1 / (1 + 1) * ln 2)) < exp 0) by (apply exp_increasing; lra). rewrite exp_0 in H0. lra.
Qed.
