(** * Steps of the contextual chapter: inequalities in one real variable

    contextual.mgf_step, contextual.elliptical_count, contextual.queue_tail,
    contextual.theorem_5_5. *)

From Coq Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
From Book Require Export Sums.
Open Scope R_scope.

(** ** contextual.mgf_step *)
Lemma sinh_nonneg h : 0 <= h -> 0 <= sinh h.
Proof.
  intros Hh. unfold sinh. destruct Hh as [Hh|<-].
  - assert (exp (- h) < exp h) by (apply exp_increasing; lra). lra.
  - rewrite Ropp_0. lra.
Qed.

(** cosh h - h sinh h <= exp(-h^2/2).  Proof: exp(h^2/2) times the left side has derivative
    -h^2 exp(h^2/2) sinh h <= 0 and is 1 at 0. *)
Theorem mgf_cosh : forall h, 0 <= h -> cosh h - h * sinh h <= exp (- ((h * h) / 2)).
Proof.
  intros h Hh.
  set (F := fun h => exp ((h * h) / 2) * ((exp h + exp (- h)) / 2 - h * ((exp h - exp (- h)) / 2))).
  set (F' := fun h => - ((h * h) * exp ((h * h) / 2) * ((exp h - exp (- h)) / 2))).
  assert (F0 : F 0 = 1). { unfold F. replace (0 * 0 / 2) with 0 by field. rewrite Ropp_0, exp_0. field. }
  assert (HF : F h <= 1).
  { destruct Hh as [Hh|<-]; [|lra].
    destruct (MVT_cor2 F F' 0 h Hh) as (c & E & Hc).
    - intros x _. apply is_derive_Reals. unfold F, F'. auto_derive; auto. unfold Rdiv; field.
    - rewrite F0 in E. assert (0 <= ((c * c) * exp ((c * c) / 2) * ((exp c - exp (- c)) / 2)) * (h - 0)).
      { apply Rmult_le_pos; [|lra]. apply Rmult_le_pos; [apply Rmult_le_pos; [nra|left; apply exp_pos]|].
        pose proof (sinh_nonneg c). unfold sinh in *. lra. }
      unfold F' in E. lra. }
  unfold F in HF. fold (cosh h) in HF. fold (sinh h) in HF.
  apply (Rmult_le_reg_l (exp ((h * h) / 2))); [apply exp_pos|].
  rewrite <- exp_plus, Rplus_opp_r, exp_0. exact HF.
Qed.

(** A step on {-1, 0, 1} with mean at most -h: its moment generating function at h is at most
    exp(-h^2/2). [a], [b]: the chances of -1 and 1.  Proof: the chord cosh h + x sinh h lies above
    exp(h x). *)
Theorem mgf_three_point : forall h a b, 0 <= h -> 0 <= a -> 0 <= b -> a + b <= 1 ->
  b - a <= - h ->
  a * exp (- h) + (1 - a - b) + b * exp h <= exp (- ((h * h) / 2)).
Proof.
  intros h a b Hh Ha Hb Hab Hm. eapply Rle_trans; [|apply (mgf_cosh h Hh)].
  pose proof (sinh_nonneg h Hh) as Hs. unfold cosh, sinh in *.
  assert (HE : exp (- h) * exp h = 1) by (rewrite <- exp_plus, Rplus_opp_l, exp_0; auto).
  pose proof (exp_pos h). pose proof (exp_pos (- h)).
  assert (2 <= exp h + exp (- h)) by nra.
  (* chord: each point lies below cosh h + x sinh h *)
  assert (a * exp (- h) + (1 - a - b) + b * exp h
     <= (exp h + exp (- h)) / 2 + (b - a) * ((exp h - exp (- h)) / 2)) by nra.
  nra.
Qed.

(** As the claim puts it, with eps for 2 h; and whatever the mean, at most exp(eps/2). *)
Theorem mgf_step : forall eps a b, 0 < eps <= 1 -> 0 <= a -> 0 <= b -> a + b <= 1 ->
  a * exp (- (eps / 2)) + (1 - a - b) + b * exp (eps / 2) <= exp (eps / 2)
  /\ (b - a <= - (eps / 2) ->
      a * exp (- (eps / 2)) + (1 - a - b) + b * exp (eps / 2) <= exp (- (eps * eps / 8))).
Proof.
  intros eps a b He Ha Hb Hab. split.
  - assert (exp (- (eps / 2)) <= exp 0) by (left; apply exp_increasing; lra).
    assert (exp 0 <= exp (eps / 2)) by (left; apply exp_increasing; lra). rewrite exp_0 in *. nra.
  - intros Hm. replace (eps * eps / 8) with (eps / 2 * (eps / 2) / 2) by field.
    apply mgf_three_point; lra.
Qed.
(** The exponent 1/6 for 1/8 is false: eps = 1, and -1 with chance 3/4, 1 with chance 1/4. *)
Theorem mgf_exponent_false : ~ (forall eps a b, 0 < eps <= 1 -> 0 <= a -> 0 <= b -> a + b <= 1 ->
  b - a <= - (eps / 2) ->
  a * exp (- (eps / 2)) + (1 - a - b) + b * exp (eps / 2) <= exp (- (eps * eps / 6))).
Proof.
  intros F. specialize (F 1 (3/4) (1/4) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)).
  set (x := exp (1 / 2)) in F.
  assert (E : exp (- (1 / 2)) * x = 1) by (unfold x; rewrite <- exp_plus, Rplus_opp_l, exp_0; auto).
  assert (0 < x) by apply exp_pos.
  set (y := exp (- (1 / 2))) in *. assert (0 < y) by apply exp_pos.
  pose proof (exp_ineq1_le (1 * 1 / 6)). pose proof (exp_pos (- (1 * 1 / 6))).
  assert (exp (- (1 * 1 / 6)) * exp (1 * 1 / 6) = 1) by (rewrite <- exp_plus, Rplus_opp_l, exp_0; auto).
  assert (exp (- (1 * 1 / 6)) <= 6 / 7) by nra.
  assert (6 / 7 < 3 / 4 * y + 1 / 4 * x); [|lra].
  (* (3y + x)^2 >= 12 x y = 12, and 24/7 < sqrt 12 *)
  destruct (Rlt_le_dec (6 / 7) (3 / 4 * y + 1 / 4 * x)) as [|N]; [auto|exfalso].
  assert (0 <= (3 * y - x) * (3 * y - x)) by apply Rle_0_sqr.
  assert ((3 * y + x) * (3 * y + x) <= 24 / 7 * (24 / 7)) by (apply Rmult_le_compat; lra). nra.
Qed.

(** ** Chebyshev's sum inequality, M falling and D rising

    n sum M D <= sum M sum D.  Induction on n; each new pair adds (M_i - M_n)(D_n - D_i) >= 0. *)
Theorem chebyshev_sum : forall n (M D : nat -> R),
  (forall i j, (i <= j < n)%nat -> M j <= M i) -> (forall i j, (i <= j < n)%nat -> D i <= D j) ->
  INR n * sumn n (fun i => M i * D i) <= sumn n M * sumn n D.
Proof.
  intros n M D. induction n; intros HM HD; [simpl; lra|].
  assert (IH : INR n * sumn n (fun i => M i * D i) <= sumn n M * sumn n D)
    by (apply IHn; intros; [apply HM|apply HD]; lia).
  assert (K : sumn n (fun i => M i * D i + M n * D n) <= sumn n (fun i => D n * M i + M n * D i)).
  { apply sumn_le. intros i Hi. assert (M n <= M i) by (apply HM; lia). assert (D i <= D n) by (apply HD; lia). nra. }
  rewrite !sumn_plus, !sumn_scal, sumn_const in K. rewrite S_INR. cbn [sumn].
  change (fun i => D i) with D in K. change (fun i => M i) with M in K. nra.
Qed.

(** In equal order it is false. *)
Theorem chebyshev_equal_order_false : ~ (forall n (M D : nat -> R),
  (forall i j, (i <= j < n)%nat -> M j <= M i) -> (forall i j, (i <= j < n)%nat -> D j <= D i) ->
  INR n * sumn n (fun i => M i * D i) <= sumn n M * sumn n D).
Proof.
  intros F. set (M := fun i : nat => match i with O => 1 | _ => 0 end).
  assert (H : forall i j, (i <= j < 2)%nat -> M j <= M i) by (intros [|i] [|j] Hij; simpl; try lia; lra).
  specialize (F 2%nat M M H H). unfold M in F. simpl in F. lra.
Qed.

(** ** contextual.elliptical_count

    min(1, y) <= 2 ln(1 + y). *)
Theorem min1_le_2ln : forall y, 0 <= y -> Rmin 1 y <= 2 * ln (1 + y).
Proof.
  intros y Hy.
  assert (H : exp (Rmin 1 y / 2) <= 1 + Rmin 1 y).
  { set (z := Rmin 1 y). assert (0 <= z <= 1) by (unfold z; split; [apply Rmin_glb; lra|apply Rmin_l]).
    pose proof (exp_ineq1_le (- (z / 2))). pose proof (exp_pos (z / 2)).
    assert (exp (- (z / 2)) * exp (z / 2) = 1) by (rewrite <- exp_plus, Rplus_opp_l, exp_0; auto).
    assert ((1 - z / 2) * exp (z / 2) <= 1) by nra. nra. }
  assert (Rmin 1 y <= y) by apply Rmin_r.
  assert (ln (exp (Rmin 1 y / 2)) <= ln (1 + y)).
  { assert (Hl : exp (Rmin 1 y / 2) <= 1 + y) by lra. destruct Hl as [Hl|Hl]; [left; apply ln_increasing; [apply exp_pos|auto]|right; rewrite Hl; auto]. }
  rewrite ln_exp in H1. lra.
Qed.

(** The sharp constant is 1/ln 2.  Proof: ln(1+y) is concave, so above its chord from 0 to 1. *)
Theorem min1_le_sharp : forall y, 0 <= y -> Rmin 1 y * ln 2 <= ln (1 + y).
Proof.
  intros y Hy.
  assert (M : forall a b, 0 < a -> a <= b -> ln a <= ln b).
  { intros a b Ha [H|H]; [left; apply ln_increasing; auto|right; rewrite H; auto]. }
  destruct (Rle_lt_dec 1 y) as [H1|H1].
  - rewrite Rmin_left by lra. rewrite Rmult_1_l. apply M; lra.
  - rewrite Rmin_right by lra. destruct Hy as [Hy|<-]; [|rewrite Rplus_0_r, ln_1; lra].
    (* two chords of a concave function: MVT on [0,y] and [y,1] *)
    destruct (MVT_cor2 (fun y => ln (1 + y)) (fun y => / (1 + y)) 0 y Hy) as (c & E & Hc).
    { intros x Hx. apply is_derive_Reals. auto_derive; [lra|field; lra]. }
    destruct (MVT_cor2 (fun y => ln (1 + y)) (fun y => / (1 + y)) y 1 H1) as (d & E' & Hd).
    { intros x Hx. apply is_derive_Reals. auto_derive; [lra|field; lra]. }
    rewrite Rplus_0_r, ln_1 in E. replace (1 + 1) with 2 in E' by lra.
    assert (/ (1 + d) <= / (1 + c)) by (apply Rinv_le_contravar; lra).
    assert (ln (1 + y) = / (1 + c) * y) by lra.
    set (A := / (1 + c)) in *. set (B := / (1 + d)) in *.
    assert (E2 : ln 2 = A * y + B * (1 - y)) by lra. rewrite E2, H0.
    assert (0 <= (A - B) * (y * (1 - y))) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
    replace (A * y - y * (A * y + B * (1 - y))) with ((A - B) * (y * (1 - y))) in * by ring.
    assert (A * y - y * (A * y + B * (1 - y)) = (A - B) * (y * (1 - y))) by ring. lra.
Qed.

(** The constant 1 is false: at y = 1. *)
Theorem min1_not_ln : ~ (Rmin 1 1 <= ln (1 + 1)).
Proof.
  rewrite Rmin_left by lra. intros H.
  assert (exp 1 <= 2). { rewrite <- (exp_ln 2) by lra. replace 2 with (1 + 1) at 1 by lra.
    destruct H as [H|H]; [left; apply exp_increasing; auto|rewrite <- H; lra]. }
  assert (1 <> 0) by lra. pose proof (exp_ineq1 1 H1). lra.
Qed.

(** ** Two more: the constant of the queue's tail, and the algebra of the switching round *)
Theorem one_minus_exp : forall x, 0 <= x <= 1 -> x / 2 <= 1 - exp (- x).
Proof.
  intros x Hx. pose proof (exp_ineq1_le x). pose proof (exp_pos (- x)).
  assert (exp (- x) * exp x = 1) by (rewrite <- exp_plus, Rplus_opp_l, exp_0; auto).
  assert (exp (- x) * (1 + x) <= 1) by nra. nra.
Qed.
Theorem switching_step : forall pp pm e11 e01 e00, 0 <= pp <= pm -> pm <= 1 -> e11 <= 0 -> e00 <= 0 ->
  pp * e11 + (pm - pp) * e01 + (1 - pm) * e00 <= (pm - pp) * e01.
Proof.
  intros. assert (0 <= pp * - e11) by (apply Rmult_le_pos; lra).
  assert (0 <= (1 - pm) * - e00) by (apply Rmult_le_pos; lra). lra.
Qed.

(** Half of the exponent is too little, and so is a difference of 1 after equal departures. *)
Theorem half_exponent_false : ~ (forall x, 0 <= x <= 1 -> x / 2 <= 1 - exp (- x / 2)).
Proof. intros F. specialize (F 1 ltac:(lra)). pose proof (exp_ineq1 (Ropp 1 / 2) ltac:(lra)). lra. Qed.
Theorem equal_departures_false : ~ (forall pp pm e11 e01 e00, 0 <= pp <= pm -> pm <= 1 -> e11 <= 1 -> e00 <= 0 ->
  pp * e11 + (pm - pp) * e01 + (1 - pm) * e00 <= (pm - pp) * e01).
Proof. intros F. specialize (F 1 1 1 0 0 ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)). lra. Qed.
(** 0.7 for ln 2 = 0.693... is too much: (1 + 7/640)^64 > 2. *)
Theorem sharper_false : ~ (forall y, 0 <= y -> Rmin 1 y * (7 / 10) <= ln (1 + y)).
Proof.
  intros F. specialize (F 1 ltac:(lra)). rewrite Rmin_left in F by lra.
  assert (E : forall x, exp (2 * x) = exp x * exp x) by (intros; rewrite <- exp_plus; f_equal; ring).
  assert (D : forall a x, 0 <= a <= exp x -> 0 <= a * a <= exp (2 * x)).
  { intros a x H. rewrite E. split; [apply Rmult_le_pos|apply Rmult_le_compat]; lra. }
  pose proof (exp_ineq1_le (7 / 640)) as H.
  pose proof (D _ _ (D _ _ (D _ _ (D _ _ (D _ _ (D (1 + 7 / 640) (7 / 640) ltac:(lra))))))) as [_ K].
  replace (2 * (2 * (2 * (2 * (2 * (2 * (7 / 640))))))) with (7 / 10) in K by field.
  assert (exp (7 / 10) <= 1 + 1); [|lra]. rewrite <- (exp_ln (1 + 1)) by lra.
  destruct F as [F|F]; [left; apply exp_increasing; lra|right; f_equal; lra].
Qed.
