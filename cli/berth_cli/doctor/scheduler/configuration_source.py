"""Where the scheduler's configuration is: a file of its own, or inside a ConfigMap or Secret among manifests."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

from berth.nodecache.cluster import ClusterUnavailable
from berth_cli.doctor.access.cluster import ClusterAccess
from berth_cli.doctor.scheduler.configuration import NotReadable, SchedulerDocument, read

KIND = "KubeSchedulerConfiguration"


class NotThere(Exception):
    """There is no configuration, or more than one. The message says where it was looked for."""


def from_file(path: Path) -> SchedulerDocument:
    """Raises NotThere, and NotReadable for what kube-scheduler would refuse."""
    try:
        documents = list(yaml.safe_load_all(path.read_text()))
    except OSError as error:
        raise NotThere(f"{path}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError):
        # Not the parser's own message: it quotes the line, and there may be a password in it.
        raise NotReadable(f"{path} is not YAML") from None
    return read(_only(_configurations(documents), str(path)))


def from_cluster(access: ClusterAccess, namespace: str, name: str) -> SchedulerDocument:
    """The ConfigMap or Secret of this name. Raises NotThere, NotReadable."""
    try:
        texts = access.texts(namespace, name)
    except ClusterUnavailable as error:
        raise NotThere(f"{namespace}/{name} cannot be read: {error}") from error
    return read(_only(_inside(texts.values()), f"{namespace}/{name}"))


def _only(found: Iterable[object], where: str) -> object:
    listed = list(found)
    if len(listed) != 1:
        raise NotThere(f"{where} has {len(listed)} documents of kind {KIND}, not one")
    return listed[0]


def _configurations(documents: Iterable[object]) -> Iterator[object]:
    for document in documents:
        if not isinstance(document, dict):
            continue
        if document.get("kind") == KIND:
            yield document
        elif document.get("kind") == "List" and isinstance(document.get("items"), list):
            yield from _configurations(document["items"])
        elif document.get("kind") in ("ConfigMap", "Secret"):
            yield from _inside(_texts(document))


def _texts(manifest: dict[str, object]) -> Iterator[str]:
    for field in ("data", "stringData"):
        values = manifest.get(field)
        for text in values.values() if isinstance(values, dict) else ():
            encoded = field == "data" and manifest["kind"] == "Secret"
            yield b64decode(text).decode(errors="replace") if encoded else text


def _inside(texts: Iterable[str]) -> Iterator[object]:
    for text in texts:
        if KIND not in text:
            continue
        try:
            yield from _configurations([yaml.safe_load(text)])
        except yaml.YAMLError:
            raise NotReadable("the configuration inside is not YAML") from None
