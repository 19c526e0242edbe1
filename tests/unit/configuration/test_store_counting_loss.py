"""Counting does not end by accident: a configuration that counts nothing is refused while the ledger counts."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from berth.configuration.store import REFRESH_SECONDS, CountingLossCheck, CountingLost
from berth.dynamodb import TableErrors, TableMissing, TableUnavailable
from berth.ledger.nodes.table import Marker, MarkerState
from tests.unit.lease.clocks import EnvironmentClock

MARKER = Marker(MarkerState.READY, 1, 0.0, "nonce")


class Ledger:
    """A ledger whose marker and document a test sets."""

    def __init__(self, marker: Marker | None = None, *, is_stopped: bool = False) -> None:
        self.content = marker
        self.is_stopped = is_stopped
        self.is_available = True
        self.exists = True
        self.reads: list[str] = []
        self.clock = EnvironmentClock()
        self.check = CountingLossCheck(self.marker, self.counting_is_stopped, self.clock)

    def marker(self) -> Marker | None:
        self.reads.append("marker")
        if not self.exists:
            raise TableMissing("no such table")
        if not self.is_available:
            raise TableUnavailable("throttled")
        return self.content

    def counting_is_stopped(self) -> bool:
        self.reads.append("document")
        return self.is_stopped

    def is_lost(self) -> bool:
        try:
            self.check.raise_if_lost()
        except CountingLost:
            return True
        return False


@pytest.mark.parametrize(
    ("ledger", "is_lost", "reads"),
    [
        pytest.param(Ledger(), False, ["marker"], id="a ledger without a marker never counted"),
        pytest.param(Ledger(MARKER), True, ["marker", "document"], id="a ledger with a marker counts"),
        pytest.param(
            Ledger(Marker(MarkerState.REBUILDING, 1, 0.0, "nonce")),
            True,
            ["marker", "document"],
            id="a ledger that is being rebuilt counts",
        ),
        pytest.param(Ledger(MARKER, is_stopped=True), False, ["marker", "document"], id="counting was stopped"),
    ],
)
def test_counting_is_lost_while_a_marker_exists_unless_stopped(ledger: Ledger, is_lost: bool, reads: list[str]) -> None:
    assert ledger.is_lost() is is_lost
    assert ledger.reads == reads


@pytest.mark.parametrize("marker", [None, MARKER], ids=["not lost", "lost"])
def test_reads_the_ledger_only_every_ten_seconds(marker: Marker | None) -> None:
    ledger = Ledger(marker)
    before = ledger.is_lost()
    ledger.reads.clear()
    ledger.clock.advance(REFRESH_SECONDS - 1)
    assert ledger.is_lost() is before
    assert ledger.reads == []
    ledger.clock.advance(1)
    ledger.content = None if marker else MARKER
    assert ledger.is_lost() is not before


@pytest.mark.parametrize("marker", [None, MARKER], ids=["not lost", "lost"])
def test_keeps_the_last_result_while_the_ledger_is_unavailable(marker: Marker | None) -> None:
    ledger = Ledger(marker)
    before = ledger.is_lost()
    ledger.is_available = False
    ledger.clock.advance(REFRESH_SECONDS)
    assert ledger.is_lost() is before


def test_raises_if_the_ledger_is_unavailable_and_no_result_is_known() -> None:
    ledger = Ledger(MARKER)
    ledger.is_available = False
    with pytest.raises(TableUnavailable):
        ledger.check.raise_if_lost()


def test_stack_that_does_not_count_works_without_a_ledger_table() -> None:
    ledger = Ledger()
    ledger.exists = False
    assert not ledger.is_lost()


def test_counting_stays_lost_if_the_ledger_table_is_deleted_afterwards() -> None:
    ledger = Ledger(MARKER)
    assert ledger.is_lost()
    ledger.exists = False
    ledger.clock.advance(REFRESH_SECONDS)
    assert ledger.is_lost()


@pytest.mark.parametrize(
    ("code", "is_missing"), [("ResourceNotFoundException", True), ("ThrottlingException", False), ("Other", False)]
)
def test_only_an_absent_table_counts_as_missing(code: str, is_missing: bool) -> None:
    error = ClientError({"Error": {"Code": code, "Message": ""}}, "GetItem")
    assert isinstance(TableErrors("ledger", "t", "V").unavailable(error), TableMissing) is is_missing
