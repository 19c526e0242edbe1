"""BerthConfiguration from --config or --profile, with errors that name the field and what may stand there."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
from pydantic import ValidationError

from berth.scheduling.configuration import BerthConfiguration
from berth_cli.config import strict_yaml

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


# What pydantic says in Python's words.
_IN_WORDS_OF_YAML = {
    "model_type": "Input should be a mapping",
    "dict_type": "Input should be a mapping",
    "tuple_type": "Input should be a list",
    "frozen_set_type": "Input should be a list",
}


STDIN = "-"


@dataclass(frozen=True, slots=True)
class WrongField:
    """`field`: its path in the document, with dots; `document` where no field is to blame."""

    field: str
    message: str


def load_configuration(config: Path | None, profile: str | None) -> BerthConfiguration:
    """Raises click.ClickException with one line per wrong field."""
    if config is not None and profile is not None:
        raise click.UsageError("--config and --profile exclude each other; name the profile in the document")
    if config is None:
        return _or_raise(validated({"profile": profile} if profile else {}), "--profile")
    try:
        text = bytes_of(config)
    except OSError as error:
        raise click.ClickException(f"{config}: {error.strerror}") from error
    return _or_raise(parsed(text), name_of(config))


def name_of(file: Path) -> str:
    """What messages call it."""
    return "standard input" if str(file) == STDIN else str(file)


def bytes_of(file: Path) -> bytes:
    """What is in it; `-` is standard input. Raises OSError."""
    return sys.stdin.buffer.read() if str(file) == STDIN else file.read_bytes()


def parsed(text: bytes) -> BerthConfiguration | list[WrongField]:
    """The document of a text, or what is wrong with it."""
    try:
        document = strict_yaml.load(text)
    except strict_yaml.NotOneDocument as error:
        return [WrongField(error.field or "document", str(error))]
    return validated(document)


def validated(document: object) -> BerthConfiguration | list[WrongField]:
    """A document, or what is wrong with it."""
    try:
        # Python's own names of the fields are no part of the document's form.
        found = BerthConfiguration.model_validate(document, by_alias=True, by_name=False)
    except ValidationError as error:
        return [_wrong_field(detail, document) for detail in error.errors()]
    try:
        found.policy()
    except Exception as error:
        # A plugin of the user's own: what its constructor raises is anything.
        return [WrongField("document", f"the policy cannot be built: {type(error).__name__}: {error}")]
    return found


def _wrong_field(detail: ErrorDetails, document: object) -> WrongField:
    place = [part for part in detail["loc"] if part != "[key]"]
    message = _IN_WORDS_OF_YAML.get(detail["type"]) or detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "extra_forbidden":
        # Only now: the schema takes a moment to make.
        from berth_cli.config.schema import known_fields

        known = known_fields(document, place[:-1])
        message += f"; there {'are' if len(known) > 1 else 'is'} {', '.join(known)}" if known else ""
    return WrongField(".".join(map(str, place)) or "document", message)


def _or_raise(found: BerthConfiguration | list[WrongField], where: str) -> BerthConfiguration:
    if isinstance(found, BerthConfiguration):
        return found
    raise click.ClickException("\n".join(f"{where}: {each.field}: {each.message}" for each in found))
