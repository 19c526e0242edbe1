"""An overview of a cluster's gangs, for people: how far each gang is, and what it waits for.

It uses only the data that filter has: the gangs' own items tell whether members are being bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from berth.scheduling.gangs.gang import Gang, GangError, GangKey, GangsConfiguration, GangWait, InvalidGang, gang_of
from berth.scheduling.gangs.members import WasExempt, created_at_of, lives, members_of, priority_of
from berth.scheduling.gangs.planner import PlannedGang
from berth.scheduling.gangs.planning import GangPlan
from berth.scheduling.objects.pod import Pod
from berth.scheduling.snapshot.snapshot import Snapshot


class GangStage(StrEnum):
    """PLACED: a member is on a node, so the gang was committed. HAS_PLACES: filter lets its members pass. INVALID: its
    members are rejected whatever the nodes are."""

    WAITS_FOR_MEMBERS = "waits-for-members"
    DOES_NOT_FIT = "does-not-fit"
    HAS_PLACES = "has-places"
    PLACED = "placed"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """node: empty before the member is bound. place: the node that filter would let it go to."""

    name: str
    uid: str
    node: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class GangStatus:
    """A gang as filter sees it. minimum: 0 if it cannot be read. created_at: seconds since the epoch; None if unknown.

    waits_for: empty for a gang that waits for nothing. It has numbers, names of resources and constant texts.
    """

    key: GangKey
    stage: GangStage
    minimum: int
    priority: int
    created_at: float | None
    topology_key: str
    waits_for: str
    members: tuple[MemberStatus, ...]

    @property
    def on_nodes(self) -> int:
        return sum(bool(member.node) for member in self.members)


def overview(
    snapshot: Snapshot, configuration: GangsConfiguration, was_exempt: WasExempt, planned: Iterable[PlannedGang]
) -> list[GangStatus]:
    """Return the gangs, sorted by key. planned: the gangs with a member that waits."""
    waiting = {each.members.key: each for each in planned}
    found = []
    for key in (GangKey(*name) for name in snapshot.pods_by_gang):
        living = [pod for pod in members_of(key, snapshot, was_exempt).values() if lives(pod)]
        living.sort(key=lambda pod: pod.name)
        status = _status(key, living, snapshot, configuration, waiting)
        if status is not None:
            found.append(status)
    return sorted(found, key=lambda each: each.key)


def _status(
    key: GangKey,
    pods: Sequence[Pod],
    snapshot: Snapshot,
    configuration: GangsConfiguration,
    planned: Mapping[GangKey, PlannedGang],
) -> GangStatus | None:
    """The gang's status; None if its members are placed one by one, or are all being deleted."""
    asked = [gang_of(pod, snapshot.pod_groups, configuration) for pod in pods]
    gang = next((each for each in asked if isinstance(each, Gang)), None)
    invalid = next((each.error for each in asked if isinstance(each, InvalidGang)), None)
    if gang is None and invalid is None:
        return None
    plan = planned.get(key)
    places = {} if plan is None else plan.places
    members = tuple(MemberStatus(pod.name, pod.uid, pod.node_name, places.get(pod.uid, "")) for pod in pods)
    stage, waits_for = _stage(pods, gang, invalid, plan)
    counted = pods if plan is None else plan.members.waiting
    priority, created_at = priority_of(gang, counted), created_at_of(gang, counted)
    created = created_at if isfinite(created_at) else None
    minimum, topology_key = (0, "") if gang is None else (gang.minimum, gang.topology_key)
    return GangStatus(key, stage, minimum, priority, created, topology_key, waits_for, members)


def _stage(
    pods: Sequence[Pod], gang: Gang | None, invalid: GangError | None, plan: PlannedGang | None
) -> tuple[GangStage, str]:
    if gang is None:
        return GangStage.INVALID, str(invalid)
    if any(pod.node_name for pod in pods):
        return GangStage.PLACED, ""
    outcome = GangWait.FOR_MEMBERS if plan is None else plan.outcome
    match outcome:
        case None:
            return GangStage.PLACED, ""
        case GangPlan():
            return GangStage.HAS_PLACES, ""
        case GangError():
            return GangStage.INVALID, str(outcome)
        case GangWait.FOR_ROOM:
            return GangStage.DOES_NOT_FIT, str(plan.shortage) if plan is not None else ""
        case GangWait.TOO_COSTLY:
            return GangStage.DOES_NOT_FIT, str(outcome)
        case GangWait.FOR_MEMBERS:
            exist = 0 if plan is None else len(plan.members.waiting)
            gated = sum(pod.spec.gated for pod in pods)
            return GangStage.WAITS_FOR_MEMBERS, waits_for_members(exist, gang.minimum, gated, invalid)


def waits_for_members(exist: int, minimum: int, gated: int, invalid: GangError | None) -> str:
    """Describe the members that are missing. gated, invalid: members that exist and do not count."""
    notes = [f"{exist} of {minimum} members exist"]
    if gated:
        notes.append(f"{gated} more are gated")
    if invalid is not None:
        notes.append(f"others are rejected: {invalid}")
    return ", ".join(notes)
