"""Limits the time of one decision.

The creator of a pod determines how much work a decision takes. The scheduler aborts a call after `httpTimeout`, and its
next attempt would repeat the work. So a decision stops earlier, and the pod's shape is cached as too costly for a
while. Until the entry expires, each attempt is answered at once.

A call that is already late, for example after a cold start, leaves less time for a decision. If it leaves less than
half of the limit, a timeout does not prove that the shape is costly. So the shape is not cached, and the next attempt
may succeed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import inf
from threading import Lock
from typing import TypeVar

import orjson

from berth.scheduling.objects import Pod

STEP = 64
"""The number of nodes that are evaluated between two checks of the clock."""

RETRY_SECONDS = 60.0
MAX_COSTLY_SHAPES = 1_000

T = TypeVar("T")


class DeadlineExceeded(Exception):
    """The decision reached its time limit. `TimeLimited.run` raises this only if the call was late. The message names
    the cause if it is known."""


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """The limit of decisions. seconds: the limit of one decision, on the monotonic clock. retry_seconds: how long a
    shape counts as too costly, on the wall clock: the monotonic clock stops while an environment is frozen."""

    seconds: float
    monotonic: Callable[[], float]
    wall: Callable[[], float]
    retry_seconds: float = RETRY_SECONDS


NO_TIME_LIMIT = TimeLimit(inf, lambda: 0.0, lambda: 0.0)


class DecisionDeadline:
    __slots__ = ("_ends", "_monotonic")

    def __init__(self, limit: TimeLimit, seconds_left: float = inf) -> None:
        """Start the time of a decision. seconds_left: the call's remaining seconds, if less than the limit."""
        self._monotonic = limit.monotonic
        self._ends = limit.monotonic() + min(limit.seconds, seconds_left)

    def remaining(self) -> float:
        """Return the seconds until the deadline; below 0 after it."""
        return self._ends - self._monotonic()

    def check(self) -> None:
        if self._monotonic() >= self._ends:
            raise DeadlineExceeded

    def steps(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        for start in range(0, len(items), STEP):
            self.check()
            yield items[start : start + STEP]


NO_DECISION_DEADLINE = DecisionDeadline(NO_TIME_LIMIT)


class TimeLimited:
    """Runs decisions within a time limit, and caches the shapes that were too costly. Thread-safe."""

    def __init__(self, limit: TimeLimit) -> None:
        self._limit = limit
        self._costly_since: OrderedDict[Hashable, float] = OrderedDict()
        self._lock = Lock()

    def wall(self) -> float:
        """Return the seconds since the epoch."""
        return self._limit.wall()

    def is_enough(self, seconds_left: float) -> bool:
        """Return whether the shape counts as too costly if a decision does not end within this time."""
        return seconds_left >= self._limit.seconds / 2

    def deadline(self, seconds_left: float) -> DecisionDeadline:
        """Return the deadline of a decision in several parts. Call `run` for each part with the remaining seconds."""
        return DecisionDeadline(self._limit, seconds_left)

    def run(self, kind: str, pod: Pod, decide: Callable[[DecisionDeadline], T], seconds_left: float = inf) -> T | None:
        """Run the decision. Return None if it takes too long, or took too long recently. kind: a part of the cache's
        key. Raises DeadlineExceeded if a late call runs out of time: this does not prove that the shape is costly."""
        if self._costly_since and self._is_costly(key := _key(kind, pod)):
            return None
        try:
            return decide(DecisionDeadline(self._limit, seconds_left))
        except DeadlineExceeded:
            if not self.is_enough(seconds_left):
                raise
            key = _key(kind, pod)
        with self._lock:
            self._costly_since[key] = self._limit.wall()
            if len(self._costly_since) > MAX_COSTLY_SHAPES:
                self._costly_since.popitem(last=False)
        return None

    def _is_costly(self, key: Hashable) -> bool:
        with self._lock:
            since = self._costly_since.get(key)
            if since is None:
                return False
            # A negative age means that the wall clock was set back.
            if 0 <= self._limit.wall() - since < self._limit.retry_seconds:
                return True
            del self._costly_since[key]
        return False


def _key(kind: str, pod: Pod) -> Hashable:
    """Return the kind and hashes of the pod's fields. A key with the pod itself could take 20 MB."""
    labels = orjson.dumps(dict(pod.labels), option=orjson.OPT_SORT_KEYS)
    return kind, sha256(pod.spec.source).digest(), sha256(labels).digest()
