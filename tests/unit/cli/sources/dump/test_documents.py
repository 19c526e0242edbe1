"""Parsing dumps and manifests: JSON, YAML, lists, streams and invalid files."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from berth_cli.sources.dump.documents import parse_objects
from berth_cli.terminal.input_files import InvalidInput, read_input

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


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"items: [\nkind: List", id="broken YAML"),
        pytest.param(b'{"items": [', id="broken JSON"),
        pytest.param(b'{"items": [' + b" " * 2_000_000, id="a large dump that was cut off"),
        pytest.param(b"\xff\xfe\x00", id="binary"),
        pytest.param(b"kind: Node\nsince: 2026-13-45", id="a date that there is not"),
        pytest.param(b"items:\n- a: b\n- c: [\n", id="a broken item of many"),
    ],
)
def test_reports_invalid_file_on_one_line(text: bytes) -> None:
    with pytest.raises(InvalidInput) as caught:
        list(parse_objects(text, "dump.yaml"))
    assert caught.value.message.startswith("dump.yaml is neither JSON nor YAML as kubectl prints it: ")
    assert "\n" not in caught.value.message
    assert caught.value.exit_code == 2


def test_reports_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file or directory"):
        read_input(tmp_path / "absent.yaml")


texts = st.text(st.sampled_from("ab-# :\n&*'\"|"), max_size=12)
values = st.recursive(
    texts | st.integers(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
)


@given(st.lists(st.fixed_dictionaries({"kind": st.just("Node"), "x": values}), max_size=4))
def test_item_by_item_equals_whole_document(items: list[object]) -> None:
    text = as_kubectl({"apiVersion": "v1", "items": items, "kind": "List"})
    assert list(parse_objects(text, "dump.yaml")) == items
