"""A pending pod of a snapshot, in the form that `berth explain` uses.

A snapshot contains the fields that rules read. The objects are rebuilt from these fields, so that a pod of a dump, of a
live cluster and of a node cache is explained in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from berth.scheduling.fields.reading import Object, part
from berth.scheduling.fields.resources import CPU, PODS
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.explanation.attempts import Attempt, attempts_of
from berth_cli.explanation.case import Case, objects_in
from berth_cli.explanation.explanation import Cause, pending_cause
from berth_cli.explanation.target import PodState, Target
from berth_cli.placement.warnings import unchecked_claims
from berth_cli.sources.pod_document import pod_document


def pending_target(pod: Pod, snapshot: Snapshot) -> Target:
    """Return the pod, and the cluster without it."""
    pod_object = {"kind": "Pod", **pod_document(pod)}
    without = snapshot.with_changes(Changes(pods_gone=[(pod.node_name, pod.uid)]))
    case = Case(replace(pod, nominated_node=""), pod_object, without, _NodeObjects(without))
    # A snapshot does not contain the status fields that schedulers write.
    gates = tuple(str(gate.get("name")) for gate in objects_in(part(pod_object, "spec").get("schedulingGates")))
    state = PodState("", pod.phase, gates, pod.terminating, True, pod.created_at)
    return Target(case, state, unchecked_claims(pod_object))


def recorded_cause(target: Target, records: Sequence[Mapping[str, object]]) -> Cause | None:
    """Return why the pod waits although it fits, according to the records of its calls. records: of pods with its name,
    oldest first."""
    read = [Attempt.model_validate(each) for each in records]
    # Calls for an earlier pod with this name are excluded. A failed call has no UID.
    own = [each for each in read if each.uid in (target.case.pod.uid, "")]
    return pending_cause(target, attempts_of(own), "")


def object_of_node(node: NodeInfo) -> Object:
    """Build a v1.Node with the fields that rules read. `read_node` parses it into the same node, without its pods."""
    taints = [{"key": taint.key, "value": taint.value, "effect": taint.effect} for taint in node.taints]
    allocatable = {name: f"{amount}m" if name == CPU else str(amount) for name, amount in node.allocatable.items()}
    allocatable[PODS] = str(node.allowed_pods)
    conditions = [{"type": "Ready", "status": node.ready}] if node.ready else []
    return {
        "kind": "Node",
        "metadata": {"name": node.name, "labels": dict(node.labels), "annotations": dict(node.annotations)},
        "spec": {"taints": taints, "unschedulable": node.unschedulable},
        "status": {
            "phase": node.phase,
            "allocatable": allocatable,
            "conditions": conditions,
            "images": [{"names": [name], "sizeBytes": size} for name, size in node.images.items()],
        },
    }


class _NodeObjects(Mapping[str, Object]):
    """Builds nodes on access: a search reads few of thousands."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def __getitem__(self, name: str) -> Object:
        return object_of_node(self._snapshot.nodes[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._snapshot.nodes)

    def __len__(self) -> int:
        return len(self._snapshot.nodes)
