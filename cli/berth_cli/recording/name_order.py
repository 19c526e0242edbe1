"""Codes for names that come one after the other, sorted as the names are.

Decisions look at the order of names: of equally good nodes filter_onlyone takes the first one, and gangs are planned by
name. So pseudonyms have to be sorted as the names were, and a pseudonym that is written cannot change any more. A code
is a number, in digits that sort as text does. A new name gets one between those of its neighbours.

Not guaranteed: room between two neighbours for ever. Names in an ascending or a descending row take next to none of it,
and others a bit or two each time that they halve a gap. Where none is left, a name gets the code of the one before it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

DIGITS = "0123456789abcdefghijklmnopqrstuv"
LENGTH = 52
"""Digits of five bits each: a label's value has room for them."""

_END: int = 1 << 5 * LENGTH
_LONGEST_ROW = 20

SortKey = Callable[[str], tuple[int, str]]


def by_text(name: str) -> tuple[int, str]:
    """As names of nodes, values of labels and names of gangs are sorted."""
    return 0, name


def by_length(name: str) -> tuple[int, str]:
    """As members of a gang are sorted: train-2 goes before train-10."""
    return len(name), name


class _Placed(NamedTuple):
    """serial: when it came. ascending, descending: how many names of a row came, each next to the one before it."""

    code: int
    serial: int
    ascending: int = 0
    descending: int = 0


_BEGINNING, _NO_SUCCESSOR = _Placed(0, -1), _Placed(_END, -1)


class NameOrder:
    """Remembers every name that it has seen. For one thread."""

    def __init__(self, sort_key: SortKey) -> None:
        self._sort_key = sort_key
        self._keys: list[tuple[int, str]] = []
        self._placed: list[_Placed] = []

    def code(self, name: str) -> str:
        """Of `LENGTH` digits. The same for the same name."""
        key = self._sort_key(name)
        at = bisect_left(self._keys, key)
        if at == len(self._keys) or self._keys[at] != key:
            before = self._placed[at - 1] if at else _BEGINNING
            after = self._placed[at] if at < len(self._placed) else _NO_SUCCESSOR
            self._keys.insert(at, key)
            self._placed.insert(at, _between(before, after, len(self._keys)))
        return _digits(self._placed[at].code)


def _between(before: _Placed, after: _Placed, serial: int) -> _Placed:
    """In the middle; in a row of names close to the last one, so that the row leaves room for the next."""
    gap = after.code - before.code
    if gap < 2:
        return _Placed(before.code, serial)
    if before.serial >= after.serial:
        part = gap >> 1 + min(before.ascending, _LONGEST_ROW)
        return _Placed(before.code + max(1, part), serial, ascending=before.ascending + 1)
    part = gap >> 1 + min(after.descending, _LONGEST_ROW)
    return _Placed(after.code - max(1, part), serial, descending=after.descending + 1)


def _digits(code: int) -> str:
    return "".join(DIGITS[code >> 5 * place & 31] for place in reversed(range(LENGTH)))
