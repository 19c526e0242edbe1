"""PodTopologySpread: spreads the pods of a workload evenly over zones, racks or nodes."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from berth.scheduling.fields.pod_rules import TopologySpreadConstraint, UnsatisfiableConstraintAction
from berth.scheduling.fields.requirements import InvalidRequirement, is_label_key
from berth.scheduling.fields.selectors import NOTHING
from berth.scheduling.framework.plugin import (
    EVENTS_ON_ONE_NODE,
    ClusterEvent,
    ClusterFilter,
    ClusterFilterPlugin,
    ClusterScore,
    ClusterScorePlugin,
    Status,
    error_status,
)
from berth.scheduling.objects import Pod
from berth.scheduling.plugins.arguments import Args
from berth.scheduling.plugins.pod_topology_spread import filtering, scoring
from berth.scheduling.plugins.pod_topology_spread.filtering import NAME
from berth.scheduling.plugins.pod_topology_spread.spread import HOSTNAME, ZONE, Rules, spread_of
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.snapshot import Snapshot

# The reason on every node if a selector of the pod cannot be parsed: kube-scheduler fails the whole cycle.
REASON_INVALID = "pod has a topology spread constraint that cannot be parsed"

_INVALID = error_status(NAME, REASON_INVALID, reason_code=ReasonCode.TOPOLOGY_SPREAD_INVALID)


class DefaultingType(StrEnum):
    """The default constraints of pods. SYSTEM: kube-scheduler's two soft constraints. LIST: `defaultConstraints`."""

    SYSTEM = "System"
    LIST = "List"


class NodeInclusionPolicy(StrEnum):
    """Whether a constraint counts nodes that the pod cannot use. HONOR: it does not. IGNORE: it does."""

    HONOR = "Honor"
    IGNORE = "Ignore"


def _label_key(key: str) -> str:
    if not is_label_key(key):
        raise ValueError("is not a label key")
    return key


class DefaultConstraint(Args):
    """A v1.TopologySpreadConstraint without a selector. Each pod's workloads determine the selector."""

    max_skew: int = Field(ge=1, alias="maxSkew")
    topology_key: Annotated[str, AfterValidator(_label_key)] = Field(alias="topologyKey")
    when_unsatisfiable: UnsatisfiableConstraintAction = Field(alias="whenUnsatisfiable")
    min_domains: int | None = Field(default=None, ge=1, alias="minDomains")
    node_affinity_policy: NodeInclusionPolicy = Field(default=NodeInclusionPolicy.HONOR, alias="nodeAffinityPolicy")
    node_taints_policy: NodeInclusionPolicy = Field(default=NodeInclusionPolicy.IGNORE, alias="nodeTaintsPolicy")

    def as_constraint(self) -> TopologySpreadConstraint:
        return TopologySpreadConstraint(
            self.max_skew,
            self.topology_key,
            self.when_unsatisfiable,
            NOTHING,
            1 if self.min_domains is None else self.min_domains,
            self.node_affinity_policy is NodeInclusionPolicy.HONOR,
            self.node_taints_policy is NodeInclusionPolicy.HONOR,
        )


class PodTopologySpreadArgs(Args):
    default_constraints: tuple[DefaultConstraint, ...] = Field(default=(), alias="defaultConstraints")
    defaulting_type: DefaultingType = Field(default=DefaultingType.SYSTEM, alias="defaultingType")

    @model_validator(mode="after")
    def _list_or_system(self) -> Self:
        if self.default_constraints and self.defaulting_type is DefaultingType.SYSTEM:
            raise ValueError("defaultConstraints need defaultingType List")
        pairs = [(each.topology_key, each.when_unsatisfiable) for each in self.default_constraints]
        if len(set(pairs)) < len(pairs):
            raise ValueError("defaultConstraints has two of one topologyKey and whenUnsatisfiable")
        return self


_SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(3, HOSTNAME, UnsatisfiableConstraintAction.SCHEDULE_ANYWAY, NOTHING),
    TopologySpreadConstraint(5, ZONE, UnsatisfiableConstraintAction.SCHEDULE_ANYWAY, NOTHING),
)


class PodTopologySpread(ClusterFilterPlugin, ClusterScorePlugin):
    """Filters by DoNotSchedule constraints and scores by ScheduleAnyway constraints, as in kube-scheduler."""

    name = NAME
    events_to_register = EVENTS_ON_ONE_NODE | {ClusterEvent.NODE_DELETE, ClusterEvent.OTHERS}

    def __init__(self, args: PodTopologySpreadArgs) -> None:
        system = args.defaulting_type is DefaultingType.SYSTEM
        defaults = _SYSTEM_DEFAULTS if system else tuple(each.as_constraint() for each in args.default_constraints)
        self._hard = Rules(UnsatisfiableConstraintAction.DO_NOT_SCHEDULE, defaults, system)
        self._soft = Rules(UnsatisfiableConstraintAction.SCHEDULE_ANYWAY, defaults, system)

    def pre_filter(self, pod: Pod, snapshot: Snapshot) -> ClusterFilter | Status:
        spread = spread_of(pod, self._hard, snapshot)
        return _INVALID if isinstance(spread, InvalidRequirement) else filtering.State.of(spread, snapshot)

    def pre_score(self, pod: Pod, snapshot: Snapshot) -> ClusterScore | Status:
        spread = spread_of(pod, self._soft, snapshot)
        return _INVALID if isinstance(spread, InvalidRequirement) else scoring.State.of(spread, snapshot)
