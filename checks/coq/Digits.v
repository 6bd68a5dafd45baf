(** * Fourteen digits of the competitive constant, and what is refuted by numbers

    recharge.competitive_ratio.  The only file that uses the interval tactic, hence 63-bit
    integers. *)

From Coq Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Tactic.
From Book Require Export Ratio.
Open Scope R_scope.

Definition lo16 := 1793282132900760 / 1000000000000000.
Definition hi16 := 1793282132900762 / 1000000000000000.
Lemma f_lo16 : f lo16 < 0. Proof. unfold f, lo16. interval with (i_prec 90). Qed.
Lemma f_hi16 : 0 < f hi16. Proof. unfold f, hi16. interval with (i_prec 90). Qed.

(** The root with fifteen decimals, by the intermediate value theorem. *)
Theorem root_enclosed : exists s, lo16 < s < hi16 /\ exp s = 1 + s + s * s.
Proof.
  destruct (IVT_gen f lo16 hi16 0) as (s & Hs & E).
  - intros x. apply derivable_continuous_pt, ex_derive_Reals_0. unfold f. auto_derive; auto.
  - pose proof f_lo16; pose proof f_hi16. rewrite Rmin_left, Rmax_right by lra. lra.
  - assert (lo16 < hi16) by (unfold lo16, hi16; lra). rewrite Rmin_left, Rmax_right in Hs by lra.
    exists s. split.
    + destruct Hs as [H1 H2]. pose proof f_lo16; pose proof f_hi16.
      destruct H1 as [H1| <-]; [|lra]. destruct H2 as [H2| ->]; [|lra]. lra.
    + unfold f in E; lra.
Qed.

(** The constant lies between 0.77016349200449 and 0.77016349200450. *)
Theorem minimum_enclosed : exists s, 0 < s /\ exp s = 1 + s + s * s
  /\ lo16 < s < hi16
  /\ (forall r, 0 < r -> 1 - s / (1 + s) ^ 2 <= g r)
  /\ g s = 1 - s / (1 + s) ^ 2
  /\ 77016349200449 / 100000000000000 < 1 - s / (1 + s) ^ 2 < 77016349200450 / 100000000000000.
Proof.
  destruct root_enclosed as (s & Hs & Es). assert (H0 : 0 < s) by (unfold lo16 in Hs; lra).
  exists s. split; [exact H0|]. split; [exact Es|]. split; [exact Hs|split; [|split]].
  - intros r Hr. rewrite <- g_at_root by auto. apply g_min; auto.
  - apply g_at_root; auto.
  - unfold lo16, hi16 in Hs. split; interval with (i_prec 90).
Qed.

(** The nearest false constants, refuted at explicit points. *)
Theorem not_7702 : exists r, 0 < r /\ g r < 7702 / 10000.
Proof. exists (1793/1000). split; [lra|]. unfold g. interval with (i_prec 60). Qed.
Theorem not_77016349200450 : exists r, 0 < r /\ g r < 77016349200450 / 100000000000000.
Proof. exists lo16. split; [unfold lo16; lra|]. unfold g, lo16. interval with (i_prec 90). Qed.

(** The price of learning: 50 identical servers of total odds 9/5 are above 1.29, 49 are not. *)
Theorem not_129 : 129 / 100 * ((9/5) / (1 + 9/5)) < 1 - (1 - 9/259) ^ 50.
Proof. interval with (i_prec 90). Qed.
Theorem not_129_49 : 1 - (1 - (9/5/49)/(1 + 9/5/49)) ^ 49 < 129 / 100 * ((9/5) / (1 + 9/5)).
Proof. interval with (i_prec 90). Qed.
