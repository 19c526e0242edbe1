"""Reads the objects of a dump into a snapshot and a list of the pods without a node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from berth.cluster.dump_objects import MalformedDump, parse_objects, select_objects
from berth.cluster.field_projection import waits_for_pool
from berth.scheduling.fields.reading import MalformedField, Object, condition_in, part
from berth.scheduling.gangs.gang import ANNOTATIONS as GANG_ANNOTATIONS
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import (
    Pod,
    PriorityClass,
    UnreadableObject,
    read_priority_class,
    trimmed_node,
    trimmed_pod,
)
from berth.scheduling.objects.cluster import Workloads
from berth.scheduling.objects.pod_reading import read_placed_pod
from berth.scheduling.objects.projection import WAITS_FOR_POOL, is_placed, with_state
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.sources.dump.admission import AdmissionDenied, PriorityClasses
from berth_cli.sources.dump.objects import read_objects
from berth_cli.terminal.input_files import InvalidInput, display_name, read_input


@dataclass(frozen=True, slots=True)
class Cluster:
    """The cluster of a dump. `snapshot`: the nodes and the pods on them. `pods`: the pods without a node, in the order
    of the dump. `left_out`: the number of unused objects by reason.
    """

    snapshot: Snapshot
    pods: tuple[Pod, ...]
    priority_classes: PriorityClasses
    left_out: Counter[str]


def trim(obj: Object, counting: Counting) -> Object:
    """Keep only the fields that Berth reads: about a tenth of kubectl's output."""
    kind = obj.get("kind")
    if kind not in ("Node", "Pod") or not all(
        isinstance(obj.get(part), dict | None) for part in ("metadata", "spec", "status")
    ):
        return obj
    if kind == "Pod":
        kept = trimmed_pod(obj, counting.pod_annotations | GANG_ANNOTATIONS)
        if not is_placed(obj):
            kept = with_state(kept, obj)
        condition = condition_in(part(obj, "status"), "PodScheduled")
        is_rejected = condition.get("status") == "False" and waits_for_pool(condition.get("message"))
        waits = counting.floating.exist and (obj.get(WAITS_FOR_POOL) is True or is_rejected)
        return {"kind": kind, **kept, WAITS_FOR_POOL: waits}
    return {"kind": kind, **trimmed_node(obj, counting.node_annotations)}


def read_dump(file: Path) -> Iterator[Object]:
    """Yield the objects of a file; `-` is standard input. Raises InvalidInput."""
    try:
        yield from parse_objects(read_input(file))
    except MalformedDump as error:
        raise InvalidInput(f"{display_name(file)} {error}") from error


def read_cluster(objects: Iterable[Object], where: str, *, replaced: Collection[tuple[object, object]] = ()) -> Cluster:
    """Read the objects. `replaced`: (namespace, name) of pods to leave out. Raises InvalidInput."""
    objects, left_out = select_objects(objects)
    read_classes = [read_priority_class(obj) for obj in objects if obj.get("kind") == "PriorityClass"]
    classes = PriorityClasses(each for each in read_classes if isinstance(each, PriorityClass))
    others, waiting = _partition(objects, classes, replaced)
    found = read_objects(others)
    if not found.nodes:
        raise InvalidInput(f"{where} has no nodes; make a dump with: kubectl get nodes,pods -A -o json > FILE")
    results = [read_placed_pod(obj) for obj in waiting]
    pods = tuple(each for each in results if isinstance(each, Pod))
    unreadable = [*found.unreadable, *(each for each in results if isinstance(each, UnreadableObject))]
    left_out.update(f"unreadable ({each.cause})" for each in unreadable)
    snapshot = Snapshot.of(
        found.nodes,
        # Among the pods without a node, only nominated pods and those that wait for a pool affect other pods.
        [*found.pods, *(pod for pod in pods if pod.nominated_node or pod.waits_for_pool)],
        namespaces=found.namespaces,
        disruption_budgets=found.disruption_budgets,
        priority_classes=found.priority_classes,
        workloads=Workloads.of(found.workloads),
        pod_groups=found.pod_groups,
    )
    return Cluster(snapshot, pods, classes, left_out)


def _partition(
    objects: list[Object], classes: PriorityClasses, replaced: Collection[tuple[object, object]]
) -> tuple[list[Object], list[Object]]:
    """Separate the pods without a node from all other objects. Set the defaults of hand-written pods."""
    others: list[Object] = []
    waiting: list[Object] = []
    for obj in objects:
        metadata, spec = obj.get("metadata"), obj.get("spec")
        on_a_node = True
        if obj.get("kind") == "Pod" and isinstance(metadata, dict):
            if (metadata.get("namespace"), metadata.get("name")) in replaced:
                continue
            if isinstance(spec, dict):
                _resolve(classes, spec)
            on_a_node = isinstance(spec, dict) and bool(spec.get("nodeName"))
        (others if on_a_node else waiting).append(obj)
    return others, waiting


def _resolve(classes: PriorityClasses, spec: Object) -> None:
    """Set the pod's priority if its class is known; a dump may lack the classes."""
    try:
        classes.resolve(spec)
    except (AdmissionDenied, MalformedField):
        return
