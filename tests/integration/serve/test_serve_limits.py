"""`berth serve` in a process of its own, attacked over loopback: its memory and its connections stay available."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest

from berth_cli.server.http.limits import Limits
from tests.builders.event_fixtures import EVENTS
from tests.builders.http_calls import Caller, Response
from tests.builders.requests import body_of, cache_mode
from tests.soak.serve_memory import resident_megabytes

from .serving import Served, calling, eventually, serving

pytestmark = pytest.mark.long
"""A server in a process of its own."""

LIMITS = Limits()
HEAD = b"POST /scheduler/filter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
CALL = body_of(cache_mode(["n10"]))


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving("--cluster", str(EVENTS / "cluster.yaml"), "--port", "0") as served:
        yield served


@pytest.fixture
def caller(served: Served) -> Iterator[Caller]:
    with calling(served) as caller:
        yield caller


def connect(served: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", served.port), timeout=LIMITS.body_seconds + 20)


def all_of(connection: socket.socket) -> bytes:
    received = b""
    with suppress(ConnectionError):
        while part := connection.recv(65536):
            received += part
    return received


def test_memory_of_idle_connections_is_bounded(served: Served) -> None:
    """Each of 40 clients has sent 9 MB and read the response, and keeps its connection open."""
    before = resident_megabytes(served.process.pid)
    with ExitStack() as stack:
        for _ in range(40):
            caller = stack.enter_context(calling(served))
            assert caller.post("/scheduler/filter", b"x" * 9_000_000).status == 200
        assert resident_megabytes(served.process.pid) - before < 200


def test_memory_for_unfinished_bodies_is_bounded(served: Served, caller: Caller) -> None:
    """40 clients send bodies of 10 MB without the last byte. A call of another client meanwhile succeeds."""
    before = resident_megabytes(served.process.pid)
    with ExitStack() as stack:
        connections = [stack.enter_context(connect(served)) for _ in range(40)]

        def send(connection: socket.socket) -> None:
            connection.sendall(HEAD + b"Content-Length: 10000000\r\n\r\n")
            try:
                connection.sendall(b"x" * 9_999_999)
            except ConnectionError:
                return

        threads = [threading.Thread(target=send, args=(connection,)) for connection in connections]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert caller.post("/scheduler/filter", CALL).status == 200
        assert resident_megabytes(served.process.pid) - before < 200
    assert caller.post("/scheduler/filter", CALL).status == 200


def test_memory_for_unread_responses_is_bounded(served: Served, caller: Caller) -> None:
    """Each of 30 clients sends 4 MB of node names and does not read the response."""
    before = resident_megabytes(served.process.pid)
    body = body_of(cache_mode([f"node-{number:0200d}" for number in range(19_000)])).encode()
    with ExitStack() as stack:
        for _ in range(30):
            connection = stack.enter_context(connect(served))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            with suppress(ConnectionError):  # the server may refuse it before it has the whole body
                connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert caller.post("/scheduler/filter", CALL).status == 200
        assert resident_megabytes(served.process.pid) - before < 300


def test_too_many_node_names_get_a_short_response(served: Served) -> None:
    body = body_of(cache_mode([f"{number:x}" for number in range(640_000)]))
    assert len(body) > 5_000_000
    responses: list[Response] = []

    def is_accepted() -> bool:
        # Requests of clients that have just left may still use the server's memory.
        with suppress(ConnectionError), calling(served) as caller:
            responses.append(caller.post("/scheduler/filter", body))
        return bool(responses) and responses[-1].status == 200

    eventually(is_accepted, 60)
    assert responses[-1].json["Error"] == "the request has more than 50000 nodes"
    assert len(responses[-1].content) < 1000


def test_silent_connections_do_not_block_other_callers(served: Served) -> None:
    with ExitStack() as stack:
        for _ in range(LIMITS.connections + 50):
            stack.enter_context(connect(served))
        caller = Caller(served.port)
        assert caller.post("/scheduler/filter", CALL).status == 200
        caller.close()


def test_refuses_a_connection_if_all_allowed_connections_are_busy(served: Served) -> None:
    with ExitStack() as stack:
        busy = [stack.enter_context(connect(served)) for _ in range(LIMITS.connections)]
        for connection in busy:
            connection.sendall(HEAD + b"Content-Length: 1\r\nExpect: 100-continue\r\n\r\n")
        for connection in busy:
            assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        refused = stack.enter_context(connect(served))
        answer = all_of(refused)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert f"{LIMITS.connections} connections are open".encode() in answer


SLOW = {
    "header": (b"POST /scheduler/filter HTTP/1.1\r\nX: ", b"x", b"408"),
    "body": (HEAD + b"Content-Length: 1000\r\n\r\n", b" ", b"408"),
    "chunked body": (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", b"408"),
    "body of a refused request": (HEAD.replace(b"json", b"x") + b"Content-Length: 1000\r\n\r\n", b" ", b"415"),
    "nothing at all": (b"", b"", b""),
    "empty lines": (b"\r\n", b"\r\n", b""),
}


def drip(served: Served, sent: bytes, dripped: bytes) -> tuple[float, bytes]:
    """Send `sent`, then `dripped` every second. Return the seconds until the server closes, and the response."""
    started = time.monotonic()
    received = b""
    with connect(served) as connection:
        connection.sendall(sent)
        connection.settimeout(1.0)
        while (elapsed := time.monotonic() - started) < LIMITS.body_seconds + 10:
            try:
                part = connection.recv(65536)
                received += part
                if not part:
                    return elapsed, received
            except TimeoutError:
                connection.sendall(dripped)
            except ConnectionError:
                return elapsed, received
    raise AssertionError("the connection stays open")


@pytest.fixture(scope="module")
def slow_requests(served: Served) -> dict[str, tuple[float, bytes]]:
    """Send all slow requests concurrently, because each takes long."""
    with ThreadPoolExecutor(len(SLOW)) as pool:
        futures = {name: pool.submit(drip, served, sent, dripped) for name, (sent, dripped, _) in SLOW.items()}
        return {name: future.result() for name, future in futures.items()}


@pytest.mark.parametrize("name", SLOW)
def test_ends_a_request_that_arrives_too_slowly(slow_requests: dict[str, tuple[float, bytes]], name: str) -> None:
    seconds, received = slow_requests[name]
    assert received[9:12] == SLOW[name][2]
    assert LIMITS.head_seconds - 1 <= seconds <= LIMITS.body_seconds + 5


def test_rejects_an_endless_header(served: Served) -> None:
    with connect(served) as connection:
        connection.sendall(b"POST /scheduler/filter HTTP/1.1\r\nX: " + b"x" * (LIMITS.head_bytes + 1))
        assert all_of(connection).startswith(b"HTTP/1.1 431 ")


def test_stops_reading_an_endless_body(served: Served) -> None:
    sent = 0
    with connect(served) as connection:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        with suppress(ConnectionError):
            for _ in range(100):
                connection.sendall(b"f4240\r\n" + b"x" * 1_000_000 + b"\r\n")
                sent += 1_000_000
    assert sent < LIMITS.request_bytes + 20_000_000


def test_number_of_pipelined_requests_is_bounded(served: Served, caller: Caller) -> None:
    with connect(served) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2000)
        assert all_of(connection).count(b"HTTP/1.1 200 ") <= LIMITS.pipelined_requests
    assert caller.request("GET", "/healthz").status == 200


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [
        pytest.param("Host", "127.0.0.1:8080", 200, id="loopback"),
        pytest.param("Host", "LOCALHOST", 200, id="localhost"),
        pytest.param("Host", "[::1]:8080", 200, id="IPv6"),
        pytest.param("Host", "10.0.0.7:8080", 200, id="another address of the machine"),
        pytest.param("Host", "attacker.example:8080", 421, id="a host name that resolves to 127.0.0.1"),
        pytest.param("Host", "localhost.attacker.example", 421, id="a name that begins like localhost"),
        pytest.param("Host", "127.0.0.1.attacker.example", 421, id="a name that begins like an address"),
        pytest.param("Content-Type", "application/json", 200, id="JSON"),
        pytest.param("Content-Type", "application/json; charset=utf-8", 200, id="JSON with a character set"),
        pytest.param("Content-Type", "text/plain", 415, id="text as a web page may send it"),
        pytest.param("Content-Type", "text/plain; application/json", 415, id="JSON only as a parameter"),
        pytest.param("Content-Type", "application/x-www-form-urlencoded", 415, id="a form, and curl -d"),
        pytest.param("Content-Type", "", 415, id="no content type"),
    ],
)
def test_rejects_requests_that_a_web_page_could_send(caller: Caller, header: str, value: str, status: int) -> None:
    headers = {"Host": "localhost", "Content-Type": "application/json"} | {header: value}
    response = caller.post("/scheduler/filter", CALL, headers)
    assert response.status == status
    assert ("Content-Type: application/json" in response.content.decode()) is (status == 415)
    assert caller.request("GET", "/healthz", None, headers).status == (200 if status == 415 else status)
