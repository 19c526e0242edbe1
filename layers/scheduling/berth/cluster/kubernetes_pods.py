"""Pods in the Kubernetes API. Needs `create` on pods/binding, and `get`, `list` and `patch` on pods."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus

from berth.cluster.api_server.client import JSON_MERGE, PRECONDITION_FAILED, Answer, ApiServer, ApiServerUnreachable
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
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodKey
from berth.scheduling.objects.pod_reading import PodReader


class KubernetesBinder(PodBinder):
    """Reads and binds pods with one request per method. Returns Unanswered for a server error (5xx): the write may have
    happened."""

    def __init__(self, api: ApiServer) -> None:
        self._api = api

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        answer = self._request(
            "POST",
            f"{_pod_path(binding.namespace, binding.pod_name)}/binding",
            timeout,
            {
                "apiVersion": "v1",
                "kind": "Binding",
                "metadata": _metadata(binding),
                "target": {"apiVersion": "v1", "kind": "Node", "name": binding.node},
            },
        )
        return Created() if isinstance(answer, Answer) else answer

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        answer = self._request("GET", _pod_path(namespace, pod_name), timeout)
        return _found(answer) if isinstance(answer, Answer) else answer

    def _request(self, method: str, path: str, timeout: float, body: object = None) -> Answer | Refused | Unanswered:
        try:
            answer = self._api.request(method, path, timeout=timeout, body=body)
        except ApiServerUnreachable as error:
            return Unanswered(str(error))
        if answer.ok:
            return answer
        if answer.status >= 500:
            return Unanswered(answer.message)
        return Refused(answer.status, answer.message)


def _found(answer: Answer) -> FoundPod | Unanswered:
    metadata, spec = part(answer.content, "metadata"), answer.content.get("spec")
    uid, version = metadata.get("uid"), metadata.get("resourceVersion") or ""
    if not isinstance(uid, str) or not isinstance(spec, dict):
        return Unanswered("the API server's answer is no Pod")
    is_terminating = bool(metadata.get("deletionTimestamp"))
    return FoundPod(uid, str(spec.get("nodeName") or ""), str(version), is_terminating, answer.content)


def _metadata(binding: Binding) -> dict[str, object]:
    """Return the Binding's metadata: UID and resourceVersion as preconditions, so that a pod is not bound if it was
    recreated under the same name or changed after it was read; and annotations that the API server sets on the pod."""
    metadata: dict[str, object] = {"name": binding.pod_name, "namespace": binding.namespace, "uid": binding.pod_uid}
    if binding.resource_version:
        metadata["resourceVersion"] = binding.resource_version
    if binding.annotations:
        metadata["annotations"] = dict(binding.annotations)
    return metadata


def _pod_path(namespace: str, name: str) -> str:
    # Both names were validated, so they do not contain characters with a special meaning in a URL.
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


ANNOTATION = "berth.dev/touched-at"
"""The annotation that a touch sets. Its value is not used: the patch itself makes earlier Bindings fail."""

TIMEOUT_SECONDS = 2.0
PAGE_SIZE, PAGE_SECONDS = 500, 30.0


class KubernetesReservedPods(ReservedPods):
    """Reads and touches pods with one request per method, and one per page of a list."""

    def __init__(self, api: ApiServer, clock: Callable[[], float]) -> None:
        self._api = api
        self._clock = clock

    def find(self, pod: PodKey) -> FoundPod | PodNotFound | Unanswered:
        # A request without resourceVersion is a consistent read.
        answer = self._request("GET", pod)
        if isinstance(answer, Unanswered):
            return answer
        if answer.status == HTTPStatus.NOT_FOUND:
            return PodNotFound()
        if not answer.ok:
            return Unanswered(f"{answer.message}; give the watcher's user the verb get on pods")
        found = _found(answer)
        if isinstance(found, FoundPod) and not found.resource_version:
            # A touch without UID or resourceVersion would not have a precondition.
            return Unanswered("the API server's answer is no Pod")
        return found

    def list_pods(self, is_wanted: Callable[[Pod], bool]) -> tuple[PodKey, ...] | Unanswered:
        # Without resourceVersion the first page is a consistent read; the other pages have the same resourceVersion.
        found: list[PodKey] = []
        reader, query = PodReader(), {"limit": str(PAGE_SIZE)}
        while True:
            try:
                answer = self._api.request("GET", "/api/v1/pods", timeout=PAGE_SECONDS, query=query)
            except ApiServerUnreachable as error:
                return Unanswered(str(error))
            items, metadata = answer.content.get("items"), answer.content.get("metadata")
            if not answer.ok or not isinstance(items, list) or not isinstance(metadata, dict):
                return Unanswered(f"{answer.message}; give the watcher's user the verb list on pods")
            pods = (each for each in map(reader.read, items) if isinstance(each, Pod))
            found += [PodKey(pod.namespace, pod.name, pod.uid) for pod in pods if not pod.finished and is_wanted(pod)]
            if not metadata.get("continue"):
                return tuple(found)
            query["continue"] = str(metadata["continue"])

    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | Unanswered:
        at = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")
        preconditions = {"uid": pod.uid, "resourceVersion": resource_version}
        answer = self._request("PATCH", pod, {"metadata": {**preconditions, "annotations": {ANNOTATION: at}}})
        if isinstance(answer, Unanswered):
            return answer
        if answer.ok:
            return PodTouched()
        if answer.status == HTTPStatus.NOT_FOUND:
            return PodNotFound()
        if answer.status in PRECONDITION_FAILED:
            return PodChanged()
        return Unanswered(f"{answer.message}; give the watcher's user the verb patch on pods")

    def _request(self, method: str, pod: PodKey, body: object = None) -> Answer | Unanswered:
        path = _pod_path(pod.namespace, pod.name)
        try:
            return self._api.request(method, path, timeout=TIMEOUT_SECONDS, body=body, content_type=JSON_MERGE)
        except ApiServerUnreachable as error:
            return Unanswered(str(error))
