"""The cluster as an administrator knows it for another user, whose credentials are not here."""

from __future__ import annotations

from dataclasses import dataclass

from berth.cluster.api_server import ApiServer
from berth.cluster.kubernetes_queue import NAME, NAMESPACE
from berth_cli.doctor.access.cluster import Right
from berth_cli.doctor.access.kubernetes_cluster import WAKE_OBJECT, KubernetesAccess

_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
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
        return self._reviewed(_REVIEWS, "SubjectAccessReview", spec, right)

    def touch(self) -> str:
        """Not tried, which only the user itself could do: whether the object is there, and may be patched."""
        found = self._request("GET", WAKE_OBJECT)
        if not found.ok:
            return found.message
        return "" if self.may(_WAKE) else f"{self._subject.name} may not {_WAKE}"
