"""Places the pods of a dump by two policies. The nodes are emptied first: each pod that a scheduler has placed is
placed again, by priority. Pods of DaemonSets and static pods stay. So both policies decide on the same pods in the same
order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.reading import Object, part
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import Pod
from berth_cli.placement.changed_objects import PodName, is_leaving, node_of, runs_on_every_node
from berth_cli.placement.comparison import Cause, Comparison, compare
from berth_cli.placement.policy.policy_diff import PolicyDiff
from berth_cli.placement.queue import read_queue
from berth_cli.placement.report import other_schedulers_text, pods_text
from berth_cli.placement.run import RunRecorder
from berth_cli.placement.scheduler.control_loop import ControlLoop, control_loop_of
from berth_cli.sources.dump.manifests import as_new_pod
from berth_cli.terminal.input_files import InvalidInput


def schedulers_of(old: BerthConfiguration, new: BerthConfiguration) -> frozenset[str]:
    """Return the default scheduler, and the schedulers with a profile in one of the policies."""
    return frozenset({DEFAULT_SCHEDULER, *old.profiles, *new.profiles})


def objects_to_place(objects: Iterable[Object], schedulers: Collection[str]) -> list[Object]:
    """Return the objects of the dump. Pods that are placed again do not have a node."""
    return [as_new_pod(obj, 0) if _is_placed_again(obj, schedulers) else obj for obj in objects]


def diff_policies(
    objects: Sequence[Object],
    where: str,
    policies: Sequence[BerthConfiguration],
    schedulers: Collection[str],
    weight: int = 1,
) -> PolicyDiff:
    """Place the pods without a node by both policies. `where`: the dump's name in messages. `schedulers`: the
    schedulers of these pods; other pods stay on their nodes. `weight`: the extender's weight in kube-scheduler's
    configuration. Raises InvalidInput, also if there is no pod to place, because an empty comparison would not exceed
    any limit.
    """
    read = [read_queue(objects, where, policy, schedulers) for policy in policies]
    before, after = (
        control_loop_of(policy, cluster.snapshot, weight=weight)
        for policy, (cluster, _) in zip(policies, read, strict=True)
    )
    pods = list(zip(*(queue.pods for _, queue in read), strict=True))
    if not pods:
        raise InvalidInput(f"{where}: no pods to compare: {_why_none(objects, schedulers)}")
    source = f"{where}: {pods_text(len(pods))} placed again, from empty nodes"
    counting = policies[0].counting, policies[1].counting
    return PolicyDiff(_compare_placements(before, after, pods, counting), len(pods), source)


def _compare_placements(
    before: ControlLoop, after: ControlLoop, pods: Sequence[tuple[Pod, Pod]], counting: tuple[Counting, Counting]
) -> Comparison:
    """Place each pod by both control loops. pods: each pod as parsed for the two policies. counting: how the
    two policies count resources."""
    outcomes, outcomes_after = before.run(pod for pod, _ in pods), after.run(same_pod for _, same_pod in pods)
    recorded, recorded_after = RunRecorder(), RunRecorder()
    reasons: dict[PodName, Cause] = {}
    for pod, same_pod in pods:
        outcome = next(outcomes)
        rejection = after.rejection(same_pod, outcome.node) if outcome.node else None
        outcome_after = next(outcomes_after)
        recorded.add(outcome)
        recorded_after.add(outcome_after)
        if outcome.node and outcome_after.node != outcome.node:
            reasons[pod.namespace, pod.name] = Cause.of(outcome.node, rejection)
    runs = recorded.finish(before.snapshot, counting[0]), recorded_after.finish(after.snapshot, counting[1])
    return compare(*runs, reasons=reasons)


def _why_none(objects: Iterable[Object], schedulers: Collection[str]) -> str:
    others = [_scheduler_of(obj) for obj in objects if _is_of_a_scheduler(obj)]
    others = [name for name in others if name not in schedulers]
    return other_schedulers_text(len(others), sorted({*others})) if others else "no pod that a scheduler places"


def _is_placed_again(obj: Object, schedulers: Collection[str]) -> bool:
    return bool(_is_of_a_scheduler(obj) and node_of(obj)) and _scheduler_of(obj) in schedulers


def _is_of_a_scheduler(obj: Object) -> bool:
    """Return whether a scheduler placed the pod, or must place it."""
    if obj.get("kind") != "Pod" or not part(obj, "metadata"):
        return False
    return not (runs_on_every_node(obj) or is_leaving(obj))


def _scheduler_of(pod: Object) -> str:
    return str(part(pod, "spec").get("schedulerName") or DEFAULT_SCHEDULER)
