"""The place where commands read the state of Berth: the options that name it, and a function to open it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from berth_cli.terminal.options import REGION_HELP, TLSFiles, collected, tls_files_options

if TYPE_CHECKING:
    from berth_cli.sources.stack import OpenTables

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class TableNames:
    """A stack, or tables by their names; empty if not given."""

    stack: str | None = None
    region: str | None = None
    cache_table: str = ""
    ledger_table: str = ""

    @property
    def is_given(self) -> bool:
        """True if a stack or the cache or ledger table is named."""
        return bool(self.stack or self.cache_table or self.ledger_table)

    def require(self, table: str) -> None:
        """Raise UsageError unless either the stack or this table is given."""
        given = {"cache": self.cache_table, "ledger": self.ledger_table}
        if not (self.stack or given[table]):
            raise click.UsageError(f"give --stack NAME or --{table}-table NAME")
        if self.stack and any(given.values()):
            raise click.UsageError("--stack names both tables: leave --cache-table and --ledger-table out")


def tables_options(command: F) -> F:
    """Add --stack, --cache-table, --ledger-table and --region; the command gets TableNames as `tables`."""
    command = collected("tables", TableNames, ("stack", "region", "cache_table", "ledger_table"))(command)
    command = click.option("--region", help=REGION_HELP)(command)
    command = click.option("--ledger-table", default="", help="Name of the ledger table, without --stack.")(command)
    command = click.option("--cache-table", default="", help="Name of the cache table, without --stack.")(command)
    return click.option("--stack", help="Name of the stack, whose outputs name the tables.")(command)


@dataclass(frozen=True, slots=True)
class StateSource:
    """The tables, or the `berth serve` behind a urlPrefix."""

    tables: TableNames
    url: str | None
    files: TLSFiles

    def check(self) -> None:
        """Raise UsageError unless one of the two is given."""
        if self.url is None:
            self.tables.require("ledger")
        elif self.tables.is_given:
            raise click.UsageError("--url is for a berth serve: give it without --stack and tables")

    def document(
        self,
        route: str,
        of_tables: Callable[[OpenTables], Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        """Return what this route of the server answers, or what is made of the tables. Raises UsageError and
        ClickException."""
        self.check()
        # Imported here: AWS SDK and HTTP client are slow to import, and a usage error must not wait for them.
        if self.url is None:
            from berth_cli.sources.stack import open_tables

            with open_tables(self.tables) as opened:
                return of_tables(opened)
        from berth_cli.sources.server import running_document

        return running_document(self.url, self.files, route)


def state_options(command: F) -> F:
    """Add the options of tables and of a server; the command gets a StateSource as `source`."""
    command = collected("source", StateSource, ("tables", "url", "files"))(command)
    command = tls_files_options(when="--url")(command)
    command = click.option("--url", help="urlPrefix of a berth serve, instead of --stack.")(command)
    return tables_options(command)
