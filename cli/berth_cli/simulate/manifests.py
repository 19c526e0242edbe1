"""Pods to ask about: manifests of pods, and of what makes pods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from berth.scheduling.fields.reading import Malformed, Object, an_object, integer
from berth.scheduling.objects import Pod, Unreadable, read_pod
from berth_cli.simulate.admission import DEFAULT_NAMESPACE, PriorityClasses, Refused, admitted
from berth_cli.simulate.documents import BadInput, contents, named, objects

# What has a template and a number of pods. Those of a DaemonSet go one to a node: there is nothing to ask.
_WORKLOADS = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController", "Job")
# What placement reads besides pods: these join the objects of the cluster.
_SUPPORTING = ("Namespace", "PodDisruptionBudget", "PriorityClass", "Service")


@dataclass(frozen=True, slots=True)
class Manifests:
    """pods: with those that a controller would make. others: what joins the cluster with them."""

    pods: tuple[Object, ...] = ()
    others: tuple[Object, ...] = ()

    @property
    def names(self) -> set[tuple[object, object]]:
        """Namespace and name of the pods: the pods of the cluster whose place they take."""
        found = (an_object(pod["metadata"], "Pod.metadata") for pod in self.pods)
        return {(metadata.get("namespace"), metadata.get("name")) for metadata in found}

    def stored(self, classes: PriorityClasses) -> list[Object]:
        """The pods as the API server would have stored them. Raises BadInput."""
        return [_stored(pod, classes) for pod in self.pods]

    def read(self, classes: PriorityClasses) -> list[Pod]:
        """The same, read. Raises BadInput."""
        return [_read(pod) for pod in self.stored(classes)]


def read_manifests(paths: Iterable[Path]) -> Manifests:
    """Of all these files. Raises BadInput."""
    pods: list[Object] = []
    others: list[Object] = []
    for path in paths:
        before = len(pods)
        for manifest in objects(contents(path), named(path)):
            try:
                _expand(manifest, pods, others)
            except Malformed as error:
                raise BadInput(f"{named(path)}: {error}") from error
        if len(pods) == before:
            raise BadInput(f"{named(path)} has no pods")
    return Manifests(tuple(pods), tuple(others))


def _expand(manifest: Object, pods: list[Object], others: list[Object]) -> None:
    kind = manifest.get("kind")
    if kind == "Pod":
        pods.append(_anew(manifest, len(pods) + 1))
    elif isinstance(kind, str) and kind in _WORKLOADS:
        pods += _pods_of(manifest, kind)
        others.append(_controller(manifest, kind))
    elif kind in _SUPPORTING:
        others.append(manifest)
    else:
        found = f"a {kind}" if kind else "a document without a kind"
        raise Malformed(f"{found} has no pods to place; give Pods or {', '.join(_WORKLOADS)}")


def _anew(manifest: Object, number: int) -> Object:
    """A stored pod counts as deleted and created again: without its node and its status."""
    metadata = dict(an_object(manifest.get("metadata"), "Pod.metadata"))
    spec = dict(an_object(manifest.get("spec"), "Pod.spec"))
    metadata.pop("deletionTimestamp", None)
    spec.pop("nodeName", None)
    metadata["namespace"] = metadata.get("namespace") or DEFAULT_NAMESPACE
    # The API server makes up the end of a generated name.
    metadata["name"] = metadata.get("name") or f"{metadata.get('generateName') or 'pod-'}{number}"
    return {"kind": "Pod", "metadata": metadata, "spec": spec}


def _stored(manifest: Object, classes: PriorityClasses) -> Object:
    try:
        return admitted(manifest, classes)
    except (Malformed, Refused) as error:
        raise BadInput(f"pod {_name(manifest)}: {error}") from error


def _read(stored: Object) -> Pod:
    read = read_pod(stored)
    if isinstance(read, Unreadable):
        raise BadInput(f"pod {_name(stored)}: {read.cause}")
    return read


def _name(manifest: Object) -> object:
    return an_object(manifest["metadata"], "Pod.metadata").get("name")


def _pods_of(manifest: Object, kind: str) -> Iterator[Object]:
    """Named by number: a controller's names end at random, except for those of a StatefulSet."""
    metadata, spec = an_object(manifest.get("metadata"), f"{kind}.metadata"), an_object(manifest.get("spec"), kind)
    template = an_object(spec.get("template"), f"{kind}.spec.template")
    of_template = an_object(template.get("metadata"), f"{kind}.spec.template.metadata")
    controller = _controller(manifest, kind)
    owner = {
        "apiVersion": controller.get("apiVersion"),
        "kind": controller["kind"],
        "name": metadata.get("name"),
        "controller": True,
    }
    first = 0 if kind == "StatefulSet" else 1
    for number in range(first, first + _replicas(spec, kind)):
        yield {
            "kind": "Pod",
            "metadata": {
                "name": f"{metadata.get('name')}-{number}",
                "namespace": metadata.get("namespace") or DEFAULT_NAMESPACE,
                "labels": of_template.get("labels"),
                "annotations": of_template.get("annotations"),
                "ownerReferences": [owner],
            },
            "spec": template.get("spec"),
        }


def _replicas(spec: Object, kind: str) -> int:
    """Of a Job, those that run at once."""
    if kind != "Job":
        found = integer(spec.get("replicas"), f"{kind}.spec.replicas")
        return 1 if found is None else found
    parallelism = integer(spec.get("parallelism"), "Job.spec.parallelism")
    completions = integer(spec.get("completions"), "Job.spec.completions")
    running = 1 if parallelism is None else parallelism
    return running if completions is None else min(running, completions)


def _controller(manifest: Object, kind: str) -> Object:
    """Pods of a Deployment belong to its ReplicaSet, whose selector says what is spread."""
    metadata = an_object(manifest.get("metadata"), f"{kind}.metadata")
    return {
        **manifest,
        "kind": "ReplicaSet" if kind == "Deployment" else kind,
        "metadata": {**metadata, "namespace": metadata.get("namespace") or DEFAULT_NAMESPACE},
    }
