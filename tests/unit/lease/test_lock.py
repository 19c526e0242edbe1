"""What is read from an item's attributes, and what is not."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from berth.lease.lock import NO_RECORD, Lease, LeaseSpec, MalformedLease, as_stored, read_lease
from tests.unit.lease.clocks import AT
from tests.unit.lease.stores import stored_lease


@pytest.mark.parametrize(
    "number",
    [pytest.param(7, id="int"), pytest.param(7.0, id="float"), pytest.param(Decimal("7.000"), id="Decimal")],
)
def test_reads_numbers_of_any_type(number: object) -> None:
    names = ("leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions", "resourceVersion", "handoverAt")
    lease = read_lease({**stored_lease("alpha"), **dict.fromkeys(names, number)})
    assert lease == Lease(LeaseSpec("alpha", 7, 7.0, 7.0, 7, 7.0), 7, "uid-1", "another's")


@pytest.mark.parametrize("item", [{}, {"version": 7, "handoverAt": "x", "nonce": 0}], ids=["empty", "another's"])
def test_item_without_record_has_no_holder(item: dict[str, object]) -> None:
    assert read_lease(item) == NO_RECORD


def test_reads_record_without_nonce() -> None:
    item = stored_lease("alpha")
    del item["nonce"]
    assert read_lease(item).nonce == ""


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(None, "the head item's renewTime is missing, not a number", id="missing"),
        pytest.param("noon", "the head item's renewTime is noon, not a number", id="a string"),
        pytest.param(math.nan, "the head item's renewTime is nan, not a number", id="not a number"),
        pytest.param(math.inf, "the head item's renewTime is inf, not a number", id="infinite"),
        pytest.param(True, "the head item's renewTime is True, not a number", id="a truth value"),
    ],
)
def test_names_malformed_attribute_and_remedy(value: object, message: str) -> None:
    with pytest.raises(MalformedLease) as error:
        read_lease({**stored_lease("alpha"), "renewTime": value})
    assert str(error.value) == (
        f"{message}: something other than Berth wrote it; "
        "stop that, delete the item, and the next watcher builds the cache anew"
    )


def test_keeps_times_to_the_microsecond() -> None:
    spec = LeaseSpec("alpha", 15, acquire_time=AT + 0.1234567, renew_time=1 / 3, lease_transitions=0)
    stored = as_stored(Lease(spec, 1, "uid", "nonce"))
    assert stored.spec.acquire_time == AT + 0.123457
    assert stored.spec.renew_time == 0.333333
    assert as_stored(stored) == stored
