"""The log as a warm environment reads it: without the announcements that have ended."""

from __future__ import annotations

from collections.abc import Sequence

from berth.announcements.announcement import Announcement, has_ended
from berth.announcements.log import AnnouncementLog
from berth.extender.ports import PodCoverage
from berth.scheduling.objects import Pod
from berth.scheduling.snapshot.snapshot import Snapshot


class AnnouncementReader:
    """Safe to share between threads: `first` is a hint, and an older one only costs a longer read."""

    def __init__(self, log: AnnouncementLog) -> None:
        self._log = log
        self.first = 1
        """Every announcement before this position has ended."""

    def read(self) -> Sequence[Announcement]:
        """To the end of the log. To be called before the head is read: an announcement that is deleted has ended in
        the snapshot that was published then. Raises TableUnavailable."""
        found = self._log.read(self.first)
        if not found and self.first > 1:
            # The last announcement is never deleted, so the table was created anew.
            self.first = 1
            found = self._log.read(1)
        return found

    def pods_to_add(
        self, announcements: Sequence[Announcement], snapshot: Snapshot, coverage: PodCoverage
    ) -> Sequence[Pod]:
        """The pods that the snapshot does not show and that are on their nodes, or may still come there."""
        remaining = [each for each in announcements if not has_ended(each, snapshot, coverage)]
        if announcements:
            self.first = (remaining or announcements[-1:])[0].position
        return [each.pod for each in remaining]
