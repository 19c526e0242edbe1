"""The ledger's table and the pods, watched: every version that is committed, and every Binding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from random import Random
from threading import Lock
from typing import TypeVar

from mypy_boto3_dynamodb.client import DynamoDBClient

from berth.ledger.nodes.dynamodb_table import DynamoDBLedgerTable
from berth.ledger.nodes.entry import NodeLedger, OpenReservation
from berth.ledger.nodes.node_write import NodeWrite
from berth.ledger.nodes.table import NotWritten, TableUnavailable, Written
from berth.pods import Binding, Created, Refused, Unanswered
from tests.fakes.pods import PodsInMemory
from tests.simulation.reservations.binds import Died

T = TypeVar("T")


def assert_gives_no_more(ledger: NodeLedger) -> None:
    """Berth reserved no more than there is. What pods of other components hold beyond that is owed."""
    avail = ledger.avail or {}
    for pool in {
        *ledger.capacity,
        *avail,
        *ledger.owed,
        *(pool for each in ledger.entries.values() for pool in each.shares),
    }:
        capacity, owed = ledger.capacity.get(pool, 0), ledger.owed.get(pool, 0)
        reserved = sum(each.shares.get(pool, 0) for each in ledger.entries.values() if each.attempt)
        assert reserved <= capacity, f"{ledger.node} has {capacity} of {pool}, and Berth reserved {reserved}"
        difference = capacity - ledger.allocated(pool)
        assert avail.get(pool, 0) - owed == difference, f"{pool} of {ledger.node} does not add up"
        assert not (avail.get(pool, 0) and owed), f"{ledger.node} owes {owed} of {pool}, and gives {avail[pool]}"


class CheckedLedgerTable(DynamoDBLedgerTable):
    """What an update leaves behind (ALL_NEW) is a committed version: all of them pass here, and all of them add up."""

    def __init__(self, client: DynamoDBClient, table_name: str) -> None:
        super().__init__(client, table_name)
        self.versions = 0
        self.refused = 0

    def node(self, name: str) -> NodeLedger | None:
        found = super().node(name)
        if found is not None:
            assert_gives_no_more(found)
        return found

    def write(self, node: str, change: NodeWrite) -> Written | NotWritten:
        written = super().write(node, change)
        if written.ledger is not None:
            assert_gives_no_more(written.ledger)
        if isinstance(written, Written):
            self.versions += 1
        else:
            self.refused += 1
        return written


class FaultyTable(CheckedLedgerTable):
    """A table whose answers are lost now and then, or whose caller dies; for one bind."""

    def __init__(self, table: CheckedLedgerTable, random: Random, chance: float) -> None:
        self._inner = table
        self._random = random
        self._chance = chance
        self.writes: list[str] = []

    def node(self, name: str) -> NodeLedger | None:
        return self._carry(lambda: self._inner.node(name))

    def write(self, node: str, change: NodeWrite) -> Written | NotWritten:
        def write() -> Written | NotWritten:
            result = self._inner.write(node, change)
            self.writes.append(type(result).__name__)
            return result

        return self._carry(write)

    def put_open(self, reservation: OpenReservation) -> None:
        self._carry(lambda: self._inner.put_open(reservation))

    def delete_open(self, uid: str, node: str, attempt: str) -> None:
        self._carry(lambda: self._inner.delete_open(uid, node, attempt))

    def _carry(self, call: Callable[[], T]) -> T:
        drawn = self._random.random()
        if drawn < self._chance:
            raise Died
        result = call()
        if drawn < 2 * self._chance:
            raise Died
        if drawn < 3 * self._chance:
            raise TableUnavailable("the answer was lost")
        return result


class CheckedPods(PodsInMemory):
    """Counts what is on each node by the cluster's own account, which no ledger can gloss over."""

    def __init__(self, capacity: Mapping[str, int], shares: Callable[[Binding], Mapping[str, int]]) -> None:
        super().__init__()
        self._capacity = capacity
        self._shares = shares
        self._count_lock = Lock()
        self._on: dict[str, Counter[str]] = {}
        self._held: dict[str, tuple[str, Mapping[str, int]]] = {}
        self.bound = 0

    def create_binding(self, binding: Binding, timeout: float) -> Created | Refused | Unanswered:
        with self._count_lock:
            result = super().create_binding(binding, timeout)
            if isinstance(result, Created):
                self.bound += 1
                shares = self._shares(binding)
                self._held[binding.pod_uid] = binding.node, shares
                on = self._on.setdefault(binding.node, Counter())
                on.update(shares)
                for pool, amount in on.items():
                    assert amount <= self._capacity.get(pool, 0), f"{binding.node}: {amount} of {pool} are bound"
            return result

    def held(self, uid: str) -> Mapping[str, int]:
        """What the pod got by its Binding, whatever its annotations say now."""
        with self._count_lock:
            return self._held.get(uid, ("", {}))[1]

    def end(self, name: str, uid: str) -> None:
        """The pod ends, and is gone."""
        with self._count_lock:
            self.delete(name)
            node, shares = self._held.pop(uid, ("", {}))
            if node:
                self._on[node].subtract(shares)
