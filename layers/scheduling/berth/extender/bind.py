"""bind: create the pod's Binding, exactly once in effect; with counted resources, reserve them in the ledger first."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from berth.extender.outcomes import BindOutcome, Failure, bad_request
from berth.extender.ports import (
    Assignment,
    Binding,
    Created,
    FoundPod,
    NotHeld,
    PodBinder,
    Refused,
    Reservations,
    Unanswered,
)
from berth.extender.reply import Reply, error_reply, reply
from berth.extender.wire import decode_object
from berth.scheduling.fields.reading import Unreadable
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects import read_pod

Clock = Callable[[], float]


class Deadline:
    """When the whole bind must have ended: about a second before the scheduler's httpTimeout (fact 23)."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def remaining(self) -> float:
        """Seconds left, 0 when the time is over."""
        return max(0.0, self._end - self._clock())


NOT_FOUND = 404
CONFLICT = 409

Ending = tuple[BindOutcome, str]
"""How a bind ended and, where the pod is not on the node, why: the pod's event shows it."""


def settled_by(binding: Binding, found: Assignment | Refused | Unanswered) -> Ending | None:
    """How it ended; None when the pod is still there and unbound, so that a Binding may be sent again."""
    match found:
        case Assignment(pod_uid=uid) if uid != binding.pod_uid:
            return BindOutcome.POD_GONE, f'pod "{binding.pod_name}" was replaced by another of that name'
        case Assignment(node=node) if node == binding.node:
            return BindOutcome.ALREADY_BOUND, ""
        case Assignment(node=""):
            return None
        case Assignment(node=node):
            return BindOutcome.BOUND_ELSEWHERE, f'pod "{binding.pod_name}" is already assigned to node "{node}"'
        case Refused(status=status, message=message):
            return (BindOutcome.POD_GONE if status == NOT_FOUND else BindOutcome.REFUSED), message
        case Unanswered(cause=cause):
            return BindOutcome.UNANSWERED, f"the API server did not confirm the binding: {cause}"


COUNTED_ATTEMPTS = 3

TOO_LATE = BindOutcome.UNANSWERED, "the deadline was over before the API server was asked"
# Both leave the pod where no Binding to this node can succeed any more.
_NEVER_HERE = {BindOutcome.POD_GONE, BindOutcome.BOUND_ELSEWHERE}


@dataclass(frozen=True, slots=True)
class Counted:
    """What is counted, and where."""

    counting: Counting
    reservations: Reservations


def bind_counted(binding: Binding, binder: PodBinder, deadline: Deadline, counted: Counted) -> Ending | None:
    """None: the pod asks for nothing that is counted, and can be bound without further ado."""
    return _CountedBind(binding, binder, deadline, counted).run()


class _CountedBind:
    """One call."""

    def __init__(self, binding: Binding, binder: PodBinder, deadline: Deadline, counted: Counted) -> None:
        self._binding = binding
        self._binder = binder
        self._deadline = deadline
        self._counting = counted.counting
        self._reservations = counted.reservations

    def run(self) -> Ending | None:
        ending = TOO_LATE
        for _ in range(COUNTED_ATTEMPTS):
            if not self._deadline.remaining():
                return ending
            pod = self._look()
            if not isinstance(pod, FoundPod):
                return pod
            demands = self._demands(pod)
            if isinstance(demands, Unreadable):
                return BindOutcome.UNREADABLE, demands.cause
            if not demands:
                return None
            tried = self._attempt(pod, demands)
            if not isinstance(tried, _Open):
                return tried
            ending = tried.ending
        # The last Binding may have been taken, too.
        last = self._look() if self._deadline.remaining() else ending
        return ending if isinstance(last, FoundPod) else last

    def _look(self) -> FoundPod | Ending:
        """The pod, if it is still to be bound."""
        # Half of what is left: what follows needs its time, too.
        binding = self._binding
        found = self._binder.pod(binding.namespace, binding.pod_name, self._deadline.remaining() / 2)
        settled = settled_by(binding, found.assignment if isinstance(found, FoundPod) else found)
        if settled is None and isinstance(found, FoundPod):
            if not found.is_deleting:
                return found
            # The API server takes no Binding of it any more, and says so in these words.
            settled = BindOutcome.REFUSED, f"pod {binding.pod_name} is being deleted, cannot be assigned to a host"
            self._forget()
        elif settled is not None and settled[0] in _NEVER_HERE:
            self._forget()
        assert settled is not None
        return settled

    def _demands(self, pod: FoundPod) -> tuple[Demand, ...] | Unreadable:
        read = read_pod(pod.content)
        return read if isinstance(read, Unreadable) else self._counting.demands(read)

    def _attempt(self, pod: FoundPod, demands: tuple[Demand, ...]) -> Ending | _Open:
        held = self._reservations.hold(self._binding, demands, self._counting, self._deadline.remaining)
        if isinstance(held, NotHeld):
            return held.outcome, held.reason
        if not self._deadline.remaining():
            return TOO_LATE
        wanted = replace(self._binding, resource_version=pod.resource_version, annotations=held.annotations)
        result = self._binder.create_binding(wanted, self._deadline.remaining() / 2)
        match result:
            case Created():
                return BindOutcome.BOUND, ""
            case Unanswered(cause=cause):
                return _Open((BindOutcome.UNANSWERED, f"the API server did not confirm the binding: {cause}"))
            case Refused(status=status, message=message) if status == CONFLICT:
                return _Open((BindOutcome.CONTENDED, message))
            case Refused(status=status, message=message) if status == NOT_FOUND:
                self._forget()
                return BindOutcome.POD_GONE, message
            case Refused(message=message):
                # Of an attempt that was taken over, a Binding may still be on its way.
                if held.is_fresh:
                    self._reservations.release(held, self._deadline.remaining)
                return BindOutcome.REFUSED, message

    def _forget(self) -> None:
        self._reservations.forget(self._binding, self._deadline.remaining)


@dataclass(frozen=True, slots=True)
class _Open:
    """Whether the Binding was taken is open, or it was refused for something that has changed: the pod tells."""

    ending: Ending


# RFC 1123 subdomains: what these names may be. They become part of a URL, so nothing else gets through.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)
_UID = re.compile(r"[-A-Za-z0-9_.:]{1,128}", re.ASCII)

ATTEMPTS = 2


def answer_bind(body: str | bytes, binder: PodBinder, deadline: Deadline, counted: Counted | None = None) -> Reply:
    """ExtenderBindingResult: an empty Error means that the pod is on the node. `counted`: where anything is counted."""
    binding = _read_binding(body)
    if isinstance(binding, Failure):
        return failed(binding)
    ended = None if counted is None else bind_counted(binding, binder, deadline, counted)
    outcome, reason = ended or bind(binding, binder, deadline)
    return reply(
        {"Error": reason}, outcome, pod=f"{binding.namespace}/{binding.pod_name}", detail=reason or f"on {binding.node}"
    )


def failed(failure: Failure) -> Reply:
    """The Error becomes the pod's event."""
    return error_reply({"Error": failure.reason}, failure)


def bind(binding: Binding, binder: PodBinder, deadline: Deadline) -> tuple[BindOutcome, str]:
    """Returns how it ended and, where the pod is not on the node, the API server's own reason."""
    reason = "the deadline was over before the API server was asked"
    for _ in range(ATTEMPTS):
        if not deadline.remaining():
            break
        # Half of what is left: an unanswered Binding must leave time to read the pod.
        result = binder.create_binding(binding, deadline.remaining() / 2)
        if isinstance(result, Created):
            return BindOutcome.BOUND, ""
        if isinstance(result, Refused) and result.status != CONFLICT:
            gone = result.status == NOT_FOUND
            return (BindOutcome.POD_GONE if gone else BindOutcome.REFUSED), result.message
        reason = result.message if isinstance(result, Refused) else result.cause
        if not deadline.remaining():
            break
        settled = settled_by(binding, binder.assignment(binding.namespace, binding.pod_name, deadline.remaining()))
        if settled is not None:
            return settled
        if isinstance(result, Refused):
            return BindOutcome.REFUSED, reason
    return BindOutcome.UNANSWERED, f"the API server did not confirm the binding: {reason}"


def _read_binding(body: str | bytes) -> Binding | Failure:
    arguments = decode_object(body)
    if isinstance(arguments, Failure):
        return arguments
    fields = {}
    for key, pattern in (("PodName", _NAME), ("PodNamespace", _NAME), ("PodUID", _UID), ("Node", _NAME)):
        value = arguments.get(key.casefold())
        if not isinstance(value, str) or pattern.fullmatch(value) is None:
            return bad_request(f"the binding request has no valid {key}")
        fields[key] = value
    return Binding(fields["PodNamespace"], fields["PodName"], fields["PodUID"], fields["Node"])
