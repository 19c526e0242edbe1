"""The JSON Schema of BerthConfiguration documents, made from the models that validate them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
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
    return json.dumps(schema_document(), indent=2) + "\n"


def schema_document() -> dict[str, Any]:
    """The schema with a description of each field. Raises FieldsUndocumented."""
    found = {"$schema": DIALECT, **BerthConfiguration.model_json_schema()}
    _describe(found, yaml.safe_load(DESCRIPTIONS.read_text(encoding="utf-8")))
    return found


def objects_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Each object of the schema that has a title and fields of its own, at any depth."""
    if isinstance(schema, dict):
        if "title" in schema and schema.get("properties"):
            yield schema
        for each in schema.values():
            yield from objects_in(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from objects_in(each)


def _describe(schema: dict[str, Any], texts: Mapping[str, Mapping[str, str]]) -> None:
    """Writes the texts into the schema; each field has one, and each text is some field's."""
    objects = {each["title"]: each for each in objects_in(schema)}
    fields = {(title, OBJECT): each for title, each in objects.items()}
    fields |= {(title, name): field for title, each in objects.items() for name, field in each["properties"].items()}
    described = {(title, name): text for title, of_title in texts.items() for name, text in of_title.items()}
    if wrong := fields.keys() ^ described.keys():
        raise FieldsUndocumented(f"{DESCRIPTIONS.name} and the models differ: {sorted(wrong)}")
    for key, field in fields.items():
        field["description"] = described[key]
