"""Gangs as PodGroups of Kubernetes: kube-scheduler decides on the whole group, and Berth's filter and bind agree.

The feature gates and the version of the API are those of the version of Kubernetes; other versions lack PodGroups.
The scheduler reports a group as scheduled when its filters have passed all members, before any member is bound.
So Berth's filter must reject every pod that its bind would reject.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from .berth.extender import ExtenderCache
from .berth.identities import counted_resources, serve
from .berth.serve_with_ledger import ledger_in
from .gangs.members import COUNTED, DOES_NOT_FIT, LICENCE, NODE_LEDGER_SECONDS, PLAIN, STABLE_SECONDS, Gangs, wait_until
from .gangs.pod_groups import NATIVE, NativePodGroup
from .gangs.scheduler import GangScheduler
from .gangs.targets import BACK_OFF_SECONDS, GANG_SECONDS, Figures
from .kubernetes.cluster import Pod
from .kubernetes.control_plane import KUBERNETES, ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi

pytestmark = pytest.mark.skipif(KUBERNETES not in NATIVE, reason=f"Kubernetes {KUBERNETES} has no PodGroup")

SIZE = 4
# Beginnings of the scheduler's message after filter, for a node or the group. After a bind it contains bind's error.
FILTERED = ("0/", "minCount (")


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    native = NATIVE[KUBERNETES]
    flags = [f"--feature-gates={','.join(native.gates)}", f"--runtime-config=scheduling.k8s.io/{native.version}=true"]
    with ControlPlane(tmp_path_factory.mktemp("control-plane-with-gangs"), flags=flags) as control_plane:
        yield control_plane


@pytest.fixture
def scheduler(control_plane: ControlPlane, tmp_path: Path) -> GangScheduler:
    return GangScheduler(control_plane, tmp_path, gates=NATIVE[KUBERNETES].gates)


@pytest.mark.core
def test_feasible_native_gang_is_bound_completely(
    control_plane: ControlPlane,
    scheduler: GangScheduler,
    gangs: Gangs,
    api: KubernetesApi,
    figures: Figures,
    tmp_path: Path,
) -> None:
    with (
        serve(control_plane, tmp_path, document=PLAIN) as berth,
        scheduler.run(berth.url_prefix),
        NativePodGroup(api, "feasible", SIZE) as group,
    ):
        ExtenderCache(berth).wait_for_feasible(gangs.create_nodes(SIZE))
        gang = gangs.create("feasible", SIZE, native=True)
        created = time.monotonic()
        on = gangs.wait_until_bound(gang)
        seconds = time.monotonic() - created
        assert len(set(on.values())) == SIZE
        wait_until("the group is scheduled", lambda: group.scheduled()[-1:] == ["True"], STABLE_SECONDS)
    figures.at_most(f"native gang of {SIZE}: after its last member", seconds, GANG_SECONDS[SIZE] + BACK_OFF_SECONDS)


def test_native_gang_that_lacks_licences_is_never_reported_as_scheduled(
    control_plane: ControlPlane, scheduler: GangScheduler, gangs: Gangs, api: KubernetesApi, tmp_path: Path
) -> None:
    """Kubernetes alone would bind a part of this group."""
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
        NativePodGroup(api, "licensed", SIZE) as group,
    ):
        ExtenderCache(berth).wait_for_feasible(licences)
        wait_until("the nodes have a ledger", lambda: licences.keys() <= ledger_in(file).keys(), NODE_LEDGER_SECONDS)
        gang = gangs.create("licensed", SIZE, native=True, cpu="100m", extended={LICENCE: "1"})
        gangs.wait_until_rejected(gang[:1], DOES_NOT_FIT)
        gangs.assert_none_is_bound(gang)
        assert set(group.scheduled()) == {"False"}

        licences[gangs.create_node(extended={LICENCE: "1"})] = 1
        on = gangs.wait_until_bound(gang, NODE_LEDGER_SECONDS)
        assert {node: list(on.values()).count(node) for node in licences} == licences
        wait_until("the group is scheduled", lambda: group.scheduled()[-1:] == ["True"], STABLE_SECONDS)
        _assert_rejected_by_filter_only(gangs, gang)


def _assert_rejected_by_filter_only(gangs: Gangs, gang: Sequence[Pod]) -> None:
    """Assert that bind did not refuse a member: its group would have been reported as scheduled before."""
    messages = {message for pod in gang for message in gangs.failed_scheduling(pod)}
    assert {each for each in messages if not each.startswith(FILTERED)} == set()
