"""Reading dumps and manifests: JSON, YAML, lists, streams, invalid input, and defaults of the API server."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from berth.cluster.dump_objects import MalformedDump, parse_objects, select_objects

NODE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "a", "annotations": {"note": "- one\n- two\n"}},
}
META = {"name": "p", "namespace": "ml", "uid": "u"}
POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": META, "spec": {"containers": [{"name": "c"}]}}
LIST = {"apiVersion": "v1", "items": [NODE, POD], "kind": "List", "metadata": {"resourceVersion": ""}}

BARE = {"metadata": {"name": "a"}}
BARE_NODE = {"kind": "Node", **BARE}


def as_kubectl(value: object) -> bytes:
    """Return YAML like kubectl's: the keys are sorted, and the items of a list are not indented."""
    text: str = yaml.dump(value, default_flow_style=False, sort_keys=True)
    return text.encode()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(orjson.dumps(LIST), [NODE, POD], id="a List as JSON"),
        pytest.param(as_kubectl(LIST), [NODE, POD], id="a List as YAML, which is read item by item"),
        pytest.param(as_kubectl(NODE), [NODE], id="one object"),
        pytest.param(as_kubectl(NODE) + b"---\n" + as_kubectl(POD), [NODE, POD], id="several documents"),
        pytest.param(as_kubectl(LIST) + b"---\n" + as_kubectl(POD), [NODE, POD, POD], id="a List and more documents"),
        pytest.param(b"---\n" + as_kubectl(LIST), [NODE, POD], id="with a document marker"),
        pytest.param(b"# a dump\n" + as_kubectl(LIST) + b"# the end\n", [NODE, POD], id="with comments"),
        pytest.param(as_kubectl(LIST).replace(b"- apiV", b"# next\n- apiV"), [NODE, POD], id="with comments inside"),
        pytest.param(as_kubectl(LIST).replace(b"\n", b"\r\n"), [NODE, POD], id="with the line ends of Windows"),
        pytest.param(as_kubectl([NODE, POD]), [NODE, POD], id="a bare list"),
        pytest.param(orjson.dumps({"items": [BARE], "kind": "NodeList"}), [BARE_NODE], id="a NodeList without kinds"),
        pytest.param(b"items:\n- metadata: {name: a}\nkind: NodeList\n", [BARE_NODE], id="kind after items"),
        pytest.param(
            orjson.dumps({"apiVersion": "v1", "kind": "NodeList", "items": [BARE]}),
            [{"apiVersion": "v1", **BARE_NODE}],
            id="items have the version of the list",
        ),
        pytest.param(as_kubectl({"kind": "List", "items": [LIST, {"items": [POD]}]}), [NODE, POD, POD], id="in lists"),
        pytest.param(
            b"kind: List\nitems:\n- kind: NodeList\n  items:\n  - metadata: {name: a}\n",
            [BARE_NODE],
            id="a nested NodeList",
        ),
        pytest.param(orjson.dumps(LIST) + b"\n" + orjson.dumps(POD), [NODE, POD, POD], id="a stream of JSON"),
        pytest.param(orjson.dumps([NODE, [POD]]), [NODE, POD], id="a bare list as JSON"),
        pytest.param(b"\xef\xbb\xbf" + orjson.dumps(LIST), [NODE, POD], id="a byte order mark"),
        pytest.param(as_kubectl(LIST).decode().encode("utf-16"), [NODE, POD], id="UTF-16, as PowerShell 5.1 writes it"),
        pytest.param(orjson.dumps(LIST).decode().encode("utf-16"), [NODE, POD], id="JSON in UTF-16"),
        pytest.param(
            b"kind: Node\nmetadata: {labels: {7: a, true: b}, creationTimestamp: 2026-01-01T00:00:00Z}",
            [
                {
                    "kind": "Node",
                    "metadata": {"labels": {"7": "a", "true": "b"}, "creationTimestamp": "2026-01-01T00:00:00Z"},
                }
            ],
            id="keys and dates are text",
        ),
        pytest.param(
            b"items:\n- kind: Node\n  status: &s {phase: x}\n- kind: Node\n  status: *s\n",
            [{"kind": "Node", "status": {"phase": "x"}}] * 2,
            id="an alias to another item",
        ),
        pytest.param(b"items:\n  - kind: Node\n", [{"kind": "Node"}], id="indented items"),
        pytest.param(orjson.dumps(NODE) + b"\n---\n" + orjson.dumps(POD), [NODE, POD], id="several documents of JSON"),
        pytest.param(b"{kind: Node, metadata: {name: a}}", [{"kind": "Node", "metadata": {"name": "a"}}], id="inline"),
        pytest.param(b"items: []\n", [], id="an empty List"),
        pytest.param(b"", [], id="an empty file"),
    ],
)
def test_parses_objects_of_json_and_yaml(text: bytes, wanted: list[object]) -> None:
    assert list(parse_objects(text)) == wanted


texts = st.text(st.sampled_from("ab-# :\n&*'\"|"), max_size=12)
values = st.recursive(
    texts | st.integers(-(2**63), 2**63 - 1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
)


@given(st.lists(st.fixed_dictionaries({"kind": st.just("Node"), "x": values}), max_size=4))
def test_parsing_item_by_item_returns_the_dumped_objects(items: list[object]) -> None:
    text = as_kubectl({"apiVersion": "v1", "items": items, "kind": "List"})
    assert list(parse_objects(text)) == items


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(b"{", "is neither JSON nor YAML as kubectl prints it: ", id="broken JSON"),
        pytest.param(b"a: [", "is neither JSON nor YAML as kubectl prints it: ", id="broken YAML"),
        pytest.param(b"just words", "contains 'just words' instead of a Kubernetes object", id="text"),
        pytest.param(b"items:\n- 7\n", "contains '7' instead of a Kubernetes object", id="a number in a list"),
        pytest.param(b"{kind: Node, x: .nan, y: !!binary aGk=}", "has a Node that JSON cannot express", id="bytes"),
    ],
)
def test_rejects_input_that_kubectl_rejects(text: bytes, message: str) -> None:
    with pytest.raises(MalformedDump, match=message):
        list(parse_objects(text))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(
            b"{kind: Pod, metadata: {name: p}}",
            {"kind": "Pod", "metadata": {"name": "p", "namespace": "default", "uid": "default.p"}},
            id="namespace and UID of a pod",
        ),
        pytest.param(
            b"{kind: Pod, metadata: {generateName: p-}}",
            {"kind": "Pod", "metadata": {"generateName": "p-", "namespace": "default"}},
            id="a pod without a name does not get a UID",
        ),
        pytest.param(b"{kind: Node, metadata: {name: a}}", BARE_NODE, id="a node does not have a namespace"),
        pytest.param(
            b"{kind: Node, status: {capacity: {cpu: 4}}}",
            {"kind": "Node", "status": {"capacity": {"cpu": 4}, "allocatable": {"cpu": 4}}},
            id="allocatable is capacity by default",
        ),
        pytest.param(
            b"{kind: Node, status: {capacity: {cpu: 4}, allocatable: {}}}",
            {"kind": "Node", "status": {"capacity": {"cpu": 4}, "allocatable": {}}},
            id="an empty allocatable stays",
        ),
    ],
)
def test_sets_api_server_defaults(text: bytes, wanted: object) -> None:
    assert list(parse_objects(text)) == [wanted]


def test_uses_the_last_of_several_objects_with_the_same_name() -> None:
    other = {**POD, "metadata": {**META, "namespace": "web"}}
    newer = {**POD, "spec": {"nodeName": "a"}}
    assert select_objects([POD, NODE, other, newer]) == ([newer, NODE, other], {"Pod that occurs again": 1})


def test_counts_skipped_objects_by_reason() -> None:
    native, foreign = ({"apiVersion": f"{group}/v1", "kind": "PodGroup"} for group in ("scheduling.k8s.io", "acme.com"))
    objects: list[dict[str, Any]] = [
        {"kind": "ConfigMap"},
        {"kind": "ConfigMap"},
        NODE,
        {"metadata": {}},
        native,
        foreign,
    ]
    assert select_objects(objects) == (
        [NODE, native],
        {
            "ConfigMap that scheduling does not use": 2,
            "object without a kind": 1,
            "PodGroup that scheduling does not use": 1,
        },
    )
