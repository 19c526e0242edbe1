"""Pods through the Kubernetes API: `create` on pods/binding; `get`, `list` and `patch` on pods."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from berth.cluster.api_server.client import JSON_MERGE, Answer, ApiServer, ApiServerUnreachable
from berth.pods import (
    Assignment,
    Binding,
    Created,
    FoundPod,
    PodBinder,
    PodChanged,
    PodFound,
    PodNotFound,
    PodTouched,
    PodUnknown,
    Refused,
    ReservedPods,
    Unanswered,
)
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodKey
from berth.scheduling.objects.pod_reading import PodReader


class KubernetesBinder(PodBinder):
    """Makes one request per method. After a server error (5xx) it is unknown if the write happened: Unanswered."""

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

    def assignment(self, namespace: str, pod_name: str, timeout: float) -> Assignment | Refused | Unanswered:
        found = self.pod(namespace, pod_name, timeout)
        return found.assignment if isinstance(found, FoundPod) else found

    def pod(self, namespace: str, pod_name: str, timeout: float) -> FoundPod | Refused | Unanswered:
        answer = self._request("GET", _pod_path(namespace, pod_name), timeout)
        if not isinstance(answer, Answer):
            return answer
        metadata, spec = answer.content.get("metadata"), answer.content.get("spec")
        if not isinstance(metadata, dict) or not isinstance(spec, dict) or not isinstance(metadata.get("uid"), str):
            return Unanswered("the API server's answer is no Pod")
        return FoundPod(
            Assignment(metadata["uid"], str(spec.get("nodeName") or "")),
            str(metadata.get("resourceVersion") or ""),
            bool(metadata.get("deletionTimestamp")),
            answer.content,
        )

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


def _metadata(binding: Binding) -> dict[str, object]:
    """Return UID and resourceVersion as preconditions, so that a pod is not bound by mistake if it was created anew
    under the same name, or touched since it was read; and annotations, which end up on the pod."""
    metadata: dict[str, object] = {"name": binding.pod_name, "namespace": binding.namespace, "uid": binding.pod_uid}
    if binding.resource_version:
        metadata["resourceVersion"] = binding.resource_version
    if binding.annotations:
        metadata["annotations"] = dict(binding.annotations)
    return metadata


def _pod_path(namespace: str, name: str) -> str:
    # Both have been checked against the grammar of names, which excludes characters with a meaning in a URL.
    return f"/api/v1/namespaces/{namespace}/pods/{name}"


ANNOTATION = "berth.dev/touched-at"
"""The annotation is not read: the patch of the pod makes a Binding fail that was sent before."""

TIMEOUT_SECONDS = 2.0
PAGE_SIZE, PAGE_SECONDS = 500, 30.0
NOT_FOUND = 404
CONFLICT = 409
UNPROCESSABLE = 422
_FINISHED = ("Succeeded", "Failed")


class KubernetesReservedPods(ReservedPods):
    """Makes one request per method, and one per page of a list."""

    def __init__(self, api: ApiServer, clock: Callable[[], float]) -> None:
        """clock: seconds since the epoch."""
        self._api = api
        self._clock = clock

    def find(self, pod: PodKey) -> PodFound | PodNotFound | PodUnknown:
        # Without resourceVersion it is a consistent read.
        answer = self._request("GET", pod)
        if isinstance(answer, PodUnknown):
            return answer
        if answer.status == NOT_FOUND:
            return PodNotFound()
        if not answer.ok:
            return PodUnknown(f"{answer.message}; give the watcher's user the verb get on pods")
        metadata, spec, status = (answer.content.get(part) for part in ("metadata", "spec", "status"))
        if not isinstance(metadata, dict) or not isinstance(spec, dict):
            return PodUnknown("the API server's answer is no Pod")
        uid, version = metadata.get("uid"), metadata.get("resourceVersion")
        if not isinstance(uid, str) or not isinstance(version, str):
            return PodUnknown("the API server's answer is no Pod")
        phase = status.get("phase") if isinstance(status, dict) else None
        deleting = bool(metadata.get("deletionTimestamp"))
        return PodFound(uid, str(spec.get("nodeName") or ""), version, phase in _FINISHED, deleting)

    def list_pods(self, is_wanted: Callable[[Pod], bool]) -> tuple[PodKey, ...] | PodUnknown:
        # Without resourceVersion the first page is a consistent read; the others are of the same moment.
        found: list[PodKey] = []
        reader, query = PodReader(), {"limit": str(PAGE_SIZE)}
        while True:
            try:
                answer = self._api.request("GET", "/api/v1/pods", timeout=PAGE_SECONDS, query=query)
            except ApiServerUnreachable as error:
                return PodUnknown(str(error))
            items, metadata = answer.content.get("items"), answer.content.get("metadata")
            if not answer.ok or not isinstance(items, list) or not isinstance(metadata, dict):
                return PodUnknown(f"{answer.message}; give the watcher's user the verb list on pods")
            pods = (each for each in map(reader.read, items) if isinstance(each, Pod))
            found += [PodKey(pod.namespace, pod.name, pod.uid) for pod in pods if not pod.finished and is_wanted(pod)]
            if not metadata.get("continue"):
                return tuple(found)
            query["continue"] = str(metadata["continue"])

    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | PodUnknown:
        at = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")
        answer = self._request(
            "PATCH",
            pod,
            {
                # In a patch both are preconditions: 409 if the version differs, 422 if the UID does.
                "metadata": {
                    "uid": pod.uid,
                    "resourceVersion": resource_version,
                    "annotations": {ANNOTATION: at},
                }
            },
        )
        if isinstance(answer, PodUnknown):
            return answer
        if answer.ok:
            return PodTouched()
        if answer.status == NOT_FOUND:
            return PodNotFound()
        if answer.status in (CONFLICT, UNPROCESSABLE):
            return PodChanged()
        return PodUnknown(f"{answer.message}; give the watcher's user the verb patch on pods")

    def _request(self, method: str, pod: PodKey, body: object = None) -> Answer | PodUnknown:
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}"
        try:
            return self._api.request(method, path, timeout=TIMEOUT_SECONDS, body=body, content_type=JSON_MERGE)
        except ApiServerUnreachable as error:
            return PodUnknown(str(error))
