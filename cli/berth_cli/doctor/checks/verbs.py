"""Call the verbs as the scheduler does. A wrong path is a 404 on every call, which kube-scheduler ignores for
prioritize.

The requests change nothing: filter and prioritize get a pod that does not exist, bind a request without a pod,
preempt one without candidates (facts 20 and 35).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

import orjson

from berth_cli.doctor.access.endpoint import Endpoint, HttpResponse, NoResponse
from berth_cli.doctor.findings import CheckName, Finding, failed, ok, warning

CHECK = CheckName.VERBS
POD = {
    "metadata": {"name": "berth-doctor", "namespace": "default", "uid": "berth-doctor"},
    "spec": {"containers": [{"name": "probe", "resources": {}}]},
    "status": {},
}
PROBE_NODE = "berth-doctor"

VERBS_BY_FIELD: Mapping[str, tuple[str, ...]] = {
    "filterVerb": ("filter", "filter_onlyone"),
    "prioritizeVerb": ("prioritize",),
    "bindVerb": ("bind",),
    "preemptVerb": ("preempt",),
}
DEFAULT_VERBS = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "bindVerb": "bind", "preemptVerb": "preempt"}

CREDENTIALS_REMEDY = "give the scheduler credentials that Berth accepts: docs/how-to/mutual-tls.md, Rotating"
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
    if answer.status != 200:
        return failed(
            field,
            f"{verb}: status {answer.status}, so kube-scheduler discards the response (fact 3): {_excerpt(answer)}; "
            f"{CONSEQUENCES[field]}",
            "see the function's log",
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
        return failed(field, f"{verb}: {error}", "see the checks of the cache")
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
        )
    return ok(field, f"{verb} responds with scores")


def _excerpt(answer: HttpResponse) -> str:
    return answer.body[:200].decode(errors="replace").strip() or "empty"
