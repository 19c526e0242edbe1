"""The rules that apply to a pod: kube-scheduler's own plugins, then Berth's profile for the pod."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.evaluation import Evaluation, LocalEvaluation
from berth.scheduling.feasibility import Exemption
from berth.scheduling.framework.plugin import SUCCESS, Status
from berth.scheduling.framework.profile import AnyFilter, Profile
from berth.scheduling.framework.shipped_profiles import FULL
from berth.scheduling.gangs.gang import NO_OPEN_GANGS, Gang, GangsConfiguration, InvalidGang, gang_of
from berth.scheduling.gangs.overview import GangStatus
from berth.scheduling.gangs.planner import GangPlacement
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.pools import domain_of, limits_namespace, resource_of
from berth.scheduling.objects import Pod
from berth.scheduling.plugins.floating_resources import FloatingResources
from berth.scheduling.policy import Policy
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot

T = TypeVar("T")

NO_EXEMPTION = Exemption(daemonSets=False, systemCritical=False, namespaces=frozenset())


class DecidedBy(StrEnum):
    """The owner of a rule."""

    SCHEDULER = "kube-scheduler"
    BERTH = "Berth"


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejection of a node: the first rule that rejects it."""

    by: DecidedBy
    status: Status


PluginVerdict = tuple[DecidedBy, str, Status]
"""The owner of the rule, the plugin, and its status for a node."""


class Rules:
    """Both sets of rules. If Berth's profile is `full`, it contains the scheduler's rules and is used alone."""

    def __init__(self, configuration: BerthConfiguration) -> None:
        self.configuration = configuration
        self.scheduler = configuration.build_profile(FULL)
        self.berth = configuration.policy()
        self._scheduler = Policy(self.scheduler, NO_EXEMPTION)
        self.pools = FloatingResources().with_counting(self.berth.counting)

    def plugins(self, pod: Pod, kind: type[T]) -> Iterator[T]:
        """Yield the filters of this kind that apply to the pod."""
        for _, plugin in self._filters(pod):
            if isinstance(plugin, kind):
                yield plugin

    def rejected(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Mapping[str, Rejection]:
        """Return the rejected nodes of `names`, by name."""
        first = self._scheduler.feasibility(pod, names, snapshot)
        found = {name: Rejection(DecidedBy.SCHEDULER, status) for name, status in first.rejected.items()}
        if first.feasible and (self.berth.plans(pod) or self._berth_profile(pod) is not None):
            second = self.berth.feasibility(pod, first.feasible, snapshot)
            found |= {name: Rejection(DecidedBy.BERTH, status) for name, status in second.rejected.items()}
        return found

    @cached_property
    def without_gangs(self) -> Rules:
        """Return these rules without gangs: every pod is placed alone."""
        return Rules(self.configuration.model_copy(update={"gangs": GangsConfiguration()}))

    def with_capacities(self, capacities: Mapping[str, int]) -> Rules:
        """Return these rules with other capacities of floating pools."""
        resources = self.configuration.managed_resources
        for pool, amount in capacities.items():
            resources = tuple(_with_capacity(each, pool, amount) for each in resources)
        return Rules(self.configuration.model_copy(update={"managed_resources": resources})) if capacities else self

    def is_member(self, pod: Pod, snapshot: Snapshot) -> bool:
        """Return whether the pod is placed together with other members of a gang, or requests it wrongly."""
        return self.berth.plans(pod) and self.berth.planner.is_member(pod, snapshot)

    def placement(self, pod: Pod, snapshot: Snapshot) -> GangPlacement | InvalidGang | None:
        """Return the placement of the pod's gang; None if no member of it waits. snapshot: may contain the pod."""
        snapshot = snapshot.with_changes(Changes(pods=(pod,)))
        gang = gang_of(pod, snapshot.pod_groups, self.configuration.gangs)
        if not isinstance(gang, Gang):
            return gang
        return self.berth.planner.placement(gang.key, snapshot, NO_OPEN_GANGS)

    def gang_status(self, pod: Pod, snapshot: Snapshot) -> GangStatus | None:
        """Return the status of the gang that the pod is placed with."""
        gang = self.berth.gang_of(pod, snapshot)
        statuses = () if gang is None else self.berth.gangs_in(snapshot.with_changes(Changes(pods=(pod,))))
        return next((each for each in statuses if gang is not None and each.key == gang.key), None)

    def fitting(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> list[str]:
        """Return the nodes of `names` that pass all rules."""
        rejected = self.rejected(pod, names, snapshot)
        return [name for name in names if name not in rejected]

    def failing(self, pod: Pod, names: Iterable[str], snapshot: Snapshot) -> Mapping[str, Sequence[Status]]:
        """Return, by node of `names`, the statuses of all filters that reject it, not only of the first."""
        found: dict[str, list[Status]] = {name: [] for name in names}
        for _, plugin in self._filters(pod):
            statuses = _alone(plugin, pod, snapshot).statuses
            for name, own in found.items():
                status = statuses[name]
                if status is not SUCCESS and status not in own:
                    own.append(status)
        return found

    def by_plugin(self, pod: Pod, node: str, snapshot: Snapshot) -> Iterator[PluginVerdict]:
        """Yield each plugin's verdict on this node, independent of the other verdicts."""
        for by, plugin in self._filters(pod):
            yield by, plugin.name, _alone(plugin, pod, snapshot).statuses[node]

    def _filters(self, pod: Pod) -> Iterator[tuple[DecidedBy, AnyFilter]]:
        for by, profile in self._profiles(pod):
            for plugin in profile.filters:
                yield by, plugin

    def _profiles(self, pod: Pod) -> Iterator[tuple[DecidedBy, Profile]]:
        yield DecidedBy.SCHEDULER, self.scheduler
        profile = self._berth_profile(pod)
        if profile is not None:
            yield DecidedBy.BERTH, profile

    def _berth_profile(self, pod: Pod) -> Profile | None:
        profile = self.berth.profile_of(pod)
        return None if profile.name == FULL else profile


def _with_capacity(resource: ManagedResource, pool: str, amount: int) -> ManagedResource:
    capacity, value = resource.capacity, domain_of(pool).partition("=")[2]
    if resource.name != resource_of(pool):
        return resource
    if capacity is None or limits_namespace(pool):
        return resource.model_copy(update={"per_namespace": amount})
    changed = {"values": {**capacity.values, value: amount}} if value else {"value": amount}
    return resource.model_copy(update={"capacity": capacity.model_copy(update=changed)})


def _alone(plugin: AnyFilter, pod: Pod, snapshot: Snapshot) -> Evaluation:
    """Evaluate one filter plugin without the others."""
    profile = Profile(plugin.name, (plugin,), ())
    return Evaluation.of(profile, pod, snapshot, LocalEvaluation.of(profile, pod, snapshot))
