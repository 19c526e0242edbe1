"""Checks in the leader whether schedulers can call the verbs: pods without a decision, and certificates that expire.

The API counts only calls that reach it. A stopped scheduler does not call. If its certificate has expired, or DNS or
the network fails, its calls do not reach the API. A pod's condition PodScheduled shows both cases (UNDECIDED): no
scheduler has tried the pod, or the scheduler did not get a response from the extender. Pods that Berth or the scheduler
rejected do not count, however long they wait. Gated and nominated pods and pods that are being deleted do not count
either.

A long queue is not an outage. So the wait of a pod that was not tried starts when its scheduler last tried another pod,
and the wait of a pod whose call failed starts with the last decision of a verb about another pod of its scheduler.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import NamedTuple

from berth.authentication.outcomes import CredentialStoreUnavailable
from berth.authentication.stores import AllowListStore
from berth.nodecache.feed.changes import Change, Object
from berth.nodecache.feed.leader import Publication
from berth.runtime.adapters import log
from berth.runtime.telemetry.metrics import COUNT, SECONDS, Metrics, group
from berth.scheduling.fields.reading import part, read_time
from berth.scheduling.objects.projection import UNDECIDED, rejected_by_berth
from berth.upkeep.wake_up import is_unscheduled

INTERVAL_SECONDS = 30.0
"""Seconds between two checks: every minute needs a value, because the alarm uses the smallest value of each minute."""

PATIENCE_SECONDS = 60.0
"""The alarm's threshold in seconds: a scheduler that restarts, or waits for a slow bind, takes less."""

DAY_SECONDS = 86_400.0

NOTICE_DAYS = 30
"""DaysToExpiry is written only below this value. CloudWatch charges for a metric in hours in which it is written."""

UNDECIDED_AGE = group([[]], {"UndecidedAge": SECONDS})
CERTIFICATES = group([[]], {"DaysToExpiry": COUNT})


class UndecidedPod(NamedTuple):
    """A pod that no verb has decided about. created_at: in seconds since the epoch. call_failed: the scheduler tried
    the pod, but its call of a verb failed."""

    scheduler: str
    created_at: float
    call_failed: bool


@dataclass(eq=False)
class SchedulerAccess:
    """Measures in one leadership. One thread calls `published`, another one `step`. schedulers: the schedulerNames that
    Berth serves. allow_list: None without a table. wall: returns the seconds since the epoch."""

    schedulers: Container[str]
    allow_list: Callable[[], AllowListStore] | None
    metrics: Metrics
    wall: Callable[[], float]
    _lock: Lock = field(init=False, default_factory=Lock)
    _is_complete: bool = field(init=False, default=False)
    _pods: dict[str, UndecidedPod] = field(init=False, default_factory=dict)
    _progress: dict[tuple[str, bool], float] = field(init=False, default_factory=dict)
    """The last time that a scheduler tried a pod (False), and that a verb decided about one of its pods (True)."""
    _was_undecided: bool = field(init=False, default=False)

    def published(self, publication: Publication) -> None:
        changes: Iterable[Change] = publication.changes if self._is_complete else ()
        if not self._is_complete and publication.is_complete:
            self._is_complete = True
            changes = [Change(*key, obj) for key, obj in publication.objects.items()]
        with self._lock:
            for resource, key, obj in changes:
                if resource == "pods":
                    self._learn(key, obj)

    def step(self) -> float:
        undecided, certificate = self.undecided_seconds(), self._certificate_seconds()
        if undecided or self._was_undecided:  # at the end also a 0: the alarm uses a minute's minimum
            self.metrics.emit([UNDECIDED_AGE], {}, {"UndecidedAge": [undecided]}, self.wall())
        self._was_undecided = undecided > 0
        if certificate is not None and certificate < NOTICE_DAYS * DAY_SECONDS:
            self.metrics.emit([CERTIFICATES], {}, {"DaysToExpiry": [certificate / DAY_SECONDS]}, self.wall())
        return INTERVAL_SECONDS

    def undecided_seconds(self) -> float:
        """Return how many seconds the oldest undecided pod has waited; 0 if there is none. Log it if it waits too
        long."""
        with self._lock:
            since = {
                key: max(pod.created_at, self._progress.get((pod.scheduler, pod.call_failed), 0.0))
                for key, pod in self._pods.items()
            }
            if not since:
                return 0.0
            oldest = min(since, key=since.__getitem__)
            pod = self._pods[oldest]
        seconds = max(0.0, self.wall() - since[oldest])
        if seconds >= PATIENCE_SECONDS:
            why = "its calls of Berth fail" if pod.call_failed else "it does not run, or is not ready"
            log.warning("%s waits for its scheduler %s for %d s: %s", oldest, pod.scheduler, seconds, why)
        return seconds

    def _certificate_seconds(self) -> float | None:
        if self.allow_list is None:
            return None
        try:
            end = self.allow_list().read().first_end()
        except CredentialStoreUnavailable:
            return None  # with Basic credentials there is no list; with mutual TLS the verbs report it
        return None if end is None else end - self.wall()

    def _learn(self, key: str, obj: Object | None) -> None:
        before, pod = self._pods.pop(key, None), None if obj is None else self._undecided(obj)
        if pod is not None:
            self._pods[key] = pod
        if before is None or obj is None:
            return
        is_decided = bool(part(obj, "spec").get("nodeName")) or rejected_by_berth(obj)
        if pod is None:  # a rule outside Berth rejected it, or it is being deleted or has ended
            is_tried = is_unscheduled(obj) and not part(obj, "metadata").get("deletionTimestamp")
        else:
            is_tried = pod.call_failed and not before.call_failed
        if is_decided or is_tried:
            self._progress[before.scheduler, False] = self.wall()
        if is_decided:
            self._progress[before.scheduler, True] = self.wall()

    def _undecided(self, obj: Object) -> UndecidedPod | None:
        found = part(obj, UNDECIDED)
        created_at, scheduler = read_time(found.get("createdAt")), found.get("scheduler")
        if created_at is None or not isinstance(scheduler, str) or scheduler not in self.schedulers:
            return None
        return UndecidedPod(scheduler, created_at, found.get("callFailed") is True)
