"""Announcements of pods, the rule for when they end, and the port of their log.

The node cache lags: for some time after a bind it does not show the pod on its node. Until then, the pod's announcement
represents the pod.

Positions are 1, 2, 3 and so on without a gap: a writer of position n + 1 has read position n. So a reader that has read
up to n knows all earlier announcements. The last announcement is never deleted, because positions would restart at 1.

Bind reads the pod, the log and the cache before it announces the pod. Meanwhile the scheduler decides on the next pod.
So bind first records that it has begun; only scores count such a pod, because its bind may still reject it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import orjson

from berth.extender.ports import PodCoverage
from berth.scheduling.objects import Pod, UnreadableObject, trimmed_pod
from berth.scheduling.objects.pod_reading import read_placed_pod
from berth.scheduling.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Announcement:
    """A pod that one call of bind places on a node.

    position: the position in the log. attempt: the unique id of the call. pod: the pod on its node, as the cache will
    show it. content: the same pod as JSON. resource_version: the version of the unbound pod that the call read; a
    Binding is valid only for this version. until: the latest time at which a Binding of the call can take effect, in
    seconds since the epoch. withdrawn: no Binding of the call has taken effect or can take effect.
    """

    position: int
    attempt: str
    pod: Pod
    content: bytes = field(repr=False)
    resource_version: str
    until: float
    withdrawn: bool = False


@dataclass(frozen=True, slots=True)
class BegunBind:
    """A call of bind that has arrived. since: the time of its arrival, in seconds since the epoch."""

    pod_uid: str
    node: str
    since: float


BEGUN_SECONDS = 2.0
"""Seconds for which scores count a pod whose bind has begun: longer than bind takes to announce or reject the pod."""

BEGUN_PLACES = 32
"""The number of slots in the log for binds that have begun; a hash of the pod's UID selects the slot. All slots
together take 4 KB, one read unit. A later bind may overwrite the slot of another pod."""


def place_of(bind: BegunBind) -> int:
    return crc32(bind.pod_uid.encode()) % BEGUN_PLACES


def pod_on_node(
    obj: Mapping[str, object], node: str, annotations: Container[str]
) -> tuple[Pod, bytes] | UnreadableObject:
    """Return the pod as the cache will show it on this node, with only these annotations; also as JSON."""
    spec = obj.get("spec")
    placed = trimmed_pod({**obj, "spec": {**(spec if isinstance(spec, dict) else {}), "nodeName": node}}, annotations)
    pod = read_placed_pod(placed)
    return pod if isinstance(pod, UnreadableObject) else (pod, orjson.dumps(placed))


def has_ended(announcement: Announcement, snapshot: Snapshot, coverage: PodCoverage) -> bool:
    """Return whether the announcement is no longer needed with this snapshot or a later one."""
    pod = announcement.pod
    node = snapshot.nodes.get(pod.node_name)
    if announcement.withdrawn or (node is not None and any(each.uid == pod.uid for each in node.pods)):
        return True
    covered = coverage.covers(announcement.resource_version)
    if covered and pod.uid not in snapshot.unbound:
        # The cache had the pod, so the pod has ended or is on another node.
        return True
    return covered is not False and coverage.observed_at > announcement.until


class AnnouncementLog(ABC):
    """The log of announcements. Every method may raise TableUnavailable."""

    @abstractmethod
    def read(self, first: int) -> Sequence[Announcement]:
        """Return the announcements from this position on in order, with one consistent query and all its pages."""

    @abstractmethod
    def read_with_begun(self, first: int) -> tuple[Sequence[Announcement], Sequence[BegunBind]]:
        """Return the announcements as `read` does, and the binds that have begun, of any age, with one query."""

    @abstractmethod
    def begin(self, bind: BegunBind) -> None:
        """Store the bind in its slot of the log, which an earlier bind may have used."""

    @abstractmethod
    def append(self, announcement: Announcement) -> bool:
        """Put the announcement at its position; False if the position is taken. A retry by the attempt returns True."""

    @abstractmethod
    def withdraw(self, position: int, attempt: str) -> None:
        """Mark the announcement at this position as withdrawn, if it belongs to this attempt."""

    @abstractmethod
    def trim(self, position: int, until: float) -> None:
        """Delete the announcements before this position whose `until` is before this time."""


class AnnouncementReader:
    """Reads the log. Thread-safe: `first` is a hint, and an older value only costs a longer read."""

    def __init__(self, log: AnnouncementLog, wall: Callable[[], float] | None = None) -> None:
        """Create the reader. wall: returns the seconds since the epoch; None: do not read binds that have begun."""
        self._log = log
        self._wall = wall
        self.first = 1
        """Every announcement before this position has ended."""

    def read(self) -> tuple[Sequence[Announcement], Sequence[BegunBind]]:
        """Read to the end of the log. Call this before reading the head: a deleted announcement has already ended in
        the published snapshot. The returned binds have begun, but have not announced their pods. Raises
        TableUnavailable.
        """
        found, begun = self._read()
        if not found and self.first > 1:
            # The last announcement is never deleted, so the table was created again.
            self.first = 1
            found, begun = self._read()
        if self._wall is None or not begun:
            return found, ()
        after, announced = self._wall() - BEGUN_SECONDS, {each.pod.uid for each in found}
        return found, [each for each in begun if each.since > after and each.pod_uid not in announced]

    def _read(self) -> tuple[Sequence[Announcement], Sequence[BegunBind]]:
        return (self._log.read(self.first), ()) if self._wall is None else self._log.read_with_begun(self.first)

    def pods_to_add(
        self, announcements: Sequence[Announcement], snapshot: Snapshot, coverage: PodCoverage
    ) -> Sequence[Pod]:
        """Return the pods that are on their nodes, or may still get there, but are missing from the snapshot."""
        remaining = [each for each in announcements if not has_ended(each, snapshot, coverage)]
        if announcements:
            self.first = (remaining or announcements[-1:])[0].position
        return [each.pod for each in remaining]
