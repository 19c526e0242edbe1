"""The cluster: nodes and pods, the watches that deliver them, and their published state."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from berth.nodecache.feed.changes import Key, Object
from berth.nodecache.feed.head import Position
from tests.simulation.world import World

NODES, PODS = "nodes", "pods"
NAMES = ("n1", "n2")


@dataclass(frozen=True, slots=True)
class Node:
    """is_open: whether Berth accepts the node. has_room: whether the scheduler's own plugins accept it."""

    is_open: bool = True
    has_room: bool = True

    def projected(self) -> Object:
        """Return the node as the watcher keeps it, without its name."""
        return {"metadata": {"labels": {"open": self.is_open, "room": self.has_room}}}


@dataclass(frozen=True, slots=True)
class Pod:
    """rejected: whether the pod's condition says that Berth rejected it."""

    uid: str
    team: str
    node: str = ""
    rejected: bool = False

    def projected(self) -> Object:
        return {
            "metadata": {"uid": self.uid, "labels": {"team": self.team}},
            "spec": {"nodeName": self.node} if self.node else {},
            "status": {"phase": "Pending"},
            "shared": "",
            **({"rejectedByBerth": True} if self.rejected else {}),
        }


class Watch:
    """Changes of one resource that were not taken yet, in their order."""

    def __init__(self, world: World, latency: Callable[[], float]) -> None:
        self._world = world
        self._latency = latency
        self.silent_until = 0.0
        self._last = 0.0
        self.arrived: deque[tuple[str, Object | None, int, float]] = deque()

    def send(self, name: str, obj: Object | None, version: int) -> None:
        now = self._world.now
        self._last = at = max(self._last + 1e-6, self.silent_until, now + self._latency())
        self._world.after(at - now, lambda: self.arrived.append((name, obj, version, at)))


class ApiServer:
    """All objects, the number of the last write, and the watches that deliver the changes."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {name: Node() for name in NAMES}
        self.pods: dict[str, Pod] = {}
        self.version = 1
        self.watches: dict[str, Watch] = {}
        self.changed = lambda: None

    def put(self, name: str, obj: Node | Pod | None) -> None:
        """Create or change an object; None deletes the pod."""
        self.version += 1
        resource = NODES if isinstance(obj, Node) else PODS
        if isinstance(obj, Node):
            self.nodes[name] = obj
        elif obj is None:
            del self.pods[name]
        else:
            self.pods[name] = obj
        for kind, watch in self.watches.items():
            if kind == resource:
                watch.send(name, None if obj is None else obj.projected(), self.version)

    def fits(self, pod: Pod) -> bool:
        """Return whether the scheduler and Berth would place the pod if both had the current state."""
        taken = {other.node for other in self.pods.values() if other.team == pod.team}
        return any(node.is_open and node.has_room and name not in taken for name, node in self.nodes.items())


@dataclass(frozen=True, slots=True)
class Published:
    objects: Mapping[Key, Object]
    pods: Position

    def fitting(self, team: str, announced: Iterable[Announced]) -> set[str]:
        """Return the open nodes without a placed or announced pod of the team."""
        pods = [obj for (kind, _), obj in self.objects.items() if kind == PODS]
        placed = {_field(pod, "metadata", "uid"): _field(pod, "spec", "nodeName") for pod in pods}
        taken = {placed[_field(pod, "metadata", "uid")] for pod in pods if _team(pod) == team}
        taken |= {each.node for each in announced if each.team == team and each.stands(placed, self.pods)}
        nodes = {name: obj for (kind, name), obj in self.objects.items() if kind == NODES}
        return {name for name, obj in nodes.items() if _field(obj, "metadata", "labels")["open"]} - taken


@dataclass(frozen=True, slots=True)
class Announced:
    """A pod that is being bound. version: the version at which the scheduler read the unbound pod."""

    uid: str
    team: str
    node: str
    version: int

    def stands(self, placed: Mapping[str, str], covered: Position) -> bool:
        """Return whether the published state does not show the pod's outcome yet (see announcements)."""
        return not placed.get(self.uid) and (self.uid in placed or self.version > int(covered.resource_version))


def named(name: str, obj: Object) -> Object:
    metadata = obj.get("metadata", {})
    assert isinstance(metadata, Mapping)
    return {**obj, "metadata": {**metadata, "name": name}}


def _field(obj: Object, part: str, name: str) -> Any:
    found: Any = obj[part]
    return found.get(name, "")


def _team(obj: Object) -> str:
    return str(_field(obj, "metadata", "labels")["team"])
