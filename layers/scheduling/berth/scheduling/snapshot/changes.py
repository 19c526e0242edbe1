"""Changes of a cluster's objects, and how they are applied to nodes and pods."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from berth.scheduling.objects.disruption_budget import PodDisruptionBudget
from berth.scheduling.objects.namespace import Namespace
from berth.scheduling.objects.node import NodeInfo
from berth.scheduling.objects.pod import Pod
from berth.scheduling.objects.pod_group import PodGroup
from berth.scheduling.objects.priority_class import PriorityClass
from berth.scheduling.objects.workloads import Workloads


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes since a snapshot.

    nodes: added or changed, without pods; a node keeps the pods it has. pods: added or changed, bound or not.
    pods_gone: pairs of node name (empty for an unbound pod) and UID. The other fields replace the old value; None keeps
    it.
    """

    nodes: Collection[NodeInfo] = ()
    nodes_gone: Collection[str] = ()
    pods: Collection[Pod] = ()
    pods_gone: Collection[tuple[str, str]] = ()
    namespaces: Iterable[Namespace] | None = None
    disruption_budgets: Iterable[PodDisruptionBudget] | None = None
    priority_classes: Iterable[PriorityClass] | None = None
    workloads: Workloads | None = None
    pod_groups: Iterable[PodGroup] | None = None


class Nodes:
    """The nodes of a snapshot while changes are applied. changed: nodes as they are now, None for a removed node."""

    def __init__(self, before: Mapping[str, NodeInfo]) -> None:
        self._before = before
        self.changed: dict[str, NodeInfo | None] = {}

    def get(self, name: str) -> NodeInfo | None:
        """The node as it is now."""
        return self.changed[name] if name in self.changed else self._before.get(name)


def change_nodes(
    changes: Changes, nodes: Nodes, pods_on_unknown_nodes: dict[str, tuple[Pod, ...]]
) -> tuple[frozenset[str], bool]:
    """Apply changes of nodes. Returns the names of the changed nodes, and whether labels changed."""
    relabelled = False
    for name in changes.nodes_gone:
        gone = nodes.get(name)
        if gone is not None:
            nodes.changed[name] = None
            relabelled = True
            if gone.pods:
                pods_on_unknown_nodes[name] = gone.pods
    for node in changes.nodes:
        before = nodes.get(node.name)
        relabelled = relabelled or before is None or before.labels != node.labels
        if before is None:
            nodes.changed[node.name] = node.with_pods(pods_on_unknown_nodes.pop(node.name, ()))
        else:
            nodes.changed[node.name] = node.with_pods_of(before)
    return frozenset(nodes.changed), relabelled


def move_pods(
    changes: Changes, nodes: Nodes, unbound: dict[str, Pod], pods_on_unknown_nodes: dict[str, tuple[Pod, ...]]
) -> list[tuple[Pod, str]]:
    """Apply changes of pods. Returns pairs of pod and node name: pods that came, and pods that left, as they were."""
    arrivals, departures = _moves(changes, unbound)
    moved: list[tuple[Pod, str]] = []
    for name in arrivals.keys() | departures.keys():
        come, go = arrivals.get(name, {}), departures.get(name, set())
        known = nodes.get(name)
        if known is None:
            _keep(pods_on_unknown_nodes, name, come, go)
            continue
        go = go | come.keys()
        moved += [(pod, name) for pod in come.values()]
        moved += [(pod, name) for pod in known.pods if pod.uid in go]
        nodes.changed[name] = known.replacing_pods(go, come.values())
    return moved


def _moves(changes: Changes, unbound: dict[str, Pod]) -> tuple[dict[str, dict[str, Pod]], dict[str, set[str]]]:
    """For each node, the pods that are added and the UIDs that are removed. Updates `unbound`."""
    arrivals: dict[str, dict[str, Pod]] = {}
    departures: dict[str, set[str]] = {}
    for node_name, uid in changes.pods_gone:
        unbound.pop(uid, None)
        if node_name:
            departures.setdefault(node_name, set()).add(uid)
    for pod in changes.pods:
        if pod.node_name:
            unbound.pop(pod.uid, None)
            if pod.finished:
                departures.setdefault(pod.node_name, set()).add(pod.uid)
            else:
                arrivals.setdefault(pod.node_name, {})[pod.uid] = pod
        elif pod.finished:
            unbound.pop(pod.uid, None)
        else:
            unbound[pod.uid] = pod
    return arrivals, departures


def _keep(pods_on_unknown_nodes: dict[str, tuple[Pod, ...]], name: str, come: Mapping[str, Pod], go: set[str]) -> None:
    """Add and remove pods of an unknown node."""
    stay = tuple(pod for pod in pods_on_unknown_nodes.pop(name, ()) if pod.uid not in go and pod.uid not in come)
    if stay or come:
        pods_on_unknown_nodes[name] = (*stay, *come.values())


def nominated(unbound: Iterable[Pod]) -> Mapping[str, tuple[Pod, ...]]:
    """The nominated pods, by node. Gated pods are left out: they are not in the scheduler's queue."""
    found: dict[str, tuple[Pod, ...]] = {}
    for pod in unbound:
        if pod.nominated_node and not pod.spec.gated:
            found[pod.nominated_node] = (*found.get(pod.nominated_node, ()), pod)
    return MappingProxyType(found)


def nominated_after(
    before: Mapping[str, tuple[Pod, ...]], unbound: Mapping[str, Pod], changes: Changes
) -> Mapping[str, tuple[Pod, ...]]:
    """The nominated pods after the changes. It looks at all pods only where a nominated pod changed."""
    if not before and not any(pod.nominated_node for pod in changes.pods):
        return before
    known = {pod.uid for pods in before.values() for pod in pods}
    concerned = any(uid in known for _, uid in changes.pods_gone) or any(
        pod.nominated_node or pod.uid in known for pod in changes.pods
    )
    return nominated(unbound.values()) if concerned else before
