"""Wakes the scheduling queue after a publication, because the scheduler's own wake-up comes too early (facts 41 to 43).

A pod that an extender rejected waits until an event of the cluster wakes it. The event that made it schedulable wakes
it at once, before the cache has that event. The pod is rejected again, and then waits for minutes. So the watcher wakes
the queue after it has published.

Guarantee: after a change that can make a waiting pod fit is published, the pod is tried again within a second if its
burst is not spent, otherwise at its next refill, unless the pod is bound or deleted first.

Rules:
- A pod is due after a change that a plugin of its profile registered (`events_to_register`), or a released reservation;
  a gang's member also after a change that can make its gang complete, but not while members are missing.
- A newly rejected pod is due if it may have been evaluated on the state before such a change. This is assumed if the
  change was published after the last time at which the cache did not contain the pod yet, or at which Berth did not
  reject it.
- A new leader wakes all waiting pods: its predecessor may have published without a wake-up.
- The leader wakes the queue at most once a second. A pod that is rejected again and again causes a wake-up every 10
  seconds at most, a member of a gang every 3 seconds (see BURST).
- A wake-up is repeated if it fails, or if it comes before every verb can have read the last publication.
- The wake-up does not change a field that Berth keeps, so it does not cause further changes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

from berth.lease.clock import Clock
from berth.nodecache.feed.changes import Change, Object
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.nodecache.feed.leader import Publication
from berth.scheduling.fields.reading import part
from berth.scheduling.framework.plugin import ALL_EVENTS, ClusterEvent, ClusterEvents
from berth.scheduling.objects import UnreadableObject
from berth.scheduling.objects.pod import FAILED, SUCCEEDED
from berth.scheduling.objects.pod_reading import PodReader
from berth.scheduling.objects.projection import SHARED, WAITS_FOR_POOL, is_member, rejected_by_berth
from berth.scheduling.policy import Policy
from berth.upkeep.missing_members import MissingMembers
from berth.upkeep.pod_events import TokenBuckets


class SchedulingQueue(ABC):
    """The scheduler's queue, where rejected pods wait for an event (fact 41)."""

    @abstractmethod
    def wake(self, waiting: Sequence[str]) -> None:
        """Make the scheduler retry the pods that an extender rejected (fact 43). `waiting`: `namespace/name`. Raises
        ClusterUnavailable."""


class NoSchedulingQueue(SchedulingQueue):
    """Does not wake pods: for a dump, or a configuration with `wakeUp: none`."""

    def wake(self, waiting: Sequence[str]) -> None:
        return None


MIN_INTERVAL_SECONDS = 1.0

WATCH_SECONDS = 1.0
"""Seconds by which an event of one resource may arrive later than an event of another resource."""

BURST = 10
"""The number of wake-ups that a pod can cause without a pause if it was not woken for a long time."""

REFILL_SECONDS = 10.0
"""Seconds between wake-ups for a pod whose burst is spent: kube-scheduler's default podMaxBackoffSeconds."""

MEMBER_REFILL_SECONDS = 3.0
"""The same interval for a gang's member: the podMaxBackoffSeconds that gangs need. A gang that fits again is tried
within 5 s, even if other pods come and go all the time: 0.5 s for the publication, this interval, and 1 s until the
scheduler retries pods whose back-off is over."""

_PODS = "pods"


@dataclass(frozen=True, slots=True)
class WaitingPod:
    """A pod that Berth rejected. events: the events that can make it fit. is_member: whether it is in a gang."""

    events: ClusterEvents
    is_member: bool = False


def waiting_pod(policy: Policy, obj: Object) -> WaitingPod | None:
    """Return the waiting pod for a projected pod, or None if Berth did not reject it."""
    if not rejected_by_berth(obj):
        return None
    pod = PodReader().read(obj)
    if isinstance(pod, UnreadableObject):
        return WaitingPod(ALL_EVENTS)
    return WaitingPod(policy.events_to_register(pod), policy.plans(pod))


class WakeUp:
    """Wakes waiting pods in one leadership. The publishing thread calls `published`, another one calls `step`."""

    def __init__(
        self,
        queue: SchedulingQueue,
        waiting_pod: Callable[[Object], WaitingPod | None],
        clock: Clock,
        warn: Callable[[str], None],
        readable_after: float = 0.0,
    ) -> None:
        """Prepare the wake-ups. waiting_pod: called with a projected pod without a node. warn: called with the cause of
        a failed wake-up. readable_after: seconds after a publication in which a verb may still decide on the state
        before it."""
        self._queue = queue
        self._waiting_pod = waiting_pod
        self._clock = clock
        self._warn = warn
        self._readable_after = readable_after
        self._lock = Lock()
        self._is_initialized = False
        self._pods: dict[str, Object] = {}
        self._waiting: dict[str, WaitingPod] = {}
        self._missing = MissingMembers()
        self._covered_until = self._listed_at = -math.inf
        self._unseen_until: dict[str, float] = {}
        """By unscheduled pod: a time before it was created, or before Berth last stopped rejecting it."""
        self._published_at: dict[ClusterEvent, float] = {}
        self._due: set[str] = set()
        self._is_readable_at = -math.inf
        self._woken_at = -math.inf
        self._is_capacity_freed = False
        self._wake_ups = TokenBuckets(BURST)
        """The limit is by pod: each wake-up makes the scheduler retry all rejected pods. Without a limit, a pod that
        never fits would wake all others with every change of the cluster. A pod that leaves keeps its bucket until it
        is full."""

    def capacity_freed(self) -> None:
        """Record that a reservation was released, so a rejected pod may fit. Any thread may call it."""
        self._is_capacity_freed = True

    def published(self, publication: Publication) -> None:
        """Record which pods wait and which changes may make them fit. Call this after every publication, heartbeats
        included."""
        pods = publication.observation.positions.get(_PODS)
        changes: Iterable[Change] = publication.changes
        events = set[ClusterEvent]()
        with self._lock:
            if not self._is_initialized:
                # Until everything is published, `objects` contains changes that later publications report.
                self._is_initialized = publication.is_complete
                for known in (self._pods, self._waiting, self._unseen_until):
                    known.clear()
                self._missing = MissingMembers()
                changes, events = (Change(*key, obj) for key, obj in publication.objects.items()), set(ClusterEvent)
            elif pods is not None and pods.listed_at != self._listed_at:
                # The watches did not show objects that were created and deleted before the list.
                events = set(ClusterEvent)
            self._learn(changes, events)
            if pods is not None:
                self._covered_until, self._listed_at = pods.observed_at, pods.listed_at

    def step(self) -> float:
        """Wake the queue if a pod is due. Return the seconds until the next call."""
        with self._lock:
            now = self._clock.monotonic()
            if self._is_capacity_freed:
                self._is_capacity_freed = False
                self._due |= self._waiting.keys()
            due = {key: self._waiting[key] for key in sorted(self._due & self._waiting.keys())}
            due = {key: pod for key, pod in due.items() if not (pod.is_member and self._missing.lacks(key))}
            left = self._woken_at + max(MIN_INTERVAL_SECONDS, self._readable_after) - now
            if left > 0 or not any(self._wake_ups.tokens(key, now) >= 1 for key in due):
                return left if 0 < left < MIN_INTERVAL_SECONDS else MIN_INTERVAL_SECONDS
            self._woken_at = now
            self._wake_ups.forget_full(now)
            for key, pod in due.items():
                self._wake_ups.spend(key, now, MEMBER_REFILL_SECONDS if pod.is_member else REFILL_SECONDS)
            if now >= self._is_readable_at:
                self._due.clear()
        try:
            self._queue.wake(list(due))
        except ClusterUnavailable as error:
            self._warn(f"waiting pods were not woken: {error}")
            with self._lock:
                self._due |= due.keys()
        return MIN_INTERVAL_SECONDS

    def _learn(self, changes: Iterable[Change], events: set[ClusterEvent]) -> None:
        """Record the changes. events: gets the events of these changes; it may already contain others."""
        rejected = list[str]()
        for resource, key, obj in changes:
            if resource != _PODS:
                events.add(object_event(resource, obj))
                continue
            events.update(pod_events(self._pods.pop(key, None), obj))
            if obj is not None:
                self._pods[key] = obj
            self._missing.put(key, obj)
            if self._is_newly_rejected(key, None if obj is None or not is_unscheduled(obj) else obj):
                rejected.append(key)
        self._published_at |= dict.fromkeys(events, self._clock.wall())
        due = {key for key, pod in self._waiting.items() if not events.isdisjoint(pod.events)}
        due.update(key for key in rejected if self._may_be_late(key))
        if due:
            self._due |= due
            self._is_readable_at = self._clock.monotonic() + self._readable_after

    def _is_newly_rejected(self, key: str, obj: Object | None) -> bool:
        """Return whether Berth newly rejected the pod. obj: None if the pod no longer waits for a node."""
        pod = None if obj is None else self._waiting_pod(obj)
        before = self._waiting.pop(key, None)
        if pod is not None:
            self._waiting[key] = pod
        if obj is None:
            self._unseen_until.pop(key, None)
        elif pod is None and before is not None:
            self._unseen_until[key] = self._covered_until
        else:
            self._unseen_until.setdefault(key, self._covered_until)
        return pod is not None and before is None

    def _may_be_late(self, key: str) -> bool:
        """Return whether the pod may have been evaluated on the state before a change that can make it fit."""
        since = self._unseen_until[key] - WATCH_SECONDS - self._readable_after
        return any(self._published_at.get(event, -math.inf) > since for event in self._waiting[key].events)


def object_event(resource: str, now: Object | None) -> ClusterEvent:
    """Return the event of an object other than a pod. now: None if it was removed."""
    if resource == "nodes":
        return ClusterEvent.NODE_DELETE if now is None else ClusterEvent.NODE_UPDATE
    if resource.startswith("podgroups."):
        return ClusterEvent.POD_GROUP
    return ClusterEvent.NAMESPACE if resource == "namespaces" else ClusterEvent.OTHERS


def pod_events(before: Object | None, now: Object | None) -> Iterator[ClusterEvent]:
    """Yield the events of a projected pod. before: the pod as it was published before; None if it was not. Between two
    publications a pod may be bound and removed. So every pod that was removed may have been on a node."""
    old, new = (None if pod is None or _has_ended(pod) else pod for pod in (before, now))
    if _ends_wait(old, new):
        yield ClusterEvent.POOL_WAIT_ENDED
    stays = old is not None and new is not None and _place(old) in ("", _place(new))
    if not stays and (old is not None or (before is None and new is None)):
        yield ClusterEvent.ASSIGNED_POD_DELETE
    if stays and _content(old) == _content(new):
        return
    if new is not None and not is_unscheduled(new):
        if not stays or old is None or is_unscheduled(old):
            yield ClusterEvent.ASSIGNED_POD_ADD
        if stays and old is not None and _place(old):  # as a nominated pod it reserved room, perhaps more than now
            yield ClusterEvent.ASSIGNED_POD_UPDATE
    unscheduled = [pod for pod in (old, new) if pod is not None and is_unscheduled(pod)]
    if unscheduled:
        yield ClusterEvent.GANG_MEMBER if any(map(is_member, unscheduled)) else ClusterEvent.UNSCHEDULED_POD


def _ends_wait(before: Object | None, now: Object | None) -> bool:
    """Return whether a pod stopped waiting for a floating pool without getting its share of it."""
    waited = before is not None and before.get(WAITS_FOR_POOL) is True
    return waited and (now is None or (is_unscheduled(now) and now.get(WAITS_FOR_POOL) is not True))


def is_unscheduled(pod: Object) -> bool:
    """Return whether the pod is not on a node, but may still be bound."""
    return not part(pod, "spec").get("nodeName") and not _has_ended(pod)


def _has_ended(pod: Object) -> bool:
    return part(pod, "status").get("phase") in (SUCCEEDED, FAILED)


def _place(pod: Object) -> object:
    """Return the node on which the pod takes room: its node or its nominated node."""
    return part(pod, "spec").get("nodeName") or part(pod, "status").get("nominatedNodeName") or ""


def _content(pod: Object | None) -> list[object]:
    return [] if pod is None else [pod.get(name) for name in ("metadata", "spec", SHARED)]
