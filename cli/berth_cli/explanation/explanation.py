"""The explanation of one pod: the verdict, the nodes by reason, the scores, and changes that would place
it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.explanation.blockers import PoolShortage
from berth_cli.explanation.counterfactuals.search import Search, search
from berth_cli.explanation.pod_state import FAILS, Cause, Verdict, verdict_on
from berth_cli.explanation.reasons import Reasons, by_reason
from berth_cli.explanation.rivals import first_taker, rivals_of, taken_text
from berth_cli.explanation.rules import Rules
from berth_cli.explanation.shortfall import missing_for, pools_against
from berth_cli.explanation.target import Target
from berth_cli.placement.scheduler.control_loop import ControlLoop, Outcome, RankedNode
from berth_cli.placement.scheduler.extender import PolicyExtender
from berth_cli.placement.scheduler.preemption import Preemption

MAX_RANKED = 10


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation. node: the pod's own, or where it would be placed. fitting: the nodes that pass all rules.
    ranking: the best of them. search: changes that would place the pod; None if the search was not run. cause: for
    verdicts in FAILS. held: why no scheduler places it whatever the nodes. missing: all that is, if it fits on no node;
    pools: those with too little left. taken: the waiting pod that is tried first and takes its place; may be empty.
    now: seconds since the epoch.
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
    held: str = ""
    pools: Sequence[PoolShortage] = ()
    missing: Sequence[str] = ()
    taken: str = ""
    now: float = 0.0


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
    pod = replace(target.case.pod, created_at=target.state.created_at)
    case = replace(target.case, rivals=rivals_of(pod, target.waiting))
    names = list(case.snapshot.nodes)
    rejected = rules.rejected(case.pod, names, case.snapshot)
    fitting = [name for name in names if name not in rejected]

    def scheduled(snapshot: Snapshot) -> Outcome:
        loop = ControlLoop(rules.scheduler, snapshot, PolicyExtender(rules.berth), weight=weight, explain_placed=True)
        return loop.schedule(case.pod)

    outcome = scheduled(case.snapshot)
    if fitting and not outcome.node:
        cause = cause or Cause(Verdict.SCHEDULER_FAILS, "kube-scheduler fails", outcome.message)
    verdict, held = verdict_on(target.state, now, cause, fits=bool(fitting), preempts=bool(outcome.node))
    taken, node = "", target.state.node or outcome.node
    if verdict is Verdict.PLACEABLE:
        taker, beside = first_taker(case, rules, is_over)
        taken = taken_text(taker, case.pod)
        verdict = Verdict.PENDING if taken else verdict
        node = node if beside is case else scheduled(beside.snapshot).node or node
    reasons = by_reason(rejected, case.pod, case.snapshot)
    is_short = not fitting and not outcome.node
    pools = pools_against(case, rules, reasons) if is_short else ()
    wants_changes = (not fitting or taken) and verdict in (Verdict.PENDING, Verdict.PREEMPTING, Verdict.UNTRIED)
    return Explanation(
        case.pod,
        target,
        verdict,
        node,
        len(names),
        fitting,
        reasons,
        outcome.ranking[:MAX_RANKED] if fitting else (),
        None if fitting else outcome.preemption,
        search(replace(case, asked=case.pod.uid), rules, is_over) if wants_changes else None,
        cause if verdict in FAILS else None,
        held,
        pools,
        missing_for(case, rules, reasons, pools) if is_short else (),
        taken,
        now,
    )
