"""An API server that lists the pages of a directory, as tests.bench.lambda_share writes them. Watches are silent, or
have the lines that they are given."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from urllib.parse import parse_qs, urlsplit

import orjson

from tests.builders.certificates import self_signed
from tests.builders.kubeconfigs import kubeconfig_for

KUBE_SYSTEM = {"kind": "Namespace", "metadata": {"name": "kube-system", "uid": "bench"}}


def _silent(_: str) -> Iterable[bytes]:
    return ()


@contextmanager
def serve(directory: Path, lines: Callable[[str], Iterable[bytes]] = _silent) -> Iterator[Path]:
    """Its kubeconfig, until the context exits. Pages are files named RESOURCE-NUMBER, in their order.

    lines: of a watch of this resource. It stays open after the last one.
    """
    closed = Event()
    certificate, key = self_signed(directory, "api-server")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query, resource = parse_qs(url.query), url.path.rpartition("/")[2]
            if url.path.endswith("/kube-system"):
                self._answer(orjson.dumps(KUBE_SYSTEM))
            elif "watch" in query:
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for line in lines(resource):
                    self.wfile.write(b"%x\r\n%s\n\r\n" % (len(line) + 1, line))
                closed.wait()
            else:
                self._answer(_page(directory, resource, int(query.get("continue", ["0"])[0])))

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        # The thread of the connection does the handshake: a client with a small share of a processor blocks no other.
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            authority = base64.b64encode(certificate.read_bytes()).decode()
            yield kubeconfig_for(f"https://127.0.0.1:{server.server_address[1]}", directory, authority)
        finally:
            closed.set()
            server.shutdown()


def _page(directory: Path, resource: str, index: int) -> bytes:
    """The text of a page, with the token of the next one."""
    pages = sorted(directory.glob(f"{resource}-*"))
    if not pages:
        return b'{"metadata": {"resourceVersion": "1"}, "items": []}'
    token = str(index + 1) if index + 1 < len(pages) else ""
    return b'{"metadata": {"resourceVersion": "1", "continue": "%s"}, %s' % (
        token.encode(),
        pages[index].read_bytes().removeprefix(b"{"),
    )
