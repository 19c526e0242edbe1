"""Numbers for things that come and go at their own times."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")


class Numbers(Generic[T]):
    """For one thread at a time. Only what is there now has a number."""

    def __init__(self, key: Callable[[T], Hashable]) -> None:
        """key: the same for the same thing."""
        self._key = key
        self._known: dict[Hashable, int] = {}
        self._things: dict[int, T] = {}
        self._last = 0

    def renew(self, things: Iterable[T]) -> None:
        """These are there now, in this order. Things stay referenced, so that their identities may be keys."""
        known = self._known
        self._known, self._things = {}, {}
        for thing in things:
            key = self._key(thing)
            number = known.get(key)
            if number is None:
                number = self._last = self._last + 1
            self._known[key] = number
            self._things[number] = thing

    def after(self, number: int, most: int | None = None) -> list[tuple[int, T]]:
        """The first ones with higher numbers; without `most` all of them."""
        found = sorted(each for each in self._things if each > number)[:most]
        return [(each, self._things[each]) for each in found]

    def get(self, number: int) -> T | None:
        """None: it is not there."""
        return self._things.get(number)
