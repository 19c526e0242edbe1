"""The explanation of one pod: the verdict, the nodes by reason, the scores, and changes that would place
it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from berth.extender.outcomes import FilterOutcome
from berth.scheduling.framework.shipped_profiles import FLOATING_FILTER
from berth.scheduling.objects import Pod
from berth.scheduling.reason_code import ReasonCode
from berth_cli.explanation.attempts import Attempt, Attempts, NoRecord
from berth_cli.explanation.case import Case
from berth_cli.explanation.counterfactuals.search import Search, search
from berth_cli.explanation.pools import PoolShortage, short_pools
from berth_cli.explanation.reasons import Reasons, by_reason
from berth_cli.explanation.rules import Rules
from berth_cli.explanation.target import Target
from berth_cli.installation.doctor.checks.pending_pods import UNTRIED_SECONDS
from berth_cli.placement.scheduler.control_loop import ControlLoop, Outcome, RankedNode
from berth_cli.placement.scheduler.extender import PolicyExtender
from berth_cli.placement.scheduler.preemption import Preemption

MAX_RANKED = 10
SCHEDULER_ERROR, UNSCHEDULABLE = "SchedulerError", "Unschedulable"
"""Reasons of PodScheduled: the cycle ended with an error, or no node fit."""


class Verdict(StrEnum):
    """The verdict on a pod. The names are part of the JSON output. PLACEABLE: a node fits now. PREEMPTING: a node fits
    after evictions. Those in FAILS: a node fits now or after evictions, but a call or the scheduler's cycle fails."""

    PLACED = "placed"
    PLACEABLE = "placeable"
    PREEMPTING = "placeable-by-preemption"
    PENDING = "pending"
    GATED = "pending-gated"
    TERMINATING = "terminating"
    UNTRIED = "pending-not-tried"
    BERTH_FAILS = "pending-berth-fails"
    BIND_FAILS = "pending-bind-fails"
    SCHEDULER_FAILS = "pending-scheduler-fails"
    FINISHED = "finished"


FAILS = frozenset({Verdict.BERTH_FAILS, Verdict.BIND_FAILS, Verdict.SCHEDULER_FAILS})
IS_PENDING = frozenset({Verdict.PENDING, Verdict.GATED, Verdict.UNTRIED, Verdict.TERMINATING, *FAILS})


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a pod waits although it fits. verdict: one of FAILS. event: the failure, as a clause. error: the text of the
    failure; may be empty. at: its time, in seconds since the epoch; None for now."""

    verdict: Verdict
    event: str
    error: str = ""
    at: float | None = None


def pending_cause(target: Target, attempts: Attempts | NoRecord | None, failure: str) -> Cause | None:
    """Return why a pod that fits still waits: its scheduler's calls fail, or the scheduler reports a reason that no
    rule here checks. None if no failure is known. failure: why Berth cannot answer now; may be empty."""
    if failure:
        return Cause(Verdict.BERTH_FAILS, failure)
    if isinstance(attempts, Attempts):
        bind, last = attempts.bind, attempts.last
        if bind is not None and bind.error:
            return Cause(Verdict.BIND_FAILS, f"its bind to {bind.chosen} failed", bind.error, bind.time)
        if bind is None and (error := _failure_of(last)):
            return Cause(Verdict.BERTH_FAILS, f"Berth cannot decide ({last.outcome})", error, last.time)
    state = target.state
    if state.scheduler_reason == SCHEDULER_ERROR or (state.scheduler_reason == UNSCHEDULABLE and target.unchecked):
        return Cause(Verdict.SCHEDULER_FAILS, "the scheduler says", state.scheduler_message)
    return None


def _failure_of(last: Attempt) -> str:
    """Return why the call failed, or rejected all nodes without evaluating any; otherwise an empty string."""
    unjudged, codes = {ReasonCode.TOO_COSTLY, ReasonCode.NODE_NOT_IN_CACHE}, {each.code for each in last.reasons}
    if last.feasible == 0 and (last.outcome == FilterOutcome.TOO_COSTLY or codes <= unjudged):
        return last.error or ", ".join(each.reason for each in last.reasons)
    return last.error


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation. node: the pod's own, or where it would be placed. fitting: the nodes that pass all rules.
    ranking: the best of them. search: changes that would place the pod; None if the search was not run. cause: for
    verdicts in FAILS. pools: those with too little left, if the pod fits on no node.
    """

    pod: Pod
    target: Target
    verdict: Verdict
    node: str
    nodes: int
    fitting: Sequence[str]
    reasons: Reasons
    ranking: Sequence[RankedNode]
    preemption: Preemption | None
    search: Search | None = None
    cause: Cause | None = None
    pools: Sequence[PoolShortage] = ()


def explain_pod(
    target: Target,
    rules: Rules,
    *,
    weight: int,
    now: float,
    is_over: Callable[[], bool],
    cause: Cause | None = None,
) -> Explanation:
    """Evaluate all nodes. now: seconds since the epoch. is_over: returns whether the search for changes must stop.
    cause: why the pod waits, if it fits on a node."""
    case = target.case
    names = list(case.snapshot.nodes)
    rejected = rules.rejected(case.pod, names, case.snapshot)
    fitting = [name for name in names if name not in rejected]
    loop = ControlLoop(rules.scheduler, case.snapshot, PolicyExtender(rules.berth), weight=weight, explain_placed=True)
    outcome = loop.schedule(case.pod)
    if fitting and not outcome.node:
        cause = cause or Cause(Verdict.SCHEDULER_FAILS, "kube-scheduler fails", outcome.message)
    verdict = _verdict(target, bool(fitting), outcome, now, cause)
    reasons = by_reason(rejected, case.pod, case.snapshot)
    wants_changes = not fitting and verdict in (Verdict.PENDING, Verdict.PREEMPTING, Verdict.UNTRIED)
    return Explanation(
        case.pod,
        target,
        verdict,
        target.state.node or outcome.node,
        len(names),
        fitting,
        reasons,
        outcome.ranking[:MAX_RANKED] if fitting else (),
        None if fitting else outcome.preemption,
        search(case, rules, is_over) if wants_changes else None,
        cause if verdict in FAILS else None,
        () if fitting or outcome.node else _pools_against(case, rules, reasons),
    )


def _pools_against(case: Case, rules: Rules, reasons: Reasons) -> Sequence[PoolShortage]:
    """Return the pools that reject the first node among those that have no other reason. If all nodes have another one,
    return the short pools of the cluster and of the namespace: a place on a node alone would not help."""
    if any(each.code is ReasonCode.GANG_WAITS_FOR_POOL for each in reasons):
        gang = rules.berth.gang_of(case.pod, case.snapshot)
        return short_pools(replace(case, in_gang=True, missing=gang.minimum if gang else 1), rules, {})
    names = next((names for reason, names in reasons.items() if reason.plugin == FLOATING_FILTER), ())
    return short_pools(case, rules, case.snapshot.nodes[names[0]].labels if names else {})


def _verdict(target: Target, fits: bool, outcome: Outcome, now: float, cause: Cause | None) -> Verdict:
    state = target.state
    if state.phase in ("Succeeded", "Failed"):
        return Verdict.FINISHED
    if state.node:
        return Verdict.PLACED
    if state.is_terminating:
        return Verdict.TERMINATING
    if state.gates:
        return Verdict.GATED
    if not state.was_tried and state.created_at is not None and now - state.created_at > UNTRIED_SECONDS:
        return Verdict.UNTRIED
    if cause is not None and (fits or outcome.node):
        return cause.verdict
    if fits:
        return Verdict.PLACEABLE
    return Verdict.PREEMPTING if outcome.node else Verdict.PENDING
