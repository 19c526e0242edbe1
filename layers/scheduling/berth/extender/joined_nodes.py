"""Waits for nodes that the scheduler lists and the cache does not have yet.

The scheduler tries its waiting pods as soon as it has a new node, those of high priority first. Without the wait, the
first of them are rejected, and pods that come a moment later get the room.
"""

from __future__ import annotations

from collections.abc import Callable

from berth.extender.arguments import RequestNodes
from berth.scheduling.snapshot.node_list import UNKNOWN

READS, SECONDS = 10, 0.025
"""Between reads. `berth serve` publishes a change within 25 ms, a stack within a few hundred. The scheduler tries no
other pod in this time."""

MAX_NAMES = 1000


class JoinedNodes:
    """Remembers the nodes that did not come: no second call waits for them. Safe to share between threads."""

    def __init__(self, sleep: Callable[[float], None]) -> None:
        self._sleep = sleep
        self._absent = set[str]()

    def wait(self, candidates: RequestNodes, read: Callable[[], RequestNodes | None]) -> RequestNodes:
        """Return the candidates as a cache has them that has one more of the nodes; else the same.

        read: the candidates as the cache has them now, or None if there is no decision.
        """
        unknown = _unknown(candidates)
        if unknown <= self._absent:
            return candidates
        for _ in range(READS):
            self._sleep(SECONDS)
            found = read()
            if found is None:
                return candidates
            if _unknown(found) < unknown:
                return found
        self._absent = unknown if len(self._absent) > MAX_NAMES else self._absent | unknown
        return candidates


def _unknown(candidates: RequestNodes) -> set[str]:
    refs = candidates.names
    if refs.all_known:
        return set()
    return {name for name, position in zip(refs.names, refs.positions, strict=True) if position == UNKNOWN}
