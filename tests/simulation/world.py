"""Virtual time and one thread: the actors are greenlets, and at each of their calls to the outside the seed decides who
goes on. The same seed is the same history.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count
from random import Random

from greenlet import greenlet

from berth.lease.clock import Clock

EPOCH = 1_800_000_000.0
MOST_AT_ONCE = 10_000


class Crash(BaseException):
    """Ends an actor where it stands, as the end of a process would: no handler sees it, nothing is cleaned up."""


class Actor:
    """A process: what it runs, its clocks' errors, and until when it is frozen."""

    def __init__(self, name: str, body: Callable[[], object], parent: greenlet) -> None:
        self.name = name
        self.greenlet = greenlet(lambda: self._run(body), parent)
        self.wall_error = 0.0
        self.monotonic_lost = 0.0
        self.frozen_until = 0.0
        self.crashed = False
        self.failure: Exception | None = None

    @property
    def ended(self) -> bool:
        return bool(self.greenlet.dead)

    def _run(self, body: Callable[[], object]) -> None:
        try:
            body()
        except Crash:
            self.crashed = True
        except Exception as error:
            self.failure = error


class World:
    """The actors and the time. `check` is called after every step."""

    def __init__(self, seed: int, check: Callable[[], None]) -> None:
        self.random = Random(seed)
        self.now = 0.0
        self.steps = 0
        self._at_once = 0
        self.actors: list[Actor] = []
        self._main = greenlet.getcurrent()
        self._check = check
        self._queue: list[tuple[float, float, int, Callable[[], None]]] = []
        self._numbers = count()
        self._running: Actor | None = None

    def start(self, name: str, body: Callable[[], object]) -> Actor:
        """Begin an actor; it takes its first step when its turn comes."""
        actor = Actor(name, body, self._main)
        self.actors.append(actor)
        self.after(0.0, lambda: self._switch(actor))
        return actor

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Do something then. Of what is due at one time the seed chooses the order."""
        heapq.heappush(self._queue, (self.now + seconds, self.random.random(), next(self._numbers), do))

    def pause(self, seconds: float = 0.0) -> None:
        """Called by an actor: let others go on, and come back after so long."""
        actor = self._running
        assert actor is not None
        self.after(max(seconds, actor.frozen_until - self.now), lambda: self._switch(actor))
        self._main.switch()

    def crash(self, actor: Actor) -> None:
        """End it at the call it stands at."""
        if not actor.ended:
            self.after(0.0, lambda: self._throw(actor))

    def run(self, until: float) -> None:
        """Let time pass."""
        while self._queue and self._queue[0][0] <= until:
            due, _, _, do = heapq.heappop(self._queue)
            self._at_once = self._at_once + 1 if due == self.now else 0
            assert self._at_once < MOST_AT_ONCE, "somebody goes on and on without letting time pass"
            self.now = due
            do()
            self.steps += 1
            self._check()
        self.now = until

    def clock(self, actor: Actor) -> Clock:
        """The actor's own clocks."""
        return _ActorClock(self, actor)

    def freeze(self, actor: Actor, seconds: float, *, monotonic_stalls: bool) -> None:
        """Nothing of it goes on for so long; its monotonic clock may not even notice."""
        actor.frozen_until = self.now + seconds
        if monotonic_stalls:
            actor.monotonic_lost += seconds

    def _switch(self, actor: Actor) -> None:
        if actor.ended:
            return
        if actor.frozen_until > self.now:
            self.after(actor.frozen_until - self.now, lambda: self._switch(actor))
            return
        self._running = actor
        actor.greenlet.switch()
        self._running = None
        if actor.failure is not None:
            raise actor.failure

    def _throw(self, actor: Actor) -> None:
        if not actor.ended:
            self._running = actor
            actor.greenlet.throw(Crash)
            self._running = None


class _ActorClock(Clock):
    def __init__(self, world: World, actor: Actor) -> None:
        self._world = world
        self._actor = actor

    def monotonic(self) -> float:
        return self._world.now - self._actor.monotonic_lost

    def wall(self) -> float:
        return EPOCH + self._world.now + self._actor.wall_error
