"""The behavior in which a dump differs from the Kubernetes API: files, formats, edits."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from berth.cluster import dump_cluster
from berth.cluster.dump_cluster import DumpCluster
from berth.nodecache.feed.changes import pack, unpack
from berth.nodecache.feed.cluster import (
    ClusterUnavailable,
    ClusterWatch,
    Event,
    Interrupted,
    Listed,
    Modified,
    ResourceEvent,
)
from berth.nodecache.feed.head import Position
from berth.nodecache.feed.leader import ObservedState
from berth.nodecache.snapshot_view import SnapshotView
from berth.pods import Binding, Created, FoundPod, Refused, Unanswered
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import PRIORITY
from tests.fakes.clock import HandDrivenClock

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


def published(dump: DumpCluster) -> Snapshot:
    state = ObservedState({})
    for received in dump.watch({}).take(0):
        assert isinstance(received.event, Listed)
        state.relist(received.resource, received.event.objects)
    view = SnapshotView()
    return view.applied(view.empty(), unpack(pack(state.take_changes()).items)).snapshot


def edit(path: Path, text: str) -> None:
    """Change the file and advance its modification time, as a later edit does."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 1_000, before + 1_000))


def test_reads_output_of_kubectl(tmp_path: Path) -> None:
    nodes = published(cluster(tmp_path, LIST)).nodes
    assert {name: node.labels.get(PRIORITY) for name, node in nodes.items()} == {"n10": "10", "plain": None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "has no objects; make one with `kubectl get nodes,pods -A -o yaml`", id="empty"),
        pytest.param("kind: List\nitems: []", "has no objects", id="an empty List"),
        pytest.param("just text", "contains 'just text' instead of a Kubernetes object", id="text"),
        pytest.param(b"\xff\xfe\x00\xd8", "is neither JSON nor YAML as kubectl prints it", id="binary"),
        pytest.param("a: 1", "has only 1 object without a kind; make one with", id="not a Kubernetes object"),
        pytest.param("a: !!python/object:os.system {}", "is neither JSON nor YAML", id="a tag that would run code"),
    ],
)
def test_error_names_an_invalid_file_and_its_problem(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(ClusterUnavailable) as caught:
        cluster(tmp_path, text).uid()
    assert str(caught.value).startswith(f"dump {tmp_path}/dump.yaml")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"), [("absent.yaml", "No such file or directory"), ("folder", "Is a directory")]
)
def test_error_names_an_unreadable_dump(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(ClusterUnavailable) as caught:
        DumpCluster(tmp_path / name).uid()
    assert str(caught.value) == f"dump {tmp_path / name}: {message}"


def place(dump: DumpCluster, namespace: str, name: str) -> tuple[str, str]:
    found = dump.pod(namespace, name, 1)
    assert isinstance(found, FoundPod)
    return found.uid, found.node


def test_keeps_bindings_after_an_edit_without_writing_them_to_the_file(tmp_path: Path) -> None:
    dump = cluster(tmp_path, LIST)
    assert dump.create_binding(Binding("ml", "p", "uid-p", "n10"), 1) == Created()
    text = (tmp_path / "dump.yaml").read_text()
    edit(tmp_path / "dump.yaml", LIST + "\n")
    assert place(dump, "ml", "p") == ("uid-p", "n10")
    assert text == LIST


def test_drops_binding_when_edit_replaces_pod(tmp_path: Path) -> None:
    dump = cluster(tmp_path, LIST)
    dump.create_binding(Binding("ml", "p", "uid-p", "n10"), 1)
    edit(tmp_path / "dump.yaml", LIST.replace("uid-p", "uid-new"))
    assert place(dump, "ml", "p") == ("uid-new", "")


@pytest.mark.parametrize(
    "pod",
    ["{kind: Pod}", "{kind: Pod, metadata: 7}", "{kind: Pod, metadata: {name: p, namespace: ml, uid: u}, spec: 7}"],
)
def test_reads_other_objects_when_a_pod_is_malformed(tmp_path: Path, pod: str) -> None:
    dump = cluster(tmp_path, f"kind: List\nitems: [{pod}, {{kind: Node, metadata: {{name: n1}}}}]")
    assert list(published(dump).nodes) == ["n1"]
    assert dump.pod("ml", "q", 1) == Refused(404, 'pods "q" not found')


def test_accepts_only_one_of_several_concurrent_bindings_of_a_pod(tmp_path: Path) -> None:
    dump = cluster(tmp_path, LIST)
    together = Barrier(8)

    def bind(node: str) -> Created | Refused | Unanswered:
        together.wait()
        return dump.create_binding(Binding("ml", "p", "uid-p", node), 1)

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(bind, [f"n{index}" for index in range(8)]))
    assert found.count(Created()) == 1
    assert all(isinstance(answer, Refused) for answer in found if answer != Created())


def test_node_with_a_numeric_yaml_label_is_defective(tmp_path: Path) -> None:
    dump = cluster(tmp_path, "kind: List\nitems:\n- {kind: Node, metadata: {name: n1, labels: {a: 10}}}")
    assert published(dump).nodes["n1"].defect == "node(s) had labels that are not strings"


def test_reads_yaml_timestamps_as_times(tmp_path: Path) -> None:
    pod = "{kind: Pod, metadata: {name: p, uid: u}, spec: {nodeName: n1}, status: {startTime: 2026-01-01T00:00:00Z}}"
    dump = cluster(tmp_path, f"kind: List\nitems: [{pod}, {{kind: Node, metadata: {{name: n1}}}}]")
    [found] = published(dump).nodes["n1"].pods
    assert found.start_time == 1767225600.0
    assert found.namespace == "default"


def test_reads_pods_without_uid(tmp_path: Path) -> None:
    pods = ", ".join(f"{{kind: Pod, metadata: {{name: p{index}}}, spec: {{nodeName: n1}}}}" for index in range(3))
    dump = cluster(tmp_path, f"kind: List\nitems: [{pods}, {{kind: Node, metadata: {{name: n1}}}}]")
    assert len(published(dump).nodes["n1"].pods) == 3


def test_does_not_read_unchanged_file_again(tmp_path: Path) -> None:
    dump = cluster(tmp_path, LIST)
    assert dump.read()[0] is dump.read()[0]


def test_cluster_uid_is_the_same_after_an_edit_and_differs_for_another_file(tmp_path: Path) -> None:
    dump = cluster(tmp_path, LIST)
    uid = dump.uid()
    edit(tmp_path / "dump.yaml", LIST + "\n")
    assert dump.uid() == uid == DumpCluster(tmp_path / "dump.yaml").uid()
    assert cluster(tmp_path, LIST, "other.yaml").uid() != uid


def test_warns_about_skipped_objects(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    published(cluster(tmp_path, LIST + "- {kind: ConfigMap}\n- {kind: Node, metadata: {name: plain}}\n"))
    assert caplog.messages == [
        f"dump {tmp_path}/dump.yaml: left out are 1 ConfigMap that scheduling does not use, 1 Node that occurs again"
    ]


NODES = "- {kind: Node, metadata: {name: n1}}\n- {kind: Node, metadata: {name: n2}}\n"
PODS = "- {kind: Pod, metadata: {name: p, namespace: ml, uid: uid-p}, spec: {}}\n"
BUDGET = "- {kind: PodDisruptionBudget, metadata: {name: b}}\n- {kind: Lease, metadata: {name: l}}\n"
RESOURCES = {
    "nodes",
    "pods",
    "poddisruptionbudgets",
    "priorityclasses",
    "namespaces",
    "services",
    "replicationcontrollers",
    "replicasets",
    "statefulsets",
    "podgroups.scheduling.k8s.io",
    "podgroups.scheduling.x-k8s.io",
    "podgroups.scheduling.sigs.k8s.io",
}
BINDING = Binding("ml", "p", "uid-p", "n1")


class Dumped:
    """A dump file, its cluster, and one watch."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "dump.yaml"
        self.clock = HandDrivenClock()
        self.write(NODES + PODS + BUDGET)
        self.cluster = DumpCluster(self.path, self.clock)
        self.watch: ClusterWatch = self.cluster.watch({})

    def write(self, items: str) -> None:
        edit(self.path, f"kind: List\nitems:\n{items}")

    def take(self) -> list[Event]:
        return [received.event for received in self.watch.take(0)]


@pytest.fixture
def dumped(tmp_path: Path) -> Dumped:
    return Dumped(tmp_path)


def names(received: Sequence[ResourceEvent]) -> dict[str, list[str]]:
    """Return the names of the listed objects by resource."""
    found = {}
    for each in received:
        assert isinstance(each.event, Listed)
        found[each.resource] = [str(kept["metadata"]["name"]) for kept in each.event.objects]  # type: ignore[index]
    return found


def test_ignores_positions_of_the_predecessor(dumped: Dumped) -> None:
    """A file does not have a history, and the bindings of a predecessor's process are lost."""
    dumped.take()
    successor = dumped.cluster.watch(dumped.watch.positions)
    assert names(successor.take(0)).keys() == RESOURCES


def test_binding_emits_a_modified_event_for_its_pod(dumped: Dumped) -> None:
    dumped.take()
    before = dumped.watch.positions
    assert dumped.cluster.create_binding(BINDING, 1) == Created()
    [event] = dumped.take()
    assert isinstance(event, Modified)
    assert event.object["spec"] == {"nodeName": "n1"}
    assert dumped.watch.positions["pods"].resource_version != before["pods"].resource_version
    assert dumped.take() == []


def test_bound_pod_has_the_annotations_of_its_binding(dumped: Dumped) -> None:
    """The annotations name the pod's device."""
    dumped.take()
    annotations = {"berth.dev/example.com.gpu": "1"}
    assert dumped.cluster.create_binding(replace(BINDING, annotations=annotations), 1) == Created()
    [event] = dumped.take()
    assert isinstance(event, Modified)
    assert event.object["metadata"]["annotations"] == annotations  # type: ignore[index]


def test_ignores_binding_if_the_file_has_the_pod_on_another_node(dumped: Dumped) -> None:
    dumped.cluster.create_binding(BINDING, 1)
    dumped.write(NODES + PODS.replace("spec: {}", "spec: {nodeName: n2}"))
    [pods] = [each.event for each in dumped.watch.take(0) if each.resource == "pods"]
    assert isinstance(pods, Listed)
    assert [pod["spec"] for pod in pods.objects] == [{"nodeName": "n2"}]


def observed_at(dumped: Dumped) -> float | None:
    """Return the property. If a test read the property itself, mypy would assume that its value does not change."""
    return dumped.watch.observed_at


def test_data_age_counts_from_the_last_read_of_the_file(dumped: Dumped) -> None:
    start = dumped.clock.now
    assert observed_at(dumped) is None
    dumped.take()
    assert observed_at(dumped) == start
    dumped.clock.advance(10)
    dumped.take()
    assert observed_at(dumped) == start + 10
    assert dumped.watch.positions["nodes"] == Position(
        dumped.watch.positions["nodes"].resource_version, start + 10, start
    )


def test_data_ages_and_cause_is_reported_once_while_the_file_is_unreadable(dumped: Dumped) -> None:
    dumped.take()
    start = dumped.clock.now
    text = dumped.path.read_text()
    dumped.path.unlink()
    dumped.clock.advance(10)
    events = dumped.take()
    assert events == [Interrupted(f"dump {dumped.path}: No such file or directory", is_lasting=True)] * len(RESOURCES)
    assert dumped.take() == []
    assert observed_at(dumped) == start
    dumped.path.write_text("{")
    [cause] = {event.cause for event in dumped.take() if isinstance(event, Interrupted)}
    assert "is neither JSON nor YAML" in cause
    dumped.path.write_text(text)
    assert len(dumped.take()) == len(RESOURCES)
    assert observed_at(dumped) == start + 10


def test_binding_ends_the_wait(dumped: Dumped, monkeypatch: pytest.MonkeyPatch) -> None:
    """If only the file were polled, this would take an hour."""
    monkeypatch.setattr(dump_cluster, "POLL_SECONDS", 3600.0)
    dumped.take()
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(dumped.watch.take, 3600.0)
        dumped.cluster.create_binding(BINDING, 1)
        assert [type(received.event) for received in waiting.result(60)] == [Modified]


def test_edit_ends_the_wait(dumped: Dumped, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_cluster, "POLL_SECONDS", 0.001)
    dumped.take()
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(dumped.watch.take, 3600.0)
        dumped.write(NODES)
        assert len(waiting.result(60)) == len(RESOURCES)


def test_wait_ends_after_its_time_limit_without_changes(dumped: Dumped, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_cluster, "POLL_SECONDS", 0.001)
    dumped.take()
    assert dumped.watch.take(0.01) == []


def test_stop_ends_the_wait(dumped: Dumped, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dump_cluster, "POLL_SECONDS", 0.001)
    dumped.take()
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(dumped.watch.take, 3600.0)
        dumped.watch.stop()
        assert waiting.result(60) == []
