"""The prepared bind: announce the pod, reserve its share of the ledger, and wait for its gang, as needed. Then bind the
version of the pod that was read.

Each attempt begins with a GET of the pod. A member of a gang is announced when its gang is open: while the member waits
for another gang, it must not exclude that gang's pods.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from berth.bind.rules import BindRules
from berth.bind.share import NO_REQUEST, Request, Reservation
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.announcements import Announcement
from berth.pods import Binding, Created, FoundPod, PodBinder, Refused, Unanswered
from berth.scheduling.fields.reading import UnreadableObject
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import read_pod

if TYPE_CHECKING:
    from berth.bind.gang.member import GangOfPod, GangPlace

NOT_FOUND = 404
CONFLICT = 409

DEADLINE_PASSED = "the deadline was over before the API server was asked"

# After these answers to a Binding, read the pod: it may be bound, or another Binding may succeed.
UNSETTLED = {BindOutcome.UNANSWERED, BindOutcome.CONTENDED}
# The pod is on its node.
BOUND = {BindOutcome.BOUND, BindOutcome.ALREADY_BOUND}
# After these outcomes, Bindings of the pod to this node can no longer succeed.
NEVER_BOUND = {BindOutcome.POD_GONE, BindOutcome.BOUND_ELSEWHERE}
# A member with one of these outcomes stays missing from its committed gang.
FAILED_FOR_GOOD = {BindOutcome.POD_GONE, BindOutcome.REFUSED}


def result_of_binding(answer: Created | Refused | Unanswered) -> BindResult:
    """Return the result of the Binding. CONTENDED and UNANSWERED are not final: read the pod to see if it is bound."""
    match answer:
        case Created():
            return BindResult(BindOutcome.BOUND)
        case Refused(status=status, message=message) if status == CONFLICT:
            return BindResult(BindOutcome.CONTENDED, message)
        case _:
            return _failure(answer)


def result_of_assignment(binding: Binding, found: FoundPod | Refused | Unanswered) -> BindResult | None:
    """Return the result of the bind, as the pod shows it; None if the pod is unbound and can be bound."""
    match found:
        case FoundPod(uid=uid) if uid != binding.pod_uid:
            reason = f'pod "{binding.pod_name}" was replaced by another of that name'
            return BindResult(BindOutcome.POD_GONE, reason)
        case FoundPod(node=node) if node == binding.node:
            return BindResult(BindOutcome.ALREADY_BOUND)
        case FoundPod(node=""):
            return None
        case FoundPod(node=node):
            reason = f'pod "{binding.pod_name}" is already assigned to node "{node}"'
            return BindResult(BindOutcome.BOUND_ELSEWHERE, reason)
        case _:
            return _failure(found)


def _failure(answer: Refused | Unanswered) -> BindResult:
    if isinstance(answer, Unanswered):
        return unanswered(answer.cause)
    outcome = BindOutcome.POD_GONE if answer.status == NOT_FOUND else BindOutcome.REFUSED
    return BindResult(outcome, answer.message)


def unanswered(cause: str) -> BindResult:
    return BindResult(BindOutcome.UNANSWERED, f"the API server did not confirm the binding: {cause}")


PREPARED_ATTEMPTS = 3
"""Number of attempts, one more than for a plain bind: the Binding also fails if the pod changes after the GET."""

REASON_SCHEDULER = (
    "Berth does not bind pods of this schedulerName; if its scheduler calls Berth, add it to the stack's parameter "
    "SchedulerNames, or give berth serve --scheduler-name"
)


NOTHING_COUNTED = Counting()


@dataclass(frozen=True, slots=True)
class _Needs:
    """The pod's request of counted resources, and the gang whose commit the pod waits for."""

    request: Request = NO_REQUEST
    gang: GangOfPod | None = None


_NOTHING = _Needs()


class PreparedBind:
    """Announces the pod, reserves its resources and waits for its gang, each if needed, in one call."""

    def __init__(self, binding: Binding, binder: PodBinder, deadline: Deadline, rules: BindRules) -> None:
        self._binding = binding
        self._binder = binder
        self._deadline = deadline
        self._schedulers = rules.schedulers
        self._counted = rules.counted
        self._announcements = rules.announcements
        self._gangs = rules.gangs
        self._owners: set[str] = set()
        """The owners in whose ledgers the pod may have an entry: the node, and floating pools. If floating pools exist,
        the set is empty until the pod's request is read; if the call ends before that, earlier entries expire."""
        if self._counted is not None and not self._counted.counting.floating.exist:
            self._owners.add(binding.node)
        self._is_placed = False
        """Whether the commit of the gang includes this call."""
        self._announced: Announcement | None = None
        self._is_open = False
        """Whether a Binding that was sent after the announcement may still take effect."""

    def refusal(self) -> BindResult | None:
        """Read the pod once and return None if it can be bound. One read suffices: the pod's scheduler never changes,
        and the Binding has its UID."""
        if not self._deadline.remaining():
            return unanswered(DEADLINE_PASSED)
        found = self._read_pod()
        return found if isinstance(found, BindResult) else None

    def run(self) -> BindResult | None:
        """Bind the pod, or return None if the pod does not need an announcement, a reservation or a gang."""
        if self._announcements is not None:
            self._announcements.begin(self._binding)
        result = self._attempts()
        if result is not None and self._is_placed and result.outcome in FAILED_FOR_GOOD:
            result = BindResult(BindOutcome.GANG_DEGRADED, result.reason)
        if result is not None and result.outcome not in BOUND and not self._is_open:
            self._withdraw()
        return result

    def _attempts(self) -> BindResult | None:
        result = BindResult(BindOutcome.UNANSWERED, DEADLINE_PASSED)
        for _ in range(PREPARED_ATTEMPTS):
            if not self._deadline.remaining():
                return result
            pod = self._read_unbound_pod()
            if isinstance(pod, BindResult):
                return pod
            needs = self._needs(pod)
            if not isinstance(needs, _Needs):
                return needs
            reservation = self._share(pod, needs)
            if isinstance(reservation, BindResult):
                return reservation
            if not self._deadline.remaining():
                return BindResult(BindOutcome.UNANSWERED, DEADLINE_PASSED)
            result = self._create_binding(pod, reservation)
            if result.outcome not in UNSETTLED:
                return result
        # The API server may also have created the last Binding, so read the pod.
        last = self._read_unbound_pod() if self._deadline.remaining() else result
        return last if isinstance(last, BindResult) else result

    def _read_pod(self) -> FoundPod | BindResult:
        """Return the pod if it can still be bound, otherwise the result of the bind."""
        binding = self._binding
        # Use half of the time left: the next steps need the other half.
        found = self._binder.pod(binding.namespace, binding.pod_name, self._deadline.remaining() / 2)
        if isinstance(found, FoundPod):
            # Check this first: a caller must not learn the node of a pod that is not covered.
            if found.uid == binding.pod_uid and found.scheduler not in self._schedulers:
                return BindResult(BindOutcome.NOT_COVERED, REASON_SCHEDULER)
            return result_of_assignment(binding, found) or found
        return _failure(found)

    def _read_unbound_pod(self) -> FoundPod | BindResult:
        """Return the pod if it can still be bound. Otherwise return the result, and release an obsolete reservation."""
        found = self._read_pod()
        if isinstance(found, FoundPod):
            if not found.deleting:
                return found
            self._release_pod()
            # The message with which the API server would reject the Binding.
            reason = f"pod {self._binding.pod_name} is being deleted, cannot be assigned to a host"
            return BindResult(BindOutcome.REFUSED, reason)
        if found.outcome in NEVER_BOUND:
            self._is_open = False
            self._release_pod(is_elsewhere=found.outcome is BindOutcome.BOUND_ELSEWHERE)
        return found

    def _announce(self, pod: FoundPod) -> BindResult | None:
        """Announce the pod. None: the Binding may follow. An announcement is valid for one version of the pod."""
        if self._announcements is None:
            return None
        announced = self._announced
        if announced is not None and announced.resource_version == pod.resource_version:
            return None
        # The pod has changed, so no Binding of its earlier version can take effect.
        self._withdraw()
        self._is_open = False
        found = self._announcements.announce(self._binding, pod, self._deadline)
        if isinstance(found, BindResult):
            return found
        self._announced = found
        return None

    def _withdraw(self) -> None:
        if self._announcements is not None and self._announced is not None:
            self._announcements.withdraw(self._announced)
            self._announced = None

    def _withdraw_in_queue(self) -> None:
        if not self._is_open:
            self._withdraw()

    def _needs(self, pod: FoundPod) -> _Needs | BindResult | None:
        """Return the pod's needs, or None if it does not need an announcement, a reservation or a gang."""
        if self._counted is None and self._gangs is None:
            return _NOTHING
        read = read_pod(pod.content)
        if isinstance(read, UnreadableObject):
            return BindResult(BindOutcome.UNREADABLE, read.cause)
        counted, node = self._counted, self._binding.node
        request = NO_REQUEST if counted is None else counted.request(read, node, self._deadline)
        if isinstance(request, BindResult):
            return request
        self._owners = {node, *request.floating}
        gang = None if self._gangs is None else self._gangs.gang_of(read, self._binding.node, self._deadline)
        if isinstance(gang, BindResult):
            return gang
        has_needs = bool(request.demands) or gang is not None or self._announcements is not None
        return _Needs(request, gang) if has_needs else None

    def _share(self, pod: FoundPod, needs: _Needs) -> Reservation | BindResult | None:
        """Announce the pod and return its share of the ledger; None if it does not need a share. Members of a gang get
        their shares together."""
        counted, request = self._counted, needs.request
        if counted is not None and counted.right is not None and request.demands:
            # Check after reading the pod: a store that takes over later first changes the pod, and this Binding fails.
            refusal = counted.right.refusal(self._deadline.remaining() / 2)
            if refusal is not None:
                return refusal
        if needs.gang is not None:
            place = self._wait_for_gang(pod, needs.gang, request)
            if isinstance(place, BindResult):
                return place
            if place is not None:
                self._is_placed = True
                return place.reservation
        rejection = self._announce(pod)
        if rejection is not None or counted is None or not request.demands:
            return rejection
        return counted.reservations.reserve(self._binding, request, counted.counting, self._deadline.remaining)

    def _wait_for_gang(self, pod: FoundPod, gang: GangOfPod, request: Request) -> GangPlace | BindResult | None:
        # Only gangs need this import: a cold start without gangs skips it.
        from berth.bind.gang.member import GangMember

        assert self._gangs is not None  # it returned the gang
        counting = NOTHING_COUNTED if self._counted is None else self._counted.counting
        member = GangMember(
            gang,
            self._binding,
            request,
            counting,
            self._binder,
            self._deadline,
            announce=partial(self._announce, pod),
            withdraw=self._withdraw_in_queue,
        )
        return self._gangs.wait(member)

    def _create_binding(self, pod: FoundPod, reservation: Reservation | None) -> BindResult:
        binding = replace(self._binding, resource_version=pod.resource_version)
        if reservation is not None:
            binding = replace(binding, annotations=reservation.annotations)
        result = result_of_binding(self._binder.create_binding(binding, self._deadline.remaining() / 2))
        if result.outcome is BindOutcome.BOUND and reservation is not None and reservation.has_surplus:
            # Reduce the entries to the devices of this Binding now: later only the pod's annotations show the devices,
            # and the pod's owner can change annotations.
            assert self._counted is not None
            self._counted.reservations.release_surplus(reservation, self._deadline.remaining)
        elif result.outcome is BindOutcome.UNANSWERED:
            self._is_open = True
        elif result.outcome is BindOutcome.POD_GONE:
            self._is_open = False
            self._release_pod()
        elif result.outcome is BindOutcome.REFUSED and reservation is not None and reservation.is_first_attempt:
            # Only a first attempt releases: the Binding of an earlier attempt may still arrive.
            assert self._counted is not None
            remaining = self._deadline.remaining
            self._counted.reservations.release(self._binding, self._owners, remaining, reservation.attempt)
        return result

    def _release_pod(self, *, is_elsewhere: bool = False) -> None:
        """Release the entries of the pod. is_elsewhere: the pod is on another node, and may need its entries of
        floating pools; the watcher confirms or releases these, and then deletes the open reservation."""
        if self._counted is not None:
            owners, node = self._owners, self._binding.node
            kept = {owner for owner in owners if owner != node} if is_elsewhere else set()
            remaining = self._deadline.remaining
            self._counted.reservations.release(self._binding, owners - kept, remaining, keeps_open=bool(kept))
