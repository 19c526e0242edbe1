"""Verdicts on nodes with nominated pods (fact 34) or assumed pods (fact 40).

A node with nominated pods of equal or higher priority is filtered twice, with these pods and without them, and must
pass both times. Assumed pods count both times. These verdicts depend on the pod and not only on its shape, and concern
few nodes, so every call computes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.framework.plugin import SUCCESS, Status
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.changes import node_with_assumed
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot


def nominated_verdicts(evaluation: Evaluation, snapshot: Snapshot, pod: Pod, names: Sequence[str]) -> dict[str, Status]:
    """The verdicts on this pod that differ from those of its shape. Mostly there are none.

    snapshot: that of the evaluation, or the same with pods assumed.
    """
    narrowed = evaluation.local.filters.node_names is not None
    found: dict[str, Status] = {}
    if not snapshot.nominated and not snapshot.assumed and not (narrowed and pod.nominated_node):
        return found
    # A set: the order of the result does not matter.
    for name in {*snapshot.nominated, *snapshot.assumed, pod.nominated_node}.intersection(names):
        node = snapshot.nodes.get(name)
        if node is None:
            continue
        own = narrowed and name == pod.nominated_node
        assumed = [other for other in snapshot.assumed.get(name, ()) if other.uid != pod.uid]
        nominated = nominated_beside(pod, name, snapshot)
        status = evaluation.statuses[name]
        if assumed or nominated or own:
            status = _verdict(evaluation, node, [*assumed, *nominated], own=own)
            if status is SUCCESS and nominated:
                status = _verdict(evaluation, node, assumed, own=own)
        if status is not evaluation.statuses[name]:
            found[name] = status
    return found


def nominated_beside(pod: Pod, name: str, snapshot: Snapshot) -> list[Pod]:
    """The other nominated pods of the node that count for this pod: of its scheduler, and of no lower priority."""
    priority = pod.priority or 0
    return [
        other
        for other in snapshot.nominated.get(name, ())
        if other.uid != pod.uid and (other.priority or 0) >= priority and other.scheduler_name == pod.scheduler_name
    ]


def nodes_with_assumed(snapshot: Snapshot, pod: Pod, candidates: NodeRefs) -> Mapping[int, NodeInfo]:
    """The candidates with assumed pods, by position, as they are scored: with these pods on them."""
    found: dict[int, NodeInfo] = {}
    for name in snapshot.assumed.keys() & set(candidates.names) if snapshot.assumed else ():
        node = snapshot.nodes[name]
        changed = node_with_assumed(node, snapshot.assumed, pod.uid)
        if changed is not node:
            found[snapshot.positions[name]] = changed
    return found


def _verdict(evaluation: Evaluation, node: NodeInfo, others: Sequence[Pod], *, own: bool) -> Status:
    """The verdict with these pods on the node. own: it is the nominated node, which is always filtered."""
    filters = evaluation.local.filters
    changed = node.replacing_pods((), others) if others else node
    status = filters.rejected or evaluation.rejected
    if status is None:
        status = filters.filter_nominated(changed) if own else filters.filter(changed)
    for each in evaluation.filters:
        if status is not SUCCESS:
            break
        status = reduce(lambda state, other: state.with_pod(other, changed), others, each).filter(changed)
    return status
