(** * Serving the largest rate first: contextual.greedy_is_optimal and its companions

    Also contextual.path_likelihood, one_step_loss, survival.  Jobs are numbered 0, 1, ... from the
    best rate down; a set of jobs is a list of booleans.  Arrivals are a table, so any arrivals
    that do not depend on the services. *)

From Coq Require Import Reals Lra Psatz List Arith Lia Bool.
Import ListNotations.
Open Scope R_scope.

(** ** Sets of jobs: is i in s, s without i, the size, the first job of s that is available *)
Fixpoint get (i:nat) (s:list bool) : bool :=
  match s, i with nil,_ => false | b::_,O => b | _::s',S i' => get i' s' end.
Fixpoint clr (i:nat) (s:list bool) : list bool :=
  match s, i with nil,_ => nil | _::s',O => false::s' | b::s',S i' => b::clr i' s' end.
Fixpoint card (s:list bool) : nat :=
  match s with nil => O | b::s' => ((if b then 1 else 0) + card s')%nat end.
Fixpoint topf (a:nat->bool) (s:list bool) : option nat :=
  match s with nil => None
  | b::s' => if b && a O then Some O
             else match topf (fun p => a (S p)) s' with None => None | Some k => Some (S k) end end.

Lemma get_clr_eq : forall s i, get i (clr i s) = false.
Proof. induction s; destruct i; simpl; auto. Qed.
Lemma get_clr_neq : forall s i j, i <> j -> get j (clr i s) = get j s.
Proof. induction s; destruct i, j; simpl; intros; auto; try congruence. Qed.
Lemma clr_comm : forall s i j, clr i (clr j s) = clr j (clr i s).
Proof. induction s; destruct i, j; simpl; auto. rewrite IHs; auto. Qed.
Lemma card_clr : forall s i, get i s = true -> card s = S (card (clr i s)).
Proof. induction s; destruct i; simpl; intros; try discriminate.
  - subst; reflexivity.
  - rewrite (IHs i H). destruct a; simpl; lia. Qed.
Lemma topf_some : forall s a k, topf a s = Some k ->
  get k s = true /\ a k = true /\ (forall p, (p < k)%nat -> get p s && a p = false).
Proof. induction s; simpl; intros f k H; try discriminate.
  destruct (a && f O) eqn:E.
  - inversion H; subst; apply andb_true_iff in E; destruct E; simpl; repeat split; auto; intros; lia.
  - destruct (topf (fun p => f (S p)) s) eqn:E2; try discriminate. inversion H; subst.
    apply IHs in E2; destruct E2 as [A [B C]]. simpl; repeat split; auto.
    intros p Hp; destruct p; simpl; auto. apply C; lia. Qed.
Lemma topf_le : forall s a i, get i s = true -> a i = true ->
  exists k, topf a s = Some k /\ (k <= i)%nat.
Proof. induction s; simpl; intros f i G A; [destruct i; discriminate|].
  destruct (a && f O) eqn:E; [exists O; split; auto; lia|].
  destruct i. { simpl in G; subst; rewrite A in E; discriminate. }
  destruct (IHs (fun p => f (S p)) i G A) as [k [K L]]. rewrite K. exists (S k); split; auto; lia. Qed.
Lemma topf_uniq : forall s a k, get k s = true -> a k = true ->
  (forall p, (p < k)%nat -> get p s && a p = false) -> topf a s = Some k.
Proof. intros s a k G A M. destruct (topf_le s a k G A) as [k' [K L]].
  destruct (topf_some _ _ _ K) as [G' [A' M']].
  destruct (Nat.eq_dec k k'); [subst; auto|]. exfalso.
  assert (k' < k)%nat by lia. specialize (M k' H). rewrite G', A' in M. discriminate. Qed.

Section Q.
(** [r p]: best rate of job p; [avail t p]: job p has arrived by round t. *)
Variable r : nat -> R.
Hypothesis r01 : forall p, 0 <= r p <= 1.
Hypothesis rmono : forall p q, (p <= q)%nat -> r q <= r p.
Variable avail : nat -> nat -> bool.
Hypothesis amono : forall t p, avail t p = true -> avail (S t) p = true.

(** The next job of the greedy policy, and its value: [V n t Phi s] is the mean of Phi(path of the
    queue length) over n more rounds, from the jobs s in round t.  The size of s counts jobs that
    are still to come; how many is known, so that a function of the sizes is a function of the
    lengths. *)
Definition top t s := topf (avail t) s.
Definition fn := list nat -> R.

Fixpoint V (n:nat) (t:nat) (Phi:fn) (s:list bool) : R :=
  match n with
  | O => Phi [card s]
  | S m => let Phi' := fun g => Phi (card s :: g) in
           match top t s with
           | None => V m (S t) Phi' s
           | Some k => r k * V m (S t) Phi' (clr k s) + (1 - r k) * V m (S t) Phi' s
           end
  end.
Definition step n t (Psi:fn) s :=
  match top t s with
  | None => V n (S t) Psi s
  | Some k => r k * V n (S t) Psi (clr k s) + (1 - r k) * V n (S t) Psi s end.

Lemma V_S : forall n t Phi s, V (S n) t Phi s = step n t (fun g => Phi (card s :: g)) s.
Proof. reflexivity. Qed.
Lemma step_V : forall n t Psi s, step n t Psi s = V (S n) t (fun g => Psi (tl g)) s.
Proof. reflexivity. Qed.

Lemma V_sub : forall n t P1 P2 s, V n t (fun g => P1 g - P2 g) s = V n t P1 s - V n t P2 s.
Proof. induction n; intros; simpl; [lra|].
  destruct (top t s); rewrite ?(IHn (S t) (fun g => P1 (card s :: g)) (fun g => P2 (card s :: g))); ring. Qed.
Lemma V_pos : forall n t P s, (forall g, 0 <= P g) -> 0 <= V n t P s.
Proof. induction n; intros; simpl; auto. destruct (top t s) as [k|].
  - pose proof (r01 k). apply Rplus_le_le_0_compat; apply Rmult_le_pos; try lra; apply IHn; auto.
  - apply IHn; auto. Qed.

Definition here t s i := get i s = true /\ avail t i = true.
Lemma here_S : forall t s i, here t s i -> here (S t) s i.
Proof. intros t s i [A B]; split; auto. Qed.
Lemma here_clr : forall t s i k, i <> k -> here t s i -> here t (clr k s) i.
Proof. intros t s i k N [A B]; split; auto. rewrite get_clr_neq; auto. Qed.
Lemma top_cases : forall t s i j, (i < j)%nat -> here t s i -> here t s j ->
  (exists k, (k < i)%nat /\ here t s k /\ top t s = Some k
    /\ top t (clr i s) = Some k /\ top t (clr j s) = Some k)
  \/ (top t s = Some i /\ top t (clr j s) = Some i /\
      exists k, (i < k <= j)%nat /\ here t (clr i s) k /\ top t (clr i s) = Some k).
Proof. intros t s i j L [Gi Ai] [Gj Aj].
  destruct (topf_le s (avail t) i Gi Ai) as [k [K Le]].
  destruct (topf_some _ _ _ K) as [Gk [Ak Mk]].
  assert (MC: forall q p, (p < k)%nat -> get p (clr q s) && avail t p = false).
  { intros q p Hp. destruct (Nat.eq_dec q p).
    - subst; rewrite get_clr_eq; auto.
    - rewrite get_clr_neq; auto. }
  destruct (Nat.eq_dec k i).
  - subst k; right. split; auto. split.
    + apply topf_uniq; auto. rewrite get_clr_neq; auto; lia.
    + assert (Gj': get j (clr i s) = true) by (rewrite get_clr_neq; auto; lia).
      destruct (topf_le (clr i s) (avail t) j Gj' Aj) as [k [K' Le']].
      destruct (topf_some _ _ _ K') as [Gk' [Ak' Mk']].
      exists k. split; [|split; [split; auto|auto]].
      split; auto. destruct (Nat.lt_trichotomy i k) as [H|[H|H]]; auto.
      * subst; rewrite get_clr_eq in Gk'; discriminate.
      * pose proof (MC i k H) as Z. rewrite Gk', Ak' in Z; discriminate.
  - left. exists k. split; [lia|]. split; [split; auto|]. split; auto.
    split; apply topf_uniq; auto; rewrite get_clr_neq; auto; lia. Qed.

(** ** contextual.path_likelihood

    For every Phi >= 0: the path without the better job i, weighted by r i, is at least as likely
    as the path without j, weighted by r j.  Induction on the rounds; if i is served first, compare
    with the next job. *)
Theorem path_likelihood : forall n t Phi s i j, (forall g, 0 <= Phi g) -> (i < j)%nat ->
  here t s i -> here t s j ->
  r j * V n t Phi (clr j s) <= r i * V n t Phi (clr i s).
Proof. induction n; intros t Phi s i j P L Hi Hj; pose proof (rmono i j ltac:(lia)) as Rij;
  assert (C: card (clr i s) = card (clr j s)) by
    (pose proof (card_clr s i (proj1 Hi)); pose proof (card_clr s j (proj1 Hj)); lia).
  - simpl. rewrite C. apply Rmult_le_compat_r; auto.
  - simpl. rewrite C. set (F := fun g => Phi (card (clr j s) :: g)).
    assert (PF: forall g, 0 <= F g) by (intro; apply P).
    pose proof (r01 i); pose proof (r01 j).
    destruct (top_cases t s i j L Hi Hj) as [[k [Lk [Hk [_ [T1 T2]]]]]|[_ [T2 [k [Lk [Hk T1]]]]]]; rewrite T1, T2; pose proof (r01 k).
    + assert (A: r j * V n (S t) F (clr k (clr j s)) <= r i * V n (S t) F (clr k (clr i s))).
      { rewrite (clr_comm s k j), (clr_comm s k i). apply IHn; auto; apply here_S; apply here_clr; auto; lia. }
      assert (B: r j * V n (S t) F (clr j s) <= r i * V n (S t) F (clr i s)) by (apply IHn; auto; apply here_S; auto).
      nra.
    + assert (B: r j * V n (S t) F (clr j s) <= r i * V n (S t) F (clr i s)) by (apply IHn; auto; apply here_S; auto).
      assert (A: r j * V n (S t) F (clr i (clr j s)) <= r k * V n (S t) F (clr k (clr i s))).
      { rewrite (clr_comm s i j). destruct (Nat.eq_dec k j); [subst; lra|].
        apply IHn; auto; [lia|apply here_S; auto|apply here_S; apply here_clr; auto; lia]. }
      pose proof (rmono i k ltac:(lia)).
      pose proof (V_pos n (S t) F (clr j s) PF). pose proof (V_pos n (S t) F (clr i s) PF).
      assert (r j * (r i * V n (S t) F (clr i (clr j s))) <= r i * (r k * V n (S t) F (clr k (clr i s)))) by nra.
      assert (r j * ((1 - r i) * V n (S t) F (clr j s)) <= r i * ((1 - r k) * V n (S t) F (clr i s))).
      { apply Rle_trans with ((1 - r i) * (r i * V n (S t) F (clr i s))); [nra|].
        assert (0 <= r i * V n (S t) F (clr i s)) by (apply Rmult_le_pos; lra). nra. }
      lra. Qed.

(** Two jobs of the same rate: every path is as likely without the one as without the other, in
    whichever order they are served. *)
Theorem equal_rates : forall n t Phi s i j, (i < j)%nat -> here t s i -> here t s j -> r i = r j ->
  V n t Phi (clr i s) = V n t Phi (clr j s).
Proof. induction n; intros t Phi s i j L Hi Hj E;
  assert (C: card (clr i s) = card (clr j s)) by
    (pose proof (card_clr s i (proj1 Hi)); pose proof (card_clr s j (proj1 Hj)); lia).
  - simpl. rewrite C. reflexivity.
  - simpl. rewrite C. set (F := fun g => Phi (card (clr j s) :: g)).
    assert (B: V n (S t) F (clr i s) = V n (S t) F (clr j s)) by (apply IHn; auto; apply here_S; auto).
    destruct (top_cases t s i j L Hi Hj) as [[k [Lk [Hk [_ [T1 T2]]]]]|[_ [T2 [k [Lk [Hk T1]]]]]];
      rewrite T1, T2, B.
    + rewrite (clr_comm s k i), (clr_comm s k j).
      rewrite (IHn (S t) F (clr k s) i j) by (auto; apply here_S, here_clr; auto; lia). reflexivity.
    + pose proof (rmono i k ltac:(lia)). pose proof (rmono k j ltac:(lia)).
      replace (r k) with (r i) by lra. rewrite (clr_comm s i j).
      destruct (Nat.eq_dec k j); [subst; reflexivity|].
      rewrite (IHn (S t) F (clr i s) k j); auto; try lra; [lia|apply here_S; auto|apply here_S, here_clr; auto; lia]. Qed.

(** ** contextual.greedy_is_optimal

    For every nondecreasing Phi of the path: a job fewer is less, and removing the better job,
    weighted by its rate, gains more.  Induction on the rounds, with one identity in each of two
    cases. *)
Definition mono (Phi:fn) := forall g g', Forall2 le g g' -> Phi g <= Phi g'.
Lemma F2refl : forall g, Forall2 le g g.
Proof. induction g; constructor; auto. Qed.
Lemma mono_cons : forall Phi c, mono Phi -> mono (fun g => Phi (c :: g)).
Proof. intros Phi c M g g' H. apply M; constructor; auto. Qed.

Theorem exchange : forall n t Phi s, mono Phi ->
  (forall i, here t s i -> V n t Phi (clr i s) <= V n t Phi s) /\
  (forall i j, (i < j)%nat -> here t s i -> here t s j ->
     r j * (V n t Phi s - V n t Phi (clr j s)) <= r i * (V n t Phi s - V n t Phi (clr i s))).
Proof. induction n; intros t Phi s M.
  - split.
    + intros i [Gi _]; simpl. apply M; constructor; auto. rewrite (card_clr s i Gi); lia.
    + intros i j L [Gi Ai] [Gj Aj]; simpl.
      assert (C: card (clr i s) = card (clr j s)) by
        (pose proof (card_clr s i Gi); pose proof (card_clr s j Gj); lia).
      rewrite C. apply Rmult_le_compat_r; [|apply rmono; lia].
      assert (Phi [card (clr j s)] <= Phi [card s]) by (apply M; constructor; auto; rewrite (card_clr s j Gj); lia). lra.
  - set (Fa := fun g => Phi (card s :: g)).
    assert (MFa: mono Fa) by (apply mono_cons; auto).
    assert (Dec: forall i, here t s i -> V (S n) t Phi (clr i s) =
        step n t Fa (clr i s) - step n t (fun g => Fa g - Phi (pred (card s) :: g)) (clr i s)).
    { intros i [Gi Ai]. rewrite V_S. assert (E: card (clr i s) = pred (card s)) by (rewrite (card_clr s i Gi); auto).
      rewrite E. unfold step. destruct (top t (clr i s)); rewrite ?V_sub; lra. }
    assert (PD: forall g, 0 <= Fa g - Phi (pred (card s) :: g)).
    { intro g. unfold Fa. assert (Phi (pred (card s) :: g) <= Phi (card s :: g)) by (apply M; constructor; [lia|apply F2refl]). lra. }
    assert (Dpos: forall i, 0 <= step n t (fun g => Fa g - Phi (pred (card s) :: g)) (clr i s)).
    { intro i. rewrite step_V. apply V_pos. intro; apply PD. }
    assert (Vs: V (S n) t Phi s = step n t Fa s) by reflexivity.
    (* monotonicity of step *)
    assert (Mo: forall i, here t s i -> step n t Fa (clr i s) <= step n t Fa s).
    { intros i Hi. destruct Hi as [Gi Ai].
      destruct (topf_le s (avail t) i Gi Ai) as [k [K Le]].
      destruct (topf_some _ _ _ K) as [Gk [Ak Mk]]. pose proof (r01 k).
      unfold step at 2. unfold top; rewrite K.
      destruct (IHn (S t) Fa s MFa) as [I1 _]. destruct (IHn (S t) Fa (clr k s) MFa) as [I2 _].
      destruct (Nat.eq_dec k i).
      - subst k. unfold step. destruct (top t (clr i s)) as [k|] eqn:E.
        + destruct (topf_some _ _ _ E) as [Gk' [Ak' _]]. pose proof (r01 k).
          pose proof (I2 k (here_S _ _ _ (conj Gk' Ak'))).
          pose proof (I1 i (here_S _ _ _ (conj Gi Ai))). nra.
        + pose proof (I1 i (here_S _ _ _ (conj Gi Ai))). nra.
      - assert (T: top t (clr i s) = Some k).
        { apply topf_uniq; auto. rewrite get_clr_neq; auto.
          intros p Hp. destruct (Nat.eq_dec i p); [subst; rewrite get_clr_eq; auto|rewrite get_clr_neq; auto]. }
        unfold step. rewrite T. rewrite ?(clr_comm s k i).
        assert (Nik: i <> k) by congruence.
        pose proof (I2 i (here_S _ _ _ (here_clr t s i k Nik (conj Gi Ai)))) as Z2.
        pose proof (I1 i (here_S _ _ _ (conj Gi Ai))) as Z1. apply Rplus_le_compat; apply Rmult_le_compat_l; lra. }
    split.
    + intros i Hi. rewrite (Dec i Hi), Vs. pose proof (Mo i Hi). pose proof (Dpos i). lra.
    + intros i j L Hi Hj. rewrite (Dec i Hi), (Dec j Hj), Vs.
      pose proof (path_likelihood (S n) t (fun g => Fa (tl g) - Phi (pred (card s) :: tl g)) s i j ltac:(intro; apply PD) L Hi Hj) as LK.
      change (V (S n) t (fun g => Fa (tl g) - Phi (pred (card s) :: tl g)) (clr j s)) with (step n t (fun g => Fa g - Phi (pred (card s) :: g)) (clr j s)) in LK.
      change (V (S n) t (fun g => Fa (tl g) - Phi (pred (card s) :: tl g)) (clr i s)) with (step n t (fun g => Fa g - Phi (pred (card s) :: g)) (clr i s)) in LK.
      assert (X: r j * (step n t Fa s - step n t Fa (clr j s)) <= r i * (step n t Fa s - step n t Fa (clr i s))); [|nra].
      destruct (IHn (S t) Fa s MFa) as [_ J1].
      destruct (top_cases t s i j L Hi Hj) as [[k [Lk [Hk [T0 [T1 T2]]]]]|[T0 [T2 [k [Lk [Hk T1]]]]]];
        unfold step; rewrite T0, T1, T2.
      * pose proof (r01 k). destruct (IHn (S t) Fa (clr k s) MFa) as [_ J2].
        pose proof (J1 i j L (here_S _ _ _ Hi) (here_S _ _ _ Hj)) as A.
        assert (B := J2 i j L (here_S _ _ _ (here_clr t s i k ltac:(lia) Hi)) (here_S _ _ _ (here_clr t s j k ltac:(lia) Hj))).
        rewrite (clr_comm s k i), (clr_comm s k j). nra.
      * pose proof (r01 i). pose proof (r01 j). destruct (IHn (S t) Fa (clr i s) MFa) as [_ J2].
        pose proof (J1 i j L (here_S _ _ _ Hi) (here_S _ _ _ Hj)) as A.
        assert (B: r j * (V n (S t) Fa (clr i s) - V n (S t) Fa (clr j (clr i s))) <=
                   r k * (V n (S t) Fa (clr i s) - V n (S t) Fa (clr k (clr i s)))).
        { destruct (Nat.eq_dec k j); [subst; lra|].
          apply J2; [lia|apply here_S; auto|apply here_S; apply here_clr; auto; lia]. }
        rewrite (clr_comm s i j). nra. Qed.

(** Every value that a policy can reach: it may idle, serve any job here with any p up to its best
    rate, continue as it likes after success and after failure, and mix. *)
Inductive ach : nat -> nat -> fn -> list bool -> R -> Prop :=
| a_end : forall t Phi s, ach O t Phi s (Phi [card s])
| a_idle : forall n t Phi s v, ach n (S t) (fun g => Phi (card s :: g)) s v -> ach (S n) t Phi s v
| a_serve : forall n t Phi s j p v1 v0, here t s j -> 0 <= p <= r j ->
    ach n (S t) (fun g => Phi (card s :: g)) (clr j s) v1 ->
    ach n (S t) (fun g => Phi (card s :: g)) s v0 -> ach (S n) t Phi s (p * v1 + (1 - p) * v0)
| a_mix : forall n t Phi s a v w, 0 <= a <= 1 -> ach n t Phi s v -> ach n t Phi s w ->
    ach n t Phi s (a * v + (1 - a) * w).

(** Greedy is such a policy, and no other has a smaller value. *)
Theorem greedy_attains : forall n t Phi s, ach n t Phi s (V n t Phi s).
Proof. induction n; intros; simpl; [constructor|]. destruct (top t s) as [k|] eqn:E.
  - destruct (topf_some _ _ _ E) as [A [B _]]. apply a_serve with (j:=k); [split; auto|pose proof (r01 k); lra|apply IHn|apply IHn].
  - apply a_idle; apply IHn. Qed.
Theorem greedy_optimal : forall n t Phi s v, mono Phi -> ach n t Phi s v -> V n t Phi s <= v.
Proof. intros n t Phi s v M H. induction H.
  - simpl; lra.
  - specialize (IHach (mono_cons _ _ M)). rewrite V_S.
    set (F := fun g => Phi (card s :: g)) in *. assert (MF: mono F) by (apply mono_cons; auto).
    unfold step. destruct (top t s) as [k|] eqn:E; [|lra].
    destruct (topf_some _ _ _ E) as [A [B _]]. pose proof (r01 k).
    destruct (exchange n (S t) F s MF) as [I _]. pose proof (I k (here_S _ _ _ (conj A B))). nra.
  - specialize (IHach1 (mono_cons _ _ M)). specialize (IHach2 (mono_cons _ _ M)). rewrite V_S.
    set (F := fun g => Phi (card s :: g)) in *. assert (MF: mono F) by (apply mono_cons; auto).
    destruct H as [Gj Aj]. destruct (topf_le s (avail t) j Gj Aj) as [k [K Le]].
    destruct (topf_some _ _ _ K) as [Gk [Ak Mk]].
    unfold step, top; rewrite K. destruct (exchange n (S t) F s MF) as [I J].
    pose proof (r01 k). pose proof (r01 j).
    pose proof (I j (here_S _ _ _ (conj Gj Aj))).
    assert (X: r j * (V n (S t) F s - V n (S t) F (clr j s)) <= r k * (V n (S t) F s - V n (S t) F (clr k s))).
    { destruct (Nat.eq_dec k j); [subst; lra|]. apply J; [lia|apply here_S; split; auto|apply here_S; split; auto]. }
    assert (p * (V n (S t) F s - V n (S t) F (clr j s)) <= r j * (V n (S t) F s - V n (S t) F (clr j s))) by (apply Rmult_le_compat_r; lra).
    assert (p * V n (S t) F (clr j s) <= p * v1) by (apply Rmult_le_compat_l; lra).
    assert ((1-p) * V n (S t) F s <= (1-p) * v0) by (apply Rmult_le_compat_l; [|lra]; lra).
    lra.
  - specialize (IHach1 M). specialize (IHach2 M). nra. Qed.

(** ** contextual.one_step_loss

    [W]: the mean length at the end.  A round with job j at rate p in place of the first job k
    costs between (1 - r_0)^n (r k - p) and r k - p. *)
Fixpoint W (n t:nat) (s:list bool) : R :=
  match n with
  | O => INR (card s)
  | S m => match top t s with
           | None => W m (S t) s
           | Some k => r k * W m (S t) (clr k s) + (1 - r k) * W m (S t) s end end.

(** It is the value of a function of the path. *)
Theorem mean_length : forall n t s, W n t s = V n t (fun g => INR (last g O)) s.
Proof.
  assert (X: forall n t P Q s, (forall c g, P (c :: g) = Q (c :: g)) -> V n t P s = V n t Q s).
  { induction n; intros t P Q s E; simpl; [apply E|].
    destruct (top t s); rewrite !(IHn (S t) (fun g => P (card s :: g)) (fun g => Q (card s :: g))); auto. }
  induction n; intros t s; simpl; [reflexivity|].
  destruct (top t s); rewrite !IHn; rewrite <- !(X n (S t) (fun g => INR (last g O)) (fun g => INR (last (card s :: g) O)));
    reflexivity. Qed.

Lemma adv : forall n t s,
  (forall i, here t s i -> (1 - r O) ^ n <= W n t s - W n t (clr i s) <= 1) /\
  (forall i j, (i < j)%nat -> here t s i -> here t s j ->
     (1 - r O) ^ n * (r i - r j) <=
       r i * (W n t s - W n t (clr i s)) - r j * (W n t s - W n t (clr j s)) <= r i - r j).
Proof. induction n; intros t s.
  - assert (D: forall i, here t s i -> W 0 t s - W 0 t (clr i s) = 1).
    { intros i [Gi _]; simpl. rewrite (card_clr s i Gi), S_INR. ring. }
    split; [intros i Hi; rewrite (D i Hi); simpl; lra|].
    intros i j L Hi Hj; rewrite (D i Hi), (D j Hj); simpl; lra.
  - assert (C0: 0 <= (1 - r O) ^ n) by (apply pow_le; pose proof (r01 O); lra).
    assert (R0: forall k, r k <= r O) by (intro; apply rmono; lia).
    assert (PW: (1 - r O) ^ S n = (1 - r O) * (1 - r O) ^ n) by reflexivity.
    set (c := (1 - r O) ^ n) in *. rewrite PW; clear PW. destruct (IHn (S t) s) as [I1 J1]. split.
    + intros i Hi. destruct Hi as [Gi Ai].
      destruct (topf_le s (avail t) i Gi Ai) as [k [K Le]].
      destruct (topf_some _ _ _ K) as [Gk [Ak Mk]]. pose proof (r01 k). pose proof (R0 k). pose proof (r01 O).
      pose proof (I1 i (here_S _ _ _ (conj Gi Ai))) as Z1. destruct (IHn (S t) (clr k s)) as [I2 _].
      destruct (Nat.eq_dec k i).
      * subst k. simpl W. replace (top t s) with (Some i) by (symmetry; exact K).
        destruct (top t (clr i s)) as [k|] eqn:E.
        -- destruct (topf_some _ _ _ E) as [Gk' [Ak' _]]. pose proof (r01 k) as Rk.
           assert (ik: r k <= r i). { apply rmono. destruct (Nat.le_gt_cases i k); auto. exfalso.
             assert (k <> i) by lia. rewrite get_clr_neq in Gk' by lia.
             pose proof (Mk k ltac:(lia)) as Z. rewrite Gk', Ak' in Z; discriminate. }
           pose proof (I2 k (here_S _ _ _ (conj Gk' Ak'))) as Z2.
           set (d1 := W n (S t) s - W n (S t) (clr i s)) in *.
           set (d2 := W n (S t) (clr i s) - W n (S t) (clr k (clr i s))) in *.
           match goal with |- _ <= ?m <= _ => replace m with ((1 - r i) * d1 + r k * d2) by (unfold d1, d2; ring) end. split; nra.
        -- set (d1 := W n (S t) s - W n (S t) (clr i s)) in *.
           match goal with |- _ <= ?m <= _ => replace m with ((1 - r i) * d1) by (unfold d1; ring) end. split; nra.
      * assert (Nik: i <> k) by congruence.
        assert (T: top t (clr i s) = Some k).
        { apply topf_uniq; auto. rewrite get_clr_neq; auto.
          intros p Hp. destruct (Nat.eq_dec i p); [subst; rewrite get_clr_eq; auto|rewrite get_clr_neq; auto]. }
        pose proof (I2 i (here_S _ _ _ (here_clr t s i k Nik (conj Gi Ai)))) as Z2.
        simpl W. rewrite T. replace (top t s) with (Some k) by (symmetry; exact K). rewrite (clr_comm s k i).
        set (d1 := W n (S t) s - W n (S t) (clr i s)) in *.
        rewrite (clr_comm s i k) in Z2. rewrite (clr_comm s i k).
        set (d2 := W n (S t) (clr k s) - W n (S t) (clr k (clr i s))) in *.
        match goal with |- _ <= ?m <= _ => replace m with ((1 - r k) * d1 + r k * d2) by (unfold d1, d2; ring) end. split; nra.
    + intros i j L Hi Hj.
      pose proof (J1 i j L (here_S _ _ _ Hi) (here_S _ _ _ Hj)) as A.
      pose proof (r01 i). pose proof (r01 j). pose proof (r01 O). pose proof (rmono i j ltac:(lia)).
      destruct (top_cases t s i j L Hi Hj) as [[k [Lk [Hk [T0 [T1 T2]]]]]|[T0 [T2 [k [Lk [Hk T1]]]]]];
        simpl W; rewrite T0, T1, T2.
      * pose proof (r01 k). pose proof (R0 k). destruct (IHn (S t) (clr k s)) as [_ J2].
        assert (B := J2 i j L (here_S _ _ _ (here_clr t s i k ltac:(lia) Hi)) (here_S _ _ _ (here_clr t s j k ltac:(lia) Hj))).
        rewrite (clr_comm s k i), (clr_comm s k j). rewrite (clr_comm s i k), (clr_comm s j k) in *.
        set (a := r i * (W n (S t) s - W n (S t) (clr i s)) - r j * (W n (S t) s - W n (S t) (clr j s))) in *.
        match type of B with _ <= ?x <= _ => set (b := x) in * end.
        match goal with |- _ <= ?m <= _ => replace m with ((1 - r k) * a + r k * b) by (unfold a, b; ring) end.
        assert (0 <= c * (r i - r j)) by (apply Rmult_le_pos; lra). split; nra.
      * pose proof (R0 i). destruct (IHn (S t) (clr i s)) as [_ J2].
        assert (Rk: r k <= r i) by (apply rmono; lia).
        assert (B: 0 <= r k * (W n (S t) (clr i s) - W n (S t) (clr k (clr i s)))
                      - r j * (W n (S t) (clr i s) - W n (S t) (clr j (clr i s))) <= r i - r j).
        { destruct (Nat.eq_dec k j); [subst; lra|].
          assert (B := J2 k j ltac:(lia) (here_S _ _ _ Hk) (here_S _ _ _ (here_clr t s j i ltac:(lia) Hj))).
          pose proof (rmono k j ltac:(lia)).
          assert (0 <= c * (r k - r j)) by (apply Rmult_le_pos; lra). lra. }
        rewrite (clr_comm s i j).
        set (a := r i * (W n (S t) s - W n (S t) (clr i s)) - r j * (W n (S t) s - W n (S t) (clr j s))) in *.
        match type of B with _ <= ?x <= _ => set (b := x) in * end.
        match goal with |- _ <= ?m <= _ => replace m with ((1 - r i) * a + r i * b) by (unfold a, b; ring) end.
        assert (0 <= c * (r i - r j)) by (apply Rmult_le_pos; lra). split; nra. Qed.
Theorem one_step_loss : forall n t s j k p, here t s j -> top t s = Some k -> 0 <= p <= r j ->
  (1 - r O) ^ n * (r k - p) <=
    (p * W n (S t) (clr j s) + (1 - p) * W n (S t) s) - W (S n) t s <= r k - p.
Proof. intros n t s j k p Hj T P. simpl W. rewrite T.
  destruct (topf_some _ _ _ T) as [Gk [Ak Mk]].
  destruct (adv n (S t) s) as [I J].
  pose proof (I j (here_S _ _ _ Hj)) as D. pose proof (I k (here_S _ _ _ (conj Gk Ak))) as Dk.
  assert (C0: 0 <= (1 - r O) ^ n) by (apply pow_le; pose proof (r01 O); lra).
  set (c := (1 - r O) ^ n) in *.
  assert (X: c * (r k - r j) <= r k * (W n (S t) s - W n (S t) (clr k s)) - r j * (W n (S t) s - W n (S t) (clr j s)) <= r k - r j).
  { destruct (Nat.eq_dec k j); [subst; lra|]. apply J; [|apply here_S; split; auto|apply here_S; auto].
    destruct (Nat.lt_trichotomy k j) as [H|[H|H]]; auto; [congruence|].
    exfalso. destruct Hj as [Gj Aj]. pose proof (Mk j H) as Z. rewrite Gj, Aj in Z; discriminate. }
  set (dj := W n (S t) s - W n (S t) (clr j s)) in *.
  set (dk := W n (S t) s - W n (S t) (clr k s)) in *.
  match goal with |- _ <= ?m <= _ => replace m with ((r k * dk - r j * dj) + (r j - p) * dj) by (unfold dk, dj; ring) end.
  split; nra. Qed.

(** A better job left behind is worth more. *)
Theorem rid_of_the_slow : forall n t s i j, (i < j)%nat -> here t s i -> here t s j ->
  W n t (clr j s) <= W n t (clr i s).
Proof. induction n; intros t s i j L Hi Hj.
  - assert (C: card (clr i s) = card (clr j s)) by
      (pose proof (card_clr s i (proj1 Hi)); pose proof (card_clr s j (proj1 Hj)); lia).
    simpl. rewrite C; lra.
  - pose proof (IHn (S t) s i j L (here_S _ _ _ Hi) (here_S _ _ _ Hj)) as A.
    pose proof (r01 i); pose proof (r01 O).
    destruct (top_cases t s i j L Hi Hj) as [[k [Lk [Hk [_ [T1 T2]]]]]|[_ [T2 [k [Lk [Hk T1]]]]]];
      simpl W; rewrite T1, T2; pose proof (r01 k).
    + assert (B := IHn (S t) (clr k s) i j L (here_S _ _ _ (here_clr t s i k ltac:(lia) Hi)) (here_S _ _ _ (here_clr t s j k ltac:(lia) Hj))).
      rewrite (clr_comm s k i), (clr_comm s k j). rewrite (clr_comm s i k), (clr_comm s j k) in *. nra.
    + assert (Rk: r k <= r i) by (apply rmono; lia).
      assert (B: W n (S t) (clr j (clr i s)) <= W n (S t) (clr k (clr i s))).
      { destruct (Nat.eq_dec k j); [subst; lra|].
        apply IHn; [lia|apply here_S; auto|apply here_S; apply here_clr; auto; lia]. }
      destruct (adv n (S t) (clr j s)) as [I _].
      pose proof (I i (here_S _ _ _ (here_clr t s i j ltac:(lia) Hi))) as M.
      assert (0 <= (1 - r O) ^ n) by (apply pow_le; lra).
      rewrite (clr_comm s i j) in M. rewrite (clr_comm s i j).
      assert (r k * W n (S t) (clr j (clr i s)) <= r k * W n (S t) (clr k (clr i s))) by (apply Rmult_le_compat_l; lra).
      assert ((1 - r k) * W n (S t) (clr j s) <= (1 - r k) * W n (S t) (clr i s)) by (apply Rmult_le_compat_l; lra).
      nra. Qed.

(** The sharper upper bound: the error r k - p times what is left of one job at the end, in [0, 1].
    *)
Theorem one_step_product : forall n t s j k p, here t s j -> top t s = Some k -> 0 <= p <= r j ->
  (p * W n (S t) (clr j s) + (1 - p) * W n (S t) s) - W (S n) t s
    <= (r k - p) * (W n (S t) s - W n (S t) (clr k s)) /\
  0 <= W n (S t) s - W n (S t) (clr k s) <= 1.
Proof. intros n t s j k p Hj T P. simpl W. rewrite T.
  destruct (topf_some _ _ _ T) as [Gk [Ak Mk]].
  destruct (adv n (S t) s) as [I _]. pose proof (I k (here_S _ _ _ (conj Gk Ak))) as Dk.
  assert (C0: 0 <= (1 - r O) ^ n) by (apply pow_le; pose proof (r01 O); lra).
  split; [|lra].
  assert (X: W n (S t) (clr j s) <= W n (S t) (clr k s)).
  { destruct (Nat.eq_dec k j); [subst; lra|].
    apply rid_of_the_slow; [|apply here_S; split; auto|apply here_S; auto].
    destruct (Nat.lt_trichotomy k j) as [H|[H|H]]; auto; [congruence|].
    exfalso. destruct Hj as [Gj Aj]. pose proof (Mk j H) as Z. rewrite Gj, Aj in Z; discriminate. }
  assert (p * W n (S t) (clr j s) <= p * W n (S t) (clr k s)) by (apply Rmult_le_compat_l; lra).
  nra. Qed.

(** ** contextual.survival

    What is left of one job is at most the chance that the larger queue is never empty. *)
Fixpoint H (n t:nat) (s:list bool) : R :=
  match top t s with
  | None => 0
  | Some k => match n with
              | O => 1
              | S m => r k * H m (S t) (clr k s) + (1 - r k) * H m (S t) s end end.
Lemma H_pos : forall n t s, 0 <= H n t s.
Proof. induction n; intros t s; simpl; destruct (top t s) as [k|]; try lra.
  pose proof (r01 k). pose proof (IHn (S t) (clr k s)). pose proof (IHn (S t) s).
  apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra. Qed.
Theorem survival : forall n t s i, here t s i -> W n t s - W n t (clr i s) <= H n t s.
Proof. induction n; intros t s i Hi; destruct Hi as [Gi Ai];
  destruct (topf_le s (avail t) i Gi Ai) as [k [K Le]];
  destruct (topf_some _ _ _ K) as [Gk [Ak Mk]].
  - simpl. replace (top t s) with (Some k) by (symmetry; exact K).
    rewrite (card_clr s i Gi), S_INR. lra.
  - pose proof (r01 k) as Rk. pose proof (IHn (S t) s i (here_S _ _ _ (conj Gi Ai))) as Z1.
    pose proof (H_pos n (S t) s) as P1. pose proof (H_pos n (S t) (clr k s)) as P2.
    simpl W; simpl H. replace (top t s) with (Some k) by (symmetry; exact K).
    destruct (Nat.eq_dec k i).
    + subst k. destruct (top t (clr i s)) as [k|] eqn:E.
      * destruct (topf_some _ _ _ E) as [Gk' [Ak' _]]. pose proof (r01 k).
        assert (r k <= r i). { apply rmono. destruct (Nat.le_gt_cases i k); auto. exfalso.
          rewrite get_clr_neq in Gk' by lia. pose proof (Mk k ltac:(lia)) as Z. rewrite Gk', Ak' in Z; discriminate. }
        pose proof (IHn (S t) (clr i s) k (here_S _ _ _ (conj Gk' Ak'))) as Z2.
        set (d1 := W n (S t) s - W n (S t) (clr i s)) in *.
        set (d2 := W n (S t) (clr i s) - W n (S t) (clr k (clr i s))) in *.
        match goal with |- ?m <= _ => replace m with ((1 - r i) * d1 + r k * d2) by (unfold d1, d2; ring) end.
        assert (r k * d2 <= r k * H n (S t) (clr i s)) by (apply Rmult_le_compat_l; lra).
        assert (r k * H n (S t) (clr i s) <= r i * H n (S t) (clr i s)) by (apply Rmult_le_compat_r; lra).
        assert ((1 - r i) * d1 <= (1 - r i) * H n (S t) s) by (apply Rmult_le_compat_l; lra). lra.
      * set (d1 := W n (S t) s - W n (S t) (clr i s)) in *.
        match goal with |- ?m <= _ => replace m with ((1 - r i) * d1) by (unfold d1; ring) end.
        assert ((1 - r i) * d1 <= (1 - r i) * H n (S t) s) by (apply Rmult_le_compat_l; lra).
        assert (0 <= r i * H n (S t) (clr i s)) by (apply Rmult_le_pos; lra). lra.
    + assert (Nik: i <> k) by congruence.
      assert (T: top t (clr i s) = Some k).
      { apply topf_uniq; auto. rewrite get_clr_neq; auto.
        intros p Hp. destruct (Nat.eq_dec i p); [subst; rewrite get_clr_eq; auto|rewrite get_clr_neq; auto]. }
      pose proof (IHn (S t) (clr k s) i (here_S _ _ _ (here_clr t s i k Nik (conj Gi Ai)))) as Z2.
      rewrite T. rewrite (clr_comm s i k) in Z2. rewrite (clr_comm s k i).
      rewrite (clr_comm s i k).
      set (d1 := W n (S t) s - W n (S t) (clr i s)) in *.
      set (d2 := W n (S t) (clr k s) - W n (S t) (clr k (clr i s))) in *.
      match goal with |- ?m <= _ => replace m with ((1 - r k) * d1 + r k * d2) by (unfold d1, d2; ring) end.
      assert ((1 - r k) * d1 <= (1 - r k) * H n (S t) s) by (apply Rmult_le_compat_l; lra).
      assert (r k * d2 <= r k * H n (S t) (clr k s)) by (apply Rmult_le_compat_l; lra). lra. Qed.
(** ** Ties are free

    [best n t Phi s v]: the mean v of Phi under a policy that serves some waiting job of the largest rate,
    whichever of equals, and throws coins if it likes. *)
Inductive best : nat -> nat -> (list nat -> R) -> list bool -> R -> Prop :=
| b_end : forall t Phi s, best 0 t Phi s (Phi [card s])
| b_idle : forall n t Phi s v, (forall p, ~ here t s p) ->
    best n (S t) (fun g => Phi (card s :: g)) s v -> best (S n) t Phi s v
| b_serve : forall n t Phi s k v1 v0, here t s k -> (forall p, here t s p -> r p <= r k) ->
    best n (S t) (fun g => Phi (card s :: g)) (clr k s) v1 ->
    best n (S t) (fun g => Phi (card s :: g)) s v0 ->
    best (S n) t Phi s (r k * v1 + (1 - r k) * v0)
| b_coin : forall n t Phi s u v v', best n t Phi s v -> best n t Phi s v' ->
    best n t Phi s (u * v + (1 - u) * v').
Theorem ties_are_free : forall n t Phi s v, best n t Phi s v -> v = V n t Phi s.
Proof.
  intros n t Phi s v B. induction B as [t Phi s|n t Phi s v N B IH|n t Phi s k v1 v0 Hk Hm B1 IH1 B0 IH0|
    n t Phi s u v v' B IH B' IH'].
  - reflexivity.
  - rewrite IH. cbn [V]. unfold top. destruct (topf (avail t) s) as [k|] eqn:E; [|reflexivity].
    destruct (topf_some _ _ _ E) as (G & A & _). destruct (N k). split; auto.
  - rewrite IH1, IH0. cbn [V]. unfold top.
    destruct (topf_le s (avail t) k (proj1 Hk) (proj2 Hk)) as (q & E & L). rewrite E.
    destruct (topf_some _ _ _ E) as (G & A & _).
    destruct (Nat.eq_dec q k) as [->|D]; [reflexivity|].
    assert (Eq : r q = r k) by (pose proof (rmono q k L); pose proof (Hm q (conj G A)); lra).
    rewrite (equal_rates n (S t) _ s q k); [rewrite Eq; reflexivity|lia| | |auto];
      apply here_S; auto; split; auto.
  - rewrite IH, IH'. ring.
Qed.
End Q.

(** ** Nearest false statements: two jobs of rates 1 and 0, or one of rate 1/2, and no arrivals *)
Definition one_fast (p : nat) : R := match p with O => 1 | _ => 0 end.
Definition halves (_ : nat) : R := 1 / 2.
Definition always (_ _ : nat) : bool := true.
Lemma one_fast_rates : forall p, 0 <= one_fast p <= 1.
Proof. intros [|p]; simpl; lra. Qed.
Lemma one_fast_decreases : forall p q, (p <= q)%nat -> one_fast q <= one_fast p.
Proof. intros [|p] [|q] L; simpl; try lra; lia. Qed.
Lemma halves_rates : forall p : nat, 0 <= halves p <= 1.
Proof. intros; unfold halves; lra. Qed.
Lemma halves_decrease : forall p q, (p <= q)%nat -> halves q <= halves p.
Proof. intros; unfold halves; lra. Qed.

(** Without the weights: the length is 1, then 0, only if the fast job is left. *)
Theorem unweighted_false : ~ (forall r : nat -> R, (forall p, 0 <= r p <= 1) ->
  (forall p q, (p <= q)%nat -> r q <= r p) ->
  forall avail : nat -> nat -> bool, (forall t p, avail t p = true -> avail (S t) p = true) ->
  forall n t (Phi : list nat -> R) s i j,
  (forall g, 0 <= Phi g) -> (i < j)%nat -> here avail t s i -> here avail t s j ->
  V r avail n t Phi (clr j s) <= V r avail n t Phi (clr i s)).
Proof.
  intros F. pose (Phi := fun g => match g with [1; 0]%nat => 1 | _ => 0 end).
  specialize (F one_fast one_fast_rates one_fast_decreases always (fun _ _ E => E) 1%nat 0%nat Phi [true; true] 0%nat 1%nat).
  assert (P : forall g, 0 <= Phi g).
  { intros g. unfold Phi. repeat (match goal with |- context [match ?x with _ => _ end] => destruct x end); lra. }
  specialize (F P ltac:(lia) (conj eq_refl eq_refl) (conj eq_refl eq_refl)). simpl in F. lra.
Qed.
(** To remove either job does not help alike. *)
Theorem unweighted_exchange_false : ~ (forall r : nat -> R, (forall p, 0 <= r p <= 1) ->
  (forall p q, (p <= q)%nat -> r q <= r p) ->
  forall avail : nat -> nat -> bool, (forall t p, avail t p = true -> avail (S t) p = true) ->
  forall n t (Phi : list nat -> R) s i j,
  (forall g g', Forall2 le g g' -> Phi g <= Phi g') ->
  (i < j)%nat -> here avail t s i -> here avail t s j ->
  V r avail n t Phi s - V r avail n t Phi (clr j s) <= V r avail n t Phi s - V r avail n t Phi (clr i s)).
Proof.
  intros F. pose (Phi := fun g => INR (nth 1 g 0%nat)).
  specialize (F one_fast one_fast_rates one_fast_decreases always (fun _ _ E => E) 1%nat 0%nat Phi [true; true] 0%nat 1%nat).
  assert (P : forall g g', Forall2 le g g' -> Phi g <= Phi g').
  { intros g g' H. apply le_INR. destruct H as [|x y l l' _ H]; [auto|]. destruct H; simpl; auto. }
  specialize (F P ltac:(lia) (conj eq_refl eq_refl) (conj eq_refl eq_refl)). unfold Phi in F. simpl in F. lra.
Qed.
(** A round less in the lower bound: one job, idle in the last round but one. *)
Theorem round_less_false : ~ (forall r : nat -> R, (forall p, 0 <= r p <= 1) ->
  (forall p q, (p <= q)%nat -> r q <= r p) ->
  forall avail : nat -> nat -> bool, (forall t p, avail t p = true -> avail (S t) p = true) ->
  forall n t s j k p,
  here avail t s j -> top avail t s = Some k -> 0 <= p <= r j ->
  (1 - r 0%nat) ^ (n - 1) * (r k - p) <=
    (p * W r avail n (S t) (clr j s) + (1 - p) * W r avail n (S t) s) - W r avail (S n) t s).
Proof.
  intros F. specialize (F halves halves_rates halves_decrease always (fun _ _ E => E) 1%nat 0%nat [true] 0%nat 0%nat 0 (conj eq_refl eq_refl) eq_refl).
  unfold halves in F. specialize (F ltac:(lra)). simpl in F. lra.
Qed.
(** It is not better to be rid of the fast job. *)
Theorem rid_of_the_fast_false : ~ (forall r : nat -> R, (forall p, 0 <= r p <= 1) ->
  (forall p q, (p <= q)%nat -> r q <= r p) ->
  forall avail : nat -> nat -> bool, (forall t p, avail t p = true -> avail (S t) p = true) ->
  forall n t s i j,
  (i < j)%nat -> here avail t s i -> here avail t s j ->
  W r avail n t (clr i s) <= W r avail n t (clr j s)).
Proof.
  intros F. specialize (F one_fast one_fast_rates one_fast_decreases always (fun _ _ E => E) 1%nat 0%nat [true; true] 0%nat 1%nat ltac:(lia)
    (conj eq_refl eq_refl) (conj eq_refl eq_refl)). simpl in F. lra.
Qed.
(** Half of the error is not enough: one round, idle. *)
Theorem half_product_false : ~ (forall r : nat -> R, (forall p, 0 <= r p <= 1) ->
  (forall p q, (p <= q)%nat -> r q <= r p) ->
  forall avail : nat -> nat -> bool, (forall t p, avail t p = true -> avail (S t) p = true) ->
  forall n t s j k p,
  here avail t s j -> top avail t s = Some k -> 0 <= p <= r j ->
  (p * W r avail n (S t) (clr j s) + (1 - p) * W r avail n (S t) s) - W r avail (S n) t s
    <= (r k - p) / 2 * (W r avail n (S t) s - W r avail n (S t) (clr k s))).
Proof.
  intros F. specialize (F halves halves_rates halves_decrease always (fun _ _ E => E) 0%nat 0%nat [true] 0%nat 0%nat 0 (conj eq_refl eq_refl) eq_refl).
  unfold halves in F. specialize (F ltac:(lra)). simpl in F. lra.
Qed.
(** What is left is not bounded by the survival of the queue without the job: one job, now. *)
Theorem survival_without_false : ~ (forall r : nat -> R, (forall p, 0 <= r p <= 1) ->
  (forall p q, (p <= q)%nat -> r q <= r p) ->
  forall avail : nat -> nat -> bool, (forall t p, avail t p = true -> avail (S t) p = true) ->
  forall n t s i, here avail t s i ->
  W r avail n t s - W r avail n t (clr i s) <= H r avail n t (clr i s)).
Proof.
  intros F. specialize (F halves halves_rates halves_decrease always (fun _ _ E => E) 0%nat 0%nat [true] 0%nat (conj eq_refl eq_refl)).
  simpl in F. lra.
Qed.
(** A function that falls with the length: to idle is better. *)
Theorem any_function_false : ~ (forall r : nat -> R, (forall p, 0 <= r p <= 1) ->
  (forall p q, (p <= q)%nat -> r q <= r p) ->
  forall avail : nat -> nat -> bool, (forall t p, avail t p = true -> avail (S t) p = true) ->
  forall n t (Phi : list nat -> R) s v, ach r avail n t Phi s v -> V r avail n t Phi s <= v).
Proof.
  intros F. pose (Phi := fun g => - INR (last g 0%nat)).
  specialize (F halves halves_rates halves_decrease always (fun _ _ E => E) 1%nat 0%nat Phi [true] _
    (a_idle halves always 0%nat 0%nat Phi [true] _ (a_end halves always 1%nat _ [true]))).
  unfold Phi, halves in F. simpl in F. lra.
Qed.
