"""Positions of a watch after its events were taken."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from berth.nodecache.feed.cluster import (
    Added,
    Bookmark,
    ClusterWatch,
    Deleted,
    Ended,
    Event,
    Expired,
    Failed,
    Interrupted,
    Listed,
    Modified,
    ResourceEvent,
)
from berth.nodecache.feed.head import Position

BEFORE = Position("7", observed_at=100.0, listed_at=40.0)


class GivenWatch(ClusterWatch):
    """A watch that takes the events of a test."""

    def advance(self, event: ResourceEvent) -> None:
        self._advance([event])

    def take(self, timeout: float) -> Sequence[ResourceEvent]:
        return ()

    def stop(self) -> None:
        pass


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
def test_event_of_a_watch_advances_the_position_of_its_resource(event: Event, wanted: Position) -> None:
    watch = GivenWatch(["pods"], {"pods": BEFORE})
    watch.advance(ResourceEvent("pods", 160.0, event))
    assert watch.positions == {"pods": wanted}


def test_data_age_is_the_age_of_the_oldest_resource() -> None:
    watch = GivenWatch(["pods", "nodes"], {"pods": BEFORE, "nodes": Position("3", 90.0, 90.0)})
    assert watch.observed_at == 90.0
    watch.advance(ResourceEvent("nodes", 150.0, Bookmark("4")))
    assert watch.observed_at == 100.0


def test_data_age_is_unknown_until_every_resource_is_listed() -> None:
    watch = GivenWatch(["pods", "nodes"], {})
    watch.advance(ResourceEvent("pods", 150.0, Listed((), "4")))
    assert watch.observed_at is None
    assert list(watch.positions) == ["pods"]
    watch.advance(ResourceEvent("nodes", 151.0, Listed((), "5")))
    assert watch.observed_at == 150.0
