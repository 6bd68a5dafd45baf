(** * Queues that choose their servers

    Claims strategic.flow_identity, longest_queue_drift, total_drift, potential_drift, tightness.
    The dynamics are functions that compute; arrivals, choices and services are arbitrary, and so
    is the rule by which a server accepts one of those who ask.  All of it holds on every path. *)

From Coq Require Import Reals Lra Lia List Arith Bool ZArith FunctionalExtensionality.
From Book Require Export Recharge.
Open Scope nat_scope.

(** [nsum n f] is f(0) + ... + f(n-1).  [nmax n f] and [nmin n f] are taken over f(0), ..., f(n), with n
    included, so over n servers they are called with n - 1.  [b2n] counts true as 1. *)
Fixpoint nsum (n : nat) (f : nat -> nat) : nat :=
  match n with O => 0 | S k => nsum k f + f k end.
Fixpoint nmax (n : nat) (f : nat -> nat) : nat :=
  match n with O => f 0 | S k => Nat.max (nmax k f) (f n) end.
Fixpoint nmin (n : nat) (f : nat -> nat) : nat :=
  match n with O => f 0 | S k => Nat.min (nmin k f) (f n) end.
Lemma nmax_ub n f j : j <= n -> f j <= nmax n f.
Proof.
  induction n; intros H; simpl; [replace j with 0 by lia; lia|].
  destruct (Nat.eq_dec j (S n)) as [->|]; [lia|]. specialize (IHn ltac:(lia)); lia.
Qed.
Lemma nmax_att n f : exists j, j <= n /\ nmax n f = f j.
Proof.
  induction n as [|n (j & Hj & E)]; simpl; [exists 0; auto|].
  destruct (Nat.max_spec (nmax n f) (f (S n))) as [[? ->]|[? ->]];
    [exists (S n); auto|exists j; split; [lia|auto]].
Qed.
Lemma nmin_att n f : exists j, j <= n /\ nmin n f = f j.
Proof.
  induction n as [|n (j & Hj & E)]; simpl; [exists 0; auto|].
  destruct (Nat.min_spec (nmin n f) (f (S n))) as [[? ->]|[? ->]];
    [exists j; split; [lia|auto]|exists (S n); auto].
Qed.
Definition b2n (b : bool) : nat := if b then 1 else 0.

(** ** The system

    Queues 0..n-1, servers 0..m-1, steps 0, 1, 2 and so on.  [arr i s]: a packet arrives at queue i in
    step s;  [tgt i s]: the server that queue i chooses, used if the queue is not empty then;
    [pick j s S]: which of the senders S server j takes; [srv j s]: server j would complete a
    service in step s. *)
Section Trace.
Variables (n m : nat).
Variables (arr : nat -> nat -> bool) (tgt : nat -> nat -> nat).
Variable pick : nat -> nat -> (nat -> bool) -> nat.
Variable srv : nat -> nat -> bool.
Hypothesis tgt_ok : forall i s, tgt i s < m.
(** Whenever there is a sender the rule takes one. *)
Hypothesis pick_ok : forall j s (S : nat -> bool), (exists i, i < n /\ S i = true) ->
  pick j s S < n /\ S (pick j s S) = true.

(** A queue's length, and whether a server's buffer is full, both at the start of a step. *)
Record state := { len : nat -> nat; full : nat -> bool }.
Definition nonempty (st : state) (s i : nat) : bool := 0 <? len st i + b2n (arr i s).
Definition senders (st : state) (s j : nat) : nat -> bool :=
  fun i => (i <? n) && nonempty st s i && (tgt i s =? j).
Definition any (S : nat -> bool) : bool := existsb S (seq 0 n).
Definition accepted (st : state) (s i : nat) : bool :=
  (i <? n) && nonempty st s i && negb (full st (tgt i s)) && (pick (tgt i s) s (senders st s (tgt i s)) =? i).
(** Full just before service. *)
Definition post (st : state) (s j : nat) : bool := full st j || any (senders st s j).
(** What queue i would have seen had it sent to j in this step, all others unchanged. *)
Definition senders' (st : state) (s i j : nat) : nat -> bool :=
  fun k => if k =? i then true else senders st s j k.
Definition util (st : state) (s i j : nat) : bool :=
  (i <? n) && nonempty st s i && negb (full st j) && (pick j s (senders' st s i j) =? i).
Definition next (st : state) (s : nat) : state :=
  {| len := fun i => len st i + b2n (arr i s) - b2n (accepted st s i);
     full := fun j => post st s j && negb (srv j s) |}.
Variable st0 : state.
Fixpoint st (s : nat) : state := match s with O => st0 | S k => next (st k) k end.

(** Lengths, arrivals, accepted packets, busy steps, counterfactual utilities, empty steps over a
    period W. *)
Definition N (i s : nat) : nat := len (st s) i.
Definition A (i W : nat) : nat := nsum W (fun s => b2n (arr i s)).
Definition C (i W : nat) : nat := nsum W (fun s => b2n (accepted (st s) s i)).
Definition B (j W : nat) : nat := nsum W (fun s => b2n (post (st s) s j)).
Definition V (i j W : nat) : nat := nsum W (fun s => b2n (util (st s) s i j)).
Definition E (i W : nat) : nat := nsum W (fun s => b2n (negb (nonempty (st s) s i))).
Definition M (s : nat) : nat := nmax (n - 1) (fun i => N i s).
Definition Bmin (W : nat) : nat := nmin (m - 1) (fun j => B j W).
(** Realized regret of queue i over the period; it may be negative. *)
Definition Reg (i W : nat) : Z := (Z.of_nat (nmax (m - 1) (fun j => V i j W)) - Z.of_nat (C i W))%Z.

(** ** strategic.longest_queue_drift

    A server idle before service was asked by nobody, so whoever had a packet would have been
    accepted. *)
Lemma util_actual x s i : i < n -> util x s i (tgt i s) = accepted x s i.
Proof.
  intros Hi. unfold util, accepted. destruct (nonempty x s i) eqn:Hn; [|rewrite !andb_false_r; reflexivity].
  replace (senders' x s i (tgt i s)) with (senders x s (tgt i s)); [reflexivity|].
  apply functional_extensionality; intros k. unfold senders'. destruct (Nat.eqb_spec k i) as [->|]; [|reflexivity].
  unfold senders. rewrite Hn, Nat.eqb_refl. destruct (Nat.ltb_spec i n); [reflexivity|lia].
Qed.
Lemma idle_util x s i j : i < n -> nonempty x s i = true -> post x s j = false -> util x s i j = true.
Proof.
  intros Hi Hn Hp. unfold post in Hp. apply orb_false_elim in Hp as [Hf Ha].
  unfold util. rewrite Hn, Hf. destruct (Nat.ltb_spec i n) as [_|]; [|lia]. simpl.
  assert (NS : forall k, k < n -> senders x s j k = false).
  { intros k Hk. unfold any in Ha. destruct (senders x s j k) eqn:E1; [|reflexivity].
    assert (existsb (senders x s j) (seq 0 n) = true) by (apply existsb_exists; exists k; split; [apply in_seq; lia|auto]).
    congruence. }
  destruct (pick_ok j s (senders' x s i j)) as [P1 P2].
  { exists i. split; [auto|]. unfold senders'. rewrite Nat.eqb_refl; reflexivity. }
  apply Nat.eqb_eq. unfold senders' in P2 at 1. destruct (Nat.eqb_spec (pick j s (senders' x s i j)) i) as [|Hne]; [auto|].
  rewrite NS in P2 by auto. discriminate.
Qed.
Lemma accepted_nonempty x s i : accepted x s i = true -> nonempty x s i = true.
Proof. unfold accepted. destruct (i <? n), (nonempty x s i); simpl; auto; discriminate. Qed.
Lemma flow i s : N i s + C i s = N i 0 + A i s.
Proof.
  induction s; [unfold C, A; simpl; lia|].
  unfold N in *. cbn [st next len]. unfold C, A in *. cbn [nsum]. change (st 0) with st0 in *.
  assert (b2n (accepted (st s) s i) <= len (st s) i + b2n (arr i s)).
  { destruct (accepted (st s) s i) eqn:Ea; [|simpl; lia]. apply accepted_nonempty in Ea.
    unfold nonempty in Ea. apply Nat.ltb_lt in Ea. simpl; lia. }
  lia.
Qed.
Lemma util_lower i j s : i < n -> s <= V i j s + B j s + E i s.
Proof.
  intros Hi. induction s; [unfold V, B, E; simpl; lia|].
  unfold V, B, E in *. cbn [nsum].
  destruct (nonempty (st s) s i) eqn:Hn; [|simpl; lia].
  destruct (post (st s) s j) eqn:Hp; [simpl; lia|].
  rewrite (idle_util (st s) s i j) by auto. simpl; lia.
Qed.
Lemma empty_bound i s : (E i s = 0 \/ N i 0 + E i s <= s) /\ N i 0 + E i s <= N i s + s.
Proof.
  induction s as [|s [IH1 IH2]]; [unfold E; simpl; split; [left|]; lia|].
  unfold E, N in *. cbn [nsum st next len]. change (st 0) with st0 in *.
  destruct (nonempty (st s) s i) eqn:Hn; simpl.
  - assert (b2n (accepted (st s) s i) <= 1) by (destruct (accepted (st s) s i); simpl; lia).
    split; [destruct IH1; [left|right]; lia|lia].
  - unfold nonempty in Hn. apply Nat.ltb_ge in Hn.
    destruct (accepted (st s) s i) eqn:Ea; [apply accepted_nonempty in Ea; unfold nonempty in Ea; apply Nat.ltb_lt in Ea; lia|].
    simpl. split; [right; lia|lia].
Qed.

(** If some queue has W packets at the start, then for every queue i N_i(W) - M(0) <= A_i - (W - B)
    + R_i, with B the busy steps of the least busy server. Proof: with e empty steps queue i would have been
    accepted there W - B - e times at least; and if e > 0 it began with W - e packets at most, which
    is M(0) - e at most. *)
Theorem longest_queue_drift : forall W i, 0 < n -> 0 < m -> i < n -> W <= M 0 ->
  (Z.of_nat (N i W) - Z.of_nat (M 0) <= Z.of_nat (A i W) - (Z.of_nat W - Z.of_nat (Bmin W)) + Reg i W)%Z.
Proof.
  intros W i Hn Hm Hi HM. unfold Reg, Bmin.
  destruct (nmin_att (m - 1) (fun j => B j W)) as (j & Hj & EB). rewrite EB.
  assert (HV : V i j W <= nmax (m - 1) (fun j => V i j W)) by (apply (nmax_ub (m - 1) (fun j => V i j W)); lia).
  assert (HN : N i 0 <= M 0) by (apply (nmax_ub (n - 1) (fun i => N i 0)); lia).
  pose proof (flow i W). pose proof (util_lower i j W Hi). destruct (empty_bound i W) as [[H1|H1] H2]; lia.
Qed.

(** The same for a queue that is longest at the end. *)
Theorem longest_queue_drift_max : forall W, 0 < n -> 0 < m -> W <= M 0 ->
  exists i, i < n /\ N i W = M W /\
  (Z.of_nat (M W) - Z.of_nat (M 0) <= Z.of_nat (A i W) - (Z.of_nat W - Z.of_nat (Bmin W)) + Reg i W)%Z.
Proof.
  intros W Hn Hm HM. destruct (nmax_att (n - 1) (fun i => N i W)) as (i & Hi & Ei).
  exists i. split; [lia|]. split; [symmetry; exact Ei|]. unfold M at 1. rewrite Ei. apply longest_queue_drift; auto; lia.
Qed.

(** With few arrivals and little regret, as in the source. *)
Theorem longest_queue_drift_good : forall W (lmax delta : R), 0 < n -> 0 < m -> W <= M 0 ->
  (forall i, i < n -> (INR (A i W) <= (lmax + delta) * INR W)%R) ->
  (forall i, i < n -> (IZR (Reg i W) <= delta * INR W)%R) ->
  (INR (M W) - INR (M 0) <= lmax * INR W - (INR W - INR (Bmin W)) + 2 * delta * INR W)%R.
Proof.
  intros W lmax delta Hn Hm HM HA HR.
  destruct (longest_queue_drift_max W Hn Hm HM) as (i & Hi & _ & D). specialize (HA i Hi). specialize (HR i Hi).
  apply IZR_le in D. rewrite plus_IZR, !minus_IZR in D. rewrite <- !INR_IZR_INZ in D. lra.
Qed.

(** ** strategic.flow_identity

    Packets accepted by server j and packets it completes differ by the change of its buffer. *)
Definition acc_j (j W : nat) : nat := nsum W (fun s => b2n (negb (full (st s) j) && any (senders (st s) s j))).
Definition served (j W : nat) : nat := nsum W (fun s => b2n (post (st s) s j && srv j s)).
Theorem server_flow : forall j W, b2n (full st0 j) + acc_j j W = b2n (full (st W) j) + served j W.
Proof.
  intros j W. induction W; [unfold acc_j, served; simpl; lia|].
  unfold acc_j, served in *. cbn [nsum st next full]. unfold post in *.
  destruct (full (st W) j), (any (senders (st W) W j)), (srv j W); simpl in *; lia.
Qed.

(** So that they differ by one at most. *)
Corollary accepted_served : forall j W, (acc_j j W <= served j W + 1 /\ served j W <= acc_j j W + 1)%nat.
Proof.
  intros j W. pose proof (server_flow j W). destruct (full st0 j), (full (st W) j); simpl in *; lia.
Qed.
(** Steps in which j is free before arrivals, plus steps busy just before service: W plus
    acceptances. *)
Theorem free_steps : forall j W,
  nsum W (fun s => b2n (negb (full (st s) j))) + B j W = W + acc_j j W.
Proof.
  intros j W. induction W; [unfold B, acc_j; simpl; lia|].
  unfold B, acc_j in *. cbn [nsum]. unfold post in *.
  destruct (full (st W) j), (any (senders (st W) W j)); simpl in *; lia.
Qed.

(** ** strategic.total_drift

    Every free server that is asked accepts exactly one packet, so that sums over queues and over
    servers agree. *)
Lemma nsum_ext k f g : (forall i, i < k -> f i = g i) -> nsum k f = nsum k g.
Proof. induction k; intros H; simpl; [reflexivity|]. rewrite IHk, H; auto. Qed.
Lemma nsum_zero k : nsum k (fun _ => 0) = 0. Proof. induction k; simpl; lia. Qed.
Lemma nsum_plus k f g : nsum k (fun i => f i + g i) = nsum k f + nsum k g.
Proof. induction k; simpl; lia. Qed.
Lemma nsum_swap k l f : nsum k (fun i => nsum l (fun j => f i j)) = nsum l (fun j => nsum k (fun i => f i j)).
Proof. induction k; simpl; [rewrite nsum_zero; reflexivity|]. rewrite IHk, <- nsum_plus. reflexivity. Qed.
Lemma nsum_ind k a c : a < k -> nsum k (fun i => if a =? i then c else 0) = c.
Proof.
  intros Ha. induction k; [lia|]. simpl. destruct (Nat.eqb_spec a k) as [->|Hne].
  - rewrite (nsum_ext k _ (fun _ => 0)); [rewrite nsum_zero; lia|]. intros i Hi. destruct (Nat.eqb_spec k i); lia.
  - rewrite IHk; lia.
Qed.
Lemma one_per_server x s :
  nsum n (fun i => b2n (accepted x s i)) = nsum m (fun j => b2n (negb (full x j) && any (senders x s j))).
Proof.
  rewrite (nsum_ext n _ (fun i => nsum m (fun j => if tgt i s =? j then b2n (accepted x s i) else 0)))
    by (intros; rewrite nsum_ind; auto).
  rewrite nsum_swap. apply nsum_ext. intros j Hj.
  rewrite (nsum_ext n _ (fun i => b2n (negb (full x j) && (senders x s j i && (pick j s (senders x s j) =? i))))).
  - destruct (full x j); simpl; [apply nsum_zero|].
    destruct (any (senders x s j)) eqn:Ha.
    + unfold any in Ha. apply existsb_exists in Ha as (k & Hk & Sk). apply in_seq in Hk.
      destruct (pick_ok j s (senders x s j)) as [P1 P2]; [exists k; split; [lia|auto]|].
      rewrite (nsum_ext n _ (fun i => if pick j s (senders x s j) =? i then 1 else 0)).
      * rewrite nsum_ind by auto. reflexivity.
      * intros i Hi. destruct (Nat.eqb_spec (pick j s (senders x s j)) i) as [<-|]; [rewrite P2; reflexivity|].
        rewrite andb_false_r; reflexivity.
    + rewrite (nsum_ext n _ (fun _ => 0)); [apply nsum_zero|]. intros i Hi.
      assert (senders x s j i = false); [|rewrite H; reflexivity].
      destruct (senders x s j i) eqn:E1; [|reflexivity].
      assert (any (senders x s j) = true) by (apply existsb_exists; exists i; split; [apply in_seq; lia|auto]). congruence.
  - intros i Hi.
    assert (Sd : senders x s j i = (i <? n) && nonempty x s i && (tgt i s =? j)) by reflexivity.
    rewrite Sd. unfold accepted. destruct (Nat.eqb_spec (tgt i s) j) as [<-|].
    + destruct (i <? n), (nonempty x s i), (full x (tgt i s)); reflexivity.
    + rewrite andb_false_r. simpl. rewrite andb_false_r. reflexivity.
Qed.

Definition Tot (s : nat) : nat := nsum n (fun i => N i s).

(** All packets in queues and buffers: conserved but for arrivals and completed services. *)
Theorem total_drift : forall W,
  Tot W + nsum m (fun j => served j W) + nsum m (fun j => b2n (full (st W) j))
  = Tot 0 + nsum n (fun i => A i W) + nsum m (fun j => b2n (full st0 j)).
Proof.
  intros W.
  assert (F : Tot W + nsum n (fun i => C i W) = Tot 0 + nsum n (fun i => A i W)).
  { unfold Tot. rewrite <- !nsum_plus. apply nsum_ext. intros i _. apply flow. }
  assert (Q : nsum n (fun i => C i W) = nsum m (fun j => acc_j j W)).
  { unfold C, acc_j. rewrite (nsum_swap n W (fun i s => b2n (accepted (st s) s i))).
    rewrite (nsum_swap m W (fun j s => b2n (negb (full (st s) j) && any (senders (st s) s j)))).
    apply nsum_ext. intros s _. apply one_per_server. }
  assert (G : nsum m (fun j => b2n (full st0 j)) + nsum m (fun j => acc_j j W)
            = nsum m (fun j => b2n (full (st W) j)) + nsum m (fun j => served j W)).
  { rewrite <- !nsum_plus. apply nsum_ext. intros j _. apply server_flow. }
  lia.
Qed.
Corollary total_drift_bound : forall W,
  Tot W + nsum m (fun j => served j W) <= Tot 0 + nsum n (fun i => A i W) + m.
Proof.
  intros W. pose proof (total_drift W).
  assert (nsum m (fun j => b2n (full st0 j)) <= m).
  { generalize (full st0) as fl. intros fl. generalize m as k. clear. intros k.
    induction k; simpl; [lia|]. destruct (fl k); simpl; lia. }
  lia.
Qed.
End Trace.

(** The nearest false statement asks for W - 1 packets only: one queue, one server, and nothing
    happens. *)
Open Scope R_scope.
Theorem drift_false : ~ (forall n m arr tgt pick srv,
  (forall i s, (tgt i s < m)%nat) ->
  (forall j s (S : nat -> bool), (exists i, (i < n)%nat /\ S i = true) ->
    (pick j s S < n)%nat /\ S (pick j s S) = true) ->
  forall st0 W i, (0 < n)%nat -> (0 < m)%nat -> (i < n)%nat ->
  (W - 1 <= M n arr tgt pick srv st0 0)%nat ->
  (Z.of_nat (N n arr tgt pick srv st0 i W) - Z.of_nat (M n arr tgt pick srv st0 0)
    <= Z.of_nat (A arr i W) - (Z.of_nat W - Z.of_nat (Bmin n m arr tgt pick srv st0 W))
       + Reg n m arr tgt pick srv st0 i W)%Z).
Proof.
  intros H.
  specialize (H 1%nat 1%nat (fun _ _ => false) (fun _ _ => 0%nat) (fun _ _ _ => 0%nat) (fun _ _ => false)).
  specialize (H ltac:(intros; apply Nat.lt_0_1)).
  assert (P : forall (j s : nat) (S : nat -> bool), (exists i, (i < 1)%nat /\ S i = true) -> (0 < 1)%nat /\ S 0%nat = true).
  { intros j s S (i & Hi & Hs). replace i with 0%nat in Hs by lia. auto. }
  specialize (H P {| len := fun _ => 0%nat; full := fun _ => false |} 1%nat 0%nat).
  specialize (H ltac:(lia) ltac:(lia) ltac:(lia)). vm_compute in H. specialize (H (le_n 0)). apply H; reflexivity.
Qed.

(** ** strategic.potential_drift

    dN and dM are the mean changes of all packets and of the longest queue, b the mean busy steps,
    err what the conditions on arrivals and regrets add.  With the total service rate as weight of
    the longest queue b cancels. *)
Theorem potential_cancel : forall lam mu lmax b err W m dN dM, 0 <= mu ->
  dN <= lam * W - mu * b + m -> dM <= lmax * W - W + b + err ->
  dN + mu * dM <= - (mu * (1 - lmax) - lam) * W + m + mu * err.
Proof.
  intros lam mu lmax b err W m dN dM Hmu HN HM.
  assert (mu * dM <= mu * (lmax * W - W + b + err)) by (apply Rmult_le_compat_l; auto). lra.
Qed.
(** A large potential means a long queue: n M is at least N. *)
Theorem potential_region : forall n mu N M W, 0 <= n -> 0 < n + mu -> N <= n * M ->
  (n + mu) * W <= N + mu * M -> W <= M.
Proof.
  intros n mu N M W Hn Hmu HN HP. apply (Rmult_le_reg_l (n + mu)); [auto|]. lra.
Qed.
(** When the bound is negative. *)
Theorem potential_sign : forall D mu e m W, 0 < D -> 0 <= W -> mu * e <= D / 2 -> 2 * m / D < W ->
  - D * W + m + mu * (e * W) < 0.
Proof.
  intros D mu e m W HD HW He Hm.
  assert (2 * m < W * D).
  { apply (Rmult_lt_compat_r D) in Hm; [|auto]. replace (2 * m / D * D) with (2 * m) in Hm by (field; lra). lra. }
  assert (mu * e * W <= D / 2 * W) by (apply Rmult_le_compat_r; auto). lra.
Qed.
(** The nearest false statements: a potential of n W, and a period 1.9 m / D. *)
Theorem region_false : ~ (forall n mu N M W, 0 <= n -> 0 < n + mu -> N <= n * M ->
  n * W <= N + mu * M -> W <= M).
Proof. intros F. specialize (F 1 1 1 1 2 ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)). lra. Qed.
Theorem period_false : ~ (forall D mu e m W, 0 < D -> 0 <= W -> mu * e <= D / 2 -> 19 / 10 * m / D < W ->
  - D * W + m + mu * (e * W) < 0).
Proof. intros F. specialize (F 1 1 (1/2) 1 (195/100) ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)). lra. Qed.
(** With any larger weight v they do not: the same bound without b is false. *)
Theorem potential_larger_weight_false : forall v mu, 0 <= mu < v -> ~ (forall lam lmax b W m0 dN dM,
  0 <= b <= W -> dN <= lam * W - mu * b + m0 -> dM <= lmax * W - W + b ->
  dN + v * dM <= - (v * (1 - lmax) - lam) * W + m0).
Proof. intros v mu Hv F. specialize (F 0 0 1 1 0 (- mu) 0 ltac:(lra) ltac:(lra) ltac:(lra)). lra. Qed.

(** ** strategic.tightness

    m identical servers of total rate (1 - eps) lam/(1 - lam), a share eps less than overprovisioning by
    1/(1 - lam) takes: their Hamacher sum is below lam as soon as m > mu/eps.  Proof: multiply out. *)
Theorem tightness : forall lam eps mu m, 0 < lam < 1 -> 0 < eps < 1 ->
  mu = (1 - eps) * lam / (1 - lam) -> mu / eps < m ->
  let r := m * ((mu / m) / (1 - mu / m)) in r / (1 + r) < lam.
Proof.
  intros lam eps mu m Hl He Emu Hm r.
  assert (Hmu : 0 < mu). { rewrite Emu. apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; lra|lra]. }
  assert (Hme : mu < m * eps). { apply (Rmult_lt_reg_r (/ eps)); [apply Rinv_0_lt_compat; lra|].
    replace (m * eps * / eps) with m by (field; lra). exact Hm. }
  assert (Hm0 : 0 < m). { apply (Rmult_lt_reg_r eps); [lra|]. lra. }
  assert (Hmm : mu < m) by nra.
  assert (Er : r = mu * m / (m - mu)). { unfold r. field. lra. }
  assert (El : mu * (1 - lam) = (1 - eps) * lam) by (rewrite Emu; field; lra).
  rewrite Er. assert (0 < m - mu + mu * m) by nra.
  replace (mu * m / (m - mu) / (1 + mu * m / (m - mu))) with (mu * m / (m - mu + mu * m)) by (field; lra).
  apply (Rmult_lt_reg_r (m - mu + mu * m)); [lra|]. unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra. nra.
Qed.

(** Exactly: the Hamacher sum is mu/(1 + mu - nu), nu = mu/m, and it is below lam if and only if m
    > mu/eps. *)
Theorem tightness_exactly : forall lam eps mu m, 0 < lam < 1 -> 0 < eps < 1 ->
  mu = (1 - eps) * lam / (1 - lam) -> mu < INR m ->
  hamacher m (fun _ => mu / INR m) = mu / (1 + mu - mu / INR m)
  /\ (hamacher m (fun _ => mu / INR m) < lam <-> mu / eps < INR m).
Proof.
  intros lam eps mu m Hl He Emu Hm.
  assert (Hmu : 0 < mu). { rewrite Emu. apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; lra|lra]. }
  assert (El : mu * (1 - lam) = (1 - eps) * lam) by (rewrite Emu; field; lra).
  set (x := INR m) in *.
  assert (D : 0 < x - mu + mu * x) by nra.
  assert (Eh : hamacher m (fun _ => mu / x) = mu * x / (x - mu + mu * x)).
  { unfold hamacher, rho, odds. rewrite sumn_const. fold x. field. repeat split; lra. }
  split; [rewrite Eh; field; repeat split; nra|]. rewrite Eh.
  assert (K : mu * x - lam * (x - mu + mu * x) = lam * (mu - eps * x)) by nra.
  split; intros H.
  - apply (Rmult_lt_compat_r (x - mu + mu * x)) in H; [|lra].
    unfold Rdiv in H. rewrite Rmult_assoc, Rinv_l, Rmult_1_r in H by lra.
    apply (Rmult_lt_reg_r eps); [lra|]. replace (mu / eps * eps) with mu by (field; lra). nra.
  - apply (Rmult_lt_compat_r eps) in H; [|lra]. replace (mu / eps * eps) with mu in H by (field; lra).
    apply (Rmult_lt_reg_r (x - mu + mu * x)); [lra|].
    unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. nra.
Qed.
(** Equality is not enough: nine servers of total rate 9/10 have Hamacher sum 1/2, and 1/2 arrives. *)
Theorem nine_servers_false : ~ (forall lam eps mu m, 0 < lam < 1 -> 0 < eps < 1 ->
  mu = (1 - eps) * lam / (1 - lam) -> mu < INR m ->
  (hamacher m (fun _ => mu / INR m) < lam <-> mu / eps <= INR m)).
Proof.
  intros F. assert (I : INR 9 = 9) by (rewrite INR_IZR_INZ; reflexivity).
  destruct (F (1/2) (1/10) (9/10) 9%nat ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)) as [_ H].
  specialize (H ltac:(lra)). unfold hamacher, rho, odds in H. rewrite sumn_const, I in H. lra.
Qed.
(** Ten servers of rate 9/100 have Hamacher sum 90/181, less than 1/2. *)
Theorem tightness_example : hamacher 10 (fun _ => 9/100) = 90/181 /\ 90/181 < 1/2.
Proof. unfold hamacher, rho, odds. rewrite sumn_const. simpl INR. split; [field|lra]. Qed.

(** ** Nearest false statements on the flow of packets: one queue and one server, one step *)
Definition alone : nat -> nat -> nat := fun _ _ => 0%nat.
Definition only : nat -> nat -> (nat -> bool) -> nat := fun _ _ _ => 0%nat.
Definition yes : nat -> nat -> bool := fun _ _ => true.
Definition no : nat -> nat -> bool := fun _ _ => false.
Definition at_first (packet : bool) : state := {| len := fun _ => 0%nat; full := fun _ => packet |}.
Lemma only_ok : forall (j s : nat) (S : nat -> bool), (exists i, (i < 1)%nat /\ S i = true) ->
  (only j s S < 1)%nat /\ S (only j s S) = true.
Proof. intros j s S (i & Hi & Hs). unfold only. replace i with 0%nat in Hs by lia. auto. Qed.

(** A packet accepted and not served. *)
Theorem gap_0_false : ~ (forall n arr tgt pick srv st0 j W,
  (acc_j n arr tgt pick srv st0 j W <= served n arr tgt pick srv st0 j W)%nat).
Proof. intros F. specialize (F 1%nat yes alone only no (at_first false) 0%nat 1%nat). vm_compute in F. lia. Qed.
(** It is in the buffer at the end. *)
Theorem flow_without_buffers_false : ~ (forall n arr tgt pick srv st0 j W,
  acc_j n arr tgt pick srv st0 j W = served n arr tgt pick srv st0 j W).
Proof. intros F. specialize (F 1%nat yes alone only no (at_first false) 0%nat 1%nat). vm_compute in F. lia. Qed.
(** Without the acceptances: free at the start of the step, and busy before service. *)
Theorem free_steps_false : ~ (forall n arr tgt pick srv st0 j W,
  (nsum W (fun s => b2n (negb (full (st n arr tgt pick srv st0 s) j))) + B n arr tgt pick srv st0 j W)%nat = W).
Proof. intros F. specialize (F 1%nat yes alone only no (at_first false) 0%nat 1%nat). vm_compute in F. lia. Qed.
(** A packet that was in the buffer at the start is served. *)
Theorem total_less_false : ~ (forall n m arr tgt pick srv, (forall i s, (tgt i s < m)%nat) ->
  (forall j s (S : nat -> bool), (exists i, (i < n)%nat /\ S i = true) ->
    (pick j s S < n)%nat /\ S (pick j s S) = true) ->
  forall st0 W, (Tot n arr tgt pick srv st0 W + nsum m (fun j => served n arr tgt pick srv st0 j W)
    <= Tot n arr tgt pick srv st0 0 + nsum n (fun i => A arr i W) + (m - 1))%nat).
Proof.
  intros F. specialize (F 1%nat 1%nat no alone only yes ltac:(intros; apply Nat.lt_0_1) only_ok (at_first true) 1%nat).
  vm_compute in F. lia.
Qed.
(** With delta once: a packet arrives and the server asked is full, the other one is not. *)
Theorem delta_once_false : ~ (forall n m arr tgt pick srv,
  (forall j s (S : nat -> bool), (exists i, (i < n)%nat /\ S i = true) ->
    (pick j s S < n)%nat /\ S (pick j s S) = true) ->
  forall st0 W lmax delta, (0 < n)%nat -> (0 < m)%nat -> (W <= M n arr tgt pick srv st0 0)%nat ->
  (forall i, (i < n)%nat -> INR (A arr i W) <= (lmax + delta) * INR W) ->
  (forall i, (i < n)%nat -> IZR (Reg n m arr tgt pick srv st0 i W) <= delta * INR W) ->
  INR (M n arr tgt pick srv st0 W) - INR (M n arr tgt pick srv st0 0)
   <= lmax * INR W - (INR W - INR (Bmin n m arr tgt pick srv st0 W)) + delta * INR W).
Proof.
  intros F. pose (x := {| len := fun _ => 1%nat; full := fun j => Nat.eqb j 0 |}).
  specialize (F 1%nat 2%nat yes alone only no only_ok x 1%nat 0 1 ltac:(lia) ltac:(lia) (le_n 1)).
  assert (EA : A yes 0 1 = 1%nat) by reflexivity.
  assert (ER : Reg 1 2 yes alone only no x 0 1 = 1%Z) by reflexivity.
  assert (E1 : M 1 yes alone only no x 1 = 2%nat) by reflexivity.
  assert (E0 : M 1 yes alone only no x 0 = 1%nat) by reflexivity.
  assert (EB : Bmin 1 2 yes alone only no x 1 = 0%nat) by reflexivity.
  assert (HA : forall i, (i < 1)%nat -> INR (A yes i 1) <= (0 + 1) * INR 1)
    by (intros [|i] Hi; [rewrite EA; simpl; lra|lia]).
  assert (HR : forall i, (i < 1)%nat -> IZR (Reg 1 2 yes alone only no x i 1) <= 1 * INR 1)
    by (intros [|i] Hi; [rewrite ER; simpl; lra|lia]).
  specialize (F HA HR). rewrite E1, E0, EB in F. simpl in F. lra.
Qed.
(** What was in the buffers counts. *)
Theorem conserved_without_buffers_false : ~ (forall n m arr tgt pick srv, (forall i s, (tgt i s < m)%nat) ->
  (forall j s (S : nat -> bool), (exists i, (i < n)%nat /\ S i = true) ->
    (pick j s S < n)%nat /\ S (pick j s S) = true) ->
  forall st0 W, (Tot n arr tgt pick srv st0 W + nsum m (fun j => served n arr tgt pick srv st0 j W))%nat
    = (Tot n arr tgt pick srv st0 0 + nsum n (fun i => A arr i W))%nat).
Proof.
  intros F. specialize (F 1%nat 1%nat no alone only yes ltac:(intros; apply Nat.lt_0_1) only_ok (at_first true) 1%nat).
  vm_compute in F. lia.
Qed.
(** One packet less is not enough for a queue that ends longest: nothing happens. *)
Theorem drift_max_false : ~ (forall n m arr tgt pick srv,
  (forall j s (S : nat -> bool), (exists i, (i < n)%nat /\ S i = true) ->
    (pick j s S < n)%nat /\ S (pick j s S) = true) ->
  forall st0 W, (0 < n)%nat -> (0 < m)%nat -> (W - 1 <= M n arr tgt pick srv st0 0)%nat ->
  exists i, (i < n)%nat /\ N n arr tgt pick srv st0 i W = M n arr tgt pick srv st0 W /\
  (Z.of_nat (M n arr tgt pick srv st0 W) - Z.of_nat (M n arr tgt pick srv st0 0)
   <= Z.of_nat (A arr i W) - (Z.of_nat W - Z.of_nat (Bmin n m arr tgt pick srv st0 W))
      + Reg n m arr tgt pick srv st0 i W)%Z).
Proof.
  intros F. destruct (F 1%nat 1%nat no alone only no only_ok (at_first false) 1%nat (le_n 1) (le_n 1) (le_n 0))
    as ([|i] & Hi & _ & H); [|lia]. vm_compute in H. apply H. reflexivity.
Qed.
