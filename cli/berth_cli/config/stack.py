"""The tables and the functions that `berth config` works on: those of a stack, or tables by their names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from berth_cli.options import aws_errors, require_stack_or_table, table_options

if TYPE_CHECKING:
    from berth.configuration.store import ConfigurationStore
    from berth.reservations.ledger.table import LedgerTable
    from berth_cli.sources.stack import DeployedStack

TABLE_OUTPUT = "CacheTableName"
LEDGER_OUTPUT = "LedgerTableName"

F = TypeVar("F", bound=Callable[..., Any])


def stack_options(command: F) -> F:
    """Add --stack, --table, --ledger-table and --region."""
    command = click.option("--ledger-table", default="", help="Name of the ledger table, with --table.")(command)
    return table_options(TABLE_OUTPUT, "cache")(command)


@dataclass(frozen=True, slots=True)
class OpenStack:
    """deployed: None where the tables are given by their names. ledger: None where there is none."""

    cache_table: str
    store: ConfigurationStore
    ledger: LedgerTable | None
    deployed: DeployedStack | None


@contextmanager
def open_stack(stack: str | None, table: str | None, region: str | None, ledger_table: str = "") -> Iterator[OpenStack]:
    """Errors of AWS within the block, as click.ClickException."""
    require_stack_or_table(stack, table)
    # Imported here: the AWS SDK takes longer to import than a document takes to validate.
    import boto3

    from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
    from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
    from berth_cli.sources.stack import describe

    with aws_errors():
        deployed = None if stack is None else describe(stack, region)
        name = table or ("" if deployed is None else deployed.output(TABLE_OUTPUT))
        ledger_name = ledger_table if deployed is None else deployed.outputs.get(LEDGER_OUTPUT, "")
        client = boto3.client("dynamodb", region_name=region)
        yield OpenStack(
            name,
            DynamoDBConfigurationStore(client, name, ledger_name),
            DynamoDBLedgerTable(client, ledger_name) if ledger_name else None,
            deployed,
        )
