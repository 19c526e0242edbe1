"""Progress of the consumer, by the events it took."""

from __future__ import annotations

import pytest

from berth.nodecache.feed.cluster import (
    Added,
    Bookmark,
    Deleted,
    Ended,
    Event,
    Expired,
    Failed,
    Interrupted,
    Listed,
    Modified,
    Progress,
    ResourceEvent,
)
from berth.nodecache.feed.head import Position

BEFORE = Position("7", observed_at=100.0, listed_at=40.0)


@pytest.mark.parametrize(
    ("event", "wanted"),
    [
        pytest.param(Listed((), "9"), Position("9", 160.0, 160.0), id="a list replaces the state"),
        pytest.param(Added({}, "9"), Position("9", 160.0, 40.0), id="added"),
        pytest.param(Modified({}, "9"), Position("9", 160.0, 40.0), id="modified"),
        pytest.param(Deleted({}, "9"), Position("9", 160.0, 40.0), id="deleted"),
        pytest.param(Bookmark("9"), Position("9", 160.0, 40.0), id="a bookmark"),
        pytest.param(Ended(), Position("7", 160.0, 40.0), id="a regular end confirms completeness"),
        pytest.param(Expired(), BEFORE, id="expired does not change the age"),
        pytest.param(Interrupted("down"), BEFORE, id="interrupted does not change the age"),
        pytest.param(Failed(ValueError()), BEFORE, id="failed does not change the age"),
    ],
)
def test_event_advances_the_position(event: Event, wanted: Position) -> None:
    progress = Progress(["pods"], {"pods": BEFORE})
    progress.advance(ResourceEvent("pods", 160.0, event))
    assert progress.positions == {"pods": wanted}


def test_data_age_is_the_age_of_the_oldest_resource() -> None:
    progress = Progress(["pods", "nodes"], {"pods": BEFORE, "nodes": Position("3", 90.0, 90.0)})
    assert progress.observed_at == 90.0
    progress.advance(ResourceEvent("nodes", 150.0, Bookmark("4")))
    assert progress.observed_at == 100.0


def test_has_no_age_until_each_resource_is_listed() -> None:
    progress = Progress(["pods", "nodes"], {})
    progress.advance(ResourceEvent("pods", 150.0, Listed((), "4")))
    assert progress.observed_at is None
    assert list(progress.positions) == ["pods"]
    progress.advance(ResourceEvent("nodes", 151.0, Listed((), "5")))
    assert progress.observed_at == 150.0
