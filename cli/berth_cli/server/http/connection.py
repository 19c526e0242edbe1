"""A connection: its own thread reads requests from a blocking socket, and calls the application in place.

The callers are few, such as a scheduler that keeps its connections. Because threads do not hand requests over, a call
takes half the processor time that it takes on an event loop. The server interrupts connections whose deadline has
passed: a shutdown of the socket wakes the thread.
"""

from __future__ import annotations

import logging
import math
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum, auto

import httptools

from berth_cli.server.http.limits import NO_ROOM, BytesInFlight
from berth_cli.server.http.messages import Application, Request, Response, encode, json_response
from berth_cli.server.http.tls import client_certificate

RECEIVE_BYTES = 64 * 1024

log = logging.getLogger("berth.server")


class Phase(Enum):
    """The event that the connection waits for."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    APPLICATION = auto()
    CLIENT = auto()


class _Closed(Exception):
    """The connection ends. A response, if there is one, was sent."""


class Connection:
    """Serves one client's requests. Call `run` in a new thread; the server calls the other methods in its own."""

    def __init__(
        self,
        connection: socket.socket,
        client: str,
        application: Application,
        bytes_in_flight: BytesInFlight,
        tls: ssl.SSLContext | None,
        closed: Callable[[Connection], None],
    ) -> None:
        self._socket, self._client, self._tls = connection, client, tls
        self._application, self._limits = application, application.limits
        self._bytes_in_flight, self._closed = bytes_in_flight, closed
        self._certificate: Mapping[str, object] | None = None
        self._interruption: tuple[int, str] | None = None
        self._is_stopping = False
        self._buffer = memoryview(bytearray(RECEIVE_BYTES))
        self._received = self._pipelined = 0
        self._parser = httptools.HttpRequestParser(self)
        self._new_message()
        self._begin(Phase.IDLE, self._limits.head_seconds)

    # ------------------------------------------------------------------------------------------------- the thread

    def run(self) -> None:
        """Serve requests until the client or the server ends the connection."""
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # otherwise a large response waits 40 ms
            if self._tls is not None:
                wrapped = self._tls.wrap_socket(self._socket, server_side=True, do_handshake_on_connect=False)
                self._socket = wrapped  # the server can end the handshake from here on
                wrapped.do_handshake()
                self._certificate = client_certificate(wrapped)
            while True:
                self._receive()
        except (OSError, _Closed):  # ssl.SSLError is an OSError
            pass
        finally:
            self._bytes_in_flight.release(self)
            self._socket.close()
            self._new_message()
            del self._parser  # break the reference cycle, which would live until the next garbage collection
            self._closed(self)

    def _receive(self) -> None:
        """Read and parse received bytes, and answer each complete request. Raises _Closed if the connection ends."""
        self._received, self._pipelined = self._socket.recv_into(self._buffer), 0
        if self._interruption is not None and self.phase is not Phase.IDLE:
            self._refuse(*self._interruption)
        if not self._received:
            raise _Closed
        self._size += self._received
        try:
            self._parser.feed_data(self._buffer[: self._received])
        except httptools.HttpParserCallbackError as error:
            raise error.__context__ or error from None
        except httptools.HttpParserError:
            self._refuse(400, "the request is not HTTP")
        if self.phase is Phase.HEAD and self._size > self._limits.head_bytes:
            self._refuse(431, "the request header is too large")
        elif self._size > self._limits.request_bytes:
            self._refuse(413, "the request is too large")

    def _refuse(self, status: int, error: str) -> None:
        """Send the response that is already known, otherwise this error, and close. Raises _Closed."""
        log.warning("%s: %s", self._client if self._request is None else self._request.route, error)
        self._send(self._response or json_response(status, {"Error": error}), closes=True)

    def _send(self, response: Response, *, closes: bool) -> None:
        """Send the response, then wait for the next request. Raises _Closed if this was the last response."""
        closes = closes or self._is_stopping or self._interruption is not None or "Connection" in response.headers
        has_body = self._request is None or self._request.method != "HEAD"
        content = encode(response, has_body=has_body, closes=closes)
        self._new_message()  # the request is no longer needed, so its bytes are not in flight
        self._begin(Phase.CLIENT, self._limits.write_seconds)
        self._bytes_in_flight.hold(self, len(content), waits=True)
        self._socket.sendall(content)
        self._bytes_in_flight.release(self)
        if closes:
            raise _Closed
        self._begin(Phase.IDLE, self._limits.keep_alive_seconds)

    def _begin(self, phase: Phase, seconds: float) -> None:
        self.phase, self.deadline = phase, time.monotonic() + seconds

    def _new_message(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._request: Request | None = None
        self._response: Response | None = None
        self._parts: list[bytes] = []
        self._size = self._length = 0

    # ------------------------------------------------------------------------------------------ the parser's calls

    def on_message_begin(self) -> None:
        """Begin a request, and the deadline of its header."""
        self._begin(Phase.HEAD, self._limits.head_seconds)
        self._size = self._received
        self._pipelined += 1
        if self._pipelined > self._limits.pipelined_requests:
            self._refuse(400, "too many requests without waiting for an answer")

    def on_url(self, url: bytes) -> None:
        """Append a part of the request's target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; ignore trailers."""
        if self._request is None:
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Begin the request's body. A refused request gets its response at the end of its body, which is dropped."""
        method, target = self._parser.get_method().decode("latin-1"), self._url.decode("latin-1")
        path, _, query = target.partition("?")
        self._request = Request(method, path, query, self._headers, self._client, self._certificate)
        self._begin(Phase.BODY, self._limits.body_seconds)
        self._response = self._application.begin(self._request)
        if self._headers.get("expect", "").lower() == "100-continue":
            self._socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body, unless the response is known already."""
        if self._response is not None:
            return
        self._length += len(body)
        self._parts.append(body)
        if self._length > self._limits.body_bytes:
            assert self._request is not None
            log.warning("%s: rejected a body of more than %d bytes", self._request.route, self._limits.body_bytes)
            self._response = json_response(413, {"message": "Request Too Long"})
            self._parts.clear()
            self._bytes_in_flight.release(self)
        elif not self._bytes_in_flight.hold(self, self._length, waits=True):
            self._refuse(503, NO_ROOM)

    def on_message_complete(self) -> None:
        """Answer the request."""
        self._begin(Phase.APPLICATION, math.inf)
        # After a request to upgrade, the remaining bytes would not be HTTP.
        closes = not self._parser.should_keep_alive() or self._parser.should_upgrade()
        self._send(self._response or self._answer(), closes=closes)

    def _answer(self) -> Response:
        request = self._request
        assert request is not None
        self._bytes_in_flight.hold(self, self._length, waits=False)
        request.body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        try:
            return self._application.answer(request)
        except Exception:
            log.exception("%s", request.route)
            return json_response(500, {"Error": "Internal Server Error"})

    # ------------------------------------------------------------------------------------------- the server's calls

    def expire(self, now: float) -> None:
        """Interrupt the connection if its deadline has passed. now: the value of time.monotonic()."""
        if self.deadline < now:
            self.interrupt(408, "the request did not arrive in time")

    def interrupt(self, status: int, error: str) -> None:
        """End the request with this response. If a response is being sent already, stop sending it."""
        self._interruption = status, error
        self.shut_down(socket.SHUT_RDWR if self.phase is Phase.CLIENT else socket.SHUT_RD)

    def stop(self) -> None:
        """Close the connection after the response in progress."""
        self._is_stopping = True
        if self.phase is Phase.IDLE:
            self.shut_down(socket.SHUT_RD)

    def shut_down(self, how: int) -> None:
        """Shut down reading, or the whole connection. The thread notices the end."""
        with suppress(OSError):  # the client or the thread was faster
            # Not SSLSocket.shutdown: the thread would continue without encryption.
            socket.socket.shutdown(self._socket, how)
