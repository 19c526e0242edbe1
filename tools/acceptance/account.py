"""The account: its quotas, what CloudWatch counted, and the end of the stack."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError, WaiterError

from berth_cli.deployed_stack import LEDGER_TABLE_NAME, DeployedStack, StackUnavailable, describe
from tools.acceptance.cost import FunctionUsage, TableUsage
from tools.acceptance.run import StepFailed, StepSkipped

LEAST_CONCURRENCY = 10
"""What a new account has (AWS' quota "Concurrent executions"); the verbs and the watcher run with it."""
FUNCTION, TABLE, API = "AWS::Lambda::Function", "AWS::DynamoDB::Table", "AWS::ApiGatewayV2::Api"
PERIOD_SECONDS = 60
DELETION_POLL_SECONDS, DELETION_POLLS = 5, 240


class Account:
    """One account and region, as the caller's credentials see it."""

    def __init__(self, region: str | None, stack: str) -> None:
        self._session = boto3.Session(region_name=region)
        self._stack_name = stack
        self._may_delete = False

    @property
    def region(self) -> str:
        """Raises StepFailed without one."""
        if not self._session.region_name:
            raise StepFailed("no region: set AWS_DEFAULT_REGION or give --region")
        return str(self._session.region_name)

    @cached_property
    def stack(self) -> DeployedStack:
        """The deployed stack. Raises StepFailed."""
        try:
            return describe(self._stack_name, self.region)
        except StackUnavailable as error:
            raise StepFailed(str(error)) from error

    def check(self) -> list[str]:
        """Credentials, quotas, and that no stack of this name exists. Raises StepFailed."""
        with _errors("credentials or rights are missing"):
            self._client("sts").get_caller_identity()
            limits = self._client("lambda").get_account_settings()["AccountLimit"]
        concurrent, unreserved = limits["ConcurrentExecutions"], limits.get("UnreservedConcurrentExecutions")
        if concurrent < LEAST_CONCURRENCY:
            raise StepFailed(
                f"the account's quota is {concurrent} concurrent executions, fewer than {LEAST_CONCURRENCY}: "
                "request more under Service Quotas, AWS Lambda"
            )
        if self._exists():
            raise StepFailed(f"a stack {self._stack_name} exists: give another name, this one is deleted at the end")
        self._may_delete = True
        return [f"Concurrent executions: {concurrent}, of which {unreserved} are not reserved."]

    def usage(self, since: datetime, until: datetime) -> tuple[Sequence[FunctionUsage], Sequence[TableUsage], int]:
        """What CloudWatch counted of the stack. Raises StepSkipped if it has no metrics yet."""
        functions = [self._function(name, since, until) for name in self._names(FUNCTION)]
        tables = [
            TableUsage(
                logical,
                self._sum("AWS/DynamoDB", "ConsumedWriteCapacityUnits", "TableName", name, since, until),
                self._sum("AWS/DynamoDB", "ConsumedReadCapacityUnits", "TableName", name, since, until),
            )
            for logical, name in self._by_logical_id(TABLE)
        ]
        requests = sum(
            int(self._sum("AWS/ApiGateway", "Count", "ApiId", api, since, until)) for api in self._names(API)
        )
        if not any(each.invocations for each in functions):
            raise StepSkipped("CloudWatch has no metrics of the functions yet; an emulator has none at all")
        return functions, tables, requests

    @property
    def created(self) -> bool:
        """Whether this run has created the stack."""
        return self._may_delete and self._exists()

    def delete(self) -> list[str]:
        """Delete the stack that this run created, and its ledger. Raises StepFailed; StepSkipped without a stack."""
        if not self.created:
            raise StepSkipped("this run created no stack")
        ledger = self.stack.outputs.get(LEDGER_TABLE_NAME)
        client = self._client("cloudformation")
        with _errors(f"delete the stack {self._stack_name} by hand: docs/how-to/delete-a-stack.md"):
            client.delete_stack(StackName=self._stack_name)
            waiter = client.get_waiter("stack_delete_complete")
            pace = {"Delay": DELETION_POLL_SECONDS, "MaxAttempts": DELETION_POLLS}
            waiter.wait(StackName=self._stack_name, WaiterConfig=pace)
        if ledger is None:
            return ["The stack is deleted; it had no ledger."]
        with _errors(f"delete the table {ledger} by hand: docs/how-to/delete-a-stack.md"):
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

    def _function(self, name: str, since: datetime, until: datetime) -> FunctionUsage:
        state = self._client("lambda").get_function_configuration(FunctionName=name)

        def total(metric: str) -> float:
            return self._sum("AWS/Lambda", metric, "FunctionName", name, since, until)

        return FunctionUsage(
            name.removeprefix(f"{self._stack_name}-"),
            state["MemorySize"],
            next(iter(state.get("Architectures", ())), "x86_64"),
            int(total("Invocations")),
            total("Duration"),
            int(total("Errors")),
            int(total("Throttles")),
        )

    def _sum(self, namespace: str, metric: str, dimension: str, value: str, since: datetime, until: datetime) -> float:
        with _errors("cloudwatch:GetMetricStatistics is needed"):
            found = self._client("cloudwatch").get_metric_statistics(
                Namespace=namespace,
                MetricName=metric,
                Dimensions=[{"Name": dimension, "Value": value}],
                StartTime=since,
                EndTime=until,
                Period=PERIOD_SECONDS,
                Statistics=["Sum"],
            )
        return float(sum(point["Sum"] for point in found["Datapoints"]))

    def _names(self, kind: str) -> list[str]:
        return [physical for _, physical in self._by_logical_id(kind)]

    def _by_logical_id(self, kind: str) -> list[tuple[str, str]]:
        try:
            return sorted(self.stack.resources.get(kind, {}).items())
        except StackUnavailable as error:
            raise StepFailed(str(error)) from error

    def _client(self, service: str) -> Any:
        return self._session.client(service)


@contextmanager
def _errors(remedy: str) -> Iterator[None]:
    try:
        yield
    except (BotoCoreError, ClientError, WaiterError) as error:
        raise StepFailed(f"{error}; {remedy}") from error
