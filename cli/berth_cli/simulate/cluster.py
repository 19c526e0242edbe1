"""The cluster that pods are placed in: the objects of a dump, read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from berth.scheduling.fields.reading import Malformed, Object
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import (
    Pod,
    PriorityClass,
    Unreadable,
    read_pod,
    read_priority_class,
    trimmed_node,
    trimmed_pod,
)
from berth.scheduling.objects.cluster import read_objects
from berth.scheduling.objects.workloads import Workloads
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.simulate.admission import PriorityClasses, Refused, identify
from berth_cli.simulate.documents import BadInput


@dataclass(frozen=True, slots=True)
class Cluster:
    """snapshot: nodes and the pods on them. pods: the others, in the order of the dump.

    unreadable: why objects were left out, and how many for each cause.
    """

    snapshot: Snapshot
    pods: tuple[Pod, ...]
    priority_classes: PriorityClasses
    unreadable: Counter[str]


def slim(obj: Object, counting: Counting) -> Object:
    """What is read of the object: a tenth of what kubectl prints."""
    kind = obj.get("kind")
    if kind not in ("Node", "Pod") or not all(
        isinstance(obj.get(part), dict | None) for part in ("metadata", "spec", "status")
    ):
        return obj
    if kind == "Pod":
        return {"kind": kind, **trimmed_pod(obj, counting.pod_annotations)}
    return {"kind": kind, **trimmed_node(obj, counting.node_annotations)}


def read_cluster(objects: list[Object], where: str, *, replaced: Collection[tuple[object, object]] = ()) -> Cluster:
    """`replaced`: namespaces and names of pods to leave out, as if they had been deleted. Raises BadInput."""
    read_classes = [read_priority_class(obj) for obj in objects if obj.get("kind") == "PriorityClass"]
    classes = PriorityClasses(each for each in read_classes if isinstance(each, PriorityClass))
    others, waiting = _told_apart(objects, classes, replaced)
    found = read_objects(others)
    if not found.nodes:
        raise BadInput(f"{where} has no nodes; make a dump with: kubectl get nodes,pods -A -o json > FILE")
    readings = [read_pod(obj) for obj in waiting]
    pods = tuple(each for each in readings if isinstance(each, Pod))
    unreadable = [*found.unreadable, *(each for each in readings if isinstance(each, Unreadable))]
    snapshot = Snapshot.of(
        found.nodes,
        # Of pods without a node only those matter to others that preemption has made room for.
        [*found.pods, *(pod for pod in pods if pod.nominated_node)],
        namespaces=found.namespaces,
        disruption_budgets=found.disruption_budgets,
        priority_classes=found.priority_classes,
        workloads=Workloads.of(found.workloads),
    )
    return Cluster(snapshot, pods, classes, Counter(each.cause for each in unreadable))


def _told_apart(
    objects: list[Object], classes: PriorityClasses, replaced: Collection[tuple[object, object]]
) -> tuple[list[Object], list[Object]]:
    """The objects of the cluster, and the pods that are on no node. Hand-written pods get what stored ones have."""
    others: list[Object] = []
    waiting: list[Object] = []
    for obj in objects:
        metadata, spec = obj.get("metadata"), obj.get("spec")
        on_a_node = True
        if obj.get("kind") == "Pod" and isinstance(metadata, dict):
            identify(metadata)
            if (metadata["namespace"], metadata.get("name")) in replaced:
                continue
            if isinstance(spec, dict):
                _resolve(classes, spec)
            on_a_node = isinstance(spec, dict) and bool(spec.get("nodeName"))
        (others if on_a_node else waiting).append(obj)
    return others, waiting


def _resolve(classes: PriorityClasses, spec: Object) -> None:
    """Stored pods have a priority; of a hand-written dump the class may be missing, too."""
    try:
        classes.resolve(spec)
    except (Refused, Malformed):
        return
