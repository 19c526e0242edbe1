"""The model of units against what the writer and the reader really send."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from tests.capacity.item_size import read_units, write_units
from tests.capacity.metered_feed import HEAD, LOG, RESOURCES, TABLE, Feed, Meter, feed_on_a_table, sample
from tests.capacity.model import Load, units
from tests.capacity.sizes import HEAD_BYTES, HEAD_BYTES_SPREADING, LOG_ITEM_KEYS, packed_pod_changes

SPREADING = ("services", "replicationcontrollers", "replicasets", "statefulsets")


@pytest.fixture
def feed(dynamodb: DynamoDBClient) -> Iterator[Feed]:
    with feed_on_a_table() as feed:
        yield feed


@pytest.mark.parametrize(
    ("resources", "modelled"),
    [
        pytest.param(RESOURCES, HEAD_BYTES, id="what every profile needs"),
        pytest.param((*RESOURCES, *SPREADING), HEAD_BYTES_SPREADING, id="and what PodTopologySpread scores"),
    ],
)
def test_head_has_modelled_size_below_two_kilobytes(feed: Feed, resources: tuple[str, ...], modelled: int) -> None:
    feed.resources = resources
    DynamoDBConfigurationStore(feed.client, TABLE).apply('{"profile": "full"}')
    feed.flush(*sample(13))
    feed.compact()
    assert feed.head_size() == pytest.approx(modelled, rel=0.03)
    assert write_units(feed.head_size()) == write_units(modelled) <= 2


@pytest.mark.parametrize("changes", [1, 13, 50, 250])
def test_flush_writes_modelled_bytes(feed: Feed, changes: int) -> None:
    feed.flush()
    meter = Meter(feed.client)
    feed.flush(*sample(changes))
    modelled = write_units(round(packed_pod_changes(changes)) + LOG_ITEM_KEYS)
    assert meter.writes[LOG] == pytest.approx(modelled, abs=1 + modelled * 0.2)


@pytest.mark.parametrize("changes", [1, 13, 50, 250])
def test_flush_costs_at_most_two_units_more_than_its_bytes(feed: Feed, changes: int) -> None:
    feed.flush()
    meter = Meter(feed.client)
    feed.flush(*sample(changes))
    head = feed.table.head()
    assert head is not None
    assert head.pointer is not None
    written = meter.writes[LOG] + write_units(feed.head_size())
    assert written <= 2 + write_units(head.pointer.log_bytes) + 1


def test_warm_call_costs_one_read_unit(feed: Feed) -> None:
    feed.flush(*sample(13))
    feed.catch_up()
    meter = Meter(feed.client)
    feed.catch_up()
    assert meter.reads == {HEAD: 1}


@pytest.mark.parametrize("changes", [1, 50, 250])
def test_warm_call_after_changes_costs_one_unit_for_head_and_one_per_four_kilobytes(feed: Feed, changes: int) -> None:
    feed.flush(*sample(10))
    feed.catch_up()
    before = feed.table.head()
    meter = Meter(feed.client)
    feed.flush(*sample(changes))
    feed.catch_up()
    after = feed.table.head()
    assert before is not None
    assert after is not None
    assert before.pointer is not None
    assert after.pointer is not None
    packed = after.pointer.log_bytes - before.pointer.log_bytes
    # The last read of the head is this test's own.
    assert meter.reads[HEAD] == 2
    assert meter.reads[LOG] <= read_units(packed + LOG_ITEM_KEYS)


def test_cost_grows_less_than_changes() -> None:
    """They share items, and what the pods of a controller have in common is packed once."""
    one, two = units(Load(5_000, 25, 12)), units(Load(5_000, 50, 24))
    assert one.log_writes < two.log_writes < 2 * one.log_writes
