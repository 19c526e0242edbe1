"""The cluster through the API server of a kubeconfig."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass

from berth.cluster.api_server import APPLY, Answer, ApiServer, ApiServerUnreachable
from berth.cluster.cluster_identity import cluster_uid
from berth.cluster.kubernetes_queue import NAME, NAMESPACE
from berth.nodecache.cluster import ClusterUnavailable
from berth_cli.doctor.access.cluster import ClusterAccess, Right

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_WHO_AM_I = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
WAKE_OBJECT = f"/apis/storage.k8s.io/v1/namespaces/{NAMESPACE}/csistoragecapacities/{NAME}"
NOT_FOUND = 404


class KubernetesAccess(ClusterAccess):
    """May be shared between threads."""

    def __init__(self, api: ApiServer, timeout: float) -> None:
        self._api = api
        self._timeout = timeout

    def user(self) -> str:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        status = self._ok("POST", _WHO_AM_I, review).content.get("status")
        info = status.get("userInfo") if isinstance(status, dict) else None
        return str(info.get("username", "")) if isinstance(info, dict) else ""

    def may(self, right: Right) -> bool:
        return self._reviewed(_REVIEWS, "SelfSubjectAccessReview", {}, right)

    def _reviewed(self, path: str, kind: str, spec: Mapping[str, object], right: Right) -> bool:
        attributes = {
            "verb": right.verb,
            "group": right.group,
            "resource": right.resource,
            "subresource": right.subresource,
            "namespace": right.namespace,
            "name": right.name,
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": kind,
            "spec": {**spec, "resourceAttributes": {key: value for key, value in attributes.items() if value}},
        }
        status = self._ok("POST", path, review).content.get("status")
        return isinstance(status, dict) and status.get("allowed") is True

    def uid(self) -> str:
        return cluster_uid(self._api)

    def node_names(self) -> list[str]:
        items = self._ok("GET", "/api/v1/nodes").content.get("items")
        return [item["metadata"]["name"] for item in items] if isinstance(items, list) else []

    def touch(self) -> str:
        body = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIStorageCapacity",
            "metadata": {"name": NAME},
            "storageClassName": NAME,
        }
        query = {"fieldManager": "berth", "force": "true", "dryRun": "All"}
        answer = self._request("PATCH", WAKE_OBJECT, body, query, APPLY)
        return "" if answer.ok else answer.message

    def texts(self, namespace: str, name: str) -> dict[str, str]:
        for resource in ("configmaps", "secrets"):
            answer = self._request("GET", f"/api/v1/namespaces/{namespace}/{resource}/{name}")
            data = answer.content.get("data")
            if answer.ok and isinstance(data, dict):
                return (
                    data if resource == "configmaps" else {key: b64decode(text).decode() for key, text in data.items()}
                )
            if not answer.ok and answer.status != NOT_FOUND:
                raise ClusterUnavailable(answer.message)
        return {}

    def _ok(self, method: str, path: str, body: object = None) -> Answer:
        answer = self._request(method, path, body)
        if not answer.ok:
            raise ClusterUnavailable(answer.message)
        return answer

    def _request(
        self,
        method: str,
        path: str,
        body: object = None,
        query: dict[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Answer:
        try:
            return self._api.request(
                method, path, body=body, query=query, content_type=content_type, timeout=self._timeout
            )
        except ApiServerUnreachable as error:
            raise ClusterUnavailable(str(error)) from error


_SUBJECT_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_AUTHENTICATED = "system:authenticated"
_ACCOUNTS = "system:serviceaccount:"
_WAKE = Right("patch", "csistoragecapacities", "storage.k8s.io", namespace=NAMESPACE, name=NAME)


@dataclass(frozen=True, slots=True)
class Subject:
    """A user as RBAC knows it."""

    name: str
    groups: tuple[str, ...] = ()


def subject(text: str) -> Subject:
    """`NAME[,GROUP…]`; the groups that the API server gives everybody and every service account are added."""
    name, *groups = (part.strip() for part in text.split(","))
    if name.startswith(_ACCOUNTS):
        namespace = name.removeprefix(_ACCOUNTS).partition(":")[0]
        groups += ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return Subject(name, tuple(dict.fromkeys([*groups, _AUTHENTICATED])))


class SubjectAccess(KubernetesAccess):
    """Asks with SubjectAccessReviews, for which it needs the right itself. May be shared between threads."""

    def __init__(self, api: ApiServer, timeout: float, of: Subject) -> None:
        super().__init__(api, timeout)
        self._subject = of

    def user(self) -> str:
        return self._subject.name

    def may(self, right: Right) -> bool:
        spec = {"user": self._subject.name, "groups": list(self._subject.groups)}
        return self._reviewed(_SUBJECT_REVIEWS, "SubjectAccessReview", spec, right)

    def touch(self) -> str:
        """Not tried, which only the user itself could do: whether the object is there, and may be patched."""
        found = self._request("GET", WAKE_OBJECT)
        if not found.ok:
            return found.message
        return "" if self.may(_WAKE) else f"{self._subject.name} may not {_WAKE}"
