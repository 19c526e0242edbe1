"""The evaluations that a warm environment keeps: the most recently used, in bounded number.

Threads. What takes long, counting over a snapshot at the first sight of a shape, is done under a lock of that shape
alone: calls for other shapes go on, and those for the same shape wait for it and do not count a second time. The lock
that all share is held for a dictionary look-up. What is found is immutable, or filled in alike by whoever comes first,
so that it is used outside the locks.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from berth.scheduling.evaluation.evaluation import Evaluation, LocalEvaluation
from berth.scheduling.framework.profile import Profile
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.history import Step
from berth.scheduling.snapshot.snapshot import DerivedFromSnapshot, Snapshot

MAX_SHAPES = 256
MAX_VERDICTS = 500_000
"""Over all shapes."""

MIN_SHAPES = 16


V = TypeVar("V", bound=DerivedFromSnapshot)


class _Entry(Generic[V]):
    """What is known for one shape, of the latest snapshot that it was asked for."""

    __slots__ = ("_replacing", "_value")

    def __init__(self) -> None:
        self._replacing = Lock()
        self._value: V | None = None

    def at(self, snapshot: Snapshot, anew: Callable[[], V], carried: Callable[[V, Step], V]) -> V:
        """What is known for this snapshot: what there is, or that brought on by what changed, or worked out anew."""
        moment = snapshot.history.moment
        found = self._value
        if found is not None and found.moment is moment:
            return found
        with self._replacing:
            found = self._value
            if found is None:
                found = self._value = anew()
            elif found.moment is not moment:
                step = snapshot.history.since(found.moment)
                if step is not None:
                    found = self._value = carried(found, step)
                elif found.is_later_than(snapshot):
                    # Asked by a call that began before another one brought it on: that stays.
                    found = anew()
                else:
                    found = self._value = anew()
        return found


class _Recent(Generic[V]):
    """The entries used last."""

    def __init__(self) -> None:
        self._entries: OrderedDict[Hashable, _Entry[V]] = OrderedDict()
        self._lock = Lock()

    def entry(self, key: Hashable, limit: int) -> _Entry[V]:
        """The one of this key, a new one if there is none."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                entry = self._entries[key] = _Entry()
            self._entries.move_to_end(key)
            while len(self._entries) > limit:
                self._entries.popitem(last=False)
        return entry


class Evaluations:
    """At most `max_shapes` of them. Safe to share between threads."""

    def __init__(self, max_shapes: int = MAX_SHAPES) -> None:
        self._local: _Recent[LocalEvaluation] = _Recent()
        self._by_shape: _Recent[Evaluation] = _Recent()
        self._max_shapes = max_shapes

    def of(self, profile: Profile, pod: Pod, snapshot: Snapshot) -> Evaluation:
        """The evaluation of this snapshot for pods shaped like this one."""
        limit = min(self._max_shapes, max(MIN_SHAPES, MAX_VERDICTS // snapshot.nodes.positions.size))
        local_shape, cluster_shape = profile.shapes(pod)
        local_entry = self._local.entry((profile.name, local_shape), limit)

        def local() -> LocalEvaluation:
            return local_entry.at(
                snapshot,
                lambda: LocalEvaluation.of(profile, pod, snapshot),
                lambda found, step: found.carried_to(snapshot, step),
            )

        # The entry stands for its key, which takes longer to hash.
        return self._by_shape.entry((local_entry, cluster_shape), limit).at(
            snapshot,
            lambda: Evaluation.of(profile, pod, snapshot, local()),
            lambda found, step: found.carried_to(snapshot, step, local()),
        )
