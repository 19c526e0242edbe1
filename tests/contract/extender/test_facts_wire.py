"""Facts 1 to 7 and 10 of docs/reference/extender-contract.md: requests and answers of the real handlers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import orjson
import pytest

from berth.runtime.adapters import cache_adapters
from berth.runtime.settings import PolicySettings
from tests.builders.http_calls import Caller
from tests.builders.nodes import labelled, labelled_object
from tests.builders.pods import pod_object
from tests.builders.requests import binding, body_of, cache_mode, full_mode, victims_by_uid
from tests.deployment.template import folders_of_routes
from tests.fakes.verbs import Answer, Verbs, call

VERBS = ("filter", "filter_onlyone", "prioritize", "bind", "preempt")
POD_VERBS = tuple(verb for verb in VERBS if verb != "bind")
"""Verbs whose request contains the pod; bind's request only names the pod."""

REQUESTS: Mapping[str, dict[str, object]] = {
    "filter": cache_mode(["n10", "plain"]),
    "filter_onlyone": cache_mode(["n10", "plain"]),
    "prioritize": cache_mode(["n10", "plain"]),
    "bind": binding("train-1", uid="uid-train-1", node="n10"),
    "preempt": victims_by_uid({"n10": ["v1"]}),
}

Handlers = Mapping[str, Callable[..., Any]]


@pytest.fixture(scope="module")
def handlers(load_function: Callable[..., Callable[..., Any]], cluster_dump: str) -> Handlers:
    """Return each verb's function, in its own warm environment."""
    return {verb: load_function(verb, {"BERTH_CLUSTER_DUMP": cluster_dump}) for verb in VERBS}


@pytest.fixture
def caller(gateway_port: int) -> Iterator[Caller]:
    caller = Caller(gateway_port)
    yield caller
    caller.close()


def ask(handlers: Handlers, verb: str, body: str | bytes | None) -> Answer:
    return call(handlers[verb], body, verb)


def changed_keys(request: Mapping[str, object], change: Callable[[str], str]) -> dict[str, object]:
    """Change the outer keys and the keys of the inner wire types: of Nodes and of each node's victims."""

    def inner(key: str, value: object) -> object:
        if key == "Nodes" and isinstance(value, dict):
            return {change(name) if name == "items" else name: item for name, item in value.items()}
        if key == "NodeNameToMetaVictims" and isinstance(value, dict):
            return {
                node: {
                    change("Pods"): [{change("UID"): pod["UID"]} for pod in victims["Pods"]],
                    change("NumPDBViolations"): victims["NumPDBViolations"],
                }
                for node, victims in value.items()
            }
        return value

    return {change(key): inner(key, value) for key, value in request.items()}


@pytest.mark.parametrize("verb", VERBS)
def test_fact_01_every_verb_accepts_post_at_prefix_slash_verb(caller: Caller, verb: str) -> None:
    response = caller.post(f"/scheduler/{verb}", body_of(REQUESTS[verb]))
    assert response.status == 200
    assert response.headers["content-type"] == "application/json"


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "headers",
    [
        pytest.param({}, id="no header and a base64 body"),
        pytest.param({"Content-Type": "application/json", "Accept-Encoding": "gzip"}, id="headers of Go's client"),
        pytest.param({"Content-Type": "application/json; charset=utf-8"}, id="with a character set"),
    ],
)
def test_fact_01_does_not_require_a_header_and_does_not_compress(
    open_gateway_port: int, verb: str, headers: dict[str, str]
) -> None:
    caller = Caller(open_gateway_port)
    plain = caller.post(f"/scheduler/{verb}", body_of(REQUESTS[verb]))
    response = caller.post(f"/scheduler/{verb}", body_of(REQUESTS[verb]), headers)
    caller.close()
    assert "content-encoding" not in response.headers
    assert (response.status, response.content) == (plain.status, plain.content)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "change",
    [pytest.param(str.lower, id="lower"), pytest.param(str.upper, id="upper"), pytest.param(str.swapcase, id="mixed")],
)
def test_fact_02_ignores_case_of_outer_keys(handlers: Handlers, verb: str, change: Callable[[str], str]) -> None:
    wanted = ask(handlers, verb, body_of(REQUESTS[verb]))
    assert wanted.status == 200
    assert ask(handlers, verb, body_of(changed_keys(REQUESTS[verb], change))) == wanted


@pytest.mark.parametrize("change", [str.lower, str.upper])
def test_fact_02_ignores_case_of_outer_keys_in_full_mode(handlers: Handlers, change: Callable[[str], str]) -> None:
    request = full_mode([labelled_object("n10", "10")])
    answer = ask(handlers, "filter", body_of(changed_keys(request, change)))
    assert answer == ask(handlers, "filter", body_of(request))
    assert answer.json["Nodes"]["items"] == [labelled_object("n10", "10")]


@pytest.mark.parametrize("verb", VERBS)
def test_fact_02_ignores_unknown_keys(handlers: Handlers, verb: str) -> None:
    request = REQUESTS[verb] | {"Later": {"deep": [1]}, "kind": "ExtenderArgs", "": None}
    assert ask(handlers, verb, body_of(request)) == ask(handlers, verb, body_of(REQUESTS[verb]))


@pytest.mark.parametrize("verb", VERBS)
def test_fact_02_null_is_treated_as_absent(handlers: Handlers, verb: str) -> None:
    absent = {key: value for key, value in REQUESTS[verb].items() if value is not None}
    assert ask(handlers, verb, body_of(absent)) == ask(handlers, verb, body_of(REQUESTS[verb]))


@pytest.fixture(scope="module")
def answers(handlers: Handlers) -> dict[str, str]:
    """Return the response of each verb to a plain pod."""
    return {verb: ask(handlers, verb, body_of(REQUESTS[verb])).text for verb in POD_VERBS}


@pytest.mark.parametrize("verb", POD_VERBS)
@pytest.mark.parametrize("part", ["metadata", "spec", "status"])
@pytest.mark.parametrize("key", [None, "labels", "ownerReferences", "priority", "containers", "schedulerName"])
def test_fact_02_accepts_null_anywhere_in_pod(
    handlers: Handlers, answers: dict[str, str], verb: str, part: str, key: str | None
) -> None:
    pod = pod_object(priority=1)
    pod[part] = None if key is None else {"name": "train-0", key: None}
    assert ask(handlers, verb, body_of(REQUESTS[verb] | {"Pod": pod})).text == answers[verb]


@pytest.mark.parametrize(
    "node",
    [
        pytest.param({"metadata": {"name": "n"}}, id="only a name"),
        pytest.param({"metadata": {"name": "n", "labels": None}, "spec": None, "status": None}, id="null labels"),
        pytest.param({"metadata": {"name": "n", "labels": {}, "annotations": None}}, id="no label"),
    ],
)
def test_fact_02_accepts_null_anywhere_in_node(handlers: Handlers, node: dict[str, object]) -> None:
    answer = ask(handlers, "filter", body_of(full_mode([node]))).json
    assert answer["FailedAndUnresolvableNodes"] == {
        "n": "node(s) didn't have the priority label priority.lixueduan.com"
    }


def test_fact_02_kind_and_version_of_objects_are_optional(handlers: Handlers) -> None:
    typed = {"kind": "Node", "apiVersion": "v1"} | labelled_object("n10", "10")
    answer = ask(handlers, "filter", body_of(full_mode([typed]))).json
    assert answer["Nodes"]["items"] == [typed]


@pytest.mark.parametrize("verb", VERBS)
def test_fact_02_decodes_base64(handlers: Handlers, verb: str) -> None:
    body = body_of(REQUESTS[verb])
    assert ask(handlers, verb, body.encode()) == ask(handlers, verb, body)


@pytest.mark.parametrize("verb", ["filter", "filter_onlyone", "bind"])
@pytest.mark.parametrize("body", ["", "{", "[]", "null", '"x"', "{}", '{"Pod": null}', None])
def test_fact_03_failed_filter_and_bind_return_200_with_error(handlers: Handlers, verb: str, body: str | None) -> None:
    answer = ask(handlers, verb, body)
    assert answer.status == 200
    assert answer.error != ""


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
@pytest.mark.parametrize(
    "path",
    ["/scheduler/filter/", "/scheduler//filter", "/scheduler", "/", "/scheduler/priority", "/filter", "/healthz/"],
)
def test_fact_04_does_not_redirect_any_path(caller: Caller, method: str, path: str) -> None:
    response = caller.request(method, path, "{}")
    assert response.status == 404
    assert "location" not in response.headers


def test_fact_05_read_times_out_before_the_schedulers_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default httpTimeout is 5 s. One read of the table must fail at least a second earlier."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")  # Lambda sets it; a client needs a region
    table: Any = cache_adapters(PolicySettings(cache_table="t")).tables.cache
    config = table._client.meta.config
    attempts = config.retries["total_max_attempts"]
    assert (config.connect_timeout + config.read_timeout) * attempts <= 4


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("body", [pytest.param(None, id="a request"), pytest.param("{", id="bad input")])
def test_fact_06_every_response_of_a_verb_has_content_length(caller: Caller, verb: str, body: str | None) -> None:
    response = caller.post(f"/scheduler/{verb}", body or body_of(REQUESTS[verb]))
    assert response.headers["content-length"] == str(len(response.content))
    assert "transfer-encoding" not in response.headers


@pytest.mark.parametrize(("method", "path"), [("GET", "/healthz"), ("POST", "/scheduler/nothing"), ("GET", "/")])
def test_fact_06_responses_of_other_routes_have_content_length(caller: Caller, method: str, path: str) -> None:
    response = caller.request(method, path)
    assert response.headers["content-length"] == str(len(response.content))


def test_fact_06_large_response_has_content_length_and_keeps_the_connection(caller: Caller) -> None:
    request = cache_mode([f"node-{index}" for index in range(6_000)])
    for _ in range(3):
        response = caller.post("/scheduler/filter", body_of(request))
        assert len(response.content) > 300_000
        assert response.headers["content-length"] == str(len(response.content))
    assert len(caller.local_ports) == 1


@pytest.mark.parametrize("verb", POD_VERBS)
@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(pod_object(requests={"example.com/licence": "0"}), id="the amount 0"),
        pytest.param(pod_object(init_requests={"example.com/licence": "1"}), id="in an init container only"),
    ],
)
def test_fact_07_accepts_a_pod_with_a_managed_resource(handlers: Handlers, verb: str, pod: dict[str, object]) -> None:
    wanted = ask(handlers, verb, body_of(REQUESTS[verb]))
    assert ask(handlers, verb, body_of(REQUESTS[verb] | {"Pod": pod})) == wanted


def test_fact_10_repeated_filter_returns_the_same_response_and_does_not_write() -> None:
    verbs = Verbs([labelled("n10", "10")])
    verbs.table.calls.clear()
    nominated = cache_mode(["n10"], pod_object(nominated_node="n10"))
    first, second = verbs.ask("filter", nominated), verbs.ask("filter", nominated)
    assert first.text == second.text
    assert set(verbs.table.calls) == {"head", "log"}


def test_fact_20_and_35_routes_match_the_verbs_of_the_scheduler_configuration() -> None:
    """A misspelled verb returns 404 on each call. For prioritize, kube-scheduler ignores the 404."""
    assert set(folders_of_routes()) == {*(f"POST /scheduler/{verb}" for verb in VERBS), "GET /healthz"}


def test_transport_limits_allow_five_thousand_names(handlers: Handlers) -> None:
    names = [f"ip-10-0-{index}.eu-central-1.compute.internal" for index in range(4_999)] + ["n10"]
    body = body_of(cache_mode(names))
    assert len(body) < 300_000
    answer = orjson.loads(ask(handlers, "filter", body).text)
    assert answer["NodeNames"] == ["n10"]
    assert len(answer["FailedAndUnresolvableNodes"]) == 4_999
