"""What the verbs need from outside. Adapters live in nodecache/ and cluster/."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.outcomes import BindResult, FailureOutcome
from berth.scheduling.configuration.decisions import Decisions
from berth.scheduling.configuration.node_cache import WhenStale
from berth.scheduling.gangs.gang import Gang, OpenGang
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects import Pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from berth.scheduling.snapshot.snapshot import Snapshot

NO_ANNOTATIONS: Mapping[str, str] = MappingProxyType({})
NO_PODS: Mapping[str, Pod] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class CacheUnavailable:
    """There is no snapshot to decide on, or one that is too old; `reason` names cause and remedy."""

    reason: str
    when_stale: WhenStale = WhenStale.FAIL
    outcome: FailureOutcome = FailureOutcome.CACHE_UNAVAILABLE


@dataclass(frozen=True, slots=True)
class LogRange:
    """Positions of the log of announcements. first: all before it have ended. end: the last one; 0 where none is."""

    first: int
    end: int


EMPTY_LOG = LogRange(1, 0)


class CacheState(NamedTuple):
    """Which state a call decides by, for records of decisions. version: of the node cache, as the call read it; 0 where
    it was not read. Of the parts that the decision reads, the cluster has this version or a later one.
    observed_at: of the data, in seconds since the epoch. configuration_hash: empty for the deployed document.
    decisions: where the configuration sends records; None leaves it to the environment."""

    version: int = 0
    observed_at: float = 0.0
    configuration_hash: str = ""
    decisions: Decisions | None = None


UNREAD_CACHE = CacheState()


@dataclass(frozen=True, slots=True)
class PodCoverage:
    """How far a snapshot follows the pods of the API server.

    resource_version: it contains all changes up to this one. observed_at: and all that were made before this time, in
    seconds since the epoch.
    """

    resource_version: str = ""
    observed_at: float = 0.0

    def covers(self, resource_version: str) -> bool | None:
        """Whether the snapshot contains this version of a pod, or a later one. None where that cannot be said."""
        seen = self.resource_version
        if not (seen.isdecimal() and resource_version.isdecimal()):
            return None
        return int(resource_version) <= int(seen)


UNKNOWN_COVERAGE = PodCoverage()


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """What a call decides by: the policy in force, and the cluster as the cache has it.

    counting_refusal: why pods that request counted resources get no decision; empty: they do. log: the announcements
    that were read for the cluster. state: for records of decisions. coverage: how far the cluster follows the pods.
    """

    policy: Policy
    cluster: Snapshot | CacheUnavailable
    counting_refusal: str = ""
    log: LogRange = EMPTY_LOG
    state: CacheState = UNREAD_CACHE
    coverage: PodCoverage = UNKNOWN_COVERAGE


class NodeCache(ABC):
    """The state of the cluster, and the configuration that was applied to it. Neither ever goes back."""

    @abstractmethod
    def current(self, deadline: Deadline = NO_DEADLINE, reads: Parts = NO_PARTS) -> DecisionContext:
        """As last published, at the cost of one read of the head when nothing changed.

        The cluster has the parts that the policy reads. `reads`: what the verb itself reads in addition. After
        the deadline no table is read and nothing is waited for.
        """

    def asked_about(self, pod: Pod) -> None:  # noqa: B027  most caches are of no process that binds
        """A scheduler asks about this pod, and may bind it next."""

    @abstractmethod
    def policy(self, deadline: Deadline = NO_DEADLINE) -> Policy:
        """The policy alone, for requests that bring their nodes with them. It costs a read of the head at the most."""


class OpenGangs(ABC):
    """The gangs that are being bound. filter reads them for members of gangs, and for no other pod."""

    @abstractmethod
    def open_gangs(self, deadline: Deadline = NO_DEADLINE) -> Sequence[OpenGang]:
        """All of them, read consistently. After the deadline no table is read: then those of the read before."""


class NoOpenGangs(OpenGangs):
    """Where no gang is ever open, as in the simulator."""

    def open_gangs(self, deadline: Deadline = NO_DEADLINE) -> Sequence[OpenGang]:
        return ()


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
class Reservation:
    """The node's ledger holds what the pod requests. The entry belongs to this attempt to bind the pod.

    annotations: for the Binding. is_first_attempt: no earlier attempt had the entry, so no earlier Binding can still
    arrive. shares: what this attempt needs, by pool. has_surplus: the entry holds more than that, for a Binding of an
    earlier attempt.
    """

    binding: Binding
    attempt: str
    annotations: Mapping[str, str]
    is_first_attempt: bool
    shares: Mapping[str, int]
    has_surplus: bool = False


Remaining = Callable[[], float]
"""Seconds left until the deadline."""


class CountingRight(ABC):
    """Whether this store counts the cluster's resources. Of several stores at most one does."""

    @abstractmethod
    def refusal(self, timeout: float) -> BindResult | None:
        """Why bind must not reserve; None: it may, for a pod that was read before. timeout: in seconds."""


class Reservations(ABC):
    """The ledger of counted resources, as bind uses it. No method raises when the table cannot be reached."""

    @abstractmethod
    def reserve(
        self, binding: Binding, demands: Sequence[Demand], counting: Counting, remaining: Remaining
    ) -> Reservation | BindResult:
        """Reserve as a new attempt, and take over the entry of an earlier attempt.

        BindResult: the pod has no reservation of this attempt, or the table did not confirm it.
        """

    @abstractmethod
    def release(self, reservation: Reservation, remaining: Remaining) -> None:
        """Release it if this attempt still owns the entry.

        Only after its Binding was refused, and only where `is_first_attempt`.
        """

    @abstractmethod
    def release_surplus(self, reservation: Reservation, remaining: Remaining) -> None:
        """Leave the entry with what this attempt needs if the attempt still owns it. Where the table does not confirm
        it, the entry keeps the surplus until the pod has ended.

        Only after the API server has confirmed that the Binding of this attempt was created: the pod is on its node
        with these shares for good.
        """

    @abstractmethod
    def release_pod(self, binding: Binding, remaining: Remaining) -> None:
        """Release what any attempt reserved for this pod on this node: no Binding of the pod can succeed there."""


@dataclass(frozen=True, slots=True)
class LoggedAnnouncement:
    """A call's announcement in the log. resource_version: of the pod that was judged."""

    position: int
    attempt: str
    resource_version: str


class Announcements(ABC):
    """The log of the pods that bind lets onto nodes. No method raises when the table cannot be reached."""

    @abstractmethod
    def announce(self, binding: Binding, found: FoundPod, deadline: Deadline) -> LoggedAnnouncement | BindResult | None:
        """Judge the pod once more, with all pods that were announced before it, and announce it.

        BindResult: a rule rejects it, or it could not be judged. None: the pod needs no announcement, because
        the configuration lets pods pass that cannot be judged, or only scores look at pods.
        """

    @abstractmethod
    def withdraw(self, announced: LoggedAnnouncement) -> None:
        """Only where no Binding of the call has taken effect or will. If the table does not answer, it expires."""


@dataclass(frozen=True, slots=True)
class GangOfPod:
    """A pod's gang, with its priority.

    topology: the value of the gang's topology key on the node of the Binding; empty where the gang has none. pods: its
    members as the node cache has them, by UID, without exempt pods. domains: the values of the key on their nodes.
    """

    gang: Gang
    topology: str = ""
    pods: Mapping[str, Pod] = field(default_factory=lambda: NO_PODS)
    domains: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class GangMember:
    """A pod of a gang that is being bound. binder: to see whether other members live.

    announce: for rules about other pods, which see the pod from then on. The barrier calls it when the gang is the open
    one, before the member joins; BindResult: it must not join. withdraw: when the gang is not the open one any more.
    """

    of: GangOfPod
    binding: Binding
    demands: tuple[Demand, ...]
    counting: Counting
    binder: PodBinder
    deadline: Deadline
    announce: Callable[[], BindResult | None]
    withdraw: Callable[[], None]


@dataclass(frozen=True, slots=True)
class GangPlace:
    """The gang is committed with this member. reservation: its share; None where it requests nothing counted."""

    reservation: Reservation | None


class GangBarrier(ABC):
    """Where bind waits for the other members of a gang. No method raises when the table cannot be reached."""

    @abstractmethod
    def gang_of(self, pod: Pod, node: str, deadline: Deadline) -> GangOfPod | BindResult | None:
        """The gang that the pod belongs to; None: none. BindResult: it names one that cannot be placed. node: of the
        Binding."""

    @abstractmethod
    def wait(self, member: GangMember) -> GangPlace | BindResult | None:
        """Wait until the gang is committed, and not longer than the deadline allows.

        BindResult: it is not, and the member does not wait any more. None: the gang was committed before and has living
        members, so the pod is bound like any other.
        """
