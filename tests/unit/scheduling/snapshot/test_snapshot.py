"""Snapshots share the objects that did not change."""

from __future__ import annotations

import pytest

from berth.scheduling.objects import Pod, read_pods
from berth.scheduling.objects.cluster import Namespace, PriorityClass
from berth.scheduling.objects.pod_group import PodGroup, PodGroupApi
from berth.scheduling.snapshot.changes import AssumedPod, Changes
from berth.scheduling.snapshot.snapshot import PlacedPods, Snapshot
from tests.builders.nodes import labelled, node
from tests.builders.pods import pod_with


def test_snapshot_is_immutable() -> None:
    snapshot = Snapshot.of([node("a")])
    with pytest.raises(TypeError):
        snapshot.nodes["b"] = node("b")  # type: ignore[index]


def test_last_node_with_a_name_is_used() -> None:
    assert Snapshot.of([labelled("a", "1"), labelled("a", "2")]).nodes == {"a": labelled("a", "2")}


def test_later_snapshot_shares_unchanged_nodes() -> None:
    earlier = Snapshot.of([labelled("same", "1"), labelled("changed", "1"), labelled("gone", "1")])
    later = earlier.with_changes(Changes(nodes=[labelled("changed", "2"), labelled("new", "1")], nodes_gone=["gone"]))
    assert later.nodes["same"] is earlier.nodes["same"]
    assert later.nodes["changed"] == labelled("changed", "2")
    assert set(later.nodes) == {"same", "changed", "new"}


def test_added_or_removed_defect_is_a_change() -> None:
    earlier = Snapshot.of([node("a", defect="d")])
    assert earlier.with_changes(Changes(nodes=[node("a")])).nodes["a"].defect is None


def test_snapshots_with_equal_nodes_are_not_equal() -> None:
    assert Snapshot.of([node("a")]) != Snapshot.of([node("a")])


NAMESPACE, HIGH = Namespace("ml", {"team": "red"}), PriorityClass("high", 5)
GROUP = PodGroup(PodGroupApi.NATIVE, "ml", "train")


@pytest.mark.parametrize(
    "snapshot",
    [
        pytest.param(Snapshot.of([], namespaces=[NAMESPACE], priority_classes=[HIGH], pod_groups=[GROUP]), id="first"),
        pytest.param(
            Snapshot.of([]).with_changes(Changes(namespaces=[NAMESPACE], priority_classes=[HIGH], pod_groups=[GROUP])),
            id="later",
        ),
    ],
)
def test_finds_objects_by_name(snapshot: Snapshot) -> None:
    assert snapshot.namespaces == {"ml": {"team": "red"}}
    assert snapshot.priority_classes == {"high": HIGH}
    assert snapshot.pod_groups == {GROUP.key: GROUP}


BASE = Snapshot.of([node("node-a"), node("node-b")])


def placed(name: str, on: str) -> Pod:
    return read_pods([pod_with(name, {"app": name}, nodeName=on)])[0][0]


def assumed(name: str, on: str) -> AssumedPod:
    return AssumedPod("default", name, f"uid-{name}", on, {}, placed(name, on))


def names(snapshot: Snapshot) -> dict[str, set[str]]:
    return {name: {pod.name for pod in info.pods} for name, info in snapshot.nodes.items()}


def test_returns_the_same_snapshot_until_a_pod_is_assumed() -> None:
    assert PlacedPods().follow(BASE) is BASE


@pytest.mark.parametrize(
    ("changes", "then", "wanted", "moved"),
    [
        pytest.param(None, [assumed("p", "node-a")], {"node-a": {"p"}, "node-b": set()}, set(), id="nothing changes"),
        pytest.param(
            None,
            [assumed("p", "node-a"), assumed("q", "node-b")],
            {"node-a": {"p"}, "node-b": {"q"}},
            {"q"},
            id="another pod is assumed",
        ),
        pytest.param(None, [], {"node-a": set(), "node-b": set()}, {"p"}, id="the bind failed"),
        pytest.param(
            Changes(pods=[placed("p", "node-a")]),
            [assumed("p", "node-a")],
            {"node-a": {"p"}, "node-b": set()},
            {"p"},
            id="the cache shows the pod",
        ),
        pytest.param(
            Changes(nodes_gone=["node-a"]),
            [assumed("p", "node-a")],
            {"node-b": set()},
            set(),
            id="the node was deleted",
        ),
    ],
)
def test_applies_the_changes_since_the_last_snapshot(
    changes: Changes | None, then: list[AssumedPod], wanted: dict[str, set[str]], moved: set[str]
) -> None:
    snapshots = PlacedPods()
    before = snapshots.follow(BASE.assuming([assumed("p", "node-a")])).with_assumed
    base = BASE if changes is None else BASE.with_changes(changes)
    after = snapshots.follow(base.assuming(then)).with_assumed
    assert names(after) == wanted
    delta = after.changed_since(before)
    assert delta is not None
    assert {each.labels["app"] for moves in delta.pod_moves for each in moves.by_label_set} - {"p"} == moved - {"p"}
    names_of_nodes = {*before.nodes, *after.nodes}
    assert {name for name in names_of_nodes if after.nodes.get(name) != before.nodes.get(name)} <= set(delta.before)


def test_starts_over_for_a_snapshot_of_another_origin() -> None:
    snapshots = PlacedPods()
    snapshots.follow(BASE.assuming([assumed("p", "node-a")]))
    other = Snapshot.of([node("node-a")]).assuming([assumed("q", "node-a")])
    assert names(snapshots.follow(other).with_assumed) == {"node-a": {"q"}}


def test_excludes_the_pod_that_is_being_placed() -> None:
    found = PlacedPods().follow(BASE.assuming([assumed("p", "node-a"), assumed("q", "node-a")]))
    assert names(found.placing_assumed(without="uid-p"))["node-a"] == {"q"}
    assert names(found.placing_assumed(without="uid-other"))["node-a"] == {"p", "q"}
