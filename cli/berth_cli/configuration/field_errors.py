"""Errors in the fields of a document: the field's position, the invalid value, and the valid values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from berth_cli.terminal.strict_yaml import YAMLDocument

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

WHOLE_DOCUMENT = "document"

# pydantic's messages that use Python type names, rewritten in YAML terms.
_YAML_MESSAGES = {
    "model_type": "Input should be a mapping",
    "dict_type": "Input should be a mapping",
    "tuple_type": "Input should be a list",
    "frozen_set_type": "Input should be a list",
}
_KINDS = {bool: "", int: "the number ", float: "the number ", str: "the string "}
_MAX_VALUE_LENGTH = 60
_QUOTED = re.compile(r"'([^']*)'")
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class FieldError:
    """An invalid field. `field`: its path, or `document` if the error concerns the whole document. `line`: the line
    number from 1; None if unknown.
    """

    field: str
    message: str
    line: int | None = None


def field_path(path: Iterable[object]) -> str:
    """Format the path as Kubernetes does: `pluginConfig[0].args.label`; a key with dots is in brackets."""
    text = ""
    for part in path:
        if isinstance(part, int) or _PLAIN_KEY.fullmatch(str(part)) is None:
            text += f"[{part}]"
        else:
            text += f".{part}" if text else str(part)
    return text or WHOLE_DOCUMENT


def field_errors(details: Sequence[ErrorDetails], document: YAMLDocument) -> list[FieldError]:
    """Return the errors of a validation, sorted by line."""
    found = [_field_error(detail, document) for detail in details]
    return sorted(found, key=lambda each: each.line or 0)


def _field_error(detail: ErrorDetails, document: YAMLDocument) -> FieldError:
    path = [part for part in detail["loc"] if part != "[key]"]
    if detail["type"] == "extra_forbidden":
        message = _unknown_field(path, document.value)
    else:
        message = "; ".join(_invalid_value(detail))
    return FieldError(field_path(path), message, document.line(path))


def _unknown_field(path: list[str | int], document: object) -> str:
    """Return a message with the field's right place, or the most similar name, and the allowed fields."""
    # Imported here: building the schema takes time.
    from berth_cli.configuration.schema import known_fields

    *parents, name = path
    known = known_fields(document, parents)
    hint = ""
    if child := next((each for each in known if name in known_fields(document, [*parents, each])), None):
        hint = f"`{name}` belongs under `{child}`; "
    elif parents and name in known_fields(document, []):
        hint = f"`{name}` belongs at the top level; "
    elif closest := _closest(str(name), known):
        hint = f"did you mean `{closest}`? "
    return f"unknown field; {hint}allowed: {', '.join(known)}" if known else "unknown field"


def _invalid_value(detail: ErrorDetails) -> Iterator[str]:
    """Yield the expected type, the invalid value, and the closest allowed value."""
    yield _YAML_MESSAGES.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
    value = detail["input"]
    is_container = isinstance(value, dict | list | tuple)
    if detail["type"] == "missing" or (is_container and not detail["type"].endswith("_type")):
        return
    yield f"found {_described(value)}"
    expected = _QUOTED.findall(str(detail.get("ctx", {}).get("expected", "")))
    if isinstance(value, str) and (closest := _closest(value, expected)):
        yield f"did you mean `{closest}`?"


def _described(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case bool():
            return str(value).lower()
    text = repr(value)
    return _KINDS.get(type(value), "") + (text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]}…")


def _closest(name: str, known: Sequence[str]) -> str:
    """Return the closest known name; empty if all differ too much. Underscores and case do not matter."""
    plain = {each.replace("_", "").replace("-", "").lower(): each for each in known}
    found = get_close_matches(name.replace("_", "").replace("-", "").lower(), plain, n=1, cutoff=0.7)
    return plain[found[0]] if found else ""
