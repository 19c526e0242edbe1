"""Calls the verbs as the scheduler does. Checks the responses, their latency, and whether any node passes the policy.

The requests do not change anything: filter and prioritize get a nonexistent pod, bind a request without a pod, and
preempt a request without candidates (facts 20 and 35).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches

import orjson

from berth_cli.installation.doctor.checks.access import BLOCKS_ALL, CREDENTIALS_REMEDY, UNAUTHORIZED_STATUSES
from berth_cli.installation.doctor.findings import CheckName, Finding, failed, ok, skipped, warning
from berth_cli.sources.server import Endpoint, HttpResponse, NoResponse, json_object

PROBE_NAMESPACE, PROBE_NAME = "default", "berth-doctor"
"""The pod of all calls, which does not exist. The console does not show its decisions."""

POD: Mapping[str, Mapping[str, object]] = {
    "metadata": {"name": PROBE_NAME, "namespace": PROBE_NAMESPACE, "uid": PROBE_NAME},
    "spec": {"containers": [{"name": "probe", "resources": {}}]},
    "status": {},
}
SHOWN_REASONS = 3

DEFAULT_VERBS = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "bindVerb": "bind", "preemptVerb": "preempt"}
FILTER_VERBS = ("filter", "filter_onlyone")
TIMED_FIELDS = ("filterVerb", "prioritizeVerb")
CALLS = 3
MIN_BIND_TIMEOUT_SECONDS = 2
"""The minimum httpTimeout for bind in seconds: bind responds one second before it ends (fact 23)."""

THROTTLED_STATUS = 429
"""The status of API Gateway above its limits, and of the emulator above its concurrency limit."""
THROTTLED_REMEDY = "run berth doctor again; if it stays, find out who calls: the API accepts 2,000 calls a second"
IS_IT_BERTH = "check whether the address is Berth"
FUNCTION_LOG = "see the function's log"
CONSEQUENCES = {
    "filterVerb": "every pod stays pending",
    "prioritizeVerb": "kube-scheduler ignores this error, and Berth's scores have no effect (fact 20)",
    "bindVerb": "no pod is bound",
    "preemptVerb": "no pod preempts",
}


def probe(field: str, nodes: list[str]) -> bytes:
    """Build a request body for this field's verb, in node-cache mode."""
    match field:
        case "bindVerb":
            return b"{}"
        case "preemptVerb":
            return orjson.dumps({"Pod": POD, "NodeNameToVictims": None, "NodeNameToMetaVictims": {}})
        case _:
            return orjson.dumps({"Pod": POD, "Nodes": None, "NodeNames": nodes or [PROBE_NAME]})


def check_verbs(endpoint: Endpoint, verbs_by_field: Mapping[str, str]) -> Iterator[Finding]:
    """Call the verbs in the scheduler's configuration. Stop at the first call without a response."""
    for field, verb in verbs_by_field.items():
        answer = endpoint.verb(verb, probe(field, []))
        if isinstance(answer, NoResponse):
            message = f"{endpoint.address}/{verb}: {answer.cause}; {BLOCKS_ALL}"
            yield failed(CheckName.VERBS, message, f"check whether {endpoint.address} is Berth and whom it authorizes")
            return
        yield _verb_finding(endpoint, CheckName(field), verb, answer)


def _verb_finding(endpoint: Endpoint, field: CheckName, verb: str, answer: HttpResponse) -> Finding:
    consequence = CONSEQUENCES[field]
    if answer.status == 404:
        return failed(field, f"{endpoint.address}/{verb} returns 404: {consequence}", _verb_remedy(field, verb))
    if answer.status in UNAUTHORIZED_STATUSES:
        message = f"{verb}: status {answer.status}, the caller is not authorized; {consequence}"
        return failed(field, message, CREDENTIALS_REMEDY)
    if answer.status == THROTTLED_STATUS:
        return failed(field, f"{verb}: status {answer.status}, throttled; {consequence}", THROTTLED_REMEDY)
    if answer.status != 200:
        excerpt = answer.body[:200].decode(errors="replace").strip() or "empty"
        message = f"{verb}: status {answer.status}, so kube-scheduler discards the response (fact 3): {excerpt}"
        return failed(field, f"{message}; {consequence}", FUNCTION_LOG)
    try:
        content = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return failed(field, f"{verb}: the response is not JSON; {consequence}", IS_IT_BERTH)
    return _scores_finding(verb, content) if field == "prioritizeVerb" else _content_finding(field, verb, content)


def _verb_remedy(field: str, verb: str) -> str:
    right = FILTER_VERBS if field == "filterVerb" else (DEFAULT_VERBS[field],)
    if verb in right:
        return "set a urlPrefix that ends in /scheduler"
    return f"set {field}: {get_close_matches(verb, right, 1, 0.0)[0]}"


def _content_finding(field: CheckName, verb: str, content: object) -> Finding:
    if not isinstance(content, dict):
        return failed(field, f"{verb}: the response is not an object", IS_IT_BERTH)
    error = content.get("Error")
    # bind must reject the empty request with an Error.
    if field == "filterVerb" and error:
        return failed(field, f"{verb}: {error}", "see the checks of the cache")
    if field == "bindVerb" and not error:
        return warning(field, f"{verb}: a request without a pod was not rejected", IS_IT_BERTH)
    return ok(field, f"{verb} responds")


def _scores_finding(verb: str, content: object) -> Finding:
    """Check the scores. If one score is not an integer, Go discards the whole list (fact 19)."""
    field = CheckName.PRIORITIZE_VERB
    is_valid = isinstance(content, list) and all(
        isinstance(each, dict) and isinstance(each.get("Score"), int) and isinstance(each.get("Host"), str)
        for each in content
    )
    if not is_valid:
        message = f"{verb}: the response is not a list of hosts with integer scores; {CONSEQUENCES[field]}"
        return failed(field, message, IS_IT_BERTH)
    if not content:
        # With Basic credentials a failure's response is an empty list (fact 28).
        message = f"{verb}: no scores: an internal error, which the response must not contain"
        return failed(field, message, FUNCTION_LOG)
    return ok(field, f"{verb} responds with scores")


def check_latency(
    endpoint: Endpoint, verbs_by_field: Mapping[str, str], nodes: list[str], timeout: float
) -> Iterator[Finding]:
    """Compare the verbs' latency with the scheduler's httpTimeout (facts 5 and 9).

    `nodes`: names for the requests, as many as the cluster has. `timeout`: httpTimeout in seconds.
    """
    check = CheckName.HTTP_TIMEOUT
    slowest: dict[str, float] = {}
    for field, verb in verbs_by_field.items():
        times = _times(endpoint, verb, probe(field, nodes)) if field in TIMED_FIELDS else []
        if times:
            slowest[verb] = max(times)
    if not slowest:
        yield skipped(check, "no verb responded, so no latency was measured")
        return
    took = ", ".join(f"{verb} {seconds * 1000:.0f} ms" for verb, seconds in slowest.items())
    measured = f"slowest of {CALLS} calls with {len(nodes) or 1} node names each: {took}"
    longest = max(slowest.values())
    if longest >= timeout:
        yield failed(check, f"{timeout:g} s, and {measured}: calls time out", "raise httpTimeout")
    elif longest > timeout / 2:
        yield warning(check, f"{timeout:g} s, and {measured}: a slow call may time out", "raise httpTimeout")
    else:
        yield ok(check, f"{timeout:g} s; {measured}")


def _times(endpoint: Endpoint, verb: str, body: bytes) -> list[float]:
    """Return the durations of answered calls in seconds."""
    times: list[float] = []
    for _ in range(CALLS):
        answer = endpoint.verb(verb, body)
        if not isinstance(answer, HttpResponse) or answer.status != 200:
            break
        times.append(answer.seconds)
    return times


def check_bind_time(timeout: float, stack_timeout: float | None) -> Iterator[Finding]:
    """Check that bind responds one second before httpTimeout ends; otherwise a successful Binding counts as failed
    (fact 23)."""
    check = CheckName.HTTP_TIMEOUT
    if timeout < MIN_BIND_TIMEOUT_SECONDS:
        message = f"{timeout:g} s: bind cannot respond in time (fact 23)"
        yield failed(check, message, f"set {MIN_BIND_TIMEOUT_SECONDS}s or more")
    if stack_timeout is not None and timeout < stack_timeout:
        yield failed(
            check,
            f"{timeout:g} s, and the stack's bind runs for up to {stack_timeout - 1:g} s: a Binding that took effect "
            "can count as failed (fact 23)",
            "deploy with the same value of HttpTimeoutSeconds",
        )


def check_policy(endpoint: Endpoint, verb: str, scheduler_names: Sequence[str], nodes: list[str]) -> Iterator[Finding]:
    """Check whether any node passes for a pod without requests. An Error is reported by check_verbs."""
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
