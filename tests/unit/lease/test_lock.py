"""Parsing of an item's attributes."""

from __future__ import annotations

from decimal import Decimal

import pytest

from berth.lease.lock import Lease, LeaseSpec, as_stored, read_lease
from tests.unit.lease.clocks import AT
from tests.unit.lease.stores import stored_lease


@pytest.mark.parametrize(
    "number", [pytest.param(7, id="int"), pytest.param(7.0, id="float"), pytest.param(Decimal("7.000"), id="Decimal")]
)
def test_reads_numbers_of_any_type(number: object) -> None:
    names = ("leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions", "resourceVersion", "handoverAt")
    lease = read_lease({**stored_lease("alpha"), **dict.fromkeys(names, number)})
    assert lease == Lease(LeaseSpec("alpha", 7, 7.0, 7.0, 7, 7.0), 7, "uid-1", "another's")


def test_reads_record_without_nonce() -> None:
    item = stored_lease("alpha")
    del item["nonce"]
    assert read_lease(item).nonce == ""


def test_stores_times_with_microsecond_precision() -> None:
    spec = LeaseSpec("alpha", 15, acquire_time=AT + 0.1234567, renew_time=1 / 3, lease_transitions=0)
    stored = as_stored(Lease(spec, 1, "uid", "nonce"))
    assert stored.spec.acquire_time == AT + 0.123457
    assert stored.spec.renew_time == 0.333333
    assert as_stored(stored) == stored
