"""Nodes and pods as the page shows them. The keys and the texts are part of the page's documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from berth.scheduling.fields.resources import PODS
from berth.scheduling.managed_resources.configuration import resource_of
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.objects.pod_group import gang_names


def node_row(node: NodeInfo, counting: Counting) -> dict[str, object]:
    """Return a node. amounts: allocatable and requested, by resource; cpu in thousandths. A counted resource has the
    sum of its devices, and replaces an entry of the node's allocatable of the same name."""
    requested = node.usage.requested
    amounts = {name: (amount, requested.get(name, 0)) for name, amount in node.allocatable.items()}
    amounts[PODS] = node.allowed_pods, len(node.pods)
    if counting.counts:
        capacity = counting.capacity(node)
        held = _by_resource(counting.used(node.pods, capacity)) if capacity else {}
        amounts |= {name: (amount, held.get(name, 0)) for name, amount in _by_resource(capacity).items()}
    return {
        "name": node.name,
        "states": list(_states(node)),
        "labels": dict(node.labels),
        "taints": [
            f"{each.key}={each.value}:{each.effect}" if each.value else f"{each.key}:{each.effect}"
            for each in node.taints
        ],
        "amounts": amounts,
    }


def pod_row(pod: Pod) -> dict[str, object]:
    """Return a pod on a node. controller: kind and name; empty without one. gang: empty if it asks for none."""
    controller = pod.spec.controller
    return {
        "namespace": pod.namespace,
        "name": pod.name,
        "state": "terminating" if pod.terminating else "on its node",
        "priority": pod.spec.priority or 0,
        "controller": "" if controller is None else f"{controller.kind}/{controller.name}",
        "gang": next(iter(gang_names(pod)), ""),
        "requests": dict(pod.spec.requests.placed),
    }


def _states(node: NodeInfo) -> Iterator[str]:
    if node.defect is not None:
        yield "unreadable"  # so nothing is placed there
    if node.ready not in ("", "True"):
        yield "not ready"
    if node.unschedulable:
        yield "unschedulable"


def _by_resource(pools: Mapping[str, int]) -> dict[str, int]:
    found: dict[str, int] = {}
    for pool, amount in pools.items():
        name = resource_of(pool)
        found[name] = found.get(name, 0) + amount
    return found
