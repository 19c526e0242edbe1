"""Numbers by topology: by the key of a node label, or by the index of a constraint, and by the label's value."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class TopologyCounts(Generic[K]):
    """Never changed after it was filled. A pair with the number 0 is not in it."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: dict[K, dict[str, int]] | None = None) -> None:
        self._numbers: dict[K, dict[str, int]] = {} if numbers is None else numbers

    @classmethod
    def of(cls, contributions: Iterable[tuple[K, str, int]]) -> TopologyCounts[K]:
        """The sums."""
        numbers: dict[K, dict[str, int]] = {}
        for key, value, number in contributions:
            values = numbers.setdefault(key, {})
            values[value] = values.get(value, 0) + number
        return cls(numbers)

    def __bool__(self) -> bool:
        return any(self._numbers.values())

    def __iter__(self) -> Iterator[K]:
        return iter(self._numbers)

    def values(self, key: K) -> Mapping[str, int]:
        """The numbers of one key."""
        return self._numbers.get(key, {})

    def changed(self, contributions: Mapping[tuple[K, str], int]) -> tuple[TopologyCounts[K], set[tuple[K, str]]]:
        """With these added, and the pairs that have come or gone by it. Copies the keys that change."""
        numbers = dict(self._numbers)
        fresh: set[K] = set()
        turned: set[tuple[K, str]] = set()
        for (key, value), number in contributions.items():
            if not number:
                continue
            if key not in fresh:
                numbers[key] = dict(numbers.get(key, {}))
                fresh.add(key)
            values = numbers[key]
            before = values.get(value, 0)
            if before + number:
                values[value] = before + number
            else:
                del values[value]
            if not before or not before + number:
                turned.add((key, value))
        return TopologyCounts(numbers), turned
