"""The commit of a gang on the tables: at least the minimum number of members, all in one topology domain, or none."""

from __future__ import annotations

import pytest

from berth.ledger.gangs.commit import TRIES, CommitOutcome, GangCommit, shares_at
from berth.ledger.gangs.item import Domain, GangItem, GangState
from berth.ledger.gangs.table import NotTransacted
from berth.ledger.nodes.entry import NodeLedger
from berth.ledger.nodes.ledger import new_ledger
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.demand import Demand
from berth_cli.server.store.gang_table import InMemoryGangTable
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.builders.gang_items import TRAIN, claim, gang, intent

GPU = "example.com/gpu"
COUNTING = Counting([ManagedResource.model_validate({"name": GPU})])
NOW = 100.0
DOMAIN = Domain(claim(until=NOW + 60), 1)


def tables(item: GangItem) -> tuple[InMemoryGangTable, InMemoryLedgerTable]:
    """Return tables with a ledger for each node and the open gang."""
    ledger = InMemoryLedgerTable()
    found = InMemoryGangTable(ledger)
    for each in item.intents.values():
        ledger.create(new_ledger(each.node, {GPU: 1}, {}, epoch=1))
    found.put_domain(DOMAIN, Domain())
    found.put(item, None)
    return found, ledger


def entries(ledger: InMemoryLedgerTable) -> set[str]:
    return {uid for node in ledger.nodes() for uid in node.entries}


@pytest.mark.parametrize("members", [2, 120], ids=["one transaction", "two phases"])
def test_does_not_commit_if_fewer_calls_than_the_minimum_still_wait(members: int) -> None:
    """A call ends between the read of the item and the commit."""
    waiting = [
        intent(f"train-{number}", f"n{number}", until=NOW + bool(number), demands=(Demand(GPU, 1),))
        for number in range(members)
    ]
    item = gang(waiting, minimum=members)
    found, ledger = tables(item)
    outcome = GangCommit(found, lambda: NOW).commit(item, DOMAIN, "attempt-train-1", COUNTING)
    assert outcome is CommitOutcome.INCOMPLETE
    assert found.gang(TRAIN) == item
    assert entries(ledger) == set()


OTHER_WRITE = NotTransacted(owners=("n0",))


@pytest.mark.parametrize("members", [2, 120], ids=["one transaction", "two phases"])
@pytest.mark.parametrize(
    ("refusals", "outcome"),
    [
        pytest.param([OTHER_WRITE] * (TRIES - 1), CommitOutcome.COMMITTED, id="other writes on a node, until the last"),
        pytest.param([OTHER_WRITE] * TRIES, CommitOutcome.CONTENDED, id="other writes on a node at every try"),
        pytest.param([NotTransacted(gang_changed=True)], CommitOutcome.CHANGED, id="the gang has changed"),
    ],
)
def test_repeats_a_transaction_that_lost_against_writes_on_its_nodes(
    monkeypatch: pytest.MonkeyPatch, members: int, refusals: list[NotTransacted], outcome: CommitOutcome
) -> None:
    item = gang(
        [intent(f"train-{each}", f"n{each}", until=NOW + 1, demands=(Demand(GPU, 1),)) for each in range(members)]
    )
    found, _ = tables(item)
    left, transact = iter(refusals), found.transact
    monkeypatch.setattr(found, "transact", lambda each: (next(left, None) if each.ledgers else None) or transact(each))
    assert GangCommit(found, lambda: NOW).commit(item, DOMAIN, "attempt-train-1", COUNTING) is outcome
    assert next(left, None) is None


def test_commits_only_members_of_one_topology_domain() -> None:
    waiting = [
        intent(f"train-{number}", f"n{number}", until=NOW + 1, demands=(Demand(GPU, 1),), topology=zone)
        for number, zone in enumerate("abab")
    ]
    item = gang(waiting, minimum=2, topology_key="zone")
    found, ledger = tables(item)
    outcome = GangCommit(found, lambda: NOW).commit(item, DOMAIN, "attempt-train-1", COUNTING)
    committed = found.gang(TRAIN)
    assert committed is not None
    assert (outcome, committed.state) == (CommitOutcome.COMMITTED, GangState.COMMITTED)
    assert entries(ledger) == set(committed.intents) == {"uid-train-0", "uid-train-2"}


@pytest.mark.parametrize(
    ("most", "outcome", "count"),
    [
        pytest.param(4, CommitOutcome.COMMITTED, 4, id="all waiting members"),
        pytest.param(3, CommitOutcome.COMMITTED, 3, id="some beyond the minimum"),
        pytest.param(1, CommitOutcome.INCOMPLETE, 0, id="at least the minimum"),
    ],
)
def test_commits_at_most_the_members_that_fit_into_an_item(
    monkeypatch: pytest.MonkeyPatch, most: int, outcome: CommitOutcome, count: int
) -> None:
    waiting = [intent(f"train-{number}", f"n{number}", until=NOW + 1, demands=(Demand(GPU, 1),)) for number in range(4)]
    item = gang(waiting, minimum=2)
    found, ledger = tables(item)
    # The first member is the largest.
    monkeypatch.setattr(found, "most_members", lambda each: most if each.pod.name == "train-0" else 9)
    assert GangCommit(found, lambda: NOW).commit(item, DOMAIN, "attempt-train-1", COUNTING) is outcome
    assert len(entries(ledger)) == count
    after = found.gang(TRAIN)
    assert after is not None
    assert after.state is (GangState.COMMITTED if count else GangState.OPEN)
    assert len(after.intents) == (count or 4)


@pytest.mark.parametrize(
    "ledger",
    [
        pytest.param(None, id="no ledger"),
        pytest.param(NodeLedger("n1", avail=None), id="a ledger that is being rebuilt"),
    ],
)
def test_does_not_assign_shares_without_a_usable_ledger(ledger: NodeLedger | None) -> None:
    assert shares_at(ledger, [intent("train-0", "n1")], COUNTING, NOW) is None
