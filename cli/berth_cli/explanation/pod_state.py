"""A pod's state in Kubernetes, and the verdict on a pod: its state may prevent placement on every node."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from berth.pods import DEFAULT_SCHEDULER
from berth.scheduling.fields.reading import Object, condition_in, part, read_time
from berth_cli.installation.doctor.checks.pending_pods import UNTRIED_SECONDS
from berth_cli.placement.warnings import unchecked_claims
from berth_cli.sources.attempts import Attempts, NoRecord
from berth_cli.sources.pod_document import objects_in
from berth_cli.terminal.output import duration

SCHEDULER_ERROR, UNSCHEDULABLE = "SchedulerError", "Unschedulable"
"""Reasons of the condition PodScheduled: the cycle ended with an error, or the pod did not fit on any node."""


class Verdict(StrEnum):
    """The verdict on a pod, as in the JSON output. PLACEABLE: a node fits now. PREEMPTING: a node fits after evictions.
    FAILS contains the verdicts if a node fits, maybe after evictions, but a call or the scheduler's cycle fails."""

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
class PodState:
    """The pod's state in Kubernetes. node: empty if it is not bound. was_tried: whether a scheduler has tried it.
    created_at: seconds since the epoch; None for a manifest. unchecked: the parts of the pod that no rule here checks.
    scheduler_reason, scheduler_message: from the condition PodScheduled if it is false."""

    node: str
    phase: str
    gates: tuple[str, ...]
    finalizers: tuple[str, ...]
    is_terminating: bool
    was_tried: bool
    created_at: float | None
    scheduler: str
    unchecked: tuple[str, ...] = ()
    scheduler_reason: str = ""
    scheduler_message: str = ""

    @property
    def deletion(self) -> str:
        """The deletion as a clause, with the finalizers; empty if the pod is not being deleted."""
        waits = f" and waits for finalizer {', '.join(self.finalizers)}" if self.finalizers else ""
        return f"is being deleted{waits}" if self.is_terminating else ""


def read_state(obj: Object) -> PodState:
    """Read the state of a v1.Pod."""
    metadata, spec, status = (part(obj, name) for name in ("metadata", "spec", "status"))
    scheduled, finalizers = condition_in(status, "PodScheduled"), metadata.get("finalizers")
    # PyYAML reads a timestamp as a datetime.
    created = metadata.get("creationTimestamp")
    failed = scheduled if scheduled.get("status") == "False" else {}
    return PodState(
        node=str(spec.get("nodeName") or ""),
        phase=str(status.get("phase") or ""),
        gates=tuple(str(each.get("name")) for each in objects_in(spec.get("schedulingGates"))),
        finalizers=tuple(map(str, finalizers)) if isinstance(finalizers, list) else (),
        is_terminating=bool(metadata.get("deletionTimestamp")),
        was_tried=bool(scheduled),
        created_at=read_time(created.isoformat() if isinstance(created, datetime) else created),
        scheduler=str(spec.get("schedulerName") or DEFAULT_SCHEDULER),
        unchecked=unchecked_claims(obj),
        scheduler_reason=str(failed.get("reason") or ""),
        scheduler_message=str(failed.get("message") or ""),
    )


@dataclass(frozen=True, slots=True)
class Cause:
    """The reason why a pod waits although it fits. verdict: one of FAILS. event: the failure, as a clause. error: the
    text of the failure; may be empty. at: the time of the failure, in seconds since the epoch; None: now."""

    verdict: Verdict
    event: str
    error: str = ""
    at: float | None = None

    def text(self, now: float | None = None) -> str:
        """Format the cause. now: seconds since the epoch; None: omit the cause's time."""
        ago = "" if self.at is None or now is None else f" {duration(now - self.at)} ago"
        return f"{self.event}{ago}" + (f": {self.error}" if self.error else "")


def pending_cause(state: PodState, attempts: Attempts | NoRecord | None = None, failure: str = "") -> Cause | None:
    """Return why a pod that fits still waits: its scheduler's calls fail, or the scheduler reports a reason that no
    rule here checks. None if no failure is known. failure: why Berth cannot answer now; may be empty."""
    if failure:
        return Cause(Verdict.BERTH_FAILS, failure)
    if isinstance(attempts, Attempts):
        bind, last = attempts.bind, attempts.all[-1]
        if bind is not None and bind.error:
            return Cause(Verdict.BIND_FAILS, f"its bind to {bind.chosen} failed", bind.error, bind.time)
        if bind is None and (error := last.failure):
            return Cause(Verdict.BERTH_FAILS, f"Berth cannot decide ({last.outcome})", error, last.time)
    if state.scheduler_reason == SCHEDULER_ERROR or (state.scheduler_reason == UNSCHEDULABLE and state.unchecked):
        return Cause(Verdict.SCHEDULER_FAILS, "the scheduler says", state.scheduler_message)
    return None


def verdict_on(
    state: PodState, now: float, cause: Cause | None, *, fits: bool, preempts: bool = False
) -> tuple[Verdict, str]:
    """Return the verdict, and the reason that does not depend on the nodes; may be empty. now: seconds since the epoch.
    cause: of a failed call. fits, preempts: whether a node passes all rules, now or after evictions."""
    if state.phase in ("Succeeded", "Failed"):
        return Verdict.FINISHED, ""
    if state.node:
        return Verdict.PLACED, ""
    if state.is_terminating:
        return Verdict.TERMINATING, f"{state.deletion}, so no scheduler places it"
    if state.gates:
        return Verdict.GATED, f"its scheduling gates hold it ({', '.join(state.gates)})"
    if not state.was_tried and state.created_at is not None and now - state.created_at > UNTRIED_SECONDS:
        return Verdict.UNTRIED, f"no scheduler named {state.scheduler} has tried it"
    if cause is not None and (fits or preempts):
        return cause.verdict, cause.text(now)
    if fits:
        return Verdict.PLACEABLE, ""
    return Verdict.PREEMPTING if preempts else Verdict.PENDING, ""
