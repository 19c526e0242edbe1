"""The AWS account through boto3."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from berth.dynamodb_errors import cache_table_errors
from berth.lease.dynamodb_item import HEAD_KEY, read_item
from berth.lease.record import MalformedLease
from berth.nodecache.feed.dynamodb_head import MalformedHead, read_head
from berth.nodecache.feed.table import TableUnavailable
from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
from berth_cli.deployed_stack import CACHE_TABLE_NAME, CLIENT_CONFIG, LEDGER_TABLE_NAME, DeployedStack, StackUnavailable
from berth_cli.doctor.access.account import (
    Account,
    AccountUnavailable,
    Action,
    FunctionState,
    HeadItem,
    InspectionDenied,
    Schedule,
)

FUNCTION, SCHEDULE, ROLE = "AWS::Lambda::Function", "AWS::Scheduler::Schedule", "AWS::IAM::Role"
_DENIED_CODES = (
    "AccessDenied",
    "AccessDeniedException",
    "UnauthorizedOperation",
    "InvalidAction",
    "UnknownOperationException",
)


def is_inspection_denied(error: BaseException | None) -> bool:
    """Whether the error concerns the caller's permissions or the account's services, not the object itself."""
    if isinstance(error, ClientError):
        return str(error.response.get("Error", {}).get("Code", "")) in _DENIED_CODES
    return isinstance(error, BotoCoreError)


class AWSAccount(Account):
    """Uses the caller's credentials. Creates a client for each call, because checks run in several threads."""

    def __init__(self, stack: DeployedStack) -> None:
        self._stack = stack

    def head(self) -> HeadItem | None:
        table = self._output(CACHE_TABLE_NAME)
        client = boto3.client("dynamodb", region_name=self._stack.region, config=CLIENT_CONFIG)
        try:
            with cache_table_errors(table).errors():
                item = client.get_item(TableName=table, Key=HEAD_KEY, ConsistentRead=True).get("Item")
            if item is None:
                return None
            head = read_head(item)
            if head.unreadable_reason:
                raise AccountUnavailable(head.unreadable_reason)
            return HeadItem(read_item(item), head)
        except (TableUnavailable, MalformedLease) as error:
            raise AccountUnavailable(str(error)) from error
        except MalformedHead as error:
            raise AccountUnavailable(f"node cache table {table}: the head item cannot be read: {error}") from error

    def ledger_epoch(self) -> int | None:
        client = boto3.client("dynamodb", region_name=self._stack.region, config=CLIENT_CONFIG)
        try:
            marker = DynamoDBLedgerTable(client, self._output(LEDGER_TABLE_NAME)).marker()
        except TableUnavailable as error:
            raise AccountUnavailable(str(error)) from error
        return None if marker is None else marker.epoch

    def schedules(self) -> list[Schedule]:
        with _account_errors("the schedule"):
            client = boto3.client("scheduler", region_name=self._stack.region, config=CLIENT_CONFIG)
            found = [client.get_schedule(Name=name) for name in self._resources(SCHEDULE).values()]
        return [Schedule(each["Name"], each["State"], each["ScheduleExpression"]) for each in found]

    def functions(self) -> list[FunctionState]:
        found = []
        with _account_errors("the functions"):
            client = boto3.client("lambda", region_name=self._stack.region, config=CLIENT_CONFIG)
            for logical_id, name in self._resources(FUNCTION).items():
                state = client.get_function_configuration(FunctionName=name)
                reserved = client.get_function_concurrency(FunctionName=name).get("ReservedConcurrentExecutions")
                found.append(
                    FunctionState(
                        logical_id, state.get("State", "Active"), state.get("LastUpdateStatus", "Successful"), reserved
                    )
                )
        return found

    def concurrent_executions(self) -> int:
        with _account_errors("the account's limits"):
            client = boto3.client("lambda", region_name=self._stack.region, config=CLIENT_CONFIG)
            return int(client.get_account_settings()["AccountLimit"]["ConcurrentExecutions"])

    def denied(self, function: str, actions: Sequence[Action]) -> list[Action]:
        role = self._resources(ROLE).get(f"{function}Role", "")
        denied = []
        with _account_errors("the roles"):
            client = boto3.client("iam", region_name=self._stack.region, config=CLIENT_CONFIG)
            arn = client.get_role(RoleName=role)["Role"]["Arn"]
            for action in actions:
                [result] = client.simulate_principal_policy(
                    PolicySourceArn=arn,
                    ActionNames=[action.name],
                    ResourceArns=[action.resource],
                    # Without this key the simulated request names no item.
                    ContextEntries=[
                        {
                            "ContextKeyName": "dynamodb:LeadingKeys",
                            "ContextKeyValues": [action.partition],
                            "ContextKeyType": "stringList",
                        }
                    ],
                )["EvaluationResults"]
                if result["EvalDecision"] != "allowed":
                    denied.append(action)
        return denied

    def table_arn(self) -> str:
        table = self._output(CACHE_TABLE_NAME)
        with _account_errors("the table"):
            client = boto3.client("dynamodb", region_name=self._stack.region, config=CLIENT_CONFIG)
            return str(client.describe_table(TableName=table)["Table"]["TableArn"])

    def _resources(self, kind: str) -> dict[str, str]:
        try:
            return dict(self._stack.resources.get(kind, {}))
        except StackUnavailable as error:
            raise InspectionDenied(str(error)) from error

    def _output(self, key: str) -> str:
        try:
            return self._stack.output(key)
        except StackUnavailable as error:
            raise AccountUnavailable(str(error)) from error


@contextmanager
def _account_errors(subject: str) -> Iterator[None]:
    """Translate errors of the block into errors of the port."""
    try:
        yield
    except ClientError as error:
        kind = InspectionDenied if is_inspection_denied(error) else AccountUnavailable
        raise kind(f"{subject} cannot be read: {error}") from error
    except BotoCoreError as error:
        raise AccountUnavailable(f"{subject} cannot be read: {error}") from error
