"""bind of a pod that asks for counted resources: reserve first, then create the Binding.

Each attempt reads the pod, writes itself into the node's ledger, and sends a Binding that is good for the pod as it was
read: with its UID and its resourceVersion as preconditions. A reservation is given back only when no Binding can come
after it: by the attempt that made it, when its Binding was surely not taken; by anyone, when the pod is gone or
elsewhere; else by the watcher, after it has touched the pod. Where the end is open, all is left as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome
from berth.extender.ports import Binding, Created, FoundPod, NotHeld, PodBinder, Refused, Reservations, Unanswered
from berth.extender.settled import CONFLICT, NOT_FOUND, Ending, settled_by
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects import read_pod
from berth.scheduling.objects.reading import Unreadable

ATTEMPTS = 3

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
        for _ in range(ATTEMPTS):
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
