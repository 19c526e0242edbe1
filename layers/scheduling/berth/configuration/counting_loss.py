"""Detects that the configuration which the ledger counts by was lost.

The ledger has a marker as soon as resources are counted. While it has one, a configuration that counts nothing is the
deployed one in place of a lost one, unless somebody applied it with `berth config apply --stop-counting`.
"""

from __future__ import annotations

from collections.abc import Callable

from berth.dynamodb_errors import TableMissing, TableUnavailable
from berth.lease.clock import Clock, Instant
from berth.ledger.nodes.table import Marker

COUNTING_LOST = (
    "the ledger counts resources, but the configuration in force counts none: it was lost or replaced; apply it again "
    "with berth config apply, or with --stop-counting one that counts nothing"
)
REFRESH_SECONDS = 10.0
"""How long a result is used."""


class CountingLost(Exception):
    """Nothing is counted, although the ledger counts and nobody stopped it. The message names cause and remedy."""

    def __init__(self) -> None:
        super().__init__(COUNTING_LOST)


class CountingLossCheck:
    """For one warm environment, and only for calls whose configuration counts nothing. Safe to share between threads.

    It reads the ledger's marker at most every 10 s, and then the applied document's copy if there is a marker.
    """

    def __init__(
        self, marker: Callable[[], Marker | None], counting_is_stopped: Callable[[], bool], clock: Clock
    ) -> None:
        self._marker = marker
        self._counting_is_stopped = counting_is_stopped
        self._clock = clock
        self._last: tuple[bool, Instant] | None = None

    def raise_if_lost(self) -> None:
        """Raises CountingLost; TableUnavailable while the ledger cannot be read and no earlier result is known."""
        now, last = self._clock.now(), self._last
        if last is None or now.longest_since(last[1]) >= REFRESH_SECONDS:
            last = self._last = self._is_lost(), now
        if last[0]:
            raise CountingLost

    def raise_if_known(self) -> None:
        """Raises CountingLost by the last result, however old. Reads nothing."""
        if self._last is not None and self._last[0]:
            raise CountingLost

    def _is_lost(self) -> bool:
        try:
            return self._marker() is not None and not self._counting_is_stopped()
        except TableMissing:
            # No table, no marker: a stack that counts nothing works without a ledger.
            return self._last is not None and self._last[0]
        except TableUnavailable:
            if self._last is None:
                raise
            return self._last[0]
