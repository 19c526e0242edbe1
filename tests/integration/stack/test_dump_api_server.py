"""The API server that the local stack and `sam local` have in place of a cluster: a dump over HTTPS."""

from __future__ import annotations

import base64
import json
import ssl
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import urllib3

from berth.cluster.api_server import kubeconfig
from berth.cluster.api_server.access import Access
from berth.cluster.api_server.client import AnswerStream, ApiServer
from berth.cluster.kubernetes_ledger_lease import COLLECTION
from tests.deployment.dump_api_server import DumpApiServer
from tests.e2e.kubernetes.loopback import HOST

SECONDS = 20
TRAIN = "/api/v1/namespaces/ml/pods/train-0"


class Client:
    """Calls the server as the kubeconfig says."""

    def __init__(self, kubeconfig: Any) -> None:
        cluster = kubeconfig["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self._url = cluster["server"]
        self._pool = urllib3.PoolManager(ssl_context=ssl.create_default_context(cadata=authority))

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        encoded = None if body is None else json.dumps(body)
        answer = self._pool.request(method, f"{self._url}{path}", body=encoded, retries=False, timeout=20)
        return answer.status, json.loads(answer.data) if answer.data else None

    def version(self) -> str:
        version: str = self.call("GET", "/api/v1/nodes")[1]["metadata"]["resourceVersion"]
        return version


@pytest.fixture
def client(cluster_dump: str, tmp_path: Path) -> Iterator[Client]:
    dump = tmp_path / "cluster.yaml"
    dump.write_bytes(Path(cluster_dump).read_bytes())
    with DumpApiServer(dump, HOST) as server:
        yield Client(server.kubeconfig())


def binding(uid: str) -> dict[str, object]:
    return {"metadata": {"name": "train-0", "uid": uid, "annotations": {"a": "b"}}, "target": {"name": "n10"}}


def test_bound_pod_is_listed_and_read_on_its_node(client: Client) -> None:
    uid = client.call("GET", TRAIN)[1]["metadata"]["uid"]
    assert client.call("POST", f"{TRAIN}/binding", binding("another"))[0] == 409
    assert client.call("POST", f"{TRAIN}/binding", binding(uid))[0] == 201
    assert client.call("POST", f"{TRAIN}/binding", binding(uid))[0] == 409

    listed = client.call("GET", "/api/v1/pods?limit=500")[1]["items"]
    [found] = [pod for pod in listed if pod["metadata"]["name"] == "train-0"]
    assert (found["spec"]["nodeName"], found["metadata"]["annotations"]) == ("n10", {"a": "b"})
    assert client.call("GET", TRAIN) == (200, found)


def test_watch_ends_with_410_once_a_pod_is_bound(client: Client) -> None:
    known = client.version()
    uid = client.call("GET", TRAIN)[1]["metadata"]["uid"]
    assert client.call("POST", f"{TRAIN}/binding", binding(uid))[0] == 201
    status, event = client.call("GET", f"/api/v1/pods?watch=true&resourceVersion={known}")
    assert (status, event["type"], event["object"]["code"], event["object"]["reason"]) == (200, "ERROR", 410, "Expired")
    assert client.version() != known


def test_watch_of_a_quiet_dump_ends_on_purpose(
    cluster_dump: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end tells the watcher that its data is current. A broken watch would leave the cache to grow stale."""
    monkeypatch.setattr("tests.deployment.dump_api_server.WATCH_SECONDS", 0.1)
    with DumpApiServer(Path(cluster_dump), HOST) as server:
        file = tmp_path / "kubeconfig"
        file.write_text(json.dumps(server.kubeconfig()))
        api = ApiServer(Access(partial(kubeconfig.from_file, file)), time.time)
        answer = api.stream("/api/v1/nodes", query={"watch": "1", "resourceVersion": "1"}, silence=SECONDS)
        assert isinstance(answer, AnswerStream)
        with answer:
            assert list(answer) == []


def test_lease_keeps_uid_and_version_as_preconditions(client: Client) -> None:
    body = {"metadata": {"name": "berth-ledger"}, "spec": {"holderIdentity": "a"}}
    assert client.call("GET", f"{COLLECTION}/berth-ledger")[0] == 404
    status, created = client.call("POST", COLLECTION, body)
    assert status == 200
    assert client.call("POST", COLLECTION, body)[0] == 409

    seen = {key: created["metadata"][key] for key in ("uid", "resourceVersion")}
    patch = {"metadata": seen, "spec": {"holderIdentity": "b"}}
    status, patched = client.call("PATCH", f"{COLLECTION}/berth-ledger", patch)
    assert (status, patched["spec"]["holderIdentity"]) == (200, "b")
    assert client.call("PATCH", f"{COLLECTION}/berth-ledger", patch)[0] == 409
    another = {"metadata": {**seen, "uid": "another"}}
    assert client.call("PATCH", f"{COLLECTION}/berth-ledger", another)[0] == 422
