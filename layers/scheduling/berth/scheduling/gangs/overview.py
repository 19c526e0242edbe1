"""An overview of a cluster's gangs, for users: the stage of each gang, and the reason why it waits.

It uses only the data that filter has: the snapshot and the open gangs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from berth.scheduling.gangs.gang import Gang, GangError, GangKey, GangsConfiguration, GangWait, InvalidGang, gang_of
from berth.scheduling.gangs.members import GangMembers, WasExempt, created_at_of, lives, members_of, priority_of
from berth.scheduling.gangs.planned_nodes import shortage_of
from berth.scheduling.gangs.planning import GangPlan
from berth.scheduling.gangs.plans import Plans
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects.pod import Pod
from berth.scheduling.snapshot.snapshot import Snapshot


class GangStage(StrEnum):
    """The stage of a gang. PLACED: the gang is committed. HAS_PLACES: members have planned nodes, which pass filter.
    DOES_NOT_FIT: also if planning takes too long. INVALID: filter rejects the members on all nodes."""

    WAITS_FOR_MEMBERS = "waits-for-members"
    DOES_NOT_FIT = "does-not-fit"
    HAS_PLACES = "has-places"
    PLACED = "placed"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class MemberStatus:
    """A member of a gang. node: empty before the member is bound. place: the planned node; empty if there is none."""

    name: str
    uid: str
    node: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class GangStatus:
    """A gang as filter sees it. minimum: 0 if it cannot be read. created_at: seconds since the epoch; None if unknown.

    waits_for: the reason why the gang waits, with numbers and names of resources; empty if it does not wait.
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
    snapshot: Snapshot, configuration: GangsConfiguration, counting: Counting, was_exempt: WasExempt, plans: Plans
) -> list[GangStatus]:
    """Return the gangs, sorted by key. plans: the plans of the gangs with a waiting member."""
    found = []
    for key in (GangKey(*name) for name in snapshot.pods_by_gang):
        living = [pod for pod in members_of(key, snapshot, was_exempt).values() if lives(pod)]
        living.sort(key=lambda pod: pod.name)
        asked = [gang_of(pod, snapshot.pod_groups, configuration) for pod in living]
        status = _status(key, living, asked, plans, counting)
        if status is not None:
            found.append(status)
    return sorted(found, key=lambda each: each.key)


def _status(
    key: GangKey, pods: Sequence[Pod], asked: Sequence[Gang | InvalidGang | None], plans: Plans, counting: Counting
) -> GangStatus | None:
    """Return the gang's status; None if all its members are placed one by one, have ended, or are being deleted. asked:
    the gang that each pod requests."""
    gang = next((each for each in asked if isinstance(each, Gang)), None)
    invalid = next((each.error for each in asked if isinstance(each, InvalidGang)), None)
    if gang is None and invalid is None:
        return None
    planned = plans.members.get(key)
    outcome = plans.outcomes.get(key)
    places = {**outcome.places, **plans.extra} if isinstance(outcome, GangPlan) else {}
    members = tuple(MemberStatus(pod.name, pod.uid, pod.node_name, places.get(pod.uid, "")) for pod in pods)
    waiting = pods if planned is None else planned.waiting
    priority, created_at = priority_of(gang, waiting), created_at_of(gang, waiting)
    created = created_at if isfinite(created_at) else None
    stage, waits_for = _stage(key, pods, gang, invalid, plans, counting)
    minimum, topology_key = (0, "") if gang is None else (gang.minimum, gang.topology_key)
    return GangStatus(key, stage, minimum, priority, created, topology_key, waits_for, members)


def _stage(
    key: GangKey, pods: Sequence[Pod], gang: Gang | None, invalid: GangError | None, plans: Plans, counting: Counting
) -> tuple[GangStage, str]:
    if gang is None:
        return GangStage.INVALID, str(invalid)
    if any(pod.node_name for pod in pods):
        return GangStage.PLACED, ""
    match plans.outcomes.get(key, GangWait.FOR_MEMBERS):
        case None:
            return GangStage.PLACED, ""
        case GangPlan():
            return GangStage.HAS_PLACES, ""
        case GangWait.FOR_ROOM | GangWait.FOR_POOL:
            return GangStage.DOES_NOT_FIT, _shortage(plans.members[key], plans, counting)
        case GangWait.TOO_COSTLY as outcome:
            return GangStage.DOES_NOT_FIT, str(outcome)
        case GangWait.FOR_MEMBERS:
            exist = len(plans.members[key].waiting) if key in plans.members else 0
            gated = sum(pod.spec.gated for pod in pods)
            return GangStage.WAITS_FOR_MEMBERS, _waits_for_members(exist, gang.minimum, gated, invalid)
        case GangError() as outcome:
            return GangStage.INVALID, str(outcome)


def _shortage(members: GangMembers, plans: Plans, counting: Counting) -> str:
    groups = plans.planning.by_shape(members.waiting[: members.gang.minimum])
    placed = len(plans.planning.most(members, plans.planned_nodes).places)
    return shortage_of(groups, placed, plans.planned_nodes, counting)


def _waits_for_members(exist: int, minimum: int, gated: int, invalid: GangError | None) -> str:
    """Describe the missing members. gated: the number of gated members. invalid: the error of rejected members."""
    notes = [f"{exist} of {minimum} members exist"]
    if gated:
        notes.append(f"{gated} more are gated")
    if invalid is not None:
        notes.append(f"others are rejected: {invalid}")
    return ", ".join(notes)
