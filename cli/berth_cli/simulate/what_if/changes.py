"""The changes that `berth simulate` can try on a dump, as values, and how the command line writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

SCALABLE = {
    "deployment": "Deployment",
    "deploy": "Deployment",
    "statefulset": "StatefulSet",
    "sts": "StatefulSet",
    "replicaset": "ReplicaSet",
    "rs": "ReplicaSet",
    "replicationcontroller": "ReplicationController",
    "rc": "ReplicationController",
}
"""What `kubectl scale` scales, by the names that it takes."""

_SCALE = re.compile(
    r"(?:(?P<namespace>[a-z0-9-]+)/)?(?P<kind>[a-z]+)/(?P<name>[a-z0-9.-]+)=(?P<replicas>[0-9]{1,6})", re.ASCII
)


class InvalidChange(ValueError):
    """The options do not say a change. The message names the reason."""


@dataclass(frozen=True, slots=True)
class AddNodes:
    """So many more nodes like this one, with copies of the pods that run on every node."""

    count: int
    like: str


@dataclass(frozen=True, slots=True)
class Scale:
    """A workload has so many pods. `namespace`: empty where the name of the workload is enough to find it."""

    namespace: str
    kind: str
    name: str
    replicas: int

    def __str__(self) -> str:
        prefix = f"{self.namespace}/" if self.namespace else ""
        return f"{prefix}{self.kind.lower()}/{self.name}"


@dataclass(frozen=True, slots=True)
class Changes:
    """All changes of one call. They are made in the order of the fields: a node can be replaced by ones like it."""

    add_nodes: tuple[AddNodes, ...] = ()
    scale: tuple[Scale, ...] = ()
    cordon: tuple[str, ...] = ()
    drain: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.add_nodes or self.scale or self.cordon or self.drain)


def read_changes(
    add_nodes: Sequence[int], like: Sequence[str], scale: Sequence[str], cordon: Sequence[str], drain: Sequence[str]
) -> Changes:
    """The changes that the options say. The first `--add-nodes` belongs to the first `--like`. Raises InvalidChange."""
    if len(add_nodes) != len(like):
        raise InvalidChange("--add-nodes N and --like NODE belong together: give as many of one as of the other")
    return Changes(
        tuple(AddNodes(count, node) for count, node in zip(add_nodes, like, strict=True)),
        tuple(map(_read_scale, scale)),
        tuple(dict.fromkeys(cordon)),
        tuple(dict.fromkeys(drain)),
    )


def _read_scale(text: str) -> Scale:
    found = _SCALE.fullmatch(text)
    kind = SCALABLE.get(found["kind"]) if found else None
    if found is None or kind is None:
        raise InvalidChange(
            f"--scale {text}: give [NAMESPACE/]KIND/NAME=REPLICAS, such as deployment/web=50; "
            f"KIND is one of {', '.join(dict.fromkeys(map(str.lower, SCALABLE.values())))}"
        )
    return Scale(found["namespace"] or "", kind, found["name"], int(found["replicas"]))
