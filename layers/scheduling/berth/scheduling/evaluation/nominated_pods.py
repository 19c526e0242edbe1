"""Pods that will be on a node and are not there yet: nominated to it by preemption (fact 34), or assumed (fact 40).

A node to which pods of equal or higher priority are nominated is judged twice, with them and without; both verdicts
must be good. Pods that are assumed to be on a node are on it in either. These verdicts depend on the pod itself, not on
its shape alone, and on few nodes, so they are worked out for every call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.framework.status import SUCCESS, Status
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.assumed_pods import node_with_assumed
from berth.scheduling.snapshot.node_positions import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot


def nominated_verdicts(evaluation: Evaluation, snapshot: Snapshot, pod: Pod, names: Sequence[str]) -> dict[str, Status]:
    """The verdicts that differ for this pod from what its shape would get. Mostly there are none.

    snapshot: that of the evaluation, or the same with pods assumed.
    """
    narrowed = evaluation.local.filters.node_names is not None
    found: dict[str, Status] = {}
    if not snapshot.nominated and not snapshot.assumed and not (narrowed and pod.nominated_node):
        return found
    # The few that are concerned, in the request's order where it matters to nobody.
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
    """The other pods nominated to the node that count for this one: of its scheduler, and of no lower priority."""
    priority = pod.priority or 0
    return [
        other
        for other in snapshot.nominated.get(name, ())
        if other.uid != pod.uid and (other.priority or 0) >= priority and other.scheduler_name == pod.scheduler_name
    ]


def nodes_with_assumed(snapshot: Snapshot, pod: Pod, candidates: NodeRefs) -> Mapping[int, NodeInfo]:
    """By position those of the candidates that have other pods assumed, with these on them: what is scored."""
    found: dict[int, NodeInfo] = {}
    for name in snapshot.assumed.keys() & set(candidates.names) if snapshot.assumed else ():
        node = snapshot.nodes[name]
        changed = node_with_assumed(node, snapshot.assumed, pod.uid)
        if changed is not node:
            found[snapshot.positions[name]] = changed
    return found


def _verdict(evaluation: Evaluation, node: NodeInfo, others: Sequence[Pod], *, own: bool) -> Status:
    """With these pods on the node. own: it is the pod's nominated node, which is filtered whatever names are left."""
    filters = evaluation.local.filters
    changed = node.exchanging((), others) if others else node
    status = filters.rejected or evaluation.rejected
    if status is None:
        status = filters.filter_nominated(changed) if own else filters.filter(changed)
    for each in evaluation.filters:
        if status is not SUCCESS:
            break
        status = reduce(lambda state, other: state.with_pod(other, changed), others, each).filter(changed)
    return status
