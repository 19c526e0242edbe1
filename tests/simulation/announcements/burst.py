"""Binds that begin at the same moment, of pods that exclude each other in nothing: how many tries their positions need.

Every call of the log, the cache and the API server takes the same time.
"""

from __future__ import annotations

from collections.abc import Callable

from berth.extender.outcomes import BindOutcome

from .history import AnnouncementsHistory

CALL_SECONDS = 0.005


class Burst(AnnouncementsHistory):
    """So many pods, each of a team of its own, each bound by its own environment. waits: after a position was taken."""

    def __init__(self, seed: int, pods: int, *, waits: bool = True) -> None:
        super().__init__(2 * seed)
        self._count, self._waits = pods, waits
        self.lost = 0.0
        self.outcomes: list[BindOutcome] = []
        self.seconds = 0.0
        """Until the last answer."""

    def run(self) -> None:
        """Until every bind has its answer."""
        for number in range(self._count):
            self.create(f"pod-{number}", f"team-{number}")
            self.world.start(f"bind-{number}", self._bind_of(f"pod-{number}"))
        self.world.run(10.0)

    def between(self) -> None:
        self.world.pause(CALL_SECONDS / 2)

    def wait(self, seconds: float) -> None:
        self.world.pause(seconds if self._waits else 0.0)

    def _bind_of(self, name: str) -> Callable[[], None]:
        def run() -> None:
            self.outcomes.append(self.bind(self.binder(), name, "node-a"))
            self.seconds = self.world.now

        return run
