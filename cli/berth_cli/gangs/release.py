"""End the placement of a gang, so that another one may be placed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from berth.gangs.commit import REASON_RELEASED, GangCommit
from berth.gangs.item import Domain, GangItem, GangState
from berth.gangs.table import GangTable
from berth.scheduling.gangs.gang import GangKey

IN_BIND = (GangState.OPEN, GangState.PREPARING, GangState.ROLLING_BACK)


class ReleaseOutcome(StrEnum):
    """COMMITTED: its members have their places. NOT_OPEN: nobody of it is being bound. CHANGED: its members went on
    meanwhile."""

    RELEASED = "released"
    COMMITTED = "committed"
    NOT_OPEN = "not-open"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class ReleaseTarget:
    """What is to be released, as it was read. Only this is released: each write requires that nothing has changed."""

    key: GangKey
    item: GangItem | None
    domain: Domain

    @property
    def revision(self) -> str:
        """Another one after every write to the gang's item, and to whether it has the domain."""
        claim = self.domain.open
        fence = self.domain.fence if claim is not None and claim.key == self.key else 0
        return f"{0 if self.item is None else self.item.version}-{fence}"

    def in_bind(self, now: float) -> int:
        """How many members wait in bind for the others. now: seconds since the epoch."""
        return len(self.item.waiting(now)) if self.item is not None and self.item.state in IN_BIND else 0

    @property
    def keeps_domain(self) -> bool:
        """Whether the gang keeps others from being placed without an open round: a call died before its first write,
        or after the last one."""
        claim = self.domain.open
        is_named = claim is not None and claim.key == self.key
        return is_named and (self.item is None or self.item.state in (GangState.ENDED, GangState.COMMITTED))


def read_target(table: GangTable, key: GangKey) -> ReleaseTarget:
    """Raises TableUnavailable."""
    return ReleaseTarget(key, table.gang(key), table.domain())


def release(table: GangTable, target: ReleaseTarget, wall: Callable[[], float]) -> ReleaseOutcome:
    """wall: seconds since the epoch. Raises TableUnavailable."""
    item = target.item
    commit = GangCommit(table, wall)
    match None if item is None else item.state:
        case GangState.OPEN | GangState.PREPARING:
            assert item is not None
            is_released = commit.abort(item, REASON_RELEASED)
        case GangState.ROLLING_BACK:
            assert item is not None
            is_released = commit.roll_back(item)
        case _ if target.keeps_domain:
            is_released = table.put_domain(target.domain.closed(), target.domain)
        case GangState.COMMITTED:
            return ReleaseOutcome.COMMITTED
        case _:
            return ReleaseOutcome.NOT_OPEN
    return ReleaseOutcome.RELEASED if is_released else ReleaseOutcome.CHANGED
