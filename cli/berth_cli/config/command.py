"""`berth config`: the group of commands, and `berth config schema`."""

from __future__ import annotations

import click

from berth_cli.config.apply import apply
from berth_cli.config.check import check
from berth_cli.config.schema import schema_text


@click.group()
def config() -> None:
    """Check a BerthConfiguration document, apply it to a stack, or print its JSON Schema."""


config.add_command(check)
config.add_command(apply)


@config.command(epilog="Example: berth config schema > berth.schema.json")
def schema() -> None:
    """Print the JSON Schema of BerthConfiguration documents, for editors and CI checks."""
    click.echo(schema_text(), nl=False)
