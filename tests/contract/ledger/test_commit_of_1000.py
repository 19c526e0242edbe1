"""A gang of 1,000 members on 1,000 nodes on DynamoDB Local: its commit and its roll-back, interrupted.

It is committed in the end, or holds nothing. tests/simulation interrupts every call in virtual time, in more ways.
Here the requests are real, with the sizes and the limits of DynamoDB: an item of 230 kB, 98 nodes in a transaction, 100
items in a read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar
from uuid import NAMESPACE_OID, UUID, uuid5

import pytest

from berth.dynamodb import TableUnavailable
from berth.ledger.gangs.commit import CommitOutcome, GangCommit
from berth.ledger.gangs.dynamodb_table import DynamoDBGangTable
from berth.ledger.gangs.item import Claim, Domain, GangItem, GangState, Intent
from berth.ledger.gangs.table import LedgersRead, NotTransacted, Transaction
from berth.ledger.nodes.dynamodb_item import node_item
from berth.ledger.nodes.entry import NodeLedger
from berth.ledger.nodes.ledger import new_ledger
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth.scheduling.objects.pod import PodKey
from tests.unit.ledger.nodes.ledger_tables import DYNAMODB_LOCAL, dynamodb_client, new_table

pytestmark = pytest.mark.external

T = TypeVar("T")

SIZE, CAPACITY = 1_000, 100
GPU = "example.com/gpu"
COUNTING = Counting([ManagedResource.model_validate({"name": GPU})])
AT = 1_800_000_000.0

CALLS = 24
"""Prepare; eleven groups of nodes, each read and held; mark. Of a roll-back: its mark; each group read and released;
the end."""

WRITES = (0, *range(2, CALLS, 2), CALLS - 1)
"""A read that is not answered leaves what the write before it has left: so no read is interrupted here."""

INTERRUPTED = WRITES if os.environ.get("GANG_COMMIT") == "every-write" else (0, 12, CALLS - 1)
"""By default the first write, the last, and one on nodes. `make test-external GANG_COMMIT=every-write` takes some
minutes more."""

IS_CARRIED_OUT = pytest.mark.parametrize(
    "is_carried_out", [pytest.param(True, id="carried out"), pytest.param(False, id="never sent")]
)


class InterruptedTable(DynamoDBGangTable):
    """One of its calls is not answered: not carried out, or carried out all the same."""

    call, interrupted_at, is_carried_out = 0, -1, False

    def interrupt(self, at: int, *, is_carried_out: bool) -> None:
        self.call, self.interrupted_at, self.is_carried_out = 0, at, is_carried_out

    def put(self, item: GangItem, seen: GangItem | None) -> bool:
        return self._carry(lambda: super(InterruptedTable, self).put(item, seen))

    def read_ledgers(self, nodes: Sequence[str]) -> LedgersRead:
        return self._carry(lambda: super(InterruptedTable, self).read_ledgers(nodes))

    def transact(self, transaction: Transaction) -> NotTransacted | None:
        return self._carry(lambda: super(InterruptedTable, self).transact(transaction))

    def _carry(self, request: Callable[[], T]) -> T:
        number, self.call = self.call, self.call + 1
        if number != self.interrupted_at:
            return request()
        if self.is_carried_out:
            request()
        raise TableUnavailable("no answer")


@pytest.fixture(scope="module")
def table(request: pytest.FixtureRequest) -> Iterator[InterruptedTable]:
    """With the ledgers of all nodes; each test takes one unit of each node for a gang of its own."""
    client = dynamodb_client(DYNAMODB_LOCAL, request)
    name = new_table(client)
    for first in range(0, SIZE, 25):
        puts = [
            {"PutRequest": {"Item": node_item(new_ledger(node_of(number), {GPU: CAPACITY}, {}, 1))}}
            for number in range(first, first + 25)
        ]
        client.batch_write_item(RequestItems={name: puts})  # type: ignore[dict-item]
    yield InterruptedTable(client, name)
    client.delete_table(TableName=name)


def node_of(number: int) -> str:
    return f"ip-10-0-{number // 250}-{number % 250}.eu-central-1.compute.internal"


def opened(table: InterruptedTable, name: str) -> tuple[GangItem, Domain]:
    """All members of the gang wait."""
    table.interrupt(-1, is_carried_out=False)
    key = GangKey("ml", name)
    seen = table.domain()
    if seen.open is not None:
        # An earlier test was interrupted before it closed the domain.
        assert table.put_domain(seen.closed(), seen)
        seen = seen.closed()
    domain = seen.opened_by(Claim(key, 0, AT + 60), AT)
    assert domain is not None
    assert table.put_domain(domain, seen)
    intents = {}
    for number in range(SIZE):
        uid = str(uuid5(NAMESPACE_OID, f"{name}-{number}"))
        pod = PodKey("ml", f"{name}-{number}", uid)
        intents[uid] = Intent(pod, node_of(number), UUID(int=number).hex, AT + 30, (Demand(GPU, 1),))
    item = GangItem(key, GangState.OPEN, domain.fence, SIZE, 0, 1, AT, AT, intents)
    assert table.put(item, None)
    return item, domain


@IS_CARRIED_OUT
@pytest.mark.parametrize("at", INTERRUPTED)
def test_another_member_finishes_what_was_interrupted(
    table: InterruptedTable, at: int, *, is_carried_out: bool
) -> None:
    item, domain = opened(table, f"gang-{at}-{is_carried_out}".lower())
    commit = GangCommit(table, lambda: AT)

    table.interrupt(at, is_carried_out=is_carried_out)
    with pytest.raises(TableUnavailable):
        commit.commit(item, domain, "first", COUNTING)
    table.interrupt(-1, is_carried_out=False)
    found = stored(table, item)
    if found.state is GangState.OPEN:
        assert commit.commit(found, table.domain(), "second", COUNTING) is CommitOutcome.COMMITTED
    elif found.state is GangState.PREPARING:
        assert commit.take_over(found, "second", COUNTING) is CommitOutcome.COMMITTED

    committed = stored(table, item)
    assert (committed.state, len(committed.intents)) == (GangState.COMMITTED, SIZE)
    ledgers = ledgers_of(table)
    for uid, intent in committed.intents.items():
        assert intent.shares == {GPU: 1}
        assert ledgers[intent.node].entries[uid].shares == {GPU: 1}
    assert_adds_up(ledgers)


@IS_CARRIED_OUT
@pytest.mark.parametrize("at", INTERRUPTED)
def test_another_finishes_a_roll_back_that_was_interrupted(
    table: InterruptedTable, at: int, *, is_carried_out: bool
) -> None:
    item, domain = opened(table, f"back-{at}-{is_carried_out}".lower())
    commit = GangCommit(table, lambda: AT)
    table.interrupt(CALLS - 1, is_carried_out=False)
    with pytest.raises(TableUnavailable):
        commit.commit(item, domain, "first", COUNTING)  # all shares are held, and the mark is missing

    table.interrupt(at, is_carried_out=is_carried_out)
    with pytest.raises(TableUnavailable):
        commit.abort(stored(table, item), "a reason")
    table.interrupt(-1, is_carried_out=False)
    found = stored(table, item)
    if found.state is GangState.PREPARING:
        assert commit.abort(found, "a reason")
    elif found.state is GangState.ROLLING_BACK:
        assert commit.roll_back(found)

    assert stored(table, item).state is GangState.ENDED
    ledgers = ledgers_of(table)
    assert not any(uid in ledgers[intent.node].entries for uid, intent in item.intents.items())
    assert_adds_up(ledgers)


def stored(table: InterruptedTable, item: GangItem) -> GangItem:
    found = table.gang(item.key)
    assert found is not None
    return found


def ledgers_of(table: InterruptedTable) -> Mapping[str, NodeLedger]:
    return table.ledgers([node_of(number) for number in range(SIZE)])


def assert_adds_up(ledgers: Mapping[str, NodeLedger]) -> None:
    assert {(each.avail or {})[GPU] + len(each.entries) for each in ledgers.values()} == {CAPACITY}


def test_commit_has_so_many_calls(table: InterruptedTable) -> None:
    item, domain = opened(table, "uninterrupted")
    table.interrupt(-1, is_carried_out=False)
    commit = GangCommit(table, lambda: AT)
    assert commit.commit(item, domain, "first", COUNTING) is CommitOutcome.COMMITTED
    assert table.call == CALLS
