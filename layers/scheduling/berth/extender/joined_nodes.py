"""Waits for nodes that the scheduler lists but the cache does not contain yet.

The scheduler retries its pending pods as soon as a node joins, pods of high priority first. Without the wait, the first
pods are rejected, and pods that are tried a moment later get the room.
"""

from __future__ import annotations

from collections.abc import Callable

from berth.extender.arguments import RequestNodes
from berth.scheduling.snapshot.node_list import UNKNOWN

READS, SECONDS = 10, 0.025
"""The number of reads, and the seconds between them. `berth serve` publishes a change within 25 ms, a stack within a
few hundred. The scheduler does not try another pod in this time."""

MAX_NAMES = 1000


class JoinedNodes:
    """Waits for nodes, and remembers absent nodes, so that later calls do not wait for them. Thread-safe."""

    def __init__(self, sleep: Callable[[float], None]) -> None:
        self._sleep = sleep
        self._absent = set[str]()

    def wait(self, candidates: RequestNodes, read: Callable[[], RequestNodes | None]) -> RequestNodes:
        """Return the candidates once the cache contains one more of the nodes; otherwise the same candidates.

        read: returns the candidates with the current cache, or None if they cannot be read.
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
