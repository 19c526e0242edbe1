"""The verbs, called as the scheduler calls them: a path that is none is a 404 on each call, and for prioritize nobody
ever hears of it (facts 20 and 35).

What is sent changes nothing: filter and prioritize decide about a pod that does not exist, bind gets a request that
names none, preempt one without candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

import orjson

from berth_cli.doctor.access.endpoint import Answered, Endpoint, Unanswered
from berth_cli.doctor.findings import CheckName, Finding, failed, ok, warning

CHECK = CheckName.VERBS
POD = {
    "metadata": {"name": "berth-doctor", "namespace": "default", "uid": "berth-doctor"},
    "spec": {"containers": [{"name": "probe", "resources": {}}]},
    "status": {},
}
NO_NODE = "berth-doctor"

BY_FIELD: Mapping[str, tuple[str, ...]] = {
    "filterVerb": ("filter", "filter_onlyone"),
    "prioritizeVerb": ("prioritize",),
    "bindVerb": ("bind",),
    "preemptVerb": ("preempt",),
}
ALL = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "bindVerb": "bind", "preemptVerb": "preempt"}

WHO_MAY = "see that the scheduler's credentials are those that Berth accepts: docs/how-to/mutual-tls.md, Rotating"
NOT_SCHEDULED = {
    "filterVerb": "every pod stays pending",
    "prioritizeVerb": "kube-scheduler swallows this, and Berth's scores never count (fact 20)",
    "bindVerb": "no pod is bound",
    "preemptVerb": "no pod preempts",
}


def probe(field: str, nodes: list[str]) -> bytes:
    """A request for the verb of this field, in node-cache mode."""
    arguments = {"Pod": POD, "Nodes": None, "NodeNames": nodes or [NO_NODE]}
    if field == "bindVerb":
        return b"{}"
    if field == "preemptVerb":
        return orjson.dumps({"Pod": POD, "NodeNameToVictims": None, "NodeNameToMetaVictims": {}})
    return orjson.dumps(arguments)


def verbs(endpoint: Endpoint, named: Mapping[str, str]) -> Iterator[Finding]:
    """`named`: field to verb, as the scheduler's configuration has it. Where one gets no answer, none will."""
    for field, verb in named.items():
        answer = endpoint.verb(verb, probe(field, []))
        if isinstance(answer, Unanswered):
            told = f"{endpoint.address}/{verb}: {answer.cause}; unless the extender is ignorable, no pod is scheduled"
            yield failed(CHECK, told, f"see whether {endpoint.address} is Berth's, and who may call it")
            return
        yield _verb(endpoint, CheckName(field), verb, answer)


def _verb(endpoint: Endpoint, field: CheckName, verb: str, answer: Answered) -> Finding:
    if answer.status == 404:
        return failed(field, f"{endpoint.address}/{verb} is a 404: {NOT_SCHEDULED[field]}", _right_name(field, verb))
    if answer.status in (401, 403):
        return failed(
            field, f"{verb}: status {answer.status}, the caller is not let in; {NOT_SCHEDULED[field]}", WHO_MAY
        )
    if answer.status != 200:
        return failed(
            field,
            f"{verb}: status {answer.status}, which discards the answer (fact 3): {_excerpt(answer)}; "
            f"{NOT_SCHEDULED[field]}",
            "see the function's log",
        )
    return _content(field, verb, answer)


def _right_name(field: str, verb: str) -> str:
    right = BY_FIELD[field]
    if verb in right:
        return "let urlPrefix end in /scheduler"
    close = get_close_matches(verb, right, 1, 0.0)
    return f"set {field}: {(close or right)[0]}"


def _content(field: CheckName, verb: str, answer: Answered) -> Finding:
    try:
        content = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        return failed(
            field, f"{verb}: the answer is not JSON; {NOT_SCHEDULED[field]}", "see whether it is Berth that answers"
        )
    if field == "prioritizeVerb":
        return _scores(field, verb, content)
    if not isinstance(content, dict):
        return failed(field, f"{verb}: the answer is not an object", "see whether it is Berth that answers")
    error = content.get("Error")
    # To an empty request bind answers with an Error: that is the answer wanted.
    if field == "filterVerb" and error:
        return failed(field, f"{verb}: {error}", "see the checks of the cache")
    if field == "bindVerb" and not error:
        return warning(
            field, f"{verb}: a request without a pod was not refused", "see whether it is Berth that answers"
        )
    return ok(field, f"{verb} answers")


def _scores(field: CheckName, verb: str, content: object) -> Finding:
    """One score that is not an integer, and Go drops the whole list (fact 19)."""
    whole = isinstance(content, list) and all(
        isinstance(each, dict) and isinstance(each.get("Score"), int) and isinstance(each.get("Host"), str)
        for each in content
    )
    if not whole:
        return failed(
            field,
            f"{verb}: the answer is not a list of hosts with integer scores; {NOT_SCHEDULED[field]}",
            "see whether it is Berth that answers",
        )
    if not content:
        # Behind Basic credentials a failure looks like this (fact 28).
        return failed(field, f"{verb}: no scores: it failed, and may not say so", "see the function's log")
    return ok(field, f"{verb} answers with scores")


def _excerpt(answer: Answered) -> str:
    return answer.body[:200].decode(errors="replace").strip() or "empty"
