"""Gangs with counted resources, whole and by device, on `berth serve` and on the deployed stack: the ledger has all
members or none.

On the stack every member that waits in bind is a separate invocation, and bind's role must allow the commit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .berth.extender import SERVE_AND_STACK, ExtenderCache
from .berth.with_ledger import ServeWithLedger, StackWithLedger, counting
from .gangs.members import DOES_NOT_FIT, LICENCE, NODE_LEDGER_SECONDS, PLAIN, Gangs, entries, wait_until
from .gangs.scheduler import GangScheduler
from .kubernetes.child_process import ChildProcess
from .kubernetes.control_plane import ControlPlane

SIZE = 4
MEMORY = "example.com/memory"
COUNT, EACH = "example.com/memory.count", "example.com/memory.size"
DOCUMENT = f"""\
{PLAIN}managedResources:
  - name: {LICENCE}
  - name: {MEMORY}
    devices: {{count: {{nodeLabel: {COUNT}}}, size: {{nodeLabel: {EACH}}}}}
"""
# For a deployed stack: each member in bind is a function that starts on this machine.
HTTP_TIMEOUT_SECONDS = 30
LEDGER_SECONDS = 20

Berth = ServeWithLedger | StackWithLedger


@pytest.fixture(scope="module", params=SERVE_AND_STACK)
def berth(
    request: pytest.FixtureRequest, control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Berth]:
    directory = tmp_path_factory.mktemp(request.param)
    with counting(request.param, control_plane, directory, DOCUMENT, HTTP_TIMEOUT_SECONDS) as berth:
        yield berth


@pytest.fixture
def scheduler(berth: Berth, control_plane: ControlPlane, tmp_path: Path) -> Iterator[ChildProcess]:
    found = GangScheduler(control_plane, tmp_path)
    running = (
        found.run_for(berth.stack) if isinstance(berth, StackWithLedger) else found.run(berth.url_prefix, DOCUMENT)
    )
    with running as process:
        yield process


@pytest.mark.usefixtures("scheduler")
def test_counted_resources_are_reserved_for_all_members_of_a_gang_or_none(berth: Berth, gangs: Gangs) -> None:
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


def _wait_for_ledger(berth: Berth, nodes: dict[str, Any]) -> None:
    ExtenderCache(berth).wait_for_feasible(nodes)
    wait_until("the nodes have a ledger", lambda: nodes.keys() <= berth.ledger().keys(), NODE_LEDGER_SECONDS)


def _entries(berth: Berth, nodes: dict[str, Any]) -> dict[str, dict[str, object]]:
    """Return the entries of these nodes only: the table may still have nodes of an earlier test."""
    return {node: found for node, found in entries(berth.ledger()).items() if node in nodes}
