"""Statuses as bytes. Bytes are searched, counted and translated in no time, and 5,000 of them take five kilobytes."""

from __future__ import annotations

from threading import Lock

from berth.scheduling.status import SUCCESS, Status, unresolvable

NOT_IN_CACHE = unresolvable("", "node(s) are not in the extender's cache yet")
"""For a name the cache has never seen: a node that joined a moment ago, or another cluster's."""

OPEN, PASSES, ABSENT, RARE = 0, 1, 2, 255
"""Not judged yet; SUCCESS; NOT_IN_CACHE; any status at all."""


class Codes:
    """The different statuses that were given, with a code for each. It only grows; later snapshots share it."""

    __slots__ = ("_adding", "by_identity", "statuses")

    def __init__(self) -> None:
        self.statuses = [NOT_IN_CACHE, SUCCESS, NOT_IN_CACHE]
        self.by_identity = {id(SUCCESS): PASSES, id(NOT_IN_CACHE): ABSENT}
        self._adding = Lock()

    def of(self, status: Status) -> int:
        """Its code; RARE, which stands for any, where there are too many."""
        # Plugins give the same few objects again and again; to hash a Status takes ten times as long.
        return self.by_identity.get(id(status)) or self._added(status)

    def _added(self, status: Status) -> int:
        with self._adding:
            if status in self.statuses:
                return self.statuses.index(status)
            if len(self.statuses) == RARE:
                return RARE
            self.statuses.append(status)
            return self.by_identity.setdefault(id(status), len(self.statuses) - 1)
