"""Why a pod still waits that has a node by every rule: the calls of its scheduler fail, or the scheduler says what no
rule here looks at."""

from __future__ import annotations

from berth.extender.outcomes import FilterOutcome
from berth.scheduling.reason_code import ReasonCode
from berth_cli.explain.attempts import Attempt, Attempts, NoRecord
from berth_cli.explain.explanation import Cause, Verdict
from berth_cli.explain.target import Target

SCHEDULER_ERROR, UNSCHEDULABLE = "SchedulerError", "Unschedulable"
"""Reasons of PodScheduled: the cycle ended with an error, or no node fitted."""


def pending_cause(target: Target, attempts: Attempts | NoRecord | None, failure: str) -> Cause | None:
    """None where nothing is known to fail. failure: why Berth answers no call now; empty where it does."""
    if failure:
        return Cause(Verdict.BERTH_FAILS, failure)
    found = _of_attempts(attempts) if isinstance(attempts, Attempts) else None
    return found or _of_condition(target)


def _of_attempts(found: Attempts) -> Cause | None:
    bind, last = found.bind, found.last
    if bind is not None:
        return Cause(Verdict.BIND_FAILS, f"its bind to {bind.node} failed", bind.error, bind.at) if bind.error else None
    error = _failure_of(last)
    return Cause(Verdict.BERTH_FAILS, f"Berth cannot decide ({last.outcome})", error, last.at) if error else None


def _failure_of(last: Attempt) -> str:
    """Why the call left no node without judging any."""
    if last.error:
        return last.error
    unjudged = {ReasonCode.TOO_COSTLY, ReasonCode.NODE_NOT_IN_CACHE}
    if last.feasible == 0 and (last.outcome == FilterOutcome.TOO_COSTLY or unjudged.issuperset(_codes(last))):
        return ", ".join(each.reason for each in last.reasons)
    return ""


def _codes(last: Attempt) -> set[str]:
    return {each.code for each in last.reasons}


def _of_condition(target: Target) -> Cause | None:
    state = target.state
    if state.scheduler_reason == SCHEDULER_ERROR or (state.scheduler_reason == UNSCHEDULABLE and target.unchecked):
        return Cause(Verdict.SCHEDULER_FAILS, "the scheduler says", state.scheduler_message)
    return None
