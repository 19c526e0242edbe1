"""The cluster as a port: what a user may do in it, and what it tells about itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Right:
    """A verb on a resource, as RBAC has it; empty names stand for all."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        what = self.resource + (f"/{self.subresource}" if self.subresource else "")
        what += f".{self.group}" if self.group else ""
        where = "/".join(part for part in (self.namespace, self.name) if part)
        return f"{self.verb} {what}{f' {where}' if where else ''}"


class ClusterAccess(ABC):
    """One user's. Every method may raise ClusterUnavailable."""

    @abstractmethod
    def user(self) -> str:
        """As whom the API server knows this user."""

    @abstractmethod
    def may(self, right: Right) -> bool:
        """What an access review says."""

    @abstractmethod
    def uid(self) -> str:
        """Of the cluster."""

    @abstractmethod
    def node_names(self) -> list[str]:
        """The names of all nodes."""

    @abstractmethod
    def touch(self) -> str:
        """Why the scheduler's queue cannot be woken, or nothing; where it can be tried, it is tried as a dry run."""

    @abstractmethod
    def texts(self, namespace: str, name: str) -> dict[str, str]:
        """What is in a ConfigMap of that name, or else in a Secret; empty where there is neither."""
