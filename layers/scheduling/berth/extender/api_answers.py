"""What the API server's answers mean for a bind."""

from __future__ import annotations

from berth.extender.outcomes import BindOutcome, BindResult
from berth.extender.ports import Assignment, Binding, Created, Refused, Unanswered

NOT_FOUND = 404
CONFLICT = 409

DEADLINE_PASSED = "the deadline was over before the API server was asked"

# After these answers to a Binding, the pod has to be read: it may be bound, or may be bound again.
OPEN = {BindOutcome.UNANSWERED, BindOutcome.CONTENDED}
# The pod is on its node.
BOUND = {BindOutcome.BOUND, BindOutcome.ALREADY_BOUND}
# After these, no Binding of the pod to this node can succeed any more.
NEVER_BOUND = {BindOutcome.POD_GONE, BindOutcome.BOUND_ELSEWHERE}
# A member with these leaves a gap in its committed gang.
FAILED_FOR_GOOD = {BindOutcome.POD_GONE, BindOutcome.REFUSED}


def result_of_binding(answer: Created | Refused | Unanswered) -> BindResult:
    """CONTENDED and UNANSWERED are not final: the pod shows whether it is bound."""
    match answer:
        case Created():
            return BindResult(BindOutcome.BOUND)
        case Refused(status=status, message=message) if status == CONFLICT:
            return BindResult(BindOutcome.CONTENDED, message)
        case Refused() as refused:
            return _refused(refused)
        case Unanswered(cause=cause):
            return unanswered(cause)


def result_of_assignment(binding: Binding, found: Assignment | Refused | Unanswered) -> BindResult | None:
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
            return unanswered(cause)


def _refused(answer: Refused) -> BindResult:
    outcome = BindOutcome.POD_GONE if answer.status == NOT_FOUND else BindOutcome.REFUSED
    return BindResult(outcome, answer.message)


def unanswered(cause: str) -> BindResult:
    return BindResult(BindOutcome.UNANSWERED, f"the API server did not confirm the binding: {cause}")
