"""What the table of gangs does with answers of DynamoDB that its emulators do not give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from berth.dynamodb_errors import TableUnavailable
from berth.gangs.dynamodb_table import DynamoDBGangTable
from berth.reservations.ledger.dynamodb_item import node_item
from berth.reservations.ledger.ledger import new_ledger

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


def test_asks_again_for_what_is_left_while_some_is_answered() -> None:
    client: Any = ThrottledClient([2, 1])
    assert DynamoDBGangTable(client, "ledger").ledgers(NODES).keys() == set(NODES)


def test_raises_when_nothing_is_answered() -> None:
    client: Any = ThrottledClient([2, 0])
    with pytest.raises(TableUnavailable, match="throttled"):
        DynamoDBGangTable(client, "ledger").ledgers(NODES)
