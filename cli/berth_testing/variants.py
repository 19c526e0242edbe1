"""Makes variants of pods and clusters, for checks that compare a plugin's answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from berth.scheduling.framework.plugin import ClusterEvent
from berth.scheduling.objects import Namespace, NodeInfo, Pod, label_set
from berth.scheduling.objects.cluster import NO_WORKLOADS
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot

OTHER = "other"

ENDING_SHARE = 0.2
"""The share of the changed pods that are being deleted."""


def variants(pod: Pod, others: Sequence[Pod]) -> Iterator[tuple[str, Pod]]:
    """Yield variants of the pod with one difference each, and the difference's name: the plugin's `shape` decides
    whether the difference may matter."""
    yield "another name", replace(pod, name=f"{pod.name}-{OTHER}", uid=f"{pod.uid}-{OTHER}")
    yield "another namespace", _labelled(pod, dict(pod.labels), f"{pod.namespace}-{OTHER}")
    for key, value in pod.labels.items():
        labels = dict(pod.labels)
        yield f"another value of the label {key}", _labelled(pod, {**labels, key: f"{value}-{OTHER}"})
        del labels[key]
        yield f"no label {key}", _labelled(pod, labels)
    for other in others:
        if other.label_set is not pod.label_set:
            yield f"the labels of {other.name}", _labelled(pod, dict(other.labels))
        if other.spec is not pod.spec:
            yield f"the spec of {other.name}", replace(pod, spec=other.spec)


def _labelled(pod: Pod, labels: dict[str, str], namespace: str = "") -> Pod:
    return replace(pod, label_set=label_set(namespace or pod.namespace, labels))


def history(snapshot: Snapshot, pods: Sequence[Pod], steps: int, seed: int) -> Iterator[tuple[ClusterEvent, Snapshot]]:
    """Yield later snapshots, each with the one change that leads to it: pods, nodes, namespaces and workloads are
    created and deleted; pods, nodes and namespaces get labels; pods begin to terminate."""
    chance, first = Random(seed), snapshot  # noqa: S311  # reproducible
    for step in range(steps):
        event, changes = _change(snapshot, first, pods, chance, step)
        snapshot = snapshot.with_changes(changes)
        yield event, snapshot


_EVENTS = [event for event in ClusterEvent if event is not ClusterEvent.POOL_WAIT_ENDED]
"""The events that custom plugins may register: they cannot read which pods wait for a floating pool."""


def _change(
    snapshot: Snapshot, first: Snapshot, pods: Sequence[Pod], chance: Random, step: int
) -> tuple[ClusterEvent, Changes]:
    nodes = list(snapshot.nodes.values())
    node, pod = chance.choice(nodes), chance.choice(pods)
    on_nodes = [each for one in nodes for each in one.pods]
    other = chance.choice(on_nodes) if on_nodes else None
    match chance.choice(_EVENTS):
        case ClusterEvent.ASSIGNED_POD_DELETE as event if other is not None:
            return event, Changes(pods_gone=[(other.node_name, other.uid)])
        case ClusterEvent.ASSIGNED_POD_UPDATE as event if other is not None:
            relabelled = replace(other, label_set=label_set(other.namespace, dict(pod.labels)))
            return event, Changes(pods=[replace(relabelled, terminating=chance.random() < ENDING_SHARE)])
        case ClusterEvent.NODE_UPDATE as event if step % 2:
            return event, Changes(nodes=[replace(node, labels=_relabelled(node, chance.choice(nodes)))])
        case ClusterEvent.NODE_UPDATE as event:
            labels = {**node.labels, "kubernetes.io/hostname": f"added-{step}"}
            return event, Changes(nodes=[replace(node, name=f"added-{step}", labels=labels).with_pods(())])
        case ClusterEvent.NODE_DELETE as event if len(nodes) > 1:
            return event, Changes(nodes_gone=[node.name])
        case ClusterEvent.UNSCHEDULED_POD as event:
            return event, Changes(pods=[replace(pod, name=f"waits-{step}", uid=f"waits-{step}")])
        case ClusterEvent.NAMESPACE as event:
            labels_of = [*first.namespaces.values(), {}]
            return event, Changes(namespaces=[Namespace(name, chance.choice(labels_of)) for name in first.namespaces])
        case ClusterEvent.OTHERS as event:
            return event, Changes(workloads=chance.choice((first.workloads, NO_WORKLOADS)))
    return ClusterEvent.ASSIGNED_POD_ADD, Changes(pods=[placed(pod, node.name, f"arrived-{step}")])


def filled(snapshot: Snapshot, pod: Pod, per_node: int) -> Iterator[tuple[ClusterEvent, Pod, Snapshot]]:
    """Yield later snapshots with the pod that was added or removed: pods like this pod are added one by one until each
    node has `per_node` more of them, and are removed again."""
    added = [placed(pod, name, f"added-{step}") for step, name in enumerate([*snapshot.nodes] * per_node)]
    for each in added:
        snapshot = snapshot.with_changes(Changes(pods=[each]))
        yield ClusterEvent.ASSIGNED_POD_ADD, each, snapshot
    for each in added:
        snapshot = snapshot.with_changes(Changes(pods_gone=[(each.node_name, each.uid)]))
        yield ClusterEvent.ASSIGNED_POD_DELETE, each, snapshot


def _relabelled(node: NodeInfo, other: NodeInfo) -> dict[str, str]:
    own = {key: value for key, value in node.labels.items() if key == "kubernetes.io/hostname"}
    return {**other.labels, **own}


def placed(pod: Pod, node: str, uid: str) -> Pod:
    return replace(pod, name=uid, uid=uid, node_name=node, nominated_node="")


def reduced(snapshot: Snapshot, *, pods: bool, others: bool) -> Snapshot:
    """Return the snapshot for a plugin that does not read pods, or that reads only nodes and pods."""
    nodes = [node if pods else node.with_pods(()) for node in snapshot.nodes.values()]
    placed_pods = [pod for node in nodes for pod in node.pods]
    bare = [node.with_pods(()) for node in nodes]
    if not others:
        return Snapshot.of(bare, placed_pods)
    found = Snapshot.of(bare, placed_pods, disruption_budgets=snapshot.disruption_budgets, workloads=snapshot.workloads)
    return replace(found, namespaces=snapshot.namespaces, priority_classes=snapshot.priority_classes)
