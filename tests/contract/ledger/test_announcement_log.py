"""Contract of the port AnnouncementLog, on every implementation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from berth.bind.announcing import MAX_CONTENT_BYTES
from berth.dynamodb import TableUnavailable
from berth.ledger.announcements import AnnouncementLog, BegunBind, place_of
from berth.ledger.dynamodb_announcements import DynamoDBAnnouncementLog
from berth_cli.server.store.ledger_table import InMemoryAnnouncementLog
from tests.builders.announcements import announcement
from tests.unit.ledger.nodes.ledger_tables import ALL, IN_MEMORY, dynamodb_client, new_table


@pytest.fixture(params=ALL)
def log(request: pytest.FixtureRequest) -> Iterator[AnnouncementLog]:
    if request.param == IN_MEMORY:
        yield InMemoryAnnouncementLog()
        return
    client = dynamodb_client(request.param, request)
    name = new_table(client)
    yield DynamoDBAnnouncementLog(client, name)
    client.delete_table(TableName=name)


def test_reads_appended_announcements_by_position(log: AnnouncementLog) -> None:
    written = [announcement(position, f"p{position}", until=100.125) for position in (1, 2, 10)]
    assert [log.append(each) for each in written] == [True, True, True]
    assert list(log.read(1)) == written
    assert list(log.read(2)) == written[1:]
    assert list(log.read(11)) == []


def test_accepts_announcement_of_the_maximum_size(log: AnnouncementLog) -> None:
    small = announcement(1, "p" * 253)
    largest = replace(
        small, content=small.content.ljust(MAX_CONTENT_BYTES), attempt="a" * 64, resource_version="9" * 20
    )
    assert log.append(largest)
    assert list(log.read(1)) == [largest]


def test_rejects_an_announcement_at_an_occupied_position(log: AnnouncementLog) -> None:
    first = announcement(1, "p1")
    assert log.append(first)
    assert not log.append(announcement(1, "p2", attempt="other"))
    assert list(log.read(1)) == [first]


def test_append_succeeds_again_after_a_lost_response(log: AnnouncementLog) -> None:
    assert [log.append(announcement(1)), log.append(announcement(1))] == [True, True]


@pytest.mark.parametrize(
    ("attempt", "withdrawn"),
    [pytest.param("attempt-1", True, id="the same attempt"), pytest.param("other", False, id="another attempt")],
)
def test_withdraws_announcement_of_the_same_attempt_only(log: AnnouncementLog, attempt: str, withdrawn: bool) -> None:
    log.append(announcement(1))
    log.withdraw(1, attempt)
    assert list(log.read(1)) == [replace(announcement(1), withdrawn=withdrawn)]


def test_withdraw_succeeds_if_the_announcement_does_not_exist(log: AnnouncementLog) -> None:
    log.withdraw(1, "attempt-1")
    assert list(log.read(1)) == []


def test_trim_deletes_ended_announcements_before_the_position(log: AnnouncementLog) -> None:
    written = [announcement(position, until=float(position)) for position in range(1, 61)]
    for each in written:
        log.append(each)
    log.trim(50, until=40.0)
    assert [each.position for each in log.read(1)] == [*range(40, 61)]


def test_reads_announcements_of_every_page(log: AnnouncementLog) -> None:
    large = replace(announcement(1), content=announcement(1).content + b" " * 300_000)
    for position in range(1, 6):
        log.append(replace(large, position=position))
    assert [each.position for each in log.read(1)] == [1, 2, 3, 4, 5]


def test_query_for_announcements_also_returns_begun_binds(log: AnnouncementLog) -> None:
    begun = [BegunBind("uid-p", "node-a", 100.125), BegunBind("uid-q", "node-b", 101.0)]
    assert len({place_of(each) for each in begun}) == 2
    written = [announcement(position) for position in (1, 2)]
    for bind in begun:
        log.begin(bind)
    for each in written:
        log.append(each)
    announcements, found = log.read_with_begun(2)
    assert [*announcements] == written[1:]
    assert {*found} == {*begun}
    assert list(log.read(1)) == written


def test_later_bind_of_a_pod_replaces_its_earlier_bind(log: AnnouncementLog) -> None:
    for since in (100.0, 101.0):
        log.begin(BegunBind("uid-p", "node-a", since))
    assert [*log.read_with_begun(1)[1]] == [BegunBind("uid-p", "node-a", 101.0)]


def test_raises_table_unavailable_if_the_table_is_missing(request: pytest.FixtureRequest) -> None:
    log = DynamoDBAnnouncementLog(dynamodb_client("moto", request), "no-such-table")
    for call in (
        lambda: log.read(1),
        lambda: log.read_with_begun(1),
        lambda: log.begin(BegunBind("uid-p", "node-a", 100.0)),
        lambda: log.append(announcement()),
        lambda: log.withdraw(1, "attempt-1"),
        lambda: log.trim(1, 0.0),
    ):
        with pytest.raises(TableUnavailable, match="no-such-table"):
            call()


def test_error_names_announcement_without_a_readable_pod(log: AnnouncementLog) -> None:
    if isinstance(log, InMemoryAnnouncementLog):
        pytest.skip("it keeps the announcement itself")
    log.append(replace(announcement(1), content=b"[]"))
    with pytest.raises(TableUnavailable, match="an announcement is malformed"):
        log.read(1)
