"""A cluster in a dump file, watched and changed as through an API server, for tests and `berth serve`.

A watch reports all objects when the file changes, and each pod when it is bound.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from threading import Condition

from berth.cluster.dump_objects import MalformedDump, parse_objects, resource_of, select_objects
from berth.cluster.field_projection import ALL_ANNOTATIONS, RequiredFields, projections
from berth.cluster.watch.resources import PODS
from berth.nodecache.feed.cluster import (
    Cluster,
    ClusterUnavailable,
    ClusterWatch,
    Ended,
    Event,
    Interrupted,
    KubernetesObject,
    Listed,
    Modified,
    ResourceEvent,
)
from berth.nodecache.feed.head import Position
from berth.pods import (
    Binding,
    Created,
    FoundPod,
    PodBinder,
    PodChanged,
    PodNotFound,
    PodTouched,
    Refused,
    ReservedPods,
    Unanswered,
)
from berth.scheduling.fields.reading import part
from berth.scheduling.objects.pod import Pod, PodKey
from berth.scheduling.objects.pod_reading import read_pods

log = logging.getLogger("berth")

UID_PREFIX = "dump-"
"""The prefix of the UID of a dump's cluster."""

POLL_SECONDS = 0.2
"""The interval in seconds at which the file is read while a consumer waits for a change."""

ALL = RequiredFields(
    spreading=True,
    images=True,
    pod_annotations=ALL_ANNOTATIONS,
    node_annotations=ALL_ANNOTATIONS,
    gangs=True,
    floats=True,
    explanations=True,
    replacements=True,
)
"""The fields that any profile may read. A file is small, so all of them are kept."""

_PROJECTIONS = projections(ALL)
_NAMES = [resource.key for resource in _PROJECTIONS]


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of the file after a change. `modified` identifies the change. pods: by namespace and name."""

    modified: str
    objects: tuple[KubernetesObject, ...]
    pods: Mapping[tuple[str, str], KubernetesObject]


@dataclass(frozen=True, slots=True)
class DumpBinding:
    node: str
    annotations: Mapping[str, str]


class DumpCluster(Cluster, PodBinder):
    """Reads the file and binds its pods as an API server would. Thread-safe."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._contents: Contents | None = None
        self._changed = Condition()
        self._bound: dict[str, DumpBinding] = {}

    def uid(self) -> str:
        self.read()
        return f"{UID_PREFIX}{hashlib.sha256(str(self._path.resolve()).encode()).hexdigest()[:16]}"

    def watch(self, positions: Mapping[str, Position]) -> ClusterWatch:
        """Return a watch that lists everything first, because a file does not have a history."""
        return DumpWatch(self, self._clock)

    def read(self) -> tuple[Contents, Mapping[str, DumpBinding]]:
        """Return the file's current contents, and all bindings so far by the pod's UID, in the order of binding. Raises
        ClusterUnavailable."""
        with self._changed:
            return self._read_file(), dict(self._bound)

    def await_binding(self, known: int, seconds: float) -> None:
        """Wait until there are more than `known` bindings, or the time is over."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._bound) > known, seconds)

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        found = self.pod(binding.namespace, binding.pod_name, timeout)
        if not isinstance(found, FoundPod):
            return found
        if found.uid != binding.pod_uid:
            return Refused(
                HTTPStatus.CONFLICT,
                f"the UID in the precondition ({binding.pod_uid}) does not match the UID in record ({found.uid})",
            )
        with self._changed:
            # Another thread may have bound the pod after it was read.
            bound = self._bound.get(binding.pod_uid)
            node = found.node or (bound.node if bound else "")
            if node:
                return Refused(HTTPStatus.CONFLICT, f'pod {binding.pod_name} is already assigned to node "{node}"')
            self._bound[binding.pod_uid] = DumpBinding(binding.node, binding.annotations)
            self._changed.notify_all()
        return Created()

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        """Return the pod without a resourceVersion: no other client changes a pod in a dump."""
        try:
            with self._changed:
                pod = self._read_file().pods.get((namespace, pod_name))
                if pod is None:
                    return Refused(HTTPStatus.NOT_FOUND, f'pods "{pod_name}" not found')
                metadata, spec = part(pod, "metadata"), part(pod, "spec")
                uid = str(metadata.get("uid") or "")
                bound = self._bound.get(uid)
        except ClusterUnavailable as error:
            return Unanswered(str(error))
        node = str(spec.get("nodeName") or (bound.node if bound else ""))
        return FoundPod(uid, node, "", bool(metadata.get("deletionTimestamp")), pod)

    def _read_file(self) -> Contents:
        """Return the contents; the same object until the file changes. Raises ClusterUnavailable."""
        try:
            modified = str(self._path.stat().st_mtime_ns)
            if self._contents is None or self._contents.modified != modified:
                self._contents = _parse(self._path.read_bytes(), modified, self._path)
        except OSError as error:
            raise ClusterUnavailable(f"dump {self._path}: {error.strerror}") from error
        return self._contents


class DumpReservedPods(ReservedPods):
    """Pods of a dump, which are bound synchronously in this process. A Binding cannot arrive late, so a write to
    invalidate it is not needed."""

    def __init__(self, dump: DumpCluster) -> None:
        self._dump = dump

    def find(self, pod: PodKey) -> FoundPod | PodNotFound | Unanswered:
        found = self._dump.pod(pod.namespace, pod.name, 0)
        return PodNotFound() if isinstance(found, Refused) else found

    def list_pods(self, is_wanted: Callable[[Pod], bool]) -> tuple[PodKey, ...] | Unanswered:
        try:
            contents, _ = self._dump.read()
        except ClusterUnavailable as error:
            return Unanswered(str(error))
        pods, _ = read_pods(contents.pods.values())
        return tuple(PodKey(pod.namespace, pod.name, pod.uid) for pod in pods if not pod.finished and is_wanted(pod))

    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | Unanswered:
        return PodTouched()


class DumpWatch(ClusterWatch):
    """Watches a dump; for one thread. `observed_at` is the time of the last successful read of the file."""

    def __init__(self, dump: DumpCluster, clock: Callable[[], float]) -> None:
        super().__init__(_NAMES, {})
        self._dump = dump
        self._clock = clock
        self._last: tuple[Contents, int] | None = None
        """The contents and the number of bindings that the consumer knows."""
        self._last_error = ""
        self._stopped = False

    def take(self, timeout: float) -> Sequence[ResourceEvent]:
        left = timeout
        while not (received := self._read_changes()) and left > 0 and not self._stopped:
            nap = min(left, POLL_SECONDS)
            self._dump.await_binding(self._last[1] if self._last else 0, nap)
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
        before, self._last = self._last, (contents, len(bound))
        version = f"{contents.modified}.{len(bound)}"
        if before is None or before[0] is not contents or was_interrupted:
            return self._apply([(name, Listed(found, version)) for name, found in _listed_objects(contents, bound)], at)
        new = dict(list(bound.items())[before[1] :])
        pods = [(pod, on_its_node(pod, new)) for pod in (contents.pods.values() if new else ())]
        bound_now = [_PROJECTIONS[PODS](on_node) for pod, on_node in pods if on_node is not pod]
        received = self._apply([(PODS.name, Modified(pod, version)) for pod in bound_now], at)
        self._advance(ResourceEvent(name, at, Ended()) for name in _NAMES)
        return received

    def _interrupted(self, cause: str, at: float) -> list[ResourceEvent]:
        if cause == self._last_error:
            return []
        self._last_error = cause
        return self._apply([(name, Interrupted(cause, is_lasting=True)) for name in _NAMES], at)

    def _apply(self, events: Sequence[tuple[str, Event]], at: float) -> list[ResourceEvent]:
        events_at = [ResourceEvent(name, at, event) for name, event in events]
        self._advance(events_at)
        return events_at


def _listed_objects(
    contents: Contents, bound: Mapping[str, DumpBinding]
) -> list[tuple[str, tuple[KubernetesObject, ...]]]:
    found: dict[str, list[KubernetesObject]] = {name: [] for name in _NAMES}
    for item in contents.objects:
        if (resource := resource_of(item)) is not None:
            kept = on_its_node(item, bound) if resource is PODS else item
            found[resource.key].append(_PROJECTIONS[resource](kept))
    return [(name, tuple(objects)) for name, objects in found.items()]


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
