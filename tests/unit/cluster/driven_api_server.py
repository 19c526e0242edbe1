"""An API server on 127.0.0.1 whose answers a test writes byte by byte, while the client waits for them.

Each request is handed to the test, and its connection stays unchanged until the test has dealt with the request: the
server does nothing by itself and never sleeps.
"""

from __future__ import annotations

import socket
import ssl
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, Queue
from threading import Event, Lock, Thread
from typing import Any, Self, cast
from urllib.parse import parse_qsl, urlsplit

import orjson
from kubernetes.client import Configuration

from berth.cluster.api_server.client import ApiServer
from tests.fakes.clock import HandDrivenClock

PATIENCE_SECONDS = 60.0
"""Seconds that a test waits for an expected event. Only a failing test, or a machine that pauses, takes this long."""


class Exchange:
    """One request and its response, written by the thread of the test."""

    def __init__(self, handler: BaseHTTPRequestHandler) -> None:
        url = urlsplit(handler.path)
        self.path = url.path
        self.query = dict(parse_qsl(url.query))
        self.headers = dict(handler.headers.items())
        self.connection: int = handler.client_address[1]
        self._handler = handler
        self.dealt_with = Event()

    @property
    def client(self) -> str:
        """Return the common name in the client's certificate, or an empty string if there is no certificate."""
        connection = self._handler.connection
        certificate = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
        subject: Any = certificate.get("subject", ()) if certificate else ()
        return "".join(value for part in subject for name, value in part if name == "commonName")

    def answer(self, status: int, content: object) -> None:
        self.answer_bytes(status, orjson.dumps(content))

    def answer_bytes(self, status: int, content: bytes) -> None:
        self._begin(status, "Content-Length", str(len(content)))
        self._handler.wfile.write(content)
        self.dealt_with.set()

    def refuse(self, status: int, reason: str, message: str = "", **details: object) -> None:
        self.answer(status, status_object(status, reason, message, **details))

    def page(self, *items: object, version: str, following: str = "") -> None:
        metadata = {"resourceVersion": version} | ({"continue": following} if following else {})
        self.answer(200, {"kind": "List", "metadata": metadata, "items": items})

    def stream(self) -> Self:
        self._begin(200, "Transfer-Encoding", "chunked")
        return self

    def tell(self, kind: str, found: object) -> Self:
        """Send one event of a watch as one chunk."""
        return self.chunk(orjson.dumps({"type": kind, "object": found}) + b"\n")

    def chunk(self, data: bytes) -> Self:
        return self.raw(b"%x\r\n%s\r\n" % (len(data), data))

    def raw(self, data: bytes) -> Self:
        self._handler.wfile.write(data)
        return self

    def end(self) -> None:
        """End the chunked response; the connection stays open."""
        self.raw(b"0\r\n\r\n")
        self.dealt_with.set()

    def drop(self) -> None:
        self._handler.close_connection = True
        with suppress(OSError):
            socket.socket.shutdown(self._handler.connection, socket.SHUT_RDWR)
        self.dealt_with.set()

    def wait_until_left(self) -> None:
        self._handler.connection.settimeout(PATIENCE_SECONDS)
        with suppress(ConnectionError, ssl.SSLError):
            assert self._handler.rfile.read(1) == b"", "the client sent another request"
        self.drop()

    def _begin(self, status: int, header: str, value: str) -> None:
        self._handler.send_response(status)
        self._handler.send_header("Content-Type", "application/json")
        self._handler.send_header(header, value)
        self._handler.end_headers()


def status_object(code: int, reason: str, message: str = "", **details: object) -> dict[str, object]:
    """Return a Kubernetes Status, as sent in a response and in an ERROR event."""
    return {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message or reason,
        "details": details,
    }


class DrivenApiServer:
    """A server that can be stopped and started again at the same address."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self._tls = tls
        self._port = 0
        self._arrived: dict[str, Queue[Exchange]] = defaultdict(Queue)
        self._open: list[Exchange] = []
        self._lock = Lock()
        self.start()

    @property
    def host(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    def configuration(self, **settings: object) -> Configuration:
        configuration = Configuration()
        configuration.host = self.host
        for name, value in settings.items():
            setattr(configuration, name, value)
        return configuration

    def api(self, **settings: object) -> ApiServer:
        return ApiServer(self.configuration(**settings), HandDrivenClock())

    def next(self, path: str) -> Exchange:
        """Wait for the next request for this path and return it."""
        try:
            return self._queue(path).get(timeout=PATIENCE_SECONDS)
        except Empty:
            raise AssertionError(f"no request for {path} came") from None

    def nothing_waits(self) -> bool:
        """Return whether the test has taken every request that arrived."""
        with self._lock:
            return all(queue.empty() for queue in self._arrived.values())

    def _queue(self, path: str) -> Queue[Exchange]:
        # Without the lock, a test and a request that arrive at the same time could create separate queues.
        with self._lock:
            return self._arrived[path]

    def start(self) -> None:
        self._server = _Server(self, self._port, self._tls)
        self._port = self._server.server_port
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        with self._lock:
            for exchange in self._open:
                exchange.drop()
            self._open.clear()

    def take_over(self, exchange: Exchange) -> None:
        with self._lock:
            self._open.append(exchange)
        self._queue(exchange.path).put(exchange)
        exchange.dealt_with.wait()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, driven: DrivenApiServer, port: int, tls: ssl.SSLContext | None) -> None:
        self.driven = driven
        self._tls = tls
        super().__init__(("127.0.0.1", port), _Handler)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        if self._tls is not None:
            # The handshake is left to the connection's own thread.
            connection = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, address

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the error: in several tests the client hangs up on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        cast(_Server, self.server).driven.take_over(Exchange(self))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name for it
        """Log nothing."""


@contextmanager
def driven_api_server(tls: ssl.SSLContext | None = None) -> Iterator[DrivenApiServer]:
    """Run a server until the block ends."""
    server = DrivenApiServer(tls)
    try:
        yield server
    finally:
        server.stop()
