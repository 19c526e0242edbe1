"""Snapshots share what did not change."""

from __future__ import annotations

import pytest

from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import labelled, node


def test_a_snapshot_cannot_be_changed() -> None:
    snapshot = Snapshot.of([node("a")])
    with pytest.raises(TypeError):
        snapshot.nodes["b"] = node("b")  # type: ignore[index]


def test_last_of_nodes_with_one_name_counts() -> None:
    assert Snapshot.of([labelled("a", "1"), labelled("a", "2")]).nodes == {"a": labelled("a", "2")}


def test_a_later_snapshot_shares_the_nodes_that_did_not_change() -> None:
    earlier = Snapshot.of([labelled("same", "1"), labelled("changed", "1"), labelled("gone", "1")])
    later = Snapshot.of([labelled("same", "1"), labelled("changed", "2"), labelled("new", "1")]).sharing(earlier)
    assert later.nodes["same"] is earlier.nodes["same"]
    assert later.nodes["changed"] == labelled("changed", "2")
    assert set(later.nodes) == {"same", "changed", "new"}


def test_a_defect_that_came_or_went_is_a_change() -> None:
    earlier = Snapshot.of([node("a", defect="d")])
    assert Snapshot.of([node("a")]).sharing(earlier).nodes["a"].defect is None


def test_sharing_with_none_returns_snapshot_itself() -> None:
    snapshot = Snapshot.of([node("a")])
    assert snapshot.sharing(None) is snapshot


def test_two_snapshots_of_equal_nodes_are_two_moments() -> None:
    assert Snapshot.of([node("a")]) != Snapshot.of([node("a")])
