"""The part of the Kubernetes API that Berth uses, on 127.0.0.1, with the nodes, pods and faults that a test sets."""

from __future__ import annotations

import base64
import re
import select
import socket
import ssl
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

import orjson
from kubernetes.client import Configuration

from berth.cluster.api_server.client import ApiServer
from tests.builders.certificates import server_tls

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"
KUBE_SYSTEM = "/api/v1/namespaces/kube-system"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
RESOURCES = (
    NODES,
    PODS,
    "/api/v1/namespaces",
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/api/v1/services",
    "/api/v1/replicationcontrollers",
    "/apis/apps/v1/replicasets",
    "/apis/apps/v1/statefulsets",
)
LOOK_SECONDS = 0.02

POD = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)(/binding)?")


@dataclass(frozen=True, slots=True)
class Received:
    """A request as received; `connection` distinguishes connections."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any
    connection: int


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that replaces the answer to the next request of this method.

    `where`: text that the request's path and query must contain. `carried_out`: whether the server carries out the
    request first. `status` 0 closes the connection without a response. `held`: the answer waits until this is set.
    """

    method: str
    status: int = 0
    message: str = ""
    where: str = ""
    carried_out: bool = False
    raw: bytes | None = None
    held: Event | None = None


class History:
    """The events of a resource's objects; the first event has resourceVersion 1.

    Tests change the objects directly; they are compared with their last state at each request.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[str, Any] = {}
        self._events: list[dict[str, Any]] = []

    def brought_to(self, objects: list[object]) -> int:
        """Record the changes, and return the resourceVersion of these objects."""
        with self._lock:
            now = _by_name(objects)
            for name in [*self._known, *(name for name in now if name not in self._known)]:
                if now.get(name) != self._known.get(name):
                    kind = "DELETED" if name not in now else "MODIFIED" if name in self._known else "ADDED"
                    obj = now.get(name) or self._known[name]
                    version = {"resourceVersion": str(len(self._events) + 1)}
                    self._events.append({"type": kind, "object": obj | {"metadata": obj["metadata"] | version}})
            self._known = now
            return len(self._events)

    def since(self, revision: int) -> list[dict[str, Any]]:
        with self._lock:
            return self._events[revision:]


@dataclass
class KubernetesOnLoopback:
    """The state of the fake. Without faults it answers as an API server does."""

    nodes: list[object] = field(default_factory=list)
    pods: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    leases: dict[str, dict[str, Any]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    requests: list[Received] = field(default_factory=list)
    optional: dict[str, list[object]] = field(default_factory=dict)
    histories: dict[str, History] = field(default_factory=lambda: {path: History() for path in RESOURCES})
    expired: str = ""
    """A token that is no longer accepted."""
    is_away: bool = False
    """Whether connections break, including watches."""
    host: str = ""
    authority: str = ""
    """The authority of a server with HTTPS, in the format of `certificate-authority-data`."""

    def add_pod(
        self, name: str, uid: str, node: str = "", namespace: str = "ml", scheduler: str | None = "berth-scheduler"
    ) -> None:
        """Add a pod; it replaces an earlier pod of this name."""
        self.pods[namespace, name] = {
            "metadata": {"name": name, "namespace": namespace, "uid": uid},
            "spec": {key: value for key, value in (("nodeName", node), ("schedulerName", scheduler)) if value},
        }

    def client(self, clock: Callable[[], float] = time.time) -> ApiServer:
        configuration = Configuration()
        configuration.host = self.host
        return ApiServer(configuration, clock)

    def add_rejected_pod(self, name: str, reason: str, namespace: str = "ml") -> None:
        """Add a pending pod that did not fit on any node for this reason."""
        message = f"0/1 nodes are available: 1 {reason}. no new claims to deallocate."
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        self.add_pod(name, f"uid-{name}", namespace=namespace)
        self.pods[namespace, name]["status"] = {"phase": "Pending", "conditions": [condition]}

    def node_of(self, name: str, namespace: str = "ml") -> str:
        """Return the node that the pod is bound to; empty if it is unbound."""
        node: str = self.pods[namespace, name]["spec"].get("nodeName", "")
        return node

    def fault_for(self, method: str, target: str) -> Fault | None:
        """Return and remove the next fault for this request."""
        for fault in self.faults:
            if fault.method == method and fault.where in target:
                self.faults.remove(fault)
                return fault
        return None

    def has_expired(self, request: Received) -> bool:
        return bool(self.expired) and request.headers.get("Authorization") == f"Bearer {self.expired}"

    def answer(self, request: Received) -> tuple[int, object]:
        if request.method == "GET" and request.path == KUBE_SYSTEM:
            return 200, {"metadata": {"name": "kube-system", "uid": "uid-of-the-cluster"}}
        if request.method == "GET" and request.path in RESOURCES:
            revision = self.histories[request.path].brought_to(self.objects(request.path))
            return self._page(self.objects(request.path), request.query, revision)
        if request.method == "GET" and request.path in self.optional:
            return self._page(self.optional[request.path], request.query, 1)
        if request.path.startswith(LEASES):
            name = request.path.removeprefix(LEASES).strip("/")
            return answer_lease(self.leases, request.method, name, request.body)
        if request.method == "PATCH":
            return 200, request.body
        found = POD.fullmatch(request.path)
        pod = self.pods.get((found[1], found[2])) if found else None
        if found is None or pod is None:
            return status(404, f'pods "{found[2] if found else ""}" not found')
        return self._bound(pod, request.body) if found[3] else (200, pod)

    def objects(self, path: str) -> list[object]:
        if path == NODES:
            return self.nodes
        return list(self.pods.values()) if path == PODS else []

    def _page(self, objects: list[object], query: dict[str, str], revision: int) -> tuple[int, object]:
        start = int(query.get("continue", "token-0").removeprefix("token-"))
        end = start + int(query.get("limit", len(objects) or 1))
        metadata = {"resourceVersion": str(revision)}
        if end < len(objects):
            metadata["continue"] = f"token-{end}"
        return 200, {"kind": "List", "metadata": metadata, "items": objects[start:end]}

    def _bound(self, pod: dict[str, Any], binding: Any) -> tuple[int, object]:
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        wanted = binding["metadata"].get("uid")
        if wanted is not None and wanted != uid:
            return status(409, f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {uid}")
        if pod["spec"].get("nodeName"):
            return status(409, f'pod {name} is already assigned to node "{pod["spec"]["nodeName"]}"')
        pod["spec"]["nodeName"] = binding["target"]["name"]
        return 201, {"kind": "Status", "status": "Success"}


def _by_name(objects: list[object]) -> dict[str, Any]:
    """Return copies, because tests change their objects. Values that are not objects are left out."""
    return {obj["metadata"].get("name", ""): deepcopy(obj) for obj in objects if isinstance(obj, dict)}


def _has_left(connection: socket.socket) -> bool:
    """Return whether the client has closed its end; wait a moment for that."""
    readable, _, _ = select.select([connection], [], [], LOOK_SECONDS)
    return bool(readable) and connection.recv(1, socket.MSG_PEEK) == b""


def status(code: int, message: str) -> tuple[int, object]:
    reason = {404: "NotFound", 409: "Conflict", 410: "Expired"}.get(code, HTTPStatus(code).phrase)
    return code, {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}


def answer_lease(leases: dict[str, dict[str, Any]], method: str, name: str, body: Any) -> tuple[int, object]:
    """Answer GET, POST, and PATCH (a merge patch with preconditions). leases: those of kube-system, by name."""
    if method == "POST":
        name = body["metadata"]["name"]
        if name in leases:
            return status(409, f'leases.coordination.k8s.io "{name}" already exists')
        leases[name] = deepcopy(body) | {"metadata": body["metadata"] | {"uid": f"lease-{name}"}}
    found = leases.get(name)
    if found is None:
        return status(404, f'leases.coordination.k8s.io "{name}" not found')
    metadata = found["metadata"]
    if method == "PATCH":
        wanted = body["metadata"]
        if wanted["uid"] != metadata["uid"]:
            return status(422, "metadata.uid: Invalid value: field is immutable")
        if wanted["resourceVersion"] != metadata["resourceVersion"]:
            return status(409, "the object has been modified; please apply your changes to the latest version")
        merged = {**found.get("spec", {}), **body.get("spec", {})}
        found["spec"] = {key: value for key, value in merged.items() if value is not None}
        metadata["annotations"] = metadata.get("annotations", {}) | wanted.get("annotations", {})
    if method != "GET":
        metadata["resourceVersion"] = str(int(metadata.get("resourceVersion", "0")) + 1)
    return 200, deepcopy(found)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, kubernetes: KubernetesOnLoopback) -> None:
        self.kubernetes = kubernetes
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore clients that disconnect, as several tests do on purpose."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def _serve(self) -> None:
        kubernetes = cast(_Server, self.server).kubernetes
        request = self._received()
        kubernetes.requests.append(request)
        if kubernetes.is_away:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if kubernetes.has_expired(request):
            self._send(*status(401, "Unauthorized"))
            return
        fault = kubernetes.fault_for(self.command, self.path)
        if fault is None and request.path in RESOURCES and "watch" in request.query:
            self._watch(kubernetes, request)
            return
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
            self._send(*status(fault.status, fault.message))
        else:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

    do_GET = do_POST = do_PATCH = _serve  # noqa: N815  the names that http.server looks for

    def _watch(self, kubernetes: KubernetesOnLoopback, request: Received) -> None:
        """Send the resource's changes as events until the client leaves or the watch's time is over."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        deadline = time.monotonic() + float(request.query.get("timeoutSeconds", 60))
        history, revision = kubernetes.histories[request.path], int(request.query.get("resourceVersion", 0))
        with suppress(OSError):
            while time.monotonic() < deadline and not _has_left(self.connection):
                if kubernetes.is_away or kubernetes.has_expired(request):
                    break
                history.brought_to(kubernetes.objects(request.path))
                events = history.since(revision)
                revision += len(events)
                for event in events:
                    line = orjson.dumps(event) + b"\n"
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.write(b"0\r\n\r\n")

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
        """Log nothing."""


@contextmanager
def verified_kubernetes() -> Iterator[KubernetesOnLoopback]:
    """Run a server with HTTPS, which every kubeconfig requires."""
    with tempfile.TemporaryDirectory() as directory:
        tls, certificate = server_tls(Path(directory))
        authority = base64.b64encode(certificate.read_bytes()).decode()
    with kubernetes_on_loopback(tls) as kubernetes:
        kubernetes.authority = authority
        yield kubernetes


@contextmanager
def kubernetes_on_loopback(tls: ssl.SSLContext | None = None) -> Iterator[KubernetesOnLoopback]:
    """Run a server until the block ends."""
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
