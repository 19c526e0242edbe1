"""A connection: uvicorn's protocol with deadlines, a limit of connections, and the client's certificate."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, MutableMapping
from typing import Any, cast

import orjson
import uvicorn
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol
from uvicorn.server import ServerState

from berth_cli.server.http.limits import Limits
from berth_cli.server.http.tls import certificate_state

_ABORT = "berth.abort"

log = logging.getLogger("berth.server")


class Connection(HttpToolsProtocol):
    """Adds deadlines: uvicorn's protocol waits without a limit for a header, a body and a slow reader."""

    def __init__(
        self, config: uvicorn.Config, server_state: ServerState, app_state: dict[str, Any], limits: Limits
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._limits = limits
        self._deadline: asyncio.TimerHandle | None = None
        self._write_deadline: asyncio.TimerHandle | None = None
        self._idle_since: float | None = None
        self._in_head = True
        self._received_bytes = 0
        self._chunk_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Add the client's certificate to the state of all requests. Refuse the connection if too many are open."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, **certificate_state(transport), _ABORT: transport.abort}
        self._idle_since = time.monotonic()
        self._allow(self._limits.head_seconds)
        if len(self.connections) > self._limits.connections:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadlines."""
        self._end_deadline()
        self._end_write_deadline()
        super().connection_lost(exc)

    # Requests

    def data_received(self, data: bytes) -> None:
        """Count a request's bytes, because the parser does not limit headers or trailers."""
        self._chunk_bytes = len(data)
        self._received_bytes += self._chunk_bytes
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head and self._received_bytes > self._limits.head_bytes:
            self._answer(431, "the request header is too large")
        elif self._received_bytes > self._limits.request_bytes:
            self.transport.abort()
        elif self._idle_since is not None and self._deadline is None:
            self._allow(self._limits.head_seconds)  # empty lines between requests

    def on_message_begin(self) -> None:
        """Begin a request and the deadline of its header."""
        super().on_message_begin()
        self._idle_since = None
        self._in_head, self._received_bytes = True, self._chunk_bytes
        self._allow(self._limits.head_seconds)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Ignore trailers."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin the request's body. Raises ValueError, which uvicorn answers with status 400."""
        if len(self.pipeline) >= self._limits.pipelined_requests:
            raise ValueError("too many requests without waiting for an answer")
        self._in_head = False
        super().on_headers_complete()
        # The gateway answers 408 earlier; this deadline ends requests whose body it does not read.
        self._allow(self._limits.body_seconds + 1)

    def on_message_complete(self) -> None:
        """End the deadline: the request is complete."""
        super().on_message_complete()
        self._end_deadline()
        self._note_idle()

    def on_response_complete(self) -> None:
        """Handle the end of a response, which is then in the transport's buffer."""
        super().on_response_complete()
        self._note_idle()

    def _note_idle(self) -> None:
        if self._deadline is None and (self.cycle is None or self.cycle.response_complete) and not self.pipeline:
            self._idle_since = time.monotonic()
            self._received_bytes = 0

    # Slow readers

    def pause_writing(self) -> None:
        """Begin the deadline for a client that does not read its response."""
        super().pause_writing()
        self._write_deadline = self.loop.call_later(self._limits.write_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """End the deadline: the client reads again."""
        super().resume_writing()
        self._end_write_deadline()

    def _end_write_deadline(self) -> None:
        if self._write_deadline is not None:
            self._write_deadline.cancel()
            self._write_deadline = None

    # Deadlines

    def _allow(self, seconds: float) -> None:
        self._end_deadline()
        self._deadline = self.loop.call_later(seconds, self._end_slow_request)

    def _end_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _end_slow_request(self) -> None:
        self._deadline = None
        if self._in_head and self._idle_since is None:
            self._answer(408, f"the request header did not arrive within {self._limits.head_seconds:g} s")
        else:
            self.transport.abort()

    # The limit of connections

    def _make_room(self) -> None:
        """Close the connection with the longest idle time; if all are busy, refuse this one."""
        others = [other for other in self.connections if isinstance(other, Connection) and other is not self]
        open_ones = [other for other in others if not other.transport.is_closing()]
        if len(open_ones) < self._limits.connections:
            return
        idle = [other for other in open_ones if other.is_idle]
        if idle:
            min(idle, key=lambda other: other._idle_since or 0.0).transport.abort()
            return
        log.warning("refused a connection: %d are open and none is idle", len(open_ones))
        self._answer(503, f"{len(open_ones)} connections are open")

    @property
    def is_idle(self) -> bool:
        """Return whether the connection has no request or response in progress."""
        return self._idle_since is not None and not self.transport.get_write_buffer_size()

    def _answer(self, status: int, error: str) -> None:
        """Respond without the gateway, and close the connection."""
        body = orjson.dumps({"Error": error})
        head = b"content-type: application/json\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()


def abort_of(scope: MutableMapping[str, Any]) -> Callable[[], None]:
    """Return a function that ends the request's connection without sending the rest of its response."""
    return cast("Callable[[], None]", scope.get("state", {}).get(_ABORT, lambda: None))
