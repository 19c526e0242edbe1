"""The waiting pods of a higher priority: the scheduler tries them first, so they may take the room for a pod."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.gangs.planner import GangPlacement
from berth.scheduling.gangs.planning import GangPlan
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import gang_names
from berth_cli.explanation.case import Case
from berth_cli.explanation.pod_state import PodState, pending_cause
from berth_cli.explanation.rules import Rules
from berth_cli.placement.queue import build_queue
from berth_cli.placement.scheduler.control_loop import ControlLoop
from berth_cli.placement.scheduler.extender import PolicyExtender


def rivals_of(pod: Pod, waiting: Iterable[tuple[Pod, PodState]]) -> tuple[Pod, ...]:
    """Return the pods of a higher priority, in the scheduler's order. Leaves out members of the pod's gang, and pods
    that no scheduler places: a call or a claim fails, or no scheduler has their schedulerName."""
    gang = gang_names(pod)
    ahead = [
        other
        for other, state in waiting
        if (other.priority or 0) > (pod.priority or 0)
        and (state.was_tried or state.scheduler == (pod.scheduler_name or DEFAULT_SCHEDULER))
        and pending_cause(state) is None
        and not (gang and other.namespace == pod.namespace and gang_names(other) == gang)
    ]
    return build_queue(ahead, ()).pods


def places_of(case: Case, rules: Rules, names: Iterable[str] = ()) -> tuple[Sequence[str], Sequence[Pod]]:
    """Return the nodes that fit, and the pods that are then placed: the pod alone, or its gang. Both are empty if none
    fits. names: the nodes that may take a pod without a gang; by default all."""
    if not case.in_gang:
        fits = rules.fitting(case.pod, sorted(names or case.snapshot.nodes), case.snapshot)
        return fits, [replace(case.pod, node_name=each) for each in fits[:1]]
    found = rules.placement(case.pod, case.snapshot)
    if not isinstance(found, GangPlacement) or not isinstance(found.outcome, GangPlan):
        return (), ()
    wanted = found.places.keys() & {case.asked} if case.asked else found.places
    return sorted({found.places[uid] for uid in wanted}), found.placed


def first_taker(case: Case, rules: Rules, is_over: Callable[[], bool]) -> tuple[Pod | None, Case]:
    """Place the rivals until the pod, or its gang, does not fit any more. Return the last one that was placed, None if
    it still fits or the time is over; and the cluster with the placed rivals."""
    if not case.rivals:
        return None, case
    names, alone = list(case.snapshot.nodes), rules.without_gangs
    # Most rivals still fit nowhere, and pods of a controller are alike.
    kinds = {(pod.spec, pod.label_set): pod for pod in case.rivals}
    placeable = {kind for kind, pod in kinds.items() if not is_over() and alone.fitting(pod, names, case.snapshot)}
    rivals = [pod for pod in case.rivals if (pod.spec, pod.label_set) in placeable]
    loop = ControlLoop(rules.scheduler, case.snapshot, PolicyExtender(rules.berth))
    for outcome in loop.run(rivals):
        if is_over():
            break
        if outcome.node and not places_of(replace(case, snapshot=loop.snapshot), rules)[0]:
            return outcome.pod, replace(case, snapshot=loop.snapshot)
    return None, replace(case, snapshot=loop.snapshot)
