"""What the table of gangs does with answers of DynamoDB that its emulators do not give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from berth.dynamodb_errors import TableThrottled, TableUnavailable
from berth.extender.deadline import Deadline
from berth.gangs.dynamodb_table import DynamoDBGangTable
from berth.gangs.table import TimedGangTable
from berth.reservations.ledger.dynamodb_item import node_item
from berth.reservations.ledger.ledger import new_ledger
from berth.reservations.ledger.table import DeadlineExceeded
from tests.fakes.clock import HandDrivenClock

NODES = ("n1", "n2", "n3")


class ThrottledClient:
    """A read answers so many items each time, and leaves the others."""

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


def test_asks_four_times_at_most_while_the_table_throttles() -> None:
    client: Any = ThrottledClient([1] * 98)
    with pytest.raises(TableThrottled, match="94 ledgers are left after 4 reads"):
        DynamoDBGangTable(client, "ledger").ledgers([f"n{number:02}" for number in range(98)])


def test_each_request_of_a_call_begins_with_time_for_it() -> None:
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


def test_asks_again_for_what_is_left_while_some_is_answered() -> None:
    client: Any = ThrottledClient([2, 1])
    assert DynamoDBGangTable(client, "ledger").ledgers(NODES).keys() == set(NODES)


def test_raises_when_nothing_is_answered() -> None:
    client: Any = ThrottledClient([2, 0])
    with pytest.raises(TableUnavailable, match="throttled"):
        DynamoDBGangTable(client, "ledger").ledgers(NODES)
