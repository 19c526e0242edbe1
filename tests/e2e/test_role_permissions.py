"""Calls with each role of the deployed stack: exactly the grants of tests/deployment/permissions.py are allowed.

tests/deployment/ministack_with_leading_keys.py adds `dynamodb:LeadingKeys` to ministack. The other tests of the stack
show that the grants suffice: they use the same roles.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from itertools import product
from typing import Any

import pytest
from botocore.exceptions import ClientError

from berth.ledger.dynamodb_announcements import PARTITION as ANNOUNCED
from berth.ledger.gangs.dynamodb_item import PARTITION as GANG
from berth.ledger.nodes.dynamodb_item import OPEN
from tests.deployment.permissions import (
    BINDER_SECRET,
    CACHE,
    CONFIGURATION,
    GRANTS,
    HEAD,
    LEDGER,
    MARKER,
    STANDBY,
    WATCHER_SECRET,
    Grant,
)

from .berth.stack import DeployedStack

NEVER_TRUE = "attribute_exists(pk) AND attribute_not_exists(pk)"
"""A condition that always fails: the stack is in use, so an allowed write must change nothing."""

TABLES = {
    "CacheTable": (
        CACHE,
        {"N": "0"},
        (HEAD, STANDBY, CONFIGURATION, "log#of-another#pods", "snapshot#of-another#0", "decision#ml/absent", "other"),
    ),
    "LedgerTable": (LEDGER, {"S": "absent"}, (ANNOUNCED, GANG, OPEN, MARKER, "node#absent", "other")),
}
ACTIONS = ("GetItem", "BatchGetItem", "Query", "PutItem", "UpdateItem", "ConditionCheckItem", "DeleteItem")
SECRETS = {"watcher-kubeconfig": WATCHER_SECRET, "binder-kubeconfig": BINDER_SECRET}

pytestmark = pytest.mark.parametrize("extender", ["stack"], indirect=True)


@pytest.fixture
def stack(extender: Any) -> DeployedStack:
    assert isinstance(extender, DeployedStack)
    return extender


@contextmanager
def as_function(stack: DeployedStack, function: str) -> Iterator[Callable[[str], Any]]:
    """Clients with its role. Until the context exits, the role trusts the account besides Lambda."""
    role, iam = stack.name(f"{function}Role"), stack.client("iam")
    trust = iam.get_role(RoleName=role)["Role"]["AssumeRolePolicyDocument"]
    account = stack.client("sts").get_caller_identity()["Account"]
    statement = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": account}}
    extended = {**trust, "Statement": [*trust["Statement"], statement]}
    iam.update_assume_role_policy(RoleName=role, PolicyDocument=json.dumps(extended))
    try:
        yield lambda service: stack.client(service, role=role)
    finally:
        iam.update_assume_role_policy(RoleName=role, PolicyDocument=json.dumps(trust))


def _allowed(call: Callable[[], object]) -> bool:
    try:
        call()
    except ClientError as error:
        return "AccessDenied" not in error.response["Error"]["Code"]
    return True


def _item_call(client: Any, action: str, table: str, key: str, sort_key: dict[str, str]) -> object:
    item = {"pk": {"S": key}, "sk": sort_key}
    match action:
        case "GetItem":
            return client.get_item(TableName=table, Key=item)
        case "BatchGetItem":
            return client.batch_get_item(RequestItems={table: {"Keys": [item]}})
        case "ConditionCheckItem":
            check = {"TableName": table, "Key": item, "ConditionExpression": NEVER_TRUE}
            return client.transact_write_items(TransactItems=[{"ConditionCheck": check}])
        case "Query":
            values = {":pk": {"S": key}}
            return client.query(TableName=table, KeyConditionExpression="pk = :pk", ExpressionAttributeValues=values)
        case "PutItem":
            return client.put_item(TableName=table, Item=item, ConditionExpression=NEVER_TRUE)
        case "UpdateItem":
            return client.update_item(
                TableName=table, Key=item, UpdateExpression="REMOVE nothing", ConditionExpression=NEVER_TRUE
            )
    return client.delete_item(TableName=table, Key=item, ConditionExpression=NEVER_TRUE)


def _granted(function: str, action: str, resource: object, key: str = "") -> bool:
    def covers(grant: Grant) -> bool:
        key_matches = not key or any(fnmatchcase(key, pattern) for pattern in grant.keys)
        return action in grant.actions and grant.resource == str(resource) and key_matches

    return any(map(covers, GRANTS[function]))


@pytest.mark.parametrize("function", GRANTS)
def test_role_allows_exactly_the_granted_item_actions(stack: DeployedStack, function: str) -> None:
    calls = allowed_calls = 0
    with as_function(stack, function) as client:
        dynamodb = client("dynamodb")
        for logical_id, (resource, sort_key, keys) in TABLES.items():
            table = stack.name(logical_id)
            for action, key in product(ACTIONS, keys):
                allowed = _allowed(lambda: _item_call(dynamodb, action, table, key, sort_key))  # noqa: B023
                assert allowed == _granted(function, f"dynamodb:{action}", resource, key), (logical_id, action, key)
                calls, allowed_calls = calls + 1, allowed_calls + allowed
    assert calls == len(ACTIONS) * 13
    assert allowed_calls < calls / 2


@pytest.mark.parametrize("function", GRANTS)
@pytest.mark.parametrize("logical_id", TABLES)
def test_role_denies_scans_and_table_administration(stack: DeployedStack, function: str, logical_id: str) -> None:
    table = stack.name(logical_id)
    resource, sort_key, _ = TABLES[logical_id]
    key = {"pk": {"S": HEAD}, "sk": sort_key}
    with as_function(stack, function) as client:
        dynamodb = client("dynamodb")
        assert not _allowed(lambda: dynamodb.scan(TableName=table))
        assert not _allowed(lambda: dynamodb.execute_statement(Statement=f'SELECT * FROM "{table}"'))
        assert not _allowed(lambda: dynamodb.batch_get_item(RequestItems={table: {"Keys": [key]}}))
        # IAM judges each item of a transaction: who may read the head may read it so, too.
        reads = _allowed(lambda: dynamodb.transact_get_items(TransactItems=[{"Get": {"TableName": table, "Key": key}}]))
        assert reads == _granted(function, "dynamodb:GetItem", resource, HEAD)
        assert not _allowed(lambda: dynamodb.describe_table(TableName=table))
        assert not _allowed(lambda: dynamodb.delete_table(TableName=table))


@pytest.mark.parametrize("function", GRANTS)
def test_role_reads_only_its_own_secret(stack: DeployedStack, function: str) -> None:
    with as_function(stack, function) as client:
        secrets = client("secretsmanager")
        for name, resource in SECRETS.items():
            allowed = _allowed(lambda: secrets.get_secret_value(SecretId=name))  # noqa: B023
            assert allowed == _granted(function, "secretsmanager:GetSecretValue", resource), name
        password = _allowed(lambda: secrets.get_secret_value(SecretId=stack.name("PasswordSecret")))
        assert password == (function == "AuthorizerFunction")
        assert not _allowed(lambda: secrets.put_secret_value(SecretId="binder-kubeconfig", SecretString="{}"))


@pytest.mark.parametrize("function", GRANTS)
def test_role_may_not_invoke_any_function(stack: DeployedStack, function: str) -> None:
    """The watcher may invoke its warm-up targets only; none of these functions is one."""
    with as_function(stack, function) as client:
        for called in ("BindFunction", "WatcherFunction", "HealthzFunction"):
            name = stack.name(called)
            assert not _allowed(lambda: client("lambda").invoke(FunctionName=name, Qualifier="live"))  # noqa: B023
