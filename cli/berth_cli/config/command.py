"""The commands of `berth config`."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import orjson

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.config.apply import apply
from berth_cli.config.description import as_json, in_words
from berth_cli.config.document import bytes_of, name_of, parsed
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
