"""A proxy in front of an HTTP server (API server or DynamoDB) that lets a part of the calls fail."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Self
from urllib.parse import urlsplit

from tests.e2e.kubernetes.loopback import HOST

HOP_BY_HOP = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "upgrade", "te", "trailer"})
ANSWER_SECONDS = 120
CHUNK = 65536


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes
    content_type: str = "application/json"
    headers: Sequence[tuple[str, str]] = ()


class Cut(Enum):
    """Ends the connection without a response. AFTER: the server has carried out the request."""

    BEFORE = auto()
    AFTER = auto()


Fault = Answer | Cut


class FaultyProxy:
    """Passes each call on; while `failing`, a part of the calls fails. Streams are passed on as they arrive."""

    def __init__(
        self,
        server: str,
        *,
        ca_file: Path | None = None,
        own: tuple[Path, Path] | None = None,
        client_ca: Path | None = None,
    ) -> None:
        """own: the proxy's certificate and key for HTTPS. client_ca: CA of the certificates of clients, if required."""
        self._upstream = urlsplit(server)
        self._ca_file = ca_file
        self._lock = threading.Lock()
        self._faults: Sequence[Fault] = ()
        self._rate = 0.0
        self._random = Random(0)
        self._expired: Answer | None = None
        self._streams: set[socket.socket] = set()
        self.failed = 0
        self._context: ssl.SSLContext | None = None
        if own is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(*own)
            if client_ca is not None:
                self._context.verify_mode = ssl.CERT_REQUIRED
                self._context.load_verify_locations(client_ca)
        self._server = self._bound(0)
        self._thread: threading.Thread
        self.url = f"http{'' if own is None else 's'}://{HOST}:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def _bound(self, port: int) -> _Server:
        """Take the port, and refuse connections to it."""
        server = _Server((HOST, port), type("Handler", (_Handler,), {"proxy": self}), bind_and_activate=False)
        server.server_bind()
        if self._context is not None:
            server.socket = self._context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        return server

    def _listen(self) -> None:
        self._server.server_activate()
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def _close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.cut_streams()
        self._thread.join()

    @contextmanager
    def refusing_connections(self) -> Iterator[None]:
        """Refuse connections until the block ends; the next call on an open connection ends the connection."""
        port = self._server.server_port
        self._close()
        self._server = self._bound(port)
        try:
            with self.failing(1.0, (Cut.BEFORE,), Random(0)):
                yield
        finally:
            self._listen()

    @contextmanager
    def failing(self, rate: float, faults: Sequence[Fault], random: Random) -> Iterator[None]:
        """Let this share of the calls fail in one of these ways until the block ends."""
        with self._lock:
            self._rate, self._faults, self._random = rate, faults, random
        try:
            yield
        finally:
            with self._lock:
                self._rate, self._faults = 0.0, ()

    @contextmanager
    def expiring_watches(self, answer: Answer) -> Iterator[None]:
        """Give this answer to each watch that resumes, until the block ends; cut running watches now."""
        with self._lock:
            self._expired = answer
        self.cut_streams()
        try:
            yield
        finally:
            with self._lock:
                self._expired = None

    def cut_streams(self) -> None:
        """End every streamed response that is under way, as a load balancer does."""
        with self._lock:
            streams = list(self._streams)
        for each in streams:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def drawn(self, path: str) -> Fault | None:
        with self._lock:
            if self._expired is not None and "watch=" in path.lower() and "resourceversion=" in path.lower():
                self.failed += 1
                return self._expired
            if self._faults and self._random.random() < self._rate:
                self.failed += 1
                return self._random.choice(self._faults)
            return None

    def passed_on(self, path: str, client: socket.socket) -> tuple[str, dict[str, str]]:
        """Return the path at the upstream server, and additional headers. client: the caller's connection."""
        return path, {}

    def answered(self, status: int) -> None:
        """Called with the status of each response from the upstream server."""

    def connect(self) -> http.client.HTTPConnection:
        host, port = self._upstream.hostname or HOST, self._upstream.port
        if self._upstream.scheme == "https":
            context = ssl.create_default_context(cafile=None if self._ca_file is None else str(self._ca_file))
            return http.client.HTTPSConnection(host, port, timeout=ANSWER_SECONDS, context=context)
        return http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS)

    @contextmanager
    def streaming(self, connection: socket.socket) -> Iterator[None]:
        """Let `cut_streams` end a response of unknown length while it is passed on."""
        with self._lock:
            self._streams.add(connection)
        try:
            yield
        finally:
            with self._lock:
                self._streams.discard(connection)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that disconnects."""


class _Handler(BaseHTTPRequestHandler):
    proxy: FaultyProxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    _behind: http.client.HTTPConnection | None = None

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.proxy.drawn(self.path)
        if isinstance(fault, Answer):
            self._answer(fault)
        elif fault is Cut.BEFORE:
            self._hang_up()
        else:
            self._forward(body, answered=fault is None)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on  # noqa: N815 (the base class looks for these)

    def _answer(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in (("Content-Type", answer.content_type), *answer.headers):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def _hang_up(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def _forward(self, body: bytes, *, answered: bool) -> None:
        try:
            found = self._ask(body)
        except (OSError, http.client.HTTPException):
            self._leave()
            self._hang_up()
            return
        if not answered:
            found.read()
            self._hang_up()
            return
        self.proxy.answered(found.status)
        self.send_response_only(found.status)
        for name, value in found.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        if found.length is None:
            self._stream(found)
        else:
            content = found.read()
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    def _ask(self, body: bytes) -> http.client.HTTPResponse:
        """Send the request on the open connection, or on a new connection if the server has closed the open one."""
        for fresh in (False, True):
            if self._behind is None:
                self._behind, fresh = self.proxy.connect(), True  # noqa: PLW2901
            path, more = self.proxy.passed_on(self.path, self.connection)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP} | more
            try:
                self._behind.request(self.command, path, body=body or None, headers=headers)
                return self._behind.getresponse()
            except (http.client.RemoteDisconnected, ConnectionError):
                self._leave()
                if fresh:
                    raise
        raise ConnectionError("unreachable")

    def _stream(self, found: http.client.HTTPResponse) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        try:
            with self.proxy.streaming(self.connection):
                while part := found.read1(CHUNK):
                    self.wfile.write(b"%x\r\n%b\r\n" % (len(part), part))
                    self.wfile.flush()
                self.wfile.write(b"0\r\n\r\n")
        except (OSError, http.client.HTTPException):
            self._leave()
            self._hang_up()

    def _leave(self) -> None:
        if self._behind is not None:
            self._behind.close()
            self._behind = None

    def finish(self) -> None:
        self._leave()
        with suppress(OSError):
            super().finish()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        """Do not log: faults are counted."""
