"""The leader: turns watch events into changes and publishes them. After a pause it publishes the first change at once,
and later changes together.

Guarantees:
- For each resource, the published state is the API server's state at the position that is published with it. A
  successor that resumes at these positions does not miss events.
- The first publication comes after every resource was listed, by this leader or by a predecessor.
- An object that cannot be stored is omitted and counted (`omissions`, `events_without_name`). Publications continue.

Not guaranteed:
- That the holder of the lease publishes. While the table rejects writes, or before the first list, `heartbeat` and
  `observed_at` of the head grow old.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from berth.lease.clock import Clock
from berth.nodecache.feed.changes import Change, Key, Object, OmissionReason, is_reduced
from berth.nodecache.feed.cluster import Added, Cluster, Deleted, Failed, Interrupted, Listed, Modified, ResourceEvent
from berth.nodecache.feed.head import Observation, Pointer, Position
from berth.nodecache.feed.table import CacheTable
from berth.nodecache.feed.writer import RETENTION, Leadership, Retention, Writer
from berth.scheduling.fields.reading import part


class ObjectsView:
    """A watcher's view of the published state: the objects by key. A state has one user, so it is changed in place."""

    def empty(self) -> dict[Key, Object]:
        return {}

    def applied(self, state: dict[Key, Object], changes: Iterable[Change]) -> dict[Key, Object]:
        for resource, key, obj in changes:
            if obj is None:
                state.pop((resource, key), None)
            else:
                state[resource, key] = obj
        return state


class ObservedState:
    """The objects by resource and key, and the pending changes. For one thread. If an object changes several times, its
    last state is pending, after an earlier removal if there was one: consumers must learn that a pod was deleted, even
    if another pod already has its name."""

    def __init__(self, objects: Mapping[Key, Object]) -> None:
        self.objects = dict(objects)
        self.events_without_name = 0
        """The number of events whose object has no name; such an object cannot be stored."""
        self._changed: dict[Key, Object | None] = {}
        self._removed = set[Key]()

    def put(self, resource: str, obj: Object) -> None:
        """Add or replace an object. An equal object is not a change: a kubelet's heartbeat is not published."""
        name = key_of(obj)
        if name is None:
            self.events_without_name += 1
            return
        key = resource, name
        if self.objects.get(key) != obj:
            self.objects[key] = self._changed[key] = obj

    def remove(self, resource: str, obj: Object) -> None:
        name = key_of(obj)
        if name is None:
            self.events_without_name += 1
        else:
            self._drop((resource, name))

    def relist(self, resource: str, listed: Sequence[Object]) -> None:
        """Replace all objects of a resource: known objects that are not in the list are removed."""
        names = {key_of(obj) for obj in listed}
        for key in [key for key in self.objects if key[0] == resource and key[1] not in names]:
            self._drop(key)
        for obj in listed:
            self.put(resource, obj)

    def take_changes(self) -> list[Change]:
        changes = list[Change]()
        for key, obj in self._changed.items():
            if obj is not None and key in self._removed:
                changes.append(Change(*key, None))
            changes.append(Change(*key, obj))
        self._changed, self._removed = {}, set()
        return changes

    @property
    def has_changes(self) -> bool:
        return bool(self._changed)

    def _drop(self, key: Key) -> None:
        if self.objects.pop(key, None) is not None:
            self._changed[key] = None
            self._removed.add(key)


def key_of(obj: Object) -> str | None:
    metadata = part(obj, "metadata")
    namespace, name = metadata.get("namespace"), metadata.get("name")
    if not isinstance(name, str) or not name or not isinstance(namespace, str | None):
        return None
    return f"{namespace}/{name}" if namespace else name


_TOLERANCE_SECONDS = 0.001  # sums of floats are not exact


@dataclass(frozen=True, slots=True)
class Publication:
    """One publication. epoch: the leader's epoch. changes: the changes in order; empty for a heartbeat. objects: all
    objects that the leader knows. is_complete: whether all of them are published. omissions: objects that are not
    published completely."""

    epoch: int
    changes: Sequence[Change]
    objects: Mapping[Key, Object]
    is_complete: bool
    observation: Observation
    omissions: Mapping[Key, OmissionReason]


@dataclass(frozen=True, slots=True)
class PublishIntervals:
    """The intervals in seconds. flush: how long a change may wait for others. pause: a change does not wait if the last
    published change is this old. heartbeat: shorter than the lease's retryPeriod, so that publications alone renew the
    lease."""

    flush: float = 0.5
    pause: float = 1.0
    heartbeat: float = 1.5


INTERVALS = PublishIntervals()


class Leader:
    """Leads from the election to the release; for one thread. The constructor raises ClusterUnavailable."""

    def __init__(
        self,
        cluster: Cluster,
        table: CacheTable,
        leadership: Leadership,
        epoch: int,
        pointer: Pointer | None,
        objects: Mapping[Key, Object] | None,
        *,
        clock: Clock,
        sleep: Callable[[float], None],
        new_id: Callable[[], str],
        intervals: PublishIntervals,
        on_published: Callable[[Publication], None],
        retention: Retention = RETENTION,
    ) -> None:
        """Begin to lead. `pointer`: the published pointer. `objects`: the state that it points to; None if it cannot be
        read. `on_published`: called after every publication; must not raise. Each change is in one publication; if
        `objects` cannot be used, the first publication has all objects."""
        self._cluster_uid = cluster.uid()
        positions: Mapping[str, Position] = {}
        # Do not continue the state of another cluster: its objects and resourceVersions are not valid here.
        if pointer is not None and pointer.observation.cluster_uid == self._cluster_uid and objects is not None:
            positions = pointer.observation.positions
        self._continues = bool(positions)
        self.state = ObservedState(objects or {} if self._continues else {})
        self._watch = cluster.watch(positions)
        self.writer = Writer(table, leadership, pointer, epoch, clock, new_id, self._announce, retention, sleep=sleep)
        self.writer.omissions |= {
            key: OmissionReason.REDUCED for key, obj in self.state.objects.items() if is_reduced(obj)
        }
        self._clock = clock
        self._intervals = intervals
        self._epoch = epoch
        self._on_published = on_published
        self._changed_at: float | None = None
        self._published_at = self._flushed_at = clock.monotonic() - intervals.heartbeat
        self.interrupted = ""
        self._failures: dict[str, tuple[str, int]] = {}
        self.publications = 0

    @property
    def interruption(self) -> str:
        """Return why a resource is not watched now. Empty after a single failure, because a retry usually succeeds."""
        return next((cause for cause, failures in self._failures.values() if failures > 1), "")

    def work(self, seconds: float) -> None:
        """Take watch events for at most this many seconds, and publish if a publication is due. Raises NotLeading,
        TableUnavailable, StaleFence, and the cause of a watch that failed for good."""
        for received in self._watch.take(min(seconds, self._until_publication())):
            self._apply(received)
        if self.state.has_changes and self._changed_at is None:
            self._changed_at = self._clock.monotonic()
        if self._until_publication() <= 0:
            self._publish()

    def finish(self) -> None:
        """Publish pending changes and confirm the last publication. Call it before the release."""
        if self._watch.observed_at is not None and (self.state.has_changes or not self.writer.is_fully_published):
            self._publish()

    def stop(self) -> None:
        self._watch.stop()

    def _until_publication(self) -> float:
        """Return the seconds until the next publication is due; infinite until every resource was listed."""
        if self._watch.observed_at is None:
            return math.inf
        now = self._clock.monotonic()
        due = self._published_at + self._intervals.heartbeat
        if self._changed_at is not None:
            is_first = self._changed_at >= self._flushed_at + self._intervals.pause
            due = min(due, self._changed_at + (0.0 if is_first else self._intervals.flush))
        return due - now if due - now > _TOLERANCE_SECONDS else 0.0

    def _publish(self) -> None:
        observation = Observation(self._cluster_uid, self._watch.positions)
        overdue = self.writer.is_backlog_expiring
        if not overdue:
            self.writer.retry_unconfirmed()
        changes = self.state.take_changes()
        if self._continues and not overdue:
            self.writer.flush(changes, observation)
        else:
            self.writer.replace(changes, self.state.objects, observation)
        self._changed_at = None
        self.writer.compact_if_due(self.state.objects, observation)

    def _announce(self, changes: Sequence[Change], pointer: Pointer) -> None:
        self._continues = True
        self._published_at = self._clock.monotonic()
        if changes:
            self._flushed_at = self._published_at
        self.publications += 1
        is_complete = self.writer.is_fully_published and not self.state.has_changes
        self._on_published(
            Publication(
                self._epoch, changes, self.state.objects, is_complete, pointer.observation, self.writer.omissions
            )
        )

    def _apply(self, received: ResourceEvent) -> None:
        resource = received.resource
        if not isinstance(received.event, Interrupted):
            self._failures.pop(resource, None)
        match received.event:
            case Listed(objects=objects):
                self.state.relist(resource, objects)
            case Added(object=obj) | Modified(object=obj):
                self.state.put(resource, obj)
            case Deleted(object=obj):
                self.state.remove(resource, obj)
            case Interrupted(cause=cause, is_lasting=is_lasting):
                self.interrupted = f"{resource}: {cause}"
                _, failures = self._failures.get(resource, ("", int(is_lasting)))
                self._failures[resource] = self.interrupted, failures + 1
            case Failed(cause=error):
                raise error
            case _:
                pass  # Bookmark, Ended and Expired do not change objects
