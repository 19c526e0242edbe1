"""Cache tables that count, follow a script, or are down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from berth.nodecache.head import Head, SnapshotPointer
from berth.nodecache.table import CacheTable, TableUnavailable


class CountingCacheTable(CacheTable):
    """Passes everything on and keeps the names of the methods that were called: reads and writes cost money."""

    def __init__(self, table: CacheTable) -> None:
        self._table = table
        self.calls: list[str] = []

    def head(self) -> Head | None:
        self.calls.append("head")
        return self._table.head()

    def publish(self, head: Head, expected_version: int | None) -> bool:
        self.calls.append("publish")
        return self._table.publish(head, expected_version)

    def put_chunks(self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float) -> None:
        self.calls.append("put_chunks")
        self._table.put_chunks(snapshot_id, chunks, expires_at)

    def chunks(self, snapshot: SnapshotPointer) -> list[bytes | None]:
        self.calls.append(f"chunks {snapshot.id}")
        return self._table.chunks(snapshot)


class ScriptedCacheTable(CacheTable):
    """Answers reads from a script, in order; a call beyond it fails. Writes are not expected at all."""

    def __init__(self, *steps: Head | list[bytes | None] | None) -> None:
        self._steps = list(steps)

    @property
    def finished(self) -> bool:
        """Whether every step was asked for."""
        return not self._steps

    def head(self) -> Head | None:
        step = self._steps.pop(0)
        assert not isinstance(step, list), "the script has chunks next, but the head was read"
        return step

    def chunks(self, snapshot: SnapshotPointer) -> list[bytes | None]:
        step = self._steps.pop(0)
        assert isinstance(step, list), "the script has a head next, but chunks were read"
        return step

    def publish(self, head: Head, expected_version: int | None) -> bool:
        raise AssertionError("nothing is to be published")

    def put_chunks(self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float) -> None:
        raise AssertionError("nothing is to be written")


class InterruptedCacheTable(CountingCacheTable):
    """Lets something happen just before a method runs: another watcher, another thread, an outage."""

    def __init__(self, table: CacheTable, before: Mapping[str, Callable[[], object]]) -> None:
        super().__init__(table)
        self._before = before

    def head(self) -> Head | None:
        self._interrupt("head")
        return super().head()

    def publish(self, head: Head, expected_version: int | None) -> bool:
        self._interrupt("publish")
        return super().publish(head, expected_version)

    def put_chunks(self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float) -> None:
        self._interrupt("put_chunks")
        super().put_chunks(snapshot_id, chunks, expires_at)

    def chunks(self, snapshot: SnapshotPointer) -> list[bytes | None]:
        self._interrupt("chunks")
        return super().chunks(snapshot)

    def _interrupt(self, method: str) -> None:
        happening = self._before.get(method)
        if happening is not None:
            happening()


class Once:
    """A happening that happens the first time only."""

    def __init__(self, happening: Callable[[], object]) -> None:
        self._happening: Callable[[], object] | None = happening

    def __call__(self) -> None:
        happening, self._happening = self._happening, None
        if happening is not None:
            happening()


def outage() -> None:
    """What happens to every request when the table cannot be reached."""
    raise TableUnavailable("node cache table berth-cache: the table is throttled (ThrottlingException)")
