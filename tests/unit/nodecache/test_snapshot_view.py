"""Changes of the snapshot when the cluster changes."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from berth.nodecache import snapshot_view
from berth.nodecache.feed.changes import Change, Object
from berth.nodecache.snapshot_view import CachedCluster, DecodedObjects, LayeredMap, SnapshotView
from berth.scheduling.gangs.gang import ANNOTATIONS as GANG_ANNOTATIONS
from berth.scheduling.objects.projection import compact_pod
from tests.builders.gangs import custom_group_object, member_object, native_group_object
from tests.builders.nodes import node_object
from tests.builders.pods import pod_object

VIEW = SnapshotView()


def node(name: str, **labels: object) -> Change:
    return Change("nodes", name, node_object(name, labels))


def pod(name: str, node_name: str = "", uid: str = "", *, nominated_node: str = "", phase: str = "") -> Change:
    found: Any = pod_object(name, "ml", uid or None, node_name=node_name, nominated_node=nominated_node)
    if phase:
        found["status"]["phase"] = phase
    return Change("pods", f"ml/{name}", compact_pod(found))


def gone(resource: str, key: str) -> Change:
    return Change(resource, key, None)


def loaded(*changes: Change) -> CachedCluster:
    return VIEW.applied(VIEW.empty(), changes)


def placed(state: CachedCluster) -> dict[str, list[str]]:
    return {name: sorted(pod.uid for pod in found.pods) for name, found in state.snapshot.nodes.items()}


def test_snapshot_is_empty_before_the_first_change() -> None:
    state = VIEW.empty()
    assert not state.snapshot.nodes
    assert not state.unreadable
    assert VIEW.applied(state, [node("n1")]).snapshot.nodes.keys() == {"n1"}
    assert not VIEW.empty().snapshot.nodes


@pytest.mark.parametrize(
    ("happens", "wanted", "waiting"),
    [
        pytest.param([pod("q", "n2")], {"n1": ["uid-p"], "n2": ["uid-q"]}, ["uid-w"], id="a pod is created"),
        pytest.param([pod("w", "n2")], {"n1": ["uid-p"], "n2": ["uid-w"]}, [], id="a pod is bound"),
        pytest.param([gone("pods", "ml/p")], {"n1": [], "n2": []}, ["uid-w"], id="a pod is deleted"),
        pytest.param([gone("pods", "ml/w")], {"n1": ["uid-p"], "n2": []}, [], id="a waiting pod is deleted"),
        pytest.param([pod("p", "n1", phase="Succeeded")], {"n1": [], "n2": []}, ["uid-w"], id="a pod finishes"),
        pytest.param([pod("w", phase="Failed")], {"n1": ["uid-p"], "n2": []}, [], id="a waiting pod fails"),
        pytest.param([pod("p", "n2", "uid-new")], {"n1": [], "n2": ["uid-new"]}, ["uid-w"], id="recreated elsewhere"),
        pytest.param([pod("p", "n1", "uid-new")], {"n1": ["uid-new"], "n2": []}, ["uid-w"], id="recreated in place"),
        pytest.param([pod("p", "", "uid-new")], {"n1": [], "n2": []}, ["uid-new", "uid-w"], id="recreated and waits"),
        pytest.param(
            [gone("pods", "ml/p"), pod("p", "n2", "uid-new")],
            {"n1": [], "n2": ["uid-new"]},
            ["uid-w"],
            id="a pod is deleted and recreated in one batch",
        ),
        pytest.param(
            [pod("p", "n2", "uid-new"), gone("pods", "ml/p")],
            {"n1": [], "n2": []},
            ["uid-w"],
            id="a pod is recreated and deleted in one batch",
        ),
        pytest.param(
            [gone("pods", "ml/never-seen")], {"n1": ["uid-p"], "n2": []}, ["uid-w"], id="an unknown pod is deleted"
        ),
        pytest.param([gone("nodes", "n1")], {"n2": []}, ["uid-w"], id="a node is deleted before its pods"),
        pytest.param([node("n1", zone="a")], {"n1": ["uid-p"], "n2": []}, ["uid-w"], id="a node changes"),
    ],
)
def test_pods_are_listed_on_their_node(happens: list[Change], wanted: dict[str, list[str]], waiting: list[str]) -> None:
    state = VIEW.applied(loaded(node("n1"), node("n2"), pod("p", "n1"), pod("w")), happens)
    assert placed(state) == wanted
    assert sorted(state.snapshot.unbound) == waiting


def test_pods_are_listed_on_a_node_that_is_added_later() -> None:
    state = loaded(pod("p", "n1"))
    assert not state.snapshot.nodes
    assert placed(VIEW.applied(state, [node("n1")])) == {"n1": ["uid-p"]}


def test_nomination_lasts_while_the_pod_is_pending() -> None:
    state = loaded(node("n1"), pod("w", nominated_node="n1"))
    assert [pod.uid for pod in state.snapshot.nominated["n1"]] == ["uid-w"]
    assert not VIEW.applied(state, [pod("w", "n1")]).snapshot.nominated


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(Change("nodes", "n2", {"metadata": {"name": 7}}), id="a node"),
        pytest.param(Change("pods", "ml/q", {"metadata": {"name": "q", "labels": 7}}), id="a pod"),
        pytest.param(Change("pods", "ml/q", {"shared": "no JSON"}), id="a compact pod"),
        pytest.param(Change("namespaces", "ml", {"metadata": {"labels": 7}}), id="a namespace"),
        pytest.param(Change("poddisruptionbudgets", "ml/b", {"status": 7}), id="a PodDisruptionBudget"),
        pytest.param(Change("priorityclasses", "high", {"value": "high"}), id="a PriorityClass"),
        pytest.param(Change("services", "ml/s", {"spec": 7}), id="a Service"),
        pytest.param(Change("replicasets", "ml/r", {"spec": {"selector": 7}}), id="a ReplicaSet"),
    ],
)
def test_omits_and_counts_unreadable_object_until_it_is_readable_or_deleted(change: Change) -> None:
    state = loaded(node("n1"), change)
    assert state.unreadable == {(change.resource, change.key)}
    assert state.snapshot.nodes.keys() == {"n1"}
    assert VIEW.applied(state, [node("n3")]).unreadable == state.unreadable
    assert not VIEW.applied(state, [gone(change.resource, change.key)]).unreadable
    readable: Object = {"metadata": {"name": change.key.rpartition("/")[2], "namespace": "ml"}}
    assert not VIEW.applied(state, [Change(change.resource, change.key, readable)]).unreadable


def test_object_that_becomes_unreadable_is_treated_as_deleted() -> None:
    """If its last readable state were kept, a pod would occupy its resources forever."""
    state = VIEW.applied(
        loaded(node("n1"), node("n2"), pod("p", "n1")),
        [Change("pods", "ml/p", {"metadata": {"labels": 7}}), Change("nodes", "n2", {"metadata": {}})],
    )
    assert placed(state) == {"n1": []}
    assert state.unreadable == {("pods", "ml/p"), ("nodes", "n2")}


def test_ignores_resources_of_a_later_release() -> None:
    state = loaded(node("n1"), Change("leases", "ml/x", {"spec": 7}))
    assert not state.unreadable
    assert VIEW.applied(state, [gone("leases", "ml/x")]).snapshot is state.snapshot


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(node("n1"), id="a node that is sent again"),
        pytest.param(pod("p", "n1"), id="a pod that is sent again"),
        pytest.param(
            Change("pods", "ml/p", compact_pod(pod_object("p", "ml", node_name="n1")) | {"rejectedByBerth": True}),
            id="an irrelevant mark",
        ),
        pytest.param(pod("f", "n1", phase="Succeeded"), id="a new finished pod"),
        pytest.param(Change("namespaces", "ml", {"metadata": {"name": "ml"}}), id="a namespace that is sent again"),
        pytest.param(
            Change("services", "ml/s", {"metadata": {"name": "s", "namespace": "ml"}}),
            id="a Service that is sent again",
        ),
    ],
)
def test_change_without_effect_returns_the_same_snapshot(change: Change) -> None:
    """All results computed on the snapshot stay valid."""
    state = loaded(
        node("n1"),
        pod("p", "n1"),
        Change("namespaces", "ml", {"metadata": {"name": "ml"}}),
        Change("services", "ml/s", {"metadata": {"name": "s", "namespace": "ml"}}),
    )
    assert VIEW.applied(state, [change]).snapshot is state.snapshot


def test_readable_object_replaces_an_unreadable_one_of_the_same_changes() -> None:
    pods = DecodedObjects([Change("pods", "ml/p", {"spec": 7}), pod("p")]).pods
    assert pods.found["ml/p"] is not None
    assert pods.unreadable == set()


def test_applies_changes_of_namespaces_budgets_classes_and_workloads() -> None:
    named = {"metadata": {"name": "x", "namespace": "ml"}}
    state = loaded(
        Change("namespaces", "ml", {"metadata": {"name": "ml", "labels": {"team": "a"}}}),
        Change("poddisruptionbudgets", "ml/x", named | {"status": {"disruptionsAllowed": 1}}),
        Change("priorityclasses", "x", {"metadata": {"name": "x"}, "value": 7}),
        Change("services", "ml/x", named | {"spec": {"selector": {"app": "web"}}}),
        Change("replicasets", "ml/x", named | {"spec": {"selector": {"matchLabels": {"app": "web"}}}}),
    ).snapshot
    assert state.namespaces == {"ml": {"team": "a"}}
    assert [budget.disruptions_allowed for budget in state.disruption_budgets] == [1]
    assert state.priority_classes["x"].value == 7
    assert state.workloads.services.keys() == {"ml"}
    assert state.workloads.controllers.keys() == {("ReplicaSet", "ml", "x")}
    emptied = VIEW.applied(
        loaded(
            Change("namespaces", "ml", {"metadata": {"name": "ml"}}),
            Change("poddisruptionbudgets", "ml/x", named),
            Change("priorityclasses", "x", {"metadata": {"name": "x"}}),
            Change("services", "ml/x", named),
            Change("replicasets", "ml/x", named),
        ),
        [
            gone("namespaces", "ml"),
            gone("poddisruptionbudgets", "ml/x"),
            gone("priorityclasses", "x"),
            gone("services", "ml/x"),
            gone("replicasets", "ml/x"),
        ],
    ).snapshot
    assert not emptied.namespaces
    assert not emptied.disruption_budgets
    assert not emptied.priority_classes
    assert not emptied.workloads.services
    assert not emptied.workloads.controllers


NATIVE, CUSTOM = "podgroups.scheduling.k8s.io", "podgroups.scheduling.x-k8s.io"


@pytest.mark.parametrize(
    ("happens", "wanted"),
    [
        pytest.param([], {"scheduling.k8s.io": 4, "scheduling.x-k8s.io": 2}, id="nothing"),
        pytest.param(
            [Change(CUSTOM, "ml/train", custom_group_object(minimum=3))],
            {"scheduling.k8s.io": 4, "scheduling.x-k8s.io": 3},
            id="one group changes",
        ),
        pytest.param([gone(NATIVE, "ml/train")], {"scheduling.x-k8s.io": 2}, id="one group is deleted"),
        pytest.param(
            [Change(NATIVE, "ml/train", {"metadata": 7})], {"scheduling.x-k8s.io": 2}, id="one object is not a PodGroup"
        ),
    ],
)
def test_applies_changes_of_each_pod_group_api_separately(happens: list[Change], wanted: dict[str, int]) -> None:
    state = loaded(
        Change(NATIVE, "ml/train", native_group_object(minimum=4)),
        Change(CUSTOM, "ml/train", custom_group_object(minimum=2)),
    )
    found = VIEW.applied(state, happens).snapshot
    assert {str(api): group.minimum for (api, _, _), group in found.pod_groups.items()} == wanted
    assert (found is state.snapshot) is (not happens)


def test_gang_members_change_with_their_pods() -> None:
    state = loaded(node("n1"), Change("pods", "ml/train-0", compact_pod(member_object(), GANG_ANNOTATIONS)))
    assert state.snapshot.pods_by_gang.keys() == {("ml", "train")}
    assert not VIEW.applied(state, [gone("pods", "ml/train-0")]).snapshot.pods_by_gang


def broken_off() -> Iterator[Change]:
    yield node("n2")
    raise ConnectionError


@pytest.mark.parametrize("state", [VIEW.empty(), loaded(node("n1"))], ids=["the first load", "later"])
def test_interrupted_change_restores_state_and_garbage_collector(state: CachedCluster) -> None:
    before = dict(state.snapshot.nodes)
    with pytest.raises(ConnectionError):
        VIEW.applied(state, broken_off())
    assert gc.isenabled()
    assert dict(state.snapshot.nodes) == before


def test_disabled_garbage_collector_stays_disabled() -> None:
    gc.disable()
    try:
        loaded(node("n1"))
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_freezes_objects_after_a_large_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot_view, "_FREEZE_THRESHOLD", 100)
    frozen = gc.get_freeze_count()
    try:
        loaded(*(pod(f"p{number}", "n1") for number in range(200)))
        assert gc.get_freeze_count() > frozen
    finally:
        gc.unfreeze()


def test_budgets_are_sorted_by_key_in_any_arrival_order() -> None:
    budgets = [
        Change("poddisruptionbudgets", f"ml/{name}", {"metadata": {"name": name, "namespace": "ml"}}) for name in "bca"
    ]
    state = VIEW.applied(loaded(*budgets[:2]), budgets[2:])
    assert [each.name for each in state.snapshot.disruption_budgets] == ["a", "b", "c"]


@pytest.mark.parametrize("size", [0, 10, 5000], ids=["empty", "small", "large"])
@pytest.mark.parametrize("count", [1, 7, 400], ids=["few at once", "some at once", "many at once"])
def test_change_behaves_like_dict_update_and_leaves_earlier_maps_unchanged(size: int, count: int) -> None:
    keys = [f"k{number}" for number in range(size + 50)]
    wanted = {f"k{number}": number for number in range(size)}
    found = LayeredMap(dict(wanted))
    earlier = []
    for step in range(30):
        earlier.append((found, dict(wanted)))
        changes = {f"k{(step * 37 + number) % (size + 50)}": None if number % 3 else -step for number in range(count)}
        found = found.changed(changes)
        wanted |= {key: value for key, value in changes.items() if value is not None}
        for key in [key for key, value in changes.items() if value is None]:
            wanted.pop(key, None)
    for known, content in [*earlier, (found, wanted)]:
        assert {key: value for key in keys if (value := known.get(key)) is not None} == content


def test_change_of_large_map_shares_its_base() -> None:
    large = LayeredMap({f"k{number}": number for number in range(5000)})
    assert large.changed({"k1": None, "new": 1})._base is large._base
