"""Virtual time in one thread: the actors are greenlets, and at each external call the seed decides which actor
continues. The same seed gives the same history.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from random import Random
from types import TracebackType

from greenlet import greenlet

from berth.lease.clock import Clock

EPOCH = 1_800_000_000.0
MOST_AT_ONCE = 10_000
FOR_EVER = 1e9


class Crash(BaseException):
    """Ends an actor at its current call, as the end of a process would. The actor cannot clean up: every external call
    that it still makes raises this again."""


@dataclass(slots=True)
class _Freeze:
    """A planned freeze: after how many more calls it begins, and how long it lasts."""

    calls: int
    seconds: float
    monotonic_stalls: bool


class Actor:
    """A process: its code, its clocks' errors, and the time until which it is frozen."""

    def __init__(self, name: str, body: Callable[[], object], parent: greenlet) -> None:
        self.name = name
        self.greenlet = greenlet(lambda: self._run(body), parent)
        self.wall_error = 0.0
        self.monotonic_lost = 0.0
        self.frozen_until = 0.0
        self.freeze: _Freeze | None = None
        self.turn = 0
        self.is_waiting = False
        self.crashed = False
        self.failure: Exception | None = None

    @property
    def ended(self) -> bool:
        return bool(self.greenlet.dead)

    def _run(self, body: Callable[[], object]) -> None:
        try:
            body()
        except Crash:
            pass
        except Exception as error:
            self.failure = error


class World:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.now = 0.0
        self.steps = 0
        self._at_once = 0
        self._main = greenlet.getcurrent()
        self._queue: list[tuple[float, float, int, Callable[[], object]]] = []
        self._numbers = count()
        self._running: Actor | None = None

    def start(self, name: str, body: Callable[[], object]) -> Actor:
        """Start an actor; it takes its first step when its turn comes."""
        actor = Actor(name, body, self._main)
        self._arm(actor, 0.0)
        return actor

    def after(self, seconds: float, do: Callable[[], object]) -> None:
        """Call `do` after this time. The seed chooses the order of calls that are due at the same time."""
        heapq.heappush(self._queue, (self.now + seconds, self.random.random(), next(self._numbers), do))

    def pause(self, seconds: float = 0.0) -> None:
        """Called by an actor: let others continue, and return after this time."""
        actor = self._actor()
        if actor.crashed:
            raise Crash
        if actor.freeze is not None:
            self._count_down(actor, actor.freeze)
        self._arm(actor, seconds)
        self._main.switch()

    def wait(self, seconds: float) -> Actor:
        """Called by an actor: like `pause`, but `wake` ends it."""
        actor = self._actor()
        actor.is_waiting = True
        self.pause(seconds)
        actor.is_waiting = False
        return actor

    def wake(self, actor: Actor, seconds: float = 0.0) -> None:
        """End the actor's wait after this time; do nothing if it does not wait."""
        if actor.is_waiting and not actor.ended:
            actor.is_waiting = False
            self._arm(actor, seconds)

    def current(self) -> Actor:
        return self._actor()

    def crash(self, actor: Actor) -> None:
        """End the actor at its current call."""
        if not actor.ended:
            self.after(0.0, lambda: self._throw(actor))

    def run(self, until: float) -> None:
        queue = self._queue
        while queue and queue[0][0] <= until:
            due, _, _, do = heapq.heappop(queue)
            self._at_once = self._at_once + 1 if due == self.now else 0
            assert self._at_once < MOST_AT_ONCE, "a process loops without letting time pass"
            self.now = due
            self.steps += 1
            do()
        self.now = until

    def clock(self, actor: Actor) -> Clock:
        return _ActorClock(self, actor)

    def freeze(self, actor: Actor, seconds: float, *, monotonic_stalls: bool, calls: int = 0) -> None:
        """Freeze the actor for this time, after `calls` more calls; its monotonic clock may stop, too."""
        actor.freeze = _Freeze(calls, seconds, monotonic_stalls)

    def thaw(self, actor: Actor) -> None:
        actor.freeze = None
        if actor.frozen_until > self.now:
            actor.frozen_until = 0.0
            self._arm(actor, 0.0)

    def _actor(self) -> Actor:
        assert self._running is not None
        return self._running

    def _count_down(self, actor: Actor, freeze: _Freeze) -> None:
        freeze.calls -= 1
        if freeze.calls < 0:
            actor.freeze = None
            actor.frozen_until = self.now + freeze.seconds
            if freeze.monotonic_stalls:
                actor.monotonic_lost += freeze.seconds

    def _arm(self, actor: Actor, seconds: float) -> None:
        """Schedule the actor's next turn, which replaces a turn that was scheduled before."""
        actor.turn += 1
        turn = actor.turn
        self.after(seconds, lambda: self._switch(actor, turn))

    def _switch(self, actor: Actor, turn: int) -> None:
        if turn != actor.turn or actor.ended:
            return
        if actor.frozen_until > self.now:
            self._arm(actor, actor.frozen_until - self.now)
            return
        self._running = actor
        actor.greenlet.switch()
        self._running = None
        if actor.failure is not None:
            raise actor.failure

    def _throw(self, actor: Actor) -> None:
        if not actor.ended:
            self._running = actor
            actor.crashed = True
            actor.greenlet.throw(Crash)
            self._running = None


class Mutex:
    """A lock between actors that replaces a lock between threads: a waiting thread would stop all actors."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._held = False
        self._waiting: list[Actor] = []

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.release()

    def acquire(self, *, blocking: bool = True) -> bool:
        while self._held:
            if not blocking:
                return False
            self._waiting.append(self._world.current())
            self._world.wait(FOR_EVER)
        self._held = True
        return True

    def release(self) -> None:
        self._held = False
        waiting, self._waiting = self._waiting, []
        for actor in waiting:
            self._world.wake(actor)


class _ActorClock(Clock):
    def __init__(self, world: World, actor: Actor) -> None:
        self._world = world
        self._actor = actor

    def monotonic(self) -> float:
        return self._world.now - self._actor.monotonic_lost

    def wall(self) -> float:
        return EPOCH + self._world.now + self._actor.wall_error
