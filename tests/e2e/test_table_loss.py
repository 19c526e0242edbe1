"""Loss of the tables of a running stack: the errors of the verbs, and the time until recovery.

docs/how-to/recover.md has the commands.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from berth.configuration.store import COUNTING_LOST
from berth.dynamodb import HEAD_KEY

from .berth.berth_serve import COMMAND
from .berth.endpoint import Endpoint
from .berth.extender import ExtenderCache
from .berth.identities import counted_resources, identities
from .berth.label_priority import priority
from .berth.stack import DeployedStack
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane, RunScheduler
from .kubernetes.scheduler_configuration import filter_prioritize_bind

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
EMPTY_CACHE = "the node cache is empty: no watcher has published yet"
MISSING_TABLE = "the table does not exist"


# An idle cluster refreshes about once a minute, so maxStaleness is longer than that.
REPORT_SECONDS = 120
# The schedule starts a watcher within a minute of the last one, and the watcher lists the cluster.
RECOVERY_SECONDS = 150
REBUILD_SECONDS = 180


@pytest.fixture(scope="module")
def stack(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeployedStack]:
    with (
        counted_resources(control_plane),
        DeployedStack(identities(control_plane), tmp_path_factory.mktemp("stack")) as stack,
    ):
        yield stack


@pytest.fixture
def node(stack: DeployedStack, cluster: Cluster) -> str:
    """A node with two slots in the cache of the stack."""
    stack.apply(COUNTED)
    node = cluster.create_node("node", priority(10), extended={SLOT: "2"})
    ExtenderCache(stack).wait_for_scores({node: 10})
    return node


def test_empty_cache_is_reported_and_filled_by_next_watcher(stack: DeployedStack, node: str) -> None:
    in_force = _configuration_hash(stack)
    deleted = _empty_cache_table(stack)

    reported = (
        _until(lambda: EMPTY_CACHE in _error(stack, node), REPORT_SECONDS, "filter reports the empty cache") - deleted
    )
    ExtenderCache(stack).wait_for_scores({node: 10})
    # The applied configuration was deleted, too. The watcher has it from the ledger's table.
    assert _configuration_hash(stack) == in_force != ""
    print(f"empty cache: reported after {reported:.1f} s, filled after {time.monotonic() - deleted:.1f} s")
    assert time.monotonic() - deleted < RECOVERY_SECONDS


def test_emptied_cache_table_lets_no_pod_be_bound_without_counting(
    stack: DeployedStack, node: str, cluster: Cluster
) -> None:
    """The node has two slots. kube-scheduler, which would count them itself, does not run: bind is called directly."""
    pods = [cluster.create_pod(f"slot-{number}", extended={SLOT: "1"}) for number in range(4)]
    _until(lambda: _bind_error(stack, pods[0], node) == "", REBUILD_SECONDS, "the ledger exists")
    in_force = _configuration_hash(stack)
    first = time.monotonic()
    deleted = first
    errors: set[str] = set()

    def is_bound_again() -> bool:
        answers = [_bind_error(stack, pod, node) for pod in pods[1:]]
        bound = [pod for pod in pods if cluster.state(pod).node == node]
        assert len(bound) <= 2
        errors.update(answers)
        return "" in answers and COUNTING_LOST in errors

    def is_refused() -> bool:
        # Again and again: bind looks every 10 s, and a watcher may fill the table in less.
        nonlocal deleted
        deleted = _empty_cache_table(stack)
        return is_bound_again() or COUNTING_LOST in errors

    refused = _until(is_refused, REPORT_SECONDS, "bind refuses") - first
    _until(is_bound_again, RECOVERY_SECONDS, "bind counts again")
    print(f"lost configuration: refused after {refused:.1f} s, counted after {time.monotonic() - deleted:.1f} s")
    # bind needs the document alone; healthz says which is in force once the nodes are published again.
    ExtenderCache(stack).wait_for_scores({node: 10})
    assert _configuration_hash(stack) == in_force
    assert {_bind_error(stack, pod, node) for pod in pods} == {"", f"Insufficient {SLOT}"}
    assert sum(cluster.state(pod).node == node for pod in pods) == 2


def test_binds_no_counted_pod_until_missing_ledger_is_rebuilt(
    stack: DeployedStack, node: str, cluster: Cluster, run_scheduler: RunScheduler
) -> None:
    client, table = stack.client("dynamodb"), stack.name("LedgerTable")
    run_scheduler(filter_prioritize_bind(stack.url_prefix))
    first = cluster.create_pod("first", extended={SLOT: "1"})
    _until(lambda: cluster.state(first).node == node, REBUILD_SECONDS, "the ledger exists")
    client.update_table(TableName=table, DeletionProtectionEnabled=False)
    client.delete_table(TableName=table)

    pod = cluster.create_pod("counted", extended={SLOT: "1"})
    message = cluster.wait_for_failed_scheduling(pod, "")
    assert MISSING_TABLE in message, message
    # A pod without counted resources is placed.
    assert cluster.wait_until_assigned(cluster.create_pod("plain")) == node
    assert cluster.state(pod).node is None
    created = time.monotonic()
    _create_table(stack, table, "S")
    assert "the ledger is ready" in _rebuild(stack, REBUILD_SECONDS)
    ready = time.monotonic() - created
    assert cluster.wait_until_assigned(pod) == node
    print(f"ledger created: ready after {ready:.1f} s, the pod bound after {time.monotonic() - created:.1f} s")


def _empty_cache_table(stack: DeployedStack) -> float:
    """The time of the loss."""
    client, table = stack.client("dynamodb"), stack.name("CacheTable")
    items = client.scan(TableName=table, ProjectionExpression="pk, sk")["Items"]
    deleted = time.monotonic()
    for key in items:
        client.delete_item(TableName=table, Key=key)
    return deleted


def _configuration_hash(stack: DeployedStack) -> str:
    health = Endpoint(stack.url_prefix.removesuffix("/scheduler")).get("healthz").json()
    return str(health.get("configurationHash", ""))


def _bind_error(stack: DeployedStack, pod: Pod, node: str) -> str:
    arguments = {"PodName": pod.name, "PodNamespace": pod.namespace, "PodUID": pod.uid, "Node": node}
    return str(Endpoint(stack.url_prefix).post("bind", json.dumps(arguments).encode()).json()["Error"])


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
    """The output of `berth reservations rebuild`. It needs no confirmation for a new table."""
    done = subprocess.run(
        [COMMAND, "reservations", "rebuild", "--ledger-table", stack.name("LedgerTable"), "--yes", f"--wait={wait}"],
        env=stack.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def _until(holds: Callable[[], bool], seconds: float, what: str) -> float:
    """The time at which the condition first holds."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"not within {seconds} s: {what}"
        time.sleep(0.1)
    return time.monotonic()
