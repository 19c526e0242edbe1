"""The JSON Schema of BerthConfiguration documents, and the field names at a given path.

The schema is generated from the pydantic models that validate documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from berth.scheduling.configuration.document import BerthConfiguration

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
OBJECT = "$object"
"""The key in DESCRIPTIONS for the description of the object itself."""
DESCRIPTIONS = Path(__file__).with_name("field_descriptions.yaml")


def schema_text() -> str:
    """Return the schema as JSON text, as stored in docs/configuration.schema.json."""
    return json.dumps(schema_document(), indent=2) + "\n"


def schema_document() -> Schema:
    """Return the schema with a description of each field. Raises ValueError."""
    schema = {"$schema": DIALECT, **BerthConfiguration.model_json_schema()}
    _describe(schema, yaml.safe_load(DESCRIPTIONS.read_text(encoding="utf-8")))
    return schema


def objects_in(schema: Any) -> Iterator[Schema]:
    """Yield each object of the schema that has a title and fields, at all depths."""
    if isinstance(schema, dict):
        if "title" in schema and schema.get("properties"):
            yield schema
        for each in schema.values():
            yield from objects_in(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from objects_in(each)


def _describe(schema: Schema, texts: Mapping[str, Mapping[str, str]]) -> None:
    """Add texts to the schema. Each field and object needs a text, and each text needs a field or an object."""
    objects = {each["title"]: each for each in objects_in(schema)}
    fields = {(title, OBJECT): each for title, each in objects.items()}
    fields |= {(title, name): field for title, each in objects.items() for name, field in each["properties"].items()}
    described = {(title, name): text for title, of_title in texts.items() for name, text in of_title.items()}
    if wrong := fields.keys() ^ described.keys():
        raise ValueError(f"{DESCRIPTIONS.name} and the models differ: {sorted(wrong)}")
    for key, field in fields.items():
        field["description"] = described[key]


def known_fields(document: object, path: Sequence[str | int]) -> list[str]:
    """Return the field names that are allowed at this path; empty if any name is allowed. The document's values select
    between alternatives."""
    whole = _schema()
    value, found = document, whole
    for part in path:
        try:
            value = value[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            value = None
        found = _resolve(_child_schema(found, part), value, whole)
    return list(found.get("properties", ()))


@cache
def _schema() -> Schema:
    return BerthConfiguration.model_json_schema()


def _resolve(schema: Schema, value: object, whole: Schema) -> Schema:
    """Resolve references; among alternatives, return the schema whose `name` equals the value's `name`."""
    if "$ref" in schema:
        return _resolve(whole["$defs"][schema["$ref"].rpartition("/")[2]], value, whole)
    name = value.get("name") if isinstance(value, dict) else None
    for alternative in (*schema.get("oneOf", ()), *schema.get("anyOf", ())):
        found = _resolve(alternative, value, whole)
        if found.get("properties", {}).get("name", {}).get("const") == name:
            return found
    return schema


def _child_schema(schema: Schema, part: str | int) -> Schema:
    if isinstance(part, int):
        found = schema.get("items", {})
    else:
        named = schema.get("properties", {}).get(part)
        found = named or next(iter(schema.get("patternProperties", {}).values()), {})
    return found if isinstance(found, dict) else {}
