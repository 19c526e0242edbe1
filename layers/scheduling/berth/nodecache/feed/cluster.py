"""The watcher's ports to the cluster, the events that a watch yields, and the positions it can resume from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

from berth.nodecache.feed.head import Position

KubernetesObject: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class Listed:
    """A list of all objects of the resource. An object that is not in the list has been deleted."""

    objects: tuple[KubernetesObject, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Added:
    """An added object. If the consumer knows it already, it counts as modified."""

    object: KubernetesObject
    resource_version: str


@dataclass(frozen=True, slots=True)
class Modified:
    """A modified object."""

    object: KubernetesObject
    resource_version: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """A deleted object in its last state. The consumer may not know the object."""

    object: KubernetesObject
    resource_version: str


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A new resourceVersion without a changed object. It is sent only if the version has increased (see Ended)."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The normal end of a watch, after all its events. In a cluster without writes there are no Bookmarks, and only
    this event shows that the data is current."""


@dataclass(frozen=True, slots=True)
class Expired:
    """The server cannot continue from the resourceVersion: it is too old, or not reached yet. A Listed comes next."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A failure of the watch, which is retried after a backoff. Events are not lost. is_lasting: whether a retry can
    succeed only after an operator acts."""

    cause: str
    is_lasting: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The final end of the watch because of a defect in Berth: there are no further events of this resource."""

    cause: Exception


WatchEvent: TypeAlias = Added | Modified | Deleted | Bookmark
Event: TypeAlias = Listed | WatchEvent | Ended | Expired | Interrupted | Failed


@dataclass(frozen=True, slots=True)
class ResourceEvent:
    """An event of one resource. `at`: when it arrived, or when a list was requested; seconds since the epoch."""

    resource: str
    at: float
    event: Event


def next_position(position: Position | None, received: ResourceEvent) -> Position | None:
    match received.event:
        case Listed(resource_version=version):
            return Position(version, received.at, received.at)
        case Added() | Modified() | Deleted() | Bookmark() as event if position is not None:
            return replace(position, resource_version=event.resource_version, observed_at=received.at)
        case Ended() if position is not None:
            return replace(position, observed_at=received.at)
        case _:
            return position


class ClusterUnavailable(Exception):
    """The cluster cannot be read. The message has the cause and a remedy."""


class ClusterWatch(ABC):
    """Watches of all resources, for one consumer. Objects have only the fields that scheduling reads. A subclass
    advances `positions` with each event that `take` returns."""

    def __init__(self, resources: Iterable[str], positions: Mapping[str, Position]) -> None:
        self._positions = {name: positions.get(name) for name in resources}

    @abstractmethod
    def take(self, timeout: float) -> Sequence[ResourceEvent]:
        """Return all events since the last call. Wait up to `timeout` seconds for the first event."""

    @property
    def positions(self) -> Mapping[str, Position]:
        """Return the positions of the resources that were listed: a successor resumes from them."""
        return MappingProxyType({name: known for name, known in self._positions.items() if known is not None})

    @property
    def observed_at(self) -> float | None:
        """Return the oldest `observed_at` of all resources; None until every resource was listed."""
        known = self.positions
        is_complete = len(known) == len(self._positions)
        return min((position.observed_at for position in known.values()), default=None) if is_complete else None

    @abstractmethod
    def stop(self) -> None:
        """End the watches and drop the remaining events."""

    def _advance(self, received: Iterable[ResourceEvent]) -> None:
        for each in received:
            self._positions[each.resource] = next_position(self._positions[each.resource], each)


class Cluster(ABC):
    @abstractmethod
    def uid(self) -> str:
        """Return the identity of the cluster and of the projection of its objects. Raises ClusterUnavailable."""

    @abstractmethod
    def watch(self, positions: Mapping[str, Position]) -> ClusterWatch:
        """Watch all resources, each from its position; a resource without a position is listed first."""
