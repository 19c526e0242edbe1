"""Make changes to the objects of a dump: what the cluster's controllers would leave for the scheduler to do.

The objects that are given stay as they are. What did not change is shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from berth.scheduling.fields.reading import Object
from berth_cli.cluster_files.manifests import as_new_pod
from berth_cli.input_files import NoSuchNode
from berth_cli.simulate.what_if.changes import AddNodes, Changes
from berth_cli.simulate.what_if.workload_pods import (
    PodName,
    controller_kind,
    has_finished,
    mapping,
    node_of,
    pod_name,
    scale,
)

_HOSTNAME = "kubernetes.io/hostname"
_STATE_OF_A_NODE = "node.kubernetes.io/"
_MIRROR = "kubernetes.io/config.mirror"


@dataclass(slots=True)
class ChangedObjects:
    """`created`: pods that the scheduler has to place because of the changes. `notes`: what else the changes mean."""

    objects: list[Object]
    created: set[PodName] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)


def change_objects(objects: Sequence[Object], changes: Changes) -> ChangedObjects:
    """The objects after the changes. Raises InvalidInput where a change names something that the dump lacks."""
    nodes = [str(mapping(obj, "metadata").get("name")) for obj in objects if obj.get("kind") == "Node"]
    for name in (*(each.like for each in changes.add_nodes), *changes.cordon, *changes.drain):
        _require(name, nodes)
    found = ChangedObjects(list(objects))
    taken = set(nodes)
    for addition in changes.add_nodes:
        found.objects += list(_added(addition, objects, taken))
    for each in changes.scale:
        scaled = scale(found.objects, each)
        found.objects = scaled.objects
        found.created |= scaled.created
    cordoned = {*changes.cordon, *changes.drain}
    found.objects = [_cordoned(obj) if _is_node(obj, cordoned) else obj for obj in found.objects]
    if changes.drain:
        _drain(found, set(changes.drain))
    return found


def runs_on_every_node(pod: Object) -> bool:
    """A DaemonSet's pod, or a static one: it belongs to its node, and `kubectl drain` leaves it there."""
    annotations = mapping(pod, "metadata").get("annotations")
    return controller_kind(pod) in ("DaemonSet", "Node") or (isinstance(annotations, dict) and _MIRROR in annotations)


def _require(name: str, nodes: Sequence[str]) -> None:
    if name not in nodes:
        raise NoSuchNode("the dump", name, nodes)


def _is_node(obj: Object, names: set[str]) -> bool:
    return obj.get("kind") == "Node" and mapping(obj, "metadata").get("name") in names


def _cordoned(node: Object) -> Object:
    return {**node, "spec": {**mapping(node, "spec"), "unschedulable": True}}


def _added(addition: AddNodes, objects: Iterable[Object], taken: set[str]) -> Iterator[Object]:
    """New nodes like one of the dump. A new node is ready, has pulled no image, and runs what runs on every node."""
    model: Object = {}
    agents: list[Object] = []
    for obj in objects:
        if _is_node(obj, {addition.like}):
            model = obj
        elif obj.get("kind") == "Pod" and node_of(obj) == addition.like and runs_on_every_node(obj):
            agents.append(obj)
    number = 0
    for _ in range(addition.count):
        number += 1
        while (name := f"{addition.like}-new-{number}") in taken:
            number += 1
        taken.add(name)
        yield _like(model, name)
        for agent in agents:
            yield _agent_on(agent, name)


def _like(model: Object, name: str) -> Object:
    metadata, spec, status = mapping(model, "metadata"), mapping(model, "spec"), mapping(model, "status")
    labels = metadata.get("labels")
    if isinstance(labels, dict) and _HOSTNAME in labels:
        labels = labels | {_HOSTNAME: name}
    taints = spec.get("taints")
    if isinstance(taints, list):
        # The node controller sets these for the state of the node, such as not-ready or unschedulable.
        taints = [each for each in taints if not str(mapping({"": each}, "").get("key")).startswith(_STATE_OF_A_NODE)]
    conditions = [{"type": "Ready", "status": "True"}] if status.get("conditions") else None
    return {
        **model,
        "metadata": {**metadata, "name": name, "labels": labels, "uid": None},
        "spec": {**spec, "taints": taints, "unschedulable": None},
        "status": {**status, "images": None, "conditions": conditions},
    }


def _agent_on(pod: Object, node: str) -> Object:
    metadata = mapping(pod, "metadata")
    return {
        **pod,
        "metadata": {**metadata, "name": f"{metadata.get('name')}-{node}", "uid": None},
        "spec": {**mapping(pod, "spec"), "nodeName": node},
    }


def _drain(found: ChangedObjects, nodes: set[str]) -> None:
    """Evict as `kubectl drain --ignore-daemonsets --force` does. Controllers create their pods again."""
    stay: list[Object] = []
    lost: list[str] = []
    for obj in found.objects:
        if obj.get("kind") != "Pod" or node_of(obj) not in nodes or runs_on_every_node(obj):
            stay.append(obj)
        elif has_finished(obj) or mapping(obj, "metadata").get("deletionTimestamp"):
            continue
        elif controller_kind(obj):
            stay.append(as_new_pod(obj, len(stay)))
            found.created.add(pod_name(obj))
        else:
            lost.append("/".join(pod_name(obj)))
    found.objects = stay
    if lost:
        found.notes.append(f"no controller creates these pods again: {', '.join(sorted(lost))}")
