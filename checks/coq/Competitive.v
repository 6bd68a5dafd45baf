(** * A no-regret learner against any schedule: recharge.competitive_ratio

    Pathwise, in the limit, and the refutation of 1.29. *)

From Coq Require Import Reals Lra Lia List Arith.
From Book Require Export Recharge Optimum Memoryless Ratio.
Import ListNotations.
Open Scope R_scope.

(** h is at least c times the bound on OPT, if c is at most the minimum of g. *)
Lemma hamacher_at_least m mu c : (0 < m)%nat -> rates m mu -> (forall r, 0 < r -> c <= g r) ->
  c * (1 - exp (- rho m mu)) <= hamacher m mu.
Proof.
  intros Hm Hr Hg. pose proof (rho_pos m mu Hm Hr) as Hp. specialize (Hg _ Hp). unfold g in Hg.
  set (E := 1 - exp (- rho m mu)) in *.
  assert (HE : 0 < E). { assert (exp (- rho m mu) < exp 0) by (apply exp_increasing; lra).
    rewrite exp_0 in H. unfold E; lra. }
  unfold hamacher. apply (Rmult_le_compat_r E) in Hg; [|lra].
  replace (rho m mu / ((1 + rho m mu) * E) * E) with (rho m mu / (1 + rho m mu)) in Hg by (field; lra).
  exact Hg.
Qed.

(** [a] is the learner's sequence, [b] any sequence of the same length, [c] at most the minimum of
    g. Proof: U(a) >= h (T - regret), U(b) <= T (1 - exp(-rho)) + m, and h >= c (1 - exp(-rho)). *)
Theorem competitive_pathwise : forall m mu a b, (0 < m)%nat -> rates m mu -> arms m a -> arms m b ->
  length a = length b ->
  forall c, 0 <= c -> (forall r, 0 < r -> c <= g r) ->
  U mu a >= c * (U mu b - INR m) - hamacher m mu * regret m mu a.
Proof.
  intros m mu a b Hm Hr Ha Hb Hl c Hc Hg.
  pose proof (hamacher_pathwise m mu a Hm Hr Ha) as L. pose proof (hamacher_at_least m mu c Hm Hr Hg) as K.
  pose proof (opt_upper_bound_exp m mu b Hr Hb) as O. rewrite <- Hl in O. set (E := 1 - exp (- rho m mu)) in *.
  pose proof (pos_INR (length a)).
  assert (c * (U mu b - INR m) <= c * (INR (length a) * E)) by (apply Rmult_le_compat_l; lra).
  assert (INR (length a) * (c * E) <= INR (length a) * hamacher m mu) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

(** With the seven digits of the claim. *)
Theorem competitive_strict : forall m mu a b, (0 < m)%nat -> rates m mu -> arms m a -> arms m b ->
  length a = length b ->
  U mu a >= 7701634 / 10000000 * (U mu b - INR m) - hamacher m mu * regret m mu a.
Proof. intros. apply competitive_pathwise; auto; [lra|]. apply ratio_lower. Qed.

(** ** In the limit, with the constant itself: c = 1 - s/(1+s)^2 at the root s

    [v] is any number of packets a step that sequences of any length come close to: OPT is the largest.
    Proof: c v <= c (1 - prod q) <= c (1 - exp(-rho)) <= h, and a learner without regret earns h. *)
Lemma constant_times_opt s m mu v : 0 < s -> exp s = 1 + s + s * s -> (0 < m)%nat -> rates m mu ->
  approached m mu v -> (1 - s / (1 + s) ^ 2) * v <= hamacher m mu.
Proof.
  intros Hs Es Hm Hr Hv.
  assert (Hg : forall r, 0 < r -> 1 - s / (1 + s) ^ 2 <= g r)
    by (intros r Hr'; rewrite <- g_at_root by auto; apply g_min; auto).
  assert (Hc : 0 <= 1 - s / (1 + s) ^ 2).
  { assert (s / (1 + s) ^ 2 <= 1); [|lra].
    apply (Rmult_le_reg_r ((1 + s) ^ 2)); [apply pow_lt; lra|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by (apply pow_nonzero; lra). nra. }
  pose proof (hamacher_at_least m mu _ Hm Hr Hg). pose proof (opt_at_most m mu v Hr Hv).
  pose proof (prodq_ge_exp_rho m mu Hr).
  assert ((1 - s / (1 + s) ^ 2) * v <= (1 - s / (1 + s) ^ 2) * (1 - exp (- rho m mu)))
    by (apply Rmult_le_compat_l; lra). lra.
Qed.

(** On a path whose regret is o(T). *)
Theorem competitive_limit : forall s m mu a v, 0 < s -> exp s = 1 + s + s * s -> (0 < m)%nat -> rates m mu ->
  approached m mu v -> (forall t, (a t < m)%nat) ->
  (forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat -> regret m mu (hist a T) <= eps * INR T) ->
  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    U mu (hist a T) >= ((1 - s / (1 + s) ^ 2) * v - eps) * INR T.
Proof.
  intros s m mu a v Hs Es Hm Hr Hv Ha Hno eps He.
  destruct (no_regret_liminf m mu a Hm Hr Ha Hno eps He) as [T0 H]. exists T0. intros T HT.
  specialize (H T HT). pose proof (constant_times_opt s m mu v Hs Es Hm Hr Hv). pose proof (pos_INR T). nra.
Qed.

(** In the mean, for a randomised learner whose expected regret is o(T). *)
Theorem competitive_mean : forall s m mu d v, 0 < s -> exp s = 1 + s + s * s -> (0 < m)%nat -> rates m mu ->
  approached m mu v -> laws m d ->
  (forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat -> Law (d T) (regret m mu) <= eps * INR T) ->
  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    Law (d T) (U mu) >= ((1 - s / (1 + s) ^ 2) * v - eps) * INR T.
Proof.
  intros s m mu d v Hs Es Hm Hr Hv Hd Hno eps He.
  destruct (no_regret_mean m mu d Hm Hr Hd Hno eps He) as [T0 H]. exists T0. intros T HT.
  specialize (H T HT). pose proof (constant_times_opt s m mu v Hs Es Hm Hr Hv). pose proof (pos_INR T). nra.
Qed.

(** ** 1.29 is too small a price

    Round robin on m identical servers earns at least T (1 - q^m): each server is used every m
    steps. *)
Lemma age_hist a T j d : age (hist a T) j = Some d -> (1 <= d <= T)%nat /\ a (T - d)%nat = j.
Proof.
  revert d. induction T as [|T IH]; intros d; simpl; [discriminate|].
  destruct (Nat.eqb_spec (a T) j) as [E|E].
  - intros [= <-]. split; [lia|]. simpl. rewrite Nat.sub_0_r. exact E.
  - destruct (age (hist a T) j) as [e|] eqn:Ee; simpl; [|discriminate].
    intros [= <-]. destruct (IH e eq_refl) as [H1 H2]. split; [lia|].
    replace (S T - S e)%nat with (T - e)%nat by lia. exact H2.
Qed.
Definition round_robin (m t : nat) : nat := Nat.modulo t m.
Lemma rr_gap m T d : (0 < m)%nat ->
  age (hist (round_robin m) T) (round_robin m T) = Some d -> (m <= d)%nat.
Proof.
  intros Hm H. apply age_hist in H as [H1 H2]. unfold round_robin in H2.
  destruct (le_lt_dec m d) as [|Hlt]; [assumption|exfalso].
  pose proof (Nat.div_mod T m ltac:(lia)). pose proof (Nat.div_mod (T - d) m ltac:(lia)).
  pose proof (Nat.mod_upper_bound T m ltac:(lia)).
  assert (E : (T = (T - d) + d)%nat) by lia.
  assert ((m * (T / m) = m * ((T - d) / m) + d)%nat) by lia.
  assert ((T / m = (T - d) / m)%nat \/ (T / m >= S ((T - d) / m))%nat \/ (T / m < (T - d) / m)%nat) as [C|[C|C]] by lia;
  nia.
Qed.
Theorem round_robin_value : forall m mu T, (0 < m)%nat -> 0 < mu < 1 ->
  U (fun _ => mu) (hist (round_robin m) T) >= INR T * (1 - (1 - mu) ^ m).
Proof.
  intros m mu T Hm Hmu. induction T; [simpl; lra|].
  rewrite S_INR. cbn [hist U].
  assert (avail (fun _ => mu) (hist (round_robin m) T) (round_robin m T) >= 1 - (1 - mu) ^ m); [|lra].
  unfold avail. destruct (age (hist (round_robin m) T) (round_robin m T)) as [d|] eqn:Ed.
  - apply rr_gap in Ed; [|auto]. replace d with (m + (d - m))%nat by lia. rewrite pow_add.
    assert (0 <= (1 - mu) ^ m) by (apply pow_le; lra).
    assert ((1 - mu) ^ (d - m) <= 1 ^ (d - m)) by (apply pow_incr; lra). rewrite pow1 in H0.
    assert ((1 - mu) ^ m * (1 - mu) ^ (d - m) <= (1 - mu) ^ m * 1) by (apply Rmult_le_compat_l; lra). lra.
  - assert (0 <= (1 - mu) ^ m) by (apply pow_le; lra). lra.
Qed.

(** 50 servers of rate 9/259, whose odds add up to 9/5. *)
Definition mu50 : nat -> R := fun _ => 9 / 259.
Lemma mu50_rates : rates 50 mu50. Proof. intros j _. unfold mu50. lra. Qed.
Lemma mu50_rho : rho 50 mu50 = 9 / 5.
Proof. unfold rho, odds, mu50. rewrite sumn_const. simpl INR. field. Qed.
Lemma mu50_ham : hamacher 50 mu50 = 9 / 14.
Proof. unfold hamacher. rewrite mu50_rho. field. Qed.
Lemma mu50_exact : 129015 / 100000 * (9 / 14) < 1 - (1 - 9 / 259) ^ 50 < 129016 / 100000 * (9 / 14).
Proof. replace (1 - 9 / 259) with (250 / 259) by field. simpl. lra. Qed.

(** A learner with bounded expected regret against every fixed arm (the uniform one, which is the
    normalized odds), and a schedule that leaves 1.29 times its utility behind, linearly in T. *)
Theorem price_129_false : forall T : nat,
  let EU := Ex 50 (norm_odds 50 mu50) T (U mu50) in
  (forall j, (j < 50)%nat ->
     Ex 50 (norm_odds 50 mu50) T (fun h => Hind mu50 h j) - EU <= 259 / 9)
  /\ U mu50 (hist (round_robin 50) T) - 129 / 100 * EU >= INR T / 20000 - 38.
Proof.
  intros T EU.
  assert (Hm : (0 < 50)%nat) by lia.
  pose proof (normalized_odds_utility 50 mu50 T Hm mu50_rates) as [L1 L2]. fold EU in L1, L2.
  assert (S1 : sumn 50 (fun j => norm_odds 50 mu50 j / mu50 j) = 259 / 9).
  { rewrite (sumn_ext 50 _ (fun j => (259 / 9) * norm_odds 50 mu50 j)) by (intros; unfold mu50 at 2; field).
    rewrite sumn_scal, no_sum by (auto using mu50_rates). ring. }
  rewrite S1, mu50_ham in L2. rewrite mu50_ham in L1.
  split.
  - intros j Hj. pose proof (normalized_odds_hindsight 50 mu50 T j Hm mu50_rates Hj) as [H1 H2].
    rewrite mu50_ham in H2. unfold mu50 at 3 in H2.
    replace (/ (9 / 259)) with (259 / 9) in H2 by field. lra.
  - pose proof (round_robin_value 50 (9/259) T Hm ltac:(lra)) as RR. fold mu50 in RR.
    change (fun _ : nat => 9 / 259) with mu50 in RR.
    pose proof mu50_exact as X. pose proof (pos_INR T). nra.
Qed.
