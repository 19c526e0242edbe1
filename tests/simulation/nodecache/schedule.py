"""EventBridge Scheduler: one start a minute, at any time within the minute; sometimes two, sometimes none."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tests.simulation.world import World

MINUTE = 60.0


@dataclass(slots=True)
class Starts:
    """Probabilities that a minute's start is dropped or doubled. `in_a_row`: the most starts dropped in succession."""

    dropped: float = 0.0
    doubled: float = 0.0
    in_a_row: float = math.inf


class Schedule:
    """Calls `start` from `begin` on. Two starts can be 119 s apart, plus a minute for each start that is dropped."""

    def __init__(self, world: World, starts: Starts, start: Callable[[], None]) -> None:
        self._world = world
        self._starts = starts
        self._start = start
        self._paused_until = 0.0
        self._dropped = 0

    def begin(self) -> None:
        random = self._world.random
        chance = random.random()
        if chance < self._starts.dropped and self._dropped < self._starts.in_a_row:
            self._dropped += 1
        else:
            self._dropped = 0
            self._world.after(random.uniform(0.0, MINUTE), self._fire)
        if chance >= 1.0 - self._starts.doubled:
            self._world.after(random.uniform(0.0, MINUTE), self._fire)
        self._world.after(MINUTE, self.begin)

    def pause(self, seconds: float) -> None:
        """Start no run for this time; 0 ends a pause."""
        self._paused_until = self._world.now + seconds

    def _fire(self) -> None:
        if self._world.now >= self._paused_until:
            self._start()
