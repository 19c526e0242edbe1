"""Requests that no scheduler sends: a clear answer, one log line with the reason, no stack trace, nothing written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.extender.arguments import MAX_NODES, TOO_MANY_NODES
from berth.scheduling.policy import Policy
from berth_cli.server.options import CACHE_TABLE
from tests.builders.events import http_event
from tests.builders.nodes import labelled_object
from tests.builders.pods import pod_object
from tests.builders.requests import binding, body_of, cache_mode, full_mode, victims_by_uid
from tests.fakes.log_lines import LogLines
from tests.fakes.verbs import call

LISTING = ("filter", "filter_onlyone", "prioritize")
VERBS = (*LISTING, "bind", "preempt")
BY_STATUS = ("prioritize", "preempt")
"""Verbs whose answers have no `Error` field (fact 28): the status reports the failure; the text is for manual calls."""

NO_NODES = "the request has no nodes: NodeNames and Nodes are null"
NOT_STRINGS = "NodeNames is not a list of strings"
LARGE = "the request body is larger than 6 MB; set nodeCacheCapable: true, so that names are sent instead of nodes"
NO_SCHEDULING_REQUEST = "the request is not a scheduling request: "
SIX_MB = 6_000_000

Handlers = Mapping[str, Callable[..., Any]]


@pytest.fixture(scope="module")
def handlers(load_function: Callable[..., Callable[..., Any]], cluster_dump: str) -> Handlers:
    """Return each verb's function, in its own warm environment."""
    return {verb: load_function(verb, {"BERTH_CLUSTER_DUMP": cluster_dump}) for verb in VERBS}


def body_of_size(size: int) -> str:
    """Return a valid request of exactly this many bytes."""
    request = full_mode([labelled_object("n10", "10")], pod_object() | {"padding": ""})
    return body_of(request).replace('"padding":""', f'"padding":"{"x" * (size - len(body_of(request)))}"')


def is_refused(handlers: Handlers, verb: str, body: str | bytes | None, reason: str, log_lines: LogLines) -> None:
    """Assert that the verb returns its own form of a failure with this reason, and logs it once."""
    answer = call(handlers[verb], body, verb)
    assert answer.status == (400 if verb in BY_STATUS else 200)
    assert answer.error == reason
    assert "Traceback" not in answer.text
    [line] = log_lines.all()
    assert (line["level"], line["verb"], line["outcome"], line["detail"]) == (
        "WARNING",
        verb,
        "failure-bad-request",
        reason,
    )
    assert "exception" not in line


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param("", "the request body is empty; expected a JSON object", id="empty"),
        pytest.param(None, "the request body is empty; expected a JSON object", id="no body"),
        pytest.param('{"Pod":', "the request body is not JSON", id="cut off"),
        pytest.param("{}{}", "the request body is not JSON", id="two objects"),
        pytest.param('{"Pod": NaN}', "the request body is not JSON", id="not a number"),
        pytest.param("[" * 100_000, "the request body is not JSON", id="unlimited nesting"),
        pytest.param(b"\xff\xfe\x00", "the request body is not JSON", id="not UTF-8"),
        pytest.param("null", "the request body is not a JSON object", id="null"),
        pytest.param("[]", "the request body is not a JSON object", id="a list"),
    ],
)
def test_rejects_body_that_is_not_a_json_object(
    handlers: Handlers, verb: str, body: str | bytes | None, reason: str, log_lines: LogLines
) -> None:
    is_refused(handlers, verb, body, reason, log_lines)


@pytest.mark.parametrize("verb", LISTING)
@pytest.mark.parametrize(
    ("request_body", "reason"),
    [
        pytest.param({}, f"{NO_SCHEDULING_REQUEST}Pod is not an object", id="no keys"),
        pytest.param(cache_mode(["n10"]) | {"Pod": "p"}, f"{NO_SCHEDULING_REQUEST}Pod is not an object", id="text Pod"),
        pytest.param(
            cache_mode(["n10"], {"metadata": "m"}),
            f"{NO_SCHEDULING_REQUEST}Pod.metadata is not an object",
            id="metadata a string",
        ),
        pytest.param(
            cache_mode(["n10"], pod_object() | {"spec": [1]}),
            f"{NO_SCHEDULING_REQUEST}Pod.spec is not an object",
            id="spec a list",
        ),
        pytest.param(
            cache_mode(["n10"], pod_object() | {"spec": {"priority": "high"}}),
            f"{NO_SCHEDULING_REQUEST}Pod.spec.priority is not an integer",
            id="priority a string",
        ),
        pytest.param(cache_mode(None), NO_NODES, id="Nodes and NodeNames null"),
        pytest.param({"Pod": pod_object()}, NO_NODES, id="Nodes and NodeNames absent"),
        pytest.param(cache_mode([f"n{n}" for n in range(MAX_NODES + 1)]), TOO_MANY_NODES, id="too many NodeNames"),
        pytest.param(cache_mode(["n"] * (MAX_NODES + 1)), TOO_MANY_NODES, id="the same name too often"),
        pytest.param(full_mode([{}] * (MAX_NODES + 1)), TOO_MANY_NODES, id="too many Nodes.items"),
        pytest.param(cache_mode(None) | {"NodeNames": "n10"}, NOT_STRINGS, id="NodeNames a string"),
        pytest.param(cache_mode(None) | {"NodeNames": ["n10", None]}, NOT_STRINGS, id="null among the NodeNames"),
        pytest.param(cache_mode(None) | {"NodeNames": [["n10"]]}, NOT_STRINGS, id="a list among the NodeNames"),
        pytest.param(cache_mode(None) | {"NodeNames": ["n10", "new", {}]}, NOT_STRINGS, id="object after a new node"),
        pytest.param(cache_mode(None) | {"NodeNames": [7, 7]}, NOT_STRINGS, id="a number, twice"),
        pytest.param(full_mode(None) | {"Nodes": "n10"}, "Nodes.items is not a list", id="Nodes a string"),
        pytest.param(full_mode(None) | {"Nodes": {"items": {}}}, "Nodes.items is not a list", id="items an object"),
        pytest.param(
            full_mode([labelled_object("n10", "10"), {"metadata": {}}]),
            "Nodes.items[1] cannot be answered: a node has no metadata.name",
            id="a node without a name",
        ),
        pytest.param(full_mode([None]), "Nodes.items[0] cannot be answered: a node has no metadata.name", id="no node"),
    ],
)
def test_rejects_malformed_scheduling_request(
    handlers: Handlers, verb: str, request_body: dict[str, object], reason: str, log_lines: LogLines
) -> None:
    is_refused(handlers, verb, body_of(request_body), reason, log_lines)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param({"PodName": None}, "the binding request has no valid PodName", id="PodName null"),
        pytest.param({"PodName": "../secrets"}, "the binding request has no valid PodName", id="PodName a path"),
        pytest.param({"PodName": "p\n"}, "the binding request has no valid PodName", id="PodName with a line break"),
        pytest.param({"PodName": "p" * 254}, "the binding request has no valid PodName", id="PodName too long"),
        pytest.param({"PodNamespace": 7}, "the binding request has no valid PodNamespace", id="PodNamespace a number"),
        pytest.param({"PodNamespace": "a/b"}, "the binding request has no valid PodNamespace", id="PodNamespace path"),
        pytest.param({"PodUID": "a b"}, "the binding request has no valid PodUID", id="PodUID with a space"),
        pytest.param({"Node": ["n10"]}, "the binding request has no valid Node", id="Node a list"),
        pytest.param({"Node": "N10"}, "the binding request has no valid Node", id="Node in uppercase"),
        pytest.param({"Node": "n10?x=1"}, "the binding request has no valid Node", id="Node with a query"),
    ],
)
def test_rejects_malformed_binding_request(
    handlers: Handlers, change: dict[str, object], reason: str, log_lines: LogLines
) -> None:
    is_refused(handlers, "bind", body_of(binding() | change), reason, log_lines)


@pytest.mark.parametrize(
    ("request_body", "reason"),
    [
        pytest.param(
            victims_by_uid({"n10": ["v1"]}) | {"Pod": None},
            "the request is not a preemption request: Pod is not an object",
            id="Pod null",
        ),
        pytest.param(
            {"Pod": pod_object()},
            "the request has no candidates: NodeNameToVictims and NodeNameToMetaVictims are missing",
            id="both maps missing",
        ),
        pytest.param(
            {"Pod": pod_object(), "NodeNameToMetaVictims": ["n10"]},
            "NodeNameToVictims or NodeNameToMetaVictims is not an object",
            id="list instead of a map",
        ),
        pytest.param(
            {"Pod": pod_object(), "NodeNameToMetaVictims": {"n10": "v1"}},
            "the victims of a node are not an object",
            id="string instead of victims",
        ),
        pytest.param(
            {"Pod": pod_object(), "NodeNameToVictims": {"n10": {"Pods": {"uid": "v1"}}}},
            "the Pods of a node's victims are not a list",
            id="object instead of pods",
        ),
        pytest.param(
            {"Pod": pod_object(), "NodeNameToVictims": {"n10": {"Pods": [], "NumPDBViolations": "1"}}},
            "NumPDBViolations is not an integer",
            id="string instead of a number",
        ),
    ],
)
def test_rejects_malformed_preemption_request(
    handlers: Handlers, request_body: dict[str, object], reason: str, log_lines: LogLines
) -> None:
    is_refused(handlers, "preempt", body_of(request_body), reason, log_lines)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("encoded", ["not base64!", "abc", "é", "YWJj\nZGVm"])
def test_rejects_body_with_invalid_base64(handlers: Handlers, verb: str, encoded: str, log_lines: LogLines) -> None:
    event = http_event(b"", f"POST /scheduler/{verb}") | {"body": encoded}
    answer = handlers[verb](event, None)
    assert answer["statusCode"] == (400 if verb in BY_STATUS else 200)
    assert "the event's body is not base64, though it is said to be" in answer["body"]
    assert [line["outcome"] for line in log_lines.all()] == ["failure-bad-request"]


@pytest.mark.parametrize("verb", LISTING)
def test_accepts_body_of_six_megabytes(handlers: Handlers, verb: str) -> None:
    body = body_of_size(SIX_MB)
    assert len(body.encode()) == SIX_MB
    answer = call(handlers[verb], body, verb)
    assert answer.status == 200
    assert "n10" in answer.text


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(lambda: body_of_size(SIX_MB + 1), id="a byte more than 6 MB, as text"),
        pytest.param(lambda: body_of_size(SIX_MB + 1).encode(), id="a byte more than 6 MB, as base64"),
        pytest.param(lambda: body_of_size(SIX_MB // 2 + 1_000).replace("x", "ü"), id="few characters with many bytes"),
    ],
)
def test_rejects_larger_body_and_names_the_remedy(
    handlers: Handlers, verb: str, body: Callable[[], str | bytes], log_lines: LogLines
) -> None:
    is_refused(handlers, verb, body(), LARGE, log_lines)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("event", [{}, {"body": 7}, {"body": {"Pod": {}}}, {"body": None, "isBase64Encoded": True}])
def test_rejects_event_that_is_not_an_http_event(handlers: Handlers, verb: str, event: dict[str, object]) -> None:
    answer = handlers[verb](event, None)
    assert answer["statusCode"] == (400 if verb in BY_STATUS else 200)
    assert "Error" in answer["body"]


def test_does_not_write_anything_for_bad_input(handlers: Handlers, dynamodb: DynamoDBClient) -> None:
    before = dynamodb.scan(TableName=CACHE_TABLE)["Items"]
    for handler in handlers.values():
        for body in ("", "{", "[]", "{}", body_of(cache_mode(["new"])), body_of(binding(node="N10"))):
            call(handler, body)
    assert dynamodb.scan(TableName=CACHE_TABLE)["Items"] == before


@pytest.mark.parametrize("verb", LISTING)
def test_logs_unexpected_exception_without_returning_its_message(
    handlers: Handlers, verb: str, log_lines: LogLines, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defective(*_: object) -> None:
        raise ZeroDivisionError("a secret in a message")

    monkeypatch.setattr(Policy, "feasibility", defective)
    monkeypatch.setattr(Policy, "best", defective)
    monkeypatch.setattr(Policy, "timely_scores", defective)
    answer = call(handlers[verb], body_of(cache_mode(["n10"])), verb)
    assert answer.error == "Berth failed unexpectedly; the function's log has the cause"
    assert answer.status == (500 if verb in BY_STATUS else 200)
    unexpected, ended = log_lines.all()
    assert (unexpected["level"], unexpected["pod"]) == ("ERROR", "ml/train-0")
    assert "ZeroDivisionError" in unexpected["exception"]
    assert (ended["outcome"], ended["pod"]) == ("failure-internal", "ml/train-0")


@pytest.mark.parametrize("verb", LISTING)
@pytest.mark.parametrize(
    ("request_body", "names", "nodes"),
    [
        pytest.param(cache_mode([]), [], None, id="NodeNames"),
        pytest.param(full_mode([]), None, {"metadata": {}, "items": []}, id="Nodes.items"),
        pytest.param(full_mode(None), None, {"metadata": {}, "items": []}, id="Nodes.items null"),
    ],
)
def test_empty_list_gets_an_empty_response(
    handlers: Handlers, verb: str, request_body: dict[str, object], names: object, nodes: object
) -> None:
    answer = call(handlers[verb], body_of(request_body), verb)
    assert answer.status == 200
    if verb == "prioritize":
        assert answer.json == []
    else:
        assert answer.json == {
            "Nodes": nodes,
            "NodeNames": names,
            "FailedNodes": {},
            "FailedAndUnresolvableNodes": {},
            "Error": "",
        }


@pytest.mark.parametrize("verb", LISTING)
def test_size_of_the_response_to_unknown_names_is_limited(handlers: Handlers, verb: str) -> None:
    """The request has the maximum number of names, each as long as a body of 5.5 MB allows."""
    answer = call(handlers[verb], body_of(cache_mode([f"{n:0106d}" for n in range(MAX_NODES)])), verb)
    assert answer.status == 200
    assert len(answer.text) < 2 * SIX_MB
