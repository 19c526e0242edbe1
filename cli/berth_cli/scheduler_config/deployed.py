"""What a deployed stack says about the extender: its address, its configuration in force, its credentials."""

from __future__ import annotations

import json

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import ConfigurationInvalid, parsed
from berth.nodecache.feed.table import TableUnavailable
from berth.scheduling.configuration.document import BerthConfiguration
from berth_cli.deployed_stack import CACHE_TABLE_NAME, LIMITS, DeployedStack, StackUnavailable


def configuration_in_force(stack: DeployedStack) -> BerthConfiguration:
    """The applied document, else what the parameter Profile says. Raises StackUnavailable."""
    client = boto3.client("dynamodb", region_name=stack.region, config=LIMITS)
    try:
        document = DynamoDBConfigurationStore(client, stack.output(CACHE_TABLE_NAME)).read()
        if document is None:
            document = json.dumps({"profile": stack.parameters["Profile"]} if "Profile" in stack.parameters else {})
        return parsed(document, f"the configuration of the stack {stack.name}")
    except (TableUnavailable, ConfigurationInvalid) as error:
        raise StackUnavailable(str(error)) from error


def secret_text(secret: str, region: str | None) -> str:
    """The value of a secret in Secrets Manager. Raises StackUnavailable."""
    try:
        found = boto3.client("secretsmanager", region_name=region, config=LIMITS).get_secret_value(SecretId=secret)
    except (BotoCoreError, ClientError) as error:
        raise StackUnavailable(f"the secret {secret} cannot be read: {error}") from error
    return str(found.get("SecretString", ""))
