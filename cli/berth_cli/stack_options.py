"""The options --stack, --table and --region of commands that work on one table of a deployed stack.

Apart from deployed_stack.py, which imports the AWS SDK: a usage error must not wait for that import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

REGION_HELP = "AWS region of the stack; default: from the AWS configuration."


def table_options(output: str, table: str) -> Callable[[F], F]:
    """Add the options to a command. `output`: the stack output that names the table; `table`: its name in help."""

    def decorate(command: F) -> F:
        command = click.option("--region", help=REGION_HELP)(command)
        command = click.option("--table", help=f"Name of the {table} table, instead of --stack.")(command)
        return click.option("--stack", help=f"Name of the stack; its output {output} names the table.")(command)

    return decorate


def require_stack_or_table(stack: str | None, table: str | None) -> None:
    """Raises UsageError."""
    if (stack is None) == (table is None):
        raise click.UsageError("give either --stack NAME or --table NAME")
