"""The cluster as a port: a user's permissions and facts about the cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Permission:
    """An RBAC permission; an empty field matches all."""

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


@dataclass(frozen=True, slots=True)
class Subject:
    """A user as RBAC identifies it."""

    name: str
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UntriedPod:
    """A pending pod that no scheduler has tried: none has set its condition PodScheduled.

    `created_at`: seconds since the epoch.
    """

    namespace: str
    name: str
    scheduler_name: str
    created_at: float


class ClusterAccess(ABC):
    """The cluster as one user. Every method may raise ClusterUnavailable."""

    @abstractmethod
    def user(self) -> str:
        """User name according to the API server."""

    @abstractmethod
    def is_allowed(self, right: Permission) -> bool:
        """Result of an access review."""

    @abstractmethod
    def uid(self) -> str:
        """UID of the cluster."""

    @abstractmethod
    def version(self) -> str:
        """The API server's version, such as v1.36.3."""

    @abstractmethod
    def node_names(self) -> list[str]:
        """Names of all nodes."""

    @abstractmethod
    def untried_pods(self) -> list[UntriedPod]:
        """Of the first pending pods, without those whose scheduling gates hold them."""

    @abstractmethod
    def as_user(self, subject: Subject) -> ClusterAccess:
        """The same cluster as another user, by access reviews; itself if it is this user."""

    @abstractmethod
    def try_wake_up(self) -> str:
        """Try the wake-up of the scheduling queue as a dry run; return the error, or an empty string."""

    @abstractmethod
    def config_texts(self, namespace: str, name: str) -> dict[str, str]:
        """Data of the ConfigMap with this name, else of the Secret; empty if neither exists."""

    @abstractmethod
    def serves(self, group: str, resource: str) -> bool:
        """Whether the API server serves this resource in any version of the API group."""
