------------------------------ MODULE NodeCache ------------------------------
(***************************************************************************)
(* The node cache: a log for each part of the state, and a snapshot,       *)
(* behind one head item, which is also the lease.  README.md says what is  *)
(* modelled and what is not.                                               *)
(*                                                                         *)
(* A watcher that leads writes log items, waits until they are             *)
(* acknowledged, and then publishes them with one conditional write on the *)
(* head.  Readers see only what the head announces: the newest item of     *)
(* each part, and from there back what each item names.                    *)
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
    PartCount,    \* into how many parts the state is divided; a reader loads and follows those that it needs
    AnyPart,      \* TRUE: a change may be of any part; FALSE: its term and its version say of which
    Late,         \* TRUE: a request may still arrive after its sender has repeated it, or is gone
    Grace,        \* TRUE: a log item outlives every read that began before it was compacted
    Outage,       \* TRUE: log items may go before they are compacted, as when no watcher ran for days
    Mistakes      \* names of deliberate mistakes; {} is the protocol

VARIABLES
    head,     \* the head item
    log,      \* part -> version -> log item
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

\* The version and the epoch of a log item, or of a snapshot that was published in place of items: together they name
\* one content.  Nothing: before the first.
Id(ver, epoch) == [ver |-> ver, epoch |-> epoch]
Nothing == Id(0, 0)

FirstPart == {0}
AllParts == 0..(PartCount - 1)
EveryPart(id) == [part \in AllParts |-> id]

\* A snapshot's chunks are written once, under keys that no other snapshot has.  So the pointer is as good as the
\* content, and all that can be wrong with a chunk is that it is absent, or not seen yet by an eventually consistent
\* read.  `whole`: all chunks were acknowledged before the head pointed to them.  `newest`: of each part, as of `ver`.
EmptySnapshot == [ver |-> 0, state |-> <<>>, newest |-> EveryPart(Nothing), whole |-> TRUE]

\* ver, snap and comp are version, snapshot and compactedVersion.  `newest` names the newest item of each part.  There is
\* no resourceVersion: each write on the head changes one of these fields for ever, so that comparing them all is
\* comparing resourceVersion.
NoHead ==
    [holder |-> None, epoch |-> 0, ver |-> 0, snap |-> EmptySnapshot, comp |-> 0, newest |-> EveryPart(Nothing)]

\* `prev` names the item before it of the same part, as published.
NoItem == [epoch |-> 0, by |-> 0, end |-> TRUE, prev |-> Nothing]

\* A change is named by the term that made it, by its part, and by whether it ends its flush.
\* No two leaders make the same change, so that no mix-up is hidden by luck.
Change(part, item) == [by |-> item.by, end |-> item.end, part |-> part]

NoChange == [by |-> 0, end |-> TRUE, part |-> 0]

Of(parts, changes) == SelectSeq(changes, LAMBDA change : change.part \in parts)

Max(numbers) == CHOOSE n \in numbers : \A other \in numbers : other <= n

NoRequest == [kind |-> "none"]

\* A watcher that does not lead knows nothing, nor does a thread that does not read.
\* A leader knows the head as its own last write left it, and the state that is published.  `flush` has the part of each
\* change in the flush that it is making, `step` how many of that flush's requests were acknowledged.
Off == [leads |-> FALSE]

Leader(h, term, state) ==
    [leads |-> TRUE, head |-> h, term |-> term, state |-> state, flush |-> <<>>, step |-> 0]

\* Without AnyPart: two leaders' changes of one version are of different parts, and so are two changes of a flush.
PartsOf(term, ver) == IF AnyPart THEN AllParts ELSE {(term + ver) % PartCount}

\* The flushes that this leader may make: one change or more, each with its part.
Flushes(l) ==
    UNION {{flush \in [1..n -> AllParts] : \A i \in 1..n : flush[i] \in PartsOf(l.term, l.head.ver + i)}
           : n \in 1..MaxFlush}

Idle == [next |-> "head"]

Init ==
    /\ head = NoHead
    /\ log = [part \in AllParts |-> [v \in 1..MaxVersion |-> NoItem]]
    /\ late = NoRequest
    /\ watcher = [w \in Watchers |-> Off]
    /\ looked = [w \in Watchers |-> NoHead]
    /\ env = [cursor |-> 0, parts |-> FirstPart, newest |-> EveryPart(Nothing), state |-> <<>>]
    /\ thread = [t \in Threads |-> Idle]
    /\ pub = <<>>
    /\ terms = 0
    /\ stale = FALSE

-----------------------------------------------------------------------------
(* What a query of a part's log finds above the version `from` *)

\* The versions that the links lead to, from the item `id` back to `first`.  0 among them: an item is missing, or another
\* stands in its place.  All other items are orphans, and nobody looks at them.
RECURSIVE Links(_, _, _, _)
Links(part, from, first, id) ==
    LET ends == id = first \/ (Mistake("link-without-epoch") /\ id.ver = first.ver)
        stands == /\ id.ver > from
                  /\ log[part][id.ver] # NoItem
                  /\ log[part][id.ver].epoch = id.epoch \/ Mistake("link-without-epoch")
    IN  IF ends THEN {}
        ELSE IF stands THEN {id.ver} \cup Links(part, from, first, log[part][id.ver].prev)
        ELSE {0}

\* What stands there, whoever put it there.
Standing(part, from, to) == {v \in (from + 1)..to : log[part][v] # NoItem}

\* The same links, but from the first item on to the next that names it.
RECURSIVE Forwards(_, _, _)
Forwards(part, first, to) ==
    LET following == {v \in Standing(part, first.ver, to) : log[part][v].prev = first}
    IN  IF following = {} THEN {}
        ELSE LET v == Max(following) IN {v} \cup Forwards(part, Id(v, log[part][v].epoch), to)

\* The versions of the items that a reader takes, of one part.  `first`, `newest`: of each part, where it is and where the
\* head is.
Found(part, from, first, newest, to) ==
    CASE Mistake("links-ignored") -> Standing(part, from, to)
      [] Mistake("links-forwards") -> Forwards(part, first[part], to)
      [] OTHER -> Links(part, from, first[part], newest[part])

Complete(parts, from, first, newest, to) == \A part \in parts : 0 \notin Found(part, from, first, newest, to)

\* The changes of these parts, in the order of versions.
Changes(parts, from, first, newest, to) ==
    LET found == [part \in parts |-> Found(part, from, first, newest, to)]
        at(v) == {part \in parts : v \in found[part]}
        change(v) == LET part == CHOOSE part \in at(v) : TRUE IN Change(part, log[part][v])
    IN  SelectSeq([v \in 1..MaxVersion |-> IF at(v) = {} THEN NoChange ELSE change(v)],
                  LAMBDA each : each # NoChange)

-----------------------------------------------------------------------------
(* Requests.  A watcher makes them from what it knows, and that may be old: *)
(* it may have been paused since, for any time.  So it does not matter here *)
(* whether the watcher or the request is late.                              *)

\* A takeover of the lease takes the next epoch.  A holder would keep its own epoch; but see Disowned.
Take(w, seen) ==
    LET keeps == seen.holder = w \/ (Mistake("takeover-keeps-epoch") /\ seen.epoch # 0)
    IN  [kind |-> "take", from |-> w, known |-> seen, epoch |-> IF keeps THEN seen.epoch ELSE seen.epoch + 1]

\* The newest item of each part after the first i changes of this flush.
Newest(w, flush, i) ==
    [part \in AllParts |->
        LET l == watcher[w]
            own == {j \in 1..i : flush[j] = part}
        IN  IF own = {} THEN l.head.newest[part] ELSE Id(l.head.ver + Max(own), l.head.epoch)]

Item(w, flush, i) ==
    LET l == watcher[w]
        before == Newest(w, flush, i - 1)
        latest == CHOOSE id \in {before[part] : part \in AllParts} : \A part \in AllParts : before[part].ver <= id.ver
    IN  [epoch |-> l.head.epoch, by |-> l.term, end |-> i = Len(flush),
         prev |-> IF Mistake("link-to-any-part") THEN latest ELSE before[flush[i]]]

Put(w, flush, i) ==
    [kind |-> "log", part |-> flush[i], ver |-> watcher[w].head.ver + i, item |-> Item(w, flush, i)]

\* The mistake: the head names whatever stands in the log of the other parts, also what is not published, and may never
\* be.
Published(w, flush) ==
    LET newest == Newest(w, flush, Len(flush))
        stands(part) == Standing(part, newest[part].ver, MaxVersion)
    IN  IF ~Mistake("unpublished-in-head") THEN newest
        ELSE [part \in AllParts |->
                IF stands(part) = {} THEN newest[part]
                ELSE Id(Max(stands(part)), log[part][Max(stands(part))].epoch)]

Publish(w, flush) ==
    [kind |-> "publish", known |-> watcher[w].head, newest |-> Published(w, flush),
     changes |-> [i \in 1..Len(flush) |-> Change(flush[i], Item(w, flush, i))]]

\* A flush: its log items, and when all are acknowledged, the publication.
FlushRequest(w, flush, i) ==
    IF Mistake("published-before-log")
    THEN IF i = 1 THEN Publish(w, flush) ELSE Put(w, flush, i - 1)
    ELSE IF i <= Len(flush) THEN Put(w, flush, i) ELSE Publish(w, flush)

\* Points the head to a snapshot of all that is published.
Point(w) ==
    LET l == watcher[w]
    IN  [kind |-> "point", known |-> l.head,
         snap |-> [ver |-> l.head.ver, state |-> l.state, whole |-> ~Mistake("pointed-before-chunks"),
                   newest |-> IF Mistake("snapshot-without-parts") THEN EveryPart(Id(l.head.ver, l.head.epoch))
                              ELSE l.head.newest]]

\* Says up to where the log may be cleaned.  An implementation may say it in the same write as the pointer.
Compact(w) == [kind |-> "compact", known |-> watcher[w].head, comp |-> watcher[w].head.snap.ver]

\* The whole cluster as one more version: a snapshot instead of a log item, and nothing older is needed any more.  Any
\* part may be another than before, so each has a new version.
Relist(w, part) ==
    LET l == watcher[w]
        change == [by |-> l.term, end |-> TRUE, part |-> part]
    IN  [kind |-> "relist", known |-> l.head, changes |-> <<change>>,
         snap |-> [ver |-> l.head.ver + 1, state |-> SubSeq(pub, 1, l.head.ver) \o <<change>>, whole |-> TRUE,
                   newest |-> IF Mistake("relist-keeps-parts") THEN l.head.newest
                              ELSE EveryPart(Id(l.head.ver + 1, l.head.epoch))]]

\* The mistake is client-go's: it reads the head again for the condition, but does not look who holds it now.
Release(w) == [kind |-> "release", known |-> IF Mistake("release-unchecked") THEN head ELSE watcher[w].head]

\* What r makes of the head h.
After(h, r) ==
    CASE r.kind = "take" -> [h EXCEPT !.holder = r.from, !.epoch = r.epoch]
      [] r.kind = "log" -> h
      [] r.kind = "publish" -> [h EXCEPT !.ver = @ + Len(r.changes), !.newest = r.newest]
      [] r.kind = "point" -> [h EXCEPT !.snap = r.snap]
      [] r.kind = "relist" -> [h EXCEPT !.ver = r.snap.ver, !.snap = r.snap, !.comp = r.snap.ver,
                                        !.newest = r.snap.newest]
      [] r.kind = "compact" -> [h EXCEPT !.comp = r.comp]
      [] r.kind = "release" -> [h EXCEPT !.holder = None]

SameTerm(known) == head.holder = known.holder /\ head.epoch = known.epoch

\* The condition of the write.  The last line is resourceVersion: the head is as the asker last knew it.
Passes(r) ==
    CASE r.kind = "log" -> log[r.part][r.ver].epoch < r.item.epoch \/ Mistake("log-unconditional")
      [] r.kind = "take" /\ Mistake("takeover-of-any-version") -> SameTerm(r.known)
      [] r.kind = "publish" /\ Mistake("publication-unfenced") -> head.ver = r.known.ver
      [] r.kind # "take" /\ Mistake("head-without-rv") -> SameTerm(r.known) /\ head.ver = r.known.ver
      [] OTHER -> head = r.known

\* The condition fails, but only because an earlier copy of this request was carried out.
\* A log item of the asker's epoch is the asker's: see Disowned.
Recognised(r) == IF r.kind = "log" THEN log[r.part][r.ver].epoch = r.item.epoch ELSE head = After(r.known, r)

\* All that carrying out r changes, but for the head.
Record(r) ==
    /\ log' = IF r.kind = "log" /\ Passes(r) THEN [log EXCEPT ![r.part][r.ver] = r.item] ELSE log
    /\ pub' = IF r.kind \in {"publish", "relist"} /\ Passes(r) THEN pub \o r.changes ELSE pub
    /\ terms' = IF r.kind = "take" /\ Passes(r) THEN terms + 1 ELSE terms

-----------------------------------------------------------------------------
(* A watcher *)

Leads(w) == watcher[w].leads

\* It could not load what was published, and does not know what a change would be a change to.
Blind(w) == Len(watcher[w].state) # watcher[w].head.ver

BetweenFlushes(w) == Leads(w) /\ watcher[w].flush = <<>>

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
        complete == Complete(AllParts, h.snap.ver, h.snap.newest, h.newest, h.ver)
        changes == Changes(AllParts, h.snap.ver, h.snap.newest, h.newest, h.ver)
    IN  /\ ~Leads(w)
        /\ terms < MaxTerms
        /\ Ask(w, r, Leader(h, terms + 1, IF complete THEN h.snap.state \o changes ELSE <<>>))

\* With that mistake they are two steps.
Look(w) ==
    /\ Mistake("takeover-of-any-version")
    /\ ~Leads(w)
    /\ looked' = [looked EXCEPT ![w] = head]
    /\ UNCHANGED <<head, log, late, watcher, readers, history>>

Flush(w, flush, i) ==
    LET l == watcher[w]
        n == Len(flush)
    IN  /\ ~Blind(w)
        /\ l.step = i - 1
        /\ l.flush \in (IF i = 1 THEN {<<>>, flush} ELSE {flush})
        /\ l.head.ver + n <= MaxVersion
        /\ Ask(w, FlushRequest(w, flush, i),
               IF i <= n THEN [l EXCEPT !.flush = flush, !.step = i]
               ELSE [l EXCEPT !.head = After(@, Publish(w, flush)), !.state = @ \o Publish(w, flush).changes,
                              !.flush = <<>>, !.step = 0])

PointToSnapshot(w) ==
    /\ BetweenFlushes(w)
    /\ ~Blind(w)
    /\ watcher[w].head.snap.ver < watcher[w].head.ver
    /\ Ask(w, Point(w), [watcher[w] EXCEPT !.head = After(@, Point(w))])

AllowCleaning(w) ==
    /\ BetweenFlushes(w)
    /\ watcher[w].head.comp < watcher[w].head.snap.ver
    /\ Ask(w, Compact(w), [watcher[w] EXCEPT !.head = After(@, Compact(w))])

PublishAnew(w, part) ==
    LET r == Relist(w, part)
    IN  /\ Outage
        /\ BetweenFlushes(w)
        /\ watcher[w].head.ver < MaxVersion
        /\ part \in PartsOf(watcher[w].term, watcher[w].head.ver + 1)
        /\ Ask(w, r, [watcher[w] EXCEPT !.head = After(@, r), !.state = r.snap.state])

HandOver(w) ==
    /\ BetweenFlushes(w)
    /\ Ask(w, Release(w), Off)

\* Changes its mind about a flush, and packs the same versions anew in the same epoch.
Repack(w) ==
    /\ Mistake("flush-repacked")
    /\ Leads(w)
    /\ watcher' = [watcher EXCEPT ![w].flush = <<>>, ![w].step = 0]
    /\ UNCHANGED <<head, log, late, looked, readers, history>>

\* Sends a request and gets no response.  It will send it again, or stop; this copy may arrive at any time, or never.
\* Once it has sent a log item, it is bound to that flush.
Leave(w) ==
    LET l == watcher[w]
    IN  /\ Late
        /\ Leads(w)
        /\ ~Blind(w)
        /\ \/ \E flush \in Flushes(l) :
                /\ l.flush \in {<<>>, flush}
                /\ l.head.ver + Len(flush) <= MaxVersion
                /\ late' = FlushRequest(w, flush, l.step + 1)
                /\ watcher' = [watcher EXCEPT ![w].flush = flush]
           \/ /\ l.flush = <<>>
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

Expire(part, v) ==
    /\ v <= IF Outage THEN head.ver ELSE head.comp
    /\ log[part][v] # NoItem
    /\ Grace => \A t \in Threads : thread[t] # Idle => v <= thread[t].head.comp
    /\ log' = [log EXCEPT ![part][v] = NoItem]
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

\* A reader that takes what stands in the log for published.
NewestIn(parts) ==
    [part \in AllParts |->
        LET stands == Standing(part, 0, MaxVersion)
        IN  IF part \notin parts \/ stands = {} THEN Nothing ELSE Id(Max(stands), log[part][Max(stands)].epoch)]

\* Where the reader is in the log of each of its parts.
Only(parts, newest) == [part \in AllParts |-> IF part \in parts THEN newest[part] ELSE Nothing]

\* The reader reads nothing of a part whose newest item is the one that it has, and its cursor goes on.
\* A head that is not ahead of the cursor is old: another thread was faster.
\* A part that the reader does not have comes from a snapshot.
ReadLog(t) ==
    LET seen == thread[t].head
        needs == thread[t].needs
        parts == env.parts \cup needs
        lacks == parts # env.parts
        newest == IF Mistake("cursor-from-log") THEN NewestIn(parts) ELSE seen.newest
        \* The mistake: it takes a part that it does not have for as new as the head says.
        first == [part \in AllParts |-> IF Mistake("further-part-from-log") /\ part \notin env.parts THEN newest[part]
                                        ELSE env.newest[part]]
        to == IF Mistake("cursor-from-log") THEN Max({seen.ver} \cup {newest[part].ver : part \in parts}) ELSE seen.ver
        unchanged == \A part \in parts : first[part] = newest[part]
        cleaned == env.cursor < seen.comp /\ ~Mistake("compacted-ignored")
    IN  /\ thread[t].next = "log"
        /\ IF seen.ver <= env.cursor /\ ~lacks
           THEN At(t, Idle) /\ UNCHANGED env
           ELSE IF /\ ~lacks \/ Mistake("further-part-from-log")
                   /\ unchanged \/ ~cleaned
                   /\ Complete(parts, env.cursor, first, newest, to)
           THEN /\ At(t, Idle)
                /\ env' = [cursor |-> to, parts |-> parts, newest |-> Only(parts, newest),
                           state |-> env.state \o Changes(parts, env.cursor, first, newest, to)]
           ELSE At(t, [thread[t] EXCEPT !.next = "snapshot"]) /\ UNCHANGED env
        /\ UNCHANGED <<head, log, late, watcher, looked, history>>

\* The snapshot and the log above it, all or nothing: the snapshot alone may be behind the cursor.
\* All parts are loaded at one version: that of a head that is not behind the cursor.
ReadSnapshot(t) ==
    LET seen == thread[t].head
        snap == seen.snap
        parts == env.parts \cup thread[t].needs
        lacks == parts # env.parts
    IN  /\ thread[t].next = "snapshot"
        /\ \/ seen.ver > env.cursor
           \/ lacks /\ (seen.ver = env.cursor \/ Mistake("further-part-at-old-head"))
           \/ Mistake("old-head-accepted")
        /\ snap.whole
        /\ Complete(parts, snap.ver, snap.newest, seen.newest, seen.ver)
        /\ env' = [cursor |-> seen.ver, parts |-> parts, newest |-> Only(parts, seen.newest),
                   state |-> Of(parts, snap.state) \o Changes(parts, snap.ver, snap.newest, seen.newest, seen.ver)]
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
        \/ TakeLease(w) \/ PointToSnapshot(w) \/ AllowCleaning(w) \/ HandOver(w) \/ Stop(w)
        \/ \E part \in AllParts : PublishAnew(w, part)
        \/ Leads(w) /\ \E flush \in Flushes(watcher[w]) : \E i \in 1..(Len(flush) + 1) : Flush(w, flush, i)
        \/ Leave(w) \/ Look(w) \/ Repack(w)
    \/ ArriveLate
    \/ \E part \in AllParts : \E v \in 1..MaxVersion : Expire(part, v)
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

\* At any moment, a cold reader finds all it needs, whatever parts it reads: the snapshot is whole, and the log of each
\* part above it complete.
AlwaysLoadable ==
    /\ head.snap.whole
    /\ head.snap.state = SubSeq(pub, 1, head.snap.ver)
    /\ \A part \in AllParts :
        LET found == Links(part, head.snap.ver, head.snap.newest[part], head.newest[part])
        IN  /\ found = {v \in (head.snap.ver + 1)..head.ver : pub[v].part = part}
            /\ \A v \in found : Change(part, log[part][v]) = pub[v]

\* A leader starts from exactly what its predecessors published.
LeaderKnowsAll ==
    \A w \in Watchers :
        Leads(w) /\ ~Blind(w) /\ SameTerm(watcher[w].head) => watcher[w].state = SubSeq(pub, 1, watcher[w].head.ver)

\* So does compactedVersion: readers would find orphans where they look for log items.
HeadOnlyGrows ==
    [][/\ head'.epoch >= head.epoch
       /\ head'.ver >= head.ver
       /\ head'.comp >= head.comp
       /\ \A part \in AllParts : head'.newest[part].ver >= head.newest[part].ver
       /\ head'.snap.ver >= head.snap.ver]_head

ReaderOnlyAdvances == [][env'.cursor >= env.cursor]_env

\* Once nothing more is published, readers get all of it.
Converges == <>[](env.cursor = head.ver)

\* Not a property: the search must find a state that breaks it, or the model would hold because nothing happens in it.
\* All is published and read, under the last leader.  An old orphan stands where the log was cleaned, and another one
\* beside a published item of the other part.
NothingHappens ==
    LET orphans == {v \in 1..head.ver : \E part \in AllParts :
                        log[part][v] # NoItem /\ Change(part, log[part][v]) # pub[v]}
    IN  ~ /\ terms = MaxTerms
          /\ head.ver = MaxVersion
          /\ env.cursor = MaxVersion
          /\ \E v \in orphans : v <= head.comp
          /\ \E v \in orphans : v > head.comp /\ log[pub[v].part][v] # NoItem

Symmetry == Permutations(Watchers) \cup Permutations(Threads)
=============================================================================
