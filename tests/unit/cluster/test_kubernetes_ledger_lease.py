"""The Lease of the ledger at an API server that refuses or does not answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from berth.cluster.kubernetes_ledger_lease import REMEDY, KubernetesLedgerLease
from berth.lease.lock import LeaseSpec, Unavailable
from berth.ledger.lease import NAME
from tests.fakes.api_server import Fault, KubernetesOnLoopback, kubernetes_on_loopback


@pytest.fixture
def kubernetes() -> Iterator[KubernetesOnLoopback]:
    with kubernetes_on_loopback() as kubernetes:
        yield kubernetes


@pytest.fixture
def lease(kubernetes: KubernetesOnLoopback) -> KubernetesLedgerLease:
    return KubernetesLedgerLease(kubernetes.client())


@pytest.mark.parametrize("call", ["get", "holding"])
def test_error_for_a_missing_permission_names_the_manifest(
    kubernetes: KubernetesOnLoopback, lease: KubernetesLedgerLease, call: str
) -> None:
    kubernetes.faults.append(Fault("GET", 403, "leases is forbidden"))
    found = lease.get() if call == "get" else lease.holding(1.0)
    assert found == Unavailable(f"the Lease kube-system/berth-ledger: leases is forbidden; {REMEDY}")


def test_error_names_the_manifest_if_creating_the_missing_lease_is_forbidden(
    kubernetes: KubernetesOnLoopback, lease: KubernetesLedgerLease
) -> None:
    kubernetes.faults.append(Fault("POST", 403, "cannot create resource leases"))
    found = lease.create(LeaseSpec("store-1", 30, 0.0, 0.0, 0))
    assert found == Unavailable(f"the Lease kube-system/berth-ledger: cannot create resource leases; {REMEDY}")


def test_lease_is_unavailable_if_the_connection_breaks(
    kubernetes: KubernetesOnLoopback, lease: KubernetesLedgerLease
) -> None:
    kubernetes.faults.append(Fault("GET"))
    assert isinstance(lease.get(), Unavailable)


def test_lease_is_unavailable_if_the_response_is_not_a_lease(
    kubernetes: KubernetesOnLoopback, lease: KubernetesLedgerLease
) -> None:
    kubernetes.leases[NAME] = {"metadata": {"name": NAME}, "spec": {"holderIdentity": "store-1"}}
    assert isinstance(lease.get(), Unavailable)


def test_update_keeps_fields_that_other_writers_added(
    kubernetes: KubernetesOnLoopback, lease: KubernetesLedgerLease
) -> None:
    kubernetes.leases[NAME] = {
        "metadata": {"name": NAME, "uid": "lease-1", "resourceVersion": "1", "annotations": {"owner": "team"}}
    }
    found = lease.get()
    assert found is not None
    assert not isinstance(found, Unavailable)
    lease.update(found, LeaseSpec("store-1", 30, 0.0, 0.0, 1))
    assert kubernetes.leases[NAME]["metadata"]["annotations"] == {"owner": "team"}
    assert kubernetes.leases[NAME]["spec"]["acquireTime"] == "1970-01-01T00:00:00.000000Z"
