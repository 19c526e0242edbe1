"""Calls over HTTP as the scheduler makes them: one client, connections kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Response:
    """A response as received; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.content)


class Caller:
    """A connection to 127.0.0.1, opened when it is needed and kept as long as the server allows."""

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=10)
        self.local_ports: set[int] = set()

    def post(self, path: str, body: bytes | str | None, headers: Mapping[str, str] | None = None) -> Response:
        """Send a POST, by default with the scheduler's headers."""
        return self.request("POST", path, body, {"Content-Type": "application/json"} if headers is None else headers)

    def request(
        self, method: str, path: str, body: bytes | str | None = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Send any request; http.client adds Host and Content-Length."""
        content = body.encode() if isinstance(body, str) else body
        self._connection.request(method, path, content, dict(headers or {}))
        if self._connection.sock is not None:
            self.local_ports.add(self._connection.sock.getsockname()[1])
        response: HTTPResponse = self._connection.getresponse()
        found = {name.lower(): value for name, value in response.getheaders()}
        return Response(response.status, found, response.read())

    def close(self) -> None:
        self._connection.close()
