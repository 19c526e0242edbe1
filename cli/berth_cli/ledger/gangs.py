"""Gangs as table lines and as a JSON document: the state in the ledger's table, and the plan that filter makes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from berth.configuration.store import ConfigurationInvalid
from berth.ledger.gangs.item import Domain, GangItem, GangState
from berth.ledger.gangs.table import shown
from berth.nodecache.feed.reader import NodeCacheReader, NothingPublished
from berth.nodecache.feed.table import TableUnavailable
from berth.nodecache.snapshot_view import SnapshotView
from berth.scheduling.gangs.gang import GangKey
from berth.scheduling.gangs.overview import GangStage, GangStatus
from berth.upkeep.gangs import EXPIRY_SECONDS
from berth_cli.ledger.claims import ClaimSources
from berth_cli.terminal.output import shown_age

DEGRADED = "degraded"
COMMITTED = GangState.COMMITTED.value
IN_BIND = (GangState.OPEN, GangState.PREPARING, GangState.ROLLING_BACK)

HEADER = ("GANG", "STATE", "MEMBERS", "IN BIND", "ON NODES", "PRIORITY", "AGE", "WAITS FOR")
MEMBER_HEADER = ("POD", "STATE", "NODE")


@dataclass(frozen=True, slots=True)
class NotRead:
    """The node cache could not be read, so only gangs that are or were in bind are known."""

    cause: str


@dataclass(frozen=True, slots=True)
class Gangs:
    """The known state of the gangs. items, domain: from the ledger's table. statuses: from the node cache."""

    items: Sequence[GangItem] = ()
    domain: Domain = field(default_factory=Domain)
    statuses: Sequence[GangStatus] | NotRead = ()


def statuses_in(published: ClaimSources, items: list[GangItem], now: float) -> list[GangStatus] | NotRead:
    """Return all gangs of the cluster. Reads the whole node cache. now: seconds since the epoch."""
    try:
        head = published.table.head()
        policy = published.configurations.at("" if head is None else head.configuration_hash).policy
        if not policy.gangs.enabled:
            return NotRead("the configuration in force does not enable gangs")
        cluster = NodeCacheReader(published.table, SnapshotView(), time.sleep).at(head)
    except (TableUnavailable, ConfigurationInvalid, NothingPublished) as error:
        return NotRead(str(error))
    return policy.gangs_in(cluster.snapshot, [each for item in items if (each := shown(item, now)) is not None])


def document(found: Gangs, now: float) -> dict[str, object]:
    """Return all gangs, by namespace and name. now: seconds since the epoch."""
    items = {item.key: item for item in found.items}
    statuses = {} if isinstance(found.statuses, NotRead) else {each.key: each for each in found.statuses}
    claim = found.domain.open
    is_open = claim is not None and claim.until > now
    return {
        "gangs": [
            _gang(key, items.get(key), statuses.get(key), found.domain, now) for key in sorted({*items, *statuses})
        ],
        "open": str(claim.key) if claim is not None and is_open else None,
        "compared": not isinstance(found.statuses, NotRead),
    }


def cells(gang: Mapping[str, Any], now: float) -> tuple[str, ...]:
    """Return the row of a gang of a document, for HEADER."""
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


def member_cells(place: Mapping[str, str]) -> tuple[str, ...]:
    """Return the row of a member of a gang, for MEMBER_HEADER."""
    return place["pod"], place["state"], place["node"] or "-"


def described(gang: Mapping[str, Any], now: float) -> Iterator[str]:
    """Yield lines about one gang of a document, without its members."""
    members = gang["members"]
    yield f"{gang['gang']}: {gang['state']} for {_age(gang['since'], now)}"
    if gang["waitsFor"]:
        yield f"waits for: {gang['waitsFor']}"
    exist, on_nodes = ("unknown" if members[field] is None else members[field] for field in ("exist", "onNodes"))
    yield (
        f"members: {exist}, on nodes: {on_nodes}, in bind: {members['inBind']}, needed: {gang['minimum']}; "
        f"priority {gang['priority']}"
    )
    if gang["topologyKey"]:
        yield f"all members in one {gang['topologyKey']}"


def _gang(
    key: GangKey, item: GangItem | None, status: GangStatus | None, domain: Domain, now: float
) -> dict[str, object]:
    state, waits_for = _state(item, status, domain, now)
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
        "topologyKey": "" if status is None else status.topology_key,
        "since": None if since is None else datetime.fromtimestamp(since, UTC).isoformat(timespec="seconds"),
        "places": _places(key, item, status),
    }


def _state(item: GangItem | None, status: GangStatus | None, domain: Domain, now: float) -> tuple[str, str]:
    """Return the state, and what the gang waits for."""
    if item is not None and item.state is not GangState.ENDED:
        return _state_of_round(item, status, now)
    if status is None:
        return (GangState.ENDED.value, item.reason) if item is not None else ("", "")
    if status.stage is GangStage.PLACED:
        return _state_of_placed(status, status.minimum)
    if status.stage is not GangStage.HAS_PLACES:
        return status.stage.value, status.waits_for
    claim = domain.open
    if claim is not None and claim.until > now and claim.key != status.key:
        return status.stage.value, f"{claim.key}, which is being placed"
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


def _places(key: GangKey, item: GangItem | None, status: GangStatus | None) -> list[dict[str, str]]:
    """Return each member by its name, with the node where it is, where it is being bound, or where filter would let it
    go."""
    is_bound = item is not None and item.state is GangState.COMMITTED
    intents = item.intents if item is not None and item.state is not GangState.ENDED else {}
    found = {
        intent.pod.name: {"pod": f"{key.namespace}/{intent.pod.name}", "state": "in-bind", "node": intent.node}
        for intent in intents.values()
        if status is None or not is_bound
    }
    for member in () if status is None else status.members:
        place = {"pod": f"{key.namespace}/{member.name}"}
        if member.node:
            found[member.name] = {**place, "state": "on-node", "node": member.node}
        elif member.name not in found:
            state = "has-place" if member.place else "waits"
            found[member.name] = {**place, "state": state, "node": member.place}
    return [found[name] for name in sorted(found, key=lambda name: (len(name), name))]


def _age(since: str | None, now: float) -> str:
    return "-" if since is None else shown_age(now - datetime.fromisoformat(since).timestamp())
