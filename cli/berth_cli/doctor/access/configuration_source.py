"""Find the scheduler's configuration: in a file of its own, or in a ConfigMap or Secret."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from berth.nodecache.feed.cluster import ClusterUnavailable
from berth_cli.doctor.access.cluster import ClusterAccess
from berth_cli.doctor.scheduler.configuration import (
    InvalidSchedulerConfiguration,
    SchedulerConfiguration,
    parse_scheduler_configuration,
)

KIND = "KubeSchedulerConfiguration"


class ConfigurationNotFound(Exception):
    """There is no configuration, or more than one. The message names the place."""


def from_file(path: Path) -> SchedulerConfiguration:
    """Read a file.

    Raises ConfigurationNotFound, and InvalidSchedulerConfiguration if kube-scheduler would reject the document.
    """
    try:
        documents = list(yaml.safe_load_all(path.read_text()))
    except OSError as error:
        raise ConfigurationNotFound(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError):
        # The parser's message quotes the line, which may contain a password.
        raise InvalidSchedulerConfiguration(f"{path} is not YAML") from None
    return parse_scheduler_configuration(_require_one(_find_configurations(documents), str(path)))


def flags_in(path: Path) -> tuple[str, ...] | None:
    """The flags of kube-scheduler in manifests with its container; None where the file has none. The file was read."""
    for document in yaml.safe_load_all(path.read_text()):
        template = _child(_child(document, "spec"), "template") or document
        containers = _child(template, "spec").get("containers")
        for container in containers if isinstance(containers, list) else ():
            words = [*_words(container, "command"), *_words(container, "args")]
            if any(word.rpartition("/")[2] == "kube-scheduler" for word in words):
                return tuple(word for word in words if word.startswith("-"))
    return None


def _child(parent: object, field: str) -> dict[str, object]:
    found = parent.get(field) if isinstance(parent, dict) else None
    return found if isinstance(found, dict) else {}


def _words(container: object, field: str) -> list[str]:
    found = container.get(field) if isinstance(container, dict) else None
    return [word for word in found if isinstance(word, str)] if isinstance(found, list) else []


def from_cluster(access: ClusterAccess, namespace: str, name: str) -> SchedulerConfiguration:
    """Read the ConfigMap or Secret. Raises ConfigurationNotFound and InvalidSchedulerConfiguration."""
    try:
        config_texts = access.config_texts(namespace, name)
    except ClusterUnavailable as error:
        raise ConfigurationNotFound(f"{namespace}/{name} cannot be read: {error}") from error
    return parse_scheduler_configuration(_require_one(_parse_texts(config_texts.values()), f"{namespace}/{name}"))


def _require_one(found: Iterable[object], source: str) -> object:
    listed = list(found)
    if len(listed) != 1:
        raise ConfigurationNotFound(f"{source} has {len(listed)} documents of kind {KIND}, not one")
    return listed[0]


def _find_configurations(documents: Iterable[object]) -> Iterator[object]:
    for document in documents:
        if not isinstance(document, dict):
            continue
        if document.get("kind") == KIND:
            yield document
        elif document.get("kind") == "List" and isinstance(document.get("items"), list):
            yield from _find_configurations(document["items"])
        elif document.get("kind") in ("ConfigMap", "Secret"):
            yield from _parse_texts(_manifest_texts(document))


def _manifest_texts(manifest: dict[str, object]) -> Iterator[str]:
    for field in ("data", "stringData"):
        values = manifest.get(field)
        for text in values.values() if isinstance(values, dict) else ():
            encoded = field == "data" and manifest["kind"] == "Secret"
            yield b64decode(text).decode(errors="replace") if encoded else text


def _parse_texts(config_texts: Iterable[str]) -> Iterator[object]:
    for text in config_texts:
        if KIND not in text:
            continue
        try:
            yield from _find_configurations([yaml.safe_load(text)])
        except yaml.YAMLError:
            raise InvalidSchedulerConfiguration("the embedded configuration is not YAML") from None
