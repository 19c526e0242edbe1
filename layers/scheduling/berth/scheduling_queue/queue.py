"""The port to the scheduling queue: waking it makes the scheduler retry rejected pods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence


class SchedulingQueue(ABC):
    """The scheduler's queue, where rejected pods wait for an event (fact 41)."""

    @abstractmethod
    def wake(self, waiting: Sequence[str]) -> None:
        """Make the scheduler retry the pods that an extender rejected (fact 43). `waiting`: `namespace/name`.

        Raises ClusterUnavailable.
        """


class NoSchedulingQueue(SchedulingQueue):
    """No queue: for a dump, or a configuration with `wakeUp: none`."""

    def wake(self, waiting: Sequence[str]) -> None:
        return None
