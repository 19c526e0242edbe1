"""Reports why a gang waits, by events on its members.

filter gives each member one constant reason (fact 17). The numbers behind it are in these events: how many members
exist, or which resource is short, and its amount.

Cost: while a member waits for longer than COPY_SECONDS, the leading watcher keeps a snapshot of the cluster in memory
and plans all gangs every LOOK_SECONDS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock

from berth.nodecache.feed.changes import Change
from berth.nodecache.feed.leader import Publication
from berth.nodecache.snapshot_view import CachedCluster, SnapshotView
from berth.scheduling.fields.reading import part
from berth.scheduling.gangs.gang import GangKey, OpenGang
from berth.scheduling.gangs.overview import GangStage, GangStatus
from berth.scheduling.objects.projection import is_member
from berth.scheduling.policy import Policy
from berth.upkeep.pod_events import PodEvent, PodEventReason, bounded

LOOK_SECONDS = 10.0

PATIENCE_SECONDS = 15.0
"""Seconds before the first event: the members may still be created, or the next attempt may place the gang."""

COPY_SECONDS = 2.0
"""Seconds before the objects are copied: most members are placed sooner, and do not need the copy."""

REPEAT_SECONDS = 400.0
"""Seconds before the same event of a pod is repeated: longer than the time in which the recorder drops repetitions."""

MAX_MEMBERS = 50
"""Maximum number of members of one gang that get an event."""

_REASONS: Mapping[GangStage, PodEventReason] = {
    GangStage.WAITS_FOR_MEMBERS: PodEventReason.GANG_WAITS_FOR_MEMBERS,
    GangStage.DOES_NOT_FIT: PodEventReason.GANG_DOES_NOT_FIT,
}


class WaitingGangs:
    """Finds waiting gangs in one leadership. The publishing thread calls `published`, another one calls `events`."""

    def __init__(
        self, policy: Policy, open_gangs: Callable[[], Sequence[OpenGang]], monotonic: Callable[[], float]
    ) -> None:
        """Prepare the search. open_gangs: returns the gangs that are being bound; may raise TableUnavailable."""
        self._policy, self._open_gangs, self._monotonic = policy, open_gangs, monotonic
        self._lock = Lock()
        self._pending: set[str] = set()
        self._pending_since = math.inf
        self._changes: list[Change] | None = None
        self._begins_anew = False
        self._is_new = True
        # Used by the thread that calls `events`.
        self._view = SnapshotView()
        self._cluster: CachedCluster | None = None
        self._since: dict[tuple[GangKey, GangStage], float] = {}
        self._reported_at: dict[tuple[str, GangStage], float] = {}

    def published(self, publication: Publication) -> None:
        with self._lock:
            if self._is_new:
                self._is_new = False
                self._learn([Change(*key, obj) for key, obj in publication.objects.items()])
            else:
                self._learn(publication.changes)
            if not self._pending:
                self._changes, self._pending_since = None, math.inf
                return
            if self._changes is not None:
                self._changes.extend(publication.changes)
                return
            now = self._monotonic()
            self._pending_since = min(self._pending_since, now)
            if now - self._pending_since >= COPY_SECONDS:
                self._changes = [Change(*key, obj) for key, obj in publication.objects.items()]
                self._begins_anew = True

    def events(self) -> Iterator[PodEvent]:
        """Yield the events for gangs that wait. Raises the exceptions of `open_gangs`."""
        cluster = self._current()
        if cluster is None:
            self._since, self._reported_at = {}, {}
            return
        now = self._monotonic()
        statuses = [
            each for each in self._policy.gangs_in(cluster.snapshot, self._open_gangs()) if each.stage in _REASONS
        ]
        waiting = {(each.key, each.stage) for each in statuses}
        self._since = {key: self._since.get(key, now) for key in waiting}
        uids = {member.uid for each in statuses for member in each.members}
        self._reported_at = {key: at for key, at in self._reported_at.items() if key[0] in uids}
        for each in statuses:
            if now - self._since[each.key, each.stage] >= PATIENCE_SECONDS:
                yield from self._of(each, now)

    def _of(self, status: GangStatus, now: float) -> Iterator[PodEvent]:
        for member in [each for each in status.members if not each.node][:MAX_MEMBERS]:
            key = member.uid, status.stage
            if now - self._reported_at.get(key, -REPEAT_SECONDS) >= REPEAT_SECONDS:
                self._reported_at[key] = now
                note = bounded(f"the gang waits: {status.waits_for}")
                yield PodEvent(status.key.namespace, member.name, member.uid, _REASONS[status.stage], note)

    def _current(self) -> CachedCluster | None:
        """Return the published cluster, or None if no member has waited for COPY_SECONDS."""
        with self._lock:
            if self._changes is None:
                self._cluster = None
                return None
            changes, self._changes = self._changes, []
            begins_anew, self._begins_anew = self._begins_anew, False
        before = self._view.empty() if begins_anew or self._cluster is None else self._cluster
        self._cluster = self._view.applied(before, changes) if changes else before
        return self._cluster

    def _learn(self, changes: Sequence[Change]) -> None:
        for resource, key, obj in changes:
            if resource == "pods":
                if obj is not None and is_member(obj) and not part(obj, "spec").get("nodeName"):
                    self._pending.add(key)
                else:
                    self._pending.discard(key)
