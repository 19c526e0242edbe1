"""The fields that a document may have at some place, read from its JSON Schema."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from berth.scheduling.configuration.document import BerthConfiguration

Schema = dict[str, Any]


def known_fields(document: object, place: Sequence[str | int]) -> list[str]:
    """Names for the mapping at this place of the document, whose values choose between alternatives. Empty: any."""
    whole = _schema()
    here: Schema = whole
    value = document
    for part in place:
        here = _at(_resolved(here, value, whole), part)
        value = value[part] if _has(value, part) else None  # type: ignore[index]
    return list(_resolved(here, value, whole).get("properties", ()))


@cache
def _schema() -> Schema:
    return BerthConfiguration.model_json_schema()


def _resolved(schema: Schema, value: object, whole: Schema) -> Schema:
    """What a reference or a choice stands for: of alternatives the one whose `name` is that of the value."""
    if "$ref" in schema:
        return _resolved(whole["$defs"][schema["$ref"].rpartition("/")[2]], value, whole)
    name = value.get("name") if isinstance(value, dict) else None
    for alternative in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        found = _resolved(alternative, value, whole)
        if found.get("properties", {}).get("name", {}).get("const") == name:
            return found
    return schema


def _at(schema: Schema, part: str | int) -> Schema:
    if isinstance(part, int):
        found = schema.get("items", {})
    else:
        named = schema.get("properties", {}).get(part)
        found = named or next(iter(schema.get("patternProperties", {}).values()), {})
    return found if isinstance(found, dict) else {}


def _has(value: object, part: str | int) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(value)
