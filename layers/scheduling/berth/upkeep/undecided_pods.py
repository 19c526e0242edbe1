"""Finds pods that wait although no verb has decided about them: their scheduler is down, or cannot call Berth.

The pod's condition PodScheduled shows it (UNDECIDED). Either no scheduler has tried the pod, or the scheduler did not
get a response from the extender: because of an expired certificate, DNS, the network or the API.

Pods that Berth or the scheduler rejected do not count, however long they wait. Gated and nominated pods and pods that
are being deleted do not count either.

A long queue is not an outage. So a pod that was not tried waits only since the last time that its scheduler tried
another pod, and a pod whose call failed only since the last decision of a verb about another pod of its scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from threading import Lock

from berth.nodecache.feed.changes import Change, Object
from berth.nodecache.feed.leader import Publication
from berth.scheduling.fields.reading import read_time
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.objects.projection import UNDECIDED, rejected_by_berth
from berth.upkeep.wake_up import is_unscheduled, pod_field


@dataclass(frozen=True, slots=True)
class UndecidedPod:
    """A pod that no verb has decided about. since: its creation, or the later progress of its scheduler's other pods,
    in seconds since the epoch. call_failed: the scheduler tried it, and did not get a response."""

    name: str
    scheduler: str
    since: float
    call_failed: bool


class UndecidedPods:
    """Track the pods in one leadership. One thread calls `published`, another one `oldest`."""

    def __init__(self, schedulers: Container[str], wall: Callable[[], float]) -> None:
        """schedulers: the schedulerNames that Berth serves."""
        self._schedulers = schedulers
        self._wall = wall
        self._lock = Lock()
        self._is_initialized = False
        self._pods: dict[str, UndecidedPod] = {}
        self._progress: dict[tuple[str, bool], float] = {}
        """When a scheduler last tried a pod (False), and when a verb last decided about a pod of it (True)."""

    def published(self, publication: Publication) -> None:
        """Learn from the publication. Call this after every publication."""
        changes: Iterable[Change] = publication.changes
        with self._lock:
            if not self._is_initialized:
                # Until everything is published, `objects` has changes that are still to come.
                self._is_initialized = publication.is_complete
                self._pods.clear()
                changes = [Change(*key, obj) for key, obj in publication.objects.items()]
            for resource, key, obj in changes:
                if resource == "pods":
                    self._learn(key, obj)

    def oldest(self) -> UndecidedPod | None:
        """Return the pod that has waited the longest, or None if no pod waits."""
        with self._lock:
            pods, progress = list(self._pods.values()), dict(self._progress)
        waiting = (
            replace(each, since=max(each.since, progress.get((each.scheduler, each.call_failed), 0.0))) for each in pods
        )
        return min(waiting, key=lambda each: each.since, default=None)

    def _learn(self, key: str, obj: Object | None) -> None:
        before = self._pods.pop(key, None)
        if obj is None:
            return
        pod = self._undecided(key, obj)
        if pod is not None:
            self._pods[key] = pod
        if before is None:
            return
        is_decided = bool(pod_field(obj, "spec", "nodeName")) or rejected_by_berth(obj)
        if pod is None:  # rejected by others, unless it is being deleted or has ended
            is_tried = is_unscheduled(obj) and not pod_field(obj, "metadata", "deletionTimestamp")
        else:
            is_tried = pod.call_failed and not before.call_failed
        if is_decided or is_tried:
            self._progress[before.scheduler, False] = self._wall()
        if is_decided:
            self._progress[before.scheduler, True] = self._wall()

    def _undecided(self, key: str, obj: Object) -> UndecidedPod | None:
        created_at = read_time(pod_field(obj, UNDECIDED, "createdAt"))
        pod = None if created_at is None else PodReader().read(obj)
        if created_at is None or not isinstance(pod, Pod) or pod.scheduler_name not in self._schedulers:
            return None
        return UndecidedPod(key, pod.scheduler_name, created_at, pod_field(obj, UNDECIDED, "callFailed") is True)
