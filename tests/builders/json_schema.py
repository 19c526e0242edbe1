"""A JSON Schema applied to a document: as much of the language as ours is written in."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

Schema = dict[str, Any]

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
# What says something to readers alone, or has been followed elsewhere.
_SILENT = {"$schema", "$defs", "title", "description", "default", "examples"}


def violations(document: object, schema: Schema) -> list[str]:
    """What the document breaks, one line each."""
    return list(_violations(document, schema, schema, "document"))


def _violations(value: Any, schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    for keyword, wanted in schema.items():
        if keyword in _SILENT:
            continue
        yield from _KEYWORDS[keyword](value, wanted, schema, whole, path)


def _ref(value: Any, wanted: str, schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    yield from _violations(value, whole["$defs"][wanted.removeprefix("#/$defs/")], whole, path)


def _type(value: Any, wanted: str, schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    if not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted in ("integer", "number")):
        yield f"{path} is no {wanted}"


def _properties(value: Any, wanted: Schema, schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    for name, each in wanted.items():
        if isinstance(value, dict) and name in value:
            yield from _violations(value[name], each, whole, f"{path}.{name}")


def _pattern_properties(value: Any, wanted: Schema, schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    for pattern, each in wanted.items():
        for name in value if isinstance(value, dict) else ():
            if re.search(pattern, name):
                yield from _violations(value[name], each, whole, f"{path}.{name}")


def _additional(value: Any, wanted: bool | Schema, schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    patterns = schema.get("patternProperties", {})
    for name in value if isinstance(value, dict) else ():
        if name in schema.get("properties", {}) or any(re.search(pattern, name) for pattern in patterns):
            continue
        if wanted is False:
            yield f"{path} has an unknown {name}"
        elif isinstance(wanted, dict):
            yield from _violations(value[name], wanted, whole, f"{path}.{name}")


def _required(value: Any, wanted: list[str], schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    for name in wanted:
        if isinstance(value, dict) and name not in value:
            yield f"{path} lacks {name}"


def _items(value: Any, wanted: Schema, schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    for index, item in enumerate(value if isinstance(value, list) else ()):
        yield from _violations(item, wanted, whole, f"{path}.{index}")


def _choice(value: Any, wanted: list[Schema], schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    fitting = sum(not list(_violations(value, each, whole, path)) for each in wanted)
    if fitting == 0 or ("oneOf" in schema and fitting > 1):
        yield f"{path} fits {fitting} of {len(wanted)} alternatives"


def _one_of(value: Any, wanted: list[Any], schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    if value not in wanted:
        yield f"{path} is none of {wanted}"


def _limit(value: Any, wanted: Any, schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    number, text, size = isinstance(value, int), isinstance(value, str), isinstance(value, list)
    if number and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{path} is out of its range"
    if text and "pattern" in schema and re.search(schema["pattern"], value) is None:
        yield f"{path} does not match {schema['pattern']}"
    if size and len(value) < schema.get("minItems", 0):
        yield f"{path} has too few items"
    if size and len(value) > schema.get("maxItems", len(value)):
        yield f"{path} has too many items"


def _exclusive(value: Any, wanted: Any, schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    if isinstance(value, int | float) and value <= wanted:
        yield f"{path} is out of its range"


def _const(value: Any, wanted: Any, schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    yield from _one_of(value, [wanted], schema, whole, path)


def _nothing(value: Any, wanted: Any, schema: Schema, whole: Schema, path: str) -> Iterator[str]:
    yield from ()


_KEYWORDS: dict[str, Callable[[Any, Any, Schema, Schema, str], Iterator[str]]] = {
    "$ref": _ref,
    "type": _type,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional,
    "required": _required,
    "items": _items,
    "anyOf": _choice,
    "oneOf": _choice,
    "enum": _one_of,
    "const": _const,
    "minimum": _limit,
    "exclusiveMinimum": _exclusive,
    "maximum": _limit,
    "minItems": _limit,
    "maxItems": _limit,
    "pattern": _limit,
    # The models take an item twice for once.
    "uniqueItems": _nothing,
}
