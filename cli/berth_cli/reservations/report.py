"""What is held, by whom, and why: as lines for reading and as a document for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from berth.reservations.ledger.entry import Entry, EntryState, NodeLedger, OpenReservation
from berth.reservations.reconciler.reconciler import Pace

EXPIRY_SECONDS = Pace().expiry
UNDER_WAY_SECONDS = 10.0
"""A bind ends within the scheduler's httpTimeout, 5 s by default."""

_HEAD = ("NODE", "POD", "STATE", "HOLDS", "SINCE", "WHY")


@dataclass(frozen=True, slots=True)
class Row:
    """One pod on one node. state: `announced` where a bind has written down no more than that it begins."""

    node: str
    pod: str
    uid: str
    state: str
    holds: Mapping[str, int]
    since: float
    why: str


def rows(ledgers: Sequence[NodeLedger], announced: Sequence[OpenReservation], now: float) -> list[Row]:
    """By node and pod; now: seconds since the epoch."""
    found = [_row(ledger, entry, now) for ledger in ledgers for entry in ledger.entries.values()]
    held = {(row.node, row.uid) for row in found}
    latest = {(each.node, each.pod.uid): each for each in sorted(announced, key=lambda each: each.since)}
    found += [_announced(each, now) for key, each in latest.items() if key not in held]
    return sorted(found, key=lambda row: (row.node, row.pod))


def notes(ledgers: Sequence[NodeLedger]) -> Iterator[str]:
    """What is to be known of whole nodes."""
    for ledger in ledgers:
        if ledger.avail is None:
            yield f"{ledger.node}: being rebuilt; nothing can be reserved here until then"
        for pool, amount in sorted(ledger.owed.items()):
            yield f"{ledger.node}: {amount} of {pool} owed: more is held than the node has; what ends pays it first"


def lines(found: Sequence[Row], now: float) -> Iterator[str]:
    """A table, wide as it has to be."""
    cells = [_HEAD, *((r.node, r.pod, r.state, amounts(r.holds), _ago(now - r.since), r.why) for r in found)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEAD) - 1)]
    for row in cells:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])


def document(found: Sequence[Row], ledgers: Sequence[NodeLedger]) -> dict[str, object]:
    """For programs."""
    return {
        "reservations": [
            {
                "node": row.node,
                "pod": row.pod,
                "uid": row.uid,
                "state": row.state,
                "holds": dict(row.holds),
                "since": datetime.fromtimestamp(row.since, UTC).isoformat(timespec="seconds"),
                "why": row.why,
            }
            for row in found
        ],
        "nodes": [
            {
                "node": ledger.node,
                "capacity": dict(ledger.capacity),
                "available": None if ledger.avail is None else dict(ledger.avail),
                "owed": dict(ledger.owed),
            }
            for ledger in ledgers
        ],
    }


def amounts(holds: Mapping[str, int]) -> str:
    """In words."""
    return ", ".join(f"{amount} {pool}" for pool, amount in sorted(holds.items()))


def _row(ledger: NodeLedger, entry: Entry, now: float) -> Row:
    if entry.state is EntryState.BOUND:
        # Without an attempt it was counted as it was found: bound by somebody else, or before a rebuild.
        why = "the pod is on this node" if entry.attempt else "the pod is on this node, where the watcher found it"
    else:
        why = _why_reserved(now - entry.since)
    pod = f"{entry.pod.namespace}/{entry.pod.name}"
    return Row(ledger.node, pod, entry.pod.uid, entry.state, entry.shares, entry.since, why)


def _announced(each: OpenReservation, now: float) -> Row:
    pod = f"{each.pod.namespace}/{each.pod.name}"
    why = "the watcher was asked to look after it" if each.release_requested else _why_reserved(now - each.since)
    return Row(each.node, pod, each.pod.uid, "announced", each.shares, each.since, why)


def _why_reserved(age: float) -> str:
    if age < UNDER_WAY_SECONDS:
        return f"bind under way for {max(0, age):.0f} s"
    left = EXPIRY_SECONDS - age
    return f"bind did not complete; the watcher looks after it {f'in {left:.0f} s' if left >= 1 else 'now'}"


def _ago(seconds: float) -> str:
    """As kubectl says it."""
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}{unit}"
    return f"{max(0, seconds):.0f}s"
