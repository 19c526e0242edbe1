"""Rules that protect a pod's shares from its own owner, each left out: another pod gets shares of a running pod."""

from __future__ import annotations

from dataclasses import replace

import pytest

from berth.bind.protocol import PreparedBind
from berth.bind.share import Reservations
from berth.extender.outcomes import BindOutcome
from berth.ledger.nodes.entry import EntryState
from berth.scheduling.managed_resources.demand import DemandReader
from berth.scheduling.managed_resources.pools import index_in, pool_of
from berth.upkeep.reconciler import claims, published_pods
from tests.fakes.counted_cluster import DEVICE, SLOT
from tests.simulation.broken import functions_of

from .broken_reservations import absence_releases  # noqa: F401  also one of these

# The patches are methods with the types of the methods that they replace.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"


def the_annotation_says_which_device_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two reserved devices, releases the device that the annotation does not name when the watcher sees the pod."""
    held = claims.held

    def narrowed(counting, pod, entry, before, capacity):
        named = None if pod is None else index_in(pod.annotations.get(DEVICE))
        kept = {pool: amount for pool, amount in entry.shares.items() if pool == pool_of(SLOT, named or 0)}
        if entry.state is EntryState.RESERVED and named is not None and kept and len(entry.shares) > 1:
            entry = replace(entry, shares=kept)
        return held(counting, pod, entry, before, capacity)

    monkeypatch.setattr(published_pods, "held", narrowed)
    monkeypatch.setattr(Reservations, "release_surplus", lambda self, reservation, remaining: None)


def surplus_is_released_without_a_confirmed_binding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases a surplus device although another attempt's Binding may bind the pod with this device."""
    create_binding = PreparedBind._create_binding

    def hasty(self, pod, reservation):
        result = create_binding(self, pod, reservation)
        if reservation is not None and result.outcome in (BindOutcome.UNANSWERED, BindOutcome.CONTENDED):
            self._counted.reservations.release_surplus(reservation, self._deadline.remaining)
        return result

    monkeypatch.setattr(PreparedBind, "_create_binding", hasty)


def the_annotation_moves_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Assumes that a pod uses the devices that its annotations name now."""
    monkeypatch.setattr(
        published_pods,
        "held",
        lambda counting, pod, entry, before, capacity: (pod and counting.shares(pod, capacity)) or entry.shares,
    )


def one_unreadable_request_hides_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does not count a pod on a node if one of its requests cannot be read."""
    read = DemandReader.read

    def hiding(self, pod):
        found = read(self, pod)
        return replace(found, readable=()) if found.unreadable else found

    monkeypatch.setattr(DemandReader, "read", hiding)


BROKEN = functions_of(globals(), "monkeypatch")
