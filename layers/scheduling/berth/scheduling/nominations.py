"""Pods that preemption has nominated to a node and that are not there yet (fact 34).

A node to which pods of equal or higher priority are nominated is judged twice, with them and without; both verdicts
must be good. These verdicts depend on the pod itself, not on its shape alone, and on few nodes, so they are worked out
for every call.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from berth.scheduling.evaluation import Evaluation
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.status import SUCCESS, Status


def nominated_verdicts(evaluation: Evaluation, pod: Pod, names: Sequence[str]) -> dict[str, Status]:
    """The verdicts that differ for this pod from what its shape would get. Mostly there are none."""
    snapshot, narrowed = evaluation.snapshot, evaluation.local.filters.node_names is not None
    found: dict[str, Status] = {}
    if not snapshot.nominated and not (narrowed and pod.nominated_node):
        return found
    # The few that are concerned, in the request's order where it matters to nobody.
    for name in {*snapshot.nominated, pod.nominated_node}.intersection(names):
        node = snapshot.nodes.get(name)
        if node is None:
            continue
        own = narrowed and name == pod.nominated_node
        status = evaluation.statuses[name]
        others = _others(evaluation, pod, name)
        if others:
            together = _verdict(evaluation, node.exchanging((), others), others, own=own)
            status = _verdict(evaluation, node, (), own=own) if together is SUCCESS else together
        elif own:
            status = _verdict(evaluation, node, (), own=True)
        if status is not evaluation.statuses[name]:
            found[name] = status
    return found


def _others(evaluation: Evaluation, pod: Pod, name: str) -> list[Pod]:
    return [
        other
        for other in evaluation.snapshot.nominated.get(name, ())
        if other.uid != pod.uid
        and (other.priority or 0) >= (pod.priority or 0)
        and other.scheduler_name == pod.scheduler_name
    ]


def _verdict(evaluation: Evaluation, node: NodeInfo, others: Sequence[Pod], *, own: bool) -> Status:
    """With these pods on the node. own: it is the pod's nominated node, which is filtered whatever names are left."""
    filters = evaluation.local.filters
    status = filters.rejected or evaluation.rejected
    if status is None:
        status = filters.filter_nominated(node) if own else filters.filter(node)
    for each in evaluation.filters:
        if status is not SUCCESS:
            break
        status = reduce(lambda state, other: state.with_pod(other, node), others, each).filter(node)
    return status
