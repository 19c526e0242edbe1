"""Contract of the port LeaseLock, on every implementation. The tests use only the port and the item."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from berth.lease.lock import ATTRIBUTES, NO_RECORD, Conflict, Fence, Lease, LeaseLock, LeaseSpec, Unavailable, Written
from tests.unit.lease.clocks import AT
from tests.unit.lease.faults import Fault
from tests.unit.lease.stores import LeaseStore, stored_lease

SPEC = LeaseSpec("alpha", 15, acquire_time=AT, renew_time=AT, lease_transitions=0)
OTHERS: dict[str, object] = {"version": Decimal(7), "snapshotId": "s-7", "observedAt": Decimal("1699999999.5")}


def created(store: LeaseStore, spec: LeaseSpec = SPEC) -> Lease:
    """Create the item and return its lease."""
    written = store.lock().create(spec)
    assert isinstance(written, Written)
    return written.lease


def updated(store: LeaseStore, seen: Lease, spec: LeaseSpec) -> Lease:
    written = store.lock().update(seen, spec)
    assert isinstance(written, Written)
    return written.lease


def fence_of(lease: Lease) -> Fence:
    return Fence(lease.spec.holder_identity, lease.spec.lease_transitions, lease.uid, lease.resource_version)


class TestLeaseLock:
    def test_new_table_is_without_a_lease(self, store: LeaseStore) -> None:
        assert store.lock().get() is None

    def test_reads_created_lease_as_written(self, store: LeaseStore) -> None:
        lease = created(store)
        assert lease.spec == SPEC
        assert lease.resource_version == 1
        assert lease.uid
        assert lease.nonce
        assert store.lock().get() == lease

    def test_attributes_are_fields_of_kubernetes_lease(self, store: LeaseStore) -> None:
        created(store, replace(SPEC, handover_at=AT + 600))
        assert set(store.attributes()) == set(ATTRIBUTES)
        assert store["holderIdentity"] == "alpha"
        assert store["leaseDurationSeconds"] == 15
        assert store["leaseTransitions"] == 0
        assert store["resourceVersion"] == 1
        assert store["handoverAt"] == Decimal(AT + 600)

    def test_of_two_creates_one_wins_and_the_other_returns_the_winners_record(self, store: LeaseStore) -> None:
        lease = created(store)
        assert store.lock().create(replace(SPEC, holder_identity="beta")) == Conflict(lease)
        assert store.lock().get() == lease

    def test_item_without_a_lease_record_cannot_be_created_again(self, store: LeaseStore) -> None:
        store.put(OTHERS)
        assert store.lock().get() == NO_RECORD
        assert store.lock().create(SPEC) == Conflict(NO_RECORD)
        assert store.attributes() == OTHERS

    def test_update_increments_version_and_keeps_uid(self, store: LeaseStore) -> None:
        first = created(store)
        second = updated(store, first, replace(SPEC, renew_time=AT + 2))
        assert second.spec.renew_time == AT + 2
        assert second.resource_version == 2
        assert second.uid == first.uid
        assert second.nonce != first.nonce
        assert store.lock().get() == second

    def test_of_two_updates_one_wins_and_the_other_returns_the_winners_record(self, store: LeaseStore) -> None:
        seen = created(store)
        winner = updated(store, seen, replace(SPEC, holder_identity="beta", lease_transitions=1))
        assert store.lock().update(seen, replace(SPEC, holder_identity="gamma")) == Conflict(winner)
        assert store.lock().get() == winner

    def test_recreated_item_is_distinguished_from_an_earlier_item_of_the_same_version(self, store: LeaseStore) -> None:
        seen = created(store)
        store.delete()
        anew = created(store, replace(SPEC, holder_identity="beta"))
        assert anew.resource_version == seen.resource_version
        assert store.lock().update(seen, SPEC) == Conflict(anew)
        assert store.lock().get() == anew

    def test_update_does_not_create_missing_item(self, store: LeaseStore) -> None:
        seen = created(store)
        store.delete()
        assert store.lock().update(seen, SPEC) == Conflict(None)
        assert store.attributes() == {}

    def test_update_adds_the_missing_record_to_an_item(self, store: LeaseStore) -> None:
        store.put(OTHERS)
        lease = updated(store, NO_RECORD, replace(SPEC, lease_transitions=1))
        assert lease.resource_version == 1
        assert lease.uid
        assert store.lock().get() == lease

    def test_only_one_of_two_updates_adds_the_missing_record(self, store: LeaseStore) -> None:
        store.put(OTHERS)
        winner = updated(store, NO_RECORD, SPEC)
        assert store.lock().update(NO_RECORD, replace(SPEC, holder_identity="beta")) == Conflict(winner)

    def test_missing_record_is_distinguished_from_missing_item(self, store: LeaseStore) -> None:
        assert store.lock().update(NO_RECORD, SPEC) == Conflict(None)
        assert store.attributes() == {}

    def test_never_changes_node_cache_attributes(self, store: LeaseStore) -> None:
        store.put(OTHERS)
        lease = updated(store, NO_RECORD, SPEC)
        lease = updated(store, lease, replace(SPEC, renew_time=AT + 2, handover_at=AT + 9))
        updated(store, lease, replace(SPEC, holder_identity="", lease_duration_seconds=1))
        assert {name: value for name, value in store.attributes().items() if name not in ATTRIBUTES} == OTHERS

    def test_handover_can_be_announced_and_withdrawn(self, store: LeaseStore) -> None:
        lease = created(store, replace(SPEC, handover_at=AT + 600.25))
        assert lease.spec.handover_at == AT + 600.25
        lease = updated(store, lease, SPEC)
        assert lease.spec.handover_at is None
        assert store.lock().get() == lease

    @pytest.mark.parametrize(
        "spec",
        [
            pytest.param(replace(SPEC, holder_identity="", lease_duration_seconds=1), id="released"),
            pytest.param(replace(SPEC, holder_identity="ü/#? \n" * 40), id="a holder with special characters"),
            pytest.param(replace(SPEC, lease_transitions=2**40), id="a large epoch"),
            pytest.param(replace(SPEC, renew_time=AT + 0.123456789, acquire_time=0.1), id="fractions of a second"),
        ],
    )
    def test_write_returns_the_record_that_the_next_reader_sees(self, store: LeaseStore, spec: LeaseSpec) -> None:
        lease = created(store, spec)
        assert store.lock().get() == lease

    @pytest.mark.parametrize(
        ("attribute", "value"),
        [
            pytest.param("holderIdentity", Decimal(7), id="a holder that is a number"),
            pytest.param("holderIdentity", None, id="no holder"),
            pytest.param("leaseDurationSeconds", Decimal(0), id="a duration of zero"),
            pytest.param("leaseDurationSeconds", Decimal(-15), id="a negative duration"),
            pytest.param("leaseDurationSeconds", Decimal("1.5"), id="a duration that is not whole"),
            pytest.param("leaseDurationSeconds", "15", id="a duration that is a string"),
            pytest.param("leaseTransitions", Decimal(-1), id="a negative epoch"),
            pytest.param("leaseTransitions", None, id="no epoch"),
            pytest.param("renewTime", "2026-01-01T00:00:00Z", id="a time that is a string"),
            pytest.param("acquireTime", True, id="a time that is a boolean"),
            pytest.param("resourceVersion", None, id="no version"),
            pytest.param("resourceVersion", Decimal(0), id="a version of zero"),
            pytest.param("uid", "", id="an empty uid"),
            pytest.param("uid", None, id="no uid"),
            pytest.param("nonce", [], id="a nonce that is a list"),
            pytest.param("handoverAt", "soon", id="a hand-over that is a string"),
        ],
    )
    def test_names_malformed_attribute_and_never_overwrites_the_item(
        self, store: LeaseStore, attribute: str, value: object
    ) -> None:
        attributes = {**stored_lease("alpha"), attribute: value}
        if value is None:
            del attributes[attribute]
        store.put(attributes)
        for answer in (store.lock().get(), store.lock().create(SPEC), store.lock().update(NO_RECORD, SPEC)):
            assert isinstance(answer, Unavailable)
            assert f"the head item's {attribute} is " in answer.reason
            assert "delete the item" in answer.reason
        assert store.attributes() == attributes

    @pytest.mark.parametrize("fault", Fault)
    @pytest.mark.parametrize(
        "call",
        [
            pytest.param(lambda lock, _: lock.get(), id="get"),
            pytest.param(lambda lock, _: lock.create(SPEC), id="create"),
            pytest.param(lambda lock, seen: lock.update(seen, SPEC), id="update"),
        ],
    )
    def test_call_without_response_is_unavailable(
        self, store: LeaseStore, call: Callable[[LeaseLock, Lease], object], fault: Fault
    ) -> None:
        seen, lock = created(store), store.lock()
        lock.faults.plan(fault)
        assert isinstance(call(lock, seen), Unavailable)

    def test_write_with_lost_response_is_stored(self, store: LeaseStore) -> None:
        lock = store.lock()
        lock.faults.plan(Fault.LOST)
        assert isinstance(lock.create(SPEC), Unavailable)
        lease = lock.get()
        assert isinstance(lease, Lease)
        lock.faults.plan(Fault.LOST)
        assert isinstance(lock.update(lease, replace(SPEC, renew_time=AT + 2)), Unavailable)
        assert store["resourceVersion"] == 2
        assert store["renewTime"] == Decimal(AT + 2)

    def test_write_that_arrives_after_another_write_is_rejected(self, store: LeaseStore) -> None:
        seen, lock = created(store), store.lock()
        lock.faults.plan(Fault.DELAYED)
        lock.update(seen, replace(SPEC, holder_identity="late"))
        winner = updated(store, seen, replace(SPEC, holder_identity="beta"))
        lock.faults.deliver()
        assert store.lock().get() == winner


class TestPublication:
    """A publication by the node cache's writer, which writes the lock's item and renews the lease."""

    def test_publication_renews_and_writes_attributes(self, store: LeaseStore) -> None:
        lease = created(store, replace(SPEC, handover_at=AT + 600))
        assert store.publish(fence_of(lease), {"version": Decimal(1)}, renew_time=AT + 1)
        assert store["version"] == 1
        found = store.lock().get()
        assert isinstance(found, Lease)
        assert found.spec == replace(lease.spec, renew_time=AT + 1)
        assert (found.resource_version, found.uid) == (2, lease.uid)

    def test_publication_without_attributes_is_a_heartbeat(self, store: LeaseStore) -> None:
        assert store.publish(fence_of(created(store)), {}, renew_time=AT + 1)
        assert store["renewTime"] == Decimal(AT + 1)

    @pytest.mark.parametrize(
        "stale",
        [
            pytest.param({"resource_version": 1}, id="an older version"),
            pytest.param({"resource_version": 3}, id="a future version"),
            pytest.param({"uid": "another"}, id="another item"),
            pytest.param({"holder_identity": "beta"}, id="another holder"),
            pytest.param({"lease_transitions": 1}, id="another epoch"),
        ],
    )
    def test_does_not_write_under_an_invalid_fence(self, store: LeaseStore, stale: Any) -> None:
        fence = fence_of(updated(store, created(store), SPEC))
        before = store.attributes()
        assert store.publish(replace(fence, **stale), {"version": Decimal(1)}, renew_time=AT + 1) is False
        assert store.attributes() == before
        assert store.publish(fence, {"version": Decimal(1)}, renew_time=AT + 1) is True

    def test_does_not_publish_after_the_item_is_deleted(self, store: LeaseStore) -> None:
        fence = fence_of(created(store))
        store.delete()
        assert store.publish(fence, {"version": Decimal(1)}, renew_time=AT + 1) is False
        assert store.attributes() == {}
