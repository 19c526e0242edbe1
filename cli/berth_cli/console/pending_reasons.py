"""Groups pending pods by reason. Each kind of pod is evaluated once, until the time limit.

Pods of one controller have the same spec and labels, so thousands of them are evaluated together. A member of a gang is
evaluated as in filter: with the plan of its gang.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum

from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.objects import LabelSet, Pod, PodSpec
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.console.turns import Turns
from berth_cli.explanation.pod_state import Cause, PodState, Verdict, pending_cause, verdict_on
from berth_cli.explanation.rivals import taken_text, tried_by
from berth_cli.explanation.rules import Reasons, Rules, by_reason
from berth_cli.placement.report import waiting_text
from berth_cli.placement.scheduler.control_loop import ControlLoop
from berth_cli.placement.scheduler.extender import PolicyExtender
from berth_cli.terminal.output import duration


class Category(StrEnum):
    """The result of evaluating a pending pod now. The values are part of the page's documents."""

    UNSCHEDULABLE = "unschedulable"
    SCHEDULABLE = "schedulable-now"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True)
class Judgment:
    """The verdict on one kind of pod. fitting: the number of nodes that pass all rules. reasons: the reasons
    and the nodes that they reject, the most useful reason first. note: another reason why the pod waits. node: where
    the scheduler places the pod, maybe after evictions. message: the scheduler's message if it does not."""

    category: Category
    fitting: int = 0
    reasons: Reasons = field(default_factory=dict)
    note: str = ""
    node: str = ""
    message: str = ""


NOT_IN_TIME = Judgment(
    Category.UNDETERMINED, note="there was no time to judge it; it is judged when the page asks again"
)


def in_state(judgment: Judgment, state: PodState, now: float, schedulers: Container[str], taken: str) -> Judgment:
    """Return the verdict that `berth explain` gives for a pod in this state: even a pod that fits may stay pending.
    now: seconds since the epoch. schedulers: those whose pods `berth simulate` places. taken: see `taken_text`."""
    fits, cause = judgment.category is Category.SCHEDULABLE, pending_cause(state)
    if fits and not judgment.node:
        cause = cause or Cause(Verdict.SCHEDULER_FAILS, "kube-scheduler fails", judgment.message)
    verdict, note = verdict_on(state, now, cause, fits=fits, preempts=bool(judgment.node))
    if verdict is Verdict.PLACEABLE:
        if taken:
            return replace(judgment, category=Category.UNSCHEDULABLE, note=taken)
        is_other = not state.was_tried and state.scheduler not in schedulers
        other = f"of {state.scheduler}, if that scheduler runs" if is_other else ""
        note = "; ".join(filter(None, (other, *state.unchecked)))
    return replace(judgment, category=Category.UNDETERMINED, note=note) if note else judgment


Kind = tuple[PodSpec, LabelSet, tuple[tuple[str, str], ...], str]


@dataclass(frozen=True, slots=True)
class _Kept:
    """A cached verdict. at: the time of the evaluation, in seconds of the monotonic clock. is_current: whether it was
    evaluated on the state that is shown."""

    judgment: Judgment
    at: float
    is_current: bool


class PendingJudge:
    """Evaluates pending pods, and keeps the verdicts between calls. Not thread-safe.

    Each call continues after the previous one: first with the kinds that were never evaluated, then with the kinds that
    were evaluated longest ago, so that all are evaluated even if the cluster changes often.
    """

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Begin without verdicts. `monotonic`: returns seconds."""
        self._monotonic = monotonic
        self._state: tuple[Snapshot, Rules] | None = None
        self._kept: dict[Kind, _Kept] = {}  # the least recently evaluated kind first
        self._turns: dict[tuple[str, ...], Turns] = {}  # by the UIDs of the pods

    def judge(
        self, waiting: Sequence[tuple[Pod, PodState]], snapshot: Snapshot, rules: Rules, seconds: float
    ) -> tuple[Sequence[tuple[Pod, Judgment, str]], bool]:
        """Return each pod with its verdict and the pod that would take its place (`taken_text`); and whether all
        verdicts are of this snapshot. seconds: no further kind is evaluated after this time."""
        listed = [pod for pod, _ in waiting]
        kinds = {_kind(pod): pod for pod in listed if not pod.spec.gated}
        self._begin(kinds, snapshot, rules)
        end, names = self._monotonic() + seconds, list(snapshot.nodes)
        left = [kind for kind in kinds if kind not in self._kept]
        left += [kind for kind, kept in self._kept.items() if not kept.is_current]
        while left and self._monotonic() < end:
            kind = left.pop(0)
            self._kept.pop(kind, None)
            self._kept[kind] = _Kept(_judge(kinds[kind], names, snapshot, rules), self._monotonic(), is_current=True)
        found = {pod.uid: self._judgment(pod, snapshot) for pod in listed}
        is_complete = not left
        fitting = [each for each in waiting if found[each[0].uid].category is Category.SCHEDULABLE]
        takers: dict[str, Pod | None] = {}
        for scheduler in {state.scheduler for _, state in fitting}:
            own = {pod.uid for pod, state in fitting if state.scheduler == scheduler}
            order = tried_by(scheduler, fitting)
            key = tuple(pod.uid for pod in order)
            if key not in self._turns:
                self._turns[key] = Turns(order, snapshot, rules)
            with suppress(PluginFailed):
                is_complete &= self._turns[key].take(lambda: self._monotonic() >= end)
            takers |= {uid: taker for uid, taker in self._turns[key].takers.items() if uid in own}
        return [(pod, found[pod.uid], taken_text(takers.get(pod.uid), pod)) for pod in listed], is_complete

    def _begin(self, kinds: Container[Kind], snapshot: Snapshot, rules: Rules) -> None:
        last, self._state = self._state, (snapshot, rules)
        is_same = last is not None and last[0] is snapshot
        is_kept = last is not None and last[1] is rules
        self._turns = self._turns if is_same and is_kept else {}
        self._kept = {
            kind: kept if is_same else replace(kept, is_current=False)
            for kind, kept in self._kept.items()
            if is_kept and kind in kinds
        }

    def _judgment(self, pod: Pod, snapshot: Snapshot) -> Judgment:
        kept = self._kept.get(_kind(pod))
        if kept is None:
            return NOT_IN_TIME
        return kept.judgment if kept.is_current else _earlier(kept, self._monotonic() - kept.at, snapshot)


def _kind(pod: Pod) -> Kind:
    return pod.spec, pod.label_set, tuple(sorted(pod.annotations.items())), pod.nominated_node


def _earlier(kept: _Kept, seconds: float, snapshot: Snapshot) -> Judgment:
    """Return the cached verdict without deleted nodes, and with its age."""
    found = kept.judgment
    main = next((key.text for key in found.reasons), found.category.value) if not found.note else found.note
    reasons = {key: [name for name in names if name in snapshot.nodes] for key, names in found.reasons.items()}
    return replace(found, reasons=reasons, note=f"{main} (judged {duration(seconds)} ago)")


def _judge(pod: Pod, names: Sequence[str], snapshot: Snapshot, rules: Rules) -> Judgment:
    try:
        rejected = rules.rejected(pod, names, snapshot)
        alone = snapshot.with_changes(Changes(pods_gone=[("", pod.uid)]))
        loop = ControlLoop(rules.scheduler, alone, PolicyExtender(rules.berth))
        outcome = loop.schedule(pod)
    except PluginFailed as error:
        return Judgment(Category.UNDETERMINED, note=str(error))
    fitting = len(names) - len(rejected)
    category = Category.SCHEDULABLE if fitting else Category.UNSCHEDULABLE
    note = f"preemption would place it on {outcome.node}" if outcome.node else waiting_text(outcome.preemption)
    note = "" if fitting else note
    return Judgment(category, fitting, by_reason(rejected, pod, snapshot), note, outcome.node, outcome.message)
