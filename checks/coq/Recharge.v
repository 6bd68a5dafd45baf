(** * The recharging bandit: what every learner earns

    Claims recharge.age_state (one server), per_arm_identity, utility_identity,
    hamacher_lower_bound, greedy_no_regret.  Nothing is assumed of how the arms are chosen. *)

From Coq Require Import Reals Lra Lia List Arith.
From Book Require Export Sums.
Import ListNotations.
Open Scope R_scope.

(** ** Definitions

    A history is the list of the arms pulled so far, the latest first.  [age h j] is [Some d] if
    the last pull of j was d steps ago, [None] if j was never pulled. *)
Fixpoint age (h : list nat) (j : nat) : option nat :=
  match h with
  | [] => None
  | a :: t => if Nat.eqb a j then Some 1%nat else option_map S (age t j)
  end.

(** Server j fails with probability q = 1 - mu j in a step; after d steps it accepts with
    probability 1 - q^d. *)
Definition avail (mu : nat -> R) (h : list nat) (j : nat) : R :=
  match age h j with None => 1 | Some d => 1 - (1 - mu j) ^ d end.

(** Utility of the sequence; hindsight value of always using j; what was earned from j. *)
Fixpoint U (mu : nat -> R) (h : list nat) : R :=
  match h with [] => 0 | a :: t => U mu t + avail mu t a end.
Fixpoint Hind (mu : nat -> R) (h : list nat) (j : nat) : R :=
  match h with [] => 0 | a :: t => Hind mu t j + avail mu t j end.
Fixpoint Uarm (mu : nat -> R) (h : list nat) (j : nat) : R :=
  match h with [] => 0
  | a :: t => Uarm mu t j + (if Nat.eqb a j then avail mu t a else 0) end.

(** The boundary term q^L, with L = age - 1 steps after the last pull; 0 if j was never pulled. *)
Definition bdry (mu : nat -> R) (h : list nat) (j : nat) : R :=
  match age h j with None => 0 | Some d => (1 - mu j) ^ (d - 1) end.

(** Odds, their sum rho, the Hamacher sum h = rho / (1 + rho), the regret against the best fixed
    arm. *)
Definition odds (mu : nat -> R) (j : nat) : R := mu j / (1 - mu j).
Definition rho (m : nat) (mu : nat -> R) : R := sumn m (odds mu).
Definition hamacher (m : nat) (mu : nat -> R) : R := rho m mu / (1 + rho m mu).
Definition regret (m : nat) (mu : nat -> R) (h : list nat) : R :=
  maxn (m - 1) (fun j => Hind mu h j - U mu h).
Definition rates (m : nat) (mu : nat -> R) : Prop := forall j, (j < m)%nat -> 0 < mu j < 1.
Definition arms (m : nat) (h : list nat) : Prop := forall a, In a h -> (a < m)%nat.

(** ** recharge.age_state: why a server accepts with probability 1 - q^d

    Bayes' rule for one server: weights of (free, busy) after each step.  [None] is a step in which
    another server was used, [Some true] a job accepted, [Some false] a job rejected. *)
Definition filt (mu : R) (w : R * R) (e : option bool) : R * R :=
  match e with
  | None => (fst w + mu * snd w, (1 - mu) * snd w)
  | Some true => (mu * fst w, (1 - mu) * fst w)
  | Some false => (mu * snd w, (1 - mu) * snd w)
  end.
Fixpoint belief (mu : R) (es : list (option bool)) : R * R :=
  match es with [] => (1, 0) | e :: t => filt mu (belief mu t) e end.
Fixpoint last_use (es : list (option bool)) : option nat :=
  match es with [] => None | None :: t => option_map S (last_use t) | Some _ :: _ => Some 1%nat end.

(** d steps after the last use the weight of "free" is 1 - (1-mu)^d of the total, whatever was
    answered. Proof: by induction the weights are a multiple of (1 - q^d, q^d). *)
Theorem free_probability : forall mu es,
  fst (belief mu es) = (fst (belief mu es) + snd (belief mu es))
     * match last_use es with None => 1 | Some d => 1 - (1 - mu) ^ d end.
Proof.
  intros mu es.
  assert (H : exists c, belief mu es = match last_use es with None => (c, 0)
                        | Some d => (c * (1 - (1 - mu) ^ d), c * (1 - mu) ^ d) end).
  { induction es as [|e t (c & IH)]; [exists 1; reflexivity|].
    destruct e as [[|]|]; cbn [belief last_use filt].
    - exists (fst (belief mu t)). simpl. f_equal; ring.
    - exists (snd (belief mu t)). simpl. f_equal; ring.
    - exists c. rewrite IH. destruct (last_use t); simpl; f_equal; ring. }
  destruct H as (c & ->). destruct (last_use es); simpl; ring.
Qed.

(** "Since the last acceptance" is false: a rejection, too, tells when the server last became busy.
    *)
Fixpoint last_acceptance (es : list (option bool)) : option nat :=
  match es with
  | [] => None
  | Some true :: _ => Some 1%nat
  | _ :: t => option_map S (last_acceptance t)
  end.
Theorem reset_by_acceptance_false : ~ (forall mu es, 0 < mu < 1 ->
  fst (belief mu es) = (fst (belief mu es) + snd (belief mu es))
     * match last_acceptance es with None => 1 | Some d => 1 - (1 - mu) ^ d end).
Proof. intros F. specialize (F (1/2) [Some false; Some true] ltac:(lra)). simpl in F. lra. Qed.

(** ** recharge.age_state: all servers, and a learner

    A state says of each of m servers whether it is free.  [sum_states m F] adds F over all 2^m states. *)
Definition set_state (y : nat -> bool) (k : nat) (b : bool) : nat -> bool :=
  fun j => if Nat.eqb j k then b else y j.
Fixpoint sum_states (m : nat) (F : (nat -> bool) -> R) : R :=
  match m with
  | O => F (fun _ => false)
  | S k => sum_states k (fun y => F (set_state y k true)) + sum_states k (fun y => F (set_state y k false))
  end.
(** What server j sees of a step: [Some (a, ok)] is a packet to server a with the answer ok, [None] a
    step without a packet. *)
Definition seen (j : nat) (e : option (nat * bool)) : option bool :=
  match e with Some (a, ok) => if Nat.eqb a j then Some ok else None | None => None end.
(** Chance that a server in state [y] gives this answer and is in state [x] after the step.  A packet is
    accepted by a free server, which is busy then; a busy server becomes free with probability mu. *)
Definition move (mu : R) (e : option bool) (y x : bool) : R :=
  match e, y with
  | None, true => if x then 1 else 0
  | Some true, false => 0
  | Some false, true => 0
  | _, _ => if x then mu else 1 - mu
  end.
(** Joint probability of the choices, the answers and the state.  All servers are free at first and
    independent of one another; [learner t c] is the chance of the choice c after the past t with its
    answers: [Some a] for server a, [None] for no packet.  The latest step comes first. *)
Fixpoint joint (m : nat) (mu : nat -> R) (learner : list (option (nat * bool)) -> option nat -> R)
    (es : list (option (nat * bool))) (x : nat -> bool) : R :=
  match es with
  | [] => prodn m (fun j => if x j then 1 else 0)
  | e :: t => learner t (option_map fst e)
      * sum_states m (fun y => joint m mu learner t y * prodn m (fun j => move (mu j) (seen j e) (y j) (x j)))
  end.

Lemma sum_states_ext m F G : (forall y, F y = G y) -> sum_states m F = sum_states m G.
Proof. revert F G. induction m; intros F G H; simpl; [apply H|]. f_equal; apply IHm; intros; apply H. Qed.
Lemma sum_states_scal m F c : sum_states m (fun y => F y * c) = sum_states m F * c.
Proof. revert F. induction m; intros F; simpl; [reflexivity|]. rewrite !IHm. ring. Qed.
(** A sum over states of a product over servers is the product of sums. *)
Lemma sum_states_prod m (f : nat -> bool -> R) :
  sum_states m (fun y => prodn m (fun j => f j (y j))) = prodn m (fun j => f j true + f j false).
Proof.
  induction m; [reflexivity|]. cbn [sum_states prodn].
  assert (E : forall b, sum_states m (fun y => prodn m (fun j => f j (set_state y m b j)) * f m (set_state y m b m))
            = prodn m (fun j => f j true + f j false) * f m b).
  { intros b. rewrite <- IHm, <- sum_states_scal. apply sum_states_ext. intros y.
    unfold set_state at 2. rewrite Nat.eqb_refl. f_equal. apply prodn_ext. intros j Hj.
    unfold set_state. destruct (Nat.eqb_spec j m); [lia|reflexivity]. }
  rewrite !E. ring.
Qed.

(** Given the past the servers are independent, each with the weights of its own answers. *)
Lemma joint_product m mu learner es : exists c, forall x, joint m mu learner es x =
  c * prodn m (fun j => (if x j then fst else snd) (belief (mu j) (map (seen j) es))).
Proof.
  induction es as [|e t (c & IH)]; [exists 1; intros x; simpl; rewrite Rmult_1_l; apply prodn_ext;
    intros j _; destruct (x j); reflexivity|].
  exists (learner t (option_map fst e) * c). intros x. cbn [joint map belief].
  set (w := fun j (b : bool) => (if b then fst else snd) (belief (mu j) (map (seen j) t))).
  rewrite (sum_states_ext m _ (fun y => prodn m (fun j => w j (y j) * move (mu j) (seen j e) (y j) (x j)) * c)).
  2:{ intros y. rewrite IH, prodn_mult. unfold w. ring. }
  rewrite sum_states_scal, (sum_states_prod m (fun j b => w j b * move (mu j) (seen j e) b (x j))).
  replace (prodn m (fun j => w j true * move (mu j) (seen j e) true (x j) + w j false * move (mu j) (seen j e) false (x j)))
    with (prodn m (fun j => (if x j then fst else snd) (filt (mu j) (belief (mu j) (map (seen j) t)) (seen j e))));
    [ring|].
  apply prodn_ext. intros j _. unfold w, move, filt. destruct (seen j e) as [[|]|], (x j); simpl; ring.
Qed.

(** What a pull pays: the chance of a past and of server a being free then is 1 - q^d times the chance
    of that past, d steps after the last packet to a, whatever the learner and the answers.  Proof: in
    the product only the factor of a changes, and it changes as for one server. *)
Theorem pull_pays : forall m mu learner es a, (a < m)%nat ->
  sum_states m (fun x => joint m mu learner es x * (if x a then 1 else 0))
  = match last_use (map (seen a) es) with None => 1 | Some d => 1 - (1 - mu a) ^ d end
    * sum_states m (joint m mu learner es).
Proof.
  intros m mu learner es a Ha. destruct (joint_product m mu learner es) as (c & E).
  set (r := match last_use (map (seen a) es) with None => 1 | Some d => 1 - (1 - mu a) ^ d end).
  set (w := fun j (b : bool) => (if b then fst else snd) (belief (mu j) (map (seen j) es))).
  assert (A : sum_states m (joint m mu learner es) = prodn m (fun j => w j true + w j false) * c).
  { rewrite <- sum_states_prod, <- sum_states_scal. apply sum_states_ext. intros x. rewrite E. unfold w. ring. }
  assert (B : sum_states m (fun x => joint m mu learner es x * (if x a then 1 else 0))
            = prodn m (fun j => w j true + w j false * (if Nat.eqb a j then 0 else 1)) * c).
  { transitivity (sum_states m (fun x => prodn m (fun j => w j (x j) * (if Nat.eqb a j then if x j then 1 else 0 else 1)) * c)).
    - apply sum_states_ext. intros x. rewrite E, prodn_mult.
      rewrite (prodn_ext m (fun j => if Nat.eqb a j then if x j then 1 else 0 else 1)
                 (fun j => if Nat.eqb a j then if x a then 1 else 0 else 1)), prodn_one by
        (auto; intros j _; destruct (Nat.eqb_spec a j) as [->|]; reflexivity).
      unfold w. ring.
    - rewrite sum_states_scal, (sum_states_prod m (fun j b => w j b * (if Nat.eqb a j then if b then 1 else 0 else 1))).
      f_equal. apply prodn_ext. intros j _. destruct (Nat.eqb a j); ring. }
  rewrite A, B.
  replace (prodn m (fun j => w j true + w j false * (if Nat.eqb a j then 0 else 1)))
    with (prodn m (fun j => (w j true + w j false) * (if Nat.eqb a j then r else 1))).
  - rewrite prodn_mult, prodn_one by auto. ring.
  - apply prodn_ext. intros j _. destruct (Nat.eqb_spec a j) as [<-|]; [|ring].
    pose proof (free_probability (mu a) (map (seen a) es)) as F. fold r in F. unfold w. rewrite <- F. ring.
Qed.

(** In the bandit each step has a packet, and this is [avail]. *)
Lemma last_use_is_age es j : last_use (map (seen j) (map Some es)) = age (map fst es) j.
Proof.
  induction es as [|[a ok] t IH]; [reflexivity|]. cbn [map last_use age fst]. unfold seen at 1.
  destruct (Nat.eqb a j); [reflexivity|]. rewrite IH. reflexivity.
Qed.
Theorem pull_pays_avail : forall m mu learner es a, (a < m)%nat ->
  sum_states m (fun x => joint m mu learner (map Some es) x * (if x a then 1 else 0))
  = avail mu (map fst es) a * sum_states m (joint m mu learner (map Some es)).
Proof.
  intros m mu learner es a Ha. rewrite pull_pays by auto. rewrite last_use_is_age. reflexivity.
Qed.

(** ** recharge.per_arm_identity

    A gap of d steps: summing 1 - q^s over s = 1, ..., d.  Induction on d; both sides are
    polynomials in q. *)
Theorem gap_identity : forall (d : nat) (mu : R), mu <> 0 ->
  sumn d (fun s => 1 - (1 - mu) ^ (S s)) = INR d - (1 - mu) / mu * (1 - (1 - mu) ^ d).
Proof.
  intros d mu Hmu. induction d.
  - simpl. field; auto.
  - rewrite S_INR. cbn [sumn]. rewrite IHd. simpl pow. field; auto.
Qed.

(** The nearest false statement has 1/mu for (1-mu)/mu. *)
Theorem gap_false : ~ (forall (d : nat) (mu : R), 0 < mu < 1 ->
  sumn d (fun s => 1 - (1 - mu) ^ (S s)) = INR d - 1 / mu * (1 - (1 - mu) ^ d)).
Proof. intros H. specialize (H 1%nat (1/2) ltac:(lra)). simpl in H. lra. Qed.

Lemma age_pos h j d : age h j = Some d -> (1 <= d <= length h)%nat.
Proof.
  revert d; induction h as [|a t IH]; intros d; simpl; [discriminate|].
  destruct (Nat.eqb a j).
  - intros [= <-]; lia.
  - destruct (age t j) as [e|]; simpl; [|discriminate].
    intros [= <-]. specialize (IH e eq_refl); lia.
Qed.

(** The identity without division: both sides change equally in each step, whether j is pulled or
    not. *)
Lemma per_arm_flow : forall mu h j,
  mu j * Hind mu h j = mu j * INR (length h) - (1 - mu j) * (Uarm mu h j - bdry mu h j).
Proof.
  intros mu h j. induction h as [|a t IH].
  - unfold bdry; simpl; lra.
  - cbn [Hind Uarm length]. rewrite S_INR.
    assert (E : (1 - mu j) * bdry mu (a :: t) j - (1 - mu j) * bdry mu t j
                = mu j * avail mu t j - mu j
                  + (1 - mu j) * (if Nat.eqb a j then avail mu t a else 0)).
    { unfold bdry, avail; cbn [age].
      destruct (Nat.eqb_spec a j) as [->|Hne].
      - destruct (age t j) as [d|] eqn:Ed; simpl.
        + apply age_pos in Ed. destruct d; [lia|]. simpl. rewrite Nat.sub_0_r. ring.
        + ring.
      - destruct (age t j) as [d|] eqn:Ed; cbn [option_map].
        + apply age_pos in Ed. destruct d; [lia|]. simpl. rewrite Nat.sub_0_r. ring.
        + ring. }
    lra.
Qed.

(** What arm j would have paid, always used, is the horizon minus what it paid over its odds.
    Proof: divide the flow form by mu. *)
Theorem per_arm_identity : forall mu h j, 0 < mu j < 1 ->
  Hind mu h j = INR (length h) - (Uarm mu h j - bdry mu h j) / odds mu j.
Proof.
  intros mu h j Hmu. pose proof (per_arm_flow mu h j) as E.
  unfold odds. apply (Rmult_eq_reg_l (mu j)); [|lra]. rewrite E. field. lra.
Qed.

(** ** recharge.utility_identity *)
Lemma Uarm_sum : forall m mu h, arms m h -> sumn m (Uarm mu h) = U mu h.
Proof.
  intros m mu h. induction h as [|a t IH]; intros Ha; cbn [Uarm U].
  - rewrite sumn_const; lra.
  - rewrite sumn_plus, IH by (intros x Hx; apply Ha; right; exact Hx).
    rewrite sumn_ind by (apply Ha; left; reflexivity). reflexivity.
Qed.

Lemma odds_pos mu j : 0 < mu j < 1 -> 0 < odds mu j.
Proof. intros H. unfold odds. apply Rdiv_lt_0_compat; lra. Qed.
Lemma rho_pos m mu : (0 < m)%nat -> rates m mu -> 0 < rho m mu.
Proof. intros Hm H. apply sumn_pos; auto. intros j Hj; apply odds_pos; auto. Qed.
Lemma bdry_nonneg mu h j : 0 < mu j < 1 -> 0 <= bdry mu h j.
Proof. intros H. unfold bdry. destruct (age h j); [|lra]. apply pow_le; lra. Qed.

(** (1 + rho) U = rho T - (odds-weighted regrets) + (boundary terms), for any sequence over m arms.
    Proof: multiply each per-arm identity by its odds and add up; what the arms paid adds up to U.
    *)
Theorem utility_identity : forall m mu h, rates m mu -> arms m h ->
  (1 + rho m mu) * U mu h =
    rho m mu * INR (length h)
    - sumn m (fun j => odds mu j * (Hind mu h j - U mu h))
    + sumn m (bdry mu h).
Proof.
  intros m mu h Hr Ha.
  assert (E : sumn m (fun j => odds mu j * (Hind mu h j - U mu h))
            = sumn m (fun j => odds mu j * (INR (length h) - U mu h) + -1 * Uarm mu h j + bdry mu h j)).
  { apply sumn_ext. intros j Hj. rewrite (per_arm_identity mu h j) by (apply Hr; auto).
    pose proof (odds_pos mu j (Hr j Hj)). field. lra. }
  rewrite E, !sumn_plus, sumn_scal, Uarm_sum by auto.
  rewrite (sumn_ext m (fun j => odds mu j * (INR (length h) - U mu h))
             (fun j => (INR (length h) - U mu h) * odds mu j)) by (intros; ring).
  rewrite sumn_scal. unfold rho. ring.
Qed.

(** The same, a step: with the shares pi = odds / rho. *)
Theorem utility_a_step : forall m mu h, (0 < m)%nat -> rates m mu -> arms m h -> (0 < length h)%nat ->
  let T := INR (length h) in
  U mu h / T = hamacher m mu * (1 - sumn m (fun j => odds mu j / rho m mu * ((Hind mu h j - U mu h) / T)))
    + / ((1 + rho m mu) * T) * sumn m (bdry mu h).
Proof.
  intros m mu h Hm Hr Ha Hl T. pose proof (utility_identity m mu h Hr Ha) as E. fold T in E.
  pose proof (rho_pos m mu Hm Hr) as Hp. assert (HT : 0 < T) by (apply lt_0_INR; auto).
  rewrite (sumn_ext m (fun j => odds mu j / rho m mu * ((Hind mu h j - U mu h) / T))
             (fun j => / (rho m mu * T) * (odds mu j * (Hind mu h j - U mu h)))) by (intros; field; lra).
  rewrite sumn_scal. unfold hamacher. apply (Rmult_eq_reg_l ((1 + rho m mu) * T)); [|apply Rgt_not_eq, Rmult_lt_0_compat; lra].
  replace ((1 + rho m mu) * T * (U mu h / T)) with ((1 + rho m mu) * U mu h) by (field; lra).
  rewrite E. field. lra.
Qed.

(** Without the boundary terms it is false: one arm of rate 1/2, one pull. *)
Theorem utility_without_boundary_false : ~ (forall m mu h, rates m mu -> arms m h ->
  (1 + rho m mu) * U mu h =
    rho m mu * INR (length h) - sumn m (fun j => odds mu j * (Hind mu h j - U mu h))).
Proof.
  intros F. specialize (F 1%nat (fun _ => 1/2) [0%nat]).
  assert (H : (1 + rho 1 (fun _ => 1/2)) * U (fun _ => 1/2) [0%nat]
    = rho 1 (fun _ => 1/2) * INR (length [0%nat])
      - sumn 1 (fun j => odds (fun _ => 1/2) j * (Hind (fun _ => 1/2) [0%nat] j - U (fun _ => 1/2) [0%nat])))
    by (apply F; [intros j _; lra|intros a [<-|[]]; lia]).
  unfold rho, odds in H. simpl in H. unfold avail in H. simpl in H. lra.
Qed.

(** ** recharge.hamacher_lower_bound *)
Lemma regret_ub m mu h j : (j < m)%nat -> Hind mu h j - U mu h <= regret m mu h.
Proof. intros Hj. apply (maxn_ub (m - 1) (fun j => Hind mu h j - U mu h)). lia. Qed.
Lemma regret_attained m mu h : (0 < m)%nat ->
  exists j, (j < m)%nat /\ regret m mu h = Hind mu h j - U mu h.
Proof.
  intros Hm. destruct (maxn_attained (m - 1) (fun j => Hind mu h j - U mu h)) as (j & Hj & E).
  exists j; split; [lia|exact E].
Qed.

(** Pathwise: U >= h (T - regret), for every sequence. Proof: in the utility identity each regret
    is at most the largest, and boundary terms are >= 0. *)
Theorem hamacher_pathwise : forall m mu h, (0 < m)%nat -> rates m mu -> arms m h ->
  U mu h >= hamacher m mu * (INR (length h) - regret m mu h).
Proof.
  intros m mu h Hm Hr Ha. pose proof (utility_identity m mu h Hr Ha) as E.
  pose proof (rho_pos m mu Hm Hr) as Hp.
  assert (B : 0 <= sumn m (bdry mu h)) by (apply sumn_nonneg; intros; apply bdry_nonneg; auto).
  assert (G : sumn m (fun j => odds mu j * (Hind mu h j - U mu h)) <= rho m mu * regret m mu h).
  { unfold rho. rewrite Rmult_comm, <- sumn_scal. apply sumn_le. intros j Hj.
    rewrite (Rmult_comm (regret m mu h)). apply Rmult_le_compat_l.
    - left; apply odds_pos; auto.
    - apply regret_ub; auto. }
  apply Rle_ge. unfold hamacher.
  apply (Rmult_le_reg_l (1 + rho m mu)); [lra|].
  replace ((1 + rho m mu) * (rho m mu / (1 + rho m mu) * (INR (length h) - regret m mu h)))
    with (rho m mu * (INR (length h) - regret m mu h)) by (field; lra).
  rewrite E. lra.
Qed.

(** The nearest false statement has 1.01 h for h; refuted by 201 pulls of one arm. *)
Fixpoint ones (n : nat) : list nat := match n with O => [] | S k => 0%nat :: ones k end.
Lemma ones_len n : length (ones n) = n. Proof. induction n; simpl; auto. Qed.
Lemma ones_arms n : arms 1 (ones n).
Proof. induction n; intros a Ha; simpl in Ha; [contradiction|]. destruct Ha as [<-|Ha]; [lia|auto]. Qed.
Lemma ones_U n : U (fun _ => 1/2) (ones (S n)) = 1 + 1/2 * INR n /\ age (ones (S n)) 0%nat = Some 1%nat.
Proof.
  induction n as [|n [I1 I2]]; [split; [unfold ones, U, avail; simpl; lra|reflexivity]|].
  split; [|reflexivity]. change (ones (S (S n))) with (0%nat :: ones (S n)). cbn [U]. rewrite I1.
  unfold avail. rewrite I2, S_INR. simpl. lra.
Qed.
Lemma ones_H n mu : Hind mu (ones n) 0%nat = U mu (ones n).
Proof. induction n; simpl; [reflexivity|]. rewrite IHn; reflexivity. Qed.
Theorem hamacher_false : ~ (forall m mu h, (0 < m)%nat -> rates m mu -> arms m h ->
  U mu h >= 101/100 * hamacher m mu * (INR (length h) - regret m mu h)).
Proof.
  intros H. specialize (H 1%nat (fun _ => 1/2) (ones 201) ltac:(lia) ltac:(intros j _; lra) (ones_arms 201)).
  assert (R0 : regret 1 (fun _ => 1/2) (ones 201) = 0).
  { unfold regret. change (1 - 1)%nat with 0%nat. cbn [maxn]. rewrite ones_H. ring. }
  assert (H0 : hamacher 1 (fun _ => 1/2) = 1/2) by (unfold hamacher, rho, odds; simpl; field).
  rewrite R0, H0, ones_len, (proj1 (ones_U 200)) in H.
  replace (INR 201) with 201 in H by (rewrite INR_IZR_INZ; reflexivity).
  replace (INR 200) with 200 in H by (rewrite INR_IZR_INZ; reflexivity). lra.
Qed.

(** In the mean, for any randomised learner: a finite law over histories of length T, given as a
    list of weights and histories.  Proof: the pathwise bound, averaged. *)
Definition Law (d : list (R * list nat)) (F : list nat -> R) : R :=
  fold_right (fun wh s => fst wh * F (snd wh) + s) 0 d.
Theorem hamacher_expected : forall m mu T d, (0 < m)%nat -> rates m mu ->
  (forall w h, In (w, h) d -> 0 <= w /\ arms m h /\ length h = T) -> Law d (fun _ => 1) = 1 ->
  Law d (U mu) >= hamacher m mu * (INR T - Law d (regret m mu)).
Proof.
  intros m mu T d Hm Hr Hd H1.
  assert (K : Law d (U mu) >= hamacher m mu * (INR T * Law d (fun _ => 1) - Law d (regret m mu))).
  { clear H1. induction d as [|[w h] d IH]; unfold Law in *; cbn [fold_right fst snd]; [lra|].
    destruct (Hd w h (or_introl eq_refl)) as (Hw & Ha & HL).
    specialize (IH (fun w' h' Hin => Hd w' h' (or_intror Hin))).
    pose proof (hamacher_pathwise m mu h Hm Hr Ha) as P. rewrite HL in P.
    assert (w * U mu h >= w * (hamacher m mu * (INR T - regret m mu h))) by (apply Rmult_ge_compat_l; lra). lra. }
  rewrite H1 in K. lra.
Qed.

(** It is enough that the expected regret against each single arm is at most K.
    Proof: average the utility identity, and only then bound the regrets. *)
Theorem hamacher_expected_each_arm : forall m mu T d K, (0 < m)%nat -> rates m mu ->
  (forall w h, In (w, h) d -> 0 <= w /\ arms m h /\ length h = T) -> Law d (fun _ => 1) = 1 ->
  (forall j, (j < m)%nat -> Law d (fun h => Hind mu h j - U mu h) <= K) ->
  Law d (U mu) >= hamacher m mu * (INR T - K).
Proof.
  intros m mu T d K Hm Hr Hd H1 HK. pose proof (rho_pos m mu Hm Hr) as Hp.
  assert (A : (1 + rho m mu) * Law d (U mu) >= rho m mu * INR T * Law d (fun _ => 1)
    - sumn m (fun j => odds mu j * Law d (fun h => Hind mu h j - U mu h))).
  { clear H1 HK. induction d as [|[w h] d IH]; unfold Law in *; cbn [fold_right fst snd].
    - rewrite (sumn_ext m _ (fun _ => 0)) by (intros; ring). rewrite sumn_const. lra.
    - destruct (Hd w h (or_introl eq_refl)) as (Hw & Ha & HL).
      specialize (IH (fun w' h' Hin => Hd w' h' (or_intror Hin))).
      pose proof (utility_identity m mu h Hr Ha) as E. rewrite HL in E.
      assert (B : 0 <= sumn m (bdry mu h)) by (apply sumn_nonneg; intros; apply bdry_nonneg; auto).
      match goal with |- _ >= _ - ?rest => replace rest with
        (w * sumn m (fun j => odds mu j * (Hind mu h j - U mu h))
         + sumn m (fun j => odds mu j
             * fold_right (fun wh s => fst wh * (Hind mu (snd wh) j - U mu (snd wh)) + s) 0 d))
        by (rewrite <- sumn_scal, <- sumn_plus; apply sumn_ext; intros; ring) end.
      assert (0 <= w * sumn m (bdry mu h)) by (apply Rmult_le_pos; auto).
      assert (w * ((1 + rho m mu) * U mu h) = w * (rho m mu * INR T
        - sumn m (fun j => odds mu j * (Hind mu h j - U mu h)) + sumn m (bdry mu h))) by (rewrite E; ring).
      lra. }
  assert (G : sumn m (fun j => odds mu j * Law d (fun h => Hind mu h j - U mu h)) <= rho m mu * K).
  { unfold rho. rewrite Rmult_comm, <- sumn_scal. apply sumn_le. intros j Hj.
    rewrite (Rmult_comm K). apply Rmult_le_compat_l; [left; apply odds_pos; auto|auto]. }
  rewrite H1 in A. apply Rle_ge. unfold hamacher. apply (Rmult_le_reg_l (1 + rho m mu)); [lra|].
  replace ((1 + rho m mu) * (rho m mu / (1 + rho m mu) * (INR T - K))) with (rho m mu * (INR T - K)) by (field; lra).
  lra.
Qed.

Lemma hamacher_unit m mu : (0 < m)%nat -> rates m mu -> 0 < hamacher m mu < 1.
Proof.
  intros Hm Hr. pose proof (rho_pos m mu Hm Hr) as Hp. unfold hamacher. split; [apply Rdiv_lt_0_compat; lra|].
  apply (Rmult_lt_reg_r (1 + rho m mu)); [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

(** In the limit: an infinite sequence [a] of arms.  If eventually R_T <= eps T for every eps > 0,
    then eventually U_T >= (h - eps) T for every eps > 0.  Proof: the pathwise bound, and h < 1. *)
Fixpoint hist (a : nat -> nat) (T : nat) : list nat :=
  match T with O => [] | S t => a t :: hist a t end.
Lemma hist_length a T : length (hist a T) = T.
Proof. induction T; simpl; auto. Qed.
Lemma hist_arms m a T : (forall t, (a t < m)%nat) -> arms m (hist a T).
Proof. intros H. induction T; intros x Hx; [destruct Hx|]. destruct Hx as [<-|Hx]; auto. Qed.
Theorem no_regret_liminf : forall m mu a, (0 < m)%nat -> rates m mu -> (forall t, (a t < m)%nat) ->
  (forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat -> regret m mu (hist a T) <= eps * INR T) ->
  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    U mu (hist a T) >= (hamacher m mu - eps) * INR T.
Proof.
  intros m mu a Hm Hr Ha Hno eps He.
  destruct (Hno eps He) as [T0 HT]. exists T0. intros T HTT.
  pose proof (hamacher_pathwise m mu (hist a T) Hm Hr (hist_arms m a T Ha)) as L.
  rewrite hist_length in L. specialize (HT T HTT).
  pose proof (hamacher_unit m mu Hm Hr).
  pose proof (pos_INR T) as HT0.
  assert (hamacher m mu * regret m mu (hist a T) <= hamacher m mu * (eps * INR T))
    by (apply Rmult_le_compat_l; lra).
  assert (0 <= eps * INR T) by (apply Rmult_le_pos; lra).
  assert (hamacher m mu * (eps * INR T) <= 1 * (eps * INR T)) by (apply Rmult_le_compat_r; lra).
  lra.
Qed.

(** ** The limits for a randomised learner

    Its law for each horizon is given: weights of histories of that length.  The learner may not know
    the horizon, in which case the laws belong together, but that is not needed. *)
Definition laws (m : nat) (d : nat -> list (R * list nat)) : Prop := forall T,
  (forall w h, In (w, h) (d T) -> 0 <= w /\ arms m h /\ length h = T) /\ Law (d T) (fun _ => 1) = 1.
Lemma Law_le d F G : (forall w h, In (w, h) d -> 0 <= w /\ F h <= G h) -> Law d F <= Law d G.
Proof.
  induction d as [|[w h] d IH]; intros H; unfold Law in *; cbn [fold_right fst snd]; [lra|].
  destruct (H w h (or_introl eq_refl)) as (Hw & HF).
  specialize (IH (fun w' h' Hin => H w' h' (or_intror Hin))).
  assert (w * F h <= w * G h) by (apply Rmult_le_compat_l; auto). lra.
Qed.
Lemma eventually_all (P : nat -> nat -> Prop) m :
  (forall j, (j < m)%nat -> exists T0, forall T, (T0 <= T)%nat -> P j T) ->
  exists T0, forall T, (T0 <= T)%nat -> forall j, (j < m)%nat -> P j T.
Proof.
  induction m as [|m IH]; intros H; [exists 0%nat; intros; lia|].
  destruct IH as [T0 H0]; [intros; apply H; lia|]. destruct (H m ltac:(lia)) as [T1 H1].
  exists (Nat.max T0 T1). intros T HT j Hj.
  destruct (Nat.eq_dec j m) as [->|]; [apply H1; lia|apply H0; lia].
Qed.

(** In the mean: expected regret o(T) gives the limit for the expected utility. *)
Theorem no_regret_mean : forall m mu d, (0 < m)%nat -> rates m mu -> laws m d ->
  (forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat -> Law (d T) (regret m mu) <= eps * INR T) ->
  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    Law (d T) (U mu) >= (hamacher m mu - eps) * INR T.
Proof.
  intros m mu d Hm Hr Hd Hno eps He. destruct (Hno eps He) as [T0 H]. exists T0. intros T HT.
  destruct (Hd T) as [Hl H1]. pose proof (hamacher_expected m mu T (d T) Hm Hr Hl H1) as L.
  specialize (H T HT). pose proof (hamacher_unit m mu Hm Hr). pose proof (pos_INR T).
  assert (hamacher m mu * Law (d T) (regret m mu) <= hamacher m mu * (eps * INR T))
    by (apply Rmult_le_compat_l; lra).
  assert (0 <= eps * INR T) by (apply Rmult_le_pos; lra).
  assert (hamacher m mu * (eps * INR T) <= 1 * (eps * INR T)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(** For this it is enough that the expected regret against each single arm is o(T). *)
Theorem no_regret_mean_each_arm : forall m mu d, (0 < m)%nat -> rates m mu -> laws m d ->
  (forall j, (j < m)%nat -> forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
     Law (d T) (fun h => Hind mu h j - U mu h) <= eps * INR T) ->
  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    Law (d T) (U mu) >= (hamacher m mu - eps) * INR T.
Proof.
  intros m mu d Hm Hr Hd Hno eps He.
  destruct (eventually_all (fun j T => Law (d T) (fun h => Hind mu h j - U mu h) <= eps * INR T) m)
    as [T0 H]; [intros j Hj; apply Hno; auto|].
  exists T0. intros T HT. destruct (Hd T) as [Hl H1].
  pose proof (hamacher_expected_each_arm m mu T (d T) (eps * INR T) Hm Hr Hl H1 (H T HT)) as L.
  pose proof (hamacher_unit m mu Hm Hr). pose proof (pos_INR T).
  assert (0 <= eps * INR T) by (apply Rmult_le_pos; lra).
  assert (hamacher m mu * (eps * INR T) <= 1 * (eps * INR T)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(** With probability 1 - eta: where the regret is at most eps T, the utility is at least (h - eps) T, on
    the same event.  For every eta this is "with high probability". *)
Theorem no_regret_probable : forall m mu d eta, (0 < m)%nat -> rates m mu -> laws m d ->
  (forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
     1 - eta <= Law (d T) (fun h => if Rle_dec (regret m mu h) (eps * INR T) then 1 else 0)) ->
  forall eps, 0 < eps -> exists T0, forall T, (T0 <= T)%nat ->
    1 - eta <= Law (d T) (fun h => if Rle_dec ((hamacher m mu - eps) * INR T) (U mu h) then 1 else 0).
Proof.
  intros m mu d eta Hm Hr Hd Hno eps He. destruct (Hno eps He) as [T0 H]. exists T0. intros T HT.
  destruct (Hd T) as [Hl H1]. eapply Rle_trans; [apply (H T HT)|]. apply Law_le. intros w h Hin.
  destruct (Hl w h Hin) as (Hw & Ha & HL). split; [auto|].
  destruct (Rle_dec (regret m mu h) (eps * INR T)) as [Hg|];
    match goal with |- context [Rle_dec ?x (U mu h)] => destruct (Rle_dec x (U mu h)) as [|Hu] end; try lra.
  exfalso. apply Hu. pose proof (hamacher_pathwise m mu h Hm Hr Ha) as P. rewrite HL in P.
  pose proof (hamacher_unit m mu Hm Hr). pose proof (pos_INR T).
  assert (hamacher m mu * regret m mu h <= hamacher m mu * (eps * INR T)) by (apply Rmult_le_compat_l; lra).
  assert (0 <= eps * INR T) by (apply Rmult_le_pos; lra).
  assert (hamacher m mu * (eps * INR T) <= 1 * (eps * INR T)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(** ** recharge.greedy_no_regret

    Each pull pays at least what j would have paid; add up over the steps. *)
Fixpoint greedy (m : nat) (mu : nat -> R) (h : list nat) : Prop :=
  match h with [] => True
  | a :: t => (forall j, (j < m)%nat -> avail mu t j <= avail mu t a) /\ greedy m mu t end.
Theorem greedy_no_regret : forall m mu h j, greedy m mu h -> (j < m)%nat -> Hind mu h j - U mu h <= 0.
Proof.
  intros m mu h j. induction h as [|a t IH]; cbn [Hind U greedy]; intros G Hj; [lra|].
  destruct G as [G1 G2]. specialize (G1 j Hj). specialize (IH G2 Hj). lra.
Qed.

(** No regret is not the best: rates 1/2, 1/10, 3/10, seven steps, against the best of the greedy
    sequences. *)
Definition mu3 (j : nat) : R := match j with O => 1/2 | 1%nat => 1/10 | _ => 3/10 end.
Theorem greedy_optimal_false : ~ (forall m mu h h', rates m mu -> greedy m mu h -> arms m h' ->
  length h' = length h -> U mu h' <= U mu h).
Proof.
  intros F. specialize (F 3%nat mu3 [2; 0; 2; 0; 1; 2; 0]%nat [0; 2; 0; 1; 0; 2; 0]%nat).
  assert (G : greedy 3 mu3 [2; 0; 2; 0; 1; 2; 0]%nat).
  { cbn [greedy]. repeat split; intros [|[|[|j]]] Hj; try lia; unfold avail, mu3; simpl; lra. }
  specialize (F ltac:(intros [|[|j]] _; simpl; lra) G ltac:(intros a Ha; simpl in Ha; lia) eq_refl).
  unfold U, avail, mu3 in F. simpl in F. lra.
Qed.
