(** * The costs of two models: admission.perturbation_identity

    Jobs arrive at rate [lam] and are admitted with probability [alpha s] when s are present; one
    leaves at rate [mu s].  No more than [N] are ever present.  Everything is for any N and any
    sum-policy. *)

From Coq Require Import Reals Lra Lia Arith.
From Book Require Export Sums.
Open Scope R_scope.

(** ** Definitions *)

(** What is asked of a model.  [alpha] may be 0 anywhere, and is 0 at [N]. *)
Definition model (N : nat) (lam : R) (mu alpha : nat -> R) : Prop :=
  0 < lam /\ mu 0%nat = 0 /\ (forall s, (1 <= s <= N)%nat -> 0 < mu s)
  /\ (forall s, 0 <= alpha s <= 1) /\ alpha N = 0.

(** The stationary law: proportional to the product of lam alpha(k) / mu(k+1) over k < s. *)
Fixpoint weight (lam : R) (mu alpha : nat -> R) (s : nat) : R :=
  match s with O => 1 | S k => weight lam mu alpha k * (lam * alpha k / mu (S k)) end.
Definition law (N : nat) (lam : R) (mu alpha : nat -> R) (s : nat) : R :=
  weight lam mu alpha s / sumn (S N) (weight lam mu alpha).
(** Holding [g] for each job and unit of time, [Rj] for each job rejected. *)
Definition cost (lam g Rj : R) (alpha : nat -> R) (s : nat) : R := g * INR s + lam * Rj * (1 - alpha s).
Definition mean (N : nat) (nu c : nat -> R) : R := sumn (S N) (fun s => nu s * c s).
(** The increments [d] of the bias, d(s) = h(s) - h(s-1), solve the equation of the mean cost [x].
    *)
Definition increments (N : nat) (lam : R) (mu alpha c : nat -> R) (x : R) (d : nat -> R) : Prop :=
  forall s, (s <= N)%nat -> x = c s + lam * alpha s * d (S s) - mu s * d s.
(** P(X >= s), and the part of the mean cost that comes from there. *)
Definition upper_part (N : nat) (nu f : nat -> R) (s : nat) : R :=
  sumn (S N) (fun j => if (s <=? j)%nat then nu j * f j else 0).
Definition threshold (theta : nat) (s : nat) : R := if (s <? theta)%nat then 1 else 0.

(** ** The stationary law *)

Section One.
Variables (N : nat) (lam : R) (mu alpha : nat -> R).
Hypothesis ok : model N lam mu alpha.
Local Notation nu := (law N lam mu alpha).

Lemma weight_nonneg s : (s <= N)%nat -> 0 <= weight lam mu alpha s.
Proof.
  destruct ok as (Hl & _ & Hm & Ha & _). induction s; intros Hs; simpl; [lra|].
  apply Rmult_le_pos; [apply IHs; lia|]. unfold Rdiv. pose proof (Hm (S s) ltac:(lia)).
  apply Rmult_le_pos; [apply Rmult_le_pos; [lra|apply Ha]|left; apply Rinv_0_lt_compat; auto].
Qed.
Lemma total_pos : 0 < sumn (S N) (weight lam mu alpha).
Proof.
  rewrite sumn_first. simpl weight at 1.
  assert (0 <= sumn N (fun k => weight lam mu alpha (S k))); [|lra].
  apply sumn_nonneg. intros j Hj. apply weight_nonneg; lia.
Qed.
Lemma law_nonneg s : (s <= N)%nat -> 0 <= nu s.
Proof.
  intros Hs. unfold law, Rdiv. apply Rmult_le_pos; [apply weight_nonneg; auto|].
  left; apply Rinv_0_lt_compat, total_pos.
Qed.
Lemma law_0_pos : 0 < nu 0.
Proof. unfold law. simpl weight at 1. apply Rdiv_lt_0_compat; [lra|apply total_pos]. Qed.

Theorem law_sums_to_1 : sumn (S N) nu = 1.
Proof.
  rewrite (sumn_ext (S N) nu (fun s => / sumn (S N) (weight lam mu alpha) * weight lam mu alpha s))
    by (intros; unfold law, Rdiv; ring).
  rewrite sumn_scal. apply Rinv_l, Rgt_not_eq, total_pos.
Qed.
(** Detailed balance, which for a chain on a line is stationarity. *)
Theorem law_balance : forall s, (s < N)%nat -> lam * alpha s * nu s = mu (S s) * nu (S s).
Proof.
  intros s Hs. destruct ok as (_ & _ & Hm & _). pose proof (Hm (S s) ltac:(lia)).
  pose proof total_pos. unfold law.
  change (weight lam mu alpha (S s)) with (weight lam mu alpha s * (lam * alpha s / mu (S s))). field. lra.
Qed.

(** The law above is the stationary one, and there is no other: numbers that add up to 1 leave each
    state as often as they enter it exactly if they are this law.  Proof: what flows up from s and down
    from s + 1 is equal at 0, and then at each s, by the balance of s; so each number is the one
    below times lam alpha(s) / mu(s+1), and the sum fixes the first. *)
Definition balanced (p : nat -> R) : Prop := forall s, (s <= N)%nat ->
  p s * (lam * alpha s + mu s) =
    match s with O => 0 | S k => p k * (lam * alpha k) end
    + (if (s <? N)%nat then p (S s) * mu (S s) else 0).
Theorem law_is_stationary : forall p,
  (sumn (S N) p = 1 /\ balanced p) <-> (forall s, (s <= N)%nat -> p s = nu s).
Proof.
  intros p. pose proof ok as (_ & H0 & Hm & _ & HN). split.
  - intros [H1 B].
    assert (F : forall s, (s < N)%nat -> p s * (lam * alpha s) = p (S s) * mu (S s)).
    { intros s Hs. pose proof (B s ltac:(lia)) as E. destruct (Nat.ltb_spec s N) as [_|]; [|lia].
      induction s as [|k IH]; [rewrite H0 in E; lra|].
      pose proof (B k ltac:(lia)) as Ek. destruct (Nat.ltb_spec k N) as [_|]; [|lia].
      specialize (IH ltac:(lia) Ek). lra. }
    assert (W : forall s, (s <= N)%nat -> p s = p 0%nat * weight lam mu alpha s).
    { induction s; intros Hs; [simpl; ring|]. pose proof (F s Hs) as E. pose proof (Hm (S s) ltac:(lia)).
      cbn [weight]. rewrite IHs in E by lia. apply (Rmult_eq_reg_r (mu (S s))); [|lra].
      rewrite <- E. field. lra. }
    rewrite (sumn_ext (S N) p (fun s => p 0%nat * weight lam mu alpha s)) in H1 by (intros; apply W; lia).
    rewrite sumn_scal in H1. intros s Hs. rewrite W by auto. unfold law. pose proof total_pos.
    apply (Rmult_eq_reg_r (sumn (S N) (weight lam mu alpha))); [|lra].
    replace (p 0%nat * weight lam mu alpha s * sumn (S N) (weight lam mu alpha))
      with (weight lam mu alpha s * (p 0%nat * sumn (S N) (weight lam mu alpha))) by ring.
    rewrite H1. field. lra.
  - intros E. split.
    + rewrite (sumn_ext (S N) p nu) by (intros; apply E; lia). apply law_sums_to_1.
    + intros s Hs. rewrite E by auto. destruct (Nat.ltb_spec s N) as [HsN|HsN].
      * rewrite (E (S s)) by lia. pose proof (law_balance s HsN). destruct s as [|k]; [rewrite H0; lra|].
        rewrite (E k) by lia. pose proof (law_balance k ltac:(lia)). lra.
      * assert (Z : alpha s = 0) by (replace s with N by lia; exact HN). rewrite Z.
        destruct s as [|k]; [rewrite H0; lra|].
        rewrite (E k) by lia. pose proof (law_balance k ltac:(lia)). lra.
Qed.

(** ** Any numbers e: the mean of lam alpha(s) e(s+1) - mu(s) e(s) is 0

    Partial sums telescope to lam alpha(n) nu(n) e(n+1), and alpha(N) = 0. *)
Lemma partial_sum e n : (n <= N)%nat ->
  sumn (S n) (fun s => nu s * (lam * alpha s * e (S s) - mu s * e s)) = lam * alpha n * nu n * e (S n).
Proof.
  destruct ok as (_ & H0 & _). induction n; intros Hn; cbn [sumn].
  - rewrite H0. ring.
  - cbn [sumn] in IHn. rewrite IHn by lia. rewrite (law_balance n) by lia. ring.
Qed.
Theorem stationary_mean : forall e,
  sumn (S N) (fun s => nu s * (lam * alpha s * e (S s) - mu s * e s)) = 0.
Proof. intros e. rewrite partial_sum by lia. destruct ok as (_ & _ & _ & _ & HN). rewrite HN. ring. Qed.

(** ** Increments: there are some, they are unique, and only for the mean cost *)

(** Downwards from the top: the equation in state s gives d(s) from d(s+1). [down c x k] is d(N + 1
    - k). *)
Fixpoint down (c : nat -> R) (x : R) (k : nat) : R :=
  match k with
  | O => 0
  | S j => (c (N - j)%nat - x + lam * alpha (N - j)%nat * down c x j) / mu (N - j)%nat
  end.
Theorem increments_exist : forall c, exists d, increments N lam mu alpha c (mean N nu c) d.
Proof.
  intros c. set (x := mean N nu c). set (d := fun s => down c x (S N - s)). exists d.
  destruct ok as (Hl & H0 & Hm & _).
  assert (Pos : forall s, (1 <= s <= N)%nat -> x = c s + lam * alpha s * d (S s) - mu s * d s).
  { intros s Hs. unfold d. replace (S N - s)%nat with (S (N - s)) by lia.
    replace (S N - S s)%nat with (N - s)%nat by lia. cbn [down].
    replace (N - (N - s))%nat with s by lia. pose proof (Hm s Hs). field. lra. }
  intros s Hs. destruct s; [|apply Pos; lia].
  (* the equation at 0 follows from those above it, because x is the mean *)
  pose proof (stationary_mean d) as T. pose proof law_sums_to_1 as L1.
  assert (E : sumn (S N) (fun s => nu s * (c s - x)) = 0).
  { rewrite (sumn_ext (S N) _ (fun s => nu s * c s + - x * nu s)) by (intros; ring).
    rewrite sumn_plus, sumn_scal, L1. fold (mean N nu c). fold x. ring. }
  rewrite sumn_first in T, E.
  assert (F : sumn N (fun k => nu (S k) * (c (S k) - x))
            = -1 * sumn N (fun k => nu (S k) * (lam * alpha (S k) * d (S (S k)) - mu (S k) * d (S k)))).
  { rewrite <- sumn_scal. apply sumn_ext. intros k Hk. pose proof (Pos (S k) ltac:(lia)) as P.
    replace (c (S k) - x) with (-1 * (lam * alpha (S k) * d (S (S k)) - mu (S k) * d (S k))) by lra. ring. }
  assert (Z : nu 0 * (c 0%nat - x + (lam * alpha 0%nat * d 1%nat - mu 0%nat * d 0%nat)) = 0) by lra.
  apply Rmult_integral in Z. pose proof law_0_pos. lra.
Qed.
Theorem gain_is_mean : forall c x d, increments N lam mu alpha c x d -> x = mean N nu c.
Proof.
  intros c x d H. pose proof (stationary_mean d) as T. pose proof law_sums_to_1 as L.
  assert (E : x * sumn (S N) nu = mean N nu c
    + sumn (S N) (fun s => nu s * (lam * alpha s * d (S s) - mu s * d s))).
  { unfold mean. rewrite <- sumn_scal, <- sumn_plus. apply sumn_ext. intros s Hs.
    pose proof (H s ltac:(lia)) as P. replace (x * nu s) with (nu s * x) by ring. rewrite P. ring. }
  rewrite L, T in E. lra.
Qed.
Theorem increments_unique : forall c x d d', increments N lam mu alpha c x d ->
  increments N lam mu alpha c x d' -> forall s, (1 <= s <= N)%nat -> d s = d' s.
Proof.
  intros c x d d' H H'. destruct ok as (_ & _ & Hm & _ & HN).
  assert (K : forall k s, (k + s = N)%nat -> (1 <= s)%nat -> d s = d' s).
  { induction k; intros s E Hs; pose proof (H s ltac:(lia)) as P; pose proof (H' s ltac:(lia)) as P';
      pose proof (Hm s ltac:(lia)); apply (Rmult_eq_reg_l (mu s)); try lra.
    - replace s with N in * by lia. rewrite HN in *. lra.
    - rewrite (IHk (S s)) in P by lia. lra. }
  intros s Hs. apply (K (N - s)%nat); lia.
Qed.

(** ** Item 1: increments are covariances

    Multiply the equation in state j by nu(j) and add up over j >= s: flows cancel except mu(s)
    nu(s) d(s). *)
Lemma tail_step f s : (s <= N)%nat -> upper_part N nu f s = nu s * f s + upper_part N nu f (S s).
Proof.
  intros Hs. unfold upper_part. rewrite <- (sumn_ind (S N) s (nu s * f s)) by lia. rewrite <- sumn_plus.
  apply sumn_ext. intros j Hj.
  destruct (Nat.eqb_spec s j) as [E|E], (Nat.leb_spec s j), (Nat.leb_spec (S s) j); subst; try lia; ring.
Qed.
Lemma tail_top f s : (N < s)%nat -> upper_part N nu f s = 0.
Proof.
  intros Hs. unfold upper_part. rewrite (sumn_ext (S N) _ (fun _ => 0)); [rewrite sumn_const; ring|].
  intros j Hj. destruct (Nat.leb_spec s j); [lia|reflexivity].
Qed.
Lemma tail_0 f : upper_part N nu f 0 = mean N nu f.
Proof. reflexivity. Qed.
Theorem increments_covariance : forall c d, increments N lam mu alpha c (mean N nu c) d ->
  forall s, (1 <= s <= N)%nat ->
  mu s * nu s * d s = upper_part N nu c s - upper_part N nu (fun _ => 1) s * mean N nu c.
Proof.
  intros c d H. destruct ok as (_ & _ & Hm & _ & HN).
  assert (K : forall k s, (k + s = N)%nat ->
    mu s * nu s * d s = upper_part N nu c s - upper_part N nu (fun _ => 1) s * mean N nu c).
  { induction k; intros s E; pose proof (H s ltac:(lia)) as P; rewrite !(tail_step _ s) by lia.
    - replace s with N in * by lia. rewrite HN in P. rewrite !tail_top by lia.
      replace (mu N * nu N * d N) with (nu N * (mu N * d N)) by ring.
      replace (mu N * d N) with (c N - mean N nu c) by lra. ring.
    - pose proof (IHk (S s) ltac:(lia)) as I. rewrite <- (law_balance s) in I by lia.
      replace (mu s * nu s * d s) with (nu s * (mu s * d s)) by ring.
      replace (mu s * d s) with (c s - mean N nu c + lam * alpha s * d (S s)) by lra. lra. }
  intros s Hs. apply (K (N - s)%nat); lia.
Qed.

(** A nondecreasing cost: each tail lies between its least and its largest cost. *)
Theorem covariance_bounds : forall c d, increments N lam mu alpha c (mean N nu c) d ->
  (forall i j, (i <= j <= N)%nat -> c i <= c j) -> forall s, (1 <= s <= N)%nat ->
  let p := upper_part N nu (fun _ => 1) s in
  0 <= mu s * nu s * d s <= (c N - c 0%nat) * p * (1 - p).
Proof.
  intros c d H Hc s Hs p. rewrite (increments_covariance c d H s Hs). fold p.
  set (A := upper_part N nu c s).
  set (q := sumn (S N) (fun j => if (s <=? j)%nat then 0 else nu j)).
  set (B := sumn (S N) (fun j => if (s <=? j)%nat then 0 else nu j * c j)).
  assert (Eq : p + q = 1).
  { unfold p, q, upper_part. rewrite <- sumn_plus. etransitivity; [|apply law_sums_to_1]. apply sumn_ext. intros j _.
    destruct (s <=? j)%nat; ring. }
  assert (EB : A + B = mean N nu c).
  { unfold A, B, upper_part, mean. rewrite <- sumn_plus. apply sumn_ext. intros j _. destruct (s <=? j)%nat; ring. }
  assert (Tail : forall x f, (forall j, (s <= j <= N)%nat -> 0 <= x * (f j - c j)) ->
    0 <= sumn (S N) (fun j => if (s <=? j)%nat then nu j * (x * (f j - c j)) else 0)).
  { intros x f Hx. apply sumn_nonneg. intros j Hj. destruct (Nat.leb_spec s j); [|lra].
    apply Rmult_le_pos; [apply law_nonneg; lia|apply Hx; lia]. }
  assert (A1 : c s * p <= A).
  { unfold A, p, upper_part. rewrite <- sumn_scal. apply sumn_le. intros j Hj. destruct (Nat.leb_spec s j); [|lra].
    pose proof (law_nonneg j ltac:(lia)). pose proof (Hc s j ltac:(lia)).
    replace (c s * (nu j * 1)) with (nu j * c s) by ring. apply Rmult_le_compat_l; lra. }
  assert (A2 : A <= c N * p).
  { unfold A, p, upper_part. rewrite <- sumn_scal. apply sumn_le. intros j Hj. destruct (Nat.leb_spec s j); [|lra].
    pose proof (law_nonneg j ltac:(lia)). pose proof (Hc j N ltac:(lia)).
    replace (c N * (nu j * 1)) with (nu j * c N) by ring. apply Rmult_le_compat_l; lra. }
  assert (B1 : c 0%nat * q <= B).
  { unfold B, q. rewrite <- sumn_scal. apply sumn_le. intros j Hj. destruct (Nat.leb_spec s j); [lra|].
    pose proof (law_nonneg j ltac:(lia)). pose proof (Hc 0%nat j ltac:(lia)).
    rewrite (Rmult_comm (c 0%nat)). apply Rmult_le_compat_l; lra. }
  assert (B2 : B <= c s * q).
  { unfold B, q. rewrite <- sumn_scal. apply sumn_le. intros j Hj. destruct (Nat.leb_spec s j); [lra|].
    pose proof (law_nonneg j ltac:(lia)). pose proof (Hc j s ltac:(lia)).
    rewrite (Rmult_comm (c s)). apply Rmult_le_compat_l; lra. }
  assert (P0 : 0 <= p).
  { unfold p, upper_part. apply sumn_nonneg. intros j Hj. destruct (s <=? j)%nat; [|lra].
    rewrite Rmult_1_r. apply law_nonneg; lia. }
  assert (Q0 : 0 <= q).
  { unfold q. apply sumn_nonneg. intros j Hj. destruct (s <=? j)%nat; [lra|]. apply law_nonneg; lia. }
  rewrite <- EB. replace (A - p * (A + B)) with (q * A - p * B) by (replace q with (1 - p) by lra; ring).
  replace (1 - p) with q by lra.
  assert (q * (c s * p) <= q * A) by (apply Rmult_le_compat_l; lra).
  assert (q * A <= q * (c N * p)) by (apply Rmult_le_compat_l; lra).
  assert (p * (c 0%nat * q) <= p * B) by (apply Rmult_le_compat_l; lra).
  assert (p * B <= p * (c s * q)) by (apply Rmult_le_compat_l; lra).
  split; lra.
Qed.
End One.

(** Without the sum of 1 it is false: all numbers 0, and no state but 0. *)
Theorem stationary_without_sum_false : ~ (forall N lam mu alpha, model N lam mu alpha ->
  forall p, balanced N lam mu alpha p -> forall s, (s <= N)%nat -> p s = law N lam mu alpha s).
Proof.
  intros F.
  assert (M : model 0 1 INR (fun _ => 0)).
  { split; [lra|]. split; [reflexivity|]. split; [intros; lia|]. split; [intros; lra|reflexivity]. }
  assert (B : balanced 0 1 INR (fun _ => 0) (fun _ => 0)).
  { intros s Hs. replace s with 0%nat by lia. simpl. ring. }
  pose proof (F _ _ _ _ M _ B 0%nat ltac:(lia)) as E. unfold law in E. simpl in E. lra.
Qed.

(** ** Item 2: the difference of two models, exactly

    Take the mean of the second model's equation under the law of the first; add 0 =
    [stationary_mean]. *)
Theorem perturbation_identity : forall N lam lam' mu mu' alpha g Rj e,
  model N lam mu alpha -> model N lam' mu' alpha ->
  let nu := law N lam mu alpha in
  let c := cost lam g Rj alpha in
  let c' := cost lam' g Rj alpha in
  let x' := mean N (law N lam' mu' alpha) c' in
  increments N lam' mu' alpha c' x' e ->
  mean N nu c - x' =
    sumn (S N) (fun s => nu s * ((lam - lam') * (alpha s * e (S s) + (1 - alpha s) * Rj)
                                 + (mu' s - mu s) * e s)).
Proof.
  intros N lam lam' mu mu' alpha g Rj e M M' nu c c' x' H.
  pose proof (stationary_mean N lam mu alpha M e) as T. fold nu in T.
  pose proof (law_sums_to_1 N lam mu alpha M) as L. fold nu in L.
  replace (mean N nu c - x') with (mean N nu c + - x' * sumn (S N) nu
    + sumn (S N) (fun s => nu s * (lam * alpha s * e (S s) - mu s * e s))) by (rewrite L, T; ring).
  unfold mean at 1. rewrite <- sumn_scal, <- !sumn_plus. apply sumn_ext. intros s Hs.
  rewrite (H s) by lia. unfold c, c', cost. ring.
Qed.

(** ** Item 3: faster service and fewer arrivals cost less, for thresholds

    Under a threshold the cost grows with the state, so all increments it visits are >= 0. *)
Lemma threshold_01 theta s : 0 <= threshold theta s <= 1.
Proof. unfold threshold. destruct (s <? theta)%nat; lra. Qed.
Lemma threshold_cost theta lam g Rj i j : 0 <= lam -> 0 <= g -> 0 <= Rj -> (i <= j)%nat ->
  cost lam g Rj (threshold theta) i <= cost lam g Rj (threshold theta) j.
Proof.
  intros Hl Hg HR Hij. unfold cost. apply Rplus_le_compat.
  - apply Rmult_le_compat_l; [auto|apply le_INR; auto].
  - apply Rmult_le_compat_l; [apply Rmult_le_pos; auto|]. unfold threshold.
    destruct (Nat.ltb_spec i theta), (Nat.ltb_spec j theta); try lia; lra.
Qed.
Lemma weight_threshold lam mu theta s : (theta < s)%nat -> weight lam mu (threshold theta) s = 0.
Proof.
  intros H. induction s; [lia|]. simpl. destruct (Nat.eq_dec s theta) as [->|].
  - unfold threshold at 2. destruct (Nat.ltb_spec theta theta); [lia|]. unfold Rdiv; ring.
  - rewrite IHs by lia. ring.
Qed.
Lemma weight_below lam mu theta N s : model N lam mu (threshold theta) -> (s <= N)%nat -> (s <= theta)%nat ->
  0 < weight lam mu (threshold theta) s.
Proof.
  intros M. destruct M as (Hl & _ & Hm & _). induction s; intros HN Ht; simpl; [lra|].
  apply Rmult_lt_0_compat; [apply IHs; lia|]. unfold threshold. destruct (Nat.ltb_spec s theta); [|lia].
  apply Rdiv_lt_0_compat; [lra|apply Hm; lia].
Qed.
Theorem faster_is_cheaper : forall N lam lam' mu mu' theta g Rj,
  model N lam mu (threshold theta) -> model N lam' mu' (threshold theta) ->
  0 <= g -> 0 <= Rj -> lam' <= lam -> (forall s, (1 <= s <= N)%nat -> mu s <= mu' s) ->
  mean N (law N lam' mu' (threshold theta)) (cost lam' g Rj (threshold theta))
    <= mean N (law N lam mu (threshold theta)) (cost lam g Rj (threshold theta)).
Proof.
  intros N lam lam' mu mu' theta g Rj M M' Hg HR Hl Hm.
  set (alpha := threshold theta) in *. set (c' := cost lam' g Rj alpha).
  destruct (increments_exist N lam' mu' alpha M' c') as (e & He).
  pose proof (perturbation_identity N lam lam' mu mu' alpha g Rj e M M' He) as D. cbv zeta in D. fold c' in D.
  assert (E0 : forall s, (1 <= s <= N)%nat -> (s <= theta)%nat -> 0 <= e s).
  { intros s Hs Ht.
    assert (Hmon : forall i j, (i <= j <= N)%nat -> c' i <= c' j).
    { intros i j Hij. apply threshold_cost; try lia; try lra. destruct M' as (Hl' & _). lra. }
    pose proof (covariance_bounds N lam' mu' alpha M' c' e He Hmon s Hs) as [C _].
    assert (0 < law N lam' mu' alpha s).
    { unfold law. apply Rdiv_lt_0_compat; [apply (weight_below _ _ _ N); auto; lia|apply total_pos; auto]. }
    destruct M' as (_ & _ & Hm' & _). pose proof (Hm' s Hs).
    assert (0 < mu' s * law N lam' mu' alpha s) by (apply Rmult_lt_0_compat; auto).
    destruct (Rle_lt_dec 0 (e s)); [auto|exfalso]. nra. }
  assert (0 <= mean N (law N lam mu alpha) (cost lam g Rj alpha) - mean N (law N lam' mu' alpha) c'); [|lra].
  rewrite D. apply sumn_nonneg. intros s Hs.
  pose proof (law_nonneg N lam mu alpha M s ltac:(lia)) as Hnu.
  destruct (le_lt_dec s theta) as [Ht|Ht].
  - apply Rmult_le_pos; [auto|]. apply Rplus_le_le_0_compat.
    + apply Rmult_le_pos; [lra|]. apply Rplus_le_le_0_compat.
      * destruct (Nat.eq_dec s N) as [->|].
        -- destruct M as (_ & _ & _ & _ & HN). rewrite HN. lra.
        -- unfold alpha, threshold. destruct (Nat.ltb_spec s theta); [|lra].
           rewrite Rmult_1_l. apply E0; lia.
      * pose proof (threshold_01 theta s). fold alpha in H. apply Rmult_le_pos; lra.
    + destruct s.
      * destruct M as (_ & Z & _). destruct M' as (_ & Z' & _). rewrite Z, Z'. lra.
      * pose proof (Hm (S s) ltac:(lia)). pose proof (E0 (S s) ltac:(lia) Ht). apply Rmult_le_pos; lra.
  - pose proof (weight_threshold lam mu theta s Ht) as Z. fold alpha in Z.
    unfold law. rewrite Z. unfold Rdiv. lra.
Qed.

(** ** Item 4: one server, and the nearest false statements *)

Definition one (r : R) (s : nat) : R := match s with O => 0 | _ => r end.
Lemma one_model r : 0 < r -> model 1 1 (one r) (threshold 1).
Proof.
  intros Hr. repeat split; try lra; try (intros; apply threshold_01).
  - intros s Hs. destruct s; [lia|]. exact Hr.
Qed.
Definition mean_one (r : R) : R := mean 1 (law 1 1 (one r) (threshold 1)) (cost 1 1 0 (threshold 1)).
Theorem one_server_example : mean_one 1 - mean_one 2 = 1 / 6.
Proof. unfold mean_one, mean, law, cost, threshold; simpl. field. Qed.
Theorem one_server_mixture : forall d,
  increments 1 1 (one 1) (threshold 1) (cost 1 1 0 (threshold 1)) (mean_one 1) d ->
  sumn 2 (fun s => law 1 1 (one 1) (threshold 1) s
    * ((1 - 1) * (threshold 1 s * d (S s) + (1 - threshold 1 s) * 0) + (one 2 s - one 1 s) * d s)) = 1 / 4.
Proof.
  intros d H. pose proof (H 1%nat ltac:(lia)) as P. unfold mean_one, mean, law, cost, threshold in *.
  simpl in *. replace (d 1%nat) with (1 / 2); [field|]. field_simplify in P. lra.
Qed.
(** The law and the increments of the same model: false, by that example (1/4 is not 1/6). *)
Theorem perturbation_same_model_false : ~ (forall N lam lam' mu mu' alpha g Rj d,
  model N lam mu alpha -> model N lam' mu' alpha ->
  increments N lam mu alpha (cost lam g Rj alpha) (mean N (law N lam mu alpha) (cost lam g Rj alpha)) d ->
  mean N (law N lam mu alpha) (cost lam g Rj alpha)
    - mean N (law N lam' mu' alpha) (cost lam' g Rj alpha) =
    sumn (S N) (fun s => law N lam mu alpha s * ((lam - lam') * (alpha s * d (S s) + (1 - alpha s) * Rj)
                                 + (mu' s - mu s) * d s))).
Proof.
  intros F. destruct (increments_exist 1 1 (one 1) (threshold 1) (one_model 1 ltac:(lra)) (cost 1 1 0 (threshold 1)))
    as (d & Hd).
  pose proof (F 1%nat 1 1 (one 1) (one 2) (threshold 1) 1 0 d (one_model 1 ltac:(lra)) (one_model 2 ltac:(lra)) Hd) as E.
  pose proof (one_server_mixture d Hd) as X. rewrite X in E. pose proof one_server_example as Y.
  unfold mean_one in Y. lra.
Qed.

(** Item 3 for every sum-policy: false.  Reject half of the arrivals at 0 and none at 1, where the
    second job leaves at rate 10: faster service of a single job means more time at 0, hence more
    rejections. *)
Definition hasty (s : nat) : R := match s with O => 1 / 2 | 1%nat => 1 | _ => 0 end.
Definition two (r : R) (s : nat) : R := match s with O => 0 | 1%nat => r | _ => 10 end.
Theorem faster_is_not_always_cheaper : ~ (forall N lam lam' mu mu' alpha g Rj,
  model N lam mu alpha -> model N lam' mu' alpha ->
  0 <= g -> 0 <= Rj -> lam' <= lam -> (forall s, (1 <= s <= N)%nat -> mu s <= mu' s) ->
  mean N (law N lam' mu' alpha) (cost lam' g Rj alpha) <= mean N (law N lam mu alpha) (cost lam g Rj alpha)).
Proof.
  intros F.
  assert (M : forall r, 0 < r -> model 2 1 (two r) hasty).
  { intros r Hr. split; [lra|]. split; [reflexivity|]. split; [|split; [|reflexivity]].
    - intros [|[|s]] Hs; [lia|exact Hr|simpl; lra].
    - intros [|[|s]]; simpl; lra. }
  specialize (F 2%nat 1 1 (two 1) (two 2) hasty 0 1 (M 1 ltac:(lra)) (M 2 ltac:(lra))).
  specialize (F ltac:(lra) ltac:(lra) ltac:(lra)).
  assert (E : forall s, (1 <= s <= 2)%nat -> two 1 s <= two 2 s) by (intros [|[|s]] Hs; simpl; lra).
  specialize (F E). unfold mean, law, cost in F. simpl in F. lra.
Qed.

(** Increments: false are another mean cost, the increment before state 0, an equation less, the
    states above s for those from s on, and a smaller constant. *)
Theorem other_gain_false : ~ (forall N lam mu alpha, model N lam mu alpha ->
  forall c, exists d, increments N lam mu alpha c (mean N (law N lam mu alpha) c + 1) d).
Proof.
  intros F. pose proof (one_model 1 ltac:(lra)) as M. destruct (F _ _ _ _ M (fun _ => 0)) as (d & H).
  apply (gain_is_mean _ _ _ _ M) in H. lra.
Qed.
Theorem unique_at_0_false : ~ (forall N lam mu alpha, model N lam mu alpha ->
  forall c x d d', increments N lam mu alpha c x d -> increments N lam mu alpha c x d' ->
  forall s, (s <= N)%nat -> d s = d' s).
Proof.
  intros F. pose proof (one_model 1 ltac:(lra)) as M.
  specialize (F _ _ _ _ M (fun _ => 0) 0 (fun _ => 0) (fun s => match s with O => 1 | _ => 0 end)).
  specialize (F ltac:(intros s _; ring)). specialize (F ltac:(intros [|s] _; simpl; ring) 0%nat ltac:(lia)).
  simpl in F. lra.
Qed.
Theorem equation_less_false : ~ (forall N lam mu alpha, model N lam mu alpha -> forall c x d,
  (forall s, (s < N)%nat -> x = c s + lam * alpha s * d (S s) - mu s * d s) ->
  x = mean N (law N lam mu alpha) c).
Proof.
  intros F. pose proof (one_model 1 ltac:(lra)) as M. specialize (F _ _ _ _ M (fun _ => 0) 1 (fun _ => 1)).
  assert (H : forall s, (s < 1)%nat -> 1 = 0 + 1 * threshold 1 s * 1 - one 1 s * 1).
  { intros [|s] Hs; [|lia]. unfold threshold. simpl. ring. }
  specialize (F H). unfold mean in F. simpl in F. lra.
Qed.
Lemma one_increment d : increments 1 1 (one 1) (threshold 1) (cost 1 1 0 (threshold 1)) (mean_one 1) d ->
  d 1%nat = 1 / 2.
Proof.
  intros H. pose proof (H 1%nat ltac:(lia)) as P. unfold mean_one, mean, law, cost, threshold in P. simpl in P. lra.
Qed.
Theorem states_above_false : ~ (forall N lam mu alpha, model N lam mu alpha ->
  let nu := law N lam mu alpha in
  forall c d, increments N lam mu alpha c (mean N nu c) d -> forall s, (1 <= s <= N)%nat ->
  mu s * nu s * d s = upper_part N nu c (S s) - upper_part N nu (fun _ => 1) (S s) * mean N nu c).
Proof.
  intros F. pose proof (one_model 1 ltac:(lra)) as M.
  destruct (increments_exist _ _ _ _ M (cost 1 1 0 (threshold 1))) as (d & H).
  specialize (F _ _ _ _ M _ d H 1%nat ltac:(lia)). rewrite (one_increment d H) in F.
  unfold upper_part, mean, law, cost, threshold in F. simpl in F. lra.
Qed.
Theorem smaller_bound_false : ~ (forall N lam mu alpha, model N lam mu alpha ->
  let nu := law N lam mu alpha in
  forall c d, increments N lam mu alpha c (mean N nu c) d ->
  (forall i j, (i <= j <= N)%nat -> c i <= c j) ->
  forall s, (1 <= s <= N)%nat -> let p := upper_part N nu (fun _ => 1) s in
  mu s * nu s * d s <= 99 / 100 * ((c N - c 0%nat) * p * (1 - p))).
Proof.
  intros F. pose proof (one_model 1 ltac:(lra)) as M.
  destruct (increments_exist _ _ _ _ M (cost 1 1 0 (threshold 1))) as (d & H).
  assert (C : forall i j, (i <= j <= 1)%nat -> cost 1 1 0 (threshold 1) i <= cost 1 1 0 (threshold 1) j)
    by (intros i j Hij; apply threshold_cost; lra || lia).
  specialize (F _ _ _ _ M _ d H C 1%nat ltac:(lia)). cbv zeta in F. rewrite (one_increment d H) in F.
  unfold upper_part, law, cost, threshold in F. simpl in F. lra.
Qed.
