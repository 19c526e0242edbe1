"""Clusters on which gangs are planned, and filter's answers for all members."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.feasibility import Feasibility
from berth.scheduling.gangs.gang import NO_OPEN_GANGS, OpenGang
from berth.scheduling.objects import NodeInfo, Pod, read_node, read_pod
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import AssumedPod
from berth.scheduling.snapshot.snapshot import Snapshot
from tests.builders.nodes import node_with
from tests.builders.pods import pod_object

CPU = {"cpu": "1"}
NO_ROOM = "gang does not fit"


def gang_configuration(**document: Any) -> BerthConfiguration:
    """Return a configuration with gangs and a profile that passes every ready node, unless the document differs."""
    definitions = {"all-nodes": {"plugins": {"enabled": [{"name": "NodeReady"}]}}}
    fields = {"definitions": definitions, "profile": "all-nodes", "gangs": {"enabled": True}, **document}
    return BerthConfiguration.model_validate(fields)


def gang_policy(**document: Any) -> Policy:
    return gang_configuration(**document).policy()


def room_for(name: str, pods: int, labels: Mapping[str, str] | None = None, **fields: Any) -> NodeInfo:
    """Return a node with room for this number of pods with one CPU each."""
    found = read_node(node_with(name, labels, allocatable={"cpu": str(pods), "pods": "100"}, **fields))
    assert isinstance(found, NodeInfo)
    return found


def answers(
    policy: Policy,
    snapshot: Snapshot,
    pods: Iterable[Pod],
    open_gangs: Sequence[OpenGang] = NO_OPEN_GANGS,
    names: Sequence[str] | None = None,
) -> dict[str, Feasibility]:
    """Return filter's decision for each pod about these nodes; by default about all nodes."""
    asked = [*snapshot.nodes] if names is None else names
    return {pod.name: policy.feasibility(pod, asked, snapshot, open_gangs=open_gangs) for pod in pods}


def places(found: Mapping[str, Feasibility]) -> dict[str, str]:
    """Return the place of each member: the first node that passes, or the reason if none does."""
    return {
        name: answer.feasible[0] if answer.feasible else next(iter(answer.rejected.values())).message
        for name, answer in found.items()
    }


def cluster(*rooms: int, pods: Iterable[Pod], **fields: Any) -> Snapshot:
    """Return a snapshot of nodes n0, n1, … with room for these numbers of members."""
    return Snapshot.of([room_for(f"n{index}", room) for index, room in enumerate(rooms)], pods, **fields)


def counts(found: dict[str, str]) -> dict[str, int]:
    """Return the number of members by node or reason."""
    return {value: [*found.values()].count(value) for value in sorted(set(found.values()))}


def apart(pod: Pod, key: str = "kubernetes.io/hostname") -> Pod:
    """Return the pod with anti-affinity to pods of its app."""
    term = {"labelSelector": {"matchLabels": {"app": "train"}}, "topologyKey": key}
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}
    whole = pod_object(pod.name, requests=CPU)
    whole["metadata"] |= {"annotations": dict(pod.annotations), "labels": {"app": "train"}}  # type: ignore[operator]
    whole["spec"] |= spec  # type: ignore[operator]
    found = read_pod(whole)
    assert isinstance(found, Pod)
    return found


def being_bound(*pods: Pod, node: str = "") -> list[AssumedPod]:
    """Return the pods as assumed pods, on this node or on a separate node each."""
    return [AssumedPod("ml", pod.name, pod.uid, node or f"n{index}", {}) for index, pod in enumerate(pods)]


ZONES = (
    room_for("a1", 2, {"zone": "a"}),
    room_for("a2", 1, {"zone": "a"}),
    room_for("b1", 2, {"zone": "b"}),
    room_for("b2", 2, {"zone": "b"}),
    room_for("c1", 4, {"zone": "c"}),
    room_for("none", 9),
)
"""Nodes of three zones, and a node without a zone."""
