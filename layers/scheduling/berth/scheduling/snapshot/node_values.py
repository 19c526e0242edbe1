"""An integer for each node of a snapshot, computed on first use."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import compress
from threading import Lock
from typing import Generic, TypeVar

from berth.scheduling.objects import NodeInfo
from berth.scheduling.snapshot.node_positions import pick

K = TypeVar("K", bound=Hashable)

_IS_OPEN = bytes(known == 0 for known in range(256))


class NodeValues:
    """Integers by position. Threads may share it: two threads compute the same value for a node."""

    __slots__ = ("_known", "_numbers")

    def __init__(self, size: int) -> None:
        self._known, self._numbers = bytearray(size), [0] * size

    def get_or_compute(
        self, positions: Sequence[int], by_position: Sequence[NodeInfo], compute: Callable[[NodeInfo], int]
    ) -> tuple[int, ...]:
        """The values of the nodes at these positions. by_position: all nodes of the snapshot."""
        known = bytes(pick(self._known, positions))
        if 0 in known:
            for position in compress(positions, known.translate(_IS_OPEN)):
                self._numbers[position] = compute(by_position[position])
                # Last: another thread reads the value once it is marked as known.
                self._known[position] = 1
        return pick(self._numbers, positions)

    def carried_over(self, size: int, changed: Iterable[int]) -> NodeValues:
        """The values for a later snapshot. The values at the changed positions are computed again."""
        later = NodeValues(0)
        # `_known` is copied first: another thread sets it after the value.
        later._known = self._known.ljust(size, b"\0")
        later._numbers = self._numbers + [0] * (size - len(self._numbers))
        for position in changed:
            later._known[position] = 0
        return later


class DistinctValues(Generic[K]):
    """Distinct values of nodes, each with an index from 0. A score is computed once for each value."""

    __slots__ = ("_adding", "_numbers")

    def __init__(self) -> None:
        self._numbers: dict[K, int] = {}
        self._adding = Lock()

    def index_of(self, value: K) -> int:
        """The index of a value, which is added if it is new."""
        found = self._numbers.get(value)
        if found is None:
            with self._adding:
                found = self._numbers.setdefault(value, len(self._numbers))
        return found

    def __iter__(self) -> Iterator[K]:
        """The values in the order of their indexes."""
        return iter(tuple(self._numbers))
