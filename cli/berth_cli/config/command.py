"""`berth config`: the group of commands, and `berth config schema`."""

from __future__ import annotations

import click

from berth_cli.config.apply import apply
from berth_cli.config.check import check
from berth_cli.config.schema import schema_text
from berth_cli.config.versions import history, rollback, show


@click.group()
def config() -> None:
    """Check BerthConfiguration documents, apply them to a stack and take them back."""


for command in (check, apply, show, history, rollback):
    config.add_command(command)


@config.command(epilog="Example: berth config schema > berth.schema.json")
def schema() -> None:
    """Print the JSON Schema of BerthConfiguration documents, for editors and CI checks."""
    click.echo(schema_text(), nl=False)
