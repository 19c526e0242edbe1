"""Facts 25 to 29 of docs/reference/extender-contract.md: the answers of preempt."""

from __future__ import annotations

from typing import Any

import pytest

from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_object
from tests.builders.requests import Request, victims_by_uid, victims_in_full
from tests.fakes.verbs import Answer, Verbs


def preempt(request: object) -> Answer:
    """Call preempt for nodes that the cache has never seen: the request alone is used."""
    return Verbs([]).ask("preempt", request)


def victims(answer: Answer) -> dict[str, Any]:
    assert answer.status == 200
    assert list(answer.json) == ["NodeNameToMetaVictims"]
    found: dict[str, Any] = answer.json["NodeNameToMetaVictims"]
    return found


def test_fact_25_cache_mode_returns_uids() -> None:
    assert preempt(victims_by_uid({"n1": ["v1", "v2"], "n2": ["v3"]}, violations=1)).text == (
        '{"NodeNameToMetaVictims":{'
        '"n1":{"Pods":[{"UID":"v1"},{"UID":"v2"}],"NumPDBViolations":1},'
        '"n2":{"Pods":[{"UID":"v3"}],"NumPDBViolations":1}}}'
    )


def test_fact_25_full_mode_returns_uids() -> None:
    request = victims_in_full({"n1": [pod_object("v1", uid="v1", priority=5)]}, violations=2)
    assert preempt(request).text == '{"NodeNameToMetaVictims":{"n1":{"Pods":[{"UID":"v1"}],"NumPDBViolations":2}}}'


@pytest.mark.parametrize("key", ["NodeNameToVictims", "NodeNameToMetaVictims"])
@pytest.mark.parametrize(
    "value",
    [
        pytest.param(None, id="null for a node"),
        pytest.param({"Pods": None, "NumPDBViolations": 0}, id="null for the pods of a node"),
        pytest.param({"Pods": [None], "NumPDBViolations": None}, id="null for a pod"),
        pytest.param({}, id="absent value for a node"),
    ],
)
def test_fact_26_null_in_request_is_never_null_in_response(key: str, value: object) -> None:
    answer = preempt({"Pod": pod_object(), key: {"n1": value}})
    assert "null" not in answer.text
    assert victims(answer) == {}


def test_fact_26_returns_repeated_victim_once() -> None:
    assert victims(preempt(victims_by_uid({"n1": ["v1", "v1"]})))["n1"]["Pods"] == [{"UID": "v1"}]


@pytest.mark.parametrize(
    "request_body",
    [
        pytest.param(victims_by_uid({"n1": [], "n2": ["v1"]}), id="cache mode"),
        pytest.param(victims_in_full({"n1": [], "n2": [pod_object(uid="v1")]}), id="full mode"),
    ],
)
def test_fact_27_accepts_empty_list_and_omits_its_node(request_body: Request) -> None:
    assert list(victims(preempt(request_body))) == ["n2"]


def test_fact_27_returns_empty_map_if_every_list_is_empty() -> None:
    assert preempt(victims_by_uid({"n1": []})).text == '{"NodeNameToMetaVictims":{}}'


@pytest.mark.parametrize(
    "request_body",
    [
        pytest.param(victims_by_uid({}), id="cache mode"),
        pytest.param(victims_in_full({}), id="full mode"),
        pytest.param(victims_by_uid({}) | {"NodeNameToMetaVictims": None}, id="null as Go encodes a nil map"),
    ],
)
def test_fact_28_returns_empty_map_for_empty_map(request_body: Request) -> None:
    assert preempt(request_body).text == '{"NodeNameToMetaVictims":{}}'


@pytest.mark.parametrize(
    "request_body",
    [
        pytest.param(
            victims_by_uid({}) | {"NodeNameToMetaVictims": {"n1": {"Pods": [{"UID": "v1"}, {"UID": 2}]}}}, id="meta"
        ),
        pytest.param(
            victims_in_full({"n1": [pod_object(uid="v1"), {"metadata": {"uid": "v2"}, "spec": {"priority": "high"}}]}),
            id="full",
        ),
    ],
)
def test_fact_28_call_fails_if_a_victim_is_unreadable(request_body: Request) -> None:
    """With one victim fewer the pod would not fit, and the scheduler would evict the others for nothing."""
    assert preempt(request_body).status == 400


@pytest.mark.parametrize(
    "unreadable",
    [
        pytest.param(["v1"], id="not an object"),
        pytest.param({"Pods": "v1"}, id="pods are not a list"),
        pytest.param({"Pods": [{"UID": "v1"}, {"UID": 2}]}, id="one of its victims has no UID"),
        pytest.param({"Pods": [{"UID": "v1"}], "NumPDBViolations": -1}, id="negative number of violations"),
    ],
)
def test_fact_28_omits_unreadable_node_if_others_are_left(unreadable: object) -> None:
    request_body = victims_by_uid({"n2": ["v2"]})
    request_body["NodeNameToMetaVictims"] = {"n1": unreadable, **request_body["NodeNameToMetaVictims"]}  # type: ignore[dict-item]
    assert list(victims(preempt(request_body))) == ["n2"]


def test_fact_29_sorts_victims_by_descending_known_priority() -> None:
    pods = [
        pod_object(uid="lowest", priority=-10),
        pod_object(uid="unresolved"),
        pod_object(uid="highest", priority=900),
        pod_object(uid="middle", priority=5),
    ]
    found = victims(preempt(victims_in_full({"n1": pods})))
    assert [pod["UID"] for pod in found["n1"]["Pods"]] == ["highest", "middle", "unresolved", "lowest"]


def test_fact_29_keeps_schedulers_order_for_equal_priorities() -> None:
    pods = [pod_object(uid=uid, priority=5) for uid in ("c", "a", "b")]
    found = victims(preempt(victims_in_full({"n1": pods})))
    assert [pod["UID"] for pod in found["n1"]["Pods"]] == ["c", "a", "b"]


def test_fact_29_keeps_schedulers_order_for_uids() -> None:
    found = victims(preempt(victims_by_uid({"n1": ["c", "a", "b"]})))
    assert [pod["UID"] for pod in found["n1"]["Pods"]] == ["c", "a", "b"]


def test_preempt_omits_nodes_that_the_policy_rejects() -> None:
    verbs = Verbs([labelled("labelled", "10"), node("unlabelled")])
    answer = verbs.ask("preempt", victims_by_uid({"labelled": ["v1"], "unlabelled": ["v2"], "unknown": ["v3"]}))
    assert list(victims(answer)) == ["labelled", "unknown"]


def test_fact_28_does_not_evict_any_pod_without_cache() -> None:
    assert Verbs().ask("preempt", victims_by_uid({"n1": ["v1"]})).status == 500
