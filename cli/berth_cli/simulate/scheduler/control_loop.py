"""The scheduler's control loop: one pod after the other, each seeing where those before it went.

The scheduler is kube-scheduler: its own plugins (profile `full`) filter first, the extender sees what they leave, and
its scores are added to theirs. Of equal totals kube-scheduler takes any; here the first by name is taken. Where a pod
fits nowhere others may have to go for it: they are gone at once, and it is placed before the next pod has its turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, repeat
from operator import eq

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.evaluation.evaluation_cache import Evaluations
from berth.scheduling.evaluation.filter_result import FilterResult
from berth.scheduling.evaluation.nominated_pods import nominated_verdicts
from berth.scheduling.framework.plugin import MAX_NODE_SCORE
from berth.scheduling.framework.profile import Profile
from berth.scheduling.framework.score_scaling import MAX_EXTENDER_PRIORITY
from berth.scheduling.framework.status import Code, Status
from berth.scheduling.managed_resources.counting import Insufficient
from berth.scheduling.objects import Pod
from berth.scheduling.preemption.evaluator import Preemption
from berth.scheduling.profile import Profile
from berth.scheduling.scale import MAX_EXTENDER_PRIORITY
from berth.scheduling.snapshot import Snapshot
from berth.scheduling.split import Split
from berth.scheduling.status import Code, Status
from berth_cli.simulate.scheduler.extender import Bound, Extender
from berth_cli.simulate.scheduler.preemption import Preemptor, preempted

POINTS = MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY
"""What one point of an extender of weight 1 counts for in a node's total (fact 18)."""

NOBODY: Mapping[str, Status] = {}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where a pod went; `node` is empty where it stays pending, and `message` says why as its event does.

    rejected: why not the other nodes; of a pod that was placed, only where it was asked for. totals: of the nodes that
    it was chosen from; of a single one there is none (fact 46). preemption: who had to go for it, or why nobody has,
    of a pod that fitted nowhere. devices: by counted resource, the one that it has.
    """

    pod: Pod
    node: str = ""
    message: str = ""
    rejected: Mapping[str, Status] = field(default_factory=dict)
    candidates: Sequence[str] = ()
    totals: Sequence[int] = ()
    preemption: Preemption | None = None
    devices: Mapping[str, int] = field(default_factory=dict)


class ControlLoop:
    """Places pods in a snapshot of its own. weight: the extender's, in the scheduler's configuration.

    in_full: say of placed pods, too, why not the other nodes.
    """

    def __init__(
        self,
        scheduler: Profile,
        snapshot: Snapshot,
        extender: Extender | None = None,
        *,
        weight: int = 1,
        in_full: bool = False,
    ) -> None:
        self.snapshot = snapshot
        self._names = NodeRefs.of(list(snapshot.nodes), snapshot.positions)
        self._scheduler, self._extender, self._weight, self._in_full = scheduler, extender, weight, in_full
        self._evaluations = Evaluations()
        self._preemptor = Preemptor(extender)

    def run(self, pods: Iterable[Pod]) -> Iterator[Outcome]:
        """An outcome for each pod, in their order."""
        for pod in pods:
            yield self.schedule(pod)

    def schedule(self, pod: Pod) -> Outcome:
        """One cycle, and one more where evictions have made room. A pod that fits on no node changes nothing."""
        # Another pod may have taken over the node that this one was nominated to.
        pod = self.snapshot.unbound.get(pod.uid, pod)
        outcome = self._cycle(pod)
        preemption = outcome.preemption
        if preemption is not None and preemption.nominated is not None:
            self.snapshot = preempted(self.snapshot, pod, preemption)
            outcome = replace(self._cycle(self.snapshot.unbound[pod.uid]), preemption=preemption)
        return self._bound(outcome) if outcome.node else outcome

    def _bound(self, outcome: Outcome) -> Outcome:
        """What is counted is counted once more when the pod is bound, and its devices are chosen."""
        pod = outcome.pod
        bound: Bound | Insufficient = Bound(replace(pod, node_name=outcome.node))
        if self._extender is not None:
            bound = self._extender.bind(pod, self.snapshot.nodes[outcome.node])
        if isinstance(bound, Insufficient):
            return replace(outcome, node="", message=bound.text)
        self.snapshot = self.snapshot.with_changes(Changes(pods=(bound.pod,)))
        return replace(outcome, devices=bound.devices)

    def _cycle(self, pod: Pod) -> Outcome:
        if not self._names:
            return Outcome(pod, message=NO_NODES)
        evaluation = self._evaluations.of(self._scheduler, pod, self.snapshot)
        as_such = evaluation.local.filters.rejected or evaluation.rejected
        if as_such is not None:
            return self._rejected_as_such(pod, as_such, evaluation)
        split = self._filtered(pod, evaluation)
        feasible: Sequence[str] = split.passed
        rejected = split.dropped
        error = next((status for status in rejected.values() if status.code is Code.ERROR and status.plugin), None)
        if error is not None:
            return Outcome(pod, message=f'running Filter plugin "{error.plugin}": {error.message}')
        own = rejected
        feasible, dropped = self._extended(pod, feasible)
        if not feasible:
            reasons = [reason for status in own.values() for reason in status.reasons]
            reasons += [status.message for status in dropped.values()]
            preemption = self._preemptor.preempt(evaluation, pod, own, dropped)
            message = fit_error(len(self._names), reasons, preemption.ineligible)
            return Outcome(pod, message=message, rejected={**own, **dropped}, preemption=preemption)
        return self._chosen(pod, evaluation, feasible, {**own, **dropped} if self._in_full else NOBODY)

    def _rejected_as_such(self, pod: Pod, status: Status, evaluation: Evaluation) -> Outcome:
        if status.code is Code.ERROR:
            return Outcome(pod, message=f'running PreFilter plugin "{status.plugin}": {status.message}')
        rejected = dict.fromkeys(self._names, status)
        preemption = self._preemptor.preempt(evaluation, pod, rejected, NOBODY)
        message = rejected_as_such(len(self._names), status.message, preemption.ineligible)
        return Outcome(pod, message=message, rejected=rejected, preemption=preemption)

    def _filtered(self, pod: Pod, evaluation: Evaluation) -> FilterResult:
        """By the scheduler's own plugins."""
        split = evaluation.statuses.split(self._names)
        exceptions = nominated_verdicts(evaluation, self.snapshot, pod, self._names.names)
        return split.amended(exceptions) if exceptions else split

    def _extended(self, pod: Pod, feasible: Sequence[str]) -> tuple[Sequence[str], Mapping[str, Status]]:
        """What the extender leaves of them. A node that preemption has made room on is asked about alone (fact 10)."""
        if pod.nominated_node and pod.nominated_node in feasible:
            left, dropped = self._left(pod, [pod.nominated_node])
            if left:
                return left, dropped
        return self._left(pod, feasible)

    def _left(self, pod: Pod, names: Sequence[str]) -> tuple[Sequence[str], Mapping[str, Status]]:
        if self._extender is None or not names:
            return names, NOBODY
        dropped = self._extender.filter(pod, names, self.snapshot)
        return ([name for name in names if name not in dropped] if dropped else names), dropped

    def _chosen(
        self, pod: Pod, evaluation: Evaluation, feasible: Sequence[str], rejected: Mapping[str, Status]
    ) -> Outcome:
        if len(feasible) == 1:
            return Outcome(pod, feasible[0], rejected=rejected, candidates=list(feasible))
        totals = evaluation.totals(pod, NodeRefs.of(feasible, self.snapshot.positions))
        if isinstance(totals, Status):
            return Outcome(pod, message=f'running PreScore plugin "{totals.plugin}": {totals.message}')
        if self._extender is not None:
            scores = self._extender.prioritize(pod, feasible, self.snapshot)
            points = POINTS * self._weight
            totals = [total + score * points for total, score in zip(totals, scores, strict=True)]
        node = min(compress(feasible, map(eq, totals, repeat(max(totals)))))
        return Outcome(pod, node, rejected=rejected, candidates=list(feasible), totals=totals)


NO_NODES = "no nodes available to schedule pods"


def fit_error(nodes: int, reasons: Iterable[str], ineligible: str | None = None) -> str:
    """`reasons`: of every node that was dropped, all of them; equal ones are counted, and sorted as text.

    ineligible: why the pod may not preempt.
    """
    counted = sorted(f"{count} {reason}" for reason, count in Counter(reasons).items())
    return _message(nodes, ", ".join(counted), ineligible)


def rejected_as_such(nodes: int, reason: str, ineligible: str | None = None) -> str:
    """For a pod that no node was looked at for: the reason is given once and not counted."""
    return _message(nodes, reason, ineligible)


def _message(nodes: int, text: str, ineligible: str | None) -> str:
    message = f"0/{nodes} nodes are available:" + (f" {text}." if text else "")
    return message if ineligible is None else f"{message} preemption: {ineligible}"
