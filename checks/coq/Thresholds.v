(** * Policies on the number of jobs: admission.threshold_gain, admission.dominance

    The model is that of [Perturbation]: any limit [N], any rates, any sum-policy with coins. *)

From Coq Require Import Reals Lra Lia Arith.
From Book Require Export Perturbation.
Open Scope R_scope.

(** ** The weight of a policy is that of admitting all, times a product of its probabilities *)
Lemma weight_product lam mu alpha s :
  weight lam mu alpha s = weight lam mu (fun _ => 1) s * prodn s alpha.
Proof. induction s; simpl; [ring|]. rewrite IHs. unfold Rdiv. ring. Qed.
Lemma prodn_threshold t s : prodn s (threshold t) = if (s <=? t)%nat then 1 else 0.
Proof.
  induction s; [reflexivity|]. cbn [prodn]. rewrite IHs. unfold threshold.
  destruct (Nat.leb_spec s t), (Nat.ltb_spec s t), (Nat.leb_spec (S s) t); try lia; ring.
Qed.
Lemma telescope (a : nat -> R) s n :
  sumn n (fun t => if (s <=? t)%nat then a t - a (S t) else 0) = if (s <=? n)%nat then a s - a n else 0.
Proof.
  induction n; cbn [sumn].
  - destruct (Nat.leb_spec s 0); [|reflexivity]. replace s with 0%nat by lia. ring.
  - rewrite IHn. destruct (Nat.leb_spec s n), (Nat.leb_spec s (S n)); try lia; try ring.
    replace s with (S n) by lia. ring.
Qed.

(** Threshold t has the share (probability to admit at all of 0..t-1) times (probability to reject
    at t). *)
Definition share (alpha : nat -> R) (t : nat) : R := prodn t alpha * (1 - alpha t).
Lemma weight_mixture N lam mu alpha s : alpha N = 0 -> (s <= N)%nat ->
  weight lam mu alpha s = sumn (S N) (fun t => share alpha t * weight lam mu (threshold t) s).
Proof.
  intros HN Hs. rewrite weight_product.
  rewrite (sumn_ext (S N) _ (fun t => weight lam mu (fun _ => 1) s *
    (if (s <=? t)%nat then prodn t alpha - prodn (S t) alpha else 0))).
  - rewrite sumn_scal, telescope. destruct (Nat.leb_spec s (S N)); [|lia]. cbn [prodn]. rewrite HN. ring.
  - intros t _. rewrite (weight_product lam mu (threshold t)), prodn_threshold. unfold share. cbn [prodn].
    destruct (s <=? t)%nat; ring.
Qed.

(** ** One cost for all policies: phi(s) = g s + (lam - mu(s)) R, because as many leave as are
    admitted *)
Definition phi (lam : R) (mu : nat -> R) (g Rj : R) (s : nat) : R := g * INR s + (lam - mu s) * Rj.
Theorem cost_of_state : forall N lam mu alpha g Rj, model N lam mu alpha ->
  mean N (law N lam mu alpha) (cost lam g Rj alpha) = mean N (law N lam mu alpha) (phi lam mu g Rj).
Proof.
  intros N lam mu alpha g Rj M. pose proof (stationary_mean N lam mu alpha M (fun _ => Rj)) as T.
  rewrite <- (Rplus_0_r (mean N _ (cost _ _ _ _))), <- T. unfold mean. rewrite <- sumn_plus.
  apply sumn_ext. intros s _. unfold cost, phi. ring.
Qed.

(** ** admission.threshold_gain, item 1

    Every sum-policy is a mixture of thresholds, in law and in cost, with weights share(t) W(t).
    Proof: the product telescopes; the cost is a mean of one function. *)
Lemma threshold_model N lam mu alpha t : model N lam mu alpha -> (t <= N)%nat -> model N lam mu (threshold t).
Proof.
  intros (Hl & H0 & Hm & _) Ht. repeat split; try assumption; try apply threshold_01.
  unfold threshold. destruct (Nat.ltb_spec N t); [lia|reflexivity].
Qed.
Lemma share_nonneg N lam mu alpha t : model N lam mu alpha -> 0 <= share alpha t.
Proof.
  intros (_ & _ & _ & Ha & _). unfold share. apply Rmult_le_pos; [|pose proof (Ha t); lra].
  induction t; simpl; [lra|]. apply Rmult_le_pos; [auto|apply Ha].
Qed.
Theorem mixture_of_thresholds : forall N lam mu alpha g Rj, model N lam mu alpha ->
  let W := fun a => sumn (S N) (weight lam mu a) in
  let p := fun t => share alpha t * W (threshold t) / W alpha in
  (forall t, (t <= N)%nat -> 0 <= p t) /\ sumn (S N) p = 1
  /\ (forall s, (s <= N)%nat ->
       law N lam mu alpha s = sumn (S N) (fun t => p t * law N lam mu (threshold t) s))
  /\ mean N (law N lam mu alpha) (cost lam g Rj alpha)
     = sumn (S N) (fun t => p t * mean N (law N lam mu (threshold t)) (cost lam g Rj (threshold t))).
Proof.
  intros N lam mu alpha g Rj M W p. assert (HN : alpha N = 0) by (destruct M as (_ & _ & _ & _ & H); exact H).
  assert (WA : 0 < W alpha) by (apply total_pos; auto).
  assert (WT : forall t, (t <= N)%nat -> 0 < W (threshold t))
    by (intros t Ht; apply total_pos, (threshold_model N lam mu alpha); auto).
  assert (Hp : forall t, (t <= N)%nat -> 0 <= p t).
  { intros t Ht. unfold p, Rdiv. apply Rmult_le_pos; [|left; apply Rinv_0_lt_compat; auto].
    apply Rmult_le_pos; [apply (share_nonneg N lam mu); auto|left; auto]. }
  assert (HL : forall s, (s <= N)%nat ->
    law N lam mu alpha s = sumn (S N) (fun t => p t * law N lam mu (threshold t) s)).
  { intros s Hs. unfold law at 1. rewrite (weight_mixture N lam mu alpha s HN Hs).
    unfold Rdiv. rewrite Rmult_comm, <- sumn_scal. apply sumn_ext. intros t Ht. fold (W alpha).
    unfold p, law. fold (W (threshold t)). pose proof (WT t ltac:(lia)). field. lra. }
  split; [exact Hp|]. split; [|split; [exact HL|]].
  - rewrite <- (law_sums_to_1 N lam mu alpha M). symmetry.
    rewrite (sumn_ext (S N) _ _ (fun s Hs => HL s (proj1 (Nat.lt_succ_r s N) Hs))), sumn_exchange.
    apply sumn_ext. intros t Ht. rewrite sumn_scal, law_sums_to_1; [ring|].
    apply (threshold_model N lam mu alpha); auto; lia.
  - rewrite (cost_of_state N lam mu alpha g Rj M). unfold mean at 1.
    rewrite (sumn_ext (S N) _ (fun s => sumn (S N) (fun t =>
      p t * (law N lam mu (threshold t) s * phi lam mu g Rj s)))).
    + rewrite sumn_exchange. apply sumn_ext. intros t Ht. rewrite sumn_scal. f_equal.
      rewrite (cost_of_state N lam mu (threshold t) g Rj) by (apply (threshold_model N lam mu alpha); auto; lia).
      reflexivity.
    + intros s Hs. rewrite (HL s) by lia. rewrite Rmult_comm, <- sumn_scal. apply sumn_ext. intros; ring.
Qed.

(** ** Item 2: without coins only the first rejection counts, and item 3, three local minima *)
Theorem first_rejection : forall N lam mu alpha g Rj theta, model N lam mu alpha -> (theta <= N)%nat ->
  (forall s, (s < theta)%nat -> alpha s = 1) -> alpha theta = 0 ->
  mean N (law N lam mu alpha) (cost lam g Rj alpha)
  = mean N (law N lam mu (threshold theta)) (cost lam g Rj (threshold theta)).
Proof.
  intros N lam mu alpha g Rj theta M Ht H1 H0.
  assert (P : forall s, prodn s alpha = prodn s (threshold theta)).
  { induction s; [reflexivity|]. cbn [prodn]. rewrite IHs, prodn_threshold. unfold threshold.
    destruct (Nat.leb_spec s theta); [|ring]. destruct (Nat.ltb_spec s theta); [rewrite H1 by lia; ring|].
    replace s with theta by lia. rewrite H0. ring. }
  assert (W : forall s, weight lam mu alpha s = weight lam mu (threshold theta) s).
  { intros s. rewrite (weight_product lam mu alpha), (weight_product lam mu (threshold theta)), P. reflexivity. }
  rewrite (cost_of_state N lam mu alpha g Rj M), cost_of_state by (apply (threshold_model N lam mu alpha); auto).
  apply sumn_ext. intros s _. unfold law. rewrite W, (sumn_ext (S N) _ _ (fun t _ => W t)). reflexivity.
Qed.
Theorem three_minima :
  let mu := fun s => match s with O => 0 | 1%nat => 1/2 | 2%nat => 5/4 | 3%nat => 3/2 | 4%nat => 5/2 | 5%nat => 4 | _ => 5 end in
  let c := fun t => mean 6 (law 6 2 mu (threshold t)) (cost 2 (1/2) (3/4) (threshold t)) in
  (c 0%nat = 3/2 /\ c 1%nat = 8/5 /\ c 2%nat = 30/19 /\ c 3%nat = 510/299 /\ c 4%nat = 3382/2007
   /\ c 5%nat = 3638/2263 /\ c 6%nat = 18574/11827)
  /\ 3/2 < 8/5 /\ 30/19 < 8/5 /\ 30/19 < 510/299 /\ 3638/2263 < 3382/2007 < 510/299
  /\ 18574/11827 < 3638/2263.
Proof.
  intros mu c. split; [|repeat split; lra].
  repeat split; unfold c, mean, law, cost, threshold, mu; simpl; lra.
Qed.

(** Hence some threshold costs no more than the policy.  Proof: take the least of finitely many
    costs. *)
Lemma least n (c : nat -> R) : exists t, (t <= n)%nat /\ forall u, (u <= n)%nat -> c t <= c u.
Proof.
  induction n as [|n (t & Ht & H)].
  - exists 0%nat. split; [lia|]. intros u Hu. replace u with 0%nat by lia. lra.
  - destruct (Rle_lt_dec (c t) (c (S n))) as [L|L].
    + exists t. split; [lia|]. intros u Hu. destruct (Nat.eq_dec u (S n)) as [->|]; [auto|apply H; lia].
    + exists (S n). split; [lia|]. intros u Hu. destruct (Nat.eq_dec u (S n)) as [->|]; [lra|].
      pose proof (H u ltac:(lia)). lra.
Qed.
Theorem threshold_is_best : forall N lam mu alpha g Rj, model N lam mu alpha ->
  exists theta, (theta <= N)%nat /\
    mean N (law N lam mu (threshold theta)) (cost lam g Rj (threshold theta))
    <= mean N (law N lam mu alpha) (cost lam g Rj alpha).
Proof.
  intros N lam mu alpha g Rj M.
  set (c := fun t => mean N (law N lam mu (threshold t)) (cost lam g Rj (threshold t))).
  destruct (least N c) as (t & Ht & L). exists t. split; [exact Ht|]. fold (c t).
  destruct (mixture_of_thresholds N lam mu alpha g Rj M) as (Hp & S1 & _ & E). cbv zeta in *.
  rewrite E, <- (Rmult_1_r (c t)), <- S1, <- sumn_scal. apply sumn_le. intros u Hu.
  rewrite Rmult_comm. apply Rmult_le_compat_l; [apply Hp; lia|]. apply L; lia.
Qed.
(** To admit all is not always best: one server, reject at once if jobs cost and rejections do not.
    *)
Theorem admit_all_false : ~ (forall N lam mu alpha g Rj, model N lam mu alpha -> 0 <= g -> 0 <= Rj ->
  mean N (law N lam mu (threshold N)) (cost lam g Rj (threshold N))
    <= mean N (law N lam mu alpha) (cost lam g Rj alpha)).
Proof.
  intros F. assert (M : model 1 1 (one 1) (threshold 0)).
  { apply (threshold_model 1 1 (one 1) (threshold 1)); [apply one_model; lra|lia]. }
  specialize (F 1%nat 1 (one 1) (threshold 0) 1 0 M ltac:(lra) ltac:(lra)).
  unfold mean, law, cost, threshold in F. simpl in F. lra.
Qed.

(** ** admission.dominance

    Admit more at some numbers of jobs: likelihood ratios grow, and so does every level.
    Proof: the weights differ by products of the probabilities; sum over pairs s < k <= s'. *)
Lemma product_ratio alpha beta s d : (forall k, 0 <= alpha k <= beta k) ->
  0 <= prodn (s + d) alpha * prodn s beta <= prodn s alpha * prodn (s + d) beta.
Proof.
  intros H. assert (P : forall f n, (forall k, 0 <= f k) -> 0 <= prodn n f).
  { intros f n Hf. induction n; simpl; [lra|]. apply Rmult_le_pos; auto. }
  assert (PA : forall n, 0 <= prodn n alpha) by (intros; apply P; apply H).
  assert (PB : forall n, 0 <= prodn n beta) by (intros; apply P; intros k; specialize (H k); lra).
  induction d.
  - rewrite Nat.add_0_r. split; [apply Rmult_le_pos; auto|lra].
  - rewrite Nat.add_succ_r. cbn [prodn]. destruct (H (s + d)%nat) as [H1 H2].
    replace (prodn (s + d) alpha * alpha (s + d)%nat * prodn s beta)
      with (prodn (s + d) alpha * prodn s beta * alpha (s + d)%nat) by ring.
    rewrite <- Rmult_assoc. split; [apply Rmult_le_pos; lra|]. apply Rmult_le_compat; lra.
Qed.
Theorem likelihood_ratio : forall N lam mu alpha beta, model N lam mu alpha -> model N lam mu beta ->
  (forall k, alpha k <= beta k) -> forall s s', (s <= s' <= N)%nat ->
  law N lam mu alpha s' * law N lam mu beta s <= law N lam mu alpha s * law N lam mu beta s'.
Proof.
  intros N lam mu alpha beta M M' H s s' Hs.
  pose proof (total_pos N lam mu alpha M) as ZA. pose proof (total_pos N lam mu beta M') as ZB.
  unfold law. set (A := sumn (S N) (weight lam mu alpha)) in *. set (B := sumn (S N) (weight lam mu beta)) in *.
  rewrite !(weight_product lam mu alpha), !(weight_product lam mu beta).
  set (w := weight lam mu (fun _ => 1)).
  assert (W0 : forall k, (k <= N)%nat -> 0 <= w k).
  { intros k Hk. unfold w. destruct M as (Hl & _ & Hm & _). clear - Hl Hm Hk. induction k; simpl; [lra|].
    apply Rmult_le_pos; [apply IHk; lia|]. pose proof (Hm (S k) ltac:(lia)).
    left. apply Rdiv_lt_0_compat; lra. }
  assert (AB : forall k, 0 <= alpha k <= beta k).
  { intros k. split; [|apply H]. destruct M as (_ & _ & _ & Ha & _). apply Ha. }
  pose proof (product_ratio alpha beta s (s' - s) AB) as [_ K]. replace (s + (s' - s))%nat with s' in K by lia.
  replace (w s' * prodn s' alpha / A * (w s * prodn s beta / B))
    with (w s' * w s / (A * B) * (prodn s' alpha * prodn s beta)) by (field; lra).
  replace (w s * prodn s alpha / A * (w s' * prodn s' beta / B))
    with (w s' * w s / (A * B) * (prodn s alpha * prodn s' beta)) by (field; lra).
  apply Rmult_le_compat_l; [|exact K]. unfold Rdiv.
  apply Rmult_le_pos; [apply Rmult_le_pos; apply W0; lia|].
  left. apply Rinv_0_lt_compat, Rmult_lt_0_compat; auto.
Qed.
Theorem every_level : forall N lam mu alpha beta, model N lam mu alpha -> model N lam mu beta ->
  (forall k, alpha k <= beta k) -> forall k,
  sumn (S N) (fun s => if (k <=? s)%nat then law N lam mu alpha s else 0)
  <= sumn (S N) (fun s => if (k <=? s)%nat then law N lam mu beta s else 0).
Proof.
  intros N lam mu alpha beta M M' H k.
  set (na := law N lam mu alpha). set (nb := law N lam mu beta).
  set (up := fun nu : nat -> R => sumn (S N) (fun s => if (k <=? s)%nat then nu s else 0)).
  set (lo := fun nu : nat -> R => sumn (S N) (fun s => if (k <=? s)%nat then 0 else nu s)).
  assert (Split : forall nu, up nu + lo nu = sumn (S N) nu).
  { intros nu. unfold up, lo. rewrite <- sumn_plus. apply sumn_ext. intros s _. destruct (k <=? s)%nat; ring. }
  pose proof (Split na) as SA. pose proof (Split nb) as SB.
  unfold na in SA at 3. unfold nb in SB at 3. rewrite law_sums_to_1 in SA by auto. rewrite law_sums_to_1 in SB by auto.
  assert (Prod : forall nu nu', up nu * lo nu' = sumn (S N) (fun s => sumn (S N) (fun t =>
    if (k <=? s)%nat then if (k <=? t)%nat then 0 else nu s * nu' t else 0))).
  { intros nu nu'. unfold up, lo. rewrite Rmult_comm, <- sumn_scal. apply sumn_ext. intros s _.
    destruct (k <=? s)%nat.
    - rewrite Rmult_comm, <- sumn_scal. apply sumn_ext. intros t _. destruct (k <=? t)%nat; ring.
    - rewrite sumn_const. ring. }
  assert (K : up na * lo nb <= up nb * lo na).
  { rewrite !Prod. apply sumn_le. intros s Hs. apply sumn_le. intros t Ht.
    destruct (Nat.leb_spec k s), (Nat.leb_spec k t); try lra. rewrite (Rmult_comm (nb s)).
    apply likelihood_ratio; auto; lia. }
  fold (up na). fold (up nb). replace (lo nb) with (1 - up nb) in K by lra. replace (lo na) with (1 - up na) in K by lra.
  lra.
Qed.

(** ** Nearest false statements: one server of rate 1, and jobs at rate 1 *)
Lemma one_threshold t : (t <= 1)%nat -> model 1 1 (one 1) (threshold t).
Proof. intros Ht. apply (threshold_model 1 1 (one 1) (threshold 1)); [apply one_model; lra|exact Ht]. Qed.

(** The mixture without the total weights: admit half of the arrivals at 0. *)
Definition half (s : nat) : R := match s with O => 1 / 2 | _ => 0 end.
Theorem mixture_without_weights_false : ~ (forall N lam mu alpha g Rj, model N lam mu alpha ->
  mean N (law N lam mu alpha) (cost lam g Rj alpha)
  = sumn (S N) (fun t => share alpha t * mean N (law N lam mu (threshold t)) (cost lam g Rj (threshold t)))).
Proof.
  intros F. assert (M : model 1 1 (one 1) half).
  { split; [lra|]. split; [reflexivity|]. split; [intros [|s] Hs; [lia|simpl; lra]|].
    split; [intros [|s]; simpl; lra|reflexivity]. }
  specialize (F 1%nat 1 (one 1) half 1 0 M). unfold mean, law, cost, threshold, share, half in F. simpl in F. lra.
Qed.
(** A job that is not rejected, but leaves at the rate of the next state. *)
Theorem cost_of_next_state_false : ~ (forall N lam mu alpha g Rj, model N lam mu alpha ->
  mean N (law N lam mu alpha) (cost lam g Rj alpha)
  = mean N (law N lam mu alpha) (fun s => g * INR s + (lam - mu (S s)) * Rj)).
Proof.
  intros F. specialize (F 1%nat 1 (one 1) (threshold 1) 0 1 (one_threshold 1 (le_n 1))).
  unfold mean, law, cost, threshold in F. simpl in F. lra.
Qed.
(** The numbers of jobs themselves do not all become more likely: reject all, or admit at 0. *)
Theorem ratio_reversed_false : ~ (forall N lam mu alpha beta, model N lam mu alpha -> model N lam mu beta ->
  (forall k, alpha k <= beta k) -> forall s s', (s <= s' <= N)%nat ->
  law N lam mu alpha s * law N lam mu beta s' <= law N lam mu alpha s' * law N lam mu beta s).
Proof.
  intros F. specialize (F 1%nat 1 (one 1) _ _ (one_threshold 0 (le_0_n 1)) (one_threshold 1 (le_n 1))).
  specialize (F ltac:(intros [|k]; unfold threshold; simpl; lra) 0%nat 1%nat ltac:(lia)).
  unfold law, threshold in F. simpl in F. lra.
Qed.
Theorem every_number_false : ~ (forall N lam mu alpha beta, model N lam mu alpha -> model N lam mu beta ->
  (forall k, alpha k <= beta k) -> forall k, (k <= N)%nat -> law N lam mu alpha k <= law N lam mu beta k).
Proof.
  intros F. specialize (F 1%nat 1 (one 1) _ _ (one_threshold 0 (le_0_n 1)) (one_threshold 1 (le_n 1))).
  specialize (F ltac:(intros [|k]; unfold threshold; simpl; lra) 0%nat ltac:(lia)).
  unfold law, threshold in F. simpl in F. lra.
Qed.
