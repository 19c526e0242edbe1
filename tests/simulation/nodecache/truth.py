"""The true history of the table, which serves to check the actions and views of all actors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from berth.lease.lock import Fence, Lease, read_lease
from berth.nodecache.feed.changes import Change, Key, Object, part_of, unpack
from berth.nodecache.feed.head import BEGINNING, Head, Pointer, in_every_part
from berth.nodecache.feed.reader import LogPosition, read_log
from berth.nodecache.feed.table import LogItem, LogWrite
from berth.scheduling.snapshot.parts import NO_PARTS, Parts
from tests.simulation.world import World

from .cluster import RESOURCES, ApiServer
from .storage import RecordedItem, RecordedTable, Witness

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


def in_parts(state: State, parts: Parts) -> State:
    return {key: kept for key, kept in state.items() if part_of(key[0]) in parts}


class Truth(Witness):
    """The table that all actors share, and the state of each published version, by the head's uid."""

    def __init__(self, world: World, server: ApiServer, lifetime: float, kind: type[RecordedTable]) -> None:
        self.item = RecordedItem()
        self.item.witness = self
        self.table = kind(world, self.item, self, lifetime)
        self._server = server
        self._states: dict[tuple[str, int], State] = {}
        self._items: dict[int, list[LogItem]] = {}
        self.on_publication: Callable[[str, int], None] = lambda uid, version: None
        self.decoded: Callable[[bytes], bytes] = lambda data: data
        self._lease: Lease | None = None
        self._pointer: Pointer | None = None
        self._seen: dict[int, tuple[str, int, State, Parts]] = {}

    def head_written(self) -> None:
        item = self.item.get()
        if item is None:
            self._lease = self._pointer = None
            return
        lease, before = read_lease(item), self._lease
        head = self.table.head()
        pointer, pointed = head.pointer if head else None, self._pointer
        self._lease, self._pointer = lease, pointer
        if before is None or before.uid != lease.uid:
            return
        assert lease.spec.lease_transitions >= before.spec.lease_transitions, "the epoch went back"
        assert lease.resource_version > before.resource_version, "the head was written without a look at its version"
        if pointed is not None and pointer is not pointed:
            assert pointer is not None, "the pointer is gone"
            assert pointer.version >= pointed.version, "the head's version went back"
            assert pointer.compacted_version >= pointed.compacted_version, "compactedVersion went back"
            assert _snapshot_version(pointer) >= _snapshot_version(pointed), "the snapshot's version went back"

    def published(self, before: Head, fence: Fence) -> None:
        item, pointer = self.item.get(), self._pointer
        assert item is not None
        assert pointer is not None
        held = read_lease(item).spec.lease_transitions
        assert fence.lease_transitions == held, "a deposed leader published"
        known = LogPosition(0, in_every_part(BEGINNING))
        if before.pointer is not None:
            known = LogPosition(before.pointer.version, before.pointer.newest)
        if pointer.version == known.version:
            assert pointer.newest == known.newest, "a part's version has changed, and the published version has not"
            state = self._states.get((fence.uid, known.version), {})
        elif pointer.compacted_version == pointer.version:
            assert pointer.newest == in_every_part(pointer.published), "a part goes on as if nothing had been replaced"
            state = self._snapshot_state(pointer)
        else:
            state = self._state_after(fence.uid, known, pointer)
        if pointer.snapshot is not None and pointer.snapshot.version == pointer.version and pointer != before.pointer:
            is_new = before.pointer is None or before.pointer.snapshot != pointer.snapshot
            assert not is_new or self._snapshot_state(pointer) == state, "the snapshot is not the state of its version"
            assert pointer.snapshot.newest == pointer.newest, "the log does not go on from the snapshot"
        self._states[fence.uid, pointer.version] = state
        self._check_positions(pointer, state)
        self.on_publication(fence.uid, pointer.version)

    def log_written(self, uid: str, before: LogItem | None, item: LogItem, outcome: LogWrite) -> None:
        if before is not None and before in self._items.get(item.version, ()):
            assert self.table.log_item(uid, item.part, item.version) is before, "a published log item was overwritten"
        if self._lease is not None and self._lease.uid == uid and self._lease.spec.holder_identity:
            is_the_leaders = item.epoch == self._lease.spec.lease_transitions
            assert outcome is LogWrite.WRITTEN or not is_the_leaders, "the leader cannot write its log"

    def _state_after(self, uid: str, known: LogPosition, pointer: Pointer) -> State:
        items = read_log(self.table, uid, known, pointer.newest)
        assert items is not None, "a log item of the publication is missing, or another's"
        versions = [each.version for each in items]
        assert versions == list(range(known.version + 1, pointer.version + 1)), (
            "a version of the publication has no item"
        )
        for each in items:
            self._items.setdefault(each.version, []).append(each)
        state = self._states.get((uid, known.version), {})
        return ObjectsOnlyView().applied(dict(state), unpack(self.decoded(each.data) for each in items))

    def _snapshot_state(self, pointer: Pointer) -> State:
        assert pointer.snapshot is not None
        chunks = self.table.chunks(pointer.snapshot)
        assert None not in chunks, "a chunk of the publication is missing"
        return ObjectsOnlyView().applied({}, unpack(self.decoded(chunk) for chunk in chunks if chunk is not None))

    def _check_positions(self, pointer: Pointer, state: State) -> None:
        """Assert that each position matches the published state exactly: a successor resumes there."""
        for resource in RESOURCES:
            position = pointer.observation.positions[resource]
            published = {name: kept for (kind, name), kept in state.items() if kind == resource}
            expected = self._server.as_of(resource, int(position.resource_version))
            assert published == expected, f"what is published of {resource} is not what its position says"

    def observe(self, reader: int, version: int, uid: str, state: State, parts: Parts) -> None:
        """Check the parts of the state that a reader was given at a version of a head item."""
        before_uid, before, *_ = self._seen.get(reader, (uid, 0, {}, NO_PARTS))
        assert version >= before or uid != before_uid, f"reader {reader} went back in time"
        assert (uid, version) in self._states, f"reader {reader} has seen what is not published"
        published = in_parts(self._states[uid, version], parts)
        assert state == published, f"reader {reader} has another state at version {version}"
        self._seen[reader] = (uid, version, state, NO_PARTS)

    def answer(self, reader: int, head: Head | None, version: int, needed: Parts) -> None:
        """Check that the reader's state is at least as recent as this head in the parts that the call needs."""
        uid, _, state, _ = self._seen[reader]
        self._seen[reader] = (uid, version, state, needed)
        assert head is not None
        assert head.pointer is not None
        if head.uid == uid and head.pointer.version > version:
            published = in_parts(self._states[uid, head.pointer.version], needed)
            assert in_parts(state, needed) == published, f"reader {reader} missed a change that its head names"

    def forgot(self, reader: int) -> None:
        """Forget the state of an environment that has ended."""
        self._seen.pop(reader, None)

    def last_seen(self, reader: int) -> tuple[State, Parts]:
        """Return the state that a reader was given last, and the parts that its call needed."""
        return self._seen[reader][2:] if reader in self._seen else ({}, NO_PARTS)


def _snapshot_version(pointer: Pointer) -> int:
    return pointer.snapshot.version if pointer.snapshot else 0
