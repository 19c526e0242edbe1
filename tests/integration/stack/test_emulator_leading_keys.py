"""The emulator evaluates `dynamodb:LeadingKeys` as AWS documents it, so that tests on it cover template.yaml's
conditions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.deployment.emulator import COMMAND, Emulator

TABLE, ROLE = "shared", "reader"
CONDITION = {
    "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["open", "node#*"]},
    "Null": {"dynamodb:LeadingKeys": "false"},
}
EVERYTHING = (
    "GetItem",
    "Query",
    "Scan",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "BatchGetItem",
    "ConditionCheckItem",
)

pytestmark = pytest.mark.external

Call = Callable[[Any], object]


@pytest.fixture(scope="module")
def emulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emulator]:
    if not COMMAND.exists():
        pytest.skip("ministack is not installed: make tools")
    with Emulator(tmp_path_factory.mktemp("leading-keys")) as emulator:
        yield emulator


@pytest.fixture(scope="module")
def client(emulator: Emulator) -> Any:
    """A client with a role that has full access to some partitions of one table."""
    emulator.client("dynamodb").create_table(
        TableName=TABLE,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )
    iam = emulator.client("iam")
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"AWS": emulator.account}}
    iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument=_policy(trust))
    allowed = {
        "Effect": "Allow",
        "Action": [f"dynamodb:{action}" for action in EVERYTHING],
        "Resource": "*",
        "Condition": CONDITION,
    }
    iam.put_role_policy(RoleName=ROLE, PolicyName="some", PolicyDocument=_policy(allowed))
    return emulator.client("dynamodb", role=ROLE)


def _policy(*statements: Mapping[str, object]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": statements})


def _key(partition: str) -> dict[str, dict[str, str]]:
    return {"pk": {"S": partition}, "sk": {"S": "x"}}


def _calls(partition: str) -> Sequence[Any]:
    """Every call that names one partition."""
    return (
        pytest.param(lambda c: c.get_item(TableName=TABLE, Key=_key(partition)), id=f"GetItem {partition}"),
        pytest.param(lambda c: c.put_item(TableName=TABLE, Item=_key(partition)), id=f"PutItem {partition}"),
        pytest.param(
            lambda c: c.update_item(
                TableName=TABLE,
                Key=_key(partition),
                UpdateExpression="SET a = :a",
                ExpressionAttributeValues={":a": {"S": "a"}},
            ),
            id=f"UpdateItem {partition}",
        ),
        pytest.param(lambda c: c.delete_item(TableName=TABLE, Key=_key(partition)), id=f"DeleteItem {partition}"),
        pytest.param(
            lambda c: c.query(
                TableName=TABLE,
                KeyConditionExpression="#pk = :pk AND sk BETWEEN :a AND :b",
                ExpressionAttributeNames={"#pk": "pk"},
                ExpressionAttributeValues={":pk": {"S": partition}, ":a": {"S": "a"}, ":b": {"S": "b"}},
            ),
            id=f"Query {partition}",
        ),
    )


def _batch(*partitions: str) -> Any:
    keys = [_key(partition) for partition in partitions]
    return pytest.param(
        lambda c: c.batch_get_item(RequestItems={TABLE: {"Keys": keys}}), id=f"BatchGetItem {', '.join(partitions)}"
    )


def _transaction(checked: str, updated: str) -> Any:
    check = {"TableName": TABLE, "Key": _key(checked), "ConditionExpression": "attribute_not_exists(absent)"}
    update = {"TableName": TABLE, "Key": _key(updated), "UpdateExpression": "REMOVE absent"}
    return pytest.param(
        lambda c: c.transact_write_items(TransactItems=[{"ConditionCheck": check}, {"Update": update}]),
        id=f"TransactWriteItems {checked}, {updated}",
    )


@pytest.mark.parametrize(
    "call", [*_calls("open"), *_calls("node#a"), _batch("open", "node#a"), _transaction("open", "node#a")]
)
def test_allows_request_for_a_granted_key(client: Any, call: Call) -> None:
    call(client)


@pytest.mark.parametrize(
    "call",
    [
        *_calls("ledger"),
        pytest.param(lambda c: c.scan(TableName=TABLE), id="Scan without a key (Null condition)"),
        _batch("ledger"),
        _batch("node#a", "ledger"),
        _transaction("ledger", "node#a"),
        _transaction("node#a", "ledger"),
        pytest.param(
            lambda c: c.transact_get_items(TransactItems=[{"Get": {"TableName": TABLE, "Key": _key("ledger")}}]),
            id="TransactGetItems of another key",
        ),
    ],
)
def test_denies_request_for_other_keys_or_without_key(client: Any, call: Call) -> None:
    with pytest.raises(ClientError, match="AccessDenied"):
        call(client)


def test_reports_missing_table_as_not_found(client: Any) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        client.get_item(TableName="gone", Key=_key("open"))


@pytest.mark.parametrize(("key", "decision"), [("node#a", "allowed"), ("ledger", "implicitDeny"), ("", "implicitDeny")])
def test_policy_simulator_evaluates_the_given_key(emulator: Emulator, client: Any, key: str, decision: str) -> None:
    iam = emulator.client("iam")
    entry = {"ContextKeyName": "dynamodb:LeadingKeys", "ContextKeyValues": [key], "ContextKeyType": "stringList"}
    [result] = iam.simulate_principal_policy(
        PolicySourceArn=iam.get_role(RoleName=ROLE)["Role"]["Arn"],
        ActionNames=["dynamodb:GetItem"],
        ResourceArns=["arn:aws:dynamodb:eu-central-1:000000000000:table/shared"],
        **({"ContextEntries": [entry]} if key else {}),
    )["EvaluationResults"]
    assert result["EvalDecision"] == decision
