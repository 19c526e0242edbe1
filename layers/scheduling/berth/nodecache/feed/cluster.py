"""The watcher's ports to the cluster, the events that a watch yields, and the positions it can resume from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TypeAlias

KubernetesObject: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects there are: what the consumer has and these do not contain is gone."""

    objects: tuple[KubernetesObject, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Added:
    """An object that is new, or that the consumer knows already: then it counts as modified."""

    object: KubernetesObject
    resource_version: str


@dataclass(frozen=True, slots=True)
class Modified:
    """An object as it is now."""

    object: KubernetesObject
    resource_version: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """An object as it last was. The consumer may not know it."""

    object: KubernetesObject
    resource_version: str


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Nothing changed up to here. An API server sends one only where its resourceVersion has moved on (see Ended)."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The server ended the watch in its own time: what had changed until then has been told. The next watch follows.

    In a cluster where nothing is written, this and no Bookmark is what shows that the data is current.
    """


@dataclass(frozen=True, slots=True)
class Expired:
    """The server no longer has, or does not have yet, what followed our resourceVersion. A Listed comes next."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The watch could not go on, for this cause, and is tried again after a while. Nothing is lost by it."""

    cause: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The watch ended for good, by a defect of ours: nothing more comes of this resource."""

    cause: Exception


WatchEvent: TypeAlias = Added | Modified | Deleted | Bookmark
Event: TypeAlias = Listed | WatchEvent | Ended | Expired | Interrupted | Failed


@dataclass(frozen=True, slots=True)
class ResourceEvent:
    """`at` is in seconds since the epoch: when the event came; of a list, when it was asked for."""

    resource: str
    at: float
    event: Event


@dataclass(frozen=True, slots=True)
class Position:
    """Where a watch can be resumed. Times are seconds since the epoch.

    `observed_at`: until when all that happened is known. `listed_at`: when all objects were last listed.
    """

    resource_version: str
    observed_at: float
    listed_at: float


def next_position(position: Position | None, received: ResourceEvent) -> Position | None:
    """The position after an event, which need not differ from the one before."""
    match received.event:
        case Listed(resource_version=version):
            return Position(version, received.at, received.at)
        case (
            Added(resource_version=version)
            | Modified(resource_version=version)
            | Deleted(resource_version=version)
            | Bookmark(resource_version=version)
        ) if position is not None:
            return replace(position, resource_version=version, observed_at=received.at)
        case Ended() if position is not None:
            return replace(position, observed_at=received.at)
        case _:
            return position


class Progress:
    """For one thread."""

    def __init__(self, resources: Iterable[str], positions: Mapping[str, Position]) -> None:
        self._positions = {name: positions.get(name) for name in resources}

    def advance(self, received: ResourceEvent) -> None:
        """Count an event as known."""
        self._positions[received.resource] = next_position(self._positions[received.resource], received)

    @property
    def positions(self) -> Mapping[str, Position]:
        """Of the resources that have been listed; what a successor resumes from."""
        return MappingProxyType({name: known for name, known in self._positions.items() if known is not None})

    @property
    def observed_at(self) -> float | None:
        """How old the data is: the oldest over all resources; None while one of them has not been listed."""
        known = self.positions.values()
        return min((position.observed_at for position in known), default=None) if self._complete else None

    @property
    def _complete(self) -> bool:
        return all(position is not None for position in self._positions.values())


class ClusterUnavailable(Exception):
    """The cluster could not be read. The message names cause and remedy."""


class ClusterWatch(ABC):
    """Watches of all resources that are kept, for one consumer. Objects are reduced to what is kept."""

    @abstractmethod
    def take(self, timeout: float) -> Sequence[ResourceEvent]:
        """All that has come since the last call; waits up to `timeout` seconds for the first. Empty when none came."""

    @property
    @abstractmethod
    def positions(self) -> Mapping[str, Position]:
        """Where a successor resumes each resource, as far as it has been taken."""

    @property
    @abstractmethod
    def observed_at(self) -> float | None:
        """How old what was taken is; None while a resource has not been listed."""

    @abstractmethod
    def stop(self) -> None:
        """End the watches. What has come can no longer be taken."""


class Cluster(ABC):
    """One cluster."""

    @abstractmethod
    def uid(self) -> str:
        """What tells it from every other: the UID of its namespace kube-system. Raises ClusterUnavailable."""

    @abstractmethod
    def watch(self, positions: Mapping[str, Position]) -> ClusterWatch:
        """Watch all resources, each from its position; list first where it has none."""
