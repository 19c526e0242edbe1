"""What a dump does that the Kubernetes API does not: files, formats, edits."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from berth.cluster.dump import DumpCluster
from berth.extender.ports import Assignment, Binding, Created, Refused, Unanswered
from berth.nodecache.cluster import ClusterUnavailable
from berth.nodecache.codec import pack, unpack
from tests.builders.nodes import PRIORITY

LIST = """
apiVersion: v1
kind: List
items:
- {kind: Node, metadata: {name: n10, labels: {priority.lixueduan.com: "10"}}}
- {kind: Node, metadata: {name: plain}}
- {kind: Pod, metadata: {name: p, namespace: ml, uid: uid-p}, spec: {}}
"""


def cluster(directory: Path, text: str | bytes, name: str = "dump.yaml") -> DumpCluster:
    path = directory / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return DumpCluster(path)


def edit(path: Path, text: str) -> None:
    """Change the file and, as a clock that runs on would, its time."""
    before = path.stat().st_mtime_ns
    path.write_text(text)
    os.utime(path, ns=(before + 1_000, before + 1_000))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(LIST, id="a List as YAML"),
        pytest.param(
            '{"kind": "List", "items": [{"kind": "Node", "metadata": {"name": "n10", "labels": '
            '{"priority.lixueduan.com": "10"}}}, {"kind": "Node", "metadata": {"name": "plain"}}]}',
            id="a List as JSON",
        ),
        pytest.param(
            "kind: Node\nmetadata: {name: n10, labels: {priority.lixueduan.com: '10'}}\n---\n"
            "kind: Node\nmetadata: {name: plain}\n",
            id="several documents",
        ),
        pytest.param("---\n---\n" + LIST + "\n---\n", id="empty documents among them"),
        pytest.param("kind: List\nitems: [null, 7, text]\n---" + LIST, id="entries that are no objects"),
    ],
)
def test_what_kubectl_prints_is_read(tmp_path: Path, text: str) -> None:
    listed = cluster(tmp_path, text).list()
    assert [(node.name, node.labels.get(PRIORITY)) for node in listed.nodes] == [("n10", "10"), ("plain", None)]


def test_one_object_alone_is_a_cluster_too(tmp_path: Path) -> None:
    assert [node.name for node in cluster(tmp_path, "kind: Node\nmetadata: {name: n1}").list().nodes] == ["n1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "has no objects; make one with `kubectl get nodes,pods -A -o yaml`", id="empty"),
        pytest.param("kind: List\nitems: []", "has no objects", id="an empty List"),
        pytest.param("just text", "has no objects", id="text"),
        pytest.param("{not JSON", "is neither JSON nor YAML as kubectl prints it", id="almost JSON"),
        pytest.param("a: [1\nb: 2", "is neither JSON nor YAML as kubectl prints it", id="almost YAML"),
        pytest.param(b"\xff\xfe\x00\xd8", "is neither JSON nor YAML as kubectl prints it", id="binary"),
        pytest.param("a: !!python/object:os.system {}", "is neither JSON nor YAML", id="a tag that would run code"),
    ],
)
def test_what_is_no_dump_is_told_in_one_line_that_names_the_file(
    tmp_path: Path, text: str | bytes, message: str
) -> None:
    with pytest.raises(ClusterUnavailable) as caught:
        cluster(tmp_path, text).list()
    assert str(caught.value).startswith(f"dump {tmp_path}/dump.yaml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [("absent.yaml", "No such file or directory"), ("folder", "Is a directory")],
)
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ClusterUnavailable) as caught:
        DumpCluster(tmp_path / name).list()
    assert str(caught.value) == f"dump {tmp_path / name}: {message}"


def test_an_edit_is_an_event_of_the_cluster(tmp_path: Path) -> None:
    dump = cluster(tmp_path, LIST)
    before = dump.list()
    edit(tmp_path / "dump.yaml", LIST.replace('"10"', '"30"'))
    after = dump.list()
    assert [node.labels.get(PRIORITY) for node in after.nodes] == ["30", None]
    assert before.resource_version != after.resource_version


def test_a_file_that_did_not_change_is_not_read_again(tmp_path: Path) -> None:
    dump = cluster(tmp_path, LIST)
    first = dump.list()
    assert dump.list() is first


def test_an_edit_that_breaks_the_file_is_told_and_the_next_one_heals_it(tmp_path: Path) -> None:
    dump = cluster(tmp_path, LIST)
    dump.list()
    edit(tmp_path / "dump.yaml", "{")
    with pytest.raises(ClusterUnavailable):
        dump.list()
    edit(tmp_path / "dump.yaml", LIST)
    assert len(dump.list().nodes) == 2


def test_bindings_outlive_an_edit_and_never_reach_the_file(tmp_path: Path) -> None:
    dump = cluster(tmp_path, LIST)
    assert dump.create_binding(Binding("ml", "p", "uid-p", "n10"), 1) == Created()
    text = (tmp_path / "dump.yaml").read_text()
    edit(tmp_path / "dump.yaml", LIST + "\n")
    assert dump.assignment("ml", "p", 1) == Assignment("uid-p", "n10")
    assert text == LIST


def test_a_pod_that_an_edit_replaces_is_not_bound(tmp_path: Path) -> None:
    dump = cluster(tmp_path, LIST)
    dump.create_binding(Binding("ml", "p", "uid-p", "n10"), 1)
    edit(tmp_path / "dump.yaml", LIST.replace("uid-p", "uid-new"))
    assert dump.assignment("ml", "p", 1) == Assignment("uid-new", "")


def test_a_pod_without_a_namespace_is_in_the_default_one(tmp_path: Path) -> None:
    dump = cluster(tmp_path, "kind: Pod\nmetadata: {name: p, uid: u}")
    assert dump.assignment("default", "p", 1) == Assignment("u", "")


@pytest.mark.parametrize(
    "pod",
    ["{kind: Pod}", "{kind: Pod, metadata: 7}", "{kind: Pod, metadata: {name: p, namespace: ml, uid: u}, spec: 7}"],
)
def test_a_pod_of_the_wrong_shape_hides_nothing_else(tmp_path: Path, pod: str) -> None:
    dump = cluster(tmp_path, f"kind: List\nitems: [{pod}, {{kind: Node, metadata: {{name: n1}}}}]")
    assert [node.name for node in dump.list().nodes] == ["n1"]
    assert dump.assignment("ml", "q", 1) == Refused(404, 'pods "q" not found')


def test_of_two_threads_that_bind_one_pod_to_two_nodes_one_is_refused(tmp_path: Path) -> None:
    dump = cluster(tmp_path, LIST)
    together = Barrier(8)

    def bind(node: str) -> Created | Refused | Unanswered:
        together.wait()
        return dump.create_binding(Binding("ml", "p", "uid-p", node), 1)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(bind, [f"n{index}" for index in range(8)]))
    assert found.count(Created()) == 1
    assert all(isinstance(answer, Refused) for answer in found if answer != Created())


def test_a_node_whose_labels_yaml_reads_as_something_else_can_be_published(tmp_path: Path) -> None:
    """YAML takes an unquoted `on` for a boolean and an unquoted 10 for a number: hand-written dumps have both."""
    dump = cluster(tmp_path, "kind: List\nitems:\n- {kind: Node, metadata: {name: n1, labels: {on: 'x', a: 10}}}")
    snapshot = unpack(pack(dump.list().nodes))
    assert snapshot.nodes["n1"].defect == "node(s) had labels that are not strings"


def test_a_label_key_that_yaml_reads_as_no_string_can_be_published_too(tmp_path: Path) -> None:
    dump = cluster(tmp_path, "kind: List\nitems:\n- {kind: Node, metadata: {name: n1, labels: {on: 'x', 7: 'y'}}}")
    snapshot = unpack(pack(dump.list().nodes))
    assert snapshot.nodes["n1"].defect == "node(s) had labels that are not strings"
