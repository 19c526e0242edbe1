"""Namespaces: their labels decide which pods a namespaceSelector means."""

from __future__ import annotations

from dataclasses import dataclass

from berth.scheduling.fields.reading import (
    MalformedField,
    UnreadableObject,
    name_or_empty,
    read_object,
    read_string_map,
)
from berth.scheduling.fields.selectors import Labels


@dataclass(frozen=True, slots=True)
class Namespace:
    """A v1.Namespace."""

    name: str
    labels: Labels


def read_namespace(obj: object) -> Namespace | UnreadableObject:
    """Read a v1.Namespace."""
    try:
        metadata = read_object(read_object(obj, "Namespace").get("metadata"), "Namespace.metadata")
        return Namespace(
            name_or_empty(metadata.get("name")), read_string_map(metadata.get("labels"), "Namespace.metadata.labels")
        )
    except MalformedField as error:
        return UnreadableObject(str(error))
