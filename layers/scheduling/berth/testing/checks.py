"""The checks of `berth plugin check`: the rules that Berth relies on and that a plugin's type does not express.

A plugin that passes can still be wrong. The checks see the given cluster and pods, and variants of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import chain, islice, product

from berth.cluster.field_projection import has_any_reason, reasons_of
from berth.scheduling.framework.plugin import (
    MAX_NODE_SCORE,
    NODE_EVENTS,
    SUCCESS,
    ClusterEvent,
    ClusterFilter,
    ClusterFilterPlugin,
    ClusterScorePlugin,
    FilterPlugin,
    Plugin,
    PluginFailed,
    ScorePlugin,
    Status,
)
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.parts import SnapshotPart
from berth.scheduling.snapshot.snapshot import Snapshot
from berth.testing.harness import Judgment, PluginHarness, side_effects
from berth.testing.variants import filled, history, reduced, variants

MAX_NODES = 200
MAX_PODS = 30
MAX_VARIANTS = 40
STEPS = 12
FEW_NODES = 12
HISTORIES = 20
"""The number of histories per pod, on few nodes, so that a change often concerns the pod."""
PODS_PER_NODE = 3
"""The number of pods that come to each node, so that a rule with a limit rejects it."""
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
    verdicts as a new one. EVENTS: a pod fits only after changes that are registered. TIME: for a node.
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
    """A rule that the plugin breaks, and how."""

    rule: Rule
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """nodes, pods: how many were evaluated. microseconds: for one node and one pod; None if the plugin failed.
    warnings: behavior that the checks did not see, because the plugin did the same in all cases."""

    findings: tuple[Finding, ...]
    nodes: int
    pods: int
    microseconds: float | None
    warnings: tuple[str, ...] = ()


_History = Sequence[tuple[ClusterEvent, Snapshot]]


@dataclass(frozen=True)
class _Subject:
    create: Callable[[], Plugin]
    plugin: Plugin
    snapshot: Snapshot
    pods: Sequence[Pod]

    @property
    def harness(self) -> PluginHarness:
        return PluginHarness(self.plugin, self.snapshot)

    @cached_property
    def few(self) -> Snapshot:
        return _limited(self.snapshot, FEW_NODES)

    @cached_property
    def histories(self) -> Sequence[_History]:
        """Changes of `few`, each with the snapshot after it: pods fill the nodes and leave, and random changes."""
        full = (filled(self.few, pod, PODS_PER_NODE) for pod in self.pods[:5])
        return [
            *([(event, snapshot) for event, _, snapshot in each] for each in full),
            *([*history(self.few, self.pods, STEPS, seed)] for seed in range(HISTORIES)),
        ]


_Check = Callable[[_Subject], Iterator[str]]


def check_plugin(
    create: Callable[[], Plugin],
    snapshot: Snapshot,
    pods: Sequence[Pod],
    clock: Callable[[], float] = time.thread_time,
) -> CheckResult:
    """Check a plugin on a cluster, for these pods. Of many nodes and pods it takes the first.

    create: makes the plugin, with the checks of `checked_plugin`. clock: seconds; by default of this thread on the
    processor, so that a busy machine does not make a plugin slow.
    """
    snapshot = _limited(snapshot, MAX_NODES)
    try:
        subject = _Subject(create, create(), snapshot, _different(pods))
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
    warnings = () if findings else tuple(_unseen(subject))
    return CheckResult(tuple(findings), len(snapshot.nodes), len(subject.pods), microseconds, warnings)


def _limited(snapshot: Snapshot, nodes: int) -> Snapshot:
    return snapshot if len(snapshot.nodes) <= nodes else snapshot.with_nodes(islice(snapshot.nodes.values(), nodes))


def _different(pods: Sequence[Pod]) -> list[Pod]:
    """Return one pod for each different content, at most MAX_PODS."""
    found: dict[object, Pod] = {}
    for pod in pods:
        found.setdefault((pod.label_set, pod.spec), pod)
    return [*found.values()][:MAX_PODS]


def _findings(rule: Rule, check: _Check, subject: _Subject) -> list[Finding]:
    found: dict[str, Finding] = {}
    try:
        for message in check(subject):
            found.setdefault(message, Finding(rule, message))
            if len(found) == MAX_FINDINGS:
                break
    except PluginFailed as error:
        found.setdefault(error.failure, Finding(rule, f"it {error.failure}"))
    return list(found.values())


def _result(subject: _Subject) -> Iterator[str]:
    for pod in subject.pods:
        try:
            subject.plugin.shape(pod)
            subject.harness.judgment(pod)
            subject.harness.scores(pod)
        except PluginFailed as error:
            yield f"pod {_name(pod)}: it {error.failure}"


def _reason(subject: _Subject) -> Iterator[str]:
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


def _score_range(subject: _Subject) -> Iterator[str]:
    for pod in subject.pods:
        for name, score in subject.harness.scores(pod).items():
            if not 0 <= score <= MAX_NODE_SCORE:
                yield f"pod {_name(pod)}, node {name}: the score is {score}, not 0 to {MAX_NODE_SCORE}"


def _empty(subject: _Subject) -> Iterator[str]:
    plugin = subject.plugin
    if isinstance(plugin, ScorePlugin):
        plugin.normalize([])
    if isinstance(plugin, ClusterScorePlugin):
        state = plugin.pre_score(subject.pods[0], subject.snapshot) if subject.pods else None
        if state is not None and not isinstance(state, Status):
            state.scores(NodeRefs.of([], subject.snapshot.positions), subject.snapshot)
    yield from ()


def _shape(subject: _Subject) -> Iterator[str]:
    harness, shape = subject.harness, subject.plugin.shape
    by_shape: dict[object, tuple[Pod, Judgment]] = {}
    for pod in subject.pods:
        own, judged = shape(pod), harness.judgment(pod)
        first, expected = by_shape.setdefault(own, (pod, judged))
        if node := _difference(expected, judged):
            yield f"pods {_name(first)} and {_name(pod)} have one shape, but node {node} is judged differently"
        for what, variant in islice(variants(pod, subject.pods), MAX_VARIANTS):
            if shape(variant) == own and (node := _difference(judged, harness.judgment(variant))):
                yield (
                    f"pod {_name(pod)} with {what} has the same shape, but node {node} is judged differently; "
                    "`shape` has to return all that is read of the pod"
                )


def _reads(subject: _Subject) -> Iterator[str]:
    parts = subject.plugin.reads
    pods, others = SnapshotPart.PODS in parts, SnapshotPart.OTHERS in parts
    if pods and others:
        return
    other = subject.harness.at(reduced(subject.snapshot, pods=pods, others=others))
    missing = "pods" if not pods else "namespaces and workloads"
    for pod in subject.pods:
        if node := _difference(subject.harness.judgment(pod), other.judgment(pod)):
            yield f"pod {_name(pod)}: node {node} is judged differently without {missing}, which `reads` leaves out"


def _repeatable(subject: _Subject) -> Iterator[str]:
    other = PluginHarness(subject.create(), subject.snapshot)
    if other.plugin is subject.plugin:
        yield "`create` returned the same instance twice; give check_plugin what makes another, such as harness.create"
    for pod in subject.pods:
        if node := _difference(subject.harness.judgment(pod), other.judgment(pod)):
            yield f"pod {_name(pod)}: node {node} is judged differently the second time"
        elif subject.harness.scores(pod) != other.scores(pod):
            yield f"pod {_name(pod)}: the scores are normalised differently the second time"


def _side_effects(subject: _Subject) -> Iterator[str]:
    for pod in subject.pods[:3]:
        with side_effects() as found:
            other = PluginHarness(subject.create(), subject.snapshot)
            other.plugin.shape(pod)
            other.judgment(pod)
            other.scores(pod)
        for each in sorted(found):
            yield f"it calls {each}; the answer must depend on the pod and the cluster alone"


def _updated_to(subject: _Subject) -> Iterator[str]:
    for pod in subject.pods[:5]:
        for later in subject.histories:
            yield from _updated_filter(subject, pod, later)
            yield from _updated_scores(subject, pod, later)


def _updated_filter(subject: _Subject, pod: Pod, later: _History) -> Iterator[str]:
    plugin, before = subject.plugin, subject.few
    if not isinstance(plugin, ClusterFilterPlugin):
        return
    state = plugin.pre_filter(pod, before)
    for _, snapshot in later:
        anew, delta = plugin.pre_filter(pod, snapshot), snapshot.changed_since(before)
        if isinstance(state, Status) != isinstance(anew, Status):
            yield f"pod {_name(pod)}: pre_filter rejects it by one snapshot and not by another; filter has to do that"
        if delta is None or isinstance(state, Status) or isinstance(anew, Status):
            return
        updated, named = state.updated_to(snapshot, delta)
        for name, node in snapshot.nodes.items():
            if _answer(updated, node) != _answer(anew, node):
                yield f"pod {_name(pod)}: node {name} is judged differently by updated_to than by a new state"
            elif named is not None and name not in delta.names and name not in named:
                earlier = before.nodes[name]
                if _answer(state, earlier) != _answer(anew, node):
                    yield f"pod {_name(pod)}: the verdict on node {name} changes, and updated_to does not name it"
        state, before = updated, snapshot


def _updated_scores(subject: _Subject, pod: Pod, later: _History) -> Iterator[str]:
    plugin, before = subject.plugin, subject.few
    if not isinstance(plugin, ClusterScorePlugin):
        return
    state = plugin.pre_score(pod, before)
    for _, snapshot in later:
        anew, delta = plugin.pre_score(pod, snapshot), snapshot.changed_since(before)
        if delta is None or state is None or anew is None or isinstance(state, Status) or isinstance(anew, Status):
            return
        state = state.updated_to(snapshot, delta)
        nodes = NodeRefs.of(list(snapshot.nodes), snapshot.positions)
        found, expected = state.scores(nodes, snapshot), anew.scores(nodes, snapshot)
        for name, score, other in zip(nodes.names, found, expected, strict=True):
            if score != other:
                yield f"pod {_name(pod)}: node {name} scores {score} by updated_to and {other} by a new state"
        before = snapshot


def _with_pod(subject: _Subject) -> Iterator[str]:
    plugin = subject.plugin
    if not isinstance(plugin, ClusterFilterPlugin):
        return
    for pod in subject.pods[:5]:
        for other in subject.pods[:5]:
            state = plugin.pre_filter(pod, subject.few)
            for event, changed, snapshot in filled(subject.few, other, PODS_PER_NODE):
                anew, node = plugin.pre_filter(pod, snapshot), snapshot.nodes[changed.node_name]
                if isinstance(state, Status) or isinstance(anew, Status):
                    break
                comes = event is ClusterEvent.ASSIGNED_POD_ADD
                state = state.with_pod(changed, node) if comes else state.without_pod(changed, node)
                call = f"{'with_pod' if comes else 'without_pod'}({other.name})"
                for name, each in snapshot.nodes.items():
                    if _answer(state, each) != _answer(anew, each):
                        yield f"pod {_name(pod)}: {call} judges node {name} differently than a new state"
                        state = anew


def _events(subject: _Subject) -> Iterator[str]:
    registered = NODE_EVENTS | subject.plugin.events_to_register
    for pod in subject.pods[:5]:
        for later in subject.histories:
            before = subject.few
            for event, snapshot in later:
                if event not in registered:
                    rejected = subject.harness.at(before).statuses(pod)
                    for name, status in subject.harness.at(snapshot).statuses(pod).items():
                        if status is SUCCESS and rejected.get(name) is not SUCCESS:
                            yield (
                                f"pod {_name(pod)}: node {name} passes after {event}, which `events_to_register` "
                                "leaves out; a pod that waits for it would not be tried again"
                            )
                before = snapshot


def _unseen(subject: _Subject) -> Iterator[str]:
    """Yield what the checks did not see, because the plugin did the same in all cases."""
    rejects = not isinstance(subject.plugin, FilterPlugin | ClusterFilterPlugin)
    changes = not isinstance(subject.plugin, ClusterFilterPlugin)
    later = [snapshot for each in subject.histories for _, snapshot in each]
    verdicts: dict[object, Status] = {}
    for pod, snapshot in chain(product(subject.pods, [subject.snapshot]), product(subject.pods[:5], later)):
        for name, status in subject.harness.at(snapshot).statuses(pod).items():
            rejects = rejects or status is not SUCCESS
            key = pod.uid, name, snapshot is subject.snapshot
            changes = changes or verdicts.setdefault(key, status) != status
        if rejects and changes:
            return
    if not rejects:
        yield "it rejected no node in any case"
    else:
        yield "no change of the cluster changed a verdict, so updated_to, with_pod and without_pod were not tested"


def _answer(state: ClusterFilter, node: NodeInfo) -> tuple[object, ...]:
    status = SUCCESS if state.skips else state.filter(node)
    return status.code, status.reasons


def _difference(one: Judgment, other: Judgment) -> str:
    """Return the first node with a different verdict; empty if all verdicts are equal."""
    return next((name for name, verdict in one.items() if verdict != other[name]), "")


def _microseconds(subject: _Subject, clock: Callable[[], float]) -> float:
    """Return the time for one node and one pod in the fastest of three rounds."""
    rounds = []
    for _ in range(3):
        started = clock()
        for pod in subject.pods:
            subject.harness.judgment(pod)
        rounds.append(clock() - started)
    return min(rounds) * 1e6 / max(1, len(subject.pods) * len(subject.snapshot.nodes))


def _name(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"


_CHECKS: Sequence[tuple[Rule, _Check]] = (
    (Rule.REASON, _reason),
    (Rule.SCORE_RANGE, _score_range),
    (Rule.EMPTY, _empty),
    (Rule.SHAPE, _shape),
    (Rule.READS, _reads),
    (Rule.REPEATABLE, _repeatable),
    (Rule.SIDE_EFFECTS, _side_effects),
    (Rule.UPDATED_TO, _updated_to),
    (Rule.WITH_POD, _with_pod),
    (Rule.EVENTS, _events),
)
