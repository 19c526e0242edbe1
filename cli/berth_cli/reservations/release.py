"""Request the release of a pod's reservations from the watcher, and read the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from berth.reservations.ledger.entry import EntryState, OpenReservation
from berth.reservations.ledger.table import LedgerTable
from berth_cli.reservations.report import amounts


@dataclass(frozen=True, slots=True)
class NoReservation:
    """The pod has no reservation."""


@dataclass(frozen=True, slots=True)
class Released:
    """The reservations are released. `summary`: amounts and nodes."""

    summary: str


@dataclass(frozen=True, slots=True)
class StillReserved:
    """The watcher reviewed the reservation and keeps it."""

    reason: str


@dataclass(frozen=True, slots=True)
class AwaitingWatcher:
    """The watcher has not reviewed the reservation yet."""

    reason: str = "the watcher has not answered; is it running with WatcherMode continuous?"


Result: TypeAlias = NoReservation | Released | StillReserved | AwaitingWatcher


def request_release(ledger: LedgerTable, namespace: str, name: str) -> Sequence[OpenReservation]:
    """Mark all reservations of pods with this name for review; return them."""
    found = {
        (each.pod.uid, each.node, each.attempt): each
        for each in ledger.open_reservations()
        if (each.pod.namespace, each.pod.name) == (namespace, name)
    }
    for node in ledger.nodes():
        for entry in node.entries.values():
            if (entry.pod.namespace, entry.pod.name) == (namespace, name):
                # A confirmed entry has no open reservation; create one so that the watcher finds the request.
                each = OpenReservation(entry.pod, node.node, entry.attempt, entry.shares, entry.since)
                found.setdefault((entry.pod.uid, node.node, entry.attempt), each)
    for each in found.values():
        ledger.request_release(each)
    return list(found.values())


def release_result(ledger: LedgerTable, requested: Sequence[OpenReservation]) -> Result:
    """The current state of the requested releases."""
    if not requested:
        return NoReservation()
    waiting = {(each.pod.uid, each.node, each.attempt) for each in ledger.open_reservations()}
    held = []
    for each in requested:
        node = ledger.node(each.node)
        entry = None if node is None else node.entries.get(each.pod.uid)
        if entry is not None and entry.attempt == each.attempt:
            held.append((each, entry))
    # The watcher closes a request last, so an open request has not been reviewed yet.
    if any((each.pod.uid, each.node, each.attempt) in waiting for each in requested):
        return AwaitingWatcher()
    if not held:
        return Released("; ".join(sorted({f"{amounts(each.shares)} on {each.node}" for each in requested})))
    each, entry = held[0]
    if entry.state is EntryState.BOUND:
        return StillReserved(f"the pod is on {each.node}: its reservation ends with the pod")
    return StillReserved(f"another bind of the pod to {each.node} is in progress")


def result_document(
    pod: str, requested: Sequence[OpenReservation], result: Released | StillReserved | AwaitingWatcher
) -> dict[str, object]:
    """The result as a JSON object; `reservations` has the fields of `berth reservations list`."""
    content: dict[str, object] = {
        "pod": pod,
        "result": _NAMES[type(result)],
        "reservations": [
            {"node": each.node, "pod": pod, "uid": each.pod.uid, "holds": dict(each.shares)} for each in requested
        ],
    }
    return content if isinstance(result, Released) else content | {"why": result.reason}


_NAMES = {Released: "released", StillReserved: "still-reserved", AwaitingWatcher: "awaiting-watcher"}
