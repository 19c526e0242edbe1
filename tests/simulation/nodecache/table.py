"""DynamoDB as seen by an actor: every call is a step, answers get lost, writes come late, eventual reads are stale."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from berth.lease.lock import Conflict, Fence, Lease, LeaseLock, LeaseSpec, Unavailable, Written
from berth.nodecache.feed.head import Head, Pointer, SnapshotPointer
from berth.nodecache.feed.table import CacheTable, LogItem, LogWrite, StaleFence, TableUnavailable
from berth.scheduling.snapshot.parts import ALL_PARTS, Parts, SnapshotPart
from berth_cli.server.store.lease_lock import InMemoryLeaseLock
from tests.simulation.world import World

from .ambush import Ambush
from .storage import RecordedTable

T = TypeVar("T")

CALL_SECONDS = 0.01
TIMEOUT_SECONDS = 1.0


@dataclass(slots=True)
class Faults:
    """Probability of each fault of a call. `throttled`: refused before it is carried out; `no_chunks`: the same for
    chunks only, which take a table's whole throughput. `lost`: the answer is lost. `late`: carried out `latest` seconds
    later at most; `late_log`: the same for log items only. `stale`: an eventually consistent read misses a chunk.
    """

    throttled: float = 0.0
    no_chunks: float = 0.0
    lost: float = 0.0
    late: float = 0.0
    late_log: float = 0.0
    latest: float = 60.0
    stale: float = 0.0


class Network:
    def __init__(self, world: World, faults: Faults) -> None:
        self._world = world
        self._faults = faults

    def read(self, call: Callable[[], T]) -> T:
        """Carry out a read, which may fail and takes time."""
        self._world.pause(CALL_SECONDS)
        chance = self._world.random.random()
        if chance < self._faults.throttled + self._faults.lost:
            self._world.pause(TIMEOUT_SECONDS)
            raise TableUnavailable("throttled")
        answer = call()
        self._world.pause(self._world.random.uniform(0.0, CALL_SECONDS))
        return answer

    def write(self, call: Callable[[], T], latest: float = math.inf, late: float = 0.0) -> T:
        """Carry out a write; its response may be lost. `latest`: its greatest delay in seconds; `late`: the probability
        of a late write in addition to `Faults.late`."""
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
        if chance < self._faults.late + late:
            delay = self._world.random.uniform(0.0, min(latest, self._faults.latest))
            self._world.after(delay, lambda: _carry_out(call))
            self._world.pause(TIMEOUT_SECONDS)
            raise TableUnavailable("the request is still on its way")
        answer = call()
        self._world.pause()
        return answer

    def write_chunks(self) -> None:
        """Take the time of a write of chunks, which may fail; the caller writes them."""
        if self._faults.no_chunks > 0.0 and self._world.random.random() < self._faults.no_chunks:
            self._world.pause(CALL_SECONDS)
            raise TableUnavailable("throttled")
        self.write(lambda: None)

    def is_stale(self) -> bool:
        """Draw whether an eventually consistent read misses recent writes."""
        return self._faults.stale > 0.0 and self._world.random.random() < self._faults.stale

    def some(self, count: int) -> list[int]:
        """Draw which of `count` concurrent writes were carried out before one failed."""
        return [index for index in range(count) if self._world.random.random() < 0.5]

    @property
    def late_log(self) -> float:
        return self._faults.late_log

    @property
    def wall_error(self) -> float:
        """The error of the actor's clock in seconds."""
        return self._world.current().wall_error


def _carry_out(call: Callable[[], object]) -> None:
    with suppress(StaleFence):  # no caller waits for the result
        call()


class SimulatedTable(CacheTable):
    """The table over an actor's network.

    Days are minutes here, but delays and clock errors have their real length: if they would make items expire before
    they are published, the delay is limited and the clock error is ignored.
    """

    def __init__(self, table: RecordedTable, network: Network, lifetime: float, ambush: Ambush) -> None:
        self._table = table
        self._ambush = ambush
        self._latest = lifetime / 2
        self._network = network

    def head(self) -> Head | None:
        return self._network.read(self._table.head)

    def head_eventually(self) -> Head | None:
        return self.head()

    def put_counting_refusal(self, reason: str) -> None:
        self._network.read(lambda: self._table.put_counting_refusal(reason))

    def log(self, uid: str, after: int, through: Mapping[SnapshotPart, int]) -> list[LogItem]:
        return self._network.read(lambda: self._table.log(uid, after, through))

    def chunks(self, snapshot: SnapshotPointer, parts: Parts = ALL_PARTS) -> list[bytes | None]:
        chunks = self._network.read(lambda: self._table.chunks(snapshot, parts))
        return [None if self._network.is_stale() else chunk for chunk in chunks]

    def put_log(self, uid: str, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        expires_at -= self._network.wall_error

        def write() -> LogWrite:
            return self._table.put_log(uid, item, nonce, expires_at)

        self._ambush.meet(uid, item, write)
        return self._network.write(write, late=self._network.late_log)

    def put_chunks(
        self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float, wait: Callable[[float], None]
    ) -> None:
        expires_at -= self._network.wall_error
        try:
            self._network.write_chunks()
        except TableUnavailable:
            self._table.put_some_chunks(snapshot_id, chunks, self._network.some(len(chunks)), expires_at)
            raise
        self._table.put_chunks(snapshot_id, chunks, expires_at, wait)

    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        self._network.write(lambda: self._table.publish(pointer, fence, renew_time, nonce), latest=self._latest)


class SimulatedLock(LeaseLock):
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
