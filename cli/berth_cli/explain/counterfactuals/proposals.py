"""What might answer a reason: from its code to changes of the node or of the pod."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, product

from berth.scheduling.fields.resources import PODS
from berth.scheduling.framework.status import Status
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.node_affinity import NodeAffinity
from berth.scheduling.plugins.node_priority_label import NodePriorityLabel
from berth.scheduling.plugins.resource_segregation import ResourceSegregation
from berth.scheduling.reason_code import ReasonCode
from berth_cli.explain.case import Case
from berth_cli.explain.counterfactuals import node_changes, pod_changes, pod_removal, resource_changes
from berth_cli.explain.counterfactuals.change import Option
from berth_cli.explain.rules import Rules

DEFAULT_PRIORITY = "1"


@dataclass(frozen=True, slots=True)
class Rejected:
    """A node that one plugin rejects for the pod of a case."""

    case: Case
    node: NodeInfo
    rules: Rules


Answer = Callable[[Rejected], Iterator[Option]]


def proposals(rejected: Rejected, status: Status) -> Iterator[Option]:
    """Changes that might answer all reasons of one plugin's status. Reasons that no change answers have none."""
    answers = dict.fromkeys(ANSWERS.get(code) for code in status.reason_codes)
    options = [[] if answer is None else list(answer(rejected)) for answer in answers]
    for chosen in product(*options):
        yield tuple(chain.from_iterable(chosen))


def shortage(case: Case, node: NodeInfo) -> float:
    """How much the node lacks, each resource as a part of the pod's request: to begin with the closest nodes."""
    asked = case.pod.spec.requests.asked
    return sum(missing / asked[name] for name, missing in shortages(case.pod, node).items() if asked.get(name))


def shortages(pod: Pod, node: NodeInfo) -> Mapping[str, int]:
    """What is missing of each resource in the scheduler's units, and of places for pods."""
    short = {name: amount - node.free.get(name, 0) for name, amount in pod.spec.requests.asked.items()}
    places = {PODS: 1} if len(node.pods) >= node.allowed_pods else {}
    return {name: amount for name, amount in chain(short.items(), places.items()) if amount > 0}


def _uncordon(rejected: Rejected) -> Iterator[Option]:
    yield (node_changes.uncordon(rejected.node.name),)


def _taints(rejected: Rejected) -> Iterator[Option]:
    yield from node_changes.answers_to_taints(rejected.case, rejected.node)


def _repair(rejected: Rejected) -> Iterator[Option]:
    yield (node_changes.repair(rejected.node.name),)


def _priority_label(rejected: Rejected) -> Iterator[Option]:
    for plugin in rejected.rules.plugins(rejected.case.pod, NodePriorityLabel):
        yield (node_changes.label_node(rejected.node, {plugin.label: DEFAULT_PRIORITY}),)


def _node_affinity(rejected: Rejected) -> Iterator[Option]:
    yield from node_changes.labels_for_selector(rejected.case, rejected.node)
    yield from pod_changes.remove_node_selector(rejected.case, rejected.node.labels)


def _added_affinity(rejected: Rejected) -> Iterator[Option]:
    for plugin in rejected.rules.plugins(rejected.case.pod, NodeAffinity):
        if plugin.added_required is not None:
            yield from node_changes.labels_for_terms(plugin.added_required, rejected.node, {})


def _required_affinity(rejected: Rejected) -> Iterator[Option]:
    yield (pod_changes.remove_affinity(rejected.case),)


def _resources(rejected: Rejected) -> Iterator[Option]:
    short = shortages(rejected.case.pod, rejected.node)
    yield from resource_changes.lower_requests(rejected.case, rejected.node, short)
    yield from pod_removal.free(rejected.case, rejected.node, short, lambda pod: pod.spec.requests.placed)


def _counted_requests(rejected: Rejected) -> Iterator[Option]:
    resources, counting = rejected.rules.configuration.managed_resources, rejected.rules.berth.counting
    yield from resource_changes.correct_counted_requests(rejected.case, rejected.node, resources, counting)


def _counted_resources(rejected: Rejected) -> Iterator[Option]:
    yield from _counted_requests(rejected)
    counting = rejected.rules.berth.counting
    short = resource_changes.counted_shortages(rejected.case.pod, rejected.node, counting)
    yield from pod_removal.free(
        rejected.case, rejected.node, short, lambda pod: resource_changes.held_by(pod, counting)
    )


def _capacity(rejected: Rejected) -> Iterator[Option]:
    resources, counting = rejected.rules.configuration.managed_resources, rejected.rules.berth.counting
    yield from resource_changes.correct_capacity(rejected.case, rejected.node, resources, counting)


def _reserved(rejected: Rejected) -> Iterator[Option]:
    for plugin in rejected.rules.plugins(rejected.case.pod, ResourceSegregation):
        yield from resource_changes.request_one(
            rejected.case, sorted(plugin.resources.intersection(rejected.node.allocatable))
        )


def _segregated(rejected: Rejected) -> Iterator[Option]:
    asked = rejected.case.pod.spec.requests.asked
    for plugin in rejected.rules.plugins(rejected.case.pod, ResourceSegregation):
        missing = plugin.resources.intersection(asked).difference(rejected.node.allocatable)
        yield from resource_changes.drop_requests(rejected.case, missing)


def _host_ports(rejected: Rejected) -> Iterator[Option]:
    yield from pod_removal.end_holders_of_ports(rejected.case, rejected.node)
    yield from pod_changes.remove_host_ports(rejected.case, rejected.node)


def _spread(rejected: Rejected) -> Iterator[Option]:
    yield from pod_removal.end_spread_mates(rejected.case, rejected.node)
    yield from pod_changes.relax_spread(rejected.case)


def _spread_label(rejected: Rejected) -> Iterator[Option]:
    keys = (each.topology_key for each in rejected.case.pod.spec.topology_spread)
    yield from node_changes.labels_of_domains(rejected.case, rejected.node, keys)
    yield from pod_changes.relax_spread(rejected.case)


def _invalid_spread(rejected: Rejected) -> Iterator[Option]:
    yield from pod_changes.remove_spread(rejected.case)


def _affinity(rejected: Rejected) -> Iterator[Option]:
    keys = (each.topology_key for each in rejected.case.pod.spec.pod_affinity.required)
    yield from node_changes.labels_of_domains(rejected.case, rejected.node, keys)
    yield from pod_changes.remove_terms(rejected.case, "podAffinity")


def _anti_affinity(rejected: Rejected) -> Iterator[Option]:
    yield from pod_removal.end_unwanted_mates(rejected.case, rejected.node)
    yield from pod_changes.remove_terms(rejected.case, "podAntiAffinity")


def _anti_affinity_of_others(rejected: Rejected) -> Iterator[Option]:
    yield from pod_removal.end_pods_that_keep_it_away(rejected.case, rejected.node)


def _invalid_affinity(rejected: Rejected) -> Iterator[Option]:
    yield from pod_changes.remove_any_term(rejected.case)


ANSWERS: Mapping[ReasonCode, Answer] = {
    ReasonCode.NODE_UNSCHEDULABLE: _uncordon,
    ReasonCode.UNTOLERATED_TAINT: _taints,
    ReasonCode.NODE_NOT_READY: _repair,
    ReasonCode.NODE_NOT_RUNNING: _repair,
    ReasonCode.PRIORITY_LABEL_MISSING: _priority_label,
    ReasonCode.PRIORITY_LABEL_NOT_INTEGER: _priority_label,
    ReasonCode.NODE_AFFINITY_MISMATCH: _node_affinity,
    ReasonCode.ADDED_NODE_AFFINITY_MISMATCH: _added_affinity,
    ReasonCode.NODE_AFFINITY_CONFLICT: _required_affinity,
    ReasonCode.NODE_NOT_SELECTED: _required_affinity,
    ReasonCode.INSUFFICIENT_RESOURCE: _resources,
    ReasonCode.TOO_MANY_PODS: _resources,
    ReasonCode.INSUFFICIENT_COUNTED_RESOURCE: _counted_resources,
    ReasonCode.REQUEST_UNREADABLE: _counted_requests,
    ReasonCode.REQUEST_ABOVE_DEVICE: _counted_requests,
    ReasonCode.REQUEST_ABOVE_POD_LIMIT: _counted_requests,
    ReasonCode.NODE_CAPACITY_UNREADABLE: _capacity,
    ReasonCode.NODE_RESERVED: _reserved,
    ReasonCode.SEGREGATED_RESOURCE_MISSING: _segregated,
    ReasonCode.HOST_PORT_TAKEN: _host_ports,
    ReasonCode.TOPOLOGY_SPREAD_SKEW: _spread,
    ReasonCode.TOPOLOGY_SPREAD_LABEL_MISSING: _spread_label,
    ReasonCode.TOPOLOGY_SPREAD_INVALID: _invalid_spread,
    ReasonCode.POD_AFFINITY_MISMATCH: _affinity,
    ReasonCode.POD_ANTI_AFFINITY_CONFLICT: _anti_affinity,
    ReasonCode.EXISTING_POD_ANTI_AFFINITY_CONFLICT: _anti_affinity_of_others,
    ReasonCode.POD_AFFINITY_INVALID: _invalid_affinity,
}
"""By the code of a reason that one plugin gives. `gang_search` answers GANG_CODES."""

GANG_CODES = frozenset({ReasonCode.GANG_WAITS_FOR_MEMBERS, ReasonCode.GANG_DOES_NOT_FIT, ReasonCode.GANG_INVALID})

NO_CHANGE: Mapping[ReasonCode, str] = {
    ReasonCode.PLUGIN_REASON: "it comes from a plugin of your own, and only the plugin knows what it wants",
    ReasonCode.NODE_NAME_MISMATCH: "the pod names its node itself; it is judged here without that",
    ReasonCode.NODE_AFFINITY_INVALID: "it rejects no node: scoring fails, and no API server stores such a pod",
    ReasonCode.GANG_PLACED_ELSEWHERE: "it is no failure: the pod has its place on another node",
    ReasonCode.GANG_IN_OTHER_DOMAIN: "a gang that runs stays in its topology domain; changes are for the nodes there",
    ReasonCode.NODE_NOT_IN_CACHE: "the watcher publishes the node within seconds; it cannot be judged until then",
    ReasonCode.NODE_UNREADABLE: "the node is malformed, and no API server stores such a one; correct the dump",
    ReasonCode.TOO_COSTLY: "no single rule of the pod costs too much; shorten its rules, or give Berth more time",
}
"""The other codes of filter: why no small change answers them."""
