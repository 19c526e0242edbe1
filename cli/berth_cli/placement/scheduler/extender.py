"""Berth as the control loop's extender, without HTTP."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from berth.scheduling.framework.plugin import Status
from berth.scheduling.framework.shipped_profiles import FULL
from berth.scheduling.gangs.gang import Gang
from berth.scheduling.managed_resources.floating import Insufficient
from berth.scheduling.managed_resources.pools import devices_in
from berth.scheduling.objects import NodeInfo, Pod, UnreadableObject
from berth.scheduling.policy import Policy
from berth.scheduling.preemption.victim_review import PreemptResult, Proposal
from berth.scheduling.preemption.victims import Victims
from berth.scheduling.snapshot.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class BindResult:
    """The bound pod, and its devices by counted resource."""

    pod: Pod
    devices: Mapping[str, int] = field(default_factory=dict)


class PolicyExtender:
    """Makes the decisions of Berth's verbs during a scheduling cycle, without HTTP.

    Profile `full` contains the scheduler's own plugins, so as an extender it changes only the placement of gangs.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    def filter(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Mapping[str, Status]:
        """Return the statuses of the rejected nodes by name."""
        if self._policy.profile_of(pod).name == FULL and not self._policy.plans(pod):
            return {}
        return self._policy.feasibility(pod, names, snapshot).rejected

    def prioritize(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Sequence[int]:
        """Return a score for each name."""
        if self._policy.profile_of(pod).name == FULL:
            return [0] * len(names)
        return self._policy.scores(pod, names, snapshot)

    def gang_of(self, pod: Pod, snapshot: Snapshot) -> Gang | None:
        """Return the gang with which the pod is bound; None if it is bound alone."""
        return self._policy.gang_of(pod, snapshot)

    def resolvable(self, pod: Pod, rejected: Mapping[str, Status], snapshot: Snapshot) -> Collection[str]:
        """Return the rejected nodes in `FailedNodes`; the other rejected nodes are unresolvable (facts 15, 15a)."""
        return self._policy.resolvable(pod, rejected, snapshot)

    def preempt(self, pod: Pod, candidates: Mapping[str, Victims], snapshot: Snapshot) -> PreemptResult:
        """Return the changes to the victims on each node."""
        if self._policy.profile_of(pod).name == FULL and not self._policy.plans(pod):
            return PreemptResult(candidates, {})
        proposals = {
            name: Proposal(tuple(victim.uid for victim in victims.pods), victims.num_pdb_violations)
            for name, victims in candidates.items()
        }
        return self._policy.review_victims(pod, proposals, snapshot)

    def bind(self, pod: Pod, node: NodeInfo) -> BindResult | Insufficient:
        """Return the pod as stored after the bind, or the resources of which too little is left."""
        counting = self._policy.counting
        demands = counting.demands(pod)
        shares = {} if isinstance(demands, UnreadableObject) or not demands else counting.placed(demands, node)
        if isinstance(shares, Insufficient):
            return shares
        annotations = {**pod.annotations, **counting.annotations(shares)} if shares else pod.annotations
        return BindResult(replace(pod, node_name=node.name, annotations=annotations), devices_in(shares))
