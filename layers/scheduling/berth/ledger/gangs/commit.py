"""The commit of a gang: a share of the ledger for each member and the gang's item, all or nothing.

For at most MAX_LEDGERS ledgers of nodes and floating pools, with at most MAX_ENTRIES members in each, the commit is one
transaction over these ledgers, the gang's item and the domain's item.

More members or ledgers take two phases:

1. The gang's item becomes PREPARING, by a transaction that requires that the domain is in this round, and closes it.
That fixes the members. The call becomes the coordinator.
2. For each group of at most that many ledgers and members, a transaction holds the shares. It requires that the gang's
item is still the item of step 1.
3. The gang's item becomes COMMITTED, on the condition that it is still the item of step 1.

Guarantees: a share that is held counts as reserved. A hold is written only while the item belongs to the coordinator,
so a hold is never written after another coordinator took over, or after the roll-back. Members of a committed gang have
all of their shares. Each step may be repeated. A waiting call takes over from a coordinator that died: the holds belong
to the members, not to the coordinator. If fewer calls than the minimum still wait, the round is rolled back instead:
its members would be bound one by one, later and perhaps elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from berth.ledger.gangs.item import Domain, GangItem, GangState, Intent
from berth.ledger.gangs.table import MAX_ENTRIES, MAX_LEDGERS, GangTable, NotTransacted, Transaction
from berth.ledger.nodes.entry import Entry, EntryState, NodeLedger
from berth.ledger.nodes.ledger import LedgerOutcome, ReservationPlan, ShareChoice
from berth.ledger.nodes.node_write import EntryChange, NodeWrite, replace_changes
from berth.scheduling.managed_resources.counting import Counting
from berth.scheduling.managed_resources.floating import Insufficient
from berth.scheduling.managed_resources.pools import Shares

Group = Mapping[str, tuple[Intent, ...]]
"""Members by the owner of the ledger that counts them, for one transaction."""


@dataclass(frozen=True, slots=True)
class Holds:
    """The shares of members, by UID, and the writes, by owner, that these shares still need."""

    writes: Mapping[str, NodeWrite] = field(default_factory=dict)
    shares: Mapping[str, Shares] = field(default_factory=dict)

    def plus(self, more: Holds) -> Holds:
        shares = {uid: {**self.shares.get(uid, {}), **share} for uid, share in more.shares.items()}
        return Holds({**self.writes, **more.writes}, {**self.shares, **shares})


def counted_by_owner(intents: Iterable[Intent]) -> Mapping[str, tuple[Intent, ...]]:
    """Return the members that request counted resources, by the node or pool that counts them, in a fixed order."""
    found: dict[str, tuple[Intent, ...]] = {}
    for intent in sorted(intents, key=lambda each: each.pod.uid):
        for owner in intent.owners:
            found[owner] = (*found.get(owner, ()), intent)
    return found


def shares_at(
    ledger: NodeLedger | None, intents: Iterable[Intent], counting: Counting, since: float
) -> Holds | Insufficient | None:
    """Return the shares of the members at one owner. The entry of a member's earlier call is taken over. None: the
    ledger does not exist, or is being rebuilt. since: the time of new entries, in seconds since the epoch."""
    if ledger is None or ledger.avail is None:
        return None
    now, write, shares = ledger, NodeWrite(), dict[str, Shares]()
    for intent in intents:
        uid, found = intent.pod.uid, ledger.entries.get(intent.pod.uid)
        chosen = ShareChoice(counting, intent.demands, intent.floating, uid).at(now)
        if found is not None and (found.attempt == intent.attempt or found.state is EntryState.BOUND):
            # The entry may hold more than the member needs, because an earlier call reserved it.
            shares[uid] = found.shares if isinstance(chosen, Insufficient) else chosen
            continue
        if isinstance(chosen, Insufficient):
            return chosen
        entry = Entry(intent.pod, EntryState.RESERVED, intent.attempt, chosen, since)
        step = ReservationPlan(entry, found).write(now)
        if isinstance(step, LedgerOutcome):
            return Insufficient(tuple(sorted(chosen)), never=False)
        now, write, shares[uid] = step.applied_to(now), _combined(write, step), chosen
    return Holds({ledger.owner: write} if write.entries else {}, shares)


def release_at(ledger: NodeLedger, item: GangItem) -> NodeWrite | None:
    """Return the write that releases at most MAX_ENTRIES holds of a round without a commit; None if no hold is left."""
    now, write = ledger, NodeWrite()
    for uid, entry in sorted(ledger.entries.items()):
        if len(write.entries) == MAX_ENTRIES:
            break
        if entry.state is EntryState.RESERVED and item.intent(uid, entry.attempt) is not None:
            step = NodeWrite((EntryChange(uid, entry, None),), replace_changes(now, entry.shares, {}))
            now, write = step.applied_to(now), _combined(write, step)
    return write if write.entries else None


def _combined(write: NodeWrite, step: NodeWrite) -> NodeWrite:
    """Combine two writes into one, with conditions on the state before the first write."""
    pools = {**write.pools, **step.pools}
    for pool in write.pools.keys() & step.pools.keys():
        before, change = write.pools[pool], step.pools[pool]
        pools[pool] = replace(
            before,
            avail=before.avail + change.avail,
            owed=before.owed + change.owed,
            min_avail=before.min_avail + change.min_avail,
        )
    return NodeWrite((*write.entries, *step.entries), pools)


TRIES = 10
"""Maximum number of tries, if a transaction loses against other writes on its nodes."""

REASON_NO_LEDGER = "gang does not fit: a ledger of counted resources is not ready"
REASON_NODE_GONE = "gang does not fit: a node is gone"
REASON_MEMBER_GONE = "gang waits for members: one is gone"
REASON_INSUFFICIENT = "gang does not fit: {}"
REASON_CALLS_ENDED = "gang waits for members: the commit took longer than they could wait"


class CommitOutcome(StrEnum):
    """Outcomes of a commit. COMMITTED: this call has committed the gang. INCOMPLETE: calls have ended, so fewer than
    the minimum wait. CHANGED: the gang's item has changed; read it. DISPLACED: the domain has another gang or round.
    ENDED: the shares cannot be reserved, or too few calls wait until both phases end; the round is over for all
    members. CONTENDED: other writes were faster at every try.
    """

    COMMITTED = "committed"
    INCOMPLETE = "incomplete"
    CHANGED = "changed"
    DISPLACED = "displaced"
    ENDED = "ended"
    CONTENDED = "contended"


class GangCommit:
    """The commit and the roll-back of gangs. Thread-safe. Methods may raise TableUnavailable, and may be repeated."""

    def __init__(self, table: GangTable, wall: Callable[[], float]) -> None:
        self._table = table
        self._wall = wall

    def commit(self, item: GangItem, domain: Domain, coordinator: str, counting: Counting) -> CommitOutcome:
        """Commit the members that wait in one topology domain, at most as many as an item holds. item: the gang's item,
        which must be OPEN. domain: its fence must equal the item's round. coordinator: the id of this call."""
        item_now = replace(item, intents=self._fitting(item.complete(self._wall())))
        if len(item_now.intents) < item.minimum:
            return CommitOutcome.INCOMPLETE
        groups = groups_of(item_now)
        if len(groups) > 1:
            prepared = item_now.changed(GangState.PREPARING, self._wall(), coordinator=coordinator)
            refused = self._table.transact(Transaction(item, prepared, domain, {}))
            return self._hold_and_mark(prepared, counting) if refused is None else _outcome(refused)
        for _ in range(TRIES):
            holds = self._holds(groups[0] if groups else {}, counting)
            if isinstance(holds, str):
                return self._end(item, holds)
            after = _with_shares(item_now, holds.shares).changed(GangState.COMMITTED, self._wall())
            refused = self._table.transact(Transaction(item, after, domain, holds.writes))
            if refused is None:
                return CommitOutcome.COMMITTED
            if refused.gang_changed or refused.domain_changed:
                return _outcome(refused)
        return CommitOutcome.CONTENDED

    def _fitting(self, complete: Mapping[str, Intent]) -> Mapping[str, Intent]:
        """Return at most as many members as the gang's item holds with their shares. The other members join the
        committed gang later."""
        most = self._table.most_of(complete.values()) if complete else 0
        return complete if len(complete) <= most else {uid: complete[uid] for uid in sorted(complete)[:most]}

    def take_over(self, item: GangItem, coordinator: str, counting: Counting) -> CommitOutcome:
        """Continue the work of a coordinator that has died or is slow; afterwards that coordinator can no longer write
        holds. item: the gang's item, which must be PREPARING."""
        if not self._is_waited_for(item):
            return self._abandon(item)
        taken = item.changed(GangState.PREPARING, self._wall(), coordinator=coordinator)
        return self._hold_and_mark(taken, counting) if self._table.put(taken, item) else CommitOutcome.CHANGED

    def abort(self, item: GangItem, reason: str) -> bool:
        """End a round that is OPEN or PREPARING. Return False if the item has changed, or other writes were faster."""
        if item.state is GangState.OPEN:
            return self._end(item, reason) is CommitOutcome.ENDED
        rolling = item.changed(GangState.ROLLING_BACK, self._wall(), reason=reason)
        return self._table.put(rolling, item) and self.roll_back(rolling)

    def roll_back(self, item: GangItem) -> bool:
        """Release the holds of a round that is ROLLING_BACK, and end the round. Any caller may do so. False: another
        call has done so, or other writes were faster at every try."""
        owners = list(counted_by_owner(item.intents.values()))
        for first in range(0, len(owners), MAX_LEDGERS):
            if not self._release(item, owners[first : first + MAX_LEDGERS]):
                return False
        ended = item.changed(GangState.ENDED, self._wall())
        return self._table.put(ended, item)

    def _hold_and_mark(self, item: GangItem, counting: Counting) -> CommitOutcome:
        holds = Holds()
        for group in groups_of(item):
            held = self._hold(item, group, counting)
            if isinstance(held, CommitOutcome):
                return held
            holds = holds.plus(held)
        if not self._is_waited_for(item):
            return self._abandon(item)
        committed = _with_shares(item, holds.shares).changed(GangState.COMMITTED, self._wall())
        return CommitOutcome.COMMITTED if self._table.put(committed, item) else CommitOutcome.CHANGED

    def _is_waited_for(self, item: GangItem) -> bool:
        return len(item.waiting(self._wall())) >= item.minimum

    def _abandon(self, item: GangItem, reason: str = REASON_CALLS_ENDED) -> CommitOutcome:
        return CommitOutcome.ENDED if self.abort(item, reason) else CommitOutcome.CHANGED

    def _hold(self, item: GangItem, group: Group, counting: Counting) -> Holds | CommitOutcome:
        for _ in range(TRIES):
            holds = self._holds(group, counting)
            if isinstance(holds, str):
                return self._abandon(item, holds)
            if not holds.writes:
                return holds
            refused = self._table.transact(Transaction(item, None, None, holds.writes))
            if refused is None:
                return holds
            if refused.gang_changed:
                return CommitOutcome.CHANGED
        return CommitOutcome.CONTENDED

    def _release(self, item: GangItem, owners: Sequence[str]) -> bool:
        tries = TRIES
        while tries:
            found = {owner: release_at(ledger, item) for owner, ledger in self._table.ledgers(owners).items()}
            writes = {owner: write for owner, write in found.items() if write is not None}
            if not writes:
                return True
            refused = self._table.transact(Transaction(item, None, None, writes))
            if refused is None:
                continue
            if refused.gang_changed:
                return False
            tries -= 1
        return False

    def _holds(self, group: Group, counting: Counting) -> Holds | str:
        """Return the shares of this group, or the reason why the gang does not fit."""
        ledgers, since, found = self._table.ledgers(group) if group else {}, self._wall(), Holds()
        for owner, members in group.items():
            match shares_at(ledgers.get(owner), members, counting, since):
                case None:
                    return REASON_NO_LEDGER
                case Insufficient() as short:
                    return REASON_INSUFFICIENT.format(short.text)
                case Holds() as holds:
                    found = found.plus(holds)
        return found

    def _end(self, item: GangItem, reason: str) -> CommitOutcome:
        """End the round and close the domain in one write: an open domain would block all gangs until the round's time
        is over."""
        ended = item.changed(GangState.ENDED, self._wall(), reason=reason)
        for _ in range(TRIES):
            domain = self._table.domain()
            closes = domain if domain.holds(item.key, item.round) else None
            refused = self._table.transact(Transaction(item, ended, closes, {}))
            if refused is None:
                return CommitOutcome.ENDED
            if refused.gang_changed:
                return CommitOutcome.CHANGED
        return CommitOutcome.CONTENDED


def requests_of(item: GangItem) -> int:
    """Return the number of requests of a commit of these members, if there are no conflicts."""
    groups = len(groups_of(item))
    return 1 if not groups else 2 if groups == 1 else 2 + 2 * groups


def _outcome(refused: NotTransacted) -> CommitOutcome:
    # Check the item first: the call that committed has closed the domain, too.
    if refused.domain_changed and not refused.gang_changed:
        return CommitOutcome.DISPLACED
    return CommitOutcome.CHANGED


def groups_of(item: GangItem) -> Sequence[Group]:
    """Return groups of the members that request counted resources, each for one transaction, always in the same
    order."""
    groups: list[dict[str, tuple[Intent, ...]]] = []
    for owner, members in counted_by_owner(item.intents.values()).items():
        for first in range(0, len(members), MAX_ENTRIES):
            group = next((each for each in groups if owner not in each and len(each) < MAX_LEDGERS), None)
            if group is None:
                groups.append(group := {})
            group[owner] = members[first : first + MAX_ENTRIES]
    return groups


def _with_shares(item: GangItem, shares: Mapping[str, Shares]) -> GangItem:
    intents = {uid: replace(intent, shares=shares.get(uid, {})) for uid, intent in item.intents.items()}
    return replace(item, intents=intents)
