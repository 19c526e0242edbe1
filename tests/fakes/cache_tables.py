"""Cache tables that record calls, run actions, or fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from berth.lease.lock import Fence
from berth.nodecache.feed.head import Head, Pointer, SnapshotPointer
from berth.nodecache.feed.table import CacheTable, LogItem, LogWrite, TableUnavailable
from berth.scheduling.snapshot.parts import ALL_PARTS, Parts, SnapshotPart

T = TypeVar("T")


class CountingCacheTable(CacheTable):
    """Passes every call on and records the names of the called methods, because reads and writes cost money."""

    def __init__(self, table: CacheTable) -> None:
        self._table = table
        self.calls: list[str] = []

    def head(self) -> Head | None:
        return self._carry("head", self._table.head)

    def head_eventually(self) -> Head | None:
        return self._carry("head_eventually", self._table.head_eventually)

    def put_counting_refusal(self, reason: str) -> None:
        self._carry("put_counting_refusal", lambda: self._table.put_counting_refusal(reason))

    def log(self, uid: str, after: int, through: Mapping[SnapshotPart, int]) -> list[LogItem]:
        return self._carry("log", lambda: self._table.log(uid, after, through))

    def chunks(self, snapshot: SnapshotPointer, parts: Parts = ALL_PARTS) -> list[bytes | None]:
        return self._carry("chunks", lambda: self._table.chunks(snapshot, parts))

    def put_log(self, uid: str, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        return self._carry("put_log", lambda: self._table.put_log(uid, item, nonce, expires_at))

    def put_chunks(
        self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float, wait: Callable[[float], None]
    ) -> None:
        self._carry("put_chunks", lambda: self._table.put_chunks(snapshot_id, chunks, expires_at, wait))

    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        self._carry("publish", lambda: self._table.publish(pointer, fence, renew_time, nonce))

    def _carry(self, method: str, call: Callable[[], T]) -> T:
        self._called(method)
        return call()

    def _called(self, method: str) -> None:
        self.calls.append(method)


class InterruptedCacheTable(CountingCacheTable):
    """Runs an action just before a method runs: another watcher, another thread, an outage."""

    def __init__(self, table: CacheTable, before: Mapping[str, Callable[[], object]]) -> None:
        super().__init__(table)
        self.before = dict(before)

    def _called(self, method: str) -> None:
        super()._called(method)
        action = self.before.get(method)
        if action is not None:
            action()


class Once:
    """An action that is carried out at the first call only."""

    def __init__(self, action: Callable[[], object]) -> None:
        self._action: Callable[[], object] | None = action

    def __call__(self) -> None:
        action, self._action = self._action, None
        if action is not None:
            action()


def outage() -> None:
    """Fail every request as an unreachable table does."""
    raise TableUnavailable("node cache table berth-cache: the table is throttled (ThrottlingException)")
