"""`berth config apply`: store a BerthConfiguration in the cache table, where every function reads it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import click

from berth_cli.config.document import display_name, load_document, located
from berth_cli.config.warnings import configuration_warnings
from berth_cli.stack_options import require_stack_or_table, table_options

if TYPE_CHECKING:
    from berth.configuration.store import ConfigurationStore
    from berth.reservations.ledger.table import LedgerTable

OUTPUT = "CacheTableName"
LEDGER_OUTPUT = "LedgerTableName"


EPILOG = """\b
Examples:
  berth config apply berth.yaml --stack berth-production
  berth config apply berth.yaml --stack berth-production --stop-counting
  cat berth.yaml | berth config apply - --table berth-cache-1A2B3C
"""


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@table_options(OUTPUT, "cache")
@click.option("--ledger-table", default="", help="Name of the ledger table, with --table.")
@click.option(
    "--stop-counting", is_flag=True, help="The document counts nothing, although the ledger has counted resources."
)
def apply(
    file: Path, stack: str | None, table: str | None, region: str | None, ledger_table: str, stop_counting: bool
) -> None:
    """Apply the BerthConfiguration in FILE to a running stack without a deployment.

    `-` reads standard input. The document is validated first. The verbs use it from their next call, the watcher
    within 15 seconds. A document that counts nothing needs --stop-counting once the ledger has counted.

    Exit status: 0 applied, 1 invalid document or unavailable stack or table, 2 usage error.
    """
    require_stack_or_table(stack, table)
    if ledger_table and stack is not None:
        raise click.UsageError("--ledger-table is for --table: the stack's output names its ledger table")
    loaded = load_document(file)
    configuration = loaded.configuration
    for warning in configuration_warnings(configuration):
        line = loaded.source.line(warning.path)
        click.echo(located(display_name(file), f"warning: {warning.field}", warning.message, line), err=True)
    counts = configuration.policy().counting.counts
    if counts and stop_counting:
        raise click.ClickException(f"{display_name(file)} counts resources: --stop-counting is for one without them")
    # Imported here: the AWS SDK takes longer to import than the validation takes.
    import boto3
    from botocore.exceptions import BotoCoreError

    from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
    from berth.configuration.store import hash_of
    from berth.nodecache.feed.table import TableUnavailable
    from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
    from berth_cli.deployed_stack import StackUnavailable, describe

    document = configuration.model_dump_json(by_alias=True, exclude_unset=True)
    try:
        deployed = None if stack is None else describe(stack, region)
        name = table or ("" if deployed is None else deployed.output(OUTPUT))
        ledger_name = ledger_table if deployed is None else deployed.outputs.get(LEDGER_OUTPUT, "")
        client = boto3.client("dynamodb", region_name=region)
        store: ConfigurationStore = DynamoDBConfigurationStore(client, name, ledger_name)
        ledger = DynamoDBLedgerTable(client, ledger_name) if ledger_name else None
        if counts:
            _request_rebuild_if_stopped(ledger, store)
            store.apply(document)
        else:
            store.apply(document, stops_counting=stop_counting or _needs_no_stop(ledger, store))
    except (TableUnavailable, StackUnavailable) as error:
        raise click.ClickException(str(error)) from error
    except BotoCoreError as error:
        raise click.ClickException(f"{error}; are AWS credentials and region set?") from error
    click.echo(f"{display_name(file)} is applied to {name}: profile {configuration.profile}, hash {hash_of(document)}")


def _request_rebuild_if_stopped(ledger: LedgerTable | None, store: ConfigurationStore) -> None:
    """While counting was stopped, pods were bound that the ledger does not have."""
    from berth.reservations.ledger.table import Marker, MarkerState

    seen = None if ledger is None else ledger.marker()
    if ledger is not None and seen is not None and store.counting_is_stopped():
        requested = Marker(MarkerState.REBUILDING, seen.epoch, time.time(), uuid4().hex)
        if not ledger.put_marker(requested, seen):
            raise click.ClickException("the ledger changed at the same time; apply the document again")
        click.echo("requested a rebuild of the ledger from the watcher: counting was stopped before")


def _needs_no_stop(ledger: LedgerTable | None, store: ConfigurationStore) -> bool:
    """Whether counting was stopped before. Raises ClickException where the ledger still counts."""
    if ledger is None or ledger.marker() is None:
        return False
    if store.counting_is_stopped():
        return True
    raise click.ClickException(
        "the document counts nothing, but the ledger counts resources: add managedResources, or give --stop-counting"
    )
