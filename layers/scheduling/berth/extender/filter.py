"""filter and filter_onlyone: return the feasible nodes of a pod, and the reasons of the rejected nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from berth.extender.arguments import LastAttempt, Passthrough, RequestNodes, read_candidates, read_pod_version
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import WAITING, Failure, FilterOutcome, deadline_passed
from berth.extender.ports import REREAD_SECONDS, REREADS, NodeCache, OpenGangs, no_open_gangs
from berth.extender.reply import Decision, Reply, UnjudgedCall, error_reply, reasons, reply
from berth.scheduling.evaluation.time_limit import DeadlineExceeded
from berth.scheduling.feasibility import Feasibility
from berth.scheduling.gangs.gang import NO_OPEN_GANGS, OpenGang
from berth.scheduling.objects import Pod
from berth.scheduling.policy import Policy
from berth.scheduling.preemption.priority import may_preempt
from berth.scheduling.snapshot.node_list import UNKNOWN
from berth.scheduling.snapshot.snapshot import Snapshot

MAX_ABSENT_NAMES = 1000


class Rereads:
    """Rereads the cache for changes that the scheduler may know and the cache lacks. Thread-safe."""

    def __init__(self, sleep: Callable[[float], None]) -> None:
        self._sleep = sleep
        self._absent = set[str]()

    def for_nodes(self, candidates: RequestNodes, read: Callable[[], RequestNodes | None]) -> RequestNodes:
        """Wait until the cache has more of the request's nodes, and return the new candidates. If none appears in time,
        return the same ones. read: returns the candidates with the current cache; None if it cannot be read.

        The scheduler retries its pending pods as soon as a node joins, pods of high priority first. Without the wait,
        the first pods are rejected, and pods that are tried a moment later are placed on the new node. Later calls do
        not wait for a node that stays absent.
        """
        unknown = _unknown(candidates)
        if unknown <= self._absent:
            return candidates
        for found in self._again(read):
            if found is None:
                return candidates
            if _unknown(found) < unknown:
                return found
        self._absent = unknown if len(self._absent) > MAX_ABSENT_NAMES else self._absent | unknown
        return candidates

    def for_victims(
        self,
        candidates: RequestNodes,
        found: Feasibility,
        read: Callable[[], RequestNodes | None],
        decided: Callable[[RequestNodes], Feasibility],
    ) -> tuple[RequestNodes, Feasibility]:
        """Wait until the cache lacks the victims on the nominated node. Return the last candidates and their decision.

        If the last victim has ended for the scheduler, a rejection ends the nomination (fact 15a), pods of lower
        priority take the room, and the pod evicts them. While a victim still runs, the rejection does no harm.
        """
        for later in self._again(read):
            if later is None:
                break
            if later.snapshot is not candidates.snapshot:
                candidates, found = later, decided(later)
            if found.feasible:
                break
        return candidates, found

    def _again(self, read: Callable[[], RequestNodes | None]) -> Iterator[RequestNodes | None]:
        for _ in range(REREADS):
            self._sleep(REREAD_SECONDS)
            yield read()


def _unknown(candidates: RequestNodes) -> set[str]:
    refs = candidates.names
    if refs.all_known:
        return set()
    return {name for name, position in zip(refs.names, refs.positions, strict=True) if position == UNKNOWN}


def failed(failure: Failure) -> Reply:
    """Return an answer without nodes, whose Error becomes the pod's event."""
    return error_reply(_result(names=[], items=None, unresolvable={}, error=failure.reason), failure)


def answer_filter(
    body: str | bytes,
    cache: NodeCache,
    deadline: Deadline = NO_DEADLINE,
    open_gangs: OpenGangs = no_open_gangs,
    rereads: Rereads | None = None,
    only_best: bool = False,
) -> Reply:
    """Return all feasible names, and a reason for every other name (fact 16). rereads: None if calls never wait
    for the cache. only_best: return only the best name."""
    candidates = read_candidates(body, cache, deadline)
    if isinstance(candidates, Failure):
        return failed(candidates)
    if isinstance(candidates, Passthrough):
        return _passed(candidates)
    pod_name = f"{candidates.pod.namespace}/{candidates.pod.name}"
    decide = Policy.best if only_best else Policy.feasibility
    opened = open_gangs(deadline) if candidates.policy.plans(candidates.pod) else NO_OPEN_GANGS
    try:
        decided = partial(_decided, decide, deadline=deadline, open_gangs=opened)
        decision = decided(candidates)
        if not decision.feasible and rereads is not None:
            read = partial(_read_again, body, cache, deadline)
            if not candidates.names.all_known:
                later = rereads.for_nodes(candidates, read)
                if later is not candidates:
                    candidates, decision = later, decided(later)
            elif candidates.pod.nominated_node in decision.failed:
                candidates, decision = rereads.for_victims(candidates, decision, read, decided)
    except DeadlineExceeded as error:
        return failed(deadline_passed(pod_name, str(error)))
    waits = _waits(body, candidates, decision)
    answer = reply(
        _result([], None, {}, error=WAITING) if waits else _encode(candidates, decision),
        FilterOutcome.WAITING if waits else _outcome(decision),
        pod=pod_name,
        detail=f"{len(decision.feasible)} of {len(candidates.names)} nodes feasible",
        decision=Decision(
            candidates.pod,
            candidates.names,
            candidates.policy,
            candidates.snapshot,
            candidates.state,
            decision.verdicts,
            chosen=decision.chosen,
            open_gangs=opened,
            totals=decision.totals,
        ),
    )
    return answer if decision.feasible else answer._replace(reason_code=decision.main_reason_code or "")


answer_filter_onlyone = partial(answer_filter, only_best=True)
"""Return only the best feasible name, so that the scheduler cannot choose another node (fact 46)."""


Decide = Callable[[Policy, Pod, Sequence[str], Snapshot, float, Sequence[OpenGang]], Feasibility]


def _decided(
    decide: Decide, candidates: RequestNodes, *, deadline: Deadline, open_gangs: Sequence[OpenGang]
) -> Feasibility:
    left = deadline.decision_seconds()
    return decide(candidates.policy, candidates.pod, candidates.names, candidates.snapshot, left, open_gangs)


def _read_again(body: str | bytes, cache: NodeCache, deadline: Deadline) -> RequestNodes | None:
    found = read_candidates(body, cache, deadline) if deadline.decision_seconds() else None
    return found if isinstance(found, RequestNodes) else None


def _waits(body: str | bytes, candidates: RequestNodes, found: Feasibility) -> bool:
    """Return whether the rejection has to wait: it would lead to evictions, and the cache may be behind.

    The scheduler preempts if all nodes are rejected. It may know of a node that has just joined, or of a pod that has
    just ended. After an Error it does not preempt, and tries again after a second (facts 14 and 42). That attempt
    waits, too, unless the cache contains every listed node and the pod's status after the Error, and so all earlier
    changes of pods. An Error clears the nomination, so a nominated pod does not wait; see `Policy.resolvable`.
    """
    pod, seen = candidates.pod, candidates.coverage
    if found.feasible or found.exempt or pod.nominated_node or seen.covers("0") is None:
        return False
    if candidates.policy.plans(pod) or not may_preempt(pod, candidates.snapshot):
        return False
    if not candidates.names.all_known:
        return True
    known = read_pod_version(body)
    if known.last_attempt is LastAttempt.ERROR:
        return not seen.covers(known.resource_version)
    return known.last_attempt is LastAttempt.NONE


def _passed(passthrough: Passthrough) -> Reply:
    return reply(
        _result(list(passthrough.names), None, {}),
        FilterOutcome.EXEMPT if passthrough.exempt else FilterOutcome.PASSED,
        pod=f"{passthrough.pod.namespace}/{passthrough.pod.name}",
        detail=passthrough.reason,
        decision=UnjudgedCall(passthrough.pod, len(passthrough.names)),
    )


def _outcome(decision: Feasibility) -> FilterOutcome:
    if decision.exempt:
        return FilterOutcome.EXEMPT
    if decision.too_costly:
        return FilterOutcome.TOO_COSTLY
    return FilterOutcome.FEASIBLE if decision.feasible else FilterOutcome.NONE_FEASIBLE


def _encode(candidates: RequestNodes, decision: Feasibility) -> dict[str, object]:
    failed = {name: status.message for name, status in decision.failed.items()}
    unresolvable = reasons(decision.unresolvable)
    if candidates.items is None:
        return _result(decision.feasible, None, unresolvable, failed)
    return _result(None, [candidates.items[name] for name in decision.feasible], unresolvable, failed)


def _result(
    names: list[str] | None,
    items: list[object] | None,
    unresolvable: object,
    failed: dict[str, str] | None = None,
    error: str = "",
) -> dict[str, object]:
    """Return an ExtenderFilterResult. Every rejected node is in one of two maps, with a reason (facts 15 and 16)."""
    return {
        "Nodes": None if items is None else {"metadata": {}, "items": items},
        "NodeNames": names,
        "FailedNodes": failed or {},
        "FailedAndUnresolvableNodes": unresolvable,
        "Error": error,
    }
