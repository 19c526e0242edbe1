"""Names of the tables, from a stack or given one by one, and the command-line options for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from berth_cli.terminal.options import REGION_HELP, collected

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class TableNames:
    """The name of a stack, or names of tables; empty if not given."""

    stack: str | None = None
    region: str | None = None
    cache_table: str = ""
    ledger_table: str = ""

    @property
    def is_given(self) -> bool:
        """Whether a stack or the cache or ledger table is given."""
        return bool(self.stack or self.cache_table or self.ledger_table)

    def require(self, table: str) -> None:
        """Raise UsageError unless either the stack or this table is given."""
        given = {"cache": self.cache_table, "ledger": self.ledger_table}
        if not (self.stack or given[table]):
            raise click.UsageError(f"give --stack NAME or --{table}-table NAME")
        if self.stack and any(given.values()):
            raise click.UsageError("--stack names both tables: leave --cache-table and --ledger-table out")


def tables_options(command: F) -> F:
    """Add --stack, --cache-table, --ledger-table and --region. The command gets TableNames as `tables`."""
    command = collected("tables", TableNames, ("stack", "region", "cache_table", "ledger_table"))(command)
    command = click.option("--region", help=REGION_HELP)(command)
    command = click.option("--ledger-table", default="", help="Name of the ledger table, without --stack.")(command)
    command = click.option("--cache-table", default="", help="Name of the cache table, without --stack.")(command)
    return click.option("--stack", help="Name of the stack, whose outputs name the tables.")(command)
