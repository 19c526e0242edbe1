"""Opens the contention domain for the gang of one call of bind, and waits while another gang is open."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from berth.ledger.gangs.item import Claim, Domain, GangState
from berth.ledger.gangs.table import GangTable
from berth.scheduling.gangs.gang import Gang
from berth.scheduling.gangs.members import order_of_members, waits
from berth.scheduling.objects import Pod

PLACING_SECONDS = 5.0
"""Seconds after which an open gang counts as lacking members. Calls of other gangs stop waiting for its end, because
its members may need the execution environments or threads that these calls occupy."""

JOINING_SECONDS = 0.5
"""Seconds that a waiting call reserves to join its own gang: members find the domain free within LAST_POLL_SECONDS."""

FIRST_POLL_SECONDS = 0.05
LAST_POLL_SECONDS = 0.25

READS_A_SECOND = 1500.0
"""Reads of one item per second by all waiting members, in read units: half of DynamoDB's limit for a partition."""


class DomainOpening:
    """Opens the domain for one call. Methods may raise TableUnavailable and DeadlineExceeded."""

    def __init__(
        self,
        table: GangTable,
        gang: Gang,
        may_queue: bool,
        withdraw: Callable[[], None],
        has_time: Callable[[float], bool],
        wall: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        """Create the opening. may_queue: whether this call may wait until another gang ends. withdraw: withdraws the
        member's announcement before the wait. has_time: returns whether this many seconds are left. wall: returns the
        seconds since the epoch."""
        self._table, self._gang, self._may_queue, self._has_time = table, gang, may_queue, has_time
        self._withdraw, self._wall, self._sleep = withdraw, wall, sleep
        self._pause = FIRST_POLL_SECONDS
        self._opened: Domain | None = None

    def open(self) -> Domain | None:
        """Return the domain with this gang open. None: the gang cannot be opened yet, and this call stops waiting."""
        while True:
            now, seen = self._wall(), self._table.domain()
            gang = self._gang
            claim = Claim(gang.key, gang.priority or 0, now + gang.timeout, now, gang.minimum)
            opened = seen.opened_by(claim, now)
            if opened is seen:
                return seen
            if opened is not None and self._table.put_domain(opened, seen):
                self._opened = opened
                return opened
            if opened is None and not self._waits_in_queue(seen, now):
                return None
            self.pause(sum(queued.members for queued in seen.queue.values()))

    def keep(self) -> None:
        self._opened = None

    def close_unused(self) -> None:
        """Close the domain if this call has opened it and the round has not begun."""
        opened, self._opened = self._opened, None
        if opened is None:
            return
        item = self._table.gang(self._gang.key)
        if item is not None and item.state is GangState.OPEN and item.round == opened.fence:
            return
        self.close(opened.fence)

    def close(self, round_: int) -> None:
        """Close the domain if it is still open for this round of the gang, so that the next gang can open it."""
        seen = self._table.domain()
        if seen.holds(self._gang.key, round_):
            self._table.put_domain(seen.closed(), seen)

    def pause(self, members: int) -> None:
        """Pause between two reads of the domain's item, longer each time up to a limit. members: the number of members
        that read it."""
        self._sleep(self._pause)
        self._pause = min(max(LAST_POLL_SECONDS, members / READS_A_SECOND), 1.5 * self._pause)

    def _waits_in_queue(self, seen: Domain, now: float) -> bool:
        """Return whether this call waits for the end of the open gang. It waits if that gang was opened recently, if
        this member may queue and has time to join afterwards, and if the queue is not full."""
        assert seen.open is not None  # otherwise this gang would have been opened
        is_over = now - seen.open.opened_at >= PLACING_SECONDS
        if is_over or not self._may_queue or not self._has_time(JOINING_SECONDS):
            return False
        # An earlier pass may have found this member's gang open, and announced the member.
        self._withdraw()
        queued = seen.queued(self._gang.key, self._gang.minimum, now)
        if queued is not None and queued is not seen:
            # Another gang may write its place at the same time; then the next pass repeats this write.
            self._table.put_domain(queued, seen)
        return queued is not None


def is_needed(uid: str, minimum: int, pods: Mapping[str, Pod]) -> bool:
    """Return whether this member may wait in the queue: only as many members as the gang's minimum may wait. pods: the
    gang's pods in the node cache, which might not contain this pod yet."""
    waiting = [each.uid for each in sorted(filter(waits, pods.values()), key=order_of_members)]
    return uid in waiting[:minimum] or (uid not in pods and len(waiting) < minimum)
