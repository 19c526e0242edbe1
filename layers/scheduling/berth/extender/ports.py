"""What the verbs need from outside. Adapters live in nodecache/ and cluster/."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from berth.extender.outcomes import BindOutcome
from berth.scheduling.configuration.node_cache import WhenStale
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.snapshot import Snapshot

NO_ANNOTATIONS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CacheUnavailable:
    """There is no snapshot to decide on, or one that is too old; `reason` names cause and remedy."""

    reason: str
    when_stale: WhenStale = WhenStale.FAIL


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """What a call decides by: the policy in force, and the cluster as the cache has it."""

    policy: Policy
    cluster: Snapshot | CacheUnavailable


class NodeCache(ABC):
    """The state of the cluster, and the configuration that was applied to it. Neither ever goes back."""

    @abstractmethod
    def current(self) -> DecisionContext:
        """As last published, at the cost of one read of the head when nothing changed."""

    @abstractmethod
    def policy(self) -> Policy:
        """The policy alone, for requests that bring their nodes with them. It costs a read of the head at the most."""


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
class Held:
    """The node's ledger has what the pod asks for, owned by this attempt to bind it.

    annotations: for the Binding. is_fresh: no earlier attempt held it, so that no Binding but this attempt's can be on
    its way.
    """

    binding: Binding
    attempt: str
    annotations: Mapping[str, str]
    is_fresh: bool


@dataclass(frozen=True, slots=True)
class NotHeld:
    """Nothing was reserved, or it is not known. `reason` is for the pod's event: same cause, same text (fact 17)."""

    outcome: BindOutcome
    reason: str


Remaining = Callable[[], float]
"""Seconds that are left."""


class Reservations(ABC):
    """The ledger of counted resources, as far as bind needs it. No method raises where it cannot be reached."""

    @abstractmethod
    def hold(
        self, binding: Binding, demands: Sequence[Demand], counting: Counting, remaining: Remaining
    ) -> Held | NotHeld:
        """Reserve, as a new attempt; an earlier attempt's reservation for the pod is taken over."""

    @abstractmethod
    def release(self, held: Held, remaining: Remaining) -> None:
        """Give it back, if this attempt still owns it. Only where its Binding was surely not taken, and it is fresh."""

    @abstractmethod
    def forget(self, binding: Binding, remaining: Remaining) -> None:
        """Give back whatever is reserved for this pod on this node: no Binding of it can succeed there any more."""
