"""The wire between binds and the table of gangs: other actors may continue at each request, and requests may fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from berth.ledger.gangs.table import GangTable
from tests.fakes.intercepted import LOCAL, intercepted
from tests.simulation.reservations.binds import Fault, Wire, no_table
from tests.simulation.world import World

T = TypeVar("T")

REQUEST_SECONDS = 0.001


class Turns(Wire):
    """Lets another actor continue at every call. Faults are keyed by the number of the call, counted over all binds."""

    def __init__(
        self, world: World, faults: Mapping[int, Fault] | None = None, seconds: float = REQUEST_SECONDS
    ) -> None:
        """seconds: how long each call takes."""
        super().__init__(faults or {})
        self._world, self.seconds = world, seconds
        self.ambush: dict[str, Callable[[], object]] = {}
        """Maps the name of a call to an action that happens once, before the next call of this name."""

    def carry(self, name: str, effect: Callable[[], T], unanswered: Callable[[], T]) -> T:
        self._world.pause(self.seconds)
        self.ambush.pop(name, lambda: None)()
        return super().carry(name, effect, unanswered)


REQUESTS = {
    "gangs": "Query gangs",
    "gang": "GetItem gang",
    "delete": "DeleteItem gang",
    "domain": "GetItem domain",
    "put_domain": "PutItem domain",
    "read_ledgers": "BatchGetItem",
    "transact": "TransactWriteItems",
}


def wired_gang_table(table: GangTable, wire: Wire) -> GangTable:
    def around(method: str, arguments: tuple[Any, ...], effect: Callable[[], Any]) -> Any:
        if method in LOCAL:
            return effect()
        name = f"PutItem {arguments[0].state}" if method == "put" else REQUESTS.get(method, method)
        return wire.carry(name, effect, no_table)

    return intercepted(GangTable, lambda: table, around)
