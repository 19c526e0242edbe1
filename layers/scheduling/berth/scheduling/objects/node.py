"""A node with its pods and their usage, for plugins that look at one node, and the parser of nodes.

An invalid field is stored as the node's `defect`, which excludes only this node. The text is constant (fact 17)."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, field
from sys import intern
from types import MappingProxyType
from typing import TypeVar

from berth.scheduling.fields.pod_rules import NO_POD_AFFINITY
from berth.scheduling.fields.quantity import fits, wrapped
from berth.scheduling.fields.reading import (
    NO_ANNOTATIONS,
    MalformedField,
    Object,
    UnreadableObject,
    is_string_map,
    name_or_empty,
    read_annotations,
    read_boolean,
    read_object,
    read_object_list,
    read_strings,
)
from berth.scheduling.fields.requests import HostPort
from berth.scheduling.fields.resources import Amounts, read_counted
from berth.scheduling.fields.taints import Taint, read_taints
from berth.scheduling.objects.pod import LabelSet, Pod, PodSpec
from berth.scheduling.objects.projection import select_annotations

K = TypeVar("K")

_NO_PORTS: frozenset[HostPort] = frozenset()


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a node by its pods. Immutable; `plus` and `minus` return a new Usage.

    requested: sums of the pods' requests. non_zero_*: the same, with defaults for containers without requests.
    label_sets: the number of pods with each label set. terminating: the number of terminating pods with each
    label set. specs_with_affinity: the number of pods of each spec that has terms of affinity or anti-affinity.
    specs_with_anti_affinity: the number of pods of each spec that has terms of required anti-affinity.
    """

    requested: Amounts
    non_zero_cpu: int
    non_zero_memory: int
    label_sets: Mapping[LabelSet, int]
    terminating: Mapping[LabelSet, int]
    specs_with_affinity: Mapping[PodSpec, int]
    specs_with_anti_affinity: Mapping[PodSpec, int]
    host_ports: frozenset[HostPort] = _NO_PORTS

    def plus(self, pods: Iterable[Pod]) -> Usage:
        return _sum(self, pods, 1)

    def minus(self, pods: Iterable[Pod], host_ports: frozenset[HostPort]) -> Usage:
        """Subtract these pods, which the usage must include. host_ports: the ports that the remaining pods use."""
        return _sum(self, pods, -1, host_ports)


_NO_PODS: Mapping[LabelSet, int] = MappingProxyType({})
_NO_SPECS: Mapping[PodSpec, int] = MappingProxyType({})
UNUSED = Usage(MappingProxyType({}), 0, 0, _NO_PODS, _NO_PODS, _NO_SPECS, _NO_SPECS)


def host_ports_of(pods: Iterable[Pod]) -> frozenset[HostPort]:
    return frozenset(port for pod in pods for port in pod.spec.host_ports)


def _sum(base: Usage, pods: Iterable[Pod], sign: int, host_ports: frozenset[HostPort] | None = None) -> Usage:
    requested, label_sets = dict(base.requested), dict(base.label_sets)
    terminating: dict[LabelSet, int] = {}
    specs_with_affinity: dict[PodSpec, int] = {}
    cpu, memory = base.non_zero_cpu, base.non_zero_memory
    ports = base.host_ports if host_ports is None else host_ports
    for pod in pods:
        spec, found = pod.spec, pod.label_set
        requests = spec.requests
        for name, amount in requests.placed.items():
            requested[name] = requested.get(name, 0) + sign * amount
        cpu += sign * requests.non_zero_cpu
        memory += sign * requests.non_zero_memory
        label_sets[found] = label_sets.get(found, 0) + sign
        if pod.terminating:
            terminating[found] = terminating.get(found, 0) + sign
        if spec.host_ports and sign > 0:
            ports = ports | frozenset(spec.host_ports)
        if spec.pod_affinity is not NO_POD_AFFINITY and spec.pod_affinity.has_terms:
            specs_with_affinity[spec] = specs_with_affinity.get(spec, 0) + sign
    if sign < 0:
        label_sets = {found: count for found, count in label_sets.items() if count}
    return Usage(
        # Wrap only the final sum at 64 bits: wrapping every addition gives the same result.
        {name: wrapped(amount) for name, amount in requested.items()},
        cpu,
        memory,
        label_sets,
        _added(base.terminating, terminating),
        _added(base.specs_with_affinity, specs_with_affinity),
        _added(
            base.specs_with_anti_affinity,
            {spec: count for spec, count in specs_with_affinity.items() if spec.pod_affinity.anti_required},
        ),
        ports,
    )


def _added(counts: Mapping[K, int], changes: Mapping[K, int]) -> Mapping[K, int]:
    """Add the changes to the counts. Leave out sums of 0."""
    if not changes:
        return counts
    changed = {**counts}
    for key, change in changes.items():
        changed[key] = changed.get(key, 0) + change
    return {key: count for key, count in changed.items() if count}


NOTHING: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """A node's own fields, its pods, and their usage. Immutable and shared between snapshots: a verdict is valid as
    long as the node is the same object.

    defect: the reason why the node cannot be evaluated, if any. ready: the status of the Ready condition, or empty.
    images: sizes in bytes by image name. annotations: in the cache, only the annotations that counting reads.
    """

    name: str
    labels: Mapping[str, str]
    defect: str | None = None
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    phase: str = ""
    ready: str = ""
    allocatable: Amounts = field(default_factory=lambda: NOTHING)
    allowed_pods: int = 0
    images: Mapping[str, int] = field(default_factory=lambda: NOTHING)
    annotations: Mapping[str, str] = field(default_factory=lambda: NO_ANNOTATIONS)
    pods: tuple[Pod, ...] = ()
    usage: Usage = field(default=UNUSED, compare=False, repr=False)
    free: Amounts = field(init=False, compare=False, repr=False)
    """The free part of `allocatable`; negative if the pods request more."""

    def __post_init__(self) -> None:
        if self.usage is UNUSED and self.pods:
            object.__setattr__(self, "usage", UNUSED.plus(self.pods))
        requested, free = self.usage.requested, self.allocatable
        if requested:
            free = {name: wrapped(amount - requested.get(name, 0)) for name, amount in free.items()}
        object.__setattr__(self, "free", free)

    def with_pods(self, pods: Iterable[Pod]) -> NodeInfo:
        return self.with_pods_and_usage(tuple(pods), UNUSED)

    def replacing_pods(self, uids: Container[str], pods: Collection[Pod]) -> NodeInfo:
        """Return the node with these pods and without the pods of these UIDs; this object if the pods do not change."""
        stay = tuple(pod for pod in self.pods if pod.uid not in uids)
        usage = self.usage
        if len(stay) < len(self.pods):
            usage = usage.minus((pod for pod in self.pods if pod.uid in uids), host_ports_of(stay)) if stay else UNUSED
        elif not pods:
            return self
        return self.with_pods_and_usage((*stay, *pods), usage.plus(pods) if pods else usage)

    def with_pods_of(self, earlier: NodeInfo) -> NodeInfo:
        return self.with_pods_and_usage(earlier.pods, earlier.usage)

    def with_pods_and_usage(self, pods: tuple[Pod, ...], usage: Usage) -> NodeInfo:
        """Return the node with these pods and usage. Preemption uses this: `replace` takes three times as long."""
        return NodeInfo(
            self.name,
            self.labels,
            self.defect,
            self.taints,
            self.unschedulable,
            self.phase,
            self.ready,
            self.allocatable,
            self.allowed_pods,
            self.images,
            self.annotations,
            pods,
            usage,
        )


NO_LABELS = MappingProxyType[str, str]({})

LABELS_NOT_STRINGS = "node(s) had labels that are not strings"
SPEC_UNREADABLE = "node(s) had a spec that cannot be read"
STATUS_UNREADABLE = "node(s) had a status that cannot be read"

_KEPT = {
    "metadata": ("name", "labels"),
    "spec": ("taints", "unschedulable"),
    "status": ("allocatable", "phase", "images", "conditions"),
}


def read_node(obj: object) -> NodeInfo | UnreadableObject:
    """Read a v1.Node, without pods. Return UnreadableObject if it does not have a name."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(obj, dict) or not isinstance(metadata, dict) or not isinstance(name, str) or not name:
        return UnreadableObject("a node has no metadata.name")
    labels = metadata.get("labels")
    if labels is None:
        labels = NO_LABELS
    elif not is_string_map(labels):
        return NodeInfo(name, NO_LABELS, LABELS_NOT_STRINGS)
    try:
        spec = read_object(obj.get("spec"), "Node.spec")
        taints = read_taints(spec.get("taints"))
        unschedulable = read_boolean(spec.get("unschedulable"), "Node.spec.unschedulable")
    except MalformedField:
        return NodeInfo(name, labels, SPEC_UNREADABLE)
    try:
        status = read_object(obj.get("status"), "Node.status")
        allocatable, allowed_pods = read_counted(status.get("allocatable"), "Node.status.allocatable")
        return NodeInfo(
            name,
            labels,
            taints=taints,
            unschedulable=unschedulable,
            phase=name_or_empty(status.get("phase")),
            ready=_read_ready(status),
            allocatable=allocatable,
            allowed_pods=allowed_pods,
            images=_read_images(status),
            annotations=read_annotations(metadata),
        )
    except MalformedField:
        return NodeInfo(name, labels, STATUS_UNREADABLE)


def trimmed_node(obj: Object, annotated: Container[str] = ()) -> Object:
    """Return the fields of a node that scheduling needs: `read_node` reads the same node from them. Keep only the
    status of the Ready condition: with its time, each heartbeat would be a change. annotated: annotations to keep."""
    found: Object = {}
    for part, names in _KEPT.items():
        value = obj.get(part)
        if isinstance(value, dict):
            picked = select_annotations(value, annotated) if part == "metadata" else {}
            value = {name: value[name] for name in names if value.get(name) is not None} | picked
            if isinstance(conditions := value.get("conditions"), list):
                value["conditions"] = _readiness(conditions)
        if value is not None and value != {}:
            found[part] = value
    return found


def _readiness(conditions: list[object]) -> list[object]:
    """Keep the status of the Ready condition. Keep entries of the wrong type, so that the parser reports them."""
    return [
        {name: item[name] for name in ("type", "status") if name in item} if isinstance(item, dict) else item
        for item in conditions
        if not isinstance(item, dict) or item.get("type") == "Ready"
    ]


def _read_ready(status: Object) -> str:
    for condition in read_object_list(status.get("conditions"), "Node.status.conditions"):
        if condition.get("type") == "Ready":
            return name_or_empty(condition.get("status"))
    return ""


def _read_images(status: Object) -> Mapping[str, int]:
    """Return the sizes of images by name. Names are interned, because most nodes have the same images."""
    if status.get("images") is None:
        return NOTHING
    found: dict[str, int] = {}
    for image in read_object_list(status.get("images"), "Node.status.images"):
        size = image.get("sizeBytes")
        for name in read_strings(image.get("names"), "Node.status.images[].names"):
            found[intern(name)] = size if isinstance(size, int) and fits(size) else 0
    return found or NOTHING
