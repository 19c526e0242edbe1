"""Reads fields of API objects from untrusted input.

Objects from a request's body, the cache and a dump have the same form, so the same functions read them. As in Go, null
counts as absent. If a field has the wrong type, these functions raise MalformedField. Valid JSON or YAML never causes
another exception.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from sys import intern
from types import MappingProxyType
from typing import TypeGuard

from berth.scheduling.fields.quantity import fits

Object = dict[str, object]

NO_ANNOTATIONS: Mapping[str, str] = MappingProxyType({})
MAX_ANNOTATION = 4096
NO_TEXT = "?"
"""The value that replaces an unreadable text. It is neither a quantity nor a number."""

_STRING = {str}


class MalformedField(Exception):
    """A field cannot be read; the message names the field."""


@dataclass(frozen=True, slots=True)
class UnreadableObject:
    """An object that cannot be read; `cause` names the field."""

    cause: str


def read_object(value: object, path: str) -> Object:
    """Read an object; null counts as an empty object."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise MalformedField(f"{path} is not an object")
    return value


def read_object_list(value: object, path: str) -> list[Object]:
    """Read a list of objects; null counts as an empty list."""
    return [read_object(item, f"{path}[]") for item in read_list(value, path)]


def read_list(value: object, path: str) -> list[object]:
    """Read a list; null counts as an empty list."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise MalformedField(f"{path} is not a list")
    return value


def read_string(value: object, path: str) -> str:
    """Read a string; null counts as an empty string."""
    if value is None:
        return ""
    if not isinstance(value, str):
        raise MalformedField(f"{path} is not a string")
    return value


def read_strings(value: object, path: str) -> tuple[str, ...]:
    """Read a list of strings; null counts as an empty list."""
    return tuple(read_string(item, f"{path}[]") for item in read_list(value, path))


def read_integer(value: object, path: str) -> int | None:
    """Read an integer of 64 bits; null gives None. YAML allows larger integers."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not fits(value):
        raise MalformedField(f"{path} is not an integer")
    return value


def read_boolean(value: object, path: str) -> bool:
    """Read a boolean; null counts as False."""
    if value is None:
        return False
    if not isinstance(value, bool):
        raise MalformedField(f"{path} is not a boolean")
    return value


def read_string_map(value: object, path: str) -> dict[str, str]:
    """Read a map of strings; null counts as an empty map."""
    if value is None:
        return {}
    if not is_string_map(value):
        raise MalformedField(f"{path} is not a map of strings")
    return value


def read_annotations(metadata: Object) -> Mapping[str, str]:
    """Read annotations. NO_TEXT replaces a value that is not a string, or is too long."""
    found = metadata.get("annotations")
    if not isinstance(found, dict) or not found:
        return NO_ANNOTATIONS
    return {
        intern(key): value if isinstance(value, str) and len(value) <= MAX_ANNOTATION else NO_TEXT
        for key, value in found.items()
        if isinstance(key, str)
    }


def part(obj: Mapping[str, object], name: str) -> Object:
    """Return a field that is an object, such as `metadata`; {} if it is absent or not an object."""
    found = obj.get(name)
    return found if isinstance(found, dict) else {}


def condition_in(status: Object, kind: str) -> Object:
    """Return the first condition of this type; {} if there is none. Later conditions of the type do not count."""
    conditions = status.get("conditions")
    for condition in conditions if isinstance(conditions, list) else ():
        if isinstance(condition, dict) and condition.get("type") == kind:
            return condition
    return {}


def is_string_map(value: object) -> TypeGuard[dict[str, str]]:
    """Return whether this is a map whose keys and values are strings. YAML allows other keys: `on` is read as True."""
    if not isinstance(value, dict):
        return False
    # Compare the sets of types first: checking each pair takes ten times as long.
    return {*map(type, value), *map(type, value.values())} <= _STRING or all(
        isinstance(key, str) and isinstance(content, str) for key, content in value.items()
    )


def name_or_empty(value: object) -> str:
    """Read a name. A value that is not a string counts as absent and does not make the object unreadable."""
    return value if isinstance(value, str) else ""


def read_time(value: object) -> float | None:
    """Read a time in RFC 3339 as seconds since the epoch; None if the value is not a time."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
