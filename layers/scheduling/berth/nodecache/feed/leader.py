"""The leader's work: what the watches tell becomes changes, and changes are published every half second.

Guarantees. What is published is what the API server told, resource by resource, up to the positions published with it:
a successor that resumes there misses nothing. Nothing is published before every resource has been listed once. One
object that cannot be kept is left out and counted (`omissions`, `events_without_name`), and stops nothing.

Not guaranteed: that a leader which holds the lease publishes. While the table refuses, or before the first list is
there, the head's `heartbeat` and `observed_at` grow old, and say so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from berth.lease.clock import Clock
from berth.nodecache.feed.changes import Change, Key, Object, OmissionReason
from berth.nodecache.feed.cluster import (
    Added,
    Cluster,
    Deleted,
    Failed,
    Interrupted,
    Listed,
    Modified,
    Position,
    ResourceEvent,
)
from berth.nodecache.feed.head import Observation, Pointer
from berth.nodecache.feed.observed_state import ObservedState
from berth.nodecache.feed.table import CacheTable
from berth.nodecache.feed.writer import Leadership, Retention, Writer

_PUNCTUAL = 0.001  # so many seconds early is on time: sums of floats are not exact


@dataclass(frozen=True, slots=True)
class Publication:
    """One publication, for those who act on it.

    epoch: the leadership that published. changes: the changes it made visible, in order; empty for a heartbeat.
    objects: all objects that the leader knows. is_complete: everything in `objects` is published; False while some
    changes still wait. observation: the cluster and the position of each resource that were published.
    """

    epoch: int
    changes: Sequence[Change]
    objects: Mapping[Key, Object]
    is_complete: bool
    observation: Observation


@dataclass(frozen=True, slots=True)
class PublishIntervals:
    """Seconds. `flush`: how long a change may wait for others. `heartbeat`: between publications when nothing changes,
    below the lease's retryPeriod, so that publishing is all the renewal there is."""

    flush: float = 0.5
    heartbeat: float = 1.5


class Leader:
    """From the election to the release; for one thread. Raises ClusterUnavailable when made."""

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
        new_id: Callable[[], str],
        intervals: PublishIntervals,
        on_published: Callable[[Publication], None],
        retention: Retention | None = None,
    ) -> None:
        """`pointer`: what is published, `objects`: the state behind it; None where it cannot be read.

        `on_published`: called after every publication. Each change is in one of them; where the leader had to begin
        anew, the first one has all objects. It must not raise.
        """
        self._cluster_uid = cluster.uid()
        positions: Mapping[str, Position] = {}
        # Another cluster behind the same table: nothing of the old one holds, least of all its resourceVersions.
        if pointer is not None and pointer.observation.cluster_uid == self._cluster_uid and objects is not None:
            positions = pointer.observation.positions
        self._continues = bool(positions)
        self._state = ObservedState(objects or {} if self._continues else {})
        self._watch = cluster.watch(positions)
        self._writer = Writer(table, leadership, pointer, epoch, clock, new_id, self._announce, retention)
        self._clock = clock
        self._intervals = intervals
        self._epoch = epoch
        self._on_published = on_published
        self._changed_at: float | None = None
        self._published_at = clock.monotonic() - intervals.heartbeat
        self.interrupted = ""
        self.publications = 0

    @property
    def omissions(self) -> Mapping[Key, OmissionReason]:
        """Objects that no item can hold; for readers they are gone."""
        return self._writer.omissions

    @property
    def events_without_name(self) -> int:
        """How many events told of an object without a name."""
        return self._state.events_without_name

    @property
    def objects(self) -> Mapping[Key, Object]:
        """What is known of the cluster."""
        return self._state.objects

    def work(self, seconds: float) -> None:
        """Take what the watches tell, for so long at the most, and publish if it is time to.

        Raises NotLeading, TableUnavailable, StaleFence, and what a watch failed of.
        """
        for received in self._watch.take(min(seconds, self._until_publication())):
            self._apply(received)
        if self._state.has_changes and self._changed_at is None:
            self._changed_at = self._clock.monotonic()
        if self._until_publication() <= 0:
            self._publish()

    def finish(self) -> None:
        """Publish what is left, and find out what became of a publication in doubt: the last act before a release."""
        if self._watch.observed_at is not None and (self._state.has_changes or not self._writer.is_fully_published):
            self._publish()

    def stop(self) -> None:
        """End the watches."""
        self._watch.stop()

    def _until_publication(self) -> float:
        """Seconds; endless before every resource was listed, for until then there is nothing to publish."""
        if self._watch.observed_at is None:
            return math.inf
        now = self._clock.monotonic()
        due = self._published_at + self._intervals.heartbeat
        if self._changed_at is not None:
            due = min(due, self._changed_at + self._intervals.flush)
        return due - now if due - now > _PUNCTUAL else 0.0

    def _publish(self) -> None:
        observation = Observation(self._cluster_uid, self._watch.positions)
        overdue = self._writer.is_backlog_expiring
        if not overdue:
            self._writer.retry_unconfirmed()
        changes = self._state.take_changes()
        if self._continues and not overdue:
            self._writer.flush(changes, observation)
        else:
            self._writer.replace(changes, self._state.objects, observation)
        self._changed_at = None
        self._writer.compact_if_due(self._state.objects, observation)

    def _announce(self, changes: Sequence[Change], pointer: Pointer) -> None:
        self._continues = True
        self._published_at = self._clock.monotonic()
        self.publications += 1
        is_complete = self._writer.is_fully_published and not self._state.has_changes
        self._on_published(Publication(self._epoch, changes, self._state.objects, is_complete, pointer.observation))

    def _apply(self, received: ResourceEvent) -> None:
        resource = received.resource
        match received.event:
            case Listed(objects=objects):
                self._state.relist(resource, objects)
            case Added(object=obj) | Modified(object=obj):
                self._state.put(resource, obj)
            case Deleted(object=obj):
                self._state.remove(resource, obj)
            case Interrupted(cause=cause):
                self.interrupted = f"{resource}: {cause}"
            case Failed(cause=error):
                raise error
            case _:
                pass  # bookmarks and ends move positions only
