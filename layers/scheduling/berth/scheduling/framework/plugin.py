"""The extension points of a plugin, as in kube-scheduler's framework.

A plugin is built once, from validated arguments. For each pod it prepares a state (kube-scheduler's PreFilter and
PreScore), and gets this state for every node. There are two kinds of plugins:

- FilterPlugin and ScorePlugin look at one node at a time. They read only this node and the pod, and do not keep other
  state. So a verdict is cached for all pods of one shape, until the node changes.
- ClusterFilterPlugin and ClusterScorePlugin look at all nodes and their pods. Their state covers the whole snapshot;
  for the next snapshot the changes are applied to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, ClassVar, Generic, Self, cast

from typing_extensions import TypeVar

from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.parts import ALL_PARTS, Parts, SnapshotPart
from berth.scheduling.snapshot.snapshot import Snapshot


class Code(Enum):
    """The codes of statuses, and their effect.

    SUCCESS: the node stays a candidate.
    UNSCHEDULABLE: the node is rejected; evicting pods from it might help.
    UNSCHEDULABLE_AND_UNRESOLVABLE: the node is rejected, and preemption skips it.
    ERROR: the plugin could not decide; the node is rejected like an unresolvable one.
    """

    SUCCESS = "Success"
    UNSCHEDULABLE = "Unschedulable"
    UNSCHEDULABLE_AND_UNRESOLVABLE = "UnschedulableAndUnresolvable"
    ERROR = "Error"


@dataclass(frozen=True, slots=True)
class Status:
    """The verdict of one plugin on one node. A reason is a constant, without names and numbers: the scheduler counts
    equal reasons, and a text that changes between attempts requeues the pod at once (facts 15 and 17)."""

    code: Code
    reasons: tuple[str, ...] = ()
    plugin: str = ""
    reason_codes: tuple[ReasonCode, ...] = field(default=(), compare=False)
    """The code of each reason. Codes are not compared, because the plugin and the reasons determine them."""

    message: str = field(init=False, repr=False, compare=False)
    """The reasons as the pod's event shows them. The text is created once, because every call reads it for every
    rejected node."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", ", ".join(self.reasons))
        if len(self.reason_codes) != len(self.reasons):
            # A single code applies to all reasons.
            one = self.reason_codes[0] if self.reason_codes else ReasonCode.PLUGIN_REASON
            object.__setattr__(self, "reason_codes", (one,) * len(self.reasons))


SUCCESS = Status(Code.SUCCESS)


def unschedulable(plugin: str, *reasons: str, reason_code: ReasonCode = ReasonCode.PLUGIN_REASON) -> Status:
    """Return a status that rejects the node if evictions may help."""
    return Status(Code.UNSCHEDULABLE, reasons, plugin, (reason_code,))


def unresolvable(plugin: str, *reasons: str, reason_code: ReasonCode = ReasonCode.PLUGIN_REASON) -> Status:
    """Return a status that rejects the node if evictions cannot help."""
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons, plugin, (reason_code,))


def error_status(plugin: str, *reasons: str, reason_code: ReasonCode = ReasonCode.PLUGIN_REASON) -> Status:
    """Return a status that rejects the node, because the plugin cannot evaluate it."""
    return Status(Code.ERROR, reasons, plugin, (reason_code,))


class ClusterEvent(StrEnum):
    """A kind of change in the cluster. An assigned pod is a pod that is on a node.

    NODE_UPDATE: a node was added or changed. ASSIGNED_POD_ADD: a pod was added to a node. ASSIGNED_POD_UPDATE: an
    assigned pod changed, for example its labels, or is being deleted. ASSIGNED_POD_DELETE: an assigned pod was removed
    or has ended, a nomination ended, or a pod ended whose node the cache did not show. UNSCHEDULED_POD: a pod without a
    node was created or changed, or has ended. GANG_MEMBER: the same as UNSCHEDULED_POD, for a pod that names a gang.
    POOL_WAIT_ENDED: a pod that waited for a floating resource was removed, or waits for something else. NAMESPACE:
    labels changed. OTHERS: workloads, disruption budgets or priority classes changed.
    """

    NODE_UPDATE = "NodeUpdate"
    NODE_DELETE = "NodeDelete"
    ASSIGNED_POD_ADD = "AssignedPodAdd"
    ASSIGNED_POD_UPDATE = "AssignedPodUpdate"
    ASSIGNED_POD_DELETE = "AssignedPodDelete"
    UNSCHEDULED_POD = "UnscheduledPod"
    GANG_MEMBER = "GangMember"
    POOL_WAIT_ENDED = "PoolWaitEnded"
    POD_GROUP = "PodGroup"
    NAMESPACE = "Namespace"
    OTHERS = "Others"


ClusterEvents = frozenset[ClusterEvent]

ALL_EVENTS: ClusterEvents = frozenset(ClusterEvent)
NODE_EVENTS: ClusterEvents = frozenset({ClusterEvent.NODE_UPDATE})
POD_EVENTS: ClusterEvents = frozenset(
    {ClusterEvent.ASSIGNED_POD_ADD, ClusterEvent.ASSIGNED_POD_UPDATE, ClusterEvent.ASSIGNED_POD_DELETE}
)
EVENTS_ON_ONE_NODE: ClusterEvents = NODE_EVENTS | POD_EVENTS
GANG_EVENTS: ClusterEvents = ALL_EVENTS - {ClusterEvent.UNSCHEDULED_POD, ClusterEvent.OTHERS}
"""The events that can make a gang fit: it needs members and nodes that pass all filters, including kube-scheduler's."""

_BY_PART: Mapping[SnapshotPart, ClusterEvents] = {
    SnapshotPart.NODES: frozenset({ClusterEvent.NODE_UPDATE, ClusterEvent.NODE_DELETE}),
    SnapshotPart.PODS: POD_EVENTS
    | {ClusterEvent.UNSCHEDULED_POD, ClusterEvent.GANG_MEMBER, ClusterEvent.POOL_WAIT_ENDED},
    SnapshotPart.OTHERS: frozenset({ClusterEvent.POD_GROUP, ClusterEvent.NAMESPACE, ClusterEvent.OTHERS}),
}


def events_of(parts: Parts) -> ClusterEvents:
    return frozenset().union(*(_BY_PART[part] for part in parts))


S = TypeVar("S", default=Pod)

MAX_NODE_SCORE = 100


@dataclass(frozen=True, slots=True)
class PluginState(Generic[S]):
    """A plugin's state for a pod. node_names: the only nodes that the pod can go to; None: any node."""

    state: S
    node_names: frozenset[str] | None = None


class PluginFailed(Exception):
    """A custom plugin raised an exception, or returned a wrong type. Only the decision for the current pod fails. If
    the constructor of the plugin failed, the document that names the plugin is invalid.

    plugin: `<module>:<Class>`. node: empty if the call was not for one node. failure: the message without `plugin`.
    """

    def __init__(self, plugin: str, method: str, problem: str, node: str = "") -> None:
        self.plugin = plugin
        self.failure = f"failed in {method}{f' on node {node}' if node else ''}: {problem}"
        super().__init__(f"plugin {plugin} {self.failure}")


FEW = 32


def shape_of(part: Collection[object], pod: Pod) -> Hashable:
    """Return a key for this part of the pod's spec that is fast to hash: the part, or the spec if the part has more
    than FEW items. Pods of different controllers share results if they have equal tolerations, ports or images."""
    return cast(Hashable, part) if len(part) <= FEW else pod.spec


def shape_of_amounts(amounts: Mapping[str, int], pod: Pod) -> Hashable:
    return tuple(amounts.items()) if len(amounts) <= FEW else pod.spec


class Plugin(ABC):
    """The base of all plugins: a name, and the part of the pod that the plugin reads."""

    name: str

    applies_to_exempt_pods: ClassVar[bool] = False
    """True if `filter` is also called for pods that the configuration exempts."""

    reads: ClassVar[Parts] = ALL_PARTS
    """The parts of the cluster's state that the plugin reads. A verb loads only parts that a plugin reads: if no plugin
    reads pods, `NodeInfo.pods` is empty. If filters do not read pods, evictions do not change verdicts. If a filter
    reads pods, bind filters the pod again, so that concurrent binds do not break a rule. Filters and scores that read
    pods also get the pods that are being bound."""

    @property
    def events_to_register(self) -> ClusterEvents:
        """Return the cluster events that can make a rejected pod fit: the watcher wakes the pod only after such events.
        By default these are all events of the parts that the plugin reads; override this method to return fewer."""
        return events_of(self.reads)

    is_reserved: ClassVar[bool] = False
    """True if bind reserves the resources that `filter` checks. Then concurrent binds cannot break the rule, and bind
    does not filter the pod again."""

    def __init__(self, args: Any = None) -> None:  # noqa: B027 # plugins without arguments do not need a constructor
        """Build the plugin from validated arguments. Called once."""

    def with_counting(self, counting: Counting) -> Self:
        """Return the plugin for a configuration that counts these resources. Most plugins ignore them."""
        return self

    def shape(self, pod: Pod) -> Hashable:
        """Return a key of all pod fields that the plugin reads: pods of equal shape get equal verdicts and scores. The
        default has only the spec, namespace, labels and node name: override this if the plugin reads annotations. With
        fewer fields in the key, more pods share a verdict."""
        return pod.spec, pod.label_set, pod.node_name


class FilterPlugin(Plugin, Generic[S]):
    """Decides whether the pod may run on one node (feasibility)."""

    @property
    def events_to_register(self) -> ClusterEvents:
        return events_of(self.reads) & EVENTS_ON_ONE_NODE

    def pre_filter(self, pod: Pod) -> PluginState[S] | Status | None:
        """Return the state for `filter`, a Status to reject the pod on every node, or None if every node passes."""
        return PluginState(cast(S, pod))

    @abstractmethod
    def filter(self, state: S, node: NodeInfo) -> Status:
        """Return SUCCESS, or a status with a code and constant reasons."""


class ScorePlugin(Plugin, Generic[S]):
    """Scores one feasible node for the pod (viability)."""

    normalized: ClassVar[bool] = False
    """True if the plugin overrides `normalize`: a node's score then depends on the other candidates."""

    def pre_score(self, pod: Pod) -> PluginState[S] | Status | None:
        """Return the state for `score`, a Status to end scoring with an error, or None if every node scores 0."""
        return PluginState(cast(S, pod))

    @abstractmethod
    def score(self, state: S, node: NodeInfo) -> int:
        """Return an integer; higher is better. Called for nodes that passed every filter of the profile."""

    def normalize(self, scores: list[int]) -> list[int]:
        """Scale the candidates' scores to the range from 0 to MAX_NODE_SCORE."""
        return scores


class ClusterFilter(ABC):
    """A ClusterFilterPlugin's state for pods of one shape in one snapshot. Immutable."""

    @property
    def skips(self) -> bool:
        """Return whether every node passes. Then `filter` is not called."""
        return False

    @abstractmethod
    def filter(self, node: NodeInfo) -> Status:
        """Return SUCCESS, or a status with a code and constant reasons."""

    @abstractmethod
    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> tuple[ClusterFilter, Collection[str] | None]:
        """Return the state for a later snapshot, and the nodes outside the delta whose verdicts may change (None: all
        nodes). The time for this must depend only on the number of changes."""

    @abstractmethod
    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        """Return the state with one more pod on the node (kube-scheduler's AddPod)."""

    @abstractmethod
    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        """Return the state without this pod of the node (kube-scheduler's RemovePod)."""


class ClusterFilterPlugin(Plugin):
    """Decides whether the pod may run on a node, depending on the pods on all nodes."""

    @abstractmethod
    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter | Status:
        """Return the state for this pod, or a Status to reject the pod on every node."""


class ClusterScore(ABC):
    """A ClusterScorePlugin's state for pods of one shape in one snapshot. Immutable."""

    @abstractmethod
    def scores(self, candidates: NodeRefs, snapshot: Snapshot) -> list[int]:
        """Return the scores, from 0 to MAX_NODE_SCORE, of all candidates. snapshot: the snapshot of this state."""

    @abstractmethod
    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> ClusterScore:
        """Return the state for a later snapshot. The time for this must depend only on the number of changes."""


class ClusterScorePlugin(Plugin):
    """Scores the candidates for the pod, depending on the pods on all nodes."""

    @abstractmethod
    def pre_score(self, pod: Pod, snapshot: Snapshot) -> ClusterScore | Status | None:
        """Return the state for this pod, a Status to end scoring with an error, or None if every node scores 0, also in
        later snapshots."""
