"""The proxy passes on what it does not fail, and fails the planned calls."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest
import urllib3

from tests.chaos.faulty_proxy import Answer, Cut, FaultyProxy
from tests.e2e.kubernetes.loopback import LoopbackServer, Request, Response

REFUSED = Answer(500, b"no")


@pytest.fixture
def asked() -> list[bytes]:
    return []


@pytest.fixture
def proxy(asked: list[bytes]) -> Iterator[FaultyProxy]:
    def answer(request: Request) -> Response:
        asked.append(request.body)
        return Response(201, b"<" + request.body + b">", {"X-Kept": "yes"})

    with LoopbackServer(answer) as server, FaultyProxy(server.url) as proxy:
        yield proxy


def _post(proxy: FaultyProxy) -> urllib3.BaseHTTPResponse:
    return urllib3.request("POST", f"{proxy.url}/path", body=b"body", retries=False)


def test_passes_calls_on_with_status_headers_and_body(proxy: FaultyProxy) -> None:
    answer = _post(proxy)
    assert (answer.status, answer.data, answer.headers["X-Kept"]) == (201, b"<body>", "yes")


def test_answers_in_place_of_the_server(proxy: FaultyProxy, asked: list[bytes]) -> None:
    with proxy.failing(1.0, (REFUSED,), Random(0)):
        assert _post(proxy).status == 500
    assert asked == []
    assert _post(proxy).status == 201


@pytest.mark.parametrize(("cut", "reaches"), [(Cut.BEFORE, []), (Cut.AFTER, [b"body"])])
def test_closes_the_connection_before_or_after_the_server_has_acted(
    proxy: FaultyProxy, asked: list[bytes], cut: Cut, reaches: list[bytes]
) -> None:
    with proxy.failing(1.0, (cut,), Random(0)), pytest.raises(urllib3.exceptions.ProtocolError):
        _post(proxy)
    assert asked == reaches


def test_fails_so_large_a_part_as_it_is_told(proxy: FaultyProxy) -> None:
    with proxy.failing(0.3, (REFUSED,), Random(1)):
        failed = sum(_post(proxy).status == 500 for _ in range(100))
    assert 15 < failed < 45


def test_a_watch_that_resumes_is_told_that_its_version_is_gone(proxy: FaultyProxy, asked: list[bytes]) -> None:
    gone = Answer(200, b"gone")
    with proxy.expiring_watches(gone):
        watch = urllib3.request("GET", f"{proxy.url}/api/v1/pods?watch=true&resourceVersion=5", retries=False)
        assert watch.data == b"gone"
        assert _post(proxy).status == 201
    assert asked == [b"body"]
