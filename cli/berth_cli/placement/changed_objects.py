"""Changes the objects of a dump as an operator and the cluster's controllers would, before the scheduler acts. The
given objects are not modified; the results share their unchanged parts.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice

import orjson

from berth.cluster.dump_objects import DEFAULT_NAMESPACE
from berth.scheduling.fields.reading import Object, part
from berth.scheduling.objects import NodeInfo
from berth.scheduling.objects.projection import controller_of
from berth_cli.sources.dump.manifests import as_new_pod
from berth_cli.sources.node_document import node_document
from berth_cli.terminal.input_files import NoSuchNode

PodName = tuple[str, str]
"""Namespace and name. A recreated pod has another UID."""

EVERY_NODE = ("DaemonSet", "Node")
"""The kinds of owners whose pods belong to one node: DaemonSet, and Node, which owns the mirror pods of static pods."""

_HOSTNAME = "kubernetes.io/hostname"
_STATE_OF_A_NODE = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
    "karpenter.sh/disrupt",
    "karpenter.sh/unregistered",
)
_MIRROR = "kubernetes.io/config.mirror"


@dataclass(frozen=True, slots=True)
class AddNodes:
    """Adds `count` nodes like the node `like`, with copies of its pods that run on every node."""

    count: int
    like: str


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of one call. Nodes are added first, so that a drained node can be replaced by nodes like it."""

    add_nodes: tuple[AddNodes, ...] = ()
    drain: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.add_nodes or self.drain)


@dataclass(slots=True)
class ChangedObjects:
    """The objects after the changes. `created`: pods that the scheduler must place because of the changes. `notes`:
    other effects of the changes."""

    objects: list[Object]
    created: set[PodName] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def change_objects(objects: Sequence[Object], changes: Changes) -> ChangedObjects:
    """Return the objects after the changes. Raises NoSuchNode if the node of a change is missing from the dump."""
    nodes = [str(part(obj, "metadata").get("name")) for obj in objects if obj.get("kind") == "Node"]
    for name in (*(each.like for each in changes.add_nodes), *changes.drain):
        if name not in nodes:
            raise NoSuchNode("the dump", name, nodes)
    found = ChangedObjects(list(objects))
    taken = set(nodes)
    for addition in changes.add_nodes:
        found.objects += list(_added(addition, objects, taken))
    if changes.drain:
        _drain(found, set(changes.drain))
    return found


def pod_name(obj: Object) -> PodName:
    """Return namespace and name of an object."""
    metadata = part(obj, "metadata")
    return str(metadata.get("namespace") or DEFAULT_NAMESPACE), str(metadata.get("name"))


def node_of(pod: Object) -> str:
    """Return the pod's node; empty if it does not have one."""
    return str(part(pod, "spec").get("nodeName") or "")


def is_leaving(pod: Object) -> bool:
    """Return whether the pod has ended or is being deleted."""
    has_ended = part(pod, "status").get("phase") in ("Succeeded", "Failed")
    return has_ended or bool(part(pod, "metadata").get("deletionTimestamp"))


def runs_on_every_node(pod: Object) -> bool:
    """Return whether the pod belongs to a DaemonSet or is static: `kubectl drain` leaves it on its node."""
    return _controller_kind(pod) in EVERY_NODE or _MIRROR in part(part(pod, "metadata"), "annotations")


def _controller_kind(pod: Object) -> str:
    """Return the kind of the pod's controller; empty without a controller."""
    owner = controller_of(part(pod, "metadata").get("ownerReferences"))
    return "" if owner is None else str(owner.get("kind"))


def _added(addition: AddNodes, objects: Iterable[Object], taken: set[str]) -> Iterator[Object]:
    """Yield new nodes like a node of the dump, and copies of its pods that run on every node."""
    model: Object = {}
    agents: list[Object] = []
    for obj in objects:
        if obj.get("kind") == "Node" and part(obj, "metadata").get("name") == addition.like:
            model = obj
        elif obj.get("kind") == "Pod" and node_of(obj) == addition.like and runs_on_every_node(obj):
            agents.append(obj)
    for name in islice(free_names(addition.like, taken), addition.count):
        taken.add(name)
        yield node_like(model, name)
        for agent in agents:
            yield _agent_on(agent, name)


def free_names(like: str, taken: Container[str]) -> Iterator[str]:
    """Yield unused names for new nodes that are like this node."""
    return (name for number in count(1) if (name := f"{like}-new-{number}") not in taken)


def is_node_state(key: str) -> bool:
    """Return whether the taint is set because of a node's state, such as not ready, cordoned or being removed."""
    return key.startswith(_STATE_OF_A_NODE)


def node_like(model: Object, name: str) -> Object:
    """Build a new node of the same kind. It is ready and schedulable even if the model is not, and has no pulled
    images."""
    metadata, spec, status = part(model, "metadata"), part(model, "spec"), part(model, "status")
    labels = metadata.get("labels")
    if isinstance(labels, dict) and _HOSTNAME in labels:
        labels = labels | {_HOSTNAME: name}
    taints = spec.get("taints")
    if isinstance(taints, list):
        taints = [each for each in taints if not is_node_state(str(part({"": each}, "").get("key")))]
    conditions = [{"type": "Ready", "status": "True"}] if status.get("conditions") else None
    return {
        **model,
        "metadata": {**metadata, "name": name, "labels": labels, "uid": None},
        "spec": {**spec, "taints": taints, "unschedulable": None},
        "status": {**status, "images": None, "conditions": conditions},
    }


def kinds_of_nodes(nodes: Mapping[str, NodeInfo]) -> Sequence[Sequence[str]]:
    """Group the names of nodes that are equal apart from their state."""
    kinds: dict[bytes, list[str]] = {}
    for name, node in sorted(nodes.items()):
        kind = node_like(node_document(node), "")
        kinds.setdefault(orjson.dumps(kind, option=orjson.OPT_SORT_KEYS), []).append(name)
    return list(kinds.values())


def _agent_on(pod: Object, node: str) -> Object:
    metadata = part(pod, "metadata")
    return {
        **pod,
        "metadata": {**metadata, "name": f"{metadata.get('name')}-{node}", "uid": None},
        "spec": {**part(pod, "spec"), "nodeName": node},
    }


def _drain(found: ChangedObjects, nodes: set[str]) -> None:
    """Cordon the nodes and remove their pods, as a completed `kubectl drain --ignore-daemonsets --delete-emptydir-data
    --force` does, but without waiting for disruption budgets. Controllers create their pods again."""
    stay: list[Object] = []
    lost: list[str] = []
    for obj in found.objects:
        if obj.get("kind") == "Node" and part(obj, "metadata").get("name") in nodes:
            stay.append({**obj, "spec": {**part(obj, "spec"), "unschedulable": True}})
        elif obj.get("kind") != "Pod" or node_of(obj) not in nodes or runs_on_every_node(obj):
            stay.append(obj)
        elif is_leaving(obj):
            continue
        elif _controller_kind(obj):
            stay.append(as_new_pod(obj, len(stay)))
            found.created.add(pod_name(obj))
        else:
            lost.append("/".join(pod_name(obj)))
    found.objects = stay
    if lost:
        found.notes.append(f"no controller creates these pods again: {', '.join(sorted(lost))}")
