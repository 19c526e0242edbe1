"""Expiry: which reservations are released, and when their pod is touched first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from berth.ledger.nodes.entry import EntryState, OpenReservation
from berth.pods import FoundPod, PodChanged, PodNotFound, PodTouched, ReservedPods, Unanswered
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.events import ReservationEventType
from berth.upkeep.reconciler.expiry import Expiry, ExpiryOutcome, ExpiryResult
from tests.fakes.counted_cluster import SLOT
from tests.unit.upkeep.reconciler.reconciler_harness import NODE, ForwardingPods, ReconcilerHarness

EXPIRY = 30.0


def test_expiring_old_reservation_touches_pod_and_wakes_queue(harness: ReconcilerHarness) -> None:
    leader = harness.lead(seconds=1)
    key = harness.cluster.create_pod("a", 3)
    harness.reserve(key, 3)
    version = harness.cluster.pods["a"].version
    releases = harness.capacity_releases

    harness.run(leader, EXPIRY - 3)
    assert harness.states() == {"a": EntryState.RESERVED}
    harness.run(leader, 6)

    assert not harness.states()
    assert harness.ledger().avail == {SLOT: 8}
    assert harness.table.open_reservations() == []
    assert harness.cluster.pods["a"].version > version, "a late Binding would succeed"
    assert harness.capacity_releases == releases + 1
    assert ReservationEventType.EXPIRED in harness.happened()


@pytest.mark.parametrize("end", ["finish", "delete"])
def test_expires_reservation_if_the_pod_ended_before_publication(harness: ReconcilerHarness, end: str) -> None:
    leader = harness.lead()
    harness.reserve(harness.cluster.create_pod("a"))
    getattr(harness.cluster, end)("a")
    harness.run(leader, EXPIRY + 5)
    assert not harness.states()


def test_expires_without_touch_if_uid_differs(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    harness.reserve(harness.cluster.create_pod("a"))
    harness.cluster.delete("a")
    harness.cluster.create_pod("a")
    version = harness.cluster.pods["a"].version

    harness.run(leader, EXPIRY + 5)

    assert not harness.states()
    assert harness.cluster.pods["a"].version == version


def test_keeps_reservation_while_the_api_server_does_not_respond(harness: ReconcilerHarness) -> None:
    leader = harness.lead(pods=_Silent())
    harness.reserve(harness.cluster.create_pod("a"))

    harness.run(leader, 2 * EXPIRY)

    assert harness.states() == {"a": EntryState.RESERVED}
    assert ReservationEventType.CLUSTER_UNAVAILABLE in harness.happened()


def test_reads_pod_again_if_it_changes_before_the_touch(harness: ReconcilerHarness) -> None:
    class BoundMeanwhile(ForwardingPods):
        def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | Unanswered:
            if not harness.cluster.pods["a"].node:
                harness.cluster.place("a", NODE)
            return super().touch(pod, resource_version)

    leader = harness.lead(pods=BoundMeanwhile(harness.cluster))
    harness.reserve(harness.cluster.create_pod("a"))

    harness.run(leader, EXPIRY + 5)

    assert harness.states() == {"a": EntryState.RESERVED}


@pytest.mark.parametrize("owner", ["no attempt", "another attempt"])
def test_does_not_release_an_entry_of_another_attempt(harness: ReconcilerHarness, owner: str) -> None:
    key = harness.cluster.create_pod("a")
    if owner == "another attempt":
        harness.reserve(key)
    kept = list(harness.table.open_reservations())
    earlier = OpenReservation(key, NODE, "earlier", {SLOT: 1}, harness.clock.now)
    harness.table.put_open(earlier)
    before, version = harness.ledger(), harness.cluster.pods["a"].version

    result = Expiry(harness.table, harness.cluster, before.epoch).expire(earlier)

    assert result == ExpiryResult(ExpiryOutcome.NO_ENTRY)
    assert harness.ledger() == before
    assert harness.table.open_reservations() == kept
    assert harness.cluster.pods["a"].version == version, "the pod was touched"


class _Silent(ReservedPods):
    def find(self, pod: PodKey) -> FoundPod | PodNotFound | Unanswered:
        return Unanswered("no route to host")

    def list_pods(self, is_wanted: Callable[[Pod], bool]) -> tuple[PodKey, ...] | Unanswered:
        return Unanswered("no route to host")

    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | Unanswered:
        raise AssertionError("a pod that was not found unbound was touched")
