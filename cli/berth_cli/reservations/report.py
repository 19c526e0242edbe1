"""The reservations of a ledger as table lines and as a JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, TypeAlias

from berth.reservations.ledger.entry import Entry, EntryState, NodeLedger, OpenReservation, Shares
from berth.reservations.reconciler.reconciler import Intervals
from berth_cli.output import shown_age

Claims: TypeAlias = Mapping[tuple[str, str], Shares]
"""By node and UID, what a pod claims that differs from its entry; empty shares: it claims nothing."""

NO_CLAIMS: Claims = MappingProxyType({})

EXPIRY_SECONDS = Intervals().expiry

_HEADER = ("NODE", "POD", "STATE", "HOLDS", "CLAIMS", "SINCE", "WHY")


@dataclass(frozen=True, slots=True)
class NotCompared:
    """The pods could not be read."""

    cause: str


@dataclass(frozen=True, slots=True)
class Row:
    """One pod on one node. `state`: `announced` if only the start of the bind is recorded.

    claims: what the pod itself says, if that differs from what it holds.
    """

    node: str
    pod: str
    uid: str
    state: str
    holds: Mapping[str, int]
    since: float
    reason: str
    claims: Mapping[str, int] | None = None


def rows(
    ledgers: Sequence[NodeLedger],
    open_reservations: Sequence[OpenReservation],
    now: float,
    claims: Claims = NO_CLAIMS,
) -> list[Row]:
    """All reservations, sorted by node and pod. `now`: seconds since the epoch. claims: by node and UID."""
    found = [_row(ledger, entry, now, claims) for ledger in ledgers for entry in ledger.entries.values()]
    held = {(row.node, row.uid) for row in found}
    latest = {(each.node, each.pod.uid): each for each in sorted(open_reservations, key=lambda each: each.since)}
    found += [_open_row(each, now) for key, each in latest.items() if key not in held]
    return sorted(found, key=lambda row: (row.node, row.pod))


def rows_of(content: Mapping[str, Any]) -> list[Row]:
    """The rows of a document."""
    return [
        Row(
            each["node"],
            each["pod"],
            each["uid"],
            each["state"],
            each["holds"],
            datetime.fromisoformat(each["since"]).timestamp(),
            each["why"],
            each["claims"],
        )
        for each in content["reservations"]
    ]


def node_warnings(content: Mapping[str, Any]) -> Iterator[str]:
    """The document's nodes under rebuild, and those whose reservations exceed their capacity."""
    for each in content["nodes"]:
        if each["available"] is None:
            yield f"{each['node']}: being rebuilt; no reservations until the end"
        for pool, amount in sorted(each["owed"].items()):
            yield f"{each['node']}: reservations exceed the capacity by {amount} {pool}; no new reservations"


def table_lines(found: Sequence[Row], now: float) -> Iterator[str]:
    """The rows as aligned table lines, with a header."""
    cells = [
        _HEADER,
        *(
            (r.node, r.pod, r.state, amounts(r.holds), _format_claims(r.claims), shown_age(now - r.since), r.reason)
            for r in found
        ),
    ]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEADER) - 1)]
    for row in cells:
        yield "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]])


def document(found: Sequence[Row], ledgers: Sequence[NodeLedger], *, compared: bool) -> dict[str, object]:
    """The rows and nodes as a JSON document. compared: whether the pods' claims are known; otherwise they are null."""
    return {
        "reservations": [
            {
                "node": row.node,
                "pod": row.pod,
                "uid": row.uid,
                "state": row.state,
                "holds": dict(row.holds),
                "diverged": row.claims is not None if compared else None,
                "claims": None if row.claims is None else dict(row.claims),
                "since": datetime.fromtimestamp(row.since, UTC).isoformat(timespec="seconds"),
                "why": row.reason,
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
    """The amounts as text, for example `3 example.com/slot`."""
    return ", ".join(f"{amount} {pool}" for pool, amount in sorted(holds.items()))


def _format_claims(claims: Mapping[str, int] | None) -> str:
    """A dash where the pod claims what it holds."""
    return "-" if claims is None else amounts(claims) or "nothing"


def _row(ledger: NodeLedger, entry: Entry, now: float, claims: Claims) -> Row:
    if entry.state is EntryState.BOUND:
        # An entry without an attempt was found on the node: bound by another scheduler or before a rebuild.
        reason = "the pod is on this node" if entry.attempt else "the pod is on this node, found there by the watcher"
    else:
        reason = _reservation_reason(now - entry.since)
    pod = f"{entry.pod.namespace}/{entry.pod.name}"
    claim = claims.get((ledger.node, entry.pod.uid))
    if claim is not None:
        reason += "; DIVERGED: what it holds counts"
    return Row(ledger.node, pod, entry.pod.uid, entry.state, entry.shares, entry.since, reason, claim)


def _open_row(each: OpenReservation, now: float) -> Row:
    pod = f"{each.pod.namespace}/{each.pod.name}"
    reason = "a review by the watcher is requested" if each.release_requested else _reservation_reason(now - each.since)
    return Row(each.node, pod, each.pod.uid, "announced", each.shares, each.since, reason)


def _reservation_reason(age: float) -> str:
    # Whether the bind goes on is not known here: it may take as long as the stack's httpTimeout.
    left = min(EXPIRY_SECONDS, EXPIRY_SECONDS - age)
    if left < 1:
        return "bind did not complete; the watcher reviews it now"
    return f"bind has not confirmed it; the watcher reviews it in {left:.0f} s"
