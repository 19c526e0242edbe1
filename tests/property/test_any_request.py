"""A handler responds to any request in its contract's form and reveals no internals."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders.events import http_event
from tests.property.json_values import json_values, mutated

pytestmark = pytest.mark.long

Handlers = Mapping[str, Callable[..., Any]]
VERBS = ("filter", "filter_onlyone", "prioritize", "bind", "preempt")
KIND = {"bind": "bind", "preempt": "preempt"}
RESULT_KEYS = ["Nodes", "NodeNames", "FailedNodes", "FailedAndUnresolvableNodes", "Error"]

# json.dumps makes the bodies, because orjson cannot encode integers above 64 bits, which a caller may send.
events = st.fixed_dictionaries({"body": json_values | st.text(max_size=32), "isBase64Encoded": st.booleans()})


@pytest.fixture(scope="module")
def handlers(load_function: Callable[..., Callable[..., Any]], cluster_dump: str) -> Handlers:
    """Return each verb's function, in its own warm environment."""
    return {verb: load_function(verb, {"BERTH_CLUSTER_DUMP": cluster_dump}) for verb in VERBS}


def is_filter_result(answer: Any) -> None:
    assert list(answer) == RESULT_KEYS
    assert isinstance(answer["Error"], str)
    assert answer["NodeNames"] is None or all(isinstance(name, str) for name in answer["NodeNames"])
    assert answer["Nodes"] is None or isinstance(answer["Nodes"]["items"], list)
    assert (answer["NodeNames"] is None) != (answer["Nodes"] is None)
    for failed in (answer["FailedNodes"], answer["FailedAndUnresolvableNodes"]):
        assert all(isinstance(reason, str) and reason for reason in failed.values())


def is_priority_list(answer: Any) -> None:
    hosts = [entry["Host"] for entry in answer]
    assert all(isinstance(host, str) for host in hosts)
    assert len(set(hosts)) == len(hosts)
    assert all(type(entry["Score"]) is int and list(entry) == ["Host", "Score"] for entry in answer)


def is_binding_result(answer: Any) -> None:
    assert list(answer) == ["Error"]
    assert isinstance(answer["Error"], str)


def is_preemption_result(answer: Any) -> None:
    assert list(answer) == ["NodeNameToMetaVictims"]
    for victims in answer["NodeNameToMetaVictims"].values():
        assert list(victims) == ["Pods", "NumPDBViolations"]
        assert victims["Pods"]
        assert all(list(pod) == ["UID"] and isinstance(pod["UID"], str) and pod["UID"] for pod in victims["Pods"])
        assert type(victims["NumPDBViolations"]) is int


SHAPES: Mapping[str, Callable[[Any], None]] = {
    "filter": is_filter_result,
    "filter_onlyone": is_filter_result,
    "prioritize": is_priority_list,
    "bind": is_binding_result,
    "preempt": is_preemption_result,
}


def holds_the_contract(handlers: Handlers, verb: str, event: Mapping[str, object]) -> None:
    answer = handlers[verb](event, None)
    assert "Traceback" not in answer["body"]
    assert "failed unexpectedly" not in answer["body"]
    decoded = orjson.loads(answer["body"])
    if answer["statusCode"] == 200:
        SHAPES[verb](decoded)
    else:
        assert verb in {"prioritize", "preempt"}
        assert answer["statusCode"] == 400
        assert list(decoded) == ["Error"]


@pytest.mark.parametrize("verb", VERBS)
@given(data=st.data())
def test_response_to_mutated_request_has_the_contract_form(handlers: Handlers, verb: str, data: st.DataObject) -> None:
    request = data.draw(mutated(KIND.get(verb, "listing")))
    holds_the_contract(handlers, verb, http_event(json.dumps(request)))


@pytest.mark.parametrize("verb", VERBS)
@given(value=json_values)
def test_response_to_any_json_value_has_the_contract_form(handlers: Handlers, verb: str, value: Any) -> None:
    holds_the_contract(handlers, verb, http_event(json.dumps(value)))


@pytest.mark.parametrize("verb", VERBS)
@given(body=st.binary(max_size=64) | st.text(max_size=64).map(str.encode))
def test_response_to_any_bytes_has_the_contract_form(handlers: Handlers, verb: str, body: bytes) -> None:
    holds_the_contract(handlers, verb, {"body": base64.b64encode(body).decode(), "isBase64Encoded": True})


@pytest.mark.parametrize("verb", VERBS)
@given(event=events)
def test_response_to_any_event_has_the_contract_form(
    handlers: Handlers, verb: str, event: Mapping[str, object]
) -> None:
    holds_the_contract(handlers, verb, event)
