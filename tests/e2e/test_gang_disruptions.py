"""What happens to a gang in the middle: processes that are killed, members, nodes and PodGroups that go.

All or nothing: none of a gang's members is bound, or in the end all of them are. In most tests bind is kept back for
one member, so that the others wait in Berth's barrier.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from .berth.berth_serve import BerthServe
from .berth.extender import ExtenderCache
from .berth.identities import serve
from .gangs.held_binds import HeldBinds
from .gangs.members import DOES_NOT_FIT, PLAIN, Gangs
from .gangs.pod_groups import COSCHEDULING_LABEL, CoschedulingPodGroups, coscheduling
from .gangs.scheduler import GangScheduler
from .kubernetes.child_process import ChildProcess
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi
from .kubernetes.loopback import free_port

SIZE = 4
# Long enough for what a test does while members wait in the barrier, on a machine on which others work, too.
HTTP_TIMEOUT = "25s"
OPTIONS: Mapping[str, Any] = {"document": PLAIN, "options": (f"--http-timeout={HTTP_TIMEOUT}",)}

NOT_IN_CACHE = "node(s) are not in the extender's cache yet"
NO_POD_GROUP = "gang has no PodGroup"


@dataclass
class Barrier:
    """Berth, a scheduler, and between them what keeps binds back."""

    berth: BerthServe
    binds: HeldBinds
    _scheduler: GangScheduler
    _running: ExitStack
    _processes: list[ChildProcess] = field(default_factory=list)

    def start_scheduler(self) -> None:
        """It runs until the test ends, or it is killed."""
        run = self._scheduler.run(self.binds.url_prefix, http_timeout=HTTP_TIMEOUT)
        self._processes.append(self._running.enter_context(run))

    def kill_scheduler(self) -> None:
        """By SIGKILL: it gives nothing back."""
        self._processes.pop().stop(by=signal.SIGKILL)

    def wait_for_nodes(self, nodes: list[str]) -> None:
        """Wait until Berth passes them."""
        ExtenderCache(self.berth).wait_for_feasible(nodes)


@pytest.fixture
def api(control_plane: ControlPlane) -> KubernetesApi:
    return KubernetesApi(control_plane.credentials())


@pytest.fixture
def gangs(cluster: Cluster, api: KubernetesApi) -> Gangs:
    return Gangs(cluster, api)


@pytest.fixture
def barrier(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Barrier]:
    """Without a scheduler."""
    with (
        serve(control_plane, tmp_path, port=free_port(), **OPTIONS) as berth,
        HeldBinds(berth) as binds,
        ExitStack() as running,
    ):
        yield Barrier(berth, binds, GangScheduler(control_plane, tmp_path), running)
        # Who waits for a held call would wait for long.
        binds.let_go()


@pytest.fixture
def pod_groups(api: KubernetesApi) -> Iterator[CoschedulingPodGroups]:
    with coscheduling(api) as pod_groups:
        yield pod_groups


def test_gang_is_bound_completely_after_berth_was_killed_in_the_barrier(barrier: Barrier, gangs: Gangs) -> None:
    with _gang_in_barrier(barrier, gangs) as gang:
        barrier.berth.kill()
        assert gangs.bound(gang) == {}
        barrier.berth.start()
        assert gangs.bound(gang) == {}
    assert len(set(gangs.wait_until_bound(gang).values())) == SIZE


def test_gang_is_bound_completely_after_scheduler_was_killed_in_the_barrier(barrier: Barrier, gangs: Gangs) -> None:
    with _gang_in_barrier(barrier, gangs) as gang:
        barrier.kill_scheduler()
        assert gangs.bound(gang) == {}
        barrier.start_scheduler()
        assert gangs.bound(gang) == {}
    assert len(set(gangs.wait_until_bound(gang).values())) == SIZE


def test_no_member_is_bound_where_a_node_was_removed_between_plan_and_commit(barrier: Barrier, gangs: Gangs) -> None:
    """The API server itself lets pods be bound to a node that does not exist."""
    with _gang_in_barrier(barrier, gangs) as gang:
        node = barrier.binds.wait_until_in_barrier(SIZE - 1)["train-0"]
        gangs.cluster.delete_node(node)
        ExtenderCache(barrier.berth).wait_for_reasons({node: NOT_IN_CACHE})
    gangs.wait_until_rejected(gang[:1], DOES_NOT_FIT)
    gangs.assert_none_is_bound(gang)

    gangs.create_node()
    on = gangs.wait_until_bound(gang)
    assert len(set(on.values())) == SIZE
    assert node not in on.values()


def test_no_member_is_bound_where_the_pod_group_was_deleted_in_the_barrier(
    pod_groups: CoschedulingPodGroups, barrier: Barrier, gangs: Gangs
) -> None:
    pod_groups.create("train", SIZE)
    with _gang_in_barrier(barrier, gangs, label=COSCHEDULING_LABEL) as gang:
        pod_groups.delete("train")
        nodes = barrier.binds.wait_until_in_barrier(SIZE - 1).values()
        member = gangs.cluster.object(gang[0])
        ExtenderCache(barrier.berth).wait_for_reasons(dict.fromkeys(nodes, NO_POD_GROUP), of=member)
    gangs.wait_until_rejected(gang, NO_POD_GROUP)
    gangs.assert_none_is_bound(gang)

    pod_groups.create("train", SIZE)
    assert len(set(gangs.wait_until_bound(gang).values())) == SIZE


@contextmanager
def _gang_in_barrier(barrier: Barrier, gangs: Gangs, **options: str) -> Iterator[list[Pod]]:
    """A gang with room for all: all members but one wait in the barrier, until the block ends."""
    barrier.wait_for_nodes(gangs.create_nodes(SIZE))
    barrier.binds.hold(f"train-{SIZE - 1}")
    barrier.start_scheduler()
    gang = gangs.create("train", SIZE, **options)
    barrier.binds.wait_until_in_barrier(SIZE - 1)
    assert gangs.bound(gang) == {}
    yield gang
    barrier.binds.let_go()
