"""The log of announcements in memory. Every operation is atomic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

from berth.ledger.announcements import Announcement, AnnouncementLog


class InMemoryAnnouncementLog(AnnouncementLog):
    """Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._by_position: dict[int, Announcement] = {}

    def read(self, first: int) -> Sequence[Announcement]:
        with self._lock:
            return [self._by_position[position] for position in sorted(self._by_position) if position >= first]

    def append(self, announcement: Announcement) -> bool:
        with self._lock:
            return self._by_position.setdefault(announcement.position, announcement).attempt == announcement.attempt

    def withdraw(self, position: int, attempt: str) -> None:
        with self._lock:
            found = self._by_position.get(position)
            if found is not None and found.attempt == attempt:
                self._by_position[position] = replace(found, withdrawn=True)

    def trim(self, position: int, until: float) -> None:
        with self._lock:
            for each in [*self._by_position.values()]:
                if each.position < position and each.until < until:
                    del self._by_position[each.position]
