"""The port to a cluster that the console shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum

from berth.configuration.store import ActiveConfiguration
from berth.scheduling.snapshot.snapshot import Snapshot


class SourceKind(StrEnum):
    """What is read. The names are part of the page's documents. SERVER: a berth serve, which gives out no cluster."""

    DUMP = "dump"
    CLUSTER = "cluster"
    NODE_CACHE = "node-cache"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class ObservedCluster:
    """The cluster at one moment.

    observed_at: all changes until then are in it; seconds since the epoch. configured: what decides. problem: why it
    cannot be brought up to date; empty if it can.
    """

    snapshot: Snapshot
    observed_at: float
    configured: ActiveConfiguration
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ClusterNotObserved:
    """Nothing was read yet. reason: why, and what to do."""

    reason: str


class ClusterSource(ABC):
    """For one thread. Nothing is written to the cluster or to a table."""

    @property
    @abstractmethod
    def kind(self) -> SourceKind:
        """What is read."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The file, the stack or the server, for people."""

    @abstractmethod
    def observe(self, timeout: float) -> ObservedCluster | ClusterNotObserved:
        """The cluster as of now. Waits up to `timeout` seconds for a change, and returns at the first one."""

    @abstractmethod
    def close(self) -> None:
        """End what runs in the background."""
