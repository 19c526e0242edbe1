"""The chain: which log items lead from one published version to another."""

from __future__ import annotations

import pytest

from berth.nodecache.feed.head import PublishedVersion
from berth.nodecache.feed.reader import is_unbroken_chain
from berth.nodecache.feed.table import LogItem


def item(version: int, epoch: int, previous: int) -> LogItem:
    return LogItem(version, epoch, previous, b"")


@pytest.mark.parametrize(
    ("items", "after", "through", "expected"),
    [
        pytest.param([], (4, 2), (4, 2), True, id="nothing was published"),
        pytest.param([], (4, 2), (4, 3), False, id="the same version of another epoch is another"),
        pytest.param([item(5, 2, 2)], (4, 2), (5, 2), True, id="one item"),
        pytest.param([item(5, 2, 1), item(6, 3, 2)], (4, 1), (6, 3), True, id="a leader each"),
        pytest.param([], (4, 2), (5, 2), False, id="the only item is missing"),
        pytest.param([item(6, 2, 2)], (4, 2), (6, 2), False, id="the first is missing"),
        pytest.param([item(5, 2, 2)], (4, 2), (6, 2), False, id="the last is missing"),
        pytest.param([item(5, 2, 2), item(7, 2, 2)], (4, 2), (7, 2), False, id="one in between is missing"),
        pytest.param([item(5, 1, 1)], (4, 1), (5, 2), False, id="an orphan stands where the newest was"),
        pytest.param([item(5, 1, 1), item(6, 2, 2)], (4, 1), (6, 2), False, id="an orphan stands before the newest"),
        pytest.param([item(5, 3, 2)], (4, 1), (5, 3), False, id="it follows another item than the one that was read"),
        pytest.param([item(5, 2, 2), item(6, 2, 2)], (4, 2), (5, 2), False, id="more than was published"),
    ],
)
def test_follows_only_published_items(
    items: list[LogItem], after: tuple[int, int], through: tuple[int, int], expected: bool
) -> None:
    assert is_unbroken_chain(items, PublishedVersion(*after), PublishedVersion(*through)) is expected
