"""The node that preemption has made room on, while the room is not free yet (fact 15a)."""

from __future__ import annotations

from berth.scheduling.evaluation import Evaluation
from berth.scheduling.nominations import nominated_verdicts
from berth.scheduling.objects import Pod
from berth.scheduling.preemption.dry_run import DryRun
from berth.scheduling.preemption.eligibility import preempted
from berth.scheduling.preemption.victims import potential_victims
from berth.scheduling.status import SUCCESS


def room_is_coming(evaluation: Evaluation, pod: Pod) -> bool:
    """Whether the pod will fit on its nominated node as soon as those have left that were preempted there."""
    node = evaluation.snapshot.nodes.get(pod.nominated_node)
    leaving = [] if node is None else preempted(pod, node)
    return node is not None and bool(leaving) and DryRun.of(evaluation, pod, node).without(leaving).fits


def has_only_to_wait(evaluation: Evaluation, pod: Pod) -> bool:
    """Whether the node does not do as yet, and will then, as far as the cache can know.

    The scheduler does not ask for more victims while it sees one of those leaving. But it sees them gone before the
    cache does, finds the node rejected by a policy that still counts them, and would go on to the next node. A cache
    that has not heard of the nomination has not heard of these evictions either: then all that may have been evicted
    count as leaving.
    """
    snapshot, name = evaluation.snapshot, pod.nominated_node
    node = snapshot.nodes.get(name)
    if node is None:
        return False
    status = nominated_verdicts(evaluation, evaluation.snapshot, pod, [name]).get(name) or evaluation.statuses[name]
    if status is SUCCESS:
        return False
    known = snapshot.unbound.get(pod.uid)
    if known is not None and known.nominated_node == name:
        return room_is_coming(evaluation, pod)
    return DryRun.of(evaluation, pod, node).without(potential_victims(node.pods, pod)).fits
