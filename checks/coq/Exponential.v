(** * The exponential function between rationals

    Taylor polynomials enclose exp, and so the root of exp s = 1 + s + s^2, without an interval
    tactic: the constant 0.7701634 rests on no machine integers. *)

From Coq Require Import Reals Lra Lia Psatz.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

(** The Taylor polynomial of degree n, and the term after it. *)
Fixpoint tay (n : nat) (x : R) : R :=
  match n with O => 1 | S k => tay k x + x ^ (S k) / INR (fact (S k)) end.
Definition rem (n : nat) (x : R) : R := x ^ (S n) / INR (fact (S n)).

Lemma fact_S n : INR (fact (S n)) = (INR n + 1) * INR (fact n).
Proof. change (fact (S n)) with ((S n) * fact n)%nat. rewrite mult_INR, S_INR. reflexivity. Qed.
Lemma powc_derive (c : R) m x : is_derive (fun x => x ^ (S m) / c) x ((INR m + 1) * x ^ m / c).
Proof.
  apply (is_derive_ext (fun x => / c * x ^ (S m))). { intros; unfold Rdiv; apply Rmult_comm. }
  replace ((INR m + 1) * x ^ m / c) with (/ c * (INR (S m) * 1 * x ^ pred (S m)))
    by (rewrite S_INR; simpl pred; unfold Rdiv; ring).
  apply (is_derive_scal (fun x => x ^ (S m))). apply (is_derive_pow (fun x => x)). apply @is_derive_id.
Qed.
Lemma rem_derive n x : is_derive (rem (S n)) x (rem n x).
Proof.
  replace (rem n x) with ((INR (S n) + 1) * x ^ (S n) / INR (fact (S (S n)))).
  - apply powc_derive.
  - unfold rem. rewrite (fact_S (S n)). pose proof (INR_fact_neq_0 (S n)). pose proof (pos_INR (S n)).
    field. split; [auto|lra].
Qed.
Lemma rem0_derive x : is_derive (rem 0) x 1.
Proof.
  assert (E : forall t : R, t = rem 0 t) by (intros; unfold rem; simpl; field).
  apply (is_derive_ext (fun x => x) (rem 0) x 1 E). apply @is_derive_id.
Qed.
Lemma tay_derive n x : is_derive (tay (S n)) x (tay n x).
Proof.
  induction n.
  - assert (E : forall t : R, 1 + rem 0 t = tay 1 t) by (intros; unfold rem; simpl; field).
    apply (is_derive_ext (fun x => 1 + rem 0 x) (tay 1) x (tay 0 x) E).
    replace (tay 0 x) with (plus 0 1) by (unfold plus; simpl; ring).
    apply (is_derive_plus (fun _ => 1) (rem 0)); [apply @is_derive_const|apply rem0_derive].
  - apply (is_derive_ext (fun x => tay (S n) x + rem (S n) x)). { intros; reflexivity. }
    replace (tay (S n) x) with (plus (tay n x) (rem n x)) by reflexivity.
    apply (is_derive_plus (tay (S n)) (rem (S n))); [exact IHn|apply rem_derive].
Qed.
Lemma tay_0 n : tay n 0 = 1.
Proof. induction n; [reflexivity|]. simpl tay. rewrite IHn. simpl. unfold Rdiv. ring. Qed.

(** tay n x <= exp x <= tay n x + exp x * x^(n+1)/(n+1)!, for x >= 0.
    Proof: by induction on n, the derivative of each difference being the difference before. *)
Theorem exp_lower : forall n x, 0 <= x -> tay n x <= exp x.
Proof.
  induction n; intros x Hx; [simpl; pose proof (exp_ineq1_le x); lra|].
  destruct Hx as [Hx|<-]; [|rewrite tay_0, exp_0; lra].
  destruct (MVT_cor2 (fun x => exp x - tay (S n) x) (fun x => exp x - tay n x) 0 x Hx) as (c & E & Hc).
  - intros y _. apply is_derive_Reals. apply (is_derive_minus exp (tay (S n))); [|apply tay_derive].
    auto_derive; auto; ring.
  - rewrite tay_0, exp_0 in E. specialize (IHn c ltac:(lra)).
    assert (0 <= (exp c - tay n c) * (x - 0)) by (apply Rmult_le_pos; lra). lra.
Qed.
Theorem exp_upper : forall n x, 0 <= x -> exp x <= tay n x + exp x * rem n x.
Proof.
  induction n; intros x Hx.
  - destruct Hx as [Hx|<-]; [|unfold rem; simpl; rewrite exp_0; lra].
    unfold rem; simpl.
    destruct (MVT_cor2 exp exp 0 x Hx) as (c & E & Hc); [intros; apply derivable_pt_lim_exp|].
    rewrite exp_0 in E. assert (exp c < exp x) by (apply exp_increasing; lra).
    assert (exp c * (x - 0) <= exp x * x) by nra. lra.
  - destruct Hx as [Hx|<-]; [|unfold rem; rewrite tay_0, exp_0, pow_ne_zero by lia; lra].
    destruct (MVT_cor2 (fun x => tay (S n) x + exp x * rem (S n) x - exp x)
      (fun x => tay n x + (exp x * rem (S n) x + exp x * rem n x) - exp x) 0 x Hx) as (c & E & Hc).
    + intros y _. apply is_derive_Reals.
      apply (is_derive_minus (fun x => tay (S n) x + exp x * rem (S n) x) exp).
      * apply (is_derive_plus (tay (S n)) (fun x => exp x * rem (S n) x)); [apply tay_derive|].
        apply (is_derive_mult exp (rem (S n)) y (exp y) (rem n y)).
        -- auto_derive; auto; ring.
        -- apply rem_derive.
        -- intros; apply Rmult_comm.
      * auto_derive; auto; ring.
    + rewrite tay_0, exp_0 in E. unfold rem at 2 in E. rewrite pow_ne_zero in E by lia.
      specialize (IHn c ltac:(lra)).
      assert (0 <= rem (S n) c). { unfold rem. apply Rmult_le_pos; [apply pow_le; lra|].
        left; apply Rinv_0_lt_compat, INR_fact_lt_0. }
      pose proof (exp_pos c).
      assert (0 <= exp c * rem (S n) c) by (apply Rmult_le_pos; lra).
      assert (0 <= (tay n c + (exp c * rem (S n) c + exp c * rem n c) - exp c) * (x - 0)) by (apply Rmult_le_pos; lra).
      lra.
Qed.

(** The signs of exp s - 1 - s - s^2 at two points with eight digits, by the polynomial of degree
    16. *)
Definition lo8 := 17932821 / 10000000.
Definition hi8 := 17932822 / 10000000.
Lemma f_lo8 : exp lo8 - 1 - lo8 - lo8 * lo8 < 0.
Proof.
  assert (H0 : 0 <= lo8) by (unfold lo8; lra).
  pose proof (exp_upper 16 lo8 H0) as H.
  assert (HR : rem 16 lo8 <= / 10 ^ 10).
  { unfold rem. apply (Rmult_le_reg_r (INR (fact 17))); [apply INR_fact_lt_0|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by apply INR_fact_neq_0.
    rewrite !fact_S. change (INR (fact 0)) with 1. simpl INR. unfold lo8. lra. }
  assert (HT : tay 16 lo8 <= 1 + lo8 + lo8 * lo8 - / 10 ^ 8).
  { cbn [tay]. rewrite !fact_S. change (INR (fact 0)) with 1. simpl INR. unfold lo8. lra. }
  assert (HE : exp lo8 <= 10).
  { assert (0 <= rem 16 lo8). { unfold rem. apply Rmult_le_pos; [apply pow_le; lra|left; apply Rinv_0_lt_compat, INR_fact_lt_0]. }
    pose proof (exp_pos lo8). assert (exp lo8 * rem 16 lo8 <= exp lo8 * / 10 ^ 10) by (apply Rmult_le_compat_l; lra).
    unfold lo8 in *. lra. }
  pose proof (exp_pos lo8). assert (exp lo8 * rem 16 lo8 <= exp lo8 * / 10 ^ 10) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.
Lemma f_hi8 : 0 < exp hi8 - 1 - hi8 - hi8 * hi8.
Proof.
  assert (H0 : 0 <= hi8) by (unfold hi8; lra).
  pose proof (exp_lower 16 hi8 H0) as H.
  assert (HT : 1 + hi8 + hi8 * hi8 + / 10 ^ 8 <= tay 16 hi8).
  { cbn [tay]. rewrite !fact_S. change (INR (fact 0)) with 1. simpl INR. unfold hi8. lra. }
  lra.
Qed.
