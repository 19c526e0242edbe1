"""The gangs that are being bound, as filter reads them: by one query, and only for members of gangs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from berth.dynamodb_errors import TableUnavailable
from berth.extender.deadline import NO_DEADLINE, Deadline
from berth.extender.ports import OpenGangs
from berth.ledger.gangs.item import GangItem, GangState
from berth.ledger.gangs.table import GangTable
from berth.scheduling.gangs.gang import OpenGang

Read = Callable[[Deadline, Callable[[], Sequence[GangItem]]], Sequence[GangItem]]
"""A read of the table that ends at the deadline."""


class TableOpenGangs(OpenGangs):
    """For one warm environment. Safe to share between threads.

    While the table does not answer, the gangs of the read before count. Filter only plans: what it plans by old gangs,
    bind rejects.
    """

    def __init__(self, table: GangTable, wall: Callable[[], float], read: Read, warn: Callable[[str], None]) -> None:
        """wall: seconds since the epoch. read: raises TableUnavailable where the deadline passed first. warn: called
        with failures that the call survived."""
        self._table = table
        self._wall = wall
        self._read = read
        self._warn = warn
        self._last: Sequence[GangItem] = ()

    def open_gangs(self, deadline: Deadline = NO_DEADLINE) -> Sequence[OpenGang]:
        try:
            self._last = self._read(deadline, self._table.gangs)
        except TableUnavailable as error:
            self._warn(f"{error}; the gangs that were open before count")
        now = self._wall()
        return [each for item in self._last if (each := shown(item, now)) is not None]


def shown(item: GangItem, now: float) -> OpenGang | None:
    """The gang as filter sees it. None: nobody of it is being bound."""
    match item.state:
        case GangState.OPEN:
            places = {uid: intent.node for uid, intent in item.waiting(now).items()}
        case GangState.PREPARING | GangState.COMMITTED:
            places = {uid: intent.node for uid, intent in item.intents.items()}
        case GangState.ROLLING_BACK | GangState.ENDED:
            places = {}
    return OpenGang(item.key, item.priority, places, item.state is GangState.COMMITTED) if places else None
