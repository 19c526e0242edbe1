"""The cache of a warm environment's evaluations. It limits their number and size, and evicts the least recently used.

Threads: the first call of a shape creates the evaluation while it holds the lock of that shape. Calls of other shapes
continue; calls of the same shape wait and use the result. The lock that all shapes share is held only for a dictionary
look-up. Verdicts and scores are added without a lock: two threads compute the same values.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from berth.scheduling.evaluation.evaluation import Evaluation, LocalEvaluation
from berth.scheduling.evaluation.time_limit import NO_DECISION_DEADLINE, DecisionDeadline
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.history import SnapshotDelta
from berth.scheduling.snapshot.snapshot import DerivedFromSnapshot, Snapshot

MAX_SHAPES = 256
MAX_VERDICTS = 500_000
"""The maximum number of verdicts over all shapes."""

MIN_SHAPES = 16

MAX_BYTES = 256 << 20
"""The default limit of the memory for the cached pods, in bytes."""

_BYTES_PER_BYTE = 24
"""The bytes of memory for one byte of a pod's spec, including indexes and plugin states. The pods of
`tests/builders/hostile_pods.py` take 5 to 15 bytes per byte, 23 with host ports (measured as growth of the process)."""

_BYTES_PER_ENTRY = 250
"""The bytes of memory for a label or an annotation: two strings and a dictionary entry."""

_BYTES_PER_POD = 4096
_LARGE = 2
"""A pod larger than the limit divided by this is not cached. With 1,769 MB of memory, a pod of 1.5 MB is cached."""


def bytes_of(pod: Pod) -> int:
    texts = sum(
        len(key) + len(value) + _BYTES_PER_ENTRY for key, value in (*pod.labels.items(), *pod.annotations.items())
    )
    return _BYTES_PER_POD + _BYTES_PER_BYTE * len(pod.spec.source) + texts


V = TypeVar("V", bound=DerivedFromSnapshot)


class _Entry(Generic[V]):
    """The value of one shape, for the latest requested snapshot."""

    __slots__ = ("_replacing", "_value")

    def __init__(self) -> None:
        self._replacing = Lock()
        self._value: V | None = None

    def at(self, snapshot: Snapshot, create: Callable[[], V], update: Callable[[V, SnapshotDelta], V]) -> V:
        moment = snapshot.history.moment
        found = self._value
        if found is not None and found.moment is moment:
            return found
        with self._replacing:
            found = self._value
            if found is None:
                found = self._value = create()
            elif found.moment is not moment:
                delta = snapshot.history.since(found.moment)
                value = create() if delta is None else update(found, delta)
                # If another call has stored the value of a later snapshot, keep that value.
                if delta is not None or not found.is_later_than(snapshot):
                    self._value = value
                found = value
        return found


class _LeastRecentlyUsed(Generic[V]):
    def __init__(self, max_bytes: int) -> None:
        self._entries: OrderedDict[Hashable, tuple[_Entry[V], int]] = OrderedDict()
        self._max_bytes, self.size = max_bytes, 0
        self._lock = Lock()

    def entry(self, key: Hashable, limit: int, pod: Pod) -> _Entry[V]:
        with self._lock:
            found = self._entries.get(key)
            if found is not None:
                self._entries.move_to_end(key)
                return found[0]
            entry: _Entry[V] = _Entry()
            size = bytes_of(pod)
            if size > self._max_bytes // _LARGE:
                return entry
            self._entries[key] = entry, size
            self.size += size
            while len(self._entries) > limit or self.size > self._max_bytes:
                _, (_, freed) = self._entries.popitem(last=False)
                self.size -= freed
        return entry


class EvaluationCache:
    """Caches at most `max_shapes` evaluations, whose pods take at most `max_bytes`. Thread-safe."""

    def __init__(self, max_shapes: int = MAX_SHAPES, max_bytes: int = MAX_BYTES) -> None:
        self._local: _LeastRecentlyUsed[LocalEvaluation] = _LeastRecentlyUsed(max_bytes // 2)
        self._by_shape: _LeastRecentlyUsed[Evaluation] = _LeastRecentlyUsed(max_bytes // 2)
        self._max_shapes = max_shapes

    @property
    def size(self) -> int:
        return self._local.size + self._by_shape.size

    def of(
        self, profile: Profile, pod: Pod, snapshot: Snapshot, deadline: DecisionDeadline = NO_DECISION_DEADLINE
    ) -> Evaluation:
        """Return the evaluation of this snapshot for pods of this pod's shape. Raises DeadlineExceeded."""
        limit = min(self._max_shapes, max(MIN_SHAPES, MAX_VERDICTS // snapshot.nodes.positions.size))
        local_shape, cluster_shape = profile.shapes(pod)
        local_entry = self._local.entry((profile.name, local_shape), limit, pod)

        def local() -> LocalEvaluation:
            return local_entry.at(
                snapshot,
                lambda: LocalEvaluation.of(profile, pod, snapshot),
                lambda found, delta: found.updated_to(snapshot, delta),
            )

        # Use the entry itself as a part of the key: hashing its shape takes longer.
        return self._by_shape.entry((local_entry, cluster_shape), limit, pod).at(
            snapshot,
            lambda: Evaluation.of(profile, pod, snapshot, local(), deadline),
            lambda found, delta: found.updated_to(snapshot, delta, local()),
        )

    def with_assumed(
        self,
        profile: Profile,
        pod: Pod,
        snapshot: Snapshot,
        with_assumed: Snapshot,
        deadline: DecisionDeadline = NO_DECISION_DEADLINE,
    ) -> Evaluation:
        """Return the evaluation with assumed pods on their nodes. It is not cached if such pods exist: that is rare."""
        if with_assumed is snapshot:
            return self.of(profile, pod, snapshot.base, deadline)
        return Evaluation.of(profile, pod, with_assumed, LocalEvaluation.of(profile, pod, with_assumed), deadline)
