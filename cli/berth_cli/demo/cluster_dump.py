"""The demo's cluster: a dump file that is rewritten on every change."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import orjson

from berth_cli.demo.scheduler import PendingPod

LABEL = "priority.lixueduan.com"
NAMESPACE = "default"


def write_dump(path: Path, items: Sequence[Mapping[str, object]]) -> None:
    """Write the file atomically, so that the watcher never reads half of it."""
    temporary = path.with_suffix(".new")
    temporary.write_bytes(orjson.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    os.replace(temporary, path)


class LabelledCluster:
    """Nodes with or without the priority label, and pending pods. Labels can be changed."""

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
        """The pod with this name."""
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
