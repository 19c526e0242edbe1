"""bind: create the pod's Binding, exactly once in effect, however often it is asked for.

A Binding that went unanswered may have taken effect (fact 23). So nothing is repeated before the pod has been read
again: on the wanted node with the wanted UID is success, whoever brought it there.
"""

from __future__ import annotations

import re

from berth.extender.counted_bind import Counted, bind_counted
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, Failure, bad_request
from berth.extender.ports import Binding, Created, PodBinder, Refused
from berth.extender.reply import Reply, error_reply, reply
from berth.extender.settled import CONFLICT, NOT_FOUND, settled_by
from berth.extender.wire import decode_object

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
