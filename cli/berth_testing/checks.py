"""The checks of `berth plugin check`: the rules that Berth relies on and that a plugin's type does not express.

A plugin that passes can still be wrong. The checks see the given cluster and pods, and variants of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from berth.cluster.field_projection import has_any_reason, reasons_of
from berth.scheduling.framework.plugin import (
    MAX_NODE_SCORE,
    SUCCESS,
    ClusterScorePlugin,
    Plugin,
    PluginFailed,
    ScorePlugin,
    Status,
)
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.parts import SnapshotPart
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_testing.change_checks import (
    Subject,
    check_events,
    check_updated_to,
    check_with_pod,
    limited,
    pod_name,
    unseen_behavior,
)
from berth_testing.harness import Judgment, PluginHarness, side_effects
from berth_testing.variants import reduced, variants

MAX_NODES = 200
MAX_PODS = 30
MAX_VARIANTS = 40
MAX_FINDINGS = 3
"""The maximum number of findings for each rule."""

MAX_MICROSECONDS = 200.0
"""The limit for filter and score of one node. With 5,000 nodes this takes one second; a decision may take two."""


class Rule(StrEnum):
    """The rules that are checked.

    RESULT: no exception, results of the right type. REASON: a rejection has a reason without names. SCORE_RANGE:
    normalized scores are 0 to 100. EMPTY: without candidates, normalization returns no scores. SHAPE: pods of one shape
    get the same verdicts. READS: fields that `reads` leaves out do not matter. REPEATABLE: a new instance gives equal
    verdicts. SIDE_EFFECTS: no I/O, no clock, no random numbers. UPDATED_TO, WITH_POD: an updated state gives the same
    verdicts as a new one. EVENTS: a rejected pod fits only after changes that the plugin registers. TIME: the time for
    one node is within the limit.
    """

    RESULT = "result"
    REASON = "reason"
    SCORE_RANGE = "score-range"
    EMPTY = "empty"
    SHAPE = "shape"
    READS = "reads"
    REPEATABLE = "repeatable"
    SIDE_EFFECTS = "side-effects"
    UPDATED_TO = "updated-to"
    WITH_POD = "with-pod"
    EVENTS = "events-to-register"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Finding:
    rule: Rule
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of the checks. nodes, pods: how many were evaluated. microseconds: the time for one node and one pod;
    None if the plugin failed. warnings: behavior that the checks did not see, because the plugin gave the same result
    in all cases."""

    findings: tuple[Finding, ...]
    nodes: int
    pods: int
    microseconds: float | None
    warnings: tuple[str, ...] = ()


_Check = Callable[[Subject], Iterator[str]]


def check_plugin(
    create: Callable[[], Plugin],
    snapshot: Snapshot,
    pods: Sequence[Pod],
    clock: Callable[[], float] = time.thread_time,
) -> CheckResult:
    """Check a plugin on a cluster for these pods; of many nodes and pods, use the first ones. create: makes the plugin,
    with the checks of `checked_plugin`. clock: returns seconds; by default the processor time of this thread."""
    snapshot = limited(snapshot, MAX_NODES)
    try:
        subject = Subject(create, create(), snapshot, _different(pods))
    except PluginFailed as error:
        return CheckResult((Finding(Rule.RESULT, f"it {error.failure}"),), len(snapshot.nodes), 0, None)
    findings = _findings(Rule.RESULT, _result, subject)
    microseconds = None
    if not findings:
        findings = [found for rule, check in _CHECKS for found in _findings(rule, check, subject)]
        microseconds = _microseconds(subject, clock)
        if microseconds > MAX_MICROSECONDS:
            message = f"{microseconds:.0f} µs for a node; more than {MAX_MICROSECONDS:.0f} µs are too slow for 5,000"
            findings.append(Finding(Rule.TIME, message))
    warnings = () if findings else tuple(unseen_behavior(subject))
    return CheckResult(tuple(findings), len(snapshot.nodes), len(subject.pods), microseconds, warnings)


def _different(pods: Sequence[Pod]) -> list[Pod]:
    found: dict[object, Pod] = {}
    for pod in pods:
        found.setdefault((pod.label_set, pod.spec), pod)
    return [*found.values()][:MAX_PODS]


def _findings(rule: Rule, check: _Check, subject: Subject) -> list[Finding]:
    found: dict[str, Finding] = {}
    try:
        for message in check(subject):
            found.setdefault(message, Finding(rule, message))
            if len(found) == MAX_FINDINGS:
                break
    except PluginFailed as error:
        found.setdefault(error.failure, Finding(rule, f"it {error.failure}"))
    return list(found.values())


def _result(subject: Subject) -> Iterator[str]:
    for pod in subject.pods:
        try:
            subject.plugin.shape(pod)
            subject.harness.judgment(pod)
            subject.harness.scores(pod)
        except PluginFailed as error:
            yield f"pod {pod_name(pod)}: it {error.failure}"


def _reason(subject: Subject) -> Iterator[str]:
    reasons = reasons_of(subject.plugin)
    for pod in subject.pods:
        for name, status in subject.harness.statuses(pod).items():
            if status is SUCCESS:
                continue
            if not status.message:
                yield f"node {name} is rejected without a reason"
            elif not has_any_reason(f"1 {status.message}", reasons):
                yield (
                    f'the reason "{status.message}" is no text of the plugin\'s package, so Berth does not know its '
                    "rejections; write it as a constant, or set `reasons` to all reasons"
                )
            for named in (name, pod.name):
                # Ignore one-letter names: they may be ordinary words, such as `a` in "had a pod of this team".
                if len(named) > 1 and named in status.message.split():
                    yield f'the reason "{status.message}" contains the name {named}; a reason is a constant'


def _score_range(subject: Subject) -> Iterator[str]:
    for pod in subject.pods:
        for name, score in subject.harness.scores(pod).items():
            if not 0 <= score <= MAX_NODE_SCORE:
                yield f"pod {pod_name(pod)}, node {name}: the score is {score}, not 0 to {MAX_NODE_SCORE}"


def _empty(subject: Subject) -> Iterator[str]:
    plugin = subject.plugin
    if isinstance(plugin, ScorePlugin):
        plugin.normalize([])
    if isinstance(plugin, ClusterScorePlugin):
        state = plugin.pre_score(subject.pods[0], subject.snapshot) if subject.pods else None
        if state is not None and not isinstance(state, Status):
            state.scores(NodeRefs.of([], subject.snapshot.positions), subject.snapshot)
    yield from ()


def _shape(subject: Subject) -> Iterator[str]:
    harness, shape = subject.harness, subject.plugin.shape
    by_shape: dict[object, tuple[Pod, Judgment]] = {}
    for pod in subject.pods:
        own, judged = shape(pod), harness.judgment(pod)
        first, expected = by_shape.setdefault(own, (pod, judged))
        if node := _difference(expected, judged):
            yield f"pods {pod_name(first)} and {pod_name(pod)} have one shape, but node {node} is judged differently"
        for what, variant in islice(variants(pod, subject.pods), MAX_VARIANTS):
            if shape(variant) == own and (node := _difference(judged, harness.judgment(variant))):
                yield (
                    f"pod {pod_name(pod)} with {what} has the same shape, but node {node} is judged differently; "
                    "`shape` has to return all that is read of the pod"
                )


def _reads(subject: Subject) -> Iterator[str]:
    parts = subject.plugin.reads
    pods, others = SnapshotPart.PODS in parts, SnapshotPart.OTHERS in parts
    if pods and others:
        return
    other = subject.harness.at(reduced(subject.snapshot, pods=pods, others=others))
    missing = "pods" if not pods else "namespaces and workloads"
    for pod in subject.pods:
        if node := _difference(subject.harness.judgment(pod), other.judgment(pod)):
            yield f"pod {pod_name(pod)}: node {node} is judged differently without {missing}, which `reads` leaves out"


def _repeatable(subject: Subject) -> Iterator[str]:
    other = PluginHarness(subject.create(), subject.snapshot)
    if other.plugin is subject.plugin:
        yield "`create` returned the same instance twice; give check_plugin what makes another, such as harness.create"
    for pod in subject.pods:
        if node := _difference(subject.harness.judgment(pod), other.judgment(pod)):
            yield f"pod {pod_name(pod)}: node {node} is judged differently the second time"
        elif subject.harness.scores(pod) != other.scores(pod):
            yield f"pod {pod_name(pod)}: the scores are normalised differently the second time"


def _side_effects(subject: Subject) -> Iterator[str]:
    for pod in subject.pods[:3]:
        with side_effects() as found:
            other = PluginHarness(subject.create(), subject.snapshot)
            other.plugin.shape(pod)
            other.judgment(pod)
            other.scores(pod)
        for each in sorted(found):
            yield f"it calls {each}; the answer must depend on the pod and the cluster alone"


def _difference(one: Judgment, other: Judgment) -> str:
    return next((name for name, verdict in one.items() if verdict != other[name]), "")


def _microseconds(subject: Subject, clock: Callable[[], float]) -> float:
    rounds = []
    for _ in range(3):
        started = clock()
        for pod in subject.pods:
            subject.harness.judgment(pod)
        rounds.append(clock() - started)
    return min(rounds) * 1e6 / max(1, len(subject.pods) * len(subject.snapshot.nodes))


_CHECKS: Sequence[tuple[Rule, _Check]] = (
    (Rule.REASON, _reason),
    (Rule.SCORE_RANGE, _score_range),
    (Rule.EMPTY, _empty),
    (Rule.SHAPE, _shape),
    (Rule.READS, _reads),
    (Rule.REPEATABLE, _repeatable),
    (Rule.SIDE_EFFECTS, _side_effects),
    (Rule.UPDATED_TO, check_updated_to),
    (Rule.WITH_POD, check_with_pod),
    (Rule.EVENTS, check_events),
)
