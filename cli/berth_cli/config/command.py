"""`berth config check` and `berth config schema`; `apply` is in apply.py."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click
import orjson

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.config.apply import apply
from berth_cli.config.document import FieldError, display_name, parse_document, read_bytes
from berth_cli.config.schema import schema_text

CHECK_EPILOG = """\b
Examples:
  berth config check examples/configuration.yaml
  cat berth.yaml | berth config check - -o json
"""


@click.group()
def config() -> None:
    """Check a BerthConfiguration document, apply it to a stack, or print its JSON Schema."""


config.add_command(apply)


@config.command(epilog=CHECK_EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def check(file: Path, output: str) -> None:
    """Validate the BerthConfiguration in FILE and list its invalid fields.

    `-` reads standard input. Exit status: 0 valid, 1 invalid, 2 file not found.
    """
    try:
        text = read_bytes(file)
    except OSError as error:
        raise click.BadParameter(f"{file}: {error.strerror}") from error
    name, result = display_name(file), parse_document(text)
    valid = isinstance(result, BerthConfiguration)
    if output == "json":
        click.echo(orjson.dumps({"file": name, **description_document(result)}, option=orjson.OPT_INDENT_2))
    elif isinstance(result, BerthConfiguration):
        click.echo(f"{name} is valid: {describe(result)}")
        for doubt in result.warnings:
            click.echo(f"{name}: warning: {doubt}", err=True)
    else:
        for field_error in result:
            click.echo(f"{name}: {field_error.field}: {field_error.message}", err=True)
    sys.exit(0 if valid else 1)


@config.command(epilog="Example: berth config schema > berth.schema.json")
def schema() -> None:
    """Print the JSON Schema of BerthConfiguration documents, for editors and CI checks."""
    click.echo(schema_text(), nl=False)


def describe(configuration: BerthConfiguration) -> str:
    """One line: the profile and its plugins, then the profiles of individual schedulers."""
    parts = [f"{_describe_profile(configuration, configuration.profile)}"]
    parts += [
        f"for {scheduler}: {_describe_profile(configuration, name)}"
        for scheduler, name in configuration.profiles.items()
    ]
    return "; ".join(parts)


def _describe_profile(configuration: BerthConfiguration, name: str) -> str:
    plugins = configuration.composition(name).plugins
    return f"profile {name}, plugins {', '.join(each.name for each in plugins)}"


def description_document(result: BerthConfiguration | Sequence[FieldError]) -> dict[str, object]:
    """The profiles and plugins, or the invalid fields, as a JSON object."""
    if not isinstance(result, BerthConfiguration):
        errors = [{"field": error.field, "message": error.message} for error in result]
        return {"valid": False, "errors": errors}
    return {
        "valid": True,
        "warnings": list(result.warnings),
        "profile": result.profile,
        "plugins": _plugins(result, result.profile),
        "profiles": {
            scheduler: {"profile": name, "plugins": _plugins(result, name)}
            for scheduler, name in result.profiles.items()
        },
    }


def _plugins(configuration: BerthConfiguration, name: str) -> list[dict[str, object]]:
    return [{"name": each.name, "weight": each.weight} for each in configuration.composition(name).plugins]
