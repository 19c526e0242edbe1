"""The gang of a pod as a whole: its members, their common plan, and the reasons against the next member."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.gangs.gang import (
    GangError,
    GangKey,
    GangWait,
    InvalidGang,
    gang_of,
)
from berth.scheduling.gangs.planner import STATUSES, GangPlacement
from berth.scheduling.gangs.plans import GangOutcome
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.changes import Changes
from berth_cli.explanation.case import Case
from berth_cli.explanation.counterfactuals.search import IsOver, Search, next_member, search
from berth_cli.explanation.explanation import Cause, Verdict
from berth_cli.explanation.reasons import Reasons, by_reason
from berth_cli.explanation.report import (
    VERSION,
    cause_text,
    changes_text,
    reasons_document,
    reasons_text,
    search_document,
)
from berth_cli.explanation.rules import Rules
from berth_cli.explanation.target import Target
from berth_cli.terminal.input_files import InvalidInput
from berth_cli.terminal.output import table_lines

WITHOUT_ROOM = (GangWait.FOR_ROOM, GangWait.FOR_POOL)
NOT_ENABLED = "the configuration does not enable gangs, so each pod is placed alone; give --config with gangs.enabled"


class MemberState(StrEnum):
    """The state of a gang member. The names are part of the JSON output. PLANNED: it would be placed on the node,
    together with the other members."""

    ON_NODE = "on-node"
    PLANNED = "planned"
    WAITING = "waiting"
    GATED = "gated"
    TERMINATING = "terminating"


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of the gang. node: empty if it does not have one."""

    name: str
    state: MemberState
    node: str = ""


@dataclass(frozen=True, slots=True)
class GangExplanation:
    """The explanation of a gang. minimum: the number of members that are placed together. reason: why they wait; empty
    if they do not. reasons: those against the next member, with the planned members on their nodes. before: gangs
    that are placed earlier. cause: why it waits although its members fit. search: changes that would place it; None if
    the search was not run.
    """

    key: GangKey
    minimum: int
    verdict: Verdict
    reason: str = ""
    code: str = ""
    members: Sequence[Member] = ()
    reasons: Reasons = field(default_factory=dict)
    before: Sequence[GangKey] = ()
    cause: Cause | None = None
    search: Search | None = None

    def count(self, *states: MemberState) -> int:
        """Return the number of members in these states."""
        return sum(each.state in states for each in self.members)


def explain_gang(target: Target, configuration: BerthConfiguration) -> GangExplanation:
    """Explain the gang that the pod names. Raises InvalidInput."""
    if not configuration.gangs.enabled:
        raise InvalidInput(NOT_ENABLED)
    rules = Rules(configuration)
    pod = replace(target.case.pod, node_name=target.state.node) if target.state.node else target.case.pod
    snapshot = target.case.snapshot.with_changes(Changes(pods=(pod,)))
    gang = gang_of(pod, snapshot.pod_groups, configuration.gangs)
    if gang is None or rules.berth.was_exempt(pod):
        raise InvalidInput(f"pod {pod.namespace}/{pod.name} is in no gang: explain it without --gang")
    if isinstance(gang, InvalidGang):
        key = gang.key or GangKey(pod.namespace, "")
        return GangExplanation(key, 0, Verdict.PENDING, gang.error, STATUSES[gang.error].reason_codes[0])
    placement = rules.placement(pod, snapshot)
    assert not isinstance(placement, InvalidGang)
    pods = rules.berth.members_of(gang.key, snapshot).values()
    members = [_member(each, placement) for each in sorted(pods, key=lambda each: (len(each.name), each.name))]
    outcome: GangOutcome = GangWait.FOR_MEMBERS
    if placement is not None:
        outcome = placement.outcome
    elif any(each.state is MemberState.ON_NODE for each in members):
        outcome = None
    before = () if placement is None else placement.before
    if not isinstance(outcome, GangError | GangWait):
        verdict = Verdict.PLACED if outcome is None else Verdict.PLACEABLE
        return GangExplanation(gang.key, gang.minimum, verdict, members=members, before=before)
    reasons, code = _reasons(placement, target.case, rules), str(STATUSES[outcome].reason_codes[0])
    return GangExplanation(gang.key, gang.minimum, Verdict.PENDING, str(outcome), code, members, reasons, before)


def with_changes(found: GangExplanation, target: Target, rules: Rules, is_over: IsOver) -> GangExplanation:
    """Add changes that would place the gang, if it is pending. is_over: returns whether the search must stop."""
    is_pending = found.verdict is Verdict.PENDING
    return replace(found, search=search(target.case, rules, is_over)) if is_pending else found


def _member(pod: Pod, placement: GangPlacement | None) -> Member:
    name = f"{pod.namespace}/{pod.name}"
    if pod.terminating:
        return Member(name, MemberState.TERMINATING, pod.node_name)
    if pod.node_name:
        return Member(name, MemberState.ON_NODE, pod.node_name)
    if pod.spec.gated:
        return Member(name, MemberState.GATED)
    place = "" if placement is None else placement.places.get(pod.uid, "")
    return Member(name, MemberState.PLANNED if place else MemberState.WAITING, place)


def _reasons(placement: GangPlacement | None, case: Case, rules: Rules) -> Reasons:
    """Return the reasons against the first unplaced member. It is evaluated alone, with all planned pods on their
    nodes."""
    if placement is None or placement.outcome not in WITHOUT_ROOM:
        return {}
    beside = next_member(replace(case, in_gang=True), placement)
    rejected = rules.without_gangs.rejected(beside.pod, list(beside.snapshot.nodes), beside.snapshot)
    return by_reason(rejected, beside.pod, beside.snapshot)


def gang_text(found: GangExplanation) -> Iterator[str]:
    """Yield the explanation, the verdict first."""
    waiting = found.count(MemberState.PLANNED, MemberState.WAITING)
    needed = f"{waiting} members wait for a node, {found.minimum} are needed"
    name = f"gang {found.key}"
    if found.verdict is Verdict.PLACED:
        others = f"; {waiting} more are placed one by one" if waiting else ""
        yield f"{name}: placed: {found.count(MemberState.ON_NODE)} members are on nodes{others}"
    elif found.cause is not None:
        yield f"{name}: pending: {cause_text(found.cause)}; {needed}, and all of these have places"
    elif found.verdict is Verdict.PLACEABLE:
        yield f"{name}: can be placed: {needed}, and all of these have places"
    elif found.reason in WITHOUT_ROOM:
        yield f"{name}: pending: {needed}, and there is room for {found.count(MemberState.PLANNED)} of them together"
    elif found.reason == GangWait.FOR_MEMBERS:
        yield f"{name}: pending: {needed}"
    else:
        yield f"{name}: pending: {found.reason}"
    if found.members:
        yield ""
        rows = ((each.name, str(each.state), each.node) for each in found.members)
        yield from table_lines([("MEMBER", "STATE", "NODE"), *rows], "  ")
    if found.reasons:
        yield ""
        yield "With these on their nodes, the next member fits on no node:"
        yield from reasons_text(found.reasons)
    if found.before:
        yield ""
        yield f"Gangs that get their places first, by priority and age: {', '.join(map(str, found.before))}"
    if found.search is not None:
        yield ""
        yield from changes_text(found.search, ())


def gang_document(found: GangExplanation) -> Mapping[str, object]:
    """Build the document for programs."""
    return {
        "version": VERSION,
        "gang": str(found.key),
        "verdict": found.verdict,
        "minimum": found.minimum,
        "cause": None if found.cause is None else cause_text(found.cause),
        "reason": found.reason or None,
        "code": found.code or None,
        "members": [{"pod": each.name, "state": each.state, "node": each.node or None} for each in found.members],
        "reasons": reasons_document(found.reasons),
        "before": [str(each) for each in found.before],
        **search_document(found.search),
    }
