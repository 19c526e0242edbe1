"""Other pods and other clusters than the given ones, for checks that compare a plugin's answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

from berth.scheduling.objects import NodeInfo, Pod, label_set
from berth.scheduling.snapshot.changes import Changes
from berth.scheduling.snapshot.snapshot import Snapshot

OTHER = "other"


def variants(pod: Pod, others: Sequence[Pod]) -> Iterator[tuple[str, Pod]]:
    """The pod with one difference, and what it is: the plugin's `shape` says whether the difference may count."""
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


def history(snapshot: Snapshot, pods: Sequence[Pod], steps: int, seed: int) -> Iterator[Snapshot]:
    """Later snapshots, each with one change of the one before: pods come and go, nodes get labels, come and go."""
    chance = Random(seed)  # noqa: S311  # the same each time
    for step in range(steps):
        snapshot = snapshot.with_changes(_change(snapshot, pods, chance, step))
        yield snapshot


def _change(snapshot: Snapshot, pods: Sequence[Pod], chance: Random, step: int) -> Changes:
    nodes = list(snapshot.nodes.values())
    node = chance.choice(nodes)
    match chance.choice(("pod", "pod", "pod-gone", "label", "node", "node-gone")):
        case "pod-gone" if node.pods:
            return Changes(pods_gone=[(node.name, chance.choice(node.pods).uid)])
        case "label":
            return Changes(nodes=[replace(node, labels=_relabelled(node, chance.choice(nodes)))])
        case "node":
            labels = {**node.labels, "kubernetes.io/hostname": f"added-{step}"}
            return Changes(nodes=[replace(node, name=f"added-{step}", labels=labels).with_pods(())])
        case "node-gone" if len(nodes) > 1:
            return Changes(nodes_gone=[node.name])
    return Changes(pods=[placed(chance.choice(pods), node.name, f"arrived-{step}")])


def _relabelled(node: NodeInfo, other: NodeInfo) -> dict[str, str]:
    """The labels of another node, with the own host name."""
    own = {key: value for key, value in node.labels.items() if key == "kubernetes.io/hostname"}
    return {**other.labels, **own}


def placed(pod: Pod, node: str, uid: str) -> Pod:
    """A pod like this one on the node."""
    return replace(pod, name=uid, uid=uid, node_name=node, nominated_node="")


def reduced(snapshot: Snapshot, *, pods: bool, others: bool) -> Snapshot:
    """The snapshot as a plugin gets it that does not read pods, or nothing but nodes and pods."""
    nodes = [node if pods else node.with_pods(()) for node in snapshot.nodes.values()]
    placed_pods = [pod for node in nodes for pod in node.pods]
    bare = [node.with_pods(()) for node in nodes]
    if not others:
        return Snapshot.of(bare, placed_pods)
    found = Snapshot.of(bare, placed_pods, disruption_budgets=snapshot.disruption_budgets, workloads=snapshot.workloads)
    return replace(found, namespaces=snapshot.namespaces, priority_classes=snapshot.priority_classes)
