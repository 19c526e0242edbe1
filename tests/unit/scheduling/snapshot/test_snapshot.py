"""Snapshots share what did not change."""

from __future__ import annotations

import pytest

from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import labelled, node


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
