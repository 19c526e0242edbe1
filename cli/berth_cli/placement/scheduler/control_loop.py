"""kube-scheduler's control loop: places pods one by one, each on the result of the previous pods.

kube-scheduler's own plugins (profile `full`) filter first. The extender filters the remaining nodes, and its scores are
added to the plugins' scores. kube-scheduler chooses randomly between equal totals; the simulation chooses the first
node by name. A pod that does not fit on any node may preempt: its victims are removed at once, and it is placed next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, repeat
from operator import eq
from typing import NamedTuple

from berth.cluster.field_projection import waits_for_pool
from berth.scheduling.configuration.document import BerthConfiguration
from berth.scheduling.evaluation.evaluation import Evaluation, nominated_verdicts
from berth.scheduling.evaluation.evaluation_cache import EvaluationCache
from berth.scheduling.evaluation.local_scores import weighted_scores
from berth.scheduling.evaluation.verdicts import FilterResult
from berth.scheduling.framework.plugin import MAX_NODE_SCORE, Code, PluginFailed, Status
from berth.scheduling.framework.profile import Profile
from berth.scheduling.framework.score_scaling import MAX_EXTENDER_PRIORITY
from berth.scheduling.framework.shipped_profiles import FULL
from berth.scheduling.gangs.gang import Gang, GangKey
from berth.scheduling.managed_resources.floating import Insufficient
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_group import gang_names
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.placement.scheduler.extender import BindResult, PolicyExtender
from berth_cli.placement.scheduler.preemption import Preemption, Preemptor, apply_preemption

NODE_SCORE_PER_POINT = MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY
"""The value of one score point of an extender with weight 1 in a node's total (fact 18)."""

EXTENDER = "Berth"
"""The key of the extender's scores, among the names of plugins."""

NONE_REJECTED: Mapping[str, Status] = {}


class RankedNode(NamedTuple):
    """A candidate with its total, and the scores of each plugin and of the extender, if they are recorded."""

    node: str
    total: int
    scores: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one pod. `node`: empty if the pod stays pending; then `message` is the text of its event.

    `rejected`: the statuses of rejected nodes; for placed pods only with `explain_placed`. `totals`: the candidates'
    scores; empty for a single candidate (fact 46). `preemption`: the attempt of a pod that does not fit on any node.
    `devices`: the pod's device by counted resource. `scores`: with `explain_placed`, the scores that each plugin and
    the extender (as EXTENDER) add to the totals.
    """

    pod: Pod
    node: str = ""
    message: str = ""
    rejected: Mapping[str, Status] = field(default_factory=dict)
    candidates: Sequence[str] = ()
    totals: Sequence[int] = ()
    preemption: Preemption | None = None
    devices: Mapping[str, int] = field(default_factory=dict)
    scores: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @property
    def ranking(self) -> list[RankedNode]:
        """The candidates, the best first. A single candidate has the total 0."""
        totals = self.totals or [0] * len(self.candidates)
        found = [
            RankedNode(node, totals[index], {plugin: scores[index] for plugin, scores in self.scores.items()})
            for index, node in enumerate(self.candidates)
        ]
        return sorted(found, key=lambda each: (-each.total, each.node))


class _MemberOutcome(NamedTuple):
    """The outcome of a member whose gang was placed before the member's own turn. state: the state on which the gang
    was placed."""

    outcome: Outcome
    state: Snapshot


class ControlLoop:
    """Places pods in its own snapshot. `weight`: the extender's weight in kube-scheduler's configuration.

    `explain_placed`: also record the rejected nodes of placed pods, and the scores of each plugin.
    """

    def __init__(
        self,
        scheduler: Profile,
        snapshot: Snapshot,
        extender: PolicyExtender | None = None,
        *,
        weight: int = 1,
        explain_placed: bool = False,
    ) -> None:
        self.snapshot = snapshot
        self._names = NodeRefs.of(list(snapshot.nodes), snapshot.positions)
        self._scheduler, self._extender = scheduler, extender
        self._weight, self._explain_placed = weight, explain_placed
        self._evaluations = EvaluationCache()
        self._preemptor = Preemptor(extender)
        self._together: dict[str, _MemberOutcome] = {}
        self._noted: list[Pod] = []
        """Pods of one priority whose wait for a floating pool began or ended, which the snapshot does not show yet."""

    def run(self, pods: Iterable[Pod]) -> Iterator[Outcome]:
        """Yield the outcome of each pod, in order. Each pod is scheduled when its outcome is requested.

        At a gang's first member, all members that have a node are bound; none if fewer than the minimum have a node.
        """
        queue = list(pods)
        members: dict[GangKey, list[Pod]] = {}
        for pod in queue:
            for name in gang_names(pod):
                members.setdefault(GangKey(pod.namespace, name), []).append(pod)
        if members:
            waiting = [pod for pods_of_gang in members.values() for pod in pods_of_gang]
            self.snapshot = self.snapshot.with_changes(Changes(pods=waiting))
        return (self._scheduled(pod, members) for pod in queue)

    def _scheduled(self, pod: Pod, members: Mapping[GangKey, Sequence[Pod]]) -> Outcome:
        if pod.uid not in self._together:
            gang = self._gang_of(pod)
            if gang is None:
                return self.schedule(pod)
            same = [other for other in members[gang.key] if (found := self._gang_of(other)) and found.key == gang.key]
            self._schedule_gang(gang, same)
        return self._together.pop(pod.uid).outcome

    def _gang_of(self, pod: Pod) -> Gang | None:
        return None if self._extender is None else self._extender.gang_of(pod, self.snapshot)

    def _schedule_gang(self, gang: Gang, members: Sequence[Pod]) -> None:
        """Run a scheduling cycle for each member on the same state, as kube-scheduler does until bind responds."""
        self._keep_for_waiting(members[0])
        state, found = self.snapshot, {}
        for pod in members:
            found[pod.uid] = self._cycle(self.snapshot.unbound.get(pod.uid, pod))
        has_room = sum(bool(outcome.node) for outcome in found.values()) >= gang.minimum
        for uid, outcome in found.items():
            kept = outcome
            if outcome.node:
                kept = self._bind(outcome) if has_room else replace(outcome, node="", message=OTHERS_HAVE_NO_NODE)
            self._together[uid] = _MemberOutcome(self._note(kept), state)

    def _note(self, outcome: Outcome) -> Outcome:
        """Remember whether a pending pod waits for a floating pool."""
        waits = waits_for_pool(outcome.message)
        if not outcome.node and waits is not outcome.pod.waits_for_pool:
            self._noted.append(replace(outcome.pod, waits_for_pool=waits))
        return outcome

    def _keep_for_waiting(self, pod: Pod) -> None:
        """Put noted pods into the snapshot before a pod of another priority is scheduled: pools keep units for them."""
        if self._noted and (self._noted[-1].priority or 0) != (pod.priority or 0):
            self.snapshot, self._noted = self.snapshot.with_changes(Changes(pods=self._noted)), []

    def schedule(self, pod: Pod) -> Outcome:
        """Run one scheduling cycle, and another one after a preemption. A pending pod does not change the nodes."""
        self._keep_for_waiting(pod)
        # An earlier preemption may have cleared this pod's nomination.
        pod = self.snapshot.unbound.get(pod.uid, pod)
        outcome = self._cycle(pod)
        preemption = outcome.preemption
        if preemption is not None and preemption.nominated is not None:
            self.snapshot = apply_preemption(self.snapshot, pod, preemption)
            outcome = replace(self._cycle(self.snapshot.unbound[pod.uid]), preemption=preemption)
        return self._note(self._bind(outcome) if outcome.node else outcome)

    def rejection(self, pod: Pod, node: str) -> Status | None:
        """Return why the node rejects the pod, on the state that the pod's decision uses; None if it does not."""
        together = self._together.get(pod.uid)
        self._keep_for_waiting(pod)
        snapshot = self.snapshot if together is None else together.state
        pod = snapshot.unbound.get(pod.uid, pod)
        evaluation = self._evaluations.of(self._scheduler, pod, snapshot)
        prefilter_status = evaluation.local.filters.rejected or evaluation.rejected
        if prefilter_status is not None:
            return prefilter_status
        # A gang is planned on all nodes of the request, so its members need all of them.
        is_member = self._extender is not None and self._extender.gang_of(pod, snapshot) is not None
        names = self._names if is_member else NodeRefs.of([node], snapshot.positions)
        result = self._filter(pod, evaluation, names, snapshot)
        if node in result.rejected or self._extender is None:
            return result.rejected.get(node)
        return self._extender.filter(pod, result.feasible, snapshot).get(node)

    def _bind(self, outcome: Outcome) -> Outcome:
        """Bind the pod: check counted resources again and select the devices."""
        pod = outcome.pod
        bound: BindResult | Insufficient = BindResult(replace(pod, node_name=outcome.node))
        if self._extender is not None:
            bound = self._extender.bind(pod, self.snapshot.nodes[outcome.node])
        if isinstance(bound, Insufficient):
            return replace(outcome, node="", message=bound.text)
        self.snapshot = self.snapshot.with_changes(Changes(pods=(bound.pod,)))
        return replace(outcome, devices=bound.devices)

    def _cycle(self, pod: Pod) -> Outcome:
        """Run one scheduling cycle, without binding the pod."""
        if not self._names:
            return Outcome(pod, message=NO_NODES)
        try:
            return self._evaluate(pod)
        except PluginFailed as error:
            return Outcome(pod, message=f"pod {pod.namespace}/{pod.name}: {error}")

    def _evaluate(self, pod: Pod) -> Outcome:
        evaluation = self._evaluations.of(self._scheduler, pod, self.snapshot)
        prefilter_status = evaluation.local.filters.rejected or evaluation.rejected
        if prefilter_status is not None:
            return self._prefilter_outcome(pod, prefilter_status, evaluation)
        result = self._filter(pod, evaluation, self._names, self.snapshot)
        rejected = result.rejected
        error = next((status for status in rejected.values() if status.code is Code.ERROR and status.plugin), None)
        if error is not None:
            return Outcome(pod, message=f'running Filter plugin "{error.plugin}": {error.message}')
        feasible, extender_rejected = self._extender_filter(pod, result.feasible)
        if not feasible:
            reasons = [reason for status in rejected.values() for reason in status.reasons]
            reasons += [status.message for status in extender_rejected.values()]
            preemption = self._preemptor.preempt(evaluation, pod, rejected, extender_rejected)
            message = fit_error_message(len(self._names), reasons, preemption.ineligible)
            return Outcome(pod, message=message, rejected={**rejected, **extender_rejected}, preemption=preemption)
        shown = {**rejected, **extender_rejected} if self._explain_placed else NONE_REJECTED
        return self._choose(pod, evaluation, feasible, shown)

    def _prefilter_outcome(self, pod: Pod, status: Status, evaluation: Evaluation) -> Outcome:
        if status.code is Code.ERROR:
            return Outcome(pod, message=f'running PreFilter plugin "{status.plugin}": {status.message}')
        rejected = dict.fromkeys(self._names, status)
        preemption = self._preemptor.preempt(evaluation, pod, rejected, NONE_REJECTED)
        message = _message(len(self._names), status.message, preemption.ineligible)
        return Outcome(pod, message=message, rejected=rejected, preemption=preemption)

    def _filter(self, pod: Pod, evaluation: Evaluation, names: NodeRefs, snapshot: Snapshot) -> FilterResult:
        """Filter with the scheduler's own plugins."""
        result = evaluation.statuses.filter_nodes(names)
        exceptions = nominated_verdicts(evaluation, snapshot, pod, names.names)
        return result.with_statuses(exceptions) if exceptions else result

    def _extender_filter(self, pod: Pod, feasible: Sequence[str]) -> tuple[Sequence[str], Mapping[str, Status]]:
        """Filter with the extender. The pod's nominated node is tried first, alone (fact 10)."""
        if pod.nominated_node and pod.nominated_node in feasible:
            remaining, rejected = self._ask_extender(pod, [pod.nominated_node])
            if remaining:
                return remaining, rejected
        return self._ask_extender(pod, feasible)

    def _ask_extender(self, pod: Pod, names: Sequence[str]) -> tuple[Sequence[str], Mapping[str, Status]]:
        if self._extender is None or not names:
            return names, NONE_REJECTED
        rejected = self._extender.filter(pod, names, self.snapshot)
        return ([name for name in names if name not in rejected] if rejected else names), rejected

    def _choose(
        self, pod: Pod, evaluation: Evaluation, feasible: Sequence[str], rejected: Mapping[str, Status]
    ) -> Outcome:
        if len(feasible) == 1:
            return Outcome(pod, feasible[0], rejected=rejected, candidates=list(feasible))
        nodes = NodeRefs.of(feasible, self.snapshot.positions)
        totals = evaluation.totals(pod, nodes)
        if isinstance(totals, Status):
            return Outcome(pod, message=f'running PreScore plugin "{totals.plugin}": {totals.message}')
        scores = weighted_scores(self._scheduler, pod, self.snapshot, nodes) if self._explain_placed else {}
        if self._extender is not None:
            points = NODE_SCORE_PER_POINT * self._weight
            added = [score * points for score in self._extender.prioritize(pod, feasible, self.snapshot)]
            totals = [total + more for total, more in zip(totals, added, strict=True)]
            if self._explain_placed:
                scores[EXTENDER] = added
        node = min(compress(feasible, map(eq, totals, repeat(max(totals)))))
        return Outcome(pod, node, rejected=rejected, candidates=list(feasible), totals=totals, scores=scores)


def control_loop_of(
    configuration: BerthConfiguration, snapshot: Snapshot, *, weight: int = 1, explain_placed: bool = False
) -> ControlLoop:
    """Build the loop of a kube-scheduler with Berth as its extender, both with this configuration."""
    extender = PolicyExtender(configuration.policy())
    return ControlLoop(
        configuration.build_profile(FULL), snapshot, extender, weight=weight, explain_placed=explain_placed
    )


OTHERS_HAVE_NO_NODE = "other members of the gang have no node"
NO_NODES = "no nodes available to schedule pods"


def fit_error_message(nodes: int, reasons: Iterable[str], ineligible: str | None = None) -> str:
    """Return the FailedScheduling message, which counts equal reasons and sorts them as text. `reasons`: all reasons of
    all rejected nodes. `ineligible`: the reason why the pod may not preempt, if there is one.
    """
    counted = sorted(f"{count} {reason}" for reason, count in Counter(reasons).items())
    return _message(nodes, ", ".join(counted), ineligible)


def _message(nodes: int, text: str, ineligible: str | None) -> str:
    message = f"0/{nodes} nodes are available:" + (f" {text}." if text else "")
    return message if ineligible is None else f"{message} preemption: {ineligible}"
