"""When the scheduler's queue is woken after a publication, and when it is let alone (facts 41 to 43)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from berth.nodecache.feed.changes import Change, Key, Object
from berth.scheduling_queue.wake_up import BURST, MEMBER_REFILL_SECONDS, REFILL_SECONDS, WakeUp
from tests.fakes.clock import HandDrivenClock
from tests.fakes.cluster import RecordingQueue

REJECTED = {"rejected": True}


def node_change(name: str = "n1") -> Change:
    return Change("nodes", name, {"metadata": {"name": name}})


def pod_change(name: str, *, node: str = "", phase: str = "", rejected: bool = False) -> Change:
    kept: dict[str, object] = {"spec": {"nodeName": node} if node else {}, "status": {"phase": phase} if phase else {}}
    return Change("pods", f"default/{name}", kept | ({"rejected": True} if rejected else {}))


def pod_gone(name: str) -> Change:
    return Change("pods", f"default/{name}", None)


class Scene:
    """A leader that has published what there is, a second ago."""

    def __init__(self, *there_is: Change) -> None:
        self.clock = HandDrivenClock()
        self.queue = RecordingQueue()
        self._objects: dict[Key, Object] = {}
        self._wake_up = WakeUp(
            self.queue,
            lambda kept: bool(kept.get("rejected")),
            self.clock,
            lambda kept: bool(kept.get("member")),
        )
        self.publish(*there_is)
        self.queue.woken.clear()
        self.clock.advance(1.0)

    def publish(self, *changes: Change, after: float = 0.0) -> None:
        self.clock.advance(after)
        for resource, key, kept in changes:
            if kept is None:
                self._objects.pop((resource, key), None)
            else:
                self._objects[resource, key] = kept
        self._wake_up.published(changes, self._objects)


def member_change(name: str, *, rejected: bool = False) -> Change:
    kept: dict[str, object] = {"member": True, "spec": {}, "status": {}}
    return Change("pods", f"default/{name}", kept | ({"rejected": True} if rejected else {}))


WAITING = pod_change("waiting", rejected=True)
RUNNING = pod_change("running", node="n1")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(node_change("n1"), id="a node changed"),
        pytest.param(node_change("n2"), id="a node was added"),
        pytest.param(pod_gone("running"), id="a pod on a node is gone"),
        pytest.param(pod_change("running", node="n1", phase="Succeeded"), id="a pod on a node has ended well"),
        pytest.param(pod_change("running", node="n1", phase="Failed"), id="a pod on a node has failed"),
        pytest.param(member_change("train-3"), id="a member of a gang was created"),
        pytest.param(Change("podgroups.scheduling.k8s.io", "ml/train", {}), id="a PodGroup was created or changed"),
    ],
)
def test_wakes_queue_after_change_that_may_let_pod_fit(change: Change) -> None:
    scene = Scene(node_change(), WAITING, RUNNING)
    scene.publish(change)
    assert scene.queue.woken == [("default/waiting",)]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([], id="a heartbeat"),
        pytest.param([Change("nodes", "n1", None)], id="a node is gone"),
        pytest.param([pod_change("new")], id="a pod was created"),
        pytest.param([pod_change("other", node="n1")], id="a pod was bound"),
        pytest.param([pod_change("running", node="n1", phase="Running")], id="a pod on a node still runs"),
        pytest.param([pod_gone("new")], id="a pod that was on no node is gone"),
        pytest.param([Change("namespaces", "default", {})], id="a namespace changed"),
    ],
)
def test_does_not_wake_queue_after_change_that_makes_no_room(changes: list[Change]) -> None:
    scene = Scene(node_change(), WAITING, RUNNING, pod_change("new"))
    scene.publish(*changes)
    assert scene.queue.woken == []


def test_does_not_wake_queue_without_rejected_pods() -> None:
    scene = Scene(node_change(), pod_change("pending"), RUNNING)
    scene.publish(node_change(), pod_gone("running"))
    assert scene.queue.woken == []


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param(pod_gone("waiting"), id="deleted"),
        pytest.param(pod_change("waiting", node="n1"), id="bound"),
        pytest.param(pod_change("waiting"), id="no longer rejected by Berth"),
    ],
)
def test_does_not_wake_pod_that_is_no_longer_pending(ending: Change) -> None:
    scene = Scene(node_change(), WAITING)
    scene.publish(ending)
    scene.publish(node_change(), after=1.0)
    assert scene.queue.woken == []


def test_wakes_pods_in_order_of_names() -> None:
    names = [f"waiting-{number}" for number in (7, 3, 9, 1, 5, 8, 2, 6, 4)]
    scene = Scene(node_change(), *(pod_change(name, rejected=True) for name in names))
    scene.publish(node_change())
    assert scene.queue.woken == [tuple(f"default/{name}" for name in sorted(names))]


def test_wakes_once_a_second_and_keeps_later_changes() -> None:
    scene = Scene(node_change(), WAITING)
    scene.publish(node_change())
    scene.publish(node_change(), after=0.5)
    assert len(scene.queue.woken) == 1
    scene.publish(after=0.5)
    assert len(scene.queue.woken) == 2
    scene.publish(after=1.0)
    assert len(scene.queue.woken) == 2


@pytest.mark.parametrize(
    ("seconds", "woken"),
    [
        pytest.param(1.5, 1, id="within two seconds of the publication: judged on what was before it"),
        pytest.param(2.5, 0, id="later: judged on what is published"),
    ],
)
def test_wakes_again_when_rejection_becomes_visible_after_publication(seconds: float, woken: int) -> None:
    scene = Scene(node_change())
    scene.publish(node_change())
    scene.publish(WAITING, after=seconds)
    assert len(scene.queue.woken) == woken


def test_wakes_again_once_for_each_publication() -> None:
    scene = Scene(node_change())
    scene.publish(node_change())
    scene.publish(WAITING, after=0.5)
    scene.publish(pod_change("second", rejected=True), after=1.2)
    assert scene.queue.woken == [("default/waiting",)]


def test_new_leader_wakes_once_for_last_publication_of_predecessor() -> None:
    objects: Mapping[Key, Object] = {("pods", "default/waiting"): {"rejected": True}, ("nodes", "n1"): {}}
    queue, clock = RecordingQueue(), HandDrivenClock()
    wake_up = WakeUp(queue, lambda kept: bool(kept.get("rejected")), clock)
    for _ in range(3):
        wake_up.published([], objects)
        clock.advance(2.0)
    assert queue.woken == [("default/waiting",)]


def test_heartbeat_wakes_after_release_without_publication() -> None:
    scene = Scene(pod_change("waits", rejected=True))
    scene._wake_up.capacity_freed()
    assert scene.queue.woken == []
    scene.publish()
    assert scene.queue.woken == [("default/waits",)]
    scene.clock.advance(2.0)
    scene.publish()
    assert len(scene.queue.woken) == 1


def busy_minutes(scene: Scene, minutes: int, *changes: Change) -> int:
    """Change the cluster once a second. Returns the number of wake-ups."""
    before = len(scene.queue.woken)
    for _ in range(minutes * 60):
        scene.publish(node_change(), *changes, after=1.0)
    return len(scene.queue.woken) - before


def test_pod_that_never_fits_wakes_all_others_every_10_seconds_at_most() -> None:
    scene = Scene(node_change(), WAITING)
    assert busy_minutes(scene, 10) <= BURST + 10 * 60 / REFILL_SECONDS


def test_gang_that_does_not_fit_wakes_all_others_every_3_seconds_at_most() -> None:
    scene = Scene(node_change(), WAITING, member_change("train-0", rejected=True))
    assert busy_minutes(scene, 10) <= BURST + 10 * 60 / MEMBER_REFILL_SECONDS


def test_gang_is_woken_within_3_seconds_where_other_pods_come_and_go() -> None:
    """With the back-off of 3 s that is 5 s at most."""
    scene = Scene(node_change(), member_change("train-0", rejected=True))
    busy_minutes(scene, 5)
    for _ in range(20):
        before = len(scene.queue.woken)
        for _ in range(int(MEMBER_REFILL_SECONDS)):
            scene.publish(node_change(), after=1.0)
        assert len(scene.queue.woken) == before + 1


def test_pod_that_is_replaced_under_its_name_keeps_its_limit() -> None:
    scene = Scene(node_change(), WAITING)
    wake_ups = 0
    for _ in range(5):
        wake_ups += busy_minutes(scene, 1)
        scene.publish(pod_gone("waiting"))
        scene.publish(WAITING)
    assert wake_ups <= BURST + 5 * 60 / REFILL_SECONDS


def test_new_pod_is_woken_at_once_beside_one_that_never_fits() -> None:
    scene = Scene(node_change(), WAITING)
    busy_minutes(scene, 5)
    scene.publish(pod_change("new", rejected=True), after=1.0)
    before = len(scene.queue.woken)
    scene.publish(node_change(), after=1.0)
    assert scene.queue.woken[before:] == [("default/new", "default/waiting")]


def test_limited_wake_up_comes_later_and_is_not_lost() -> None:
    scene = Scene(node_change(), WAITING)
    busy_minutes(scene, 5)
    before = len(scene.queue.woken)
    scene.publish(node_change())
    for _ in range(int(REFILL_SECONDS) + 1):
        scene.publish(after=1.0)
    assert len(scene.queue.woken) == before + 1


def test_member_wakes_queue_once() -> None:
    """Its own rejection is a change of the pod, too."""
    scene = Scene(member_change("train-0", rejected=True))
    scene.publish(member_change("train-1"))
    assert len(scene.queue.woken) == 1
    scene.publish(member_change("train-1", rejected=True), after=5.0)
    scene.publish(Change("podgroups.scheduling.k8s.io", "ml/train", None), after=5.0)
    assert len(scene.queue.woken) == 1


def test_member_that_is_created_again_wakes_queue_again() -> None:
    scene = Scene(member_change("train-0", rejected=True), member_change("train-1"))
    scene.publish(pod_gone("train-1"))
    scene.publish(member_change("train-1"), after=5.0)
    assert len(scene.queue.woken) == 1
