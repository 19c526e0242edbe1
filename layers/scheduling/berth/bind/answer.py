"""bind: create the pod's Binding. If needed, evaluate the pod once more and reserve its counted resources.

Every bind begins with a GET of the pod: the request does not contain the pod's scheduler.

Plain bind: POST the Binding. If the API server does not answer, or answers with a conflict, GET the pod: it shows
whether the Binding was created. If the pod is still unbound, POST once more.

Prepared bind: for a pod that requests counted resources, and for every pod if a rule of the configuration depends on
other pods. With such a rule, record that the bind has begun. GET the pod, because the request does not contain its
spec. For counted resources, GET the Lease of the ledger. With such a rule, announce the pod. Reserve counted resources.
POST the Binding for the pod's resourceVersion. After a lost answer or a conflict, begin again with the GET.

A member of a gang waits between the GET and the Binding until its gang is committed, with its share of the ledger.

Guarantees:
- Before a gang is committed, none of its members is bound.
- Under rules that depend on other pods, a pod is bound only after its announcement. It was evaluated with all pods
  that were announced before it.
- An empty `Error` means that the pod with this UID is bound to this node.
- A pod that requests counted resources is bound only while the ledger has entries that cover its request, and only if
  this store still held the Lease of the ledger after the pod was read.
- A pod of a scheduler that the deployment does not name, or of a namespace that the configuration does not list, is
  never bound.
- The call ends before its deadline. A repeated call for the same pod and node has the same effect as one call.

Not guaranteed: after UNANSWERED the Binding may still be created. The reservation then stays in the ledger. The
watcher confirms it when the pod is published on the node, or releases it when a Binding can no longer succeed.
"""

from __future__ import annotations

import re

from berth.bind.protocol import (
    DEADLINE_PASSED,
    UNSETTLED,
    PreparedBind,
    result_of_assignment,
    result_of_binding,
    unanswered,
)
from berth.bind.rules import NO_RULES, BindRules
from berth.extender.arguments import decode_object
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult, Failure, bad_request
from berth.extender.reply import BindDecision, Reply, error_reply, reply
from berth.pods import Binding, PodBinder, Unanswered

ATTEMPTS = 2

REASON_NAMESPACE = "bind.namespaces of Berth's configuration does not list the pod's namespace"


def answer_bind(body: str | bytes, binder: PodBinder, deadline: Deadline, rules: BindRules = NO_RULES) -> Reply:
    """Return an ExtenderBindingResult: an empty Error means that the pod is on the node."""
    binding = read_binding(body)
    if isinstance(binding, Failure):
        return failed(binding)
    result = bind(binding, binder, deadline, rules)
    return reply(
        {"Error": result.reason},
        result.outcome,
        pod=f"{binding.namespace}/{binding.pod_name}",
        detail=result.reason or f"on {binding.node}",
        decision=BindDecision(binding, result.reason, rules.state),
    )


def failed(failure: Failure) -> Reply:
    return error_reply({"Error": failure.reason}, failure)


def bind(
    binding: Binding,
    binder: PodBinder,
    deadline: Deadline,
    rules: BindRules = NO_RULES,
) -> BindResult:
    """Bind the pod; the reason of a failure is the API server's own text if it gave one."""
    # A Binding contains the namespace of its pod, so the pod does not have to be read.
    if not rules.limits.covers_namespace(binding.namespace):
        return BindResult(BindOutcome.NOT_COVERED, REASON_NAMESPACE)
    prepared = PreparedBind(binding, binder, deadline, rules)
    prepares = rules.counted is not None or rules.announcements is not None or rules.gangs is not None
    result = prepared.run() if prepares else prepared.refusal()
    return result or _plain_bind(binding, binder, deadline)


# ----------------------------------------------------------------------------------------------------------- plain bind


def _plain_bind(binding: Binding, binder: PodBinder, deadline: Deadline) -> BindResult:
    cause = DEADLINE_PASSED
    for _ in range(ATTEMPTS):
        if not deadline.remaining():
            break
        # Use half of the remaining time: after a lost answer the pod has to be read.
        answer = binder.create_binding(binding, deadline.remaining() / 2)
        result = result_of_binding(answer)
        if result.outcome not in UNSETTLED:
            return result
        cause = answer.cause if isinstance(answer, Unanswered) else result.reason
        if not deadline.remaining():
            break
        found = binder.pod(binding.namespace, binding.pod_name, deadline.remaining())
        final = result_of_assignment(binding, found)
        if final is not None:
            return final
        if result.outcome is BindOutcome.CONTENDED:
            # The pod is not bound, so the conflict has another cause, which the API server reports.
            return BindResult(BindOutcome.REFUSED, result.reason)
    return unanswered(cause)


# ---------------------------------------------------------------------------------------------------------- the request

# RFC 1123 subdomains. The names become part of a URL, so other characters are rejected.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", re.ASCII)
_UID = re.compile(r"[-A-Za-z0-9_.:]{1,128}", re.ASCII)


def read_binding(body: str | bytes) -> Binding | Failure:
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
