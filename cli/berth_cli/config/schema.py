"""The JSON Schema of BerthConfiguration documents, made from the models that validate them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import yaml

from berth.scheduling.configuration.document import BerthConfiguration

DIALECT = "https://json-schema.org/draft/2020-12/schema"
OBJECT = "$object"
"""Stands in DESCRIPTIONS for the object itself."""
DESCRIPTIONS = Path(__file__).with_name("field_descriptions.yaml")


class FieldsUndocumented(Exception):
    """A field has no description, or a description no field; the message lists them."""


def schema_text() -> str:
    """As docs/configuration.schema.json has it."""
    return json.dumps({"$schema": DIALECT, **BerthConfiguration.model_json_schema()}, indent=2) + "\n"


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
