"""Several concurrent watches: one consumer, one age of the data, one stop that ends every wait."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from berth.cluster.api_server.client import ApiServer, ApiServerUnreachable
from berth.cluster.watch.resources import BASE_RESOURCES, NODES, PODS
from berth.cluster.watch.watches import Watches, watch
from berth.nodecache.feed.cluster import Added, Listed
from berth.nodecache.feed.head import Position
from tests.builders.certificates import self_signed
from tests.fakes.clock import HandDrivenClock
from tests.unit.cluster.driven_api_server import PATIENCE_SECONDS, DrivenApiServer, driven_api_server
from tests.unit.cluster.taking import Consumer, at_once, running, started, whole


def versioned(name: str, version: str) -> dict[str, object]:
    return {"metadata": {"name": name, "resourceVersion": version}}


@pytest.fixture(params=["HTTP", "TLS"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DrivenApiServer]:
    if request.param == "HTTP":
        with driven_api_server() as server:
            yield server
        return
    certificate, key = self_signed(tmp_path, "authority")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with driven_api_server(context) as server:
        yield server


@pytest.fixture
def api(server: DrivenApiServer, tmp_path: Path) -> ApiServer:
    return server.api(ssl_ca_cert=str(tmp_path / "authority.crt"))


@pytest.fixture
def clock() -> HandDrivenClock:
    return HandDrivenClock()


@pytest.fixture
def watches(api: ApiServer, clock: HandDrivenClock) -> Iterator[Watches]:
    with started(watch(api, whole(NODES, PODS), clock=clock, jitter=at_once)) as watches:
        yield watches


def test_lists_and_watches_all_resources_concurrently(server: DrivenApiServer, api: ApiServer) -> None:
    with started(watch(api, whole(*BASE_RESOURCES), clock=HandDrivenClock(), jitter=at_once)) as watches:
        for resource in BASE_RESOURCES:
            server.next(resource.path).page(versioned(f"a-{resource.name}", "1"), version="5")
        streams = {resource: server.next(resource.path).stream() for resource in BASE_RESOURCES}
        for resource in reversed(BASE_RESOURCES):
            streams[resource].tell("ADDED", versioned(f"b-{resource.name}", "6"))
        received = Consumer(watches).take(2 * len(BASE_RESOURCES))
    for resource in BASE_RESOURCES:
        assert [each.event for each in received if each.resource == resource.name] == [
            Listed((versioned(f"a-{resource.name}", "1"),), "5"),
            Added(versioned(f"b-{resource.name}", "6"), "6"),
        ]


def test_positions_do_not_advance_until_events_are_consumed(
    server: DrivenApiServer, watches: Watches, clock: HandDrivenClock
) -> None:
    """An event that is not consumed is not published, so a successor must receive it again."""
    consumer, start = Consumer(watches), clock.now
    server.next(NODES.path).page(version="5")
    server.next(PODS.path).page(version="5")
    consumer.take(2)
    clock.advance(10)
    server.next(NODES.path).stream().tell("BOOKMARK", versioned("", "6"))
    server.next(PODS.path).stream().tell("BOOKMARK", versioned("", "6")).tell("BOOKMARK", versioned("", "7")).end()
    server.next(PODS.path)
    assert watches.observed_at == start
    assert watches.positions["pods"] == Position("5", start, start)


Phase = Callable[[DrivenApiServer, Consumer], object]


def _waiting_for_pages(server: DrivenApiServer, consumer: Consumer) -> None:
    server.next(NODES.path)
    server.next(PODS.path).page(version="5", following="token")
    server.next(PODS.path)


def _waiting_for_headers(server: DrivenApiServer, consumer: Consumer) -> None:
    for resource in (NODES, PODS):
        server.next(resource.path).page(version="5")
        server.next(resource.path)
    consumer.take(2)


def _waiting_for_events(server: DrivenApiServer, consumer: Consumer) -> None:
    for resource in (NODES, PODS):
        server.next(resource.path).page(version="5")
        server.next(resource.path).stream().tell("BOOKMARK", versioned("", "6"))
    consumer.take(4)


def _in_the_middle_of_a_line(server: DrivenApiServer, consumer: Consumer) -> None:
    for resource in (NODES, PODS):
        server.next(resource.path).page(version="5")
        server.next(resource.path).stream().tell("BOOKMARK", versioned("", "6")).chunk(b'{"type":"ADD').raw(b"ff\r\n{")
    consumer.take(4)


@pytest.mark.parametrize(
    "phase", [_waiting_for_pages, _waiting_for_headers, _waiting_for_events, _in_the_middle_of_a_line]
)
def test_stop_ends_every_wait_and_drops_later_events(server: DrivenApiServer, api: ApiServer, phase: Phase) -> None:
    """Only the stop can end a wait: the server never answers, and every time limit is longer than the test waits."""
    with started(watch(api, whole(NODES, PODS), clock=HandDrivenClock(), jitter=at_once)) as watches:
        consumer = Consumer(watches)
        phase(server, consumer)
        assert running(watches) == ["watch-nodes", "watch-pods"]
        watches.stop()
        assert running(watches) == []
        assert watches.take(PATIENCE_SECONDS) == []


def test_stop_ends_wait_between_attempts(server: DrivenApiServer, api: ApiServer) -> None:
    with started(watch(api, whole(NODES), clock=HandDrivenClock(), jitter=lambda: 1_000.0)) as watches:
        server.next(NODES.path).refuse(500, "InternalError")
        Consumer(watches).take(1)
        watches.stop()
        assert running(watches) == []


def test_stop_ends_wait_for_consumer(server: DrivenApiServer, api: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("berth.cluster.watch.watches.CAPACITY", 1)
    with started(watch(api, whole(NODES), clock=HandDrivenClock(), jitter=at_once)) as watches:
        server.next(NODES.path).page(version="5")
        server.next(NODES.path).stream().tell("BOOKMARK", versioned("", "6")).end()
        watches.stop()
        assert running(watches) == []
        assert [received.event for received in watches.take(0)] in ([], [Listed((), "5")])


def test_stop_wakes_waiting_consumer(server: DrivenApiServer, watches: Watches) -> None:
    taken: list[object] = ["nothing yet"]
    waiting = threading.Thread(target=lambda: taken.__setitem__(0, watches.take(PATIENCE_SECONDS)))
    waiting.start()
    watches.stop()
    waiting.join(PATIENCE_SECONDS)
    assert taken == [[]]


def test_watches_can_be_stopped_twice_or_before_they_start(api: ApiServer) -> None:
    watches = watch(api, whole(NODES), clock=HandDrivenClock(), jitter=at_once)
    watches.stop()
    watches.stop()
    assert running(watches) == []


def test_api_server_client_works_after_watches_stop(server: DrivenApiServer, api: ApiServer) -> None:
    watches = watch(api, whole(NODES), clock=HandDrivenClock(), jitter=at_once)
    watches.start()
    server.next(NODES.path)
    watches.stop()
    answers: list[int] = []
    asking = threading.Thread(
        target=lambda: answers.append(api.request("GET", "/version", timeout=PATIENCE_SECONDS).status)
    )
    asking.start()
    server.next("/version").answer(200, {})
    asking.join(PATIENCE_SECONDS)
    assert answers == [200]


def test_closed_client_does_not_open_a_connection(server: DrivenApiServer, api: ApiServer) -> None:
    api.close()
    with pytest.raises(ApiServerUnreachable):
        api.request("GET", "/version", timeout=PATIENCE_SECONDS)
    with pytest.raises(ApiServerUnreachable):
        api.stream("/version", query={}, silence=PATIENCE_SECONDS)
    assert server.nothing_waits()


def test_closed_client_fails_without_an_attempt_to_connect(server: DrivenApiServer, api: ApiServer) -> None:
    """No server listens. A connection attempt can take seconds, and a stop would have to wait for it."""
    server.stop()
    with pytest.raises(ApiServerUnreachable, match="cannot be reached"):
        api.request("GET", "/version", timeout=PATIENCE_SECONDS)
    api.close()
    with pytest.raises(ApiServerUnreachable, match="broke"):
        api.request("GET", "/version", timeout=PATIENCE_SECONDS)
    server.start()
