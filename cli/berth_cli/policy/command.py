"""`berth policy`: the group of commands."""

from __future__ import annotations

import click

from berth_cli.policy.diff.command import diff


@click.group()
def policy() -> None:
    """Show what a new policy changes before it is live."""


policy.add_command(diff)
