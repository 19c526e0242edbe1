"""Pods that something is reserved for, at the API server: `get`, `list` and `patch` on pods."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from berth.cluster.api_server.client import JSON_MERGE, Answer, ApiServer, ApiServerUnreachable
from berth.reservations.ledger.entry import PodKey
from berth.reservations.reconciler.reserved_pods import (
    PodChanged,
    PodFound,
    PodNotFound,
    PodTouched,
    PodUnknown,
    ReservedPods,
)
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod_reading import PodReader

ANNOTATION = "berth.dev/touched-at"
"""For its sake alone: a patch of the pod is what makes a Binding that was sent before fail."""

TIMEOUT_SECONDS = 2.0
PAGE_SIZE, PAGE_SECONDS = 500, 30.0
NOT_FOUND = 404
CONFLICT = 409
UNPROCESSABLE = 422
_FINISHED = ("Succeeded", "Failed")


class KubernetesReservedPods(ReservedPods):
    """Each method is one request; a list is one for each page."""

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
                # In a patch both are preconditions: 409 where the version is another, 422 where the UID is.
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
