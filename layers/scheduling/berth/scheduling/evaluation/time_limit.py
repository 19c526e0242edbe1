"""A limit for the time that one decision may take.

The creator of a pod decides how much work a decision is. The scheduler ends a call after `httpTimeout`, and its next
attempt would do the same work again. So a decision stops before, and the shape is remembered for a while: until then
each attempt is answered at once.

A call that is late already, such as one that began with a cold start, leaves a decision less time. If it leaves less
than half, the overrun says little about the shape: it is not remembered, and the next attempt may succeed.
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
"""The number of nodes that are evaluated between two looks at the clock."""

RETRY_SECONDS = 60.0
MAX_COSTLY_SHAPES = 1_000

T = TypeVar("T")


class DeadlineExceeded(Exception):
    """The decision took as long as it may. It leaves `TimeLimited.run` only if the call was late. Its text names the
    cause, if that is known."""


@dataclass(frozen=True, slots=True)
class TimeLimit:
    """seconds: for one decision, by the monotonic clock. retry_seconds: how long a shape counts as too costly, by the
    wall clock, because the monotonic one stands still while a function's environment is frozen."""

    seconds: float
    monotonic: Callable[[], float]
    wall: Callable[[], float]
    retry_seconds: float = RETRY_SECONDS


NO_TIME_LIMIT = TimeLimit(inf, lambda: 0.0, lambda: 0.0)


class DecisionDeadline:
    """The time at which a decision has to stop."""

    __slots__ = ("_ends", "_monotonic")

    def __init__(self, limit: TimeLimit, seconds_left: float = inf) -> None:
        """seconds_left: the seconds that the call has left; they count if the limit is longer."""
        self._monotonic = limit.monotonic
        self._ends = limit.monotonic() + min(limit.seconds, seconds_left)

    def remaining(self) -> float:
        """Seconds until it has to stop; below 0 once it is over."""
        return self._ends - self._monotonic()

    def check(self) -> None:
        """Raise DeadlineExceeded once it is over."""
        if self._monotonic() >= self._ends:
            raise DeadlineExceeded

    def steps(self, items: Sequence[T]) -> Iterator[Sequence[T]]:
        for start in range(0, len(items), STEP):
            self.check()
            yield items[start : start + STEP]


NO_DECISION_DEADLINE = DecisionDeadline(NO_TIME_LIMIT)


class TimeLimited:
    """Decisions within a time limit. It remembers which shapes were too costly; threads may share it."""

    def __init__(self, limit: TimeLimit) -> None:
        self._limit = limit
        self._costly_since: OrderedDict[Hashable, float] = OrderedDict()
        self._lock = Lock()

    def wall(self) -> float:
        """Seconds since the epoch."""
        return self._limit.wall()

    def is_enough(self, seconds_left: float) -> bool:
        """Return whether a decision that overruns with so many seconds is too costly."""
        return seconds_left >= self._limit.seconds / 2

    def deadline(self, seconds_left: float) -> DecisionDeadline:
        """Return the deadline of a decision of several parts. Each part is a `run` with the seconds that remain."""
        return DecisionDeadline(self._limit, seconds_left)

    def run(self, kind: str, pod: Pod, decide: Callable[[DecisionDeadline], T], seconds_left: float = inf) -> T | None:
        """Run the decision; None if it takes too long, or did so a while ago. kind: names the decision, for its key.

        Raises DeadlineExceeded if a late call leaves too little time to tell: see the module.
        """
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
    """The kind of decision, and hashes of the fields that are read of the pod: the pod itself may take 20 MB."""
    labels = orjson.dumps(dict(pod.labels), option=orjson.OPT_SORT_KEYS)
    return kind, sha256(pod.spec.source).digest(), sha256(labels).digest()
