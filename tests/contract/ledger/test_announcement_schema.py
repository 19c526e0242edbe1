"""Announcements that another release left in the ledger's table; see docs/how-to/upgrade.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.ledger.dynamodb_announcements import PARTITION, DynamoDBAnnouncementLog
from tests.builders.announcements import announcement
from tests.builders.recordings import RELEASES, Item, recorded, table_of

ANNOUNCED = announcement(1, "web-0", until=1_800_000_000.5)
WITHDRAWN = announcement(2, "web-1", node="node-b", until=1_800_000_001.0, withdrawn=True)


def write_today(client: DynamoDBClient, name: str) -> None:
    """Write an announcement that is in force and a withdrawn announcement."""
    log = DynamoDBAnnouncementLog(client, name)
    assert log.append(ANNOUNCED)
    assert log.append(replace(WITHDRAWN, withdrawn=False))
    log.withdraw(WITHDRAWN.position, WITHDRAWN.attempt)


def with_additions(item: Item) -> Item:
    """Return the item as the next release might write it."""
    added: dict[str, Any] = {"ofTheNextRelease": {"M": {"nested": {"L": [{"N": "1"}]}}}}
    return item | added | {"schema": {"N": str(int(item["schema"]["N"]) + 1)}}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("is_later", [False, True], ids=["as recorded", "with additions of the next release"])
def test_reads_announcements_of_every_release(release: str, is_later: bool, any_dynamodb: DynamoDBClient) -> None:
    items = [item for item in recorded(release, "ledger") if item["pk"]["S"] == PARTITION]
    with table_of(any_dynamodb, map(with_additions, items) if is_later else items, "S") as name:
        found = DynamoDBAnnouncementLog(any_dynamodb, name).read(1)
    assert tuple(found) == (ANNOUNCED, WITHDRAWN)


def test_appends_after_announcements_of_the_next_release(any_dynamodb: DynamoDBClient) -> None:
    items = [with_additions(item) for item in recorded(RELEASES[-1], "ledger") if item["pk"]["S"] == PARTITION]
    with table_of(any_dynamodb, items, "S") as name:
        log = DynamoDBAnnouncementLog(any_dynamodb, name)
        assert not log.append(announcement(2, attempt="mine"))
        assert log.append(announcement(3, attempt="mine"))
        log.withdraw(ANNOUNCED.position, ANNOUNCED.attempt)
        assert [(each.position, each.withdrawn) for each in log.read(1)] == [(1, True), (2, True), (3, False)]
