"""An in-memory feed: every candidate gets the lease, and requests fail when a test says so."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import TypeVar

from berth.lease.clock import Instant
from berth.lease.lock import Fence, Lease, LeaseSpec, Written
from berth.nodecache.feed.changes import Change, Key, Object, pack, part_of
from berth.nodecache.feed.head import Head, Observation, Pointer, Position, PublishedVersion
from berth.nodecache.feed.reader import NodeCacheReader
from berth.nodecache.feed.table import LogItem, StaleFence, TableUnavailable
from berth.nodecache.feed.writer import RETENTION, Leadership, Retention, Writer
from berth.scheduling.snapshot.parts import SnapshotPart
from berth_cli.server.store.cache_table import InMemoryCacheTable
from berth_cli.server.store.lease_lock import InMemoryItem, InMemoryLeaseLock
from tests.fakes.cache_tables import CountingCacheTable
from tests.unit.lease.clocks import EnvironmentClock

BEYOND = 100
"""A later version than any that a test publishes."""

State = dict[Key, Object]
T = TypeVar("T")


class Store(InMemoryCacheTable):
    def __init__(self) -> None:
        self.item = InMemoryItem()
        super().__init__(self.item)

    @property
    def uid(self) -> str:
        head = self.head()
        assert head is not None
        return head.uid

    @property
    def pointer(self) -> Pointer:
        head = self.head()
        assert head is not None
        assert head.pointer is not None
        return head.pointer

    def point(self, **changed: object) -> Head:
        """Change these fields of the pointer without checking the lease."""
        pointer = replace(self.pointer, **changed)  # type: ignore[arg-type]
        self.item.update(lambda item: True, {"pointer": pointer})
        return Head(self.uid, pointer)

    def log_items(self, after: int = 0) -> list[LogItem]:
        """Return all log items after that version, in the order of versions."""
        found = self.log(self.uid, after, dict.fromkeys(SnapshotPart, BEYOND))
        return sorted(found, key=lambda item: item.version)

    def lose_log(self, *versions: int) -> None:
        """Delete log items as TTL does."""
        for key in [key for key in self._log if key[0] == self.uid and key[2] in versions]:
            del self._log[key]

    def overwrite_log(self, item: LogItem) -> None:
        """Overwrite a log item, which a writer cannot do."""
        self._log[self.uid, item.part, item.version] = (item, "by hand")

    def lose_chunk(self, index: int = 0) -> None:
        assert self.pointer.snapshot is not None
        del self._chunks[self.pointer.snapshot.id, index]

    def overwrite_chunk(self, data: bytes, index: int = 0) -> None:
        assert self.pointer.snapshot is not None
        self._chunks[self.pointer.snapshot.id, index] = data


class FailingTable(CountingCacheTable):
    """Fails calls as planned. `faults`: by method, the faults of its next calls: "refused", "lost" (carried out,
    without a response), "late" (carried out when `arrive` is called) or "" (no fault)."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.faults: dict[str, list[str]] = {}
        self._late: list[Callable[[], object]] = []

    def arrive(self) -> None:
        """Carry out the late requests. No caller waits for their result."""
        late, self._late = self._late, []
        for call in late:
            with suppress(StaleFence):
                call()

    def _carry(self, method: str, call: Callable[[], T]) -> T:
        self._called(method)
        fault = self.faults.get(method) or [""]
        match fault.pop(0):
            case "refused":
                raise TableUnavailable("throttled")
            case "lost":
                call()
                raise TableUnavailable("the answer was lost")
            case "late":
                self._late.append(call)
                raise TableUnavailable("the answer was lost")
        return call()


class HeldLease(Leadership):
    """A lease taken over without waiting for its holder. `step` does the work of an elector: it reads and renews."""

    def __init__(self, store: Store, holder: str) -> None:
        self._lock = InMemoryLeaseLock(store.item, new_id)
        self._fence: Fence | None = None
        self._last = Fence("", 0, "", 0)
        self.refusals = 0
        found = self._lock.get()
        assert found is None or isinstance(found, Lease)
        epoch = 0 if found is None else found.spec.lease_transitions + 1
        spec = LeaseSpec(holder, 15, 0.0, 0.0, epoch)
        self._took(self._lock.create(spec) if found is None else self._lock.update(found, spec))

    @property
    def epoch(self) -> int:
        assert self._fence is not None
        return self._fence.lease_transitions

    def fence(self) -> Fence | None:
        return self._fence

    def keep(self) -> bool:
        return self._fence is not None

    def renewed(self, fence: Fence, at: Instant) -> Fence | None:
        self._fence = replace(fence, resource_version=fence.next_resource_version)
        return self._fence

    def refused(self, fence: Fence) -> None:
        self.refusals += 1
        self._fence, self._last = None, fence

    def run_out(self) -> None:
        self._fence, self._last = None, self._fence or self._last

    def step(self) -> None:
        """Read the record and renew it if this candidate still holds it."""
        found = self._lock.get()
        assert isinstance(found, Lease)
        last = self._fence or self._last
        if (found.uid, found.spec.holder_identity) == (last.uid, last.holder_identity):
            self._took(self._lock.update(found, found.spec))

    def _took(self, written: object) -> None:
        assert isinstance(written, Written)
        lease = written.lease
        self._fence = Fence(lease.spec.holder_identity, lease.spec.lease_transitions, lease.uid, lease.resource_version)


class Writing:
    """A writer, its lease, and the changes that it has announced."""

    def __init__(
        self, store: Store, *, retention: Retention = RETENTION, clock: EnvironmentClock | None = None
    ) -> None:
        self.store = store
        self.table = FailingTable(store)
        self.clock = clock or EnvironmentClock()
        head = store.head()
        self.lease = HeldLease(store, new_id())
        self.announced: list[list[Change]] = []
        self.writer = Writer(
            self.table,
            self.lease,
            None if head is None else head.pointer,
            self.lease.epoch,
            self.clock,
            new_id,
            lambda changes, _: self.announced.append(list(changes)),
            retention,
            sleep=self.clock.advance,
        )

    def flush(self, *changes: Change) -> None:
        self.writer.flush(changes, observation(self.clock.wall()))

    def replace(self, objects: Mapping[Key, Object], *changes: Change) -> None:
        self.writer.replace(changes, objects, observation(self.clock.wall()))

    def compact(self, objects: Mapping[Key, Object]) -> bool:
        return self.writer.compact_if_due(objects, observation(self.clock.wall()))

    def compact_now(self, objects: Mapping[Key, Object]) -> bool:
        self.clock.advance(24 * 3600)
        self.lease.step()
        return self.compact(objects)


def observation(at: float) -> Observation:
    return Observation("cluster", {"nodes": Position("1", at, at)})


def node(name: str, **spec: object) -> Change:
    return Change("nodes", name, {"metadata": {"name": name}, **spec})


def log_item(version: int, epoch: int, previous: tuple[int, int], change: Change) -> LogItem:
    [data] = pack([change]).items
    return LogItem(part_of(change.resource), version, epoch, PublishedVersion(*previous), data)


def state_of(*changes: Change) -> State:
    return InPlaceView().applied({}, changes)


class InPlaceView:
    """A view whose states are changed in place, as in the watcher."""

    def empty(self) -> State:
        return {}

    def applied(self, state: State, changes: Iterable[Change]) -> State:
        for resource, key, kept in changes:
            if kept is None:
                state.pop((resource, key), None)
            else:
                state[resource, key] = kept
        return state


_IDS = count(1)


def new_id() -> str:
    return f"id-{next(_IDS)}"


def leader_of(store: Store) -> Writing:
    """Return a leader that has published node n1 as a snapshot (version 1 of epoch 0), with its records cleared."""
    leader, first = Writing(store), node("n1")
    leader.replace(state_of(first), first)
    leader.announced.clear()
    leader.table.calls.clear()
    return leader


def read(store: Store) -> State:
    """Return the objects that a cold reader gets."""
    reader: NodeCacheReader[State] = NodeCacheReader(store, InPlaceView(), lambda seconds: None)
    return reader.at(store.head())
