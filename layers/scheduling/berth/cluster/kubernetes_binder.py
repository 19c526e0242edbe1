"""Bindings through the Kubernetes API: `create` on pods/binding and `get` on pods."""

from __future__ import annotations

from berth.cluster.api_server import Answer, ApiServer, ApiServerUnreachable
from berth.extender.ports import Assignment, Binding, Created, PodBinder, Refused, Unanswered


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
                # The UID is a precondition: a pod created anew under the same name is not bound by mistake.
                "metadata": {"name": binding.pod_name, "namespace": binding.namespace, "uid": binding.pod_uid},
                "target": {"apiVersion": "v1", "kind": "Node", "name": binding.node},
            },
        )
        return Created() if isinstance(answer, Answer) else answer

    def assignment(self, namespace: str, pod_name: str, timeout: float) -> Assignment | Refused | Unanswered:
        answer = self._request("GET", _pod_path(namespace, pod_name), timeout)
        if not isinstance(answer, Answer):
            return answer
        metadata, spec = answer.content.get("metadata"), answer.content.get("spec")
        uid = metadata.get("uid") if isinstance(metadata, dict) else None
        if not isinstance(uid, str) or not isinstance(spec, dict):
            return Unanswered("the API server's answer is no Pod")
        return Assignment(uid, str(spec.get("nodeName") or ""))

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


def _pod_path(namespace: str, name: str) -> str:
    # Both have been checked against the grammar of names, which has no character that means something in a URL.
    return f"/api/v1/namespaces/{namespace}/pods/{name}"
