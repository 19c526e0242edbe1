"""What a bind under rules about other pods costs (docs/concepts/rules-about-pods.md): calls of tables, and units.

A bind without such rules has no announcements, so it costs nothing: tests/unit/bind/test_rules.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from berth.bind.announcing import MAX_CONTENT_BYTES
from berth.ledger.announcements import Announcement
from berth.ledger.dynamodb_announcements import DynamoDBAnnouncementLog
from berth.pods import Created, Refused
from berth_cli.embedded_store.announcement_log import InMemoryAnnouncementLog
from tests.builders.announcements import announcement
from tests.builders.pods import pod_object
from tests.fakes.binding_world import World
from tests.fakes.dynamodb_units import item_size, read_units, write_units

READ = ["read of the log", "read of the head"]
JUDGED = [*READ, "write of the announcement"]
CALLS = {
    "read": "read of the log",
    "append": "write of the announcement",
    "withdraw": "withdrawal",
    "trim": "deletion",
}


class WarmWorld(World):
    """A warm bind, and the calls of tables that follow."""

    def __init__(self) -> None:
        super().__init__()
        self.bind("warm-up", on="node-a")
        self.calls: list[str] = []
        for name, call in CALLS.items():
            self._record(self.log, name, call)
        self._record(self.published.table, "head", "read of the head")
        self._record(self.published.table, "log", "changes of the cache")

    def _record(self, table: object, name: str, call: str) -> None:
        method = getattr(table, name)

        def recorded(*arguments: Any) -> Any:
            self.calls.append(call)
            return method(*arguments)

        setattr(table, name, recorded)


def test_judges_with_two_reads_and_one_write() -> None:
    world = WarmWorld()
    world.bind("p", on="node-b")
    assert world.calls == JUDGED


def test_rejected_pod_costs_no_write() -> None:
    world = WarmWorld()
    world.bind("p", on="node-a")
    assert world.calls == READ


def test_withdrawal_is_one_write() -> None:
    world = WarmWorld()
    world.answer = lambda binding: Refused(403, "no") if binding.pod_name == "p" else Created()
    world.bind("p", on="node-b")
    assert world.calls == [*JUDGED, "withdrawal"]


def test_taken_position_costs_the_same_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = WarmWorld()
    [first] = world.log.read(1)
    world.calls.clear()
    log, append = world.log, world.log.append
    assert isinstance(log, InMemoryAnnouncementLog)

    def another_comes_first(mine: Announcement) -> bool:
        monkeypatch.setattr(world.log, "append", append)
        elsewhere = replace(first.pod, uid="other", node_name="node-c")
        InMemoryAnnouncementLog.append(log, replace(first, position=2, attempt="another", pod=elsewhere))
        return append(mine)

    monkeypatch.setattr(world.log, "append", another_comes_first)
    world.bind("p", on="node-b")
    assert world.calls == JUDGED * 2


def test_changed_cache_is_read_once() -> None:
    world = WarmWorld()
    world.published.publish("pods", [pod_object("other", node_name="node-b")])
    world.calls.clear()
    world.bind("p", on="node-b")
    assert world.calls == [*READ, "changes of the cache", "write of the announcement"]


class Items:
    """A client of DynamoDB that keeps what is written."""

    def __init__(self) -> None:
        self.written: list[Mapping[str, Any]] = []

    def put_item(self, **request: Any) -> None:
        self.written.append(request["Item"])


@pytest.mark.parametrize(
    ("content", "writes", "reads"),
    [
        pytest.param(announcement().content, 1, 1, id="a small pod"),
        pytest.param(b" " * MAX_CONTENT_BYTES, 63, 16, id="the largest"),
    ],
)
def test_units_of_an_announcement(content: bytes, writes: int, reads: int) -> None:
    client: Any = Items()
    DynamoDBAnnouncementLog(client, "ledger").append(replace(announcement(attempt="a" * 32), content=content))
    size = item_size(client.written[0])
    assert (write_units(size), read_units(size)) == (writes, reads)
