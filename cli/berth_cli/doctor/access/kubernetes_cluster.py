"""The cluster through an API server, as the user of a kubeconfig or, for an administrator, as another user."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from berth.cluster.api_server.client import APPLY, Answer, ApiServer, ApiServerUnreachable
from berth.cluster.kubernetes_cluster import cluster_uid, user_info
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth.scheduling_queue.kubernetes_queue import NAME, NAMESPACE
from berth_cli.doctor.access.cluster import ClusterAccess, Permission, Subject, UntriedPod

_REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
WAKE_UP_PATH = f"/apis/storage.k8s.io/v1/namespaces/{NAMESPACE}/csistoragecapacities/{NAME}"
NOT_FOUND = 404
MAX_PENDING_PODS = 500


class KubernetesAccess(ClusterAccess):
    """May be shared between threads."""

    def __init__(self, api: ApiServer, timeout: float) -> None:
        self._api = api
        self._timeout = timeout

    def user(self) -> str:
        return str(user_info(self._api, self._timeout).get("username", ""))

    def is_allowed(self, right: Permission) -> bool:
        return self._is_allowed_by(_REVIEWS, "SelfSubjectAccessReview", {}, right)

    def _is_allowed_by(self, path: str, kind: str, spec: Mapping[str, object], right: Permission) -> bool:
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
        status = self._request_ok("POST", path, review).content.get("status")
        return isinstance(status, dict) and status.get("allowed") is True

    def uid(self) -> str:
        return cluster_uid(self._api)

    def version(self) -> str:
        return str(self._request_ok("GET", "/version").content.get("gitVersion", ""))

    def node_names(self) -> list[str]:
        items = self._request_ok("GET", "/api/v1/nodes").content.get("items")
        return [item["metadata"]["name"] for item in items] if isinstance(items, list) else []

    def untried_pods(self) -> list[UntriedPod]:
        query = {"fieldSelector": "spec.nodeName=,status.phase=Pending", "limit": str(MAX_PENDING_PODS)}
        items = self._request_ok("GET", "/api/v1/pods", query=query).content.get("items")
        return [_untried_pod(item) for item in items if _is_untried(item)] if isinstance(items, list) else []

    def as_user(self, subject: Subject) -> ClusterAccess:
        return self if subject.name == self.user() else SubjectAccess(self._api, self._timeout, subject)

    def try_wake_up(self) -> str:
        body = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIStorageCapacity",
            "metadata": {"name": NAME},
            "storageClassName": NAME,
        }
        query = {"fieldManager": "berth", "force": "true", "dryRun": "All"}
        answer = self._request("PATCH", WAKE_UP_PATH, body, query, APPLY)
        return "" if answer.ok else answer.message

    def config_texts(self, namespace: str, name: str) -> dict[str, str]:
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

    def serves(self, group: str, resource: str) -> bool:
        versions = self._request_ok("GET", f"/apis/{group}").content.get("versions")
        for version in versions if isinstance(versions, list) else ():
            resources = self._request_ok("GET", f"/apis/{version['groupVersion']}").content.get("resources")
            if isinstance(resources, list) and any(each["name"] == resource for each in resources):
                return True
        return False

    def _request_ok(self, method: str, path: str, body: object = None, query: dict[str, str] | None = None) -> Answer:
        answer = self._request(method, path, body, query)
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


def _is_untried(pod: Mapping[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return not pod["spec"].get("schedulingGates") and all(each["type"] != "PodScheduled" for each in conditions)


def _untried_pod(pod: Mapping[str, Any]) -> UntriedPod:
    metadata, scheduler_name = pod["metadata"], pod["spec"]["schedulerName"]
    created_at = datetime.fromisoformat(metadata["creationTimestamp"]).timestamp()
    return UntriedPod(metadata["namespace"], metadata["name"], scheduler_name, created_at)


_SUBJECT_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
_AUTHENTICATED_GROUP = "system:authenticated"
_SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
_WAKE_UP_PERMISSION = Permission("patch", "csistoragecapacities", "storage.k8s.io", namespace=NAMESPACE, name=NAME)


def parse_subject(text: str) -> Subject:
    """Parse `NAME[,GROUP…]`; add the groups that the API server gives every user and every service account."""
    name, *groups = (part.strip() for part in text.split(","))
    if name.startswith(_SERVICE_ACCOUNT_PREFIX):
        namespace = name.removeprefix(_SERVICE_ACCOUNT_PREFIX).partition(":")[0]
        groups += ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return Subject(name, tuple(dict.fromkeys([*groups, _AUTHENTICATED_GROUP])))


class SubjectAccess(KubernetesAccess):
    """Permissions of another user by SubjectAccessReview; the caller needs the permission to create these reviews.

    May be shared between threads.
    """

    def __init__(self, api: ApiServer, timeout: float, subject: Subject) -> None:
        super().__init__(api, timeout)
        self._subject = subject

    def user(self) -> str:
        return self._subject.name

    def is_allowed(self, right: Permission) -> bool:
        spec = {"user": self._subject.name, "groups": list(self._subject.groups)}
        return self._is_allowed_by(_SUBJECT_REVIEWS, "SubjectAccessReview", spec, right)

    def try_wake_up(self) -> str:
        """Only the user itself can try the wake-up. Check that the object exists and that the user may patch it."""
        found = self._request("GET", WAKE_UP_PATH)
        if not found.ok:
            return found.message
        return "" if self.is_allowed(_WAKE_UP_PERMISSION) else f"{self._subject.name} may not {_WAKE_UP_PERMISSION}"
