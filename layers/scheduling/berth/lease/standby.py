"""One candidate waits as a standby for the leader to fail: the holder of a second lease.

The schedule starts a candidate every minute, and a standby waits until its run ends. The second lease limits them to
one. It guards no data: two standbys at a time cost money and do no harm.
"""

from __future__ import annotations

from collections.abc import Callable

from berth.lease.elector import LeaderElector
from berth.lease.outcomes import ElectionOutcome, ReleaseOutcome, Step


class Standby:
    """One candidate for the standby lease; for one thread."""

    def __init__(self, elector: LeaderElector) -> None:
        """`elector`: a candidate for the standby lease, not for the head."""
        self._elector = elector
        self._is_held = False

    def acquire(self, sleep: Callable[[float], None], stopped: Callable[[], bool]) -> bool:
        """Whether this candidate holds the standby lease now.

        One read. It takes as long as the lease where the holder crashed or is about to release.
        """
        while not stopped():
            step = self._elector.step()
            self._is_held = step.outcome is ElectionOutcome.BECAME_LEADER
            if self._is_held or step.ended:
                break
            sleep(step.again_in)
        return self._is_held

    def renew(self) -> bool:
        """Renew the lease when a renewal is due; call it every two seconds. False: it is lost or was released."""
        if self._is_held:
            step: Step = self._elector.step()
            self._is_held = not step.ended
        return self._is_held

    def release(self) -> ReleaseOutcome:
        """Release the lease, so that the next candidate can acquire it."""
        self._is_held = False
        return self._elector.release()
