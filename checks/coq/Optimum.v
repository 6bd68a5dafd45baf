(** * No blind schedule earns more: recharge.opt_upper_bound, recharge.competitive_ratio_m

    A bound for all sequences over m arms.  The idea is a tangent of the exponential: with l = - ln
    q a pull after d steps pays 1 - exp(-l d), which is at most 1 - y - y L + y l d, where y =
    exp(-L). *)

From Coq Require Import Reals Lra Lia List Arith ZArith Classical_Prop Classical_Pred_Type.
From Book Require Export Recharge.
Import ListNotations.
Open Scope R_scope.

(** The product of the failure rates. *)
Definition prodq (m : nat) (mu : nat -> R) : R := prodn m (fun j => 1 - mu j).

Lemma prodq_exp m mu : rates m mu -> prodq m mu = exp (- sumn m (fun j => - ln (1 - mu j))).
Proof.
  unfold prodq. induction m; intros Hr; simpl.
  - rewrite Ropp_0, exp_0; reflexivity.
  - rewrite IHm by (intros j Hj; apply Hr; lia).
    rewrite Ropp_plus_distr, exp_plus, Ropp_involutive, exp_ln; [reflexivity|].
    specialize (Hr m (Nat.lt_succ_diag_r m)); lra.
Qed.

(** The time up to the last pull of j, and whether it was pulled. *)
Definition spent (h : list nat) (j : nat) : R :=
  match age h j with None => 0 | Some d => INR (length h - d) end.
Definition pulled (h : list nat) (j : nat) : R :=
  match age h j with None => 0 | Some _ => 1 end.

(** The certificate, for any L >= 0: induction on the schedule, one tangent for each pull; the gaps
    of an arm add up to at most T, and each first pull is charged 1. *)
Lemma opt_invariant : forall m mu (L : R) h, rates m mu -> arms m h -> 0 <= L ->
  U mu h <= INR (length h) * (1 - exp (- L) - exp (- L) * L)
            + exp (- L) * sumn m (fun j => - ln (1 - mu j) * spent h j)
            + sumn m (pulled h).
Proof.
  intros m mu L h Hr. induction h as [|a t IH]; intros Ha HL.
  - cbn [U length]. assert (E : sumn m (fun j => - ln (1 - mu j) * spent [] j) = 0).
    { rewrite (sumn_ext m _ (fun _ => 0)); [rewrite sumn_const; lra|]. intros; unfold spent; simpl; lra. }
    rewrite E. assert (0 <= sumn m (pulled [])) by (apply sumn_nonneg; intros; unfold pulled; simpl; lra).
    simpl; lra.
  - assert (Ham : (a < m)%nat) by (apply Ha; left; reflexivity).
    specialize (IH (fun x Hx => Ha x (or_intror Hx)) HL).
    cbn [U length]. rewrite S_INR.
    pose proof (Hr a Ham) as Hmu.
    set (l := - ln (1 - mu a)).
    assert (Hl : 0 < l).
    { unfold l. assert (ln (1 - mu a) < ln 1) by (apply ln_increasing; lra). rewrite ln_1 in H; lra. }
    set (inc := match age t a with None => INR (length t) | Some d => INR d end).
    set (fst1 := match age t a with None => 1 | Some _ => 0 end).
    assert (ES : sumn m (fun j => - ln (1 - mu j) * spent (a :: t) j)
               = sumn m (fun j => - ln (1 - mu j) * spent t j) + l * inc).
    { rewrite <- (sumn_ind m a (l * inc) Ham), <- sumn_plus. apply sumn_ext. intros j Hj.
      unfold spent; cbn [age length]. destruct (Nat.eqb_spec a j) as [<-|Hne].
      - unfold inc, l. destruct (age t a) as [d|] eqn:Ed.
        + apply age_pos in Ed. replace (S (length t) - 1)%nat with (length t) by lia.
          rewrite minus_INR by lia. ring.
        + replace (S (length t) - 1)%nat with (length t) by lia. ring.
      - destruct (age t j) as [d|]; cbn [option_map]; [|ring].
        replace (S (length t) - S d)%nat with (length t - d)%nat by lia. ring. }
    assert (EP : sumn m (pulled (a :: t)) = sumn m (pulled t) + fst1).
    { rewrite <- (sumn_ind m a fst1 Ham), <- sumn_plus. apply sumn_ext. intros j Hj.
      unfold pulled; cbn [age]. destruct (Nat.eqb_spec a j) as [<-|Hne].
      - unfold fst1. destruct (age t a); ring.
      - destruct (age t j); cbn [option_map]; ring. }
    rewrite ES, EP.
    assert (Hpay : avail mu t a <= (1 - exp (- L) - exp (- L) * L) + exp (- L) * (l * inc) + fst1).
    { pose proof (exp_pos (- L)) as Hy. unfold avail, inc, fst1.
      destruct (age t a) as [d|].
      - assert (Eq : (1 - mu a) ^ d = exp (- L) * exp (L - l * INR d)).
        { rewrite <- exp_plus. replace (- L + (L - l * INR d)) with (ln (1 - mu a) * INR d) by (unfold l; ring).
          rewrite Rmult_comm. rewrite <- (exp_ln (1 - mu a)) at 1 by lra.
          clear. induction d; simpl pow; [simpl; rewrite Rmult_0_l, exp_0; reflexivity|].
          rewrite IHd, S_INR, <- exp_plus. f_equal; ring. }
        rewrite Eq. pose proof (exp_ineq1_le (L - l * INR d)). nra.
      - pose proof (exp_ineq1_le L) as He. pose proof (pos_INR (length t)).
        assert (exp (- L) * exp L = 1) by (rewrite <- exp_plus, Rplus_opp_l, exp_0; reflexivity).
        assert (0 <= exp (- L) * (l * INR (length t))) by (apply Rmult_le_pos; [lra|nra]).
        nra. }
    lra.
Qed.

(** U <= T (1 - prod q) + m.  Proof: the certificate at L = - ln prod q. *)
Theorem opt_upper_bound : forall m mu h, rates m mu -> arms m h ->
  U mu h <= INR (length h) * (1 - prodq m mu) + INR m.
Proof.
  intros m mu h Hr Ha.
  set (L := sumn m (fun j => - ln (1 - mu j))).
  assert (Hl : forall j, (j < m)%nat -> 0 <= - ln (1 - mu j)).
  { intros j Hj. specialize (Hr j Hj). assert (ln (1 - mu j) < ln 1) by (apply ln_increasing; lra).
    rewrite ln_1 in H; lra. }
  assert (HL : 0 <= L) by (apply sumn_nonneg; auto).
  pose proof (opt_invariant m mu L h Hr Ha HL) as I.
  assert (S1 : sumn m (fun j => - ln (1 - mu j) * spent h j) <= INR (length h) * L).
  { unfold L. rewrite <- sumn_scal. apply sumn_le. intros j Hj. rewrite Rmult_comm.
    apply Rmult_le_compat_r; [auto|]. unfold spent. destruct (age h j); [|apply pos_INR].
    apply le_INR; lia. }
  assert (S2 : sumn m (pulled h) <= INR m).
  { rewrite <- (Rmult_1_r (INR m)), <- sumn_const. apply sumn_le. intros j Hj.
    unfold pulled; destruct (age h j); lra. }
  rewrite (prodq_exp m mu Hr). fold L. pose proof (exp_pos (- L)). nra.
Qed.

(** In the limit: a number of packets a step that sequences of any length come close to, such as OPT,
    is at most 1 - prod q.  Proof: otherwise the m packets more would have to grow with T. *)
Definition approached (m : nat) (mu : nat -> R) (v : R) : Prop := forall eps T0, 0 < eps ->
  exists h, (T0 <= length h)%nat /\ arms m h /\ (v - eps) * INR (length h) <= U mu h.
Lemma enough_steps x eps : 0 < eps -> exists T0, forall T, (T0 <= T)%nat -> x <= eps * INR T.
Proof.
  intros He. exists (Z.to_nat (up (x / eps))). intros T HT.
  assert (E : x / eps <= INR T).
  { apply Rle_trans with (INR (Z.to_nat (up (x / eps)))); [|apply le_INR; lia].
    destruct (archimed (x / eps)) as [H _]. rewrite INR_IZR_INZ.
    assert (IZR (up (x / eps)) <= IZR (Z.of_nat (Z.to_nat (up (x / eps))))) by (apply IZR_le; lia). lra. }
  replace x with (eps * (x / eps)) by (field; lra). apply Rmult_le_compat_l; lra.
Qed.
Theorem opt_at_most : forall m mu v, rates m mu -> approached m mu v -> v <= 1 - prodq m mu.
Proof.
  intros m mu v Hr Hv. apply Rnot_lt_le. intros Hlt. set (eps := (v - (1 - prodq m mu)) / 3).
  assert (He : 0 < eps) by (unfold eps; lra).
  destruct (enough_steps (INR m) eps He) as [T0 H0].
  destruct (Hv eps (S T0) He) as (h & HT & Ha & HU).
  pose proof (opt_upper_bound m mu h Hr Ha) as O. specialize (H0 (length h) ltac:(lia)).
  assert (0 < INR (length h)) by (apply lt_0_INR; lia).
  assert (v = 1 - prodq m mu + 3 * eps) as E by (unfold eps; field). rewrite E in HU. nra.
Qed.

(** A law does no better than its best sequence, so that randomised and adaptive schedules come close to
    no more than sequences. *)
Lemma law_some d x F : (forall w h, In (w, h) d -> 0 <= w) -> Law d (fun _ => 1) = 1 -> x <= Law d F ->
  exists w h, In (w, h) d /\ x <= F h.
Proof.
  intros Hw H1 Hx.
  destruct (List.Exists_dec (fun wh : R * list nat => x <= F (snd wh)) d) as [E|N].
  { intros wh. destruct (Rle_dec x (F (snd wh))); auto. }
  - apply Exists_exists in E as ([w h] & Hin & E). exists w, h. auto.
  - exfalso.
    assert (K : Law d F <= x * Law d (fun _ => 1) /\ (Law d F = x * Law d (fun _ => 1) -> Law d (fun _ => 1) = 0)).
    { clear H1 Hx. induction d as [|[w h] d IH]; unfold Law in *; cbn [fold_right fst snd]; [split; intros; lra|].
      assert (~ x <= F h) by (intros C; apply N; left; exact C).
      pose proof (Hw w h (or_introl eq_refl)).
      destruct IH as [A B]; [intros w' h' Hin; apply (Hw w' h'); right; auto|intros C; apply N; right; exact C|].
      assert (w * F h <= w * x) by (apply Rmult_le_compat_l; lra).
      split; [lra|]. intros E. assert (E1 : w * F h = w * x) by lra.
      assert (w = 0). { destruct (Req_dec w 0); auto. apply Rmult_eq_reg_l in E1; [lra|auto]. }
      rewrite B by lra. subst. ring. }
    rewrite H1 in K. destruct K as [K1 K2]. assert (Law d F = x * 1) by lra. specialize (K2 H). lra.
Qed.
Theorem approached_by_laws : forall m mu v, (forall eps T0, 0 < eps -> exists T d, (T0 <= T)%nat
    /\ (forall w h, In (w, h) d -> 0 <= w /\ arms m h /\ length h = T) /\ Law d (fun _ => 1) = 1
    /\ (v - eps) * INR T <= Law d (U mu)) -> approached m mu v.
Proof.
  intros m mu v H eps T0 He. destruct (H eps T0 He) as (T & d & HT & Hd & H1 & HU).
  destruct (law_some d _ (U mu) (fun w h Hin => proj1 (Hd w h Hin)) H1 HU) as (w & h & Hin & E).
  destruct (Hd w h Hin) as (_ & Ha & HL). exists h. rewrite HL. auto.
Qed.
(** OPT, the least upper bound of what infinite schedules reach again and again, is approached. *)
Definition reaches (m : nat) (mu : nat -> R) (v : R) : Prop := exists a, (forall t, (a t < m)%nat)
  /\ forall eps T0, 0 < eps -> exists T, (T0 <= T)%nat /\ (v - eps) * INR T <= U mu (hist a T).
Theorem opt_is_approached : forall m mu v, is_lub (reaches m mu) v -> approached m mu v.
Proof.
  intros m mu v [Hub Hl] eps T0 He.
  assert (N : ~ forall x, reaches m mu x -> x <= v - eps / 2) by (intros C; specialize (Hl _ C); lra).
  assert (E : exists x, reaches m mu x /\ v - eps / 2 < x).
  { apply not_all_ex_not in N as [x Hx]. exists x.
    apply imply_to_and in Hx as [A B]. split; [exact A|lra]. }
  destruct E as (x & (a & Ha & Hx) & Hv). destruct (Hx (eps / 2) T0 ltac:(lra)) as (T & HT & HU).
  exists (hist a T). rewrite hist_length. split; [auto|]. split; [apply hist_arms; auto|].
  pose proof (pos_INR T). assert ((v - eps) * INR T <= (x - eps / 2) * INR T) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(** No additive constant saves the bound with 1 - prod q - 1/100: round robin on two servers of
    rate 1/2. *)
Fixpoint alt (n : nat) : list nat := match n with O => [] | S k => 1%nat :: 0%nat :: alt k end.
Lemma alt_U n : U (fun _ => 1/2) (alt (S n)) = 2 + 3/2 * INR n
  /\ age (alt (S n)) 0%nat = Some 2%nat /\ age (alt (S n)) 1%nat = Some 1%nat.
Proof.
  induction n as [|n (IH1 & IH2 & IH3)].
  - split; [|split; reflexivity]. cbn [alt U]. unfold avail; simpl. lra.
  - split; [|split; reflexivity].
    change (alt (S (S n))) with (1%nat :: 0%nat :: alt (S n)). cbn [U]. rewrite IH1.
    unfold avail at 1. rewrite IH2. unfold avail. cbn [age Nat.eqb]. rewrite IH3. cbn [option_map].
    rewrite S_INR. simpl. lra.
Qed.
Theorem opt_false : ~ (exists K : R, forall h, arms 2 h ->
  U (fun _ => 1/2) h <= INR (length h) * (1 - prodq 2 (fun _ => 1/2) - 1/100) + K).
Proof.
  intros [K H].
  assert (L : forall n, length (alt n) = (2 * n)%nat) by (induction n; simpl; lia).
  assert (A : forall n, arms 2 (alt n)).
  { induction n; intros a Ha; simpl in Ha; [contradiction|]. destruct Ha as [<-|[<-|Ha]]; [lia|lia|auto]. }
  destruct (archimed (100 * Rabs K + 100)) as [Z1 _].
  set (n := Z.to_nat (up (100 * Rabs K + 100))).
  assert (Hn : 100 * Rabs K + 100 < INR n).
  { unfold n. rewrite INR_IZR_INZ, Z2Nat.id; [lra|]. apply le_IZR. pose proof (Rabs_pos K). simpl. lra. }
  specialize (H (alt (S n)) (A (S n))). rewrite (proj1 (alt_U n)), L in H.
  rewrite mult_INR, (S_INR n) in H. unfold prodq in H. simpl in H. pose proof (Rle_abs K). pose proof (Rabs_pos K). lra.
Qed.

(** 1 - prod q <= 1 - exp(-rho).  Proof: - ln q <= odds, for each arm. *)
Theorem prodq_ge_exp_rho : forall m mu, rates m mu -> exp (- rho m mu) <= prodq m mu.
Proof.
  intros m mu Hr. rewrite (prodq_exp m mu Hr).
  assert (sumn m (fun j => - ln (1 - mu j)) <= rho m mu).
  { apply sumn_le. intros j Hj. specialize (Hr j Hj). rewrite <- ln_Rinv by lra.
    rewrite <- (ln_exp (odds mu j)).
    assert (/ (1 - mu j) = 1 + odds mu j) by (unfold odds; field; lra).
    assert (0 < odds mu j) by (apply odds_pos; lra).
    rewrite H. pose proof (exp_ineq1_le (odds mu j)).
    destruct (Rle_lt_or_eq_dec _ _ H1) as [Hlt|Heq]; [left; apply ln_increasing; lra|rewrite Heq; lra]. }
  destruct (Rle_lt_or_eq_dec _ _ H) as [Hlt|Heq]; [left; apply exp_increasing; lra|rewrite Heq; lra].
Qed.

Theorem opt_upper_bound_exp : forall m mu h, rates m mu -> arms m h ->
  U mu h <= INR (length h) * (1 - exp (- rho m mu)) + INR m.
Proof.
  intros m mu h Hr Ha. pose proof (opt_upper_bound m mu h Hr Ha).
  pose proof (prodq_ge_exp_rho m mu Hr). pose proof (pos_INR (length h)). nra.
Qed.

(** For m arms: prod q >= (1 + rho/m)^(-m).  Proof: the tangent of ln at 1 + rho/m, for each arm. *)
Lemma pow_inv_exp : forall x n, 0 < x -> (/ x) ^ n = exp (- (INR n * ln x)).
Proof.
  intros x n Hx. induction n; simpl pow; [simpl; rewrite Rmult_0_l, Ropp_0, exp_0; auto|].
  rewrite IHn, S_INR. rewrite <- (exp_ln (/ x)) by (apply Rinv_0_lt_compat; auto).
  rewrite ln_Rinv, <- exp_plus by auto. f_equal; ring.
Qed.
Theorem prodq_amgm : forall m mu, (0 < m)%nat -> rates m mu ->
  (/ (1 + rho m mu / INR m)) ^ m <= prodq m mu.
Proof.
  intros m mu Hm Hr. pose proof (rho_pos m mu Hm Hr) as HR.
  assert (HM : 0 < INR m) by (apply lt_0_INR; auto).
  set (a := 1 + rho m mu / INR m).
  assert (Ha : 1 < a) by (unfold a; assert (0 < rho m mu / INR m) by (apply Rdiv_lt_0_compat; auto); lra).
  rewrite (prodq_exp m mu Hr).
  rewrite (pow_inv_exp a m) by lra.
  assert (S : sumn m (fun j => - ln (1 - mu j)) <= INR m * ln a).
  { eapply Rle_trans.
    - apply (sumn_le m _ (fun j => (ln a - 1 + / a) + / a * odds mu j)). intros j Hj.
      specialize (Hr j Hj). pose proof (odds_pos mu j Hr) as Ho.
      rewrite <- ln_Rinv by lra. replace (/ (1 - mu j)) with (a * ((1 + odds mu j) / a)) by (unfold odds; field; lra).
      assert (0 < (1 + odds mu j) / a) by (apply Rdiv_lt_0_compat; lra).
      rewrite ln_mult by lra.
      pose proof (exp_ineq1_le (ln ((1 + odds mu j) / a))) as K. rewrite exp_ln in K by auto.
      assert ((1 + odds mu j) / a = / a + / a * odds mu j) by (field; lra). lra.
    - rewrite sumn_plus, sumn_const, sumn_scal. fold (rho m mu).
      assert (rho m mu = INR m * (a - 1)) by (unfold a; field; lra). right. rewrite H. field. lra. }
  destruct S as [S|S]; [left; apply exp_increasing; lra|right; rewrite S; reflexivity].
Qed.

(** Two arms: h is at least 8/9 of the bound.  Proof: the difference is r (r - 2)^2 over a positive
    number. *)
Theorem ratio_two : forall r, 0 < r -> 8 / 9 * (1 - (/ (1 + r / 2)) ^ 2) <= r / (1 + r).
Proof.
  intros r Hr. assert (0 < (1 + r) * (2 + r) ^ 2) by (apply Rmult_lt_0_compat; [lra|apply pow_lt; lra]).
  apply (Rmult_le_reg_r ((1 + r) * (2 + r) ^ 2)); [auto|].
  replace (8 / 9 * (1 - (/ (1 + r / 2)) ^ 2) * ((1 + r) * (2 + r) ^ 2))
    with (8 / 9 * ((2 + r) ^ 2 - 4) * (1 + r)) by (field; lra).
  replace (r / (1 + r) * ((1 + r) * (2 + r) ^ 2)) with (r * (2 + r) ^ 2) by (field; lra).
  assert (0 <= r * (r - 2) ^ 2) by (apply Rmult_le_pos; [lra|apply pow2_ge_0]). nra.
Qed.

(** Half of the odds is too little in both bounds, and 0.9 is too much: rates 1/2; total odds 2. *)
Theorem half_odds_false : ~ (forall m mu, rates m mu -> exp (- rho m mu / 2) <= prodq m mu).
Proof.
  intros F. specialize (F 1%nat (fun _ => 1/2) ltac:(intros j _; lra)).
  unfold rho, prodq, odds in F. simpl in F. pose proof (exp_ineq1 (- (0 + 1 / 2 / (1 - 1 / 2)) / 2) ltac:(lra)). lra.
Qed.
Theorem half_odds_mean_false : ~ (forall m mu, (0 < m)%nat -> rates m mu ->
  (/ (1 + rho m mu / (2 * INR m))) ^ m <= prodq m mu).
Proof.
  intros F. specialize (F 1%nat (fun _ => 1/2) ltac:(lia) ltac:(intros j _; lra)).
  unfold rho, prodq, odds in F. simpl in F. lra.
Qed.
Theorem nine_tenths_false : ~ (forall r, 0 < r -> 9 / 10 * (1 - (/ (1 + r / 2)) ^ 2) <= r / (1 + r)).
Proof. intros F. specialize (F 2 ltac:(lra)). lra. Qed.
