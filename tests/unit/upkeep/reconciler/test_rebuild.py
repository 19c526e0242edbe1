"""Rebuilding ledgers: the order of the steps, and the entries of the rebuilt ledgers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from berth.ledger.nodes.entry import EntryState, NodeLedger
from berth.ledger.nodes.table import Marker, MarkerState, NotWritten, Written
from berth.pods import FoundPod, PodNotFound, Unanswered
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.events import ReservationEventType
from berth.upkeep.reconciler.rebuild import LATE_SECONDS
from berth_cli.server.store.ledger_table import InMemoryLedgerTable
from tests.fakes.counted_cluster import SLOT, CountedCluster
from tests.unit.upkeep.reconciler.reconciler_harness import HTTP_TIMEOUT, NODE, ForwardingPods, ReconcilerHarness

BIND_SECONDS = HTTP_TIMEOUT + LATE_SECONDS


def test_rebuilds_new_table_from_pods_after_binds_in_progress_have_ended() -> None:
    harness = ReconcilerHarness(ready=False)
    harness.node(8)
    harness.place("a", 3)
    harness.cluster.create_pod("waiting")
    version = harness.cluster.pods["waiting"].version
    harness.publish()
    leader = harness.lead()

    harness.run(leader, HTTP_TIMEOUT + 4)
    harness.publish(leader, seconds=0.5)
    assert harness.table.node(NODE) is None
    harness.run(leader, 3)
    assert harness.table.node(NODE) is None, "what is published was observed too early"
    harness.publish(leader, seconds=3)

    assert harness.ledger().avail == {SLOT: 5}
    assert harness.states() == {"a": EntryState.BOUND}
    assert harness.cluster.pods["waiting"].version > version, "a Binding of before would succeed"
    marker = harness.table.marker()
    assert marker is not None
    assert marker.state is MarkerState.READY


@pytest.fixture
def memory() -> ReconcilerHarness:
    """Return a harness with a new in-memory ledger, which is lost with its process."""
    harness = ReconcilerHarness(ready=False)
    harness.node(8)
    harness.publish()
    return harness


def _request(harness: ReconcilerHarness) -> None:
    """Request a rebuild as the holder of the Lease does."""
    asked = Marker(MarkerState.REBUILDING, 0, 0, "asked")
    assert harness.table.put_marker(asked, harness.table.marker())


def test_in_memory_ledger_is_not_rebuilt_until_the_lease_holder_requests_it(memory: ReconcilerHarness) -> None:
    version = memory.cluster.create_pod("waiting") and memory.cluster.pods["waiting"].version
    memory.publish()
    leader = memory.lead(is_lost_with_process=True)

    memory.run(leader, 10 * BIND_SECONDS)

    assert memory.table.marker() is None
    assert memory.table.node(NODE) is None
    assert memory.cluster.pods["waiting"].version == version


def test_new_in_memory_ledger_is_rebuilt_without_waiting_for_binds_or_publications(memory: ReconcilerHarness) -> None:
    leader = memory.lead(is_lost_with_process=True)
    memory.run(leader, 1)
    memory.cluster.create_pod("unpublished")
    version = memory.cluster.pods["unpublished"].version
    _request(memory)

    memory.run(leader, 3)

    assert memory.ledger().avail == {SLOT: 8}
    assert memory.cluster.pods["unpublished"].version > version, "a Binding of another store would succeed"


def test_in_memory_rebuild_waits_until_a_bound_pod_is_published(memory: ReconcilerHarness) -> None:
    leader = memory.lead(is_lost_with_process=True)
    memory.run(leader, 1)
    memory.place("a", 3)
    _request(memory)
    memory.run(leader, BIND_SECONDS)
    assert memory.table.node(NODE) is None

    memory.publish(leader, seconds=3)

    assert memory.ledger().avail == {SLOT: 5}


def test_in_memory_rebuild_waits_while_pods_cannot_be_listed(memory: ReconcilerHarness) -> None:
    class NoAnswer(CountedCluster):
        def list_pods(self, is_wanted: Callable[[Pod], bool]) -> Unanswered:
            return Unanswered("no route to host")

    leader = memory.lead(pods=NoAnswer(), is_lost_with_process=True)
    _request(memory)

    memory.run(leader, 3)

    assert memory.table.node(NODE) is None
    assert ReservationEventType.CLUSTER_UNAVAILABLE in memory.happened()


def test_in_memory_rebuild_waits_for_binds_of_this_process(memory: ReconcilerHarness) -> None:
    leader = memory.lead(is_lost_with_process=True)
    _request(memory)
    memory.run(leader, 3)
    _request(memory)

    memory.run(leader, BIND_SECONDS - 1)
    assert memory.ledger().avail is None, "a bind that reserved before may still run"
    memory.run(leader, 3)
    memory.publish(leader, seconds=3)
    assert memory.ledger().avail == {SLOT: 8}


def test_rebuild_includes_a_pod_bound_meanwhile(harness: ReconcilerHarness) -> None:
    leader = harness.lead(seconds=1)
    harness.reserve(harness.cluster.create_pod("a", 3), 3)
    harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())
    harness.run(leader, HTTP_TIMEOUT + 4)
    harness.cluster.place("a", NODE)

    harness.run(leader, 3)
    harness.publish(leader, seconds=3)
    harness.publish(leader, seconds=3)

    assert harness.states() == {"a": EntryState.BOUND}
    assert harness.table.open_reservations() == []


def test_restarts_a_rebuild_that_the_previous_leader_did_not_finish(harness: ReconcilerHarness) -> None:
    first = harness.lead(seconds=1)
    harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())
    harness.run(first, HTTP_TIMEOUT)
    successor = harness.lead()

    for _ in range(4):
        harness.run(successor, HTTP_TIMEOUT)
        harness.publish(successor, seconds=3)

    assert harness.ledger().avail == {SLOT: 8}
    marker = harness.table.marker()
    assert marker is not None
    assert (marker.state, marker.epoch) == (MarkerState.READY, harness.ledger().epoch)


def test_does_not_create_a_ledger_for_a_new_node_if_the_marker_is_lost(harness: ReconcilerHarness) -> None:
    leader = harness.lead(seconds=1)
    harness.table._nodes.clear()  # type: ignore[attr-defined]
    harness.table._marker = None  # type: ignore[attr-defined]
    harness.node(9)

    harness.publish(leader, seconds=0)

    assert harness.table.node(NODE) is None


@pytest.mark.parametrize("all_nodes", [True, False])
def test_does_not_change_reservations_while_their_node_is_rebuilt(harness: ReconcilerHarness, all_nodes: bool) -> None:
    """A deleted pod's reservation does not expire meanwhile: the rebuild itself invalidates the pod's Bindings."""
    leader = harness.lead()
    if all_nodes:
        harness.run(leader, 1)
        harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())
    harness.reserve(harness.cluster.create_pod("a"))
    if not all_nodes:
        harness.table.begin_rebuild(NODE, harness.ledger().epoch)
    harness.run(leader, 3)
    harness.cluster.delete("a")
    harness.publish(leader, seconds=4)

    assert len(harness.table.open_reservations()) == 1
    assert harness.happened() == ([ReservationEventType.REBUILDING] if all_nodes else [])


def test_rebuilds_ledger_of_a_node_that_appears_during_the_rebuild(harness: ReconcilerHarness) -> None:
    """While the table is not ready, no ledger is created: a new node may have the name of an old node."""
    leader = harness.lead(seconds=1)
    harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())
    harness.run(leader, 3)
    harness.node(4, "node-b")

    for _ in range(5):
        harness.publish(leader, seconds=HTTP_TIMEOUT)

    assert [(event.type, event.node) for event in harness.events if event.node == "node-b"] == [
        (ReservationEventType.REBUILT, "node-b")
    ]
    assert harness.ledger("node-b").avail == {SLOT: 4}


def test_reconciles_a_rebuilt_node_while_another_is_still_being_rebuilt(harness: ReconcilerHarness) -> None:
    class NotAnswering(ForwardingPods):
        """Does not answer a request for the pod `late`."""

        def find(self, pod: PodKey) -> FoundPod | PodNotFound | Unanswered:
            return Unanswered("no answer") if pod.name == "late" else super().find(pod)

    harness.node(8, "node-b")
    harness.publish()
    leader = harness.lead(pods=NotAnswering(harness.cluster))
    harness.run(leader, 1)
    harness.reserve(harness.cluster.create_pod("late"), node="node-b")
    harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())
    for _ in range(5):
        harness.run(leader, HTTP_TIMEOUT)
        leader.update({}, {}, harness.clock.now)
    assert harness.ledger("node-b").avail is None
    harness.place("a", 3)

    harness.publish(leader, seconds=1)

    assert harness.ledger().avail == {SLOT: 5}
    assert harness.states() == {"a": EntryState.BOUND}


def test_rebuild_reports_owed_amounts_and_completion(harness: ReconcilerHarness) -> None:
    leader = harness.lead(seconds=1)
    for name, units in (("a", 6), ("b", 5)):
        harness.place(name, units)
    harness.publish(leader, seconds=1)
    _request(harness)
    harness.happened()
    for _ in range(5):
        harness.publish(leader, seconds=HTTP_TIMEOUT)
    found = harness.happened()
    assert [each for each in found if each in (ReservationEventType.REBUILT, ReservationEventType.OWED)] == [
        ReservationEventType.REBUILT,
        ReservationEventType.OWED,
    ]
    assert found.count(ReservationEventType.READY) == 1


def test_ledger_is_not_ready_until_a_rebuild_requested_meanwhile_has_ended() -> None:
    class AskedAgain(InMemoryLedgerTable):
        is_asked = False

        def put_marker(self, marker: Marker, seen: Marker | None) -> bool:
            if marker.state is MarkerState.READY and seen is not None and not self.is_asked:
                self.is_asked = True
                assert super().put_marker(Marker(MarkerState.REBUILDING, 0, 0, "again"), seen)
            return super().put_marker(marker, seen)

    table = AskedAgain()
    harness = ReconcilerHarness(table=table, ready=False)
    harness.node(8)
    harness.publish()
    leader = harness.lead()
    for _ in range(12):
        harness.publish(leader, seconds=HTTP_TIMEOUT)
    assert table.is_asked
    rebuilt, ready = ReservationEventType.REBUILT, ReservationEventType.READY
    assert [each for each in harness.happened() if each in (rebuilt, ready)] == [rebuilt, rebuilt, ready]


@pytest.mark.parametrize(
    ("found", "is_deposed"),
    [
        pytest.param(NodeLedger(NODE, avail={}, epoch=2), True, id="of a later watcher"),
        pytest.param(
            NodeLedger(NODE, avail={}, epoch=1), False, id="of this watcher, by a write whose answer was lost"
        ),
        pytest.param(None, False, id="deleted"),
    ],
)
def test_steps_down_if_the_rebuilt_ledger_is_of_a_later_watcher(found: NodeLedger | None, is_deposed: bool) -> None:
    class Refusing(InMemoryLedgerTable):
        def finish_rebuild(self, ledger: NodeLedger) -> Written | NotWritten:
            return NotWritten(found)

    harness = ReconcilerHarness(table=Refusing(), ready=False)
    harness.node(8)
    leader = harness.lead()
    for _ in range(5):
        harness.publish(leader, seconds=HTTP_TIMEOUT)
    happened = harness.happened()
    assert leader.is_deposed is is_deposed
    assert (ReservationEventType.READY in happened) is not is_deposed
    assert ReservationEventType.REBUILT not in happened
