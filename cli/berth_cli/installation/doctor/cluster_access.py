"""Access to the cluster's API server, as the user of a kubeconfig or, for an administrator, as another user."""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from berth.cluster.api_server.access import Server
from berth.cluster.api_server.client import APPLY, Answer, ApiServer, ApiServerUnreachable
from berth.cluster.kubernetes_cluster import NAMESPACE, WAKE_NAME, cluster_uid, user_info
from berth.nodecache.feed.cluster import ClusterUnavailable
from berth_cli.sources.server import Subject

WAKE_UP_PATH = f"/apis/storage.k8s.io/v1/namespaces/{NAMESPACE}/csistoragecapacities/{WAKE_NAME}"
FORBIDDEN, NOT_FOUND = 403, 404
MAX_PENDING_PODS = 500
_AUTHENTICATED_GROUP = "system:authenticated"
_SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"


@dataclass(frozen=True, slots=True)
class Permission:
    """An RBAC permission. group: empty for the core API group. subresource: empty for the resource itself. namespace,
    name: empty for all."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        resource = self.resource + (f"/{self.subresource}" if self.subresource else "")
        resource += f".{self.group}" if self.group else ""
        name = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{self.verb} {resource}{f' {name}' if name else ''}"


_WAKE_UP_PERMISSION = Permission("patch", "csistoragecapacities", "storage.k8s.io", namespace=NAMESPACE, name=WAKE_NAME)


class Unlisted(StrEnum):
    """The reasons why custom resources cannot be listed."""

    NOT_DEFINED = "the cluster does not define them"
    FORBIDDEN = "this user may not list them"


def parse_subject(text: str) -> Subject:
    """Parse `NAME[,GROUP…]`; add the groups that the API server adds to all users and all service accounts."""
    name, *groups = (part.strip() for part in text.split(","))
    if name.startswith(_SERVICE_ACCOUNT_PREFIX):
        namespace = name.removeprefix(_SERVICE_ACCOUNT_PREFIX).partition(":")[0]
        groups += ["system:serviceaccounts", f"system:serviceaccounts:{namespace}"]
    return Subject(name, tuple(dict.fromkeys([*groups, _AUTHENTICATED_GROUP])))


class ClusterAccess:
    """Reads a cluster and reviews permissions. Every method may raise ClusterUnavailable."""

    def __init__(self, api: ApiServer, timeout: float, subject: Subject | None = None) -> None:
        """Prepare the access. `subject`: the user whose permissions are reviewed, for which the caller needs the
        permission to create reviews. None: the caller."""
        self._api = api
        self._timeout = timeout
        self._subject = subject

    @classmethod
    def of(cls, server: Server, timeout: float) -> ClusterAccess:
        """Connect as the user of the server's credentials. Does not call the server yet."""
        return cls(ApiServer(server, time.monotonic), timeout)

    def reviewing(self, subject: Subject) -> ClusterAccess:
        """Return access to the same cluster that reviews the permissions of another user."""
        return ClusterAccess(self._api, self._timeout, subject)

    def as_user(self, subject: Subject) -> ClusterAccess:
        """Return access that reviews the permissions of this user; this object if it already does."""
        return self if subject.name == self.user() else self.reviewing(subject)

    def user(self) -> str:
        """Return the name of the subject if there is one, otherwise the user's name according to the API server."""
        if self._subject is not None:
            return self._subject.name
        return str(user_info(self._api, self._timeout).get("username", ""))

    def is_allowed(self, right: Permission) -> bool:
        """Return the result of an access review."""
        subject, kind = self._subject, "SelfSubjectAccessReview"
        spec: dict[str, object] = {}
        if subject is not None:
            kind, spec = "SubjectAccessReview", {"user": subject.name, "groups": list(subject.groups)}
        spec["resourceAttributes"] = {field: value for field, value in asdict(right).items() if value}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        path = f"/apis/authorization.k8s.io/v1/{kind.lower()}s"
        status = self._request_ok("POST", path, review).content.get("status")
        return isinstance(status, dict) and status.get("allowed") is True

    def uid(self) -> str:
        """Return the UID of the cluster."""
        return cluster_uid(self._api)

    def version(self) -> str:
        """Return the API server's version, such as v1.36.3."""
        return str(self._request_ok("GET", "/version").content.get("gitVersion", ""))

    def node_names(self) -> list[str]:
        """Return the names of all nodes."""
        items = self._request_ok("GET", "/api/v1/nodes").content.get("items")
        return [item["metadata"]["name"] for item in items] if isinstance(items, list) else []

    def pending_pods(self) -> list[dict[str, Any]]:
        """List the first MAX_PENDING_PODS pending pods."""
        query = {"fieldSelector": "spec.nodeName=,status.phase=Pending", "limit": str(MAX_PENDING_PODS)}
        items = self._request_ok("GET", "/api/v1/pods", query=query).content.get("items")
        return items if isinstance(items, list) else []

    def custom_resources(self, path: str) -> Sequence[Mapping[str, Any]] | Unlisted:
        """List custom resources, or return why the user cannot list them."""
        answer = self._request("GET", path)
        if answer.status in (FORBIDDEN, NOT_FOUND):
            return Unlisted.FORBIDDEN if answer.status == FORBIDDEN else Unlisted.NOT_DEFINED
        if not answer.ok:
            raise ClusterUnavailable(answer.message)
        items = answer.content.get("items")
        return items if isinstance(items, list) else []

    def try_wake_up(self) -> str:
        """Try the wake-up of the scheduling queue as a dry run. Return the error, or an empty string."""
        if self._subject is not None:
            # Only the subject itself can do the dry run. Check that the object exists and that the subject may patch
            # it.
            found = self._request("GET", WAKE_UP_PATH)
            if not found.ok:
                return found.message
            allowed = self.is_allowed(_WAKE_UP_PERMISSION)
            return "" if allowed else f"{self._subject.name} may not {_WAKE_UP_PERMISSION}"
        body = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSIStorageCapacity",
            "metadata": {"name": WAKE_NAME},
            "storageClassName": WAKE_NAME,
        }
        query = {"fieldManager": "berth", "force": "true", "dryRun": "All"}
        answer = self._request("PATCH", WAKE_UP_PATH, body, query, APPLY)
        return "" if answer.ok else answer.message

    def config_texts(self, namespace: str, name: str) -> dict[str, str]:
        """Return the data of the ConfigMap with this name, or else of the Secret; empty if neither exists."""
        for resource in ("configmaps", "secrets"):
            answer = self._request("GET", f"/api/v1/namespaces/{namespace}/{resource}/{name}")
            data = answer.content.get("data")
            if answer.ok and isinstance(data, dict):
                if resource == "configmaps":
                    return data
                return {key: b64decode(text).decode() for key, text in data.items()}
            if not answer.ok and answer.status != NOT_FOUND:
                raise ClusterUnavailable(answer.message)
        return {}

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
