"""`berth config apply`: store a BerthConfiguration in the cache table, where every function reads it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from berth_cli.config.document import display_name, load_configuration
from berth_cli.stack_options import require_stack_or_table, table_options

if TYPE_CHECKING:
    from berth.configuration.store import ConfigurationStore

OUTPUT = "CacheTableName"


EPILOG = """\b
Examples:
  berth config apply berth.yaml --stack berth-production
  cat berth.yaml | berth config apply - --table berth-cache-1A2B3C
"""


@click.command(epilog=EPILOG)
@click.argument("file", type=click.Path(path_type=Path))
@table_options(OUTPUT, "cache")
def apply(file: Path, stack: str | None, table: str | None, region: str | None) -> None:
    """Apply the BerthConfiguration in FILE to a running stack without a deployment.

    `-` reads standard input. The document is validated first. The verbs use it from their next call, the watcher
    within 15 seconds. Exit status: 0 applied, 1 invalid document or unavailable stack or table, 2 usage error.
    """
    require_stack_or_table(stack, table)
    configuration = load_configuration(file, None)
    for doubt in configuration.warnings:
        click.echo(f"{display_name(file)}: warning: {doubt}", err=True)
    # Imported here: the AWS SDK takes longer to import than the validation takes.
    import boto3
    from botocore.exceptions import BotoCoreError

    from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
    from berth.configuration.store import hash_of
    from berth.nodecache.feed.table import TableUnavailable
    from berth_cli.deployed_stack import StackUnavailable, describe

    document = configuration.model_dump_json(by_alias=True, exclude_unset=True)
    try:
        name = table or describe(stack or "", region).output(OUTPUT)
        store: ConfigurationStore = DynamoDBConfigurationStore(boto3.client("dynamodb", region_name=region), name)
        store.apply(document)
    except (TableUnavailable, StackUnavailable) as error:
        raise click.ClickException(str(error)) from error
    except BotoCoreError as error:
        raise click.ClickException(f"{error}; are AWS credentials and region set?") from error
    click.echo(f"{display_name(file)} is applied to {name}: profile {configuration.profile}, hash {hash_of(document)}")
