"""The extension points of a plugin: kube-scheduler's framework, reduced to what an extender is asked.

A plugin is built once from validated arguments. Once a pod it prepares what it needs of the pod (kube-scheduler's
PreFilter and PreScore); what it prepared is passed to it for every node. There are two kinds:

- FilterPlugin and ScorePlugin look at one node at a time. They read nothing else and keep nothing, so that a verdict
  can be remembered for pods of one shape for as long as the node is the same object.
- ClusterFilterPlugin and ClusterScorePlugin look at all nodes and their pods. What they prepare counts over the whole
  snapshot, and is brought on to the next one by what has changed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Self, cast

from typing_extensions import TypeVar

from berth.scheduling.framework.status import Status
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.node_positions import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot

S = TypeVar("S", default=Pod)

MAX_NODE_SCORE = 100


@dataclass(frozen=True, slots=True)
class PluginState(Generic[S]):
    """What a plugin made of a pod. node_names: the only nodes the pod can go to, None for any."""

    state: S
    node_names: frozenset[str] | None = None


class Plugin(ABC):
    """What every plugin has: a name, and the part of the pod it reads."""

    name: str

    applies_to_exempt_pods: ClassVar[bool] = False
    """Whether `filter` is also asked about pods that the configuration exempts."""

    def __init__(self, args: Any = None) -> None:  # noqa: B027  # a plugin that takes no arguments needs no constructor
        """Built once, from validated arguments."""

    def with_counting(self, counting: Counting) -> Self:
        """The plugin for a configuration that counts these resources. Most do not look at them."""
        return self

    def shape(self, pod: Pod) -> Hashable:
        """All that the plugin reads of the pod: pods of equal shape get equal verdicts and scores.

        By default all but what makes it this one pod: its name, its UID, its times. A plugin that reads less says so
        here, and its verdicts serve more pods.
        """
        return pod.spec, pod.label_set, pod.node_name


class FilterPlugin(Plugin, Generic[S]):
    """Says of one node whether the pod may run there (feasibility)."""

    reads_pods: ClassVar[bool] = True
    """Whether `filter` looks at the pods of the node. Where none does, preemption asks nobody about victims."""

    def pre_filter(self, pod: Pod) -> PluginState[S] | Status | None:
        """What `filter` is given; a Status rejects the pod for every node; None: the plugin passes every node."""
        return PluginState(cast(S, pod))

    @abstractmethod
    def filter(self, state: S, node: NodeInfo) -> Status:
        """SUCCESS, or a code and constant reasons."""


class ScorePlugin(Plugin, Generic[S]):
    """Says of one feasible node how much the pod should run there (viability)."""

    normalized: ClassVar[bool] = False
    """Whether `normalize` does anything, that is: whether a node's score depends on the other candidates."""

    def pre_score(self, pod: Pod) -> PluginState[S] | Status | None:
        """What `score` is given; a Status is an error and ends scoring; None: 0 for every node."""
        return PluginState(cast(S, pod))

    @abstractmethod
    def score(self, state: S, node: NodeInfo) -> int:
        """An integer, higher is better; called for nodes that passed every filter of the profile."""

    def normalize(self, scores: list[int]) -> list[int]:
        """The candidates' scores on the scale of 0 to MAX_NODE_SCORE."""
        return scores


class ClusterFilter(ABC):
    """A ClusterFilterPlugin's state for pods of one shape in one snapshot. Immutable."""

    @property
    def skips(self) -> bool:
        """Whether every node passes; then nothing else is asked of it."""
        return False

    @abstractmethod
    def filter(self, node: NodeInfo) -> Status:
        """SUCCESS, or a code and constant reasons."""

    @abstractmethod
    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> tuple[ClusterFilter, Collection[str] | None]:
        """The state for a later snapshot, and the nodes of which the verdict may be another besides those of the delta.

        None: any node. It takes time for what changed alone.
        """

    @abstractmethod
    def with_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        """As if the pod were on the node, too (kube-scheduler's AddPod)."""

    @abstractmethod
    def without_pod(self, pod: Pod, node: NodeInfo) -> ClusterFilter:
        """As if the pod, counted so far, had left the node (kube-scheduler's RemovePod)."""


class ClusterFilterPlugin(Plugin):
    """Says whether the pod may run on a node, given what runs on all nodes."""

    @abstractmethod
    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter | Status:
        """The state for this pod; a Status rejects the pod for every node."""


class ClusterScore(ABC):
    """A ClusterScorePlugin's state for pods of one shape in one snapshot. Immutable."""

    @abstractmethod
    def scores(self, candidates: NodeRefs, snapshot: Snapshot) -> list[int]:
        """The scores of these nodes, which are all there are to choose from, on the scale of 0 to MAX_NODE_SCORE.

        snapshot: the one that the state is for.
        """

    @abstractmethod
    def updated_to(self, snapshot: Snapshot, delta: SnapshotDelta) -> ClusterScore:
        """The state for a later snapshot. It takes time for what changed alone."""


class ClusterScorePlugin(Plugin):
    """Says how much the pod should run on each candidate, given what runs on all nodes."""

    @abstractmethod
    def pre_score(self, pod: Pod, snapshot: Snapshot) -> ClusterScore | Status | None:
        """The state for this pod; a Status is an error and ends scoring; None: 0 for every node, now and later."""
