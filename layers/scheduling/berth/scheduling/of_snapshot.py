"""What was worked out for a snapshot, and is remembered."""

from __future__ import annotations

from weakref import ref

from berth.scheduling.history import Moment
from berth.scheduling.snapshot import Snapshot


class OfSnapshot:
    """It does not keep the snapshot alive: whoever asks has it.

    A shape is remembered for long after its last pod. And who lets go of a snapshot last pays for touching every node
    of it: that is to be who brings it up to date, and not the next call.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.moment: Moment = snapshot.history.moment
        self._snapshot = ref(snapshot)

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot, as long as someone else has it."""
        found = self._snapshot()
        if found is None:
            raise ReferenceError("asked about a snapshot that is gone")
        return found

    def is_later_than(self, snapshot: Snapshot) -> bool:
        """Whether its snapshot came from this one. Of one that is gone that is not known."""
        found = self._snapshot()
        return found is not None and found.changed_since(snapshot) is not None
