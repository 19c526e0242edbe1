"""Positions of nodes: a number for each node, the index into the arrays of verdicts and scores.

A warm call spends most of its time on finding the positions of a request's names, one dictionary look-up for each name.
Reading an array takes a few nanoseconds a node, and so does copying it for the next snapshot.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress, count, repeat
from operator import itemgetter
from types import MappingProxyType
from typing import Protocol, TypeVar, overload

K = TypeVar("K", contravariant=True)
V = TypeVar("V", covariant=True)

UNKNOWN = 0
"""The position of every name that is no node's."""

LAYOUT_CALLS = 256


class Lookup(Protocol[K, V]):
    """A dictionary, or an array."""

    def __getitem__(self, key: K, /) -> V:
        """The value."""


def pick(values: Lookup[K, V], keys: Sequence[K]) -> tuple[V, ...]:
    """The values of these keys. A comprehension takes three times as long."""
    return itemgetter(*keys)(values) if len(keys) > 1 else tuple(values[key] for key in keys)


class NodePositions:
    """Positions by name, from 1 to below `size`. Immutable but for the copy that `_lay_out` makes."""

    __slots__ = ("_calls", "_laid_out", "_numbers", "_vacant", "size")

    def __init__(self, names: Iterable[str] = ()) -> None:
        """names: each once."""
        self._numbers = dict(zip(names, count(UNKNOWN + 1), strict=False))
        self.size = len(self._numbers) + 1
        self._vacant: tuple[int, ...] = ()
        self._laid_out, self._calls = dict(self._numbers), 0

    @property
    def by_name(self) -> Mapping[str, int]:
        """All positions by name, in the order in which the names were added."""
        return MappingProxyType(self._numbers)

    def __getitem__(self, name: str) -> int:
        return self._numbers.get(name, UNKNOWN)

    def after(self, gone: Iterable[str], come: Iterable[str]) -> NodePositions:
        """The positions after nodes were removed and added. A remaining node keeps its position; an added node takes a
        vacant position or a new one."""
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
        """The positions of a request's names; UNKNOWN for a name that is no node's."""
        # Other work has filled the processor's cache since the last call. A copy reads names and numbers in the order
        # of memory, which the processor fetches ahead; the look-ups then find them in the cache: a third less time.
        laid_out = self._laid_out.copy()
        try:
            # A dictionary that finds something for every name, by __missing__, takes a fifth longer.
            found = pick(laid_out, names)
        except KeyError:
            found = tuple(map(laid_out.get, names, repeat(UNKNOWN)))
        if self._calls % LAYOUT_CALLS == 0:
            self._lay_out(names, found)
        self._calls += 1
        return found

    def _lay_out(self, names: Sequence[str], found: tuple[int, ...]) -> None:
        """Copy the dictionary with keys and values in the order of a request.

        The scheduler lists nodes in much the same order each time. The strings of a request, the integers made here and
        the entries of the copy lie in memory in that order. Look-ups then read memory in sequence and take a quarter of
        the time.
        """
        laid_out = dict(zip(names, array("q", found).tolist(), strict=True))
        if UNKNOWN in found:
            laid_out = {name: number for name, number in laid_out.items() if number != UNKNOWN}
        for name, number in self._laid_out.items():
            laid_out.setdefault(name, number)
        self._laid_out = laid_out


class NodeRefs(Sequence[str]):
    """Node names with their positions: the names of a request, each once, in the request's order."""

    __slots__ = ("all_known", "names", "positions", "source")

    def __init__(self, names: list[str], positions: Sequence[int], source: NodePositions, *, all_known: bool) -> None:
        """names: the list is kept, not copied. source: where the positions come from. all_known: no position is
        UNKNOWN; False where one may be."""
        self.names, self.positions, self.source, self.all_known = names, positions, source, all_known

    @classmethod
    def of(cls, names: Sequence[str], source: NodePositions) -> NodeRefs:
        """Resolve names. A repeated name counts once. NodeRefs of the same source are returned as they are."""
        if isinstance(names, NodeRefs):
            if names.source is source:
                return names
            names = names.names
        kept = names if isinstance(names, list) else list(names)
        positions = source.of(kept)
        # A set of integers is made in a third of the time of one of names.
        distinct = set(positions)
        if len(distinct) < len(kept):
            kept = list(dict.fromkeys(kept))
            positions = source.of(kept)
        return cls(kept, positions, source, all_known=UNKNOWN not in distinct)

    def selected(self, mask: bytes) -> NodeRefs:
        """The nodes whose byte in the mask is not 0."""
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
