"""Place the pods of a dump by two policies.

The nodes are emptied first: each pod that a scheduler has placed is placed again, by priority, beside the pods of
DaemonSets and static pods. Both policies so decide on the same pods in the same order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.fields.reading import Object
from berth.scheduling.gangs.gang import GangsConfiguration
from berth.scheduling.objects import Pod
from berth_cli.cluster_files.admission import DEFAULT_SCHEDULER
from berth_cli.cluster_files.cluster import Cluster, read_cluster, trim
from berth_cli.cluster_files.manifests import as_new_pod
from berth_cli.input_files import InvalidInput
from berth_cli.policy.diff.policy_diff import PolicyDiff, pods_text
from berth_cli.simulate.comparison.comparison import Cause, Comparison, compare
from berth_cli.simulate.comparison.run import PodName, RunRecorder
from berth_cli.simulate.queue import build_queue
from berth_cli.simulate.scheduler.control_loop import ControlLoop, control_loop_of
from berth_cli.simulate.warnings import pod_warnings
from berth_cli.simulate.what_if.changed_objects import runs_on_every_node
from berth_cli.simulate.what_if.workload_pods import has_finished, mapping, node_of


class PodSelection(StrEnum):
    """Which pods are placed. ALL: those on nodes, too, as if they were not there. PENDING: those without a node."""

    ALL = "all"
    PENDING = "pending"


@dataclass(frozen=True, slots=True)
class DiffRequest:
    """The two policies, the pods to place by them, and the extender's weight in kube-scheduler's configuration.

    `schedulers`: whose pods; the others stay where they are.
    """

    old: BerthConfiguration
    new: BerthConfiguration
    pods: PodSelection
    schedulers: Collection[str]
    weight: int = 1


def schedulers_of(old: BerthConfiguration, new: BerthConfiguration) -> frozenset[str]:
    """The default scheduler, and those that have a profile of their own in one of the policies."""
    return frozenset({DEFAULT_SCHEDULER, *old.profiles, *new.profiles})


def objects_to_place(objects: Iterable[Object], request: DiffRequest) -> list[Object]:
    """The objects of the dump; pods that are placed again have no node."""
    if request.pods is PodSelection.PENDING:
        return list(objects)
    return [as_new_pod(obj, 0) if _is_placed_again(obj, request.schedulers) else obj for obj in objects]


def warnings(objects: Sequence[Object], gangs: GangsConfiguration) -> list[str]:
    """What the simulation of these pods cannot see. gangs: of the new policy."""
    kinds = Counter(str(obj.get("kind")) for obj in objects)
    return pod_warnings((obj for obj in objects if obj.get("kind") == "Pod" and not node_of(obj)), kinds, gangs)


def diff_policies(objects: Sequence[Object], where: str, request: DiffRequest) -> PolicyDiff:
    """Place the pods without a node by both policies. `where`: the dump, for messages.

    Raises InvalidInput, also if there is no pod to place: such a comparison would keep every limit.
    """
    old, new = (_read(objects, where, policy) for policy in (request.old, request.new))
    before = control_loop_of(request.old, old.snapshot, weight=request.weight)
    after = control_loop_of(request.new, new.snapshot, weight=request.weight)
    queues = (build_queue(each.pods, request.schedulers).pods for each in (old, new))
    comparison, judged = place_by_both(before, after, zip(*queues, strict=True))
    if not judged:
        raise InvalidInput(f"{where}: no pods to compare: {_why_none(objects, request)}")
    return PolicyDiff(comparison, judged, f"{where}: {_source(request.pods, judged)}")


def place_by_both(
    before: ControlLoop,
    after: ControlLoop,
    pods: Iterable[tuple[Pod, Pod]],
    has_time: Callable[[], bool] = lambda: True,
) -> tuple[Comparison, int]:
    """Place each pod by both control loops, and count the pods. pods: each as the two policies read it. has_time: asked
    before each pod; the first no ends it."""
    queue = list(pods)
    outcomes = before.run(pod for pod, _ in queue)
    outcomes_after = after.run(same_pod for _, same_pod in queue)
    recorded, recorded_after = RunRecorder(), RunRecorder()
    reasons: dict[PodName, Cause] = {}
    judged = 0
    for pod, same_pod in takewhile(lambda _: has_time(), queue):
        judged += 1
        outcome = next(outcomes)
        rejection = after.rejection(same_pod, outcome.node) if outcome.node else None
        outcome_after = next(outcomes_after)
        recorded.add(outcome)
        recorded_after.add(outcome_after)
        if outcome.node and outcome_after.node != outcome.node:
            reasons[pod.namespace, pod.name] = Cause.of(outcome.node, rejection)
    return compare(recorded.finish(before.snapshot), recorded_after.finish(after.snapshot), reasons=reasons), judged


def _why_none(objects: Iterable[Object], request: DiffRequest) -> str:
    pods = [obj for obj in objects if _is_of_a_scheduler(obj)]
    if request.pods is PodSelection.PENDING:
        pods = [obj for obj in pods if not node_of(obj)]
    others = sorted({_scheduler_of(obj) for obj in pods} - set(request.schedulers))
    if not others:
        return "no pod without a node" if request.pods is PodSelection.PENDING else "no pod that a scheduler places"
    return (
        f"no pod of {' or '.join(sorted(request.schedulers))}, only of {', '.join(others)}; give --scheduler-name "
        f"{others[0]}, or name the scheduler in `profiles` of a policy"
    )


def _source(pods: PodSelection, judged: int) -> str:
    again = " again, from empty nodes" if pods is PodSelection.ALL else ""
    return f"{pods_text(judged)} placed{again}"


def _read(objects: Iterable[Object], where: str, policy: BerthConfiguration) -> Cluster:
    return read_cluster([trim(obj, policy.counting) for obj in objects], where)


def _is_placed_again(obj: Object, schedulers: Collection[str]) -> bool:
    return bool(_is_of_a_scheduler(obj) and node_of(obj)) and _scheduler_of(obj) in schedulers


def _is_of_a_scheduler(obj: Object) -> bool:
    """Whether a scheduler placed the pod, or has to place it."""
    if obj.get("kind") != "Pod" or not mapping(obj, "metadata"):
        return False
    return not (runs_on_every_node(obj) or has_finished(obj) or mapping(obj, "metadata").get("deletionTimestamp"))


def _scheduler_of(pod: Object) -> str:
    return str(mapping(pod, "spec").get("schedulerName") or DEFAULT_SCHEDULER)
