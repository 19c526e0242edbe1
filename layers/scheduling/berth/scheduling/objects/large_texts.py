"""Decoding large texts of a pod's parts: only the fields that scheduling reads become objects.

Whoever creates pods decides how large the rest is: managedFields, environments, volumes. orjson makes an object of each
value, which takes most of a call with a pod of 1.5 MB. pydantic's parser checks all of the text too, and makes objects
of the named fields alone.

The result is what orjson decodes, without the other fields. Two things differ that Go never writes: numbers of more
than 64 bits, and NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson
from pydantic_core import CoreSchema, SchemaValidator, ValidationError, core_schema

from berth.scheduling.fields.reading import Object

_ANY = core_schema.any_schema()


class FieldsOf:
    """Decodes one part of a pod."""

    def __init__(self, names: Iterable[str], items: Mapping[str, Iterable[str]] | None = None) -> None:
        """names: the fields that are kept as they are. items: fields that are lists, and the fields of their items."""
        lists = {field: core_schema.list_schema(_object(kept)) for field, kept in (items or {}).items()}
        self._validator = SchemaValidator(_object(names, lists))

    def decode(self, text: str) -> Object:
        """The object with those fields. Where a list is of another type, all of the object, for the reading to name.

        Raises JSONDecodeError, also for a text that is no object.
        """
        try:
            found: Object = self._validator.validate_json(text)
        except ValidationError:
            return decode_object(text)
        return found


def decode_object(text: str) -> Object:
    """All of an object. Raises JSONDecodeError."""
    found = orjson.loads(text)
    if not isinstance(found, dict):
        raise orjson.JSONDecodeError("not an object", text[:1], 0)
    return found


def _object(names: Iterable[str], others: Mapping[str, CoreSchema] | None = None) -> CoreSchema:
    fields = {**dict.fromkeys(names, _ANY), **(others or {})}
    return core_schema.typed_dict_schema(
        {name: core_schema.typed_dict_field(schema, required=False) for name, schema in fields.items()},
        extra_behavior="ignore",
    )
