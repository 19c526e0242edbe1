"""A delta contains the changes since a moment; the history keeps a limited number of deltas."""

from __future__ import annotations

from typing import Any

import pytest

from berth.scheduling.objects import Pod, read_pods
from berth.scheduling.snapshot.history import MAX_DELTAS, MIN_NODES, History, PodMoves, SnapshotDelta
from tests.builders.nodes import labelled, node


def placed(name: str, parts: dict[str, dict[str, Any]]) -> Pod:
    metadata = {"name": name, "namespace": "ml", "uid": name, "labels": parts.get("labels", {})}
    [found], _ = read_pods([{"metadata": metadata, "spec": {"nodeName": "any", **parts.get("spec", {})}}])
    return found


OLD, NEW = labelled("n", "old"), labelled("n", "new")


def test_delta_since_the_same_snapshot_is_empty() -> None:
    history = History()
    assert history.since(history.moment) == SnapshotDelta()


def test_union_of_deltas_contains_nodes_as_before_the_first_delta() -> None:
    start = History()
    first = start.followed_by(SnapshotDelta({"n": OLD, "m": None}, frozenset("m"), positions=(1, 2)), 2)
    second = first.followed_by(SnapshotDelta({"n": NEW}, frozenset("n"), positions=(1,), relabelled=True), 2)
    found = second.since(start.moment)
    assert found is not None
    assert dict(found.before) == {"n": OLD, "m": None}
    assert (found.reset, set(found.positions), found.relabelled) == (frozenset("nm"), {1, 2}, True)
    assert second.since(first.moment) == SnapshotDelta({"n": NEW}, frozenset("n"), positions=(1,), relabelled=True)


def test_delta_to_a_snapshot_of_another_branch_is_unknown() -> None:
    start = History()
    one, other = (start.followed_by(SnapshotDelta({"n": OLD}), 1) for _ in range(2))
    assert one.since(other.moment) is None
    assert start.since(one.moment) is None


def test_delta_groups_nodes_of_moved_pods_by_labels_and_spec() -> None:
    web, term = {"labels": {"app": "web"}}, {"topologyKey": "zone", "labelSelector": {}}
    shy = {"spec": {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}}
    came, left, other = placed("came", web), placed("left", web), placed("other", shy)
    moved = PodMoves.of([(came, "n1"), (left, "n2"), (other, "n2")])
    assert moved.by_label_set == {came.label_set: {"n1", "n2"}, other.label_set: {"n2"}}
    assert moved.by_spec == {other.spec: {"n2"}}
    steps = [SnapshotDelta(pod_moves=(moved,)), SnapshotDelta(pod_moves=(PodMoves.of([(came, "n3")]),))]
    assert [each.by_label_set[came.label_set] for each in SnapshotDelta.union(steps).pod_moves] == [
        {"n1", "n2"},
        {"n3"},
    ]


@pytest.mark.parametrize(
    ("a_step", "reach"),
    [
        pytest.param(1, MAX_DELTAS, id="maximum number of steps"),
        pytest.param(100, MIN_NODES // 100, id="maximum number of changed nodes"),
    ],
)
def test_history_keeps_a_limited_number_of_deltas(a_step: int, reach: int) -> None:
    history = History()
    moments = [history.moment]
    for _ in range(reach + 5):
        history = history.followed_by(
            SnapshotDelta({f"n{index}": node(f"n{index}") for index in range(a_step)}), nodes=10
        )
        moments.append(history.moment)
    assert history.since(moments[-1 - reach]) is not None
    assert history.since(moments[-2 - reach]) is None
