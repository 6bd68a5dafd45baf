(** * Routers without memory: recharge.odds_best_memoryless, recharge.normalized_odds_tight

    A memoryless router uses arm j with probability p j in each step, independently. *)

From Coq Require Import Reals Lra Lia List Arith.
From Coquelicot Require Import Coquelicot.
From Book Require Export Recharge.
Import ListNotations.
Open Scope R_scope.

(** ** recharge.odds_best_memoryless

    The age of arm j is geometric, P(d = k+1) = p (1-p)^k, so that a pull of j pays rho / (rho + p)
    in the mean, rho being the odds of j.  Proof: two geometric series. *)
Theorem geometric_age_value : forall mu p, 0 < mu < 1 -> 0 < p <= 1 ->
  infinite_sum (fun k : nat => (p * (1 - p) ^ k) * (1 - (1 - mu) ^ (S k))) ((mu / (1 - mu)) / (mu / (1 - mu) + p)).
Proof.
  intros mu p Hmu Hp. apply is_series_Reals.
  assert (A1 : is_series (fun k => p * (1 - p) ^ k) (p * / (1 - (1 - p)))).
  { apply (is_series_scal_l p (fun k => (1 - p) ^ k)). apply is_series_geom. rewrite Rabs_pos_eq; lra. }
  assert (Hx : 0 <= (1 - p) * (1 - mu) < 1).
  { split; [apply Rmult_le_pos; lra|]. assert ((1 - p) * (1 - mu) <= 1 * (1 - mu)) by (apply Rmult_le_compat_r; lra). lra. }
  assert (A2 : is_series (fun k => (p * (1 - mu)) * ((1 - p) * (1 - mu)) ^ k)
                 (p * (1 - mu) * / (1 - (1 - p) * (1 - mu)))).
  { apply (is_series_scal_l (p * (1 - mu)) (fun k => ((1 - p) * (1 - mu)) ^ k)). apply is_series_geom.
    rewrite Rabs_pos_eq; lra. }
  pose proof (is_series_minus _ _ _ _ A1 A2) as A3.
  assert (EV : (mu / (1 - mu)) / (mu / (1 - mu) + p)
     = minus (p * / (1 - (1 - p))) (p * (1 - mu) * / (1 - (1 - p) * (1 - mu)))).
  { unfold minus, plus, opp; simpl. field.
    repeat split; try lra; try (assert (0 < p * (1 - mu)) by (apply Rmult_lt_0_compat; lra); lra). }
  rewrite EV. eapply is_series_ext; [|exact A3].
  intros k. unfold minus, plus, opp; simpl. rewrite Rpow_mult_distr. ring.
Qed.

(** What the router earns in a step, in the long run. *)
Definition memo_value (m : nat) (mu p : nat -> R) : R :=
  sumn m (fun j => p j * (odds mu j / (odds mu j + p j))).

(** It is at most h.  Proof: the tangent line at p = t rho, t = 1/(sum of the odds), lies above
    each term. *)
Theorem best_memoryless : forall m mu p, (0 < m)%nat -> rates m mu ->
  (forall j, (j < m)%nat -> 0 <= p j) -> sumn m p = 1 ->
  memo_value m mu p <= hamacher m mu.
Proof.
  intros m mu p Hm Hr Hp Sp. pose proof (rho_pos m mu Hm Hr) as HR.
  set (t := / rho m mu). assert (Ht : 0 < t) by (apply Rinv_0_lt_compat; auto).
  assert (T : forall j, (j < m)%nat ->
    p j * (odds mu j / (odds mu j + p j)) <= (/ (1 + t) ^ 2) * p j + (t * t / (1 + t) ^ 2) * odds mu j).
  { intros j Hj. pose proof (odds_pos mu j (Hr j Hj)) as Ho. specialize (Hp j Hj).
    assert (0 < (odds mu j + p j) * (1 + t) ^ 2) by (apply Rmult_lt_0_compat; [lra|apply pow_lt; lra]).
    apply (Rmult_le_reg_r ((odds mu j + p j) * (1 + t) ^ 2)); [auto|].
    replace (p j * (odds mu j / (odds mu j + p j)) * ((odds mu j + p j) * (1 + t) ^ 2))
      with (p j * odds mu j * (1 + t) ^ 2) by (field; lra).
    replace ((/ (1 + t) ^ 2 * p j + t * t / (1 + t) ^ 2 * odds mu j) * ((odds mu j + p j) * (1 + t) ^ 2))
      with ((p j + t * t * odds mu j) * (odds mu j + p j)) by (field; lra).
    pose proof (Rle_0_sqr (p j - t * odds mu j)). unfold Rsqr in *. nra. }
  unfold memo_value. eapply Rle_trans; [apply sumn_le; exact T|].
  rewrite sumn_plus, !sumn_scal, Sp. fold (rho m mu). unfold hamacher, t. right. field. lra.
Qed.

(** The normalized odds earn h. *)
Definition norm_odds (m : nat) (mu : nat -> R) (j : nat) : R := odds mu j / rho m mu.
Theorem norm_odds_value : forall m mu, (0 < m)%nat -> rates m mu ->
  memo_value m mu (norm_odds m mu) = hamacher m mu.
Proof.
  intros m mu Hm Hr. pose proof (rho_pos m mu Hm Hr) as HR. unfold memo_value, norm_odds.
  rewrite (sumn_ext m _ (fun j => / (1 + rho m mu) * odds mu j)).
  - rewrite sumn_scal. fold (rho m mu). unfold hamacher. field. lra.
  - intros j Hj. pose proof (odds_pos mu j (Hr j Hj)). field.
    repeat split; try lra. assert (0 < odds mu j * rho m mu) by (apply Rmult_lt_0_compat; lra). lra.
Qed.

(** No other router does.  Proof: the gap to the tangent is a square, (p - t rho)^2 over a positive
    number. *)
Theorem best_memoryless_unique : forall m mu p, (0 < m)%nat -> rates m mu ->
  (forall j, (j < m)%nat -> 0 <= p j) -> sumn m p = 1 ->
  memo_value m mu p = hamacher m mu -> forall j, (j < m)%nat -> p j = norm_odds m mu j.
Proof.
  intros m mu p Hm Hr Hp Sp HE. pose proof (rho_pos m mu Hm Hr) as HR.
  set (t := / rho m mu). assert (Ht : 0 < t) by (apply Rinv_0_lt_compat; auto).
  set (gap := fun j => (p j - t * odds mu j) * (p j - t * odds mu j) / ((odds mu j + p j) * (1 + t) ^ 2)).
  assert (T : forall j, (j < m)%nat -> p j * (odds mu j / (odds mu j + p j)) =
     (/ (1 + t) ^ 2) * p j + (t * t / (1 + t) ^ 2) * odds mu j + -1 * gap j).
  { intros j Hj. pose proof (odds_pos mu j (Hr j Hj)). specialize (Hp j Hj). unfold gap. field. split; lra. }
  assert (G0 : sumn m gap = 0).
  { unfold memo_value in HE. rewrite (sumn_ext m _ _ T), !sumn_plus, !sumn_scal, Sp in HE.
    fold (rho m mu) in HE. unfold hamacher in HE.
    assert (/ (1 + t) ^ 2 * 1 + t * t / (1 + t) ^ 2 * rho m mu = rho m mu / (1 + rho m mu)) by (unfold t; field; lra).
    lra. }
  assert (GP : forall j, (j < m)%nat -> 0 <= gap j).
  { intros j Hj. pose proof (odds_pos mu j (Hr j Hj)). specialize (Hp j Hj). unfold gap.
    apply Rmult_le_pos; [apply Rle_0_sqr|]. left. apply Rinv_0_lt_compat, Rmult_lt_0_compat; [lra|apply pow_lt; lra]. }
  intros j Hj.
  assert (Gj : gap j = 0).
  { apply Rle_antisym; [|auto]. rewrite <- G0. rewrite <- (sumn_ind m j (gap j) Hj). apply sumn_le.
    intros a Ha. destruct (Nat.eqb_spec j a) as [<-|]; [lra|auto]. }
  unfold gap in Gj. pose proof (odds_pos mu j (Hr j Hj)). specialize (Hp j Hj).
  apply Rmult_integral in Gj as [Gj|Gj].
  - apply Rmult_integral in Gj. assert (p j = t * odds mu j) by lra. unfold norm_odds, Rdiv. unfold t in *. lra.
  - exfalso. assert (0 < / ((odds mu j + p j) * (1 + t) ^ 2)); [|lra].
    apply Rinv_0_lt_compat, Rmult_lt_0_compat; [lra|apply pow_lt; lra].
Qed.

(** Weights proportional to the rates earn less: rates 1/2 and 1/4. *)
Theorem proportional_rates_false : ~ (forall m mu, (0 < m)%nat -> rates m mu ->
  memo_value m mu (fun j => mu j / sumn m mu) = hamacher m mu).
Proof.
  intros F. set (mu := fun j : nat => match j with O => 1/2 | _ => 1/4 end).
  assert (Hr : rates 2 mu) by (intros [|j] Hj; simpl; lra).
  specialize (F 2%nat mu ltac:(lia) Hr). unfold memo_value, hamacher, rho, odds, mu in F. simpl in F. lra.
Qed.

(** ** recharge.normalized_odds_tight

    [Ex m p T F] is the mean of F over all m^T sequences of T independent choices with law p. *)
Fixpoint Ex (m : nat) (p : nat -> R) (T : nat) (F : list nat -> R) : R :=
  match T with
  | O => F []
  | S t => Ex m p t (fun h => sumn m (fun a => p a * F (a :: h)))
  end.
Lemma Ex_ext m p T F G : (forall h, F h = G h) -> Ex m p T F = Ex m p T G.
Proof.
  revert F G; induction T; intros F G H; simpl; [apply H|].
  apply IHT. intros h. apply sumn_ext. intros; rewrite H; reflexivity.
Qed.
Lemma Ex_plus m p T F G : Ex m p T (fun h => F h + G h) = Ex m p T F + Ex m p T G.
Proof.
  revert F G; induction T; intros F G; simpl; [reflexivity|].
  rewrite <- IHT. apply Ex_ext. intros h. rewrite <- sumn_plus. apply sumn_ext; intros; ring.
Qed.
Lemma Ex_scal m p T c F : Ex m p T (fun h => c * F h) = c * Ex m p T F.
Proof.
  revert F; induction T; intros F; simpl; [reflexivity|].
  rewrite <- IHT. apply Ex_ext. intros h. rewrite <- sumn_scal. apply sumn_ext; intros; ring.
Qed.
Lemma Ex_const m p T c : sumn m p = 1 -> Ex m p T (fun _ => c) = c.
Proof.
  intros Sp. induction T; simpl; [reflexivity|].
  rewrite (Ex_ext m p T _ (fun _ => c)); [exact IHT|].
  intros h. rewrite (sumn_ext m _ (fun a => c * p a)) by (intros; ring). rewrite sumn_scal, Sp; ring.
Qed.
Lemma Ex_sumn m p T n F : Ex m p T (fun h => sumn n (fun a => F a h)) = sumn n (fun a => Ex m p T (F a)).
Proof.
  induction n; simpl.
  - rewrite (Ex_ext m p T _ (fun h => 0 * 0)) by (intros; ring). rewrite Ex_scal. ring.
  - rewrite Ex_plus, IHn. reflexivity.
Qed.

(** The probability that j is busy: b(T+1) = q (p + (1-p) b(T)). *)
Fixpoint busy (mu p : nat -> R) (j T : nat) : R :=
  match T with O => 0 | S t => (1 - mu j) * (p j + (1 - p j) * busy mu p j t) end.

Lemma avail_step mu h a j :
  avail mu (a :: h) j = 1 - (1 - mu j) * (if Nat.eqb a j then 1 else 1 - avail mu h j).
Proof.
  unfold avail; cbn [age]. destruct (Nat.eqb a j); [simpl; ring|].
  destruct (age h j); cbn [option_map]; [simpl; ring|ring].
Qed.

Lemma Ex_avail m mu p T j : (j < m)%nat -> sumn m p = 1 ->
  Ex m p T (fun h => avail mu h j) = 1 - busy mu p j T.
Proof.
  intros Hj Sp. induction T; simpl.
  - unfold avail; simpl; ring.
  - rewrite (Ex_ext m p T _ (fun h => (1 - (1 - mu j) * p j - (1 - mu j) * (1 - p j)) + ((1 - mu j) * (1 - p j)) * avail mu h j)).
    + rewrite Ex_plus, Ex_scal, IHT, Ex_const by auto. ring.
    + intros h. rewrite (sumn_ext m _ (fun a => (1 - (1 - mu j) * (1 - avail mu h j)) * p a
          + (if Nat.eqb j a then - (1 - mu j) * avail mu h j * p j else 0))).
      * rewrite sumn_plus, sumn_scal, Sp, sumn_ind by auto. ring.
      * intros a Ha. rewrite avail_step, Nat.eqb_sym. destruct (Nat.eqb_spec j a) as [<-|]; ring.
Qed.

Definition busy_lim (mu p : nat -> R) (j : nat) : R := p j / (odds mu j + p j).
Lemma busy_gap mu p j T : 0 < mu j < 1 -> 0 <= p j <= 1 ->
  busy mu p j T - busy_lim mu p j = - busy_lim mu p j * ((1 - mu j) * (1 - p j)) ^ T.
Proof.
  intros Hm Hp. unfold busy_lim, odds.
  assert (0 < mu j + p j * (1 - mu j)).
  { assert (0 <= p j * (1 - mu j)) by (apply Rmult_le_pos; lra). lra. }
  assert (mu j / (1 - mu j) + p j <> 0).
  { replace (mu j / (1 - mu j) + p j) with ((mu j + p j * (1 - mu j)) / (1 - mu j)) by (field; lra).
    apply Rgt_not_eq, Rdiv_lt_0_compat; lra. }
  induction T; simpl.
  - ring.
  - replace (busy mu p j T) with (p j / (mu j / (1 - mu j) + p j)
       - p j / (mu j / (1 - mu j) + p j) * ((1 - mu j) * (1 - p j)) ^ T) by lra.
    field. split; [lra|]. replace (mu j + p j * (1 - mu j)) with (mu j + p j * (1 - mu j)) by ring. lra.
Qed.

(** The means of the utility and of the hindsight value, exactly, for every T. *)
Lemma Ex_U m mu p T : sumn m p = 1 ->
  Ex m p T (U mu) = sumn T (fun t => sumn m (fun a => p a * (1 - busy mu p a t))).
Proof.
  intros Sp. induction T; [reflexivity|]. cbn [sumn]. rewrite <- IHT. cbn [Ex].
  rewrite (Ex_ext m p T _ (fun h => U mu h + sumn m (fun a => p a * avail mu h a))).
  - rewrite Ex_plus. f_equal. rewrite (Ex_sumn m p T m (fun a h => p a * avail mu h a)).
    apply sumn_ext. intros a Ha. rewrite Ex_scal, Ex_avail by auto. reflexivity.
  - intros h. cbn [U].
    rewrite (sumn_ext m _ (fun a => U mu h * p a + p a * avail mu h a)) by (intros; ring).
    rewrite sumn_plus, sumn_scal, Sp. ring.
Qed.
Lemma Ex_Hind m mu p T j : (j < m)%nat -> sumn m p = 1 ->
  Ex m p T (fun h => Hind mu h j) = sumn T (fun t => 1 - busy mu p j t).
Proof.
  intros Hj Sp. induction T; [reflexivity|]. cbn [sumn]. rewrite <- IHT. cbn [Ex].
  rewrite (Ex_ext m p T _ (fun h => Hind mu h j + avail mu h j)).
  - rewrite Ex_plus, Ex_avail by auto. reflexivity.
  - intros h. cbn [Hind].
    rewrite (sumn_ext m _ (fun a => (Hind mu h j + avail mu h j) * p a)) by (intros; ring).
    rewrite sumn_scal, Sp. ring.
Qed.

Lemma geo_bound x n : 0 <= x < 1 -> 0 <= sumn n (fun t => x ^ t) <= / (1 - x).
Proof.
  intros Hx. assert (E : (1 - x) * sumn n (fun t => x ^ t) = 1 - x ^ n).
  { induction n; simpl; [ring|]. rewrite Rmult_plus_distr_l, IHn. ring. }
  assert (0 <= x ^ n) by (apply pow_le; lra).
  split; [apply sumn_nonneg; intros; apply pow_le; lra|].
  apply (Rmult_le_reg_l (1 - x)); [lra|]. rewrite E, Rinv_r by lra. lra.
Qed.

Lemma no_sum m mu : (0 < m)%nat -> rates m mu -> sumn m (norm_odds m mu) = 1.
Proof.
  intros Hm Hr. pose proof (rho_pos m mu Hm Hr). unfold norm_odds, Rdiv.
  rewrite (sumn_ext m _ (fun j => / rho m mu * odds mu j)) by (intros; ring).
  rewrite sumn_scal. fold (rho m mu). field. lra.
Qed.
Lemma no_prob m mu j : (0 < m)%nat -> rates m mu -> (j < m)%nat -> 0 < norm_odds m mu j <= 1.
Proof.
  intros Hm Hr Hj. pose proof (rho_pos m mu Hm Hr). pose proof (odds_pos mu j (Hr j Hj)).
  split; [unfold norm_odds; apply Rdiv_lt_0_compat; auto|].
  rewrite <- (no_sum m mu Hm Hr), <- (sumn_ind m j (norm_odds m mu j) Hj). apply sumn_le.
  intros a Ha. destruct (Nat.eqb_spec j a) as [<-|]; [lra|].
  unfold norm_odds; left; apply Rdiv_lt_0_compat; auto. apply odds_pos; auto.
Qed.

Lemma no_arm_value : forall m mu T j, (0 < m)%nat -> rates m mu -> (j < m)%nat ->
  hamacher m mu * INR T <= sumn T (fun t => 1 - busy mu (norm_odds m mu) j t)
    <= hamacher m mu * INR T + / mu j.
Proof.
  intros m mu T j Hm Hr Hj. pose proof (rho_pos m mu Hm Hr) as HR. specialize (Hr j Hj) as Hmu.
  pose proof (odds_pos mu j Hmu) as Ho. pose proof (no_prob m mu j Hm Hr Hj) as Hp.
  set (x := (1 - mu j) * (1 - norm_odds m mu j)).
  assert (Hx : 0 <= x <= 1 - mu j).
  { unfold x; split; [apply Rmult_le_pos; lra|]. rewrite <- (Rmult_1_r (1 - mu j)) at 2.
    apply Rmult_le_compat_l; lra. }
  assert (EL : busy_lim mu (norm_odds m mu) j = 1 - hamacher m mu).
  { unfold busy_lim, norm_odds, hamacher. field. repeat split; try lra.
    assert (0 < odds mu j * rho m mu) by (apply Rmult_lt_0_compat; lra). lra. }
  assert (Hh : 0 <= 1 - hamacher m mu <= 1).
  { unfold hamacher. replace (1 - rho m mu / (1 + rho m mu)) with (/ (1 + rho m mu)) by (field; lra).
    assert (0 < / (1 + rho m mu)) by (apply Rinv_0_lt_compat; lra). split; [lra|].
    rewrite <- Rinv_1 at 2. apply Rinv_le_contravar; lra. }
  assert (E : sumn T (fun t => 1 - busy mu (norm_odds m mu) j t)
            = hamacher m mu * INR T + (1 - hamacher m mu) * sumn T (fun t => x ^ t)).
  { rewrite (sumn_ext T _ (fun t => hamacher m mu + (1 - hamacher m mu) * x ^ t)).
    - rewrite sumn_plus, sumn_const, sumn_scal. change (fun t => x ^ t) with (pow x). ring.
    - intros t _. pose proof (busy_gap mu (norm_odds m mu) j t Hmu) as B.
      rewrite EL in B. fold x in B. lra. }
  rewrite E. assert (G : 0 <= sumn T (fun t => x ^ t) <= / (1 - x)) by (apply geo_bound; lra).
  assert (/ (1 - x) <= / mu j) by (apply Rinv_le_contravar; lra).
  split; [nra|]. assert ((1 - hamacher m mu) * sumn T (fun t => x ^ t) <= 1 * sumn T (fun t => x ^ t))
    by (apply Rmult_le_compat_r; lra). lra.
Qed.

(** Every fixed arm has hindsight value h T in the mean, up to 1/mu: no regret.
    Proof: the busy probability approaches 1 - h geometrically. *)
Theorem normalized_odds_hindsight : forall m mu T j, (0 < m)%nat -> rates m mu -> (j < m)%nat ->
  hamacher m mu * INR T <= Ex m (norm_odds m mu) T (fun h => Hind mu h j)
    <= hamacher m mu * INR T + / mu j.
Proof.
  intros m mu T j Hm Hr Hj. rewrite Ex_Hind by (auto using no_sum). apply no_arm_value; auto.
Qed.

(** The router earns h T in the mean, up to a constant: the lower bound cannot be improved. *)
Theorem normalized_odds_utility : forall m mu T, (0 < m)%nat -> rates m mu ->
  hamacher m mu * INR T <= Ex m (norm_odds m mu) T (U mu)
    <= hamacher m mu * INR T + sumn m (fun j => norm_odds m mu j / mu j).
Proof.
  intros m mu T Hm Hr. rewrite Ex_U by (auto using no_sum).
  assert (SW : sumn T (fun t => sumn m (fun a => norm_odds m mu a * (1 - busy mu (norm_odds m mu) a t)))
             = sumn m (fun a => norm_odds m mu a * sumn T (fun t => 1 - busy mu (norm_odds m mu) a t))).
  { rewrite sumn_exchange. apply sumn_ext. intros; apply sumn_scal. }
  rewrite SW.
  assert (EH : hamacher m mu * INR T = sumn m (fun a => norm_odds m mu a * (hamacher m mu * INR T))).
  { rewrite (sumn_ext m _ (fun a => (hamacher m mu * INR T) * norm_odds m mu a)) by (intros; ring).
    rewrite sumn_scal, no_sum by auto. ring. }
  split.
  - rewrite EH. apply sumn_le. intros j Hj. pose proof (no_prob m mu j Hm Hr Hj).
    apply Rmult_le_compat_l; [lra|]. apply no_arm_value; auto.
  - rewrite EH, <- sumn_plus. apply sumn_le. intros j Hj. pose proof (no_prob m mu j Hm Hr Hj).
    pose proof (no_arm_value m mu T j Hm Hr Hj). unfold Rdiv.
    rewrite <- Rmult_plus_distr_l. apply Rmult_le_compat_l; lra.
Qed.

(** Exactly h T is false: the first pull of every arm pays 1. *)
Theorem normalized_odds_exact_false : ~ (forall m mu T, (0 < m)%nat -> rates m mu ->
  Ex m (norm_odds m mu) T (U mu) = hamacher m mu * INR T).
Proof.
  intros F. assert (Hr : rates 1 (fun _ => 1/2)) by (intros j _; lra).
  specialize (F 1%nat (fun _ => 1/2) 1%nat ltac:(lia) Hr).
  unfold norm_odds, hamacher, rho, odds in F. simpl in F. unfold avail in F. simpl in F. lra.
Qed.

(** No constant below 1 before h: one arm of rate 1/2. *)
Theorem less_than_h_false : forall c, c < 1 -> ~ (forall m mu p, (0 < m)%nat -> rates m mu ->
  (forall j, (j < m)%nat -> 0 <= p j) -> sumn m p = 1 -> memo_value m mu p <= c * hamacher m mu).
Proof.
  intros c Hc F. assert (Hr : rates 1 (fun _ => 1/2)) by (intros j _; lra).
  specialize (F 1%nat (fun _ => 1/2) (fun _ => 1) ltac:(lia) Hr ltac:(intros; lra) ltac:(simpl; ring)).
  unfold memo_value, hamacher, rho, odds in F. simpl in F. lra.
Qed.
(** The hindsight value of an arm is not exactly h T. *)
Theorem hindsight_exact_false : ~ (forall m mu T j, (0 < m)%nat -> rates m mu -> (j < m)%nat ->
  Ex m (norm_odds m mu) T (fun h => Hind mu h j) = hamacher m mu * INR T).
Proof.
  intros F. assert (Hr : rates 1 (fun _ => 1/2)) by (intros j _; lra).
  specialize (F 1%nat (fun _ => 1/2) 1%nat 0%nat ltac:(lia) Hr ltac:(lia)).
  unfold norm_odds, hamacher, rho, odds in F. simpl in F. unfold avail in F. simpl in F. lra.
Qed.
