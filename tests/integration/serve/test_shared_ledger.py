"""Two processes of `berth serve` on one cluster: with the same tables they count as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from berth.ledger.lease import NAME
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.table import Marker, MarkerState
from tests.builders.http_calls import Caller
from tests.builders.kubeconfigs import kubeconfig_for
from tests.builders.nodes import node_with
from tests.builders.pods import pod_object
from tests.builders.requests import binding, body_of
from tests.builders.tables import create_cache_table, create_ledger_table
from tests.fakes.api_server import KubernetesOnLoopback, verified_kubernetes
from tests.unit.ledger.nodes.ledger_tables import emulator_client

from .serving import eventually, start

pytestmark = pytest.mark.external

SEAT, NODE, SEATS, SERVERS = "example.com/seat", "n10", 3, 2
DOCUMENT = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: managed-resources
managedResources:
  - name: {SEAT}
"""
CACHE, LEDGER = "shared-cache", "shared-ledger"
PATIENCE = 60


@pytest.fixture
def kubernetes() -> Iterator[KubernetesOnLoopback]:
    with verified_kubernetes() as kubernetes:
        kubernetes.nodes = [node_with(NODE, allocatable={SEAT: str(SEATS), "pods": "10"})]
        kubernetes.leases[NAME] = {"metadata": {"name": NAME, "uid": "lease-1", "resourceVersion": "1"}}
        yield kubernetes


@pytest.fixture
def callers(kubernetes: KubernetesOnLoopback, tmp_path: Path, endpoint_url: str) -> Iterator[list[Caller]]:
    """One for each server. The tables are as new as the cluster: no bind can be under way."""
    client = emulator_client(endpoint_url)
    create_cache_table(client, CACHE)
    create_ledger_table(client, LEDGER)
    DynamoDBLedgerTable(client, LEDGER).put_marker(Marker(MarkerState.READY, 0, 0.0, "new"), None)
    document = tmp_path / "berth.yaml"
    document.write_text(DOCUMENT)
    store = ["--store=dynamodb", f"--cache-table={CACHE}", f"--ledger-table={LEDGER}", "--region=eu-central-1"]
    file = kubeconfig_for(kubernetes.host, tmp_path, kubernetes.authority)
    arguments = [f"--kubeconfig={file}", f"--config={document}", "--port=0", *store, f"--endpoint-url={endpoint_url}"]
    with ExitStack() as running:
        found = []
        for _ in range(SERVERS):
            served = start(*arguments, variables={"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"})
            running.callback(served.process.communicate)
            running.callback(served.process.kill)
            found.append(Caller(served.port))
            running.callback(found[-1].close)
        yield found
    for name in (CACHE, LEDGER):
        client.delete_table(TableName=name)


def test_servers_with_the_same_tables_give_out_what_there_is_together(
    kubernetes: KubernetesOnLoopback, callers: list[Caller]
) -> None:
    for number in range(SEATS + SERVERS):
        pod = pod_object(f"p{number}", requests={SEAT: "1"})
        pod["metadata"] |= {"resourceVersion": "1"}  # type: ignore[operator]
        kubernetes.pods["ml", f"p{number}"] = pod

    def error(number: int) -> str:
        found: str = (
            callers[number % SERVERS]
            .post("/scheduler/bind", body_of(binding(f"p{number}", uid=f"uid-p{number}", node=NODE)))
            .json["Error"]
        )
        return found

    eventually(lambda: error(0) == "", PATIENCE)

    assert [error(number) for number in range(1, SEATS + SERVERS)] == ["", "", *[f"Insufficient {SEAT}"] * SERVERS]
    assert [kubernetes.node_of(f"p{number}") for number in range(SEATS + SERVERS)] == [NODE] * SEATS + [""] * SERVERS
