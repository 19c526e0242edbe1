"""Pods at the API server: what bind and the watcher ask for and change. Adapters live in cluster/."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodKey

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
    """No answer came: what was asked for may or may not have happened."""

    cause: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """Where a pod is; `node` is empty while it is not bound."""

    pod_uid: str
    node: str


@dataclass(frozen=True, slots=True)
class FoundPod:
    """A pod as the API server has it. content: the object, as decoded from JSON."""

    assignment: Assignment
    resource_version: str
    is_deleting: bool
    content: Mapping[str, object]


class PodBinder(ABC):
    """The calls of the Kubernetes API that bind needs. None repeats anything by itself; timeouts are in seconds."""

    @abstractmethod
    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        """POST the Binding with the pod's UID as precondition, and its resourceVersion where one is given."""

    @abstractmethod
    def assignment(self, namespace: str, pod_name: str, timeout: float) -> Assignment | Refused | Unanswered:
        """GET the pod, consistently."""

    @abstractmethod
    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        """The same, for who needs all of it: the request to bind has no spec."""


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
