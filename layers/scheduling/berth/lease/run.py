"""The loop around an elector, for use in earnest: it blocks."""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

from berth.lease.elector import LeaderElector
from berth.lease.outcomes import ReleaseOutcome, Step

_RELEASES = 2


def new_identity(name: str) -> str:
    """An identity for one candidacy: `name`, for people, and what makes it unique. Call it in the handler."""
    return f"{name}_{uuid4()}"


def run(elector: LeaderElector, wait: Callable[[float], bool]) -> Step:
    """Step until the candidacy ends, the announced hand-over is due, or `wait` says so; release in any case.

    `wait(seconds)` returns after that time at the latest; True: stop. It is where a leader works: look at the fence,
    publish, say `renewed`. A step that is not due costs nothing, so it may return as early as it likes. Returns how the
    candidacy ended.
    """
    try:
        while True:
            step = elector.step()
            if step.ended or elector.handover_in <= 0 or wait(min(step.again_in, elector.handover_in)):
                break
    finally:
        for _ in range(_RELEASES):
            if elector.release() is not ReleaseOutcome.UNKNOWN:
                break
    return elector.step()
