"""A resource that the cluster may serve in one of two versions, or not at all."""

from __future__ import annotations

import pytest

from berth.cluster.watch.lister_watcher import (
    NOT_SERVED,
    RETRY_SECONDS,
    OptionalListerWatcher,
    ResourceExpired,
    ResourceNotServed,
)
from berth.nodecache.feed.cluster import Bookmark, ClusterUnavailable, Listed
from tests.fakes.clock import HandDrivenClock
from tests.unit.cluster.watch.scripted_source import List, Reached, ScriptedSource, Step, Watch

NO = ResourceNotServed("the cluster does not serve podgroups")
LISTED = Listed(({"metadata": {"name": "train"}},), "7")
GOES_ON = False


class Resource:
    """The watcher of both versions, and how long it has waited."""

    def __init__(self, newer: list[Step], older: list[Step], is_stopped: bool = GOES_ON) -> None:
        clock = HandDrivenClock()
        self.sources = [ScriptedSource(clock, *steps, resource="podgroups") for steps in (newer, older)]
        self.waited: list[float] = []

        def wait(seconds: float) -> bool:
            self.waited.append(seconds)
            return is_stopped

        self.watcher = OptionalListerWatcher(self.sources, wait)

    @property
    def is_finished(self) -> bool:
        return all(source.finished for source in self.sources)


def test_lists_and_watches_the_newest_served_version() -> None:
    found = Resource([List(NO)], [List(LISTED), Watch("7", [Bookmark("8")])])
    assert found.watcher.list_all() == LISTED
    assert list(found.watcher.watch("7")) == [Bookmark("8")]
    assert found.is_finished


def test_does_not_request_older_version_if_a_newer_one_is_served() -> None:
    found = Resource([List(LISTED), Watch("7", [])], [])
    assert found.watcher.list_all() == LISTED
    assert list(found.watcher.watch("7")) == []
    assert found.is_finished


def test_unserved_resource_is_listed_as_empty_and_its_watch_ends_after_one_wait() -> None:
    found = Resource([List(NO), Reached("0", NO)], [List(NO), Reached("0", NO)])
    assert found.watcher.list_all() == Listed((), NOT_SERVED)
    assert list(found.watcher.watch(NOT_SERVED)) == []
    assert found.waited == [RETRY_SECONDS]
    assert found.is_finished


def test_lists_again_when_the_resource_is_served() -> None:
    found = Resource([List(NO), Reached("0", NO), List(NO)], [List(NO), Reached("0"), List(LISTED)])
    found.watcher.list_all()
    with pytest.raises(ResourceExpired):
        list(found.watcher.watch(NOT_SERVED))
    assert found.watcher.list_all() == LISTED


def test_stop_ends_the_wait_without_another_request() -> None:
    found = Resource([List(NO)], [List(NO)], is_stopped=True)
    found.watcher.list_all()
    assert list(found.watcher.watch(NOT_SERVED)) == []
    assert found.is_finished


@pytest.mark.parametrize(
    ("newer", "older", "version", "wanted"),
    [
        pytest.param([], [], NOT_SERVED, True, id="a predecessor found no such resource"),
        pytest.param([Reached("7")], [], "7", True, id="the newer version is served"),
        pytest.param([Reached("7", NO)], [Reached("7")], "7", True, id="the older version is served"),
        pytest.param([Reached("7", outcome=False)], [], "7", False, id="the server is behind"),
        pytest.param([Reached("7", NO)], [Reached("7", NO)], "7", False, id="it is no longer served"),
    ],
)
def test_resumes_only_if_server_has_version(newer: list[Step], older: list[Step], version: str, wanted: bool) -> None:
    found = Resource(newer, older)
    assert found.watcher.has_reached(version) is wanted
    assert found.is_finished


def test_watch_after_resumption_uses_the_api_version_that_is_served() -> None:
    found = Resource([Reached("7", NO)], [Reached("7"), Watch("7", [Bookmark("9")])])
    found.watcher.has_reached("7")
    assert list(found.watcher.watch("7")) == [Bookmark("9")]


FAILURE = ClusterUnavailable("connection refused")


def test_failed_list_is_not_treated_as_an_empty_list() -> None:
    with pytest.raises(ClusterUnavailable, match="connection refused"):
        Resource([List(FAILURE)], []).watcher.list_all()


def test_failed_request_does_not_mean_that_the_resource_is_gone() -> None:
    with pytest.raises(ClusterUnavailable, match="connection refused"):
        Resource([Reached("7", FAILURE)], []).watcher.has_reached("7")
