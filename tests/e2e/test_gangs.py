"""Gangs by Berth's annotations, on a kube-scheduler without a plugin, a PodGroup API or a feature gate for gangs.

How long a gang took is printed; the limits are for a machine on which others work, too.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .berth.extender import ExtenderCache
from .berth.identities import counted_resources, serve
from .berth.label_priority import none_available
from .berth.serve_with_ledger import ledger_in
from .gangs.members import (
    COUNTED,
    DOES_NOT_FIT,
    LICENCE,
    NODE_LEDGER_SECONDS,
    PLACED_SECONDS,
    PLAIN,
    WAITS_FOR_MEMBERS,
    Gangs,
    entries,
    placed_in,
    speed,
    wait_until,
)
from .gangs.scheduler import GangScheduler, Retries
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi

LEDGER_SECONDS = 20
OTHER_PODS = 100
NO_CANDIDATE = "preemption: no candidate node for preemption"

# `make e2e-gangs REPEAT=20`
REPETITIONS = int(os.environ.get("GANG_REPETITIONS", "1"))


@pytest.fixture
def retries() -> Retries:
    return Retries.BOUNDED


@pytest.fixture
def gangs(control_plane: ControlPlane, cluster: Cluster) -> Gangs:
    return Gangs(cluster, KubernetesApi(control_plane.credentials()))


@pytest.fixture
def scheduler(control_plane: ControlPlane, retries: Retries, tmp_path: Path) -> GangScheduler:
    return GangScheduler(control_plane, tmp_path, retries)


@pytest.fixture
def scheduled(control_plane: ControlPlane, scheduler: GangScheduler, tmp_path: Path) -> Iterator[ExtenderCache]:
    """Berth and the scheduler with gangs."""
    with serve(control_plane, tmp_path, document=PLAIN) as berth, scheduler.run(berth.url_prefix):
        yield ExtenderCache(berth)


@pytest.mark.parametrize(
    ("size", "retries"),
    [
        pytest.param(4, Retries.BOUNDED, marks=pytest.mark.core),
        (4, Retries.UNBOUNDED),
        (32, Retries.BOUNDED),
        (32, Retries.UNBOUNDED),
    ],
)
def test_feasible_gang_is_bound_completely(size: int, retries: Retries, scheduled: ExtenderCache, gangs: Gangs) -> None:
    scheduled.wait_for_feasible(gangs.create_nodes(size))

    started = time.monotonic()
    gang = gangs.create("train", size)
    created = time.monotonic()
    nodes = gangs.wait_until_bound(gang)
    bound = time.monotonic()

    print(
        f"gang of {size}, {retries} retries: bound {bound - created:.1f} s after its last member, "
        f"{bound - started:.1f} s after its first"
    )
    assert len(set(nodes.values())) == size


@pytest.mark.parametrize("retries", [pytest.param(Retries.BOUNDED, marks=pytest.mark.core), Retries.UNBOUNDED])
def test_infeasible_gang_is_never_bound_in_part_and_runs_after_missing_node_is_added(
    retries: Retries, scheduled: ExtenderCache, gangs: Gangs
) -> None:
    nodes = gangs.create_nodes(3)
    scheduled.wait_for_feasible(nodes)
    alone = placed_in(gangs, "before", OTHER_PODS)
    gang = gangs.create("train", 4)
    does_not_fit = none_available({DOES_NOT_FIT: len(nodes)})
    for pod in gang:
        gangs.cluster.wait_until_unschedulable(pod, does_not_fit)

    beside = placed_in(gangs, "beside", OTHER_PODS)
    print(
        f"{OTHER_PODS} other pods, {retries} retries: {speed(OTHER_PODS, alone):.0f} a second without gangs, "
        f"{speed(OTHER_PODS, beside):.0f} while a gang of 4 waits ({100 * alone / beside:.0f} %)"
    )
    gangs.assert_none_is_bound(gang)

    allowed = (does_not_fit, none_available({WAITS_FOR_MEMBERS: len(nodes)}))
    for pod in gang:
        messages = gangs.failed_scheduling(pod)
        assert any(message.startswith(does_not_fit) for message in messages)
        assert all(message.startswith(allowed) for message in messages), messages

    added_at = time.monotonic()
    gangs.create_node()
    on = gangs.wait_until_bound(gang)
    print(f"gang of 4, {retries} retries: bound {time.monotonic() - added_at:.1f} s after the missing node was added")
    assert len(set(on.values())) == len(gang)


@pytest.mark.parametrize("repetition", range(REPETITIONS))
def test_of_two_interleaved_gangs_one_runs_and_then_the_other(
    repetition: int, scheduled: ExtenderCache, gangs: Gangs
) -> None:
    size = 6
    scheduled.wait_for_feasible(gangs.create_nodes(size))
    created: dict[str, list[Pod]] = {"first": [], "second": []}
    started = time.monotonic()
    for number in range(size):
        for name, members in created.items():
            members.append(gangs.create_member(name, number, size))
    both = [pod for members in created.values() for pod in members]

    wait_until("a gang is bound", lambda: len(gangs.bound(both)) >= size, PLACED_SECONDS)
    print(f"one of two gangs of 6: bound {time.monotonic() - started:.1f} s after the first member was created")
    running, waiting = sorted(created.values(), key=lambda members: -len(gangs.bound(members)))
    gangs.assert_none_is_bound(waiting)
    assert len(gangs.bound(running)) == size

    for pod in running:
        gangs.cluster.end_containers(pod)
    ended_at = time.monotonic()
    gangs.wait_until_bound(waiting)
    print(f"the other gang of 6: bound {time.monotonic() - ended_at:.1f} s after the first had ended")


def test_gang_evicts_nothing_for_a_part_of_itself(scheduled: ExtenderCache, gangs: Gangs) -> None:
    """All of its members would fit if lower-priority pods went: preempt is asked for one member at a time (G5)."""
    urgent = gangs.cluster.create_priority_class("urgent", 1000)
    nodes = gangs.create_nodes(4)
    running = [gangs.cluster.create_pod(f"running-{node}", cpu="2", node=node) for node in nodes]
    scheduled.wait_for_feasible(nodes)
    gang = gangs.create("train", 4, priority_class=urgent)
    # kube-scheduler's own filters reject the nodes, and it asks which pods to evict.
    gangs.wait_until_rejected(gang, NO_CANDIDATE)
    gangs.assert_none_is_bound(gang)
    assert not any(gangs.cluster.state(pod).terminating for pod in running)

    for pod in running:
        gangs.cluster.end_containers(pod)
    gangs.wait_until_bound(gang)


def test_counted_resources_of_gang_are_reserved_for_all_members_or_none(
    control_plane: ControlPlane, scheduler: GangScheduler, gangs: Gangs, tmp_path: Path
) -> None:
    file = tmp_path / "ledger.json"
    licences = {gangs.create_node(extended={LICENCE: "2"}): 2, gangs.create_node(extended={LICENCE: "1"}): 1}
    with (
        counted_resources(control_plane),
        serve(
            control_plane,
            tmp_path,
            document=COUNTED,
            command=(sys.executable, "-m", "tests.e2e.berth.serve_with_ledger", file),
        ) as berth,
        scheduler.run(berth.url_prefix, COUNTED),
    ):
        ExtenderCache(berth).wait_for_feasible(licences)
        wait_until("the nodes have a ledger", lambda: licences.keys() <= ledger_in(file).keys(), NODE_LEDGER_SECONDS)
        gang = gangs.create("train", 4, cpu="100m", extended={LICENCE: "1"})
        for pod in gang:
            gangs.cluster.wait_until_unschedulable(pod, none_available({DOES_NOT_FIT: len(licences)}))
        gangs.assert_none_is_bound(gang)
        assert entries(ledger_in(file)) == {node: {} for node in licences}

        added_at = time.monotonic()
        licences[gangs.create_node(extended={LICENCE: "1"})] = 1
        on = gangs.wait_until_bound(gang, NODE_LEDGER_SECONDS)
        print(f"gang of 4: bound {time.monotonic() - added_at:.1f} s after a node with the fourth licence was added")

        wanted: dict[str, dict[str, object]] = {node: {} for node in licences}
        for name, node in on.items():
            wanted[node][f"default/{name}"] = {"state": "bound", "shares": {LICENCE: 1}}
        assert {node: len(found) for node, found in wanted.items()} == licences
        wait_until("the ledger has the members", lambda: entries(ledger_in(file)) == wanted, LEDGER_SECONDS)
        for node in ledger_in(file).values():
            assert (node["avail"].get(LICENCE, 0), node["owed"]) == (0, {})
