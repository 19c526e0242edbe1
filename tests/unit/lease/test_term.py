"""Validity of one's own lease and of another holder's, by the monotonic clock and the wall clock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.lease.clock import Clock, Instant, SystemClock
from berth.lease.config import LeaderElectionConfig
from berth.lease.lock import Fence, Lease, LeaseSpec
from berth.lease.term import Observation, Term

SPEC = LeaseSpec("alpha", 15, acquire_time=1000, renew_time=1000, lease_transitions=3)
LEASE = Lease(SPEC, 7, "uid-1", "nonce")
START = Instant(monotonic=50, wall=1000)


def after(monotonic: float, wall: float) -> Instant:
    """Return the instant this many seconds after the start, by each clock."""
    return Instant(START.monotonic + monotonic, START.wall + wall)


@pytest.mark.parametrize(
    ("monotonic", "wall", "own", "anothers"),
    [
        pytest.param(14.999, 14.999, True, True, id="just before the end: both valid"),
        pytest.param(15, 15, False, False, id="at the end: neither valid"),
        pytest.param(1, 15, False, True, id="frozen: only its own lease has ended"),
        pytest.param(15, 1, False, True, id="wall clock set back: only its own lease has ended"),
        pytest.param(1, 1e7, False, True, id="wall clock set ahead: only its own lease has ended"),
    ],
)
def test_only_own_validity_ends_by_the_faster_clock(monotonic: float, wall: float, own: bool, anothers: bool) -> None:
    now = after(monotonic, wall)
    assert Term(LEASE, START).is_valid(now) is own
    assert Observation(LEASE, START).is_valid(now) is anothers


@pytest.mark.parametrize(
    ("found", "now", "since"),
    [
        pytest.param(LEASE, after(5, 5), START, id="unchanged record: since the first read"),
        pytest.param(replace(LEASE, resource_version=8), after(5, 5), after(5, 5), id="changed record: from now on"),
        pytest.param(LEASE, after(5, -1), after(5, -1), id="wall clock set back before it: from now on"),
        pytest.param(LEASE, after(5, 1), START, id="wall clock set back a little: since the first read"),
    ],
)
def test_observation_restarts_for_a_changed_record_or_an_earlier_clock(
    found: Lease, now: Instant, since: Instant
) -> None:
    assert Observation(LEASE, START).then(found, now).since == since


@pytest.mark.parametrize(
    ("seen_at", "changed", "healthy"),
    [
        pytest.param(1004, False, True, id="renewed two retry periods ago"),
        pytest.param(1004.5, False, False, id="renewed longer ago"),
        pytest.param(996, False, True, id="renewed a little in the future"),
        pytest.param(995.5, False, False, id="renewed further in the future"),
        pytest.param(9e9, True, True, id="renewal observed directly"),
    ],
)
def test_lease_is_healthy_while_the_holder_renews_it(seen_at: float, changed: bool, healthy: bool) -> None:
    observation = Observation(LEASE, Instant(50, seen_at), changed)
    assert observation.looks_healthy(LeaderElectionConfig()) is healthy


def test_measures_handover_by_the_holders_clock() -> None:
    lease = replace(LEASE, spec=replace(SPEC, renew_time=5e9, handover_at=5e9 + 100))
    assert Observation(lease, START).handover_in(after(1, 30)) == 70


@pytest.mark.parametrize(
    ("found", "continued"),
    [
        pytest.param(replace(LEASE, resource_version=99, nonce="x"), True, id="written since, by the same holder"),
        pytest.param(replace(LEASE, uid="uid-2"), False, id="another item"),
        pytest.param(replace(LEASE, spec=replace(SPEC, holder_identity="")), False, id="released"),
        pytest.param(replace(LEASE, spec=replace(SPEC, holder_identity="beta")), False, id="another holder"),
        pytest.param(replace(LEASE, spec=replace(SPEC, lease_transitions=4)), False, id="another epoch"),
    ],
)
def test_recognizes_records_of_the_same_term(found: Lease, continued: bool) -> None:
    assert Term(LEASE, START).is_continued_by(found) is continued


def test_publication_advances_version_and_validity() -> None:
    at = after(5, 5)
    term = Term(LEASE, START).published(at)
    assert term.fence == Fence("alpha", 3, "uid-1", 8)
    assert term.renewed_at == at
    assert term.lease.spec.renew_time == 1005


def test_system_clock_is_monotonic() -> None:
    clock: Clock = SystemClock()
    earlier, later = clock.now(), clock.now()
    assert later.shortest_since(earlier) >= 0
    assert later.wall > 1_700_000_000
