"""What CloudFormation tells of a deployed stack: parameters, outputs and, when asked for, its resources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

URL_PREFIX = "UrlPrefix"
CACHE_TABLE_NAME = "CacheTableName"

LIMITS = Config(connect_timeout=5, read_timeout=10, retries={"total_max_attempts": 2})
"""For commands that people wait for: by default an address that nobody answers at takes five minutes."""


class StackUnavailable(Exception):
    """The stack cannot be described, or is not one of Berth's. The message names cause and remedy."""


@dataclass(frozen=True)
class DeployedStack:
    """A stack as it was when it was described."""

    name: str
    region: str | None
    parameters: Mapping[str, str]
    outputs: Mapping[str, str]

    def output(self, key: str) -> str:
        """Raises StackUnavailable."""
        if key not in self.outputs:
            raise StackUnavailable(f"the stack {self.name} has no output {key}; is it a stack of Berth's?")
        return self.outputs[key]

    @cached_property
    def resources(self) -> Mapping[str, Mapping[str, str]]:
        """Physical ids by type and logical id. Raises StackUnavailable."""
        found: dict[str, dict[str, str]] = {}
        try:
            client = boto3.client("cloudformation", region_name=self.region, config=LIMITS)
            for page in client.get_paginator("list_stack_resources").paginate(StackName=self.name):
                for each in page["StackResourceSummaries"]:
                    of_type = found.setdefault(each["ResourceType"], {})
                    of_type[each["LogicalResourceId"]] = each.get("PhysicalResourceId", "")
        except (BotoCoreError, ClientError) as error:
            raise StackUnavailable(_told(self.name, error)) from error
        return found


def describe(name: str, region: str | None = None) -> DeployedStack:
    """Raises StackUnavailable."""
    try:
        [found] = boto3.client("cloudformation", region_name=region, config=LIMITS).describe_stacks(StackName=name)[
            "Stacks"
        ]
    except (BotoCoreError, ClientError) as error:
        raise StackUnavailable(_told(name, error)) from error
    return DeployedStack(
        name,
        region,
        {each["ParameterKey"]: each["ParameterValue"] for each in found.get("Parameters", ())},
        {each["OutputKey"]: each["OutputValue"] for each in found.get("Outputs", ())},
    )


def _told(name: str, error: BotoCoreError | ClientError) -> str:
    """CloudFormation has answered, or nobody has."""
    remedy = "are name and region right?" if isinstance(error, ClientError) else "are AWS credentials and region set?"
    return f"the stack {name} cannot be described: {error}; {remedy}"
