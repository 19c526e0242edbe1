"""Proposes changes that might remove a reason: maps its code to changes of the node or of the pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, product

from berth.scheduling.fields.resources import PODS
from berth.scheduling.framework.plugin import Status
from berth.scheduling.managed_resources.pools import left, resource_of
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.node_priority_label import NodePriorityLabel
from berth.scheduling.reason_code import ReasonCode
from berth_cli.explanation.blockers import BLOCKED, Blockers, short_pools
from berth_cli.explanation.case import Case
from berth_cli.explanation.counterfactuals import change, node_changes
from berth_cli.explanation.counterfactuals.change import Option
from berth_cli.explanation.rules import Rules


@dataclass(frozen=True, slots=True)
class Rejected:
    """A node that is rejected for the pod of a case."""

    case: Case
    node: NodeInfo
    rules: Rules
    blockers: Blockers

    def held(self, pod: Pod) -> Mapping[str, int]:
        """Return the amounts that a pod requests of the resources counted on nodes."""
        return {each.resource: each.amount for each in self.rules.counted(pod)}


Answer = Callable[[Rejected], Iterator[Option]]


def proposals(rejected: Rejected, status: Status) -> Iterator[Option]:
    """Yield changes that might remove all reasons of one plugin's status; nothing if a reason's remedy is unknown."""
    answers = dict.fromkeys(ANSWERS.get(code) for code in status.reason_codes)
    options = [[] if answer is None else list(answer(rejected)) for answer in answers]
    for chosen in product(*options):
        yield tuple(chain.from_iterable(chosen))


def shortage(case: Case, node: NodeInfo) -> float:
    """Return the sum of the node's shortages, each relative to the pod's request of the resource."""
    asked = case.pod.spec.requests.asked
    return sum(missing / asked[name] for name, missing in shortages(case.pod, node).items() if asked.get(name))


def shortages(pod: Pod, node: NodeInfo) -> Mapping[str, int]:
    """Return the missing amount of each resource, in the scheduler's units, and the missing number of pods."""
    short = {name: amount - node.free.get(name, 0) for name, amount in pod.spec.requests.asked.items()}
    places = {PODS: 1} if len(node.pods) >= node.allowed_pods else {}
    return {name: amount for name, amount in chain(short.items(), places.items()) if amount > 0}


def _priority_label(of: Rejected) -> Iterator[Option]:
    for plugin in of.rules.filters(of.case.pod):
        if isinstance(plugin, NodePriorityLabel):
            yield (node_changes.label_node(of.node, {plugin.label: "1"}),)


def _node_affinity(of: Rejected) -> Iterator[Option]:
    spec = of.case.pod.spec
    yield from node_changes.labels_for(of.node, spec.node_selector or {}, spec.node_affinity.required)
    yield from change.fix_selector(of.case, of.node)


def _lower(of: Rejected, missing: Mapping[str, int]) -> Iterator[Option]:
    """Lower the requests by these amounts, but not in a gang: that would also lower requests of placed members."""
    asked, missing = of.case.pod.spec.requests.asked, {} if of.case.in_gang else missing
    return change.lower_requests(of.case, {name: asked.get(name, 0) - amount for name, amount in missing.items()})


def _resources(of: Rejected) -> Iterator[Option]:
    ignored = of.rules.berth.counting.ignored_by_scheduler
    short = {name: amount for name, amount in shortages(of.case.pod, of.node).items() if name not in ignored}
    yield from _lower(of, short)
    yield from node_changes.free(of.case, of.node.pods, short, lambda pod: pod.spec.requests.placed, of.node.name)


def _counted_resources(of: Rejected) -> Iterator[Option]:
    counting, node, short = of.rules.berth.counting, of.node, {}
    capacity = counting.capacity(node)
    room = left(capacity, counting.used(node.pods, capacity))
    for demand in of.rules.counted(of.case.pod):
        # The device with the most room has the smallest shortage.
        lacks = [demand.of(capacity[pool]) - room[pool] for pool in counting.pools(demand.resource, capacity)]
        short[demand.resource] = min(lacks, default=demand.amount)
    missing = {name: amount for name, amount in short.items() if amount > 0}
    yield from _lower(of, missing)
    yield from node_changes.free(of.case, node.pods, missing, of.held, node.name)
    yield from _capacity(of)


def _capacity(of: Rejected) -> Iterator[Option]:
    """Label the node so that it has the capacity, or with an amount if no node has the label or it is unreadable."""
    wanted: Counter[str] = Counter()
    for pod in (of.case.pod, *of.node.pods):
        wanted.update(of.held(pod))
    unreadable, amounts = of.rules.berth.counting.unreadable(of.node), dict[str, str]()
    for each in of.rules.configuration.managed_resources:
        if each.capacity is None or each.name not in of.held(of.case.pod):
            continue
        yield from node_changes.labels_for(of.node, each.capacity.node_selector)
        label, nodes = each.capacity.node_label, of.case.snapshot.nodes.values()
        if label and (each.name in unreadable or not any(label in node.labels for node in nodes)):
            amounts[label] = str(wanted[each.name])
    if amounts:
        yield (node_changes.label_node(of.node, amounts),)


def _pools(of: Rejected) -> Iterator[Option]:
    """Lower the requests, end pods of any node that use units of the pools, or raise the capacities."""
    nodes, held = of.case.snapshot.nodes, of.rules.berth.counting.floating.used
    short = short_pools(of.case, of.rules, of.node.labels)
    missing = {each.pool: each.needed - each.room for each in short}
    holders = (node.pods for node in nodes.values() if missing.keys() & held(node.pods, node.labels))
    lacks = sorted((each.needed - each.room, resource_of(each.pool)) for each in short)
    yield from _lower(of, {name: amount for amount, name in lacks})
    yield from node_changes.free(
        of.case, chain.from_iterable(holders), missing, lambda pod: held((pod,), nodes[pod.node_name].labels)
    )
    yield tuple(map(change.raise_capacity, short))


def _blockers(code: ReasonCode, of: Rejected) -> Iterator[Option]:
    """End the pods that keep the pod away. Pods that do so by anti-affinity may be on other nodes."""
    node = of.node.name if code is ReasonCode.HOST_PORT_TAKEN else ""
    return node_changes.end_blockers(of.case, of.blockers.of(code, [of.node]), node)


ANSWERS: Mapping[ReasonCode, Answer] = {
    ReasonCode.NODE_UNSCHEDULABLE: lambda of: iter([(node_changes.uncordon(of.node.name),)]),
    ReasonCode.UNTOLERATED_TAINT: lambda of: node_changes.answers_to_taints(of.case, of.node),
    ReasonCode.PRIORITY_LABEL_MISSING: _priority_label,
    ReasonCode.PRIORITY_LABEL_NOT_INTEGER: _priority_label,
    ReasonCode.NODE_AFFINITY_MISMATCH: _node_affinity,
    ReasonCode.INSUFFICIENT_RESOURCE: _resources,
    ReasonCode.TOO_MANY_PODS: _resources,
    ReasonCode.INSUFFICIENT_COUNTED_RESOURCE: _counted_resources,
    ReasonCode.NODE_CAPACITY_UNREADABLE: _capacity,
    ReasonCode.INSUFFICIENT_FLOATING_RESOURCE: _pools,
    ReasonCode.KEPT_FOR_HIGHER_PRIORITY: _pools,
    ReasonCode.REQUEST_ABOVE_POOL: _pools,
    **{code: partial(_blockers, code) for code in BLOCKED},
}
"""Maps the code of a plugin's reason to its proposals. Reasons of gangs are missing: the search handles whole gangs."""
