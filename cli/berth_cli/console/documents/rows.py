"""Nodes and pods as the page shows them: what is kept of a snapshot, and nothing else of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, IntFlag

from berth.scheduling.fields.resources import PODS
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.device_annotation import resource_of
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.objects.pod_group import gang_names

NO_NODE = -1


class NodeFlag(IntFlag):
    """The numbers are part of the page's documents. DEFECT: a field cannot be read, so nothing is placed there."""

    NONE = 0
    NOT_READY = 1
    UNSCHEDULABLE = 2
    DEFECT = 4


class PodState(IntEnum):
    """The numbers are part of the page's documents. UNKNOWN_NODE: it is on a node that is not in the snapshot."""

    ON_NODE = 0
    PENDING = 1
    GATED = 2
    TERMINATING = 3
    UNKNOWN_NODE = 4


@dataclass(frozen=True, slots=True)
class NodeRow:
    """allocatable, used: by resource; cpu in thousandths. Counted resources have the sum of their devices, and replace
    an entry of the node's allocatable of the same name."""

    name: str
    flags: NodeFlag
    labels: Mapping[str, str]
    taints: tuple[str, ...]
    allocatable: Mapping[str, int]
    used: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PodRow:
    """node: the id of its node's row; NO_NODE without one. controller: kind and name; empty without one. gang: the name
    of the gang that it asks for; empty without one."""

    namespace: str
    name: str
    node: int
    state: PodState
    priority: int
    controller: str
    scheduler: str
    gang: str
    requests: Mapping[str, int]


def node_row(node: NodeInfo, counting: Counting) -> NodeRow:
    """The row of one node."""
    allocatable = {**node.allocatable, PODS: node.allowed_pods}
    used = {name: node.usage.requested.get(name, 0) for name in node.allocatable} | {PODS: len(node.pods)}
    if counting.counts:
        capacity = counting.capacity(node)
        counted = _by_resource(capacity)
        held = _by_resource(counting.used(node.pods, capacity)) if counted else {}
        allocatable |= counted
        used |= {name: held.get(name, 0) for name in counted}
    flags = NodeFlag.NONE
    if node.ready not in ("", "True"):
        flags |= NodeFlag.NOT_READY
    if node.unschedulable:
        flags |= NodeFlag.UNSCHEDULABLE
    if node.defect is not None:
        flags |= NodeFlag.DEFECT
    return NodeRow(node.name, flags, node.labels, tuple(_taints(node)), allocatable, used)


def pod_row(pod: Pod, node: int, *, is_known: bool = True) -> PodRow:
    """The row of one pod. node: the id of its node's row. is_known: whether its node is in the snapshot."""
    controller, spec = pod.spec.controller, pod.spec
    names = gang_names(pod)
    return PodRow(
        pod.namespace,
        pod.name,
        node,
        _state(pod, is_known=is_known),
        spec.priority or 0,
        "" if controller is None else f"{controller.kind}/{controller.name}",
        spec.scheduler_name,
        next(iter(names), ""),
        spec.requests.placed if pod.node_name else spec.requests.asked,
    )


def _state(pod: Pod, *, is_known: bool) -> PodState:
    if pod.terminating:
        return PodState.TERMINATING
    if pod.node_name:
        return PodState.ON_NODE if is_known else PodState.UNKNOWN_NODE
    return PodState.GATED if pod.spec.gated else PodState.PENDING


def _taints(node: NodeInfo) -> Iterator[str]:
    for taint in node.taints:
        yield f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


def _by_resource(pools: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for pool, amount in pools.items():
        name = resource_of(pool)
        found[name] = found.get(name, 0) + amount
    return found
