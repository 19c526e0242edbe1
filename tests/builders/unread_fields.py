"""Pods with large fields that scheduling does not read. Pods of one kind differ only in this field."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import orjson

from tests.bench.cluster import Manifest, plain_pod

T = TypeVar("T")


def _items(size: int, make: Callable[[int], T]) -> list[T]:
    return [make(index) for index in range(size // (len(orjson.dumps(make(10_000))) + 1))]


def _managed_fields(number: int, size: int) -> Manifest:
    pod = plain_pod()
    fields: list[tuple[str, Manifest]] = _items(size, lambda index: (f"f:{number}-{index}", {}))
    pod["metadata"]["managedFields"] = [{"fieldsV1": dict(fields)}]
    return pod


def _managed_fields_without_labels(number: int, size: int) -> Manifest:
    pod = _managed_fields(number, size)
    del pod["metadata"]["labels"]
    return pod


def _environment(number: int, size: int) -> Manifest:
    pod = plain_pod()
    variables = _items(size, lambda index: {"name": f"{number}-{index}", "value": "x"})
    pod["spec"]["containers"][0]["env"] = variables
    return pod


def _volume(number: int, size: int) -> Manifest:
    pod = plain_pod()
    items = _items(size, lambda index: {"key": f"{number}-{index}", "path": "x"})
    pod["spec"]["volumes"] = [{"name": "v", "configMap": {"name": "c", "items": items}}]
    return pod


def _addresses(number: int, size: int) -> Manifest:
    pod = plain_pod()
    pod["status"]["podIPs"] = _items(size, lambda index: {"ip": f"{number}-{index}"})
    return pod


UNREAD_FIELDS: dict[str, Callable[[int, int], Manifest]] = {
    "managed fields": _managed_fields,
    "managed fields, no labels": _managed_fields_without_labels,
    "environment": _environment,
    "volume": _volume,
    "addresses": _addresses,
}
"""Maps a kind to a function that takes a number and a size, and returns a pod with about `size` bytes in the field."""
