"""Absence from the cache does not mean the end of a pod: only a proof releases a bound pod's amounts."""

from __future__ import annotations

import pytest

from berth.ledger.nodes.table import Marker, MarkerState
from berth.pods import FoundPod, PodNotFound, ReservedPods, Unanswered
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.events import ReservationEventType
from tests.fakes.counted_cluster import REQUEST, SLOT
from tests.unit.upkeep.reconciler.counted_pods import EXPIRY, bound, by_annotation, shares_of
from tests.unit.upkeep.reconciler.reconciler_harness import HTTP_TIMEOUT, ForwardingPods, ReconcilerHarness


def test_keeps_bound_entry_of_a_running_pod_missing_from_the_publication(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    key = bound(harness, leader, "a", 6)
    harness.cluster.hide("a")

    harness.run(harness.lead(), EXPIRY)

    assert shares_of(harness, key) == {SLOT: 6}


def test_reads_unpublished_pod_once_per_leadership(harness: ReconcilerHarness) -> None:
    pods = _Counted(harness.cluster)
    bound(harness, harness.lead(), "a", 3)
    bound(harness, harness.lead(), "b", 3)
    harness.cluster.hide("a")
    leader = harness.lead(pods)

    for units in (8, 9, 10):
        harness.node(units)
        harness.publish(leader, seconds=EXPIRY)

    assert pods.found == ["a"]


@pytest.mark.parametrize("end", ["finish", "delete", "again"])
@pytest.mark.parametrize("before_sweep", [True, False])
def test_releases_unpublished_entry_if_the_api_server_shows_that_the_pod_ended(
    harness: ReconcilerHarness, end: str, before_sweep: bool
) -> None:
    leader = harness.lead()
    bound(harness, leader, "a", 6)
    harness.cluster.hide("a")
    leader = harness.lead()
    if not before_sweep:
        harness.run(leader, 1)

    if end == "finish":
        harness.cluster.finish("a")
    else:
        harness.cluster.delete("a")
    if end == "again":
        harness.cluster.create_pod("a", 1)
    harness.publish(*() if before_sweep else (leader,))
    harness.run(leader, EXPIRY)

    assert not harness.states()


def test_keeps_entry_and_retries_while_the_api_server_does_not_respond(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    bound(harness, leader, "a", 3)
    bound(harness, leader, "b", 3)
    harness.cluster.delete("a")
    harness.cluster.delete("b")
    harness.publish()
    pods = _Counted(harness.cluster)
    pods.answers = False
    leader = harness.lead(pods)

    harness.run(leader, 10)
    assert set(harness.states()) == {"a", "b"}
    assert 5 <= len(pods.found) <= 15, "one read in each second"
    assert ReservationEventType.CLUSTER_UNAVAILABLE in harness.happened()
    pods.answers = True
    harness.run(leader, 5)

    assert not harness.states()


def test_does_not_read_a_pod_whose_end_is_published() -> None:
    harness = by_annotation()
    pods = _Counted(harness.cluster)
    leader = harness.lead(pods=pods)
    bound(harness, leader, "a", 3)
    pods.found.clear()
    harness.cluster.finish("a")
    harness.publish(leader, seconds=1)
    assert not harness.states()
    assert pods.found == []


def test_rebuild_keeps_bound_entries_that_still_exist() -> None:
    harness = by_annotation()
    leader = harness.lead()
    forged = bound(harness, leader, "a", 3)
    hidden = bound(harness, leader, "b", 3)
    bound(harness, leader, "c", 2)
    harness.cluster.annotate("a", REQUEST, None)
    harness.cluster.hide("b")
    harness.publish()
    harness.cluster.delete("c")
    leader = harness.lead()
    harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())

    for _ in range(5):
        harness.run(leader, HTTP_TIMEOUT)
        harness.publish(leader, seconds=3)

    assert harness.ledger().avail == {SLOT: 2}
    assert set(harness.ledger().entries) == {forged.uid, hidden.uid}


class _Counted(ForwardingPods):
    """Records in `found` the names of the pods that were read."""

    def __init__(self, pods: ReservedPods) -> None:
        super().__init__(pods)
        self.found: list[str] = []
        self.answers = True

    def find(self, pod: PodKey) -> FoundPod | PodNotFound | Unanswered:
        self.found.append(pod.name)
        return super().find(pod) if self.answers else Unanswered("no route to host")
