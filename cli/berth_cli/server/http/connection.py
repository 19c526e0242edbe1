"""A connection: its own thread reads requests from a blocking socket, and calls the application in place.

The callers are few, such as a scheduler that keeps its connections. Without a hand-over between threads a call costs
half the processor time of one on an event loop. The server ends connections whose deadline has passed: a shutdown of
the socket wakes the thread.
"""

from __future__ import annotations

import logging
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum, auto
from urllib.parse import unquote

import httptools

from berth_cli.server.http.limits import BytesInFlight, Share
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
    """The connection ends; the response, if there is one, is sent."""


class Connection:
    """Serves the requests of one client. Call `run` in a thread; the server calls `expire` and `end` in its own."""

    def __init__(
        self,
        connection: socket.socket,
        client: str,
        application: Application,
        bytes_in_flight: BytesInFlight,
        tls: Callable[[], ssl.SSLContext] | None,
        closed: Callable[[Connection], None],
    ) -> None:
        self._socket, self._client, self._tls = connection, client, tls
        self._application, self._limits = application, application.limits
        self._closed = closed
        self._certificate: Mapping[str, object] | None = None
        self._share = Share(bytes_in_flight)
        self._buffer = memoryview(bytearray(RECEIVE_BYTES))
        self._parser = httptools.HttpRequestParser(self)
        self._complete: deque[tuple[Request, bool]] = deque()
        self._is_expired = self._is_stopping = False
        self._size = self._received = 0
        self.deadline = self.idle_since = 0.0
        self._begin(Phase.IDLE, self._limits.head_seconds)
        self._new_message()

    # ------------------------------------------------------------------------------------------------- the thread

    def run(self) -> None:
        """Serve requests until the client or the server ends the connection."""
        try:
            if self._tls is not None:
                wrapped = self._tls().wrap_socket(self._socket, server_side=True, do_handshake_on_connect=False)
                self._socket = wrapped  # from now on the server can end the handshake
                wrapped.do_handshake()
                self._certificate = client_certificate(wrapped)
            while True:
                self._receive()
                while self._complete:
                    self._respond(*self._complete.popleft())
        except (OSError, _Closed):  # ssl.SSLError is an OSError
            pass
        finally:
            self._share.release()
            self._socket.close()
            # The parser refers to the connection: without this its bodies would stay until the next collection.
            del self._parser, self._parts, self._complete
            self._closed(self)

    def _receive(self) -> None:
        """Read and parse what has arrived. Raises _Closed if nothing more arrives."""
        count = self._socket.recv_into(self._buffer)
        if not count:
            self._end_of_requests()
        self._received = count
        self._size += count
        try:
            self._parser.feed_data(self._buffer[:count])
        except httptools.HttpParserUpgrade:
            raise _Closed from None
        except httptools.HttpParserCallbackError as error:
            raise error.__context__ or error from None
        except httptools.HttpParserError:
            self._refuse(400, "the request is not HTTP")
        if self.phase is Phase.IDLE:
            self._size = 0
        elif self.phase is Phase.HEAD and self._size > self._limits.head_bytes:
            self._refuse(431, "the request header is too large")
        elif self._size > self._limits.request_bytes:
            raise _Closed

    def _end_of_requests(self) -> None:
        """Answer an incomplete request if it took too long, or if its body has no room. Raises _Closed."""
        if self._share.is_ended:
            self._refuse(503, f"more than {self._limits.bytes_in_flight} bytes of requests and answers are under way")
        if self._is_expired and self.phase is Phase.HEAD:
            self._refuse(408, f"the request header did not arrive within {self._limits.head_seconds:g} s")
        if self._is_expired and self.phase is Phase.BODY and not self._is_answered:
            self._refuse(408, f"the request body did not arrive within {self._limits.body_seconds:g} s")
        raise _Closed

    def _refuse(self, status: int, error: str) -> None:
        """Answer and close. Raises _Closed."""
        log.warning("%s: %s", self._route, error)
        self._send(json_response(status, {"Error": error}), closes=True)
        raise _Closed

    def _respond(self, request: Request, keeps_alive: bool) -> None:
        self.deadline, self.phase = 0.0, Phase.APPLICATION
        self._share.stop_waiting()
        try:
            response = self._application.answer(request)
        except Exception:
            log.exception("%s %s", request.method, request.path)
            response = json_response(500, {"Error": "Internal Server Error"})
        closes = not keeps_alive or self._is_stopping
        self._send(response, has_body=request.method != "HEAD", closes=closes)
        if closes:
            raise _Closed
        self._begin(Phase.IDLE, self._limits.keep_alive_seconds)

    def _send(self, response: Response, *, has_body: bool = True, closes: bool = False) -> None:
        content = encode(response, has_body=has_body, closes=closes)
        self._share.replace(len(content))
        self._share.wait_for_client(self.end)
        self._begin(Phase.CLIENT, self._limits.write_seconds)
        self._socket.sendall(content)
        self._share.release()

    def _begin(self, phase: Phase, seconds: float) -> None:
        now = time.monotonic()
        if phase is Phase.IDLE:
            self.idle_since = now
        self.phase, self.deadline = phase, now + seconds

    # ------------------------------------------------------------------------------------------ the parser's calls

    def _new_message(self) -> None:
        self._url = b""
        self._headers: dict[str, str] = {}
        self._parts: list[bytes] = []
        self._length = 0
        self._request: Request | None = None
        self._is_answered = self._is_too_long = False
        self._route = self._client

    def on_message_begin(self) -> None:
        """Begin a request, and the deadline of its header."""
        self._new_message()
        self._size = self._received
        self._begin(Phase.HEAD, self._limits.head_seconds)

    def on_url(self, url: bytes) -> None:
        """Add to the target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header; ignore trailers."""
        if self._request is None:
            self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Begin the request's body. If the application refuses it, the answer is sent at once, and the body dropped."""
        if len(self._complete) >= self._limits.pipelined_requests:
            self._refuse(400, "too many requests without waiting for an answer")
        method = self._parser.get_method().decode("latin-1")
        path, _, query = self._target().partition(b"?")
        name = path.decode("latin-1")
        self._request = Request(
            method,
            unquote(name) if "%" in name else name,
            query.decode("latin-1"),
            self._headers,
            self._parser.get_http_version(),
            self._client,
            self._certificate,
        )
        self._route = f"{method} {self._request.path}"
        self._begin(Phase.BODY, self._limits.body_seconds)
        refusal = self._application.begin(self._request)
        if refusal is not None:
            self._answer_at_once(refusal)
            return
        self._share.wait_for_client(self.stop_reading)
        if self._headers.get("expect", "").lower() == "100-continue":
            self._socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")

    def _target(self) -> bytes:
        """Return path and query. The target of a request may have a scheme and a host, too."""
        if self._url.startswith(b"/"):
            return self._url
        try:
            parsed = httptools.parse_url(self._url)
        except httptools.HttpParserInvalidURLError:
            return self._url
        return (parsed.path or b"/") + (b"?" + parsed.query if parsed.query else b"")

    def _answer_at_once(self, response: Response) -> None:
        while self._complete:
            self._respond(*self._complete.popleft())
        assert self._request is not None
        self._send(response, has_body=self._request.method != "HEAD")
        if "Connection" in response.headers:
            raise _Closed
        self._begin(Phase.BODY, self._limits.body_seconds)
        self._is_answered = True

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body if there is room. A body that is too long is read to its end, so that the client
        gets the answer."""
        if self._is_answered:
            return
        self._length += len(body)
        if self._length > self._limits.body_bytes:
            self._is_too_long = True
            self._parts.clear()
            self._share.release()
            return
        if not self._share.grow(len(body)):
            self._share.is_ended = True
            self._end_of_requests()
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """Queue the request for its response."""
        request = self._request
        assert request is not None
        keeps_alive = self._parser.should_keep_alive()
        self.deadline = 0.0
        if self._is_answered:
            if not keeps_alive:
                raise _Closed
            self._begin(Phase.IDLE, self._limits.keep_alive_seconds)
        elif self._is_too_long:
            log.warning("%s: rejected a body of more than %d bytes", self._route, self._limits.body_bytes)
            self._answer_at_once(json_response(413, {"message": "Request Too Long"}))
            self._begin(Phase.IDLE, self._limits.keep_alive_seconds)
        else:
            request.body = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
            self._complete.append((request, keeps_alive))

    # ------------------------------------------------------------------------------------------- the server's calls

    def refuse(self, status: int, error: str) -> None:
        """Answer and close the connection, without a thread. Over TLS it is only closed."""
        with suppress(OSError), self._socket as connection:
            if self._tls is None:
                connection.setblocking(False)
                connection.send(encode(json_response(status, {"Error": error}), closes=True))

    def expire(self) -> None:
        """End what takes too long: the thread then answers 408, or closes the connection."""
        self._is_expired = True
        if self.phase is Phase.CLIENT:
            self.end()
        else:
            self.stop_reading()

    def stop(self) -> None:
        """Close the connection after the response in progress."""
        self._is_stopping = True
        if self.phase is Phase.IDLE:
            self.stop_reading()

    def stop_reading(self) -> None:
        """Let the thread find the end of its requests."""
        self._shut_down(socket.SHUT_RD)

    def end(self) -> None:
        """Close the connection without the rest of its response."""
        self._shut_down(socket.SHUT_RDWR)

    def _shut_down(self, how: int) -> None:
        with suppress(OSError):  # the client or the thread was faster
            # Not SSLSocket.shutdown: the thread would go on without encryption.
            socket.socket.shutdown(self._socket, how)
