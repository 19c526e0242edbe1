"""Checks a plugin's states: after each change of the cluster an updated state must give the same verdicts as a new
state. The checks use few nodes, so that a change often concerns the pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, product

from berth.scheduling.framework.plugin import (
    NODE_EVENTS,
    SUCCESS,
    ClusterEvent,
    ClusterFilter,
    ClusterFilterPlugin,
    ClusterScorePlugin,
    FilterPlugin,
    Plugin,
    Status,
)
from berth.scheduling.objects import NodeInfo, Pod
from berth.scheduling.snapshot.node_list import NodeRefs
from berth.scheduling.snapshot.snapshot import Snapshot
from berth_testing.harness import PluginHarness
from berth_testing.variants import filled, history

STEPS = 12
FEW_NODES = 12
HISTORIES = 20
"""The number of histories per pod."""
PODS_PER_NODE = 3
"""The number of pods that are placed on each node, so that a rule with a limit rejects the node."""


History = Sequence[tuple[ClusterEvent, Snapshot]]


@dataclass(frozen=True)
class Subject:
    """A plugin, and the cluster and pods on which it is checked. create: makes another instance."""

    create: Callable[[], Plugin]
    plugin: Plugin
    snapshot: Snapshot
    pods: Sequence[Pod]

    @cached_property
    def harness(self) -> PluginHarness:
        return PluginHarness(self.plugin, self.snapshot)

    @cached_property
    def few(self) -> Snapshot:
        return limited(self.snapshot, FEW_NODES)

    @cached_property
    def histories(self) -> Sequence[History]:
        """Histories of changes to the few nodes, each change with the snapshot after it: pods fill the nodes and leave,
        and random changes."""
        full = (filled(self.few, pod, PODS_PER_NODE) for pod in self.pods[:5])
        return [
            *([(event, snapshot) for event, _, snapshot in each] for each in full),
            *([*history(self.few, self.pods, STEPS, seed)] for seed in range(HISTORIES)),
        ]


def limited(snapshot: Snapshot, nodes: int) -> Snapshot:
    return snapshot if len(snapshot.nodes) <= nodes else snapshot.with_nodes(islice(snapshot.nodes.values(), nodes))


def pod_name(pod: Pod) -> str:
    return f"{pod.namespace}/{pod.name}"


def check_updated_to(subject: Subject) -> Iterator[str]:
    for pod in subject.pods[:5]:
        for later in subject.histories:
            yield from _updated_filter(subject, pod, later)
            yield from _updated_scores(subject, pod, later)


def _updated_filter(subject: Subject, pod: Pod, later: History) -> Iterator[str]:
    plugin, before = subject.plugin, subject.few
    if not isinstance(plugin, ClusterFilterPlugin):
        return
    state = plugin.pre_filter(pod, before)
    for _, snapshot in later:
        anew, delta = plugin.pre_filter(pod, snapshot), snapshot.changed_since(before)
        if isinstance(state, Status) != isinstance(anew, Status):
            yield f"pod {pod_name(pod)}: pre_filter rejects it by one snapshot, not by another; filter has to do that"
        if delta is None or isinstance(state, Status) or isinstance(anew, Status):
            return
        updated, named = state.updated_to(snapshot, delta)
        for name, node in snapshot.nodes.items():
            if _answer(updated, node) != _answer(anew, node):
                yield f"pod {pod_name(pod)}: node {name} is judged differently by updated_to than by a new state"
            elif named is not None and name not in delta.before and name not in named:
                earlier = before.nodes[name]
                if _answer(state, earlier) != _answer(anew, node):
                    yield f"pod {pod_name(pod)}: the verdict on node {name} changes, and updated_to does not name it"
        state, before = updated, snapshot


def _updated_scores(subject: Subject, pod: Pod, later: History) -> Iterator[str]:
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
                yield f"pod {pod_name(pod)}: node {name} scores {score} by updated_to and {other} by a new state"
        before = snapshot


def check_with_pod(subject: Subject) -> Iterator[str]:
    """Compare states to which pods were added, or from which pods were removed, with new states."""
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
                        yield f"pod {pod_name(pod)}: {call} judges node {name} differently than a new state"
                        state = anew


def check_events(subject: Subject) -> Iterator[str]:
    """Find changes that let a pod fit although the plugin does not register them."""
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
                                f"pod {pod_name(pod)}: node {name} passes after {event}, which `events_to_register` "
                                "leaves out; a pod that waits for it would not be tried again"
                            )
                before = snapshot


def unseen_behavior(subject: Subject) -> Iterator[str]:
    """Yield the behavior that the checks did not see, because the plugin gave the same result in all cases."""
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
