"""kube-scheduler's PostFilter: preemption for a pod that fits on no node, and its effect on the snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from berth.scheduling.evaluation.evaluation import Evaluation
from berth.scheduling.framework.status import Status, unresolvable
from berth.scheduling.objects import Pod, PodDisruptionBudget
from berth.scheduling.preemption.disruption_budgets import DisruptionBudgets, after_evictions
from berth.scheduling.preemption.priority import priority_of
from berth.scheduling.preemption.victim_review import PreemptResult
from berth.scheduling.preemption.victims import Victims
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.simulate.scheduler.evaluator import Preemption, evaluate
from berth_cli.simulate.scheduler.extender import Extender
from berth_cli.simulate.scheduler.victim_cache import VictimCache


class Preemptor:
    """The scheduler's plugins select the victims; the extender reviews the nodes that have them."""

    def __init__(self, extender: Extender | None) -> None:
        self._extender = extender
        self._victim_cache = VictimCache()
        self._budgets_of: Sequence[PodDisruptionBudget] = ()
        self._budgets = DisruptionBudgets(())

    def preempt(
        self,
        evaluation: Evaluation,
        pod: Pod,
        scheduler_rejected: Mapping[str, Status],
        extender_rejected: Mapping[str, Status],
    ) -> Preemption:
        """Try to preempt. The arguments: nodes rejected by the scheduler's plugins and by the extender."""
        extender, snapshot = self._extender, evaluation.snapshot
        budgets, select = self._budgets_in(snapshot), self._victim_cache.select
        if extender is None:
            return evaluate(evaluation, pod, scheduler_rejected, select=select, budgets=budgets)

        def review(candidates: Mapping[str, Victims]) -> PreemptResult:
            return extender.preempt(pod, candidates, snapshot)

        statuses = {**scheduler_rejected, **_as_recorded_by_scheduler(extender, pod, extender_rejected, snapshot)}
        return evaluate(evaluation, pod, statuses, review=review, select=select, budgets=budgets)

    def _budgets_in(self, snapshot: Snapshot) -> DisruptionBudgets:
        """The same object as long as the budgets are unchanged."""
        if self._budgets_of is not snapshot.disruption_budgets:
            self._budgets_of = snapshot.disruption_budgets
            self._budgets = DisruptionBudgets(self._budgets_of)
        return self._budgets


def _as_recorded_by_scheduler(
    extender: Extender, pod: Pod, rejected: Mapping[str, Status], snapshot: Snapshot
) -> dict[str, Status]:
    """Status of nodes that the extender rejected: unresolvable unless in `FailedNodes` (fact 15)."""
    resolvable = extender.resolvable(pod, rejected, snapshot) if rejected else ()
    return {
        name: status if name in resolvable else unresolvable(status.plugin, status.message)
        for name, status in rejected.items()
    }


def apply_preemption(snapshot: Snapshot, pod: Pod, preemption: Preemption) -> Snapshot:
    """Remove the victims, nominate the pod to their node, and clear lower-priority nominations to it."""
    node, victims = preemption.nominated or "", preemption.victims
    budgets = after_evictions(snapshot.disruption_budgets, victims)
    displaced = [
        replace(other, nominated_node="")
        for other in snapshot.nominated.get(node, ())
        if other.scheduler_name == pod.scheduler_name and priority_of(other) < priority_of(pod)
    ]
    return snapshot.with_changes(
        Changes(
            pods=(*displaced, replace(pod, nominated_node=node)),
            pods_gone=[(node, victim.uid) for victim in victims],
            disruption_budgets=None if budgets is snapshot.disruption_budgets else budgets,
        )
    )
