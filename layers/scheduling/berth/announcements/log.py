"""The port of the log of announcements.

Positions are 1, 2, 3 and so on without a gap: who puts an announcement at position n + 1 has read the one at n. So a
reader that has read up to n knows everything before it. The last announcement is never deleted, for positions would
begin anew.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from berth.announcements.announcement import Announcement


class AnnouncementLog(ABC):
    """Every method may raise TableUnavailable."""

    @abstractmethod
    def read(self, first: int) -> Sequence[Announcement]:
        """The announcements from this position on, by position: one consistent query with all its pages."""

    @abstractmethod
    def append(self, announcement: Announcement) -> bool:
        """Put it at its position. False: the position is taken. Repeated with the same attempt it is True again."""

    @abstractmethod
    def withdraw(self, position: int, attempt: str) -> None:
        """Mark the announcement as withdrawn, if it is at this position and of this attempt."""

    @abstractmethod
    def trim(self, position: int, until: float) -> None:
        """Delete the announcements before this position whose `until` is before this time."""
