"""The rivals of a pod: waiting pods that the scheduler tries first and that may take the pod's room. They have a higher
priority, or the same priority and are older."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.gangs.planner import GangPlacement
from berth.scheduling.gangs.planning import GangPlan
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import gang_names
from berth_cli.explanation.case import Case
from berth_cli.explanation.pod_state import PodState, pending_cause
from berth_cli.explanation.rules import Rules
from berth_cli.placement.queue import build_queue, by_turn, rank_of
from berth_cli.placement.scheduler.control_loop import ControlLoop
from berth_cli.placement.scheduler.extender import PolicyExtender


def tried_by(scheduler: str, waiting: Iterable[tuple[Pod, PodState]]) -> tuple[Pod, ...]:
    """Return the waiting pods that this scheduler tries, or that any scheduler has tried, in its order. Leave out pods
    that no scheduler places: their calls or claims fail, or no scheduler has their schedulerName."""
    tried = [
        replace(pod, created_at=state.created_at)
        for pod, state in waiting
        if (state.was_tried or state.scheduler == scheduler) and pending_cause(state) is None
    ]
    return build_queue(tried, ()).pods


def rivals_of(pod: Pod, waiting: Iterable[tuple[Pod, PodState]]) -> tuple[Pod, ...]:
    """Return the pods that are tried before this pod, in the scheduler's order, without the members of its gang."""
    gang, ahead = gang_names(pod), tried_by(pod.scheduler_name or DEFAULT_SCHEDULER, waiting)
    return tuple(
        other
        for other in ahead
        if rank_of(other) < rank_of(pod)
        and not (gang and other.namespace == pod.namespace and gang_names(other) == gang)
    )


def places_of(case: Case, rules: Rules, names: Iterable[str] = ()) -> tuple[Sequence[str], Sequence[Pod]]:
    """Return the nodes that fit, and the pods that are placed on them: the pod alone, or its gang. Both are empty if no
    node fits. names: the nodes that may take a pod without a gang; by default all."""
    if not case.in_gang:
        fits = rules.fitting(case.pod, sorted(names or case.snapshot.nodes), case.snapshot)
        return fits, [replace(case.pod, node_name=each) for each in fits[:1]]
    found = rules.placement(case.pod, case.snapshot)
    if not isinstance(found, GangPlacement) or not isinstance(found.outcome, GangPlan):
        return (), ()
    wanted = found.places.keys() & {case.asked} if case.asked else found.places
    return sorted({found.places[uid] for uid in wanted}), found.placed


def first_taker(case: Case, rules: Rules, is_over: Callable[[], bool]) -> tuple[Pod | None, Case]:
    """Place the rivals until the pod, or its gang, does not fit any more. Return the one that took its place, or the
    first member of its gang; None if the pod still fits or the time is over; and the cluster with the placed rivals."""
    beside = case
    for placed, beside in _with_rivals(case, rules, is_over):
        if not places_of(beside, rules)[0]:
            return placed[0], beside
    return None, beside


def beside_rivals(case: Case, rules: Rules, is_over: Callable[[], bool]) -> Case:
    """Return the case with all rivals on their nodes; they are not there yet, so they cannot end."""
    steps = list(_with_rivals(case, rules, is_over))
    placed = (pod for pods, _ in steps for pod in pods)
    return replace(steps[-1][1], planned=(*case.planned, *placed)) if steps else case


def _with_rivals(case: Case, rules: Rules, is_over: Callable[[], bool]) -> Iterator[tuple[Sequence[Pod], Case]]:
    """Place one rival, or one gang, after the other; yield the placed pods and the cluster with them."""
    names, alone = list(case.snapshot.nodes), rules.without_gangs
    # Most rivals fit nowhere, and pods of a controller are alike.
    nowhere = set[tuple[object, object]]()
    loop = ControlLoop(rules.scheduler, case.snapshot, PolicyExtender(rules.berth))
    for pod, *others in by_turn(case.rivals):
        kind = pod.spec, pod.label_set
        if is_over():
            break
        if kind in nowhere or not alone.fitting(pod, names, loop.snapshot):
            nowhere.add(kind)
            continue
        if placed := [outcome.pod for outcome in loop.run([pod, *others]) if outcome.node]:
            yield placed, replace(case, snapshot=loop.snapshot)


def taken_text(taker: Pod | None, pod: Pod) -> str:
    """Name the waiting pod that takes the room of the pod. Returns an empty text without such a pod."""
    if taker is None:
        return ""
    is_older = (taker.priority or 0) == (pod.priority or 0)
    why = "of equal priority is older and" if is_older else "of higher priority"
    return f"{taker.namespace}/{taker.name} {why} would take it first"
