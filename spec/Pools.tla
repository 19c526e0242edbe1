--------------------------------- MODULE Pools ---------------------------------
(***************************************************************************)
(* The ledger of counted resources when a pod holds shares of several      *)
(* pools.  Each owner has one item: a node for its own pools, and each     *)
(* floating pool, which does not belong to a node.  README.md says what is *)
(* modeled and what is not.                                                *)
(*                                                                         *)
(* A bind reads the pod, reserves in all owners with one transaction that  *)
(* also leaves an open reservation, which names them, and sends the        *)
(* Binding.                                                                *)
(* All other writes on the ledger change one owner, so that a bind and the *)
(* watcher can die between two owners.                                     *)
(*                                                                         *)
(* As in Ledger.tla there is no clock, and no resourceVersion or attempt   *)
(* is counted further than it is compared.  Each pod holds one unit in     *)
(* each owner: Ledger.tla has the rules about amounts.                     *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Binders,          \* concurrent calls of bind; each may be repeated forever, for any pod and node
    Pods,             \* UIDs
    Nodes,            \* owners: a pod on one node does not use the items of others
    Floating,         \* owners that a pod uses on every node: the cluster, its namespace, a label that all nodes have
    NodeCapacity,     \* of each node
    FloatingCapacity, \* of each other owner
    Missing,          \* owners whose items the watcher has not created yet
    MaxTerms,         \* how often a watcher takes over
    Zombies,          \* TRUE: a watcher that was deposed may continue; FALSE: it is dead
    MaxCalls,         \* how many calls there are; 0: any number
    MaxOpen,          \* how many open reservations there may be at once
    Ends,             \* TRUE: pods end
    Foreign,          \* TRUE: another component binds pods too
    Sweeps,           \* TRUE: the leader looks at an owner if it has a reason; FALSE: at any time
    Prompt,           \* TRUE: a bind does not reserve any more when its reservation is old enough to expire
    Mistakes          \* names of deliberate mistakes; {} is the protocol

VARIABLES
    pod,     \* the API server's pods
    item,    \* the ledger, by owner
    open,    \* the open reservations: pod, node, attempt; the owners are those of a pod on that node
    binder,  \* what each call knows
    pub,     \* what is published of each pod: its node, none, or that it is gone
    dirty,   \* owners at which the leader still has to look
    term,    \* the leader's epoch
    zombie,  \* the leader before: its epoch, and what was published when it was deposed
    expiry,  \* what leader and zombie are doing about one reservation
    calls    \* history: how many calls there were

watching == <<pub, dirty, term, zombie>>
vars == <<pod, item, open, binder, watching, expiry, calls>>

Mistake(name) == name \in Mistakes

-----------------------------------------------------------------------------
(* Values *)

None == "none"
Gone == "gone"
NoAttempt == 0

AllOwners == Nodes \cup Floating

\* Whose items hold the shares of a pod on this node.
Owners(n) == {n} \cup Floating
Used(node) == IF node \in Nodes THEN Owners(node) ELSE {}

NoEntry == [state |-> None, attempt |-> NoAttempt]
NoEntries == [p \in Pods |-> NoEntry]
Capacity(o) == IF o \in Nodes THEN NodeCapacity ELSE FloatingCapacity
NoItem == [there |-> FALSE, capacity |-> 0, avail |-> 0, owed |-> 0, entries |-> NoEntries, epoch |-> 0]

Idle == [step |-> "idle"]
NoZombie == [epoch |-> 0]
Unseen == [o \in AllOwners |-> NoAttempt]

Smallest(S) == CHOOSE c \in S : \A d \in S : c <= d
Max(a, b) == IF a > b THEN a ELSE b

Held(entries) == Cardinality({p \in Pods : entries[p].state # None})

Waits(p) == pod[p].phase = "there" /\ pod[p].node = None
Shown(p) == IF pod[p].phase = "gone" THEN Gone ELSE pod[p].node

\* An attempt is compared only with those in the table and in the state of a process.
Known ==
    UNION {{item[o].entries[p].attempt : p \in Pods, o \in AllOwners},
           {x[3] : x \in open},
           UNION {{binder[b].attempt} \cup {binder[b].seen[o] : o \in AllOwners} :
                  b \in {c \in Binders : binder[c] # Idle}},
           {expiry[w].attempt : w \in {v \in DOMAIN expiry : expiry[v] # Idle}}}
NewAttempt == Smallest((1..20) \ Known)

Init ==
    /\ pod = [p \in Pods |-> [phase |-> "there", node |-> None, by |-> None]]
    /\ item = [o \in AllOwners |->
         IF o \in Missing THEN NoItem
         ELSE [NoItem EXCEPT !.there = TRUE, !.capacity = Capacity(o), !.avail = Capacity(o), !.epoch = 1]]
    /\ open = {}
    /\ binder = [b \in Binders |-> Idle]
    /\ pub = [p \in Pods |-> None]
    /\ dirty = IF Sweeps THEN Missing ELSE AllOwners
    /\ term = 1
    /\ zombie = NoZombie
    /\ expiry = [w \in {"leader", "zombie"} |-> Idle]
    /\ calls = 0

-----------------------------------------------------------------------------
(* The API server *)

\* The pod becomes o: its resourceVersion changes.  What was read of it before is old, and a Binding that was sent with
\* the old resourceVersion will be refused.
Changed(p, o, binders, expiries) ==
    /\ pod' = [pod EXCEPT ![p] = o]
    /\ binder' = [b \in Binders |->
         IF binders[b] # Idle /\ binders[b].p = p THEN [binders[b] EXCEPT !.fresh = FALSE] ELSE binders[b]]
    /\ expiry' = [w \in DOMAIN expiry |->
         IF expiries[w] # Idle /\ expiries[w].p = p THEN [expiries[w] EXCEPT !.fresh = FALSE] ELSE expiries[w]]

\* It finished, or was deleted: nothing of it counts any more.
End(p) ==
    /\ Ends
    /\ pod[p].phase = "there"
    /\ Changed(p, [phase |-> "gone", node |-> None, by |-> None], binder, expiry)
    /\ UNCHANGED <<item, open, watching, calls>>

ForeignBind(p, n) ==
    /\ Foreign
    /\ Waits(p)
    /\ Changed(p, [pod[p] EXCEPT !.node = n, !.by = "foreign"], binder, expiry)
    /\ UNCHANGED <<item, open, watching, calls>>

-----------------------------------------------------------------------------
(* Writes on an owner's item.  What is released pays what is owed first.   *)

Balanced(i, entries) ==
    [i EXCEPT !.entries = entries, !.avail = Max(0, i.capacity - Held(entries)),
              !.owed = Max(0, Held(entries) - i.capacity)]

Without(i, p) == Balanced(i, [i.entries EXCEPT ![p] = NoEntry])

Reserved(o, p) == item[o].entries[p].state = "reserved"
ReservedBy(o, p, a) == Reserved(o, p) /\ item[o].entries[p].attempt = a

\* An open reservation is the trace of the entries that its attempt has in the owners that it names.
Traces(x, o, p) == x[1] = p /\ o \in Owners(x[2]) /\ ReservedBy(o, p, x[3])
Untraced(o, p) == Reserved(o, p) /\ ~\E x \in open : Traces(x, o, p)

-----------------------------------------------------------------------------
(* bind.  Whatever it waits for may take any time, and it may stop at any  *)
(* moment, out of time or dead: it is forgotten then.  A request that      *)
(* arrives late is the next step of a call that waits for long.            *)

Keep(b, knows) == binder' = [binder EXCEPT ![b] = knows]

Stop(b) ==
    /\ binder[b] # Idle
    /\ Keep(b, Idle)
    /\ UNCHANGED <<pod, item, open, watching, expiry, calls>>

\* Gone: no Binding of the pod can succeed any more.  On another node: neither, but the owners that it uses there may
\* have an entry of it that is not confirmed yet, and that this call or an earlier one has taken over.
Over(k) ==
    LET o == pod[k.p]
        over == [k EXCEPT !.fresh = FALSE, !.seen = Unseen, !.took = FALSE, !.lost = FALSE]
    IN  IF o.phase = "gone" THEN [over EXCEPT !.step = "settle", !.left = Owners(k.n)]
        ELSE [over EXCEPT !.step = "settle-here",
                          !.left = IF Mistake("settled-everywhere") THEN Owners(k.n) ELSE Owners(k.n) \ Used(o.node)]

\* Reads the pod.
Call(b, p, n) ==
    LET k == [step |-> IF Mistake("open-before-entries") THEN "open" ELSE "write", p |-> p, n |-> n, fresh |-> TRUE,
              attempt |-> NoAttempt, seen |-> Unseen, took |-> FALSE, lost |-> FALSE, left |-> {}]
    IN  /\ binder[b] = Idle
        /\ pod[p].phase = "there" /\ pod[p].node # n
        /\ MaxCalls > 0 => calls < MaxCalls
        /\ calls' = IF MaxCalls > 0 THEN calls + 1 ELSE 0
        /\ Keep(b, IF Waits(p) THEN [k EXCEPT !.attempt = NewAttempt] ELSE Over(k))
        /\ UNCHANGED <<pod, item, open, watching, expiry>>

\* Each attempt has an open reservation of its own, and leaves those of others alone.
Opened(k) == open \cup {<<k.p, k.n, k.attempt>>}

\* A mistake: see Call.
PutOpen(b) ==
    LET k == binder[b]
    IN  /\ k.step = "open"
        /\ open' = Opened(k)
        /\ Keep(b, [k EXCEPT !.step = "write"])
        /\ UNCHANGED <<pod, item, watching, expiry, calls>>

\* It reads the pod again.  What else it knows does not matter any more.
Checks(k) == [k EXCEPT !.step = "check", !.fresh = FALSE, !.seen = Unseen, !.took = FALSE, !.lost = FALSE]

\* The owner has the entry that was seen there, or none if none was.
Unchanged(o, p, seen) ==
    IF seen = NoAttempt THEN item[o].entries[p].state = None ELSE ReservedBy(o, p, seen)

\* The owners whose entries one transaction writes.
WrittenAtOnce(n) == IF Mistake("owner-by-owner") THEN {{o} : o \in Owners(n)} ELSE {Owners(n)}

\* The owners in which it checks the entry that it replaces.
Checked(n, owners) == IF Mistake("takeover-checked-in-one-owner") THEN owners \ Floating ELSE owners

\* What a call knows that could not reserve: it tries again with what it has seen, or gives up if an owner has too
\* little.  A try without an answer may have been carried out, and another bind may have taken over its entries since.
\* Then this attempt must not take them back: the expiry of this attempt may have touched the pod before the other bind
\* read it, and would release the entries on which the other's Binding relies.
Blocked(k, owners) ==
    IF \/ \E o \in owners : item[o].entries[k.p].state = "bound"
       \/ k.lost /\ ~Mistake("taken-back")
    THEN Checks(k)
    ELSE IF \E o \in owners : ~Unchanged(o, k.p, k.seen[o])
    THEN [k EXCEPT !.seen = [o \in AllOwners |-> IF o \in owners THEN item[o].entries[k.p].attempt ELSE NoAttempt]]
    ELSE Idle

\* One transaction.  It begins with the guess that no owner has an entry of the pod, and learns from a refusal what each
\* of them has.  An entry that was seen is taken over: it keeps its unit, and gets the new attempt.  A repeated
\* transaction finds the caller's attempt, and writes what is missing.  The caller remembers whether it took over an entry, in any owner and in any
\* of its tries: then another Binding may rely on its entries.
Reserve(b, owners, answered) ==
    LET k == binder[b]
        lacks == {o \in owners : ~ReservedBy(o, k.p, k.attempt)}
        fits == \A o \in lacks :
            /\ item[o].there
            /\ o \in Checked(k.n, owners) => Unchanged(o, k.p, k.seen[o])
            /\ k.seen[o] = NoAttempt => item[o].avail > 0
        taken == {o \in lacks : k.seen[o] # NoAttempt}
        took == k.took \/ (IF Mistake("first-by-the-node") THEN taken \ Floating ELSE taken) # {}
        entry == [state |-> "reserved", attempt |-> k.attempt]
        sends == [k EXCEPT !.step = "send", !.seen = Unseen, !.lost = FALSE]
    IN  /\ k.step = "write"
        /\ CASE lacks = {} -> Keep(b, sends) /\ UNCHANGED <<item, open>>
             [] lacks # {} /\ fits ->
                    /\ Cardinality(Opened(k)) <= MaxOpen
                    /\ open' = IF Mistake("open-before-entries") THEN open ELSE Opened(k)
                    /\ item' = [o \in AllOwners |->
                         IF o \in lacks
                         THEN [item[o] EXCEPT !.entries[k.p] = entry,
                                              !.avail = IF k.seen[o] = NoAttempt THEN @ - 1 ELSE @]
                         ELSE item[o]]
                    /\ Keep(b, IF answered THEN [sends EXCEPT !.took = took]
                               ELSE [k EXCEPT !.took = IF Mistake("lost-takeover-forgotten") THEN @ ELSE took,
                                              !.lost = TRUE])
             [] OTHER -> Keep(b, Blocked(k, owners)) /\ UNCHANGED <<item, open>>
        /\ UNCHANGED <<pod, watching, expiry, calls>>

\* The Binding is carried out.  resourceVersion is a precondition of it.
Accepted(k) == Waits(k.p) /\ (k.fresh \/ Mistake("binding-without-version"))
BoundBy(p, n) == [pod[p] EXCEPT !.node = n, !.by = "berth"]

\* A bind without an answer stops, or reads the pod.  A Binding that is on its way while its sender does not wait any
\* more needs no step of its own: for all others it is as if its sender had not sent it yet.
SendBinding(b) ==
    LET k == binder[b]
    IN  /\ k.step = "send"
        /\ Accepted(k)
        /\ Changed(k.p, BoundBy(k.p, k.n), [binder EXCEPT ![b] = Idle], expiry)
        /\ UNCHANGED <<item, open, watching, calls>>

\* Refused for another reason than a conflict.  Only an attempt that made the entries of all owners knows that no other
\* Binding relies on one of them; other attempts leave them, and stop.
Refused(b) ==
    LET k == binder[b]
    IN  /\ k.step = "send"
        /\ ~k.took
        /\ Keep(b, [Checks(k) EXCEPT !.step = "release", !.left = Owners(k.n)])
        /\ UNCHANGED <<pod, item, open, watching, expiry, calls>>

\* After a conflict it reads the pod.  If the pod still waits, or is on the node, it leaves the entries, and stops.  To
\* try again is another call.
Check(b) ==
    LET k == binder[b]
    IN  /\ k.step = "check" \/ (k.step = "send" /\ ~Accepted(k))
        /\ ~Waits(k.p) /\ pod[k.p].node # k.n
        /\ Keep(b, Over(k))
        /\ UNCHANGED <<pod, item, open, watching, expiry, calls>>

ForgetAttempt(p, a) == {x \in open : x[1] # p \/ x[3] # a}

\* One owner after another.  release: no Binding needs this attempt's entries, but one may need another attempt's.
\* settle: no Binding needs any of them.  settle-here: the same, but other owners may keep an entry of this attempt, so
\* its open reservation stays until the watcher closes it.
ReleaseOwn(b, o) ==
    LET k == binder[b]
        e == item[o].entries[k.p]
        passes == Reserved(o, k.p) /\ (k.step # "release" \/ e.attempt = k.attempt)
        forgets == Mistake("open-deleted-by-bind") \/ (Mistake("open-of-another-deleted") /\ k.step # "release")
        left == k.left \ {o}
    IN  /\ k.step \in {"release", "settle", "settle-here"}
        /\ o \in k.left
        /\ item' = IF passes THEN [item EXCEPT ![o] = Without(@, k.p)] ELSE item
        /\ open' = IF passes /\ forgets THEN ForgetAttempt(k.p, e.attempt) ELSE open
        /\ Keep(b, IF left # {} THEN [k EXCEPT !.left = left]
                   ELSE IF k.step = "settle-here" \/ k.attempt = NoAttempt THEN Idle
                   ELSE [k EXCEPT !.step = "unopen", !.left = {}])
        /\ UNCHANGED <<pod, watching, expiry, calls>>

DeleteOpen(b) ==
    LET k == binder[b]
    IN  /\ k.step = "unopen"
        /\ open' = ForgetAttempt(k.p, k.attempt)
        /\ Keep(b, Idle)
        /\ UNCHANGED <<pod, item, watching, expiry, calls>>

-----------------------------------------------------------------------------
(* The watcher publishes, each pod when it comes to it                     *)

\* The leader has to look at all owners of the pod, not only at its node.
PublishPod(p) ==
    /\ pub[p] # Shown(p)
    /\ pub' = [pub EXCEPT ![p] = Shown(p)]
    /\ dirty' = dirty \cup ((Used(pub[p]) \cup Used(Shown(p)))
                            \ (IF Mistake("publication-for-the-node") THEN Floating ELSE {}))
    /\ UNCHANGED <<pod, item, open, binder, term, zombie, expiry, calls>>

\* Another watcher takes over, at any time.  The one before is dead, or continues as if nothing had happened.
Succeed ==
    /\ term < MaxTerms
    /\ term' = term + 1
    /\ zombie' = IF Zombies THEN [epoch |-> term, pub |-> pub] ELSE NoZombie
    /\ expiry' = [expiry EXCEPT !["leader"] = Idle, !["zombie"] = IF Zombies THEN expiry["leader"] ELSE Idle]
    /\ dirty' = AllOwners
    /\ UNCHANGED <<pod, item, open, binder, pub, calls>>

-----------------------------------------------------------------------------
(* The watcher's work on one owner.  The view is what it has published.    *)

Alive(w) == w = "leader" \/ zombie # NoZombie
Epoch(w) == IF w = "leader" THEN term ELSE zombie.epoch
View(w) == IF w = "leader" THEN pub ELSE zombie.pub

Sees(view, p, o) == o \in Used(view[p])
\* The pod is gone, or on a node where it does not use this owner.
IsOver(view, p, o) == view[p] # None /\ o \notin Used(view[p])

\* The leader looks at an owner when something was published, and when it finds an open reservation that names it.
LooksAt(w, o) == w # "leader" \/ o \in dirty \/ \E x \in open : o \in Owners(x[2])

Fenced(w, o) == item[o].there /\ (item[o].epoch <= Epoch(w) \/ Mistake("watcher-without-epoch"))
Write(w, o, i) == item' = [item EXCEPT ![o] = [i EXCEPT !.epoch = Max(@, Epoch(w))]]

\* Whatever attempt has the entry: an attempt for another node may have taken it over, in the floating owners only.
Confirm(w, p, o) ==
    LET e == item[o].entries[p]
    IN  /\ Fenced(w, o) /\ LooksAt(w, o)
        /\ e.state = "reserved"
        /\ Sees(View(w), p, o)
        /\ Write(w, o, [item[o] EXCEPT !.entries[p] = [state |-> "bound", attempt |-> NoAttempt]])
        /\ open' = IF Mistake("open-closed-by-one-owner") THEN ForgetAttempt(p, e.attempt) ELSE open
        /\ UNCHANGED <<pod, binder, watching, expiry, calls>>

Adopt(w, p, o) ==
    /\ Fenced(w, o) /\ LooksAt(w, o)
    /\ item[o].entries[p].state = None
    /\ Sees(View(w), p, o)
    /\ Write(w, o, Balanced(item[o], [item[o].entries EXCEPT ![p] = [state |-> "bound", attempt |-> NoAttempt]]))
    /\ UNCHANGED <<pod, open, binder, watching, expiry, calls>>

Release(w, p, o) ==
    LET e == item[o].entries[p]
    IN  /\ Fenced(w, o) /\ LooksAt(w, o)
        /\ e.state # None
        /\ IsOver(View(w), p, o)
        /\ Write(w, o, Without(item[o], p))
        /\ open' = IF Mistake("open-closed-by-release") THEN ForgetAttempt(p, e.attempt) ELSE open
        /\ UNCHANGED <<pod, binder, watching, expiry, calls>>

CreateItem(w, o) ==
    LET i == [NoItem EXCEPT !.there = TRUE, !.capacity = Capacity(o)]
    IN  /\ ~item[o].there
        /\ LooksAt(w, o)
        /\ Write(w, o, Balanced(i, [p \in Pods |->
               IF Sees(View(w), p, o) THEN [state |-> "bound", attempt |-> NoAttempt] ELSE NoEntry]))
        /\ UNCHANGED <<pod, open, binder, watching, expiry, calls>>

\* The item says what is published.
Agrees(o) == item[o].there /\ \A p \in Pods : Sees(pub, p, o) <=> item[o].entries[p].state = "bound"

\* The leader finds nothing to do any more, and does not look again until something is published.  Looking is a write:
\* it sets the epoch of this owner, or the watcher before could still change it.
Swept(o) ==
    /\ Sweeps
    /\ o \in dirty
    /\ Agrees(o)
    /\ \A p \in Pods : ~Untraced(o, p)
    /\ Fenced("leader", o)
    /\ item' = [item EXCEPT ![o].epoch = term]
    /\ dirty' = dirty \ {o}
    /\ UNCHANGED <<pod, open, binder, pub, term, zombie, expiry, calls>>

-----------------------------------------------------------------------------
(* Expiry: read the pod, touch the pod, release owner by owner, close the  *)
(* open reservation.  It is the last, so that another watcher can continue *)
(* after each of these steps.                                              *)

Go(w, what) == expiry' = [expiry EXCEPT ![w] = what]

\* Whether a bind may still reserve as this attempt.
Reserves(a) == \E b \in Binders : binder[b].step = "write" /\ binder[b].attempt = a

\* Reads the pod.  If it is on a node, the entries of the owners that it uses there are left to the publication, even if
\* the attempt was for another node: it may have taken over the entries on which the pod's Binding relied.
Expire(w, p, a, owners) ==
    LET left == IF Mistake("expired-everywhere") THEN owners ELSE owners \ Used(pod[p].node)
        waits == Waits(p) /\ ~Mistake("expiry-by-age")
    IN  /\ Alive(w)
        /\ expiry[w] = Idle
        /\ ~Mistake("never-expires")
        /\ ~(owners \subseteq Used(pod[p].node))
        /\ \E o \in owners : ReservedBy(o, p, a)
        /\ Prompt => ~Reserves(a)
        /\ Go(w, [step |-> IF waits THEN "touch" ELSE "release", p |-> p, attempt |-> a, fresh |-> waits,
                  left |-> left])
        /\ UNCHANGED <<pod, item, open, binder, watching, calls>>

\* Found by the query for open reservations.
BeginExpiry(w, x) == x \in open /\ Expire(w, x[1], x[3], Owners(x[2]))

\* Found by a look at the owner.  The entry names neither its node nor its other owners.
BeginExpiryOfEntry(w, p, o) ==
    /\ o \in dirty
    /\ Untraced(o, p)
    /\ Expire(w, p, item[o].entries[p].attempt, {o})

AbandonExpiry(w) ==
    /\ expiry[w] # Idle
    /\ Go(w, Idle)
    /\ UNCHANGED <<pod, item, open, binder, watching, calls>>

\* A change of the pod that only makes it another version.  It is refused, too, if the pod has changed.
Touch(w) ==
    LET x == expiry[w]
    IN  /\ x.step = "touch"
        /\ IF x.fresh
           THEN Changed(x.p, pod[x.p], binder, [expiry EXCEPT ![w] = [x EXCEPT !.step = "release"]])
           ELSE Go(w, Idle) /\ UNCHANGED <<pod, binder>>
        /\ UNCHANGED <<item, open, watching, calls>>

ExpiryReleases(w, o) ==
    LET x == expiry[w]
        left == x.left \ {o}
    IN  /\ x.step = "release"
        /\ o \in x.left
        /\ Fenced(w, o)
        /\ IF ReservedBy(o, x.p, x.attempt) \/ (Mistake("expiry-of-any-attempt") /\ Reserved(o, x.p))
           THEN Write(w, o, Without(item[o], x.p))
           ELSE UNCHANGED item
        /\ open' = IF Mistake("open-deleted-early") THEN ForgetAttempt(x.p, x.attempt) ELSE open
        /\ Go(w, IF left = {} THEN Idle ELSE [x EXCEPT !.left = left])
        /\ UNCHANGED <<pod, binder, watching, calls>>

\* No owner has an entry that this attempt has reserved.  When its bind does not reserve any more, that stays true: so
\* it does not matter that the owners are read one after another.  If the pod is published as bound or gone, the watcher
\* does not wait until the reservation is old.
Close(w, x) ==
    /\ Alive(w)
    /\ x \in open
    /\ \A o \in Owners(x[2]) : ~ReservedBy(o, x[1], x[3])
    /\ Prompt => ~Reserves(x[3]) \/ View(w)[x[1]] # None
    /\ open' = open \ {x}
    /\ UNCHANGED <<pod, item, binder, watching, expiry, calls>>

-----------------------------------------------------------------------------

BindSteps(b) ==
    \/ \E p \in Pods, n \in Nodes : Call(b, p, n)
    \/ PutOpen(b) \/ Refused(b) \/ Check(b) \/ DeleteOpen(b) \/ Stop(b)
    \/ binder[b].step = "write" /\ \E owners \in WrittenAtOnce(binder[b].n), answered \in BOOLEAN :
           Reserve(b, owners, answered)
    \/ SendBinding(b)
    \/ \E o \in AllOwners : ReleaseOwn(b, o)

LedgerSteps(w) ==
    /\ Alive(w)
    /\ \E o \in AllOwners : CreateItem(w, o) \/ \E p \in Pods : Confirm(w, p, o) \/ Adopt(w, p, o) \/ Release(w, p, o)

ExpirySteps(w) ==
    \/ \E x \in open : BeginExpiry(w, x) \/ Close(w, x)
    \/ \E p \in Pods, o \in AllOwners : BeginExpiryOfEntry(w, p, o)
    \/ Touch(w) \/ AbandonExpiry(w)
    \/ \E o \in AllOwners : ExpiryReleases(w, o)

Next ==
    \/ \E p \in Pods : End(p) \/ PublishPod(p)
    \/ \E p \in Pods, n \in Nodes : ForeignBind(p, n)
    \/ \E o \in AllOwners : Swept(o)
    \/ \E b \in Binders : BindSteps(b)
    \/ Succeed
    \/ \E w \in {"leader", "zombie"} : LedgerSteps(w) \/ ExpirySteps(w)

Spec == Init /\ [][Next]_vars

\* There is a leader that does its work, and is not unlucky forever.  Binds owe nothing: they may all stop, but they
\* do not stand still.
FairSpec ==
    /\ Spec
    /\ \A b \in Binders : WF_vars(Stop(b))
    /\ \A p \in Pods : WF_vars(PublishPod(p))
    /\ \A p \in Pods, o \in AllOwners :
        WF_vars(Confirm("leader", p, o)) /\ WF_vars(Adopt("leader", p, o)) /\ WF_vars(Release("leader", p, o))
    /\ \A o \in AllOwners :
        WF_vars(CreateItem("leader", o)) /\ WF_vars(Swept(o)) /\ SF_vars(ExpiryReleases("leader", o))
    /\ \A p \in Pods, n \in Nodes :
        /\ SF_vars(\E a \in 1..20 : BeginExpiry("leader", <<p, n, a>>))
        /\ WF_vars(\E a \in 1..20 : Close("leader", <<p, n, a>>))
    /\ WF_vars(Touch("leader")) /\ SF_vars(expiry["leader"] # Idle /\ expiry["leader"].fresh /\ Touch("leader"))

-----------------------------------------------------------------------------
(* Properties *)

\* Each item is balanced: all that is held is taken from avail, or owed.
Balance ==
    \A o \in AllOwners :
        LET i == item[o]
        IN  /\ i.avail - i.owed + Held(i.entries) = i.capacity
            /\ i.avail >= 0
            /\ i.owed >= 0
            /\ i.avail = 0 \/ i.owed = 0

\* Berth reserves nothing beyond the capacity of an owner.  Beyond it comes what others bind.
NothingOverReserved ==
    [][\A o \in AllOwners, p \in Pods :
        item[o].entries[p].state = None /\ item'[o].entries[p].state = "reserved"
            => Held(item'[o].entries) <= item'[o].capacity]_item

ByBerth(p) == pod[p].phase = "there" /\ pod[p].by = "berth"

\* The pods that Berth has bound use no more of any pool than there is.
NothingOverUsed ==
    \A o \in AllOwners : Cardinality({p \in Pods : ByBerth(p) /\ o \in Used(pod[p].node)}) <= Capacity(o)

\* A pod that Berth has bound is counted by each of its owners, from the first moment until it ends.
BoundIsCounted == \A p \in Pods : ByBerth(p) => \A o \in Used(pod[p].node) : item[o].entries[p].state # None

\* No pod changes its node.
BoundOnce == [][\A p \in Pods : pod[p].node # None /\ pod'[p].phase = "there" => pod'[p].node = pod[p].node]_pod

\* A reader of the open reservations sees every entry that is not confirmed, in all owners.
Traced == \A p \in Pods, o \in AllOwners : ~Untraced(o, p)

\* What the leader has looked at stays as it left it, until something new is published: no zombie changes it.
SweptStaysSwept == Sweeps => \A o \in AllOwners \ dirty : Agrees(o)

\* When a pod has ended, all owners lose its entry in the end.
EveryShareEnds ==
    \A p \in Pods :
        pod[p].phase = "gone" /\ (\E o \in AllOwners : item[o].entries[p].state # None)
            ~> \A o \in AllOwners : item[o].entries[p].state = None

\* Every reservation is confirmed or released in the end, in all owners, even if its bind has died.
EveryReservationEnds ==
    \A p \in Pods : (\E o \in AllOwners : Reserved(o, p)) ~> \A o \in AllOwners : ~Reserved(o, p)

\* No open reservation stays forever either.
EveryOpenEnds == open # {} ~> open = {}

\* Not a property: the search must find a state that breaks it, or the model would hold because nothing happens in it.
\* The watcher before has released one owner of an attempt, and is about to release another; a bind has reserved again
\* in all owners, and its Binding is on its way.
NothingHappens ==
    \A p \in Pods, n \in Nodes :
        ~ /\ term = MaxTerms /\ term > 1
          /\ expiry["zombie"] # Idle /\ expiry["zombie"].step = "release"
          /\ Cardinality(expiry["zombie"].left) = 1
          /\ \A o \in Owners(n) : Reserved(o, p) /\ item[o].entries[p].attempt # expiry["zombie"].attempt
          /\ \E b \in Binders : binder[b].step = "send" /\ binder[b].p = p /\ binder[b].n = n /\ binder[b].fresh

Symmetry == Permutations(Binders) \cup Permutations(Pods) \cup Permutations(Nodes) \cup Permutations(Floating)
=============================================================================
