"""All pending pods by reason: each kind of pod is judged once, as long as there is time.

Pods of one controller have one spec and one set of labels, so thousands of them are judged together. A member of a gang
is judged alone: whether its whole gang fits is more than this says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from berth.scheduling.framework.plugin import PluginFailed
from berth.scheduling.objects import LabelSet, Pod, PodSpec
from berth.scheduling.reason_code import ReasonCode
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_cli.explain.rules import DecidedBy, Rejection, Rules


class Category(StrEnum):
    """What becomes of a pending pod if it is tried now. The names are part of the page's documents."""

    UNSCHEDULABLE = "unschedulable"
    SCHEDULABLE = "schedulable-now"
    UNDETERMINED = "undetermined"


@dataclass(frozen=True, slots=True)
class ReasonKey:
    """What nodes are rejected for, and whose rule it is."""

    by: DecidedBy
    plugin: str
    reason: str
    code: ReasonCode


@dataclass(frozen=True, slots=True)
class Judgement:
    """Of one kind of pod. fitting: how many nodes pass every rule. reasons: with the nodes that each rejects, that of
    most nodes first. note: why it is undetermined."""

    category: Category
    fitting: int = 0
    reasons: Mapping[ReasonKey, Sequence[str]] = field(default_factory=dict)
    note: str = ""


GATED = Judgement(Category.UNDETERMINED, note="its scheduling gates hold it")
NOT_IN_TIME = Judgement(
    Category.UNDETERMINED, note="there was no time to judge it; it is judged when the page asks again"
)


def judge_pending(
    pods: Iterable[Pod], snapshot: Snapshot, rules: Rules, is_over: Callable[[], bool]
) -> list[tuple[Pod, Judgement]]:
    """Each pod with its judgement. is_over: asked before each kind of pod."""
    names = list(snapshot.nodes)
    known: dict[tuple[PodSpec, LabelSet, tuple[tuple[str, str], ...]], Judgement] = {}
    found = []
    for pod in pods:
        if pod.spec.gated:
            found.append((pod, GATED))
            continue
        kind = pod.spec, pod.label_set, tuple(sorted(pod.annotations.items()))
        judgement = known.get(kind)
        if judgement is None and not is_over():
            judgement = known[kind] = _judge(pod, names, snapshot, rules)
        found.append((pod, judgement or NOT_IN_TIME))
    return found


def _judge(pod: Pod, names: Sequence[str], snapshot: Snapshot, rules: Rules) -> Judgement:
    try:
        rejected = rules.rejected(pod, names, snapshot)
    except PluginFailed as error:
        return Judgement(Category.UNDETERMINED, note=str(error))
    fitting = len(names) - len(rejected)
    category = Category.SCHEDULABLE if fitting else Category.UNSCHEDULABLE
    return Judgement(category, fitting, _by_reason(rejected))


def _by_reason(rejected: Mapping[str, Rejection]) -> Mapping[ReasonKey, Sequence[str]]:
    found: dict[ReasonKey, list[str]] = {}
    for name, rejection in rejected.items():
        status = rejection.status
        for reason, code in zip(status.reasons, status.reason_codes, strict=True):
            found.setdefault(ReasonKey(rejection.by, status.plugin, reason, code), []).append(name)
    return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0].reason)))
