"""The scheduler's queue, which has to be told of changes; and what it means that a cluster cannot be had."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence


class ClusterUnavailable(Exception):
    """The cluster could not be read. The message names cause and remedy."""


class SchedulingQueue(ABC):
    """The scheduler's queue, where rejected pods wait for an event (fact 41)."""

    @abstractmethod
    def wake(self, waiting: Sequence[str]) -> None:
        """Make the scheduler try the pods again that an extender rejected (fact 43); `waiting`: `namespace/name`.

        Raises ClusterUnavailable.
        """


class NoSchedulingQueue(SchedulingQueue):
    """Where there is no scheduler to wake: a dump, or a configuration with `wakeUp: none`."""

    def wake(self, waiting: Sequence[str]) -> None:
        return None
