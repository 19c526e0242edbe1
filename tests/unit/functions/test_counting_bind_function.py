"""bind's function with a ledger: its requests to DynamoDB and to the API server, one by one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.cluster.kubernetes_ledger_lease import COUNTING
from berth.ledger.lease import NAME, DynamoDBStoreIdentity
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.ledger import new_ledger
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.requests import binding, body_of
from tests.fakes.api_server import KubernetesOnLoopback, verified_kubernetes
from tests.fakes.verbs import call
from tests.unit.ledger.nodes.ledger_tables import new_table

LICENCE = "example.com/licence"
COUNTS = json.dumps({"managedResources": [{"name": LICENCE}], "nodeCache": {"maxStaleness": 86400}})


@pytest.fixture
def kubernetes() -> Iterator[KubernetesOnLoopback]:
    with verified_kubernetes() as kubernetes:
        kubernetes.leases[NAME] = {
            "metadata": {"name": NAME, "uid": "lease-1", "resourceVersion": "3", "annotations": {COUNTING: "1"}},
            "spec": {"holderIdentity": "store-1", "leaseTransitions": 1, "leaseDurationSeconds": 30},
        }
        for name in ("train-0", "train-1", "train-2"):
            kubernetes.add_pod(name, f"uid-{name}")
            pod = kubernetes.pods["ml", name]
            pod["metadata"]["resourceVersion"] = "17"
            pod["spec"]["containers"] = [{"name": "main", "resources": {"requests": {LICENCE: "2"}}}]
        yield kubernetes


@pytest.fixture
def ledger(dynamodb: DynamoDBClient) -> Iterator[DynamoDBLedgerTable]:
    """Create a ledger of a node with 4 licences."""
    name = new_table(dynamodb)
    table = DynamoDBLedgerTable(dynamodb, name)
    table.create(new_ledger("n10", {LICENCE: 4}, {}, 1))
    DynamoDBStoreIdentity(dynamodb, name).put_if_absent("store-1")
    yield table
    dynamodb.delete_table(TableName=name)


@pytest.fixture
def operations(dynamodb: DynamoDBClient) -> list[str]:
    """Record the DynamoDB requests of every client created from now on."""
    found: list[str] = []
    events: Any = boto3.DEFAULT_SESSION.events  # type: ignore[union-attr]
    events.register("before-call.dynamodb", lambda model, **_: found.append(model.name))
    return found


def load(
    load_function: Callable[..., Callable[..., Any]],
    kubernetes: KubernetesOnLoopback,
    ledger: DynamoDBLedgerTable,
    tmp_path: Path,
    configuration: str,
) -> Callable[..., Any]:
    return load_function(
        "bind",
        {
            "BERTH_KUBECONFIG": str(kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority)),
            "BERTH_LEDGER_TABLE": ledger._table,
            "BERTH_CONFIGURATION": configuration,
        },
    )


def test_warm_bind_makes_two_gets_two_writes_and_one_binding(
    load_function: Callable[..., Callable[..., Any]],
    kubernetes: KubernetesOnLoopback,
    ledger: DynamoDBLedgerTable,
    operations: list[str],
    tmp_path: Path,
) -> None:
    handler = load(load_function, kubernetes, ledger, tmp_path, COUNTS)
    assert call(handler, body_of(binding("train-0", uid="uid-train-0")), "bind").error == ""
    operations.clear()
    kubernetes.requests.clear()
    assert call(handler, body_of(binding("train-1", uid="uid-train-1")), "bind").error == ""
    assert operations == ["PutItem", "UpdateItem"]
    assert [request.path.rpartition("/")[2] for request in kubernetes.requests] == ["train-1", NAME, "binding"]
    assert kubernetes.requests[2].body["metadata"]["resourceVersion"] == "17"
    assert call(handler, body_of(binding("train-2", uid="uid-train-2")), "bind").error == f"Insufficient {LICENCE}"
    found = ledger.node("n10")
    assert found is not None
    assert set(found.entries) == {"uid-train-0", "uid-train-1"}
