"""The port of the table of gangs, for bind, filter and the watcher.

Guarantees: every read is consistent. Every write is conditional, so a caller may repeat it after a lost answer, and
then finds its own write. `transact` writes all of its items or none. A write on an item that a transaction holds fails
as if its condition were not met: the caller reads the item and decides again.

Every method may raise TableUnavailable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from berth.dynamodb import TableThrottled, TableUnavailable
from berth.extender.deadline import NO_DEADLINE, Deadline, DeadlinePassed
from berth.ledger.gangs.item import Domain, GangItem, GangState, Intent
from berth.ledger.nodes.entry import NodeLedger
from berth.ledger.nodes.node_write import NodeWrite
from berth.scheduling.gangs.gang import GangKey, OpenGang

P = ParamSpec("P")
T = TypeVar("T")

MAX_LEDGERS = 98
"""Maximum number of ledgers in a transaction, besides the gang's and domain's items: DynamoDB accepts 100 actions."""


MAX_ENTRIES = 50
"""Maximum number of entries of a ledger in a transaction: DynamoDB accepts expressions of 4 KB and 300 operators, and a
write of 75 entries exceeds that (tests/contract/ledger/test_gang_table.py)."""

MAX_READS = 4
"""Maximum number of reads for MAX_LEDGERS ledgers. They have at most 39 MB together, and an answer at most 16 MB."""


@dataclass(frozen=True, slots=True)
class LedgersRead:
    """The result of one read. ledgers: the existing ledgers, by owner. left: the owners that were not read."""

    ledgers: Mapping[str, NodeLedger]
    left: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class NotTransacted:
    """The conditions that kept a transaction from being written. owners: the owners whose ledgers do not meet them. If
    no field is set, other writes on these items were under way."""

    gang_changed: bool = False
    domain_changed: bool = False
    owners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Transaction:
    """One write on several items.

    seen: the gang's item, which must still have this version. after: the item afterwards; None: it does not change.
    closes: the domain, which must still have this fence and is closed; None: the domain is not checked. ledgers: the
    writes by owner: a node or a floating pool.
    """

    seen: GangItem
    after: GangItem | None
    closes: Domain | None
    ledgers: Mapping[str, NodeWrite]


class GangTable(ABC):
    """The store of gangs, in the same table as the ledgers."""

    @abstractmethod
    def gangs(self) -> Sequence[GangItem]:
        """Return all gangs in the order of their keys, with one consistent query and all its pages."""

    @abstractmethod
    def gang(self, key: GangKey) -> GangItem | None:
        """Return one gang, or None if it does not have an item."""

    @abstractmethod
    def most_members(self, intent: Intent) -> int:
        """Return how many members of this size an item can hold, with their shares. Does not read the table."""

    def most_of(self, intents: Iterable[Intent]) -> int:
        """Return how many of these members an item can hold, with their shares, if all are as large as the largest."""
        return min(map(self.most_members, intents))

    @abstractmethod
    def put(self, item: GangItem, seen: GangItem | None) -> bool:
        """Replace the item if it still has the version that was seen; otherwise return False."""

    @abstractmethod
    def delete(self, seen: GangItem) -> bool:
        """Delete the item if it still has the version that was seen."""

    @abstractmethod
    def join(self, key: GangKey, round_: int, intent: Intent) -> GangItem | None:
        """Add the intent, or replace the member's intent, if the gang is open in this round. Concurrent members do not
        conflict. Return the item; None: it is not open in this round, is being committed, or is full."""

    @abstractmethod
    def withdraw(self, key: GangKey, round_: int, uid: str, attempt: str) -> GangItem | None:
        """Remove the intent of this attempt if the gang is open in this round. Return the item; None: it is not
        open in this round, does not have the intent, or is being committed."""

    @abstractmethod
    def domain(self) -> Domain:
        """Return the domain, which names the open gang."""

    @abstractmethod
    def put_domain(self, domain: Domain, seen: Domain) -> bool:
        """Replace the domain if it still has the fence and the open gang that were seen."""

    @abstractmethod
    def read_ledgers(self, nodes: Sequence[str]) -> LedgersRead:
        """Read the ledgers of at most MAX_LEDGERS owners in one request. Each ledger alone is read consistently."""

    def ledgers(self, nodes: Collection[str]) -> Mapping[str, NodeLedger]:
        """Return the existing ledgers of these owners, by owner."""
        found, names = dict[str, NodeLedger](), sorted(nodes)
        for first in range(0, len(names), MAX_LEDGERS):
            found |= self._ledgers(names[first : first + MAX_LEDGERS])
        return found

    def _ledgers(self, nodes: Sequence[str]) -> Mapping[str, NodeLedger]:
        found = dict[str, NodeLedger]()
        for _ in range(MAX_READS):
            read = self.read_ledgers(nodes)
            found |= read.ledgers
            if not read.left:
                return found
            nodes = read.left
        raise TableThrottled(f"ledger table: throttled, {len(nodes)} ledgers are left after {MAX_READS} reads")

    @abstractmethod
    def transact(self, transaction: Transaction) -> NotTransacted | None:
        """Write all items or none of them. Return None if they are written. A transaction writes at most MAX_LEDGERS
        ledgers."""


def _timed(method: Callable[Concatenate[GangTable, P], T]) -> Callable[Concatenate[TimedGangTable, P], T]:
    def request(self: TimedGangTable, /, *args: P.args, **kwargs: P.kwargs) -> T:
        self._check_time()
        began_at = self._wall()
        try:
            answer: T = getattr(self._table, method.__name__)(*args, **kwargs)
            return answer
        finally:
            self._requests += 1
            self._seconds += self._wall() - began_at

    return request


class TimedGangTable(GangTable):
    """The table for one call of bind: a request starts only if it can end before the deadline. Every request may raise
    DeadlineExceeded. Running out of time is like a crash between two requests: other calls find the same state."""

    def __init__(self, table: GangTable, check_time: Callable[[], None], wall: Callable[[], float]) -> None:
        """Wrap the table. check_time: raises DeadlineExceeded. wall: returns the seconds since the epoch."""
        self._table, self._check_time, self._wall = table, check_time, wall
        self._requests, self._seconds = 0, 0.0

    @property
    def pace(self) -> float:
        """Return the average duration of a request so far, in seconds."""
        return self._seconds / max(1, self._requests)

    def most_members(self, intent: Intent) -> int:
        return self._table.most_members(intent)

    gangs = _timed(GangTable.gangs)
    gang = _timed(GangTable.gang)
    put = _timed(GangTable.put)
    delete = _timed(GangTable.delete)
    join = _timed(GangTable.join)
    withdraw = _timed(GangTable.withdraw)
    domain = _timed(GangTable.domain)
    put_domain = _timed(GangTable.put_domain)
    read_ledgers = _timed(GangTable.read_ledgers)
    transact = _timed(GangTable.transact)


Read = Callable[[Deadline, Callable[[], Sequence[GangItem]]], Sequence[GangItem]]
"""A read of the table that ends at the deadline."""


class TableOpenGangs:
    """Reads the open gangs, for one warm environment. Thread-safe. While the table does not answer, the gangs of the
    previous read are used. Filter only plans: bind rejects a plan that is based on old gangs."""

    def __init__(self, table: GangTable, wall: Callable[[], float], read: Read, warn: Callable[[str], None]) -> None:
        """Create the view. wall: returns the seconds since the epoch. read: raises DeadlinePassed if the deadline
        passes first. warn: called with failures that do not fail the call."""
        self._table = table
        self._wall = wall
        self._read = read
        self._warn = warn
        self._last: Sequence[GangItem] = ()

    def open_gangs(self, deadline: Deadline = NO_DEADLINE) -> Sequence[OpenGang]:
        try:
            self._last = self._read(deadline, self._table.gangs)
        except (TableUnavailable, DeadlinePassed) as error:
            cause = str(error) or "ledger table: the gangs were not read before the deadline"
            self._warn(f"{cause}; the gangs that were open before count")
        now = self._wall()
        return [each for item in self._last if (each := shown(item, now)) is not None]


def shown(item: GangItem, now: float) -> OpenGang | None:
    """Return the gang as filter sees it, or None if none of its members is being bound."""
    match item.state:
        case GangState.OPEN:
            places = {uid: intent.node for uid, intent in item.waiting(now).items()}
        case GangState.PREPARING | GangState.COMMITTED:
            places = {uid: intent.node for uid, intent in item.intents.items()}
        case GangState.ROLLING_BACK | GangState.ENDED:
            places = {}
    return OpenGang(item.key, item.priority, places, item.state is GangState.COMMITTED) if places else None
