"""`berth plugin`: the group of commands."""

from __future__ import annotations

import click

from berth_cli.plugin.check import check


@click.group()
def plugin() -> None:
    """Check plugins of your own."""


plugin.add_command(check)
