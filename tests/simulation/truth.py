"""What really happened to the table: kept beside it, so that what actors do and see can be held against it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from berth.lease.in_memory_lock import InMemoryItem
from berth.lease.record import NO_RECORD, Fence, read_lease
from berth.nodecache.feed.changes import Change, Key, Object, unpack
from berth.nodecache.feed.head import Pointer
from berth.nodecache.feed.in_memory_table import InMemoryCacheTable

State = Mapping[Key, Object]


class ObjectsOnlyView:
    """A reader's state: the objects, never changed in place."""

    def empty(self) -> dict[Key, Object]:
        return {}

    def applied(self, state: dict[Key, Object], changes: Iterable[Change]) -> dict[Key, Object]:
        following = dict(state)
        for resource, key, kept in changes:
            if kept is None:
                following.pop((resource, key), None)
            else:
                following[resource, key] = kept
        return following


class _RecordingTable(InMemoryCacheTable):
    """Tells of every publication, whenever it is carried out."""

    def __init__(self, item: InMemoryItem, published: Callable[[int, Pointer, Fence], None]) -> None:
        super().__init__(item)
        self._published = published

    def publish(self, pointer: Pointer, fence: Fence, renew_time: float, nonce: str) -> None:
        head = self.head()
        before = head.pointer.version if head and head.pointer else 0
        super().publish(pointer, fence, renew_time, nonce)
        self._published(before, pointer, fence)


class Truth:
    """The table that all actors share, and the state that each published version stands for."""

    def __init__(self) -> None:
        self.item = InMemoryItem()
        self.table = _RecordingTable(self.item, self._published)
        self._states: dict[int, State] = {0: {}}
        self._head_version = 0
        self._epoch = 0
        self._seen: dict[int, tuple[int, State]] = {}

    def check(self) -> None:
        """Epoch and head version only grow."""
        item = self.item.get()
        epoch = NO_RECORD.spec.lease_transitions if item is None else read_lease(item).spec.lease_transitions
        assert epoch >= self._epoch, "the epoch went back"
        self._epoch = epoch
        version = self._head_version_now()
        assert version >= self._head_version, "the head's version went back"
        self._head_version = version

    def saw(self, reader: int, version: int, state: State) -> None:
        """A reader was given this state, at this version."""
        before, _ = self._seen.get(reader, (0, {}))
        assert version >= before, f"reader {reader} went back in time"
        assert version <= self._head_version_now(), f"reader {reader} has seen what is not published"
        assert state == self._states[version], f"reader {reader} has another state at version {version}"
        self._seen[reader] = (version, state)

    def last_seen(self, reader: int) -> State:
        """The state that a reader was given last."""
        return self._seen.get(reader, (0, {}))[1]

    def _published(self, before: int, pointer: Pointer, fence: Fence) -> None:
        item = self.item.get()
        assert item is not None
        held = read_lease(item).spec.lease_transitions
        assert fence.lease_transitions == held, "a deposed leader published"
        if pointer.compacted_version == pointer.version != before:
            state: State = self._snapshot_state(pointer)
        else:
            items = self.table.log(before, pointer.version)
            versions = [each.version for each in items]
            assert versions == list(range(before + 1, pointer.version + 1)), "a log item of the publication is missing"
            state = ObjectsOnlyView().applied(dict(self._states[before]), unpack(each.data for each in items))
        if pointer.snapshot is not None and pointer.snapshot.version == pointer.version:
            assert self._snapshot_state(pointer) == state, "the snapshot is not the state of its version"
        self._states[pointer.version] = state

    def _head_version_now(self) -> int:
        head = self.table.head()
        return head.pointer.version if head and head.pointer else 0

    def _snapshot_state(self, pointer: Pointer) -> dict[Key, Object]:
        assert pointer.snapshot is not None
        chunks = self.table.chunks(pointer.snapshot)
        assert None not in chunks, "a chunk of the publication is missing"
        return ObjectsOnlyView().applied({}, unpack(chunk for chunk in chunks if chunk is not None))
