"""Concurrent calls: large requests wait for each other, and other calls do not wait for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from queue import Queue
from threading import Event

from berth_cli.server.gateway import LARGE_BYTES, MAX_LARGE_CALLS, Gateway
from berth_cli.server.http.messages import Request

ROUTE = "POST /scheduler/filter"
WAIT_SECONDS = 10


def request(body: bytes) -> Request:
    return Request("POST", "/scheduler/filter", "", {"content-type": "application/json"}, body=body)


def test_large_requests_wait_for_each_other_but_small_requests_do_not() -> None:
    begun: Queue[int] = Queue()
    may_end = Event()

    def handler(event: Mapping[str, object], context: object) -> dict[str, object]:
        size = len(str(event["body"]))
        begun.put(size)
        if size > LARGE_BYTES:
            assert may_end.wait(WAIT_SECONDS)
        return {"statusCode": 200, "headers": {}, "body": ""}

    def taken(count: int) -> Iterator[int]:
        return (begun.get(timeout=WAIT_SECONDS) for _ in range(count))

    gateway = Gateway({ROUTE: handler})
    large = b"x" * (LARGE_BYTES + 1)
    with ThreadPoolExecutor(MAX_LARGE_CALLS + 2) as pool:
        calls = [pool.submit(gateway.answer, request(large)) for _ in range(MAX_LARGE_CALLS + 1)]
        assert min(taken(MAX_LARGE_CALLS)) > LARGE_BYTES
        assert pool.submit(gateway.answer, request(b"small")).result(WAIT_SECONDS).status == 200
        assert list(taken(1)) == [len(b"small")]
        assert begun.empty()
        may_end.set()
        assert [call.result(WAIT_SECONDS).status for call in calls] == [200] * len(calls)
