"""What the verbs need from outside. Adapters live in nodecache/ and cluster/."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from berth.scheduling.freshness import WhenStale
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class CacheUnavailable:
    """There is no snapshot to decide on, or one that is too old; `reason` names cause and remedy."""

    reason: str
    when_stale: WhenStale = WhenStale.FAIL


@dataclass(frozen=True, slots=True)
class Basis:
    """What a call decides by: the policy in force, and the cluster as the cache has it."""

    policy: Policy
    cluster: Snapshot | CacheUnavailable


class NodeCache(ABC):
    """The state of the cluster, and the configuration that was applied to it. Neither ever goes back."""

    @abstractmethod
    def current(self) -> Basis:
        """As last published, at the cost of one read of the head when nothing changed."""

    @abstractmethod
    def policy(self) -> Policy:
        """The policy alone, for requests that bring their nodes with them. It costs a read of the head at the most."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The pod, named and identified, and the node it shall run on."""

    namespace: str
    pod_name: str
    pod_uid: str
    node: str


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


class PodBinder(ABC):
    """The two calls of the Kubernetes API that bind needs. Neither repeats anything by itself."""

    @abstractmethod
    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        """POST the Binding with the pod's UID as precondition; `timeout` in seconds."""

    @abstractmethod
    def assignment(self, namespace: str, pod_name: str, timeout: float) -> Assignment | Refused | Unanswered:
        """GET the pod, consistently."""
