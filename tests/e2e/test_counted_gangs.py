"""Gangs and counted resources, whole and by device, on `berth serve` and on the deployed stack: the ledger has all
members or none.

On the stack every member that waits in bind is a call of its own, and the role of bind commits the gang.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from berth.scheduling.managed_resources.configuration import annotation_of

from .berth.extender import SERVE_AND_STACK, ExtenderCache
from .berth.identities import counted_resources
from .berth.with_ledger import ServeWithLedger, StackWithLedger
from .gangs.members import DOES_NOT_FIT, LICENCE, NODE_LEDGER_SECONDS, PLAIN, Gangs, entries, wait_until
from .gangs.scheduler import GangScheduler
from .kubernetes.child_process import ChildProcess
from .kubernetes.cluster import Cluster
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi

SIZE = 4
MEMORY = "example.com/memory"
COUNT, EACH = "example.com/memory.count", "example.com/memory.size"
DOCUMENT = f"""\
{PLAIN}managedResources:
  - name: {LICENCE}
  - name: {MEMORY}
    devices: {{count: {{nodeLabel: {COUNT}}}, size: {{nodeLabel: {EACH}}}}}
"""
# Of a deployed stack: each member in bind is a function that starts on this machine.
HTTP_TIMEOUT_SECONDS = 25
LEDGER_SECONDS = 20

Berth = ServeWithLedger | StackWithLedger


@pytest.fixture(scope="module", params=SERVE_AND_STACK)
def berth(
    request: pytest.FixtureRequest, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Berth]:
    directory = tmp_path_factory.mktemp(request.param)
    started: AbstractContextManager[Berth] = ServeWithLedger(control_plane, directory, DOCUMENT)
    if request.param == "stack":
        parameters = {"HttpTimeoutSeconds": str(HTTP_TIMEOUT_SECONDS)}
        started = StackWithLedger(control_plane, directory, DOCUMENT, parameters)
    with counted_resources(control_plane), started as berth:
        yield berth


@pytest.fixture
def scheduler(berth: Berth, control_plane: ControlPlane, tmp_path: Path) -> Iterator[ChildProcess]:
    found = GangScheduler(control_plane, tmp_path)
    running = (
        found.run_for(berth.stack) if isinstance(berth, StackWithLedger) else found.run(berth.url_prefix, DOCUMENT)
    )
    with running as process:
        yield process


@pytest.fixture
def gangs(cluster: Cluster, control_plane: ControlPlane) -> Gangs:
    return Gangs(cluster, KubernetesApi(control_plane.credentials()))


@pytest.mark.usefixtures("scheduler")
def test_counted_resources_of_gang_are_reserved_for_all_members_or_none(berth: Berth, gangs: Gangs) -> None:
    licences = {gangs.create_node(extended={LICENCE: "2"}): 2, gangs.create_node(extended={LICENCE: "1"}): 1}
    _wait_for_ledger(berth, licences)
    gang = gangs.create("train", SIZE, cpu="100m", extended={LICENCE: "1"})
    gangs.wait_until_rejected(gang, DOES_NOT_FIT)
    gangs.assert_none_is_bound(gang)
    assert _entries(berth, licences) == {node: {} for node in licences}

    added_at = time.monotonic()
    licences[gangs.create_node(extended={LICENCE: "1"})] = 1
    on = gangs.wait_until_bound(gang, NODE_LEDGER_SECONDS)
    print(f"gang of {SIZE}: bound {time.monotonic() - added_at:.1f} s after a node with the fourth licence was added")

    wanted: dict[str, dict[str, object]] = {node: {} for node in licences}
    for name, node in on.items():
        wanted[node][f"default/{name}"] = {"state": "bound", "shares": {LICENCE: 1}}
    assert {node: len(found) for node, found in wanted.items()} == licences
    wait_until("the ledger has the members", lambda: _entries(berth, licences) == wanted, LEDGER_SECONDS)
    for node in licences:
        found = berth.ledger()[node]
        assert (found["avail"].get(LICENCE, 0), found["owed"]) == (0, {})


@pytest.mark.usefixtures("scheduler")
def test_every_member_of_a_gang_has_a_device_of_its_own_or_none_has_one(berth: Berth, gangs: Gangs) -> None:
    """There is memory for six members, and a device with enough of it for three."""
    devices = {_node_with(gangs, 2, 4): {"0", "1"}, _node_with(gangs, 3, 2): set(), _node_with(gangs, 1, 4): {"0"}}
    _wait_for_ledger(berth, devices)
    gang = gangs.create("train", SIZE, cpu="100m", extended={MEMORY: "3"})
    gangs.wait_until_rejected(gang, DOES_NOT_FIT)
    gangs.assert_none_is_bound(gang)
    assert _entries(berth, devices) == {node: {} for node in devices}
    assert not any(annotation_of(MEMORY) in gangs.cluster.object(pod)["metadata"]["annotations"] for pod in gang)

    devices[_node_with(gangs, 1, 4)] = {"0"}
    on = gangs.wait_until_bound(gang, NODE_LEDGER_SECONDS)
    given: dict[str, list[str]] = {node: [] for node in devices}
    for pod in gang:
        given[on[pod.name]].append(gangs.cluster.object(pod)["metadata"]["annotations"][annotation_of(MEMORY)])
    assert {node: sorted(each) for node, each in given.items()} == {
        node: sorted(each) for node, each in devices.items()
    }
    wanted: dict[str, set[str]] = {node: set() for node in devices}
    for name, node in on.items():
        wanted[node].add(f"default/{name}")
    wait_until(
        "the ledger has the members",
        lambda: {node: set(found) for node, found in _entries(berth, devices).items()} == wanted,
        LEDGER_SECONDS,
    )


def _node_with(gangs: Gangs, count: int, size: int) -> str:
    """A node with so many devices of this size."""
    return gangs.create_node(labels={COUNT: str(count), EACH: str(size)})


def _wait_for_ledger(berth: Berth, nodes: dict[str, Any]) -> None:
    ExtenderCache(berth).wait_for_feasible(nodes)
    wait_until("the nodes have a ledger", lambda: nodes.keys() <= berth.ledger().keys(), NODE_LEDGER_SECONDS)


def _entries(berth: Berth, nodes: dict[str, Any]) -> dict[str, dict[str, object]]:
    """Of these nodes: a ledger may still have those of an earlier test."""
    return {node: found for node, found in entries(berth.ledger()).items() if node in nodes}
