"""Proposals to end pods: what they hold becomes free, and rules about them do not apply any more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from berth.scheduling.fields.pod_affinity import PodAffinityTerm
from berth.scheduling.fields.resources import PODS, shown_amount
from berth.scheduling.fields.selectors import InvalidRequirement
from berth.scheduling.fields.topology_spread import UnsatisfiableConstraintAction
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.plugins.inter_pod_affinity.terms import resolve_term
from berth.scheduling.plugins.node_ports import WantedPorts
from berth.scheduling.plugins.pod_topology_spread.constraints import constraints_of
from berth_cli.explain.case import Case
from berth_cli.explain.counterfactuals.change import Change, ChangeKind, Option

MOST_PODS = 5
"""Nobody ends more pods for one."""

MOST_OPTIONS = 8

Held = Callable[[Pod], Mapping[str, int]]
"""What a pod holds, by resource."""

OnNode = tuple[str, Pod]
"""The node of a pod, and the pod."""


def free(case: Case, node: NodeInfo, shortages: Mapping[str, int], held: Held) -> Iterator[Option]:
    """End the fewest pods that hold what is missing; DaemonSets would start theirs again."""
    removable = _removable(case, node)
    amounts = {pod.uid: {**held(pod), PODS: 1} for pod in removable}

    def share(pod: Pod) -> float:
        """How much of what is missing it gives free, at most 1 for each resource."""
        own = amounts[pod.uid]
        return sum(min(1.0, own.get(name, 0) / missing) for name, missing in shortages.items() if missing)

    def excess(pod: Pod) -> tuple[int, float]:
        own = amounts[pod.uid]
        return pod.priority or 0, sum(own.get(name, 0) / missing for name, missing in shortages.items() if missing)

    holders = [pod for pod in removable if share(pod) > 0]
    alone = [pod for pod in holders if share(pod) >= len([each for each in shortages.values() if each])]
    for pod in sorted(alone, key=excess)[:MOST_OPTIONS]:
        yield (_end([(node.name, pod)], node.name, shortages, amounts),)
    several = sorted(holders, key=lambda pod: (pod.priority or 0, -share(pod), pod.uid))[:MOST_PODS]
    for count in range(2, len(several) + 1):
        yield (_end([(node.name, pod) for pod in several[:count]], node.name, shortages, amounts),)


def end_holders_of_ports(case: Case, node: NodeInfo) -> Iterator[Option]:
    """End the pods of the node that have one of the pod's host ports."""
    wanted = WantedPorts(case.pod.spec.host_ports)
    found = [pod for pod in node.pods if any(map(wanted.conflict_with, pod.spec.host_ports))]
    yield from _end_all([(node.name, pod) for pod in found], case, node)


def end_unwanted_mates(case: Case, node: NodeInfo) -> Iterator[Option]:
    """End the pods that the pod's anti-affinity keeps it away from, in the node's domains."""
    namespaces = case.snapshot.namespaces
    for each in case.pod.spec.pod_affinity.anti_required:
        term = resolve_term(each, namespaces)
        mates = _in_domain(case, node, each.topology_key)
        yield from _end_all([found for found in mates if term.matches(found[1].label_set)], case, node)


def end_pods_that_keep_it_away(case: Case, node: NodeInfo) -> Iterator[Option]:
    """End the pods whose anti-affinity keeps the pod away, in the node's domains."""
    found: list[OnNode] = []
    for other in case.snapshot.nodes.values():
        for spec in other.usage.specs_with_anti_affinity:
            if any(_keeps_away(each, case, node, other) for each in spec.pod_affinity.anti_required):
                found += [(other.name, pod) for pod in other.pods if pod.spec is spec]
    yield from _end_all(found, case, node)


def _keeps_away(term: PodAffinityTerm, case: Case, node: NodeInfo, other: NodeInfo) -> bool:
    """Whether the term of a pod on the other node keeps the pod off the node."""
    value = other.labels.get(term.topology_key)
    is_near = value is not None and value == node.labels.get(term.topology_key)
    return is_near and resolve_term(term, case.snapshot.namespaces).matches(case.pod.label_set)


def end_spread_mates(case: Case, node: NodeInfo) -> Iterator[Option]:
    """End a few of the pods that a hard constraint counts in the node's domain."""
    constraints = constraints_of(case.pod, UnsatisfiableConstraintAction.DO_NOT_SCHEDULE, (), case.snapshot)
    for each in () if isinstance(constraints, InvalidRequirement) else constraints:
        counted = [
            found
            for found in _in_domain(case, node, each.topology_key)
            if found[1].namespace == case.pod.namespace and each.selector.matches(found[1].labels)
        ]
        order = _by_priority(case, counted)[:MOST_PODS]
        for count in range(1, len(order) + 1):
            yield (_end(order[:count], node.name, {}, {}),)


def _end_all(pods: Sequence[OnNode], case: Case, node: NodeInfo) -> Iterator[Option]:
    """All of them at once, where that are few and none would come back."""
    if 0 < len(pods) <= MOST_PODS and len(_by_priority(case, pods)) == len(pods):
        yield (_end(_by_priority(case, pods), node.name, {}, {}),)


def _in_domain(case: Case, node: NodeInfo, key: str) -> Iterator[OnNode]:
    value = node.labels.get(key)
    for name in () if value is None else case.snapshot.names_in(key, value):
        yield from ((name, pod) for pod in case.snapshot.nodes[name].pods)


def _removable(case: Case, node: NodeInfo) -> list[Pod]:
    return [pod for _, pod in _by_priority(case, [(node.name, pod) for pod in node.pods])]


def _by_priority(case: Case, pods: Iterable[OnNode]) -> list[OnNode]:
    """Those that stay ended, the least important first. Mates are not on their nodes yet."""
    planned = {pod.uid for pod in case.planned}
    found = [
        each for each in pods if each[1].controller_kind not in ("DaemonSet", "Node") and each[1].uid not in planned
    ]
    return sorted(found, key=lambda each: (each[1].priority or 0, each[1].uid))


def _end(
    pods: Sequence[OnNode], takes: str, shortages: Mapping[str, int], amounts: Mapping[str, Mapping[str, int]]
) -> Change:
    wanted = {name: amount for name, amount in shortages.items() if amount}
    holds = ", ".join(f"{pod.namespace}/{pod.name}{_holding(amounts.get(pod.uid, {}), wanted)}" for _, pod in pods)
    missing = " and ".join(
        "room for a pod" if name == PODS else f"{shown_amount(name, amount)} {name}" for name, amount in wanted.items()
    )
    nodes = sorted({name for name, _ in pods})
    where = f"node {nodes[0]}" if len(nodes) == 1 else f"nodes {', '.join(nodes)}"
    uids: dict[str, set[str]] = {}
    for name, pod in pods:
        uids.setdefault(name, set()).add(pod.uid)

    def apply(case: Case) -> Case:
        for name, ended in uids.items():
            case = case.without_pods(name, ended)
        return case

    return Change(
        ChangeKind.END_PODS,
        f"free {missing} on {where}: end {holds}" if missing else f"end {holds} on {where}",
        ",".join(sorted(wanted)),
        apply,
        nodes[0],
        len(pods) + sum((pod.priority or 0) > 0 for _, pod in pods) / 10,
        {
            "pods": [f"{pod.namespace}/{pod.name}" for _, pod in pods],
            "free": {name: shown_amount(name, amount) for name, amount in wanted.items()},
        },
        takes,
        tuple(pod.uid for _, pod in pods),
    )


def _holding(own: Mapping[str, int], wanted: Mapping[str, int]) -> str:
    held = [f"{shown_amount(name, own[name])} {name}" for name in wanted if name != PODS and own.get(name)]
    return f" (holds {', '.join(held)})" if held else ""
