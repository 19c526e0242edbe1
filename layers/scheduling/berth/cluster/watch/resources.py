"""The resources that can be listed and watched, over all namespaces, and how their objects are decoded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeAlias

import orjson

from berth.nodecache.feed.cluster import Added, Bookmark, Deleted, KubernetesObject, Modified, WatchEvent
from berth.scheduling.fields.reading import part
from berth.scheduling.objects.pod_group import PodGroupApi


@dataclass(frozen=True, slots=True)
class Resource:
    """A Kubernetes resource. `name`: the plural, as in RBAC rules. `group`: empty for the core group. earlier_versions:
    the versions that older clusters serve, the newest first. is_optional: a cluster may not serve any version."""

    name: str
    version: str = "v1"
    group: str = ""
    earlier_versions: tuple[str, ...] = ()
    is_optional: bool = False

    @property
    def key(self) -> str:
        """Return the name in positions and in the cache. An optional resource's name may exist in another group too."""
        return str(self) if self.is_optional else self.name

    @property
    def path(self) -> str:
        prefix = f"/apis/{self.group}" if self.group else "/api"
        return f"{prefix}/{self.version}/{self.name}"

    def __str__(self) -> str:
        return f"{self.name}.{self.group}" if self.group else self.name


NODES = Resource("nodes")
PODS = Resource("pods")
POD_DISRUPTION_BUDGETS = Resource("poddisruptionbudgets", group="policy")
PRIORITY_CLASSES = Resource("priorityclasses", group="scheduling.k8s.io")
NAMESPACES = Resource("namespaces")
SERVICES = Resource("services")
REPLICATION_CONTROLLERS = Resource("replicationcontrollers")
REPLICA_SETS = Resource("replicasets", group="apps")
STATEFUL_SETS = Resource("statefulsets", group="apps")
POD_GROUPS = Resource("podgroups", "v1beta1", PodGroupApi.NATIVE, ("v1alpha2",), is_optional=True)
COSCHEDULING_POD_GROUPS = Resource("podgroups", "v1alpha1", PodGroupApi.COSCHEDULING, is_optional=True)
LEGACY_POD_GROUPS = Resource("podgroups", "v1alpha1", PodGroupApi.LEGACY, is_optional=True)

BASE_RESOURCES = (NODES, PODS, POD_DISRUPTION_BUDGETS, PRIORITY_CLASSES, NAMESPACES)
"""The resources that every profile needs."""

SPREAD_RESOURCES = (SERVICES, REPLICATION_CONTROLLERS, REPLICA_SETS, STATEFUL_SETS)
"""Additional resources of profiles with PodTopologySpread, for its default constraints."""

GANG_RESOURCES = (POD_GROUPS, COSCHEDULING_POD_GROUPS, LEGACY_POD_GROUPS)
"""Additional resources if gangs are enabled."""

KINDS = {
    NODES: "Node",
    PODS: "Pod",
    NAMESPACES: "Namespace",
    POD_DISRUPTION_BUDGETS: "PodDisruptionBudget",
    PRIORITY_CLASSES: "PriorityClass",
    SERVICES: "Service",
    REPLICATION_CONTROLLERS: "ReplicationController",
    REPLICA_SETS: "ReplicaSet",
    STATEFUL_SETS: "StatefulSet",
}
"""The kinds of a dump's resources: an item of a list does not contain its kind."""


OVERLOADED = (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)

Projection: TypeAlias = Callable[[KubernetesObject], KubernetesObject]
"""Reduces an object to the needed fields. Called for each decoded object, so that memory never holds a full list."""

_CHANGES: Mapping[str, type[Added | Modified | Deleted]] = {"ADDED": Added, "MODIFIED": Modified, "DELETED": Deleted}


class MalformedObject(Exception):
    """A line or an object that no API server sends."""


@dataclass(frozen=True, slots=True)
class Status:
    """Kubernetes' `Status`: the reason why a request or a watch failed."""

    code: int
    reason: str
    message: str
    causes: tuple[str, ...] = ()

    @property
    def expired(self) -> bool:
        """Return whether the watch can continue only after a new list. This includes a resourceVersion in the future:
        after a restore of etcd a watch from it would not receive events until the server reaches it again."""
        is_gone = self.code == HTTPStatus.GONE or self.reason in ("Expired", "Gone")
        return is_gone or "ResourceVersionTooLarge" in self.causes


def read_status(content: Mapping[str, object], code: int) -> Status:
    """Read a `Status` object. `code`: the HTTP status, used if the object does not have a code."""
    causes = part(content, "details").get("causes")
    said = content.get("code")
    return Status(
        code=said if isinstance(said, int) else code,
        reason=str(content.get("reason") or ""),
        message=str(content.get("message") or f"the API server answered {code}"),
        causes=tuple(
            str(cause.get("reason"))
            for cause in (causes if isinstance(causes, list) else ())
            if isinstance(cause, dict)
        ),
    )


def project(found: object, projection: Projection) -> KubernetesObject:
    """Apply the projection. Raises MalformedObject, also for any exception of the projection: one object must not end
    a watch."""
    if not isinstance(found, dict):
        raise MalformedObject("not an object")
    try:
        return projection(found)
    except Exception as error:
        raise MalformedObject(f"cannot be read ({error!r})") from error


def decode(line: bytes, projection: Projection) -> WatchEvent | Status:
    """Decode one line of a watch. Raises MalformedObject."""
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise MalformedObject("not JSON") from error
    found = event.get("object") if isinstance(event, dict) else None
    if not isinstance(found, dict):
        raise MalformedObject("not a watch event")
    if event.get("type") == "ERROR":
        return read_status(found, 0)
    version = part(found, "metadata").get("resourceVersion")
    if not isinstance(version, str) or not version:
        raise MalformedObject("without a resourceVersion")
    if event.get("type") == "BOOKMARK":
        return Bookmark(version)
    change = _CHANGES.get(str(event.get("type")))
    if change is None:
        raise MalformedObject("of an unknown type")
    return change(project(found, projection), version)
