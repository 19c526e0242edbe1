"""Why a gang waits, as its user sees it: by an event on the pod, and by `berth gangs list`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from .berth.berth_serve import BerthServe
from .berth.extender import ExtenderCache
from .berth.identities import serve
from .gangs.listed import listed_gang
from .gangs.members import DOES_NOT_FIT, PLAIN, WAITS_FOR_MEMBERS, Gangs, wait_until
from .gangs.scheduler import GangScheduler
from .kubernetes.cluster import Cluster, Pod
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi

SIZE = 4
# A gang that waits has an event after 15 s, and the watcher looks every 10 s.
EVENT_SECONDS = 60


@pytest.fixture
def gangs(cluster: Cluster, control_plane: ControlPlane) -> Gangs:
    return Gangs(cluster, KubernetesApi(control_plane.credentials()))


def test_event_on_each_member_and_list_of_gangs_say_the_same(
    control_plane: ControlPlane, gangs: Gangs, tmp_path: Path
) -> None:
    with (
        serve(control_plane, tmp_path, document=PLAIN) as berth,
        GangScheduler(control_plane, tmp_path).run(berth.url_prefix),
    ):
        ExtenderCache(berth).wait_for_feasible(gangs.create_nodes(SIZE - 1))
        gang = [gangs.create_member("train", number, SIZE) for number in range(2)]
        gangs.wait_until_rejected(gang, WAITS_FOR_MEMBERS)
        waits_for = "2 of 4 members exist"
        # filter knows a pod by its request, before the watcher has published it.
        wait_until("both are listed", lambda: _listed(berth).get("waitsFor") == waits_for, EVENT_SECONDS)
        assert _listed(berth)["state"] == "waits-for-members"
        _wait_for_events(gangs, gang, "GangWaitsForMembers", waits_for)

        gang += [gangs.create_member("train", number, SIZE) for number in range(2, SIZE)]
        gangs.wait_until_rejected(gang, DOES_NOT_FIT)
        listed = _listed(berth)
        assert listed["state"] == "does-not-fit"
        assert listed["waitsFor"] == "needs 4 x 3 cpu, there is room for 3 on 3 nodes"
        assert listed["members"] == {"exist": SIZE, "inBind": 0, "onNodes": 0}
        _wait_for_events(gangs, gang, "GangDoesNotFit", listed["waitsFor"])

        gangs.create_node()
        gangs.wait_until_bound(gang)
        wait_until("the gang is listed as committed", lambda: _listed(berth)["state"] == "committed", EVENT_SECONDS)


def _listed(berth: BerthServe) -> dict[str, Any]:
    return listed_gang("default/train", f"--url={berth.url_prefix}")


def _wait_for_events(gangs: Gangs, pods: Sequence[Pod], reason: str, waits_for: str) -> None:
    wanted = [f"the gang waits: {waits_for}"]
    wait_until(
        f"each member has the event {reason}",
        lambda: all(gangs.events(pod, reason) == wanted for pod in pods),
        EVENT_SECONDS,
    )
