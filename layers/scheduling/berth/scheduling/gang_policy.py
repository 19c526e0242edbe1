"""The decisions of a policy for members of gangs: their planned nodes, and the nodes that they may not use."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from berth.scheduling.evaluation.time_limit import TimeLimited
from berth.scheduling.feasibility import Feasibility, ProfileChoice, none_feasible, only_feasible
from berth.scheduling.framework.plugin import Status
from berth.scheduling.gangs.gang import Gang, GangKey, GangsConfiguration, GangWait, OpenGang, gang_of
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import names_gang
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from berth.scheduling.gangs.overview import GangStatus
    from berth.scheduling.gangs.planned_nodes import Evaluate
    from berth.scheduling.gangs.planner import GangPlanner

NOT_OUTSIDE: Mapping[str, Status] = {}


class GangPolicy:
    """The gang decisions of one policy. It caches plans and does not have other state. Thread-safe."""

    def __init__(
        self,
        configuration: GangsConfiguration,
        counting: Counting,
        profiles: ProfileChoice,
        evaluate: Evaluate,
        time_limited: TimeLimited,
    ) -> None:
        self._configuration, self._counting, self._profiles = configuration, counting, profiles
        self._evaluate, self._time_limited = evaluate, time_limited

    @cached_property
    def _planner(self) -> GangPlanner:
        # Imported for the first member of a gang: without gangs a cold start does not need it.
        from berth.scheduling.gangs.planner import GangPlanner

        profiles = self._profiles
        return GangPlanner(
            self._configuration,
            self._counting,
            profiles.for_planning,
            self._evaluate,
            profiles.was_exempt,
            self._time_limited,
        )

    def plans(self, pod: Pod) -> bool:
        """Return whether the pod names a gang. Exempt pods do not belong to gangs."""
        return names_gang(pod) and not self._profiles.is_exempt(pod)

    def gang_of(self, pod: Pod, snapshot: Snapshot) -> Gang | None:
        """Return the gang that the pod is placed with; None for a pod that is placed alone."""
        if not self._planner.is_member(pod, snapshot):
            return None
        found = gang_of(pod, snapshot.pod_groups, self._configuration)
        return found if isinstance(found, Gang) else None

    def members_of(self, key: GangKey, snapshot: Snapshot) -> Mapping[str, Pod]:
        """Return the members of a gang, by UID, without exempt pods."""
        from berth.scheduling.gangs.members import members_of

        return members_of(key, snapshot, self._profiles.was_exempt)

    def statuses(self, snapshot: Snapshot, open_gangs: Sequence[OpenGang]) -> list[GangStatus]:
        """Return the gangs of the cluster, each with the reason why it waits."""
        from berth.scheduling.gangs.overview import overview

        plans = self._planner.planned(snapshot, open_gangs)
        return overview(snapshot, self._configuration, self._counting, self._profiles.was_exempt, plans)

    def decided(
        self, pod: Pod, nodes: NodeRefs, snapshot: Snapshot, seconds_left: float, open_gangs: Sequence[OpenGang]
    ) -> Feasibility | Mapping[str, Status]:
        """Return the planned nodes of a gang's member, or the reason why it waits. For a pod that is placed alone,
        return the nodes that its gang forbids, with their statuses. Raises DeadlineExceeded."""
        from berth.scheduling.gangs.planner import ELSEWHERE, OTHER_DOMAIN, STATUSES, InDomain
        from berth.scheduling.gangs.plans import Places

        match self._planner.decide(pod, nodes, snapshot, open_gangs, seconds_left):
            case None:
                return NOT_OUTSIDE
            case InDomain(outside=outside):
                return dict.fromkeys(outside, OTHER_DOMAIN)
            case Places(names=names):
                return only_feasible(nodes, names, ELSEWHERE)
            case why:
                return none_feasible(nodes, STATUSES[why], too_costly=why is GangWait.TOO_COSTLY)

    def barred(self, pod: Pod, names: Collection[str], snapshot: Snapshot) -> Collection[str]:
        """Return those of these nodes on which pods may not be evicted for this member: all nodes while its gang is not
        committed, because the other members may still not fit."""
        if self._planner.is_member(pod, snapshot):
            return set(names)
        return set(self._planner.outside(pod, names, snapshot))
