"""The rivals of a pod: waiting pods that the scheduler tries first and that may take the pod's room. They have a higher
priority, or the same priority and are older."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from berth.cluster.field_projection import waits_for_pool
from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.gangs.planner import GangPlacement
from berth.scheduling.gangs.planning import GangPlan
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import gang_names
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.explanation.case import Case
from berth_cli.explanation.pod_state import PodState, pending_cause
from berth_cli.explanation.rules import Rules
from berth_cli.placement.queue import build_queue, by_turn, rank_of
from berth_cli.placement.scheduler.control_loop import ControlLoop, Outcome, fit_error_message
from berth_cli.placement.scheduler.extender import PolicyExtender

IsOver = Callable[[], bool]
"""Returns whether the time is over."""


def tried_by(scheduler: str, waiting: Iterable[tuple[Pod, PodState]]) -> tuple[Pod, ...]:
    """Return the waiting pods that this scheduler tries, or that any scheduler has tried, in its order. Leave out pods
    that no scheduler places: their calls or claims fail, or no scheduler has their schedulerName."""
    tried = [
        replace(pod, created_at=state.created_at)
        for pod, state in waiting
        if (state.was_tried or state.scheduler == scheduler) and pending_cause(state) is None
    ]
    return build_queue(tried, ()).pods


def beside_waiting(
    case: Case, first: Pod, waiting: Iterable[tuple[Pod, PodState]], rules: Rules, is_over: IsOver
) -> Case:
    """Return the case with the pods that the scheduler tries before and after `first`, in its order. Units of floating
    pools are kept for the pods before it. first: the pod, or the first waiting member of its gang."""
    gang, queue = gang_names(first), tried_by(first.scheduler_name or DEFAULT_SCHEDULER, waiting)
    others = [pod for pod in queue if not gang or pod.namespace != first.namespace or gang_names(pod) != gang]
    rivals = tuple(pod for pod in others if rank_of(pod) < rank_of(first))
    case = replace(case, rivals=rivals, followers=tuple(others[len(rivals) :]))
    if not rules.berth.counting.floating.exist:
        return case
    last = beside_rivals(case, rules, is_over).snapshot
    return case.with_changes(Changes(pods=[pod for pod in last.unbound.values() if pod.waits_for_pool]))


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


def first_taker(case: Case, rules: Rules, is_over: IsOver) -> tuple[Pod | None, Case]:
    """Place the rivals until the pod, or its gang, no longer fits. Return the rival that took its place (of a gang, its
    first member; None if the pod still fits or the time is over), and the cluster with the placed rivals."""
    beside = case
    for placed, snapshot in run_turns(case.rivals, case.snapshot, rules, is_over):
        beside = replace(case, snapshot=snapshot)
        if placed and not places_of(beside, rules)[0]:
            return placed[0], beside
    return None, beside


def beside_rivals(case: Case, rules: Rules, is_over: IsOver) -> Case:
    """Return the case with all rivals on their nodes; they are not there yet, so no change can end them."""
    turns = [((), case.snapshot), *run_turns(case.rivals, case.snapshot, rules, is_over)]
    placed = (pod for pods, _ in turns for pod in pods)
    return replace(case, snapshot=turns[-1][1], planned=(*case.planned, *placed))


def run_turns(
    pods: Iterable[Pod], snapshot: Snapshot, rules: Rules, is_over: IsOver
) -> Iterator[tuple[Sequence[Pod], Snapshot]]:
    """Place one pod, or one gang, after the other, without evictions. Yield the placed pods and the snapshot after each
    turn; the snapshot shows which of the other pods wait for a floating pool."""
    names, alone = list(snapshot.nodes), rules.without_gangs
    # Most pods fit nowhere, and pods of a controller are alike.
    nowhere = dict[object, bool]()
    loop = ControlLoop(rules.scheduler, snapshot, PolicyExtender(rules.berth))
    for turn in by_turn(pods):
        if is_over():
            break
        pod, before, outcomes = turn[0], loop.snapshot, list[Outcome]()
        kind = pod.namespace, pod.priority, pod.spec, pod.label_set, tuple(sorted(pod.annotations.items()))
        if kind not in nowhere and len(rejected := alone.rejected(pod, names, before)) == len(names):
            reasons = [reason for each in rejected.values() for reason in each.status.reasons]
            nowhere[kind] = waits_for_pool(fit_error_message(len(names), reasons, None))
        if kind not in nowhere:
            outcomes = list(loop.run(turn))
        if any(each.preemption and each.preemption.nominated for each in outcomes):
            loop.snapshot, outcomes = before, []
        placed = [each.pod for each in outcomes if each.node]
        waits = turn if nowhere.get(kind) else [each.pod for each in outcomes if waits_for_pool(each.message)]
        changed = [replace(pod, waits_for_pool=True) for pod in waits if not pod.waits_for_pool]
        loop.snapshot = loop.snapshot.with_changes(Changes(pods=changed)) if changed else loop.snapshot
        yield placed, loop.snapshot


def taken_text(taker: Pod | None, pod: Pod) -> str:
    """Name the waiting pod that takes the room of the pod. Returns an empty text without such a pod."""
    if taker is None:
        return ""
    is_older = (taker.priority or 0) == (pod.priority or 0)
    why = "of equal priority is older and" if is_older else "of higher priority"
    return f"{taker.namespace}/{taker.name} {why} would take it first"
