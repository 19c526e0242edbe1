"""The decisions of the verbs: a profile applied to the nodes of one request."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import compress
from math import inf
from operator import eq
from typing import TYPE_CHECKING

from berth.scheduling.evaluation.evaluation import nodes_with_assumed, nominated_verdicts
from berth.scheduling.evaluation.evaluation_cache import MAX_BYTES, EvaluationCache
from berth.scheduling.evaluation.local_scores import weighted_scores
from berth.scheduling.evaluation.time_limit import (
    NO_TIME_LIMIT,
    DecisionDeadline,
    TimeLimit,
    TimeLimited,
)
from berth.scheduling.evaluation.verdicts import FilterResult, Rejected
from berth.scheduling.feasibility import (
    TOO_COSTLY,
    Exemption,
    Feasibility,
    ProfileChoice,
    Unresolvable,
    none_feasible,
    only_feasible,
)
from berth.scheduling.framework.plugin import GANG_EVENTS, SUCCESS, ClusterEvents, Code, Status
from berth.scheduling.framework.profile import Profile, Scale
from berth.scheduling.framework.score_scaling import extender_scale
from berth.scheduling.gangs.gang import NO_OPEN_GANGS, Gang, GangKey, GangsConfiguration, GangWait, OpenGang
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import names_gang
from berth.scheduling.preemption.priority import NO_UIDS, Choose, NodeRejection, PreemptionConfiguration
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.parts import ALL_PARTS, NO_PARTS, NODES_AND_PODS, Parts
from berth.scheduling.snapshot.snapshot import Snapshot

if TYPE_CHECKING:
    from berth.scheduling.gangs.overview import GangStatus
    from berth.scheduling.gangs.planner import GangPlanner
    from berth.scheduling.preemption.victim_review import PreemptResult, Proposal

NO_PROFILES: Mapping[str, Profile] = {}
NOTHING_COUNTED = Counting()
NO_GANGS = GangsConfiguration()
ALL_CANDIDATES = PreemptionConfiguration()


class Policy:
    """Makes the decisions for one configuration. Caches are its only state. Thread-safe.

    `seconds_left`: the remaining seconds of the call. A decision that does not end in time may raise DeadlineExceeded.
    """

    def __init__(
        self,
        profile: Profile,
        exemption: Exemption,
        profiles: Mapping[str, Profile] = NO_PROFILES,
        *,
        counting: Counting = NOTHING_COUNTED,
        preemption: PreemptionConfiguration = ALL_CANDIDATES,
        unresolvable: Unresolvable = Unresolvable.ALWAYS,
        gangs: GangsConfiguration = NO_GANGS,
        planning_profiles: Mapping[str, Profile] = NO_PROFILES,
        remembered_bytes: int = MAX_BYTES,
        time_limit: TimeLimit = NO_TIME_LIMIT,
    ) -> None:
        """Prepare decisions. profiles: by schedulerName; `profile` is for all other pods. counting: the same object
        that the profiles' plugins use. planning_profiles: the profiles for gangs, by name; they also have all filters
        of kube-scheduler. remembered_bytes: the memory limit of the cache. time_limit: the limit of each decision."""
        self.profile = profile
        self.counting = counting
        self.gangs = gangs
        self._preemption, self._unresolvable = preemption, unresolvable
        self._profiles = ProfileChoice(profile, profiles, exemption, planning_profiles)
        self.all_profiles = self._profiles.all
        self._evaluations = EvaluationCache(max_bytes=remembered_bytes)
        self._time_limited = TimeLimited(time_limit)
        self.reads_other_pods = any(each.reads_other_pods for each in self.all_profiles)
        """True if a profile depends on other pods. Then decisions must know which pods are being bound."""
        self.judges_binds = any(each.for_bind().filters for each in self.all_profiles)
        """True if a filter depends on other pods. Then bind filters again, because concurrent binds could violate its
        rule."""

    @cached_property
    def planner(self) -> GangPlanner:
        # Import this for the first member of a gang: a cold start without gangs does not need the module.
        from berth.scheduling.gangs.planner import GangPlanner

        profile_of, was_exempt = self._profiles.for_planning, self._profiles.was_exempt
        return GangPlanner(self.gangs, self.counting, profile_of, self._evaluations.of, was_exempt, self._time_limited)

    @cached_property
    def reads(self) -> Parts:
        if self.gangs.enabled:
            # Plans need members, PodGroups, and the parts that the scheduler's filters read.
            return ALL_PARTS
        counted = NODES_AND_PODS if self.counting.counts else NO_PARTS
        return counted.union(*(profile.reads for profile in self.all_profiles))

    def profile_of(self, pod: Pod) -> Profile:
        """Return the profile for this pod. For an exempt pod it has only the filters that apply to exempt pods."""
        return self._profiles.of(pod)

    def exempts(self, pod: Pod) -> bool:
        """Return whether the pod is exempt and no filter applies to it. A plugin with `applies_to_exempt_pods` filters
        exempt pods, too: bind rejects even an exempt pod if its counted resources are not free."""
        return self._profiles.deciding(pod) is None

    def was_exempt(self, pod: Pod) -> bool:
        """Return whether this pod is exempt, or was exempt when it was bound. Such a pod does not belong to a gang."""
        return self._profiles.was_exempt(pod)

    def counts(self, pod: Pod) -> bool:
        """Return whether the pod requests counted resources. Then the decision must know the used amounts."""
        return bool(self.counting.demands(pod))

    def plans(self, pod: Pod) -> bool:
        """Return whether the pod names a gang and is not exempt. Then the decision must know which gangs are open."""
        return self.gangs.enabled and names_gang(pod) and not self._profiles.is_exempt(pod)

    def events_to_register(self, pod: Pod) -> ClusterEvents:
        events = self.profile_of(pod).events_to_register
        return events | GANG_EVENTS if self.plans(pod) else events

    def gang_of(self, pod: Pod, snapshot: Snapshot) -> Gang | None:
        """Return the gang with which the pod is placed; None if the pod is placed alone."""
        return self.planner.gang_of(pod, snapshot) if self.plans(pod) else None

    def members_of(self, key: GangKey, snapshot: Snapshot) -> Mapping[str, Pod]:
        """Return the members of a gang, by UID, without exempt pods. Filter, bind and commands all use this."""
        from berth.scheduling.gangs.members import members_of

        return members_of(key, snapshot, self._profiles.was_exempt)

    def gangs_in(self, snapshot: Snapshot, open_gangs: Sequence[OpenGang] = NO_OPEN_GANGS) -> list[GangStatus]:
        """Return the cluster's gangs, each with the reason why it waits. Planning does not have a time limit here."""
        return self.planner.statuses(snapshot, open_gangs) if self.gangs.enabled else []

    def rejects_bind(self, pod: Pod, node: str, snapshot: Snapshot, seconds_left: float = inf) -> Status | None:
        """Filter the node again with the filters that read other pods. Return the status of the filter that rejects it;
        None if all accept it; TOO_COSTLY if the decision takes too long. Assumed pods count as pods on their nodes."""
        profile = self.profile_of(pod).for_bind()
        if profile.skips(pod):
            return None
        placed = snapshot.placing_assumed(without=pod.uid)

        def decide(deadline: DecisionDeadline) -> Status:
            evaluation = self._evaluations.of(profile, pod, placed, deadline)
            deadline.check()
            return evaluation.statuses[node]

        status = self._time_limited.run(profile.name, pod, decide, seconds_left)
        return None if status is SUCCESS else status or TOO_COSTLY

    def feasibility(
        self,
        pod: Pod,
        names: Sequence[str],
        snapshot: Snapshot,
        seconds_left: float = inf,
        open_gangs: Sequence[OpenGang] = NO_OPEN_GANGS,
    ) -> Feasibility:
        """Return a verdict on each distinct node. For an exempt pod (`exempts`) every node passes. For a member of an
        uncommitted gang only its planned nodes pass, and only if all needed members have planned nodes."""

        def every(profile: Profile, result: FilterResult, seen: Snapshot, deadline: DecisionDeadline) -> Feasibility:
            return self._feasibility(result.feasible_names, result, pod, seen)

        return self._decided("filter", pod, names, snapshot, seconds_left, open_gangs, every)

    def best(
        self,
        pod: Pod,
        names: Sequence[str],
        snapshot: Snapshot,
        seconds_left: float = inf,
        open_gangs: Sequence[OpenGang] = NO_OPEN_GANGS,
    ) -> Feasibility:
        """Decide like `feasibility`, but keep only the feasible node with the highest score (ties go to the first
        name). Other feasible nodes are not reported as failed (fact 47). An exempt pod keeps all nodes; a gang's member
        keeps its planned node."""

        def one(profile: Profile, result: FilterResult, seen: Snapshot, deadline: DecisionDeadline) -> Feasibility:
            feasible = result.feasible
            chosen: list[str] = []
            totals: Sequence[int] | None = None
            if feasible:
                totals = self._totals(profile, pod, feasible, seen, deadline)
                chosen = [min(compress(feasible, map(partial(eq, max(totals)), totals)))]
            return self._feasibility(chosen, result, pod, seen)._replace(chosen="".join(chosen), totals=totals)

        found = self._decided("best", pod, names, snapshot, seconds_left, open_gangs, one)
        if found.exempt or found.chosen:
            return found
        first = found.feasible[:1]  # the planned node of a gang's member
        return found._replace(feasible=first, chosen="".join(first))

    def scores(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> list[int]:
        """Return one score per name, in the same order. A score is 0 if the pod is exempt, if the node is not feasible,
        or if scoring takes too long."""
        return self.timely_scores(pod, names, snapshot) or [0] * len(names)

    def timely_scores(
        self, pod: Pod, names: Sequence[str], snapshot: Snapshot, seconds_left: float = inf
    ) -> list[int] | None:
        """Return the same scores as `scores`, or None if scoring takes too long."""
        if self._profiles.is_exempt(pod):
            return [0] * len(names)
        nodes = NodeRefs.of(names, snapshot.nodes.positions)
        profile = self._profiles.named_by(pod)
        snapshot = profile.seen_by(pod, snapshot)

        def decide(deadline: DecisionDeadline) -> list[int]:
            result = self._evaluations.of(profile, pod, snapshot.base, deadline).statuses.filter_nodes(nodes, deadline)
            totals = self._totals(profile, pod, result.feasible, snapshot, deadline)
            if profile.scale is Scale.EXTENDER:
                totals = extender_scale(totals)
            if len(totals) == len(names):
                return totals
            scores = dict(zip(result.feasible_names, totals, strict=True))
            return [scores.get(name, 0) for name in names]

        return self._time_limited.run(f"scores {profile.name}", pod, decide, seconds_left)

    def scores_by_plugin(self, pod: Pod, names: Sequence[str], snapshot: Snapshot) -> Mapping[str, Mapping[str, int]]:
        """Return, for each feasible node, the weighted score that each plugin adds to its total. This is for
        explanations: the scores are not cached, and not scaled to the extender's range."""
        profile = self.profile_of(pod)
        snapshot = profile.seen_by(pod, snapshot)
        nodes = (
            self._evaluations.of(profile, pod, snapshot.base)
            .statuses.filter_nodes(NodeRefs.of(names, snapshot.nodes.positions))
            .feasible
        )
        by_plugin = weighted_scores(profile, pod, snapshot.placing_assumed(without=pod.uid), nodes)
        return {
            name: {plugin: scores[index] for plugin, scores in by_plugin.items()} for index, name in enumerate(nodes)
        }

    def resolvable(self, pod: Pod, rejected: Mapping[str, Status], snapshot: Snapshot) -> set[str]:
        """Return the rejected nodes that filter lists in FailedNodes (facts 15 and 15a): nodes on which preemption may
        help, and the nominated node if it may be rejected only because its victims still run. If the nominated node
        were unresolvable, the pod would lose the nomination and evict other pods elsewhere."""
        found: set[str] = set()
        if self._unresolvable is Unresolvable.AS_PLUGINS_SAY:
            found = {name for name, status in rejected.items() if status.code is Code.UNSCHEDULABLE}
        name = pod.nominated_node
        if name and name in rejected:
            with_assumed = snapshot.with_assumed  # keep a reference: the evaluation has only a weak one
            evaluation = self._evaluations.with_assumed(self.profile_of(pod), pod, snapshot, with_assumed)
            # Import this only for a nominated pod: a cold start does not need the module.
            from berth.scheduling.preemption.victim_review import fits_without_lower

            if fits_without_lower(evaluation, pod):
                found.add(name)
        return found

    def review_victims(
        self,
        pod: Pod,
        proposals: Mapping[str, Proposal],
        snapshot: Snapshot,
        seconds_left: float = inf,
        answered: Collection[str] = NO_UIDS,
    ) -> PreemptResult:
        """Review the scheduler's preemption. Return the accepted nodes; with `choose: one` only the best node (ties go
        to the first name). An exempt pod fits on every node. Nodes are rejected for a gang's member until the gang is
        committed: its other members may still not fit. answered: the UIDs of the victims in an earlier answer for the
        nominated node."""
        # Import this only if a pod preempts: a cold start of the other verbs does not need the module.
        from berth.scheduling.preemption.victim_review import PreemptResult, review_victims

        barred = self.planner.barred(pod, proposals, snapshot) if self.plans(pod) else ()
        rejected = dict.fromkeys(barred, NodeRejection.GANG)
        if rejected:
            proposals = {name: proposal for name, proposal in proposals.items() if name not in rejected}
            if not proposals:
                return PreemptResult({}, rejected)
        profile = self._profiles.deciding(pod)
        with_assumed = snapshot.with_assumed

        def decide(deadline: DecisionDeadline) -> PreemptResult:
            evaluation = None
            if profile is not None:
                evaluation = self._evaluations.with_assumed(profile, pod, snapshot, with_assumed, deadline)
            return review_victims(evaluation, pod, proposals, with_assumed.nodes, deadline, answered)

        kind = "preempt" if profile is None else f"preempt {profile.name}"
        result = self._time_limited.run(kind, pod, decide, seconds_left)
        if result is None:
            # If the review takes too long, reject all nodes: an eviction cannot be undone.
            return PreemptResult({}, {**rejected, **dict.fromkeys(proposals, NodeRejection.TOO_COSTLY)})
        if rejected:
            result = replace(result, rejected={**rejected, **result.rejected})
        return result if self._preemption.choose is Choose.ALL else result.best()

    def _decided(
        self,
        kind: str,
        pod: Pod,
        names: Sequence[str],
        snapshot: Snapshot,
        seconds_left: float,
        open_gangs: Sequence[OpenGang],
        of_result: Callable[[Profile, FilterResult, Snapshot, DecisionDeadline], Feasibility],
    ) -> Feasibility:
        """Decide on these nodes. of_result: makes the decision from the verdicts if the gang's plan does not decide."""
        nodes = NodeRefs.of(names, snapshot.nodes.positions)
        outside = {}
        if self.plans(pod):
            from berth.scheduling.gangs.planner import ELSEWHERE, OTHER_DOMAIN, STATUSES, InDomain

            match self.planner.decide(pod, nodes, snapshot, open_gangs, seconds_left):
                case None:
                    pass  # the pod is placed alone
                case InDomain(outside=names_outside):
                    outside = dict.fromkeys(names_outside, OTHER_DOMAIN)
                case tuple(places):
                    return only_feasible(nodes, places, ELSEWHERE)
                case why:
                    return none_feasible(nodes, STATUSES[why], too_costly=why is GangWait.TOO_COSTLY)
        profile = self._profiles.deciding(pod)
        if profile is None:
            return Feasibility(nodes.names, exempt=True)
        seen = profile.seen_by(pod, snapshot)

        def decide(deadline: DecisionDeadline) -> Feasibility:
            return of_result(profile, self._filter(profile, pod, nodes, seen, deadline, outside), seen, deadline)

        decided = self._time_limited.run(f"{kind} {profile.name}", pod, decide, seconds_left)
        return decided or none_feasible(nodes, TOO_COSTLY, too_costly=True)

    def _feasibility(self, feasible: list[str], result: FilterResult, pod: Pod, snapshot: Snapshot) -> Feasibility:
        rejected = result.rejected
        resolvable = self.resolvable(pod, rejected, snapshot)
        if not resolvable:
            return Feasibility(feasible, unresolvable=rejected, verdicts=result)
        unresolvable = {name: status for name, status in rejected.items() if name not in resolvable}
        failed = {name: rejected[name] for name in sorted(resolvable)}
        return Feasibility(feasible, failed, Rejected.of(unresolvable), verdicts=result)

    def _filter(
        self,
        profile: Profile,
        pod: Pod,
        nodes: NodeRefs,
        snapshot: Snapshot,
        deadline: DecisionDeadline,
        outside: Mapping[str, Status],
    ) -> FilterResult:
        evaluation = self._evaluations.of(profile, pod, snapshot.base, deadline)
        result = evaluation.statuses.filter_nodes(nodes, deadline)
        if outside:
            result = result.with_statuses(outside)
        if not snapshot.nominated and not snapshot.assumed and not pod.nominated_node:
            return result
        names = [name for name in nodes.names if name not in outside] if outside else nodes.names
        exceptions = nominated_verdicts(evaluation, snapshot, pod, names)
        return result.with_statuses(exceptions) if exceptions else result

    def _totals(
        self, profile: Profile, pod: Pod, candidates: NodeRefs, snapshot: Snapshot, deadline: DecisionDeadline
    ) -> list[int]:
        replaced = nodes_with_assumed(snapshot, pod, candidates)
        totals = self._evaluations.of(profile, pod, snapshot.base, deadline).totals(pod, candidates, replaced, deadline)
        # If the pod cannot be scored, the scheduler's own scores decide.
        return [0] * len(candidates) if isinstance(totals, Status) else totals
