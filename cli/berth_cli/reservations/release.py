"""Asking the watcher to look after what is held for one pod, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from berth.reservations.entry import EntryState, OpenReservation
from berth.reservations.table import LedgerTable
from berth_cli.reservations.report import amounts


@dataclass(frozen=True, slots=True)
class NothingHeld:
    """There was nothing."""


@dataclass(frozen=True, slots=True)
class Released:
    """It is gone; `told`: what it was."""

    told: str


@dataclass(frozen=True, slots=True)
class NotReleased:
    """The watcher has looked, and it stays."""

    why: str


@dataclass(frozen=True, slots=True)
class Held:
    """The watcher has not looked yet."""

    why: str = "the watcher has not answered; does it run, with WatcherMode continuous?"


Result: TypeAlias = NothingHeld | Released | NotReleased | Held


def request(ledger: LedgerTable, namespace: str, name: str) -> Sequence[OpenReservation]:
    """Mark all that is held for pods of this name; returns what was marked."""
    found = {
        (each.pod.uid, each.node, each.attempt): each
        for each in ledger.open_reservations()
        if (each.pod.namespace, each.pod.name) == (namespace, name)
    }
    for node in ledger.nodes():
        for entry in node.entries.values():
            if (entry.pod.namespace, entry.pod.name) == (namespace, name):
                # An entry that is confirmed has no open reservation any more: it gets one, so that it is found.
                each = OpenReservation(entry.pod, node.node, entry.attempt, entry.shares, entry.since)
                found.setdefault((entry.pod.uid, node.node, entry.attempt), each)
    for each in found.values():
        ledger.request_release(each)
    return list(found.values())


def result(ledger: LedgerTable, asked: Sequence[OpenReservation]) -> Result:
    """What has become of them by now."""
    if not asked:
        return NothingHeld()
    waiting = {(each.pod.uid, each.node, each.attempt) for each in ledger.open_reservations()}
    held = []
    for each in asked:
        node = ledger.node(each.node)
        entry = None if node is None else node.entries.get(each.pod.uid)
        if entry is not None and entry.attempt == each.attempt:
            held.append((each, entry))
    # The watcher closes a request last: one that is open and whose entry is there has not been looked after.
    if any((each.pod.uid, each.node, each.attempt) in waiting for each in asked):
        return Held()
    if not held:
        return Released("; ".join(sorted({f"{amounts(each.shares)} on {each.node}" for each in asked})))
    each, entry = held[0]
    if entry.state is EntryState.BOUND:
        return NotReleased(f"the pod is on {each.node}: what it holds is free when it has ended")
    return NotReleased(f"another bind of the pod to {each.node} is under way")
