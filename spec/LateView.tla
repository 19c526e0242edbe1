---- MODULE LateView ----
(* One pod that may evict others, the scheduler's view of the cluster, and Berth's, which is behind it. One step is one
   attempt to schedule the pod, or one change that somebody makes or learns of. README.md describes the model. *)
EXTENDS FiniteSets, Naturals, Sequences

CONSTANTS
    Nodes,
    Late,       \* nodes that join at some time
    Room,       \* pods of lower priority that take the room: the scheduler's own filters and Berth's rules see them
    Rule,       \* pods of lower priority that only a rule of Berth's rejects
    Firm,       \* pods of equal priority that only a rule of Berth's rejects; they end by themselves
    Mistakes

VARIABLES
    world,      \* all states that the API server has had
    s, b,       \* the state that the scheduler sees, and the one that Berth sees
    queue,      \* where the pod is: "active", "waiting", "backoff", "gated" (its victims are being deleted), "bound"
    tried,      \* the state that the scheduler saw at the first attempt; 0: none was made
    doomed,     \* victims that are not deleted yet
    answered,   \* victims that preempt has answered for the nominated node
    costs,      \* the nodes with victims
    wrong       \* properties that an attempt has broken

vars == <<world, s, b, queue, tried, doomed, answered, costs, wrong>>

Mistake(name) == name \in Mistakes
None == "none"
Pods == Room \union Rule \union Firm
Lower == Room \union Rule

Home(p) == CASE p \in {"a", "b"} -> "n1" [] p \in {"c", "d"} -> "n2" [] OTHER -> "n3"

Now == world[Len(world)]
Seen == world[s]
Cached == world[b]

Init ==
    /\ world = <<[joined |-> Nodes \ Late, alive |-> Pods, nominated |-> None, failed |-> None]>>
    /\ s = 1 /\ b = 1
    /\ queue = "active" /\ tried = 0
    /\ doomed = {} /\ answered = {} /\ costs = {} /\ wrong = {}

On(state, n) == {p \in state.alive : Home(p) = n}
Fits(state, n) == n \in state.joined /\ On(state, n) = {}

\* ------------------------------------------------------------------------------------------------ what others do

Change(state) == world' = Append(world, state)

Join(n) ==
    /\ n \in Nodes \ Now.joined
    /\ Change([Now EXCEPT !.joined = @ \union {n}])
    /\ UNCHANGED <<s, b, queue, tried, doomed, answered, costs, wrong>>

End(p) ==
    /\ p \in Now.alive \intersect Firm
    /\ Change([Now EXCEPT !.alive = @ \ {p}])
    /\ UNCHANGED <<s, b, queue, tried, doomed, answered, costs, wrong>>

(* The scheduler deletes the victims one by one, after the nomination. *)
Delete(p) ==
    /\ p \in doomed
    /\ doomed' = doomed \ {p}
    /\ Change([Now EXCEPT !.alive = @ \ {p}])
    /\ queue' = IF doomed = {p} THEN "waiting" ELSE queue
    /\ UNCHANGED <<s, b, tried, answered, costs, wrong>>

(* The scheduler learns of a change, and tries a waiting pod again. *)
SchedulerLearns ==
    /\ s < Len(world)
    /\ s' = s + 1
    /\ queue' = IF queue = "waiting" THEN "active" ELSE queue
    /\ UNCHANGED <<world, b, tried, doomed, answered, costs, wrong>>

(* Berth learns of it later, and wakes the pod. *)
BerthLearns ==
    /\ b < s
    /\ b' = b + 1
    /\ queue' = IF queue = "waiting" /\ ~Mistake("no-wake-up") THEN "active" ELSE queue
    /\ UNCHANGED <<world, s, tried, doomed, answered, costs, wrong>>

BackoffEnds ==
    /\ queue = "backoff"
    /\ queue' = "active"
    /\ UNCHANGED <<world, s, b, tried, doomed, answered, costs, wrong>>

\* ------------------------------------------------------------------------------------------------ an attempt

(* The nodes that pass the scheduler's own filters: only about these it asks Berth. *)
Listed == {n \in Seen.joined : On(Seen, n) \intersect Room = {}}
Passing == {n \in Listed : Fits(Cached, n)}

(* The nodes on which the scheduler's dry run finds victims. *)
Candidates == {n \in Seen.joined : On(Seen, n) \intersect Room # {}}

(* What rejects the nominated node may be victims that Berth still sees. *)
KeepsNomination ==
    LET n == Seen.nominated IN
    /\ n \in Listed
    /\ n \in Cached.joined /\ On(Cached, n) # {} /\ On(Cached, n) \subseteq Lower
    /\ ~Mistake("nomination-unresolvable")

MustWait ==
    \/ Seen.failed = None /\ ~Mistake("rejects-first-attempt")
    \/ Seen.failed = "error" /\ Cached.failed = None /\ ~Mistake("rejects-before-failure")
    \/ Seen.failed # None /\ Mistake("waits-after-each-failure") /\ Cached.failed # Seen.failed
    \/ ~(Listed \subseteq Cached.joined) /\ ~Mistake("rejects-unknown-node")

(* Preempt: the nodes on which Berth agrees to evict. *)
Waits ==
    LET n == Seen.nominated IN
    /\ n # None
    /\ n \notin Candidates
    /\ IF answered # {} /\ ~Mistake("forgets-victims")
       THEN answered \intersect Cached.alive # {}
       ELSE Cached.nominated # n

(* While the scheduler sees a victim, which is terminating, it does not preempt. *)
Eligible == answered \intersect Seen.alive = {}
Agreed == IF Waits \/ ~Eligible THEN {} ELSE {n \in Candidates : n \notin Cached.joined \/ On(Cached, n) \subseteq Lower}

(* The scheduler writes how the attempt ended: "error", or "rejected" with the reasons. *)
Fail(how, nominated) ==
    LET state == [Now EXCEPT !.failed = how, !.nominated = nominated] IN
    IF state = Now THEN UNCHANGED world ELSE Change(state)

Record(broken) == wrong' = wrong \union broken

(* Nodes that fit by what the scheduler knew at the first attempt, or that the cache lacks. Of other nodes nothing in a
   request shows that a pod has ended there since. *)
FitsUnseen ==
    LET first == IF tried = 0 THEN Seen ELSE world[tried] IN
    {n \in Nodes : Fits(Seen, n) /\ (n \notin Cached.joined \/ Fits(first, n))}

Bind ==
    /\ Passing # {}
    /\ queue' = "bound"
    /\ UNCHANGED <<world, doomed, answered, costs, wrong>>

Preempt ==
    /\ Passing = {}
    /\ Listed # {} => KeepsNomination \/ Seen.nominated # None \/ ~MustWait
    /\ \E n \in Agreed :
        LET victims == (On(Seen, n) \intersect Room) \union (On(Cached, n) \intersect Rule \intersect Seen.alive) IN
        /\ Fail("rejected", n)
        /\ doomed' = victims /\ answered' = victims
        /\ costs' = costs \union {n}
        /\ Record(IF FitsUnseen # {} THEN {"evicts-while-a-node-fits"} ELSE {})
        /\ queue' = "gated"

(* No node, and no eviction. The nomination is cleared if no node is left to preempt on, or with an Error. *)
Reject ==
    LET waits == Listed # {} /\ Seen.nominated = None /\ MustWait
        clears == ~KeepsNomination /\ Candidates = {} /\ Eligible
    IN
    /\ Passing = {}
    /\ waits \/ Agreed = {}
    /\ Fail(IF waits THEN "error" ELSE "rejected", IF clears THEN None ELSE Now.nominated)
    /\ queue' = IF waits THEN "backoff" ELSE "waiting"
    /\ Record(IF clears /\ Seen.nominated # None /\ Fits(Seen, Seen.nominated) THEN {"loses-nomination"} ELSE {})
    /\ UNCHANGED <<doomed, answered, costs>>

Attempt ==
    /\ queue = "active"
    /\ tried' = IF tried = 0 THEN s ELSE tried
    /\ Bind \/ Preempt \/ Reject
    /\ UNCHANGED <<s, b>>

Next ==
    \/ \E n \in Nodes : Join(n)
    \/ \E p \in Pods : End(p) \/ Delete(p)
    \/ SchedulerLearns \/ BerthLearns \/ BackoffEnds \/ Attempt

Fair ==
    /\ WF_vars(SchedulerLearns) /\ WF_vars(BerthLearns) /\ WF_vars(BackoffEnds) /\ WF_vars(Attempt)
    /\ \A p \in Pods : WF_vars(Delete(p))

Spec == Init /\ [][Next]_vars /\ Fair

\* ------------------------------------------------------------------------------------------------ properties

(* The pod's own condition does not keep it busy: the longest history writes it three times, and the nomination once. *)
WritesEnd == Len(world) <= Cardinality(Late) + Cardinality(Pods) + 6
EvictsOnOneNode == Cardinality(costs) <= 1
EvictsOnlyWhenNoNodeFits == "evicts-while-a-node-fits" \notin wrong
KeepsItsNomination == "loses-nomination" \notin wrong
IsPlaced == (\E n \in Nodes : Fits(Now, n)) ~> queue = "bound"
====
