"""The tables are emptied, deleted and made again under a running stack: what verbs say meanwhile, and when they decide
again. docs/how-to/recover.md has the commands."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .berth_serve import COMMAND
from .cluster import Cluster
from .control_plane import ControlPlane, RunScheduler
from .endpoint import Endpoint
from .extender import ExtenderCache
from .identities import counted_resources, identities
from .label_priority import priority
from .scheduler_configuration import filter_prioritize_bind
from .stack import DeployedStack

SLOT = "example.com/slot"
COUNTED = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: label-priority
managedResources:
  - name: {SLOT}
nodeCache:
  maxStaleness: 80
"""
EMPTY = "the node cache is empty: no watcher has published yet"
GONE = "the table does not exist"
OLD = "older than maxStaleness (80 s)"

# A quiet cluster tells once a minute how far it has come, so less than that is no maxStaleness.
SAID_SECONDS = 120
# The schedule starts a watcher within a minute of the last one, and that one lists the cluster.
RECOVERED_SECONDS = 150
REBUILT_SECONDS = 180


@pytest.fixture(scope="module")
def stack(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeployedStack]:
    with (
        counted_resources(control_plane),
        DeployedStack(identities(control_plane), tmp_path_factory.mktemp("stack")) as stack,
    ):
        yield stack


@pytest.fixture
def node(stack: DeployedStack, cluster: Cluster) -> str:
    """Known to the stack, with two slots."""
    stack.apply(COUNTED)
    node = cluster.create_node("node", priority(10), extended={SLOT: "2"})
    ExtenderCache(stack).wait_for_scores({node: 10})
    return node


def test_empty_cache_is_reported_and_filled_by_next_watcher(stack: DeployedStack, node: str) -> None:
    client, table = stack.client("dynamodb"), stack.name("CacheTable")
    items = client.scan(TableName=table, ProjectionExpression="pk, sk")["Items"]
    emptied = time.monotonic()
    for key in items:
        client.delete_item(TableName=table, Key=key)

    said = _until(lambda: EMPTY in _error(stack, node), SAID_SECONDS, "filter says that it is empty") - emptied
    # The configuration is gone with it: the deployed one counts until it is applied again.
    ExtenderCache(stack).wait_for_scores({node: 10})
    print(f"emptied cache: named after {said:.1f} s, filled again after {time.monotonic() - emptied:.1f} s")
    assert time.monotonic() - emptied < RECOVERED_SECONDS


def test_missing_cache_table_is_reported_and_filled_after_creation(stack: DeployedStack, node: str) -> None:
    client, table = stack.client("dynamodb"), stack.name("CacheTable")
    assert not _error(stack, node)  # filter has read what is applied, maxStaleness among it
    deleted = time.monotonic()
    client.delete_table(TableName=table)

    # What warm environments have in memory counts until it is older than maxStaleness.
    said = _until(lambda: OLD in _error(stack, node), SAID_SECONDS, "filter says that the data is old") - deleted
    health = Endpoint(stack.url_prefix.removesuffix("/scheduler")).get("healthz")
    assert health.status == 503
    assert GONE in health.json()["reason"]
    made = time.monotonic()
    _create_table(stack, table, "N")
    ExtenderCache(stack).wait_for_scores({node: 10})
    print(f"cache table gone: named after {said:.1f} s; made again, it is filled after {time.monotonic() - made:.1f} s")
    assert time.monotonic() - made < RECOVERED_SECONDS


def test_binds_no_counted_pod_until_missing_ledger_is_rebuilt(
    stack: DeployedStack, node: str, cluster: Cluster, run_scheduler: RunScheduler
) -> None:
    client, table = stack.client("dynamodb"), stack.name("LedgerTable")
    run_scheduler(filter_prioritize_bind(stack.url_prefix))
    first = cluster.create_pod("first", extended={SLOT: "1"})
    _until(lambda: cluster.state(first).node == node, REBUILT_SECONDS, "there is a ledger")
    client.update_table(TableName=table, DeletionProtectionEnabled=False)
    client.delete_table(TableName=table)

    pod = cluster.create_pod("counted", extended={SLOT: "1"})
    told = cluster.wait_for_failed_scheduling(pod, "")
    assert GONE in told, told
    # Who asks for nothing counted is placed as ever.
    assert cluster.wait_until_assigned(cluster.create_pod("plain")) == node
    assert cluster.state(pod).node is None
    made = time.monotonic()
    _create_table(stack, table, "S")
    assert "the ledger is ready" in _rebuild(stack, REBUILT_SECONDS)
    ready = time.monotonic() - made
    assert cluster.wait_until_assigned(pod) == node
    print(f"ledger made again: ready after {ready:.1f} s, the pod bound after {time.monotonic() - made:.1f} s")


def _create_table(stack: DeployedStack, name: str, sort_key: str) -> None:
    stack.client("dynamodb").create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": sort_key},
        ],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )


def _error(stack: DeployedStack, node: str) -> str:
    pod: dict[str, Any] = {"metadata": {"name": "probe", "namespace": "default", "uid": "probe"}, "spec": {}}
    answer = Endpoint(stack.url_prefix).post("filter", json.dumps({"Pod": pod, "NodeNames": [node]}).encode())
    return str(answer.json().get("Error", "")) if answer.status == 200 else ""


def _rebuild(stack: DeployedStack, wait: float = 5) -> str:
    """What the command says; it asks for nothing where the table is new."""
    done = subprocess.run(
        [COMMAND, "reservations", "rebuild", "--table", stack.name("LedgerTable"), "--yes", f"--wait={wait}"],
        env=stack.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def _until(holds: Callable[[], bool], seconds: float, what: str) -> float:
    """When it began to hold."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"after {seconds} s still not: {what}"
        time.sleep(0.1)
    return time.monotonic()
