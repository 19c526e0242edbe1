"""The table of gangs for one call of bind: no request begins that may not end before the deadline.

To run out of time is like a crash between two requests: what others may find then, they find after a crash, too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TypeVar

from berth.gangs.item import Domain, GangItem, Intent
from berth.gangs.table import GangTable, NotTransacted, Transaction
from berth.reservations.ledger.entry import NodeLedger
from berth.scheduling.gangs.gang import GangKey

T = TypeVar("T")


class TimedGangTable(GangTable):
    """Every request may raise DeadlineExceeded. For one call."""

    def __init__(self, table: GangTable, check_time: Callable[[], None], wall: Callable[[], float]) -> None:
        """check_time: raises DeadlineExceeded. wall: seconds since the epoch."""
        self._table, self._check_time, self._wall = table, check_time, wall
        self._requests, self._seconds = 0, 0.0

    @property
    def pace(self) -> float:
        """Seconds that a request took until now, on average."""
        return self._seconds / max(1, self._requests)

    def gangs(self) -> Sequence[GangItem]:
        return self._made(self._table.gangs)

    def gang(self, key: GangKey) -> GangItem | None:
        return self._made(partial(self._table.gang, key))

    def most_members(self, intent: Intent) -> int:
        return self._table.most_members(intent)

    def put(self, item: GangItem, seen: GangItem | None) -> bool:
        return self._made(partial(self._table.put, item, seen))

    def delete(self, seen: GangItem) -> bool:
        return self._made(partial(self._table.delete, seen))

    def join(self, key: GangKey, round_: int, intent: Intent) -> GangItem | None:
        return self._made(partial(self._table.join, key, round_, intent))

    def withdraw(self, key: GangKey, round_: int, uid: str, attempt: str) -> GangItem | None:
        return self._made(partial(self._table.withdraw, key, round_, uid, attempt))

    def domain(self) -> Domain:
        return self._made(self._table.domain)

    def put_domain(self, domain: Domain, seen: Domain) -> bool:
        return self._made(partial(self._table.put_domain, domain, seen))

    def ledgers(self, nodes: Collection[str]) -> Mapping[str, NodeLedger]:
        return self._made(partial(self._table.ledgers, nodes))

    def transact(self, transaction: Transaction) -> NotTransacted | None:
        return self._made(partial(self._table.transact, transaction))

    def _made(self, request: Callable[[], T]) -> T:
        self._check_time()
        began_at = self._wall()
        try:
            return request()
        finally:
            self._requests += 1
            self._seconds += self._wall() - began_at
