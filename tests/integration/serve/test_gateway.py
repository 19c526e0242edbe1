"""The gateway on loopback: Lambda events, and requests that it rejects itself."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from threading import Barrier
from typing import Any, NoReturn

import orjson
import pytest
from click.testing import CliRunner

from berth.nodecache.binds_under_way import BegunBinds
from berth.runtime.http.events import HTTPAnswer, http_answer
from berth_cli.main import main
from berth_cli.server.functions import Handler
from berth_cli.server.gateway import Gateway
from berth_cli.server.http import server
from berth_cli.server.http.limits import Limits
from tests.builders.http_calls import Caller
from tests.builders.nodes import labelled_object
from tests.builders.pods import pod, pod_object
from tests.builders.requests import body_of, cache_mode, full_mode
from tests.fakes.log_lines import LogLines
from tests.fakes.request_check import AnyRequest


@pytest.fixture
def caller(gateway_port: int) -> Iterator[Caller]:
    caller = Caller(gateway_port)
    yield caller
    caller.close()


def padded(size: int) -> bytes:
    """Return a valid request of exactly this many bytes."""
    body = body_of(full_mode([labelled_object("n10", "10")], pod_object() | {"padding": ""}))
    return body.replace('"padding":""', f'"padding":"{"x" * (size - len(body))}"').encode()


@pytest.mark.parametrize("size", [Limits().body_bytes + 1, 12_000_000])
def test_payload_above_gateway_limit_returns_413_and_keeps_the_connection(
    caller: Caller, size: int, log_lines: LogLines
) -> None:
    response = caller.post("/scheduler/filter", padded(size))
    assert (response.status, response.json) == (413, {"message": "Request Too Long"})
    [line] = log_lines.all()
    assert (line["level"], "verb" in line) == ("WARNING", False)
    assert line["message"] == "POST /scheduler/filter: rejected a body of more than 10000000 bytes"
    assert caller.post("/scheduler/filter", body_of(cache_mode(["n10"]))).status == 200
    assert len(caller.local_ports) == 1


@pytest.mark.parametrize(
    ("method", "path"),
    [
        pytest.param("GET", "/scheduler/filter", id="GET for a verb"),
        pytest.param("POST", "/scheduler/priority", id="a misspelt verb"),
        pytest.param("POST", "/scheduler/Filter", id="different case"),
        pytest.param("POST", "/scheduler/filter/", id="an extra slash"),
        pytest.param("POST", "/scheduler/../scheduler/filter", id="a path with dot segments"),
        pytest.param("OPTIONS", "/scheduler/bind", id="a browser that asks for another origin"),
    ],
)
def test_unknown_route_returns_404_and_logs_routes(caller: Caller, method: str, path: str, log_lines: LogLines) -> None:
    response = caller.request(method, path, body_of(cache_mode(["n10"])))
    assert (response.status, response.json["message"]) == (404, "Not Found")
    assert not [name for name in response.headers if name.startswith("access-control-")]
    error = response.json["Error"]
    routes = "GET /decisions, GET /gangs, GET /healthz, GET /metrics, GET /reservations, GET /users, "
    assert error.startswith(f"Berth has no route {method} {path}; its routes: {routes}")
    [line] = log_lines.all()
    assert (line["level"], "verb" in line) == ("WARNING", False)
    assert f"no route {method} {path}; its routes: " in line["message"]
    assert "POST /scheduler/filter" in line["message"]


def test_accepts_chunked_request(gateway_port: int) -> None:
    body = body_of(cache_mode(["n10", "plain"])).encode()
    chunks = b"".join(b"%x\r\n%s\r\n" % (1, body[i : i + 1]) for i in range(len(body)))
    head = (
        b"POST /scheduler/filter HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
    )
    with socket.create_connection(("127.0.0.1", gateway_port), timeout=10) as connection:
        connection.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
        received = b"".join(iter(lambda: connection.recv(65536), b""))
    assert received.startswith(b"HTTP/1.1 200 ")
    assert b'"NodeNames":["n10"]' in received


@contextmanager
def serving(handler: Handler, route: str = "POST /x", **settings: Any) -> Iterator[Caller]:
    """Serve a gateway with one function."""
    listener, gateway = server.listen("127.0.0.1", 0), Gateway({route: handler}, check=AnyRequest(), **settings)
    with server.serve_in_thread(gateway, listener), closing(Caller(listener.getsockname()[1])) as caller:
        yield caller


def test_responses_do_not_wait_for_tcp_acknowledgements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TCP_NODELAY each response would wait 40 ms for the caller's delayed acknowledgement."""
    accepted: list[tuple[socket.socket, Any]] = []
    accept = socket.socket.accept

    def recording(listener: socket.socket) -> tuple[socket.socket, Any]:
        accepted.append(accept(listener))
        return accepted[-1]

    monkeypatch.setattr(socket.socket, "accept", recording)
    with serving(lambda event, context: http_answer(200, b"{}")) as caller:
        caller.post("/x", b"")
        [(connection, _)] = accepted
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_binds_waiting_for_a_gang_do_not_block_other_verbs() -> None:
    """300 members wait at once; without gangs, the gateway accepts 256 connections."""
    everybody = Barrier(members := 300)
    answer = http_answer(200, b"{}")

    def bind(event: Mapping[str, object], context: object) -> HTTPAnswer:
        everybody.wait(timeout=30)
        return answer

    routes = {"POST /scheduler/bind": bind, "POST /scheduler/filter": lambda event, context: answer}
    listener = server.listen("127.0.0.1", 0)
    gateway = Gateway(routes, check=AnyRequest(), members=members)
    with server.serve_in_thread(gateway, listener), ThreadPoolExecutor(members) as pool:
        port = listener.getsockname()[1]
        waiting = [pool.submit(Caller(port).post, "/scheduler/bind", b"{}") for _ in range(members - 1)]
        assert Caller(port).post("/scheduler/filter", b"{}").status == 200
        assert not any(each.done() for each in waiting)
        assert Caller(port).post("/scheduler/bind", b"{}").status == 200
        assert {each.result().status for each in waiting} == {200}


def test_pod_counts_for_other_verbs_while_its_bind_runs() -> None:
    """The pod counts before bind has a thread, because the scheduler's next prioritize may get a thread first."""
    begun, seen = BegunBinds(), []
    begun.asked_about(pod("train-0", uid="uid-train-0"))

    def bind(event: Mapping[str, object], context: object) -> HTTPAnswer:
        seen.append([(each.name, each.node_name) for each in begun.pods()])
        return http_answer(200, b"{}")

    binding = {"PodName": "train-0", "PodNamespace": "ml", "PodUID": "uid-train-0", "Node": "n1"}
    with serving(bind, "POST /scheduler/bind", begun=begun) as caller:
        for body in (orjson.dumps(binding), b"no binding", orjson.dumps(binding | {"Padding": "x" * 4_000})):
            assert caller.post("/scheduler/bind", body).status == 200
    assert seen == [[("train-0", "n1")], [], []]
    assert begun.pods() == ()


def echo(body: bytes, headers: Mapping[str, str]) -> Mapping[str, Any]:
    """Send a POST to a function that returns its event as the response; return that event."""

    def handler(event: Mapping[str, object], context: object) -> HTTPAnswer:
        return http_answer(200, orjson.dumps(event))

    with serving(handler) as caller:
        found: Mapping[str, Any] = caller.post("/x?q=1", body, headers).json
        return found


def test_event_has_payload_format_2() -> None:
    event = echo(b"{}", {"Content-Type": "application/json", "User-Agent": "Go-http-client/1.1"})
    assert {key: event[key] for key in ("version", "routeKey", "rawPath", "rawQueryString")} == {
        "version": "2.0",
        "routeKey": "POST /x",
        "rawPath": "/x",
        "rawQueryString": "q=1",
    }
    assert event["headers"]["user-agent"] == "Go-http-client/1.1"
    assert event["requestContext"]["http"] == {"method": "POST", "path": "/x", "sourceIp": "127.0.0.1"}
    assert event["requestContext"]["stage"] == "$default"


@pytest.mark.parametrize(
    ("content_type", "body", "encoded"),
    [
        pytest.param("application/json", b'{"a": "\xc3\xbc"}', False, id="JSON is text"),
        pytest.param("application/json; charset=utf-8", b"{}", False, id="text with a character set"),
        pytest.param("text/plain", b"{}", False, id="text is text"),
        pytest.param("application/octet-stream", b"{}", True, id="anything else is base64"),
        pytest.param("", b"{}", True, id="a missing type is base64"),
        pytest.param("application/json", b"\xff\xfe", True, id="binary content with a text type is base64"),
    ],
)
def test_encodes_body_as_api_gateway_does(content_type: str, body: bytes, encoded: bool) -> None:
    event = echo(body, {"Content-Type": content_type} if content_type else {})
    assert event["isBase64Encoded"] is encoded
    assert event["body"] == (base64.b64encode(body).decode() if encoded else body.decode())


def test_failing_function_returns_500_without_details() -> None:
    def failing(event: object, context: object) -> NoReturn:
        raise ValueError("a secret in a message")

    with serving(failing) as caller:
        response = caller.post("/x", b"{}")
    assert response.status == 500
    assert b"secret" not in response.content
    assert b"Traceback" not in response.content


def test_decodes_base64_response_and_keeps_headers() -> None:
    headers = {"Content-Type": "image/png", "X-Own": "yes"}
    binary = {"statusCode": 201, "headers": headers, "body": "AP8=", "isBase64Encoded": True}
    with serving(lambda event, context: binary) as caller:
        response = caller.post("/x", b"")
    assert (response.status, response.content) == (201, b"\x00\xff")
    assert [response.headers[name] for name in ("content-type", "x-own", "content-length")] == ["image/png", "yes", "2"]


def test_reservations_of_a_server_can_be_listed(gateway_port: int) -> None:
    words = ["reservations", "list", f"--url=http://127.0.0.1:{gateway_port}/scheduler"]
    done = CliRunner().invoke(main, [*words, "-o", "json"])
    assert done.exit_code == 0, done.output
    assert orjson.loads(done.stdout).keys() == {"reservations", "nodes", "pools"}
