"""One resource of an API server: a list, and the changes after it.

If the server does not serve an optional resource, or the user may not read it, the resource is treated as empty: the
watches of the other resources continue. The watcher tries again from time to time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from http import HTTPStatus

from berth.cluster.api_server.client import CREDENTIALS_REFUSED, Answer, ApiServer
from berth.cluster.watch.resources import (
    OVERLOADED,
    MalformedObject,
    Projection,
    Resource,
    Status,
    decode,
    project,
    read_status,
)
from berth.nodecache.feed.cluster import ClusterUnavailable, KubernetesObject, Listed, WatchEvent
from berth.scheduling.fields.reading import part


class ResourceExpired(Exception):
    """A watch cannot continue from this resourceVersion; list again."""


class ResourceNotServed(ClusterUnavailable):
    """The server does not serve the resource, or the user may not read it: the answer does not distinguish the two."""


class WatchRefused(Exception):
    """The server answered a watch with an error that it may repeat forever for this resourceVersion."""


class ListerWatcher(ABC):
    """Lists and watches one resource. Methods may raise ClusterUnavailable; its message has the cause and a remedy."""

    resource: str
    """The name of the resource."""

    @abstractmethod
    def list_all(self) -> Listed:
        """List all current objects consistently; the cost grows with the number of objects."""

    @abstractmethod
    def watch(self, resource_version: str) -> Iterator[WatchEvent]:
        """Yield the changes after this resourceVersion, in order, until the server ends the watch normally. Raises
        ResourceExpired, WatchRefused."""

    @abstractmethod
    def has_reached(self, resource_version: str) -> bool:
        """Return whether the server has reached this resourceVersion, with one small request. Otherwise it is another
        server or was restored from a backup, and a watch would not receive events."""


LIST_RESTARTS = 3
WATCHERS_REMEDY = "give the watcher's user the verbs list and watch"


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """Times in seconds. `watch_seconds`: the server ends a watch after this time. Without changes only this end shows
    that the data is current, so it can get this old. `grace_seconds`: a connection that is silent for this much longer
    is treated as broken."""

    page_size: int = 500
    page_seconds: float = 30.0
    watch_seconds: int = 50
    grace_seconds: float = 5.0


class KubernetesListerWatcher(ListerWatcher):
    """Lists and watches at an API server, for one thread. Needs `list` and `watch` on the resource, cluster-wide."""

    def __init__(
        self,
        api: ApiServer,
        resource: Resource,
        options: WatchOptions,
        projection: Projection,
        remedy: str = WATCHERS_REMEDY,
    ) -> None:
        """Create the lister. remedy: the remedy if the user may not list or watch; the resource's name is appended."""
        self._api = api
        self._resource, self.resource = resource, resource.key
        self._options = options
        self._projection = projection
        self._remedy = remedy

    def list_all(self) -> Listed:
        for _ in range(LIST_RESTARTS):
            listed = self._list_once()
            if listed is not None:
                return listed
        raise ClusterUnavailable(
            f"the list of {self._resource} expired between its pages, three times over; the API server is overloaded"
        )

    def watch(self, resource_version: str) -> Iterator[WatchEvent]:
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(self._options.watch_seconds),
        }
        silence = self._options.watch_seconds + self._options.grace_seconds
        answer = self._api.stream(self._resource.path, query=query, silence=silence)
        if isinstance(answer, Answer):
            raise self._refusal(read_status(answer.content, answer.status), "watch")
        with closing(answer):
            for line in answer:
                with suppress(MalformedObject):
                    decoded = decode(line, self._projection)
                    if isinstance(decoded, Status):
                        raise self._refusal(decoded, "watch")
                    yield decoded

    def has_reached(self, resource_version: str) -> bool:
        query = {"limit": "1", "resourceVersion": resource_version, "resourceVersionMatch": "NotOlderThan"}
        answer = self._get(query)
        status = read_status(answer.content, answer.status)
        if status.expired or answer.status == HTTPStatus.BAD_REQUEST:
            return False
        if not answer.ok:
            raise self._refusal(status, "list")
        return True

    def _list_once(self) -> Listed | None:
        """List once. Return None if the continue token expired, so that the list must start again."""
        objects: list[KubernetesObject] = []
        query = {"limit": str(self._options.page_size)}
        while True:
            answer = self._get(query)
            if answer.status == HTTPStatus.GONE:
                return None
            if not answer.ok:
                raise self._refusal(read_status(answer.content, answer.status), "list")
            items, metadata = answer.content.get("items"), part(answer.content, "metadata")
            version = metadata.get("resourceVersion")
            if not isinstance(version, str) or not version:
                # If this answer were read as an empty list, the consumer would delete all its objects.
                raise ClusterUnavailable(
                    f"the answer to a list of {self._resource} is none; is the server in the kubeconfig an API server?"
                )
            for item in items if isinstance(items, list) else ():
                with suppress(MalformedObject):
                    objects.append(project(item, self._projection))
            following = metadata.get("continue")
            if not following:
                return Listed(tuple(objects), version)
            query["continue"] = str(following)

    def _get(self, query: Mapping[str, str]) -> Answer:
        return self._api.request("GET", self._resource.path, query=query, timeout=self._options.page_seconds)

    def _refusal(self, status: Status, verb: str) -> Exception:
        if status.expired:
            return ResourceExpired()
        if status.code == HTTPStatus.UNAUTHORIZED:
            return ClusterUnavailable(f"{status.message}: {CREDENTIALS_REFUSED}")
        if status.code == HTTPStatus.FORBIDDEN:
            return ResourceNotServed(f"{status.message}; {self._remedy} on {self._resource}")
        if status.code == HTTPStatus.NOT_FOUND:
            return ResourceNotServed(f"the cluster does not serve {self._resource} {self._resource.version}")
        message = f"the API server refused to {verb} {self._resource}: {status.message}"
        if verb == "list" or status.code in OVERLOADED:
            return ClusterUnavailable(message)
        return WatchRefused(message)


NOT_SERVED = "not-served"
"""Replaces the resourceVersion if the server does not serve any version of the resource."""

RETRY_SECONDS = 30.0
"""Seconds between two checks whether an optional resource is served: as long as a watch without changes takes."""

_ANY_VERSION = "0"


class OptionalListerWatcher(ListerWatcher):
    """Lists and watches the first version that is served; for one thread."""

    def __init__(self, versions: Sequence[ListerWatcher], wait: Callable[[float], bool]) -> None:
        """Create the lister. versions: the versions of one resource, the preferred one first. wait: waits this many
        seconds and returns True if the watch must end."""
        self._versions, self._wait, self.resource = versions, wait, versions[0].resource
        self._served: ListerWatcher | None = None

    def list_all(self) -> Listed:
        for each in self._versions:
            try:
                listed = each.list_all()
            except ResourceNotServed:
                continue
            self._served = each
            return listed
        self._served = None
        return Listed((), NOT_SERVED)

    def watch(self, resource_version: str) -> Iterator[WatchEvent]:
        if resource_version != NOT_SERVED:
            if self._served is None:
                raise ResourceExpired
            yield from self._served.watch(resource_version)
        elif not self._wait(RETRY_SECONDS) and self._find_served(_ANY_VERSION):
            raise ResourceExpired

    def has_reached(self, resource_version: str) -> bool:
        return resource_version == NOT_SERVED or self._find_served(resource_version)

    def _find_served(self, resource_version: str) -> bool:
        self._served = None
        for each in self._versions:
            try:
                reached = each.has_reached(resource_version)
            except ResourceNotServed:
                continue
            self._served = each
            return reached
        return False
