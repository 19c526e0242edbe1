"""A cluster in a dump file, watched and changed as through an API server, for tests and `berth serve`."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Condition

from berth.cluster.dump_watch import Contents, DumpBinding, DumpFile, DumpWatch
from berth.nodecache.feed.cluster import Cluster, ClusterUnavailable, ClusterWatch
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
from berth.scheduling.objects.pod import Pod, PodKey
from berth.scheduling.objects.pod_reading import read_pods
from berth.scheduling.objects.projection import part

NOT_FOUND = 404
CONFLICT = 409

UID_PREFIX = "dump-"
"""The prefix of the UID of a dump's cluster."""


class DumpCluster(Cluster, PodBinder):
    """Reads the file and binds its pods as an API server would. Thread-safe."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        """`clock`: seconds since the epoch."""
        self._path = path
        self._clock = clock
        self._file = DumpFile(path)
        self._changed = Condition()
        self._bound: dict[str, DumpBinding] = {}

    def uid(self) -> str:
        self.read()
        return f"{UID_PREFIX}{hashlib.sha256(str(self._path.resolve()).encode()).hexdigest()[:16]}"

    def watch(self, positions: Mapping[str, Position]) -> ClusterWatch:
        """Return a watch that lists everything first and ignores the positions, because a file does not have a
        history."""
        return DumpWatch(self, self._clock)

    def read(self) -> tuple[Contents, Mapping[str, DumpBinding]]:
        """Return the file's current contents, and all bindings so far by the pod's UID, in the order of binding.

        Raises ClusterUnavailable.
        """
        with self._changed:
            return self._file.read(), dict(self._bound)

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
                CONFLICT,
                f"the UID in the precondition ({binding.pod_uid}) does not match the UID in record ({found.uid})",
            )
        with self._changed:
            # Another thread may have bound the pod after it was read.
            bound = self._bound.get(binding.pod_uid)
            node = found.node or (bound.node if bound else "")
            if node:
                return Refused(CONFLICT, f'pod {binding.pod_name} is already assigned to node "{node}"')
            self._bound[binding.pod_uid] = DumpBinding(binding.node, binding.annotations)
            self._changed.notify_all()
        return Created()

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        """Return the pod without a resourceVersion: other programs do not change a pod of a file."""
        try:
            with self._changed:
                pod = self._file.read().pods.get((namespace, pod_name))
                if pod is None:
                    return Refused(NOT_FOUND, f'pods "{pod_name}" not found')
                metadata, spec = part(pod, "metadata"), part(pod, "spec")
                uid = str(metadata.get("uid") or "")
                bound = self._bound.get(uid)
        except ClusterUnavailable as error:
            return Unanswered(str(error))
        node = str(spec.get("nodeName") or (bound.node if bound else ""))
        return FoundPod(uid, node, "", bool(metadata.get("deletionTimestamp")), pod)


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
