"""The explanation of one pod: a verdict, the reasons of all nodes in groups, scores, and what would place it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from berth.scheduling.objects import Pod
from berth.scheduling.reason_code import ReasonCode
from berth_cli.doctor.checks.pending_pods import UNTRIED_SECONDS
from berth_cli.explain.counterfactuals.candidates import Search
from berth_cli.explain.counterfactuals.new_nodes import NewNodes, new_nodes
from berth_cli.explain.counterfactuals.search import search
from berth_cli.explain.rules import DecidedBy, PluginVerdict, Rejection, Rules
from berth_cli.explain.target import Target
from berth_cli.simulate.scheduler.control_loop import ControlLoop, Outcome, RankedNode
from berth_cli.simulate.scheduler.extender import PolicyExtender
from berth_cli.simulate.scheduler.preemption import Preemption

MOST_RANKED = 10


class Verdict(StrEnum):
    """The names are part of the JSON output. PLACEABLE: a node fits now. PREEMPTING: after evictions. Those in FAILS: a
    node fits, or would after evictions, and a call or the scheduler's cycle fails all the same."""

    PLACED = "placed"
    PLACEABLE = "placeable"
    PREEMPTING = "placeable-by-preemption"
    PENDING = "pending"
    GATED = "pending-gated"
    UNTRIED = "pending-not-tried"
    BERTH_FAILS = "pending-berth-fails"
    BIND_FAILS = "pending-bind-fails"
    SCHEDULER_FAILS = "pending-scheduler-fails"
    FINISHED = "finished"


FAILS = frozenset({Verdict.BERTH_FAILS, Verdict.BIND_FAILS, Verdict.SCHEDULER_FAILS})
IS_PENDING = frozenset({Verdict.PENDING, Verdict.GATED, Verdict.UNTRIED, *FAILS})


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a pod waits that has a node by every rule. verdict: one of FAILS. event: what fails, as half a sentence.
    error: the text of whoever failed; may be empty. at: when, in seconds since the epoch; None for now."""

    verdict: Verdict
    event: str
    error: str = ""
    at: float | None = None


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    """All nodes that one reason rejects, in the dump's order. A node may have several reasons."""

    code: ReasonCode
    reason: str
    plugin: str
    by: DecidedBy
    nodes: Sequence[str]


@dataclass(frozen=True, slots=True)
class Explanation:
    """node: the pod's own, or where it would go. fitting: the nodes that pass every rule. ranking: the best of them.
    search: for changes that would place the pod; None where none were looked for. new_nodes: then, what an autoscaler
    can do. cause: of a verdict in FAILS."""

    pod: Pod
    target: Target
    verdict: Verdict
    node: str
    nodes: int
    fitting: Sequence[str]
    groups: Sequence[ReasonGroup]
    ranking: Sequence[RankedNode]
    preemption: Preemption | None
    search: Search | None = None
    new_nodes: NewNodes | None = None
    cause: Cause | None = None


@dataclass(frozen=True, slots=True)
class NodeExplanation:
    """Every plugin's verdict and score for the pod on one node. rejection: the first rule that rejects it."""

    pod: Pod
    node: str
    rejection: Rejection | None
    verdicts: Sequence[PluginVerdict]


def explain_pod(
    target: Target,
    rules: Rules,
    *,
    weight: int,
    now: float,
    is_over: Callable[[], bool],
    cause: Cause | None = None,
) -> Explanation:
    """Judge every node. now: seconds since the epoch. is_over: whether the search for changes has to stop. cause: why
    the pod waits, if it has a node."""
    case = target.case
    names = list(case.snapshot.nodes)
    rejected = rules.rejected(case.pod, names, case.snapshot)
    fitting = [name for name in names if name not in rejected]
    loop = ControlLoop(rules.scheduler, case.snapshot, PolicyExtender(rules.berth), weight=weight, explain_placed=True)
    outcome = loop.schedule(case.pod)
    if fitting and not outcome.node:
        cause = cause or Cause(Verdict.SCHEDULER_FAILS, "kube-scheduler fails", outcome.message)
    verdict = _verdict(target, bool(fitting), outcome, now, cause)
    wants_changes = not fitting and verdict in (Verdict.PENDING, Verdict.PREEMPTING, Verdict.UNTRIED)
    return Explanation(
        case.pod,
        target,
        verdict,
        target.state.node or outcome.node,
        len(names),
        fitting,
        reason_groups(rejected),
        outcome.ranking[:MOST_RANKED] if fitting else (),
        None if fitting else outcome.preemption,
        search(case, rules, is_over) if wants_changes else None,
        new_nodes(case, rules, rejected, target.node_templates) if wants_changes else None,
        cause if verdict in FAILS else None,
    )


def explain_node(target: Target, rules: Rules, node: str) -> NodeExplanation:
    """Judge one node of the cluster by every plugin alone."""
    case = target.case
    rejected = rules.rejected(case.pod, list(case.snapshot.nodes), case.snapshot)
    fitting = [name for name in case.snapshot.nodes if name not in rejected]
    verdicts = tuple(rules.by_plugin(case.pod, node, fitting, case.snapshot))
    return NodeExplanation(case.pod, node, rejected.get(node), verdicts)


def _verdict(target: Target, fits: bool, outcome: Outcome, now: float, cause: Cause | None) -> Verdict:
    state = target.state
    if state.phase in ("Succeeded", "Failed"):
        return Verdict.FINISHED
    if state.node:
        return Verdict.PLACED
    if state.gates:
        return Verdict.GATED
    if not state.was_tried and state.created_at is not None and now - state.created_at > UNTRIED_SECONDS:
        return Verdict.UNTRIED
    if cause is not None and (fits or outcome.node):
        return cause.verdict
    if fits:
        return Verdict.PLACEABLE
    return Verdict.PREEMPTING if outcome.node else Verdict.PENDING


def reason_groups(rejected: Mapping[str, Rejection]) -> list[ReasonGroup]:
    """By reason, that of most nodes first."""
    found: dict[tuple[DecidedBy, str, str, ReasonCode], list[str]] = {}
    for name, rejection in rejected.items():
        status = rejection.status
        for reason, code in zip(status.reasons, status.reason_codes, strict=True):
            found.setdefault((rejection.by, status.plugin, reason, code), []).append(name)
    groups = [ReasonGroup(code, reason, plugin, by, nodes) for (by, plugin, reason, code), nodes in found.items()]
    return sorted(groups, key=lambda group: (-len(group.nodes), group.reason))
