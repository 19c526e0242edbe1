"""The part of the Kubernetes API that Berth calls, for the cluster of a dump file.

Pods are bound in memory. After a change of the file, watches end and clients list again. Tokens and
rights are not checked.
"""

from __future__ import annotations

import base64
import json
import re
import tempfile
import time
from collections.abc import Mapping
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from berth.cluster.dump_cluster import DumpCluster, on_its_node
from berth.cluster.watch import resources
from berth.nodecache.feed.cluster import ClusterUnavailable, KubernetesObject
from berth.pods import Binding, Created, FoundPod, Refused, Unanswered
from tests.builders.certificates import server_tls
from tests.fakes.api_server import KUBE_SYSTEM, LEASES, POD, answer_lease, status

KINDS = {resource.path: kind for resource, kind in resources.KINDS.items()}
WATCH_SECONDS = 5.0
"""A watch ends after this time in seconds: the end shows the client that its data is current."""
POLL_SECONDS = 0.5
VALID = timedelta(days=30)
ANSWERS: Mapping[tuple[str, str], object] = {
    ("GET", "/version"): {"gitVersion": "v1.36.0"},
    ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews"): {"status": {"userInfo": {"username": "dump"}}},
    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"): {"status": {"allowed": True}},
}
"""Answers for berth doctor."""

_EVENTS = re.compile(r"/apis/events\.k8s\.io/v1/namespaces/[^/]+/events")


class DumpApiServer:
    """Serves the dump on `host` until the context exits."""

    def __init__(self, dump: Path, host: str) -> None:
        self._server = _Server(dump, host)
        with tempfile.TemporaryDirectory() as directory:
            tls, certificate = server_tls(Path(directory), host=host, ends=VALID)
            self._authority = base64.b64encode(certificate.read_bytes()).decode()
        # The thread of the connection does the handshake, so a client that never finishes it does not block others.
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def kubeconfig(self) -> dict[str, object]:
        """Return a kubeconfig with this server's address, authority and token."""
        host, port = self._server.server_address[:2]
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {
                    "name": "dump",
                    "cluster": {"server": f"https://{host!s}:{port}", "certificate-authority-data": self._authority},
                }
            ],
            "users": [{"name": "berth", "user": {"token": "dump"}}],
            "contexts": [{"name": "dump", "context": {"cluster": "dump", "user": "berth"}}],
            "current-context": "dump",
        }


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, dump: Path, host: str) -> None:
        super().__init__((host, 0), _Handler)
        self.cluster = DumpCluster(dump)
        self._leases: dict[str, dict[str, Any]] = {}
        self.stopped = Event()
        self._lock = Lock()
        self._state: tuple[object, int] | None = None
        self._version = 0

    def version(self) -> str:
        """Return the resourceVersion of all objects: it grows with each change of the file and each binding."""
        contents, bound = self.cluster.read()
        with self._lock:
            if self._state != (contents.modified, len(bound)):
                self._state = (contents.modified, len(bound))
                self._version += 1
            return str(self._version)

    def objects(self, kind: str) -> list[KubernetesObject]:
        """Return the objects of this kind; bound pods have their nodes."""
        contents, bound = self.cluster.read()
        found = [item for item in contents.objects if item.get("kind") == kind]
        return [on_its_node(item, bound) for item in found] if kind == "Pod" else found

    def lease(self, method: str, name: str, body: Any) -> tuple[int, object]:
        with self._lock:
            return answer_lease(self._leases, method, name, body)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that disconnects."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        # Read the body even if it is not used, because the connection serves the next request.
        self._content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urlsplit(self.path)
        if url.path in KINDS and "watch=" in url.query:
            self._watch(parse_qs(url.query))
            return
        try:
            code, content = self._routed()
        except ClusterUnavailable as error:  # the file is being edited
            code, content = status(500, str(error))
        self._reply(code, b"" if content is None else json.dumps(content).encode())

    do_GET = do_POST = do_PATCH = _answer  # noqa: N815 (names of the base class)

    def _routed(self) -> tuple[int, object]:
        url = urlsplit(self.path)
        if url.path in KINDS and self.command == "GET":
            return self._list(KINDS[url.path])
        if url.path.startswith(LEASES):
            body = None if self.command == "GET" else self._body()
            return self.server.lease(self.command, url.path.removeprefix(LEASES).strip("/"), body)
        found = POD.fullmatch(url.path)
        if found and self.command == "GET":
            return self._pod(found[1], found[2])
        if found and found[3]:
            return self._bind(found[1], found[2])
        if url.path == KUBE_SYSTEM and self.command == "GET":
            return 200, {"metadata": {"name": "kube-system", "uid": self.server.cluster.uid()}}
        if (self.command, url.path) in ANSWERS:
            return 200, ANSWERS[self.command, url.path]
        if self.command == "PATCH" or _EVENTS.fullmatch(url.path):
            return 200, self._body()  # events, and objects that only wake a scheduler: nobody reads them here
        return status(404, f"{url.path} is not part of a dump")

    def _list(self, kind: str) -> tuple[int, object]:
        return 200, {"metadata": {"resourceVersion": self.server.version()}, "items": self.server.objects(kind)}

    def _watch(self, query: Mapping[str, list[str]]) -> None:
        """Do not send changes: end after the time of a watch, or with an error as soon as something has changed."""
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        # In chunks, like the API server: otherwise a client cannot tell this end from a broken connection.
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if (error := self._end_of_watch(query.get("resourceVersion", [""])[0])) is not None:
            event = json.dumps({"type": "ERROR", "object": error}).encode() + b"\n"
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")

    def _end_of_watch(self, known: str) -> object | None:
        """Wait for the end: return None after the time of a watch, or the error that ends the watch."""
        deadline = time.monotonic() + WATCH_SECONDS
        try:
            while self.server.version() == known:
                if time.monotonic() >= deadline or self.server.stopped.wait(POLL_SECONDS):
                    return None
        except ClusterUnavailable as error:  # the file is being edited
            return status(500, str(error))[1]
        return status(410, f"too old resource version: {known}")[1]

    def _pod(self, namespace: str, name: str) -> tuple[int, object]:
        found = self.server.cluster.pod(namespace, name, 0)
        if not isinstance(found, FoundPod):
            return _refusal(found)
        _, bound = self.server.cluster.read()
        return 200, on_its_node(dict(found.content), bound)

    def _bind(self, namespace: str, name: str) -> tuple[int, object]:
        wanted = self._body()
        metadata = wanted["metadata"]
        done = self.server.cluster.create_binding(
            Binding(
                namespace,
                name,
                metadata["uid"],
                wanted["target"]["name"],
                annotations=metadata.get("annotations") or {},
            ),
            0,
        )
        return (201, {"kind": "Status", "status": "Success"}) if isinstance(done, Created) else _refusal(done)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        """Log nothing."""

    def _body(self) -> Any:
        return json.loads(self._content)

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _refusal(answer: Refused | Unanswered) -> tuple[int, object]:
    if isinstance(answer, Refused):
        return status(answer.status, answer.message)
    return status(500, answer.cause)
