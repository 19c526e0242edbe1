"""A proxy in front of DynamoDB Local that throttles as a new on-demand table does, with DynamoDB's own answers."""

from __future__ import annotations

from typing import Self

import urllib3

from tests.e2e.kubernetes.loopback import LoopbackServer, Request, Response
from tests.fakes.throttled_dynamodb import NewTable

JSON = "application/x-amz-json-1.0"
FORWARDED = ("authorization", "content-type", "x-amz-date", "x-amz-target")
CONNECTIONS = 64
# DynamoDB Local may close a connection that is about to be used. What is repeated is idempotent.
RETRIES = urllib3.Retry(connect=3, read=3, redirect=0, status=0, other=0, allowed_methods=None)


class ThrottlingProxy:
    """For every client that is pointed at `endpoint_url`."""

    def __init__(self, endpoint_url: str, guard: NewTable) -> None:
        """`endpoint_url`: of what answers the requests that the guard admits."""
        self._behind = endpoint_url
        self._guard = guard
        self._connections = urllib3.PoolManager(maxsize=CONNECTIONS, block=True)
        self._server = LoopbackServer(self._answer)
        self.endpoint_url = self._server.url

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()
        self._connections.clear()

    def _answer(self, request: Request) -> Response:
        operation = request.headers["x-amz-target"].rpartition(".")[2]
        refused = self._guard.refusal(operation, request.body)
        if refused is not None:
            return Response(400, refused, {"Content-Type": JSON, "x-amzn-RequestId": "THROTTLED"})
        headers = {name: request.headers[name] for name in FORWARDED}
        found = self._connections.request("POST", self._behind, body=request.body, headers=headers, retries=RETRIES)
        self._guard.answered(operation, request.body, len(found.data))
        return Response(found.status, found.data, {"Content-Type": JSON})
