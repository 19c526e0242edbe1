"""One candidate waits, as a standby for the leader to fail or for its handover: the holder of a second lease.

The schedule starts a candidate every minute, and each would wait for the same event. The second lease limits them to
one. It guards no data: two that wait at a time cost money and do no harm.
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
        self._was_held = False

    def acquire(self, sleep: Callable[[float], None], stopped: Callable[[], bool]) -> bool:
        """Whether this candidate holds the standby lease now.

        One read. It takes as long as the lease where the holder crashed or is about to release.
        """
        while not stopped():
            step = self._elector.step()
            self._note(step)
            if self._is_held or step.ended:
                break
            sleep(step.again_in)
        return self._is_held

    def may_wait(self) -> bool:
        """Whether this candidate may wait: no other one does, as far as is known. Call it every two seconds.

        The first call tries to acquire the lease: one read, and one write where it is free. A candidate that has held
        it waits to the end, even if the lease is lost.
        """
        if self._was_held:
            self.renew()
            return True
        step = self._elector.step()
        self._note(step)
        return not step.ended

    def _note(self, step: Step) -> None:
        self._is_held = step.outcome is ElectionOutcome.BECAME_LEADER
        self._was_held |= self._is_held

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
