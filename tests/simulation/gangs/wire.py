"""The wire between binds and the table of gangs: at each request others go on, and one of all may be cut short."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, TypeVar

from berth.dynamodb import TableUnavailable
from berth.ledger.gangs.item import Domain, GangItem, Intent
from berth.ledger.gangs.table import GangTable, LedgersRead, NotTransacted, Transaction
from berth.scheduling.gangs.gang import GangKey
from tests.simulation.reservations.binds import Fault, Wire
from tests.simulation.world import World

T = TypeVar("T")

REQUEST_SECONDS = 0.001


def unavailable() -> NoReturn:
    """Raise as a call without a response does."""
    raise TableUnavailable("ledger table: no answer")


class Turns(Wire):
    """At every call another actor may go on. Faults are by the number of the call among those of all binds."""

    def __init__(
        self, world: World, faults: Mapping[int, Fault] | None = None, seconds: float = REQUEST_SECONDS
    ) -> None:
        """seconds: how long each call takes."""
        super().__init__(faults or {})
        self._world, self.seconds = world, seconds
        self.ambush: dict[str, Callable[[], object]] = {}
        """What happens once before a call of this name."""

    def carry(self, name: str, effect: Callable[[], T], unanswered: Callable[[], T]) -> T:
        self._world.pause(self.seconds)
        self.ambush.pop(name, lambda: None)()
        return super().carry(name, effect, unanswered)


class WiredGangTable(GangTable):
    def __init__(self, table: GangTable, wire: Wire) -> None:
        self._table = table
        self._wire = wire

    def gangs(self) -> Sequence[GangItem]:
        return self._wire.carry("Query gangs", self._table.gangs, unavailable)

    def gang(self, key: GangKey) -> GangItem | None:
        return self._wire.carry("GetItem gang", lambda: self._table.gang(key), unavailable)

    def most_members(self, intent: Intent) -> int:
        return self._table.most_members(intent)

    def put(self, item: GangItem, seen: GangItem | None) -> bool:
        return self._written(f"PutItem {item.state}", lambda: self._table.put(item, seen))

    def delete(self, seen: GangItem) -> bool:
        return self._written("DeleteItem gang", lambda: self._table.delete(seen))

    def join(self, key: GangKey, round_: int, intent: Intent) -> GangItem | None:
        return self._wire.carry("join", lambda: self._table.join(key, round_, intent), unavailable)

    def withdraw(self, key: GangKey, round_: int, uid: str, attempt: str) -> GangItem | None:
        return self._wire.carry("withdraw", lambda: self._table.withdraw(key, round_, uid, attempt), unavailable)

    def domain(self) -> Domain:
        return self._wire.carry("GetItem domain", self._table.domain, unavailable)

    def put_domain(self, domain: Domain, seen: Domain) -> bool:
        return self._written("PutItem domain", lambda: self._table.put_domain(domain, seen))

    def read_ledgers(self, nodes: Sequence[str]) -> LedgersRead:
        return self._wire.carry("BatchGetItem", lambda: self._table.read_ledgers(nodes), unavailable)

    def transact(self, transaction: Transaction) -> NotTransacted | None:
        return self._wire.carry("TransactWriteItems", lambda: self._table.transact(transaction), unavailable)

    def _written(self, name: str, write: Callable[[], bool]) -> bool:
        return self._wire.carry(name, write, unavailable)
