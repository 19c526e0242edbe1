"""What a commit writes to the ledger of one node, for all members of a gang on it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from berth.ledger.gangs.item import GangItem, Intent
from berth.ledger.nodes.device_choice import DeviceChoice
from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger, Shares
from berth.ledger.nodes.ledger import condition_on
from berth.ledger.nodes.node_write import (
    EntryChange,
    EntryCondition,
    NodeWrite,
    PoolChange,
    replace_changes,
    reserve_changes,
)
from berth.scheduling.managed_resources.counting import Counting, Insufficient


@dataclass(frozen=True, slots=True)
class NoLedger:
    """The node's ledger does not exist, or is being rebuilt."""

    node: str


@dataclass(frozen=True, slots=True)
class NodeShares:
    """What the members on a node get, by UID. write: None where they have it all already."""

    write: NodeWrite | None
    shares: Mapping[str, Shares]


def counted_by_node(intents: Iterable[Intent]) -> Mapping[str, tuple[Intent, ...]]:
    """The members that request counted resources, by node. They are in a fixed order."""
    found: dict[str, tuple[Intent, ...]] = {}
    for intent in sorted(intents, key=lambda each: each.pod.uid):
        if intent.demands:
            found[intent.node] = (*found.get(intent.node, ()), intent)
    return found


def shares_on(
    ledger: NodeLedger | None, node: str, intents: Iterable[Intent], counting: Counting, since: float
) -> NodeShares | NoLedger | Insufficient:
    """The share of each member, by the node's ledger. An entry of an earlier call of the member is taken over.

    since: of the new entries, in seconds since the epoch.
    """
    if ledger is None or ledger.avail is None:
        return NoLedger(node)
    now, shares = ledger, dict[str, Shares]()
    changes, pools = list[EntryChange](), dict[str, PoolChange]()
    for intent in intents:
        uid, found = intent.pod.uid, ledger.entries.get(intent.pod.uid)
        chosen = DeviceChoice(counting, intent.demands, uid).on(now, 0)
        if found is not None and (found.attempt == intent.attempt or found.state is EntryState.BOUND):
            # It may hold more than it needs, of an earlier call.
            shares[uid] = found.shares if isinstance(chosen, Insufficient) else chosen
            continue
        if isinstance(chosen, Insufficient):
            return chosen
        held = {} if found is None else found.shares
        both = {pool: max(held.get(pool, 0), chosen.get(pool, 0)) for pool in {**held, **chosen}}
        entry = Entry(intent.pod, EntryState.RESERVED, intent.attempt, both, since)
        change = EntryChange(uid, None if found is None else condition_on(found), entry)
        taken = reserve_changes(held, chosen)
        step = NodeWrite((change,), taken)
        if not step.is_met_by(now):
            return Insufficient(tuple(sorted({demand.resource for demand in intent.demands})), never=False)
        now = step.applied_to(now)
        changes.append(change)
        pools = _sum(pools, taken)
        shares[uid] = chosen
    return NodeShares(NodeWrite(tuple(changes), pools) if changes else None, shares)


def release_on(ledger: NodeLedger, item: GangItem) -> NodeWrite | None:
    """Releases the holds of a round that ended without a commit. None: there are none on this node."""
    now = ledger
    changes, pools = list[EntryChange](), dict[str, PoolChange]()
    for uid, entry in sorted(ledger.entries.items()):
        if entry.state is EntryState.RESERVED and item.intent(uid, entry.attempt) is not None:
            change = EntryChange(uid, EntryCondition(entry.attempt, entry.state), None)
            freed = replace_changes(now, entry.shares, {})
            now = NodeWrite((change,), freed).applied_to(now)
            changes.append(change)
            pools = _sum(pools, freed)
    return NodeWrite(tuple(changes), pools) if changes else None


def _sum(pools: Mapping[str, PoolChange], more: Mapping[str, PoolChange]) -> dict[str, PoolChange]:
    """Both changes as one, with the conditions of the state before the first."""
    found = dict(pools)
    for pool, change in more.items():
        before = found.get(pool)
        found[pool] = change if before is None else _added(before, change)
    return found


def _added(before: PoolChange, change: PoolChange) -> PoolChange:
    return replace(
        before,
        avail=before.avail + change.avail,
        owed=before.owed + change.owed,
        min_avail=before.min_avail + change.min_avail,
    )
