"""How bind places a gang: no member is bound before all of the minimum are there.

Each call of bind, for a member of a gang:

1. Read the gang's item. If the gang is committed and a member of it lives, the pod is bound like any other. So it is
   where the item was lost, and the node cache knows a member on a node: before a commit no member gets there.
2. Open the domain for the gang, or find it open. If another gang is open, fail at once.
3. Leave an open reservation, and write the intent into the gang's item.
4. Wait. Who finds the minimum, all of it on nodes that exist, commits for all (`GangCommit`). The others see it when
   they read the item again.
5. Send the Binding, which is bind's part.

A call gives up before its deadline: it takes its intent back, on the condition that the gang is still open. If the
gang is committed meanwhile, it goes on.

Guarantees:
- Before the commit no Binding of a member is sent. So to give up, or to die, is always safe.
- A commit contains the minimum of members, each with its share of the ledger, and each by a call that had not given up.
- A member whose call died after the commit keeps its share until it expires, and its next bind takes it over.

Not guaranteed: that all members of a committed gang get onto their nodes. A pod can be deleted, a node can go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from berth.dynamodb_errors import TableUnavailable
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.extender.ports import (
    CacheUnavailable,
    FoundPod,
    GangBarrier,
    GangMember,
    GangOfPod,
    GangPlace,
    NodeCache,
    Refused,
    Reservation,
    Unanswered,
)
from berth.gangs.commit import REASON_NODE_GONE, CommitOutcome, GangCommit
from berth.gangs.item import Claim, Domain, GangItem, GangState, Intent
from berth.gangs.table import GangTable
from berth.reservations.bind.device_choice import DeviceChoice
from berth.reservations.ledger.entry import OpenReservation, PodKey, Shares
from berth.reservations.ledger.table import LedgerTable
from berth.scheduling.gangs.gang import GangError, InvalidGang, gang_of
from berth.scheduling.gangs.members import members_on_nodes
from berth.scheduling.managed_resources.counting import Insufficient
from berth.scheduling.objects import Pod
from berth.scheduling.objects.pod import FAILED, SUCCEEDED
from berth.scheduling.objects.pod_group import names_gang, names_pod_group

BINDING_SECONDS = 0.5
"""What a call keeps for its Binding after the commit."""

TAKEOVER_SECONDS = 1.0
"""After so long without a commit, another member that waits goes on with it."""

FIRST_POLL_SECONDS = 0.05
LAST_POLL_SECONDS = 0.25

READS_A_SECOND = 1500.0
"""Of one item, by all members that wait: half of what DynamoDB gives a partition, in read units."""

MEMBER_READ_UNITS = 0.06
"""What a member adds to a read of the gang's item: 230 bytes, as tests/unit/gangs/test_item_size.py measures."""

NOT_FOUND = 404

ANOTHER_IS_OPEN = BindResult(BindOutcome.GANG_WAITS, "gang waits: another gang is being placed")
ROUND_ENDED = BindResult(BindOutcome.GANG_WAITS, "gang waits: its placement was ended")
CONTENDED = BindResult(BindOutcome.GANG_WAITS, "gang waits: too many members are being bound at once")
MEMBERS_UNKNOWN = BindResult(BindOutcome.GANG_WAITS, "gang waits: the API server did not say whether a member lives")
TOO_LARGE = BindResult(BindOutcome.GANG_INVALID, "gang is larger than an item of the ledger table")
SIZES_DIFFER = BindResult(BindOutcome.GANG_INVALID, GangError.SIZES_DIFFER)
GAVE_UP = BindResult(BindOutcome.GANG_GAVE_UP, "gang waits for members: too few were bound in time")
NO_LEDGER = BindResult(BindOutcome.NO_LEDGER, "the node's ledger of counted resources is not ready")


class GangTableBarrier(GangBarrier):
    """Safe to share between threads."""

    def __init__(
        self,
        table: GangTable,
        ledger: LedgerTable,
        cache: NodeCache,
        *,
        new_id: Callable[[], str],
        wall: Callable[[], float],
        sleep: Callable[[float], None],
        call_seconds: float,
    ) -> None:
        """cache: for PodGroups. call_seconds: the longest that one call of the table takes."""
        self.table = table
        self.ledger = ledger
        self.new_id = new_id
        self.wall = wall
        self.sleep = sleep
        self.call_seconds = call_seconds
        self._cache = cache

    def gang_of(self, pod: Pod, deadline: Deadline) -> GangOfPod | BindResult | None:
        if not names_gang(pod):
            return None
        context = self._cache.current(deadline)
        if not context.policy.plans(pod):
            return None
        cluster = None if isinstance(context.cluster, CacheUnavailable) else context.cluster
        if cluster is None and names_pod_group(pod):
            # How many members it has is not known, whatever `whenStale` says: filter decides without the cache, and
            # bind keeps members together.
            assert isinstance(context.cluster, CacheUnavailable)
            return BindResult(BindOutcome.GANG_WAITS, context.cluster.reason)
        found = gang_of(pod, {} if cluster is None else cluster.pod_groups, context.policy.gangs)
        if found is None:
            return None
        if isinstance(found, InvalidGang):
            return BindResult(BindOutcome.GANG_INVALID, found.error)
        if found.priority is None:
            found = replace(found, priority=pod.priority or 0)
        return GangOfPod(found, () if cluster is None else tuple(members_on_nodes(found.key, cluster)))

    def has_lost_node(self, item: GangItem, deadline: Deadline) -> bool:
        """Whether a member waits for a node that is gone since filter chose it: the API server would let the member be
        bound there. False without the node cache."""
        cluster = self._cache.current(deadline).cluster
        if isinstance(cluster, CacheUnavailable):
            return False
        return any(intent.node not in cluster.nodes for intent in item.waiting(self.wall()).values())

    def wait(self, member: GangMember) -> GangPlace | BindResult | None:
        try:
            return _Call(self, member).run()
        except TableUnavailable as error:
            return BindResult(BindOutcome.LEDGER_UNAVAILABLE, str(error))


@dataclass(frozen=True, slots=True)
class _WaitingCall:
    """The call as the others see it. is_new: no earlier call of the member has a share on the node."""

    intent: Intent
    shares: Shares
    is_new: bool


class _Call:
    """One call."""

    def __init__(self, barrier: GangTableBarrier, member: GangMember) -> None:
        self._barrier = barrier
        self._pause = FIRST_POLL_SECONDS
        self._table = barrier.table
        self._ledger = barrier.ledger
        self._commit = GangCommit(barrier.table, barrier.wall)
        self._wall = barrier.wall
        self._sleep = barrier.sleep
        self._kept_seconds = barrier.call_seconds + BINDING_SECONDS
        self._attempt = barrier.new_id()
        self._member = member
        self._gang = member.of.gang
        self._priority = member.of.gang.priority or 0
        binding = member.binding
        self._pod, self._node = PodKey(binding.namespace, binding.pod_name, binding.pod_uid), binding.node

    def run(self) -> GangPlace | BindResult | None:
        """Every round of the loop goes on, or pauses because others were faster."""
        mine: _WaitingCall | None = None
        if self._gang.minimum > self._table.most_members(self._intent()):
            return TOO_LARGE
        while self._has_time():
            item = self._table.gang(self._gang.key)
            if item is not None and item.state in (GangState.PREPARING, GangState.ROLLING_BACK):
                self._finish(item)
                continue
            lives = self._has_living_member(self._committed_members(item))
            if lives is not False:
                return None if lives else MEMBERS_UNKNOWN
            domain = self._open_domain()
            if domain is None:
                return self._leave(mine, ANOTHER_IS_OPEN)
            if self._has_another_size(item, domain):
                return self._leave(mine, SIZES_DIFFER)
            found = mine or self._prepare_intent()
            if isinstance(found, BindResult):
                return found
            mine = found
            joined = self._join(item, domain, mine.intent)
            if joined is not None:
                return self._until_committed(joined, domain, mine)
            self._sleep(FIRST_POLL_SECONDS)
        return self._leave(mine, CONTENDED)

    def _has_time(self) -> bool:
        return self._member.deadline.remaining() > self._kept_seconds

    # ------------------------------------------------------------------------------------------------------- joining

    def _committed_members(self, item: GangItem | None) -> Iterable[tuple[str, str]]:
        """By the item; where that is lost, by the node cache."""
        if item is not None and item.state is GangState.COMMITTED:
            return ((intent.pod.name, intent.pod.uid) for intent in item.intents.values())
        return self._member.of.on_nodes

    def _has_living_member(self, members: Iterable[tuple[str, str]]) -> bool | None:
        """Whether one of these members of a committed gang lives, by name and UID; None: unknown. If none does, another
        gang has the name: as for filter, a pod that has ended or is being deleted is no member any more."""
        for name, uid in members:
            if uid == self._pod.uid:
                return True
            timeout = self._member.deadline.remaining() / 2
            match self._member.binder.pod(self._gang.key.namespace, name, timeout):
                case FoundPod() as found:
                    if found.assignment.pod_uid == uid and not found.is_deleting and not _has_ended(found):
                        return True
                case Refused(status=status) if status == NOT_FOUND:
                    pass
                case Refused() | Unanswered():
                    return None
        return False

    def _has_another_size(self, item: GangItem | None, domain: Domain) -> bool:
        """Whether the members that wait were told another size of the gang. Filter rejects both, where it knows both;
        it may have passed them on data that were too old, or the PodGroup has changed since."""
        if item is None or item.state is not GangState.OPEN or item.round != domain.fence:
            return False
        return item.minimum != self._gang.minimum

    def _finish(self, item: GangItem) -> None:
        """The round of an earlier call of a member: wait for its coordinator, or do its work."""
        if item.state is GangState.ROLLING_BACK:
            self._commit.roll_back(item)
        elif self._wall() - item.changed_at >= TAKEOVER_SECONDS:
            self._commit.take_over(item, self._attempt, self._member.counting)
        else:
            self._sleep(LAST_POLL_SECONDS)

    def _open_domain(self) -> Domain | None:
        """The domain with this gang open; None: another one is, or others were faster."""
        now, seen = self._wall(), self._table.domain()
        claim = Claim(self._gang.key, self._priority, now + self._gang.timeout)
        opened = seen.opened_by(claim, now)
        if opened is None or opened is seen or self._table.put_domain(opened, seen):
            return opened
        # Another member of this gang, or another gang.
        seen = self._table.domain()
        return seen if seen.open is not None and seen.open.key == self._gang.key else None

    def _prepare_intent(self) -> _WaitingCall | BindResult:
        """The intent of this call, and its open reservation: every entry has one from before it is written."""
        member, shares, is_new = self._member, dict[str, int](), True
        if member.demands:
            ledger = self._ledger.node(self._node)
            if ledger is None or ledger.avail is None:
                return NO_LEDGER
            chosen = DeviceChoice(member.counting, member.demands, self._pod.uid).on(ledger, 0)
            if isinstance(chosen, Insufficient):
                return BindResult(BindOutcome.INSUFFICIENT, chosen.text)
            shares, is_new = dict(chosen), self._pod.uid not in ledger.entries
            self._put_open(shares)
        return _WaitingCall(self._intent(), shares, is_new)

    def _intent(self) -> Intent:
        until = self._wall() + self._member.deadline.remaining() - self._kept_seconds
        return Intent(self._pod, self._node, self._attempt, until, self._member.demands)

    def _put_open(self, shares: Shares) -> None:
        self._ledger.put_open(OpenReservation(self._pod, self._node, self._attempt, shares, self._wall()))

    def _join(self, seen: GangItem | None, domain: Domain, intent: Intent) -> GangItem | None:
        """The item with the intent; None: others were faster, or the round is over."""
        if seen is not None and seen.state is GangState.OPEN and seen.round == domain.fence:
            return self._table.join(self._gang.key, domain.fence, intent)
        if seen is not None and seen.round >= domain.fence:
            return None
        now, version = self._wall(), 1 if seen is None else seen.version + 1
        first = GangItem(
            self._gang.key,
            GangState.OPEN,
            domain.fence,
            self._gang.minimum,
            self._priority,
            version,
            opened_at=now,
            changed_at=now,
            intents={intent.pod.uid: intent},
        )
        return first if self._table.put(first, seen) else None

    # ------------------------------------------------------------------------------------------------------- waiting

    def _until_committed(self, item: GangItem | None, domain: Domain, mine: _WaitingCall) -> GangPlace | BindResult:
        # Who comes last commits. The others do if it has died.
        commits_at = self._wall() if self._is_complete(item) else None
        while True:
            result = self._result(item, domain, mine)
            if result is not None:
                return result
            if not self._has_time():
                return self._give_up(domain, mine, GAVE_UP)
            assert item is not None  # it has the intent
            if not self._is_complete(item):
                commits_at = None
            elif commits_at is None:
                commits_at = self._wall() + TAKEOVER_SECONDS
            if commits_at is not None and commits_at <= self._wall():
                if self._barrier.has_lost_node(item, self._member.deadline):
                    self._commit.abort(item, REASON_NODE_GONE)
                else:
                    outcome = self._commit.commit(item, domain, self._attempt, self._member.counting)
                    if outcome is CommitOutcome.DISPLACED:
                        return self._give_up(domain, mine, ANOTHER_IS_OPEN)
                commits_at = self._wall() + FIRST_POLL_SECONDS
            elif item.state is GangState.PREPARING and self._wall() - item.changed_at >= TAKEOVER_SECONDS:
                self._commit.take_over(item, self._attempt, self._member.counting)
            else:
                self._pause_while_open(item, domain)
            item = self._table.gang(self._gang.key)

    def _pause_while_open(self, item: GangItem, domain: Domain) -> None:
        """Until the round may be over, or another member may have died. Every member reads while it waits, and the
        gang's item grows with them: so it reads the domain's, which takes one read unit."""
        members = len(item.intents)
        between_looks = members**2 * MEMBER_READ_UNITS / READS_A_SECOND
        if item.state is not GangState.OPEN:
            # The domain was closed before the shares are held one by one, so only the gang's item tells the end.
            left = self._member.deadline.remaining() - self._kept_seconds
            self._sleep(max(FIRST_POLL_SECONDS, min(left / 3, max(LAST_POLL_SECONDS, between_looks))))
            return
        longest = max(LAST_POLL_SECONDS, members / READS_A_SECOND)
        look_at = self._wall() + max(TAKEOVER_SECONDS, between_looks)
        while self._has_time() and self._wall() < look_at:
            self._sleep(self._pause)
            self._pause = min(longest, 1.5 * self._pause)
            if not self._table.domain().holds(self._gang.key, domain.fence):
                return

    def _is_complete(self, item: GangItem | None) -> bool:
        return item is not None and item.state is GangState.OPEN and len(item.waiting(self._wall())) >= item.minimum

    def _result(self, item: GangItem | None, domain: Domain, mine: _WaitingCall) -> GangPlace | BindResult | None:
        """None: it goes on waiting."""
        if item is None or item.round != domain.fence or item.intent(self._pod.uid, self._attempt) is None:
            return self._leave(mine, ROUND_ENDED)
        match item.state:
            case GangState.OPEN | GangState.PREPARING:
                return None
            case GangState.COMMITTED:
                return self._placed(item, mine)
            case GangState.ENDED:
                return self._leave(mine, BindResult(BindOutcome.GANG_WAITS, item.reason))
            case GangState.ROLLING_BACK:
                # Its holds may still be there, so the open reservation stays.
                return BindResult(BindOutcome.GANG_WAITS, item.reason)

    def _placed(self, item: GangItem, mine: _WaitingCall) -> GangPlace:
        member, shares = self._member, item.intents[self._pod.uid].shares
        if not member.demands:
            return GangPlace(None)
        if shares != mine.shares:
            # The commit chose another device.
            self._put_open(shares)
        annotations = member.counting.annotations(shares)
        # An entry of an earlier call was taken over with all that it held.
        return GangPlace(
            Reservation(
                member.binding,
                self._attempt,
                annotations,
                is_first_attempt=mine.is_new,
                shares=shares,
                has_surplus=not mine.is_new,
            )
        )

    # ---------------------------------------------------------------------------------------------------- giving up

    def _give_up(self, domain: Domain, mine: _WaitingCall, result: BindResult) -> GangPlace | BindResult:
        after = self._table.withdraw(self._gang.key, domain.fence, self._pod.uid, self._attempt)
        if after is None:
            # It is committed, or it is being committed: then the member's next bind finds that.
            item = self._table.gang(self._gang.key)
            return (self._result(item, domain, mine) if item is not None else None) or result
        if not after.waiting(self._wall()):
            # Nobody waits, so another gang may come.
            seen = self._table.domain()
            if seen.holds(self._gang.key, domain.fence):
                self._table.put_domain(seen.closed(), seen)
        return self._leave(mine, result)

    def _leave(self, mine: _WaitingCall | None, result: BindResult) -> BindResult:
        """No commit can give this call a share any more. If the table does not answer, the reservation expires."""
        if mine is not None and mine.intent.demands:
            with suppress(TableUnavailable):
                self._ledger.delete_open(self._pod.uid, self._node, self._attempt)
        return result


def _has_ended(found: FoundPod) -> bool:
    status = found.content.get("status")
    return isinstance(status, Mapping) and status.get("phase") in (SUCCEEDED, FAILED)
