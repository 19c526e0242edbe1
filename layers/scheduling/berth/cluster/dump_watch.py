"""A watch of a dump file: all objects when the file changes, each pod when it is bound."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from berth.cluster.dump_objects import MalformedDump, parse_objects, select_objects
from berth.cluster.field_projection import ALL_ANNOTATIONS, RequiredFields, projections, resources
from berth.cluster.watch.resources import (
    GANG_RESOURCES,
    KINDS,
    PODS,
    Resource,
)
from berth.nodecache.feed.cluster import (
    ClusterUnavailable,
    ClusterWatch,
    Ended,
    Event,
    Interrupted,
    KubernetesObject,
    Listed,
    Modified,
    Progress,
    ResourceEvent,
)

log = logging.getLogger("berth")


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of the file after its last change.

    modified: identifies the change. objects: those that scheduling uses. pods: by namespace and name.
    """

    modified: str
    objects: tuple[KubernetesObject, ...]
    pods: Mapping[tuple[str, str], KubernetesObject]


class DumpFile:
    """Reads a dump; for one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._contents: Contents | None = None

    def read(self) -> Contents:
        """Return the contents; the same object until the file changes. Raises ClusterUnavailable."""
        try:
            modified = str(self._path.stat().st_mtime_ns)
            if self._contents is None or self._contents.modified != modified:
                self._contents = _parse(self._path.read_bytes(), modified, self._path)
        except OSError as error:
            raise ClusterUnavailable(f"dump {self._path}: {error.strerror}") from error
        return self._contents


def _parse(text: bytes, modified: str, path: Path) -> Contents:
    try:
        objects, left_out = select_objects(parse_objects(text))
    except MalformedDump as error:
        raise ClusterUnavailable(f"dump {path} {error}") from error
    counts = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
    if not objects:
        found = f"only {counts}" if counts else "no objects"
        raise ClusterUnavailable(f"dump {path} has {found}; make one with `kubectl get nodes,pods -A -o yaml`")
    if counts:
        log.warning("dump %s: left out are %s", path, counts)
    return Contents(modified, tuple(objects), _pods(objects))


def _pods(objects: Iterable[KubernetesObject]) -> dict[tuple[str, str], KubernetesObject]:
    found = {}
    for item in objects:
        metadata = item.get("metadata")
        if item.get("kind") == "Pod" and isinstance(metadata, dict):
            found[str(metadata["namespace"]), str(metadata.get("name") or "")] = item
    return found


POLL_SECONDS = 0.2
"""The interval at which the file is read while a consumer waits for a change."""

ALL = RequiredFields(
    spreading=True, images=True, pod_annotations=ALL_ANNOTATIONS, node_annotations=ALL_ANNOTATIONS, gangs=True
)
"""A file is small, so all fields that any profile reads are kept."""

_RESOURCES = {kind: resource for resource, kind in KINDS.items()}
_PROJECTIONS = projections(ALL)
_NAMES = [resource.key for resource in resources(ALL)]


@dataclass(frozen=True, slots=True)
class DumpBinding:
    """The node and the annotations that a Binding gave to a pod."""

    node: str
    annotations: Mapping[str, str]


class Dump(Protocol):
    """The watched file and its bindings."""

    def read(self) -> tuple[Contents, Mapping[str, DumpBinding]]:
        """Return the contents of the file, and the bindings so far. Raises ClusterUnavailable."""

    def await_binding(self, known: int, seconds: float) -> None:
        """Wait until there are more than `known` bindings, or the time is over."""


@dataclass(frozen=True, slots=True)
class _DumpVersion:
    """The version of the dump that the consumer knows."""

    contents: Contents
    bindings: int

    @property
    def version(self) -> str:
        return f"{self.contents.modified}.{self.bindings}"


class DumpWatch(ClusterWatch):
    """Watches a dump; for one thread. `observed_at` is the last successful read of the file."""

    def __init__(self, dump: Dump, clock: Callable[[], float]) -> None:
        super().__init__(Progress(_NAMES, {}))
        self._dump = dump
        self._clock = clock
        self._last_version: _DumpVersion | None = None
        self._last_error = ""
        self._stopped = False

    def take(self, timeout: float) -> Sequence[ResourceEvent]:
        left = timeout
        while not (received := self._read_changes()) and left > 0 and not self._stopped:
            nap = min(left, POLL_SECONDS)
            self._dump.await_binding(self._last_version.bindings if self._last_version else 0, nap)
            left -= nap
        return received

    def stop(self) -> None:
        self._stopped = True

    def _read_changes(self) -> list[ResourceEvent]:
        at = self._clock()
        try:
            contents, bound = self._dump.read()
        except ClusterUnavailable as error:
            return self._interrupted(str(error), at)
        was_interrupted, self._last_error = bool(self._last_error), ""
        before, now = self._last_version, _DumpVersion(contents, len(bound))
        self._last_version = now
        if before is None or before.contents is not contents or was_interrupted:
            return self._apply(
                [(name, Listed(found, now.version)) for name, found in _listed_objects(contents, bound)], at
            )
        new = dict(list(bound.items())[before.bindings :])
        received = self._apply(
            [(PODS.name, Modified(_PROJECTIONS[PODS](pod), now.version)) for pod in _bound_pods(contents, new)], at
        )
        for name in _NAMES:
            self._progress.advance(ResourceEvent(name, at, Ended()))
        return received

    def _interrupted(self, cause: str, at: float) -> list[ResourceEvent]:
        """Report a failure once, not with every read."""
        if cause == self._last_error:
            return []
        self._last_error = cause
        return self._apply([(name, Interrupted(cause, is_lasting=True)) for name in _NAMES], at)

    def _apply(self, events: Sequence[tuple[str, Event]], at: float) -> list[ResourceEvent]:
        events_at = [ResourceEvent(name, at, event) for name, event in events]
        for received in events_at:
            self._progress.advance(received)
        return events_at


def _listed_objects(
    contents: Contents, bound: Mapping[str, DumpBinding]
) -> list[tuple[str, tuple[KubernetesObject, ...]]]:
    found: dict[str, list[KubernetesObject]] = {name: [] for name in _NAMES}
    for item in contents.objects:
        resource = _resource_of(item)
        if resource is not None:
            kept = on_its_node(item, bound) if resource is PODS else item
            found[resource.key].append(_PROJECTIONS[resource](kept))
    return [(name, tuple(objects)) for name, objects in found.items()]


def _resource_of(item: KubernetesObject) -> Resource | None:
    kind = str(item.get("kind"))
    if kind != "PodGroup":
        return _RESOURCES.get(kind)
    group = str(item.get("apiVersion")).partition("/")[0]
    return next((each for each in GANG_RESOURCES if each.group == group), None)


def _bound_pods(contents: Contents, bound: Mapping[str, DumpBinding]) -> list[KubernetesObject]:
    if not bound:
        return []
    pods = [item for item in contents.objects if item.get("kind") == "Pod"]
    return [on_node for pod in pods if (on_node := on_its_node(pod, bound)) is not pod]


def on_its_node(pod: KubernetesObject, bound: Mapping[str, DumpBinding]) -> KubernetesObject:
    """Return the pod with the node and annotations of its Binding; without a Binding, the same object."""
    metadata, spec = pod.get("metadata"), pod.get("spec")
    placed = bound.get(str(metadata.get("uid"))) if isinstance(metadata, dict) else None
    if placed is None or not isinstance(metadata, dict) or not isinstance(spec, dict | None):
        return pod
    found = pod | {"spec": (spec or {}) | {"nodeName": (spec or {}).get("nodeName") or placed.node}}
    if placed.annotations:
        had = metadata.get("annotations")
        annotations = (had if isinstance(had, dict) else {}) | dict(placed.annotations)
        found["metadata"] = metadata | {"annotations": annotations}
    return found
