"""What might answer a reason: from its code to changes of the node or of the pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain

from berth.scheduling.fields.reading import Unreadable
from berth.scheduling.fields.resources import PODS
from berth.scheduling.framework.status import Status
from berth.scheduling.managed_resources.counting import Counting, left
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.node_priority_label import REASON_NO_LABEL
from berth.scheduling.reason_code import ReasonCode
from berth_cli.explain.case import Case
from berth_cli.explain.counterfactuals import node_changes, pod_changes, pod_removal
from berth_cli.explain.counterfactuals.change import Option

DEFAULT_PRIORITY = "1"


def proposals(case: Case, node: NodeInfo, status: Status, counting: Counting) -> Iterator[Option]:  # noqa: C901
    """Changes that might answer all reasons of one plugin's status. Reasons that no change answers have none."""
    match status.reason_codes[0]:
        case ReasonCode.NODE_UNSCHEDULABLE:
            yield (node_changes.uncordon(node.name),)
        case ReasonCode.UNTOLERATED_TAINT:
            yield from node_changes.answers_to_taints(case, node)
        case ReasonCode.NODE_NOT_READY | ReasonCode.NODE_NOT_RUNNING:
            yield (node_changes.repair(node.name),)
        case ReasonCode.PRIORITY_LABEL_MISSING:
            key = status.reasons[0].removeprefix(REASON_NO_LABEL.format(""))
            yield (node_changes.label_node(node.name, {key: DEFAULT_PRIORITY}),)
        case ReasonCode.NODE_AFFINITY_MISMATCH:
            yield from node_changes.labels_for_selector(case, node)
            yield from pod_changes.remove_node_selector(case, node.labels)
        case ReasonCode.INSUFFICIENT_RESOURCE | ReasonCode.TOO_MANY_PODS:
            short = _shortages(case.pod, node)
            yield from pod_changes.lower_requests(case, short)
            yield from pod_removal.free(node, short, lambda pod: pod.spec.requests.placed)
        case ReasonCode.INSUFFICIENT_COUNTED_RESOURCE:
            short = _counted_shortages(case.pod, node, counting)
            yield from pod_changes.lower_requests(case, short)
            yield from pod_removal.free(node, short, lambda pod: _counted(pod, counting))
        case ReasonCode.HOST_PORT_TAKEN:
            yield from pod_removal.end_one(node, lambda pod: bool(pod.spec.host_ports))
        case ReasonCode.TOPOLOGY_SPREAD_SKEW:
            yield from pod_changes.relax_spread(case)
        case ReasonCode.TOPOLOGY_SPREAD_LABEL_MISSING:
            keys = dict.fromkeys(each.topology_key for each in case.pod.spec.topology_spread)
            yield from node_changes.labels_of_domains(case, node, keys)
            yield from pod_changes.relax_spread(case)
        case ReasonCode.POD_AFFINITY_MISMATCH:
            yield from pod_changes.remove_terms(case, "podAffinity")
        case ReasonCode.POD_ANTI_AFFINITY_CONFLICT:
            yield from pod_removal.end_one(node, lambda pod: pod.namespace == case.pod.namespace)
            yield from pod_changes.remove_terms(case, "podAntiAffinity")
        case ReasonCode.EXISTING_POD_ANTI_AFFINITY_CONFLICT:
            yield from pod_removal.end_one(node, lambda pod: bool(pod.spec.pod_affinity.anti_required))
        case _:
            return


def shortage(case: Case, node: NodeInfo) -> float:
    """How much the node lacks, each resource as a part of the pod's request: to begin with the closest nodes."""
    asked = case.pod.spec.requests.asked
    return sum(missing / asked[name] for name, missing in _shortages(case.pod, node).items() if asked.get(name))


def _shortages(pod: Pod, node: NodeInfo) -> Mapping[str, int]:
    """What is missing of each resource in the scheduler's units, and of places for pods."""
    short = {name: amount - node.free.get(name, 0) for name, amount in pod.spec.requests.asked.items()}
    places = {PODS: 1} if len(node.pods) >= node.allowed_pods else {}
    return {name: amount for name, amount in chain(short.items(), places.items()) if amount > 0}


def _counted_shortages(pod: Pod, node: NodeInfo, counting: Counting) -> Mapping[str, int]:
    """The same of counted resources. Of devices it is what the one with the most room lacks."""
    demands = counting.demands(pod)
    if isinstance(demands, Unreadable):
        return {}
    capacity = counting.capacity(node)
    room = left(capacity, counting.used(node.pods, capacity))
    found = {}
    for demand in demands:
        pools = counting.pools(demand.resource, capacity)
        missing = [demand.of(capacity[pool]) - room[pool] for pool in pools] or [demand.amount]
        if min(missing) > 0:
            found[demand.resource] = min(missing)
    return found


def _counted(pod: Pod, counting: Counting) -> Mapping[str, int]:
    demands = counting.demands(pod)
    return {} if isinstance(demands, Unreadable) else {each.resource: each.amount for each in demands}
