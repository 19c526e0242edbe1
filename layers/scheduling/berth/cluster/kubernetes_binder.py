"""Bindings through the Kubernetes API: `create` on pods/binding and `get` on pods."""

from __future__ import annotations

from berth.cluster.api_server.client import Answer, ApiServer, ApiServerUnreachable
from berth.extender.ports import Assignment, Binding, Created, FoundPod, PodBinder, Refused, Unanswered


class KubernetesBinder(PodBinder):
    """Each method is one request. A server error (5xx) does not tell whether the write happened: Unanswered."""

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
    """UID and resourceVersion are preconditions: no pod is bound by mistake that was created anew under the same name,
    or touched since it was read. The annotations end up on the pod."""
    metadata: dict[str, object] = {"name": binding.pod_name, "namespace": binding.namespace, "uid": binding.pod_uid}
    if binding.resource_version:
        metadata["resourceVersion"] = binding.resource_version
    if binding.annotations:
        metadata["annotations"] = dict(binding.annotations)
    return metadata


def _pod_path(namespace: str, name: str) -> str:
    # Both have been checked against the grammar of names, which has no character that means something in a URL.
    return f"/api/v1/namespaces/{namespace}/pods/{name}"
