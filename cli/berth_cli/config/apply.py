"""`berth config apply`: put a BerthConfiguration beside the node cache's head, where every function picks it up."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from berth_cli.configuration import load_configuration

if TYPE_CHECKING:
    from berth.nodecache.configurations import ConfigurationStore

OUTPUT = "CacheTableName"


@click.command(
    epilog="Examples: berth config apply berth.yaml --stack berth-production   "
    "berth config apply berth.yaml --table berth-cache-1A2B3C"
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--stack", help="The stack's name; its output CacheTableName says which table.")
@click.option("--table", help="The cache table's name, instead of the stack's.")
@click.option("--region", help="The stack's region, where it is not the AWS configuration's.")
def apply(file: Path, stack: str | None, table: str | None, region: str | None) -> None:
    """Apply the BerthConfiguration in FILE to a running stack, without a deployment.

    The document is validated first. Verbs use it from their next call on; the watcher within 15 seconds.
    """
    if (stack is None) == (table is None):
        raise click.UsageError("give either --stack NAME or --table NAME")
    configuration = load_configuration(file, None)
    # Only now: the AWS SDK takes longer to import than a wrong document to be found.
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError

    from berth.nodecache.configurations import hash_of
    from berth.nodecache.dynamodb_configuration import DynamoDBConfigurationStore
    from berth.nodecache.feed.table import TableUnavailable

    document = configuration.model_dump_json(by_alias=True, exclude_unset=True)
    try:
        name = table or _table_of(stack or "", region)
        store: ConfigurationStore = DynamoDBConfigurationStore(boto3.client("dynamodb", region_name=region), name)
        store.apply(document)
    except TableUnavailable as error:
        raise click.ClickException(str(error)) from error
    except (BotoCoreError, ClientError) as error:
        raise click.ClickException(f"{error}; are AWS credentials and region set?") from error
    click.echo(f"{file} is applied to {name}: profile {configuration.profile}, hash {hash_of(document)}")


def _table_of(stack: str, region: str | None) -> str:
    import boto3

    [found] = boto3.client("cloudformation", region_name=region).describe_stacks(StackName=stack)["Stacks"]
    for output in found.get("Outputs", ()):
        if output.get("OutputKey") == OUTPUT:
            return str(output["OutputValue"])
    raise click.ClickException(f"the stack {stack} has no output {OUTPUT}; is it a stack of Berth's?")
