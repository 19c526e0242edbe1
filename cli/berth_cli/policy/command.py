"""`berth policy`: the group of commands, which main.py imports by this path."""

from __future__ import annotations

import click

from berth_cli.policy.diff.command import diff
from berth_cli.policy.test.command import test


@click.group()
def policy() -> None:
    """Test a policy, and show what a new one changes, before it is live."""


for command in (test, diff):
    policy.add_command(command)
