"""The port to what is known of the health of an installation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

MOST_RESERVATIONS = 500
"""That are listed. All are counted."""


class HealthSource(ABC):
    """Safe to share between threads."""

    @abstractmethod
    def facts(self, wall: float) -> Mapping[str, object]:
        """The groups of facts of the health document, each with its own `problem` where it cannot be read. A group that
        the source does not know is left out. wall: now, in seconds since the epoch."""
