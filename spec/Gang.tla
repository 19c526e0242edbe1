---- MODULE Gang ----
(* How the members of a gang are bound all or not at all: the gang's item, the domain's item that says which gang is open,
   the ledger of each node, calls of bind, and watchers. One step is one request. README.md describes the model.

   There is no clock: a round may expire at any moment, also while its calls are waiting, and a call that runs out of time
   is one that dies. The id of a call is its attempt. *)
EXTENDS FiniteSets, Naturals, TLC

CONSTANTS
    Gangs,       \* each is the set of its members
    Second,      \* members that are created when all others of their gang are gone, under the same names
    Nodes,
    Zones,       \* the nodes by the value of the gangs' topology key, a set for each; one set: gangs have no such key
    Room,        \* how many members a node's ledger has room for
    Minimum,     \* members of each gang that must be bound together
    Calls,       \* calls of bind; each is made once
    Watchers,
    MaxFence,    \* bound: how often the domain gets another open gang
    TwoPhase,    \* TRUE: holds first, then the commit mark; FALSE: one transaction
    Late,        \* TRUE: a write whose sender is gone may still arrive
    Mistakes

VARIABLES
    pod,         \* by member: "absent", "unbound", "gone", or the node
    domain,      \* the open gang, and how often that changed
    gang,        \* by name: the gang's item
    ledger,      \* by node: entries by member
    call,        \* by call: where it stands
    flight,      \* Bindings on their way, by call
    late,        \* a write on its way whose sender is gone
    expiry,      \* by watcher: the reservation that it expires
    given,       \* history: what has a share, by a commit or alone: [member, attempt, node, alone]
    withdrawn    \* history: attempts whose call has answered that it gave up

vars == <<pod, domain, gang, ledger, call, flight, late, expiry, given, withdrawn>>

Mistake(name) == name \in Mistakes
None == "none"
Nobody == {}

Members == UNION Gangs
GangOf(m) == CHOOSE g \in Gangs : m \in g

Empty == [m \in {} |-> None]
Free == [holder |-> Nobody, fence |-> 0]
NoGang == [state |-> "none", round |-> 0, intents |-> Empty, coordinator |-> None]
Idle == [at |-> "idle", member |-> None, node |-> None, round |-> 0, seen |-> NoGang, held |-> {}, fresh |-> FALSE,
         outside |-> FALSE]
NoExpiry == [at |-> "idle"]
NoLate == [kind |-> "none"]

Without(f, key) == [k \in DOMAIN f \ {key} |-> f[k]]
With(f, key, value) == [k \in DOMAIN f \union {key} |-> IF k = key THEN value ELSE f[k]]

Init ==
    /\ pod = [m \in Members |-> IF m \in Second THEN "absent" ELSE "unbound"]
    /\ domain = Free
    /\ gang = [g \in Gangs |-> NoGang]
    /\ ledger = [n \in Nodes |-> Empty]
    /\ call = [b \in Calls |-> Idle]
    /\ flight = {}
    /\ late = NoLate
    /\ expiry = [w \in Watchers |-> NoExpiry]
    /\ given = {}
    /\ withdrawn = {}

Alive(m) == pod[m] \notin {"absent", "gone"}
OnNode(m) == pod[m] \in Nodes
ZoneOf(n) == CHOOSE z \in Zones : n \in z

\* ------------------------------------------------------------------------------------------------------ the gang's item

(* Where the members of these intents go on this node. *)
On(intents, n) == {m \in DOMAIN intents : intents[m].node = n}
Places(intents) == {intents[m].node : m \in DOMAIN intents}

(* The members that a commit takes: those that wait in one zone. *)
InZone(intents, z) == [m \in {k \in DOMAIN intents : intents[k].node \in z} |-> intents[m]]
Chosen(item, z) ==
    [item EXCEPT !.intents = IF Mistake("commit-of-two-domains") THEN @ ELSE InZone(@, z)]
IsComplete(item) == Cardinality(DOMAIN item.intents) >= Minimum

Shares(intents) ==
    {[member |-> m, attempt |-> intents[m].attempt, node |-> intents[m].node, alone |-> FALSE] : m \in DOMAIN intents}

(* The entry is there already, by an earlier try; or there is room for it, with all others of the gang on this node. *)
Fits(intents, n) == Cardinality(DOMAIN ledger[n] \union On(intents, n)) <= Room

Held(intents, n) ==
    [m \in DOMAIN ledger[n] \union On(intents, n) |->
        IF m \in On(intents, n) THEN [attempt |-> intents[m].attempt, state |-> "reserved"] ELSE ledger[n][m]]

IsOpen(g, round) == gang[g].state = "open" /\ gang[g].round = round
HoldsDomain(g, round) == domain.holder = g /\ domain.fence = round
Closed(g) == IF domain.holder = g THEN [domain EXCEPT !.holder = Nobody] ELSE domain

(* Of a committed gang no member lives any more: another gang of this name begins. A pod that is gone never returns. *)
IsOver(item) == item.state = "committed" /\ \A m \in DOMAIN item.intents : ~Alive(m)

(* An intent is written if the item has this round or an earlier one without holds. *)
Joined(item, round, m, intent) ==
    CASE item.state = "open" /\ (item.round = round \/ (Mistake("intent-of-any-round") /\ item.round > round)) ->
            [item EXCEPT !.intents = With(@, m, intent)]
      [] (item.state \in {"none", "open"} /\ item.round < round) \/ IsOver(item) ->
            [state |-> "open", round |-> round, intents |-> With(Empty, m, intent), coordinator |-> None]
      [] OTHER -> item

\* ---------------------------------------------------------------------------------------------------------------- bind

Go(b, c) == call' = [call EXCEPT ![b] = c]
Done == [Idle EXCEPT !.at = "done"]
End(b) == Go(b, Done)

(* It reads the pod. *)
Start(b, m, n) ==
    /\ call[b].at = "idle"
    /\ pod[m] = "unbound"
    /\ Go(b, [Idle EXCEPT !.at = "reading", !.member = m, !.node = n, !.fresh = TRUE])
    /\ UNCHANGED <<pod, domain, gang, ledger, flight, late, expiry, given, withdrawn>>

(* The gang is committed, and a member of it lives: by its item, or because one is on a node. The pod joins in the zone of
   the commit and of the members on nodes. *)
Lives(g) ==
    \/ gang[g].state = "committed" /\ (Mistake("committed-for-ever") \/ \E m \in DOMAIN gang[g].intents : Alive(m))
    \/ \E m \in g : OnNode(m)

JoinsIn(g) ==
    {ZoneOf(pod[m]) : m \in {k \in g : OnNode(k)}} \union
    IF gang[g].state = "committed" THEN {ZoneOf(gang[g].intents[m].node) : m \in DOMAIN gang[g].intents} ELSE {}

(* It reads the gang's item. *)
Read(b) ==
    LET g == GangOf(call[b].member) IN
    /\ call[b].at = "reading"
    /\ gang[g].state \notin {"preparing", "aborting"}
    /\ IF ~Lives(g) THEN Go(b, [call[b] EXCEPT !.at = "opening"])
       ELSE IF ZoneOf(call[b].node) \in JoinsIn(g) \/ Mistake("joins-in-any-domain")
            THEN Go(b, [call[b] EXCEPT !.at = "single"])
            ELSE End(b)
    /\ UNCHANGED <<pod, domain, gang, ledger, flight, late, expiry, given, withdrawn>>

(* The round of earlier calls is in its second phase: it goes on for them. *)
Finish(b) ==
    LET g == GangOf(call[b].member) IN
    /\ call[b].at = "reading"
    /\ gang[g].state = "preparing"
    /\ gang[g].coordinator # b
    /\ gang' = [gang EXCEPT ![g].coordinator = b]
    /\ Go(b, [call[b] EXCEPT !.at = "holding", !.seen = gang'[g], !.outside = TRUE])
    /\ UNCHANGED <<pod, domain, ledger, flight, late, expiry, given, withdrawn>>

(* Another gang that is open loses the domain: it has a lower rank, or its time is over. *)
Open(b) ==
    LET g == GangOf(call[b].member) IN
    /\ call[b].at = "opening"
    /\ \/ /\ domain.holder = g
          /\ Go(b, [call[b] EXCEPT !.at = "joining", !.round = domain.fence])
          /\ UNCHANGED domain
       \/ /\ domain.holder # g
          /\ domain.fence < MaxFence
          /\ domain' = [holder |-> g, fence |-> domain.fence + 1]
          /\ Go(b, [call[b] EXCEPT !.at = "joining", !.round = domain.fence + 1])
       \/ /\ domain.holder \notin {g, Nobody}
          /\ End(b)
          /\ UNCHANGED domain
    /\ UNCHANGED <<pod, gang, ledger, flight, late, expiry, given, withdrawn>>

Intent(b) == [node |-> call[b].node, attempt |-> b, round |-> call[b].round]

Join(b) ==
    LET m == call[b].member
        joined == Joined(gang[GangOf(m)], call[b].round, m, Intent(b))
    IN
    /\ call[b].at = "joining"
    /\ gang' = [gang EXCEPT ![GangOf(m)] = joined]
    /\ IF joined = gang[GangOf(m)] THEN End(b) ELSE Go(b, [call[b] EXCEPT !.at = "waiting"])
    /\ UNCHANGED <<pod, domain, ledger, flight, late, expiry, given, withdrawn>>

(* The mistake: it sends the Binding and waits for nobody. *)
JoinAndSend(b) ==
    /\ Mistake("binding-before-commit")
    /\ call[b].at = "waiting"
    /\ Fits(With(Empty, call[b].member, Intent(b)), call[b].node)
    /\ ledger' = [ledger EXCEPT ![call[b].node] = Held(With(Empty, call[b].member, Intent(b)), call[b].node)]
    /\ Go(b, [call[b] EXCEPT !.at = "committed"])
    /\ UNCHANGED <<pod, domain, gang, flight, late, expiry, given, withdrawn>>

(* The minimum is there, in this zone: it reads the item, and plans the commit. *)
Complete(b, z) ==
    LET g == GangOf(call[b].member) IN
    /\ call[b].at = "waiting"
    /\ IsOpen(g, call[b].round)
    /\ IsComplete(Chosen(gang[g], z))
    /\ Go(b, [call[b] EXCEPT !.at = "committing", !.seen = gang[g], !.held = z])
    /\ UNCHANGED <<pod, domain, gang, ledger, flight, late, expiry, given, withdrawn>>

(* What the transaction requires of the items of gang and domain. *)
Unchanged(g, seen) ==
    /\ \/ gang[g] = seen
       \/ Mistake("commit-of-any-version") /\ IsOpen(g, seen.round)
    /\ HoldsDomain(g, seen.round) \/ Mistake("commit-of-displaced")

Committed(seen) == [seen EXCEPT !.state = "committed"]

CommitNow(g, taken) ==
    /\ gang' = [gang EXCEPT ![g] = Committed(taken)]
    /\ domain' = Closed(g)
    /\ ledger' = [n \in Nodes |-> IF n \in Places(taken.intents) THEN Held(taken.intents, n) ELSE ledger[n]]
    /\ given' = given \union Shares(taken.intents)

Transact(g, seen, taken) ==
    IF Unchanged(g, seen) /\ \A n \in Places(taken.intents) : Fits(taken.intents, n)
    THEN CommitNow(g, taken)
    ELSE UNCHANGED <<gang, domain, ledger, given>>

(* The zone that the call has chosen is in `held` until it holds. *)
Transaction(b) ==
    /\ ~TwoPhase
    /\ call[b].at = "committing"
    /\ Transact(GangOf(call[b].member), call[b].seen, Chosen(call[b].seen, call[b].held))
    /\ Go(b, [call[b] EXCEPT !.at = "waiting", !.seen = NoGang, !.held = {}])
    /\ UNCHANGED <<pod, flight, late, expiry, withdrawn>>

(* Two phases: it freezes the intents, holds on one node after another, and marks the gang as committed. *)
Prepared(b) == [Chosen(call[b].seen, call[b].held) EXCEPT !.state = "preparing", !.coordinator = b]

Prepare(b) ==
    LET g == GangOf(call[b].member) IN
    /\ TwoPhase
    /\ call[b].at = "committing"
    /\ IF Unchanged(g, call[b].seen)
       THEN /\ gang' = [gang EXCEPT ![g] = Prepared(b)]
            /\ domain' = Closed(g)
            /\ Go(b, [call[b] EXCEPT !.at = "holding", !.seen = Prepared(b), !.held = {}])
       ELSE /\ Go(b, [call[b] EXCEPT !.at = "waiting", !.seen = NoGang, !.held = {}])
            /\ UNCHANGED <<gang, domain>>
    /\ UNCHANGED <<pod, ledger, flight, late, expiry, given, withdrawn>>

Coordinates(b, g, seen) ==
    gang[g].state = "preparing" /\ gang[g].coordinator = b /\ gang[g].round = seen.round

(* A call from outside the round reads the item again; one that waits goes on waiting. *)
Released(b) ==
    [call[b] EXCEPT !.at = IF call[b].outside THEN "reading" ELSE "waiting", !.seen = NoGang, !.held = {},
                    !.outside = FALSE]

MayHold(b, g, seen, n) == (Coordinates(b, g, seen) \/ Mistake("hold-without-check")) /\ Fits(seen.intents, n)

(* Where a node has no room, or the round has ended, it ends: the round is rolled back when it expires. *)
Hold(b, n) ==
    LET g == GangOf(call[b].member)
        seen == call[b].seen
    IN
    /\ call[b].at = "holding"
    /\ n \in Places(seen.intents) \ call[b].held
    /\ IF MayHold(b, g, seen, n)
       THEN /\ ledger' = [ledger EXCEPT ![n] = Held(seen.intents, n)]
            /\ Go(b, [call[b] EXCEPT !.held = @ \union {n}])
       ELSE /\ Go(b, Released(b))
            /\ UNCHANGED ledger
    /\ UNCHANGED <<pod, domain, gang, flight, late, expiry, given, withdrawn>>

MayMark(b, g, seen) ==
    \/ Coordinates(b, g, seen)
    \/ Mistake("mark-of-any-coordinator") /\ gang[g].round = seen.round

Mark(b) ==
    LET g == GangOf(call[b].member)
        seen == call[b].seen
    IN
    /\ call[b].at = "holding"
    /\ call[b].held = Places(seen.intents) \/ Mistake("mark-before-holds")
    /\ IF MayMark(b, g, seen)
       THEN /\ gang' = [gang EXCEPT ![g] = Committed(seen)]
            /\ given' = given \union Shares(seen.intents)
       ELSE UNCHANGED <<gang, given>>
    /\ Go(b, Released(b))
    /\ UNCHANGED <<pod, domain, ledger, flight, late, expiry, withdrawn>>

(* The coordinator may be dead: another member that waits goes on. The holds have the attempts of the intents. *)
TakeOver(b) ==
    LET g == GangOf(call[b].member) IN
    /\ call[b].at = "waiting"
    /\ gang[g].state = "preparing"
    /\ gang[g].round = call[b].round
    /\ gang[g].coordinator # b
    /\ gang' = [gang EXCEPT ![g].coordinator = b]
    /\ Go(b, [call[b] EXCEPT !.at = "holding", !.seen = gang'[g]])
    /\ UNCHANGED <<pod, domain, ledger, flight, late, expiry, given, withdrawn>>

IsMine(b) ==
    LET item == gang[GangOf(call[b].member)]
        m == call[b].member
    IN  m \in DOMAIN item.intents /\ item.intents[m].attempt = b

Poll(b) ==
    /\ call[b].at = "waiting"
    /\ \/ /\ gang[GangOf(call[b].member)].state = "committed"
          /\ IsMine(b)
          /\ Go(b, [call[b] EXCEPT !.at = "committed"])
       \/ /\ ~IsMine(b) \/ gang[GangOf(call[b].member)].state = "aborting"  \* or it waits in another zone
          /\ End(b)
    /\ UNCHANGED <<pod, domain, gang, ledger, flight, late, expiry, given, withdrawn>>

(* It takes its intent back while the gang is open. *)
GiveUp(b) ==
    LET g == GangOf(call[b].member) IN
    /\ call[b].at = "waiting"
    /\ IsMine(b)
    /\ gang[g].state = "open" \/ (Mistake("give-up-unconditional") /\ gang[g].state = "committed")
    /\ gang' = [gang EXCEPT ![g].intents = Without(@, call[b].member)]
    /\ withdrawn' = withdrawn \union {b}
    /\ End(b)
    /\ UNCHANGED <<pod, domain, ledger, flight, late, expiry, given>>

(* Of a committed gang: its share of the ledger is taken over, or reserved anew. *)
Single(b) ==
    LET own == With(Empty, call[b].member, Intent(b)) IN
    /\ call[b].at = "single"
    /\ IF Fits(own, call[b].node) /\ \/ call[b].member \notin DOMAIN ledger[call[b].node]
                                     \/ ledger[call[b].node][call[b].member].state = "reserved"
       THEN /\ ledger' = [ledger EXCEPT ![call[b].node] = Held(own, call[b].node)]
            /\ given' = given \union {[member |-> call[b].member, attempt |-> b, node |-> call[b].node, alone |-> TRUE]}
            /\ Go(b, [call[b] EXCEPT !.at = "committed"])
       ELSE End(b) /\ UNCHANGED <<ledger, given>>
    /\ UNCHANGED <<pod, domain, gang, flight, late, expiry, withdrawn>>

Send(b) ==
    /\ call[b].at = "committed"
    /\ flight' = flight \union {b}
    /\ Go(b, [call[b] EXCEPT !.at = "sent"])
    /\ UNCHANGED <<pod, domain, gang, ledger, late, expiry, given, withdrawn>>

(* The Binding is valid for the pod as it was read. For a pod that is gone, its share is released by its attempt. *)
Arrive(b) ==
    LET m == call[b].member
        n == call[b].node
    IN
    /\ b \in flight
    /\ flight' = flight \ {b}
    /\ pod' = IF pod[m] = "unbound" /\ (call[b].fresh \/ Mistake("binding-without-version")) THEN [pod EXCEPT ![m] = n] ELSE pod
    /\ ledger' = IF pod[m] = "gone" /\ m \in DOMAIN ledger[n] /\ ledger[n][m].attempt = b
                 THEN [ledger EXCEPT ![n] = Without(@, m)] ELSE ledger
    /\ End(b)
    /\ UNCHANGED <<domain, gang, late, expiry, given, withdrawn>>

(* It dies between two requests. What it has sent stays on its way. *)
Die(b) ==
    /\ call[b].at \notin {"idle", "done", "sent"}
    /\ End(b)
    /\ UNCHANGED <<pod, domain, gang, ledger, flight, late, expiry, given, withdrawn>>

(* It ends during a write, which may still arrive. *)
Leave(b, n) ==
    LET kind == CASE call[b].at = "joining" -> "join"
                  [] call[b].at = "committing" /\ ~TwoPhase -> "commit"
                  [] call[b].at = "committing" /\ TwoPhase -> "prepare"
                  [] call[b].at = "holding" /\ n \in Places(call[b].seen.intents) \ call[b].held -> "hold"
                  [] call[b].at = "holding" /\ call[b].held = Places(call[b].seen.intents) -> "mark"
                  [] OTHER -> "none"
    IN
    /\ Late
    /\ late = NoLate
    /\ kind # "none"
    /\ late' = [kind |-> kind, by |-> b, from |-> call[b], intent |-> Intent(b), node |-> n, prepared |-> Prepared(b)]
    /\ End(b)
    /\ UNCHANGED <<pod, domain, gang, ledger, flight, expiry, given, withdrawn>>

ArriveLate ==
    LET g == GangOf(late.from.member)
        seen == late.from.seen
        n == late.node
    IN
    /\ late # NoLate
    /\ late' = NoLate
    /\ CASE late.kind = "join" ->
                /\ gang' = [gang EXCEPT ![g] = Joined(@, late.from.round, late.from.member, late.intent)]
                /\ UNCHANGED <<domain, ledger, given>>
         [] late.kind = "commit" -> Transact(g, seen, Chosen(seen, late.from.held))
         [] late.kind = "prepare" ->
                /\ IF Unchanged(g, seen)
                   THEN gang' = [gang EXCEPT ![g] = late.prepared] /\ domain' = Closed(g)
                   ELSE UNCHANGED <<gang, domain>>
                /\ UNCHANGED <<ledger, given>>
         [] late.kind = "hold" ->
                /\ ledger' = IF MayHold(late.by, g, seen, n) THEN [ledger EXCEPT ![n] = Held(seen.intents, n)] ELSE ledger
                /\ UNCHANGED <<gang, domain, given>>
         [] late.kind = "mark" ->
                /\ IF MayMark(late.by, g, seen)
                   THEN gang' = [gang EXCEPT ![g] = Committed(seen)] /\ given' = given \union Shares(seen.intents)
                   ELSE UNCHANGED <<gang, given>>
                /\ UNCHANGED <<domain, ledger>>
    /\ UNCHANGED <<pod, call, flight, expiry, withdrawn>>

\* ------------------------------------------------------------------------------------------------------------ watchers

(* The round of an open gang is over; with holds, it is rolled back first. *)
ExpireRound(g) ==
    /\ ~Mistake("never-expires")
    /\ gang[g].state \in {"open", "preparing"}
    /\ gang' = [gang EXCEPT ![g].state = IF @ = "open" THEN "none" ELSE "aborting",
                            ![g].intents = IF gang[g].state = "open" THEN Empty ELSE @]
    /\ domain' = Closed(g)
    /\ UNCHANGED <<pod, ledger, call, flight, late, expiry, given, withdrawn>>

(* A member is on a node: that is the proof of the commit from now on. Or none is, and no call is under way that knows of
   the commit: the watcher waits for longer than any bind takes. *)
IsUnderWay(b, g) == b \in flight \/ (call[b].at \notin {"idle", "done"} /\ call[b].member \in g)

Forget(g) ==
    /\ gang[g].state = "committed"
    /\ \/ \E m \in g : OnNode(m)
       \/ \A b \in Calls : ~IsUnderWay(b, g)
       \/ Mistake("forgets-at-once")
    /\ gang' = [gang EXCEPT ![g] = NoGang]
    /\ UNCHANGED <<pod, domain, ledger, call, flight, late, expiry, given, withdrawn>>

CloseDomain ==
    /\ domain.holder # Nobody
    /\ domain' = [domain EXCEPT !.holder = Nobody]
    /\ UNCHANGED <<pod, gang, ledger, call, flight, late, expiry, given, withdrawn>>

IsHold(g, n, m) ==
    /\ m \in DOMAIN gang[g].intents /\ m \in DOMAIN ledger[n]
    /\ ledger[n][m].state = "reserved" /\ ledger[n][m].attempt = gang[g].intents[m].attempt

(* Who rolls back may die: the next one goes on. *)
RollBack(g, n) ==
    /\ gang[g].state = "aborting"
    /\ \E m \in Members : IsHold(g, n, m)
    /\ ledger' = [ledger EXCEPT ![n] = [m \in {k \in DOMAIN @ : ~IsHold(g, n, k)} |-> @[m]]]
    /\ UNCHANGED <<pod, domain, gang, call, flight, late, expiry, given, withdrawn>>

RolledBack(g) ==
    /\ gang[g].state = "aborting"
    /\ \A n \in Nodes, m \in Members : ~IsHold(g, n, m)
    /\ gang' = [gang EXCEPT ![g].state = "none", ![g].intents = Empty, ![g].coordinator = None]
    /\ UNCHANGED <<pod, domain, ledger, call, flight, late, expiry, given, withdrawn>>

(* A reservation that is old: first it reads the gang's item. The round of a hold is ended before the hold is. *)
BeginExpiry(w, n, m) ==
    /\ expiry[w].at = "idle"
    /\ m \in DOMAIN ledger[n]
    /\ ledger[n][m].state = "reserved"
    /\ \/ gang[GangOf(m)].state \notin {"preparing", "aborting"} \/ ~IsHold(GangOf(m), n, m)
       \/ Mistake("expiry-of-holds")
    /\ expiry' = [expiry EXCEPT ![w] = [at |-> "touch", node |-> n, member |-> m, attempt |-> ledger[n][m].attempt]]
    /\ UNCHANGED <<pod, domain, gang, ledger, call, flight, late, given, withdrawn>>

(* A pod on its node is left to the publication. The touch makes every Binding fail that was sent before. *)
Touch(w) ==
    LET m == expiry[w].member
        n == expiry[w].node
    IN
    /\ expiry[w].at = "touch"
    /\ IF pod[m] = n
       THEN expiry' = [expiry EXCEPT ![w] = NoExpiry] /\ UNCHANGED call
       ELSE /\ expiry' = [expiry EXCEPT ![w].at = "release"]
            /\ call' = [b \in Calls |-> IF call[b].member = m THEN [call[b] EXCEPT !.fresh = FALSE] ELSE call[b]]
    /\ UNCHANGED <<pod, domain, gang, ledger, flight, late, given, withdrawn>>

Release(w) ==
    LET m == expiry[w].member
        n == expiry[w].node
    IN
    /\ expiry[w].at = "release"
    /\ ledger' = IF m \in DOMAIN ledger[n] /\ ledger[n][m].state = "reserved" /\ ledger[n][m].attempt = expiry[w].attempt
                 THEN [ledger EXCEPT ![n] = Without(@, m)] ELSE ledger
    /\ expiry' = [expiry EXCEPT ![w] = NoExpiry]
    /\ UNCHANGED <<pod, domain, gang, call, flight, late, given, withdrawn>>

(* What is published: a pod on its node is confirmed, the entry of one that is gone ends. *)
Reconcile(n, m) ==
    /\ m \in DOMAIN ledger[n]
    /\ \/ /\ pod[m] = n
          /\ ledger[n][m].state = "reserved"
          /\ ledger' = [ledger EXCEPT ![n][m].state = "bound"]
       \/ /\ pod[m] = "gone"
          /\ ledger[n][m].state = "bound"
          /\ ledger' = [ledger EXCEPT ![n] = Without(@, m)]
    /\ UNCHANGED <<pod, domain, gang, call, flight, late, expiry, given, withdrawn>>

\* ----------------------------------------------------------------------------------------------------------- the world

Delete(m) ==
    /\ Alive(m)
    /\ pod' = [pod EXCEPT ![m] = "gone"]
    /\ UNCHANGED <<domain, gang, ledger, call, flight, late, expiry, given, withdrawn>>

Create(m) ==
    /\ pod[m] = "absent"
    /\ \A other \in Members \ Second : GangOf(other) = GangOf(m) => pod[other] = "gone"
    /\ pod' = [pod EXCEPT ![m] = "unbound"]
    /\ UNCHANGED <<domain, gang, ledger, call, flight, late, expiry, given, withdrawn>>

BindSteps(b) ==
    \/ \E m \in Members, n \in Nodes : Start(b, m, n)
    \/ Read(b) \/ Finish(b) \/ Open(b) \/ Join(b) \/ JoinAndSend(b) \/ Transaction(b)
    \/ \E z \in Zones : Complete(b, z)
    \/ Prepare(b) \/ Mark(b) \/ TakeOver(b) \/ \E n \in Nodes : Hold(b, n) \/ Leave(b, n)
    \/ Poll(b) \/ GiveUp(b) \/ Single(b) \/ Send(b) \/ Arrive(b) \/ Die(b)

WatcherSteps ==
    \/ CloseDomain
    \/ \E g \in Gangs : ExpireRound(g) \/ RolledBack(g) \/ Forget(g) \/ \E n \in Nodes : RollBack(g, n)
    \/ \E n \in Nodes, m \in Members : Reconcile(n, m)
    \/ \E w \in Watchers : Touch(w) \/ Release(w) \/ \E n \in Nodes, m \in Members : BeginExpiry(w, n, m)

Next ==
    \/ \E b \in Calls : BindSteps(b)
    \/ ArriveLate
    \/ WatcherSteps
    \/ \E m \in Members : Delete(m) \/ Create(m)

Spec == Init /\ [][Next]_vars

(* There is a watcher that does its work. Binds owe nothing. *)
FairSpec ==
    /\ Spec
    /\ \A g \in Gangs : WF_vars(ExpireRound(g)) /\ WF_vars(RolledBack(g)) /\ \A n \in Nodes : WF_vars(RollBack(g, n))

\* ---------------------------------------------------------------------------------------------------------- properties

(* A gang commits with its minimum, and with an entry in the ledger for each member that is part of it. *)
CommitIsWhole ==
    [][\A g \in Gangs : gang'[g].state = "committed" /\ gang[g].state # "committed" =>
        /\ Cardinality(DOMAIN gang'[g].intents) >= Minimum
        /\ \A m \in DOMAIN gang'[g].intents :
            LET place == gang'[g].intents[m]
            IN  m \in DOMAIN ledger'[place.node] /\ ledger'[place.node][m].attempt = place.attempt]_<<gang, ledger>>

(* Those that were part of a commit, now or before. *)
Placed == {share.member : share \in {each \in given : ~each.alone}}

(* Before a commit no member is bound. *)
NoneBeforeCommit == \A m \in Members : OnNode(m) => \E other \in Placed : GangOf(other) = GangOf(m)

(* A member is bound with the others of its own gang, and not after those of an earlier one of this name. *)
BoundWithOthers ==
    \A m \in Members : OnNode(m) =>
        \E other \in Placed : GangOf(other) = GangOf(m) /\ (other \in Second <=> m \in Second)

(* While no member is gone, all that are on nodes are in one zone. *)
InOneDomain ==
    \A m1, m2 \in Members :
        GangOf(m1) = GangOf(m2) /\ OnNode(m1) /\ OnNode(m2) /\ (\A m \in GangOf(m1) : Alive(m)) =>
            ZoneOf(pod[m1]) = ZoneOf(pod[m2])

(* And so are the members of each commit. *)
CommitInOneDomain ==
    [][\A g \in Gangs : gang'[g].state = "committed" /\ gang[g].state # "committed" =>
        \A m1, m2 \in DOMAIN gang'[g].intents :
            ZoneOf(gang'[g].intents[m1].node) = ZoneOf(gang'[g].intents[m2].node)]_gang

(* No commit counts a member whose call has said that it gave up. *)
NoneThatGaveUp ==
    [][\A g \in Gangs : gang'[g].state = "committed" /\ gang[g].state # "committed" =>
        \A m \in DOMAIN gang'[g].intents : gang'[g].intents[m].attempt \notin withdrawn]_gang

(* A call that knows an earlier round has no part in this one. *)
OfThisRound == \A g \in Gangs : \A m \in DOMAIN gang[g].intents : gang[g].intents[m].round = gang[g].round

(* What is committed stays until no member lives, one is on a node, or no call is under way that knows of it. *)
CommitStays ==
    [][\A g \in Gangs : gang[g].state = "committed" /\ gang'[g] # gang[g] =>
        IsOver(gang[g]) \/ (\E m \in g : OnNode(m)) \/ \A b \in Calls : ~IsUnderWay(b, g)]_gang

(* Only the open gang of the domain commits. With two phases, the gang that was open when it began to hold. *)
OnlyTheOpenGang ==
    [][\A g \in Gangs : gang'[g].state \in {"committed", "preparing"} /\ gang[g].state = "open" =>
        domain.holder = g /\ domain.fence = gang[g].round]_gang

NothingOverReserved == \A n \in Nodes : Cardinality(DOMAIN ledger[n]) <= Room

BoundIsCounted == \A m \in Members : pod[m] \in Nodes => m \in DOMAIN ledger[pod[m]]

(* A round that is over holds nothing for members that may come again: what there is was given by a commit, or alone. *)
IsGiven(m, n) == \E share \in given : share.member = m /\ share.node = n /\ share.attempt = ledger[n][m].attempt

NoHoldsAfterwards ==
    \A g \in Gangs : gang[g].state \in {"none", "open"} =>
        \A n \in Nodes : \A m \in DOMAIN ledger[n] : GangOf(m) = g => pod[m] # "unbound" \/ IsGiven(m, n)

(* With watchers at work, no round stays open and no domain closed for others. *)
EveryRoundEnds == \A g \in Gangs : gang[g].state \in {"open", "preparing", "aborting"} ~>
                                   gang[g].state \in {"none", "committed"}

(* No mistake: a state where a gang is committed, a call of another member has died with its share, and another waits. *)
NothingHappens ==
    ~\E m1, m2 \in Members : /\ GangOf(m1) = GangOf(m2)
                             /\ pod[m1] \in Nodes
                             /\ pod[m2] = "unbound"
                             /\ \E b \in Calls : call[b].member = m2 /\ call[b].at = "single"

Symmetry == Permutations(Calls)

(* Where gangs and zones stay the same sets when members and nodes change places, and Second is empty; not for liveness. *)
FullSymmetry == UNION {Permutations(each) : each \in {Calls, Members, Nodes, Watchers} \ {{}}}

====
