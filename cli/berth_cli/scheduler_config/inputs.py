"""What the command takes from a stack, a document or a secret, with errors as click tells them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from berth.scheduling.configuration import BerthConfiguration
from berth_cli.config.document import load_configuration
from berth_cli.scheduler_config.address import Basic, NotAnAddress, checked

# The AWS SDK is imported where a stack is asked: it takes longer than a wrong option to be found.
if TYPE_CHECKING:
    from berth_cli.deployed_stack import DeployedStack

DEFAULT_TIMEOUT = "5s"


def stack_of(name: str | None, region: str | None) -> DeployedStack | None:
    """None where no stack is named."""
    if name is None:
        return None
    from berth_cli.deployed_stack import StackUnavailable, describe

    try:
        return describe(name, region)
    except StackUnavailable as error:
        raise click.ClickException(str(error)) from error


def address_of(url: str | None, stack: DeployedStack | None) -> str:
    """The one that is given, else the stack's."""
    if url is None:
        if stack is None:
            raise click.UsageError("give --stack NAME or --url URL")
        from berth_cli.deployed_stack import URL_PREFIX, StackUnavailable

        try:
            return stack.output(URL_PREFIX)
        except StackUnavailable as error:
            raise click.ClickException(str(error)) from error
    try:
        checked(url)
    except NotAnAddress as error:
        raise click.BadParameter(str(error), param_hint="--url") from error
    return url


def basic_of(user: str | None, source: str | None, stack: DeployedStack | None, region: str | None) -> Basic | None:
    """None where nobody is named."""
    if user is None and source is None:
        return None
    from berth_cli.deployed_stack import StackUnavailable
    from berth_cli.scheduler_config.basic_credentials import NoPassword, basic

    try:
        return basic(user, source, stack, region)
    except (NoPassword, StackUnavailable) as error:
        raise click.ClickException(str(error)) from error


def configuration_of(config: Path | None, stack: DeployedStack | None) -> BerthConfiguration:
    """The document that is given, else the one that the stack decides by."""
    if config is not None or stack is None:
        return load_configuration(config, None)
    from berth_cli.deployed_stack import StackUnavailable

    try:
        return configuration_in_force(stack)
    except StackUnavailable as error:
        raise click.ClickException(str(error)) from error


def configuration_in_force(stack: DeployedStack) -> BerthConfiguration:
    """The applied document, else what the parameter Profile says. Raises StackUnavailable."""
    import boto3

    from berth.nodecache.configurations import ConfigurationInvalid, parsed
    from berth.nodecache.dynamodb_configuration import DynamoDBConfigurationStore
    from berth.nodecache.feed.table import TableUnavailable
    from berth_cli.deployed_stack import CACHE_TABLE_NAME, LIMITS, StackUnavailable

    client = boto3.client("dynamodb", region_name=stack.region, config=LIMITS)
    try:
        document = DynamoDBConfigurationStore(client, stack.output(CACHE_TABLE_NAME)).read()
        if document is None:
            document = json.dumps({"profile": stack.parameters["Profile"]} if "Profile" in stack.parameters else {})
        return parsed(document, f"the configuration of the stack {stack.name}")
    except (TableUnavailable, ConfigurationInvalid) as error:
        raise StackUnavailable(str(error)) from error


def credentials_wanted(stack: DeployedStack | None, *, password: bool, certificate: bool) -> str:
    """What the stack asks of its callers and this configuration does not have; else empty."""
    asked = "" if stack is None else stack.parameters.get("Authentication", "")
    if asked == "basic" and not password:
        return "the stack lets nobody in without its password: give --password-from stack"
    if asked == "mtls" and not certificate:
        return "the stack lets nobody in without a client certificate: give --tls-client-cert and --tls-client-key"
    return ""


def timeout_of(stack: DeployedStack | None) -> str:
    """What the stack's bind keeps to, where there is one."""
    seconds = "" if stack is None else stack.parameters.get("HttpTimeoutSeconds", "")
    return f"{seconds}s" if seconds else DEFAULT_TIMEOUT
