"""Changes of a cluster's objects, and the functions that apply them to nodes and pods.

An assumed pod is being bound. Until the cache shows it on its node, only its reservation or announcement names the node
(fact 40). Few nodes have assumed pods, but these pods change with every call. So they are stored separately from the
nodes, and results that are cached for a snapshot stay valid.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from berth.scheduling.objects.cluster import Namespace, PodDisruptionBudget, PriorityClass, Workloads
from berth.scheduling.objects.node import NodeInfo
from berth.scheduling.objects.pod import Pod, PodSpec
from berth.scheduling.objects.pod_group import PodGroup
from berth.scheduling.objects.pod_reading import label_set
from berth.scheduling.snapshot.node_list import NodeList


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes since a snapshot. nodes: added or changed nodes; changed nodes keep their pods. pods: added or changed
    pods, with or without a node. pods_gone: pairs of node name (empty for an unbound pod) and UID. The other fields
    replace the old value, unless they are None."""

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
    """The nodes of a snapshot while changes are applied. changed: the new nodes by name; None for a removed node."""

    def __init__(self, before: Mapping[str, NodeInfo]) -> None:
        self._before = before
        self.changed: dict[str, NodeInfo | None] = {}

    def get(self, name: str) -> NodeInfo | None:
        return self.changed[name] if name in self.changed else self._before.get(name)


def change_nodes(
    changes: Changes, nodes: Nodes, pods_on_unknown_nodes: dict[str, tuple[Pod, ...]]
) -> tuple[frozenset[str], bool]:
    """Apply changes of nodes. Return the names of these nodes, and whether nodes were added, removed or relabeled."""
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
    """Apply changes of pods. Return added pods, and removed pods in their old state, each with its node's name."""
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
    """Return the added pods and the UIDs of removed pods, both by node name. Updates `unbound`."""
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
    stay = tuple(pod for pod in pods_on_unknown_nodes.pop(name, ()) if pod.uid not in go and pod.uid not in come)
    if stay or come:
        pods_on_unknown_nodes[name] = (*stay, *come.values())


def nominated(unbound: Iterable[Pod]) -> Mapping[str, tuple[Pod, ...]]:
    """Return the nominated pods, by node, without gated pods: they are not in the scheduler's queue."""
    found: dict[str, tuple[Pod, ...]] = {}
    for pod in unbound:
        if pod.nominated_node and not pod.spec.gated:
            found[pod.nominated_node] = (*found.get(pod.nominated_node, ()), pod)
    return MappingProxyType(found)


def nominated_after(
    before: Mapping[str, tuple[Pod, ...]], unbound: Mapping[str, Pod], changes: Changes
) -> Mapping[str, tuple[Pod, ...]]:
    """Return the nominated pods after the changes. This reads all pods only if a nominated pod changed."""
    if not before and not any(pod.nominated_node for pod in changes.pods):
        return before
    known = {pod.uid for pods in before.values() for pod in pods}
    concerned = any(uid in known for _, uid in changes.pods_gone) or any(
        pod.nominated_node or pod.uid in known for pod in changes.pods
    )
    return nominated(unbound.values()) if concerned else before


HIGHEST_PRIORITY = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class AssumedPod:
    """A pod that is being bound to a node. shares: the reserved amounts, by pool; None if the requested amounts count.
    pod: set if bind has announced the pod, or if its bind has begun in this process."""

    namespace: str
    name: str
    pod_uid: str
    node: str
    shares: Mapping[str, int] | None
    pod: Pod | None = None


def assumed_by_node(
    assumed: Iterable[AssumedPod], nodes: NodeList, unbound: Mapping[str, Pod]
) -> Mapping[str, tuple[Pod, ...]]:
    """Return the assumed pods by node, without pods that are on their node already."""
    found: dict[str, tuple[Pod, ...]] = {}
    # Several attempts to bind a pod to the same node count as one: the last reservation is used.
    for each in {(each.pod_uid, each.node): each for each in assumed}.values():
        node = nodes.get(each.node)
        if node is None or any(pod.uid == each.pod_uid for pod in node.pods):
            continue
        found[each.node] = (*found.get(each.node, ()), _pod(each, each.pod or unbound.get(each.pod_uid)))
    return found


def node_with_assumed(node: NodeInfo, assumed: Mapping[str, tuple[Pod, ...]], uid: str) -> NodeInfo:
    """Return the node with its assumed pods. uid: the UID of the pod to place, which is left out."""
    pods = tuple(pod for pod in assumed.get(node.name, ()) if pod.uid != uid)
    return node.replacing_pods((), pods)


def _pod(assumed: AssumedPod, known: Pod | None) -> Pod:
    """Return the pod on its node. If only its reservation is known, return a pod with only the reserved amounts."""
    if known is None:
        # The priority is unknown: with the highest priority, preemption does not evict the pod.
        spec = PodSpec(namespace=assumed.namespace, priority=HIGHEST_PRIORITY)
        known = Pod(assumed.name, assumed.pod_uid, label_set(assumed.namespace, {}), spec)
    return replace(known, node_name=assumed.node, nominated_node="", assumed_shares=assumed.shares)
