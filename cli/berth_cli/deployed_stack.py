"""A deployed CloudFormation stack of Berth: parameters, outputs and, on demand, resources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

if TYPE_CHECKING:
    from berth.scheduling.configuration.document import BerthConfiguration

URL_PREFIX = "UrlPrefix"
CACHE_TABLE_NAME = "CacheTableName"
LEDGER_TABLE_NAME = "LedgerTableName"
WARM_UP_FUNCTIONS = "WarmUpFunctions"

CLIENT_CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 2})
"""Short timeouts for interactive commands: with boto3's defaults an unreachable address takes five minutes."""


class StackUnavailable(Exception):
    """The stack cannot be described or is not a Berth stack. The message names cause and remedy."""


@dataclass(frozen=True)
class DeployedStack:
    """The stack's state at the time of the DescribeStacks call."""

    name: str
    region: str | None
    parameters: Mapping[str, str]
    outputs: Mapping[str, str]

    def output(self, key: str) -> str:
        """The value of an output. Raises StackUnavailable if the stack has no such output."""
        if key not in self.outputs:
            raise StackUnavailable(f"the stack {self.name} has no output {key}; is it a Berth stack?")
        return self.outputs[key]

    def configuration(self) -> BerthConfiguration:
        """By which the verbs decide while no other one is applied. Raises ConfigurationInvalid."""
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
    def configuration_document(self) -> str:
        """The BerthConfiguration that decides until one is applied, as JSON."""
        profile = self.parameters.get("Profile")
        return json.dumps({} if profile is None else {"profile": profile}, separators=(",", ":"))

    @cached_property
    def resources(self) -> Mapping[str, Mapping[str, str]]:
        """Physical ids by resource type and logical id. Raises StackUnavailable."""
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
    """A ClientError is an answer from CloudFormation; any other error comes from the SDK itself."""
    remedy = "are name and region right?" if isinstance(error, ClientError) else "are AWS credentials and region set?"
    return f"the stack {name} cannot be described: {error}; {remedy}"
