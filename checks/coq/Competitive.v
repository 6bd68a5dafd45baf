(** * A no-regret learner against any schedule: recharge.competitive_ratio

    Pathwise, in the limit, and the refutation of 1.29. *)

From Coq Require Import Reals Lra Lia List Arith.
From Coquelicot Require Import Rcomplements.
From Book Require Export Recharge Optimum Memoryless Ratio.
Import ListNotations.
Open Scope R_scope.

(** [a] is the learner's sequence, [b] any sequence of the same length, [c] at most the minimum of
    g. Proof: U(a) >= h (T - regret), U(b) <= T (1 - exp(-rho)) + m, and h >= c (1 - exp(-rho)). *)
Theorem competitive_pathwise : forall m mu a b, (0 < m)%nat -> rates m mu -> arms m a -> arms m b ->
  length a = length b ->
  forall c, 0 <= c -> (forall r, 0 < r -> c <= g r) ->
  U mu a >= c * (U mu b - INR m) - hamacher m mu * regret m mu a.
Proof.
  intros m mu a b Hm Hr Ha Hb Hl c Hc Hg.
  pose proof (hamacher_pathwise m mu a Hm Hr Ha) as L.
  pose proof (opt_upper_bound_exp m mu b Hr Hb) as O.
  pose proof (rho_pos m mu Hm Hr) as Hp. specialize (Hg _ Hp). unfold g in Hg.
  set (E := 1 - exp (- rho m mu)) in *.
  assert (HE : 0 < E). { assert (exp (- rho m mu) < exp 0) by (apply exp_increasing; lra).
    rewrite exp_0 in H. unfold E; lra. }
  assert (K : c * E <= hamacher m mu).
  { unfold hamacher. apply (Rmult_le_compat_r E) in Hg; [|lra].
    replace (rho m mu / ((1 + rho m mu) * E) * E) with (rho m mu / (1 + rho m mu)) in Hg by (field; lra).
    exact Hg. }
  rewrite <- Hl in O. pose proof (pos_INR (length a)) as HT.
  assert (c * (U mu b - INR m) <= c * (INR (length a) * E)) by (apply Rmult_le_compat_l; lra).
  assert (INR (length a) * (c * E) <= INR (length a) * hamacher m mu) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

(** With the seven digits of the claim. *)
Theorem competitive_strict : forall m mu a b, (0 < m)%nat -> rates m mu -> arms m a -> arms m b ->
  length a = length b ->
  U mu a >= 7701634 / 10000000 * (U mu b - INR m) - hamacher m mu * regret m mu a.
Proof. intros. apply competitive_pathwise; auto; [lra|]. apply ratio_lower. Qed.

(** In the limit, with the constant itself: c = 1 - s/(1+s)^2 at the root s.  If the regret of [a]
    is eventually at most eps T, for every eps > 0, then U(a) is eventually at least c U(b) - eps
    T. *)
Theorem competitive_limit : forall s m mu a b, 0 < s -> exp s = 1 + s + s * s -> (0 < m)%nat -> rates m mu ->
  (forall t, (a t < m)%nat) -> (forall t, (b t < m)%nat) ->
  (forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat -> regret m mu (hist a T) <= eps * INR T) ->
  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    U mu (hist a T) >= (1 - s / (1 + s) ^ 2) * U mu (hist b T) - eps * INR T.
Proof.
  intros s m mu a b Hs Es Hm Hr Ha Hb Hno eps He. set (c := 1 - s / (1 + s) ^ 2).
  assert (Hc : 0 <= c <= 1).
  { assert (0 < s / (1 + s) ^ 2) by (apply Rdiv_lt_0_compat; [auto|apply pow_lt; lra]).
    assert (s / (1 + s) ^ 2 <= 1); [|unfold c; lra].
    apply (Rmult_le_reg_r ((1 + s) ^ 2)); [apply pow_lt; lra|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l by (apply pow_nonzero; lra). nra. }
  assert (Hg : forall r, 0 < r -> c <= g r)
    by (intros r Hr'; unfold c; rewrite <- g_at_root by auto; apply g_min; auto).
  destruct (Hno (eps / 2)) as [T0 HT]; [lra|].
  destruct (nfloor_ex (2 * INR m / eps)) as [T1' HT1'].
  { apply Rmult_le_pos; [pose proof (pos_INR m); lra|left; apply Rinv_0_lt_compat; lra]. }
  set (T1 := S T1'). assert (HT1 : 2 * INR m / eps < INR T1) by (unfold T1; rewrite S_INR; lra).
  exists (Nat.max T0 T1). intros T HTT.
  assert (H1 : regret m mu (hist a T) <= eps / 2 * INR T) by (apply HT; lia).
  assert (H2 : 2 * INR m <= eps * INR T).
  { assert (INR T1 <= INR T) by (apply le_INR; lia).
    assert (2 * INR m / eps * eps = 2 * INR m) by (field; lra).
    assert (2 * INR m / eps * eps <= INR T * eps) by (apply Rmult_le_compat_r; lra). lra. }
  pose proof (competitive_pathwise m mu (hist a T) (hist b T) Hm Hr (hist_arms m a T Ha) (hist_arms m b T Hb)) as C.
  rewrite !hist_length in C. specialize (C eq_refl c (proj1 Hc) Hg).
  pose proof (rho_pos m mu Hm Hr) as Hp.
  assert (Hh : 0 < hamacher m mu < 1).
  { unfold hamacher. split; [apply Rdiv_lt_0_compat; lra|].
    apply (Rmult_lt_reg_r (1 + rho m mu)); [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. lra. }
  pose proof (pos_INR T). pose proof (pos_INR m).
  assert (hamacher m mu * regret m mu (hist a T) <= hamacher m mu * (eps / 2 * INR T)) by (apply Rmult_le_compat_l; lra).
  assert (0 <= eps / 2 * INR T) by (apply Rmult_le_pos; lra).
  assert (hamacher m mu * (eps / 2 * INR T) <= 1 * (eps / 2 * INR T)) by (apply Rmult_le_compat_r; lra).
  assert (c * INR m <= 1 * INR m) by (apply Rmult_le_compat_r; lra).
  lra.
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
