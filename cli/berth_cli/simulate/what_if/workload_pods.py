"""The pods of a workload in a dump, and the same workload with more or fewer of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from berth.scheduling.fields.reading import MalformedField, Object
from berth.scheduling.objects import PriorityClass, read_priority_class
from berth.scheduling.objects.projection import controller_of
from berth_cli.cluster_files.admission import DEFAULT_NAMESPACE, PriorityClasses
from berth_cli.cluster_files.manifests import Manifests, as_new_pod, pods_of
from berth_cli.input_files import InvalidInput
from berth_cli.simulate.what_if.changes import Scale

PodName = tuple[str, str]
"""Namespace and name."""

_HASH = "pod-template-hash"


@dataclass(frozen=True, slots=True)
class ScaledObjects:
    """`created`: the pods that the workload did not have before."""

    objects: list[Object]
    created: frozenset[PodName] = frozenset()


def scale(objects: Sequence[Object], change: Scale) -> ScaledObjects:
    """The objects with as many pods of the workload. Raises InvalidInput where the dump lacks what that needs."""
    pods = _pods(objects, change)
    namespace = _namespace(change, pods, objects)
    pods = [pod for pod in pods if pod_name(pod)[0] == namespace]
    missing = change.replicas - len(pods)
    if missing <= 0:
        gone = {pod_name(pod) for pod in _first_to_go(pods)[: len(pods) - change.replicas]}
        return ScaledObjects([obj for obj in objects if obj.get("kind") != "Pod" or pod_name(obj) not in gone])
    created = _more(pods, missing, change) if pods else _from_template(objects, namespace, change)
    return ScaledObjects([*objects, *created], frozenset(map(pod_name, created)))


def mapping(obj: Object, field: str) -> Object:
    """The field if it is a mapping; a dump may have anything there."""
    found = obj.get(field)
    return found if isinstance(found, dict) else {}


def pod_name(obj: Object) -> PodName:
    """Namespace and name of an object."""
    metadata = mapping(obj, "metadata")
    return str(metadata.get("namespace") or DEFAULT_NAMESPACE), str(metadata.get("name"))


def node_of(pod: Object) -> str:
    """The node that the pod is on; empty without one."""
    return str(mapping(pod, "spec").get("nodeName") or "")


def controller_kind(pod: Object) -> str:
    """The kind of the pod's controller; empty without one."""
    owner = controller_of(mapping(pod, "metadata").get("ownerReferences"))
    return "" if owner is None else str(owner.get("kind"))


def has_finished(pod: Object) -> bool:
    """Whether the pod has ended."""
    return mapping(pod, "status").get("phase") in ("Succeeded", "Failed")


def _pods(objects: Iterable[Object], change: Scale) -> list[Object]:
    """The live pods of all workloads of this kind and name."""
    objects = list(objects)
    replica_sets = {pod_name(obj) for obj in objects if obj.get("kind") == "ReplicaSet" and _is_owned(obj, change)}
    found = []
    for obj in objects:
        if obj.get("kind") != "Pod" or has_finished(obj) or mapping(obj, "metadata").get("deletionTimestamp"):
            continue
        if change.namespace in ("", pod_name(obj)[0]) and _is_of(obj, change, replica_sets):
            found.append(obj)
    return found


def _is_of(pod: Object, change: Scale, replica_sets: set[PodName]) -> bool:
    if change.kind != "Deployment":
        return _is_owned(pod, change)
    owner = controller_of(mapping(pod, "metadata").get("ownerReferences"))
    if owner is None or owner.get("kind") != "ReplicaSet":
        return False
    # A dump without ReplicaSets has their names all the same: a Deployment's is its own name and the template's hash.
    template = mapping(mapping(pod, "metadata"), "labels").get(_HASH)
    name = str(owner.get("name"))
    return (pod_name(pod)[0], name) in replica_sets or name == f"{change.name}-{template}"


def _is_owned(obj: Object, change: Scale) -> bool:
    owner = controller_of(mapping(obj, "metadata").get("ownerReferences"))
    return owner is not None and (owner.get("kind"), owner.get("name")) == (change.kind, change.name)


def _namespace(change: Scale, pods: Iterable[Object], objects: Iterable[Object]) -> str:
    found = {pod_name(pod)[0] for pod in pods} | {
        pod_name(obj)[0] for obj in objects if change.namespace in ("", pod_name(obj)[0]) and _has_template(obj, change)
    }
    if not found:
        raise InvalidInput(
            f"the dump has neither pods nor the pod template of {change}; "
            "dump it with: kubectl get nodes,pods,deploy,rs,sts,rc -A -o json"
        )
    if len(found) > 1:
        raise InvalidInput(f"{change} is in several namespaces ({', '.join(sorted(found))}); give NAMESPACE/{change}")
    return found.pop()


def _has_template(obj: Object, change: Scale) -> bool:
    if "template" not in mapping(obj, "spec"):
        return False
    is_replica_set = change.kind == "Deployment" and obj.get("kind") == "ReplicaSet"
    return (obj.get("kind"), pod_name(obj)[1]) == (change.kind, change.name) or (
        is_replica_set and _is_owned(obj, change)
    )


def _first_to_go(pods: Iterable[Object]) -> list[Object]:
    """In the order in which controllers delete: a StatefulSet from its end; others first what is pending, then what
    stands beside most others of the workload, then the newest."""
    pods = list(pods)
    beside = Counter(map(node_of, pods))
    if any(controller_kind(pod) == "StatefulSet" for pod in pods):
        return sorted(pods, key=_ordinal, reverse=True)
    # Sorting is stable: the last key decides first.
    pods.sort(key=lambda pod: (_created_at(pod), pod_name(pod)), reverse=True)
    pods.sort(key=lambda pod: (bool(node_of(pod)), -beside[node_of(pod)]))
    return pods


def _created_at(pod: Object) -> str:
    return str(mapping(pod, "metadata").get("creationTimestamp") or "")


def _ordinal(pod: Object) -> int:
    suffix = pod_name(pod)[1].rpartition("-")[2]
    return int(suffix) if suffix.isdecimal() else -1


def _more(pods: Sequence[Object], missing: int, change: Scale) -> list[Object]:
    """More pods like the newest one: after a change of the template that is one of the new template."""
    model = max(pods, key=lambda pod: (_created_at(pod), pod_name(pod)))
    taken = {pod_name(pod)[1] for pod in pods}
    base = change.name if change.kind == "StatefulSet" else f"{change.name}-new"
    number = 0 if change.kind == "StatefulSet" else 1
    found: list[Object] = []
    while len(found) < missing:
        name = f"{base}-{number}"
        if name not in taken:
            found.append(_named(as_new_pod(model, 0), name))
        number += 1
    return found


def _named(pod: Object, name: str) -> Object:
    metadata = {key: value for key, value in mapping(pod, "metadata").items() if key != "uid"}
    labels = metadata.get("labels")
    if isinstance(labels, dict) and "statefulset.kubernetes.io/pod-name" in labels:
        index = {"apps.kubernetes.io/pod-index": name.rpartition("-")[2]}
        metadata["labels"] = labels | {"statefulset.kubernetes.io/pod-name": name} | index
    return {**pod, "metadata": {**metadata, "name": name}}


def _from_template(objects: Sequence[Object], namespace: str, change: Scale) -> list[Object]:
    workloads = [obj for obj in objects if _has_template(obj, change) and pod_name(obj)[0] == namespace]
    # A Deployment's pods belong to its ReplicaSet, which PodTopologySpread looks up by its name.
    workload = max(workloads, key=lambda obj: (obj.get("kind") == "ReplicaSet", _created_at(obj)))
    scaled = {**workload, "spec": {**mapping(workload, "spec"), "replicas": change.replicas}}
    classes = [read_priority_class(obj) for obj in objects if obj.get("kind") == "PriorityClass"]
    try:
        pods = Manifests(tuple(pods_of(scaled)))
    except MalformedField as error:
        raise InvalidInput(f"{change}: {error}") from error
    return pods.stored(PriorityClasses(each for each in classes if isinstance(each, PriorityClass)))
