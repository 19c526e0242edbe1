"""Handling of DynamoDB responses that its emulators do not produce, by the table of gangs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from berth.dynamodb import TableThrottled, TableUnavailable
from berth.extender.deadline import Deadline
from berth.ledger.gangs.dynamodb_table import DynamoDBGangTable
from berth.ledger.gangs.item import GangState
from berth.ledger.gangs.table import TimedGangTable, Transaction
from berth.ledger.nodes.dynamodb_item import node_item
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.entry import Entry, EntryState
from berth.ledger.nodes.ledger import new_ledger
from berth.ledger.nodes.node_write import EntryChange, NodeWrite, PoolChange
from berth.scheduling.evaluation.time_limit import DeadlineExceeded
from tests.builders.gang_items import TRAIN, gang, intent
from tests.fakes.clock import HandDrivenClock
from tests.fakes.throttled_dynamodb import NewTable, ThrottledMoto
from tests.unit.lease.dynamodb_stores import client_of
from tests.unit.ledger.nodes.ledger_tables import new_table

NODES = ("n1", "n2", "n3")
GPU = "example.com/gpu"


class ThrottledClient:
    """Returns the given number of items in each read, and leaves the other items unprocessed."""

    def __init__(self, answered: Sequence[int]) -> None:
        self._answered = list(answered)

    def batch_get_item(self, RequestItems: Any) -> Any:  # noqa: N803 - the name is boto3's
        [(table, request)] = RequestItems.items()
        count = self._answered.pop(0)
        names = [key["pk"]["S"].removeprefix("node#") for key in request["Keys"][:count]]
        left = request["Keys"][count:]
        return {
            "Responses": {table: [node_item(new_ledger(name, {}, {}, epoch=1)) for name in names]},
            "UnprocessedKeys": {table: {"Keys": left}} if left else {},
        }


def test_reads_at_most_four_times_while_the_table_throttles() -> None:
    client: Any = ThrottledClient([1] * 98)
    with pytest.raises(TableThrottled, match="94 ledgers are left after 4 reads"):
        DynamoDBGangTable(client, "ledger").ledgers([f"n{number:02}" for number in range(98)])


def test_each_request_of_a_call_starts_only_with_enough_time() -> None:
    clock = HandDrivenClock()
    deadline = Deadline(1.5, clock)

    class SlowClient(ThrottledClient):
        def batch_get_item(self, RequestItems: Any) -> Any:  # noqa: N803 - the name is boto3's
            clock.advance(0.4)
            return super().batch_get_item(RequestItems)

    def check() -> None:
        if deadline.remaining() <= 0.5:
            raise DeadlineExceeded

    client: Any = SlowClient([1] * 98)
    table = TimedGangTable(DynamoDBGangTable(client, "ledger"), check, clock)
    with pytest.raises(DeadlineExceeded):
        table.ledgers([f"n{number:02}" for number in range(98)])
    assert deadline.remaining() > 0


def test_requests_remaining_items_again_while_some_are_returned() -> None:
    client: Any = ThrottledClient([2, 1])
    assert DynamoDBGangTable(client, "ledger").ledgers(NODES).keys() == set(NODES)


def test_read_raises_if_every_item_stays_unprocessed() -> None:
    client: Any = ThrottledClient([2, 0])
    with pytest.raises(TableUnavailable, match="throttled"):
        DynamoDBGangTable(client, "ledger").ledgers(NODES)


class TestThrottledTransaction:
    """A transaction that a throttled table cancels."""

    @pytest.fixture
    def moto(self) -> ThrottledMoto:
        return ThrottledMoto()

    @pytest.mark.parametrize(
        ("limits", "reason"),
        [
            pytest.param({"down": lambda: True}, "ThrottlingError", id="the table"),
            pytest.param({"writes": 0}, "ThrottlingError", id="the table's throughput"),
            pytest.param({"writes": 8}, "ProvisionedThroughputExceeded", id="a partition"),
        ],
    )
    def test_failed_write_raises_table_throttled_and_does_not_write(
        self, moto: ThrottledMoto, limits: dict[str, Any], reason: str
    ) -> None:
        clock = HandDrivenClock()
        client = client_of(moto.send)
        name = new_table(client)
        table, ledgers = DynamoDBGangTable(client, name), DynamoDBLedgerTable(client, name)
        members = [intent(f"train-{number}", node) for number, node in enumerate(NODES)]
        opened = gang(members, minimum=len(NODES))
        writes = {}
        for member in members:
            ledgers.create(new_ledger(member.node, {GPU: 1}, {}, epoch=1))
            entry = Entry(member.pod, EntryState.RESERVED, member.attempt, {GPU: 1}, 10.25)
            change = EntryChange(member.pod.uid, None, entry)
            writes[member.node] = NodeWrite((change,), {GPU: PoolChange(avail=-1, min_avail=1)})
        table.put(opened, None)
        transaction = Transaction(opened, opened.changed(GangState.COMMITTED, 11.5), None, writes)
        guard = moto.guard = NewTable(clock, **limits)
        with suppress(TableThrottled):
            for _ in range(8):
                table.put(opened, opened)
        guard.tally.calls.clear()

        with pytest.raises(TableThrottled, match=rf"{name}: the table is throttled .*{reason}"):
            table.transact(transaction)

        assert guard.tally.calls.total() == 1
        moto.guard = None
        assert table.gang(TRAIN) == opened
        assert not any(ledger.entries for ledger in table.ledgers(NODES).values())
        assert table.transact(transaction) is None
        client.delete_table(TableName=name)
