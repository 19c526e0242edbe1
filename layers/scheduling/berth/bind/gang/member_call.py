"""One call of bind for a member of a gang: the steps of `bind/gang/barrier.py`.

There are two time limits. While the call continues, it reserves BINDING_SECONDS for the Binding. When it gives up, a
request only has to end before the deadline. Other calls finish the rest, as after a crash.

Once the call's intent may be written, an error of the table does not end the call, because other calls may commit with
the intent. The call reads again, and gives up at the end of its time, when the intent expires.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from berth.bind.gang.domain_opening import (
    FIRST_POLL_SECONDS,
    LAST_POLL_SECONDS,
    READS_A_SECOND,
    DomainOpening,
    is_needed,
)
from berth.bind.gang.member import (
    GangMember,
    GangPlace,
    Get,
    MemberLiveness,
    MemberShare,
    get_for,
    is_in_domain,
    liveness_for,
)
from berth.dynamodb import TableUnavailable
from berth.extender.deadline import Deadline
from berth.extender.outcomes import BindOutcome, BindResult
from berth.ledger.gangs.commit import CommitOutcome, GangCommit, requests_of
from berth.ledger.gangs.item import Domain, GangItem, GangState, Intent
from berth.ledger.gangs.table import GangTable, TimedGangTable
from berth.ledger.nodes.table import LedgerTable
from berth.scheduling.evaluation.time_limit import DeadlineExceeded

BINDING_SECONDS = 0.5
"""Seconds that a call reserves for its Binding after the commit."""

TAKEOVER_SECONDS = 1.0
"""Seconds without a commit after which another waiting member takes over. For a large gang or a slow table, the time is
PATIENCE times the duration of a commit at the pace of the member's own requests: members that take over too early
prevent each other from finishing."""

PATIENCE = 3.0

MEMBER_READ_UNITS = 0.06
"""Read units that each member adds to a read of the gang's item: 230 bytes, as
tests/unit/ledger/gangs/test_item_size.py measures."""

ANOTHER_IS_OPEN = BindResult(BindOutcome.GANG_WAITS, "gang waits: another gang is being placed")
ROUND_ENDED = BindResult(BindOutcome.GANG_WAITS, "gang waits: its placement was ended")
CONTENDED = BindResult(BindOutcome.GANG_WAITS, "gang waits: too many members are being bound at once")
OTHER_DOMAIN = BindResult(BindOutcome.GANG_WAITS, "gang waits: its members are in another topology domain")
MEMBERS_UNKNOWN = BindResult(BindOutcome.GANG_WAITS, "gang waits: it is not known whether an earlier member lives")
TOO_LARGE = BindResult(BindOutcome.GANG_INVALID, "gang is larger than an item of the ledger table")
FULL = BindResult(BindOutcome.GANG_WAITS, "gang waits: as many members are being bound as an item holds")
GAVE_UP = BindResult(BindOutcome.GANG_GAVE_UP, "gang waits for members: too few were bound in time")


class MemberCall:
    """Places one member of a gang in one call."""

    def __init__(
        self,
        member: GangMember,
        table: GangTable,
        ledger: LedgerTable,
        why_not: Callable[[GangItem, Get, Deadline], str],
        attempt: str,
        wall: Callable[[], float],
        sleep: Callable[[float], None],
        call_seconds: float,
    ) -> None:
        """Prepare the call. why_not: returns the reason not to commit the members of an item, or an empty text. wall,
        call_seconds: see GangBarrier."""
        self._why_not = why_not
        self._wall, self._sleep = wall, sleep
        self._table = TimedGangTable(table, self._check_time, self._wall)
        self._commit = GangCommit(self._table, self._wall)
        self._call_seconds, self._kept_seconds = call_seconds, call_seconds + BINDING_SECONDS
        self._attempt = attempt
        self._member = member
        self._gang = member.of.gang
        binding = member.binding
        may_queue = is_needed(binding.pod_uid, self._gang.minimum, member.of.pods)
        self._domain = DomainOpening(
            self._table, self._gang, may_queue, member.withdraw, self._has_time, self._wall, self._sleep
        )
        self._uid = binding.pod_uid
        self._share = MemberShare(ledger, member, self._attempt, self._has_time, self._wall)
        self._mine: Intent | None = None
        """The call's intent, which other calls read. Once set, the call may have left an open reservation."""
        self._joined: Domain | None = None
        """The domain with the round that this call joined. Once set, the intent may be in the gang's item."""
        self._is_displaced = False
        """Whether the domain was closed or has another gang. The gang's item shows whether a commit closed it."""

    def run(self) -> GangPlace | BindResult | None:
        """Place the member. None: the gang was committed before, so bind it like any pod. Raises TableUnavailable."""
        if self._gang.minimum > self._table.most_members(self._intent()):
            return TOO_LARGE
        found = self._placed_in_time()
        # If no time is left or the table does not answer, the watcher closes the domain.
        with suppress(DeadlineExceeded, TableUnavailable):
            self._domain.close_unused()
        return found

    def _placed_in_time(self) -> GangPlace | BindResult | None:
        while True:
            try:
                return self._placed_with_others() if self._joined is None else self._resumed(self._joined)
            except DeadlineExceeded:
                return self._end(CONTENDED if self._joined is None else GAVE_UP)
            except TableUnavailable as error:
                if self._joined is None:
                    raise
                if not self._has_time():
                    return self._end(BindResult(BindOutcome.LEDGER_UNAVAILABLE, str(error)))
            self._sleep(LAST_POLL_SECONDS)

    def _placed_with_others(self) -> GangPlace | BindResult | None:
        """Join the open round. Each pass of the loop makes progress, or pauses because other calls were faster."""
        while True:
            item = self._table.gang(self._gang.key)
            if item is not None and item.state in (GangState.PREPARING, GangState.ROLLING_BACK):
                self._finish(item)
                continue
            match liveness_for(self._member, item):
                case MemberLiveness.LIVES:
                    return None if is_in_domain(self._member, item) else OTHER_DOMAIN
                case MemberLiveness.UNKNOWN:
                    return MEMBERS_UNKNOWN
                case MemberLiveness.NONE_LIVES:
                    pass
            domain = self._domain.open()
            if domain is None:
                return self._refused(ANOTHER_IS_OPEN)
            refusal = self._refusal(item, domain) or self._member.announce()
            if refusal is not None:
                return self._refused(refusal)
            mine = self._prepare_intent()
            if isinstance(mine, BindResult):
                return mine
            joined = self._join(item, domain, mine)
            if joined is not None:
                self._domain.keep()
                return self._until_committed(joined, domain)
            self._sleep(FIRST_POLL_SECONDS)

    def _resumed(self, joined: Domain) -> GangPlace | BindResult | None:
        """Continue after an error. Write the intent again, unless the item has it, or another call may have used it."""
        item = self._table.gang(self._gang.key)
        is_over = item is not None and item.round >= joined.fence and not item.is_open_in(joined.fence)
        if is_over or (item is not None and item.intent(self._uid, self._attempt) is not None):
            return self._until_committed(item, joined)
        return self._placed_with_others()

    def _has_time(self, seconds: float = 0.0) -> bool:
        """Return whether there is time for one request and for this many seconds in addition."""
        return self._member.deadline.remaining() > self._kept_seconds + seconds

    def _check_time(self) -> None:
        if not self._has_time():
            raise DeadlineExceeded

    # ------------------------------------------------------------------------------------------------------- joining

    def _refusal(self, item: GangItem | None, domain: Domain) -> BindResult | None:
        """Return the refusal if this call may not join the open round, otherwise None."""
        if item is None or not item.is_open_in(domain.fence):
            return None
        difference = item.difference(self._gang)
        if difference is not None:
            return BindResult(BindOutcome.GANG_INVALID, difference)
        others = [intent for uid, intent in item.intents.items() if uid != self._uid]
        return FULL if len(others) >= self._table.most_of([*others, self._intent()]) else None

    def _finish(self, item: GangItem) -> None:
        """Help to finish a PREPARING or ROLLING_BACK round: wait for its coordinator, or do the coordinator's work."""
        if item.state is GangState.ROLLING_BACK:
            self._commit.roll_back(item)
        elif self._takes_over(item):
            self._commit.take_over(item, self._attempt, self._member.counting)
        else:
            self._sleep(LAST_POLL_SECONDS)

    def _takes_over(self, item: GangItem) -> bool:
        """Return whether the coordinator is dead or slow, and there is time to replace it. item: must be PREPARING."""
        seconds = self._commit_seconds(item)
        is_late = self._wall() - item.changed_at >= max(TAKEOVER_SECONDS, PATIENCE * seconds)
        return is_late and self._has_time(seconds)

    def _commit_seconds(self, item: GangItem) -> float:
        """Return how many seconds a commit takes at the pace of this call's requests."""
        return self._table.pace * requests_of(item)

    def _prepare_intent(self) -> Intent | BindResult:
        if self._mine is None:
            refusal = self._share.reserve()
            if refusal is not None:
                return refusal
            self._mine = self._intent()
        return self._mine

    def _intent(self) -> Intent:
        return self._share.intent(self._wall() + self._member.deadline.remaining() - self._kept_seconds)

    def _join(self, seen: GangItem | None, domain: Domain, intent: Intent) -> GangItem | None:
        """Return the item with the intent, or None if other calls were faster or the round is over."""
        self._is_displaced = False
        if seen is not None and seen.is_open_in(domain.fence):
            self._joined = domain
            joined = self._table.join(self._gang.key, domain.fence, intent)
        elif seen is not None and seen.round >= domain.fence:
            return None
        else:
            first = GangItem.opened(self._gang, domain.fence, intent, seen, self._wall())
            self._joined = domain
            joined = first if self._table.put(first, seen) else None
        if joined is None:
            self._joined = None
        return joined

    # ------------------------------------------------------------------------------------------------------- waiting

    def _until_committed(self, item: GangItem | None, domain: Domain) -> GangPlace | BindResult:
        # The last member commits. If its call has died, another member commits.
        commits_at = self._wall() if self._is_complete(item) else None
        while True:
            result = self._result(item, domain)
            if result is not None:
                return result
            self._check_time()
            assert item is not None  # the item exists: it contains the intent
            if not self._is_complete(item):
                commits_at = None
            elif commits_at is None:
                commits_at = self._wall() + TAKEOVER_SECONDS
            if commits_at is not None and commits_at <= self._wall() and self._has_time(self._commit_seconds(item)):
                until = self._member.deadline.earlier(self._kept_seconds)
                against = self._why_not(item, get_for(self._member), until)
                if against:
                    self._commit.abort(item, against)
                else:
                    outcome = self._commit.commit(item, domain, self._attempt, self._member.counting)
                    if outcome is CommitOutcome.DISPLACED:
                        return self._give_up(domain, ANOTHER_IS_OPEN)
                commits_at = self._wall() + FIRST_POLL_SECONDS
            elif item.state is GangState.PREPARING and self._takes_over(item):
                self._commit.take_over(item, self._attempt, self._member.counting)
            else:
                self._pause_while_open(item, domain)
            item = self._table.gang(self._gang.key)

    def _pause_while_open(self, item: GangItem, domain: Domain) -> None:
        """Pause until the round may be over, or another member may have died. Waiting members read the domain's item,
        for one read unit, and not the gang's item, which grows with its members."""
        members = len(item.intents)
        between_looks = members**2 * MEMBER_READ_UNITS / READS_A_SECOND
        if item.state is not GangState.OPEN:
            # From PREPARING on, the domain is closed, so only the gang's item shows the end of the round.
            left = self._member.deadline.remaining() - self._kept_seconds
            self._sleep(max(FIRST_POLL_SECONDS, min(left / 3, max(LAST_POLL_SECONDS, between_looks))))
            return
        look_at = self._wall() + max(TAKEOVER_SECONDS, between_looks)
        while self._has_time() and self._wall() < look_at:
            self._domain.pause(members)
            if not self._table.domain().holds(self._gang.key, domain.fence):
                self._is_displaced = True
                return

    def _is_complete(self, item: GangItem | None) -> bool:
        return item is not None and item.state is GangState.OPEN and bool(item.complete(self._wall()))

    def _result(self, item: GangItem | None, domain: Domain) -> GangPlace | BindResult | None:
        """Return the result of the wait, or None if the member still waits."""
        if item is None or item.round != domain.fence:
            return self._leave_another_round()
        if item.intent(self._uid, self._attempt) is None:
            is_fixed = item.state in (GangState.PREPARING, GangState.COMMITTED)
            return self._leave(OTHER_DOMAIN if is_fixed and item.topology_key else ROUND_ENDED)
        match item.state:
            case GangState.OPEN if self._is_displaced:
                return self._give_up(domain, ANOTHER_IS_OPEN)
            case GangState.OPEN | GangState.PREPARING:
                return None
            case GangState.COMMITTED:
                return self._share.committed(item.intents[self._uid].shares)
            case GangState.ENDED:
                return self._leave(BindResult(BindOutcome.GANG_WAITS, item.reason))
            case GangState.ROLLING_BACK:
                # Shares that this round reserved may not be released yet, so keep the open reservation.
                return BindResult(BindOutcome.GANG_WAITS, item.reason)

    # ---------------------------------------------------------------------------------------------------- giving up

    def _end(self, result: BindResult) -> GangPlace | BindResult:
        """Give up, because the time is over; retry while a request can still end before the deadline."""
        self._kept_seconds = self._call_seconds
        while True:
            try:
                return self._refused(result)
            except DeadlineExceeded:
                return result
            except TableUnavailable as error:
                result = BindResult(BindOutcome.LEDGER_UNAVAILABLE, str(error))
            self._sleep(FIRST_POLL_SECONDS)

    def _refused(self, result: BindResult) -> GangPlace | BindResult:
        return self._leave(result) if self._joined is None else self._give_up(self._joined, result)

    def _give_up(self, domain: Domain, result: BindResult) -> GangPlace | BindResult:
        while (after := self._table.withdraw(self._gang.key, domain.fence, self._uid, self._attempt)) is None:
            item = self._table.gang(self._gang.key)
            if item is None:
                return result
            if not item.is_open_in(domain.fence) or item.intent(self._uid, self._attempt) is None:
                # The gang is no longer open. If it is PREPARING, the member's next bind finds the result.
                return self._result(item, domain) or result
            # A transaction holds the item: a commit is under way.
            self._sleep(FIRST_POLL_SECONDS)
        self._joined = None
        if not after.waiting(self._wall()):
            # No member waits now, so close the domain. If the table does not answer, the watcher closes it.
            with suppress(TableUnavailable, DeadlineExceeded):
                self._domain.close(domain.fence)
        return self._leave(result)

    def _leave_another_round(self) -> BindResult:
        """Leave a round that is over. If it was committed with a share for this call, the entry keeps its open
        reservation, so that the watcher finds the entry."""
        return ROUND_ENDED if self._share.is_held() else self._leave(ROUND_ENDED)

    def _leave(self, result: BindResult) -> BindResult:
        """Give up the share, because a commit can no longer assign it. If the table does not answer, it expires."""
        if self._mine is not None:
            self._share.give_up()
        return result
