"""Formats the reservations of a ledger as table rows and as a JSON document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger, OpenReservation
from berth.scheduling.managed_resources.pools import Shares, by_owner, is_floating, resource_of
from berth.scheduling.objects.pod import PodKey
from berth.upkeep.reconciler.reconciler import EXPIRY_SECONDS
from berth_cli.ledger.claims import Claims, NotRead
from berth_cli.terminal.output import shown_age

HEADER = ("NODE/POOL", "POD", "STATE", "HOLDS", "CLAIMS", "SINCE", "WHY")
POOL_HEADER = ("POOL", "CAPACITY", "HELD", "OWED")


def document(
    ledgers: Sequence[NodeLedger],
    open_reservations: Sequence[OpenReservation],
    now: float,
    claims: Claims | NotRead,
) -> dict[str, object]:
    """Return all reservations by node or floating pool, the nodes, and the pools. `now`: seconds since the epoch.

    The state is `announced` if only the start of the bind is recorded. `claims`: adds each pod's claim that differs
    from its entry. If the pods are not compared, `claims` and `diverged` are null, and it is unknown whether the
    resources are still counted.
    """
    found = [_entry(ledger, entry, now, claims) for ledger in ledgers for entry in ledger.entries.values()]
    held = {(each["node"] or each["pool"], each["uid"]) for each in found}
    latest = {
        (owner, each.pod.uid): (each, shares)
        for each in sorted(open_reservations, key=lambda each: each.since)
        for owner, shares in by_owner(each.shares, each.node).items()
    }
    found += [
        _reservation(key[0], each.pod, "announced", shares, each.since, _unconfirmed(now - each.since), claims)
        for key, (each, shares) in latest.items()
        if key not in held
    ]
    return {
        "reservations": sorted(found, key=lambda each: (each["pool"] or "", each["node"], each["pod"])),
        "nodes": [
            {
                "node": ledger.owner,
                "capacity": dict(ledger.capacity),
                "available": None if ledger.avail is None else dict(ledger.avail),
                "owed": {pool: amount for pool, amount in ledger.owed.items() if _is_counted(pool, claims)},
            }
            for ledger in ledgers
            if not is_floating(ledger.owner)
        ],
        "pools": [
            {
                "pool": pool,
                "capacity": ledger.capacity.get(pool, 0),
                "held": ledger.allocated(pool),
                "owed": ledger.owed.get(pool, 0),
            }
            for ledger in ledgers
            if is_floating(pool := ledger.owner) and _is_counted(pool, claims)
        ],
    }


def cells(reservation: Mapping[str, Any], now: float) -> tuple[str, ...]:
    """Format a reservation of a document as a row under HEADER."""
    claims, since = reservation["claims"], datetime.fromisoformat(reservation["since"]).timestamp()
    return (
        reservation["node"] or reservation["pool"],
        *(reservation[field] for field in ("pod", "state")),
        amounts(reservation["holds"]),
        "-" if claims is None else amounts(claims) or "nothing",
        shown_age(now - since),
        reservation["why"],
    )


def warnings(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield warnings about nodes under rebuild, and nodes and pools whose reservations exceed their capacity."""
    for each in content["nodes"]:
        if each["available"] is None:
            yield f"{each['node']}: being rebuilt; no reservations until the end"
        for pool, amount in sorted(each["owed"].items()):
            yield f"{each['node']}: reservations exceed the capacity by {amount} {pool}; no new reservations"
    for each in content.get("pools", ()):
        if each["owed"]:
            yield f"{each['pool']}: reservations exceed the capacity by {each['owed']}; no new reservations"


def amounts(holds: Mapping[str, int]) -> str:
    """Return the amounts as text, for example `3 example.com/slot`."""
    return ", ".join(f"{amount} {pool}" for pool, amount in sorted(holds.items()))


def _entry(ledger: NodeLedger, entry: Entry, now: float, claims: Claims | NotRead) -> dict[str, Any]:
    if entry.state is EntryState.BOUND:
        # An entry without an attempt belongs to a pod that another scheduler bound, or that was bound before a rebuild.
        where = "a node" if is_floating(ledger.owner) else "this node"
        why = f"the pod is on {where}" if entry.attempt else f"the pod is on {where}, found there by the watcher"
    else:
        why = _unconfirmed(now - entry.since)
    return _reservation(ledger.owner, entry.pod, entry.state, entry.shares, entry.since, why, claims)


def _reservation(
    owner: str, pod: PodKey, state: str, holds: Shares, since: float, why: str, claims: Claims | NotRead
) -> dict[str, Any]:
    claim = None if isinstance(claims, NotRead) else claims.diverging.get((owner, pod.uid))
    left = sorted({resource_of(pool) for pool in holds if not _is_counted(pool, claims)})
    why = "; ".join((why, *(f"{resource} is not counted any more" for resource in left)))
    return {
        "node": None if is_floating(owner) else owner,
        "pool": owner if is_floating(owner) else None,
        "pod": f"{pod.namespace}/{pod.name}",
        "uid": pod.uid,
        "state": state,
        "holds": dict(holds),
        "diverged": None if isinstance(claims, NotRead) else claim is not None,
        "claims": None if claim is None else dict(claim),
        "since": datetime.fromtimestamp(since, UTC).isoformat(timespec="seconds"),
        "why": why if claim is None else f"{why}; DIVERGED: what it holds counts",
    }


def _is_counted(pool: str, claims: Claims | NotRead) -> bool:
    """Return whether the pool's resource is counted, or true if unknown: entries of other resources may remain."""
    return isinstance(claims, NotRead) or resource_of(pool) in claims.resources


def _unconfirmed(age: float) -> str:
    # The bind may still be running: it may take as long as the stack's httpTimeout.
    left = min(EXPIRY_SECONDS, EXPIRY_SECONDS - age)
    if left < 1:
        return "bind did not complete; the watcher reviews it now"
    return f"bind has not confirmed it; the watcher reviews it in {left:.0f} s"
