"""The ports through which the watcher sees the cluster and tells its scheduler that something changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from berth.scheduling.objects import NodeInfo


class ClusterUnavailable(Exception):
    """The cluster could not be read. The message names cause and remedy."""


@dataclass(frozen=True, slots=True)
class NodeList:
    """All nodes at one resourceVersion. `unreadable` counts objects without a name, which nobody could be sent to."""

    nodes: tuple[NodeInfo, ...]
    resource_version: str
    unreadable: int = 0


class Nodes(ABC):
    """Where nodes are listed from."""

    @abstractmethod
    def list(self) -> NodeList:
        """Every node, as of now. Raises ClusterUnavailable."""


class SchedulingQueue(ABC):
    """The scheduler's queue, where rejected pods wait for an event (fact 41)."""

    @abstractmethod
    def wake(self) -> None:
        """Make the scheduler try the pods again that an extender rejected (fact 43). Raises ClusterUnavailable."""


class NoSchedulingQueue(SchedulingQueue):
    """Where there is no scheduler to wake: a dump."""

    def wake(self) -> None:
        return None
