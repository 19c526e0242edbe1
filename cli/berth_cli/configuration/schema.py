"""The JSON Schema of BerthConfiguration documents, and the field names and examples at a given path.

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
"""Key in DESCRIPTIONS for the description of the object itself."""
EXAMPLE = "$example"
"""Key in DESCRIPTIONS for an example of the object."""
DESCRIPTIONS = Path(__file__).with_name("field_descriptions.yaml")


class FieldsUndocumented(Exception):
    """A field has no description, or a description has no field. The message lists them."""


def schema_text() -> str:
    """Return the schema as JSON text, as stored in docs/configuration.schema.json."""
    return json.dumps(schema_document(), indent=2) + "\n"


def schema_document() -> Schema:
    """Return the schema with a description of each field. Raises FieldsUndocumented."""
    schema = {"$schema": DIALECT, **BerthConfiguration.model_json_schema()}
    _describe(schema, yaml.safe_load(DESCRIPTIONS.read_text(encoding="utf-8")))
    return schema


def objects_in(schema: Any) -> Iterator[Schema]:
    """Yield each object of the schema that has a title and fields, at any depth."""
    if isinstance(schema, dict):
        if "title" in schema and schema.get("properties"):
            yield schema
        for each in schema.values():
            yield from objects_in(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from objects_in(each)


def _describe(schema: Schema, texts: Mapping[str, Mapping[str, Any]]) -> None:
    """Add texts and examples to the schema. Each field and object needs one, and each text needs a field."""
    objects = {each["title"]: each for each in objects_in(schema)}
    fields = {(title, key): each for title, each in objects.items() for key in (OBJECT, EXAMPLE)}
    fields |= {(title, name): field for title, each in objects.items() for name, field in each["properties"].items()}
    described = {(title, name): text for title, of_title in texts.items() for name, text in of_title.items()}
    if wrong := fields.keys() ^ described.keys():
        raise FieldsUndocumented(f"{DESCRIPTIONS.name} and the models differ: {sorted(wrong)}")
    for key, field in fields.items():
        if key[1] == EXAMPLE:
            field["examples"] = [described[key]]
        else:
            field["description"] = described[key]


def known_fields(document: object, path: Sequence[str | int]) -> list[str]:
    """Field names allowed at this path; the document's values select between alternatives. Empty: any name."""
    return list(_schemas_along(document, path)[-1].get("properties", ()))


def example_at(document: object, path: Sequence[str | int]) -> str:
    """Return a valid value of the field at this path, or of the object or list around it, as one line of YAML."""
    schemas = _schemas_along(document, path)
    examples = _examples()
    for index in range(len(path), 0, -1):
        of_object, name = examples.get(schemas[index - 1].get("title", ""), {}), str(path[index - 1])
        if name in of_object:
            return _one_line({name: of_object[name]})
    return _one_line(examples["BerthConfiguration"]) if path else ""


def _schemas_along(document: object, path: Sequence[str | int]) -> list[Schema]:
    """Return the schemas of the document and of each part of the path."""
    whole = _schema()
    value, found = document, [_resolve(whole, document, whole)]
    for part in path:
        child = _child_schema(found[-1], part)
        value = value[part] if _has_child(value, part) else None  # type: ignore[index]
        found.append(_resolve(child, value, whole))
    return found


def _one_line(value: object) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1000, allow_unicode=True).strip()
    return text.removeprefix("{").removesuffix("}")


@cache
def _examples() -> Mapping[str, Mapping[str, object]]:
    return {title: each[EXAMPLE] for title, each in yaml.safe_load(DESCRIPTIONS.read_text(encoding="utf-8")).items()}


@cache
def _schema() -> Schema:
    return BerthConfiguration.model_json_schema()


def _resolve(schema: Schema, value: object, whole: Schema) -> Schema:
    """Follow references. Of several alternatives take the one whose `name` equals the value's `name`."""
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


def _has_child(value: object, part: str | int) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(value)
