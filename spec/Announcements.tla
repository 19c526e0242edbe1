---- MODULE Announcements ----
(* How concurrent binds keep a rule about other pods: the log of announcements, the node cache behind the API server, and
   calls of bind. One step is one request. README.md describes the model.

   The rule is that the node takes at most Limit pods. It stands for every rule that depends on the pods that are there:
   what matters is that a pod is judged with all of them. *)
EXTENDS FiniteSets, Naturals, TLC

CONSTANTS
    Binds,      \* calls of bind that can run at the same time
    Pods,
    Limit,      \* how many pods the rule allows
    MaxLog,     \* bound: positions of the log
    Mistakes

VARIABLES
    api,        \* by pod: "unbound", "bound" (to the node), "gone"
    cache,      \* the published snapshot: `pods` by pod, "unseen" or as in api; `over`: the positions whose announcements
                \* were past their `until` when the snapshot was observed
    log,        \* by position: the pod, its call, and whether it is withdrawn; deleted positions are missing
    flight,     \* positions whose Bindings are on their way
    call        \* by bind: where it stands, its pod, what it has read

vars == <<api, cache, log, flight, call>>

Mistake(name) == name \in Mistakes
None == 0

End(read) == IF DOMAIN read = {} THEN 0 ELSE CHOOSE n \in DOMAIN read : \A m \in DOMAIN read : m <= n

Nothing == [n \in {} |-> None]

Idle == [at |-> "idle", pod |-> "none", read |-> Nothing, end |-> None, position |-> None]

Init ==
    /\ api = [p \in Pods |-> "unbound"]
    /\ cache = [pods |-> [p \in Pods |-> "unseen"], over |-> {}]
    /\ log = Nothing
    /\ flight = {}
    /\ call = [b \in Binds |-> Idle]

\* ------------------------------------------------------------------------------------------------------- announcements

(* A Binding of the announcement at this position may still take effect. *)
Open(n) == n \in flight \/ \E b \in Binds : call[b].position = n /\ call[b].at \in {"announced", "sent"}

(* Whether the announcement stands for a pod, in a snapshot. A pod that the snapshot has seen and no longer has is gone. *)
Counts(entry, n, head) ==
    /\ ~entry.withdrawn
    /\ head.pods[entry.pod] # "bound"
    /\ head.pods[entry.pod] # "gone"
    /\ n \notin head.over \/ head.pods[entry.pod] = "unseen"
    /\ Mistake("ended-by-age") => Open(n)

(* The pods that a call judges its own with. *)
Present(read, head, pod) ==
    {p \in Pods \ {pod} : head.pods[p] = "bound"}
        \union ({read[n].pod : n \in {m \in DOMAIN read : Counts(read[m], m, head)}} \ {pod})

Allowed(read, head, pod) == Cardinality(Present(read, head, pod)) < Limit

\* ---------------------------------------------------------------------------------------------------------------- bind

(* It reads the pod, and the log. The mistake: it reads the head first. *)
Start(b, p) ==
    /\ call[b].at = "idle"
    /\ api[p] = "unbound"
    /\ call' = [call EXCEPT ![b].at = "reading", ![b].pod = p,
                            ![b].read = IF Mistake("head-before-log") THEN cache ELSE log]
    /\ UNCHANGED <<api, cache, log, flight>>

(* It reads the head, and judges the pod. A pod that is rejected is tried again by another call. *)
Judge(b) ==
    LET head == IF Mistake("head-before-log") THEN call[b].read ELSE cache
        read == IF Mistake("head-before-log") THEN log ELSE call[b].read
    IN
    /\ call[b].at = "reading"
    /\ call' = [call EXCEPT ![b] = IF Allowed(read, head, call[b].pod)
                                   THEN [Idle EXCEPT !.at = "judged", !.pod = call[b].pod, !.end = End(read)]
                                   ELSE Idle]
    /\ UNCHANGED <<api, cache, log, flight>>

(* Where the position is taken, it begins again. *)
Append(b) ==
    LET next == (IF Mistake("append-unconditional") THEN End(log) ELSE call[b].end) + 1 IN
    /\ call[b].at = "judged"
    /\ next <= MaxLog
    /\ IF next \in DOMAIN log
       THEN /\ call' = [call EXCEPT ![b] = Idle]
            /\ UNCHANGED log
       ELSE /\ call' = [call EXCEPT ![b] = [Idle EXCEPT !.at = "announced", !.position = next]]
            /\ log' = [n \in DOMAIN log \union {next} |->
                        IF n = next THEN [pod |-> call[b].pod, withdrawn |-> FALSE] ELSE log[n]]
    /\ UNCHANGED <<api, cache, flight>>

Send(b) ==
    /\ call[b].at = "announced"
    /\ call' = [call EXCEPT ![b].at = "sent"]
    /\ flight' = flight \union {call[b].position}
    /\ UNCHANGED <<api, cache, log>>

(* The mistake: a bind that judges, sends its Binding, and announces the pod afterwards. *)
SendFirst(b) ==
    /\ Mistake("bound-before-announced")
    /\ call[b].at = "judged"
    /\ api[call[b].pod] = "unbound"
    /\ api' = [api EXCEPT ![call[b].pod] = "bound"]
    /\ UNCHANGED <<cache, log, flight, call>>

Withdrawn(n) == IF n \in DOMAIN log THEN [log EXCEPT ![n].withdrawn = TRUE] ELSE log

(* The Binding is at the API server. Its caller may have given up, or gets the answer. *)
Arrive(n, answered) ==
    LET pod == log[n].pod
        waiting == {b \in Binds : call[b].at = "sent" /\ call[b].position = n}
    IN
    /\ n \in flight
    /\ answered => waiting # {}
    /\ flight' = flight \ {n}
    /\ api' = IF api[pod] = "unbound" THEN [api EXCEPT ![pod] = "bound"] ELSE api
    /\ call' = IF answered THEN [b \in Binds |-> IF b \in waiting THEN Idle ELSE call[b]] ELSE call
    /\ log' = IF answered /\ (api[pod] # "unbound" \/ Mistake("ended-when-answered")) THEN Withdrawn(n) ELSE log
    /\ UNCHANGED cache

(* It ends without an answer, or dies: before its announcement that is as if it had not begun. Only an announcement of
   which no Binding was sent is withdrawn. *)
GiveUp(b) ==
    /\ call[b].at \in {"announced", "sent"}
    /\ call' = [call EXCEPT ![b] = Idle]
    /\ \/ UNCHANGED log
       \/ call[b].at = "announced" /\ log' = Withdrawn(call[b].position)
       \/ call[b].at = "sent" /\ Mistake("withdrawn-unanswered") /\ log' = Withdrawn(call[b].position)
    /\ UNCHANGED <<api, cache, flight>>

(* How far a call has read the log; all of it, if it will still read it. *)
Read(b) ==
    CASE call[b].at = "judged" -> call[b].end
      [] call[b].at = "reading" /\ ~Mistake("head-before-log") -> End(call[b].read)
      [] OTHER -> MaxLog

(* Old announcements are deleted, not those of a bind that can still be judged without them, and never the last one. *)
Trim(n) ==
    /\ n \in DOMAIN log
    /\ ~Counts(log[n], n, cache)
    /\ ~Open(n)
    /\ n # End(log) \/ Mistake("last-deleted")
    /\ Mistake("deleted-at-once") \/ \A b \in Binds : n <= Read(b)
    /\ log' = [m \in DOMAIN log \ {n} |-> log[m]]
    /\ UNCHANGED <<api, cache, flight, call>>

\* ----------------------------------------------------------------------------------------------------------- the world

Publish ==
    LET over == {n \in DOMAIN log : ~Open(n) \/ Mistake("until-too-early")} IN
    /\ cache' = [pods |-> api, over |-> over]
    /\ cache' # cache
    /\ UNCHANGED <<api, log, flight, call>>

Delete(p) ==
    /\ api[p] # "gone"
    /\ api' = [api EXCEPT ![p] = "gone"]
    /\ UNCHANGED <<cache, log, flight, call>>

Next ==
    \/ \E b \in Binds :
        \/ \E p \in Pods : Start(b, p)
        \/ Judge(b) \/ Append(b) \/ Send(b) \/ SendFirst(b) \/ GiveUp(b)
    \/ \E n \in DOMAIN log : Trim(n) \/ \E answered \in BOOLEAN : Arrive(n, answered)
    \/ Publish
    \/ \E p \in Pods : Delete(p)

Spec == Init /\ [][Next]_vars

Symmetry == Permutations(Binds) \union Permutations(Pods)

\* ---------------------------------------------------------------------------------------------------------- properties

(* No interleaving breaks the rule. *)
RuleHolds == Cardinality({p \in Pods : api[p] = "bound"}) <= Limit

(* What a reader counts covers what is there: a pod on the node is in the cache or in the log. *)
NothingMissed ==
    \A p \in Pods : api[p] = "bound" => \/ cache.pods[p] = "bound"
                                        \/ \E n \in DOMAIN log : log[n].pod = p /\ Counts(log[n], n, cache)

(* When no bind is under way and the cache is up to date, no announcement stands for a pod that is not there. *)
NothingRemains ==
    (/\ \A b \in Binds : call[b].at = "idle"
     /\ flight = {}
     /\ cache.pods = api
     /\ DOMAIN log \subseteq cache.over)
    => \A n \in DOMAIN log : ~Counts(log[n], n, cache)

(* No mistake: a state where a Binding is on its way whose caller has given up, and another pod will be rejected for it. *)
NothingHappens ==
    ~\E b \in Binds : /\ call[b].at = "reading"
                      /\ ~Allowed(call[b].read, cache, call[b].pod)
                      /\ flight # {}
                      /\ \A c \in Binds : call[c].at # "sent"

====
