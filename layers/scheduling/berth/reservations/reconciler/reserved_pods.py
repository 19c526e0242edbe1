"""The port to the API server: what the watcher asks about a pod before it releases the pod's reservation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from berth.reservations.ledger.entry import PodKey
from berth.scheduling.objects import Pod


@dataclass(frozen=True, slots=True)
class PodFound:
    """The pod of this name. It may be another pod than the requested one: compare the UID.

    node: empty while the pod is not bound. finished: the pod has ended, and its object still exists. deleting: it is
    being deleted, and may still run.
    """

    uid: str
    node: str
    resource_version: str
    finished: bool = False
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class PodNotFound:
    """There is no pod of this name."""


@dataclass(frozen=True, slots=True)
class PodTouched:
    """The pod has a new resourceVersion: the API server refuses every Binding that was sent before."""


@dataclass(frozen=True, slots=True)
class PodChanged:
    """The pod has another UID or resourceVersion than given, so it was not touched."""


@dataclass(frozen=True, slots=True)
class PodUnknown:
    """The API server gave no usable answer; a touch may or may not have happened. `cause` names a remedy."""

    cause: str


class ReservedPods(ABC):
    """Pods with reservations. No method retries, and none creates a pod."""

    @abstractmethod
    def find(self, pod: PodKey) -> PodFound | PodNotFound | PodUnknown:
        """The pod of this name, by a consistent GET."""

    @abstractmethod
    def list_pods(self, is_wanted: Callable[[Pod], bool]) -> tuple[PodKey, ...] | PodUnknown:
        """The wanted pods that have not ended, by a consistent list of all pods of the cluster."""

    @abstractmethod
    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | PodUnknown:
        """Change an annotation of the pod if it still has this UID and resourceVersion."""
