"""Contract of the port GangTable, on every implementation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

from berth.dynamodb import TableUnavailable
from berth.ledger.gangs.commit import CommitOutcome, GangCommit
from berth.ledger.gangs.dynamodb_table import DynamoDBGangTable
from berth.ledger.gangs.item import Domain, GangItem, GangState, QueuedGang
from berth.ledger.gangs.table import MAX_LEDGERS, GangTable, NotTransacted, Transaction
from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger
from berth.ledger.nodes.ledger import new_ledger
from berth.ledger.nodes.node_write import EntryChange, NodeWrite, PoolChange
from berth.ledger.nodes.table import LedgerTable
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects.pod import PodKey
from berth_cli.server.store.gang_table import InMemoryGangTable
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.gang_items import TRAIN, claim, gang, intent
from tests.unit.ledger.nodes.ledger_tables import ALL, IN_MEMORY, dynamodb_client, new_table

GPU = "example.com/gpu"


@dataclass(frozen=True, slots=True)
class Tables:
    """Gangs and ledgers of one store."""

    gangs: GangTable
    ledger: LedgerTable


@pytest.fixture(params=ALL)
def tables(request: pytest.FixtureRequest) -> Iterator[Tables]:
    if request.param == IN_MEMORY:
        ledger = InMemoryLedgerTable()
        yield Tables(InMemoryGangTable(ledger), ledger)
        return
    client = dynamodb_client(request.param, request)
    name = new_table(client)
    yield Tables(DynamoDBGangTable(client, name), DynamoDBLedgerTable(client, name))
    client.delete_table(TableName=name)


@pytest.fixture
def table(tables: Tables) -> GangTable:
    return tables.gangs


def stored(table: GangTable) -> GangItem:
    found = table.gang(TRAIN)
    assert found is not None
    return found


class TestPut:
    def test_reads_the_gang_as_written(self, table: GangTable) -> None:
        demands = (Demand("example.com/gpumem", 30, percent=True), Demand("example.com/licence", 2))
        item = gang(
            [
                intent(
                    demands=demands,
                    floating={"example.com/licence@namespace=ml": 2},
                    shares={"example.com/gpumem#0": 2400, "example.com/licence": 2},
                ),
                intent("train-1", topology="zone-a"),
            ],
            state=GangState.PREPARING,
            coordinator="attempt-train-1",
            reason="a reason",
            topology_key="topology.kubernetes.io/zone",
        )
        assert table.put(item, None)
        assert table.gang(TRAIN) == item

    def test_read_of_an_unknown_gang_returns_none(self, table: GangTable) -> None:
        assert table.gang(TRAIN) is None

    @pytest.mark.parametrize(
        ("seen", "written"),
        [
            pytest.param(gang(), True, id="the stored version"),
            pytest.param(gang(version=2), False, id="another version"),
            pytest.param(None, False, id="no item was read"),
        ],
    )
    def test_replaces_only_the_version_that_was_read(
        self, table: GangTable, seen: GangItem | None, written: bool
    ) -> None:
        table.put(gang(), None)
        after = gang(state=GangState.ENDED, version=2)
        assert table.put(after, seen) is written
        assert stored(table) == (after if written else gang())

    def test_does_not_put_if_the_item_was_deleted_after_the_read(self, table: GangTable) -> None:
        assert not table.put(gang(version=2), gang())
        assert table.gang(TRAIN) is None

    @pytest.mark.parametrize(
        ("seen", "deleted"), [pytest.param(gang(), True, id="same"), pytest.param(gang(version=2), False, id="other")]
    )
    def test_deletes_only_the_version_that_was_read(self, table: GangTable, seen: GangItem, deleted: bool) -> None:
        table.put(gang(), None)
        assert table.delete(seen) is deleted
        assert (table.gang(TRAIN) is None) is deleted

    def test_lists_all_gangs_by_key_without_the_domain_item(self, table: GangTable) -> None:
        items = [gang(key=GangKey(namespace, name)) for namespace, name in (("a", "z"), ("a-b", "a"), ("b", "a"))]
        for item in reversed(items):
            table.put(item, None)
        table.put_domain(Domain(claim(), 1), Domain())
        assert list(table.gangs()) == items

    def test_lists_gangs_of_every_page(self, table: GangTable) -> None:
        items = [replace(gang(key=GangKey("ml", f"g{number}")), reason="x" * 300_000) for number in range(5)]
        for item in items:
            table.put(item, None)
        assert [each.key for each in table.gangs()] == [each.key for each in items]


class TestIntents:
    def test_adds_the_intents_of_concurrent_members(self, table: GangTable) -> None:
        table.put(gang(), None)
        assert table.join(TRAIN, 1, intent("train-0")) == gang([intent("train-0")], version=2)
        both = gang([intent("train-0"), intent("train-1")], version=3)
        assert table.join(TRAIN, 1, intent("train-1")) == both
        assert stored(table) == both

    def test_replaces_the_intent_of_an_earlier_call_of_the_member(self, table: GangTable) -> None:
        table.put(gang([intent(attempt="a1")]), None)
        assert table.join(TRAIN, 1, intent("train-0", "n2", attempt="a2")) == gang(
            [intent("train-0", "n2", attempt="a2")], version=2
        )

    @pytest.mark.parametrize(
        "item",
        [
            pytest.param(None, id="the gang does not exist"),
            pytest.param(gang(round_=2), id="another round"),
            *(pytest.param(gang(state=state), id=state) for state in GangState if state is not GangState.OPEN),
        ],
    )
    def test_does_not_add_an_intent_unless_the_round_is_open(self, table: GangTable, item: GangItem | None) -> None:
        if item is not None:
            table.put(item, None)
        assert table.join(TRAIN, 1, intent()) is None
        assert table.gang(TRAIN) == item

    def test_does_not_add_more_intents_than_an_item_can_hold(
        self, table: GangTable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(table, "most_members", lambda intent: 2)
        table.put(gang([intent("train-0"), intent("train-1", attempt="a1")]), None)
        assert table.join(TRAIN, 1, intent("train-2")) is None
        assert table.join(TRAIN, 1, intent("train-1", attempt="a2")) is not None
        assert table.withdraw(TRAIN, 1, "uid-train-0", "attempt-train-0") is not None
        assert table.join(TRAIN, 1, intent("train-2")) is not None
        assert stored(table).intents.keys() == {"uid-train-1", "uid-train-2"}

    def test_withdraws_intent_of_the_member(self, table: GangTable) -> None:
        table.put(gang([intent("train-0"), intent("train-1")]), None)
        assert table.withdraw(TRAIN, 1, "uid-train-0", "attempt-train-0") == gang([intent("train-1")], version=2)

    @pytest.mark.parametrize(
        "item",
        [
            pytest.param(gang(), id="the intent does not exist"),
            pytest.param(gang([intent(attempt="other")]), id="the intent of another attempt"),
            pytest.param(gang([intent()], round_=2), id="another round"),
            pytest.param(gang([intent()], state=GangState.COMMITTED), id="the gang is committed"),
            pytest.param(gang([intent()], state=GangState.PREPARING), id="the gang is being prepared"),
        ],
    )
    def test_does_not_withdraw_unless_intent_matches_and_round_is_open(self, table: GangTable, item: GangItem) -> None:
        table.put(item, None)
        assert table.withdraw(TRAIN, 1, "uid-train-0", "attempt-train-0") is None
        assert stored(table) == item


class TestDomain:
    def test_new_domain_is_free(self, table: GangTable) -> None:
        assert table.domain() == Domain()

    def test_reads_the_domain_as_written(self, table: GangTable) -> None:
        queue = {GangKey("ml", "third"): QueuedGang(4, 13.5)}
        domain = Domain(claim(priority=-5, opened_at=11.25, minimum=4), 3, GangKey("ml", "other"), 12.5, queue)
        assert table.put_domain(domain, Domain())
        assert table.domain() == domain
        assert table.put_domain(domain.closed(), domain)
        assert table.domain() == domain.closed()

    @pytest.mark.parametrize(
        "seen",
        [
            pytest.param(Domain(), id="a free domain"),
            pytest.param(Domain(claim(), 2), id="another fence"),
            pytest.param(Domain(claim("other"), 1), id="another gang"),
            pytest.param(Domain(None, 1), id="a closed domain"),
        ],
    )
    def test_replaces_only_the_domain_that_was_read(self, table: GangTable, seen: Domain) -> None:
        domain = Domain(claim(), 1)
        table.put_domain(domain, Domain())
        assert not table.put_domain(Domain(claim("late"), 9), seen)
        assert table.domain() == domain


def entry(name: str, amount: int = 1) -> Entry:
    return Entry(PodKey("ml", name, f"uid-{name}"), EntryState.RESERVED, f"attempt-{name}", {GPU: amount}, 10.25)


def write(*entries: Entry) -> NodeWrite:
    changes = tuple(EntryChange(each.pod.uid, None, each) for each in entries)
    amount = sum(each.shares[GPU] for each in entries)
    return NodeWrite(changes, {GPU: PoolChange(avail=-amount, min_avail=amount)})


def ledger_of(node: str, capacity: int = 2) -> NodeLedger:
    return new_ledger(node, {GPU: capacity}, {}, epoch=1)


OPEN = gang([intent("train-0", "n1"), intent("train-1", "n1"), intent("train-2", "n2")], minimum=3)
COMMITTED = OPEN.changed(GangState.COMMITTED, 11.5)
DOMAIN = Domain(claim(), 1)
WRITES = {"n1": write(entry("train-0"), entry("train-1")), "n2": write(entry("train-2"))}


@pytest.fixture
def prepared(tables: Tables) -> Tables:
    """Return tables with two nodes of two devices each, an open gang, and its domain."""
    for node in ("n1", "n2"):
        tables.ledger.create(ledger_of(node))
    tables.gangs.put(OPEN, None)
    tables.gangs.put_domain(DOMAIN, Domain())
    return tables


class TestTransact:
    def test_writes_gang_domain_and_all_nodes(self, prepared: Tables) -> None:
        assert prepared.gangs.transact(Transaction(OPEN, COMMITTED, DOMAIN, WRITES)) is None
        assert stored(prepared.gangs) == COMMITTED
        assert prepared.gangs.domain() == DOMAIN.closed()
        found = prepared.gangs.ledgers(["n1", "n2", "n3"])
        assert {node: (ledger.avail, sorted(ledger.entries)) for node, ledger in found.items()} == {
            "n1": ({}, ["uid-train-0", "uid-train-1"]),
            "n2": ({GPU: 1}, ["uid-train-2"]),
        }

    def test_writes_only_the_nodes_if_the_transaction_does_not_change_the_gang(self, prepared: Tables) -> None:
        assert prepared.gangs.transact(Transaction(OPEN, None, None, WRITES)) is None
        assert stored(prepared.gangs) == OPEN
        assert prepared.gangs.domain() == DOMAIN
        assert prepared.gangs.ledgers(["n2"])["n2"].entries == {"uid-train-2": entry("train-2")}

    def test_writes_gang_without_nodes(self, prepared: Tables) -> None:
        assert prepared.gangs.transact(Transaction(OPEN, COMMITTED, DOMAIN, {})) is None
        assert stored(prepared.gangs) == COMMITTED

    @pytest.mark.parametrize(
        ("transaction", "refused"),
        [
            pytest.param(
                Transaction(replace(OPEN, version=7), COMMITTED, DOMAIN, WRITES),
                NotTransacted(gang_changed=True),
                id="the gang has changed",
            ),
            pytest.param(
                Transaction(replace(OPEN, version=7), None, None, WRITES),
                NotTransacted(gang_changed=True),
                id="the gang that is only checked has changed",
            ),
            pytest.param(
                Transaction(OPEN, COMMITTED, Domain(claim("other"), 1), WRITES),
                NotTransacted(domain_changed=True),
                id="another gang is open",
            ),
            pytest.param(
                Transaction(OPEN, COMMITTED, Domain(claim(), 2), WRITES),
                NotTransacted(domain_changed=True),
                id="another round is open",
            ),
            pytest.param(
                Transaction(OPEN, COMMITTED, DOMAIN, {**WRITES, "n2": write(entry("train-2", 3))}),
                NotTransacted(owners=("n2",)),
                id="a node has too little capacity left",
            ),
            pytest.param(
                Transaction(OPEN, COMMITTED, DOMAIN, {"n1": write(entry("train-0"), entry("train-1", 2))}),
                NotTransacted(owners=("n1",)),
                id="members on one node exceed its capacity",
            ),
            pytest.param(
                Transaction(OPEN, None, None, {**WRITES, "n3": write(entry("train-3"))}),
                NotTransacted(owners=("n3",)),
                id="a node has no ledger",
            ),
        ],
    )
    def test_does_not_write_any_item_if_one_condition_fails(
        self, prepared: Tables, transaction: Transaction, refused: NotTransacted
    ) -> None:
        assert prepared.gangs.transact(transaction) == refused
        assert stored(prepared.gangs) == OPEN
        assert prepared.gangs.domain() == DOMAIN
        assert prepared.gangs.ledgers(["n1", "n2"]) == {node: ledger_of(node) for node in ("n1", "n2")}

    def test_writes_the_maximum_number_of_nodes_of_a_transaction(self, tables: Tables) -> None:
        names = [f"node-{number:03}" for number in range(MAX_LEDGERS)]
        for node in names:
            tables.ledger.create(ledger_of(node))
        tables.gangs.put(OPEN, None)
        tables.gangs.put_domain(DOMAIN, Domain())
        writes = {node: write(entry(node)) for node in names}
        assert tables.gangs.transact(Transaction(OPEN, COMMITTED, DOMAIN, writes)) is None
        assert {node: len(ledger.entries) for node, ledger in tables.gangs.ledgers(names).items()} == dict.fromkeys(
            names, 1
        )

    def test_releases_a_reservation_and_keeps_other_entries(self, prepared: Tables) -> None:
        prepared.gangs.transact(Transaction(OPEN, None, None, WRITES))
        held = entry("train-0")
        release = NodeWrite((EntryChange(held.pod.uid, held, None),), {GPU: PoolChange(avail=1, expected_owed=0)})
        assert prepared.gangs.transact(Transaction(OPEN, None, None, {"n1": release})) is None
        assert prepared.gangs.ledgers(["n1"])["n1"].entries == {"uid-train-1": entry("train-1")}


def test_raises_table_unavailable_if_the_table_is_missing(request: pytest.FixtureRequest) -> None:
    table = DynamoDBGangTable(dynamodb_client("moto", request), "no-such-table")
    for call in (
        table.gangs,
        table.domain,
        lambda: table.gang(TRAIN),
        lambda: table.put(gang(), None),
        lambda: table.delete(gang()),
        lambda: table.join(TRAIN, 1, intent()),
        lambda: table.withdraw(TRAIN, 1, "uid", "attempt"),
        lambda: table.put_domain(DOMAIN, Domain()),
        lambda: table.ledgers(["n1"]),
        lambda: table.transact(Transaction(OPEN, COMMITTED, DOMAIN, WRITES)),
    ):
        with pytest.raises(TableUnavailable):
            call()


SEATS = "example.com/seat@cluster"
COUNTING = Counting(
    [ManagedResource.model_validate({"name": "example.com/seat", "capacity": {"value": 9_999, "scope": "cluster"}})]
)


class TestGangInOnePool:
    """All members have their shares in the ledger of one floating pool."""

    @pytest.mark.parametrize("count", [70, 150])
    def test_commits_every_member_or_rolls_all_of_them_back(self, tables: Tables, count: int) -> None:
        tables.ledger.create(new_ledger(SEATS, {SEATS: 9_999}, {}, epoch=1))
        members = [
            intent(f"train-{number:03}", f"n{number}", demands=(Demand("example.com/seat", 1),), floating={SEATS: 1})
            for number in range(count)
        ]
        item, domain = gang(members, minimum=count), Domain(claim(), 1)
        tables.gangs.put(item, None)
        tables.gangs.put_domain(domain, Domain())
        commit = GangCommit(tables.gangs, lambda: 50.0)

        assert commit.commit(item, domain, "attempt-train-000", COUNTING) is CommitOutcome.COMMITTED

        ledger = tables.ledger.node(SEATS)
        assert ledger is not None
        assert ledger.avail == {SEATS: 9_999 - count}
        committed = stored(tables.gangs)
        assert committed.state is GangState.COMMITTED
        assert all(each.shares == {SEATS: 1} for each in committed.intents.values())
        preparing = replace(committed, state=GangState.PREPARING)
        tables.gangs.put(preparing, committed)
        assert commit.abort(preparing, "a reason")
        after = tables.ledger.node(SEATS)
        assert after is not None
        assert (after.avail, after.entries) == ({SEATS: 9_999}, {})
