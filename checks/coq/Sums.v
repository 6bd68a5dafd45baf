(** * Finite sums, products and maxima of real numbers

    The vocabulary of all other files.  [sumn n f] is f(0) + ... + f(n-1), [prodn n f] the product
    of the same terms, [maxn n f] the largest of f(0), ..., f(n), with n included: a maximum needs
    a term. *)

From Coq Require Import Reals Lra Lia Arith.
Open Scope R_scope.

Fixpoint sumn (n : nat) (f : nat -> R) : R :=
  match n with O => 0 | S k => sumn k f + f k end.
Fixpoint prodn (n : nat) (f : nat -> R) : R :=
  match n with O => 1 | S k => prodn k f * f k end.
Fixpoint maxn (n : nat) (f : nat -> R) : R :=
  match n with O => f O | S k => Rmax (maxn k f) (f n) end.

Lemma sumn_ext n f g : (forall j, (j < n)%nat -> f j = g j) -> sumn n f = sumn n g.
Proof. induction n; intros H; simpl; [reflexivity|]. rewrite IHn, H; auto. Qed.
Lemma sumn_le n f g : (forall j, (j < n)%nat -> f j <= g j) -> sumn n f <= sumn n g.
Proof. induction n; intros H; simpl; [lra|]. apply Rplus_le_compat; auto. Qed.
Lemma sumn_plus n f g : sumn n (fun j => f j + g j) = sumn n f + sumn n g.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.
Lemma sumn_scal n c f : sumn n (fun j => c * f j) = c * sumn n f.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.
Lemma sumn_const n c : sumn n (fun _ => c) = INR n * c.
Proof. induction n; [simpl; lra|]. rewrite S_INR; simpl. rewrite IHn; lra. Qed.
Lemma sumn_nonneg n f : (forall j, (j < n)%nat -> 0 <= f j) -> 0 <= sumn n f.
Proof. induction n; intros H; simpl; [lra|]. apply Rplus_le_le_0_compat; auto. Qed.
Lemma sumn_pos n f : (0 < n)%nat -> (forall j, (j < n)%nat -> 0 < f j) -> 0 < sumn n f.
Proof.
  intros Hn H. destruct n; [lia|]. simpl.
  pose proof (H n (Nat.lt_succ_diag_r n)).
  assert (0 <= sumn n f) by (apply sumn_nonneg; intros j Hj; left; apply H; lia). lra.
Qed.
(** The sum of an indicator picks its term. *)
Lemma sumn_ind n a c : (a < n)%nat -> sumn n (fun j => if Nat.eqb a j then c else 0) = c.
Proof.
  intros Ha. induction n; [lia|]. simpl.
  destruct (Nat.eqb_spec a n) as [->|Hne].
  - rewrite (sumn_ext n _ (fun _ => 0)); [rewrite sumn_const; lra|].
    intros j Hj. destruct (Nat.eqb_spec n j); [lia|reflexivity].
  - rewrite IHn by lia. lra.
Qed.
Lemma sumn_exchange n m (F : nat -> nat -> R) :
  sumn n (fun i => sumn m (F i)) = sumn m (fun j => sumn n (fun i => F i j)).
Proof. induction n; cbn [sumn]; [rewrite sumn_const; ring|]. rewrite IHn, <- sumn_plus. reflexivity. Qed.
Lemma sumn_first n f : sumn (S n) f = f 0%nat + sumn n (fun k => f (S k)).
Proof. induction n; [simpl; ring|]. cbn [sumn] in *. rewrite IHn. ring. Qed.
Lemma prodn_ext n f g : (forall j, (j < n)%nat -> f j = g j) -> prodn n f = prodn n g.
Proof. induction n; intros H; simpl; [reflexivity|]. rewrite IHn, H; auto. Qed.
Lemma prodn_mult n f g : prodn n (fun j => f j * g j) = prodn n f * prodn n g.
Proof. induction n; simpl; [lra|]. rewrite IHn; ring. Qed.
Lemma prodn_nonneg n f : (forall j, (j < n)%nat -> 0 <= f j) -> 0 <= prodn n f.
Proof. induction n; intros H; simpl; [lra|]. apply Rmult_le_pos; auto. Qed.
(** The product over all factors 1 but one is that one. *)
Lemma prodn_one n a c : (a < n)%nat -> prodn n (fun j => if Nat.eqb a j then c else 1) = c.
Proof.
  intros Ha. induction n; [lia|]. simpl. destruct (Nat.eqb_spec a n) as [->|Hne].
  - rewrite (prodn_ext n _ (fun _ => 1)).
    + replace (prodn n (fun _ => 1)) with 1; [ring|]. clear. induction n; simpl; lra.
    + intros j Hj. destruct (Nat.eqb_spec n j); [lia|reflexivity].
  - rewrite IHn by lia. ring.
Qed.
Lemma maxn_ub n f j : (j <= n)%nat -> f j <= maxn n f.
Proof.
  induction n; intros Hj; simpl.
  - replace j with 0%nat by lia; lra.
  - destruct (Nat.eq_dec j (S n)) as [->|]; [apply Rmax_r|].
    eapply Rle_trans; [apply IHn; lia|apply Rmax_l].
Qed.
Lemma maxn_attained n f : exists j, (j <= n)%nat /\ maxn n f = f j.
Proof.
  induction n as [|n (j & Hj & E)]; simpl; [exists 0%nat; auto|].
  unfold Rmax; destruct (Rle_dec (maxn n f) (f (S n))).
  - exists (S n); auto.
  - exists j; auto.
Qed.
