(** * An open network under a policy that sees the total: admission.norton_sum_policy

    State-dependent service rates, any routing, any admission probability that depends on the
    total. *)

From Coq Require Import Reals Lra Lia List Arith FunctionalExtensionality.
From Book Require Export Sums.
Open Scope R_scope.

(** ** The network

    [Nq] queues; [L i j] routing probabilities, [a] where arrivals enter, [v] the visit ratios; [mu
    i k] the rate of queue i with k jobs; [lam] the arrival rate, [alpha s] the chance of admission
    at total s.  A cap S on the total is alpha(S) = 0. *)
Section Net.
Variable Nq : nat.
Variables (L : nat -> nat -> R) (a v : nat -> R) (mu : nat -> nat -> R) (lam : R) (alpha : nat -> R).
Hypothesis mu0 : forall i, mu i 0%nat = 0.
Hypothesis mupos : forall i k, (1 <= k)%nat -> 0 < mu i k.
Hypothesis asum : sumn Nq a = 1.
Hypothesis traffic : forall j, (j < Nq)%nat -> v j = a j + sumn Nq (fun i => v i * L i j).

Definition exitp (i : nat) : R := 1 - sumn Nq (L i).

(** Factor of queue i with k jobs; admission factor; total; unnormalised weight of a state;
    neighbours. *)
Fixpoint w (i k : nat) : R := match k with O => 1 | S l => w i l * (v i / mu i (S l)) end.
Fixpoint adm (s : nat) : R := match s with O => 1 | S l => adm l * (lam * alpha l) end.
Fixpoint tot (n : nat) (x : nat -> nat) : nat := match n with O => 0 | S k => (tot k x + x k)%nat end.
Definition nu (x : nat -> nat) : R := adm (tot Nq x) * prodn Nq (fun i => w i (x i)).

Definition upd (x : nat -> nat) (i k : nat) : nat -> nat := fun l => if Nat.eqb l i then k else x l.
Definition up (x : nat -> nat) (i : nat) := upd x i (S (x i)).
Definition dn (x : nat -> nat) (i : nat) := upd x i (pred (x i)).

Lemma tot_upd n x i k : tot n (upd x i k) = if (i <? n) then (tot n x + k - x i)%nat else tot n x.
Proof.
  assert (LE : forall n, (i < n)%nat -> (x i <= tot n x)%nat).
  { intros p. induction p; intros H; [lia|]. simpl. destruct (Nat.eq_dec i p) as [->|]; [lia|]. specialize (IHp ltac:(lia)); lia. }
  induction n; [reflexivity|]. simpl. rewrite IHn. unfold upd.
  destruct (Nat.eqb_spec n i) as [->|Hne].
  - destruct (Nat.ltb_spec i i); [lia|]. destruct (Nat.ltb_spec i (S i)); [lia|lia].
  - destruct (Nat.ltb_spec i n); destruct (Nat.ltb_spec i (S n)); try lia. specialize (LE n H); lia.
Qed.
Lemma prodn_upd n x i k : (i < n)%nat ->
  w i (x i) * prodn n (fun l => w l (upd x i k l)) = w i k * prodn n (fun l => w l (x l)).
Proof.
  intros Hi.
  assert (OUT : forall p, (p <= i)%nat -> prodn p (fun l => w l (upd x i k l)) = prodn p (fun l => w l (x l))).
  { intros p. induction p; intros Hp; [reflexivity|]. simpl. rewrite IHp by lia. unfold upd.
    destruct (Nat.eqb_spec p i); [lia|reflexivity]. }
  induction n; [lia|]. simpl. destruct (Nat.eq_dec i n) as [<-|Hne].
  - rewrite OUT by lia. unfold upd. rewrite Nat.eqb_refl. ring.
  - assert (E : upd x i k n = x n) by (unfold upd; destruct (Nat.eqb_spec n i); [lia|reflexivity]).
    rewrite E, <- Rmult_assoc, IHn by lia. ring.
Qed.

Hypothesis vpos : forall i, (i < Nq)%nat -> 0 < v i.
Lemma w_pos i k : (i < Nq)%nat -> 0 < w i k.
Proof. intros Hi. induction k; simpl; [lra|]. apply Rmult_lt_0_compat; auto. apply Rdiv_lt_0_compat; auto. apply mupos; lia. Qed.

(** Elementary exchange: nu(x + e_i) mu_i(x_i + 1) = nu(x) lam alpha(|x|) v_i. *)
Lemma nu_up x i : (i < Nq)%nat -> nu (up x i) * mu i (S (x i)) = nu x * (lam * alpha (tot Nq x)) * v i.
Proof.
  intros Hi. unfold nu, up. rewrite tot_upd. destruct (Nat.ltb_spec i Nq) as [_|]; [|lia].
  replace (tot Nq x + S (x i) - x i)%nat with (S (tot Nq x)) by lia. simpl adm.
  pose proof (prodn_upd Nq x i (S (x i)) Hi) as P. simpl w in P.
  pose proof (w_pos i (x i) Hi) as Hw. pose proof (mupos i (S (x i)) ltac:(lia)) as Hm.
  apply (Rmult_eq_compat_l (/ w i (x i))) in P.
  rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l in P by lra. rewrite P. field. lra.
Qed.
Lemma up_dn x i : (1 <= x i)%nat -> up (dn x i) i = x.
Proof.
  intros H. apply functional_extensionality; intros l. unfold up, dn, upd.
  destruct (Nat.eqb_spec l i) as [->|]; [rewrite Nat.eqb_refl; lia|reflexivity].
Qed.
Lemma tot_dn x j : (j < Nq)%nat -> (1 <= x j)%nat -> tot Nq x = S (tot Nq (dn x j)).
Proof.
  intros Hj Hx. rewrite <- (up_dn x j) at 1 by auto. unfold up. rewrite tot_upd.
  destruct (Nat.ltb_spec j Nq); lia.
Qed.

(** The traffic equations: sum of v_i (exit probability of i) = 1. *)
Lemma exit_sum : sumn Nq (fun i => v i * exitp i) = 1.
Proof.
  assert (E : sumn Nq v = sumn Nq a + sumn Nq (fun i => v i * sumn Nq (L i))).
  { rewrite (sumn_ext Nq v (fun j => a j + sumn Nq (fun i => v i * L i j)) traffic), sumn_plus. f_equal.
    rewrite <- sumn_exchange. apply sumn_ext. intros i _. rewrite sumn_scal. reflexivity. }
  rewrite (sumn_ext Nq (fun i => v i * exitp i) (fun i => v i + -1 * (v i * sumn Nq (L i)))) by (intros; unfold exitp; ring).
  rewrite sumn_plus, sumn_scal, E, asum. ring.
Qed.

(** ** Product form: balance with the outside, at each queue, and globally

    Proof: elementary exchange, then the traffic equations. *)
Theorem balance_outside : forall x,
  nu x * (lam * alpha (tot Nq x)) = sumn Nq (fun i => nu (up x i) * mu i (S (x i)) * exitp i).
Proof.
  intros x. rewrite (sumn_ext Nq _ (fun i => (nu x * (lam * alpha (tot Nq x))) * (v i * exitp i))).
  - rewrite sumn_scal, exit_sum. ring.
  - intros i Hi. rewrite (nu_up x i Hi). ring.
Qed.
Theorem balance_queue : forall x j, (j < Nq)%nat -> (1 <= x j)%nat ->
  nu x * mu j (x j) =
    nu (dn x j) * (lam * alpha (tot Nq (dn x j))) * a j
    + sumn Nq (fun i => nu (up (dn x j) i) * mu i (S (dn x j i)) * L i j).
Proof.
  intros x j Hj Hx. set (y := dn x j).
  assert (E : nu x * mu j (x j) = nu y * (lam * alpha (tot Nq y)) * v j).
  { rewrite <- (nu_up y j Hj). unfold y at 1. rewrite up_dn by auto. f_equal. f_equal.
    unfold y, dn, upd. rewrite Nat.eqb_refl. lia. }
  rewrite E, (sumn_ext Nq _ (fun i => (nu y * (lam * alpha (tot Nq y))) * (v i * L i j))).
  - rewrite sumn_scal, (traffic j Hj) at 1. ring.
  - intros i Hi. rewrite (nu_up y i Hi). ring.
Qed.

(** Rate out of x = rate into x, for every state x. *)
Theorem global_balance : forall x,
  nu x * (lam * alpha (tot Nq x)) + sumn Nq (fun j => nu x * mu j (x j)) =
    sumn Nq (fun i => nu (up x i) * mu i (S (x i)) * exitp i)
    + sumn Nq (fun j => if (x j =? 0)%nat then 0 else
        nu (dn x j) * (lam * alpha (tot Nq (dn x j))) * a j
        + sumn Nq (fun i => nu (up (dn x j) i) * mu i (S (dn x j i)) * L i j)).
Proof.
  intros x. rewrite <- balance_outside. f_equal. apply sumn_ext. intros j Hj.
  destruct (Nat.eqb_spec (x j) 0) as [->|Hne]; [rewrite mu0; ring|]. apply balance_queue; auto; lia.
Qed.

(** ** The number of jobs

    [Sum n s F]: the sum of F over all states of n queues with total s. *)
Definition zero : nat -> nat := fun _ => 0%nat.
Fixpoint Sum (n s : nat) (F : (nat -> nat) -> R) : R :=
  match n with
  | O => if (s =? 0)%nat then F zero else 0
  | S p => sumn (S s) (fun k => Sum p (s - k) (fun x => F (upd x p k)))
  end.
Lemma Sum_ext n s F G : (forall x, F x = G x) -> Sum n s F = Sum n s G.
Proof.
  revert s F G; induction n; intros s F G H; simpl; [rewrite H; reflexivity|].
  f_equal; [apply sumn_ext; intros; apply IHn; auto|apply IHn; auto].
Qed.
Lemma Sum_scal n s c F : Sum n s (fun x => c * F x) = c * Sum n s F.
Proof.
  revert s F; induction n; intros s F; [simpl; destruct (s =? 0)%nat; ring|].
  cbn [Sum]. rewrite <- sumn_scal. apply sumn_ext; intros; apply IHn.
Qed.
Lemma Sum_plus n s F G : Sum n s (fun x => F x + G x) = Sum n s F + Sum n s G.
Proof.
  revert s F G; induction n; intros s F G; [simpl; destruct (s =? 0)%nat; ring|].
  cbn [Sum]. rewrite <- sumn_plus. apply sumn_ext; intros; apply IHn.
Qed.
Lemma Sum_sumn n s p F : Sum n s (fun x => sumn p (fun i => F i x)) = sumn p (fun i => Sum n s (F i)).
Proof.
  induction p; simpl; [|rewrite Sum_plus, IHp; reflexivity].
  rewrite (Sum_ext n s _ (fun x => 0 * 0)) by (intros; ring). rewrite (Sum_scal n s 0 (fun _ => 0)). ring.
Qed.
Lemma Sum_tot n s F G : (forall x, tot n x = s -> F x = G x) -> Sum n s F = Sum n s G.
Proof.
  revert s F G; induction n; intros s F G H.
  - simpl. destruct (Nat.eqb_spec s 0) as [->|]; [apply H; reflexivity|reflexivity].
  - cbn [Sum]. apply sumn_ext. intros k Hk. apply IHn. intros x Hx. apply H. simpl.
    rewrite tot_upd. destruct (Nat.ltb_spec n n); [lia|]. unfold upd. rewrite Nat.eqb_refl. lia.
Qed.
Lemma sumn_last n f : sumn (S n) f = sumn n f + f n.
Proof. reflexivity. Qed.
(** x -> x - e_i is a bijection from states of total s+1 with x_i >= 1 to states of total s. *)
Lemma Sum_shift n s i F : (i < n)%nat ->
  Sum n (S s) (fun x => if (x i =? 0)%nat then 0 else F (dn x i)) = Sum n s F.
Proof.
  revert s F; induction n; intros s F Hi; [lia|].
  cbn [Sum]. destruct (Nat.eq_dec i n) as [->|Hne].
  - rewrite sumn_first.
    assert (Z : Sum n (S s - 0) (fun x => if (upd x n 0 n =? 0)%nat then 0 else F (dn (upd x n 0) n)) = 0).
    { rewrite (Sum_ext n _ _ (fun x => 0 * 0)); [rewrite (Sum_scal n _ 0 (fun _ => 0)); ring|].
      intros x. unfold upd. rewrite Nat.eqb_refl. simpl. ring. }
    rewrite Z, Rplus_0_l. apply sumn_ext. intros k Hk. apply Sum_ext. intros x.
    unfold upd at 1. rewrite Nat.eqb_refl. simpl. f_equal. apply functional_extensionality; intros l.
    unfold dn, upd. rewrite Nat.eqb_refl. destruct (Nat.eqb_spec l n); [reflexivity|reflexivity].
  - rewrite (sumn_last (S s)).
    assert (Z : Sum n (S s - S s) (fun x => if (upd x n (S s) i =? 0)%nat then 0 else F (dn (upd x n (S s)) i)) = 0).
    { rewrite (Sum_tot n _ _ (fun x => 0 * 0)); [rewrite (Sum_scal n _ 0 (fun _ => 0)); ring|].
      intros x Hx. assert (X : (x i = 0)%nat).
      { assert (T : forall p, (i < p)%nat -> (x i <= tot p x)%nat).
        { induction p; intros; [lia|]. simpl. destruct (Nat.eq_dec i p) as [->|]; [lia|]. specialize (IHp ltac:(lia)); lia. }
        specialize (T n ltac:(lia)). lia. }
      unfold upd. destruct (Nat.eqb_spec i n); [lia|]. rewrite X. simpl. ring. }
    rewrite Z, Rplus_0_r.
    apply sumn_ext. intros k Hk.
    replace (S s - k)%nat with (S (s - k)) by lia.
    rewrite <- (IHn (s - k)%nat (fun x => F (upd x n k))) by lia.
    apply Sum_ext. intros x. unfold upd at 1. destruct (Nat.eqb_spec i n); [lia|].
    destruct (x i =? 0)%nat; [reflexivity|]. f_equal. apply functional_extensionality; intros l.
    unfold dn, upd. destruct (Nat.eqb_spec l i), (Nat.eqb_spec l n), (Nat.eqb_spec i n); subst; try lia; reflexivity.
Qed.

Definition weight (x : nat -> nat) : R := prodn Nq (fun i => w i (x i)).
Definition G (s : nat) : R := Sum Nq s weight.

(** The law of the total is proportional to adm(s) G(s), whatever the admission rule. *)
Theorem total_law : forall s, Sum Nq s nu = adm s * G s.
Proof.
  intros s. unfold G. rewrite <- Sum_scal. apply Sum_tot. intros x Hx. unfold nu. rewrite Hx. reflexivity.
Qed.

(** The mean exit rate with s+1 jobs is G(s)/G(s+1): the flow-equivalent server, in which alpha is
    absent. Proof: shift each queue by one job and use the traffic equations. *)
Theorem norton : forall s,
  Sum Nq (S s) (fun x => weight x * sumn Nq (fun i => mu i (x i) * exitp i)) = G s.
Proof.
  intros s.
  rewrite (Sum_ext Nq (S s) _ (fun x => sumn Nq (fun i => (v i * exitp i) * (if (x i =? 0)%nat then 0 else weight (dn x i))))).
  - rewrite Sum_sumn. rewrite (sumn_ext Nq _ (fun i => G s * (v i * exitp i))).
    + rewrite sumn_scal, exit_sum. ring.
    + intros i Hi. rewrite Sum_scal, (Sum_shift Nq s i weight Hi). unfold G. ring.
  - intros x. rewrite <- sumn_scal. apply sumn_ext. intros i Hi.
    destruct (Nat.eqb_spec (x i) 0) as [E|E]; [rewrite E, mu0; ring|].
    assert (P : weight x * mu i (x i) = v i * weight (dn x i)).
    { pose proof (prodn_upd Nq (dn x i) i (x i) Hi) as P.
      assert (Ux : upd (dn x i) i (x i) = x).
      { apply functional_extensionality; intros l. unfold dn, upd. destruct (Nat.eqb_spec l i) as [->|]; reflexivity. }
      rewrite Ux in P. assert (D : dn x i i = pred (x i)) by (unfold dn, upd; rewrite Nat.eqb_refl; reflexivity).
      rewrite D in P. destruct (x i) as [|k] eqn:Ek; [lia|]. simpl pred in P. simpl w in P.
      pose proof (w_pos i k Hi). pose proof (mupos i (S k) ltac:(lia)).
      unfold weight. apply (Rmult_eq_compat_l (/ w i k)) in P.
      rewrite <- !Rmult_assoc, !Rinv_l, !Rmult_1_l in P by lra. rewrite P. field. lra. }
    rewrite <- Rmult_assoc, P. ring.
Qed.

(** The closed network, in which a job that leaves is admitted anew: f is in balance at every
    state.  Proof: the same exchange, and the traffic equations. *)
Lemma weight_up x i : (i < Nq)%nat -> weight (up x i) * mu i (S (x i)) = weight x * v i.
Proof.
  intros Hi. unfold weight, up. pose proof (prodn_upd Nq x i (S (x i)) Hi) as P. simpl w in P.
  pose proof (w_pos i (x i) Hi) as Hw. pose proof (mupos i (S (x i)) ltac:(lia)) as Hm.
  apply (Rmult_eq_compat_l (/ w i (x i))) in P.
  rewrite <- Rmult_assoc, Rinv_l, Rmult_1_l in P by lra. rewrite P. field. lra.
Qed.
Theorem closed_balance : forall x,
  sumn Nq (fun j => weight x * mu j (x j)) =
    sumn Nq (fun j => if (x j =? 0)%nat then 0 else
      sumn Nq (fun i => weight (up (dn x j) i) * mu i (S (dn x j i)) * (L i j + exitp i * a j))).
Proof.
  intros x. apply sumn_ext. intros j Hj. destruct (Nat.eqb_spec (x j) 0) as [->|Hne]; [rewrite mu0; ring|].
  set (y := dn x j).
  rewrite (sumn_ext Nq _ (fun i => weight y * (v i * L i j) + (weight y * a j) * (v i * exitp i)))
    by (intros i Hi; rewrite (weight_up y i Hi); ring).
  rewrite sumn_plus, !sumn_scal, exit_sum.
  assert (E : weight x * mu j (x j) = weight y * v j).
  { rewrite <- (weight_up y j Hj). unfold y at 1. rewrite up_dn by lia. f_equal. f_equal.
    unfold y, dn, upd. rewrite Nat.eqb_refl. lia. }
  rewrite E, (traffic j Hj) at 1. ring.
Qed.

(** So the law of the total is in balance like that of a birth-death chain with death rate
    G(s)/G(s+1). *)
Theorem aggregated_balance : forall s, 0 < G (S s) ->
  (adm s * G s) * (lam * alpha s) = (adm (S s) * G (S s)) * (G s / G (S s)).
Proof. intros s HG. simpl adm. field. lra. Qed.
End Net.

(** ** Nearest false statements: one queue that serves at rate 2, and at most one job *)
Definition straight (_ _ : nat) : R := 0.
Definition all_one (_ : nat) : R := 1.
Definition serves (_ k : nat) : R := match k with O => 0 | _ => 2 end.
Definition at_0 (s : nat) : R := match s with O => 1 | _ => 0 end.
Lemma serves_pos : forall i k : nat, (1 <= k)%nat -> 0 < serves i k.
Proof. intros i [|k] Hk; [lia|simpl; lra]. Qed.
Lemma one_enters : sumn 1 all_one = 1.
Proof. simpl. unfold all_one. ring. Qed.
Lemma all_visit : forall j : nat, (j < 1)%nat -> all_one j = all_one j + sumn 1 (fun i => all_one i * straight i j).
Proof. intros. simpl. unfold all_one, straight. ring. Qed.
Lemma visits_pos : forall i : nat, (i < 1)%nat -> 0 < all_one i.
Proof. intros. unfold all_one. lra. Qed.

(** An admission that looks at the total after the arrival. *)
Theorem admitted_after_false : ~ (forall Nq L a v mu lam alpha,
  (forall i, mu i 0%nat = 0) -> (forall i k, (1 <= k)%nat -> 0 < mu i k) ->
  sumn Nq a = 1 -> (forall j, (j < Nq)%nat -> v j = a j + sumn Nq (fun i => v i * L i j)) ->
  (forall i, (i < Nq)%nat -> 0 < v i) ->
  let nu := nu Nq v mu lam alpha in
  forall x, nu x * (lam * alpha (S (tot Nq x))) + sumn Nq (fun j => nu x * mu j (x j)) =
    sumn Nq (fun i => nu (up x i) * mu i (S (x i)) * exitp Nq L i)
    + sumn Nq (fun j => if (x j =? 0)%nat then 0 else
        nu (dn x j) * (lam * alpha (tot Nq (dn x j))) * a j
        + sumn Nq (fun i => nu (up (dn x j) i) * mu i (S (dn x j i)) * L i j))).
Proof.
  intros F. specialize (F 1%nat straight all_one all_one serves 1 at_0 (fun _ => eq_refl) serves_pos one_enters all_visit visits_pos zero). cbv zeta in F.
  unfold nu, exitp, straight, all_one, zero, up, upd in F. simpl in F. lra.
Qed.
(** The law of the total with one admission more. *)
Theorem total_law_false : ~ (forall Nq v mu lam alpha s,
  Sum Nq s (nu Nq v mu lam alpha) = adm lam alpha (S s) * G Nq v mu s).
Proof.
  intros F. specialize (F 1%nat all_one serves 1 at_0 1%nat).
  unfold G, nu, weight, all_one, upd, zero in F. simpl in F. lra.
Qed.
(** The exit rate without the shift by one job. *)
Theorem exit_rate_false : ~ (forall Nq L a v mu,
  (forall i, mu i 0%nat = 0) -> (forall i k, (1 <= k)%nat -> 0 < mu i k) ->
  sumn Nq a = 1 -> (forall j, (j < Nq)%nat -> v j = a j + sumn Nq (fun i => v i * L i j)) ->
  (forall i, (i < Nq)%nat -> 0 < v i) ->
  forall s, Sum Nq (S s) (fun x => weight Nq v mu x * sumn Nq (fun i => mu i (x i) * exitp Nq L i))
    = G Nq v mu (S s)).
Proof.
  intros F. specialize (F 1%nat straight all_one all_one serves (fun _ => eq_refl) serves_pos one_enters all_visit visits_pos 0%nat).
  unfold G, weight, exitp, straight, all_one, upd, zero in F. simpl in F. lra.
Qed.
(** The closed network without the jobs that are admitted anew. *)
Theorem nobody_enters_false : ~ (forall Nq L a v mu,
  (forall i, mu i 0%nat = 0) -> (forall i k, (1 <= k)%nat -> 0 < mu i k) ->
  sumn Nq a = 1 -> (forall j, (j < Nq)%nat -> v j = a j + sumn Nq (fun i => v i * L i j)) ->
  (forall i, (i < Nq)%nat -> 0 < v i) ->
  forall x, sumn Nq (fun j => weight Nq v mu x * mu j (x j)) =
    sumn Nq (fun j => if (x j =? 0)%nat then 0 else
      sumn Nq (fun i => weight Nq v mu (up (dn x j) i) * mu i (S (dn x j i)) * L i j))).
Proof.
  intros F. specialize (F 1%nat straight all_one all_one serves (fun _ => eq_refl) serves_pos one_enters
    all_visit visits_pos (fun _ => 1%nat)).
  unfold weight, straight, all_one in F. simpl in F. lra.
Qed.
(** Balance with admission one job later. *)
Theorem admission_later_false : ~ (forall Nq v mu lam alpha s, 0 < G Nq v mu (S s) ->
  (adm lam alpha s * G Nq v mu s) * (lam * alpha (S s))
  = (adm lam alpha (S s) * G Nq v mu (S s)) * (G Nq v mu s / G Nq v mu (S s))).
Proof.
  intros F. specialize (F 1%nat all_one serves 1 at_0 0%nat).
  unfold G, weight, all_one, upd, zero in F. simpl in F. lra.
Qed.
