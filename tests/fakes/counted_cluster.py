"""A cluster whose nodes have slots and whose pods request them: the API server, and its published state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from berth.nodecache.feed.changes import reduced_pods
from berth.pods import (
    Binding,
    Created,
    FoundPod,
    PodBinder,
    PodChanged,
    PodNotFound,
    PodTouched,
    Refused,
    ReservedPods,
    Unanswered,
)
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.pools import annotation_of, pool_of
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth.scheduling.objects.pod import PodKey
from berth.scheduling.objects.projection import compact_pod
from tests.builders.nodes import node_with
from tests.builders.pods import pod_object

T = TypeVar("T")

SLOT = "example.com/slot"
COUNTING = Counting((ManagedResource(name=SLOT),))

REQUEST = "example.com/slots"
BY_ANNOTATION = Counting((ManagedResource.model_validate({"name": SLOT, "requests": {"podAnnotation": REQUEST}}),))
"""Slots that pods request by an annotation."""

_SIZES = "sizes"
PERCENT = "example.com/slot-percentage"
_DEVICES = {"sizes": {"nodeLabel": _SIZES}, "percentName": PERCENT}
BY_DEVICE = Counting((ManagedResource.model_validate({"name": SLOT, "devices": _DEVICES}),))
"""Slots of two devices; each device has as many slots as `nodes` gives for the node."""
DEVICES_BY_ANNOTATION = Counting(
    (
        ManagedResource.model_validate(
            {"name": SLOT, "devices": {"sizes": {"nodeLabel": _SIZES}}, "requests": {"podAnnotation": REQUEST}}
        ),
    )
)
"""Slots of two devices, which pods request by an annotation, so a request can change between two attempts to bind."""
SEAT = "example.com/seat"
_SEATS = {"name": SEAT, "capacity": {"allocatable": SLOT}, "requests": {"podAnnotation": REQUEST}}
SLOTS_AND_SEATS = Counting((ManagedResource(name=SLOT), ManagedResource.model_validate(_SEATS)))
"""Slots, which containers request, and as many seats, which pods request by an annotation."""
ZONE = "topology.kubernetes.io/zone"
_FLOATING = ManagedResource.model_validate({"name": SLOT, "capacity": {"value": 8, "scope": "cluster"}})
FLOATING_SLOTS = Counting((_FLOATING,))
"""8 slots of the cluster; nodes do not have slots of their own."""
SLOTS_OF_ZONES = Counting(
    (ManagedResource.model_validate({"name": SLOT, "capacity": {"value": 4, "scope": ZONE, "values": {"b": 6}}}),)
)
"""Slots of zones: 6 of the zone b, and 4 of every other zone."""
LIMITED_SLOTS = Counting(
    (ManagedResource.model_validate({"name": SLOT, "requests": {"podAnnotation": REQUEST}, "perNamespace": 6}),)
)
"""Slots of nodes, which pods request by an annotation; 6 for each namespace."""
_FLOATING_SEATS = {"name": SEAT, "capacity": {"value": 5, "scope": "cluster"}, "requests": {"podAnnotation": REQUEST}}
SLOTS_AND_FLOATING_SEATS = Counting((ManagedResource(name=SLOT), ManagedResource.model_validate(_FLOATING_SEATS)))
"""Slots of nodes, which containers request, and 5 seats of the cluster, which pods request by an annotation."""
FLOATING_SLOTS_AND_SEATS = Counting((_FLOATING, ManagedResource.model_validate(_SEATS)))
"""8 slots of the cluster, which containers request, and seats of nodes, which pods request by an annotation."""
DEVICE = annotation_of(SLOT)
FIRST, SECOND = pool_of(SLOT, 0), pool_of(SLOT, 1)
NAMESPACE = "ml"


@dataclass(slots=True)
class _Pod:
    key: PodKey
    units: int
    version: int
    node: str = ""
    finished: bool = False
    deleting: bool = False
    annotations: dict[str, str] = field(default_factory=dict)
    by_percent: bool = False
    got: dict[str, int] = field(default_factory=dict)
    """The amounts that Berth's Binding gave the pod, by pool, regardless of later annotations."""

    @property
    def state(self) -> tuple[object, ...]:
        """Return the fields of `content` that can change."""
        return self.version, self.node, self.finished, self.deleting, tuple(self.annotations.items()), self.by_percent

    def content(self) -> dict[str, object]:
        found = pod_object(
            self.key.name, self.key.namespace, self.key.uid, node_name=self.node, requests={SLOT: str(self.units)}
        )
        if self.by_percent:
            found["spec"]["containers"][0]["resources"] = {"requests": {PERCENT: str(self.units)}}  # type: ignore[index]
        found["metadata"] |= {"resourceVersion": str(self.version), "annotations": dict(self.annotations)}  # type: ignore[operator]
        if self.deleting:
            found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"  # type: ignore[index]
        if self.finished:
            found["status"] = {"phase": "Succeeded"}
        return found


class CountedCluster(PodBinder, ReservedPods):
    """Every method of the ports is one step. `publish` makes the changes until then visible."""

    def __init__(self) -> None:
        self.nodes: dict[str, int] = {}
        self.zones: dict[str, str] = {}
        """The zone of a node; a node that is missing here does not have the label."""
        self.pods: dict[str, _Pod] = {}
        self.bindings = 0
        self.by_percent = False
        """Whether new pods request a percentage of a device."""
        self._versions = count(1)
        self._uids = count(1)
        self._shown_nodes: dict[str, NodeInfo] = {}
        self._shown_pods: dict[str, Pod] = {}
        self._read: dict[str, tuple[tuple[object, ...], Pod]] = {}
        self._hidden: set[str] = set()
        self._reduced: set[str] = set()

    def create_pod(self, name: str, units: int = 1, namespace: str = NAMESPACE) -> PodKey:
        """Create a pod that requests this number of slots. The same name again creates another pod."""
        key = PodKey(namespace, name, f"uid-{name}-{next(self._uids)}")
        annotations = {REQUEST: str(units)}
        self.pods[name] = _Pod(key, units, next(self._versions), annotations=annotations, by_percent=self.by_percent)
        return key

    def place(self, name: str, node: str) -> None:
        self._change(name).node = node

    def annotate(self, name: str, key: str, value: str | None) -> None:
        """Change an annotation as the owner of the pod; None removes it."""
        annotations = self._change(name).annotations
        annotations.pop(key, None)
        if value is not None:
            annotations[key] = value

    def hide(self, name: str) -> None:
        """Make the pod too large for the cache: the current leader knows it, a new leader does not."""
        self._hidden.add(self.pods[name].key.uid)

    def reduce(self, name: str) -> None:
        """Make the pod too large for the cache, which then has it without some of its fields."""
        self._reduced.add(self.pods[name].key.uid)

    def request(self, name: str, units: int) -> None:
        """Change a waiting pod's request, also in its annotation, as its owner may."""
        self._change(name).units = units
        self.annotate(name, REQUEST, str(units))

    def finish(self, name: str) -> None:
        """End the pod; its object still exists."""
        self._change(name).finished = True

    def begin_deletion(self, name: str) -> None:
        """Begin to delete the pod: its containers are being stopped, and its object still exists."""
        self._change(name).deleting = True

    def delete(self, name: str) -> None:
        del self.pods[name]

    def used(self, node: str) -> int:
        """Return the number of slots that the pods on the node hold."""
        return sum(pod.units for pod in self.pods.values() if pod.node == node and not pod.finished)

    def _change(self, name: str) -> _Pod:
        pod = self.pods[name]
        pod.version = next(self._versions)
        return pod

    def publish(self) -> tuple[dict[str, NodeInfo | None], dict[str, Pod | None]]:
        nodes, pods = dict(map(self._node, self.nodes.items())), dict(map(self._published_pod, self.pods.values()))
        changes = _difference(self._shown_nodes, nodes), _difference(self._shown_pods, pods)
        self._shown_nodes, self._shown_pods = nodes, pods
        return changes

    def published(self) -> tuple[dict[str, NodeInfo | None], dict[str, Pod | None]]:
        pods: dict[str, Pod | None] = {
            key: pod for key, pod in self._shown_pods.items() if pod.finished or pod.uid not in self._hidden
        }
        return dict(self._shown_nodes), pods

    def _node(self, node: tuple[str, int]) -> tuple[str, NodeInfo]:
        name, units = node
        zone = {ZONE: self.zones[name]} if name in self.zones else {}
        found = read_node(node_with(name, allocatable={SLOT: str(units)}, labels={_SIZES: f"{units}_{units}", **zone}))
        assert isinstance(found, NodeInfo)
        return name, found

    def _published_pod(self, pod: _Pod) -> tuple[str, Pod]:
        is_reduced = pod.key.uid in self._reduced
        state, found = self._read.get(pod.key.uid, ((), None))
        if found is None or state != (is_reduced, *pod.state):
            content = pod.content()
            if is_reduced:
                *_, reduced = reduced_pods(compact_pod(content, (REQUEST, DEVICE)))
                content = dict(reduced)
            read = read_pod(content)
            assert isinstance(read, Pod)
            self._read[pod.key.uid] = (is_reduced, *pod.state), read
            found = read
        return f"{pod.key.namespace}/{pod.key.name}", found

    def find(self, pod: PodKey) -> FoundPod | PodNotFound | Unanswered:
        found = self.pods.get(pod.name)
        if found is None:
            return PodNotFound()
        return FoundPod(found.key.uid, found.node, str(found.version), found.deleting, found.content())

    def list_pods(self, is_wanted: Callable[[Pod], bool]) -> tuple[PodKey, ...] | Unanswered:
        pods = ((each.key, read_pod(each.content())) for each in self.pods.values() if not each.finished)
        return tuple(key for key, pod in pods if isinstance(pod, Pod) and is_wanted(pod))

    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | Unanswered:
        found = self.pods.get(pod.name)
        if found is None:
            return PodNotFound()
        if found.key.uid != pod.uid or str(found.version) != resource_version:
            return PodChanged()
        self._change(pod.name)
        return PodTouched()

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        found = self.pods.get(pod_name)
        if found is None:
            return Refused(404, f'pods "{pod_name}" not found')
        return FoundPod(found.key.uid, found.node, str(found.version), False, found.content())

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        found = self.pods.get(binding.pod_name)
        if found is None:
            return Refused(404, f'pods "{binding.pod_name}" not found')
        stale = binding.resource_version and binding.resource_version != str(found.version)
        if found.key.uid != binding.pod_uid or found.node or stale or found.finished:
            return Refused(409, "the object has been modified, or is assigned already")
        self._change(binding.pod_name).node = binding.node
        found.annotations |= binding.annotations
        device = binding.annotations.get(DEVICE)
        found.got = {SLOT if device is None else pool_of(SLOT, int(device)): found.units}
        self.bindings += 1
        return Created()


def _difference(before: Mapping[str, T], now: Mapping[str, T]) -> dict[str, T | None]:
    gone: dict[str, T | None] = dict.fromkeys(before.keys() - now.keys())
    return gone | {key: found for key, found in now.items() if before.get(key) != found}
