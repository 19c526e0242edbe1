"""The file of a dump: what `kubectl get nodes,pods,… -A -o yaml` (or json) printed, read again when it changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson
import yaml

from berth.nodecache.feed.cluster import ClusterUnavailable, KubernetesObject
from berth.pods import Assignment

NAMESPACED = (
    "Pod",
    "PodDisruptionBudget",
    "PodGroup",
    "Service",
    "ReplicationController",
    "ReplicaSet",
    "StatefulSet",
)
_DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Contents:
    """What the file held when it was last changed.

    modified: a name for that moment. pods: by namespace and name. malformed: how many objects hold what is no JSON, and
    are left out.
    """

    modified: str
    objects: tuple[KubernetesObject, ...]
    pods: Mapping[tuple[str, str], KubernetesObject]
    malformed: int = 0


class DumpFile:
    """For one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._contents: Contents | None = None

    def read(self) -> Contents:
        """The same object until the file changes. Raises ClusterUnavailable."""
        try:
            modified = str(self._path.stat().st_mtime_ns)
            if self._contents is None or self._contents.modified != modified:
                self._contents = _parse(self._path.read_bytes(), modified, self._path)
        except OSError as error:
            raise ClusterUnavailable(f"dump {self._path}: {error.strerror}") from error
        return self._contents


def _parse(text: bytes, modified: str, path: Path) -> Contents:
    items = _items(text, path)
    objects = [found for item in items if (found := _as_stored(item)) is not None]
    return Contents(modified, tuple(objects), _pods(objects), len(items) - len(objects))


def _pods(objects: Iterable[KubernetesObject]) -> dict[tuple[str, str], KubernetesObject]:
    found = {}
    for item in objects:
        metadata = item.get("metadata")
        if item.get("kind") == "Pod" and isinstance(metadata, dict):
            found[str(metadata["namespace"]), str(metadata.get("name") or "")] = item
    return found


def assignment_of(pod: KubernetesObject) -> Assignment:
    """As the file has it."""
    metadata, spec = pod.get("metadata"), pod.get("spec")
    node = spec.get("nodeName") if isinstance(spec, dict) else None
    uid = metadata.get("uid") if isinstance(metadata, dict) else None
    return Assignment(str(uid or ""), str(node or ""))


def _items(text: bytes, path: Path) -> list[dict[object, object]]:
    """The objects of a List, of one object alone, or of several YAML documents."""
    try:
        documents = [orjson.loads(text)] if text.lstrip()[:1] == b"{" else list(yaml.load_all(text, _loader()))
    except (ValueError, yaml.YAMLError) as error:  # a ValueError also of a date that there is not
        cause = " ".join(str(error).split())
        raise ClusterUnavailable(f"dump {path} is neither JSON nor YAML as kubectl prints it: {cause}") from error
    items: list[dict[object, object]] = []
    for document in documents:
        if isinstance(document, dict):
            listed = document.get("items")
            items += [item for item in (listed if isinstance(listed, list) else [document]) if isinstance(item, dict)]
    if not items:
        raise ClusterUnavailable(f"dump {path} has no objects; make one with `kubectl get nodes,pods -A -o yaml`")
    return items


def _as_stored(item: dict[object, object]) -> KubernetesObject | None:
    """The object as it came through JSON to an API server: there, keys that YAML reads as no text are text.

    None where it has what JSON has not.
    """
    try:
        found: KubernetesObject = orjson.loads(orjson.dumps(item, option=orjson.OPT_NON_STR_KEYS))
    except orjson.JSONEncodeError:
        return None
    metadata = found.get("metadata")
    if found.get("kind") in NAMESPACED and isinstance(metadata, dict) and not metadata.get("namespace"):
        metadata["namespace"] = _DEFAULT_NAMESPACE
    return found


def _loader() -> type[yaml.SafeLoader]:
    """libyaml's parser where PyYAML was built with it: twenty times faster on a dump of thousands of nodes."""
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)
