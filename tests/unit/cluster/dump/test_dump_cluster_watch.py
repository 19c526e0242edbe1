"""A dump that is watched: edits, bindings, troubles, and how old the data is."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from berth.cluster import dump_cluster
from berth.cluster.dump_cluster import DumpCluster
from berth.nodecache.feed.cluster import ClusterWatch, Event, Interrupted, Listed, Modified, ResourceEvent
from berth.nodecache.feed.head import Position
from berth.pods import Binding, Created
from tests.fakes.clock import HandDrivenClock

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
    """A file, the cluster of it, and one watch."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "dump.yaml"
        self.clock = HandDrivenClock()
        self.write(NODES + PODS + BUDGET)
        self.cluster = DumpCluster(self.path, self.clock)
        self.watch: ClusterWatch = self.cluster.watch({})

    def write(self, items: str) -> None:
        """Change the file and, as a clock that runs on would, its time."""
        before = self.path.stat().st_mtime_ns if self.path.exists() else 0
        self.path.write_text(f"kind: List\nitems:\n{items}")
        os.utime(self.path, ns=(before + 1_000, before + 1_000))

    def take(self) -> list[Event]:
        return [received.event for received in self.watch.take(0)]


@pytest.fixture
def dumped(tmp_path: Path) -> Dumped:
    return Dumped(tmp_path)


def names(received: Sequence[ResourceEvent]) -> dict[str, list[str]]:
    """Return the names in a list of every resource."""
    found = {}
    for each in received:
        assert isinstance(each.event, Listed)
        found[each.resource] = [str(kept["metadata"]["name"]) for kept in each.event.objects]  # type: ignore[index]
    return found


def test_ignores_positions_of_the_predecessor(dumped: Dumped) -> None:
    """A file has no history, and what a predecessor's process had bound is forgotten."""
    dumped.take()
    successor = dumped.cluster.watch(dumped.watch.positions)
    assert names(successor.take(0)).keys() == RESOURCES


def test_emits_change_of_bound_pod(dumped: Dumped) -> None:
    dumped.take()
    before = dumped.watch.positions
    assert dumped.cluster.create_binding(BINDING, 1) == Created()
    [event] = dumped.take()
    assert isinstance(event, Modified)
    assert event.object["spec"] == {"nodeName": "n1"}
    assert dumped.watch.positions["pods"].resource_version != before["pods"].resource_version
    assert dumped.take() == []


def test_bound_pod_has_the_annotations_of_its_binding(dumped: Dumped) -> None:
    """Which device it has is in them, and in every later list, too."""
    dumped.take()
    annotations = {"berth.dev/example.com.gpu": "1"}
    assert dumped.cluster.create_binding(replace(BINDING, annotations=annotations), 1) == Created()
    [event] = dumped.take()
    assert isinstance(event, Modified)
    assert event.object["metadata"]["annotations"] == annotations  # type: ignore[index]


def test_later_lists_contain_bindings(dumped: Dumped) -> None:
    dumped.cluster.create_binding(BINDING, 1)
    for _ in range(2):
        [pods] = [each.event for each in dumped.watch.take(0) if each.resource == "pods"]
        assert isinstance(pods, Listed)
        assert [pod["spec"] for pod in pods.objects] == [{"nodeName": "n1"}]
        dumped.write(NODES + PODS)


def test_ignores_binding_if_the_file_has_the_pod_on_another_node(dumped: Dumped) -> None:
    dumped.cluster.create_binding(BINDING, 1)
    dumped.write(NODES + PODS.replace("spec: {}", "spec: {nodeName: n2}"))
    [pods] = [each.event for each in dumped.watch.take(0) if each.resource == "pods"]
    assert isinstance(pods, Listed)
    assert [pod["spec"] for pod in pods.objects] == [{"nodeName": "n2"}]


def observed_at(dumped: Dumped) -> float | None:
    """The property, for mypy takes what a property was for what it is."""
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
    """Were it the file alone that is looked at, this would take an hour."""
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
