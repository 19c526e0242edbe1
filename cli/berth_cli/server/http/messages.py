"""The requests and responses of the server, and the application that answers requests."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Protocol

import orjson

from berth_cli.server.http.limits import Limits


@dataclass(slots=True)
class Request:
    """A request. headers: by name in lower case; of a repeated header, the last. client: the client's IP address.
    certificate: the verified client certificate in the format of `requestContext.authentication.clientCert`. body:
    empty until the request is complete. arrived_at: seconds since the epoch; the application sets it."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    client: str = ""
    certificate: Mapping[str, object] | None = None
    body: bytes = b""
    arrived_at: float = 0.0

    @property
    def route(self) -> str:
        return f"{self.method} {self.path}"


JSON: Mapping[str, str] = {"content-type": "application/json"}


@dataclass(frozen=True, slots=True)
class Response:
    """A response. headers: the headers other than Content-Length, Date and Connection."""

    status: int
    content: bytes
    headers: Mapping[str, str] = field(default_factory=lambda: JSON)


def json_response(status: int, content: object) -> Response:
    return Response(status, orjson.dumps(content))


class Application(Protocol):
    """Answers requests, each in the thread of its connection."""

    @property
    def limits(self) -> Limits: ...
    def begin(self, request: Request) -> Response | None:
        """Check the header. Return a response to answer at once and drop the body, or None to read the body."""

    def answer(self, request: Request) -> Response:
        """Return the response to a complete request."""


def encode(response: Response, *, has_body: bool = True, closes: bool = False) -> bytes:
    """Return the whole response with its Content-Length: after a chunked response the scheduler needs a new connection
    (fact 6). has_body: false for a response to HEAD."""
    status = HTTPStatus(response.status)
    headers = {**response.headers, "content-length": len(response.content), "date": _date(int(time.time()))}
    if closes:
        headers["connection"] = "close"
    lines = [f"HTTP/1.1 {status.value} {status.phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    head = "\r\n".join([*lines, "\r\n"]).encode("latin-1")
    return head + response.content if has_body else head


@lru_cache(maxsize=1)
def _date(second: int) -> str:
    return formatdate(second, usegmt=True)
