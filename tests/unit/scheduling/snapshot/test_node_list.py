"""A node keeps its position for as long as it exists; each name of a request is resolved once."""

from __future__ import annotations

import pytest

from berth.scheduling.snapshot.node_list import LAYOUT_CALLS, UNKNOWN, NodePositions, NodeRefs


def test_only_nodes_of_the_snapshot_have_a_position() -> None:
    positions = NodePositions(["a", "b"])
    assert {positions["a"], positions["b"], positions["c"]} == {1, 2, UNKNOWN}
    assert positions.size == 3


def test_keeps_positions_and_reuses_vacant_ones() -> None:
    before = NodePositions(["a", "b", "c"])
    after = before.after(gone=["b"], come=["d", "e"])
    assert (after["a"], after["c"]) == (before["a"], before["c"])
    assert {after["d"], after["e"]} == {before["b"], before.size}
    assert (after["b"], after.size) == (UNKNOWN, before.size + 1)
    assert [before[name] for name in "abcd"] == [1, 2, 3, UNKNOWN]


def test_reuses_a_position_that_became_vacant_long_ago() -> None:
    positions = NodePositions(["a", "b"]).after(gone=["a"], come=[]).after(gone=[], come=["c"])
    assert (positions["c"], positions.size) == (1, 3)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(["c", "a"], id="in another order"),
        pytest.param(["new", "b", "other"], id="with unknown names"),
        pytest.param(["b"], id="one name"),
        pytest.param([], id="no names"),
        pytest.param(["c", "c", "new", "new"], id="repeated"),
    ],
)
def test_new_layout_does_not_change_positions(asked: list[str]) -> None:
    positions = NodePositions(["a", "b", "c"])
    expected = tuple({"a": 1, "b": 2, "c": 3}.get(name, UNKNOWN) for name in asked)
    for _ in range(2 * LAYOUT_CALLS + 1):
        assert positions.of(asked) == expected
    assert positions.of(["a", "b", "c", "d"]) == (1, 2, 3, UNKNOWN)
    assert list(positions.by_name.items()) == [("a", 1), ("b", 2), ("c", 3)]
    later = positions.after(gone=["a"], come=["new"])
    assert later.of(["a", "b", "c", "new"]) == (UNKNOWN, 2, 3, 1)


def test_resolves_a_repeated_name_once_in_request_order() -> None:
    located = NodeRefs.of(["c", "new", "a", "c", "new", "joined"], NodePositions(["a", "b", "c"]))
    assert list(located) == located.names == ["c", "new", "a", "joined"]
    assert tuple(located.positions) == (3, UNKNOWN, 1, UNKNOWN)
    assert (len(located), located[0], located[1:3], "a" in located) == (4, "c", ["new", "a"], True)


def test_resolves_names_again_only_if_positions_differ() -> None:
    positions = NodePositions(["a", "b"])
    located = NodeRefs.of(["b"], positions)
    assert NodeRefs.of(located, positions) is located
    assert NodeRefs.of(located, NodePositions(["b"])).positions == (1,)


@pytest.mark.parametrize(
    ("names", "all_known"),
    [
        pytest.param(["b", "a"], True, id="known names"),
        pytest.param(["b", "b", "a"], True, id="known names with a repetition"),
        pytest.param([], True, id="no names"),
        pytest.param(["new"], False, id="one unknown name"),
        pytest.param(["a", "new", "b", "other"], False, id="several unknown names"),
    ],
)
def test_reports_whether_all_names_are_known(names: list[str], all_known: bool) -> None:
    located = NodeRefs.of(names, NodePositions(["a", "b"]))
    assert located.all_known is all_known
    assert located.selected(bytes(len(located))).all_known is all_known
