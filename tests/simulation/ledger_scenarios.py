"""Interleavings that chance seldom meets, played on purpose: right with every rule, and wrong without one."""

from __future__ import annotations

from dataclasses import replace

from berth.extender.ports import Binding, Created
from berth.reservations.ledger.entry import EntryState, OpenReservation, PodKey
from berth.reservations.ledger.ledger import Ledger
from berth.reservations.ledger.table import Marker, MarkerState
from berth.reservations.reconciler.reserved_pods import Changed, Found, NotFound, ReservedPods, Touched, Unknown
from tests.fakes.counted_cluster import NAMESPACE
from tests.unit.reservations.reconciling import HTTP_TIMEOUT, NODE, Watching

EXPIRY = 30.0


def late_binding_after_the_expiry() -> None:
    """A bind reserves and sends its Binding, which is on its way for a minute."""
    watching = _watching()
    leader = watching.lead()
    watching.run(leader, 1)
    binding = _reserved(watching)

    watching.run(leader, EXPIRY + 5)
    _arrives(watching, binding)


def late_binding_after_a_confirmation_of_nothing() -> None:
    """The watcher visits the node for another pod while the bind is under way."""
    watching = _watching()
    leader = watching.lead()
    watching.run(leader, 1)
    binding = _reserved(watching)
    for name in ("other", "another"):
        watching.cluster.create_pod(name)
        watching.cluster.place(name, NODE)
        watching.publish(leader)
        watching.run(leader, 1)

    _arrives(watching, binding)


def another_attempt_between_touch_and_release() -> None:
    """It reads the pod after it was touched, takes the entry over, and its Binding is good."""
    watching = _watching()
    bindings: list[Binding] = []

    class TakenOver(ReservedPods):
        def find(self, pod: PodKey) -> Found | NotFound | Unknown:
            return watching.cluster.find(pod)

        def touch(self, pod: PodKey, resource_version: str) -> Touched | Changed | NotFound | Unknown:
            touched = watching.cluster.touch(pod, resource_version)
            if not bindings:
                now, seen = watching.clock.now, watching.ledger().entries[pod.uid]
                watching.table.put_open(OpenReservation(pod, NODE, "later", seen.shares, now))
                assert Ledger(watching.table).take_over(NODE, seen, replace(seen, attempt="later", since=now)).done
                bindings.append(_binding(watching, pod))
            return touched

    leader = watching.lead(pods=TakenOver())
    _reserved(watching)
    watching.run(leader, EXPIRY + 5)
    [binding] = bindings
    _arrives(watching, binding)


def deposed_watcher_adopts_who_is_gone() -> None:
    """It has a pod on its list that somebody else had brought, and stands still until that pod is gone."""
    watching = _watching()
    deposed = watching.lead()
    watching.run(deposed, 1)
    watching.cluster.create_pod("a")
    watching.cluster.place("a", NODE)
    watching.publish(deposed)
    watching.cluster.delete("a")
    watching.publish()
    successor = watching.lead()
    watching.run(successor, 3)
    watching.run(deposed, 3)
    watching.run(successor, EXPIRY)
    assert not watching.states(), "what nobody has is held"


def end_before_the_visit() -> None:
    """The pod is published on its node, and gone before the watcher has come to the node."""
    watching = _watching()
    leader = watching.lead()
    watching.run(leader, 1)
    binding = _reserved(watching)
    _arrives(watching, binding)
    watching.publish(leader)
    leader._concerned.clear()  # it was held up
    watching.clock.advance(3)
    leader.work()  # it looks at what is open
    watching.cluster.delete("a")
    watching.publish(leader)
    watching.run(leader, EXPIRY + 10)
    assert not watching.states(), "what nobody has is held"
    assert watching.table.open_reservations() == []


def late_binding_after_a_rebuild() -> None:
    """It was sent before the ledgers were blanked, and arrives when they are there again."""
    watching = _watching()
    leader = watching.lead()
    watching.run(leader, 1)
    binding = _reserved(watching)
    watching.table.put_marker(Marker(MarkerState.REBUILDING, 0, 0, "asked"), watching.table.marker())
    for _ in range(5):
        watching.run(leader, HTTP_TIMEOUT)
        watching.publish(leader)
    watching.run(leader, 3)
    assert watching.ledger().avail is not None
    _arrives(watching, binding)


def _watching() -> Watching:
    watching = Watching()
    watching.node(8)
    watching.publish()
    watching.run(watching.lead(), 1)
    return watching


def _reserved(watching: Watching) -> Binding:
    key = watching.cluster.create_pod("a", 2)
    binding = _binding(watching, key)
    watching.reserve(key, 2)
    return binding


def _binding(watching: Watching, pod: PodKey) -> Binding:
    return Binding(NAMESPACE, pod.name, pod.uid, NODE, str(watching.cluster.pods[pod.name].version))


def _arrives(watching: Watching, binding: Binding) -> None:
    """What is bound must be written down; what is not may have been given back."""
    if isinstance(watching.cluster.create_binding(binding, 1.0), Created):
        entry = watching.ledger().entries.get(binding.pod_uid)
        assert entry is not None, "the pod is on the node, and what it holds can be had by another"
        assert entry.state in EntryState


SCENARIOS = (
    late_binding_after_the_expiry,
    late_binding_after_a_confirmation_of_nothing,
    another_attempt_between_touch_and_release,
    deposed_watcher_adopts_who_is_gone,
    end_before_the_visit,
    late_binding_after_a_rebuild,
)
