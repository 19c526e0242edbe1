"""The source of Berth's state for commands: a stack's tables, or a `berth serve`. Adds the options to select it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from berth_cli.sources.tables import TableNames, tables_options
from berth_cli.terminal.options import TLSFiles, collected, tls_files_options

if TYPE_CHECKING:
    from berth_cli.sources.stack import OpenTables

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class StateSource:
    """The source of Berth's state: tables, or the `berth serve` behind a urlPrefix."""

    tables: TableNames
    url: str | None
    files: TLSFiles

    def check(self) -> None:
        """Raise UsageError unless exactly one source is given."""
        if self.url is None:
            self.tables.require("ledger")
        elif self.tables.is_given:
            raise click.UsageError("--url is for a berth serve: give it without --stack and tables")

    def document(
        self,
        route: str,
        of_tables: Callable[[OpenTables], Mapping[str, Any]],
    ) -> Mapping[str, Any]:
        """Return the server's document for this route, or the document that `of_tables` builds. Raises UsageError and
        ClickException."""
        self.check()
        # Imported here: AWS SDK and HTTP client are slow to import, and usage errors must not wait for them.
        if self.url is None:
            from berth_cli.sources.stack import open_tables

            with open_tables(self.tables) as opened:
                return of_tables(opened)
        from berth_cli.sources.server import running_document

        return running_document(self.url, self.files, route)


def state_options(command: F) -> F:
    """Add the options of tables and of a server. The command gets a StateSource as `source`."""
    command = collected("source", StateSource, ("tables", "url", "files"))(command)
    command = tls_files_options(when="--url")(command)
    command = click.option("--url", help="urlPrefix of a berth serve, instead of --stack.")(command)
    return tables_options(command)
