"""Pods to place from manifests: Pods, and the pods that a workload's controller would create."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from berth.scheduling.fields.reading import MalformedField, Object, read_integer, read_object
from berth.scheduling.objects import Pod, UnreadableObject, read_pod
from berth_cli.sources.dump.admission import DEFAULT_NAMESPACE, AdmissionDenied, PriorityClasses, admit
from berth_cli.sources.dump.documents import parse_objects
from berth_cli.terminal.input_files import InvalidInput, display_name, read_input

# Workloads with a pod template and a number of pods. DaemonSets are excluded: they place one pod on each node.
_WORKLOADS = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "Job")
# Other kinds that affect placement; they are added to the cluster.
_SUPPORTING = ("Namespace", "PodDisruptionBudget", "PriorityClass", "Service")


@dataclass(frozen=True, slots=True)
class Manifests:
    """`pods`: given and generated pods. `others`: objects that are added to the cluster."""

    pods: tuple[Object, ...] = ()
    others: tuple[Object, ...] = ()

    @property
    def names(self) -> set[tuple[object, object]]:
        """Return (namespace, name) of the pods, which replace the cluster's pods with these names."""
        found = (read_object(pod["metadata"], "Pod.metadata") for pod in self.pods)
        return {(metadata.get("namespace"), metadata.get("name")) for metadata in found}

    def stored(self, classes: PriorityClasses) -> list[Object]:
        """Return the pods as the API server would store them. Raises InvalidInput."""
        return [_admit(pod, classes) for pod in self.pods]

    def read(self, classes: PriorityClasses) -> list[Pod]:
        """Return the stored pods, parsed. Raises InvalidInput."""
        return [_read(pod) for pod in self.stored(classes)]


def read_manifests(paths: Iterable[Path]) -> Manifests:
    """Read all files. Raises InvalidInput."""
    pods: list[Object] = []
    others: list[Object] = []
    for path in paths:
        _add(parse_objects(read_input(path), display_name(path)), display_name(path), pods, others)
    return Manifests(tuple(pods), tuple(others))


def manifests_of(objects: Iterable[Object], where: str) -> Manifests:
    """Convert these manifests. `where`: their source, for messages. Raises InvalidInput."""
    pods: list[Object] = []
    others: list[Object] = []
    _add(objects, where, pods, others)
    return Manifests(tuple(pods), tuple(others))


def _add(manifests: Iterable[Object], where: str, pods: list[Object], others: list[Object]) -> None:
    before = len(pods)
    for manifest in manifests:
        try:
            _expand(manifest, pods, others)
        except MalformedField as error:
            raise InvalidInput(f"{where}: {error}") from error
    if len(pods) == before:
        raise InvalidInput(f"{where} has no pods; give Pods or {', '.join(_WORKLOADS)}")


def _expand(manifest: Object, pods: list[Object], others: list[Object]) -> None:
    kind = manifest.get("kind")
    if kind == "Pod":
        pods.append(as_new_pod(manifest, len(pods) + 1))
    elif isinstance(kind, str) and kind in _WORKLOADS:
        pods += pods_of(manifest)
        others.append(_controller(manifest, kind))
    elif kind in _SUPPORTING:
        others.append(manifest)
    else:
        found = f"a {kind}" if kind else "a document without a kind"
        raise MalformedField(f"{found} has no pods to place; give Pods or {', '.join(_WORKLOADS)}")


def as_new_pod(manifest: Object, number: int) -> Object:
    """Convert a stored pod to a new pod, as if it was deleted and recreated: without node and status. Raises
    MalformedField."""
    metadata = dict(read_object(manifest.get("metadata"), "Pod.metadata"))
    spec = dict(read_object(manifest.get("spec"), "Pod.spec"))
    metadata.pop("deletionTimestamp", None)
    spec.pop("nodeName", None)
    metadata["namespace"] = metadata.get("namespace") or DEFAULT_NAMESPACE
    # The API server would append a random suffix.
    metadata["name"] = metadata.get("name") or f"{metadata.get('generateName') or 'pod-'}{number}"
    return {name: value for name, value in manifest.items() if name != "status"} | {"metadata": metadata, "spec": spec}


def _admit(manifest: Object, classes: PriorityClasses) -> Object:
    try:
        return admit(manifest, classes)
    except (MalformedField, AdmissionDenied) as error:
        raise InvalidInput(f"pod {_name(manifest)}: {error}") from error


def _read(stored: Object) -> Pod:
    read = read_pod(stored)
    if isinstance(read, UnreadableObject):
        raise InvalidInput(f"pod {_name(stored)}: {read.cause}")
    return read


def _name(manifest: Object) -> object:
    return read_object(manifest["metadata"], "Pod.metadata").get("name")


def pods_of(manifest: Object) -> Iterator[Object]:
    """Yield the pods of a workload, numbered. Real controllers use random suffixes, except for a StatefulSet.

    Raises MalformedField.
    """
    kind = str(manifest.get("kind"))
    metadata, spec = read_object(manifest.get("metadata"), f"{kind}.metadata"), read_object(manifest.get("spec"), kind)
    template = read_object(spec.get("template"), f"{kind}.spec.template")
    of_template = read_object(template.get("metadata"), f"{kind}.spec.template.metadata")
    controller = _controller(manifest, kind)
    owner = {
        "apiVersion": controller.get("apiVersion"),
        "kind": controller["kind"],
        "name": metadata.get("name"),
        "controller": True,
    }
    first = 0 if kind == "StatefulSet" else 1
    for number in range(first, first + _replicas(spec, kind)):
        # The whole template, so that fields that pods do not have cause a warning.
        yield {
            **template,
            "kind": "Pod",
            "metadata": {
                **of_template,
                "name": f"{metadata.get('name')}-{number}",
                "namespace": metadata.get("namespace") or DEFAULT_NAMESPACE,
                "ownerReferences": [owner],
            },
        }


def _replicas(spec: Object, kind: str) -> int:
    """Return the number of pods; for a Job, the number that run in parallel."""
    if kind != "Job":
        found = read_integer(spec.get("replicas"), f"{kind}.spec.replicas")
        return 1 if found is None else found
    parallelism = read_integer(spec.get("parallelism"), "Job.spec.parallelism")
    completions = read_integer(spec.get("completions"), "Job.spec.completions")
    running = 1 if parallelism is None else parallelism
    return running if completions is None else min(running, completions)


def _controller(manifest: Object, kind: str) -> Object:
    """Return the pods' controller. A Deployment's pods belong to a ReplicaSet, whose selector PodTopologySpread
    uses."""
    metadata = read_object(manifest.get("metadata"), f"{kind}.metadata")
    return {
        **manifest,
        "kind": "ReplicaSet" if kind == "Deployment" else kind,
        "metadata": {**metadata, "namespace": metadata.get("namespace") or DEFAULT_NAMESPACE},
    }
