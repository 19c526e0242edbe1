"""Pods at the API server: what bind and the watcher ask for and change. Adapters live in cluster/."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import FAILED, SUCCEEDED, PodKey

NO_ANNOTATIONS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Binding:
    """The pod, named and identified, and the node it shall run on.

    resource_version: the pod must still be of this one; empty: of any. annotations: what the API server writes onto the
    pod in the same step.
    """

    namespace: str
    pod_name: str
    pod_uid: str
    node: str
    resource_version: str = ""
    annotations: Mapping[str, str] = field(default_factory=lambda: NO_ANNOTATIONS)


@dataclass(frozen=True, slots=True)
class Created:
    """The API server took the Binding."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The API server said no; `message` is its own."""

    status: int
    message: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """No usable answer came: what was asked for may or may not have happened. `cause` says why."""

    cause: str


@dataclass(frozen=True, slots=True)
class FoundPod:
    """A pod as the API server has it. It may be another pod than the requested one: compare the UID.

    node: empty while the pod is not bound. deleting: it is being deleted, and may still run. content: the object, as
    decoded from JSON.
    """

    uid: str
    node: str
    resource_version: str
    deleting: bool
    content: Mapping[str, object]

    @property
    def finished(self) -> bool:
        """Return whether the pod has ended, and its object still exists."""
        status = self.content.get("status")
        return isinstance(status, Mapping) and status.get("phase") in (SUCCEEDED, FAILED)


class PodBinder(ABC):
    """The calls of the Kubernetes API that bind needs. None repeats anything by itself; timeouts are in seconds."""

    @abstractmethod
    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        """POST the Binding with the pod's UID as precondition, and its resourceVersion where one is given."""

    @abstractmethod
    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        """GET the pod, consistently: the request to bind has no spec."""


@dataclass(frozen=True, slots=True)
class PodNotFound:
    """There is no pod of this name."""


@dataclass(frozen=True, slots=True)
class PodTouched:
    """The pod has a new resourceVersion: the API server refuses every Binding that was sent before."""


@dataclass(frozen=True, slots=True)
class PodChanged:
    """The pod has another UID or resourceVersion than given, so it was not touched."""


class ReservedPods(ABC):
    """Pods with reservations. No method retries, and none creates a pod."""

    @abstractmethod
    def find(self, pod: PodKey) -> FoundPod | PodNotFound | Unanswered:
        """The pod of this name, by a consistent GET."""

    @abstractmethod
    def list_pods(self, is_wanted: Callable[[Pod], bool]) -> tuple[PodKey, ...] | Unanswered:
        """The wanted pods that have not ended, by a consistent list of all pods of the cluster."""

    @abstractmethod
    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | Unanswered:
        """Change an annotation of the pod if it still has this UID and resourceVersion."""
