"""Contract of the ledger's Lease, on every implementation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from berth.cluster.kubernetes_ledger_lease import KubernetesLedgerLease
from berth.lease.lock import Conflict, Lease, LeaseSpec, Written
from berth.ledger.lease import NAME, Holding, LedgerLease
from tests.fakes.api_server import kubernetes_on_loopback
from tests.fakes.ledger_lease import LeaseInMemory

SPEC = LeaseSpec("store-1", 30, 1_700_000_000.25, 1_700_000_005.5, 1)


def _without_object() -> Iterator[LedgerLease]:
    with kubernetes_on_loopback() as kubernetes:
        yield KubernetesLedgerLease(kubernetes.client())


def _from_manifest() -> Iterator[LedgerLease]:
    with kubernetes_on_loopback() as kubernetes:
        kubernetes.leases[NAME] = {"metadata": {"name": NAME, "uid": "lease-1", "resourceVersion": "7"}}
        yield KubernetesLedgerLease(kubernetes.client())


def _in_memory() -> Iterator[LedgerLease]:
    yield LeaseInMemory()


def _in_memory_without_object() -> Iterator[LedgerLease]:
    yield LeaseInMemory(exists=False)


@pytest.fixture(params=[_from_manifest, _in_memory], ids=["kubernetes", "in memory"])
def lease(request: pytest.FixtureRequest) -> Iterator[LedgerLease]:
    """Yield a lease that never had a holder."""
    yield from request.param()


@pytest.fixture(params=[_without_object, _in_memory_without_object], ids=["kubernetes", "in memory"])
def missing(request: pytest.FixtureRequest) -> Iterator[LedgerLease]:
    yield from request.param()


def found_in(lease: LedgerLease) -> Lease:
    found = lease.get()
    assert isinstance(found, Lease)
    return found


def test_lease_from_the_manifest_is_free_and_counts_zero_transitions(lease: LedgerLease) -> None:
    found = found_in(lease)
    assert (found.spec.holder_identity, found.spec.lease_transitions) == ("", 0)
    assert lease.holding(1) == Holding("", is_counting=False)


def test_update_stores_spec_and_changes_resource_version(lease: LedgerLease) -> None:
    before = found_in(lease)
    written = lease.update(before, SPEC)
    assert isinstance(written, Written)
    assert written.lease == found_in(lease)
    assert (written.lease.spec, written.lease.uid) == (SPEC, before.uid)
    assert written.lease.resource_version > before.resource_version


def test_only_one_of_two_updates_of_one_version_is_written(lease: LedgerLease) -> None:
    before = found_in(lease)
    assert isinstance(lease.update(before, SPEC), Written)
    assert lease.update(before, SPEC) == Conflict(None)


def test_holder_is_counting_from_the_mark_until_the_next_transition(lease: LedgerLease) -> None:
    lease.update(found_in(lease), SPEC)
    assert lease.holding(1) == Holding("store-1", is_counting=False)
    assert isinstance(lease.mark_counting(found_in(lease)), Written)
    assert lease.holding(1) == Holding("store-1", is_counting=True)
    lease.update(found_in(lease), LeaseSpec("store-2", 30, 0, 0, 2))
    assert lease.holding(1) == Holding("store-2", is_counting=False)


def test_does_not_mark_a_lease_that_has_changed(lease: LedgerLease) -> None:
    before = found_in(lease)
    lease.update(before, SPEC)
    assert lease.mark_counting(before) == Conflict(None)


def test_released_lease_is_free_and_keeps_its_transitions(lease: LedgerLease) -> None:
    lease.update(found_in(lease), SPEC)
    lease.update(found_in(lease), LeaseSpec("", 1, 0, 0, 1))
    assert (found_in(lease).spec.holder_identity, found_in(lease).spec.lease_transitions) == ("", 1)


def test_missing_lease_is_created_once(missing: LedgerLease) -> None:
    assert missing.get() is None
    assert missing.holding(1) is None
    assert isinstance(missing.create(SPEC), Written)
    assert found_in(missing).spec == SPEC
    assert missing.create(SPEC) == Conflict(None)
