"""The deadline of a call: the scheduler's httpTimeout, less a reserve, counted from when the gateway got the request.

The scheduler's time runs before the function does: a cold authorizer and a cold start are over when the handler begins.
So the gateway's clock says when the call began (`requestContext.timeEpoch`), and this machine's clock says how long ago
that was. The two clocks can differ:

- A request from the future has just arrived.
- Nobody waits for a request that is older than LONGEST_WAIT_SECONDS. So the clocks differ, and it has just arrived.
- Any other age counts. A clock that is ahead by so much shortens the call and never lengthens it.

A deadline is therefore never later than one that begins with the handler.
"""

from __future__ import annotations

from collections.abc import Mapping

from berth.extender.deadline import Deadline
from berth.lease.clock import Clock

RESERVE_SECONDS = 1.0
"""Of the scheduler's httpTimeout, for the network and the gateway (fact 23)."""

LONGEST_WAIT_SECONDS = 30.0
"""The longest that an HTTP API waits for a function, and the largest httpTimeout that the stack takes."""


def call_deadline(event: Mapping[str, object], http_timeout: float, clock: Clock) -> Deadline:
    """Call it when the handler begins. `http_timeout`: the scheduler's, in seconds."""
    return Deadline(http_timeout - RESERVE_SECONDS - _age(event, clock.wall()), clock.monotonic)


def _age(event: Mapping[str, object], now: float) -> float:
    """Seconds since the gateway got the request; 0 where that is unknown or impossible."""
    context = event.get("requestContext")
    milliseconds = context.get("timeEpoch") if isinstance(context, Mapping) else None
    if not isinstance(milliseconds, int | float):
        return 0.0
    age = now - milliseconds / 1000
    return age if 0 <= age <= LONGEST_WAIT_SECONDS else 0.0
