"""Pods, as decisions use them. A pod shares its labels and spec with pods whose labels and spec are equal.

The pods of one controller have the same fields that placement depends on. So LabelSet and PodSpec are interned: pods
with equal values share one object. 150,000 pods take little memory then, and a result for one label set, such as
whether a selector matches it, is valid for all its pods.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from berth.scheduling.fields.node_affinity import NO_NODE_AFFINITY, NodeAffinity
from berth.scheduling.fields.pod_rules import NO_POD_AFFINITY, PodAffinity, TopologySpreadConstraint
from berth.scheduling.fields.reading import NO_ANNOTATIONS
from berth.scheduling.fields.requests import NO_IMAGES, HostPort, Images, Requests
from berth.scheduling.fields.taints import Toleration

SUCCEEDED = "Succeeded"
FAILED = "Failed"


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class LabelSet:
    """The part of a pod that selectors match. It is compared by identity, so it is a fast key."""

    namespace: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Controller:
    api_version: str
    kind: str
    name: str


NO_REQUESTS = Requests({}, {}, 0, 0, {})


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class PodSpec:
    """The part of a pod that plugins read in addition to its labels. Compared by identity.

    source: the JSON from which the spec was read: a v1.Pod with only these fields. The spec of a pod on a node lacks
    the fields that only its own placement needs: node selector, node affinity, tolerations, spread constraints, images,
    priority class and preemption policy.
    """

    namespace: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    controller: Controller | None = None
    requests: Requests = NO_REQUESTS
    host_ports: tuple[HostPort, ...] = ()
    pod_affinity: PodAffinity = NO_POD_AFFINITY
    node_selector: Mapping[str, str] | None = None
    node_affinity: NodeAffinity = NO_NODE_AFFINITY
    tolerations: tuple[Toleration, ...] = ()
    topology_spread: tuple[TopologySpreadConstraint, ...] = ()
    images: Images = NO_IMAGES
    gated: bool = False
    scheduling_group: str = ""
    source: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod. Times are seconds since the epoch.

    disruption_target: whether the scheduler has preempted the pod. annotations: for a pod in the cache, only the
    annotations that Berth reads. assumed_shares: the amounts that are reserved for the pod, if it is assumed (see
    `AssumedPod`). created_at: for a pod in the cache, set only if the pod waits and gangs are enabled. waits_for_pool:
    whether Berth rejected the pod because a floating pool has too little left.
    """

    name: str
    uid: str
    label_set: LabelSet
    spec: PodSpec
    node_name: str = ""
    nominated_node: str = ""
    phase: str = ""
    start_time: float | None = None
    terminating: bool = False
    disruption_target: bool = False
    annotations: Mapping[str, str] = field(default_factory=lambda: NO_ANNOTATIONS, hash=False)
    assumed_shares: Mapping[str, int] | None = field(default=None, hash=False)
    created_at: float | None = field(default=None, compare=False)
    waits_for_pool: bool = False

    @property
    def namespace(self) -> str:
        return self.label_set.namespace

    @property
    def labels(self) -> Mapping[str, str]:
        return self.label_set.labels

    @property
    def priority(self) -> int | None:
        """The priority; None if the API server has not resolved it, which counts as 0."""
        return self.spec.priority

    @property
    def scheduler_name(self) -> str:
        return self.spec.scheduler_name

    @property
    def controller_kind(self) -> str:
        return "" if self.spec.controller is None else self.spec.controller.kind

    @property
    def finished(self) -> bool:
        return self.phase in (SUCCEEDED, FAILED)


@dataclass(frozen=True, slots=True)
class PodKey:
    """A pod's namespace, name and UID. A UID is never reused."""

    namespace: str
    name: str
    uid: str
