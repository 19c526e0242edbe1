"""Reads a deployed stack of Berth: parameters, outputs, resources, tables, configuration and Basic password."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

import boto3
import click
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from berth.dynamodb import TableUnavailable
from berth.pods import BERTH_SCHEDULERS
from berth_cli.sources.tables import TableNames

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

    from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
    from berth.ledger.gangs.dynamodb_table import DynamoDBGangTable
    from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
    from berth.scheduling.configuration.document import BerthConfiguration

URL_PREFIX = "UrlPrefix"
CACHE_TABLE_NAME = "CacheTableName"
LEDGER_TABLE_NAME = "LedgerTableName"
WARM_UP_FUNCTIONS = "WarmUpFunctions"
SECRET = "AWS::SecretsManager::Secret"  # noqa: S105  the type of a resource

CLIENT_CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 2})
"""Short timeouts for interactive commands: with boto3's defaults an unreachable address takes five minutes."""


class StackUnavailable(click.ClickException):
    """The stack cannot be described or is not a Berth stack. The message states the cause and the remedy."""


@dataclass(frozen=True)
class DeployedStack:
    """A stack's state at the time of the DescribeStacks call."""

    name: str
    region: str | None
    parameters: Mapping[str, str]
    outputs: Mapping[str, str]

    def output(self, key: str) -> str:
        """Return the value of an output. Raises StackUnavailable if the stack does not have it."""
        if key not in self.outputs:
            raise StackUnavailable(f"the stack {self.name} has no output {key}; is it a Berth stack?")
        return self.outputs[key]

    def configuration(self) -> BerthConfiguration:
        """Return the configuration that the verbs use until a document is applied. Raises ConfigurationInvalid."""
        # Imported here: most commands do not need it.
        from pydantic import ValidationError

        from berth.configuration.store import ConfigurationInvalid
        from berth.scheduling.configuration.document import BerthConfiguration

        profile = self.parameters.get("Profile")
        if profile is None:
            raise ConfigurationInvalid(f"the stack {self.name} has no parameter Profile; is it a Berth stack?")
        try:
            return BerthConfiguration.model_validate({"profile": profile})
        except ValidationError as error:
            raise ConfigurationInvalid(f"the stack's parameter Profile: {error.errors()[0]['msg']}") from error

    @property
    def http_timeout(self) -> str:
        """The stack's httpTimeout in seconds; empty if it is unknown. Stacks of earlier releases lack the output."""
        return self.outputs.get("HttpTimeoutSeconds") or self.parameters.get("HttpTimeoutSeconds", "")

    @property
    def scheduler_names(self) -> frozenset[str]:
        """The schedulers whose pods the stack's bind accepts."""
        return frozenset(self.parameters.get("SchedulerNames", ",".join(BERTH_SCHEDULERS)).split(","))

    @property
    def configuration_document(self) -> str:
        """The BerthConfiguration, as JSON, that the verbs use until a document is applied."""
        profile = self.parameters.get("Profile")
        return json.dumps({} if profile is None else {"profile": profile}, separators=(",", ":"))

    @cached_property
    def resources(self) -> Mapping[str, Mapping[str, str]]:
        """The physical ids by resource type and logical id. Raises StackUnavailable."""
        found: dict[str, dict[str, str]] = {}
        try:
            client = boto3.client("cloudformation", region_name=self.region, config=CLIENT_CONFIG)
            for page in client.get_paginator("list_stack_resources").paginate(StackName=self.name):
                for each in page["StackResourceSummaries"]:
                    of_type = found.setdefault(each["ResourceType"], {})
                    of_type[each["LogicalResourceId"]] = each.get("PhysicalResourceId", "")
        except (BotoCoreError, ClientError) as error:
            raise StackUnavailable(_error_message(self.name, error)) from error
        return found


def describe(name: str, region: str | None = None) -> DeployedStack:
    """Describe the stack `name`. Raises StackUnavailable."""
    try:
        [found] = boto3.client("cloudformation", region_name=region, config=CLIENT_CONFIG).describe_stacks(
            StackName=name
        )["Stacks"]
    except (BotoCoreError, ClientError) as error:
        raise StackUnavailable(_error_message(name, error)) from error
    return DeployedStack(
        name,
        region,
        {each["ParameterKey"]: each["ParameterValue"] for each in found.get("Parameters", ())},
        {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", ())},
    )


def _error_message(name: str, error: BotoCoreError | ClientError) -> str:
    """Return the message with its remedy. CloudFormation raises a ClientError, the SDK any other error."""
    remedy = "are name and region right?" if isinstance(error, ClientError) else "are AWS credentials and region set?"
    return f"the stack {name} cannot be described: {error}; {remedy}"


def configuration_in_force(stack: DeployedStack) -> BerthConfiguration:
    """Return the applied document, or else the profile in the stack parameter Profile. Raises StackUnavailable, also if
    its plugins cannot be built."""
    from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
    from berth.configuration.store import ActiveConfiguration, ConfigurationInvalid, parsed

    client = boto3.client("dynamodb", region_name=stack.region, config=CLIENT_CONFIG)
    try:
        ledger_table = stack.outputs.get(LEDGER_TABLE_NAME, "")
        document = DynamoDBConfigurationStore(client, stack.output(CACHE_TABLE_NAME), ledger_table).read()
        found = parsed(document or stack.configuration_document, f"the configuration of the stack {stack.name}")
        return ActiveConfiguration.of(found).document
    except (TableUnavailable, ConfigurationInvalid) as error:
        raise StackUnavailable(str(error)) from error


@dataclass(frozen=True, slots=True)
class BasicCredentials:
    """User and password of Basic authentication."""

    user: str
    password: str = field(repr=False)

    def in_address(self, address: str) -> str:
        """Return the address with these credentials, as in kube-scheduler's urlPrefix (fact 37)."""
        parts = urlsplit(address)
        pair = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}"
        return parts._replace(netloc=f"{pair}@{parts.netloc}").geturl()


def basic_credentials(stack: DeployedStack) -> BasicCredentials:
    """Read the stack's secret. Raises StackUnavailable, whose message does not quote the secret."""
    secrets = [found for found in stack.resources.get(SECRET, {}).values() if found]
    if len(secrets) != 1:
        found = f"the stack {stack.name} has {len(secrets)} secrets, not one"
        raise StackUnavailable(f"{found}: is its Authentication basic?")
    try:
        client = boto3.client("secretsmanager", region_name=stack.region, config=CLIENT_CONFIG)
        record = json.loads(client.get_secret_value(SecretId=secrets[0]).get("SecretString", ""))
        return BasicCredentials(str(record["username"]), str(record["password"]))
    except (BotoCoreError, ClientError) as error:
        raise StackUnavailable(f"the secret {secrets[0]} cannot be read: {error}") from error
    except (ValueError, KeyError, TypeError):
        raise StackUnavailable(f'the secret {secrets[0]} is not {{"username": …, "password": …}}') from None


@dataclass(frozen=True, slots=True)
class OpenTables:
    """The tables of a stack, or tables that were given by name. deployed: the stack; None if tables were given by name.
    cache_table, ledger_table: the names; empty if unknown."""

    client: DynamoDBClient
    cache_table: str
    ledger_table: str
    deployed: DeployedStack | None

    @property
    def store(self) -> DynamoDBConfigurationStore:
        """The applied documents."""
        from berth.configuration.dynamodb_store import DynamoDBConfigurationStore

        return DynamoDBConfigurationStore(self.client, self.cache_table, self.ledger_table)

    @property
    def ledger(self) -> DynamoDBLedgerTable:
        """The reservations of counted resources."""
        from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable

        return DynamoDBLedgerTable(self.client, self.ledger_table)

    @property
    def gangs(self) -> DynamoDBGangTable:
        """The gangs that are or were in bind."""
        from berth.ledger.gangs.dynamodb_table import DynamoDBGangTable

        return DynamoDBGangTable(self.client, self.ledger_table)


@contextmanager
def aws_errors() -> Iterator[None]:
    """Convert AWS errors in the block to ClickExceptions."""
    try:
        yield
    except TableUnavailable as error:
        raise click.ClickException(str(error)) from error
    except (BotoCoreError, ClientError) as error:
        raise click.ClickException(f"{error}; are AWS credentials and region set?") from error


@contextmanager
def open_tables(given: TableNames) -> Iterator[OpenTables]:
    """Open the tables of the stack, or those with the given names. AWS errors in the block become ClickExceptions."""
    with aws_errors():
        deployed = None if given.stack is None else describe(given.stack, given.region)
        cache, ledger = given.cache_table, given.ledger_table
        if deployed is not None:
            cache, ledger = deployed.output(CACHE_TABLE_NAME), deployed.outputs.get(LEDGER_TABLE_NAME, "")
        yield OpenTables(boto3.client("dynamodb", region_name=given.region), cache, ledger, deployed)
