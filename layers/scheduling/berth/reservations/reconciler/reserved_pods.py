"""What the watcher asks the API server before it gives a reservation back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from berth.reservations.ledger.entry import PodKey


@dataclass(frozen=True, slots=True)
class Found:
    """A pod of this name, which may be another than the one that was asked for: see its UID. node: empty while it is
    not bound. finished: it has ended, and its object is still there."""

    uid: str
    node: str
    resource_version: str
    finished: bool = False


@dataclass(frozen=True, slots=True)
class NotFound:
    """There is no pod of this name."""


@dataclass(frozen=True, slots=True)
class Touched:
    """Its resourceVersion is another one now: every Binding that was sent before will be refused."""


@dataclass(frozen=True, slots=True)
class Changed:
    """It is not as it was seen, and was not touched."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """No answer, or none that tells: what was asked for may or may not have happened. `cause` names a remedy."""

    cause: str


class ReservedPods(ABC):
    """Pods that something is reserved for. Neither method repeats anything by itself, and neither creates a pod."""

    @abstractmethod
    def find(self, pod: PodKey) -> Found | NotFound | Unknown:
        """The pod of this name, as of now: a consistent GET."""

    @abstractmethod
    def touch(self, pod: PodKey, resource_version: str) -> Touched | Changed | NotFound | Unknown:
        """Change an annotation of the pod if UID and resourceVersion are still these."""
