------------------------------ MODULE NodeCache ------------------------------
(***************************************************************************)
(* The node cache: a log and a snapshot behind one head item, which is     *)
(* also the lease.  README.md says what is modelled and what is not.       *)
(*                                                                         *)
(* A watcher that leads writes log items, waits until they are             *)
(* acknowledged, and then publishes them with one conditional write on the *)
(* head.  Readers see only what the head announces.                        *)
(*                                                                         *)
(* There is no clock.  A lease may run out, a process may stop for any     *)
(* time, and a request may arrive late, at any moment: what holds here     *)
(* holds whatever the clocks say.                                          *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS
    Watchers,     \* processes that may lead
    Threads,      \* threads of one reading environment; they share its state
    MaxTerms,     \* how often the lease may be taken
    MaxVersion,   \* how many changes may be published
    MaxFlush,     \* how many log items one publication may announce
    PartCount,    \* into how many parts the state is divided; a reader loads those that it needs
    Late,         \* TRUE: a request may still arrive after its sender has repeated it, or is gone
    Chain,        \* TRUE: the head names the epoch of the newest log item, and each item that of the one before
    Grace,        \* TRUE: a log item outlives every read that began before it was compacted
    Outage,       \* TRUE: log items may go before they are compacted, as when no watcher ran for days
    Mistakes      \* names of deliberate mistakes; {} is the protocol

VARIABLES
    head,     \* the head item
    log,      \* version -> log item
    late,     \* a request without a waiting caller; it may still be carried out
    watcher,  \* what each watcher knows
    looked,   \* the head as each watcher saw it some time ago; only one of the mistakes needs it
    env,      \* the reading environment: its cursor and its state
    thread,   \* what each of its threads knows
    pub,      \* history: the changes that were published, by version
    terms,    \* history: how often the lease was taken
    stale     \* history: whether a deposed leader's write on the head was carried out

readers == <<env, thread>>
history == <<pub, terms, stale>>
vars == <<head, log, late, watcher, looked, readers, history>>

Mistake(name) == name \in Mistakes

-----------------------------------------------------------------------------
(* Values *)

None == "none"      \* the lease is free
Gone == "gone"      \* an identity that no living process has

\* A snapshot's chunks are written once, under keys that no other snapshot has.  So the pointer is as good as the
\* content, and all that can be wrong with a chunk is that it is absent, or not seen yet by an eventually consistent
\* read.  `whole`: all chunks were acknowledged before the head pointed to them.
EmptySnapshot == [ver |-> 0, state |-> <<>>, whole |-> TRUE]

\* ver, snap and comp are version, snapshot and compactedVersion.  `last` is the epoch of the newest log item; only the
\* chain needs it.  There is no resourceVersion: each write on the head changes one of these fields for ever, so that
\* comparing them all is comparing resourceVersion.
NoHead == [holder |-> None, epoch |-> 0, ver |-> 0, snap |-> EmptySnapshot, comp |-> 0, last |-> 0]

NoItem == [epoch |-> 0, by |-> 0, end |-> TRUE, prev |-> 0, part |-> 0]

\* A change is named by the term that made it, and by whether it ends its flush.
\* No two leaders make the same change, so that no mix-up is hidden by luck.
Change(item) == [by |-> item.by, end |-> item.end, part |-> item.part]

\* The part of the state that a change of this term belongs to.  Each item holds one part.  Two leaders' items of one
\* version are of different parts, and so are two items of a flush.
PartOf(term, ver) == (term + ver) % PartCount

FirstPart == {0}
AllParts == 0..(PartCount - 1)
Of(parts, changes) == SelectSeq(changes, LAMBDA change : change.part \in parts)

NoRequest == [kind |-> "none"]

\* A watcher that does not lead knows nothing, nor does a thread that does not read.
\* A leader knows the head as its own last write left it, and the state that is published.  `flush` is the number of
\* changes in the flush that it is making, `step` how many of that flush's requests were acknowledged.
Off == [leads |-> FALSE]

Leader(h, term, state) ==
    [leads |-> TRUE, head |-> h, term |-> term, state |-> state, flush |-> 0, step |-> 0]

Idle == [next |-> "head"]

Init ==
    /\ head = NoHead
    /\ log = [v \in 1..MaxVersion |-> NoItem]
    /\ late = NoRequest
    /\ watcher = [w \in Watchers |-> Off]
    /\ looked = [w \in Watchers |-> NoHead]
    /\ env = [cursor |-> 0, parts |-> FirstPart, state |-> <<>>]
    /\ thread = [t \in Threads |-> Idle]
    /\ pub = <<>>
    /\ terms = 0
    /\ stale = FALSE

-----------------------------------------------------------------------------
(* What a query of the log finds *)

\* Every version of (from, to] is there.
\* With the chain: the newest item is the one that the head means, and each item is the one that its successor means.
\* The items of all parts count, whatever parts are read.
Complete(from, to, last) ==
    \A v \in (from + 1)..to :
        /\ log[v] # NoItem
        /\ Chain => log[v].epoch = IF v = to THEN last ELSE log[v + 1].prev

\* A reader that looks at the items of its parts alone.
CompleteFor(parts, from, to, last) ==
    Complete(from, to, last) \/ (Mistake("chain-of-needed-parts") /\ \A v \in (from + 1)..to : log[v].part \notin parts)

Changes(from, to) == [i \in 1..(to - from) |-> Change(log[from + i])]

-----------------------------------------------------------------------------
(* Requests.  A watcher makes them from what it knows, and that may be old: *)
(* it may have been paused since, for any time.  So it does not matter here *)
(* whether the watcher or the request is late.                              *)

\* A takeover of the lease takes the next epoch.  A holder would keep its own epoch; but see Disowned.
Take(w, seen) ==
    LET keeps == seen.holder = w \/ (Mistake("takeover-keeps-epoch") /\ seen.epoch # 0)
    IN  [kind |-> "take", from |-> w, known |-> seen, epoch |-> IF keeps THEN seen.epoch ELSE seen.epoch + 1]

Item(w, i, n) ==
    LET l == watcher[w]
    IN  [epoch |-> l.head.epoch, by |-> l.term, end |-> i = n, part |-> PartOf(l.term, l.head.ver + i),
         prev |-> IF ~Chain THEN 0 ELSE IF i = 1 THEN l.head.last ELSE l.head.epoch]

Put(w, i, n) == [kind |-> "log", ver |-> watcher[w].head.ver + i, item |-> Item(w, i, n)]

Publish(w, n) ==
    [kind |-> "publish", known |-> watcher[w].head, changes |-> [i \in 1..n |-> Change(Item(w, i, n))]]

\* A flush of n changes: their log items, and when all are acknowledged, the publication.
FlushRequest(w, i, n) ==
    IF Mistake("published-before-log")
    THEN IF i = 1 THEN Publish(w, n) ELSE Put(w, i - 1, n)
    ELSE IF i <= n THEN Put(w, i, n) ELSE Publish(w, n)

\* Points the head to a snapshot of all that is published.
Point(w) ==
    LET l == watcher[w]
    IN  [kind |-> "point", known |-> l.head,
         snap |-> [ver |-> l.head.ver, state |-> l.state, whole |-> ~Mistake("pointed-before-chunks")]]

\* Says up to where the log may be cleaned.  An implementation may say it in the same write as the pointer.
Compact(w) == [kind |-> "compact", known |-> watcher[w].head, comp |-> watcher[w].head.snap.ver]

\* The whole cluster as one more version: a snapshot instead of a log item, and nothing older is needed any more.
Relist(w) ==
    LET l == watcher[w]
        change == [by |-> l.term, end |-> TRUE, part |-> PartOf(l.term, l.head.ver + 1)]
    IN  [kind |-> "relist", known |-> l.head, changes |-> <<change>>,
         snap |-> [ver |-> l.head.ver + 1, state |-> SubSeq(pub, 1, l.head.ver) \o <<change>>, whole |-> TRUE]]

\* The mistake is client-go's: it reads the head again for the condition, but does not look who holds it now.
Release(w) == [kind |-> "release", known |-> IF Mistake("release-unchecked") THEN head ELSE watcher[w].head]

\* What r makes of the head h.
After(h, r) ==
    CASE r.kind = "take" -> [h EXCEPT !.holder = r.from, !.epoch = r.epoch]
      [] r.kind = "log" -> h
      [] r.kind = "publish" -> [h EXCEPT !.ver = @ + Len(r.changes), !.last = IF Chain THEN r.known.epoch ELSE 0]
      [] r.kind = "point" -> [h EXCEPT !.snap = r.snap]
      [] r.kind = "relist" -> [h EXCEPT !.ver = r.snap.ver, !.snap = r.snap, !.comp = r.snap.ver,
                                        !.last = IF Chain THEN r.known.epoch ELSE 0]
      [] r.kind = "compact" -> [h EXCEPT !.comp = r.comp]
      [] r.kind = "release" -> [h EXCEPT !.holder = None]

SameTerm(known) == head.holder = known.holder /\ head.epoch = known.epoch

\* The condition of the write.  The last line is resourceVersion: the head is as the asker last knew it.
Passes(r) ==
    CASE r.kind = "log" -> log[r.ver].epoch < r.item.epoch \/ Mistake("log-unconditional")
      [] r.kind = "take" /\ Mistake("takeover-of-any-version") -> SameTerm(r.known)
      [] r.kind = "publish" /\ Mistake("publication-unfenced") -> head.ver = r.known.ver
      [] r.kind # "take" /\ Mistake("head-without-rv") -> SameTerm(r.known) /\ head.ver = r.known.ver
      [] OTHER -> head = r.known

\* The condition fails, but only because an earlier copy of this request was carried out.
\* A log item of the asker's epoch is the asker's: see Disowned.
Recognised(r) == IF r.kind = "log" THEN log[r.ver].epoch = r.item.epoch ELSE head = After(r.known, r)

\* All that carrying out r changes, but for the head.
Record(r) ==
    /\ log' = IF r.kind = "log" /\ Passes(r) THEN [log EXCEPT ![r.ver] = r.item] ELSE log
    /\ pub' = IF r.kind \in {"publish", "relist"} /\ Passes(r) THEN pub \o r.changes ELSE pub
    /\ terms' = IF r.kind = "take" /\ Passes(r) THEN terms + 1 ELSE terms

-----------------------------------------------------------------------------
(* A watcher *)

Leads(w) == watcher[w].leads

\* It could not load what was published, and does not know what a change would be a change to.
Blind(w) == Len(watcher[w].state) # watcher[w].head.ver

BetweenFlushes(w) == Leads(w) /\ watcher[w].flush = 0

\* A process that crashed, or stopped leading for whatever reason, comes back with another identity, and so in another
\* epoch: it has forgotten what it had packed for the next versions, and would take the items it finds for its own.
\* An old identity is only ever compared, and together with its epoch: all old ones may have the same name.
Disowned(h, w) == IF h.holder = w /\ ~Mistake("identity-reused") THEN [h EXCEPT !.holder = Gone] ELSE h

Continue(w, h, knows) ==
    /\ watcher' = [watcher EXCEPT ![w] = knows]
    /\ head' = h
    /\ late' = late

Cease(w, h) ==
    /\ watcher' = [watcher EXCEPT ![w] = Off]
    /\ head' = Disowned(h, w)
    /\ late' = IF late.kind \in {"none", "log"} THEN late ELSE [late EXCEPT !.known = Disowned(@, w)]

Stop(w) ==
    /\ watcher[w] # Off
    /\ Cease(w, head)
    /\ UNCHANGED <<log, looked, readers, history>>

\* Carries out r and tells w; if the response is lost, w asks again.  A writer that is refused has been deposed, and stops.
Ask(w, r, knows) ==
    /\ IF Passes(r) THEN Continue(w, After(head, r), knows)
       ELSE IF Recognised(r) THEN Continue(w, head, knows)
       ELSE Cease(w, head)
    /\ Record(r)
    /\ stale' = (stale \/ (r.kind \notin {"take", "log"} /\ Passes(r) /\ ~SameTerm(watcher[w].head)))
    /\ UNCHANGED <<looked, readers>>

\* A lease may run out at any time.  Reading the head and taking the lease are one step, because the condition is that
\* the head is still the one that was read.  The new leader loads what is published by it.
TakeLease(w) ==
    LET seen == IF Mistake("takeover-of-any-version") THEN looked[w] ELSE head
        r == Take(w, seen)
        h == After(seen, r)
    IN  /\ ~Leads(w)
        /\ terms < MaxTerms
        /\ Ask(w, r, Leader(h, terms + 1, IF Complete(h.snap.ver, h.ver, h.last)
                                         THEN h.snap.state \o Changes(h.snap.ver, h.ver) ELSE <<>>))

\* With that mistake they are two steps.
Look(w) ==
    /\ Mistake("takeover-of-any-version")
    /\ ~Leads(w)
    /\ looked' = [looked EXCEPT ![w] = head]
    /\ UNCHANGED <<head, log, late, watcher, readers, history>>

Flush(w, i, n) ==
    LET l == watcher[w]
        r == FlushRequest(w, i, n)
    IN  /\ Leads(w)
        /\ ~Blind(w)
        /\ l.step = i - 1
        /\ l.flush \in (IF i = 1 THEN {0, n} ELSE {n})
        /\ l.head.ver + n <= MaxVersion
        /\ Ask(w, r, IF i <= n THEN [l EXCEPT !.flush = n, !.step = i]
                     ELSE [l EXCEPT !.head = After(@, Publish(w, n)), !.state = @ \o Publish(w, n).changes,
                                    !.flush = 0, !.step = 0])

PointToSnapshot(w) ==
    /\ BetweenFlushes(w)
    /\ ~Blind(w)
    /\ watcher[w].head.snap.ver < watcher[w].head.ver
    /\ Ask(w, Point(w), [watcher[w] EXCEPT !.head = After(@, Point(w))])

AllowCleaning(w) ==
    /\ BetweenFlushes(w)
    /\ watcher[w].head.comp < watcher[w].head.snap.ver
    /\ Ask(w, Compact(w), [watcher[w] EXCEPT !.head = After(@, Compact(w))])

PublishAnew(w) ==
    /\ Outage
    /\ BetweenFlushes(w)
    /\ watcher[w].head.ver < MaxVersion
    /\ Ask(w, Relist(w), [watcher[w] EXCEPT !.head = After(@, Relist(w)), !.state = Relist(w).snap.state])

HandOver(w) ==
    /\ BetweenFlushes(w)
    /\ Ask(w, Release(w), Off)

\* Changes its mind about a flush, and packs the same versions anew in the same epoch.
Repack(w) ==
    /\ Mistake("flush-repacked")
    /\ Leads(w)
    /\ watcher' = [watcher EXCEPT ![w].flush = 0, ![w].step = 0]
    /\ UNCHANGED <<head, log, late, looked, readers, history>>

\* Sends a request and gets no response.  It will send it again, or stop; this copy may arrive at any time, or never.
\* Once it has sent a log item, it is bound to that flush.
Leave(w) ==
    LET l == watcher[w]
    IN  /\ Late
        /\ Leads(w)
        /\ ~Blind(w)
        /\ \/ \E n \in 1..MaxFlush :
                /\ l.flush \in {0, n}
                /\ l.head.ver + n <= MaxVersion
                /\ late' = FlushRequest(w, l.step + 1, n)
                /\ watcher' = [watcher EXCEPT ![w].flush = n]
           \/ /\ l.flush = 0
              /\ late' \in {Point(w), Release(w)} \cup (IF l.head.comp < l.head.snap.ver THEN {Compact(w)} ELSE {})
              /\ UNCHANGED watcher
        /\ UNCHANGED <<head, log, looked, readers, history>>

ArriveLate ==
    /\ late # NoRequest
    /\ head' = IF Passes(late) THEN After(head, late) ELSE head
    /\ Record(late)
    /\ stale' = (stale \/ (late.kind # "log" /\ Passes(late) /\ ~SameTerm(late.known)))
    /\ late' = NoRequest
    /\ UNCHANGED <<watcher, looked, readers>>

-----------------------------------------------------------------------------
(* What time takes away.  A snapshot that the head no longer points to goes *)
(* too: a reader that still wants it gives up and begins anew.              *)

Expire(v) ==
    /\ v <= IF Outage THEN head.ver ELSE head.comp
    /\ log[v] # NoItem
    /\ Grace => \A t \in Threads : thread[t] # Idle => v <= thread[t].head.comp
    /\ log' = [log EXCEPT ![v] = NoItem]
    /\ UNCHANGED <<head, late, watcher, looked, readers, history>>

-----------------------------------------------------------------------------
(* A reader.  Any time may pass between its steps.  It keeps the parts of   *)
(* the state that its calls have needed; a call may need one part more.     *)

At(t, what) == thread' = [thread EXCEPT ![t] = what]

ReadHead(t) ==
    /\ thread[t] = Idle
    /\ \E needs \in {FirstPart, AllParts} :
        /\ head.ver # env.cursor \/ ~(needs \subseteq env.parts)
        /\ At(t, [next |-> "log", head |-> [head EXCEPT !.holder = None, !.epoch = 0], needs |-> needs])
    /\ UNCHANGED <<head, log, late, watcher, looked, env, history>>

\* How far the log goes without a hole.
Reach(from) ==
    CHOOSE v \in from..MaxVersion :
        /\ \A i \in (from + 1)..v : log[i] # NoItem
        /\ v = MaxVersion \/ log[v + 1] = NoItem

\* A head that is not ahead of the cursor is old: another thread was faster.
\* A part that the reader does not have comes from a snapshot.
ReadLog(t) ==
    LET seen == thread[t].head
        needs == thread[t].needs
        lacks == ~(needs \subseteq env.parts)
        to == IF Mistake("cursor-from-log") THEN Reach(env.cursor) ELSE seen.ver
        cleaned == env.cursor < seen.comp /\ ~Mistake("compacted-ignored")
    IN  /\ thread[t].next = "log"
        /\ IF seen.ver <= env.cursor /\ ~lacks
           THEN At(t, Idle) /\ UNCHANGED env
           ELSE IF /\ ~lacks \/ Mistake("further-part-from-log")
                   /\ ~cleaned
                   /\ to >= seen.ver
                   /\ CompleteFor(env.parts, env.cursor, to, seen.last)
           THEN LET parts == env.parts \cup needs
                IN  /\ At(t, Idle)
                    /\ env' = [cursor |-> to, parts |-> parts,
                               state |-> env.state \o Of(parts, Changes(env.cursor, to))]
           ELSE At(t, [thread[t] EXCEPT !.next = "snapshot"]) /\ UNCHANGED env
        /\ UNCHANGED <<head, log, late, watcher, looked, history>>

\* The snapshot and the log above it, all or nothing: the snapshot alone may be behind the cursor.
\* All parts are loaded at one version: that of a head that is not behind the cursor.
ReadSnapshot(t) ==
    LET seen == thread[t].head
        parts == env.parts \cup thread[t].needs
        lacks == parts # env.parts
    IN  /\ thread[t].next = "snapshot"
        /\ \/ seen.ver > env.cursor
           \/ lacks /\ (seen.ver = env.cursor \/ Mistake("further-part-at-old-head"))
           \/ Mistake("old-head-accepted")
        /\ seen.snap.whole
        /\ CompleteFor(parts, seen.snap.ver, seen.ver, seen.last)
        /\ env' = [cursor |-> seen.ver, parts |-> parts,
                   state |-> Of(parts, seen.snap.state \o Changes(seen.snap.ver, seen.ver))]
        /\ At(t, Idle)
        /\ UNCHANGED <<head, log, late, watcher, looked, history>>

\* A chunk is absent or not seen yet, or the call runs out of time.  The next one begins with the head.
GiveUp(t) ==
    /\ thread[t] # Idle
    /\ At(t, Idle)
    /\ UNCHANGED <<head, log, late, watcher, looked, env, history>>

-----------------------------------------------------------------------------

Next ==
    \/ \E w \in Watchers :
        \/ TakeLease(w) \/ PointToSnapshot(w) \/ AllowCleaning(w) \/ PublishAnew(w) \/ HandOver(w) \/ Stop(w)
        \/ \E n \in 1..MaxFlush : \E i \in 1..(n + 1) : Flush(w, i, n)
        \/ Leave(w) \/ Look(w) \/ Repack(w)
    \/ ArriveLate
    \/ \E v \in 1..MaxVersion : Expire(v)
    \/ \E t \in Threads : ReadHead(t) \/ ReadLog(t) \/ ReadSnapshot(t) \/ GiveUp(t)

Spec == Init /\ [][Next]_vars

\* Readers go on reading, and are not unlucky for ever.  Watchers owe nothing: they may all stop.
FairSpec == Spec /\ \A t \in Threads :
    SF_vars(ReadHead(t)) /\ SF_vars(ReadLog(t)) /\ SF_vars(ReadSnapshot(t)) /\ WF_vars(GiveUp(t))

-----------------------------------------------------------------------------
(* Properties *)

\* A deposed leader changes nothing on the head.
NothingStaleCommitted == ~stale

\* A reader's state is the sum of the published changes of its parts up to its cursor: none is missing, none is
\* another's.
ReaderMissesNothing == env.cursor <= Len(pub) /\ env.state = Of(env.parts, SubSeq(pub, 1, env.cursor))

\* A reader never stands in the middle of what was published in one piece.
NoTornFlush == env.cursor = 0 \/ pub[env.cursor].end

\* At any moment, a cold reader finds all it needs: the snapshot is whole, and the log above it complete.
AlwaysLoadable ==
    /\ head.snap.whole
    /\ head.snap.state = SubSeq(pub, 1, head.snap.ver)
    /\ \A v \in (head.snap.ver + 1)..head.ver : log[v] # NoItem /\ Change(log[v]) = pub[v]

\* A leader starts from exactly what its predecessors published.
LeaderKnowsAll ==
    \A w \in Watchers :
        Leads(w) /\ ~Blind(w) /\ SameTerm(watcher[w].head) => watcher[w].state = SubSeq(pub, 1, watcher[w].head.ver)

\* So does compactedVersion: readers would find orphans where they look for log items.
HeadOnlyGrows ==
    [][/\ head'.epoch >= head.epoch
       /\ head'.ver >= head.ver
       /\ head'.comp >= head.comp
       /\ head'.snap.ver >= head.snap.ver]_head

ReaderOnlyAdvances == [][env'.cursor >= env.cursor]_env

\* Once nothing more is published, readers get all of it.
Converges == <>[](env.cursor = head.ver)

\* Not a property: the search must find a state that breaks it, or the model would hold because nothing happens in it.
\* All is published and read, under the last leader, and an old orphan stands where the log was cleaned.
NothingHappens ==
    ~ /\ terms = MaxTerms
      /\ head.ver = MaxVersion
      /\ env.cursor = MaxVersion
      /\ \E v \in 1..head.comp : log[v] # NoItem /\ Change(log[v]) # pub[v]

Symmetry == Permutations(Watchers) \cup Permutations(Threads)
=============================================================================
