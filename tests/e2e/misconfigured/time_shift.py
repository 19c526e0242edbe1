"""A proxy with another time in its Date header: to a client the server's clock is wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import urllib3

from tests.e2e.kubernetes.loopback import HOST


@contextmanager
def ahead(url_prefix: str, seconds: float) -> Iterator[str]:
    """A proxy of this address with a clock that is ahead by this many seconds."""
    host, _, path = url_prefix.partition("://")[2].partition("/")
    server = ThreadingHTTPServer((HOST, 0), _handler(f"http://{host}", seconds))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://{HOST}:{server.server_port}/{path}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(server: str, seconds: float) -> type[BaseHTTPRequestHandler]:
    pool = urllib3.PoolManager(retries=False)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._pass_on("GET", None)

        def do_POST(self) -> None:
            self._pass_on("POST", self.rfile.read(int(self.headers["Content-Length"])))

        def _pass_on(self, method: str, body: bytes | None) -> None:
            headers = {} if body is None else {"Content-Type": self.headers["Content-Type"]}
            answer = pool.request(method, server + self.path, body=body, headers=headers)
            self.send_response(answer.status)  # adds the Date header of this server
            self.send_header("Content-Type", answer.headers["Content-Type"])
            self.send_header("Content-Length", str(len(answer.data)))
            self.end_headers()
            self.wfile.write(answer.data)

        def date_time_string(self, timestamp: float | None = None) -> str:
            return super().date_time_string(int((timestamp or time.time()) + seconds))

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
            """Keep the test output clean."""

    return Handler
