"""Assumed pods, as in kube-scheduler: pods that are being bound and are not on their node in the cache yet.

Until the cache shows the pod, only its reservation or its announcement says where it is (fact 40). Few nodes have
assumed pods, and the set changes with every call. So they are kept beside the snapshot, and cached results for the
snapshot stay valid.
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
class AssumedPod:
    """A pod that is being bound to a node. shares: the reserved amounts, by pool; None: what the pod requests. pod:
    where bind announced it, or has begun."""

    namespace: str
    name: str
    pod_uid: str
    node: str
    shares: Mapping[str, int] | None
    pod: Pod | None = None


def assumed_by_node(
    assumed: Iterable[AssumedPod], nodes: NodeList, unbound: Mapping[str, Pod]
) -> Mapping[str, tuple[Pod, ...]]:
    """Assumed pods by node, without those that are on their node already."""
    found: dict[str, tuple[Pod, ...]] = {}
    # Several attempts to bind a pod count once, with the last reservation.
    for each in {(each.pod_uid, each.node): each for each in assumed}.values():
        node = nodes.get(each.node)
        if node is None or any(pod.uid == each.pod_uid for pod in node.pods):
            continue
        found[each.node] = (*found.get(each.node, ()), _pod(each, each.pod or unbound.get(each.pod_uid)))
    return found


def node_with_assumed(node: NodeInfo, assumed: Mapping[str, tuple[Pod, ...]], uid: str) -> NodeInfo:
    """The node with its assumed pods. The pod with this UID is left out: it is the pod to place."""
    pods = tuple(pod for pod in assumed.get(node.name, ()) if pod.uid != uid)
    return node.replacing_pods((), pods)


def _pod(assumed: AssumedPod, known: Pod | None) -> Pod:
    """The pod as the cache knows it. A pod that the cache has never seen has its reserved amounts and nothing else."""
    if known is None:
        # Its priority is unknown: the highest one keeps preemption from evicting it.
        spec = PodSpec(namespace=assumed.namespace, priority=HIGHEST_PRIORITY)
        known = Pod(assumed.name, assumed.pod_uid, label_set(assumed.namespace, {}), spec)
    return replace(known, node_name=assumed.node, nominated_node="", assumed_shares=assumed.shares)
