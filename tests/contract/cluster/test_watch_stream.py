"""A watch as an API server streams it: events, bookmarks, expiry in both forms, and every way a connection can end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest

from berth.cluster.watch.lister_watcher import WatchOptions
from berth.cluster.watch.resources import NODES
from berth.cluster.watch.watches import Watches, watch
from berth.nodecache.feed.cluster import (
    Added,
    Bookmark,
    Deleted,
    Ended,
    Expired,
    Interrupted,
    Listed,
    Modified,
    ResourceEvent,
)
from tests.fakes.clock import HandDrivenClock
from tests.unit.cluster.driven_api_server import DrivenApiServer, Exchange, driven_api_server, status_object
from tests.unit.cluster.taking import Consumer, at_once, started, whole

PATH = "/api/v1/nodes"


def node(name: str, version: str, **metadata: object) -> dict[str, object]:
    return {"metadata": {"name": name, "resourceVersion": version, **metadata}}


def bookmark(version: str) -> dict[str, object]:
    return {"metadata": {"resourceVersion": version}}


def resumes_from(version: str, exchange: Exchange) -> bool:
    return exchange.query.get("watch") == "true" and exchange.query["resourceVersion"] == version


@pytest.fixture
def server() -> Iterator[DrivenApiServer]:
    with driven_api_server() as server:
        yield server


@pytest.fixture
def clock() -> HandDrivenClock:
    return HandDrivenClock()


@pytest.fixture
def watches(server: DrivenApiServer, clock: HandDrivenClock) -> Iterator[Watches]:
    with started(watch(server.api(), whole(NODES), clock=clock, jitter=at_once)) as watches:
        yield watches


@pytest.fixture
def consumer(watches: Watches) -> Consumer:
    return Consumer(watches)


@pytest.fixture
def stream(server: DrivenApiServer, consumer: Consumer) -> Exchange:
    """Start a watch from the version of an empty list."""
    server.next(PATH).page(version="10")
    assert consumer.events(1) == [Listed((), "10")]
    return server.next(PATH).stream()


def test_watch_begins_at_version_of_list(server: DrivenApiServer, consumer: Consumer) -> None:
    server.next(PATH).page(version="10")
    assert server.next(PATH).query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "10",
        "timeoutSeconds": "50",
    }


def test_delivers_each_event_when_it_is_sent(consumer: Consumer, stream: Exchange, clock: HandDrivenClock) -> None:
    start = clock.now
    stream.tell("ADDED", node("a", "11", managedFields=[{"manager": "kubelet"}]))
    assert consumer.take(1) == [ResourceEvent("nodes", start, Added(node("a", "11"), "11"))]
    clock.advance(1)
    stream.tell("MODIFIED", node("a", "12"))
    assert consumer.take(1) == [ResourceEvent("nodes", start + 1, Modified(node("a", "12"), "12"))]
    clock.advance(1)
    stream.tell("DELETED", node("a", "13")).tell("BOOKMARK", bookmark("14"))
    assert consumer.take(2) == [
        ResourceEvent("nodes", start + 2, Deleted(node("a", "13"), "13")),
        ResourceEvent("nodes", start + 2, Bookmark("14")),
    ]


def test_watches_again_from_last_version_on_same_connection_after_clean_end(
    server: DrivenApiServer, consumer: Consumer, stream: Exchange
) -> None:
    stream.tell("ADDED", node("a", "11")).tell("BOOKMARK", bookmark("19")).end()
    following = server.next(PATH)
    assert following.query["resourceVersion"] == "19"
    assert following.connection == stream.connection
    following.stream().tell("MODIFIED", node("a", "20"))
    assert consumer.events(4) == [
        Added(node("a", "11"), "11"),
        Bookmark("19"),
        Ended(),
        Modified(node("a", "20"), "20"),
    ]


@pytest.mark.parametrize(
    "expire",
    [
        pytest.param(
            lambda server, stream: stream.tell("ERROR", status_object(410, "Expired", "too old resource version")),
            id="an ERROR event, Expired",
        ),
        pytest.param(
            lambda server, stream: stream.tell("ERROR", status_object(410, "Gone", "too old resource version")),
            id="an ERROR event, Gone",
        ),
        pytest.param(
            lambda server, stream: (
                stream.tell("BOOKMARK", bookmark("11")).drop(),
                server.next(PATH).page(version="20"),
                server.next(PATH).refuse(410, "Expired", "too old resource version"),
            ),
            id="HTTP 410",
        ),
    ],
)
def test_lists_again_after_expired_version(
    server: DrivenApiServer, consumer: Consumer, stream: Exchange, expire: Callable[[DrivenApiServer, Exchange], object]
) -> None:
    expire(server, stream)
    again = server.next(PATH)
    assert "watch" not in again.query
    again.page(node("b", "5"), version="90")
    assert server.next(PATH).query["resourceVersion"] == "90"
    events = consumer.events(2)
    while events[-1] != Listed((node("b", "5"),), "90"):
        events += consumer.events(1)
    assert events[-2] == Expired()


@pytest.mark.parametrize(
    "cut",
    [
        pytest.param(lambda stream: stream.drop(), id="between two lines"),
        pytest.param(
            lambda stream: stream.chunk(b'{"type":"ADDED","object":{"metadata":{"name":"b"').drop(), id="mid-line"
        ),
        pytest.param(lambda stream: stream.raw(b"ff\r\n" + b'{"type":"ADD').drop(), id="mid-chunk"),
        pytest.param(lambda stream: stream.raw(b"f").drop(), id="mid-length"),
        pytest.param(lambda stream: stream.raw(b"no length\r\n").drop(), id="invalid chunk length"),
    ],
)
def test_resumes_broken_watch_and_drops_incomplete_line(
    server: DrivenApiServer, watches: Watches, consumer: Consumer, stream: Exchange, cut: Callable[[Exchange], None]
) -> None:
    stream.tell("ADDED", node("a", "11"))
    assert consumer.events(1) == [Added(node("a", "11"), "11")]
    cut(stream)
    [interrupted] = consumer.events(1)
    assert isinstance(interrupted, Interrupted)
    assert interrupted.cause.startswith(f"the connection to {server.host} broke")
    probe = server.next(PATH)
    assert probe.query == {"limit": "1", "resourceVersion": "11", "resourceVersionMatch": "NotOlderThan"}
    probe.page(version="12")
    resumed = server.next(PATH)
    assert resumed.query["resourceVersion"] == "11"
    resumed.stream().tell("ADDED", node("b", "12"))
    assert consumer.events(1) == [Added(node("b", "12"), "12")]


def test_skips_unreadable_lines(consumer: Consumer, stream: Exchange) -> None:
    stream.tell("ADDED", node("a", "11")).chunk(b"{]\n").chunk(b"\n").tell("SYNCED", node("a", "12"))
    stream.tell("ADDED", {"metadata": {}}).tell("ADDED", node("b", "13"))
    assert consumer.events(2) == [Added(node("a", "11"), "11"), Added(node("b", "13"), "13")]


@pytest.mark.parametrize("size", [1, 3, 7, 4096])
def test_joins_a_line_that_arrives_in_several_chunks(consumer: Consumer, stream: Exchange, size: int) -> None:
    names = ["a", "é" * 50, "b" * 200]
    lines = "".join(
        f'{{"type":"ADDED","object":{{"metadata":{{"name":"{name}","resourceVersion":"{index}"}}}}}}\n'
        for index, name in enumerate(names, 11)
    ).encode()
    for start in range(0, len(lines), size):
        stream.chunk(lines[start : start + size])
    assert consumer.events(3) == [Added(node(name, str(index)), str(index)) for index, name in enumerate(names, 11)]


def test_delivers_huge_object_whole(consumer: Consumer, stream: Exchange) -> None:
    huge = node("a", "11", annotations={"blob": "x" * 5_000_000})
    stream.tell("ADDED", huge).tell("ADDED", node("b", "12"))
    assert consumer.events(2) == [Added(huge, "11"), Added(node("b", "12"), "12")]


def test_accepts_last_line_without_line_break_at_clean_end(consumer: Consumer, stream: Exchange) -> None:
    stream.chunk(b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"11"}}}').end()
    assert consumer.events(2) == [Bookmark("11"), Ended()]


def test_rejects_response_that_is_not_a_stream(server: DrivenApiServer, consumer: Consumer) -> None:
    """The end of such a response does not show whether the connection broke."""
    server.next(PATH).page(version="10")
    server.next(PATH).answer(200, {"type": "BOOKMARK", "object": bookmark("11")})
    assert consumer.events(2)[1] == Interrupted(
        f"{server.host} does not stream its answer; is a proxy between us and it?"
    )


def test_closes_a_connection_that_stays_silent(server: DrivenApiServer) -> None:
    options = WatchOptions(watch_seconds=0, grace_seconds=0.2)
    with started(watch(server.api(), whole(NODES), clock=time.time, jitter=at_once, options=options)) as watches:
        half_open = None
        # If the machine pauses, the client may give up on an earlier request, too, and send it again.
        while not resumes_from("11", exchange := server.next(PATH)):
            with suppress(ConnectionError):
                if "watch" in exchange.query:
                    half_open = exchange.stream().tell("ADDED", node("a", "11"))
                else:
                    exchange.page(version="10")
        assert half_open is not None
        half_open.wait_until_left()
        consumer, event = Consumer(watches), None
        while event != Added(node("a", "11"), "11"):
            [event] = consumer.events(1)
        assert consumer.events(1) == [Interrupted(f"{server.host} did not answer in time")]
