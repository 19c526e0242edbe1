"""The ports through which bind and the watcher read and change pods at the API server. cluster/ has the adapters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import FAILED, SUCCEEDED, PodKey

DEFAULT_SCHEDULER = "default-scheduler"
"""The API server's default of `spec.schedulerName`."""

BERTH_SCHEDULERS = frozenset({"berth-scheduler"})
"""The schedulers from which bind accepts pods, unless a deployment names others."""


@dataclass(frozen=True, slots=True)
class Binding:
    """Assigns a pod to a node. resource_version: the version that the pod must still have; empty for any. annotations:
    the API server adds them to the pod in the same request."""

    namespace: str
    pod_name: str
    pod_uid: str
    node: str
    resource_version: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Created:
    """The API server accepted the Binding."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The API server rejected the request. `message`: the server's message."""

    status: int
    message: str


@dataclass(frozen=True, slots=True)
class Unanswered:
    """There is no usable answer: the server may or may not have executed the request. `cause`: the reason."""

    cause: str


@dataclass(frozen=True, slots=True)
class FoundPod:
    """A pod at the API server. It may be a different pod of the same name: compare the UID. node: empty if the pod is
    not bound. deleting: the pod is being deleted, and may still run. content: the decoded JSON object."""

    uid: str
    node: str
    resource_version: str
    deleting: bool
    content: Mapping[str, object]

    @property
    def scheduler(self) -> str:
        """Return the pod's schedulerName, which never changes."""
        spec = self.content.get("spec")
        return str((spec.get("schedulerName") if isinstance(spec, Mapping) else "") or DEFAULT_SCHEDULER)

    @property
    def finished(self) -> bool:
        status = self.content.get("status")
        return isinstance(status, Mapping) and status.get("phase") in (SUCCEEDED, FAILED)


class PodBinder(ABC):
    """The calls of the Kubernetes API that bind needs. They are not retried; timeouts are in seconds."""

    @abstractmethod
    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        """POST the Binding. The pod's UID is a precondition, and so is its resourceVersion if it is given."""

    @abstractmethod
    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        """GET the pod with a consistent read: bind needs the spec, which its request does not contain."""


@dataclass(frozen=True, slots=True)
class PodNotFound:
    """A pod of this name does not exist."""


@dataclass(frozen=True, slots=True)
class PodTouched:
    """The pod has a new resourceVersion: the API server rejects all Bindings that require an earlier one."""


@dataclass(frozen=True, slots=True)
class PodChanged:
    """The pod was not touched, because its UID or resourceVersion differs."""


class ReservedPods(ABC):
    """Reads and touches pods with reservations. Methods do not retry, and do not create pods."""

    @abstractmethod
    def find(self, pod: PodKey) -> FoundPod | PodNotFound | Unanswered:
        """GET the pod of this name with a consistent read."""

    @abstractmethod
    def list_pods(self, is_wanted: Callable[[Pod], bool]) -> tuple[PodKey, ...] | Unanswered:
        """Return the wanted pods that have not ended, from a consistent list of all pods of the cluster."""

    @abstractmethod
    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | Unanswered:
        """Change an annotation of the pod if it still has this UID and resourceVersion."""
