"""A number for each node of a snapshot, worked out when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import compress
from threading import Lock
from typing import Generic, TypeVar

from berth.scheduling.objects import NodeInfo
from berth.scheduling.snapshot.node_positions import picked

K = TypeVar("K", bound=Hashable)

_IS_OPEN = bytes(known == 0 for known in range(256))


class NodeNumbers:
    """By position. Threads may share it: what two work out, they work out alike."""

    __slots__ = ("_known", "_numbers")

    def __init__(self, size: int) -> None:
        self._known, self._numbers = bytearray(size), [0] * size

    def at(
        self, positions: Sequence[int], standing: Sequence[NodeInfo], worked_out: Callable[[NodeInfo], int]
    ) -> tuple[int, ...]:
        """Those of the nodes at these positions. standing: all nodes, by position."""
        known = bytes(picked(self._known, positions))
        if 0 in known:
            for position in compress(positions, known.translate(_IS_OPEN)):
                self._numbers[position] = worked_out(standing[position])
                # Last, for other threads read it.
                self._known[position] = 1
        return picked(self._numbers, positions)

    def kept(self, size: int, open_again: Iterable[int]) -> NodeNumbers:
        """What still holds in a later snapshot, in which the numbers at these positions are others."""
        later = NodeNumbers(0)
        # What is known is copied first: the numbers are there before it says so.
        later._known = self._known.ljust(size, b"\0")
        later._numbers = self._numbers + [0] * (size - len(self._numbers))
        for position in open_again:
            later._known[position] = 0
        return later


class Kinds(Generic[K]):
    """The different kinds of nodes that there are to a score, each with a number. Nodes of one kind have one score."""

    __slots__ = ("_adding", "_numbers")

    def __init__(self) -> None:
        self._numbers: dict[K, int] = {}
        self._adding = Lock()

    def number(self, kind: K) -> int:
        """From 0 on."""
        found = self._numbers.get(kind)
        if found is None:
            with self._adding:
                found = self._numbers.setdefault(kind, len(self._numbers))
        return found

    def __iter__(self) -> Iterator[K]:
        """In the order of their numbers."""
        return iter(tuple(self._numbers))
