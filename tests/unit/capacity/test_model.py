"""The model of units against what the writer and the reader really send."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.cluster.watch.resources import BASE_RESOURCES, GANG_RESOURCES, SPREAD_RESOURCES
from berth.configuration.dynamodb_store import DynamoDBConfigurationStore
from berth.configuration.store import hash_of
from berth.lease.dynamodb_item import lease_update
from berth.lease.record import Lease, LeaseSpec
from berth.ledger_holder.lease import counted_elsewhere
from berth.nodecache.feed.cluster import Position
from berth.nodecache.feed.dynamodb_head import MOST_CHUNKS, pointer_update
from berth.nodecache.feed.head import Observation, Pointer, PublishedVersion, SnapshotPointer, in_every_part
from berth.reservations.ledger.dynamodb_table import DynamoDBLedgerTable
from berth.runtime.adapters import counting_loss_check
from berth.scheduling.snapshot.parts import NODES_ONLY, SnapshotPart
from berth_cli.embedded_store.configuration_store import InMemoryConfigurationStore
from berth_cli.embedded_store.lease_lock import InMemoryItem
from tests.capacity.item_size import item_size, read_units, write_units
from tests.capacity.metered_feed import HEAD, LOG, RESOURCES, TABLE, Feed, Meter, feed_on_a_table, sample
from tests.capacity.model import Load, snapshot_load_units, units
from tests.capacity.sizes import (
    HEAD_BYTES,
    HEAD_BYTES_SPREADING,
    LOG_ITEM_KEYS,
    PODS_PER_NODE,
    node_changes,
    packed_pod_changes,
    pod_changes,
)
from tests.unit.reservations.ledger.ledger_tables import new_table

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


def test_head_with_all_that_it_may_name_stays_below_two_kilobytes() -> None:
    """Every number is longer than any cluster makes it, and every attribute is there. The version of plugins is the one
    attribute without a limit; this one is longer than usual."""
    epoch, at, uid = 10**9, 1_800_000_000.123, "0d2f6a52-5d2f-4a4e-9d5e-000000000000"
    holder = f"watcher_{uid}"
    newest = in_every_part(PublishedVersion(10**12, epoch))
    chunks = dict.fromkeys(SnapshotPart, MOST_CHUNKS // len(SnapshotPart))
    watched = (*BASE_RESOURCES, *SPREAD_RESOURCES, *GANG_RESOURCES)
    positions = {resource.key: Position(str(2**63), at, at) for resource in watched}
    pointer = Pointer(
        version=10**12,
        last_epoch=epoch,
        newest=newest,
        snapshot=SnapshotPointer(uid.replace("-", ""), 10**12, newest, chunks, size=10**10, written_at=at),
        compacted_version=10**12,
        log_bytes=10**10,
        observation=Observation(f"{uid}/{'f' * 16}", positions),
        heartbeat=at,
        writer_version="10.10.10",
    )
    lease = Lease(LeaseSpec(holder, 15, at, at, epoch, handover_at=at), 10**12, uid, uid.replace("-", ""))
    rest = {
        "pk": "head",
        "configurationHash": hash_of("{}"),
        "pluginVersion": f"10.10.10-rc.10+{'f' * 40}",
        "countingRefusal": counted_elsewhere(holder),
    }
    attributes: dict[str, Any] = {
        **{name.lstrip(":"): value for name, value in lease_update(lease).values.items()},
        **{name.lstrip(":"): value for name, value in pointer_update(pointer).values.items()},
        **{name: {"S": text} for name, text in rest.items()},
        "sk": {"N": "0"},
    }
    assert item_size(attributes) < 2048


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


@pytest.mark.parametrize("nodes", [20, 100])
def test_load_of_a_snapshot_costs_half_a_unit_for_four_kilobytes(feed: Feed, nodes: int) -> None:
    feed.replace(*node_changes(nodes), *pod_changes()[: nodes * PODS_PER_NODE])
    meter = Meter(feed.client)
    feed.catch_up()
    # Fewer pods of the same controllers are packed less well.
    assert meter.reads["snapshot"] == pytest.approx(snapshot_load_units(nodes), rel=0.25, abs=1)


def test_reader_of_nodes_reads_nothing_for_changes_of_pods(feed: Feed) -> None:
    feed.replace(*node_changes(100))
    feed.flush(*sample(50))
    meter = Meter(feed.client)
    feed.catch_up(NODES_ONLY)
    feed.flush(*sample(50))
    feed.catch_up(NODES_ONLY)
    assert LOG not in meter.reads
    assert meter.reads[HEAD] == 2
    feed.flush(*node_changes(1))
    feed.catch_up(NODES_ONLY)
    assert meter.reads[LOG] == 1


def test_check_whether_counting_was_lost_costs_half_a_unit(feed: Feed) -> None:
    """It looks for a marker that was written long before, or never."""
    table = DynamoDBLedgerTable(feed.client, new_table(feed.client))
    meter = Meter(feed.client)
    check = counting_loss_check(table, InMemoryConfigurationStore(InMemoryItem()))
    check.raise_if_lost()
    assert meter.reads == {"ledger": 0.5}


def test_cost_grows_less_than_changes() -> None:
    """They share items, and what the pods of a controller have in common is packed once."""
    one, two = units(Load(5_000, 25, 12)), units(Load(5_000, 50, 24))
    assert one.log_writes < two.log_writes < 2 * one.log_writes
