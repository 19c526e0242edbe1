"""The AWS account: its quotas, and the deletion of the stack."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError, WaiterError

from berth_cli.sources.stack import LEDGER_TABLE_NAME, DeployedStack, describe
from tools.acceptance.report import StepFailed, StepSkipped

POLL_SECONDS = 5
BY_HAND = "by hand: docs/how-to/delete-a-stack.md"


class Account:
    def __init__(self, stack: str) -> None:
        self._session = boto3.Session()
        self._stack_name = stack
        self._may_delete = False

    @property
    def region(self) -> str:
        return str(self._session.region_name)

    @cached_property
    def stack(self) -> DeployedStack:
        return describe(self._stack_name, self.region)

    def check(self) -> list[str]:
        """Check credentials and quotas, and that the stack's name is unused. Raises StepFailed."""
        if self._session.region_name is None:
            raise StepFailed("no region: set AWS_DEFAULT_REGION")
        with _errors("credentials or rights are missing"):
            self._client("sts").get_caller_identity()
            limits = self._client("lambda").get_account_settings()["AccountLimit"]
        concurrent, unreserved = limits["ConcurrentExecutions"], limits.get("UnreservedConcurrentExecutions")
        if self._exists():
            raise StepFailed(f"a stack {self._stack_name} exists: give another name, this one is deleted at the end")
        self._may_delete = True
        return [f"{self.region}; concurrent executions: {concurrent}, of which {unreserved} are not reserved."]

    @property
    def created(self) -> bool:
        """Whether this run created the stack, and the stack still exists."""
        return self._may_delete and self._exists()

    def wait_for_alarm(self, logical_id: str, limit: float) -> float:
        """Wait until the stack's alarm fires. Return the seconds. Raises StepFailed; StepSkipped in an emulator."""
        client, started = self._client("cloudwatch"), time.monotonic()
        if not client.list_metrics(Namespace="Berth", MetricName="PublishedAge")["Metrics"]:
            raise StepSkipped("CloudWatch has no metrics from the functions' log lines, as in an emulator")
        name = self.stack.resources["AWS::CloudWatch::Alarm"][logical_id]
        while client.describe_alarms(AlarmNames=[name])["MetricAlarms"][0]["StateValue"] != "ALARM":
            if time.monotonic() - started > limit:
                raise StepFailed(f"{name} did not fire within {limit:g} s")
            time.sleep(POLL_SECONDS)
        return time.monotonic() - started

    def delete(self) -> list[str]:
        """Delete the stack that this run created, and its ledger. Raises StepFailed; StepSkipped without a stack."""
        if not self.created:
            raise StepSkipped("this run created no stack")
        ledger = self.stack.outputs.get(LEDGER_TABLE_NAME)
        with _errors(f"delete the stack {self._stack_name} {BY_HAND}"):
            client = self._client("cloudformation")
            client.delete_stack(StackName=self._stack_name)
            pace = {"Delay": 5, "MaxAttempts": 240}
            client.get_waiter("stack_delete_complete").wait(StackName=self._stack_name, WaiterConfig=pace)
        if ledger is None:
            return ["The stack is deleted; it had no ledger."]
        with _errors(f"delete the table {ledger} {BY_HAND}"):
            tables = self._client("dynamodb")
            try:
                tables.update_table(TableName=ledger, DeletionProtectionEnabled=False)
                tables.delete_table(TableName=ledger)
            except tables.exceptions.ResourceNotFoundException:
                return ["The stack is deleted, and its ledger with it."]
        return ["The stack and its retained ledger are deleted."]

    def _exists(self) -> bool:
        with _errors("cloudformation:DescribeStacks is needed"):
            try:
                self._client("cloudformation").describe_stacks(StackName=self._stack_name)
            except ClientError as error:
                if "does not exist" in str(error):
                    return False
                raise
        return True

    def _client(self, service: str) -> Any:
        return self._session.client(service)


@contextmanager
def _errors(remedy: str) -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError, WaiterError) as error:
        raise StepFailed(f"{error}; {remedy}") from error
