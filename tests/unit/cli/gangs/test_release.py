"""`berth gangs release`: it ends what it has read, and nothing else."""

from __future__ import annotations

import pytest

from berth.gangs.item import Domain, GangState
from berth.gangs.table import Transaction
from berth.reservations.ledger.entry import Entry, EntryState
from berth.reservations.ledger.ledger import new_ledger
from berth.reservations.ledger.node_write import EntryChange, NodeWrite, PoolChange
from berth.scheduling.managed_resources.demand import Demand
from berth_cli.embedded_store.gang_table import InMemoryGangTable
from berth_cli.embedded_store.ledger_table import InMemoryLedgerTable
from berth_cli.gangs.release import ReleaseOutcome, read_target, release
from tests.builders.gang_items import TRAIN, claim, gang, intent

NOW = 1000.0
GPU = "example.com/gpu"
MEMBER = intent("train-0", "n0", until=NOW + 5, demands=(Demand(GPU, 1),))


class World:
    """One node, and the gang in a state; the domain names it."""

    def __init__(self, state: GangState | None, domain: Domain | None = None) -> None:
        self.ledger = InMemoryLedgerTable()
        self.ledger.create(new_ledger("n0", {GPU: 1}, {}, 1))
        self.gangs = InMemoryGangTable(self.ledger)
        self.gangs.put_domain(domain or Domain(claim(), 1), Domain())
        if state is not None:
            self.gangs.put(gang([MEMBER], state=state, at=NOW), None)

    def release(self) -> ReleaseOutcome:
        return release(self.gangs, read_target(self.gangs, TRAIN), lambda: NOW)

    def state(self) -> GangState | None:
        found = self.gangs.gang(TRAIN)
        return None if found is None else found.state


ANOTHER = Domain(claim("other"), 2)


@pytest.mark.parametrize(
    ("state", "domain", "outcome", "after"),
    [
        pytest.param(GangState.OPEN, None, ReleaseOutcome.RELEASED, GangState.ENDED, id="an open round ends"),
        pytest.param(GangState.PREPARING, ANOTHER, ReleaseOutcome.RELEASED, GangState.ENDED, id="one with holds ends"),
        pytest.param(GangState.ROLLING_BACK, ANOTHER, ReleaseOutcome.RELEASED, GangState.ENDED, id="a roll-back ends"),
        pytest.param(GangState.COMMITTED, ANOTHER, ReleaseOutcome.COMMITTED, GangState.COMMITTED, id="a commit stays"),
        pytest.param(GangState.ENDED, ANOTHER, ReleaseOutcome.NOT_OPEN, GangState.ENDED, id="an ended round stays"),
        pytest.param(None, ANOTHER, ReleaseOutcome.NOT_OPEN, None, id="it was never in bind"),
        pytest.param(None, None, ReleaseOutcome.RELEASED, None, id="it only keeps the domain"),
        pytest.param(GangState.ENDED, None, ReleaseOutcome.RELEASED, GangState.ENDED, id="it has ended and keeps it"),
    ],
)
def test_ends_what_is_under_way(
    state: GangState | None, domain: Domain | None, outcome: ReleaseOutcome, after: GangState | None
) -> None:
    world = World(state, domain)
    assert world.release() is outcome
    assert world.state() is after
    assert world.gangs.domain() == (domain or Domain(None, 1))


def test_releases_holds() -> None:
    world = World(GangState.PREPARING, ANOTHER)
    item = world.gangs.gang(TRAIN)
    assert item is not None
    held = Entry(MEMBER.pod, EntryState.RESERVED, MEMBER.attempt, {GPU: 1}, NOW)
    hold = NodeWrite((EntryChange(MEMBER.pod.uid, None, held),), {GPU: PoolChange(avail=-1, min_avail=1)})
    assert world.gangs.transact(Transaction(item, None, None, {"n0": hold})) is None
    assert world.release() is ReleaseOutcome.RELEASED
    assert [ledger.avail for ledger in world.ledger.nodes()] == [{GPU: 1}]


def test_writes_nothing_when_a_member_came_meanwhile() -> None:
    world = World(GangState.OPEN)
    target = read_target(world.gangs, TRAIN)
    world.gangs.join(TRAIN, 1, intent("train-1", "n0"))
    assert release(world.gangs, target, lambda: NOW) is ReleaseOutcome.CHANGED
    assert world.state() is GangState.OPEN
