"""Parsing dumps and manifests: JSON, YAML, lists, streams and invalid files."""

from __future__ import annotations

import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from berth_cli.sources.dump.documents import parse_objects

NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "annotations": {"note": "- one\n- two\n"}}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}
LIST = {"apiVersion": "v1", "items": [NODE, POD], "kind": "List", "metadata": {"resourceVersion": ""}}


def as_kubectl(value: object) -> bytes:
    """kubectl's YAML: keys sorted, items of a list not indented, long texts as blocks."""
    text: str = yaml.dump(value, default_flow_style=False, sort_keys=True)
    return text.encode()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(orjson.dumps(LIST), [NODE, POD], id="a List as JSON"),
        pytest.param(as_kubectl(LIST), [NODE, POD], id="a List as YAML, which is read item by item"),
        pytest.param(as_kubectl(NODE), [NODE], id="one object alone"),
        pytest.param(as_kubectl(NODE) + b"---\n" + as_kubectl(POD), [NODE, POD], id="several documents"),
        pytest.param(as_kubectl(LIST) + b"---\n" + as_kubectl(POD), [NODE, POD, POD], id="a List and more documents"),
        pytest.param(b"---\n" + as_kubectl(LIST), [NODE, POD], id="with a document's mark before it"),
        pytest.param(b"# a dump\n" + as_kubectl(LIST) + b"# the end\n", [NODE, POD], id="with comments"),
        pytest.param(as_kubectl(LIST).replace(b"- apiV", b"# next\n- apiV"), [NODE, POD], id="with comments inside"),
        pytest.param(as_kubectl(LIST).replace(b"\n", b"\r\n"), [NODE, POD], id="with the line ends of Windows"),
        pytest.param(as_kubectl([NODE, POD]), [NODE, POD], id="a bare list"),
        pytest.param(
            orjson.dumps({"kind": "NodeList", "items": [{"metadata": {"name": "a"}}]}),
            [{"kind": "Node", "metadata": {"name": "a"}}],
            id="items of a NodeList, as the API server sends it, are nodes",
        ),
        pytest.param(
            b"items:\n- kind: Node\n  status: &s {phase: x}\n- kind: Node\n  status: *s\n",
            [{"kind": "Node", "status": {"phase": "x"}}] * 2,
            id="an alias for what another item has",
        ),
        pytest.param(b"items:\n  - kind: Node\n", [{"kind": "Node"}], id="indented items"),
        pytest.param(orjson.dumps(NODE) + b"\n---\n" + orjson.dumps(POD), [NODE, POD], id="several documents of JSON"),
        pytest.param(
            b"{kind: Node, metadata: {name: a}}", [{"kind": "Node", "metadata": {"name": "a"}}], id="flow style"
        ),
        pytest.param(b"items: []\n", [], id="an empty List"),
        pytest.param(b"", [], id="an empty file"),
        pytest.param(b"just words", [], id="a text is no object"),
    ],
)
def test_parses_objects(text: bytes, wanted: list[object]) -> None:
    assert list(parse_objects(text, "dump.yaml")) == wanted


texts = st.text(st.sampled_from("ab-# :\n&*'\"|"), max_size=12)
values = st.recursive(
    texts | st.integers(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)


@given(st.lists(st.fixed_dictionaries({"kind": st.just("Node"), "x": values}), max_size=4))
def test_item_by_item_equals_whole_document(items: list[object]) -> None:
    text = as_kubectl({"apiVersion": "v1", "items": items, "kind": "List"})
    assert list(parse_objects(text, "dump.yaml")) == items
