"""The port to one resource of an API server: a list, and what changes after it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from berth.nodecache.feed.cluster import ClusterUnavailable, Listed, WatchEvent


class ResourceExpired(Exception):
    """The resourceVersion cannot be continued from; list again."""


class ResourceNotServed(ClusterUnavailable):
    """The server does not serve the resource, or not to this user: without the right nobody learns which."""


class WatchRefused(Exception):
    """The server answered a watch with an error which it may repeat for ever at this resourceVersion."""


class ListerWatcher(ABC):
    """Every method may raise ClusterUnavailable; its message has cause and remedy."""

    @property
    @abstractmethod
    def resource(self) -> str:
        """The name of the resource."""

    @property
    @abstractmethod
    def malformed(self) -> int:
        """How many malformed objects and lines were skipped so far."""

    @abstractmethod
    def list_all(self) -> Listed:
        """All objects as of now: consistent, and as costly as the resource is big."""

    @abstractmethod
    def watch(self, resource_version: str) -> Iterator[WatchEvent]:
        """What changed after this resourceVersion and changes from now on, in order.

        Ends where the server ended it on time, after all its events. Raises ResourceExpired, WatchRefused.
        """

    @abstractmethod
    def has_reached(self, resource_version: str) -> bool:
        """Whether the server has reached this resourceVersion.

        If not, it is another server or was restored from a backup, and a watch would be silent. One small request; a
        server that lags has a few seconds to answer.
        """
