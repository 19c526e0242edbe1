"""Call the verbs as the scheduler does. A wrong path is a 404 on every call, which kube-scheduler ignores for
prioritize.

The requests change nothing: filter and prioritize get a pod that does not exist, bind a request without a pod,
preempt one without candidates (facts 20 and 35).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

import orjson

from berth_cli.doctor.access.endpoint import Endpoint, HttpResponse, NoResponse
from berth_cli.doctor.access.running import json_object
from berth_cli.doctor.findings import CheckName, Finding, failed, ok, skipped, warning

CHECK = CheckName.VERBS
POD: Mapping[str, Mapping[str, object]] = {
    "metadata": {"name": "berth-doctor", "namespace": "default", "uid": "berth-doctor"},
    "spec": {"containers": [{"name": "probe", "resources": {}}]},
    "status": {},
}
PROBE_NODE = "berth-doctor"
SHOWN_REASONS = 3

VERBS_BY_FIELD: Mapping[str, tuple[str, ...]] = {
    "filterVerb": ("filter", "filter_onlyone"),
    "prioritizeVerb": ("prioritize",),
    "bindVerb": ("bind",),
    "preemptVerb": ("preempt",),
}
DEFAULT_VERBS = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "bindVerb": "bind", "preemptVerb": "preempt"}

CREDENTIALS_REMEDY = "give the scheduler credentials that Berth accepts: docs/how-to/mutual-tls.md, Rotating"
THROTTLED_STATUS = 429
"""API Gateway's answer above its own limits, and the emulator's above its concurrent calls."""
THROTTLED_REMEDY = "run berth doctor again; if it stays, raise ApiRateLimit and ApiBurstLimit of the stack"
CONSEQUENCES = {
    "filterVerb": "every pod stays pending",
    "prioritizeVerb": "kube-scheduler ignores this error, and Berth's scores have no effect (fact 20)",
    "bindVerb": "no pod is bound",
    "preemptVerb": "no pod preempts",
}


def probe(field: str, nodes: list[str]) -> bytes:
    """A request body for the verb of this field, in node-cache mode."""
    arguments = {"Pod": POD, "Nodes": None, "NodeNames": nodes or [PROBE_NODE]}
    if field == "bindVerb":
        return b"{}"
    if field == "preemptVerb":
        return orjson.dumps({"Pod": POD, "NodeNameToVictims": None, "NodeNameToMetaVictims": {}})
    return orjson.dumps(arguments)


def check_verbs(endpoint: Endpoint, verbs_by_field: Mapping[str, str]) -> Iterator[Finding]:
    """Call the verbs of the scheduler's configuration. Stops at the first call without a response."""
    for field, verb in verbs_by_field.items():
        answer = endpoint.verb(verb, probe(field, []))
        if isinstance(answer, NoResponse):
            message = (
                f"{endpoint.address}/{verb}: {answer.cause}; unless the extender is ignorable, no pod is scheduled"
            )
            yield failed(CHECK, message, f"check whether {endpoint.address} is Berth and whom it authorizes")
            return
        yield _verb_finding(endpoint, CheckName(field), verb, answer)


def _verb_finding(endpoint: Endpoint, field: CheckName, verb: str, answer: HttpResponse) -> Finding:
    if answer.status == 404:
        return failed(field, f"{endpoint.address}/{verb} returns 404: {CONSEQUENCES[field]}", _verb_remedy(field, verb))
    if answer.status in (401, 403):
        return failed(
            field,
            f"{verb}: status {answer.status}, the caller is not authorized; {CONSEQUENCES[field]}",
            CREDENTIALS_REMEDY,
        )
    if answer.status == THROTTLED_STATUS:
        return failed(field, f"{verb}: status {answer.status}, throttled; {CONSEQUENCES[field]}", THROTTLED_REMEDY)
    if answer.status != 200:
        return failed(
            field,
            f"{verb}: status {answer.status}, so kube-scheduler discards the response (fact 3): {_excerpt(answer)}; "
            f"{CONSEQUENCES[field]}",
            "see the function's log",
            is_effect=True,
        )
    return _content_finding(field, verb, answer)


def _verb_remedy(field: str, verb: str) -> str:
    right = VERBS_BY_FIELD[field]
    if verb in right:
        return "set a urlPrefix that ends in /scheduler"
    close = get_close_matches(verb, right, 1, 0.0)
    return f"set {field}: {(close or right)[0]}"


def _content_finding(field: CheckName, verb: str, answer: HttpResponse) -> Finding:
    try:
        content = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return failed(
            field, f"{verb}: the response is not JSON; {CONSEQUENCES[field]}", "check whether the address is Berth"
        )
    if field == "prioritizeVerb":
        return _scores_finding(field, verb, content)
    if not isinstance(content, dict):
        return failed(field, f"{verb}: the response is not an object", "check whether the address is Berth")
    error = content.get("Error")
    # bind must reject the empty request with an Error.
    if field == "filterVerb" and error:
        return failed(field, f"{verb}: {error}", "see the checks of the cache", is_effect=True)
    if field == "bindVerb" and not error:
        return warning(field, f"{verb}: a request without a pod was not rejected", "check whether the address is Berth")
    return ok(field, f"{verb} responds")


def _scores_finding(field: CheckName, verb: str, content: object) -> Finding:
    """Go discards the whole list for one score that is not an integer (fact 19)."""
    whole = isinstance(content, list) and all(
        isinstance(each, dict) and isinstance(each.get("Score"), int) and isinstance(each.get("Host"), str)
        for each in content
    )
    if not whole:
        return failed(
            field,
            f"{verb}: the response is not a list of hosts with integer scores; {CONSEQUENCES[field]}",
            "check whether the address is Berth",
        )
    if not content:
        # With Basic credentials the response of a failure is an empty list (fact 28).
        return failed(
            field,
            f"{verb}: no scores: an internal error, which the response must not contain",
            "see the function's log",
            is_effect=True,
        )
    return ok(field, f"{verb} responds with scores")


def _excerpt(answer: HttpResponse) -> str:
    return answer.body[:200].decode(errors="replace").strip() or "empty"


def check_policy(endpoint: Endpoint, verb: str, scheduler_names: Sequence[str], nodes: list[str]) -> Iterator[Finding]:
    """Whether the policy leaves a node for a pod that asks for nothing. An Error is reported by check_verbs."""
    if not nodes:
        yield skipped(CheckName.POLICY, "the names of the cluster's nodes are unknown, or it has none")
    for name in scheduler_names if nodes else ():
        pod = {**POD, "spec": {**POD["spec"], "schedulerName": name}}
        answer = endpoint.verb(verb, orjson.dumps({"Pod": pod, "Nodes": None, "NodeNames": nodes}))
        content = json_object(answer) or {}
        if "NodeNames" in content and not content.get("Error"):
            yield _policy_finding(name, content, len(nodes))


def _policy_finding(scheduler_name: str, content: Mapping[str, object], nodes: int) -> Finding:
    if content.get("NodeNames"):
        return ok(CheckName.POLICY, f"{scheduler_name}: a pod that asks for nothing fits on a node")
    rejected = (content.get(field) for field in ("FailedNodes", "FailedAndUnresolvableNodes"))
    reasons = Counter(
        str(reason) for by_node in rejected if isinstance(by_node, dict) for reason in by_node.values()
    ).most_common(SHOWN_REASONS)
    shown = ", ".join(f"{count} {reason}" for reason, count in reasons)
    return failed(
        CheckName.POLICY,
        f"{scheduler_name}: none of the {nodes} nodes passes for a pod that asks for nothing: {shown}",
        "label the nodes as the policy asks, or change the policy: docs/how-to/policies.md",
    )
