"""Objects of files: what `kubectl get … -o yaml` or `-o json` prints, or manifests.

kubectl's YAML of a large cluster is one list of hundreds of megabytes. It is read item by item: that takes a third of
the time that the whole takes at once, and says how far it has come.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import orjson
import yaml

from berth.scheduling.objects.reading import Object


class BadInput(click.ClickException):
    """A file that is not what it should be; the message names it. The exit status is that of a wrong option."""

    exit_code = 2


Advance = Callable[[int], None]
"""Told how many more bytes have been read."""

STDIN = "-"

_LIST = re.compile(rb"^items:[ \t]*\n(?=- )", re.MULTILINE)
_ITEM = re.compile(rb"^- ", re.MULTILINE)
_AFTER = re.compile(rb"^[^-# \t\r\n]", re.MULTILINE)
# An alias may stand for what another item has: such a list is not kubectl's, and is read as a whole.
_ALIAS = re.compile(rb"[:-] \*[\w-]+[ \t]*$", re.MULTILINE)
# Longer than people write: what then begins like JSON is a dump.
_MANIFEST = 1_000_000
# libyaml's parser where PyYAML was built with it.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def named(path: Path) -> str:
    """How messages call it."""
    return "standard input" if str(path) == STDIN else str(path)


def contents(path: Path) -> bytes:
    """Of a file, or of standard input. Raises BadInput."""
    try:
        return sys.stdin.buffer.read() if str(path) == STDIN else path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from error


def objects(text: bytes, where: str, advance: Advance = lambda _: None) -> Iterator[Object]:
    """The objects of a List, of one object alone, or of several YAML documents. Raises BadInput."""
    try:
        yield from _json_objects(text) or _yaml_objects(text, advance)
    except (ValueError, yaml.YAMLError) as error:  # a ValueError also of a date that there is not
        cause = " ".join(str(error).split())
        raise BadInput(f"{where} is neither JSON nor YAML as kubectl prints it: {cause}") from error


def _json_objects(text: bytes) -> Iterator[Object] | None:
    """None where it may be YAML: manifests in JSON may be several, and YAML may look much like JSON."""
    if text.lstrip()[:1] != b"{":
        return None
    try:
        return _listed(orjson.loads(text))
    except orjson.JSONDecodeError:
        if len(text) > _MANIFEST:
            raise
        return None


def _yaml_objects(text: bytes, advance: Advance) -> Iterator[Object]:
    for part in _parts(text):
        for document in yaml.load_all(part, _LOADER):  # it is the safe one
            for item in document if isinstance(document, list) else [document]:
                yield from _listed(item)
        advance(len(part))


def _parts(text: bytes) -> Iterator[bytes]:
    """Each item by itself where it is one list as kubectl prints it, else the whole."""
    head = _LIST.search(text)
    if head is None or text.startswith(b"---") or b"\n---" in text or _ALIAS.search(text):
        yield text
        return
    after = _AFTER.search(text, head.end())
    end = after.start() if after else len(text)
    starts = [match.start() for match in _ITEM.finditer(text, head.end(), end)]
    for start, stop in zip(starts, [*starts[1:], end], strict=True):
        yield text[start:stop]


def _listed(value: object) -> Iterator[Object]:
    """Items of a `NodeList`, as the API server sends it, have no kind of their own."""
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
