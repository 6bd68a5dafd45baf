(** * The competitive constant: the minimum of g(r) = r / ((1 + r)(1 - exp(-r)))

    recharge.competitive_ratio.  The minimum is 1 - s/(1+s)^2 at the only positive s with
    exp s = 1 + s + s^2.  No interval tactic is used in this file. *)

From Coq Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
From Book Require Export Exponential.
Open Scope R_scope.

Definition f (r : R) : R := exp r - 1 - r - r * r.
Definition g (r : R) : R := r / ((1 + r) * (1 - exp (- r))).

(** ** The root is unique

    (r - 2) exp r + r + 2 > 0: the only calculus.  Its derivative is (r-1) exp r + 1, positive
    because exp(-r) > 1 - r. *)
Lemma psi_pos : forall r, 0 < r -> 0 < (r - 2) * exp r + r + 2.
Proof.
  intros r Hr.
  destruct (MVT_cor2 (fun r => (r - 2) * exp r + r + 2) (fun r => (r - 1) * exp r + 1) 0 r Hr)
    as (c & E & Hc).
  - intros x _. apply is_derive_Reals. auto_derive; auto. ring.
  - rewrite exp_0 in E.
    assert (0 < (c - 1) * exp c + 1).
    { assert (Hn : - c <> 0) by lra. pose proof (exp_ineq1 (- c) Hn). pose proof (exp_pos c).
      assert (exp (- c) * exp c = 1) by (rewrite <- exp_plus, Rplus_opp_l, exp_0; auto). nra. }
    assert (0 < ((c - 1) * exp c + 1) * (r - 0)) by (apply Rmult_lt_0_compat; lra). lra.
Qed.

(** phi(r) = (exp r - 1 - r)/r^2 increases strictly, and f(r) = r^2 (phi(r) - 1). *)
Definition phi (r : R) : R := (exp r - 1 - r) / (r * r).
Lemma phi_incr : forall a b, 0 < a -> a < b -> phi a < phi b.
Proof.
  intros a b Ha Hab.
  destruct (MVT_cor2 phi (fun r => ((r - 2) * exp r + r + 2) / (r * r * r)) a b Hab) as (c & E & Hc).
  - intros x Hx. apply is_derive_Reals. unfold phi. auto_derive.
    + assert (0 < x * x) by (apply Rmult_lt_0_compat; lra). lra.
    + field. lra.
  - assert (Hc0 : 0 < c) by lra. pose proof (psi_pos c Hc0).
    assert (0 < c * c * c) by (apply Rmult_lt_0_compat; [nra|lra]).
    assert (0 < ((c - 2) * exp c + c + 2) / (c * c * c)) by (apply Rdiv_lt_0_compat; lra). nra.
Qed.
Lemma f_phi r : 0 < r -> f r = r * r * (phi r - 1).
Proof. intros Hr. unfold f, phi. field. lra. Qed.

Lemma f0_phi r : 0 < r -> f r = 0 -> phi r = 1.
Proof.
  intros Hr E. rewrite f_phi in E by auto.
  apply Rmult_integral in E as [E|E]; [|lra].
  assert (0 < r * r) by (apply Rmult_lt_0_compat; auto). lra.
Qed.

Theorem root_unique : forall a b, 0 < a -> 0 < b -> f a = 0 -> f b = 0 -> a = b.
Proof.
  intros a b Ha Hb Ea Eb. apply f0_phi in Ea; auto. apply f0_phi in Eb; auto.
  destruct (Rtotal_order a b) as [H1|[H1|H1]]; [|auto|].
  - pose proof (phi_incr a b Ha H1); lra.
  - pose proof (phi_incr b a Hb H1); lra.
Qed.

(** ** It exists, with seven decimals *)
Theorem root_exists : exists s, lo8 < s < hi8 /\ exp s = 1 + s + s * s.
Proof.
  pose proof f_lo8 as F1. pose proof f_hi8 as F2.
  destruct (IVT_gen f lo8 hi8 0) as (s & Hs & E).
  - intros x. apply derivable_continuous_pt, ex_derive_Reals_0. unfold f. auto_derive; auto.
  - unfold f. rewrite Rmin_left, Rmax_right by lra. lra.
  - assert (lo8 < hi8) by (unfold lo8, hi8; lra).
    rewrite Rmin_left, Rmax_right in Hs by lra. unfold f in E.
    exists s. split; [|lra].
    destruct Hs as [[H1| <-] [H2| ->]]; lra.
Qed.

(** ** The minimum of g is at the root

    g' is f times a positive factor; f is negative below the root and positive above, because phi
    increases. *)
Lemma den_pos r : 0 < r -> 0 < (1 + r) * (1 - exp (- r)).
Proof.
  intros Hr. assert (exp (- r) < 1) by (rewrite <- exp_0; apply exp_increasing; lra).
  apply Rmult_lt_0_compat; lra.
Qed.
Lemma g_derive r : 0 < r -> is_derive g r (exp (- r) * f r / ((1 + r) * (1 - exp (- r))) ^ 2).
Proof.
  intros Hr. pose proof (den_pos r Hr) as Hd. unfold g. auto_derive.
  - lra.
  - unfold f. assert (E : exp (- r) * exp r = 1) by (rewrite <- exp_plus, Rplus_opp_l, exp_0; auto).
    replace (exp (- r) * (exp r - 1 - r - r * r)) with (1 - exp (- r) * (1 + r + r * r)) by lra.
    field. split; [|lra]. intro Z. rewrite Z in Hd. lra.
Qed.

Theorem g_min : forall s r, 0 < s -> exp s = 1 + s + s * s -> 0 < r -> g s <= g r.
Proof.
  intros s r Hs Es Hr.
  assert (Fs : f s = 0) by (unfold f; lra).
  assert (Ps : phi s = 1) by (apply f0_phi; auto).
  destruct (Req_dec r s) as [->|Hne]; [lra|].
  set (g' := fun r => exp (- r) * f r / ((1 + r) * (1 - exp (- r))) ^ 2).
  assert (HP : forall c, 0 < c -> 0 < exp (- c) / ((1 + c) * (1 - exp (- c))) ^ 2).
  { intros c Hc. pose proof (den_pos c Hc). apply Rdiv_lt_0_compat; [apply exp_pos|apply pow_lt; auto]. }
  assert (HG : forall c, g' c = exp (- c) / ((1 + c) * (1 - exp (- c))) ^ 2 * f c)
    by (intros c; unfold g', Rdiv; ring).
  destruct (Rlt_or_le s r) as [Hlt|Hge].
  - destruct (MVT_cor2 g g' s r Hlt) as (c & E & Hc).
    + intros x Hx. apply is_derive_Reals, g_derive; lra.
    + assert (Hc0 : 0 < c) by lra. rewrite HG in E. pose proof (HP c Hc0).
      assert (0 < f c).
      { rewrite f_phi by auto. pose proof (phi_incr s c Hs (proj1 Hc)).
        apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; auto|lra]. }
      assert (0 < exp (- c) / ((1 + c) * (1 - exp (- c))) ^ 2 * f c) by (apply Rmult_lt_0_compat; auto).
      nra.
  - assert (Hlt : r < s) by lra.
    destruct (MVT_cor2 g g' r s Hlt) as (c & E & Hc).
    + intros x Hx. apply is_derive_Reals, g_derive; lra.
    + assert (Hc0 : 0 < c) by lra. rewrite HG in E. pose proof (HP c Hc0).
      assert (0 < - f c).
      { rewrite f_phi by auto. pose proof (phi_incr c s Hc0 (proj2 Hc)).
        replace (- (c * c * (phi c - 1))) with (c * c * (1 - phi c)) by ring.
        apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; auto|lra]. }
      assert (0 < exp (- c) / ((1 + c) * (1 - exp (- c))) ^ 2 * - f c) by (apply Rmult_lt_0_compat; auto).
      nra.
Qed.
Theorem g_at_root : forall s, 0 < s -> exp s = 1 + s + s * s -> g s = 1 - s / (1 + s) ^ 2.
Proof.
  intros s Hs Es. unfold g. rewrite exp_Ropp, Es. field. repeat split; nra.
Qed.

(** The constant, characterised: a number s is the root, the only one, and g has its minimum there.
    *)
Theorem minimum_characterised : exists s, 0 < s /\ exp s = 1 + s + s * s
  /\ (forall s', 0 < s' -> exp s' = 1 + s' + s' * s' -> s' = s)
  /\ (forall r, 0 < r -> 1 - s / (1 + s) ^ 2 <= g r)
  /\ g s = 1 - s / (1 + s) ^ 2.
Proof.
  destruct root_exists as (s & Hs & Es). assert (H0 : 0 < s) by (unfold lo8 in Hs; lra).
  exists s. split; [exact H0|]. split; [exact Es|]. split; [|split].
  - intros s' Hs' Es'. apply root_unique; auto; unfold f; lra.
  - intros r Hr. rewrite <- g_at_root by auto. apply g_min; auto.
  - apply g_at_root; auto.
Qed.

(** Seven digits of it, from below. *)
Theorem ratio_lower : forall r, 0 < r -> 7701634 / 10000000 <= g r.
Proof.
  intros r Hr. destruct root_exists as (s & Hs & Es).
  assert (H0 : 0 < s) by (unfold lo8 in Hs; lra).
  eapply Rle_trans; [|apply (g_min s r H0 Es Hr)]. rewrite (g_at_root s H0 Es).
  assert (s / (1 + s) ^ 2 <= 2298366 / 10000000); [|lra].
  apply (Rmult_le_reg_r ((1 + s) ^ 2)); [apply pow_lt; lra|].
  unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by (apply pow_nonzero; lra).
  unfold lo8, hi8 in Hs. nra.
Qed.

(** The price of learning, 1/g, is at most 1.298426. *)
Theorem price_of_learning : forall r, 0 < r -> / g r <= 1298426 / 1000000.
Proof.
  intros r Hr. pose proof (ratio_lower r Hr) as H.
  assert (/ g r <= / (7701634 / 10000000)) by (apply Rinv_le_contravar; lra). lra.
Qed.
