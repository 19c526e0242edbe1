"""200 pods at once, each asking for one of 160 units that the scheduler is told to ignore: only Berth counts them."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pytest

from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable

from .cluster import Cluster, Pod
from .control_plane import ControlPlane, RunScheduler
from .endpoint import Endpoint
from .extender import SERVE_AND_STACK
from .identities import counted_resources, identities, serve
from .kubernetes_api import JsonObject, KubernetesApi
from .label_priority import none_available
from .scheduler_configuration import filter_prioritize_bind
from .serve_with_ledger import ledger_document
from .stack import DeployedStack

RESOURCE = "example.com/slot"
INSUFFICIENT = f"Insufficient {RESOURCE}"
NODES = 20
UNITS = 8
PODS = 200
ENDED = 10

CONFIGURATION = f"""\
apiVersion: berth.dev/v1alpha1
kind: BerthConfiguration
profile: managed-resources
managedResources:
  - name: {RESOURCE}
"""

# A new table's are made after what may have been under way has ended, and the API server has told of pods after that;
# where nothing happens it does so once a minute.
LEDGERS_SECONDS = 180
ALL_RUN_SECONDS = 120
STAY_SECONDS = 5
REPLACED_SECONDS = 15
LEDGER_SECONDS = 10


class Berth(Protocol):
    """However it is served."""

    @property
    def url_prefix(self) -> str: ...

    def ledger(self) -> dict[str, Any]:
        """By node, as `ledger_document` has it."""


class Serve:
    """`berth serve`, with a look at its embedded table."""

    def __init__(self, control_plane: ControlPlane, directory: Path) -> None:
        self._file = directory / "ledger.json"
        self._berth = serve(
            control_plane,
            directory,
            document=CONFIGURATION,
            command=(sys.executable, "-m", "tests.e2e.serve_with_ledger", self._file),
        )

    def __enter__(self) -> Serve:
        self._berth.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._berth.stop()

    @property
    def url_prefix(self) -> str:
        return self._berth.url_prefix

    def ledger(self) -> dict[str, Any]:
        """Of a moment ago."""
        found: dict[str, Any] = json.loads(self._file.read_text()) if self._file.exists() else {}
        return found


class Stack:
    """The deployed stack. Its ledger is new: the watcher makes it before anything can be reserved."""

    def __init__(self, control_plane: ControlPlane, directory: Path) -> None:
        self._stack = DeployedStack(identities(control_plane), directory)
        self._log = directory / "watcher.log"

    def __enter__(self) -> Stack:
        self._stack.__enter__()
        self._stack.apply(CONFIGURATION)
        return self

    def __exit__(self, *_: object) -> None:
        self._keep_the_watcher_s_log()
        self._stack.__exit__()

    def _keep_the_watcher_s_log(self) -> None:
        """Beside the others: the account ends with the test."""
        logs = self._stack.client("logs")
        told = logs.filter_log_events(logGroupName=self._stack.name("WatcherLogGroup"))["events"]
        self._log.write_text("".join(f"{event['message'].rstrip()}\n" for event in told))

    @property
    def url_prefix(self) -> str:
        return self._stack.url_prefix

    def ledger(self) -> dict[str, Any]:
        """As of now."""
        table = DynamoDBLedgerTable(self._stack.client("dynamodb"), self._stack.name("LedgerTable"))
        return ledger_document(list(table.nodes()))


SERVED: dict[str, Callable[[ControlPlane, Path], AbstractContextManager[Berth]]] = {"serve": Serve, "stack": Stack}


@pytest.fixture(scope="module", autouse=True)
def _rights(control_plane: ControlPlane) -> Iterator[None]:
    with counted_resources(control_plane):
        yield


@pytest.fixture(scope="module", params=SERVE_AND_STACK)
def berth(
    request: pytest.FixtureRequest, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Berth]:
    with SERVED[request.param](control_plane, tmp_path_factory.mktemp(request.param)) as berth:
        yield berth


@pytest.fixture
def api(control_plane: ControlPlane) -> KubernetesApi:
    return KubernetesApi(control_plane.credentials())


@pytest.mark.core
def test_burst_fills_every_node_without_overcommit(
    berth: Berth, cluster: Cluster, api: KubernetesApi, run_scheduler: RunScheduler
) -> None:
    nodes = [
        cluster.create_node(f"slots-{number}", cpu="64", extended={RESOURCE: str(UNITS)}) for number in range(NODES)
    ]
    _wait_until("the nodes are known", lambda: _passed(berth, nodes) == set(nodes), 90)
    _wait_until("the nodes have a ledger", lambda: set(nodes) <= set(berth.ledger()), LEDGERS_SECONDS)
    run_scheduler(replace(filter_prioritize_bind(berth.url_prefix), preempt_verb=None, managed_resources=(RESOURCE,)))

    began = time.monotonic()
    pods = [cluster.create_pod(f"burst-{number}", cpu="1m", extended={RESOURCE: "1"}) for number in range(PODS)]
    _wait_until("160 pods are on nodes", lambda: sum(_on_nodes(api).values()) == NODES * UNITS, ALL_RUN_SECONDS)
    print(f"{NODES * UNITS} of {PODS} pods were bound {time.monotonic() - began:.1f} s after the first was made")

    # No more, and each node is full.
    until = time.monotonic() + STAY_SECONDS
    while time.monotonic() < until:
        assert _on_nodes(api) == dict.fromkeys(nodes, UNITS)
        time.sleep(0.5)
    waiting = [pod for pod in _pods(api) if not pod["spec"].get("nodeName")]
    assert len(waiting) == PODS - NODES * UNITS
    reason = none_available({INSUFFICIENT: NODES})
    _wait_until(
        "those that wait say why",
        lambda: all(_message(pod).startswith(reason) for pod in _pods(api) if not pod["spec"].get("nodeName")),
        60,
    )
    _wait_until("the ledger has confirmed them", lambda: _held(berth, nodes) == _confirmed(api, nodes), LEDGER_SECONDS)

    running = {pod["metadata"]["name"] for pod in _pods(api) if pod["spec"].get("nodeName")}
    ended = [pod for pod in pods if pod.name in running][:ENDED]
    deleted_at = time.monotonic()
    for pod in ended:
        cluster.end_containers(pod)
    _wait_until(
        "as many others are on nodes",
        lambda: sum(_on_nodes(api).values()) == NODES * UNITS and not _names(ended) & _running(api),
        REPLACED_SECONDS,
    )
    print(f"{ENDED} others were bound {time.monotonic() - deleted_at:.1f} s after the first of them was deleted")
    assert _on_nodes(api) == dict.fromkeys(nodes, UNITS)
    _wait_until("the ledger has followed", lambda: _held(berth, nodes) == _confirmed(api, nodes), LEDGER_SECONDS)


def _passed(berth: Berth, nodes: list[str]) -> set[str]:
    resources = {"requests": {RESOURCE: "1"}}
    pod = {
        "metadata": {"name": "probe", "namespace": "default", "uid": "probe"},
        "spec": {"containers": [{"name": "app", "resources": resources}]},
        "status": {},
    }
    answer = Endpoint(berth.url_prefix).post(
        "filter", json.dumps({"Pod": pod, "Nodes": None, "NodeNames": nodes}).encode()
    )
    return set(answer.json().get("NodeNames") or []) if answer.status == 200 else set()


def _pods(api: KubernetesApi) -> list[JsonObject]:
    found: list[JsonObject] = api.get("/api/v1/namespaces/default/pods")["items"]
    return found


def _on_nodes(api: KubernetesApi) -> dict[str, int]:
    """How many pods each node has; and none has ever more than it may."""
    found = Counter(pod["spec"]["nodeName"] for pod in _pods(api) if pod["spec"].get("nodeName"))
    assert all(count <= UNITS for count in found.values()), f"overcommitted: {found}"
    return dict(found)


def _running(api: KubernetesApi) -> set[str]:
    return {pod["metadata"]["name"] for pod in _pods(api) if pod["spec"].get("nodeName")}


def _names(pods: list[Pod]) -> set[str]:
    return {pod.name for pod in pods}


def _message(pod: JsonObject) -> str:
    for condition in pod["status"].get("conditions", []):
        if condition["type"] == "PodScheduled":
            return str(condition.get("message", ""))
    return ""


def _held(berth: Berth, nodes: list[str]) -> dict[str, set[tuple[str, str]]]:
    """By node, which pods the ledger has, and in which state; and what it has is never more than the node."""
    ledger = berth.ledger()
    for name in nodes:
        found = ledger.get(name, {"capacity": {}, "avail": {}, "owed": {}, "entries": {}})
        held = sum(entry["shares"].get(RESOURCE, 0) for entry in found["entries"].values())
        assert not found["owed"]
        assert held + found["avail"].get(RESOURCE, 0) == found["capacity"].get(RESOURCE, 0) == UNITS
    return {
        name: {(pod, entry["state"]) for pod, entry in ledger[name]["entries"].items()}
        for name in nodes
        if name in ledger
    }


def _confirmed(api: KubernetesApi, nodes: list[str]) -> dict[str, set[tuple[str, str]]]:
    """By node, the pods that are on it."""
    found: dict[str, set[tuple[str, str]]] = {name: set() for name in nodes}
    for pod in _pods(api):
        if pod["spec"].get("nodeName"):
            found[pod["spec"]["nodeName"]].add((f"default/{pod['metadata']['name']}", "bound"))
    return found


def _wait_until(what: str, holds: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, f"after {seconds} s still not: {what}"
        time.sleep(0.2)
