"""Interleavings that are rare in random histories: they pass with all rules, and fail if a rule is left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from berth.ledger.nodes.entry import EntryState, OpenReservation
from berth.ledger.nodes.ledger import Ledger
from berth.ledger.nodes.table import Marker, MarkerState
from berth.pods import Binding, Created, FoundPod, PodChanged, PodNotFound, PodTouched, ReservedPods, Unanswered
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.reconciler import Reconciler
from tests.contract.ledger.ledgers import reserve
from tests.fakes.counted_cluster import BY_ANNOTATION, COUNTING, NAMESPACE, REQUEST, SLOT
from tests.simulation.broken import functions_of
from tests.unit.upkeep.reconciler.reconciler_harness import HTTP_TIMEOUT, NODE, ReconcilerHarness

EXPIRY = 30.0


def late_binding_after_the_expiry() -> None:
    """A bind reserves and sends its Binding, which arrives after the reservation has expired."""
    harness, leader = _led()
    binding = _reserved(harness)

    harness.run(leader, EXPIRY + 5)
    _arrives(harness, binding)


def late_binding_after_a_confirmation_of_nothing() -> None:
    """The watcher visits the node for another pod while the bind is under way."""
    harness, leader = _led()
    binding = _reserved(harness)
    for name in ("other", "another"):
        harness.cluster.create_pod(name)
        harness.cluster.place(name, NODE)
        harness.publish(leader)
        harness.run(leader, 1)

    _arrives(harness, binding)


def another_attempt_between_touch_and_release() -> None:
    """Another attempt reads the pod after it was touched and takes over the entry, and its Binding succeeds."""
    harness = _watching()
    bindings: list[Binding] = []

    class TakenOver(ReservedPods):
        def find(self, pod: PodKey) -> FoundPod | PodNotFound | Unanswered:
            return harness.cluster.find(pod)

        def list_pods(self, is_wanted: Callable[[Pod], bool]) -> tuple[PodKey, ...] | Unanswered:
            return harness.cluster.list_pods(is_wanted)

        def touch(self, pod: PodKey, resource_version: str) -> PodTouched | PodChanged | PodNotFound | Unanswered:
            touched = harness.cluster.touch(pod, resource_version)
            if not bindings:
                now, seen = harness.clock.now, harness.ledger().entries[pod.uid]
                harness.table.put_open(OpenReservation(pod, NODE, "later", seen.shares, now))
                taken = replace(seen, attempt="later", since=now)
                assert reserve(Ledger(harness.table), NODE, taken, seen=seen).done
                bindings.append(_binding(harness, pod))
            return touched

    leader = harness.lead(pods=TakenOver())
    _reserved(harness)
    harness.run(leader, EXPIRY + 5)
    assert bindings, "nobody has looked at the old reservation"
    _arrives(harness, bindings[0])


def deposed_watcher_adopts_who_is_gone() -> None:
    """The watcher learns of a pod that another component bound, and pauses until the pod is deleted."""
    harness = _watching()
    deposed = harness.lead()
    harness.run(deposed, 1)
    harness.cluster.create_pod("a")
    harness.cluster.place("a", NODE)
    harness.publish(deposed)
    harness.cluster.delete("a")
    harness.publish()
    successor = harness.lead()
    harness.run(successor, 0.5)
    harness.run(deposed, 0.2)  # before it reads in the marker that it was deposed
    harness.run(successor, EXPIRY)
    assert not harness.states(), "amounts without a pod are reserved"


def head_item_is_lost_at_a_high_epoch() -> None:
    """A new head begins at epoch 0. The marker has the form of a release that did not register epochs."""
    harness = _watching()
    before = harness.lead(epoch=40)
    harness.run(before, 1)
    _bound(harness, before)
    harness.cluster.delete("a")
    harness.publish()
    seen = harness.table.marker()
    assert seen is not None
    harness.table.put_marker(replace(seen, epoch=0, nonce="older release"), seen)

    epoch = 0
    for _ in range(3):
        leader = harness.lead(epoch=epoch)
        harness.run(leader, EXPIRY)
        marker = harness.table.marker()
        epoch = 0 if marker is None else marker.epoch + 1
    assert not harness.states(), "amounts without a pod are reserved"


def _is_deleted_before_the_visit(harness: ReconcilerHarness, leader: Reconciler) -> None:
    harness.clock.advance(3)
    leader.work()  # it reviews the open reservations
    harness.cluster.delete("a")
    harness.publish(leader)
    harness.run(leader, EXPIRY + 10)


def end_before_the_visit() -> None:
    """The pod is published on its node, and deleted before the watcher reconciles the node."""
    harness, leader = _led()
    binding = _reserved(harness)
    _arrives(harness, binding)
    harness.publish(leader)
    leader._changed_nodes.clear()  # as if the visit were delayed
    _is_deleted_before_the_visit(harness, leader)
    assert not harness.states(), "amounts without a pod are reserved"
    assert harness.table.open_reservations() == []


def end_of_an_unbound_pod_before_the_visit() -> None:
    """The pod is published as finished without a node, and deleted before the watcher reconciles the node."""
    harness, leader = _led()
    _reserved(harness)
    harness.cluster.finish("a")
    harness.publish(leader)
    _is_deleted_before_the_visit(harness, leader)
    assert not harness.states(), "what nobody has is held"
    assert harness.table.open_reservations() == []


def owner_changes_the_request() -> None:
    for value in (None, "1"):
        harness, leader = _led(BY_ANNOTATION)
        _bound(harness, leader)
        harness.cluster.annotate("a", REQUEST, value)
        harness.publish(leader)
        harness.run(leader, 1)
        harness.run(harness.lead(), EXPIRY)
        assert harness.ledger().allocated(SLOT) == 2, "what a running pod holds can be had by another"


def hand_over_without_the_pod() -> None:
    """The pod is too large for the cache: a new leader does not find it there."""
    harness, leader = _led()
    binding = _bound(harness, leader)
    harness.cluster.hide("a")
    harness.run(harness.lead(), EXPIRY)
    assert binding.pod_uid in harness.ledger().entries, "what a running pod holds can be had by another"


def late_binding_after_a_rebuild() -> None:
    """The Binding was sent before the rebuild began, and arrives after its end."""
    harness, leader = _led()
    binding = _reserved(harness)
    harness.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), harness.table.marker())
    for _ in range(5):
        harness.run(leader, HTTP_TIMEOUT)
        harness.publish(leader)
    harness.run(leader, 3)
    assert harness.ledger().avail is not None
    _arrives(harness, binding)


def _watching(counting: Counting = COUNTING) -> ReconcilerHarness:
    harness = ReconcilerHarness(counting=counting)
    harness.node(8)
    harness.publish()
    harness.run(harness.lead(), 1)
    return harness


def _led(counting: Counting = COUNTING) -> tuple[ReconcilerHarness, Reconciler]:
    """Return a harness as `_watching` does, and a leader that has started."""
    harness = _watching(counting)
    leader = harness.lead()
    harness.run(leader, 1)
    return harness, leader


def _bound(harness: ReconcilerHarness, leader: Reconciler) -> Binding:
    """Bind a pod, and let the leader learn of it."""
    binding = _reserved(harness)
    _arrives(harness, binding)
    harness.publish(leader)
    harness.run(leader, 1)
    return binding


def _reserved(harness: ReconcilerHarness) -> Binding:
    key = harness.cluster.create_pod("a", 2)
    binding = _binding(harness, key)
    harness.reserve(key, 2)
    return binding


def _binding(harness: ReconcilerHarness, pod: PodKey) -> Binding:
    return Binding(NAMESPACE, pod.name, pod.uid, NODE, str(harness.cluster.pods[pod.name].version))


def _arrives(harness: ReconcilerHarness, binding: Binding) -> None:
    """Deliver the Binding, and assert that a bound pod has an entry. An unbound pod may have lost its entry."""
    if isinstance(harness.cluster.create_binding(binding, 1.0), Created):
        entry = harness.ledger().entries.get(binding.pod_uid)
        assert entry is not None, "the pod is on the node, and what it holds can be had by another"
        assert entry.state in EntryState


SCENARIOS = functions_of(globals()).values()
