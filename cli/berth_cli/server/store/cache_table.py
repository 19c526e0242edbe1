"""The cache table in memory. Items are stored as objects, without encoding."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock

from berth.configuration.store import VERSIONS, AppliedVersion, ConfigurationStore, hash_of
from berth.lease.lock import Fence
from berth.nodecache.feed.head import Head, Pointer, SnapshotPointer
from berth.nodecache.feed.table import CacheTable, LogItem, LogWrite, StaleFence, TableUnavailable
from berth.scheduling.snapshot.parts import ALL_PARTS, Parts, SnapshotPart
from berth_cli.server.store.lease_lock import ConditionFailed, InMemoryItem, publish

_POINTER = "pointer"

LogKey = tuple[str, SnapshotPart, int]
"""The head's UID, the part and the version."""


class InMemoryCacheTable(CacheTable):
    """A cache table in memory. Thread-safe. `item` is the head, which a lease lock may share. Every write is atomic."""

    def __init__(self, item: InMemoryItem) -> None:
        self._item = item
        self._log: dict[LogKey, tuple[LogItem, str]] = {}
        self._chunks: dict[tuple[str, int], bytes] = {}
        self._lock = Lock()

    def head(self) -> Head | None:
        item = self._item.get()
        if item is None:
            return None
        pointer, uid = item.get(_POINTER), str(item.get("uid", ""))
        configuration_hash = str(item.get("configurationHash", ""))
        refusal, plugins = str(item.get("countingRefusal", "")), str(item.get("pluginVersion", ""))
        if pointer is None:
            return Head(uid, None, configuration_hash, refusal, plugins)
        if not isinstance(pointer, Pointer) or not uid:
            raise TableUnavailable("the head item is malformed")
        return Head(uid, pointer, configuration_hash, refusal, plugins)

    def head_eventually(self) -> Head | None:
        return self.head()

    def put_counting_refusal(self, reason: str) -> None:
        with suppress(ConditionFailed):  # there is no head
            self._item.update(lambda item: item is not None, {"countingRefusal": reason})

    def log(self, uid: str, after: int, through: Mapping[SnapshotPart, int]) -> list[LogItem]:
        with self._lock:
            found = (
                self._log.get((uid, part, version))
                for part, last in through.items()
                for version in range(after + 1, last + 1)
            )
            return [each[0] for each in found if each is not None]

    def chunks(self, snapshot: SnapshotPointer, parts: Parts = ALL_PARTS) -> list[bytes | None]:
        with self._lock:
            return [self._chunks.get((snapshot.id, index)) for index in snapshot.indexes(parts)]

    def put_log(self, uid: str, item: LogItem, nonce: str, expires_at: float) -> LogWrite:
        key = uid, item.part, item.version
        with self._lock:
            found = self._log.get(key)
            if found is not None and found[0].epoch >= item.epoch:
                return LogWrite.WRITTEN if found[1] == nonce else LogWrite.STALE_EPOCH
            self._log[key] = (item, nonce)
            return LogWrite.WRITTEN

    def put_chunks(
        self, snapshot_id: str, chunks: Sequence[bytes], expires_at: float, wait: Callable[[float], None]
    ) -> None:
        with self._lock:
            self._chunks.update({(snapshot_id, index): chunk for index, chunk in enumerate(chunks)})

    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        try:
            publish(self._item, fence, {_POINTER: pointer}, renew_time=renew_time, nonce=nonce)
        except ConditionFailed as failed:
            if failed.item is None or failed.item.get("nonce") != nonce:
                raise StaleFence from failed


class TrimmedCacheTable(InMemoryCacheTable):
    """Removes items that readers no longer need when the head gets another snapshot: memory does not have a TTL.

    A reader with the previous head finds an item missing, and reads the head again (see NodeCacheReader). Items that a
    leader has written for its next publication are kept until then.
    """

    def __init__(self, item: InMemoryItem) -> None:
        super().__init__(item)
        self._trimmed_for = ""

    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        super().publish(pointer, fence, renew_time, nonce)
        snapshot = "" if pointer.snapshot is None else pointer.snapshot.id
        if snapshot != self._trimmed_for:
            self._trimmed_for = snapshot
            self._trim(fence.uid, snapshot, pointer.compacted_version)

    def _trim(self, uid: str, snapshot: str, compacted: int) -> None:
        """Keep only this snapshot, and the log of this head after `compacted`."""
        with self._lock:
            for key in [key for key in self._log if key[0] != uid or key[2] <= compacted]:
                del self._log[key]
            for chunk in [chunk for chunk in self._chunks if chunk[0] != snapshot]:
                del self._chunks[chunk]


class InMemoryConfigurationStore(ConfigurationStore):
    """A configuration store in memory. Thread-safe. Keeps only one copy of a document, because parts of memory are not
    lost separately."""

    def __init__(self, item: InMemoryItem) -> None:
        """Prepare an empty store. `item`: the head."""
        self._item = item
        self._lock = Lock()
        self._versions: deque[AppliedVersion] = deque(maxlen=VERSIONS)

    def read(self) -> str | None:
        with self._lock:
            return self._versions[-1].document if self._versions else None

    def counting_is_stopped(self) -> bool:
        with self._lock:
            return bool(self._versions) and self._versions[-1].stops_counting

    def history(self) -> tuple[AppliedVersion, ...]:
        with self._lock:
            return tuple(reversed(self._versions))

    def _apply(self, version: AppliedVersion) -> None:
        with self._lock:
            newest = self._versions[-1].version if self._versions else 0
            self._versions.append(replace(version, version=newest + 1))
            self._item.update(lambda item: True, _pointing_to(version))

    def restore(self) -> str:
        with self._lock:
            if self._versions:
                with suppress(ConditionFailed):
                    self._item.update(
                        lambda item: "configurationHash" not in (item or {}), _pointing_to(self._versions[-1])
                    )
        return ""


def _pointing_to(version: AppliedVersion) -> dict[str, object]:
    return {"configurationHash": hash_of(version.document), "pluginVersion": version.plugin_version}
