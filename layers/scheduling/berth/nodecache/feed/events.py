"""What a watch tells its consumer. Values only, without a link to anything that talks to an API server.

`resource_version` is opaque: it is handed back to the server it came from, and never compared. Objects are decoded
JSON; those of a list have no `kind` and no `apiVersion`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

KubernetesObject: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class Listed:
    """All objects there are: what the consumer has and these do not contain is gone."""

    objects: tuple[KubernetesObject, ...]
    resource_version: str


@dataclass(frozen=True, slots=True)
class Added:
    """An object that is new, or that the consumer knows already: then it counts as modified."""

    object: KubernetesObject
    resource_version: str


@dataclass(frozen=True, slots=True)
class Modified:
    """An object as it is now."""

    object: KubernetesObject
    resource_version: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """An object as it last was. The consumer may not know it."""

    object: KubernetesObject
    resource_version: str


@dataclass(frozen=True, slots=True)
class Bookmark:
    """Nothing changed up to here. An API server sends one only where its resourceVersion has moved on (see Ended)."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The server ended the watch in its own time: what had changed until then has been told. The next watch follows.

    In a cluster where nothing is written, this and no Bookmark is what shows that the data is current.
    """


@dataclass(frozen=True, slots=True)
class Expired:
    """The server no longer has, or does not have yet, what followed our resourceVersion. A Listed comes next."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The watch could not go on, for this cause, and is tried again after a while. Nothing is lost by it."""

    cause: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The watch ended for good, by a defect of ours: nothing more comes of this resource."""

    cause: Exception


WatchEvent: TypeAlias = Added | Modified | Deleted | Bookmark
Event: TypeAlias = Listed | WatchEvent | Ended | Expired | Interrupted | Failed


@dataclass(frozen=True, slots=True)
class Received:
    """`at` is in seconds since the epoch: when the event came; of a list, when it was asked for."""

    resource: str
    at: float
    event: Event
