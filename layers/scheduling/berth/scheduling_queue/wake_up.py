"""Wakes the scheduling queue after a publication, because the scheduler's own wake-up comes too early (facts 41 to 43).

A pod that an extender rejected waits until an event of the cluster wakes it. The event that made it schedulable wakes
it at once, before the cache has that event. The pod is rejected again, and then waits for minutes. So the watcher wakes
the queue after it has published.

Rules:
- It wakes only while a pending pod has a reason of Berth's, and at most once a second. A pod that is rejected again and
  again causes a wake-up every 10 seconds at most, a member of a gang every 3 seconds (see WakeUpBudget). One that is
  due comes later, it is not lost.
- It wakes once more if such a rejection appears within two seconds after a publication: the pod was judged on the state
  before it.
- A new member of a gang, and a new or changed PodGroup, wake too: the members that came before were rejected because
  others were missing.
- Capacity that no publication shows (a released reservation) wakes with the next publication or heartbeat.
- The wake-up changes no field that Berth keeps, so it causes no further change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping

from berth.nodecache.feed.changes import Change, Key, Object
from berth.scheduling_queue.queue import SchedulingQueue

LEAST_INTERVAL_SECONDS = 1.0
LATE_REJECTION_SECONDS = 2.0

BURST = 10
"""Wake-ups for a pod that was not woken for long."""

REFILL_SECONDS = 10.0
"""Between two wake-ups for a pod whose burst is spent: kube-scheduler's own podMaxBackoffSeconds by default."""

MEMBER_REFILL_SECONDS = 3.0
"""The same for a member of a gang: podMaxBackoffSeconds as gangs need it. So a gang that fits again is tried within
5 s, also where other pods come and go all the time: publication 0.5 s, this, and the second until the scheduler looks
for pods whose back-off is over."""

_NODES, _PODS, _POD_GROUPS = "nodes", "pods", "podgroups."
_FINISHED = ("Succeeded", "Failed")


def no_member(_: Object) -> bool:
    """Where gangs are not enabled."""
    return False


class WakeUp:
    """Called with every publication, heartbeats included, by the thread that publishes."""

    def __init__(
        self,
        queue: SchedulingQueue,
        rejected: Callable[[Object], bool],
        monotonic: Callable[[], float],
        is_member: Callable[[Object], bool] | None = None,
    ) -> None:
        """`rejected`: whether Berth rejected a projected pending pod. `is_member`: whether a projected pod names a
        gang."""
        self._queue = queue
        self._rejected, self._is_member = rejected, is_member or no_member
        self._members: set[str] = set()
        self._monotonic = monotonic
        self._is_initialized = False
        self._waiting: set[str] = set()
        self._bound: set[str] = set()
        self._changed_at = -math.inf
        self._woken_at = -math.inf
        self._due = False
        self._is_capacity_freed = False
        self._budget = WakeUpBudget(self._members)

    def capacity_freed(self) -> None:
        """A reservation was released, so a rejected pod may fit. Any thread may call it."""
        self._is_capacity_freed = True

    def published(self, changes: Iterable[Change], objects: Mapping[Key, Object]) -> None:
        """These changes are published. `objects`: all published objects."""
        now = self._monotonic()
        if not self._is_initialized:
            # A predecessor may have published changes without a wake-up for them.
            self._is_initialized = True
            self._learn(Change(*key, obj) for key, obj in objects.items())
            frees_capacity, newly_rejected = True, False
        else:
            frees_capacity, newly_rejected = self._learn(changes)
        if self._is_capacity_freed:
            self._is_capacity_freed = False
            frees_capacity = True
        if frees_capacity:
            self._changed_at = now
            self._due = True
        elif newly_rejected and now - self._changed_at <= LATE_REJECTION_SECONDS:
            self._changed_at = -math.inf
            self._due = True
        if not self._waiting:
            self._due = False
        is_allowed = now - self._woken_at >= LEAST_INTERVAL_SECONDS and self._budget.allows(self._waiting, now)
        if self._due and is_allowed:
            self._due, self._woken_at = False, now
            self._budget.spend(self._waiting, now)
            self._queue.wake(sorted(self._waiting))

    def _learn(self, changes: Iterable[Change]) -> tuple[bool, bool]:
        """Whether a node, the end of a pod or a member of its gang may let a rejected pod fit; and whether a pod is
        newly rejected."""
        waiting, bound = self._waiting, self._bound
        frees_capacity = newly_rejected = False
        for resource, key, obj in changes:
            if resource == _NODES or resource.startswith(_POD_GROUPS):
                frees_capacity = frees_capacity or obj is not None
            elif resource == _PODS:
                frees_capacity = self._has_joined(key, obj) or frees_capacity
                occupies_node = obj is not None and _occupies_node(obj)
                frees_capacity = frees_capacity or (key in bound and not occupies_node)
                (bound.add if occupies_node else bound.discard)(key)
                if obj is not None and self._rejected(obj):
                    newly_rejected = newly_rejected or key not in waiting
                    waiting.add(key)
                else:
                    waiting.discard(key)
        return frees_capacity, newly_rejected

    def _has_joined(self, key: str, obj: Object | None) -> bool:
        """Whether a pod is a new member of a gang."""
        if obj is None or not self._is_member(obj):
            self._members.discard(key)
            return False
        is_new = key not in self._members
        self._members.add(key)
        return is_new


class WakeUpBudget:
    """Limits the wake-ups for one pod, because a wake-up makes the scheduler retry all rejected pods.

    Without it, a pod that never fits wakes all others with every change of the cluster, for as long as it exists. It is
    a token bucket for each waiting pod. A pod that leaves keeps its bucket until it is full again.
    """

    def __init__(self, members: Collection[str]) -> None:
        """members: the pods of gangs, as they are at each call."""
        self._members = members
        self._buckets: dict[str, tuple[float, float]] = {}

    def allows(self, waiting: Collection[str], now: float) -> bool:
        """Whether one of these pods has a wake-up left. `now`: seconds on a monotonic clock."""
        return any(self._tokens(pod, now) >= 1 for pod in waiting)

    def spend(self, waiting: Collection[str], now: float) -> None:
        """All of these pods were woken."""
        self._buckets = {pod: (tokens, now) for pod in self._buckets if (tokens := self._tokens(pod, now)) < BURST}
        for pod in waiting:
            self._buckets[pod] = max(0.0, self._tokens(pod, now) - 1), now

    def _tokens(self, pod: str, now: float) -> float:
        tokens, at = self._buckets.get(pod, (BURST, now))
        refill = MEMBER_REFILL_SECONDS if pod in self._members else REFILL_SECONDS
        return min(BURST, tokens + (now - at) / refill)


def _occupies_node(pod: Object) -> bool:
    spec, status = pod.get("spec"), pod.get("status")
    node = spec.get("nodeName") if isinstance(spec, Mapping) else None
    phase = status.get("phase") if isinstance(status, Mapping) else None
    return bool(node) and phase not in _FINISHED
