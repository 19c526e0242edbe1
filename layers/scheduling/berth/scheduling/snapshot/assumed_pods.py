"""Pods that are being bound and that the cluster does not show on their node yet: kube-scheduler's assumed pods.

Between a bind and the cache that shows the pod, what it holds is known by its reservation alone (fact 40). Nodes with
such pods are few, and theirs is another set in every call: the snapshot itself stays as it is, and with it all that was
worked out on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from berth.scheduling.objects.node import NodeInfo
from berth.scheduling.objects.pod import Pod, PodSpec
from berth.scheduling.objects.pod_reading import label_set
from berth.scheduling.snapshot.node_list import NodeList

HIGHEST_PRIORITY = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Assumed:
    """A pod that is being bound to a node. shares: what is reserved there for it, by pool."""

    namespace: str
    name: str
    pod_uid: str
    node: str
    shares: Mapping[str, int]


def assumed_by_node(
    assumed: Iterable[Assumed], nodes: NodeList, unbound: Mapping[str, Pod]
) -> Mapping[str, tuple[Pod, ...]]:
    """The pods to be counted besides those on the nodes. Who is there already is not counted twice."""
    found: dict[str, tuple[Pod, ...]] = {}
    # A pod that was tried several times is there once all the same, with what was reserved last.
    for each in {(each.pod_uid, each.node): each for each in assumed}.values():
        node = nodes.get(each.node)
        if node is None or any(pod.uid == each.pod_uid for pod in node.pods):
            continue
        found[each.node] = (*found.get(each.node, ()), _pod(each, unbound.get(each.pod_uid)))
    return found


def node_with_assumed(node: NodeInfo, assumed: Mapping[str, tuple[Pod, ...]], uid: str) -> NodeInfo:
    """The node with the pods assumed to be there, but for the one with this UID: it does not stand in its own way."""
    pods = tuple(pod for pod in assumed.get(node.name, ()) if pod.uid != uid)
    return node.exchanging((), pods)


def _pod(assumed: Assumed, known: Pod | None) -> Pod:
    """The pod itself; one that the cache has never seen asks for what is reserved for it, and nothing else is known."""
    if known is None:
        # Of a priority that nobody evicts: what its own is, is not known.
        spec = PodSpec(namespace=assumed.namespace, priority=HIGHEST_PRIORITY)
        known = Pod(assumed.name, assumed.pod_uid, label_set(assumed.namespace, {}), spec)
    return replace(known, node_name=assumed.node, nominated_node="", assumed_shares=assumed.shares)
