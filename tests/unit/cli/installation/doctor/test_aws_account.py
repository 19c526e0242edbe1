"""What doctor reads in the ledger of a stack."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.entry import Entry, EntryState
from berth.ledger.nodes.ledger import new_ledger
from berth.scheduling.objects.pod import PodKey
from berth_cli.installation.doctor.aws_account import AccountUnavailable, AWSAccount
from berth_cli.server.options import LEDGER_TABLE
from berth_cli.sources.stack import LEDGER_TABLE_NAME, DeployedStack


@pytest.fixture
def ledger(dynamodb: DynamoDBClient) -> Iterator[DynamoDBLedgerTable]:
    """The session's embedded table; its ledgers are removed afterwards."""
    table = DynamoDBLedgerTable(dynamodb, LEDGER_TABLE)
    yield table
    for each in table.nodes():
        dynamodb.delete_item(TableName=LEDGER_TABLE, Key={"pk": {"S": f"node#{each.owner}"}, "sk": {"S": "ledger"}})


def account(table: str) -> AWSAccount:
    return AWSAccount(DeployedStack("berth", None, {}, {LEDGER_TABLE_NAME: table}))


def test_only_floating_pools_owe(ledger: DynamoDBLedgerTable) -> None:
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
