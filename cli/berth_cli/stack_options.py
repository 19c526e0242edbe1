"""The tables of a deployed stack, by its outputs or by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def table_options(output: str, what: str) -> Callable[[F], F]:
    """--stack, --table and --region of a command that works on one table; what: how the help calls it."""

    def decorate(command: F) -> F:
        command = click.option("--region", help="The stack's region, where it is not the AWS configuration's.")(command)
        command = click.option("--table", help=f"The {what} table's name, instead of the stack's.")(command)
        return click.option("--stack", help=f"The stack's name; its output {output} says which table.")(command)

    return decorate


def refuse_unless_one(stack: str | None, table: str | None) -> None:
    """Raises UsageError."""
    if (stack is None) == (table is None):
        raise click.UsageError("give either --stack NAME or --table NAME")
