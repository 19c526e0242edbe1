"""When the scheduler's queue is woken after a publication, and when it is not (facts 41 to 43)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from berth.nodecache.feed.changes import Change, Key, Object
from berth.nodecache.feed.head import Observation, Position
from berth.nodecache.feed.leader import Publication
from berth.scheduling.framework.plugin import GANG_EVENTS, NODE_EVENTS, ClusterEvent
from berth.scheduling.objects.projection import rejected_by_berth
from berth.upkeep.wake_up import (
    BURST,
    MEMBER_REFILL_SECONDS,
    MIN_INTERVAL_SECONDS,
    REFILL_SECONDS,
    WATCH_SECONDS,
    WaitingPod,
    WakeUp,
)
from tests.fakes.cluster import RecordingQueue
from tests.unit.lease.clocks import EnvironmentClock
from tests.unit.upkeep.published_pods import pod, pod_change

REGISTERED = NODE_EVENTS | {ClusterEvent.ASSIGNED_POD_DELETE}
"""The events that the plugins of the waiting pods register in these tests."""


def node_change(name: str = "n1") -> Change:
    return Change("nodes", name, {"metadata": {"name": name}})


def waiting(obj: Object) -> WaitingPod | None:
    """Return the events that a rejected pod waits for. Members of a gang also wait for other members."""
    if not rejected_by_berth(obj):
        return None
    metadata = obj["metadata"]
    is_member = isinstance(metadata, Mapping) and bool(metadata["annotations"])
    return WaitingPod(GANG_EVENTS if is_member else REGISTERED, is_member)


class Scene:
    """A leader that published these objects when it began and last woke the waiting pods ten seconds ago."""

    def __init__(self, *there_is: Change, readable_after: float = 0.0) -> None:
        self.clock = EnvironmentClock()
        self.queue = RecordingQueue()
        self.warnings: list[str] = []
        self.objects: dict[Key, Object] = {}
        self.wake_up = WakeUp(self.queue, waiting, self.clock, self.warnings.append, readable_after)
        self.publish(*there_is)
        self.clock.advance(10.0)
        self.publish()
        self.queue.woken.clear()
        self.clock.advance(10.0)

    def publish(
        self,
        *changes: Change,
        after: float = 0.0,
        pods_until: float = 0.0,
        complete: bool = True,
        listed_at: float = 0.0,
    ) -> None:
        """Publish after this many seconds. pods_until: the age of the published pods in seconds. listed_at: the time
        of the last list of pods."""
        self.clock.advance(after)
        for resource, key, obj in changes:
            if obj is None:
                self.objects.pop((resource, key), None)
            else:
                self.objects[resource, key] = obj
        at = self.clock.wall() - pods_until
        observation = Observation("cluster", {"pods": Position("1", at, listed_at)})
        self.wake_up.published(Publication(1, changes, dict(self.objects), complete, observation, {}))
        self.wake_up.step()


WAITING = pod_change("waiting", pod(rejected=True))
MEMBER = pod_change("train-0", pod(gang=True, rejected=True))
RUNNING = pod_change("running", pod(node="n1"))


@pytest.mark.parametrize(
    ("change", "are_woken"),
    [
        pytest.param([node_change("n2")], True, id="a node was added"),
        pytest.param([pod_change("running", None)], True, id="a pod on a node was removed"),
        pytest.param([], False, id="a heartbeat"),
        pytest.param([Change("nodes", "n1", None)], False, id="a node was removed"),
        pytest.param([pod_change("train-0", pod(gang=True))], False, id="a member of a gang was created"),
    ],
)
def test_wakes_pod_only_after_events_that_its_plugins_registered(change: list[Change], are_woken: bool) -> None:
    scene = Scene(node_change(), WAITING, RUNNING)
    scene.publish(*change)
    assert scene.queue.woken == ([("default/waiting",)] if are_woken else [])


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(pod_change("train-1", pod(gang=True)), id="a member is created"),
        pytest.param(Change("podgroups.scheduling.k8s.io", "ml/train", {}), id="a PodGroup is created or changed"),
    ],
)
def test_wakes_gang_member_after_changes_that_may_complete_its_gang(change: Change) -> None:
    scene = Scene(node_change(), WAITING, MEMBER)
    scene.publish(change)
    assert scene.queue.woken == [("default/train-0",)]


def test_does_not_wake_members_of_a_gang_that_lacks_members() -> None:
    scene = Scene(node_change(), pod_change("train-0", pod(size="2", rejected=True)))
    scene.publish(node_change("n2"))
    assert scene.queue.woken == []
    scene.publish(pod_change("train-1", pod(size="2")), after=1.0)
    assert scene.queue.woken == [("default/train-0",)]


def test_wakes_the_queue_only_if_a_pod_was_rejected() -> None:
    scene = Scene(node_change(), pod_change("pending", pod()), RUNNING)
    scene.publish(node_change(), pod_change("running", None))
    assert scene.queue.woken == []


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param(None, id="deleted"),
        pytest.param(pod(node="n1"), id="bound"),
        pytest.param(pod(), id="no longer rejected by Berth"),
    ],
)
def test_does_not_wake_a_pod_that_is_no_longer_pending(ending: dict[str, object] | None) -> None:
    scene = Scene(node_change(), WAITING)
    scene.publish(pod_change("waiting", ending))
    scene.publish(node_change(), after=1.0)
    assert scene.queue.woken == []


def test_wakes_pods_in_name_order() -> None:
    names = [f"waiting-{number}" for number in (7, 3, 9, 1, 5, 8, 2, 6, 4)]
    scene = Scene(node_change(), *(pod_change(name, pod(rejected=True)) for name in names))
    scene.publish(node_change())
    assert scene.queue.woken == [tuple(f"default/{name}" for name in sorted(names))]


def test_wakes_at_most_once_a_second_and_keeps_later_changes() -> None:
    scene = Scene(node_change(), WAITING)
    scene.publish(node_change())
    scene.publish(node_change(), after=0.3)
    assert len(scene.queue.woken) == 1
    assert scene.wake_up.step() == pytest.approx(0.7)
    scene.clock.advance(0.7)
    scene.wake_up.step()
    assert len(scene.queue.woken) == 2
    scene.publish(after=1.0)
    assert len(scene.queue.woken) == 2


def test_next_step_is_due_after_a_second_if_no_wake_up_is_pending() -> None:
    assert Scene(node_change(), WAITING).wake_up.step() == MIN_INTERVAL_SECONDS


class TestLateRejection:
    """The pod may have been evaluated before the change: the watcher learns of its rejection later."""

    @pytest.mark.parametrize("seconds", [0.5, 5.0, 60.0])
    def test_pod_that_existed_before_the_change_is_woken_once(self, seconds: float) -> None:
        scene = Scene(node_change(), pod_change("waiting", pod()))
        scene.publish(node_change())
        scene.publish(WAITING, after=seconds)
        scene.publish(after=1.0)
        assert scene.queue.woken == [("default/waiting",)]

    def test_pod_that_changed_in_the_meantime_is_woken(self) -> None:
        scene = Scene(node_change(), pod_change("waiting", pod()))
        scene.publish(node_change())
        scene.publish(pod_change("waiting", pod(labels={"a": "b"})), after=20.0)
        scene.publish(pod_change("waiting", pod(labels={"a": "b"}, rejected=True)), after=20.0)
        assert scene.queue.woken == [("default/waiting",)]

    def test_new_pod_is_woken_if_a_change_was_published_just_before(self) -> None:
        scene = Scene(node_change())
        scene.publish(node_change())
        scene.publish(WAITING, after=0.5)
        assert scene.queue.woken == [("default/waiting",)]

    def test_pod_is_woken_if_the_watch_of_pods_lags_behind(self) -> None:
        """The pod existed when the node changed, but was published later."""
        scene = Scene(node_change())
        scene.publish(pods_until=0.0)
        scene.publish(node_change(), after=30.0, pods_until=30.0)
        scene.publish(WAITING, after=30.0)
        assert scene.queue.woken == [("default/waiting",)]

    def test_pod_previously_rejected_by_others_is_woken(self) -> None:
        scene = Scene(node_change(), WAITING)
        scene.publish(pod_change("waiting", pod()))
        scene.publish(node_change(), after=60.0)
        scene.publish(WAITING, after=60.0)
        assert scene.queue.woken == [("default/waiting",)]

    @pytest.mark.parametrize(
        ("change", "seconds"),
        [
            pytest.param(node_change(), WATCH_SECONDS + 1.0, id="the change was published before the pod was created"),
            pytest.param(Change("namespaces", "default", {}), 0.5, id="the change does not concern the pod"),
        ],
    )
    def test_pod_rejected_on_the_published_state_is_not_woken(self, change: Change, seconds: float) -> None:
        scene = Scene(node_change())
        scene.publish(change)
        scene.publish(after=seconds)
        scene.publish(WAITING, after=0.5)
        assert scene.queue.woken == []


@pytest.mark.parametrize(
    ("seconds", "woken"),
    [
        pytest.param(1.9, 1, id="before every verb has read it"),
        pytest.param(2.0, 2, id="now every verb has read it"),
        pytest.param(9.0, 2, id="long after every verb has read it"),
    ],
)
def test_wakes_again_once_every_verb_has_read_the_change(seconds: float, woken: int) -> None:
    scene = Scene(node_change(), WAITING, readable_after=2.0)
    scene.publish(node_change())
    scene.publish(after=seconds)
    scene.publish(after=9.0 - seconds)
    assert len(scene.queue.woken) == 2
    del scene.queue.woken[:]
    scene.publish(node_change(), after=9.0)
    scene.publish(after=seconds)
    assert len(scene.queue.woken) == woken


def test_failed_wake_up_is_repeated() -> None:
    scene = Scene(node_change(), WAITING)
    scene.queue.outage = "connection refused"
    scene.publish(node_change())
    scene.queue.outage = ""
    scene.publish(after=1.0)
    assert scene.warnings == ["waiting pods were not woken: connection refused"]
    assert scene.queue.woken == [("default/waiting",)]
    scene.publish(after=1.0)
    assert len(scene.queue.woken) == 1


def test_new_leader_wakes_once_for_the_predecessors_last_publication() -> None:
    scene = Scene()
    scene.wake_up = WakeUp(scene.queue, waiting, scene.clock, scene.warnings.append)
    scene.objects["pods", "default/waiting"] = pod(rejected=True)
    for _ in range(3):
        scene.publish(after=2.0)
    assert scene.queue.woken == [("default/waiting",)]


def test_new_leader_wakes_pods_for_changes_that_it_publishes_later() -> None:
    """`objects` contains these changes already in the first publication."""
    scene = Scene()
    scene.wake_up = WakeUp(scene.queue, waiting, scene.clock, scene.warnings.append)
    scene.objects["pods", "default/waiting"] = pod(rejected=True)
    scene.publish(complete=False)
    scene.publish(after=2.0)
    scene.publish(after=2.0)
    assert scene.queue.woken == [("default/waiting",)] * 2


def test_wakes_after_pods_were_listed_again() -> None:
    scene = Scene(WAITING)
    scene.publish(listed_at=1.0)
    scene.publish(after=2.0, listed_at=1.0)
    assert scene.queue.woken == [("default/waiting",)]


def test_released_reservation_wakes_every_waiting_pod_without_a_publication() -> None:
    scene = Scene(WAITING)
    scene.wake_up.capacity_freed()
    scene.wake_up.step()
    assert scene.queue.woken == [("default/waiting",)]
    scene.publish(after=2.0)
    assert len(scene.queue.woken) == 1


def busy_minutes(scene: Scene, minutes: int, *changes: Change) -> int:
    """Change the cluster once a second. Return the number of wake-ups."""
    before = len(scene.queue.woken)
    for _ in range(minutes * 60):
        scene.publish(node_change(), *changes, after=1.0)
    return len(scene.queue.woken) - before


def test_unschedulable_pod_is_woken_at_most_every_10_seconds() -> None:
    scene = Scene(node_change(), WAITING)
    assert BURST + 58 <= busy_minutes(scene, 10) <= BURST + 10 * 60 / 10


def test_gang_that_does_not_fit_is_woken_at_most_every_3_seconds() -> None:
    scene = Scene(node_change(), WAITING, MEMBER)
    assert BURST + 198 <= busy_minutes(scene, 10) <= BURST + 10 * 60 / 3


def test_gang_is_woken_within_3_seconds_while_other_pods_change() -> None:
    """With the publication and the next retry, the scheduler tries a gang that fits within 5 s."""
    scene = Scene(node_change(), MEMBER)
    busy_minutes(scene, 5)
    for _ in range(20):
        before = len(scene.queue.woken)
        for _ in range(int(MEMBER_REFILL_SECONDS)):
            scene.publish(node_change(), after=1.0)
        assert len(scene.queue.woken) == before + 1


def test_recreated_pod_keeps_the_limit_of_its_name() -> None:
    scene = Scene(node_change(), WAITING)
    wake_ups = 0
    for _ in range(5):
        wake_ups += busy_minutes(scene, 1)
        scene.publish(pod_change("waiting", None))
        scene.publish(WAITING)
    assert wake_ups <= BURST + 5 * 60 / REFILL_SECONDS


def test_new_pod_is_woken_at_once_although_another_pod_stays_unschedulable() -> None:
    scene = Scene(node_change(), WAITING)
    busy_minutes(scene, 5)
    scene.publish(pod_change("new", pod(rejected=True)), after=1.0)
    before = len(scene.queue.woken)
    scene.publish(node_change(), after=1.0)
    assert scene.queue.woken[before:] == [("default/new", "default/waiting")]


def test_wake_ups_of_other_pods_do_not_count_against_the_limit_of_a_pod() -> None:
    scene = Scene(node_change(), WAITING, MEMBER)
    for number in range(2 * BURST):
        scene.publish(pod_change(f"train-{number + 1}", pod(gang=True)), after=MEMBER_REFILL_SECONDS)
    before = len(scene.queue.woken)
    for _ in range(BURST):
        scene.publish(pod_change("unseen", None), after=1.0)
    assert len(scene.queue.woken) == before + BURST


def test_rate_limited_wake_up_is_delayed_and_not_lost() -> None:
    scene = Scene(node_change(), WAITING)
    busy_minutes(scene, 5)
    before = len(scene.queue.woken)
    scene.publish(node_change())
    for _ in range(int(REFILL_SECONDS) + 1):
        scene.publish(after=1.0)
    assert len(scene.queue.woken) == before + 1
