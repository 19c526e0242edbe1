"""Whether bind may reserve, by the Lease of the ledger and the identity of its store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.bind.rules import NOT_HELD, TAKEOVER, CountingRight
from berth.dynamodb import TableUnavailable
from berth.extender.outcomes import BindOutcome, BindResult
from berth.lease.lock import Lease, LeaseSpec
from berth.ledger.lease import counted_elsewhere
from tests.fakes.ledger_lease import IdentityInMemory, LeaseInMemory

HELD = Lease(LeaseSpec("store-1", 30, 0.0, 0.0, 4), 9, "lease-1", "")


def lease_of(holder: str, counting_transition: int | None = 4) -> LeaseInMemory:
    lease = LeaseInMemory()
    lease.stored = replace(HELD, spec=replace(HELD.spec, holder_identity=holder))
    lease.counting_transition = counting_transition
    return lease


@pytest.mark.parametrize(
    ("lease", "identity", "result"),
    [
        pytest.param(lease_of("store-1"), "store-1", None, id="this store holds the lease and counts"),
        pytest.param(lease_of("store-1", None), "store-1", TAKEOVER, id="the takeover is not finished"),
        pytest.param(lease_of("store-1", 3), "store-1", TAKEOVER, id="the mark is of an earlier transition"),
        pytest.param(
            lease_of("store-2"),
            "store-1",
            BindResult(BindOutcome.COUNTED_ELSEWHERE, counted_elsewhere("store-2")),
            id="another store holds the lease",
        ),
        pytest.param(
            lease_of("store-2"),
            None,
            BindResult(BindOutcome.COUNTED_ELSEWHERE, counted_elsewhere("store-2")),
            id="another store holds the lease and this one has no identity",
        ),
        pytest.param(lease_of(""), "store-1", NOT_HELD, id="nobody holds the lease"),
        pytest.param(lease_of(""), None, NOT_HELD, id="nobody holds the lease and this store has no identity"),
        pytest.param(LeaseInMemory(exists=False), "store-1", NOT_HELD, id="the lease does not exist"),
    ],
)
def test_only_a_holder_with_a_finished_takeover_may_reserve(
    lease: LeaseInMemory, identity: str | None, result: BindResult | None
) -> None:
    assert CountingRight(lease, IdentityInMemory(identity)).refusal(1.0) == result


def test_refuses_while_the_lease_cannot_be_read() -> None:
    lease = lease_of("store-1")
    lease.unavailable = "the API server does not answer"
    check = CountingRight(lease, IdentityInMemory("store-1"))
    assert check.refusal(1.0) == BindResult(BindOutcome.LEDGER_UNAVAILABLE, "the API server does not answer")


class _Counting(IdentityInMemory):
    reads = 0

    def get(self) -> str | None:
        self.reads += 1
        return super().get()


def test_reads_the_identity_only_once_while_it_matches_the_holder() -> None:
    store = _Counting("store-1")
    check = CountingRight(lease_of("store-1"), store)
    assert [check.refusal(1.0), check.refusal(1.0)] == [None, None]
    assert store.reads == 1


def test_reads_the_new_identity_after_the_table_was_lost() -> None:
    lease, store = lease_of("store-1"), IdentityInMemory("store-1")
    check = CountingRight(lease, store)
    assert check.refusal(1.0) is None
    store.identity, lease.stored = "store-9", replace(HELD, spec=replace(HELD.spec, holder_identity="store-9"))
    assert check.refusal(1.0) is None


class _NoTable(IdentityInMemory):
    def get(self) -> str | None:
        raise TableUnavailable("ledger table: no answer")


def test_refuses_while_the_identity_cannot_be_read() -> None:
    check = CountingRight(lease_of("store-1"), _NoTable())
    assert check.refusal(1.0) == BindResult(BindOutcome.LEDGER_UNAVAILABLE, "ledger table: no answer")
