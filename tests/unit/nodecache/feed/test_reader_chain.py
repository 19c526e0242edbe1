"""The chain of a part: which log items lead from one published version to another."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from berth.nodecache.feed.head import PartVersions, PublishedVersion
from berth.nodecache.feed.reader import LogPosition, published_items, read_log
from berth.nodecache.feed.table import LogItem
from berth.scheduling.snapshot.parts import SnapshotPart
from tests.unit.nodecache.feed.feeds import Store

NODES, PODS = SnapshotPart.NODES, SnapshotPart.PODS
Versions = Mapping[SnapshotPart, tuple[int, int]]


def item(version: int, epoch: int, previous: tuple[int, int], part: SnapshotPart = NODES) -> LogItem:
    return LogItem(part, version, epoch, PublishedVersion(*previous), b"")


def pod(version: int, epoch: int, previous: tuple[int, int]) -> LogItem:
    return item(version, epoch, previous, PODS)


def versions(found: Versions) -> PartVersions:
    return {part: PublishedVersion(*version) for part, version in found.items()}


@pytest.mark.parametrize(
    ("items", "since", "through", "expected"),
    [
        pytest.param([], (4, 2), (4, 2), [], id="nothing was published"),
        pytest.param([item(5, 2, (4, 2))], (4, 2), (5, 2), [5], id="one item"),
        pytest.param([item(5, 2, (4, 1)), item(9, 3, (5, 2))], (4, 1), (9, 3), [5, 9], id="items of several leaders"),
        pytest.param([item(9, 2, (4, 2))], (4, 2), (9, 2), [9], id="versions of other parts between"),
        pytest.param([item(5, 1, (4, 1)), item(6, 2, (4, 1))], (4, 1), (6, 2), [6], id="an orphan before the newest"),
        pytest.param([item(5, 2, (4, 2)), item(6, 2, (5, 2))], (4, 2), (5, 2), [5], id="more items than published"),
        pytest.param([], (4, 2), (5, 2), None, id="the only item is missing"),
        pytest.param([item(6, 2, (5, 2))], (4, 2), (6, 2), None, id="the first item is missing"),
        pytest.param([item(5, 2, (4, 2))], (4, 2), (6, 2), None, id="the last item is missing"),
        pytest.param([item(5, 2, (4, 2)), item(7, 2, (6, 2))], (4, 2), (7, 2), None, id="a middle item is missing"),
        pytest.param([item(5, 1, (4, 1))], (4, 1), (5, 2), None, id="an orphan in place of the newest item"),
        pytest.param(
            [item(5, 1, (4, 1)), item(6, 2, (5, 2))], (4, 1), (6, 2), None, id="an orphan before the newest item"
        ),
        pytest.param([item(5, 3, (4, 2))], (4, 1), (5, 3), None, id="it follows an item other than the last one read"),
        pytest.param([item(5, 3, (2, 1))], (4, 1), (5, 3), None, id="it follows an item before the last one read"),
        pytest.param([item(5, 2, (5, 2))], (4, 2), (5, 2), None, id="a malformed item that follows itself"),
        pytest.param([pod(5, 2, (4, 2))], (4, 2), (5, 2), None, id="an item of another part in its place"),
    ],
)
def test_follows_only_published_items(
    items: list[LogItem], since: tuple[int, int], through: tuple[int, int], expected: list[int] | None
) -> None:
    found = published_items(items, versions({NODES: since}), versions({NODES: through, PODS: (9, 9)}))
    assert (None if found is None else [each.version for each in found]) == expected


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        pytest.param([item(6, 2, (4, 2)), pod(5, 2, (3, 2)), pod(7, 2, (5, 2))], [5, 6, 7], id="items of both parts"),
        pytest.param([item(6, 2, (4, 2)), pod(6, 1, (3, 2)), pod(7, 2, (3, 2))], [6, 7], id="an orphan at one version"),
        pytest.param([item(6, 2, (4, 2)), pod(7, 2, (5, 2))], None, id="one part's item is missing"),
    ],
)
def test_applies_items_of_several_parts_in_version_order(items: list[LogItem], expected: list[int] | None) -> None:
    found = published_items(items, versions({NODES: (4, 2), PODS: (3, 2)}), versions({NODES: (6, 2), PODS: (7, 2)}))
    assert (None if found is None else [each.version for each in found]) == expected


class Queries(Store):
    """A table that keeps what is asked of its log."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[int, Mapping[SnapshotPart, int]]] = []

    def log(self, uid: str, after: int, through: Mapping[SnapshotPart, int]) -> list[LogItem]:
        self.asked.append((after, dict(through)))
        return super().log(uid, after, through)


@pytest.mark.parametrize(
    ("since", "through", "asked", "expected"),
    [
        pytest.param({NODES: (4, 2)}, {NODES: (4, 2), PODS: (9, 2)}, [], [], id="another part"),
        pytest.param({NODES: (4, 2), PODS: (3, 2)}, {NODES: (4, 2), PODS: (9, 2)}, [{PODS: 9}], None, id="one of two"),
        pytest.param(
            {NODES: (4, 2), PODS: (3, 2)}, {NODES: (8, 2), PODS: (9, 2)}, [{NODES: 8, PODS: 9}], None, id="both parts"
        ),
        pytest.param({NODES: (4, 2)}, {NODES: (4, 3)}, [], None, id="the same version of another epoch differs"),
        pytest.param({NODES: (4, 2)}, {NODES: (6, 3)}, [], None, id="another history after a restore"),
    ],
)
def test_queries_only_the_parts_that_changed(
    since: Versions, through: Versions, asked: list[Mapping[SnapshotPart, int]], expected: list[LogItem] | None
) -> None:
    table = Queries()
    found = read_log(table, "uid", LogPosition(7, versions(since)), versions(through))
    assert (table.asked, found) == ([(7, each) for each in asked], expected)
