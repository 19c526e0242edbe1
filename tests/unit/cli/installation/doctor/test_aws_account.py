"""The tables of a stack, as `berth doctor` reads them."""

from __future__ import annotations

from collections.abc import Iterator
from unittest.mock import MagicMock

import pytest
from botocore.exceptions import ClientError
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.authentication.dynamodb_allow_list import ALLOW_LIST_KEY, DynamoDBAllowList
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.entry import Entry, EntryState
from berth.ledger.nodes.ledger import new_ledger
from berth.scheduling.objects.pod import PodKey
from berth_cli.installation.doctor.aws_account import AccountUnavailable, AWSAccount, InspectionDenied
from berth_cli.server.options import CACHE_TABLE, LEDGER_TABLE
from berth_cli.sources.stack import CACHE_TABLE_NAME, LEDGER_TABLE_NAME, DeployedStack


@pytest.fixture
def ledger(dynamodb: DynamoDBClient) -> Iterator[DynamoDBLedgerTable]:
    """Yield the session's embedded table; its ledgers are removed afterwards."""
    table = DynamoDBLedgerTable(dynamodb, LEDGER_TABLE)
    yield table
    for each in table.nodes():
        dynamodb.delete_item(TableName=LEDGER_TABLE, Key={"pk": {"S": f"node#{each.owner}"}, "sk": {"S": "ledger"}})


def account(table: str) -> AWSAccount:
    outputs = {LEDGER_TABLE_NAME: table, CACHE_TABLE_NAME: table}
    return AWSAccount(DeployedStack("berth", None, {"Authentication": "mtls"}, outputs))


def test_owed_amounts_include_only_floating_pools(ledger: DynamoDBLedgerTable) -> None:
    pod = PodKey("ml", "runs", "uid-runs")
    for owner, pool, capacity in (
        ("a", "example.com/slot", 1),
        ("s@cluster", "s@cluster", 1),
        ("t@cluster", "t@cluster", 9),
    ):
        entry = Entry(pod, EntryState.BOUND, "attempt", {pool: 3}, 0.0)
        ledger.create(new_ledger(owner, {pool: capacity}, {pod.uid: entry}, 1))
    assert account(LEDGER_TABLE).owed() == {"s@cluster": 2}


def test_table_that_cannot_be_read_is_reported(dynamodb: DynamoDBClient) -> None:
    with pytest.raises(AccountUnavailable):
        account("no-such-table").owed()


def test_allow_list_is_read_as_the_authorizer_does(dynamodb: DynamoDBClient) -> None:
    DynamoDBAllowList(dynamodb, CACHE_TABLE).replace("3f0c3f0c3f0c3f0c")
    found = account(CACHE_TABLE).allow_list()
    assert found is not None
    assert list(found.until) == [0x3F0C3F0C3F0C3F0C]
    dynamodb.delete_item(TableName=CACHE_TABLE, Key=ALLOW_LIST_KEY)
    with pytest.raises(AccountUnavailable, match="has no allow-list"):
        account(CACHE_TABLE).allow_list()


def test_stack_with_basic_authentication_lacks_an_allow_list() -> None:
    assert AWSAccount(DeployedStack("berth", None, {"Authentication": "basic"}, {})).allow_list() is None


def test_error_names_the_missing_permission_to_read_the_allow_list(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"Error": {"Code": "AccessDeniedException", "Message": "not authorized"}}
    client = MagicMock(get_item=MagicMock(side_effect=ClientError(answer, "GetItem")))  # type: ignore[arg-type]
    monkeypatch.setattr("boto3.client", lambda *_, **__: client)
    with pytest.raises(InspectionDenied) as refused:
        account(CACHE_TABLE).allow_list()
    assert refused.value.remedy == f"needs dynamodb:GetItem on {CACHE_TABLE}"
