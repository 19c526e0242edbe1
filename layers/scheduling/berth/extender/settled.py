"""What reading the pod settles of a bind (fact 23)."""

from __future__ import annotations

from berth.extender.outcomes import BindOutcome
from berth.extender.ports import Assignment, Binding, Refused, Unanswered

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
