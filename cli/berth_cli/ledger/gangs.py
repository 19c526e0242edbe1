"""Formats gangs as table rows and as a JSON document: their state in the ledger's table, and filter's plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from berth.ledger.gangs.item import Domain, GangItem, GangState
from berth.ledger.gangs.table import shown
from berth.nodecache.snapshot_view import SnapshotView
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.gangs.overview import GangStage, GangStatus
from berth.upkeep.gangs import EXPIRY_SECONDS
from berth_cli.ledger.claims import ClaimSources, NotRead
from berth_cli.terminal.output import shown_age

DEGRADED = "degraded"
COMMITTED = GangState.COMMITTED.value
IN_BIND = (GangState.OPEN, GangState.PREPARING, GangState.ROLLING_BACK)

HEADER = ("GANG", "STATE", "MEMBERS", "IN BIND", "ON NODES", "PRIORITY", "AGE", "WAITS FOR")


@dataclass(frozen=True, slots=True)
class Gangs:
    """The known state of the gangs. items, domain: from the ledger's table. statuses: computed from the node cache."""

    items: Sequence[GangItem] = ()
    domain: Domain = field(default_factory=Domain)
    statuses: Sequence[GangStatus] | NotRead = ()


def statuses_in(published: ClaimSources, items: list[GangItem], now: float) -> list[GangStatus] | NotRead:
    """Return the status of all gangs of the cluster. Reads the whole node cache. now: seconds since the epoch."""
    read = published.read(SnapshotView(), lambda policy: policy.gangs.enabled, "does not enable gangs")
    if isinstance(read, NotRead):
        return read
    policy, cluster = read
    return policy.gangs_in(cluster.snapshot, [each for item in items if (each := shown(item, now)) is not None])


def document(found: Gangs, now: float) -> dict[str, object]:
    """Return all gangs, sorted by namespace and name. now: seconds since the epoch."""
    items = {item.key: item for item in found.items}
    statuses = {} if isinstance(found.statuses, NotRead) else {each.key: each for each in found.statuses}
    claim = found.domain.open
    placed = None if claim is None or claim.until <= now else claim.key
    return {
        "gangs": [_gang(key, items.get(key), statuses.get(key), placed, now) for key in sorted({*items, *statuses})],
        "open": None if placed is None else str(placed),
        "compared": not isinstance(found.statuses, NotRead),
    }


def cells(gang: Mapping[str, Any], now: float) -> tuple[str, ...]:
    """Format a gang of a document as a row under HEADER."""
    members = gang["members"]
    exist, on_nodes = ("?" if members[field] is None else str(members[field]) for field in ("exist", "onNodes"))
    return (
        gang["gang"],
        gang["state"],
        f"{exist}/{gang['minimum']}",
        str(members["inBind"]),
        on_nodes,
        str(gang["priority"]),
        _age(gang["since"], now),
        gang["waitsFor"],
    )


def _gang(
    key: GangKey, item: GangItem | None, status: GangStatus | None, placed: GangKey | None, now: float
) -> dict[str, object]:
    """Return the gang's part of the document. placed: the gang that is being placed."""
    state, waits_for = _state(item, status, placed, now)
    since = status.created_at if status is not None else None
    if item is not None and (status is None or item.state is not GangState.ENDED):
        since = item.changed_at
    known = status if status is not None else item
    return {
        "gang": str(key),
        "state": state,
        "waitsFor": waits_for,
        "minimum": 0 if known is None else known.minimum,
        "members": {
            "exist": None if status is None else len(status.members),
            "inBind": len(item.waiting(now)) if item is not None and item.state in IN_BIND else 0,
            "onNodes": None if status is None else status.on_nodes,
        },
        "priority": 0 if known is None else known.priority,
        "since": None if since is None else datetime.fromtimestamp(since, UTC).isoformat(timespec="seconds"),
    }


def _state(item: GangItem | None, status: GangStatus | None, placed: GangKey | None, now: float) -> tuple[str, str]:
    """Return the state, and the reason why the gang waits."""
    if item is not None and item.state is not GangState.ENDED:
        return _state_of_round(item, status, now)
    if status is None:
        return (GangState.ENDED.value, item.reason) if item is not None else ("", "")
    if status.stage is GangStage.PLACED:
        return _state_of_placed(status, status.minimum)
    if status.stage is not GangStage.HAS_PLACES:
        return status.stage.value, status.waits_for
    if placed is not None and placed != status.key:
        return status.stage.value, f"{placed}, which is being placed"
    return status.stage.value, "the scheduler's next try"


def _state_of_round(item: GangItem, status: GangStatus | None, now: float) -> tuple[str, str]:
    match item.state:
        case GangState.OPEN:
            return item.state.value, f"{len(item.waiting(now))} of {item.minimum} members are in bind"
        case GangState.PREPARING:
            return item.state.value, "its counted resources are being held, node by node"
        case GangState.COMMITTED if status is not None and now - item.changed_at >= EXPIRY_SECONDS:
            return _state_of_placed(status, item.minimum)
        case GangState.COMMITTED:
            return COMMITTED, ""
        case GangState.ROLLING_BACK | GangState.ENDED:
            return item.state.value, item.reason


def _state_of_placed(status: GangStatus, minimum: int) -> tuple[str, str]:
    if status.on_nodes < minimum:
        return DEGRADED, f"{status.on_nodes} of {minimum} members are on nodes"
    return COMMITTED, ""


def _age(since: str | None, now: float) -> str:
    return "-" if since is None else shown_age(now - datetime.fromisoformat(since).timestamp())
