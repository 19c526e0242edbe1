"""Of all who could wait for a leader to fail, one does: the holder of a second lease.

A standby waits for as long as its run lasts, and is started every minute like everybody; without this there would be
as many of them as minutes in a run. The second lease guards nothing: two standbys cost money and no harm is done.
"""

from __future__ import annotations

from collections.abc import Callable

from berth.lease.elector import LeaderElector
from berth.lease.outcomes import ElectionOutcome, ReleaseOutcome, Step


class Standby:
    """One candidacy for the place; for one thread."""

    def __init__(self, elector: LeaderElector) -> None:
        """`elector` stands for the second lease."""
        self._elector = elector
        self._holds = False

    def take_place(self, sleep: Callable[[float], None], stopped: Callable[[], bool]) -> bool:
        """Whether this is the standby now. It takes one read, but for as long as the lease lasts where the holder of
        the place has died, or is about to leave it."""
        while not stopped():
            step = self._elector.step()
            self._holds = step.outcome is ElectionOutcome.BECAME_LEADER
            if self._holds or step.ended:
                break
            sleep(step.again_in)
        return self._holds

    def keep_place(self) -> bool:
        """Renew the lease where it is time to; call it every two seconds. False: the place is lost, or was left."""
        if self._holds:
            step: Step = self._elector.step()
            self._holds = not step.ended
        return self._holds

    def leave(self) -> ReleaseOutcome:
        """Let the next one have the place."""
        self._holds = False
        return self._elector.release()
