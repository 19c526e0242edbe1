"""The part of the Kubernetes API that Berth uses, on 127.0.0.1, with the nodes, pods and faults that a test sets."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

import orjson

_POD = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)(/binding)?")


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it arrived; `connection` tells connections apart."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    connection: int


@dataclass(frozen=True, slots=True)
class Fault:
    """What the next request of this method gets instead of its answer.

    `where`: only a request whose path and query contain this. `carried_out`: whether the server does what it was asked
    for before. `status` 0 closes the connection without a word. `held`: the answer waits until this is set.
    """

    method: str
    status: int = 0
    message: str = ""
    where: str = ""
    carried_out: bool = False
    raw: bytes | None = None
    held: Event | None = None


@dataclass
class KubernetesOnLoopback:
    """Its state. Without faults it answers as an API server does."""

    nodes: list[object] = field(default_factory=list)
    pods: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    requests: list[Received] = field(default_factory=list)
    host: str = ""

    def add_pod(self, name: str, uid: str, node: str = "", namespace: str = "ml") -> None:
        """A pod of this name; one that had it before is replaced."""
        self.pods[namespace, name] = {
            "metadata": {"name": name, "namespace": namespace, "uid": uid},
            "spec": {"nodeName": node} if node else {},
        }

    def node_of(self, name: str, namespace: str = "ml") -> str:
        """Where the pod is bound to; empty while it is not."""
        node: str = self.pods[namespace, name]["spec"].get("nodeName", "")
        return node

    def fault_for(self, method: str, target: str) -> Fault | None:
        """The next fault that is meant for such a request; it is thereby used up."""
        for fault in self.faults:
            if fault.method == method and fault.where in target:
                self.faults.remove(fault)
                return fault
        return None

    def answer(self, request: Received) -> tuple[int, object]:
        """Status and JSON."""
        if request.method == "GET" and request.path == "/api/v1/nodes":
            return self._page(request.query)
        if request.method == "PATCH":
            return 200, request.body
        found = _POD.fullmatch(request.path)
        pod = self.pods.get((found[1], found[2])) if found else None
        if found is None or pod is None:
            return _status(404, f'pods "{found[2] if found else ""}" not found')
        return self._bound(pod, request.body) if found[3] else (200, pod)

    def _page(self, query: dict[str, str]) -> tuple[int, object]:
        start = int(query.get("continue", "token-0").removeprefix("token-"))
        end = start + int(query.get("limit", len(self.nodes) or 1))
        metadata = {"resourceVersion": "4711"}
        if end < len(self.nodes):
            metadata["continue"] = f"token-{end}"
        return 200, {"kind": "NodeList", "metadata": metadata, "items": self.nodes[start:end]}

    def _bound(self, pod: dict[str, Any], binding: Any) -> tuple[int, object]:
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        wanted = binding["metadata"].get("uid")
        if wanted is not None and wanted != uid:
            return _status(409, f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {uid}")
        if pod["spec"].get("nodeName"):
            return _status(409, f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"')
        pod["spec"]["nodeName"] = binding["target"]["name"]
        return 201, {"kind": "Status", "status": "Success"}


def _status(code: int, message: str) -> tuple[int, object]:
    return code, {"kind": "Status", "status": "Failure", "code": code, "message": message}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, kubernetes: KubernetesOnLoopback) -> None:
        self.kubernetes = kubernetes
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is what several tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        kubernetes = cast(_Server, self.server).kubernetes
        request = self._received()
        kubernetes.requests.append(request)
        fault = kubernetes.fault_for(self.command, self.path)
        if fault is None:
            self._send(*kubernetes.answer(request))
            return
        answer = kubernetes.answer(request) if fault.carried_out or fault.held else (0, None)
        if fault.held is not None:
            fault.held.wait(10)
            self._send(*answer)
        elif fault.raw is not None:
            self._send_bytes(fault.status, fault.raw)
        elif fault.status:
            self._send(*_status(fault.status, fault.message))
        else:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_POST = do_PATCH = _serve  # noqa: N815  the names that http.server looks for

    def _received(self) -> Received:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        return Received(
            self.command,
            url.path,
            dict(parse_qsl(url.query)),
            dict(self.headers.items()),
            orjson.loads(body) if body else None,
            self.client_address[1],
        )

    def _send(self, status: int, answer: object) -> None:
        self._send_bytes(status, orjson.dumps(answer))

    def _send_bytes(self, status: int, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name for it
        """Silent."""


@contextmanager
def kubernetes_on_loopback(tls: ssl.SSLContext | None = None) -> Iterator[KubernetesOnLoopback]:
    """A server that runs until the block ends."""
    kubernetes = KubernetesOnLoopback()
    server = _Server(kubernetes)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    kubernetes.host = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield kubernetes
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
