"""`berth plugin`: the group of commands, which main.py imports by this path."""

from __future__ import annotations

import click

from berth_cli.plugin.check import check
from berth_cli.plugin.package import package


@click.group()
def plugin() -> None:
    """Check plugins of your own, and build a Lambda layer of them."""


for command in (check, package):
    plugin.add_command(command)
