"""The commands of `berth config`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
import orjson

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.config.apply import apply
from berth_cli.config.document import WrongField, bytes_of, name_of, parsed
from berth_cli.config.schema import schema_text

CHECK_EPILOG = """\b
Examples:
  berth config check examples/configuration.yaml
  cat berth.yaml | berth config check - -o json
"""


@click.group()
def config() -> None:
    """Check a BerthConfiguration document, apply it to a stack, or print the JSON Schema of such documents."""


config.add_command(apply)


@config.command(epilog=CHECK_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def check(file: Path, output: str) -> None:
    """Say whether FILE is a valid BerthConfiguration, and if not, which fields are wrong.

    `-` reads standard input. Exit status: 0 valid, 1 not valid, 2 no such file.
    """
    try:
        text = bytes_of(file)
    except OSError as error:
        raise click.BadParameter(f"{file}: {error.strerror}") from error
    name, found = name_of(file), parsed(text)
    valid = isinstance(found, BerthConfiguration)
    if output == "json":
        click.echo(orjson.dumps({"file": name, **as_json(found)}, option=orjson.OPT_INDENT_2))
    elif isinstance(found, BerthConfiguration):
        click.echo(f"{name} is valid: {in_words(found)}")
        for doubt in found.doubts:
            click.echo(f"{name}: warning: {doubt}", err=True)
    else:
        for wrong in found:
            click.echo(f"{name}: {wrong.field}: {wrong.message}", err=True)
    sys.exit(0 if valid else 1)


@config.command(epilog="Example: berth config schema > berth.schema.json")
def schema() -> None:
    """Print the JSON Schema of BerthConfiguration documents, for editors and for checks elsewhere."""
    click.echo(schema_text(), nl=False)


def in_words(configuration: BerthConfiguration) -> str:
    """On one line: the profile and its plugins, then those of single schedulers."""
    told = [f"{_words(configuration, configuration.profile)}"]
    told += [f"for {scheduler}: {_words(configuration, name)}" for scheduler, name in configuration.profiles.items()]
    return "; ".join(told)


def _words(configuration: BerthConfiguration, name: str) -> str:
    plugins = configuration.composition(name).plugins
    return f"profile {name}, plugins {', '.join(each.name for each in plugins)}"


def as_json(found: BerthConfiguration | Sequence[WrongField]) -> dict[str, object]:
    """The same for programs, or the wrong fields."""
    if not isinstance(found, BerthConfiguration):
        errors = [{"field": wrong.field, "message": wrong.message} for wrong in found]
        return {"valid": False, "errors": errors}
    return {
        "valid": True,
        "warnings": list(found.doubts),
        "profile": found.profile,
        "plugins": _plugins(found, found.profile),
        "profiles": {
            scheduler: {"profile": name, "plugins": _plugins(found, name)} for scheduler, name in found.profiles.items()
        },
    }


def _plugins(configuration: BerthConfiguration, name: str) -> list[dict[str, object]]:
    return [{"name": each.name, "weight": each.weight} for each in configuration.composition(name).plugins]
