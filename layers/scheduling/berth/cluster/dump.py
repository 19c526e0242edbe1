"""A cluster from a file: what `kubectl get nodes,pods,… -A -o yaml` (or json) printed.

The file is read again when it changes, so an edit of it is an event of this cluster. Bindings are kept in memory,
never in the file.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import orjson
import yaml

from berth.extender.ports import Assignment, Binding, Created, PodBinder, Refused, Unanswered
from berth.nodecache.cluster import ClusterUnavailable, NodeList, Nodes
from berth.scheduling.objects import read_nodes

NOT_FOUND = 404
CONFLICT = 409


@dataclass(frozen=True, slots=True)
class _Contents:
    modified: int
    nodes: NodeList
    pods: dict[tuple[str, str], Assignment]


class DumpCluster(Nodes, PodBinder):
    """Lists the file's nodes and binds its pods as an API server would. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = Lock()
        self._contents: _Contents | None = None
        self._bound: dict[str, str] = {}

    def list(self) -> NodeList:
        return self._read().nodes

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        found = self.assignment(binding.namespace, binding.pod_name, timeout)
        if not isinstance(found, Assignment):
            return found
        if found.pod_uid != binding.pod_uid:
            return Refused(
                CONFLICT,
                f"the UID in the precondition ({binding.pod_uid}) does not match the UID in record ({found.pod_uid})",
            )
        with self._lock:
            node = found.node or self._bound.setdefault(binding.pod_uid, binding.node)
            if found.node or node != binding.node:
                return Refused(CONFLICT, f'pod {binding.pod_name} is already assigned to node "{node}"')
        return Created()

    def assignment(self, namespace: str, pod_name: str, timeout: float) -> Assignment | Refused | Unanswered:
        try:
            found = self._read().pods.get((namespace, pod_name))
        except ClusterUnavailable as error:
            return Unanswered(str(error))
        if found is None:
            return Refused(NOT_FOUND, f'pods "{pod_name}" not found')
        return Assignment(found.pod_uid, found.node or self._bound.get(found.pod_uid, ""))

    def _read(self) -> _Contents:
        with self._lock:
            try:
                modified = self._path.stat().st_mtime_ns
                if self._contents is None or self._contents.modified != modified:
                    self._contents = _parse(self._path.read_bytes(), modified, self._path)
            except OSError as error:
                raise ClusterUnavailable(f"dump {self._path}: {error.strerror}") from error
            return self._contents


def _parse(text: bytes, modified: int, path: Path) -> _Contents:
    items = _items(text, path)
    nodes, nameless = read_nodes(item for item in items if item.get("kind") == "Node")
    pods: dict[tuple[str, str], Assignment] = {}
    for item in items:
        metadata, spec = item.get("metadata"), item.get("spec")
        if item.get("kind") == "Pod" and isinstance(metadata, dict):
            key = (str(metadata.get("namespace", "default")), str(metadata.get("name", "")))
            node_name = spec.get("nodeName") if isinstance(spec, dict) else None
            pods[key] = Assignment(str(metadata.get("uid", "")), str(node_name or ""))
    return _Contents(modified, NodeList(tuple(nodes), str(modified), nameless), pods)


def _items(text: bytes, path: Path) -> list[dict[str, object]]:
    """The objects of a List, of one object alone, or of several YAML documents."""
    try:
        documents = [orjson.loads(text)] if text.lstrip()[:1] == b"{" else list(yaml.load_all(text, _loader()))
    except (orjson.JSONDecodeError, yaml.YAMLError) as error:
        cause = " ".join(str(error).split())
        raise ClusterUnavailable(f"dump {path} is neither JSON nor YAML as kubectl prints it: {cause}") from error
    items: list[dict[str, object]] = []
    for document in documents:
        if isinstance(document, dict):
            listed = document.get("items")
            items += [item for item in (listed if isinstance(listed, list) else [document]) if isinstance(item, dict)]
    if not items:
        raise ClusterUnavailable(f"dump {path} has no objects; make one with `kubectl get nodes,pods -A -o yaml`")
    return items


def _loader() -> type[yaml.SafeLoader]:
    """libyaml's parser where PyYAML was built with it: twenty times faster on a dump of thousands of nodes."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)
