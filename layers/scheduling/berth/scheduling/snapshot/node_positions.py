"""Where nodes stand: a number for each, by which what is remembered of it is found.

Verdicts and scores of thousands of nodes are kept in arrays. To find the numbers of a request's names takes one
dictionary look-up a name, which is most of what a warm call costs; after that arrays are read at a few nanoseconds a
node, and copied for the next snapshot in no time.
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
"""Nobody stands here: the position of every name that is no node's."""

LAYOUT_CALLS = 256


class Lookup(Protocol[K, V]):
    """A dictionary, or an array."""

    def __getitem__(self, key: K, /) -> V:
        """The value."""


def picked(values: Lookup[K, V], keys: Sequence[K]) -> tuple[V, ...]:
    """The values of these keys. A comprehension takes three times as long."""
    return itemgetter(*keys)(values) if len(keys) > 1 else tuple(values[key] for key in keys)


class NodePositions:
    """By name, from 1 on, all below `size`. What they say never changes; `after` makes the next ones."""

    __slots__ = ("_calls", "_laid_out", "_numbers", "_vacant", "size")

    def __init__(self, names: Iterable[str] = ()) -> None:
        """Names, each once."""
        self._numbers = dict(zip(names, count(UNKNOWN + 1), strict=False))
        self.size = len(self._numbers) + 1
        self._vacant: tuple[int, ...] = ()
        self._laid_out, self._calls = dict(self._numbers), 0

    @property
    def by_name(self) -> Mapping[str, int]:
        """All of them, in the order in which the names came."""
        return MappingProxyType(self._numbers)

    def __getitem__(self, name: str) -> int:
        return self._numbers.get(name, UNKNOWN)

    def after(self, gone: Iterable[str], come: Iterable[str]) -> NodePositions:
        """Who stays keeps the position; who comes takes one that is vacant, or a new one."""
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
        """Those of the names of a request."""
        laid_out = self._laid_out
        try:
            # A dictionary that finds something for every name, by __missing__, takes a fifth longer.
            found = picked(laid_out, names)
        except KeyError:
            found = tuple(map(laid_out.get, names, repeat(UNKNOWN)))
        if self._calls % LAYOUT_CALLS == 0:
            self._lay_out(names, found)
        self._calls += 1
        return found

    def _lay_out(self, names: Sequence[str], found: tuple[int, ...]) -> None:
        """Make a copy that has its keys and values in the order of a request.

        The scheduler lists nodes in much the same order each time. The strings of a request, and the integers made
        here, lie side by side in memory in that order, and so do a dictionary's entries. Look-ups then walk through
        memory: they take a quarter of the time that it takes to jump to names which were read together with all else
        of a cluster.
        """
        laid_out = dict(zip(names, array("q", found).tolist(), strict=True))
        if UNKNOWN in found:
            laid_out = {name: number for name, number in laid_out.items() if number != UNKNOWN}
        for name, number in self._laid_out.items():
            laid_out.setdefault(name, number)
        self._laid_out = laid_out


class NodeRefs(Sequence[str]):
    """Names with their positions; of a request: each once and in its order."""

    __slots__ = ("names", "positions", "source")

    def __init__(self, names: list[str], positions: Sequence[int], source: NodePositions) -> None:
        """`names` is kept, not copied."""
        self.names, self.positions, self.source = names, positions, source

    @classmethod
    def of(cls, names: Sequence[str], source: NodePositions) -> NodeRefs:
        """A name that is repeated counts once. What these positions have located already is not located again."""
        if isinstance(names, NodeRefs):
            if names.source is source:
                return names
            names = names.names
        kept = names if isinstance(names, list) else list(names)
        positions = source.of(kept)
        # A set of integers is made in a third of the time of one of names.
        if len(set(positions)) < len(kept):
            kept = list(dict.fromkeys(kept))
            positions = source.of(kept)
        return cls(kept, positions, source)

    def selected(self, mask: bytes) -> NodeRefs:
        """Those for which the byte is not 0."""
        return NodeRefs(list(compress(self.names, mask)), tuple(compress(self.positions, mask)), self.source)

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
