"""The part of the Kubernetes API that bind and the watcher call, on a cluster dump file."""

from __future__ import annotations

import base64
import json
import ssl
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

import yaml

from berth.cluster.dump.dump_cluster import DumpCluster
from berth.extender.ports import Assignment, Binding, Created, Refused, Unanswered
from tests.builders.certificates import self_signed

KINDS = {
    "nodes": "Node",
    "pods": "Pod",
    "namespaces": "Namespace",
    "poddisruptionbudgets": "PodDisruptionBudget",
    "priorityclasses": "PriorityClass",
}
KUBE_SYSTEM = ["api", "v1", "namespaces", "kube-system"]
WATCH_SECONDS = 5.0


class DumpApiServer:
    """Lists the objects of the dump, and binds its pods until the context exits."""

    def __init__(self, dump: Path, host: str) -> None:
        self._server = _Server(dump, host)
        with tempfile.TemporaryDirectory() as directory:
            certificate, key = self_signed(Path(directory), "dump", host=host)
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate, key)
            self._authority = base64.b64encode(certificate.read_bytes()).decode()
        self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
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
    def __init__(self, dump: Path, host: str) -> None:
        super().__init__((host, 0), _Handler)
        self.cluster = DumpCluster(dump)
        self.items = yaml.safe_load(dump.read_text())["items"]
        self.stopped = Event()


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        path = self._path()
        if path == KUBE_SYSTEM:
            self._reply(200, {"metadata": {"uid": "dump"}})
            return
        if path[-1] in KINDS:
            self._list(KINDS[path[-1]])
            return
        _, _, _, namespace, _, name = path  # /api/v1/namespaces/NAMESPACE/pods/NAME
        found = self.server.cluster.assignment(namespace, name, 0)
        if isinstance(found, Assignment):
            self._reply(200, {"metadata": {"uid": found.pod_uid}, "spec": {"nodeName": found.node}})
        else:
            self._refuse(found)

    def _list(self, kind: str) -> None:
        if "watch=" in self.path:
            self.server.stopped.wait(WATCH_SECONDS)  # a file has no changes
            self._reply_bytes(200, b"")
            return
        items = [item for item in self.server.items if item["kind"] == kind]
        self._reply(200, {"metadata": {"resourceVersion": "1"}, "items": items})

    def do_POST(self) -> None:
        _, _, _, namespace, _, name, _ = self._path()  # /api/v1/namespaces/NAMESPACE/pods/NAME/binding
        wanted = self._body()
        binding = Binding(namespace, name, wanted["metadata"]["uid"], wanted["target"]["name"])
        done = self.server.cluster.create_binding(binding, 0)
        if isinstance(done, Created):
            self._reply(201, {"kind": "Status", "status": "Success"})
        else:
            self._refuse(done)

    def do_PATCH(self) -> None:
        self._reply(200, self._body())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        """Log nothing."""

    def _path(self) -> list[str]:
        return self.path.partition("?")[0].strip("/").split("/")

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _refuse(self, answer: Refused | Unanswered) -> None:
        if isinstance(answer, Refused):
            self._reply(answer.status, {"kind": "Status", "message": answer.message})
        else:
            self._reply(500, {"kind": "Status", "message": answer.cause})

    def _reply(self, status: int, content: object) -> None:
        self._reply_bytes(status, json.dumps(content).encode())

    def _reply_bytes(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
