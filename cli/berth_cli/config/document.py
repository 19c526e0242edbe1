"""Read a BerthConfiguration from --config or --profile. Errors name the field and the allowed values."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from pydantic import ValidationError

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.config import strict_yaml

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


# Messages of pydantic that use Python's type names, in the words of YAML.
_YAML_MESSAGES = {
    "model_type": "Input should be a mapping",
    "dict_type": "Input should be a mapping",
    "tuple_type": "Input should be a list",
    "frozen_set_type": "Input should be a list",
}


STDIN = "-"


@dataclass(frozen=True, slots=True)
class FieldError:
    """An invalid field. `field`: dotted path, or `document` if the error concerns the whole document."""

    field: str
    message: str


def load_configuration(config: Path | None, profile: str | None) -> BerthConfiguration:
    """Load a document, a profile or the defaults. Raises click.ClickException with one line per invalid field."""
    if config is not None and profile is not None:
        raise click.UsageError("--config and --profile exclude each other; name the profile in the document")
    if config is None:
        return _require_valid(validate_document({"profile": profile} if profile else {}), "--profile")
    try:
        text = read_bytes(config)
    except OSError as error:
        raise click.ClickException(f"{config}: {error.strerror}") from error
    return _require_valid(parse_document(text), display_name(config))


def display_name(file: Path) -> str:
    """The name of the file in messages."""
    return "standard input" if str(file) == STDIN else str(file)


def read_bytes(file: Path) -> bytes:
    """The content of the file; `-` reads standard input. Raises OSError."""
    return sys.stdin.buffer.read() if str(file) == STDIN else file.read_bytes()


def parse_document(text: bytes) -> BerthConfiguration | list[FieldError]:
    """Parse YAML or JSON text into a configuration, or return its errors."""
    try:
        document = strict_yaml.load(text)
    except strict_yaml.InvalidYAML as error:
        return [FieldError(error.field or "document", str(error))]
    return validate_document(document)


def validate_document(document: object) -> BerthConfiguration | list[FieldError]:
    """Validate a parsed document, or return its errors."""
    try:
        # The document uses camelCase names only: Python's field names are not accepted.
        configuration = BerthConfiguration.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        return [_field_error(detail, document) for detail in error.errors()]
    try:
        configuration.policy()
    except Exception as error:
        # A custom plugin's constructor may raise any exception.
        return [FieldError("document", f"the policy cannot be built: {type(error).__name__}: {error}")]
    return configuration


def _field_error(detail: ErrorDetails, document: object) -> FieldError:
    path = [part for part in detail["loc"] if part != "[key]"]
    message = _YAML_MESSAGES.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        # Imported here: building the schema takes a moment.
        from berth_cli.config.schema import known_fields

        known = known_fields(document, path[:-1])
        message += f"; allowed: {', '.join(known)}" if known else ""
    return FieldError(".".join(map(str, path)) or "document", message)


def _require_valid(result: BerthConfiguration | list[FieldError], source: str) -> BerthConfiguration:
    if isinstance(result, BerthConfiguration):
        return result
    raise click.ClickException("\n".join(f"{source}: {each.field}: {each.message}" for each in result))
