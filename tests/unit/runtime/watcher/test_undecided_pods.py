"""How long pods wait without a decision, according to a leader's publications."""

from __future__ import annotations

from typing import Any

import pytest

from berth.nodecache.feed.changes import Change, Key, Object
from berth.nodecache.feed.head import Observation
from berth.nodecache.feed.leader import Publication
from berth.runtime.telemetry.metrics import Metrics
from berth.runtime.watcher.scheduler_access import SchedulerAccess
from berth.scheduling.objects.projection import UNDECIDED, compact_pod
from tests.builders.pods import pod_object

CREATED = "2026-03-01T12:00:00Z"
CREATED_AT = 1772366400.0


def pod(name: str, *, failed: bool = False, scheduler: str = "berth", **fields: object) -> Change:
    """Return the change of a pod on which no verb has decided. fields: fields that replace the mark of such a pod."""
    obj: dict[str, Any] = pod_object(name)
    obj["spec"]["schedulerName"] = scheduler
    decided = fields or {UNDECIDED: {"createdAt": CREATED, "callFailed": failed, "scheduler": scheduler}}
    return Change("pods", f"ml/{name}", compact_pod(obj) | decided)


def placed(name: str) -> Change:
    return Change("pods", f"ml/{name}", compact_pod(pod_object(name, node_name="n1")))


def gone(name: str) -> Change:
    return Change("pods", f"ml/{name}", None)


class Scene:
    """A leader one minute after the pods were created."""

    def __init__(self, *there_are: Change) -> None:
        self.wall = CREATED_AT + 60.0
        self.access = SchedulerAccess({"berth", "berth-2"}, None, Metrics(), lambda: self.wall)
        self.objects: dict[Key, Object] = {}
        self.publish(*there_are)

    def publish(self, *changes: Change, after: float = 0.0) -> None:
        self.wall += after
        for resource, key, obj in changes:
            self.objects.pop((resource, key), None)
            if obj is not None:
                self.objects[resource, key] = obj
        self.access.published(Publication(1, changes, self.objects, True, Observation("cluster", {}), {}))

    def seconds(self) -> float:
        """Return for how many seconds the oldest pod has waited; 0 if no pod waits."""
        return self.access.undecided_seconds()


@pytest.mark.parametrize(
    ("change", "seconds"),
    [
        pytest.param(placed("a"), 0, id="placed"),
        pytest.param(pod("a", rejectedByBerth=True), 0, id="rejected by Berth, for ever"),
        pytest.param(pod("a", labels={}), 0, id="rejected by others"),
        pytest.param(gone("a"), 0, id="deleted"),
        pytest.param(pod("a", failed=True), 10_060, id="call failed"),
        pytest.param(pod("a", scheduler="other"), 0, id="of another scheduler"),
    ],
)
def test_counts_pods_by_their_last_state(change: Change, seconds: float) -> None:
    scene = Scene(pod("a"))
    scene.publish(change)
    scene.wall += 10_000
    assert scene.seconds() == seconds


def test_counts_pods_that_waited_before_the_leader_began() -> None:
    """A new leader begins every 15 minutes; the alarm must not end because of it."""
    assert Scene(pod("a", failed=True), placed("b")).seconds() == 60


@pytest.mark.parametrize(
    ("waiting", "before", "after", "seconds"),
    [
        pytest.param(pod("a"), pod("b"), placed("b"), 0, id="long queue: another pod is placed"),
        pytest.param(pod("a"), pod("b"), pod("b", rejectedByBerth=True), 0, id="another is rejected by Berth"),
        pytest.param(pod("a"), pod("b"), pod("b", labels={}), 0, id="another is rejected by others"),
        pytest.param(pod("a"), pod("b"), pod("b", failed=True), 100, id="the call for another fails"),
        pytest.param(pod("a"), pod("b"), gone("b"), 100, id="another is deleted"),
        pytest.param(pod("a"), pod("b", scheduler="berth-2"), placed("b"), 100, id="progress of another scheduler"),
        pytest.param(pod("a", failed=True), pod("b", failed=True), placed("b"), 0, id="calls work for another"),
        pytest.param(pod("a", failed=True), pod("b", failed=True), pod("b", labels={}), 100, id="another's fails"),
        pytest.param(pod("a", failed=True), pod("b"), pod("b", failed=True), 100, id="no call works"),
    ],
)
def test_age_of_waiting_pods_restarts_when_the_scheduler_makes_progress(
    waiting: Change, before: Change, after: Change, seconds: float
) -> None:
    scene = Scene(waiting, before)
    scene.publish(after, after=40)
    assert scene.seconds() == seconds


def test_deletion_of_a_pod_does_not_count_as_progress_of_the_scheduler() -> None:
    scene = Scene(pod("a"), pod("b"))
    deleted: Any = pod_object("b")
    deleted["metadata"]["deletionTimestamp"] = CREATED
    scene.publish(Change("pods", "ml/b", compact_pod(deleted)))
    assert scene.seconds() == 60
