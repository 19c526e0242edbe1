"""Items of another release in the ledger, one release before or after this one; see docs/how-to/upgrade.md."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import pytest
from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.configuration.dynamodb_store import LEDGER_KEY, LEDGER_SLOTS, AppliedDocuments
from berth.configuration.store import AppliedVersion
from berth.dynamodb import TableUnavailable, ledger_table_errors
from berth.ledger.lease import DynamoDBStoreIdentity
from berth.ledger.nodes.dynamodb_item import SCHEMA_VERSION
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.entry import Entry, EntryState, OpenReservation
from berth.ledger.nodes.ledger import Ledger, LedgerOutcome, new_ledger
from berth.ledger.nodes.table import LedgerTable, Marker, MarkerState
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.events import ReservationEventType
from tests.builders.recordings import RELEASES, Item, items_of, recorded, table_of
from tests.contract.ledger import test_announcement_schema, test_gang_schema
from tests.contract.ledger.ledgers import reserve
from tests.fakes.counted_cluster import SLOT
from tests.unit.upkeep.reconciler.reconciler_harness import NODE, ReconcilerHarness

LATEST = RELEASES[-1]
AT = 1_800_000_000.5
DEVICE = "nvidia.com/gpumem#0"

RUNNING = Entry(PodKey("ml", "train-0", "uid-0"), EntryState.BOUND, "a0", {SLOT: 2, DEVICE: 3000}, AT)
BEING_BOUND = Entry(PodKey("ml", "train-1", "uid-1"), EntryState.RESERVED, "a1", {SLOT: 1}, AT)
NEXT = Entry(PodKey("ml", "train-2", "uid-2"), EntryState.RESERVED, "a2", {SLOT: 5}, AT)
LEDGER = new_ledger(NODE, {SLOT: 8, DEVICE: 8000}, {each.pod.uid: each for each in (RUNNING, BEING_BOUND)}, epoch=4)
REBUILDING = replace(new_ledger("node-b", {SLOT: 2}, {}, epoch=4), avail=None)
OPEN = OpenReservation(BEING_BOUND.pod, NODE, "a1", BEING_BOUND.shares, AT)
MARKER = Marker(MarkerState.READY, 4, AT, "n1")
APPLIED = AppliedVersion(3, '{"profile": "label-priority"}', AT, stops_counting=True)
IDENTITY = "store-1"

Filled = Callable[[list[Item]], LedgerTable]


def write_today(client: DynamoDBClient, name: str) -> None:
    """Write a node with pods, a node that is being rebuilt, an open reservation, the marker, the applied document, the
    identity, announcements, and gangs."""
    table = DynamoDBLedgerTable(client, name)
    table.create(LEDGER)
    table.create(REBUILDING)
    table.put_open(OPEN)
    table.put_marker(MARKER, None)
    assert applied_documents(client, name).replace(APPLIED, None)
    assert DynamoDBStoreIdentity(client, name).put_if_absent(IDENTITY)
    test_announcement_schema.write_today(client, name)
    test_gang_schema.write_today(client, name)


def applied_documents(client: DynamoDBClient, name: str) -> AppliedDocuments:
    return AppliedDocuments(client, LEDGER_KEY, LEDGER_SLOTS, ledger_table_errors(name))


@pytest.fixture
def ledger_of(any_dynamodb: DynamoDBClient) -> Iterator[Filled]:
    """Yield a function that fills a table with items."""
    with table_of(any_dynamodb, (), "S") as name:

        def filled(items: list[Item]) -> LedgerTable:
            for item in items:
                any_dynamodb.put_item(TableName=name, Item=item)
            return DynamoDBLedgerTable(any_dynamodb, name)

        yield filled


def later(items: list[Item], *, oldest_reader: int) -> list[Item]:
    """Return the items as the next release might write them, with additions wherever they are allowed."""
    found = []
    for item in items:
        more = {**item, "ofTheNextRelease": {"M": {"nested": {"L": [{"N": "1"}]}}}}
        if "schema" in item:
            more["schema"] = {"N": str(SCHEMA_VERSION + 1)}
        if "entries" in item:
            more["oldestReader"] = {"N": str(oldest_reader)}
            entries = {uid: {"M": value["M"] | {"zone": {"S": "a"}}} for uid, value in item["entries"]["M"].items()}
            more["entries"] = {"M": entries}
        if "document" in item:
            more["oldestReader"] = {"N": str(oldest_reader)}
        found.append(more)
    return found


def node_item(client: DynamoDBClient, table: str) -> Item:
    return next(item for item in items_of(client, table) if item["pk"]["S"] == f"node#{NODE}")


# ------------------------------------------------------------------------------------------------------- this release
def test_writes_recorded_items_of_this_release(any_dynamodb: DynamoDBClient) -> None:
    """If this fails, the format has changed: increase SCHEMA_VERSION and run python -m tests.recorded RELEASE."""
    with table_of(any_dynamodb, (), "S") as name:
        write_today(any_dynamodb, name)
        assert items_of(any_dynamodb, name) == recorded(LATEST, "ledger")


def assert_is_read(table: LedgerTable) -> None:
    assert table.node(NODE) == LEDGER
    assert table.node("node-b") == REBUILDING
    assert table.open_reservations() == [OPEN]
    assert table.marker() == MARKER


@pytest.mark.parametrize("release", RELEASES)
def test_reads_recorded_items_of_every_release(release: str, ledger_of: Filled) -> None:
    assert_is_read(ledger_of(recorded(release, "ledger")))


@pytest.mark.parametrize("is_later", [False, True], ids=["as recorded", "with additions of the next release"])
def test_reads_recorded_document_and_identity(is_later: bool, any_dynamodb: DynamoDBClient) -> None:
    items = recorded(LATEST, "ledger")
    with table_of(any_dynamodb, later(items, oldest_reader=SCHEMA_VERSION) if is_later else items, "S") as name:
        assert applied_documents(any_dynamodb, name).read() == APPLIED
        assert DynamoDBStoreIdentity(any_dynamodb, name).get() == IDENTITY


# ---------------------------------------------------------------------------------------------------- the next release
def test_ignores_attributes_that_next_release_adds(ledger_of: Filled) -> None:
    assert_is_read(ledger_of(later(recorded(LATEST, "ledger"), oldest_reader=SCHEMA_VERSION)))


def test_reserves_beside_watcher_of_next_release(any_dynamodb: DynamoDBClient) -> None:
    """The reservation leaves unknown attributes unchanged."""
    with table_of(any_dynamodb, later(recorded(LATEST, "ledger"), oldest_reader=SCHEMA_VERSION), "S") as name:
        ledger = Ledger(DynamoDBLedgerTable(any_dynamodb, name))
        assert reserve(ledger, NODE, NEXT).done
        short = reserve(ledger, NODE, replace(NEXT, pod=PodKey("ml", "x", "uid-x"), attempt="a3", shares={SLOT: 1}))
        assert short.outcome is LedgerOutcome.INSUFFICIENT
        item = node_item(any_dynamodb, name)
        assert item["schema"] == {"N": str(SCHEMA_VERSION + 1)}
        assert "ofTheNextRelease" in item
        assert item["entries"]["M"]["uid-1"]["M"]["zone"] == {"S": "a"}


def test_confirms_reservation_of_next_release(ledger_of: Filled) -> None:
    table = ledger_of(later(recorded(LATEST, "ledger"), oldest_reader=SCHEMA_VERSION))
    bound = replace(BEING_BOUND, state=EntryState.BOUND)
    assert Ledger(table).put_bound(LEDGER, bound, epoch=5).done
    found = table.node(NODE)
    assert found is not None
    assert found.entries["uid-1"] == bound


@pytest.fixture
def unreadable() -> list[Item]:
    """Return items that only readers of the next release understand: their entries have another form."""
    items = later(recorded(LATEST, "ledger"), oldest_reader=SCHEMA_VERSION + 1)
    for item in items:
        if "avail" in item:
            item["entries"] = {"M": {"uid-0": {"S": "bound/a0/2"}}}
    return items


OPERATIONS: Mapping[str, Callable[[Ledger], object]] = {
    "bind reserves": lambda ledger: reserve(ledger, NODE, NEXT),
    "bind or watcher releases": lambda ledger: ledger.release(NODE, BEING_BOUND),
    "the watcher confirms": lambda ledger: ledger.put_bound(LEDGER, replace(NEXT, state=EntryState.BOUND), epoch=5),
    "the watcher looks": lambda ledger: ledger.table.node(NODE),
}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_does_not_write_and_names_the_remedy_if_oldest_reader_is_later(
    unreadable: list[Item], any_dynamodb: DynamoDBClient, operation: Callable[[Ledger], object]
) -> None:
    with table_of(any_dynamodb, unreadable, "S") as name:
        before = items_of(any_dynamodb, name)
        with pytest.raises(TableUnavailable, match=r"schema 2 is a later release's.*berth reservations rebuild"):
            operation(Ledger(DynamoDBLedgerTable(any_dynamodb, name)))
        assert items_of(any_dynamodb, name) == before


def test_does_not_use_a_document_if_oldest_reader_is_later(
    unreadable: list[Item], any_dynamodb: DynamoDBClient
) -> None:
    with (
        table_of(any_dynamodb, unreadable, "S") as name,
        pytest.raises(TableUnavailable, match="a later release applied the configuration"),
    ):
        applied_documents(any_dynamodb, name).read()


def test_rebuilds_items_if_oldest_reader_is_later(unreadable: list[Item], ledger_of: Filled) -> None:
    """After a rollback, `berth reservations rebuild` enters the running pods, and reservations resume."""
    table = ledger_of([item for item in unreadable if item["pk"]["S"] != "node#node-b"])
    harness = ReconcilerHarness(ready=False, table=table)
    harness.clock.advance(AT)
    harness.node(8)
    harness.cluster.create_pod("train-0", 2)
    harness.cluster.place("train-0", NODE)
    harness.publish()
    for _ in range(4):
        harness.lead()  # so that the next leader's epoch is not below the epoch in the table
    leader = harness.lead()
    harness.run(leader, 10)
    assert ReservationEventType.TABLE_UNAVAILABLE in harness.happened()
    assert table.put_marker(Marker(MarkerState.REBUILDING, 5, AT, "operator"), table.marker())
    for _ in range(6):
        harness.run(leader, 10)
        harness.publish(leader)
    marker = table.marker()
    assert marker is not None
    assert marker.state is MarkerState.READY
    found = table.node(NODE)
    assert found is not None
    assert found.avail == {SLOT: 6}
    assert [entry.pod.name for entry in found.entries.values()] == ["train-0"]


# ------------------------------------------------------------------------------------------------ the previous release
def test_assumes_defaults_for_attributes_missing_in_earlier_release(any_dynamodb: DynamoDBClient) -> None:
    """Every attribute added after the first release needs a default; `oldestReader` is an example."""
    items = recorded(LATEST, "ledger")
    for item in items:
        item.pop("oldestReader", None)
    with table_of(any_dynamodb, items, "S") as name:
        table = DynamoDBLedgerTable(any_dynamodb, name)
        assert table.node(NODE) == LEDGER
        assert reserve(Ledger(table), NODE, NEXT).done
