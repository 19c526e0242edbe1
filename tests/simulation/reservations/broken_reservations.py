"""The watcher's work on the ledger with one rule left out. Each variant allocates twice or never releases."""

from __future__ import annotations

from dataclasses import replace
from functools import partialmethod

import pytest

from berth.ledger.nodes.entry import EntryState
from berth.pods import FoundPod
from berth.upkeep.reconciler import published_pods
from berth.upkeep.reconciler.expiry import Expiry, ExpiryOutcome, OnNode
from berth.upkeep.reconciler.node_reconciliation import NodeReconciliation
from berth.upkeep.reconciler.published_pods import PublishedPods
from berth.upkeep.reconciler.rebuild import Rebuild
from berth.upkeep.reconciler.reconciler import Reconciler
from tests.simulation.broken import functions_of

# The patches are methods with the types of the methods that they replace.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"


def expiry_without_touch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expires the reservation of a pod that was seen unbound, though an earlier Binding may still arrive."""

    def looked_at(self, pod):
        match self._pods.find(pod):
            case FoundPod(uid=uid, node=node) if uid == pod.uid and node:
                return node
            case _:
                return None

    monkeypatch.setattr(Expiry, "invalidate_bindings", looked_at)


def expiry_by_age_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Expires reservations by their age, as a TTL would."""
    monkeypatch.setattr(Expiry, "invalidate_bindings", lambda self, pod: None)


def expiry_of_what_is_there_after_the_touch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads the entry after the touch, when it may belong to an attempt that has read the pod since then."""
    release = Expiry._release

    def latest(self, reservation, entries):
        ledgers = {owner: self._table.node(owner) for owner in entries}
        found = {owner: ledger.entries.get(reservation.pod.uid) for owner, ledger in ledgers.items() if ledger}
        return release(self, reservation, {owner: found.get(owner) or entry for owner, entry in entries.items()})

    monkeypatch.setattr(Expiry, "_release", latest)


def confirmed_without_a_look_at_what_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treats every reservation as bound, and then as ended, because no pod is published on the node."""
    entries = PublishedPods.entries

    def believed(self, node, ledger, now):
        reserved = {} if ledger is None else ledger.entries
        trusted = {
            uid: replace(entry, state=EntryState.BOUND)
            for uid, entry in reserved.items()
            if entry.state is EntryState.RESERVED
        }
        return trusted | dict(entries(self, node, ledger, now))

    monkeypatch.setattr(PublishedPods, "entries", believed)


def reserved_counts_as_over_when_no_pod_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treats a reservation whose bind is still under way as if its pod had ended."""
    monkeypatch.setattr(NodeReconciliation, "_is_over", lambda self, node, entry: True)


def watchers_of_one_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Does not register the epochs of watchers, so that the writes of a deposed watcher are not refused."""
    made = Reconciler.__init__

    def first(self, table, pods, counting, epoch, *rest, **named):
        made(self, table, pods, counting, 1, *rest, **named)
        self._rebuild.is_registered = True

    monkeypatch.setattr(Reconciler, "__init__", first)


def later_epoch_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every leader whose epoch is below the ledger's epoch resigns, so nothing is reconciled."""
    monkeypatch.setattr(Rebuild, "record_epoch", lambda self, later: None)


def ledgers_are_not_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a deposed leader write to a ledger in which its successor found nothing to do."""
    monkeypatch.setattr(NodeReconciliation, "_claim", lambda self, node: self._table.node(node))


def closed_before_it_is_confirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deletes the open reservation when the pod is published, even if the entry is still RESERVED."""
    monkeypatch.setattr(Expiry, "close", partialmethod(Expiry.delete_open, outcome=ExpiryOutcome.CONFIRMED))


def rebuilt_without_touching_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets a Binding that was sent before the rebuild arrive after it."""

    def looked_at(self, pod):
        match self._expiry._pods.find(pod):
            case FoundPod(uid=uid, node=node) if uid == pod.uid and node:
                if node in self._waiting:
                    self._waiting[node].observed_after = self._wall()
                return OnNode(node)
        return None

    monkeypatch.setattr(Rebuild, "_invalidated", looked_at)


def rebuilt_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rebuilds from the pods that are published now, without the pods that were bound a moment ago."""
    monkeypatch.setattr(Rebuild, "_invalidated", lambda self, pod: None)
    read = Rebuild._read_open_reservations

    def now(self):
        self._bind_seconds = 0.0
        read(self)
        for rebuild in self._waiting.values():
            rebuild.observed_after = 0.0

    monkeypatch.setattr(Rebuild, "_read_open_reservations", now)


def the_annotation_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Assumes that a pod holds the amounts that its annotations name now."""
    monkeypatch.setattr(
        published_pods,
        "held",
        lambda counting, pod, entry, before, capacity: counting.shares(pod, capacity) if pod else {},
    )


def absence_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treats a bound pod as ended if it is not published on its node."""
    monkeypatch.setattr(NodeReconciliation, "_has_ended_at_api_server", lambda self, node, entry: True)


BROKEN = functions_of(globals(), "monkeypatch")
