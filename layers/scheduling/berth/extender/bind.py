"""bind: create the pod's Binding. If needed, judge the pod once more and reserve what it requests.

Plain bind: POST the Binding. When the API server does not answer, or answers with a conflict, GET the pod: it shows
whether the Binding was created. If the pod is still unbound after a lost answer, POST once more.

Where the configuration limits bind to some schedulers, the plain bind begins with a GET of the pod, too.

Prepared bind: where a rule of the configuration depends on other pods, or the pod requests counted resources. GET the
pod (the request has no spec); announce it under the rules; GET the Lease of the ledger and reserve; POST the Binding
with the pod's resourceVersion as precondition. After a lost answer or a conflict, begin again with the GET.

Guarantees:
- Under rules that depend on other pods, a pod is bound only after its announcement. It was judged with all pods that
  were announced before it.
- An empty `Error` means that the pod with this UID is bound to this node.
- A counted pod is bound only while the node's ledger has an entry that covers its request, and only if this store
  held the Lease of the ledger after the pod was read.
- A pod that `bind` of the configuration does not cover is never bound.
- The call ends before its deadline. A repeated call for the same pod and node has the same effect as one call.

Not guaranteed: after UNANSWERED the Binding may still be created. The reservation then stays in the ledger. The
watcher confirms it when the pod is published on the node, or releases it when no Binding can succeed any more.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult, Failure, bad_request
from berth.extender.ports import (
    Announced,
    Announcements,
    Assignment,
    Binding,
    CountingRight,
    Created,
    FoundPod,
    PodBinder,
    Refused,
    Reservation,
    Reservations,
    Unanswered,
)
from berth.extender.reply import Reply, error_reply, reply
from berth.extender.wire import decode_object
from berth.scheduling.configuration.bind import BindConfiguration
from berth.scheduling.fields.reading import Unreadable
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects import read_pod

ATTEMPTS = 2
PREPARED_ATTEMPTS = 3
"""A prepared Binding also fails when the pod changes between GET and POST, so it has one attempt more."""

NOT_FOUND = 404
CONFLICT = 409

DEADLINE_PASSED = "the deadline was over before the API server was asked"
REASON_NAMESPACE = "bind.namespaces of Berth's configuration does not list the pod's namespace"
REASON_SCHEDULER = "bind.schedulerNames of Berth's configuration does not list the pod's scheduler"

# After these answers to a Binding, the pod has to be read: it may be bound, or may be bound again.
_OPEN = {BindOutcome.UNANSWERED, BindOutcome.CONTENDED}
# The pod is on its node.
_BOUND = {BindOutcome.BOUND, BindOutcome.ALREADY_BOUND}
# After these, no Binding of the pod to this node can succeed any more.
_NEVER_BOUND = {BindOutcome.POD_GONE, BindOutcome.BOUND_ELSEWHERE}


@dataclass(frozen=True, slots=True)
class CountedResources:
    """Which resources are counted, the ledger that counts them, and whether it may.

    right: None where no other ledger can count, as for a dump.
    """

    counting: Counting
    reservations: Reservations
    right: CountingRight | None = None


EVERY_POD = BindConfiguration()


@dataclass(frozen=True, slots=True)
class BindRules:
    """Of the configuration in force. counted: None counts nothing. limits: which pods may be bound. announcements: None
    where no rule depends on other pods."""

    counted: CountedResources | None = None
    limits: BindConfiguration = EVERY_POD
    announcements: Announcements | None = None


NO_RULES = BindRules()


def answer_bind(body: str | bytes, binder: PodBinder, deadline: Deadline, rules: BindRules = NO_RULES) -> Reply:
    """ExtenderBindingResult: an empty Error means that the pod is on the node."""
    binding = _read_binding(body)
    if isinstance(binding, Failure):
        return failed(binding)
    result = bind(binding, binder, deadline, rules)
    return reply(
        {"Error": result.reason},
        result.outcome,
        pod=f"{binding.namespace}/{binding.pod_name}",
        detail=result.reason or f"on {binding.node}",
    )


def failed(failure: Failure) -> Reply:
    """The Error becomes the pod's event."""
    return error_reply({"Error": failure.reason}, failure)


def bind(
    binding: Binding,
    binder: PodBinder,
    deadline: Deadline,
    rules: BindRules = NO_RULES,
) -> BindResult:
    """Bind the pod; the reason of a failure is the API server's own text where it gave one."""
    limits = rules.limits
    # A Binding names the namespace of its pod, so there is nothing to read.
    if not limits.covers_namespace(binding.namespace):
        return BindResult(BindOutcome.NOT_COVERED, REASON_NAMESPACE)
    pods = _UnboundPods(binding, binder, deadline, limits)
    result = None
    if rules.counted is not None or rules.announcements is not None:
        result = _PreparedBind(binding, binder, deadline, rules, pods).run()
    elif limits.scheduler_names is not None:
        result = pods.refusal()
    return result or _plain_bind(binding, binder, deadline)


class _UnboundPods:
    """The pod of one call at the API server."""

    def __init__(self, binding: Binding, binder: PodBinder, deadline: Deadline, limits: BindConfiguration) -> None:
        self._binding = binding
        self._binder = binder
        self._deadline = deadline
        self._limits = limits

    def read(self) -> FoundPod | BindResult:
        """The pod while it can still be bound; otherwise how the bind ended."""
        binding = self._binding
        # Half of the time left: what follows needs the other half.
        found = self._binder.pod(binding.namespace, binding.pod_name, self._deadline.remaining() / 2)
        if not isinstance(found, FoundPod):
            result = _result_of_assignment(binding, found)
            assert result is not None
            return result
        # Before the rest: for a pod that is not covered, a caller does not learn where it is.
        if found.assignment.pod_uid == binding.pod_uid and not self._limits.covers_scheduler(_scheduler_of(found)):
            return BindResult(BindOutcome.NOT_COVERED, REASON_SCHEDULER)
        return _result_of_assignment(binding, found.assignment) or found

    def refusal(self) -> BindResult | None:
        """One read. None: the pod can be bound. Its scheduler never changes, and the Binding has its UID."""
        if not self._deadline.remaining():
            return _unanswered(DEADLINE_PASSED)
        found = self.read()
        return found if isinstance(found, BindResult) else None


def _scheduler_of(found: FoundPod) -> str:
    spec = found.content.get("spec")
    return str(spec.get("schedulerName") or "") if isinstance(spec, dict) else ""


# ----------------------------------------------------------------------------------------------------------- plain bind


def _plain_bind(binding: Binding, binder: PodBinder, deadline: Deadline) -> BindResult:
    cause = DEADLINE_PASSED
    for _ in range(ATTEMPTS):
        if not deadline.remaining():
            break
        # Half of the time left: after a lost answer the pod has to be read.
        answer = binder.create_binding(binding, deadline.remaining() / 2)
        result = _result_of_binding(answer)
        if result.outcome not in _OPEN:
            return result
        cause = answer.cause if isinstance(answer, Unanswered) else result.reason
        if not deadline.remaining():
            break
        found = binder.assignment(binding.namespace, binding.pod_name, deadline.remaining())
        final = _result_of_assignment(binding, found)
        if final is not None:
            return final
        if result.outcome is BindOutcome.CONTENDED:
            # The pod is not bound, so the conflict is not about a Binding. The API server names it.
            return BindResult(BindOutcome.REFUSED, result.reason)
    return _unanswered(cause)


# -------------------------------------------------------------------------------------------------------- prepared bind


class _PreparedBind:
    """One call that announces, reserves, or both."""

    def __init__(
        self, binding: Binding, binder: PodBinder, deadline: Deadline, rules: BindRules, pods: _UnboundPods
    ) -> None:
        self._pods = pods
        self._binding = binding
        self._binder = binder
        self._deadline = deadline
        self._counted = rules.counted
        self._announcements = rules.announcements
        self._announced: Announced | None = None
        self._is_open = False
        """Whether a Binding of this announcement may still take effect."""

    def run(self) -> BindResult | None:
        """None: there is nothing to announce or to reserve."""
        result = self._attempts()
        if result is not None and result.outcome not in _BOUND and not self._is_open:
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
            demands = self._demands(pod)
            if isinstance(demands, Unreadable):
                return BindResult(BindOutcome.UNREADABLE, demands.cause)
            if not demands and self._announcements is None:
                return None
            rejection = self._announce(pod)
            if rejection is not None:
                return rejection
            reservation = self._reserve(demands) if demands else None
            if isinstance(reservation, BindResult):
                return reservation
            if not self._deadline.remaining():
                return BindResult(BindOutcome.UNANSWERED, DEADLINE_PASSED)
            result = self._create_binding(pod, reservation)
            if result.outcome not in _OPEN:
                return result
        # The last Binding may have been created, too.
        last = self._read_unbound_pod() if self._deadline.remaining() else result
        return last if isinstance(last, BindResult) else result

    def _read_unbound_pod(self) -> FoundPod | BindResult:
        """The pod while it can still be bound; otherwise how the bind ended. Releases a reservation without use."""
        found = self._pods.read()
        if isinstance(found, FoundPod):
            if not found.is_deleting:
                return found
            self._release_pod()
            # The API server refuses its Binding with these words.
            reason = f"pod {self._binding.pod_name} is being deleted, cannot be assigned to a host"
            return BindResult(BindOutcome.REFUSED, reason)
        if found.outcome in _NEVER_BOUND:
            self._is_open = False
            self._release_pod()
        return found

    def _announce(self, pod: FoundPod) -> BindResult | None:
        """None: the Binding may follow. An announcement holds for one version of the pod."""
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

    def _demands(self, pod: FoundPod) -> tuple[Demand, ...] | Unreadable:
        if self._counted is None:
            return ()
        read = read_pod(pod.content)
        return read if isinstance(read, Unreadable) else self._counted.counting.demands(read)

    def _reserve(self, demands: tuple[Demand, ...]) -> Reservation | BindResult:
        counted = self._counted
        assert counted is not None  # it has the demands
        # After the pod was read: a store that takes over later changes the pod's resourceVersion first.
        refusal = None if counted.right is None else counted.right.refusal(self._deadline.remaining() / 2)
        if refusal is not None:
            return refusal
        return counted.reservations.reserve(self._binding, demands, counted.counting, self._deadline.remaining)

    def _create_binding(self, pod: FoundPod, reservation: Reservation | None) -> BindResult:
        binding = replace(self._binding, resource_version=pod.resource_version)
        if reservation is not None:
            binding = replace(binding, annotations=reservation.annotations)
        result = _result_of_binding(self._binder.create_binding(binding, self._deadline.remaining() / 2))
        if result.outcome is BindOutcome.BOUND and reservation is not None and reservation.has_surplus:
            # Now, and by bind: later nothing but the pod's annotations says which devices it has, and its owner can
            # change them.
            assert self._counted is not None
            self._counted.reservations.release_surplus(reservation, self._deadline.remaining)
        elif result.outcome is BindOutcome.UNANSWERED:
            self._is_open = True
        elif result.outcome is BindOutcome.POD_GONE:
            self._is_open = False
            self._release_pod()
        elif result.outcome is BindOutcome.REFUSED and reservation is not None and reservation.is_first_attempt:
            # After a takeover, the Binding of the earlier attempt may still arrive.
            assert self._counted is not None
            self._counted.reservations.release(reservation, self._deadline.remaining)
        return result

    def _release_pod(self) -> None:
        if self._counted is not None:
            self._counted.reservations.release_pod(self._binding, self._deadline.remaining)


# ---------------------------------------------------------------------------------------- the API server's answers


def _result_of_binding(answer: Created | Refused | Unanswered) -> BindResult:
    """CONTENDED and UNANSWERED are not final: the pod shows whether it is bound."""
    match answer:
        case Created():
            return BindResult(BindOutcome.BOUND)
        case Refused(status=status, message=message) if status == CONFLICT:
            return BindResult(BindOutcome.CONTENDED, message)
        case Refused() as refused:
            return _refused(refused)
        case Unanswered(cause=cause):
            return _unanswered(cause)


def _result_of_assignment(binding: Binding, found: Assignment | Refused | Unanswered) -> BindResult | None:
    """How the bind ended by the pod that was read; None while the pod is unbound and can be bound."""
    match found:
        case Assignment(pod_uid=uid) if uid != binding.pod_uid:
            reason = f'pod "{binding.pod_name}" was replaced by another of that name'
            return BindResult(BindOutcome.POD_GONE, reason)
        case Assignment(node=node) if node == binding.node:
            return BindResult(BindOutcome.ALREADY_BOUND)
        case Assignment(node=""):
            return None
        case Assignment(node=node):
            reason = f'pod "{binding.pod_name}" is already assigned to node "{node}"'
            return BindResult(BindOutcome.BOUND_ELSEWHERE, reason)
        case Refused() as refused:
            return _refused(refused)
        case Unanswered(cause=cause):
            return _unanswered(cause)


def _refused(answer: Refused) -> BindResult:
    outcome = BindOutcome.POD_GONE if answer.status == NOT_FOUND else BindOutcome.REFUSED
    return BindResult(outcome, answer.message)


def _unanswered(cause: str) -> BindResult:
    return BindResult(BindOutcome.UNANSWERED, f"the API server did not confirm the binding: {cause}")


# ---------------------------------------------------------------------------------------------------------- the request

# RFC 1123 subdomains. The names become part of a URL, so no other character is let through.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)
_UID = re.compile(r"[-A-Za-z0-9_.:]{1,128}", re.ASCII)


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
