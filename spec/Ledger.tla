-------------------------------- MODULE Ledger --------------------------------
(***************************************************************************)
(* The ledger of counted resources: one item per node, which bind and the  *)
(* watcher change by single conditional writes.  README.md says what is    *)
(* modelled and what is not.                                               *)
(*                                                                         *)
(* A bind reads the pod, leaves an open reservation, reserves, and sends   *)
(* the Binding.  The watcher confirms what it has published, adopts what   *)
(* others have bound, and ends reservations whose bind has died.           *)
(*                                                                         *)
(* There is no clock, and no resourceVersion, attempt or epoch is counted  *)
(* further than it is compared: `fresh` says that the pod has not changed  *)
(* since it was read, and an attempt that is stored nowhere may be used    *)
(* again.  So calls continue for ever, with a finite number of states.     *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
    Binders,    \* concurrent calls of bind; each may be repeated for ever, for any pod and node
    Pods,       \* UIDs
    Nodes,
    Capacities, \* of a node, one pool; 0: the node is gone
    Asks,       \* what pods ask for; with more than one, an edit may change it while the pod is not bound
    MaxTries,   \* how often one call sends a Binding
    MaxTerms,   \* how often a watcher takes over
    MaxCalls,   \* how many calls there are; 0: any number
    MaxOpen,    \* how many open reservations there may be at once
    OneName,    \* TRUE: all pods have the same name, and each is created after the one before is gone
    Foreign,    \* TRUE: another component binds pods too
    Claims,     \* what the owner of a bound pod, or who binds a pod, may write into its annotations; {}: nothing
    Hides,      \* TRUE: a pod may be too large for what is published
    Edits,      \* TRUE: pods change while they wait
    Late,       \* TRUE: a write of bind on the ledger may still arrive when its sender is gone
    HeadLoss,   \* TRUE: the head item may be lost, and with it the count of epochs
    Prompt,     \* TRUE: a bind has ended, and its writes have arrived, before its reservation is old enough to expire
    Mistakes    \* names of deliberate mistakes; {} is the protocol

VARIABLES
    pod,     \* the API server's pods
    size,    \* the API server's nodes: their capacity
    item,    \* the ledger, by node
    open,    \* the open reservations: pod, node, attempt
    binder,  \* what each call knows
    flight,  \* Bindings whose sender waits no longer, and that may still arrive
    late,    \* a write on the ledger whose sender waits no longer
    pub,     \* what is published of pods and nodes
    dirty,   \* nodes at which the leader still has to look
    term,    \* the leader's epoch
    mark,    \* the epoch in the ledger's marker: the latest that was registered
    entered, \* the leader has registered its epoch, and may write
    zombie,  \* the leader before: its epoch, whether it has registered, and what was published when it was deposed
    expiry,  \* what leader and zombie are doing about one reservation
    calls    \* history: how many calls there were

api == <<pod, size>>
leading == <<term, mark, entered, zombie>>
watching == <<pub, dirty, leading>>
vars == <<api, item, open, binder, flight, late, watching, expiry, calls>>

Mistake(name) == name \in Mistakes

-----------------------------------------------------------------------------
(* Values *)

None == "none"
NoAttempt == 0

NoEntry == [state |-> None, attempt |-> NoAttempt, n |-> 0]
NoEntries == [p \in Pods |-> NoEntry]
NoItem == [there |-> FALSE, capacity |-> 0, avail |-> 0, owed |-> 0, entries |-> NoEntries, epoch |-> 0]

Idle == [step |-> "idle"]
NoLate == [kind |-> None]
NoZombie == [epoch |-> 0, entered |-> FALSE]

Biggest(S) == CHOOSE c \in S : \A d \in S : d <= c
Min(a, b) == IF a < b THEN a ELSE b
Smallest(S) == CHOOSE c \in S : \A d \in S : c <= d
Max(a, b) == IF a > b THEN a ELSE b

RECURSIVE Sum(_, _)
Sum(f, S) == IF S = {} THEN 0 ELSE LET x == CHOOSE x \in S : TRUE IN f[x] + Sum(f, S \ {x})
Held(entries) == Sum([p \in Pods |-> entries[p].n], Pods)

Waits(o) == o.phase = "there" /\ o.node = None
On(o, n) == o.phase = "there" /\ o.node = n
Elsewhere(o, n) == o.phase = "there" /\ o.node \notin {None, n}

\* An attempt is compared only with those in the table and in the state of a process.
Known ==
    UNION {{item[n].entries[p].attempt : p \in Pods, n \in Nodes},
           {o[3] : o \in open},
           UNION {{binder[b].attempt, binder[b].seen} : b \in {c \in Binders : binder[c] # Idle}},
           UNION {{expiry[w].seen, expiry[w].attempt} : w \in {v \in DOMAIN expiry : expiry[v] # Idle}},
           IF late = NoLate THEN {} ELSE {late.attempt, late.seen}}
NewAttempt == Smallest((1..20) \ Known)

Init ==
    /\ pod \in {[p \in Pods |-> [phase |-> IF OneName /\ p # first THEN "absent" ELSE "there", node |-> None,
                                 by |-> None, ask |-> Biggest(Asks), claim |-> Biggest(Asks)]] : first \in Pods}
    /\ size = [n \in Nodes |-> Biggest(Capacities)]
    /\ item = [n \in Nodes |-> [NoItem EXCEPT !.there = TRUE, !.capacity = size[n], !.avail = size[n], !.epoch = 1]]
    /\ open = {}
    /\ binder = [b \in Binders |-> Idle]
    /\ flight = {}
    /\ late = NoLate
    /\ pub = [pods |-> pod, size |-> size]
    /\ dirty = {}
    /\ term = 1
    /\ mark = 1
    /\ entered = TRUE
    /\ zombie = NoZombie
    /\ expiry = [w \in {"leader", "zombie"} |-> Idle]
    /\ calls = 0

-----------------------------------------------------------------------------
(* The API server *)

\* The pod becomes o: its resourceVersion changes.  What was read of it before is old, and a Binding that was sent with
\* the old resourceVersion will be refused; such a one need not be kept.
Changed(p, o, binders, expiries) ==
    /\ pod' = [pod EXCEPT ![p] = o]
    /\ binder' = [b \in Binders |->
         IF binders[b] # Idle /\ binders[b].p = p THEN [binders[b] EXCEPT !.fresh = FALSE] ELSE binders[b]]
    /\ expiry' = [w \in DOMAIN expiry |->
         IF expiries[w] # Idle /\ expiries[w].p = p THEN [expiries[w] EXCEPT !.fresh = FALSE] ELSE expiries[w]]
    /\ flight' = IF Mistake("binding-without-version") /\ Waits(o) THEN flight ELSE {m \in flight : m[1] # p}

Create(p) ==
    /\ OneName
    /\ pod[p].phase = "absent"
    /\ \A q \in Pods : pod[q].phase # "there"
    /\ pod' = [pod EXCEPT ![p].phase = "there"]
    /\ UNCHANGED <<size, item, open, binder, flight, late, watching, expiry, calls>>

\* It finished, or was deleted: nothing of it counts any more.
End(p) ==
    /\ pod[p].phase = "there"
    /\ Changed(p, [pod[p] EXCEPT !.phase = "gone", !.node = None], binder, expiry)
    /\ UNCHANGED <<size, item, open, late, watching, calls>>

ForeignBind(p, n) ==
    /\ Foreign
    /\ Waits(pod[p])
    /\ \E claim \in Claims \cup {pod[p].ask} :
        Changed(p, [pod[p] EXCEPT !.node = n, !.by = "foreign", !.claim = claim], binder, expiry)
    /\ UNCHANGED <<size, item, open, late, watching, calls>>

Edit(p, ask) ==
    /\ Edits
    /\ Waits(pod[p])
    /\ Changed(p, [pod[p] EXCEPT !.ask = ask, !.claim = ask], binder, expiry)
    /\ UNCHANGED <<size, item, open, late, watching, calls>>

\* The owner changes or removes an annotation of a pod that runs.  What it uses stays.
Claim(p, claim) ==
    /\ pod[p].phase = "there" /\ pod[p].node # None
    /\ pod[p].claim # claim
    /\ Changed(p, [pod[p] EXCEPT !.claim = claim], binder, expiry)
    /\ UNCHANGED <<size, item, open, late, watching, calls>>

Resize(n, c) ==
    /\ size[n] # c
    /\ size' = [size EXCEPT ![n] = c]
    /\ UNCHANGED <<pod, item, open, binder, flight, late, watching, expiry, calls>>

-----------------------------------------------------------------------------
(* Writes on a node's item.  What is released pays what is owed first.     *)

\* The item with these entries and this capacity.
Balanced(i, entries, capacity) ==
    [i EXCEPT !.entries = entries, !.capacity = capacity,
              !.avail = Max(0, capacity - Held(entries)), !.owed = Max(0, Held(entries) - capacity)]

Without(i, p) == Balanced(i, [i.entries EXCEPT ![p] = NoEntry], i.capacity)

With(i, p, entry) ==
    [i EXCEPT !.entries[p] = entry, !.avail = @ - entry.n + i.entries[p].n]

Reserved(n, p) == item[n].there /\ item[n].entries[p].state = "reserved"
Untraced(p, n) == Reserved(n, p) /\ <<p, n, item[n].entries[p].attempt>> \notin open

-----------------------------------------------------------------------------
(* bind.  Whatever it waits for may take any time, and it may stop at any  *)
(* moment, out of time or dead: it is forgotten then.                      *)

Keep(b, knows) == binder' = [binder EXCEPT ![b] = knows]

Stop(b) ==
    /\ binder[b] # Idle
    /\ Keep(b, Idle)
    /\ UNCHANGED <<api, item, open, flight, late, watching, expiry, calls>>

\* Reads the pod.  Gone, or bound elsewhere: no Binding for it can succeed any more.
Look(b, k) ==
    Keep(b, IF Waits(pod[k.p]) THEN [k EXCEPT !.ask = pod[k.p].ask, !.fresh = TRUE]
            ELSE IF On(pod[k.p], k.n) THEN Idle
            ELSE [k EXCEPT !.step = "settle", !.fresh = FALSE])

Call(b, p, n) ==
    /\ binder[b] = Idle
    /\ pod[p].phase # "absent" /\ ~On(pod[p], n)
    /\ MaxCalls > 0 => calls < MaxCalls
    /\ calls' = IF MaxCalls > 0 THEN calls + 1 ELSE 0
    /\ Look(b, [step |-> "open", p |-> p, n |-> n, ask |-> 0, fresh |-> FALSE, attempt |-> NoAttempt,
                seen |-> NoAttempt, held |-> 0, surplus |-> FALSE, made |-> FALSE, tries |-> 0])
    /\ UNCHANGED <<api, item, open, flight, late, watching, expiry>>

\* Each attempt has an open reservation of its own, and leaves those of others alone.
PutOpen(b) ==
    LET k == binder[b]
    IN  /\ k.step = "open"
        /\ Cardinality(open) < MaxOpen
        /\ open' = open \cup {<<k.p, k.n, NewAttempt>>}
        /\ Keep(b, [k EXCEPT !.step = "reserve", !.attempt = NewAttempt])
        /\ UNCHANGED <<api, item, flight, late, watching, expiry, calls>>

Suffices(i, ask) == i.there /\ (i.avail >= ask \/ Mistake("reserve-unconditional"))

\* A lost response is asked for by repeating the write: the entry that has the caller's attempt is the caller's.
Reserve(b) ==
    LET k == binder[b]
        i == item[k.n]
        e == i.entries[k.p]
        mine == [state |-> "reserved", attempt |-> k.attempt, n |-> k.ask]
    IN  /\ k.step = "reserve"
        /\ CASE e.state = None /\ Suffices(i, k.ask) ->
                    /\ item' = [item EXCEPT ![k.n] = With(i, k.p, mine)]
                    /\ Keep(b, [k EXCEPT !.step = "send", !.made = TRUE])
             [] e.state = "reserved" /\ e.attempt = k.attempt ->
                    /\ Keep(b, [k EXCEPT !.step = "send", !.made = TRUE])
                    /\ UNCHANGED item
             [] e.state = "reserved" /\ e.attempt # k.attempt ->
                    /\ Keep(b, [k EXCEPT !.step = "take", !.seen = e.attempt, !.held = e.n])
                    /\ UNCHANGED item
             [] e.state = "bound" -> Keep(b, [k EXCEPT !.step = "check"]) /\ UNCHANGED item
             [] OTHER -> Keep(b, [k EXCEPT !.step = "unopen"]) /\ UNCHANGED item
        /\ UNCHANGED <<api, open, flight, late, watching, expiry, calls>>

\* The entry with its new owner.  What it holds does not shrink: a Binding for the pod as it was may be on its way.
\* held: its amount as it was read.
Taken(e, held, attempt, ask) ==
    [state |-> "reserved", attempt |-> IF Mistake("takeover-keeps-attempt") THEN e.attempt ELSE attempt,
     n |-> IF Mistake("shares-replaced") THEN ask ELSE Max(held, ask)]

\* The write adds to avail what was read and subtracts what is needed: its condition names the attempt, not the amount.
TakenFrom(i, p, held, taken) == [i EXCEPT !.entries[p] = taken, !.avail = @ - taken.n + held]

TakeOver(b) ==
    LET k == binder[b]
        i == item[k.n]
        e == i.entries[k.p]
        taken == Taken(e, k.held, k.attempt, k.ask)
    IN  /\ k.step = "take"
        /\ CASE ~(Reserved(k.n, k.p) /\ e.attempt = k.seen) ->
                    Keep(b, [k EXCEPT !.step = "reserve", !.seen = NoAttempt, !.held = 0]) /\ UNCHANGED item
             [] OTHER ->
                    IF Suffices(i, taken.n - k.held)
                    THEN /\ item' = [item EXCEPT ![k.n] = TakenFrom(i, k.p, k.held, taken)]
                         /\ Keep(b, [k EXCEPT !.step = "send", !.seen = NoAttempt, !.held = 0,
                                              !.surplus = taken.n > k.ask])
                    ELSE Keep(b, [k EXCEPT !.step = "unopen", !.held = 0]) /\ UNCHANGED item
        /\ UNCHANGED <<api, open, flight, late, watching, expiry, calls>>

\* The item after a bind, or its write that is late, has left the entry with what its pod needs.
Shrunk(i, w) ==
    LET e == i.entries[w.p]
    IN  IF i.there /\ e.state = "reserved" /\ e.attempt = w.seen
        THEN Balanced(i, [i.entries EXCEPT ![w.p] = [e EXCEPT !.attempt = w.attempt, !.n = w.ask]], i.capacity)
        ELSE i

\* Sends one of these three writes and waits no longer.
LeaveWrite(b) ==
    LET k == binder[b]
    IN  /\ Late
        /\ late = NoLate
        /\ k.step \in {"reserve", "take", "shrink"}
        /\ late' = [kind |-> k.step, p |-> k.p, n |-> k.n, ask |-> k.ask, attempt |-> k.attempt, seen |-> k.seen,
                   held |-> k.held]
        /\ Keep(b, Idle)
        /\ UNCHANGED <<api, item, open, flight, watching, expiry, calls>>

ArriveLate ==
    LET i == item[late.n]
        e == i.entries[late.p]
    IN  /\ late # NoLate
        /\ item' =
             CASE late.kind = "reserve" /\ e.state = None /\ Suffices(i, late.ask) ->
                      [item EXCEPT ![late.n] =
                          With(i, late.p, [state |-> "reserved", attempt |-> late.attempt, n |-> late.ask])]
               [] late.kind = "take" /\ Reserved(late.n, late.p) /\ e.attempt = late.seen
                  /\ Suffices(i, Taken(e, late.held, late.attempt, late.ask).n - late.held) ->
                      [item EXCEPT ![late.n] =
                          TakenFrom(i, late.p, late.held, Taken(e, late.held, late.attempt, late.ask))]
               [] late.kind = "shrink" -> [item EXCEPT ![late.n] = Shrunk(i, late)]
               [] OTHER -> item
        /\ late' = NoLate
        /\ UNCHANGED <<api, open, binder, flight, watching, expiry, calls>>

\* The Binding is carried out.  resourceVersion is a precondition of it.
Accepted(k) == Waits(pod[k.p]) /\ (k.fresh \/ Mistake("binding-without-version"))
BoundBy(p, n) == [pod[p] EXCEPT !.node = n, !.by = "berth"]

\* It is done if the answer comes, but for what an earlier attempt reserved and no Binding needs any more.
SendBinding(b, answered) ==
    LET k == binder[b]
        check == [k EXCEPT !.step = "check"]
        done == IF ~k.surplus THEN Idle
                ELSE IF Mistake("shrink-keeps-attempt") THEN [k EXCEPT !.step = "shrink", !.seen = k.attempt]
                ELSE [k EXCEPT !.step = "trace"]
    IN  /\ k.step = "send"
        /\ IF Accepted(k)
           THEN Changed(k.p, BoundBy(k.p, k.n), [binder EXCEPT ![b] = IF answered THEN done ELSE check], expiry)
           ELSE /\ Keep(b, IF Mistake("shrink-unanswered") THEN done ELSE check)
                /\ UNCHANGED <<pod, flight, expiry>>
        /\ UNCHANGED <<size, item, open, late, watching, calls>>

\* The entry gets another owner, so that no write that has seen the larger amount passes; and so another open reservation.
PutOpenOfRest(b) ==
    LET k == binder[b]
    IN  /\ k.step = "trace"
        /\ Cardinality(open) < MaxOpen
        /\ open' = IF Mistake("shrink-untraced") THEN open ELSE open \cup {<<k.p, k.n, NewAttempt>>}
        /\ Keep(b, [k EXCEPT !.step = "shrink", !.seen = k.attempt, !.attempt = NewAttempt])
        /\ UNCHANGED <<api, item, flight, late, watching, expiry, calls>>

ReleaseSurplus(b) ==
    LET k == binder[b]
    IN  /\ k.step = "shrink"
        /\ item' = [item EXCEPT ![k.n] = Shrunk(@, k)]
        /\ Keep(b, Idle)
        /\ UNCHANGED <<api, open, flight, late, watching, expiry, calls>>

\* It is on its way when its sender gives up waiting.
LeaveBinding(b) ==
    LET k == binder[b]
    IN  /\ k.step = "send"
        /\ Accepted(k)
        /\ flight' = flight \cup {<<k.p, k.n>>}
        /\ Keep(b, [k EXCEPT !.step = "check"])
        /\ UNCHANGED <<api, item, open, late, watching, expiry, calls>>

ArriveBinding(p, n) ==
    /\ <<p, n>> \in flight
    /\ Changed(p, BoundBy(p, n), binder, expiry)
    /\ UNCHANGED <<size, item, open, late, watching, calls>>

\* Refused for another reason than a conflict.  Only who made the entry knows that no other Binding relies on it.
Refused(b) ==
    LET k == binder[b]
    IN  /\ k.step = "send"
        /\ Keep(b, IF k.made \/ Mistake("release-after-takeover") THEN [k EXCEPT !.step = "release"] ELSE Idle)
        /\ UNCHANGED <<api, item, open, flight, late, watching, expiry, calls>>

\* It tries again as another attempt, and after the last leaves all as it is.
Check(b) ==
    LET k == binder[b]
        again == [k EXCEPT !.step = "open", !.tries = @ + 1, !.attempt = NoAttempt, !.made = FALSE, !.surplus = FALSE]
    IN  /\ k.step = "check"
        /\ IF Waits(pod[k.p]) /\ k.tries + 1 = MaxTries THEN Keep(b, Idle)
           ELSE Look(b, IF Waits(pod[k.p]) THEN again ELSE k)
        /\ UNCHANGED <<api, item, open, flight, late, watching, expiry, calls>>

\* release: not this attempt, but perhaps another's.  settle: no attempt's.
ReleaseOwn(b) ==
    LET k == binder[b]
        e == item[k.n].entries[k.p]
        passes == /\ Reserved(k.n, k.p)
                  /\ k.step = "settle" \/ e.attempt = k.attempt \/ Mistake("release-of-any-attempt")
    IN  /\ k.step \in {"release", "settle"}
        /\ item' = IF passes THEN [item EXCEPT ![k.n] = Without(@, k.p)] ELSE item
        /\ Keep(b, [k EXCEPT !.step = "unopen"])
        /\ UNCHANGED <<api, open, flight, late, watching, expiry, calls>>

Forget(p, n, a, others) == {o \in open : o[1] # p \/ o[2] # n \/ (o[3] # a /\ ~others)}

DeleteOpen(b) ==
    LET k == binder[b]
    IN  /\ k.step = "unopen"
        /\ open' = Forget(k.p, k.n, k.attempt, Mistake("open-of-another-deleted"))
        /\ Keep(b, Idle)
        /\ UNCHANGED <<api, item, flight, late, watching, expiry, calls>>

-----------------------------------------------------------------------------
(* The watcher publishes, each pod and node when it comes to it            *)

PublishPod(p) ==
    /\ pub.pods[p] # pod[p]
    /\ pub' = [pub EXCEPT !.pods[p] = pod[p]]
    /\ dirty' = dirty \cup ({pub.pods[p].node, pod[p].node} \cap Nodes)
    /\ UNCHANGED <<api, item, open, binder, flight, late, leading, expiry, calls>>

\* The pod is too large: whoever reads what is published finds no pod.  The watcher knows the node from the API server.
Hide(p) ==
    /\ Hides
    /\ pod[p].phase = "there"
    /\ pub.pods[p].phase # "hidden"
    /\ pub' = [pub EXCEPT !.pods[p] = [pod[p] EXCEPT !.phase = "hidden"]]
    /\ dirty' = dirty \cup ({pub.pods[p].node, pod[p].node} \cap Nodes)
    /\ UNCHANGED <<api, item, open, binder, flight, late, leading, expiry, calls>>

PublishNode(n) ==
    /\ pub.size[n] # size[n]
    /\ pub' = [pub EXCEPT !.size[n] = size[n]]
    /\ dirty' = dirty \cup {n}
    /\ UNCHANGED <<api, item, open, binder, flight, late, leading, expiry, calls>>

\* A watcher leads in this epoch.  The one before may be dead, or go on as if nothing had happened.
Lead(epoch) ==
    /\ term' = epoch
    /\ entered' = Mistake("head-loss-restarts-epoch")
    /\ zombie' = [epoch |-> term, entered |-> entered, pub |-> pub]
    /\ expiry' = [expiry EXCEPT !["leader"] = Idle, !["zombie"] = expiry["leader"]]
    /\ dirty' = Nodes
    /\ UNCHANGED <<api, item, open, binder, flight, late, pub, mark, calls>>

\* Another watcher takes over, whenever it hurts.
Succeed ==
    /\ term < MaxTerms
    /\ Lead(Max(term, mark) + 1)

\* The head is made again, and knows no epoch.  The ledger's marker does.
LoseHead ==
    /\ HeadLoss
    /\ mark < MaxTerms
    /\ Lead(IF Mistake("head-loss-restarts-epoch") THEN 1 ELSE mark + 1)

\* The marker has this epoch already, or a later one: of a watcher that the head does not know.
Resign ==
    /\ mark > term \/ (mark = term /\ ~entered)
    /\ ~Mistake("head-loss-restarts-epoch")
    /\ Lead(mark + 1)

\* One conditional write, before any other on the ledger.
Enters(epoch) == mark < epoch \/ (mark = epoch /\ Mistake("epoch-shared"))

Register ==
    /\ ~entered
    /\ Enters(term)
    /\ mark' = term
    /\ entered' = TRUE
    /\ UNCHANGED <<api, item, open, binder, flight, late, pub, dirty, term, zombie, expiry, calls>>

RegisterLate ==
    /\ zombie # NoZombie
    /\ ~zombie.entered
    /\ Enters(zombie.epoch)
    /\ mark' = zombie.epoch
    /\ zombie' = [zombie EXCEPT !.entered = TRUE]
    /\ UNCHANGED <<api, item, open, binder, flight, late, pub, dirty, term, entered, expiry, calls>>

-----------------------------------------------------------------------------
(* The watcher's work on the ledger.  v is what it has published.          *)

Alive(w) == w = "leader" \/ zombie # NoZombie
Epoch(w) == IF w = "leader" THEN term ELSE zombie.epoch
View(w) == IF w = "leader" THEN pub ELSE zombie.pub

Registered(w) == IF w = "leader" THEN entered ELSE zombie.entered

Fenced(w, n) == Registered(w) /\ item[n].there /\ (item[n].epoch <= Epoch(w) \/ Mistake("watcher-without-epoch"))
Write(w, n, i) == item' = [item EXCEPT ![n] = [i EXCEPT !.epoch = Max(@, Epoch(w))]]

\* What a reserved pod o holds that is seen on its node: all that was reserved for it.  A take-over may have left more
\* than the pod asks for, and only its own bind knows what that is.
Confirmed(e, o) ==
    IF Mistake("annotation-decides") \/ (Mistake("annotation-shrinks") /\ o.claim < e.n) THEN o.claim ELSE e.n

\* forgets: it also deletes the open reservation of that attempt; or dies before, and leaves it.
Confirm(w, p, n, forgets) ==
    LET e == item[n].entries[p]
    IN  /\ Fenced(w, n)
        /\ e.state = "reserved"
        /\ On(View(w).pods[p], n) \/ (Mistake("confirm-without-check") /\ ~Untraced(p, n))
        /\ Write(w, n, Balanced(item[n], [item[n].entries EXCEPT
               ![p] = [state |-> "bound", attempt |-> IF Mistake("expiry-of-any-state") THEN e.attempt ELSE NoAttempt,
                       n |-> Confirmed(e, View(w).pods[p])]], item[n].capacity))
        /\ open' = IF forgets THEN Forget(p, n, e.attempt, Mistake("open-of-another-forgotten")) ELSE open
        /\ UNCHANGED <<api, binder, flight, late, watching, expiry, calls>>

\* What its annotations say now.
Correct(w, p, n) ==
    LET i == item[n]
    IN  /\ Mistake("annotation-decides")
        /\ Fenced(w, n)
        /\ i.entries[p].state = "bound"
        /\ On(View(w).pods[p], n)
        /\ Write(w, n, Balanced(i, [i.entries EXCEPT ![p].n = View(w).pods[p].claim], i.capacity))
        /\ UNCHANGED <<api, open, binder, flight, late, watching, expiry, calls>>

\* What a pod that others bound is charged: what it claims, at most the capacity.
Charged(o, capacity) == IF Mistake("forged-amount-charged") THEN o.claim ELSE Min(o.claim, capacity)

Adopt(w, p, n) ==
    LET i == item[n]
        charged == Charged(View(w).pods[p], i.capacity)
        entries == [i.entries EXCEPT ![p] = [state |-> "bound", attempt |-> NoAttempt, n |-> charged]]
        adopted == Balanced(i, entries, i.capacity)
    IN  /\ Fenced(w, n)
        /\ i.entries[p].state = None
        /\ On(View(w).pods[p], n)
        /\ Write(w, n, IF Mistake("adopt-without-owed") THEN [adopted EXCEPT !.owed = i.owed] ELSE adopted)
        /\ UNCHANGED <<api, open, binder, flight, late, watching, expiry, calls>>

\* The pod is published as gone, or elsewhere; or it is not published, and the API server shows no such pod.
Ended(w, p, n) ==
    LET o == View(w).pods[p]
    IN  /\ item[n].entries[p].state = "bound"
        /\ ~On(o, n)
        /\ o.phase = "hidden" => (~On(pod[p], n) \/ Mistake("absence-releases"))

Release(w, p, n) ==
    /\ Fenced(w, n)
    /\ Ended(w, p, n) \/ (Reserved(n, p) /\ Elsewhere(View(w).pods[p], n))
    /\ Write(w, n, Without(item[n], p))
    /\ UNCHANGED <<api, open, binder, flight, late, watching, expiry, calls>>

Measure(w, n) ==
    LET c == View(w).size[n]
    IN  /\ Fenced(w, n)
        /\ item[n].capacity # c
        /\ Write(w, n, Balanced(item[n], item[n].entries, c))
        /\ UNCHANGED <<api, open, binder, flight, late, watching, expiry, calls>>

CreateItem(w, n) ==
    LET v == View(w)
        entries == [p \in Pods |->
            IF On(v.pods[p], n)
            THEN [state |-> "bound", attempt |-> NoAttempt, n |-> Charged(v.pods[p], v.size[n])]
            ELSE NoEntry]
    IN  /\ ~item[n].there
        /\ Registered(w)
        /\ v.size[n] > 0
        /\ Write(w, n, Balanced([NoItem EXCEPT !.there = TRUE], entries, v.size[n]))
        /\ UNCHANGED <<api, open, binder, flight, late, watching, expiry, calls>>

DeleteItem(w, n) ==
    /\ Fenced(w, n)
    /\ View(w).size[n] = 0
    /\ item[n].entries = NoEntries
    /\ item' = [item EXCEPT ![n] = NoItem]
    /\ UNCHANGED <<api, open, binder, flight, late, watching, expiry, calls>>

\* The item says what is published.
Agrees(n) ==
    IF ~item[n].there THEN pub.size[n] = 0
    ELSE /\ item[n].capacity = pub.size[n]
         /\ \A p \in Pods :
                pub.pods[p].phase # "hidden" => (On(pub.pods[p], n) <=> item[n].entries[p].state = "bound")

\* The leader finds nothing to do any more, and looks away until something is published.  Looking is a write: it sets
\* the epoch, or the watcher before could still change what was looked at.
Swept(n) ==
    /\ n \in dirty
    /\ Agrees(n)
    /\ \A p \in Pods : ~Untraced(p, n)
    /\ entered
    /\ item[n].there => Fenced("leader", n)
    /\ item' = IF item[n].there /\ ~Mistake("sweep-without-claim") THEN [item EXCEPT ![n].epoch = term] ELSE item
    /\ dirty' = dirty \ {n}
    /\ UNCHANGED <<api, open, binder, flight, late, pub, leading, expiry, calls>>

-----------------------------------------------------------------------------
(* Expiry: read the entry, read the pod, touch the pod, release            *)

Go(w, what) == expiry' = [expiry EXCEPT ![w] = what]

\* Whether a bind, or a write that it left, still goes by this attempt.
Busy(a) ==
    \/ \E b \in Binders : binder[b] # Idle /\ binder[b].attempt = a
    \/ late # NoLate /\ late.attempt = a

\* An open reservation is found by the query, an entry without one only by the sweep.  If the entry is another attempt's,
\* or confirmed, or not there, there is nothing to end but the open reservation.
BeginExpiry(w, p, n, a) ==
    LET e == item[n].entries[p]
        ours == e.state = "reserved" /\ e.attempt = a
    IN  /\ Alive(w)
        /\ expiry[w] = Idle
        /\ ~Mistake("never-expires")
        /\ <<p, n, a>> \in open \/ (Untraced(p, n) /\ ours /\ n \in dirty)
        /\ Prompt => ~Busy(a)
        /\ Go(w, [step |-> IF ~ours THEN "unopen" ELSE IF Mistake("expiry-by-age") THEN "release" ELSE "get",
                  p |-> p, n |-> n, attempt |-> a, seen |-> IF ours THEN e.attempt ELSE NoAttempt, fresh |-> FALSE])
        /\ UNCHANGED <<api, item, open, binder, flight, late, watching, calls>>

AbandonExpiry(w) ==
    /\ expiry[w] # Idle
    /\ Go(w, Idle)
    /\ UNCHANGED <<api, item, open, binder, flight, late, watching, calls>>

\* On this node: the entry is left to the publication, and the open reservation is its trace until then.
ExpiryGets(w) ==
    LET x == expiry[w]
        o == pod[x.p]
    IN  /\ x.step = "get"
        /\ Go(w, IF On(o, x.n)
                 THEN IF Mistake("open-forgotten-unconfirmed") THEN [x EXCEPT !.step = "unopen"] ELSE Idle
                 ELSE IF Waits(o) THEN [x EXCEPT !.step = "touch", !.fresh = TRUE]
                 ELSE [x EXCEPT !.step = "release"])
        /\ UNCHANGED <<api, item, open, binder, flight, late, watching, calls>>

\* A change of the pod that only serves to make it another version; it too is refused if the pod has changed.
Touch(w, answered) ==
    LET x == expiry[w]
    IN  /\ x.step = "touch"
        /\ IF x.fresh
           THEN Changed(x.p, pod[x.p], binder,
                        [expiry EXCEPT ![w] = IF answered THEN [x EXCEPT !.step = "release"] ELSE Idle])
           ELSE Go(w, Idle) /\ UNCHANGED <<pod, binder, flight>>
        /\ UNCHANGED <<size, item, open, late, watching, calls>>

ExpiryReleases(w) ==
    LET x == expiry[w]
        e == item[x.n].entries[x.p]
    IN  /\ x.step = "release"
        /\ IF /\ Fenced(w, x.n)
              /\ e.state = "reserved" \/ (e.state = "bound" /\ Mistake("expiry-of-any-state"))
              /\ e.attempt = x.seen \/ Mistake("expiry-of-any-attempt")
           THEN /\ Write(w, x.n, Without(item[x.n], x.p))
                /\ Go(w, [x EXCEPT !.step = "unopen", !.seen = NoAttempt])
           ELSE Go(w, Idle) /\ UNCHANGED item
        /\ UNCHANGED <<api, open, binder, flight, late, watching, calls>>

ExpiryForgets(w) ==
    LET x == expiry[w]
    IN  /\ x.step = "unopen"
        /\ open' = Forget(x.p, x.n, x.attempt, FALSE)
        /\ Go(w, Idle)
        /\ UNCHANGED <<api, item, binder, flight, late, watching, calls>>

-----------------------------------------------------------------------------

BindSteps(b) ==
    \/ \E p \in Pods, n \in Nodes : Call(b, p, n)
    \/ PutOpen(b) \/ Reserve(b) \/ TakeOver(b) \/ LeaveWrite(b) \/ PutOpenOfRest(b) \/ ReleaseSurplus(b)
    \/ \E answered \in BOOLEAN : SendBinding(b, answered)
    \/ LeaveBinding(b) \/ Refused(b) \/ Check(b) \/ ReleaseOwn(b) \/ DeleteOpen(b) \/ Stop(b)

LedgerSteps(w) ==
    /\ Alive(w)
    /\ \E n \in Nodes :
        \/ Measure(w, n) \/ CreateItem(w, n) \/ DeleteItem(w, n)
        \/ \E p \in Pods : Adopt(w, p, n) \/ Correct(w, p, n) \/ Release(w, p, n)
        \/ \E p \in Pods : \E forgets \in BOOLEAN : Confirm(w, p, n, forgets)

ExpirySteps(w) ==
    \/ \E p \in Pods, n \in Nodes, a \in Known \ {NoAttempt} : BeginExpiry(w, p, n, a)
    \/ ExpiryGets(w) \/ ExpiryReleases(w) \/ ExpiryForgets(w) \/ AbandonExpiry(w)
    \/ \E answered \in BOOLEAN : Touch(w, answered)

Next ==
    \/ \E p \in Pods : Create(p) \/ End(p) \/ PublishPod(p) \/ \E ask \in Asks : Edit(p, ask)
    \/ \E p \in Pods : Hide(p) \/ \E claim \in Claims : Claim(p, claim)
    \/ \E p \in Pods, n \in Nodes : ForeignBind(p, n) \/ ArriveBinding(p, n)
    \/ \E n \in Nodes : PublishNode(n) \/ Swept(n) \/ \E c \in Capacities : Resize(n, c)
    \/ \E b \in Binders : BindSteps(b)
    \/ ArriveLate
    \/ Succeed \/ LoseHead \/ Resign \/ Register \/ RegisterLate
    \/ \E w \in {"leader", "zombie"} : LedgerSteps(w) \/ ExpirySteps(w)

Spec == Init /\ [][Next]_vars

\* There is a leader that does its work, and is not unlucky for ever.  Binds owe nothing: they may all stop, but they
\* do not stand still.
FairSpec ==
    /\ Spec
    /\ \A b \in Binders : WF_vars(Stop(b))
    /\ \A p \in Pods, n \in Nodes :
        /\ WF_vars(PublishPod(p)) /\ SF_vars(\E a \in 1..20 : BeginExpiry("leader", p, n, a))
        /\ WF_vars(Confirm("leader", p, n, TRUE)) /\ WF_vars(Adopt("leader", p, n)) /\ WF_vars(Release("leader", p, n))
    /\ \A n \in Nodes : WF_vars(PublishNode(n)) /\ WF_vars(Measure("leader", n)) /\ WF_vars(Swept(n))
    /\ WF_vars(ArriveLate)
    /\ WF_vars(Register) /\ WF_vars(Resign)
    /\ SF_vars(ExpiryGets("leader")) /\ SF_vars(Touch("leader", TRUE))
    /\ SF_vars(ExpiryReleases("leader")) /\ SF_vars(ExpiryForgets("leader"))

-----------------------------------------------------------------------------
(* Properties *)

\* Each item is balanced: all that is held is taken from avail, or owed.
Balance ==
    \A n \in Nodes :
        LET i == item[n]
        IN  /\ i.avail - i.owed + Held(i.entries) = i.capacity
            /\ i.avail >= 0
            /\ i.owed >= 0
            /\ i.avail = 0 \/ i.owed = 0

\* Berth reserves nothing beyond the capacity.  Beyond it comes what others bind, and what the capacity loses.
NothingOverReserved ==
    [][\A n \in Nodes : \A p \in Pods :
        item'[n].entries[p].state = "reserved" /\ item[n].entries[p].n < item'[n].entries[p].n
            => Held(item'[n].entries) <= item'[n].capacity]_item

\* What an attempt has in an entry stays the same, so a condition that names the attempt also names the amount.
AttemptNamesAmount ==
    [][\A n \in Nodes, p \in Pods :
        LET before == item[n].entries[p]
            after == item'[n].entries[p]
        IN  before.state = "reserved" /\ after.state = "reserved" /\ before.attempt = after.attempt
                => before.n = after.n]_item

\* A pod that Berth has bound is counted on its node, from the first moment until it ends.
BoundIsCounted ==
    \A p \in Pods : pod[p].phase = "there" /\ pod[p].by = "berth" =>
        item[pod[p].node].there /\ item[pod[p].node].entries[p].n = pod[p].ask

\* The half of it on which the capacity depends.
BoundIsCovered ==
    \A p \in Pods : pod[p].phase = "there" /\ pod[p].by = "berth" =>
        item[pod[p].node].there /\ item[pod[p].node].entries[p].n >= pod[p].ask

\* Whatever a pod claims, its node is charged no more than a node can have, or than a pod asks for.
ForgeryIsBounded ==
    \A n \in Nodes, p \in Pods : item[n].entries[p].n <= Max(Biggest(Capacities), Biggest(Asks))

\* No pod changes its node.
BoundOnce == [][\A p \in Pods : pod[p].node # None /\ pod'[p].phase = "there" => pod'[p].node = pod[p].node]_pod

\* A reader of the open reservations sees every reservation that is not confirmed.
Traced == \A p \in Pods, n \in Nodes : ~Untraced(p, n)

\* What the leader has looked at stays as it left it, until something new is published: no zombie changes it.  Where the
\* marker has a later epoch, the leader resigns, and the next one looks at everything again.
SweptStaysSwept == mark <= term => \A n \in Nodes \ dirty : pub.size[n] > 0 => Agrees(n)

\* What the leader finds, it may write; or it resigns, and the next one may.
LeaderCanWrite == entered => (\A n \in Nodes : item[n].epoch <= term) \/ ENABLED Resign

\* No leadership writes before the marker has its epoch, and the marker only grows.
MarkerCoversItems == \A n \in Nodes : item[n].epoch <= mark
MarkerGrows == [][mark' >= mark]_mark

\* A reservation is bound or released in the end.
EveryReservationEnds == \A p \in Pods, n \in Nodes : Reserved(n, p) ~> ~Reserved(n, p)

\* No open reservation stays for ever either.
EveryOpenEnds == open # {} ~> open = {}

\* Not a property: the search must find a state that breaks it, or the model would hold because nothing happens in it.
\* The watcher before is about to release an attempt that another bind has taken over; that one's Binding is on its way.
NothingHappens ==
    \A p \in Pods, n \in Nodes :
        ~ /\ term = MaxTerms /\ term > 1
          /\ expiry["zombie"] # Idle /\ expiry["zombie"].step = "release"
          /\ Reserved(n, p)
          /\ expiry["zombie"].seen # item[n].entries[p].attempt
          /\ <<p, n>> \in flight

Symmetry == Permutations(Binders) \cup Permutations(Pods) \cup Permutations(Nodes)
=============================================================================
