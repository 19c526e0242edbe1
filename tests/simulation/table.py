"""DynamoDB as an actor meets it: every call is a step, answers get lost, writes come late, eventual reads are stale."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from berth.lease.in_memory_lock import InMemoryLeaseLock
from berth.lease.lock import Conflict, LeaseLock, Unavailable, Written
from berth.lease.record import Fence, Lease, LeaseSpec
from berth.nodecache.feed.head import Head, Pointer, SnapshotPointer
from berth.nodecache.feed.in_memory_table import InMemoryCacheTable
from berth.nodecache.feed.table import CacheTable, Deposed, LogItem, LogWrite, TableUnavailable
from tests.simulation.world import World

T = TypeVar("T")

CALL_SECONDS = 0.01
TIMEOUT_SECONDS = 1.0


@dataclass(slots=True)
class Faults:
    """How likely each is for a call: refused before it is carried out, its answer lost, carried out only much later."""

    throttled: float = 0.0
    lost: float = 0.0
    late: float = 0.0
    stale: float = 0.0


class Network:
    """Between one actor and the table."""

    def __init__(self, world: World, faults: Faults) -> None:
        self._world = world
        self._faults = faults

    def read(self, call: Callable[[], T]) -> T:
        """A read: it may fail, and costs time."""
        self._world.pause(CALL_SECONDS)
        chance = self._world.random.random()
        if chance < self._faults.throttled + self._faults.lost:
            self._world.pause(TIMEOUT_SECONDS)
            raise TableUnavailable("throttled")
        return call()

    def write(self, call: Callable[[], T]) -> T:
        """A write: whether it was carried out is not always told."""
        self._world.pause(CALL_SECONDS)
        chance = self._world.random.random()
        if chance < self._faults.throttled:
            raise TableUnavailable("throttled")
        chance -= self._faults.throttled
        if chance < self._faults.lost:
            _carry_out(call)
            self._world.pause(TIMEOUT_SECONDS)
            raise TableUnavailable("the answer was lost")
        chance -= self._faults.lost
        if chance < self._faults.late:
            self._world.after(self._world.random.uniform(0.0, 60.0), lambda: _carry_out(call))
            self._world.pause(TIMEOUT_SECONDS)
            raise TableUnavailable("the request is still on its way")
        answer = call()
        self._world.pause()
        return answer

    def is_stale(self) -> bool:
        """Whether an eventually consistent read misses what was written a moment ago."""
        return self._world.random.random() < self._faults.stale


def _carry_out(call: Callable[[], object]) -> None:
    with suppress(Deposed):  # nobody is there to be told
        call()


class SimulatedTable(CacheTable):
    """The table over an actor's network."""

    def __init__(self, table: InMemoryCacheTable, network: Network) -> None:
        self._table = table
        self._network = network

    def head(self) -> Head | None:
        return self._network.read(self._table.head)

    def log(self, after: int, through: int) -> list[LogItem]:
        return self._network.read(lambda: self._table.log(after, through))

    def chunks(self, snapshot: SnapshotPointer) -> list[bytes | None]:
        chunks = self._network.read(lambda: self._table.chunks(snapshot))
        return [None if self._network.is_stale() else chunk for chunk in chunks]

    def put_log(self, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        return self._network.write(lambda: self._table.put_log(item, nonce, expires_at))

    def put_chunks(self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float) -> None:
        self._network.write(lambda: self._table.put_chunks(snapshot_id, chunks, expires_at))

    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        self._network.write(lambda: self._table.publish(pointer, fence, renew_time, nonce))


class SimulatedLock(LeaseLock):
    """The lease lock over the same network."""

    def __init__(self, lock: InMemoryLeaseLock, network: Network) -> None:
        self._lock = lock
        self._network = network

    def get(self) -> Lease | Unavailable | None:
        return self._told(lambda: self._network.read(self._lock.get))

    def create(self, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        return self._told(lambda: self._network.write(lambda: self._lock.create(spec)))

    def update(self, seen: Lease, spec: LeaseSpec) -> Written | Conflict | Unavailable:
        return self._told(lambda: self._network.write(lambda: self._lock.update(seen, spec)))

    @staticmethod
    def _told(call: Callable[[], T]) -> T | Unavailable:
        try:
            return call()
        except TableUnavailable as error:
            return Unavailable(str(error))
