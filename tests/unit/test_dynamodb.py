"""Meaning of DynamoDB's errors. No emulator refuses a write while a transaction holds its item, so a stub does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.stub import Stubber

from berth.bind.share import Request, Reservation, Reservations
from berth.dynamodb import ItemHeld
from berth.ledger.gangs.dynamodb_table import DynamoDBGangTable
from berth.ledger.gangs.item import Domain
from berth.ledger.nodes.dynamodb_item import node_item
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger
from berth.ledger.nodes.ledger import TRIES, Ledger, LedgerOutcome, new_ledger
from berth.ledger.nodes.node_write import EntryChange, NodeWrite
from berth.pods import Binding
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects.pod import PodKey
from tests.builders.gang_items import TRAIN, claim, gang, intent
from tests.contract.ledger.ledgers import reserve
from tests.simulation.reservations.binds import COUNTING, LICENCE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

LEDGER = new_ledger("n1", {LICENCE: 4}, {}, epoch=1)
ENTRY = Entry(PodKey("ml", "a", "uid-a"), EntryState.RESERVED, "attempt-1", {LICENCE: 1}, 1.0)
AFTER: dict[str, Any] = {"Attributes": node_item(NodeLedger("n1", {LICENCE: 4}, {LICENCE: 3}, {}, {"uid-a": ENTRY}, 1))}
READ: dict[str, Any] = {"Item": node_item(LEDGER)}


@contextmanager
def stubbed() -> Iterator[tuple[DynamoDBClient, Stubber]]:
    session = boto3.session.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-central-1")
    client = session.client("dynamodb")
    with Stubber(client) as stub:
        yield client, stub
        stub.assert_no_pending_responses()


def holds_item(stub: Stubber, operation: str) -> None:
    """Let a transaction hold the item while this request is made."""
    stub.add_client_error(operation, "TransactionConflictException", "Transaction is ongoing for the item")


GANG_WRITES: list[tuple[str, str, Callable[[DynamoDBGangTable], object], object]] = [
    ("put_item", "put", lambda table: table.put(gang(), None), False),
    ("delete_item", "delete", lambda table: table.delete(gang()), False),
    ("put_item", "put_domain", lambda table: table.put_domain(Domain(claim(), 1), Domain()), False),
    ("update_item", "join", lambda table: table.join(TRAIN, 1, intent()), None),
    ("update_item", "withdraw", lambda table: table.withdraw(TRAIN, 1, "uid-train-0", "attempt-train-0"), None),
]


@pytest.mark.parametrize(
    ("operation", "write", "refused"), [pytest.param(each[0], each[2], each[3], id=each[1]) for each in GANG_WRITES]
)
def test_gang_write_fails_while_a_transaction_holds_the_item(
    operation: str, write: Callable[[DynamoDBGangTable], object], refused: object
) -> None:
    with stubbed() as (client, stub):
        holds_item(stub, operation)
        assert write(DynamoDBGangTable(client, "ledger")) is refused


def test_ledger_write_retries_on_the_latest_ledger_while_a_transaction_holds_the_item() -> None:
    with stubbed() as (client, stub):
        for _ in range(3):
            holds_item(stub, "update_item")
            stub.add_response("get_item", READ)
        stub.add_response("update_item", AFTER)
        assert reserve(Ledger(DynamoDBLedgerTable(client, "ledger")), "n1", ENTRY).outcome is LedgerOutcome.DONE


def test_ledger_write_returns_contended_if_transactions_hold_the_item_at_every_try() -> None:
    with stubbed() as (client, stub):
        for _ in range(TRIES):
            holds_item(stub, "update_item")
            stub.add_response("get_item", READ)
        assert reserve(Ledger(DynamoDBLedgerTable(client, "ledger")), "n1", ENTRY).outcome is LedgerOutcome.CONTENDED


def test_bind_of_a_counted_pod_reserves_after_a_gang_commit_on_its_node() -> None:
    with stubbed() as (client, stub):
        stub.add_response("put_item", {})
        holds_item(stub, "update_item")
        stub.add_response("get_item", READ)
        stub.add_response("update_item", AFTER)
        reservations = Reservations(DynamoDBLedgerTable(client, "ledger"), lambda: "attempt-1", lambda: 1.0, 0.0)
        binding = Binding("ml", "a", "uid-a", "n1")
        found = reservations.reserve(binding, Request((Demand(LICENCE, 1),)), COUNTING, lambda: 60.0)
        assert isinstance(found, Reservation)


LEDGER_WRITES: list[tuple[str, str, Callable[[DynamoDBLedgerTable], object]]] = [
    ("put_item", "create", lambda table: table.create(LEDGER)),
    ("update_item", "begin_rebuild", lambda table: table.begin_rebuild("n1", 1)),
    ("put_item", "finish_rebuild", lambda table: table.finish_rebuild(LEDGER)),
    ("delete_item", "delete_if_empty", lambda table: table.delete_if_empty("n1", 1)),
]


@pytest.mark.parametrize(("operation", "write"), [pytest.param(each[0], each[2], id=each[1]) for each in LEDGER_WRITES])
def test_watcher_retries_its_write_later_while_a_transaction_holds_the_item(
    operation: str, write: Callable[[DynamoDBLedgerTable], object]
) -> None:
    """The write raises, as after any table error: a returned ledger would mean that another watcher has written."""
    with stubbed() as (client, stub):
        holds_item(stub, operation)
        with pytest.raises(ItemHeld, match="ledger table ledger: a transaction holds the item"):
            write(DynamoDBLedgerTable(client, "ledger"))


def test_reserve_uses_the_item_as_changed_by_a_transaction() -> None:
    taken = new_ledger("n1", {LICENCE: 1}, {"uid-b": ENTRY}, epoch=1)
    with stubbed() as (client, stub):
        holds_item(stub, "update_item")
        stub.add_response("get_item", {"Item": node_item(taken)})
        assert reserve(Ledger(DynamoDBLedgerTable(client, "ledger")), "n1", ENTRY).outcome is LedgerOutcome.INSUFFICIENT


def test_node_write_fails_while_a_transaction_holds_the_item() -> None:
    with stubbed() as (client, stub):
        holds_item(stub, "update_item")
        stub.add_response("get_item", {})
        change = NodeWrite((EntryChange("uid-a", None, ENTRY),))
        assert DynamoDBLedgerTable(client, "ledger").write("n1", change).ledger is None
