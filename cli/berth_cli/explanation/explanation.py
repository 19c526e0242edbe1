"""The explanation of one pod: the verdict, the nodes by reason, the scores, and changes that would place
it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from berth.scheduling.objects import Pod
from berth_cli.explanation.counterfactuals.search import Search, search
from berth_cli.explanation.pod_state import FAILS, Cause, Verdict, verdict_on
from berth_cli.explanation.pools import PoolShortage
from berth_cli.explanation.reasons import Reasons, by_reason
from berth_cli.explanation.rivals import first_taker, rivals_of
from berth_cli.explanation.rules import Rules
from berth_cli.explanation.shortfall import missing_for, pools_against
from berth_cli.explanation.target import Target
from berth_cli.placement.scheduler.control_loop import ControlLoop, RankedNode
from berth_cli.placement.scheduler.extender import PolicyExtender
from berth_cli.placement.scheduler.preemption import Preemption

MAX_RANKED = 10


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation. node: the pod's own, or where it would be placed. fitting: the nodes that pass all rules.
    ranking: the best of them. search: changes that would place the pod; None if the search was not run. cause: for
    verdicts in FAILS. held: why no scheduler places it whatever the nodes. missing: all that is, if it fits on no node;
    pools: those with too little left. taker: a waiting pod of a higher priority that takes its place first. now:
    seconds since the epoch.
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
    taker: Pod | None = None
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
    case = replace(target.case, rivals=rivals_of(target.case.pod, target.waiting))
    names = list(case.snapshot.nodes)
    rejected = rules.rejected(case.pod, names, case.snapshot)
    fitting = [name for name in names if name not in rejected]
    loop = ControlLoop(rules.scheduler, case.snapshot, PolicyExtender(rules.berth), weight=weight, explain_placed=True)
    outcome = loop.schedule(case.pod)
    if fitting and not outcome.node:
        cause = cause or Cause(Verdict.SCHEDULER_FAILS, "kube-scheduler fails", outcome.message)
    verdict, held = verdict_on(target.state, now, cause, fits=bool(fitting), preempts=bool(outcome.node))
    taker = first_taker(case, rules, is_over)[0] if verdict is Verdict.PLACEABLE else None
    if taker is not None:
        verdict = Verdict.PENDING
    reasons = by_reason(rejected, case.pod, case.snapshot)
    pools = () if fitting or outcome.node else pools_against(case, rules, reasons)
    wants_changes = (not fitting or taker is not None) and verdict in (
        Verdict.PENDING,
        Verdict.PREEMPTING,
        Verdict.UNTRIED,
    )
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
        search(replace(case, asked=case.pod.uid), rules, is_over) if wants_changes else None,
        cause if verdict in FAILS else None,
        held,
        pools,
        () if fitting or outcome.node else missing_for(case, rules, reasons, pools),
        taker,
        now,
    )
