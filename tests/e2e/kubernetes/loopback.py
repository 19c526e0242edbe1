"""Servers and ports on 127.0.0.1, the only address the end-to-end tests listen on."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

import urllib3

HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(frozen=True)
class Request:
    """A request. headers: their names are in lower case."""

    path: str
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Response:
    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


class LoopbackService:
    """Answers every POST on a free port until the context exits, with a thread per connection."""

    def __init__(self, answer: Callable[[Request], Response], tls: ssl.SSLContext | None = None) -> None:
        self._server = _Server((HOST, 0), _handler(answer))
        if tls is not None:
            # The thread of the connection does the handshake, so a client that never finishes it does not block others.
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        self.url_prefix = f"http{'' if tls is None else 's'}://{HOST}:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    # A connection beyond the queue is retried only after a second, and a verb would wait for it.
    request_queue_size = 128
    # An idle keep-alive connection keeps its thread until the client closes it; server_close() does not wait for it.
    daemon_threads = True
    block_on_close = False


def _handler(answer: Callable[[Request], Response]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # keep-alive
        disable_nagle_algorithm = True  # else each large answer waits 40 ms for an acknowledgement
        wbufsize = -1  # head and body in one segment

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            response = answer(Request(self.path, body, headers))
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            self.wfile.write(response.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
            """Keep the test output clean."""

    return Handler


def get_status(url: str) -> int:
    """Return the status of a GET; 0 without a response."""
    try:
        return urllib3.request("GET", url, retries=False).status
    except urllib3.exceptions.HTTPError:
        return 0
