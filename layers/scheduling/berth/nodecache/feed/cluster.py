"""The ports through which the watcher sees the cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from berth.nodecache.feed.events import Received
from berth.nodecache.feed.progress import Position


class ClusterWatch(ABC):
    """Watches of all resources that are kept, for one consumer. Objects are reduced to what is kept."""

    @abstractmethod
    def take(self, timeout: float) -> Sequence[Received]:
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
