"""Explains the gang of a pod: its members, their common plan, and the reasons against the next member."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.gangs.gang import Gang, GangError, GangKey, GangWait, InvalidGang, gang_of
from berth.scheduling.gangs.members import order_of_members
from berth.scheduling.gangs.planner import STATUSES, GangPlacement
from berth.scheduling.gangs.plans import GangOutcome
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.changes import Changes
from berth_cli.explanation.case import Case
from berth_cli.explanation.counterfactuals.search import Search, next_member, search
from berth_cli.explanation.pod_state import Cause, Verdict, pending_cause
from berth_cli.explanation.report import VERSION, changes_text, reasons_document, reasons_text, search_document
from berth_cli.explanation.rivals import IsOver, beside_waiting
from berth_cli.explanation.rules import Reasons, Rules, by_detail, by_reason
from berth_cli.explanation.target import Target
from berth_cli.placement.queue import rank_of
from berth_cli.terminal.input_files import InvalidInput
from berth_cli.terminal.output import table_lines

WITHOUT_ROOM = (GangWait.FOR_ROOM, GangWait.FOR_POOL)
NOT_ENABLED = "the configuration does not enable gangs, so each pod is placed alone; give --config with gangs.enabled"


class MemberState(StrEnum):
    """The state of a gang member. The names are part of the JSON output. PLANNED: the gang's plan has a node for it."""

    ON_NODE = "on-node"
    PLANNED = "planned"
    WAITING = "waiting"
    GATED = "gated"
    TERMINATING = "terminating"


@dataclass(frozen=True, slots=True)
class Member:
    """A pod of the gang. node: the node that it has or would get; may be empty."""

    name: str
    state: MemberState
    node: str = ""


@dataclass(frozen=True, slots=True)
class GangExplanation:
    """The explanation of a gang. minimum: the number of members that are placed together. reason: why they wait. exist:
    how many members exist if some are missing. reasons: the reasons against the next member while the planned members
    are on their nodes. before: the gangs that are placed earlier. cause: why the gang waits although its members fit.
    invalid: the errors of members whose gang annotations or fields are invalid."""

    key: GangKey
    minimum: int
    verdict: Verdict
    reason: GangError | GangWait | None = None
    members: Sequence[Member] = ()
    reasons: Reasons = field(default_factory=dict)
    before: Sequence[GangKey] = ()
    cause: Cause | None = None
    search: Search | None = None
    invalid: Mapping[str, GangError] = field(default_factory=dict)
    exist: str = ""

    def count(self, *states: MemberState) -> int:
        """Return the number of members in these states."""
        return sum(each.state in states for each in self.members)


def explain_gang(
    target: Target, configuration: BerthConfiguration, failure: str = "", is_over: IsOver | None = None
) -> GangExplanation:
    """Explain the gang that the pod names; all members get the same answer. failure: why Berth cannot answer now.
    is_over: returns whether the search for changes must stop; None: do not search. Raises InvalidInput."""
    if not configuration.gangs.enabled:
        raise InvalidInput(NOT_ENABLED)
    rules, pod = Rules(configuration), replace(target.case.pod, node_name=target.state.node)
    snapshot = target.case.snapshot.with_changes(Changes(pods=(pod,)))
    own = gang_of(pod, snapshot.pod_groups, configuration.gangs)
    if own is None or rules.berth.was_exempt(pod):
        raise InvalidInput(f"pod {pod.namespace}/{pod.name} is in no gang: explain it without --gang")
    known = {pod.uid: pod} if own.key is None else rules.berth.members_of(own.key, snapshot)
    pods = sorted(known.values(), key=order_of_members)
    gangs = [(each, gang_of(each, snapshot.pod_groups, configuration.gangs)) for each in pods]
    invalid = {f"{each.namespace}/{each.name}": gang.error for each, gang in gangs if isinstance(gang, InvalidGang)}
    valid = [(each, gang) for each, gang in gangs if isinstance(gang, Gang)]
    if not valid:
        error, key = next(iter(invalid.values())), own.key or GangKey(pod.namespace, "")
        return GangExplanation(key, 0, Verdict.PENDING, error, invalid=invalid)
    gang, first = valid[0][1], next((each for each, _ in valid if not each.node_name), valid[0][0])
    case = replace(target.case, pod=pod)
    case = case if first.node_name else case.rooted_at(first.uid)
    # The order must not depend on the member that the user names.
    waiting = [each for each in pods if not each.node_name]
    turn = min(waiting, key=rank_of, default=first)
    case = beside_waiting(case, turn, target.waiting, rules, is_over or (lambda: False))
    snapshot = case.snapshot.with_changes(Changes(pods=(case.pod,)))
    snapshot = snapshot.with_changes(Changes(pods_gone=[("", each.uid) for each in waiting]))
    placement = rules.placement(first, snapshot.with_changes(Changes(pods=waiting)))
    assert not isinstance(placement, InvalidGang)
    outcome: GangOutcome = GangWait.FOR_MEMBERS if placement is None else placement.outcome
    members = [_member(each, placement) for each in pods]
    if placement is None and any(each.state is MemberState.ON_NODE for each in members):
        outcome = None
    before = () if placement is None else placement.before
    found = GangExplanation(gang.key, gang.minimum, Verdict.PLACED, members=members, before=before, invalid=invalid)
    if isinstance(outcome, GangError | GangWait):
        status = rules.gang_status(case.pod, case.snapshot) if outcome is GangWait.FOR_MEMBERS else None
        return replace(
            found,
            verdict=Verdict.PENDING,
            reason=outcome,
            exist="" if status is None else status.waits_for,
            reasons=_reasons(placement, case, rules),
            search=None if is_over is None else search(case, rules, is_over),
        )
    if outcome is None or placement is None:
        return found
    states = {pod.uid: target.state, **{other.uid: state for other, state in target.waiting}}
    planned = (states[each.uid] for each in pods if each.uid in states.keys() & placement.places)
    cause = next(filter(None, (pending_cause(state, None, failure) for state in planned)), None)
    return replace(found, verdict=Verdict.PLACEABLE if cause is None else cause.verdict, cause=cause)


def _member(pod: Pod, placement: GangPlacement | None) -> Member:
    place = "" if placement is None else placement.places.get(pod.uid, "")
    state = MemberState.PLANNED if place else MemberState.WAITING
    if pod.terminating:
        state = MemberState.TERMINATING
    elif pod.node_name:
        state = MemberState.ON_NODE
    elif pod.spec.gated:
        state = MemberState.GATED
    return Member(f"{pod.namespace}/{pod.name}", state, pod.node_name or place)


def _reasons(placement: GangPlacement | None, case: Case, rules: Rules) -> Reasons:
    """Return the reasons against the first unplaced member, evaluated alone with all planned pods on their nodes."""
    if placement is None or placement.outcome not in WITHOUT_ROOM:
        return {}
    beside = next_member(replace(case, in_gang=True), placement)
    rejected = rules.without_gangs.rejected(beside.pod, list(beside.snapshot.nodes), beside.snapshot)
    return by_detail(by_reason(rejected, beside.pod, beside.snapshot), beside.pod, beside.snapshot)


def gang_headline(found: GangExplanation) -> str:
    """Return the verdict in one line."""
    waiting = found.count(MemberState.PLANNED, MemberState.WAITING)
    needed = f"{waiting} members wait for a node, {found.minimum} are needed"
    name, has_places = f"gang {found.key}", f"{needed}, and all of these have places"
    if found.verdict is Verdict.PLACED:
        others = f"; {waiting} more are placed one by one" if waiting else ""
        return f"{name}: placed: {found.count(MemberState.ON_NODE)} members are on nodes{others}"
    if found.cause is not None:
        return f"{name}: pending: {found.cause.text()}; {has_places}"
    if found.verdict is Verdict.PLACEABLE:
        return f"{name}: can be placed: {has_places}"
    if found.reason in WITHOUT_ROOM:
        in_vain = "; more nodes do not help" if found.search and found.search.more_nodes_help is False else ""
        room = f"there is room for {found.count(MemberState.PLANNED)} of them together"
        return f"{name}: pending: {needed}, and {room}{in_vain}"
    return f"{name}: pending: {found.exist or found.reason}"


def gang_text(found: GangExplanation) -> Iterator[str]:
    """Yield the explanation, the verdict first."""
    yield gang_headline(found)
    yield from (f"  {member}: {error}" for member, error in found.invalid.items())
    if found.members:
        rows = ((each.name, str(each.state), each.node) for each in found.members)
        yield from ("", *table_lines([("MEMBER", "STATE", "NODE"), *rows], "  "))
    if found.reasons:
        yield from ("", "With these on their nodes, the next member fits on no node:", *reasons_text(found.reasons))
    if found.before:
        yield from ("", f"Gangs that get their places first, by priority and age: {', '.join(map(str, found.before))}")
    if found.search is not None:
        yield from ("", *changes_text(found.search))


def gang_document(found: GangExplanation) -> Mapping[str, object]:
    """Build the document for programs."""
    return {
        "version": VERSION,
        "gang": str(found.key),
        "verdict": found.verdict,
        "minimum": found.minimum,
        "headline": gang_headline(found),
        "cause": None if found.cause is None else found.cause.text(),
        "reason": found.reason,
        "code": None if found.reason is None else STATUSES[found.reason].reason_codes[0],
        "invalidMembers": dict(found.invalid),
        "members": [{"pod": each.name, "state": each.state, "node": each.node or None} for each in found.members],
        "reasons": reasons_document(found.reasons),
        "before": [str(each) for each in found.before],
        **search_document(found.search),
    }
