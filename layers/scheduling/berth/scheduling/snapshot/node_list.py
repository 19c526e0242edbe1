"""The nodes of a snapshot, by name and by position.

A warm call spends most of its time on finding the positions of a request's names, with a dictionary look-up for each
name. Reading an array by position takes a few nanoseconds per node, as does copying it for the next snapshot.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, ValuesView
from itertools import compress, count, repeat
from operator import itemgetter
from threading import Lock
from types import MappingProxyType
from typing import TYPE_CHECKING, Generic, TypeVar, overload

from berth.scheduling.objects import NodeInfo

if TYPE_CHECKING:
    from _typeshed import SupportsGetItem

H = TypeVar("H", bound=Hashable)

_IS_OPEN = bytes(known == 0 for known in range(256))


class NodeValues:
    """An integer for each position. Thread-safe: two threads compute the same value for a node."""

    __slots__ = ("_known", "_numbers")

    def __init__(self, size: int) -> None:
        self._known, self._numbers = bytearray(size), [0] * size

    def get_or_compute(
        self, positions: Sequence[int], by_position: Sequence[NodeInfo], compute: Callable[[NodeInfo], int]
    ) -> tuple[int, ...]:
        """Return the values of the nodes at these positions. by_position: all nodes of the snapshot."""
        known = bytes(pick(self._known, positions))
        if 0 in known:
            for position in compress(positions, known.translate(_IS_OPEN)):
                self._numbers[position] = compute(by_position[position])
                # Set the mark last: another thread reads the value once it is marked as known.
                self._known[position] = 1
        return pick(self._numbers, positions)

    def carried_over(self, size: int, changed: Iterable[int]) -> NodeValues:
        """Return the values for a later snapshot. The values at the changed positions are computed again."""
        later = NodeValues(0)
        # Copy `_known` first: another thread sets the mark after the value.
        later._known = self._known.ljust(size, b"\0")
        later._numbers = self._numbers + [0] * (size - len(self._numbers))
        for position in changed:
            later._known[position] = 0
        return later


class DistinctValues(Generic[H]):
    """Distinct values of nodes, each with an index from 0. A score is computed once for each value."""

    __slots__ = ("_adding", "_numbers")

    def __init__(self) -> None:
        self._numbers: dict[H, int] = {}
        self._adding = Lock()

    def index_of(self, value: H) -> int:
        found = self._numbers.get(value)
        if found is None:
            with self._adding:
                found = self._numbers.setdefault(value, len(self._numbers))
        return found

    def __iter__(self) -> Iterator[H]:
        return iter(tuple(self._numbers))


K = TypeVar("K")
V = TypeVar("V")

UNKNOWN = 0
"""The position of all names that do not belong to a node."""

LAYOUT_CALLS = 256


def pick(values: SupportsGetItem[K, V], keys: Sequence[K]) -> tuple[V, ...]:
    """Return the values of these keys. A comprehension takes three times as long."""
    return itemgetter(*keys)(values) if len(keys) > 1 else tuple(values[key] for key in keys)


class NodePositions:
    """The positions of nodes by name, from 1 to `size` - 1. The positions never change; only caches do."""

    __slots__ = ("_by_sorted_name", "_calls", "_laid_out", "_numbers", "_vacant", "size")

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._numbers = dict(zip(names, count(UNKNOWN + 1), strict=False))
        self.size = len(self._numbers) + 1
        self._vacant: tuple[int, ...] = ()
        self._laid_out, self._calls = dict(self._numbers), 0
        self._by_sorted_name: NodeRefs | None = None

    @property
    def by_name(self) -> Mapping[str, int]:
        """The positions by name, in the order in which the names were added."""
        return MappingProxyType(self._numbers)

    @property
    def by_sorted_name(self) -> NodeRefs:
        if self._by_sorted_name is None:
            names = sorted(self._numbers)
            self._by_sorted_name = NodeRefs(names, pick(self._numbers, names), self, all_known=True)
        return self._by_sorted_name

    def __getitem__(self, name: str) -> int:
        return self._numbers.get(name, UNKNOWN)

    def after(self, gone: Iterable[str], come: Iterable[str]) -> NodePositions:
        """Return the positions after nodes were removed and added. A remaining node keeps its position; an added node
        gets a vacant or a new position."""
        later = NodePositions()
        later._numbers, later._laid_out = dict(self._numbers), dict(self._laid_out)
        vacant = [*self._vacant]
        for name in gone:
            vacant.append(later._numbers.pop(name))
            del later._laid_out[name]
        later.size, later._calls = self.size, self._calls
        for name in come:
            if not vacant:
                vacant.append(later.size)
                later.size += 1
            later._numbers[name] = later._laid_out[name] = vacant.pop()
        later._vacant = tuple(vacant)
        return later

    def of(self, names: Sequence[str]) -> tuple[int, ...]:
        """Return the positions of a request's names; UNKNOWN for a name that does not belong to a node."""
        # Since the last call the processor's cache has been filled with other data. A copy reads names and numbers in
        # memory order, which the processor prefetches. Then the look-ups hit the cache and take a third less time.
        laid_out = self._laid_out.copy()
        try:
            # A dictionary with __missing__ would take a fifth longer.
            found = pick(laid_out, names)
        except KeyError:
            found = tuple(map(laid_out.get, names, repeat(UNKNOWN)))
        if self._calls % LAYOUT_CALLS == 0:
            self._lay_out(names, found)
        self._calls += 1
        return found

    def _lay_out(self, names: Sequence[str], found: tuple[int, ...]) -> None:
        """Copy the dictionary, with its keys and values in the order of a request.

        The scheduler lists nodes in almost the same order each time. The strings of a request, the integers created
        here and the entries of the copy are in memory in that order. Look-ups then read memory sequentially and take a
        quarter of the time.
        """
        laid_out = dict(zip(names, array("q", found).tolist(), strict=True))
        if UNKNOWN in found:
            laid_out = {name: number for name, number in laid_out.items() if number != UNKNOWN}
        for name, number in self._laid_out.items():
            laid_out.setdefault(name, number)
        self._laid_out = laid_out


class NodeRefs(Sequence[str]):
    """The node names of a request, each once, in the request's order, with their positions."""

    __slots__ = ("all_known", "names", "positions", "source")

    def __init__(self, names: list[str], positions: Sequence[int], source: NodePositions, *, all_known: bool) -> None:
        """Keep the names and their positions. names: the list is not copied. source: the origin of the positions.
        all_known: False if a position may be UNKNOWN."""
        self.names, self.positions, self.source, self.all_known = names, positions, source, all_known

    @classmethod
    def of(cls, names: Sequence[str], source: NodePositions) -> NodeRefs:
        """Find the positions of names. A repeated name counts once. NodeRefs of this source are returned unchanged."""
        if isinstance(names, NodeRefs):
            if names.source is source:
                return names
            names = names.names
        kept = names if isinstance(names, list) else list(names)
        positions = source.of(kept)
        # Creating a set of integers takes a third of the time of a set of names.
        distinct = set(positions)
        if len(distinct) < len(kept):
            kept = list(dict.fromkeys(kept))
            positions = source.of(kept)
        return cls(kept, positions, source, all_known=UNKNOWN not in distinct)

    def selected(self, mask: bytes) -> NodeRefs:
        names, positions = list(compress(self.names, mask)), tuple(compress(self.positions, mask))
        return NodeRefs(names, positions, self.source, all_known=self.all_known)

    def __len__(self) -> int:
        return len(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self.names[index]


NO_NODE = NodeInfo("", {})
"""The value at a position without a node."""


class NodeList(Mapping[str, NodeInfo]):
    """The nodes of a snapshot. Immutable. If no node is added or removed, the next NodeList shares the positions. Then
    only a list is copied, which takes a third of the time for a dictionary."""

    __slots__ = ("by_position", "positions")

    def __init__(self, positions: NodePositions, by_position: list[NodeInfo]) -> None:
        """Keep the nodes. by_position: the list is not copied, so the caller must not change it."""
        self.positions, self.by_position = positions, by_position

    @classmethod
    def of(cls, nodes: Iterable[NodeInfo]) -> NodeList:
        """Return the list of these nodes. If nodes have the same name, the last one counts."""
        by_name = {node.name: node for node in nodes}
        return cls(NodePositions(by_name), [NO_NODE, *by_name.values()])

    def changed(self, changed: Mapping[str, NodeInfo | None]) -> NodeList:
        positions, by_position = self.positions, list(self.by_position)
        gone = [name for name, node in changed.items() if node is None and name in self]
        come = [name for name, node in changed.items() if node is not None and name not in self]
        if gone or come:
            for name in gone:
                by_position[positions[name]] = NO_NODE
            positions = positions.after(gone, come)
            by_position += [NO_NODE] * (positions.size - len(by_position))
        for name, node in changed.items():
            if node is not None:
                by_position[positions[name]] = node
        return NodeList(positions, by_position)

    def positions_among(self, names: Iterable[str]) -> tuple[int, ...]:
        return tuple(self.positions[name] for name in names if name in self)

    def __getitem__(self, name: str) -> NodeInfo:
        return self.by_position[self.positions.by_name[name]]

    def __contains__(self, name: object) -> bool:
        return name in self.positions.by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self.positions.by_name)

    def __len__(self) -> int:
        return len(self.positions.by_name)

    def values(self) -> ValuesView[NodeInfo]:
        return _Values(self)


class _Values(ValuesView[NodeInfo]):
    """A view of the nodes. It is faster than the view of Mapping, which looks up every name."""

    _mapping: NodeList

    def __iter__(self) -> Iterator[NodeInfo]:
        return iter(pick(self._mapping.by_position, tuple(self._mapping.positions.by_name.values())))
