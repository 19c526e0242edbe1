"""Reads Kubernetes objects from files: kubectl's YAML or JSON output, or manifests.

kubectl's YAML of a large cluster is one list of hundreds of megabytes. Parsing it item by item takes a third of the
time of parsing the whole list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import orjson
import yaml

from berth.scheduling.fields.reading import Object
from berth_cli.terminal.input_files import InvalidInput

_LIST = re.compile(rb"^items:[ \t]*\n(?=- )", re.MULTILINE)
_ITEM = re.compile(rb"^- ", re.MULTILINE)
_AFTER = re.compile(rb"^[^-# \t\r\n]", re.MULTILINE)
# An alias may refer to another item. kubectl does not print aliases; a list with aliases is parsed as a whole.
_ALIAS = re.compile(rb"[:-] \*[\w-]+[ \t]*$", re.MULTILINE)
# Larger than a hand-written manifest: text of this size that starts like JSON is a dump.
_MANIFEST = 1_000_000
# libyaml's parser if PyYAML has it.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_objects(text: bytes, where: str) -> Iterator[Object]:
    """Yield the objects of a List, a single object, or a stream of YAML documents. Raises InvalidInput."""
    try:
        yield from _json_objects(text) or _yaml_objects(text)
    except (ValueError, yaml.YAMLError) as error:  # YAML raises ValueError for an impossible date
        cause = " ".join(str(error).split())
        raise InvalidInput(f"{where} is neither JSON nor YAML as kubectl prints it: {cause}") from error


def _json_objects(text: bytes) -> Iterator[Object] | None:
    """Parse JSON. Returns None if the text may be YAML: a stream of JSON manifests, or YAML that resembles JSON."""
    if text.lstrip()[:1] != b"{":
        return None
    try:
        return _items(orjson.loads(text))
    except orjson.JSONDecodeError:
        if len(text) > _MANIFEST:
            raise
        return None


def _yaml_objects(text: bytes) -> Iterator[Object]:
    for part in _split_items(text):
        for document in yaml.load_all(part, _LOADER):  # both are safe loaders
            for item in document if isinstance(document, list) else [document]:
                yield from _items(item)


def _split_items(text: bytes) -> Iterator[bytes]:
    """Yield each item of a list in kubectl's format separately; for other texts, the whole text."""
    head = _LIST.search(text)
    if head is None or text.startswith(b"---") or b"\n---" in text or _ALIAS.search(text):
        yield text
        return
    after = _AFTER.search(text, head.end())
    end = after.start() if after else len(text)
    starts = [match.start() for match in _ITEM.finditer(text, head.end(), end)]
    for start, stop in zip(starts, [*starts[1:], end], strict=True):
        yield text[start:stop]


def _items(value: object) -> Iterator[Object]:
    """Yield the items of a list. Items of the API server's `NodeList` do not have a kind."""
    if not isinstance(value, dict):
        return
    items, kind = value.get("items"), value.get("kind")
    if not isinstance(items, list):
        yield value
        return
    implied = kind.removesuffix("List") if isinstance(kind, str) else ""
    for item in items:
        if isinstance(item, dict):
            yield item if "kind" in item or not implied else {"kind": implied, **item}
