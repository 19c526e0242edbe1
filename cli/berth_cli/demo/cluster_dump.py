"""The demo's cluster: a dump that is rewritten when something is done to the cluster."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from berth_cli.demo.scheduler import PendingPod

LABEL = "priority.lixueduan.com"
NAMESPACE = "default"


def write_dump(path: Path, items: Sequence[Mapping[str, object]]) -> None:
    """In one step, so that nobody reads half a file."""
    whole = path.with_suffix(".new")
    whole.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    os.replace(whole, path)


class LabelledCluster:
    """Nodes with or without the priority label, and pending pods. Nodes are relabelled as an operator would do it."""

    def __init__(self, path: Path, priorities: Mapping[str, str | None], pods: tuple[str, ...]) -> None:
        self._path = path
        self.priorities = dict(priorities)
        self._pods = pods
        self._write()

    def relabel(self, priorities: Mapping[str, str | None]) -> None:
        """Set, change or (with None) remove the priority labels of these nodes."""
        self.priorities.update(priorities)
        self._write()

    def pod(self, name: str) -> PendingPod:
        """The pod of that name."""
        uid = f"uid-of-{name}"
        manifest = {
            "kind": "Pod",
            "metadata": {"name": name, "namespace": NAMESPACE, "uid": uid},
            "spec": {"containers": [{"name": "app", "image": "app"}]},
            "status": {},
        }
        return PendingPod(name, NAMESPACE, uid, manifest)

    def _write(self) -> None:
        nodes = [
            {"kind": "Node", "metadata": {"name": name, "labels": {} if priority is None else {LABEL: priority}}}
            for name, priority in self.priorities.items()
        ]
        write_dump(self._path, [*nodes, *(self.pod(name).manifest for name in self._pods)])
