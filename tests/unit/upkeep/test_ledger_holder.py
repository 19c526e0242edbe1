"""The watcher's handling of the ledger's Lease, with clocks that a test moves."""

from __future__ import annotations

from itertools import count

import pytest

from berth.dynamodb import TableUnavailable
from berth.lease.clock import SystemClock
from berth.lease.config import ReleaseOutcome
from berth.lease.elector import release
from berth.ledger.lease import ELECTION, counted_elsewhere
from berth.ledger.nodes.table import Marker, MarkerState
from berth.upkeep.ledger_holder import PUBLISH_SECONDS, LedgerHolder
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.ledger_lease import IdentityInMemory, LeaseInMemory
from tests.unit.lease.clocks import AT, EnvironmentClock

READY = Marker(MarkerState.READY, 1, 0.0, "ready")


class Store:
    """One store and its watcher. `refusals`: the published reasons why it does not count; an empty one if it counts."""

    def __init__(self, name: str, lease: LeaseInMemory, wall: float = 0.0, *, is_new: bool = False) -> None:
        """is_new: whether its table does not have a marker yet."""
        self.lease = lease
        self.table = InMemoryLedgerTable()
        if not is_new:
            self.table.put_marker(READY, None)
        self.identity = IdentityInMemory(name)
        self.clock = EnvironmentClock(AT + wall)
        self.refusals: list[str] = []
        self._ids = count()
        self.lead()

    def lead(self) -> None:
        """Begin another leadership of the watcher."""
        self.holder = LedgerHolder(
            self.lease,
            self.table,
            self.identity,
            self.refusals.append,
            self.clock,
            lambda: 0.0,
            lambda: f"id-{next(self._ids)}",
            name="table",
        )

    def run(self, seconds: float) -> None:
        """Run each step when it is due, for this many seconds."""
        while seconds > 0:
            pause = min(seconds, max(0.1, self.holder.step()))
            self.clock.advance(pause)
            seconds -= pause

    def rebuild(self) -> None:
        """Complete the requested rebuild as the reconciler does."""
        seen = self.table.marker()
        assert seen is not None
        assert seen.state is MarkerState.REBUILDING
        self.table.put_marker(Marker(MarkerState.READY, 1, 0.0, f"rebuilt-{next(self._ids)}"), seen)

    def counts(self) -> bool:
        found = self.lease.holding(1.0)
        return getattr(found, "holder", "") == self.identity.identity and getattr(found, "is_counting", False)


@pytest.fixture
def lease() -> LeaseInMemory:
    return LeaseInMemory()


def test_counts_at_once_if_the_lease_never_had_a_holder(lease: LeaseInMemory) -> None:
    store = Store("store-1", lease)
    store.holder.step()
    assert store.counts()
    assert store.refusals == [""]
    assert store.table.marker() == READY


def test_first_holder_with_new_table_counts_at_once_and_requests_its_rebuild(lease: LeaseInMemory) -> None:
    store = Store("store-1", lease, is_new=True)
    store.holder.step()
    marker = store.table.marker()
    assert marker is not None
    assert (marker.state, store.counts()) == (MarkerState.REBUILDING, True)


def test_reads_counting_store_only_during_its_takeover(lease: LeaseInMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Store("store-1", lease), Store("store-2", lease)
    first.run(1)
    first.lead()
    first.run(1)
    monkeypatch.setattr(lease, "holding", None)
    first.run(10)
    second.run(10)
    assert second.refusals == [counted_elsewhere("store-1")]


def test_takeover_by_a_new_table_requests_one_rebuild_after_it_holds_the_lease(lease: LeaseInMemory) -> None:
    first, second = Store("store-1", lease), Store("store-2", lease, is_new=True)
    first.run(1)
    second.run(ELECTION.lease_duration - 1)
    assert second.table.marker() is None
    second.run(ELECTION.longest_retry)
    requested = second.table.marker()
    second.run(60)
    assert second.table.marker() == requested
    assert not second.counts()
    second.rebuild()
    second.run(2)
    assert second.counts()


def test_second_store_reports_the_holder_and_never_acquires_while_the_holder_renews(lease: LeaseInMemory) -> None:
    first, second = Store("store-1", lease), Store("store-2", lease)
    for _ in range(60):
        first.run(5)
        second.run(5)
    assert first.counts()
    assert set(second.refusals) == {counted_elsewhere("store-1")}


@pytest.mark.parametrize("wall", [-1e8, 0.0, 1e8])
def test_takeover_waits_for_the_lease_duration_by_the_second_stores_clock(lease: LeaseInMemory, wall: float) -> None:
    first, second = Store("store-1", lease), Store("store-2", lease, wall)
    first.run(1)
    second.run(ELECTION.lease_duration - 1)
    assert first.counts()
    second.run(ELECTION.retry_period * 3)
    assert not first.counts()


def test_next_leader_of_the_same_store_continues_without_a_rebuild(lease: LeaseInMemory) -> None:
    store = Store("store-1", lease)
    store.run(1)
    store.clock.advance(600)
    store.lead()
    store.run(1)
    assert store.counts()
    assert store.table.marker() == READY


def test_next_leader_repeats_an_unfinished_takeover(lease: LeaseInMemory) -> None:
    Store("store-1", lease).run(1)
    second = Store("store-2", lease)
    second.run(120)
    second.rebuild()
    second.lead()
    second.run(3)
    assert not second.counts()
    second.rebuild()
    second.run(2)
    assert second.counts()


def test_first_holder_stops_counting_after_it_lost_the_lease(lease: LeaseInMemory) -> None:
    first, second = Store("store-1", lease), Store("store-2", lease)
    first.run(1)
    second.run(40)
    first.run(10)
    assert first.refusals == ["", counted_elsewhere("store-2")]


@pytest.mark.parametrize("is_released", [True, False])
def test_released_lease_is_acquired_at_once_and_the_ledger_rebuilt(lease: LeaseInMemory, *, is_released: bool) -> None:
    first, second = Store("store-1", lease), Store("store-2", lease)
    first.run(1)
    if is_released:
        assert release(lease, "store-1", SystemClock()) is ReleaseOutcome.RELEASED
    second.run(1)
    marker = second.table.marker()
    assert marker is not None
    assert (marker.state is MarkerState.REBUILDING) is is_released
    assert not second.counts()


def test_missing_lease_is_created_and_the_ledger_rebuilt() -> None:
    store = Store("store-1", LeaseInMemory(exists=False))
    store.run(3)
    assert not store.counts()
    store.rebuild()
    store.run(2)
    assert store.counts()


def test_deleted_lease_is_created_again_by_its_holder(lease: LeaseInMemory) -> None:
    store = Store("store-1", lease)
    store.run(1)
    lease.delete()
    store.run(30)
    store.rebuild()
    store.run(2)
    assert store.counts()


def test_lost_identity_of_a_table_is_restored(lease: LeaseInMemory) -> None:
    store = Store("store-1", lease)
    store.run(1)
    store.identity.lose()
    store.run(10)
    assert store.identity.identity == "store-1"
    assert store.counts()


def test_new_table_gets_an_identity_that_contains_the_tables_name(lease: LeaseInMemory) -> None:
    store = Store("", lease)
    store.identity.lose()
    store.run(1)
    assert store.identity.identity == "table/id-0"
    assert store.counts()


def test_publishes_why_the_lease_cannot_be_used(lease: LeaseInMemory) -> None:
    lease.unavailable = "leases is forbidden"
    store = Store("store-1", lease)
    store.run(20)
    assert store.refusals == ["leases is forbidden"]
    lease.unavailable = ""
    store.run(20)
    assert store.refusals == ["leases is forbidden", ""]


def test_publishes_the_refusal_again_in_case_the_head_was_lost(lease: LeaseInMemory) -> None:
    first, second = Store("store-1", lease), Store("store-2", lease)
    for _ in range(10):
        first.run(PUBLISH_SECONDS / 5)
        second.run(PUBLISH_SECONDS / 5)
    assert len(second.refusals) == 2


def test_repeats_a_failed_publication(lease: LeaseInMemory) -> None:
    store = Store("store-1", lease)
    failures = iter([TableUnavailable("no answer")])

    def publish(refusal: str) -> None:
        for error in failures:
            raise error
        store.refusals.append(refusal)

    store.holder._publish = publish
    store.run(10)
    assert store.refusals == [""]
