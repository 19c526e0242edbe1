"""What is bound stays counted: neither annotations nor absence from the cache release what a running pod holds."""

from __future__ import annotations

import pytest

from berth.reservations.ledger.entry import Entry, EntryState, OpenReservation, PodKey
from berth.reservations.ledger.ledger import Ledger
from berth.reservations.ledger.table import Marker, MarkerState
from berth.reservations.reconciler.events import ReservationEventType
from berth.reservations.reconciler.reconciler import Reconciler
from berth.reservations.reconciler.reserved_pods import (
    PodChanged,
    PodFound,
    PodNotFound,
    PodTouched,
    PodUnknown,
    ReservedPods,
)
from berth.scheduling.managed_resources.configuration import ManagedResource
from berth.scheduling.managed_resources.counting import Counting
from tests.fakes.counted_cluster import BY_ANNOTATION, BY_DEVICE, DEVICE, REQUEST, SLOT
from tests.unit.reservations.reconciler.reconciler_harness import HTTP_TIMEOUT, NODE, ReconcilerHarness

EXPIRY = 30.0
FIRST, SECOND = f"{SLOT}#0", f"{SLOT}#1"
LIMITED = Counting((ManagedResource(name=SLOT, podLimit=4),))


def by_device(units: int = 8) -> ReconcilerHarness:
    """A node with two devices of so many slots each, and its ledger."""
    return _with_ledger(ReconcilerHarness(counting=BY_DEVICE), units)


def by_annotation(units: int = 8) -> ReconcilerHarness:
    """A node with so many slots, which pods request by an annotation."""
    return _with_ledger(ReconcilerHarness(counting=BY_ANNOTATION), units)


def _with_ledger(harness: ReconcilerHarness, units: int) -> ReconcilerHarness:
    harness.node(units)
    harness.publish()
    harness.run(harness.lead(), 1)
    harness.happened()
    return harness


def bound(harness: ReconcilerHarness, leader: Reconciler, name: str, units: int, pool: str = SLOT) -> PodKey:
    """A pod that Berth reserved for and bound."""
    key = reserved(harness, name, units, {pool: units})
    harness.cluster.place(name, NODE)
    if pool != SLOT:
        harness.cluster.annotate(name, DEVICE, pool.partition("#")[2])
    harness.publish(leader)
    harness.run(leader, 1)
    assert harness.states()[name] is EntryState.BOUND
    harness.happened()
    return key


def reserved(harness: ReconcilerHarness, name: str, units: int, shares: dict[str, int]) -> PodKey:
    """A pod that Berth reserved for."""
    key, attempt = harness.cluster.create_pod(name, units), f"attempt-{next(harness.attempts)}"
    harness.table.put_open(OpenReservation(key, NODE, attempt, shares, harness.clock.now))
    assert Ledger(harness.table).reserve(NODE, Entry(key, EntryState.RESERVED, attempt, shares, harness.clock.now)).done
    return key


def shares_of(harness: ReconcilerHarness, pod: PodKey) -> dict[str, int] | None:
    entry = harness.ledger().entries.get(pod.uid)
    return None if entry is None else dict(entry.shares)


# --------------------------------------------------------------------------------------------------------- annotations
@pytest.mark.parametrize(
    "value",
    [
        pytest.param("200", id="a device that the node does not have"),
        pytest.param("1", id="the device of another pod"),
        pytest.param(None, id="removed"),
        pytest.param("none", id="no number"),
    ],
)
def test_keeps_device_of_bound_pod_when_its_annotation_changes(value: str | None) -> None:
    harness = by_device()
    leader = harness.lead()
    key = bound(harness, leader, "a", 6, FIRST)
    bound(harness, leader, "b", 6, SECOND)

    harness.cluster.annotate("a", DEVICE, value)
    harness.publish(leader)
    harness.run(leader, 1)
    harness.run(harness.lead(), EXPIRY)

    assert shares_of(harness, key) == {FIRST: 6}
    assert harness.ledger().avail == {FIRST: 2, SECOND: 2}


@pytest.mark.parametrize("value", [None, "1", "100", "-"])
def test_keeps_amount_of_bound_pod_when_its_annotation_changes(value: str | None) -> None:
    harness = by_annotation()
    leader = harness.lead()
    key = bound(harness, leader, "a", 6)

    harness.cluster.annotate("a", REQUEST, value)
    harness.publish(leader)
    harness.run(leader, 1)
    assert shares_of(harness, key) == {SLOT: 6}
    harness.run(harness.lead(), EXPIRY)

    assert shares_of(harness, key) == {SLOT: 6}
    assert harness.ledger().owed == {}


def test_keeps_what_was_first_counted_of_pod_that_others_bound() -> None:
    harness = by_annotation()
    leader = harness.lead()
    key = harness.cluster.create_pod("a", 6)
    harness.cluster.place("a", NODE)
    harness.publish(leader)
    harness.run(leader, 1)

    harness.cluster.annotate("a", REQUEST, "1")
    harness.publish(leader)
    harness.run(leader, 1)

    assert shares_of(harness, key) == {SLOT: 6}


@pytest.mark.parametrize("value", [None, "1"])
def test_confirms_what_was_reserved_when_annotation_changes_before_publication(value: str | None) -> None:
    harness = by_annotation()
    leader = harness.lead()
    harness.run(leader, 1)
    key = reserved(harness, "a", 6, {SLOT: 6})
    harness.cluster.place("a", NODE)
    harness.cluster.annotate("a", REQUEST, value)

    harness.publish(leader)
    harness.run(leader, EXPIRY + 5)
    harness.publish(leader)
    harness.run(leader, 2 * EXPIRY)

    assert shares_of(harness, key) == {SLOT: 6}
    assert harness.states() == {"a": EntryState.BOUND}
    assert harness.table.open_reservations() == []


@pytest.mark.parametrize("end", ["finish", "delete"])
@pytest.mark.parametrize("new_leader", [False, True])
def test_releases_pod_without_request_when_it_ends(end: str, new_leader: bool) -> None:
    harness = by_annotation()
    leader = harness.lead()
    bound(harness, leader, "a", 6)
    harness.cluster.annotate("a", REQUEST, None)
    harness.publish(leader)
    harness.run(leader, 1)
    if new_leader:
        leader = harness.lead()
        harness.run(leader, 1)

    getattr(harness.cluster, end)("a")
    harness.publish(leader)
    harness.run(leader)

    assert not harness.states()
    assert harness.ledger().avail == {SLOT: 8}


def test_reports_divergence_once_for_each_change() -> None:
    harness = by_device()
    leader = harness.lead()
    key = bound(harness, leader, "a", 6, FIRST)

    for value in ("200", "200", "1", None, "0"):
        harness.cluster.annotate("a", DEVICE, value)
        harness.publish(leader)
        harness.run(leader, 1)
        harness.node(9)
        harness.publish(leader)
        harness.run(leader, 1)

    found = [str(event) for event in harness.events if event.type is ReservationEventType.DIVERGED]
    assert found == [
        f"diverged on node-a: ml/a: {FIRST} 6: the pod now claims {SLOT}#200 6",
        f"diverged on node-a: ml/a: {FIRST} 6: the pod now claims {SECOND} 6",
        f"diverged on node-a: ml/a: {FIRST} 6: the pod now claims nothing",
    ]
    assert {event.uid for event in harness.events if event.type is ReservationEventType.DIVERGED} == {key.uid}


@pytest.mark.parametrize("index", ["200", "1"])
def test_charges_fullest_device_when_first_seen_pod_names_one_without_room(index: str) -> None:
    harness = by_device()
    leader = harness.lead()
    bound(harness, leader, "a", 3, FIRST)
    bound(harness, leader, "b", 6, SECOND)
    key = harness.cluster.create_pod("forged", 4)
    harness.cluster.annotate("forged", DEVICE, index)
    harness.cluster.place("forged", NODE)

    harness.publish(leader)
    harness.run(leader, 1)

    assert shares_of(harness, key) == {SECOND: 4}
    assert harness.ledger().avail == {FIRST: 5}
    assert (ReservationEventType.DIVERGED in harness.happened()) is (index == "200")


def test_confirms_the_device_of_the_binding_when_two_attempts_reserved_two() -> None:
    harness = by_device()
    leader = harness.lead()
    harness.run(leader, 1)
    key = reserved(harness, "a", 6, {FIRST: 6, SECOND: 6})
    harness.cluster.place("a", NODE)
    harness.cluster.annotate("a", DEVICE, "1")

    harness.publish(leader)
    harness.run(leader, 1)

    assert shares_of(harness, key) == {SECOND: 6}
    assert harness.ledger().avail == {FIRST: 8, SECOND: 2}


@pytest.mark.parametrize(
    ("size", "held"),
    [
        pytest.param(16, 8, id="a larger device"),
        pytest.param(4, 2, id="a smaller device"),
        pytest.param(0, 4, id="no device"),
    ],
)
def test_percentage_follows_size_of_its_own_device_only(size: int, held: int) -> None:
    harness = _with_ledger(ReconcilerHarness(counting=BY_DEVICE), 8)
    harness.cluster.by_percent = True
    leader = harness.lead()
    harness.run(leader, 1)
    key = reserved(harness, "a", 50, {SECOND: 4})
    harness.cluster.place("a", NODE)
    harness.cluster.annotate("a", DEVICE, "0")
    harness.publish(leader)
    harness.run(leader, 1)
    assert shares_of(harness, key) == {SECOND: 4}

    harness.node(size)
    harness.publish(leader)
    harness.run(leader, 1)

    assert shares_of(harness, key) == {SECOND: held}
    assert ReservationEventType.DIVERGED in harness.happened()


# ------------------------------------------------------------------------------------------------------- oversized pods
def test_charges_pod_that_others_bound_at_most_what_the_node_has() -> None:
    harness = by_annotation()
    leader = harness.lead()
    berths = bound(harness, leader, "a", 6)
    key = forged(harness, leader, 10**15)

    assert shares_of(harness, key) == {SLOT: 8}
    assert harness.ledger().owed == {SLOT: 6}

    harness.cluster.delete("a")
    harness.cluster.delete("forged")
    harness.publish(leader)
    harness.run(leader, 1)
    assert shares_of(harness, berths) is None
    assert harness.ledger().avail == {SLOT: 8}


def test_charges_oversized_pod_one_device_only() -> None:
    harness = by_device()
    leader = harness.lead()
    bound(harness, leader, "a", 3, FIRST)
    key = forged(harness, leader, 10**15)

    assert shares_of(harness, key) == {SECOND: 8}
    assert harness.ledger().avail == {FIRST: 5}
    assert harness.ledger().owed == {}


def test_charges_pod_that_others_bound_at_most_the_pod_limit() -> None:
    harness = _with_ledger(ReconcilerHarness(counting=LIMITED), 8)
    leader = harness.lead()
    key = forged(harness, leader, 7)

    assert shares_of(harness, key) == {SLOT: 4}
    assert harness.ledger().avail == {SLOT: 4}


@pytest.mark.parametrize("new_leader", [False, True])
def test_charges_more_of_oversized_pod_when_node_grows(new_leader: bool) -> None:
    harness = by_annotation(2)
    leader = harness.lead()
    bound(harness, leader, "a", 1)
    key = forged(harness, leader, 6)
    assert shares_of(harness, key) == {SLOT: 2}

    harness.node(4)
    harness.publish(leader)
    if new_leader:
        leader = harness.lead()
    harness.run(leader, 1)
    assert shares_of(harness, key) == {SLOT: 4}
    harness.node(9)
    harness.publish(leader)
    harness.run(leader, 1)
    assert shares_of(harness, key) == {SLOT: 6}
    assert harness.ledger().avail == {SLOT: 2}


def test_charges_oversized_pod_when_node_has_the_resource_again() -> None:
    harness = by_annotation()
    leader = harness.lead()
    harness.node(0)
    harness.publish(leader)
    harness.run(leader, 1)
    key = forged(harness, leader, 6)

    harness.node(8)
    harness.publish(leader)
    harness.run(leader, 1)

    assert shares_of(harness, key) == {SLOT: 6}


def test_keeps_whole_amount_of_reserved_pod_when_node_shrinks() -> None:
    harness = by_annotation()
    leader = harness.lead()
    key = bound(harness, leader, "a", 6)

    harness.node(2)
    harness.publish(leader)
    harness.run(leader, 1)
    harness.run(harness.lead(), 1)

    assert shares_of(harness, key) == {SLOT: 6}
    assert harness.ledger().owed == {SLOT: 4}
    assert ReservationEventType.BEYOND_LIMIT not in harness.happened()


def test_reports_oversized_pod_once_in_each_leadership() -> None:
    harness = by_annotation()
    leader = harness.lead()
    key = forged(harness, leader, 10**15)
    for units in (8, 8, 9):
        harness.node(units)
        harness.publish(leader)
        harness.run(leader, 1)
    harness.run(harness.lead(), 1)

    found = [event for event in harness.events if event.type is ReservationEventType.BEYOND_LIMIT]
    text = "beyond-limit on node-a: ml/forged: {0} {1}: the pod requests more than a pod is charged: {0} {1}"
    assert [str(event) for event in found] == [text.format(SLOT, units) for units in (8, 9, 9)]
    assert {event.uid for event in found} == {key.uid}
    assert ReservationEventType.DIVERGED not in harness.happened()


def forged(harness: ReconcilerHarness, leader: Reconciler, units: int) -> PodKey:
    """A pod whose creator set spec.nodeName."""
    key = harness.cluster.create_pod("forged", units)
    harness.cluster.place("forged", NODE)
    harness.publish(leader)
    harness.run(leader, 1)
    return key


# ------------------------------------------------------------------------------------------------------------- absence
def test_keeps_bound_entry_of_running_pod_that_new_leader_does_not_find(harness: ReconcilerHarness) -> None:
    leader = harness.lead()
    key = bound(harness, leader, "a", 6)
    harness.cluster.hide("a")

    harness.run(harness.lead(), EXPIRY)

    assert shares_of(harness, key) == {SLOT: 6}


def test_reads_pod_without_publication_once_in_each_leadership(harness: ReconcilerHarness) -> None:
    pods = _Counted(harness.cluster)
    bound(harness, harness.lead(), "a", 3)
    bound(harness, harness.lead(), "b", 3)
    harness.cluster.hide("a")
    leader = harness.lead(pods)

    for units in (8, 9, 10):
        harness.node(units)
        harness.publish(leader)
        harness.run(leader, EXPIRY)

    assert pods.found == ["a"]


@pytest.mark.parametrize("end", ["finish", "delete", "again"])
@pytest.mark.parametrize("before_sweep", [True, False])
def test_releases_entry_without_publication_when_api_server_shows_end(
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


def test_keeps_entry_and_asks_again_while_api_server_does_not_answer(harness: ReconcilerHarness) -> None:
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


def test_rebuild_keeps_bound_entries_that_are_not_lost() -> None:
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
        harness.publish(leader)
    harness.run(leader, 3)

    assert harness.ledger().avail == {SLOT: 2}
    assert set(harness.ledger().entries) == {forged.uid, hidden.uid}


class _Counted(ReservedPods):
    """found: the pods that were read."""

    def __init__(self, pods: ReservedPods) -> None:
        self._pods = pods
        self.found: list[str] = []
        self.answers = True

    def find(self, pod: PodKey) -> PodFound | PodNotFound | PodUnknown:
        self.found.append(pod.name)
        return self._pods.find(pod) if self.answers else PodUnknown("no route to host")

    def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | PodUnknown:
        return self._pods.touch(pod, resource_version)
