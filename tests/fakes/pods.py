"""Pods as an API server keeps them: one write at a time, a resourceVersion for each, Bindings with preconditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from types import MappingProxyType

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
from berth.scheduling.objects import Pod, read_pod
from berth.scheduling.objects.pod import PodKey

CHANGED = "the object has been modified; please apply your changes to the latest version and try again"


@dataclass(frozen=True, slots=True)
class StoredPod:
    uid: str
    requests: Mapping[str, str]
    resource_version: int
    node: str = ""
    annotations: Mapping[str, str] = field(default_factory=dict)
    deleting: bool = False
    priority: int | None = None
    phase: str = "Pending"
    labels: Mapping[str, str] = field(default_factory=dict)

    def content(self, namespace: str, name: str) -> dict[str, object]:
        metadata: dict[str, object] = {
            "namespace": namespace,
            "name": name,
            "uid": self.uid,
            "resourceVersion": str(self.resource_version),
            "annotations": dict(self.annotations),
            **({"labels": dict(self.labels)} if self.labels else {}),
        }
        if self.deleting:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        spec: dict[str, object] = {
            "schedulerName": "berth-scheduler",
            "nodeName": self.node,
            "containers": [{"name": "main", "resources": {"requests": dict(self.requests)}}],
        }
        if self.priority is not None:
            spec["priority"] = self.priority
        return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": self.phase}}


class PodsInMemory(PodBinder, ReservedPods):
    def __init__(self) -> None:
        self._lock = Lock()
        self._pods: dict[tuple[str, str], StoredPod] = {}
        self._version = 0
        self.refuse_bindings = 0
        """Number of the next Bindings that are forbidden."""

    def add(
        self,
        name: str,
        uid: str,
        requests: Mapping[str, str],
        namespace: str = "ml",
        *,
        annotations: Mapping[str, str] = MappingProxyType({}),
        labels: Mapping[str, str] = MappingProxyType({}),
        node: str = "",
        priority: int | None = None,
    ) -> None:
        """Add a pod, which replaces an earlier pod of its name. node: the creator's `spec.nodeName`; empty: pending."""
        with self._lock:
            self._pods[namespace, name] = StoredPod(
                uid, requests, self._next(), node, dict(annotations), priority=priority, labels=dict(labels)
            )

    def delete(self, name: str, namespace: str = "ml") -> None:
        with self._lock:
            self._pods.pop((namespace, name), None)

    def change(self, name: str, namespace: str = "ml", **changes: object) -> None:
        """Write a new version of the pod if it exists."""
        with self._lock:
            found = self._pods.get((namespace, name))
            if found is not None:
                self._pods[namespace, name] = replace(found, resource_version=self._next(), **changes)  # type: ignore[arg-type]

    def all(self) -> dict[tuple[str, str], StoredPod]:
        with self._lock:
            return dict(self._pods)

    def stored(self, name: str, namespace: str = "ml") -> StoredPod | None:
        with self._lock:
            return self._pods.get((namespace, name))

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        with self._lock:
            key = binding.namespace, binding.pod_name
            found = self._pods.get(key)
            if found is None:
                return Refused(404, f'pods "{binding.pod_name}" not found')
            if self.refuse_bindings:
                self.refuse_bindings -= 1
                return Refused(403, "no create on pods/binding")
            if found.uid != binding.pod_uid:
                return Refused(409, "Precondition failed: UID in precondition differs")
            if binding.resource_version and binding.resource_version != str(found.resource_version):
                return Refused(409, CHANGED)
            if found.deleting:
                return Refused(409, f"pod {binding.pod_name} is being deleted, cannot be assigned to a host")
            if found.node:
                return Refused(409, f'pod {binding.pod_name} is already assigned to node "{found.node}"')
            annotations = {**found.annotations, **binding.annotations}
            self._pods[key] = replace(found, node=binding.node, annotations=annotations, resource_version=self._next())
            return Created()

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        with self._lock:
            found = self._pods.get((namespace, pod_name))
        if found is None:
            return Refused(404, f'pods "{pod_name}" not found')
        return FoundPod(
            found.uid, found.node, str(found.resource_version), found.deleting, found.content(namespace, pod_name)
        )

    def find(self, pod: PodKey) -> FoundPod | PodNotFound | Unanswered:
        found = self.pod(pod.namespace, pod.name, 0.0)
        return PodNotFound() if isinstance(found, Refused) else found

    def list_pods(self, is_wanted: Callable[[Pod], bool]) -> tuple[PodKey, ...] | Unanswered:
        found = [read_pod(stored.content(*key)) for key, stored in self.all().items()]
        pods = [pod for pod in found if isinstance(pod, Pod) and not pod.finished and is_wanted(pod)]
        return tuple(PodKey(pod.namespace, pod.name, pod.uid) for pod in pods)

    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | Unanswered:
        with self._lock:
            found = self._pods.get((pod.namespace, pod.name))
            if found is None:
                return PodNotFound()
            if found.uid != pod.uid or str(found.resource_version) != resource_version:
                return PodChanged()
            self._pods[pod.namespace, pod.name] = replace(found, resource_version=self._next())
            return PodTouched()

    def _next(self) -> int:
        self._version += 1
        return self._version
