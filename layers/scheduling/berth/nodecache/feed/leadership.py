"""What a writer asks of the lease before it publishes, and tells it after."""

from __future__ import annotations

from typing import Protocol

from berth.lease.clock import Instant
from berth.lease.record import Fence


class Leadership(Protocol):
    """What the elector knows, as far as a publication needs it."""

    def fence(self) -> Fence | None:
        """What a publication now is conditional on; None: nothing may be published now."""

    def renewed(self, fence: Fence, at: Instant) -> Fence | None:
        """A publication under this fence, sent at that time, was written: it is a renewal."""

    def refused(self, fence: Fence) -> None:
        """A publication under this fence was refused."""


class NotLeading(Exception):
    """Nothing may be published now: the lease has run out, or its record has to be read first."""
