"""Reads pods to place from manifests: Pods, and the pods that a workload's controller would create."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from berth.cluster.dump_objects import DEFAULT_NAMESPACE
from berth.scheduling.fields.reading import MalformedField, Object, read_integer, read_object, read_object_list
from berth.scheduling.objects import Pod, UnreadableObject, read_pod
from berth_cli.sources.dump.admission import AdmissionDenied, PriorityClasses, admit
from berth_cli.sources.dump.cluster import read_dump
from berth_cli.terminal.input_files import InvalidInput, display_name

# Workloads with a pod template and a number of pods. DaemonSets are excluded: they place one pod on each node.
_POD = "Pod"
_WORKLOADS = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "Job")
# Other kinds that affect placement; they are added to the cluster.
_SUPPORTING = ("Namespace", "PodDisruptionBudget", "PriorityClass", "Service")


@dataclass(frozen=True, slots=True)
class Manifests:
    """Converted manifests. `pods`: given and generated pods. `others`: objects that are added to the cluster.
    `left_out`: the number of other objects by kind."""

    pods: tuple[Object, ...] = ()
    others: tuple[Object, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def names(self) -> set[tuple[object, object]]:
        """Namespace and name of the manifests' pods. They replace pods of the cluster with the same names."""
        return set(map(_key, self.pods))

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if objects are left out."""
        text = f"left out of the manifests, because scheduling does not use them: {_counts(self.left_out)}"
        return (text,) if self.left_out else ()

    def stored(self, classes: PriorityClasses) -> list[Object]:
        """Return the pods as the API server would store them. Raises InvalidInput."""
        return [_admit(pod, classes) for pod in self.pods]

    def read(self, classes: PriorityClasses) -> list[Pod]:
        """Parse the pods as the API server would store them. Raises InvalidInput."""
        return [_read(pod) for pod in self.stored(classes)]


def read_manifests(paths: Iterable[Path]) -> Manifests:
    """Read all files. Raises InvalidInput."""
    return _convert((read_dump(path), display_name(path)) for path in paths)


def manifests_of(objects: Iterable[Object], where: str) -> Manifests:
    """Convert these manifests. `where`: their source, for messages. Raises InvalidInput."""
    return _convert([(objects, where)])


def _convert(sources: Iterable[tuple[Iterable[Object], str]]) -> Manifests:
    """Convert the manifests. sources: manifests with their file names. Of pods with the same name, the last is used."""
    pods: dict[object, Object] = {}
    others: list[Object] = []
    left_out: Counter[str] = Counter()
    for objects, where in sources:
        has_pods = False
        for manifest in objects:
            kind = str(manifest.get("kind") or "")
            try:
                for pod in _pods(manifest, kind, len(pods) + 1):
                    pods[_key(pod)] = pod
                    has_pods = True
                if kind in _WORKLOADS:
                    others.append(_controller(manifest, kind))
            except MalformedField as error:
                raise InvalidInput(f"{where}: {error}") from error
            if kind in _SUPPORTING:
                others.append(manifest)
            elif kind not in (_POD, *_WORKLOADS):
                left_out[kind or "document without a kind"] += 1
        if not has_pods:
            found = f", only {_counts(left_out)}" if left_out else ""
            raise InvalidInput(f"{where} has no pods{found}; give Pods or {', '.join(_WORKLOADS)}")
    return Manifests(tuple(pods.values()), tuple(others), left_out)


def _pods(manifest: Object, kind: str, number: int) -> Iterable[Object]:
    if kind == _POD:
        return [as_new_pod(manifest, number)]
    return pods_of(manifest) if kind in _WORKLOADS else ()


def _counts(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items())


def as_new_pod(manifest: Object, number: int) -> Object:
    """Convert a stored pod to a new pod, as if it was deleted and recreated: without a node or a status. Raises
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
    return _key(manifest)[1]


def _key(pod: Object) -> tuple[object, object]:
    metadata = read_object(pod["metadata"], "Pod.metadata")
    return metadata.get("namespace"), metadata.get("name")


def pods_of(manifest: Object) -> Iterator[Object]:
    """Yield the pods of a workload, numbered. Real controllers use random suffixes, except for a StatefulSet.

    Raises MalformedField.
    """
    kind = str(manifest.get("kind"))
    metadata, spec = read_object(manifest.get("metadata"), f"{kind}.metadata"), read_object(manifest.get("spec"), kind)
    template = dict(read_object(spec.get("template"), f"{kind}.spec.template"))
    of_template = read_object(template.get("metadata"), f"{kind}.spec.template.metadata")
    controller = _controller(manifest, kind)
    owner = {
        "apiVersion": controller.get("apiVersion"),
        "kind": controller["kind"],
        "name": metadata.get("name"),
        "controller": True,
    }
    if claims := read_object_list(spec.get("volumeClaimTemplates"), f"{kind}.spec.volumeClaimTemplates"):
        pod_spec = read_object(template.get("spec"), f"{kind}.spec.template.spec")
        volumes = read_object_list(pod_spec.get("volumes"), f"{kind}.spec.template.spec.volumes")
        template["spec"] = {**pod_spec, "volumes": [*volumes, *({"persistentVolumeClaim": {}} for _ in claims)]}
    first = 0 if kind == "StatefulSet" else 1
    for number in range(first, first + _replicas(spec, kind)):
        # Copy the whole template, so that fields that pods do not have cause a warning.
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
