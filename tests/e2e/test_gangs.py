"""Gangs on a kube-scheduler without plugins or feature gates for gangs: by Berth's annotations, and by the label of
coscheduling, whose PodGroup is a custom resource.

`make e2e TARGETS=1` enforces the targets of the figures. Otherwise the limits of the waits are long enough for a
busy machine.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from .berth.berth_serve import BerthServe
from .berth.extender import ExtenderCache
from .berth.identities import serve
from .berth.label_priority import none_available
from .berth.recording_proxy import RecordingProxy
from .gangs.members import (
    DOES_NOT_FIT,
    MOST_FILTER_CALLS,
    PLAIN,
    STABLE_SECONDS,
    WAITS_FOR_MEMBERS,
    Gangs,
    placed_in,
    speed,
)
from .gangs.pod_groups import COSCHEDULING_LABEL, coscheduling
from .gangs.scheduler import GangScheduler, Retries
from .gangs.targets import BACK_OFF_SECONDS, GANG_SECONDS, MISSING_NODE_SECONDS, OTHER_PODS_PERCENT, Figures
from .kubernetes.control_plane import ControlPlane
from .kubernetes.kubernetes_api import KubernetesApi

OTHER_PODS = 100


ANNOTATIONS, LABEL = "annotations", "label"
NAMED = (pytest.param(ANNOTATIONS, marks=pytest.mark.core), LABEL)


@pytest.fixture
def retries() -> Retries:
    return Retries.BOUNDED


@pytest.fixture
def naming(request: pytest.FixtureRequest, api: KubernetesApi) -> Iterator[Mapping[str, str]]:
    """Return the options of a member that name the gang `train` of four."""
    if getattr(request, "param", ANNOTATIONS) == ANNOTATIONS:
        yield {}
        return
    with coscheduling(api) as pod_groups:
        pod_groups.create("train", 4)
        yield {"label": COSCHEDULING_LABEL}


@pytest.fixture
def scheduler(control_plane: ControlPlane, retries: Retries, tmp_path: Path) -> GangScheduler:
    return GangScheduler(control_plane, tmp_path, retries)


@pytest.fixture
def berth(naming: Mapping[str, str], control_plane: ControlPlane, tmp_path: Path) -> Iterator[BerthServe]:
    with serve(control_plane, tmp_path, document=PLAIN) as berth:
        yield berth


@pytest.fixture
def scheduled(berth: BerthServe, scheduler: GangScheduler) -> Iterator[ExtenderCache]:
    with scheduler.run(berth.url_prefix):
        yield ExtenderCache(berth)


@pytest.fixture
def calls(berth: BerthServe, scheduler: GangScheduler) -> Iterator[RecordingProxy]:
    with RecordingProxy(berth.url_prefix) as proxy, scheduler.run(proxy.url_prefix):
        yield proxy


@pytest.mark.parametrize(
    ("size", "retries"),
    [
        pytest.param(4, Retries.BOUNDED, marks=pytest.mark.core),
        (4, Retries.UNBOUNDED),
        (32, Retries.BOUNDED),
        (32, Retries.UNBOUNDED),
    ],
)
def test_feasible_gang_is_bound_completely(
    size: int, retries: Retries, scheduled: ExtenderCache, gangs: Gangs, figures: Figures
) -> None:
    scheduled.wait_for_feasible(gangs.create_nodes(size))

    gang = gangs.create("train", size)
    created = time.monotonic()
    nodes = gangs.wait_until_bound(gang)
    seconds = time.monotonic() - created

    assert len(set(nodes.values())) == size
    most = GANG_SECONDS[size] + (BACK_OFF_SECONDS if retries is Retries.BOUNDED else 0)
    figures.at_most(f"gang of {size}, {retries} retries: after its last member", seconds, most)


@pytest.mark.parametrize("retries", [pytest.param(Retries.BOUNDED, marks=pytest.mark.core), Retries.UNBOUNDED])
def test_gang_without_room_is_never_partly_bound_and_runs_after_a_node_joins(
    retries: Retries, scheduled: ExtenderCache, gangs: Gangs, figures: Figures
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
        f"{speed(OTHER_PODS, beside):.0f} while a gang of 4 waits"
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
    seconds = time.monotonic() - added_at
    assert len(set(on.values())) == len(gang)
    figures.at_most(f"gang of 4, {retries} retries: after the missing node was added", seconds, MISSING_NODE_SECONDS)
    # Last, because the assertions above do not depend on the machine's speed.
    figures.at_least(
        f"other pods while a gang waits, {retries} retries: of their speed", 100 * alone / beside, OTHER_PODS_PERCENT
    )


@pytest.mark.parametrize("naming", NAMED, indirect=True)
def test_infeasible_gang_is_not_retried_in_a_hot_loop(
    naming: Mapping[str, str], berth: BerthServe, calls: RecordingProxy, gangs: Gangs
) -> None:
    ExtenderCache(berth).wait_for_feasible(gangs.create_nodes(3))
    gang = gangs.create("train", 4, **naming)
    gangs.wait_until_rejected(gang, DOES_NOT_FIT)

    before = calls.count("filter")
    gangs.assert_none_is_bound(gang)
    found = calls.count("filter") - before
    print(f"gang of 4 that does not fit: {found} calls of filter in {STABLE_SECONDS} s")
    assert found <= MOST_FILTER_CALLS

    gangs.create_node()
    assert len(set(gangs.wait_until_bound(gang).values())) == len(gang)
