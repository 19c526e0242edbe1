"""Inputs of the command from a stack, a document or a secret; errors become click exceptions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.config.document import load_configuration
from berth_cli.scheduler_config.address import BasicCredentials, InvalidAddress, parse_address

# The AWS SDK is imported in the functions that need it, so that a usage error appears without delay.
if TYPE_CHECKING:
    from berth_cli.deployed_stack import DeployedStack

DEFAULT_TIMEOUT = "5s"


def find_stack(name: str | None, region: str | None) -> DeployedStack | None:
    """Describe the stack; None without a name."""
    if name is None:
        return None
    from berth_cli.deployed_stack import StackUnavailable, describe

    try:
        return describe(name, region)
    except StackUnavailable as error:
        raise click.ClickException(str(error)) from error


def resolve_address(url: str | None, stack: DeployedStack | None) -> str:
    """The given address, else the stack's."""
    if url is None:
        if stack is None:
            raise click.UsageError("give --stack NAME or --url URL")
        from berth_cli.deployed_stack import URL_PREFIX, StackUnavailable

        try:
            return stack.output(URL_PREFIX)
        except StackUnavailable as error:
            raise click.ClickException(str(error)) from error
    try:
        parse_address(url)
    except InvalidAddress as error:
        raise click.BadParameter(str(error), param_hint="--url") from error
    return url


def resolve_credentials(
    user: str | None, source: str | None, stack: DeployedStack | None, region: str | None
) -> BasicCredentials | None:
    """The Basic credentials; None without user and password source."""
    if user is None and source is None:
        return None
    from berth_cli.deployed_stack import StackUnavailable
    from berth_cli.scheduler_config.basic_credentials import PasswordUnavailable, basic

    try:
        return basic(user, source, stack, region)
    except (PasswordUnavailable, StackUnavailable) as error:
        raise click.ClickException(str(error)) from error


def resolve_configuration(config: Path | None, stack: DeployedStack | None) -> BerthConfiguration:
    """The given document, else the configuration in use by the stack."""
    if config is not None or stack is None:
        return load_configuration(config, None)
    from berth_cli.deployed_stack import StackUnavailable

    try:
        return configuration_in_force(stack)
    except StackUnavailable as error:
        raise click.ClickException(str(error)) from error


def configuration_in_force(stack: DeployedStack) -> BerthConfiguration:
    """The applied document, else the profile of the stack parameter Profile; its plugins can be built. Raises
    StackUnavailable."""
    import boto3

    from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
    from berth.configuration.store import ActiveConfiguration, ConfigurationInvalid, parsed
    from berth.nodecache.feed.table import TableUnavailable
    from berth_cli.deployed_stack import CACHE_TABLE_NAME, CLIENT_CONFIG, LEDGER_TABLE_NAME, StackUnavailable

    client = boto3.client("dynamodb", region_name=stack.region, config=CLIENT_CONFIG)
    try:
        ledger_table = stack.outputs.get(LEDGER_TABLE_NAME, "")
        document = DynamoDBConfigurationStore(client, stack.output(CACHE_TABLE_NAME), ledger_table).read()
        found = parsed(document or stack.configuration_document, f"the configuration of the stack {stack.name}")
        return ActiveConfiguration.of(found).document
    except (TableUnavailable, ConfigurationInvalid) as error:
        raise StackUnavailable(str(error)) from error


def missing_credentials_note(stack: DeployedStack | None, *, password: bool, certificate: bool) -> str:
    """A note if the stack requires credentials that this configuration does not contain; else empty."""
    required = "" if stack is None else stack.parameters.get("Authentication", "")
    if required == "basic" and not password:
        return "the stack requires Basic credentials: give --password-from stack"
    if required == "mtls" and not certificate:
        return "the stack requires a client certificate: give --tls-client-cert and --tls-client-key"
    return ""


def resolve_timeout(stack: DeployedStack | None) -> str:
    """The stack's httpTimeout, else the default."""
    seconds = "" if stack is None else stack.http_timeout
    return f"{seconds}s" if seconds else DEFAULT_TIMEOUT
