"""A map that is never changed: another one with changes takes time for these, and shares the rest."""

from __future__ import annotations

from typing import Generic, TypeVar

V = TypeVar("V")

_SHARE = 32
_LEAST = 64


class LayeredMap(Generic[V]):
    """A large dictionary and a small one that overrules it, None where an entry is gone.

    The small one is copied with every change. When it has grown to a 32nd of the large one they become one: so a change
    costs that copy, and now and then one of everything.
    """

    __slots__ = ("_base", "_over")

    def __init__(self, base: dict[str, V], over: dict[str, V | None] | None = None) -> None:
        """`base` belongs to the map from now on."""
        self._base = base
        self._over: dict[str, V | None] = {} if over is None else over

    def get(self, key: str) -> V | None:
        """The value, None where there is none."""
        return self._over[key] if key in self._over else self._base.get(key)

    def changed(self, changes: dict[str, V | None]) -> LayeredMap[V]:
        """With these values, and without those that are None."""
        over = self._over | changes
        if len(over) <= max(_LEAST, len(self._base) // _SHARE):
            return LayeredMap(self._base, over)
        base: dict[str, V] = dict(self._base)
        for key, value in over.items():
            if value is None:
                base.pop(key, None)
            else:
                base[key] = value
        return LayeredMap(base)
